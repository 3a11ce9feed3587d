/* What is replayed ahead: where it is replayed, that it is the same, and what is left alone. */
#include "cmd/jobs/fork_replay.h"
#include "tests/unit/one_run.h"
#include "tests/unit/process_state.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct tp_source_ops tp_source_host;
extern const struct tp_strategy tp_strategy_direct;

enum { REPLAYS = 5, PASSES = TP_PASS_USAGE | TP_PASS_FITS };

/* `direct`, which tells the process that it runs in, and may die there. */
static struct tp_strategy told;
static pid_t test_process;
static bool dies;
static int stays; /* not 0: each writes its number there and stays */

static void tell(void *st, struct tp_stats *out)
{
    const pid_t self = getpid();
    if (stays && write(stays, &self, sizeof self) == (ssize_t)sizeof self)
        for (;;)
            pause();
    if (tp_strategy_direct.stats)
        tp_strategy_direct.stats(st, out);
    out->start_bytes = (uint64_t)getpid();
    if (dies && getpid() != test_process)
        raise(SIGKILL);
}

struct set {
    struct tp_program *program;
    struct tp_replay_cfg cfgs[REPLAYS];
    struct tp_ahead list[REPLAYS];
};

static struct set set;

static int setup(void **state)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 5000, 0), ALLOC_INSN(1, 100, 0),
                                    FREE_INSN(0, 5000, 0), ALLOC_INSN(0, 90000, 0)};
    (void)state;
    told = tp_strategy_direct;
    told.stats = tell;
    test_process = getpid();
    dies = false;
    stays = 0;
    set = (struct set){.program = test_program(insns, COUNT(insns), true)};
    for (int i = 0; i < REPLAYS; i++) {
        set.cfgs[i] = run_on(&tp_source_virtual, &told, set.program, PASSES);
        set.list[i] = (struct tp_ahead){&set.cfgs[i], calloc(1, tp_run_size(1))};
        assert_non_null(set.list[i].run);
    }
    return new_run();
}

static int release(void **state)
{
    for (int i = 0; i < REPLAYS; i++)
        free(set.list[i].run);
    tp_program_release(set.program);
    return teardown(state);
}

static void replay_ahead(unsigned workers, uint64_t memory)
{
    tp_ahead_replay(set.list, REPLAYS, workers, memory, NULL, NULL, NULL);
}

static uint64_t process_of(int i)
{
    return set.list[i].run->devices[0].start_bytes;
}

TEST_WITH(each_is_replayed_in_a_process_of_its_own_and_says_the_same, setup, release)
{
    replay_ahead(2, UINT64_C(1) << 30);
    replay(&set.cfgs[0]);
    for (int i = 0; i < REPLAYS; i++) {
        struct tp_run *ahead = set.list[i].run;
        assert_int_equal(ahead->passes, PASSES);
        assert_true(process_of(i) && process_of(i) != (uint64_t)getpid());
        for (int j = 0; j < i; j++)
            assert_true(process_of(i) != process_of(j));
        run->devices[0].start_bytes = process_of(i); /* all that tells them apart */
        assert_memory_equal(ahead, run, tp_run_size(1));
    }
}

TEST_WITH(one_core_or_too_little_memory_replays_nothing_ahead, setup, release)
{
    replay_ahead(1, UINT64_C(1) << 30);
    replay_ahead(2, UINT64_C(1) << 20);
    replay_ahead(0, UINT64_MAX);
    for (int i = 0; i < REPLAYS; i++)
        assert_int_equal(set.list[i].run->passes, 0);
}

/* Whoever replays it then in the usual way is told. */
TEST_WITH(what_goes_wrong_there_is_left_to_be_replayed, setup, release)
{
    const struct tp_strategy *whole = set.cfgs[1].strategy;
    struct tp_strategy broken = tp_strategy_direct;
    broken.name = NULL;
    set.cfgs[1].strategy = &broken;
    replay_ahead(3, UINT64_C(1) << 30);
    assert_int_equal(set.list[1].run->passes, 0);
    assert_int_equal(set.list[0].run->passes, PASSES);
    assert_int_equal(set.list[4].run->passes, PASSES);
    set.cfgs[1].strategy = whole;
    for (int i = 0; i < REPLAYS; i++)
        memset(set.list[i].run, 0, tp_run_size(1));
    dies = true;
    replay_ahead(3, UINT64_C(1) << 30);
    for (int i = 0; i < REPLAYS; i++)
        assert_int_equal(set.list[i].run->passes, 0);
}

TEST_WITH(who_wants_to_stop_waits_for_none, setup, release)
{
    const volatile sig_atomic_t stop = 1;
    tp_ahead_replay(set.list, REPLAYS, 2, UINT64_C(1) << 30, &stop, NULL, NULL);
    for (int i = 0; i < REPLAYS; i++)
        assert_int_equal(set.list[i].run->passes, 0);
}

enum { WORKERS = 2 };

/* A process that replays ahead, and those in which it does so. */
static pid_t replay_in_process(pid_t workers[WORKERS])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t replayer = fork();
    assert_true(replayer >= 0);
    if (!replayer) {
        setpgid(0, 0); /* of a group that nobody waits for Ctrl-Z stops nothing */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stays = ends[1];
        replay_ahead(WORKERS, UINT64_C(1) << 30);
        _exit(0);
    }
    close(ends[1]);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(read(ends[0], &workers[i], sizeof *workers), sizeof *workers);
    close(ends[0]);
    return replayer;
}

TEST_WITH(who_replays_ahead_is_stopped_with_tapool, setup, release)
{
    pid_t workers[WORKERS];
    pid_t replayer = replay_in_process(workers);
    int how = 0;
    await_waiting(replayer);
    assert_int_equal(kill(replayer, SIGTSTP), 0);
    assert_int_equal(waitpid(replayer, &how, WUNTRACED), replayer);
    bool stopped = WIFSTOPPED(how), went_on = true;
    for (int i = 0; i < WORKERS; i++)
        stopped = stopped && is_stopped(workers[i], true);
    kill(replayer, SIGCONT);
    for (int i = 0; stopped && i < WORKERS; i++)
        went_on = went_on && !is_stopped(workers[i], false);
    kill(replayer, SIGKILL); /* and with it who replays for it */
    assert_int_equal(waitpid(replayer, &how, 0), replayer);
    assert_true(stopped);
    assert_true(went_on);
}

/* Real memory would be taken twice; and times are never taken beside others. */
TEST_WITH(only_untimed_passes_on_simulated_memory_are_replayed_ahead, setup, release)
{
    struct tp_replay_cfg cfg = set.cfgs[0];
    cfg.passes = TP_PASS_ALL | TP_PASS_FITS | TP_PASS_VERIFY | TP_PASS_COUNT;
    assert_int_equal(tp_ahead_passes(&cfg), TP_PASS_USAGE | TP_PASS_FITS | TP_PASS_VERIFY);
    cfg.passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY;
    assert_int_equal(tp_ahead_passes(&cfg), 0);
    cfg = run_on(&tp_source_host, &told, set.program, TP_PASS_ALL);
    assert_int_equal(tp_ahead_passes(&cfg), 0);
    cfg.layer_count = 0; /* a foreign allocator */
    assert_int_equal(tp_ahead_passes(&cfg), 0);
}
