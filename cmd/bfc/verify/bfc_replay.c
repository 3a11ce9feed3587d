/* See bfc_replay.h. Where the rules and the file differ, the difference is kept, and what the file
 * says is done, so that each event is judged by itself. A region lies where the file has it and has
 * the size that the fragmentation shows: that it is taken then, and at once, is compared. Known
 * weakness: what was in use or free at the start and is in no event is not on the instance, only in
 * the figures of the pool. */
#include "cmd/bfc/verify/bfc_replay.h"

#include "alloc/base/id_map.h"
#include "alloc/base/opt.h"
#include "alloc/sources/common/meta_heap.h"
#include "alloc/strategy.h"
#include "cmd/verify/recorded_source.h"
#include "traces/formats/xplane/xplane_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct tp_strategy tp_strategy_bfc;

struct tp_bfc_replay {
    const struct tp_xplane_event *events;
    size_t count;
    const struct tp_xplane_start *start;
    struct tp_verified *out;
    struct tp_source source;
    struct tp_account account;
    struct tp_meta_heap meta;
    struct tp_env env;
    void *st;
    struct tp_id_map bases; /* where free ranges of the start begin that served nothing yet */
    struct tp_id_map lost;  /* addresses whose chunks could not be placed */
    size_t next;            /* event */
    size_t growth;          /* the next one of the start's */
    uint64_t pool;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

static struct tp_recorded_source *source_of(struct tp_bfc_replay *p)
{
    return tp_recorded_source_of(&p->source);
}

/* Keeps a difference if it is the first one. */
static void differs(struct tp_bfc_replay *p, enum tp_verify_kind kind,
                    const struct tp_xplane_event *ev, uint64_t expected, uint64_t got)
{
    struct tp_verify_difference *d = &p->out->first;
    struct tp_bfc_free_chunk choices[TP_VERIFY_CHOICES];
    if (d->kind != TP_NO_DIFFERENCE)
        return;
    *d = (struct tp_verify_difference){
        .kind = kind, .event = p->next, .size = ev->requested, .expected = expected, .got = got};
    if (kind > TP_NEEDS_NONE)
        return;
    d->choice_count = tp_bfc_choices(p->st, ev->requested, 0, choices, TP_VERIFY_CHOICES);
    for (size_t i = 0; i < d->choice_count; i++)
        d->choices[i] = (struct tp_verify_choice){choices[i].addr, choices[i].size};
}

/* ---- the start ---- */

/* Remembers where the free bytes before a chunk begin, of which there may be none. */
static int note_base(struct tp_bfc_replay *p, uint64_t from, uint64_t to, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    return from < to ? tp_id_map_need(&p->bases, (int64_t)from, 0, &entry, err) : TP_OK;
}

static int place_range(struct tp_bfc_replay *p, const struct tp_xplane_range *r, struct tp_err *err)
{
    const struct tp_xplane_block *b = &p->start->blocks[r->first];
    struct tp_bfc_at *at = calloc(r->blocks + 1, sizeof *at);
    uint64_t end = r->base;
    int rc = at ? TP_OK : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < r->blocks; i++) {
        at[i] = (struct tp_bfc_at){b[i].addr, b[i].bytes, b[i].requested};
        rc = note_base(p, end, b[i].addr, err);
        end = b[i].addr + b[i].bytes;
    }
    if (rc == TP_OK)
        rc = note_base(p, end, r->base + r->size, err);
    if (rc == TP_OK) {
        const struct tp_xplane_event none = {.requested = r->size};
        rc = tp_bfc_place(p->st, &(struct tp_bfc_range){r->base, r->size, 0}, at, r->blocks);
        if (rc == TP_EINVAL) {
            differs(p, TP_START_UNPLACED, &none, r->base, 0);
            rc = TP_OK;
        } else if (rc != TP_OK) {
            rc = no_memory(err);
        }
    }
    free(at);
    return rc;
}

