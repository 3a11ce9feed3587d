/* tapool compare: compares strategies, measured in turn or read from stored results. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/compare/compare.h"
#include "cmd/compare/compare_html.h"
#include "cmd/compare/compare_opts.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/stop.h"
#include "traces/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { SNIFF = 4096 };

static const char *const tp_compare_words[] = {TP_EXPORT_WORDS(TP_COMPARE_EXPORTS)};

#define ROW(member) offsetof(struct tp_compare_opts, member)
static const struct tp_opt rows[] = {
    TP_STRATEGY_ROW(ROW(strategies),
                    "strategy to compare; repeatable (default: the usual ones)\n"
                    "With options as NAME:a=1,b=2, under a label as LABEL=NAME:..."),
    TP_ALLOC_ROW(ROW(alloc)),
    TP_TEXT_AT("base", ROW(base), .arg = "NAME", TP_FIRST(STRATEGIES),
               .help = "strategy to compare with, by its label (default: the first)\n"
                       "Several stored results are named by FILE."),
    TP_UINT_AT("rounds", ROW(rounds), .def = "20", .min = 2, .max = TP_ROUNDS_MAX,
               TP_FIRST(MEASURING), .help = "runs of each strategy, interleaved in random order"),
    TP_TIME_AT("min-time", ROW(min_time), .def = "25ms", .max = UINT64_C(86400000000000),
               TP_IN(MEASURING),
               .help = "repeat a shorter trace for TIME in each round\n"
                       "Once for speed and once for latencies."),
    TP_SOURCE_ROW(ROW(source), "memory source: host, virtual or cuda\n"
                               "Names and defaults are those of 'tapool replay'."),
    TP_CAPACITY_ROW(ROW(capacity), "memory of each device; 0: no limit"),
    TP_TOUCH_ROW(ROW(touch), "\nauto: first on host, none on virtual and cuda"),
    TP_THP_ROW(ROW(thp)),
    TP_THREADS_ROW(ROW(threads)),
    TP_GOAL_ROW(ROW(goal)),
    TP_LIST_AT("metric", ROW(metrics), .arg = "NAME", TP_FIRST(OUTPUT),
               .help = "metric to show; repeatable (default: the usual ones)\n"
                       "Names: 'tapool help metrics'."),
    TP_TEXT_AT("sort", ROW(sort), .arg = "KEY", TP_IN(OUTPUT),
               .help = "sort rows by name or by a metric, best first (default: as given)"),
    TP_FAIL_ON_ROW(ROW(fail_on), IN,
                   "exit with 1 if EXPR holds for a row: 'peak_reserved>+2%', oom\n"
                   "A signed value is a change from the base; a time must then differ "
                   "significantly. "
                   "Others are absolute: 'failed_allocations>0', "
                   "'ns_per_op>=100ns'. Repeatable."),
    TP_OPEN_ROWS(struct tp_compare_opts),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_SEED_ROW(ROW(seed), "seed of the order of runs and of the confidence intervals"),
    TP_EXPORT_ROWS(tp_compare, TP_COMPARE_FILES),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_COLOR_ROW(ROW(exports.color)),
    TP_VERBOSE_ROW(ROW(verbose), "show all metrics, in as many tables as they need\n"
                                 "With --metric: all that it names."),
    {.name = NULL}};

struct compare {
    const struct tp_compare_opts *o;
    struct tp_compare_page page;
    struct tp_compare found;
    struct tp_compare_live *live;
    struct tp_stored *files;
    size_t file_count;
    struct tp_condition *conditions;
};

/* ---- arguments ---- */

/* What an argument names. tapool does not look into a pipe, because it could not read the same
 * bytes again. */
enum given { GIVEN_TRACE, GIVEN_RESULT, GIVEN_PIPE, GIVEN_NOTHING };

/* Any JSON document of tapool, of whatever schema, counts as a result; a trace is never one. */
static enum given look_at(const char *path)
{
    char head[SNIFF + 1];
    struct stat st;
    if (!strcmp(path, "-"))
        return GIVEN_PIPE;
    if (tp_trace_is_sample(path))
        return GIVEN_TRACE;
    if (stat(path, &st) != 0)
        return GIVEN_NOTHING;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? GIVEN_NOTHING : GIVEN_PIPE;
    FILE *in = fopen(path, "re");
    size_t length = in ? fread(head, 1, SNIFF, in) : 0;
    if (in)
        fclose(in);
    head[length] = '\0';
    const char *text = head + strspn(head, "\xef\xbb\xbf \t\r\n");
    if (*text == '{' && strstr(text, "\"schema\"") && strstr(text, "\"tapool."))
        return GIVEN_RESULT;
    return length ? GIVEN_TRACE : GIVEN_NOTHING;
}

/* Returns whether an argument is a stored result, and sets `result` and `trace` to one argument of
 * each kind, or to NULL. An argument that is neither is left to the reader, which says what is
 * wrong with it. */
static bool are_stored(const struct tp_args *args, const char **result, const char **trace)
{
    *result = *trace = NULL;
    for (int i = 0; i < args->count; i++) {
        enum given given = look_at(args->words[i]);
        if (given == GIVEN_RESULT)
            *result = args->words[i];
        else if (given == GIVEN_TRACE)
            *trace = args->words[i];
    }
    return *result != NULL;
}

static int fail_mixed(const char *result, const char *trace, struct tp_err *err)
{
    return tp_hint(
        err, tp_fail(err, TP_EUSAGE, "'%s' is a stored result and '%s' a trace", result, trace),
        "compare takes either traces, which it measures, or results, which it reads");
}

/* ---- options ---- */

