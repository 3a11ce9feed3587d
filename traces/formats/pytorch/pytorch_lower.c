/* Lowers the events of a snapshot in the order of time.
 *
 *     device 0 | event | event | ...  --\
 *     device 1 | event | ...  -----------+--> the earliest --> marks before it --> lowering
 *     annotations, by time  ------------/
 *
 * Events of a device stay in the order of the file, whatever their times are. A mark is not an
 * event of the file, so it has no number of its own. The end of an annotation returns to the phase
 * of the annotation around it (pytorch_lower.h).
 *
 * GPUs are one memory space, the host's pinned memory is another (TP_PYTORCH_HOST).
 *
 * Segments that went back because the program called empty_cache() (pytorch_lower.h) get a TRIM
 * before them. */
#include "traces/formats/pytorch/pytorch_lower.h"

#include "alloc/base/id_map.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/lower/spaces.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

struct lowering {
    struct tp_pytorch *snapshot;
    const struct tp_reading *reading;
    struct tp_pytorch_places *places;
    bool in_space[TP_PYTORCH_LISTS];  /* of the memory space that is lowered, or of all */
    bool taken[TP_PYTORCH_LISTS];     /* those of them with events that are wanted */
    uint32_t dense[TP_PYTORCH_LISTS]; /* index in the program of each device that is taken */
    uint32_t numbers[TP_PYTORCH_LISTS];
    uint32_t count;
    struct tp_pytorch_heap heap;     /* at the start */
    struct tp_spill_cursor *cursors; /* one for each device that is taken */
    const struct tp_pytorch_event **heads;
    struct tp_pytorch_returns returns;
    struct tp_pytorch_moment *moments; /* one for each device that is taken */
    int64_t begin_us;                  /* time of the first event that has one */
    bool begun;
    uint64_t inferred_pools; /* requests whose private pool is not in their event */
    struct tp_pytorch_phases phases;
    struct tp_id_map born; /* live blocks that may be annotated: id -> event that allocated it */
};

/* ---- memory spaces ---- */

static bool is_host_alone(const struct lowering *l)
{
    return l->in_space[TP_PYTORCH_HOST] && !l->in_space[0];
}

static void count_events(const struct lowering *l, struct tp_spaces *spaces, uint32_t gpu,
                         uint32_t host)
{
    for (uint32_t i = 0; i < TP_PYTORCH_LISTS; i++) {
        const struct tp_pytorch_device *d = &l->snapshot->devices[i];
        if (tp_pytorch_has_events(d))
            tp_spaces_count_own(spaces, i == TP_PYTORCH_HOST ? host : gpu, d->count, d->asked);
    }
}

/* Chooses the memory space, and sets the kind. Most files have one, and a name given with --space
 * is checked. */
static int choose_space(struct lowering *l, struct tp_err *err)
{
    const struct tp_pytorch_device *host = &l->snapshot->devices[TP_PYTORCH_HOST];
    struct tp_spaces *spaces = NULL;
    bool pinned = host->count || host->end.end_segments;
    uint32_t index[2] = {0, 0};
    int rc = tp_spaces_new(l->reading, &spaces, err);
    if (rc == TP_OK)
        rc = tp_spaces_define(spaces, "GPU", TP_KIND_DEVICE, &index[0], err);
    if (rc == TP_OK && pinned)
        rc = tp_spaces_define(spaces, TP_PYTORCH_HOST_SPACE, TP_KIND_HOST, &index[1], err);
    if (rc == TP_OK) {
        count_events(l, spaces, index[0], index[1]);
        tp_spaces_prefer(spaces, index[0]);
        rc = tp_spaces_lower(spaces, err);
    }
    for (uint32_t i = 0; rc == TP_OK && i < TP_PYTORCH_LISTS; i++)
        l->in_space[i] = i == TP_PYTORCH_HOST ? pinned && tp_spaces_chosen(spaces, index[1])
                                              : tp_spaces_chosen(spaces, index[0]);
    tp_spaces_free(spaces);
    if (is_host_alone(l))
        tp_meta_set(l->reading->meta, &l->reading->meta->unknown, "threads, alignment");
    return rc;
}

