/* Gates that were never run: what `tapool check` might find, for the tests of its writers. */
#ifndef TP_TEST_GATE_RIG_H
#define TP_TEST_GATE_RIG_H

#include "cmd/gate/gate.h"

#include <math.h>
#include <string.h>

enum { RIG_CELLS = 4, RIG_FINDINGS = 15, RIG_ROOM = 16 };

struct gate_rig {
    struct tp_gate gate;
    struct tp_gate_cell cells[RIG_CELLS];
    struct tp_finding findings[RIG_ROOM];
    struct tp_moved moved[RIG_ROOM];
    struct tp_cause causes[RIG_ROOM];
};

#define RIG_TEXT(field, text) snprintf((field), sizeof(field), "%s", (text))

static struct tp_finding rig_exact(const struct tp_gate_cell *cell, const char *metric, double base,
                                   double now)
{
    struct tp_finding f = {.cell = cell, .metric = tp_metric_find(metric, NULL)};
    f.base = base;
    f.now = now;
    f.change = base != 0 ? now / base - 1 : (double)NAN;
    f.allowed = f.metric->allowed;
    double worse = f.metric->better == TP_BETTER_LESS ? now - base : base - now;
    double limit = f.metric->metric_class == TP_CLASS_EXACT ? f.allowed : f.allowed * base;
    f.verdict = worse > limit ? TP_REGRESSION : TP_SAME;
    if (-worse > limit)
        f.verdict = TP_IMPROVED;
    return f;
}

static struct tp_finding rig_timed(const struct tp_gate_cell *cell, enum tp_verdict verdict,
                                   double ratio, double half, double p)
{
    struct tp_finding f = {.cell = cell, .metric = tp_metric_find("ns_per_op", NULL)};
    f.base = 14.9;
    f.now = 14.9 * ratio;
    f.change = ratio - 1;
    f.allowed = 0.05;
    f.sets = verdict == TP_INCONCLUSIVE ? 2 : 1;
    f.verdict = verdict;
    f.difference = (struct tp_difference){.base = f.base,
                                          .now = f.now,
                                          .estimate = ratio,
                                          .interval = {ratio - half, ratio + half},
                                          .p_worse = p,
                                          .p_better = 1 - p,
                                          .adjusted_worse = fmin(1, 18 * p),
                                          .adjusted_better = 1,
                                          .pairs = verdict == TP_INCONCLUSIVE ? 40 : 20,
                                          .verdict = verdict};
    return f;
}

static void rig_class(struct tp_class_check *c, const char *against, size_t cells, size_t values)
{
    *c = (struct tp_class_check){.checked = true, .cells = cells, .values = values};
    RIG_TEXT(c->against, against);
}

static void rig_unchecked(struct tp_class_check *c, const char *reason, const char *how)
{
    *c = (struct tp_class_check){0};
    RIG_TEXT(c->reason, reason);
    RIG_TEXT(c->how, how);
}

static void rig_count(struct gate_rig *r, size_t count)
{
    r->gate.findings = r->findings;
    r->gate.finding_count = count;
    tp_gate_group(&r->gate, r->moved, r->causes);
}

static void rig_base(struct gate_rig *r)
{
    *r = (struct gate_rig){0};
    struct tp_gate *g = &r->gate;
    r->cells[0] = (struct tp_gate_cell){
        .trace = "web.tpt", .path = "traces/web.tpt", .strategy = "arena", .source = "host"};
    r->cells[1] = (struct tp_gate_cell){.trace = "kvstore.tpt",
                                        .path = "traces/kvstore.tpt",
                                        .strategy = "arena",
                                        .source = "host"};
    r->cells[2] = (struct tp_gate_cell){
        .trace = "sqlite.json", .path = "sample:sqlite", .strategy = "lru", .source = "host"};
    r->cells[3] = (struct tp_gate_cell){
        .trace = "sqlite.json", .path = "sample:sqlite", .strategy = "arena", .source = "host"};
    RIG_TEXT(g->baseline, "tapool-baseline.json");
    RIG_TEXT(g->written, "4 cells, written 2026-10-02, tapool 0.4.1");
    g->cells = r->cells;
    g->cell_count = RIG_CELLS;
    g->cells_total = RIG_CELLS;
    g->sharpness = (struct tp_gate_sharpness){.worst = NAN, .median = NAN};
    g->effect = 0.05;
    g->alpha = 0.01;
    g->pairs = 20;
    g->seed = 90210;
    g->wall_ns = UINT64_C(2100000000);
    rig_class(&g->classes[TP_CLASS_EXACT], "vs baseline, exact", 4, 9);
    rig_unchecked(&g->classes[TP_CLASS_INSTRUCTIONS], "valgrind is not installed",
                  "apt install valgrind");
    rig_unchecked(&g->classes[TP_CLASS_NOISY], "needs the old build",
                  "--base-bin OLD-TAPOOL or --base-strategy");
    RIG_TEXT(g->what, "memory and counts only");
}

