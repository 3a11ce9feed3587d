/* A strategy on a simulated device, call by call; what contradicts its own check fails the test. */
#ifndef TP_TEST_DEVICE_CALLS_H
#define TP_TEST_DEVICE_CALLS_H

#include "tests/unit/conformance.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define LAG UINT64_C(50000) /* ns until the work behind a fence is done */

static inline struct rig_cfg device_cfg(const struct tp_strategy *s, const char *options,
                                        const char *limit)
{
    return (struct rig_cfg){.strategy = s,
                            .options = options,
                            .base = &tp_source_virtual,
                            .kind = TP_KIND_DEVICE,
                            .limit = limit,
                            .streams = 4};
}

static inline struct rig *open_device(const struct tp_strategy *s, const char *options,
                                      const char *limit)
{
    return rig_new(device_cfg(s, options, limit));
}

static inline struct tp_block get_block(struct rig *r, uint16_t stream, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 1, .stream = stream};
    struct tp_block b = {0};
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
    rig_check(r);
    return b;
}

static inline tp_addr get(struct rig *r, uint16_t stream, uint64_t size)
{
    return get_block(r, stream, size).addr;
}

static inline void put(struct rig *r, uint16_t stream, tp_addr addr, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 1, .stream = stream};
    assert_int_equal(r->s->free(r->st, r->threads[0], addr, &rq), TP_OK);
    rig_check(r);
}

static inline uint64_t reserved(const struct rig *r)
{
    return tp_account_ranges(&r->account);
}

/* Asks for more than there is. */
static inline void refuse(struct rig *r, uint16_t stream, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 1, .stream = stream};
    struct tp_block none;
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &none), TP_EOOM);
    rig_check(r);
}

#endif
