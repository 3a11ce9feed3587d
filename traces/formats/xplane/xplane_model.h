/* The chunks of an allocator as far as a capture shows them: pieces of address space, between which
 * others are unknown. The recorded events are applied to it, and what they say of the chunks that
 * were chosen and passed over makes what is known larger (xplane_start.h).
 *
 *     piece       | free | live |   ?   | live | free |  ?
 *     slack                      tail ->  <- lead      tail ->     bytes of the unknown ones that
 * are free */
#ifndef TP_XPLANE_MODEL_H
#define TP_XPLANE_MODEL_H

#include "alloc/base/addr_map.h"
#include "alloc/base/tree.h"
#include "alloc/strategies/bfc/bfc_rules.h"
#include "traces/formats/xplane/xplane_file.h"

/* A piece of what is known of the start; they ascend, and do not overlap. */
struct tp_xplane_piece {
    uint64_t addr, size;
    uint64_t requested; /* of a live one; 0: it was free */
    uint64_t tail; /* bytes behind it that are known to be free too; only where a gap follows */
    uint64_t lead; /* the same before it, behind a gap */
    bool late;     /* it begins a region that was not there at the start */
};

struct tp_xplane_chunk {
    uint64_t addr, size;
    struct tp_xplane_chunk *before, *behind;
    struct tp_tree_node by_size; /* of a free one */
    uint32_t tail_of;            /* piece + 1 whose gap is behind it; 0: none */
    uint32_t lead_of;            /* piece + 1 whose gap is before it; 0: none */
    bool free, touched;          /* touched: some event allocated or freed bytes of it */
};

/* What one event showed. */
struct tp_xplane_seen {
    uint64_t largest; /* free chunk behind it; TP_XPLANE_UNKNOWN: the event could not be applied */
    uint64_t size;    /* of the free chunk that served it, or that it made */
    uint32_t tail_of; /* of that chunk */
    uint64_t grown;   /* bytes of the region that was taken for it; only tp_xplane_pass_growing */
    bool first;       /* it is the first that touches its chunk, and no touched one has room */
};

struct tp_xplane_model {
    struct tp_bfc_rules rules;
    const struct tp_xplane_event *events;
    size_t count;
    struct tp_xplane_piece *pieces;
    size_t piece_count;
    struct tp_xplane_chunk *chunks; /* as many as there can be */
    size_t chunk_room, chunk_count;
    struct tp_xplane_chunk *spare; /* by `behind` */
    struct tp_addr_map at;
    struct tp_tree_node *free_chunks;
    struct tp_xplane_seen *seen; /* of each event */
    uint64_t requests, agree;    /* allocations, and those that the rules serve as recorded */
    uint64_t wrong;              /* events that contradict the rules or what is known */
    uint64_t steps;              /* events that may still be applied */
    bool changed;                /* more is known than at the beginning of the pass */
};

/* The `steps` for so many events: a million or twelve of each. */
uint64_t tp_xplane_steps(size_t events);

/* Applies all events once. TP_ENOMEM. */
int tp_xplane_pass(struct tp_xplane_model *m, struct tp_err *err);

/* Passes until nothing more is found, or m->steps are spent. */
int tp_xplane_settle(struct tp_xplane_model *m, struct tp_err *err);

/* Applies all events to an allocator that has no memory yet: it takes regions by the rules, the
 * first of `first` bytes, up to `limit` bytes, at the addresses of the events. Ends at the first
 * event that is wrong. */
int tp_xplane_pass_growing(struct tp_xplane_model *m, uint64_t first, uint64_t limit,
                           struct tp_err *err);

/* Bytes of the gap behind a piece that are still unknown. */
uint64_t tp_xplane_gap(const struct tp_xplane_model *m, size_t piece);

/* Whether a piece follows the one before it without a gap. */
bool tp_xplane_follows(const struct tp_xplane_model *m, size_t piece);

#endif
