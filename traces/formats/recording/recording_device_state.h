/* What is known of the GPUs of a recording while their calls are read. */
#ifndef TP_RECORDING_DEVICE_STATE_H
#define TP_RECORDING_DEVICE_STATE_H

#include "alloc/base/id_map.h"
#include "traces/format.h"
#include "traces/lower/pointers.h"
#include "traces/record/device_call.h"

#define TP_RECORDING_NONE UINT32_MAX /* no index: the end of a list */

/* What was left out or made of something else; for remarks. */
struct tp_device_counts {
    uint64_t unseen;    /* frees of blocks that the recording has not seen allocated */
    uint64_t late;      /* events that were waited for when their stream had freed more */
    uint64_t abroad;    /* blocks of another device than that of their stream */
    uint64_t too_large; /* failed requests of more than TP_MAX_SIZE */
    uint64_t left_out[TP_LEFT_REASONS];
    uint64_t left_out_bytes[TP_LEFT_REASONS]; /* capped at UINT64_MAX */
};

struct device_stream {
    uint64_t frees;   /* so far */
    uint64_t synced;  /* frees that are known to be complete */
    uint32_t capture; /* number of the capture that it is in, from 1; 0: none */
    uint32_t next;    /* of the streams of its device that were destroyed */
    uint32_t freed;   /* the next in the list of streams that have freed since the last SYNC */
    uint32_t id;      /* in the trace, where it is used */
    uint16_t device;
    bool used;   /* the trace has it */
    bool listed; /* in the list of `freed` */
};

struct device_event {
    uint64_t frees; /* of its stream when it was recorded */
    uint32_t stream, capture;
    uint32_t next; /* the next that was destroyed */
};

/* One of the devices of the program. */
struct device_state {
    uint32_t dead, last_dead, dead_count; /* streams that were destroyed, the oldest first */
    uint32_t freed;                       /* streams that have freed since the last SYNC */
    uint32_t resets;
    uint32_t used; /* streams that the trace has */
};

struct tp_recording_devices {
    const struct tp_reading *r;
    struct tp_pointers *pointers;
    struct tp_device_counts *counts;
    struct tp_id_map by_handle; /* stream */
    struct tp_id_map events, pools;
    struct tp_id_map elsewhere; /* addresses of blocks that are in no trace */
    struct device_stream *streams;
    struct device_event *event_records;
    bool *captures; /* of each, from 1: it goes on */
    size_t stream_count, stream_room, event_count, event_room, capture_count, capture_room;
    uint32_t dead_event;
    uint32_t used;  /* streams that the trace has */
    int64_t first;  /* device of the stream 0 of the trace; -1: none is declared */
    uint32_t taken; /* numbers of streams */
    struct device_state devices[TP_CALL_DEVICES];
};

/* One call on its way. */
struct device_step {
    struct tp_recording_devices *d;
    const struct tp_device_call *c;
    const struct tp_event *base;
    const struct tp_event_sink *sink;
    struct tp_err *err;
};

#endif
