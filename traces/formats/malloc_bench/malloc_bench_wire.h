/* Protocol Buffers as malloc-bench uses them: one call of its trace, from its bytes. */
#ifndef TP_MALLOC_BENCH_WIRE_H
#define TP_MALLOC_BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of some bytes, while fields are cut off their front. */
struct tp_malloc_bench_wire {
    const unsigned char *at, *end;
};

struct tp_malloc_bench_field {
    uint32_t number;
    bool message;                     /* else a number */
    uint64_t value;                   /* of a number, or the length of a message */
    struct tp_malloc_bench_wire body; /* of a message; empty unless `whole` */
    bool whole;                       /* the body is all there */
};

/* Cuts a field. False: it is cut within its head, or is none; a message may be cut in its body. */
bool tp_malloc_bench_cut(struct tp_malloc_bench_wire *w, struct tp_malloc_bench_field *field);

/* Numbers of the calls in a line, and of what a call has. */
enum tp_malloc_bench_kind {
    TP_BENCH_NONE,
    TP_BENCH_MALLOC,
    TP_BENCH_FREE,
    TP_BENCH_REALLOC,
    TP_BENCH_CALLOC
};
enum { TP_BENCH_FIELDS = 4 }; /* 1 to 3 */

struct tp_malloc_bench_line {
    enum tp_malloc_bench_kind kind;
    uint64_t value[TP_BENCH_FIELDS]; /* 0 where it is not given */
    bool given[TP_BENCH_FIELDS];
};

/* Reads the message of a line. False: it is none, or a field is not as it must be. */
bool tp_malloc_bench_call(struct tp_malloc_bench_wire line, struct tp_malloc_bench_line *call);

#endif
