/* The memory events of a profiler of TensorFlow or JAX become a program (xplane_file.h).
 *
 *     events by allocator --> the heap at the start (xplane_start.h)
 *                        \--> program
 *
 * Each allocator is a memory space. A request's size is the one that was asked for; what the chunk
 * had is known at the start alone. Steps of the program become phases: the ids of steps, each from
 * its first event on. */
#include "alloc/base/id_map.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/formats/xplane/xplane_pool.h"
#include "traces/formats/xplane/xplane_start.h"
#include "traces/input/protobuf.h"
#include "traces/lower/spaces.h"
#include "traces/places/place_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PHASES_MOST = 4096, SAID = 3 };

/* An allocator while its events pass. */
struct xplane_device {
    size_t growth; /* the next region of its start */
    uint64_t pool; /* bytes of all regions */
    uint64_t live; /* bytes requested and not freed */
    /* the trace peak: bytes, its event in the program, 0: before the first, and the pool there */
    uint64_t most, peak, peak_pool;
    const struct tp_xplane_event *at_peak;
};

struct xplane_lowering {
    struct tp_xplane *x;
    const struct tp_reading *reading;
    uint32_t *chosen; /* allocators that are lowered, in the order of devices */
    struct tp_xplane_start *starts;
    struct xplane_device *devices;
    uint32_t *dense; /* index among the chosen, by allocator */
    uint32_t count;
    int64_t begin_ps;
    struct tp_id_map steps;
};

/* ---- memory spaces ---- */

static enum tp_kind kind_of(const struct tp_xplane_allocator *a)
{
    return tp_xplane_is_host(a) ? TP_KIND_HOST : TP_KIND_DEVICE;
}

static uint64_t asked_of(const struct tp_xplane *x, const struct tp_xplane_allocator *a)
{
    uint64_t sum = 0;
    for (size_t i = a->first; i < a->first + a->count; i++)
        if (!x->events[i].frees && __builtin_add_overflow(sum, x->events[i].requested, &sum))
            return UINT64_MAX;
    return sum;
}

static int choose_spaces(struct xplane_lowering *l, struct tp_err *err)
{
    const struct tp_xplane *x = l->x;
    struct tp_spaces *spaces = NULL;
    int rc = tp_spaces_new(l->reading, &spaces, err);
    for (uint32_t i = 0; rc == TP_OK && i < x->allocator_count; i++) {
        const struct tp_xplane_allocator *a = &x->allocators[i];
        uint32_t space = 0;
        rc = tp_spaces_define(spaces, a->name, kind_of(a), &space, err);
        if (rc == TP_OK)
            tp_spaces_count_own(spaces, space, a->count, asked_of(x, a));
    }
    if (rc == TP_OK)
        rc = tp_spaces_lower(spaces, err);
    for (uint32_t i = 0; rc == TP_OK && i < x->allocator_count; i++)
        if (tp_spaces_chosen(spaces, i) && x->allocators[i].count) {
            l->dense[i] = l->count;
            l->chosen[l->count++] = i;
        }
    tp_spaces_free(spaces);
    return rc;
}

/* ---- the heap at the start ---- */

static const struct tp_xplane_allocator *allocator(const struct xplane_lowering *l, uint32_t device)
{
    return &l->x->allocators[l->chosen[device]];
}

/* An id for the pair of address and device. Addresses are below 2^56 on all known devices; two that
 * are not meet as one block, which lowering finds. */
static int64_t id_of(uint64_t addr, uint32_t device)
{
    return (int64_t)(addr ^ (uint64_t)device << 56);
}

static int lower_one(struct xplane_lowering *l, struct tp_event *ev, uint32_t device,
                     struct tp_err *err)
{
    ev->has_stream = true;
    int rc = tp_lower_stream_on(l->reading->lower, 0, device, &ev->stream, err);
    rc = tp_event_placed(ev, l->reading->in, rc, err);
    return rc == TP_OK ? tp_lower_event(l->reading->lower, ev, err) : rc;
}

static int lower_block(struct xplane_lowering *l, uint32_t device, uint64_t at, uint64_t requested,
                       uint64_t bytes, struct tp_err *err)
{
    struct tp_event ev = {.op = TP_EV_INITIAL,
                          .has_size = true,
                          .has_at = allocator(l, device)->bfc,
                          .at = at,
                          .bytes = bytes,
                          .id = id_of(at, device),
                          .size = requested};
    return requested ? lower_one(l, &ev, device, err) : TP_OK;
}

