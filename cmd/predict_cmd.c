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

static bool same_axis(const char *one, const char *other)
{
    return !one == !other && (!one || !strcmp(one, other));
}

static int check_values(const struct recordings *all, struct tp_err *err)
{
    for (size_t i = 1; i < all->count; i++) {
        const struct tp_sample_run *r = all->by_value[i], *before = all->by_value[i - 1];
        if (!same_axis(r->axis, before->axis))
            return tp_fail(err, TP_EUSAGE, "%s and %s name different settings", before->path,
                           r->path);
        if (r->n == before->n)
            return tp_fail(err, TP_EUSAGE, "%s and %s are both at %s", before->path, r->path,
                           tp_count(r->n).s);
    }
    return TP_OK;
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
        rc = tp_sample_run_name(&all->list[all->count++], args->words[i], TP_LAW_N_MOST, err);
    }
    if (rc != TP_OK)
        return rc;
    qsort(all->by_value, count, sizeof *all->by_value, by_value);
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
    tp_meta_remark(&t->meta, "Predicted at %s, not recorded: from %s.", tp_count(q->n).s,
                   tp_str_text(&from));
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
        rc = tp_steps_find(all->list[i].trace.program, &steps[i], err);
        *midway |= steps[i].midway;
    }
    return rc;
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
    return rc == TP_EUNSUP || (rc == TP_OK && !a->sound && !a->by_totals);
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
    int rc = cut_steps(all, true, &q->steps, err);
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

static int answer(const struct predict_opts *o, struct recordings *all, struct tp_predict_asking *q,
                  FILE *out, struct tp_err *err)
{
    struct tp_predict_answer a;
    int rc = ask(o, all, q, &a, err);
    if (rc == TP_EUNSUP)
        rc = refuse(q, err);
    if (rc == TP_OK && a.sound && o->output)
        rc = save(o, all, q, &a, out, err);
    if (rc == TP_OK && a.by_totals && o->output)
        rc = tp_fail(err, TP_EINPUT,
                     "no trace to write: the recordings do not make the same "
                     "requests, and only totals are predicted");
    const struct tp_predict_report report = {q, &a, rc == TP_OK && a.sound ? o->output : NULL};
    const struct written w = {&report, o};
    if (rc == TP_OK)
        rc = tp_exports_all(&o->exports, format_words, write_as, &w, out, err);
    if (rc == TP_OK && !a.sound && !a.by_totals)
        rc = tp_fail(err, TP_EINPUT, "no prediction: the recordings do not make the same requests");
    tp_predict_answer_release(&a);
    return rc;
}

static int read_value(const char *option, const char *text, const struct recordings *all,
                      uint64_t *n, struct tp_err *err)
{
    const char *own = all->list[0].axis;
    char *axis = NULL;
    int rc = tp_sample_run_value(text, TP_LAW_N_MOST, n, &axis, err);
    if (rc == TP_OK && axis && (!own || strcmp(axis, own) != 0))
        rc = tp_fail(err, TP_EUSAGE, "--%s names '%s', the recordings %s%s%s", option, axis,
                     own ? "'" : "nothing", own ? own : "", own ? "'" : "");
    free(axis);
    return rc;
}

/* The value may have '=' itself, and so may the file: the first '=' behind a value is taken. */
static const char *end_of_value(const char *text)
{
    const char *name = strpbrk(text, "=");
    bool named = name && (*text < '0' || *text > '9');
    return named ? strchr(name + 1, '=') : name;
}

static int name_real(const char *text, struct recordings *all, uint64_t *n, struct tp_err *err)
{
    const char *end = end_of_value(text);
    if (!end || !end[1])
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--check takes VALUE=FILE, not '%s'", text),
                       "--check 1024=real.pickle");
    char *value = strndup(text, (size_t)(end - text));
    all->real.path = strdup(end + 1);
    int rc = value && all->real.path ? read_value("check", value, all, n, err) : no_memory(err);
    free(value);
    return rc;
}

static int find_value(const struct predict_opts *o, struct recordings *all, uint64_t *n,
                      struct tp_err *err)
{
    uint64_t real = 0;
    int rc = o->at ? read_value("at", o->at, all, n, err) : TP_OK;
    if (rc == TP_OK && o->check)
        rc = name_real(o->check, all, &real, err);
    if (rc == TP_OK && *n && real && *n != real)
        rc = tp_fail(err, TP_EUSAGE, "--at is %s, --check %s", tp_count(*n).s, tp_count(real).s);
    *n = real ? real : *n;
    all->real.n = real;
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
        rc = find_value(o, &all, &q.n, err);
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
