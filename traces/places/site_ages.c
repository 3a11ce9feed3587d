/* See site_ages.h. One pass over the program knows for each live block when it began and whose it
 * is. Live bytes at the evenly spaced moments are sums of what has changed since the one before. */
#include "traces/places/site_ages.h"

#include "alloc/base/ascending.h"
#include "alloc/base/str.h"
#include "alloc/numbers/histogram.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = TP_SITE_SIZE_CLASSES, FEW = 256 };

#define NONE UINT32_MAX

/* The block of a slot. */
struct aged_block {
    uint64_t begin;  /* a time or an event */
    uint64_t size;   /* 0: it is not live */
    uint32_t group;  /* of its site; 0: no name */
    uint32_t next;   /* slot in the list of those that a reset looks at */
    bool listed;     /* it is in that list */
    bool from_start; /* of the initial heap */
    bool sampled;    /* it has a place by chance, or would have: without one it is in no row */
};

struct age_group {
    uint64_t objects, bytes;
    uint64_t live, oldest;
    uint64_t followed, freed; /* bytes of live blocks: all, and those freed behind the moment */
    double live_bytes;
    bool aged;                       /* `oldest` is known */
    uint64_t change[TP_AGE_MOMENTS]; /* of live bytes since the moment before, modulo 2^64 */
    /* owned: lifetimes, up to FEW of them; then `many` */
    uint64_t *few;
    size_t few_count, few_room;
    struct tp_histogram *many;
    struct tp_site_events *wanted; /* its allocations are; NULL: nobody asks */
};

struct aging {
    const struct tp_trace *trace;
    const struct tp_sites_cfg *cfg;
    struct tp_site_ages *out;
    uint16_t device;
    struct age_group *groups; /* of no name, and by the number of their name + 1 */
    size_t group_count, group_room;
    struct aged_block *blocks;  /* by slot */
    uint32_t listed;            /* first slot of the list; NONE: it is empty */
    struct tp_place_table *own; /* places that had to be read from the file */
    struct tp_place_cursor cursor;
    uint64_t before;              /* added to an event it is the one of the table */
    uint32_t *of_text, *of_stack; /* groups by number in the table; 0: not known yet */
    uint32_t of_size[CLASSES];
    uint64_t events; /* up to the moment */
    struct tp_moment at;
    uint64_t insn;                    /* instructions so far, without those of the initial heap */
    bool behind;                      /* the moment is over: only its live blocks are followed */
    uint64_t moments[TP_AGE_MOMENTS]; /* evenly spaced events, the last one at the moment */
    uint64_t event, now;              /* of the last instruction; `now` in the unit of lifetimes */
    unsigned moment;                  /* the next one, at or behind this event */
    uint32_t mark;
    struct tp_site_events *wanted;
    size_t wanted_count;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for lifetimes by site");
}

/* ---- the rule ---- */

enum { HALF = TP_AGE_MOMENTS / 2, RISES = HALF * 3 / 4, FALL = 16, GROWTH = 8 };

bool tp_only_grows(const uint64_t live[TP_AGE_MOMENTS])
{
    uint64_t most = 0, end = live[TP_AGE_MOMENTS - 1], middle = live[HALF - 1];
    int rises = 0;
    for (int i = 0; i < TP_AGE_MOMENTS; i++) {
        if (live[i] < most - most / FALL)
            return false;
        most = live[i] > most ? live[i] : most;
        rises += i >= HALF && live[i] > live[i - 1];
    }
    return rises >= RISES && end > middle && end - middle >= end / GROWTH;
}

/* ---- names ---- */

