/* See captured.h. All figures come from one pass over the program. */
#include "cmd/results/captured.h"

#include "alloc/base/numbers.h"

#include "traces/lower/failed_request.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

struct captured_scan {
    struct tp_program *program;
    struct tp_captured *out;
    uint64_t *reserved; /* by device: bytes reserved now */
    uint64_t
        *requested_at; /* by slot: time in ns when its free was requested, plus 1; 0: not yet */
    uint64_t *live;    /* by device: objects live now */
    uint64_t live_on_all;
    struct tp_failed_request failed;
    struct tp_limit_scan *limits; /* by device; NULL: such limits are not known of its allocator */
    uint64_t time, insn;
    uint32_t mark;
};

/* The bytes that the recorded allocator has reserved after an instruction. */
static uint64_t after(const struct tp_insn *in, uint64_t reserved)
{
    static const enum {
        SAME,
        MORE,
        LESS
    } effects[TP_NOTE_COUNT] = {
        [TP_NOTE_SEGMENT_ALLOC] = MORE,
        [TP_NOTE_SEGMENT_MAP] = MORE,
        [TP_NOTE_SEGMENT_FREE] = LESS,
        [TP_NOTE_SEGMENT_UNMAP] = LESS,
    };
    if (in->op != TP_NOTE || in->align_log2 >= TP_NOTE_COUNT || effects[in->align_log2] == SAME)
        return reserved;
    if (effects[in->align_log2] == MORE)
        return reserved + in->size;
    return reserved - (in->size < reserved ? in->size : reserved);
}

static void change(struct captured_scan *s, const struct tp_insn *in, uint64_t event)
{
    struct tp_captured_device *d = &s->out->devices[in->device];
    uint64_t *now = &s->reserved[in->device];
    *now = after(in, *now);
    d->takes += in->align_log2 == TP_NOTE_SEGMENT_ALLOC;
    d->gives += in->align_log2 == TP_NOTE_SEGMENT_FREE;
    d->maps += in->align_log2 == TP_NOTE_SEGMENT_MAP;
    d->unmaps += in->align_log2 == TP_NOTE_SEGMENT_UNMAP;
    if (*now > d->peak_reserved) {
        d->peak_reserved = *now;
        d->peak_event = event;
    }
}

static void on_note(struct captured_scan *s, const struct tp_insn *in, uint64_t event)
{
    struct tp_captured_device *d = &s->out->devices[in->device];
    switch ((enum tp_note)in->align_log2) {
    case TP_NOTE_SEGMENT_ALLOC:
    case TP_NOTE_SEGMENT_FREE:
    case TP_NOTE_SEGMENT_MAP:
    case TP_NOTE_SEGMENT_UNMAP:
        change(s, in, event);
        break;
    case TP_NOTE_OOM:
        if (!d->ooms++) {
            d->oom_event = event;
            d->oom_size = in->size;
            d->oom_reserved = s->reserved[in->device];
        }
        break;
    case TP_NOTE_DEVICE_FREE:
        if (d->ooms == 1)
            d->oom_free = in->size;
        break;
    case TP_NOTE_FREE_REQUESTED:
        d->free_requests++;
        s->requested_at[in->slot] = s->time + 1;
        break;
    default:
        break;
    }
}

static void on_free(struct captured_scan *s, const struct tp_insn *in)
{
    struct tp_captured_device *d = &s->out->devices[in->device];
    uint64_t asked = s->requested_at[in->slot];
    s->requested_at[in->slot] = 0;
    if (!asked || s->time + 1 == asked)
        return;
    d->waited++;
    if (s->time + 1 - asked > d->longest_wait_ns)
        d->longest_wait_ns = s->time + 1 - asked;
}

/* At the trace peak, keeps the reserved bytes as they were before this instruction had any effect.
 */
static void note_demand(struct captured_scan *s, const struct tp_insn *in, bool failed)
{
    uint16_t device = in->device;
    const struct tp_demand *demand = tp_program_demand(s->program, device);
    if (demand->insn != s->insn)
        return;
    s->out->devices[device].at_demand = s->reserved[device];
    s->out->devices[device].demand_mark = s->mark;
    s->out->devices[device].demand_size = in->size;
    s->out->devices[device].demand_failed = failed ? in->size : 0;
}

