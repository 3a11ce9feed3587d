/* tapool predict: what a program will need at a value of a setting at which it was not recorded. */
#include "cmd/cli/commands.h"
#include "cmd/measure/open_trace.h"
#include "cmd/measure/save_trace.h"
#include "cmd/predict/predict_text.h"
#include "cmd/predict/run_steps.h"
#include "cmd/tune/grid.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/output.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include "alloc/strategies/torch/torch_rules.h"

#include <stdlib.h>
#include <string.h>

struct predict_opts {
    struct tp_open_opts open;
    struct tp_exports exports;
    char *at, *check, *output;
    uint64_t fits, step;
    bool bytes, curve;
};

enum { FORMAT_TEXT, FORMAT_JSON };
static const char *const format_words[] = {"text", "json", NULL};

#define ROW(member) offsetof(struct predict_opts, member)
static const struct tp_opt rows[] = {
    TP_TEXT_AT("at", ROW(at), .from = TP_OPT_USER, .arg = "VALUE",
               .help = "value of the setting that is predicted: 1024, or batch=32"),
    TP_SIZE_AT("fits", ROW(fits), .def = "0", .max = UINT64_C(1) << 60,
               .help = "find the largest value that fits a device of this size; 0 does not"),
    TP_TEXT_AT("check", ROW(check), .from = TP_OPT_USER, .arg = "VALUE=FILE",
               .help = "predict at VALUE and compare with a recording made there"),
    TP_FLAG_AT("curve", ROW(curve), .help = "memory at values from the smallest recording on, too"),
    TP_UINT_AT("step", ROW(step), .def = "0", .max = TP_LAW_N_MOST,
               .help = "with --fits, values are multiples of it; 0 is an eighth of the greatest "
                       "common divisor of the recorded values"),
    TP_OUTPUT_ROW(ROW(output),
                  "write the predicted trace, for replay and tune: .tpt, .json or .jsonl"),
    TP_FORMAT_ROW(struct predict_opts, format_words, "what is printed"),
    TP_JSON_ROW(struct predict_opts),
    TP_EXPORT_ROW(struct predict_opts, FORMAT_JSON - 1, "json", "write the JSON to FILE as well"),
    TP_FORCE_ROW(ROW(exports.force)),
    TP_BYTES_ROW(ROW(bytes)),
    TP_OPEN_ROWS(struct predict_opts),
    {.name = NULL}};

/* ---- the recordings ---- */

struct recordings {
    struct tp_sample_run real;             /* what --check names */
    struct tp_texts settings;              /* that are tried */
    const char **setting_list;             /* owned; of their texts */
    struct tp_sample_run *list;            /* owned */
    const struct tp_sample_run **by_value; /* owned; points into the list */
    size_t count;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the recordings");
}

static int by_value(const void *a, const void *b)
{
    const struct tp_sample_run *x = *(const struct tp_sample_run *const *)a;
    const struct tp_sample_run *y = *(const struct tp_sample_run *const *)b;
    return x->n < y->n ? -1 : x->n > y->n;
}

/* Puts values in the order of the names of the first recording; what is not given becomes 0. */
static int match_names(struct tp_axis_values *at, char *axes[TP_AXES],
                       const struct tp_sample_run *first, const char *whose, struct tp_err *err)
{
    struct tp_axis_values in_order = {.count = first->at.count};
    char *names[TP_AXES] = {NULL};
    for (size_t i = 0; i < at->count; i++) {
        size_t k = 0;
        if (!axes[i] && in_order.count > 1)
            return tp_fail(err, TP_EUSAGE, "%s has a value without a name, as in %s=%llu", whose,
                           first->axes[0], (unsigned long long)at->values[i]);
        while (k < in_order.count && axes[i] &&
               (!first->axes[k] || strcmp(axes[i], first->axes[k]) != 0))
            k++;
        if (k == in_order.count)
            return tp_fail(err, TP_EUSAGE, "%s names '%s', %s %s%s%s", whose, axes[i], first->path,
                           first->axes[0] ? "'" : "nothing", first->axes[0] ? first->axes[0] : "",
                           first->axes[0] ? "'" : "");
        in_order.values[k] = at->values[i];
        names[k] = axes[i];
    }
    *at = in_order;
    memcpy(axes, names, sizeof names);
    return TP_OK;
}

