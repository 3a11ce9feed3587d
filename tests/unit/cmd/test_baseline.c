/* Baselines: read, written back as the same bytes, and damaged in every way that a file can be that
 * people edit and git merges. */
#include "cmd/baseline/baseline.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED TAPOOL_ROOT "/tests/fuzz/corpus/baseline/three-cells.json"

static char *load(void)
{
    char *text = calloc(1, 1 << 16);
    FILE *in = fopen(SEED, "r");
    assert_non_null(text);
    assert_non_null(in);
    assert_true(fread(text, 1, (1 << 16) - 1, in) > 0);
    fclose(in);
    return text;
}

static int parse(const char *text, struct tp_baseline *b, struct tp_err *err)
{
    return tp_baseline_parse(text, strlen(text), "b.json", b, err);
}

static char *written(const struct tp_baseline *b)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(tp_baseline_write(b, out, NULL), TP_OK);
    fclose(out);
    return text;
}

static const struct tp_metric *metric(const char *name)
{
    return tp_metric_find(name, NULL);
}

/* ---- whole ---- */

TEST(what_is_read_is_written_as_it_was)
{
    struct tp_baseline b;
    char *text = load();
    assert_int_equal(parse(text, &b, NULL), TP_OK);
    char *again = written(&b);
    assert_string_equal(text, again);
    free(again);
    free(text);
    tp_baseline_release(&b);
}

TEST(cells_hold_what_the_file_says)
{
    struct tp_baseline b;
    assert_int_equal(tp_baseline_read(SEED, &b, NULL), TP_OK);
    assert_int_equal(b.count, 3);
    assert_string_equal(b.reason, "the first \"one\"");
    const struct tp_baseline_cell *c = tp_baseline_cell_find(&b, "gpu.tpt", "lru", "virtual");
    assert_non_null(c);
    assert_int_equal(c->events, 12);
    assert_true(tp_baseline_value_find(c, metric("peak_reserved"), 0)->value == 1048576);
    assert_true(tp_baseline_value_find(c, metric("peak_reserved"), 1)->value == 524288);
    assert_null(tp_baseline_value_find(c, metric("peak_reserved"), 2));
    assert_null(c->fingerprint);
    c = tp_baseline_cell_find(&b, "web.tpt", "arena", "host");
    assert_true(c->instructions == 61.25);
    assert_true(c->latency.spread == 0.012);
    c = tp_baseline_cell_find(&b, "web.tpt", "small", "host");
    assert_string_equal(c->spec, "arena:arena_size=1MiB");
    assert_int_equal(c->loose_count, 2);
    assert_null(tp_baseline_cell_find(&b, "web.tpt", "small", "virtual"));
    tp_baseline_release(&b);
}

TEST(large_numbers_survive)
{
    struct tp_baseline b, again;
    assert_int_equal(
        tp_baseline_read(TAPOOL_ROOT "/tests/fuzz/corpus/baseline/large-numbers.json", &b, NULL),
        TP_OK);
    char *text = written(&b);
    assert_int_equal(parse(text, &again, NULL), TP_OK);
    for (size_t i = 0; i < 2; i++)
        assert_true(again.cells[0].values[i].value == b.cells[0].values[i].value);
    assert_true(b.cells[0].values[1].value == 0x1p64);
    free(text);
    tp_baseline_release(&b);
    tp_baseline_release(&again);
}

TEST(tolerances_go_from_the_nearest)
{
    struct tp_baseline b;
    assert_int_equal(tp_baseline_read(SEED, &b, NULL), TP_OK);
    const struct tp_baseline_cell *own = tp_baseline_cell_find(&b, "web.tpt", "small", "host");
    const struct tp_baseline_cell *other = tp_baseline_cell_find(&b, "web.tpt", "arena", "host");
    const struct tp_metric *overhead = metric("overhead"), *peak = metric("peak_reserved");
    const struct tp_metric *internal = metric("internal_fragmentation");
    assert_true(tp_tolerance_of(&b, own, peak, 131072, 7) == 4096);
    assert_true(tp_tolerance_of(&b, other, peak, 131072, 7) == 7);
    assert_true(fabs(tp_tolerance_of(&b, own, overhead, 4, 7) - 0.1) < 1e-12);
    assert_true(tp_tolerance_of(&b, own, internal, 0.5, 7) == 0.002);
    assert_true(tp_tolerance_of(&b, other, metric("instructions"), 61, 7) == 0.02);
    tp_baseline_release(&b);
}

