/* Several OS threads replay a program: each recorded thread's calls come in their order and on one
 * OS thread, each object's calls come in the order of the program, and all that a serial replay
 * counts is counted.
 *
 * The strategy here is stricter than a real one. It keeps a record in front of every block, which
 * says what the block must be at the next call, and a log of each recorded thread's calls. Sizes
 * are numbers of events, so that each call says which it is. For the thread sanitizer the record
 * has no lock: nothing but the order of the object's calls protects it. */
#include "alloc/base/random.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/passes.h"
#include "tests/unit/one_run.h"

#include <pthread.h>
#include <sched.h>

extern const struct tp_source_ops tp_source_host;

enum { THREADS = 8, SLOTS = 200, EVENTS = 150000, RECORD = 64, HANDLE = 64 };

/* ---- a strict strategy ---- */

struct record {
    uint64_t size; /* of the last call on the block; 0: freed */
};

struct handle {
    pthread_t os;
    uint64_t calls;
    bool started;
};

struct log {
    uint64_t sizes[EVENTS];
    uint64_t count;
};

static struct log logs[THREADS];
static struct state {
    char *threads;
    uint64_t fail_every;  /* allocations of these sizes fail; 0: none */
    uint64_t broken_from; /* frees of sizes from here on are refused; 0: none */
    uint64_t stop_at;     /* a size; 0: none */
    bool slow;            /* gives the core away within calls */
    int inside;           /* atomic: calls that are going on */
    int most_inside;      /* atomic */
    uint64_t calls;       /* atomic */
    uint64_t live;        /* atomic: blocks */
    uint64_t at_trim[4];  /* `calls` at each trim */
    uint32_t trims;
} strict;
static volatile sig_atomic_t interrupted;
static void *blocks[EVENTS + 1]; /* live ones, by size */

static int strict_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    (void)st, (void)env, (void)opts, (void)e;
    strict.threads = NULL;
    strict.calls = 0;
    memset(logs, 0, sizeof logs);
    return TP_OK;
}

/* What an interrupted replay leaves. */
static void strict_fini(void *st)
{
    (void)st;
    for (uint32_t i = 0; i <= EVENTS; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static int strict_thread_init(void *st, void *thr)
{
    struct handle *h = thr;
    (void)st;
    assert_false(h->started);
    *h = (struct handle){.os = pthread_self(), .started = true};
    return TP_OK;
}

static void strict_thread_fini(void *st, void *thr)
{
    struct handle *h = thr;
    (void)st;
    if (!pthread_equal(h->os, pthread_self()))
        fail_msg("a thread was ended by another");
    h->started = false;
}

static void enter(void *thr, uint64_t size, uint32_t thread)
{
    const struct handle *h = thr;
    int inside = __atomic_add_fetch(&strict.inside, 1, __ATOMIC_RELAXED);
    if (inside > __atomic_load_n(&strict.most_inside, __ATOMIC_RELAXED))
        __atomic_store_n(&strict.most_inside, inside, __ATOMIC_RELAXED);
    if (strict.slow)
        sched_yield();
    if (!h->started || !pthread_equal(h->os, pthread_self()))
        fail_msg("thread %u was called on another OS thread", thread);
    logs[thread].sizes[logs[thread].count++ % EVENTS] = size;
    __atomic_add_fetch(&strict.calls, 1, __ATOMIC_RELAXED);
}

static void leave(void)
{
    __atomic_sub_fetch(&strict.inside, 1, __ATOMIC_RELAXED);
}

/* The recorded thread is in the alignment, which is 16 << thread. */
static uint32_t thread_of(uint64_t align)
{
    return (uint32_t)__builtin_ctzll(align) - 4;
}

static struct record *record_of(tp_addr addr)
{
    return (void *)((char *)(uintptr_t)addr - RECORD);
}

static void make_block(uint64_t size, struct tp_block *out)
{
    char *block = malloc(RECORD + 16);
    assert_non_null(block);
    *(struct record *)(void *)block = (struct record){size};
    blocks[size] = block;
    *out = (struct tp_block){(uintptr_t)block + RECORD, size};
}

static void drop_block(tp_addr addr)
{
    struct record *r = record_of(addr);
    assert_ptr_equal(blocks[r->size], r);
    blocks[r->size] = NULL;
    free(r);
}

static int strict_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    int status = TP_OK;
    (void)st;
    enter(thr, rq->size, thread_of(rq->align));
    if (rq->size == strict.stop_at)
        __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
    if (strict.fail_every && rq->size % strict.fail_every == 0) {
        status = TP_EOOM;
    } else {
        make_block(rq->size, out);
        __atomic_add_fetch(&strict.live, 1, __ATOMIC_RELAXED);
    }
    leave();
    return status;
}

static int strict_move(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                       struct tp_block *out)
{
    (void)st;
    enter(thr, rq->size, thread_of(rq->align));
    assert_true(record_of(addr)->size < rq->size);
    make_block(rq->size, out);
    drop_block(addr);
    leave();
    return TP_OK;
}

static int strict_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    const struct handle *h = thr;
    (void)st;
    assert_true(h->started && pthread_equal(h->os, pthread_self()));
    assert_int_equal(record_of(addr)->size, rq->size);
    drop_block(addr);
    __atomic_add_fetch(&strict.calls, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&strict.live, 1, __ATOMIC_RELAXED);
    return strict.broken_from && rq->size >= strict.broken_from ? TP_EINVAL : TP_OK;
}

