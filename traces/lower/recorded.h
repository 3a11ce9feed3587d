/* Ground truth: what the recorded allocator itself held at the start and at the end of the
 * recording, if the capture says so. Changes during the recording are NOTEs of the program. */
#ifndef TP_RECORDED_H
#define TP_RECORDED_H

#include "alloc/program/program.h"

#define TP_RECORDED_UNKNOWN UINT64_MAX /* not known; only of members that allow it */

/* State of one device in bytes and in segments, the pieces that the recorded allocator took from
 * the driver. */
struct tp_recorded_device {
    uint64_t number; /* number of the device in the file */
    /* before the first event */
    uint64_t start_reserved, start_segments;
    /* after the last event; all 0 unless has_end is set */
    uint64_t end_reserved, end_segments, end_large, end_small;
    /* free blocks in segments: bytes, number, bytes of the largest */
    uint64_t end_free, end_free_blocks, end_largest;
    uint64_t end_returnable; /* bytes of segments that are unused */
    /* at the trace peak; both are TP_RECORDED_UNKNOWN if it cannot be determined */
    uint64_t demand_event;   /* event of the peak; 0: before the first one */
    uint64_t demand_largest; /* bytes of the largest free block of a segment at the peak */
};

struct tp_recorded {
    char *by;       /* owned; name of the recorded allocator: "PyTorch"; NULL: nothing is known */
    uint32_t count; /* number of devices; 0: what it held is not known */
    bool has_end;
    struct tp_recorded_device *devices; /* owned; indexed by the program's device index */
};

void tp_recorded_release(struct tp_recorded *r); /* a zeroed one is fine */

/* Allocates `count` devices with all members 0 or unknown, and copies `by`. */
int tp_recorded_init(struct tp_recorded *r, const char *by, uint32_t count, struct tp_err *err);

/* Drops the state at the end, for a part of a trace. */
void tp_recorded_forget_end(struct tp_recorded *r);

struct cJSON;

/* The JSON form in tapool's own formats: {"by": ..., "devices": [{...}]}. NULL: out of memory. */
struct cJSON *tp_recorded_to_json(const struct tp_recorded *r);

/* Reads that JSON form. TP_EINPUT: the message says what is wrong, without a place. */
int tp_recorded_from_json(struct tp_recorded *r, const struct cJSON *json, struct tp_err *err);

#endif
