/* See site_groups.h. */
#include "traces/places/site_groups.h"

#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

const char *const tp_sites_by_words[] = {"line", "annotation", "age", "size", "metadata", NULL};

const char *const tp_site_rest_words[] = {[TP_BY_PLACE] = "not known",
                                          [TP_BY_PHASE] = "in no phase",
                                          [TP_BY_AGE] = "not known",
                                          [TP_BY_SIZE] = "not known",
                                          [TP_BY_METADATA] = "without metadata"};

enum { CLASSES = TP_SITE_SIZE_CLASSES };

struct grouping {
    const struct tp_held_list *list;
    const struct tp_sites_cfg *cfg;
    struct tp_sites *out;
    double live[CLASSES], placed[CLASSES]; /* bytes of a class: all, and those with a place */
    uint32_t *of_text, *of_stack;          /* groups + 1; 0: not known yet */
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for live memory by site");
}

/* ---- groups ---- */

static int group_named(struct grouping *g, const char *name, uint32_t *group, struct tp_err *err)
{
    struct tp_sites *out = g->out;
    int rc = tp_texts_need(&out->names, name, strlen(name), group, err);
    if (rc != TP_OK || *group < out->group_count)
        return rc;
    rc = TP_GROW(&out->groups, &out->group_room, out->group_count + 1, err, .what = "sites");
    if (rc == TP_OK)
        out->groups[out->group_count++] = (struct tp_site_group){.youngest = UINT64_MAX};
    return rc;
}

static void add_to(struct grouping *g, uint32_t group, const struct tp_held_block *b, double bytes)
{
    struct tp_site_group *to = &g->out->groups[group];
    if (g->cfg->of_block)
        g->cfg->of_block[b - g->list->blocks] = group + 1;
    to->bytes += bytes;
    to->blocks++;
    g->out->unknown -= bytes;
    if (b->from_start) {
        g->out->before -= bytes;
        return;
    }
    to->youngest = b->age < to->youngest ? b->age : to->youngest;
    to->oldest = b->age > to->oldest ? b->age : to->oldest;
}

/* ---- by place ---- */

/* The number + 1 of the last stack among the places that tell rows apart. */
static uint32_t outermost(const struct tp_place_table *t, unsigned depth, uint32_t stack)
{
    for (unsigned i = 1; i < depth; i++) {
        uint32_t caller = tp_place_table_stack(t, stack - 1)->caller;
        if (!caller)
            break;
        stack = caller;
    }
    return stack;
}

void tp_site_name(const struct tp_place_table *t, const struct tp_place_item *item, unsigned depth,
                  struct tp_str *to)
{
    uint32_t stack = item->stack, last = stack ? outermost(t, depth, stack) : 0;
    if (!stack)
        tp_str_add(to, "%s", tp_place_table_get(t, item->text));
    for (bool more = stack != 0; more; stack = tp_place_table_stack(t, stack - 1)->caller) {
        more = stack != last;
        tp_str_item(to, " < ", "%s",
                    tp_place_table_get(t, tp_place_table_stack(t, stack - 1)->text));
    }
}

static int group_of_place(struct grouping *g, const struct tp_place_item *item, uint32_t *group,
                          struct tp_err *err)
{
    uint32_t *known = item->stack ? &g->of_stack[item->stack - 1] : &g->of_text[item->text];
    struct tp_str name = {0};
    if (*known) {
        *group = *known - 1;
        return TP_OK;
    }
    tp_site_name(g->out->table, item, g->cfg->depth, &name);
    int rc = tp_str_status(&name, err);
    if (rc == TP_OK)
        rc = group_named(g, tp_str_text(&name), group, err);
    tp_str_drop(&name);
    if (rc == TP_OK)
        *known = *group + 1;
    return rc;
}

/* Visits each block that has a place, with it. */
typedef int take_block(struct grouping *g, const struct tp_held_block *b,
                       const struct tp_place_item *item, struct tp_err *err);

