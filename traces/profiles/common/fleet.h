/* The generator of the profiles `fleet-0` to `fleet-9`, which have a file each, as any profile. */
#ifndef TP_FLEET_H
#define TP_FLEET_H

#include "traces/profile.h"

struct tp_fleet_opts {
    uint64_t live, count, age, threads;
};

extern const struct tp_opt tp_fleet_options[];

/* A `generate` of profile `fleet-n`. */
int tp_fleet_generate(size_t n, const struct tp_fleet_opts *o, uint64_t seed,
                      const struct tp_event_sink *sink, struct tp_err *err);

#define TP_FLEET_PROFILE(n)                                                                        \
    static int fleet_generate_##n(const void *opts, uint64_t seed,                                 \
                                  const struct tp_event_sink *sink, struct tp_err *err)            \
    {                                                                                              \
        return tp_fleet_generate(n, opts, seed, sink, err);                                        \
    }                                                                                              \
    const struct tp_profile tp_profile_fleet_##n = {                                               \
        .name = "fleet-" #n,                                                                       \
        .sample = "fleet-" #n,                                                                     \
        .summary = "size and lifetime mix of workload " #n " of a large fleet",                    \
        .about =                                                                                   \
            "Sizes, rates and live counts of profile " #n                                          \
            " of google/fleetbench (Apache License 2.0). 'live' objects are allocated, in "        \
            "the phase 'fill'. In the phase 'steady' their number stays nearly the same, "         \
            "until 'count' objects were allocated. Each size has its share of the "                \
            "allocations and of the live objects; its mean lifetime follows by Little's "          \
            "law. In between, 'age' turnovers of the heap fragment it, in the phase 'age': in "    \
            "each "                                                                                \
            "turnover as many bytes are allocated as are live. Each range of sizes from a power "  \
            "of "                                                                                  \
            "two to the next keeps its bytes. The single sizes shift between 0.5 and 1.5 times "   \
            "their counts, and get these back at the end; a few objects live long: 1 of n+1 is "   \
            "left after n turnovers of its size. Sizes that are rarer than one object occur with " \
            "some seeds only. Each of "                                                            \
            "several threads frees only its own objects. An event takes 100 ns on average. The "   \
            "defaults make sample:fleet-" #n ".",                                                  \
        .kind = TP_KIND_HOST,                                                                      \
        .opts_size = sizeof(struct tp_fleet_opts),                                                 \
        .options = tp_fleet_options,                                                               \
        .generate = fleet_generate_##n,                                                            \
    }

#endif