/* ---- devices ---- */

struct device_text {
    char s[32];
};

static struct device_text device_text(uint32_t device)
{
    struct device_text out = {TP_PYTORCH_HOST_SPACE};
    if (device != TP_PYTORCH_HOST)
        snprintf(out.s, sizeof out.s, "device %" PRIu32, device);
    return out;
}

/* Writes a list of devices with events: "the devices 0, 1, 5". */
static void list_devices(const struct lowering *l, uint32_t some, char *out, size_t size)
{
    struct tp_str text = tp_str_in(out, size);
    if (!is_host_alone(l))
        tp_str_add(&text, "%s", some == 1 ? "device " : "the devices ");
    for (uint32_t i = 0, listed = 0; i < TP_PYTORCH_LISTS; i++)
        if (l->in_space[i] && tp_pytorch_has_events(&l->snapshot->devices[i]))
            tp_str_add(&text, i == TP_PYTORCH_HOST ? "%s%s" : "%s%.0s%" PRIu32,
                       listed++ ? ", " : "", TP_PYTORCH_HOST_SPACE, i);
}

/* Adds to what is left out already: another memory space. */
static void say_left_out(const struct lowering *l)
{
    struct tp_meta *meta = l->reading->meta;
    char array[600];
    struct tp_str text = TP_STR_IN(array);
    if (meta->left_out)
        tp_str_add(&text, "%s", meta->left_out);
    for (uint32_t i = 0; i < TP_PYTORCH_DEVICES; i++) {
        const struct tp_pytorch_device *d = &l->snapshot->devices[i];
        if (l->in_space[i] && !l->taken[i] && tp_pytorch_has_events(d))
            tp_str_item(&text, ", ", "device %" PRIu32 " (%s events)", i, tp_count(d->count).s);
    }
    if (text.length)
        tp_meta_set(meta, &meta->left_out, "%s", array);
}

static int choose_devices(struct lowering *l, struct tp_err *err)
{
    int64_t wanted = l->reading->opts->device;
    uint32_t some = 0;
    for (uint32_t i = 0; i < TP_PYTORCH_LISTS; i++) {
        bool there = l->in_space[i] && tp_pytorch_has_events(&l->snapshot->devices[i]);
        some += there;
        l->taken[i] = there && (wanted < 0 || (wanted == i && i != TP_PYTORCH_HOST));
        l->dense[i] = l->count;
        if (l->taken[i])
            l->numbers[l->count++] = i;
    }
    if (some == 0 || l->count > 0) {
        say_left_out(l);
        return TP_OK;
    }
    char all[TP_ERR_TEXT / 2];
    list_devices(l, some, all, sizeof all);
    int rc = tp_fail(err, TP_EINPUT, "%s: device %" PRId64 " has no events",
                     tp_input_name(l->reading->in), wanted);
    return tp_hint(err, rc, "events are of %s", all);
}

/* ---- what was recorded ---- */

/* Whether the file says what was reserved on these devices: it has segments, or events about
 * them. */
static bool knows_segments(const struct tp_pytorch *s, const uint32_t *numbers, uint32_t count)
{
    bool known = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_pytorch_device *d = &s->devices[numbers[i]];
        known |= d->taken || d->returned || tp_pytorch_has_end(s, numbers[i]);
    }
    return known;
}

/* Whether a device has segments at the end. */
static bool has_segments(const struct tp_pytorch *s, uint32_t device)
{
    return s->devices[device].end.end_segments > 0;
}

/* Lists the devices of the program by index, and behind them the devices with segments but without
 * events. The latter belong to the recorded state although nothing is replayed on them. */
