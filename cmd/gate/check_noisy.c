/* Class N: times, compared with the base build or another strategy in interleaved pairs. Stored
 * times cannot decide: a machine drifts so much within ten seconds that they would raise false
 * alarms. This file replays the sets of pairs and reports the tests of all cells; their statistics
 * are in noisy_tests.c. */
#include "cmd/gate/check_job.h"

#include "alloc/base/clock.h"
#include "cmd/gate/gate_words.h"
#include "cmd/ui/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRESH = 1 << 20 }; /* added to a cell's number for the seed of its second set */

void tp_check_sides(const struct tp_check *k, size_t cell, struct tp_side sides[2])
{
    const struct tp_check_opts *o = k->o;
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    sides[1] = (struct tp_side){.binary = o->bin, .strategy = c->spec};
    sides[0] = sides[1];
    if (o->base_bin)
        sides[0].binary = o->base_bin;
    if (o->base_strategy)
        sides[0].strategy = o->base_strategy;
    if (c->base)
        sides[0].strategy = c->base;
}

/* How many threads are asked for, as --threads takes it: "4", "recorded". */
static struct tp_text threads_of(const struct tp_check_opts *o)
{
    return o->threads == TP_OPT_KEYWORD(0) ? tp_text_of("%s", tp_threads_words[0])
                                           : tp_text_of("%llu", (unsigned long long)o->threads);
}

/* Replays one set of rounds; `alone` leaves the base out. Errors do not name the cell. */
static int replay(const struct tp_check *k, size_t cell, bool alone, unsigned rounds, uint64_t seed,
                  struct tp_rounds *out, struct tp_err *err)
{
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    const struct tp_text threads = threads_of(k->o);
    bool several = tp_check_by_threads(k->o) && !strncmp(c->source, "host", 4);
    const struct tp_rounds_cfg cfg = {.trace = &k->traces[c->prepared],
                                      .source = c->source,
                                      .more = c->more,
                                      .threads = several ? threads.s : NULL,
                                      .rounds = rounds,
                                      .min_time_ns = k->min_time_ns,
                                      .seed = seed,
                                      .core = several ? -1 : k->core,
                                      .timeout_ns = tp_check_timeout(k, cell),
                                      .interrupted = tp_stop_flag(),
                                      .progress = k->progress};
    struct tp_side sides[2];
    tp_check_sides(k, cell, sides);
    return tp_rounds_replay(&cfg, sides + alone, alone ? 1 : 2, out, err);
}

int tp_check_alone(const struct tp_check *k, size_t cell, unsigned rounds, uint64_t seed,
                   struct tp_rounds *out, double *seconds, struct tp_err *err)
{
    uint64_t from = tp_wall_ns();
    int status = replay(k, cell, true, rounds, seed, out, err);
    *seconds = (double)(tp_wall_ns() - from) / 1e9 / (rounds + 1);
    return status ? tp_check_name(&k->gate.cells[cell], status, err) : TP_OK;
}

/* ---- the sets ---- */

struct noisy {
    struct tp_noisy_tests tests;
    struct tp_rounds *rounds; /* of each cell, both sets where a second one was replayed */
    struct tp_stat_rule rule;
    struct tp_check_gaps gaps; /* cells that the base build cannot replay */
};

/* Whether the base build (side 0) refused the cell because it does not know something in it. If the
 * build that is checked refused the cell, that is an error: it has already replayed it for memory.
 */
static bool is_gap(const struct tp_check *k, int status, const struct tp_rounds *r)
{
    return status == TP_EUSAGE && k->o->base_bin && r->failed == 0;
}

static int replay_first(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct noisy *n = ctx;
    uint64_t seed = tp_check_seed(k->gate.seed, cell);
    int status = replay(k, cell, false, k->gate.pairs, seed, &n->rounds[cell], err);
    if (is_gap(k, status, &n->rounds[cell])) {
        tp_check_gap_base(&n->gaps, cell, err);
        return TP_OK;
    }
    return status ? tp_check_name(&k->gate.cells[cell], status, err)
                  : tp_noisy_collect(&n->tests, cell, &n->rounds[cell], seed, err);
}

/* Replays a second set of a cell in which a slowdown cannot be excluded, and decides on both sets
 * together. This is done once only. */
static int replay_again(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct noisy *n = ctx;
    struct tp_rounds fresh = {0};
    uint64_t seed = tp_check_seed(k->gate.seed, FRESH + cell);
    if (!tp_noisy_is_open(&n->tests, cell))
        return TP_OK;
    int status = replay(k, cell, false, k->gate.pairs, seed, &fresh, err);
    if (status)
        tp_check_name(&k->gate.cells[cell], status, err);
    else
        status = tp_rounds_append(&n->rounds[cell], &fresh, err);
    if (!status)
        status = tp_noisy_again(&n->tests, cell, &n->rounds[cell], seed, &n->rule, err);
    tp_rounds_release(&fresh);
    return status;
}

/* ---- what they say ---- */

