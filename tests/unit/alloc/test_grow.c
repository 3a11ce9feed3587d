/* Arrays that grow, and the map of numbers that others chose: rooms, limits, budgets, sentences. */
#include "alloc/base/grow.h"
#include "alloc/base/id_map.h"
#include "tests/unit/test.h"

#include <string.h>

struct list {
    uint64_t *items;
    size_t room;
};

TEST(test_grows)
{
    struct list l = {0};
    size_t moves = 0, before = 0;
    for (size_t i = 0; i < 100000; i++) {
        assert_int_equal(TP_GROW(&l.items, &l.room, i + 1, NULL, .what = "items"), TP_OK);
        assert_true(l.room > i);
        moves += l.room != before;
        before = l.room;
        l.items[i] = i;
    }
    assert_true(moves < 12);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(l.items[i], i);
    assert_int_equal(TP_GROW(&l.items, &l.room, 1000000, NULL, .what = "items"), TP_OK);
    assert_true(l.room >= 1000000);
    TP_GROW_END(&l.items, &l.room, .budget = NULL);
    assert_null(l.items);
    assert_int_equal(l.room, 0);
}

TEST(test_limits)
{
    struct list l = {0};
    struct tp_err err;
    assert_int_equal(TP_GROW(&l.items, &l.room, 10, &err, .what = "names", TP_MOST(10)), TP_OK);
    assert_int_equal(l.room, 10);
    assert_int_equal(TP_GROW(&l.items, &l.room, 11, &err, .what = "names", TP_MOST(10)), TP_ENOMEM);
    assert_string_equal(err.text, "out of memory for names");
    assert_int_equal(TP_GROW(&l.items, &l.room, SIZE_MAX / 8 + 1, &err, .what = "names"),
                     TP_ENOMEM);
    assert_int_equal(l.room, 10);
    l.items[9] = 1;
    TP_GROW_END(&l.items, &l.room, .budget = NULL);
    for (size_t most = 0; most < 2; most++) /* a limit that was computed may be 0 */
        assert_int_equal(TP_GROW(&l.items, &l.room, most + 1, &err, .what = "names", TP_MOST(most)),
                         TP_ENOMEM);
    assert_null(l.items);
}

/* What is charged is what the array holds, with what its items hold beside; the array that it is
 * copied from must fit too, and a refusal changes nothing. */
TEST(test_budget)
{
    struct tp_budget budget = {.limit = 16384, .held = 1000};
    struct list l = {0};
    struct tp_err err;
    int rc = TP_OK;
    size_t steps = 0;
    for (size_t i = 0; rc == TP_OK; i++, steps++) {
        rc = TP_GROW(&l.items, &l.room, i + 1, &err, .what = "blocks", .of = "x.log",
                     .budget = &budget, .beside = 2);
        assert_int_equal(budget.held, 1000 + 10 * l.room);
        assert_true(budget.held <= budget.limit);
    }
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(err.text, "x.log: more blocks than the memory for reading holds");
    assert_string_equal(err.hint, "--max-memory=SIZE allows more");
    /* 1,538 items fit in the budget: 1,024 and the 512 that they were copied from, but no more */
    assert_int_equal(steps, 1 + 1024);
    TP_GROW_END(&l.items, &l.room, .budget = &budget, .beside = 2);
    assert_int_equal(budget.held, 1000);
}

enum { IDS = 20000 };

/* Every id that a trace may use: 0, the ends of the range, and many in a row. */
static int64_t id_of(int64_t i)
{
    static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN};
    return i < 4 ? odd[i] : i * 4096;
}

TEST(test_map)
{
    struct tp_id_map m = {.how.what = "ids"};
    struct tp_id_entry *entry = NULL;
    assert_null(tp_id_map_find(&m, 0));
    for (int64_t i = 0; i < IDS; i++) {
        assert_int_equal(tp_id_map_need(&m, id_of(i), (uint32_t)i, &entry, NULL), TP_OK);
        assert_int_equal(tp_id_map_need(&m, id_of(i), 7, &entry, NULL), TP_OK);
        assert_int_equal(entry->index, i);
    }
    assert_int_equal(m.used, IDS);
    for (int64_t i = 0; i < IDS; i += 2)
        tp_id_map_remove(&m, tp_id_map_find(&m, id_of(i)));
    for (int64_t i = 0; i < IDS; i++) {
        entry = tp_id_map_find(&m, id_of(i));
        assert_true(i % 2 ? entry && entry->index == (uint32_t)i : !entry);
    }
    tp_id_map_release(&m);
    assert_int_equal(m.used, 0);
}

TEST(test_map_budget)
{
    struct tp_budget budget = {.limit = 100000, .held = 10};
    struct tp_id_map m = {.how = {.what = "addresses", .budget = &budget}};
    struct tp_id_entry *entry = NULL;
    struct tp_err err;
    int rc = TP_OK;
    for (int64_t i = 0; rc == TP_OK; i++) {
        rc = tp_id_map_need(&m, i, 0, &entry, &err);
        assert_int_equal(budget.held, 10 + (m.map.mask + 1) * sizeof *m.map.slots);
    }
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(err.text, "more addresses than the memory for reading holds");
    assert_true(m.used > 1000);
    assert_non_null(tp_id_map_find(&m, (int64_t)m.used - 1));
    assert_int_equal(tp_id_map_put(&m, (int64_t)m.used, 0, NULL), TP_EINPUT);
    tp_id_map_release(&m);
    assert_int_equal(budget.held, 10);
}
