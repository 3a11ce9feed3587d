/* The figures by which `tapool info` compares two traces: their values of a small program, their
 * names, and conditions on them. */
#include "cmd/cli/commands.h"
#include "cmd/info/trace_figures.h"
#include "cmd/results/condition.h"
#include "tests/unit/trace_fixture.h"

extern const struct tp_command tp_command_info;

static const char text[] = "{\"format\": \"tapool-trace\", \"version\": 1}\n"
                           "{\"op\": \"alloc\", \"id\": 1, \"size\": 100}\n"
                           "{\"op\": \"alloc\", \"id\": 2, \"size\": 100}\n"
                           "{\"op\": \"realloc\", \"id\": 1, \"size\": 3000}\n"
                           "{\"op\": \"free\", \"id\": 2, \"thread\": 7}\n"
                           "{\"op\": \"alloc\", \"id\": 3, \"size\": 50}\n";

TEST(values)
{
    static const struct {
        const char *name;
        uint64_t value;
    } expected[] = {{"allocations", 3},  {"allocated", 250},       {"reallocs", 1},
                    {"frees", 1},        {"peak_requested", 3100}, {"peak_blocks", 2},
                    {"left_blocks", 2},  {"left", 3050},           {"temporary", 1},
                    {"remote_frees", 1}, {"threads", 2},           {"sizes", 3}};
    struct reading r = read_text(&tp_format_jsonl, text, true);
    struct tp_info *info = NULL;
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(tp_info_scan(r.program, &info, NULL), TP_OK);
    assert_int_equal(sizeof expected / sizeof *expected, tp_trace_figure_count);
    for (size_t i = 0; i < tp_trace_figure_count; i++) {
        const struct tp_trace_figure *f = &tp_trace_figures[i];
        assert_string_equal(f->metric.name, expected[i].name);
        if (tp_trace_figure_value(f, r.program, info) != expected[i].value)
            fail_msg("%s is %" PRIu64, f->metric.name, tp_trace_figure_value(f, r.program, info));
    }
    tp_info_free(info);
    forget(&r);
}

TEST(names_are_in_the_help)
{
    const char *help = NULL;
    for (const struct tp_opt *row = tp_command_info.options; row->name; row++)
        if (!strcmp(row->name, "fail-on"))
            help = row->help;
    assert_non_null(help);
    for (size_t i = 0; i < tp_trace_figure_count; i++) {
        const char *name = tp_trace_figures[i].metric.name;
        assert_non_null(strstr(help, name));
        assert_ptr_equal(tp_trace_figure_find(name, NULL), &tp_trace_figures[i].metric);
    }
}

TEST(conditions)
{
    struct tp_condition c;
    struct tp_err err;
    assert_int_equal(tp_condition_parse_of("Allocations>+1%", tp_trace_figure_find, "x", &c, &err),
                     TP_OK);
    assert_true(c.relative && c.percent);
    assert_true(tp_condition_holds(&c, 102, 100, true));
    assert_false(tp_condition_holds(&c, 101, 100, true));
    assert_int_equal(
        tp_condition_parse_of("peak_requested >= 1MiB", tp_trace_figure_find, "x", &c, &err),
        TP_OK);
    assert_true(tp_condition_holds(&c, 1 << 20, 0, true));
    assert_int_equal(tp_condition_parse_of("oom", tp_trace_figure_find, "so", &c, &err), TP_EUSAGE);
    assert_string_equal(err.hint, "so");
    assert_int_equal(tp_condition_parse_of("peak_reserved>1", tp_trace_figure_find, "x", &c, &err),
                     TP_EUSAGE);
    assert_string_equal(err.text, "unknown figure of a trace 'peak_reserved'");
}
