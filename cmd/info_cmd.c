/* tapool info: reads a trace once and says what is in it. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/info/info.h"
#include "cmd/info/pair_growth.h"
#include "cmd/page/html_page.h"
#include "cmd/page/trace_page.h"
#include "cmd/report/report_sites.h"
#include "cmd/results/site_curve.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/stop.h"
#include "cmd/why/ranks.h"

struct info_opts {
    struct tp_open_opts open;
    struct tp_exports exports;
    struct tp_sites_opts sites;
    struct tp_opt_list fail_on;
};

enum { TP_EXPORT_INDEXES(info, TP_SNAPSHOT_EXPORTS) };
static const char *const info_words[] = {TP_EXPORT_WORDS(TP_SNAPSHOT_EXPORTS)};

#define ROW(member) offsetof(struct info_opts, member)
static const struct tp_opt rows[] = {
    TP_OPEN_ROWS(struct info_opts),
    TP_EXPORT_ROWS(info, TP_SNAPSHOT_EXPORTS),
    TP_COLOR_ROW(offsetof(struct info_opts, exports.color)),
    TP_SITES_ROWS(struct info_opts, FIRST),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_FAIL_ON_ROW(ROW(fail_on), FIRST,
                   "exit with 1 if EXPR holds for the second trace: allocations>+1%\n"
                   "Names: allocations, allocated, reallocs, frees, peak_requested, "
                   "peak_blocks, left_blocks, left, temporary, remote_frees, threads, sizes. "
                   "Repeatable."),
    {.name = NULL}};

/* ---- writing ---- */

/* What is written, of one trace or of two. */
struct info_told {
    const struct info_opts *opts;
    const struct tp_info_report *one; /* NULL: of two */
    const struct tp_trace_pair *two;
    const struct tp_pair_growth *growth; /* NULL: it was not asked for */
    struct tp_info_command command;
};

static void print_text(const void *of, struct tp_page *page)
{
    const struct info_told *t = of;
    if (t->one)
        tp_info_text(t->one, page);
    else
        tp_info_pair_text(t->two, page);
    if (t->growth)
        tp_info_growth_text(t->growth, page);
}

static cJSON *info_tree(struct tp_json *j, const void *of)
{
    const struct info_told *t = of;
    cJSON *root = t->one ? tp_info_tree(j, t->one) : tp_info_pair_tree(j, t->two);
    if (t->growth)
        tp_info_growth(j, root, t->growth);
    return root;
}

static int check_folded(const void *of, struct tp_err *err)
{
    const struct info_told *t = of;
    return tp_sites_have_stacks(t->opts->sites.by, err);
}

static int write_folded(const void *of, FILE *out, struct tp_err *err)
{
    const struct info_told *t = of;
    (void)err;
    tp_sites_folded(t->one->captured->sites, NULL, out);
    return TP_OK;
}

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    const struct info_told *t = of;
    if (!t->one)
        return tp_info_pair_html(t->two, &t->command, out, err);
    struct tp_info_report shown = *t->one;
    shown.ages_shown = false; /* a page has no section of them */
    return tp_info_html(&shown, &t->command, out, err);
}

static const struct tp_exporter info_text = {.name = "text", .print = print_text};
static const struct tp_exporter info_folded = {
    .name = "folded", .write = write_folded, .check = check_folded, .stacks = true};
static const struct tp_exporter info_html = {
    .name = "html", .write = write_html, .check = tp_html_check};
static const struct tp_exporters info_exporters =
    TP_EXPORT_TABLE(info, TP_SNAPSHOT_EXPORTS, info_tree);

static bool wants_stacks(const struct info_opts *o)
{
    return tp_exports_need_stacks(&o->exports, &info_exporters);
}

static int tell(const struct info_told *t, FILE *out, struct tp_err *err)
{
    return tp_exports_write(&t->opts->exports, &info_exporters, t, out, err);
}

/* ---- one trace, and two ---- */

static int report(const struct info_opts *o, const struct tp_info_report *r, char *const *words,
                  FILE *out, struct tp_err *err)
{
    struct info_told t = {.opts = o, .one = r, .command = {words, rows, o}};
    int status = wants_stacks(o) || tp_sites_asked(&o->sites)
                     ? tp_sites_known(r->captured, r->trace, err)
                     : TP_OK;
    return status ? status : tell(&t, out, err);
}

