/* The memory of malloc libraries (--base-lib): what a library maps and what it holds resident,
 * against those of the other library in the same job. A stored value would not do, because it
 * changes with the kernel and the C library.
 *
 *     mapped memory, its calls      a function of library and trace, replayed twice: any change
 *                                   counts
 *     resident memory, its parts    the kernel's count of pages, in interleaved pairs: a test of
 *                                   the pairs must show a difference above the metric's tolerance
 *
 * What is mapped is not compared where two replays of one library differ. They can, where addresses
 * differ from process to process, or where a library decides by the clock. */
#include "cmd/gate/check_job.h"
#include "cmd/ui/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAYS = 2, PAIRS = 10 };

/* Both replays of both libraries; side 0 is the base. */
struct both_sides {
    struct tp_stored replays[2][REPLAYS];
};

static int replay(const struct tp_check *k, size_t cell, const struct tp_side *side,
                  struct tp_stored *out, struct tp_err *err)
{
    struct tp_measure m = tp_check_measure(k, cell, side);
    m.binary = k->o->bin; /* the libraries differ, and not what replays them */
    m.passes = "usage,mapped";
    int status = tp_measure(&m, out, err);
    tp_progress_did(k->progress);
    return status ? tp_check_name(&k->gate.cells[cell], status, err) : TP_OK;
}

static bool is_mapped(const struct tp_metric *m)
{
    return m->metric_class == TP_CLASS_EXACT && !strncmp(m->path, "mapped.", 7);
}

/* RSS at start differs by half a MiB from process to process. */
static bool is_resident(const struct tp_metric *m)
{
    return tp_metric_is_by_kernel(m) && m->allowed > 0;
}

/* The tolerance of a metric: an amount where it is exact, by default a share of the base else. */
static double allowed_of(const struct tp_check *k, const struct tp_gate_cell *c,
                         const struct tp_metric *m, double base)
{
    double fallback = m->metric_class == TP_CLASS_EXACT ? m->allowed : m->allowed * base;
    return tp_tolerance_of(&k->baseline, c->held, m, base, fallback);
}

/* ---- mapped memory ---- */

/* Whether two replays of a library agree. */
static bool is_told(const double values[REPLAYS])
{
    return !isnan(values[0]) && values[0] == values[1];
}

static int compare(struct tp_check *k, size_t cell, const struct tp_metric *m,
                   const struct both_sides *p, size_t *values, struct tp_err *err)
{
    double sides[2][REPLAYS];
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < REPLAYS; i++)
            sides[side][i] = tp_record_value(&p->replays[side][i].runs[0], m, 0);
    if (!is_told(sides[0]) || !is_told(sides[1]))
        return TP_OK;
    double base = sides[0][0], now = sides[1][0];
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    double allowed = allowed_of(k, c, m, base);
    const struct tp_finding f = {.cell = c,
                                 .metric = m,
                                 .verdict = tp_check_judge(m, base, now, allowed),
                                 .base = base,
                                 .now = now,
                                 .change = base > 0 ? now / base - 1 : NAN,
                                 .allowed = allowed,
                                 .live = true};
    ++*values;
    return tp_findings_add(&k->findings, &f, err);
}

static int check_mapped(struct tp_check *k, size_t cell, size_t *values, struct tp_err *err)
{
    struct both_sides p = {0};
    struct tp_side sides[2];
    int status = TP_OK;
    tp_check_sides(k, cell, sides);
    for (int i = 0; !status && i < 2 * REPLAYS; i++)
        status = replay(k, cell, &sides[i % 2], &p.replays[i % 2][i / 2], err);
    for (size_t m = 0; !status && m < tp_metric_count; m++)
        if (is_mapped(&tp_metrics[m]))
            status = compare(k, cell, &tp_metrics[m], &p, values, err);
    for (int i = 0; i < 2 * REPLAYS; i++)
        tp_stored_release(&p.replays[i % 2][i / 2]);
    return status;
}

/* ---- resident memory ---- */

/* What a cell has to be decided about, after all cells were replayed. */
struct library {
    struct tp_noisy_tests tests;
    struct tp_class_check *metric_class;
    unsigned pairs;
};

