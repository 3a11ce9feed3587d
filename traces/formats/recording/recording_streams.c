/* See recording_streams.h.
 *
 *      handle -- by_handle --> stream ---- first use --> a stream of the trace
 *      handle -- events    --> stream, and how much it had freed when the event was recorded
 *
 * A handle means another thing after its thing was destroyed. A stream that is used by no
 * allocation and no free is in no trace.
 *
 * What a program knows to be complete is a SYNC. That of an event is one of its stream, if the
 * stream has freed nothing since the event was recorded: a SYNC says that all of the stream is
 * complete.
 *
 * In a capture nothing is done. It spreads to streams that wait for an event of a stream in it, and
 * ends for all of them with CAPTURE_END.
 *
 * Known weakness: order between streams (WAIT) has no event in traces, nor has the order that the
 * default stream makes. A SYNC takes the frees that other threads make while the program waits for
 * those that it waited for. Streams of one device share a stream of the trace from the 256th on
 * that was destroyed. */
#include "traces/formats/recording/recording_streams.h"

enum { RECYCLED = 256 };

int tp_recording_hand_in(const struct device_step *s, struct tp_event *ev)
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

int tp_recording_find_stream(const struct device_step *s, uint32_t *out)
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

int tp_recording_default_stream(const struct device_step *s, uint64_t device, uint32_t *out)
{
    const struct tp_device_call call = {.device = device, .stream = TP_STREAM_LEGACY};
    struct device_step of = *s;
    of.c = &call;
    return tp_recording_find_stream(&of, out);
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

int tp_recording_use_stream(const struct device_step *s, uint32_t stream, struct tp_event *ev)
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
    st->next = TP_RECORDING_NONE;
    if (of->dead_count++)
        d->streams[of->last_dead].next = entry->index;
    else
        of->dead = entry->index;
    of->last_dead = entry->index;
    tp_id_map_remove(&d->by_handle, entry);
}

int tp_recording_on_stream_end(const struct device_step *s)
{
    struct tp_id_entry *entry = tp_id_map_find(&s->d->by_handle, handle_key(s));
    if (entry)
        end_stream(s->d, entry);
    return TP_OK;
}

/* A handle that comes again was destroyed unseen. */
int tp_recording_on_stream(const struct device_step *s)
{
    uint32_t stream = 0;
    tp_recording_on_stream_end(s);
    return tp_recording_find_stream(s, &stream);
}

/* ---- captures ---- */

int tp_recording_on_capture(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    uint32_t stream = 0;
    int rc = tp_recording_find_stream(s, &stream);
    if (!rc)
        rc = TP_READ_GROW(d->r, &d->captures, &d->capture_room, d->capture_count + 1, "captures",
                          s->err);
    if (rc)
        return rc;
    d->captures[d->capture_count++] = true;
    d->streams[stream].capture = (uint32_t)d->capture_count;
    return TP_OK;
}

int tp_recording_on_capture_end(const struct device_step *s)
{
    uint32_t stream = 0;
    int rc = tp_recording_find_stream(s, &stream);
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
    if (*out != TP_RECORDING_NONE) {
        d->dead_event = d->event_records[*out].next;
        return TP_OK;
    }
    int rc =
        TP_READ_GROW(d->r, &d->event_records, &d->event_room, d->event_count + 1, "events", s->err);
    if (!rc)
        *out = (uint32_t)d->event_count++;
    return rc;
}

int tp_recording_on_record(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct tp_id_entry *entry = tp_id_map_find(&d->events, (int64_t)s->c->object);
    uint32_t stream = 0, event = entry ? entry->index : 0;
    int rc = tp_recording_find_stream(s, &stream);
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

int tp_recording_on_event_end(const struct device_step *s)
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
int tp_recording_on_wait(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    const struct tp_id_entry *entry = tp_id_map_find(&d->events, (int64_t)s->c->object);
    uint32_t stream = 0, capture = entry ? d->event_records[entry->index].capture : 0;
    if (!tp_recording_is_open(d, capture))
        return TP_OK;
    int rc = tp_recording_find_stream(s, &stream);
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
    int rc = tp_recording_use_stream(s, stream, &ev);
    return rc ? rc : tp_recording_hand_in(s, &ev);
}

int tp_recording_on_sync_stream(const struct device_step *s)
{
    uint32_t stream = 0;
    int rc = tp_recording_find_stream(s, &stream);
    return rc ? rc : sync_stream(s, stream, false);
}

/* Says nothing new to a stream that has freed nothing since. */
static int sync_again(const struct device_step *s, uint32_t stream)
{
    const struct device_stream *st = &s->d->streams[stream];
    return st->synced == st->frees ? TP_OK : sync_stream(s, stream, false);
}

int tp_recording_on_stream_done(const struct device_step *s)
{
    uint32_t stream = 0;
    int rc = tp_recording_find_stream(s, &stream);
    return rc ? rc : sync_again(s, stream);
}

int tp_recording_on_sync_event(const struct device_step *s)
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
int tp_recording_on_sync_device(const struct device_step *s)
{
    struct tp_recording_devices *d = s->d;
    struct device_state *of = &d->devices[s->c->device];
    struct tp_event ev = *s->base;
    bool alone = of->used == d->used, some = false;
    int rc = TP_OK;
    for (uint32_t next = TP_RECORDING_NONE; !rc && of->freed != TP_RECORDING_NONE;
         of->freed = next) {
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
    return rc || !alone || !d->used ? rc : tp_recording_hand_in(s, &ev);
}

void tp_recording_note_free(struct tp_recording_devices *d, uint32_t stream)
{
    struct device_stream *st = &d->streams[stream];
    st->frees++;
    if (st->listed)
        return;
    st->listed = true;
    st->freed = d->devices[st->device].freed;
    d->devices[st->device].freed = stream;
}
