/* The events of one thread of a recording, in the order in which it wrote them. */
#ifndef TP_RECORDING_THREAD_H
#define TP_RECORDING_THREAD_H

#include "traces/formats/recording/recording_chunks.h"
#include "traces/record/device_call.h"

struct tp_recording_event {
    enum tp_record_op op;     /* without TP_REC_BYTES */
    uint64_t time;            /* when it began, ticks >> shift */
    uint64_t end;             /* when it was done: later than `time` for a MOVE only */
    uint64_t address, to;     /* `to` is the new address of a MOVE */
    uint64_t size, align;     /* align: 0 is that of malloc */
    bool only_seen;           /* of a RESIZE or MOVE: nothing, unless the block is known */
    uint64_t offset;          /* of its token in the file */
    enum tp_record_more more; /* of a MORE; else TP_MORE_NONE */
    const unsigned char
        *body; /* of a MORE, the text of a MARK: valid until the next event is read */
    size_t body_bytes;
    /* of a TP_MORE_DEVICE. One that gives memory out or back has the operation and the address that
     * it would have on the host, because its place in the order of time is the same. */
    struct tp_device_call call;
};

struct tp_recording_thread {
    const struct tp_recorded_chunk *chunk, *end; /* the next chunk to be read, and after the last */
    unsigned char *data;                         /* owned: events of the chunk before `chunk` */
    size_t room, at, used;                       /* bytes of `data` */
    uint64_t time, address;
    bool ended;      /* the thread ended in the recording; known after its last event */
    bool damaged;    /* no event begins at `damage`; what follows of the thread is left out */
    uint64_t damage; /* byte of the file */
};

/* Reads the next event; *more is false after the last, and where the bytes are none. The memory
 * goes back with it. */
int tp_recording_next(const struct tp_recording *rec, struct tp_recording_thread *t,
                      struct tp_recording_event *ev, bool *more, struct tp_err *err);
void tp_recording_thread_release(const struct tp_recording *rec, struct tp_recording_thread *t);

#endif
