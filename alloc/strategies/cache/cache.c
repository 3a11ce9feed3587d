/* See cache.h: shelves and blocks come and go. */
#include "alloc/strategies/cache/cache.h"

void tp_cache_init(struct cache *c, const struct tp_env *env, size_t block, size_t shelf)
{
    c->env = env;
    c->page = env->source->page;
    slab_init(&c->blocks, env, block);
    slab_init(&c->shelves, env, shelf);
    meta_map_init(&c->addresses, env);
    meta_map_init(&c->bins, env);
    meta_map_init(&c->beside, env);
}

void tp_cache_fini(struct cache *c)
{
    tp_addr_map_fini(&c->addresses);
    tp_addr_map_fini(&c->bins);
    tp_addr_map_fini(&c->beside);
    slab_fini(&c->blocks);
    slab_fini(&c->shelves);
}

/* ---- shelves ---- */

struct cache_shelf *tp_cache_shelf_make(struct cache *c, uint64_t key, uint16_t stream)
{
    struct cache_shelf *first = meta_map_at(&c->bins, key), *s = cache_in_bin(c, first, stream);
    if (s)
        return s;
    struct tp_addr_map *map = first ? &c->beside : &c->bins;
    if (tp_addr_map_reserve(map, map->count + 1) || !(s = slab_take(&c->shelves)))
        return NULL;
    s->key = key;
    s->stream = stream;
    tp_link_init(&s->ready);
    s->bin = first ? first->bin : ++c->bins_made;
    if (first) {
        s->before = first;
        s->next = first->next;
        if (s->next)
            s->next->before = s;
        first->next = s;
    }
    tp_addr_map_insert(map, first ? cache_shelf_name(s->bin, stream) : key, (uintptr_t)s);
    return s;
}

void tp_cache_shelf_drop(struct cache *c, struct cache_shelf *s)
{
    assert(!s->blocks && s->ready.behind == &s->ready);
    tp_addr_map_remove(&c->beside, cache_shelf_name(s->bin, s->stream), NULL);
    if (s->before)
        s->before->next = s->next;
    else if (s->next)
        *tp_addr_map_find(&c->bins, s->key) = (uintptr_t)s->next;
    else
        tp_addr_map_remove(&c->bins, s->key, NULL);
    if (s->next)
        s->next->before = s->before;
    slab_give(&c->shelves, s);
}

/* ---- blocks ---- */

bool tp_cache_adopts(const struct cache *c, tp_addr addr, const struct tp_req *rq, uint64_t most)
{
    return request_is_sound(rq) && rq->size <= most && addr && !(addr & (rq->align - 1)) &&
           !(addr & (c->page - 1)) && !cache_find(c, addr);
}

bool tp_cache_put(struct cache *c, struct cache_block *b)
{
    if (tp_src_put(c->env->source, b->addr, cache_range(c, b->allocated)))
        return false;
    tp_addr_map_remove(&c->addresses, b->addr, NULL);
    c->carved.now -= b->allocated;
    slab_give(&c->blocks, b);
    return true;
}

void tp_cache_set_aside(struct cache *c, struct cache_block *b)
{
    b->shelf = NULL;
    b->refused.next = c->refused;
    c->refused = &b->refused;
}

/* ---- never timed ---- */

uint64_t tp_cache_usable(void *state, tp_addr addr)
{
    const struct cache_block *b = cache_find_live(state, addr);
    return b ? b->allocated : 0;
}

void tp_cache_stats(void *state, struct tp_stats *out)
{
    const struct cache *c = state;
    *out = (struct tp_stats){.carved_bytes = c->carved.now, .peak_carved_bytes = c->carved.peak};
}

int tp_cache_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct cache *c = state;
    struct slab_cursor at = slab_first(&c->blocks);
    for (const struct cache_block *b; (b = slab_next(&at));) {
        enum tp_walk_kind idle = b->shelf ? TP_WALK_CACHED : TP_WALK_DEAD;
        uint64_t rest = cache_range(c, b->allocated) - b->allocated;
        if (b->allocated)
            fn(ctx, b->refs ? TP_WALK_LIVE : idle, b->addr, b->allocated);
        if (rest) /* rounding up to the source's page */
            fn(ctx, TP_WALK_INTERNAL, b->addr + b->allocated, rest);
    }
    return TP_OK;
}

static const char *check_block(const struct cache *c, const struct cache_block *b,
                               struct cache_sums *sums)
{
    const struct cache_shelf *s = b->shelf;
    bool cached = s && !b->refs;
    sums->blocks++;
    sums->live += b->refs != 0;
    sums->cached += cached;
    sums->refused += !s;
    sums->bytes += b->allocated;
    sums->cached_bytes += cached ? b->allocated : 0;
    if (cache_find(c, b->addr) != b)
        return "a block is not in the table of addresses";
    if (s && cache_shelf_find(c, s->key, s->stream) != s)
        return "the shelf of a block cannot be found";
    if (s && (cache_key_size(s->key) > b->allocated || b->addr & (cache_key_align(s->key) - 1)))
        return "a block cannot serve its key";
    if (b->refs && (!s || !b->size || b->size > b->allocated))
        return "a live block is smaller than its request";
    return NULL;
}

bool tp_cache_check_list(const struct tp_link *list, const struct cache_shelf *s, uint64_t *count)
{
    for (const struct tp_link *l = list->behind; l != list; l = l->behind, ++*count) {
        const struct cache_block *b = TP_LINKED(const struct cache_block, on_shelf, l);
        if (l->before->behind != l || b->shelf != s || b->refs)
            return false;
    }
    return list->before->behind == list;
}

static const char *check_bins(const struct cache *c, struct cache_sums *sums)
{
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&c->bins, &at));)
        for (const struct cache_shelf *s = (const void *)(uintptr_t)e->value; s; s = s->next) {
            sums->shelves++;
            sums->counted += s->blocks;
            if (s->key != e->key || !s->blocks ||
                (s->next && (s->next->before != s || s->next->bin != s->bin)))
                return "a shelf is empty or in the wrong bin";
            if (!tp_cache_check_list(&s->ready, s, &sums->ready))
                return "the list of a shelf is broken";
        }
    return c->beside.count > sums->shelves ? "a removed shelf is still beside another" : NULL;
}

const char *tp_cache_check(const struct cache *c, struct cache_sums *sums)
{
    const char *fault = NULL;
    uint64_t refused = 0;
    struct slab_cursor at = slab_first(&c->blocks);
    for (const struct cache_block *b; !fault && (b = slab_next(&at));)
        if (b->allocated)
            fault = check_block(c, b, sums);
    if (!fault)
        fault = check_bins(c, sums);
    for (const struct refused *r = c->refused; r; r = r->next, refused++)
        if (cache_of_refused(r)->shelf || cache_of_refused(r)->refs)
            return "a block that was not refused is set aside";
    if (!fault && (sums->refused != refused || sums->counted + refused != sums->blocks ||
                   sums->shelves != c->shelves.used))
        fault = "shelves and blocks do not add up";
    if (!fault && (sums->blocks != c->addresses.count || sums->blocks != c->blocks.used))
        fault = "the table of addresses does not add up";
    if (!fault && (sums->bytes != c->carved.now || c->carved.now > c->carved.peak ||
                   sums->cached != c->cached || sums->cached_bytes != c->cached_bytes))
        fault = "the counters do not add up";
    return fault;
}
