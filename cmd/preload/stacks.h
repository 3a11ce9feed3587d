/* Who called malloc, for a share of the allocations. Only the recorder that is built with
 * TP_RECORD_STACKS (libtapool_record_stacks.so) looks; in the other one this is nothing at all. */
#ifndef TP_RECORDER_STACKS_H
#define TP_RECORDER_STACKS_H

#include "cmd/preload/recorder.h"

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

#endif
