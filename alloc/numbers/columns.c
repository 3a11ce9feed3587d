/* See columns.h. Positions are computed with integers alone, so that a picture of the same figures
 * is the same everywhere. Known weakness: an event of several instructions lies where the first of
 * them does. */
#include "alloc/numbers/columns.h"

#include <assert.h>

enum { EXACT_BITS = 43 }; /* with a factor of 20 bits they fit 64 */

uint64_t tp_scaled(uint64_t value, uint64_t of, uint64_t to)
{
    assert(value <= of && to <= UINT64_C(1) << 20);
    while (of >> EXACT_BITS) {
        of >>= 1;
        value >>= 1;
    }
    return of ? value * to / of : 0;
}

struct spread {
    struct tp_columns *out;
    uint64_t time;
    uint32_t filled; /* columns whose first event is known */
};

/* Begins all columns up to `column` with an event, unless they have begun. */
static void begin_columns(struct spread *s, uint32_t column, uint64_t event)
{
    while (s->filled <= column)
        s->out->first[s->filled++] = event;
}

/* The column of the events at a time. */
static uint32_t column_at(const struct tp_columns *c, uint64_t time)
{
    uint64_t at = time < c->time_ns ? time : c->time_ns;
    uint32_t column = (uint32_t)tp_scaled(at, c->time_ns, c->count);
    return column < c->count ? column : c->count - 1;
}

/* In most windows no column begins, which their last event tells. */
static int spread_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct spread *s = ctx;
    uint64_t end = s->time;
    (void)err;
    for (uint32_t i = 0; !w->initial_heap && i < w->count; i++)
        end += w->insns[i].gap_ns;
    for (uint32_t i = 0; s->time < end && column_at(s->out, end) >= s->filled; i++) {
        s->time += w->insns[i].gap_ns;
        uint32_t column = column_at(s->out, s->time);
        if (column >= s->filled)
            begin_columns(s, column, tp_window_event(w, i));
    }
    s->time = end;
    return TP_OK;
}

static void spread_evenly(struct tp_columns *c)
{
    uint64_t whole = c->events / c->count, rest = c->events % c->count;
    for (uint32_t i = 0; i < c->count; i++)
        c->first[i] = 1 + whole * i + (rest * i + c->count - 1) / c->count;
}

void tp_columns_evenly(uint64_t events, uint32_t count, struct tp_columns *out)
{
    *out = (struct tp_columns){.count = count, .events = events};
    spread_evenly(out);
    out->first[count] = events + 1;
}

int tp_columns_spread(struct tp_program *p, uint32_t count, struct tp_columns *out,
                      struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(p);
    assert(count && count <= TP_COLUMNS_MAX);
    *out = (struct tp_columns){
        .count = count, .events = f->events, .time_ns = f->time_known ? f->duration_ns : 0};
    struct spread s = {.out = out};
    int status = TP_OK;
    if (out->time_ns) {
        status = tp_program_walk(p, spread_window, &s, err);
        begin_columns(&s, count, f->events + 1);
        out->first[0] = f->events ? 1 : out->first[0];
    } else {
        tp_columns_evenly(f->events, count, out);
    }
    return status;
}

uint32_t tp_columns_find(const struct tp_columns *c, uint64_t event)
{
    uint32_t low = 0, high = c->count; /* the column is among [low, high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->first[middle] <= event)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void tp_stretch_thin(const struct tp_stretch *in, uint32_t from, struct tp_stretch *out,
                     uint32_t to)
{
    assert(to && to <= from);
    for (uint32_t i = 0, at = 0; i < to; i++) {
        out[i] = in[at];
        for (; at < from && (uint64_t)at * to / from == i; at++) {
            tp_stretch_add(&out[i], in[at].low);
            tp_stretch_add(&out[i], in[at].high);
            out[i].last = in[at].last;
        }
    }
}

void tp_columns_thin(const struct tp_columns *c, const struct tp_curve *curve, int value,
                     struct tp_stretch *out)
{
    const struct tp_curve_point *p = curve->points, *end = p + curve->count;
    bool held = p < end && !p->event; /* something is known of the time before the first event */
    uint64_t now = held ? p->bytes[value] : 0;
    for (uint32_t i = 0; i < c->count; i++) {
        out[i] = (struct tp_stretch){now, now, now};
        for (; p < end && (i + 1 == c->count || p->event < c->first[i + 1]); p++)
            tp_stretch_add(&out[i], p->bytes[value]);
        now = out[i].last;
    }
}

uint32_t tp_columns_peak(const struct tp_stretch *s, uint32_t count)
{
    uint32_t peak = 0;
    for (uint32_t i = 1; i < count; i++)
        peak = s[i].high > s[peak].high ? i : peak;
    return peak;
}
