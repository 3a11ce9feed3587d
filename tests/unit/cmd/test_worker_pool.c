/* Resident workers: each task is done once and by whom; what one may do to itself without harm for
 * the others; and that none is left. */
#include "cmd/jobs/worker_pool.h"

#include "cmd/jobs/left_behind.h"
#include "tests/unit/process_state.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 64, WORKERS = 2, ROOM = 300000 };

/* What a task does. */
enum deed {
    ANSWERS,
    SAYS_NO,
    DIES,
    EXITS,
    ENDS_WELL,
    WRITES_BEFORE,
    WRITES_SIZE,
    STAYS,
    READS,
    BIG,
    LEAVES_ONE
};

struct answer {
    pid_t pid;
    uint64_t number;
    int core;   /* the only one that it may run on; -1: there are several */
    int input;  /* what reading its input returned */
    int boards; /* memory that it shares with others */
};

/* What is to be done, and what has been. */
static struct {
    unsigned count; /* tasks */
    unsigned given;
    enum deed deeds[TASKS];
    uint64_t timeout_ns[TASKS];
    bool fresh[TASKS];
    int core;       /* of all tasks; -1: none */
    unsigned waits; /* not 0: no task is given from this one on before another has ended */
    int stop_after; /* tasks, after which it is interrupted; -1: never */
    int fail_after; /* tasks, after which `done` says no; -1: never */
    int tell;       /* where a task that stays tells its number; 0: nowhere */
    unsigned ended, times[TASKS], asked_in_vain, ticks;
    unsigned order[TASKS];           /* the tasks as they ended */
    struct tp_pool_done done[TASKS]; /* their `answer` is not to be used */
    struct answer answers[TASKS];
    volatile sig_atomic_t stop;
} all;

static struct tp_err err;

static int only_core(void)
{
    cpu_set_t set;
    int found = -1;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) != 1)
        return -1;
    for (int i = 0; i < CPU_SETSIZE && found < 0; i++)
        found = CPU_ISSET((unsigned)i, &set) ? i : -1;
    return found;
}

/* Places of memory that is shared with other processes and is of no file. */
static int count_shared(void)
{
    char line[600];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, " rw-s ") && strstr(line, "/dev/zero");
    if (maps)
        fclose(maps);
    return count;
}

static void stay(void)
{
    const pid_t self = getpid();
    alarm(120); /* should it be left after all */
    if (all.tell && write(all.tell, &self, sizeof self) != (ssize_t)sizeof self)
        _exit(1);
    for (;;)
        pause();
}

/* A child that leads a group of its own, as a replay in a worker may start one. */
static void leave_one(void)
{
    const pid_t worker = getpid(), child = fork();
    if (child < 0 || (!child && !tp_child_begin(worker)))
        _exit(1);
    stay();
}

static int work(void *ctx, uint64_t number, void *answer, size_t *size, struct tp_err *why)
{
    const struct answer a = {
        .pid = getpid(), .number = number, .core = only_core(), .boards = count_shared()};
    enum deed deed = all.deeds[number];
    char byte;
    (void)ctx;
    memcpy(answer, &a, sizeof a);
    *size = sizeof a;
    if (deed == SAYS_NO)
        return tp_hint(why, tp_fail(why, TP_EINPUT, "no %d", (int)number), "a hint");
    if (deed == DIES)
        raise(SIGKILL);
    if (deed == EXITS || deed == ENDS_WELL)
        exit(deed == EXITS ? 3 : 0);
    if (deed == WRITES_BEFORE)
        memset((char *)answer - 64, 0x5a, 64);
    if (deed == WRITES_SIZE)
        *size = (size_t)ROOM + 1;
    if (deed == STAYS)
        stay();
    if (deed == LEAVES_ONE)
        leave_one();
    if (deed == READS)
        ((struct answer *)answer)->input = (int)read(STDIN_FILENO, &byte, 1);
    if (deed == BIG) {
        for (size_t i = sizeof a; i < ROOM; i++)
            ((unsigned char *)answer)[i] = (unsigned char)(i * 31);
        *size = ROOM;
    }
    return TP_OK;
}

static bool next(void *ctx, unsigned worker, struct tp_pool_task *task)
{
    (void)ctx;
    assert_true(worker < WORKERS);
    if (all.given >= all.count || (all.waits && all.given >= all.waits && all.ended < all.waits)) {
        all.asked_in_vain++;
        return false;
    }
    *task = (struct tp_pool_task){.number = all.given,
                                  .timeout_ns = all.timeout_ns[all.given],
                                  .fresh = all.fresh[all.given],
                                  .core = all.core};
    all.given++;
    return true;
}

