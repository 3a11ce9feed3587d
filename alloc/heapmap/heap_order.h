/* Internal to the engine: the heap of a strategy in an order that no address decides. Ranges have
 * the numbers in which they were got, and pieces lie in them:
 *
 *     source   get, put -->  number by address             1   2   4
 *     walk     pieces by address, in any order  -->        |##.#|#...|####|       struct
 * tp_heap_layout slots    events by address of a live block
 *
 * A space counts as a range; what is mapped into it lies where it lies in the space. */
#ifndef TP_HEAP_ORDER_H
#define TP_HEAP_ORDER_H

#include "alloc/base/addr_map.h"
#include "alloc/engine/player.h"
#include "alloc/heapmap/frame_rows.h"

/* A range or a space that the strategy has. */
struct tp_numbered_range {
    tp_addr addr; /* 0: a free element, and `number` is the index + 1 of the next one */
    uint64_t size, number;
};

/* Those of one device. */
struct tp_numbered {
    uint16_t device;
    bool over; /* set by the owner: numbers are not needed any more, and none are kept */
    struct tp_addr_map places;      /* address -> index in `held` */
    struct tp_numbered_range *held; /* of which held_count have been used */
    size_t held_count, held_room;
    uint64_t spare;   /* the first free element: its index + 1; 0: none */
    uint64_t numbers; /* given so far */
};

void tp_numbered_init(struct tp_numbered *d, uint16_t device);
void tp_numbered_again(struct tp_numbered *d); /* a new replay begins: without ranges, from 1 */
void tp_numbered_fini(struct tp_numbered *d);

/* The decorator that gives the numbers. Its options are a pointer to an array of struct
 * tp_numbered, one for each device. */
extern const struct tp_source_ops tp_source_numbered;

/* The memory of walks. */
struct tp_heap_order {
    struct tp_addr_map live; /* address of a live block -> its event */
    struct tp_heap_piece *pieces, *spare;
    struct tp_heap_range *ranges;
    size_t piece_count, piece_room, spare_room, range_count, range_room, held_count, held_room;
    const struct tp_numbered *walked;
    struct tp_numbered_range *held;       /* by address; there is room for as many behind them */
    const struct tp_numbered_range *last; /* the range of the last piece */
    bool no_memory, nowhere;              /* a piece is in no range */
    bool listed;                          /* in this walk */
};

void tp_heap_order_init(struct tp_heap_order *f);
void tp_heap_order_fini(struct tp_heap_order *f);

/* Walks the strategy of a device. `born` has, by slot, the event that gave each live block its
 * size. *out is valid until the next walk. TP_EUNSUP: it cannot be walked now; TP_EBROKEN: it names
 * bytes that are in none of its ranges, or bytes twice; TP_ENOMEM. Takes n log n steps at most. */
int tp_heap_order_walk(struct tp_heap_order *f, const struct tp_numbered *ranges,
                       const struct tp_player *p, const uint64_t *born, struct tp_heap_layout *out);

#endif
