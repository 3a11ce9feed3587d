/* tapool check --update: measures the selected cells, writes the baseline again and says what
 * changed in it. All other cells are kept. Measuring takes long and another update may write in the
 * meantime, so they are copied from the file as it is at the end, under a lock. Every exact value
 * that is dropped and every tolerance that changes is listed, so that no hole in the gate goes
 * unnoticed. */
#include "cmd/gate/check_job.h"
#include "cmd/results/metric_text.h"

#include "alloc/base/clock.h"
#include "cmd/stats/known_values.h"
#include "cmd/ui/output.h"
#include "cmd/ui/stop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 10 }; /* column where the name of the cell begins */
enum { FEW_PROCESSES = 2 };

/* A cell with a longer memory replay than this is timed in FEW_PROCESSES processes. Stored times
 * are only for information, which is not worth a wait of minutes. */
#define LONG_NS UINT64_C(2000000000)

struct update {
    struct tp_check *k;
    struct tp_baseline now;
    struct tp_baseline latest;                /* the file as it is just before the write */
    struct tp_tolerance given[TP_METRIC_MAX]; /* values of --tolerance */
    char *target; /* path to write to: the baseline, or the file that it links to */
    struct tp_counting counting;
    char fingerprint[512]; /* "": instructions cannot be counted here */
    char uncounted[256];   /* why instructions cannot be counted */
    struct tp_page *page;
    uint64_t replay_ns; /* duration of a memory replay of the current cell */
    size_t changed, demoted, unchanged, added, kept, tolerances;
};

static int out_of_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- the list of changes ---- */

__attribute__((format(printf, 4, 5))) static void
say(struct update *u, const char *what, const struct tp_gate_cell *c, const char *format, ...)
{
    char cell[200];
    struct tp_str text = {0};
    va_list args;
    va_start(args, format);
    tp_str_vadd(&text, format, args);
    va_end(args);
    tp_progress_clear(u->k->progress);
    tp_check_cell_text(c, cell, sizeof cell);
    tp_page_row(u->page, 0, what, HEAD, "%s: %s", cell, tp_str_text(&text));
    tp_str_drop(&text);
}

static void say_demoted(struct update *u, const struct tp_gate_cell *c, const char *name,
                        const char *why)
{
    u->demoted++;
    say(u, "demoted", c, "%s %s; it is not checked any more", name, why);
}

static void say_changed(struct update *u, const struct tp_gate_cell *c, const char *name,
                        const char *was, const char *is)
{
    u->changed++;
    say(u, "changed", c, "%s %s -> %s", name, was, is);
}

/* ---- class E ---- */

static void add_value(struct update *u, const struct tp_gate_cell *c, struct tp_baseline_cell *out,
                      const struct tp_baseline_value *v, double other)
{
    char note[256];
    const struct tp_baseline_value *held =
        c->held ? tp_baseline_value_find(c->held, v->metric, v->device) : NULL;
    if (!tp_check_agrees(v->metric, v->value, other, note, sizeof note)) {
        out->loose[out->loose_count++] = (struct tp_baseline_value){v->metric, v->device, 0};
        if (held)
            say_demoted(u, c, tp_baseline_name(v->metric, v->device).s, note);
        return;
    }
    if (isnan(v->value)) {
        if (held)
            say_demoted(u, c, tp_baseline_name(v->metric, v->device).s, "has no value here");
        return;
    }
    out->values[out->value_count++] = *v;
    if (!held || held->value == v->value) {
        u->unchanged += held != NULL;
        return;
    }
    struct tp_text texts[2];
    tp_metric_texts(v->metric, (const double[]){held->value, v->value}, texts);
    say_changed(u, c, tp_baseline_name(v->metric, v->device).s, texts[0].s, texts[1].s);
}

