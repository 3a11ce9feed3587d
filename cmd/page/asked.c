/* See asked.h.
 *
 *     points  3 5 8        born  0 2 8: what event 5 frees was asked for by event 2
 *     asked   2 3 5 8      looked up at once: the trace may have to be read again for them */
#include "cmd/page/asked.h"

#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"

#include <stdlib.h>
#include <string.h>

int tp_asked_point(struct tp_asked *a, uint64_t event, struct tp_err *err)
{
    int rc = event ? TP_GROW(&a->points, &a->room, a->count + 1, err, .what = "points of curves")
                   : TP_OK;
    if (rc == TP_OK && event)
        a->points[a->count++] = event;
    return rc;
}

int tp_asked_curves(struct tp_asked *a, const cJSON *in, struct tp_err *err)
{
    const cJSON *curve = NULL, *change = NULL;
    int rc = TP_OK;
    cJSON_ArrayForEach(curve, in)
    {
        double event = 0;
        cJSON_ArrayForEach(change, cJSON_GetObjectItemCaseSensitive(curve, "events"))
        {
            event += change->valuedouble;
            if (rc == TP_OK)
                rc = tp_asked_point(a, (uint64_t)event, err);
        }
    }
    return rc;
}

void tp_asked_drop(struct tp_asked *a)
{
    tp_placed_drop(&a->frames);
    free(a->points);
    *a = (struct tp_asked){0};
}

/* Sorts events, each once and none of them 0; returns how many these are. */
static size_t sort_events(uint64_t *list, size_t count)
{
    size_t unique = tp_ascending(list, count);
    if (!unique || list[0])
        return unique;
    memmove(list, list + 1, (unique - 1) * sizeof *list);
    return unique - 1;
}

/* ---- looking up ---- */

struct asked_lookup {
    const struct tp_asked *a;
    uint64_t *born; /* of each point: the event that asked for what it frees; 0: none */
    struct tp_place_table *table; /* of points and of these events */
    struct tp_placed_list placed;
};

static int gather(struct asked_lookup *l, const struct tp_trace *t, int (*stop)(struct tp_err *err),
                  struct tp_err *err)
{
    size_t count = l->a->count;
    uint64_t *events = malloc((2 * count + 1) * sizeof *events);
    struct tp_err ignored = {0};
    if (!events)
        return tp_fail(err, TP_ENOMEM, "out of memory for the points of curves");
    memcpy(events, l->a->points, count * sizeof *events);
    memcpy(events + count, l->born, count * sizeof *events);
    size_t unique = sort_events(events, 2 * count);
    int rc = tp_place_table_gather(&t->places, events, unique, stop, &l->table, &ignored);
    free(events);
    return rc == TP_OK ? TP_OK : tp_place_table_new(&l->table, err);
}

static int look_up(const struct asked_lookup *l, uint64_t event, uint32_t *text, struct tp_err *err)
{
    struct tp_place_item item = {.text = TP_NO_PLACE};
    int rc = event ? tp_place_table_find(l->table, event, &item, err) : TP_OK;
    *text = item.text;
    return rc;
}

static int add_point(struct asked_lookup *l, size_t i, struct tp_err *err)
{
    struct tp_placed p = {.event = l->a->points[i], .rank = i + 1, .freed = true};
    int rc = look_up(l, l->born[i], &p.text, err);
    if (rc == TP_OK && p.text == TP_NO_PLACE) {
        p.freed = false;
        rc = look_up(l, p.event, &p.text, err);
    }
    return rc == TP_OK && p.text != TP_NO_PLACE ? tp_placed_add(&l->placed, p, err) : rc;
}

/* Numbers the texts of frames as those of points. */
static int add_frames(struct asked_lookup *l, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < l->a->frames.count; i++) {
        struct tp_placed p = l->a->frames.items[i];
        if (p.text == TP_NO_PLACE)
            continue;
        const char *text = tp_place_table_get(l->a->table, p.text);
        rc = tp_place_table_text(l->table, text, strlen(text), &p.text, err);
        if (rc == TP_OK)
            rc = tp_placed_add(&l->placed, p, err);
    }
    return rc;
}

int tp_json_asked(struct tp_json *j, cJSON *in, const struct tp_trace *t, struct tp_asked *a,
                  int (*stop)(struct tp_err *err), struct tp_err *err)
{
    if (!t->places.find)
        return TP_OK;
    size_t points = a->count = sort_events(a->points, a->count);
    struct asked_lookup l = {.a = a, .born = malloc((points + 1) * sizeof *l.born)};
    int rc = l.born ? tp_freed_events(t->program, a->points, points, l.born, err)
                    : tp_fail(err, TP_ENOMEM, "out of memory for the points of curves");
    if (rc == TP_OK)
        rc = gather(&l, t, stop, err);
    for (size_t i = 0; rc == TP_OK && i < points; i++)
        rc = add_point(&l, i, err);
    if (rc == TP_OK)
        rc = add_frames(&l, err);
    if (rc == TP_OK) {
        tp_placed_sort(&l.placed);
        rc = tp_json_places(j, in, l.table, &l.placed, TP_ASKED_NAMES + points * TP_ASKED_POINT);
    }
    tp_placed_drop(&l.placed);
    tp_place_table_free(l.table);
    free(l.born);
    return rc;
}
