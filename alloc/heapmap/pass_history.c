/* See history.h. The wrapper that numbers ranges tells what passes; the observer of the replayer
 * tells the rest.
 *
 *     alloc    what the strategy takes and gives back meanwhile, then the block
 *     free     the block, then what the strategy gives back
 *     realloc  the old block as freed, what passed meanwhile, the new block
 *
 * The number of a range is its address in the history, by which addresses are translated:
 *
 *     source   | 0x7f31...: range |    numbers   | 1 << 45: segment | segment | ...
 *
 * Known weakness: where memory was too short for the heap that was recorded, an idle segment of it
 * may be told with the stream and the pool of another one of the same size. */
#include "alloc/heapmap/history.h"

#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"
#include "alloc/engine/passes.h"
#include "alloc/heapmap/heap_order.h"
#include "alloc/program/heap_check.h"

#include <string.h>

#define FIRST_PLACE (UINT64_C(1) << 45) /* of each device, times its number + 1 */
#define PLACES_END  (UINT64_C(1) << 55)
#define PLACE_ALIGN (UINT64_C(2) << 20) /* bytes */

/* What is kept of a range; the tag_size of the range is the index of it. */
struct history_place {
    uint64_t event, pool; /* as in struct tp_history_segment */
    uint16_t stream;
    bool small, mapped;
    bool starting;  /* taken before the first request */
    uint32_t spare; /* index + 1 of the next one that is not used; 0: that was the last */
};

/* Of a live object, beside what the replayer keeps of it. */
struct history_slot {
    uint64_t allocated; /* bytes of its block */
    uint64_t event;     /* of the call that asked for it; 0: live before the first */
    uint64_t pool;      /* that served it */
    bool asked;         /* its free was requested */
};

struct history {
    struct tp_replayer replayer;
    const struct tp_history_sink *sink;
    struct tp_numbered *ranges; /* by device */
    struct tp_range_watcher watcher;
    struct tp_heap_order order;
    struct history_place *places;
    size_t place_count, place_room;
    uint32_t spare;             /* index + 1 of a place that is not used; 0: none */
    const struct tp_insn *insn; /* that is replayed; NULL: the strategy begins or ends */
    uint64_t event, time_ns;    /* of it */
    uint64_t pool;              /* that serves it */
    uint64_t chosen;            /* pool of the next request; 0: none is chosen */
    struct history_slot *slots;
    bool begun, over;              /* the first event has come; the last one has */
    struct tp_history_event *late; /* events about the source during a REALLOC */
    size_t late_count, late_room;
    struct tp_history_event old, fresh; /* the blocks of that REALLOC; size 0: none */
    int status;
    struct tp_err *err;
};

static void tell(struct history *h, const struct tp_history_event *e)
{
    if (h->begun && !h->over && !h->status)
        h->status = h->sink->event(h->sink->ctx, e, h->err);
}

static void no_memory(struct history *h)
{
    if (!h->status)
        h->status = tp_fail(h->err, TP_ENOMEM, "tapool itself ran out of memory");
}

static struct tp_history_event event_of(const struct history *h, enum tp_history_action action,
                                        uint16_t device, uint64_t addr, uint64_t size)
{
    return (struct tp_history_event){.event = h->event,
                                     .time_ns = h->time_ns,
                                     .addr = addr,
                                     .size = size,
                                     .pool = h->pool,
                                     .left = TP_NONE,
                                     .device = device,
                                     .stream = h->insn ? h->insn->stream : 0,
                                     .action = (uint8_t)action};
}

/* ---- ranges ---- */

/* The address in the history. */
static uint64_t placed(const struct tp_numbered *d, tp_addr addr)
{
    const struct tp_address_range *at = tp_ranges_find(&d->ranges, addr);
    return at ? at->tag_addr + (addr - at->addr) : 0;
}

/* To be called when a range has got its address. */
static void check_places(struct history *h, const struct tp_numbered *d)
{
    if (d->next > PLACES_END && !h->status)
        h->status = tp_fail(h->err, TP_EINPUT,
                            "the segments are together larger than the addresses of a device");
}

