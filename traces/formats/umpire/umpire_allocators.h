/* The allocators of an Umpire log and their blocks: takes lines, gives events of memory spaces.
 * Both forms of the log use it. */
#ifndef TP_UMPIRE_ALLOCATORS_H
#define TP_UMPIRE_ALLOCATORS_H

#include "traces/input/json_span.h"
#include "traces/lower/block_ids.h"
#include "traces/lower/spaces.h"

/* One line, reduced to what both forms of the log have. Absent members are NULL, 0 or false. */
struct tp_umpire_line {
    uint64_t line;
    bool has_time, has_size, has_pointer, has_old;
    uint64_t time_ns;     /* ns since the first line */
    struct tp_span ref;   /* address of the allocator: "0x..." */
    struct tp_span named; /* the allocator's name */
    struct tp_span base;  /* name of the allocator that a new one is made from */
    struct tp_span type;  /* type of a new allocator */
    uint64_t size, pointer;
    uint64_t old; /* address of the block that is reallocated; 0: none */
};

struct tp_umpire {
    const struct tp_reading *reading;
    struct tp_spaces *spaces;
    struct tp_umpire_allocator *allocators; /* indexed by space */
    size_t count, room;
    struct tp_id_map refs, names; /* address or name -> index of the allocator that had it last */
    struct tp_block_ids ids;
    /* the older form of the log, where a reallocation may not name its allocator */
    bool old_form;
    uint64_t ownerless; /* reallocations without an allocator, of blocks that are not in the log */
};

int tp_umpire_init(struct tp_umpire *u, const struct tp_reading *r, struct tp_err *err);
void tp_umpire_release(struct tp_umpire *u);

/* Handlers of a line, one for each kind. TP_EINPUT: the line is wrong; the message has its
 * place. */
typedef int tp_umpire_fn(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err);
tp_umpire_fn tp_umpire_make, tp_umpire_allocate, tp_umpire_deallocate;
tp_umpire_fn tp_umpire_reallocate; /* first of a pair of lines with `old`, last with `pointer` */
tp_umpire_fn tp_umpire_other;      /* counted as an event if it names an allocator */

/* Lowers the events of the chosen allocator, and describes the allocator in the meta. */
int tp_umpire_finish(struct tp_umpire *u, struct tp_err *err);

#endif