static bool is_big(const unsigned char *bytes)
{
    for (size_t i = sizeof(struct answer); i < ROOM; i++)
        if (bytes[i] != (unsigned char)(i * 31))
            return false;
    return true;
}

static int done(void *ctx, const struct tp_pool_done *d, struct tp_err *why)
{
    uint64_t number = d->task.number;
    (void)ctx;
    assert_true(number < all.given);
    all.times[number]++;
    all.done[number] = *d;
    all.order[all.ended++] = (unsigned)number;
    if (!d->status) {
        assert_int_equal(d->size, all.deeds[number] == BIG ? ROOM : sizeof(struct answer));
        memcpy(&all.answers[number], d->answer, sizeof(struct answer));
        assert_int_equal(all.answers[number].number, number);
        if (all.deeds[number] == BIG)
            assert_true(is_big(d->answer));
    }
    if (all.stop_after == (int)all.ended)
        all.stop = 1;
    return all.fail_after == (int)all.ended ? tp_fail(why, TP_EIO, "no room for it") : TP_OK;
}

static void tick(void *ctx)
{
    (void)ctx;
    all.ticks++;
}

static int setup(void **state)
{
    (void)state;
    memset(&all, 0, sizeof all);
    all.core = all.stop_after = all.fail_after = -1;
    err = (struct tp_err){.status = TP_OK};
    tp_left_behind_adopt(); /* who loses its parent is found by is_gone */
    return 0;
}

