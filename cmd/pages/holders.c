/* See holders.h. */
#include "cmd/pages/holders.h"

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
    tp_page_use_at(&w->use, list->blocks, list->head.blocks, w->low, w->high);
    w->covered = tp_listed_covered(page) > w->use.taken ? tp_listed_covered(page) : w->use.taken;
    return true;
}

/* Goes to the next page that is partly free. */
static bool next_partly_free(const struct tp_page_list *list, struct tp_page_walk *w)
{
    while (tp_page_walk_next(list, w))
        if (tp_page_is_partly_free(w))
            return true;
    return false;
}

/* ---- sharers ---- */

int tp_page_sharers_open(struct tp_page_sharers *s, const struct tp_page_list *list,
                         const struct tp_held_slot *slots, uint32_t groups, struct tp_err *err)
{
    size_t numbers = (size_t)groups + CLASSES + 1;
    *s = (struct tp_page_sharers){.list = list, .slots = slots, .groups = groups};
    s->seen = calloc(numbers, sizeof *s->seen);
    s->here = calloc(numbers, sizeof *s->here);
    if (s->seen && s->here)
        return TP_OK;
    tp_page_sharers_close(s);
    return tp_fail(err, TP_ENOMEM, "out of memory for the pages by site");
}

void tp_page_sharers_close(struct tp_page_sharers *s)
{
    free(s->seen);
    free(s->here);
    *s = (struct tp_page_sharers){.count = 0};
}

uint32_t tp_sharer_of(const struct tp_page_sharers *s, const struct tp_page_block *b)
{
    const struct tp_held_slot *slot = &s->slots[b->slot];
    if (slot->group)
        return slot->group - 1;
    return s->groups + (slot->sampled ? tp_site_size_class(b->requested) : CLASSES);
}

void tp_page_sharers_at(struct tp_page_sharers *s, const struct tp_page_walk *w)
{
    s->page++;
    s->count = 0;
    for (size_t i = w->use.first; i < w->use.end; i++) {
        const struct tp_page_block *b = &s->list->blocks[i];
        uint32_t number = tp_sharer_of(s, b);
        if (s->seen[number] == s->page)
            continue;
        s->seen[number] = s->page;
        s->here[s->count++] = (struct tp_page_sharer){number, b};
    }
}

/* ---- shares ---- */

struct sharing {
    struct tp_page_sharers sharers;
    struct tp_holders *out;
    struct tp_holder *of_group; /* groups, then those that are not known */
    /* by size class: what sampled blocks with a group hold, and those without one */
    double known[CLASSES], unknown[CLASSES];
    double known_bytes[CLASSES], unknown_bytes[CLASSES];
};

/* What stands for one byte of a class: itself, and what is not known of the class. */
static double weight(const double known[CLASSES], const double unknown[CLASSES], unsigned c)
{
    return known[c] > 0 ? 1 + unknown[c] / known[c] : 1;
}

static struct tp_holder *holder_of(const struct sharing *s, uint32_t number)
{
    return &s->of_group[tp_sharer_is_group(&s->sharers, number) ? number : s->sharers.groups];
}

static bool is_sampled(const struct sharing *s, const struct tp_page_block *b)
{
    return s->sharers.slots[b->slot].sampled;
}

static void count_share(struct sharing *s, const struct tp_page_sharer *sharer, double share)
{
    unsigned size_class = tp_site_size_class(sharer->block->requested);
    if (tp_sharer_is_class(&s->sharers, sharer->number))
        s->unknown[size_class] += share;
    else if (tp_sharer_is_group(&s->sharers, sharer->number) && is_sampled(s, sharer->block))
        s->known[size_class] += share;
}

