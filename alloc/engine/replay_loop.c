/* Instances and the replay loop; see replayer.h. Its body is `replay_part`. Every operation but
 * ALLOC and FREE is rare and kept out of line, so that the hot path stays in a few cache lines. */
#include "alloc/base/cover.h"
#include "alloc/base/steps.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/occupier.h"

#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define RARE   static __attribute__((noinline))

enum mode { MODE_UNTIMED, MODE_LATENCY, MODE_OBSERVED };

enum {
    TOUCH_STRIDE = 4096,    /* bytes; the smallest page size, so that no page fault is missed */
    TOUCH_STRETCH = 1 << 24 /* bytes that are written between two tests for an interruption */
};

/* Writes a byte in every page of [from, size) of a block; what a realloc keeps is already written.
 * The last byte is written too: it may lie in a page of its own where the block does not start at a
 * page. */
INLINE void touch_pages(tp_addr addr, uint64_t from, uint64_t size)
{
    volatile unsigned char *bytes = (volatile unsigned char *)(uintptr_t)addr;
    uint64_t at = (from + TOUCH_STRIDE - 1) / TOUCH_STRIDE * TOUCH_STRIDE;
    for (at = at ? at : TOUCH_STRIDE; at < size; at += TOUCH_STRIDE)
        bytes[at] = 1;
    if (size > from)
        bytes[size - 1] = 1;
}

RARE void touch_stretches(const struct tp_replayer *p, tp_addr addr, uint64_t from, uint64_t size)
{
    for (uint64_t to; from < size && !tp_replayer_interrupted(p); from = to) {
        to = size - from <= TOUCH_STRETCH ? size : from + TOUCH_STRETCH;
        touch_pages(addr, from, to);
    }
}

/* touch_pages, that an interruption ends. */
INLINE void touch_all(const struct tp_replayer *p, tp_addr addr, uint64_t from, uint64_t size)
{
    if (__builtin_expect(size >= TP_TOUCHED_LEAST, 0))
        size = tp_touched_bytes(p->cfg->shared.touched, size);
    if (__builtin_expect(size > TOUCH_STRETCH, 0))
        touch_stretches(p, addr, from, size);
    else
        touch_pages(addr, from, size);
}

uint64_t tp_replayer_allocated(const struct tp_replayer *p, const struct tp_instance *in,
                               const struct tp_block *block)
{
    return block->allocated || !p->strategy->usable ? block->allocated
                                                    : p->strategy->usable(in->state, block->addr);
}

/* Notes the bytes of a block that has been written. */
RARE void cover_block(const struct tp_replayer *p, const struct tp_insn *insn,
                      const struct tp_block *block)
{
    uint64_t allocated = tp_replayer_allocated(p, &p->instances[insn->device], block);
    tp_cover_add(p->cfg->shared.cover, block->addr,
                 allocated > insn->size ? allocated : insn->size);
}

INLINE bool is_covered(const struct tp_replayer *p, enum tp_touch touch)
{
    return touch == TP_TOUCH_ALL && __builtin_expect(p->cfg->shared.cover != NULL, 0);
}

INLINE void touch_block(const struct tp_replayer *p, tp_addr addr, uint64_t size,
                        enum tp_touch touch)
{
    if (touch == TP_TOUCH_NONE)
        return;
    struct word {
        uint64_t value;
    } __attribute__((packed)); /* blocks may be aligned to less than 8 bytes */
    /* volatile, because nobody reads the value and the store must not be removed */
    if (size >= sizeof(struct word))
        ((volatile struct word *)(uintptr_t)addr)->value = addr;
    else
        *(volatile unsigned char *)(uintptr_t)addr = 1;
    if (touch == TP_TOUCH_ALL)
        touch_all(p, addr, 0, size);
}

void *tp_replayer_thread(const struct tp_replayer *p, const struct tp_instance *in, uint16_t thread)
{
    return in->threads + (size_t)thread * p->thread_stride;
}

INLINE struct tp_req request_of(const struct tp_insn *insn, uint64_t size)
{
    return (struct tp_req){
        .size = size, .align = UINT64_C(1) << insn->align_log2, .stream = insn->stream};
}

