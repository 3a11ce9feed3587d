/* The resident pass by several threads: OS threads are there as long as the recorded ones, objects
 * go from one to the next as in the trace, none runs ahead, and the figures are those of one thread
 * where a strategy keeps nothing for a thread. */
#include "alloc/base/random.h"
#include "tests/unit/resident_rig.h"

#include <unistd.h>

enum { CALLS_MOST = 64 };

/* ---- a strategy that says who called ---- */

/* `direct`; each thread writes as many pages for itself as the test says, and takes them away. */
static struct tp_strategy watched;
static struct {
    pid_t os[CALLS_MOST]; /* that made each call of alloc, in their order */
    uint64_t sizes[CALLS_MOST];
    uint64_t processes[CALLS_MOST]; /* threads of the process then */
    uint32_t calls;
    uint64_t own_bytes;  /* of each thread */
    uint64_t live, most; /* bytes of blocks */
    int refused;         /* what thread_init returns */
} seen;

static int watched_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    uint32_t at = __atomic_fetch_add(&seen.calls, 1, __ATOMIC_SEQ_CST);
    if (at < CALLS_MOST) {
        seen.os[at] = gettid();
        seen.sizes[at] = rq->size;
        seen.processes[at] = tp_process_threads();
    }
    uint64_t live = __atomic_add_fetch(&seen.live, rq->size, __ATOMIC_SEQ_CST);
    uint64_t most = __atomic_load_n(&seen.most, __ATOMIC_SEQ_CST);
    while (live > most && !__atomic_compare_exchange_n(&seen.most, &most, live, false,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return tp_strategy_direct.alloc(state, thread, rq, out);
}

static int watched_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    int status = tp_strategy_direct.free(state, thread, addr, rq);
    __atomic_sub_fetch(&seen.live, rq->size, __ATOMIC_SEQ_CST);
    return status;
}

static int watched_thread_init(void *state, void *thread)
{
    char **own = thread;
    (void)state;
    *own = seen.own_bytes ? tp_own_zeroed(1, seen.own_bytes) : NULL;
    if (*own)
        memset(*own, 1, seen.own_bytes);
    return seen.refused;
}

static void watched_thread_fini(void *state, void *thread)
{
    char **own = thread;
    (void)state;
    tp_own_free(*own);
}

static void watch(void)
{
    memset(&seen, 0, sizeof seen);
    watched = tp_strategy_direct;
    watched.alloc = watched_alloc;
    watched.free = watched_free;
    watched.thread_size = sizeof(char *);
    watched.thread_init = watched_thread_init;
    watched.thread_fini = watched_thread_fini;
}

static struct tp_replay_cfg by(uint32_t threads, struct tp_program *p)
{
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &watched, p, TP_PASS_RESIDENT);
    cfg.threads = threads;
    cfg.cores = 8;
    return cfg;
}

/* Replays the program of these instructions by so many threads. */
static void replay_by(uint32_t threads, const struct tp_insn *insns, size_t count)
{
    struct tp_program *p = test_program(insns, count, true);
    struct tp_replay_cfg cfg = by(threads, p);
    replay(&cfg);
    tp_program_release(p);
}
#define REPLAY_BY(threads, insns) replay_by(threads, insns, COUNT(insns))

static struct tp_insn of(uint16_t thread, struct tp_insn insn)
{
    insn.thread = thread;
    return insn;
}
#define OF(thread, insn) of(thread, (struct tp_insn)insn)

static struct tp_insn end_of(uint16_t thread)
{
    return (struct tp_insn){.op = TP_THREAD_END, .thread = thread};
}

/* ---- lifetimes ---- */

