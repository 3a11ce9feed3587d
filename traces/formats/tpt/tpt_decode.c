/* Decodes records into instructions, and checks each as strictly as the builder does, because
 * strategies replay the result without further checks.
 *
 *     op byte --> gap (no branch) --> context byte (rare, a call) --> one handler per op
 *
 * A handler takes the position and returns the new one, or NULL with frame->wrong set. The position
 * is compared with the end once per record: no record is longer than TP_TPT_RECORD_MAX, and that
 * many bytes are readable behind the payload. Values that change rarely are checked when they
 * change: thread, stream and device with the context byte, a size when it enters the ring. The
 * limits of events and time are checked at the end of the block. */
#include "traces/formats/tpt/tpt_decode.h"

#include <inttypes.h>
#include <stdlib.h>

#define NO_SLOT UINT32_MAX
#define INLINE  static inline __attribute__((always_inline))

/* State of decoding one block. */
struct frame {
    struct tp_tpt_decoder *d;
    const char *wrong;
    uint32_t last_slot;
    uint16_t thread, stream, device; /* the context */
    uint8_t align_log2;
    bool own_stream, own_align; /* the record has its own stream or alignment */
    uint16_t record_stream;
    uint8_t record_align;
    bool explicit_slots;
    uint32_t index;            /* index of the record in the block */
    uint64_t base;             /* event of the record minus its index */
    uint64_t time;             /* ns of the record, with its gap */
    uint64_t ops[TP_OP_COUNT]; /* instructions so far, by op */
    uint8_t ring_next;
    uint64_t ring[TP_TPT_RING];
};

int tp_tpt_decoder_init(struct tp_tpt_decoder *d, const struct tp_tpt_limits *limits,
                        uint32_t max_count, struct tp_err *err)
{
    *d = (struct tp_tpt_decoder){.limits = *limits, .max_count = max_count};
    d->insns = malloc((max_count ? max_count : 1) * sizeof *d->insns);
    if (!d->insns)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    tp_tpt_decoder_rewind(d);
    return TP_OK;
}

void tp_tpt_decoder_release(struct tp_tpt_decoder *d)
{
    free(d->live.slots);
    free(d->insns);
    free(d->jumps);
    *d = (struct tp_tpt_decoder){0};
}

void tp_tpt_decoder_rewind(struct tp_tpt_decoder *d)
{
    tp_live_begin(&d->live);
    d->free_head = NO_SLOT;
    d->explicit_slots = false;
    d->started = false;
    d->initial_heap = d->instructions = d->time = d->event = 0;
    d->pool = (struct tp_insn){.size = 0};
    memset(d->ops, 0, sizeof d->ops);
}

static const uint8_t *refuse(struct frame *f, const char *wrong)
{
    f->wrong = wrong;
    return NULL;
}

/* ---- context ---- */

static const uint8_t *read_index(struct frame *f, const uint8_t *p, uint32_t limit, uint16_t *to,
                                 const char *wrong)
{
    uint64_t value = 0;
    p = tp_varint(p, &value);
    *to = (uint16_t)value;
    return value < limit ? p : refuse(f, wrong);
}

static bool on_object(unsigned op)
{
    return op < TP_TPT_RAW && tp_op_is(op, TP_IS_LIVE);
}

/* Bits that a context byte may have, by the flags of the op. A live object has its own device, and
 * its own alignment unless the record has a size. */
#define MAY_SET(flags)                                                                             \
    (TP_TPT_SET_EVENT | ((flags)&TP_HAS_THREAD ? TP_TPT_SET_THREAD : 0) |                          \
     ((flags)&TP_HAS_STREAM ? TP_TPT_SET_STREAM : 0) |                                             \
     (((flags) & (TP_HAS_DEVICE | TP_IS_LIVE)) == TP_HAS_DEVICE ? TP_TPT_SET_DEVICE : 0) |         \
     ((flags)&TP_ASKS ? TP_TPT_SET_ALIGN : 0))
