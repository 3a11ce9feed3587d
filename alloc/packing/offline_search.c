/* A search for a placement that is no higher than a given height, by branch and bound.
 *
 *     the section with the fewest objects that can be its next one from below
 *          |--> each of them, as low as it can lie --> parts of time that share no object any more
 *          |                                               \--> each by itself
 *          +--> none of them: its floor rises
 *
 * It suffices to look at placements that were pushed down, where each object lies at 0 or on
 * another one. In each section all that is still to be placed must fit above its floor, the lowest
 * offset that an object can have there. Sections that often had no room are decided earlier: a
 * search learns where the difficulty is, as constraint solvers do with weighted degrees (Boussemart
 * and others, ECAI 2004). M. Moffitt, "MiniMalloc" (ASPLOS 2023), has the idea of the sections'
 * rest, of what is not worth trying and of the parts.
 *
 * Known weakness: each partial placement looks at the lives of all objects that are left. */
#include "alloc/packing/offline_internal.h"

#include <stdlib.h>
#include <string.h>

/* What placing an object, or raising a floor, changed. */
struct offline_change {
    uint32_t object;
    bool floats;
    uint64_t lowest; /* both before */
};

struct offline_search {
    struct offline *p;
    struct offline_try how; /* with the nodes that are left */
    bool given_up;          /* out of nodes or of steps */
    uint64_t *lowest;       /* of each object: as low as what was placed allows */
    bool *floats;           /* of each object: a raised floor holds it, and nothing placed */
    uint64_t *rest;         /* of each section: bytes still to be placed */
    uint64_t *fails;        /* of each section: how often it had no room, times FAIL */
    uint64_t *learned;      /* the same, kept from one search to the next that is not fresh */
    /* Of each section, for one node at a time. */
    uint64_t *floor; /* the lowest offset of an object */
    uint64_t *over;  /* the lowest end of an object */
    uint32_t *ways; /* CHOICE for each object that can lie at the floor; SHUT or more: do not ask */
    int32_t *turns; /* parts that begin less those that end */
    uint32_t *lists; /* a stack of lists of objects */
    size_t list_used, list_room;
    struct offline_change *changes; /* a stack */
    size_t change_count, change_room;
};

/* A list of objects that are still to be placed, in the order of trying. */
struct offline_part {
    uint32_t *items;
    uint32_t count;
    uint32_t first, behind; /* sections */
};

enum { FAIL = 4096, CHOICE = 2, SHUT = 1 << 20, RAISED = 1 << 16 };

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

static void raise_object(struct offline_search *s, uint32_t object, uint64_t to, bool floats)
{
    s->given_up |= s->change_count == s->change_room;
    if (s->given_up)
        return;
    s->changes[s->change_count++] =
        (struct offline_change){object, s->floats[object], s->lowest[object]};
    s->lowest[object] = to;
    s->floats[object] = floats;
}

static void take_back(struct offline_search *s, size_t to)
{
    while (s->change_count > to) {
        const struct offline_change *c = &s->changes[--s->change_count];
        s->lowest[c->object] = c->lowest;
        s->floats[c->object] = c->floats;
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

static bool has_failed(struct offline_search *s, uint32_t first, uint32_t behind)
{
    for (uint32_t k = first; k < behind; k++)
        s->fails[k] += FAIL / (behind - first);
    return true;
}

/* Whether all that is left can still fit, by floors that are found anew. */
static bool has_room(struct offline_search *s, const struct offline_part *part)
{
    uint64_t steps = part->count + (part->behind - part->first);
    for (uint32_t k = part->first; k < part->behind; k++)
        s->floor[k] = s->over[k] = UINT64_MAX;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &s->p->objects[part->items[i]];
        uint64_t at = s->lowest[part->items[i]], end = at + o->size;
        if (end > s->how.height)
            return !has_failed(s, o->first, o->behind);
        for (uint32_t k = o->first; k < o->behind; k++) {
            s->floor[k] = at < s->floor[k] ? at : s->floor[k];
            s->over[k] = end < s->over[k] ? end : s->over[k];
        }
        steps += o->behind - o->first;
    }
    s->given_up |= !offline_spend(s->p, 2 * steps); /* with those of count_ways() */
    for (uint32_t k = part->first; k < part->behind; k++)
        if (s->rest[k] && s->floor[k] + s->rest[k] > s->how.height)
            return !has_failed(s, k, k + 1);
    return true;
}

/* Where another object could come to lie below one of the choices, the section must wait. Else one
 * that floats cannot lie as low as that: there is nothing that it would lie on. */
static void count_ways(struct offline_search *s, const struct offline_part *part)
{
    memset(&s->ways[part->first], 0, (part->behind - part->first) * sizeof *s->ways);
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &s->p->objects[part->items[i]];
        uint64_t at = s->lowest[part->items[i]], over = UINT64_MAX;
        for (uint32_t k = o->first; k < o->behind; k++)
            over = s->over[k] < over ? s->over[k] : over;
        uint32_t way = s->floats[part->items[i]] ? 0 : CHOICE;
        if (over <= at)
            way = SHUT;
        for (uint32_t k = o->first; k < o->behind; k++)
            s->ways[k] += s->floor[k] == at ? way : 0;
    }
}