/* `by_site`: an option that groups blocks was given. */
static int one_trace(const struct info_opts *o, char *const *words, bool by_site, FILE *out,
                     struct tp_err *err)
{
    struct tp_trace trace;
    struct tp_info *info = NULL;
    struct tp_site_ages *ages = NULL;
    struct tp_captured captured = {0};
    int status = tp_open_trace(words[0], &o->open, true, &trace, err);
    if (status)
        return status;
    status = tp_sites_check(&o->sites, &trace, err);
    if (!status)
        status = tp_info_scan(trace.program, &info, err);
    if (!status)
        status = tp_captured_scan(&trace, &captured, err);
    if (!status) {
        for (uint16_t d = 0; d < captured.count; d++)
            tp_captured_want(&captured, tp_program_demand(trace.program, d)->event);
        tp_captured_find(&captured, &trace, &o->sites, wants_stacks(o), tp_stop_asked);
        if (tp_exports_any(&o->exports))
            tp_site_curve_find(&captured, &trace, &info->devices[0].curve, tp_stop_asked);
        if (by_site || tp_exports_any(&o->exports))
            ages = tp_info_find_ages(&trace, &o->sites, tp_stop_asked);
        status = report(o, &(struct tp_info_report){&trace, info, &captured, ages, by_site}, words,
                        out, err);
    }
    tp_site_ages_free(ages);
    tp_captured_release(&captured);
    tp_info_free(info);
    tp_trace_close(&trace);
    return status;
}

/* `grown`: which allocation sites grew is asked for. */
static int two_traces(const struct info_opts *o, char *const paths[2], bool grown, FILE *out,
                      struct tp_err *err)
{
    const struct tp_growth_cfg cfg = {
        .by = o->sites.by, .depth = (unsigned)o->sites.depth, .stop = tp_stop_asked};
    struct tp_trace_pair pair = {.checks = NULL};
    struct tp_pair_growth growth = {.phase_count = 0};
    struct info_told t = {
        .opts = o, .two = &pair, .growth = grown ? &growth : NULL, .command = {paths, rows, o}};
    int status = tp_trace_pair_open(&pair, paths, &o->open, &o->fail_on, err);
    if (!status && grown)
        status = tp_pair_growth_find(&pair, &cfg, &growth, err);
    if (!status)
        status = tell(&t, out, err);
    if (!status)
        status = tp_trace_pair_verdict(&pair, err);
    tp_pair_growth_release(&growth);
    tp_trace_pair_release(&pair);
    return status;
}

/* Three or more are snapshots of the ranks of a job. */
static int compare_ranks(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    static const char *const fitting[] = {TP_RANKS_OPTIONS};
    const struct info_opts *o = args->opts;
    uint64_t device = o->open.device;
    const struct tp_ranks_ask ask = {
        .cfg = {.paths = args->words,
                .count = (size_t)args->count,
                .all_devices = device == TP_OPT_KEYWORD(0),
                .device = device < UINT32_MAX ? (uint32_t)device : UINT32_MAX,
                .max_memory = o->open.max_memory,
                .stop = tp_stop_asked},
        .exports = &o->exports};
    const char *other = tp_config_typed_other(args, rows, fitting);
    if (other)
        return tp_fail(err, TP_EUSAGE, "--%s takes one trace, or two that are compared", other);
    return tp_ranks_run(&ask, out, err);
}

static int run_info(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct info_opts *o = args->opts;
    if (!args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "info needs a trace"),
                       "tapool info sample:sqlite shows a shipped one");
    if (args->count > 2)
        return compare_ranks(args, out, err);
    if (args->count == 1 && o->fail_on.count)
        return tp_fail(err, TP_EUSAGE, "--fail-on compares a second trace with the first");
    if (args->count == 2 && (tp_config_typed(args, rows, "at") || wants_stacks(o)))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "%s takes one trace",
                               wants_stacks(o) ? "the format folded" : "--at"),
                       "--by line shows which allocation sites grew from one to the other");
    if (args->count == 2 && o->sites.by == TP_BY_METADATA)
        return tp_fail(err, TP_EUSAGE, "--by metadata takes one trace");
    int status =
        tp_exports_check(&o->exports, &info_exporters, &(struct info_told){.opts = o}, err);
    if (status)
        return status;
    bool by_site = tp_config_typed(args, rows, "by") || tp_config_typed(args, rows, "depth");
    return args->count == 2 ? two_traces(o, args->words, by_site, out, err)
                            : one_trace(o, args->words, by_site, out, err);
}

const struct tp_command tp_command_info = {
    .name = "info",
    .usage = "info TRACE... [OPTION]...",
    .summary = "describe a trace: operations, sizes, lifetimes, live memory",
    .about =
        "Describe a trace: operations, threads, phases, requested bytes over time, sizes, "
        "lifetimes and blocks live at the end. Nothing is replayed. Sizes are the requested ones; "
        "lifetimes are counted in events, and in time where it is recorded. TRACE is a file, '-' "
        "for standard input, or sample:NAME "
        "for a shipped one. --by line adds lifetimes by allocation site and marks the sites whose "
        "live "
        "memory only grows.\n\n"
        "Two traces are compared side by side: --fail-on makes it a check, --by line lists the "
        "allocation sites that grew. Three or more PyTorch snapshots, such as those of the ranks "
        "of a job, make one table with the outlier first, as in 'tapool why'.",
    .opts_size = sizeof(struct info_opts),
    .options = rows,
    .run = run_info,
};
