/* Writes files completely or not at all, and overwrites a file only if told to. */
#ifndef TP_OUTPUT_H
#define TP_OUTPUT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct tp_output {
    FILE *file;
    char *path, *temporary; /* owned: the final name; a temporary name to be removed, or NULL */
    /* The file has no name until it is complete. If this is false and `temporary` is NULL, `path`
     * is a device or a pipe and is written in place. */
    bool nameless;
    bool force; /* an existing file is replaced */
};

/* Checks before any work is done whether the file can be written. TP_EUSAGE: it exists and `force`
 * is false. TP_EIO: its folder is not writable. */
int tp_output_check(const char *path, bool force, struct tp_err *err);

/* Opens a file that appears under its name only when it is committed. */
int tp_output_open(struct tp_output *o, const char *path, bool force, struct tp_err *err);

/* Flushes and checks the file and gives it its name. After an error nothing is left of it. */
int tp_output_commit(struct tp_output *o, struct tp_err *err);

/* Flushes and checks a stream. TP_EIO: something that was written to it is lost. */
int tp_finish_output(FILE *out, const char *name, struct tp_err *err);

/* Writes a file by calling `write`. Nothing is left of the file if `write` fails, which it also
 * does when a signal asks to stop (tp_stop_asked). */
typedef int tp_output_fn(void *ctx, FILE *out, struct tp_err *err);
int tp_output_write(const char *path, bool force, tp_output_fn *write, void *ctx,
                    struct tp_err *err);

/* Locks the folder of `path` against other tapools, for a file that is read, changed and written
 * again. Waits at most 30 seconds. TP_EIO: the lock is still held by another process, or a signal
 * asked to stop. On a file system without locks it succeeds and locks nothing. */
int tp_output_lock(const char *path, int *lock, struct tp_err *err);
void tp_output_unlock(int lock);

/* Removes a file that is not committed. Does nothing for a zeroed or committed struct. */
void tp_output_discard(struct tp_output *o);

#endif
