/* The usage pass: untimed, serial, deterministic. It follows requested, allocated and reserved
 * bytes after every instruction, and walks the strategy once, at the trace peak. */
#include "alloc/base/own.h"
#include "alloc/engine/measured.h"
#include "alloc/engine/passes.h"
#include "alloc/heapmap/usage_frames.h"

#include <string.h>

enum {
    FOREIGN_SAMPLES = 2048
    /* samples in a replay; a foreign allocator's statistics walk its heap, which is too slow for
     * every instruction */
};

/* A part of the pass that is a function of its own without frames and inlined with them. */
#define INLINED static inline __attribute__((always_inline))

/* Bytes of a device are below 2^63, and a signed number is made a real in one step. */
static double real_of(uint64_t bytes)
{
    return (double)(int64_t)bytes;
}

/* Updates the time-weighted sums. */
static void settle(const struct tp_usage *u, struct tp_usage_device *d)
{
    if (u->clock == d->since)
        return;
    double dt = (double)(u->clock - d->since);
    d->requested_dt += real_of(d->requested) * dt;
    d->allocated_dt += real_of(d->allocated) * dt;
    d->reserved_dt += real_of(tp_usage_reserved(u, d)) * dt;
    d->since = u->clock;
}

static struct tp_usage_device *device_of(const struct tp_replayer *p, const struct tp_insn *insn)
{
    return &((struct tp_usage *)p->observer_state)->devices[insn->device];
}

static void begin_instruction(const struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_account *a = d->account;
    settle(u, d);
    d->gets_before = a->gets;
    d->refused_before = a->refused_gets;
    d->reserved_before = a->reserved;
    d->peak_before = a->peak_reserved;
    d->allocated_high = d->reserved_high = 0;
    a->peak_reserved = a->reserved;
}

static void before(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct tp_usage *u = p->observer_state;
    const struct tp_insn *insn = &w->insns[index];
    u->clock += u->timed ? insn->gap_ns : 0;
    for (uint32_t i = tp_usage_first(insn); i < tp_usage_end(insn, p->facts->devices); i++)
        begin_instruction(u, &u->devices[i]);
}

INLINED void block(struct tp_replayer *p, const struct tp_insn *insn, const struct tp_block *block,
                   bool both)
{
    struct tp_usage *u = p->observer_state;
    struct tp_usage_device *d = device_of(p, insn);
    uint64_t allocated = tp_replayer_allocated(p, &p->instances[insn->device], block);
    u->untold |= u->foreign && !allocated;
    if (both)
        d->allocated_high = d->allocated + allocated;
    d->requested += insn->size - tp_usage_replaced(u, insn);
    d->allocated += allocated - u->allocated[insn->slot];
    u->allocated[insn->slot] = allocated;
    tp_usage_raise(&d->allocated_high, d->allocated);
    tp_usage_raise(&d->run->peak_allocated, d->allocated_high);
    d->run->allocations++;
    if (d->account->gets == d->gets_before)
        d->run->reused++;
}

static void leaving(struct tp_replayer *p, uint32_t slot)
{
    (void)p, (void)slot;
}

static void gone(struct tp_replayer *p, uint32_t slot, const struct tp_insn *insn)
{
    struct tp_usage *u = p->observer_state;
    const struct tp_slot *s = &p->slots[slot];
    struct tp_usage_device *d = &u->devices[tp_slot_device(s)];
    (void)insn;
    d->requested -= tp_slot_size(s);
    d->allocated -= u->allocated[slot];
    u->allocated[slot] = 0;
}

static void failed(struct tp_replayer *p, const struct tp_insn *insn)
{
    tp_usage_refusal(p->observer_state, device_of(p, insn), insn);
}

/* ---- after each instruction ---- */

/* tp_window_event with a short cut for windows without jumps. */
static uint64_t event_of(const struct tp_window *w, uint32_t index)
{
    return w->jump_count || w->initial_heap ? tp_window_event(w, index) : w->first_event + index;
}

/* Ends measuring a peak inside the instruction: restores the account's peak of the whole run. */
static void end_account(struct tp_usage_device *d)
{
    struct tp_account *a = d->account;
    if (a->peak_reserved > d->reserved_before)
        d->reserved_high = a->peak_reserved;
    tp_usage_raise(&a->peak_reserved, d->peak_before);
}

static struct tp_curve_point sample_of(const struct tp_usage *u, const struct tp_usage_device *d,
                                       uint64_t event)
{
    return (struct tp_curve_point){
        .event = event,
        .bytes = {d->requested, d->allocated, tp_usage_reserved(u, d)},
        .calls = {d->account->gets - d->before.gets, d->account->puts - d->before.puts},
        .clock = u->clock};
}