#define MAY_SET_ROW(op, number, name, verb, latency, rank, flags) [TP_##op] = MAY_SET(flags),
static const uint8_t may_set[TP_OP_COUNT] = {TP_OPS(MAY_SET_ROW)};

/* Keeps the context for the following records. Stream and alignment of a live object are for its
 * record only. */
static void keep(struct frame *f, unsigned op, unsigned bits)
{
    f->own_stream = on_object(op) && bits & TP_TPT_SET_STREAM;
    f->own_align = on_object(op) && bits & TP_TPT_SET_ALIGN;
    if (bits & TP_TPT_SET_STREAM && !f->own_stream)
        f->stream = f->record_stream;
    if (bits & TP_TPT_SET_ALIGN && !f->own_align)
        f->align_log2 = f->record_align;
}

/* Reads the event of a record that does not follow the event before it by one. */
static const uint8_t *read_jump(struct frame *f, const uint8_t *p)
{
    struct tp_tpt_decoder *d = f->d;
    uint64_t step = 0;
    p = tp_varint(p, &step);
    if (step == 1 || f->index == 0 || !d->started)
        return refuse(f, "its event needs no number");
    uint64_t before = f->base + f->index - 1;
    if (before > d->limits.events || step > d->limits.events - before)
        return refuse(f, "its event is out of range");
    if (TP_GROW(&d->jumps, &d->jump_room, d->jump_count + (size_t)1, NULL, TP_MOST(TP_WINDOW_MAX)))
        return NULL;
    d->jumps[d->jump_count++] = (struct tp_jump){.index = f->index, .event = before + step};
    f->base = before + step - f->index;
    return p;
}

static __attribute__((noinline)) const uint8_t *read_context(struct frame *f, const uint8_t *p,
                                                             unsigned op)
{
    const struct tp_tpt_limits *limits = &f->d->limits;
    unsigned bits = *p++;
    uint16_t align = 0;
    unsigned may = op == TP_TPT_RAW ? TP_TPT_SET_EVENT : may_set[op];
    if (bits & ~may || !bits)
        return refuse(f, "its context is wrong");
    if (bits & TP_TPT_SET_THREAD)
        p = read_index(f, p, limits->threads, &f->thread, "the thread is out of range");
    if (p && bits & TP_TPT_SET_STREAM)
        p = read_index(f, p, limits->streams, &f->record_stream, "the stream is out of range");
    if (p && bits & TP_TPT_SET_DEVICE)
        p = read_index(f, p, limits->devices, &f->device, "the device is out of range");
    if (p && bits & TP_TPT_SET_ALIGN)
        p = read_index(f, p, TP_MAX_ALIGN_LOG2 + 1, &align, "the alignment is out of range");
    f->record_align = (uint8_t)align;
    keep(f, op, bits);
    return p && bits & TP_TPT_SET_EVENT ? read_jump(f, p) : p;
}

/* ---- objects ---- */

/* Makes room for one more slot. */
static __attribute__((noinline)) bool grow_slots(struct frame *f)
{
    struct tp_tpt_decoder *d = f->d;
    if (d->live.used >= d->limits.slots) {
        f->wrong = "there are more slots than there may be";
        return false;
    }
    return !tp_live_reach(&d->live, d->limits.slots, NULL, NULL);
}

/* The slot of a new object: the slot freed last, else the next one that was never used. */
INLINE const uint8_t *take_slot(struct frame *f, const uint8_t *p, uint32_t *slot)
{
    struct tp_tpt_decoder *d = f->d;
    uint64_t said = d->live.used;
    if (f->explicit_slots) {
        p = tp_varint(p, &said);
        if (said > d->live.used)
            return refuse(f, "the slot is out of range");
        if (said < d->live.used && tp_live_is(&d->live, &d->live.slots[said]))
            return refuse(f, "the slot is live");
    } else if (d->free_head != NO_SLOT) {
        said = d->free_head;
        d->free_head = d->live.slots[said].link;
    }
    *slot = (uint32_t)said;
    if (said < d->live.used)
        return p;
    if (d->live.used == d->live.capacity && !grow_slots(f))
        return NULL;
    d->live.used++;
    return p;
}

