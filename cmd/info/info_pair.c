/* See info.h: two traces. */
#include "cmd/info/info.h"
#include "cmd/info/trace_pair.h"
#include "cmd/ui/table.h"

#include "alloc/base/numbers.h"
#include "cmd/results/metric_text.h"

enum { NAME = 0, VALUE = 10 };

static void add_difference(struct tp_table *t, const double value[2])
{
    if (value[0] == value[1])
        tp_table_add(t, "=");
    else if (value[0] == 0)
        tp_table_add(t, "new");
    else
        tp_table_add(t, "%s", tp_change(value[1] / value[0] - 1).s);
}

/* A figure that neither has is left out. */
static void add_figure(struct tp_table *t, const struct tp_trace_figure *f,
                       const struct tp_trace_pair *pair)
{
    uint64_t exact[2];
    struct tp_text text[2];
    tp_trace_pair_values(pair, f, exact);
    const double value[] = {(double)exact[0], (double)exact[1]};
    if (!exact[0] && !exact[1])
        return;
    tp_metric_texts(&f->metric, value, text);
    tp_table_add(t, "%s", f->name);
    tp_table_add(t, "%s", text[0].s);
    tp_table_add(t, "%s", text[1].s);
    add_difference(t, value);
}

/* Allocations by their size, where both traces are of the same kind and so have the same rows. */
static void add_sizes(struct tp_table *t, const struct tp_trace_pair *pair)
{
    const struct tp_trace_side *side = pair->side;
    for (int i = 0; i < TP_INFO_SIZES && tp_trace_pair_same_sizes(pair); i++) {
        const struct tp_info_size *one = &side[0].info->sizes[i], *other = &side[1].info->sizes[i];
        const double value[] = {(double)one->count.objects, (double)other->count.objects};
        if (value[0] == 0 && value[1] == 0)
            continue;
        tp_table_add(t, "%s", tp_info_size_name(side[0].info->sizes, i).s);
        tp_table_count(t, one->count.objects);
        tp_table_count(t, other->count.objects);
        add_difference(t, value);
    }
}

void tp_info_pair_files(const struct tp_trace_pair *pair, struct tp_page *page)
{
    static const char *const which[] = {"first", "second"};
    for (int i = 0; i < 2; i++) {
        const struct tp_trace *trace = &pair->side[i].trace;
        const char *program = trace->meta.program;
        tp_page_row(page, NAME, which[i], VALUE, "%s%s%s%s", trace->file, program ? " (" : "",
                    program ? program : "", program ? ")" : "");
    }
}

void tp_info_pair_figures(const struct tp_trace_pair *pair, struct tp_table *t)
{
    const struct tp_metric *peak = tp_trace_figure_find("peak_requested", NULL);
    const struct tp_trace_figure *f = (const struct tp_trace_figure *)peak;
    uint64_t exact[2];
    struct tp_text text[2];
    tp_trace_pair_values(pair, f, exact);
    const double value[] = {(double)exact[0], (double)exact[1]};
    tp_metric_texts(peak, value, text);
    tp_table_figure(t, "peak requested, first", text[0].s, "");
    tp_table_figure(t, "peak requested, second", text[1].s, "");
    tp_table_add(t, "difference");
    add_difference(t, value);
    tp_table_add(t, "%s", "");
}

void tp_info_pair_table(const struct tp_trace_pair *pair, struct tp_page *page)
{
    static const struct tp_column columns[] = {{.head = {"", ""}, .left = true},
                                               {.head = {"", "first"}},
                                               {.head = {"", "second"}},
                                               {.head = {"", "difference"}}};
    struct tp_table table = {0};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < tp_trace_figure_count; i++)
        add_figure(&table, &tp_trace_figures[i], pair);
    add_sizes(&table, pair);
    tp_table_print(&table, page, 2, TP_TABLE_WIDE);
    tp_table_drop(&table);
}

void tp_info_pair_text(const struct tp_trace_pair *pair, struct tp_page *page)
{
    tp_info_pair_files(pair, page);
    tp_page_line(page);
    tp_info_pair_table(pair, page);
}
