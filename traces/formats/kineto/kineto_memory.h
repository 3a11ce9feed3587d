/* The memory events of a PyTorch profiler trace: kept, sorted by time, and turned into events of
 * memory spaces, one per device. */
#ifndef TP_KINETO_MEMORY_H
#define TP_KINETO_MEMORY_H

#include "traces/format.h"

/* One "[memory]" or "[OutOfMemory]" event. */
struct tp_kineto_event {
    int64_t ts_ns;
    int64_t bytes; /* below 0: a free */
    uint64_t addr;
    uint64_t allocated, reserved; /* on the device, after it */
    uint64_t tid;
    uint64_t offset; /* in the file */
    int32_t device_id;
    uint16_t device_type; /* c10::DeviceType */
    bool has_addr : 1, has_allocated : 1, has_reserved : 1, out_of_memory : 1;
};
static_assert(sizeof(struct tp_kineto_event) == 64, "eight million are 512 MiB");

struct tp_kineto_memory {
    const struct tp_reading *reading;
    struct tp_kineto_event *events; /* in file order */
    size_t count, room;
};

void tp_kineto_release(struct tp_kineto_memory *m);

/* TP_EINPUT: too many for the memory that reading may take. */
int tp_kineto_add(struct tp_kineto_memory *m, const struct tp_kineto_event *ev, struct tp_err *err);

/* Sorts and lowers all; sets what is said about devices, sizes and what is not known. */
int tp_kineto_lower(struct tp_kineto_memory *m, struct tp_err *err);

#endif
