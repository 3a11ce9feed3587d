/* Fences from a fixed number of events: see cuda_source.h.
 *
 * Known weakness: with more than a thousand pending fences, a fence may be reported as passed later
 * than it did. */
#include "cuda/cuda_source.h"

#include <stdlib.h>

static int create_events(struct cuda_fences *f, struct cuda_gpu *g, struct tp_err *err)
{
    int rc = CUDA_ASK(&g->driver, err, EventCreate, &f->order, CU_EVENT_DISABLE_TIMING);
    for (uint32_t i = 0; !rc && i < f->event_count; i++)
        rc = CUDA_ASK(&g->driver, err, EventCreate, &f->events[i].event, CU_EVENT_DISABLE_TIMING);
    return rc;
}

int tp_cuda_fences_open(struct cuda_source *s, struct tp_err *err)
{
    struct cuda_fences *f = &s->fences;
    uint32_t streams = s->stream_count, events = FENCE_EVENTS + FENCE_EVENTS_PER_STREAM * streams;
    *f = (struct cuda_fences){.event_count = events, .stream_count = streams};
    f->events = calloc(events, sizeof *f->events);
    f->streams = calloc(streams, sizeof *f->streams);
    if (!f->events || !f->streams)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < streams; i++)
        f->streams[i] =
            (struct fence_stream){.handle = s->streams[i], .head = FENCE_NONE, .tail = FENCE_NONE};
    for (uint32_t i = 0; i < events; i++)
        f->events[i].next = i + 1 < events ? i + 1 : FENCE_NONE;
    return create_events(f, &s->gpu, err);
}

void tp_cuda_fences_close(struct cuda_source *s)
{
    struct cuda_fences *f = &s->fences;
    if (f->order)
        CUDA_LOOK(&s->gpu, EventDestroy, f->order);
    for (uint32_t i = 0; f->events && i < f->event_count && f->events[i].event; i++)
        CUDA_LOOK(&s->gpu, EventDestroy, f->events[i].event);
    free(f->events);
    free(f->streams);
    *f = (struct cuda_fences){0};
}

/* ---- the stream's queue ---- */

static void append(struct cuda_fences *f, struct fence_stream *s, uint32_t at, uint64_t serial)
{
    f->events[at].serial = serial;
    f->events[at].next = FENCE_NONE;
    if (s->tail == FENCE_NONE)
        s->head = at;
    else
        f->events[s->tail].next = at;
    s->tail = at;
    s->count++;
}

static uint32_t take_head(struct cuda_fences *f, struct fence_stream *s)
{
    uint32_t at = s->head;
    s->head = f->events[at].next;
    if (s->head == FENCE_NONE)
        s->tail = FENCE_NONE;
    s->count--;
    return at;
}

static void make_idle(struct cuda_fences *f, uint32_t at)
{
    f->events[at].next = f->idle;
    f->idle = at;
}

static void end_work(struct cuda_fences *f, struct fence_stream *s)
{
    f->working -= s->worked != 0;
    s->worked = 0;
}

/* Notes that the stream has passed its event `at`, and so all events before it. */
static void pass_through(struct cuda_fences *f, struct fence_stream *s, uint32_t at)
{
    s->passed = f->events[at].serial;
    if (s->worked <= s->passed)
        end_work(f, s);
    for (uint32_t head = FENCE_NONE; head != at;) {
        head = take_head(f, s);
        make_idle(f, head);
    }
}

static void pass_all(struct cuda_fences *f, struct fence_stream *s)
{
    if (s->tail != FENCE_NONE)
        pass_through(f, s, s->tail);
    s->passed = s->last;
    end_work(f, s);
}

/* The stream's first event with the serial of the fence or a later one. */
static uint32_t event_of(const struct cuda_fences *f, const struct fence_stream *s, uint64_t serial)
{
    uint32_t at = s->head;
    while (f->events[at].serial < serial)
        at = f->events[at].next;
    return at;
}

