/* See crew.h. The calling thread plans a part, wakes the threads that have something to replay in
 * it, replays its own share and waits for them. Each has a replayer of its own: a copy of the
 * crew's, with counters of its own and the plan's cells for slots. */
#include "alloc/engine/crew.h"

#include "alloc/base/own.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
    STACK = 512 * 1024, /* bytes of a thread; a preloaded library may have much thread-local data */
    STACK_USED = 64 * 1024, /* of these, as a rule */
    SPINS = 2000,           /* pauses before a waiting thread gives its core away */
    SPINS_CROWDED = 50,     /* the same where there are more threads than cores */
    SPINS_SHORT = 200,      /* of these, before it asks how long it has been on a core */
    SHORT_NS = 20000,       /* more than they take; what is beyond was without a core */
    YIELDS = 100,           /* before it sleeps */
    NAP_NS = 20000,
    READINGS = 32 /* of the time on a core, to find what one takes */
};

struct hand;
typedef void job_fn(struct hand *h);

struct hand {
    _Alignas(64) struct tp_replayer p;
    struct tp_instance instance; /* the crew's, but for its own count of failures */
    struct tp_turns turns;
    struct tp_crew *crew;
    uint32_t index;
    uint32_t ready; /* recorded threads that were started */
    int status;
    struct tp_err err;
    uint64_t begin, end; /* of the part, ticks */
    double core_ns;      /* in calls */
    job_fn *job;         /* NULL: end the thread */
    sem_t go;
    pthread_t os;
    bool runs;   /* the thread is there; that of the first hand always is */
    void *stack; /* STACK bytes; NULL: the system's */
};

struct tp_crew {
    struct tp_thread_plan plan;
    struct tp_one_lock lock;
    struct hand *hands;
    char *stacks; /* of all hands; NULL: the system's */
    uint32_t size;
    uint32_t missing; /* atomic: threads that have not yet met at the start of the part */
    uint32_t spins;
    int error; /* errno: why a thread could not start, or 0 */
    bool opened;
    bool lifetimes; /* of OS threads are those of the recorded ones */
    bool crowded;   /* more threads than cores */
    bool stop;      /* atomic: a thread has stopped */
    bool left;      /* after a stop there are blocks in the cells */
    sem_t done;
    tp_replay_fn *replay;
};

/* ---- waiting ---- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Time that this thread has spent on a core. */
static double core_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void give_core_away(uint32_t times)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    if (times < YIELDS)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

static double ns_per_tick(const struct tp_replayer *p)
{
    return p->cfg->clock ? p->cfg->clock->ns_per_tick : 0;
}

static bool came(const uint64_t *turn, uint64_t number)
{
    return __atomic_load_n(turn, __ATOMIC_ACQUIRE) == number;
}

static void spin(const uint64_t *turn, uint64_t number, uint32_t pauses)
{
    for (uint32_t i = 0; i < pauses && !came(turn, number); i++)
        pause_briefly();
}

static uint32_t short_spins(const struct tp_replayer *p)
{
    return p->turns->spins < SPINS_SHORT ? p->turns->spins : SPINS_SHORT;
}

/* Waits on a core, then with the core given to others. false: the replay stops. A thread may lose
 * its core in either, so its time on one is read. */
static bool wait_long(const struct tp_replayer *p, const uint64_t *turn, uint64_t number)
{
    double before = core_ns();
    spin(turn, number, p->turns->spins - short_spins(p));
    for (uint32_t i = 0; !came(turn, number); i++) {
        if (tp_crew_stops(p) || tp_replayer_interrupted(p))
            return false;
        give_core_away(i);
    }
    /* half of each reading lies outside of what the two show */
    p->turns->waited_ns += core_ns() - before + p->turns->reading_ns;
    return true;
}

bool tp_turn_wait(const struct tp_replayer *p, const uint64_t *turn, uint64_t number)
{
    uint64_t begin = tp_stamp();
    spin(turn, number, short_spins(p));
    double spun = (double)(tp_stamp() - begin) * ns_per_tick(p);
    p->turns->waited_ns += spun < SHORT_NS ? spun : SHORT_NS;
    bool goes_on = came(turn, number) || wait_long(p, turn, number);
    p->turns->waited_ticks += tp_stamp() - begin;
    return goes_on;
}

