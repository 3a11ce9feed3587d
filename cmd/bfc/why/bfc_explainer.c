/* The explainer of captures of BFC (cmd/why/explainer.h). A capture has no failed requests: what is
 * explained is who holds the memory, and how the free bytes are cut up. Bytes in use at the start
 * that are never freed are shown as one block, where the replay of the trace has it. */
#include "alloc/base/id_map.h"
#include "cmd/bfc/verify/bfc_replay.h"
#include "cmd/why/explainer.h"
#include "cmd/why/why_held.h"
#include "cmd/why/why_layout.h"
#include "cmd/why/why_moment.h"
#include "cmd/why/why_verdict.h"
#include "traces/places/place_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct tp_certifier tp_certifier_bfc;

static const struct tp_bfc_file *capture_of(const void *state)
{
    return state;
}

static bool is_pressed(const void *state)
{
    (void)state;
    return false;
}

static const char *silence(const void *state)
{
    return capture_of(state)->x.count ? NULL : "no memory events";
}

/* ---- events ---- */

static uint64_t count_events(const void *state, uint32_t device)
{
    return capture_of(state)->x.allocators[device].count;
}

/* Bytes of the regions that were taken for an event. *next: the region to look at. */
static uint64_t taken_for(const struct tp_xplane_start *s, size_t event, size_t *next)
{
    uint64_t taken = 0;
    for (; *next < s->growth_count && s->growths[*next].event <= event; ++*next)
        taken += s->growths[*next].size;
    return taken;
}

static int walk(const void *state, uint32_t device, uint64_t last, tp_why_each_fn *each, void *ctx,
                struct tp_err *err)
{
    const struct tp_xplane *x = &capture_of(state)->x;
    const struct tp_xplane_allocator *a = &x->allocators[device];
    const struct tp_xplane_start *start = NULL;
    size_t next = 0;
    int rc = tp_bfc_start_of(state, device, &start, err);
    for (uint64_t i = 0; rc == TP_OK && i < last && i < a->count; i++) {
        const struct tp_xplane_event *ev = &x->events[a->first + i];
        rc = each(ctx,
                  &(struct tp_why_event){.action = ev->frees ? TP_WHY_FREES : TP_WHY_ALLOCS,
                                         .size = ev->requested,
                                         .taken = taken_for(start, i, &next),
                                         .time = ev->time_ps,
                                         .from = i + 1,
                                         .has_time = true},
                  err);
    }
    return rc;
}

static uint64_t ns_between(int64_t from, int64_t to)
{
    int64_t since = 0;
    return __builtin_sub_overflow(to, from, &since) || since < 0 ? 0 : (uint64_t)since / 1000;
}

/* ---- the heap ---- */

struct chunk_taking {
    struct tp_why_layout *layout;
    struct tp_xplane_unseen unseen;
    struct tp_err *err;
};

static int add_chunk(const struct chunk_taking *c, uint64_t base, uint64_t size,
                     const struct tp_bfc_at *chunk)
{
    return tp_why_layout_add(c->layout, &(struct tp_why_span){.base = base, .size = size},
                             &(struct tp_why_space){.base = 0},
                             &(struct tp_why_block){chunk->addr, chunk->size, chunk->requested},
                             c->err);
}

static int add_unseen(const struct chunk_taking *c, uint64_t size)
{
    const struct tp_xplane_unseen *u = &c->unseen;
    const struct tp_bfc_at at = {u->at, u->bytes, u->requested};
    return u->requested ? add_chunk(c, u->at, size, &at) : TP_OK;
}

static int add_unseen_region(const struct chunk_taking *c)
{
    const struct tp_xplane_unseen *u = &c->unseen;
    uint64_t at = u->at + u->bytes, last = u->region - u->bytes;
    uint64_t region = u->region + u->chunks * u->chunk;
    int rc = add_unseen(c, region);
    for (uint64_t i = 0; rc == TP_OK && i < u->chunks; i++, at += u->chunk)
        rc = add_chunk(c, u->at, region, &(struct tp_bfc_at){at, u->chunk, 0});
    return rc == TP_OK && last ? add_chunk(c, u->at, region, &(struct tp_bfc_at){at, last, 0}) : rc;
}

