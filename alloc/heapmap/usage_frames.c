/* See usage_frames.h. The pass does not know what comes, so a frame is taken where something seems
 * worth it, and tp_frames_add thins them afterwards.
 *
 *     always       begin, the trace peak, the first failure, end
 *     by credit    most reserved so far, a mark, a change by a share of the most that is held
 *
 * Every instruction earns a credit, every frame costs some for each piece that the walk names, so
 * that all frames together take a small share of the pass: a heap of many blocks gets few.
 *
 *     credit   |  .                                    a change needs twice what a frame costs,
 *              | /  \    .    .    .                   a new peak, or a mark, once
 *              |/    '--/ '--/ '--/ '--
 *
 * Where the credit was spent when most was reserved, and some was given back before there was more,
 * that frame is missing at the end: the program is replayed once more, up to that moment.
 *
 * A wrapper of the source numbers the ranges, by which frames order their rows: no address is in
 * a frame, and it is the same wherever the ranges lie.
 *
 * Known weakness: the second replay takes as long as a pass. It happens with heaps of many blocks
 * that give memory back with each free. */
#include "alloc/heapmap/usage_frames.h"

#include "alloc/base/own.h"
#include "alloc/heapmap/heap_order.h"

#include <string.h>

/* In instructions of the pass: what there is at first, and what a frame costs by itself, for each
 * frame that is compared, for each slot and for each piece. */
enum { CREDIT_FIRST = 1 << 22, COST_FRAME = 256, COST_KEPT = 8, COST_SLOT = 4, COST_PIECE = 96 };

/* Where peaks pass, frames of new ones may be taken on credit that is still to be earned: so many.
 * A device is nearly full when less than this part of it is free. */
enum { PEAKS_LENT = 4, NEARLY_FULL = 8 };

/* Changes from nothing to the most that is held: while there is plenty of credit, and later. A
 * short program has a frame wherever anything changes. */
enum { STEPS_PLENTY = 64, STEPS = 16, SHORT = 4 };

struct framed_device {
    uint64_t allocated, reserved; /* in the last frame */
    uint64_t taken_at;            /* the instruction before it */
    uint64_t step;                /* bytes: a change of this much is worth a frame */
    uint64_t peak, peak_insn;     /* most that was reserved after an instruction, and which */
    uint64_t seen_peak;           /* that there is a frame of */
    uint64_t pieces;              /* of the last walk */
    unsigned coarseness;
    bool passes;  /* a peak was over before there was a frame of it */
    bool pending; /* as much as ever is reserved, and there is no frame of it */
    bool failed;  /* there is a frame of the first failure */
    bool missed;  /* taken in the second replay */
};

#define AT_BEGIN UINT64_MAX /* before the first instruction */

struct tp_usage_frames {
    struct tp_frames *out;
    struct framed_device *devices;
    struct tp_frames_watch *watches;
    uint32_t device_count;
    uint64_t *born;
    uint64_t at, event; /* the last instruction that was looked at, or replayed, and its event */
    int64_t credit;     /* negative after frames that are always taken */
    uint64_t credited;  /* instructions for which it was earned */
    uint32_t missed;    /* frames that the second replay has still to take */
    bool again;         /* this is the second replay */
    struct tp_numbered *numbered;
    struct tp_heap_order order;
};

/* ---- opening ---- */

int tp_usage_frames_open(struct tp_usage_frames **out, struct tp_replay_cfg *cfg,
                         struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(cfg->program);
    *out = NULL;
    if (!cfg->frames || !tp_frames_possible(cfg->strategy))
        return TP_OK;
    struct tp_usage_frames *f = tp_own_zeroed(1, sizeof *f);
    if (f) {
        f->devices = tp_own_zeroed(facts->devices, sizeof *f->devices);
        f->numbered = tp_own_zeroed(facts->devices, sizeof *f->numbered);
        f->watches = tp_own_zeroed(facts->devices, sizeof *f->watches);
        f->born = tp_own_zeroed(facts->slots ? facts->slots : 1, sizeof *f->born);
    }
    if (!f || !f->devices || !f->numbered || !f->watches || !f->born) {
        tp_usage_frames_close(f);
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    }
    f->out = cfg->frames;
    f->device_count = facts->devices;
    f->credit = CREDIT_FIRST;
    f->at = AT_BEGIN;
    tp_heap_order_init(&f->order);
    for (uint16_t i = 0; i < f->device_count; i++)
        f->numbered[i] = (struct tp_numbered){.device = i, .next = 1};
    tp_frames_open(f->out, f->out->devices, f->out->most);
    *out = f;
    cfg->layers[cfg->layer_count++] = (struct tp_source_layer){&tp_source_numbered, &f->numbered};
    return TP_OK;
}

