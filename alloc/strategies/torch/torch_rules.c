/* The rules' defaults, what other devices do otherwise, how rules can be broken, and the two
 * functions from sizes to sizes. */
#include "alloc/strategies/torch/torch_rules.h"

#include <ctype.h>
#include <stdio.h>

#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)

const struct tp_torch_rules tp_torch_defaults = {
    .grain = 512,
    .small_most = MIB(1),
    .packed_most = MIB(1),
    .small_segment = MIB(2),
    .own_least = MIB(10),
    .large_segment = MIB(20),
    .own_grain = MIB(2),
    .small_rest = 512,
    .large_rest = MIB(1) + 1,
    .split_limit = TP_TORCH_NO_SPLIT_LIMIT,
    .oversize_rest = MIB(20),
    .merge_before = true,
    .merge_behind = true,
    .fit = TP_TORCH_BEST,
    .collect_rounds = UINT64_MAX,
    .behind_last = true,
    .spare_first = true,
    .rest_follows = true,
};

/* Of torch_npu: NPUCachingAllocator.cpp, round_size and the base of large requests in malloc
 * (https://gitcode.com/Ascend/pytorch); base_addr_aligned_kb sets the second. HIP's is CUDA's,
 * translated. That of XPU (c10/xpu/XPUCachingAllocator.cpp) knows fewer settings (torch_conf.c). */
const struct tp_torch_device tp_torch_devices[] = {
    {"cuda", "CUDA", "PYTORCH_CUDA_ALLOC_CONF", 0, 0},
    {"hip", "HIP (ROCm)", "PYTORCH_HIP_ALLOC_CONF", 0, 0},
    {"xpu", "XPU", "PYTORCH_ALLOC_CONF", 0, 0},
    {"npu", "Ascend (torch_npu)", "PYTORCH_NPU_ALLOC_CONF", 32, KIB(16)},
    {NULL, NULL, NULL, 0, 0}};

const struct tp_torch_device *tp_torch_device(const char *name)
{
    const struct tp_torch_device *d = tp_torch_devices;
    while (name && d->name && strcmp(d->name, name) != 0)
        d++;
    return d->name ? d : tp_torch_devices;
}

/* A release, "2.10.1+cu130". False: it is none. */
static bool read_release(const char *text, unsigned *major, unsigned *minor)
{
    int used = 0;
    return isdigit((unsigned char)*text) && sscanf(text, "%3u.%3u%n", major, minor, &used) == 2 &&
           isdigit((unsigned char)text[strcspn(text, ".") + 1]) &&
           (!text[used] || text[used] == '.' || text[used] == '+');
}

static bool is_before(unsigned major, unsigned minor, unsigned than_major, unsigned than_minor)
{
    return major < than_major || (major == than_major && minor < than_minor);
}

bool tp_torch_is_before(const char *release, unsigned major, unsigned minor)
{
    unsigned own_major = 0, own_minor = 0;
    return release && read_release(release, &own_major, &own_minor) &&
           is_before(own_major, own_minor, major, minor);
}

const char *tp_torch_variable(const char *device, const char *said, const char *release)
{
    static const char newer[] = "PYTORCH_ALLOC_CONF";
    const struct tp_torch_device *d = tp_torch_device(device);
    bool is_newer = d == tp_torch_devices && release && !tp_torch_is_before(release, 2, 10);
    is_newer |= said && !strncmp(said, newer, sizeof newer - 1);
    return is_newer ? newer : d->variable;
}

struct tp_torch_rules tp_torch_rules_for(const struct tp_torch_device *device)
{
    struct tp_torch_rules rules = tp_torch_defaults;
    rules.device = (uint64_t)(device - tp_torch_devices);
    rules.extra = device->extra;
    rules.base_grain = device->base_grain;
    return rules;
}

/* What came with a release: pull requests 165304 (October 2025), 172056 (January 2026) and 169699
 * (December 2025, when 2.10 was about to be released). */
static const struct {
    unsigned major, minor;
    size_t offset; /* of a bool in the rules that is false before */
} torch_releases[] = {{2, 10, offsetof(struct tp_torch_rules, behind_last)},
                      {2, 11, offsetof(struct tp_torch_rules, rest_follows)},
                      {2, 11, offsetof(struct tp_torch_rules, spare_first)}};

