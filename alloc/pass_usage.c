/* The usage pass: untimed, serial, deterministic. It follows what is requested, granted and
 * reserved after every instruction, and looks inside the strategy once, at peak demand. */
#include "alloc/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    FOREIGN_SAMPLES = 2048
}; /* a foreign allocator's statistics walk its heap: not every time */

struct object {
    uint64_t requested, granted;
};

struct device_usage {
    struct tp_device_run *run;
    const struct tp_demand *demand;
    uint64_t requested, granted; /* now */
    uint64_t foreign_reserved;   /* as last sampled */
    uint64_t since;              /* value of the clock when the sums were last brought up to date */
    double requested_dt, granted_dt, reserved_dt;
    uint64_t gets_before;
    struct tp_account before; /* as it was when the prologue was in place: no call of it counts */
};

struct tp_usage {
    struct tp_player *player;
    struct object *objects; /* by slot */
    struct device_usage *devices;
    uint64_t clock; /* recorded ns, or operations where time is unknown */
    bool prologue_over;
    uint64_t sample_every, until_sample;
    bool timed;
    bool foreign;
    int status; /* of a snapshot that found the books wrong */
    struct tp_err *err;
};

static uint64_t reserved_of(const struct tp_usage *u, const struct device_usage *d)
{
    if (u->foreign)
        return d->foreign_reserved;
    return u->player->instances[d - u->devices].account.reserved;
}

static void sample_foreign(struct tp_usage *u, struct device_usage *d)
{
    const struct tp_strategy *s = u->player->strategy;
    if (!u->foreign || !s->stats)
        return;
    struct tp_stats stats = {0};
    s->stats(u->player->instances[d - u->devices].state, &stats);
    d->foreign_reserved = stats.reserved_bytes;
}

/* Brings the time-weighted sums up to now. */
static void settle(const struct tp_usage *u, struct device_usage *d)
{
    double dt = (double)(u->clock - d->since);
    d->requested_dt += (double)d->requested * dt;
    d->granted_dt += (double)d->granted * dt;
    d->reserved_dt += (double)reserved_of(u, d) * dt;
    d->since = u->clock;
}

void tp_usage_before(struct tp_player *p, const struct tp_insn *insn)
{
    struct tp_usage *u = p->usage;
    struct device_usage *d = &u->devices[insn->device];
    u->clock += u->timed ? insn->gap_ns : 0;
    settle(u, d);
    d->gets_before = p->instances[insn->device].account.gets;
}

static void raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak)
        *peak = value;
}

void tp_usage_block(struct tp_player *p, const struct tp_insn *insn, uint64_t granted, bool both)
{
    struct tp_usage *u = p->usage;
    struct device_usage *d = &u->devices[insn->device];
    struct object *o = &u->objects[insn->slot];
    if (both)
        raise(&d->run->peak_granted, d->granted + granted);
    d->requested += insn->size - o->requested;
    d->granted += granted - o->granted;
    *o = (struct object){insn->size, granted};
    raise(&d->run->peak_granted, d->granted);
    d->run->allocations++;
    if (p->instances[insn->device].account.gets == d->gets_before)
        d->run->reused++;
}

void tp_usage_gone(struct tp_player *p, uint32_t slot, uint16_t device)
{
    struct device_usage *d = &p->usage->devices[device];
    struct object *o = &p->usage->objects[slot];
    d->requested -= o->requested;
    d->granted -= o->granted;
    *o = (struct object){0};
}

void tp_usage_failed(struct tp_player *p, const struct tp_insn *insn)
{
    p->usage->devices[insn->device].run->failed_allocations++;
}

/* ---- the look inside ---- */

struct tally {
    uint64_t bytes[TP_WALK_COUNT];
    uint64_t pieces, largest, largest_span;
};

static void tally_piece(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct tally *t = ctx;
    (void)addr;
    t->bytes[kind] += size;
    if (kind != TP_WALK_CACHED && kind != TP_WALK_SPAN)
        return;
    t->pieces++;
    raise(&t->largest, size);
    if (kind == TP_WALK_SPAN)
        raise(&t->largest_span, size);
}