static uint32_t list_recorded(const struct lowering *l, uint32_t numbers[TP_PYTORCH_LISTS])
{
    uint32_t count = 0;
    for (; count < l->count; count++)
        numbers[count] = l->numbers[count];
    for (uint32_t i = 0; (l->reading->opts->device < 0 || !l->count) && i < TP_PYTORCH_LISTS; i++)
        if (l->in_space[i] && !l->taken[i] && has_segments(l->snapshot, i))
            numbers[count++] = i;
    return count;
}

/* Fills in the recorded state of the listed devices. */
static int record_devices(const struct lowering *l, const uint32_t *numbers, uint32_t count,
                          struct tp_err *err)
{
    struct tp_recorded *to = l->reading->recorded;
    if (!knows_segments(l->snapshot, numbers, count))
        return TP_OK;
    int rc = tp_recorded_init(to, is_host_alone(l) ? "PyTorch (pinned)" : "PyTorch", count, err);
    for (uint32_t i = 0; rc == TP_OK && i < count; i++) {
        const struct tp_pytorch_device *from = &l->snapshot->devices[numbers[i]];
        struct tp_recorded_device *d = &to->devices[i];
        uint64_t reserved = from->end.end_reserved + from->returned;
        uint64_t segments = from->end.end_segments + from->frees;
        to->has_end |= tp_pytorch_has_end(l->snapshot, numbers[i]);
        *d = from->end;
        d->demand_event = d->demand_largest = TP_RECORDED_UNKNOWN;
        d->number = is_host_alone(l) ? 0 : numbers[i];
        d->start_reserved = reserved > from->taken ? reserved - from->taken : 0;
        d->start_segments = segments > from->allocs ? segments - from->allocs : 0;
    }
    return rc;
}

static int say_nothing(const struct lowering *l, struct tp_err *err)
{
    const struct tp_pytorch *s = l->snapshot;
    struct tp_meta *meta = l->reading->meta;
    uint32_t numbers[TP_PYTORCH_LISTS], count = list_recorded(l, numbers);
    const struct tp_pytorch_silence silence = tp_pytorch_silence(s);
    if (!meta->nothing) {
        tp_meta_set(meta, &meta->nothing, "%s", silence.why);
        tp_meta_set(meta, &meta->nothing_hint, "%s%s%s", silence.hint,
                    s->segments ? "; 'tapool info' shows the " : "",
                    s->segments ? tp_plural(s->segments, "segment").s : "");
    }
    return record_devices(l, numbers, count, err);
}

/* Whether a count is a likely size of a ring buffer: 10,000, 300,000, 65,536. */
static bool is_round(uint64_t count)
{
    if (count < 1000)
        return false;
    if ((count & (count - 1)) == 0)
        return true;
    while (count % 10 == 0)
        count /= 10;
    return count < 10;
}

/* Sets meta->wrapped if the number of events suggests a full ring buffer: no member of the file
 * says so. */
static void say_wrapped(const struct lowering *l)
{
    struct tp_meta *meta = l->reading->meta;
    for (uint32_t i = 0; i < l->count && l->heap.blocks.count && !meta->wrapped; i++) {
        uint64_t count = l->snapshot->devices[l->numbers[i]].count;
        meta->wrapped = is_round(count);
        if (meta->wrapped)
            tp_meta_remark(meta,
                           "%c%s has exactly %s events: its ring buffer was full (max_entries), "
                           "older events are lost.",
                           toupper((unsigned char)*device_text(l->numbers[i]).s),
                           device_text(l->numbers[i]).s + 1, tp_count(count).s);
    }
}

/* ---- one event ---- */

/* An id for the pair of address and device. Addresses are unique on a device and have fewer than 56
 * bits. */
static int64_t id_of(const struct lowering *l, uint64_t address, uint32_t device)
{
    return (int64_t)(address ^ (uint64_t)l->dense[device] << 56);
}

