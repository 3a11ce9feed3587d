/* The slow paths of `lru`: serving a request when the newest block of its key cannot, and giving
 * blocks back to the source. */
#include "alloc/strategies/lru/lru_core.h"

/* ---- keys ---- */

/* The key of a size and alignment, made if it is missing, with its count raised for a block that
 * the caller is about to add. If the caller fails, it must call key_release. NULL when memory is
 * exhausted. */
static struct lru_key *key_acquire(struct lru *st, uint64_t size, uint64_t align)
{
    struct cache_shelf *s = cache_shelf_find(&st->cache, key_name(size, align), 0);
    if (!s && !(s = tp_cache_shelf_make(&st->cache, key_name(size, align), 0)))
        return NULL;
    if (!s->blocks)
        tp_link_init(&lru_key_of(s)->in_order);
    s->blocks++;
    return lru_key_of(s);
}

/* Lowers the count of a key and frees the key after its last block. */
static void key_release(struct lru *st, struct lru_key *key)
{
    assert(key->shelf.blocks > 0);
    if (--key->shelf.blocks)
        return;
    for (size_t i = 0; i < LRU_NEAR; i++)
        if (st->near[i].key == key)
            st->near[i] = (struct lru_near){.key = &st->nobody};
    key_unlink(key);
    tp_cache_shelf_drop(&st->cache, &key->shelf);
}

/* ---- giving back ---- */

/* Gives a block that is in no list back to the source after waiting for its work. False: it is
 * still there. */
static bool node_put(struct lru *st, struct lru_node *node)
{
    if (!st->several)
        return tp_cache_put(&st->cache, &node->block);
    if (work_wait(st->cache.env->source, &node->work))
        return false;
    struct lru_work work = node->work;
    if (!tp_cache_put(&st->cache, &node->block))
        return false;
    work_fini(st->cache.env, &work);
    return true;
}

/* The least recently used key gives its oldest block back. False: nothing is cached. */
static bool evict_one(struct lru *st)
{
    struct lru_key *key;
    while ((key = TP_LINK_ITEM(struct lru_key, in_order, &st->order, st->order.behind)) &&
           !key_newest(key))
        key_unlink(key); /* the key's next free links it again */
    if (!key)
        return false;
    struct lru_node *node = TP_LINKED(struct lru_node, block.on_shelf, key->shelf.ready.behind);
    node_take(st, key, &node->block);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_gone(st, node);
    if (!node_put(st, node))
        tp_cache_set_aside(&st->cache, &node->block);
    key_release(st, key);
    return true;
}

static bool put_refused(void *state, struct refused *r)
{
    return node_put(state, node_of(cache_of_refused(r)));
}

/* Gets memory from the source, evicting one block after the other while it refuses. */
static inline int get_bytes(struct lru *st, uint64_t bytes, uint64_t align, tp_addr *out)
{
    struct tp_source *source = st->cache.env->source;
    int rc = tp_src_get(source, bytes, align, out);
    while (rc == TP_EOOM && evict_one(st))
        rc = tp_src_get(source, bytes, align, out);
    if (rc == TP_EOOM && refused_retry(&st->cache.refused, put_refused, st))
        rc = tp_src_get(source, bytes, align, out);
    return rc;
}

/* ---- alloc ---- */

/* The newest free block of a key that the stream may use now; NULL if there is none. */
static struct lru_node *find_allowed(struct lru *st, const struct lru_key *key, uint16_t stream)
{
    const struct tp_link *head = &key->shelf.ready, *l = head->before;
    uint64_t looks = 0;
    if (UNLIKELY(st->index != NULL))
        return tp_lru_index_find(st, key, stream);
    for (; l != head && st->several; l = l->before) {
        struct lru_work *work = &TP_LINKED(struct lru_node, block.on_shelf, l)->work;
        looks += 1 + work->count;
        if (work_allows(st->cache.env->source, work, stream))
            break;
    }
    if (UNLIKELY(looks > LRU_LOOK))
        tp_lru_index_make(st);
    return TP_LINK_ITEM(struct lru_node, block.on_shelf, head, l);
}

static struct lru_node *take_allowed(struct lru *st, struct lru_key *key, uint16_t stream)
{
    struct lru_node *n = find_allowed(st, key, stream);
    if (!n)
        return NULL;
    node_take(st, key, &n->block);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_gone(st, n);
    key_touch(st, key);
    if (st->several)
        work_start(&n->work, stream);
    return n;
}

