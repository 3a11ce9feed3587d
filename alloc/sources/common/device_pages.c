/* See device_pages.h. */
#include "alloc/sources/common/device_pages.h"

#include <stdlib.h>
#include <string.h>

void tp_device_pages_init(struct tp_device_pages *p)
{
    *p = (struct tp_device_pages){0};
    tp_addr_map_init_plain(&p->places);
}

void tp_device_pages_fini(struct tp_device_pages *p)
{
    for (uint64_t i = 0; i < p->room; i++)
        free(p->pages[i]);
    free(p->pages);
    free(p->tree);
    tp_addr_map_fini(&p->places);
    *p = (struct tp_device_pages){0};
}

/* The first unit from `at` on that is used (or free, with `used` false); TP_PAGE_UNITS: none. */
static uint32_t tp_page_next(const struct tp_shared_page *page, uint32_t at, bool used)
{
    while (at < TP_PAGE_UNITS) {
        uint64_t word = used ? page->used[at / 64] : ~page->used[at / 64];
        word >>= at % 64;
        if (word)
            return at + (uint32_t)__builtin_ctzll(word);
        at = (at / 64 + 1) * 64;
    }
    return TP_PAGE_UNITS;
}

/* The lowest place for `units` free units at a multiple of `align` bytes; there must be one. */
static uint32_t tp_page_place(const struct tp_shared_page *page, uint32_t units, uint64_t align)
{
    uint64_t most = align < TP_DEVICE_PAGE ? align : TP_DEVICE_PAGE;
    uint32_t step = most > TP_DEVICE_UNIT ? (uint32_t)(most / TP_DEVICE_UNIT) : 1;
    for (uint32_t at = 0;;) {
        uint32_t from = tp_page_next(page, at, false);
        at = tp_page_next(page, from, true);
        from = (from + step - 1) & -step;
        assert(from + units <= TP_PAGE_UNITS);
        if (from + units <= at)
            return from;
    }
}

static void tp_page_set(struct tp_shared_page *page, uint32_t from, uint32_t units, bool used)
{
    for (uint32_t at = from, end = from + units; at < end;) {
        uint32_t count = 64 - at % 64 < end - at ? 64 - at % 64 : end - at;
        uint64_t bits = (count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1) << at % 64;
        if (used)
            page->used[at / 64] |= bits;
        else
            page->used[at / 64] &= ~bits;
        at += count;
    }
    page->used_count += used ? units : -units;
}

/* The longest free stretch. No stretch is longer than `most`, so the search ends when one has that
 * length. */
static uint32_t tp_page_longest(const struct tp_shared_page *page, uint32_t most)
{
    uint32_t longest = 0;
    for (uint32_t at = 0; at < TP_PAGE_UNITS && longest < most;) {
        uint32_t from = tp_page_next(page, at, false);
        at = tp_page_next(page, from, true);
        longest = at - from > longest ? at - from : longest;
    }
    return longest;
}

/* The length of the free stretch around a free unit. */
static uint32_t tp_page_stretch(const struct tp_shared_page *page, uint32_t at)
{
    uint32_t from = at;
    while (from > 0) {
        uint64_t word = page->used[(from - 1) / 64] << (63 - (from - 1) % 64);
        if (word) {
            from -= (uint32_t)__builtin_clzll(word);
            break;
        }
        from = (from - 1) / 64 * 64;
    }
    return tp_page_next(page, at, true) - from;
}

static void tp_pages_sum(struct tp_device_pages *p, uint64_t at)
{
    const struct tp_pages_node *a = &p->tree[2 * at], *b = a + 1;
    p->tree[at] = (struct tp_pages_node){a->longest > b->longest ? a->longest : b->longest,
                                         a->vacant || b->vacant};
}

/* Updates the tree after a page was changed, added or removed. */
static void tp_pages_note(struct tp_device_pages *p, uint64_t number)
{
    const struct tp_shared_page *page = p->pages[number];
    uint64_t at = p->room + number;
    p->tree[at] = (struct tp_pages_node){page ? (uint16_t)page->longest : 0, !page};
    for (at /= 2; at; at /= 2)
        tp_pages_sum(p, at);
}

static bool tp_pages_has(const struct tp_pages_node *n, uint64_t units)
{
    return units ? n->longest >= units : n->vacant;
}

/* The number of the first page with `units` consecutive free units; with `units` 0 the first free
 * page number. `room`: there is none. */
static uint64_t tp_pages_find(const struct tp_device_pages *p, uint64_t units)
{
    uint64_t at = 1;
    if (!p->room || !tp_pages_has(&p->tree[at], units))
        return p->room;
    while (at < p->room) {
        at *= 2;
        at += !tp_pages_has(&p->tree[at], units);
    }
    return at - p->room;
}

