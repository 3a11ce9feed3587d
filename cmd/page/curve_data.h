/* A curve of memory over time in the data of a page, under the name NAME: an object of lists,
 *
 *     events, ns, requested, allocated, reserved, gets, puts
 *
 * Each list is the first value and then the changes. The bytes are those from the event on until
 * the next one; `ns`, since the trace began, is empty where the times of events are not known.
 * `gets` and `puts` are the calls to the source since the first event, up to this one; they are
 * left out where they are not known. */
#ifndef TP_CURVE_DATA_H
#define TP_CURVE_DATA_H

#include "alloc/numbers/curve.h"
#include "alloc/numbers/series.h"
#include "alloc/program/program.h"
#include "cmd/ui/json_out.h"

enum { TP_CURVE_LISTS = 2 + TP_CURVE_VALUES + TP_CURVE_CALLS };

struct tp_curve_data {
    cJSON *lists[TP_CURVE_LISTS];
    uint64_t last[TP_CURVE_LISTS];
    cJSON *curve;
};

/* Which points of a curve stay where it has too many: of each stretch of it those that have the
 * least or the most of a value, each as the first one; and the first and the last of all. Points
 * are looked at in their order. */
struct tp_curve_thin {
    const char *bytes;
    size_t stride, count, length, end;
    int values;
    size_t kept[2 * TP_CURVE_VALUES];
};

/* The points of a curve: the bytes of the first one, `values` of them (1..TP_CURVE_VALUES), and how
 * far it is from there to those of the next. */
struct tp_curve_points {
    const uint64_t *bytes;
    size_t stride, count;
    int values;
};

/* All points stay where they are at most `most`, else about `most` do. The bytes are borrowed. */
struct tp_curve_thin tp_curve_thin(const struct tp_curve_points *points, size_t most);

/* Whether a point stays; to be asked for each, from 0 on. */
bool tp_curve_stays(struct tp_curve_thin *t, size_t point);

/* Adds a value to a list that is the first value and then the changes; `last` is the one before, at
 * first 0. */
void tp_curve_data_push(struct tp_json *j, cJSON *list, uint64_t *last, uint64_t value);

/* Adds an empty curve to `in`, which owns it. */
void tp_curve_data_begin(struct tp_curve_data *c, struct tp_json *j, cJSON *in, const char *name);

/* Adds a point. `ns` NULL: its time is not known, as those of all other points. */
void tp_curve_data_add(struct tp_curve_data *c, struct tp_json *j, uint64_t event,
                       const uint64_t *ns, const uint64_t bytes[TP_CURVE_VALUES]);

/* Adds the calls at the point that was added last. To be called for every point, or for none. */
void tp_curve_data_calls(struct tp_curve_data *c, struct tp_json *j,
                         const uint64_t calls[TP_CURVE_CALLS]);

/* Adds the course `resident` of what was resident to `in`: an object of lists `events`, `ns` and
 * `resident`, as above, of about `most` readings at most. Each is what was read after the event,
 * and nothing is known until the next one. */
void tp_course_data(struct tp_json *j, cJSON *in, const struct tp_program_facts *facts,
                    const struct tp_course *course, size_t most);

/* Empties the member `curve` of `in`, if it has one: the page says the same at less length. */
void tp_curve_data_empty(cJSON *in);

#endif
