/* tapool predict: what a program will need at a value of a setting at which it was not recorded. */
#include "cmd/charts/svg_file.h"
#include "cmd/cli/commands.h"
#include "cmd/jobs/save_trace.h"
#include "cmd/page/html_page.h"
#include "cmd/predict/predict.h"
#include "cmd/predict/predict_chart.h"
#include "cmd/predict/recordings.h"
#include "cmd/predict/site_totals.h"
#include "cmd/tune/grid.h"
#include "cmd/tune/tunable.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/output.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/text.h"

#include "alloc/base/units.h"

#include <stdlib.h>
#include <string.h>

struct predict_opts {
    struct tp_open_opts open;
    struct tp_exports exports;
    char *at, *check, *output;
    uint64_t fits, step;
    bool curve;
};

#define EXPORTS(X, of)                                                                             \
    TP_EXPORTS_OF_ALL(X, of, TP_JSON_HELP)                                                         \
    X(of, svg, of, "svg", "write memory by value as a picture to FILE", IN)                        \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)
enum { TP_EXPORT_INDEXES(predict, EXPORTS) };
static const char *const predict_words[] = {TP_EXPORT_WORDS(EXPORTS)};

#define ROW(member) offsetof(struct predict_opts, member)
static const struct tp_opt rows[] = {
    TP_TEXT_AT("at", ROW(at), .from = TP_OPT_USER, .arg = "VALUE", TP_FIRST(TRACES),
               .help = "value of the setting to predict for: 1024, or batch=32\n"
                       "Not predicted: kernels that change above the largest recording, and "
                       "programs that behave differently there."),
    TP_SIZE_AT("fits", ROW(fits), .def = "0", .max = UINT64_C(1) << 60, TP_FIRST(DEVICE),
               .help = "find the largest value that fits a device of SIZE; 0: off"),
    TP_TEXT_AT("check", ROW(check), .from = TP_OPT_USER, .arg = "VALUE=FILE", TP_FIRST(TRACES),
               .help = "predict at VALUE and compare with a recording made there\n"
                       "Three or more recordings are also predicted from each other, to print "
                       "the error."),
    TP_FLAG_AT("curve", ROW(curve), TP_FIRST(OUTPUT),
               .help = "show memory at each value from the smallest recording on"),
    TP_UINT_AT("step", ROW(step), .def = "0", .max = TP_LAW_N_MOST, TP_LAST(DEVICE),
               .help = "try only multiples of N with --fits\n"
                       "0: an eighth of the greatest common divisor of the recorded values."),
    TP_OUTPUT_ROW(ROW(output), "write the predicted trace to FILE: .tpt, .json or .jsonl\n"
                               "Input for 'tapool replay' and 'tapool tune'."),
    TP_EXPORT_ROWS(predict, EXPORTS),
    TP_THEME_ROW(predict),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_COLOR_ROW(ROW(exports.color)),
    TP_OPEN_ROWS(struct predict_opts),
    {.name = NULL}};

/* ---- the trace ---- */

/* Says in the trace that nobody recorded it. The figures of the recorded allocator were those of
 * another run. */
static int describe(struct tp_trace *t, const struct tp_predict_asking *q, struct tp_err *err)
{
    struct tp_str from = {0}, at = {0};
    tp_predict_sources(q, &from);
    tp_predict_target(q, &at);
    tp_meta_remark(&t->meta, "Predicted at %s, not recorded: from %s.", tp_str_text(&at),
                   tp_str_text(&from));
    tp_str_drop(&at);
    tp_str_drop(&from);
    struct tp_recorded none = {0};
    int rc = t->recorded.by ? tp_recorded_init(&none, t->recorded.by, 0, err) : TP_OK;
    tp_recorded_release(&t->recorded);
    t->recorded = none;
    return rc == TP_OK ? tp_meta_status(&t->meta, err) : rc;
}

static const struct tp_trace_writer *writer_of(const char *path)
{
    const struct tp_trace_writer *writer = tp_find_writer(strrchr(path, '.'), true);
    return writer && writer->whole ? writer : NULL;
}