static uint64_t place_begins(void *ctx, struct tp_numbered *d, bool space)
{
    struct history *h = ctx;
    const struct tp_insn *for_one = h->insn;
    bool asks = for_one && tp_op_is(for_one->op, TP_ASKS);
    check_places(h, d);
    if (!h->spare &&
        TP_GROW(&h->places, &h->place_room, h->place_count + 1, NULL, .what = "places"))
        no_memory(h);
    if (h->status) /* nothing is told from now on, and no place is looked at */
        return 0;
    uint64_t index = h->spare ? h->spare - 1 : h->place_count++;
    if (h->spare)
        h->spare = h->places[index].spare;
    h->places[index] = (struct history_place){.event = for_one ? h->event : 0,
                                              .pool = for_one ? h->pool : 0,
                                              .stream = for_one ? for_one->stream : 0,
                                              .small = asks && for_one->size <= TP_HISTORY_SMALL,
                                              .mapped = space,
                                              .starting = !for_one};
    return index;
}

static void place_ends(void *ctx, uint64_t index)
{
    struct history *h = ctx;
    if (h->status)
        return;
    h->places[index].spare = h->spare;
    h->spare = (uint32_t)index + 1;
}

static void memory_moves(void *ctx, struct tp_numbered *d, enum tp_history_action action,
                         tp_addr addr, uint64_t size)
{
    struct history *h = ctx;
    const struct tp_address_range *place = tp_ranges_find(&d->ranges, addr);
    struct tp_history_event e = event_of(h, action, d->device, placed(d, addr), size);
    if (h->status)
        return;
    e.pool = place ? h->places[place->tag_size].pool : 0;
    if (!h->insn || h->insn->op != TP_REALLOC)
        tell(h, &e);
    else if (TP_GROW(&h->late, &h->late_room, h->late_count + 1, NULL, .what = "segments"))
        no_memory(h);
    else
        h->late[h->late_count++] = e;
}

/* ---- the first event ---- */

/* The segments that the strategy began with, in its order, and those of the recorded heap. */
struct starting {
    struct history *h;
    struct tp_numbered *d;
    struct tp_heap heap;
    uint64_t next; /* segment of the heap */
};

/* Whether a place may be that of a recorded segment: a space is known by its first stretch alone.
 */
static bool is_place_of(const struct history_place *place, uint64_t size,
                        const struct tp_heap_segment *segment)
{
    bool grows = segment->flags & TP_HEAP_EXPANDABLE;
    return place->mapped ? grows : !grows && segment->size == size;
}

static void start_place(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct starting *s = ctx;
    const struct tp_address_range *at = tp_ranges_find(&s->d->ranges, addr);
    (void)kind, (void)size;
    if (!at || s->h->status || !s->h->places[at->tag_size].starting)
        return;
    struct tp_address_range range = *at;
    struct history_place *place = &s->h->places[range.tag_size];
    tp_ranges_remove(&s->d->ranges, at);
    while (s->next < s->heap.segment_count &&
           !is_place_of(place, range.size, &s->heap.segments[s->next]))
        s->next++;
    const struct tp_heap_segment *from =
        s->next < s->heap.segment_count ? &s->heap.segments[s->next++] : NULL;
    range.tag_addr = tp_numbered_next(s->d, range.size);
    check_places(s->h, s->d);
    *place = (struct history_place){.mapped = place->mapped};
    if (from) {
        place->stream = from->stream;
        place->small = from->flags & TP_HEAP_SMALL;
        place->pool = tp_pool_number(from->pool[0], from->pool[1]);
    }
    while (from && from->flags & TP_HEAP_EXPANDABLE && s->next < s->heap.segment_count &&
           tp_heap_reaches(from, range.size, &s->heap.segments[s->next]))
        s->next++;
    tp_ranges_insert(&s->d->ranges, range);
}

/* Segments of a heap that was recorded were taken in some order: the strategy has them in that of
 * its walk. */
static void begin(struct history *h)
{
    const struct tp_strategy *s = h->replayer.strategy;
    const struct tp_heap *heap = tp_program_heap(h->replayer.cfg->program);
    for (uint16_t i = 0; h->replayer.aged && s->walk && i < h->replayer.facts->devices; i++) {
        struct starting starting = {.h = h, .d = &h->ranges[i], .heap = tp_heap_of(heap, i)};
        s->walk(h->replayer.instances[i].state, start_place, &starting);
    }
    h->begun = true;
}