static int group_named(struct aging *a, const char *name, uint32_t *group, struct tp_err *err)
{
    uint32_t number = 0;
    int rc = tp_texts_need(&a->out->names, name, strlen(name), &number, err);
    *group = number + 1;
    if (rc != TP_OK || *group < a->group_count)
        return rc;
    rc = TP_GROW(&a->groups, &a->group_room, a->group_count + 1, err, .what = "sites");
    if (rc != TP_OK)
        return rc;
    struct age_group *g = &a->groups[a->group_count++];
    *g = (struct age_group){0};
    for (size_t i = 0; i < a->wanted_count; i++)
        if (!strcmp(a->wanted[i].name, name))
            g->wanted = &a->wanted[i];
    return TP_OK;
}

static int group_of_place(struct aging *a, uint32_t *group, struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    struct tp_str name = {0};
    uint64_t event = a->event + a->before;
    int rc = a->event ? tp_place_cursor_look(&a->cursor, event, &item, err) : TP_OK;
    if (rc != TP_OK || !item || item->event != event)
        return rc;
    uint32_t *known = item->stack ? &a->of_stack[item->stack - 1] : &a->of_text[item->text];
    if (!*known) {
        tp_site_name(a->cursor.table, item, a->cfg->depth, &name);
        rc = tp_str_status(&name, err);
        if (rc == TP_OK)
            rc = group_named(a, tp_str_text(&name), known, err);
        tp_str_drop(&name);
    }
    *group = *known;
    return rc;
}

static int group_of_size(struct aging *a, uint64_t size, uint32_t *group, struct tp_err *err)
{
    uint32_t *known = &a->of_size[tp_site_size_class(size)];
    int rc = *known ? TP_OK : group_named(a, tp_site_size_name(size).s, known, err);
    *group = *known;
    return rc;
}

static int group_of(struct aging *a, const struct tp_insn *in, uint32_t *group, struct tp_err *err)
{
    const struct tp_places *places = &a->trace->places;
    const char *name = NULL;
    uint32_t label = 0;
    int rc = TP_OK;
    *group = 0;
    if (a->cfg->by == TP_BY_PLACE)
        return group_of_place(a, group, err);
    if (a->cfg->by == TP_BY_SIZE)
        return group_of_size(a, in->size, group, err);
    if (a->cfg->by == TP_BY_PHASE)
        name = a->event ? tp_mark_phase(a->trace->program, a->mark) : NULL;
    else if (a->event)
        rc = places->label(places->ctx, a->event + places->before, &label, err);
    if (rc == TP_OK && label)
        name = places->label_text(places->ctx, label);
    return rc == TP_OK && name ? group_named(a, name, group, err) : rc;
}

/* ---- objects ---- */

static int add_lifetime(struct age_group *g, uint64_t lifetime, struct tp_err *err)
{
    if (!g->many && g->few_count < FEW) {
        int rc = TP_GROW(&g->few, &g->few_room, g->few_count + 1, err, .what = "lifetimes");
        if (rc == TP_OK)
            g->few[g->few_count++] = lifetime;
        return rc;
    }
    if (!g->many) {
        g->many = calloc(1, sizeof *g->many);
        if (!g->many)
            return no_memory(err);
        for (size_t i = 0; i < g->few_count; i++)
            tp_hist_add(g->many, g->few[i]);
        TP_GROW_END(&g->few, &g->few_room, .what = NULL);
        g->few = NULL;
    }
    tp_hist_add(g->many, lifetime);
    return TP_OK;
}

/* What a block stands for where each of them counts for itself or for as many as were left out;
 * 0: it is in no row. */
static uint64_t bytes_of(const struct aging *a, const struct aged_block *b)
{
    uint64_t bytes = b->size;
    if (!b->sampled)
        return b->size;
    if (!b->group)
        return 0;
    return __builtin_mul_overflow(b->size, a->out->sampling.every, &bytes) ? b->size : bytes;
}

static int end_block(struct aging *a, struct aged_block *b, struct tp_err *err)
{
    struct age_group *g = &a->groups[b->group];
    uint64_t bytes = bytes_of(a, b);
    b->size = 0;
    if (a->behind) {
        g->freed += bytes;
        return TP_OK;
    }
    g->change[a->moment] -= bytes;
    return bytes && !b->from_start ? add_lifetime(g, a->now - b->begin, err) : TP_OK;
}

