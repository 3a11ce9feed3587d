/* Calls of malloc, realloc and free in traces that know a block by its address alone, or by another
 * number that is used again after a free. */
#ifndef TP_HOST_CALLS_H
#define TP_HOST_CALLS_H

#include "traces/format.h"
#include "traces/lower/pointers.h"

/* What a C library makes of a wanted alignment: the next power of two, at least that of malloc. */
static inline uint64_t tp_host_alignment(uint64_t wanted)
{
    uint64_t align = 16;
    while (align < wanted && align <= UINT64_MAX / 2)
        align *= 2;
    return align;
}

struct tp_host_calls {
    const struct tp_reading *reading;
    struct tp_pointers pointers;
    uint32_t objects;
    uint64_t too_large; /* failed requests that were left out: tp_meta_too_large */
};

/* Says besides that the trace is one of host memory. After an error, too, `c` is to be released. */
int tp_host_calls_init(struct tp_host_calls *c, const struct tp_reading *r, struct tp_err *err);
void tp_host_calls_release(struct tp_host_calls *c);

/* Each lowers one call. `at` has its place in the file, and its time, thread and alignment where
 * the format knows them. An address of 0 is NULL: what is allocated there was refused, which is a
 * note of out of memory, and what is freed there is nothing. Errors have a place. */
int tp_host_alloc(struct tp_host_calls *c, const struct tp_event *at, uint64_t address,
                  uint64_t size, struct tp_err *err);
int tp_host_free(struct tp_host_calls *c, const struct tp_event *at, uint64_t address,
                 struct tp_err *err);

/* A realloc of NULL is an alloc. One to 0 bytes that returned NULL is a free. */
int tp_host_realloc(struct tp_host_calls *c, const struct tp_event *at, uint64_t from, uint64_t to,
                    uint64_t size, struct tp_err *err);

#endif
