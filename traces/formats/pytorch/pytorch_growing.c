/* See pytorch_heap.h. Memory is looked at in pages of 2 MiB, the smallest that PyTorch maps.
 *
 *     seen first as       mapped      unmapped     never, but mapped at the end
 *     the page was        not there   there        there
 *
 * Pages side by side are one stretch. Their pool is known where one of them is there at the end, or
 * was unmapped in a piece smaller than any page of the large pool; else it is taken for the large
 * one, which `inferred` says.
 *
 * Known weakness: stretches of more than 1 TiB, which no device has, are passed over. */
#include "traces/formats/pytorch/pytorch_heap.h"

#include "alloc/base/ascending.h"
#include "alloc/base/id_map.h"
#include "alloc/base/steps.h"

#include <stdlib.h>

#define PAGE       (UINT64_C(2) << 20)
#define LARGE_PAGE (UINT64_C(20) << 20) /* the least */
#define MOST       (UINT64_C(1) << 40)

struct growing_page {
    uint64_t address;
    int64_t stream;
    uint64_t pool;
    bool small, sure; /* sure: the pool is known */
};

/* `seen`: by page, how many pages from it on have all been seen. */
struct page_search {
    const struct tp_pytorch *snapshot;
    struct tp_id_map seen;
    struct growing_page *pages;
    size_t count, room;
};

/* The first page from `page` on that was not seen. What lies before it is stepped over at once from
 * then on: thousands of events may be about the same pages. */
static uint64_t next_new(struct page_search *f, uint64_t page)
{
    struct tp_id_entry *entry = NULL;
    uint64_t end = page;
    for (; (entry = tp_id_map_find(&f->seen, (int64_t)end)); end += entry->index)
        TP_STEP();
    for (uint64_t at = page, next; at < end; at = next) {
        entry = tp_id_map_find(&f->seen, (int64_t)at);
        next = at + entry->index;
        entry->index = end - at < UINT32_MAX ? (uint32_t)(end - at) : UINT32_MAX;
    }
    return end;
}

/* Sees all pages of a stretch; keeps those that are new if `there`. */
static int see_pages(struct page_search *f, const struct tp_pytorch_block *of, bool there,
                     bool sure, struct tp_err *err)
{
    uint64_t first = (of->address + PAGE - 1) / PAGE, end = (of->address + of->size) / PAGE;
    int rc = TP_OK;
    if (of->size > MOST || of->address > UINT64_MAX - MOST)
        return TP_OK;
    for (uint64_t page = first; rc == TP_OK && (page = next_new(f, page)) < end; page++) {
        rc = tp_id_map_put(&f->seen, (int64_t)page, 1, err);
        if (rc != TP_OK || !there)
            continue;
        rc = TP_READ_GROW(f->snapshot->reading, &f->pages, &f->room, f->count + 1, "pages", err);
        if (rc == TP_OK)
            f->pages[f->count++] = (struct growing_page){.address = page * PAGE,
                                                         .stream = of->stream,
                                                         .pool = of->pool,
                                                         .small = of->small,
                                                         .sure = sure};
    }
    return rc;
}

static int of_events(struct page_search *f, uint32_t device, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &f->snapshot->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {
        .list = &f->snapshot->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err))) {
        bool unmap = ev->action == TP_PYTORCH_SEGMENT_UNMAP, small = ev->size < LARGE_PAGE;
        const struct tp_pytorch_block of = {.address = ev->address,
                                            .size = ev->size,
                                            .stream = ev->stream,
                                            .pool = ev->pool,
                                            .small = small};
        if (unmap || ev->action == TP_PYTORCH_SEGMENT_MAP)
            rc = see_pages(f, &of, unmap, small, err);
    }
    return rc;
}

static int of_the_end(struct page_search *f, uint32_t device, struct tp_err *err)
{
    const struct tp_pytorch_blocks *end = &f->snapshot->spans;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < end->count; i++)
        if (end->items[i].device == device && end->items[i].expandable)
            rc = see_pages(f, &end->items[i], true, true, err);
    return rc;
}

static int by_address(const void *a, const void *b)
{
    const struct growing_page *x = a, *y = b;
    return tp_order(x->address, y->address);
}

/* Whether the page continues the stretch that ends with `last`, of a pool that is known if `sure`.
 */
static bool continues(const struct growing_page *page, const struct growing_page *last, bool small,
                      bool sure)
{
    return page->address == last->address + PAGE && page->stream == last->stream &&
           page->pool == last->pool && !(sure && page->sure && page->small != small);
}

static int add_stretches(const struct page_search *f, uint32_t device,
                         struct tp_pytorch_blocks *out, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0, end = 0; rc == TP_OK && i < f->count; i = end) {
        bool sure = false, small = false;
        for (end = i; end < f->count; end++) {
            const struct growing_page *page = &f->pages[end];
            if (end > i && !continues(page, page - 1, small, sure))
                break;
            small = page->sure ? page->small : small;
            sure |= page->sure;
        }
        rc = tp_pytorch_add_block(f->snapshot->reading, out,
                                  &(struct tp_pytorch_block){.address = f->pages[i].address,
                                                             .size = (end - i) * PAGE,
                                                             .stream = f->pages[i].stream,
                                                             .pool = f->pages[i].pool,
                                                             .device = device,
                                                             .expandable = true,
                                                             .small = small,
                                                             .inferred = !sure},
                                  err);
    }
    return rc;
}

int tp_pytorch_growing_at_start(const struct tp_pytorch *s, uint32_t device,
                                struct tp_pytorch_blocks *out, struct tp_err *err)
{
    struct page_search f = {.snapshot = s};
    f.seen.how = tp_reading_growth(s->reading, "pages");
    int rc = of_events(&f, device, err);
    if (rc == TP_OK)
        rc = of_the_end(&f, device, err);
    if (rc == TP_OK && f.count > 1)
        qsort(f.pages, f.count, sizeof *f.pages, by_address);
    if (rc == TP_OK)
        rc = add_stretches(&f, device, out, err);
    TP_GROW_END(&f.pages, &f.room, .budget = s->reading->budget);
    tp_id_map_release(&f.seen);
    return rc;
}
