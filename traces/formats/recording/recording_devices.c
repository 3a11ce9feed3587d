/* See recording_merge.h. Streams, events and synchronisation are in recording_streams.c; here is
 * memory, and the pools that say of which device it is.
 *
 * Allocations in a capture are left out: they are done when the graph runs, as often as it does.
 *
 * Known weakness: what kernels do with memory is not recorded. */
#include "traces/formats/recording/recording_merge.h"

#include "alloc/base/numbers.h"
#include "traces/formats/recording/recording_streams.h"

#include <stdlib.h>

int tp_recording_devices_new(const struct tp_reading *r, struct tp_pointers *pointers,
                             struct tp_device_counts *counts, int64_t first,
                             struct tp_recording_devices **out, struct tp_err *err)
{
    const struct tp_growth how = {.what = "handles", .budget = r->budget};
    struct tp_recording_devices *d = calloc(1, sizeof *d);
    *out = d;
    if (!d)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    d->r = r;
    d->pointers = pointers;
    d->counts = counts;
    d->first = first;
    d->by_handle.how = d->events.how = d->pools.how = d->elsewhere.how = how;
    d->dead_event = TP_RECORDING_NONE;
    for (size_t i = 0; i < TP_CALL_DEVICES; i++)
        d->devices[i].dead = d->devices[i].last_dead = d->devices[i].freed = TP_RECORDING_NONE;
    return first < 0 ? TP_OK : tp_lower_need_stream(r->lower, 0, first, err);
}

void tp_recording_devices_free(struct tp_recording_devices *d)
{
    if (!d)
        return;
    tp_id_map_release(&d->by_handle);
    tp_id_map_release(&d->events);
    tp_id_map_release(&d->pools);
    tp_id_map_release(&d->elsewhere);
    TP_GROW_END(&d->streams, &d->stream_room, .budget = d->r->budget);
    TP_GROW_END(&d->event_records, &d->event_room, .budget = d->r->budget);
    TP_GROW_END(&d->captures, &d->capture_room, .budget = d->r->budget);
    free(d);
}

/* ---- memory ---- */

static void count_left_out(struct tp_recording_devices *d, uint64_t reason, uint64_t bytes)
{
    uint64_t *sum = &d->counts->left_out_bytes[reason];
    d->counts->left_out[reason]++;
    *sum = bytes > UINT64_MAX - *sum ? UINT64_MAX : *sum + bytes;
}

/* The free of such a block is left out as well. */
static int leave_out(const struct device_step *s, uint64_t reason)
{
    struct tp_id_entry *entry = NULL;
    count_left_out(s->d, reason, s->c->size);
    return s->c->object ? tp_id_map_need(&s->d->elsewhere, (int64_t)s->c->object, 0, &entry, s->err)
                        : TP_OK;
}

static int on_left_out(const struct device_step *s)
{
    return leave_out(s, s->c->other);
}

/* A block's device and how often that was reset, as the number beside its address. */
static uint32_t owner(const struct tp_recording_devices *d, uint64_t device)
{
    return 1 + (uint32_t)device + TP_CALL_DEVICES * (d->devices[device].resets & 0x7fffff);
}

static uint32_t device_of_owner(uint32_t refs)
{
    return (refs - 1) % TP_CALL_DEVICES;
}

/* The stream of a request. *left: it is in no trace. Memory of another device than its stream's is
 * taken for that of the other's default stream. */
static int requested_on(const struct device_step *s, uint32_t *stream, bool *left)
{
    struct tp_recording_devices *d = s->d;
    const struct tp_id_entry *pool =
        s->c->other ? tp_id_map_find(&d->pools, (int64_t)s->c->other) : NULL;
    int rc = tp_recording_find_stream(s, stream);
    if (rc)
        return rc;
    uint32_t device = pool ? pool->index : d->streams[*stream].device;
    bool captured = tp_recording_captured(d, *stream);
    *left = captured || device == TP_CALL_NO_DEVICE;
    if (*left)
        return leave_out(s, captured ? TP_LEFT_GRAPH : TP_LEFT_HOST);
    if (device == d->streams[*stream].device)
        return TP_OK;
    d->counts->abroad++;
    return tp_recording_default_stream(s, device, stream);
}