void tp_usage_frames_close(struct tp_usage_frames *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->device_count; i++)
        tp_ranges_fini(&f->numbered[i].ranges);
    tp_heap_order_fini(&f->order);
    tp_own_free(f->numbered);
    tp_own_free(f->devices);
    tp_own_free(f->watches);
    tp_own_free(f->born);
    tp_own_free(f);
}

void tp_usage_frames_join(struct tp_usage_frames *f, struct tp_usage *u)
{
    u->frames = f;
    u->watches = f->watches;
    u->born = f->born;
}

/* ---- one walk ---- */

/* Walks the strategy and sums its bytes by kind. */
static int walk(struct tp_usage *u, uint16_t device, struct tp_heap_layout *heap,
                uint64_t kinds[TP_WALK_COUNT])
{
    struct tp_usage_frames *f = u->frames;
    const struct tp_replayer *p = u->replayer;
    tp_heap_order_begin(&f->order, &f->numbered[device], p, f->born);
    if (p->strategy->walk(p->instances[device].state, tp_heap_order_add, &f->order))
        return TP_EUNSUP;
    int status = tp_heap_order_end(&f->order, heap, u->err);
    if (status)
        return status;
    for (size_t i = 0; i < heap->piece_count; i++)
        kinds[heap->pieces[i].kind] += heap->pieces[i].size;
    f->devices[device].pieces = heap->piece_count;
    return tp_usage_check_books(u, &u->devices[device], kinds);
}

/* ---- a frame ---- */

/* Of a frame of any device. */
static int64_t least_cost(const struct tp_usage_frames *f, const struct tp_replayer *p)
{
    return COST_FRAME + COST_KEPT * (int64_t)f->out->most + COST_SLOT * (int64_t)p->facts->slots;
}

/* Estimated from the last walk of the device. */
static int64_t cost_of(const struct tp_usage_frames *f, const struct tp_replayer *p,
                       const struct framed_device *fd)
{
    return least_cost(f, p) + COST_PIECE * (int64_t)fd->pieces;
}

/* How much must change for the next frame, bytes. */
static uint64_t step_of(const struct tp_usage *u, const struct tp_usage_device *d,
                        const struct framed_device *fd)
{
    const struct tp_usage_frames *f = u->frames;
    uint64_t most = fd->peak > d->demand->bytes ? fd->peak : d->demand->bytes;
    if (u->replayer->facts->instructions <= SHORT * (uint64_t)f->out->most)
        return 1;
    return most / (f->credit > CREDIT_FIRST / 2 ? STEPS_PLENTY : STEPS) + 1;
}

static void note_taken(struct tp_usage *u, struct tp_usage_device *d, struct framed_device *fd)
{
    fd->allocated = d->allocated;
    fd->reserved = d->account->reserved;
    fd->taken_at = u->frames->at;
    u->frames->credit -= cost_of(u->frames, u->replayer, fd);
    fd->step = step_of(u, d, fd);
}

static void take_anew(struct tp_usage *u, struct tp_usage_device *d, uint32_t reasons)
{
    struct tp_usage_frames *f = u->frames;
    uint16_t device = (uint16_t)(d - u->devices);
    struct framed_device *fd = &f->devices[device];
    struct tp_frame frame = {.event = f->event,
                             .time_ns = u->timed ? u->clock : TP_NONE,
                             .requested = d->requested,
                             .allocated = d->allocated,
                             .reserved = d->account->reserved,
                             .page_rest = d->account->reserved - tp_account_ranges(d->account),
                             .reasons = reasons,
                             .mark = d->mark};
    struct tp_heap_layout heap;
    int status = walk(u, device, &heap, frame.kinds);
    note_taken(u, d, fd);
    if (status) {
        u->status = u->status || status == TP_EUNSUP ? u->status : status;
        return;
    }
    tp_frames_add(f->out, device, &frame, &heap, &fd->coarseness);
}

