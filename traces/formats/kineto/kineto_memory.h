/* The memory events of a PyTorch profiler trace. They are kept, sorted by time and turned into
 * events of memory spaces, one space per device. */
#ifndef TP_KINETO_MEMORY_H
#define TP_KINETO_MEMORY_H

#include "traces/format.h"

/* One "[memory]" or "[OutOfMemory]" event. */
struct tp_kineto_event {
    int64_t ts_ns;
    int64_t bytes; /* size; negative: a free */
    uint64_t addr;
    uint64_t allocated, reserved; /* bytes on the device after this event */
    uint64_t tid;
    uint64_t offset; /* byte in the file */
    int32_t device_id;
    uint16_t device_type; /* c10::DeviceType */
    bool has_addr : 1, has_allocated : 1, has_reserved : 1, out_of_memory : 1;
};
static_assert(sizeof(struct tp_kineto_event) == 64, "eight million are 512 MiB");

struct tp_kineto_memory {
    const struct tp_reading *reading;
    struct tp_kineto_event *events; /* in the order of the file */
    size_t count, room;
};

void tp_kineto_release(struct tp_kineto_memory *m);

/* Keeps a copy of the event. TP_EINPUT: the events need more memory than reading may take. */
int tp_kineto_add(struct tp_kineto_memory *m, const struct tp_kineto_event *ev, struct tp_err *err);

/* Sorts and lowers all events, and fills in the meta: devices, sizes and what is not known. */
int tp_kineto_lower(struct tp_kineto_memory *m, struct tp_err *err);

#endif