static int keep_values(struct update *u, const struct tp_gate_cell *c, const struct tp_record *a,
                       const struct tp_record *b, struct tp_baseline_cell *out, struct tp_err *err)
{
    size_t all = (size_t)a->devices * tp_metric_count;
    out->values = calloc(all + 1, sizeof *out->values);
    out->loose = calloc(all + 1, sizeof *out->loose);
    if (!out->values || !out->loose)
        return out_of_memory(err);
    bool exact = a->exact && b->exact && a->devices == b->devices;
    if (!exact && c->held && c->held->value_count)
        say_demoted(u, c, "memory", "is not exact here");
    for (size_t i = 0; exact && i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        uint16_t devices = m->per_device ? a->devices : 1;
        for (uint16_t d = 0; m->metric_class == TP_CLASS_EXACT && d < devices; d++) {
            const struct tp_baseline_value v = {m, d, tp_record_value(a, m, d)};
            add_value(u, c, out, &v, tp_record_value(b, m, d));
        }
    }
    tp_baseline_values_sort(out->values, out->value_count);
    tp_baseline_values_sort(out->loose, out->loose_count);
    return TP_OK;
}

static int keep_run(struct update *u, const struct tp_gate_cell *c, const struct tp_record *r,
                    struct tp_baseline_cell *out, struct tp_err *err)
{
    const struct tp_prepared *t = &u->k->traces[c->prepared];
    int status = tp_check_options(r, &out->options, err);
    if (status)
        return status;
    out->trace = strdup(c->trace);
    out->strategy = strdup(c->strategy);
    out->source = strdup(c->source);
    out->spec = strdup(c->spec);
    out->touch = strdup(r->touch);
    out->hash = strdup(t->hash);
    out->path = tp_baseline_relative(u->k->file, c->path);
    out->events = t->events;
    out->latency = (struct tp_baseline_latency){.spread = NAN, .seconds = NAN};
    if (c->held)
        memcpy(out->tolerances, c->held->tolerances, sizeof out->tolerances);
    return out->trace && out->strategy && out->source && out->spec && out->touch && out->hash &&
                   out->path
               ? TP_OK
               : out_of_memory(err);
}

static void say_options(struct update *u, const struct tp_gate_cell *c,
                        const struct tp_baseline_cell *out)
{
    const struct tp_baseline_cell *held = c->held;
    for (size_t i = 0; held && i < out->options.count; i++) {
        const struct tp_record_option *o = &out->options.items[i];
        const char *was = tp_record_option(&held->options, o->name);
        if (!was || strcmp(was, o->value))
            say_changed(u, c, o->name, was ? was : "(none)", o->value);
    }
    for (size_t i = 0; held && i < held->options.count; i++) {
        const struct tp_record_option *o = &held->options.items[i];
        if (!tp_record_option(&out->options, o->name))
            say_changed(u, c, o->name, o->value, "(none)");
    }
    if (held && strcmp(held->hash, out->hash)) {
        char was[100], is[100];
        snprintf(was, sizeof was, "%.12s (%s events)", held->hash, tp_count(held->events).s);
        snprintf(is, sizeof is, "%.12s (%s events)", out->hash, tp_count(out->events).s);
        say_changed(u, c, "program", was, is);
    }
}

static int measure_exact(struct update *u, size_t cell, struct tp_baseline_cell *out,
                         struct tp_err *err)
{
    struct tp_stored runs[2];
    const struct tp_gate_cell *c = &u->k->gate.cells[cell];
    uint64_t from = tp_wall_ns();
    bool verified;
    int status = tp_check_replay_twice(u->k, cell, runs, &verified, err);
    u->replay_ns = (tp_wall_ns() - from) / 2;
    if (!status)
        status = keep_run(u, c, &runs[0].runs[0], out, err);
    if (!status) {
        say_options(u, c, out);
        status = keep_values(u, c, &runs[0].runs[0], &runs[1].runs[0], out, err);
    }
    tp_stored_release(&runs[0]);
    tp_stored_release(&runs[1]);
    return status;
}

/* ---- class D ---- */

