/* What follows from the findings of a check, which are made up here: exit code, verdict and the
 * command that repeats it. */
#include "cmd/gate/check_job.h"

#include "cmd/gate/gate_words.h"
#include "cmd/ui/exit.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
    struct tp_check_opts o;
    struct tp_check k;
    struct tp_gate_cell cell;
    struct tp_err err;
};

static void begin_outcome(struct outcome *x)
{
    *x = (struct outcome){.cell = {.trace = "web.tpt",
                                   .path = "my traces/web.tpt",
                                   .strategy = "arena",
                                   .spec = "arena",
                                   .source = "host"}};
    x->k.o = &x->o;
    assert_int_equal(tp_opts_defaults(tp_check_rows, &x->o, &x->err), TP_OK);
    x->k.gate.cells = &x->cell;
    x->k.gate.cell_count = x->k.gate.cells_total = 1;
    x->k.gate.effect = 0.05;
    x->k.gate.seed = 42;
    x->k.gate.classes[TP_CLASS_EXACT] = (struct tp_class_check){.checked = true, .cells = 1};
}

static void add(struct outcome *x, const char *name, enum tp_verdict v)
{
    const struct tp_finding f = {
        .cell = &x->cell, .metric = tp_metric_find(name, NULL), .verdict = v};
    assert_int_equal(tp_findings_add(&x->k.findings, &f, NULL), TP_OK);
}

static void expect(struct outcome *x, int status, int code, const char *sentence)
{
    assert_int_equal(tp_check_outcome(&x->k, &x->err), status);
    assert_int_equal(x->k.gate.exit_code, code);
    if (sentence && !strstr(x->err.text, sentence))
        fail_msg("'%s' does not say '%s'", x->err.text, sentence);
    free(x->k.findings.items);
    free(x->k.moved);
    free(x->k.causes);
}

TEST(exit_codes_follow_from_what_was_found)
{
    struct outcome x;
    begin_outcome(&x);
    add(&x, "peak_reserved", TP_SAME);
    expect(&x, TP_OK, TP_EXIT_OK, NULL);
    assert_string_equal(x.k.gate.what, "memory and counts only");
    assert_string_equal(x.k.gate.again, "");

    begin_outcome(&x);
    x.o.base_bin = (char *)(uintptr_t) "old's/tapool";
    add(&x, "peak_reserved", TP_REGRESSION);
    add(&x, "hit_rate", TP_REGRESSION);
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "peak_reserved of web.tpt, arena, and 1 more");
    assert_string_equal(x.k.gate.again, "tapool check 'my traces/web.tpt' -s arena --base-bin "
                                        "'old'\\''s/tapool' --seed 42");

    begin_outcome(&x); /* for one reason; by the program that ran */
    snprintf(x.k.program, sizeof x.k.program, "/opt/my tapool");
    add(&x, "end_reserved", TP_REGRESSION);
    add(&x, "peak_reserved", TP_REGRESSION);
    add(&x, "peak_carved", TP_IMPROVED);
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "regression: peak_reserved of web.tpt, arena");
    assert_null(strstr(x.err.text, "more"));
    assert_string_equal(x.k.gate.again,
                        "'/opt/my tapool' check 'my traces/web.tpt' -s arena --seed 42");

    begin_outcome(&x);
    add(&x, "ns_per_op", TP_INCONCLUSIVE);
    expect(&x, TP_OK, TP_EXIT_OK, NULL);
    begin_outcome(&x);
    x.o.inconclusive = TP_CHECK_FAIL;
    add(&x, "ns_per_op", TP_INCONCLUSIVE);
    expect(&x, TP_EUNSURE, TP_EXIT_INCONCLUSIVE, "+10% cannot be excluded");
    begin_outcome(&x);
    x.o.inconclusive = TP_CHECK_FAIL;
    add(&x, "ns_per_op", TP_INCONCLUSIVE);
    add(&x, "peak_reserved", TP_REGRESSION);
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "regression");
}