/* The trace of the base with the predicted program, whose events have the same numbers, so that
 * code places stay. */
static int save(const struct predict_opts *o, const struct tp_recordings *all,
                const struct tp_predict_asking *q, struct tp_predict_answer *a, FILE *out,
                struct tp_err *err)
{
    const struct tp_sample_run *base = a->prediction.recordings[a->prediction.base];
    struct tp_trace *t = &all->list[base - all->list].trace;
    struct tp_program *recorded = t->program;
    const struct tp_saving saving = {.writer = writer_of(o->output),
                                     .trace = t,
                                     .path = o->output,
                                     .device = -1,
                                     .force = o->exports.force};
    int rc = describe(t, q, err);
    t->program = a->program;
    if (rc == TP_OK)
        rc = tp_trace_save(&saving, out, err);
    t->program = recorded;
    return rc;
}

static int check_output(const struct predict_opts *o, struct tp_err *err)
{
    if (!o->output)
        return TP_OK;
    if (!o->at && !o->check)
        return tp_fail(err, TP_EUSAGE, "--output needs --at, the value that is predicted");
    if (!writer_of(o->output))
        return tp_fail(err, TP_EUSAGE, "'%s' does not end in .tpt, .json or .jsonl", o->output);
    return tp_output_check(o->output, o->exports.force, err);
}

/* ---- the whole ---- */

static void print_text(const void *of, struct tp_page *page)
{
    tp_predict_text(((const struct tp_predict_page *)of)->report, page);
}

static cJSON *predict_tree(struct tp_json *j, const void *of)
{
    return tp_predict_tree(j, ((const struct tp_predict_page *)of)->report, SIZE_MAX);
}

static int write_svg(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_predict_page *p = of;
    const struct predict_opts *o = p->opts;
    struct tp_predict_chart c;
    int rc = tp_predict_chart_make(p->report, &c, err);
    if (rc == TP_OK) {
        uint32_t height = tp_chart_height(&c.chart);
        tp_svg_begin(o->exports.theme, c.chart.title, height, out);
        tp_svg_paper(height, out);
        tp_chart_write(&c.chart, out);
        tp_svg_end(NULL, height, out);
    }
    tp_predict_chart_drop(&c);
    return rc;
}

static const struct tp_exporter predict_text = {.name = "text", .print = print_text};
static const struct tp_exporter predict_svg = {.name = "svg", .write = write_svg};
static const struct tp_exporter predict_html = {
    .name = "html", .write = tp_predict_page, .check = tp_html_check};
static const struct tp_exporters predict_exporters =
    TP_EXPORT_TABLE(predict, EXPORTS, predict_tree);

static int refuse(const struct tp_predict_report *r, struct tp_err *err)
{
    struct tp_str advice = {0};
    if (r->totals) {
        struct tp_str why = {0};
        tp_predict_totals_fail(r->totals, &why);
        tp_fail(err, TP_EINPUT,
                "the recordings differ in too many allocations to be aligned, and totals of their "
                "allocation sites %s",
                tp_str_text(&why));
        tp_str_drop(&why);
    }
    tp_predict_advice(r, &advice);
    err->status = TP_EINPUT;
    tp_hint(err, TP_EINPUT, "%s", tp_str_text(&advice));
    tp_str_drop(&advice);
    return TP_EINPUT;
}

/* ---- asking ---- */

static bool is_refused(int rc, const struct tp_predict_answer *a)
{
    return rc == TP_EUNSUP || (rc == TP_OK && !a->sound);
}

static int ask_again(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                     struct tp_err *err)
{
    tp_predict_answer_release(a);
    return tp_predict_ask(q, a, err);
}

/* Recordings that do not agree as a whole may do so in their steps: they begin and end elsewhere,
 * or warm up in another way. If they do not, it is the whole of which is said why. */
