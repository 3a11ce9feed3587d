/* Turns instructions back into events.
 *
 *     window --> instruction --> pending one --> event --> sink
 *
 * One event may have become several instructions: before an allocation comes its pool, behind a
 * note of a segment its address, behind one of out of memory come the free bytes and the failed
 * request, and in older files a sync or a reset of everything is one instruction per device. So
 * each instruction waits until the next one shows whether both belong to one event. Known weakness:
 * an event that freed one object and made another, which only a repair does, comes back as two
 * events. */
#include "traces/lower/unlower.h"

#include "alloc/program/live.h"
#include "traces/lower/failed_request.h"

#include <stdlib.h>
#include <string.h>

struct pending {
    struct tp_insn insn;
    uint64_t event, time;
    uint64_t pool;         /* tp_pool_number, of an ALLOC */
    bool there, all;       /* `all`: the event concerns every device */
    enum tp_note more;     /* the kind of the note that follows it; TP_NOTE_OTHER: none */
    uint64_t value;        /* what that one says */
    bool asked;            /* the failed request of an out-of-memory note began and has not ended */
    struct tp_insn asking; /* the ALLOC of that request */
};

struct walk {
    struct tp_program *program;
    const struct tp_program_facts *facts;
    const struct tp_unlower_cfg *cfg;
    const struct tp_event_sink *sink;
    struct tp_err *err;
    /* Live objects. Inside the piece only changes of size are followed: `link` counts the extra
     * references that were taken before it. */
    struct tp_live live;
    uint16_t *stream_of; /* first stream of each device */
    struct pending pending;
    uint64_t pool; /* of the allocation that comes next; 0: that of all others */
    struct tp_failed_request failed;
    struct tp_place_cursor places;
    uint64_t time, start; /* ns of the current instruction; ns at which the times of events begin */
    uint64_t given;       /* number of the event that was given last */
    uint64_t timed;       /* ns of the event that was given last */
    uint8_t usual_align;
    bool begun; /* `first` is reached */
};

static bool names_stream(const struct tp_insn *in)
{
    return tp_op_is(in->op, TP_HAS_STREAM) && in->stream != TP_ALL_STREAMS;
}

/* ---- streams ---- */

/* Whether an instruction tells the device of its stream. One on a live object does not: it has the
 * device of the object, whatever its stream is. */
static bool tells_device(const struct tp_insn *in)
{
    return names_stream(in) && !tp_op_is(in->op, TP_IS_LIVE);
}

/* A stream may be that of an idle segment alone. */
static void note_heap(const struct tp_heap *heap, uint16_t *device_of, bool *used)
{
    for (uint64_t i = 0; heap && i < heap->segment_count; i++) {
        device_of[heap->segments[i].stream] = heap->segments[i].device;
        used[heap->segments[i].device] = true;
    }
}

static void note_streams(const struct tp_window *w, uint16_t *device_of, bool *used)
{
    for (uint32_t i = 0; i < w->count; i++) {
        const struct tp_insn *in = &w->insns[i];
        if (tells_device(in))
            device_of[in->stream] = in->device;
        if (in->device != TP_ALL_DEVICES)
            used[in->device] = true;
    }
}

/* Assigns devices to streams that no instruction names. Devices are numbered by their first stream,
 * so such a stream takes the next device that would otherwise be missing. */
static void fill_streams(const struct tp_program_facts *f, uint16_t *device_of, const bool *used)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < f->streams; i++) {
        if (device_of[i] == TP_ALL_STREAMS)
            device_of[i] = (uint16_t)(next < f->devices && !used[next] ? next : 0);
        if (device_of[i] == next)
            next++;
    }
}

int tp_unlower_streams(struct tp_program *p, uint16_t *device_of, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(p);
    bool used[TP_MAX_DEVICES] = {false};
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    for (uint32_t i = 0; i < f->streams; i++)
        device_of[i] = TP_ALL_STREAMS;
    if (f->streams == 1) {
        device_of[0] = 0;
        return TP_OK;
    }
    note_heap(tp_program_heap(p), device_of, used);
    int rc = tp_cursor_open(p, &cursor, err), more = 0;
    while (rc == TP_OK && (more = tp_cursor_next(cursor, &w, err)) == 1)
        note_streams(&w, device_of, used);
    tp_cursor_close(cursor);
    if (rc != TP_OK || more < 0)
        return rc != TP_OK ? rc : -more;
    fill_streams(f, device_of, used);
    return TP_OK;
}

