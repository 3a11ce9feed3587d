/* The rules of each flavour, and how they can be broken. */
#include "alloc/strategies/bfc/bfc_rules.h"

#include <string.h>

#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)

#define BFC_COMMON                                                                                 \
    .grain = 256, .split_halves = 4, .rest_most = MIB(128), .merge_before = true,                  \
    .merge_behind = true, .fit = TP_BFC_BEST, .grows = true, .enlarges = true, .doubles = true,    \
    .limit = TP_BFC_NO_LIMIT

/* XLA's own default is to give nothing back (BFCAllocator::Options), which JAX leaves so;
 * TensorFlow does unless TF_ENABLE_GPU_GARBAGE_COLLECTION says no. */
static const struct tp_bfc_rules flavour_rules[TP_BFC_FLAVOURS] = {
    [TP_BFC_TF] = {BFC_COMMON, .flavour = TP_BFC_TF, .first_region = MIB(2),
                   .doubled_most = TP_BFC_SPACE, .collects = true},
    [TP_BFC_JAX] = {BFC_COMMON, .flavour = TP_BFC_JAX, .first_region = MIB(2),
                    .doubled_most = TP_BFC_SPACE},
    [TP_BFC_ORT] = {BFC_COMMON, .flavour = TP_BFC_ORT, .first_region = MIB(1),
                    .doubles_refused = true, .less_least = KIB(8), .by_stream = true,
                    .doubled_most = MIB(1024), .shrinks = true, .keeps_first = true,
                    .next_after_shrink = MIB(2)},
};

struct tp_bfc_rules tp_bfc_rules_for(enum tp_bfc_flavour flavour)
{
    return flavour_rules[flavour];
}

/* A factor that rounds up to the same size again is no progress, which TensorFlow and JAX force. */
uint64_t tp_bfc_less(const struct tp_bfc_rules *rules, uint64_t bytes, uint64_t rounded)
{
    uint64_t less = tp_bfc_rounded(rules, (uint64_t)((float)bytes * 0.9F));
    if (less >= bytes)
        less = bytes > rules->grain ? bytes - rules->grain : 0;
    return less < rounded || less < rules->less_least ? 0 : less;
}

#define BREAK(name, member, value, what)                                                           \
    {                                                                                              \
        name, what, offsetof(struct tp_bfc_rules, member), value                                   \
    }

const struct tp_mutation tp_bfc_mutations[] = {
    BREAK("highest", fit, TP_BFC_HIGHEST, "of equal chunks the highest address serves"),
    BREAK("first-fit", fit, TP_BFC_FIRST, "the lowest address that fits serves"),
    BREAK("worst-fit", fit, TP_BFC_WORST, "the largest chunk serves"),
    BREAK("round-512", grain, 512, "sizes are rounded up to 512 bytes"),
    BREAK("no-rounding", grain, 1, "sizes are not rounded"),
    BREAK("split-at-1.5", split_halves, 3, "chunks of 1.5 times the size are split"),
    BREAK("always-split", split_halves, 0, "every rest is split off"),
    BREAK("split-by-rest", split_halves, UINT64_MAX, "only a rest of 128 MiB is split off"),
    BREAK("rest-64", rest_most, MIB(64), "a rest of 64 MiB is split off"),
    BREAK("no-rest-limit", rest_most, UINT64_MAX, "a chunk is split only if it has twice the size"),
    BREAK("no-merge-before", merge_before, false, "no merging with the chunk before"),
    BREAK("no-merge-behind", merge_behind, false, "no merging with the chunk behind"),
    BREAK("no-enlarging", enlarges, false, "a large request gets a region of its own size"),
    BREAK("no-doubling", doubles, false, "regions do not become larger by themselves"),
    BREAK("doubling-to-16", doubled_most, MIB(16), "doubling ends at 16 MiB"),
    BREAK("doubling-twice", doubles_enlarged, true, "a region is doubled behind a large one too"),
    BREAK("first-region", first_region, MIB(4), "the first region has 4 MiB"),
    BREAK("all-at-once", grows, false, "the first region has all that the limit allows"),
    BREAK("no-collection", collects, false, "unused regions never go back"),
    {NULL, NULL, 0, 0}};
