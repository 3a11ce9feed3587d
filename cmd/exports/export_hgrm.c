/* --format hgrm: a latency histogram as the text that HdrHistogram's outputPercentileDistribution
 * prints and its plotters read.
 *
 *        Value     Percentile TotalCount 1/(1-Percentile)
 *
 *       12.000 0.500000000000      15315           2.00
 *     5300.000 1.000000000000      30850            inf
 *     #[Mean    =        6.120, StdDeviation   =       33.481]
 *
 * Values are nanoseconds. A file holds one histogram. Each result has one histogram of all calls
 * and one for each kind of call. Readers skip lines that begin with '#'; they describe the result.
 * Known weakness: buckets are up to 3.2% wide, and below ten steps of the clock a value is only
 * good to one step. */
#include "cmd/exports/export_text.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"
#include "cmd/ui/escape.h"

#include <math.h>

enum { TICKS = 5, KINDS = TP_LAT_KINDS + 1 };

static const char *kind_name(int kind)
{
    return kind == TP_LAT_KINDS ? "all" : tp_latency_names[kind];
}

/* ---- the files ---- */

/* Whether the trace has calls of this kind. */
static bool has_kind(const struct tp_program_facts *f, int kind)
{
    bool has = kind == TP_LAT_KINDS;
    for (unsigned op = 0; op < TP_OP_COUNT; op++)
        has |= tp_op_rows[op].latency == kind && f->ops[op];
    return has;
}

/* Finds the index-th histogram of the report. Those of a result follow each other, and the
 * histogram of all calls is the first of them. */
static bool locate(const struct tp_report *r, size_t index, size_t *result, int *kind)
{
    for (*result = 0; *result < tp_export_results(r); ++*result)
        for (*kind = TP_LAT_KINDS; *kind >= 0; --*kind)
            if (has_kind(r->results[*result].facts, *kind) && !index--)
                return true;
    return false;
}

/* Names end in '-' and the kind. No kind contains a '-', so different names of results stay
 * different. */
static bool name_part(const void *of, size_t index, char *name, size_t size)
{
    size_t result;
    int kind;
    char text[TP_EXPORT_PART];
    if (!locate(of, index, &result, &kind))
        return false;
    tp_export_part(of, result, text);
    if (!*text)
        snprintf(name, size, "%s", kind == TP_LAT_KINDS ? "" : kind_name(kind));
    else
        snprintf(name, size, "%s-%s", text, kind_name(kind));
    return true;
}

/* ---- one histogram ---- */

static uint64_t value_of(const struct tp_histogram *h, uint32_t bucket)
{
    uint64_t upper = tp_hist_upper(bucket);
    return bucket == TP_HIST_BUCKETS - 1 || upper > h->max ? h->max : upper;
}

/* The percentile after `level`. TICKS steps lead half of the way to 100%, the next TICKS steps
 * half of the rest, and so on. */
static double next_level(double level)
{
    double halves = floor(log2(1 / (1 - level))) + 1;
    return level + 1 / (TICKS * exp2(halves));
}

/* Whether `seen` of `count` calls reach a level. Levels are sums, so 0.3 may come out a little too
 * large, which the tolerance absorbs. */
static bool reaches(uint64_t seen, double level, uint64_t count)
{
    return (double)seen >= level * (double)count - 1e-6;
}

static void write_levels(const struct tp_histogram *h, FILE *out)
{
    double level = 0;
    uint64_t seen = 0;
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    for (uint32_t b = 0; b < TP_HIST_BUCKETS; b++) {
        seen += h->buckets[b];
        while (h->buckets[b] && reaches(seen, level, h->count) && level < 1) {
            fprintf(out, "%12.3f %14.12f %10llu %14.2f\n", (double)value_of(h, b), level,
                    (unsigned long long)seen, 1 / (1 - level));
            level = seen == h->count ? 1 : next_level(level);
        }
    }
    if (h->count)
        fprintf(out, "%12.3f %14.12f %10llu %14s\n", (double)h->max, 1.0,
                (unsigned long long)h->count, "inf");
}

