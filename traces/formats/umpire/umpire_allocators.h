/* The allocators of an Umpire log and what happens to their blocks: lines in, events of memory
 * spaces out. Both forms of the log come through here. */
#ifndef TP_UMPIRE_ALLOCATORS_H
#define TP_UMPIRE_ALLOCATORS_H

#include "traces/input/json_span.h"
#include "traces/lower/block_ids.h"
#include "traces/lower/spaces.h"

/* A line, with what both forms of the log have in common. Absent members are NULL, 0 or false. */
struct tp_umpire_line {
    uint64_t line;
    bool has_time, has_size, has_pointer, has_old;
    uint64_t time_ns;     /* since the first line */
    struct tp_span ref;   /* of the allocator: "0x..." */
    struct tp_span named; /* the allocator's name */
    struct tp_span base;  /* the name of the one that an allocator is made from */
    struct tp_span type;  /* of an allocator that is made */
    uint64_t size, pointer;
    uint64_t old; /* what is reallocated; 0: nothing */
};

struct tp_umpire {
    const struct tp_reading *reading;
    struct tp_spaces *spaces;
    struct tp_umpire_allocator *allocators; /* by index of their space */
    size_t count, room;
    struct tp_id_map refs, names; /* to the allocator that last had the address, the name */
    struct tp_block_ids ids;
    bool old_form;      /* whose reallocations may not name their allocator */
    uint64_t ownerless; /* of those, ones of blocks that the log does not have */
};

int tp_umpire_init(struct tp_umpire *u, const struct tp_reading *r, struct tp_err *err);
void tp_umpire_release(struct tp_umpire *u);

/* TP_EINPUT says what is wrong with the line, with its place. */
typedef int tp_umpire_fn(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err);
tp_umpire_fn tp_umpire_make, tp_umpire_allocate, tp_umpire_deallocate;
tp_umpire_fn
    tp_umpire_reallocate;     /* with `old` it is the first of a pair, with `pointer` the last */
tp_umpire_fn tp_umpire_other; /* counted where it names an allocator */

/* Lowers, and says what the chosen allocator is. */
int tp_umpire_finish(struct tp_umpire *u, struct tp_err *err);

#endif
