/* The balanced tree beside a plain array: order, height, what nodes keep of their subtrees. */
#include "tests/unit/counted_steps.h"

#include "alloc/base/tree.h"

#include "alloc/base/random.h"
#include "tests/unit/test.h"

#include <stdlib.h>

struct item {
    struct tp_tree_node node;
    uint32_t key, best; /* best: the highest key below */
    bool in;
};

static struct item *item_of(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct item, node, n) : NULL;
}

static bool less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return item_of(a)->key < item_of(b)->key;
}

static void pull(struct tp_tree_node *n)
{
    struct item *i = item_of(n);
    i->best = i->key;
    if (n->low && item_of(n->low)->best > i->best)
        i->best = item_of(n->low)->best;
    if (n->high && item_of(n->high)->best > i->best)
        i->best = item_of(n->high)->best;
}

/* Everything that must hold; returns the number of nodes. */
static uint32_t check(const struct tp_tree_node *n, int64_t above, int64_t below)
{
    if (!n)
        return 0;
    int64_t key = item_of(n)->key;
    uint32_t low = tp_tree_height(n->low), high = tp_tree_height(n->high);
    struct item seen = *item_of(n);
    assert_true(key > above && key < below && item_of(n)->in);
    assert_true((!n->low || n->low->up == n) && (!n->high || n->high->up == n));
    assert_true(low <= high + 1 && high <= low + 1);
    assert_int_equal(n->height, 1 + (low > high ? low : high));
    pull(&seen.node);
    assert_int_equal(seen.best, item_of(n)->best);
    return 1 + check(n->low, above, key) + check(n->high, key, below);
}

enum { ITEMS = 700 };

/* One by one from the first: all that are in, none twice. */
static void check_order(struct tp_tree_node *root, struct item *items)
{
    const struct tp_tree_node *n = tp_tree_first(root);
    assert_true(!root || !root->up);
    for (uint32_t i = 0; i < ITEMS; i++)
        if (items[i].in) {
            assert_ptr_equal(n, &items[i].node);
            n = tp_tree_next(&items[i].node);
        }
    assert_null(n);
}

TEST(random_operations)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct item *items = calloc(ITEMS, sizeof *items);
        struct tp_tree_node *root = NULL;
        struct tp_random random;
        uint32_t count = 0;
        tp_random_seed(&random, seed);
        for (uint32_t i = 0; i < ITEMS; i++)
            items[i].key = i;
        for (unsigned step = 0; step < 6000; step++) {
            struct item *i = &items[tp_random_next(&random) % (step % 2000 < 1000 ? ITEMS : 40)];
            if (i->in)
                tp_tree_remove(&root, &i->node, pull);
            else
                tp_tree_insert(&root, &i->node, less, pull);
            i->in = !i->in;
            count += i->in ? 1 : UINT32_MAX;
            if (step % 50 != 0)
                continue;
            assert_int_equal(check(root, -1, ITEMS), count);
            check_order(root, items);
        }
        for (uint32_t i = 0; i < ITEMS; i++)
            if (items[i].in) {
                assert_ptr_equal(tp_tree_first(root), &items[i].node);
                tp_tree_remove(&root, &items[i].node, pull);
            }
        assert_null(root);
        free(items);
    }
}

/* Orders that a trace could choose: up, down, from both ends; and emptied from the middle. All
 * nodes one by one are two steps each at most. */
TEST(chosen_orders)
{
    enum { MANY = 1 << 15, LOG2 = 15 };
    for (unsigned order = 0; order < 3; order++) {
        struct item *items = calloc(MANY, sizeof *items);
        struct tp_tree_node *root = NULL;
        steps = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            const uint32_t keys[] = {i, MANY - 1 - i, i % 2 ? MANY - 1 - i / 2 : i / 2};
            items[i] = (struct item){.key = keys[order], .in = true};
            tp_tree_insert(&root, &items[i].node, less, NULL);
        }
        assert_true(root->height <= LOG2 * 3 / 2);
        print_message("order %u: %llu steps to fill", order, steps);
        assert_true(steps < 2ull * MANY * LOG2);
        steps = 0;
        for (struct tp_tree_node *n = tp_tree_first(root); n; n = tp_tree_next(n))
            assert_true(n->height);
        print_message(", %llu to walk", steps);
        assert_in_range(steps, MANY - 1, 2 * MANY);
        steps = 0;
        for (uint32_t i = 0; i < MANY; i++)
            tp_tree_remove(&root, &items[(i + MANY / 2) % MANY].node, NULL);
        assert_null(root);
        print_message(", %llu to empty\n", steps);
        assert_true(steps < 4ull * MANY);
        free(items);
    }
}
