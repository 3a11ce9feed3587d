/* See usage_frames.h. The pass does not know what comes, so a frame is taken where something seems
 * worth it, and tp_frames_add thins them afterwards.
 *
 *     always       begin, peak demand, the first failure, end
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
 * that frame is missing at the end: the program is played once more, up to that moment.
 *
 * A decorator of the source numbers the ranges, by which frames order their rows: no address is in
 * a frame, and it is the same wherever the ranges lie.
 *
 * Known weakness: the second replay takes as long as a pass. It happens with heaps of many blocks
 * that give memory back with each free. */
#include "alloc/engine/usage_frames.h"

#include "alloc/base/addr_map.h"
#include "alloc/base/grow.h"
#include "alloc/base/merge_sort.h"
#include "alloc/base/own.h"

#include <string.h>

/* In instructions of the pass: what there is at first, and what a frame costs by itself, for each
 * frame that is compared, for each slot and for each piece. */
enum { CREDIT_FIRST = 1 << 22, COST_FRAME = 256, COST_KEPT = 8, COST_SLOT = 4, COST_PIECE = 96 };

/* Frames of new peaks may be taken on credit that is still to be earned: so many. */
enum { PEAKS_LENT = 8 };

/* Changes from nothing to the most that is held: while there is plenty of credit, and later. A
 * short program has a frame wherever anything changes. */
enum { STEPS_PLENTY = 64, STEPS = 16, SHORT = 4 };

/* A range or a space that the strategy has. */
struct framed_range {
    tp_addr addr; /* 0: a free element, and `number` is the index + 1 of the next one */
    uint64_t size, number;
};

struct framed_device {
    struct tp_addr_map places; /* address -> index in `held` */
    struct framed_range *held; /* of which held_count have been used */
    size_t held_count, held_room;
    uint64_t spare;             /* the first free element: its index + 1; 0: none */
    uint64_t numbers;           /* given so far */
    uint64_t granted, reserved; /* in the last frame */
    uint64_t taken_at;          /* the instruction before it */
    uint64_t step;              /* bytes: a change of this much is worth a frame */
    uint64_t peak, peak_insn;   /* most that was reserved after an instruction, and which */
    uint64_t seen_peak;         /* that there is a frame of */
    uint64_t pieces;            /* of the last walk */
    unsigned coarseness;
    bool pending; /* as much as ever is reserved, and there is no frame of it */
    bool failed;  /* there is a frame of the first failure */
    bool missed;  /* taken in the second replay */
    bool over;    /* no frames are taken any more, and ranges need no numbers */
};

#define AT_BEGIN UINT64_MAX /* before the first instruction */

struct tp_usage_frames {
    struct tp_frames *out;
    struct framed_device *devices;
    struct tp_frames_watch *watches;
    uint32_t device_count;
    uint64_t *born;
    uint64_t at, event; /* the last instruction that was looked at, or played, and its event */
    int64_t credit;     /* negative after frames that are always taken */
    uint64_t credited;  /* instructions for which it was earned */
    uint32_t missed;    /* frames that the second replay has still to take */
    bool again;         /* this is the second replay */
    /* of one walk */
    struct tp_addr_map live; /* address of a live block -> its event */
    struct tp_heap_piece *pieces, *spare;
    struct tp_heap_range *ranges;
    size_t piece_count, piece_room, spare_room, range_count, range_room, held_count, held_room;
    struct framed_device *walked;
    struct framed_range *held;       /* by address; there is room for as many behind them */
    const struct framed_range *last; /* the range of the last piece */
    bool no_memory, nowhere;         /* a piece is in no range */
};

/* ---- the decorator: numbers of ranges ---- */

struct numbered_source {
    struct tp_source *inner;
    struct framed_device *device;
};

static int numbered_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct numbered_source *s = state;
    struct tp_usage_frames *const *opts = cfg->opts;
    (void)err;
    *s = (struct numbered_source){.inner = cfg->inner, .device = &(*opts)->devices[cfg->device]};
    return TP_OK;
}