static int on_alloc(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_event ev = *s->base;
    struct tp_id_entry *elsewhere = tp_id_map_find(&d->elsewhere, (int64_t)s->c->object);
    uint32_t stream = 0;
    bool left = false;
    if (elsewhere)
        tp_id_map_remove(&d->elsewhere, elsewhere);
    int rc = requested_on(s, &stream, &left);
    if (rc || left)
        return rc;
    ev.op = TP_EV_ALLOC;
    ev.size = s->c->size;
    ev.has_size = true;
    rc = tp_recording_use_stream(s, stream, &ev);
    if (!rc)
        rc = tp_pointers_add(d->pointers, s->c->object, &ev.id, s->err);
    if (rc)
        return rc;
    tp_id_map_find(&d->pointers->map, (int64_t)s->c->object)->refs =
        owner(d, d->streams[stream].device);
    return tp_recording_hand_in(s, &ev);
}

static int on_failed(const struct device_step *s)
{
    struct tp_event ev = *s->base;
    uint32_t stream = 0;
    bool left = false;
    int rc = requested_on(s, &stream, &left);
    if (rc || left)
        return rc;
    if (s->c->size > TP_MAX_SIZE) {
        s->d->counts->too_large++;
        return TP_OK;
    }
    ev.op = TP_EV_NOTE;
    ev.note = TP_NOTE_OOM;
    ev.size = s->c->size;
    ev.has_size = true;
    rc = tp_recording_use_stream(s, stream, &ev);
    return rc ? rc : tp_recording_hand_in(s, &ev);
}

/* The id of the block that a call frees; 0: there is none. */
static int64_t freed_id(struct tp_recording_devices *d, uint64_t address, uint32_t *device)
{
    struct tp_id_entry *elsewhere = tp_id_map_find(&d->elsewhere, (int64_t)address);
    if (elsewhere) {
        tp_id_map_remove(&d->elsewhere, elsewhere);
        return 0;
    }
    const struct tp_id_entry *entry = tp_id_map_find(&d->pointers->map, (int64_t)address);
    *device = entry ? device_of_owner(entry->refs) : 0;
    bool stands = entry && entry->refs == owner(d, *device);
    int64_t id = tp_pointers_remove(d->pointers, address);
    d->counts->unseen += !stands;
    return stands ? id : 0;
}

static int on_free_now(const struct device_step *s)
{
    uint32_t device = 0;
    struct tp_event ev = *s->base;
    ev.op = TP_EV_FREE;
    ev.id = freed_id(s->d, s->c->object, &device);
    return ev.id ? tp_recording_hand_in(s, &ev) : TP_OK;
}

/* In a capture it is a part of the graph. A stream of another device cannot be said. */
static int on_free(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_event ev = *s->base;
    uint32_t stream = 0, device = 0;
    int rc = tp_recording_find_stream(s, &stream);
    if (rc || tp_recording_captured(d, stream))
        return rc;
    ev.op = TP_EV_FREE;
    ev.id = freed_id(d, s->c->object, &device);
    if (!ev.id)
        return TP_OK;
    tp_recording_note_free(d, stream);
    if (device == d->streams[stream].device)
        rc = tp_recording_use_stream(s, stream, &ev);
    return rc ? rc : tp_recording_hand_in(s, &ev);
}

static int on_reset(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_event ev = *s->base;
    uint32_t stream = 0;
    d->devices[s->c->device].resets++;
    if (!d->devices[s->c->device].used)
        return TP_OK;
    int rc = tp_recording_default_stream(s, s->c->device, &stream);
    ev.op = TP_EV_RESET;
    if (!rc)
        rc = tp_recording_use_stream(s, stream, &ev);
    return rc ? rc : tp_recording_hand_in(s, &ev);
}

/* ---- pools ---- */

static int on_pool(const struct device_step *s)
{
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(&s->d->pools, (int64_t)s->c->object, 0, &entry, s->err);
    if (!rc)
        entry->index = (uint32_t)s->c->device;
    return rc;
}

static int on_pool_end(const struct device_step *s)
{
    struct tp_id_entry *entry = tp_id_map_find(&s->d->pools, (int64_t)s->c->object);
    if (entry)
        tp_id_map_remove(&s->d->pools, entry);
    return TP_OK;
}

