/* What a comparison says of values that are made up: which differ, by how much, who is picked. */
#include "cmd/compare/compare.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12, SIDES = 4 };

static const struct tp_metric *metric(const char *name)
{
    const struct tp_metric *m = tp_metric_find(name, NULL);
    assert_non_null(m);
    return m;
}

/* Everything that a comparison borrows. */
struct rig {
    struct tp_compare c;
    struct tp_stored from;
    struct tp_record runs[SIDES];
    double memory[SIDES][TP_METRIC_MAX];
    struct tp_rounds rounds;
    unsigned cold[SIDES];
};

static void set(struct rig *g, size_t side, const char *name, double value)
{
    g->memory[side][metric(name) - tp_metrics] = value;
}

/* Around `median`, by up to `spread` of it, never twice the same; sides that are alike are each the
 * slower one in every second round. */
static void set_times(struct rig *g, size_t side, const char *name, double median, double spread)
{
    double *values = (double *)(uintptr_t)tp_rounds_values(&g->rounds, side, metric(name));
    for (int i = 0; i < (int)g->rounds.rounds; i++)
        values[i] = median * (1 + spread * ((i * 5 % ROUNDS) - (ROUNDS - 1) / 2.0) / ROUNDS +
                              1e-6 * (double)side * (i % 2 ? 1 : -1));
}

static struct rig *make(size_t rows)
{
    static const char *const labels[SIDES] = {"base", "b", "c", "d"};
    struct rig *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->from = (struct tp_stored){.path = (char[]){"a.json"}, .step_ns = 10};
    g->rounds =
        (struct tp_rounds){.sides = SIDES,
                           .rounds = ROUNDS,
                           .step_ns = 10,
                           .cold = g->cold,
                           .values = calloc(SIDES * tp_metric_count * ROUNDS, sizeof(double))};
    assert_int_equal(tp_compare_init(&g->c, NULL), TP_OK);
    g->c.live = true;
    g->c.rounds = ROUNDS;
    struct tp_compare_table *t = tp_compare_add_table(&g->c);
    t->name = "t";
    for (size_t i = 0; i < rows; i++) {
        for (size_t m = 0; m < TP_METRIC_MAX; m++)
            g->memory[i][m] = NAN;
        g->runs[i] = (struct tp_record){.trace_name = (char *)(uintptr_t) "t",
                                        .kind = (char *)(uintptr_t) "host",
                                        .source = (char *)(uintptr_t) "host",
                                        .scope = (char *)(uintptr_t) "strategy_and_source",
                                        .label = (char *)(uintptr_t)labels[i],
                                        .devices = 1,
                                        .exact = true,
                                        .usage = true,
                                        .values = g->memory[i]};
        struct tp_compare_row *row = tp_compare_add_row(t, labels[i]);
        row->from = &g->from;
        row->run = &g->runs[i];
        row->rounds = &g->rounds;
        row->side = i;
        set(g, i, "peak_reserved", 1000);
        set(g, i, "failed_allocations", 0);
        set_times(g, i, "ns_per_op", 100, 0.02);
        set_times(g, i, "alloc.p99", 500, 0.02);
    }
    t->run = &g->runs[0];
    return g;
}

static void decide(struct rig *g)
{
    struct tp_err err;
    assert_int_equal(tp_compare_columns(&g->c, &(struct tp_opt_list){0}, false, &err), TP_OK);
    assert_int_equal(tp_compare_decide(&g->c, &err), TP_OK);
}

static void drop(struct rig *g)
{
    tp_compare_release(&g->c);
    free(g->rounds.values);
    free(g);
}

static void expect_change(const struct rig *g, size_t row, const char *name, const char *text)
{
    assert_string_equal(tp_compare_change_text(&g->c.tables[0].rows[row], metric(name)).s, text);
}

static void expect_text(const struct rig *g, size_t row, const char *name, const char *text)
{
    assert_string_equal(tp_compare_value_text(&g->c.tables[0].rows[row], metric(name), false).s,
                        text);
}

/* ---- changes ---- */