RARE void set_broken(struct tp_replayer *p, const struct tp_insn *insn, int status)
{
    if (!p->broken) {
        p->broken = status;
        p->broken_insn = insn;
    }
}

/* Records a broken contract when a call that no strategy may refuse has failed. */
INLINE void must(struct tp_replayer *p, const struct tp_insn *insn, int status)
{
    if (__builtin_expect(status != TP_OK, 0))
        set_broken(p, insn, status);
}

/* Handles a failed allocation. Out of memory is data; any other status breaks the contract. */
RARE void alloc_failed(struct tp_replayer *p, const struct tp_insn *insn, int status)
{
    if (status != TP_EOOM) {
        set_broken(p, insn, status);
        return;
    }
    p->failed++;
    if (p->cfg->stop_on_oom || p->instances[insn->device].account.guarded_gets)
        p->stop = true;
    p->instances[insn->device].failed++;
    if (p->observer)
        p->observer->failed(p, insn);
}

/* Copies of what every iteration reads. They can stay in registers, while the compiler must assume
 * that a strategy's call changes the replayer. */
struct hot {
    int (*alloc)(void *, void *, const struct tp_req *, struct tp_block *);
    int (*free)(void *, void *, tp_addr, const struct tp_req *);
    const struct tp_instance *instances;
    struct tp_slot *slots;
    size_t thread_stride;
    void *state; /* state of the instance of device 0 */
    char *threads;
};

INLINE struct hot hot_of(const struct tp_replayer *p)
{
    return (struct hot){p->strategy->alloc, p->strategy->free,     p->instances,           p->slots,
                        p->thread_stride,   p->instances[0].state, p->instances[0].threads};
}

/* A part of a window: instructions from `from` up to, but not including, `to`. */
struct part {
    uint32_t from, to;
};

enum {
    PART_MOST = 4096,  /* largest number of instructions between two tests for an interruption */
    PART_NS = 50000000 /* longest time between two tests for an interruption */
};

/* What a variant of the loop is compiled for. */
struct variant {
    enum mode mode;
    enum tp_touch touch;
    bool clocked;    /* the engine keeps a clock for the source */
    bool one_device; /* the program has one device, so its instance stays in registers */
    bool alone;      /* one device, one thread and one stream */
    int copy;        /* number of the copy (see LOOPS) */
    bool device;     /* the source is a real device, which can be lost */
    bool occupied;   /* the real device is kept busy between the operations */
    bool in_crew;    /* one of several OS threads; see crew.h */
};

INLINE void *hot_state(const struct hot *hot, const struct tp_insn *insn, struct variant v)
{
    return v.one_device ? hot->state : hot->instances[insn->device].state;
}

INLINE void *hot_thread(const struct hot *hot, const struct tp_insn *insn, struct variant v)
{
    char *threads = v.one_device ? hot->threads : hot->instances[insn->device].threads;
    return v.alone ? threads : threads + insn->thread * hot->thread_stride;
}

/* The request that is passed to the strategy. Alignment and stream seldom change between
 * instructions and are written only when they do, because stores limit the speed of the loop. */
struct standing {
    struct tp_req rq;
    unsigned align_log2; /* log2 of rq.align */
};

INLINE void standing_update(struct standing *s, const struct tp_insn *insn, uint64_t size,
                            unsigned align_log2, struct variant v)
{
    if (__builtin_expect(align_log2 != s->align_log2, 0)) {
        s->align_log2 = align_log2;
        s->rq.align = UINT64_C(1) << align_log2;
    }
    if (!v.alone && __builtin_expect(insn->stream != s->rq.stream, 0))
        s->rq.stream = insn->stream;
    s->rq.size = size;
}

INLINE unsigned slot_align_log2(const struct tp_slot *slot, struct variant v)
{
    unsigned bits = (unsigned)(slot->packed >> TP_SLOT_ALIGN_SHIFT);
    return v.one_device ? bits : bits & 0x3f; /* with one device its bits are 0 */
}

/* When the latency pass read the clock around an operation. */
struct stamps {
    uint64_t start, end;
};

INLINE uint64_t stamp_of(struct variant v)
{
    return v.mode == MODE_LATENCY ? tp_stamp() : 0;
}

