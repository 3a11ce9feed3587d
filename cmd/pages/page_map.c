/* See page_map.h. The size of a cell is found on the way: neighbours become one cell until few
 * enough are left, so no list is held a second time. */
#include "cmd/pages/page_map.h"

#include <stdlib.h>
#include <string.h>

static int no_room(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the map of pages");
}

/* ---- cells ---- */

struct map_layout {
    size_t most, count, fresh_count;
    unsigned shift;
    uint64_t *numbers, *fresh, *merged; /* most, most, and twice as many */
};

/* Cells of twice the size. */
static size_t coarser(uint64_t *numbers, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (!left || numbers[left - 1] != numbers[i] >> 1)
            numbers[left++] = numbers[i] >> 1;
    return left;
}

static void take_fresh(struct map_layout *l, const struct tp_page_list *list)
{
    l->fresh_count = 0;
    for (size_t i = 0; i < list->head.pages; i++) {
        uint64_t page = tp_listed_number(list->pages[i]);
        if (l->fresh_count && l->fresh[l->fresh_count - 1] == page >> l->shift)
            continue;
        while (l->fresh_count == l->most) {
            l->fresh_count = coarser(l->fresh, l->fresh_count);
            l->count = coarser(l->numbers, l->count);
            l->shift++;
        }
        if (!l->fresh_count || l->fresh[l->fresh_count - 1] != page >> l->shift)
            l->fresh[l->fresh_count++] = page >> l->shift;
    }
}

static void merge_fresh(struct map_layout *l)
{
    size_t all = 0, a = 0, b = 0;
    while (a < l->count || b < l->fresh_count) {
        bool old = b == l->fresh_count || (a < l->count && l->numbers[a] <= l->fresh[b]);
        uint64_t next = old ? l->numbers[a] : l->fresh[b];
        a += a < l->count && l->numbers[a] == next;
        b += b < l->fresh_count && l->fresh[b] == next;
        l->merged[all++] = next;
    }
    for (; all > l->most; l->shift++)
        all = coarser(l->merged, all);
    memcpy(l->numbers, l->merged, all * sizeof *l->numbers);
    l->count = all;
}

static size_t most_cells(size_t moments)
{
    size_t most = TP_MAP_CELLS_ALL / moments;
    most = most < TP_MAP_CELLS ? most : TP_MAP_CELLS;
    return most ? most : 1;
}

int tp_page_map_open(const struct tp_page_list *lists, size_t count, struct tp_page_map *out,
                     struct tp_err *err)
{
    struct map_layout l = {.most = most_cells(count)};
    *out = (struct tp_page_map){.page = lists[0].head.page, .moments = count};
    l.numbers = malloc(l.most * sizeof *l.numbers);
    l.fresh = malloc(l.most * sizeof *l.fresh);
    l.merged = malloc(2 * l.most * sizeof *l.merged);
    bool room = l.numbers && l.fresh && l.merged;
    for (size_t i = 0; room && i < count; i++) {
        take_fresh(&l, &lists[i]);
        merge_fresh(&l);
    }
    free(l.fresh);
    free(l.merged);
    out->numbers = l.numbers;
    out->count = l.count;
    out->shift = l.shift;
    out->cells = room ? calloc(count * l.count + 1, sizeof *out->cells) : NULL;
    for (size_t i = 0; out->cells && i < count * l.count; i++)
        out->cells[i].holder = TP_MAP_NONE;
    return out->cells ? TP_OK : no_room(err);
}

void tp_page_map_close(struct tp_page_map *m)
{
    free(m->numbers);
    free(m->cells);
    *m = (struct tp_page_map){.count = 0};
}

/* ---- a moment ---- */

/* Who holds what of the cell that is filled. */
struct map_filler {
    struct tp_page_sharers sharers;
    const uint8_t *ranks;
    double held[TP_MAP_NONE]; /* by rank */
};

/* Blocks of a size class, whose group would be known by chance, hold nothing beside others. */
static void share_page(struct map_filler *f, const struct tp_page_walk *w)
{
    struct tp_page_sharers *on = &f->sharers;
    size_t holders = 0;
    tp_page_sharers_at(on, w);
    for (size_t i = 0; i < on->count; i++)
        if (!tp_sharer_is_class(on, on->here[i].number))
            on->here[holders++] = on->here[i];
    double each = (double)(w->covered - w->use.taken) / (double)(holders ? holders : 1);
    if (!holders)
        f->held[TP_MAP_UNKNOWN] += each;
    for (size_t i = 0; i < holders; i++) {
        uint32_t number = on->here[i].number;
        f->held[tp_sharer_is_group(on, number) ? f->ranks[number] : TP_MAP_UNKNOWN] += each;
    }
}

/* The rank that holds most, TP_MAP_NONE where no page is partly free; empties the sums. */
static uint32_t take_holder(struct map_filler *f)
{
    uint32_t best = TP_MAP_NONE;
    for (uint32_t i = 0; i < TP_MAP_NONE; i++)
        if (f->held[i] > 0 && (best == TP_MAP_NONE || f->held[i] > f->held[best]))
            best = i;
    memset(f->held, 0, sizeof f->held);
    return best;
}

static void fill_cells(struct map_filler *f, const struct tp_page_map *m, struct tp_map_cell *cells)
{
    const struct tp_page_list *list = f->sharers.list;
    struct tp_page_walk w = {0};
    size_t at = 0;
    while (tp_page_walk_next(list, &w)) {
        uint64_t number = w.low / list->head.page >> m->shift;
        if (m->numbers[at] != number)
            cells[at].holder = take_holder(f);
        while (m->numbers[at] != number)
            at++;
        tp_page_parts_add(&cells[at].parts, w.high - w.low, w.use.live, w.use.taken, w.covered);
        if (tp_page_is_partly_free(&w))
            share_page(f, &w);
    }
    if (list->head.pages)
        cells[at].holder = take_holder(f);
}

int tp_page_map_fill(struct tp_page_map *m, size_t moment, const struct tp_page_list *list,
                     const struct tp_held_slot *slots, uint32_t groups, const uint8_t *ranks,
                     struct tp_err *err)
{
    struct map_filler f = {.ranks = ranks};
    m->every[moment] = list->head.every;
    int status = tp_page_sharers_open(&f.sharers, list, slots, groups, err);
    if (status)
        return status;
    fill_cells(&f, m, &m->cells[moment * m->count]);
    tp_page_sharers_close(&f.sharers);
    return TP_OK;
}
