/* See torch_place.h. Known weakness: a block within a segment is found by a walk over its blocks,
 * which ends after some thousand. */
#include "alloc/strategies/torch/torch_place.h"

#include "alloc/strategies/torch/torch_core.h"

int tp_torch_follow(void *state)
{
    struct torch *st = state;
    if (st->made || st->in_order)
        return TP_EINVAL;
    st->by_address = true;
    return TP_OK;
}

struct tp_torch_rules *tp_torch_rules_of(void *state)
{
    struct torch *st = state;
    return &st->rules;
}

uint64_t tp_torch_segments(void *state)
{
    const struct torch *st = state;
    return st->segment_records.used;
}

/* ---- by address ---- */

static struct torch_segment *in_order(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct torch_segment, in_order, n) : NULL;
}

/* The last segment that begins at `addr` or before; NULL: none. */
static struct torch_segment *segment_before(const struct torch *st, tp_addr addr)
{
    struct torch_segment *best = NULL;
    for (struct tp_tree_node *n = st->in_order; n;) {
        bool at = in_order(n)->base <= addr;
        TP_STEP();
        best = at ? in_order(n) : best;
        n = at ? n->high : n->low;
    }
    return best;
}

/* The segment with this base and size; NULL: none. */
static struct torch_segment *segment_at(const struct torch *st, tp_addr base, uint64_t size)
{
    struct torch_segment *s = segment_before(st, base);
    return s && s->base == base && s->size == size ? s : NULL;
}

/* ---- a segment with its blocks ---- */

static bool is_sound(const struct tp_torch_segment *s, const struct tp_torch_at *blocks,
                     size_t count)
{
    uint64_t at = s->base, end = s->base + s->size;
    for (size_t i = 0; i < count; i++) {
        const struct tp_torch_at *b = &blocks[i];
        if (b->addr < at || !b->size || b->addr > end || b->size > end - b->addr ||
            b->requested > b->size || !b->requested)
            return false;
        at = b->addr + b->size;
    }
    return true;
}

bool tp_torch_is_vacant(void *state, tp_addr base, uint64_t size)
{
    if (!base || !size || base + size < base)
        return false;
    const struct torch_segment *other = segment_before(state, base + size - 1);
    return !other || other->base + other->size <= base;
}

/* Makes bytes of *free, a free block that is in no pool, a live one. *free becomes what is left
 * behind it, in no pool either; NULL: nothing. On an error *free is still one free block. */
static int cut_out(struct torch *st, struct torch_block **free, const struct tp_torch_at *at)
{
    struct torch_block *b = *free, *low = NULL;
    int rc = tp_torch_reserve(st);
    if (!rc && at->addr > b->addr) {
        low = b;
        b = tp_torch_split(st, b, at->addr - b->addr);
        tp_torch_pool_add(low);
        *free = b;
        rc = tp_torch_reserve(st);
    }
    if (rc)
        return rc;
    *free = at->size < b->size ? tp_torch_split(st, b, at->size) : NULL;
    tp_torch_hand_out(st, b, at->requested, 1);
    return TP_OK;
}

int tp_torch_place(void *state, const struct tp_torch_segment *segment,
                   const struct tp_torch_at *blocks, size_t count)
{
    struct torch *st = state;
    if (!st->by_address || !tp_torch_is_vacant(st, segment->base, segment->size) ||
        !is_sound(segment, blocks, count))
        return TP_EINVAL;
    int rc = tp_torch_reserve(st);
    if (rc)
        return rc;
    struct torch_pool *pool = segment->small ? &st->small : &st->large;
    struct torch_block *rest =
        tp_torch_enter(st, pool, segment->stream, segment->base, segment->size);
    for (size_t i = 0; i < count && !rc; i++)
        rc = cut_out(st, &rest, &blocks[i]);
    if (rest)
        tp_torch_pool_add(rest);
    return rc;
}

/* ---- one block ---- */

enum { WALK_MOST = 4096 }; /* blocks of 512 bytes in a small segment */

/* The free block that holds these bytes; NULL: they are not all free. */
static struct torch_block *free_block_around(const struct torch *st, const struct tp_torch_at *at)
{
    const struct torch_segment *s = segment_before(st, at->addr);
    struct torch_block *b = s ? s->first : NULL;
    unsigned passed = 0;
    for (; b && at->addr - b->addr >= b->size && passed < WALK_MOST; passed++) {
        TP_STEP();
        b = b->behind;
    }
    bool inside = b && passed < WALK_MOST && b->state == TORCH_FREE &&
                  at->size <= b->size - (at->addr - b->addr);
    return inside ? b : NULL;
}

int tp_torch_force(void *state, const struct tp_torch_at *at)
{
    struct torch *st = state;
    struct torch_block *b = at->size ? free_block_around(st, at) : NULL;
    if (!b || !at->requested || at->requested > at->size)
        return TP_EINVAL;
    struct tp_torch_at whole = *at;
    uint64_t rest = b->addr + b->size - (at->addr + at->size);
    if (!tp_torch_is_split(&st->rules, b->segment->pool->small, at->size, rest))
        whole.size += rest;
    tp_torch_pool_remove(b);
    int rc = cut_out(st, &b, &whole);
    if (b)
        tp_torch_pool_add(b);
    return rc;
}

int tp_torch_drop(void *state, tp_addr base, uint64_t size)
{
    struct torch *st = state;
    struct torch_segment *s = segment_at(st, base, size);
    if (!s || s->first->state != TORCH_FREE || !torch_is_whole(s->first))
        return TP_EINVAL;
    return tp_torch_put(st, s->first) ? TP_OK : TP_EIO;
}

/* ---- looking ---- */

size_t tp_torch_choices(void *state, uint64_t requested, uint16_t stream, struct tp_torch_free *out,
                        size_t most)
{
    const struct torch *st = state;
    uint64_t size = tp_torch_rounded(&st->rules, requested);
    const struct torch_pool *pool = size <= st->rules.small_most ? &st->small : &st->large;
    const struct torch_block *b = tp_torch_pool_from(pool, stream, size);
    size_t count = 0;
    for (; b && b->segment->stream == stream && count < most; b = tp_torch_pool_behind(pool, b))
        out[count++] = (struct tp_torch_free){b->addr, b->size};
    return count;
}

bool tp_torch_is_at(void *state, const struct tp_torch_segment *segment,
                    const struct tp_torch_at *blocks, size_t count, uint64_t idle)
{
    const struct torch_segment *s = segment_at(state, segment->base, segment->size);
    size_t live = 0;
    if (!s || s->pool->small != segment->small || s->stream != segment->stream)
        return false;
    for (const struct torch_block *b = s->first; b; b = b->behind) {
        if (b->state == TORCH_FREE && !idle--)
            return false;
        if (b->state == TORCH_FREE)
            continue;
        if (live == count || blocks[live].addr != b->addr || blocks[live].size != b->size ||
            blocks[live].requested != b->requested)
            return false;
        live++;
    }
    return live == count && !idle;
}
