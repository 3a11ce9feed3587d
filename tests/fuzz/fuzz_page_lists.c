/* Fuzz target: lists of pages and blocks, which a malloc library that is replayed may write over.
 * Whatever the bytes are, what is read is in order, its pages hold what they hold, and shares add
 * up.
 */
#include "cmd/pages/page_map.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 512, GROUPS = 7 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct tp_held_slot slots[SLOTS];
static uint8_t ranks[GROUPS];

static void make_slots(void)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] =
            (struct tp_held_slot){.group = i % (GROUPS + 1), .sampled = i % 3 == 0, .age = i};
    for (uint8_t i = 0; i < GROUPS; i++)
        ranks[i] = i < TP_MAP_HOLDERS ? i : TP_MAP_OTHER;
}

static void check_pages(const struct tp_page_list *l)
{
    struct tp_page_walk w = {0};
    uint64_t before = 0;
    while (tp_page_walk_next(l, &w)) {
        must(w.low >= before && w.high - w.low == l->head.page);
        must(w.use.live <= w.use.taken && w.use.taken <= w.covered && w.covered <= l->head.page);
        before = w.high;
    }
}

static void check_shares(const struct tp_page_list *l)
{
    struct tp_holders h;
    double sum = 0;
    must(tp_holders_of(l, slots, GROUPS, &h, NULL) == TP_OK);
    for (size_t i = 0; i < h.count; i++) {
        must(h.rows[i].partly_free > 0 && h.rows[i].pages > 0);
        sum += h.rows[i].partly_free;
    }
    must(fabs(sum - (double)h.partly_free) <= 1 + 1e-9 * (double)h.partly_free);
    tp_holders_release(&h);
}

static void check_map(const struct tp_page_lists *l)
{
    struct tp_page_map m;
    must(tp_page_map_open(l->lists, l->count, &m, NULL) == TP_OK);
    for (size_t i = 0; i < l->count; i++)
        must(tp_page_map_fill(&m, i, &l->lists[i], slots, GROUPS, ranks, NULL) == TP_OK);
    tp_page_map_close(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_page_lists l;
    int fd = memfd_create("lists", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    must(tp_page_lists_open(fd, SLOTS, &l, NULL) == TP_OK);
    close(fd);
    make_slots();
    for (size_t i = 0; i < l.count; i++) {
        check_pages(&l.lists[i]);
        check_shares(&l.lists[i]);
    }
    if (l.count)
        check_map(&l);
    tp_page_lists_close(&l);
    return 0;
}