static int ask(const struct predict_opts *o, struct tp_recordings *all, struct tp_predict_asking *q,
               struct tp_predict_answer *a, struct tp_err *err)
{
    *a = (struct tp_predict_answer){.sound = false};
    int rc = tp_recordings_begin_late(all) ? tp_recordings_cut(all, true, &q->steps, err) : TP_OK;
    if (rc == TP_OK)
        rc = tp_predict_ask(q, a, err);
    if (is_refused(rc, a) && !q->steps) {
        struct tp_err whole = *err;
        int cut = tp_recordings_cut(all, false, &q->steps, err);
        if (cut == TP_OK && !q->steps)
            *err = whole;
        if (cut != TP_OK)
            rc = cut;
        else if (q->steps)
            rc = ask_again(q, a, err);
    }
    if (!is_refused(rc, a) || !q->steps)
        return rc;
    q->steps = 0;
    rc = tp_recordings_open_again(all, &o->open, err);
    return rc == TP_OK ? ask_again(q, a, err) : rc;
}

/* Programs of the host make other requests by each run: threads and hash seeds see to that. */
static bool may_total(const struct tp_predict_asking *q)
{
    return q->n && !q->capacity && q->target.count == 1 && q->count >= TP_TOTALS_LEAST &&
           tp_program_facts(q->recordings[0]->trace.program)->kind == TP_KIND_HOST;
}

static bool draws(const struct predict_opts *o)
{
    return tp_exports_asked(&o->exports, predict_index_svg) ||
           tp_exports_asked(&o->exports, predict_index_html);
}

/* Where there is nothing to draw, what is printed still says why. */
static int check_drawn(const struct predict_opts *o, const struct tp_predict_page *p, FILE *out,
                       struct tp_err *err)
{
    int rc = draws(o) ? tp_predict_chart_check(p->report, err) : TP_OK;
    if (rc != TP_OK && o->exports.format == predict_index_text)
        tp_exports_print(&o->exports, &predict_exporters, p, out, err);
    return rc;
}

static int write_report(const struct tp_args *args, const struct tp_predict_report *r, FILE *out,
                        struct tp_err *err)
{
    const struct predict_opts *o = args->opts;
    const struct tp_predict_page page = {.report = r,
                                         .exact = o->exports.bytes,
                                         .words = args->words,
                                         .word_count = (size_t)args->count,
                                         .rows = rows,
                                         .opts = o};
    bool totals = r->totals && r->totals->sound;
    if (totals && o->output)
        return tp_fail(err, TP_EINPUT,
                       "no trace to write: the recordings do not make the same "
                       "requests, and only totals are predicted");
    int rc = check_drawn(o, &page, out, err);
    if (rc == TP_OK)
        rc = tp_exports_write(&o->exports, &predict_exporters, &page, out, err);
    if (rc == TP_OK && !r->answer->sound && !totals)
        rc = tp_fail(err, TP_EINPUT, "no prediction: %s", tp_predict_why(r->answer));
    return rc;
}

/* A value at which totals say nothing has no point. */
static int find_totals(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                       struct tp_site_totals *out, struct tp_err *err)
{
    int rc = tp_site_totals_find(q->recordings, q->count, q->n, out, err);
    if (rc != TP_OK || !q->curve || !out->sound)
        return rc;
    tp_predict_values(q, a);
    for (size_t i = 0; rc == TP_OK && i < a->point_count; i++) {
        struct tp_site_totals one;
        rc = tp_site_totals_find(q->recordings, q->count, a->points[i].n, &one, err);
        a->points[i].requested = rc == TP_OK && one.sound ? one.bytes : TP_NONE;
        tp_site_totals_release(&one);
        rc = rc == TP_EINPUT ? TP_OK : rc; /* too large */
    }
    return rc;
}