/* Makes the tables twice as long. */
static int tp_pages_grow(struct tp_device_pages *p)
{
    uint64_t room = p->room ? 2 * p->room : TP_PAGES_FIRST;
    struct tp_shared_page **pages = calloc(room, sizeof *pages);
    struct tp_pages_node *tree = calloc(2 * room, sizeof *tree);
    if (!pages || !tree) {
        free(pages);
        free(tree);
        return TP_ENOMEM;
    }
    if (p->room)
        memcpy(pages, p->pages, p->room * sizeof *pages);
    for (uint64_t i = 0; i < room; i++)
        tree[room + i] = i < p->room ? p->tree[p->room + i] : (struct tp_pages_node){0, true};
    free(p->pages);
    free(p->tree);
    p->pages = pages;
    p->tree = tree;
    p->room = room;
    for (uint64_t at = room - 1; at; at--)
        tp_pages_sum(p, at);
    return TP_OK;
}

/* Takes one more page from the device. */
static int tp_pages_add(struct tp_device_pages *p, uint64_t *number)
{
    *number = tp_pages_find(p, 0);
    /* after growing, *number (the old `room`) is the first new number */
    int rc = *number < p->room ? TP_OK : tp_pages_grow(p);
    struct tp_shared_page *page = rc ? NULL : calloc(1, sizeof *page);
    if (!page)
        return TP_ENOMEM;
    page->longest = TP_PAGE_UNITS;
    p->pages[*number] = page;
    p->taken += TP_DEVICE_PAGE;
    tp_pages_note(p, *number);
    return TP_OK;
}

/* The number of consecutive free units that is sure to hold a place of this alignment. An empty
 * page has a place for every alignment. */
static uint64_t tp_pages_needed(uint64_t size, uint64_t align)
{
    uint64_t units = size / TP_DEVICE_UNIT, step = align / TP_DEVICE_UNIT;
    if (step <= 1)
        return units;
    return step < TP_PAGE_UNITS ? units + step - 1 : TP_PAGE_UNITS;
}

uint64_t tp_device_pages_cost(const struct tp_device_pages *p, uint64_t size, uint64_t align)
{
    if (size < TP_DEVICE_PAGE)
        return tp_pages_find(p, tp_pages_needed(size, align)) < p->room ? 0 : TP_DEVICE_PAGE;
    return size > UINT64_MAX - TP_DEVICE_PAGE ? UINT64_MAX
                                              : (size + TP_DEVICE_PAGE - 1) & -TP_DEVICE_PAGE;
}

int tp_device_pages_take(struct tp_device_pages *p, uint64_t addr, uint64_t size, uint64_t align)
{
    if (size >= TP_DEVICE_PAGE) {
        p->taken += tp_device_pages_cost(p, size, align);
        return TP_OK;
    }
    uint64_t number = tp_pages_find(p, tp_pages_needed(size, align));
    if (tp_addr_map_reserve(&p->places, p->places.count + 1) ||
        (number == p->room && tp_pages_add(p, &number)))
        return TP_ENOMEM;
    struct tp_shared_page *page = p->pages[number];
    uint32_t units = (uint32_t)(size / TP_DEVICE_UNIT), from = tp_page_place(page, units, align);
    bool shorter = tp_page_stretch(page, from) == page->longest;
    tp_page_set(page, from, units, true);
    if (shorter)
        page->longest = tp_page_longest(page, page->longest);
    tp_pages_note(p, number);
    return tp_addr_map_insert(&p->places, addr, number * TP_PAGE_UNITS + from);
}

void tp_device_pages_give(struct tp_device_pages *p, uint64_t addr, uint64_t size)
{
    uint64_t place = 0;
    if (size >= TP_DEVICE_PAGE) {
        p->taken -= tp_device_pages_cost(p, size, 1);
        return;
    }
    bool known = tp_addr_map_remove(&p->places, addr, &place);
    assert(known);
    (void)known;
    uint64_t number = place / TP_PAGE_UNITS;
    uint32_t from = (uint32_t)(place % TP_PAGE_UNITS);
    struct tp_shared_page *page = p->pages[number];
    tp_page_set(page, from, (uint32_t)(size / TP_DEVICE_UNIT), false);
    uint32_t stretch = tp_page_stretch(page, from);
    page->longest = stretch > page->longest ? stretch : page->longest;
    if (!page->used_count) {
        free(page);
        p->pages[number] = NULL;
        p->taken -= TP_DEVICE_PAGE;
    }
    tp_pages_note(p, number);
}
