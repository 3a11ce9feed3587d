/* Opening and closing the instances of a pass: per device a stack of sources with the meter on top,
 * the metadata heap, and one instance of the strategy with its threads. */
#include "alloc/engine/crew.h"
#include "alloc/engine/occupier.h"

#include "alloc/base/own.h"
#include "alloc/program/heap_check.h"

#define SYNTHETIC_NS 1000 /* ns; step of the virtual clock where the trace has no times */

/* Reads the free memory of a device before the strategy is opened. The context and the kernel that
 * keeps the device busy are loaded first, because a driver loads code late, into the memory that is
 * measured. A failure here is not reported: it comes again in the replay. */
static void look_at_memory(const struct tp_replayer *p, struct tp_instance *in)
{
    if (p->occupier)
        tp_src_work(in->env.source, 0, 0, 0, 0, p->cfg->occupy);
    if (!tp_src_memory(in->env.source, &in->free_at_start, &in->total))
        return;
    in->free_at_start = in->total = TP_NONE;
}

/* The guard of a device in bytes (see struct tp_replay_cfg); 0: none. */
static uint64_t guard_of(const struct tp_replayer *p, uint16_t device)
{
    const struct tp_replay_cfg *cfg = p->cfg;
    uint64_t needed = tp_program_demand(cfg->program, device)->bytes;
    bool guarded = cfg->guard && tp_replay_source_flags(cfg) & TP_SRC_HOST;
    for (uint32_t i = 0; i < cfg->layer_count; i++)
        guarded &= cfg->layers[i].ops != &tp_source_limit;
    if (!guarded || needed > UINT64_MAX / TP_GUARD_TIMES)
        return 0;
    return needed * TP_GUARD_TIMES > TP_GUARD_LEAST ? needed * TP_GUARD_TIMES : TP_GUARD_LEAST;
}

static int open_sources(struct tp_replayer *p, struct tp_instance *in, uint16_t device,
                        struct tp_err *err)
{
    const struct tp_replay_cfg *cfg = p->cfg;
    if (!tp_strategy_takes_source(p->strategy))
        return TP_OK;
    struct tp_source_cfg sc = {.account = &in->account,
                               .guard = guard_of(p, device),
                               .now_ns = &p->now_ns,
                               .kind = (enum tp_kind)p->facts->kind,
                               .device = device,
                               .streams = p->facts->streams,
                               .ranges = p->ranges ? &p->ranges[device] : NULL,
                               .aliases = p->aliases ? &p->aliases[device] : NULL,
                               .time_calls = cfg->shared.time_calls,
                               .lost = &p->lost,
                               .current = cfg->shared.current,
                               .seed = cfg->seed};
    for (uint32_t i = 0; i <= cfg->layer_count; i++) {
        const struct tp_source_ops *ops =
            i < cfg->layer_count ? cfg->layers[i].ops : &tp_source_meter;
        sc.opts = i < cfg->layer_count ? cfg->layers[i].opts : NULL;
        sc.inner = in->env.source;
        int status = tp_source_open(&in->stack[i], ops, &sc, err);
        if (status)
            return status;
        in->env.source = &in->stack[in->depth++];
    }
    if (p->device)
        look_at_memory(p, in);
    return TP_OK;
}

static void close_sources(struct tp_instance *in)
{
    while (in->depth)
        tp_source_close(&in->stack[--in->depth]);
}

static int open_strategy(struct tp_replayer *p, struct tp_instance *in, struct tp_err *err)
{
    const struct tp_strategy *s = p->strategy;
    in->meta.account = &in->account;
    in->meta.own = !tp_strategy_takes_source(p->cfg->strategy);
    in->env = (struct tp_env){.source = in->env.source,
                              .account = &in->account,
                              .meta = &in->meta,
                              .streams = p->facts->streams,
                              .concurrent = tp_crew_size(p) > 1 && s->caps & TP_CAP_THREADS};
    void *state = tp_meta_get(&in->env, s->state_size ? s->state_size : 1);
    if (!state)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    int status =
        s->init(state, &in->env, s == p->cfg->strategy ? p->cfg->strategy_opts : NULL, err);
    if (status) {
        tp_meta_put(&in->env, state, s->state_size ? s->state_size : 1);
        return status;
    }
    in->state = state;
    return TP_OK;
}