int tp_check_add_tested(struct tp_check *k, const struct tp_noisy_test *t, struct tp_err *err)
{
    const struct tp_difference *d = &t->difference;
    struct tp_finding f = {.cell = &k->gate.cells[t->cell],
                           .metric = t->metric,
                           .verdict = d->verdict,
                           .base = d->base,
                           .now = d->now,
                           .change = d->base < t->metric->least ? NAN : d->estimate - 1,
                           .allowed = d->has_effect ? d->effect : k->gate.effect,
                           .difference = *d,
                           .sets = t->sets,
                           .live = t->metric->metric_class != TP_CLASS_NOISY};
    if (d->verdict == TP_REGRESSION)
        f.grown = t->grown;
    return tp_findings_add(&k->findings, &f, err);
}

static int sharpness(struct tp_check *k, const struct noisy *n, struct tp_err *err)
{
    struct tp_gate_sharpness *s = &k->gate.sharpness;
    *s = (struct tp_gate_sharpness){.worst = NAN, .median = NAN};
    double *told = calloc(k->gate.cell_count + 1, sizeof *told);
    size_t count = 0;
    if (!told)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < n->tests.count; i++) {
        const struct tp_noisy_test *t = &n->tests.items[i];
        if (t->insensitive || !tp_metric_is_ns_per_op(t->metric))
            continue;
        double one = tp_noisy_sensitivity(&n->rounds[t->cell], t->sets * k->gate.pairs, &n->rule);
        s->cells++;
        if (isnan(one)) {
            s->untold++;
            continue;
        }
        told[count++] = one;
        if (s->cell && one <= s->worst)
            continue;
        s->worst = one;
        s->cell = &k->gate.cells[t->cell];
    }
    s->median = tp_stat_median(told, count);
    free(told);
    return TP_OK;
}

static const char *name_of_base(const struct tp_check_opts *o)
{
    if (o->base_bin)
        return o->base_bin;
    if (o->base_strategy)
        return o->base_strategy;
    return o->base_lib ? o->base_lib : "itself";
}

static int conclude(struct tp_check *k, const struct noisy *n, struct tp_err *err)
{
    struct tp_class_check *metric_class = &k->gate.classes[TP_CLASS_NOISY];
    int status = TP_OK;
    size_t last = SIZE_MAX;
    for (size_t i = 0; !status && i < n->tests.count; i++) {
        const struct tp_noisy_test *t = &n->tests.items[i];
        status = tp_check_add_tested(k, t, err);
        if (!t->insensitive && t->cell != last) {
            metric_class->cells++;
            last = t->cell;
        }
    }
    metric_class->values = n->tests.tested;
    metric_class->checked = n->tests.tested > 0;
    snprintf(metric_class->against, sizeof metric_class->against, "vs %.100s, %u pairs",
             name_of_base(k->o), k->gate.pairs);
    if (tp_check_by_threads(k->o))
        tp_append(metric_class->against, sizeof metric_class->against, ", --threads %s",
                  threads_of(k->o).s);
    tp_check_gaps_describe(k, &n->gaps, metric_class);
    if (!metric_class->checked && n->tests.count) {
        snprintf(metric_class->reason, sizeof metric_class->reason,
                 "replay overhead is most of the measured time in every %s",
                 n->gaps.cells ? "cell that the base can replay" : "cell");
        snprintf(metric_class->how, sizeof metric_class->how, "instructions decide there");
        metric_class->unknown_only = false;
    }
    return status;
}

/* Runs before anything is replayed, because with too few pairs no test could fail. */
int tp_check_enough(const struct tp_check *k, struct tp_err *err)
{
    size_t tests = k->gate.cell_count * tp_check_tests_max(tp_check_by_threads(k->o));
    unsigned needed = tp_check_pairs_needed(tests, k->gate.alpha);
    if (!needed || k->gate.pairs < needed) {
        int status = tp_fail(err, TP_EUSAGE, "%u pairs are too few at alpha %g and up to %zu tests",
                             k->gate.pairs, k->gate.alpha, tests);
        return needed ? tp_hint(err, status, "at least --pairs %u are needed", needed)
                      : tp_hint(err, status,
                                "even %d pairs are too few: use fewer cells or a "
                                "larger --alpha",
                                TP_ROUNDS_MAX);
    }
    return TP_OK;
}

int tp_check_noisy(struct tp_check *k, struct tp_err *err)
{
    struct noisy n = {.rounds = calloc(k->gate.cell_count + 1, sizeof *n.rounds),
                      .rule = {.alpha = k->gate.alpha,
                               .effect = k->gate.effect,
                               .seed = k->gate.seed,
                               .looks = TP_CHECK_LOOKS}};
    if (!n.rounds)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    size_t replays = tp_rounds_replays(k->gate.pairs, 2);
    int status = tp_check_each(k, tp_class_words[TP_CLASS_NOISY], replays, replay_first, &n, err);
    n.rule.tests = n.tests.tested;
    if (!status)
        status = tp_noisy_decide(&n.tests, &n.rule, err);
    if (!status)
        status = tp_check_each(k, "latency, once more", replays, replay_again, &n, err);
    if (!status)
        status = conclude(k, &n, err);
    if (!status)
        status = sharpness(k, &n, err);
    for (size_t i = 0; i < k->gate.cell_count; i++)
        tp_rounds_release(&n.rounds[i]);
    free(n.rounds);
    free(n.tests.items);
    return status;
}
