/* The check of the invariants of `lru`. */
#include "alloc/strategies/lru/lru_core.h"

static const char *check_keys(const struct lru *st)
{
    const struct tp_addr_entry *e;
    uint64_t stacks = 0, keys = 0, linked = 0;
    for (uint64_t at = 0; (e = tp_addr_map_next(&st->cache.bins, &at));) {
        const struct lru_key *key = lru_key_of((void *)(uintptr_t)e->value);
        stacks += key_newest(key) != NULL;
        if (key_newest(key) && key->in_order.behind == &key->in_order)
            return "a key with free blocks is in the order of use";
    }
    for (const struct tp_link *l = st->order.behind; l != &st->order; l = l->behind) {
        linked += key_newest(TP_LINKED(const struct lru_key, in_order, l)) != NULL;
        if (l->behind->before != l || ++keys > st->cache.shelves.used)
            return "the order of use is a circle";
    }
    if (stacks != linked)
        return "keys are in the order of use once";
    return stacks != st->cached_keys ? "keys with free blocks are counted" : NULL;
}

static const char *check_near(const struct lru *st)
{
    for (size_t i = 0; i < LRU_NEAR; i++) {
        const struct lru_near *near = &st->near[i];
        uint64_t name = near->size ? key_name(round_size(st, near->size), near->align) : 0;
        if (near->key != &st->nobody && cache_shelf_find(&st->cache, name, 0) != &near->key->shelf)
            return "a recently seen size leads to its key";
    }
    return key_newest(&st->nobody) ? "nobody has no blocks" : NULL;
}

int tp_lru_check(void *state, struct tp_err *err)
{
    const struct lru *st = state;
    struct cache_sums sums = {0};
    const char *broken = tp_cache_check(&st->cache, &sums);
    if (!broken && sums.ready != sums.cached)
        broken = "free blocks are in one list each";
    if (!broken)
        broken = check_keys(st);
    if (!broken)
        broken = check_near(st);
    if (!broken)
        broken = tp_lru_index_fault(st, sums.live, sums.cached);
    if (!broken && lru_is_over(st))
        broken = "no limit is exceeded";
    return broken ? tp_fail(err, TP_EBROKEN, "strategy 'lru' broke a rule: %s", broken) : TP_OK;
}
