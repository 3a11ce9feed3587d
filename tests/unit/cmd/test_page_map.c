/* The map of pages: its cells, what lies in them, and who holds their partly free bytes. */
#include "cmd/pages/page_map.h"

#include "cmd/pages/map_data.h"
#include "tests/unit/test.h"

enum { PAGE = 4096, MOST = 40, MANY = 10000 };

struct made_list {
    tp_listed_page pages[MOST];
    struct tp_page_block blocks[MOST];
    struct tp_page_list list;
};

/* A page of which so many bytes have been part of a block. */
static void add_page(struct made_list *m, uint64_t number, uint64_t covered)
{
    m->pages[m->list.head.pages++] = number << TP_LISTED_PAGE_SHIFT | covered / TP_LISTED_PAGE_STEP;
    m->list.head.page = PAGE;
    m->list.head.every = 8;
    m->list.pages = m->pages;
    m->list.blocks = m->blocks;
}

static void add_block(struct made_list *m, uint64_t addr, uint64_t requested, uint64_t allocated,
                      uint64_t slot)
{
    m->blocks[m->list.head.blocks++] = (struct tp_page_block){addr, requested, allocated, slot};
}

static void fill(struct tp_page_map *map, const struct made_list *m,
                 const struct tp_held_slot *slots)
{
    static const uint8_t ranks[] = {0, 1, TP_MAP_OTHER, TP_MAP_OTHER};
    struct tp_err err;
    assert_int_equal(tp_page_map_open(&m->list, 1, map, &err), TP_OK);
    assert_int_equal(tp_page_map_fill(map, 0, &m->list, slots, 4, ranks, &err), TP_OK);
}

TEST(a_cell_is_a_page_where_there_are_few_and_has_the_parts_of_it)
{
    struct made_list m = {.list.head.pages = 0};
    struct tp_page_map map;
    const struct tp_held_slot slots[] = {{.group = 2}};
    add_page(&m, 10, 3000);
    add_page(&m, 11, 800);
    add_page(&m, 20, 0);
    add_block(&m, 10 * PAGE + 96, 1000, 1024, 0);
    fill(&map, &m, slots);
    assert_fields(map, count, 3, shift, 0, numbers[0], 10, numbers[2], 20, every[0], 8);
    assert_fields(map.cells[0], parts.resident, PAGE, parts.live, 1000, parts.rounding, 24,
                  parts.partly_free, 3000 - 1024, parts.free_pages, 0, parts.own, PAGE - 3000,
                  holder, 1);
    assert_fields(map.cells[1], parts.free_pages, 800, parts.own, PAGE - 800, holder, TP_MAP_NONE);
    assert_fields(map.cells[2], parts.own, PAGE, holder, TP_MAP_NONE);
    assert_false(tp_page_map_gap(&map, 0));
    assert_false(tp_page_map_gap(&map, 1));
    assert_true(tp_page_map_gap(&map, 2));
    tp_page_map_close(&map);
}

/* Two blocks of a group without a rank of its own share a page with one block of another group. */
TEST(groups_share_a_page_equally_however_many_blocks_they_have)
{
    struct made_list m = {.list.head.pages = 0};
    struct tp_page_map map;
    const struct tp_held_slot slots[] = {{.group = 3}, {.group = 3}, {.group = 2}, {.group = 0}};
    add_page(&m, 10, PAGE);
    add_page(&m, 11, PAGE);
    add_page(&m, 12, PAGE);
    add_block(&m, 10 * PAGE, 16, 16, 0);
    add_block(&m, 10 * PAGE + 64, 16, 16, 1);
    add_block(&m, 11 * PAGE - 16, 32, 32, 2);
    add_block(&m, 12 * PAGE, 16, 16, 3);
    fill(&map, &m, slots);
    /* equal shares: the lower rank */
    assert_fields(map.cells[0], holder, 1, parts.partly_free, PAGE - 48);
    assert_fields(map.cells[1], holder, 1);
    assert_fields(map.cells[2], holder, TP_MAP_UNKNOWN);
    tp_page_map_close(&map);
}

