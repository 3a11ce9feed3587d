/* A plan: the requests of one step of a program in their order, and where each lies in a pool.
 *
 *     tapool plan 1                     the first line; later ones may be empty or begin with '#'
 *     mark step 2                       this mark begins a step, whatever the digits in its name
 *     stream 0 8456789504               bytes of the pool for blocks of a stream; one line each
 *     requests 4
 *     0 4096 256 3 0                    stream, size, alignment; freed before request 3 (or the
 *     0 12582912 256 5 4096             end, 5); offset in the part of its stream
 *     0 512 256 1 12587008              freed before request 1 of the next step
 *     0 512 256 - -                     kept for longer: it has no place
 *
 * Without a mark the steps follow each other without a gap. Parts of streams lie one behind the
 * other, so no stream reuses what another one freed. The blocks of the file must not overlap while
 * both live. */
#ifndef TP_PLANNED_PLAN_H
#define TP_PLANNED_PLAN_H

#include "alloc/strategy.h"

#define TP_PLAN_FIRST    "tapool plan 1"
#define TP_PLAN_GRAIN    UINT64_C(512)       /* blocks are multiples of it, as PyTorch's are */
#define TP_PLAN_BYTES    (UINT64_C(1) << 26) /* of a file, at most */
#define TP_PLAN_POOL     (UINT64_C(1) << 50) /* bytes, at most */
#define TP_PLAN_REQUESTS (UINT32_C(1) << 20)
enum { TP_PLAN_STREAMS = 64, TP_PLAN_MARK = 256 };

#define TP_PLAN_KEPT UINT64_MAX /* the offset of a request without a place */

struct planned_row {
    uint64_t size, align;
    uint64_t offset; /* in the pool; TP_PLAN_KEPT */
    /* it is freed before this request, counted from 0; of the next step if it is no later one */
    uint32_t until;
    uint32_t line; /* of the file */
    uint16_t stream;
};

struct planned_plan {
    struct planned_row *rows;
    uint32_t count;
    uint64_t pool;           /* bytes */
    uint64_t align;          /* of the pool's first byte */
    char mark[TP_PLAN_MARK]; /* "": none */
};

/* Reads a file, or the text of one that is called `name`. TP_EIO, TP_EINPUT with the line, or
 * TP_ENOMEM; the plan is empty then. */
int tp_planned_read(const struct tp_env *env, const char *path, struct planned_plan *out,
                    struct tp_err *err);
int tp_planned_parse(const struct tp_env *env, const char *text, size_t size, const char *name,
                     struct planned_plan *out, struct tp_err *err);
void tp_planned_release(const struct tp_env *env, struct planned_plan *plan);

/* A strict order of marks in which those are equal that differ in nothing but numbers, as "step 9"
 * and "step 10". */
int tp_planned_mark_order(const char *a, const char *b);

static inline bool planned_same_mark(const char *a, const char *b)
{
    return tp_planned_mark_order(a, b) == 0;
}

#endif
