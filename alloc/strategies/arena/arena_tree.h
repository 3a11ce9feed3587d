/* Free spans of `arena`, ordered by (pages, sequence of the range, offset): best fit, and among
 * equals the oldest place first, whatever addresses the source chose.
 *
 * A treap (Seidel and Aragon, "Randomized search trees", 1996): a binary tree by key that is also a
 * heap by priority. Priorities come from a counter through a mixing function, so that every run
 * builds the same tree. No recursion; expected depth 2 ln n.
 *
 * A trace chooses lengths, and because the counter is known it could choose them to match the
 * priorities and make the tree deep. An operation that meets more spans on one path than chance
 * explains rebuilds the tree with priorities from a secret starting number. Search results do not
 * depend on priorities. */
#ifndef TP_ARENA_TREE_H
#define TP_ARENA_TREE_H

#include "alloc/base/steps.h"
#include "alloc/strategy.h"

#include <sys/random.h>

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
    /* FREE: children in the tree. SMALL: previous and next span of the pool. Spare descriptors are
     * linked by `greater` */
    struct arena_span *smaller, *greater;
    tp_addr low;        /* SMALL: no block below this address is pooled */
    uint32_t priority;  /* FREE */
    uint32_t blocks;    /* SMALL: number of blocks it was carved into */
    uint32_t pooled;    /* SMALL: number of its blocks in the pool */
    uint8_t state;      /* enum arena_span_state */
    uint8_t size_class; /* SMALL */
};

struct arena_tree {
    struct arena_span *root;
    uint32_t count;
    uint32_t serial; /* counter behind the last priority */
};

/* A path with this many spans triggers a rebuild; a power of two. Among 2^32 spans the longest path
 * has about 4.3 ln 2^32 = 95. */
enum { ARENA_TREE_FAR = 128 };

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

/* The link at which a span belongs by its priority. *met: spans on the way. */
static inline __attribute__((always_inline)) struct arena_span **
tree_place(struct arena_tree *t, const struct arena_span *s, uint32_t *met)
{
    struct arena_span **at = &t->root;
    for (*met = 0; *at && (*at)->priority >= s->priority; ++*met) {
        TP_STEP();
        at = tree_less(s, *at) ? &(*at)->smaller : &(*at)->greater;
    }
    return at;
}

/* The link that points to a span. *met: spans on the way. */
static inline __attribute__((always_inline)) struct arena_span **
tree_link(struct arena_tree *t, const struct arena_span *s, uint32_t *met)
{
    struct arena_span **at = &t->root;
    for (*met = 0; *at != s; ++*met) {
        TP_STEP();
        at = tree_less(s, *at) ? &(*at)->smaller : &(*at)->greater;
    }
    return at;
}

/* Inserts a span at its link and splits the subtree that was there into the span's two subtrees.
 * Returns the number of spans that it met. */
static inline uint32_t tree_part(struct arena_span **at, struct arena_span *s)
{
    struct arena_span *rest = *at, **less = &s->smaller, **more = &s->greater;
    uint32_t met = 0;
    for (*at = s; rest; met++) {
        TP_STEP();
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
    return met;
}

/* Gives all spans new priorities that nobody could predict. Without a random number the tree is
 * unchanged. */
static __attribute__((noinline, unused)) void tree_renew(struct arena_tree *t)
{
    uint32_t secret = 0, met;
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret)
        return;
    t->serial = secret;
    struct arena_span *rest = t->root;
    t->root = NULL;
    while (rest) { /* rotates the greatest span up, then moves it to the new tree */
        struct arena_span *up = rest->greater ? rest->greater : rest->smaller;
        TP_STEP();
        if (rest->greater) {
            rest->greater = up->smaller;
            up->smaller = rest;
        } else {
            rest->priority = tree_priority(t);
            tree_part(tree_place(t, rest, &met), rest);
        }
        rest = up;
    }
}

static inline void tree_insert(struct arena_tree *t, struct arena_span *s)
{
    uint32_t met, parted;
    s->priority = tree_priority(t);
    struct arena_span **at = tree_place(t, s, &met);
    parted = tree_part(at, s);
    t->count++;
    if (__builtin_expect((met | parted) >= ARENA_TREE_FAR, 0))
        tree_renew(t);
}

/* Removes a span at its link and joins its two subtrees. */
static inline __attribute__((always_inline)) void
tree_unlink(struct arena_tree *t, struct arena_span **at, struct arena_span *s)
{
    struct arena_span *a = s->smaller, *b = s->greater;
    uint32_t met = 0;
    for (; a && b; met++) {
        TP_STEP();
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
    if (__builtin_expect(met >= ARENA_TREE_FAR, 0))
        tree_renew(t);
}

static inline void tree_remove(struct arena_tree *t, struct arena_span *s)
{
    uint32_t met;
    struct arena_span **at = tree_link(t, s, &met);
    if (__builtin_expect(met >= ARENA_TREE_FAR, 0)) {
        tree_renew(t);
        at = tree_link(t, s, &met);
    }
    tree_unlink(t, at, s);
}

/* The first span with at least `pages` pages, or NULL. */
static inline struct arena_span *tree_first(const struct arena_tree *t, uint64_t pages)
{
    struct arena_span *best = NULL;
    for (struct arena_span *s = t->root; s;) {
        TP_STEP();
        if (s->pages >= pages) {
            best = s;
            s = s->smaller;
        } else {
            s = s->greater;
        }
    }
    return best;
}

/* Removes and returns the first span with at least `pages` pages, or NULL. */
static inline struct arena_span *tree_take_first(struct arena_tree *t, uint64_t pages)
{
    struct arena_span **best = NULL, **at = &t->root;
    uint32_t met = 0;
    for (; *at; met++) {
        TP_STEP();
        bool fits = (*at)->pages >= pages;
        best = fits ? at : best;
        at = fits ? &(*at)->smaller : &(*at)->greater;
    }
    struct arena_span *s = best ? *best : NULL;
    if (__builtin_expect(met >= ARENA_TREE_FAR, 0)) {
        tree_renew(t);
        if (s)
            tree_remove(t, s);
        return s;
    }
    if (s)
        tree_unlink(t, best, s);
    return s;
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
