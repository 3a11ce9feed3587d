/* Calls of malloc and its kin, as events: the one place where it is decided what a call means, for
 * all formats that record calls and know a block by its address, or by another number that is used
 * again after a free. */
#ifndef TP_HOST_CALLS_H
#define TP_HOST_CALLS_H

#include "traces/format.h"
#include "traces/lower/pointers.h"

/* What an allocator makes of a requested alignment: the next power of two, at least that of
 * malloc. */
static inline uint64_t tp_host_alignment(uint64_t requested)
{
    uint64_t align = 16;
    while (align < requested && align < UINT64_C(1) << TP_MAX_ALIGN_LOG2)
        align *= 2;
    return align;
}

/* Bytes that a calloc requests; UINT64_MAX, which no allocator serves, for a product above it. */
static inline uint64_t tp_host_product(uint64_t count, uint64_t size)
{
    uint64_t bytes = 0;
    return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

/* What is known of the calls of a file, over all of its processes. */
struct tp_host_counts {
    uint32_t objects;
    uint64_t too_large;   /* requests of more than TP_MAX_SIZE */
    uint64_t too_aligned; /* requests with an alignment above 2^TP_MAX_ALIGN_LOG2 */
    uint64_t late;        /* frees that came after their address was used again */
    /* of a file that begins within its program: frees of blocks that it has not seen; blocks that
     * it saw first in a realloc; blocks of 0 bytes */
    uint64_t unseen, first_seen, empty;
    bool paused; /* blocks from the times between its parts are not seen either */
};

/* The calls of one process. */
struct tp_host_calls {
    const struct tp_input *in; /* for messages; borrowed */
    struct tp_event_sink sink; /* receives the events, TP_EV_SKIP among them */
    struct tp_host_counts *counts;
    struct tp_pointers pointers;
    struct tp_id_map owed; /* with late_frees: addresses whose next free is a late one */
    /* The order of the calls is not certain: a free may come after the call that uses its address
     * again. */
    bool late_frees;
    /* The file begins within its program and shows each call as it was: unseen blocks and blocks of
     * 0 bytes are no repairs but counts, and frees of unseen blocks are no events. */
    bool partial;
};

/* `sink` and `counts` are borrowed. Nothing is held before the first call. */
void tp_host_calls_init(struct tp_host_calls *c, const struct tp_reading *r,
                        struct tp_event_sink sink, struct tp_host_counts *counts);
void tp_host_calls_release(struct tp_host_calls *c);

/* Says that a trace is one of host memory. */
int tp_host_kind(const struct tp_reading *r, struct tp_err *err);

/* Each takes one call. `ev` has its place in the file, the requested size and alignment (0: none),
 * and time and thread where the format knows them; it is overwritten. An address of 0 is NULL. What
 * is requested and not given is a note of out of memory, and a free of NULL is nothing; so is a
 * request for more than TP_MAX_SIZE, whatever its address. Errors have a place. */
int tp_host_alloc(struct tp_host_calls *c, struct tp_event *ev, uint64_t address,
                  struct tp_err *err);
int tp_host_free(struct tp_host_calls *c, struct tp_event *ev, uint64_t address,
                 struct tp_err *err);

/* A realloc of NULL is an alloc. One to 0 bytes that returned NULL is a free; one that returned an
 * address leaves a block of 1 byte. */
int tp_host_realloc(struct tp_host_calls *c, struct tp_event *ev, uint64_t from, uint64_t to,
                    struct tp_err *err);

/* Takes a call that has a number and no effect. */
int tp_host_skip(const struct tp_host_calls *c, struct tp_event *ev, struct tp_err *err);

/* Adds remarks about what was counted. */
void tp_host_describe(const struct tp_host_counts *counts, struct tp_meta *meta);

#endif
