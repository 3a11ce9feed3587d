/* See site_curve.h. An event may have several points: the sums belong to the one with as many
 * requested bytes. */
#include "cmd/results/site_curve.h"

#include "alloc/base/str.h"
#include "alloc/numbers/curve.h"
#include "cmd/results/captured.h"
#include "cmd/results/result.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = TP_SITE_SIZE_CLASSES };

/* The object of a slot. */
struct sited_block {
    uint64_t size;
    uint32_t era;   /* it is live where no reset has come since */
    uint8_t series; /* index in the bytes of a point */
    bool placed;
};

/* Bytes that are live. */
struct site_sums {
    uint64_t requested;
    uint64_t exact[TP_SITE_SERIES]; /* of blocks that stand for themselves */
    /* by classes of sizes (powers of two), of blocks that have a place by chance: all, those with a
     * place, and those of a site */
    uint64_t live[CLASSES], placed[CLASSES], sampled[TP_CURVE_SITES][CLASSES];
};

/* Finds the series of an event. */
struct site_lookup {
    const struct tp_places *places;
    const struct tp_sites *sites;
    unsigned count;              /* of these that have a series */
    struct tp_place_table *own;  /* of a window, where no table is behind `places` */
    uint64_t before;             /* added to an event it is the one of the table */
    uint8_t *of_text, *of_stack; /* series + 1 by number in the table; 0: not known yet */
    struct tp_place_cursor cursor;
    int (*stop)(struct tp_err *err);
};

struct site_scan {
    struct site_lookup lookup;
    struct site_sums sums;
    struct sited_block *blocks; /* by slot */
    uint64_t *asked;            /* events of a window, for looking up */
    uint64_t event, time;
    uint32_t era;
    bool timed;
    struct tp_curve *curve;    /* filled by a pass that chooses points; NULL: sites are added up */
    struct tp_site_curve *out; /* in which the second one does that */
    uint32_t next;             /* its first point that is not behind the event */
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for live memory by site over time");
}

/* ---- looking up ---- */

static int use_table(struct site_lookup *l, const struct tp_place_table *t, struct tp_err *err)
{
    free(l->of_text);
    free(l->of_stack);
    l->cursor = (struct tp_place_cursor){.table = t};
    l->of_text = calloc(tp_place_table_texts(t) + 1u, sizeof *l->of_text);
    l->of_stack = calloc(tp_place_table_stacks(t) + 1u, sizeof *l->of_stack);
    return l->of_text && l->of_stack ? TP_OK : no_memory(err);
}

static bool asks(const struct tp_insn *in)
{
    return tp_op_is(in->op, TP_IS_NEW) || in->op == TP_REALLOC;
}

/* A file without a table is asked for the places of a window at once. */
static int look_up_window(struct site_scan *s, const struct tp_window *w, struct tp_err *err)
{
    struct site_lookup *l = &s->lookup;
    size_t count = 0;
    if (w->initial_heap || tp_places_table(l->places))
        return TP_OK;
    for (uint32_t i = 0; i < w->count; i++) {
        uint64_t event = tp_window_event(w, i);
        if (asks(&w->insns[i]) && (!count || s->asked[count - 1] != event))
            s->asked[count++] = event;
    }
    tp_place_table_free(l->own);
    l->own = NULL;
    int rc = (l->sites->depth > 1 ? tp_place_table_gather_stacks : tp_place_table_gather)(
        l->places, s->asked, count, l->stop, &l->own, err);
    return rc == TP_OK ? use_table(l, l->own, err) : rc;
}

static int series_named(const struct site_lookup *l, const struct tp_place_item *item,
                        uint8_t *known, struct tp_err *err)
{
    struct tp_str name = {0};
    unsigned series = 0;
    tp_site_name(l->cursor.table, item, l->sites->depth, &name);
    int rc = tp_str_status(&name, err);
    while (series < l->count && strcmp(l->sites->rows[series].place, tp_str_text(&name)) != 0)
        series++;
    *known = (uint8_t)((series < l->count ? series : TP_SERIES_OTHER) + 1);
    tp_str_drop(&name);
    return rc;
}

