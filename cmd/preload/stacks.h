/* Who called malloc, for a share of the allocations. Only the recorder that is built with
 * TP_RECORD_STACKS (libtapool_record_stacks.so) looks; in the other one this is nothing at all. */
#ifndef TP_RECORDER_STACKS_H
#define TP_RECORDER_STACKS_H

#include "cmd/preload/recorder.h"

#include <stdbool.h>
#include <stdint.h>
#include <unwind.h>

#ifdef TP_RECORD_STACKS
/* Writes the stack of the calling thread, if an allocation of this size is to have one. The next
 * record of the thread is the allocation. */
void tp_stack_sample(struct tp_writer *w, size_t size);
#else
static inline void tp_stack_sample(struct tp_writer *w, size_t size)
{
    (void)w;
    (void)size;
}
#endif

/* Whether the unwinder can go on from a frame without reading what is not there. It believes the
 * tables, and reads a return address wherever they say it is. Stacks that a program made by hand
 * may end at their mapping, and a register that the tables take for the frame's may hold anything.
 *
 * Only x86-64 is looked at; elsewhere the unwinder is believed. */

/* Memory that is known to be readable, while one stack is taken. */
struct tp_frame_pages {
    uintptr_t low, high;
    bool asking; /* the system may be asked, until tp_frame_pages_end */
    bool sealed; /* it may not */
};

/* `p` is itself on the stack that is looked at. */
void tp_frame_pages_begin(struct tp_frame_pages *p);
void tp_frame_pages_end(struct tp_frame_pages *p);

/* The stack up to the frame of a context is that of calls which are under way. */
void tp_frame_pages_grow(struct tp_frame_pages *p, struct _Unwind_Context *context);

/* `pc` lies in the call of this frame, and `tables` (an FDE) is about it. */
bool tp_frame_can_step(struct tp_frame_pages *p, struct _Unwind_Context *context, uintptr_t pc,
                       const void *tables);

#endif