/* Takes a semaphore: at once where it is about to be posted. */
static void take_semaphore(sem_t *s, uint32_t spins)
{
    for (uint32_t i = 0; i < spins; i++) {
        if (!sem_trywait(s))
            return;
        pause_briefly();
    }
    while (sem_wait(s) && errno == EINTR)
        ;
}

/* Waits until all threads of a part run, so that one that had to be woken is not late. Where they
 * cannot all run at once, nobody waits. */
static void meet(struct tp_crew *crew)
{
    if (crew->crowded)
        return;
    __atomic_fetch_sub(&crew->missing, 1, __ATOMIC_ACQ_REL);
    for (uint32_t i = 0; __atomic_load_n(&crew->missing, __ATOMIC_ACQUIRE); i++) {
        pause_briefly();
        if (i > SPINS)
            sched_yield();
    }
}

/* ---- jobs ---- */

static void start_recorded(struct hand *h)
{
    h->status = tp_recorded_start(&h->p, &h->instance, h->index, h->crew->size, &h->ready, &h->err);
}

static void end_recorded(struct hand *h)
{
    tp_recorded_end(&h->p, &h->instance, h->index, h->crew->size, &h->ready);
}

/* The strategy could not start a thread: that breaks the first instruction of it. */
static void lack(struct hand *h, const struct tp_worker *worker)
{
    h->p.broken = h->status;
    h->p.broken_insn = h->crew->plan.steps + worker->first;
    h->p.stop = true;
    h->p.stopped = UINT32_MAX; /* before the first one */
    __atomic_store_n(&h->crew->stop, true, __ATOMIC_RELAXED);
}

static void replay_worker(struct hand *h)
{
    struct tp_crew *crew = h->crew;
    const struct tp_worker *worker = &crew->plan.workers[h->index];
    const struct tp_window w = {.insns = crew->plan.steps + worker->first, .count = worker->count};
    h->p.ticks = crew->plan.ticks + worker->first;
    h->p.stop = false;
    h->p.failed = h->p.skipped = h->instance.failed = 0;
    h->p.broken = 0;
    h->turns.waited_ticks = 0;
    h->turns.waited_ns = 0;
    meet(crew);
    if (h->status) {
        lack(h, worker);
        return;
    }
    double before = core_ns(); /* as much of the two readings lies between them as in wait_long() */
    h->begin = tp_stamp();
    crew->replay(&h->p, &w);
    h->end = tp_stamp();
    h->core_ns = core_ns() - before - h->turns.reading_ns - h->turns.waited_ns;
    if (h->p.stop)
        __atomic_store_n(&crew->stop, true, __ATOMIC_RELAXED);
}

static void *serve(void *arg)
{
    struct hand *h = arg;
    if (h->crew->lifetimes)
        start_recorded(h);
    for (;;) {
        take_semaphore(&h->go, h->crew->spins);
        if (!h->job)
            break;
        h->job(h);
        sem_post(&h->crew->done);
    }
    if (h->crew->lifetimes)
        end_recorded(h);
    return NULL;
}

/* Signals are left to the thread that calls: it is the one that waits for the others. */
static bool start_thread(struct hand *h)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_attr_init(&attr);
    if (h->stack)
        pthread_attr_setstack(&attr, h->stack, STACK);
    else
        pthread_attr_setstacksize(&attr, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&h->os, &attr, serve, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    h->crew->error = error;
    h->runs = !error;
    return h->runs;
}

static void end_thread(struct hand *h)
{
    h->job = NULL;
    sem_post(&h->go);
    pthread_join(h->os, NULL);
    h->runs = false;
}

static bool has_steps(const struct hand *h)
{
    return h->crew->plan.workers[h->index].count != 0;
}

/* Lets the threads do a job together; `replaying`: those that have steps. */
static void do_together(struct tp_crew *crew, job_fn *job, bool replaying)
{
    uint32_t others = 0;
    for (uint32_t i = 1; i < crew->size; i++) {
        struct hand *h = &crew->hands[i];
        if (!h->runs || (replaying && !has_steps(h)))
            continue;
        others++;
        h->job = job;
        sem_post(&h->go);
    }
    if (!replaying || has_steps(&crew->hands[0]))
        job(&crew->hands[0]);
    while (others--)
        take_semaphore(&crew->done, crew->spins);
}