/* ---- the observer ---- */

/* A pool serves the next request; a strategy that knows none serves it like all else. */
static void choose_pool(struct history *h, const struct tp_insn *insn)
{
    if (insn->op == TP_POOL && h->replayer.strategy->choose_pool)
        h->chosen = insn->size;
    h->pool = insn->op == TP_ALLOC ? h->chosen : 0;
    if (insn->op == TP_ALLOC)
        h->chosen = 0;
}

static void before(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct history *h = p->observer_state;
    const struct tp_insn *insn = &w->insns[index];
    if (!h->begun && !w->initial_heap)
        begin(h);
    h->insn = insn;
    h->event = w->initial_heap ? 0 : tp_window_event(w, index);
    h->time_ns = (index ? h->time_ns : w->first_time) + insn->gap_ns;
    if (!p->facts->time_known)
        h->time_ns = h->event * 1000;
    h->late_count = 0;
    h->old.size = h->fresh.size = 0;
    choose_pool(h, insn);
    struct tp_history_event e = event_of(h, TP_HISTORY_MARK, 0, 0, 0);
    e.mark = insn->slot;
    if (insn->op == TP_MARK)
        tell(h, &e);
}

static struct tp_history_event block_event(const struct history *h, enum tp_history_action action,
                                           uint32_t slot)
{
    const struct tp_slot *s = &h->replayer.slots[slot];
    uint16_t device = tp_slot_device(s);
    struct tp_history_event e =
        event_of(h, action, device, placed(&h->ranges[device], s->addr), tp_slot_size(s));
    e.pool = h->slots[slot].pool;
    return e;
}

static void ask_free(struct history *h, uint32_t slot)
{
    struct tp_history_event e = block_event(h, TP_HISTORY_FREE_REQUESTED, slot);
    if (!h->slots[slot].asked)
        tell(h, &e);
    h->slots[slot].asked = true;
}

static void tell_free(struct history *h, uint32_t slot)
{
    struct tp_history_event e = block_event(h, TP_HISTORY_FREE_COMPLETED, slot);
    ask_free(h, slot);
    tell(h, &e);
    h->slots[slot].asked = false;
}

static void block(struct tp_replayer *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both)
{
    struct history *h = p->observer_state;
    struct tp_history_event e = event_of(h, TP_HISTORY_ALLOC, insn->device,
                                         placed(&h->ranges[insn->device], block->addr), insn->size);
    uint64_t allocated = tp_replayer_allocated(p, &p->instances[insn->device], block);
    (void)both;
    h->slots[insn->slot].allocated = allocated > insn->size ? allocated : insn->size;
    h->slots[insn->slot].event = h->event;
    h->slots[insn->slot].pool = h->pool;
    if (insn->op == TP_REALLOC)
        h->fresh = e;
    else
        tell(h, &e);
}

static void leaving(struct tp_replayer *p, uint32_t slot)
{
    struct history *h = p->observer_state;
    if (h->insn->op == TP_REALLOC)
        h->old = block_event(h, TP_HISTORY_FREE_REQUESTED, slot);
    else
        tell_free(h, slot);
}

static void gone(struct tp_replayer *p, uint32_t slot, const struct tp_insn *insn)
{
    (void)p, (void)slot, (void)insn;
}

static void failed(struct tp_replayer *p, const struct tp_insn *insn)
{
    struct history *h = p->observer_state;
    struct tp_source *src = p->instances[insn->device].env.source;
    struct tp_history_event e = event_of(h, TP_HISTORY_OOM, insn->device, 0, insn->size);
    uint64_t capacity = tp_src_capacity(src), taken = tp_src_taken(src);
    if (capacity)
        e.left = capacity > taken ? capacity - taken : 0;
    for (size_t i = 0; i < h->late_count; i++)
        tell(h, &h->late[i]);
    h->late_count = 0;
    tell(h, &e);
}

static void tell_realloc(struct history *h, uint32_t slot)
{
    struct tp_history_event done = h->old;
    done.action = TP_HISTORY_FREE_COMPLETED;
    if (!h->slots[slot].asked)
        tell(h, &h->old);
    h->slots[slot].asked = false;
    tell(h, &done);
    for (size_t i = 0; i < h->late_count; i++)
        tell(h, &h->late[i]);
    tell(h, &h->fresh);
}

