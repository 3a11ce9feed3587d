/* The state of `lru`: keys in the order of their use, and the blocks of each key.
 *
 *     newest                                oldest
 *     [4096,16] <-> [64,16] <-> [70000,256] <-> (head)        keys, a circle
 *         |            |            |
 *        top          top          top                        free blocks, newest first
 *         |                         |
 *       below                    bottom
 *
 * A block has the same node while it is live and while it is cached, so that a hit needs no
 * bookkeeping memory, and a free finds block and key with one look-up. A key without free blocks
 * stays in the circle until an eviction finds it there; a key without any block is freed. Nodes
 * come from slabs, and code that visits all nodes goes in slab order, not by address. */
#ifndef TP_LRU_CORE_H
#define TP_LRU_CORE_H

#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/lru/lru_streams.h"

#define LRU_MAX_BYTES  (UINT64_C(1) << 56)
#define LRU_NEAR_LOG2  6u
#define LRU_FIRST_SLAB 16u /* nodes; each further slab has twice as many, up to LRU_LAST_SLAB */
#define LRU_LAST_SLAB  1024u

struct lru_node;

struct lru_key {
    /* newest and oldest free block; bottom is valid only if top is not NULL */
    struct lru_node *top, *bottom;
    /* neighbours in the circle; the key itself while it is not in the circle */
    struct lru_key *newer, *older;
    uint64_t size, align; /* bytes; size as rounded by the option */
    uint64_t blocks;      /* nodes that point here, live and free */
};

/* A block. Live: refs > 0. Cached: refs is 0 and key is set. Refused: refs is 0 and key is NULL;
 * the source refused to take the block back. */
struct lru_node {
    tp_addr addr;   /* 0: the node is free */
    uint64_t bytes; /* granted: whole pages */
    uint64_t refs;
    uint64_t size; /* bytes requested, while live */
    struct lru_key *key;
    union {
        struct lru_node *below; /* next older block in the stack, or next spare node */
        struct refused refused; /* link in the list of refused blocks */
    };
    struct lru_node *above; /* next newer block in the stack; not valid for the top */
    struct lru_work *work;  /* NULL with one stream */
};
static_assert(sizeof(struct lru_node) == 64, "one cache line");

struct lru_slab {
    struct lru_slab *next; /* next slab, in the order in which they were got */
    size_t bytes;
    struct lru_node *nodes;
    struct lru_work *works; /* `count` entries, or NULL with one stream */
    uint32_t count;
};

/* Cache entry: the key of a recent request. */
struct lru_near {
    uint64_t size, align;
    struct lru_key *key; /* never NULL */
};

/* The hot members come first. */
struct lru {
    /* true with several streams or an index, where the fast paths are off */
    bool shared;
    bool several; /* the trace has several streams */
    enum size_round round;
    struct lru_node *last; /* block handed out last by the fast path; never NULL */
    uint64_t cached_bytes, cached_blocks, cached_keys;
    uint64_t max_bytes, max_blocks, max_keys; /* UINT64_MAX: no limit */
    struct lru_key head;                      /* head of the circle; `older` is the newest key */
    struct tp_addr_map blocks;                /* address -> struct lru_node * */
    struct lru_near near[1u << LRU_NEAR_LOG2];
    struct lru_key nobody;   /* empty `near` entries point here: a key without blocks */
    struct lru_node nothing; /* `last` points here at first: a node without a block */
    const struct tp_env *env;
    struct tp_addr_map keys; /* key_name -> struct lru_key * */
    struct lru_slab *oldest_slab, *newest_slab;
    struct lru_node *spare; /* free nodes */
    struct refused *refused;
    struct carved carved;
    struct lru_index *index; /* NULL until searching blocks one by one took long */
};

/* The members `walk` and `check` of the strategy, in lru_check.c. */
int tp_lru_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_lru_check(void *state, struct tp_err *err);

/* ---- keys ---- */