static int strict_trim(void *st, uint64_t keep)
{
    (void)st, (void)keep;
    assert_int_equal(__atomic_load_n(&strict.inside, __ATOMIC_RELAXED), 0);
    strict.at_trim[strict.trims++ % 4] = strict.calls;
    return TP_OK;
}

static const struct tp_strategy strict_strategy = {.name = "strict",
                                                   .summary = "checks every call",
                                                   .caps = TP_CAP_ALIGN | TP_CAP_THREADS,
                                                   .state_size = 16,
                                                   .thread_size = HANDLE,
                                                   .init = strict_init,
                                                   .fini = strict_fini,
                                                   .alloc = strict_alloc,
                                                   .free = strict_free,
                                                   .move = strict_move,
                                                   .trim = strict_trim,
                                                   .thread_init = strict_thread_init,
                                                   .thread_fini = strict_thread_fini};

/* ---- a program ---- */

static struct tp_insn insns[EVENTS];

static struct tp_insn any_insn(struct tp_random *r, uint64_t size, uint32_t threads)
{
    static struct tp_insn last[SLOTS]; /* by slot */
    static uint32_t used;
    used = size == 1 ? 0 : used;
    uint32_t slot = (uint32_t)tp_random_below(r, used < SLOTS ? used + 1 : SLOTS);
    struct tp_insn *in = &last[slot];
    if (slot == used) {
        used++;
        *in = (struct tp_insn){.op = TP_FREE, .slot = slot};
    }
    if (in->op == TP_FREE)
        in->op = TP_ALLOC;
    else
        in->op = tp_random_below(r, 4) == 0 ? TP_REALLOC : TP_FREE;
    in->thread = (uint16_t)tp_random_below(r, threads);
    if (in->op != TP_FREE) {
        in->align_log2 = (uint8_t)(4 + in->thread);
        in->size = size;
    }
    return *in;
}

/* Objects that any thread may touch. The size of an event is its number. */
static struct tp_program *make_program(uint64_t seed, size_t count, uint32_t threads)
{
    struct tp_random r;
    tp_random_seed(&r, seed);
    for (size_t i = 0; i < count; i++)
        insns[i] = any_insn(&r, i + 1, threads);
    return test_program(insns, count, false);
}

static struct tp_replay_cfg threads_on(struct tp_program *p, unsigned passes, uint32_t threads)
{
    static struct tp_clock clock = {.ns_per_tick = 1};
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &strict_strategy, p, passes);
    interrupted = 0;
    cfg.clock = &clock;
    cfg.threads = threads;
    cfg.cores = 2;
    cfg.touch = TP_TOUCH_NONE;
    cfg.interrupted = &interrupted;
    return cfg;
}

/* Replays the program once, in as many threads. */
static int replay_with(struct tp_replayer *p, const struct tp_replay_cfg *cfg)
{
    uint64_t ticks = 0;
    int status = tp_replayer_open(p, cfg, cfg->strategy, &err);
    if (status)
        return status;
    return tp_replay_once(p, tp_replay_untimed, NULL, NULL, &ticks, &err);
}

/* ---- order ---- */

