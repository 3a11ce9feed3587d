/* From a rough placement to a fine one. See offline.h.
 *
 *     in the order of time --> by size, by life, ... : stacked, then where it fits first
 *                          --> a search: no higher than the peak of live bytes first, then between
 *
 * Known weakness: above 2,048 objects there is no search, only first fits whose orders are changed
 * at random. */
#include "alloc/packing/offline_internal.h"

#include "alloc/base/ascending.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MOST  (UINT64_C(1) << 62)
#define ALIGN_MOST (UINT64_C(1) << 30)

/* ---- sections ---- */

static int by_time(const void *a, const void *b)
{
    const struct offline_moment *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->begins != y->begins)
        return x->begins ? 1 : -1;
    return tp_order(x->object, y->object);
}

/* A section is over with the first end after a begin. */
static void number_sections(struct offline *p)
{
    bool open = false;
    for (size_t i = 0; i < 2 * (size_t)p->count; i++) {
        const struct offline_moment *m = &p->moments[i];
        struct tp_offline_object *o = &p->objects[m->object];
        if (m->begins) {
            p->sections += !open;
            o->first = p->sections - 1;
        } else {
            o->behind = p->sections;
        }
        open = m->begins;
    }
}

static bool make_sections(struct offline *p)
{
    struct offline_moment *moments = malloc((2 * (size_t)p->count + 1) * sizeof *moments);
    p->moments = moments;
    if (!moments)
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tp_offline_object *o = &p->objects[i];
        moments[2 * (size_t)i] = (struct offline_moment){o->begin, i, true};
        moments[2 * (size_t)i + 1] = (struct offline_moment){o->end, i, false};
    }
    qsort(moments, 2 * (size_t)p->count, sizeof *moments, by_time);
    number_sections(p);
    return true;
}

/* Sums up what is live in each section: bytes that begin there, less those that ended before. */
static bool make_loads(struct offline *p)
{
    uint64_t *ended = calloc(p->sections + (size_t)1, sizeof *ended);
    p->load = calloc(p->sections + (size_t)1, sizeof *p->load);
    for (uint32_t i = 0; ended && p->load && i < p->count; i++) {
        p->load[p->objects[i].first] += p->objects[i].size;
        ended[p->objects[i].behind] += p->objects[i].size;
    }
    uint64_t live = 0;
    for (uint32_t k = 0; ended && p->load && k < p->sections; k++) {
        live += p->load[k] - ended[k];
        p->load[k] = live;
        p->least = live > p->least ? live : p->least;
    }
    free(ended);
    return ended && p->load;
}

/* ---- orders ---- */

/* What an order sorts by, the largest first. */
enum offline_key { OFFLINE_SIZE, OFFLINE_LIFE, OFFLINE_AREA, OFFLINE_WEIGHT, OFFLINE_KEYS };

struct sorted {
    double keys[OFFLINE_KEYS];
    uint32_t object;
};

static int by_keys(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    for (size_t i = 0; i < OFFLINE_KEYS; i++)
        if (x->keys[i] > y->keys[i] || x->keys[i] < y->keys[i])
            return x->keys[i] > y->keys[i] ? -1 : 1;
    return tp_order(x->object, y->object);
}

static double key_of(const struct offline *p, uint32_t i, enum offline_key key)
{
    const struct tp_offline_object *o = &p->objects[i];
    double size = (double)o->size, life = o->behind - o->first; /* in sections */
    if (key == OFFLINE_SIZE)
        return size;
    if (key == OFFLINE_LIFE)
        return life;
    return key == OFFLINE_AREA ? size * life : (double)p->weight[i];
}

/* Noise on the weight would part objects of the same sections, and an area has that of its size. */
static uint64_t noise_of(enum offline_key key, uint64_t noise)
{
    return key == OFFLINE_SIZE || key == OFFLINE_LIFE ? noise : 0;
}

/* A factor around 2,000,000, `noise` thousandths wide. It is a whole number, so that a product with
 * it is rounded once, and all machines sort alike. */
static double factor_of(struct offline *p, uint64_t noise)
{
    return (double)(UINT64_C(2000000) - noise * 1000 +
                    2 * noise * tp_random_below(&p->random, 1001));
}

/* Sorts p->order by the keys; `noise` from 0 to 1000 changes them at random, within so many
 * thousandths. False: out of memory. */