/* Functions replay_*: replay one operation and return whether it counts. Skipped operations do not.
 * ALLOC and FREE read the clock next to the strategy's call, because the processor works the
 * engine's own code off beside some calls and not beside others. */
INLINE bool replay_alloc(struct tp_replayer *p, const struct hot *hot, const struct tp_insn *insn,
                         struct standing *s, struct stamps *time, struct variant v)
{
    struct tp_slot *slot = &hot->slots[insn->slot];
    struct tp_block block;
    standing_update(s, insn, insn->size, insn->align_log2, v);
    void *state = hot_state(hot, insn, v), *thr = hot_thread(hot, insn, v);
    time->start = stamp_of(v);
    int status = hot->alloc(state, thr, &s->rq, &block);
    if (__builtin_expect(status != TP_OK, 0)) {
        slot->addr = 0;
        alloc_failed(p, insn, status);
        return false;
    }
    slot->addr = block.addr;
    slot->packed = v.one_device ? tp_slot_pack_one(insn) : tp_slot_pack(insn);
    touch_block(p, block.addr, insn->size, v.touch);
    if (is_covered(p, v.touch))
        cover_block(p, insn, &block);
    time->end = stamp_of(v);
    if (v.mode == MODE_OBSERVED)
        p->observer->block(p, insn, &block, false);
    return true;
}

INLINE bool replay_free(struct tp_replayer *p, const struct hot *hot, const struct tp_insn *insn,
                        struct standing *s, struct stamps *time, struct variant v)
{
    struct tp_slot *slot = &hot->slots[insn->slot];
    tp_addr addr = slot->addr;
    if (__builtin_expect(!addr, 0)) {
        p->skipped++;
        return false;
    }
    if (v.mode == MODE_OBSERVED)
        p->observer->leaving(p, insn->slot);
    /* Size and alignment come from the slot, because a REALLOC that failed has not changed them. */
    standing_update(s, insn, tp_slot_size(slot), slot_align_log2(slot, v), v);
    slot->addr = 0;
    void *state = hot_state(hot, insn, v), *thr = hot_thread(hot, insn, v);
    time->start = stamp_of(v);
    int status = hot->free(state, thr, addr, &s->rq);
    time->end = stamp_of(v);
    must(p, insn, status);
    if (v.mode == MODE_OBSERVED)
        p->observer->gone(p, insn->slot, insn);
    return true;
}

/* The last resort of REALLOC: allocates a new block, copies the contents and frees the old
 * block. */
static int realloc_by_copy(struct tp_replayer *p, const struct tp_insn *insn,
                           const struct tp_slot *slot, const struct tp_req *rq,
                           struct tp_block *block)
{
    struct tp_instance *in = &p->instances[insn->device];
    void *thr = tp_replayer_thread(p, in, insn->thread);
    int status = p->strategy->alloc(in->state, thr, rq, block);
    if (status != TP_OK)
        return status;
    uint64_t old_size = tp_slot_size(slot);
    if (p->contents) /* memmove, because a broken strategy's blocks may overlap */
        memmove((void *)(uintptr_t)block->addr, (const void *)(uintptr_t)slot->addr,
                old_size < rq->size ? old_size : rq->size);
    if (p->observer)
        p->observer->block(p, insn, block, true);
    struct tp_req old = {.size = old_size, .align = tp_slot_align(slot), .stream = insn->stream};
    must(p, insn, p->strategy->free(in->state, thr, slot->addr, &old));
    return TP_OK;
}

static int realloc_block(struct tp_replayer *p, const struct tp_insn *insn,
                         const struct tp_slot *slot, const struct tp_req *rq,
                         struct tp_block *block)
{
    const struct tp_strategy *s = p->strategy;
    struct tp_instance *in = &p->instances[insn->device];
    void *thr = tp_replayer_thread(p, in, insn->thread);
    int status = TP_EUNSUP;
    if (s->resize)
        status = s->resize(in->state, thr, slot->addr, rq, block);
    if (status == TP_EUNSUP && s->move)
        status = s->move(in->state, thr, slot->addr, rq, block);
    if (status == TP_EUNSUP)
        return realloc_by_copy(p, insn, slot, rq, block);
    if (status == TP_OK && p->observer)
        p->observer->block(p, insn, block, false);
    return status;
}

