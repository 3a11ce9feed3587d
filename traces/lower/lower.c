/* Lowers events in the trace's own terms to instructions. A dirty event is an error or a counted
 * repair.
 *
 *     event --> time, thread, stream --> one handler per op --> emit --> builder
 *               (dense numbers)          (objects, strategy)      (gap, IDLE)
 *
 * A handler first checks its event. `dirty` fails when strict and else counts a repair; `refuse`
 * always fails. Known weakness: an event without a time gets the time of the event before it. */
#include "traces/lower/lower.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "alloc/program/live.h"
#include "traces/input/input.h"
#include "traces/lower/hash.h"
#include "traces/lower/lower_ids.h"
#include "traces/lower/lower_objects.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

enum { ASK_AFTER = 4096 };

struct tp_lower {
    const char *path;
    bool strict, kind_given;
    enum tp_kind kind;
    struct tp_lower_cfg cfg;
    struct tp_builder *builder; /* NULL before the first event */
    struct tp_hash *hash;
    struct tp_objects objects;
    struct tp_lower_heap heap;
    struct tp_threads threads;
    struct tp_streams streams;
    struct tp_budget own; /* used if cfg has no budget */
    uint64_t dropped;     /* objects left out by drop_initial */
    uint32_t unasked;     /* events so far; every ASK_AFTER-th calls look_up */
    uint64_t count;       /* events taken, the current one included */
    uint64_t now_ns;      /* latest time of an event */
    uint64_t emitted_ns;  /* time up to which gaps are emitted */
    bool some_without_time;
    uint64_t repairs[TP_REPAIR_COUNT];
};

/* ---- errors ---- */

/* "my.json:12: event 3" */
static void place_of(const struct tp_lower *lo, const struct tp_event *ev, char *out, size_t size)
{
    bool initial = ev->op == TP_EV_INITIAL;
    struct tp_str place = tp_str_in(out, size);
    tp_str_add(&place, "%s", lo->path);
    if (ev->line > 0)
        tp_str_add(&place, ":%" PRIu64, ev->line);
    else if (ev->has_offset && !initial)
        tp_str_add(&place, ": byte %" PRIu64, ev->offset);
    if (initial)
        tp_str_add(&place, ": before event 1");
    else
        tp_str_add(&place, ": event %s", tp_count(lo->count).s);
}

static int refuse_va(const struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err,
                     const char *format, va_list args)
{
    char place[TP_ERR_TEXT], text[TP_ERR_TEXT];
    place_of(lo, ev, place, sizeof place);
    vsnprintf(text, sizeof text, format, args);
    return tp_fail(err, TP_EINPUT, "%s%s", place, text);
}

/* Fails with TP_EINPUT; the text follows "event 3": " frees id 5" or ": no room". */
__attribute__((format(printf, 4, 5))) static int refuse(const struct tp_lower *lo,
                                                        const struct tp_event *ev,
                                                        struct tp_err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = refuse_va(lo, ev, err, format, args);
    va_end(args);
    return rc;
}

/* Reports dirty input: fails when strict, else counts a repair, which the caller makes. */
__attribute__((format(printf, 5, 6))) static int dirty(struct tp_lower *lo,
                                                       const struct tp_event *ev,
                                                       enum tp_repair kind, struct tp_err *err,
                                                       const char *format, ...)
{
    if (!lo->strict) {
        lo->repairs[kind]++;
        return TP_OK;
    }
    va_list args;
    va_start(args, format);
    int rc = refuse_va(lo, ev, err, format, args);
    va_end(args);
    return tp_hint(err, rc, "%s", tp_repair_hints[kind]);
}

/* Puts the place before the message of a helper that does not know the file. */
static int placed(const struct tp_lower *lo, const struct tp_event *ev, int rc, struct tp_err *err)
{
    if (rc != TP_EINPUT)
        return rc;
    char place[TP_ERR_TEXT];
    place_of(lo, ev, place, sizeof place);
    return tp_prefix(err, rc, "%s", place);
}

/* ---- life ---- */