/* Reads a size, which comes with its alignment, from the ring or in full. */
INLINE const uint8_t *read_size(struct frame *f, const uint8_t *p, unsigned head, uint8_t align,
                                uint64_t *word)
{
    if (head & TP_TPT_SPECIAL) {
        uint64_t size = 0;
        p = tp_varint(p, &size);
        if (size - 1 >= TP_MAX_SIZE)
            return refuse(f, "the size is out of range");
        *word = tp_live_word(size, align);
        f->ring[f->ring_next++] = *word;
        return p;
    }
    *word = f->ring[*p];
    return *word ? p + 1 : refuse(f, "the size is none of those before it");
}

/* Notes a new peak. In the initial heap events and times are not right yet; end_initial_heap mends
 * them. */
INLINE void note_peak(struct frame *f, uint16_t device)
{
    tp_live_peak(&f->d->live.devices[device], f->base + f->index, f->d->instructions + f->index,
                 f->time);
}

INLINE const uint8_t *read_new(struct frame *f, const uint8_t *p, unsigned head, struct tp_insn *in)
{
    struct tp_tpt_decoder *d = f->d;
    uint32_t slot = 0;
    uint64_t word = 0;
    p = take_slot(f, p, &slot);
    if (p)
        p = read_size(f, p, head, f->align_log2, &word);
    if (!p)
        return NULL;
    tp_live_add(&d->live, slot, word, f->stream, f->device);
    note_peak(f, f->device);
    if (d->live.bytes > TP_MAX_LIVE_BYTES)
        return refuse(f, "more than 2^61 bytes are live at once");
    in->slot = f->last_slot = slot;
    in->size = word >> 8;
    in->align_log2 = (uint8_t)word;
    in->stream = f->stream;
    in->device = f->device;
    return p;
}

/* Finds the live object of a record, and takes stream and device of the instruction from it. */
INLINE const uint8_t *find_object(struct frame *f, const uint8_t *p, bool same, struct tp_insn *in,
                                  struct tp_live_slot **object)
{
    const struct tp_tpt_decoder *d = f->d;
    uint64_t slot = f->last_slot;
    if (!same)
        p = tp_varint(p, &slot);
    if (slot >= d->live.used || !tp_live_is(&d->live, &d->live.slots[slot]))
        return refuse(f, "the slot is free");
    struct tp_live_slot *s = &d->live.slots[slot];
    in->slot = f->last_slot = (uint32_t)slot;
    in->stream = f->own_stream ? f->record_stream : s->stream;
    in->device = s->device;
    *object = s;
    return p;
}

INLINE const uint8_t *read_free(struct frame *f, const uint8_t *p, unsigned head,
                                struct tp_insn *in)
{
    struct tp_tpt_decoder *d = f->d;
    struct tp_live_slot *s = NULL;
    p = find_object(f, p, head & TP_TPT_SPECIAL, in, &s);
    if (!p)
        return NULL;
    if (s->link)
        return refuse(f, "the object has more than one reference");
    in->size = tp_live_size(s);
    in->align_log2 = tp_live_align_log2(s);
    tp_live_free(&d->live, s);
    s->link = d->free_head;
    d->free_head = in->slot;
    return p;
}

static const uint8_t *read_realloc(struct frame *f, const uint8_t *p, unsigned head,
                                   struct tp_insn *in)
{
    struct tp_tpt_decoder *d = f->d;
    struct tp_live_slot *s = NULL;
    uint64_t word = 0;
    p = find_object(f, p, false, in, &s);
    if (p)
        p = read_size(f, p, head, f->own_align ? f->record_align : (uint8_t)s->word, &word);
    if (!p)
        return NULL;
    tp_live_resize(&d->live, s, word);
    note_peak(f, s->device);
    if (d->live.bytes > TP_MAX_LIVE_BYTES)
        return refuse(f, "more than 2^61 bytes are live at once");
    in->size = word >> 8;
    in->align_log2 = (uint8_t)word;
    return p;
}