static int lower_one(struct lowering *l, struct tp_event *ev, int64_t stream, uint32_t device,
                     struct tp_err *err)
{
    ev->has_stream = true;
    int rc = tp_lower_stream_on(l->reading->lower, stream, device, &ev->stream, err);
    rc = tp_event_placed(ev, l->reading->in, rc, err);
    return rc == TP_OK ? tp_lower_event(l->reading->lower, ev, err) : rc;
}

static int lower_initial(struct lowering *l, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < l->heap.blocks.count; i++) {
        const struct tp_pytorch_block *b = &l->heap.blocks.items[i];
        struct tp_event ev = {.op = TP_EV_INITIAL,
                              .has_size = true,
                              .has_at = l->heap.segments.count > 0,
                              .at = b->address,
                              .bytes = b->bytes,
                              .behind = b->behind,
                              .id = id_of(l, b->address, b->device),
                              .size = b->size};
        tp_pytorch_moment_begin(&l->moments[l->dense[b->device]], b->size);
        rc = lower_one(l, &ev, b->stream, b->device, err);
        if (rc == TP_OK && b->size) /* one of 0 bytes is no block of the program */
            rc = tp_pytorch_places_add_initial(l->places, b->frames, err);
    }
    return rc;
}

static int lower_segment(struct lowering *l, const struct tp_pytorch_block *from,
                         struct tp_err *err)
{
    const struct tp_heap_segment s = {
        .base = from->address,
        .size = from->size,
        .pool = {tp_pool_first(from->pool), tp_pool_second(from->pool)},
        .flags = (from->small ? TP_HEAP_SMALL : 0u) | (from->expandable ? TP_HEAP_EXPANDABLE : 0u)};
    int64_t stream = 0;
    int rc = tp_lower_stream_on(l->reading->lower, from->stream, from->device, &stream, err);
    return rc == TP_OK ? tp_lower_segment(l->reading->lower, stream, &s, err) : rc;
}

/* The heap that all that lies in. Where the file contradicts itself, strategies begin without. */
static int lower_heap(struct lowering *l, struct tp_err *err)
{
    char why[TP_ERR_TEXT];
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < l->heap.segments.count; i++)
        rc = lower_segment(l, &l->heap.segments.items[i], err);
    if (rc == TP_OK)
        rc = tp_lower_begin(l->reading->lower, why, err);
    if (rc == TP_OK && *why)
        tp_meta_remark(l->reading->meta,
                       "Not replayed: the placement of the blocks at the start (%s).", why);
    return rc;
}

/* Since the first event. Lowering refuses UINT64_MAX. */
static uint64_t since_begin(const struct lowering *l, int64_t time_us)
{
    return tp_pytorch_ns_between(l->begin_us, time_us);
}

static void choose_pool(struct lowering *l, const struct tp_pytorch_event *from, uint32_t device,
                        struct tp_event *ev)
{
    uint64_t pool = tp_pytorch_pool_of(l->snapshot, device, from);
    l->inferred_pools += pool && !from->has_pool;
    ev->pool[0] = tp_pool_first(pool);
    ev->pool[1] = tp_pool_second(pool);
}

/* Adds the metadata of the next event, and those of an annotation to the event that allocated its
 * block. Of events beyond the 2^32nd no annotation is looked for. */
static int label_event(struct lowering *l, const struct tp_pytorch_event *from, uint32_t device,
                       struct tp_err *err)
{
    struct tp_pytorch_labels *labels = tp_pytorch_places_labels(l->places);
    const uint64_t event = tp_lower_count(l->reading->lower) + 1;
    const int64_t id = id_of(l, from->address, device);
    struct tp_id_entry *entry = labels ? tp_id_map_find(&l->born, id) : NULL;
    int rc = labels ? tp_pytorch_labels_add(labels, l->snapshot, from, err) : TP_OK;
    if (rc != TP_OK || !labels || !l->snapshot->annotates || event > UINT32_MAX)
        return rc;
    if (from->action == TP_PYTORCH_ALLOC && entry)
        entry->index = (uint32_t)event;
    else if (from->action == TP_PYTORCH_ALLOC)
        rc = tp_id_map_put(&l->born, id, (uint32_t)event, err);
    else if (entry && from->action == TP_PYTORCH_ANNOTATE)
        rc = tp_pytorch_labels_annotate(labels, l->snapshot, entry->index, from, err);
    else if (entry && from->action == tp_pytorch_freeing(l->snapshot, device))
        tp_id_map_remove(&l->born, entry);
    return rc;
}