static int lacks_value(const struct tp_axis_values *at, const struct tp_sample_run *first,
                       const char *whose, struct tp_err *err)
{
    for (size_t i = 0; i < at->count; i++)
        if (!at->values[i])
            return tp_fail(err, TP_EUSAGE, "%s has no value of '%s'", whose, first->axes[i]);
    return TP_OK;
}

static int check_pairs(const struct recordings *all, struct tp_err *err)
{
    for (size_t i = 1; i < all->count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct tp_sample_run *a = &all->list[i], *b = &all->list[k];
            if (!memcmp(&a->at, &b->at, sizeof a->at))
                return tp_fail(err, TP_EUSAGE, "%s and %s are both at %s", b->path, a->path,
                               tp_axis_text(&a->at, a->axes).s);
        }
    return TP_OK;
}

/* Of several settings each must vary, or nothing tells how memory grows with it. */
static int check_each_varies(const struct recordings *all, struct tp_err *err)
{
    const struct tp_sample_run *first = &all->list[0];
    for (size_t axis = 0; axis < first->at.count; axis++) {
        bool varies = false;
        for (size_t i = 1; i < all->count; i++)
            varies |= all->list[i].at.values[axis] != first->at.values[axis];
        if (!varies)
            return tp_fail(err, TP_EUSAGE, "all recordings are at %s %s: record at %s %s, too",
                           first->axes[axis], tp_count(first->at.values[axis]).s, first->axes[axis],
                           tp_count(2 * first->at.values[axis]).s);
    }
    return TP_OK;
}

static int check_values(struct recordings *all, struct tp_err *err)
{
    const struct tp_sample_run *first = &all->list[0];
    int rc = all->count > TP_LAW_POINTS
                 ? tp_fail(err, TP_EUSAGE, "predict takes up to %d recordings", TP_LAW_POINTS)
                 : TP_OK;
    for (size_t i = 1; rc == TP_OK && i < all->count; i++) {
        struct tp_sample_run *r = &all->list[i];
        if (!r->axes[0] != !first->axes[0])
            return tp_fail(err, TP_EUSAGE, "%s and %s name different settings", first->path,
                           r->path);
        rc = match_names(&r->at, r->axes, first, r->path, err);
        if (rc == TP_OK)
            rc = lacks_value(&r->at, first, r->path, err);
    }
    if (rc == TP_OK)
        rc = check_pairs(all, err);
    return rc == TP_OK && first->at.count > 1 ? check_each_varies(all, err) : rc;
}

static int open_one(struct tp_sample_run *r, const struct predict_opts *o,
                    const struct tp_trace *first, struct tp_err *err)
{
    const struct tp_trace *t = &r->trace;
    int rc = tp_open_trace(r->path, &o->open, false, &r->trace, err);
    r->open = rc == TP_OK;
    r->stop = tp_stop_asked;
    if (rc == TP_OK)
        rc = tp_sample_run_list(r, err);
    if (rc != TP_OK || tp_program_facts(t->program)->kind == tp_program_facts(first->program)->kind)
        return rc;
    return tp_fail(err, TP_EINPUT, "%s is a %s trace, %s a %s trace", first->file,
                   first->meta.kind == TP_KIND_DEVICE ? "device" : "host", t->file,
                   t->meta.kind == TP_KIND_DEVICE ? "device" : "host");
}

static int name_all(const struct tp_args *args, struct recordings *all, struct tp_err *err)
{
    size_t count = (size_t)args->count;
    all->list = calloc(count, sizeof *all->list);
    all->by_value = calloc(count, sizeof *all->by_value);
    int rc = all->list && all->by_value ? TP_OK : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        all->by_value[all->count] = &all->list[i];
        rc = tp_sample_run_name(&all->list[all->count++], args->words[i], err);
    }
    if (rc != TP_OK)
        return rc;
    return check_values(all, err);
}

static int open_all(const struct predict_opts *o, struct recordings *all, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < all->count; i++)
        rc = open_one(&all->list[i], o, &all->list[0].trace, err);
    return rc == TP_OK && o->check ? open_one(&all->real, o, &all->list[0].trace, err) : rc;
}

static void close_all(struct recordings *all)
{
    for (size_t i = 0; i < all->count; i++)
        tp_sample_run_close(&all->list[i]);
    tp_sample_run_close(&all->real);
    tp_texts_release(&all->settings);
    free(all->setting_list);
    free(all->list);
    free(all->by_value);
}