/* What each thread did: allocs and reallocs, in their order. */
static void check_logs(size_t count)
{
    uint64_t seen[THREADS] = {0};
    for (size_t i = 0; i < count; i++) {
        uint16_t t = insns[i].thread;
        if (insns[i].op == TP_ALLOC || insns[i].op == TP_REALLOC)
            assert_int_equal(logs[t].sizes[seen[t]++], insns[i].size);
    }
    for (uint32_t t = 0; t < THREADS; t++)
        assert_int_equal(logs[t].count, seen[t]);
}

TEST(each_thread_and_each_object_in_its_order)
{
    struct tp_program *p = make_program(3, EVENTS, THREADS);
    for (uint32_t threads = 1; threads <= THREADS + 1; threads++) {
        struct tp_replayer replayer;
        strict = (struct state){.slow = threads == 3};
        struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, threads);
        assert_int_equal(replay_with(&replayer, &cfg), TP_OK);
        assert_int_equal(tp_crew_size(&replayer), threads < THREADS ? threads : THREADS);
        check_logs(EVENTS);
        assert_int_equal(replayer.failed + replayer.skipped, 0);
        assert_int_equal(tp_replayer_end(&replayer, TP_OK, &err), TP_OK);
        assert_int_equal(strict.live, 0);
    }
    tp_program_release(p);
}

/* What concerns all threads comes when all earlier calls are over and no later one has begun. */
TEST(a_trim_is_replayed_alone)
{
    enum { EACH = 2000 };
    struct tp_random r;
    tp_random_seed(&r, 4);
    for (uint32_t i = 0; i < 2 * EACH; i++)
        insns[i + (i < EACH ? 0 : 2)] = any_insn(&r, i + 1, THREADS);
    insns[EACH] = insns[EACH + 1] = (struct tp_insn){.op = TP_TRIM};
    struct tp_program *p = test_program(insns, 2 * EACH + 2, false);
    struct tp_replayer replayer;
    strict = (struct state){.slow = true};
    struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, THREADS);
    assert_int_equal(replay_with(&replayer, &cfg), TP_OK);
    assert_fields(strict, trims, 2, at_trim[0], EACH, at_trim[1], EACH);
    assert_int_equal(tp_replayer_end(&replayer, TP_OK, &err), TP_OK);
    tp_program_release(p);
}

/* ---- what goes wrong ---- */

/* As many fail and are skipped as in a serial replay. */
TEST(failed_allocations_are_skipped_by_all)
{
    struct tp_program *p = make_program(5, EVENTS, THREADS);
    uint64_t failed = 0, skipped = 0;
    for (uint32_t threads = 1; threads <= THREADS; threads += 7) {
        struct tp_replayer replayer;
        strict = (struct state){.fail_every = 7};
        struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, threads);
        assert_int_equal(replay_with(&replayer, &cfg), TP_OK);
        assert_true(replayer.failed > 1000 && replayer.skipped > 1000);
        if (threads > 1) {
            assert_fields(replayer, failed, failed, skipped, skipped, instances[0].failed, failed);
        }
        failed = replayer.failed;
        skipped = replayer.skipped;
        assert_int_equal(tp_replayer_end(&replayer, TP_OK, &err), TP_OK);
        assert_int_equal(strict.live, 0);
    }
    tp_program_release(p);
}

/* --on-oom stop: no thread waits for one that has stopped, and all blocks are freed. */
TEST(one_thread_stops_all)
{
    struct tp_program *p = make_program(6, EVENTS, THREADS);
    struct tp_replayer replayer;
    uint64_t at = 90000;
    while (insns[at - 1].op != TP_ALLOC)
        at++;
    strict = (struct state){.fail_every = at};
    struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, THREADS);
    cfg.stop_on_oom = true;
    assert_int_equal(replay_with(&replayer, &cfg), TP_OK);
    assert_true(replayer.stop);
    assert_int_equal(replayer.failed, 1);
    assert_true(replayer.until_stop > TP_WINDOW_MAX && replayer.until_stop < EVENTS);
    assert_int_equal(strict.live, 0);
    uint64_t ticks;
    strict.fail_every = 0; /* the same instance, once more */
    assert_int_equal(tp_replay_once(&replayer, tp_replay_untimed, NULL, NULL, &ticks, &err), TP_OK);
    assert_false(replayer.stop);
    assert_int_equal(strict.live, 0);
    assert_int_equal(tp_replayer_end(&replayer, TP_OK, &err), TP_OK);
    tp_program_release(p);
}