static int each_placed(struct grouping *g, take_block *take, struct tp_err *err)
{
    struct tp_place_cursor cursor = {.table = g->out->table};
    const struct tp_place_item *item = NULL;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < g->list->count; i++) {
        const struct tp_held_block *b = &g->list->blocks[i];
        rc = b->place ? tp_place_cursor_look(&cursor, b->place, &item, err) : TP_OK;
        if (rc == TP_OK && b->place && !item)
            break;
        if (rc == TP_OK && b->place && item->event == b->place)
            rc = take(g, b, item, err);
    }
    return rc;
}

static int count_placed(struct grouping *g, const struct tp_held_block *b,
                        const struct tp_place_item *item, struct tp_err *err)
{
    (void)item, (void)err;
    if (!tp_place_sampled(&g->out->sampling, b->size))
        return TP_OK;
    g->placed[tp_site_size_class(b->size)] += (double)b->size;
    g->out->estimated = true;
    return TP_OK;
}

static int add_placed(struct grouping *g, const struct tp_held_block *b,
                      const struct tp_place_item *item, struct tp_err *err)
{
    unsigned size_class = tp_site_size_class(b->size);
    double stands_for = tp_place_sampled(&g->out->sampling, b->size)
                            ? g->live[size_class] / g->placed[size_class]
                            : 1;
    double bytes = (double)b->size * stands_for;
    uint32_t group = 0;
    int rc = group_of_place(g, item, &group, err);
    if (rc != TP_OK)
        return rc;
    add_to(g, group, b, bytes);
    if (item->stack)
        g->out->stack_bytes[item->stack - 1] += bytes;
    else
        g->out->text_bytes[item->text] += bytes;
    return TP_OK;
}

static int gather(struct grouping *g, int (*stop)(struct tp_err *err), struct tp_err *err)
{
    struct tp_sites *out = g->out;
    const struct tp_held_list *l = g->list;
    uint64_t *events = calloc(l->count + 1, sizeof *events);
    size_t count = 0;
    if (!events)
        return no_memory(err);
    for (size_t i = 0; i < l->count; i++)
        if (l->blocks[i].place)
            events[count++] = l->blocks[i].place;
    bool deep = g->cfg->depth || g->cfg->stacks;
    int rc = (deep ? tp_place_table_gather_stacks : tp_place_table_gather)(l->places, events, count,
                                                                           stop, &out->table, err);
    free(events);
    if (rc != TP_OK)
        return rc;
    out->sampling = tp_place_table_sampling(out->table);
    uint32_t texts = tp_place_table_texts(out->table);
    uint32_t stacks = tp_place_table_stacks(out->table);
    out->text_bytes = calloc(texts + 1u, sizeof *out->text_bytes);
    out->stack_bytes = calloc(stacks + 1u, sizeof *out->stack_bytes);
    g->of_text = calloc(texts + 1u, sizeof *g->of_text);
    g->of_stack = calloc(stacks + 1u, sizeof *g->of_stack);
    bool all = out->text_bytes && out->stack_bytes && g->of_text && g->of_stack;
    return all ? TP_OK : no_memory(err);
}

static int group_by_place(struct grouping *g, int (*stop)(struct tp_err *err), struct tp_err *err)
{
    const struct tp_held_list *l = g->list;
    int rc = gather(g, stop, err);
    for (size_t i = 0; rc == TP_OK && i < l->count; i++)
        if (l->blocks[i].place && tp_place_sampled(&g->out->sampling, l->blocks[i].size))
            g->live[tp_site_size_class(l->blocks[i].size)] += (double)l->blocks[i].size;
    if (rc == TP_OK)
        rc = each_placed(g, count_placed, err);
    return rc == TP_OK ? each_placed(g, add_placed, err) : rc;
}

/* ---- callers ---- */

