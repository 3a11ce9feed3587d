/* A strategy with one chunk of memory, mapped at two addresses: blocks are at the one and at the
 * other in turn. It is wrong if two are live at once, and only who knows the mappings sees it. */
#ifndef TP_TEST_TWICE_MAPPED_H
#define TP_TEST_TWICE_MAPPED_H

#include "alloc/strategy.h"

#define TWICE_CHUNK (UINT64_C(2) << 20)

struct twice {
    const struct tp_env *env;
    struct {
        tp_addr addr;
        bool live;
    } at[2];
    uint64_t calls;
};

static inline int twice_init(void *state, const struct tp_env *env, const void *opts,
                             struct tp_err *why)
{
    struct twice *st = state;
    struct tp_source *source = env->source;
    (void)opts;
    st->env = env;
    int rc = tp_src_space_get(source, TWICE_CHUNK, TWICE_CHUNK, &st->at[0].addr);
    if (!rc)
        rc = tp_src_space_get(source, TWICE_CHUNK, TWICE_CHUNK, &st->at[1].addr);
    if (!rc)
        rc = tp_src_map(source, st->at[0].addr, 0, TWICE_CHUNK);
    if (!rc)
        rc = tp_src_alias(source, st->at[1].addr, 0, TWICE_CHUNK, st->at[0].addr);
    return rc ? tp_fail(why, (enum tp_status)rc, "twice") : TP_OK;
}

static inline void twice_fini(void *state)
{
    struct twice *st = state;
    tp_src_unalias(st->env->source, st->at[1].addr, 0, TWICE_CHUNK);
    tp_src_unmap(st->env->source, st->at[0].addr, 0, TWICE_CHUNK);
    for (int i = 0; i < 2; i++)
        tp_src_space_put(st->env->source, st->at[i].addr, TWICE_CHUNK);
}

static inline int twice_alloc(void *state, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct twice *st = state;
    (void)thr;
    int i = (int)(st->calls % 2);
    if (st->at[i].live || rq->size > TWICE_CHUNK)
        return TP_EOOM;
    st->calls++;
    st->at[i].live = true;
    *out = (struct tp_block){st->at[i].addr, TWICE_CHUNK};
    return TP_OK;
}

static inline int twice_free(void *state, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct twice *st = state;
    (void)thr, (void)rq;
    for (int i = 0; i < 2; i++)
        if (st->at[i].live && st->at[i].addr == addr) {
            st->at[i].live = false;
            return TP_OK;
        }
    return TP_EINVAL;
}

static const struct tp_strategy twice = {.name = "twice",
                                         .summary = "one chunk",
                                         .group = TP_GROUP_STRATEGY,
                                         .state_size = sizeof(struct twice),
                                         .init = twice_init,
                                         .fini = twice_fini,
                                         .alloc = twice_alloc,
                                         .free = twice_free};

#endif