/* ---- the trace ---- */

/* Says in the trace that nobody recorded it. The figures of the recorded allocator were those of
 * another run. */
static int describe(struct tp_trace *t, const struct tp_predict_asking *q, struct tp_err *err)
{
    struct tp_str from = {0};
    tp_predict_sources(q, &from);
    tp_meta_remark(&t->meta, "Predicted at %s, not recorded: from %s.",
                   tp_axis_text(&q->target, q->recordings[0]->axes).s, tp_str_text(&from));
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
static int save(const struct predict_opts *o, const struct recordings *all,
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

static int print(const struct tp_predict_report *r, const struct predict_opts *o, FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    page.exact = o->bytes;
    tp_predict_text(r, &page);
    return TP_OK;
}

struct written {
    const struct tp_predict_report *report;
    const struct predict_opts *opts;
};

static int write_as(const void *of, uint32_t format, FILE *out, struct tp_err *err)
{
    const struct written *w = of;
    return format == FORMAT_JSON ? tp_predict_json(w->report, out, err)
                                 : print(w->report, w->opts, out);
}

static int refuse(const struct tp_predict_asking *q, struct tp_err *err)
{
    struct tp_str advice = {0};
    tp_predict_advice(q, &advice);
    err->status = TP_EINPUT;
    tp_hint(err, TP_EINPUT, "%s", tp_str_text(&advice));
    tp_str_drop(&advice);
    return TP_EINPUT;
}

/* ---- steps ---- */

/* Whole steps of all recordings; 0: of one of them none is known. */
static size_t common_steps(const struct tp_steps *steps, size_t count)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        least = steps[i].count < least ? steps[i].count : least;
    return least ? least - 1 : 0;
}

static int find_steps(const struct recordings *all, struct tp_steps *steps, bool *midway,
                      struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < all->count; i++) {
        rc = tp_steps_find(&all->list[i], &steps[i], err);
        *midway |= steps[i].midway;
    }
    return rc;
}

/* What was live before the recording began tells that it may begin inside a step. */
static bool any_initial(const struct recordings *all)
{
    bool some = false;
    for (size_t i = 0; i < all->count; i++)
        some |= all->list[i].initial > 0;
    return some;
}

/* Cuts the last steps that all have out of each recording: where it begins in the middle of a step,
 * and, unless `only_midway`, in every case. */
static int cut_steps(struct recordings *all, bool only_midway, size_t *cut, struct tp_err *err)
{
    struct tp_steps *steps = calloc(all->count, sizeof *steps);
    bool midway = false;
    int rc = steps ? find_steps(all, steps, &midway, err) : no_memory(err);
    size_t keep = rc == TP_OK && (midway || !only_midway) ? common_steps(steps, all->count) : 0;
    for (size_t i = 0; rc == TP_OK && keep && i < all->count; i++) {
        const uint64_t *last = &steps[i].after[steps[i].count - 1];
        rc = tp_sample_run_cut(&all->list[i], last[-(ptrdiff_t)keep], *last, tp_trace_cut, err);
    }
    for (size_t i = 0; steps && i < all->count; i++)
        tp_steps_release(&steps[i]);
    free(steps);
    *cut = keep;
    return rc;
}

static int open_again(const struct predict_opts *o, struct recordings *all, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; i < all->count; i++)
        tp_sample_run_forget(&all->list[i]);
    for (size_t i = 0; rc == TP_OK && i < all->count; i++)
        rc = open_one(&all->list[i], o, &all->list[0].trace, err);
    return rc;
}

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
static int ask(const struct predict_opts *o, struct recordings *all, struct tp_predict_asking *q,
               struct tp_predict_answer *a, struct tp_err *err)
{
    *a = (struct tp_predict_answer){.sound = false};
    int rc = any_initial(all) ? cut_steps(all, true, &q->steps, err) : TP_OK;
    if (rc == TP_OK)
        rc = tp_predict_ask(q, a, err);
    if (is_refused(rc, a) && !q->steps) {
        struct tp_err whole = *err;
        int cut = cut_steps(all, false, &q->steps, err);
        if (cut == TP_OK && !q->steps)
            *err = whole;
        rc = cut != TP_OK ? cut : q->steps ? ask_again(q, a, err) : rc;
    }
    if (!is_refused(rc, a) || !q->steps)
        return rc;
    q->steps = 0;
    rc = open_again(o, all, err);
    return rc == TP_OK ? ask_again(q, a, err) : rc;
}

