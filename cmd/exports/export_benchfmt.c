/* --format benchfmt: Go's benchmark format (https://go.dev/design/14313-benchmark-format), so that
 * benchstat compares two results.
 *
 *     source: host                                                      configuration
 *     Unit peak-reserved-B assume=exact better=lower                    properties of a unit
 *     BenchmarkReplay/trace=sqlite/strategy=arena-1 6170 4.881 ns/op    one line per repetition
 *     BenchmarkReplay/trace=sqlite/strategy=arena-1 1 1830912 peak-reserved-B ...
 *
 * The configuration is what must be equal for two results to be comparable: benchstat puts results
 * with different configurations into separate tables. What may differ (versions, options, warnings)
 * is in lines with a '#', which readers of the format ignore.
 *
 * Known weakness: the format cannot say that a value is at the limit of the clock, so percentiles
 * below ten steps of the clock are left out. */
#include "cmd/exports/export_text.h"
#include "cmd/jobs/machine.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"
#include "cmd/results/metrics.h"
#include "cmd/results/replay_exports.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/json_out.h"

#include <string.h>

/* ---- memory and counts, by device ---- */

/* The value of a figure on a device; the upper end of a range. */
static uint64_t amount(const struct tp_metric *f, const struct tp_figure_of *of)
{
    return strcmp(f->name, "peak_reserved") ? tp_figure_value(f, of).whole
                                            : tp_device_reserved(of->r->run, of->d).high;
}

/* Whether memory and counts of all results are exact. It must be all of them, because a unit has
 * one set of properties in a file. */
static bool all_exact(const struct tp_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->results[i].run->flags & (TP_RUN_INFORMATIVE | TP_RUN_DEVICE))
            return false;
    return true;
}

static void write_units(const struct tp_report *r, FILE *out)
{
    for (size_t i = 0; i < tp_figure_count; i++)
        if (tp_figures[i]->benchmark)
            fprintf(out, "Unit %s %sbetter=lower\n", tp_figures[i]->benchmark,
                    all_exact(r) ? "assume=exact " : "");
    for (int k = 0; k < TP_LAT_KINDS; k++) {
        fprintf(out, "Unit %s-mean-ns better=lower\n", tp_latency_names[k]);
        for (int p = 0; p < TP_PERCENTILES; p++)
            fprintf(out, "Unit %s-%s-ns better=lower\n", tp_latency_names[k],
                    tp_percentiles[p].head);
    }
}

/* ---- configuration ---- */

static void write_machine(FILE *out)
{
    struct tp_machine m;
    tp_machine_read(&m);
    tp_put(out, TP_TO_LINE, "goos: linux\narch: %s\n", m.arch);
    if (m.cpu[0])
        tp_put(out, TP_TO_LINE, "cpu: %s\n", m.cpu);
}

static void write_head(const struct tp_report *r, FILE *out)
{
    char partial[96];
    fputs("# ", out);
    tp_put_tool(out);
    fprintf(out, ", clock %s, step %.3f ns, seed %llu\n", r->clock.name, r->clock.step_ns,
            (unsigned long long)r->seed);
    if (tp_export_partial(r, partial, sizeof partial))
        fprintf(out, "# %s\n", partial);
    write_machine(out);
    write_units(r, out);
}

/* Writes the key `device`. A key holds until its next line, so if any result has a real device,
 * each of the results needs the key. */
static void write_device(const struct tp_report *rep, const struct tp_result *r, FILE *out)
{
    char names[512] = "none";
    bool any = false;
    for (size_t i = 0; i < rep->count; i++)
        any |= tp_result_is_device(&rep->results[i]);
    if (!any)
        return;
    if (tp_result_is_device(r))
        tp_device_names(r, names, sizeof names);
    tp_put(out, TP_TO_LINE, "device: %s\n", names);
}

static void write_config(const struct tp_report *rep, const struct tp_result *r, FILE *out)
{
    tp_put(out, TP_TO_LINE, "\n# %s is ", r->spec->label);
    tp_export_strategy(r, out);
    fputs(", on ", out);
    tp_export_source(r, out);
    fputs("\n# warnings:", out);
    if (!tp_export_warnings(r, out))
        fputs(" none", out);
    fprintf(out, "\ntrace-hash: %s\n", tp_hash_text(r->facts).s);
    fprintf(out, "source: %s\n", r->source->name);
    write_device(rep, r, out);
    fprintf(out, "touch: %s\n", tp_touch_names[r->touch]);
    fprintf(out, "latency-scope: %s\n", tp_result_scope(r));
}