/* Takes a frame, or gives the last one more reasons where nothing has happened since. */
static void take_frame(struct tp_usage *u, struct tp_usage_device *d, uint32_t reasons)
{
    struct tp_usage_frames *f = u->frames;
    uint32_t device = (uint32_t)(d - u->devices);
    struct framed_device *fd = &f->devices[device];
    if (fd->pending)
        reasons |= TP_FRAME_RESERVED;
    if (reasons & TP_FRAME_RESERVED) {
        tp_frames_withdraw(f->out, device, TP_FRAME_RESERVED);
        fd->seen_peak = d->account->reserved;
        fd->pending = false;
    }
    struct tp_frame *last = tp_frames_last(f->out, device);
    if (fd->taken_at == f->at && last && last->event == f->event)
        last->reasons |= reasons;
    else
        take_anew(u, d, reasons);
}

/* ---- when ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The credit now. */
static int64_t credit_of(struct tp_usage_frames *f)
{
    f->credit += (int64_t)(f->at + 1 - f->credited);
    f->credited = f->at + 1;
    return f->credit;
}

/* The reasons for which there must be a frame now. */
static uint32_t musts(const struct tp_usage *u, const struct tp_usage_device *d,
                      struct framed_device *fd)
{
    uint32_t must = u->frames->at == d->demand->insn ? TP_FRAME_DEMAND : 0u;
    if (!d->run->failed_allocations || fd->failed)
        return must;
    fd->failed = true;
    return must | TP_FRAME_FAILED;
}

/* Whether the highest peak may be one of so many bytes. Before the trace has all that it will ever
 * want at once there is a higher one to come, unless the device is nearly full. */
static bool may_be_highest(const struct tp_usage_device *d, const struct framed_device *fd,
                           uint64_t reserved)
{
    const uint64_t capacity = d->run->capacity;
    return fd->failed || reserved >= d->demand->bytes ||
           (capacity != TP_NONE && reserved >= capacity - capacity / NEARLY_FULL);
}

static void follow_peak(const struct tp_usage *u, const struct tp_usage_device *d,
                        struct framed_device *fd)
{
    const uint64_t reserved = d->account->reserved;
    fd->passes |= fd->pending && reserved < fd->peak;
    fd->pending &= reserved == fd->peak;
    if (reserved <= fd->peak)
        return;
    fd->peak = reserved;
    fd->peak_insn = u->frames->at;
    fd->pending = may_be_highest(d, fd, reserved);
}

/* How far allocated bytes may still move before that is worth a frame; 0: it is. */
static uint64_t room_of(const struct tp_usage_device *d, const struct framed_device *fd)
{
    uint64_t moved = distance(d->account->reserved, fd->reserved);
    uint64_t all = moved + distance(d->allocated, fd->allocated);
    return all < fd->step ? fd->step - moved : 0;
}

/* The instruction from `now` on at which there is so much credit. */
static uint64_t when_earned(const struct tp_usage_frames *f, uint64_t now, int64_t credit)
{
    int64_t lacks = credit - f->credit;
    return now + (lacks > 1 ? (uint64_t)lacks - 1 : 0);
}

