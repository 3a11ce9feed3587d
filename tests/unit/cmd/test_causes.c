/* What moved, by cause: which values stand in one line, what stands for them, and what is said. */
#include "tests/unit/gate_rig.h"

#include "cmd/gate/gate_words.h"
#include "tests/unit/test.h"

#include <stdlib.h>

enum { MAX = 64 };

struct found {
    struct tp_gate gate;
    struct tp_gate_cell cells[2];
    struct tp_finding findings[MAX];
    struct tp_moved moved[MAX];
    struct tp_cause causes[MAX];
    size_t count;
};

static void begin(struct found *x)
{
    *x = (struct found){
        .cells = {{.trace = "web.tpt", .path = "web.tpt", .strategy = "arena", .source = "host"},
                  {.trace = "gpu.tpt", .path = "gpu.tpt", .strategy = "lru", .source = "virtual"}}};
    x->gate.effect = 0.05;
}

static struct tp_finding *add(struct found *x, size_t cell, const char *metric, double base,
                              double now)
{
    assert_true(x->count < MAX);
    x->findings[x->count] = rig_exact(&x->cells[cell], metric, base, now);
    return &x->findings[x->count++];
}

static void group(struct found *x)
{
    x->gate.findings = x->findings;
    x->gate.finding_count = x->count;
    tp_gate_group(&x->gate, x->moved, x->causes);
}

static void expect(const struct found *x, size_t cause, enum tp_verdict verdict, size_t figures,
                   const char *text)
{
    assert_true(cause < x->gate.cause_count);
    const struct tp_cause *c = &x->gate.causes[cause];
    assert_string_equal(tp_cause_text(c).s, text);
    assert_fields(*c, verdict, verdict, count, figures);
    assert_ptr_equal(c->figures[0].finding, c->lead);
}

/* What a strategy that holds more memory does to a cell: fifteen values got worse and three better,
 * and no other than the first is news. */
TEST(one_reason_is_one_line)
{
    static const char *const worse[] = {"unused_reserved",
                                        "unused_reserved_weighted",
                                        "end_reserved",
                                        "min_capacity",
                                        "overhead",
                                        "peak_allocated",
                                        "peak_reserved",
                                        "internal_fragmentation",
                                        "driver_calls.get_bytes",
                                        "internal_fragmentation_weighted"};
    static const char *const better[] = {"peak_carved", "peak_metadata", "external_fragmentation"};
    struct found x;
    begin(&x);
    for (size_t i = 0; i < sizeof worse / sizeof *worse; i++)
        add(&x, 0, worse[i], 0.5, 0.565);
    for (size_t i = 0; i < sizeof better / sizeof *better; i++)
        add(&x, 0, better[i], 0.5, 0.4);
    add(&x, 0, "peak_requested", 100, 100);
    group(&x);
    assert_int_equal(x.gate.cause_count, 1);
    expect(&x, 0, TP_REGRESSION, 13, "peak_reserved +13.0%");
    assert_fields(x.gate, told[TP_REGRESSION], 1, told[TP_IMPROVED], 0, told[TP_SAME], 1,
                  counts[TP_REGRESSION], 10, counts[TP_IMPROVED], 3);
    assert_non_null(strstr(tp_cause_folded(x.gate.causes).s, "min_capacity +13.0%, end_reserved"));
    assert_non_null(strstr(tp_cause_folded(x.gate.causes).s, ", 8 more"));
}

/* Two cells, and two families of one cell, have a reason each; improvements come last. */
TEST(reasons_stay_apart)
{
    struct found x;
    begin(&x);
    add(&x, 1, "peak_reserved", 4096, 2048);
    add(&x, 0, "peak_reserved", 1000, 1100);
    add(&x, 1, "driver_calls.get", 10, 1210);
    add(&x, 1, "hit_rate", 0.99, 0.5);
    add(&x, 0, "instructions", 100, 90);
    add(&x, 1, "failed_allocations", 0, 12);
    group(&x);
    assert_int_equal(x.gate.cause_count, 5);
    expect(&x, 0, TP_REGRESSION, 1, "peak_reserved +10.0%");
    expect(&x, 1, TP_REGRESSION, 1, "failed_allocations +12");
    expect(&x, 2, TP_REGRESSION, 2, "driver_calls.get +1,200");
    expect(&x, 3, TP_IMPROVED, 1, "instructions -10.0%");
    expect(&x, 4, TP_IMPROVED, 1, "peak_reserved -50.0%");
}

