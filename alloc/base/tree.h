/* A balanced search tree whose nodes lie inside the items they order. It is for tables that hostile
 * input fills: its depth depends on nothing but the number of nodes.
 *
 *                 n             the two subtrees of a node differ in height by 1 at most
 *              /     \          (Adelson-Velsky and Landis, 1962), so 2^32 nodes are at most
 *           low       high      46 deep
 *
 * The owner supplies the order (`less`) and may keep a summary of every subtree in its root
 * (`pull`). Both are compile-time constants, so the compiler inlines them. */
#ifndef TP_TREE_H
#define TP_TREE_H

#include "alloc/base/steps.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_TREE_DEPTH  64
#define TP_TREE_INLINE static inline __attribute__((always_inline))

struct tp_tree_node {
    struct tp_tree_node *low, *high;
    uint32_t height; /* 1: no subtrees */
    uint32_t number; /* for the owner to use; it would be padding otherwise */
};

/* The item that a node lies in. */
#define TP_TREE_ITEM(type, member, node) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Is a before b? A strict total order; a tree holds no two equal nodes. */
typedef bool tp_tree_less(const struct tp_tree_node *a, const struct tp_tree_node *b);
/* brings n's summary up to date after its subtrees changed; may be NULL */
typedef void tp_tree_pull(struct tp_tree_node *n);

TP_TREE_INLINE uint32_t tp_tree_height(const struct tp_tree_node *n)
{
    return n ? n->height : 0;
}

TP_TREE_INLINE void tp_tree_renew(struct tp_tree_node *n, tp_tree_pull *pull)
{
    uint32_t low = tp_tree_height(n->low), high = tp_tree_height(n->high);
    n->height = 1 + (low > high ? low : high);
    if (pull)
        pull(n);
}

/* A rotation: the low (or high) child takes the place of `n`, which becomes its child. */
TP_TREE_INLINE struct tp_tree_node *tp_tree_lift_low(struct tp_tree_node *n, tp_tree_pull *pull)
{
    struct tp_tree_node *up = n->low;
    n->low = up->high;
    up->high = n;
    tp_tree_renew(n, pull);
    tp_tree_renew(up, pull);
    return up;
}

TP_TREE_INLINE struct tp_tree_node *tp_tree_lift_high(struct tp_tree_node *n, tp_tree_pull *pull)
{
    struct tp_tree_node *up = n->high;
    n->high = up->low;
    up->low = n;
    tp_tree_renew(n, pull);
    tp_tree_renew(up, pull);
    return up;
}

/* Restores balance and summaries along a path of `depth` links, from the last link up. */
TP_TREE_INLINE void tp_tree_mend(struct tp_tree_node **const *path, unsigned depth,
                                 tp_tree_pull *pull)
{
    while (depth) {
        struct tp_tree_node **link = path[--depth], *n = *link;
        uint32_t low = tp_tree_height(n->low), high = tp_tree_height(n->high), before = n->height;
        TP_STEP();
        if (low > high + 1) {
            if (tp_tree_height(n->low->low) < tp_tree_height(n->low->high))
                n->low = tp_tree_lift_high(n->low, pull);
            *link = tp_tree_lift_low(n, pull);
        } else if (high > low + 1) {
            if (tp_tree_height(n->high->high) < tp_tree_height(n->high->low))
                n->high = tp_tree_lift_low(n->high, pull);
            *link = tp_tree_lift_high(n, pull);
        } else {
            tp_tree_renew(n, pull);
        }
        if (!pull && (*link)->height == before)
            return;
    }
}

TP_TREE_INLINE void tp_tree_insert(struct tp_tree_node **root, struct tp_tree_node *n,
                                   tp_tree_less *less, tp_tree_pull *pull)
{
    struct tp_tree_node **path[TP_TREE_DEPTH], **at = root;
    unsigned depth = 0;
    while (*at) {
        TP_STEP();
        path[depth++] = at;
        at = less(n, *at) ? &(*at)->low : &(*at)->high;
    }
    n->low = n->high = NULL;
    *at = n;
    tp_tree_renew(n, pull);
    tp_tree_mend(path, depth, pull);
}

/* The node must be in the tree, and its key must be unchanged since it was inserted. */
TP_TREE_INLINE void tp_tree_remove(struct tp_tree_node **root, struct tp_tree_node *n,
                                   tp_tree_less *less, tp_tree_pull *pull)
{
    struct tp_tree_node **path[TP_TREE_DEPTH], **at = root;
    unsigned depth = 0;
    while (*at != n) {
        TP_STEP();
        assert(*at);
        path[depth++] = at;
        at = less(n, *at) ? &(*at)->low : &(*at)->high;
    }
    if (n->high) { /* the next node in order takes the place of n */
        unsigned below = depth + 1;
        struct tp_tree_node **link = &n->high;
        path[depth++] = at;
        for (; (*link)->low; link = &(*link)->low) {
            TP_STEP();
            path[depth++] = link;
        }
        struct tp_tree_node *next = *link;
        *link = next->high;
        next->low = n->low;
        next->high = n->high;
        next->height = n->height;
        *at = next;
        if (depth > below)
            path[below] = &next->high;
    } else {
        *at = n->low;
    }
    tp_tree_mend(path, depth, pull);
}

TP_TREE_INLINE struct tp_tree_node *tp_tree_first(struct tp_tree_node *root)
{
    while (root && root->low)
        root = root->low;
    return root;
}

#endif