/* Asks the driver whether an event has passed. A failure is recorded and means no. */
static bool has_passed(struct cuda_fences *f, struct cuda_gpu *g, struct fence_stream *s,
                       uint32_t at)
{
    CUresult code = CUDA_CALL(g, EventQuery, f->events[at].event);
    if (code == CUDA_SUCCESS)
        pass_through(f, s, at);
    else if (code != CUDA_ERROR_NOT_READY)
        tp_cuda_lose(g, "cuEventQuery", code);
    return code == CUDA_SUCCESS;
}

/* ---- recording ---- */

/* Takes an event when none is idle and the stream has none: the oldest of the stream with most
 * events, whose oldest fences then pass with the event after it. There are more events than
 * streams, so that stream has at least two. */
static uint32_t steal(struct cuda_fences *f)
{
    struct fence_stream *most = &f->streams[0];
    for (uint32_t i = 1; i < f->stream_count; i++)
        if (f->streams[i].count > most->count)
            most = &f->streams[i];
    return take_head(f, most);
}

/* Makes the stream's passed events idle. Each query tests an event twice as far ahead: testing them
 * one by one would need a query for each fence, even for a strategy that never asks about fences.
 */
static void reclaim(struct cuda_fences *f, struct cuda_gpu *g, struct fence_stream *s)
{
    for (uint32_t skipped = 0; s->head != FENCE_NONE; skipped = 2 * skipped + 1) {
        uint32_t at = s->head;
        for (uint32_t i = 0; i < skipped && f->events[at].next != FENCE_NONE; i++)
            at = f->events[at].next;
        if (!has_passed(f, g, s, at))
            return;
    }
}

/* An event to record that is in no queue; FENCE_NONE: the stream's newest event must be recorded
 * again. */
static uint32_t take_event(struct cuda_fences *f, struct cuda_gpu *g, struct fence_stream *s)
{
    if (f->idle == FENCE_NONE && s->head != FENCE_NONE) {
        reclaim(f, g, s);
        if (f->idle == FENCE_NONE)
            return FENCE_NONE;
    }
    for (uint32_t i = 0; f->idle == FENCE_NONE && i < f->stream_count; i++)
        reclaim(f, g, &f->streams[i]);
    uint32_t at = f->idle;
    if (at == FENCE_NONE)
        return steal(f);
    f->idle = f->events[at].next;
    return at;
}

void tp_cuda_record(void *state, uint16_t stream, struct tp_fence *out)
{
    struct cuda_source *source = state;
    struct cuda_fences *f = &source->fences;
    struct cuda_gpu *g = &source->gpu;
    assert(stream < f->stream_count);
    struct fence_stream *s = &f->streams[stream];
    *out = (struct tp_fence){.time_ns = source->now_ns ? *source->now_ns : 0, .stream = stream};
    if (cuda_enter(g))
        return;
    uint32_t fresh = take_event(f, g, s);
    uint32_t at = fresh == FENCE_NONE ? s->tail : fresh;
    /* a query may have reported a failure */
    if (cuda_enter(g) || CUDA_TRY(g, EventRecord, f->events[at].event, s->handle)) {
        if (fresh != FENCE_NONE)
            make_idle(f, fresh);
        return;
    }
    out->serial = s->last = ++f->serial;
    if (fresh != FENCE_NONE)
        append(f, s, fresh, out->serial);
    else
        f->events[at].serial = out->serial;
}

/* ---- looking and waiting ---- */

static bool is_known(const struct fence_stream *s, uint64_t serial)
{
    return serial <= s->passed || serial > s->last || s->head == FENCE_NONE;
}

bool tp_cuda_done(void *state, const struct tp_fence *fence)
{
    struct cuda_source *source = state;
    struct cuda_fences *f = &source->fences;
    struct fence_stream *s = &f->streams[fence->stream];
    if (is_known(s, fence->serial))
        return true;
    /* The oldest event is queried first: usually it is the requested one, or it is still pending.
     * So the queue is walked to a later event only when one leaves the queue. */
    if (cuda_enter(&source->gpu) || !has_passed(f, &source->gpu, s, s->head))
        return false;
    return is_known(s, fence->serial) ||
           has_passed(f, &source->gpu, s, event_of(f, s, fence->serial));
}

