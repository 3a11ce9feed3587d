/* What several threads' time is counted as, whatever the scheduler does: all that a call takes is
 * in the call's time, also where it sleeps in a lock; all that a thread waits for an object is not.
 *
 * The strategy here naps in some of its calls and counts for how long at least. A nap may last
 * longer than asked for, never shorter, so every assertion is a bound that no load can break. */
#include "alloc/base/random.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/passes.h"
#include "tests/unit/one_run.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <time.h>
#include <unistd.h>

extern const struct tp_source_ops tp_source_host;

enum { NAP_NS = 1000000, BLOCK = 64, THREADS = 4, SLOTS = 8, EVENTS = 600, ACCURACY = 20 };

static struct nap {
    uint64_t of; /* one call in so many naps; 0: none */
    uint64_t ns;
    uint64_t random; /* atomic */
    uint64_t napped; /* atomic: ns that calls have napped at least */
    uint64_t burns;  /* ns on a core that each allocation takes */
    uint64_t burned; /* atomic: ns that they have taken */
} nap;

static uint64_t on_core_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void burn(void)
{
    uint64_t begin = on_core_ns(), now = begin;
    while (now - begin < nap.burns)
        now = on_core_ns();
    __atomic_add_fetch(&nap.burned, now - begin, __ATOMIC_RELAXED);
}

static void nap_perhaps(void)
{
    const struct timespec t = {.tv_nsec = (long)nap.ns};
    struct tp_random r;
    tp_random_seed(&r, __atomic_add_fetch(&nap.random, 1, __ATOMIC_RELAXED));
    if (!nap.of || tp_random_below(&r, nap.of))
        return;
    nanosleep(&t, NULL);
    __atomic_add_fetch(&nap.napped, nap.ns, __ATOMIC_RELAXED);
}

/* What is seen of the process that one thread replays in; all processes share it. */
struct elsewhere {
    pid_t here;
    uint64_t calls;   /* atomic: in another process */
    uint64_t several; /* atomic: of these, where there was a second thread once */
    bool aborts, hangs;
};
static struct elsewhere *elsewhere;

static void look_where_this_is(void)
{
    if (getpid() == elsewhere->here)
        return;
    __atomic_add_fetch(&elsewhere->calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&elsewhere->several, !__libc_single_threaded, __ATOMIC_RELAXED);
    if (elsewhere->aborts)
        kill(getpid(), SIGKILL);
    while (elsewhere->hangs)
        pause();
}

static int napping_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    (void)st, (void)env, (void)opts, (void)e;
    return TP_OK;
}

static void napping_fini(void *st)
{
    (void)st;
}

static int napping_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)st, (void)thr;
    void *block = malloc(BLOCK);
    assert_non_null(block);
    nap_perhaps();
    burn();
    look_where_this_is();
    *out = (struct tp_block){(uintptr_t)block, rq->size};
    return TP_OK;
}

static int napping_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)st, (void)thr, (void)rq;
    free((void *)(uintptr_t)addr);
    return TP_OK;
}

static const struct tp_strategy napping = {.name = "napping",
                                           .summary = "naps in some of its calls",
                                           .caps = TP_CAP_ALIGN | TP_CAP_THREADS,
                                           .state_size = 16,
                                           .init = napping_init,
                                           .fini = napping_fini,
                                           .alloc = napping_alloc,
                                           .free = napping_free};

/* ---- programs ---- */

static struct tp_insn insns[EVENTS];

/* Each object is made by the first thread and freed by the second. */
static struct tp_program *handed_over(uint32_t objects)
{
    for (uint32_t i = 0; i < objects; i++) {
        insns[2 * i] = (struct tp_insn){.op = TP_ALLOC, .align_log2 = 4, .size = 1};
        insns[2 * i + 1] = insns[2 * i];
        insns[2 * i + 1].op = TP_FREE;
        insns[2 * i + 1].thread = 1;
    }
    return test_program(insns, (size_t)objects * 2, false);
}

/* Any thread makes and frees any object. */
static struct tp_program *mixed(uint64_t seed)
{
    struct tp_random r;
    bool live[SLOTS] = {false};
    uint32_t used = 0;
    tp_random_seed(&r, seed);
    for (size_t i = 0; i < EVENTS; i++) {
        uint32_t slot = (uint32_t)tp_random_below(&r, used < SLOTS ? used + 1 : SLOTS);
        used += slot == used;
        insns[i] = (struct tp_insn){.op = live[slot] ? TP_FREE : TP_ALLOC,
                                    .align_log2 = 4,
                                    .thread = (uint16_t)tp_random_below(&r, THREADS),
                                    .slot = slot,
                                    .size = 1};
        live[slot] = !live[slot];
    }
    return test_program(insns, EVENTS, false);
}

static struct tp_clock a_clock;

static struct tp_replay_cfg threads_on(struct tp_program *p, uint32_t threads, uint32_t cores)
{
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &napping, p, TP_PASS_THROUGHPUT);
    cfg.clock = &a_clock;
    cfg.touch = TP_TOUCH_NONE;
    cfg.threads = threads;
    cfg.cores = cores;
    cfg.repeat = cfg.min_replays = 1;
    return cfg;
}

/* Not less than `ns`, by clocks that may be wrong by 1 in ACCURACY of the `measured` time. */
static void assert_at_least(double value, double ns, double measured)
{
    if (value < ns - measured / ACCURACY)
        fail_msg("%.0f ns, not at least %.0f", value, ns);
}

/* ---- one thread ---- */

