/* The order of work and the simulated time.
 *
 * Each stream has a slot and numbers what is queued in it. A clock says for each slot how far that
 * stream had come: a stream's own clock grows by what it waits for, an event holds a copy, the host
 * joins it when it learns that something is complete, and every later work begins with what the
 * host knows.
 *
 *     stream A   1 -- 2 -- record e          clock of e: A=3
 *     stream B             wait e -- 2       clock of B: A=3 B=2: A's 2 is before B's 2
 *
 * A work is complete at a time that is known when it is queued: after its stream's last, after what
 * that waits for, and after its own duration. So nothing is simulated step by step; a
 * synchronisation moves the time.
 *
 * Known weakness: the host is one clock. What one thread learnt, all know, as if they had told each
 * other. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

#include <time.h>

uint64_t fc_clock_at(const struct fc_clock *c, uint32_t slot)
{
    return slot < c->n ? c->at[slot] : 0;
}

static void clock_reserve(struct fc_clock *c, uint32_t n)
{
    if (n <= c->n)
        return;
    c->at = fc_grow(c->at, n * sizeof *c->at);
    memset(c->at + c->n, 0, (n - c->n) * sizeof *c->at);
    c->n = n;
}

void fc_clock_set(struct fc_clock *c, uint32_t slot, uint64_t seq)
{
    clock_reserve(c, slot + 1);
    c->at[slot] = seq;
    c->version++;
}

void fc_clock_join(struct fc_clock *c, const struct fc_clock *with)
{
    bool changed = false;
    clock_reserve(c, with->n);
    for (uint32_t i = 0; i < with->n; i++) {
        if (c->at[i] < with->at[i]) {
            c->at[i] = with->at[i];
            changed = true;
        }
    }
    c->version += changed;
}

void fc_clock_copy(struct fc_clock *c, const struct fc_clock *from)
{
    clock_reserve(c, from->n);
    for (uint32_t i = 0; i < c->n; i++)
        c->at[i] = i < from->n ? from->at[i] : 0;
    c->version++;
}

void fc_clock_clear(struct fc_clock *c)
{
    free(c->at);
    *c = (struct fc_clock){0};
}

static uint64_t real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fc_tick(void)
{
    if (!fc.script.real_time)
        fc.now += fc.script.step;
    else if (fc.now < real_ns())
        fc.now = real_ns();
}

void fc_reach(uint64_t ns)
{
    uint64_t now = fc.script.real_time ? real_ns() : ns;
    if (now < ns) {
        struct timespec t = {(time_t)((ns - now) / 1000000000u), (long)((ns - now) % 1000000000u)};
        nanosleep(&t, NULL);
    }
    if (fc.now < ns)
        fc.now = ns;
}

enum { PATIENCE = 10000 };

bool fc_passed(uint64_t ns)
{
    bool again = fc.asked_ns == ns && fc.asked_at + 1 == fc.books.calls;
    fc.asked = again ? fc.asked + 1 : 1;
    fc.asked_at = fc.books.calls;
    fc.asked_ns = ns;
    if (fc.asked >= PATIENCE && !fc.script.real_time)
        fc_reach(ns);
    return ns <= fc.now;
}

void fc_host_knows(const struct fc_clock *c)
{
    fc_clock_join(&fc.host, c);
}

/* --- streams ---------------------------------------------------------------------------------- */

struct fc_stream *fc_stream_make(struct fc_device *d, bool blocking)
{
    struct fc_stream *s = fc_zeroed(sizeof *s);
    if (fc.free_slot_count > 0) {
        s->slot = fc.free_slots[--fc.free_slot_count];
    } else {
        s->slot = fc.slots++;
        fc.free_slots = fc_grow(fc.free_slots, fc.slots * sizeof *fc.free_slots);
    }
    s->blocking = blocking;
    s->seq = fc_clock_at(&fc.host, s->slot); /* a slot's numbers go on */
    fc_clock_set(&s->clock, s->slot, s->seq);
    if (blocking) {
        s->sibling = d->blocking;
        d->blocking = s;
    }
    fc_object_add(d, &s->object, FC_STREAM);
    return s;
}

void fc_stream_connect(struct fc_stream *s)
{
    struct fc_connection *all = s->object.device->connections;
    s->connection = all;
    for (uint64_t i = 1; i < fc.books.connections; i++)
        if (all[i].streams < s->connection->streams)
            s->connection = &all[i];
    s->connection->streams++;
}