TEST(the_earliest_fault_is_told)
{
    struct tp_program *p = make_program(7, EVENTS, THREADS);
    struct tp_replayer replayer;
    char expected[64];
    uint32_t first = 0;
    strict = (struct state){.broken_from = 20000};
    while (insns[first].op != TP_FREE || insns[first].size < strict.broken_from)
        first++;
    struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, THREADS);
    assert_int_equal(replay_with(&replayer, &cfg), TP_EBROKEN);
    snprintf(expected, sizeof expected, "event %u: strategy 'strict' refused", first + 1);
    assert_memory_equal(err.text, expected, strlen(expected));
    assert_int_equal(tp_replayer_end(&replayer, TP_EBROKEN, &err), TP_EBROKEN);
    tp_program_release(p);
}

TEST(an_interruption_ends_all)
{
    struct tp_program *p = make_program(8, EVENTS, THREADS);
    struct tp_replayer replayer;
    uint64_t at = 30000;
    while (insns[at - 1].op != TP_ALLOC)
        at++;
    strict = (struct state){.stop_at = at};
    struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, THREADS);
    assert_int_equal(replay_with(&replayer, &cfg), TP_ESTOP);
    assert_int_equal(tp_replayer_end(&replayer, TP_ESTOP, &err), TP_ESTOP);
    tp_program_release(p);
}

/* ---- one lock ---- */

TEST(one_lock_keeps_calls_apart)
{
    struct tp_strategy s = strict_strategy;
    struct tp_program *p = make_program(9, 20000, THREADS);
    for (int locked = 0; locked < 2; locked++) {
        struct tp_replayer replayer;
        s.caps = TP_CAP_ALIGN | (locked ? 0u : TP_CAP_THREADS);
        strict = (struct state){.slow = true};
        struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, THREADS);
        cfg.strategy = &s;
        assert_int_equal(replay_with(&replayer, &cfg), TP_OK);
        assert_int_equal(replayer.instances[0].env.concurrent, !locked);
        assert_int_equal(tp_replayer_end(&replayer, TP_OK, &err), TP_OK);
        assert_true(locked ? strict.most_inside == 1 : strict.most_inside > 1);
        check_logs(20000);
    }
    tp_program_release(p);
}

/* ---- whole passes ---- */

TEST(passes_say_what_threads_did)
{
    struct tp_program *p = make_program(10, 3000, THREADS);
    strict = (struct state){.slow = false};
    struct tp_replay_cfg cfg = threads_on(p, TP_PASS_ALL, 4);
    cfg.min_replays = 3;
    cfg.repeat = 1;
    replay(&cfg);
    const struct tp_crew_run *crew = &run->throughput.crew;
    assert_fields(*crew, threads, 4, wall.total, run->throughput.replays, waited.total,
                  run->throughput.replays, blocked.total, run->throughput.replays);
    assert_int_equal(crew->window.total, run->throughput.replays); /* the program is one */
    assert_true(crew->alone.total >= 1);
    for (uint32_t i = 0; i < crew->waited.count; i++)
        assert_true(crew->waited.values[i] >= 0 && crew->waited.values[i] <= 1);
    uint64_t calls = 0;
    for (int k = 0; k < TP_LAT_KINDS; k++)
        calls += run->latency.kinds[k].hist.count;
    assert_int_equal(calls, run->latency.replays * 3000);
    assert_int_equal(run->flags & TP_RUN_ONE_LOCK, 0);
    tp_program_release(p);
}

TEST(too_much_is_refused)
{
    static struct tp_insn many[TP_CREW_MAX + 1];
    for (uint32_t i = 0; i <= TP_CREW_MAX; i++)
        many[i] = (struct tp_insn){
            .op = TP_ALLOC, .align_log2 = 4, .thread = (uint16_t)i, .slot = i, .size = 1};
    struct tp_program *p = test_program(many, TP_CREW_MAX + 1, false);
    struct tp_replay_cfg cfg = threads_on(p, TP_PASS_THROUGHPUT, TP_THREADS_AS_RECORDED);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EUSAGE);
    assert_string_equal(err.text, "1025 threads are too many: at most 1024 can replay together");
    cfg = run_on(&tp_source_virtual, &strict_strategy, p, TP_PASS_THROUGHPUT);
    cfg.threads = 2;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EUSAGE);
    tp_program_release(p);
}

static int setup(void **state)
{
    (void)state;
    return new_run();
}

GROUP(setup, teardown)