RARE bool replay_realloc(struct tp_replayer *p, const struct tp_insn *insn)
{
    struct tp_slot *slot = &p->slots[insn->slot];
    if (!slot->addr) {
        p->skipped++;
        return false;
    }
    struct tp_req rq = request_of(insn, insn->size);
    struct tp_block block;
    uint64_t old_size = tp_slot_size(slot);
    if (p->observer)
        p->observer->leaving(p, insn->slot);
    int status = realloc_block(p, insn, slot, &rq, &block);
    if (status != TP_OK) { /* on failure the old block stays */
        alloc_failed(p, insn, status);
        return false;
    }
    if (p->touch == TP_TOUCH_ALL)
        touch_all(p, block.addr, old_size, insn->size);
    if (is_covered(p, p->touch))
        cover_block(p, insn, &block);
    slot->addr = block.addr;
    slot->packed = tp_slot_pack(insn);
    return true;
}

/* ADOPT: gets a block straight from the source and hands it to the strategy. */
RARE bool replay_adopt(struct tp_replayer *p, const struct tp_insn *insn)
{
    struct tp_instance *in = &p->instances[insn->device];
    struct tp_slot *slot = &p->slots[insn->slot];
    struct tp_req rq = request_of(insn, insn->size);
    struct tp_block block = {0};
    int status;
    void *thr = tp_replayer_thread(p, in, insn->thread);
    struct tp_source *src = in->env.source;
    if (p->strategy->adopt && src) {
        uint64_t bytes = (insn->size + src->page - 1) & ~(src->page - 1);
        tp_addr addr = 0;
        status = tp_src_get(src, bytes, rq.align > src->page ? rq.align : src->page, &addr);
        if (status == TP_OK)
            status = p->strategy->adopt(in->state, thr, addr, &rq, &block);
        if (status != TP_OK && addr)
            tp_src_put(src, addr, bytes);
    } else {
        status = p->strategy->alloc(in->state, thr, &rq, &block);
    }
    if (status != TP_OK) {
        slot->addr = 0;
        alloc_failed(p, insn, status);
        return false;
    }
    slot->addr = block.addr;
    slot->packed = tp_slot_pack(insn);
    touch_block(p, block.addr, insn->size, p->touch);
    if (is_covered(p, p->touch))
        cover_block(p, insn, &block);
    if (p->observer)
        p->observer->block(p, insn, &block, false);
    return true;
}

static void reset_at_once(struct tp_replayer *p, const struct tp_insn *insn, const uint32_t *slots,
                          uint32_t count)
{
    for (uint32_t i = 0; p->observer && i < count; i++)
        if (p->slots[slots[i]].addr)
            p->observer->leaving(p, slots[i]);
    TP_EACH_DEVICE (d, insn, p->facts->devices)
        must(p, insn, p->strategy->reset(p->instances[d].state));
}

RARE bool replay_reset(struct tp_replayer *p, const struct tp_insn *insn)
{
    bool at_once = p->strategy->reset != NULL;
    uint32_t count = 0;
    const uint32_t *slots = p->resets ? tp_resets_next(p->resets, &count) : NULL;
    if (at_once)
        reset_at_once(p, insn, slots, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tp_slot *slot = &p->slots[slots[i]];
        TP_STEP();
        if (!slot->addr) /* the slot's allocation failed */
            continue;
        if (p->observer && !at_once)
            p->observer->leaving(p, slots[i]);
        void *thr = tp_replayer_thread(p, &p->instances[tp_slot_device(slot)], insn->thread);
        must(p, insn, at_once ? TP_OK : tp_replayer_free(p, slot, thr, insn->stream));
        slot->addr = 0;
        if (p->observer)
            p->observer->gone(p, slots[i], insn);
    }
    return true;
}