TEST(blocks_that_others_stand_for_hold_nothing_beside_them)
{
    struct made_list m = {.list.head.pages = 0};
    struct tp_page_map map;
    const struct tp_held_slot slots[] = {{.group = 0, .sampled = true},
                                         {.group = 1, .sampled = true},
                                         {.group = 0, .sampled = true}};
    add_page(&m, 10, PAGE);
    add_page(&m, 11, PAGE);
    add_block(&m, 10 * PAGE, 16, 16, 0);
    add_block(&m, 10 * PAGE + 64, 16, 16, 1);
    add_block(&m, 11 * PAGE, 16, 16, 2);
    fill(&map, &m, slots);
    assert_fields(map.cells[0], holder, 0);
    assert_fields(map.cells[1], holder, TP_MAP_UNKNOWN);
    tp_page_map_close(&map);
}

TEST(moments_have_the_same_cells)
{
    struct made_list first = {.list.head.pages = 0}, second = {.list.head.pages = 0};
    static const uint8_t ranks[1];
    struct tp_page_map map;
    struct tp_err err;
    add_page(&first, 10, PAGE);
    add_page(&first, 30, PAGE);
    add_page(&second, 9, PAGE);
    add_page(&second, 10, 8);
    const struct tp_page_list lists[] = {first.list, second.list};
    assert_int_equal(tp_page_map_open(lists, 2, &map, &err), TP_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(tp_page_map_fill(&map, i, &lists[i], NULL, 0, ranks, &err), TP_OK);
    assert_fields(map, count, 3, numbers[0], 9, numbers[1], 10, numbers[2], 30);
    const struct tp_map_cell *a = tp_page_map_at(&map, 0), *b = tp_page_map_at(&map, 1);
    assert_fields(a[0], parts.resident, 0, holder, TP_MAP_NONE);
    assert_fields(a[1], parts.free_pages, PAGE);
    assert_fields(b[1], parts.free_pages, 8, parts.own, PAGE - 8);
    assert_fields(b[2], parts.resident, 0);
    tp_page_map_close(&map);
}

/* Every third page, of two moments that have none in common. */
TEST(more_pages_than_cells_make_larger_cells_that_add_up)
{
    static tp_listed_page pages[2][MANY];
    static const uint8_t ranks[1];
    struct tp_page_list lists[2] = {{.head.page = PAGE}, {.head.page = PAGE}};
    struct tp_page_map map;
    struct tp_err err;
    for (uint64_t k = 0; k < 2; k++) {
        for (uint64_t i = 0; i < MANY; i++)
            pages[k][i] = (1000 + k * 3 * MANY + 3 * i) << TP_LISTED_PAGE_SHIFT;
        lists[k].pages = pages[k];
        lists[k].head.pages = MANY;
    }
    assert_int_equal(tp_page_map_open(lists, 2, &map, &err), TP_OK);
    /* 60,000 pages from 1,000 on: cells of 16 pages are 3,751, of 8 more than 4,096 */
    assert_fields(map, shift, 4, count, (1000 + 6 * MANY - 3) / 16 - 1000 / 16 + 1);
    for (size_t k = 0; k < 2; k++) {
        uint64_t resident = 0;
        assert_int_equal(tp_page_map_fill(&map, k, &lists[k], NULL, 0, ranks, &err), TP_OK);
        for (size_t i = 0; i < map.count; i++)
            resident += tp_page_map_at(&map, k)[i].parts.resident;
        assert_int_equal(resident, (uint64_t)MANY * PAGE);
    }
    tp_page_map_close(&map);
}

/* However far apart pages lie, and however many moments there are. */
TEST(cells_of_all_moments_together_are_bounded)
{
    static tp_listed_page pages[MANY];
    struct tp_page_list lists[TP_PAGE_MOMENTS];
    struct tp_page_map map;
    struct tp_err err;
    for (uint64_t i = 0; i < MANY; i++)
        pages[i] = (i << 20) << TP_LISTED_PAGE_SHIFT;
    for (size_t i = 0; i < TP_PAGE_MOMENTS; i++)
        lists[i] = (struct tp_page_list){.head = {.page = PAGE, .pages = MANY}, .pages = pages};
    assert_int_equal(tp_page_map_open(lists, TP_PAGE_MOMENTS, &map, &err), TP_OK);
    assert_in_range(map.count * map.moments, TP_MAP_CELLS_ALL / 2, TP_MAP_CELLS_ALL);
    tp_page_map_close(&map);
}

TEST(a_moment_without_pages_has_no_cells)
{
    struct tp_page_list list = {.head.page = PAGE};
    static const uint8_t ranks[1];
    struct tp_page_map map;
    struct tp_err err;
    assert_int_equal(tp_page_map_open(&list, 1, &map, &err), TP_OK);
    assert_int_equal(tp_page_map_fill(&map, 0, &list, NULL, 0, ranks, &err), TP_OK);
    assert_int_equal(map.count, 0);
    tp_page_map_close(&map);
}

/* ---- in the data of a page ---- */

static const char *text_of(const cJSON *in, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(in, name));
}

