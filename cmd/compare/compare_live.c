/* Compares live. Each trace is read once and prepared for the child processes. Memory and counts
 * are exact, so one replay per strategy measures them. Times come from rounds, in which the
 * strategies are replayed in random order, each in a process of its own. A job (replay_job.h)
 * checks the options before, and gives the lines above the table, which are those of `tapool
 * replay`. */
#include "cmd/compare/compare.h"

#include "alloc/base/clock.h"
#include "alloc/base/units.h"
#include "cmd/compare/compare_opts.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_job.h"
#include "cmd/results/warnings.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MORE = 8, SIDE_TEXT = 4096 };

/* A trace with the strategies that are compared on it. */
struct contest {
    struct tp_prepared trace;
    struct tp_job job;
    struct tp_side sides[TP_COMPARE_SIDES];
    char *texts[TP_COMPARE_SIDES];            /* owned */
    struct tp_stored usage[TP_COMPARE_SIDES]; /* memory and counts of each side */
    struct tp_rounds rounds;
    uint64_t started_ns, wall_ns;
    char first[TP_LABEL_MAX]; /* label of the first side, also if that could not be measured */
    char threads[32];         /* value of --threads */
    bool beside;              /* there are other traces */
};

struct tp_compare_live {
    struct tp_gpu gpu;
    struct contest *contests;
    size_t count;
    const char *more[MORE + 1];
    char capacity[32];
};

/* ---- what is replayed ---- */

/* Sets the text of a side: the user's, or else the name of a default strategy with its options. */
static int name_side(struct contest *k, size_t i, const struct tp_compare_opts *o,
                     struct tp_err *err)
{
    const struct tp_strategy_spec *spec = &k->job.specs[i];
    char options[SIDE_TEXT - TP_LABEL_MAX - 2], text[SIDE_TEXT];
    const char *given = i < o->strategies.count ? o->strategies.items[i] : text;
    if (given == text) {
        if (!tp_opts_text(spec->strategy->options, spec->opts, options, sizeof options))
            return tp_fail(err, TP_EUSAGE, "the options of '%s' are too long", spec->label);
        snprintf(text, sizeof text, "%.60s%s%s", spec->strategy->name, *options ? ":" : "",
                 options);
    }
    k->texts[i] = strdup(given);
    k->sides[i] = (struct tp_side){.strategy = k->texts[i]};
    return k->texts[i] ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int name_sides(struct contest *k, const struct tp_compare_opts *o, struct tp_err *err)
{
    int status = TP_OK;
    if (k->job.spec_count > TP_COMPARE_SIDES)
        return tp_fail(err, TP_EUSAGE, "at most %d strategies can be compared at once",
                       TP_COMPARE_SIDES);
    if (k->job.spec_count < 2)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "one strategy: nothing to compare"),
                       "name another with -s; 'tapool replay' shows one in detail");
    snprintf(k->first, sizeof k->first, "%s", k->job.specs[0].label);
    for (size_t i = 0; !status && i < k->job.spec_count; i++)
        status = name_side(k, i, o, err);
    return status;
}

