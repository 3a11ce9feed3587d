/* Ground truth: what the recorded allocator itself held, where a capture says so. What changed
 * during the recording stands in the program as NOTEs; here is what it began and ended with. */
#ifndef TP_RECORDED_H
#define TP_RECORDED_H

#include "alloc/program/program.h"

#define TP_RECORDED_UNKNOWN UINT64_MAX /* of those that say so */

/* Bytes, segments (pieces that the recorded allocator took from the driver). */
struct tp_recorded_device {
    uint64_t number; /* what the file calls the device */
    /* before the first event */
    uint64_t start_reserved, start_segments;
    /* after the last one; all 0 where has_end is not set */
    uint64_t end_reserved, end_segments, end_large, end_small;
    uint64_t end_idle, end_pieces, end_largest; /* free blocks in segments */
    uint64_t end_returnable;                    /* in segments that are idle as a whole */
    /* when most was needed; TP_RECORDED_UNKNOWN, both of them, where it cannot be told */
    uint64_t demand_event;   /* 0: before the first */
    uint64_t demand_largest; /* the largest free piece of a segment then */
};

struct tp_recorded {
    char *by;       /* owned; who held it: "PyTorch"; NULL: nothing is known */
    uint32_t count; /* of devices */
    bool has_end;
    struct tp_recorded_device *devices; /* owned; by dense index, as in the program */
};

void tp_recorded_release(struct tp_recorded *r); /* a zeroed one is fine */

/* Makes room for `count` devices of which all is 0, or unknown, and sets who held them. */
int tp_recorded_init(struct tp_recorded *r, const char *by, uint32_t count, struct tp_err *err);

/* Of a part of a trace: what it ended with is not known. */
void tp_recorded_forget_end(struct tp_recorded *r);

struct cJSON;

/* The JSON form in tapool's own formats: {"by": ..., "devices": [{...}]}. NULL: out of memory. */
struct cJSON *tp_recorded_to_json(const struct tp_recorded *r);

/* Reads it; TP_EINPUT says what is wrong, without a place. */
int tp_recorded_from_json(struct tp_recorded *r, const struct cJSON *json, struct tp_err *err);

#endif
