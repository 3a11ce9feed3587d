/* A search for a placement that is no higher than a given height, by branch and bound.
 *
 *     place the object of the lowest offset --> parts of time that share no object any more
 *            ^                                    \--> each by itself
 *            +---- no room left: take it back, the next
 *
 * Objects are placed by ascending offset, each as low as those below it allow. It suffices to look
 * at such placements, as any other can be pushed down into one. So an object is no candidate while
 * another would fit entirely below it, and in each section all that is still to be placed must fit
 * above the lowest offset that is left there. M. Moffitt, "MiniMalloc" (ASPLOS 2023), has the idea
 * of the order, of the candidates and of the parts. */
#include "alloc/engine/offline_internal.h"

#include <stdlib.h>
#include <string.h>

/* What a placement of one object changed. */
struct offline_change {
    uint32_t object;
    uint64_t lowest; /* before */
};

struct offline_search {
    struct offline *p;
    uint64_t height;
    uint64_t nodes;   /* left */
    bool given_up;    /* out of nodes or of steps */
    uint64_t *lowest; /* of each object: as low as what was placed allows */
    uint64_t *rest;   /* of each section: bytes still to be placed */
    uint64_t *floor;  /* of each section: the lowest offset that is left; for one node at a time */
    int32_t *turns;   /* of each section: parts that begin less those that end; for one node */
    uint32_t *lists;  /* a stack of lists of objects */
    size_t list_used, list_room;
    struct offline_change *changes; /* a stack */
    size_t change_count, change_room;
};

/* A list of objects that are still to be placed, in the order of trying. */
struct offline_part {
    uint32_t *items;
    uint32_t count;
    uint32_t first, behind; /* sections */
    /* The object placed last had this offset and stood before the item number `after`: what
     * follows lies higher, or as high and further behind. */
    uint64_t offset;
    uint32_t after;
};

static bool search_part(struct offline_search *s, const struct offline_part *part);

/* ---- stacks ---- */

static uint32_t *push_list(struct offline_search *s, uint32_t count)
{
    uint32_t *list = &s->lists[s->list_used];
    if (count > s->list_room - s->list_used) {
        s->given_up = true;
        return NULL;
    }
    s->list_used += count;
    return list;
}

static void raise_object(struct offline_search *s, uint32_t object, uint64_t to)
{
    s->changes[s->change_count++] = (struct offline_change){object, s->lowest[object]};
    s->lowest[object] = to;
}

static void take_back(struct offline_search *s, size_t to)
{
    while (s->change_count > to) {
        const struct offline_change *c = &s->changes[--s->change_count];
        s->lowest[c->object] = c->lowest;
    }
}

/* ---- one node ---- */

static void bound_sections(struct offline_part *part, const struct tp_offline_object *objects)
{
    part->first = UINT32_MAX;
    part->behind = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &objects[part->items[i]];
        part->first = o->first < part->first ? o->first : part->first;
        part->behind = o->behind > part->behind ? o->behind : part->behind;
    }
}

/* Whether all that is left can still fit, and below which offset candidates lie. */
static bool has_room(struct offline_search *s, const struct offline_part *part, uint64_t *below)
{
    const struct tp_offline_object *objects = s->p->objects;
    uint64_t steps = part->count + (part->behind - part->first);
    *below = UINT64_MAX;
    for (uint32_t i = part->first; i < part->behind; i++)
        s->floor[i] = UINT64_MAX;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &objects[part->items[i]];
        uint64_t own = s->lowest[part->items[i]], at = own > part->offset ? own : part->offset;
        if (at + o->size > s->height)
            return false;
        if (own + o->size < *below)
            *below = own + o->size;
        for (uint32_t k = o->first; k < o->behind; k++)
            if (at < s->floor[k])
                s->floor[k] = at;
        steps += o->behind - o->first;
    }
    s->given_up |= !offline_spend(s->p, steps);
    for (uint32_t i = part->first; i < part->behind; i++)
        if (s->rest[i] && s->floor[i] + s->rest[i] > s->height)
            return false;
    return true;
}

/* The numbers of the items that may be placed next, the lowest first. */
static uint32_t candidates_of(struct offline_search *s, const struct offline_part *part,
                              uint64_t below, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        uint64_t at = s->lowest[part->items[i]];
        uint32_t k = count;
        if (at >= below || at < part->offset || (at == part->offset && i < part->after))
            continue;
        for (; k > 0 && s->lowest[part->items[out[k - 1]]] > at; k--)
            out[k] = out[k - 1];
        out[k] = i;
        count++;
    }
    return count;
}

static void place(struct offline_search *s, const struct offline_part *part, uint32_t number,
                  uint32_t *left)
{
    const struct tp_offline_object *objects = s->p->objects;
    uint32_t chosen = part->items[number], count = 0;
    const struct tp_offline_object *o = &objects[chosen];
    uint64_t top = s->lowest[chosen] + o->size;
    s->p->offsets[chosen] = s->lowest[chosen];
    for (uint32_t k = o->first; k < o->behind; k++)
        s->rest[k] -= o->size;
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t other = part->items[i];
        const struct tp_offline_object *x = &objects[other];
        if (i == number)
            continue;
        left[count++] = other;
        if (x->first < o->behind && o->first < x->behind && s->lowest[other] < top)
            raise_object(s, other, offline_up(top, x->align));
    }
}