/* Adds a sample of what stood only for a moment. */
__attribute__((noinline)) static void add_moment(struct tp_usage_device *d,
                                                 struct tp_curve_point sample, uint64_t allocated,
                                                 uint64_t reserved)
{
    tp_usage_raise(&sample.bytes[TP_CURVE_ALLOCATED], allocated);
    tp_usage_raise(&sample.bytes[TP_CURVE_RESERVED], reserved);
    tp_curve_add(&d->run->curve, &sample);
    if (d->run->phase_count)
        tp_usage_phase_peaks(d, sample.bytes);
}

/* Adds samples to the curve. A momentary extreme inside the instruction gets a sample of its own.
 * The initial heap becomes one point when it is over. */
static void follow_curve(struct tp_usage *u, struct tp_usage_device *d, const struct tp_window *w,
                         uint32_t index)
{
    if (w->initial_heap)
        return;
    const uint64_t bytes[TP_CURVE_VALUES] = {d->requested, d->allocated, tp_usage_reserved(u, d)};
    const bool moment = d->allocated_high > bytes[TP_CURVE_ALLOCATED] ||
                        d->reserved_high > bytes[TP_CURVE_RESERVED];
    struct tp_curve *c = &d->run->curve;
    if (!moment && tp_curve_is_last(c, bytes))
        return;
    const struct tp_curve_point now = sample_of(u, d, event_of(w, index));
    if (moment)
        add_moment(d, now, d->allocated_high, d->reserved_high);
    tp_curve_add(c, &now);
    if (d->run->phase_count)
        tp_usage_phase_peaks(d, now.bytes);
}

static void follow_peaks(const struct tp_usage *u, struct tp_usage_device *d,
                         const struct tp_window *w, uint32_t index)
{
    struct tp_device_run *run = d->run;
    if (d->requested > run->peak_requested) {
        run->peak_requested = d->requested;
        run->peak_requested_event = event_of(w, index);
    }
    uint64_t high = u->foreign ? d->foreign_reserved : d->account->peak_reserved;
    if (high > run->peak_reserved) {
        run->peak_reserved = high;
        run->peak_reserved_event = event_of(w, index);
    }
}

static void note_failure(struct tp_usage_device *d, const struct tp_window *w, uint32_t index)
{
    struct tp_device_run *run = d->run;
    if (!run->failed_allocations || run->first_failed_event != TP_NONE)
        return;
    run->first_failed_event = run->first_failure.at.event = tp_window_event(w, index);
    uint64_t ns = w->first_time;
    for (uint32_t i = 0; i <= index; i++)
        ns += w->insns[i].gap_ns;
    run->first_failure.at.time_ns = ns;
}

static void end_instruction(struct tp_usage *u, struct tp_usage_device *d,
                            const struct tp_window *w, uint32_t index)
{
    end_account(d);
    settle(u, d);
    bool at_peak = w->first_insn + index == d->demand->insn && !w->initial_heap;
    if (at_peak)
        tp_usage_snapshot(u, d);
    if (u->device && (at_peak || !u->pool))
        tp_usage_device_look(u, d);
    follow_peaks(u, d, w, index);
    follow_curve(u, d, w, index);
    note_failure(d, w, index);
}

INLINED void after(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct tp_usage *u = p->observer_state;
    const struct tp_insn *insn = &w->insns[index];
    u->clock += !u->timed &&
                /* the state after each event has the same weight, the last one included */
                tp_op_is_operation(insn->op);
    if (u->foreign && --u->until_sample == 0) {
        u->until_sample = u->sample_every;
        for (uint32_t i = tp_usage_first(insn); i < tp_usage_end(insn, p->facts->devices); i++)
            tp_usage_sample_foreign(u, &u->devices[i]);
    }
    if (insn->op == TP_MARK)
        tp_usage_mark(u, insn->slot, tp_window_event(w, index));
    for (uint32_t i = tp_usage_first(insn); i < tp_usage_end(insn, p->facts->devices); i++)
        end_instruction(u, &u->devices[i], w, index);
}

static const struct tp_observer usage_observer = {before, block, leaving, gone, failed, after};

/* ---- the same with frames ---- */