static bool sort_by(struct offline *p, const enum offline_key *keys, size_t count, uint64_t noise)
{
    struct sorted *all = calloc(p->count + (size_t)1, sizeof *all);
    for (uint32_t i = 0; all && i < p->count; i++) {
        all[i].object = i;
        for (size_t k = 0; k < count; k++)
            all[i].keys[k] = factor_of(p, noise_of(keys[k], noise)) * key_of(p, i, keys[k]);
    }
    if (!all)
        return false;
    qsort(all, p->count, sizeof *all, by_keys);
    for (uint32_t i = 0; i < p->count; i++)
        p->order[i] = all[i].object;
    free(all);
    return true;
}

/* Keeps p->offsets as the best placement if it is lower than `best`. */
static void keep(struct offline *p, uint64_t height)
{
    if (height >= p->best)
        return;
    p->best = height;
    for (uint32_t i = 0; i < p->count; i++)
        p->objects[i].offset = p->offsets[i];
}

/* ---- from rough to fine ---- */

static const enum offline_key rough[][3] = {
    {OFFLINE_LIFE, OFFLINE_SIZE, OFFLINE_AREA},
    {OFFLINE_SIZE, OFFLINE_LIFE, OFFLINE_AREA},
    {OFFLINE_AREA, OFFLINE_SIZE, OFFLINE_LIFE},
    {OFFLINE_WEIGHT, OFFLINE_SIZE, OFFLINE_LIFE},
};
enum { ROUGH = sizeof rough / sizeof *rough };

static void place_roughly(struct offline *p)
{
    enum { STEPS = 64 }; /* what sorting and stacking an object takes */
    keep(p, tp_offline_in_time(p, false));
    if (p->best > p->least)
        keep(p, tp_offline_in_time(p, true));
    for (size_t i = 0; i < ROUGH && p->best > p->least; i++)
        if (offline_spend(p, STEPS * (uint64_t)p->count) && sort_by(p, rough[i], 3, 0))
            keep(p, tp_offline_stack(p));
    for (size_t i = 0; i < ROUGH && p->best > p->least && p->steps; i++)
        if (sort_by(p, rough[i], 3, 0))
            keep(p, tp_offline_first_fit(p));
}

/* First fits in orders that differ a little at random, while there are steps. */
static void fit_at_random(struct offline *p)
{
    for (size_t i = 0; p->steps && p->best > p->least; i++) {
        uint64_t noise = 20 * (1 + i / ROUGH % 20);
        if (!offline_spend(p, p->count) || !sort_by(p, rough[i % ROUGH], 3, noise))
            return;
        keep(p, tp_offline_first_fit(p));
    }
}

static uint64_t height_of(const struct offline *p)
{
    uint64_t height = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t top = p->offsets[i] + p->objects[i].size;
        height = top > height ? top : height;
    }
    return height;
}

/* One search that differs with each attempt. */
static enum offline_found search_once(struct offline *p, struct offline_search *s, uint64_t height,
                                      uint64_t nodes, uint64_t attempt)
{
    static const enum offline_key orders[][3] = {
        {OFFLINE_WEIGHT, OFFLINE_LIFE, OFFLINE_AREA},
        {OFFLINE_LIFE, OFFLINE_AREA, OFFLINE_WEIGHT},
    };
    enum { ORDERS = sizeof orders / sizeof *orders, NOISES = 4 };
    const struct offline_try how = {.height = height,
                                    .nodes = nodes + 2 * (uint64_t)p->count,
                                    .fresh = attempt % 2,
                                    .fullest = (attempt + 1) / 2 % 2};
    uint64_t noise = attempt / ORDERS % NOISES * 100;
    if (!offline_spend(p, p->count) || !sort_by(p, orders[attempt % ORDERS], 3, noise))
        return OFFLINE_UNKNOWN;
    enum offline_found found = tp_offline_search(s, p, &how);
    if (found == OFFLINE_FOUND)
        keep(p, height_of(p));
    if (found == OFFLINE_NONE)
        p->least = height + 1;
    return found;
}

/* How searches of a round are done. */
struct offline_round {
    uint64_t nodes;   /* of a search, beside those that placing each object needs */
    uint64_t tries;   /* searches for one height */
    uint64_t attempt; /* the number of the next search */
};

static enum offline_found search_height(struct offline *p, struct offline_search *s,
                                        uint64_t height, struct offline_round *r)
{
    enum offline_found found = OFFLINE_UNKNOWN;
    for (uint64_t i = 0; i < r->tries && found == OFFLINE_UNKNOWN && p->steps; i++)
        found = search_once(p, s, height, r->nodes, r->attempt++);
    return found;
}

/* Heights by halves, between the least and the best, to the end where searches say yes or no. What
 * is found may lie below heights at which nothing was found before. */
