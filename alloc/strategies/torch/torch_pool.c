/* The free blocks of a pool in PyTorch's order: by stream, then size, then address.
 *
 * Known weakness: the fits that PyTorch does not have look at every free block. Where segments
 * grow, a request walks, as in PyTorch, over larger and larger free blocks that reach less and less
 * far: as each needs a hole of its own, 4 TiB of addresses have some 2,000 of them. */
#include "alloc/strategies/torch/torch_core.h"

/* Which of two blocks comes first can hardly be foretold, so that a processor guesses wrong at
 * every second branch: all is compared, without one. */
static bool is_before(const struct torch_block *a, const struct torch_block *b)
{
    const struct torch_segment *x = a->segment, *y = b->segment;
    bool place = (x->order < y->order) | ((x->order == y->order) & (a->addr < b->addr));
    bool size = (a->size < b->size) | ((a->size == b->size) & place);
    return (x->stream < y->stream) | ((x->stream == y->stream) & size);
}

static struct torch_block *by_size(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct torch_block, by_size, n) : NULL;
}

static bool size_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return is_before(TP_TREE_ITEM(const struct torch_block, by_size, a),
                     TP_TREE_ITEM(const struct torch_block, by_size, b));
}

static bool unused_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return is_before(TP_TREE_ITEM(const struct torch_block, by_unused, a),
                     TP_TREE_ITEM(const struct torch_block, by_unused, b));
}

static struct torch_block *by_place(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct torch_block, by_place, n) : NULL;
}

static bool place_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct torch_block, by_place, a)->addr <
           TP_TREE_ITEM(const struct torch_block, by_place, b)->addr;
}

static void renew_neighbours(const struct torch_block *b)
{
    tp_torch_room_renew(b->before);
    tp_torch_room_renew(b->behind);
}

/* Bytes of a free block that would go back if memory were short. */
INLINE uint64_t free_bytes(const struct torch_block *b)
{
    if (b->segment->unit)
        return tp_torch_unmappable(b);
    return torch_is_whole(b) ? b->size : 0;
}

void tp_torch_pool_add(struct torch_block *b)
{
    struct torch_pool *pool = b->segment->pool;
    bool grows = b->segment->unit;
    uint64_t unused = free_bytes(b);
    b->state = TORCH_FREE;
    b->searched = pool->searches;
    pool->free_bytes += unused;
    tp_tree_insert(grows ? &pool->grown : &pool->free, &b->by_size, size_less, NULL);
    if (unused)
        tp_tree_insert(grows ? &pool->units : &pool->unused, &b->by_unused, unused_less, NULL);
    if (pool->by_address)
        tp_tree_insert(&pool->placed, &b->by_place, place_less, NULL);
    if (grows)
        renew_neighbours(b);
}

void tp_torch_pool_remove(struct torch_block *b)
{
    struct torch_pool *pool = b->segment->pool;
    bool grows = b->segment->unit;
    uint64_t unused = free_bytes(b);
    b->state = TORCH_NONE;
    pool->free_bytes -= unused;
    tp_tree_remove(grows ? &pool->grown : &pool->free, &b->by_size, NULL);
    if (unused)
        tp_tree_remove(grows ? &pool->units : &pool->unused, &b->by_unused, NULL);
    if (pool->by_address)
        tp_tree_remove(&pool->placed, &b->by_place, NULL);
    if (grows)
        renew_neighbours(b);
}

/* ---- looking ---- */

/* Does a block stand at the first one of `size` bytes of a stream, or behind it? */
static bool is_from(const struct torch_block *b, uint16_t stream, uint64_t size)
{
    uint16_t own = b->segment->stream;
    return (own > stream) | ((own == stream) & (b->size >= size));
}

/* The first block from there on, of a tree whose nodes lie `offset` bytes into their blocks. */
INLINE struct torch_block *first_from(struct tp_tree_node *n, size_t offset, uint16_t stream,
                                      uint64_t size)
{
    struct torch_block *best = NULL;
    while (n) {
        struct torch_block *b = (struct torch_block *)(void *)((char *)n - offset);
        bool from = is_from(b, stream, size);
        TP_STEP();
        best = from ? b : best;
        n = from ? n->low : n->high;
    }
    return best;
}

/* The first block of a tree by size that stands behind another, which may be in another tree. */
static struct torch_block *first_behind(struct tp_tree_node *n, const struct torch_block *other)
{
    struct torch_block *best = NULL;
    while (n) {
        bool behind = is_before(other, by_size(n));
        TP_STEP();
        best = behind ? by_size(n) : best;
        n = behind ? n->low : n->high;
    }
    return best;
}

/* The first of two blocks, each of which may be NULL. */
static struct torch_block *earlier(struct torch_block *a, struct torch_block *b)
{
    return !b || (a && is_before(a, b)) ? a : b;
}

