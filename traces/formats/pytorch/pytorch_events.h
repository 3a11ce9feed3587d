/* Events of a PyTorch memory snapshot, in the form in which they are kept. */
#ifndef TP_PYTORCH_EVENTS_H
#define TP_PYTORCH_EVENTS_H

#include "alloc/base/spill.h"
#include "alloc/program/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is that of the action words in pytorch_snapshot.c. */
enum tp_pytorch_action {
    TP_PYTORCH_ALLOC,
    TP_PYTORCH_FREE_REQUESTED,
    TP_PYTORCH_FREE_COMPLETED,
    TP_PYTORCH_SEGMENT_ALLOC,
    TP_PYTORCH_SEGMENT_FREE,
    TP_PYTORCH_SEGMENT_MAP,
    TP_PYTORCH_SEGMENT_UNMAP,
    TP_PYTORCH_OOM,
    TP_PYTORCH_SNAPSHOT,
    TP_PYTORCH_ANNOTATE, /* metadata of a live block, whose address it has */
    TP_PYTORCH_UNKNOWN
};

struct tp_pytorch_event {
    int64_t time_us; /* microseconds since 1970 */
    uint64_t address, size, device_free;
    int64_t stream;
    uint64_t offset; /* byte of the event's dict in the file */
    uint64_t frames; /* byte of the opcode of the event's stack frames; 0: no frames */
    uint64_t pool;   /* tp_pool_number; 0: the pool of all others, or not known */
    /* words of the pickle: what the program said of the event (user_metadata, from PyTorch 2.10
     * on), and PyTorch itself (internal_metadata); 0: nothing */
    uint16_t user, internal;
    uint8_t action; /* enum tp_pytorch_action */
    bool has_time, has_free, has_pool;
};

/* Nanoseconds from one time to another, both in microseconds; 0: it is not later, UINT64_MAX: too
 * many. The times of a file need not ascend. */
static inline uint64_t tp_pytorch_ns_between(int64_t from_us, int64_t to_us)
{
    if (to_us <= from_us)
        return 0;
    uint64_t us = (uint64_t)to_us - (uint64_t)from_us;
    return us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX;
}

/* Whether the event is a failed request for more than any machine has. Such an event is left out;
 * the file is still good. */
static inline bool tp_pytorch_too_large(const struct tp_pytorch_event *ev)
{
    return ev->action == TP_PYTORCH_OOM && ev->size > TP_MAX_SIZE;
}

#endif
