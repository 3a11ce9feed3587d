/* tapool help metrics: every metric by the one name that it has everywhere. */
#include "cmd/cli/commands.h"
#include "cmd/measure/catalog.h"
#include "cmd/measure/metrics.h"

static const struct {
    const char *name, *meaning;
} metrics[] = {
    {"trace_peak_requested", "the most the program needed at once, whatever a policy fails"},
    {"peak_requested", "the same for what the policy served"},
    {"peak_granted", "most handed out at once: requested and rounding"},
    {"peak_reserved", "most held from the system or driver"},
    {"peak_carved", "most that was ever part of a block, span or table: ever in use"},
    {"peak_metadata", "most of the policy's own bookkeeping, outside the memory it manages"},
    {"end_reserved", "held after the last event"},
    {"capacity", "what the device has, where that is known (--capacity)"},
    {"fits_in", "smallest device on which no allocation fails (--fits)"},
    {"overhead", "peak of (reserved + metadata) / trace_peak_requested; 1 is the floor"},
    {"at_peak_demand", "all of these and idle at the event of trace_peak_requested"},
    {"class", "of memory figures: E exact, R reported only (real device, real allocator)"},
    {"internal_fragmentation", "1 - requested / handed out, at peak demand and weighted"},
    {"unused_reserved", "1 - handed out / reserved, at peak demand and weighted"},
    {"mean_granted", "handed out over the whole trace; mean_reserved likewise: what the weighted"},
    {"", "shares are shares of"},
    {"external_fragmentation", "1 - largest / all over idle spans that could serve any size"},
    {"library", "of a real allocator: the one that really answered malloc"},
    {"source_calls", "get, put, wait: calls to the system or driver; their bytes"},
    {"next_pass", "calls of a next pass on the same instance: what a loop costs once warm"},
    {"reuse", "share of allocations that needed no source call"},
    {"fallback", "allocations that a policy passes straight to the source by its own rules"},
    {"failed_allocations", "refused for want of memory; first_failed_event is the first"},
    {"failed_by", "demand: the program needs more than there is; fragmentation: what it asked"},
    {"", "for would fit; policy: refused by the policy's own rules; unknown; guard:"},
    {"", "tapool stopped it on the host, over 16 times what the program needs"},
    {"first_failure", "the first of them: what was asked for, what was free then"},
    {"phases", "peaks between the marks of the trace, by their names"},
    {"curve", "requested, handed out, reserved by event; at most 4,096 points"},
    {"skipped_operations", "calls on objects whose allocation failed: not played, not timed"},
    {"skipped_trims", "trims that a policy does not offer"},
    {"ns_per_op", "steady time per call, engine share taken off; null: nothing was timed, or"},
    {"", "nothing is left of it then; low, high: 95 % interval"},
    {"cold_ns_per_op", "the same for the first replay on a fresh instance"},
    {"engine_ns_per_op", "tapool's own share, by a policy that does nothing, in the same run"},
    {"instructions", "of one replay, counted where the machine can (--passes count); per_op: for"},
    {"", "each call of the trace. Reading it and the kernel's work are not in it"},
    {"played_once", "the trace took longer than --min-time: each time is a cold one"},
    {"latency", "alloc, free, realloc: count, mean, min, p50, p90, p99, p99_9, max, buckets"},
    {"measured", "what a real GPU answered; ranges are [lowest, highest] over the passes"},
    {"pool_used", "the most that the driver's pool handed out, by its own high-water mark"},
    {"missing_at_peak", "by how much cuMemGetInfo's free bytes had sunk; reserved_then: held then"},
    {"free_at_start", "free on the device before the replay; free_at_failure: at the first one"},
    {"driver", "of one replay: calls into it, ns inside them; of these syncs, event_waits;"},
    {"", "works: what --occupy queued beside them"},
    {"occupy", "what the GPU does with each block (--occupy); occupy_scale: its factor"},
    {"empty_ns", "what a call that does nothing reads: taken off every latency"},
};

enum { WIDTH = 98 };

/* Those that can be asked for, by the names that are taken. */
static void print_compared(FILE *out)
{
    int column = WIDTH;
    fputs("\nWhat can be compared (--metric, --sort, --fail-on, the baseline):", out);
    for (size_t i = 0; i < tp_metric_count; i++) {
        int width = tp_text_width(tp_metrics[i].name);
        bool fits = column + 1 + width <= WIDTH;
        column = fits ? column + 1 + width : 2 + width;
        fprintf(out, "%s%s", fits ? " " : "\n  ", tp_metrics[i].name);
    }
    fputc('\n', out);
}

static void print_metrics_topic(FILE *out)
{
    fputs(
        "One name per metric, the same in reports and JSON (there with its unit: _bytes, _ns).\n\n",
        out);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        fprintf(out, "  %-24s%s\n", metrics[i].name, metrics[i].meaning);
    fputs("\nWeighted = over the whole trace, by recorded time where every event has one, else by\n"
          "events; \"weight\" in the JSON says which. All but times and latencies are exact: a "
          "replay\n"
          "by one thread is a pure function of trace, strategy, options and source. For a real\n"
          "allocator (system) every figure is informative; on a real GPU memory is class R.\n",
          out);
    print_compared(out);
    fputs(
        "\nOf several devices, bytes and counts are summed, each device's peak at its own moment; "
        "a\nshare is that of the sums: reuse = all reused / all allocations.\n",
        out);
    fputs("\nSources: where memory comes from (--source)\n", out);
    for (size_t i = 0; tp_sources[i]; i++)
        fprintf(out, "  %s%-23s%s\n", tp_sources[i]->flags & TP_SRC_DECORATOR ? "+" : " ",
                tp_sources[i]->name, tp_sources[i]->summary);
}

const struct tp_topic tp_topic_metrics = {"metrics", "every metric by name; the sources",
                                          print_metrics_topic, "metric sources"};