/* ---- events ---- */

/* Skips the numbers between the last event and this one, which have no instructions. */
static int skip_numbers(struct walk *k, uint64_t event)
{
    if (!k->cfg->numbers || k->given + 1 >= event)
        return TP_OK;
    uint64_t count = event - k->given - 1;
    k->given += count;
    return k->cfg->skip(k->sink->ctx, count, k->err);
}

static void set_place(const struct walk *k, const struct pending *p, struct tp_event *ev)
{
    const struct tp_insn *in = &p->insn;
    bool several = k->facts->streams > 1;
    ev->has_stream = names_stream(in) && (several || tp_op_is(in->op, TP_NEEDS_STREAM));
    ev->stream = in->stream;
    if (k->facts->devices > 1 && tp_op_is(in->op, TP_OF_ALL) && !tp_op_is(in->op, TP_HAS_STREAM) &&
        !p->all) {
        ev->has_stream = true;
        ev->stream = k->stream_of[in->device];
    }
    ev->has_time = k->facts->time_known || p->time != k->timed;
    ev->time_ns = p->time - k->start;
    ev->thread = in->thread;
}

static void set_object(struct walk *k, const struct tp_insn *in, struct tp_event *ev)
{
    ev->id = in->slot;
    ev->has_size = tp_op_is(in->op, TP_ASKS);
    uint8_t usual =
        tp_op_is(in->op, TP_IS_NEW) ? k->usual_align : tp_live_align_log2(&k->live.slots[in->slot]);
    if (!ev->has_size)
        return;
    ev->has_align = in->align_log2 != usual;
    ev->align = UINT64_C(1) << in->align_log2;
}

/* Sets the code place of an event. A mark has none, because it shares the number of another
 * event. */
static int set_code_place(struct walk *k, const struct pending *p, struct tp_event *ev)
{
    const struct tp_place_item *item = NULL;
    int rc = tp_place_cursor_look(&k->places, p->event, &item, k->err);
    if (rc != TP_OK || !item || item->event != p->event || ev->op == TP_EV_MARK)
        return rc;
    ev->place = tp_place_table_get(k->places.table, item->text);
    ev->place_bytes = strlen(ev->place);
    return TP_OK;
}

static int give(struct walk *k, struct pending *p)
{
    const struct tp_insn *in = &p->insn;
    struct tp_event ev = {.op = tp_event_of((enum tp_op)in->op), .size = in->size};
    int rc = skip_numbers(k, p->event);
    if (rc == TP_OK)
        rc = set_code_place(k, p, &ev);
    if (rc != TP_OK)
        return rc;
    set_place(k, p, &ev);
    if (tp_op_is(in->op, TP_IS_NEW | TP_IS_LIVE))
        set_object(k, in, &ev);
    else
        ev.has_size = tp_op_is(in->op, TP_HAS_SIZE) && in->size > 0;
    if (tp_op_is(in->op, TP_HAS_NAME))
        ev.name = tp_program_mark(k->program, in->slot);
    if (tp_op_is(in->op, TP_HAS_NOTE)) {
        ev.note = (enum tp_note)in->align_log2;
        ev.id = in->slot;
        tp_event_set_more(&ev, p->more, p->value);
    }
    ev.pool[0] = tp_pool_first(p->pool);
    ev.pool[1] = tp_pool_second(p->pool);
    ev.number = p->event;
    ev.uncounted = k->cfg->numbers && p->event == k->given;
    k->given = p->event;
    k->timed = p->time;
    return k->sink->event(k->sink->ctx, &ev, k->err);
}

/* ---- instructions ---- */

static void keep_object(struct walk *k, const struct tp_insn *in)
{
    if (tp_op_is(in->op, TP_IS_NEW | TP_IS_LIVE) && tp_op_is(in->op, TP_HAS_SIZE))
        tp_live_apply(&k->live, in, k->facts->devices);
}

