/* See curve_data.h. */
#include "cmd/page/curve_data.h"

#include <string.h>

enum { EVENTS, NS, BYTES, CALLS = BYTES + TP_CURVE_VALUES };

static const char *const names[TP_CURVE_LISTS] = {"events",   "ns",   "requested", "allocated",
                                                  "reserved", "gets", "puts"};

/* ---- thinning ---- */

struct tp_curve_thin tp_curve_thin(const struct tp_curve_points *points, size_t most)
{
    size_t keeps = (size_t)points->values * 2, stretches = most / keeps ? most / keeps : 1;
    size_t count = points->count;
    return (struct tp_curve_thin){.bytes = (const char *)points->bytes,
                                  .stride = points->stride,
                                  .count = count,
                                  .values = points->values,
                                  .length =
                                      count <= most ? 1 : (count + stretches - 1) / stretches};
}

static uint64_t value_of(const struct tp_curve_thin *t, size_t point, int value)
{
    uint64_t v = 0;
    memcpy(&v, t->bytes + point * t->stride + (size_t)value * sizeof v, sizeof v);
    return v;
}

/* Looks at the stretch that begins at `first`. */
static void look_at(struct tp_curve_thin *t, size_t first)
{
    t->end = t->count - first < t->length ? t->count : first + t->length;
    for (int v = 0; v < t->values; v++) {
        size_t *least = &t->kept[2 * v], *most = &t->kept[2 * v + 1];
        *least = *most = first;
        for (size_t i = first + 1; i < t->end; i++) {
            *least = value_of(t, i, v) < value_of(t, *least, v) ? i : *least;
            *most = value_of(t, i, v) > value_of(t, *most, v) ? i : *most;
        }
    }
}

bool tp_curve_stays(struct tp_curve_thin *t, size_t point)
{
    if (point >= t->end)
        look_at(t, point);
    for (int k = 0; k < 2 * t->values; k++)
        if (t->kept[k] == point)
            return true;
    return !point || point + 1 == t->count;
}

/* ---- writing ---- */

void tp_curve_data_begin(struct tp_curve_data *c, struct tp_json *j, cJSON *in, const char *name)
{
    *c = (struct tp_curve_data){.curve = tp_json_object(j, in, name)};
    for (int i = 0; i < CALLS; i++)
        c->lists[i] = tp_json_array(j, c->curve, names[i]);
}

void tp_curve_data_push(struct tp_json *j, cJSON *list, uint64_t *last, uint64_t value)
{
    double change = value >= *last ? (double)(value - *last) : -(double)(*last - value);
    tp_json_push(j, list, cJSON_CreateNumber(change));
    *last = value;
}

static void add(struct tp_curve_data *c, struct tp_json *j, int list, uint64_t value)
{
    tp_curve_data_push(j, c->lists[list], &c->last[list], value);
}

void tp_curve_data_add(struct tp_curve_data *c, struct tp_json *j, uint64_t event,
                       const uint64_t *ns, const uint64_t bytes[TP_CURVE_VALUES])
{
    add(c, j, EVENTS, event);
    if (ns)
        add(c, j, NS, *ns);
    for (int v = 0; v < TP_CURVE_VALUES; v++)
        add(c, j, BYTES + v, bytes[v]);
}

void tp_curve_data_calls(struct tp_curve_data *c, struct tp_json *j,
                         const uint64_t calls[TP_CURVE_CALLS])
{
    for (int i = 0; i < TP_CURVE_CALLS; i++) {
        if (!c->lists[CALLS + i])
            c->lists[CALLS + i] = tp_json_array(j, c->curve, names[CALLS + i]);
        add(c, j, CALLS + i, calls[i]);
    }
}

void tp_course_data(struct tp_json *j, cJSON *in, const struct tp_program_facts *facts,
                    const struct tp_course *course, size_t most)
{
    const struct tp_course_point *p = course->points;
    const struct tp_curve_points points = {&p->bytes, sizeof *p, course->count, 1};
    struct tp_curve_thin thin = tp_curve_thin(&points, most);
    cJSON *o = tp_json_object(j, in, "resident"), *events = tp_json_array(j, o, names[EVENTS]);
    cJSON *ns = tp_json_array(j, o, names[NS]), *bytes = tp_json_array(j, o, "resident");
    struct tp_course_point before = {0};
    for (uint32_t i = 0; i < course->count; i++, p++) {
        if (!tp_curve_stays(&thin, i))
            continue;
        tp_curve_data_push(j, events, &before.event, p->event);
        tp_curve_data_push(j, bytes, &before.bytes, p->bytes);
        if (facts->time_known)
            tp_curve_data_push(j, ns, &before.clock, p->clock);
    }
}

void tp_curve_data_empty(cJSON *in)
{
    cJSON *curve = cJSON_GetObjectItemCaseSensitive(in, "curve");
    while (curve && curve->child)
        cJSON_Delete(cJSON_DetachItemViaPointer(curve, curve->child));
}
