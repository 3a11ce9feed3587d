/* See report_words.h. */
#include "cmd/sweep/report_words.h"

#include "cmd/charts/chart.h"
#include "cmd/charts/svg_parts.h"
#include "cmd/results/metric_text.h"
#include "cmd/ui/escape.h"

int tp_sweep_no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the answers of a sweep");
}

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

/* ---- what is read of it ---- */

double tp_sweep_mean(const struct tp_sweep_score *s)
{
    return s->traces ? exp(s->sum / s->traces) : NAN;
}

const struct tp_metric *tp_sweep_cost_metric(const struct tp_sweep_picked *p, size_t cost)
{
    return p->metrics[p->asked + cost];
}

double tp_sweep_cost(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                     uint32_t setting, size_t cost)
{
    const struct tp_sweep_score *s = &a->scores[setting];
    if (!s->traces || s->cost_traces[cost] != s->traces)
        return NAN;
    bool counted = tp_sweep_cost_metric(p, cost)->unit == TP_UNIT_COUNT;
    return counted ? s->costs[cost] : exp(s->costs[cost] / s->traces);
}

const char *tp_sweep_ratio_name(const struct tp_sweep_answer *a)
{
    if (a->ratio == TP_SWEEP_VS_BEST)
        return "vs best";
    return a->bounds == a->traces ? "over lower bound" : "regret";
}

const char *tp_sweep_trace_name(const struct tp_sweep_answers *a, uint32_t trace)
{
    const char *path = a->paths[trace];
    return path ? path + a->picked.folder : "";
}

/* ---- pictures ---- */

void tp_sweep_frame_begin(const struct tp_sweep_frame *f, FILE *out)
{
    struct tp_str title = {0}, about = {0};
    tp_str_add(&title, "%s%s%s", f->title, f->metric->name, f->against ? " against " : "");
    tp_str_add(&title, "%s", f->against ? f->against : "");
    tp_str_add(&about, "%s%s", f->ratio ? f->ratio : "", f->about);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tp-chart\" role=\"img\" y=\"%u\" "
            "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
            f->y, TP_CHART_WIDTH, f->height, TP_CHART_WIDTH, f->height);
    tp_put(out, TP_TO_XML, "<title>%s</title>\n<desc>%s</desc>\n", tp_str_text(&title),
           tp_str_text(&about));
    tp_svg_text(out, "title ink", 140, 240, tp_str_text(&title));
    tp_svg_text(out, "muted", 140, 440, tp_str_text(&about));
    tp_str_drop(&title);
    tp_str_drop(&about);
}