static inline uint64_t key_name(uint64_t size, uint64_t align)
{
    return size << 6 | (uint64_t)__builtin_ctzll(align);
}

static inline uint64_t round_size(const struct lru *st, uint64_t size)
{
    return round_up(size, size_step(st->round, size));
}

static inline uint64_t page_size(const struct lru *st, uint64_t size)
{
    return round_up(size, st->env->source->page);
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

static inline void key_unlink(struct lru_key *key)
{
    key->newer->older = key->older;
    key->older->newer = key->newer;
    key->newer = key->older = key;
}

static inline void key_touch(struct lru *st, struct lru_key *key)
{
    if (st->head.older == key)
        return;
    key_unlink(key);
    key->newer = &st->head;
    key->older = st->head.older;
    key->older->newer = key;
    st->head.older = key;
}

/* The key of a size and alignment, made if it is missing, with its count raised for a block that
 * the caller is about to add. If the caller fails, it must call key_release. NULL when memory is
 * exhausted. */
static inline struct lru_key *key_acquire(struct lru *st, uint64_t size, uint64_t align)
{
    struct lru_key *key = meta_map_at(&st->keys, key_name(size, align));
    if (!key) {
        key = tp_meta_get(st->env, sizeof *key);
        if (!key)
            return NULL;
        *key = (struct lru_key){.newer = key, .older = key, .size = size, .align = align};
        if (tp_addr_map_insert(&st->keys, key_name(size, align), (uintptr_t)key)) {
            tp_meta_put(st->env, key, sizeof *key);
            return NULL;
        }
    }
    key->blocks++;
    return key;
}

/* Lowers the count of a key and frees the key after its last block. */
static inline void key_release(struct lru *st, struct lru_key *key)
{
    assert(key->blocks > 0);
    if (--key->blocks)
        return;
    assert(!key->top);
    for (size_t i = 0; i < sizeof st->near / sizeof st->near[0]; i++)
        if (st->near[i].key == key)
            st->near[i] = (struct lru_near){.key = &st->nobody};
    key_unlink(key);
    tp_addr_map_remove(&st->keys, key_name(key->size, key->align), NULL);
    tp_meta_put(st->env, key, sizeof *key);
}

/* ---- the stack of a key ---- */

static inline void stack_push(struct lru *st, struct lru_key *key, struct lru_node *node)
{
    struct lru_node *top = key->top;
    node->below = top;
    if (top)
        top->above = node;
    else
        key->bottom = node;
    key->top = node;
    st->cached_keys += !top;
    st->cached_blocks++;
    st->cached_bytes += node->bytes;
    key_touch(st, key);
}

static inline void stack_count_out(struct lru *st, const struct lru_key *key,
                                   const struct lru_node *node)
{
    st->cached_keys -= !key->top;
    st->cached_blocks--;
    st->cached_bytes -= node->bytes;
}

static inline void stack_pop(struct lru *st, struct lru_key *key, struct lru_node *node)
{
    assert(key->top == node);
    key->top = node->below;
    stack_count_out(st, key, node);
}

/* Takes out any block of the stack. */
static inline void stack_remove(struct lru *st, struct lru_key *key, struct lru_node *node)
{
    if (node == key->top) {
        stack_pop(st, key, node);
        return;
    }
    node->above->below = node->below;
    if (node == key->bottom)
        key->bottom = node->above;
    else
        node->below->above = node->above;
    stack_count_out(st, key, node);
}

/* ---- all of them ---- */

/* All nodes in use, in the order of slabs: `for (struct lru_cursor c = {st->oldest_slab, 0}; ...)`.
 */
struct lru_cursor {
    const struct lru_slab *slab;
    uint32_t index;
};

static inline struct lru_node *node_next(struct lru_cursor *c)
{
    for (; c->slab; c->slab = c->slab->next, c->index = 0)
        while (c->index < c->slab->count) {
            struct lru_node *node = &c->slab->nodes[c->index++];
            if (node->addr)
                return node;
        }
    return NULL;
}

#endif
