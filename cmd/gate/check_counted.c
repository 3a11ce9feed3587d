/* Class D: instructions per operation. The number depends on the compiler, its flags, libc and the
 * counter, which the fingerprint records. It is compared with the baseline if the fingerprints are
 * the same, else with a count of the base build in the same job, if that was built the same way.
 * If neither is possible the class is not checked and its line says why. */
#include "cmd/gate/check_job.h"

#include "alloc/strategy.h"
#include "cmd/gate/gate_words.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include <math.h>
#include <string.h>

enum { LIBRARY_COUNTS = 4 };  /* of one cell: two of each side */
#define LIBRARY_ALLOWED 0.003 /* of two libraries whose counts are the same twice */

struct counting {
    struct tp_counting counter;
    char now[512];             /* fingerprint of the build that is checked */
    size_t stored, live;       /* cells compared with the baseline; with the base build */
    struct tp_check_gaps gaps; /* cells that could not be compared */
    char otherwise[400];       /* why counts of the base build cannot be compared; "": they can */
};

enum tp_verdict tp_check_judge_counts(double base, double now, double allowed)
{
    if (isnan(base) || isnan(now) || now > base * (1 + allowed))
        return TP_REGRESSION;
    return now < base * (1 - allowed) ? TP_IMPROVED : TP_SAME;
}

/* Counts the instructions of one side and rounds them as a baseline stores them, so that a fresh
 * count equals a stored one. */
static int count(const struct tp_check *k, const struct tp_counting *counter, size_t cell,
                 const struct tp_side *side, double *out, struct tp_err *err)
{
    struct tp_measure m = tp_check_measure(k, cell, side);
    m.core = k->core;
    int status = tp_instructions_count(counter, &m, out, err);
    *out = tp_json_rounded(*out);
    tp_progress_did(k->progress);
    return status;
}

int tp_check_count(const struct tp_check *k, const struct tp_counting *counter, size_t cell,
                   double *out, struct tp_err *err)
{
    struct tp_side sides[2];
    tp_check_sides(k, cell, sides);
    return count(k, counter, cell, &sides[1], out, err);
}

/* Decides whether the check goes on after a cell could not be counted. An interrupt ends it, and so
 * does a timeout, because the next cell would probably hang too. Anything else is only a gap. */
static int end_of(const struct tp_check *k, size_t cell, int status, const struct tp_err *why,
                  struct tp_err *err)
{
    if (*tp_stop_flag())
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (status != TP_ELATE)
        return TP_OK;
    *err = *why;
    return tp_check_name(&k->gate.cells[cell], status, err);
}

/* Finds the number of instructions to compare with. If there is none, `found` is false and a gap
 * with the reason was added. */
static int find_base(const struct tp_check *k, struct counting *d, size_t cell,
                     const struct tp_side *base, double *out, bool *found, struct tp_err *err)
{
    int status = TP_OK;
    const struct tp_baseline_cell *held = k->gate.cells[cell].held;
    bool live = k->o->base_bin; /* counts of --base-strategy are not comparable */
    struct tp_err why = {0};
    *found = held && held->fingerprint && !strcmp(held->fingerprint, d->now);
    if (*found) {
        *out = held->instructions;
        d->stored++;
        return TP_OK;
    }
    if (live && d->otherwise[0]) {
        tp_check_gap(&d->gaps, cell, d->otherwise);
        return TP_OK;
    }
    if (live)
        status = count(k, &d->counter, cell, base, out, &why);
    *found = live && !status;
    d->live += *found;
    if (*found)
        return TP_OK;
    if (live)
        tp_check_gap_base(&d->gaps, cell, &why);
    else if (!held || !held->fingerprint)
        tp_check_gap(&d->gaps, cell, "the baseline has none");
    else
        tp_check_gap(&d->gaps, cell,
                     "the baseline's are of another build, compiler, libc or counter");
    return end_of(k, cell, status, &why, err);
}

/* A library's instructions are not stored: it may decide by the clock and by addresses, and changes
 * with the machine. Beside another library they are counted live, see check_library. */
bool tp_check_has_counts(const struct tp_gate_cell *c)
{
    const struct tp_strategy *s = tp_check_strategy(c);
    return !s || !(s->caps & TP_CAP_PRELOAD);
}

/* Compares two counts; `allowed` is what applies without a tolerance of the baseline's. */
static int compare_counts(struct tp_check *k, size_t cell, double base, double now, double allowed,
                          struct tp_err *err)
{
    const struct tp_metric *m = tp_metric_find("instructions", NULL);
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    allowed = tp_tolerance_of(&k->baseline, c->held, m, base, allowed);
    const struct tp_finding f = {.cell = c,
                                 .metric = m,
                                 .verdict = tp_check_judge_counts(base, now, allowed),
                                 .base = base,
                                 .now = now,
                                 .change = base > 0 ? now / base - 1 : NAN,
                                 .allowed = allowed};
    k->gate.classes[TP_CLASS_INSTRUCTIONS].cells++;
    return tp_findings_add(&k->findings, &f, err);
}