/* As tp_xplane_unseen, but free bytes that would wrongly serve a request belong to the block. */
static struct tp_xplane_unseen unseen_of(const struct tp_xplane_start *s)
{
    struct tp_xplane_unseen u = tp_xplane_unseen(s);
    if (!s->would_serve || u.before)
        return u;
    u.region = u.bytes = u.requested ? u.region + u.chunk * u.chunks : 0;
    u.chunks = 0;
    return u;
}

static int lower_blocks(struct xplane_lowering *l, uint32_t device, struct tp_err *err)
{
    const struct tp_xplane_start *s = &l->starts[device];
    const struct tp_xplane_unseen u = unseen_of(s);
    int rc = u.before ? lower_block(l, device, u.at, u.requested, u.bytes, err) : TP_OK;
    for (size_t i = 0; rc == TP_OK && i < s->block_count; i++)
        rc = lower_block(l, device, s->blocks[i].addr, s->blocks[i].requested, s->blocks[i].bytes,
                         err);
    return rc == TP_OK && !u.before ? lower_block(l, device, u.at, u.requested, u.bytes, err) : rc;
}

static int lower_segment(struct xplane_lowering *l, uint32_t device, uint64_t base, uint64_t size,
                         struct tp_err *err)
{
    const struct tp_heap_segment segment = {.base = base, .size = size};
    int64_t stream = 0;
    int rc = tp_lower_stream_on(l->reading->lower, 0, device, &stream, err);
    return rc == TP_OK ? tp_lower_segment(l->reading->lower, stream, &segment, err) : rc;
}

/* Each chunk in a region of its own, so that they do not become one. */
static int lower_unseen(struct xplane_lowering *l, uint32_t device,
                        const struct tp_xplane_unseen *u, struct tp_err *err)
{
    uint64_t at = u->at + u->region;
    int rc = u->region ? lower_segment(l, device, u->at, u->region, err) : TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < u->chunks; i++, at += u->chunk)
        rc = lower_segment(l, device, at, u->chunk, err);
    return rc;
}

static int lower_segments(struct xplane_lowering *l, uint32_t device, struct tp_err *err)
{
    const struct tp_xplane_start *s = &l->starts[device];
    const struct tp_xplane_unseen u = unseen_of(s);
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < s->range_count; i++) {
        uint64_t more = u.before && !i ? u.bytes : 0;
        rc = lower_segment(l, device, s->ranges[i].base - more, s->ranges[i].size + more, err);
    }
    return rc == TP_OK && allocator(l, device)->bfc ? lower_unseen(l, device, &u, err) : rc;
}

/* Where the capture contradicts itself, strategies begin without the heap. */
static int lower_heaps(struct xplane_lowering *l, struct tp_err *err)
{
    char why[TP_ERR_TEXT];
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++)
        rc = lower_blocks(l, i, err);
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++)
        rc = lower_segments(l, i, err);
    if (rc == TP_OK)
        rc = tp_lower_begin(l->reading->lower, why, err);
    if (rc == TP_OK && *why)
        tp_meta_remark(l->reading->meta,
                       "Not replayed: the placement of the blocks at the start (%s).", why);
    return rc;
}

/* ---- events ---- */

static uint64_t since_begin(const struct xplane_lowering *l, int64_t time_ps)
{
    int64_t since = 0;
    if (__builtin_sub_overflow(time_ps, l->begin_ps, &since) || since < 0)
        return 0;
    return (uint64_t)since / 1000;
}

/* A step begins with the first event that has its id. */
static int lower_step(struct xplane_lowering *l, const struct tp_xplane_event *from,
                      struct tp_err *err)
{
    char name[48];
    struct tp_id_entry *entry = NULL;
    if (!from->step || l->steps.used >= PHASES_MOST || tp_id_map_find(&l->steps, from->step))
        return TP_OK;
    snprintf(name, sizeof name, "step %zu", l->steps.used + 1);
    const struct tp_event ev = {.op = TP_EV_MARK,
                                .uncounted = true,
                                .has_time = true,
                                .time_ns = since_begin(l, from->time_ps),
                                .name = name};
    int rc = tp_id_map_need(&l->steps, from->step, 0, &entry, err);
    return rc == TP_OK ? tp_lower_event(l->reading->lower, &ev, err) : rc;
}

