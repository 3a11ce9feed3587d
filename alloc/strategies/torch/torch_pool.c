/* The free blocks of a pool in PyTorch's order: by stream, then size, then address.
 *
 * Known weakness: the fits that PyTorch does not have look at every free block. */
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

static bool idle_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return is_before(TP_TREE_ITEM(const struct torch_block, by_idle, a),
                     TP_TREE_ITEM(const struct torch_block, by_idle, b));
}

static bool placed_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct torch_block, by_idle, a)->addr <
           TP_TREE_ITEM(const struct torch_block, by_idle, b)->addr;
}

static void renew_neighbours(const struct torch_block *b)
{
    tp_torch_room_renew(b->before);
    tp_torch_room_renew(b->behind);
}

/* A free block of a segment that grows is no whole one, so that its second node is free for the
 * order of addresses. */
void tp_torch_pool_add(struct torch_block *b)
{
    struct torch_pool *pool = b->segment->pool;
    b->state = TORCH_FREE;
    b->searched = pool->searches;
    tp_tree_insert(&pool->free, &b->by_size, size_less, NULL);
    if (b->segment->unit) {
        pool->idle_bytes += tp_torch_unmappable(b);
        if (pool->by_address)
            tp_tree_insert(&pool->placed, &b->by_idle, placed_less, NULL);
        renew_neighbours(b);
    } else if (torch_is_whole(b)) {
        pool->idle_bytes += b->size;
        tp_tree_insert(&pool->idle, &b->by_idle, idle_less, NULL);
    }
}

void tp_torch_pool_remove(struct torch_block *b)
{
    struct torch_pool *pool = b->segment->pool;
    b->state = TORCH_NONE;
    tp_tree_remove(&pool->free, &b->by_size, NULL);
    if (b->segment->unit) {
        pool->idle_bytes -= tp_torch_unmappable(b);
        if (pool->by_address)
            tp_tree_remove(&pool->placed, &b->by_idle, NULL);
        renew_neighbours(b);
    } else if (torch_is_whole(b)) {
        pool->idle_bytes -= b->size;
        tp_tree_remove(&pool->idle, &b->by_idle, NULL);
    }
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

struct torch_block *tp_torch_pool_from(const struct torch_pool *pool, uint16_t stream,
                                       uint64_t size)
{
    return first_from(pool->free, offsetof(struct torch_block, by_size), stream, size);
}

struct torch_block *tp_torch_pool_behind(struct torch_block *b)
{
    return by_size(tp_tree_next(&b->by_size));
}

struct torch_block *tp_torch_idle_first(const struct torch_pool *pool)
{
    return torch_by_idle(tp_tree_first(pool->idle));
}

struct torch_block *tp_torch_idle_from(const struct torch_pool *pool, uint16_t stream,
                                       uint64_t size)
{
    return first_from(pool->idle, offsetof(struct torch_block, by_idle), stream, size);
}

struct torch_block *tp_torch_idle_behind(struct torch_block *b)
{
    return torch_by_idle(tp_tree_next(&b->by_idle));
}

struct torch_block *tp_torch_placed_before(const struct torch_pool *pool, tp_addr addr)
{
    struct torch_block *best = NULL;
    for (struct tp_tree_node *n = pool->placed; n;) {
        bool at = torch_by_idle(n)->addr <= addr;
        TP_STEP();
        best = at ? torch_by_idle(n) : best;
        n = at ? n->high : n->low;
    }
    return best;
}

struct torch_block *tp_torch_idle_last(const struct torch_pool *pool, uint16_t stream)
{
    struct torch_block *best = NULL;
    for (struct tp_tree_node *n = pool->idle; n;) {
        bool above = torch_by_idle(n)->segment->stream > stream;
        TP_STEP();
        best = above ? best : torch_by_idle(n);
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
    struct torch_block *next = tp_torch_pool_behind(b);
    if (!st->rules.expandable) {
        for (; next && next->segment->unit; next = tp_torch_pool_behind(next))
            TP_STEP();
        return next;
    }
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