/* Tells the strategy the names of the program's phases. */
static int tell_phases(const struct tp_replayer *p, struct tp_instance *in, struct tp_err *err)
{
    uint32_t count = p->facts->marks;
    if (!p->strategy->phases)
        return TP_OK;
    const char **names = tp_own_zeroed(count + UINT64_C(1), sizeof *names);
    if (!names)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    for (uint32_t i = 0; i < count; i++)
        names[i] = tp_program_mark(p->cfg->program, i);
    int status = p->strategy->phases(in->state, names, count, err);
    tp_own_free(names);
    return status;
}

/* A strategy that does not know such a heap begins without. */
static int start_heap(struct tp_replayer *p, struct tp_instance *in, uint16_t device,
                      struct tp_err *err)
{
    const struct tp_heap *all = tp_program_heap(p->cfg->program);
    if (!all || !p->strategy->start || p->cfg->drop_initial_heap || p->cfg->packed)
        return TP_OK;
    struct tp_heap heap = tp_heap_of(all, device);
    int status = heap.segment_count ? p->strategy->start(in->state, &heap) : TP_OK;
    p->aged |= status == TP_OK && heap.segment_count;
    if (status == TP_OK || status == TP_EUNSUP)
        return TP_OK;
    return tp_fail(err, (enum tp_status)status, "strategy '%s' cannot begin: %s", p->strategy->name,
                   tp_status_text(status));
}

static int open_threads(struct tp_replayer *p, struct tp_instance *in, struct tp_err *err)
{
    size_t bytes = p->thread_stride * p->facts->threads;
    if (!bytes) {
        in->threads = in->state; /* a handle of 0 bytes is never read, but it must not be NULL */
        return TP_OK;
    }
    in->threads = tp_meta_get(&in->env, bytes);
    if (!in->threads)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    return tp_crew_size(p) > 1 ? TP_OK /* each OS thread starts its own */
                               : tp_recorded_start(p, in, 0, 1, &in->threads_ready, err);
}

int tp_recorded_start(const struct tp_replayer *p, const struct tp_instance *in, uint32_t first,
                      uint32_t step, uint32_t *ready, struct tp_err *err)
{
    uint64_t index = first;
    for (; p->strategy->thread_init && index < p->facts->threads; index += step) {
        int status =
            p->strategy->thread_init(in->state, tp_replayer_thread(p, in, (uint16_t)index));
        if (status)
            return tp_fail(err, (enum tp_status)status,
                           "a thread of strategy '%s' cannot start: %s", p->strategy->name,
                           tp_status_text(status));
        ++*ready;
    }
    return TP_OK;
}

void tp_recorded_end(const struct tp_replayer *p, const struct tp_instance *in, uint32_t first,
                     uint32_t step, uint32_t *ready)
{
    while (*ready) {
        uint32_t index = first + --*ready * step;
        p->strategy->thread_fini(in->state, tp_replayer_thread(p, in, (uint16_t)index));
    }
}

static void close_instance(struct tp_replayer *p, struct tp_instance *in)
{
    tp_recorded_end(p, in, 0, 1, &in->threads_ready);
    if (in->state) {
        p->strategy->fini(in->state);
        if (p->thread_stride)
            tp_meta_put(&in->env, in->threads, p->thread_stride * p->facts->threads);
        tp_meta_put(&in->env, in->state, p->strategy->state_size ? p->strategy->state_size : 1);
    }
    in->threads = NULL;
    in->state = NULL;
}