/* The callers that most bytes come from, the largest first. */
static void keep_largest(const struct tp_sites *out, const double *by_caller, struct tp_site *row)
{
    uint32_t texts = tp_place_table_texts(out->table);
    struct tp_site_caller *list = row->largest;
    for (uint32_t t = 0; t < texts; t++) {
        unsigned at = row->largest_count;
        if (!(by_caller[t] > 0))
            continue;
        for (; at && list[at - 1].bytes < by_caller[t]; at--)
            if (at < TP_SITE_LARGEST)
                list[at] = list[at - 1];
        if (at < TP_SITE_LARGEST)
            list[at] = (struct tp_site_caller){tp_place_table_get(out->table, t), by_caller[t]};
        row->largest_count += row->largest_count < TP_SITE_LARGEST;
    }
}

/* The caller of most of what a group's stacks hold; these become the stacks that called. Each stack
 * is followed outwards by one place at a time. */
static void find_callers(const struct grouping *g, uint32_t group, struct tp_site *row,
                         double *by_caller, uint32_t *at)
{
    const struct tp_place_table *table = g->out->table;
    uint32_t stacks = tp_place_table_stacks(table), texts = tp_place_table_texts(table);
    for (uint32_t s = 0; s < stacks; s++)
        at[s] = g->of_stack[s] == group + 1 ? outermost(table, g->cfg->depth, s + 1) : 0;
    for (unsigned depth = 0; depth < TP_SITE_CALLERS; depth++) {
        uint32_t most = 0;
        memset(by_caller, 0, texts * sizeof *by_caller);
        for (uint32_t s = 0; s < stacks; s++) {
            at[s] = at[s] ? tp_place_table_stack(table, at[s] - 1)->caller : 0;
            if (at[s])
                by_caller[tp_place_table_stack(table, at[s] - 1)->text] += g->out->stack_bytes[s];
        }
        if (!depth)
            keep_largest(g->out, by_caller, row);
        for (uint32_t t = 0; t < texts; t++)
            most = by_caller[t] > by_caller[most] ? t : most;
        if (!(by_caller[most] > row->bytes / 2))
            break;
        row->callers[row->caller_count++] =
            (struct tp_site_caller){tp_place_table_get(table, most), by_caller[most]};
        for (uint32_t s = 0; s < stacks; s++)
            if (at[s] && tp_place_table_stack(table, at[s] - 1)->text != most)
                at[s] = 0;
    }
}

/* ---- by phase, age, size and metadata ---- */

static const char *const age_names[] = {"under 1 ms old", "under 10 ms old", "under 100 ms old",
                                        "under 1 s old",  "under 10 s old",  "under 100 s old",
                                        "older"};
static const char *const age_names_of_events[] = {"of the last 10 events",
                                                  "of the last 100 events",
                                                  "of the last 1,000 events",
                                                  "of the last 10,000 events",
                                                  "of the last 100,000 events",
                                                  "of the last 1,000,000 events",
                                                  "older"};

static const char from_before[] = "initial heap";

static const char *name_of_age(const struct grouping *g, const struct tp_held_block *b)
{
    const char *const *names = g->list->timed ? age_names : age_names_of_events;
    uint64_t limit = g->list->timed ? 1000000 : 10;
    size_t i = 0, last = sizeof age_names / sizeof *age_names - 1;
    for (; i < last && b->age >= limit; limit *= 10)
        i++;
    return b->from_start ? from_before : names[i];
}

struct tp_text tp_site_size_name(uint64_t size)
{
    unsigned size_class = tp_site_size_class(size);
    uint64_t low = UINT64_C(1) << (size_class - 1);
    return tp_text_of("%s to %s", tp_bytes(low, false).s, tp_bytes(2 * low, false).s);
}

static int group_by_kind(struct grouping *g, struct tp_err *err)
{
    const struct tp_held_list *l = g->list;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < l->count; i++) {
        const struct tp_held_block *b = &l->blocks[i];
        struct tp_text size = tp_site_size_name(b->size);
        const char *name = size.s;
        uint32_t group = 0;
        if (g->cfg->by == TP_BY_AGE)
            name = name_of_age(g, b);
        else if (g->cfg->by == TP_BY_PHASE)
            name = l->phase && !b->from_start ? l->phase(l->ctx, b->phase) : NULL;
        else if (g->cfg->by == TP_BY_METADATA)
            name = b->label ? l->places->label_text(l->places->ctx, b->label) : NULL;
        rc = name ? group_named(g, name, &group, err) : TP_OK;
        if (rc == TP_OK && name)
            add_to(g, group, b, (double)b->size);
    }
    return rc;
}

