/* Class N, the statistics of a job: which metrics of which cells are tested, and what their series
 * say. These are pure functions of the series, so that the tests of the rule can make up their own.
 *
 *     rounds of a cell -> collect -> tests of all cells -> decide (Holm over all of them)
 *                                              `- open? -> a second set, added to it -> again
 *
 * That a test may be decided twice must not double its false alarms, so each of the two decisions
 * has half of alpha. */
#include "cmd/gate/check_job.h"

#include "alloc/base/grow.h"
#include "cmd/stats/known_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SENSITIVE_SHARE                                                                            \
    0.25          /* least share of the strategy in the time measured with the engine              \
                   */
#define STEPS 10  /* fewest steps of the clock in a percentile that is compared */
#define POWER 0.9 /* probability that the slowdown of the sensitivity is found */

size_t tp_check_tests_max(bool several)
{
    size_t count = 0;
    for (size_t i = 0; i < tp_metric_count; i++)
        count +=
            tp_metrics[i].metric_class == TP_CLASS_NOISY && (several || !tp_metrics[i].of_threads);
    return count;
}

unsigned tp_check_pairs_needed(size_t tests, double alpha)
{
    for (unsigned n = 2; n <= TP_ROUNDS_MAX; n++)
        if (tp_stat_signed_rank_least(n) * (double)tests * TP_CHECK_LOOKS < alpha)
            return n;
    return 0;
}

/* ---- collecting ---- */

static double median_named(const struct tp_rounds *r, size_t side, const char *name)
{
    return tp_known_median(tp_rounds_values(r, side, tp_metric_find(name, NULL)), r->rounds);
}

/* Whether the strategy takes a large enough share of the measured time. One side is enough: a
 * slowdown must not go unseen because the base was too fast to measure. */
static bool is_visible(const struct tp_rounds *r)
{
    for (size_t side = 0; side < r->sides; side++) {
        double net = median_named(r, side, "ns_per_op");
        double engine = median_named(r, side, "replay_overhead_ns_per_op");
        if (net >= SENSITIVE_SHARE * (net + engine))
            return true;
    }
    return false;
}

/* Whether the metric is tested in this cell. A percentile below ten steps of the clock is not:
 * its value is a guess. */
static bool is_test(const struct tp_rounds *r, const struct tp_metric *m)
{
    double base = tp_known_median(tp_rounds_values(r, 0, m), r->rounds);
    double now = tp_known_median(tp_rounds_values(r, 1, m), r->rounds);
    if (m->metric_class != TP_CLASS_NOISY || isnan(base) || isnan(now))
        return false;
    return !tp_metric_is_one_call(m) || fmax(base, now) >= STEPS * r->step_ns;
}

int tp_noisy_add(struct tp_noisy_tests *t, const struct tp_noisy_test *test, struct tp_err *err)
{
    int status = TP_GROW(&t->items, &t->room, t->count + 1, err, .what = "tests");
    if (status)
        return status;
    t->items[t->count++] = *test;
    t->tested += !test->insensitive;
    return TP_OK;
}

static void measure(struct tp_noisy_test *test, const struct tp_rounds *r, uint64_t seed)
{
    const struct tp_metric *m = test->metric;
    tp_difference_measure(tp_rounds_values(r, 0, m), tp_rounds_values(r, 1, m), r->rounds,
                          m->better, tp_check_seed(seed, (uint64_t)(m - tp_metrics)),
                          &test->difference);
    if (test->insensitive)
        test->difference.verdict = TP_INSENSITIVE;
}

int tp_noisy_collect(struct tp_noisy_tests *t, size_t cell, const struct tp_rounds *r,
                     uint64_t seed, struct tp_err *err)
{
    int status = TP_OK;
    bool visible = is_visible(r);
    for (size_t i = 0; !status && i < tp_metric_count; i++) {
        struct tp_noisy_test test = {.cell = cell, .metric = &tp_metrics[i], .sets = 1};
        if (!is_test(r, test.metric))
            continue;
        test.insensitive = !visible;
        measure(&test, r, seed);
        status = tp_noisy_add(t, &test, err);
    }
    return status;
}

/* Uses the rule of the whole job, with its number of tests over all cells, and the pairs that the
 * test of this cell had. */
double tp_noisy_sensitivity(const struct tp_rounds *r, unsigned rounds,
                            const struct tp_stat_rule *rule)
{
    const struct tp_metric *m = tp_metric_find("ns_per_op", NULL);
    double base[TP_STAT_VALUES_MAX], now[TP_STAT_VALUES_MAX];
    size_t pairs = tp_difference_pairs(tp_rounds_values(r, 0, m), tp_rounds_values(r, 1, m),
                                       rounds < r->rounds ? rounds : r->rounds, base, now);
    return tp_stat_sensitivity(base, now, pairs, POWER, rule);
}

/* ---- deciding ---- */

static struct tp_difference *copy_differences(const struct tp_noisy_tests *t, struct tp_err *err)
{
    struct tp_difference *all = calloc(t->count + 1, sizeof *all);
    if (!all)
        tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; all && i < t->count; i++)
        all[i] = t->items[i].difference;
    return all;
}

int tp_noisy_decide(struct tp_noisy_tests *t, const struct tp_stat_rule *rule, struct tp_err *err)
{
    struct tp_difference *all = copy_differences(t, err);
    int status = all ? tp_differences_decide(all, t->count, rule, err) : TP_ENOMEM;
    for (size_t i = 0; !status && i < t->count; i++)
        t->items[i].difference = all[i];
    free(all);
    return status;
}

static bool is_open(const struct tp_noisy_test *test, size_t cell)
{
    return test->cell == cell && test->difference.verdict == TP_INCONCLUSIVE;
}

bool tp_noisy_is_open(const struct tp_noisy_tests *t, size_t cell)
{
    for (size_t i = 0; i < t->count; i++)
        if (is_open(&t->items[i], cell))
            return true;
    return false;
}

/* Only the inconclusive tests take the values of the second set. The others keep their verdict: a
 * regression stays one, and a test that passed is not repeated until it fails by chance. */
int tp_noisy_again(struct tp_noisy_tests *t, size_t cell, const struct tp_rounds *both,
                   uint64_t seed, const struct tp_stat_rule *rule, struct tp_err *err)
{
    struct tp_difference *all = copy_differences(t, err);
    if (!all)
        return TP_ENOMEM;
    for (size_t i = 0; i < t->count; i++) {
        struct tp_noisy_test test = t->items[i];
        if (!is_open(&test, cell))
            continue;
        measure(&test, both, seed);
        all[i] = test.difference;
    }
    int status = tp_differences_decide(all, t->count, rule, err);
    for (size_t i = 0; !status && i < t->count; i++) {
        if (!is_open(&t->items[i], cell))
            continue;
        t->items[i].difference = all[i];
        t->items[i].sets = 2;
    }
    free(all);
    return status;
}