static int add_test(struct tp_noisy_tests *t, size_t cell, const struct tp_metric *m,
                    const struct tp_rounds *r, const struct tp_check *k, struct tp_err *err)
{
    struct tp_noisy_test test = {.cell = cell, .metric = m, .sets = 1};
    if (!tp_resident_measure(r, k->gate.seed, &test))
        return TP_OK;
    tp_resident_allow(&test, allowed_of(k, &k->gate.cells[cell], m, test.difference.base));
    return tp_noisy_add(t, &test, err);
}

/* Replays both libraries in pairs, in turn. The recorded threads replay, so no core is theirs. */
static int check_resident(struct tp_check *k, size_t cell, struct library *l, struct tp_err *err)
{
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    const struct tp_rounds_cfg cfg = {.trace = &k->traces[c->prepared],
                                      .source = c->source,
                                      .more = c->more,
                                      .passes = "resident",
                                      .rounds = l->pairs,
                                      .first_counts = true,
                                      .seed = tp_check_seed(k->gate.seed, cell),
                                      .core = -1,
                                      .timeout_ns = tp_check_timeout(k, cell),
                                      .interrupted = tp_stop_flag(),
                                      .progress = k->progress};
    struct tp_side sides[2];
    struct tp_rounds r = {0};
    tp_check_sides(k, cell, sides);
    sides[0].binary = sides[1].binary = k->o->bin;
    int status = tp_rounds_replay(&cfg, sides, 2, &r, err);
    if (status)
        tp_check_name(c, status, err);
    for (size_t m = 0; !status && m < tp_metric_count; m++)
        if (is_resident(&tp_metrics[m]))
            status = add_test(&l->tests, cell, &tp_metrics[m], &r, k, err);
    tp_rounds_release(&r);
    return status;
}

static int check_cell(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct library *l = ctx;
    size_t values = 0, before = l->tests.count;
    int status = check_mapped(k, cell, &values, err);
    if (!status)
        status = check_resident(k, cell, l, err);
    values += l->tests.count - before;
    l->metric_class->cells += values > 0;
    l->metric_class->values += values;
    return status;
}

/* The tests are a family of their own: Holm's adjustment is over them alone. */
static int decide(struct tp_check *k, struct library *l, struct tp_err *err)
{
    const struct tp_stat_rule rule = {
        .alpha = k->gate.alpha, .effect = k->gate.effect, .seed = k->gate.seed, .looks = 1};
    int status = tp_resident_decide(&l->tests, &rule, err);
    for (size_t i = 0; !status && i < l->tests.count; i++)
        status = tp_check_add_tested(k, &l->tests.items[i], err);
    return status;
}

/* Enough pairs for a test to fail in a job with so many cells. */
static unsigned pairs_of(const struct tp_check *k)
{
    size_t kinds = 0;
    for (size_t m = 0; m < tp_metric_count; m++)
        kinds += is_resident(&tp_metrics[m]);
    unsigned needed = tp_check_pairs_needed(kinds * k->gate.cell_count, k->gate.alpha);
    return needed > PAIRS ? needed : PAIRS;
}

static int check_library(struct tp_check *k, struct tp_err *err)
{
    struct tp_class_check *metric_class = &k->gate.classes[TP_CLASS_EXACT];
    struct library l = {.metric_class = metric_class, .pairs = pairs_of(k)};
    size_t steps = 2 * REPLAYS + 2 * (size_t)l.pairs;
    int status = tp_check_each(k, "memory", steps, check_cell, &l, err);
    if (!status)
        status = decide(k, &l, err);
    free(l.tests.items);
    metric_class->checked = metric_class->values > 0;
    metric_class->reason[0] = '\0';
    if (metric_class->checked)
        snprintf(metric_class->against, sizeof metric_class->against,
                 "vs %.90s, resident in %u pairs", k->o->base_lib, l.pairs);
    else
        snprintf(metric_class->reason, sizeof metric_class->reason,
                 "the kernel reports neither resident nor mapped memory here");
    return status;
}

int tp_check_all_exact(struct tp_check *k, struct tp_err *err)
{
    int status = tp_check_exact(k, err);
    return !status && k->o->base_lib ? check_library(k, err) : status;
}