static int end_all(struct aging *a, struct tp_err *err)
{
    int rc = TP_OK;
    for (; rc == TP_OK && a->listed != NONE; a->listed = a->blocks[a->listed].next) {
        rc = end_block(a, &a->blocks[a->listed], err);
        a->blocks[a->listed].listed = false;
    }
    return rc;
}

static int begin_block(struct aging *a, const struct tp_insn *in, struct tp_err *err)
{
    struct aged_block *b = &a->blocks[in->slot];
    uint32_t group = 0;
    int rc = group_of(a, in, &group, err);
    if (rc != TP_OK)
        return rc;
    b->begin = a->now;
    b->size = in->size;
    b->group = group;
    b->from_start = !a->event;
    b->sampled =
        a->cfg->by == TP_BY_PLACE && a->event && tp_place_sampled(&a->out->sampling, in->size);
    if (!b->listed) {
        b->listed = true;
        b->next = a->listed;
        a->listed = in->slot;
    }
    struct age_group *g = &a->groups[group];
    uint64_t bytes = bytes_of(a, b);
    g->change[a->moment] += bytes;
    g->objects += bytes && !b->from_start;
    g->bytes += b->from_start ? 0 : bytes;
    struct tp_site_events *w = a->event ? g->wanted : NULL;
    if (!w)
        return TP_OK;
    rc = TP_GROW(&w->events, &w->room, w->count + 1, err, .what = "allocations of a site");
    if (rc == TP_OK)
        w->events[w->count++] = a->event;
    return rc;
}

/* Bytes of live sampled blocks by size class: all, and those with a place, which stand for them as
 * in site_groups.h. */
struct live_classes {
    double all[CLASSES], placed[CLASSES];
};

static void sum_classes(const struct aging *a, uint32_t slots, struct live_classes *c)
{
    for (uint32_t i = 0; i < slots; i++) {
        const struct aged_block *b = &a->blocks[i];
        if (!b->size || !b->sampled)
            continue;
        c->all[tp_site_size_class(b->size)] += (double)b->size;
        if (b->group)
            c->placed[tp_site_size_class(b->size)] += (double)b->size;
    }
}

static int count_live(struct aging *a, uint32_t slots, struct tp_err *err)
{
    struct live_classes c = {{0}, {0}};
    int rc = TP_OK;
    sum_classes(a, slots, &c);
    for (uint32_t i = 0; rc == TP_OK && i < slots; i++) {
        const struct aged_block *b = &a->blocks[i];
        struct age_group *g = &a->groups[b->group];
        uint64_t age = a->now - b->begin;
        unsigned size_class = tp_site_size_class(b->size);
        if (!b->size || (b->sampled && !b->group))
            continue;
        g->live++;
        g->followed += bytes_of(a, b);
        g->live_bytes +=
            (double)b->size * (b->sampled ? c.all[size_class] / c.placed[size_class] : 1);
        if (b->from_start)
            continue;
        g->oldest = g->aged && g->oldest > age ? g->oldest : age;
        g->aged = true;
        rc = add_lifetime(g, age, err);
    }
    return rc;
}

/* From here on blocks end, and none begins. One that is reallocated has not been freed. */
static int pass_moment(struct aging *a, struct tp_err *err)
{
    a->behind = true;
    return count_live(a, tp_program_facts(a->trace->program)->slots, err);
}

static int follow_insn(struct aging *a, const struct tp_insn *in, struct tp_err *err)
{
    if (in->op == TP_RESET)
        return end_all(a, err);
    return in->op == TP_FREE ? end_block(a, &a->blocks[in->slot], err) : TP_OK;
}

