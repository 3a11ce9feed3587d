/* The writers of `tapool check`: screens, JSON, JUnit, Markdown and what GitHub shows, of gates
 * that were never run. tests/data/gate holds what each must write (UPDATE_GOLDEN=1 rewrites it);
 * tests/cli/gate_files.bats parses those files with other tools. */
#include "tests/unit/gate_rig.h"
#include "tests/unit/occurrences.h"

#include "cmd/cli/commands.h"
#include "cmd/gate/gate_markdown.h"
#include "cmd/gate/gate_words.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/text.h"
#include "tests/unit/test.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- what was written ---- */

static struct {
    char *text;
    size_t length;
    FILE *file;
} sink;

static FILE *sink_open(void)
{
    free(sink.text);
    sink.text = NULL;
    sink.file = open_memstream(&sink.text, &sink.length);
    assert_non_null(sink.file);
    return sink.file;
}

static const char *sink_close(void)
{
    assert_int_equal(fclose(sink.file), 0);
    return sink.text;
}

static int teardown(void **state)
{
    (void)state;
    free(sink.text);
    sink.text = NULL;
    return 0;
}

static const char *written(uint32_t format, const struct tp_gate *g)
{
    const struct tp_exports e = {.format = format};
    assert_int_equal(tp_exports_print(&e, &tp_check_exporters, g, sink_open(), NULL), TP_OK);
    return sink_close();
}

static const char *screen(const struct tp_gate *g, int width, bool color)
{
    struct tp_page page = {.out = sink_open(), .width = width, .color = color};
    tp_gate_print(g, &page);
    return sink_close();
}

static void golden(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/data/gate/%s", TAPOOL_ROOT, name);
    bool update = getenv("UPDATE_GOLDEN") != NULL;
    FILE *file = fopen(path, update ? "w" : "r");
    if (!file)
        fail_msg("%s: cannot be opened; UPDATE_GOLDEN=1 writes it", path);
    if (update) {
        fputs(text, file);
    } else {
        char *expected = calloc(1, strlen(text) + 2);
        size_t got = fread(expected, 1, strlen(text) + 1, file);
        bool same = got == strlen(text) && !memcmp(expected, text, got);
        free(expected);
        if (!same)
            fail_msg("%s differs from:\n%s", path, text);
    }
    fclose(file);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%.3000s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' in:\n%.3000s", part, text);
}

static void assert_width(const char *text, int width)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        char line[4096];
        length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        bool whole = !strncmp(line, "FAIL", 4) || !strncmp(line, "PASS", 4) ||
                     !strncmp(line, "ABORTED", 7) ||
                     !strncmp(line, "  rerun:", 8); /* never wrapped */
        if (!whole && tp_text_width(line) > width)
            fail_msg("wider than %d: %s", width, line);
    }
}

/* ---- words ---- */

