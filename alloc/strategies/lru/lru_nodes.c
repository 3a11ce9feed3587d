/* The slow paths of `lru`: serving a request when the newest block of its key cannot, and giving
 * blocks back to the source. */
#include "alloc/strategies/lru/lru_nodes.h"

static int slab_add(struct lru *st)
{
    const uint64_t line = sizeof(struct lru_node);
    uint32_t count = st->newest_slab ? st->newest_slab->count * 2 : LRU_FIRST_SLAB;
    count = count > LRU_LAST_SLAB ? LRU_LAST_SLAB : count;
    size_t bytes = sizeof(struct lru_slab) + (count + 1) * line;
    struct lru_slab *slab = tp_meta_get(st->env, bytes);
    struct lru_work *works = NULL;
    if (slab && st->several)
        works = tp_meta_get(st->env, count * sizeof *works);
    if (!slab || (st->several && !works)) {
        tp_meta_put(st->env, slab, bytes);
        return TP_ENOMEM;
    }
    uintptr_t nodes = ((uintptr_t)(slab + 1) + line - 1) & ~(uintptr_t)(line - 1);
    *slab = (struct lru_slab){
        .bytes = bytes, .nodes = (struct lru_node *)nodes, .works = works, .count = count};
    for (uint32_t i = count; i-- > 0;) {
        slab->nodes[i].work = works ? &works[i] : NULL;
        slab->nodes[i].below = st->spare;
        st->spare = &slab->nodes[i];
    }
    if (st->newest_slab)
        st->newest_slab->next = slab;
    else
        st->oldest_slab = slab;
    st->newest_slab = slab;
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_slab(st, slab);
    return TP_OK;
}

/* Makes sure that there is a spare node and room for it in the table. TP_ENOMEM. */
static inline int node_reserve(struct lru *st)
{
    int rc = tp_addr_map_reserve(&st->blocks, st->blocks.count + 1);
    return rc || st->spare ? rc : slab_add(st);
}

/* Turns a reserved node into a live block. */
static inline struct lru_node *node_take(struct lru *st, struct lru_key *key, tp_addr addr,
                                         uint64_t bytes, uint16_t stream)
{
    struct lru_node *node = st->spare;
    st->spare = node->below;
    node->addr = addr;
    node->bytes = bytes;
    node->key = key;
    if (node->work)
        work_start(node->work, stream);
    tp_addr_map_insert(&st->blocks, addr, (uintptr_t)node);
    carved_add(&st->carved, bytes);
    return node;
}

static void node_drop(struct lru *st, struct lru_node *node)
{
    struct lru_work *work = node->work;
    tp_addr_map_remove(&st->blocks, node->addr, NULL);
    st->carved.now -= node->bytes;
    if (work)
        work_fini(st->env, work);
    *node = (struct lru_node){.below = st->spare, .work = work};
    st->spare = node;
}

/* ---- giving back ---- */

/* Gives a block that is in no stack back to the source after waiting for its work. */
static inline int node_put(struct lru *st, struct lru_node *node)
{
    int rc = node->work ? work_wait(st->env->source, node->work) : TP_OK;
    return rc ? rc : tp_src_put(st->env->source, node->addr, node->bytes);
}

/* Takes a block off its key and gives it back. If the source refuses, the block is kept in the list
 * of refused blocks. */
static void node_give_back(struct lru *st, struct lru_node *node)
{
    struct lru_key *key = node->key;
    node->key = NULL;
    if (node_put(st, node)) {
        node->refused.next = st->refused;
        st->refused = &node->refused;
    } else {
        node_drop(st, node);
    }
    key_release(st, key);
}

/* The least recently used key gives its oldest block back. False: nothing is cached. */
static bool evict_one(struct lru *st)
{
    struct lru_key *key = st->head.newer;
    while (key != &st->head && !key->top) {
        key_unlink(key); /* the key's next free links it again */
        key = st->head.newer;
    }
    if (key == &st->head)
        return false;
    struct lru_node *node = key->bottom;
    stack_remove(st, key, node);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_gone(st, node);
    node_give_back(st, node);
    return true;
}