TEST(test_changes)
{
    struct rig *g = make(4);
    set(g, 1, "peak_reserved", 900);
    set_times(g, 1, "ns_per_op", 70, 0.02);
    set_times(g, 2, "ns_per_op", 103, 0.001); /* shown by any test, and too little to matter */
    set_times(g, 3, "ns_per_op", 115, 1.2);   /* more, and noise */
    decide(g);
    expect_change(g, 0, "peak_reserved", "base");
    expect_change(g, 1, "peak_reserved", "-10.0%");
    expect_change(g, 2, "peak_reserved", "same");
    expect_change(g, 0, "ns_per_op", "base");
    expect_change(g, 1, "ns_per_op", "-30.0%");
    expect_change(g, 2, "ns_per_op", "~");
    expect_change(g, 3, "ns_per_op", "~");
    assert_true(g->c.tables[0].rows[2].cells[metric("ns_per_op") - tp_metrics].p < 0.01);
    assert_true(g->c.tables[0].rows[3].cells[metric("ns_per_op") - tp_metrics].p >= 0.01);
    assert_int_equal(g->c.tables[0].tests, 6);
    drop(g);
}

/* A p of 0.0024 is one in two tests, and none in six. */
TEST(test_many_tests)
{
    for (size_t rows = 2; rows <= 4; rows += 2) {
        struct rig *g = make(rows);
        for (size_t i = 0; i < rows; i++)
            set_times(g, i, "ns_per_op", i == 1 ? 110 : 100, 0.2);
        const double *base = tp_rounds_values(&g->rounds, 0, metric("ns_per_op"));
        double *b = (double *)(uintptr_t)tp_rounds_values(&g->rounds, 1, metric("ns_per_op"));
        for (int i = 0; i < 2; i++) /* two of twelve are a little faster: ranks 1 and 2 of 78 */
            b[i] = base[i] * (0.999 - 0.001 * i);
        decide(g);
        expect_change(g, 1, "ns_per_op", rows == 2 ? "+10.0%" : "~");
        drop(g);
    }
}

/* What a clock cannot tell, what is cold, what failed: no test. */
TEST(test_no_test)
{
    struct rig *g = make(4);
    set_times(g, 0, "alloc.p99", 40, 0.01);
    set_times(g, 1, "alloc.p99", 400, 0.01);
    set_times(g, 1, "ns_per_op", 50, 0.01);
    set_times(g, 2, "ns_per_op", 50, 0.01);
    set_times(g, 3, "ns_per_op", 0, 0);
    set(g, 2, "failed_allocations", 2);
    g->c.tables[0].rows[1].cold = true;
    decide(g);
    expect_text(g, 0, "alloc.p99", "~40");
    expect_change(g, 1, "alloc.p99", "-");
    expect_change(g, 1, "ns_per_op", "(-50.0%)");
    expect_change(g, 2, "ns_per_op", "-");
    expect_text(g, 3, "ns_per_op", "(c)");
    drop(g);
}

TEST(test_zero_base)
{
    struct rig *g = make(2);
    struct tp_err err;
    char *names[] = {(char[]){"skipped_operations"}};
    set(g, 0, "skipped_operations", 0);
    set(g, 1, "skipped_operations", 3);
    assert_int_equal(tp_compare_columns(&g->c, &(struct tp_opt_list){names, 1}, false, &err),
                     TP_OK);
    assert_int_equal(tp_compare_decide(&g->c, &err), TP_OK);
    expect_change(g, 1, "skipped_operations", "from 0");
    drop(g);
}

/* What is no "0.0%" and no "same" either, of facts and of times that are not tested. */
TEST(test_tiny)
{
    struct rig *g = make(4);
    struct tp_err err;
    char *names[] = {(char[]){"overhead"}, (char[]){"cold_ns_per_op"}};
    static const double changes[SIDES] = {0, 4e-7, -4e-7, 0.0012};
    for (size_t i = 0; i < SIDES; i++) {
        set(g, i, "overhead", 1 + changes[i]);
        set(g, i, "cold_ns_per_op", 1000 * (1 + changes[i]));
        g->c.tables[0].rows[i].rounds = NULL;
    }
    assert_int_equal(tp_compare_columns(&g->c, &(struct tp_opt_list){names, 2}, false, &err),
                     TP_OK);
    assert_int_equal(tp_compare_decide(&g->c, &err), TP_OK);
    for (size_t i = 1; i < 3; i++) {
        expect_change(g, i, "overhead", i == 1 ? "+0.00004%" : "-0.00004%");
        expect_change(g, i, "cold_ns_per_op", i == 1 ? "(+0.00004%)" : "(-0.00004%)");
    }
    expect_change(g, 3, "overhead", "+0.1%");
    expect_change(g, 3, "cold_ns_per_op", "(+0.1%)");
    drop(g);
}

TEST(test_few_rounds)
{
    struct rig *g = make(2);
    g->c.rounds = g->rounds.rounds = 3;
    for (size_t i = 0; i < 2; i++) {
        set_times(g, i, "ns_per_op", i ? 50 : 100, 0.01);
        set_times(g, i, "alloc.p99", 500, 0.01);
    }
    decide(g);
    expect_change(g, 1, "ns_per_op", "~");
    assert_int_equal(g->c.tables[0].rounds_needed, 9); /* 2 / 2^9 * 2 tests < 0.01 */
    drop(g);
}