static int lower_event(struct lowering *l, const struct tp_pytorch_event *from, uint32_t device,
                       struct tp_err *err)
{
    static const struct {
        enum tp_event_op op;
        enum tp_note note;
    } ops[] = {
        [TP_PYTORCH_ALLOC] = {TP_EV_ALLOC, TP_NOTE_OTHER},
        [TP_PYTORCH_FREE_REQUESTED] = {TP_EV_NOTE, TP_NOTE_FREE_REQUESTED},
        [TP_PYTORCH_FREE_COMPLETED] = {TP_EV_FREE, TP_NOTE_OTHER},
        [TP_PYTORCH_SEGMENT_ALLOC] = {TP_EV_NOTE, TP_NOTE_SEGMENT_ALLOC},
        [TP_PYTORCH_SEGMENT_FREE] = {TP_EV_NOTE, TP_NOTE_SEGMENT_FREE},
        [TP_PYTORCH_SEGMENT_MAP] = {TP_EV_NOTE, TP_NOTE_SEGMENT_MAP},
        [TP_PYTORCH_SEGMENT_UNMAP] = {TP_EV_NOTE, TP_NOTE_SEGMENT_UNMAP},
        [TP_PYTORCH_OOM] = {TP_EV_NOTE, TP_NOTE_OOM},
        [TP_PYTORCH_SNAPSHOT] = {TP_EV_NOTE, TP_NOTE_SNAPSHOT},
    };
    int rc = tp_pytorch_places_add(l->places, from->frames, err);
    if (rc == TP_OK)
        rc = label_event(l, from, device, err);
    if (rc != TP_OK)
        return rc;
    if (from->action >= TP_PYTORCH_ANNOTATE || tp_pytorch_too_large(from))
        return tp_lower_skip(l->reading->lower, err);
    struct tp_event ev = {.op = ops[from->action].op,
                          .note = ops[from->action].note,
                          .has_time = from->has_time,
                          .has_size = true,
                          .has_offset = true,
                          .has_free = from->has_free && from->action == TP_PYTORCH_OOM,
                          .has_at = ops[from->action].op == TP_EV_NOTE && from->address,
                          .at = from->address,
                          .id = id_of(l, from->address, device),
                          .size = from->size,
                          .time_ns = since_begin(l, from->time_us),
                          .free_bytes = from->device_free,
                          .offset = from->offset};
    if (from->action == tp_pytorch_freeing(l->snapshot, device))
        ev.op = TP_EV_FREE;
    if ((from->action == TP_PYTORCH_ALLOC || from->action == TP_PYTORCH_OOM) &&
        device != TP_PYTORCH_HOST)
        choose_pool(l, from, device, &ev);
    return lower_one(l, &ev, from->stream, device, err);
}

/* ---- empty_cache() ---- */

#define KEEP_ALL (UINT64_C(1) << 47)

/* Puts a TRIM before the first of the segments that empty_cache() gave back. One that keeps all
 * stands before those of a private pool, which are not given back because memory was short. */
