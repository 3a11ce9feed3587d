/* The strategy `empty_malloc`: what malloc_calls.h does, around a malloc that does nothing.
 *
 * The reference for real allocators. Programs call malloc themselves, while a strategy is called by
 * the engine and calls malloc in turn; the one call more, the look at the request and the block
 * that is allocated are tapool's. Replayed in the place of a real allocator, this is all that is
 * tapool's share in its figures; common/empty.h has the rules of both. No list of strategies
 * contains it. */
#include "alloc/strategies/common/empty.h"
#include "alloc/strategies/common/malloc_calls.h"

/* What stands for malloc and realloc: a call that the compiler cannot see through. */
__attribute__((noinline)) static void *no_malloc(void *block, uint64_t size)
{
    block = (char *)block + zero_of(size);
    __asm__ volatile("" : "+r"(block));
    return block;
}

__attribute__((noinline)) static void *no_aligned_malloc(void *block, const struct tp_req *rq)
{
    return no_malloc(block, rq->size | rq->align);
}

__attribute__((noinline)) static void no_free(void *block)
{
    __asm__ volatile("" : : "r"(block));
}

static int calls_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)state;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    return block_of(rq->align <= MALLOC_ALIGN ? no_malloc(thread, rq->size)
                                              : no_aligned_malloc(thread, rq),
                    out);
}

static int calls_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)state, (void)thread, (void)rq;
    no_free((void *)(uintptr_t)addr);
    return TP_OK;
}

static int calls_move(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                      struct tp_block *out)
{
    (void)state, (void)thread;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    return block_of(no_malloc((void *)(uintptr_t)addr, rq->size), out);
}

const struct tp_strategy tp_strategy_empty_malloc = {
    .name = "empty malloc",
    .summary = "calls a malloc that does nothing",
    .resembles = "replay overhead of a real allocator's run",
    .to_use = "none: it measures replay overhead",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_ALIGN | TP_CAP_FOREIGN | TP_CAP_THREADS,
    .state_size = EMPTY_SCRATCH, /* not read: every instance has a state */
    .thread_size = EMPTY_SCRATCH,
    .init = empty_init,
    .fini = empty_fini,
    .alloc = calls_alloc,
    .free = calls_free,
    .move = calls_move,
    .thread_init = empty_thread_init,
    .thread_fini = empty_thread_fini,
};
