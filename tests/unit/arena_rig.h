/* What the tests of `arena` share: an instance in a rig, and a look into its lists. How many blocks
 * move is the strategy, so the tests count them. */
#ifndef TP_TEST_ARENA_RIG_H
#define TP_TEST_ARENA_RIG_H

#include "alloc/strategies/arena/arena_core.h"
#include "tests/unit/conformance.h"

/* The fixed arena of the origin: then out of memory is an answer. */
#define ORIGIN "arena_size=1GiB,first_range=1GiB,max_arenas=1,alignment=64,classes=coarse6"

/* What a test knows of a block. */
struct object {
    tp_addr addr; /* 0: none */
    uint64_t size, align, allocated;
    unsigned char fill;
};

static inline struct rig *open_arena(const char *options, const struct tp_source_ops *base)
{
    return rig_new(
        (struct rig_cfg){.strategy = &tp_strategy_arena, .options = options, .base = base});
}

static inline uint32_t class_of(struct rig *r, uint64_t size)
{
    const struct arena *st = r->st;
    return classes_of_size(&st->classes, size);
}

/* Blocks that a thread holds of the class of a size. */
static inline uint64_t cached(struct rig *r, int thread, uint64_t size)
{
    const struct arena_thread *thr = r->threads[thread];
    return cache_count(&thr->caches[class_of(r, size)]);
}

static inline uint64_t pooled(struct rig *r, uint64_t size)
{
    const struct arena *st = r->st;
    return st->central[class_of(r, size)].count;
}

static inline void end_thread(struct rig *r, int thread)
{
    r->s->thread_fini(r->st, r->threads[thread]);
    assert_int_equal(r->s->thread_init(r->st, r->threads[thread]), TP_OK);
}

/* Whether a block begins no page. While those that do are live, no span is idle, and all that is
 * pooled stays pooled. */
static inline bool is_inner(tp_addr addr)
{
    return addr % ARENA_PAGE != 0;
}

/* Gives most of `count` blocks of a size to the central pool, by way of a thread that ends. */
static inline void fill_pool(struct rig *r, uint64_t size, unsigned count)
{
    tp_addr *blocks = calloc(count, sizeof *blocks);
    assert_non_null(blocks);
    for (unsigned i = 0; i < count; i++)
        blocks[i] = rig_alloc(r, 2, size);
    for (unsigned i = 0; i < count; i++)
        if (is_inner(blocks[i]))
            assert_int_equal(rig_free(r, 2, blocks[i], size), TP_OK);
    end_thread(r, 2);
    free(blocks);
}

#endif
