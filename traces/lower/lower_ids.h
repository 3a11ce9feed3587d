/* Dense numbers for the threads, streams and devices of a trace. */
#ifndef TP_LOWER_IDS_H
#define TP_LOWER_IDS_H

#include "alloc/base/id_map.h"
#include "alloc/program/program.h"

/* Threads by first appearance; the index of an ended thread is used again. */
struct tp_threads {
    struct tp_id_map map;
    uint16_t *ended; /* a stack of free indices */
    size_t ended_count, ended_room;
    uint32_t used;     /* indices ever used */
    uint64_t recorded; /* threads seen; a number that comes back after its end is another thread */
    int64_t last_id;   /* the thread of the event before: most events stay on it */
    uint16_t last_index;
    bool last_valid;
};

/* Streams and their devices by declaration. */
struct tp_streams {
    struct tp_id_map streams, devices;
    uint16_t *device_of; /* by index of the stream */
    size_t room;
};

void tp_threads_init(struct tp_threads *t);
void tp_threads_release(struct tp_threads *t);

/* TP_EINPUT: more than TP_MAX_THREADS at once. Sentences are for a prefix with file and event. */
int tp_threads_index(struct tp_threads *t, uint64_t thread, uint16_t *index, struct tp_err *err);
bool tp_threads_known(const struct tp_threads *t, uint64_t thread);

/* The thread, which has an index, is over. */
int tp_threads_end(struct tp_threads *t, uint64_t thread, struct tp_err *err);

void tp_streams_init(struct tp_streams *s);
void tp_streams_release(struct tp_streams *s);

/* TP_EINPUT: declared before, or too many. */
int tp_streams_add(struct tp_streams *s, int64_t id, int64_t device, struct tp_err *err);
bool tp_streams_find(const struct tp_streams *s, int64_t id, uint16_t *index);

#endif
