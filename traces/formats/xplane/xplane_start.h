/* The heap that a capture began with, inferred from its events, and what the allocator took while
 * it was recorded. A capture does not say what was there before it, but its addresses and its
 * fragmentation do:
 *
 *     a chunk is freed that no event allocated      it was live at the start
 *     an event allocates bytes that none freed      they were free at the start
 *     a request passes over a free chunk            the one that it takes is smaller, so the chunk
 *                                                   goes on behind what is known of it
 *     free bytes and the largest chunk              the bytes of all regions: two events with one
 *                                                   largest chunk have two equations for both
 *
 * What was inferred is what is needed for the least that explains all events. Known weakness:
 * chunks that were free at the start and served nothing are known by their sum alone, and what was
 * live and was not freed too. */
#ifndef TP_XPLANE_START_H
#define TP_XPLANE_START_H

#include "traces/formats/xplane/xplane_file.h"

/* How the start is known. */
enum tp_xplane_known {
    TP_XPLANE_NOTHING_THERE, /* the allocator had no memory yet: all follows from the rules */
    TP_XPLANE_NOTHING_LIVE,  /* it had regions, all of them free */
    TP_XPLANE_ONE_CHUNK,     /* all that was not in use was one free chunk */
    TP_XPLANE_INFERRED,
};

/* A chunk that was live at the start and is freed later. */
struct tp_xplane_block {
    uint64_t addr, bytes, requested;
};

/* Bytes side by side, with chunks between which none are unknown; on the allocator's side a region
 * or a part of one. */
struct tp_xplane_range {
    uint64_t base, size;
    size_t first, blocks; /* in the list of all; they ascend */
};

/* Regions that the allocator took while it was recorded. */
struct tp_xplane_growth {
    size_t event; /* index among the allocator's events, before which it is there */
    uint64_t base, size;
};

struct tp_xplane_start {
    enum tp_xplane_known known;
    struct tp_xplane_range *ranges; /* ascend */
    struct tp_xplane_block *blocks;
    struct tp_xplane_growth *growths; /* in the order of events */
    size_t range_count, block_count, growth_count;
    uint64_t pool;        /* bytes of all regions at the start */
    bool pool_known;      /* else it is the least that they can have */
    bool whole;           /* the pool is all that the allocator may have */
    const char *assumed;  /* how it reserved memory, where the events do not show it; else NULL */
    uint64_t unseen;      /* bytes in use that no event frees */
    uint64_t unseen_free; /* bytes free that serve no event */
    uint64_t elsewhere;   /* largest chunk of these; 0: not known, or it does not matter */
    bool would_serve;     /* in such chunks they would serve a request, by the rules */
    uint64_t requests,
        agree; /* allocations, and those whose chunk the rules choose with this start */
    bool cut;  /* not all that it could be was tried: it would have taken too long */
    /* of an allocator that is not BFC there are blocks alone, without ranges */
};

/* What is known of the start by its sum alone: the bytes in use that no event frees, as one block,
 * and the free bytes that serve no event, as few chunks as can be. The block lies before the one
 * free chunk where that is all that was free, else in a region of its own with the last of them. */
struct tp_xplane_unseen {
    uint64_t at, requested, bytes; /* the block; requested is 0 where there is none */
    uint64_t region;               /* bytes of its own region, which begins with it; 0: none */
    uint64_t chunk, chunks;        /* bytes and number of the other free chunks */
    bool before;                   /* it has no region, and begins that of the first range */
};
struct tp_xplane_unseen tp_xplane_unseen(const struct tp_xplane_start *s);

/* Infers the start of an allocator. `out` must be released in every case. */
int tp_xplane_start(const struct tp_xplane *x, uint32_t allocator, struct tp_xplane_start *out,
                    struct tp_err *err);
void tp_xplane_start_release(struct tp_xplane_start *s);

#endif
