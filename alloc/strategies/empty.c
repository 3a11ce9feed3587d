/* The strategy `empty`: returns at once without doing anything.
 *
 * The reference for the engine itself: the cost of its replay is the engine's share in every other
 * figure; common/empty.h has its rules. Every member that the engine may call is set, because the
 * call is part of what is measured. No list of strategies contains it. */
#include "alloc/strategies/common/empty.h"

static int empty_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)state;
    *out = (struct tp_block){(uintptr_t)thread + zero_of(rq->size), rq->size};
    return TP_OK;
}

static int empty_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)state, (void)thread, (void)rq;
    return (int)zero_of(addr); /* always TP_OK */
}

static int empty_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    (void)state, (void)thread;
    *out = (struct tp_block){addr, rq->size};
    return TP_OK;
}

static int empty_reference(void *state, void *thread, tp_addr addr)
{
    (void)state, (void)thread, (void)addr;
    return TP_OK;
}

static int empty_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                       struct tp_block *out)
{
    (void)addr;
    return empty_alloc(state, thread, rq, out);
}

static int empty_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)state, (void)thread, (void)addr, (void)stream;
    return TP_OK;
}

static int empty_sync(void *state, void *thread, uint16_t stream)
{
    (void)state, (void)thread, (void)stream;
    return TP_OK;
}

static int empty_reset(void *state)
{
    (void)state;
    return TP_OK;
}

static int empty_trim(void *state, uint64_t keep)
{
    (void)state, (void)keep;
    return TP_OK;
}

const struct tp_strategy tp_strategy_empty = {
    .name = "empty",
    .summary = "does nothing",
    .resembles = "replay overhead",
    .to_use = "none: it measures replay overhead",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_FOREIGN | TP_CAP_THREADS | TP_CAP_STREAMS | TP_CAP_RETAINS | TP_CAP_ALIGN,
    .state_size = EMPTY_SCRATCH, /* not read: every instance has a state */
    .thread_size = EMPTY_SCRATCH,
    .init = empty_init,
    .fini = empty_fini,
    .alloc = empty_alloc,
    .free = empty_free,
    .resize = empty_resize,
    .retain = empty_reference,
    .release = empty_reference,
    .adopt = empty_adopt,
    .use = empty_use,
    .sync = empty_sync,
    .reset = empty_reset,
    .trim = empty_trim,
    .thread_init = empty_thread_init,
    .thread_fini = empty_thread_fini,
};