/* What a walk names must add up to what the source counted: a report that does not is worthless. */
static int check_books(const struct tp_usage *u, const struct device_usage *d,
                       const struct tally *t)
{
    uint64_t sum = 0, reserved = reserved_of(u, d);
    for (int k = 0; k < TP_WALK_COUNT; k++)
        sum += t->bytes[k];
    if (sum == reserved && t->bytes[TP_WALK_LIVE] == d->granted)
        return TP_OK;
    return tp_fail(u->err, TP_EBROKEN,
                   "strategy '%s' accounts for %llu of %llu reserved bytes, and for %llu of %llu "
                   "handed out",
                   u->player->strategy->name, (unsigned long long)sum, (unsigned long long)reserved,
                   (unsigned long long)t->bytes[TP_WALK_LIVE], (unsigned long long)d->granted);
}

static void walk_now(struct tp_usage *u, struct device_usage *d, struct tp_at_peak *at)
{
    const struct tp_strategy *s = u->player->strategy;
    struct tally t = {0};
    if (!s->walk || s->walk(u->player->instances[d - u->devices].state, tally_piece, &t) != TP_OK)
        return;
    if (!u->status)
        u->status = check_books(u, d, &t);
    at->pieces = t.pieces;
    at->largest = t.largest;
    at->cached = t.bytes[TP_WALK_CACHED];
    at->span = t.bytes[TP_WALK_SPAN];
    at->dead = t.bytes[TP_WALK_DEAD];
    at->internal = t.bytes[TP_WALK_INTERNAL];
    if (at->span)
        d->run->external_fragmentation = 1 - (double)t.largest_span / (double)at->span;
}

static double share_missing(uint64_t part, uint64_t whole)
{
    return whole ? 1 - (double)part / (double)whole : NAN;
}

static void snapshot(struct tp_usage *u, struct device_usage *d)
{
    sample_foreign(u, d);
    uint64_t reserved = reserved_of(u, d);
    d->run->at_peak = (struct tp_at_peak){
        .event = d->demand->event,
        .time_ns = d->demand->time_ns,
        .requested = d->requested,
        .granted = d->granted,
        .reserved = reserved,
        .idle = reserved > d->granted ? reserved - d->granted : 0,
        .pieces = TP_NONE,
        .largest = TP_NONE,
        .cached = TP_NONE,
        .span = TP_NONE,
        .dead = TP_NONE,
        .internal = TP_NONE,
    };
    d->run->internal_fragmentation = share_missing(d->requested, d->granted);
    d->run->unused_reserved = share_missing(d->granted, reserved);
    walk_now(u, d, &d->run->at_peak);
}

void tp_usage_after(struct tp_player *p, const struct tp_window *w, uint32_t index)
{
    struct tp_usage *u = p->usage;
    struct device_usage *d = &u->devices[w->insns[index].device];
    struct tp_device_run *run = d->run;
    if (!u->timed && tp_op_is_operation(w->insns[index].op)) {
        u->clock++; /* each event's outcome weighs the same, the last one's too */
        settle(u, d);
    }
    if (u->foreign && --u->until_sample == 0) {
        u->until_sample = u->sample_every;
        sample_foreign(u, d);
    }
    if (!w->prologue && w->first_insn + index == d->demand->insn)
        snapshot(u, d);
    if (d->requested > run->peak_requested) {
        run->peak_requested = d->requested;
        run->peak_requested_event = tp_window_event(w, index);
    }
    uint64_t high =
        u->foreign ? d->foreign_reserved : p->instances[d - u->devices].account.peak_reserved;
    if (high > run->peak_reserved) {
        run->peak_reserved = high;
        run->peak_reserved_event = tp_window_event(w, index);
    }
    if (run->failed_allocations && run->first_failed_event == TP_NONE)
        run->first_failed_event = tp_window_event(w, index);
}

/* ---- the ends ---- */

static int usage_open(struct tp_usage *u, struct tp_player *p, struct tp_run *out,
                      struct tp_err *err)
{
    const struct tp_program_facts *f = p->facts;
    *u = (struct tp_usage){.player = p,
                           .timed = f->time_known,
                           .foreign = (p->strategy->caps & TP_CAP_FOREIGN) != 0,
                           .sample_every = f->operations / FOREIGN_SAMPLES + 1,
                           .until_sample = 1,
                           .err = err};
    u->objects = calloc(f->slots ? f->slots : 1, sizeof *u->objects);
    u->devices = calloc(f->devices, sizeof *u->devices);
    if (!u->objects || !u->devices)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    for (uint16_t i = 0; i < f->devices; i++) {
        u->devices[i].run = &out->devices[i];
        u->devices[i].demand = tp_program_demand(p->cfg->program, i);
        out->devices[i].first_failed_event = TP_NONE;
        out->devices[i].external_fragmentation = NAN;
        out->devices[i].internal_fragmentation = out->devices[i].unused_reserved = NAN;
        memset(&out->devices[i].at_peak, 0xff, sizeof out->devices[i].at_peak); /* TP_NONE */
        out->devices[i].trace_peak_requested = u->devices[i].demand->bytes;
    }
    p->usage = u;
    return TP_OK;
}

