/* See verify.h. Known weakness: that the rules would have given the same segments back when memory
 * was short is not compared, only that those which the file gives back are wholly free: the file
 * does not say whether the program or the allocator did it. That new segments grow, or do so no
 * more, shows only where the next memory is taken. */
#include "cmd/pytorch/verify/verify.h"

#include "alloc/sources/common/meta_heap.h"
#include "alloc/strategies/torch/torch_place.h"
#include "alloc/strategy.h"
#include "cmd/pytorch/verify/verify_heap.h"
#include "cmd/verify/recorded_source.h"
#include "traces/formats/pytorch/pytorch_frame.h"
#include "traces/formats/pytorch/pytorch_heap.h"

#include <stdlib.h>

extern const struct tp_strategy tp_strategy_torch;

/* The driver's ranges begin at multiples of this at least, whatever rule is broken. */
#define BASE_GRAIN 512

struct verifying {
    struct tp_verify_heap heap;
    struct tp_id_map streams;
    struct tp_id_map lost; /* addresses whose blocks could not be placed */
    struct tp_source source;
    struct tp_account account;
    struct tp_meta_heap meta;
    struct tp_env env;
    void *st;
    uint64_t event;
    struct tp_torch_rules rules; /* as the recording began */
};

struct tp_verify_replay {
    struct verifying v;
    struct tp_spill_cursor events; /* those that are not replayed yet */
};

static struct tp_recorded_source *source_of(struct verifying *v)
{
    return tp_recorded_source_of(&v->source);
}

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

static void differs(struct verifying *v, enum tp_verify_kind kind,
                    const struct tp_pytorch_event *ev, tp_addr got)
{
    struct tp_torch_free choices[TP_VERIFY_CHOICES];
    struct tp_verify_difference d = {.kind = kind,
                                     .event = v->event,
                                     .size = ev->size,
                                     .stream = ev->stream,
                                     .expected = ev->address,
                                     .got = got};
    uint16_t stream = 0;
    if (v->heap.out->first.kind != TP_NO_DIFFERENCE)
        return;
    if (kind <= TP_NEEDS_NONE && !tp_verify_stream(&v->streams, ev->stream, &stream, NULL))
        d.choice_count = tp_torch_choices(v->st, ev->size, stream, choices, TP_VERIFY_CHOICES);
    for (size_t i = 0; i < d.choice_count; i++)
        d.choices[i] = (struct tp_verify_choice){choices[i].addr, choices[i].size};
    tp_verify_differs(v->heap.out, &d);
}

/* ---- segments ---- */

enum { COMING_MOST = 64 }; /* segments that were taken and serve nothing yet */

static int place_one(struct verifying *v, const struct tp_coming_range *r,
                     const struct tp_torch_segment *s)
{
    if (!r->mapped)
        return tp_torch_place(v->st, s, NULL, 0);
    tp_addr base = tp_torch_grows_at(v->st, s);
    return tp_torch_place_mapped(v->st, base ? base : s->base, s, NULL, 0);
}

/* Segments that the file took for a request and the rules did not: they are there from now on. */
static int place_unneeded(struct verifying *v, struct tp_err *err)
{
    struct tp_recorded_source *from = source_of(v);
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < from->count; i++) {
        const struct tp_coming_range *r = &from->coming[i];
        struct tp_torch_segment s = {
            .base = r->base, .size = r->size, .small = r->size == v->heap.rules->small_segment};
        rc = tp_verify_stream(&v->streams, r->stream, &s.stream, err);
        if (rc == TP_OK &&
            (tp_torch_choose_pool(v->st, r->pool) || place_one(v, r, &s) == TP_ENOMEM))
            rc = no_memory(err);
    }
    from->count = 0;
    return rc;
}

