/* Dense numbers for the threads, streams and devices of a trace. */
#ifndef TP_LOWER_IDS_H
#define TP_LOWER_IDS_H

#include "alloc/base/id_map.h"
#include "alloc/program/program.h"

/* Threads, numbered by first appearance. The index of an ended thread is used again. */
struct tp_threads {
    struct tp_id_map map;
    uint16_t *ended; /* stack of free indices */
    size_t ended_count, ended_room;
    uint32_t used; /* indices ever used */
    /* threads seen; a number that is used again after its end counts as another thread */
    uint64_t recorded;
    int64_t last_id; /* thread of the previous event: most events have the same one */
    uint16_t last_index;
    bool last_valid;
};

/* Streams and their devices, numbered by declaration. */
struct tp_streams {
    struct tp_id_map streams, devices;
    struct tp_id_map handles; /* of tp_streams_need: several devices may have the same one */
    uint16_t *device_of;      /* device by index of the stream */
    size_t room;
};

void tp_threads_init(struct tp_threads *t);
void tp_threads_release(struct tp_threads *t);

/* The index of a thread, which gets one now if it has none. TP_EINPUT: more than TP_MAX_THREADS at
 * once; the message needs a prefix with file and event. */
int tp_threads_index(struct tp_threads *t, uint64_t thread, uint16_t *index, struct tp_err *err);
bool tp_threads_known(const struct tp_threads *t, uint64_t thread);

/* Ends a thread, which must have an index, and frees that index. */
int tp_threads_end(struct tp_threads *t, uint64_t thread, struct tp_err *err);

void tp_streams_init(struct tp_streams *s);
void tp_streams_release(struct tp_streams *s);

/* Adds a stream. TP_EINPUT: declared before, or too many streams or devices. */
int tp_streams_add(struct tp_streams *s, int64_t id, int64_t device, struct tp_err *err);

/* The id of the stream that has this handle on this device; adds the stream if it is new. Errors
 * are those of tp_streams_add. */
int tp_streams_need(struct tp_streams *s, int64_t handle, int64_t device, int64_t *id,
                    struct tp_err *err);
bool tp_streams_find(const struct tp_streams *s, int64_t id, uint16_t *index);

#endif
