/* Exports: the table and the options that are made from it, a histogram against the text that
 * HdrHistogram prints of the same readings, what Markdown may not take for markup, and files of
 * several results. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/spec.h"
#include "cmd/results/captured.h"
#include "cmd/results/replay_exports.h"
#include "cmd/ui/exports.h"
#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(test_table)
{
    const struct tp_opt *rows = tp_find_command("replay", NULL)->options;
    const char *const *words = tp_opt_find(rows, "format")->choices;
    size_t count = 0;
    for (; tp_replay_exporters.list[count]; count++) {
        const struct tp_exporter *e = tp_replay_exporters.list[count];
        char option[64];
        snprintf(option, sizeof option, "export-%s", e->name);
        assert_string_equal(words[count], e->name);
        assert_int_equal(!!e->print + !!e->write + !!e->write_tree + !!e->write_part, 1);
        assert_true(!e->part == !e->write_part);
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(tp_replay_exporters.list[i]->name, e->name);
        if (!count)
            continue;
        assert_non_null(tp_opt_find(rows, option));
        assert_int_equal(tp_opt_find(rows, option)->type, TP_OPT_TEXT);
        assert_true(e->summary[0] && e->about[0]);
    }
    assert_null(words[count]);
}

/* ---- a report by hand ---- */

enum { RESULTS = 3 };

/* Strategies on one trace; `real` has no source, which keeps this short. */
struct by_hand {
    struct tp_trace trace;
    struct tp_captured captured;
    struct tp_strategy_spec specs[RESULTS];
    struct tp_result results[RESULTS];
    struct tp_report report;
};

static void make(struct by_hand *h, const char *trace, const char *const *labels, size_t count)
{
    static const struct tp_strategy real = {
        .name = "real", .caps = TP_CAP_FOREIGN, .group = TP_GROUP_REAL};
    static char name[64];
    const struct tp_insn insns[] = {ALLOC_INSN(0, 64, 0), FREE_INSN(0, 64, 0)};
    *h = (struct by_hand){.report = {.clock = {.name = "clock", .step_ns = 1.5}}};
    snprintf(name, sizeof name, "%s", trace);
    h->trace.meta.name = name;
    h->trace.program = test_program(insns, 2, false);
    for (size_t i = 0; i < count; i++) {
        h->specs[i].strategy = &real;
        snprintf(h->specs[i].label, sizeof h->specs[i].label, "%s", labels[i]);
        h->results[i] = (struct tp_result){.trace = &h->trace,
                                           .facts = tp_program_facts(h->trace.program),
                                           .spec = &h->specs[i],
                                           .source = &tp_no_source,
                                           .captured = &h->captured,
                                           .run = calloc(1, tp_run_size(1))};
        assert_non_null(h->results[i].run);
        h->results[i].run->device_count = 1;
    }
    h->report.results = h->results;
    h->report.count = h->report.planned = count;
}

static void drop(struct by_hand *h)
{
    for (size_t i = 0; i < h->report.count; i++)
        free(h->results[i].run);
    tp_program_release(h->trace.program);
}

/* What the index-th part is, without the remarks before its head. */
static void print_part(const struct tp_report *r, size_t index, char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(tp_replay_hgrm.write_part(r, index, file, NULL), TP_OK);
    rewind(file);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    const char *head = strstr(text, "       Value");
    assert_non_null(head);
    memmove(text, head, strlen(head) + 1);
}

