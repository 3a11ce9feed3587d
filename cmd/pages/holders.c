/* See holders.h. */
#include "cmd/pages/holders.h"

#include "traces/places/site_groups.h"

#include <math.h>
#include <stdlib.h>

enum { CLASSES = TP_SITE_SIZE_CLASSES };

bool tp_page_walk_next(const struct tp_page_list *list, struct tp_page_walk *w)
{
    if (w->page == list->head.pages)
        return false;
    tp_listed_page page = list->pages[w->page++];
    w->low = tp_listed_number(page) * list->head.page;
    w->high = w->low + list->head.page;
    w->live = w->taken = 0;
    while (w->block < list->head.blocks &&
           list->blocks[w->block].addr + list->blocks[w->block].allocated <= w->low)
        w->block++;
    w->first = w->end = w->block;
    for (; w->end < list->head.blocks && list->blocks[w->end].addr < w->high; w->end++) {
        const struct tp_page_block *b = &list->blocks[w->end];
        w->live += tp_overlap(b->addr, b->addr + b->requested, w->low, w->high);
        w->taken += tp_overlap(b->addr, b->addr + b->allocated, w->low, w->high);
    }
    w->covered = tp_listed_covered(page) > w->taken ? tp_listed_covered(page) : w->taken;
    return true;
}

/* ---- shares ---- */

struct sharing {
    const struct tp_page_list *list;
    const struct tp_held_slot *slots;
    struct tp_holders *out;
    uint32_t groups;
    struct tp_holder *of_group; /* groups, then those that are not known */
    uint64_t *seen;             /* the last page of each group, from 1; then of each class */
    uint64_t page;
    uint32_t *here; /* what shares this page: groups, and behind them classes */
    size_t count;
    /* by size class: what sampled blocks with a group hold, and those without one */
    double known[CLASSES], unknown[CLASSES];
    double known_bytes[CLASSES], unknown_bytes[CLASSES];
    unsigned *class_here; /* of the first block of each that shares */
    bool *sampled_here;
};

/* The number by which a block shares a page: its group, or else its size class. */
static uint32_t sharer_of(const struct sharing *s, const struct tp_page_block *b)
{
    const struct tp_held_slot *slot = &s->slots[b->slot];
    if (slot->group)
        return slot->group - 1;
    return s->groups + (slot->sampled ? tp_site_size_class(b->requested) : CLASSES);
}

static void add_sharer(struct sharing *s, const struct tp_page_block *b)
{
    uint32_t number = sharer_of(s, b);
    if (s->seen[number] == s->page)
        return;
    s->seen[number] = s->page;
    s->class_here[s->count] = tp_site_size_class(b->requested);
    s->sampled_here[s->count] = s->slots[b->slot].sampled;
    s->here[s->count++] = number;
}

/* What stands for one byte of a class: itself, and what is not known of the class. */
static double weight(const double known[CLASSES], const double unknown[CLASSES], unsigned c)
{
    return known[c] > 0 ? 1 + unknown[c] / known[c] : 1;
}

static struct tp_holder *holder_of(const struct sharing *s, uint32_t number)
{
    return &s->of_group[number < s->groups ? number : s->groups];
}

static void count_share(struct sharing *s, size_t i, double share)
{
    if (s->here[i] < s->groups && s->sampled_here[i])
        s->known[s->class_here[i]] += share;
    else if (s->here[i] >= s->groups && s->here[i] < s->groups + CLASSES)
        s->unknown[s->class_here[i]] += share;
}

/* Whether what a class holds without a group is given to the groups of that class. */
static bool is_given(const struct sharing *s, uint32_t number)
{
    return number >= s->groups && number < s->groups + CLASSES && s->known[number - s->groups] > 0;
}

static void add_share(struct sharing *s, size_t i, double share)
{
    uint32_t number = s->here[i];
    if (is_given(s, number))
        return;
    struct tp_holder *h = holder_of(s, number);
    bool stands = number < s->groups && s->sampled_here[i];
    double stands_for = stands ? weight(s->known, s->unknown, s->class_here[i]) : 1;
    h->partly_free += share * stands_for;
    h->pages += stands_for;
}

/* Visits the partly free pages. */
static void each_page(struct sharing *s, void (*visit)(struct sharing *s, size_t i, double share))
{
    struct tp_page_walk w = {0};
    while (tp_page_walk_next(s->list, &w)) {
        s->page++;
        if (!w.taken || w.covered == w.taken)
            continue;
        s->count = 0;
        for (size_t i = w.first; i < w.end; i++)
            add_sharer(s, &s->list->blocks[i]);
        for (size_t i = 0; i < s->count; i++)
            visit(s, i, (double)(w.covered - w.taken) / (double)s->count);
    }
}