/* Of two builds what they do not share is said, part by part. */
TEST(builds_are_told_apart)
{
    static const struct {
        const char *base, *now, *says;
    } rows[] = {
        {"x86, GNU 12, release (-O2), glibc", "x86, GNU 12, release (-O2), glibc", ""},
        {"x86, GNU 12, release (-O0), glibc", "x86, GNU 12, release (-O2), glibc",
         "the base has another build: release (-O0), not release (-O2)"},
        {"x86, GNU 1, r, glibc", "x86, GNU 11, r, glibc",
         "the base has another build: GNU 1, not GNU 11"},
        {"x86, r", "x86, r, r", "the base has another build: r, not r, r"},
        {"a", "b", "the base has another build: a, not b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400];
        tp_check_base_build(rows[i].base, rows[i].now, text, sizeof text);
        assert_string_equal(text, rows[i].says);
    }
}

/* What the base does not know is no gap in what --require asks for, and anything else is, whichever
 * comes first. */
TEST(new_cells_are_not_required)
{
    static const struct tp_err news = {.text = "b: no 'x'", .reason = TP_REASON_UNKNOWN};
    static const struct tp_err old = {.text = "b: unknown option '--passes'"};
    static const struct {
        const struct tp_err *errors[3];
        size_t first;
        bool unknown_only;
    } cases[] = {{{&news, NULL, NULL}, 0, true},
                 {{&news, &news, NULL}, 0, true},
                 {{&news, &old, NULL}, 1, false},
                 {{&old, &news, &old}, 0, false},
                 {{&news, &news, &old}, 2, false}};
    struct tp_gate_cell cells[3] = {{.trace = (char *)(uintptr_t) "t"}};
    struct tp_check k = {.gate = {.cells = cells, .cell_count = 3}};
    for (size_t i = 0; i < 3; i++) {
        cells[i].trace = (char *)(uintptr_t) "t";
        cells[i].strategy = (char *)(uintptr_t) "s";
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int checked = 0; checked < 2; checked++) {
            struct tp_gate g = {.cell_count = 4};
            struct tp_class_check *c = &g.classes[TP_CLASS_NOISY];
            struct tp_check_gaps gaps = {0};
            *c = (struct tp_class_check){.checked = checked, .required = true, .cells = 1};
            for (size_t n = 0; n < 3 && cases[i].errors[n]; n++)
                tp_check_gap_base(&gaps, n, cases[i].errors[n]);
            assert_int_equal(gaps.first, cases[i].first);
            tp_check_gaps_describe(&k, &gaps, c);
            assert_int_equal(c->unknown_only, cases[i].unknown_only);
            assert_int_equal(tp_class_unmet(&g, TP_CLASS_NOISY), !cases[i].unknown_only);
            assert_int_equal(strstr(tp_class_unchecked(c).s, "required") != NULL,
                             !cases[i].unknown_only);
        }
}

TEST(nothing_passes_unseen)
{
    struct outcome x;
    char *latency[] = {(char *)(uintptr_t) "latency"},
         *counts[] = {(char *)(uintptr_t) "instructions"};
    begin_outcome(&x);
    x.o.require = (struct tp_opt_list){latency, 1};
    snprintf(x.k.gate.classes[TP_CLASS_NOISY].reason, 64, "needs the old build");
    expect(&x, TP_EFOUND, TP_EXIT_FOUND,
           "--require latency: latency was not checked: needs the old");
    assert_true(x.k.gate.classes[TP_CLASS_NOISY].required);

    begin_outcome(&x); /* in one of two cells */
    x.o.require = (struct tp_opt_list){counts, 1};
    x.k.gate.cells = (struct tp_gate_cell[2]){x.cell, x.cell};
    x.k.gate.cell_count = x.k.gate.cells_total = 2;
    x.k.gate.classes[TP_CLASS_INSTRUCTIONS] = (struct tp_class_check){.checked = true, .cells = 1};
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "not checked in every cell");

    begin_outcome(&x); /* neither time nor instructions can see this cell */
    x.o.require = (struct tp_opt_list){latency, 1};
    x.k.gate.classes[TP_CLASS_NOISY] = (struct tp_class_check){.checked = true, .cells = 1};
    add(&x, "ns_per_op", TP_INSENSITIVE);
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "not checked in every cell: replay overhead is most");
    assert_string_equal(x.k.gate.what, "memory and counts, some latency only");

    begin_outcome(&x); /* instructions see it */
    x.o.require = (struct tp_opt_list){latency, 1};
    x.k.gate.classes[TP_CLASS_NOISY] = (struct tp_class_check){.checked = true, .cells = 1};
    x.k.gate.classes[TP_CLASS_INSTRUCTIONS] = (struct tp_class_check){.checked = true, .cells = 1};
    add(&x, "instructions", TP_SAME);
    add(&x, "ns_per_op", TP_INSENSITIVE);
    expect(&x, TP_OK, TP_EXIT_OK, NULL);
    assert_string_equal(x.k.gate.what, "");

    begin_outcome(&x);
    x.k.gate.classes[TP_CLASS_EXACT].checked = false;
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "nothing was checked");

    begin_outcome(&x);
    x.k.missing = 2;
    x.k.baseline.count = 6;
    snprintf(x.k.missing_why, sizeof x.k.missing_why, "gpu.tpt, lru needs a GPU");
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "2 of 6 cells of the baseline were not run: gpu.tpt, lru");
    begin_outcome(&x);
    x.k.missing = 2;
    x.o.allow_missing = true;
    expect(&x, TP_OK, TP_EXIT_OK, NULL);
}