/* The standard deviation, computed from the middles of the buckets. `mean` is exact. */
static double deviation(const struct tp_histogram *h, double mean)
{
    double sum = 0;
    for (uint32_t b = 0; b < TP_HIST_BUCKETS; b++) {
        double low = b ? (double)tp_hist_upper(b - 1) + 1 : 0;
        double off = (low + (double)value_of(h, b)) / 2 - mean;
        sum += h->buckets[b] ? (double)h->buckets[b] * off * off : 0;
    }
    return h->count ? sqrt(sum / (double)h->count) : 0;
}

static void write_footer(const struct tp_latency *l, FILE *out)
{
    double mean = l->hist.count ? tp_latency_mean(l) : 0;
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean, deviation(&l->hist, mean));
    fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n",
            l->hist.count ? (double)l->hist.max : 0, (unsigned long long)l->hist.count);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", TP_HIST_TOP_LOG2 - 5, TP_HIST_SUB);
}

static void write_notes(const struct tp_report *r, const struct tp_result *result, int kind,
                        FILE *out)
{
    char partial[96];
    double step = r->clock.step_ns;
    fputs("#[", out);
    tp_put_tool(out);
    tp_put(out, TP_TO_LINE, ", nanoseconds of %s calls]\n#[trace %s, program %s]\n#[strategy %s, ",
           kind_name(kind), result->trace->meta.name, tp_hash_text(result->facts).s,
           result->spec->label);
    tp_export_strategy(result, out);
    fputs(", on ", out);
    tp_export_source(result, out);
    fprintf(out, "]\n#[latency scope %s, touch %s, the reading of an empty call taken off]\n",
            tp_result_scope(result), tp_touch_names[result->touch]);
    fprintf(out, "#[clock %s, step %.3f ns", r->clock.name, step);
    if (tp_latency_is_coarse(0, step))
        fprintf(out, ": values below %.0f ns are good to one step", 10 * step - step / 2);
    fputs("]\n", out);
    if (result->run->latency.sampled)
        fprintf(out, "#[the first %llu calls of a longer trace]\n",
                (unsigned long long)result->run->latency.sampled);
    fputs("#[warnings", out);
    if (!tp_export_warnings(result, out))
        fputs(" none", out);
    fputs("]\n", out);
    if (tp_export_partial(r, partial, sizeof partial))
        fprintf(out, "#[%s]\n", partial);
}

static void write_histogram(const struct tp_report *r, size_t index, int kind, FILE *out)
{
    struct tp_latency latency;
    tp_run_latency(r->results[index].run, kind, &latency);
    write_notes(r, &r->results[index], kind, out);
    write_levels(&latency.hist, out);
    write_footer(&latency, out);
}

static int write_part(const void *of, size_t index, FILE *out, struct tp_err *err)
{
    size_t result;
    int kind;
    if (!locate(of, index, &result, &kind))
        return tp_fail(err, TP_EBROKEN, "there is no histogram %zu", index);
    write_histogram(of, result, kind, out);
    return TP_OK;
}

static const char about[] =
    "Percentiles in nanoseconds in HdrHistogram's text form, for its\n"
    "plotter. A file is one histogram. With one result FILE has all calls,\n"
    "and FILE-alloc etc. have those of each kind. Several results give\n"
    "FILE-LABEL-all, FILE-LABEL-alloc, ..., and several traces\n"
    "FILE-TRACE-LABEL-...; the addition precedes the suffix. --format hgrm\n"
    "prints the histogram of all calls of one result. Values below ten\n"
    "steps of the clock have an error of one step; the first lines give\n"
    "its length.";

const struct tp_exporter tp_replay_hgrm = {
    .name = "hgrm",
    .summary = "latencies by percentile, for HdrHistogram's plotter",
    .about = about,
    .part = name_part,
    .write_part = write_part,
};
