/* The verdicts of a check without processes: made-up results for class E, made-up series of pairs
 * for class N. */
#include "cmd/gate/check_job.h"

#include "alloc/base/random.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED TAPOOL_ROOT "/tests/fuzz/corpus/baseline/three-cells.json"

enum { PAIRS = 20 };

static const struct tp_stat_rule the_rule = {
    .alpha = 0.01, .effect = 0.05, .tests = 3, .looks = TP_CHECK_LOOKS};

static const struct tp_metric *metric(const char *name)
{
    return tp_metric_find(name, NULL);
}

/* ---- class E ---- */

/* What the cell (web.tpt, NAME) of the baseline would give, twice. */
struct exact {
    struct tp_baseline b;
    const struct tp_baseline_cell *held;
    double values[2][2 * TP_METRIC_MAX];
    struct tp_record_option options[2];
    struct tp_record runs[2];
    struct tp_findings found;
};

static void set(struct exact *e, int run, const char *name, double value)
{
    e->values[run][metric(name) - tp_metrics] = value;
}

static void begin(struct exact *e, const char *strategy)
{
    *e = (struct exact){.options = {{(char *)(uintptr_t) "arena_size", (char *)(uintptr_t) "64MiB"},
                                    {(char *)(uintptr_t) "alignment", (char *)(uintptr_t) "16"}}};
    assert_int_equal(tp_baseline_read(SEED, &e->b, NULL), TP_OK);
    e->held = tp_baseline_cell_find(&e->b, "web.tpt", strategy, "host");
    assert_non_null(e->held);
    for (int i = 0; i < 2; i++) {
        for (size_t m = 0; m < 2 * TP_METRIC_MAX; m++)
            e->values[i][m] = NAN;
        for (size_t v = 0; v < e->held->value_count; v++)
            e->values[i][e->held->values[v].metric - tp_metrics] = e->held->values[v].value;
        e->runs[i] = (struct tp_record){.options = {e->options, 2, false},
                                        .touch = (char *)(uintptr_t) "first",
                                        .exact = true,
                                        .usage = true,
                                        .devices = 1,
                                        .values = e->values[i]};
    }
}

static void compare(struct exact *e)
{
    assert_int_equal(tp_check_compare(&e->b, e->held, &e->runs[0], &e->runs[1], NULL, &e->found),
                     TP_OK);
}

static void end(struct exact *e)
{
    free(e->found.items);
    tp_baseline_release(&e->b);
}

static size_t count(const struct exact *e, enum tp_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < e->found.count; i++)
        n += e->found.items[i].verdict == verdict;
    return n;
}

static const struct tp_finding *only(const struct exact *e, enum tp_verdict verdict)
{
    assert_int_equal(count(e, verdict), 1);
    for (size_t i = 0; i < e->found.count; i++)
        if (e->found.items[i].verdict == verdict)
            return &e->found.items[i];
    return NULL;
}

TEST(what_is_as_it_was_is_unchanged)
{
    struct exact e;
    begin(&e, "arena");
    compare(&e);
    assert_int_equal(e.found.count, e.held->value_count);
    assert_int_equal(count(&e, TP_SAME), e.found.count);
    end(&e);
}

TEST(one_byte_more_is_a_regression)
{
    struct exact e;
    begin(&e, "arena");
    set(&e, 0, "peak_reserved", 131073);
    set(&e, 1, "peak_reserved", 131073);
    compare(&e);
    const struct tp_finding *f = only(&e, TP_REGRESSION);
    assert_ptr_equal(f->metric, metric("peak_reserved"));
    assert_true(f->base == 131072 && f->now == 131073 && f->allowed == 0);
    assert_string_equal(f->note, "");
    end(&e);
}