/* All that there is stands behind the usual ones, and changes nothing of what is said of them: two
 * tests, whatever is shown beside. */
TEST(test_all)
{
    struct rig *g = make(2);
    struct tp_err err;
    set_times(g, 1, "ns_per_op", 110, 0.2);
    set_times(g, 0, "alloc.p90", 500, 0.02);
    set_times(g, 1, "alloc.p90", 700, 0.02);
    set(g, 1, "overhead", 1.5);
    set_times(g, 0, "free.p99", NAN, 0);
    set_times(g, 1, "free.p99", NAN, 0);
    assert_int_equal(tp_compare_columns(&g->c, &(struct tp_opt_list){0}, true, &err), TP_OK);
    assert_int_equal(tp_compare_decide(&g->c, &err), TP_OK);
    bool overhead = false;
    for (size_t i = 0; i < g->c.column_count; i++) {
        overhead |= g->c.columns[i] == metric("overhead");
        assert_ptr_not_equal(g->c.columns[i], metric("free.p99"));
        assert_ptr_not_equal(g->c.columns[i], metric("min_capacity"));
    }
    assert_ptr_equal(g->c.columns[0], metric("peak_reserved"));
    assert_true(overhead);
    assert_int_equal(g->c.tables[0].tests, 2);
    expect_change(g, 1, "ns_per_op", "+10.0%");
    expect_change(g, 1, "alloc.p90", "(+40.0%)");
    const char *legend[TP_COMPARE_LEGEND + 1];
    tp_compare_legend(&g->c, &g->c.tables[0], g->c.column_count, legend);
    assert_non_null(strstr(legend[1], "by -v and not by --metric"));
    drop(g);
}

/* Half of the rounds know no percentile: it is not known. */
TEST(test_unknown)
{
    struct rig *g = make(2);
    double *values = (double *)(uintptr_t)tp_rounds_values(&g->rounds, 1, metric("alloc.p99"));
    for (int i = 0; i < ROUNDS / 2 + 1; i++)
        values[i] = NAN;
    decide(g);
    expect_text(g, 1, "alloc.p99", "-");
    expect_change(g, 1, "alloc.p99", "-");
    drop(g);
}

/* ---- order, conditions ---- */

TEST(test_sort)
{
    struct rig *g = make(3);
    struct tp_err err;
    set(g, 0, "peak_reserved", 300);
    set(g, 1, "peak_reserved", 100);
    set(g, 2, "peak_reserved", NAN);
    decide(g);
    assert_int_equal(tp_compare_sort(&g->c, "peak_reserved", &err), TP_OK);
    const struct tp_compare_row *rows = g->c.tables[0].rows;
    assert_string_equal(rows[0].label, "b");
    assert_string_equal(rows[1].label, "base");
    assert_string_equal(rows[2].label, "c");
    for (int i = 0; i < 3; i++)
        assert_int_equal(rows[i].base, 1);
    assert_int_equal(tp_compare_sort(&g->c, "NAME", &err), TP_OK);
    assert_string_equal(rows[1].label, "base");
    assert_int_equal(tp_compare_sort(&g->c, "size", &err), TP_EUSAGE);
    drop(g);
}

/* Of two files: a strategy's rows stay together, whatever the second file's values are. */
TEST(test_sort_files)
{
    static const double peaks[SIDES] = {300, 50, 200, 400};
    static const char *const order[SIDES] = {"c", "d", "base", "b"};
    struct rig *g = make(SIDES);
    struct tp_compare_row *rows = g->c.tables[0].rows;
    for (size_t i = 0; i < SIDES; i++) {
        set(g, i, "peak_reserved", peaks[i]);
        rows[i].file = rows[i].short_file = i % 2 ? "new.json" : "old.json";
        rows[i].base = i - i % 2;
    }
    decide(g);
    assert_int_equal(tp_compare_sort(&g->c, "peak_reserved", NULL), TP_OK);
    for (size_t i = 0; i < SIDES; i++) {
        assert_string_equal(rows[i].label, order[i]);
        assert_int_equal(rows[i].base, i - i % 2);
    }
    drop(g);
}