/* Makes room for one more range, so that one that was given can always be noted. */
static int keep_room(struct framed_device *d)
{
    if (d->over)
        return TP_OK;
    int rc = d->spare ? TP_OK
                      : TP_GROW(&d->held, &d->held_room, d->held_count + 1, NULL, .what = "ranges",
                                .own = true);
    return rc ? rc : tp_addr_map_reserve(&d->places, d->places.count + UINT64_C(1));
}

static void number(struct framed_device *d, tp_addr addr, uint64_t size)
{
    uint64_t index = d->spare ? d->spare - 1 : d->held_count;
    if (d->over)
        return;
    if (d->spare)
        d->spare = d->held[index].number;
    else
        d->held_count++;
    d->held[index] = (struct framed_range){addr, size, ++d->numbers};
    tp_addr_map_insert(&d->places, addr, index);
}

static void forget(struct framed_device *d, tp_addr addr)
{
    uint64_t index;
    if (d->over || !tp_addr_map_remove(&d->places, addr, &index))
        return;
    d->held[index] = (struct framed_range){.number = d->spare};
    d->spare = index + 1;
}

static int numbered_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = keep_room(s->device);
    if (!rc)
        rc = tp_src_get(s->inner, size, align, out);
    if (!rc)
        number(s->device, *out, size);
    return rc;
}

static int numbered_put(void *state, tp_addr addr, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_put(s->inner, addr, size);
    if (!rc)
        forget(s->device, addr);
    return rc;
}

static int numbered_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = keep_room(s->device);
    if (!rc)
        rc = tp_src_space_get(s->inner, size, unit, out);
    if (!rc)
        number(s->device, *out, size);
    return rc;
}

static int numbered_space_put(void *state, tp_addr base, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_space_put(s->inner, base, size);
    if (!rc)
        forget(s->device, base);
    return rc;
}

static const struct tp_source_ops numbered_ops = {
    .name = "numbered",
    .summary = "numbers what passes",
    .flags = TP_SRC_DECORATOR,
    .state_size = sizeof(struct numbered_source),
    .init = numbered_init,
    .get = numbered_get,
    .put = numbered_put,
    .space_get = numbered_space_get,
    .space_put = numbered_space_put,
};

/* ---- opening ---- */

static void *map_get(void *ctx, size_t size)
{
    (void)ctx;
    return tp_own_zeroed(1, size);
}

static void map_put(void *ctx, void *p, size_t size)
{
    (void)ctx, (void)size;
    tp_own_free(p);
}

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
        f->watches = tp_own_zeroed(facts->devices, sizeof *f->watches);
        f->born = tp_own_zeroed(facts->slots ? facts->slots : 1, sizeof *f->born);
    }
    if (!f || !f->devices || !f->watches || !f->born) {
        tp_usage_frames_close(f);
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    }
    f->out = cfg->frames;
    f->device_count = facts->devices;
    f->credit = CREDIT_FIRST;
    f->at = AT_BEGIN;
    tp_addr_map_init(&f->live, map_get, map_put, NULL);
    for (uint32_t i = 0; i < f->device_count; i++)
        tp_addr_map_init(&f->devices[i].places, map_get, map_put, NULL);
    tp_frames_open(f->out, f->out->devices, f->out->most);
    *out = f;
    cfg->layers[cfg->layer_count++] = (struct tp_source_layer){&numbered_ops, out};
    return TP_OK;
}

void tp_usage_frames_close(struct tp_usage_frames *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; f->devices && i < f->device_count; i++) {
        tp_addr_map_fini(&f->devices[i].places);
        TP_GROW_END(&f->devices[i].held, &f->devices[i].held_room, .own = true);
    }
    tp_addr_map_fini(&f->live);
    TP_GROW_END(&f->pieces, &f->piece_room, .own = true);
    TP_GROW_END(&f->spare, &f->spare_room, .own = true);
    TP_GROW_END(&f->ranges, &f->range_room, .own = true);
    TP_GROW_END(&f->held, &f->held_room, .own = true);
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

/* Notes the events of all live blocks of a device. */
static void list_live(struct tp_usage_frames *f, const struct tp_player *p, uint16_t device)
{
    tp_addr_map_clear(&f->live);
    for (uint32_t i = 0; i < p->facts->slots && !f->no_memory; i++) {
        const struct tp_slot *s = &p->slots[i];
        if (s->addr && tp_slot_device(s) == device && !tp_addr_map_find(&f->live, s->addr))
            f->no_memory = tp_addr_map_insert(&f->live, s->addr, f->born[i]) != TP_OK;
    }
}