static void count_live(struct captured_scan *s, const struct tp_insn *in)
{
    if (tp_op_is(in->op, TP_IS_NEW)) {
        s->live[in->device]++;
        s->live_on_all++;
    } else if (in->op == TP_FREE) {
        s->live[in->device]--;
        s->live_on_all--;
    }
    uint32_t end = in->op == TP_RESET ? tp_insn_end_device(in, s->out->count) : 0;
    for (uint32_t d = tp_insn_first_device(in); d < end; d++) {
        s->live_on_all -= s->live[d];
        s->live[d] = 0;
    }
    if (s->live_on_all > s->out->most_live)
        s->out->most_live = s->live_on_all;
}

static int scan_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct captured_scan *s = ctx;
    (void)err;
    for (uint32_t i = 0; w->initial_heap && i < w->count; i++)
        count_live(s, &w->insns[i]);
    for (uint32_t i = 0; !w->initial_heap && i < w->count; i++, s->insn++) {
        const struct tp_insn *in = &w->insns[i];
        uint64_t event = tp_window_event(w, i);
        s->time += in->gap_ns;
        const enum tp_failed_part part = tp_failed_request_next(&s->failed, in, event);
        const bool failed = part == TP_FAILED_ALLOC;
        if (failed)
            s->out->devices[in->device].replayed++;
        if (part == TP_FAILED_NONE)
            count_live(s, in);
        if (s->limits && in->op != TP_MARK && in->device != TP_ALL_DEVICES)
            tp_limit_follow(&s->limits[in->device], in, event, s->reserved[in->device]);
        if (in->op == TP_NOTE)
            on_note(s, in, event);
        else if (in->op == TP_FREE)
            on_free(s, in);
        else if (tp_op_is(in->op, TP_IS_NEW))
            s->requested_at[in->slot] = 0; /* a reset may have ended the slot's last object */
        else if (in->op == TP_MARK)
            s->mark = in->slot;
        if (in->device == TP_ALL_DEVICES) /* such an instruction requests no memory */
            continue;
        note_demand(s, in, failed);
    }
    return TP_OK;
}

/* The largest free block that the file records at the trace peak. It only counts if the file and
 * the program as it is replayed put the trace peak at the same event. */
static uint64_t largest_of(const struct tp_program *program, const struct tp_recorded *r,
                           uint32_t index)
{
    bool same = index < r->count && r->devices[index].demand_event ==
                                        tp_program_demand(program, (uint16_t)index)->event;
    return same ? r->devices[index].demand_largest : TP_RECORDED_UNKNOWN;
}

static uint64_t start_reserved(const struct tp_recorded *r, uint32_t device)
{
    return device < r->count ? r->devices[device].start_reserved : 0;
}

static void begin(struct captured_scan *s, const struct tp_recorded *r)
{
    for (uint32_t i = 0; i < s->out->count; i++) {
        struct tp_captured_device *d = &s->out->devices[i];
        d->start_reserved = start_reserved(r, i);
        d->peak_reserved = d->at_demand = s->reserved[i] = d->start_reserved;
        d->oom_free = d->limit.below = UINT64_MAX;
        d->demand_mark = UINT32_MAX;
        d->largest = largest_of(s->program, r, i);
    }
}