/* Checks and applies an instruction that adds and resizes no object. */
static const uint8_t *apply(struct frame *f, const uint8_t *p, const struct tp_insn *in)
{
    const char *wrong = tp_live_wrong(&f->d->live, in);
    if (in->op == TP_RESET && !f->explicit_slots)
        wrong = "the block does not say its slots";
    if (wrong)
        return refuse(f, wrong);
    tp_live_apply(&f->d->live, in, f->d->limits.devices);
    return p;
}

static const uint8_t *read_reference(struct frame *f, const uint8_t *p, unsigned head,
                                     struct tp_insn *in)
{
    struct tp_live_slot *s = NULL;
    p = find_object(f, p, head & TP_TPT_SPECIAL, in, &s);
    return p ? apply(f, p, in) : NULL;
}

/* ---- everything else ---- */

static const uint8_t *read_mark(struct frame *f, const uint8_t *p, struct tp_insn *in)
{
    uint64_t name = 0;
    p = tp_varint(p, &name);
    in->slot = (uint32_t)name;
    return name < f->d->limits.marks ? p : refuse(f, "there is no such mark");
}

static const uint8_t *read_note(struct frame *f, const uint8_t *p, unsigned head,
                                struct tp_insn *in)
{
    const struct tp_tpt_decoder *d = f->d;
    unsigned what = *p++;
    uint64_t slot = f->last_slot;
    bool about = head & TP_TPT_SPECIAL || what & TP_TPT_NOTE_SLOT;
    if (what & TP_TPT_NOTE_SLOT)
        p = tp_varint(p, &slot);
    if (!about)
        slot = 0;
    if (slot && slot >= d->live.used)
        return refuse(f, "the slot is out of range");
    in->slot = (uint32_t)slot;
    in->align_log2 = (uint8_t)(what & TP_TPT_NOTE_KIND);
    in->stream = f->stream;
    in->device = f->device;
    if (what & TP_TPT_NOTE_SIZE)
        p = tp_varint(p, &in->size);
    else if (about && slot < d->live.used && tp_live_is(&d->live, &d->live.slots[slot]))
        in->size = tp_live_size(&d->live.slots[slot]);
    if (in->align_log2 >= TP_NOTE_COUNT || in->size > TP_MAX_SIZE)
        return refuse(f, "there is no such note");
    if (about)
        f->last_slot = (uint32_t)slot;
    return p;
}

/* Checks an instruction that is written whole: it must not add, remove or resize an object. */
static const char *raw_wrong(const struct frame *f, const struct tp_insn *in)
{
    const struct tp_tpt_limits *l = &f->d->limits;
    const struct tp_limits limits = {f->d->live.used, l->threads, l->streams, l->devices, l->marks};
    if (in->op >= TP_OP_COUNT ||
        (tp_op_is(in->op, TP_IS_NEW | TP_IS_LIVE) && tp_op_is(in->op, TP_HAS_SIZE)))
        return "it may not be written whole";
    return tp_insn_wrong(in, &limits);
}

static const uint8_t *read_raw(struct frame *f, const uint8_t *p, struct tp_insn *in)
{
    *in = (struct tp_insn){.op = p[0],
                           .align_log2 = p[1],
                           .thread = tp_load16(p + 2),
                           .stream = tp_load16(p + 4),
                           .device = tp_load16(p + 6),
                           .slot = tp_load32(p + 8),
                           .gap_ns = tp_load32(p + 12),
                           .size = tp_load64(p + 16)};
    p += sizeof *in;
    const char *wrong = raw_wrong(f, in);
    return wrong ? refuse(f, wrong) : apply(f, p, in);
}

/* Reads IDLE and RAW, which have no flags that say what to read. */
static const uint8_t *read_odd(struct frame *f, const uint8_t *p, unsigned head, struct tp_insn *in)
{
    unsigned op = head & TP_TPT_OP;
    bool gap = head >> TP_TPT_GAP_SHIFT & 3;
    if (head & TP_TPT_SPECIAL || (op == TP_TPT_RAW && gap))
        return refuse(f, "its op byte is wrong");
    if (op == TP_TPT_RAW)
        return read_raw(f, p, in);
    in->thread = 0;
    in->gap_ns = gap ? in->gap_ns : UINT32_MAX;
    return p;
}