int tp_cuda_wait(void *state, const struct tp_fence *fence)
{
    struct cuda_source *source = state;
    struct cuda_fences *f = &source->fences;
    struct fence_stream *s = &f->streams[fence->stream];
    if (is_known(s, fence->serial))
        return TP_OK;
    int rc = cuda_enter(&source->gpu);
    if (rc)
        return rc;
    uint32_t at = event_of(f, s, fence->serial);
    source->gpu.counts.syncs++;
    rc = CUDA_TRY(&source->gpu, EventSynchronize, f->events[at].event);
    if (!rc)
        pass_through(f, s, at);
    return rc;
}

/* Synchronises a stream, or the device with TP_ALL_STREAMS, after which all its fences have
 * passed. */
void tp_cuda_synced(void *state, uint16_t stream)
{
    struct cuda_source *source = state;
    struct cuda_fences *f = &source->fences;
    struct cuda_gpu *g = &source->gpu;
    bool all = stream == TP_ALL_STREAMS;
    assert(all || stream < f->stream_count);
    if (cuda_enter(g))
        return;
    g->counts.syncs += !all; /* cuda_synchronize counts itself */
    if (all ? cuda_synchronize(g) : CUDA_TRY(g, StreamSynchronize, f->streams[stream].handle))
        return;
    for (uint32_t i = all ? 0 : stream; i < (all ? f->stream_count : stream + 1u); i++)
        pass_all(f, &f->streams[i]);
}

/* Asks again and again, because a synchronisation would make the driver's pools give memory back.
 */
static int drain(struct cuda_fences *f, struct cuda_gpu *g, struct fence_stream *s)
{
    CUresult code;
    do
        code = g->driver.StreamQuery(s->handle);
    while (code == CUDA_ERROR_NOT_READY);
    int rc = cuda_status(g, "cuStreamQuery", code);
    if (!rc)
        pass_all(f, s); /* here, so that a `synced` that is timed finds nothing to do */
    return rc;
}

void tp_cuda_drained(void *state, uint16_t stream)
{
    struct cuda_source *source = state;
    struct cuda_fences *f = &source->fences;
    struct cuda_gpu *g = &source->gpu;
    CUcontext found = g->current ? *g->current : NULL;
    bool all = stream == TP_ALL_STREAMS, other = found != g->context;
    assert(all || stream < f->stream_count);
    if (g->failure.status)
        return;
    /* not cuda_enter, so that counts are those of a program that does not look */
    int rc = other ? CUDA_LOOK(g, CtxSetCurrent, g->context) : TP_OK;
    for (uint32_t i = all ? 0 : stream; !rc && i < (all ? f->stream_count : stream + 1u); i++)
        rc = drain(f, g, &f->streams[i]);
    if (other && found)
        CUDA_LOOK(g, CtxSetCurrent, found);
}

void tp_cuda_fences_work(struct cuda_fences *f, uint16_t stream)
{
    struct fence_stream *s = &f->streams[stream];
    f->working += s->worked == 0;
    s->worked = s->last + 1; /* serials ascend, so the next fence has this one or a later one */
}

int tp_cuda_finish_work(struct cuda_source *s)
{
    if (__builtin_expect(s->fences.working == 0, 1))
        return TP_OK;
    tp_cuda_synced(s, TP_ALL_STREAMS);
    return cuda_enter(&s->gpu);
}

int tp_cuda_follow(void *state, uint16_t stream, uint16_t after)
{
    struct cuda_source *source = state;
    const struct cuda_fences *f = &source->fences;
    struct cuda_gpu *g = &source->gpu;
    assert(stream < f->stream_count && after < f->stream_count);
    int rc = stream == after ? TP_OK : cuda_enter(g);
    if (rc || stream == after)
        return rc;
    rc = CUDA_TRY(g, EventRecord, f->order, f->streams[after].handle);
    if (rc)
        return rc;
    g->counts.event_waits++;
    return CUDA_TRY(g, StreamWaitEvent, f->streams[stream].handle, f->order, 0);
}
