/* Valgrind's callgrind as a counter: where it is, what it is given, what it leaves. */
#ifndef TP_CALLGRIND_H
#define TP_CALLGRIND_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct tp_valgrind {
    char path[4096];  /* "" where there is none */
    char version[64]; /* "valgrind-3.19.0"; "" where it does not work */
    char reason[200]; /* why not: "valgrind is not in PATH (apt install valgrind)" */
};

/* TAPOOL_VALGRIND=PATH names one, empty: none; else that of PATH. It is asked for its version as
 * callgrind, so that one without that tool is not taken. Takes up to two seconds where it hangs. */
void tp_valgrind_find(struct tp_valgrind *out);

/* What is put before the program to be counted; its files, count.PID and log.PID, go to `folder`.
 * NULL-terminated; its texts are in it. */
enum { TP_CALLGRIND_WORDS = 20 };
struct tp_callgrind_runner {
    const char *words[TP_CALLGRIND_WORDS];
    char path[4096], count[4200], log[4200];
};
int tp_callgrind_runner(struct tp_callgrind_runner *out, const struct tp_valgrind *valgrind,
                        const char *folder, struct tp_err *err);

/* The instructions that one file of callgrind holds. TP_EIO: it cannot be read, is cut off, or is
 * none: counts other events, or several times, or its figures contradict each other. */
int tp_callgrind_read(const char *path, uint64_t *instructions, struct tp_err *err);

/* Of all files of a folder: the program and those that it started. TP_EIO: there is none. */
int tp_callgrind_sum(const char *folder, uint64_t *instructions, struct tp_err *err);

/* What valgrind itself complained of in a file log.PID of the folder, one line; "" where of
 * nothing. */
void tp_callgrind_complaint(const char *folder, char *text, size_t size);

#endif
