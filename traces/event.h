/* One recorded event in the trace's own terms, as a trace format hands it to lowering. */
#ifndef TP_EVENT_H
#define TP_EVENT_H

#include "alloc/program/program.h"
#include "traces/input/input.h"

/* An event has the number of the operation that it asks for. */
#define TP_EVENT_CONSTANT(op, ...) TP_EV_##op = TP_##op,
/* clang-format off */
enum tp_event_op {
    TP_RECORDED_OPS(TP_EVENT_CONSTANT)
    /* an object that was live when recording began: comes before all other events, is in no
     * count */
    TP_EV_INITIAL = TP_OP_COUNT,
    TP_EV_COUNT,
    /* an event that has a number and is not lowered; only for tp_lower_sink and spaces.h */
    TP_EV_SKIP = TP_EV_COUNT
};
/* clang-format on */

/* The event of an operation, in either direction. A trace has no RELEASE: its FREE drops one
 * reference, and lowering finds out whether that was the last one. */
static inline enum tp_event_op tp_event_of(enum tp_op op)
{
    return op == TP_RELEASE ? TP_EV_FREE : (enum tp_event_op)op;
}

static inline const char *tp_event_name(enum tp_event_op op)
{
    return op == TP_EV_INITIAL ? "initial" : tp_op_rows[op].name;
}

/* What an event does, in messages. */
static inline const char *tp_event_verb(enum tp_event_op op)
{
    return op == TP_EV_INITIAL ? "places" : tp_op_rows[op].verb;
}

/* The operation that an event asks for. For an object that was live at the start, this is ALLOC. */
static inline enum tp_op tp_event_asks(enum tp_event_op op)
{
    return op == TP_EV_INITIAL ? TP_ALLOC : (enum tp_op)op;
}

/* The name of a mark that ends the phase before it and begins none. */
#define TP_NO_PHASE "(none)"

/* The name of the phase that begins with a mark of a program; NULL: there is none before the first
 * mark (UINT32_MAX), or behind one that only ends a phase. */
const char *tp_mark_phase(const struct tp_program *p, uint32_t mark);

/* One recorded event. The has_ flags say which optional members are set; the comments give the
 * default of an absent one. */
struct tp_event {
    enum tp_event_op op;
    bool has_time, has_size, has_align, has_stream;
    bool has_offset;
    bool uncounted; /* shares the number of the event before it: the file does not count it */
    bool has_free;  /* free_bytes is known */
    bool has_at;    /* an INITIAL that has a place in the recorded heap, a note about a segment */
    /* 1 + the enum tp_repair that the reader made of this event; 0: none. As TP_EV_SKIP. */
    uint8_t repaired;
    enum tp_note note; /* kind of a TP_EV_NOTE; TP_NOTE_FREE_REQUESTED is about the object `id` */
    int64_t id;        /* unique among live objects */
    uint64_t size;     /* bytes */
    uint64_t align;    /* a power of two; absent: 16 for host, 256 for device traces */
    uint64_t thread;   /* any number; absent: 0 */
    /* any declared number; absent: the first declared one, but for a sync all streams */
    int64_t stream;
    uint64_t time_ns; /* ns since the trace began */
    const char *name; /* name of a mark; borrowed */
    /* code place in the recorded program; borrowed, no NUL at its end; lowering ignores it */
    const char *place;
    size_t place_bytes; /* length of `place`; 0: the place is not known */
    /* number in the program or file that the event is taken from; 0: the next number */
    uint64_t number;
    uint64_t free_bytes; /* bytes that the device had left at a TP_NOTE_OOM */
    /* address in the recorded heap; INITIAL: and what else is known of the block: see struct
     * tp_heap_block */
    uint64_t at, bytes, behind;
    uint64_t pool[2]; /* ALLOC, TP_NOTE_OOM: the numbers of the pool that was asked (heap.h) */
    uint64_t line;    /* line in the file, from 1; 0: the format has no lines */
    uint64_t offset;  /* byte in the file, from 0, in formats without lines */
};

/* Puts file and place of the event before the sentence of a TP_EINPUT that has no place yet.
 * Returns `rc`. */
int tp_event_placed(const struct tp_event *ev, const struct tp_input *in, int rc,
                    struct tp_err *err);

/* Receives events one at a time, in order. The event is borrowed for the call. */
struct tp_event_sink {
    int (*event)(void *ctx, const struct tp_event *ev, struct tp_err *err);
    void *ctx;
};

/* Names of notes in tapool's own formats: "oom", "segment_alloc". tp_note_find returns
 * TP_NOTE_OTHER for an unknown name. */
extern const char *const tp_note_names[TP_NOTE_COUNT];
enum tp_note tp_note_find(const char *name);

/* What a note does not hold is in one that follows it, of the same event: the kind of that note and
 * what it says as its size; TP_NOTE_OTHER: there is none. */
enum tp_note tp_event_more(const struct tp_event *ev, uint64_t *value);

/* Gives an event, a note, what the one that follows it says. False: `more` does not follow it. */
bool tp_event_set_more(struct tp_event *ev, enum tp_note more, uint64_t value);

/* Whether an event belongs to no thread. Such an event gives its thread no index: the thread may
 * never allocate, and a program must not depend on who set a mark. */
static inline bool tp_event_of_no_thread(const struct tp_event *ev)
{
    return ev->op == TP_EV_INITIAL || !tp_op_is(ev->op, TP_OF_THREAD);
}

#endif