/* Makes the job of the prepared trace. Messages and output keep the name that the user gave. */
static int make_job(struct contest *k, const struct tp_compare_opts *o, struct tp_gpu *gpu,
                    struct tp_err *err)
{
    struct tp_replay_opts replay = {
        .strategies = o->strategies,
        .alloc = o->alloc,
        .source = o->source,
        .touch = o->touch,
        .capacity = o->capacity,
        .occupy_scale = 1,
        .open = {.device = TP_OPT_KEYWORD(0), .max_memory = o->open.max_memory}};
    int status = tp_job_prepare(&k->job, &replay, gpu, k->trace.path, err);
    if (status)
        return status;
    char *path = strdup(k->trace.given), *file = strdup(k->trace.name);
    if (!path || !file) {
        free(path);
        free(file);
        return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    free(k->job.trace.path);
    free(k->job.trace.file);
    k->job.trace.path = path;
    k->job.trace.file = file;
    return TP_OK;
}

/* ---- replaying ---- */

static const char *passes_of(const struct contest *k)
{
    const struct tp_program_facts *f = tp_program_facts(k->job.trace.program);
    return tp_fits_by_default(f->kind, f->events) ? "usage,fits,resident,mapped"
                                                  : "usage,resident,mapped";
}

static uint64_t timeout_of(const struct contest *k, const struct tp_compare_opts *o)
{
    return tp_timeout_of(o->timeout, k->trace.events, o->min_time);
}

/* Puts the name of the trace in front of an error where there are several. */
static int name_trace(const struct contest *k, int status, struct tp_err *err)
{
    return k->beside && status && status != TP_ESTOP ? tp_prefix(err, status, "%s", k->trace.name)
                                                     : status;
}

/* Says that a side could not be measured, beside the one whose error ends the command. */
static void say_failed(const struct tp_err *why, struct tp_progress_line *line)
{
    tp_progress_clear(line);
    if (why->status)
        tp_error_print(why);
}

/* Whether the contest goes on without a side that could not be replayed, of which `left` are there:
 * if it is one that fails by itself, such as a library that dies, and others are left to compare.
 * The error of the first such side ends the command, or that which leaves too few. */
static bool goes_on_without(const struct contest *k, size_t i, size_t left, struct tp_compare *c,
                            struct tp_progress_line *line, const struct tp_err *why)
{
    const struct tp_strategy_spec *spec = &k->job.specs[i];
    if ((tp_strategy_takes_source(spec->strategy) && !spec->plugin) || why->status == TP_ESTOP ||
        why->status == TP_ENOMEM)
        return false;
    if (left <= 2) {
        say_failed(&c->failed, line);
        return false;
    }
    struct tp_err named = *why;
    name_trace(k, (int)why->status, &named);
    tp_compare_note(c, "not measured: %s", named.text);
    if (c->failed.status)
        say_failed(&named, line);
    else
        c->failed = named;
    return true;
}

/* Takes a side out of the contest. */
static void remove_side(struct contest *k, size_t i)
{
    struct tp_job *job = &k->job;
    size_t after = job->spec_count - i - 1;
    tp_strategy_spec_release(&job->specs[i]);
    tp_stored_release(&k->usage[i]);
    free(k->texts[i]);
    job->spec_count--;
    memmove(&job->specs[i], &job->specs[i + 1], after * sizeof *job->specs);
    memmove(&k->usage[i], &k->usage[i + 1], after * sizeof *k->usage);
    memmove(&k->texts[i], &k->texts[i + 1], after * sizeof *k->texts);
    memmove(&k->sides[i], &k->sides[i + 1], after * sizeof *k->sides);
    k->usage[job->spec_count] = (struct tp_stored){0};
    k->texts[job->spec_count] = NULL;
}

static int measure_memory(const struct tp_compare_live *live, struct contest *k,
                          const struct tp_compare_opts *o, struct tp_progress_line *line,
                          struct tp_compare *c, struct tp_err *err)
{
    int status = TP_OK;
    tp_progress_begin(line, "memory and counts", k->job.spec_count);
    for (size_t i = 0; !status && i < k->job.spec_count;) {
        tp_progress_at(line, k->job.specs[i].label, i);
        const struct tp_measure m = {.trace = k->trace.path,
                                     .strategy = k->texts[i],
                                     .source = o->source,
                                     .passes = passes_of(k),
                                     .more = live->more,
                                     .threads = k->threads,
                                     .core = -1,
                                     .timeout_ns = timeout_of(k, o),
                                     .interrupted = tp_stop_flag()};
        status = tp_measure(&m, &k->usage[i], err);
        if (status && goes_on_without(k, i, k->job.spec_count, c, line, err)) {
            remove_side(k, i);
            status = TP_OK;
        } else {
            i++;
        }
    }
    return status;
}

/* Those who are left while rounds are replayed. */
struct dropping {
    const struct contest *k;
    struct tp_compare *c;
    struct tp_progress_line *line;
    size_t left;
};

static bool drop(void *ctx, size_t side, const struct tp_err *why)
{
    struct dropping *d = ctx;
    bool dropped = goes_on_without(d->k, side, d->left, d->c, d->line, why);
    d->left -= dropped;
    return dropped;
}

/* The core that every replay is pinned to; -1: none, because several threads need more than one. */
static int core_of(const struct contest *k)
{
    return strcmp(k->threads, "1") ? -1 : tp_measure_core();
}

/* The value of --threads for the replays of a trace. */
static void name_threads(struct contest *k, uint64_t option)
{
    uint32_t threads = tp_replay_threads(option, &k->job);
    if (threads == TP_THREADS_AS_RECORDED)
        snprintf(k->threads, sizeof k->threads, "%s", tp_threads_words[TP_THREADS_RECORDED]);
    else
        snprintf(k->threads, sizeof k->threads, "%u", threads);
}

static int replay_contest(const struct tp_compare_live *live, struct contest *k,
                          const struct tp_compare_opts *o, struct tp_compare *c, struct tp_err *err)
{
    struct tp_progress_line line = {0};
    struct dropping dropping = {.k = k, .c = c, .line = &line};
    const struct tp_rounds_cfg cfg = {.trace = &k->trace,
                                      .source = o->source,
                                      .more = live->more,
                                      .threads = k->threads,
                                      .rounds = (unsigned)o->rounds,
                                      .min_time_ns = o->min_time,
                                      .seed = o->seed,
                                      .core = core_of(k),
                                      .timeout_ns = timeout_of(k, o),
                                      .interrupted = tp_stop_flag(),
                                      .drop = drop,
                                      .drop_ctx = &dropping,
                                      .progress = &line};
    uint64_t started = tp_wall_ns();
    int status = measure_memory(live, k, o, &line, c, err);
    tp_progress_begin(&line, "replays", tp_rounds_replays((unsigned)o->rounds, k->job.spec_count));
    tp_progress_at(&line, k->trace.name, 0);
    dropping.left = k->job.spec_count;
    if (!status)
        status = tp_rounds_replay(&cfg, k->sides, k->job.spec_count, &k->rounds, err);
    for (size_t i = k->job.spec_count; !status && i-- > 0;)
        if (k->rounds.dropped[i]) {
            tp_rounds_remove(&k->rounds, i);
            remove_side(k, i);
        }
    tp_progress_clear(&line);
    k->wall_ns = tp_wall_ns() - started;
    return status;
}

/* ---- results ---- */

static int find_base(const struct contest *k, const char *name, size_t *base, struct tp_err *err)
{
    const char *names[TP_COMPARE_SIDES + 1] = {0};
    *base = 0;
    for (size_t i = 0; name && i < k->job.spec_count; i++) {
        names[i] = k->job.specs[i].label;
        if (!strcasecmp(names[i], name)) {
            *base = i;
            return TP_OK;
        }
    }
    if (!name)
        return TP_OK;
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "--base '%s' is not compared here", name);
    return near ? tp_hint(err, status, "did you mean '%s'?", near) : status;
}