static void fill_calls(const struct tp_usage *u, const struct device_usage *d,
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
}

static void finish_device(struct tp_usage *u, struct device_usage *d)
{
    struct tp_device_run *run = d->run;
    const struct tp_instance *in = &u->player->instances[d - u->devices];
    const struct tp_strategy *s = u->player->strategy;
    struct tp_stats stats = {.peak_carved_bytes = TP_NONE};
    if (s->stats)
        s->stats(in->state, &stats);
    if (u->foreign)
        d->foreign_reserved = stats.reserved_bytes;
    settle(u, d);
    run->end_reserved = reserved_of(u, d);
    run->peak_carved = u->foreign ? TP_NONE : stats.peak_carved_bytes;
    run->start_bytes = stats.start_bytes;
    run->fallbacks = stats.fallbacks;
    run->peak_metadata = u->foreign ? TP_NONE : in->account.peak_metadata;
    uint64_t held = u->foreign ? run->peak_reserved : in->account.peak_held;
    bool whole = !run->failed_allocations && run->trace_peak_requested;
    run->overhead = whole ? (double)held / (double)run->trace_peak_requested : NAN;
    run->internal_fragmentation_weighted =
        d->granted_dt > 0 ? 1 - d->requested_dt / d->granted_dt : NAN;
    run->unused_reserved_weighted = d->reserved_dt > 0 ? 1 - d->granted_dt / d->reserved_dt : NAN;
    fill_calls(u, d, &in->account);
}

/* Before the first event: what the prologue did is memory, but no call; a peak that lies in it is
 * looked at now, and so is a device that the trace never uses. */
static void prologue_done(struct tp_usage *u)
{
    if (u->prologue_over)
        return;
    u->prologue_over = true;
    for (uint16_t i = 0; i < u->player->facts->devices; i++) {
        struct device_usage *d = &u->devices[i];
        d->before = u->player->instances[i].account;
        d->run->allocations = d->run->reused = 0;
        d->requested_dt = d->granted_dt = d->reserved_dt = 0;
        d->since = u->clock;
        if (!d->demand->event)
            snapshot(u, d);
    }
}

static int usage_play(struct tp_usage *u, struct tp_err *err)
{
    struct tp_player *p = u->player;
    struct tp_window w;
    int got, status = TP_OK;
    tp_player_begin(p);
    while (!status && (got = tp_player_next(p, &w, err)) != 0) {
        if (got < 0)
            return -got;
        prologue_done(u);
        tp_play_usage(p, &w);
        status = u->status ? u->status : tp_player_check(p, &w, err);
        tp_progress(p->cfg, "memory",
                    (double)(w.first_insn + w.count) / (double)p->facts->instructions);
    }
    return status;
}

static void usage_finish(struct tp_usage *u, struct tp_run *out)
{
    const struct tp_player *p = u->player;
    prologue_done(u); /* a stop in it, or nothing but it */
    for (uint16_t i = 0; i < p->facts->devices; i++)
        finish_device(u, &u->devices[i]);
    out->skipped_operations = p->skipped;
    out->skipped_trims = p->skipped_trims;
    out->flags |= u->timed ? TP_RUN_WEIGHT_TIME : 0;
    out->flags |= u->foreign ? TP_RUN_INFORMATIVE : 0;
}

int tp_pass_usage(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_player p;
    struct tp_usage u = {0};
    int status = tp_player_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    status = usage_open(&u, &p, out, err);
    if (!status)
        status = usage_play(&u, err);
    if (!status) {
        usage_finish(&u, out);
        status = u.status;
    }
    p.usage = NULL;
    tp_player_drain(&p);
    int closed = tp_player_close(&p, status ? NULL : err);
    free(u.objects);
    free(u.devices);
    return status ? status : closed;
}