static bool is_vacant(struct verifying *v, const struct tp_pytorch_event *ev, bool mapped)
{
    const struct tp_recorded_source *from = source_of(v);
    uint64_t base = ev->address, size = ev->size;
    if (base % BASE_GRAIN || base >= TP_INVENTED || size > TP_INVENTED - base ||
        !(tp_torch_is_vacant(v->st, base, size) ||
          (mapped && tp_torch_is_unmapped(v->st, base, size))))
        return false;
    for (size_t i = 0; i < from->count; i++) {
        const struct tp_coming_range *r = &from->coming[i];
        if (base < r->base + r->size && r->base < base + size)
            return false;
    }
    return true;
}

static uint64_t pool_of(const struct verifying *v, const struct tp_pytorch_event *ev)
{
    return tp_pytorch_pool_of(v->heap.snapshot, v->heap.out->device, ev);
}

/* What takes memory shows whether new segments grow; a private pool may have an allocator of its
 * own, whose segments never do. */
static void note_mode(struct verifying *v, bool expandable)
{
    struct tp_torch_rules *rules = tp_torch_rules_of(v->st);
    v->heap.out->switches += rules->expandable != expandable;
    rules->expandable = expandable;
}

static int see_taken(struct verifying *v, const struct tp_pytorch_event *ev, bool mapped,
                     struct tp_err *err)
{
    uint64_t pool = pool_of(v, ev);
    struct tp_verified *out = v->heap.out;
    if (ev->has_pool || !pool)
        (mapped ? &out->mapped : &out->taken)->all++;
    if (mapped || !pool)
        note_mode(v, mapped);
    int rc = source_of(v)->count < COMING_MOST ? TP_OK : place_unneeded(v, err);
    if (rc != TP_OK)
        return rc;
    if (!is_vacant(v, ev, mapped)) {
        differs(v, TP_START_UNPLACED, ev, 0);
        return TP_OK;
    }
    return tp_recorded_source_add(
        &v->source, &(struct tp_coming_range){ev->address, ev->size, ev->stream, mapped, pool},
        err);
}

static int see_segment_alloc(struct verifying *v, const struct tp_pytorch_event *ev,
                             struct tp_err *err)
{
    return see_taken(v, ev, false, err);
}

static int see_segment_map(struct verifying *v, const struct tp_pytorch_event *ev,
                           struct tp_err *err)
{
    return see_taken(v, ev, true, err);
}

/* What was mapped for a request that failed all the same is free, and may go. */
static int see_segment_unmap(struct verifying *v, const struct tp_pytorch_event *ev,
                             struct tp_err *err)
{
    bool whole = false;
    int rc = place_unneeded(v, err);
    if (rc != TP_OK)
        return rc;
    rc = tp_torch_unmap_at(v->st, ev->address, ev->size, &whole);
    if (rc == TP_ENOMEM)
        return no_memory(err);
    v->heap.out->unmapped.all++;
    v->heap.out->unmapped.good += whole;
    if (!whole)
        differs(v, rc == TP_OK ? TP_NOT_ITS_UNITS : TP_MAPPED_IN_USE, ev, 0);
    return TP_OK;
}

static int see_segment_free(struct verifying *v, const struct tp_pytorch_event *ev,
                            struct tp_err *err)
{
    (void)err;
    bool free = tp_torch_drop(v->st, ev->address, ev->size) == TP_OK;
    v->heap.out->returned.all++;
    v->heap.out->returned.good += free;
    v->heap.out->pools_returned += pool_of(v, ev) != 0;
    if (!free)
        differs(v, TP_SEGMENT_IN_USE, ev, 0);
    return TP_OK;
}

/* ---- requests ---- */

/* Puts a block where the file has it. One that cannot be there is kept in mind, for its free. */
static int force(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    const struct tp_torch_at at = {ev->address, tp_torch_rounded(v->heap.rules, ev->size),
                                   ev->size};
    int rc = tp_torch_force(v->st, &at);
    if (rc == TP_ENOMEM)
        return no_memory(err);
    return rc == TP_OK ? TP_OK : tp_id_map_need(&v->lost, (int64_t)ev->address, 0, &entry, err);
}

