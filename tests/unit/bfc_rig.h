/* The strategy `bfc` on a simulated device, call by call; what contradicts its own check fails the
 * test. */
#ifndef TP_TEST_BFC_RIG_H
#define TP_TEST_BFC_RIG_H

#include "tests/unit/device_calls.h"

#include "alloc/strategies/bfc/bfc_place.h"

static inline struct rig *open_bfc_on(const char *options, const char *limit)
{
    return open_device(&tp_strategy_bfc, options, limit);
}

static inline struct rig *open_bfc(const char *options)
{
    return open_bfc_on(options, NULL);
}

/* One whose chunks are placed; *base: of a range that the source gave. */
static inline struct rig *open_placed(const char *options, uint64_t size, tp_addr *base)
{
    struct rig *r = open_bfc(options);
    assert_int_equal(tp_bfc_follow(r->st), TP_OK);
    assert_int_equal(tp_src_get(r->env.source, size, 256, base), TP_OK);
    return r;
}

#endif