/* Bytes that were asked for go with the calls where there are more of them, else with memory. */
TEST(bytes_go_with_what_moved_them)
{
    static const struct {
        double get, reserved;
        size_t causes, first;
        const char *text;
    } cases[] = {
        {10, 2000, 1, 2, "peak_reserved +100.0%"}, /* the same calls for more */
        {1010, 1000, 1, 2, "driver_calls.get +1,000"},
        {1010, 2000, 2, 1, "peak_reserved +100.0%"},
        {9, 2000, 2, 2, "peak_reserved +100.0%"}, /* fewer calls for more: an exchange */
        {10, 1000, 1, 1, "driver_calls.get_bytes +100.0%"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct found x;
        begin(&x);
        add(&x, 0, "peak_reserved", 1000, cases[i].reserved);
        add(&x, 0, "driver_calls.get", 10, cases[i].get);
        add(&x, 0, "driver_calls.get_bytes", 1000, 2000);
        group(&x);
        assert_int_equal(x.gate.cause_count, cases[i].causes);
        expect(&x, 0, TP_REGRESSION, cases[i].first, cases[i].text);
    }
}

/* An option is a cause of its own; values that are not exact here are told apart from those that
 * are merely more. */
TEST(what_is_no_size_is_told_apart)
{
    struct found x;
    begin(&x);
    add(&x, 0, "peak_reserved", 1000, 1100);
    struct tp_finding *f = add(&x, 0, "peak_carved", 1000, 1100);
    RIG_TEXT(f->note, "became nondeterministic: 1,000 and 1,100 B in two replays");
    for (int i = 0; i < 2; i++) {
        f = add(&x, 0, "peak_reserved", 1, 2);
        f->metric = NULL;
        RIG_TEXT(f->note, i ? "option a: 1 -> 2" : "option b: 1 -> 2");
    }
    group(&x);
    assert_int_equal(x.gate.cause_count, 4);
    expect(&x, 0, TP_REGRESSION, 1, "option b");
    expect(&x, 1, TP_REGRESSION, 1, "option a");
    expect(&x, 2, TP_REGRESSION, 1, "peak_carved");
    expect(&x, 3, TP_REGRESSION, 1, "peak_reserved +10.0%");
    assert_string_equal(tp_cause_values(&x.gate.causes[2]).s,
                        "became nondeterministic: 1,000 and 1,100 B in two replays");
    assert_string_equal(tp_cause_sentence(&x.gate, &x.gate.causes[0]).s,
                        "web.tpt, arena: option b: 1 -> 2");
}

/* Beside resident memory that got worse stands the part that grew most, on the screen and in
 * sentences; a part with next to no base has its change and its tolerance in bytes. */
TEST(what_grew_is_said)
{
    struct found x;
    begin(&x);
    struct tp_finding *f = add(&x, 0, "end_resident", 100 << 20, 112 << 20);
    f->difference = (struct tp_difference){.pairs = 11, .interval = {NAN, NAN}};
    f->grown =
        (struct tp_grown){tp_metric_find("end_partly_free", NULL), 1 << 20, 12.5 * (1 << 20)};
    f = add(&x, 0, "end_partly_free", 4096, 131072);
    f->difference = (struct tp_difference){.pairs = 11, .interval = {NAN, NAN}};
    f->change = NAN;
    f->allowed = 1;
    group(&x);
    assert_int_equal(x.gate.cause_count, 1);
    expect(&x, 0, TP_REGRESSION, 2, "end_resident +12.0%");
    assert_string_equal(
        tp_cause_sentence(&x.gate, &x.gate.causes[0]).s,
        "web.tpt, arena: end_resident +12.0%: 100 -> 112 MiB, allowed: +5%; partly free pages "
        "after the last event +11.5 MiB; also end_partly_free +124 KiB");
    assert_string_equal(tp_finding_allowed(f).s, "+64 KiB");
    assert_string_equal(tp_finding_sentence(&x.gate, f).s,
                        "web.tpt, arena: end_partly_free 4 -> 128 KiB (+124 KiB), allowed: +64 "
                        "KiB");
}

/* Other devices than the first are named, and values that never changed are no reason. */
TEST(devices_are_named)
{
    struct found x;
    begin(&x);
    add(&x, 1, "peak_reserved", 1000, 1000);
    add(&x, 1, "peak_reserved", 1000, 1500)->device = 1;
    group(&x);
    assert_int_equal(x.gate.cause_count, 1);
    expect(&x, 0, TP_REGRESSION, 1, "peak_reserved[1] +50.0%");
    begin(&x);
    group(&x);
    assert_int_equal(x.gate.cause_count, 0);
}

/* The ratio of the two medians that are printed, or the word that says that it is another. */
TEST(a_change_is_that_of_its_pair)
{
    struct found x;
    begin(&x);
    x.findings[x.count++] = rig_timed(&x.cells[0], TP_REGRESSION, 1.101, 0.02, 1e-6);
    group(&x);
    assert_string_equal(tp_finding_change(&x.findings[0]).s, "+10.1%");
    expect(&x, 0, TP_REGRESSION, 1, "ns_per_op +10.1%");
    x.findings[0].change = 0.12; /* the median of the pairs' ratios */
    assert_string_equal(tp_finding_change(&x.findings[0]).s, "+12.0% paired");
    expect(&x, 0, TP_REGRESSION, 1, "ns_per_op +12.0% (paired)");
}

/* A tail that was not slower by what counts could not have been a regression, however noisy. */
TEST(inconclusive_is_what_could_have_gated)
{
    static const struct {
        const char *metric;
        double ratio;
        bool could;
    } cases[] = {{"ns_per_op", 0.9, true},     {"ns_per_op", 1.3, true},
                 {"alloc.p99", 1.0499, false}, {"alloc.p99", 1.0501, true},
                 {"free.p90", 0.7, false},     {"free.p90", NAN, false}};
    struct found x;
    begin(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_finding *f = &x.findings[x.count++];
        *f = rig_timed(&x.cells[0], TP_INCONCLUSIVE, cases[i].ratio, 0.2, 0.3);
        f->metric = tp_metric_find(cases[i].metric, NULL);
        assert_int_equal(tp_finding_could_gate(&x.gate, f), cases[i].could);
        assert_int_equal(tp_finding_is_open(&x.gate, f), cases[i].could);
        f->verdict = TP_SAME;
        assert_false(tp_finding_could_gate(&x.gate, f));
        f->verdict = TP_INCONCLUSIVE;
    }
    group(&x);
    assert_fields(x.gate, counts[TP_INCONCLUSIVE], 6, told[TP_INCONCLUSIVE], 3);
    x.gate.exit_code = 5; /* all of them count where they are made to fail */
    assert_true(tp_finding_is_open(&x.gate, &x.findings[2]));
}

/* A metric without a family would stand with the options. */
TEST(every_metric_has_a_family)
{
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        assert_true(m->family >= TP_FAMILY_FAILURES && m->family < TP_FAMILIES);
        assert_true(m->follows == 0 || m->follows != m->family);
        bool is_time = tp_metric_is_timed(m) || m->unit == TP_UNIT_INSTRUCTIONS;
        assert_int_equal(m->family == TP_FAMILY_TIME, is_time);
    }
    for (size_t i = 0; i < TP_FAMILIES; i++)
        assert_non_null(tp_family_names[i]);
}