TEST(tolerances_are_kept)
{
    static const struct {
        const char *strategy, *metric;
        double value;
        enum tp_verdict verdict;
    } cases[] = {
        {"arena", "external_fragmentation", 0.251, TP_SAME}, /* a tenth of a point */
        {"arena", "external_fragmentation", 0.251001, TP_REGRESSION},
        {"arena", "external_fragmentation", 0.249, TP_SAME},
        {"arena", "external_fragmentation", 0.248999, TP_IMPROVED},
        {"arena", "hit_rate", 0.8989, TP_REGRESSION}, /* more is better */
        {"arena", "hit_rate", 0.95, TP_IMPROVED},
        {"arena", "failed_allocations", 1, TP_REGRESSION},
        {"arena", "end_reserved", 0, TP_IMPROVED},
        {"small", "peak_reserved", 131072 + 4096, TP_SAME}, /* its own, by hand */
        {"small", "peak_reserved", 131072 + 4097, TP_REGRESSION},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exact e;
        begin(&e, cases[i].strategy);
        set(&e, 0, cases[i].metric, cases[i].value);
        set(&e, 1, cases[i].metric, cases[i].value);
        compare(&e);
        assert_int_equal(count(&e, TP_REGRESSION), cases[i].verdict == TP_REGRESSION);
        assert_int_equal(count(&e, TP_IMPROVED), cases[i].verdict == TP_IMPROVED);
        end(&e);
    }
}

/* Even where it got better, and even within the tolerance: the baseline holds it as exact. */
TEST(what_disagrees_with_itself_is_a_regression)
{
    struct exact e;
    begin(&e, "arena");
    set(&e, 0, "peak_reserved", 131.4 * 1024 * 1024);
    set(&e, 1, "peak_reserved", 131.6 * 1024 * 1024);
    compare(&e);
    assert_string_equal(only(&e, TP_REGRESSION)->note,
                        "became nondeterministic: 131.4 and 131.6 MiB in two replays");
    end(&e);
    begin(&e, "small");
    set(&e, 1, "peak_reserved", 131071);
    compare(&e);
    assert_string_equal(only(&e, TP_REGRESSION)->note,
                        "became nondeterministic: 131,072 and 131,071 B in two replays");
    end(&e);
}

TEST(a_value_that_is_gone_is_a_regression)
{
    struct exact e;
    begin(&e, "arena");
    set(&e, 0, "peak_reserved", NAN);
    set(&e, 1, "peak_reserved", NAN);
    compare(&e);
    assert_string_equal(only(&e, TP_REGRESSION)->note, "has no value any more");
    end(&e);
    begin(&e, "arena");
    e.runs[1].exact = false;
    compare(&e);
    assert_non_null(strstr(only(&e, TP_REGRESSION)->note, "not exact here"));
    end(&e);
}

TEST(an_option_that_changed_is_named)
{
    struct exact e;
    begin(&e, "arena");
    e.options[0].value = (char *)(uintptr_t) "32MiB";
    compare(&e);
    assert_null(only(&e, TP_REGRESSION)->metric);
    assert_string_equal(only(&e, TP_REGRESSION)->note, "option arena_size: 64MiB -> 32MiB");
    end(&e);
    begin(&e, "arena");
    e.options[0].name = (char *)(uintptr_t) "chunk";
    compare(&e);
    assert_int_equal(count(&e, TP_REGRESSION), 2); /* one came, one went */
    end(&e);
    begin(&e, "arena");
    e.options[1].name = (char *)(uintptr_t) "a"; /* before all others */
    compare(&e);
    assert_int_equal(count(&e, TP_REGRESSION), 2);
    end(&e);
    begin(&e, "arena");
    e.runs[0].touch = (char *)(uintptr_t) "all";
    compare(&e);
    assert_string_equal(only(&e, TP_REGRESSION)->note, "option touch: first -> all");
    end(&e);
}

/* What an older tapool did not write, or an older baseline does not hold, is no change. */
TEST(a_setting_that_changed_is_named)
{
    static const struct {
        const char *held, *now, *note;
    } cases[] = {{"continue", "continue", NULL},
                 {"continue", "stop", "option replay.on_oom: continue -> stop"},
                 {NULL, "stop", NULL},
                 {"stop", NULL, NULL}};
    size_t on_oom = 0;
    while (strcmp(tp_settings[on_oom].option, "on-oom"))
        on_oom++;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exact e;
        struct tp_baseline_cell held;
        struct tp_record_option options[3];
        begin(&e, "arena");
        held = *e.held;
        memcpy(options, held.options.items, 2 * sizeof *options);
        options[2] = (struct tp_record_option){(char *)(uintptr_t) "replay.on_oom",
                                               (char *)(uintptr_t)cases[i].held};
        held.options = (struct tp_record_options){options, cases[i].held ? 3 : 2, false};
        e.held = &held;
        for (int r = 0; r < 2; r++)
            e.runs[r].settings[on_oom] = (char *)(uintptr_t)cases[i].now;
        compare(&e);
        assert_int_equal(count(&e, TP_REGRESSION), cases[i].note != NULL);
        if (cases[i].note)
            assert_string_equal(only(&e, TP_REGRESSION)->note, cases[i].note);
        end(&e);
    }
}

