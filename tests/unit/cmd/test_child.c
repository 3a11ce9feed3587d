/* Waiting for a child that leads a group of its own, as those do that the gate measures: what stops
 * the one who waits stops the child, and lets it go on; what it leaves behind ends with it. */
#include "cmd/jobs/left_behind.h"
#include "cmd/jobs/process.h"
#include "tests/unit/process_state.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER = 7 };

static void leave(int number)
{
    (void)number;
    _exit(ANSWER);
}

/* In a process of its own: starts a child, says which on `tell`, waits for it. */
static void wait_in_process(int tell)
{
    signal(SIGUSR1, leave);
    pid_t child = fork();
    int how = 0;
    if (!child) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    setpgid(child, child);
    const struct tp_child_wait w = {.timeout_ns = 0};
    bool told = write(tell, &child, sizeof child) == (ssize_t)sizeof child;
    bool ended = told && tp_child_await(child, &w, &how) == TP_OK && WIFEXITED(how);
    _exit(ended ? WEXITSTATUS(how) : 1);
}

static void start(pid_t *parent, pid_t *child)
{
    int tell[2];
    assert_int_equal(pipe(tell), 0);
    *parent = fork();
    assert_true(*parent >= 0);
    if (!*parent) {
        setpgid(0, 0); /* of a group that nobody waits for Ctrl-Z stops nothing */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_in_process(tell[1]);
    }
    close(tell[1]);
    assert_int_equal(read(tell[0], child, sizeof *child), sizeof *child);
    close(tell[0]);
}

TEST(a_stop_reaches_the_child)
{
    pid_t parent, child;
    int how = 0;
    start(&parent, &child);
    await_waiting(parent);
    assert_int_equal(kill(parent, SIGTSTP), 0);
    assert_int_equal(waitpid(parent, &how, WUNTRACED), parent);
    assert_true(WIFSTOPPED(how));
    bool both = is_stopped(child, true);
    assert_int_equal(kill(parent, SIGCONT), 0);
    if (!both) {
        kill(parent, SIGKILL);
        fail_msg("who waits is stopped, the child goes on");
    }
    assert_false(is_stopped(child, false));
    assert_int_equal(kill(child, SIGUSR1), 0);
    assert_int_equal(waitpid(parent, &how, 0), parent);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), ANSWER);
}

/* Who is told to take no notice of Ctrl-Z does not. */
TEST(a_stop_that_is_ignored_stops_nobody)
{
    pid_t parent, child;
    int how = 0;
    void (*before)(int) = signal(SIGTSTP, SIG_IGN); /* both inherit it */
    start(&parent, &child);
    signal(SIGTSTP, before);
    assert_int_equal(kill(parent, SIGTSTP), 0);
    assert_int_equal(kill(child, SIGUSR1), 0);
    assert_int_equal(waitpid(parent, &how, WUNTRACED), parent);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), ANSWER);
}

/* ---- the group ---- */

static volatile sig_atomic_t asked;

static void note(int number)
{
    asked = number;
}

/* What a child that is waited for leaves in its group. It tells its number and stays. */
static void leave_one(int tell)
{
    pid_t left = fork();
    alarm(60); /* should it be left after all */
    if (!left)
        for (;;)
            pause();
    _exit(write(tell, &left, sizeof left) == (ssize_t)sizeof left ? ANSWER : 1);
}

/* Waits for a child that leaves `count` processes behind, and makes sure of the end of those. */
static void await_the_end_of_all(void (*child_of)(int tell), int count, int *how)
{
    int tell[2];
    pid_t left[2];
    tp_left_behind_adopt();
    assert_int_equal(pipe(tell), 0);
    pid_t child = fork();
    if (!child) {
        tp_child_begin(getppid());
        child_of(tell[1]);
    }
    tp_child_begun(child);
    for (int i = 0; i < count; i++)
        assert_int_equal(read(tell[0], &left[i], sizeof *left), sizeof *left);
    assert_int_equal(tp_child_await(child, &(struct tp_child_wait){.timeout_ns = 0}, how), TP_OK);
    for (int i = 0; i < count; i++) {
        assert_int_equal(kill(left[i], 0), -1); /* it is taken off as well */
        assert_int_equal(errno, ESRCH);
    }
    close(tell[0]);
    close(tell[1]);
}

TEST(what_a_child_leaves_behind_ends_with_it)
{
    int how = 0;
    await_the_end_of_all(leave_one, 1, &how);
    assert_int_equal(WEXITSTATUS(how), ANSWER);
}