/* Fewer ways go first, measured by how often the section failed; and then the lower floor, or the
 * section with less room to spare. */
static bool goes_first(const struct offline_search *s, uint64_t ways, uint32_t k,
                       uint64_t other_ways, uint32_t other)
{
    uint64_t one = ways * (FAIL + s->fails[other]), two = other_ways * (FAIL + s->fails[k]);
    if (one != two)
        return one < two;
    if (s->how.fullest)
        return s->floor[k] + s->rest[k] > s->floor[other] + s->rest[other];
    return s->floor[k] < s->floor[other];
}

/* The section to decide next. One of the lowest floor need never wait, so there is one. A section
 * with one choice and no room to spare has only one way. */
static uint32_t section_of(const struct offline_search *s, const struct offline_part *part)
{
    uint32_t best = UINT32_MAX;
    uint64_t fewest = 0;
    for (uint32_t k = part->first; k < part->behind; k++) {
        if (!s->rest[k] || s->ways[k] >= SHUT)
            continue;
        uint64_t ways = s->ways[k];
        ways += s->floor[k] + s->rest[k] < s->how.height;
        ways = ways > CHOICE ? ways : 0;
        if (best != UINT32_MAX && !goes_first(s, ways, k, fewest, best))
            continue;
        best = k;
        fewest = ways;
    }
    return best;
}

static bool covers(const struct tp_offline_object *o, uint32_t k)
{
    return o->first <= k && k < o->behind;
}

static bool is_same(const struct tp_offline_object *a, const struct tp_offline_object *b)
{
    return a->first == b->first && a->behind == b->behind && a->size == b->size &&
           a->align == b->align;
}

/* The numbers of the items that can lie at the floor of a section, of equal ones the first. */
static uint32_t candidates_of(struct offline_search *s, const struct offline_part *part, uint32_t k,
                              uint32_t *out)
{
    const struct tp_offline_object *objects = s->p->objects;
    uint64_t steps = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &objects[part->items[i]];
        uint32_t object = part->items[i];
        bool is = covers(o, k) && s->lowest[object] == s->floor[k] && !s->floats[object];
        for (uint32_t n = 0; is && n < count; n++, steps++)
            is = !is_same(o, &objects[part->items[out[n]]]);
        if (is)
            out[count++] = i;
    }
    s->given_up |= !offline_spend(s->p, steps);
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
        bool above = x->first < o->behind && o->first < x->behind;
        uint64_t at = offline_up(top, x->align);
        if (above && (s->lowest[other] < at || (s->lowest[other] == at && s->floats[other])))
            raise_object(s, other, at, false);
    }
}

static void displace(struct offline_search *s, uint32_t chosen, size_t changes)
{
    const struct tp_offline_object *o = &s->p->objects[chosen];
    take_back(s, changes);
    for (uint32_t k = o->first; k < o->behind; k++)
        s->rest[k] += o->size;
}

/* The least offset above the floor of section k that one of its objects can have: a lowest one that
 * lies higher, or the end of an object beside the section, on which one of the others would lie.
 * What floats lies on others in the end on one that does not. */
static uint64_t floor_above(const struct offline_search *s, const struct offline_part *part,
                            uint32_t k, uint64_t floor)
{
    uint64_t higher = UINT64_MAX, beside = UINT64_MAX, ground = UINT64_MAX;
    uint32_t first = k, behind = k + 1;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &s->p->objects[part->items[i]];
        uint64_t at = s->lowest[part->items[i]], end = at + o->size;
        if (!covers(o, k) || at > floor) {
            if (!s->floats[part->items[i]] && end < ground)
                ground = end;
            if (covers(o, k) && at < higher)
                higher = at;
            continue;
        }
        first = o->first < first ? o->first : first;
        behind = o->behind > behind ? o->behind : behind;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &s->p->objects[part->items[i]];
        uint64_t end = s->lowest[part->items[i]] + o->size;
        if (o->first < behind && first < o->behind && !covers(o, k) && end < beside)
            beside = end;
    }
    beside = beside > ground ? beside : ground;
    return beside < higher ? beside : higher;
}

