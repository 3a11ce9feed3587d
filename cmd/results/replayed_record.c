/* See record.h. Values are computed by their rows in the registry, as the writer of the
 * result does it. A value of a pass that was not replayed is not known. */
#include "cmd/results/record.h"

#include "cmd/jobs/spec.h"
#include "cmd/results/metrics.h"
#include "cmd/ui/json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value, rounded as in the JSON document. */
static double known(const struct tp_metric *f, const struct tp_figure_of *of)
{
    const struct tp_figure_value value = tp_figure_value(f, of);
    if (f->type == TP_FIGURE_REAL)
        return tp_json_rounded(value.real);
    return value.whole == TP_NONE ? (double)NAN : (double)value.whole;
}

static double weight_of(const struct tp_metric *m, const struct tp_figure_of *of)
{
    for (size_t i = 0; m->share_of && i < tp_figure_count; i++)
        if (tp_figures[i]->per_device && !strcmp(tp_figures[i]->path, m->share_of))
            return known(tp_figures[i], of);
    return NAN;
}

static void fill(const struct tp_result *r, struct tp_record *out)
{
    for (size_t i = 0; i < out->devices * tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i % tp_metric_count];
        const size_t d = i / tp_metric_count;
        const struct tp_figure_of of = {r, m->per_device ? &r->run->devices[d] : NULL};
        bool has = tp_metric_pass(m)->pass & r->run->passes && (m->per_device || !d);
        out->values[i] = has ? known(m, &of) : (double)NAN;
        out->weights[i] = has && m->per_device ? weight_of(m, &of) : (double)NAN;
    }
    tp_record_drown(out);
}

int tp_record_of(const struct tp_result *r, struct tp_record *out, struct tp_err *err)
{
    const size_t count = r->facts->devices * tp_metric_count;
    *out = (struct tp_record){.label = strdup(r->spec->label),
                              .trace_name = strdup(r->trace->meta.name),
                              .devices = r->facts->devices,
                              .values = calloc(count, sizeof *out->values),
                              .weights = calloc(count, sizeof *out->weights)};
    if (!out->label || !out->trace_name || !out->values || !out->weights)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    fill(r, out);
    return TP_OK;
}
