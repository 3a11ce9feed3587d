/* Free spans of `arena` by the room behind an alignment, for requests above a page's.
 *
 *     span   |  p  |     |     |  A  |     |     |     A: the first page at a multiple of the
 *                              <---- room ------>         alignment; nowhere: no room
 *
 * One tree for each alignment that was ever looked for in vain among the few best fits. Its order
 * is that of the free spans, and every node knows the most room below it: the first span with
 * enough is found without looking at those before it. There is none of it until it is needed. */
#ifndef TP_ARENA_ALIGNED_H
#define TP_ARENA_ALIGNED_H

#include "alloc/base/tree.h"
#include "alloc/strategies/arena/arena_classes.h"
#include "alloc/strategies/arena/arena_tree.h"

enum { ARENA_ALIGNMENTS = 64, ARENA_SLAB_PLACES = 40 };

/* A free span in one of the trees. */
struct arena_place {
    struct tp_tree_node node; /* spare: `low` links them */
    const struct arena_span *span;
    uint64_t room, most; /* pages: its own, and the most below it */
};

struct arena_place_slab {
    struct arena_place_slab *next;
    struct arena_place places[ARENA_SLAB_PLACES];
};

struct arena_aligned {
    const struct tp_env *env;
    uint64_t kept; /* bits: of which alignments there is a tree */
    struct tp_tree_node *roots[ARENA_ALIGNMENTS];
    struct tp_tree_node *spares;
    struct arena_place_slab *slabs;
};

/* Pages to skip at the start of a free span so that `align` holds; UINT64_MAX: it cannot. */
static inline uint64_t span_skip(const struct arena_span *s, uint64_t pages, uint64_t align)
{
    if (align <= ARENA_PAGE)
        return 0;
    if (align > s->range->align)
        return UINT64_MAX;
    uint64_t step = align / ARENA_PAGE;
    uint64_t skip = (step - s->page % step) % step;
    return skip <= s->pages - pages ? skip : UINT64_MAX;
}

static inline struct arena_place *place_of(const struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct arena_place, node, n);
}

static inline bool place_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return tree_less(place_of(a)->span, place_of(b)->span);
}

static inline void place_pull(struct tp_tree_node *n)
{
    struct arena_place *p = place_of(n);
    p->most = p->room;
    if (n->low && place_of(n->low)->most > p->most)
        p->most = place_of(n->low)->most;
    if (n->high && place_of(n->high)->most > p->most)
        p->most = place_of(n->high)->most;
}

static inline void aligned_fini(struct arena_aligned *a)
{
    for (struct arena_place_slab *slab = a->slabs, *next; slab; slab = next) {
        next = slab->next;
        tp_meta_put(a->env, slab, sizeof *slab);
    }
    tp_meta_put(a->env, a, sizeof *a);
}

static inline void aligned_spare(struct arena_aligned *a, struct arena_place *p)
{
    p->node.low = a->spares;
    a->spares = &p->node;
}

/* NULL: no memory. */
static inline struct arena_place *aligned_place(struct arena_aligned *a)
{
    if (!a->spares) {
        struct arena_place_slab *slab = tp_meta_get(a->env, sizeof *slab);
        if (!slab)
            return NULL;
        slab->next = a->slabs;
        a->slabs = slab;
        for (unsigned i = ARENA_SLAB_PLACES; i-- > 0;)
            aligned_spare(a, &slab->places[i]);
    }
    struct arena_place *p = place_of(a->spares);
    a->spares = p->node.low;
    return p;
}

static inline bool aligned_enter(struct arena_aligned *a, unsigned log2, const struct arena_span *s)
{
    struct arena_place *p = aligned_place(a);
    if (!p)
        return false;
    uint64_t skip = span_skip(s, 1, UINT64_C(1) << log2);
    p->span = s;
    p->room = skip == UINT64_MAX ? 0 : s->pages - skip;
    tp_tree_insert(&a->roots[log2], &p->node, place_less, place_pull);
    return true;
}

/* A span became free; false: no memory, and the trees are worth nothing any more. */
static inline bool aligned_add(struct arena_aligned *a, const struct arena_span *s)
{
    bool entered = true;
    for (uint64_t left = a->kept; left && entered; left &= left - 1)
        entered = aligned_enter(a, (unsigned)__builtin_ctzll(left), s);
    return entered;
}

/* A span is free no more. */
static inline void aligned_remove(struct arena_aligned *a, const struct arena_span *s)
{
    for (uint64_t left = a->kept; left; left &= left - 1) {
        struct tp_tree_node **root = &a->roots[__builtin_ctzll(left)], *at = *root;
        while (place_of(at)->span != s) {
            TP_STEP();
            at = tree_less(s, place_of(at)->span) ? at->low : at->high;
        }
        tp_tree_remove(root, at, place_less, place_pull);
        aligned_spare(a, place_of(at));
    }
}

/* The first free span, as they are ordered, with an aligned place for so many pages; NULL: none. */
static inline struct arena_span *aligned_first(const struct arena_aligned *a, unsigned log2,
                                               uint64_t pages)
{
    const struct tp_tree_node *at = a->roots[log2];
    if (!at || place_of(at)->most < pages)
        return NULL;
    for (;;) {
        TP_STEP();
        if (at->low && place_of(at->low)->most >= pages)
            at = at->low;
        else if (place_of(at)->room >= pages)
            return (struct arena_span *)(uintptr_t)place_of(at)->span;
        else
            at = at->high;
    }
}

/* A tree for one more alignment, of all spans that are free; false: no memory. */
static inline bool aligned_keep(struct arena_aligned *a, unsigned log2, const struct arena_tree *t)
{
    bool entered = true;
    a->kept |= UINT64_C(1) << log2;
    for (const struct arena_span *s = tree_first(t, 0); s && entered; s = tree_next(t, s))
        entered = aligned_enter(a, log2, s);
    return entered;
}

/* ---- never timed ---- */

static inline uint64_t aligned_sound(const struct tp_tree_node *n, unsigned log2)
{
    if (!n)
        return 0;
    struct arena_place seen = *place_of(n);
    uint64_t skip = span_skip(seen.span, 1, UINT64_C(1) << log2);
    place_pull(&seen.node);
    bool sound = seen.span->state == ARENA_SPAN_FREE && seen.most == place_of(n)->most &&
                 seen.room == (skip == UINT64_MAX ? 0 : seen.span->pages - skip);
    return sound + aligned_sound(n->low, log2) + aligned_sound(n->high, log2);
}

/* NULL, or what is wrong with the trees of so many free spans. */
static inline const char *aligned_fault(const struct arena_aligned *a, uint64_t spans)
{
    for (unsigned log2 = 0; a && log2 < ARENA_ALIGNMENTS; log2++)
        if (a->kept >> log2 & 1 && aligned_sound(a->roots[log2], log2) != spans)
            return "the trees by alignment hold the free spans";
    return NULL;
}

#endif
