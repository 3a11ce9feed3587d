/* Events of threads are merged by time: a heap of the threads, each with its next event.
 *
 * A free is stamped before it is done and an allocation after, so an address is free by the time at
 * which it is given out again, except where
 *
 *     - a realloc moved a block: its old place is free at some time between the two stamps. The
 *       event waits in the heap for the second one, and is taken earlier when another thread's
 *       block appears at the old place;
 *     - two stamps are the same, or the counters of two cores differ by a little: the allocation
 *       waits for the free, up to SLACK_NS of the recording's time. A free that has not come by
 * then was not seen, and lowering ends the old block there. */
#include "traces/formats/recording/recording_merge.h"

#include "alloc/base/id_map.h"
#include "traces/formats/recording/recording_stacks.h"
#include "traces/formats/recording/recording_thread.h"
#include "traces/lower/host_calls.h"

#include <inttypes.h>
#include <string.h>

#define SLACK_NS 20000.0

enum { CHAIN_MAX = 64, STOP_EVENTS = 1 << 16 };

enum thread_state {
    THREAD_NEXT,    /* its next event is to be read */
    THREAD_READY,   /* its event is due */
    THREAD_MOVING,  /* its MOVE has begun, and is due at its end */
    THREAD_WAITING, /* its event needs an address that is still in use */
};

/* A thread in the heap. */
struct merge_thread {
    struct tp_recording_thread t;
    struct tp_recording_event ev;
    struct tp_recording_caller caller;
    uint64_t key;   /* when it is looked at next, ticks >> shift */
    uint64_t first; /* time of its first chunk */
    size_t at;      /* its place in the heap */
    enum thread_state state;
    bool busy; /* its event is being emitted */
};

struct merge {
    const struct tp_reading *r;
    const struct tp_recording *rec;
    struct tp_merge_counts *counts;
    struct merge_thread *threads; /* one a thread */
    uint32_t *heap;               /* indices of threads, the one with the least key first */
    size_t threads_room, heap_room, size;
    struct tp_host_calls calls;
    struct tp_recording_stacks stacks;
    struct tp_recording_devices *devices; /* of a recording of devices; else NULL */
    struct tp_id_map moving;              /* old address of a MOVE that has begun -> thread */
    struct tp_id_map waiting;             /* address that a thread waits for -> thread */
    uint64_t begin;                       /* ticks >> shift of the first event */
    uint64_t slack, last_ns, taken;
    unsigned chain; /* events that wait for one another, now */
};

/* ---- the heap ---- */

static bool frees(const struct merge_thread *l)
{
    return l->state == THREAD_READY && l->ev.op == TP_REC_FREE;
}

static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
    const struct merge_thread *x = &m->threads[a], *y = &m->threads[b];
    if (x->key != y->key)
        return x->key < y->key;
    return frees(x) != frees(y) ? frees(x) : a < b;
}

static void set_thread(struct merge *m, size_t at, uint32_t thread)
{
    m->heap[at] = thread;
    m->threads[thread].at = at;
}

