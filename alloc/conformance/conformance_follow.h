/* A decorator that notes which streams a strategy made wait for which: a source that queues no work
 * has no such member, and its fences do not tell. It lies right under the meter. */
#ifndef TP_CONFORMANCE_FOLLOW_H
#define TP_CONFORMANCE_FOLLOW_H

#include "alloc/source.h"

enum { FOLLOWS_MAX = 256 };

/* Waits since the model looked last. Those that found no room are forgotten: the model is then
 * stricter than it need be. */
struct follows {
    struct tp_source *inner;
    uint32_t count;
    uint16_t pairs[FOLLOWS_MAX][2]; /* the stream that waits, and the one that it waits for */
};

static inline int follows_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    (void)err;
    ((struct follows *)state)->inner = cfg->inner;
    return TP_OK;
}

static inline int follows_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    return tp_src_get(((struct follows *)state)->inner, size, align, out);
}

static inline int follows_put(void *state, tp_addr addr, uint64_t size)
{
    return tp_src_put(((struct follows *)state)->inner, addr, size);
}

static inline int follows_follow(void *state, uint16_t stream, uint16_t after)
{
    struct follows *s = state;
    if (s->count < FOLLOWS_MAX) {
        s->pairs[s->count][0] = stream;
        s->pairs[s->count++][1] = after;
    }
    return tp_src_follow(s->inner, stream, after);
}

static const struct tp_source_ops follows_source = {
    .name = "follows",
    .summary = "notes which streams wait for which",
    .flags = TP_SRC_DECORATOR,
    .state_size = sizeof(struct follows),
    .init = follows_init,
    .get = follows_get,
    .put = follows_put,
    .follow = follows_follow,
};

#endif
