/* Free spans of `arena`, ordered by (pages, sequence of the range, offset): best fit, and among
 * equals the oldest place first, whatever addresses the source chose. */
#ifndef TP_ARENA_TREE_H
#define TP_ARENA_TREE_H

#include "alloc/base/tree.h"
#include "alloc/strategy.h"

struct arena_span;

/* One range from the source. */
struct arena_range {
    tp_addr base;
    uint64_t sequence;        /* number of the range, in the order in which ranges were got */
    uint64_t pages;           /* length */
    uint64_t align;           /* alignment that the source was asked for, bytes */
    uint64_t high;            /* pages from the start that were ever carved */
    uint64_t idle_since;      /* of a wholly free range: arena_pages.given when it became so */
    struct arena_span *first; /* the span at offset 0 */
    struct arena_range *older, *newer;
};

/* KEPT: was a large object; it waits for one of its length and is not merged. */
enum arena_span_state { ARENA_SPAN_FREE, ARENA_SPAN_SMALL, ARENA_SPAN_LARGE, ARENA_SPAN_KEPT };

/* A run of pages inside one range. */
struct arena_span {
    struct arena_range *range;
    uint64_t page, pages;               /* offset in the range and length, in pages */
    struct arena_span *before, *behind; /* neighbours in the range */
    union {
        struct tp_tree_node node; /* FREE: in the tree */
        struct {
            /* SMALL: in the list of its pool. Spare descriptors are linked by `next` */
            struct arena_span *previous, *next;
            tp_addr low;     /* SMALL: no block below this address is pooled */
            uint32_t blocks; /* SMALL: number of blocks it was carved into */
            uint32_t pooled; /* SMALL: number of its blocks in the pool */
        };
    };
    uint8_t state;      /* enum arena_span_state */
    uint8_t size_class; /* SMALL */
};

struct arena_tree {
    struct tp_tree_node *root;
    uint32_t count;
};

static inline bool tree_less(const struct arena_span *a, const struct arena_span *b)
{
    if (a->pages != b->pages)
        return a->pages < b->pages;
    if (a->range->sequence != b->range->sequence)
        return a->range->sequence < b->range->sequence;
    return a->page < b->page;
}

/* NULL becomes NULL. */
static inline struct arena_span *tree_span(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct arena_span, node, n) : NULL;
}

static inline bool tree_node_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return tree_less(TP_TREE_ITEM(struct arena_span, node, a),
                     TP_TREE_ITEM(struct arena_span, node, b));
}

static inline void tree_insert(struct arena_tree *t, struct arena_span *s)
{
    tp_tree_insert(&t->root, &s->node, tree_node_less, NULL);
    t->count++;
}

static inline void tree_remove(struct arena_tree *t, struct arena_span *s)
{
    tp_tree_remove(&t->root, &s->node, NULL);
    s->node = (struct tp_tree_node){0};
    t->count--;
}

/* The first span with at least `pages` pages, or NULL. */
static inline struct arena_span *tree_first(const struct arena_tree *t, uint64_t pages)
{
    struct arena_span *best = NULL;
    for (struct tp_tree_node *n = t->root; n;) {
        struct arena_span *s = tree_span(n);
        TP_STEP();
        if (s->pages >= pages) {
            best = s;
            n = n->low;
        } else {
            n = n->high;
        }
    }
    return best;
}

/* The span that follows `s`, or NULL. */
static inline struct arena_span *tree_next(struct arena_span *s)
{
    return tree_span(tp_tree_next(&s->node));
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
    const struct tp_tree_node *n = t->root;
    while (n && n != &s->node)
        n = tree_node_less(&s->node, n) ? n->low : n->high;
    return n != NULL;
}

#endif