static int on_trim(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    const struct tp_id_entry *pool = tp_id_map_find(&d->pools, (int64_t)s->c->object);
    struct tp_event ev = *s->base;
    uint32_t stream = 0;
    if (!pool || pool->index == TP_CALL_NO_DEVICE || !d->devices[pool->index].used)
        return TP_OK;
    int rc = tp_recording_default_stream(s, pool->index, &stream);
    ev.op = TP_EV_TRIM;
    ev.size = s->c->size < TP_MAX_SIZE ? s->c->size : TP_MAX_SIZE;
    ev.has_size = true;
    if (!rc)
        rc = tp_recording_use_stream(s, stream, &ev);
    return rc ? rc : tp_recording_hand_in(s, &ev);
}

/* ---- the whole ---- */

int tp_recording_devices_call(struct tp_recording_devices *d, const struct tp_device_call *c,
                              const struct tp_event *base, const struct tp_event_sink *sink,
                              struct tp_err *err)
{
    static int (*const handlers[TP_CALL_KINDS])(const struct device_step *) = {
        [TP_CALL_ALLOC] = on_alloc,
        [TP_CALL_ALLOC_NOW] = on_alloc,
        [TP_CALL_FAILED] = on_failed,
        [TP_CALL_FREE] = on_free,
        [TP_CALL_FREE_NOW] = on_free_now,
        [TP_CALL_STREAM] = tp_recording_on_stream,
        [TP_CALL_STREAM_END] = tp_recording_on_stream_end,
        [TP_CALL_RECORD] = tp_recording_on_record,
        [TP_CALL_WAIT] = tp_recording_on_wait,
        [TP_CALL_EVENT_END] = tp_recording_on_event_end,
        [TP_CALL_SYNC_STREAM] = tp_recording_on_sync_stream,
        [TP_CALL_STREAM_DONE] = tp_recording_on_stream_done,
        [TP_CALL_SYNC_EVENT] = tp_recording_on_sync_event,
        [TP_CALL_SYNC_DEVICE] = tp_recording_on_sync_device,
        [TP_CALL_POOL] = on_pool,
        [TP_CALL_POOL_END] = on_pool_end,
        [TP_CALL_TRIM] = on_trim,
        [TP_CALL_CAPTURE] = tp_recording_on_capture,
        [TP_CALL_CAPTURE_END] = tp_recording_on_capture_end,
        [TP_CALL_RESET] = on_reset,
        [TP_CALL_LEFT_OUT] = on_left_out,
    };
    const struct device_step step = {d, c, base, sink, err};
    return handlers[c->kind](&step);
}

void tp_recording_devices_describe(const struct tp_device_counts *counts, struct tp_meta *meta)
{
    static const char *const left_out[TP_LEFT_REASONS] = {
        [TP_LEFT_MANAGED] = "managed memory, which moves between host and devices, is left out",
        [TP_LEFT_HOST] = "memory of the host that was asked of the driver is left out",
        [TP_LEFT_ARRAY] = "arrays, whose size is not known, are left out",
        [TP_LEFT_PHYSICAL] = "memory that the program maps itself (cuMemCreate) is left out",
        [TP_LEFT_GRAPH] = "allocations in graphs are left out",
        [TP_LEFT_CONTEXT] = "contexts were destroyed; what they held counts as if it were there",
    };
    const struct {
        uint64_t count;
        const char *what;
    } remarks[] = {
        {counts->unseen, "frees of blocks that were there before the recording are left out"},
        {counts->late, "waits for events whose stream had freed more by then are left out"},
        {counts->abroad, "blocks of another device than that of their stream are taken for the "
                         "other's default stream"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i].count)
            tp_meta_remark(meta, "%s: %s", remarks[i].what, tp_count(remarks[i].count).s);
    for (size_t i = 0; i < TP_LEFT_REASONS; i++) {
        uint64_t bytes = counts->left_out_bytes[i];
        if (counts->left_out[i])
            tp_meta_remark(meta, "%s: %s%s%s%s", left_out[i], tp_count(counts->left_out[i]).s,
                           bytes ? " (" : "", bytes ? tp_bytes(bytes, false).s : "",
                           bytes ? ")" : "");
    }
    tp_meta_too_large(meta, counts->too_large);
}