/* How the file differs from the rules, which got `got`, in a segment that was `invented` or not. */
static enum tp_verify_kind kind_of(const struct tp_recorded_source *from, tp_addr got,
                                   bool invented)
{
    if (from->wanted_maps)
        return TP_NEEDS_MAPPING;
    if (!got)
        return TP_NOT_SERVED;
    if (invented)
        return TP_NEEDS_SEGMENT;
    return from->count ? TP_NEEDS_NONE : TP_OTHER_ADDRESS;
}

/* Takes back what the rules did, and does what the file says. */
static int correct(struct verifying *v, const struct tp_pytorch_event *ev, const struct tp_req *rq,
                   tp_addr got, bool invented, struct tp_err *err)
{
    struct tp_recorded_source *from = source_of(v);
    if (got)
        tp_strategy_torch.free(v->st, NULL, got, rq);
    if (invented)
        tp_torch_drop(v->st, from->invented.base, from->invented.size);
    differs(v, kind_of(from, got, invented), ev, invented ? 0 : got);
    int rc = place_unneeded(v, err);
    return rc == TP_OK ? force(v, ev, err) : rc;
}

static int see_alloc(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    struct tp_recorded_source *from = source_of(v);
    struct tp_verified *out = v->heap.out;
    struct tp_req rq = {.size = ev->size, .align = 1};
    struct tp_block b = {0};
    uint64_t given = from->given, maps = from->given_maps, inventions = from->inventions;
    from->wanted_maps = 0;
    int rc = tp_verify_stream(&v->streams, ev->stream, &rq.stream, err);
    if (rc == TP_OK && tp_torch_choose_pool(v->st, ev->pool))
        rc = no_memory(err);
    if (rc != TP_OK)
        return rc;
    if (!ev->has_pool && pool_of(v, ev)) {
        out->unpooled++;
        rc = place_unneeded(v, err);
        return rc == TP_OK ? force(v, ev, err) : rc;
    }
    from->strict = true;
    rc = tp_strategy_torch.alloc(v->st, NULL, &rq, &b);
    from->strict = false;
    if (rc == TP_ENOMEM)
        return no_memory(err);
    bool invented = from->inventions > inventions;
    bool same = rc == TP_OK && !invented && b.addr == ev->address;
    out->addresses.all++;
    out->addresses.good += same;
    out->with_base += same && from->given > given;
    out->taken.good += maps == from->given_maps ? from->given - given : 0;
    out->mapped.good += from->given_maps - maps;
    if (!same)
        return correct(v, ev, &rq, rc == TP_OK ? b.addr : 0, invented, err);
    if (from->count)
        differs(v, TP_NEEDS_NONE, ev, b.addr);
    return place_unneeded(v, err);
}

static int see_free(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    struct tp_req rq = {.size = ev->size, .align = 1};
    int rc = tp_verify_stream(&v->streams, ev->stream, &rq.stream, err);
    if (rc != TP_OK)
        return rc;
    rc = tp_strategy_torch.free(v->st, NULL, ev->address, &rq);
    if (rc == TP_OK)
        return TP_OK;
    if (rc == TP_ENOMEM)
        return no_memory(err);
    struct tp_id_entry *lost = tp_id_map_find(&v->lost, (int64_t)ev->address);
    if (lost) {
        tp_id_map_remove(&v->lost, lost);
        return TP_OK;
    }
    v->heap.out->not_live++;
    differs(v, TP_NOT_LIVE, ev, 0);
    return TP_OK;
}

/* PyTorch fails a request when nothing free serves it after all unused memory went back, and the
 * driver has no more: the first is compared. */
static int see_failed(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    struct tp_verified *out = v->heap.out;
    uint16_t stream = 0;
    uint64_t unused = 0;
    int rc = place_unneeded(v, err);
    if (rc == TP_OK)
        rc = tp_verify_stream(&v->streams, ev->stream, &stream, err);
    if (rc != TP_OK || !ev->size || tp_pytorch_too_large(ev))
        return rc;
    if (tp_torch_choose_pool(v->st, ev->pool))
        return no_memory(err);
    tp_addr room = tp_torch_serves(v->st, ev->size, stream, &unused);
    out->failed.all++;
    out->failed.good += !room;
    out->failed_unused += !room && unused;
    if (room)
        differs(v, TP_HAS_ROOM, ev, room);
    return TP_OK;
}