int tp_lower_new(const struct tp_lower_cfg *cfg, struct tp_lower **out, struct tp_err *err)
{
    struct tp_lower *lo = calloc(1, sizeof *lo);
    if (!lo)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading %s", cfg->path);
    lo->path = cfg->path;
    lo->strict = cfg->strict;
    lo->cfg = *cfg;
    lo->own.limit = cfg->max_memory;
    lo->cfg.budget = cfg->budget ? cfg->budget : &lo->own;
    lo->kind = TP_KIND_HOST;
    tp_objects_init(&lo->objects, lo->cfg.budget);
    lo->heap.budget = lo->cfg.budget;
    tp_threads_init(&lo->threads);
    tp_streams_init(&lo->streams);
    int rc = tp_hash_new(&lo->hash, err);
    if (rc != TP_OK) {
        tp_lower_free(lo);
        return rc;
    }
    *out = lo;
    return TP_OK;
}

void tp_lower_free(struct tp_lower *lo)
{
    if (!lo)
        return;
    tp_builder_free(lo->builder);
    tp_hash_free(lo->hash);
    tp_objects_release(&lo->objects);
    tp_lower_heap_release(&lo->heap);
    tp_threads_release(&lo->threads);
    tp_streams_release(&lo->streams);
    free(lo);
}

int tp_lower_kind(struct tp_lower *lo, enum tp_kind kind, struct tp_err *err)
{
    if (lo->builder)
        return tp_fail(err, TP_EBROKEN, "%s: the kind was given after the first event", lo->path);
    if (lo->kind_given)
        return tp_fail(err, TP_EINPUT, "the kind is given twice");
    lo->kind = kind;
    lo->kind_given = true;
    return TP_OK;
}

int tp_lower_stream(struct tp_lower *lo, int64_t id, int64_t device, struct tp_err *err)
{
    return tp_streams_add(&lo->streams, id, device, err);
}

int tp_lower_need_stream(struct tp_lower *lo, int64_t id, int64_t device, struct tp_err *err)
{
    uint16_t index = 0;
    bool known = tp_streams_find(&lo->streams, id, &index);
    return known ? TP_OK : tp_streams_add(&lo->streams, id, device, err);
}

int tp_lower_stream_on(struct tp_lower *lo, int64_t handle, int64_t device, int64_t *id,
                       struct tp_err *err)
{
    return tp_streams_need(&lo->streams, handle, device, id, err);
}

uint64_t tp_lower_dropped(const struct tp_lower *lo)
{
    return lo->dropped;
}

uint64_t tp_lower_count(const struct tp_lower *lo)
{
    return lo->count;
}

/* Bytes of the program that stay in memory: by default at most a quarter of max_memory. */
static uint64_t program_share(const struct tp_lower *lo)
{
    uint64_t quarter = lo->cfg.max_memory / 4;
    if (lo->cfg.memory_limit)
        return lo->cfg.memory_limit;
    return quarter && quarter < TP_PROGRAM_MEMORY ? quarter : TP_PROGRAM_MEMORY;
}

/* Makes the builder, before the first instruction, when kind and streams are known. */
static int begin(struct tp_lower *lo, struct tp_err *err)
{
    if (lo->builder)
        return TP_OK;
    if (lo->streams.streams.used == 0) {
        int rc = tp_streams_add(&lo->streams, 0, 0, err);
        if (rc != TP_OK)
            return rc;
    }
    struct tp_builder_cfg cfg = {.kind = lo->kind,
                                 .hash = tp_hash_add,
                                 .hash_ctx = lo->hash,
                                 .memory_limit = program_share(lo),
                                 .budget = lo->cfg.budget,
                                 .sink = lo->cfg.sink,
                                 .sink_ctx = lo->cfg.sink_ctx};
    return tp_builder_new(&cfg, &lo->builder, err);
}

/* ---- what all events share ---- */

/* Fields of an event in the program's terms. */
struct context {
    const struct tp_event *ev;
    struct tp_err *err;
    uint16_t thread;
    uint16_t stream; /* stream of the event, else the first declared */
    uint16_t device; /* device of `stream` */
};

