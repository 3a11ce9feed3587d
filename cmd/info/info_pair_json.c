/* See info.h: the document of two traces. */
#include "cmd/info/info.h"
#include "cmd/info/site_rows.h"
#include "cmd/info/trace_pair.h"
#include "cmd/results/report_json.h"

static void write_traces(struct tp_json *j, cJSON *root, const struct tp_trace_pair *pair)
{
    cJSON *traces = tp_json_array(j, root, "traces");
    for (int i = 0; i < 2; i++) {
        const struct tp_trace_side *side = &pair->side[i];
        cJSON *o = tp_json_item(j, traces);
        tp_json_trace(j, o, &side->trace, &side->captured);
        tp_json_text(j, o, "program", side->trace.meta.program);
    }
}

static void write_figures(struct tp_json *j, cJSON *root, const struct tp_trace_pair *pair)
{
    cJSON *figures = tp_json_array(j, root, "figures");
    for (size_t i = 0; i < tp_trace_figure_count; i++) {
        const struct tp_trace_figure *f = &tp_trace_figures[i];
        uint64_t value[2];
        cJSON *o = tp_json_item(j, figures);
        tp_trace_pair_values(pair, f, value);
        tp_json_text(j, o, "name", f->metric.name);
        tp_json_text(j, o, "unit", tp_metric_unit_name(&f->metric));
        tp_json_two(j, o, "values", value);
        tp_json_real(j, o, "change",
                     value[0] ? (double)value[1] / (double)value[0] - 1 : (double)NAN);
    }
}

static void write_sizes(struct tp_json *j, cJSON *root, const struct tp_trace_pair *pair)
{
    cJSON *sizes = tp_json_array(j, root, "sizes");
    for (int i = 0; i < TP_INFO_SIZES && tp_trace_pair_same_sizes(pair); i++) {
        const struct tp_info_size *row[] = {&pair->side[0].info->sizes[i],
                                            &pair->side[1].info->sizes[i]};
        cJSON *o = tp_json_item(j, sizes);
        tp_json_uint(j, o, "up_to_bytes", row[0]->up_to); /* null in the last row */
        tp_json_two(j, o, "objects",
                    (const uint64_t[]){row[0]->count.objects, row[1]->count.objects});
    }
}

static void write_conditions(struct tp_json *j, cJSON *root, const struct tp_trace_pair *pair)
{
    cJSON *conditions = tp_json_array(j, root, "conditions");
    for (size_t i = 0; i < pair->check_count; i++) {
        cJSON *o = tp_json_item(j, conditions);
        tp_json_text(j, o, "text", pair->checks[i].condition.text);
        tp_json_bool(j, o, "met", pair->checks[i].met);
    }
}

cJSON *tp_info_pair_tree(struct tp_json *j, const struct tp_trace_pair *pair)
{
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.info-pair/2");
    tp_json_tool(j, root);
    write_traces(j, root, pair);
    write_figures(j, root, pair);
    write_sizes(j, root, pair);
    write_conditions(j, root, pair);
    return root;
}
