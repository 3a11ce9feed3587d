/* Free spans of `arena` by the room behind an aligned page, for requests with an alignment above a
 * page.
 *
 *     span   |  p  |     |     |  A  |     |     |     A: the first page at a multiple of the
 *                              <---- room ------>         alignment; nowhere: no room
 *
 * A tree is made for an alignment when a search among the few best fits has failed for it. Its
 * order is that of the free spans, and every node knows the most room in its subtree, so the first
 * span with enough room is found without visiting the spans before it. */
#ifndef TP_ARENA_ALIGNED_H
#define TP_ARENA_ALIGNED_H

#include "alloc/base/tree.h"
#include "alloc/strategies/arena/arena_classes.h"
#include "alloc/strategies/arena/arena_tree.h"

enum { ARENA_ALIGNMENTS = 64, ARENA_SLAB_PLACES = 40 };

/* A free span in one of the trees. */
struct arena_place {
    struct tp_tree_node node; /* in a spare place `low` links to the next one */
    const struct arena_span *span;
    uint64_t room, most; /* pages: of this span, and the most in the subtree */
};

struct arena_place_slab {
    struct arena_place_slab *next;
    struct arena_place places[ARENA_SLAB_PLACES];
};

struct arena_aligned {
    const struct tp_env *env;
    uint64_t kept; /* bit i: there is a tree for alignment 2^i */
    struct tp_tree_node *roots[ARENA_ALIGNMENTS];
    struct tp_tree_node *spares;
    struct arena_place_slab *slabs;
};

/* Pages to skip at the start of a free span to reach an aligned place for `pages` pages;
 * UINT64_MAX: the span has none. */
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

void tp_arena_aligned_fini(struct arena_aligned *a);

/* Adds a span that became free to all trees. False: out of memory, and the trees must be
 * dropped. */
bool tp_arena_aligned_add(struct arena_aligned *a, const struct arena_span *s);

/* Removes a span that is no longer free. */
void tp_arena_aligned_remove(struct arena_aligned *a, const struct arena_span *s);

/* The first free span, in tree order, with a place of alignment 2^log2 for `pages` pages; NULL:
 * none. */
struct arena_span *tp_arena_aligned_first(const struct arena_aligned *a, unsigned log2,
                                          uint64_t pages);

/* Makes the tree of one more alignment from all free spans. False: out of memory. */
bool tp_arena_aligned_keep(struct arena_aligned *a, unsigned log2, const struct arena_tree *t);

/* ---- never timed ---- */

/* NULL, or what is wrong with the trees; `spans` is the number of free spans. */
const char *tp_arena_aligned_fault(const struct arena_aligned *a, uint64_t spans);

#endif