/* ---- opening ---- */

uint32_t tp_crew_threads(const struct tp_replay_cfg *cfg)
{
    uint32_t recorded = tp_program_facts(cfg->program)->threads;
    return cfg->threads > recorded ? recorded : cfg->threads;
}

uint32_t tp_crew_size(const struct tp_replayer *p)
{
    return tp_crew_threads(p->cfg);
}

/* What one reading of the time on a core takes: the least of some, as others only add to it. */
static double reading_ns(void)
{
    double least = 0, before = core_ns();
    for (int i = 0; i < READINGS; i++) {
        double now = core_ns();
        least = i == 0 || now - before < least ? now - before : least;
        before = now;
    }
    return least;
}

static void set_up(struct tp_replayer *p, struct tp_crew *crew)
{
    double reading = reading_ns();
    for (uint32_t i = 0; i < crew->size; i++) {
        struct hand *h = &crew->hands[i];
        *h = (struct hand){.p = *p, .instance = p->instances[0], .crew = crew, .index = i};
        h->turns =
            (struct tp_turns){.stop = &crew->stop, .spins = crew->spins, .reading_ns = reading};
        h->p.instances = &h->instance;
        h->p.slots = crew->plan.cells;
        h->p.turns = &h->turns;
        h->p.crew = NULL;
        h->runs = i == 0;
        h->stack = crew->stacks ? crew->stacks + (size_t)i * STACK : NULL;
        sem_init(&h->go, 0, 0);
    }
    crew->opened = true;
}

int tp_crew_check(const struct tp_crew *crew, struct tp_err *err)
{
    uint32_t running = 0;
    if (!crew->error)
        return TP_OK;
    for (uint32_t i = 0; i < crew->size; i++)
        running += crew->hands[i].runs;
    return tp_hint(err,
                   tp_fail(err, TP_EIO, "only %u of %u threads can run here (%s)", running,
                           crew->size, strerror(crew->error)),
                   "'--threads N' replays the recorded threads on N threads");
}

static int start_threads(struct tp_crew *crew, struct tp_err *err)
{
    uint32_t i = 1;
    while (i < crew->size && start_thread(&crew->hands[i]))
        i++;
    return tp_crew_check(crew, err);
}

static int start_all_recorded(struct tp_crew *crew, struct tp_err *err)
{
    int status = TP_OK;
    do_together(crew, start_recorded, false);
    for (uint32_t i = 0; !status && i < crew->size; i++) {
        status = crew->hands[i].status;
        if (status && err)
            *err = crew->hands[i].err;
    }
    return status;
}

int tp_crew_prepare(struct tp_replayer *p, struct tp_err *err)
{
    struct tp_crew *crew = tp_own_zeroed(1, sizeof *crew);
    if (!crew)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    p->crew = crew;
    sem_init(&crew->done, 0, 0);
    crew->size = tp_crew_size(p);
    crew->crowded = crew->size > p->cfg->cores;
    crew->spins = crew->crowded ? SPINS_CROWDED : SPINS;
    crew->lifetimes = p->cfg->shared.lifetimes && crew->size == p->facts->threads;
    crew->hands = tp_own_zeroed(crew->size, sizeof *crew->hands);
    bool stacks = crew->lifetimes && !TP_SANITIZED; /* those of a sanitizer are larger */
    crew->stacks = stacks ? tp_own_zeroed(crew->size, STACK) : NULL;
    if (!crew->hands || (stacks && !crew->stacks))
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    return tp_plan_open(&crew->plan, p->facts, crew->size, err);
}

void tp_crew_memory(const struct tp_crew *crew, void (*each)(void *at, size_t size))
{
    each(crew->hands, crew->size * sizeof *crew->hands);
    each(crew->plan.memory, crew->plan.bytes);
    for (uint32_t i = 0; crew->stacks && i < crew->size; i++) /* they grow downwards */
        each(crew->stacks + (size_t)(i + 1) * STACK - STACK_USED, STACK_USED);
}