static bool lies_before(const void *a, const void *b)
{
    return ((const struct framed_range *)a)->addr < ((const struct framed_range *)b)->addr;
}

/* Lists the ranges of the device by address, for the pieces to find theirs. */
static void list_held(struct tp_usage_frames *f)
{
    const struct framed_device *d = f->walked;
    const size_t most = d->places.count;
    f->held_count = 0;
    f->no_memory =
        TP_GROW(&f->held, &f->held_room, 2 * most, NULL, .what = "ranges", .own = true) != TP_OK;
    for (size_t i = 0; !f->no_memory && i < d->held_count; i++)
        if (d->held[i].addr)
            f->held[f->held_count++] = d->held[i];
    if (f->held_count)
        tp_merge_sort(f->held, f->held + most, f->held_count, sizeof *f->held, lies_before);
}

/* The range that has the address; NULL: none. */
static const struct framed_range *find_held(const struct tp_usage_frames *f, tp_addr addr)
{
    size_t low = 0, high = f->held_count; /* those before `low` begin at `addr` or before */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->held[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct framed_range *r = low ? &f->held[low - 1] : NULL;
    return r && addr - r->addr < r->size ? r : NULL;
}

static void collect(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct tp_usage_frames *f = ctx;
    if (!f->last || addr - f->last->addr >= f->last->size)
        f->last = find_held(f, addr);
    if (!size || f->no_memory)
        return;
    if (!f->last || size > f->last->size - (addr - f->last->addr) || kind >= TP_WALK_COUNT) {
        f->nowhere = true;
        return;
    }
    if (TP_GROW(&f->pieces, &f->piece_room, f->piece_count + 1, NULL, .what = "pieces",
                .own = true)) {
        f->no_memory = true;
        return;
    }
    const uint64_t *event = kind == TP_WALK_LIVE ? tp_addr_map_find(&f->live, addr) : NULL;
    f->pieces[f->piece_count++] = (struct tp_heap_piece){.number = f->last->number,
                                                         .offset = addr - f->last->addr,
                                                         .size = size,
                                                         .event = event ? *event : 0,
                                                         .kind = kind};
}

static bool is_before(const void *a, const void *b)
{
    const struct tp_heap_piece *x = a, *y = b;
    return x->number != y->number ? x->number < y->number : x->offset < y->offset;
}

/* Most walks name the pieces in this order. */
static bool sort_pieces(struct tp_usage_frames *f)
{
    if (TP_GROW(&f->spare, &f->spare_room, f->piece_count, NULL, .what = "pieces", .own = true))
        return false;
    tp_merge_sort(f->pieces, f->spare, f->piece_count, sizeof *f->pieces, is_before);
    return true;
}

/* Makes the list of ranges from the sorted pieces. TP_EBROKEN: two overlap. */
static int list_ranges(struct tp_usage_frames *f)
{
    f->range_count = 0;
    for (size_t i = 0; i < f->piece_count; i++) {
        const struct tp_heap_piece *p = &f->pieces[i];
        struct tp_heap_range *r = f->range_count ? &f->ranges[f->range_count - 1] : NULL;
        if (!r || r->number != p->number) {
            if (TP_GROW(&f->ranges, &f->range_room, f->range_count + 1, NULL, .what = "ranges",
                        .own = true))
                return TP_ENOMEM;
            r = &f->ranges[f->range_count++];
            *r = (struct tp_heap_range){.number = p->number, .first = i};
        }
        if (p->offset < r->size)
            return TP_EBROKEN;
        r->size = p->offset + p->size;
        r->bytes += p->size;
        r->count++;
    }
    return TP_OK;
}

static int fail_walk(const struct tp_usage *u, int status)
{
    if (status == TP_ENOMEM)
        return tp_fail(u->err, TP_ENOMEM, "tapool itself ran out of memory");
    return tp_fail(u->err, TP_EBROKEN,
                   "strategy '%s' names bytes in its walk that are in none of its ranges, or twice",
                   u->player->strategy->name);
}

/* Walks the strategy and puts its heap in order. */
static int walk(struct tp_usage *u, uint16_t device, uint64_t kinds[TP_WALK_COUNT])
{
    struct tp_usage_frames *f = u->frames;
    f->piece_count = 0;
    f->walked = &f->devices[device];
    f->last = NULL;
    f->nowhere = false;
    list_held(f);
    list_live(f, u->player, device);
    if (u->player->strategy->walk(u->player->instances[device].state, collect, f) != TP_OK)
        return TP_EUNSUP;
    for (size_t i = 0; i < f->piece_count; i++)
        kinds[f->pieces[i].kind] += f->pieces[i].size;
    f->walked->pieces = f->piece_count;
    if (f->no_memory || !sort_pieces(f))
        return fail_walk(u, TP_ENOMEM);
    int status = f->nowhere ? TP_EBROKEN : tp_usage_check_books(u, &u->devices[device], kinds);
    if (status)
        return f->nowhere ? fail_walk(u, status) : status;
    status = list_ranges(f);
    return status ? fail_walk(u, status) : TP_OK;
}

/* ---- a frame ---- */

/* Of a frame of any device. */
static int64_t least_cost(const struct tp_usage_frames *f, const struct tp_player *p)
{
    return COST_FRAME + COST_KEPT * (int64_t)f->out->most + COST_SLOT * (int64_t)p->facts->slots;
}

/* Estimated from the last walk of the device. */
static int64_t cost_of(const struct tp_usage_frames *f, const struct tp_player *p,
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
    if (u->player->facts->instructions <= SHORT * (uint64_t)f->out->most)
        return 1;
    return most / (f->credit > CREDIT_FIRST / 2 ? STEPS_PLENTY : STEPS) + 1;
}

static void note_taken(struct tp_usage *u, struct tp_usage_device *d, struct framed_device *fd)
{
    fd->granted = d->granted;
    fd->reserved = d->account->reserved;
    fd->taken_at = u->frames->at;
    u->frames->credit -= cost_of(u->frames, u->player, fd);
    fd->step = step_of(u, d, fd);
}

static void take_anew(struct tp_usage *u, struct tp_usage_device *d, uint32_t reasons)
{
    struct tp_usage_frames *f = u->frames;
    uint16_t device = (uint16_t)(d - u->devices);
    struct framed_device *fd = &f->devices[device];
    struct tp_frame frame = {.event = f->event,
                             .time_ns = u->timed ? u->clock - d->began : TP_NONE,
                             .requested = d->requested,
                             .granted = d->granted,
                             .reserved = d->account->reserved,
                             .page_rest = d->account->reserved - tp_account_ranges(d->account),
                             .reasons = reasons,
                             .mark = d->mark};
    int status = walk(u, device, frame.kinds);
    note_taken(u, d, fd);
    if (status) {
        u->status = u->status || status == TP_EUNSUP ? u->status : status;
        return;
    }
    const struct tp_heap_layout heap = {.ranges = f->ranges,
                                        .range_count = f->range_count,
                                        .pieces = f->pieces,
                                        .piece_count = f->piece_count};
    tp_frames_add(f->out, device, &frame, &heap, &fd->coarseness);
}

/* Takes a frame, or gives the last one more reasons where nothing has happened since. */
static void take(struct tp_usage *u, struct tp_usage_device *d, uint32_t reasons)
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

/* Notes a new peak. Before the trace has all that it will ever want at once there is a higher one
 * to come, unless something fails. */
static void follow_peak(const struct tp_usage *u, const struct tp_usage_device *d,
                        struct framed_device *fd)
{
    const uint64_t reserved = d->account->reserved;
    fd->pending &= reserved == fd->peak;
    if (reserved <= fd->peak)
        return;
    fd->peak = reserved;
    fd->peak_insn = u->frames->at;
    fd->pending = reserved >= d->demand->bytes || fd->failed;
}

/* How far granted bytes may still move before that is worth a frame; 0: it is. */
static uint64_t room_of(const struct tp_usage_device *d, const struct framed_device *fd)
{
    uint64_t moved = distance(d->account->reserved, fd->reserved);
    uint64_t all = moved + distance(d->granted, fd->granted);
    return all < fd->step ? fd->step - moved : 0;
}

/* The instruction from `now` on at which there is so much credit. */
static uint64_t when_earned(const struct tp_usage_frames *f, uint64_t now, int64_t credit)
{
    int64_t lacks = credit - f->credit;
    return now + (lacks > 1 ? (uint64_t)lacks - 1 : 0);
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
    const int64_t cost = cost_of(f, u->player, fd);
    credit_of(f);
    *w = (struct tp_frames_watch){
        .width = UINT64_MAX, .reserved = d->account->reserved, .next = UINT64_MAX};
    if (room) {
        w->low = fd->granted > room - 1 ? fd->granted - (room - 1) : 0;
        w->width = fd->granted + (room - 1) - w->low;
    } else {
        w->next = when_earned(f, now, 2 * cost);
    }
    if (fd->pending)
        w->next = least_of(w->next, when_earned(f, now, cost - PEAKS_LENT * cost));
    if (d->demand->event && d->demand->insn >= now)
        w->next = least_of(w->next, d->demand->insn);
}

/* Whether a reason, or a peak that is pending, is worth its cost now. A peak may wait while blocks
 * are asked for one after the other, which will not make it smaller. */
static bool affords(struct tp_usage *u, const struct framed_device *fd, uint32_t why, bool grows)
{
    const int64_t cost = cost_of(u->frames, u->player, fd), credit = credit_of(u->frames);
    if (fd->pending && !grows && credit + PEAKS_LENT * cost >= cost)
        return true;
    return why && credit >= (why == TP_FRAME_CHANGE ? 2 * cost : cost);
}

/* Looks at a device after an instruction. `why` is a reason for a frame, or 0; `grows`: the next
 * instruction asks for a block. */
static void look(struct tp_usage *u, struct tp_usage_device *d, uint32_t why, bool grows)
{
    struct tp_usage_frames *f = u->frames;
    struct framed_device *fd = &f->devices[d - u->devices];
    const uint32_t must = musts(u, d, fd);
    follow_peak(u, d, fd);
    why |= room_of(d, fd) ? 0u : TP_FRAME_CHANGE;
    const bool pays = (why || fd->pending) && affords(u, fd, why, grows);
    if (must || pays)
        take(u, d, must | (pays ? why : 0u));
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
        take(u, d,
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
    take(u, d, TP_FRAME_RESERVED);
    u->player->stop |= --f->missed == 0;
}

void tp_usage_frames_after(struct tp_usage *u, const struct tp_window *w, uint32_t index)
{
    const struct tp_insn *insn = &w->insns[index];
    struct tp_usage_frames *f = u->frames;
    const bool marks = insn->op == TP_MARK;
    if (w->prologue)
        return;
    f->at = w->first_insn + index;
    f->event = tp_window_event(w, index);
    if (marks && credit_of(f) < least_cost(f, u->player))
        return; /* it changes no memory, and concerns all devices */
    const bool grows = index + 1 < w->count && insn[1].op == TP_ALLOC;
    uint32_t first = marks ? 0 : tp_usage_first(insn);
    uint32_t end = marks ? f->device_count : tp_usage_end(insn, f->device_count);
    for (uint32_t i = first; i < end; i++)
        if (f->again)
            look_again(u, &u->devices[i]);
        else
            look(u, &u->devices[i], marks ? TP_FRAME_MARK : 0u, grows);
}

void tp_usage_frames_played(struct tp_usage *u, const struct tp_window *w)
{
    uint32_t index = u->player->stop ? u->player->stopped : w->count - 1;
    u->frames->at = w->first_insn + index;
    u->frames->event = tp_window_event(w, index);
}

void tp_usage_frames_end(struct tp_usage *u)
{
    for (uint32_t i = 0; i < u->frames->device_count; i++) {
        if (!u->frames->again)
            take(u, &u->devices[i], TP_FRAME_END);
        u->frames->devices[i].over = true;
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
        fd->pending = fd->over = false;
        fd->numbers = fd->spare = fd->held_count = 0;
        tp_addr_map_clear(&fd->places);
        fd->taken_at = AT_BEGIN;
        f->watches[i] = (struct tp_frames_watch){.next = 0};
    }
    f->again = f->missed;
    return f->again;
}