/* What may be spent on a new peak before it is earned. */
static int64_t lent(const struct framed_device *fd, int64_t cost)
{
    return fd->passes ? PEAKS_LENT * cost : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sets what is watched until the next look. What could not be afforded waits for the credit. */
static void watch(struct tp_usage *u, const struct tp_usage_device *d,
                  const struct framed_device *fd)
{
    struct tp_usage_frames *f = u->frames;
    struct tp_frames_watch *w = &f->watches[d - u->devices];
    const uint64_t room = room_of(d, fd), now = f->at + 1;
    const int64_t cost = cost_of(f, u->replayer, fd);
    credit_of(f);
    *w = (struct tp_frames_watch){
        .width = UINT64_MAX, .reserved = d->account->reserved, .next = UINT64_MAX};
    if (room) {
        w->low = fd->allocated > room - 1 ? fd->allocated - (room - 1) : 0;
        w->width = fd->allocated + (room - 1) - w->low;
    } else {
        w->next = when_earned(f, now, 2 * cost);
    }
    if (fd->pending)
        w->next = least_of(w->next, when_earned(f, now, cost - lent(fd, cost)));
    if (d->demand->event && d->demand->insn >= now)
        w->next = least_of(w->next, d->demand->insn);
}

/* Whether a reason, or a peak that is pending, is worth its cost now. A peak may wait while blocks
 * are asked for one after the other, which will not make it smaller. */
static bool affords(struct tp_usage *u, const struct framed_device *fd, uint32_t why, bool grows)
{
    const int64_t cost = cost_of(u->frames, u->replayer, fd), credit = credit_of(u->frames);
    if (fd->pending && !grows && credit + lent(fd, cost) >= cost)
        return true;
    return why && credit >= (why == TP_FRAME_CHANGE ? 2 * cost : cost);
}

/* Looks at a device after an instruction. `why` is a reason for a frame, or 0; `grows`: the next
 * instruction asks for a block of it. */
static void look(struct tp_usage *u, struct tp_usage_device *d, uint32_t why, bool grows)
{
    struct tp_usage_frames *f = u->frames;
    struct framed_device *fd = &f->devices[d - u->devices];
    const uint32_t must = musts(u, d, fd);
    follow_peak(u, d, fd);
    why |= room_of(d, fd) ? 0u : TP_FRAME_CHANGE;
    const bool pays = (why || fd->pending) && affords(u, fd, why, grows);
    if (must || pays)
        take_frame(u, d, must | (pays ? why : 0u));
    watch(u, d, fd);
}

void tp_usage_frames_begin(struct tp_usage *u)
{
    struct tp_usage_frames *f = u->frames;
    for (uint32_t i = 0; i < f->device_count && !f->again; i++) {
        struct tp_usage_device *d = &u->devices[i];
        struct framed_device *fd = &f->devices[i];
        fd->failed = d->run->failed_allocations;
        fd->peak = d->account->reserved;
        fd->pending = true; /* most of it, so far */
        take_frame(u, d,
                   TP_FRAME_BEGIN | (fd->failed ? TP_FRAME_FAILED : 0u) |
                       (d->demand->event ? 0u : TP_FRAME_DEMAND));
    }
}

void tp_usage_frames_failed(struct tp_usage *u, uint16_t device)
{
    u->watches[device].next = 0;
}

/* In the second replay: takes what was missed, and stops when that is all. */
static void look_again(struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_usage_frames *f = u->frames;
    struct framed_device *fd = &f->devices[d - u->devices];
    if (!fd->missed || f->at != fd->peak_insn)
        return;
    fd->missed = false;
    take_frame(u, d, TP_FRAME_RESERVED);
    u->replayer->stop |= --f->missed == 0;
}

void tp_usage_frames_after(struct tp_usage *u, const struct tp_window *w, uint32_t index)
{
    const struct tp_insn *insn = &w->insns[index];
    struct tp_usage_frames *f = u->frames;
    const bool marks = insn->op == TP_MARK;
    if (w->initial_heap)
        return;
    f->at = w->first_insn + index;
    f->event = tp_window_event(w, index);
    if (marks && credit_of(f) < least_cost(f, u->replayer))
        return; /* it changes no memory, and concerns all devices */
    const bool grows =
        index + 1 < w->count && insn[1].op == TP_ALLOC && insn[1].device == insn->device;
    uint32_t first = marks ? 0 : tp_usage_first(insn);
    uint32_t end = marks ? f->device_count : tp_usage_end(insn, f->device_count);
    for (uint32_t i = first; i < end; i++)
        if (f->again)
            look_again(u, &u->devices[i]);
        else
            look(u, &u->devices[i], marks ? TP_FRAME_MARK : 0u, grows);
}

void tp_usage_frames_replayed(struct tp_usage *u, const struct tp_window *w)
{
    uint32_t index = u->replayer->stop ? u->replayer->stopped : w->count - 1;
    u->frames->at = w->first_insn + index;
    u->frames->event = tp_window_event(w, index);
}

void tp_usage_frames_end(struct tp_usage *u)
{
    for (uint32_t i = 0; i < u->frames->device_count; i++) {
        if (!u->frames->again)
            take_frame(u, &u->devices[i], TP_FRAME_END);
        u->frames->numbered[i].over = true;
    }
}

bool tp_usage_frames_missed(struct tp_usage_frames *f, const struct tp_replay_cfg *cfg)
{
    if (!f || f->again || tp_replay_source_flags(cfg) & TP_SRC_DEVICE)
        return false;
    for (uint32_t i = 0; i < f->device_count; i++) {
        struct framed_device *fd = &f->devices[i];
        fd->missed = fd->seen_peak < fd->peak;
        f->missed += fd->missed;
        fd->pending = false;
        tp_ranges_fini(&f->numbered[i].ranges);
        f->numbered[i] = (struct tp_numbered){.device = (uint16_t)i, .next = 1};
        fd->taken_at = AT_BEGIN;
        f->watches[i] = (struct tp_frames_watch){.next = 0};
    }
    f->again = f->missed;
    return f->again;
}