/* Replays RETAIN, RELEASE and USE, which act on a live object. */
static bool replay_on_object(struct tp_replayer *p, const struct tp_insn *insn)
{
    struct tp_instance *in = &p->instances[insn->device];
    const struct tp_strategy *s = p->strategy;
    tp_addr addr = p->slots[insn->slot].addr;
    void *thr = tp_replayer_thread(p, in, insn->thread);
    int status = TP_OK;
    if (!addr) {
        p->skipped++;
        return false;
    }
    if (insn->op == TP_RETAIN && s->retain)
        status = s->retain(in->state, thr, addr);
    else if (insn->op == TP_RELEASE && s->release)
        status = s->release(in->state, thr, addr);
    else if (insn->op == TP_USE && s->use)
        status = s->use(in->state, thr, addr, insn->stream);
    must(p, insn, status);
    return true;
}

/* Replays a SYNC. On a real device the work is complete before the operation begins; see
 * occupier.h. */
static bool replay_sync(struct tp_replayer *p, const struct tp_insn *insn)
{
    TP_EACH_DEVICE (d, insn, p->facts->devices) {
        struct tp_source *src = p->instances[d].env.source;
        if (src)
            tp_src_synced(src, insn->stream);
    }
    if (!p->strategy->sync)
        return true;
    TP_EACH_DEVICE (d, insn, p->facts->devices) {
        struct tp_instance *in = &p->instances[d];
        void *thr = tp_replayer_thread(p, in, insn->thread);
        must(p, insn, p->strategy->sync(in->state, thr, insn->stream));
    }
    return true;
}

static bool replay_trim(struct tp_replayer *p, const struct tp_insn *insn)
{
    int status = p->strategy->trim ? TP_OK : TP_EUNSUP;
    TP_EACH_DEVICE (d, insn, p->facts->devices)
        if (!status)
            status = p->strategy->trim(p->instances[d].state, insn->size);
    if (status == TP_EUNSUP)
        p->skipped_trims++;
    else
        must(p, insn, status);
    return status != TP_EUNSUP;
}

/* Other strategies serve private pools like all else. */
static bool replay_pool(struct tp_replayer *p, const struct tp_insn *insn)
{
    struct tp_instance *in = &p->instances[insn->device];
    if (p->strategy->choose_pool)
        p->strategy->choose_pool(in->state, tp_replayer_thread(p, in, insn->thread), insn->size);
    return false;
}

static bool replay_mark(struct tp_replayer *p, const struct tp_insn *insn)
{
    for (uint32_t d = 0; p->strategy->phase && d < p->facts->devices; d++)
        p->strategy->phase(p->instances[d].state, insn->slot);
    return false;
}

/* Ends a thread on every device. Its index may be recycled, and its next use is a fresh thread. */
static bool replay_thread_end(struct tp_replayer *p, const struct tp_insn *insn)
{
    for (uint32_t d = 0; p->strategy->thread_fini && d < p->facts->devices; d++) {
        struct tp_instance *in = &p->instances[d];
        void *thr = tp_replayer_thread(p, in, insn->thread);
        p->strategy->thread_fini(in->state, thr);
        memset(thr, 0, p->strategy->thread_size);
        must(p, insn, p->strategy->thread_init(in->state, thr));
    }
    return true;
}

RARE bool replay_rare(struct tp_replayer *p, const struct tp_insn *insn)
{
    typedef bool replay_fn(struct tp_replayer *, const struct tp_insn *);
    static replay_fn *const table[TP_OP_COUNT] = {
        [TP_REALLOC] = replay_realloc,
        [TP_RETAIN] = replay_on_object,
        [TP_RELEASE] = replay_on_object,
        [TP_ADOPT] = replay_adopt,
        [TP_USE] = replay_on_object,
        [TP_SYNC] = replay_sync,
        [TP_RESET] = replay_reset,
        [TP_TRIM] = replay_trim,
        [TP_THREAD_END] = replay_thread_end,
        [TP_POOL] = replay_pool,
        [TP_MARK] = replay_mark,
    };
    replay_fn *replay = table[insn->op];
    return replay && replay(p, insn);
}

INLINE uint32_t reading(uint64_t ticks)
{
    return ticks < TP_TICK_MAX ? (uint32_t)ticks : TP_TICK_MAX;
}

/* Marks the readings after a stop in the window as skipped. */
static void skip_rest(struct tp_replayer *p, const struct tp_window *w, uint32_t from,
                      enum mode mode)
{
    for (uint32_t rest = from; mode == MODE_LATENCY && rest < w->count; rest++)
        p->ticks[rest] = TP_TICK_SKIP;
}