static int take_time(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err)
{
    if (!ev->has_time) {
        lo->some_without_time = true;
        return TP_OK;
    }
    if (ev->time_ns > TP_MAX_TIME) {
        int rc = refuse(lo, ev, err, ": t is %" PRIu64 " ns, more than 104 days after the start",
                        ev->time_ns);
        return tp_hint(err, rc, "'t' is nanoseconds since the trace began, not since 1970");
    }
    if (ev->time_ns < lo->now_ns)
        return dirty(lo, ev, TP_REPAIR_TIME_BACKWARDS, err,
                     ": time runs backwards: t is %" PRIu64 " after %" PRIu64, ev->time_ns,
                     lo->now_ns);
    lo->now_ns = ev->time_ns;
    return TP_OK;
}

static int resolve(struct tp_lower *lo, struct context *cx)
{
    const struct tp_event *ev = cx->ev;
    if (ev->has_stream && !tp_streams_find(&lo->streams, ev->stream, &cx->stream)) {
        int rc = refuse(lo, ev, cx->err, ": stream %" PRId64 " is not declared", ev->stream);
        return tp_hint(cx->err, rc,
                       "'streams', before 'events', declares them; without it only stream 0 "
                       "exists");
    }
    cx->device = lo->streams.device_of[cx->stream];
    return TP_OK;
}

/* Threads are numbered by their first instruction, so that a dropped event does not show. */
static int resolve_thread(struct tp_lower *lo, struct context *cx)
{
    const struct tp_event *ev = cx->ev;
    if (tp_event_of_no_thread(ev) && !tp_threads_known(&lo->threads, ev->thread))
        return TP_OK;
    return placed(lo, ev, tp_threads_index(&lo->threads, ev->thread, &cx->thread, cx->err),
                  cx->err);
}

/* Gives the program its heap, once what was live at the start is complete. */
static int give_heap(struct tp_lower *lo, char *why, struct tp_err *err)
{
    int rc = tp_lower_heap_give(&lo->heap, lo->builder, why, err);
    return rc == TP_EINPUT ? tp_prefix(err, rc, "%s", lo->path) : rc;
}

int tp_lower_segment(struct tp_lower *lo, int64_t stream, const struct tp_heap_segment *segment,
                     struct tp_err *err)
{
    if (lo->cfg.drop_initial)
        return TP_OK;
    return tp_lower_heap_segment(&lo->heap, &lo->streams, stream, segment, err);
}

int tp_lower_begin(struct tp_lower *lo, char *why, struct tp_err *err)
{
    *why = '\0';
    int rc = begin(lo, err);
    return rc == TP_OK ? give_heap(lo, why, err) : rc;
}

static int add(struct tp_lower *lo, struct context *cx, const struct tp_insn *insn)
{
    if (cx->ev->op == TP_EV_INITIAL)
        return placed(lo, cx->ev, tp_builder_initial_heap(lo->builder, insn, cx->err), cx->err);
    int rc = lo->heap.given ? TP_OK : give_heap(lo, NULL, cx->err);
    if (rc != TP_OK)
        return rc;
    rc = tp_builder_add(lo->builder, insn, lo->count ? lo->count : 1, cx->err);
    return placed(lo, cx->ev, rc, cx->err);
}

/* Emits an instruction with its gap, and IDLE instructions if the gap is too long for it. */
static int emit(struct tp_lower *lo, struct context *cx, struct tp_insn insn)
{
    uint64_t gap = lo->now_ns - lo->emitted_ns;
    int rc = resolve_thread(lo, cx);
    for (; rc == TP_OK && gap > UINT32_MAX; gap -= UINT32_MAX) {
        const struct tp_insn idle = {.op = TP_IDLE, .gap_ns = UINT32_MAX};
        rc = add(lo, cx, &idle);
    }
    uint64_t pool = tp_pool_number(cx->ev->pool[0], cx->ev->pool[1]);
    const struct tp_insn chosen = {
        .op = TP_POOL, .thread = cx->thread, .device = insn.device, .size = pool};
    if (rc == TP_OK && pool && insn.op == TP_ALLOC && cx->ev->op != TP_EV_INITIAL)
        rc = add(lo, cx, &chosen);
    if (rc != TP_OK)
        return rc;
    insn.thread = cx->thread;
    insn.gap_ns = (uint32_t)gap;
    lo->emitted_ns = lo->now_ns;
    return add(lo, cx, &insn);
}