/* The name, or how it stands in the result. */
TEST(test_names)
{
    assert_ptr_equal(metric("peak_reserved"), metric("memory.peak_reserved_bytes"));
    assert_ptr_equal(metric("peak_reserved"), metric("Peak_Reserved_Bytes"));
    assert_ptr_equal(metric("alloc.p99"), metric("alloc.p99_ns"));
    assert_ptr_equal(metric("alloc.p99"), metric("latency.alloc.p99_ns"));
    assert_ptr_equal(metric("driver_calls.get"), metric("driver_calls.get"));
    assert_null(tp_metric_find("per_op", &(struct tp_err){0}));
    assert_null(tp_metric_find("get", &(struct tp_err){0}));
}

static int check(const struct rig *g, const char *text, struct tp_err *err)
{
    struct tp_condition c;
    assert_int_equal(tp_condition_parse(text, &c, err), TP_OK);
    return tp_compare_check(&g->c, &c, 1, err);
}

TEST(test_conditions)
{
    struct rig *g = make(4);
    struct tp_err err = {0};
    set(g, 1, "peak_reserved", 1030);
    set_times(g, 1, "ns_per_op", 130, 0.02);
    set_times(g, 3, "ns_per_op", 115, 1.2);
    decide(g);
    assert_int_equal(check(g, "peak_reserved>+3%", &err), TP_OK);
    assert_int_equal(check(g, "peak_reserved>+2%", &err), TP_EFOUND);
    assert_string_equal(err.text, "peak_reserved>+2%: t, b: 1.006 KiB vs 1,000 B of base, +3.0%");
    assert_int_equal(check(g, "ns_per_op>+20%", &err), TP_EFOUND); /* shown */
    assert_int_equal(check(g, "ns_per_op>+31%", &err), TP_OK);
    assert_int_equal(check(g, "ns_per_op<-1%", &err), TP_OK);
    assert_int_equal(check(g, "failed_allocations>0", &err), TP_OK);
    set(g, 2, "failed_allocations", 7);
    decide(g);
    assert_int_equal(check(g, "oom", &err), TP_EFOUND);
    assert_string_equal(err.text, "oom: t, c: 7 failed allocations");
    set(g, 2, "failed_allocations", 0);
    g->runs[1].exact = false;
    decide(g);
    assert_int_equal(check(g, "peak_reserved>+2%", &err), TP_EFOUND);
    assert_string_equal(err.text,
                        "peak_reserved>+2%: t, b: 1.006 KiB vs 1,000 B of base, +3.0% (not exact)");
    assert_int_equal(check(g, "ns_per_op>10", &err), TP_EFOUND);
    assert_non_null(strstr(err.text, "; 3 more"));
    assert_int_equal(check(g, "min_capacity>1GiB", &err), TP_EUSAGE); /* nobody knows it */
    set_times(g, 1, "ns_per_op", 115, 1.2);                           /* noise meets nothing */
    decide(g);
    assert_int_equal(check(g, "ns_per_op>+5%", &err), TP_OK);
    drop(g);
}

/* ---- means ---- */

TEST(test_means)
{
    struct rig *g = make(2), *h = make(2);
    set(g, 1, "peak_reserved", 2000);
    set(h, 1, "peak_reserved", 8000);
    set(h, 0, "min_capacity", 0); /* no ratio to nothing */
    set(h, 1, "min_capacity", 5);
    set(g, 0, "min_capacity", 2);
    set(g, 1, "min_capacity", 5);
    struct tp_compare_table *t = tp_compare_add_table(&g->c);
    *t = h->c.tables[0]; /* is released with it */
    h->c.count = 0;
    decide(g);
    assert_int_equal(g->c.mean_count, 2);
    const struct tp_compare_mean *mean = &g->c.means[1];
    size_t peak = (size_t)(metric("peak_reserved") - tp_metrics);
    size_t fits = (size_t)(metric("min_capacity") - tp_metrics);
    assert_string_equal(mean->name.s, "b");
    assert_true(fabs(mean->ratio[peak] - 4) < 1e-9);
    assert_int_equal(mean->traces[peak], 2);
    assert_true(fabs(mean->ratio[fits] - 2.5) < 1e-9);
    assert_int_equal(mean->traces[fits], 1);
    assert_true(g->c.means[0].ratio[peak] == 1);
    assert_false(mean->untested[metric("ns_per_op") - tp_metrics]);
    g->c.mean_count = 0;
    free(g->c.means);
    g->cold[1] = ROUNDS; /* a cold time beside a steady one is shown, not tested */
    g->c.tables[0].rows[1].cold = true;
    decide(g);
    assert_true(g->c.means[1].untested[metric("ns_per_op") - tp_metrics]);
    assert_false(g->c.means[1].untested[peak]);
    drop(g);
    drop(h);
}