TEST(tolerances_read_as_people_write_them)
{
    static const struct {
        const char *metric, *text;
        bool good, relative;
        double value;
    } cases[] = {
        {"peak_reserved", "64KiB", true, false, 65536},
        {"peak_reserved", "0", true, false, 0},
        {"peak_reserved", "2%", true, true, 0.02},
        {"peak_reserved", "2%", true, true, 0.02},
        {"internal_fragmentation", "0.5%", true, false, 0.005}, /* points */
        {"instructions", "2%", true, false, 0.02},              /* always a share */
        {"failed_allocations", "64KiB", false, false, 0},
        {"peak_reserved", "-1", false, false, 0},
        {"peak_reserved", "nan", false, false, 0},
        {"peak_reserved", "1e999", false, false, 0},
        {"peak_reserved", "", false, false, 0},
        {"peak_reserved", "2%%", false, false, 0},
        {"peak_reserved", "20000%", false, false, 0},
        {"instructions", "2", false, false, 0}, /* no 200% */
        {"instructions", "100%", false, false, 0},
        {"unused_reserved", "5", false, false, 0},
        {"unused_reserved", "0.05", true, false, 0.05},
        {"overhead", "1", true, false, 1},
        {"resident_at_peak", "10%", true, true, 0.1},
        {"resident_at_peak", "64KiB", true, false, 65536},
        {"peak_resident", "100%", true, true, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_tolerance t;
        bool good = tp_tolerance_parse(metric(cases[i].metric), cases[i].text, &t);
        assert_int_equal(good, cases[i].good);
        if (!good)
            continue;
        assert_int_equal(t.relative, cases[i].relative);
        assert_true(fabs(t.value - cases[i].value) < 1e-12);
    }
}

/* ---- damaged ---- */

/* `text` with the first `from` become `to`. */
static char *changed(const char *text, const char *from, const char *to)
{
    char *at = strstr(text, from), *out = NULL;
    assert_non_null(at);
    assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    return out;
}

static void refused(const char *text, const char *sentence)
{
    struct tp_baseline b;
    struct tp_err err = {0};
    assert_int_equal(parse(text, &b, &err), TP_EINPUT);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' does not say '%s'", err.text, sentence);
    tp_baseline_release(&b);
}

TEST(damage_is_named)
{
    static const struct {
        const char *from, *to, *sentence;
    } cases[] = {
        {"baseline/2", "baseline/1", "the schema is 'tapool.baseline/1'"},
        {"\"schema\"", "\"shema\"", "schema is missing"},
        {"131072", "NaN", "not a"},
        {"131072", "1e999", "beyond all numbers"},
        {"131072", "-1", "out of its range"},
        {"131072", "\"much\"", "is not a number"},
        {"131072", "null", "is not a number"},
        {"\"end_reserved\"", "\"end_reserve\"", "is not a metric that this tapool can check"},
        {"\"end_reserved\"", "\"ns_per_op\"", "is not a metric that this tapool can check"},
        {"\"end_reserved\"", "\"peak_reserved\"", "has 'peak_reserved' twice"},
        {"peak_reserved[1]", "peak_reserved[0]", "is not a metric"},
        {"peak_reserved[1]", "peak_reserved[999]", "is not a metric"},
        {"peak_reserved[1]", "failed_allocations[1]", "is not a metric"},
        {"\"tolerances\"", "\"tolerence\"", "is not a member that this tapool knows"},
        {"\"overhead\": \"2.5%\"", "\"ns_per_op\": 0.1", "has no tolerance: it is a time"},
        {"\"overhead\": \"2.5%\"", "\"mapped_puts\": 1", "has no tolerance: it decides nothing"},
        {"\"overhead\": \"2.5%\"", "\"end_resident\": \"a lot\"", "neither a number nor a share"},
        {"\"instructions\": 0.02", "\"instructions\": 2", "is a share, and 1 is 100%"},
        {"\"2.5%\"", "\"a lot\"", "neither a number nor a share"},
        {"\"program_hash\": \"26", "\"program_hash\": \"2G", "is not a SHA-256"},
        {"\"events\": 12,", "", "events is missing"},
        {"\"events\": 12,", "\"events\": 1.5,", "not a whole number"},
        {"\"spec\": \"lru\",", "", "spec is missing"},
        {"\"peak_carved\",", "\"peak_reserved\",", "what 'metrics' holds as exact"},
        {"\"peak_carved\",", "\"peak_metadata\",", "has 'peak_metadata' twice"},
        {"\"small\"", "\"arena\"", "stands there twice"},
        {"\"small\"", "\"\"", "has no usable name"},
        {"\"round\": \"none\"", "\"round\": 7", "is not text"},
        {"\"round\": \"none\"", "\"source.lag\": \"1\"", "stands there twice"},
        {"  \"reason\"", "<<<<<<< ours\n  \"reason\"", "the marks of a merge conflict"},
    };
    char *text = load();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *damaged = changed(text, cases[i].from, cases[i].to);
        refused(damaged, cases[i].sentence);
        free(damaged);
    }
    free(text);
}

TEST(a_file_cut_anywhere_is_refused)
{
    char *text = load();
    size_t length = strlen(text);
    for (size_t cut = 0; cut < length - 2; cut++) { /* the last byte is the end of the line */
        struct tp_baseline b;
        struct tp_err err = {0};
        assert_int_equal(tp_baseline_parse(text, cut, "b.json", &b, &err), TP_EINPUT);
        assert_true(err.text[0] != '\0');
        tp_baseline_release(&b);
    }
    free(text);
}