static int take_insn(struct aging *a, const struct tp_insn *in, struct tp_err *err)
{
    bool begins = tp_op_is(in->op, TP_ASKS);
    int rc = TP_OK;
    if (in->op == TP_RESET)
        return end_all(a, err);
    if (in->op == TP_FREE || (begins && tp_op_is(in->op, TP_IS_LIVE)))
        rc = end_block(a, &a->blocks[in->slot], err);
    return rc == TP_OK && begins ? begin_block(a, in, err) : rc;
}

static int take_step(void *ctx, const struct tp_moment_step *step, struct tp_err *err)
{
    struct aging *a = ctx;
    const struct tp_insn *in = step->insn;
    bool after = step->event && (a->insn > a->at.insn || step->event > a->at.event);
    int rc = after && !a->behind ? pass_moment(a, err) : TP_OK;
    a->insn += step->event != 0;
    a->event = step->event;
    a->now = a->out->timed ? step->time : step->event;
    while (a->moment < TP_AGE_MOMENTS - 1 && a->event > a->moments[a->moment])
        a->moment++;
    if (in->op == TP_MARK)
        a->mark = in->slot;
    if (rc != TP_OK || (in->device != a->device && in->device != TP_ALL_DEVICES))
        return rc;
    return a->behind ? follow_insn(a, in, err) : take_insn(a, in, err);
}

/* ---- rows ---- */

static uint64_t median_of(struct age_group *g)
{
    if (g->many)
        return tp_hist_quantile(g->many, 0.5);
    if (!g->few_count)
        return TP_AGE_NONE;
    qsort(g->few, g->few_count, sizeof *g->few, tp_by_number);
    return g->few[(g->few_count - 1) / 2];
}

static bool only_grows(const struct age_group *g)
{
    uint64_t live[TP_AGE_MOMENTS], sum = 0;
    for (int i = 0; i < TP_AGE_MOMENTS; i++)
        live[i] = sum += g->change[i];
    return tp_only_grows(live);
}

/* In the measure of live_bytes. */
static uint64_t freed_of(const struct age_group *g)
{
    return g->freed ? (uint64_t)(g->live_bytes * (double)g->freed / (double)g->followed + 0.5) : 0;
}

static int by_live(const void *a, const void *b)
{
    const struct tp_site_age *x = a, *y = b;
    if (x->live_bytes != y->live_bytes)
        return x->live_bytes > y->live_bytes ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int make_rows(struct aging *a, struct tp_err *err)
{
    struct tp_site_ages *out = a->out;
    out->rows = calloc(a->group_count, sizeof *out->rows);
    if (!out->rows)
        return no_memory(err);
    for (uint32_t i = 0; i < a->group_count; i++) {
        struct age_group *g = &a->groups[i];
        if (!g->objects && !g->live)
            continue;
        out->rows[out->count++] =
            (struct tp_site_age){.name = i ? tp_texts_get(&out->names, i - 1) : NULL,
                                 .objects = g->objects,
                                 .bytes = g->bytes,
                                 .median = median_of(g),
                                 .live = g->live,
                                 .live_bytes = (uint64_t)(g->live_bytes + 0.5),
                                 .oldest = g->aged ? g->oldest : TP_AGE_NONE,
                                 .freed = freed_of(g),
                                 .grows = only_grows(g)};
    }
    qsort(out->rows, out->count, sizeof *out->rows, by_live);
    return TP_OK;
}

const struct tp_site_age *tp_site_age_of(const struct tp_site_ages *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        const char *of = a->rows[i].name;
        if (of == name || (of && name && !strcmp(of, name)))
            return &a->rows[i];
    }
    return NULL;
}

/* ---- all ---- */

