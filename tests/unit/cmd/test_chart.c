/* The geometry of charts: the marks of the axes, and where lines, labels and marks lie. */
#include "cmd/charts/chart.h"
#include "cmd/charts/ticks.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define MS     UINT64_C(1000000)
#define S      (1000 * MS)

/* ---- ticks ---- */

struct expected {
    void (*make)(uint64_t top, struct tp_ticks *out);
    uint64_t top, step;
    const char *second, *last;
};

TEST(ticks_are_round_and_in_one_unit)
{
    static const struct expected rows[] = {
        {tp_ticks_bytes, GIB(4) - 1, GIB(1) / 2, "0.5 GiB", "3.5 GiB"},
        {tp_ticks_bytes, GIB(4) + GIB(1) / 2, GIB(1), "1 GiB", "4 GiB"},
        {tp_ticks_bytes, GIB(16), GIB(2), "2 GiB", "16 GiB"},
        {tp_ticks_bytes, MIB(1), KIB(128), "0.125 MiB", "1 MiB"},
        {tp_ticks_bytes, MIB(1) - 1, KIB(128), "128 KiB", "896 KiB"},
        {tp_ticks_bytes, 5, 1, "1 B", "5 B"},
        {tp_ticks_bytes, UINT64_MAX, UINT64_C(1) << 61, "2 EiB", "14 EiB"},
        {tp_ticks_time, 50650000, 10 * MS, "10 ms", "50 ms"},
        {tp_ticks_time, 2100 * MS, 500 * MS, "0.5 s", "2 s"},
        {tp_ticks_time, 90 * S, 20 * S, "20 s", "80 s"},
        {tp_ticks_time, 200 * S, 50 * S, "50 s", "200 s"},
        {tp_ticks_time, 481 * S, 60 * S, "1 min", "8 min"},
        {tp_ticks_time, 3600 * S, 600 * S, "10 min", "60 min"},
        {tp_ticks_time, 7 * 3600 * S, 3600 * S, "1 h", "7 h"},
        {tp_ticks_time, 7, 1, "1 ns", "7 ns"},
        {tp_ticks_count, 6486, 1000, "1,000", "6,000"},
        {tp_ticks_count, 1, 1, "1", "1"},
        {tp_ticks_count, 10, 2, "2", "10"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_ticks t;
        rows[i].make(rows[i].top, &t);
        assert_int_equal(t.at[1], rows[i].step);
        assert_string_equal(t.text[0].s, "0");
        assert_string_equal(t.text[1].s, rows[i].second);
        assert_string_equal(t.text[t.count - 1].s, rows[i].last);
    }
}

TEST(there_are_neither_few_nor_many_ticks)
{
    void (*const makes[])(uint64_t, struct tp_ticks *) = {tp_ticks_bytes, tp_ticks_time,
                                                          tp_ticks_count};
    for (size_t m = 0; m < sizeof makes / sizeof *makes; m++)
        for (uint64_t top = 1; top < UINT64_MAX / 3; top += 1 + top / 7) {
            struct tp_ticks t;
            makes[m](top, &t);
            assert_in_range(t.count, top < 4 ? top + 1 : 4, 9);
            for (uint32_t i = 0; i < t.count; i++)
                assert_int_equal(t.at[i], i * t.at[1]);
            assert_true(t.at[t.count - 1] <= top && top - t.at[t.count - 1] < t.at[1]);
        }
}

/* ---- a chart by hand ---- */

enum { COLUMNS = 4, PLOT_TOP = 62, PLOT_BASE = 362 };

static const struct tp_columns columns = {.count = COLUMNS, .events = 4, .first = {1, 2, 3, 4, 5}};

/* Writes a chart; the caller frees the text. */
static char *written(const struct tp_chart *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    tp_chart_write(c, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

/* A quarter of the way up and a valley within one column, then a peak in another, at the top but
 * for the room above it. */
TEST(a_line_goes_to_both_extremes_of_a_column)
{
    const struct tp_stretch at[COLUMNS] = {
        {100, 100, 100}, {20, 200, 100}, {100, 400, 150}, {150, 150, 150}};
    const struct tp_chart_line line = {.kind = TP_CHART_STRATEGY, .name = "arena", .at = at};
    const struct tp_chart c = {.title = "t",
                               .about = "a",
                               .description = "d",
                               .columns = &columns,
                               .lines = &line,
                               .line_count = 1};
    assert_int_equal(tp_chart_top(&c), 417); /* 300 pixels */
    char *text = written(&c);
    /* 362 - 300 * bytes / 417, to a tenth */
    assert_has(text, " d=\"M76 290.1H216V218.1V347.6V290.1H356V74.2V290.1V254.1H636\"/>\n"
                     "<circle cx=\"356\" cy=\"74.2\" r=\"2.6\"/>");
    assert_has(text, "<title>arena: at most 400 B</title>");
    free(text);
}

TEST(what_was_requested_has_an_area_below_it)
{
    const struct tp_stretch at[COLUMNS] = {{0, 0, 0}, {0, 100, 100}, {100, 100, 100}, {0, 100, 0}};
    const struct tp_chart_line line = {.kind = TP_CHART_REQUESTED, .name = "requested", .at = at};
    const struct tp_chart c = {.title = "t",
                               .about = "a",
                               .description = "d",
                               .columns = &columns,
                               .lines = &line,
                               .line_count = 1};
    char *text = written(&c);
    assert_has(text, "class=\"shade area\" d=\"M76 362H216V76.3H496V362H636V362Z\"");
    assert_has(text, "class=\"line requested\" d=\"M76 362H216V76.3H496V362H636\"");
    free(text);
}

/* All lines end at the same height, at the top or at the bottom. */
TEST(labels_do_not_lie_on_each_other)
{
    struct tp_stretch at[COLUMNS] = {{9, 9, 9}, {9, 9, 9}, {9, 9, 9}, {9, 9, 9}};
    struct tp_chart_line lines[TP_CHART_LINES];
    for (uint64_t end = 0; end <= 9; end += 3) {
        at[COLUMNS - 1] = (struct tp_stretch){end, 9, end};
        for (uint32_t i = 0; i < TP_CHART_LINES; i++)
            lines[i] = (struct tp_chart_line){.kind = TP_CHART_STRATEGY, .name = "p", .at = at};
        const struct tp_chart c = {.title = "t",
                                   .about = "a",
                                   .description = "d",
                                   .columns = &columns,
                                   .lines = lines,
                                   .line_count = TP_CHART_LINES};
        char *text = written(&c), *from = text;
        double last = PLOT_TOP - 17.1 + 4.5;
        for (uint32_t i = 0; i < TP_CHART_LINES; i++) {
            from = strstr(from, "<text class=\"name\"");
            assert_non_null(from);
            double y = strtod(strstr(from, " y=\"") + 4, &from);
            assert_true(y >= last + 17 - 0.01 && y <= PLOT_BASE + 4.6);
            last = y;
        }
        free(text);
    }
}

TEST(marks_and_levels_lie_where_they_happened)
{
    const struct tp_stretch at[COLUMNS] = {
        {100, 100, 100}, {100, 400, 400}, {400, 400, 400}, {400, 400, 400}};
    const struct tp_chart_line line = {.kind = TP_CHART_STRATEGY, .name = "arena", .at = at};
    const struct tp_chart_level level = {"Capacity 800 B", 800};
    const struct tp_chart_mark mark = {"arena: <no> room", 0, 1};
    const char *const notes[] = {"a & b", "second"};
    const struct tp_chart c = {.title = "<script>\"'",
                               .about = "a",
                               .description = "d",
                               .columns = &columns,
                               .lines = &line,
                               .line_count = 1,
                               .levels = &level,
                               .level_count = 1,
                               .marks = &mark,
                               .mark_count = 1,
                               .notes = notes,
                               .note_count = 2,
                               .y = 500};
    assert_int_equal(tp_chart_top(&c), 833);
    char *text = written(&c);
    /* the plot begins a row of 17 pixels lower: its bottom is at 379 */
    assert_has(text, "d=\"M76 90.9H636\"/>\n<text class=\"ink halo\" x=\"82\" y=\"85.9\">");
    assert_has(text, "class=\"cross\" d=\"M212 230.9l8 8m0 -8l-8 8\"");
    assert_has(text, ">arena: &lt;no&gt; room</text>");
    assert_has(text, "<title>&lt;script&gt;&quot;&#39;</title>");
    assert_has(text, ">a &amp; b</text>\n");
    assert_has(text, ">second</text>\n");
    assert_has(text, " y=\"500\" width=\"880\" height=\"471\" viewBox=\"0 0 880 471\">");
    assert_int_equal(tp_chart_height(&c), 471);
    assert_null(strstr(text, "<script"));
    free(text);
}

/* Nothing at all, and the most that there can be. */
TEST(extremes_of_figures_are_drawn)
{
    const struct tp_stretch most[COLUMNS] = {
        {0, UINT64_MAX - 1, 0}, {0, 0, 0}, {0, UINT64_MAX - 1, 5}, {5, 5, 5}};
    const struct tp_stretch none[COLUMNS] = {{0, 0, 0}};
    struct tp_chart_line line = {.kind = TP_CHART_STRATEGY, .name = "p", .at = none};
    struct tp_chart c = {.title = "t",
                         .about = "a",
                         .description = "d",
                         .columns = &columns,
                         .lines = &line,
                         .line_count = 1};
    char *text = written(&c);
    assert_has(text, "d=\"M76 362H636\"");
    free(text);
    line.at = most;
    text = written(&c);
    assert_has(text, "d=\"M76 362V62V362H356V62V362H636\"");
    free(text);
}

/* Peaks of 1,000, 1,010 and 1,020 bytes lie within six pixels; 2,000 lies apart. */
TEST(peaks_too_close_to_read_are_drawn_again_enlarged)
{
    const struct tp_stretch a = {1000, 1000, 1000}, b = {1010, 1010, 1010}, d = {1020, 1020, 1020},
                            e = {2000, 2000, 2000};
    const struct tp_stretch at[][COLUMNS] = {
        {a, a, a, a}, {b, b, b, b}, {d, d, d, d}, {e, e, e, e}};
    struct tp_chart_line lines[4];
    static const char *const names[] = {"one", "two", "three", "four"};
    for (size_t i = 0; i < 4; i++)
        lines[i] = (struct tp_chart_line){.kind = TP_CHART_STRATEGY, .name = names[i], .at = at[i]};
    struct tp_chart c = {.title = "t",
                         .about = "a",
                         .description = "d",
                         .columns = &columns,
                         .lines = lines,
                         .line_count = 2};
    uint32_t plain = tp_chart_height(&c); /* two lines are told apart by their labels */
    char *text = written(&c);
    assert_null(strstr(text, "class=\"zoom\""));
    free(text);
    c.line_count = 4;
    assert_int_equal(tp_chart_height(&c), plain + 26 + 130 + 17);
    text = written(&c);
    const char *zoom = strstr(text, "class=\"zoom\"");
    assert_non_null(zoom);
    assert_has(zoom, ">994 B</text>"); /* a quarter of 20 bytes below, and above */
    assert_has(zoom, ">1.002 KiB</text>");
    assert_has(zoom, " d=\"M76 543.6H636\"/>"); /* 568 - 130 * 6 / 32 */
    assert_null(strstr(zoom, ">four<"));
    free(text);
}