static int take_chunk(void *ctx, const struct tp_bfc_range *region, const struct tp_bfc_at *chunk)
{
    const struct chunk_taking *c = ctx;
    const struct tp_xplane_unseen *u = &c->unseen;
    bool behind = u->requested && u->before && region->base == u->at + u->bytes;
    uint64_t base = behind ? u->at : region->base;
    uint64_t size = behind ? region->size + u->bytes : region->size;
    int rc = behind && chunk->addr == region->base ? add_unseen(c, size) : TP_OK;
    return rc == TP_OK ? add_chunk(c, base, size, chunk) : rc;
}

static int heap_at(void *state, uint32_t device, const struct tp_why_moment *m,
                   struct tp_verified *verified, struct tp_why_layout *out, struct tp_err *err)
{
    struct chunk_taking taking = {.layout = out, .err = err};
    const struct tp_xplane_start *start = NULL;
    struct tp_bfc_replay *replay = NULL;
    int rc = tp_bfc_begin(state, device, verified, &replay, err);
    if (rc == TP_OK)
        rc = tp_bfc_until(replay, m->event, err);
    if (rc == TP_OK)
        rc = tp_bfc_start_of(state, device, &start, err);
    if (rc == TP_OK) {
        taking.unseen = tp_xplane_unseen(start);
        rc = tp_bfc_look(tp_bfc_instance(replay), take_chunk, &taking);
    }
    if (rc == TP_OK && !taking.unseen.before)
        rc = add_unseen_region(&taking);
    tp_bfc_stop(replay);
    return rc;
}

/* ---- live chunks ---- */

struct births {
    const struct tp_xplane *x;
    struct tp_texts *names; /* of steps, by their numbers */
    const struct tp_xplane_event *events;
    const struct tp_why_moment *moment;
    struct tp_id_map at;    /* addresses of live chunks; the index is that of their event */
    struct tp_id_map steps; /* ids of steps; the index is their number, from 0 */
    struct tp_place_table *table;
    struct tp_why_places *places;
    struct tp_why_held *out;
};

static int open_places(void *state, struct tp_why_places *out, struct tp_err *err)
{
    struct tp_place_table *table = NULL;
    (void)state;
    *out = (struct tp_why_places){.count = 0};
    int rc = tp_place_table_of(&out->places, &table, err);
    out->from = table;
    return rc;
}

/* Steps are counted, as their ids are numbers at random. */
static int number_step(struct births *b, int64_t id, uint32_t *number, struct tp_err *err)
{
    char name[24];
    uint32_t text = 0;
    int rc = tp_id_map_number(&b->steps, id, number, err);
    if (rc != TP_OK || *number < b->names->count)
        return rc;
    snprintf(name, sizeof name, "step %" PRIu32, *number + 1);
    return tp_texts_need(b->names, name, strlen(name), &text, err);
}

static int follow(struct births *b, struct tp_err *err)
{
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < b->moment->event; i++) {
        const struct tp_xplane_event *ev = &b->events[i];
        struct tp_id_entry *entry = tp_id_map_find(&b->at, (int64_t)ev->addr);
        uint32_t step = 0;
        if (ev->step)
            rc = number_step(b, ev->step, &step, err);
        if (rc == TP_OK && ev->frees && entry)
            tp_id_map_remove(&b->at, entry);
        else if (rc == TP_OK && !ev->frees && entry)
            entry->index = (uint32_t)i;
        else if (rc == TP_OK && !ev->frees)
            rc = tp_id_map_put(&b->at, (int64_t)ev->addr, (uint32_t)i, err);
    }
    return rc;
}

/* Adds the place of an event, the operation and the scope around it; NULL: there is none. */
static int add_place(struct births *b, const struct tp_xplane_event *ev, uint64_t *number,
                     struct tp_err *err)
{
    uint32_t stack = 0;
    int rc = ev ? tp_xplane_place(b->x, ev, b->table, &stack, err) : TP_OK;
    *number = ++b->places->count;
    return rc == TP_OK ? tp_place_table_set_stack(b->table, *number, stack, err) : rc;
}

