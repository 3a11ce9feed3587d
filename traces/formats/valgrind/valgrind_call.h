/* Parses what valgrind prints: prefixes of lines and calls of allocation functions. */
#ifndef TP_VALGRIND_CALL_H
#define TP_VALGRIND_CALL_H

#include "traces/input/lines.h"

struct tp_valgrind_prefix {
    uint64_t pid;
    uint64_t time_ns; /* ns since the program began; whole milliseconds */
    bool has_time;
};

/* Takes a prefix such as "--PID-- " (mark '-') or "==PID== " (mark '='), with or without a time
 * before the PID. Returns false and takes nothing if another text comes next. */
bool tp_valgrind_cut_prefix(struct tp_cut *c, char mark, struct tp_valgrind_prefix *prefix);

enum tp_valgrind_kind {
    TP_VG_ALLOC,
    TP_VG_REALLOC,
    TP_VG_FREE, /* a call without a result */
    TP_VG_ASIDE /* a call that neither allocates nor frees */
};

struct tp_valgrind_call {
    enum tp_valgrind_kind kind;
    uint64_t pointer; /* argument of realloc and free */
    uint64_t size;    /* bytes; UINT64_MAX for a calloc that overflows */
    uint64_t align;   /* requested alignment; 0: not given */
};

/* Takes a call such as "memalign(al 64, size 100)". Returns false and takes nothing if another text
 * comes next. */
bool tp_valgrind_cut_call(struct tp_cut *c, struct tp_valgrind_call *call);

/* Whether a text that is neither a call nor a result is what is left of one: "mall", "free(0x1",
 * " = 0x", or another prefix. */
bool tp_valgrind_is_torn(struct tp_cut text);

/* Whether a line without a prefix has a part of one: "--25", "words 7-- free(0x10)". */
bool tp_valgrind_is_torn_line(struct tp_cut line);

/* Takes a result such as " = 0x4A42040". */
bool tp_valgrind_cut_result(struct tp_cut *c, uint64_t *result);

#endif