/* ---- rows ---- */

/* Where sampled blocks stand for others, what is left over is not exactly that of some blocks. */
static double whole(double bytes)
{
    return bytes >= 0.5 ? bytes : 0;
}

unsigned tp_site_rests(const struct tp_sites *h, struct tp_site_rest rests[TP_SITE_RESTS])
{
    double before = h->before < h->unknown ? whole(h->before) : whole(h->unknown);
    double other = whole(h->unknown - before);
    unsigned count = 0;
    if (before > 0)
        rests[count++] = (struct tp_site_rest){from_before, before};
    if (other > 0)
        rests[count++] = (struct tp_site_rest){tp_site_rest_words[h->by], other};
    return count;
}

struct ranked {
    double bytes;
    uint32_t group;
};

static int by_bytes(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static int make_rows(struct grouping *g, struct tp_err *err)
{
    struct tp_sites *out = g->out;
    uint32_t texts = out->table ? tp_place_table_texts(out->table) : 0;
    uint32_t stacks = out->table ? tp_place_table_stacks(out->table) : 0;
    struct ranked *list = calloc(out->group_count + 1, sizeof *list);
    double *by_caller = calloc(texts + 1u, sizeof *by_caller);
    uint32_t *at = calloc(stacks + 1u, sizeof *at);
    int rc = list && by_caller && at ? TP_OK : no_memory(err);
    for (uint32_t i = 0; rc == TP_OK && i < out->group_count; i++)
        list[out->places++] = (struct ranked){out->groups[i].bytes, i};
    if (rc == TP_OK)
        qsort(list, out->places, sizeof *list, by_bytes);
    for (uint32_t i = 0; rc == TP_OK && i < out->places && i < TP_SITES_MOST; i++) {
        const struct tp_site_group *from = &out->groups[list[i].group];
        struct tp_site *row = &out->rows[out->count++];
        *row = (struct tp_site){.place = tp_texts_get(&out->names, list[i].group),
                                .bytes = from->bytes,
                                .blocks = from->blocks,
                                .youngest = from->youngest,
                                .oldest = from->oldest};
        if (stacks)
            find_callers(g, list[i].group, row, by_caller, at);
    }
    free(list);
    free(by_caller);
    free(at);
    return rc;
}

int tp_sites_of(const struct tp_held_list *list, const struct tp_sites_cfg *cfg,
                int (*stop)(struct tp_err *err), struct tp_sites **out, struct tp_err *err)
{
    struct grouping g = {.list = list, .cfg = cfg, .out = calloc(1, sizeof *g.out)};
    *out = NULL;
    if (!g.out)
        return no_memory(err);
    g.out->by = cfg->by;
    g.out->at = cfg->at;
    g.out->depth = cfg->depth;
    g.out->timed = list->timed;
    g.out->blocks = list->count;
    for (size_t i = 0; i < list->count; i++) {
        g.out->bytes += list->blocks[i].size;
        g.out->before += list->blocks[i].from_start ? (double)list->blocks[i].size : 0;
    }
    g.out->unknown = (double)g.out->bytes;
    int rc = cfg->by == TP_BY_PLACE ? group_by_place(&g, stop, err) : group_by_kind(&g, err);
    if (rc == TP_OK)
        rc = make_rows(&g, err);
    free(g.of_text);
    free(g.of_stack);
    if (rc == TP_OK && g.out->count)
        *out = g.out;
    else
        tp_sites_free(g.out);
    return rc;
}

void tp_sites_free(struct tp_sites *h)
{
    if (!h)
        return;
    tp_place_table_free(h->table);
    tp_texts_release(&h->names);
    TP_GROW_END(&h->groups, &h->group_room, .what = NULL);
    free(h->stack_bytes);
    free(h->text_bytes);
    free(h);
}
