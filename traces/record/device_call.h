/* What a program asked of the driver of its GPUs, as the body of a TP_MORE_DEVICE: a kind, and
 * those of the other numbers that its row names, each a varint.
 *
 *      kind | device | stream | object | size | other
 *
 * Handles are the driver's: it gives one out again when its thing was destroyed. */
#ifndef TP_DEVICE_CALL_H
#define TP_DEVICE_CALL_H

#include "traces/record/recording.h"

#include <stddef.h>

/* Numbers that a record has. */
enum {
    TP_WITH_DEVICE = 1 << 0,
    TP_WITH_STREAM = 1 << 1,
    TP_WITH_OBJECT = 1 << 2,
    TP_WITH_SIZE = 1 << 3,
    TP_WITH_OTHER = 1 << 4,
    TP_WITH_ON_STREAM = TP_WITH_DEVICE | TP_WITH_STREAM,
    TP_WITH_AT = TP_WITH_ON_STREAM | TP_WITH_OBJECT,
    TP_WITH_ASKS = TP_WITH_ON_STREAM | TP_WITH_SIZE | TP_WITH_OTHER
};

/* Columns: constant, number as stored, numbers that it has.
 *
 *     ALLOC        memory in the order of a stream; other: its pool, 0 for that of the device
 *     ALLOC_NOW    memory that is there when the call returns
 *     FAILED       the device had no memory left; other: as ALLOC
 *     FREE         memory is freed in the order of a stream
 *     FREE_NOW     the work on it is done
 *     STREAM       a stream was made
 *     STREAM_END   a stream was destroyed
 *     RECORD       an event was recorded in a stream
 *     WAIT         a stream waits for an event
 *     EVENT_END    an event was destroyed
 *     SYNC_STREAM  the program knows that a stream has caught up
 *     STREAM_DONE  the same, found out by asking: programs ask again and again
 *     SYNC_EVENT   the program knows that an event has come to pass
 *     SYNC_DEVICE  the program knows that all streams of the device have caught up
 *     POOL         a pool takes its memory from the device
 *     POOL_END     a pool was destroyed
 *     TRIM         a pool keeps at most `size` idle bytes
 *     CAPTURE      what follows in a stream goes into a graph, and is not done
 *     CAPTURE_END  the graph is complete
 *     RESET        all memory of the device is gone
 *     LEFT_OUT     memory that is not recorded; other: enum tp_left_out; object: its address, or 0
 */
#define TP_DEVICE_CALLS(X)                                                                         \
    X(ALLOC, 1, TP_WITH_AT | TP_WITH_ASKS)                                                         \
    X(ALLOC_NOW, 2, TP_WITH_DEVICE | TP_WITH_OBJECT | TP_WITH_SIZE)                                \
    X(FAILED, 3, TP_WITH_ASKS)                                                                     \
    X(FREE, 4, TP_WITH_AT)                                                                         \
    X(FREE_NOW, 5, TP_WITH_DEVICE | TP_WITH_OBJECT)                                                \
    X(STREAM, 6, TP_WITH_ON_STREAM)                                                                \
    X(STREAM_END, 7, TP_WITH_ON_STREAM)                                                            \
    X(RECORD, 8, TP_WITH_AT)                                                                       \
    X(WAIT, 9, TP_WITH_AT)                                                                         \
    X(EVENT_END, 10, TP_WITH_OBJECT)                                                               \
    X(SYNC_STREAM, 11, TP_WITH_ON_STREAM)                                                          \
    X(SYNC_EVENT, 12, TP_WITH_OBJECT)                                                              \
    X(SYNC_DEVICE, 13, TP_WITH_DEVICE)                                                             \
    X(POOL, 14, TP_WITH_DEVICE | TP_WITH_OBJECT)                                                   \
    X(POOL_END, 15, TP_WITH_OBJECT)                                                                \
    X(TRIM, 16, TP_WITH_OBJECT | TP_WITH_SIZE)                                                     \
    X(CAPTURE, 17, TP_WITH_ON_STREAM)                                                              \
    X(CAPTURE_END, 18, TP_WITH_ON_STREAM)                                                          \
    X(RESET, 19, TP_WITH_DEVICE)                                                                   \
    X(LEFT_OUT, 20, TP_WITH_OBJECT | TP_WITH_SIZE | TP_WITH_OTHER)                                 \
    X(STREAM_DONE, 21, TP_WITH_ON_STREAM)

#define TP_DEVICE_CALL_NUMBER(name, number, members) TP_CALL_##name = (number),
enum tp_device_call_kind { TP_CALL_NONE, TP_DEVICE_CALLS(TP_DEVICE_CALL_NUMBER) TP_CALL_KINDS };

/* Streams that have no handle of their own. */
enum {
    TP_STREAM_LEGACY = 0,    /* the device's default stream */
    TP_STREAM_PER_THREAD = 2 /* the thread's default stream */
};

enum { TP_CALL_DEVICES = 256, TP_CALL_NO_DEVICE = TP_CALL_DEVICES /* memory of the host */ };

/* Memory that is counted, and in no trace. */
enum tp_left_out {
    TP_LEFT_MANAGED,  /* moves between host and devices */
    TP_LEFT_HOST,     /* host memory that the driver allocates, or pools of it */
    TP_LEFT_ARRAY,    /* arrays, whose size is not known */
    TP_LEFT_PHYSICAL, /* cuMemCreate: mapped by the program itself */
    TP_LEFT_GRAPH,    /* allocations in graphs */
    TP_LEFT_CONTEXT,  /* contexts that were destroyed, with what they held */
    TP_LEFT_REASONS
};

struct tp_device_call {
    enum tp_device_call_kind kind;
    uint64_t device; /* its number in the program, or TP_CALL_NO_DEVICE */
    uint64_t stream; /* handle, or one of those above */
    uint64_t object; /* address of memory; handle of an event or a pool */
    uint64_t size;   /* bytes */
    uint64_t other;
};

#define TP_DEVICE_CALL_MEMBERS(name, number, members) [TP_CALL_##name] = (members),
enum { TP_DEVICE_CALL_BYTES = 51 }; /* of a body at most */

/* The number of a record that bit `i` of its row stands for. */
static inline uint64_t *tp_device_call_member(struct tp_device_call *c, unsigned i)
{
    uint64_t *const members[] = {&c->device, &c->stream, &c->object, &c->size, &c->other};
    return members[i];
}

static inline unsigned tp_device_call_members(unsigned kind)
{
    static const uint8_t members[TP_CALL_KINDS] = {TP_DEVICE_CALLS(TP_DEVICE_CALL_MEMBERS)};
    return kind < TP_CALL_KINDS ? members[kind] : 0;
}

/* Writes a body; gives its length. */
static inline size_t tp_device_call_put(struct tp_device_call c,
                                        unsigned char body[TP_DEVICE_CALL_BYTES])
{
    unsigned char *at = body;
    unsigned members = tp_device_call_members(c.kind);
    *at++ = (unsigned char)c.kind;
    for (unsigned i = 0; members >> i; i++)
        if (members >> i & 1)
            at = tp_rec_put(at, *tp_device_call_member(&c, i));
    return (size_t)(at - body);
}

#endif
