/* See verify_heap.h. A snapshot has what is mapped, and not where the addresses around it begin
 * that are reserved for it. The allocator maps the lowest first: what it maps later below the first
 * stretch shows that the segment begins there at the latest.
 *
 *     at the start           |  mapped  |          |  mapped  |
 *     mapped later  |  here  |                                     the segment begins here
 *
 * Known weakness: free addresses that are lower still are never mapped in the file, and are not
 * missed. A segment that goes wholly may begin elsewhere when it comes back: what is mapped from
 * then on is not looked at. */
#include "cmd/pytorch/verify/verify_heap.h"

/* Streams and private pools have numbers of their own; a product keeps them apart. */
static int64_t key_of(int64_t stream, uint64_t pool, bool small)
{
    return (int64_t)(((uint64_t)stream * 2 + small) ^ pool * UINT64_C(0x9E3779B97F4A7C15));
}

static struct tp_verify_space *find(const struct tp_verify_spaces *s, int64_t stream, uint64_t pool,
                                    bool small)
{
    const struct tp_id_entry *entry = tp_id_map_find(&s->of, key_of(stream, pool, small));
    return entry ? &s->items[entry->index] : NULL;
}

static int add(const struct tp_pytorch *s, const struct tp_pytorch_block *stretch,
               struct tp_verify_spaces *to, struct tp_err *err)
{
    struct tp_verify_space *space = find(to, stretch->stream, stretch->pool, stretch->small);
    if (space) { /* the stretches ascend */
        space->mapped += stretch->size;
        return TP_OK;
    }
    int rc = TP_READ_GROW(s->reading, &to->items, &to->room, to->count + 1, "segments", err);
    if (rc == TP_OK)
        rc = tp_id_map_put(&to->of, key_of(stretch->stream, stretch->pool, stretch->small),
                           (uint32_t)to->count, err);
    if (rc == TP_OK)
        to->items[to->count++] = (struct tp_verify_space){stretch->address, stretch->size};
    return rc;
}

static void see_map(const struct tp_verify_spaces *s, uint64_t small,
                    const struct tp_pytorch_event *ev)
{
    struct tp_verify_space *space = find(s, ev->stream, ev->pool, ev->size == small);
    if (!space || !space->mapped)
        return;
    space->mapped += ev->size;
    if (ev->address < space->base)
        space->base = ev->address;
}

static void see_unmap(const struct tp_verify_spaces *s, const struct tp_pytorch_event *ev)
{
    struct tp_verify_space *large = find(s, ev->stream, ev->pool, false);
    struct tp_verify_space *small = find(s, ev->stream, ev->pool, true);
    bool in_large = large && large->base <= ev->address;
    bool in_small = small && small->base <= ev->address;
    if (in_large && in_small)
        in_large = large->base > small->base;
    struct tp_verify_space *space = in_small ? small : NULL;
    if (in_large)
        space = large;
    if (space)
        space->mapped -= ev->size < space->mapped ? ev->size : space->mapped;
}

int tp_verify_find_spaces(const struct tp_pytorch *s, uint32_t device, uint64_t small,
                          const struct tp_pytorch_blocks *segments, struct tp_verify_spaces *out,
                          struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    out->of.how = tp_reading_growth(s->reading, "segments");
    for (size_t i = 0; rc == TP_OK && i < segments->count; i++)
        if (segments->items[i].expandable)
            rc = add(s, &segments->items[i], out, err);
    while (rc == TP_OK && out->count && (ev = tp_spill_next(&c, &rc, err))) {
        if (ev->action == TP_PYTORCH_SEGMENT_MAP)
            see_map(out, small, ev);
        else if (ev->action == TP_PYTORCH_SEGMENT_UNMAP)
            see_unmap(out, ev);
    }
    return rc;
}

tp_addr tp_verify_base_of(const struct tp_verify_spaces *spaces,
                          const struct tp_pytorch_block *stretch)
{
    return find(spaces, stretch->stream, stretch->pool, stretch->small)->base;
}

void tp_verify_spaces_release(const struct tp_pytorch *s, struct tp_verify_spaces *spaces)
{
    tp_id_map_release(&spaces->of);
    TP_GROW_END(&spaces->items, &spaces->room, .budget = s->reading->budget);
}
