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

void tp_arena_aligned_fini(struct arena_aligned *a);

/* A span became free; false: no memory, and the trees are worth nothing any more. */
bool tp_arena_aligned_add(struct arena_aligned *a, const struct arena_span *s);

/* A span is free no more. */
void tp_arena_aligned_remove(struct arena_aligned *a, const struct arena_span *s);

/* The first free span, as they are ordered, with an aligned place for so many pages; NULL: none. */
struct arena_span *tp_arena_aligned_first(const struct arena_aligned *a, unsigned log2,
                                          uint64_t pages);

/* A tree for one more alignment, of all spans that are free; false: no memory. */
bool tp_arena_aligned_keep(struct arena_aligned *a, unsigned log2, const struct arena_tree *t);

/* ---- never timed ---- */

/* NULL, or what is wrong with the trees of so many free spans. */
const char *tp_arena_aligned_fault(const struct arena_aligned *a, uint64_t spans);

#endif