/* Numbers in base 64: cells of no moment and cells that follow, twice; of the first moment no cell
 * that is as before, and a cell; of the second one two. */
TEST(a_moment_says_what_differs_from_the_one_before)
{
    struct made_list m = {.list.head.pages = 0};
    static const uint8_t ranks[] = {0, 1};
    const struct tp_held_slot slots[] = {{.group = 2}};
    const struct tp_map_names names = {.names = {"a", "b"}, .count = 2};
    struct tp_page_map map;
    struct tp_json j = {false};
    struct tp_err err;
    add_page(&m, 10, 3000);
    add_page(&m, 20, 0);
    add_block(&m, 10 * PAGE + 96, 1000, 1024, 0);
    const struct tp_page_list lists[] = {m.list, m.list};
    assert_int_equal(tp_page_map_open(lists, 2, &map, &err), TP_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(tp_page_map_fill(&map, i, &lists[i], slots, 2, ranks, &err), TP_OK);
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_map_data(&j, root, &map, &names);
    assert_false(j.failed);
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(root, "map");
    const cJSON *moments = cJSON_GetObjectItemCaseSensitive(o, "moments");
    assert_string_equal(text_of(o, "ranges"), "CgEJAQ==");
    assert_string_equal(text_of(cJSON_GetArrayItem(moments, 0), "cells"),
                        "AIAg6AcYuA8AAQCAIAAAAAAI");
    assert_string_equal(text_of(cJSON_GetArrayItem(moments, 1), "cells"), "Ag==");
    cJSON_Delete(root);
    tp_page_map_close(&map);
}

/* A cell of 2^14 pages: a number is 16 KiB, of which two free pages are half. */
TEST(what_is_less_than_a_number_of_a_cell_is_not_lost)
{
    static tp_listed_page pages[2 * TP_MAP_CELLS];
    static const uint8_t ranks[1];
    const struct tp_map_names names = {.count = 0};
    struct tp_page_list list = {.head = {.page = PAGE, .every = 1}, .pages = pages};
    struct tp_page_map map;
    struct tp_json j = {false};
    struct tp_err err;
    for (uint64_t i = 0; i < 2 * TP_MAP_CELLS; i++)
        pages[i] = (i << 13) << TP_LISTED_PAGE_SHIFT | PAGE / TP_LISTED_PAGE_STEP;
    list.head.pages = 2 * TP_MAP_CELLS;
    assert_int_equal(tp_page_map_open(&list, 1, &map, &err), TP_OK);
    assert_int_equal(tp_page_map_fill(&map, 0, &list, NULL, 0, ranks, &err), TP_OK);
    assert_fields(map, shift, 14, count, TP_MAP_CELLS);
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_map_data(&j, root, &map, &names);
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(root, "map");
    const cJSON *moments = cJSON_GetObjectItemCaseSensitive(o, "moments");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(o, "unit")->valuestring, "16384");
    const char *cells = text_of(cJSON_GetArrayItem(moments, 0), "cells");
    assert_memory_equal(cells, "AAEAAAABCAAB", 12);
    cJSON_Delete(root);
    tp_page_map_close(&map);
}