/* The distance between two thread handles: each has cache lines of its own. */
static size_t stride_of(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static bool take_tables(struct tp_replayer *p)
{
    const struct tp_program_facts *f = p->facts;
    p->instances = tp_own_zeroed(f->devices, sizeof *p->instances);
    p->slots = tp_own_zeroed(f->slots ? f->slots : 1, sizeof *p->slots);
    if (!p->instances || !p->slots || !p->cfg->shared.keeps_ranges)
        return p->instances && p->slots;
    p->ranges = tp_own_zeroed(f->devices, sizeof *p->ranges);
    p->aliases = tp_own_zeroed(f->devices, sizeof *p->aliases);
    for (uint32_t d = 0; p->aliases && d < f->devices; d++)
        tp_aliases_init(&p->aliases[d]);
    return p->ranges && p->aliases;
}

static int open_all(struct tp_replayer *p, struct tp_err *err)
{
    const struct tp_program_facts *f = p->facts;
    if (!take_tables(p))
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    int status = tp_cursor_open(p->cfg->program, &p->cursor, err);
    if (!status)
        status = tp_resets_open(f, &p->resets, err);
    if (!status)
        status = tp_occupy_open(p, err);
    if (!status && tp_crew_size(p) > 1)
        status = tp_crew_prepare(p, err);
    if (!status && p->cfg->shared.opened)
        status = p->cfg->shared.opened(p->cfg->shared.opened_ctx, p, err);
    for (uint16_t d = 0; !status && d < f->devices; d++) {
        struct tp_instance *in = &p->instances[d];
        status = open_sources(p, in, d, err);
        if (!status)
            status = open_strategy(p, in, err);
        if (!status)
            status = tell_phases(p, in, err);
        if (!status)
            status = open_threads(p, in, err);
        if (!status)
            status = start_heap(p, in, d, err);
        if (!status && tp_crew_size(p) > 1)
            status = tp_crew_open(p, err);
        if (p->lost) /* the device's own sentence says more than the status */
            status = tp_replayer_fault(p, status, err);
    }
    return status;
}

int tp_replayer_open(struct tp_replayer *p, const struct tp_replay_cfg *cfg,
                     const struct tp_strategy *strategy, struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(cfg->program);
    *p = (struct tp_replayer){.cfg = cfg,
                              .strategy = strategy,
                              .facts = facts,
                              .thread_stride = stride_of(strategy->thread_size),
                              .tick_ns = facts->time_known ? 0 : SYNTHETIC_NS};
    p->device = tp_replay_source_flags(cfg) & TP_SRC_DEVICE;
    p->clocked = tp_replay_source_flags(cfg) & TP_SRC_VIRTUAL;
    p->host_memory = tp_replay_source_flags(cfg) & TP_SRC_HOST;
    p->touch = p->host_memory ? cfg->touch : TP_TOUCH_NONE;
    p->contents = p->touch != TP_TOUCH_NONE;
    /* The empty strategy has one small block, so only its start can be touched. Touching further
     * pages is the program's cost and no share of the engine. */
    if (strategy == tp_replay_empty(cfg) && p->touch == TP_TOUCH_ALL)
        p->touch = TP_TOUCH_FIRST;
    int status = open_all(p, err);
    if (status)
        tp_replayer_close(p, NULL);
    return status;
}

static int check_left(const struct tp_replayer *p, const struct tp_instance *in, struct tp_err *err)
{
    if (in->meta.live_bytes)
        return tp_fail(err, TP_EBROKEN, "strategy '%s' leaks %llu bytes of its bookkeeping",
                       p->strategy->name, (unsigned long long)in->meta.live_bytes);
    if (in->account.reserved && !in->account.refused_puts)
        return tp_fail(err, TP_EBROKEN, "strategy '%s' kept %llu bytes of the source",
                       p->strategy->name, (unsigned long long)in->account.reserved);
    return TP_OK;
}

int tp_replayer_close(struct tp_replayer *p, struct tp_err *err)
{
    int status = TP_OK;
    uint32_t devices = p->instances ? p->facts->devices : 0;
    tp_crew_close(p);
    /* Closes the last instance first, because an instance that shares a device with an earlier one
     * must restore the state in which it found the device. */
    for (uint32_t d = devices; d-- > 0;) {
        struct tp_instance *in = &p->instances[d];
        close_instance(p, in);
        if (!status && err && !p->undrained)
            status = check_left(p, in, err);
    }
    if (p->lost && err && p->instances)
        status = tp_replayer_fault(p, TP_OK, err);
    for (uint32_t d = devices; d-- > 0;) {
        close_sources(&p->instances[d]);
        if (p->ranges)
            tp_ranges_fini(&p->ranges[d]);
        if (p->aliases)
            tp_aliases_fini(&p->aliases[d]);
    }
    if (p->lost && err && !status)
        status = tp_fail(err, TP_EDEVICE, "the device failed while its memory was given back");
    tp_occupy_close(p);
    tp_cursor_close(p->cursor);
    tp_resets_close(p->resets);
    tp_own_free(p->instances);
    tp_own_free(p->ranges);
    tp_own_free(p->aliases);
    tp_own_free(p->slots);
    *p = (struct tp_replayer){0};
    return status;
}

int tp_replayer_end(struct tp_replayer *p, int status, struct tp_err *err)
{
    int closed = tp_replayer_close(p, status ? NULL : err);
    return status ? status : closed;
}

void tp_replayer_begin(struct tp_replayer *p)
{
    /* now_ns is kept, so that fences of the last replay lie in the past */
    tp_cursor_rewind(p->cursor);
    for (uint32_t d = 0; p->strategy->phase && d < p->facts->devices; d++)
        p->strategy->phase(p->instances[d].state, UINT32_MAX);
    if (p->resets)
        tp_resets_begin(p->resets);
    p->skipped = p->failed = p->skipped_trims = p->until_stop = 0;
    p->stop = p->in_initial_heap = false;
    p->aside_ticks = 0;
    p->crew_times = (struct tp_crew_times){0};
}

int tp_replayer_next(struct tp_replayer *p, struct tp_window *w, struct tp_err *err)
{
    struct tp_position *at = p->strategy == p->cfg->strategy ? p->cfg->position : NULL;
    for (;;) {
        if (tp_replayer_interrupted(p))
            return -tp_fail(err, TP_ESTOP, "interrupted");
        if (p->stop)
            return 0;
        int got = tp_cursor_next(p->cursor, w, err);
        if (got > 0 && !w->initial_heap && p->in_initial_heap) {
            p->in_initial_heap = false; /* the initial heap is not counted */
            p->skipped = p->failed = p->skipped_trims = p->aside_ticks = 0;
            p->crew_times = (struct tp_crew_times){0};
        }
        if (got > 0 && at) {
            at->first = tp_window_event(w, 0);
            at->last = tp_window_event(w, w->count - 1);
        }
        if (got > 0 && p->occupier)
            tp_occupy_window(p, w);
        if (got > 0 && p->resets && tp_resets_window(p->resets, w, err))
            return -TP_ENOMEM;
        if (got <= 0 || !w->initial_heap)
            return got;
        p->in_initial_heap = true;
        if (p->cfg->drop_initial_heap)
            continue;
        if (p->observer)
            tp_replay_observed(p, w);
        else
            tp_replay_untimed(p, w);
        int status = tp_replayer_check(p, w, err);
        if (status)
            return -status;
    }
}

/* ---- freeing what is left ---- */

/* Frees the block of a slot with all its references. Timed only as part of a RESET. */
int tp_replayer_free(struct tp_replayer *p, const struct tp_slot *slot, void *thr, uint16_t stream)
{
    const struct tp_strategy *s = p->strategy;
    void *state = p->instances[tp_slot_device(slot)].state;
    struct tp_req rq = {.size = tp_slot_size(slot), .align = tp_slot_align(slot), .stream = stream};
    bool counted = s->caps & TP_CAP_RETAINS && tp_strategy_takes_source(s);
    uint64_t more = counted ? p->facts->ops[TP_RETAIN] : 0;
    int status = s->free(state, thr, slot->addr, &rq);
    while (!status && more && !s->free(state, thr, slot->addr, &rq))
        more--;
    return status;
}

static void wait_for_devices(struct tp_replayer *p)
{
    for (uint32_t d = 0; d < p->facts->devices; d++)
        if (p->instances[d].env.source && !p->lost)
            tp_src_synced(p->instances[d].env.source, TP_ALL_STREAMS);
}

static void drain(struct tp_replayer *p, struct tp_slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tp_slot *slot = &slots[i];
        if (!slot->addr)
            continue;
        if (!p->device && tp_replayer_interrupted(p)) {
            p->undrained = true; /* the strategy's fini gives the rest back */
            return;
        }
        void *thr = tp_replayer_thread(p, &p->instances[tp_slot_device(slot)], 0);
        tp_replayer_free(p, slot, thr, 0);
        slot->addr = 0;
    }
}

void tp_replayer_drain(struct tp_replayer *p)
{
    size_t cells = 0;
    if (p->cfg->position)
        p->cfg->position->first = p->cfg->position->last = TP_NONE;
    if (p->device)
        wait_for_devices(p); /* because blocks of all streams are freed on stream 0 */
    if (p->lost)
        return;
    struct tp_slot *left = p->crew ? tp_crew_cells(p->crew, &cells) : NULL;
    drain(p, left, cells);
    drain(p, p->slots, p->facts->slots);
    if (p->device)
        wait_for_devices(p);
}
