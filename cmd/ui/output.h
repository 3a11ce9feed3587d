/* Files that tapool writes: whole or not at all, and never over another without being told. */
#ifndef TP_OUTPUT_H
#define TP_OUTPUT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct tp_output {
    FILE *file;
    char *path, *temporary; /* owned; temporary: its name so far, which must go; NULL: none */
    bool nameless;          /* it gets its name when it is whole; else, without a temporary one, it
                               is written in place (a device, a pipe) */
    bool force;
};

/* Says before any work whether the file could be made: TP_EUSAGE when it exists and `force` is not
 * set, TP_EIO when its folder cannot be written. */
int tp_output_check(const char *path, bool force, struct tp_err *err);

/* Opens a file that is not there for others yet. */
int tp_output_open(struct tp_output *o, const char *path, bool force, struct tp_err *err);

/* Flushes, checks, and puts the file in its place; on failure nothing is left. */
int tp_output_commit(struct tp_output *o, struct tp_err *err);

/* Flushes and checks a stream: TP_EIO when anything that was written to it was lost. */
int tp_finish_output(FILE *out, const char *name, struct tp_err *err);

/* Writes a file from its first to its last byte, and nothing where that fails or a signal asks to
 * stop (tp_stop_asked). */
typedef int tp_output_fn(void *ctx, FILE *out, struct tp_err *err);
int tp_output_write(const char *path, bool force, tp_output_fn *write, void *ctx,
                    struct tp_err *err);

/* Keeps other tapools that ask for it from writing into the folder of `path`: for what is read,
 * changed and written. Waits half a minute at most. TP_EIO: it is still held, or a signal asked to
 * stop. Where the file system knows no locks there is none, and that is no error. */
int tp_output_lock(const char *path, int *lock, struct tp_err *err);
void tp_output_unlock(int lock);

/* Removes what is not committed. A zeroed or committed one is fine. */
void tp_output_discard(struct tp_output *o);

#endif
