/* See record.h. */
#include "cmd/results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

const char *tp_record_option(const struct tp_record_options *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].name, name))
            return list->items[i].value;
    return NULL;
}

bool tp_record_options_add(struct tp_record_options *list, char *name, char *value)
{
    struct tp_record_option *more =
        name && value ? realloc(list->items, (list->count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(name);
        free(value);
        return false;
    }
    list->items = more;
    more[list->count++] = (struct tp_record_option){name, value};
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tp_record_option *)a)->name,
                  ((const struct tp_record_option *)b)->name);
}

void tp_record_options_sort(struct tp_record_options *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_name);
}

void tp_record_options_release(struct tp_record_options *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].value);
    }
    free(list->items);
    *list = (struct tp_record_options){0};
}

/* ---- values ---- */

double tp_record_value(const struct tp_record *r, const struct tp_metric *m, uint16_t device)
{
    size_t d = m->per_device ? device : 0;
    return d < r->devices ? r->values[d * tp_metric_count + (size_t)(m - tp_metrics)] : NAN;
}

/* sum(share * weight) / sum(weight). A device with weight 0 is left out, because its share is not
 * defined. */
static double total_share(const struct tp_record *r, const struct tp_metric *m)
{
    double parts = 0, whole = 0;
    for (uint16_t d = 0; d < r->devices; d++) {
        size_t at = d * tp_metric_count + (size_t)(m - tp_metrics);
        double weight = r->weights ? r->weights[at] : NAN;
        if (weight == 0)
            continue;
        parts += r->values[at] * weight;
        whole += weight;
    }
    return parts / whole;
}

double tp_record_total(const struct tp_record *r, const struct tp_metric *m)
{
    double sum = tp_record_value(r, m, 0);
    if (m->per_device && m->share_of && r->devices > 1)
        return total_share(r, m);
    for (uint16_t d = 1; m->per_device && d < r->devices; d++)
        sum += tp_record_value(r, m, d);
    return sum;
}

static double *value_named(const struct tp_record *run, const char *name)
{
    return &run->values[tp_metric_find(name, NULL) - tp_metrics];
}

void tp_record_drown(struct tp_record *run)
{
    double *ns = value_named(run, "ns_per_op");
    if (isnan(*ns) && !isnan(*value_named(run, "replay_overhead_ns_per_op")))
        *ns = 0;
}

/* ---- release ---- */

void tp_record_release(struct tp_record *r)
{
    char *const texts[] = {r->trace_path, r->trace_name, r->kind,   r->hash,  r->strategy,
                           r->label,      r->library,    r->source, r->touch, r->scope};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < TP_SETTINGS; i++)
        free(r->settings[i]);
    tp_record_options_release(&r->options);
    tp_record_options_release(&r->source_options);
    tp_record_options_release(&r->warnings);
    free(r->values);
    free(r->weights);
    free(r->repeats);
    for (uint16_t d = 0; r->curves && d < r->devices; d++)
        free(r->curves[d].points);
    free(r->curves);
}

const struct tp_setting tp_settings[TP_SETTINGS] = {
    {.option = "min-time", .path = "settings.min_time"},
    {.option = "repeat", .path = "settings.repeat"},
    {.option = "threads", .path = "settings.threads", .before = "1"},
    {.option = "on-oom", .path = "settings.on_oom", .memory = true},
    {.option = "initial-heap", .path = "settings.initial_heap", .reads = true},
    {.option = "limit", .path = "settings.limit", .reads = true},
    {.option = "space", .path = "settings.space", .reads = true},
    {.option = "device", .path = "settings.device", .reads = true},
    {.option = "passes", .path = "passes"},
    {.option = "seed", .path = "seed", .document = true},
};
