/* See malloc_replay.h. */
#include "cmd/tune/malloc_replay.h"

#include "cmd/stats/known_values.h"
#include "cmd/stats/rounds.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Differences up to these are none in the first look, which is one replay. */
#define FIRST_MEMORY 0.02
#define FIRST_TIME   0.1

/* Settings of the second look, at most. */
enum { FINALISTS = 24 };

/* Settings that are replayed in turn, and the rows that they belong to. */
struct malloc_replaying {
    struct tp_malloc_tune *t;
    const struct tp_malloc_cfg *cfg;
    const struct tp_prepared *trace;
    struct tp_progress_line *line;
    struct tp_side sides[TP_MALLOC_SETTINGS_MAX];
    size_t rows[TP_MALLOC_SETTINGS_MAX], count;
};

static void add(struct malloc_replaying *p, size_t row)
{
    p->rows[p->count] = row;
    p->sides[p->count++] = (struct tp_side){.strategy = p->t->rows[row].setting->strategy};
}

/* A setting that cannot be replayed is left out, unless the user has named one that its library
 * refuses. */
static bool drop(void *ctx, size_t side, const struct tp_err *why)
{
    struct malloc_replaying *p = ctx;
    struct tp_malloc_row *row = &p->t->rows[p->rows[side]];
    if (why->status == TP_ESTOP || why->status == TP_ENOMEM ||
        (row->setting->asked && why->status == TP_EUSAGE))
        return false;
    row->err = *why;
    return true;
}

static struct tp_malloc_range range_of(const double *values, size_t count)
{
    double known[TP_STAT_VALUES_MAX];
    struct tp_malloc_range r = {NAN, INFINITY, -INFINITY};
    size_t kept = tp_known_values(values, count, known);
    for (size_t i = 0; i < kept; i++) {
        r.low = fmin(r.low, known[i]);
        r.high = fmax(r.high, known[i]);
    }
    r.median = tp_stat_median(known, kept);
    return r;
}

/* The metric of time that all sides have: of the first replay on a fresh heap where some replays,
 * but not all, were single ones, and else what passed while the recorded threads replayed. */
static const struct tp_metric *time_of(struct malloc_replaying *p, const struct tp_rounds *r)
{
    const struct tp_metric *wall = tp_metric_find("wall_ns_per_op", NULL);
    size_t cold = 0, all = 0, walls = 0, single = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (r->dropped[i])
            continue;
        all++;
        cold += r->cold[i] > 0;
        single += r->cold[i] == r->rounds;
        walls += isnan(tp_rounds_values(r, i, wall)[0]) ? 0 : 1;
    }
    bool mixed = cold && single < all;
    p->t->cold = cold > 0;
    p->t->wall = !mixed && walls == all;
    if (p->t->wall)
        return wall;
    return tp_metric_find(mixed ? "cold_ns_per_op" : "ns_per_op", NULL);
}

static void take_rounds(struct malloc_replaying *p, const struct tp_rounds *r)
{
    const struct tp_metric *time = time_of(p, r);
    const struct tp_metric *total = tp_metric_find("total_resident", NULL);
    for (size_t i = 0; i < p->count; i++) {
        struct tp_malloc_row *row = &p->t->rows[p->rows[i]];
        if (r->dropped[i])
            continue;
        row->resident = range_of(tp_rounds_values(r, i, total), r->rounds);
        row->ns = range_of(tp_rounds_values(r, i, time), r->rounds);
        row->rounds = r->rounds;
    }
}

static int replay(struct malloc_replaying *p, const char *what, unsigned rounds, struct tp_err *err)
{
    const struct tp_malloc_cfg *c = p->cfg;
    const struct tp_rounds_cfg cfg = {
        .trace = p->trace,
        .passes = "throughput,resident",
        .threads = tp_threads_words[TP_THREADS_AUTO],
        .rounds = rounds,
        .first_counts = true,
        .min_time_ns = c->min_time_ns,
        .seed = c->seed + rounds,
        .core = p->t->threads > 1 ? -1 : tp_measure_core(),
        .timeout_ns = tp_timeout_of(c->timeout, p->trace->events, c->min_time_ns),
        .interrupted = tp_stop_flag(),
        .drop = drop,
        .drop_ctx = p,
        .progress = p->line};
    struct tp_rounds r = {0};
    tp_progress_begin(p->line, what, (uint64_t)rounds * p->count);
    tp_progress_at(p->line, "", 0);
    int status = tp_rounds_replay(&cfg, p->sides, p->count, &r, err);
    if (!status)
        take_rounds(p, &r);
    tp_rounds_release(&r);
    return status;
}

