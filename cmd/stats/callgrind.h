/* Valgrind's callgrind as an instruction counter: finds valgrind, builds its command line and reads
 * the files that it writes. */
#ifndef TP_CALLGRIND_H
#define TP_CALLGRIND_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct tp_valgrind {
    char path[4096];  /* "": no valgrind was found */
    char version[64]; /* "valgrind-3.19.0"; "": valgrind does not work */
    char reason[200]; /* why valgrind cannot be used: "valgrind is not in PATH (apt ...)" */
};

/* Looks for valgrind: TAPOOL_VALGRIND names the program, and an empty value means none; without the
 * variable PATH is searched. The version is asked of the callgrind tool, so a valgrind without
 * callgrind is refused. A valgrind that hangs costs up to two seconds. */
void tp_valgrind_find(struct tp_valgrind *out);

/* The command line to put before the program to be counted. valgrind writes count.PID and log.PID
 * into `folder`. `words` is NULL-terminated and points into this struct, so do not copy it. */
enum { TP_CALLGRIND_WORDS = 20 };
struct tp_callgrind_runner {
    const char *words[TP_CALLGRIND_WORDS];
    char path[4096], count[4200], log[4200];
};
int tp_callgrind_runner(struct tp_callgrind_runner *out, const struct tp_valgrind *valgrind,
                        const char *folder, struct tp_err *err);

/* Reads the number of instructions from one output file of callgrind. TP_EIO: the file cannot be
 * read, is cut off, is not callgrind's, counts other events, counts several times, or contradicts
 * itself. */
int tp_callgrind_read(const char *path, uint64_t *instructions, struct tp_err *err);

/* Adds up all count.PID files of a folder: one for the program and one for each process that it
 * started. TP_EIO: no such file, or one that tp_callgrind_read refuses. */
int tp_callgrind_sum(const char *folder, uint64_t *instructions, struct tp_err *err);

/* Writes valgrind's own complaint from a log.PID file of the folder as one line; "" if valgrind
 * complained of nothing. */
void tp_callgrind_complaint(const char *folder, char *text, size_t size);

#endif
