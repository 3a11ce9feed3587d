/* What all child processes need: the executable of this tapool, a start that ties the child to its
 * parent, and a parent that waits.
 *
 * Each child leads a process group. What it starts, such as a fork of a malloc library, is in it
 * and ends with the child. One that makes a session of its own is found by left_behind.h. */
#ifndef TP_PROCESS_H
#define TP_PROCESS_H

#include "alloc/base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The path that a child execs to become this tapool. It is the kernel's link /proc/self/exe, which
 * works even if the file was deleted or replaced. Under an emulator (valgrind) the link leads to
 * the emulator, so it is the file's path, which is written to `path`. */
const char *tp_child_own_executable(char *path, size_t size);

/* Writes the path of the file that this tapool runs from, for a program that cannot use the link.
 * false: the file was deleted or replaced, or is not known. */
bool tp_child_own_file(char *path, size_t size);

/* To be called first in a child. The child then leads its group. The kernel ends it with its
 * parent, because nobody would read its answer, and it ignores Ctrl-C, because the parent decides
 * what that means. It is no longer of the terminal's foreground, and must not be stopped for it.
 * Safe between fork and exec. false: `parent` ended before this took effect. */
bool tp_child_begin(pid_t parent);

/* To be called by the parent for a child that it has forked: either may be the first to run. */
void tp_child_begun(pid_t child);

/* Pins this process to a core. If the core is not this process's to use, it runs on any that it
 * could before. Safe between fork and exec. */
void tp_child_pin(int core);

/* Between the two calls what this process prints, such as code of somebody else in it, goes to
 * standard error: it is no part of the answer. The first returns what the second takes. */
int tp_stdout_aside(void);
void tp_stdout_back(int aside);

struct tp_child_wait {
    /* called when a thread of the child, which is traced, has stopped with this wait status, and
     * when one other than the first has ended; NULL: it is not traced */
    void (*stopped)(void *ctx, pid_t tid, int how);
    void *ctx;                                /* of `stopped` */
    const volatile sig_atomic_t *interrupted; /* not 0: the child is ended; may be NULL */
    uint64_t timeout_ns;                      /* the child is ended after this; 0: never */
    /* The child is a tapool, which has children in groups of their own. It is asked to end or to
     * stop, so that it does the same with them, and ended by force if it has not in a second. */
    bool tapool;
};

/* Waits until a child process has ended and stores its wait status, as of waitpid, in `how`. What
 * is left of its group is ended too. While this process is stopped (Ctrl-Z) the group is. TP_ESTOP:
 * the child was ended because of `interrupted`. TP_ELATE: it was ended because of its timeout.
 * TP_EIO: waiting failed; errno says why. */
int tp_child_await(pid_t pid, const struct tp_child_wait *w, int *how);

/* Whether a child has ended, without waiting: then its wait status is stored and what is left of
 * its group is ended. */
bool tp_child_has_ended(pid_t pid, int *how);

/* Ends a child and its group by force, and waits for it. */
void tp_child_kill(pid_t pid);

/* How a child ended. */
struct tp_child_end {
    int waited, how;     /* as tp_child_await returned and stored them */
    bool torn;           /* it wrote over memory that it shares with this process */
    uint64_t timeout_ns; /* how long it had, where `waited` is TP_ELATE */
};

/* Whether its answer, if it was given, can be believed. */
bool tp_child_has_answered(const struct tp_child_end *e, bool given);

/* Otherwise: the error about `who`, which begins the sentence, such as "it"; `where` says what it
 * was at, such as "at event 5", or is "". TP_EBROKEN: it died, ended before it gave an answer, or
 * wrote over that. TP_ELATE, TP_ESTOP, or TP_EIO with errno: see tp_child_await. */
int tp_child_fail(const struct tp_child_end *e, const char *who, const char *where,
                  struct tp_err *err);

#endif