/* It must be the first test: a process that had threads never gets rid of them. */
TEST(one_thread_replays_where_there_never_was_another)
{
    struct tp_program *p = handed_over(10);
    struct tp_replay_cfg cfg = threads_on(p, 2, 2);
    assert_true(__libc_single_threaded);
    cfg.min_replays = 3;
    for (int once = 0; once < 2; once++) {
        elsewhere->calls = 0;
        cfg.min_time_ns = once ? 0 : 1000000;
        replay(&cfg);
        assert_true(run->throughput.crew.alone.total > 0);
        assert_true(elsewhere->calls >= 10 * run->throughput.crew.alone.total);
        assert_int_equal(elsewhere->calls % 10, 0);
        assert_true(once || !elsewhere->several);
    }
    assert_false(__libc_single_threaded);
    tp_program_release(p);
}

TEST(a_process_that_ends_is_told)
{
    struct tp_program *p = handed_over(10);
    struct tp_replay_cfg cfg = threads_on(p, 2, 2);
    elsewhere->aborts = true;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_string_equal(
        err.text, "strategy 'napping', replayed by one thread, was killed by signal 9 (Killed)");
    elsewhere->aborts = false;
    tp_program_release(p);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* Ctrl-C while the other process replays, and never ends. */
TEST(an_interruption_ends_it)
{
    struct tp_program *p = handed_over(10);
    struct tp_replay_cfg cfg = threads_on(p, 2, 2);
    cfg.interrupted = &interrupted;
    elsewhere->hangs = true;
    signal(SIGALRM, interrupt);
    alarm(1);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_ESTOP);
    elsewhere->hangs = false;
    tp_program_release(p);
}

/* ---- times ---- */

/* What a call waits for in a lock is in ns per call and is called blocked. */
TEST(a_call_without_a_core_takes_its_time)
{
    enum { OBJECTS = 10 };
    struct tp_program *p = handed_over(OBJECTS);
    nap = (struct nap){.of = 1, .ns = NAP_NS};
    struct tp_replay_cfg cfg = threads_on(p, 2, 2);
    replay(&cfg);
    const struct tp_throughput *t = &run->throughput;
    assert_int_equal(t->crew.threads, 2);
    assert_at_least(tp_series_median(&t->runs).median, NAP_NS / 2.0,
                    NAP_NS); /* half of the calls nap */
    assert_true(tp_series_median(&t->crew.blocked).median > 0);
    tp_program_release(p);
}

/* Replays once and holds what is counted against the naps; returns the share that was waited. */
static double replay_on(struct tp_program *p, uint32_t threads, uint32_t cores)
{
    struct tp_replay_cfg cfg = threads_on(p, threads, cores);
    struct tp_replayer replayer;
    uint64_t ticks = 0;
    assert_int_equal(tp_replayer_open(&replayer, &cfg, &napping, &err), TP_OK);
    nap.napped = nap.burned = 0;
    assert_int_equal(tp_replay_once(&replayer, tp_replay_untimed, NULL, NULL, &ticks, &err), TP_OK);
    const struct tp_crew_times t = replayer.crew_times;
    assert_true(t.waited_ticks <= t.ticks);
    double calls = (double)(t.ticks - t.waited_ticks) * a_clock.ns_per_tick;
    assert_at_least(calls, (double)nap.napped, (double)nap.napped);
    assert_at_least(calls - t.core_ns, (double)nap.napped, calls);
    assert_at_least(t.core_ns, (double)nap.burned, (double)nap.burned);
    assert_int_equal(tp_replayer_end(&replayer, TP_OK, &err), TP_OK);
    return t.ticks ? (double)t.waited_ticks / (double)t.ticks : 0;
}

/* Naps at random, more or fewer cores than threads: no nap in a call is ever taken for waiting for
 * an object, and that there was waiting is seen. */
TEST(waiting_is_for_objects_alone)
{
    for (uint32_t cores = 1; cores <= THREADS; cores += THREADS - 1) {
        double most = 0;
        nap = (struct nap){.of = 8, .ns = NAP_NS / 10};
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct tp_program *p = mixed(seed);
            double waited = replay_on(p, THREADS, cores);
            most = waited > most ? waited : most;
            tp_program_release(p);
        }
        assert_true(most > 0);
    }
}

/* A thread that has nothing to do but take over what another makes waits for nearly all that long,
 * if only it has started. So it does in one of some replays. */
TEST(who_waits_for_an_object_is_seen_to)
{
    double most = 0;
    struct tp_program *p = handed_over(20);
    nap = (struct nap){.of = 1, .ns = NAP_NS};
    for (int i = 0; i < 100 && most < 0.25; i++) {
        double waited = replay_on(p, 2, 2);
        most = waited > most ? waited : most;
    }
    assert_true(most >= 0.25);
    tp_program_release(p);
}

/* What a call does on a core is never called blocked. */
TEST(work_is_not_blocked)
{
    struct tp_program *p = handed_over(20);
    nap = (struct nap){.burns = NAP_NS};
    for (uint32_t cores = 1; cores <= 2; cores++)
        replay_on(p, 2, cores);
    assert_true(nap.burned >= 20 * (uint64_t)NAP_NS);
    tp_program_release(p);
}

static int setup(void **state)
{
    (void)state;
    elsewhere =
        mmap(NULL, sizeof *elsewhere, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (elsewhere == MAP_FAILED)
        return -1;
    elsewhere->here = getpid();
    return tp_clock_calibrate(&a_clock, &err) || new_run();
}

GROUP(setup, teardown)