/* Makes a live block. The key's count already includes it. */
static struct lru_node *enter(struct lru *st, struct lru_key *key, tp_addr addr, uint64_t bytes,
                              uint16_t stream)
{
    struct lru_node *n = node_of(cache_enter(&st->cache, &key->shelf, addr, bytes));
    if (st->several)
        work_start(&n->work, stream);
    return n;
}

/* Makes a live block from new memory. */
static int take_fresh(struct lru *st, struct lru_key *key, const struct tp_req *rq,
                      struct lru_node **out)
{
    uint64_t bytes = cache_range(&st->cache, cache_key_size(key->shelf.key));
    tp_addr addr = 0;
    int rc = cache_reserve(&st->cache);
    if (!rc)
        rc = get_bytes(st, bytes, rq->align, &addr);
    if (!rc)
        *out = enter(st, key, addr, bytes, rq->stream);
    return rc;
}

static int hand_out(struct lru *st, struct lru_node *node, const struct tp_req *rq,
                    struct tp_block *out)
{
    cache_hand_out(&node->block, rq, out);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_live(st, node);
    return TP_OK;
}

int tp_lru_alloc_slow(struct lru *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > LRU_MAX_BYTES)
        return TP_EOOM;
    struct lru_key *key = key_acquire(st, round_size(st, rq->size), rq->align);
    if (!key)
        return TP_ENOMEM;
    int rc = TP_OK;
    struct lru_node *node = take_allowed(st, key, rq->stream);
    if (node)
        key->shelf.blocks--; /* it already includes the block */
    else
        rc = take_fresh(st, key, rq, &node);
    if (rc) {
        key_release(st, key);
        return rc;
    }
    *near_of(st, rq->size) = (struct lru_near){rq->size, rq->align, key};
    return hand_out(st, node, rq, out);
}

int tp_lru_alloc_any(struct lru *st, const struct tp_req *rq, struct tp_block *out)
{
    const struct lru_near *near = near_of(st, rq->size);
    struct lru_node *node = NULL;
    if (near->size == rq->size && near->align == rq->align)
        node = take_allowed(st, near->key, rq->stream);
    return node ? hand_out(st, node, rq, out) : tp_lru_alloc_slow(st, rq, out);
}

/* The adopted block may be smaller than blocks of the request's key are. Then it gets the largest
 * key that it can serve. */
int tp_lru_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                 struct tp_block *out)
{
    (void)thread;
    struct lru *st = state;
    if (!tp_cache_adopts(&st->cache, addr, rq, LRU_MAX_BYTES))
        return TP_EINVAL;
    uint64_t bytes = cache_range(&st->cache, rq->size), size = round_size(st, rq->size);
    int rc = cache_reserve(&st->cache);
    if (rc)
        return rc;
    struct lru_key *key = key_acquire(st, size <= bytes ? size : round_down(st, bytes), rq->align);
    if (!key)
        return TP_ENOMEM;
    return hand_out(st, enter(st, key, addr, bytes, rq->stream), rq, out);
}

/* ---- giving back ---- */

int tp_lru_shrink(struct lru *st)
{
    while (lru_is_over(st))
        evict_one(st);
    return TP_OK;
}

/* Tries refused blocks first, then evicts. */
int tp_lru_trim(void *state, uint64_t keep)
{
    struct lru *st = state;
    refused_retry(&st->cache.refused, put_refused, st);
    while (st->cache.cached_bytes > keep)
        evict_one(st);
    return TP_OK;
}

/* Blocks that the source refuses are tried once more when all others are gone. */
void tp_lru_put_all(struct lru *st)
{
    for (int round = 0; round < 2; round++) {
        struct slab_cursor c = slab_first(&st->cache.blocks);
        for (struct lru_node *n; (n = node_next(&c));) {
            if (n->block.refs && st->several)
                work_record(st->cache.env->source, &n->work, n->work.stream);
            n->block.refs = 0;
            if (round || n->block.shelf)
                node_put(st, n);
        }
    }
    struct slab_cursor c = slab_first(&st->cache.blocks);
    for (struct lru_node *n; st->several && (n = node_next(&c));)
        work_fini(st->cache.env, &n->work);
}