/* Places without a table behind them are read from the file. */
static int open_places(struct aging *a, int (*stop)(struct tp_err *err), struct tp_err *err)
{
    const struct tp_places *places = &a->trace->places;
    const struct tp_place_table *table = tp_places_table(places);
    int rc = TP_OK;
    if (a->cfg->by != TP_BY_PLACE)
        return TP_OK;
    a->before = table ? places->before : 0;
    if (!table)
        rc = (a->cfg->depth ? tp_place_table_gather_stacks
                            : tp_place_table_gather)(places, NULL, a->events, stop, &a->own, err);
    if (rc != TP_OK)
        return rc;
    table = table ? table : a->own;
    a->cursor.table = table;
    a->out->sampling = tp_place_table_sampling(table);
    a->out->estimated = a->out->sampling.every > 1;
    a->of_text = calloc(tp_place_table_texts(table) + 1u, sizeof *a->of_text);
    a->of_stack = calloc(tp_place_table_stacks(table) + 1u, sizeof *a->of_stack);
    return a->of_text && a->of_stack ? TP_OK : no_memory(err);
}

static void release(struct aging *a)
{
    for (size_t i = 0; i < a->group_count; i++) {
        TP_GROW_END(&a->groups[i].few, &a->groups[i].few_room, .what = NULL);
        free(a->groups[i].many);
    }
    TP_GROW_END(&a->groups, &a->group_room, .what = NULL);
    tp_place_table_free(a->own);
    free(a->of_text);
    free(a->of_stack);
    free(a->blocks);
}

static void space_moments(struct aging *a)
{
    for (uint64_t i = 0; i < TP_AGE_MOMENTS; i++)
        a->moments[i] = a->events / TP_AGE_MOMENTS * (i + 1) +
                        a->events % TP_AGE_MOMENTS * (i + 1) / TP_AGE_MOMENTS;
}

static bool has_names(const struct tp_trace *t, enum tp_sites_by by)
{
    if (by == TP_BY_PLACE)
        return t->places.find != NULL;
    return by == TP_BY_METADATA ? t->places.label != NULL : by != TP_BY_AGE;
}

void tp_site_events_release(struct tp_site_events *e)
{
    TP_GROW_END(&e->events, &e->room, .what = NULL);
    *e = (struct tp_site_events){.name = NULL};
}

int tp_site_ages_find(const struct tp_trace *t, uint16_t device, const struct tp_sites_cfg *cfg,
                      struct tp_site_events *wanted, size_t wanted_count,
                      int (*stop)(struct tp_err *err), struct tp_site_ages **out,
                      struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    const struct tp_moment moment = tp_moment_of(t->program, device, cfg->at);
    struct aging a = {.trace = t,
                      .cfg = cfg,
                      .device = device,
                      .listed = NONE,
                      .at = moment,
                      .events = moment.event < f->events ? moment.event : f->events,
                      .mark = UINT32_MAX,
                      .wanted = wanted,
                      .wanted_count = wanted_count};
    *out = NULL;
    if (!has_names(t, cfg->by))
        return TP_OK;
    a.out = calloc(1, sizeof *a.out);
    a.blocks = calloc(f->slots + (size_t)1, sizeof *a.blocks);
    int rc = a.out && a.blocks ? TP_OK : no_memory(err);
    if (rc == TP_OK)
        rc = TP_GROW(&a.groups, &a.group_room, 1, err, .what = "sites");
    if (rc == TP_OK) {
        a.groups[a.group_count++] = (struct age_group){0};
        a.out->by = cfg->by;
        a.out->at = cfg->at;
        a.out->depth = cfg->depth;
        a.out->timed = f->time_known;
        space_moments(&a);
        rc = open_places(&a, stop, err);
    }
    if (rc == TP_OK)
        rc = tp_moment_walk(t->program, (struct tp_moment){UINT64_MAX, UINT64_MAX}, take_step, &a,
                            stop, err);
    if (rc == TP_OK && !a.behind)
        rc = pass_moment(&a, err);
    if (rc == TP_OK)
        rc = make_rows(&a, err);
    if (rc == TP_OK && a.group_count > 1)
        *out = a.out;
    else
        tp_site_ages_free(a.out);
    release(&a);
    return rc;
}

void tp_site_ages_free(struct tp_site_ages *a)
{
    if (!a)
        return;
    tp_texts_release(&a->names);
    free(a->rows);
    free(a);
}