/* Fills a result without measured values, for the lines above the table. */
static int fill_head(struct contest *k, uint32_t threads, struct tp_compare_table *t,
                     struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(k->job.trace.program);
    size_t sourced = 0;
    const struct tp_job *job = &k->job;
    while (sourced + 1 < job->spec_count && !tp_strategy_takes_source(job->specs[sourced].strategy))
        sourced++;
    const struct tp_strategy_spec *spec = &job->specs[sourced];
    t->no_run = calloc(1, tp_run_size(f->devices));
    if (!t->no_run)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    t->no_run->device_count = f->devices;
    t->no_run->throughput.crew.threads = threads < f->threads ? threads : f->threads;
    if (k->usage[sourced].runs->library)
        snprintf(t->no_run->library, sizeof t->no_run->library, "%s",
                 k->usage[sourced].runs->library);
    for (uint16_t d = 0; d < f->devices; d++)
        t->no_run->devices[d].capacity = TP_NONE;
    for (size_t i = 0; i < k->usage[sourced].runs->source_options.count; i++) {
        const struct tp_record_option *option = &k->usage[sourced].runs->source_options.items[i];
        uint64_t capacity;
        if (strcmp(option->name, "limit.capacity") || !tp_parse_size(option->value, &capacity))
            continue;
        for (uint16_t d = 0; d < f->devices; d++)
            t->no_run->devices[d].capacity = capacity;
    }
    t->head = (struct tp_result){.trace = &job->trace,
                                 .facts = f,
                                 .spec = spec,
                                 .source = tp_source_spec_of(spec->strategy, &job->source),
                                 .captured = &job->captured,
                                 .use = &job->use,
                                 .touch = tp_touch_named(k->usage[sourced].runs->touch),
                                 .threads = threads,
                                 .run = t->no_run};
    return TP_OK;
}

/* The runs whose warnings are shown are those of the untimed passes, which one thread replays. */
static void note_crowd(struct tp_compare *c, const struct tp_result *head)
{
    char text[TP_WARNING_TEXT];
    if (tp_find_warning("shared-cores")->applies(head, text, sizeof text))
        tp_compare_note(c, "%s", text);
}

