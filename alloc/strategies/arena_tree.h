/* Free spans of `arena`, ordered by (pages, sequence of the range, offset): best fit, and among
 * equals the oldest place first, whatever addresses the source chose. The tree of alloc/tree.h:
 * how deep it is follows from their number, whatever sizes a trace chose. */
#ifndef TP_ARENA_TREE_H
#define TP_ARENA_TREE_H

#include "alloc/strategy.h"
#include "alloc/tree.h"

struct arena_span;

/* What the source gave in one piece. */
struct arena_range {
    tp_addr base;
    uint64_t sequence;        /* order of getting */
    uint64_t pages;           /* length */
    uint64_t align;           /* that the source was asked for, bytes */
    uint64_t high;            /* pages that were ever carved, from the start */
    struct arena_span *first; /* at offset 0 */
    struct arena_range *older, *newer;
};

enum arena_span_state { ARENA_SPAN_FREE, ARENA_SPAN_SMALL, ARENA_SPAN_LARGE };

/* A run of pages inside one range. */
struct arena_span {
    struct arena_range *range;
    uint64_t page, pages;               /* offset in the range and length, in pages */
    struct arena_span *before, *behind; /* neighbours in the range */
    union {
        struct tp_tree_node node;                 /* FREE */
        struct {                                  /* SMALL */
            struct arena_span *smaller, *greater; /* previous and next of the class; `greater` also
                                                     links spares */
            uint32_t blocks;                      /* carved into so many */
            uint32_t pooled;                      /* inside a reclaim: so many are in the pool */
        };
    };
    uint8_t state; /* enum arena_span_state */
    uint8_t class; /* SMALL */
};

struct arena_tree {
    struct tp_tree_node *root;
    uint32_t count;
};

/* NULL for NULL. */
static inline struct arena_span *tree_span(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct arena_span, node, n) : NULL;
}

static inline bool tree_less(const struct arena_span *a, const struct arena_span *b)
{
    if (a->pages != b->pages)
        return a->pages < b->pages;
    if (a->range->sequence != b->range->sequence)
        return a->range->sequence < b->range->sequence;
    return a->page < b->page;
}

static inline bool tree_node_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return tree_less(tree_span(a), tree_span(b));
}

static inline void tree_insert(struct arena_tree *t, struct arena_span *s)
{
    tp_tree_insert(&t->root, &s->node, tree_node_less, NULL);
    t->count++;
}

static inline void tree_remove(struct arena_tree *t, struct arena_span *s)
{
    tp_tree_remove(&t->root, &s->node, tree_node_less, NULL);
    t->count--;
}

/* The first span with at least so many pages, or NULL. */
static inline struct arena_span *tree_first(const struct arena_tree *t, uint64_t pages)
{
    struct arena_span *best = NULL;
    for (struct arena_span *s = tree_span(t->root); s;) {
        TP_STEP();
        if (s->pages >= pages) {
            best = s;
            s = tree_span(s->node.low);
        } else {
            s = tree_span(s->node.high);
        }
    }
    return best;
}

/* The span that follows `s`, or NULL. */
static inline struct arena_span *tree_next(const struct arena_tree *t, const struct arena_span *s)
{
    struct arena_span *best = NULL;
    for (struct arena_span *at = tree_span(t->root); at;) {
        TP_STEP();
        if (tree_less(s, at)) {
            best = at;
            at = tree_span(at->node.low);
        } else {
            at = tree_span(at->node.high);
        }
    }
    return best;
}

static inline struct arena_span *tree_last(const struct arena_tree *t)
{
    struct tp_tree_node *n = t->root;
    while (n && n->high)
        n = n->high;
    return tree_span(n);
}

static inline bool tree_holds(const struct arena_tree *t, const struct arena_span *s)
{
    const struct arena_span *at = tree_span(t->root);
    while (at && at != s)
        at = tree_span(tree_less(s, at) ? at->node.low : at->node.high);
    return at == s;
}

#endif
