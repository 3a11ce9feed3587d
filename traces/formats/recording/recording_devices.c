/* See recording_devices.h.
 *
 *      handle -- streams --> stream ---- first use --> a stream of the trace
 *      handle -- events  --> stream, and how much it had freed when the event was recorded
 *      handle -- pools   --> device
 *
 * A handle means another thing after its thing was destroyed. A stream that is used by no
 * allocation and no free is in no trace.
 *
 * What a program knows to be complete is a SYNC. That of an event is one of its stream, if the
 * stream has freed nothing since the event was recorded: a SYNC says that all of the stream is
 * complete.
 *
 * In a capture nothing is done. It spreads to streams that wait for an event of a stream in it, and
 * ends for all of them with CAPTURE_END; allocations in it are left out.
 *
 * Known weakness: order between streams (WAIT) and work on memory have no event in traces, nor has
 * the order that the default stream makes. A SYNC takes the frees that other threads make while the
 * program waits for those that it waited for. Streams of one device share a stream of the trace
 * from the 256th on that was destroyed. */
#include "traces/formats/recording/recording_devices.h"

#include "alloc/base/id_map.h"
#include "alloc/base/numbers.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX /* of indices */
enum { RECYCLED = 256 };

struct device_stream {
    uint64_t frees;   /* so far */
    uint64_t synced;  /* frees that are known to be complete */
    uint32_t capture; /* number of the capture that it is in, from 1; 0: none */
    uint32_t next;    /* of the streams of its device that were destroyed; NONE: the last */
    uint32_t freed;   /* the next in the list of streams that have freed since the last SYNC */
    uint32_t id;      /* in the trace, where it is used */
    uint16_t device;
    bool used;   /* the trace has it */
    bool listed; /* in the list of `freed` */
};

struct device_event {
    uint64_t frees; /* of its stream when it was recorded */
    uint32_t stream, capture;
    uint32_t next; /* the next that was destroyed */
};

/* One of the devices of the program. */
struct device_state {
    uint32_t dead, last_dead, dead_count; /* streams that were destroyed, the oldest first */
    uint32_t freed;                       /* streams that have freed since the last SYNC */
    uint32_t resets;
    uint32_t used; /* streams that the trace has */
};

struct tp_recording_devices {
    const struct tp_reading *r;
    struct tp_pointers *pointers;
    struct tp_device_counts *counts;
    struct tp_id_map by_handle; /* stream */
    struct tp_id_map events, pools;
    struct tp_id_map elsewhere; /* addresses of blocks that are in no trace */
    struct device_stream *streams;
    struct device_event *event_records;
    bool *captures; /* of each, from 1: it goes on */
    size_t stream_count, stream_room, event_count, event_room, capture_count, capture_room;
    uint32_t dead_event;
    uint32_t used;  /* streams that the trace has */
    int64_t first;  /* device of the stream 0 of the trace; -1: none is declared */
    uint32_t taken; /* numbers of streams */
    struct device_state devices[TP_CALL_DEVICES];
};

/* One call on its way. */
struct device_step {
    struct tp_recording_devices *d;
    const struct tp_device_call *c;
    const struct tp_event *base;
    const struct tp_event_sink *sink;
    struct tp_err *err;
};

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
    d->dead_event = NONE;
    for (size_t i = 0; i < TP_CALL_DEVICES; i++)
        d->devices[i].dead = d->devices[i].last_dead = d->devices[i].freed = NONE;
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

static int hand_in(const struct device_step *s, struct tp_event *ev)
{
    return s->sink->event(s->sink->ctx, ev, s->err);
}

/* ---- streams ---- */

/* A stream that was destroyed long ago, or a new one. */
static int make_stream(const struct device_step *s, uint16_t device, uint32_t *out)
{
    struct tp_recording_devices *d = s->d;
    struct device_state *of = &d->devices[device];
    if (of->dead_count >= RECYCLED) {
        *out = of->dead;
        of->dead = d->streams[*out].next;
        of->dead_count--;
        return TP_OK;
    }
    int rc =
        TP_READ_GROW(d->r, &d->streams, &d->stream_room, d->stream_count + 1, "streams", s->err);
    if (rc)
        return rc;
    *out = (uint32_t)d->stream_count++;
    d->streams[*out] = (struct device_stream){.device = device};
    return TP_OK;
}