/* A part of the cells is never a plain PASS, whoever chose it, and no answer to all-cells. */
TEST(a_part_of_the_cells_is_said)
{
    struct outcome x;
    char *all[] = {(char *)(uintptr_t) "all-cells"}, *lru[] = {(char *)(uintptr_t) "lru"};
    begin_outcome(&x);
    x.k.gate.cells_total = 2;
    x.o.strategies = (struct tp_opt_list){lru, 1};
    x.o.effect = 9;
    add(&x, "peak_reserved", TP_SAME);
    expect(&x, TP_OK, TP_EXIT_OK, NULL);
    assert_non_null(
        strstr(tp_gate_verdict(&x.k.gate).s,
               "PASS (1 of 2 cells, memory and counts only): 1 value unchanged; 1 of 2"));
    assert_string_equal(tp_gate_set_by(&x.k.gate).s,
                        "set on the command line: --strategy lru --effect 9");
    assert_string_equal(tp_gate_unmet(&x.k.gate).s, "");

    begin_outcome(&x);
    x.k.gate.cells_total = 2;
    x.o.require = (struct tp_opt_list){all, 1};
    add(&x, "peak_reserved", TP_SAME);
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "--require all-cells: 1 of 2 cells of the baseline were");
    assert_non_null(strstr(tp_gate_unmet(&x.k.gate).s, "all cells"));

    begin_outcome(&x);
    x.o.require = (struct tp_opt_list){all, 1};
    x.k.baseline.tolerances[0].given = true;
    snprintf(x.k.gate.baseline, sizeof x.k.gate.baseline, "b.json");
    add(&x, "peak_reserved", TP_SAME);
    expect(&x, TP_OK, TP_EXIT_OK, NULL);
    assert_string_equal(tp_gate_set_by(&x.k.gate).s, "set by b.json: 1 tolerance");
}

TEST(sensitivity_is_required)
{
    static const struct {
        struct tp_gate_sharpness s;
        int status;
        const char *says, *line;
    } rows[] = {
        {{0.10, 0.05, NULL, 2, 0}, TP_OK, NULL, "; minimum detectable slowdown 10%"},
        {{0.101, 0.05, NULL, 2, 0},
         TP_EUNSURE,
         "--require-sensitivity 10%: minimum detectable slowdown 11%",
         "; minimum detectable slowdown 11%"},
        {{0.06, 0.05, NULL, 2, 1},
         TP_EUNSURE,
         "minimum detectable slowdown 6% at worst, not known in 1 of 2 cells",
         "; minimum detectable slowdown 6% at worst, not known in 1 of 2 cells"},
        {{NAN, NAN, NULL, 0, 0}, TP_EUNSURE, "no times were compared", "; 1 of 1 cell"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome x;
        begin_outcome(&x);
        x.k.gate.sharpness = rows[i].s;
        x.k.gate.sharpness.cell = rows[i].s.cells ? &x.cell : NULL;
        x.k.gate.sensitivity = 0.1;
        add(&x, "ns_per_op", TP_SAME);
        expect(&x, rows[i].status, tp_exit_code(rows[i].status), rows[i].says);
        struct tp_gate_line verdict = tp_gate_verdict(&x.k.gate);
        const char *at = strstr(verdict.s, rows[i].line);
        assert_true(at && !at[strlen(rows[i].line)]);
        assert_true(!strncmp(verdict.s, rows[i].status ? "INCONCLUSIVE" : "PASS", 4));
    }
    struct outcome x;
    begin_outcome(&x); /* a regression is the worse news */
    x.k.gate.sensitivity = 0.1;
    add(&x, "peak_reserved", TP_REGRESSION);
    expect(&x, TP_EFOUND, TP_EXIT_FOUND, "regression");
}