static void framed_block(struct tp_replayer *p, const struct tp_insn *insn,
                         const struct tp_block *b, bool both)
{
    const struct tp_usage *u = p->observer_state;
    const struct tp_window *w = u->window;
    block(p, insn, b, both);
    u->born[insn->slot] = w ? event_of(w, (uint32_t)(insn - w->insns)) : 0;
}

static void framed_failed(struct tp_replayer *p, const struct tp_insn *insn)
{
    failed(p, insn);
    tp_usage_frames_failed(p->observer_state, insn->device);
}

static void framed_after(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct tp_usage *u = p->observer_state;
    after(p, w, index);
    if (!tp_usage_frames_idle(u, &w->insns[index], w->first_insn + index))
        tp_usage_frames_after(u, w, index);
}

static const struct tp_observer framed_observer = {before, framed_block,  leaving,
                                                   gone,   framed_failed, framed_after};

/* ---- the ends ---- */

static int usage_open(struct tp_usage *u, struct tp_replayer *p, struct tp_usage_frames *frames,
                      struct tp_run *out, struct tp_err *err)
{
    const struct tp_program_facts *f = p->facts;
    *u = (struct tp_usage){.replayer = p,
                           .frames = frames,
                           .timed = f->time_known,
                           .foreign = !tp_strategy_takes_source(p->strategy),
                           .device = p->device,
                           .pool = (p->strategy->caps & TP_CAP_ASYNC) != 0,
                           .sample_every = f->operations / FOREIGN_SAMPLES + 1,
                           .until_sample = 1,
                           .err = err};
    u->allocated = tp_own_zeroed(f->slots ? f->slots : 1, sizeof *u->allocated);
    u->devices = tp_own_zeroed(f->devices, sizeof *u->devices);
    if (!u->allocated || !u->devices)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    for (uint16_t i = 0; i < f->devices; i++) {
        u->devices[i].run = &out->devices[i];
        u->devices[i].account = &p->instances[i].account;
        u->devices[i].demand = tp_program_demand(p->cfg->program, i);
        out->devices[i].first_failed_event = TP_NONE;
        out->devices[i].external_fragmentation = NAN;
        out->devices[i].internal_fragmentation = out->devices[i].unused_reserved = NAN;
        /* sets every member to TP_NONE */
        memset(&out->devices[i].at_peak, 0xff, sizeof out->devices[i].at_peak);
        out->devices[i].trace_peak_requested = u->devices[i].demand->bytes;
        out->devices[i].min_capacity = TP_NONE;
        struct tp_source *src = p->instances[i].env.source;
        uint64_t capacity = src ? tp_src_capacity(src) : 0;
        out->devices[i].capacity = capacity ? capacity : TP_NONE;
        tp_usage_phases_open(&u->devices[i], f);
        tp_usage_device_open(u, &u->devices[i]);
    }
    if (frames)
        tp_usage_frames_join(frames, u);
    p->observer = frames ? &framed_observer : &usage_observer;
    p->observer_state = u;
    return TP_OK;
}

static void usage_close(struct tp_usage *u)
{
    tp_own_free(u->allocated);
    tp_own_free(u->devices);
}

static void fill_calls(const struct tp_usage *u, const struct tp_usage_device *d,
                       const struct tp_account *a)
{
    struct tp_device_run *run = d->run;
    run->gets = u->foreign ? TP_NONE : a->gets - d->before.gets;
    run->puts = u->foreign ? TP_NONE : a->puts - d->before.puts;
    run->waits = u->foreign ? TP_NONE : a->waits - d->before.waits;
    run->get_bytes = u->foreign ? TP_NONE : a->get_bytes - d->before.get_bytes;
    run->put_bytes = u->foreign ? TP_NONE : a->put_bytes - d->before.put_bytes;
    run->reused = u->foreign ? TP_NONE : run->reused;
    run->wait_ns = a->wait_ns - d->before.wait_ns;
    run->refused_puts = a->refused_puts;
    run->planned = a->planned - d->before.planned;
    run->planned_bytes = a->planned_bytes - d->before.planned_bytes;
    run->unplanned = a->unplanned - d->before.unplanned;
    run->unplanned_bytes = a->unplanned_bytes - d->before.unplanned_bytes;
}

/* Clears the figures of reserved memory for an allocator that does not report it. */
static void forget_reserved(struct tp_device_run *run)
{
    run->peak_reserved = run->peak_reserved_event = run->end_reserved = TP_NONE;
    run->at_peak.reserved = run->at_peak.free_bytes = TP_NONE;
    run->first_failure.at.reserved = run->first_failure.at.free_bytes = TP_NONE;
    run->overhead = run->unused_reserved = run->unused_reserved_weighted = NAN;
    run->mean_reserved = NAN;
    for (uint32_t i = 0; i < run->phase_count; i++)
        run->phases[i].peak_reserved = TP_NONE;
    memset(&run->curve, 0, sizeof run->curve);
}