static int find_series(struct site_lookup *l, uint64_t event, struct sited_block *b,
                       struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    b->series = TP_SERIES_OTHER;
    int rc = tp_place_cursor_look(&l->cursor, event + l->before, &item, err);
    if (rc != TP_OK || !item || item->event != event + l->before)
        return rc;
    uint8_t *known = item->stack ? &l->of_stack[item->stack - 1] : &l->of_text[item->text];
    rc = *known ? TP_OK : series_named(l, item, known, err);
    b->series = (uint8_t)(*known - 1);
    b->placed = true;
    return rc;
}

/* ---- sums ---- */

static void add(uint64_t *sum, uint64_t bytes, bool less)
{
    *sum = less ? *sum - bytes : *sum + bytes;
}

/* Adds what is known of a block, or takes it away. */
static void count_block(struct site_scan *s, const struct sited_block *b, bool less)
{
    struct site_sums *sums = &s->sums;
    const struct tp_place_sampling *sampling = &s->lookup.sites->sampling;
    unsigned size_class = tp_site_size_class(b->size);
    add(&sums->requested, b->size, less);
    if (b->series == TP_SERIES_INITIAL || !tp_place_sampled(sampling, b->size)) {
        add(&sums->exact[b->series], b->size, less);
        return;
    }
    add(&sums->live[size_class], b->size, less);
    if (b->placed)
        add(&sums->placed[size_class], b->size, less);
    if (b->series < TP_CURVE_SITES)
        add(&sums->sampled[b->series][size_class], b->size, less);
}

static uint64_t bytes_of_site(const struct site_sums *s, unsigned site)
{
    double estimated = 0;
    for (unsigned c = 0; c < CLASSES; c++)
        if (s->sampled[site][c])
            estimated += (double)s->sampled[site][c] * (double)s->live[c] / (double)s->placed[c];
    return s->exact[site] + (uint64_t)estimated;
}

static void fill_point(const struct site_scan *s, struct tp_site_curve_point *p)
{
    p->requested = s->sums.requested;
    uint64_t rest = p->requested - s->sums.exact[TP_SERIES_INITIAL];
    p->bytes[TP_SERIES_INITIAL] = s->sums.exact[TP_SERIES_INITIAL];
    for (unsigned i = 0; i < s->lookup.count; i++) {
        uint64_t bytes = bytes_of_site(&s->sums, i);
        p->bytes[i] = bytes < rest ? bytes : rest; /* estimates are rounded */
        rest -= p->bytes[i];
    }
    p->bytes[TP_SERIES_OTHER] = rest;
}

/* Points that are behind an event, of which none of what happened there was, are as they were left
 * by the events before them. */
static void pass_points(struct site_scan *s)
{
    struct tp_site_curve *c = s->out;
    for (; c && s->next < c->count && c->points[s->next].event < s->event; s->next++)
        if (c->points[s->next].bytes[TP_SERIES_OTHER] == TP_NONE)
            fill_point(s, &c->points[s->next]);
}

/* What is requested from an event on. */
static void take_sample(struct site_scan *s)
{
    uint64_t now = s->sums.requested;
    if (s->curve) {
        tp_curve_add(s->curve, &(struct tp_curve_point){.event = s->event,
                                                        .bytes = {now, now, now},
                                                        .clock = s->timed ? s->time : s->event});
        return;
    }
    struct tp_site_curve *c = s->out;
    for (uint32_t i = s->next; i < c->count && c->points[i].event == s->event; i++)
        if (c->points[i].requested == now)
            fill_point(s, &c->points[i]);
}

/* ---- the program ---- */

static void end_block(struct site_scan *s, struct sited_block *b)
{
    if (b->size && b->era == s->era)
        count_block(s, b, true);
    b->size = 0;
}

static int on_insn(struct site_scan *s, const struct tp_insn *in, struct tp_err *err)
{
    int rc = TP_OK;
    if (asks(in)) {
        struct sited_block *b = &s->blocks[in->slot];
        end_block(s, b);
        *b = (struct sited_block){.size = in->size, .era = s->era, .series = TP_SERIES_INITIAL};
        if (s->event && s->out)
            rc = find_series(&s->lookup, s->event, b, err);
        count_block(s, b, false);
    } else if (in->op == TP_FREE) {
        end_block(s, &s->blocks[in->slot]);
    } else if (in->op == TP_RESET) {
        s->era++;
        s->sums = (struct site_sums){0};
    } else {
        return TP_OK;
    }
    if (s->event)
        take_sample(s);
    return rc;
}

