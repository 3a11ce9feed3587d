/* See trace_pair.h. */
#include "cmd/info/trace_pair.h"

#include "alloc/base/grow.h"
#include "cmd/results/metric_text.h"

/* The metric of such a condition is the first member of its figure. */
static const struct tp_trace_figure *figure_of(const struct tp_trace_check *check)
{
    return (const struct tp_trace_figure *)(const void *)check->condition.metric;
}

void tp_trace_pair_values(const struct tp_trace_pair *pair, const struct tp_trace_figure *figure,
                          uint64_t value[2])
{
    for (int i = 0; i < 2; i++)
        value[i] = tp_trace_figure_value(figure, pair->side[i].trace.program, pair->side[i].info);
}

bool tp_trace_pair_same_sizes(const struct tp_trace_pair *pair)
{
    return pair->side[0].info->sizes[0].up_to == pair->side[1].info->sizes[0].up_to;
}

static int parse(struct tp_trace_pair *pair, const struct tp_opt_list *fail_on, struct tp_err *err)
{
    static const char examples[] = "--fail-on 'allocations>+1%', --fail-on 'peak_requested>8MiB'";
    int rc = TP_GROW(&pair->checks, &pair->check_room, fail_on->count, err, .what = "conditions");
    for (size_t i = 0; !rc && i < fail_on->count; i++) {
        pair->checks[i].met = false;
        rc = tp_condition_parse_of(fail_on->items[i], tp_trace_figure_find, examples,
                                   &pair->checks[i].condition, err);
        pair->check_count += !rc;
    }
    return rc;
}

static int open_side(struct tp_trace_side *side, const char *path, const struct tp_open_opts *open,
                     struct tp_err *err)
{
    int rc = tp_open_trace(path, open, false, &side->trace, err);
    side->open = !rc;
    if (!rc)
        rc = tp_info_scan(side->trace.program, &side->info, err);
    return rc ? rc : tp_captured_scan(&side->trace, &side->captured, err);
}

int tp_trace_pair_open(struct tp_trace_pair *pair, char *const paths[2],
                       const struct tp_open_opts *open, const struct tp_opt_list *fail_on,
                       struct tp_err *err)
{
    uint64_t value[2];
    int rc = parse(pair, fail_on, err);
    for (int i = 0; !rc && i < 2; i++)
        rc = open_side(&pair->side[i], paths[i], open, err);
    for (size_t i = 0; !rc && i < pair->check_count; i++) {
        struct tp_trace_check *check = &pair->checks[i];
        tp_trace_pair_values(pair, figure_of(check), value);
        check->met =
            tp_condition_holds(&check->condition, (double)value[1], (double)value[0], true);
    }
    return rc;
}

void tp_trace_pair_release(struct tp_trace_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        struct tp_trace_side *side = &pair->side[i];
        tp_captured_release(&side->captured);
        tp_info_free(side->info);
        if (side->open)
            tp_trace_close(&side->trace);
    }
    TP_GROW_END(&pair->checks, &pair->check_room, .what = "conditions");
}

int tp_trace_pair_verdict(const struct tp_trace_pair *pair, struct tp_err *err)
{
    uint64_t value[2];
    struct tp_text shown[2];
    for (size_t i = 0; i < pair->check_count; i++) {
        const struct tp_condition *c = &pair->checks[i].condition;
        if (!pair->checks[i].met)
            continue;
        tp_trace_pair_values(pair, figure_of(&pair->checks[i]), value);
        tp_metric_texts(c->metric, (const double[]){(double)value[0], (double)value[1]}, shown);
        return tp_fail(err, TP_EFOUND, "%s: %s has %s, %s had %s", c->text,
                       pair->side[1].trace.file, shown[1].s, pair->side[0].trace.file, shown[0].s);
    }
    return TP_OK;
}