/* Thread 1 ends, and its index is another thread's later. */
TEST_WITH(threads_begin_and_end_where_they_were_recorded, setup, teardown)
{
    const struct tp_insn insns[] = {
        OF(0, ALLOC_INSN(0, 1 * MIB, 0)), OF(1, ALLOC_INSN(1, 2 * MIB, 0)),
        OF(1, ALLOC_INSN(2, 3 * MIB, 0)), end_of(1),
        OF(0, ALLOC_INSN(3, 4 * MIB, 0)), OF(1, ALLOC_INSN(4, 5 * MIB, 0)),
        OF(0, ALLOC_INSN(5, 6 * MIB, 0))};
    watch();
    REPLAY_BY(2, insns);
    assert_int_equal(seen.calls, 6);
    for (uint32_t i = 0; i < seen.calls; i++) /* pieces are small here: one after another */
        assert_int_equal(seen.sizes[i], (i + 1) * MIB);
    assert_true(seen.os[0] == getpid() && seen.os[3] == getpid() && seen.os[5] == getpid());
    assert_true(seen.os[1] == seen.os[2] && seen.os[1] != seen.os[0]);
    assert_true(seen.os[4] != seen.os[1] && seen.os[4] != seen.os[0]);
    const uint64_t there[] = {1, 2, 2, 1, 2, 2};
    for (uint32_t i = 0; i < seen.calls && !TP_SANITIZED; i++) /* which may have one of its own */
        assert_int_equal(seen.processes[i], there[i]);
}

/* What a strategy keeps for a thread is in the figure while the thread is. */
TEST_WITH(memory_of_a_thread_goes_with_it, setup, teardown)
{
    const struct tp_insn insns[] = {OF(0, ALLOC_INSN(0, 1 * MIB, 0)),
                                    OF(1, ALLOC_INSN(1, 1 * MIB, 0)),
                                    end_of(1),
                                    OF(2, ALLOC_INSN(2, 1 * MIB, 0)),
                                    end_of(2),
                                    OF(0, ALLOC_INSN(3, 1 * MIB, 0))};
    if (TP_SANITIZED) /* it keeps what is freed */
        skip();
    watch();
    seen.own_bytes = 8 * MIB;
    REPLAY_BY(3, insns);
    const struct tp_resident *r = &run->resident;
    assert_in_range(r->end.median, 12 * MIB, 12 * MIB + FEW); /* thread 0 has its own */
    assert_in_range(r->at_peak.median, 12 * MIB, 12 * MIB + FEW);
    assert_in_range(r->peak.median, 19 * MIB, 19 * MIB + FEW); /* threads 0 and 2 */
}

/* Fewer OS threads than recorded ones are there from the first event to the last. */
TEST_WITH(threads_that_replay_several_stay, setup, teardown)
{
    const struct tp_insn insns[] = {
        OF(0, ALLOC_INSN(0, 1 * MIB, 0)), OF(1, ALLOC_INSN(1, 1 * MIB, 0)), end_of(1),
        OF(2, ALLOC_INSN(2, 1 * MIB, 0)), OF(1, ALLOC_INSN(3, 1 * MIB, 0))};
    watch();
    REPLAY_BY(2, insns);
    assert_true(seen.os[0] == seen.os[2]);
    assert_true(seen.os[1] == seen.os[3] && seen.os[1] != seen.os[0]);
}

/* Without one of its threads nothing is known of the memory. */
TEST_WITH(without_a_thread_nothing_is_known, setup, teardown)
{
    const struct tp_insn insns[] = {OF(0, ALLOC_INSN(0, 1 * MIB, 0)),
                                    OF(0, ALLOC_INSN(1, 1 * MIB, 0)),
                                    OF(1, ALLOC_INSN(2, 1 * MIB, 0)), end_of(1)};
    watch();
    seen.refused = TP_ENOMEM;
    REPLAY_BY(2, insns);
    assert_int_equal(run->resident.threads, 0);
    assert_int_equal(run->resident.passes, 0);
    assert_int_equal(run->resident.course.count, 0);
    assert_true(run->resident.peak.median == TP_NONE);
}

/* ---- figures ---- */

/* This process's malloc begins a heap for each thread that takes bookkeeping from it. */
static void assert_near(const struct tp_spread *a, const struct tp_spread *b)
{
    assert_in_range(a->median, b->median > FEW ? b->median - FEW : 0, b->median + 3 * FEW);
}

/* `direct` keeps nothing for a thread. The pieces of the second replay are replayed by up to four
 * threads at a time, with objects that go from one to another. */