static void displace(struct offline_search *s, uint32_t chosen, size_t changes)
{
    const struct tp_offline_object *o = &s->p->objects[chosen];
    take_back(s, changes);
    for (uint32_t k = o->first; k < o->behind; k++)
        s->rest[k] += o->size;
}

/* ---- parts ---- */

/* Numbers the parts of time that share no object: s->turns becomes the number of each section's
 * part. Returns how many there are. */
static uint32_t number_parts(struct offline_search *s, const struct offline_part *part)
{
    int32_t number = 0, open = 0;
    memset(&s->turns[part->first], 0, (part->behind - part->first + 1) * sizeof *s->turns);
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &s->p->objects[part->items[i]];
        s->turns[o->first]++;
        s->turns[o->behind]--;
    }
    for (uint32_t k = part->first; k < part->behind; k++) {
        number += !open && k > part->first;
        open += s->turns[k];
        s->turns[k] = number;
    }
    return (uint32_t)number + 1;
}

/* Takes the items of the part with this number out of `part`. */
static bool take_part(struct offline_search *s, const struct offline_part *part,
                      const uint32_t *numbers, uint32_t number, struct offline_part *out)
{
    *out = (struct offline_part){.offset = part->offset};
    out->items = push_list(s, part->count);
    for (uint32_t i = 0; out->items && i < part->count; i++) {
        if (numbers[i] != number)
            continue;
        out->after += i < part->after;
        out->items[out->count++] = part->items[i];
    }
    return out->items;
}

static bool search_parts(struct offline_search *s, struct offline_part *part)
{
    size_t lists = s->list_used;
    uint32_t *numbers = NULL, parts = 1;
    bool found = true;
    if (!part->count)
        return true;
    bound_sections(part, s->p->objects);
    parts = number_parts(s, part);
    if (parts == 1)
        return search_part(s, part);
    numbers = push_list(s, part->count);
    for (uint32_t i = 0; numbers && i < part->count; i++)
        numbers[i] = (uint32_t)s->turns[s->p->objects[part->items[i]].first];
    for (uint32_t n = 0; numbers && found && n < parts; n++) {
        size_t used = s->list_used;
        struct offline_part one = {.count = 0};
        found = take_part(s, part, numbers, n, &one);
        if (found && one.count) {
            bound_sections(&one, s->p->objects);
            found = search_part(s, &one);
        }
        s->list_used = used;
    }
    s->list_used = lists;
    return numbers && found;
}

static bool search_part(struct offline_search *s, const struct offline_part *part)
{
    uint64_t below = 0;
    size_t lists = s->list_used, changes = s->change_count;
    bool found = false;
    s->given_up |= !s->nodes;
    if (s->given_up)
        return false;
    s->nodes--;
    if (!has_room(s, part, &below))
        return false;
    uint32_t *candidates = push_list(s, part->count);
    uint32_t *left = candidates ? push_list(s, part->count) : NULL;
    uint32_t count = left ? candidates_of(s, part, below, candidates) : 0;
    for (uint32_t i = 0; i < count && !found && !s->given_up; i++) {
        uint32_t chosen = part->items[candidates[i]];
        struct offline_part next = {.items = left,
                                    .count = part->count - 1,
                                    .offset = s->lowest[chosen],
                                    .after = candidates[i]};
        place(s, part, candidates[i], left);
        found = search_parts(s, &next);
        displace(s, chosen, changes);
    }
    s->list_used = lists;
    return found;
}

/* ---- the whole ---- */

/* A node has two lists of its part, and a list for each part it falls into. Each level has one
 * object less; a part is copied at most twice more. */
static size_t list_room(uint32_t count)
{
    return 2 * (size_t)count * (count + (size_t)2) + 4 * (size_t)count;
}

struct offline_search *tp_offline_search_new(const struct offline *p)
{
    struct offline_search *s = p->count <= OFFLINE_SEARCHED ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->list_room = list_room(p->count);
    s->change_room = (size_t)p->count * (p->count + 1) / 2 + 1;
    s->lowest = calloc(p->count + (size_t)1, sizeof *s->lowest);
    s->rest = calloc(p->sections + (size_t)1, sizeof *s->rest);
    s->floor = calloc(p->sections + (size_t)1, sizeof *s->floor);
    s->turns = calloc(p->sections + (size_t)1, sizeof *s->turns);
    s->lists = malloc(s->list_room * sizeof *s->lists);
    s->changes = malloc(s->change_room * sizeof *s->changes);
    if (s->lowest && s->rest && s->floor && s->turns && s->lists && s->changes)
        return s;
    tp_offline_search_free(s);
    return NULL;
}

void tp_offline_search_free(struct offline_search *s)
{
    if (!s)
        return;
    free(s->lowest);
    free(s->rest);
    free(s->floor);
    free(s->turns);
    free(s->lists);
    free(s->changes);
    free(s);
}

enum offline_found tp_offline_search(struct offline_search *s, struct offline *p, uint64_t height,
                                     uint64_t nodes)
{
    struct offline_part all = {.items = p->order, .count = p->count};
    s->p = p;
    s->height = height;
    s->nodes = nodes;
    s->given_up = false;
    s->list_used = s->change_count = 0;
    memset(s->lowest, 0, p->count * sizeof *s->lowest);
    memcpy(s->rest, p->load, p->sections * sizeof *s->rest);
    if (search_parts(s, &all))
        return OFFLINE_FOUND;
    return s->given_up ? OFFLINE_UNKNOWN : OFFLINE_NONE;
}