/* ---- class D ---- */

TEST(counts_have_a_share_of_replay)
{
    assert_int_equal(tp_check_judge_counts(100, 101, 0.01), TP_SAME);
    assert_int_equal(tp_check_judge_counts(100, 101.01, 0.01), TP_REGRESSION);
    assert_int_equal(tp_check_judge_counts(100, 99, 0.01), TP_SAME);
    assert_int_equal(tp_check_judge_counts(100, 98.9, 0.01), TP_IMPROVED);
    assert_int_equal(tp_check_judge_counts(100, NAN, 0.01), TP_REGRESSION);
}

/* ---- seeds ---- */

/* A command that is copied from an old report must replay the same rounds. */
TEST(seeds_stay_what_they_are)
{
    static const struct {
        uint64_t seed, of, made;
    } rows[] = {
        {0, 0, UINT64_C(8147104208329303767)},
        {7, 1, UINT64_C(154844686297477902)},
        {123456, 1000, UINT64_C(3301713963875141458)},
        {UINT64_MAX, UINT64_MAX, UINT64_C(6514504133438201533)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(tp_check_seed(rows[i].seed, rows[i].of), rows[i].made);
}

/* ---- class N ---- */

static double *values_of(struct tp_rounds *r, size_t side, const char *name)
{
    return r->values + (side * tp_metric_count + (size_t)(metric(name) - tp_metrics)) * r->rounds;
}

/* Two sides of PAIRS rounds; every metric starts unknown, but for tapool's own share. */
static struct tp_rounds make_rounds(void)
{
    struct tp_rounds r = {.sides = 2, .rounds = PAIRS, .step_ns = 10};
    r.values = calloc(2 * tp_metric_count * PAIRS, sizeof *r.values);
    assert_non_null(r.values);
    for (size_t i = 0; i < 2 * tp_metric_count * PAIRS; i++)
        r.values[i] = NAN;
    for (size_t i = 0; i < (size_t)2 * PAIRS; i++)
        values_of(&r, i / PAIRS, "replay_overhead_ns_per_op")[i % PAIRS] = 2;
    return r;
}

/* `level` with a spread of so many percent, another for each side and `seed`. */
static void fill(struct tp_rounds *r, size_t side, const char *name, double level, double percent,
                 uint64_t seed)
{
    struct tp_random random;
    double *values = values_of(r, side, name);
    tp_random_seed(&random, seed * 2 + side);
    for (unsigned i = 0; i < r->rounds; i++) {
        double share = (double)tp_random_below(&random, 2001) / 1000 - 1; /* -1 to 1 */
        values[i] = level * (1 + percent / 100 * share);
    }
}

static struct tp_noisy_test *test_of(struct tp_noisy_tests *t, size_t cell, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].cell == cell && t->items[i].metric == metric(name))
            return &t->items[i];
    return NULL;
}

/* One cell: base and now at these levels. */
static enum tp_verdict verdict(double base, double now, double percent, uint64_t seed)
{
    struct tp_rounds r = make_rounds();
    struct tp_noisy_tests t = {0};
    fill(&r, 0, "ns_per_op", base, percent, seed);
    fill(&r, 1, "ns_per_op", now, percent, seed);
    assert_int_equal(tp_noisy_collect(&t, 0, &r, seed, NULL), TP_OK);
    assert_int_equal(tp_noisy_decide(&t, &the_rule, NULL), TP_OK);
    assert_int_equal(t.count, 1);
    enum tp_verdict v = t.items[0].difference.verdict;
    free(t.items);
    tp_rounds_release(&r);
    return v;
}