/* Clears the figures of allocated bytes for an allocator that does not tell the size of a block. */
static void forget_allocated(struct tp_device_run *run)
{
    run->peak_allocated = TP_NONE;
    run->at_peak.allocated = run->at_peak.free_bytes = TP_NONE;
    run->first_failure.at.allocated = run->first_failure.at.free_bytes = TP_NONE;
    run->internal_fragmentation = run->internal_fragmentation_weighted = NAN;
    run->unused_reserved = run->unused_reserved_weighted = NAN;
    run->mean_allocated = NAN;
    for (uint32_t i = 0; i < run->phase_count; i++)
        run->phases[i].peak_allocated = TP_NONE;
    memset(&run->curve, 0, sizeof run->curve);
}

static void finish_device(struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_device_run *run = d->run;
    const struct tp_instance *in = &u->replayer->instances[d - u->devices];
    const struct tp_strategy *s = u->replayer->strategy;
    struct tp_stats stats = {.peak_carved_bytes = TP_NONE};
    if (s->stats)
        s->stats(in->state, &stats);
    if (u->foreign && !u->silent)
        d->foreign_reserved = stats.reserved_bytes;
    settle(u, d);
    tp_curve_finish(&run->curve);
    run->end_reserved = tp_usage_reserved(u, d);
    run->peak_carved = u->foreign ? TP_NONE : stats.peak_carved_bytes;
    run->start_bytes = stats.start_bytes;
    run->fallbacks = stats.fallbacks;
    run->retries = stats.retries;
    run->peak_metadata = u->foreign ? TP_NONE : in->account.peak_metadata;
    uint64_t held = u->foreign ? run->peak_reserved : in->account.peak_held;
    bool whole = !run->failed_allocations && run->trace_peak_requested;
    run->overhead = whole ? (double)held / (double)run->trace_peak_requested : NAN;
    run->internal_fragmentation_weighted =
        d->allocated_dt > 0 ? 1 - d->requested_dt / d->allocated_dt : NAN;
    run->unused_reserved_weighted = d->reserved_dt > 0 ? 1 - d->allocated_dt / d->reserved_dt : NAN;
    double whole_dt = u->clock ? (double)u->clock : NAN;
    run->mean_allocated = d->allocated_dt / whole_dt;
    run->mean_reserved = d->reserved_dt / whole_dt;
    fill_calls(u, d, &in->account);
    if (u->silent)
        forget_reserved(run);
    if (u->untold)
        forget_allocated(run);
    tp_usage_device_finish(u, d);
}

/* Adds the points of event 0: the extremes of the initial heap, and the state at its end. */
static void begin_curve(struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_device_run *run = d->run;
    const struct tp_account *a = &u->replayer->instances[d - u->devices].account;
    const struct tp_curve_point now = sample_of(u, d, 0);
    tp_usage_raise(&run->peak_reserved,
                   u->foreign ? now.bytes[TP_CURVE_RESERVED] : a->peak_reserved);
    add_moment(d, now, run->peak_allocated, run->peak_reserved);
    tp_curve_add(&run->curve, &now);
}

/* Called before the first event. The initial heap counts as memory, but not as calls. Takes the
 * snapshot of a device whose peak lies in the initial heap, or that the trace never uses. */
static void initial_heap_done(struct tp_usage *u)
{
    if (u->initial_heap_over)
        return;
    u->initial_heap_over = true;
    u->clock = 0;
    for (uint16_t i = 0; i < u->replayer->facts->devices; i++) {
        struct tp_usage_device *d = &u->devices[i];
        d->before = u->replayer->instances[i].account;
        d->run->allocations = d->run->reused = 0;
        d->requested_dt = d->allocated_dt = d->reserved_dt = 0;
        d->since = 0;
        if (!d->demand->event)
            tp_usage_snapshot(u, d);
        begin_curve(u, d);
        tp_usage_device_begin(u, d);
    }
    if (u->frames)
        tp_usage_frames_begin(u);
}

static int usage_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                        struct tp_err *err)
{
    struct tp_usage *u = ctx;
    initial_heap_done(u);
    u->window = w;
    tp_replay_observed(p, w);
    if (u->frames)
        tp_usage_frames_replayed(u, w);
    return u->status ? u->status : tp_replayer_check(p, w, err);
}