/* Stops before this instruction of the window. */
static void stop_before(struct tp_replayer *p, const struct tp_window *w, uint32_t index,
                        enum mode mode)
{
    p->stop = true;
    p->stopped = index - 1;
    skip_rest(p, w, index, mode);
}

/* Ends the window after this instruction because a device was lost or the user asked to stop. The
 * loss replaces an error that the strategy returned in the same instruction. */
RARE void end_window(struct tp_replayer *p, const struct tp_insn *insn)
{
    if (p->lost && (!p->broken || p->broken_insn == insn)) {
        p->broken = TP_EDEVICE;
        p->broken_insn = insn;
    }
    set_broken(p, insn, TP_ESTOP);
    p->stop = true;
}

INLINE bool replay_other(struct tp_replayer *p, const struct tp_insn *insn, struct stamps *time,
                         struct variant v)
{
    time->start = stamp_of(v);
    bool counts = replay_rare(p, insn);
    time->end = stamp_of(v);
    return counts;
}

/* Says at which event the replay is, for who watches it from outside. */
INLINE void note_position(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    if (p->cfg->position)
        p->cfg->position->first = p->cfg->position->last = tp_window_event(w, index);
}

/* What comes before an instruction for who watches. */
INLINE void observe(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    note_position(p, w, index);
    p->observer->before(p, w, index);
}

INLINE bool replay_insn(struct tp_replayer *p, const struct hot *hot, const struct tp_insn *insn,
                        struct standing *standing, struct stamps *time, struct variant v)
{
    if (insn->op == TP_ALLOC)
        return replay_alloc(p, hot, insn, standing, time, v);
    return insn->op == TP_FREE ? replay_free(p, hot, insn, standing, time, v)
                               : replay_other(p, insn, time, v);
}

INLINE uint32_t reading_of(bool counts, const struct stamps *time)
{
    return counts ? reading(time->end - time->start) : TP_TICK_SKIP;
}

/* In a crew an instruction may have to wait for its turn. */
INLINE bool has_turn(struct variant v, const struct tp_insn *insn)
{
    return v.in_crew && __builtin_expect(insn->gap_ns, 0);
}

/* Whether the replay cannot go on; asked where a call may take long, or be of a device. */
INLINE bool is_broken_off(const struct tp_replayer *p, struct variant v)
{
    return (v.device || v.touch == TP_TOUCH_ALL) &&
           __builtin_expect(p->lost || p->unqueued || tp_replayer_interrupted(p), 0);
}

/* Replays a part of a window. `counts` is a constant on paths without a failure, so the test for a
 * stop costs them nothing. */
INLINE void replay_part(struct tp_replayer *p, const struct tp_window *w, struct part part,
                        struct variant v)
{
    const struct tp_insn *const end = w->insns + part.to;
    __asm__ volatile("" : : "ri"(v.copy)); /* keeps the compiler from merging equal functions */
    const struct hot hot = hot_of(p);
    struct standing standing = {.rq.align = 1};
    uint32_t *tick = p->ticks + (v.mode == MODE_LATENCY ? part.from : 0);
    struct stamps time;
    for (const struct tp_insn *insn = w->insns + part.from; insn != end; insn++) {
        if (v.clocked)
            p->now_ns += insn->gap_ns + p->tick_ns;
        if (v.device && (v.occupied || insn->op == TP_SYNC))
            tp_occupy_between(p, w, insn == w->insns ? NULL : insn - 1, insn);
        if (has_turn(v, insn) && !tp_turn_await(p, insn)) {
            stop_before(p, w, (uint32_t)(insn - w->insns), v.mode);
            return;
        }
        if (v.mode == MODE_OBSERVED)
            observe(p, w, (uint32_t)(insn - w->insns));
        bool counts = replay_insn(p, &hot, insn, &standing, &time, v);
        if (v.mode == MODE_OBSERVED)
            p->observer->after(p, w, (uint32_t)(insn - w->insns));
        if (v.mode == MODE_LATENCY)
            *tick++ = reading_of(counts, &time);
        if (has_turn(v, insn))
            tp_turn_pass(p, insn);
        if (is_broken_off(p, v)) {
            end_window(p, insn);
            counts = false;
        }
        if ((!counts || v.mode == MODE_OBSERVED) && p->stop) {
            p->stopped = (uint32_t)(insn - w->insns);
            skip_rest(p, w, p->stopped + 1, v.mode);
            return;
        }
    }
    if (v.occupied && part.to == w->count)
        tp_occupy_between(p, w, end - 1, NULL);
}