/* ---- blocks ---- */

static void count_block(struct sharing *s, const struct tp_page_block *b)
{
    const struct tp_held_slot *slot = &s->slots[b->slot];
    if (slot->sampled)
        (slot->group ? s->known_bytes : s->unknown_bytes)[tp_site_size_class(b->requested)] +=
            (double)b->requested;
}

static void add_block(struct sharing *s, const struct tp_page_block *b)
{
    const struct tp_held_slot *slot = &s->slots[b->slot];
    unsigned size_class = tp_site_size_class(b->requested);
    if (!slot->group && slot->sampled && s->known_bytes[size_class] > 0)
        return;
    struct tp_holder *h = holder_of(s, sharer_of(s, b));
    double stands_for =
        slot->group && slot->sampled ? weight(s->known_bytes, s->unknown_bytes, size_class) : 1;
    h->live += (double)b->requested * stands_for;
    h->blocks += stands_for;
    if (!slot->from_start && slot->age > h->oldest)
        h->oldest = slot->age;
}

/* Visits each live block that has a part of itself on a partly free page, once. */
static void each_block(struct sharing *s,
                       void (*visit)(struct sharing *s, const struct tp_page_block *b))
{
    struct tp_page_walk w = {0};
    size_t next = 0;
    while (tp_page_walk_next(s->list, &w)) {
        if (!w.taken || w.covered == w.taken)
            continue;
        for (size_t i = w.first > next ? w.first : next; i < w.end; i++) {
            visit(s, &s->list->blocks[i]);
            next = i + 1;
        }
    }
}

/* ---- all of it ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct tp_holder *x = a, *y = b;
    if (x->partly_free != y->partly_free)
        return x->partly_free > y->partly_free ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static void count_pages(struct sharing *s)
{
    struct tp_page_walk w = {0};
    while (tp_page_walk_next(s->list, &w))
        if (w.taken && w.covered > w.taken) {
            s->out->pages++;
            s->out->partly_free += w.covered - w.taken;
        }
}

/* Of a sample of the pages: each stands for so many, and of `most` in all. A page is counted again
 * for every size class that its blocks stand for. */
static void scale_holder(struct tp_holder *h, uint64_t every, uint64_t most)
{
    h->partly_free *= (double)every;
    h->live *= (double)every;
    h->blocks *= (double)every;
    h->pages = fmin(h->pages * (double)every, (double)most);
}

static void share(struct sharing *s)
{
    each_page(s, count_share);
    each_page(s, add_share);
    each_block(s, count_block);
    each_block(s, add_block);
    count_pages(s);
    for (unsigned c = 0; c < CLASSES; c++)
        s->out->estimated |= s->known[c] > 0 && s->unknown[c] > 0;
    s->out->pages *= s->list->head.every;
    s->out->partly_free *= s->list->head.every;
    for (uint32_t g = 0; g <= s->groups; g++) {
        s->of_group[g].group = g < s->groups ? g : TP_HOLDER_UNKNOWN;
        scale_holder(&s->of_group[g], s->list->head.every, s->out->pages);
        if (s->of_group[g].partly_free > 0)
            s->out->rows[s->out->count++] = s->of_group[g];
    }
    qsort(s->out->rows, s->out->count, sizeof *s->out->rows, by_bytes);
}

int tp_holders_of(const struct tp_page_list *list, const struct tp_held_slot *slots,
                  uint32_t groups, struct tp_holders *out, struct tp_err *err)
{
    size_t numbers = (size_t)groups + CLASSES + 1;
    struct sharing s = {.list = list, .slots = slots, .out = out, .groups = groups};
    *out = (struct tp_holders){.rows = calloc((size_t)groups + 1, sizeof *out->rows)};
    s.of_group = calloc((size_t)groups + 1, sizeof *s.of_group);
    s.seen = calloc(numbers, sizeof *s.seen);
    s.here = calloc(numbers, sizeof *s.here);
    s.class_here = calloc(numbers, sizeof *s.class_here);
    s.sampled_here = calloc(numbers, sizeof *s.sampled_here);
    bool all = out->rows && s.of_group && s.seen && s.here && s.class_here && s.sampled_here;
    if (all)
        share(&s);
    free(s.of_group);
    free(s.seen);
    free(s.here);
    free(s.class_here);
    free(s.sampled_here);
    return all ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory for the pages by site");
}

void tp_holders_release(struct tp_holders *h)
{
    free(h->rows);
    *h = (struct tp_holders){.count = 0};
}
