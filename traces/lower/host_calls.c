/* See host_calls.h. A block that appears where another one lives ends that one: its free was lost.
 * Known weakness: if the free only comes later, it takes the block that is there by then. */
#include "traces/lower/host_calls.h"

int tp_host_calls_init(struct tp_host_calls *c, const struct tp_reading *r, struct tp_err *err)
{
    *c = (struct tp_host_calls){.reading = r};
    tp_pointers_init(&c->pointers, &c->objects, r->budget);
    r->meta->kind = TP_KIND_HOST;
    return tp_lower_kind(r->lower, TP_KIND_HOST, err);
}

void tp_host_calls_release(struct tp_host_calls *c)
{
    tp_pointers_release(&c->pointers);
}

static struct tp_event event_of(const struct tp_event *at, enum tp_event_op op, int64_t id)
{
    struct tp_event ev = *at;
    ev.op = op;
    ev.id = id;
    return ev;
}

static struct tp_event sized(const struct tp_event *at, enum tp_event_op op, uint64_t size)
{
    struct tp_event ev = event_of(at, op, 0);
    ev.has_size = true;
    ev.size = size;
    return ev;
}

static int placed(const struct tp_host_calls *c, const struct tp_event *at, int rc,
                  struct tp_err *err)
{
    return tp_event_placed(at, c->reading->in, rc, err);
}

/* Handles a request that failed. */
static int refused(struct tp_host_calls *c, const struct tp_event *at, uint64_t size,
                   struct tp_err *err)
{
    struct tp_event ev = sized(at, TP_EV_NOTE, size);
    bool too_large = size > TP_MAX_SIZE;
    ev.note = TP_NOTE_OOM;
    ev.has_align = false;
    c->too_large += too_large;
    return size == 0 || too_large ? tp_lower_skip(c->reading->lower, err)
                                  : tp_lower_event(c->reading->lower, &ev, err);
}

int tp_host_alloc(struct tp_host_calls *c, const struct tp_event *at, uint64_t address,
                  uint64_t size, struct tp_err *err)
{
    struct tp_event ev = sized(at, TP_EV_ALLOC, size);
    if (address == 0)
        return refused(c, at, size, err);
    int rc = placed(c, at, tp_pointers_add(&c->pointers, address, &ev.id, err), err);
    return rc ? rc : tp_lower_event(c->reading->lower, &ev, err);
}

int tp_host_free(struct tp_host_calls *c, const struct tp_event *at, uint64_t address,
                 struct tp_err *err)
{
    if (address == 0)
        return tp_lower_skip(c->reading->lower, err);
    struct tp_event ev = event_of(at, TP_EV_FREE, tp_pointers_remove(&c->pointers, address));
    return tp_lower_event(c->reading->lower, &ev, err);
}

/* Frees an object that the trace never freed, because another one appears at its address. */
static int free_lost(struct tp_host_calls *c, const struct tp_event *at, int64_t id,
                     struct tp_err *err)
{
    struct tp_event ev = event_of(at, TP_EV_FREE, id);
    int rc = tp_lower_repaired(c->reading->lower, &ev, TP_REPAIR_DOUBLE_ALLOC,
                               " moves a block to where another one is live", err);
    return rc ? rc : tp_lower_event(c->reading->lower, &ev, err);
}

int tp_host_realloc(struct tp_host_calls *c, const struct tp_event *at, uint64_t from, uint64_t to,
                    uint64_t size, struct tp_err *err)
{
    struct tp_event ev = sized(at, TP_EV_REALLOC, size);
    int64_t lost = 0;
    if (from == 0)
        return tp_host_alloc(c, at, to, size, err);
    if (to == 0)
        return size ? refused(c, at, size, err) : tp_host_free(c, at, from, err);
    int rc = placed(c, at, tp_pointers_move(&c->pointers, from, to, &ev.id, &lost, err), err);
    if (!rc && lost > 0)
        rc = free_lost(c, at, lost, err);
    return rc ? rc : tp_lower_event(c->reading->lower, &ev, err);
}