/* The levels are those of the example in the documentation of HdrHistogram: 5 for each half. */
TEST(test_percentiles)
{
    struct by_hand h;
    char text[4096];
    make(&h, "t", (const char *const[]){"a"}, 1);
    struct tp_latency *l = h.results[0].run->latency.kinds;
    for (uint64_t ns = 20; ns <= 60; ns += 20) {
        tp_hist_add(&l[TP_LAT_ALLOC].hist, ns);
        l[TP_LAT_ALLOC].raw_sum_ns += (double)ns;
    }
    print_part(&h.report, 0, text, sizeof text);
    assert_string_equal(text, "       Value     Percentile TotalCount 1/(1-Percentile)\n"
                              "\n"
                              "      20.000 0.000000000000          1           1.00\n"
                              "      20.000 0.100000000000          1           1.11\n"
                              "      20.000 0.200000000000          1           1.25\n"
                              "      20.000 0.300000000000          1           1.43\n"
                              "      40.000 0.400000000000          2           1.67\n"
                              "      40.000 0.500000000000          2           2.00\n"
                              "      40.000 0.550000000000          2           2.22\n"
                              "      40.000 0.600000000000          2           2.50\n"
                              "      40.000 0.650000000000          2           2.86\n"
                              "      60.000 0.700000000000          3           3.33\n"
                              "      60.000 1.000000000000          3            inf\n"
                              "#[Mean    =       40.000, StdDeviation   =       16.330]\n"
                              "#[Max     =       60.000, Total count    =            3]\n"
                              "#[Buckets =           35, SubBuckets     =           32]\n");
    drop(&h);
}

/* A kind of which no call was timed: no level, no division by 0. */
TEST(test_no_readings)
{
    struct by_hand h;
    char text[4096];
    make(&h, "t", (const char *const[]){"a"}, 1);
    print_part(&h.report, 1, text, sizeof text);
    assert_string_equal(text, "       Value     Percentile TotalCount 1/(1-Percentile)\n"
                              "\n"
                              "#[Mean    =        0.000, StdDeviation   =        0.000]\n"
                              "#[Max     =        0.000, Total count    =            0]\n"
                              "#[Buckets =           35, SubBuckets     =           32]\n");
    drop(&h);
}

static void expect_parts(const struct by_hand *h, const char *const *names)
{
    char name[256];
    size_t i = 0;
    for (; tp_replay_hgrm.part(&h->report, i, name, sizeof name); i++) {
        assert_non_null(names[i]);
        assert_string_equal(name, names[i]);
    }
    assert_null(names[i]);
}

TEST(test_parts)
{
    struct by_hand h;
    make(&h, "t", (const char *const[]){"a"}, 1);
    expect_parts(&h, (const char *const[]){"", "free", "alloc", NULL});
    drop(&h);
    make(&h, "t", (const char *const[]){"a:x=1", "../b"}, 2);
    expect_parts(&h, (const char *const[]){"a_x=1-all", "a_x=1-free", "a_x=1-alloc", ".._b-all",
                                           ".._b-free", ".._b-alloc", NULL});
    h.report.count = 1; /* interrupted */
    expect_parts(&h, (const char *const[]){"a_x=1-all", "a_x=1-free", "a_x=1-alloc", NULL});
    h.report.count = 2;
    drop(&h);
    make(&h, "t", (const char *const[]){"a:b", "a,b", "c"}, 3); /* the same, as a name of a file */
    expect_parts(&h, (const char *const[]){"1-a_b-all", "1-a_b-free", "1-a_b-alloc", "2-a_b-all",
                                           "2-a_b-free", "2-a_b-alloc", "c-all", "c-free",
                                           "c-alloc", NULL});
    drop(&h);
}

/* ---- files ---- */

static int write_word(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    fputs(of, out);
    return TP_OK;
}

static int write_half(const void *of, FILE *out, struct tp_err *err)
{
    fputs(of, out);
    return tp_fail(err, TP_EIO, "no more");
}

/* A file that cannot be written does not keep the others from it, leaves nothing, and is the error.
 */
TEST(test_files)
{
    static const struct tp_exporter half = {.name = "half", .write = write_half};
    static const struct tp_exporter whole = {.name = "whole", .write = write_word};
    static const struct tp_exporters all = {.list = {&whole, &half, &whole, NULL}};
    char folder[] = "/tmp/tapool-exports-XXXXXX", paths[2][64];
    struct tp_exports e = {.format = 0};
    struct tp_err err = {0};
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
        e.files[i + 1] = paths[i];
    }
    assert_int_equal(tp_exports_check(&e, &all, "word", &err), TP_OK);
    assert_int_equal(tp_exports_write(&e, &all, "word", NULL, &err), TP_EIO);
    assert_string_equal(err.text, "no more");
    assert_int_not_equal(access(paths[0], F_OK), 0);
    assert_int_equal(unlink(paths[1]), 0);
    assert_int_equal(rmdir(folder), 0);
}
