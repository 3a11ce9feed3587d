/* See rounds.h. Order and padding come from one random generator, so a seed repeats both. The
 * measured values still differ from run to run. */
#include "cmd/stats/rounds.h"

#include "alloc/base/random.h"
#include "cmd/results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PADDING_BELOW = 4096 };

static double *series(const struct tp_rounds *r, size_t side, size_t metric)
{
    return r->values + (side * tp_metric_count + metric) * r->rounds;
}

const double *tp_rounds_values(const struct tp_rounds *r, size_t side, const struct tp_metric *m)
{
    return series(r, side, (size_t)(m - tp_metrics));
}

static void keep(struct tp_rounds *r, size_t side, unsigned round, const struct tp_record *run)
{
    for (size_t m = 0; m < tp_metric_count; m++)
        series(r, side, m)[round] = tp_record_value(run, &tp_metrics[m], 0);
    r->cold[side] += run->replayed_once;
}

/* Checks that the side has replayed the prepared program. Another version of tapool may lower the
 * same trace to another program, and those two would not compare. */
static int check_program(const struct tp_rounds_cfg *cfg, const struct tp_side *side,
                         const struct tp_record *run, struct tp_err *err)
{
    if (!strcmp(run->hash, cfg->trace->hash))
        return TP_OK;
    return tp_fail(
        err, TP_EINPUT,
        "'%s' replayed another program from '%s' than this tapool: hash %.12s, not %.12s",
        side->binary ? side->binary : "tapool", cfg->trace->given, run->hash, cfg->trace->hash);
}

static int replay_side(const struct tp_rounds_cfg *cfg, const struct tp_side *side,
                       uint64_t padding, struct tp_stored *out, struct tp_err *err)
{
    struct tp_measure m = {.binary = side->binary,
                           .trace = cfg->trace->path,
                           .strategy = side->strategy,
                           .source = cfg->source,
                           .passes = cfg->passes ? cfg->passes : "throughput,latency",
                           .more = cfg->more,
                           .threads = cfg->threads,
                           .min_time_ns = cfg->min_time_ns,
                           .core = cfg->core,
                           .padding = (size_t)padding,
                           .timeout_ns = cfg->timeout_ns,
                           .interrupted = cfg->interrupted};
    int status = tp_measure(&m, out, err);
    tp_progress_did(cfg->progress);
    return status ? status : check_program(cfg, side, &out->runs[0], err);
}

/* A side could not be replayed. TP_OK: the others go on without it. */
static int lose(const struct tp_rounds_cfg *cfg, size_t side, struct tp_rounds *out, int status,
                const struct tp_err *err)
{
    out->dropped[side] = cfg->drop && err && cfg->drop(cfg->drop_ctx, side, err);
    if (out->dropped[side])
        return TP_OK;
    out->failed = side;
    return status;
}

/* Replays each side once, so that files are in the page cache before the first round that counts.
 */
static int warm_up(const struct tp_rounds_cfg *cfg, const struct tp_side *sides, size_t count,
                   struct tp_rounds *out, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t s = 0; !status && s < count; s++) {
        struct tp_stored answer, *first = &out->first;
        status = replay_side(cfg, &sides[s], 0, &answer, err);
        if (!status && first->count) /* another version of tapool may measure something else */
            status = tp_stored_comparable(first, &first->runs[0], &answer, &answer.runs[0], err);
        if (!status && cfg->first_counts)
            keep(out, s, 0, &answer.runs[0]);
        if (status) {
            status = lose(cfg, s, out, status, err);
        } else if (!first->count) {
            *first = answer;
            out->step_ns = first->step_ns;
            continue;
        }
        tp_stored_release(&answer);
    }
    return status;
}

static void shuffle(struct tp_random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)tp_random_below(random, i), moved = order[i - 1];
        order[i - 1] = order[j];
        order[j] = moved;
    }
}

static int replay_round(const struct tp_rounds_cfg *cfg, const struct tp_side *sides,
                        struct tp_random *random, unsigned round, struct tp_rounds *out,
                        struct tp_err *err)
{
    size_t order[TP_ROUND_SIDES];
    int status = TP_OK;
    shuffle(random, order, out->sides);
    for (size_t i = 0; !status && i < out->sides; i++) {
        struct tp_stored answer;
        if (out->dropped[order[i]])
            continue;
        status = replay_side(cfg, &sides[order[i]], tp_random_below(random, PADDING_BELOW), &answer,
                             err);
        if (!status)
            keep(out, order[i], round, &answer.runs[0]);
        else
            status = lose(cfg, order[i], out, status, err);
        tp_stored_release(&answer);
    }
    return status;
}

static int check(const struct tp_rounds_cfg *cfg, size_t count, struct tp_err *err)
{
    if (!count || count > TP_ROUND_SIDES)
        return tp_fail(err, TP_EUSAGE, "at most %d strategies can be compared at once",
                       TP_ROUND_SIDES);
    if (!cfg->rounds || cfg->rounds > TP_ROUNDS_MAX)
        return tp_fail(err, TP_EUSAGE, "from 1 to %d rounds can be replayed", TP_ROUNDS_MAX);
    return TP_OK;
}

int tp_rounds_replay(const struct tp_rounds_cfg *cfg, const struct tp_side *sides, size_t count,
                     struct tp_rounds *out, struct tp_err *err)
{
    struct tp_random random;
    *out =
        (struct tp_rounds){.sides = count, .rounds = cfg->rounds, .step_ns = NAN, .failed = count};
    int status = check(cfg, count, err);
    if (status)
        return status;
    out->values = calloc(count * tp_metric_count * cfg->rounds, sizeof *out->values);
    out->cold = calloc(count, sizeof *out->cold);
    if (!out->values || !out->cold)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    tp_random_seed(&random, cfg->seed);
    status = warm_up(cfg, sides, count, out, err);
    for (unsigned r = cfg->first_counts; !status && r < cfg->rounds; r++)
        status = replay_round(cfg, sides, &random, r, out, err);
    return status;
}

int tp_rounds_append(struct tp_rounds *r, const struct tp_rounds *more, struct tp_err *err)
{
    struct tp_rounds all = *r;
    all.rounds += more->rounds;
    all.values = calloc(r->sides * tp_metric_count * all.rounds, sizeof *all.values);
    if (!all.values)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t s = 0; s < r->sides; s++) {
        for (size_t m = 0; m < tp_metric_count; m++) {
            double *to = series(&all, s, m);
            memcpy(to, series(r, s, m), r->rounds * sizeof *to);
            memcpy(to + r->rounds, series(more, s, m), more->rounds * sizeof *to);
        }
        r->cold[s] += more->cold[s];
    }
    free(r->values);
    r->values = all.values;
    r->rounds = all.rounds;
    return TP_OK;
}

void tp_rounds_remove(struct tp_rounds *r, size_t side)
{
    size_t after = r->sides - side - 1;
    memmove(series(r, side, 0), series(r, side + 1, 0),
            after * tp_metric_count * r->rounds * sizeof *r->values);
    memmove(&r->cold[side], &r->cold[side + 1], after * sizeof *r->cold);
    memmove(&r->dropped[side], &r->dropped[side + 1], after * sizeof *r->dropped);
    r->sides--;
}

void tp_rounds_release(struct tp_rounds *r)
{
    free(r->values);
    free(r->cold);
    tp_stored_release(&r->first);
    *r = (struct tp_rounds){0};
}