/* An instruction on a live object, on the event's stream if it names one, else on the object's. */
static struct tp_insn on_object(const struct tp_lower *lo, const struct context *cx, uint32_t slot,
                                enum tp_op op)
{
    const struct tp_live_slot *object = tp_builder_object(lo->builder, slot);
    return (struct tp_insn){.op = (uint8_t)op,
                            .slot = slot,
                            .stream = cx->ev->has_stream ? cx->stream : object->stream,
                            .device = object->device};
}

/* ---- objects ---- */

static int check_size(const struct tp_lower *lo, const struct context *cx, uint64_t size)
{
    if (size <= TP_MAX_SIZE)
        return TP_OK;
    return refuse(lo, cx->ev, cx->err, " %s %s bytes; the limit is 2^48", tp_event_verb(cx->ev->op),
                  tp_count(size).s);
}

/* The alignment of the event, or `otherwise`. */
static int take_align(const struct tp_lower *lo, const struct context *cx, uint8_t otherwise,
                      uint8_t *align_log2)
{
    uint64_t align = cx->ev->align;
    *align_log2 = otherwise;
    if (!cx->ev->has_align)
        return TP_OK;
    if (align == 0 || (align & (align - 1)) != 0 || align > UINT64_C(1) << TP_MAX_ALIGN_LOG2)
        return refuse(lo, cx->ev, cx->err,
                      ": align is %" PRIu64 ": not a power of two from 1 to 2^%d", align,
                      TP_MAX_ALIGN_LOG2);
    *align_log2 = (uint8_t)__builtin_ctzll(align);
    return TP_OK;
}

/* Makes an id known that has no object in the program. */
static int know(struct tp_lower *lo, struct context *cx, uint32_t slot)
{
    return placed(lo, cx->ev, tp_id_map_put(&lo->objects.ids, cx->ev->id, slot, cx->err), cx->err);
}

/* Makes the object of an alloc or adopt, with an id that is not in the map. */
static int create(struct tp_lower *lo, struct context *cx, enum tp_op op)
{
    const struct tp_event *ev = cx->ev;
    uint32_t slot = TP_NO_SLOT;
    uint8_t align_log2 = 0;
    uint8_t otherwise = tp_usual_align_log2(lo->kind);
    int rc = check_size(lo, cx, ev->size);
    if (rc == TP_OK)
        rc = take_align(lo, cx, otherwise, &align_log2);
    if (rc == TP_OK && ev->size == 0)
        rc = dirty(lo, ev, TP_REPAIR_ZERO_SIZE, cx->err, " %s 0 bytes (id %" PRId64 ")",
                   tp_event_verb(ev->op), ev->id);
    if (rc != TP_OK)
        return rc;
    if (ev->size == 0 && lo->kind == TP_KIND_DEVICE)
        return know(lo, cx, TP_NO_SLOT);
    rc = tp_objects_add(&lo->objects, ev->id, cx->device, &slot, cx->err);
    if (rc != TP_OK)
        return placed(lo, ev, rc, cx->err);
    lo->objects.records[slot].event = lo->count;
    lo->objects.records[slot].line = ev->line;
    return emit(lo, cx,
                (struct tp_insn){.op = (uint8_t)op,
                                 .align_log2 = align_log2,
                                 .stream = cx->stream,
                                 .device = cx->device,
                                 .slot = slot,
                                 .size = ev->size ? ev->size : 1});
}