static int measure_counted(struct update *u, size_t cell, struct tp_baseline_cell *out,
                           struct tp_err *err)
{
    const struct tp_gate_cell *c = &u->k->gate.cells[cell];
    struct tp_err why = {0};
    char reason[sizeof u->uncounted];
    int status = TP_EIO;
    if (!tp_check_has_counts(c))
        return TP_OK;
    if (u->fingerprint[0])
        status = tp_check_count(u->k, &u->counting, cell, &out->instructions, &why);
    if (*tp_stop_flag())
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (status == TP_ELATE) {
        *err = why;
        return tp_check_name(c, status, err);
    }
    if (status) {
        if (why.text[0])
            snprintf(reason, sizeof reason, "cannot be counted: %.200s", why.text);
        if (c->held && c->held->fingerprint)
            say_demoted(u, c, "instructions", why.text[0] ? reason : u->uncounted);
        return TP_OK;
    }
    out->fingerprint = strdup(u->fingerprint);
    if (!out->fingerprint)
        return out_of_memory(err);
    if (c->held && c->held->fingerprint && c->held->instructions != out->instructions)
        say_changed(u, c, "instructions", tp_digits(c->held->instructions).s,
                    tp_digits(out->instructions).s);
    return TP_OK;
}

/* ---- class N, as information ---- */

/* Keeps three digits: with more of them every update would change every time in the file. */
static double rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", value);
    return strtod(text, NULL);
}

static int keep_times(const struct tp_rounds *r, struct tp_baseline_latency *out,
                      struct tp_err *err)
{
    char machine[128];
    tp_baseline_machine(machine, sizeof machine);
    out->values = calloc(tp_metric_count, sizeof *out->values);
    out->machine = strdup(machine);
    if (!out->values || !out->machine)
        return out_of_memory(err);
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        if (m->metric_class != TP_CLASS_NOISY)
            continue;
        double median = tp_known_median(tp_rounds_values(r, 0, m), r->rounds);
        if (isfinite(median) && median >= 0)
            out->values[out->count++] = (struct tp_baseline_value){m, 0, rounded(median)};
    }
    tp_baseline_values_sort(out->values, out->count);
    out->spread = rounded(
        tp_known_spread(tp_rounds_values(r, 0, tp_metric_find("ns_per_op", NULL)), r->rounds));
    return TP_OK;
}

static int measure_times(struct update *u, size_t cell, struct tp_baseline_cell *out,
                         struct tp_err *err)
{
    struct tp_rounds r = {0};
    unsigned rounds = u->replay_ns > LONG_NS ? FEW_PROCESSES : TP_BASELINE_PROCESSES;
    uint64_t seed = tp_check_seed(u->k->gate.seed, cell);
    double seconds;
    int status = tp_check_alone(u->k, cell, rounds, seed, &r, &seconds, err);
    if (!status)
        status = keep_times(&r, &out->latency, err);
    out->latency.seconds = rounded(seconds);
    tp_rounds_release(&r);
    return status;
}

/* ---- the file ---- */

static int take_tolerances(struct update *u, struct tp_err *err)
{
    const struct tp_opt_list *list = &u->k->o->tolerances;
    for (size_t i = 0; i < list->count; i++) {
        char name[64];
        const char *equals = strchr(list->items[i], '=');
        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - list->items[i]) : 63,
                 list->items[i]);
        const struct tp_metric *m = tp_metric_find(name, err);
        if (!m)
            return TP_EUSAGE;
        if (tp_tolerance_refused(m))
            return tp_hint(
                err,
                tp_fail(err, TP_EUSAGE, "'%s' has no tolerance: %s", name, tp_tolerance_refused(m)),
                "%s", tp_tolerance_instead(m));
        if (!equals || !tp_tolerance_parse(m, equals + 1, &u->given[m - tp_metrics]))
            return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s' is not METRIC=VALUE", list->items[i]),
                           "as in --tolerance peak_reserved=64KiB or --tolerance overhead=2%%; a "
                           "share is below 100%%");
    }
    return TP_OK;
}

/* Finds the file to write. A symbolic link is kept and the file that it names is replaced. That
 * file must exist: tapool does not guess where it was meant to be made. */