static int place_start(struct tp_bfc_replay *p, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < p->start->range_count; i++)
        rc = place_range(p, &p->start->ranges[i], err);
    p->out->start_segments = p->start->range_count;
    p->out->start_blocks = p->start->block_count;
    p->pool = p->start->pool_known ? p->start->pool : 0;
    return rc;
}

/* ---- regions ---- */

/* Announces the regions that the file takes before the next event. */
static int announce(struct tp_bfc_replay *p, struct tp_err *err)
{
    int rc = TP_OK;
    for (; rc == TP_OK && p->growth < p->start->growth_count &&
           p->start->growths[p->growth].event < p->next;
         p->growth++) {
        const struct tp_xplane_growth *g = &p->start->growths[p->growth];
        if (p->start->known != TP_XPLANE_NOTHING_THERE)
            tp_bfc_take_next(p->st, g->size);
        p->out->taken.all++;
        p->pool += p->start->pool_known ? g->size : 0;
        rc = tp_recorded_source_add(
            &p->source, &(struct tp_coming_range){.base = g->base, .size = g->size}, err);
    }
    return rc;
}

/* Regions that the file took and the rules did not: they are there from now on. */
static int place_unneeded(struct tp_bfc_replay *p, struct tp_err *err)
{
    struct tp_recorded_source *from = source_of(p);
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < from->count; i++) {
        const struct tp_bfc_range region = {from->coming[i].base, from->coming[i].size, 0};
        if (tp_bfc_place(p->st, &region, NULL, 0) == TP_ENOMEM)
            rc = no_memory(err);
    }
    from->count = 0;
    return rc;
}

/* ---- events ---- */

static int force(struct tp_bfc_replay *p, const struct tp_xplane_event *ev, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    const struct tp_bfc_at at = {ev->addr, ev->bytes, ev->requested};
    int rc = tp_bfc_force(p->st, &at);
    if (rc == TP_ENOMEM)
        return no_memory(err);
    return rc == TP_OK ? TP_OK : tp_id_map_need(&p->lost, (int64_t)ev->addr, 0, &entry, err);
}

/* Takes back what the rules did, and does what the file says. */
static int correct(struct tp_bfc_replay *p, const struct tp_xplane_event *ev, tp_addr got,
                   bool invented, struct tp_err *err)
{
    const struct tp_req rq = {.size = ev->requested, .align = 1};
    const struct tp_recorded_source *from = source_of(p);
    if (got)
        tp_strategy_bfc.free(p->st, NULL, got, &rq);
    if (invented)
        tp_bfc_drop(p->st, from->invented.base, from->invented.size);
    int rc = place_unneeded(p, err);
    return rc == TP_OK ? force(p, ev, err) : rc;
}

static enum tp_verify_kind kind_of(const struct tp_recorded_source *from, tp_addr got,
                                   bool invented)
{
    if (!got)
        return TP_NOT_SERVED;
    if (invented)
        return TP_NEEDS_SEGMENT;
    return from->count ? TP_NEEDS_NONE : TP_OTHER_ADDRESS;
}

static void count_base(struct tp_bfc_replay *p, const struct tp_xplane_event *ev, bool taken)
{
    struct tp_id_entry *first = tp_id_map_find(&p->bases, (int64_t)ev->addr);
    p->out->with_base += taken || first;
    if (first)
        tp_id_map_remove(&p->bases, first);
}

static uint64_t chunk_bytes(struct tp_bfc_replay *p, tp_addr addr)
{
    struct tp_bfc_at at = {0};
    return tp_bfc_is_live(p->st, addr, &at) ? at.size : 0;
}