static bool is_asked_again(const struct tp_malloc_tune *t, size_t i)
{
    const struct tp_malloc_row *r = &t->rows[i];
    return tp_malloc_is_known(r) && (r->front || i == t->base || !r->setting->keys);
}

/* The base, those that none beat at first, and all defaults. */
static int replay_again(struct malloc_replaying *p, struct tp_err *err)
{
    struct tp_malloc_tune *t = p->t;
    bool cold = t->cold, wall = t->wall;
    p->count = 0;
    if (is_asked_again(t, t->base))
        add(p, t->base);
    for (size_t i = 0; i < t->settings.count; i++)
        if (i != t->base && is_asked_again(t, i) && p->count < FINALISTS)
            add(p, i);
    int status = p->count ? replay(p, "best settings", p->cfg->rounds, err) : TP_OK;
    /* times of the first look may be of another kind */
    for (size_t i = 0; i < t->settings.count && (cold != t->cold || wall != t->wall); i++)
        if (t->rows[i].rounds == 1)
            t->rows[i].ns = (struct tp_malloc_range){NAN, NAN, NAN};
    return status;
}

/* The error where no setting could be replayed. A base that could not makes way for the first that
 * could. */
static int check_replayed(struct tp_malloc_tune *t, struct tp_err *err)
{
    for (size_t i = 0; i < t->settings.count; i++)
        if (!t->rows[i].err.status) {
            t->base = t->rows[t->base].err.status ? i : t->base;
            return TP_OK;
        }
    *err = t->rows[0].err;
    return (int)err->status;
}

static int replay_all(struct malloc_replaying *p, struct tp_err *err)
{
    struct tp_malloc_tune *t = p->t;
    for (size_t i = 0; i < t->settings.count; i++)
        add(p, i);
    int status = replay(p, "settings", 1, err);
    if (!status)
        status = check_replayed(t, err);
    tp_malloc_front(t->rows, t->settings.count, 1, FIRST_MEMORY, FIRST_TIME);
    return status ? status : replay_again(p, err);
}

/* ---- all of it ---- */

static void find_base(struct tp_malloc_tune *t)
{
    for (size_t i = 0; i < t->settings.count; i++)
        if (t->settings.items[i].recorded)
            t->base = i;
}

int tp_malloc_replay(struct tp_malloc_tune *t, const struct tp_malloc_cfg *cfg, struct tp_err *err)
{
    struct tp_prepared prepared = {.fd = -1};
    struct tp_progress_line line = {0};
    struct malloc_replaying *p = calloc(1, sizeof *p);
    t->rows = calloc(t->settings.count, sizeof *t->rows);
    if (!p || !t->rows) {
        free(p);
        return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    tp_environment_forget_mallocs();
    find_base(t);
    t->threads = tp_program_facts(t->trace->program)->threads;
    for (size_t i = 0; i < t->settings.count; i++)
        t->rows[i] = (struct tp_malloc_row){
            .setting = &t->settings.items[i], .resident = {NAN, NAN, NAN}, .ns = {NAN, NAN, NAN}};
    *p = (struct malloc_replaying){.t = t, .cfg = cfg, .trace = &prepared, .line = &line};
    int status = tp_measure_lay_down(t->trace, cfg->given, &prepared, err);
    if (!status)
        status = replay_all(p, err);
    tp_progress_clear(&line);
    if (!status)
        status = check_replayed(t, err);
    if (!status)
        tp_malloc_judge(t, cfg->rounds, cfg->goal, cfg->exact);
    tp_prepared_release(&prepared);
    free(p);
    return status;
}
