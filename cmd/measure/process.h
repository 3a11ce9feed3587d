/* What every child process needs, whatever it does: this very tapool to become, and somebody who
 * waits. */
#ifndef TP_PROCESS_H
#define TP_PROCESS_H

#include "alloc/base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a child execs to become this very tapool: the kernel's own link, which holds be the file
 * deleted or replaced meanwhile; under an emulator (valgrind), to which that link leads, the file.
 * `path` is room for its name. */
const char *tp_child_own_executable(char *path, size_t size);

/* The name of the file that this tapool runs from, for a program that opens it by name and so
 * cannot take the link. False: it was deleted or replaced meanwhile, or cannot be told. */
bool tp_child_own_file(char *path, size_t size);

/* In a child, first of all: it ends with its parent, for nobody waits for an orphan's answer, and
 * leaves Ctrl-C to it, which says what it means. Safe between fork and exec. false: `parent` ended
 * before that was set. */
bool tp_child_begin(pid_t parent);

struct tp_child_wait {
    const volatile sig_atomic_t *interrupted; /* other than 0: it is ended; NULL: nothing does */
    uint64_t timeout_ns;                      /* it is ended after; 0: never */
    /* The child leads a group of processes: they are ended with it, and stopped (Ctrl-Z) while this
     * process is. */
    bool group;
};

/* Waits until a child process has ended; `how` as waitpid says it. TP_ESTOP: it was ended because
 * of `interrupted`; TP_ELATE: because of its time; TP_EIO: it is lost, errno says why. */
int tp_child_await(pid_t pid, const struct tp_child_wait *w, int *how);

#endif