/* Programs of the host make other requests by each run: threads and hash seeds see to that. */
static bool may_total(const struct tp_predict_asking *q)
{
    return q->n && !q->capacity && q->target.count == 1 && q->count >= TP_TOTALS_LEAST &&
           tp_program_facts(q->recordings[0]->trace.program)->kind == TP_KIND_HOST;
}

static int write_report(const struct predict_opts *o, const struct tp_predict_report *r, FILE *out,
                        struct tp_err *err)
{
    const struct written w = {r, o};
    bool totals = r->totals && r->totals->sound;
    if (totals && o->output)
        return tp_fail(err, TP_EINPUT,
                       "no trace to write: the recordings do not make the same "
                       "requests, and only totals are predicted");
    int rc = tp_exports_all(&o->exports, format_words, write_as, &w, out, err);
    if (rc == TP_OK && !r->answer->sound && !totals)
        rc = tp_fail(err, TP_EINPUT, "no prediction: the recordings do not make the same requests");
    return rc;
}

static int answer(const struct predict_opts *o, struct recordings *all, struct tp_predict_asking *q,
                  FILE *out, struct tp_err *err)
{
    struct tp_predict_answer a;
    struct tp_site_totals totals = {.sound = false};
    int rc = ask(o, all, q, &a, err);
    bool total = is_refused(rc, &a) && may_total(q);
    struct tp_err apart = *err;
    int found = total ? tp_site_totals_find(q->recordings, q->count, q->n, &totals, err) : TP_OK;
    if (found == TP_OK && total && !totals.sound)
        *err = apart;
    rc = found != TP_OK || totals.sound ? found : rc == TP_EUNSUP ? refuse(q, err) : rc;
    if (rc == TP_OK && a.sound && o->output)
        rc = save(o, all, q, &a, out, err);
    const struct tp_predict_report report = {q, &a, total ? &totals : NULL,
                                             a.sound ? o->output : NULL};
    if (rc == TP_OK)
        rc = write_report(o, &report, out, err);
    tp_site_totals_release(&totals);
    tp_predict_answer_release(&a);
    return rc;
}

static int read_value(const char *option, const char *text, const struct recordings *all,
                      struct tp_axis_values *at, struct tp_err *err)
{
    char *axes[TP_AXES] = {NULL};
    int rc = tp_axis_read(text, at, axes, err);
    if (rc == TP_OK)
        rc = match_names(at, axes, &all->list[0], option, err);
    for (size_t i = 0; i < TP_AXES; i++)
        free(axes[i]);
    return rc;
}

/* Where VALUE ends in VALUE=FILE, either of which may have '=': behind the last number that a ','
 * does not follow. */
static const char *end_of_value(const char *text)
{
    const char *at = text;
    for (;;) {
        at += *at >= '0' && *at <= '9' ? 0 : strcspn(at, "=,");
        at += *at == '=';
        at += strspn(at, "0123456789");
        if (*at != ',')
            return *at == '=' ? at : NULL;
        at++;
    }
}

static int name_real(const char *text, struct recordings *all, struct tp_err *err)
{
    const char *end = end_of_value(text);
    if (!end || !end[1])
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--check takes VALUE=FILE, not '%s'", text),
                       "--check 1024=real.pickle");
    char *value = strndup(text, (size_t)(end - text));
    all->real.path = strdup(end + 1);
    int rc = value && all->real.path ? read_value("--check", value, all, &all->real.at, err)
                                     : no_memory(err);
    free(value);
    return rc == TP_OK ? lacks_value(&all->real.at, &all->list[0], "--check", err) : rc;
}

