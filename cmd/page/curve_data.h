/* A curve of memory over time in the data of a page.
 *
 *     NAME: { "events": [...], "ns": [...], "requested": [...], "granted": [...], "reserved": [...]
 * }
 *
 * Each list is the first value and then the changes. The bytes are those from the event on until
 * the next one; `ns`, since the trace began, is empty where the times of events are not known. */
#ifndef TP_CURVE_DATA_H
#define TP_CURVE_DATA_H

#include "alloc/engine/curve.h"
#include "cmd/ui/json_out.h"

enum { TP_CURVE_LISTS = 2 + TP_CURVE_VALUES };

struct tp_curve_data {
    cJSON *lists[TP_CURVE_LISTS];
    uint64_t last[TP_CURVE_LISTS];
};

/* Adds an empty curve to `in`, which owns it. */
void tp_curve_data_begin(struct tp_curve_data *c, struct tp_json *j, cJSON *in, const char *name);

/* Adds a point. `ns` NULL: its time is not known, as those of all other points. */
void tp_curve_data_add(struct tp_curve_data *c, struct tp_json *j, uint64_t event,
                       const uint64_t *ns, const uint64_t bytes[TP_CURVE_VALUES]);

#endif