static int open_limits(struct captured_scan *s, const struct tp_trace *t, struct tp_err *err)
{
    if (!t->limits.segment)
        return TP_OK;
    s->limits = calloc(s->out->count, sizeof *s->limits);
    for (uint32_t i = 0; s->limits && i < s->out->count; i++)
        s->limits[i] =
            (struct tp_limit_scan){.rules = &t->limits, .out = &s->out->devices[i].limit};
    return s->limits ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

int tp_captured_scan(const struct tp_trace *t, struct tp_captured *out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    struct captured_scan s = {.program = t->program, .out = out, .mark = UINT32_MAX};
    *out = (struct tp_captured){
        .count = f->devices, .known = t->recorded.by && t->recorded.count, .limits = t->limits};
    if (!out->known && f->kind != TP_KIND_DEVICE && !f->ops[TP_NOTE])
        return TP_OK;
    out->devices = calloc(f->devices, sizeof *out->devices);
    s.reserved = calloc(f->devices, sizeof *s.reserved);
    s.requested_at = calloc(f->slots ? f->slots : 1, sizeof *s.requested_at);
    s.live = calloc(f->devices, sizeof *s.live);
    int status = TP_OK;
    if (!out->devices || !s.reserved || !s.requested_at || !s.live)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        status = open_limits(&s, t, err);
    if (!status)
        begin(&s, &t->recorded);
    if (!status && (f->ops[TP_NOTE] || f->ops[TP_MARK]))
        status = tp_program_walk(t->program, scan_window, &s, err);
    for (uint32_t i = 0; !status && i < out->count; i++) {
        out->devices[i].end_reserved = s.reserved[i];
        if (s.limits)
            tp_limit_end(&s.limits[i], out->devices[i].peak_reserved,
                         out->count == t->meta.garbage_collections);
    }
    free(s.reserved);
    free(s.requested_at);
    free(s.live);
    free(s.limits);
    if (status)
        tp_captured_release(out);
    return status;
}

void tp_captured_release(struct tp_captured *c)
{
    free(c->devices);
    tp_sites_free(c->sites);
    tp_sites_free(c->sizes);
    free(c->site_curve);
    tp_place_table_free(c->frame_places);
    *c = (struct tp_captured){0};
}

struct tp_captured_device tp_captured_device(const struct tp_captured *c,
                                             const struct tp_recorded *r, uint32_t index)
{
    uint64_t held = r->devices[index].start_reserved;
    if (index < c->count)
        return c->devices[index];
    return (struct tp_captured_device){.start_reserved = held,
                                       .peak_reserved = held,
                                       .end_reserved = held,
                                       .at_demand = held,
                                       .oom_free = UINT64_MAX,
                                       .limit = {.below = UINT64_MAX},
                                       .largest = TP_RECORDED_UNKNOWN,
                                       .demand_mark = UINT32_MAX};
}

/* ---- over time ---- */

struct curve_scan {
    struct tp_curve *out;
    uint64_t reserved; /* now */
    uint64_t time;     /* ns since the trace began */
    bool timed;
    uint16_t device;
};

static void add_reserved(struct curve_scan *s, uint64_t event)
{
    tp_curve_add(s->out, &(struct tp_curve_point){.event = event,
                                                  .bytes = {s->reserved, s->reserved, s->reserved},
                                                  .clock = s->timed ? s->time : event});
}

static int curve_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct curve_scan *s = ctx;
    (void)err;
    for (uint32_t i = 0; !w->initial_heap && i < w->count; i++) {
        const struct tp_insn *in = &w->insns[i];
        s->time += in->gap_ns;
        if (in->op != TP_NOTE || in->device != s->device)
            continue;
        s->reserved = after(in, s->reserved);
        add_reserved(s, tp_window_event(w, i));
    }
    return TP_OK;
}

int tp_captured_curve(const struct tp_trace *t, uint16_t device, struct tp_curve *out,
                      struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    struct curve_scan s = {.out = out,
                           .reserved = start_reserved(&t->recorded, device),
                           .timed = f->time_known,
                           .device = device};
    int status = TP_OK;
    add_reserved(&s, 0);
    if (f->ops[TP_NOTE])
        status = tp_program_walk(t->program, curve_window, &s, err);
    tp_curve_finish(out);
    return status;
}

struct tp_captured_failures tp_captured_failures(const struct tp_captured *c)
{
    struct tp_captured_failures all = {0};
    for (uint32_t i = 0; c && c->devices && i < c->count; i++) {
        all.ooms += c->devices[i].ooms;
        all.replayed += c->devices[i].replayed;
    }
    return all;
}

uint64_t tp_captured_ops(const struct tp_captured *c, const struct tp_program_facts *f,
                         enum tp_op op)
{
    bool is_part = op == TP_ALLOC || op == TP_FREE;
    return f->ops[op] - (is_part ? tp_captured_failures(c).replayed : 0);
}

