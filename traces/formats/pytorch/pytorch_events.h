/* The events of a snapshot, as a list holds them. */
#ifndef TP_PYTORCH_EVENTS_H
#define TP_PYTORCH_EVENTS_H

#include "alloc/base/spill.h"
#include "alloc/program/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of their words in pytorch_snapshot.c. */
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
    TP_PYTORCH_UNKNOWN
};

struct tp_pytorch_event {
    int64_t time_us; /* since 1970 */
    uint64_t address, size, device_free;
    int64_t stream;
    uint64_t offset; /* of its dict in the file */
    uint64_t frames; /* of its frames' opcode; 0: it has none */
    uint8_t action;  /* enum tp_pytorch_action */
    bool has_time, has_free;
};

/* Somebody asked for more than there is anywhere, and did not get it: no reason to refuse the file.
 */
static inline bool tp_pytorch_too_large(const struct tp_pytorch_event *ev)
{
    return ev->action == TP_PYTORCH_OOM && ev->size > TP_MAX_SIZE;
}

#endif
