/* The call stacks of a recording: addresses to places. */
#ifndef TP_RECORDING_STACKS_H
#define TP_RECORDING_STACKS_H

#include "alloc/base/id_map.h"
#include "alloc/base/texts.h"
#include "traces/format.h"
#include "traces/formats/recording/recording_names.h"
#include "traces/formats/recording/recording_thread.h"

struct tp_recording_module;

/* Zeroed but for `reading`. */
struct tp_recording_stacks {
    const struct tp_reading *reading;    /* borrowed */
    struct tp_texts keys;                /* of each module: build id in hex, a blank, path */
    struct tp_recording_module *modules; /* as `keys` */
    size_t module_count, module_room;
    uint64_t taken;                  /* stacks */
    struct tp_recording_names names; /* of addresses in all modules */
};

/* What a thread said of its modules, and the stack of its next allocation. */
struct tp_recording_caller {
    uint32_t *modules; /* by their number in the thread: their index in tp_recording_stacks */
    size_t count, room;
    uint32_t stack; /* as in tp_place_item */
};

/* Goes through the stacks of all threads and finds the functions and lines of their addresses, all
 * of them together, before the first event is lowered. */
int tp_recording_stacks_name(struct tp_recording_stacks *s, const struct tp_recording *rec,
                             struct tp_err *err);

/* Takes a MODULE or STACK of a thread. A body that is wrong gives no place. */
int tp_recording_stacks_take(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                             const struct tp_recording_event *ev, struct tp_err *err);

/* The event that was lowered last has the stack that its thread said before it. */
int tp_recording_stacks_give(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                             struct tp_err *err);

/* Says which allocations have places, and what is to be known of them. */
int tp_recording_stacks_end(const struct tp_recording_stacks *s,
                            const struct tp_recording_head *head, struct tp_err *err);
void tp_recording_stacks_release(struct tp_recording_stacks *s);
void tp_recording_caller_release(const struct tp_recording_stacks *s,
                                 struct tp_recording_caller *c);

#endif