/* The variants that are worth their code size. The clock is a sum in memory that costs 1.5 ns per
 * instruction, so it is kept only where it is read. Memory that can be touched has no clock. */
#define REPLAY(...)                                                                                \
    replay_part(p, w, part, (struct variant){.mode = mode, .copy = copy, __VA_ARGS__})
INLINE void replay(struct tp_replayer *p, const struct tp_window *w, struct part part,
                   enum mode mode, int copy)
{
    const struct tp_program_facts *f = p->facts;
    bool one_device = f->devices == 1, alone = one_device && f->threads == 1 && f->streams == 1;
    if (p->touch == TP_TOUCH_ALL)
        REPLAY(.touch = TP_TOUCH_ALL);
    else if (p->clocked && alone)
        REPLAY(.touch = TP_TOUCH_NONE, .clocked = true, .one_device = true, .alone = true);
    else if (p->clocked)
        REPLAY(.touch = TP_TOUCH_NONE, .clocked = true);
    else if (p->touch == TP_TOUCH_FIRST && alone)
        REPLAY(.touch = TP_TOUCH_FIRST, .one_device = true, .alone = true);
    else if (p->touch == TP_TOUCH_FIRST && one_device)
        REPLAY(.touch = TP_TOUCH_FIRST, .one_device = true);
    else if (p->touch == TP_TOUCH_FIRST)
        REPLAY(.touch = TP_TOUCH_FIRST);
    else if (alone)
        REPLAY(.touch = TP_TOUCH_NONE, .one_device = true, .alone = true);
    else
        REPLAY(.touch = TP_TOUCH_NONE);
}

/* Variants for a real device: no block is touched, and the device has its own clock. */
INLINE void replay_on_device(struct tp_replayer *p, const struct tp_window *w, struct part part,
                             enum mode mode, int copy)
{
    const struct tp_program_facts *f = p->facts;
    if (p->occupier)
        REPLAY(.touch = TP_TOUCH_NONE, .device = true, .occupied = true);
    else if (f->devices == 1 && f->threads == 1 && f->streams == 1)
        REPLAY(.touch = TP_TOUCH_NONE, .one_device = true, .alone = true, .device = true);
    else
        REPLAY(.touch = TP_TOUCH_NONE, .device = true);
}

/* Variants for one of several OS threads, which replay host memory and one device. */
INLINE void replay_in_crew(struct tp_replayer *p, const struct tp_window *w, struct part part,
                           enum mode mode, int copy)
{
    if (tp_crew_stops(p)) /* another thread has stopped */
        stop_before(p, w, part.from, mode);
    else if (p->touch == TP_TOUCH_ALL)
        REPLAY(.touch = TP_TOUCH_ALL, .one_device = true, .in_crew = true);
    else if (p->touch == TP_TOUCH_FIRST)
        REPLAY(.touch = TP_TOUCH_FIRST, .one_device = true, .in_crew = true);
    else
        REPLAY(.touch = TP_TOUCH_NONE, .one_device = true, .in_crew = true);
}

typedef void part_fn(struct tp_replayer *p, const struct tp_window *w, struct part part);
enum where { IN_MEMORY, ON_DEVICE, IN_CREW, WHERES };

static enum where where_of(const struct tp_replayer *p)
{
    if (p->turns)
        return IN_CREW;
    return p->device ? ON_DEVICE : IN_MEMORY;
}

/* Defines the loop as a function. */
#define LOOP_WHERE(name, mode, copy, replay_where)                                                 \
    static void name(struct tp_replayer *p, const struct tp_window *w, struct part part)           \
    {                                                                                              \
        replay_where(p, w, part, mode, copy);                                                      \
    }