static void add_share(struct sharing *s, const struct tp_page_sharer *sharer, double share)
{
    unsigned size_class = tp_site_size_class(sharer->block->requested);
    /* what a class holds without a group is given to the groups of that class */
    if (tp_sharer_is_class(&s->sharers, sharer->number) && s->known[size_class] > 0)
        return;
    struct tp_holder *h = holder_of(s, sharer->number);
    bool stands = tp_sharer_is_group(&s->sharers, sharer->number) && is_sampled(s, sharer->block);
    double stands_for = stands ? weight(s->known, s->unknown, size_class) : 1;
    h->partly_free += share * stands_for;
    h->pages += stands_for;
}

typedef void visit_share(struct sharing *s, const struct tp_page_sharer *sharer, double share);

/* Visits what shares each partly free page. */
static void each_share(struct sharing *s, visit_share *visit)
{
    struct tp_page_sharers *on = &s->sharers;
    struct tp_page_walk w = {0};
    while (next_partly_free(on->list, &w)) {
        tp_page_sharers_at(on, &w);
        for (size_t i = 0; i < on->count; i++)
            visit(s, &on->here[i], (double)(w.covered - w.use.taken) / (double)on->count);
    }
}

/* ---- blocks ---- */

static void count_block(struct sharing *s, const struct tp_page_block *b)
{
    bool known = s->sharers.slots[b->slot].group != 0;
    if (is_sampled(s, b))
        (known ? s->known_bytes : s->unknown_bytes)[tp_site_size_class(b->requested)] +=
            (double)b->requested;
}

static void add_block(struct sharing *s, const struct tp_page_block *b)
{
    const struct tp_held_slot *slot = &s->sharers.slots[b->slot];
    unsigned size_class = tp_site_size_class(b->requested);
    if (!slot->group && slot->sampled && s->known_bytes[size_class] > 0)
        return;
    struct tp_holder *h = holder_of(s, tp_sharer_of(&s->sharers, b));
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
    const struct tp_page_list *list = s->sharers.list;
    struct tp_page_walk w = {0};
    size_t next = 0;
    while (next_partly_free(list, &w)) {
        for (size_t i = w.use.first > next ? w.use.first : next; i < w.use.end; i++)
            visit(s, &list->blocks[i]);
        next = w.use.end > next ? w.use.end : next;
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
    while (next_partly_free(s->sharers.list, &w)) {
        s->out->pages++;
        s->out->partly_free += w.covered - w.use.taken;
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
    uint64_t every = s->sharers.list->head.every;
    each_share(s, count_share);
    each_share(s, add_share);
    each_block(s, count_block);
    each_block(s, add_block);
    count_pages(s);
    for (unsigned c = 0; c < CLASSES; c++)
        s->out->estimated |= s->known[c] > 0 && s->unknown[c] > 0;
    s->out->pages *= every;
    s->out->partly_free *= every;
    for (uint32_t g = 0; g <= s->sharers.groups; g++) {
        s->of_group[g].group = g < s->sharers.groups ? g : TP_HOLDER_UNKNOWN;
        scale_holder(&s->of_group[g], every, s->out->pages);
        if (s->of_group[g].partly_free > 0)
            s->out->rows[s->out->count++] = s->of_group[g];
    }
    qsort(s->out->rows, s->out->count, sizeof *s->out->rows, by_bytes);
}

int tp_holders_of(const struct tp_page_list *list, const struct tp_held_slot *slots,
                  uint32_t groups, struct tp_holders *out, struct tp_err *err)
{
    struct sharing s = {.out = out};
    *out = (struct tp_holders){.count = 0};
    int status = tp_page_sharers_open(&s.sharers, list, slots, groups, err);
    if (status)
        return status;
    out->rows = calloc((size_t)groups + 1, sizeof *out->rows);
    s.of_group = calloc((size_t)groups + 1, sizeof *s.of_group);
    if (out->rows && s.of_group)
        share(&s);
    else
        status = tp_fail(err, TP_ENOMEM, "out of memory for the pages by site");
    free(s.of_group);
    tp_page_sharers_close(&s.sharers);
    return status;
}

void tp_holders_release(struct tp_holders *h)
{
    free(h->rows);
    *h = (struct tp_holders){.count = 0};
}
