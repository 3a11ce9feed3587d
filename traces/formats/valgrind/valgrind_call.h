/* What valgrind prints: prefixes of lines and calls of allocation functions. */
#ifndef TP_VALGRIND_CALL_H
#define TP_VALGRIND_CALL_H

#include "traces/input/lines.h"

struct tp_valgrind_prefix {
    uint64_t pid;
    uint64_t time_ns; /* since the program began; whole milliseconds */
    bool has_time;
};

/* "--PID-- ", or with another mark ("==PID== "), with or without a time before the PID. Nothing is
 * taken where it is none. */
bool tp_valgrind_cut_prefix(struct tp_cut *c, char mark, struct tp_valgrind_prefix *prefix);

enum tp_valgrind_kind {
    TP_VG_ALLOC,
    TP_VG_REALLOC,
    TP_VG_FREE, /* has no result */
    TP_VG_ASIDE /* neither allocates nor frees */
};

struct tp_valgrind_call {
    enum tp_valgrind_kind kind;
    uint64_t pointer; /* of realloc and free */
    uint64_t size;    /* bytes; of a calloc that overflows UINT64_MAX */
    uint64_t align;   /* as asked for; 0: not said */
};

/* "memalign(al 64, size 100)". Nothing is taken where it is none. */
bool tp_valgrind_cut_call(struct tp_cut *c, struct tp_valgrind_call *call);

/* " = 0x4A42040" */
bool tp_valgrind_cut_result(struct tp_cut *c, uint64_t *result);

#endif