static void sift(struct merge *m, size_t at)
{
    uint32_t thread = m->heap[at];
    for (; at && before(m, thread, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        set_thread(m, at, m->heap[(at - 1) / 2]);
    for (size_t child; (child = 2 * at + 1) < m->size; at = child) {
        child += child + 1 < m->size && before(m, m->heap[child + 1], m->heap[child]);
        if (!before(m, m->heap[child], thread))
            break;
        set_thread(m, at, m->heap[child]);
    }
    set_thread(m, at, thread);
}

static void move_to(struct merge *m, struct merge_thread *l, enum thread_state state, uint64_t key)
{
    l->state = state;
    l->key = key;
    sift(m, l->at);
}

static void drop(struct merge *m, const struct merge_thread *l)
{
    size_t at = l->at;
    uint32_t last = m->heap[--m->size];
    if (at == m->size)
        return;
    set_thread(m, at, last);
    sift(m, at);
}

/* ---- events ---- */

static uint32_t index_of(const struct merge *m, const struct merge_thread *l)
{
    return (uint32_t)(l - m->threads);
}

/* The thread that a map has for an address; NULL: none. */
static struct merge_thread *thread_of(const struct merge *m, const struct tp_id_map *map,
                                      uint64_t address)
{
    const struct tp_id_entry *entry = tp_id_map_find(map, (int64_t)address);
    return entry ? &m->threads[entry->index] : NULL;
}

static int remember(const struct merge *m, struct tp_id_map *map, uint64_t address,
                    const struct merge_thread *l, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(map, (int64_t)address, index_of(m, l), &entry, err);
    if (!rc)
        entry->index = index_of(m, l);
    return rc;
}

static void forget(const struct merge *m, struct tp_id_map *map, uint64_t address,
                   const struct merge_thread *l)
{
    struct tp_id_entry *entry = tp_id_map_find(map, (int64_t)address);
    if (entry && entry->index == index_of(m, l))
        tp_id_map_remove(map, entry);
}

/* ns since the first event. Events that were put before earlier ones share the later time. */
static uint64_t time_of(struct merge *m, uint64_t ticks)
{
    const struct tp_recording_head *h = &m->rec->head;
    uint64_t since = ticks > m->begin ? ticks - m->begin : 0;
    double ns = (double)since * (double)(UINT64_C(1) << h->shift) * h->ns_per_tick;
    uint64_t now = ns < (double)TP_MAX_TIME ? (uint64_t)ns : TP_MAX_TIME;
    if (now > m->last_ns)
        m->last_ns = now;
    return m->last_ns;
}

static struct tp_event event_of(struct merge *m, const struct merge_thread *l, uint64_t ticks)
{
    return (struct tp_event){.size = l->ev.size,
                             .align = l->ev.align,
                             .thread = index_of(m, l),
                             .has_time = true,
                             .time_ns = time_of(m, ticks),
                             .has_offset = true,
                             .offset = l->ev.offset};
}

/* Numbers the pauses that have begun by `now`, ticks >> shift. */
static void place_pauses(struct merge *m, uint64_t now)
{
    const struct tp_recording_head *h = &m->rec->head;
    uint32_t all = atomic_load(&h->pauses), *n = &m->counts->pauses;
    const uint32_t most = all < TP_REC_PAUSES ? all : TP_REC_PAUSES;
    while (*n < most && atomic_load(&h->pause[*n].from) >> h->shift <= now)
        m->counts->paused_at[(*n)++] = tp_lower_count(m->r->lower) + 1;
}

static int lower(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct merge *m = ctx;
    if (m->r->opts->stop && m->taken++ % STOP_EVENTS == 0) {
        int rc = m->r->opts->stop(err);
        if (rc)
            return rc;
    }
    int rc = tp_lower_read_event(m->r->lower, ev, err);
    return rc || (ev->op != TP_EV_ALLOC && ev->op != TP_EV_REALLOC)
               ? rc
               : tp_recording_stacks_give(&m->stacks, &m->threads[ev->thread].caller, err);
}

static int resize(struct merge *m, struct merge_thread *l, uint64_t to, struct tp_err *err)
{
    struct tp_event ev = event_of(m, l, l->ev.end);
    if (l->ev.only_seen && tp_pointers_find(&m->calls.pointers, l->ev.address) < 0)
        return TP_OK;
    return tp_host_realloc(&m->calls, &ev, l->ev.address, to, err);
}

static int mark(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    char name[TP_RECORDING_MARK + 1];
    memcpy(name, l->ev.body, l->ev.body_bytes);
    name[l->ev.body_bytes] = '\0';
    struct tp_event ev = event_of(m, l, l->ev.time);
    ev.op = TP_EV_MARK;
    ev.name = name;
    return lower(m, &ev, err);
}

static int device_call(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    struct tp_event base = event_of(m, l, l->ev.time);
    base.size = base.align = 0;
    return m->devices
               ? tp_recording_devices_call(m->devices, &l->ev.call, &base, &m->calls.sink, err)
               : TP_OK;
}

static int emit(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    struct tp_event ev;
    place_pauses(m, l->ev.end);
    if (l->ev.more == TP_MORE_DEVICE)
        return device_call(m, l, err);
    switch (l->ev.op) {
    case TP_REC_ALLOC:
    case TP_REC_ALIGNED:
        ev = event_of(m, l, l->ev.end);
        return tp_host_alloc(&m->calls, &ev, l->ev.address, err);
    case TP_REC_RESIZE:
        return resize(m, l, l->ev.address, err);
    case TP_REC_MOVE:
        return resize(m, l, l->ev.to, err);
    case TP_REC_FREE:
        ev = event_of(m, l, l->ev.time);
        return tp_host_free(&m->calls, &ev, l->ev.address, err);
    case TP_REC_MARK:
        return mark(m, l, err);
    case TP_REC_MORE: /* taken when it was read, or above */
    case TP_REC_NONE:
    case TP_REC_OPS:
        break;
    }
    return TP_OK; /* the decoder gives no other */
}

/* The address at which an event puts a block; 0: it puts none. */
static uint64_t arrives_at(const struct tp_recording_event *ev)
{
    if (ev->op == TP_REC_ALLOC || ev->op == TP_REC_ALIGNED)
        return ev->address;
    return ev->op == TP_REC_MOVE ? ev->to : 0;
}

/* The address that an event leaves; 0: it leaves none. */
static uint64_t leaves(const struct tp_recording_event *ev)
{
    return ev->op == TP_REC_FREE || ev->op == TP_REC_MOVE ? ev->address : 0;
}

static int finish(struct merge *m, struct merge_thread *l, struct tp_err *err);

static bool in_use(const struct merge *m, uint64_t address)
{
    return address && tp_pointers_find(&m->calls.pointers, address) > 0;
}

/* Empties the place where the event of a thread puts its block, if a MOVE that has begun empties
 * it. */
static int make_place(struct merge *m, const struct merge_thread *l, struct tp_err *err);

/* The event of a thread whose turn has not come goes first. */
static int put_before(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    if (l->busy || m->chain >= CHAIN_MAX)
        return TP_OK;
    m->counts->mended++;
    m->chain++;
    l->busy = true;
    int rc = make_place(m, l, err);
    if (!rc)
        rc = finish(m, l, err);
    m->chain--;
    return rc;
}

static int make_place(struct merge *m, const struct merge_thread *l, struct tp_err *err)
{
    uint64_t to = arrives_at(&l->ev);
    bool stays = l->ev.op == TP_REC_MOVE && to == l->ev.address;
    struct merge_thread *there = !stays && in_use(m, to) ? thread_of(m, &m->moving, to) : NULL;
    return there && there != l ? put_before(m, there, err) : TP_OK;
}

/* Emits the event of a thread, and then that of the thread that waited for what it leaves. */
static int finish(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    uint64_t to = arrives_at(&l->ev), from = leaves(&l->ev);
    l->busy = true;
    if (l->state == THREAD_WAITING)
        forget(m, &m->waiting, to, l);
    if (l->ev.op == TP_REC_MOVE)
        forget(m, &m->moving, l->ev.address, l);
    int rc = emit(m, l, err);
    l->busy = false;
    move_to(m, l, THREAD_NEXT, l->ev.end);
    struct merge_thread *next = rc || !from ? NULL : thread_of(m, &m->waiting, from);
    return next ? put_before(m, next, err) : rc;
}

/* The turn of a thread's event has come. */
static int take_turn(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    uint64_t to = arrives_at(&l->ev);
    bool stays = l->ev.op == TP_REC_MOVE && to == l->ev.address;
    if (l->state == THREAD_WAITING || stays)
        return finish(m, l, err);
    int rc = make_place(m, l, err);
    if (rc || !in_use(m, to))
        return rc ? rc : finish(m, l, err);
    rc = remember(m, &m->waiting, to, l, err);
    move_to(m, l, THREAD_WAITING, l->ev.end + m->slack);
    return rc;
}

/* Where a machine went down, pages may be missing that were not on its disk yet. */
static int leave_out_damage(const struct merge *m, const struct merge_thread *l, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_NOTE, .offset = l->t.damage, .has_offset = true};
    return tp_lower_repaired(m->r->lower, &ev, TP_REPAIR_TRUNCATED,
                             ": no event begins here, and its thread cannot be read on", err);
}

static int end_thread(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    struct tp_event ev = event_of(m, l, l->key);
    ev.op = TP_EV_THREAD_END;
    if (l->t.damaged)
        return leave_out_damage(m, l, err);
    return l->t.ended ? lower(m, &ev, err) : TP_OK;
}

/* What says no more than who called. */
static bool is_beside(const struct tp_recording_event *ev)
{
    return ev->op == TP_REC_MORE && (ev->more == TP_MORE_MODULE || ev->more == TP_MORE_STACK);
}

static int read_next(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    bool more = false;
    int rc = TP_OK;
    do {
        rc = tp_recording_next(m->rec, &l->t, &l->ev, &more, err);
        if (!rc && more && is_beside(&l->ev))
            rc = tp_recording_stacks_take(&m->stacks, &l->caller, &l->ev, err);
    } while (!rc && more && is_beside(&l->ev));
    if (!rc && more) {
        m->counts->events++;
        move_to(m, l, THREAD_READY, l->ev.time);
    } else if (!rc) {
        m->counts->alive += l->key - l->first;
        drop(m, l);
        rc = end_thread(m, l, err);
    }
    return rc;
}

static int step_thread(struct merge *m, struct merge_thread *l, struct tp_err *err)
{
    if (l->state == THREAD_NEXT)
        return read_next(m, l, err);
    if (l->state == THREAD_READY && l->ev.op == TP_REC_MOVE) {
        int rc = remember(m, &m->moving, l->ev.address, l, err);
        move_to(m, l, THREAD_MOVING, l->ev.end);
        return rc;
    }
    return take_turn(m, l, err);
}

/* ---- the whole ---- */

static int make_threads(struct merge *m, struct tp_err *err)
{
    const struct tp_recording *rec = m->rec;
    int rc = TP_READ_GROW(m->r, &m->threads, &m->threads_room, rec->threads, "threads", err);
    if (!rc)
        rc = TP_READ_GROW(m->r, &m->heap, &m->heap_room, rec->threads, "threads", err);
    for (size_t i = 0; !rc && i < rec->count; i++) {
        const struct tp_recorded_chunk *c = &rec->chunks[i];
        struct merge_thread *l = &m->threads[c->thread];
        if (i == 0 || c[-1].thread != c->thread) {
            *l = (struct merge_thread){
                .t.chunk = c, .key = c->time, .first = c->time, .at = m->size};
            m->heap[m->size++] = c->thread;
            sift(m, m->size - 1);
            m->begin = m->threads[m->heap[0]].first;
        }
        l->t.end = c + 1;
    }
    return rc;
}

static bool asks_device(const struct tp_recording_event *ev)
{
    return ev->more == TP_MORE_DEVICE &&
           (ev->op == TP_REC_ALLOC || ev->call.kind == TP_CALL_FAILED);
}

/* The device of the first request of a GPU's memory; -1: there is none. */
static int first_device(const struct merge *m, int64_t *device, struct tp_err *err)
{
    uint64_t earliest = UINT64_MAX;
    int rc = TP_OK;
    *device = -1;
    for (uint32_t i = 0; !rc && i < m->rec->threads; i++) {
        struct tp_recording_thread t = m->threads[i].t;
        struct tp_recording_event ev = {.op = TP_REC_NONE};
        bool more = true;
        while (!rc && more && !asks_device(&ev))
            rc = tp_recording_next(m->rec, &t, &ev, &more, err);
        if (!rc && more && ev.time < earliest) {
            earliest = ev.time;
            *device = (int64_t)ev.call.device;
        }
        tp_recording_thread_release(m->rec, &t);
    }
    return rc;
}

static int make_devices(struct merge *m, struct tp_err *err)
{
    int64_t first = -1;
    int rc = first_device(m, &first, err);
    return rc ? rc
              : tp_recording_devices_new(m->r, &m->calls.pointers, &m->counts->devices, first,
                                         &m->devices, err);
}

static void release(struct merge *m)
{
    for (uint32_t i = 0; m->threads && i < m->rec->threads && i < m->threads_room; i++) {
        tp_recording_thread_release(m->rec, &m->threads[i].t);
        tp_recording_caller_release(&m->stacks, &m->threads[i].caller);
    }
    tp_recording_stacks_release(&m->stacks);
    TP_GROW_END(&m->threads, &m->threads_room, .budget = m->r->budget);
    TP_GROW_END(&m->heap, &m->heap_room, .budget = m->r->budget);
    tp_recording_devices_free(m->devices);
    tp_host_calls_release(&m->calls);
    tp_id_map_release(&m->moving);
    tp_id_map_release(&m->waiting);
}

int tp_recording_merge(const struct tp_reading *r, const struct tp_recording *rec,
                       struct tp_merge_counts *counts, struct tp_err *err)
{
    const struct tp_growth how = {.what = "addresses", .budget = r->budget};
    double tick = rec->head.ns_per_tick * (double)(UINT64_C(1) << rec->head.shift);
    struct merge m = {.r = r,
                      .rec = rec,
                      .counts = counts,
                      .stacks.reading = r,
                      .moving.how = how,
                      .waiting.how = how,
                      .slack = (uint64_t)(SLACK_NS / tick) + 1};
    tp_host_calls_init(&m.calls, r, (struct tp_event_sink){lower, &m}, &counts->calls);
    m.calls.partial = true;
    int rc = rec->threads ? make_threads(&m, err) : TP_OK;
    if (!rc && rec->head.memory == TP_REC_OF_DEVICE)
        rc = make_devices(&m, err);
    if (!rc)
        rc = tp_recording_stacks_name(&m.stacks, rec, err);
    while (!rc && m.size)
        rc = step_thread(&m, &m.threads[m.heap[0]], err);
    if (!rc)
        place_pauses(&m, UINT64_MAX);
    if (!rc)
        rc = tp_recording_stacks_end(&m.stacks, &rec->head, err);
    release(&m);
    return rc;
}