static int see_unknown(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    (void)ev, (void)err;
    v->heap.out->unknown++;
    return TP_OK;
}

typedef int see_fn(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err);

static int see(struct verifying *v, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    static see_fn *const by_action[] = {
        [TP_PYTORCH_ALLOC] = see_alloc,
        [TP_PYTORCH_FREE_REQUESTED] = NULL,
        [TP_PYTORCH_FREE_COMPLETED] = NULL,
        [TP_PYTORCH_SEGMENT_ALLOC] = see_segment_alloc,
        [TP_PYTORCH_SEGMENT_FREE] = see_segment_free,
        [TP_PYTORCH_SEGMENT_MAP] = see_segment_map,
        [TP_PYTORCH_SEGMENT_UNMAP] = see_segment_unmap,
        [TP_PYTORCH_OOM] = see_failed,
        [TP_PYTORCH_SNAPSHOT] = NULL,
        [TP_PYTORCH_ANNOTATE] = NULL,
        [TP_PYTORCH_UNKNOWN] = see_unknown,
    };
    v->event++;
    v->heap.out->events++;
    if (ev->action == tp_pytorch_freeing(v->heap.snapshot, v->heap.out->device))
        return see_free(v, ev, err);
    return by_action[ev->action] ? by_action[ev->action](v, ev, err) : TP_OK;
}

/* Replays up to and with an event; `agreeing`: or up to the first difference. */
static int see_until(struct tp_verify_replay *p, uint64_t event, bool agreeing, struct tp_err *err)
{
    const struct tp_pytorch_event *ev = NULL;
    int rc = TP_OK;
    while (rc == TP_OK && p->v.event < event && !(agreeing && !tp_agrees(p->v.heap.out)) &&
           (ev = tp_spill_next(&p->events, &rc, err)))
        rc = see(&p->v, ev, err);
    return rc;
}

int tp_verify_until(struct tp_verify_replay *p, uint64_t event, struct tp_err *err)
{
    int rc = see_until(p, event, false, err);
    return rc == TP_OK ? place_unneeded(&p->v, err) : rc;
}

int tp_verify_set(struct tp_verify_replay *p, uint64_t event, const struct tp_torch_settings *conf,
                  struct tp_err *err)
{
    int rc = see_until(p, event - 1, true, err);
    tp_torch_conf_set(conf, &p->v.rules);
    tp_torch_conf_set(conf, tp_torch_rules_of(p->v.st));
    return rc;
}

int tp_verify_agreeing(struct tp_verify_replay *p, struct tp_err *err)
{
    int rc = see_until(p, UINT64_MAX, true, err);
    if (rc != TP_OK || !tp_agrees(p->v.heap.out))
        return rc;
    rc = place_unneeded(&p->v, err);
    return rc == TP_OK ? tp_verify_end(&p->v.heap, err) : rc;
}

/* ---- the instance ---- */

static int start(struct verifying *v, struct tp_err *err)
{
    const struct tp_source_cfg cfg = {.account = &v->account, .kind = TP_KIND_DEVICE};
    int rc = tp_source_open(&v->source, &tp_source_recorded, &cfg, err);
    if (rc != TP_OK)
        return rc;
    v->meta.account = &v->account;
    v->env = (struct tp_env){
        .source = &v->source, .account = &v->account, .meta = &v->meta, .streams = 1};
    void *st = calloc(1, tp_strategy_torch.state_size);
    void *defaults = calloc(1, tp_strategy_torch.opts_size);
    rc = st && defaults ? tp_strategy_torch.init(st, &v->env, defaults, err) : no_memory(err);
    free(defaults);
    if (rc != TP_OK) {
        free(st);
        return rc;
    }
    v->st = v->heap.st = st;
    *tp_torch_rules_of(st) = *v->heap.rules;
    return tp_torch_follow(st);
}