static int find_target(struct update *u, struct tp_err *err)
{
    struct stat link, target;
    const char *file = u->k->file;
    bool is_link = lstat(file, &link) == 0 && S_ISLNK(link.st_mode);
    if (!is_link || (stat(file, &target) == 0 && !S_ISREG(target.st_mode)))
        u->target = strdup(file);
    else
        u->target = realpath(file, NULL);
    if (u->target)
        return TP_OK;
    return errno == ENOMEM ? out_of_memory(err)
                           : tp_fail(err, TP_EIO, "'%s' is a link to what cannot be written: %s",
                                     file, strerror(errno));
}

/* A tolerance for the screen: "64 KiB", "2%"; for metrics that are shares "0.5 points". */
static struct tp_text tolerance_text(const struct tp_metric *m, const struct tp_tolerance *t)
{
    bool counted = m->metric_class == TP_CLASS_INSTRUCTIONS;
    double value = t->given ? t->value : m->allowed;
    if (!t->given && counted)
        return tp_text_of("the counter's own");
    if (t->relative || counted || (!t->given && m->metric_class != TP_CLASS_EXACT))
        return tp_text_of("%.6g%%", 100 * value);
    if (m->unit == TP_UNIT_SHARE)
        return tp_text_of("%.4g points", 100 * value);
    return value == 0 ? tp_text_of("0") : tp_metric_text(m, value, false);
}

/* Takes over the tolerances of --tolerance and prints each change, because a wide tolerance turns
 * off the part of the gate that it is about. */
static void say_tolerances(struct update *u)
{
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_tolerance *was = &u->latest.tolerances[i], *is = &u->given[i];
        u->now.tolerances[i] = is->given ? *is : *was;
        if (!is->given)
            continue;
        if (was->given == is->given && was->relative == is->relative && was->value == is->value)
            continue;
        u->tolerances++;
        tp_page_row(u->page, 0, "tolerance", HEAD, "all cells: %s %s%s -> %s", tp_metrics[i].name,
                    tolerance_text(&tp_metrics[i], was).s, was->given ? "" : " (default)",
                    tolerance_text(&tp_metrics[i], is).s);
    }
}

static int begin(struct update *u, struct tp_err *err)
{
    struct tp_err why = {0};
    const struct tp_check_opts *o = u->k->o;
    u->now.file = strdup(u->k->file);
    u->now.version = strdup(TAPOOL_VERSION);
    u->now.written = strdup(tp_today().s);
    u->now.reason = o->reason ? strdup(o->reason) : NULL;
    u->now.cells = calloc(u->k->gate.cell_count + 1, sizeof *u->now.cells);
    if (!u->now.file || !u->now.version || !u->now.written || !u->now.cells ||
        (o->reason && !u->now.reason))
        return out_of_memory(err);
    tp_counting_find(&u->counting);
    snprintf(u->uncounted, sizeof u->uncounted, "cannot be counted: %.200s", u->counting.reason);
    if (u->counting.counter && tp_instructions_fingerprint(&u->counting, o->bin, u->fingerprint,
                                                           sizeof u->fingerprint, &why)) {
        snprintf(u->uncounted, sizeof u->uncounted, "cannot be counted: %.200s", why.text);
        u->fingerprint[0] = '\0';
    }
    int status = take_tolerances(u, err);
    return status ? status : find_target(u, err);
}

static void say_new(struct update *u, const struct tp_gate_cell *c,
                    const struct tp_baseline_cell *out)
{
    u->added++;
    say(u, "new", c, "%zu exact values%s%s", out->value_count,
        out->fingerprint ? ", instructions" : "",
        out->value_count ? "" : ": its memory varies by itself");
}

/* Warns if an old cell holds another program than the one just measured for its trace: a check
 * will refuse such a cell. */
static void say_stale(struct update *u, const struct tp_baseline_cell *c)
{
    char command[2 * TP_ERR_TEXT];
    for (size_t i = 0; i < u->k->gate.cell_count; i++) {
        const struct tp_gate_cell *now = &u->k->gate.cells[i];
        if (strcmp(now->trace, c->trace) || !strcmp(u->k->traces[now->prepared].hash, c->hash))
            continue;
        tp_check_update_command(u->k, NULL, c->strategy, command, sizeof command);
        tp_page_row(u->page, 0, "stale", HEAD, "%.80s, %.80s: has another program: %s", c->trace,
                    c->strategy, command);
        return;
    }
}