TEST(slower_is_a_regression_and_noise_is_none)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_int_equal(verdict(10, 11, 2, seed), TP_REGRESSION);
        assert_int_equal(verdict(10, 9, 2, seed), TP_IMPROVED);
        assert_int_equal(verdict(10, 10, 2, seed), TP_SAME);
        assert_int_equal(verdict(10, 10.3, 2, seed), TP_SAME); /* below the effect */
    }
    assert_int_equal(verdict(10, 10, 60, 3), TP_INCONCLUSIVE);
}

TEST(what_is_mostly_the_engine_is_insensitive)
{
    assert_int_equal(verdict(0.6, 0.61, 1, 1), TP_INSENSITIVE); /* of 2.6 in all */
    assert_int_equal(verdict(0.7, 0.7, 1, 1), TP_SAME);
    assert_int_equal(verdict(0.6, 1.2, 1, 1), TP_REGRESSION); /* hides behind no fast base */
}

TEST(percentiles_below_ten_steps_are_no_tests)
{
    struct tp_rounds r = make_rounds();
    struct tp_noisy_tests t = {0};
    fill(&r, 0, "ns_per_op", 10, 1, 1);
    fill(&r, 1, "ns_per_op", 10, 1, 1);
    fill(&r, 0, "alloc.p99", 95, 0, 1);
    fill(&r, 1, "alloc.p99", 99, 0, 1);
    fill(&r, 0, "free.p99", 95, 1, 1);
    fill(&r, 1, "free.p99", 150, 1, 1); /* the larger of both medians counts */
    fill(&r, 0, "realloc.p99", 200, 1, 1);
    assert_int_equal(tp_noisy_collect(&t, 0, &r, 1, NULL), TP_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.tested, 2); /* ns_per_op and free.p99 */
    assert_null(test_of(&t, 0, "alloc.p99"));
    assert_null(test_of(&t, 0, "realloc.p99")); /* known on one side only */
    assert_int_equal(tp_noisy_decide(&t, &the_rule, NULL), TP_OK);
    assert_int_equal(test_of(&t, 0, "free.p99")->difference.verdict, TP_REGRESSION);
    free(t.items);
    tp_rounds_release(&r);
}

/* Instructions decide on all of it, percentiles too. */
TEST(an_insensitive_cell_has_no_tests)
{
    struct tp_rounds r = make_rounds();
    struct tp_noisy_tests t = {0};
    for (size_t side = 0; side < 2; side++) {
        fill(&r, side, "ns_per_op", 0.1, 1, 1);
        fill(&r, side, "free.p99", side ? 300 : 150, 1, 1);
    }
    assert_int_equal(tp_noisy_collect(&t, 0, &r, 1, NULL), TP_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.tested, 0);
    assert_int_equal(tp_noisy_decide(&t, &the_rule, NULL), TP_OK);
    assert_int_equal(test_of(&t, 0, "free.p99")->difference.verdict, TP_INSENSITIVE);
    free(t.items);
    tp_rounds_release(&r);
}

/* A time of 0, and a percentile that a replay does not know, take their pair with them: what is
 * left says how sharp the test was. */
TEST(lost_pairs_leave_the_sensitivity)
{
    struct tp_rounds r = make_rounds();
    const struct tp_stat_rule rule = {.alpha = 0.01, .effect = 0.05, .tests = 6, .seed = 1};
    fill(&r, 0, "ns_per_op", 10, 2, 1);
    fill(&r, 1, "ns_per_op", 10, 2, 2);
    double all = tp_noisy_sensitivity(&r, PAIRS, &rule);
    values_of(&r, 0, "ns_per_op")[3] = 0;
    values_of(&r, 1, "ns_per_op")[5] = NAN;
    double rest = tp_noisy_sensitivity(&r, PAIRS, &rule);
    assert_true(isnan(tp_noisy_sensitivity(&r, 8, &rule))); /* too few of them */
    assert_true(all >= 0.05 && all < 0.3);
    assert_true(rest >= 0.05 && rest < 0.3);
    tp_rounds_release(&r);
}

