/* The state of `lru`: keys in the order of their use, and the blocks of each key.
 *
 *     oldest                                newest
 *     [70000,256] <-> [64,16] <-> [4096,16] <-> (order)       keys, a circle
 *         |              |            |
 *       ready          ready        ready                     free blocks, the oldest first
 *
 * Tables, blocks and shelves are those of cache.h; a key is a shelf, whatever streams its blocks
 * are for. A block has the same node while it is live and while it is cached, so that a hit needs
 * no bookkeeping memory, and a free finds block and key with one look-up. A key without free blocks
 * stays in the circle until an eviction finds it there. */
#ifndef TP_LRU_CORE_H
#define TP_LRU_CORE_H

#include "alloc/strategies/cache/cache.h"
#include "alloc/strategies/lru/lru_streams.h"

#define LRU_MAX_BYTES (UINT64_C(1) << 56)
#define LRU_NEAR_LOG2 6u
#define LRU_NEAR      (1u << LRU_NEAR_LOG2)

struct lru_key {
    struct cache_shelf shelf;
    struct tp_link in_order; /* linked to itself while the key is not in the circle */
};

/* With one stream the work is left out of the record. */
struct lru_node {
    struct cache_block block;
    struct lru_work work;
};

/* Cache entry: the key of a recent request. */
struct lru_near {
    uint64_t size, align;
    struct lru_key *key; /* never NULL */
};

struct lru {
    struct cache cache;
    /* true with several streams or an index, where the fast paths are off */
    bool shared;
    bool several; /* the trace has several streams */
    enum size_round round;
    struct cache_block *last;       /* allocated last by the fast path; never NULL */
    uint64_t cached_keys, max_keys; /* keys with free blocks; UINT64_MAX: no limit */
    struct tp_link order;           /* keys, the least recently used first */
    struct lru_near near[LRU_NEAR];
    struct lru_key nobody;      /* empty `near` entries point here: a key without blocks */
    struct cache_block nothing; /* `last` points here at first: a node without a block */
    struct lru_index *index;    /* NULL until searching blocks one by one took long */
};

/* The member `check` of the strategy, in lru_check.c. */
int tp_lru_check(void *state, struct tp_err *err);

static inline struct lru_node *node_of(struct cache_block *b)
{
    return b ? TP_LINKED(struct lru_node, block, b) : NULL;
}

/* ---- keys ---- */

static inline struct lru_key *lru_key_of(struct cache_shelf *s)
{
    return TP_LINKED(struct lru_key, shelf, s);
}

static inline uint64_t key_name(uint64_t size, uint64_t align)
{
    return cache_key(size, (unsigned)__builtin_ctzll(align));
}

static inline uint64_t round_size(const struct lru *st, uint64_t size)
{
    return round_up(size, size_step(st->round, size));
}

/* The largest key that a block of this size can serve. */
static inline uint64_t round_down(const struct lru *st, uint64_t bytes)
{
    uint64_t down = bytes & ~(size_step(st->round, bytes) - 1);
    return down ? down : bytes;
}

/* A cheap hash that gives different entries for sizes such as 64, 4096 and 4097. */
static inline struct lru_near *near_of(struct lru *st, uint64_t size)
{
    return &st->near[size * UINT64_C(0x9E3779B97F4A7C15) >> (64 - LRU_NEAR_LOG2)];
}

/* The newest free block of a key; NULL: there is none. */
static inline struct cache_block *key_newest(const struct lru_key *key)
{
    return TP_LINK_ITEM(struct cache_block, on_shelf, &key->shelf.ready, key->shelf.ready.before);
}

static inline void key_unlink(struct lru_key *key)
{
    tp_link_out(&key->in_order);
    tp_link_init(&key->in_order);
}

static inline void key_touch(struct lru *st, struct lru_key *key)
{
    if (st->order.before == &key->in_order)
        return;
    tp_link_out(&key->in_order);
    tp_link_insert(&st->order, &key->in_order);
}

/* Makes a block that was live the newest free block of its key. */
static inline void node_cache(struct lru *st, struct cache_block *b)
{
    struct lru_key *key = lru_key_of(b->shelf);
    b->refs = 0;
    if (key->shelf.ready.before == &key->shelf.ready)
        st->cached_keys++;
    cache_add(&st->cache, &key->shelf.ready, b);
    key_touch(st, key);
}

/* Takes any block off the free blocks of its key. */
static inline void node_take(struct lru *st, struct lru_key *key, struct cache_block *b)
{
    cache_take(&st->cache, b);
    st->cached_keys -= key->shelf.ready.before == &key->shelf.ready;
}

static inline bool lru_is_over(const struct lru *st)
{
    return cache_is_over(&st->cache) || st->cached_keys > st->max_keys;
}

/* All blocks in the order of their records. */
static inline struct lru_node *node_next(struct slab_cursor *c)
{
    struct lru_node *n = slab_next(c);
    while (n && !n->block.allocated)
        n = slab_next(c);
    return n;
}

/* ---- the slow paths, in lru_nodes.c ---- */

/* slow: serves a request that the newest block of a recent key cannot serve. any: serves every
 * request where there are several threads or streams. */
int tp_lru_alloc_slow(struct lru *st, const struct tp_req *rq, struct tp_block *out);
int tp_lru_alloc_any(struct lru *st, const struct tp_req *rq, struct tp_block *out);

int tp_lru_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                 struct tp_block *out);

/* Gives every block back, live ones after waiting for their work. */
void tp_lru_put_all(struct lru *st);

/* Evicts until no limit is exceeded. */
int tp_lru_shrink(struct lru *st);

/* Evicts until no more than `keep` bytes are cached. */
int tp_lru_trim(void *state, uint64_t keep);

/* ---- lru_index.c: made when searching blocks one by one takes long ---- */

/* Blocks or fences that a call may check without success before the index is made. */
#define LRU_LOOK 64u

/* Makes the index from all existing nodes. When memory is exhausted there is no index. All other
 * functions but `drop` and `fault` require one. */
void tp_lru_index_make(struct lru *st);
void tp_lru_index_drop(struct lru *st); /* does nothing without an index */

/* Updates of the index. live: a node became live; it may be new. dead: a node is no longer live.
 * free: a node became a free block. gone: it is none any more. */
void tp_lru_index_live(struct lru *st, struct lru_node *node);
void tp_lru_index_dead(struct lru *st, struct lru_node *node);
void tp_lru_index_free(struct lru *st, struct lru_node *node);
void tp_lru_index_gone(struct lru *st, struct lru_node *node);

/* The newest free block of a key that `stream` may use now; NULL: none. */
struct lru_node *tp_lru_index_find(struct lru *st, const struct lru_key *key, uint16_t stream);

/* The live block that comes first in the order of records; NULL: none is live. */
struct lru_node *tp_lru_index_first(const struct lru *st);

/* A stream was synchronised, or all streams (TP_ALL_STREAMS). */
void tp_lru_index_synced(struct lru *st, uint16_t stream);

/* NULL, or what is wrong with the index, which must hold `live` live and `free_nodes` free
 * nodes. */
const char *tp_lru_index_fault(const struct lru *st, uint64_t live, uint64_t free_nodes);

#endif