static int answer(const struct tp_args *args, struct tp_recordings *all,
                  struct tp_predict_asking *q, FILE *out, struct tp_err *err)
{
    const struct predict_opts *o = args->opts;
    struct tp_predict_answer a;
    struct tp_site_totals totals = {.sound = false};
    struct tp_progress_line line;
    q->progress = &line;
    tp_progress_start(&line, "replays");
    int rc = ask(o, all, q, &a, err);
    tp_progress_clear(&line);
    bool total = is_refused(rc, &a) && may_total(q);
    struct tp_err apart = *err;
    int found = total ? find_totals(q, &a, &totals, err) : TP_OK;
    if (found == TP_OK && total && !totals.sound)
        *err = apart;
    const struct tp_predict_report report = {q, &a, total ? &totals : NULL,
                                             a.sound ? o->output : NULL};
    if (found != TP_OK || totals.sound)
        rc = found;
    else if (rc == TP_EUNSUP)
        rc = refuse(&report, err);
    if (rc == TP_OK && a.sound && o->output)
        rc = save(o, all, q, &a, out, err);
    if (rc == TP_OK)
        rc = write_report(args, &report, out, err);
    tp_site_totals_release(&totals);
    tp_predict_answer_release(&a);
    return rc;
}

/* The setting that --at leaves open, for --fits; the first one where all are given. */
static int find_axis(const struct predict_opts *o, const struct tp_recordings *all,
                     struct tp_predict_asking *q, struct tp_err *err)
{
    const struct tp_sample_run *first = &all->list[0];
    size_t open = 0;
    q->target.count = first->at.count;
    for (size_t i = first->at.count; i-- > 0;)
        if (!q->target.values[i]) {
            q->axis = i;
            open++;
        }
    q->n = open ? 0 : q->target.values[0];
    if (!open || (open == 1 && o->fits))
        return TP_OK;
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "--at has no value of '%s'", first->axes[q->axis]),
                   "with --fits one setting may be left out: the largest value of it is found");
}

static int find_value(const struct predict_opts *o, struct tp_recordings *all,
                      struct tp_predict_asking *q, struct tp_err *err)
{
    int rc = o->at ? tp_recordings_value(all, "--at", o->at, &q->target, err) : TP_OK;
    if (rc == TP_OK && o->check)
        rc = tp_recordings_real(all, o->check, err);
    if (rc == TP_OK && o->check && !o->at)
        q->target = all->real.at;
    if (rc == TP_OK && o->check && memcmp(&q->target, &all->real.at, sizeof q->target) != 0)
        rc = tp_fail(err, TP_EUSAGE, "--at and --check have different values");
    if (rc == TP_OK)
        rc = find_axis(o, all, q, err);
    if (rc != TP_OK)
        return rc;
    if (o->output && !q->n)
        return tp_fail(err, TP_EUSAGE, "--output needs --at with a value of '%s'",
                       all->list[0].axes[q->axis] ? all->list[0].axes[q->axis] : "the setting");
    tp_recordings_order(all, q->axis);
    if (!q->n)
        q->target.values[q->axis] = all->by_value[all->count - 1]->n;
    return rc;
}

struct tried_settings {
    struct tp_texts texts;
    const char **list; /* owned; of the texts */
};

/* Settings that are worth a try: tune's, without those that harm, that this release lacks, or that
 * do nothing on a device without a limit. */
static int find_settings(const struct tp_trace *t, struct tried_settings *tried,
                         struct tp_predict_asking *q, struct tp_err *err)
{
    const struct tp_meta *m = &t->meta;
    const struct tp_tunable *target = tp_tunable_of(t->recorded.by);
    const struct tp_tune_whose whose = {target, m->allocator_device, true};
    bool older = tp_tunable_is_older(target, m->allocator_release);
    int rc = TP_OK;
    for (const char *const *grid = target->usual; rc == TP_OK && *grid; grid++)
        rc = tp_tunable_add(&tried->texts, *grid, whose, err);
    tried->list = calloc(tried->texts.count + 1, sizeof *tried->list);
    if (rc == TP_OK && !tried->list)
        rc = tp_fail(err, TP_ENOMEM, "out of memory for the settings");
    for (uint32_t i = 0; rc == TP_OK && i < tried->texts.count; i++) {
        const char *conf = tp_texts_get(&tried->texts, i);
        if (!tp_tunable_danger(target, conf, m->allocator_device) &&
            !tp_tunable_needs_size(target, conf) &&
            !(older && tp_tunable_newer(target, conf, m->allocator_device)))
            tried->list[q->setting_count++] = conf;
    }
    q->settings = tried->list;
    return rc;
}

