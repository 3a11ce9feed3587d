/* tapool check --plan: how long a check would take and how sharp it would be here, without checking
 * anything. The spread between processes comes from the baseline if that was written on a machine
 * of this kind, else from a short pilot run; tp_known_spread computes both.
 *
 * Known weakness: a spread estimated from the five processes of a baseline may be off by a third,
 * one from the three of a pilot by half. */
#include "cmd/gate/check_job.h"

#include "alloc/base/random.h"
#include "cmd/gate/gate_words.h"
#include "cmd/stats/known_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 2, TEXT = 23, PILOT_ROUNDS = 3 };

struct plan {
    double seconds; /* sum over all cells of the duration of one timed process */
    double spread;  /* largest spread of all cells; NAN: none is known */
    size_t pilots;  /* cells for which a pilot was replayed */
    size_t unseen;  /* cells with an unknown spread: a check could not decide on them either */
    size_t tests;
};

/* Makes up `count` log-normal values with median 1 and this spread, as a side of a comparison. */
static void make_series(double spread, uint64_t seed, double *values, size_t count)
{
    struct tp_random random;
    tp_random_seed(&random, seed);
    for (size_t i = 0; i < count; i++) {
        double a = ((double)tp_random_below(&random, 1000000) + 0.5) / 1e6;
        double b = ((double)tp_random_below(&random, 1000000) + 0.5) / 1e6;
        values[i] = exp(spread * sqrt(-2 * log(a)) * cos(6.283185307179586 * b));
    }
}

static double sharpness(const struct tp_check *k, const struct plan *p)
{
    double base[TP_STAT_VALUES_MAX], now[TP_STAT_VALUES_MAX];
    const struct tp_stat_rule rule = {.alpha = k->gate.alpha,
                                      .effect = k->gate.effect,
                                      .tests = p->tests,
                                      .seed = k->gate.seed,
                                      .looks = TP_CHECK_LOOKS};
    if (!isfinite(p->spread))
        return NAN;
    make_series(p->spread, tp_check_seed(k->gate.seed, 1), base, k->gate.pairs);
    make_series(p->spread, tp_check_seed(k->gate.seed, 2), now, k->gate.pairs);
    return tp_stat_sensitivity(base, now, k->gate.pairs, 0.9, &rule);
}

static int pilot(const struct tp_check *k, size_t cell, double *seconds, double *spread,
                 struct tp_err *err)
{
    struct tp_rounds r = {0};
    int status = tp_check_alone(k, cell, PILOT_ROUNDS, k->gate.seed, &r, seconds, err);
    if (!status)
        *spread =
            tp_known_spread(tp_rounds_values(&r, 0, tp_metric_find("ns_per_op", NULL)), r.rounds);
    tp_rounds_release(&r);
    return status;
}

/* Whether the stored times of a cell can be used: they were taken on a machine like this one, and
 * this check does not replay otherwise (--thorough, --min-time, --threads). */
static bool is_usable(const struct tp_check *k, const struct tp_baseline_latency *l)
{
    char machine[128];
    return !k->o->thorough && !tp_check_by_threads(k->o) && k->o->min_time == TP_OPT_KEYWORD(0) &&
           l->machine && tp_baseline_machine(machine, sizeof machine) &&
           !strcmp(l->machine, machine) && !isnan(l->seconds) && !isnan(l->spread);
}

static int estimate(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct plan *p = ctx;
    const struct tp_baseline_cell *held = k->gate.cells[cell].held;
    double seconds = NAN, spread = NAN;
    int status = TP_OK;
    if (held && is_usable(k, &held->latency)) {
        seconds = held->latency.seconds;
        spread = held->latency.spread;
    } else {
        status = pilot(k, cell, &seconds, &spread, err);
        p->pilots++;
    }
    p->seconds += seconds;
    p->unseen += isnan(spread) ? 1 : 0;
    p->spread = fmax(p->spread, spread); /* fmax ignores a NAN */
    return status;
}

static void row(struct tp_page *page, const char *name)
{
    tp_page_line(page);
    tp_page_at(page, LABEL, "%s", name);
    tp_page_at(page, TEXT, "%s", "");
}

static void print_instructions(const struct tp_check *k, struct tp_page *page)
{
    struct tp_counting counting;
    tp_counting_find(&counting);
    row(page, "instructions");
    if (!counting.counter)
        tp_page_more(page, TEXT, "not here: %s", counting.reason);
    else
        tp_page_more(page, TEXT, "%s by %s%s", tp_plural(k->gate.cell_count, "count").s,
                     counting.version,
                     counting.counter == TP_COUNTER_CALLGRIND
                         ? ", each about 50x as long as one replay; not included in the time below"
                         : "");
}

static void print_detectable(const struct tp_check *k, const struct plan *p, struct tp_page *page)
{
    double sharp = sharpness(k, p);
    row(page, "minimum detectable");
    if (isnan(p->spread)) {
        tp_page_more(page, TEXT, "not known: no cell is long enough to measure");
        return;
    }
    const char *source = "from the baseline";
    if (p->pilots)
        source = p->pilots < k->gate.cell_count ? "from the baseline and a pilot"
                                                : "from a pilot just now";
    if (isfinite(sharp))
        tp_page_more(page, TEXT, "slowdown %s%% (90%% power): processes differ by %s (%s)",
                     tp_digits(ceil(100 * sharp)).s, tp_percent(p->spread).s, source);
    else
        tp_page_more(page, TEXT, "slowdown not known: times vary too much here");
    if (p->unseen)
        tp_page_more(page, TEXT, "; not in %s, too short to measure",
                     tp_plural(p->unseen, "cell").s);
}

static void print_latency(const struct tp_check *k, const struct plan *p, struct tp_page *page)
{
    double once = p->seconds * 2 * (k->gate.pairs + 1);
    row(page, "latency");
    tp_page_more(page, TEXT, "at most %zu tests; %zu replays in %u pairs a cell", p->tests,
                 k->gate.cell_count * 2 * (k->gate.pairs + 1), k->gate.pairs);
    if (!tp_check_is_live(k->o))
        tp_page_more(page, TEXT, ", with --base-bin or --base-strategy");
    row(page, "time");
    tp_page_more(page, TEXT, "about %s; %s if every cell needs a second set",
                 tp_gate_time((uint64_t)(once * 1e9)).s, tp_gate_time((uint64_t)(once * 2e9)).s);
    print_detectable(k, p, page);
    tp_page_line(page);
}

int tp_check_plan(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    struct plan p = {.tests = k->gate.cell_count * tp_check_tests_max(tp_check_by_threads(k->o)),
                     .spread = NAN};
    int status = tp_check_each(k, "pilot", tp_rounds_replays(PILOT_ROUNDS, 1), estimate, &p, err);
    if (status)
        return status;
    tp_page_at(page, 0, "%s", k->has_baseline ? k->file : "no baseline");
    tp_page_at(page, TEXT, "%s; nothing is checked now",
               k->gate.written[0] ? k->gate.written : "cells as given");
    row(page, "memory and counts");
    tp_page_more(page, TEXT, "%s, two replays each", tp_plural(k->gate.cell_count, "cell").s);
    print_instructions(k, page);
    print_latency(k, &p, page);
    return TP_OK;
}
