/* See stream_pool_ranks.h. */
#include "alloc/strategies/stream_pool/stream_pool_ranks.h"

static struct rank *rank_at(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rank, node, n) : NULL;
}

static bool rank_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct rank *x = rank_at(a), *y = rank_at(b);
    if (x->bin != y->bin)
        return x->bin < y->bin;
    return x->late != y->late ? x->late < y->late : x->oldest < y->oldest;
}

/* The key of an entry; the low bits hold `of`, because owners lie at multiples of 8. */
static uint64_t rank_key(enum rank_of of, const void *owner)
{
    return (uintptr_t)owner + of;
}

static void rank_take_out(struct ranks *r, enum rank_of of, struct rank *e)
{
    if (e->node.number)
        tp_tree_remove(&r->roots[of], &e->node, NULL);
    e->node.number = 0;
}

bool tp_stream_pool_rank_file(struct ranks *r, enum rank_of of, void *owner, struct rank to)
{
    struct rank *e = meta_map_at(&r->entries, rank_key(of, owner));
    if (e && e->node.number && e->bin == to.bin && e->late == to.late && e->oldest == to.oldest)
        return true;
    if (!e) {
        if (!to.oldest)
            return true;
        if (tp_addr_map_reserve(&r->entries, r->entries.count + UINT64_C(1)) ||
            !(e = slab_take(&r->records)))
            return false;
        tp_addr_map_insert(&r->entries, rank_key(of, owner), (uintptr_t)e);
    }
    rank_take_out(r, of, e);
    e->bin = to.bin;
    e->late = to.late;
    e->oldest = to.oldest;
    e->owner = owner;
    if (to.oldest) {
        tp_tree_insert(&r->roots[of], &e->node, rank_less, NULL);
        e->node.number = 1;
    }
    return true;
}

void tp_stream_pool_rank_forget(struct ranks *r, enum rank_of of, const void *owner)
{
    uint64_t value = 0;
    if (!tp_addr_map_remove(&r->entries, rank_key(of, owner), &value))
        return;
    rank_take_out(r, of, (struct rank *)(uintptr_t)value);
    slab_give(&r->records, (void *)(uintptr_t)value);
}

struct rank *tp_stream_pool_rank_from(const struct ranks *r, enum rank_of of, uint64_t bin,
                                      uint64_t late, uint64_t oldest)
{
    const struct rank least = {.bin = bin, .late = late, .oldest = oldest};
    struct tp_tree_node *best = NULL;
    for (struct tp_tree_node *at = r->roots[of]; at;) {
        bool before = rank_less(at, &least.node);
        TP_STEP();
        best = before ? best : at;
        at = before ? at->high : at->low;
    }
    return best && rank_at(best)->bin == bin ? rank_at(best) : NULL;
}

struct ranks *tp_stream_pool_ranks_new(const struct tp_env *env)
{
    struct ranks *r = tp_meta_get(env, sizeof *r);
    if (!r)
        return NULL;
    r->env = env;
    slab_init(&r->records, env, sizeof(struct rank));
    meta_map_init(&r->entries, env);
    meta_map_init(&r->uses, env);
    meta_map_init(&r->synced, env);
    return r;
}

void tp_stream_pool_ranks_free(struct ranks *r)
{
    if (!r)
        return;
    tp_addr_map_fini(&r->entries);
    tp_addr_map_fini(&r->uses);
    tp_addr_map_fini(&r->synced);
    slab_fini(&r->records);
    tp_meta_put(r->env, r, sizeof *r);
}
