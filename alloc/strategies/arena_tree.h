/* Free spans of `arena`, ordered by (pages, sequence of the range, offset): best fit, and among
 * equals the oldest place first, whatever addresses the source chose.
 *
 * A treap (Seidel and Aragon, "Randomized search trees", 1996): a binary tree by key that is also a
 * heap by priority. Priorities come from a counter through a mixing function, so that every run
 * builds the same tree. No recursion; expected depth 2 ln n. */
#ifndef TP_ARENA_TREE_H
#define TP_ARENA_TREE_H

#include "alloc/steps.h"
#include "alloc/strategy.h"

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
    uint64_t page, pages;                 /* offset in the range and length, in pages */
    struct arena_span *before, *behind;   /* neighbours in the range */
    struct arena_span *smaller, *greater; /* FREE: in the tree. SMALL: previous and next of the
                                             class. `greater` also links spares */
    uint32_t priority;                    /* FREE */
    uint32_t blocks;                      /* SMALL: carved into so many */
    uint32_t pooled;                      /* SMALL, inside a reclaim: so many are in the pool */
    uint8_t state;                        /* enum arena_span_state */
    uint8_t class;                        /* SMALL */
};

struct arena_tree {
    struct arena_span *root;
    uint32_t count;
    uint32_t serial; /* of the last priority */
};

static inline bool tree_less(const struct arena_span *a, const struct arena_span *b)
{
    if (a->pages != b->pages)
        return a->pages < b->pages;
    if (a->range->sequence != b->range->sequence)
        return a->range->sequence < b->range->sequence;
    return a->page < b->page;
}

static inline uint32_t tree_priority(struct arena_tree *t)
{
    uint64_t z = (uint64_t)++t->serial * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)(z >> 32);
}

static inline void tree_insert(struct arena_tree *t, struct arena_span *s)
{
    s->priority = tree_priority(t);
    struct arena_span **at = &t->root;
    while (*at && (*at)->priority >= s->priority)
        at = tree_less(s, *at) ? &(*at)->smaller : &(*at)->greater;
    /* what was there is divided into what is less and what is greater */
    struct arena_span *rest = *at, **less = &s->smaller, **more = &s->greater;
    while (rest) {
        if (tree_less(rest, s)) {
            *less = rest;
            less = &rest->greater;
            rest = rest->greater;
        } else {
            *more = rest;
            more = &rest->smaller;
            rest = rest->smaller;
        }
    }
    *less = *more = NULL;
    *at = s;
    t->count++;
}

static inline void tree_remove(struct arena_tree *t, struct arena_span *s)
{
    struct arena_span **at = &t->root;
    while (*at != s)
        at = tree_less(s, *at) ? &(*at)->smaller : &(*at)->greater;
    struct arena_span *a = s->smaller, *b = s->greater;
    while (a && b) {
        if (a->priority >= b->priority) {
            *at = a;
            at = &a->greater;
            a = a->greater;
        } else {
            *at = b;
            at = &b->smaller;
            b = b->smaller;
        }
    }
    *at = a ? a : b;
    s->smaller = s->greater = NULL;
    t->count--;
}

/* The first span with at least so many pages, or NULL. */
static inline struct arena_span *tree_first(const struct arena_tree *t, uint64_t pages)
{
    struct arena_span *best = NULL;
    for (struct arena_span *s = t->root; s;) {
        if (s->pages >= pages) {
            best = s;
            s = s->smaller;
        } else {
            s = s->greater;
        }
    }
    return best;
}

/* The span that follows `s`, or NULL. */
static inline struct arena_span *tree_next(const struct arena_tree *t, const struct arena_span *s)
{
    struct arena_span *best = NULL;
    for (struct arena_span *at = t->root; at;) {
        TP_STEP();
        if (tree_less(s, at)) {
            best = at;
            at = at->smaller;
        } else {
            at = at->greater;
        }
    }
    return best;
}

static inline struct arena_span *tree_last(const struct arena_tree *t)
{
    struct arena_span *s = t->root;
    while (s && s->greater)
        s = s->greater;
    return s;
}

static inline bool tree_holds(const struct arena_tree *t, const struct arena_span *s)
{
    const struct arena_span *at = t->root;
    while (at && at != s)
        at = tree_less(s, at) ? at->smaller : at->greater;
    return at == s;
}

#endif