TEST(test_changes)
{
    static const struct {
        const char *metric;
        double base, now;
        const char *values, *change, *allowed;
    } rows[] = {
        {"peak_reserved", 137783501, 144598630, "131.4 -> 137.9 MiB", "+4.9%", "0"},
        {"peak_reserved", 900 << 10, 1200 << 10, "900 KiB -> 1.172 MiB", "+33.3%", "0"},
        {"peak_reserved", 0, 4096, "0 B -> 4 KiB", "+4 KiB", "0"},
        {"peak_reserved", 1 << 30, (1 << 30) + 1, "1,073,741,824 -> 1,073,741,825 B", "+1 B", "0"},
        {"peak_reserved", 4096, 4096, "4 -> 4 KiB", "0", "0"},
        {"failed_allocations", 0, 12, "0 -> 12", "+12", "0"},
        {"failed_allocations", 1212, 12, "1,212 -> 12", "-1,200", "0"},
        {"internal_fragmentation", 0.071, 0.074, "7.1 -> 7.4%", "+0.3 points", "0.1 points"},
        {"hit_rate", 0.99, 0.5, "99.0 -> 50.0%", "-49.0 points", "0.1 points"},
        {"internal_fragmentation", 0.07101, 0.07102, "7.101 -> 7.102%", "+0.001 points",
         "0.1 points"},
        {"unused_reserved", 0.99991, 0.99992, "99.991 -> 99.992%", "+0.001 points", "0.1 points"},
        {"overhead", 1.04, 1.21, "1.04x -> 1.21x", "+16.3%", "0"},
        {"overhead", 1256.3421, 1256.3428, "1,256.342x -> 1,256.343x", "+0.0001%", "0"},
        {"overhead", 1, 1 + 1e-15, "1x -> 1.0000000000000011x", "+1e-13%", "0"},
        {"overhead", 2e22, 2e22 + 4194304, "2e+22x -> 2.0000000000000004e+22x", "+2e-14%", "0"},
        {"instructions", 61.2, 61.2001, "61.2000 -> 61.2001", "+0.0002%", "+1%"},
        {"instructions", 61.2, 58.8, "61.2 -> 58.8", "-3.9%", "+1%"},
        {"instructions", 1, 31, "1 -> 31", "+3,000%", "+1%"},
        {"ns_per_op", 14.9, 16.4, "14.9 -> 16.4 ns", "+10.1%", "+5%"},
        {"min_capacity", NAN, 4096, "- -> 4 KiB", "new", "0"},
        {"min_capacity", 4096, NAN, "4 KiB -> -", "gone", "0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_finding f = rig_exact(NULL, rows[i].metric, rows[i].base, rows[i].now);
        assert_string_equal(tp_finding_values(&f).s, rows[i].values);
        assert_string_equal(tp_finding_change(&f).s, rows[i].change);
        assert_string_equal(tp_finding_allowed(&f).s, rows[i].allowed);
    }
}

TEST(test_names)
{
    struct tp_finding f = rig_exact(NULL, "peak_reserved", 1, 1);
    assert_string_equal(tp_finding_name(&f).s, "peak_reserved");
    f.device = 1;
    assert_string_equal(tp_finding_name(&f).s, "peak_reserved[1]");
    f = (struct tp_finding){.verdict = TP_REGRESSION};
    RIG_TEXT(f.note, "option arena_size: 1MiB -> 2MiB");
    assert_string_equal(tp_finding_name(&f).s, "option arena_size");
    assert_string_equal(tp_finding_values(&f).s, "1MiB -> 2MiB");
    assert_string_equal(tp_finding_change(&f).s, "");
    assert_string_equal(tp_finding_note(&f).s, "");
    RIG_TEXT(f.note, "no colon");
    assert_string_equal(tp_finding_name(&f).s, "no colon");
    assert_string_equal(tp_finding_values(&f).s, "");
}

static void assert_verdict(const struct tp_gate *g, const char *expected)
{
    assert_string_equal(tp_gate_verdict(g).s, expected);
}

/* The verdict is read by scripts: its grammar is fixed. */
TEST(test_verdict)
{
    struct tp_gate g = {.cell_count = 6, .cells_total = 6};
    assert_verdict(&g, "PASS (nothing was checked): 0 values unchanged; 6 of 6 cells");
    g.classes[TP_CLASS_NOISY].checked = true;
    assert_verdict(&g, "PASS (nothing was checked): 0 values unchanged; 6 of 6 cells");
    g.finding_count = 102;
    g.counts[TP_SAME] = 78;
    assert_verdict(&g, "PASS: 78 values unchanged; 6 of 6 cells");
    RIG_TEXT(g.what, "memory and counts only");
    assert_verdict(&g, "PASS (memory and counts only): 78 values unchanged; 6 of 6 cells");
    g.counts[TP_INCONCLUSIVE] = 3; /* two of which could not have gated */
    assert_verdict(&g, "PASS (memory and counts only): 78 values unchanged; 6 of 6 cells");
    g.told[TP_INCONCLUSIVE] = 1;
    assert_verdict(&g,
                   "PASS (memory and counts only) with 1 inconclusive: 78 values unchanged; 6 of 6 "
                   "cells");
    g.what[0] = '\0';
    assert_verdict(&g, "PASS with 1 inconclusive: 78 values unchanged; 6 of 6 cells");
    g.exit_code = 5;
    assert_verdict(
        &g, "INCONCLUSIVE: 0 of 81 values worse, 0 better, 78 unchanged, 3 inconclusive; 6 of "
            "6 cells");
    g.exit_code = 4;
    assert_verdict(&g,
                   "ABORTED: 0 of 81 values worse, 0 better, 78 unchanged, 3 inconclusive; 6 of 6 "
                   "cells");
    g.exit_code = 1;
    g.counts[TP_REGRESSION] = 15;
    g.counts[TP_IMPROVED] = 1;
    g.counts[TP_SAME] = 99;
    g.counts[TP_INCONCLUSIVE] = g.told[TP_INCONCLUSIVE] = 0;
    assert_verdict(&g,
                   "FAIL: 15 of 115 values worse, 1 better, 99 unchanged, 0 inconclusive; 6 of 6 "
                   "cells");
    g.counts[TP_REGRESSION] = 1;
    g.counts[TP_INSENSITIVE] = 1234;
    g.cell_count = 2;
    assert_verdict(&g, "FAIL (2 of 6 cells): 1 of 1,335 values worse, 1 better, 99 unchanged, 0 "
                       "inconclusive, 1,234 insensitive; 2 of 6 cells");
    g = (struct tp_gate){.cell_count = 1, .cells_total = 2, .finding_count = 1};
    g.classes[TP_CLASS_NOISY].checked = true;
    assert_verdict(&g, "PASS (1 of 2 cells): 0 values unchanged; 1 of 2 cells");
    RIG_TEXT(g.what, "latency only");
    assert_verdict(&g, "PASS (1 of 2 cells, latency only): 0 values unchanged; 1 of 2 cells");
    g.sharpness = (struct tp_gate_sharpness){0.061, 0.05, &(struct tp_gate_cell){0}, 2, 0};
    assert_verdict(&g,
                   "PASS (1 of 2 cells, latency only): 0 values unchanged; 1 of 2 cells; minimum "
                   "detectable slowdown 7%");
}

TEST(test_sharpness)
{
    struct gate_rig r;
    rig_failing(&r);
    struct tp_gate_sharpness *s = &r.gate.sharpness;
    assert_string_equal(tp_gate_sharpness_text(&r.gate).s, "");
    assert_string_equal(tp_gate_detectable(&r.gate).s, "6%");
    s->worst = 0.064;
    assert_string_equal(tp_gate_sharpness_text(&r.gate).s,
                        "minimum detectable slowdown (90% power): 7% in web.tpt, arena; median of "
                        "the known cells 6%");
    *s = (struct tp_gate_sharpness){0.07, 0.07, &r.cells[0], 1, 0};
    s->cells = 2;
    s->untold = 1;
    assert_string_equal(tp_gate_detectable(&r.gate).s, "7% at worst, not known in 1 of 2 cells");
    assert_has(tp_gate_sharpness_text(&r.gate).s,
               "7% in web.tpt, arena; not known in 1 cell: times vary too much");
    *s = (struct tp_gate_sharpness){NAN, NAN, NULL, 2, 2};
    assert_has(tp_gate_sharpness_text(&r.gate).s, "power): not known in 2 cells: times vary");
    s->cells = s->untold = 0;
    assert_string_equal(tp_gate_sharpness_text(&r.gate).s, "");
    assert_string_equal(tp_gate_detectable(&r.gate).s, "");
}

/* A time that did not move is not listed as "+0.0%", and a change with another sign than the two
 * values beside it is called paired. */
TEST(test_changes_of_times)
{
    struct gate_rig r;
    rig_inconclusive(&r);
    struct tp_finding *f = &r.findings[9];
    f->change = 0.0004;
    f->difference.estimate = 1.0004;
    f->now = f->base;
    assert_string_equal(tp_finding_change(f).s, "0");
    assert_has(screen(&r.gate, 100, false), "arena, ns_per_op [");
    f->change = -0.0004;
    assert_string_equal(tp_finding_change(f).s, "0");
    f->change = 0.02;
    f->difference.estimate = 1.02;
    f->now = 0.99 * f->base;
    assert_string_equal(tp_finding_change(f).s, "+2.0% paired");
    assert_has(tp_finding_sentence(&r.gate, f).s, "(+2.0% paired)");
    assert_has(tp_finding_evidence(&r.gate, f).s, "paired estimate +2.0%");
    assert_has(tp_finding_evidence(&r.gate, f).s, "n = 40 pairs in 2 sets");
    f->change = 0;
    f->now = 1.01 * f->base;
    assert_string_equal(tp_finding_change(f).s, "0 paired");
}

TEST(test_time)
{
    assert_string_equal(tp_gate_time(UINT64_C(2100000000)).s, "2.1 s");
    assert_string_equal(tp_gate_time(UINT64_C(59940000000)).s, "59.9 s");
    assert_string_equal(tp_gate_time(UINT64_C(59960000000)).s, "1 min 00 s");
    assert_string_equal(tp_gate_time(UINT64_C(182000000000)).s, "3 min 02 s");
    assert_string_equal(tp_gate_time(0).s, "0.0 s");
}

/* ---- screens ---- */

static const struct {
    const char *name;
    void (*make)(struct gate_rig *r);
} rigs[] = {{"failing", rig_failing}, {"partial", rig_partial}, {"inconclusive", rig_inconclusive},
            {"aborted", rig_aborted}, {"lost", rig_lost},       {"hostile", rig_hostile}};
enum { RIGS = sizeof rigs / sizeof *rigs };

TEST(test_screens)
{
    struct gate_rig r;
    for (size_t i = 0; i < RIGS; i++) {
        char name[64];
        rigs[i].make(&r);
        snprintf(name, sizeof name, "%s.txt", rigs[i].name);
        golden(name, screen(&r.gate, 100, false));
        assert_width(sink.text, 100);
        snprintf(name, sizeof name, "%s-80.txt", rigs[i].name);
        golden(name, screen(&r.gate, 80, false));
        assert_width(sink.text, 80);
    }
}

TEST(test_colour)
{
    struct gate_rig r;
    rig_failing(&r);
    screen(&r.gate, 100, true);
    assert_has(sink.text, "\033[31;1mREGRESSION\033[0m");
    assert_has(sink.text, "\033[32mbetter\033[0m");
    assert_has(sink.text, "\033[31;1mFAIL\033[0m: 1 option");
    rig_partial(&r);
    screen(&r.gate, 100, true);
    assert_has(sink.text, "\033[1mPASS\033[0m (memory and counts only): 9 values unchanged");
    assert_has(sink.text, "\033[1mNOT CHECKED: needs the old build");
    r.gate.exit_code = 5;
    assert_has(screen(&r.gate, 100, true), "\033[1mINCONCLUSIVE\033[0m");
}

/* Time and exit code end the verdict's line, or stand below where it has no room for them. */
TEST(test_exit_line)
{
    static const int widths[] = {80, 100};
    struct gate_rig r;
    for (size_t i = 0; i < RIGS; i++)
        for (size_t w = 0; w < 2; w++) {
            char end[100], line[1200];
            rigs[i].make(&r);
            struct tp_gate_line verdict = tp_gate_verdict(&r.gate);
            snprintf(end, sizeof end, "%s, exit %d", tp_gate_time(r.gate.wall_ns).s,
                     r.gate.exit_code);
            int room = widths[w] - (int)strlen(verdict.s);
            if (room >= (int)strlen(end) + 2)
                snprintf(line, sizeof line, "\n%s%*s\n", verdict.s, room, end);
            else
                snprintf(line, sizeof line, "\n%s\n  %s\n", verdict.s, end);
            assert_has(screen(&r.gate, widths[w], false), line);
        }
}

/* A gate fails without a regression: why must be said everywhere. */
TEST(test_unmet)
{
    struct gate_rig r;
    rig_partial(&r);
    r.gate.exit_code = 1;
    r.gate.cells_total = 6;
    assert_has(screen(&r.gate, 100, false), "2 cells of the baseline not run: --allow-missing");
    assert_has(written(tp_check_index_junit, &r.gate),
               "<failure type=\"cells\" message=\"2 cells of the");
    assert_has(sink.text, "<testsuites name=\"tapool check\" tests=\"13\" failures=\"1\"");
    assert_has(written(tp_check_index_markdown, &r.gate), "2 cells of the baseline not run");
    r.gate.classes[TP_CLASS_NOISY].required = true;
    assert_has(screen(&r.gate, 100, false), "required but not checked: latency");
    assert_has(sink.text, "NOT CHECKED, though required: needs the old build");
    assert_has(written(tp_check_index_junit, &r.gate), "<failure type=\"not checked\"");
    assert_lacks(sink.text, "<failure type=\"cells\"");
    assert_has(sink.text, "<testsuites name=\"tapool check\" tests=\"13\" failures=\"1\"");
}

/* Instructions were counted in some cells only: said everywhere, and no answer to --require. */
TEST(test_partly)
{
    struct gate_rig r;
    rig_inconclusive(&r);
    struct tp_class_check *c = &r.gate.classes[TP_CLASS_INSTRUCTIONS];
    c->cells = 3;
    RIG_TEXT(c->reason, "of another compiler");
    assert_has(screen(&r.gate, 100, false), "3 of 4 cells");
    assert_has(sink.text, "not in every cell: of another compiler\n");
    assert_has(written(tp_check_index_markdown, &r.gate),
               "callgrind; not in every cell: of another compiler |");
    assert_has(written(tp_check_index_junit, &r.gate),
               "not in every cell: of another compiler</system-out>");
    assert_has(written(tp_check_index_junit, &r.gate), "failures=\"0\"");
    r.gate.exit_code = 1;
    c->required = true;
    assert_has(written(tp_check_index_junit, &r.gate),
               "<failure type=\"not checked\" message=\"not in every cell, though required: of");
    assert_has(screen(&r.gate, 100, false), "required but not checked: instructions");
    c->named = true;
    RIG_TEXT(c->reason, "web.tpt, lru (base: unknown strategy 'lru')");
    assert_has(screen(&r.gate, 100, false), "required, but not in: web.tpt, lru (base: unknown");
    c->required = false;
    assert_has(written(tp_check_index_markdown, &r.gate),
               "; not in: web.tpt, lru (base: unknown strategy");
}

TEST(test_nothing)
{
    struct tp_gate g = {.sharpness = {.worst = NAN, .median = NAN}};
    assert_has(screen(&g, 80, true),
               "PASS\033[0m (nothing was checked): 0 values unchanged; 0 of 0 ");
    assert_has(sink.text, "no baseline");
    assert_has(written(tp_check_index_junit, &g),
               "tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"3\"");
    assert_has(written(tp_check_index_markdown, &g), "## tapool check: PASS (nothing was checked)");
    assert_has(written(tp_check_index_json, &g), "\"findings\":\t[]");
}

/* ---- files ---- */

TEST(test_trackers)
{
    struct gate_rig r;
    rig_failing(&r);
    golden("failing.bmf", written(tp_check_index_bmf, &r.gate));
    golden("failing.benchmarks", written(tp_check_index_benchmarks, &r.gate));
}

/* An option that changed has no value, and stands before those of its cell. */
TEST(a_cell_whose_first_finding_has_no_value_has_its_own_object)
{
    const struct tp_metric *peak = tp_metric_find("peak_reserved", NULL);
    struct tp_gate_cell cells[2] = {{.trace = "a.tpt", .strategy = "arena", .source = "host"},
                                    {.trace = "a.tpt", .strategy = "bump", .source = "host"}};
    struct tp_finding findings[3] = {{.cell = &cells[0], .metric = peak, .now = 1},
                                     {.cell = &cells[1], .now = NAN},
                                     {.cell = &cells[1], .metric = peak, .now = 2}};
    const struct tp_gate g = {.findings = findings, .finding_count = 3};
    cJSON *root = cJSON_Parse(written(tp_check_index_bmf, &g));
    assert_non_null(root);
    assert_int_equal(cJSON_GetArraySize(root), 2);
    for (cJSON *cell = root->child; cell; cell = cell->next)
        assert_int_equal(cJSON_GetArraySize(cell), 1);
    cJSON_Delete(root);
}

TEST(test_junit)
{
    struct gate_rig r;
    for (size_t i = 0; i < RIGS; i++) {
        char name[64];
        rigs[i].make(&r);
        snprintf(name, sizeof name, "%s.xml", rigs[i].name);
        golden(name, written(tp_check_index_junit, &r.gate));
    }
    rig_failing(&r);
    written(tp_check_index_junit, &r.gate);
    assert_int_equal(occurrences(sink.text, "<failure type=\"regression\""),
                     r.gate.counts[TP_REGRESSION]);
    assert_int_equal(occurrences(sink.text, "<testcase"), RIG_FINDINGS + 4);
    assert_has(sink.text, "p 1.23e-06 raw, 2.21e-05 adjusted; n = 20 pairs");
    assert_has(sink.text, "medians 14.9 -&gt; 16.4 ns; paired estimate +10.1%, 95% CI");
    assert_has(sink.text, "--seed 90210");
    rig_class(&r.gate.classes[TP_CLASS_EXACT], "vs baseline, exact", 1, 1);
    assert_has(written(tp_check_index_junit, &r.gate),
               "vs baseline, exact: 1 cell, 1 value</system-out>");
}

TEST(test_markdown)
{
    struct gate_rig r;
    for (size_t i = 0; i < RIGS; i++) {
        char name[64];
        rigs[i].make(&r);
        snprintf(name, sizeof name, "%s.md", rigs[i].name);
        golden(name, written(tp_check_index_markdown, &r.gate));
    }
    rig_failing(&r);
    assert_true(!strncmp(written(tp_check_index_markdown, &r.gate),
                         "## tapool check: FAIL\n\n**1 opt", 30));
}

/* What the build and the machine say of themselves is another everywhere. */
static void fix_member(cJSON *root, const char *name, const char *value)
{
    cJSON *item = cJSON_Parse(value);
    assert_non_null(cJSON_GetObjectItemCaseSensitive(root, name));
    assert_true(cJSON_ReplaceItemInObjectCaseSensitive(root, name, item));
}

TEST(test_json)
{
    struct gate_rig r;
    for (size_t i = 0; i < RIGS; i++) {
        char name[64];
        rigs[i].make(&r);
        cJSON *root = cJSON_Parse(written(tp_check_index_json, &r.gate));
        assert_non_null(root);
        fix_member(root, "tool",
                   "{\"version\":\"1.0\",\"commit\":null,\"build\":\"release\",\"compiler\":\"cc\","
                   "\"flags\":\"-O2\"}");
        fix_member(root, "machine",
                   "{\"os\":\"Linux\",\"arch\":\"x86_64\",\"cpu\":\"a\",\"libc\":\"b\","
                   "\"cores\":2,\"memory_bytes\":1024,\"page_bytes\":4096}");
        char *text = cJSON_Print(root);
        snprintf(name, sizeof name, "%s.json", rigs[i].name);
        golden(name, text);
        cJSON_free(text);
        cJSON_Delete(root);
    }
}

/* A line of TP_CHECK_EXPORTS is all that a form needs: its options are made from it. */
TEST(test_options)
{
    const struct tp_opt *rows = tp_find_command("check", NULL)->options;
    const char *const *words = tp_opt_find(rows, "format")->choices;
    for (size_t i = 0; i < tp_check_index_end; i++) {
        char name[64];
        snprintf(name, sizeof name, "export-%s", tp_check_exporters.list[i]->name);
        assert_string_equal(words[i], tp_check_exporters.list[i]->name);
        assert_true(!i == !tp_opt_find(rows, name));
        assert_true(!i || tp_opt_find(rows, name)->type == TP_OPT_TEXT);
    }
    assert_null(tp_check_exporters.list[tp_check_index_end]);
    assert_null(words[tp_check_index_end]);
}

/* ---- GitHub ---- */

static char summary[64];

static void summary_begin(size_t bytes)
{
    snprintf(summary, sizeof summary, "/tmp/tapool-summary-XXXXXX");
    int fd = mkstemp(summary);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
    setenv("GITHUB_STEP_SUMMARY", summary, 1);
}

/* The file's text, which the caller frees. */
static char *summary_end(size_t *length)
{
    FILE *file = fopen(summary, "r");
    char *text = calloc(1, (2 << 20) + 1);
    assert_non_null(file);
    assert_non_null(text);
    *length = fread(text, 1, 2 << 20, file);
    fclose(file);
    unlink(summary);
    unsetenv("GITHUB_STEP_SUMMARY");
    return text;
}

/* Both parts of what GitHub is told, in the order in which a check does it. */
static int github(const struct tp_gate *g, struct tp_err *err)
{
    bool full = false;
    int status = tp_gate_summary(g, &full, err);
    tp_gate_annotate(g, full, sink_open());
    sink_close();
    return status;
}

TEST(test_github)
{
    struct gate_rig r;
    for (size_t i = 0; i < RIGS; i++) {
        char name[64];
        size_t length;
        rigs[i].make(&r);
        summary_begin(3);
        assert_int_equal(github(&r.gate, NULL), TP_OK);
        snprintf(name, sizeof name, "%s.github", rigs[i].name);
        golden(name, sink.text);
        char *text = summary_end(&length);
        assert_true(!strncmp(text, "xxx\n## tapool check: ", 20));
        free(text);
    }
}

TEST(test_no_summary)
{
    struct gate_rig r;
    struct tp_err err = {0};
    rig_partial(&r);
    assert_int_equal(github(&r.gate, &err), TP_OK);
    assert_int_equal(occurrences(sink.text, "::warning title=tapool check%3A "), 2);
    setenv("GITHUB_STEP_SUMMARY", "/nonexistent/summary", 1);
    assert_int_equal(github(&r.gate, &err), TP_EIO);
    assert_has(err.text,
               "'/nonexistent/summary' ($GITHUB_STEP_SUMMARY) cannot be written: No such");
    unsetenv("GITHUB_STEP_SUMMARY");
}

/* An error ended the check before anything was found: it is an errored test case, one annotation,
 * a line of the summary, and no green. */
TEST(test_aborted)
{
    struct gate_rig r;
    static const char why[] = "the trace &#39;traces/web.tpt&#39; of tapool-baseline.json is not";
    rig_aborted(&r);
    assert_has(written(tp_check_index_junit, &r.gate),
               "tests=\"4\" failures=\"0\" errors=\"1\" time=");
    assert_has(sink.text, "failures=\"0\" errors=\"1\" skipped=\"3\" time=");
    assert_has(sink.text, "<error type=\"aborted\" message=\"");
    assert_has(sink.text, why);
    assert_has(written(tp_check_index_markdown, &r.gate), "## tapool check: ABORTED");
    assert_has(sink.text, "the trace 'traces/web.tpt' of");
    assert_int_equal(github(&r.gate, NULL), TP_OK);
    assert_int_equal(occurrences(sink.text, "::"), 2);
    assert_has(sink.text, "::error title=tapool check::the trace 'traces/web.tpt' of");
    rig_failing(&r); /* with a regression both are told */
    r.gate.exit_code = 4;
    RIG_TEXT(r.gate.error, "killed by signal 9");
    assert_has(written(tp_check_index_junit, &r.gate), "failures=\"7\" errors=\"1\" time=");
    assert_has(sink.text, "<error type=\"aborted\" message=\"killed by signal 9\"/>");
    assert_has(screen(&r.gate, 100, false), "\nFAIL: 1 option changed, 6 of 14 values worse");
    assert_has(sink.text, "\n  killed by signal 9\n");
}

/* Each cell that could not be measured is named, with its reason, once. */
TEST(test_lost)
{
    struct gate_rig r;
    static const char *const whys[] = {"'lib:a.so' died of", "'lib:b.so' had not ended"};
    rig_lost(&r);
    for (size_t i = 0; i < 2; i++) {
        assert_has(screen(&r.gate, 100, false), whys[i]);
        assert_has(written(tp_check_index_markdown, &r.gate), whys[i]);
        assert_has(written(tp_check_index_json, &r.gate), whys[i]);
        assert_int_equal(github(&r.gate, NULL), TP_OK);
        assert_has(sink.text, whys[i]);
    }
    assert_int_equal(occurrences(screen(&r.gate, 100, false), whys[1]), 1);
    assert_has(written(tp_check_index_junit, &r.gate),
               "tests=\"9\" failures=\"1\" errors=\"3\" time=");
    assert_int_equal(occurrences(sink.text, "<error type=\"failed\""), 2);
    assert_int_equal(occurrences(sink.text, "<testcase"), 9);
}

/* ---- too many ---- */

/* A sanitizer is several times as slow: it sees the fuller two of the four files. */
#if defined(__SANITIZE_ADDRESS__)
enum { MANY = 10000, FIRST_SIZE = 2 };
#else
enum { MANY = 10000, FIRST_SIZE = 0 };
#endif

/* Regressions are options, each a cause of its own. */
static struct tp_finding *many(struct gate_rig *r, enum tp_verdict verdict)
{
    static struct tp_moved moved[MANY];
    static struct tp_cause causes[MANY];
    struct tp_finding *f = calloc(MANY, sizeof *f);
    assert_non_null(f);
    rig_failing(r);
    for (size_t i = 0; i < MANY; i++) {
        f[i] = rig_timed(&r->cells[i * RIG_CELLS / MANY], verdict, 1.2, 0.1, 1e-9);
        if (verdict == TP_REGRESSION)
            f[i].metric = NULL;
        RIG_TEXT(f[i].note, "a note that makes each of these rows somewhat longer than it would "
                            "be, as one of a metric that is not deterministic any more");
    }
    r->gate.findings = f;
    r->gate.finding_count = MANY;
    tp_gate_group(&r->gate, moved, causes);
    assert_int_equal(r->gate.counts[verdict], MANY);
    return f;
}

TEST(test_many)
{
    struct gate_rig r;
    struct tp_finding *f = many(&r, TP_REGRESSION);
    assert_has(screen(&r.gate, 100, false), "9,960 more: see --export-json FILE");
    assert_true(occurrences(sink.text, "\n") < 160);
    written(tp_check_index_markdown, &r.gate);
    assert_true(sink.length <= TP_MARKDOWN_COMMENT);
    assert_true(sink.length > TP_MARKDOWN_COMMENT - 2000);
    assert_has(sink.text, " more rows do not fit here");
    assert_has(sink.text, "\n9,995 more, below\n");
    assert_int_equal(occurrences(written(tp_check_index_junit, &r.gate), "<failure type="), MANY);
    assert_int_equal(
        occurrences(written(tp_check_index_json, &r.gate), "\"verdict\":\t\"regression\""),
        2 * MANY); /* and their causes */
    free(f);
}

/* At most 10 of a kind, at most 1 MiB in the file with what others wrote to it. */
TEST(test_github_limits)
{
    static const size_t before[] = {0, 100000, (1 << 20) - 9000, (1 << 20) - 100};
    struct gate_rig r;
    struct tp_finding *f = many(&r, TP_INCONCLUSIVE);
    for (size_t i = FIRST_SIZE; i < sizeof before / sizeof *before; i++) {
        size_t length;
        summary_begin(before[i]);
        assert_int_equal(github(&r.gate, NULL), TP_OK);
        assert_int_equal(occurrences(sink.text, "::warning "), 10);
        char *text = summary_end(&length);
        assert_true(length <= 1 << 20);
        bool full = i == 3;
        assert_int_equal(strstr(sink.text, "the step summary is full") != NULL, full);
        assert_has(sink.text, full ? "9,992 more: see the step" : "9,991 more: see the step");
        assert_int_equal(length > before[i], !full);
        assert_int_equal(strstr(text, "more rows do not fit here") != NULL, !full);
        free(text);
    }
    r.gate.finding_count = 10; /* as many as there may be: all of them */
    assert_int_equal(github(&r.gate, NULL), TP_OK);
    assert_int_equal(occurrences(sink.text, "::warning "), 10);
    assert_lacks(sink.text, "more;");
    r.gate.exit_code = 5; /* --inconclusive=fail */
    assert_int_equal(github(&r.gate, NULL), TP_OK);
    assert_int_equal(occurrences(sink.text, "::error "), 10);
    free(f);
}

GROUP(NULL, teardown)
