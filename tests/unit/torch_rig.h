/* The strategy `torch` on a simulated device, call by call; what contradicts its own check fails
 * the test. */
#ifndef TP_TEST_TORCH_RIG_H
#define TP_TEST_TORCH_RIG_H

#include "tests/unit/device_calls.h"

#include "alloc/strategies/torch/torch_place.h"

static inline struct rig *open_limited(const char *options, const char *limit)
{
    return open_device(&tp_strategy_torch, options, limit);
}

static inline struct rig *open_torch(const char *options)
{
    return open_limited(options, NULL);
}

static inline void trim(struct rig *r)
{
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    rig_check(r);
}

#endif