/* Reads a record without an object. Its special bit means all streams, or that a size follows. */
static const uint8_t *read_members(struct frame *f, const uint8_t *p, unsigned head,
                                   struct tp_insn *in)
{
    unsigned flags = tp_op_rows[in->op].flags;
    bool all = (flags & TP_STREAMS) == TP_STREAMS && head & TP_TPT_SPECIAL;
    bool sized = !all && head & TP_TPT_SPECIAL;
    if (sized && !(flags & TP_HAS_SIZE))
        return refuse(f, "its op byte is wrong");
    if (flags & TP_HAS_DEVICE)
        in->device = f->device;
    if (flags & TP_HAS_STREAM)
        in->stream = all ? TP_ALL_STREAMS : f->stream;
    if (sized)
        p = tp_varint(p, &in->size);
    if (flags & TP_HAS_NAME)
        p = read_mark(f, p, in);
    if (flags & TP_OF_NEXT && !tp_is_pool(in->size))
        return refuse(f, "the pool is out of range");
    return apply(f, p, in);
}

static const uint8_t *read_other(struct frame *f, const uint8_t *p, unsigned head,
                                 struct tp_insn *in)
{
    if (in->op == TP_TPT_RAW || in->op == TP_IDLE)
        return read_odd(f, p, head, in);
    if (tp_op_is(in->op, TP_IS_LIVE))
        return read_reference(f, p, head, in);
    return tp_op_is(in->op, TP_HAS_NOTE) ? read_note(f, p, head, in) : read_members(f, p, head, in);
}

/* ---- the block ---- */

INLINE const uint8_t *read_record(struct frame *f, const uint8_t *p, const uint32_t *scale,
                                  struct tp_insn *in)
{
    static const uint32_t masks[4] = {0, 0xff, 0xffff, UINT32_MAX};
    uint64_t head = tp_load64(p);
    unsigned op = head & TP_TPT_OP, code = head >> TP_TPT_GAP_SHIFT & 3;
    in->gap_ns = ((uint32_t)(head >> 8) & masks[code]) * scale[code];
    p += 1 + (code == 3 ? 4 : code);
    f->own_stream = f->own_align = false;
    if (head & TP_TPT_CONTEXT) {
        p = read_context(f, p, op);
        if (!p)
            return NULL;
    }
    uint32_t gap = in->gap_ns;
    *in = (struct tp_insn){.op = (uint8_t)op, .thread = f->thread, .gap_ns = gap};
    f->time += gap;
    switch (op) {
    case TP_ALLOC:
    case TP_ADOPT:
        return read_new(f, p, (unsigned)head, in);
    case TP_FREE:
        return read_free(f, p, (unsigned)head, in);
    case TP_REALLOC:
        return read_realloc(f, p, (unsigned)head, in);
    default:
        p = read_other(f, p, (unsigned)head, in);
        f->time += in->gap_ns - gap; /* the gap of an IDLE or of an instruction written whole */
        return p;
    }
}

/* Reads all records of a block. Returns where they end; NULL: an error. */
static const uint8_t *read_records(struct frame *f, const struct tp_tpt_block *b, const uint8_t *p)
{
    const uint32_t scale[4] = {0, b->tick_ns, b->tick_ns, 1};
    const uint8_t *end = p + b->raw;
    struct tp_insn *out = f->d->insns;
    for (f->index = 0; f->index < b->count; f->index++, out++) {
        p = read_record(f, p, scale, out);
        if (__builtin_expect(!p || p > end, 0))
            return p ? refuse(f, "it runs over the end of its block") : NULL;
        f->ops[out->op]++;
    }
    return p == end ? p : refuse(f, "something follows it in its block");
}

