/* The stacks of a heaptrack file: who asked for a block, as a place for people. */
#ifndef TP_HEAPTRACK_STACKS_H
#define TP_HEAPTRACK_STACKS_H

#include "alloc/base/texts.h"
#include "traces/input/lines.h"
#include "traces/places/place_table.h"

/* Numbers of texts, frames and stacks begin with 1; 0 means none. */
struct tp_heaptrack_frame {
    uint32_t module, function, file, line;
};
struct tp_heaptrack_stack {
    uint32_t frame, caller; /* the stack without its innermost frame */
};

/* Zeroed memory without stacks. Set `reading`, and `texts.how.budget` to its budget. */
struct tp_heaptrack_stacks {
    const struct tp_reading *reading;
    struct tp_texts texts;
    struct tp_heaptrack_frame *frames;
    struct tp_heaptrack_stack *stacks;
    size_t frame_count, frame_room, stack_count, stack_room;
};

void tp_heaptrack_stacks_release(struct tp_heaptrack_stacks *s);

/* Each adds what a line says behind its letter and the blank. *good is false where the line does
 * not have this form; an error is memory that is spent. */
int tp_heaptrack_add_text(struct tp_heaptrack_stacks *s, struct tp_cut line, bool sized, bool *good,
                          struct tp_err *err);
int tp_heaptrack_add_frame(struct tp_heaptrack_stacks *s, struct tp_cut line, bool *good,
                           struct tp_err *err);
int tp_heaptrack_add_stack(struct tp_heaptrack_stacks *s, struct tp_cut line, bool *good,
                           struct tp_err *err);

/* Sets *place to the number of a text in the table behind the places of the reading, or to
 * TP_NO_PLACE: the function that asked, without the ones that only pass it on. */
int tp_heaptrack_place(struct tp_heaptrack_stacks *s, uint64_t stack, uint32_t *place,
                       struct tp_err *err);

#endif