/* Two libraries (--base-lib): each is counted twice, in turn. Where the counts of one differ it has
 * no number; where they agree, a small change is real. */
static int check_library(struct tp_check *k, struct counting *d, size_t cell, struct tp_err *err)
{
    struct tp_side sides[2];
    struct tp_err why = {0};
    double counts[2][2] = {{0}};
    char differ[160];
    int status = TP_OK;
    tp_check_sides(k, cell, sides);
    for (int i = 0; !status && i < LIBRARY_COUNTS; i++)
        status = count(k, &d->counter, cell, &sides[i % 2], &counts[i % 2][i / 2], &why);
    if (status) {
        tp_check_gap(&d->gaps, cell, why.text);
        return end_of(k, cell, status, &why, err);
    }
    for (int side = 0; side < 2; side++) {
        const double *of = counts[side];
        if (fabs(of[0] - of[1]) > 0) {
            snprintf(differ, sizeof differ,
                     "two counts of the %s library differ: %s and %s per call",
                     side ? "new" : "base", tp_digits(of[0]).s, tp_digits(of[1]).s);
            tp_check_gap(&d->gaps, cell, differ);
            return TP_OK;
        }
    }
    d->live++;
    return compare_counts(k, cell, counts[0][0], counts[1][0], LIBRARY_ALLOWED, err);
}

static int check_cell(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct counting *d = ctx;
    struct tp_side sides[2];
    struct tp_err why = {0};
    double now = NAN, base = NAN;
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    tp_check_sides(k, cell, sides);
    bool found;
    if (!tp_check_has_counts(c) && k->o->base_lib)
        return check_library(k, d, cell, err);
    if (!tp_check_has_counts(c)) {
        k->gate.classes[TP_CLASS_INSTRUCTIONS].without++;
        return TP_OK;
    }
    int status = count(k, &d->counter, cell, &sides[1], &now, &why);
    if (status) {
        tp_check_gap(&d->gaps, cell, why.text);
        return end_of(k, cell, status, &why, err);
    }
    status = find_base(k, d, cell, &sides[0], &base, &found, err);
    if (status || !found)
        return status;
    return compare_counts(k, cell, base, now, d->counter.allowed, err);
}

static void describe(const struct tp_check *k, const struct counting *d,
                     struct tp_class_check *metric_class)
{
    const char *counter = d->counter.counter == TP_COUNTER_PERF ? "perf_event" : "callgrind";
    const char *other = k->o->base_lib ? k->o->base_lib : k->o->base_bin;
    metric_class->values = metric_class->cells;
    metric_class->checked = metric_class->cells > 0;
    if (metric_class->checked && d->live)
        snprintf(metric_class->against, sizeof metric_class->against, "vs %.90s%s, %s", other,
                 d->stored ? " and baseline" : "", counter);
    else if (metric_class->checked)
        snprintf(metric_class->against, sizeof metric_class->against, "vs baseline, %s", counter);
    tp_check_gaps_describe(k, &d->gaps, metric_class);
    if (metric_class->without && metric_class->without + k->failed_cells == k->gate.cell_count)
        snprintf(metric_class->reason, sizeof metric_class->reason,
                 "those of a malloc library are not exact");
    else if (!metric_class->checked && d->counter.counter && !other)
        snprintf(metric_class->how, sizeof metric_class->how, "--base-bin OLD-TAPOOL counts both");
}

/* The builds may differ in their source text only. With another compiler or other flags the counts
 * are not comparable: against a base without optimisation any slowdown would go unseen. */
static void compare_builds(const struct tp_check *k, struct counting *d)
{
    char base[sizeof d->now];
    struct tp_err why = {0};
    if (!k->o->base_bin)
        return;
    if (tp_instructions_fingerprint(&d->counter, k->o->base_bin, base, sizeof base, &why))
        snprintf(d->otherwise, sizeof d->otherwise, "%.390s", why.text);
    else
        tp_check_base_build(base, d->now, d->otherwise, sizeof d->otherwise);
}

int tp_check_counted(struct tp_check *k, struct tp_err *err)
{
    struct counting d = {0};
    struct tp_class_check *metric_class = &k->gate.classes[TP_CLASS_INSTRUCTIONS];
    tp_counting_find(&d.counter);
    if (!d.counter.counter) {
        snprintf(metric_class->reason, sizeof metric_class->reason, "%s", d.counter.reason);
        return TP_OK;
    }
    struct tp_err why = {0};
    if (tp_instructions_fingerprint(&d.counter, k->o->bin, d.now, sizeof d.now, &why)) {
        snprintf(metric_class->reason, sizeof metric_class->reason, "%.250s", why.text);
        return *tp_stop_flag() ? tp_fail(err, TP_ESTOP, "interrupted") : TP_OK;
    }
    compare_builds(k, &d);
    unsigned counts = k->o->base_bin ? 2 : 1;
    if (k->o->base_lib)
        counts = LIBRARY_COUNTS;
    int status =
        tp_check_each(k, tp_class_words[TP_CLASS_INSTRUCTIONS], counts, check_cell, &d, err);
    describe(k, &d, metric_class);
    return status;
}
