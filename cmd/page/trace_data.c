/* See trace_page.h. */
#include "cmd/page/trace_page.h"

#include "alloc/base/clean.h"
#include "cmd/exports/timeline.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/html_page.h"

#include <stdlib.h>

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

static void push_mark(struct tp_json *j, cJSON *marks, const struct tp_phase_begin *p)
{
    char *name = tp_clean_copy(p->name, NAME_BYTES);
    cJSON *mark = cJSON_CreateArray();
    j->failed |= !name;
    tp_json_push(j, mark, tp_json_number(j, p->event));
    tp_json_push(j, mark, cJSON_CreateString(name ? name : ""));
    tp_json_push(j, marks, mark);
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