uint64_t tp_captured_allocations(const struct tp_captured *c, const struct tp_program_facts *f)
{
    return tp_captured_ops(c, f, TP_ALLOC) + tp_captured_ops(c, f, TP_REALLOC);
}

uint64_t tp_captured_objects(const struct tp_captured *c, const struct tp_program_facts *f)
{
    return f->objects - tp_captured_failures(c).replayed;
}

uint64_t tp_captured_at_once(const struct tp_captured *c, const struct tp_program_facts *f)
{
    return tp_captured_failures(c).replayed ? c->most_live : f->slots;
}

/* ---- what the device had ---- */

/* What a failed request says is free is the whole device's: a program with a share of it failed
 * although that would have been enough. */
static uint64_t capacity_of(const struct tp_captured_device *d)
{
    const struct tp_memory_limit *l = &d->limit;
    bool told = d->ooms && d->oom_free != UINT64_MAX, bounded = l->below != UINT64_MAX;
    uint64_t by_oom = told ? d->oom_reserved + d->oom_free : 0;
    if (told && (!bounded || (by_oom < l->below && by_oom >= d->peak_reserved)))
        return by_oom;
    if (!bounded || d->peak_reserved >= l->below)
        return 0;
    return l->collections ? l->below - 1 : d->peak_reserved;
}

/* The most that a device could have. */
static uint64_t most_of(const struct tp_captured_device *d)
{
    uint64_t least = capacity_of(d);
    bool told = d->ooms && d->oom_free != UINT64_MAX;
    bool exact = told && least == d->oom_reserved + d->oom_free;
    return !least || exact || d->limit.below == UINT64_MAX ? least : d->limit.below - 1;
}

/* Of all devices the most by such a function, and at least what was reserved. */
static uint64_t over_devices(const struct tp_captured *c,
                             uint64_t (*of)(const struct tp_captured_device *d))
{
    uint64_t known = 0, peak = 0;
    for (uint32_t i = 0; c->known && c->devices && i < c->count; i++) {
        const struct tp_captured_device *d = &c->devices[i];
        uint64_t bytes = of(d);
        known = bytes > known ? bytes : known;
        peak = d->peak_reserved > peak ? d->peak_reserved : peak;
    }
    return known && peak > known ? peak : known;
}

uint64_t tp_captured_capacity(const struct tp_captured *c)
{
    return over_devices(c, capacity_of);
}

uint64_t tp_captured_capacity_most(const struct tp_captured *c)
{
    return over_devices(c, most_of);
}

bool tp_captured_limits_differ(const struct tp_captured *c)
{
    uint64_t all = tp_captured_capacity(c);
    bool differ = false;
    for (uint32_t i = 0; all && i < c->count; i++) {
        uint64_t own = capacity_of(&c->devices[i]);
        differ |= own && own != all;
    }
    return differ;
}

struct tp_captured_retries tp_captured_retries(const struct tp_captured *c)
{
    struct tp_captured_retries all = {.count = 0};
    if (c) {
        all.garbage = c->limits.garbage;
        all.partial = c->limits.partial;
    }
    for (uint32_t i = 0; c && c->known && c->devices && i < c->count; i++) {
        const struct tp_captured_device *d = &c->devices[i];
        const struct tp_memory_limit *l = &d->limit;
        if (l->retries && (!all.count || l->first_retry < all.first_event))
            all.first_event = l->first_retry;
        all.count += l->retries;
        all.undecided += l->undecided;
        all.ooms += d->ooms;
        all.by_limit |= d->ooms && d->oom_free != UINT64_MAX && l->below != UINT64_MAX &&
                        d->oom_reserved + d->oom_free >= l->below;
        all.least = c->count == 1 ? capacity_of(d) : 0;
        all.below = all.least ? l->below : 0;
    }
    return all;
}

bool tp_captured_collects(const struct tp_captured *c)
{
    bool some = false;
    for (uint32_t i = 0; c->known && c->devices && i < c->count; i++)
        some |= c->devices[i].limit.collections > 0;
    return some;
}

/* ---- places ---- */

