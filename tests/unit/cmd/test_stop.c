/* Signals that are noted while a file is written, within a command that notes them too: each case
 * is a process of its own, which says by its status whether it lived. */
#include "cmd/ui/stop.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIVED = 7 };

static int status_of(void (*body)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(LIVED);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_lived(void (*body)(void))
{
    int status = status_of(body);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), LIVED);
}

static void assert_killed(void (*body)(void), int by)
{
    int status = status_of(body);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), by);
}

static void signal_in_the_inner(void)
{
    struct tp_stop outer, inner;
    tp_stop_catch(&outer, true);
    tp_stop_catch(&inner, false);
    raise(SIGTERM);
    tp_stop_restore(&inner);
    if (*tp_stop_flag() != SIGTERM)
        _exit(1);
}

/* What the outer has to put in order is not lost. */
TEST(what_the_inner_noted_is_left_to_the_outer)
{
    assert_lived(signal_in_the_inner);
}

/* As timeout(1) does: the process, then its group. */
static void signal_in_the_inner_and_again(void)
{
    signal_in_the_inner();
    raise(SIGTERM);
}

TEST(the_same_wish_twice_is_one)
{
    assert_lived(signal_in_the_inner_and_again);
}

static void later_signal_in_the_inner(void)
{
    const struct timespec rest = {.tv_sec = 2};
    struct tp_stop outer, inner;
    tp_stop_catch(&outer, true);
    tp_stop_catch(&inner, false);
    raise(SIGTERM);
    nanosleep(&rest, NULL);
    raise(SIGTERM);
}

/* Nobody waits for a file that takes long to write. */
TEST(later_the_second_one_ends_it_in_the_inner_too)
{
    assert_killed(later_signal_in_the_inner, SIGTERM);
}

static void signal_without_an_outer(void)
{
    struct tp_stop only;
    tp_stop_catch(&only, false);
    raise(SIGTERM);
    tp_stop_restore(&only);
}

TEST(without_an_outer_the_process_ends)
{
    assert_killed(signal_without_an_outer, SIGTERM);
}

static void signal_and_the_end(void)
{
    signal_in_the_inner();
    tp_stop_end();
}

TEST(in_the_end_it_ends_as_it_would_have)
{
    assert_killed(signal_and_the_end, SIGTERM);
}

static void ignored_signal(void)
{
    struct tp_stop stop;
    signal(SIGHUP, SIG_IGN);
    tp_stop_catch(&stop, true);
    raise(SIGHUP);
    tp_stop_restore(&stop);
    if (*tp_stop_flag())
        _exit(1);
}

TEST(what_was_ignored_stays_ignored)
{
    assert_lived(ignored_signal);
}
