/* Lists that go to a file, by limit and by budget, and cursors over them. */
#include "alloc/base/spill.h"
#include "tests/unit/test.h"

#include <stdlib.h>

struct item {
    uint64_t number, triple, pad[3];
};

enum { ITEMS = 10000, LIMIT = 64 << 10 };

static void fill(struct tp_spill *l)
{
    tp_spill_init(l, sizeof(struct item), LIMIT);
    for (uint64_t i = 0; i < ITEMS; i++) {
        const struct item item = {.number = i, .triple = 3 * i};
        assert_int_equal(tp_spill_add(l, &item, NULL), TP_OK);
    }
    assert_int_equal(tp_spill_count(l), ITEMS);
    assert_true(l->written > 0 && l->count > 0 && l->room * l->item <= LIMIT);
}

/* From the file, from memory, and across the border between them. */
TEST(test_list)
{
    struct tp_spill l;
    fill(&l);
    const uint64_t firsts[] = {0, 1, l.written - 5, l.written - 1, l.written, ITEMS - 7};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        struct item out[7];
        assert_int_equal(tp_spill_read(&l, firsts[i], 7, out, NULL), TP_OK);
        for (uint64_t k = 0; k < 7; k++)
            assert_int_equal(out[k].number, firsts[i] + k);
    }
    tp_spill_release(&l);
}

TEST(test_cursor)
{
    struct tp_spill l;
    fill(&l);
    const struct {
        uint64_t first, end;
    } ranges[] = {{0, ITEMS},   {5, 5},         {ITEMS - 1, ITEMS}, {1000, 2024},
                  {1023, 9023}, {0, l.written}, {l.written, ITEMS}, {l.written - 1, l.written + 1}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct tp_spill_cursor c = {.list = &l, .next = ranges[i].first, .end = ranges[i].end};
        int rc = TP_OK;
        for (uint64_t k = ranges[i].first; k < ranges[i].end; k++) {
            const struct item *item = tp_spill_next(&c, &rc, NULL);
            assert_non_null(item);
            assert_int_equal(item->triple, 3 * k);
        }
        assert_null(tp_spill_next(&c, &rc, NULL));
        assert_null(tp_spill_next(&c, &rc, NULL));
        assert_int_equal(rc, TP_OK);
    }
    tp_spill_release(&l);
}

/* A budget that is nearly spent sends the list to its file; with none left it cannot begin. */
TEST(test_budget)
{
    struct tp_budget budget = {.limit = 4096};
    struct tp_spill l;
    tp_spill_init(&l, sizeof(struct item), LIMIT);
    l.budget = &budget;
    for (uint64_t i = 0; i < ITEMS; i++) {
        const struct item item = {.number = i};
        assert_int_equal(tp_spill_add(&l, &item, NULL), TP_OK);
        assert_true(budget.held <= budget.limit);
    }
    assert_true(l.written > 0);
    tp_spill_release(&l);
    assert_int_equal(budget.held, 0);

    struct tp_err err;
    budget.held = 4090;
    tp_spill_init(&l, sizeof(struct item), LIMIT);
    l.budget = &budget;
    assert_int_equal(tp_spill_add(&l, &(struct item){0}, &err), TP_EINPUT);
    assert_string_equal(err.text, "more events than the memory for reading holds");
    tp_spill_release(&l);
    assert_int_equal(budget.held, 4090);
}
