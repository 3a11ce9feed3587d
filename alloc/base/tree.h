/* A balanced search tree whose nodes lie inside the items they order. It is for tables that hostile
 * input fills: its depth depends on nothing but the number of nodes.
 *
 *                 n             the two subtrees of a node differ in height by 1 at most
 *              /     \          (Adelson-Velsky and Landis, 1962), so 2^32 nodes are at most
 *           low       high      46 deep
 *
 * A node knows the one above it: it is removed without a search, and the next one is near.
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

#define TP_TREE_INLINE static inline __attribute__((always_inline))

struct tp_tree_node {
    struct tp_tree_node *low, *high, *up; /* up: NULL in the root */
    uint32_t height;                      /* 1: no subtrees */
    uint32_t number;                      /* for the owner to use; it would be padding otherwise */
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

/* The link that leads to `n`. */
TP_TREE_INLINE struct tp_tree_node **tp_tree_link(struct tp_tree_node **root,
                                                  const struct tp_tree_node *n)
{
    struct tp_tree_node **link = root;
    if (n->up)
        link = n->up->low == n ? &n->up->low : &n->up->high;
    return link;
}

/* Puts `n`, which may be NULL, at a link of `up`. */
TP_TREE_INLINE void tp_tree_hang(struct tp_tree_node **link, struct tp_tree_node *up,
                                 struct tp_tree_node *n)
{
    *link = n;
    if (n)
        n->up = up;
}

/* A rotation: the low (or high) child takes the place of the node that a link leads to, which
 * becomes its child. Returns it. */
TP_TREE_INLINE struct tp_tree_node *tp_tree_lift_low(struct tp_tree_node **link, tp_tree_pull *pull)
{
    struct tp_tree_node *n = *link, *lifted = n->low;
    tp_tree_hang(link, n->up, lifted);
    tp_tree_hang(&n->low, n, lifted->high);
    tp_tree_hang(&lifted->high, lifted, n);
    tp_tree_renew(n, pull);
    tp_tree_renew(lifted, pull);
    return lifted;
}

TP_TREE_INLINE struct tp_tree_node *tp_tree_lift_high(struct tp_tree_node **link,
                                                      tp_tree_pull *pull)
{
    struct tp_tree_node *n = *link, *lifted = n->high;
    tp_tree_hang(link, n->up, lifted);
    tp_tree_hang(&n->high, n, lifted->low);
    tp_tree_hang(&lifted->low, lifted, n);
    tp_tree_renew(n, pull);
    tp_tree_renew(lifted, pull);
    return lifted;
}

/* Restores balance and summaries from `n` up to the root; NULL: there is nothing to do. */
TP_TREE_INLINE void tp_tree_mend(struct tp_tree_node **root, struct tp_tree_node *n,
                                 tp_tree_pull *pull)
{
    for (; n; n = n->up) {
        uint32_t low = tp_tree_height(n->low), high = tp_tree_height(n->high), before = n->height;
        TP_STEP();
        if (low > high + 1) {
            if (tp_tree_height(n->low->low) < tp_tree_height(n->low->high))
                tp_tree_lift_high(&n->low, pull);
            n = tp_tree_lift_low(tp_tree_link(root, n), pull);
        } else if (high > low + 1) {
            if (tp_tree_height(n->high->high) < tp_tree_height(n->high->low))
                tp_tree_lift_low(&n->high, pull);
            n = tp_tree_lift_high(tp_tree_link(root, n), pull);
        } else {
            tp_tree_renew(n, pull);
        }
        if (!pull && n->height == before)
            return;
    }
}

TP_TREE_INLINE void tp_tree_insert(struct tp_tree_node **root, struct tp_tree_node *n,
                                   tp_tree_less *less, tp_tree_pull *pull)
{
    struct tp_tree_node *up = NULL, **at = root;
    while (*at) {
        TP_STEP();
        up = *at;
        at = less(n, up) ? &up->low : &up->high;
    }
    n->low = n->high = NULL;
    n->up = up;
    *at = n;
    tp_tree_renew(n, pull);
    tp_tree_mend(root, up, pull);
}

/* The lowest node of a tree; NULL: it is empty. */
TP_TREE_INLINE struct tp_tree_node *tp_tree_first(struct tp_tree_node *root)
{
    while (root && root->low) {
        TP_STEP();
        root = root->low;
    }
    return root;
}

/* The node must be in the tree. Its key is not looked at. */
TP_TREE_INLINE void tp_tree_remove(struct tp_tree_node **root, struct tp_tree_node *n,
                                   tp_tree_pull *pull)
{
    struct tp_tree_node **link = tp_tree_link(root, n), *up = n->up;
    if (!n->high) {
        tp_tree_hang(link, up, n->low);
        tp_tree_mend(root, up, pull);
        return;
    }
    struct tp_tree_node *next = tp_tree_first(n->high), *from = next;
    if (next != n->high) {
        from = next->up;
        tp_tree_hang(&from->low, from, next->high);
        tp_tree_hang(&next->high, next, n->high);
    }
    tp_tree_hang(&next->low, next, n->low);
    tp_tree_hang(link, up, next); /* the next node in order takes the place of n */
    next->height = n->height;
    tp_tree_mend(root, from, pull);
}

/* The node behind `n` in order; NULL: it is the last one. All nodes one by one take two steps each.
 */
TP_TREE_INLINE struct tp_tree_node *tp_tree_next(struct tp_tree_node *n)
{
    if (n->high)
        return tp_tree_first(n->high);
    for (; n->up && n->up->high == n; n = n->up)
        TP_STEP();
    return n->up;
}

#endif