struct torch_block *tp_torch_pool_from(const struct torch_pool *pool, uint16_t stream,
                                       uint64_t size)
{
    const size_t offset = offsetof(struct torch_block, by_size);
    struct torch_block *b = first_from(pool->free, offset, stream, size);
    return LIKELY(!pool->grown) ? b : earlier(b, first_from(pool->grown, offset, stream, size));
}

struct torch_block *tp_torch_pool_behind(struct torch_block *b)
{
    const struct torch_pool *pool = b->segment->pool;
    return earlier(by_size(tp_tree_next(&b->by_size)),
                   first_behind(b->segment->unit ? pool->free : pool->grown, b));
}

struct torch_block *tp_torch_unused_first(const struct torch_pool *pool)
{
    return torch_by_unused(tp_tree_first(pool->unused));
}

struct torch_block *tp_torch_units_first(const struct torch_pool *pool)
{
    return torch_by_unused(tp_tree_first(pool->units));
}

struct torch_block *tp_torch_unused_from(const struct torch_pool *pool, uint16_t stream,
                                         uint64_t size)
{
    return first_from(pool->unused, offsetof(struct torch_block, by_unused), stream, size);
}

struct torch_block *tp_torch_unused_behind(struct torch_block *b)
{
    return torch_by_unused(tp_tree_next(&b->by_unused));
}

struct torch_block *tp_torch_placed_before(const struct torch_pool *pool, tp_addr addr)
{
    struct torch_block *best = NULL;
    for (struct tp_tree_node *n = pool->placed; n;) {
        bool at = by_place(n)->addr <= addr;
        TP_STEP();
        best = at ? by_place(n) : best;
        n = at ? n->high : n->low;
    }
    return best;
}

struct torch_block *tp_torch_unused_last(const struct torch_pool *pool, uint16_t stream)
{
    struct torch_block *best = NULL;
    for (struct tp_tree_node *n = pool->unused; n;) {
        bool above = torch_by_unused(n)->segment->stream > stream;
        TP_STEP();
        best = above ? best : torch_by_unused(n);
        n = above ? n->low : n->high;
    }
    return best && best->segment->stream == stream ? best : NULL;
}

/* ---- fit ---- */

static bool is_lower(const struct torch_block *a, const struct torch_block *b)
{
    if (a->segment->order != b->segment->order)
        return a->segment->order < b->segment->order;
    return a->addr < b->addr;
}

/* Does `b` serve better than `best`, by a rule that PyTorch does not have? */
static bool is_better(uint64_t fit, const struct torch_block *b, const struct torch_block *best)
{
    if (fit == TP_TORCH_FIRST)
        return is_lower(b, best);
    if (fit == TP_TORCH_WORST)
        return b->size > best->size;
    return b->size < best->size || (b->size == best->size && is_lower(best, b));
}

static struct torch_block *broken_fit(const struct torch *st, const struct torch_pool *pool,
                                      uint16_t stream, uint64_t size)
{
    struct torch_block *best = NULL;
    const struct tp_link *l = st->segments.behind;
    for (; l != &st->segments; l = l->behind) {
        const struct torch_segment *s = TP_LINKED(struct torch_segment, in_all, l);
        for (struct torch_block *b = s->first; b; b = b->behind)
            if (s->pool == pool && s->stream == stream && b->state == TORCH_FREE &&
                b->size >= size && (!best || is_better(st->rules.fit, b, best)))
                best = b;
    }
    return best;
}

/* What a block has, and what can be mapped right behind it. */
static uint64_t reach(const struct torch_block *b)
{
    bool grows = b->behind && b->behind->state == TORCH_UNMAPPED;
    return b->size + (grows ? b->behind->size : 0);
}

/* The best fit among blocks that can grow: the next ones serve as long as they reach less far.
 * Where segments do not grow any more, those that did serve nobody. */
static struct torch_block *pass_growing(const struct torch *st, uint16_t stream,
                                        struct torch_block *b)
{
    if (!st->rules.expandable)
        return first_behind(b->segment->pool->free, b);
    struct torch_block *next = tp_torch_pool_behind(b);
    for (; b->segment->unit && next && next->segment->stream == stream && reach(next) < reach(b);
         next = tp_torch_pool_behind(b))
        b = next;
    return b;
}

/* Blocks from the split limit on serve only requests from there on, and those only where not too
 * much is left over: they are never split. */
struct torch_block *tp_torch_pool_fit(const struct torch *st, struct torch_pool *pool,
                                      uint16_t stream, uint64_t size)
{
    const struct tp_torch_rules *r = &st->rules;
    pool->searches += torch_collects(st);
    struct torch_block *b = __builtin_expect(r->fit == TP_TORCH_BEST, 1)
                                ? tp_torch_pool_from(pool, stream, size)
                                : broken_fit(st, pool, stream, size);
    if (b && b->segment->stream == stream && b->segment->unit)
        b = pass_growing(st, stream, b);
    if (!b || b->segment->stream != stream)
        return NULL;
    if (size < r->split_limit ? b->size >= r->split_limit : b->size >= size + r->oversize_rest)
        return NULL;
    return b;
}