/* Defines the loop as one function for memory and one for a real device. */
#define LOOP(name, mode, copy)                                                                     \
    LOOP_WHERE(name, mode, copy, replay)                                                           \
    LOOP_WHERE(name##_on_device, mode, copy, replay_on_device)
/* Defines the loop as a function for each `enum where`. */
#define LOOP_EVERYWHERE(name, mode, copy)                                                          \
    LOOP(name, mode, copy)                                                                         \
    LOOP_WHERE(name##_in_crew, mode, copy, replay_in_crew)
#define LOOPS_OF(name)                                                                             \
    {                                                                                              \
        name, name##_on_device, name##_in_crew                                                     \
    }
LOOP_EVERYWHERE(replay_latency, MODE_LATENCY, 0)
LOOP(replay_observed, MODE_OBSERVED, 0)

/* Replays a window in parts and tests for an interruption between them. Parts start with one
 * instruction and double until the cost per part is negligible; they are halved where a strategy or
 * its source is slow. */
INLINE void replay_parts(struct tp_replayer *p, const struct tp_window *w, enum mode mode,
                         part_fn *replay_one)
{
    struct part part = {0, 0};
    const struct tp_clock *clock = p->cfg->clock;
    const uint64_t most = clock ? (uint64_t)(PART_NS / clock->ns_per_tick) : UINT64_MAX;
    uint64_t before = tp_stamp();
    while (part.to < w->count && !p->stop) {
        part.from = part.to;
        part.to += w->count - part.from <= p->part ? w->count - part.from : p->part + 1;
        replay_one(p, w, part);
        if (p->stop)
            return;
        uint64_t now = tp_stamp();
        if (now - before > most)
            p->part /= 2;
        /* growing does not depend on time, so that instruction counts repeat exactly */
        else if (p->part < PART_MOST - 1)
            p->part = 2 * p->part + 1;
        before = now;
        if (__builtin_expect(tp_replayer_interrupted(p), 0)) {
            end_window(p, &w->insns[part.to - 1]);
            p->stopped = part.to - 1;
            skip_rest(p, w, part.to, mode);
        }
    }
}

void tp_replay_latency(struct tp_replayer *p, const struct tp_window *w)
{
    static part_fn *const loops[WHERES] = LOOPS_OF(replay_latency);
    if (p->crew)
        tp_crew_replay(p, w, tp_replay_latency);
    else
        replay_parts(p, w, MODE_LATENCY, loops[where_of(p)]);
}

void tp_replay_observed(struct tp_replayer *p, const struct tp_window *w)
{
    replay_parts(p, w, MODE_OBSERVED, p->device ? replay_observed_on_device : replay_observed);
}

/* A call through a pointer that has always had the same target is predicted faster, by 0.65 ns per
 * event on Zen 4, than one whose target has changed. So there are LOOPS copies of the loop, and
 * each strategy of a command has its own; otherwise the first strategy of a table would look faster
 * than the second. */
LOOP_EVERYWHERE(replay_0, MODE_UNTIMED, 0) /* for the empty strategy */
LOOP_EVERYWHERE(replay_1, MODE_UNTIMED, 1)
LOOP_EVERYWHERE(replay_2, MODE_UNTIMED, 2)
LOOP_EVERYWHERE(replay_3, MODE_UNTIMED, 3)
LOOP_EVERYWHERE(replay_4, MODE_UNTIMED, 4)
LOOP_EVERYWHERE(replay_5, MODE_UNTIMED, 5)
enum { LOOPS = 6 };

void tp_replay_untimed(struct tp_replayer *p, const struct tp_window *w)
{
    static part_fn *const loops[LOOPS][WHERES] = {LOOPS_OF(replay_0), LOOPS_OF(replay_1),
                                                  LOOPS_OF(replay_2), LOOPS_OF(replay_3),
                                                  LOOPS_OF(replay_4), LOOPS_OF(replay_5)};
    bool empty = p->strategy == tp_replay_empty(p->cfg);
    uint32_t copy = empty ? 0 : 1 + p->cfg->nth % (LOOPS - 1);
    if (p->crew)
        tp_crew_replay(p, w, tp_replay_untimed);
    else
        replay_parts(p, w, MODE_UNTIMED, loops[copy][where_of(p)]);
}