TEST_WITH(several_threads_read_what_one_does, setup, teardown)
{
    enum { EVENTS = 4000, LIVE = 200, BYTES = 64 << 10 };
    static struct tp_insn insns[2 * EVENTS];
    struct tp_random random;
    static uint64_t sizes[LIVE];
    size_t count = 0;
    memset(sizes, 0, sizeof sizes);
    tp_random_seed(&random, 5);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t slot = i < LIVE ? i : (uint32_t)tp_random_below(&random, LIVE); /* each once */
        uint16_t thread = (uint16_t)tp_random_below(&random, 4);
        uint64_t size = 4096 * (1 + tp_random_below(&random, BYTES / 4096));
        if (sizes[slot] && i % 3)
            insns[count++] = OF(thread, FREE_INSN(slot, sizes[slot], 10));
        else if (sizes[slot])
            insns[count++] = (struct tp_insn){.op = TP_REALLOC,
                                              .align_log2 = 4,
                                              .slot = slot,
                                              .size = size,
                                              .gap_ns = 10,
                                              .thread = thread};
        else
            insns[count++] = OF(thread, ALLOC_INSN(slot, size, 10));
        sizes[slot] = sizes[slot] && i % 3 ? 0 : size;
    }
    struct tp_program *p = test_program(insns, count, true);
    watch();
    struct tp_replay_cfg cfg = by(1, p);
    replay(&cfg);
    const struct tp_resident one = run->resident;
    cfg = by(4, p);
    replay(&cfg);
    tp_program_release(p);
    assert_int_equal(run->resident.passes, 1);
    if (TP_SANITIZED) /* its shadow is in the figures */
        return;
    assert_near(&run->resident.at_peak, &one.at_peak);
    assert_near(&run->resident.end, &one.end);
    assert_in_range(run->resident.peak.median, one.peak.median - FEW,
                    one.peak.median + one.peak.median / 50);
}

/* Sizes that a REALLOC changes move the readings. */
TEST_WITH(readings_are_where_requested_bytes_swing, setup, teardown)
{
    const struct tp_insn insns[] = {
        OF(0, ALLOC_INSN(0, 1 * MIB, 10)),
        {.op = TP_REALLOC, .align_log2 = 4, .size = 4 * MIB, .gap_ns = 10, .thread = 1},
        OF(0, ALLOC_INSN(1, 100, 10)),
        {.op = TP_REALLOC, .align_log2 = 4, .size = 4 * MIB - 16, .gap_ns = 10, .thread = 1},
        OF(1, FREE_INSN(1, 100, 10)),
        OF(0, FREE_INSN(0, 4 * MIB - 16, 10))};
    static const uint64_t events[] = {0, 1, 2, 3, 6};
    watch();
    REPLAY_BY(2, insns);
    const struct tp_course *c = &run->resident.course;
    assert_int_equal(c->count, COUNT(events));
    for (size_t i = 0; i < COUNT(events); i++) {
        assert_int_equal(c->points[i].event, events[i]);
        assert_int_equal(c->points[i].clock, 10 * events[i]);
    }
    assert_in_range(c->points[4].bytes, 0, FEW);
}

/* One thread allocates over and over, another frees it. A step is 1% of 4 MiB. */
TEST_WITH(none_runs_ahead_by_more_than_a_step, setup, teardown)
{
    enum { TIMES = 400, SIZE = 16 << 10 };
    static struct tp_insn insns[2 * TIMES + 1];
    insns[0] = OF(0, ALLOC_INSN(0, 4 * MIB, 0));
    for (uint32_t i = 0; i < TIMES; i++) {
        insns[1 + 2 * i] = OF(1, ALLOC_INSN(1, SIZE, 0));
        insns[2 + 2 * i] = OF(2, FREE_INSN(1, SIZE, 0));
    }
    watch();
    REPLAY_BY(3, insns);
    assert_int_equal(seen.calls, TIMES + 1);
    assert_in_range(seen.most, 4 * MIB + SIZE, 4 * MIB + 4 * MIB / 100 + 2 * SIZE);
}
