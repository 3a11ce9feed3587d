/* See report_words.h. */
#include "cmd/sweep/report_words.h"

#include "cmd/results/metric_text.h"

struct tp_text tp_sweep_times(double ratio)
{
    if (isnan(ratio))
        return tp_text_of("-");
    return ratio < 9.9995 ? tp_text_of("%.3fx", ratio) : tp_text_of("%sx", tp_digits(ratio).s);
}

const char *tp_sweep_cost_name(const struct tp_metric *cost)
{
    return tp_metric_is_time(cost) ? "ns/op" : "driver calls";
}

struct tp_text tp_sweep_cost_text(const struct tp_metric *cost, double value)
{
    return tp_metric_is_time(cost) ? tp_digits(value) : tp_metric_text(cost, value, false);
}

double tp_sweep_effect_size(const struct tp_sweep_effect *e)
{
    return exp(e->means[e->count - 1] - e->means[0]) - 1;
}
