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
#include "alloc/base/own.h"
#include "alloc/range_table.h"

#include <string.h>

/* In instructions of the pass: what there is at first, and what a frame costs by itself, for each
 * frame that is compared, for each slot and for each piece. */
enum { CREDIT_FIRST = 1 << 20, COST_FRAME = 64, COST_KEPT = 3, COST_SLOT = 2, COST_PIECE = 32 };

enum { STEPS = 16 }; /* changes from nothing to the most that is held */

struct framed_device {
    struct range_table places;  /* ranges and spaces; tag_addr: number */
    uint64_t numbers;           /* given so far */
    uint64_t granted, reserved; /* in the last frame */
    uint64_t since;             /* instructions since then */
    uint64_t step;              /* bytes: a change of this much is worth a frame */
    uint64_t peak, peak_insn;   /* most that was reserved after an instruction, and which */
    uint64_t seen_peak;         /* that there is a frame of */
    uint64_t pieces;            /* of the last walk */
    unsigned coarseness;
    bool pending; /* as much as ever is reserved, and there is no frame of it */
    bool failed;  /* there is a frame of the first failure */
    bool missed;  /* taken in the second replay */
};

struct tp_usage_frames {
    struct tp_frames *out;
    struct framed_device *devices;
    uint32_t device_count;
    uint64_t *born;  /* by slot: the event that gave the block its size */
    uint64_t event;  /* of the instruction that is played */
    int64_t credit;  /* negative after frames that are always taken */
    uint32_t missed; /* frames that the second replay has still to take */
    bool again;      /* this is the second replay */
    /* of one walk */
    struct tp_addr_map live; /* address of a live block -> its event */
    struct tp_heap_piece *pieces, *spare;
    struct tp_heap_range *ranges;
    size_t piece_count, piece_room, spare_room, range_count, range_room;
    struct framed_device *walked;
    const struct range_item *last; /* the range of the last piece */
    bool no_memory, nowhere;       /* a piece is in no range */
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

static void number(struct framed_device *d, tp_addr addr, uint64_t size)
{
    range_table_insert(&d->places,
                       (struct range_item){.addr = addr, .size = size, .tag_addr = ++d->numbers});
}

static void forget(struct framed_device *d, tp_addr addr)
{
    const struct range_item *at = range_table_find(&d->places, addr);
    if (at && at->addr == addr)
        range_table_remove(&d->places, at);
}

static int numbered_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = range_table_reserve(&s->device->places);
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
    int rc = range_table_reserve(&s->device->places);
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
        f->born = tp_own_zeroed(facts->slots ? facts->slots : 1, sizeof *f->born);
    }
    if (!f || !f->devices || !f->born) {
        tp_usage_frames_close(f);
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    }
    f->out = cfg->frames;
    f->device_count = facts->devices;
    f->credit = CREDIT_FIRST;
    tp_addr_map_init(&f->live, map_get, map_put, NULL);
    tp_frames_open(f->out, f->out->devices, f->out->most);
    *out = f;
    cfg->layers[cfg->layer_count++] = (struct tp_source_layer){&numbered_ops, out};
    return TP_OK;
}

void tp_usage_frames_close(struct tp_usage_frames *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; f->devices && i < f->device_count; i++)
        range_table_fini(&f->devices[i].places);
    tp_addr_map_fini(&f->live);
    TP_GROW_END(&f->pieces, &f->piece_room, .own = true);
    TP_GROW_END(&f->spare, &f->spare_room, .own = true);
    TP_GROW_END(&f->ranges, &f->range_room, .own = true);
    tp_own_free(f->devices);
    tp_own_free(f->born);
    tp_own_free(f);
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

static void collect(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct tp_usage_frames *f = ctx;
    if (!f->last || addr - f->last->addr >= f->last->size)
        f->last = range_table_find(&f->walked->places, addr);
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
    f->pieces[f->piece_count++] = (struct tp_heap_piece){.number = f->last->tag_addr,
                                                         .offset = addr - f->last->addr,
                                                         .size = size,
                                                         .event = event ? *event : 0,
                                                         .kind = kind};
}

static bool is_before(const struct tp_heap_piece *a, const struct tp_heap_piece *b)
{
    return a->number != b->number ? a->number < b->number : a->offset < b->offset;
}

/* The end of the stretch in order that begins at `i`. */
static size_t run_end(const struct tp_heap_piece *p, size_t i, size_t count)
{
    size_t end = i < count ? i + 1 : count;
    while (end < count && !is_before(&p[end], &p[end - 1]))
        end++;
    return end;
}

/* Merges two stretches, from..middle and middle..end, of one array into the other. */
static void merge(const struct tp_heap_piece *from, size_t i, size_t middle, size_t end,
                  struct tp_heap_piece *to)
{
    for (size_t low = i, high = middle; i < end; i++) {
        bool lower = high == end || (low < middle && !is_before(&from[high], &from[low]));
        to[i] = from[lower ? low++ : high++];
    }
}