static int check_metric(const char *name, bool stored, struct tp_err *err)
{
    const struct tp_metric *m = tp_metric_find(name, err);
    if (m && !stored && m->metric_class == TP_CLASS_INSTRUCTIONS)
        return tp_fail(err, TP_EUSAGE,
                       "'%s' is not measured by compare: 'tapool check' counts them", m->name);
    return m ? TP_OK : TP_EUSAGE;
}

static int parse_conditions(struct compare *k, bool stored, struct tp_err *err)
{
    const struct tp_opt_list *list = &k->o->fail_on;
    k->conditions = calloc(list->count + 1, sizeof *k->conditions);
    if (!k->conditions)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < list->count; i++) {
        struct tp_condition *c = &k->conditions[i];
        int status = tp_condition_parse(list->items[i], c, err);
        if (status)
            return status;
        status = check_metric(c->metric->name, stored, err);
        if (status)
            return status;
        k->found.used[c->metric - tp_metrics] = true;
        k->found.tested[c->metric - tp_metrics] = true;
        if (stored && c->relative && c->metric->metric_class == TP_CLASS_NOISY)
            return tp_hint(err,
                           tp_fail(err, TP_EUSAGE,
                                   "--fail-on '%s' can hold for no stored result: its times were "
                                   "not measured in turn",
                                   c->text),
                           "'tapool compare TRACE -s A -s B' measures them so");
    }
    return TP_OK;
}

/* Refuses options about how traces are replayed, because stored results were replayed already.
 * Values from a .tapool.ini or the environment are ignored: they are meant for live comparisons. */
static int check_stored(const struct tp_args *args, struct tp_err *err)
{
    static const char *const live[] = {"strategy", "alloc",   "source", "rounds", "min-time",
                                       "capacity", "touch",   "limit",  "space",  "device",
                                       "timeout",  "threads", NULL};
    for (size_t i = 0; live[i]; i++)
        if (tp_config_typed(args, rows, live[i]))
            return tp_fail(err, TP_EUSAGE, "--%s goes with traces: a stored result has its own",
                           live[i]);
    return TP_OK;
}

/* Refuses contradictory options before any work is done. */
static int check_options(struct compare *k, const struct tp_args *args, bool stored,
                         struct tp_err *err)
{
    const struct tp_compare_opts *o = k->o;
    int status = stored ? check_stored(args, err) : TP_OK;
    for (size_t i = 0; !status && i < o->metrics.count; i++)
        status = check_metric(o->metrics.items[i], stored, err);
    if (!status && o->sort && strcasecmp(o->sort, "name"))
        status = check_metric(o->sort, stored, err);
    if (!status)
        status = tp_exports_check(&o->exports, &tp_compare_exporters, NULL, err);
    return status ? status : parse_conditions(k, stored, err);
}

/* ---- running ---- */

static int find(struct compare *k, const struct tp_args *args, bool stored, struct tp_err *err)
{
    size_t count = (size_t)args->count;
    struct tp_stop stop; /* never restored, because the process ends after this */
    if (stored) {
        k->file_count = count;
        return tp_compare_read(k->o, args->words, count, &k->found, &k->files, err);
    }
    tp_stop_catch(&stop, true);
    return tp_compare_measure(k->o, args->words, count, &k->found, &k->live, err);
}

static int compare_all(struct compare *k, const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const char *result, *trace;
    bool stored = are_stored(args, &result, &trace);
    if (stored && trace)
        return fail_mixed(result, trace, err);
    int status = check_options(k, args, stored, err);
    if (!status)
        status = find(k, args, stored, err);
    if (!status)
        status = tp_compare_columns(&k->found, &k->o->metrics, k->o->verbose, err);
    if (!status && k->o->sort && strcasecmp(k->o->sort, "name"))
        k->found.used[tp_metric_find(k->o->sort, NULL) - tp_metrics] = true;
    if (!status)
        status = tp_compare_decide(&k->found, err);
    if (!status)
        status = tp_compare_sort(&k->found, k->o->sort, err);
    if (!status)
        status = tp_exports_write(&k->o->exports, &tp_compare_exporters, &k->page, out, err);
    if (!status && k->found.failed.status) {
        *err = k->found.failed;
        status = (int)err->status;
    }
    return status ? status : tp_compare_check(&k->found, k->conditions, k->o->fail_on.count, err);
}

static int run_compare(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct tp_compare_opts *o = args->opts;
    struct compare k = {.o = o};
    k.page = (struct tp_compare_page){.found = &k.found,
                                      .words = args->words,
                                      .word_count = (size_t)args->count,
                                      .rows = rows,
                                      .opts = o,
                                      .exact = o->exports.bytes};
    if (!args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "compare needs a trace, or stored results"),
                       "tapool compare sample:sqlite -s system -s arena");
    int status = tp_compare_init(&k.found, err);
    if (!status)
        status = compare_all(&k, args, out, err);
    free(k.conditions);
    tp_compare_release(&k.found);
    tp_compare_live_release(k.live);
    tp_compare_files_release(k.files, k.file_count);
    return status;
}

const struct tp_command tp_command_compare = {
    .name = "compare",
    .usage = "compare TRACE... [-s STRATEGY]... [OPTION]... | compare RESULT.json...",
    .summary = "compare strategies in interleaved runs, with 95% confidence intervals",
    .about =
        "Compare strategies in interleaved runs, each in a fresh process, with 95% confidence "
        "intervals. Memory and counts compare exactly; times differ only where a test shows it. "
        "TRACE is a file, '-' for standard input, or sample:NAME for a shipped one.\n\n"
        "RESULT.json is a file of 'tapool replay --export-json'. One result compares its "
        "strategies; several compare each strategy with itself, matched by trace, label and "
        "source. Times of stored results are shown but not tested, because their runs were not "
        "interleaved.",
    .opts_size = sizeof(struct tp_compare_opts),
    .options = rows,
    .run = run_compare,
};