/* The regions that were taken before an event was served. */
static int lower_growth(struct xplane_lowering *l, uint32_t device, size_t event,
                        const struct tp_xplane_event *from, struct tp_err *err)
{
    const struct tp_xplane_start *s = &l->starts[device];
    struct xplane_device *d = &l->devices[device];
    int rc = TP_OK;
    for (; rc == TP_OK && d->growth < s->growth_count && s->growths[d->growth].event <= event;
         d->growth++) {
        d->pool += s->growths[d->growth].size;
        struct tp_event ev = {.op = TP_EV_NOTE,
                              .note = TP_NOTE_SEGMENT_ALLOC,
                              .uncounted = true,
                              .has_time = true,
                              .has_size = true,
                              .has_at = true,
                              .has_offset = true,
                              .offset = from->offset,
                              .at = s->growths[d->growth].base,
                              .size = s->growths[d->growth].size,
                              .time_ns = since_begin(l, from->time_ps)};
        rc = lower_one(l, &ev, device, err);
    }
    return rc;
}

static int add_call(struct tp_place_table *to, const char *text, uint32_t *stack,
                    struct tp_err *err)
{
    uint32_t number = TP_NO_PLACE;
    int rc = tp_place_table_text(to, text, strlen(text), &number, err);
    return rc == TP_OK && number != TP_NO_PLACE
               ? tp_place_table_call(to, number, *stack, stack, err)
               : rc;
}

int tp_xplane_place(const struct tp_xplane *x, const struct tp_xplane_event *ev,
                    struct tp_place_table *to, uint32_t *stack, struct tp_err *err)
{
    *stack = 0;
    int rc = TP_OK;
    if (ev->place == TP_NO_TEXT)
        return rc;
    if (ev->scope != TP_NO_TEXT)
        rc = add_call(to, tp_texts_get(&x->texts, ev->scope), stack, err);
    return rc == TP_OK ? add_call(to, tp_texts_get(&x->texts, ev->place), stack, err) : rc;
}

static int add_place(struct xplane_lowering *l, const struct tp_xplane_event *from,
                     struct tp_err *err)
{
    struct tp_place_table *to = NULL;
    uint32_t stack = 0;
    if (from->place == TP_NO_TEXT || from->frees)
        return TP_OK;
    int rc = tp_place_table_of(l->reading->places, &to, err);
    if (rc == TP_OK)
        rc = tp_xplane_place(l->x, from, to, &stack, err);
    return rc == TP_OK
               ? tp_place_table_set_stack(to, tp_lower_count(l->reading->lower) + 1, stack, err)
               : rc;
}

static void follow_peak(struct xplane_device *d, const struct tp_xplane_event *ev, uint64_t number)
{
    if (ev->frees)
        d->live -= ev->requested < d->live ? ev->requested : d->live;
    else
        d->live += ev->requested;
    if (d->live <= d->most)
        return;
    d->most = d->live;
    d->peak = number;
    d->peak_pool = d->pool;
    d->at_peak = ev;
}

static int lower_event(struct xplane_lowering *l, const struct tp_xplane_event *from,
                       struct tp_err *err)
{
    uint32_t device = l->dense[from->allocator];
    size_t number = (size_t)(from - &l->x->events[allocator(l, device)->first]);
    struct tp_event ev = {.op = from->frees ? TP_EV_FREE : TP_EV_ALLOC,
                          .has_time = true,
                          .has_size = true,
                          .has_offset = true,
                          .id = id_of(from->addr, device),
                          .size = from->requested,
                          .thread = from->thread,
                          .time_ns = since_begin(l, from->time_ps),
                          .offset = from->offset};
    int rc = lower_step(l, from, err);
    if (rc == TP_OK && l->starts)
        rc = lower_growth(l, device, number, from, err);
    if (rc == TP_OK)
        rc = add_place(l, from, err);
    if (rc == TP_OK)
        rc = lower_one(l, &ev, device, err);
    if (rc == TP_OK)
        follow_peak(&l->devices[device], from, tp_lower_count(l->reading->lower));
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_xplane_event *const *x = a, *const *y = b;
    if ((*x)->time_ps != (*y)->time_ps)
        return (*x)->time_ps < (*y)->time_ps ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* The events of all chosen allocators by time; those of one stay in their order. */
static int lower_merged(struct xplane_lowering *l, struct tp_err *err)
{
    const struct tp_xplane_event **list = NULL;
    size_t count = 0, room = 0;
    int rc = TP_OK;
    for (uint32_t i = 0; i < l->count; i++)
        count += allocator(l, i)->count;
    rc = TP_READ_GROW(l->reading, &list, &room, count + 1, "memory events", err);
    count = 0;
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++)
        for (size_t k = 0; k < allocator(l, i)->count; k++)
            list[count++] = &l->x->events[allocator(l, i)->first + k];
    if (rc == TP_OK && l->count > 1)
        qsort(list, count, sizeof *list, by_time);
    l->begin_ps = rc == TP_OK ? list[0]->time_ps : 0;
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        rc = lower_event(l, list[i], err);
    TP_GROW_END(&list, &room, .budget = l->reading->budget);
    return rc;
}