static int see_alloc(struct tp_bfc_replay *p, const struct tp_xplane_event *ev, struct tp_err *err)
{
    struct tp_recorded_source *from = source_of(p);
    struct tp_verified *out = p->out;
    struct tp_block b = {0};
    const struct tp_req rq = {.size = ev->requested, .align = 1};
    uint64_t given = from->given, inventions = from->inventions;
    int rc = tp_strategy_bfc.alloc(p->st, NULL, &rq, &b);
    if (rc == TP_ENOMEM)
        return no_memory(err);
    bool invented = from->inventions > inventions;
    bool there = rc == TP_OK && !invented && b.addr == ev->addr;
    bool same = there && chunk_bytes(p, b.addr) == ev->bytes;
    out->addresses.all++;
    out->sizes.all++;
    out->addresses.good += there;
    out->sizes.good += same;
    out->taken.good += from->given - given;
    if (!there)
        differs(p, kind_of(from, rc == TP_OK ? b.addr : 0, invented), ev, ev->addr,
                invented || rc != TP_OK ? 0 : b.addr);
    else if (!same)
        differs(p, TP_OTHER_SIZE, ev, ev->bytes, chunk_bytes(p, b.addr));
    if (!same)
        return correct(p, ev, rc == TP_OK ? b.addr : 0, invented, err);
    count_base(p, ev, from->given > given);
    if (from->count)
        differs(p, TP_NEEDS_NONE, ev, 0, b.addr);
    return place_unneeded(p, err);
}

static int see_free(struct tp_bfc_replay *p, const struct tp_xplane_event *ev, struct tp_err *err)
{
    const struct tp_req rq = {.size = ev->requested, .align = 1};
    int rc = tp_strategy_bfc.free(p->st, NULL, ev->addr, &rq);
    if (rc == TP_OK)
        return TP_OK;
    if (rc == TP_ENOMEM)
        return no_memory(err);
    struct tp_id_entry *lost = tp_id_map_find(&p->lost, (int64_t)ev->addr);
    if (lost) {
        tp_id_map_remove(&p->lost, lost);
        return TP_OK;
    }
    p->out->not_live++;
    differs(p, TP_NOT_LIVE, ev, ev->addr, 0);
    return TP_OK;
}

/* The fragmentation behind an event, in parts of a million. */
static void see_fragmentation(struct tp_bfc_replay *p, const struct tp_xplane_event *ev)
{
    const struct tp_bfc_bytes bytes = tp_bfc_bytes_of(p->st);
    uint64_t largest = bytes.largest;
    if (isnan(ev->fragmentation) || (!p->pool && ev->fragmentation > 0))
        return;
    /* without the pool: all that is free is one chunk, however large */
    bool good = bytes.pool - bytes.in_use == largest;
    double is = 0;
    if (p->pool) {
        largest = largest > p->start->elsewhere ? largest : p->start->elsewhere;
        good = tp_xplane_says(ev, p->pool, largest);
        double free = p->pool > ev->in_use ? (double)(p->pool - ev->in_use) : 1;
        is = (free - (double)largest) / free;
    }
    p->out->fragmentation.all++;
    p->out->fragmentation.good += good;
    if (!good)
        differs(p, TP_OTHER_FRAGMENTATION, ev, (uint64_t)(ev->fragmentation * 1e6 + 0.5),
                is > 0 ? (uint64_t)(is * 1e6 + 0.5) : 0);
}

int tp_bfc_until(struct tp_bfc_replay *p, uint64_t event, struct tp_err *err)
{
    int rc = TP_OK;
    while (rc == TP_OK && p->next < event && p->next < p->count) {
        const struct tp_xplane_event *ev = &p->events[p->next++];
        p->out->events++;
        rc = announce(p, err);
        if (rc == TP_OK)
            rc = ev->frees ? see_free(p, ev, err) : see_alloc(p, ev, err);
        if (rc == TP_OK)
            see_fragmentation(p, ev);
    }
    return rc;
}

/* ---- the instance ---- */

