/* See torch_place.h. */
#include "alloc/strategies/torch/torch_place.h"

#include "alloc/strategies/torch/torch_core.h"

int tp_torch_follow(void *state)
{
    struct torch *st = state;
    if (st->made || st->in_order)
        return TP_EINVAL;
    st->by_address = st->small.by_address = st->large.by_address = true;
    return TP_OK;
}

static bool has_pool(const struct torch_pools *pools, uint64_t number)
{
    size_t i = 0;
    while (i < pools->count && pools->numbers[i] != number)
        i++;
    return i < pools->count;
}

int tp_torch_choose_pool(void *state, uint64_t pool)
{
    struct torch *st = state;
    struct torch_private *p = pool ? meta_map_at(&st->private_of, pool) : NULL;
    st->chosen = p;
    if (p || !pool)
        return TP_OK;
    if (tp_addr_map_reserve(&st->private_of, st->private_of.count + UINT64_C(1)) ||
        !(p = slab_take(&st->private_records)))
        return TP_ENOMEM;
    p->small.small = true;
    p->small.number = p->large.number = pool;
    p->small.by_address = p->large.by_address = st->by_address;
    p->small.whole = p->large.whole = has_pool(&st->whole, pool);
    p->next = st->privates;
    st->privates = st->chosen = p;
    tp_addr_map_insert(&st->private_of, pool, (uintptr_t)p);
    return TP_OK;
}

struct tp_torch_rules *tp_torch_rules_of(void *state)
{
    struct torch *st = state;
    return &st->rules;
}