static uint32_t step_of(const struct births *b, const struct tp_xplane_event *ev)
{
    const struct tp_id_entry *step = ev->step ? tp_id_map_find(&b->steps, ev->step) : NULL;
    return step ? step->index : UINT32_MAX;
}

static int hold(struct births *b, const struct tp_why_block *at, struct tp_err *err)
{
    const struct tp_id_entry *entry = tp_id_map_find(&b->at, (int64_t)at->addr);
    const struct tp_xplane_event *ev = entry ? &b->events[entry->index] : NULL;
    struct tp_held_list *l = &b->out->list;
    struct tp_held_block held = {.size = at->requested, .from_start = !ev, .phase = UINT32_MAX};
    int rc = TP_READ_GROW(b->x->reading, &l->blocks, &b->out->room, l->count + 1, "blocks", err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(b->x->reading, &b->out->born, &b->out->born_room, l->count + 1, "blocks",
                          err);
    if (rc == TP_OK)
        rc = add_place(b, ev, &held.place, err);
    if (rc != TP_OK)
        return rc;
    if (ev) {
        held.age = ns_between(ev->time_ps, b->moment->time);
        held.phase = step_of(b, ev);
    }
    b->out->born[l->count] = ev ? (uint64_t)entry->index + 1 : 0;
    l->blocks[l->count++] = held;
    return TP_OK;
}

static const char *step_name(const void *ctx, uint32_t phase)
{
    const struct tp_bfc_file *f = ctx;
    return phase < f->steps.count ? tp_texts_get(&f->steps, phase) : NULL;
}

static int held_at(void *state, uint32_t device, const struct tp_why_moment *m,
                   const struct tp_why_layout *l, struct tp_why_places *places,
                   struct tp_why_held *out, struct tp_err *err)
{
    struct tp_bfc_file *f = state;
    const struct tp_xplane *x = &f->x;
    struct births b = {.x = x,
                       .names = &f->steps,
                       .events = &x->events[x->allocators[device].first],
                       .moment = m,
                       .table = places->from,
                       .places = places,
                       .out = out};
    f->steps.how = tp_reading_growth(x->reading, "steps");
    b.at.how = b.steps.how = tp_reading_growth(x->reading, "addresses");
    int rc = follow(&b, err);
    for (size_t i = 0; rc == TP_OK && i < l->count; i++)
        if (l->blocks[i].requested)
            rc = hold(&b, &l->blocks[i], err);
    if (rc == TP_OK)
        rc = add_place(&b, m->event ? &b.events[m->event - 1] : NULL, &out->event, err);
    out->list.timed = true;
    out->list.places = &places->places;
    out->list.phase = b.steps.used ? step_name : NULL;
    out->list.ctx = state;
    tp_id_map_release(&b.at);
    tp_id_map_release(&b.steps);
    return rc;
}

/* ---- words ---- */

static const char *const meanings[TP_WHY_VERDICTS] = {
    [TP_WHY_NO_REQUEST] = "Captures have no failed requests. Free memory is reserved by the "
                          "allocator and used by no tensor."};

static const char terms[] =
    "<b>reserved</b>: memory that TensorFlow or JAX holds from the GPU. It allocates "
    "<b>regions</b> and splits them into <b>chunks</b>, one for each buffer.<br>\n<b>live "
    "block</b>: a chunk in use.<br>\n<b>rounding</b>: bytes of live chunks beyond the requested "
    "ones.<br>\n<b>free block</b>: reserved but not allocated; it serves only requests that are "
    "not larger.<br>\n<b>unused segment</b>: a region without live chunks.";

const struct tp_explainer tp_explainer_bfc = {
    .certifier = &tp_certifier_bfc,
    .capture = "profiler capture",
    .terms = terms,
    .meanings = meanings,
    .is_pressed = is_pressed,
    .silence = silence,
    .events = count_events,
    .walk = walk,
    .ns_between = ns_between,
    .open_places = open_places,
    .heap = heap_at,
    .held = held_at,
};