/* Whether this instruction belongs to the same event as the pending one. */
static bool joins(struct pending *p, const struct tp_insn *in, uint64_t event,
                  enum tp_failed_part part)
{
    if (!p->there || p->event != event)
        return false;
    if (part != TP_FAILED_NONE) {
        p->asked = part == TP_FAILED_ALLOC;
        p->asking = *in;
        return true;
    }
    struct tp_event note = {.note = (enum tp_note)p->insn.align_log2};
    if (in->op == TP_NOTE && p->insn.op == TP_NOTE && p->more == TP_NOTE_OTHER &&
        tp_event_set_more(&note, (enum tp_note)in->align_log2, in->size)) {
        p->more = (enum tp_note)in->align_log2;
        p->value = in->size;
        return true;
    }
    /* files of earlier versions have one instruction for each device */
    if (!tp_insn_may_be_of_all(in) || in->device == TP_ALL_DEVICES || p->insn.op != in->op ||
        p->insn.size != in->size || in->gap_ns || in->device != p->insn.device + 1)
        return false;
    p->insn.device = in->device;
    p->all = true;
    return true;
}

static int flush(struct walk *k)
{
    struct pending *p = &k->pending;
    int rc = p->there ? give(k, p) : TP_OK;
    if (p->there)
        keep_object(k, &p->insn);
    p->there = false;
    if (rc != TP_OK || !p->asked)
        return rc;
    p->asked = false; /* its FREE did not follow, so it is an ordinary allocation */
    p->insn = p->asking;
    rc = give(k, p);
    keep_object(k, &p->insn);
    return rc;
}

static bool is_wanted(const struct walk *k, const struct tp_insn *in)
{
    return tp_op_rows[in->op].rank && !(k->cfg->strip && (in->op == TP_MARK || in->op == TP_NOTE));
}

/* Gives an object that is live at the beginning of the piece. */
static int give_initial(struct walk *k, uint32_t slot)
{
    const struct tp_live_slot *s = &k->live.slots[slot];
    const struct tp_heap *heap = k->cfg->first > 1 ? NULL : tp_program_heap(k->program);
    const struct tp_heap_block *block = heap ? &heap->blocks[slot] : &(struct tp_heap_block){0};
    const struct tp_event ev = {.op = TP_EV_INITIAL,
                                .has_at = heap,
                                .at = block->at,
                                .bytes = block->bytes,
                                .behind = block->behind,
                                .id = slot,
                                .has_size = true,
                                .size = tp_live_size(s),
                                .has_align = tp_live_align_log2(s) != k->usual_align,
                                .align = UINT64_C(1) << tp_live_align_log2(s),
                                .has_stream = k->facts->streams > 1,
                                .stream = s->stream};
    return k->sink->event(k->sink->ctx, &ev, k->err);
}

static int begin_piece(struct walk *k)
{
    int rc = TP_OK;
    k->begun = true;
    k->start = k->timed = k->cfg->first > 1 ? k->time : 0;
    for (uint32_t slot = 0; rc == TP_OK && slot < k->facts->slots; slot++) {
        if (tp_live_is(&k->live, &k->live.slots[slot]))
            rc = give_initial(k, slot);
    }
    return rc;
}

static int on_insn(struct walk *k, const struct tp_window *w, uint32_t i)
{
    const struct tp_insn *in = &w->insns[i];
    uint64_t event = tp_window_event(w, i);
    k->time += in->gap_ns;
    if (w->initial_heap || event < k->cfg->first) {
        tp_live_apply(&k->live, in, k->facts->devices);
        return TP_OK;
    }
    int rc = k->begun ? TP_OK : begin_piece(k);
    if (in->op == TP_POOL)
        k->pool = in->size;
    if (rc != TP_OK || !is_wanted(k, in))
        return rc;
    uint64_t pool = k->pool;
    k->pool = 0;
    if (joins(&k->pending, in, event, tp_failed_request_next(&k->failed, in, event))) {
        k->pending.pool |= pool;
        return rc;
    }
    if (in->op == TP_RELEASE && k->live.slots[in->slot].link) {
        /* a reference from before the piece, where the object begins with one */
        k->live.slots[in->slot].link--;
        return TP_OK;
    }
    rc = flush(k);
    k->pending = (struct pending){.insn = *in,
                                  .event = event,
                                  .time = k->time,
                                  .pool = in->op == TP_ALLOC ? pool : 0,
                                  .there = true,
                                  .all = in->device == TP_ALL_DEVICES};
    return rc;
}

