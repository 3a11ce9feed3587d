/* See series.h. */
#include "alloc/numbers/series.h"

#include <stddef.h>

enum { STRETCH = 4 };

/* Writes the lowest and the highest of `count` readings in their order; returns how many these
 * are. `out` may be where they are. */
static uint32_t extremes_of(const struct tp_course_point *p, uint32_t count,
                            struct tp_course_point *out)
{
    uint32_t low = 0, high = 0;
    for (uint32_t i = 1; i < count; i++) {
        low = p[i].bytes < p[low].bytes ? i : low;
        high = p[i].bytes > p[high].bytes ? i : high;
    }
    const struct tp_course_point first = p[low < high ? low : high];
    const struct tp_course_point second = p[low < high ? high : low];
    out[0] = first;
    if (low == high)
        return 1;
    out[1] = second;
    return 2;
}

/* The first reading stays, so that the course begins where it began. */
static void thin(struct tp_course *c)
{
    uint32_t kept = 1;
    for (uint32_t from = 1; from < c->count; from += STRETCH) {
        uint32_t left = c->count - from;
        kept += extremes_of(&c->points[from], left < STRETCH ? left : STRETCH, &c->points[kept]);
    }
    c->count = kept;
}

bool tp_course_add(struct tp_course *c, const struct tp_course_point *reading)
{
    struct tp_course_point *last = c->count ? &c->points[c->count - 1] : NULL;
    if (last && last->event == reading->event) {
        *last = reading->bytes > last->bytes ? *reading : *last;
        return false;
    }
    bool full = c->count == TP_COURSE_POINTS;
    if (full)
        thin(c);
    c->points[c->count++] = *reading;
    return full;
}