static void usage_finish(struct tp_usage *u, struct tp_run *out)
{
    const struct tp_replayer *p = u->replayer;
    initial_heap_done(
        u); /* the replay stopped in the initial heap, or the program has nothing else */
    if (u->frames)
        tp_usage_frames_end(u);
    for (uint16_t i = 0; i < p->facts->devices; i++)
        finish_device(u, &u->devices[i]);
    out->skipped_operations = p->skipped;
    out->skipped_trims = p->skipped_trims;
    out->flags |= u->timed ? TP_RUN_WEIGHT_TIME : 0;
    out->flags |= u->foreign ? TP_RUN_INFORMATIVE : 0;
}

/* ---- the second replay ---- */

/* At the first event, notes each device's calls so far, because calls of the initial heap do not
 * count. */
static int again_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                        struct tp_err *err)
{
    struct tp_usage *u = ctx;
    for (uint16_t i = 0; !u->again && i < p->facts->devices; i++)
        u->devices[i].before = *u->devices[i].account;
    u->again = true;
    tp_replay_untimed(p, w);
    return tp_replayer_check(p, w, err);
}

/* Replays the program again on the same instance and counts its source calls, because a second
 * replay may find memory that the first one got. Left out where calls are not counted, where the
 * clock is a device's, and after failures. */
static int replay_again(struct tp_usage *u, struct tp_replayer *p, struct tp_run *out,
                        struct tp_err *err)
{
    bool counted = !u->foreign && !u->device;
    for (uint16_t i = 0; i < p->facts->devices; i++) {
        out->devices[i].next_calls = TP_NONE;
        counted &= !out->devices[i].failed_allocations;
    }
    if (!counted || p->stop || p->undrained)
        return TP_OK;
    int status = tp_replay_watched(p, "warm replay", again_window, u, err);
    for (uint16_t i = 0; !status && u->again && i < p->facts->devices; i++) {
        const struct tp_usage_device *d = &u->devices[i];
        if (!p->instances[i].failed)
            d->run->next_calls =
                d->account->gets - d->before.gets + d->account->puts - d->before.puts;
    }
    tp_replayer_drain(p);
    return status;
}

/* Replays once more for the frames that were missed; other figures are not needed again. */
static int replay_missed(const struct tp_replay_cfg *cfg, struct tp_usage_frames *frames,
                         struct tp_err *err)
{
    struct tp_replayer p;
    struct tp_usage u = {0};
    struct tp_run *unused = tp_own_zeroed(1, tp_run_size(tp_program_facts(cfg->program)->devices));
    if (!unused)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    int status = tp_replayer_open(&p, cfg, cfg->strategy, err);
    if (!status) {
        status = usage_open(&u, &p, frames, unused, err);
        if (!status)
            status = tp_replay_watched(&p, "memory", usage_window, &u, err);
        status = status ? status : u.status;
        p.observer = NULL;
        tp_replayer_drain(&p);
        status = tp_replayer_end(&p, status, err);
    }
    usage_close(&u);
    tp_own_free(unused);
    return status;
}

static int replay_usage(const struct tp_replay_cfg *cfg, struct tp_usage_frames *frames,
                        struct tp_run *out, struct tp_err *err)
{
    struct tp_replayer p;
    struct tp_usage u = {0};
    int status = tp_replayer_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    out->flags |= p.aged ? (uint32_t)TP_RUN_AGED : 0u;
    status = usage_open(&u, &p, frames, out, err);
    if (!status)
        status = tp_replay_watched(&p, "memory", usage_window, &u, err);
    if (!status) {
        usage_finish(&u, out);
        status = u.status;
        tp_measured_failures(&p, out);
        tp_measured_peaks(&p, out);
    }
    p.observer = NULL;
    tp_replayer_drain(&p);
    status = status ? status : tp_replayer_lost(&p, "after the last event", err);
    if (!status)
        status = replay_again(&u, &p, out, err);
    status = tp_replayer_end(&p, status, err);
    usage_close(&u);
    return status;
}

int tp_pass_usage(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_replay_cfg timed = *cfg; /* only this pass measures the time inside the driver */
    struct tp_usage_frames *frames;
    timed.shared.time_calls = true;
    int status = tp_usage_frames_open(&frames, &timed, err);
    if (!status)
        status = replay_usage(&timed, frames, out, err);
    if (!status && tp_usage_frames_missed(frames, &timed))
        status = replay_missed(&timed, frames, err);
    tp_usage_frames_close(frames);
    return status;
}