static int count_open(void)
{
    int open = 0;
    for (int fd = 0; fd < 256; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

/* Runs the first `count` tasks; no worker and no file of one is left. */
static int run_tasks(unsigned count, unsigned workers)
{
    const struct tp_worker_pool cfg = {.workers = workers,
                                       .room = ROOM,
                                       .work = work,
                                       .next = next,
                                       .done = done,
                                       .tick = tick,
                                       .interrupted = &all.stop};
    all.count = count;
    int open_before = count_open();
    int status = tp_pool_run(&cfg, &err);
    assert_int_equal(count_open(), open_before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return status;
}

/* All tasks but those that were to go wrong have ended well, once. */
static void assert_all_done(unsigned count)
{
    assert_int_equal(all.ended, count);
    for (unsigned i = 0; i < count; i++) {
        bool well = all.deeds[i] == ANSWERS || all.deeds[i] == BIG || all.deeds[i] == READS;
        assert_int_equal(all.times[i], 1);
        assert_true((all.done[i].status == TP_OK) == well);
    }
}

static void assert_ended(unsigned task, enum tp_status status, const char *text)
{
    assert_int_equal(all.done[task].status, status);
    assert_int_equal(all.done[task].err.status, status);
    assert_non_null(strstr(all.done[task].err.text, text));
}

static unsigned count_processes(unsigned count)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++) {
        bool seen = false;
        for (unsigned k = 0; k < i; k++)
            seen |= all.answers[k].pid == all.answers[i].pid;
        found += !seen;
    }
    return found;
}

TEST_WITH(two_workers_do_many_tasks_once_each, setup, NULL)
{
    assert_int_equal(run_tasks(TASKS, WORKERS), TP_OK);
    assert_all_done(TASKS);
    assert_int_equal(count_processes(TASKS), WORKERS);
    for (unsigned i = 0; i < TASKS; i++)
        assert_true(all.answers[i].pid != getpid());
}

TEST_WITH(without_tasks_it_ends_at_once, setup, NULL)
{
    assert_int_equal(run_tasks(0, WORKERS), TP_OK);
    assert_int_equal(all.asked_in_vain, WORKERS);
}

TEST_WITH(one_worker_keeps_the_order, setup, NULL)
{
    assert_int_equal(run_tasks(20, 1), TP_OK);
    assert_all_done(20);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(all.order[i], i);
}

/* The second worker is refused until the first has ended its task; then both are asked. */
TEST_WITH(who_has_no_task_now_is_asked_after_the_next_end, setup, NULL)
{
    all.waits = 1;
    assert_int_equal(run_tasks(8, WORKERS), TP_OK);
    assert_all_done(8);
    assert_int_equal(all.order[0], 0);
    assert_int_equal(count_processes(8), WORKERS);
}

TEST_WITH(a_task_that_fails_says_why_and_the_worker_stays, setup, NULL)
{
    all.deeds[1] = SAYS_NO;
    assert_int_equal(run_tasks(4, 1), TP_OK);
    assert_all_done(4);
    assert_ended(1, TP_EINPUT, "no 1");
    assert_string_equal(all.done[1].err.hint, "a hint");
    assert_int_equal(all.answers[0].pid, all.answers[3].pid);
}

TEST_WITH(a_worker_that_dies_takes_only_its_task_with_it, setup, NULL)
{
    all.deeds[2] = DIES;
    all.deeds[3] = EXITS;
    all.deeds[9] = ENDS_WELL;
    assert_int_equal(run_tasks(20, WORKERS), TP_OK);
    assert_all_done(20);
    assert_ended(2, TP_EBROKEN, "died of signal 9 (Killed)");
    assert_ended(3, TP_EBROKEN, "ended its process with code 3");
    assert_ended(9, TP_EBROKEN, "ended its process with code 0");
}

TEST_WITH(an_answer_that_was_written_over_is_not_believed, setup, NULL)
{
    all.deeds[0] = WRITES_BEFORE;
    all.deeds[2] = WRITES_SIZE;
    assert_int_equal(run_tasks(4, 1), TP_OK);
    assert_all_done(4);
    assert_ended(0, TP_EBROKEN, "wrote over memory of tapool");
    assert_ended(2, TP_EBROKEN, "wrote over memory of tapool");
    assert_true(all.answers[1].pid != all.answers[3].pid);
}

TEST_WITH(one_that_never_ends_is_ended, setup, NULL)
{
    all.deeds[1] = STAYS;
    all.timeout_ns[1] = UINT64_C(250000000);
    assert_int_equal(run_tasks(6, WORKERS), TP_OK);
    assert_all_done(6);
    assert_ended(1, TP_ELATE, "had not ended after 250 ms");
    assert_true(all.done[1].ns >= all.timeout_ns[1]);
    assert_true(all.ticks > 0);
}

TEST_WITH(an_interrupt_ends_all, setup, NULL)
{
    all.deeds[1] = STAYS;
    all.stop_after = 3;
    assert_int_equal(run_tasks(TASKS, WORKERS), TP_ESTOP);
    assert_true(all.ended >= 3 && all.ended < TASKS);
    assert_int_equal(all.times[1], 0);
    setup(NULL);
    all.stop = 1;
    assert_int_equal(run_tasks(TASKS, WORKERS), TP_ESTOP);
    assert_int_equal(all.given, 0);
}

static void interrupt(int number)
{
    all.stop = number;
}

/* As Ctrl-C does, while the parent sleeps. */
TEST_WITH(a_signal_wakes_who_waits, setup, NULL)
{
    void (*before)(int) = signal(SIGTERM, interrupt);
    all.deeds[0] = STAYS;
    pid_t self = getpid(), killer = fork();
    if (!killer) {
        sleep_ms(100);
        kill(self, SIGTERM);
        for (;;)
            pause();
    }
    const struct tp_worker_pool cfg = {.workers = 1,
                                       .room = ROOM,
                                       .work = work,
                                       .next = next,
                                       .done = done,
                                       .interrupted = &all.stop};
    all.count = 1;
    assert_int_equal(tp_pool_run(&cfg, &err), TP_ESTOP);
    assert_int_equal(all.ended, 0);
    kill(killer, SIGKILL);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    signal(SIGTERM, before);
}

TEST_WITH(who_takes_the_answers_may_end_it, setup, NULL)
{
    all.deeds[0] = STAYS;
    all.fail_after = 5;
    assert_int_equal(run_tasks(TASKS, WORKERS), TP_EIO);
    assert_int_equal(all.ended, 5);
    assert_string_equal(err.text, "no room for it");
}

TEST_WITH(a_fresh_task_has_a_worker_of_its_own, setup, NULL)
{
    all.fresh[2] = all.fresh[3] = all.fresh[5] = true;
    assert_int_equal(run_tasks(8, 1), TP_OK);
    assert_all_done(8);
    const struct answer *a = all.answers;
    assert_int_equal(a[0].pid, a[1].pid);
    assert_int_equal(a[6].pid, a[7].pid);
    for (int i = 2; i < 7; i++)
        assert_true(a[i].pid != a[i - 1].pid);
    assert_int_equal(count_processes(8), 6);
}

TEST_WITH(a_large_answer_arrives_whole, setup, NULL)
{
    for (int i = 0; i < 8; i++)
        all.deeds[i] = i % 3 ? BIG : ANSWERS;
    assert_int_equal(run_tasks(8, WORKERS), TP_OK);
    assert_all_done(8);
}

TEST_WITH(a_worker_has_no_input, setup, NULL)
{
    int ends[2], kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "xy", 2), 2);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    all.deeds[0] = READS;
    int status = run_tasks(1, 1);
    if (kept >= 0)
        dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(status, TP_OK);
    assert_int_equal(all.answers[0].input, 0);
}