/* Sorts the pieces: stretches that are in order already, as most walks give them, two by two. */
static bool sort_pieces(struct tp_usage_frames *f)
{
    size_t count = f->piece_count, merged = 2;
    if (run_end(f->pieces, 0, count) == count)
        return true;
    if (TP_GROW(&f->spare, &f->spare_room, f->piece_room, NULL, .what = "pieces", .own = true))
        return false;
    while (merged > 1) {
        merged = 0;
        for (size_t i = 0, middle, end; i < count; i = end, merged++) {
            middle = run_end(f->pieces, i, count);
            end = run_end(f->pieces, middle, count);
            merge(f->pieces, i, middle, end, f->spare);
        }
        struct tp_heap_piece *sorted = f->spare;
        size_t room = f->spare_room;
        f->spare = f->pieces;
        f->spare_room = f->piece_room;
        f->pieces = sorted;
        f->piece_room = room;
    }
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
    f->no_memory = f->nowhere = false;
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

/* Estimated from the last walk of the device. */
static int64_t cost_of(const struct tp_usage_frames *f, const struct tp_player *p,
                       const struct framed_device *fd)
{
    return COST_FRAME + COST_KEPT * (int64_t)f->out->most + COST_SLOT * (int64_t)p->facts->slots +
           COST_PIECE * (int64_t)fd->pieces;
}

static void note_taken(struct tp_usage *u, struct tp_usage_device *d, struct framed_device *fd)
{
    uint64_t most = fd->peak > d->demand->bytes ? fd->peak : d->demand->bytes;
    fd->granted = d->granted;
    fd->reserved = d->account->reserved;
    fd->since = 0;
    fd->step = most / STEPS + 1;
    u->frames->credit -= cost_of(u->frames, u->player, fd);
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
    if (!fd->since && last && last->event == f->event)
        last->reasons |= reasons;
    else
        take_anew(u, d, reasons);
}

/* ---- when ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Looks at a device after an instruction; `why` is a reason for a frame, or 0. */
static void look(struct tp_usage *u, struct tp_usage_device *d, uint64_t insn, uint32_t why)
{
    struct tp_usage_frames *f = u->frames;
    struct framed_device *fd = &f->devices[d - u->devices];
    const uint64_t reserved = d->account->reserved;
    uint32_t must = insn == d->demand->insn ? TP_FRAME_DEMAND : 0u;
    fd->since++;
    fd->pending &= reserved == fd->peak;
    if (reserved > fd->peak) {
        fd->peak = reserved;
        fd->peak_insn = insn;
        fd->pending = true;
    }
    if (d->run->failed_allocations && !fd->failed) {
        fd->failed = true;
        must |= TP_FRAME_FAILED;
    }
    if (distance(d->granted, fd->granted) + distance(reserved, fd->reserved) >= fd->step)
        why |= TP_FRAME_CHANGE;
    if (!(must | why) && !fd->pending)
        return;
    int64_t cost = cost_of(f, u->player, fd);
    bool affords = f->credit >= (why == TP_FRAME_CHANGE && !fd->pending ? 2 * cost : cost);
    if (must || affords)
        take(u, d, must | (affords ? why : 0u));
}

void tp_usage_frames_begin(struct tp_usage *u)
{
    struct tp_usage_frames *f = u->frames;
    for (uint32_t i = 0; i < f->device_count && !f->again; i++) {
        struct tp_usage_device *d = &u->devices[i];
        struct framed_device *fd = &f->devices[i];
        fd->failed = d->run->failed_allocations;
        fd->peak = d->account->reserved;
        fd->pending = true;
        take(u, d,
             TP_FRAME_BEGIN | (fd->failed ? TP_FRAME_FAILED : 0u) |
                 (d->demand->event ? 0u : TP_FRAME_DEMAND));
    }
}

void tp_usage_frames_before(struct tp_usage *u, uint64_t event)
{
    u->frames->event = event;
}

void tp_usage_frames_block(struct tp_usage *u, uint32_t slot)
{
    u->frames->born[slot] = u->frames->event;
}

/* In the second replay: takes what was missed, and stops when that is all. */
static void look_again(struct tp_usage *u, struct tp_usage_device *d, uint64_t insn)
{
    struct tp_usage_frames *f = u->frames;
    struct framed_device *fd = &f->devices[d - u->devices];
    if (!fd->missed || insn != fd->peak_insn)
        return;
    fd->missed = false;
    fd->since = 1;
    take(u, d, TP_FRAME_RESERVED);
    u->player->stop |= --f->missed == 0;
}

void tp_usage_frames_after(struct tp_usage *u, const struct tp_window *w, uint32_t index)
{
    const struct tp_insn *insn = &w->insns[index];
    struct tp_usage_frames *f = u->frames;
    const bool marks = insn->op == TP_MARK;
    const uint64_t at = w->first_insn + index;
    if (w->prologue)
        return;
    f->credit++;
    uint32_t first = marks ? 0 : tp_usage_first(insn);
    uint32_t end = marks ? f->device_count : tp_usage_end(insn, f->device_count);
    for (uint32_t i = first; i < end; i++)
        if (f->again)
            look_again(u, &u->devices[i], at);
        else
            look(u, &u->devices[i], at, marks ? TP_FRAME_MARK : 0u);
}

void tp_usage_frames_end(struct tp_usage *u)
{
    for (uint32_t i = 0; i < u->frames->device_count && !u->frames->again; i++)
        take(u, &u->devices[i], TP_FRAME_END);
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
        fd->numbers = 0;
    }
    f->again = f->missed;
    return f->again;
}