/* Three cells: one regression, one open, one clear. The second look decides the open test and
 * touches nothing else. */
TEST(a_second_look_decides_what_was_open)
{
    const struct {
        double now, spread;
        enum tp_verdict verdict;
    } fresh[] = {{10, 2, TP_SAME}, {12, 2, TP_REGRESSION}, {10, 60, TP_INCONCLUSIVE}};
    for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++) {
        struct tp_noisy_tests t = {0};
        const double now[] = {12, 10, 10}, spread[] = {2, 60, 2};
        for (size_t cell = 0; cell < 3; cell++) {
            struct tp_rounds r = make_rounds();
            fill(&r, 0, "ns_per_op", 10, spread[cell], 3);
            fill(&r, 1, "ns_per_op", now[cell], spread[cell], 3);
            assert_int_equal(tp_noisy_collect(&t, cell, &r, 3, NULL), TP_OK);
            tp_rounds_release(&r);
        }
        assert_int_equal(tp_noisy_decide(&t, &the_rule, NULL), TP_OK);
        assert_false(tp_noisy_is_open(&t, 0));
        assert_true(tp_noisy_is_open(&t, 1));
        const struct tp_difference before[] = {t.items[0].difference, t.items[2].difference};
        struct tp_rounds r = make_rounds();
        fill(&r, 0, "ns_per_op", 10, fresh[i].spread, 3);
        fill(&r, 1, "ns_per_op", fresh[i].now, fresh[i].spread, 3);
        assert_int_equal(tp_noisy_again(&t, 1, &r, 3, &the_rule, NULL), TP_OK);
        assert_int_equal(t.items[1].difference.verdict, fresh[i].verdict);
        assert_int_equal(t.items[1].sets, 2);
        assert_memory_equal(&before[0], &t.items[0].difference, sizeof before[0]);
        assert_memory_equal(&before[1], &t.items[2].difference, sizeof before[1]);
        /* another look at what is decided changes nothing: never until it is green */
        fill(&r, 1, "ns_per_op", 10, 1, 4);
        if (fresh[i].verdict == TP_REGRESSION) {
            assert_int_equal(tp_noisy_again(&t, 1, &r, 4, &the_rule, NULL), TP_OK);
            assert_int_equal(t.items[1].difference.verdict, TP_REGRESSION);
        }
        tp_rounds_release(&r);
        free(t.items);
    }
}

/* ---- resident memory and its parts ---- */

#define MIB 1048576.0

/* Levels of the base and of the new library, as they are at the end. */
struct end_level {
    const char *name;
    double base, now;
};

/* Decides on resident memory and its parts at the end, with a tolerance of 5%. */
static struct tp_noisy_tests decide_end(const struct end_level levels[3], double percent,
                                        uint64_t seed)
{
    static const struct tp_stat_rule rule = {.alpha = 0.01, .effect = 0.05, .looks = 1};
    struct tp_rounds r = make_rounds();
    struct tp_noisy_tests t = {0};
    for (int i = 0; i < 3; i++) {
        fill(&r, 0, levels[i].name, levels[i].base, percent, seed * 3 + (uint64_t)i);
        fill(&r, 1, levels[i].name, levels[i].now, percent, seed * 3 + (uint64_t)i);
    }
    for (int i = 0; i < 3; i++) {
        struct tp_noisy_test test = {.metric = metric(levels[i].name), .sets = 1};
        assert_true(tp_resident_measure(&r, seed, &test));
        tp_resident_allow(&test, 0.05 * test.difference.base);
        assert_int_equal(tp_noisy_add(&t, &test, NULL), TP_OK);
    }
    assert_int_equal(tp_resident_decide(&t, &rule, NULL), TP_OK);
    tp_rounds_release(&r);
    return t;
}

/* A part that grew is found and stands beside the whole; a few pages are nothing, and what moved
 * to another part as the whole shrank is no regression. */