static int walk_program(struct walk *k)
{
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    int rc = tp_cursor_open(k->program, &cursor, k->err), more = 0;
    bool over = false;
    while (rc == TP_OK && !over && (more = tp_cursor_next(cursor, &w, k->err)) == 1) {
        for (uint32_t i = 0; rc == TP_OK && !over && i < w.count; i++) {
            over = k->cfg->last && tp_window_event(&w, i) > k->cfg->last;
            rc = over ? TP_OK : on_insn(k, &w, i);
        }
    }
    tp_cursor_close(cursor);
    if (rc == TP_OK && more < 0)
        rc = -more;
    if (rc == TP_OK && !k->begun)
        rc = begin_piece(k);
    if (rc == TP_OK)
        rc = flush(k);
    uint64_t end = over ? k->cfg->last : k->facts->events;
    return rc == TP_OK ? skip_numbers(k, end + 1) : rc;
}

int tp_unlower(struct tp_program *p, const struct tp_unlower_cfg *cfg,
               const struct tp_event_sink *sink, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(p);
    uint16_t stream_of[TP_MAX_DEVICES] = {0};
    struct walk k = {.program = p,
                     .facts = f,
                     .cfg = cfg,
                     .sink = sink,
                     .err = err,
                     .stream_of = stream_of,
                     .places = {.table = cfg->places},
                     .given = cfg->first ? cfg->first - 1 : 0,
                     .usual_align = tp_usual_align_log2((enum tp_kind)f->kind)};
    uint16_t *device_of = calloc(f->streams, sizeof *device_of);
    k.live.slots = calloc(f->slots ? f->slots : 1, sizeof *k.live.slots);
    int rc = device_of && k.live.slots ? tp_unlower_streams(p, device_of, err)
                                       : tp_fail(err, TP_ENOMEM, "out of memory for live objects");
    for (uint32_t i = rc == TP_OK ? f->streams : 0; i-- > 0;)
        stream_of[device_of[i]] = (uint16_t)i;
    if (rc == TP_OK)
        rc = walk_program(&k);
    free(k.live.slots);
    free(device_of);
    return rc;
}

/* ---- lowering once more ---- */

static int lower_skip(void *ctx, uint64_t count, struct tp_err *err)
{
    return tp_lower_skip_many(ctx, count, err);
}

int tp_relower_begin(struct tp_program *p, bool heap, struct tp_lower *lo, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(p);
    const struct tp_heap *own = heap ? tp_program_heap(p) : NULL;
    uint16_t *device_of = calloc(f->streams, sizeof *device_of);
    int rc = device_of ? tp_unlower_streams(p, device_of, err)
                       : tp_fail(err, TP_ENOMEM, "out of memory for the streams");
    if (rc == TP_OK)
        rc = tp_lower_kind(lo, (enum tp_kind)f->kind, err);
    for (uint32_t i = 0; rc == TP_OK && i < f->streams; i++)
        rc = tp_lower_stream(lo, i, device_of[i], err);
    for (uint64_t i = 0; own && rc == TP_OK && i < own->segment_count; i++)
        rc = tp_lower_segment(lo, own->segments[i].stream, &own->segments[i], err);
    free(device_of);
    return rc;
}

int tp_relower(struct tp_program *p, const struct tp_unlower_cfg *cfg, struct tp_lower *lo,
               struct tp_err *err)
{
    const struct tp_event_sink sink = tp_lower_sink(lo);
    struct tp_unlower_cfg own = *cfg;
    own.skip = lower_skip;
    int rc = tp_relower_begin(p, cfg->first <= 1, lo, err);
    return rc == TP_OK ? tp_unlower(p, &own, &sink, err) : rc;
}
