/* What PyTorch's recorded allocators did, as the strategies torch and torch-pinned replay it. */
#include "alloc/strategies/torch/torch_rules.h"
#include "alloc/strategies/torch_pinned/torch_pinned_rules.h"
#include "cmd/jobs/catalog.h"
#include "cmd/verify/certifier.h"
#include "traces/lower/memory_limit.h"

#include <string.h>

extern const struct tp_strategy tp_strategy_torch, tp_strategy_torch_pinned;
extern const struct tp_recorded_strategy tp_recorded_strategy_torch,
    tp_recorded_strategy_torch_pinned;

static int check_torch(const char *text, const char *device, struct tp_err *err)
{
    struct tp_torch_rules rules = tp_torch_rules_for(tp_torch_device(device));
    return tp_torch_conf(&rules, text, err);
}

/* What a segment has at most, whatever the device. */
static uint64_t torch_segment(uint64_t size)
{
    uint64_t most = 0;
    for (const struct tp_torch_device *d = tp_torch_devices; d->name; d++) {
        struct tp_torch_rules rules = tp_torch_rules_for(d);
        uint64_t bytes = tp_torch_segment_bytes(&rules, tp_torch_rounded(&rules, size));
        most = bytes > most ? bytes : most;
    }
    return most;
}

static struct tp_limit_rules torch_limits(const char *said, const char *device)
{
    const struct tp_torch_rules plain = tp_torch_rules_for(tp_torch_device(device));
    struct tp_torch_rules rules = plain;
    const char *text = tp_torch_recorded(said);
    struct tp_err ignored;
    if (text && tp_torch_conf(&rules, text, &ignored))
        rules = plain;
    return (struct tp_limit_rules){.segment = torch_segment,
                                   .unit = rules.expandable ? rules.large_segment : 0,
                                   .collect_above = rules.collect_above,
                                   .garbage = "garbage_collection_threshold",
                                   .partial = "max_split_size_mb"};
}

/* In any of its parts, where it has several for phases. */
static bool reuses_in_graphs(const char *text)
{
    char plain[1024];
    return tp_torch_plain(text, plain, sizeof plain) &&
           strstr(plain, "graph_capture_record_stream_reuse:True");
}

static const char *torch_unplayed(const char *text, const char *recorded)
{
    return reuses_in_graphs(text) != reuses_in_graphs(recorded)
               ? "graph_capture_record_stream_reuse"
               : NULL;
}

static bool knows_torch(const char *text)
{
    struct tp_torch_rules rules = tp_torch_defaults;
    struct tp_err ignored;
    return !tp_torch_version(&rules, text, &ignored);
}

static int check_torch_pinned(const char *text, const char *device, struct tp_err *err)
{
    (void)device;
    struct tp_torch_pinned_rules rules = tp_torch_pinned_defaults;
    return tp_torch_pinned_conf(&rules, text, err);
}

const struct tp_recorded_strategy tp_recorded_strategy_torch = {.by = "PyTorch",
                                                                .whose = "PyTorch",
                                                                .strategy = &tp_strategy_torch,
                                                                .option = "conf",
                                                                .device_option = "allocator",
                                                                .release_option = "version",
                                                                .knows_release = knows_torch,
                                                                .is_before = tp_torch_is_before,
                                                                .settings = tp_torch_recorded,
                                                                .check = check_torch,
                                                                .unplayed = torch_unplayed,
                                                                .shared = TP_TORCH_WHOLE_SHARE,
                                                                .limits = torch_limits,
                                                                .fidelity = tp_fidelity_of,
                                                                .format = "pytorch",
                                                                .switching = "expandable_segments",
                                                                .gives_back = "empty_cache()",
                                                                .ring = "max_entries"};

const struct tp_recorded_strategy tp_recorded_strategy_torch_pinned = {
    .by = "PyTorch (pinned)",
    .whose = "PyTorch",
    .strategy = &tp_strategy_torch_pinned,
    .option = "conf",
    .knows_release = knows_torch,
    .is_before = tp_torch_is_before,
    .settings = tp_torch_recorded,
    .check = check_torch_pinned,
    .format = "pytorch",
    .ring = "max_entries"};
