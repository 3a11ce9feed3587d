/* The chunks of a recording, by thread. */
#ifndef TP_RECORDING_CHUNKS_H
#define TP_RECORDING_CHUNKS_H

#include "traces/format.h"
#include "traces/record/recording.h"

struct tp_recorded_chunk {
    uint64_t offset; /* in the file, bytes */
    uint64_t nth;    /* of its thread, from 0 */
    uint64_t time;   /* ticks >> shift */
    uint32_t thread; /* in the order of their first chunks, from 0, once they are sorted */
    uint32_t used;   /* bytes of events */
    bool ended;      /* its thread ended */
};

/* What there is to know of a recording before its events are read. */
struct tp_recording {
    int fd;                   /* owned */
    const char *name;         /* of the file, for messages; borrowed */
    struct tp_budget *budget; /* borrowed */
    struct tp_recording_head head;
    struct tp_recorded_chunk *chunks; /* owned; those of a thread lie together, in order */
    size_t count, room;
    uint32_t threads;
    uint32_t image;   /* the program that is read: the last one of the process */
    uint64_t lost;    /* chunks that are missing between others of their thread */
    uint64_t dropped; /* calls that were not recorded */
    /* what recording took, ticks: of `samples` events, and of all that was not done by event */
    uint64_t sampled, samples, taking;
    uint64_t timed, timed_ticks; /* calls of malloc and its kin, stamps included */
    double timed_squares;        /* sum of the squares of their ticks */
};

/* Reads heads of chunks. TP_EINPUT: it is no recording, or one of another version. `out` is to be
 * released in any case. */
int tp_recording_open(const struct tp_reading *r, struct tp_recording *out, struct tp_err *err);
void tp_recording_release(struct tp_recording *rec);

/* Reads `bytes` at an offset; *got is less at the end of the file only. */
int tp_recording_read(const struct tp_recording *rec, uint64_t offset, void *into, size_t bytes,
                      size_t *got, struct tp_err *err);

#endif