/* The streams without handles have one of their device, and of their thread. No pointer of a
 * program has these values. */
static int64_t handle_key(const struct device_step *s)
{
    uint64_t device = s->c->device + 1;
    if (s->c->stream == TP_STREAM_LEGACY)
        return (int64_t)(UINT64_C(1) << 63 | device);
    if (s->c->stream == TP_STREAM_PER_THREAD)
        return (int64_t)(UINT64_C(3) << 62 | (s->base->thread & UINT32_MAX) << 16 | device);
    return (int64_t)s->c->stream;
}

/* The stream that a handle means now; one that was not seen before is taken for a stream of the
 * call's device. */
static int find_stream(const struct device_step *s, uint32_t *out)
{
    int64_t key = handle_key(s);
    struct tp_id_entry *entry = tp_id_map_find(&s->d->by_handle, key);
    if (entry) {
        *out = entry->index;
        return TP_OK;
    }
    int rc = make_stream(s, (uint16_t)s->c->device, out);
    return rc ? rc : tp_id_map_put(&s->d->by_handle, key, *out, s->err);
}

static int default_stream(const struct device_step *s, uint64_t device, uint32_t *out)
{
    const struct tp_device_call call = {.device = device, .stream = TP_STREAM_LEGACY};
    struct device_step of = *s;
    of.c = &call;
    return find_stream(&of, out);
}

/* Declares a stream in the trace. The first request was looked for before threads were put in
 * order, so it may be of another device in the end. */
static int declare(struct tp_recording_devices *d, struct device_stream *st, struct tp_err *err)
{
    st->id = d->taken ? d->taken : d->first != st->device;
    int rc = tp_lower_need_stream(d->r->lower, st->id, st->device, err);
    if (rc)
        return rc;
    d->taken = st->id + 1;
    st->used = true;
    d->devices[st->device].used++;
    d->used++;
    return TP_OK;
}

static int use_stream(const struct device_step *s, uint32_t stream, struct tp_event *ev)
{
    struct device_stream *st = &s->d->streams[stream];
    int rc = st->used ? TP_OK : declare(s->d, st, s->err);
    ev->has_stream = true;
    ev->stream = st->id;
    return rc ? tp_event_placed(ev, s->d->r->in, rc, s->err) : TP_OK;
}

static void end_stream(struct tp_recording_devices *d, struct tp_id_entry *entry)
{
    struct device_stream *st = &d->streams[entry->index];
    struct device_state *of = &d->devices[st->device];
    st->capture = 0;
    st->next = NONE;
    if (of->dead_count++)
        d->streams[of->last_dead].next = entry->index;
    else
        of->dead = entry->index;
    of->last_dead = entry->index;
    tp_id_map_remove(&d->by_handle, entry);
}

static int on_stream_end(const struct device_step *s)
{
    struct tp_id_entry *entry = tp_id_map_find(&s->d->by_handle, handle_key(s));
    if (entry)
        end_stream(s->d, entry);
    return TP_OK;
}

/* A handle that comes again was destroyed unseen. */
static int on_stream(const struct device_step *s)
{
    uint32_t stream = 0;
    on_stream_end(s);
    return find_stream(s, &stream);
}

/* ---- captures ---- */

static uint32_t capture_of(const struct tp_recording_devices *d, uint32_t capture)
{
    return capture && d->captures[capture - 1] ? capture : 0;
}

static int on_capture(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    uint32_t stream = 0;
    int rc = find_stream(s, &stream);
    if (!rc)
        rc = TP_READ_GROW(d->r, &d->captures, &d->capture_room, d->capture_count + 1, "captures",
                          s->err);
    if (rc)
        return rc;
    d->captures[d->capture_count++] = true;
    d->streams[stream].capture = (uint32_t)d->capture_count;
    return TP_OK;
}

static int on_capture_end(const struct device_step *s)
{
    uint32_t stream = 0;
    int rc = find_stream(s, &stream);
    if (rc)
        return rc;
    uint32_t capture = s->d->streams[stream].capture;
    if (capture)
        s->d->captures[capture - 1] = false;
    return TP_OK;
}

