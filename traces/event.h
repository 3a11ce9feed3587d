/* What a trace format hands to lowering: one recorded event in the trace's own terms. */
#ifndef TP_EVENT_H
#define TP_EVENT_H

#include "alloc/program/program.h"
#include "traces/input/input.h"

/* What a trace can hold has the number of its operation. */
#define TP_EVENT_CONSTANT(op, ...) TP_EV_##op = TP_##op,
/* clang-format off */
enum tp_event_op {
    TP_RECORDED_OPS(TP_EVENT_CONSTANT)
    TP_EV_INITIAL = TP_OP_COUNT, /* was live when recording began: before all others, in no count */
    TP_EV_COUNT
};
/* clang-format on */

/* The event that becomes, or became, an operation. FREE of a trace drops one reference, and
 * `release` is the same: whether it is the last one is for lowering to see. */
static inline enum tp_event_op tp_event_of(enum tp_op op)
{
    return op == TP_RELEASE ? TP_EV_FREE : (enum tp_event_op)op;
}

static inline const char *tp_event_name(enum tp_event_op op)
{
    return op == TP_EV_INITIAL ? "initial" : tp_op_rows[op].name;
}

/* The operation that an event asks for: of an object that was there, its allocation. */
static inline enum tp_op tp_event_asks(enum tp_event_op op)
{
    return op == TP_EV_INITIAL ? TP_ALLOC : (enum tp_op)op;
}

/* The name of a mark that ends the phase before it and begins none. */
#define TP_NO_PHASE "(none)"

/* Absent members are what the comment says. */
struct tp_event {
    enum tp_event_op op;
    bool has_time, has_size, has_align, has_stream;
    bool has_offset;
    bool uncounted;    /* no event of the file: it has the number of the event before it */
    bool has_free;     /* free_bytes is known */
    enum tp_note note; /* of TP_EV_NOTE; TP_NOTE_FREE_REQUESTED is about the object `id` */
    int64_t id;        /* unique among live objects */
    uint64_t size;     /* bytes */
    uint64_t align;    /* a power of two; absent: 16 for host, 256 for device traces */
    uint64_t thread;   /* any number; absent: 0 */
    int64_t stream;    /* any declared number; absent: the first declared, for sync the device */
    uint64_t time_ns;  /* since the trace began */
    const char *name;  /* of a mark; borrowed */
    const char *place; /* where in the recorded program; borrowed, not ended; lowering ignores it */
    size_t place_bytes;  /* of that text; 0: not known */
    uint64_t number;     /* in the program or file that it is taken from; 0: the next one */
    uint64_t free_bytes; /* of TP_NOTE_OOM: what the device had left */
    uint64_t line;       /* of the file, from 1; 0 = the format has none */
    uint64_t offset;     /* of the file, from 0, in formats without lines */
};

/* The place of the event before a sentence of TP_EINPUT that has none. */
int tp_event_placed(const struct tp_event *ev, const struct tp_input *in, int rc,
                    struct tp_err *err);

/* Where events go, one at a time, in order; the event is borrowed for the call. */
struct tp_event_sink {
    int (*event)(void *ctx, const struct tp_event *ev, struct tp_err *err);
    void *ctx;
};

/* What a note is called in tapool's own formats: "oom", "segment_alloc". A name that is none of
 * these is TP_NOTE_OTHER. */
extern const char *const tp_note_names[TP_NOTE_COUNT];
enum tp_note tp_note_find(const char *name);

/* These belong to no thread. One that has no index yet gets none from them: it may never allocate,
 * and a program must not depend on who set a mark. */
static inline bool tp_event_of_no_thread(const struct tp_event *ev)
{
    return ev->op == TP_EV_INITIAL || !tp_op_is(ev->op, TP_OF_THREAD);
}

#endif