int tp_crew_open(struct tp_replayer *p, struct tp_err *err)
{
    struct tp_crew *crew = p->crew;
    if (!(p->strategy->caps & TP_CAP_THREADS)) {
        tp_one_lock_open(&crew->lock, p->strategy, p->instances[0].state);
        p->strategy = &crew->lock.outer;
        p->instances[0].state = &crew->lock;
    }
    set_up(p, crew);
    int status = crew->lifetimes ? TP_OK : start_threads(crew, err);
    return status ? status : start_all_recorded(crew, err);
}

void tp_crew_close(struct tp_replayer *p)
{
    struct tp_crew *crew = p->crew;
    if (!crew)
        return;
    if (crew->opened) {
        do_together(crew, end_recorded, false);
        for (uint32_t i = 1; i < crew->size; i++)
            if (crew->hands[i].runs)
                end_thread(&crew->hands[i]);
        for (uint32_t i = 0; i < crew->size; i++)
            sem_destroy(&crew->hands[i].go);
    }
    if (crew->lock.inner) {
        p->strategy = crew->lock.inner;
        p->instances[0].state = crew->lock.state;
    }
    tp_one_lock_close(&crew->lock);
    sem_destroy(&crew->done);
    tp_plan_close(&crew->plan);
    tp_own_free(crew->hands);
    tp_own_free(crew->stacks);
    tp_own_free(crew);
    p->crew = NULL;
}

struct tp_slot *tp_crew_cells(const struct tp_crew *crew, size_t *count)
{
    *count = crew->left ? crew->plan.cell_room : 0;
    return crew->plan.cells;
}

/* ---- replaying ---- */

/* Of two faults the one of the earlier event is told; an interruption is told last. */
static void take_fault(struct tp_replayer *p, const struct tp_window *w, const struct hand *h)
{
    const struct tp_thread_plan *plan = &h->crew->plan;
    if (!h->p.broken)
        return;
    const struct tp_insn *insn = w->insns + plan->origin[h->p.broken_insn - plan->steps];
    bool before = p->broken == TP_ESTOP || !p->broken || insn < p->broken_insn;
    if (p->broken && (!before || h->p.broken == TP_ESTOP))
        return;
    p->broken = h->p.broken;
    p->broken_insn = insn;
}

/* The times of the threads that took part; returns the ticks from the first start to the last
 * end. */
static uint64_t add_times(struct tp_replayer *p)
{
    struct tp_crew *crew = p->crew;
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < crew->size; i++) {
        const struct hand *h = &crew->hands[i];
        if (!has_steps(h))
            continue;
        first = h->begin < first ? h->begin : first;
        last = h->end > last ? h->end : last;
        p->crew_times.core_ns += h->core_ns;
        p->crew_times.ticks += h->end - h->begin;
        p->crew_times.waited_ticks += h->turns.waited_ticks;
    }
    return last > first ? last - first : 0;
}

/* The replay counts as if it had stopped after as many operations as all threads have replayed. */
static void stop_after(struct tp_replayer *p, const struct tp_window *w, uint32_t from,
                       uint64_t replayed)
{
    uint32_t i = from;
    for (; replayed; i++)
        replayed -= tp_op_is_operation(w->insns[i].op);
    p->stop = true;
    p->stopped = i - 1;
}

static void add_counts(struct tp_replayer *p, const struct tp_window *w, uint32_t from)
{
    struct tp_crew *crew = p->crew;
    uint64_t replayed = 0;
    bool stops = false;
    for (uint32_t i = 0; i < crew->size; i++) {
        const struct hand *h = &crew->hands[i];
        if (!has_steps(h))
            continue;
        stops |= h->p.stop;
        replayed += h->p.stop ? h->p.stopped + 1 : crew->plan.workers[i].count;
        p->failed += h->p.failed;
        p->skipped += h->p.skipped;
        p->instances[0].failed += h->instance.failed;
        take_fault(p, w, h);
    }
    stops |= p->failed && p->instances[0].account.guarded_gets;
    if (stops)
        stop_after(p, w, from, replayed);
}

static void take_ticks(struct tp_replayer *p, uint32_t from, uint32_t to)
{
    const struct tp_thread_plan *plan = &p->crew->plan;
    const struct tp_worker *last = &plan->workers[plan->worker_count - 1];
    memset(p->ticks + from, 0xff, (to - from) * sizeof *p->ticks); /* TP_TICK_SKIP */
    for (uint32_t i = 0; i < last->first + last->count; i++)
        p->ticks[plan->origin[i]] = plan->ticks[i];
}
static_assert(TP_TICK_SKIP == UINT32_MAX, "it is set by bytes");