/* ---- results ---- */

/* Writes the name of a benchmark; `device` -1 means the whole run. benchstat reads a number at the
 * end of a name as the number of threads, so it is always written: the end of a label would be
 * taken for it otherwise. */
static void write_name(const struct tp_result *r, int device, unsigned long long times, FILE *out)
{
    tp_put(out, TP_TO_BENCHMARK, "BenchmarkReplay/trace=%s/strategy=%s", r->trace->meta.name,
           r->spec->label);
    if (device >= 0)
        fprintf(out, "/device=%d", device);
    fprintf(out, "-1 %llu", times);
}

static void write_speed(const struct tp_result *r, FILE *out)
{
    const struct tp_series *s = &r->run->throughput.runs;
    for (uint32_t i = 0; !tp_result_no_speed(r) && i < s->count; i++) {
        write_name(r, -1, r->facts->operations * s->per_value, out);
        fprintf(out, " %.3f ns/op\n", tp_speed_net(r->run, s->values[i]));
    }
}

/* Writes memory and counts in one line per device, because they are the same in each repetition. */
static void write_amounts(const struct tp_result *r, FILE *out)
{
    bool usage = r->run->passes & TP_PASS_USAGE;
    for (uint32_t d = 0; usage && d < r->run->device_count; d++) {
        const struct tp_figure_of of = {r, &r->run->devices[d]};
        write_name(r, r->run->device_count > 1 ? (int)d : -1, 1, out);
        for (size_t i = 0; i < tp_figure_count; i++) {
            const struct tp_metric *f = tp_figures[i];
            uint64_t value = f->benchmark ? amount(f, &of) : TP_NONE;
            if (value != TP_NONE)
                fprintf(out, " %llu %s", (unsigned long long)value, f->benchmark);
        }
        fputc('\n', out);
    }
}

static void write_latencies(const struct tp_report *rep, const struct tp_result *r, FILE *out)
{
    for (int k = 0; k < TP_LAT_KINDS; k++) {
        const struct tp_latency *l = &r->run->latency.kinds[k];
        if (!l->hist.count)
            continue;
        write_name(r, -1, (unsigned long long)l->hist.count, out);
        /* the rounded figure of the JSON result, so that both give the same digits */
        fprintf(out, " %.3f %s-mean-ns", tp_json_rounded(tp_latency_mean(l)), tp_latency_names[k]);
        for (int p = 0; p < TP_PERCENTILES; p++) {
            uint64_t ns;
            if (tp_percentile(l, tp_percentiles[p].fraction, &ns) &&
                !tp_latency_is_coarse(ns, rep->clock.step_ns))
                fprintf(out, " %llu %s-%s-ns", (unsigned long long)ns, tp_latency_names[k],
                        tp_percentiles[p].head);
        }
        fputc('\n', out);
    }
}

static int write_benchfmt(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    (void)err;
    write_head(r, out);
    for (size_t i = 0; i < r->count; i++) {
        write_config(r, &r->results[i], out);
        write_speed(&r->results[i], out);
        write_amounts(&r->results[i], out);
        write_latencies(r, &r->results[i], out);
    }
    return TP_OK;
}

static const char about[] =
    "Go's benchmark format: benchstat old.txt new.txt, or benchstat -col\n"
    "/strategy x.txt.\n"
    "Each repetition is a line of ns/op. Memory and counts have a line of\n"
    "their own and are declared exact if a second replay gives the same\n"
    "values. Facts that make results incomparable (trace hash, source,\n"
    "touch, contents of times, machine) are configuration, by which\n"
    "benchstat splits its tables. Percentiles below ten steps of the clock\n"
    "are left out. In names, characters other than letters, digits and . _\n"
    "+ : , = # - are written as %XX.\n"
    "All repetitions run in one process and share its memory layout, so a\n"
    "real difference between two files can come from the layout.";

const struct tp_exporter tp_replay_benchfmt = {
    .name = "benchfmt",
    .summary = "Go's benchmark format for benchstat, one line per repetition",
    .about = about,
    .write = write_benchfmt,
};
