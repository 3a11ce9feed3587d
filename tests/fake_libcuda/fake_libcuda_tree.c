/* An ordered map for the fake driver: a treap, whose nodes lie in the structs they name. Priorities
 * come from a fixed sequence, so that runs repeat. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

void *fc_grow(void *old, size_t bytes)
{
    void *grown = realloc(old, bytes);
    if (!grown)
        abort();
    return grown;
}

void *fc_zeroed(size_t bytes)
{
    void *made = calloc(1, bytes);
    if (!made)
        abort();
    return made;
}

static uint32_t next_priority(struct fc_tree *t)
{
    uint32_t x = t->random ? t->random : 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    t->random = x;
    return x;
}

/* Into the keys below `key` and the rest. */
static void split(struct fc_node *n, uint64_t key, struct fc_node **low, struct fc_node **high)
{
    while (n) {
        if (n->key < key) {
            *low = n;
            low = &n->child[1];
            n = n->child[1];
        } else {
            *high = n;
            high = &n->child[0];
            n = n->child[0];
        }
    }
    *low = NULL;
    *high = NULL;
}

void fc_tree_insert(struct fc_tree *t, struct fc_node *n, uint64_t key)
{
    struct fc_node **at = &t->root;
    n->key = key;
    n->prio = next_priority(t);
    while (*at && (*at)->prio >= n->prio)
        at = &(*at)->child[(*at)->key < key];
    split(*at, key, &n->child[0], &n->child[1]);
    *at = n;
}

void fc_tree_remove(struct fc_tree *t, struct fc_node *n)
{
    struct fc_node **at = &t->root;
    while (*at != n)
        at = &(*at)->child[(*at)->key < n->key];
    struct fc_node *low = n->child[0], *high = n->child[1];
    while (low && high) {
        if (low->prio >= high->prio) {
            *at = low;
            at = &low->child[1];
            low = low->child[1];
        } else {
            *at = high;
            at = &high->child[0];
            high = high->child[0];
        }
    }
    *at = low ? low : high;
}

struct fc_node *fc_tree_floor(const struct fc_tree *t, uint64_t key)
{
    struct fc_node *best = NULL;
    for (struct fc_node *n = t->root; n;) {
        if (n->key <= key) {
            best = n;
            n = n->child[1];
        } else {
            n = n->child[0];
        }
    }
    return best;
}

struct fc_node *fc_tree_after(const struct fc_tree *t, uint64_t key)
{
    struct fc_node *best = NULL;
    for (struct fc_node *n = t->root; n;) {
        if (n->key > key) {
            best = n;
            n = n->child[0];
        } else {
            n = n->child[1];
        }
    }
    return best;
}

struct fc_node *fc_tree_find(const struct fc_tree *t, uint64_t key)
{
    struct fc_node *n = fc_tree_floor(t, key);
    return n && n->key == key ? n : NULL;
}