/* What was live before the first event is one point. */
static int on_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct site_scan *s = ctx;
    int rc = s->out ? look_up_window(s, w, err) : TP_OK;
    if (!w->initial_heap && !s->event)
        take_sample(s);
    for (uint32_t i = 0; rc == TP_OK && i < w->count; i++) {
        s->event = w->initial_heap ? 0 : tp_window_event(w, i);
        s->time += w->insns[i].gap_ns;
        pass_points(s);
        rc = on_insn(s, &w->insns[i], err);
    }
    return rc == TP_OK ? s->lookup.stop(err) : rc;
}

static int walk(struct site_scan *s, struct tp_program *p, struct tp_err *err)
{
    s->sums = (struct site_sums){0};
    s->event = s->time = 0;
    s->era++; /* what the pass before has left is not live */
    return tp_program_walk(p, on_window, s, err);
}

static int open_points(struct site_scan *s, const struct tp_curve *curve, struct tp_err *err)
{
    s->out = calloc(1, sizeof *s->out + curve->count * sizeof *s->out->points);
    if (!s->out)
        return no_memory(err);
    s->out->table = s->lookup.sites;
    s->out->sites = s->lookup.count;
    s->out->count = curve->count;
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct tp_curve_point *from = &curve->points[i];
        s->out->points[i] = (struct tp_site_curve_point){.event = from->event,
                                                         .clock = from->clock,
                                                         .requested = from->bytes[0],
                                                         .bytes = {[TP_SERIES_OTHER] = TP_NONE}};
    }
    return TP_OK;
}

static int choose_points(struct site_scan *s, struct tp_program *p, struct tp_err *err)
{
    struct tp_curve *curve = s->curve = calloc(1, sizeof *curve);
    int rc = curve ? walk(s, p, err) : no_memory(err);
    if (rc == TP_OK) {
        tp_curve_finish(curve);
        rc = open_points(s, curve, err);
    }
    free(curve);
    s->curve = NULL;
    return rc;
}

/* Of the last points nothing happens any more at their events. */
static int add_up(struct site_scan *s, struct tp_program *p, struct tp_err *err)
{
    int rc = walk(s, p, err);
    s->event = UINT64_MAX;
    pass_points(s);
    return rc;
}

int tp_site_curve_of(const struct tp_trace *t, const struct tp_sites *sites,
                     const struct tp_curve *points, int (*stop)(struct tp_err *err),
                     struct tp_site_curve **out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    const struct tp_place_table *table = tp_places_table(&t->places);
    unsigned count = sites->count < TP_CURVE_SITES ? sites->count : TP_CURVE_SITES;
    struct site_scan s = {
        .lookup = {.places = &t->places, .sites = sites, .count = count, .stop = stop},
        .timed = f->time_known};
    s.lookup.before = table ? t->places.before : 0;
    s.blocks = calloc(f->slots + (size_t)1, sizeof *s.blocks);
    s.asked = calloc(TP_WINDOW_MAX, sizeof *s.asked);
    int rc = s.blocks && s.asked ? TP_OK : no_memory(err);
    if (rc == TP_OK && table)
        rc = use_table(&s.lookup, table, err);
    if (rc == TP_OK)
        rc = points ? open_points(&s, points, err) : choose_points(&s, t->program, err);
    if (rc == TP_OK)
        rc = add_up(&s, t->program, err);
    tp_place_table_free(s.lookup.own);
    free(s.lookup.of_text);
    free(s.lookup.of_stack);
    free(s.blocks);
    free(s.asked);
    *out = rc == TP_OK ? s.out : NULL;
    if (rc != TP_OK)
        free(s.out);
    return rc;
}

void tp_site_curve_find(struct tp_captured *c, const struct tp_trace *t,
                        const struct tp_curve *points, int (*stop)(struct tp_err *err))
{
    struct tp_err ignored = {0};
    if (c->sites && c->sites->by == TP_BY_PLACE)
        (void)tp_site_curve_of(t, c->sites, points, stop, &c->site_curve, &ignored);
}

const struct tp_curve *tp_requested_curve(const struct tp_result *results, size_t count)
{
    const struct tp_curve *found = NULL;
    for (size_t i = 0; !found && i < count; i++) {
        const struct tp_device_run *d = &results[i].run->devices[0];
        found = d->curve.count && !d->failed_allocations ? &d->curve : NULL;
    }
    return found;
}
