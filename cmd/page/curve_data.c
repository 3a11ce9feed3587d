/* See curve_data.h. */
#include "cmd/page/curve_data.h"

#include <string.h>

enum { EVENTS, NS, BYTES, CALLS = BYTES + TP_CURVE_VALUES };

static const char *const names[TP_CURVE_LISTS] = {"events",   "ns",   "requested", "granted",
                                                  "reserved", "gets", "puts"};

/* ---- thinning ---- */

enum { KEEPS = 2 * TP_CURVE_VALUES };

struct tp_curve_thin tp_curve_thin(const uint64_t *bytes, size_t stride, size_t count, size_t most)
{
    size_t stretches = most / KEEPS ? most / KEEPS : 1;
    return (struct tp_curve_thin){.bytes = (const char *)bytes,
                                  .stride = stride,
                                  .count = count,
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
    for (int v = 0; v < TP_CURVE_VALUES; v++) {
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
    for (int k = 0; k < KEEPS; k++)
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

static void add(struct tp_curve_data *c, struct tp_json *j, int list, uint64_t value)
{
    uint64_t last = c->last[list];
    double change = value >= last ? (double)(value - last) : -(double)(last - value);
    tp_json_push(j, c->lists[list], cJSON_CreateNumber(change));
    c->last[list] = value;
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

void tp_curve_data_empty(cJSON *in)
{
    cJSON *curve = cJSON_GetObjectItemCaseSensitive(in, "curve");
    while (curve && curve->child)
        cJSON_Delete(cJSON_DetachItemViaPointer(curve, curve->child));
}
