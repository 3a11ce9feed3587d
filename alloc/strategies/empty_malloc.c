/* The strategy `empty_malloc`: what malloc_calls.h does, around a malloc that does nothing.
 *
 * The yardstick for real allocators. Programs call malloc themselves, while a strategy is called by
 * the engine and calls malloc in turn; the one call more, the look at the request and the block
 * that is handed out are tapool's. Played in the place of a real allocator, this is all that is
 * tapool's share in its figures. As in empty.c, a result depends on the arguments, and all blocks
 * of a thread are the same 64 bytes. No list of strategies contains it. */
#include "alloc/strategies/common/chores.h"

enum { SCRATCH = 64, MALLOC_ALIGN = 16 };

/* What stands for malloc and realloc: a call that the compiler cannot see through. */
__attribute__((noinline)) static void *no_malloc(void *block, uint64_t size)
{
    block = (char *)block + (size >> 63); /* no size has this bit */
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

static int calls_init(void *state, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)state, (void)env, (void)opts, (void)err;
    return TP_OK;
}

static void calls_fini(void *state)
{
    (void)state;
}

static int calls_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)state;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    void *p =
        rq->align <= MALLOC_ALIGN ? no_malloc(thread, rq->size) : no_aligned_malloc(thread, rq);
    *out = (struct tp_block){(uintptr_t)p, 0};
    return p ? TP_OK : TP_EOOM;
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
    void *p = no_malloc((void *)(uintptr_t)addr, rq->size);
    *out = (struct tp_block){(uintptr_t)p, 0};
    return p ? TP_OK : TP_EOOM;
}

static int calls_thread_init(void *state, void *thread)
{
    (void)state, (void)thread;
    return TP_OK;
}

static void calls_thread_fini(void *state, void *thread)
{
    (void)state, (void)thread;
}

const struct tp_strategy tp_strategy_empty_malloc = {
    .name = "empty malloc",
    .summary = "calls a malloc that does nothing",
    .resembles = "tapool's own share in the figures of a real allocator",
    .to_use = "a yardstick of tapool; nothing to switch on",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_ALIGN | TP_CAP_FOREIGN | TP_CAP_THREADS,
    .state_size = SCRATCH, /* not read: every instance has a state */
    .thread_size = SCRATCH,
    .init = calls_init,
    .fini = calls_fini,
    .alloc = calls_alloc,
    .free = calls_free,
    .move = calls_move,
    .thread_init = calls_thread_init,
    .thread_fini = calls_thread_fini,
};