/* The setting that --at leaves open, for --fits; the first one where all are given. */
static int find_axis(const struct predict_opts *o, const struct recordings *all,
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

/* Orders the recordings along the setting that is looked along. */
static void order(struct recordings *all, struct tp_predict_asking *q)
{
    for (size_t i = 0; i < all->count; i++)
        all->list[i].n = all->list[i].at.values[q->axis];
    qsort(all->by_value, all->count, sizeof *all->by_value, by_value);
    if (!q->n)
        q->target.values[q->axis] = all->by_value[all->count - 1]->n;
    all->real.n = all->real.at.values[q->axis];
}

static int find_value(const struct predict_opts *o, struct recordings *all,
                      struct tp_predict_asking *q, struct tp_err *err)
{
    int rc = o->at ? read_value("--at", o->at, all, &q->target, err) : TP_OK;
    if (rc == TP_OK && o->check)
        rc = name_real(o->check, all, err);
    if (rc == TP_OK && o->check && !o->at)
        q->target = all->real.at;
    if (rc == TP_OK && o->check && memcmp(&q->target, &all->real.at, sizeof q->target) != 0)
        rc = tp_fail(err, TP_EUSAGE, "--at and --check have different values");
    if (rc == TP_OK)
        rc = find_axis(o, all, q, err);
    if (rc == TP_OK)
        order(all, q);
    return rc;
}

/* Settings that are worth a try: tune's, without those that harm, that this release lacks, or that
 * do nothing on a device without a limit. */
static int find_settings(struct recordings *all, struct tp_predict_asking *q, struct tp_err *err)
{
    const struct tp_trace *t = &all->list[0].trace;
    const struct tp_meta *m = &t->meta;
    const struct tp_grid_target *target = tp_grid_target(t->recorded.by);
    const struct tp_grid_whose whose = {target, m->allocator_device, true};
    bool older = tp_torch_is_before(m->allocator_release, 2, 11);
    int rc = TP_OK;
    for (const char *const *grid = target->usual; rc == TP_OK && *grid; grid++)
        rc = tp_grid_add(&all->settings, *grid, whose, err);
    all->setting_list = calloc(all->settings.count + 1, sizeof *all->setting_list);
    if (rc == TP_OK && !all->setting_list)
        rc = no_memory(err);
    for (uint32_t i = 0; rc == TP_OK && i < all->settings.count; i++) {
        const char *conf = tp_texts_get(&all->settings, i);
        if (!target->danger(conf, m->allocator_device) &&
            !tp_grid_has(conf, "garbage_collection_threshold:") &&
            !(older && tp_grid_newer(conf, m->allocator_device)))
            all->setting_list[q->setting_count++] = conf;
    }
    q->settings = all->setting_list;
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
    return rc == TP_OK ? tp_exports_look(&o->exports, format_words, err) : rc;
}

static int run_predict(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct predict_opts *o = args->opts;
    struct recordings all = {0};
    struct tp_predict_asking q = {
        .capacity = o->fits, .step = o->step, .memory = o->open.max_memory, .curve = o->curve};
    int rc = check_words(args, err);
    if (rc == TP_OK)
        rc = name_all(args, &all, err);
    if (rc == TP_OK)
        rc = find_value(o, &all, &q, err);
    if (rc == TP_OK)
        rc = open_all(o, &all, err);
    if (rc == TP_OK)
        rc = find_settings(&all, &q, err);
    q.recordings = all.by_value;
    q.count = all.count;
    q.real = o->check ? &all.real : NULL;
    if (rc == TP_OK)
        rc = answer(o, &all, &q, out, err);
    close_all(&all);
    return rc;
}

const struct tp_command tp_command_predict = {
    .name = "predict",
    .usage = "predict FILE@VALUE FILE@VALUE... --at VALUE [OPTION]...",
    .summary = "predict memory at a batch size or length from recordings at smaller ones",
    .about =
        "Takes two or more recordings of one program, each at another value of a setting such as "
        "batch size or context length. Aligns their requests by call stack, finds how the size of "
        "each grows (constant, n, n^2, a + k n), and replays the program at the value of --at: "
        "peak requested, peak reserved under the recorded setting and the best of those that tune "
        "tries, and the sites that grow.\n\n"
        "Refuses to answer if the recordings do not make the same requests for 99% of their "
        "bytes: exit code 3, with the call stacks that differ. With three or more recordings each "
        "is predicted from the others, and the error is printed.\n\n"
        "  tapool predict ctx128.pickle@128 ctx256.pickle@256 --at 1024\n"
        "  tapool predict b2.pickle@batch=2 b4.pickle@batch=4 --fits 24GiB\n"
        "  tapool predict b2.pickle@2 b4.pickle@4 --check 8=b8.pickle",
    .opts_size = sizeof(struct predict_opts),
    .options = rows,
    .run = run_predict,
};
