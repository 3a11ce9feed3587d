/* See xplane_pool.h. Where the pool grew, the votes of the events between two places are for one
 * pool each. Of those with the most votes a row is chosen that never shrinks and has the most votes
 * in all: a step for each event and pool. */
#include "traces/formats/xplane/xplane_pool.h"

#include "alloc/base/ascending.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BACK = 6, CHOSEN = 12, KEPT = 1 << 16 };
#define STEP_COSTS 0.5 /* votes */

/* Half a unit of the last of six digits, and what is lost in between. */
static double doubt(double f)
{
    if (f <= 0)
        return 0;
    return 0.51 * pow(10, floor(log10(f)) - 5);
}

bool tp_xplane_largest(const struct tp_xplane_event *ev, uint64_t pool, double *largest,
                       double *within)
{
    if (isnan(ev->fragmentation) || ev->in_use > pool)
        return false;
    double there = (double)(pool - ev->in_use);
    *largest = (1 - ev->fragmentation) * there;
    *within = doubt(ev->fragmentation) * there + (ev->fragmentation > 0);
    return true;
}

bool tp_xplane_says(const struct tp_xplane_event *ev, uint64_t pool, uint64_t largest)
{
    if (ev->in_use > pool)
        return false;
    double there = (double)(pool - ev->in_use), f = 0;
    if (there > 0)
        f = (there - (double)largest) / there;
    return fabs(f - ev->fragmentation) <= doubt(ev->fragmentation) * 1.05 + 1e-12;
}

/* ---- votes ---- */

/* Takes `p` for the limit, which no pool is above, or for a multiple of a unit, within `error`. */
static bool name_pool(double p, double error, uint64_t limit, uint64_t *pool)
{
    *pool = limit;
    if (limit && fabs(p - (double)limit) <= error)
        return true;
    *pool = (uint64_t)(p / (double)TP_XPLANE_UNIT + 0.5) * TP_XPLANE_UNIT;
    return fabs(p - (double)*pool) <= error && (!limit || *pool < limit);
}

/* The pool by which the largest chunk of event `j` is that of `i` and `more` bytes. False: the pair
 * does not say it well enough. */
static bool vote(const struct tp_xplane_event *i, const struct tp_xplane_event *j, double more,
                 uint64_t limit, uint64_t *pool)
{
    double a = 1 - i->fragmentation, b = 1 - j->fragmentation, between = b - a;
    if (!(fabs(between) > 1e-9) || i->in_use > TP_MAX_SIZE || j->in_use > TP_MAX_SIZE)
        return false;
    double p = (more + b * (double)j->in_use - a * (double)i->in_use) / between;
    double least = (double)(i->in_use > j->in_use ? i->in_use : j->in_use);
    if (!(p >= least) || p > (double)TP_MAX_SIZE)
        return false;
    double error = (doubt(i->fragmentation) * (p - (double)i->in_use) +
                    doubt(j->fragmentation) * (p - (double)j->in_use)) /
                   fabs(between);
    return error <= (double)TP_XPLANE_UNIT / 4 &&
           name_pool(p, error + TP_XPLANE_GRAIN, limit, pool);
}

typedef void vote_fn(void *ctx, uint64_t pool);

/* Calls `fn` for each vote of an event and those before it, of which `from` is the first with the
 * same pool. */
static void votes_of(const struct tp_xplane_row *row, size_t from, size_t j, vote_fn *fn, void *ctx)
{
    const struct tp_xplane_event *ev = row->events;
    uint64_t pool = 0;
    for (size_t i = j > from + BACK ? j - BACK : from; i < j; i++)
        if (vote(&ev[i], &ev[j], 0, row->limit, &pool))
            fn(ctx, pool);
    double size = (double)ev[j].bytes;
    if (j > from && vote(&ev[j - 1], &ev[j], ev[j].frees ? size : -size, row->limit, &pool))
        fn(ctx, pool);
}

/* ---- the pools with the most votes ---- */

struct pool_count {
    uint64_t pool, votes;
};

struct pool_votes {
    struct pool_count *list;
    size_t count, room;
    struct tp_id_map known; /* pool -> index */
    const struct tp_reading *reading;
    struct tp_err *err;
    int rc;
};

static void count_vote(void *ctx, uint64_t pool)
{
    struct pool_votes *c = ctx;
    const struct tp_id_entry *entry = tp_id_map_find(&c->known, (int64_t)pool);
    if (entry) {
        c->list[entry->index].votes++;
        return;
    }
    if (c->count == KEPT || c->rc != TP_OK)
        return;
    c->rc = TP_READ_GROW(c->reading, &c->list, &c->room, c->count + 1, "pools", c->err);
    if (c->rc == TP_OK)
        c->rc = tp_id_map_put(&c->known, (int64_t)pool, (uint32_t)c->count, c->err);
    if (c->rc == TP_OK)
        c->list[c->count++] = (struct pool_count){pool, 1};
}

static int by_votes(const void *a, const void *b)
{
    const struct pool_count *x = a, *y = b;
    return x->votes != y->votes ? -tp_order(x->votes, y->votes) : tp_order(x->pool, y->pool);
}

static int by_pool(const void *a, const void *b)
{
    const struct pool_count *x = a, *y = b;
    return tp_order(x->pool, y->pool);
}

static uint64_t votes_for(const struct pool_votes *c, uint64_t pool)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].pool == pool)
            return c->list[i].votes;
    return 0;
}