/* ---- events ---- */

static int make_event(const struct device_step *s, uint32_t *out)
{
    struct tp_recording_devices *d = s->d;
    *out = d->dead_event;
    if (*out != NONE) {
        d->dead_event = d->event_records[*out].next;
        return TP_OK;
    }
    int rc =
        TP_READ_GROW(d->r, &d->event_records, &d->event_room, d->event_count + 1, "events", s->err);
    if (!rc)
        *out = (uint32_t)d->event_count++;
    return rc;
}

static int on_record(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_id_entry *entry = tp_id_map_find(&d->events, (int64_t)s->c->object);
    uint32_t stream = 0, event = entry ? entry->index : 0;
    int rc = find_stream(s, &stream);
    if (!rc && !entry)
        rc = make_event(s, &event);
    if (!rc && !entry)
        rc = tp_id_map_put(&d->events, (int64_t)s->c->object, event, s->err);
    if (!rc)
        d->event_records[event] = (struct device_event){.stream = stream,
                                                        .frees = d->streams[stream].frees,
                                                        .capture = d->streams[stream].capture};
    return rc;
}

static int on_event_end(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_id_entry *entry = tp_id_map_find(&d->events, (int64_t)s->c->object);
    if (!entry)
        return TP_OK;
    d->event_records[entry->index].next = d->dead_event;
    d->dead_event = entry->index;
    tp_id_map_remove(&d->events, entry);
    return TP_OK;
}

/* Nothing but a capture goes from one stream to another here. */
static int on_wait(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    const struct tp_id_entry *entry = tp_id_map_find(&d->events, (int64_t)s->c->object);
    uint32_t stream = 0, capture = entry ? d->event_records[entry->index].capture : 0;
    if (!capture_of(d, capture))
        return TP_OK;
    int rc = find_stream(s, &stream);
    if (!rc)
        d->streams[stream].capture = capture;
    return rc;
}

/* ---- synchronisation ---- */

static int sync_stream(const struct device_step *s, uint32_t stream, bool uncounted)
{
    struct device_stream *st = &s->d->streams[stream];
    struct tp_event ev = *s->base;
    ev.op = TP_EV_SYNC;
    ev.uncounted = uncounted;
    st->synced = st->frees;
    if (!st->used)
        return TP_OK;
    int rc = use_stream(s, stream, &ev);
    return rc ? rc : hand_in(s, &ev);
}

static int on_sync_stream(const struct device_step *s)
{
    uint32_t stream = 0;
    int rc = find_stream(s, &stream);
    return rc ? rc : sync_stream(s, stream, false);
}

/* Says nothing new to a stream that has freed nothing since. */
static int sync_again(const struct device_step *s, uint32_t stream)
{
    const struct device_stream *st = &s->d->streams[stream];
    return st->synced == st->frees ? TP_OK : sync_stream(s, stream, false);
}

static int on_stream_done(const struct device_step *s)
{
    uint32_t stream = 0;
    int rc = find_stream(s, &stream);
    return rc ? rc : sync_again(s, stream);
}

static int on_sync_event(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    const struct tp_id_entry *entry = tp_id_map_find(&d->events, (int64_t)s->c->object);
    if (!entry)
        return TP_OK;
    const struct device_event *e = &d->event_records[entry->index];
    if (e->frees == d->streams[e->stream].frees)
        return sync_again(s, e->stream);
    d->counts->late++;
    return TP_OK;
}

/* One SYNC where the trace has no other device; else one for each stream of the device that has
 * freed since its last. */
