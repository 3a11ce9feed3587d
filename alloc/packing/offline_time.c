/* Placements in the order of time: each object where it fits among those that are live when it
 * begins, as an allocator without rounding would place it. See offline_internal.h.
 *
 *     | live | gap | live | gap ..............     gaps by place, with the largest below each node,
 *     0                                            for the lowest that fits; and by size, for the
 *                                                  tightest */
#include "alloc/base/tree.h"
#include "alloc/packing/offline_internal.h"

#include <stdlib.h>

#define ENDLESS (UINT64_C(1) << 63)

struct offline_gap {
    struct tp_tree_node by_place, by_size;
    uint64_t at, size;
    uint64_t largest;         /* gap of the subtree by place */
    struct offline_gap *next; /* while it is not used */
};

struct offline_gaps {
    struct tp_tree_node *places, *sizes;
    struct offline_gap *all, *spare;
    bool tightest; /* or else the lowest */
};

static struct offline_gap *of_place(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct offline_gap, by_place, n) : NULL;
}

static struct offline_gap *of_size(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct offline_gap, by_size, n) : NULL;
}

static bool place_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return of_place(a)->at < of_place(b)->at;
}

static bool size_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct offline_gap *x = of_size(a), *y = of_size(b);
    return x->size != y->size ? x->size < y->size : x->at < y->at;
}

static uint64_t largest_of(const struct tp_tree_node *n)
{
    return n ? of_place(n)->largest : 0;
}

static void pull_largest(struct tp_tree_node *n)
{
    struct offline_gap *g = of_place(n);
    uint64_t low = largest_of(n->low), high = largest_of(n->high);
    uint64_t below = low > high ? low : high;
    g->largest = g->size > below ? g->size : below;
}

static void add_gap(struct offline_gaps *gaps, uint64_t at, uint64_t size)
{
    struct offline_gap *g = gaps->spare;
    if (!size)
        return;
    gaps->spare = g->next;
    g->at = at;
    g->size = size;
    tp_tree_insert(&gaps->places, &g->by_place, place_less, pull_largest);
    tp_tree_insert(&gaps->sizes, &g->by_size, size_less, NULL);
}

static void remove_gap(struct offline_gaps *gaps, struct offline_gap *g)
{
    tp_tree_remove(&gaps->places, &g->by_place, pull_largest);
    tp_tree_remove(&gaps->sizes, &g->by_size, NULL);
    g->next = gaps->spare;
    gaps->spare = g;
}

static struct offline_gap *tightest(const struct offline_gaps *gaps, uint64_t size)
{
    struct offline_gap *best = NULL;
    for (struct tp_tree_node *n = gaps->sizes; n;) {
        bool fits = of_size(n)->size >= size;
        TP_STEP();
        best = fits ? of_size(n) : best;
        n = fits ? n->low : n->high;
    }
    return best;
}

static struct offline_gap *lowest(const struct offline_gaps *gaps, uint64_t size)
{
    struct tp_tree_node *n = gaps->places;
    while (n && (largest_of(n->low) >= size || of_place(n)->size < size)) {
        TP_STEP();
        n = largest_of(n->low) >= size ? n->low : n->high;
    }
    return of_place(n);
}

static uint64_t take_gap(struct offline_gaps *gaps, const struct tp_offline_object *o)
{
    uint64_t room = o->size + o->align - 1; /* fits wherever the gap begins */
    struct offline_gap *g = gaps->tightest ? tightest(gaps, room) : lowest(gaps, room);
    struct offline_gap *snug = gaps->tightest ? tightest(gaps, o->size) : lowest(gaps, o->size);
    if (snug->at % o->align == 0)
        g = snug;
    uint64_t begin = g->at, end = g->at + g->size, at = offline_up(begin, o->align);
    remove_gap(gaps, g);
    add_gap(gaps, begin, at - begin);
    add_gap(gaps, at + o->size, end - (at + o->size));
    return at;
}

/* The last gap that begins before `at`, and the first that begins there or behind. */
static void neighbours(const struct offline_gaps *gaps, uint64_t at, struct offline_gap **before,
                       struct offline_gap **behind)
{
    for (struct tp_tree_node *n = gaps->places; n;) {
        bool is_before = of_place(n)->at < at;
        TP_STEP();
        struct offline_gap **nearer = is_before ? before : behind;
        *nearer = of_place(n);
        n = is_before ? n->high : n->low;
    }
}

static void give(struct offline_gaps *gaps, uint64_t at, uint64_t size)
{
    struct offline_gap *before = NULL, *behind = NULL;
    neighbours(gaps, at, &before, &behind);
    uint64_t begin = at, end = at + size;
    if (behind && behind->at == end) {
        end += behind->size;
        remove_gap(gaps, behind);
    }
    if (before && before->at + before->size == at) {
        begin = before->at;
        remove_gap(gaps, before);
    }
    add_gap(gaps, begin, end - begin);
}

static uint64_t replay(struct offline *p, struct offline_gaps *gaps)
{
    uint64_t height = 0;
    for (size_t i = 0; i < 2 * (size_t)p->count; i++) {
        const struct offline_moment *m = &p->moments[i];
        const struct tp_offline_object *o = &p->objects[m->object];
        uint64_t *at = &p->offsets[m->object];
        if (!m->begins) {
            give(gaps, *at, o->size);
            continue;
        }
        *at = take_gap(gaps, o);
        height = *at + o->size > height ? *at + o->size : height;
    }
    return height;
}

uint64_t tp_offline_in_time(struct offline *p, bool tightest_first)
{
    struct offline_gaps gaps = {.tightest = tightest_first};
    size_t room = p->count + (size_t)4; /* one more than objects, and two while one is split */
    gaps.all = calloc(room, sizeof *gaps.all);
    for (size_t i = 0; gaps.all && i < room; i++) {
        gaps.all[i].next = gaps.spare;
        gaps.spare = &gaps.all[i];
    }
    if (!gaps.all)
        return UINT64_MAX;
    add_gap(&gaps, 0, ENDLESS);
    uint64_t height = replay(p, &gaps);
    free(gaps.all);
    return height;
}