uint64_t tp_torch_stretches(void *state)
{
    struct torch *st = state;
    uint64_t count = 0;
    for (struct tp_link *l = st->segments.behind; l != &st->segments; l = l->behind) {
        const struct torch_segment *s = torch_segment_of(l);
        count += !s->unit;
        for (const struct torch_block *b = s->unit ? s->first : NULL; b; b = b->behind)
            count +=
                b->state != TORCH_UNMAPPED && (!b->before || b->before->state == TORCH_UNMAPPED);
    }
    return count;
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
    if (!other)
        return true;
    tp_addr end = other->unit ? tp_torch_mapped_end(other) : other->base + other->size;
    return end <= base && other->base != base;
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

/* Makes these blocks of a free one that is in no pool. */
static int place_blocks(struct torch *st, struct torch_block *rest,
                        const struct tp_torch_at *blocks, size_t count)
{
    int rc = TP_OK;
    for (size_t i = 0; i < count && !rc; i++)
        rc = cut_out(st, &rest, &blocks[i]);
    if (rest)
        tp_torch_pool_add(rest);
    return rc;
}

static struct torch_pool *pool_of(struct torch *st, const struct tp_torch_segment *segment)
{
    return torch_pool_of(st, segment->small);
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
    return place_blocks(
        st, tp_torch_enter(st, pool_of(st, segment), segment->stream, segment->base, segment->size),
        blocks, count);
}

/* ---- what grows ----
 *
 * How far such a segment may reach is in no file. It is taken to reach further than any device has
 * memory, so that one may seem to reach into the next; what is mapped of them never does. */

tp_addr tp_torch_grows_at(void *state, const struct tp_torch_segment *part)
{
    const struct torch_segment *s = segment_before(state, part->base);
    bool same = s && s->unit && s->stream == part->stream && s->pool == pool_of(state, part);
    return same && part->base - s->base < s->size ? s->base : 0;
}

bool tp_torch_is_unmapped(void *state, tp_addr addr, uint64_t size)
{
    const struct torch_segment *s = size ? segment_before(state, addr) : NULL;
    const struct torch_block *b = s && s->unit ? tp_torch_unmapped_at(s, addr) : NULL;
    return b && size <= b->size - (addr - b->addr) && segment_before(state, addr + size - 1) == s;
}

/* The segment with this base, which is made where there is none. */
static int need_space(struct torch *st, tp_addr base, const struct tp_torch_segment *part,
                      struct torch_segment **out)
{
    struct torch_pool *pool = pool_of(st, part);
    struct torch_segment *s = segment_before(st, base);
    *out = s;
    if (s && s->base == base)
        return s->unit && s->stream == part->stream && s->pool == pool ? TP_OK : TP_EINVAL;
    if (!tp_torch_is_vacant(st, part->base, part->size))
        return TP_EINVAL;
    int rc = tp_torch_reserve(st);
    uint64_t unit = part->small ? st->rules.small_segment : st->rules.large_segment;
    if (!rc)
        *out =
            tp_torch_enter_space(st, pool, part->stream, base, up_to(TORCH_SPACE, unit))->segment;
    return rc;
}

int tp_torch_place_mapped(void *state, tp_addr base, const struct tp_torch_segment *part,
                          const struct tp_torch_at *blocks, size_t count)
{
    struct torch *st = state;
    struct torch_segment *s = NULL;
    struct torch_block *b = NULL;
    if (!st->by_address || !base || base > part->base || !part->size ||
        part->base > UINT64_MAX - 2 * TORCH_SPACE - part->size || !is_sound(part, blocks, count))
        return TP_EINVAL;
    int rc = need_space(st, base, part, &s);
    if (!rc)
        rc = tp_torch_map_at(st, s, part->base, part->size, &b);
    if (rc)
        return rc;
    tp_torch_pool_remove(b);
    return place_blocks(st, b, blocks, count);
}

int tp_torch_unmap_at(void *state, tp_addr addr, uint64_t size, bool *whole)
{
    struct torch *st = state;
    const struct torch_segment *s = segment_before(st, addr);
    struct torch_block *b = s && s->unit ? tp_torch_placed_before(s->pool, addr) : NULL;
    uint64_t begin = 0, end = 0;
    if (!b || b->segment != s || !size)
        return TP_EINVAL;
    tp_torch_whole_units(b, &begin, &end);
    uint64_t from = addr - s->base;
    if (from < begin || from >= end || size > end - from || from % s->unit || size % s->unit)
        return TP_EINVAL;
    *whole = from == begin && size == end - begin;
    return tp_torch_unmap_part(st, b, from, from + size);
}

/* ---- one block ---- */

/* The free block that holds these bytes; NULL: they are not all free. */
static struct torch_block *free_block_around(const struct torch *st, const struct tp_torch_at *at)
{
    const struct torch_segment *s = segment_before(st, at->addr);
    struct torch_block *b = s ? tp_torch_placed_before(s->pool, at->addr) : NULL;
    bool inside = b && b->segment == s && at->addr - b->addr < b->size &&
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
    if (b->segment->pool->whole ||
        !tp_torch_is_split(&st->rules, b->segment->pool->small, at->size, rest))
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
    struct torch *st = state;
    uint64_t size = tp_torch_rounded(&st->rules, requested);
    const struct torch_pool *pool = torch_pool_of(st, size <= st->rules.small_most);
    struct torch_block *b = tp_torch_pool_from(pool, stream, size);
    size_t count = 0;
    for (; b && b->segment->stream == stream && count < most; b = tp_torch_pool_behind(b))
        out[count++] = (struct tp_torch_free){b->addr, b->size};
    return count;
}

tp_addr tp_torch_serves(void *state, uint64_t requested, uint16_t stream, uint64_t *unused)
{
    struct torch *st = state;
    uint64_t size = tp_torch_rounded(&st->rules, requested);
    struct torch_pool *pool = torch_pool_of(st, size <= st->rules.small_most);
    const struct torch_block *b = tp_torch_pool_fit(st, pool, stream, size);
    *unused = tp_torch_free_bytes(st);
    return b ? b->addr : 0;
}

/* Compares what is mapped from a block on: `size` bytes. Ends where more is there than in the file.
 */
static bool are_blocks(const struct torch_block *b, uint64_t size, const struct tp_torch_at *blocks,
                       size_t count, uint64_t free_blocks)
{
    size_t live = 0;
    for (; b && b->state != TORCH_UNMAPPED; b = b->behind) {
        TP_STEP();
        if (b->size > size || (b->state == TORCH_FREE && !free_blocks--))
            return false;
        size -= b->size;
        if (b->state == TORCH_FREE)
            continue;
        if (live == count || blocks[live].addr != b->addr || blocks[live].size != b->size ||
            blocks[live].requested != b->requested)
            return false;
        live++;
    }
    return live == count && !free_blocks && !size;
}

static bool is_of(struct torch *st, const struct torch_segment *s,
                  const struct tp_torch_segment *segment)
{
    return s && s->pool == pool_of(st, segment) && s->stream == segment->stream;
}

bool tp_torch_is_at(void *state, const struct tp_torch_segment *segment,
                    const struct tp_torch_at *blocks, size_t count, uint64_t free_blocks)
{
    const struct torch_segment *s = segment_at(state, segment->base, segment->size);
    return is_of(state, s, segment) && !s->unit &&
           are_blocks(s->first, s->size, blocks, count, free_blocks);
}

/* The block at the beginning of what is mapped side by side. A live block is known by its address;
 * in front of the first one is at most one free block. */
static const struct torch_block *stretch_at(const struct torch *st, const struct torch_segment *s,
                                            tp_addr base, const struct tp_torch_at *first)
{
    const struct torch_block *b =
        first ? torch_find_live(st, first->addr) : tp_torch_placed_before(s->pool, base);
    if (first && b && b->addr > base)
        b = b->before;
    bool begins = b && b->addr == base && b->segment == s &&
                  (!b->before || b->before->state == TORCH_UNMAPPED);
    return begins ? b : NULL;
}

bool tp_torch_is_mapped_at(void *state, const struct tp_torch_segment *part,
                           const struct tp_torch_at *blocks, size_t count, uint64_t free_blocks)
{
    const struct torch_segment *s = segment_before(state, part->base);
    const struct torch_block *b = NULL;
    if (is_of(state, s, part) && s->unit)
        b = stretch_at(state, s, part->base, count ? blocks : NULL);
    return b && are_blocks(b, part->size, blocks, count, free_blocks);
}

/* Looks at the blocks from *b on that are mapped side by side; *b is then the one behind them. */
static int look_at_stretch(const struct torch_block **b, tp_torch_look_fn *fn, void *ctx)
{
    const struct torch_segment *s = (*b)->segment;
    struct tp_torch_segment of = {
        .base = (*b)->addr, .pool = s->pool->number, .stream = s->stream, .small = s->pool->small};
    struct tp_torch_space space = {s->unit ? s->base : 0, s->unit};
    int rc = TP_OK;
    for (const struct torch_block *at = *b; at && at->state != TORCH_UNMAPPED; at = at->behind)
        of.size += at->size;
    for (; rc == TP_OK && *b && (*b)->state != TORCH_UNMAPPED; *b = (*b)->behind)
        rc = fn(ctx, &of, &space,
                &(struct tp_torch_at){(*b)->addr, (*b)->size,
                                      (*b)->state == TORCH_FREE ? 0 : (*b)->requested});
    return rc;
}

int tp_torch_look(void *state, tp_torch_look_fn *fn, void *ctx)
{
    struct torch *st = state;
    int rc = TP_OK;
    for (struct tp_link *l = st->segments.behind; rc == TP_OK && l != &st->segments; l = l->behind)
        for (const struct torch_block *b = torch_segment_of(l)->first; rc == TP_OK && b;)
            if (b->state == TORCH_UNMAPPED)
                b = b->behind;
            else
                rc = look_at_stretch(&b, fn, ctx);
    return rc;
}
