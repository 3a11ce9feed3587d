/* The passes in processes of their own: how many there are, where they are replayed, and how
 * several become one figure. */
#include "alloc/base/own.h"
#include "cmd/jobs/memory_passes.h"
#include "tests/unit/one_run.h"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

extern const struct tp_source_ops tp_source_host, tp_source_virtual;
extern const struct tp_strategy tp_strategy_direct;

/* A sanitizer writes its shadow too. */
enum { MIB = 1 << 20, FEW = (TP_SANITIZED ? 256 : 16) * 4096 };

/* `direct`, which tells what it was told to do in each of its processes. */
static struct tp_strategy told;
static struct shared {
    unsigned inits;
    pid_t pids[8];
    bool slow, dies, refuses;
} * shared; /* with the processes that replay */

static int tell(void *state, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    shared->pids[shared->inits % 8] = getpid();
    shared->inits++;
    if (shared->slow)
        nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
    if (shared->dies)
        raise(SIGKILL);
    if (shared->refuses)
        return tp_fail(e, TP_EUSAGE, "not today");
    /* each pass holds a MiB more than the one before */
    void *more = mmap(NULL, shared->inits * (size_t)MIB, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(more != MAP_FAILED);
    memset(more, 1, shared->inits * (size_t)MIB);
    return tp_strategy_direct.init(state, env, opts, e);
}

static struct tp_program *program;
static struct tp_replay_cfg cfg;
static const struct tp_strategy_spec spec = {.strategy = &told, .label = "told"};

static int setup(void **state)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, MIB, 0), ALLOC_INSN(1, 100, 0)};
    (void)state;
    told = tp_strategy_direct;
    told.init = tell;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    program = test_program(insns, COUNT(insns), true);
    cfg = run_on(&tp_source_host, &told, program, TP_PASS_USAGE | TP_PASS_RESIDENT);
    return new_run();
}

static int release(void **state)
{
    tp_program_release(program);
    munmap(shared, sizeof *shared);
    return teardown(state);
}

static void measure(void)
{
    if (tp_memory_passes(&cfg, &spec, run, &err))
        fail_msg("%s", err.text);
    assert_int_equal(run->passes, TP_PASS_RESIDENT);
    if (!run->resident.passes)
        skip(); /* a kernel that does not say */
}

TEST_WITH(three_processes_give_the_middle_and_the_ends, setup, release)
{
    measure();
    assert_int_equal(shared->inits, 3);
    for (int i = 0; i < 3; i++)
        assert_true(shared->pids[i] != getpid() && shared->pids[i] != shared->pids[(i + 1) % 3]);
    const struct tp_spread *s = &run->resident.at_peak;
    assert_int_equal(run->resident.passes, 3);
    assert_in_range(s->low, 2 * MIB, 2 * MIB + FEW);
    assert_in_range(s->median, 3 * MIB, 3 * MIB + FEW);
    assert_in_range(s->high, 4 * MIB, 4 * MIB + FEW);
    assert_true(run->resident.end.median >= s->median && run->resident.peak.high >= s->high);
    /* the course is that of the pass in the middle */
    const struct tp_course *c = &run->resident.course;
    assert_in_range(c->points[0].bytes, 2 * MIB, 2 * MIB + FEW);
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->count; i++)
        most = c->points[i].bytes > most ? c->points[i].bytes : most;
    assert_int_equal(most, run->resident.peak.median);
}

TEST_WITH(a_long_one_stays_alone, setup, release)
{
    shared->slow = true;
    measure();
    assert_int_equal(shared->inits, 1);
    assert_int_equal(run->resident.passes, 1);
    assert_int_equal(run->resident.at_peak.low, run->resident.at_peak.high);
}

TEST_WITH(the_childs_error_is_the_parents, setup, release)
{
    shared->refuses = true;
    assert_int_equal(tp_memory_passes(&cfg, &spec, run, &err), TP_EUSAGE);
    assert_string_equal(err.text, "not today");
    shared->refuses = false;
    shared->dies = true;
    assert_int_equal(tp_memory_passes(&cfg, &spec, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "'told' died of signal 9"));
}

TEST_WITH(only_memory_of_the_host_on_one_device_is_measured, setup, release)
{
    assert_int_equal(tp_memory_passes_of(&cfg), TP_PASS_USAGE | TP_PASS_RESIDENT);
    cfg.passes |= TP_PASS_MAPPED; /* of a real allocator alone */
    assert_int_equal(tp_memory_passes_of(&cfg), TP_PASS_USAGE | TP_PASS_RESIDENT);
    told.caps |= TP_CAP_FOREIGN;
    assert_int_equal(tp_memory_passes_of(&cfg), cfg.passes);
    told.caps &= ~(unsigned)TP_CAP_FOREIGN;
    cfg.layers[0].ops = &tp_source_virtual;
    assert_int_equal(tp_memory_passes_of(&cfg), TP_PASS_USAGE);
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, MIB, 0),
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 1, .size = 1, .device = 1}};
    struct tp_program *two = test_program(insns, COUNT(insns), true);
    cfg.layers[0].ops = &tp_source_host;
    cfg.program = two;
    assert_int_equal(tp_memory_passes_of(&cfg), TP_PASS_USAGE);
    tp_program_release(two);
}