TEST(parts_of_resident_memory_are_judged)
{
    enum { S = TP_SAME, B = TP_IMPROVED, W = TP_REGRESSION };
    static const struct {
        struct end_level levels[3];
        int verdicts[3];
        const char *grown;
    } cases[] = {
#define END(a, b, c, d, e, f)                                                                      \
    {{"end_resident", a, b}, {"end_partly_free", c, d}, {"end_free_pages", e, f}}
        {END(100 * MIB, 112 * MIB, 4 * MIB, 16 * MIB, MIB, MIB), {W, W, S}, "end_partly_free"},
        {END(100 * MIB, 112 * MIB, MIB, 3 * MIB, 0, 10 * MIB), {W, W, W}, "end_free_pages"},
        {END(100 * MIB, 100 * MIB, 4096, 8192, 0, 65536), {S, S, S}, NULL},
        {END(100 * MIB, 100 * MIB, 65536, 140000, 0, 60000), {S, W, S}, NULL},
        {END(100 * MIB, 80 * MIB, 40 * MIB, 10 * MIB, 5 * MIB, 15 * MIB), {B, B, S}, NULL},
        {END(100 * MIB, 100 * MIB, 20 * MIB, 10 * MIB, 5 * MIB, 15 * MIB), {S, B, W}, NULL},
        {END(100 * MIB, 112 * MIB, 4096, 60000, 0, 60000), {W, S, S}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_noisy_tests t = decide_end(cases[i].levels, 1, i + 1);
        for (int k = 0; k < 3; k++)
            if ((int)t.items[k].difference.verdict != cases[i].verdicts[k])
                fail_msg("case %zu, %s: verdict %d", i, t.items[k].metric->name,
                         (int)t.items[k].difference.verdict);
        const struct tp_metric *grown = t.items[0].grown.metric;
        if (cases[i].verdicts[0] == W)
            assert_ptr_equal(grown, cases[i].grown ? metric(cases[i].grown) : NULL);
        free(t.items);
    }
}

/* The same library on both sides, with more noise than was measured. */
TEST(parts_of_the_same_library_are_the_same)
{
    const struct end_level levels[3] = {{"end_resident", 3e6, 3e6},
                                        {"end_partly_free", 80e3, 80e3},
                                        {"end_free_pages", 2.5e6, 2.5e6}};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct tp_noisy_tests t = decide_end(levels, 5, seed);
        for (size_t i = 0; i < t.count; i++)
            assert_int_not_equal(t.items[i].difference.verdict, TP_REGRESSION);
        free(t.items);
    }
}

TEST(too_few_pairs_are_found_out)
{
    assert_int_equal(tp_check_tests_max(false), 7);
    assert_int_equal(tp_check_tests_max(true), 8);
    for (size_t tests = 1; tests <= 1000; tests *= 10) {
        unsigned n = tp_check_pairs_needed(tests, 0.01);
        assert_true(n >= 2 && n < 20);
        double looks = TP_CHECK_LOOKS * (double)tests;
        assert_true(tp_stat_signed_rank_least(n) * looks < 0.01);
        assert_false(tp_stat_signed_rank_least(n - 1) * looks < 0.01);
    }
    assert_int_equal(tp_check_pairs_needed(1, 0), 0);
}

/* Rounds of two sets, one behind the other. */
TEST(sets_are_pooled)
{
    struct tp_rounds first = make_rounds(), more = make_rounds();
    first.cold = calloc(2, sizeof *first.cold);
    more.cold = calloc(2, sizeof *more.cold);
    assert_true(first.cold && more.cold);
    more.cold[1] = 3;
    for (size_t side = 0; side < 2; side++) {
        fill(&first, side, "ns_per_op", 10, 5, 1);
        fill(&more, side, "ns_per_op", 20, 5, 2);
    }
    assert_int_equal(tp_rounds_append(&first, &more, NULL), TP_OK);
    assert_int_equal(first.rounds, 2 * PAIRS);
    assert_int_equal(first.cold[1], 3);
    for (size_t side = 0; side < 2; side++) {
        const double *all = tp_rounds_values(&first, side, metric("ns_per_op"));
        assert_memory_equal(all + PAIRS, values_of(&more, side, "ns_per_op"), PAIRS * sizeof *all);
        assert_true(all[0] < 11 && all[PAIRS - 1] < 11);
    }
    tp_rounds_release(&first);
    tp_rounds_release(&more);
}