static int lower_trim(struct lowering *l, uint32_t i, const struct tp_pytorch_event *ev,
                      struct tp_err *err)
{
    enum tp_pytorch_return why = TP_RETURN_OTHER;
    int rc = tp_pytorch_returned(&l->returns, i, l->numbers[i], &l->cursors[i], ev,
                                 l->moments[i].reserved, &why, err);
    struct tp_event trim = {.op = TP_EV_TRIM,
                            .uncounted = true,
                            .has_time = ev->has_time,
                            .has_size = true,
                            .has_offset = true,
                            .size = why == TP_RETURN_POOL ? KEEP_ALL : 0,
                            .time_ns = since_begin(l, ev->time_us),
                            .offset = ev->offset};
    return rc == TP_OK && why != TP_RETURN_OTHER
               ? lower_one(l, &trim, ev->stream, l->numbers[i], err)
               : rc;
}

/* ---- phases ---- */

/* Handles all annotations up to an event. Only the last phase change becomes a mark. */
static int lower_marks(struct lowering *l, const struct tp_pytorch_event *before,
                       struct tp_err *err)
{
    int64_t time_us = 0;
    if (!before->has_time || !tp_pytorch_pass_phases(&l->phases, is_host_alone(l) ? NULL : l->taken,
                                                     before->time_us, &time_us))
        return TP_OK;
    const char *name = tp_pytorch_phase_name(l->snapshot, tp_pytorch_phase(&l->phases));
    const struct tp_event ev = {.op = TP_EV_MARK,
                                .uncounted = true,
                                .has_time = true,
                                .time_ns = since_begin(l, time_us),
                                .name = name ? name : TP_NO_PHASE};
    return tp_lower_event(l->reading->lower, &ev, err);
}

/* ---- all events ---- */

/* The device with the earliest next event. An event without a time comes first. */
static uint32_t earliest(const struct lowering *l)
{
    uint32_t best = l->count;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct tp_pytorch_event *ev = l->heads[i];
        if (!ev)
            continue;
        if (!ev->has_time)
            return i;
        if (best == l->count || ev->time_us < l->heads[best]->time_us)
            best = i;
    }
    return best;
}

static int open_cursors(struct lowering *l, struct tp_err *err)
{
    const struct tp_pytorch *s = l->snapshot;
    l->cursors = calloc(l->count, sizeof *l->cursors);
    l->heads = calloc(l->count, sizeof *l->heads);
    if (!l->cursors || !l->heads)
        return tp_input_no_memory(l->reading->in, err);
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++) {
        const struct tp_pytorch_device *d = &s->devices[l->numbers[i]];
        l->cursors[i].list = &s->events;
        l->cursors[i].next = d->first;
        l->cursors[i].end = d->first + d->count;
        l->heads[i] = tp_spill_next(&l->cursors[i], &rc, err);
    }
    return rc;
}

static int lower_events(struct lowering *l, struct tp_err *err)
{
    int rc = TP_OK;
    for (uint32_t i = earliest(l); rc == TP_OK && i < l->count; i = earliest(l)) {
        const struct tp_pytorch_event *ev = l->heads[i];
        if (ev->has_time && !l->begun) {
            l->begin_us = ev->time_us;
            l->begun = true;
        }
        rc = lower_marks(l, ev, err);
        if (rc == TP_OK)
            rc = lower_trim(l, i, ev, err);
        if (rc == TP_OK)
            rc = lower_event(l, ev, l->numbers[i], err);
        if (rc == TP_OK)
            tp_pytorch_moment_follow(&l->moments[i], ev,
                                     tp_pytorch_freeing(l->snapshot, l->numbers[i]),
                                     tp_lower_count(l->reading->lower));
        if (rc == TP_OK)
            l->heads[i] = tp_spill_next(&l->cursors[i], &rc, err);
    }
    return rc;
}

/* ---- the whole ---- */

/* Declares a stream for each device before the first event, so that devices get their numbers in
 * order. */
static int declare_devices(struct lowering *l, struct tp_err *err)
{
    int64_t stream = 0;
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < l->count; i++)
        rc =
            tp_lower_stream_on(l->reading->lower, l->heads[i]->stream, l->numbers[i], &stream, err);
    return rc;
}