static int start_instance(struct tp_bfc_replay *p, const struct tp_bfc_rules *rules,
                          struct tp_err *err)
{
    const struct tp_source_cfg cfg = {.account = &p->account, .kind = TP_KIND_DEVICE};
    int rc = tp_source_open(&p->source, &tp_source_recorded, &cfg, err);
    if (rc != TP_OK)
        return rc;
    p->meta.account = &p->account;
    p->env = (struct tp_env){
        .source = &p->source, .account = &p->account, .meta = &p->meta, .streams = 1};
    void *st = calloc(1, tp_strategy_bfc.state_size);
    void *defaults = calloc(1, tp_strategy_bfc.opts_size);
    rc = st && defaults ? tp_opts_defaults(tp_strategy_bfc.options, defaults, err) : no_memory(err);
    if (rc == TP_OK)
        rc = tp_strategy_bfc.init(st, &p->env, defaults, err);
    if (defaults)
        tp_opts_release(tp_strategy_bfc.options, defaults);
    free(defaults);
    if (rc != TP_OK) {
        free(st);
        return rc;
    }
    p->st = st;
    rc = tp_bfc_follow(st);
    *tp_bfc_rules_of(st) = *rules;
    return rc;
}

static enum tp_verify_start_known known_as(const struct tp_xplane_start *s)
{
    static const enum tp_verify_start_known known[] = {[TP_XPLANE_NOTHING_THERE] = TP_START_EMPTY,
                                                       [TP_XPLANE_NOTHING_LIVE] = TP_START_ALL_FREE,
                                                       [TP_XPLANE_ONE_CHUNK] = TP_START_ONE_CHUNK,
                                                       [TP_XPLANE_INFERRED] = TP_START_INFERRED};
    return known[s->known];
}

int tp_bfc_start_of(const struct tp_bfc_file *f, uint32_t allocator,
                    const struct tp_xplane_start **out, struct tp_err *err)
{
    struct tp_bfc_begun *b = &f->begun[allocator];
    int rc = b->known ? TP_OK : tp_xplane_start(&f->x, allocator, &b->start, err);
    b->known |= rc == TP_OK;
    *out = b->known ? &b->start : NULL;
    if (!b->known)
        tp_xplane_start_release(&b->start);
    return rc;
}

int tp_bfc_begin(const struct tp_bfc_file *f, uint32_t allocator, struct tp_verified *out,
                 struct tp_bfc_replay **replay, struct tp_err *err)
{
    const struct tp_xplane *x = &f->x;
    const struct tp_xplane_allocator *a = &x->allocators[allocator];
    const struct tp_xplane_start *start = NULL;
    struct tp_bfc_rules rules = f->rules;
    int rc = tp_bfc_start_of(f, allocator, &start, err);
    struct tp_bfc_replay *p = *replay = rc == TP_OK ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return rc == TP_OK ? no_memory(err) : rc;
    *p = (struct tp_bfc_replay){
        .events = &x->events[a->first], .count = a->count, .start = start, .out = out};
    p->bases.how = p->lost.how = tp_reading_growth(x->reading, "addresses");
    if (start->known == TP_XPLANE_NOTHING_THERE) {
        rules.limit = a->limit;
        rules.grows &= !start->whole;
    }
    out->start_known = known_as(start);
    out->start_lasting = start->unseen;
    out->least_reserved = !start->pool_known;
    out->reserved_how = start->assumed;
    out->breaks = a->breaks;
    rc = start_instance(p, &rules, err);
    return rc == TP_OK ? place_start(p, err) : rc;
}

void *tp_bfc_instance(struct tp_bfc_replay *p)
{
    return p->st;
}

uint64_t tp_bfc_pool(const struct tp_bfc_replay *p)
{
    return p->pool;
}

void tp_bfc_stop(struct tp_bfc_replay *p)
{
    if (!p)
        return;
    if (p->st)
        tp_strategy_bfc.fini(p->st);
    free(p->st);
    tp_source_close(&p->source);
    tp_id_map_release(&p->bases);
    tp_id_map_release(&p->lost);
    free(p);
}
