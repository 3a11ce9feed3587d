/* Fences of a device's streams: points that a stream's work has passed or not.
 *
 *   events    | 0 | 1 | 2 | 3 | 4 | ...          all made at the start, none later
 *   idle      5 -> 6 -> 7 -> ...                 a stack
 *   stream 0  passed 12   0:#13 -> 3:#17         recorded, oldest first; # is the fence's serial
 *   stream 1  passed 16   (none)
 *
 * A stream passes its events in order, so a fence has passed when an event with its serial or a
 * later one has. That is also how more fences than events are served: when none is idle the
 * stream's newest event is recorded anew for the new fence, and the older fence waits for the later
 * point: later than need be, never too early. */
#ifndef TP_CUDA_FENCES_H
#define TP_CUDA_FENCES_H

#include "cuda/gpu.h"

enum { FENCE_EVENTS = 1024, FENCE_EVENTS_PER_STREAM = 4 };

#define FENCE_NONE UINT32_MAX

struct fence_event {
    CUevent event;
    uint64_t serial;
    uint32_t next; /* a later one of the stream, or another idle one */
};

struct fence_stream {
    CUstream handle;
    uint32_t head, tail, count; /* recorded events that are not known to have passed */
    uint64_t passed;            /* fences of the stream up to this serial have */
    uint64_t last;              /* serial of its newest fence */
};

struct cuda_fences {
    struct fence_event *events;
    struct fence_stream *streams; /* borrowed handles */
    uint32_t event_count, stream_count;
    uint32_t idle;
    CUevent order; /* for `follow`: a wait takes what was recorded, so one serves all */
    uint64_t serial;
};

/* Makes the events of `streams` streams, whose handles the caller sets afterwards. Calls are made
 * with the device current. On failure what was made stays for tp_cuda_fences_close. */
int tp_cuda_fences_open(struct cuda_fences *f, struct cuda_gpu *g, uint32_t streams,
                        struct tp_err *err);
void tp_cuda_fences_close(struct cuda_fences *f, struct cuda_gpu *g); /* a zeroed one is fine */

/* A fence behind what the stream was given so far. *serial is 0 when the device is lost. */
int tp_cuda_fence_record(struct cuda_fences *f, struct cuda_gpu *g, uint16_t stream,
                         uint64_t *serial);

/* Whether it has passed; at most two calls of the driver. False once the device is lost. A serial
 * that the stream never recorded has. */
bool tp_cuda_fence_done(struct cuda_fences *f, struct cuda_gpu *g, uint16_t stream,
                        uint64_t serial);
int tp_cuda_fence_wait(struct cuda_fences *f, struct cuda_gpu *g, uint16_t stream, uint64_t serial);

/* Waits for a stream, or TP_ALL_STREAMS for the device: then its fences have passed. */
int tp_cuda_fences_sync(struct cuda_fences *f, struct cuda_gpu *g, uint16_t stream);

/* What `stream` is given from now on comes after what `after` was given so far. */
int tp_cuda_fences_follow(struct cuda_fences *f, struct cuda_gpu *g, uint16_t stream,
                          uint16_t after);

#endif