static void search_between(struct offline *p, struct offline_search *s, struct offline_round *r)
{
    enum { FINE = 256 };
    enum offline_found found = OFFLINE_NONE;
    uint64_t low = p->least; /* not found above it in this round */
    while (p->steps && p->best > p->least && p->best > low &&
           (found != OFFLINE_UNKNOWN || p->best - low > p->least / FINE)) {
        uint64_t middle = low + (p->best - low) / 2;
        found = search_height(p, s, middle, r);
        if (found == OFFLINE_NONE)
            low = p->least;
        else if (found != OFFLINE_FOUND)
            low = middle;
    }
}

/* For the least height, until the steps left are `end`. */
static void search_least(struct offline *p, struct offline_search *s, uint64_t end,
                         struct offline_round *r)
{
    while (p->steps > end && p->best > p->least)
        search_once(p, s, p->least, r->nodes, r->attempt++);
}

/* A search from an unlucky beginning may take for ever, so each is short and differs from the one
 * before. Rounds have more searches for each height, and then longer ones. The least height, which
 * leaves the fewest choices, takes about half of all steps. */
static void search_in_rounds(struct offline *p, struct offline_search *s)
{
    enum { SHORTEST = 300, TRIES_DOUBLED = 4, AS_LONG = 3, NODES_DOUBLED = 16 };
    struct offline_round least = {.attempt = 0}, between = {.attempt = 0};
    for (unsigned i = 0; p->steps && p->best > p->least; i++) {
        uint64_t before = p->steps;
        unsigned doubled = i / AS_LONG < NODES_DOUBLED ? i / AS_LONG : NODES_DOUBLED;
        least.nodes = between.nodes = (uint64_t)SHORTEST << doubled;
        least.tries = between.tries = UINT64_C(1) << (i < TRIES_DOUBLED ? i : TRIES_DOUBLED);
        search_height(p, s, p->least, &least);
        search_between(p, s, &between);
        uint64_t taken = before - p->steps;
        search_least(p, s, p->steps > taken ? p->steps - taken : 0, &least);
    }
}

static void place_finely(struct offline *p)
{
    struct offline_search *s = tp_offline_search_new(p);
    if (s)
        search_in_rounds(p, s);
    else
        fit_at_random(p);
    tp_offline_search_free(s);
}

/* ---- the whole ---- */

static int check_objects(const struct tp_offline_object *objects, size_t count, struct tp_err *err)
{
    uint64_t sum = 0;
    if (count > TP_OFFLINE_OBJECTS)
        return tp_fail(err, TP_EINVAL, "more than %zu objects to pack", TP_OFFLINE_OBJECTS);
    for (size_t i = 0; i < count; i++) {
        const struct tp_offline_object *o = &objects[i];
        bool good = o->begin < o->end && o->size > 0 && o->size <= SIZE_MOST - sum && o->align &&
                    o->align <= ALIGN_MOST && !(o->align & (o->align - 1));
        if (!good)
            return tp_fail(err, TP_EINVAL, "object %zu cannot be packed", i);
        sum += o->size;
    }
    return TP_OK;
}

static bool begin(struct offline *p)
{
    p->order = malloc((p->count + (size_t)1) * sizeof *p->order);
    p->offsets = malloc((p->count + (size_t)1) * sizeof *p->offsets);
    p->weight = malloc((p->count + (size_t)1) * sizeof *p->weight);
    if (!p->order || !p->offsets || !p->weight || !make_sections(p) || !make_loads(p))
        return false;
    tp_random_seed(&p->random, 1);
    return tp_offline_weigh(p);
}

static void end(struct offline *p)
{
    free(p->moments);
    free(p->order);
    free(p->offsets);
    free(p->weight);
    free(p->load);
}

int tp_offline_pack(struct tp_offline_object *objects, size_t count,
                    struct tp_offline_budget *budget, struct tp_offline *out, struct tp_err *err)
{
    struct offline p = {.objects = objects,
                        .steps = budget->steps,
                        .interrupted = budget->interrupted,
                        .best = UINT64_MAX};
    *out = (struct tp_offline){0, 0};
    int rc = check_objects(objects, count, err);
    if (rc != TP_OK || !count)
        return rc;
    p.count = (uint32_t)count;
    bool made = begin(&p);
    if (made) {
        place_roughly(&p);
        place_finely(&p);
    }
    budget->steps = p.steps;
    if (offline_is_interrupted(&p))
        rc = tp_fail(err, TP_ESTOP, "interrupted");
    else if (!made || p.best == UINT64_MAX)
        rc = tp_fail(err, TP_ENOMEM, "out of memory");
    else if (!tp_offline_is_sound(&p))
        rc = tp_fail(err, TP_EBROKEN, "objects of a packing overlap");
    else
        *out = (struct tp_offline){p.least, p.best};
    end(&p);
    return rc;
}