static int begin_moments(struct lowering *l, struct tp_err *err)
{
    const struct tp_recorded *r = l->reading->recorded;
    l->moments = calloc(l->count, sizeof *l->moments);
    if (!l->moments)
        return tp_input_no_memory(l->reading->in, err);
    for (uint32_t i = 0; r->by && i < l->count; i++) {
        l->moments[i].reserved = r->devices[i].start_reserved;
        l->returns.devices[i].highest =
            l->moments[i].reserved + (uint64_t)l->snapshot->devices[l->numbers[i]].highest;
    }
    return tp_pytorch_returns_begin(&l->returns, l->snapshot, &l->heap, l->places, err);
}

/* Of the host it is not known: blocks are rounded up, and the rest of a segment serves nobody. */
static int record_largest(struct lowering *l, struct tp_err *err)
{
    const struct tp_recorded *r = l->reading->recorded;
    int rc = TP_OK;
    for (uint32_t i = 0; r->by && rc == TP_OK && i < l->count; i++) {
        struct tp_recorded_device *d = &r->devices[i];
        if (l->numbers[i] == TP_PYTORCH_HOST)
            continue;
        rc = tp_pytorch_largest(l->snapshot, l->numbers[i],
                                tp_pytorch_freeing(l->snapshot, l->numbers[i]), &l->moments[i],
                                &d->demand_largest, err);
        if (d->demand_largest != TP_RECORDED_UNKNOWN)
            d->demand_event = l->moments[i].event;
    }
    return rc;
}

static int lower_all(struct lowering *l, struct tp_err *err)
{
    static int (*const steps[])(struct lowering *, struct tp_err *) = {
        open_cursors, declare_devices, begin_moments, lower_initial,
        lower_heap,   lower_events,    record_largest};
    uint32_t numbers[TP_PYTORCH_LISTS], count = list_recorded(l, numbers);
    int rc = record_devices(l, numbers, count, err);
    if (rc == TP_OK)
        rc = tp_pytorch_heap_at_start(l->snapshot, l->taken, &l->heap, err);
    say_wrapped(l);
    for (size_t i = 0; rc == TP_OK && i < sizeof steps / sizeof *steps; i++)
        rc = steps[i](l, err);
    l->reading->meta->garbage_collections = l->returns.collections;
    if (l->inferred_pools)
        tp_meta_remark(l->reading->meta,
                       "The private pool of %s is taken from the segment at their address at the "
                       "end: their events do not say it.",
                       tp_plural(l->inferred_pools, "request").s);
    return rc;
}

static void say_freeing(const struct lowering *l)
{
    bool requested = false;
    for (uint32_t i = 0; i < l->count; i++)
        requested |= tp_pytorch_freeing(l->snapshot, l->numbers[i]) == TP_PYTORCH_FREE_REQUESTED;
    if (requested)
        tp_meta_remark(l->reading->meta, "There are no free_completed events (skip_actions): "
                                         "blocks are free from their free_requested on.");
}

int tp_pytorch_lower(struct tp_pytorch *s, struct tp_pytorch_places *places, struct tp_err *err)
{
    struct lowering l = {
        .snapshot = s, .reading = s->reading, .places = places, .phases = {.snapshot = s}};
    l.born.how = tp_reading_growth(s->reading, "addresses");
    int rc = choose_space(&l, err);
    if (rc == TP_OK)
        rc = choose_devices(&l, err);
    if (rc == TP_OK && l.count == 0)
        return say_nothing(&l, err);
    say_freeing(&l);
    tp_pytorch_sort_annotations(s);
    if (rc == TP_OK)
        rc = lower_all(&l, err);
    free(l.cursors);
    free(l.heads);
    free(l.moments);
    tp_pytorch_heap_release(s, &l.heap);
    tp_id_map_release(&l.born);
    return rc;
}
