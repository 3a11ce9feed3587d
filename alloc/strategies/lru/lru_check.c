/* The walk over all blocks of `lru`, and the check of its invariants. */
#include "alloc/strategies/lru/lru_nodes.h"

int tp_lru_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct lru *st = state;
    struct lru_cursor c = {st->oldest_slab, 0};
    for (const struct lru_node *n; (n = node_next(&c));) {
        enum tp_walk_kind kind = n->key ? TP_WALK_CACHED : TP_WALK_DEAD;
        fn(ctx, n->refs ? TP_WALK_LIVE : kind, n->addr, n->bytes);
    }
    return TP_OK;
}

/* Sums over all nodes and keys. */
struct lru_sums {
    uint64_t nodes, bytes, free_nodes; /* free_nodes: cached blocks */
    uint64_t refused, keyed;           /* keyed: nodes with a key */
    uint64_t keys, stacks;             /* stacks: keys with a free block */
    uint64_t stacked, stacked_bytes;
};

static const char *check_nodes(const struct lru *st, struct lru_sums *sums)
{
    struct lru_cursor c = {st->oldest_slab, 0};
    for (const struct lru_node *n; (n = node_next(&c)); sums->nodes++) {
        sums->bytes += n->bytes;
        sums->free_nodes += !n->refs && n->key;
        sums->keyed += n->key != NULL;
        sums->refused += !n->refs && !n->key;
        if (node_find(st, n->addr) != n)
            return "a block is in the table";
        if (n->refs && (!n->key || !n->size || n->size > n->bytes))
            return "a live block has a key and fits";
        if (n->key && (n->key->size > n->bytes || n->addr & (n->key->align - 1)))
            return "a block can serve its key";
        if (!n->work != !st->several)
            return "fences are kept where there are several streams";
    }
    for (const struct refused *r = st->refused; r; r = r->next) {
        const struct lru_node *n = node_refused(r);
        if (n->refs || n->key || !sums->refused)
            return "refused blocks are listed";
        sums->refused--;
    }
    return sums->refused ? "refused blocks are listed" : NULL;
}

static const char *check_stack(const struct lru_key *key, struct lru_sums *sums)
{
    const struct lru_node *above = NULL;
    for (const struct lru_node *n = key->top; n; above = n, n = n->below) {
        if (n->refs || n->key != key)
            return "what is in a stack is free and of its key";
        if (above && n->above != above)
            return "a stack is linked both ways";
        if (++sums->stacked > sums->free_nodes)
            return "free blocks are in one stack each";
        sums->stacked_bytes += n->bytes;
    }
    sums->stacks += key->top != NULL;
    return key->top && key->bottom != above ? "the oldest block is at the bottom" : NULL;
}

static const char *check_keys(const struct lru *st, struct lru_sums *sums)
{
    const char *broken = NULL;
    uint64_t stacks = 0, blocks = 0;
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; !broken && (e = tp_addr_map_next(&st->keys, &at));) {
        const struct lru_key *key = (const struct lru_key *)(uintptr_t)e->value;
        if (!key->blocks || e->key != key_name(key->size, key->align))
            broken = "a key has blocks and is found by its name";
        if (!broken && key->top && key->newer == key)
            broken = "a key with free blocks is in the order of use";
        if (!broken)
            broken = check_stack(key, sums);
        blocks += key->blocks;
    }
    for (const struct lru_key *k = st->head.older; !broken && k != &st->head; k = k->older) {
        stacks += k->top != NULL;
        if (k->older->newer != k || ++sums->keys > st->keys.count)
            broken = "the order of use is a circle";
    }
    if (!broken && blocks != sums->keyed)
        broken = "the blocks of a key are counted";
    return !broken && stacks != sums->stacks ? "keys are in the order of use once" : broken;
}

static const char *check_near(const struct lru *st)
{
    for (size_t i = 0; i < sizeof st->near / sizeof st->near[0]; i++) {
        const struct lru_near *near = &st->near[i];
        if (near->key == &st->nobody)
            continue;
        const uint64_t *found =
            tp_addr_map_find(&st->keys, key_name(round_size(st, near->size), near->align));
        if (!found || *found != (uintptr_t)near->key)
            return "what was seen lately leads to its key";
    }
    return st->nobody.top ? "nobody has no blocks" : NULL;
}

int tp_lru_check(void *state, struct tp_err *err)
{
    const struct lru *st = state;
    struct lru_sums sums = {0};
    const char *broken = check_nodes(st, &sums);
    if (!broken)
        broken = check_keys(st, &sums);
    if (!broken)
        broken = check_near(st);
    if (!broken)
        broken = tp_lru_index_fault(st, sums.keyed - sums.free_nodes, sums.free_nodes);
    if (!broken && (sums.nodes != st->blocks.count || sums.bytes != st->carved.now ||
                    st->carved.now > st->carved.peak))
        broken = "blocks and their bytes are counted";
    if (!broken && (sums.stacked != sums.free_nodes || sums.stacked != st->cached_blocks ||
                    sums.stacked_bytes != st->cached_bytes || sums.stacks != st->cached_keys))
        broken = "cached blocks, bytes and keys are counted";
    if (!broken && (st->cached_blocks > st->max_blocks || st->cached_bytes > st->max_bytes ||
                    st->cached_keys > st->max_keys))
        broken = "no limit is exceeded";
    return broken ? tp_fail(err, TP_EBROKEN, "strategy 'lru' broke a rule: %s", broken) : TP_OK;
}