/* No object of section k lies at its floor. False: then there is no room. */
static bool raise_floor(struct offline_search *s, const struct offline_part *part, uint32_t k,
                        uint64_t floor)
{
    const struct tp_offline_object *objects = s->p->objects;
    uint64_t next = floor_above(s, part, k, floor);
    if (next > s->how.height - s->rest[k])
        return false;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct tp_offline_object *o = &objects[part->items[i]];
        if (covers(o, k) && s->lowest[part->items[i]] < next)
            raise_object(s, part->items[i], offline_up(next, o->align), true);
    }
    return true;
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
    *out = (struct offline_part){.count = 0};
    out->items = push_list(s, part->count);
    for (uint32_t i = 0; out->items && i < part->count; i++) {
        if (numbers[i] != number)
            continue;
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

/* Each candidate in its turn; `left` has room for the other items. */
static bool search_candidates(struct offline_search *s, const struct offline_part *part,
                              const uint32_t *candidates, uint32_t count, uint32_t *left)
{
    size_t changes = s->change_count;
    bool found = false;
    for (uint32_t i = 0; i < count && !found && !s->given_up; i++) {
        struct offline_part next = {.items = left, .count = part->count - 1};
        place(s, part, candidates[i], left);
        found = search_parts(s, &next);
        displace(s, part->items[candidates[i]], changes);
    }
    return found;
}

/* Decides one section after another: where none of its candidates leads to a placement, its floor
 * is raised, and so on until there is no room. */
static bool search_part(struct offline_search *s, const struct offline_part *part)
{
    size_t lists = s->list_used, changes = s->change_count;
    uint32_t *candidates = push_list(s, part->count);
    uint32_t *left = candidates ? push_list(s, part->count) : NULL;
    bool found = false, open = left;
    while (open && !found) {
        s->given_up |= !s->how.nodes;
        if (s->given_up)
            break;
        s->how.nodes--;
        open = has_room(s, part);
        if (!open)
            break;
        count_ways(s, part);
        uint32_t k = section_of(s, part);
        uint64_t floor = s->floor[k]; /* that of deeper nodes comes after it */
        uint32_t count = candidates_of(s, part, k, candidates);
        found = search_candidates(s, part, candidates, count, left);
        open = !found && raise_floor(s, part, k, floor);
    }
    take_back(s, changes);
    s->list_used = lists;
    return found;
}

/* ---- the whole ---- */

/* A node has two lists of its part, and a list for each part it falls into. Each level has one
 * object less; a part is copied at most twice more. Changes have room for twice what placing needs,
 * and more; a search that raises so many floors that they do not suffice is given up. */
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
    s->change_room = (size_t)p->count * (p->count + 1) + RAISED;
    s->lowest = calloc(p->count + (size_t)1, sizeof *s->lowest);
    s->rest = calloc(p->sections + (size_t)1, sizeof *s->rest);
    s->floor = calloc(p->sections + (size_t)1, sizeof *s->floor);
    s->floats = calloc(p->count + (size_t)1, sizeof *s->floats);
    s->over = calloc(p->sections + (size_t)1, sizeof *s->over);
    s->fails = calloc(p->sections + (size_t)1, sizeof *s->fails);
    s->learned = calloc(p->sections + (size_t)1, sizeof *s->learned);
    s->ways = calloc(p->sections + (size_t)1, sizeof *s->ways);
    s->turns = calloc(p->sections + (size_t)1, sizeof *s->turns);
    s->lists = malloc(s->list_room * sizeof *s->lists);
    s->changes = malloc(s->change_room * sizeof *s->changes);
    if (s->lowest && s->floats && s->rest && s->floor && s->over && s->fails && s->learned &&
        s->ways && s->turns && s->lists && s->changes)
        return s;
    tp_offline_search_free(s);
    return NULL;
}

void tp_offline_search_free(struct offline_search *s)
{
    if (!s)
        return;
    free(s->lowest);
    free(s->floats);
    free(s->rest);
    free(s->fails);
    free(s->learned);
    free(s->floor);
    free(s->over);
    free(s->ways);
    free(s->turns);
    free(s->lists);
    free(s->changes);
    free(s);
}

enum offline_found tp_offline_search(struct offline_search *s, struct offline *p,
                                     const struct offline_try *how)
{
    struct offline_part all = {.items = p->order, .count = p->count};
    size_t fails = p->sections * sizeof *s->fails;
    s->p = p;
    s->how = *how;
    s->given_up = false;
    s->list_used = s->change_count = 0;
    memset(s->lowest, 0, p->count * sizeof *s->lowest);
    memset(s->floats, 0, p->count * sizeof *s->floats);
    memcpy(s->rest, p->load, p->sections * sizeof *s->rest);
    memset(s->fails, 0, fails);
    if (!how->fresh)
        memcpy(s->fails, s->learned, fails);
    bool found = search_parts(s, &all);
    if (!how->fresh)
        memcpy(s->learned, s->fails, fails);
    if (found)
        return OFFLINE_FOUND;
    return s->given_up ? OFFLINE_UNKNOWN : OFFLINE_NONE;
}
