/* Requests: a chunk is found and split, freed and merged. */
#include "alloc/strategies/bfc/bfc_core.h"

int tp_bfc_reserve(struct bfc *st)
{
    if (slab_reserve_two(&st->chunks) || slab_reserve(&st->regions))
        return TP_ENOMEM;
    return tp_addr_map_reserve(&st->live, st->live.count + UINT64_C(1));
}

/* ---- chunks ---- */

struct bfc_chunk *tp_bfc_split(struct bfc *st, struct bfc_chunk *c, uint64_t size)
{
    struct bfc_chunk *rest = slab_take(&st->chunks);
    assert(rest);
    rest->addr = c->addr + size;
    rest->size = c->size - size;
    rest->order = c->order;
    rest->bins = c->bins;
    rest->region = c->region;
    rest->used = c->used;
    rest->before = c;
    rest->behind = c->behind;
    if (c->behind)
        c->behind->before = rest;
    else
        c->region->last = rest;
    c->behind = rest;
    c->size = size;
    return rest;
}

void tp_bfc_use(struct bfc *st, struct bfc_chunk *c, enum bfc_state state)
{
    struct bfc_region *r = c->region;
    bfc_set_state(c, state);
    st->in_use += c->size;
    if (!r->in_use++) {
        tp_link_out(&r->in_unused);
        st->idle -= r->size;
    }
}

void tp_bfc_unuse(struct bfc *st, struct bfc_chunk *c)
{
    struct bfc_region *r = c->region;
    bfc_set_state(c, BFC_NONE);
    st->in_use -= c->size;
    if (!--r->in_use) {
        tp_link_insert(&st->unused, &r->in_unused);
        st->idle += r->size;
    }
}

void tp_bfc_hand_out(struct bfc *st, struct bfc_chunk *c, uint64_t requested, uint64_t align)
{
    struct bfc_region *r = c->region;
    uint64_t end = c->addr + c->size - r->base;
    tp_bfc_use(st, c, BFC_LIVE);
    c->requested = requested;
    c->align = align;
    if (end > r->carved) {
        carved_add(&st->carved, end - r->carved);
        r->carved = end;
    }
    tp_addr_map_insert(&st->live, c->addr, (uintptr_t)c);
}

/* Two neighbours that are in no bin become one, `low`. */
static void join(struct bfc *st, struct bfc_chunk *low, struct bfc_chunk *high)
{
    low->size += high->size;
    low->used |= high->used;
    low->behind = high->behind;
    if (high->behind)
        high->behind->before = low;
    else
        low->region->last = low;
    slab_give(&st->chunks, high);
}

/* Chunks of different streams are not merged. */
static bool merges(const struct bfc_chunk *c, const struct bfc_chunk *other)
{
    return other && bfc_state(other) == BFC_FREE && other->bins == c->bins;
}

void tp_bfc_release(struct bfc *st, struct bfc_chunk *c)
{
    struct bfc_chunk *low = c->before, *high = c->behind;
    if (merges(c, high) && st->rules.merge_behind) {
        tp_bfc_remove(st, high);
        join(st, c, high);
    }
    if (merges(c, low) && st->rules.merge_before) {
        tp_bfc_remove(st, low);
        join(st, low, c);
        c = low;
    }
    tp_bfc_add(st, c);
}

/* ---- streams ---- */

static uint64_t bit_of(uint64_t stream)
{
    return stream < BFC_STREAM_BITS ? UINT64_C(1) << stream : BFC_LATE;
}

/* The stream waits for those of a mask, itself aside. */
static int follow(struct bfc *st, uint16_t stream, uint64_t used)
{
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < st->env->streams; i++)
        if (i != stream && used & bit_of(i))
            rc = tp_src_follow(st->env->source, stream, (uint16_t)i);
    return rc;
}

/* Orders a stream behind those that freed the chunk. */
static int order(struct bfc *st, struct bfc_chunk *c, uint16_t stream)
{
    uint64_t own = bit_of(stream);
    if (LIKELY(!c->used || (c->used == own && own != BFC_LATE)))
        return TP_OK;
    int rc = follow(st, stream, c->used);
    if (rc == TP_OK)
        c->used = own;
    return rc;
}

/* ---- requests ---- */

/* Finds the free chunk that serves; it stays in its bin. */
static int find(struct bfc *st, const struct bfc_bins *own, uint64_t size, uint64_t align,
                struct bfc_chunk **out)
{
    *out = tp_bfc_fit(st, own, size, align);
    if (LIKELY(*out != NULL))
        return TP_OK;
    int rc = tp_bfc_extend(st, size, align);
    if (rc == TP_EOOM && st->rules.collects)
        rc = tp_bfc_collect(st, size, align);
    if (rc == TP_OK)
        *out = tp_bfc_fit(st, own, size, align);
    return rc == TP_OK && !*out ? TP_EOOM : rc;
}

/* Cuts what serves out of a free chunk. What is left is free, and of the stream that the chunk had;
 * only then the chunk is that of the request. */
static struct bfc_chunk *take_chunk(struct bfc *st, struct bfc_chunk *c, struct bfc_bins *own,
                                    uint64_t size, uint64_t align)
{
    uint64_t lead = align > 1 ? tp_bfc_padding(c, align) : 0;
    tp_bfc_remove(st, c);
    if (UNLIKELY(lead)) {
        struct bfc_chunk *low = c;
        c = tp_bfc_split(st, low, lead);
        tp_bfc_add(st, low);
    }
    uint64_t kept = tp_bfc_cut(&st->rules, c->size, size);
    if (kept < c->size)
        tp_bfc_add(st, tp_bfc_split(st, c, kept));
    c->bins = own;
    return c;
}

int tp_bfc_alloc(struct bfc *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (UNLIKELY(st->to_start > 0))
        return tp_bfc_start_one(st, rq, out);
    if (rq->size > BFC_MOST || rq->align > BFC_ALIGN)
        return TP_EOOM;
    int rc = tp_bfc_reserve(st);
    struct bfc_bins *own = rc ? NULL : tp_bfc_bins_of(st, rq->stream);
    if (!own)
        return TP_ENOMEM;
    uint64_t size = tp_bfc_rounded(&st->rules, rq->size);
    uint64_t align = rq->align > BFC_GRAIN ? rq->align : 1;
    struct bfc_chunk *c = NULL;
    rc = find(st, own, size, align, &c);
    if (!rc)
        rc = order(st, c, rq->stream);
    if (rc)
        return rc;
    c = take_chunk(st, c, own, size, align);
    tp_bfc_hand_out(st, c, rq->size, rq->align);
    *out = (struct tp_block){c->addr, c->size};
    return TP_OK;
}

int tp_bfc_free(struct bfc *st, tp_addr addr, const struct tp_req *rq)
{
    struct bfc_chunk *c = bfc_find_live(st, addr);
    if (!c || c->requested != rq->size || c->align != rq->align)
        return TP_EINVAL;
    tp_addr_map_remove(&st->live, addr, NULL);
    tp_bfc_unuse(st, c);
    c->used = bit_of(rq->stream);
    tp_bfc_release(st, c);
    return TP_OK;
}