static void after(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct history *h = p->observer_state;
    const struct tp_insn *insn = &w->insns[index];
    bool asks = insn->op == TP_NOTE && insn->align_log2 == TP_NOTE_FREE_REQUESTED;
    if (asks && p->slots[insn->slot].addr)
        ask_free(h, insn->slot);
    if (insn->op == TP_REALLOC && h->fresh.size)
        tell_realloc(h, insn->slot);
    p->stop |= h->status != TP_OK;
}

static const struct tp_observer history_observer = {before, block, leaving, gone, failed, after};

static int replay_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                         struct tp_err *err)
{
    struct history *h = ctx;
    tp_replay_observed(p, w);
    return h->status ? h->status : tp_replayer_check(p, w, err);
}

/* ---- the end ---- */

/* The segments of a device, and what lies in them, in the order of the history. */
struct history_end {
    struct history *h;
    const struct tp_numbered *d;
    struct tp_heap_layout layout;
    size_t next;                     /* piece of the layout */
    struct tp_history_block *blocks; /* of one segment */
    struct tp_address_range *segments;
    size_t block_count, block_room, segment_count, segment_room;
};

static int by_range(const void *a, const void *b)
{
    const struct tp_address_range *x = a, *y = b;
    return tp_order(x->addr, y->addr);
}

static void add_block(struct history_end *g, struct tp_history_block b)
{
    if (TP_GROW(&g->blocks, &g->block_room, g->block_count + 1, NULL, .what = "blocks"))
        no_memory(g->h);
    else
        g->blocks[g->block_count++] = b;
}

static void add_free(void *order, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    if (kind != TP_WALK_LIVE)
        tp_heap_order_add(order, kind, addr, size);
}

/* The blocks of the program, and the free pieces that the walk names; without one, none. */
static void lay_out(struct history_end *g)
{
    struct history *h = g->h;
    const struct tp_replayer *p = &h->replayer;
    const uint16_t device = g->d->device;
    tp_heap_order_begin(&h->order, g->d, p, NULL);
    for (uint32_t i = 0; i < p->facts->slots; i++)
        if (p->slots[i].addr && tp_slot_device(&p->slots[i]) == device)
            tp_heap_order_add(&h->order, TP_WALK_LIVE, p->slots[i].addr, h->slots[i].allocated);
    if (p->strategy->walk)
        p->strategy->walk(p->instances[device].state, add_free, &h->order);
    h->status = tp_heap_order_end(&h->order, &g->layout, h->err);
}

static void list_segments(struct history_end *g)
{
    const struct tp_range_table *held = &g->h->replayer.ranges[g->d->device];
    const struct tp_address_range *at = tp_ranges_from(held, 0);
    for (; at && !g->h->status; at = tp_ranges_from(held, at->addr + at->size)) {
        const struct tp_address_range *place = tp_ranges_find(&g->d->ranges, at->addr);
        if (TP_GROW(&g->segments, &g->segment_room, g->segment_count + 1, NULL, .what = "segments"))
            no_memory(g->h);
        else
            g->segments[g->segment_count++] =
                (struct tp_address_range){.addr = place->tag_addr + (at->addr - place->addr),
                                          .size = at->size,
                                          .tag_size = place->tag_size};
    }
    if (g->segment_count)
        qsort(g->segments, g->segment_count, sizeof *g->segments, by_range);
}

/* Adds the bytes from `at` to `to` as a free block. */
static void add_free_block(struct history_end *g, uint64_t at, uint64_t to)
{
    if (at < to)
        add_block(g, (struct tp_history_block){.addr = at, .size = to - at});
}

static void add_piece(struct history_end *g, uint64_t addr, const struct tp_heap_piece *piece)
{
    const struct history_slot *slot = &g->h->slots[piece->slot];
    struct tp_history_block b = {.addr = addr, .size = piece->size};
    if (piece->kind == TP_WALK_LIVE) {
        b.requested = tp_slot_size(&g->h->replayer.slots[piece->slot]);
        b.event = slot->event;
        b.pending = slot->asked;
    }
    add_block(g, b);
}