static bool is_this_program(pid_t pid)
{
    char path[64], own[4096] = "", other[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink("/proc/self/exe", own, sizeof own - 1) > 0 &&
           readlink(path, other, sizeof other - 1) > 0 && !strcmp(own, other);
}

/* What is left makes a session of its own, and leaves another behind in the same way. */
static void leave_two_sessions(int tell)
{
    pid_t first = fork();
    if (first)
        _exit(ANSWER);
    setsid();
    pid_t second = fork();
    if (!second)
        setsid();
    alarm(60);
    pid_t self = getpid();
    if (write(tell, &self, sizeof self) == (ssize_t)sizeof self)
        for (;;)
            pause();
    _exit(1);
}

TEST(a_session_of_its_own_does_not_help)
{
    int how = 0;
    await_the_end_of_all(leave_two_sessions, 2, &how);
    assert_int_equal(WEXITSTATUS(how), ANSWER);
}

/* Whoever started this process may have given it children. */
TEST(children_of_others_are_left_alone)
{
    int how = 0;
    pid_t same_session = fork();
    if (!same_session) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        for (;;)
            pause();
    }
    pid_t other_program = fork();
    if (!other_program) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setsid();
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(1);
    }
    while (getsid(other_program) == getsid(0) || is_this_program(other_program))
        sleep_ms(1);
    pid_t child = fork();
    if (!child)
        _exit(ANSWER);
    tp_child_begun(child);
    assert_int_equal(tp_child_await(child, &(struct tp_child_wait){.timeout_ns = 0}, &how), TP_OK);
    assert_int_equal(waitpid(-1, &how, WNOHANG), 0); /* both are there, and run */
    kill(same_session, SIGKILL);
    kill(other_program, SIGKILL);
    assert_int_equal(waitpid(same_session, &how, 0), same_session);
    assert_int_equal(waitpid(other_program, &how, 0), other_program);
}

/* Ends a child at the moment when it was seen to have stopped. */
static bool ends_who_stopped;

/* Stands before the C library's. */
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    int status = (int)syscall(SYS_waitid, type, id, info, options, NULL);
    if (ends_who_stopped && status == 0 && info && info->si_pid && info->si_code == CLD_STOPPED) {
        ends_who_stopped = false;
        kill(info->si_pid, SIGKILL);
        for (int i = 0; i < LOOKS && state_of(info->si_pid) != 'Z'; i++)
            sleep_ms(1);
    }
    return status;
}

static void leave_one_and_stop(int tell)
{
    pid_t left = fork();
    alarm(60);
    while (!left)
        pause();
    if (write(tell, &left, sizeof left) == (ssize_t)sizeof left)
        raise(SIGSTOP);
    _exit(1);
}

TEST(a_child_that_ends_while_its_stop_is_looked_at_takes_its_group_along)
{
    int how = 0;
    ends_who_stopped = true;
    await_the_end_of_all(leave_one_and_stop, 1, &how);
    assert_false(ends_who_stopped);
    assert_int_equal(WTERMSIG(how), SIGKILL);
}

/* Stands for a tapool that has children: it ends when it is asked to, or takes no notice. */
static void stand_for_a_tapool(int tell, bool deaf)
{
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    tp_child_begin(getppid());
    signal(SIGTERM, deaf ? SIG_IGN : note);
    if (write(tell, "", 1) != 1)
        _exit(1);
    while (deaf || !asked)
        sigsuspend(&before);
    _exit(ANSWER);
}

TEST(a_tapool_is_asked_to_end_before_it_is_ended)
{
    const volatile sig_atomic_t stop = 1;
    const struct tp_child_wait wait = {.interrupted = &stop, .tapool = true};
    for (int deaf = 0; deaf < 2; deaf++) {
        int tell[2], how = 0;
        char begun;
        assert_int_equal(pipe(tell), 0);
        pid_t child = fork();
        if (!child)
            stand_for_a_tapool(tell[1], deaf);
        tp_child_begun(child);
        assert_int_equal(read(tell[0], &begun, 1), 1);
        assert_int_equal(tp_child_await(child, &wait, &how), TP_ESTOP);
        assert_int_equal(deaf ? WTERMSIG(how) : WEXITSTATUS(how), deaf ? SIGKILL : ANSWER);
        close(tell[0]);
        close(tell[1]);
    }
}
