/* What the tests of `stream-pool` share: calls that name a stream, each followed by `check`. Pages
 * are those of device traces, 512 bytes, and a fence passes 50 us after it was recorded. */
#ifndef TP_TEST_STREAM_POOL_RIG_H
#define TP_TEST_STREAM_POOL_RIG_H

#include "alloc/strategies/stream_pool/stream_pool_core.h"
#include "tests/unit/conformance.h"

#define LAG     UINT64_C(50000) /* ns */
#define KIB     UINT64_C(1024)
#define STREAMS 8

/* An instance begins with its pool. */
static inline const struct pool *pool_of(const struct rig *r)
{
    return r->st;
}

static inline struct rig *open_with(struct rig_cfg cfg)
{
    cfg.strategy = cfg.strategy ? cfg.strategy : &tp_strategy_stream_pool;
    if (!cfg.base) { /* no pages that ranges share */
        cfg.base = &tp_source_virtual;
        cfg.base_options = "page=512";
    }
    cfg.kind = TP_KIND_DEVICE;
    cfg.streams = cfg.streams ? cfg.streams : STREAMS;
    return rig_new(cfg);
}

static inline struct rig *open_pool(const char *options)
{
    return open_with((struct rig_cfg){.options = options});
}

static inline int try_on(struct rig *r, uint16_t stream, uint64_t size, struct tp_block *out)
{
    struct tp_req rq = {.size = size, .align = 256, .stream = stream};
    *out = (struct tp_block){0};
    int rc = r->s->alloc(r->st, r->threads[0], &rq, out);
    rig_check(r);
    return rc;
}

static inline tp_addr get(struct rig *r, uint16_t stream, uint64_t size)
{
    struct tp_block b;
    assert_int_equal(try_on(r, stream, size, &b), TP_OK);
    assert_true(b.allocated >= size);
    return b.addr;
}

static inline int try_put(struct rig *r, uint16_t stream, tp_addr addr, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 256, .stream = stream};
    int rc = r->s->free(r->st, r->threads[0], addr, &rq);
    rig_check(r);
    return rc;
}

static inline void put(struct rig *r, uint16_t stream, tp_addr addr, uint64_t size)
{
    assert_int_equal(try_put(r, stream, addr, size), TP_OK);
}

static inline void use(struct rig *r, uint16_t stream, tp_addr addr)
{
    assert_int_equal(r->s->use(r->st, r->threads[0], addr, stream), TP_OK);
    rig_check(r);
}

/* As the engine does it: the source first. */
static inline void sync_stream(struct rig *r, uint16_t stream)
{
    tp_src_synced(r->env.source, stream);
    assert_int_equal(r->s->sync(r->st, r->threads[0], stream), TP_OK);
    rig_check(r);
}

static inline void trim(struct rig *r, uint64_t keep)
{
    assert_int_equal(r->s->trim(r->st, keep), TP_OK);
    rig_check(r);
}

static inline uint64_t cached_bytes(struct rig *r)
{
    return rig_walk(r).sums[TP_WALK_CACHED];
}

#endif
