/* See trace_page.h. */
#include "cmd/page/trace_page.h"

#include "alloc/base/clean.h"
#include "cmd/exports/timeline.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/html_page.h"
#include "cmd/results/site_curve.h"

#include <stdlib.h>
#include <string.h>

enum { MARKS_MAX = 2000, NAME_BYTES = 200 };

void tp_curve_data(struct tp_json *j, cJSON *in, const char *name,
                   const struct tp_program_facts *facts, const struct tp_curve *curve, size_t most,
                   bool calls)
{
    struct tp_curve_data data;
    const struct tp_curve_points points = {curve->points->bytes, sizeof *curve->points,
                                           curve->count, TP_CURVE_VALUES};
    struct tp_curve_thin thin = tp_curve_thin(&points, most);
    tp_curve_data_begin(&data, j, in, name);
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct tp_curve_point *p = &curve->points[i];
        if (!tp_curve_stays(&thin, i))
            continue;
        tp_curve_data_add(&data, j, p->event, facts->time_known ? &p->clock : NULL, p->bytes);
        if (calls)
            tp_curve_data_calls(&data, j, p->calls);
    }
}

int tp_recorded_data(struct tp_json *j, cJSON *in, const struct tp_trace *t,
                     const struct tp_captured *c, uint32_t device, size_t most, struct tp_err *err)
{
    if (!c || !c->known || device >= c->count || !c->devices[device].peak_reserved)
        return TP_OK;
    struct tp_curve *curve = calloc(1, sizeof *curve);
    if (!curve)
        return tp_html_no_memory(err);
    int rc = tp_captured_curve(t, (uint16_t)device, curve, err);
    if (rc == TP_OK)
        tp_curve_data(j, in, "recorded", tp_program_facts(t->program), curve, most, false);
    free(curve);
    return rc;
}

/* The series of a curve that have any bytes, in the order of the page. */
static unsigned series_of(const struct tp_site_curve *c, unsigned series[TP_SITE_SERIES])
{
    unsigned count = 0;
    for (unsigned s = 0; s < TP_SITE_SERIES; s++) {
        bool any = false;
        for (uint32_t i = 0; !any && i < c->count; i++)
            any = c->points[i].bytes[s] != 0;
        if (any)
            series[count++] = s;
    }
    return count;
}

static const char *name_of(const struct tp_site_curve *c, unsigned series)
{
    if (series < TP_CURVE_SITES)
        return c->table->rows[series].place;
    return series == TP_SERIES_OTHER ? "other" : "initial heap";
}

void tp_site_curve_data(struct tp_json *j, cJSON *in, const struct tp_program_facts *facts,
                        const struct tp_site_curve *c, size_t most)
{
    if (!c)
        return;
    const struct tp_curve_points points = {&c->points->requested, sizeof *c->points, c->count, 1};
    struct tp_curve_thin thin = tp_curve_thin(&points, most);
    struct tp_site_curve_point last = {0};
    cJSON *o = tp_json_object(j, in, "site_curve"), *events = tp_json_array(j, o, "events");
    cJSON *ns = tp_json_array(j, o, "ns"), *names = tp_json_array(j, o, "names");
    cJSON *bytes = tp_json_array(j, o, "bytes"), *lists[TP_SITE_SERIES];
    unsigned series[TP_SITE_SERIES], count = series_of(c, series);
    for (unsigned s = 0; s < count; s++) {
        tp_json_push(j, names, cJSON_CreateString(name_of(c, series[s])));
        lists[s] = cJSON_CreateArray();
        tp_json_push(j, bytes, lists[s]);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const struct tp_site_curve_point *p = &c->points[i];
        if (!tp_curve_stays(&thin, i))
            continue;
        tp_curve_data_push(j, events, &last.event, p->event);
        if (facts->time_known)
            tp_curve_data_push(j, ns, &last.clock, p->clock);
        for (unsigned s = 0; s < count; s++)
            tp_curve_data_push(j, lists[s], &last.bytes[series[s]], p->bytes[series[s]]);
    }
}

static void push_mark(struct tp_json *j, cJSON *marks, const struct tp_phase_begin *p)
{
    struct tp_str text = {0};
    char *name = tp_clean_copy(p->name, NAME_BYTES);
    cJSON *mark = cJSON_CreateArray();
    tp_str_add(&text, "%s%s", name ? name : "", strlen(p->name) < NAME_BYTES ? "" : "...");
    j->failed |= !name || text.cut;
    tp_json_push(j, mark, tp_json_number(j, p->event));
    tp_json_push(j, mark, cJSON_CreateString(tp_str_text(&text)));
    tp_json_push(j, marks, mark);
    tp_str_drop(&text);
    free(name);
}

int tp_marks_data(struct tp_json *j, cJSON *in, const struct tp_trace *t, struct tp_err *err)
{
    cJSON *marks = tp_json_array(j, in, "marks");
    struct tp_phase_list phases = {0};
    int rc = tp_phase_list_find(t, MARKS_MAX, &phases, err);
    for (size_t i = 0; rc == TP_OK && i < phases.count; i++)
        if (phases.at[i].name)
            push_mark(j, marks, &phases.at[i]);
    tp_phase_list_drop(&phases);
    return rc;
}