/* The first event with the same pool as event `j`; *place: the next place behind. */
static size_t pool_begins(const size_t *places, size_t place_count, size_t j, size_t *place)
{
    while (*place < place_count && places[*place] <= j)
        ++*place;
    return *place ? places[*place - 1] : 0;
}

static int count_votes(struct pool_votes *c, const struct tp_xplane_row *row, const size_t *places,
                       size_t place_count)
{
    size_t place = 0;
    for (size_t j = 0; c->rc == TP_OK && j < row->count; j++)
        votes_of(row, pool_begins(places, place_count, j, &place), j, count_vote, c);
    if (c->count)
        qsort(c->list, c->count, sizeof *c->list, by_votes);
    return c->rc;
}

/* ---- the row of pools ---- */

struct pool_row {
    const struct pool_count *pools; /* ascend */
    size_t count;
    double gained[CHOSEN]; /* the most votes of a row that ends with this pool */
};

static void gain_vote(void *ctx, uint64_t pool)
{
    struct pool_row *c = ctx;
    for (size_t i = 0; i < c->count; i++)
        c->gained[i] += c->pools[i].pool == pool;
}

/* At a place the pool may become larger: `from` says, for each pool, which it was before. */
static void pass_place(struct pool_row *c, unsigned char from[CHOSEN])
{
    double was[CHOSEN];
    size_t best = 0;
    memcpy(was, c->gained, sizeof was);
    for (size_t i = 0; i < c->count; i++) {
        from[i] = (unsigned char)i;
        if (was[best] - STEP_COSTS > was[i]) {
            from[i] = (unsigned char)best;
            c->gained[i] = was[best] - STEP_COSTS;
        }
        best = was[i] > was[best] ? i : best;
    }
}

static int trace_back(const struct tp_reading *r, const struct pool_row *c, const size_t *places,
                      size_t place_count, unsigned char (*from)[CHOSEN], struct tp_xplane_pool *out,
                      struct tp_err *err)
{
    size_t now = 0;
    int rc = TP_OK;
    for (size_t i = 1; i < c->count; i++)
        now = c->gained[i] > c->gained[now] ? i : now;
    out->end = c->pools[now].pool;
    for (size_t k = place_count; rc == TP_OK && k-- > 0;) {
        size_t was = from[k][now];
        if (was == now)
            continue;
        rc = TP_READ_GROW(r, &out->steps, &out->step_room, out->step_count + 1, "regions", err);
        if (rc == TP_OK)
            out->steps[out->step_count++] =
                (struct tp_xplane_step){places[k], c->pools[now].pool - c->pools[was].pool};
        now = was;
    }
    for (size_t i = 0; i < out->step_count / 2; i++) {
        struct tp_xplane_step s = out->steps[i];
        out->steps[i] = out->steps[out->step_count - 1 - i];
        out->steps[out->step_count - 1 - i] = s;
    }
    return rc;
}

/* Where the limit has all but a tenth of the votes of the best row, the others are off. */
static void take_limit(uint64_t limit, uint64_t votes, const struct pool_row *c,
                       struct tp_xplane_pool *out)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++)
        most = c->gained[i] > most ? c->gained[i] : most;
    out->whole = votes && (double)votes >= 0.9 * most;
    if (!out->whole)
        return;
    out->end = limit;
    out->step_count = 0;
}

static int choose_row(const struct tp_reading *r, const struct tp_xplane_row *row,
                      struct pool_votes *votes, const size_t *places, size_t place_count,
                      struct tp_xplane_pool *out, struct tp_err *err)
{
    struct pool_row c = {.pools = votes->list,
                         .count = votes->count < CHOSEN ? votes->count : CHOSEN};
    unsigned char(*from)[CHOSEN] = calloc(place_count + 1, sizeof *from);
    size_t place = 0;
    if (!from)
        return tp_input_no_memory(r->in, err);
    qsort(votes->list, c.count, sizeof *votes->list, by_pool);
    for (size_t j = 0; j < row->count; j++) {
        if (place < place_count && places[place] == j)
            pass_place(&c, from[place]);
        votes_of(row, pool_begins(places, place_count, j, &place), j, gain_vote, &c);
    }
    int rc = trace_back(r, &c, places, place_count, from, out, err);
    if (rc == TP_OK && row->limit)
        take_limit(row->limit, votes_for(votes, row->limit), &c, out);
    free(from);
    return rc;
}

int tp_xplane_find_pool(const struct tp_reading *r, const struct tp_xplane_row *row,
                        const size_t *places, size_t place_count, struct tp_xplane_pool *out,
                        struct tp_err *err)
{
    struct pool_votes votes = {.reading = r, .err = err, .rc = TP_OK};
    votes.known.how = tp_reading_growth(r, "pools");
    *out = (struct tp_xplane_pool){.end = 0};
    int rc = count_votes(&votes, row, places, place_count);
    if (rc == TP_OK && votes.count)
        rc = choose_row(r, row, &votes, places, place_count, out, err);
    tp_id_map_release(&votes.known);
    TP_GROW_END(&votes.list, &votes.room, .budget = r->budget);
    return rc;
}

void tp_xplane_pool_release(const struct tp_reading *r, struct tp_xplane_pool *p)
{
    TP_GROW_END(&p->steps, &p->step_room, .budget = r->budget);
    *p = (struct tp_xplane_pool){.end = 0};
}

uint64_t tp_xplane_pool_at(const struct tp_xplane_pool *p, size_t event)
{
    uint64_t pool = p->end;
    for (size_t i = p->step_count; i-- > 0 && p->steps[i].event > event;)
        pool -= p->steps[i].by;
    return pool;
}