/* Drops one reference: emits FREE for the last one, else RELEASE. */
static int drop_one(struct tp_lower *lo, struct context *cx, struct tp_id_entry *entry)
{
    uint32_t slot = entry->index;
    bool last = --entry->refs == 0;
    if (last) {
        entry->refs = 1; /* the map removes only entries in use */
        if (!tp_has_slot(slot)) {
            tp_objects_remove(&lo->objects, entry, 0);
            return TP_OK;
        }
        struct tp_insn insn = on_object(lo, cx, slot, TP_FREE);
        const struct tp_live_slot *object = tp_builder_object(lo->builder, slot);
        insn.size = tp_live_size(object);
        insn.align_log2 = tp_live_align_log2(object);
        tp_objects_remove(&lo->objects, entry, object->device);
        return emit(lo, cx, insn);
    }
    return tp_has_slot(slot) ? emit(lo, cx, on_object(lo, cx, slot, TP_RELEASE)) : TP_OK;
}

/* Handles an alloc of a live id: drops the old object with all its references. */
static int replace_old(struct tp_lower *lo, struct context *cx, struct tp_id_entry *entry)
{
    if (tp_has_slot(entry->index)) {
        const struct tp_object *old = &lo->objects.records[entry->index];
        char line[64] = "";
        if (old->line > 0)
            snprintf(line, sizeof line, " (line %" PRIu64 ")", old->line);
        int rc = dirty(lo, cx->ev, TP_REPAIR_DOUBLE_ALLOC, cx->err,
                       " %s id %" PRId64 ", which is live since event %s%s",
                       tp_event_verb(cx->ev->op), cx->ev->id, tp_count(old->event).s, line);
        if (rc != TP_OK)
            return rc;
    }
    /* the old object is freed on its own stream; the event's is for the new one */
    struct tp_event quiet = *cx->ev;
    struct context own = *cx;
    quiet.has_stream = false;
    own.ev = &quiet;
    for (uint32_t left = entry->refs; left > 0; left--) {
        int rc = drop_one(lo, &own, entry);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}

/* An object that was live at the start goes to the initial heap, or only its id becomes known. */
static int on_initial(struct tp_lower *lo, struct context *cx)
{
    if (tp_id_map_find(&lo->objects.ids, cx->ev->id))
        return refuse(lo, cx->ev, cx->err, ": id %" PRId64 " is there twice", cx->ev->id);
    uint64_t size = 0;
    if (!lo->cfg.drop_initial) {
        int rc = create(lo, cx, TP_ALLOC);
        bool there = rc == TP_OK && tp_lower_live(lo, cx->ev->id, &size);
        return there ? tp_lower_heap_block(&lo->heap, cx->ev, size, cx->err) : rc;
    }
    lo->dropped++;
    return know(lo, cx, TP_LEFT_OUT);
}

static int on_new(struct tp_lower *lo, struct context *cx)
{
    struct tp_id_entry *entry = tp_id_map_find(&lo->objects.ids, cx->ev->id);
    int rc = entry ? replace_old(lo, cx, entry) : TP_OK;
    return rc == TP_OK ? create(lo, cx, tp_event_asks(cx->ev->op)) : rc;
}

/* Finds the object of an event. *entry is NULL if the event must be dropped. */
static int find_live(struct tp_lower *lo, struct context *cx, enum tp_repair repair,
                     struct tp_id_entry **entry)
{
    *entry = tp_id_map_find(&lo->objects.ids, cx->ev->id);
    if (*entry)
        return TP_OK;
    return dirty(lo, cx->ev, repair, cx->err, " %s id %" PRId64 ", which is not live",
                 tp_event_verb(cx->ev->op), cx->ev->id);
}

static int on_free(struct tp_lower *lo, struct context *cx)
{
    struct tp_id_entry *entry = NULL;
    int rc = find_live(lo, cx, TP_REPAIR_UNKNOWN_FREE, &entry);
    return rc == TP_OK && entry ? drop_one(lo, cx, entry) : rc;
}

/* An operation on a live object that leaves its size as it is. */
static int on_live(struct tp_lower *lo, struct context *cx)
{
    struct tp_id_entry *entry = NULL;
    int rc = find_live(lo, cx, TP_REPAIR_UNKNOWN_FREE, &entry);
    if (rc != TP_OK || !entry)
        return rc;
    bool retains = cx->ev->op == TP_EV_RETAIN;
    if (retains && entry->refs == UINT32_MAX)
        return refuse(lo, cx->ev, cx->err, ": id %" PRId64 " has too many references", cx->ev->id);
    entry->refs += retains;
    if (!tp_has_slot(entry->index))
        return TP_OK;
    return emit(lo, cx, on_object(lo, cx, entry->index, tp_event_asks(cx->ev->op)));
}

static int resize(struct tp_lower *lo, struct context *cx, uint32_t slot)
{
    uint8_t had = tp_live_align_log2(tp_builder_object(lo->builder, slot));
    struct tp_insn insn = on_object(lo, cx, slot, TP_REALLOC);
    insn.size = cx->ev->size;
    int rc = check_size(lo, cx, insn.size);
    if (rc == TP_OK)
        rc = take_align(lo, cx, had, &insn.align_log2);
    return rc == TP_OK ? emit(lo, cx, insn) : rc;
}

static int on_realloc(struct tp_lower *lo, struct context *cx)
{
    struct tp_id_entry *entry = tp_id_map_find(&lo->objects.ids, cx->ev->id);
    if (entry && entry->index == TP_LEFT_OUT)
        return cx->ev->size ? TP_OK : drop_one(lo, cx, entry);
    if (cx->ev->size == 0) {
        int rc = dirty(lo, cx->ev, TP_REPAIR_REALLOC_ZERO, cx->err, " %s id %" PRId64 " to 0 bytes",
                       tp_event_verb(cx->ev->op), cx->ev->id);
        return rc == TP_OK ? on_free(lo, cx) : rc;
    }
    int rc = find_live(lo, cx, TP_REPAIR_REALLOC_UNKNOWN, &entry);
    if (rc != TP_OK)
        return rc;
    if (entry && tp_has_slot(entry->index))
        return resize(lo, cx, entry->index);
    if (entry)
        tp_objects_remove(&lo->objects, entry, 0);
    return create(lo, cx, TP_ALLOC);
}

/* ---- everything else ---- */

/* An operation on the device of the event's stream, or on all devices if it names none. */
static int on_devices(struct tp_lower *lo, struct context *cx)
{
    const struct tp_event *ev = cx->ev;
    uint32_t devices = (uint32_t)lo->streams.devices.used;
    uint16_t unnamed = devices > 1 ? TP_ALL_DEVICES : 0;
    struct tp_insn insn = {.op = (uint8_t)ev->op, .device = ev->has_stream ? cx->device : unnamed};
    if (tp_op_is(insn.op, TP_HAS_STREAM))
        insn.stream = ev->has_stream ? cx->stream : TP_ALL_STREAMS;
    if (tp_op_is(insn.op, TP_HAS_SIZE) && ev->has_size)
        insn.size = ev->size;
    if (insn.size > TP_MAX_SIZE)
        return refuse(lo, ev, cx->err, " %s to %s bytes; the limit is 2^48", tp_event_verb(ev->op),
                      tp_count(insn.size).s);
    for (uint32_t d = tp_insn_first_device(&insn);
         insn.op == TP_RESET && d < tp_insn_end_device(&insn, devices); d++)
        tp_objects_reset(&lo->objects, (uint16_t)d);
    return emit(lo, cx, insn);
}

static int emit_note(struct tp_lower *lo, struct context *cx, enum tp_note note, uint64_t bytes)
{
    int rc = check_size(lo, cx, bytes);
    if (rc != TP_OK)
        return rc;
    return emit(lo, cx,
                (struct tp_insn){.op = TP_NOTE,
                                 .align_log2 = (uint8_t)note,
                                 .stream = cx->stream,
                                 .device = cx->device,
                                 .size = bytes});
}

/* The stream and the device are those of the event if it names a stream, else the object's. */
static int note_object(struct tp_lower *lo, struct context *cx)
{
    const struct tp_id_entry *entry = tp_id_map_find(&lo->objects.ids, cx->ev->id);
    if (!entry || !tp_has_slot(entry->index))
        return TP_OK;
    int rc = check_size(lo, cx, cx->ev->size);
    if (rc != TP_OK)
        return rc;
    struct tp_insn insn = on_object(lo, cx, entry->index, TP_NOTE);
    insn.align_log2 = (uint8_t)cx->ev->note;
    insn.size = cx->ev->size;
    if (cx->ev->has_stream)
        insn.device = cx->device;
    return emit(lo, cx, insn);
}

/* Repeats a failed request and frees it: see failed_request.h. Not in host traces, where a request
 * fails by a process limit or a wrong length and not by the size of a device. */
static int replay_failed(struct tp_lower *lo, struct context *cx)
{
    struct tp_insn insn = {.op = TP_ALLOC,
                           .align_log2 = tp_usual_align_log2(lo->kind),
                           .stream = cx->stream,
                           .device = cx->device,
                           .size = cx->ev->size};
    if (lo->kind == TP_KIND_HOST || insn.size == 0)
        return TP_OK;
    int rc = tp_objects_take_slot(&lo->objects, &insn.slot, cx->err);
    if (rc != TP_OK)
        return placed(lo, cx->ev, rc, cx->err);
    rc = emit(lo, cx, insn);
    insn.op = TP_FREE;
    tp_objects_give_slot(&lo->objects, insn.slot);
    return rc == TP_OK ? emit(lo, cx, insn) : rc;
}

static int on_note(struct tp_lower *lo, struct context *cx)
{
    const struct tp_event *ev = cx->ev;
    if (ev->note == TP_NOTE_FREE_REQUESTED)
        return note_object(lo, cx);
    uint64_t value = 0;
    enum tp_note more = tp_event_more(ev, &value);
    int rc = emit_note(lo, cx, ev->note, ev->size);
    if (rc == TP_OK && more != TP_NOTE_OTHER)
        rc = emit_note(lo, cx, more, value);
    return rc == TP_OK && ev->note == TP_NOTE_OOM ? replay_failed(lo, cx) : rc;
}

static int on_thread_end(struct tp_lower *lo, struct context *cx)
{
    int rc = emit(lo, cx, (struct tp_insn){.op = TP_THREAD_END});
    return rc == TP_OK ? tp_threads_end(&lo->threads, cx->ev->thread, cx->err) : rc;
}

static int on_mark(struct tp_lower *lo, struct context *cx)
{
    char name[256];
    uint32_t index = 0;
    tp_clean_text(cx->ev->name, name, sizeof name);
    int rc = tp_builder_mark(lo->builder, name, &index, cx->err);
    if (rc != TP_OK)
        return placed(lo, cx->ev, rc, cx->err);
    return emit(lo, cx, (struct tp_insn){.op = TP_MARK, .slot = index});
}

/* Counts the next event. TP_ESTOP: the event limit is reached. */
static int count_event(struct tp_lower *lo, struct tp_err *err)
{
    int rc = begin(lo, err);
    if (rc != TP_OK)
        return rc;
    if (lo->cfg.event_limit && lo->count == lo->cfg.event_limit)
        return TP_ESTOP;
    lo->count++;
    return TP_OK;
}

static int begin_initial(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err)
{
    if (lo->count > 0 || lo->heap.given)
        return refuse(lo, ev, err, ": what was live at the start comes after other events");
    return begin(lo, err);
}

/* A file of a few bytes must not fill a disk, so the program's bytes have the limit of unpacked
 * bytes. */
static int check_spool(const struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err)
{
    uint64_t bytes = lo->builder ? tp_builder_program_bytes(lo->builder) : 0;
    if (!lo->cfg.input || !tp_input_is_bomb(lo->cfg.input, bytes))
        return TP_OK;
    int rc = refuse(lo, ev, err, ": a program of more than %s from %s of file",
                    tp_bytes(bytes, false).s, tp_bytes(tp_input_taken(lo->cfg.input), false).s);
    return tp_hint(err, rc, "--max-memory=SIZE reads on; TMPDIR must have as much room");
}

/* Checks that are made only every few thousand events. */
static int look_up(const struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err)
{
    int rc = lo->cfg.stop ? lo->cfg.stop(err) : TP_OK;
    return rc == TP_OK ? check_spool(lo, ev, err) : rc;
}

int tp_lower_event(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err)
{
    static int (*const handlers[TP_EV_COUNT])(struct tp_lower *, struct context *) = {
        [TP_EV_ALLOC] = on_new,       [TP_EV_FREE] = on_free,
        [TP_EV_REALLOC] = on_realloc, [TP_EV_RETAIN] = on_live,
        [TP_EV_ADOPT] = on_new,       [TP_EV_USE] = on_live,
        [TP_EV_SYNC] = on_devices,    [TP_EV_RESET] = on_devices,
        [TP_EV_TRIM] = on_devices,    [TP_EV_THREAD_END] = on_thread_end,
        [TP_EV_MARK] = on_mark,       [TP_EV_NOTE] = on_note,
        [TP_EV_INITIAL] = on_initial,
    };
    assert((unsigned)ev->op < TP_EV_COUNT && handlers[ev->op]);
    struct context cx = {.ev = ev, .err = err};
    int stop = ++lo->unasked % ASK_AFTER == 0 ? look_up(lo, ev, err) : TP_OK;
    if (__builtin_expect(stop != TP_OK, 0))
        return stop;
    int rc;
    if (ev->op == TP_EV_INITIAL)
        rc = begin_initial(lo, ev, err);
    else
        rc = ev->uncounted ? begin(lo, err) : count_event(lo, err);
    if (rc == TP_OK && ev->op != TP_EV_INITIAL)
        rc = take_time(lo, ev, err);
    if (rc == TP_OK)
        rc = resolve(lo, &cx);
    return rc == TP_OK ? handlers[ev->op](lo, &cx) : rc;
}

int tp_lower_skip(struct tp_lower *lo, struct tp_err *err)
{
    return count_event(lo, err);
}

int tp_lower_skip_many(struct tp_lower *lo, uint64_t count, struct tp_err *err)
{
    int rc = begin(lo, err);
    uint64_t left = lo->cfg.event_limit ? lo->cfg.event_limit - lo->count : UINT64_MAX - lo->count;
    if (rc != TP_OK)
        return rc;
    lo->count += count < left ? count : left;
    return count > left ? TP_ESTOP : TP_OK;
}

int tp_lower_repaired(struct tp_lower *lo, const struct tp_event *ev, enum tp_repair kind,
                      const char *text, struct tp_err *err)
{
    lo->count++; /* the message names the next event */
    int rc = dirty(lo, ev, kind, err, "%s", text);
    lo->count--;
    return rc;
}

void tp_lower_add_repairs(struct tp_lower *lo, const uint64_t *counts)
{
    for (size_t i = 0; i < TP_REPAIR_COUNT; i++)
        lo->repairs[i] += counts[i];
}

bool tp_lower_live(const struct tp_lower *lo, int64_t id, uint64_t *size)
{
    const struct tp_id_entry *entry = tp_id_map_find(&lo->objects.ids, id);
    if (!entry || !tp_has_slot(entry->index))
        return false;
    *size = tp_live_size(tp_builder_object(lo->builder, entry->index));
    return true;
}

int tp_lower_finish(struct tp_lower *lo, struct tp_program **program, uint64_t *repairs,
                    struct tp_err *err)
{
    uint8_t digest[TP_HASH_SIZE];
    int rc = begin(lo, err);
    if (rc != TP_OK)
        return rc;
    rc = give_heap(lo, NULL, err);
    if (rc != TP_OK)
        return rc;
    tp_builder_flush(lo->builder);
    tp_hash_finish(lo->hash, digest);
    struct tp_builder_end end = {.events = lo->count, /* 0: the trace has no counted events */
                                 .time_known = lo->count > 0 && !lo->some_without_time,
                                 .recorded_threads = lo->threads.recorded,
                                 .streams = (uint32_t)lo->streams.streams.used,
                                 .devices = (uint16_t)lo->streams.devices.used,
                                 .hash = digest};
    struct tp_builder *builder = lo->builder;
    lo->builder = NULL;
    rc = tp_builder_finish(builder, &end, program, err);
    if (rc == TP_OK)
        memcpy(repairs, lo->repairs, sizeof lo->repairs);
    return rc;
}
