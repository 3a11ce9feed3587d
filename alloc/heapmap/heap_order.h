/* Internal to the heap map: the ranges of a strategy and what lies in them, in an order that no
 * address decides. Ranges have the numbers in which they were got, and pieces lie in them:
 *
 *     source   get, put -->  number by address             1   2   4
 *     walk     pieces by address, in any order  -->        |##.#|#...|####|       struct
 * tp_heap_layout slots    live blocks by address
 *
 * A space counts as a range; what is mapped into it lies where it lies in the space. Frames are
 * made of it (usage_frames.c), and the history, which is told besides what passes
 * (pass_history.c). */
#ifndef TP_HEAP_ORDER_H
#define TP_HEAP_ORDER_H

#include "alloc/base/addr_map.h"
#include "alloc/engine/replayer.h"
#include "alloc/heapmap/frame_rows.h"
#include "alloc/heapmap/history.h"

struct tp_range_watcher;

/* The ranges and spaces of one device. */
struct tp_numbered {
    struct tp_range_table ranges; /* tag_addr: the number; tag_size: the watcher's */
    uint64_t next;                /* number, not 0 */
    /* 0: numbers count. Else they are addresses, at which the ranges lie one behind the other, each
     * on a multiple of this power of two. */
    uint64_t align;
    const struct tp_range_watcher *watcher; /* NULL: none */
    uint16_t device;
    bool over; /* set by the owner: numbers are not needed any more, and none are kept */
};

/* Who is told what passes. */
struct tp_range_watcher {
    /* a range or a space was got and has its number; returns its tag_size */
    uint64_t (*begins)(void *ctx, struct tp_numbered *d, bool space);
    /* memory was taken or given back, while its range is in the table */
    void (*moves)(void *ctx, struct tp_numbered *d, enum tp_history_action action, tp_addr addr,
                  uint64_t size);
    void (*ends)(void *ctx, uint64_t tag_size);
    void *ctx;
};

/* The number of a range of so many bytes. */
uint64_t tp_numbered_next(struct tp_numbered *d, uint64_t size);

/* The wrapper that gives the numbers. Its options are a pointer to an array of struct
 * tp_numbered, one for each device. */
extern const struct tp_source_ops tp_source_numbered;

/* The memory of layouts. */
struct tp_heap_order {
    struct tp_addr_map live; /* address of a live block -> its slot */
    struct tp_heap_piece *pieces, *spare;
    struct tp_heap_range *ranges;
    size_t piece_count, piece_room, spare_room, range_count, range_room;
    const struct tp_replayer *replayer;
    const uint64_t *born;
    const struct tp_numbered *walked;
    const struct tp_address_range *last; /* the range of the last piece */
    bool no_memory, nowhere;             /* a piece is in no range */
};

void tp_heap_order_init(struct tp_heap_order *f);
void tp_heap_order_fini(struct tp_heap_order *f);

/* Begins the layout of a device; then come its pieces, in any order; then it is made, and *out is
 * valid until the next one begins. `born` has, by slot, the event that gave each live block its
 * size; NULL: no event is asked for. TP_EBROKEN: there are bytes that are in no range, or bytes
 * twice; TP_ENOMEM. Takes n log n steps at most. */
void tp_heap_order_begin(struct tp_heap_order *f, const struct tp_numbered *ranges,
                         const struct tp_replayer *p, const uint64_t *born);
tp_walk_fn tp_heap_order_add; /* its context is the struct tp_heap_order */
int tp_heap_order_end(struct tp_heap_order *f, struct tp_heap_layout *out, struct tp_err *err);

#endif