/* Tells a segment, whose pieces are the next ones. What none of them has is free. */
static void tell_segment(struct history_end *g, const struct tp_address_range *s)
{
    struct history *h = g->h;
    uint64_t at = s->addr;
    const uint64_t end = s->addr + s->size;
    const struct history_place *place = &h->places[s->tag_size];
    const struct tp_history_segment told = {.addr = s->addr,
                                            .size = s->size,
                                            .event = place->event,
                                            .pool = place->pool,
                                            .device = g->d->device,
                                            .stream = place->stream,
                                            .small = place->small,
                                            .mapped = place->mapped};
    g->block_count = 0;
    for (; g->next < g->layout.piece_count; g->next++) {
        const struct tp_heap_piece *piece = &g->layout.pieces[g->next];
        uint64_t addr = piece->number + piece->offset;
        if (addr >= end)
            break;
        add_free_block(g, at, addr);
        add_piece(g, addr, piece);
        at = addr + piece->size;
    }
    add_free_block(g, at, end);
    if (!h->status)
        h->status = h->sink->segment(h->sink->ctx, &told, g->blocks, g->block_count, h->err);
}

static void tell_device(struct history *h, uint16_t device)
{
    struct history_end g = {.h = h, .d = &h->ranges[device]};
    lay_out(&g);
    list_segments(&g);
    for (size_t i = 0; !h->status && i < g.segment_count; i++)
        tell_segment(&g, &g.segments[i]);
    TP_GROW_END(&g.blocks, &g.block_room, .what = NULL);
    TP_GROW_END(&g.segments, &g.segment_room, .what = NULL);
}

/* ---- the whole ---- */

static int open_history(struct history *h, const struct tp_program_facts *f, struct tp_err *err)
{
    h->ranges = calloc(f->devices, sizeof *h->ranges);
    h->slots = calloc(f->slots ? f->slots : 1, sizeof *h->slots);
    h->watcher = (struct tp_range_watcher){place_begins, memory_moves, place_ends, h};
    tp_heap_order_init(&h->order);
    if (!h->ranges || !h->slots)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (uint16_t i = 0; i < f->devices; i++)
        h->ranges[i] = (struct tp_numbered){.next = FIRST_PLACE * (i + 1u),
                                            .align = PLACE_ALIGN,
                                            .watcher = &h->watcher,
                                            .device = i};
    return TP_OK;
}

static void close_history(struct history *h, uint16_t devices)
{
    for (uint16_t i = 0; h->ranges && i < devices; i++)
        tp_ranges_fini(&h->ranges[i].ranges);
    tp_heap_order_fini(&h->order);
    TP_GROW_END(&h->late, &h->late_room, .what = NULL);
    TP_GROW_END(&h->places, &h->place_room, .what = NULL);
    free(h->ranges);
    free(h->slots);
}

static int replay(struct history *h, const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    struct tp_replayer *p = &h->replayer;
    int status = tp_replayer_open(p, cfg, cfg->strategy, err);
    if (status)
        return status;
    p->observer = &history_observer;
    p->observer_state = h;
    p->touch = TP_TOUCH_NONE;
    status = tp_replay_watched(p, "history", replay_window, h, err);
    if (!h->begun) /* there was no event */
        begin(h);
    h->insn = NULL;
    h->over = true;
    for (uint16_t i = 0; !status && !h->status && i < p->facts->devices; i++)
        tell_device(h, i);
    status = status ? status : h->status;
    p->observer = NULL;
    tp_replayer_drain(p);
    status = status ? status : tp_replayer_lost(p, "after the last event", err);
    return tp_replayer_end(p, status, err);
}

int tp_history(const struct tp_replay_cfg *cfg, const struct tp_history_sink *sink,
               struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(cfg->program);
    struct history h = {.sink = sink, .err = err};
    void *current = NULL;
    struct tp_replay_cfg own = *cfg;
    assert(tp_strategy_has_ranges(cfg->strategy));
    own.shared.current = &current;
    own.shared.keeps_ranges = true;
    own.threads = 1;
    own.layers[own.layer_count++] = (struct tp_source_layer){&tp_source_numbered, &h.ranges};
    int status = open_history(&h, facts, err);
    if (!status)
        status = replay(&h, &own, err);
    close_history(&h, facts->devices);
    return status;
}
