/* Placements in an order that is given. See offline_internal.h. */
#include "alloc/packing/offline_internal.h"

#include "alloc/base/ascending.h"

#include <stdlib.h>
#include <string.h>

/* ---- stacking ---- */

/* A tree over sections: `top` is the highest end of an object in the sections below a node, and
 * `all` what holds for all of them. Node 1 is the root; node n has the children 2n and 2n+1. */
struct skyline {
    uint64_t *top, *all;
    uint32_t leaves; /* a power of two */
};

struct stretch {
    uint32_t node, low, high; /* sections [low, high) */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t skyline_max(const struct skyline *s, struct stretch at, uint32_t first,
                            uint32_t behind)
{
    if (behind <= at.low || at.high <= first)
        return 0;
    if (first <= at.low && at.high <= behind)
        return s->top[at.node];
    uint32_t middle = at.low + (at.high - at.low) / 2;
    uint64_t low = skyline_max(s, (struct stretch){2 * at.node, at.low, middle}, first, behind);
    uint64_t high =
        skyline_max(s, (struct stretch){2 * at.node + 1, middle, at.high}, first, behind);
    return larger(s->all[at.node], larger(low, high));
}

static void skyline_raise(struct skyline *s, struct stretch at, const struct tp_offline_object *o,
                          uint64_t top)
{
    if (o->behind <= at.low || at.high <= o->first)
        return;
    s->top[at.node] = larger(s->top[at.node], top);
    if (o->first <= at.low && at.high <= o->behind) {
        s->all[at.node] = larger(s->all[at.node], top);
        return;
    }
    uint32_t middle = at.low + (at.high - at.low) / 2;
    skyline_raise(s, (struct stretch){2 * at.node, at.low, middle}, o, top);
    skyline_raise(s, (struct stretch){2 * at.node + 1, middle, at.high}, o, top);
}

static uint64_t stack_all(struct offline *p, struct skyline *s)
{
    const struct stretch root = {1, 0, s->leaves};
    uint64_t height = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tp_offline_object *o = &p->objects[p->order[i]];
        uint64_t at = offline_up(skyline_max(s, root, o->first, o->behind), o->align);
        p->offsets[p->order[i]] = at;
        skyline_raise(s, root, o, at + o->size);
        height = larger(height, at + o->size);
    }
    return height;
}

static bool skyline_begin(struct skyline *s, uint32_t sections)
{
    s->leaves = 1;
    while (s->leaves < sections)
        s->leaves *= 2;
    s->top = calloc(2 * (size_t)s->leaves, sizeof *s->top);
    s->all = calloc(2 * (size_t)s->leaves, sizeof *s->all);
    return s->top && s->all;
}

static void skyline_end(struct skyline *s)
{
    free(s->top);
    free(s->all);
}

uint64_t tp_offline_stack(struct offline *p)
{
    struct skyline s = {.leaves = 0};
    uint64_t height = skyline_begin(&s, p->sections) ? stack_all(p, &s) : UINT64_MAX;
    skyline_end(&s);
    return height;
}

/* ---- what a skyline tells beside ---- */

bool tp_offline_weigh(struct offline *p)
{
    struct skyline s = {.leaves = 0};
    bool begun = skyline_begin(&s, p->sections);
    const struct stretch root = {1, 0, s.leaves};
    for (uint32_t k = 0; begun && k < p->sections; k++)
        skyline_raise(&s, root, &(struct tp_offline_object){.first = k, .behind = k + 1},
                      p->load[k]);
    for (uint32_t i = 0; begun && i < p->count; i++)
        p->weight[i] = skyline_max(&s, root, p->objects[i].first, p->objects[i].behind);
    skyline_end(&s);
    return begun;
}

struct placed_object {
    uint64_t offset;
    uint32_t object;
};

static int by_offset(const void *a, const void *b)
{
    const struct placed_object *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return tp_order(x->object, y->object);
}

/* By ascending offset, no object may lie lower than what is below it reaches. */
static bool is_above_all(struct offline *p, const struct placed_object *placed, struct skyline *s)
{
    const struct stretch root = {1, 0, s->leaves};
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tp_offline_object *o = &p->objects[placed[i].object];
        if (skyline_max(s, root, o->first, o->behind) > o->offset || o->offset % o->align ||
            o->offset + o->size > p->best)
            return false;
        skyline_raise(s, root, o, o->offset + o->size);
    }
    return true;
}

bool tp_offline_is_sound(struct offline *p)
{
    struct skyline s = {.leaves = 0};
    struct placed_object *placed = malloc((p->count + (size_t)1) * sizeof *placed);
    for (uint32_t i = 0; placed && i < p->count; i++)
        placed[i] = (struct placed_object){p->objects[i].offset, i};
    if (placed)
        qsort(placed, p->count, sizeof *placed, by_offset);
    bool sound = skyline_begin(&s, p->sections) && placed && is_above_all(p, placed, &s);
    skyline_end(&s);
    free(placed);
    return sound;
}

/* ---- first fit ---- */

struct fitted {
    uint64_t at, behind;         /* offsets */
    uint32_t first, last_behind; /* sections */
};

/* The lowest offset for an object among those placed, which ascend by `at`; *place is where it
 * belongs among them. */
static uint64_t lowest(const struct fitted *placed, uint32_t count,
                       const struct tp_offline_object *o, uint32_t *place)
{
    uint64_t at = 0;
    uint32_t i = 0;
    for (; i < count; i++) {
        const struct fitted *f = &placed[i];
        if (f->first >= o->behind || o->first >= f->last_behind)
            continue;
        if (f->at >= at + o->size)
            break;
        if (f->behind > at)
            at = offline_up(f->behind, o->align);
    }
    *place = i;
    while (*place > 0 && placed[*place - 1].at > at)
        --*place;
    return at;
}

static uint64_t fit_all(struct offline *p, struct fitted *placed)
{
    uint64_t height = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tp_offline_object *o = &p->objects[p->order[i]];
        uint32_t place = 0;
        uint64_t at = lowest(placed, i, o, &place);
        height = larger(height, at + o->size);
        if (height >= p->best || !offline_spend(p, i + UINT64_C(1)))
            return UINT64_MAX;
        p->offsets[p->order[i]] = at;
        memmove(&placed[place + 1], &placed[place], (i - place) * sizeof *placed);
        placed[place] = (struct fitted){at, at + o->size, o->first, o->behind};
    }
    return height;
}

uint64_t tp_offline_first_fit(struct offline *p)
{
    struct fitted *placed = malloc((p->count + (size_t)1) * sizeof *placed);
    uint64_t height = placed ? fit_all(p, placed) : UINT64_MAX;
    free(placed);
    return height;
}
