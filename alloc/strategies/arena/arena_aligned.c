/* See arena_aligned.h. */
#include "alloc/strategies/arena/arena_aligned.h"

static struct arena_place *place_of(const struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct arena_place, node, n);
}

static bool place_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return tree_less(place_of(a)->span, place_of(b)->span);
}

static void place_pull(struct tp_tree_node *n)
{
    struct arena_place *p = place_of(n);
    p->most = p->room;
    if (n->low && place_of(n->low)->most > p->most)
        p->most = place_of(n->low)->most;
    if (n->high && place_of(n->high)->most > p->most)
        p->most = place_of(n->high)->most;
}

void tp_arena_aligned_fini(struct arena_aligned *a)
{
    for (struct arena_place_slab *slab = a->slabs, *next; slab; slab = next) {
        next = slab->next;
        tp_meta_put(a->env, slab, sizeof *slab);
    }
    tp_meta_put(a->env, a, sizeof *a);
}

static void aligned_spare(struct arena_aligned *a, struct arena_place *p)
{
    p->node.low = a->spares;
    a->spares = &p->node;
}

/* A new place; NULL: out of memory. */
static struct arena_place *aligned_place(struct arena_aligned *a)
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

static bool aligned_enter(struct arena_aligned *a, unsigned log2, const struct arena_span *s)
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

bool tp_arena_aligned_add(struct arena_aligned *a, const struct arena_span *s)
{
    bool entered = true;
    for (uint64_t left = a->kept; left && entered; left &= left - 1)
        entered = aligned_enter(a, (unsigned)__builtin_ctzll(left), s);
    return entered;
}

void tp_arena_aligned_remove(struct arena_aligned *a, const struct arena_span *s)
{
    for (uint64_t left = a->kept; left; left &= left - 1) {
        struct tp_tree_node **root = &a->roots[__builtin_ctzll(left)], *at = *root;
        while (place_of(at)->span != s) {
            TP_STEP();
            at = tree_less(s, place_of(at)->span) ? at->low : at->high;
        }
        tp_tree_remove(root, at, place_pull);
        aligned_spare(a, place_of(at));
    }
}

struct arena_span *tp_arena_aligned_first(const struct arena_aligned *a, unsigned log2,
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

bool tp_arena_aligned_keep(struct arena_aligned *a, unsigned log2, const struct arena_tree *t)
{
    bool entered = true;
    a->kept |= UINT64_C(1) << log2;
    for (struct arena_span *s = tree_first(t, 0); s && entered; s = tree_next(s))
        entered = aligned_enter(a, log2, s);
    return entered;
}

static uint64_t aligned_sound(const struct tp_tree_node *n, unsigned log2)
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

const char *tp_arena_aligned_fault(const struct arena_aligned *a, uint64_t spans)
{
    for (unsigned log2 = 0; a && log2 < ARENA_ALIGNMENTS; log2++)
        if (a->kept >> log2 & 1 && aligned_sound(a->roots[log2], log2) != spans)
            return "the trees by alignment hold the free spans";
    return NULL;
}
