/* A replay that writes large blocks wholly can be interrupted within one of them, and without an
 * interruption writes all of each. Written pages are counted as the kernel's page faults. */
#include "tests/unit/one_run.h"

#include <sys/resource.h>

extern const struct tp_source_ops tp_source_host;

enum {
    BLOCK = 64 << 20,
    BLOCKS = 6,
    PAGES = BLOCK / 4096, /* faults of a block, where no page is larger */
    GRANULE = 4096
};

static volatile sig_atomic_t interrupted;
static unsigned allocations, interrupt_at; /* interrupt_at: the allocation that is interrupted */

/* ---- a strategy that hands out one range after the other ---- */

struct ranges {
    const struct tp_env *env;
};

static int ranges_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    (void)opts, (void)e;
    ((struct ranges *)st)->env = env;
    return TP_OK;
}

static void ranges_fini(void *st)
{
    (void)st;
}

static int ranges_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)thr;
    interrupted = ++allocations == interrupt_at || interrupted;
    *out = (struct tp_block){.granted = rq->size};
    return tp_src_get(((struct ranges *)st)->env->source, rq->size, GRANULE, &out->addr);
}

static int ranges_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)thr;
    return tp_src_put(((struct ranges *)st)->env->source, addr, rq->size);
}

static const struct tp_strategy ranges = {.name = "ranges",
                                          .summary = "a range for each block",
                                          .resembles = "nothing",
                                          .to_use = "a test",
                                          .group = TP_GROUP_POLICY,
                                          .caps = TP_CAP_ALIGN,
                                          .state_size = sizeof(struct ranges),
                                          .init = ranges_init,
                                          .fini = ranges_fini,
                                          .alloc = ranges_alloc,
                                          .free = ranges_free};

/* ---- running ---- */

static int setup(void **state)
{
    (void)state;
    allocations = interrupt_at = 0;
    interrupted = 0;
    return new_run();
}

static long faults(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* The faults of a replay, whose status is checked. */
static long faults_of(unsigned at, int expected)
{
    struct tp_insn insns[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++)
        insns[i] = (struct tp_insn)ALLOC_INSN(i, BLOCK, 0);
    struct tp_program *p = test_program(insns, BLOCKS, false);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &ranges, p, TP_PASS_USAGE);
    cfg.touch = TP_TOUCH_ALL;
    cfg.interrupted = &interrupted;
    interrupt_at = at;
    long before = faults();
    assert_int_equal(tp_replay(&cfg, run, &err), expected);
    tp_program_release(p);
    return faults() - before;
}

TEST_WITH(an_interruption_ends_the_writing_of_a_block, setup, teardown)
{
    long written = faults_of(2, TP_ESTOP); /* one block wholly, of the second next to nothing */
    assert_in_range(written, PAGES, PAGES + PAGES / 2);
}

TEST_WITH(all_of_each_block_is_written, setup, teardown)
{
    assert_true(faults_of(0, TP_OK) >= BLOCKS * (long)PAGES);
}