TEST_WITH(a_worker_shares_memory_with_the_parent_alone, setup, NULL)
{
    const int before = count_shared();
    assert_int_equal(run_tasks(TASKS, WORKERS), TP_OK);
    for (unsigned i = 0; i < TASKS; i++)
        assert_int_equal(all.answers[i].boards, before + 1);
}

TEST_WITH(a_task_is_pinned_for_its_time, setup, NULL)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    int core = 0;
    while (!CPU_ISSET((unsigned)core, &set))
        core++;
    all.core = core;
    assert_int_equal(run_tasks(3, 1), TP_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(all.answers[i].core, core);
}

/* Without `next` the tasks are counted. */
TEST_WITH(tasks_of_one_kind_need_not_be_chosen, setup, NULL)
{
    struct tp_worker_pool pool = {
        .workers = WORKERS, .room = ROOM, .work = work, .done = done, .count = 9, .fresh = true};
    all.given = 9;
    assert_int_equal(tp_pool_run(&pool, &err), TP_OK);
    assert_all_done(9);
    assert_int_equal(count_processes(9), 9);
    setup(NULL);
    pool.count = 1;
    all.given = 1;
    all.deeds[0] = STAYS;
    pool.timeout_ns = UINT64_C(250000000);
    assert_int_equal(tp_pool_run(&pool, &err), TP_OK);
    assert_ended(0, TP_ELATE, "had not ended after 250 ms");
}

/* ---- in a process of its own ---- */

/* Tasks of a process that runs them until it is told otherwise, and who tells its number there. */
static pid_t run_in_process(enum deed deed, pid_t *told, int count)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t runner = fork();
    assert_true(runner >= 0);
    if (!runner) {
        setpgid(0, 0); /* of a group that nobody waits for Ctrl-Z stops nothing */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        all.tell = ends[1];
        all.deeds[0] = all.deeds[1] = deed;
        run_tasks(WORKERS, WORKERS);
        _exit(0);
    }
    close(ends[1]);
    for (int i = 0; i < count; i++)
        assert_int_equal(read(ends[0], &told[i], sizeof *told), sizeof *told);
    close(ends[0]);
    return runner;
}

static bool is_gone(pid_t pid)
{
    bool gone = false;
    for (int i = 0; i < LOOKS && !gone; i++) {
        gone = waitpid(pid, NULL, WNOHANG) == pid;
        sleep_ms(gone ? 0 : 10);
    }
    return gone;
}

TEST_WITH(the_workers_are_stopped_with_tapool, setup, NULL)
{
    pid_t workers[WORKERS];
    pid_t runner = run_in_process(STAYS, workers, WORKERS);
    int how = 0;
    await_waiting(runner);
    assert_int_equal(kill(runner, SIGTSTP), 0);
    assert_int_equal(waitpid(runner, &how, WUNTRACED), runner);
    bool stopped = WIFSTOPPED(how), went_on = true;
    for (int i = 0; i < WORKERS; i++)
        stopped = stopped && is_stopped(workers[i], true);
    kill(runner, SIGCONT);
    for (int i = 0; stopped && i < WORKERS; i++)
        went_on = went_on && !is_stopped(workers[i], false);
    kill(runner, SIGKILL);
    assert_int_equal(waitpid(runner, &how, 0), runner);
    for (int i = 0; i < WORKERS; i++)
        assert_true(is_gone(workers[i]));
    assert_true(stopped);
    assert_true(went_on);
}

/* Also none of a worker's children, which lead groups of their own. */
TEST_WITH(nobody_outlives_a_tapool_that_is_killed, setup, NULL)
{
    pid_t left[2 * WORKERS];
    pid_t runner = run_in_process(LEAVES_ONE, left, 2 * WORKERS);
    kill(runner, SIGKILL);
    assert_int_equal(waitpid(runner, NULL, 0), runner);
    for (int i = 0; i < 2 * WORKERS; i++)
        assert_true(is_gone(left[i]));
}
