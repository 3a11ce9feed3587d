/* Bounded curves; see curve.h. */
#include "alloc/numbers/curve.h"

enum { LONGEST = TP_CURVE_KEPT - 1 };

static void group_add(struct tp_curve_group *g, const struct tp_curve_point *p)
{
    for (int v = 0; v < TP_CURVE_VALUES; v++) {
        struct tp_curve_point *low = &g->extreme[2 * v], *high = &g->extreme[2 * v + 1];
        if (!g->samples || p->bytes[v] < low->bytes[v])
            *low = *p;
        if (!g->samples || p->bytes[v] > high->bytes[v])
            *high = *p;
    }
    if (!g->samples || p->held > g->extreme[LONGEST].held)
        g->extreme[LONGEST] = *p;
    g->samples++;
}

static bool same(const struct tp_curve_point *a, const struct tp_curve_point *b)
{
    return a->event == b->event && !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

/* Is sample `a` later than `b`? Of two samples of one event the lower one is later, because a
 * momentary extreme inside the event comes before the state at its end. */
static bool is_later(const struct tp_curve_point *a, const struct tp_curve_point *b)
{
    bool lower = a->event == b->event;
    for (int v = 0; v < TP_CURVE_VALUES; v++)
        lower = lower && a->bytes[v] <= b->bytes[v];
    return a->event > b->event || lower;
}

/* Writes the distinct points of a group in the order of their events; returns their number. */
static uint32_t group_points(const struct tp_curve_group *g, struct tp_curve_point *out)
{
    uint32_t n = 0;
    for (int i = 0; g->samples && i < TP_CURVE_KEPT; i++) {
        const struct tp_curve_point *p = &g->extreme[i];
        uint32_t at = n;
        bool known = false;
        for (uint32_t k = 0; k < n && !known; k++)
            known = same(&out[k], p);
        if (known)
            continue;
        for (; at && is_later(&out[at - 1], p); at--)
            out[at] = out[at - 1];
        out[at] = *p;
        n++;
    }
    return n;
}

static void close_group(struct tp_curve *c)
{
    c->count += group_points(&c->open, &c->points[c->count]);
    c->open.samples = 0;
}

/* Merges every TP_CURVE_GROUP points into their extremes, which at least halves the number of
 * points. */
static void shrink(struct tp_curve *c)
{
    uint32_t count = 0;
    for (uint32_t from = 0; from < c->count; from += TP_CURVE_GROUP) {
        struct tp_curve_group g = {0};
        struct tp_curve_point kept[TP_CURVE_KEPT];
        for (uint32_t i = from; i < c->count && i < from + TP_CURVE_GROUP; i++)
            group_add(&g, &c->points[i]);
        uint32_t n = group_points(&g, kept);
        memcpy(&c->points[count], kept, n * sizeof *kept);
        count += n;
    }
    c->count = count;
    c->per = c->per ? c->per * 2 : TP_CURVE_GROUP;
}

/* Does the sample change no extreme of the group? This holds for nearly all samples. */
static bool is_inside(const struct tp_curve_group *g, const struct tp_curve_point *p)
{
    bool inside = (g->samples != 0) & (p->held <= g->extreme[LONGEST].held);
    for (int v = 0; v < TP_CURVE_VALUES; v++)
        inside &= (p->bytes[v] >= g->extreme[2 * v].bytes[v]) &
                  (p->bytes[v] <= g->extreme[2 * v + 1].bytes[v]);
    return inside;
}

static void close_full(struct tp_curve *c)
{
    close_group(c);
    /* leaves room for the open group and the last sample */
    if (c->count + TP_CURVE_KEPT >= TP_CURVE_POINTS)
        shrink(c);
}

/* Puts the last sample, of which it is known now how long it held, into its group. */
static inline void settle_last(struct tp_curve *c, uint64_t held)
{
    c->last.held = held;
    if (is_inside(&c->open, &c->last))
        c->open.samples++;
    else
        group_add(&c->open, &c->last);
    if (c->open.samples >= c->per)
        close_full(c);
}

void tp_curve_add(struct tp_curve *c, const struct tp_curve_point *sample)
{
    if (tp_curve_is_last(c, sample->bytes))
        return;
    if (c->begun)
        settle_last(c, sample->clock - c->last.clock);
    c->last = *sample;
    c->begun = true;
}

void tp_curve_finish(struct tp_curve *c)
{
    if (c->begun)
        settle_last(c, 0);
    c->begun = false;
    close_group(c);
    if (c->count && c->count < TP_CURVE_POINTS && !same(&c->points[c->count - 1], &c->last))
        c->points[c->count++] = c->last;
}