static int fill_table(struct contest *k, const struct tp_compare_opts *o, struct tp_compare *c,
                      struct tp_err *err)
{
    struct tp_compare_table *t = tp_compare_add_table(c);
    size_t base = 0;
    if (!t)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    t->name = k->trace.name;
    t->hash = k->trace.hash;
    t->run = k->usage[0].runs;
    t->wall_ns = k->wall_ns;
    for (size_t i = 0; i < k->job.spec_count; i++) {
        const struct tp_strategy_spec *spec = &k->job.specs[i];
        struct tp_text name =
            tp_versioned_label(spec->label, spec->strategy->name, k->usage[i].runs->library);
        struct tp_compare_row *row = tp_compare_add_row(t, spec->labelled ? spec->label : name.s);
        if (!row)
            return tp_fail(err, TP_ENOMEM, "out of memory");
        row->from = &k->usage[i];
        row->run = k->usage[i].runs;
        row->rounds = &k->rounds;
        row->side = i;
        row->cold = 2 * k->rounds.cold[i] > k->rounds.rounds;
    }
    const char *wanted = o->base ? o->base : k->first;
    int status = find_base(k, wanted, &base, err);
    if (status && c->failed.status) { /* it was there before, and could not be measured */
        tp_compare_note(c, "%s%scompared with '%s' instead of '%s'", k->beside ? k->trace.name : "",
                        k->beside ? ": " : "", t->rows[0].label, wanted);
        base = 0;
        status = TP_OK;
    }
    for (size_t i = 0; i < t->count; i++)
        t->rows[i].base = base;
    if (!status)
        status = fill_head(k, tp_replay_threads(o->threads, &k->job), t, err);
    if (!status)
        note_crowd(c, &t->head);
    return status;
}

/* Checks that all runs of a table may be compared, which includes the scope of latency. */
static int check_scopes(const struct contest *k, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 1; !status && i < k->job.spec_count; i++)
        status = tp_stored_comparable(&k->usage[0], k->usage[0].runs, &k->usage[i],
                                      k->usage[i].runs, err);
    return status;
}

/* ---- all traces ---- */

static void choose_arguments(struct tp_compare_live *live, const struct tp_compare_opts *o)
{
    size_t n = 0;
    if (o->touch != TP_TOUCH_AUTO) {
        live->more[n++] = "--touch";
        live->more[n++] = tp_touch_words[o->touch];
    }
    if (o->capacity != TP_OPT_KEYWORD(0)) {
        snprintf(live->capacity, sizeof live->capacity, "%llu", (unsigned long long)o->capacity);
        live->more[n++] = "--capacity";
        live->more[n++] = live->capacity;
    }
    if (o->thp)
        live->more[n++] = "--thp";
    live->more[n] = NULL;
}

/* Finds all that can be wrong before the first round is replayed. */
static int prepare(struct tp_compare_live *live, const struct tp_compare_opts *o,
                   char *const *words, size_t count, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < count; i++) {
        struct contest *k = &live->contests[live->count++];
        k->beside = count > 1;
        status = tp_measure_prepare(words[i], &o->open, &k->trace, err);
        if (!status)
            status = make_job(k, o, &live->gpu, err);
        if (!status)
            name_threads(k, o->threads);
        if (!status)
            status = name_sides(k, o, err);
        if (!status)
            status = find_base(k, o->base, &(size_t){0}, err);
    }
    return status;
}

int tp_compare_measure(const struct tp_compare_opts *o, char *const *words, size_t count,
                       struct tp_compare *c, struct tp_compare_live **out, struct tp_err *err)
{
    struct tp_compare_live *live = *out = calloc(1, sizeof *live);
    if (live)
        live->contests = calloc(count, sizeof *live->contests);
    if (!live || !live->contests)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    c->live = true;
    c->rounds = (unsigned)o->rounds;
    c->seed = o->seed;
    c->goal = o->goal;
    c->min_time_ns = o->min_time;
    choose_arguments(live, o);
    int status = prepare(live, o, words, count, err);
    c->core = status ? -1 : core_of(&live->contests[0]);
    for (size_t i = 1; !status && i < count; i++)
        c->core = core_of(&live->contests[i]) < 0 ? -1 : c->core;
    for (size_t i = 0; !status && i < count; i++) {
        status = replay_contest(live, &live->contests[i], o, c, err);
        name_trace(&live->contests[i], status, err);
        if (!status)
            status = check_scopes(&live->contests[i], err);
        if (!status)
            status = fill_table(&live->contests[i], o, c, err);
    }
    return status;
}

void tp_compare_live_release(struct tp_compare_live *live)
{
    if (!live)
        return;
    for (size_t i = 0; live->contests && i < live->count; i++) {
        struct contest *k = &live->contests[i];
        for (size_t s = 0; s < TP_COMPARE_SIDES; s++) {
            free(k->texts[s]);
            tp_stored_release(&k->usage[s]);
        }
        tp_rounds_release(&k->rounds);
        tp_job_release(&k->job);
        tp_prepared_release(&k->trace);
    }
    free(live->contests);
    tp_gpu_close(&live->gpu);
    free(live);
}