/* Starts the threads that have something to replay and are not there. */
static bool begin_lives(struct tp_crew *crew)
{
    for (uint32_t i = 1; i < crew->size; i++) {
        struct hand *h = &crew->hands[i];
        if (has_steps(h) && !h->runs && !start_thread(h))
            return false;
    }
    return true;
}

/* Ends those whose last step was the end of their recorded thread. That of the calling thread goes
 * on. */
static void end_lives(struct tp_crew *crew)
{
    for (uint32_t i = 1; i < crew->size; i++) {
        const struct tp_worker *worker = &crew->plan.workers[i];
        struct hand *h = &crew->hands[i];
        if (worker->count && h->runs && !h->p.stop &&
            crew->plan.steps[worker->first + worker->count - 1].op == TP_THREAD_END)
            end_thread(h);
    }
}

static uint64_t replay_together(struct tp_replayer *p, const struct tp_window *w, uint32_t from,
                                uint32_t to, tp_replay_fn *replay)
{
    struct tp_crew *crew = p->crew;
    tp_plan_part(&crew->plan, w, from, to);
    if (crew->lifetimes && !begin_lives(crew)) {
        p->stop = true;
        p->stopped = from;
        return 0;
    }
    tp_plan_load(&crew->plan, p->slots);
    crew->replay = replay;
    crew->stop = false;
    crew->missing = 0;
    for (uint32_t i = 0; i < crew->size; i++)
        crew->missing += has_steps(&crew->hands[i]);
    do_together(crew, replay_worker, true);
    add_counts(p, w, from);
    crew->left = p->stop;
    if (!p->stop)
        tp_plan_store(&crew->plan, p->slots);
    if (replay == tp_replay_latency)
        take_ticks(p, from, to);
    if (crew->lifetimes)
        end_lives(crew);
    return add_times(p);
}

/* Replays an instruction that concerns all threads, on the calling thread. */
static uint64_t replay_alone(struct tp_replayer *p, const struct tp_window *w, uint32_t at,
                             tp_replay_fn *replay)
{
    const struct tp_window one = {.insns = w->insns + at, .count = 1};
    struct tp_crew *crew = p->crew;
    uint32_t *ticks = p->ticks;
    p->crew = NULL;
    p->ticks = ticks ? ticks + at : NULL;
    uint64_t begin = tp_stamp();
    replay(p, &one);
    uint64_t lasted = tp_stamp() - begin;
    p->crew = crew;
    p->ticks = ticks;
    p->stopped += at;
    p->crew_times.core_ns += (double)lasted * ns_per_tick(p);
    p->crew_times.ticks += lasted;
    return lasted;
}

/* Returns the ticks that it lasted, and in *from the first instruction that was not replayed. */
static uint64_t replay_range(struct tp_replayer *p, const struct tp_window *w, uint32_t *from,
                             uint32_t end, tp_replay_fn *replay)
{
    uint64_t lasted = 0;
    for (uint32_t to = *from; to < end && !p->stop; *from = to) {
        while (to < end && !tp_plan_alone(&w->insns[to]))
            to++;
        if (to > *from)
            lasted += replay_together(p, w, *from, to, replay);
        if (to < end && !p->stop)
            lasted += replay_alone(p, w, to++, replay);
    }
    return lasted;
}

void tp_crew_replay_range(struct tp_replayer *p, const struct tp_window *w, uint32_t from,
                          uint32_t to)
{
    replay_range(p, w, &from, to, tp_replay_untimed);
}

void tp_crew_replay(struct tp_replayer *p, const struct tp_window *w, tp_replay_fn *replay)
{
    uint64_t begin = tp_stamp();
    uint32_t to = 0;
    uint64_t lasted = replay_range(p, w, &to, w->count, replay);
    if (replay == tp_replay_latency)
        memset(p->ticks + to, 0xff, (w->count - to) * sizeof *p->ticks);
    p->crew_times.window_ticks = lasted;
    p->aside_ticks += tp_stamp() - begin - lasted;
}