int tp_torch_version(struct tp_torch_rules *rules, const char *version, struct tp_err *err)
{
    unsigned major = 0, minor = 0;
    if (!read_release(version, &major, &minor))
        return tp_fail(err, TP_EUSAGE, "'%.63s' is not a PyTorch version such as 2.9", version);
    for (size_t i = 0; i < sizeof torch_releases / sizeof *torch_releases; i++) {
        bool before = is_before(major, minor, torch_releases[i].major, torch_releases[i].minor);
        *(uint64_t *)(void *)((char *)rules + torch_releases[i].offset) = !before;
    }
    return TP_OK;
}

struct tp_torch_rules tp_torch_rules_named(const char *device, const char *release)
{
    struct tp_torch_rules rules = tp_torch_rules_for(tp_torch_device(device)), newest = rules;
    struct tp_err ignored;
    return release && !tp_torch_version(&rules, release, &ignored) ? rules : newest;
}

#define BREAK(name, member, value, what)                                                           \
    {                                                                                              \
        name, what, offsetof(struct tp_torch_rules, member), value                                 \
    }

const struct tp_mutation tp_torch_mutations[] = {
    BREAK("small-edge", small_most, MIB(1) - 1, "small requests are those below 1 MiB"),
    BREAK("segment-edge", packed_most, MIB(1) - 1, "requests of 1 MiB get a segment of 20 MiB"),
    BREAK("own-edge", own_least, MIB(10) + 1, "requests of 10 MiB get a segment of 20 MiB"),
    BREAK("large-rest", large_rest, MIB(1), "a rest of exactly 1 MiB is split off"),
    BREAK("large-split-512", large_rest, 512, "large blocks are split as small ones are"),
    BREAK("no-large-split", large_rest, UINT64_MAX, "large blocks are never split"),
    BREAK("small-rest", small_rest, 513, "a rest of 512 bytes is not split off"),
    BREAK("round-256", grain, 256, "sizes are rounded up to 256 bytes"),
    BREAK("own-grain", own_grain, MIB(1), "large segments are multiples of 1 MiB"),
    BREAK("large-segment", large_segment, MIB(16), "segments have 16 MiB instead of 20 MiB"),
    BREAK("no-merge-before", merge_before, false, "no merging with the block before"),
    BREAK("no-merge-behind", merge_behind, false, "no merging with the block behind"),
    BREAK("highest", fit, TP_TORCH_HIGHEST, "of equal blocks the highest address serves"),
    BREAK("first-fit", fit, TP_TORCH_FIRST, "the lowest address that fits serves"),
    BREAK("worst-fit", fit, TP_TORCH_WORST, "the largest block serves"),
    BREAK("one-collection", collect_rounds, 1, "garbage of the average age is collected once"),
    {NULL, NULL, 0, 0}};

/* ---- sizes ---- */

static uint64_t up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

static unsigned log2_of(uint64_t n)
{
    return 63 - (unsigned)__builtin_clzll(n);
}

static uint64_t divisions_of(const struct tp_torch_rules *rules, uint64_t size)
{
    unsigned log2 = log2_of(size), slot = log2 < 20 ? 0 : log2 - 20;
    return rules->divisions[slot < TP_TORCH_INTERVALS ? slot : TP_TORCH_INTERVALS - 1];
}

/* With d divisions, the sizes between two powers of two are rounded up to d steps. */
uint64_t tp_torch_rounded(const struct tp_torch_rules *rules, uint64_t size)
{
    size += rules->extra;
    if (size < rules->grain)
        return rules->grain;
    uint64_t d = divisions_of(rules, size);
    if (d <= 1 || size <= rules->grain * d)
        return up(size, rules->grain);
    return up(size, (UINT64_C(1) << log2_of(size)) >> log2_of(d));
}

uint64_t tp_torch_block_bytes(const struct tp_torch_rules *rules, bool small,
                              const struct tp_heap_block *block, uint64_t end)
{
    uint64_t room = end - block->at;
    uint64_t bytes = block->bytes;
    if (bytes || block->requested > room)
        return bytes ? bytes : block->requested;
    bytes = tp_torch_rounded(rules, block->requested);
    if (bytes >= room)
        return bytes;
    if (!tp_torch_is_split(rules, small, bytes, room - bytes))
        return room;
    uint64_t shown = block->behind > block->at ? block->behind - block->at : 0;
    bool keeps = !small && shown > bytes && !tp_torch_is_split(rules, small, bytes, shown - bytes);
    return keeps ? shown : bytes;
}

uint64_t tp_torch_segment_bytes(const struct tp_torch_rules *rules, uint64_t size)
{
    if (size <= rules->packed_most)
        return rules->small_segment;
    return size < rules->own_least ? rules->large_segment : up(size, rules->own_grain);
}