static int on_sync_device(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct device_state *of = &d->devices[s->c->device];
    struct tp_event ev = *s->base;
    bool alone = of->used == d->used, some = false;
    int rc = TP_OK;
    for (uint32_t next = NONE; !rc && of->freed != NONE; of->freed = next) {
        struct device_stream *st = &d->streams[of->freed];
        next = st->freed;
        st->listed = false;
        if (alone)
            st->synced = st->frees;
        else if (st->synced != st->frees) {
            rc = sync_stream(s, of->freed, some);
            some = true;
        }
    }
    ev.op = TP_EV_SYNC;
    return rc || !alone || !d->used ? rc : hand_in(s, &ev);
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
    int rc = find_stream(s, stream);
    if (rc)
        return rc;
    uint32_t device = pool ? pool->index : d->streams[*stream].device;
    bool captured = capture_of(d, d->streams[*stream].capture) != 0;
    *left = captured || device == TP_CALL_NO_DEVICE;
    if (*left)
        return leave_out(s, captured ? TP_LEFT_GRAPH : TP_LEFT_HOST);
    if (device == d->streams[*stream].device)
        return TP_OK;
    d->counts->abroad++;
    return default_stream(s, device, stream);
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
    rc = use_stream(s, stream, &ev);
    if (!rc)
        rc = tp_pointers_add(d->pointers, s->c->object, &ev.id, s->err);
    if (rc)
        return rc;
    tp_id_map_find(&d->pointers->map, (int64_t)s->c->object)->refs =
        owner(d, d->streams[stream].device);
    return hand_in(s, &ev);
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
    rc = use_stream(s, stream, &ev);
    return rc ? rc : hand_in(s, &ev);
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
    d->counts->strangers += !stands;
    return stands ? id : 0;
}

static int on_free_now(const struct device_step *s)
{
    uint32_t device = 0;
    struct tp_event ev = *s->base;
    ev.op = TP_EV_FREE;
    ev.id = freed_id(s->d, s->c->object, &device);
    return ev.id ? hand_in(s, &ev) : TP_OK;
}

static void note_free(struct tp_recording_devices *d, uint32_t stream)
{
    struct device_stream *st = &d->streams[stream];
    st->frees++;
    if (st->listed)
        return;
    st->listed = true;
    st->freed = d->devices[st->device].freed;
    d->devices[st->device].freed = stream;
}

/* In a capture it is a part of the graph. A stream of another device cannot be said. */
static int on_free(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_event ev = *s->base;
    uint32_t stream = 0, device = 0;
    int rc = find_stream(s, &stream);
    if (rc || capture_of(d, d->streams[stream].capture))
        return rc;
    ev.op = TP_EV_FREE;
    ev.id = freed_id(d, s->c->object, &device);
    if (!ev.id)
        return TP_OK;
    note_free(d, stream);
    if (device == d->streams[stream].device)
        rc = use_stream(s, stream, &ev);
    return rc ? rc : hand_in(s, &ev);
}

static int on_reset(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_event ev = *s->base;
    uint32_t stream = 0;
    d->devices[s->c->device].resets++;
    if (!d->devices[s->c->device].used)
        return TP_OK;
    int rc = default_stream(s, s->c->device, &stream);
    ev.op = TP_EV_RESET;
    if (!rc)
        rc = use_stream(s, stream, &ev);
    return rc ? rc : hand_in(s, &ev);
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
    int rc = default_stream(s, pool->index, &stream);
    ev.op = TP_EV_TRIM;
    ev.size = s->c->size < TP_MAX_SIZE ? s->c->size : TP_MAX_SIZE;
    ev.has_size = true;
    if (!rc)
        rc = use_stream(s, stream, &ev);
    return rc ? rc : hand_in(s, &ev);
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
        [TP_CALL_STREAM] = on_stream,
        [TP_CALL_STREAM_END] = on_stream_end,
        [TP_CALL_RECORD] = on_record,
        [TP_CALL_WAIT] = on_wait,
        [TP_CALL_EVENT_END] = on_event_end,
        [TP_CALL_SYNC_STREAM] = on_sync_stream,
        [TP_CALL_STREAM_DONE] = on_stream_done,
        [TP_CALL_SYNC_EVENT] = on_sync_event,
        [TP_CALL_SYNC_DEVICE] = on_sync_device,
        [TP_CALL_POOL] = on_pool,
        [TP_CALL_POOL_END] = on_pool_end,
        [TP_CALL_TRIM] = on_trim,
        [TP_CALL_CAPTURE] = on_capture,
        [TP_CALL_CAPTURE_END] = on_capture_end,
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
        {counts->strangers, "frees of blocks that were there before the recording are left out"},
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