TEST(a_file_that_is_none_is_refused)
{
    struct tp_baseline b;
    struct tp_err err;
    assert_int_equal(tp_baseline_read("/nonexistent", &b, &err), TP_EINPUT);
    assert_int_equal(tp_baseline_read("/", &b, &err), TP_EINPUT);
    assert_int_equal(tp_baseline_read("/dev/zero", &b, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "over 8 MiB"));
}

/* ---- where it is ---- */

static void make_folders(char *root)
{
    char here[64];
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    for (const char *const *f = (const char *const[]){"a", "a/b", "traces", NULL}; *f; f++) {
        snprintf(here, sizeof here, "%s", *f);
        assert_int_equal(mkdir(here, 0700), 0);
    }
}

static void remove_folders(const char *root)
{
    assert_int_equal(chdir(root), 0);
    unlink("a/" TP_BASELINE_NAME);
    unlink(TP_BASELINE_NAME);
    rmdir("a/b");
    rmdir("a");
    rmdir("traces");
    assert_int_equal(chdir("/"), 0);
    rmdir(root);
}

static void touch(const char *path)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fclose(out);
}

TEST(the_nearest_folder_has_it)
{
    char root[] = "/tmp/tapool-baseline-XXXXXX", path[TP_BASELINE_PATH];
    make_folders(root);
    assert_int_equal(chdir("a/b"), 0);
    assert_false(tp_baseline_find(path, sizeof path));
    touch("../../" TP_BASELINE_NAME);
    assert_true(tp_baseline_find(path, sizeof path));
    assert_string_equal(path, "../../" TP_BASELINE_NAME);
    touch("../" TP_BASELINE_NAME);
    assert_true(tp_baseline_find(path, sizeof path));
    assert_string_equal(path, "../" TP_BASELINE_NAME);
    assert_false(tp_baseline_find(path, 5));
    remove_folders(root);
}

TEST(paths_go_from_its_folder_and_back)
{
    static const struct {
        const char *file, *path, *relative;
    } cases[] = {
        {TP_BASELINE_NAME, "traces/web.tpt", "traces/web.tpt"},
        {TP_BASELINE_NAME, "./traces/../web.tpt", "web.tpt"},
        {"a/b/x.json", "traces/web.tpt", "../../traces/web.tpt"},
        {"traces/x.json", "traces/web.tpt", "web.tpt"},
        {"a/x.json", "a/b/web.tpt", "b/web.tpt"},
        {"a/x.json", "sample:sqlite", "sample:sqlite"},
        {"a/x.json", "/dev/null", NULL}, /* from the root: checked below */
    };
    char root[] = "/tmp/tapool-baseline-XXXXXX";
    make_folders(root);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *relative = tp_baseline_relative(cases[i].file, cases[i].path);
        assert_non_null(relative);
        if (cases[i].relative)
            assert_string_equal(relative, cases[i].relative);
        else
            assert_non_null(strstr(relative, "../dev/null"));
        const struct tp_baseline b = {.file = (char *)(uintptr_t)cases[i].file};
        const struct tp_baseline_cell c = {.path = relative};
        char *back = tp_baseline_trace_path(&b, &c);
        assert_non_null(back);
        if (strncmp(cases[i].path, "sample:", 7)) {
            char folder[512], *slash = strrchr(back, '/');
            snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - back) : 0, back);
            assert_true(!slash || access(folder, F_OK) == 0);
        }
        free(back);
        free(relative);
    }
    remove_folders(root);
}

/* As deep as a real path can be: 4,095 bytes, with more ways up than that. */
TEST(the_deepest_folder_has_a_way_up)
{
    char root[] = "/tmp/tapool-baseline-XXXXXX", here[4200];
    size_t depth = 0, slashes = 0;
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    assert_non_null(getcwd(here, sizeof here));
    for (size_t length = strlen(here); length < 4095; depth++) {
        const char *name = (4095 - length) % 2 ? "ab" : "a";
        length += 1 + strlen(name);
        assert_int_equal(mkdir(name, 0700), 0);
        assert_int_equal(chdir(name), 0);
    }
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(strlen(here), 4095);
    char *beside = tp_baseline_relative("b.json", "x.tpt");
    char *away = tp_baseline_relative("b.json", "/dev/null");
    assert_string_equal(beside, "x.tpt");
    for (const char *c = here; *c; c++)
        slashes += *c == '/' ? 1 : 0;
    assert_int_equal(strlen(away), 3 * slashes + strlen("dev/null"));
    assert_string_equal(away + 3 * slashes, "dev/null");
    free(beside);
    free(away);
    for (; depth; depth--) {
        assert_int_equal(chdir(".."), 0);
        assert_int_equal(rmdir(depth == 1 && access("ab", F_OK) == 0 ? "ab" : "a"), 0);
    }
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(root), 0);
}
