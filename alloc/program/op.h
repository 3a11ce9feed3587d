/* The operations, one row each. Every table and enum of operations is made from these rows.
 *
 *     row --> enum tp_op, tp_op_rows     program: what is checked, kept, called
 *         --> enum tp_event_op           traces: what formats read and write, and messages
 *         --> latency kind, rank         results: where it is timed and counted
 *
 * A new operation needs a row here, a replayer in alloc/engine/replay_loop.c and a lowering in
 * traces/lower/lower.c. Known weakness: its meaning is documented again in info.schema.json, the
 * help topics and traces/README.md. */
#ifndef TP_OP_H
#define TP_OP_H

#include <stdbool.h>
#include <stdint.h>

/* Which members of an instruction mean something, and what they mean. */
enum tp_op_flag {
    TP_HAS_SLOT = 1 << 0,
    TP_HAS_SIZE = 1 << 1,
    TP_HAS_ALIGN = 1 << 2,
    TP_HAS_STREAM = 1 << 3,
    TP_HAS_DEVICE = 1 << 4,
    TP_HAS_THREAD = 1 << 5,
    TP_HAS_NAME = 1 << 6, /* the slot is the index of a name */
    TP_HAS_NOTE = 1 << 7, /* align_log2 is an enum tp_note, the slot may be 0 for none */
    TP_IS_NEW = 1 << 8,   /* the slot must be free and becomes live */
    TP_IS_LIVE = 1 << 9,  /* the slot must be live, and the device is the slot's */
    /* requests memory, which may fail; on success the object has the new size */
    TP_ASKS = 1 << 10,
    TP_ON_STREAM = 1 << 11, /* belongs to the work of its stream */
    /* done by a thread of the program, even one that no event has named before */
    TP_OF_THREAD = 1 << 12,
    /* may name all devices; an operation with a stream must then name all streams */
    TP_OF_ALL = 1 << 13,
    TP_NEEDS_STREAM = 1 << 14, /* a trace must name the stream */
    /* a member of the ALLOC that follows, of the same thread, device and event; the size is its
     * number, from 1 */
    TP_OF_NEXT = 1 << 15
};
enum {
    TP_SIZED = TP_HAS_SIZE | TP_HAS_ALIGN,
    TP_PLACED = TP_HAS_SLOT | TP_HAS_STREAM | TP_HAS_DEVICE | TP_HAS_THREAD,
    TP_REFERENCE = TP_PLACED | TP_IS_LIVE | TP_OF_THREAD,
    TP_OBJECT = TP_REFERENCE | TP_ON_STREAM,
    TP_NEW_OBJECT = TP_PLACED | TP_SIZED | TP_IS_NEW | TP_ASKS | TP_OF_THREAD | TP_ON_STREAM,
    TP_DEVICES = TP_HAS_DEVICE | TP_HAS_THREAD | TP_OF_ALL,
    TP_STREAMS = TP_DEVICES | TP_HAS_STREAM | TP_ON_STREAM,
    TP_NAMED = TP_HAS_SLOT | TP_HAS_THREAD | TP_HAS_NAME
};

/* How a call is timed. */
enum tp_latency_kind {
    TP_LAT_ALLOC,
    TP_LAT_FREE,
    TP_LAT_REALLOC,
    TP_LAT_SYNC, /* on a real device with the driver's call, which waits for nothing then */
    TP_LAT_OTHER,
    TP_LAT_KINDS,
    TP_LAT_NONE = TP_LAT_KINDS /* not a call: neither timed nor counted */
};

/* Columns: constant; number, as stored in .tpt files; name; verb for messages; latency kind; rank,
 * the place from 1 in the order in which reports list operations, 0 for an operation that reports
 * leave out; flags.
 *
 *     ALLOC       slot, size, align, stream
 *     FREE        slot, size and align of the object as it is then, stream
 *     REALLOC     slot, size = the new size, align
 *     RETAIN      slot: one more reference
 *     RELEASE     slot: one reference less, never the last (that is FREE)
 *     ADOPT       slot, size, align: a block that came straight from the source
 *     USE         slot, stream: also used on that stream
 *     SYNC        stream, or TP_ALL_STREAMS of the device: it has caught up
 *     RESET       every live object of the device is gone
 *     TRIM        size = bytes that may stay cached
 *     THREAD_END  thread: its index may be used again
 *     MARK        slot = index of a name: a phase begins
 *     NOTE        align_log2 = enum tp_note, size, stream; ignored by strategies
 *     IDLE        gap_ns only: splits a gap over 2^32-1 ns; no trace has it
 *     POOL        size = number of a private pool, which serves the next ALLOC of this thread and
 *                 device; a trace has it as a member of that ALLOC */
/* clang-format off */
#define TP_RECORDED_OPS(X) \
    X(ALLOC,       0, "alloc",      "allocates",   ALLOC,    1, TP_NEW_OBJECT) \
    X(FREE,        1, "free",       "frees",       FREE,     4, TP_OBJECT | TP_SIZED) \
    X(REALLOC,     2, "realloc",    "reallocates", REALLOC,  3, TP_OBJECT | TP_SIZED | TP_ASKS) \
    X(RETAIN,      3, "retain",     "retains",     OTHER,    5, TP_REFERENCE) \
    X(RELEASE,     4, "release",    "releases",    OTHER,    6, TP_REFERENCE) \
    X(ADOPT,       5, "adopt",      "adopts",      ALLOC,    2, TP_NEW_OBJECT) \
    X(USE,         6, "use",        "uses",        OTHER,    7, TP_OBJECT | TP_NEEDS_STREAM) \
    X(SYNC,        7, "sync",       "waits",       SYNC,     8, TP_STREAMS) \
    X(RESET,       8, "reset",      "resets",      OTHER,    9, TP_DEVICES) \
    X(TRIM,        9, "trim",       "trims",       OTHER,   10, TP_DEVICES | TP_HAS_SIZE) \
    X(THREAD_END, 10, "thread_end", "ends",        OTHER,   12, TP_HAS_THREAD | TP_OF_THREAD) \
    X(MARK,       11, "mark",       "marks",       NONE,    11, TP_NAMED) \
    X(NOTE,       12, "note",       "notes",       NONE,    13, TP_PLACED | TP_SIZED | TP_HAS_NOTE)
#define TP_OPS(X) \
    TP_RECORDED_OPS(X) \
    X(IDLE,       13, "idle",       "idles",       NONE,     0, 0) \
    X(POOL,       14, "pool",       "chooses",     NONE,     0, \
      TP_HAS_DEVICE | TP_HAS_THREAD | TP_HAS_SIZE | TP_OF_NEXT)
/* clang-format on */

#define TP_OP_NUMBER(op, number, ...) TP_##op = (number),
#define TP_OP_ONE(...)                +1
enum tp_op { TP_OPS(TP_OP_NUMBER) TP_OP_COUNT = 0 TP_OPS(TP_OP_ONE) };

struct tp_op_row {
    const char *name, *verb;
    uint16_t flags;
    uint8_t latency; /* enum tp_latency_kind */
    uint8_t rank;
};
extern const struct tp_op_row tp_op_rows[TP_OP_COUNT];

/* Has the operation one of these flags? */
static inline bool tp_op_is(unsigned op, unsigned flags)
{
    return (tp_op_rows[op].flags & flags) != 0;
}

/* Is the operation timed and counted? */
static inline bool tp_op_is_operation(unsigned op)
{
    return tp_op_rows[op].latency != TP_LAT_NONE;
}

/* The operation of a rank, from 1; TP_OP_COUNT above the highest rank. */
enum tp_op tp_op_ranked(unsigned rank);

#endif