static int check_words(const struct tp_args *args, struct tp_err *err)
{
    const struct predict_opts *o = args->opts;
    if (args->count < 2)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "predict takes two or more recordings of a program"),
                       "tapool predict b2.pickle@batch=2 b4.pickle@batch=4 --at 32");
    if (!o->at && !o->fits && !o->check)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "predict needs --at VALUE or --fits SIZE"),
                       "--at 1024 predicts the memory there, --fits 24GiB the largest value that "
                       "fits");
    int rc = check_output(o, err);
    for (int i = 0; rc == TP_OK && o->output && predict_words[i]; i++)
        if (o->exports.files[i] && !strcmp(o->exports.files[i], o->output))
            rc = tp_fail(err, TP_EUSAGE, "--output and --export-%s name the same file",
                         predict_words[i]);
    return rc == TP_OK ? tp_exports_check(&o->exports, &predict_exporters, NULL, err) : rc;
}

/* What fits is found by replays of the recorded allocator. */
static int check_fits(const struct predict_opts *o, const struct tp_recordings *all,
                      struct tp_err *err)
{
    const struct tp_sample_run *first = &all->list[0];
    if (!o->fits || tp_program_facts(first->trace.program)->kind == TP_KIND_DEVICE)
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EINPUT,
                           "%s: --fits needs a GPU trace, and this one is of a host",
                           first->trace.file),
                   "--at VALUE predicts what the program requests");
}

static int run_predict(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct predict_opts *o = args->opts;
    struct tp_recordings all = {0};
    struct tried_settings tried = {0};
    struct tp_predict_asking q = {.capacity = o->fits,
                                  .step = o->step,
                                  .memory = o->open.max_memory,
                                  .curve = o->curve || draws(o)};
    int rc = check_words(args, err);
    if (rc == TP_OK)
        rc = tp_recordings_name(&all, args->words, (size_t)args->count, err);
    if (rc == TP_OK)
        rc = find_value(o, &all, &q, err);
    if (rc == TP_OK)
        rc = tp_recordings_open(&all, &o->open, err);
    if (rc == TP_OK)
        rc = check_fits(o, &all, err);
    if (rc == TP_OK)
        rc = find_settings(&all.list[0].trace, &tried, &q, err);
    q.recordings = all.by_value;
    q.count = all.count;
    q.real = o->check ? &all.real : NULL;
    if (rc == TP_OK)
        rc = answer(args, &all, &q, out, err);
    tp_recordings_close(&all);
    tp_texts_release(&tried.texts);
    free(tried.list);
    return rc;
}

const struct tp_command tp_command_predict = {
    .name = "predict",
    .usage = "predict FILE@VALUE FILE@VALUE... --at VALUE [OPTION]...",
    .summary = "predict memory at a batch size or length from recordings at smaller ones",
    .about =
        "Predict the memory of a program at a value of a setting, such as batch size or context "
        "length, from two or more recordings at other values. Requests are aligned by call "
        "stack, each size gets a law (constant, n, n^2, a + k n), and the program is replayed at "
        "the value. Recordings that share less than 99% of the requested bytes are refused (exit "
        "code 3). Limits: tapool help snapshots predict.\n\n"
        "  tapool predict ctx128.pickle@128 ctx256.pickle@256 --at 1024\n"
        "  tapool predict b2.pickle@batch=2 b4.pickle@batch=4 --fits 24GiB\n"
        "  tapool predict b2.pickle@2 b4.pickle@4 --check 8=b8.pickle",
    .opts_size = sizeof(struct predict_opts),
    .options = rows,
    .run = run_predict,
};