/* What was queued counts as known: the slot goes to another stream. */
void fc_stream_free(struct fc_stream *s)
{
    struct fc_device *d = s->object.device;
    fc_host_knows(&s->clock);
    fc.free_slots[fc.free_slot_count++] = s->slot;
    for (struct fc_stream **at = &d->blocking; *at; at = &(*at)->sibling) {
        if (*at == s) {
            *at = s->sibling;
            break;
        }
    }
    if (s->connection)
        s->connection->streams--;
    fc_clock_clear(&s->clock);
    free(s->queued.at);
    free(s->works.at);
    fc_object_remove(&s->object);
}

static void wait_for_stream(struct fc_stream *s, const struct fc_stream *other)
{
    if (!other || other == s || fc_clock_at(&s->clock, other->slot) >= other->seq)
        return;
    fc_clock_join(&s->clock, &other->clock);
    if (s->tail < other->tail)
        s->tail = other->tail;
}

/* What comes next in the stream comes after all that it waits for by itself. */
void fc_catch_up(struct fc_stream *s)
{
    struct fc_device *d = s->object.device;
    if (s->host_version != fc.host.version) {
        fc_clock_join(&s->clock, &fc.host);
        s->host_version = fc.host.version;
    }
    if (s == d->legacy) {
        for (struct fc_stream *b = d->blocking; b; b = b->sibling)
            wait_for_stream(s, b);
    } else if (s->blocking) {
        wait_for_stream(s, d->legacy);
    }
}

/* ---- what is pending ---- */

static void drop_complete(struct fc_ends *e)
{
    while (e->count > 0 && e->at[e->first] <= fc.now) {
        e->first = (e->first + 1) % e->cap;
        e->count--;
    }
}

static void add_end(struct fc_ends *e, uint64_t ns)
{
    drop_complete(e);
    if (e->count == e->cap) {
        uint32_t cap = e->cap ? 2 * e->cap : 16;
        uint64_t *at = fc_zeroed(cap * sizeof *at);
        for (uint32_t i = 0; i < e->count; i++)
            at[i] = e->at[(e->first + i) % e->cap];
        free(e->at);
        *e = (struct fc_ends){.at = at, .cap = cap, .count = e->count};
    }
    e->at[(e->first + e->count++) % e->cap] = ns;
}

/* Waits until the queue has room for one more. */
static void make_room(struct fc_stream *s)
{
    drop_complete(&s->queued);
    if (s->queued.count >= fc.script.queue)
        fc_reach(
            s->queued.at[(s->queued.first + s->queued.count - fc.script.queue) % s->queued.cap]);
}

struct fc_point fc_queue(struct fc_stream *s, uint64_t ns)
{
    make_room(s);
    fc_catch_up(s);
    fc_clock_set(&s->clock, s->slot, ++s->seq);
    if (s->tail < fc.now)
        s->tail = fc.now;
    if (s->connection && s->tail < s->connection->tail)
        s->tail = s->connection->tail;
    s->tail += ns > 0 ? ns : 1; /* nothing is complete at once */
    if (s->connection)
        s->connection->tail = s->tail;
    add_end(&s->queued, s->tail);
    return (struct fc_point){.slot = s->slot, .seq = s->seq, .end = s->tail};
}

/* A memset or a kernel: these are counted, and one of them may be told to fail. */
void fc_queue_work(struct fc_stream *s, const struct fc_point *p)
{
    add_end(&s->works, p->end);
    fc.books.works++;
    if (fc.books.works == fc.script.async_nth)
        fc.fault_due = p->end;
}

/* Of all devices. */
uint64_t fc_pending(void)
{
    uint64_t pending = 0;
    for (int i = 0; i < FC_DEVICES; i++) {
        for (struct fc_object *o = fc.devices[i].objects[FC_STREAM]; o; o = o->next) {
            struct fc_stream *s = FC_OF(o, struct fc_stream, object);
            drop_complete(&s->works);
            pending += s->works.count;
        }
    }
    return pending;
}

/* Waits for all streams of the device. */
void fc_device_finish(struct fc_device *d)
{
    for (struct fc_object *o = d->objects[FC_STREAM]; o; o = o->next) {
        struct fc_stream *s = FC_OF(o, struct fc_stream, object);
        fc_reach(s->tail);
        if (fc_clock_at(&fc.host, s->slot) < s->seq)
            fc_host_knows(&s->clock);
    }
}