/* The measured cell with the key of `c`; NULL: it was not measured. */
static struct tp_baseline_cell *find_measured(struct update *u, size_t measured,
                                              const struct tp_baseline_cell *c)
{
    for (size_t i = 0; i < measured; i++)
        if (tp_baseline_cell_order(&u->now.cells[i], c) == 0)
            return &u->now.cells[i];
    return NULL;
}

/* Copies the cells that were not measured from the latest file, and the tolerances of the others.
 */
static int keep_others(struct update *u, struct tp_err *err)
{
    struct tp_baseline *latest = &u->latest;
    size_t measured = u->now.count;
    int status = access(u->k->file, F_OK) ? TP_OK : tp_baseline_read(u->k->file, latest, err);
    if (status)
        return status;
    struct tp_baseline_cell *cells =
        realloc(u->now.cells, (measured + latest->count + 1) * sizeof *cells);
    if (!cells)
        return out_of_memory(err);
    u->now.cells = cells;
    for (size_t i = 0; i < latest->count; i++) {
        struct tp_baseline_cell *old = &latest->cells[i], *now = find_measured(u, measured, old);
        if (now) {
            memcpy(now->tolerances, old->tolerances, sizeof now->tolerances);
            continue;
        }
        say_stale(u, old);
        cells[u->now.count++] = *old;
        *old = (struct tp_baseline_cell){0};
        u->kept++;
    }
    return TP_OK;
}

static int write_file(void *ctx, FILE *out, struct tp_err *err)
{
    return tp_baseline_write(ctx, out, err);
}

static void say_all(const struct update *u)
{
    const struct {
        size_t count;
        const char *one, *more;
    } parts[] = {{u->added, "new cell", "new cells"},
                 {u->changed, "changed", "changed"},
                 {u->demoted, "demoted", "demoted"},
                 {u->unchanged, "value unchanged", "values unchanged"},
                 {u->tolerances, "tolerance changed", "tolerances changed"}};
    tp_page_at(u->page, 0, "%s: %s written", u->now.file, tp_plural(u->now.count, "cell").s);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count)
            tp_page_more(u->page, 2, ", %zu %s", parts[i].count,
                         parts[i].count == 1 ? parts[i].one : parts[i].more);
    if (u->kept)
        tp_page_more(u->page, 2, "; %zu kept as %s", u->kept,
                     u->kept == 1 ? "it was" : "they were");
    tp_page_line(u->page);
}

/* Reads the file again under the lock, because another update may have written it since. */
static int write_all(struct update *u, struct tp_err *err)
{
    int lock = -1, status = tp_output_lock(u->target, &lock, err);
    if (status)
        return status;
    status = keep_others(u, err);
    if (!status) {
        say_tolerances(u);
        status = tp_baseline_sort(&u->now, err);
    }
    if (!status)
        status = tp_output_write(u->target, true, write_file, &u->now, err);
    tp_output_unlock(lock);
    return status;
}

static int measure(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct update *u = ctx;
    struct tp_baseline_cell *out = &u->now.cells[u->now.count++];
    int status = measure_exact(u, cell, out, err);
    if (!status)
        status = measure_counted(u, cell, out, err);
    if (!status)
        status = measure_times(u, cell, out, err);
    if (!status && !k->gate.cells[cell].held)
        say_new(u, &k->gate.cells[cell], out);
    return status;
}

int tp_check_update(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    struct update u = {.k = k, .page = page};
    int status = begin(&u, err);
    if (!status)
        status = tp_check_each(k, "update", 2 + 1 + TP_BASELINE_PROCESSES, measure, &u, err);
    if (!status)
        status = write_all(&u, err);
    if (!status)
        say_all(&u);
    tp_baseline_release(&u.now);
    tp_baseline_release(&u.latest);
    free(u.target);
    return status;
}