/* Everything was checked; E, D and N each have a regression. */
static inline void rig_failing(struct gate_rig *r)
{
    rig_base(r);
    struct tp_gate *g = &r->gate;
    const struct tp_gate_cell *c = r->cells;
    struct tp_finding *f = r->findings;
    f[0] = rig_exact(&c[0], "peak_reserved", 137783501, 144598630);
    f[1] = rig_timed(&c[0], TP_SAME, 1.003, 0.004, 0.4);
    f[2] = rig_exact(&c[0], "internal_fragmentation_weighted", 0.071, 0.083);
    f[3] = (struct tp_finding){.cell = &c[0], .verdict = TP_REGRESSION, .change = NAN};
    RIG_TEXT(f[3].note, "option arena_size: 1MiB -> 2MiB");
    f[4] = rig_timed(&c[1], TP_REGRESSION, 1.101, 0.0195, 0.00000123);
    f[5] = rig_exact(&c[2], "instructions", 61.2, 58.8);
    f[6] = rig_exact(&c[2], "peak_reserved", 1 << 20, 1 << 20);
    f[7] = rig_exact(&c[3], "instructions", 20, 41);
    f[8] = rig_timed(&c[3], TP_IMPROVED, 0.9, 0.01, 0.99999);
    f[8].difference.adjusted_better = 0.00018;
    f[9] = rig_exact(&c[3], "peak_reserved", UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1);
    RIG_TEXT(f[9].note, "became nondeterministic: 1.0 and 1.1 TiB in two replays");
    f[10] = rig_timed(&c[2], TP_INSENSITIVE, 1.2, 0.5, 0.3);
    f[11] = rig_exact(&c[0], "peak_carved", 137783501, 137000000); /* better, and no improvement */
    f[12] = rig_exact(&c[0], "instructions", 20, 20);
    f[13] = rig_exact(&c[1], "instructions", 20, 20);
    f[14] = rig_timed(&c[2], TP_REGRESSION, 1.12, 0.002, 0.0004);
    f[14].metric = tp_metric_find("end_resident", NULL);
    f[14].base = 100 << 20;
    f[14].now = 112 << 20;
    f[14].grown =
        (struct tp_grown){tp_metric_find("end_partly_free", NULL), 1 << 20, 12.5 * (1 << 20)};
    rig_class(&g->classes[TP_CLASS_INSTRUCTIONS], "vs main/tapool, callgrind", 4, 4);
    rig_class(&g->classes[TP_CLASS_NOISY], "vs main/tapool, 20 pairs", 4, 4);
    g->classes[TP_CLASS_EXACT].values = 7;
    g->what[0] = '\0';
    g->sharpness = (struct tp_gate_sharpness){0.058, 0.051, &c[0], 3, 0};
    g->wall_ns = UINT64_C(182000000000);
    g->exit_code = 1;
    RIG_TEXT(g->again,
             "tapool check web.tpt kvstore.tpt sample:sqlite -s arena --base-bin main/tapool "
             "--seed 90210");
    rig_count(r, RIG_FINDINGS);
}

static inline void rig_partial(struct gate_rig *r)
{
    rig_base(r);
    for (size_t i = 0; i < 9; i++)
        r->findings[i] = rig_exact(&r->cells[i % RIG_CELLS], "peak_reserved", 4096, 4096);
    rig_count(r, 9);
}