/* ---- what is said ---- */

static uint64_t number_of(const struct tp_xplane_allocator *a)
{
    const char *digits = strpbrk(a->name, "0123456789");
    return digits ? strtoull(digits, NULL, 10) % TP_MAX_DEVICES : 0;
}

/* What the allocators held, where that is known of all of them. */
static int record(struct xplane_lowering *l, struct tp_err *err)
{
    struct tp_recorded *to = l->reading->recorded;
    bool known = true, bfc = true;
    for (uint32_t i = 0; i < l->count; i++) {
        known &= l->starts[i].pool_known;
        bfc &= allocator(l, i)->bfc;
    }
    if (!bfc)
        return l->x->tpu ? tp_recorded_init(to, "TPU", 0, err) : TP_OK;
    int rc =
        tp_recorded_init(to, l->x->tensorflow ? "TensorFlow" : "JAX", known ? l->count : 0, err);
    for (uint32_t i = 0; rc == TP_OK && known && i < l->count; i++) {
        to->devices[i].number = number_of(allocator(l, i));
        to->devices[i].start_reserved = l->starts[i].pool;
        to->devices[i].start_segments = l->starts[i].pool ? 1 : 0;
    }
    return rc;
}

static void say_breaks(const struct xplane_lowering *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const struct tp_xplane_allocator *a = allocator(l, i);
        if (a->breaks)
            tp_meta_remark(l->reading->meta,
                           "%s: the bytes in use do not add up at %s, first at event %s: events "
                           "are missing or out of order there.",
                           a->name, tp_plural(a->breaks, "event").s, tp_count(a->first_break).s);
    }
}

/* What is known of one allocator's start. */
static void say_start_of(const struct xplane_lowering *l, uint32_t device)
{
    struct tp_meta *meta = l->reading->meta;
    const struct tp_xplane_start *s = &l->starts[device];
    const char *name = allocator(l, device)->name;
    if (s->unseen)
        tp_meta_remark(meta,
                       "%s: %s in use at the start are never freed, so their blocks are not in the "
                       "file: they count as one.",
                       name, tp_bytes(s->unseen, false).s);
    if (!allocator(l, device)->bfc) {
        tp_meta_remark(
            meta, "%s: its events are not BFC's, or have no addresses: no rules are known for it.",
            name);
        return;
    }
    if (s->known == TP_XPLANE_INFERRED)
        tp_meta_remark(meta, "%s: the heap at the start is inferred from the events: %s with %s.",
                       name, tp_plural(s->range_count, "range").s,
                       tp_plural(s->block_count, "live block").s);
    if (s->unseen_free) {
        const char *then = s->unseen ? ": replays count it as rounding" : ": replays leave it out";
        tp_meta_remark(meta, "%s: %s more was free at the start and serves no request%s.", name,
                       tp_bytes(s->unseen_free, false).s, s->would_serve ? then : "");
    }
    if (!s->pool_known)
        tp_meta_remark(meta, "%s: the file does not show how much memory was reserved.", name);
    if (s->assumed)
        tp_meta_remark(meta,
                       "%s: the events do not show how it reserved memory: %s is assumed, the "
                       "default.",
                       name, s->assumed);
    if (s->cut)
        tp_meta_remark(meta, "%s: not all possible heaps at the start were tried.", name);
}

/* Of many the sum. */
static void say_start(const struct xplane_lowering *l)
{
    uint64_t unseen = 0, inferred = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->count <= SAID)
            say_start_of(l, i);
        unseen += l->starts[i].unseen;
        inferred += l->starts[i].known == TP_XPLANE_INFERRED;
    }
    if (l->count > SAID && (unseen || inferred))
        tp_meta_remark(l->reading->meta,
                       "Of %s: the heap at the start is inferred from the events of %s; %s in use "
                       "there are never freed, and count as one block each.",
                       tp_plural(l->count, "allocator").s, tp_count(inferred).s,
                       tp_bytes(unseen, false).s);
}

#define UNREADABLE "a size, an address or the bytes in use are missing, 0 or no number"

void tp_xplane_say_nothing(const struct tp_xplane *x, const char *capture, const char *nothing)
{
    struct tp_meta *meta = x->reading->meta;
    tp_meta_set(meta, &meta->capture, "%s", capture);
    if (x->unreadable) {
        tp_meta_set(meta, &meta->nothing, "%s, none readable, the first at byte %s: " UNREADABLE,
                    tp_plural(x->unreadable, "memory event").s, tp_count(x->unreadable_at).s);
        return;
    }
    tp_meta_set(meta, &meta->nothing, "%s", nothing);
    tp_meta_set(meta, &meta->nothing_hint,
                "the host must be traced while a GPU allocates: tapool help formats recording");
}