void tp_captured_want(struct tp_captured *c, uint64_t event)
{
    size_t at = c->place_count;
    if (!event || event == UINT64_MAX || c->place_count == TP_PLACES_MAX)
        return;
    while (at > 0 && c->place_events[at - 1] >= event)
        at--;
    if (at < c->place_count && c->place_events[at] == event)
        return;
    for (size_t i = c->place_count++; i > at; i--)
        c->place_events[i] = c->place_events[i - 1];
    c->place_events[at] = event;
}

void tp_captured_find(struct tp_captured *c, const struct tp_trace *t,
                      const struct tp_sites_opts *o, bool stacks, int (*stop)(struct tp_err *err))
{
    const struct tp_sites_cfg cfg = {.at = o->at,
                                     .by = (enum tp_sites_by)o->by,
                                     .depth = o->depth > 1 ? (unsigned)o->depth : 0,
                                     .stacks = stacks};
    struct tp_err ignored = {0};
    if (tp_trace_places(t, c->place_events, c->place_count, c->places, &ignored) != TP_OK)
        c->place_count = 0;
    if (tp_program_facts(t->program)->devices == 1 &&
        tp_sites_find(t, 0, &cfg, stop, &c->sites, &ignored) != TP_OK)
        c->sites = NULL;
}

void tp_captured_find_sizes(struct tp_captured *c, const struct tp_trace *t,
                            int (*stop)(struct tp_err *err))
{
    static const struct tp_sites_cfg by_size = {.at = TP_AT_PEAK, .by = TP_BY_SIZE};
    struct tp_err ignored = {0};
    if (c->sites || tp_program_facts(t->program)->devices != 1)
        return;
    if (tp_sites_find(t, 0, &by_size, stop, &c->sizes, &ignored) != TP_OK)
        c->sizes = NULL;
}

int tp_sites_check(const struct tp_sites_opts *o, const struct tp_trace *t, struct tp_err *err)
{
    uint64_t events = tp_program_facts(t->program)->events;
    if (o->at == TP_AT_PEAK || o->at <= events)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "'--at %llu': %s has %s", (unsigned long long)o->at, t->file,
                   tp_plural(events, "event").s);
}

int tp_sites_have_stacks(uint32_t by, struct tp_err *err)
{
    if (by == TP_BY_PLACE)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "call stacks are those of --by %s, and this is --by %s",
                   tp_sites_by_words[TP_BY_PLACE], tp_sites_by_words[by]);
}

static int fail_not_known(const struct tp_trace *t, struct tp_err *err)
{
    if (tp_program_facts(t->program)->devices > 1)
        return tp_hint(
            err,
            tp_fail(err, TP_EINPUT, "%s: live memory by site is shown for one device", t->file),
            "--device, or --space, chooses one");
    return tp_fail(err, TP_EINPUT,
                   "%s: live memory by site is not known: no site is recorded for any "
                   "live block",
                   t->file);
}

int tp_sites_sayable(const struct tp_trace *t, struct tp_err *err)
{
    bool one = tp_program_facts(t->program)->devices == 1;
    return one && t->places.find ? TP_OK : fail_not_known(t, err);
}

int tp_sites_known(const struct tp_captured *c, const struct tp_trace *t, struct tp_err *err)
{
    return c->sites ? TP_OK : fail_not_known(t, err);
}

const char *tp_captured_place(const struct tp_captured *c, uint64_t event)
{
    for (size_t i = 0; i < c->place_count; i++)
        if (c->place_events[i] == event && c->places[i][0])
            return c->places[i];
    return NULL;
}

const char *tp_captured_phase(const struct tp_captured *c, const struct tp_trace *t,
                              uint16_t device)
{
    return c->devices ? tp_mark_phase(t->program, c->devices[device].demand_mark) : NULL;
}

bool tp_is_recorded(const struct tp_trace *t, const char *what)
{
    return !t->meta.unknown || !strstr(t->meta.unknown, what);
}

bool tp_threads_recorded(const struct tp_trace *t)
{
    return tp_program_facts(t->program)->recorded_threads && tp_is_recorded(t, "threads");
}