static bool put_refused(void *state, struct refused *r)
{
    struct lru_node *node = node_refused(r);
    if (node_put(state, node))
        return false;
    node_drop(state, node);
    return true;
}

/* Gets memory from the source, evicting one block after the other while it refuses. */
static inline int get_bytes(struct lru *st, uint64_t bytes, uint64_t align, tp_addr *out)
{
    struct tp_source *source = st->env->source;
    int rc = tp_src_get(source, bytes, align, out);
    while (rc == TP_EOOM && evict_one(st))
        rc = tp_src_get(source, bytes, align, out);
    if (rc == TP_EOOM && refused_retry(&st->refused, put_refused, st))
        rc = tp_src_get(source, bytes, align, out);
    return rc;
}

/* ---- alloc ---- */

/* The newest free block of a key that the stream may use now; NULL if there is none. */
static struct lru_node *find_allowed(struct lru *st, const struct lru_key *key, uint16_t stream)
{
    uint64_t looks = 0;
    struct lru_node *n = key->top;
    if (UNLIKELY(st->index != NULL))
        return tp_lru_index_find(st, key, stream);
    for (; n && st->several; n = n->below) {
        looks += 1 + n->work->count;
        if (work_allows(st->env->source, n->work, stream))
            break;
    }
    if (UNLIKELY(looks > LRU_LOOK))
        tp_lru_index_make(st);
    return n;
}

static struct lru_node *take_allowed(struct lru *st, struct lru_key *key, uint16_t stream)
{
    struct lru_node *n = find_allowed(st, key, stream);
    if (!n)
        return NULL;
    stack_remove(st, key, n);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_gone(st, n);
    key_touch(st, key);
    if (n->work)
        work_start(n->work, stream);
    return n;
}

/* Makes a live block from new memory. The key's count already includes the block. */
static int take_fresh(struct lru *st, struct lru_key *key, uint16_t stream, struct lru_node **out)
{
    uint64_t bytes = page_size(st, key->size);
    tp_addr addr = 0;
    int rc = node_reserve(st);
    if (!rc)
        rc = get_bytes(st, bytes, key->align, &addr);
    if (!rc)
        *out = node_take(st, key, addr, bytes, stream);
    return rc;
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
        key->blocks--; /* `key->blocks` already includes the block */
    else
        rc = take_fresh(st, key, rq->stream, &node);
    if (rc) {
        key_release(st, key);
        return rc;
    }
    *near_of(st, rq->size) = (struct lru_near){rq->size, rq->align, key};
    hand_out_known(st, node, rq, out);
    return TP_OK;
}

int tp_lru_alloc_any(struct lru *st, const struct tp_req *rq, struct tp_block *out)
{
    const struct lru_near *near = near_of(st, rq->size);
    struct lru_node *node = NULL;
    if (near->size == rq->size && near->align == rq->align)
        node = take_allowed(st, near->key, rq->stream);
    if (!node)
        return tp_lru_alloc_slow(st, rq, out);
    hand_out_known(st, node, rq, out);
    return TP_OK;
}

int tp_lru_enter(struct lru *st, struct lru_key *key, tp_addr addr, uint64_t bytes, uint16_t stream,
                 struct lru_node **out)
{
    int rc = node_reserve(st);
    if (!rc)
        *out = node_take(st, key, addr, bytes, stream);
    return rc;
}

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
    refused_retry(&st->refused, put_refused, st);
    while (st->cached_bytes > keep)
        evict_one(st);
    return TP_OK;
}

/* Blocks that the source refuses are tried once more when all others are gone. */
void tp_lru_put_all(struct lru *st)
{
    struct lru_cursor c = {st->oldest_slab, 0};
    for (struct lru_node *n; (n = node_next(&c));) {
        if (n->refs && n->work)
            work_record(st->env->source, n->work, n->work->stream);
        if (n->key && !node_put(st, n))
            n->addr = 0;
    }
    c = (struct lru_cursor){st->oldest_slab, 0};
    for (struct lru_node *n; (n = node_next(&c));)
        node_put(st, n);
}