static void describe(const struct xplane_lowering *l)
{
    const struct tp_xplane *x = l->x;
    struct tp_meta *meta = l->reading->meta;
    const char *by = x->tensorflow ? "TensorFlow" : "JAX";
    tp_meta_set(meta, &meta->capture, "%s %s", x->tpu ? "TPU" : by, x->capture);
    tp_meta_set(meta, &meta->unknown, "%sstreams, alignment%s", x->lines ? "" : "threads, ",
                x->operations ? "" : ", names of operations");
    if (l->count == 1 && allocator(l, 0)->limit)
        tp_meta_set(meta, &meta->settings, "limit:%" PRIu64 "%s", allocator(l, 0)->limit,
                    l->starts[0].pool_known && !l->starts[0].whole ? ",allow_growth:yes" : "");
    if (l->reading->recorded->by && !x->tpu)
        tp_meta_set(meta, &meta->allocator_device, "%s", x->tensorflow ? "tf" : "jax");
    if (x->unreadable)
        tp_meta_remark(meta, "%s left out, the first at byte %s: " UNREADABLE ".",
                       tp_plural(x->unreadable, "memory event").s, tp_count(x->unreadable_at).s);
    say_breaks(l);
    if (l->starts)
        say_start(l);
}

/* ---- the whole ---- */

static int find_starts(struct xplane_lowering *l, struct tp_err *err)
{
    int rc = TP_OK;
    l->starts = calloc(l->count + 1u, sizeof *l->starts);
    l->devices = calloc(l->count + 1u, sizeof *l->devices);
    if (!l->starts || !l->devices)
        return tp_input_no_memory(l->reading->in, err);
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++) {
        const struct tp_xplane_start *s = &l->starts[i];
        struct xplane_device *d = &l->devices[i];
        rc = tp_xplane_start(l->x, l->chosen[i], &l->starts[i], err);
        d->pool = s->pool;
        d->live = s->unseen;
        for (size_t k = 0; k < s->block_count; k++)
            d->live += s->blocks[k].requested;
        d->most = d->live;
    }
    return rc;
}

/* The largest free chunk at the trace peak, which the fragmentation says to six digits. */
static void record_largest(struct xplane_lowering *l)
{
    struct tp_recorded *to = l->reading->recorded;
    for (uint32_t i = 0; i < to->count && i < l->count; i++) {
        const struct xplane_device *d = &l->devices[i];
        double largest = 0, within = 0;
        if (!d->at_peak || !tp_xplane_largest(d->at_peak, d->peak_pool, &largest, &within))
            continue;
        to->devices[i].demand_event = d->peak;
        to->devices[i].demand_largest = (uint64_t)largest;
    }
}

static int declare_devices(struct xplane_lowering *l, struct tp_err *err)
{
    int64_t stream = 0;
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++)
        rc = tp_lower_stream_on(l->reading->lower, 0, i, &stream, err);
    return rc;
}

static int lower_all(struct xplane_lowering *l, struct tp_err *err)
{
    static int (*const steps[])(struct xplane_lowering *, struct tp_err *) = {
        choose_spaces, find_starts, record, declare_devices, lower_heaps, lower_merged};
    int rc = TP_OK;
    l->chosen = calloc(l->x->allocator_count + 1, sizeof *l->chosen);
    l->dense = calloc(l->x->allocator_count + 1, sizeof *l->dense);
    if (!l->chosen || !l->dense)
        return tp_input_no_memory(l->reading->in, err);
    for (size_t i = 0; rc == TP_OK && i < sizeof steps / sizeof *steps; i++) {
        rc = steps[i](l, err);
        if (rc == TP_OK && !l->count)
            return TP_OK;
    }
    if (rc == TP_OK || rc == TP_ESTOP)
        describe(l);
    if (rc == TP_OK)
        record_largest(l);
    return rc;
}

static void release(struct xplane_lowering *l)
{
    for (uint32_t i = 0; l->starts && i < l->count; i++)
        tp_xplane_start_release(&l->starts[i]);
    free(l->starts);
    free(l->devices);
    free(l->chosen);
    free(l->dense);
    tp_id_map_release(&l->steps);
}

int tp_xplane_lower(struct tp_xplane *x, struct tp_err *err)
{
    struct xplane_lowering l = {.x = x, .reading = x->reading};
    l.steps.how = tp_reading_growth(x->reading, "steps");
    int rc = lower_all(&l, err);
    release(&l);
    return rc;
}