static inline void rig_inconclusive(struct gate_rig *r)
{
    rig_partial(r);
    struct tp_finding *f = r->findings;
    for (size_t i = 0; i < RIG_CELLS; i++) {
        f[RIG_CELLS + i] = rig_exact(&r->cells[i], "instructions", 20, 20);
        f[2 * RIG_CELLS + i] = rig_timed(&r->cells[i], TP_SAME, 1.003, 0.004, 0.4);
    }
    f[9] = rig_timed(&r->cells[1], TP_INCONCLUSIVE, 1.041, 0.0675, 0.02);
    f[12] = rig_timed(&r->cells[1], TP_INCONCLUSIVE, 0.99, 0.2, 0.4);
    f[12].metric = tp_metric_find("alloc.p99", NULL); /* a tail, below what counts */
    rig_count(r, 13);
    r->gate.classes[TP_CLASS_EXACT].values = 4;
    rig_class(&r->gate.classes[TP_CLASS_INSTRUCTIONS], "vs baseline, callgrind", 4, 4);
    rig_class(&r->gate.classes[TP_CLASS_NOISY], "vs main/tapool, 20 pairs", 4, 5);
    r->gate.what[0] = '\0';
    r->gate.sharpness = (struct tp_gate_sharpness){0.12, 0.09, &r->cells[1], 4, 2};
    r->gate.wall_ns = UINT64_C(280000000000);
}

/* Two cells could not be measured, and in another is a regression. */
static inline void rig_lost(struct gate_rig *r)
{
    static char first[] = "kvstore.tpt, arena: 'lib:a.so' died of signal 6 (Aborted) in its "
                          "process, at event 2";
    static char second[] = "sqlite.json, lru: 'lib:b.so' had not ended after 10 s: it was at event "
                           "4,711";
    rig_partial(r);
    struct tp_gate *g = &r->gate;
    r->cells[1].failed = first;
    r->cells[2].failed = second;
    r->findings[1] = rig_exact(&r->cells[0], "peak_reserved", 4096, 8192);
    r->findings[2] = rig_exact(&r->cells[0], "peak_carved", 4096, 4096);
    rig_count(r, 3);
    rig_class(&g->classes[TP_CLASS_EXACT], "vs baseline, exact", 2, 3);
    RIG_TEXT(g->classes[TP_CLASS_EXACT].reason, first);
    tp_append(g->classes[TP_CLASS_EXACT].reason, 200, "; nor 1 other cell");
    g->classes[TP_CLASS_EXACT].named = true;
    RIG_TEXT(g->error, first);
    g->exit_code = 4;
}

/* It ended before anything was found. */
static inline void rig_aborted(struct gate_rig *r)
{
    rig_base(r);
    struct tp_gate *g = &r->gate;
    g->cell_count = 0;
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        rig_unchecked(&g->classes[c], "the check stopped before this", "");
    RIG_TEXT(g->what, "nothing");
    RIG_TEXT(g->error, "the trace 'traces/web.tpt' of tapool-baseline.json is not there: "
                       "--allow-missing checks the other cells");
    g->exit_code = 3;
    rig_count(r, 0);
}

/* Names as an enemy would choose them. */
static inline void rig_hostile(struct gate_rig *r)
{
    static const char *const bad[] = {"a\"b'c]]><script>&amp;|x``y`\n::error::no\r\x1b[31m\x01",
                                      "%0A%,:@everyone #1 [l](u) *b*",
                                      "\xff\xfe\xc3 \xef\xbf\xbe\xef\xbf\xbf \xe2\x80\xae", ""};
    rig_failing(r);
    for (size_t i = 0; i < RIG_CELLS; i++)
        r->cells[i] = (struct tp_gate_cell){.trace = bad[i],
                                            .path = bad[i],
                                            .strategy = bad[(i + 1) % 4],
                                            .source = bad[(i + 2) % 4]};
    for (size_t i = 0; i < RIG_FINDINGS; i++)
        RIG_TEXT(r->findings[i].note, bad[i % 3]);
    rig_count(r, RIG_FINDINGS);
    RIG_TEXT(r->gate.baseline, bad[0]);
    RIG_TEXT(r->gate.again, bad[0]);
    RIG_TEXT(r->gate.written, bad[1]);
    RIG_TEXT(r->gate.error, bad[0]);
    RIG_TEXT(r->gate.classes[0].against, bad[0]);
    rig_unchecked(&r->gate.classes[1], bad[0], bad[1]);
    r->gate.classes[1].required = true;
}

#endif
