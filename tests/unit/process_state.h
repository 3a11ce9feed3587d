/* What the tests of child processes look at: whether another process is stopped, and whether it
 * waits for a child as tp_child_await does. */
#ifndef TP_TEST_PROCESS_STATE_H
#define TP_TEST_PROCESS_STATE_H

#include "tests/unit/test.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

enum { LOOKS = 1000 };

static inline void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* 'T': it is stopped. */
static inline char state_of(pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_true(fread(text, 1, sizeof text - 1, in) > 0);
    fclose(in);
    const char *name_end = strrchr(text, ')');
    assert_non_null(name_end);
    return name_end[2];
}

static inline bool is_stopped(pid_t pid, bool wanted)
{
    for (int i = 0; i < LOOKS && (state_of(pid) == 'T') != wanted; i++)
        sleep_ms(10);
    return state_of(pid) == 'T';
}

/* Whether it holds SIGTSTP back, as who waits does: one that comes before stops the parent alone.
 */
static inline bool holds_stops(pid_t pid)
{
    char path[64], line[256];
    unsigned long long held = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in))
        if (sscanf(line, "SigBlk: %llx", &held) == 1)
            break;
    fclose(in);
    return held >> (SIGTSTP - 1) & 1;
}

static inline void await_waiting(pid_t pid)
{
    for (int i = 0; i < LOOKS && !holds_stops(pid); i++)
        sleep_ms(10);
    assert_true(holds_stops(pid));
}

#endif