/* Checks a block against the blocks before it: size, order of the initial heap, events and time. */
static const char *block_wrong(const struct tp_tpt_decoder *d, const struct tp_tpt_block *b)
{
    if (b->count > d->max_count)
        return "it holds more instructions than it did";
    if (b->type == TP_TPT_PROL)
        return d->started ? "the initial heap is complete" : NULL;
    if (b->first_event < d->event || b->first_event > d->limits.events)
        return "its first event is out of order";
    if (b->first_time != d->time)
        return "its time does not go on from the block before it";
    return NULL;
}

static int fail_record(const struct frame *f, struct tp_err *err)
{
    if (!f->wrong)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading the program");
    return tp_fail(err, TP_EINPUT, "instruction %" PRIu32 ": %s", f->index, f->wrong);
}

/* Whether behind each POOL stands its ALLOC, be it in the next block; where a file was cut there
 * may be none. */
static bool pools_stand(struct frame *f, const struct tp_window *w)
{
    struct tp_tpt_decoder *d = f->d;
    for (f->index = 0; f->index < w->count; f->index++) {
        const struct tp_insn *in = &w->insns[f->index];
        uint64_t event = tp_window_event(w, f->index);
        if (d->pool.size && (in->op != TP_ALLOC || in->thread != d->pool.thread ||
                             in->device != d->pool.device || event != d->pool_event))
            return refuse(f, "it is not the allocation of the pool before it") != NULL;
        d->pool = in->op == TP_POOL ? *in : (struct tp_insn){.size = 0};
        d->pool_event = event;
    }
    return true;
}

/* Ends a block of the initial heap: it has no time, and its peaks lie before all events. */
static const char *end_initial_heap(struct tp_tpt_decoder *d, const struct frame *f, uint32_t count)
{
    if (f->ops[TP_ALLOC] != count || f->time)
        return "the initial heap holds more than allocations";
    d->initial_heap += count;
    for (uint32_t i = 0; i < TP_MAX_DEVICES; i++) {
        struct tp_live_device *device = &d->live.devices[i];
        device->peak.insn = UINT64_MAX;
        device->peak.event = device->peak.time_ns = 0;
        device->peak.initial_heap_bytes = device->bytes;
    }
    return NULL;
}

static const char *end_data(struct tp_tpt_decoder *d, const struct frame *f, uint32_t count)
{
    uint64_t last = f->base + count - 1;
    if (last > d->limits.events)
        return "its last event is out of range";
    if (f->time < d->time)
        return "the trace lasts longer than 2^64 ns";
    for (unsigned op = 0; op < TP_OP_COUNT; op++)
        d->ops[op] += f->ops[op];
    d->event = last;
    d->time = f->time;
    d->instructions += count;
    return NULL;
}

int tp_tpt_decode(struct tp_tpt_decoder *d, const struct tp_tpt_block *block,
                  const uint8_t *payload, struct tp_window *out, struct tp_err *err)
{
    bool initial_heap = block->type == TP_TPT_PROL;
    const char *wrong = block_wrong(d, block);
    if (!wrong && d->explicit_slots && !(block->flags & TP_TPT_SLOTS))
        wrong = "it does not say its slots, which blocks before it did";
    if (wrong)
        return tp_fail(err, TP_EINPUT, "%s", wrong);
    d->started = !initial_heap;
    d->explicit_slots = block->flags & TP_TPT_SLOTS;
    d->jump_count = 0;
    *out = (struct tp_window){.insns = d->insns,
                              .count = block->count,
                              .first_event = block->first_event,
                              .first_insn = d->instructions,
                              .first_time = d->time,
                              .initial_heap = initial_heap};
    struct frame f = {.d = d,
                      .last_slot = NO_SLOT,
                      .explicit_slots = d->explicit_slots,
                      .base = block->first_event,
                      .time = d->time};
    if (!read_records(&f, block, payload))
        return fail_record(&f, err);
    wrong = initial_heap ? end_initial_heap(d, &f, block->count) : end_data(d, &f, block->count);
    out->jumps = d->jumps;
    out->jump_count = d->jump_count;
    if (wrong)
        return tp_fail(err, TP_EINPUT, "%s", wrong);
    if ((f.ops[TP_POOL] || d->pool.size) && !pools_stand(&f, out))
        return fail_record(&f, err);
    return TP_OK;
}