static void stop(struct verifying *v)
{
    if (v->st)
        tp_strategy_torch.fini(v->st);
    free(v->st);
    tp_source_close(&v->source);
    tp_id_map_release(&v->streams);
    tp_id_map_release(&v->lost);
}

int tp_verify_begin_from(const struct tp_pytorch *s, const struct tp_verify_start *from,
                         const struct tp_torch_rules *rules, struct tp_verified *out,
                         struct tp_verify_replay **replay, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[out->device];
    *replay = calloc(1, sizeof **replay);
    if (!*replay)
        return no_memory(err);
    (*replay)->events =
        (struct tp_spill_cursor){.list = &s->events, .next = d->first, .end = d->first + d->count};
    struct verifying *v = &(*replay)->v;
    v->rules = *rules;
    v->rules.expandable = from->takes ? from->expands : rules->expandable;
    v->heap = (struct tp_verify_heap){
        .snapshot = s, .rules = &v->rules, .streams = &v->streams, .out = out};
    v->streams.how = tp_reading_growth(s->reading, "streams");
    v->lost.how = tp_reading_growth(s->reading, "addresses");
    int rc = start(v, err);
    return rc == TP_OK ? tp_verify_place(&v->heap, from, err) : rc;
}

int tp_verify_begin(const struct tp_pytorch *s, uint32_t device, const struct tp_torch_rules *rules,
                    struct tp_verified *out, struct tp_verify_replay **replay, struct tp_err *err)
{
    struct tp_verify_start from;
    *out = (struct tp_verified){.device = device};
    *replay = NULL;
    int rc = tp_verify_start_open(s, device, rules->small_segment, &from, err);
    if (rc == TP_OK)
        rc = tp_verify_begin_from(s, &from, rules, out, replay, err);
    tp_verify_start_close(s, &from);
    return rc;
}

void tp_verify_stop(struct tp_verify_replay *replay)
{
    if (replay)
        stop(&replay->v);
    free(replay);
}

int tp_verify_number(struct tp_verify_replay *replay, int64_t stream, uint16_t *out,
                     struct tp_err *err)
{
    return tp_verify_stream(&replay->v.streams, stream, out, err);
}

void *tp_verify_instance(struct tp_verify_replay *replay)
{
    return replay->v.st;
}

int tp_verify(const struct tp_pytorch *s, uint32_t device, const struct tp_torch_rules *rules,
              const char *broken, struct tp_verified *out, struct tp_err *err)
{
    struct tp_verify_replay *replay = NULL;
    int rc = tp_verify_begin(s, device, rules, out, &replay, err);
    if (rc == TP_OK && broken)
        rc = tp_mutate(tp_torch_rules_of(replay->v.st), tp_torch_mutations, broken, err);
    if (rc == TP_OK)
        rc = tp_verify_until(replay, UINT64_MAX, err);
    if (rc == TP_OK)
        rc = tp_verify_end(&replay->v.heap, err);
    tp_verify_stop(replay);
    return rc;
}

int tp_verify_rules_of(const struct tp_pytorch *s, const char *device, const char *release,
                       const char *conf, struct tp_torch_rules *rules, struct tp_err *err)
{
    const char *text = conf ? conf : tp_pytorch_conf(s);
    const char *own = tp_pytorch_allocator(s);
    *rules = tp_torch_rules_for(tp_torch_device(device ? device : own));
    rules->expandable = !conf && tp_pytorch_grows(s);
    if (!release)
        release = tp_pytorch_newest(s, own);
    int rc = release ? tp_torch_version(rules, release, err) : TP_OK;
    if (rc != TP_OK || !text)
        return rc;
    rc = tp_torch_conf(rules, text, err);
    if (rc == TP_OK || conf)
        return rc;
    err->status = TP_EINPUT;
    return tp_prefix(err, TP_EINPUT, "the recorded settings");
}

int tp_verify_rules(const struct tp_pytorch *s, const char *conf, struct tp_torch_rules *rules,
                    struct tp_err *err)
{
    return tp_verify_rules_of(s, NULL, NULL, conf, rules, err);
}
