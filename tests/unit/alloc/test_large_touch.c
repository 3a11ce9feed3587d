/* A replay that writes large blocks wholly can be interrupted within one of them, and without an
 * interruption writes all of each. Written pages are counted as the kernel's page faults. */
#include "tests/unit/ranges.h"

#include <sys/resource.h>

extern const struct tp_source_ops tp_source_host;

enum {
    BLOCK = 64 << 20,
    LARGE_BLOCKS = 6,
    PAGES = BLOCK / 4096 /* faults of a block, where no page is larger */
};

static volatile sig_atomic_t interrupted;
static unsigned allocations, interrupt_at; /* interrupt_at: the allocation that is interrupted */

static void interrupt(const struct tp_req *rq)
{
    (void)rq;
    interrupted = ++allocations == interrupt_at || interrupted;
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
    struct tp_insn insns[LARGE_BLOCKS];
    for (uint32_t i = 0; i < LARGE_BLOCKS; i++)
        insns[i] = (struct tp_insn)ALLOC_INSN(i, BLOCK, 0);
    struct tp_program *p = test_program(insns, LARGE_BLOCKS, false);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &ranges_unwalked, p, TP_PASS_USAGE);
    cfg.touch = TP_TOUCH_ALL;
    cfg.interrupted = &interrupted;
    how.allocated = interrupt;
    allocations = 0;
    interrupted = 0;
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
    assert_true(faults_of(0, TP_OK) >= LARGE_BLOCKS * (long)PAGES);
}
