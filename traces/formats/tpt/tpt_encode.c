/* Encodes windows into records. Each window is read three times: to see whether a reader would
 * derive its slots, to find the unit of time with the shortest gaps, and to write its instructions.
 *
 *     op byte | gap | context byte, what it names | slot | size      optional, except the op byte
 *
 * An instruction with a value in a member that its op does not use is written whole, because the
 * hash of a program covers all members. Known weakness: one pass over the window per unit of
 * time. */
#include "traces/formats/tpt/tpt_writer.h"

#include "alloc/base/grow.h"
#include "alloc/program/live.h"

#include <stdlib.h>

#define NO_SLOT UINT32_MAX

/* The ring of sizes that a byte can refer to, and a hash table to find a size in it, with four
 * candidates per bucket. */
enum { WAYS = 4, BUCKETS = 1024 };
struct tp_tpt_sizes {
    uint64_t ring[TP_TPT_RING];
    uint8_t next;
    uint8_t bucket[BUCKETS][WAYS];
};

/* State of encoding the records of one block. */
struct encode_context {
    struct tp_tpt_encoder *e;
    uint8_t *at;
    uint32_t tick, last_slot;
    uint64_t event; /* event of the previous instruction; 0: no jumps in this block */
    uint16_t thread, stream, device;
    uint8_t align_log2;
};

int tp_tpt_encoder_init(struct tp_tpt_encoder *e, struct tp_err *err)
{
    *e = (struct tp_tpt_encoder){.free_head = NO_SLOT};
    e->payload = malloc((size_t)TP_WINDOW_MAX * TP_TPT_RECORD_MAX);
    e->sizes = malloc(sizeof *e->sizes);
    if (e->payload && e->sizes)
        return TP_OK;
    tp_tpt_encoder_release(e);
    return tp_fail(err, TP_ENOMEM, "out of memory while starting to write a trace");
}

void tp_tpt_encoder_release(struct tp_tpt_encoder *e)
{
    free(e->slots);
    free(e->payload);
    free(e->sizes);
    *e = (struct tp_tpt_encoder){0};
}

/* ---- slots ---- */

static int reach(struct tp_tpt_encoder *e, uint32_t slot, struct tp_err *err)
{
    size_t had = e->room;
    int rc = TP_GROW(&e->slots, &e->room, (size_t)slot + 1, err, .what = "live objects");
    if (rc == TP_OK && e->room > had)
        memset(e->slots + had, 0, (e->room - had) * sizeof *e->slots);
    return rc;
}

/* Whether a new object has the slot that a reader would give it. If so, takes the slot. */
static bool guessed(struct tp_tpt_encoder *e, uint32_t slot)
{
    if (e->free_head == NO_SLOT)
        return slot == e->used++;
    if (slot != e->free_head)
        return false;
    e->free_head = e->slots[slot].next;
    return true;
}

/* Replays the slots of a window. After a slot that a reader would not derive, or after a RESET, all
 * slots are written. */
static int model_slots(struct tp_tpt_encoder *e, const struct tp_window *w, struct tp_err *err)
{
    for (uint32_t i = 0; i < w->count && !e->explicit_slots; i++) {
        const struct tp_insn *in = &w->insns[i];
        if (tp_op_is(in->op, TP_IS_NEW)) {
            int rc = reach(e, in->slot, err);
            if (rc)
                return rc;
            e->explicit_slots = !guessed(e, in->slot);
        } else if (in->op == TP_FREE) {
            e->slots[in->slot].next = e->free_head;
            e->free_head = in->slot;
        } else if (in->op == TP_RESET) {
            e->explicit_slots = true;
        }
    }
    return TP_OK;
}

/* ---- time ---- */

/* Code of the width of a gap: 0, 1, 2 or 4 bytes. Gaps of 4 bytes are in ns, others in ticks. */
static unsigned gap_code(const struct tp_insn *in, uint32_t tick)
{
    if (in->op == TP_IDLE && (in->gap_ns == UINT32_MAX || in->gap_ns == 0))
        return in->gap_ns == 0;
    if (in->gap_ns == 0)
        return 0;
    if (in->gap_ns % tick)
        return 3;
    uint32_t ticks = in->gap_ns / tick;
    if (ticks < 256)
        return 1;
    return ticks < 65536 ? 2 : 3;
}

static uint32_t choose_tick(const struct tp_window *w)
{
    static const uint32_t ticks[] = {1, 10, 100, 1000, 10000};
    static const uint8_t bytes[] = {0, 1, 2, 4};
    uint64_t least = UINT64_MAX;
    uint32_t best = 1;
    for (size_t t = 0; t < sizeof ticks / sizeof *ticks; t++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < w->count; i++)
            sum += bytes[gap_code(&w->insns[i], ticks[t])];
        if (sum < least) {
            least = sum;
            best = ticks[t];
        }
    }
    return best;
}

/* ---- sizes ---- */

static uint32_t bucket_of(uint64_t word)
{
    return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

/* The index of a size in the ring. -1: it was not there, and is added as the reader adds it. */
static int name_size(struct tp_tpt_sizes *s, uint64_t word)
{
    uint8_t *bucket = s->bucket[bucket_of(word)];
    for (int i = 0; i < WAYS; i++)
        if (s->ring[bucket[i]] == word)
            return bucket[i];
    memmove(bucket + 1, bucket, WAYS - 1);
    bucket[0] = s->next;
    s->ring[s->next++] = word;
    return -1;
}

/* ---- records ---- */

/* Whether a member has a value that a record of the op cannot express. */
static bool odd(const struct tp_insn *in)
{
    unsigned set = (in->slot ? TP_HAS_SLOT : 0u) | (in->size ? TP_HAS_SIZE : 0u) |
                   (in->align_log2 ? TP_HAS_ALIGN : 0u) | (in->stream ? TP_HAS_STREAM : 0u) |
                   (in->device ? TP_HAS_DEVICE : 0u) | (in->thread ? TP_HAS_THREAD : 0u);
    return (set & ~(unsigned)tp_op_rows[in->op].flags) != 0;
}

static bool on_object(unsigned op)
{
    return tp_op_is(op, TP_IS_LIVE);
}

/* Writes the op byte and the gap, then the context byte with its numbers. */
static void put_head(struct encode_context *c, const struct tp_insn *in, unsigned op,
                     unsigned special, const uint8_t *context, size_t context_bytes)
{
    unsigned code = op == TP_TPT_RAW ? 0 : gap_code(in, c->tick);
    *c->at++ = (uint8_t)(op | code << TP_TPT_GAP_SHIFT | (special ? TP_TPT_SPECIAL : 0u) |
                         (context_bytes ? TP_TPT_CONTEXT : 0u));
    if (code == 1)
        *c->at++ = (uint8_t)(in->gap_ns / c->tick);
    else if (code == 2)
        c->at = tp_store16(c->at, (uint16_t)(in->gap_ns / c->tick));
    else if (code == 3)
        c->at = tp_store32(c->at, in->gap_ns);
    memcpy(c->at, context, context_bytes);
    c->at += context_bytes;
}

/* Bits of the context members that an instruction changes or sets for itself. */
static unsigned context_bits(const struct encode_context *c, const struct tp_insn *in, bool align)
{
    unsigned bits = align ? TP_TPT_SET_ALIGN : 0;
    if (tp_op_is(in->op, TP_HAS_THREAD) && in->thread != c->thread)
        bits |= TP_TPT_SET_THREAD;
    if (on_object(in->op))
        return in->stream != c->e->slots[in->slot].stream ? bits | TP_TPT_SET_STREAM : bits;
    if (tp_op_is(in->op, TP_HAS_STREAM) && !tp_insn_of_all_streams(in) && in->stream != c->stream)
        bits |= TP_TPT_SET_STREAM;
    if (tp_op_is(in->op, TP_HAS_DEVICE) && in->device != c->device)
        bits |= TP_TPT_SET_DEVICE;
    return bits;
}

/* Writes the context byte and its numbers. Returns the number of bytes; 0: not needed. */
static size_t put_context(struct encode_context *c, const struct tp_insn *in, unsigned bits,
                          uint64_t event, uint8_t *bytes)
{
    uint8_t *at = bytes + 1;
    if (c->event && event != c->event + 1)
        bits |= TP_TPT_SET_EVENT;
    if (bits & TP_TPT_SET_THREAD)
        at = tp_put_varint(at, c->thread = in->thread);
    if (bits & TP_TPT_SET_STREAM)
        at = tp_put_varint(at, in->stream);
    if (bits & TP_TPT_SET_STREAM && !on_object(in->op))
        c->stream = in->stream;
    if (bits & TP_TPT_SET_DEVICE)
        at = tp_put_varint(at, c->device = in->device);
    if (bits & TP_TPT_SET_ALIGN)
        at = tp_put_varint(at, in->align_log2);
    if (bits & TP_TPT_SET_ALIGN && !on_object(in->op))
        c->align_log2 = in->align_log2;
    if (bits & TP_TPT_SET_EVENT)
        at = tp_put_varint(at, event - c->event);
    c->event = event;
    bytes[0] = (uint8_t)bits;
    return bits ? (size_t)(at - bytes) : 0;
}

static void put_raw(struct encode_context *c, const struct tp_insn *in, uint64_t event)
{
    uint8_t context[TP_TPT_RECORD_MAX];
    put_head(c, in, TP_TPT_RAW, 0, context, put_context(c, in, 0, event, context));
    *c->at++ = in->op;
    *c->at++ = in->align_log2;
    c->at = tp_store16(c->at, in->thread);
    c->at = tp_store16(c->at, in->stream);
    c->at = tp_store16(c->at, in->device);
    c->at = tp_store32(c->at, in->slot);
    c->at = tp_store32(c->at, in->gap_ns);
    c->at = tp_store64(c->at, in->size);
}

static void put_sized(struct encode_context *c, const struct tp_insn *in, uint64_t event)
{
    uint8_t context[TP_TPT_RECORD_MAX];
    struct tp_tpt_wrote *slot = &c->e->slots[in->slot];
    bool is_new = tp_op_is(in->op, TP_IS_NEW);
    uint8_t align = is_new ? c->align_log2 : (uint8_t)slot->word;
    uint64_t word = tp_live_word(in->size, in->align_log2);
    int index = name_size(c->e->sizes, word);
    unsigned bits = context_bits(c, in, index < 0 && in->align_log2 != align);
    put_head(c, in, in->op, index < 0, context, put_context(c, in, bits, event, context));
    if (!is_new || c->e->explicit_slots)
        c->at = tp_put_varint(c->at, in->slot);
    if (index < 0)
        c->at = tp_put_varint(c->at, in->size);
    else
        *c->at++ = (uint8_t)index;
    slot->word = word;
    if (is_new)
        slot->stream = in->stream;
    c->last_slot = in->slot;
}

/* Writes a NOTE. The size of a note about an object is left out if it is the object's size. */
static void put_note(struct encode_context *c, const struct tp_insn *in, uint64_t event)
{
    uint8_t context[TP_TPT_RECORD_MAX];
    const struct tp_tpt_encoder *e = c->e;
    bool slot = in->slot || in->align_log2 == TP_NOTE_FREE_REQUESTED;
    bool same = slot && in->slot == c->last_slot;
    uint64_t size =
        slot && in->slot < e->room && !e->explicit_slots ? e->slots[in->slot].word >> 8 : 0;
    bool said = in->size != size || (slot && e->explicit_slots);
    put_head(c, in, in->op, same, context,
             put_context(c, in, context_bits(c, in, false), event, context));
    *c->at++ = (uint8_t)(in->align_log2 | (slot && !same ? TP_TPT_NOTE_SLOT : 0) |
                         (said ? TP_TPT_NOTE_SIZE : 0));
    if (slot && !same)
        c->at = tp_put_varint(c->at, in->slot);
    if (said)
        c->at = tp_put_varint(c->at, in->size);
    if (slot)
        c->last_slot = in->slot;
}

static void put_other(struct encode_context *c, const struct tp_insn *in, uint64_t event)
{
    uint8_t context[TP_TPT_RECORD_MAX];
    bool object = on_object(in->op);
    bool sized = !object && in->size;
    bool special = object ? in->slot == c->last_slot : tp_insn_of_all_streams(in) || sized;
    put_head(c, in, in->op, special, context,
             put_context(c, in, context_bits(c, in, false), event, context));
    if ((object && !special) || tp_op_is(in->op, TP_HAS_NAME))
        c->at = tp_put_varint(c->at, in->slot);
    if (sized)
        c->at = tp_put_varint(c->at, in->size);
    if (object)
        c->last_slot = in->slot;
    if (in->op == TP_FREE)
        c->e->slots[in->slot].word = 0;
}

static void put_insn(struct encode_context *c, const struct tp_insn *in, uint64_t event)
{
    if (odd(in) || in->device == TP_ALL_DEVICES || in->op >= TP_TPT_RAW)
        put_raw(c, in, event);
    else if (tp_op_is(in->op, TP_ASKS))
        put_sized(c, in, event);
    else if (tp_op_is(in->op, TP_HAS_NOTE))
        put_note(c, in, event);
    else
        put_other(c, in, event);
}

static int put_window(struct encode_context *c, const struct tp_window *w, struct tp_err *err)
{
    uint32_t jump = 0;
    uint64_t event = w->first_event;
    for (uint32_t i = 0; i < w->count; i++, event++) {
        const struct tp_insn *in = &w->insns[i];
        if (jump < w->jump_count && w->jumps[jump].index == i)
            event = w->jumps[jump++].event;
        if (tp_op_is(in->op, TP_IS_NEW) && c->e->explicit_slots) {
            int rc = reach(c->e, in->slot, err);
            if (rc)
                return rc;
        }
        put_insn(c, in, w->initial_heap ? 0 : event);
    }
    return TP_OK;
}

int tp_tpt_encode(struct tp_tpt_encoder *e, const struct tp_window *w, struct tp_tpt_block *block,
                  struct tp_err *err)
{
    struct encode_context c = {.e = e, .at = e->payload, .last_slot = NO_SLOT};
    int rc = model_slots(e, w, err);
    if (rc)
        return rc;
    c.tick = choose_tick(w);
    memset(e->sizes, 0, sizeof *e->sizes);
    rc = put_window(&c, w, err);
    if (rc)
        return rc;
    *block = (struct tp_tpt_block){.type = w->initial_heap ? TP_TPT_PROL : TP_TPT_DATA,
                                   .flags = e->explicit_slots ? TP_TPT_SLOTS : 0,
                                   .count = w->count,
                                   .tick_ns = c.tick,
                                   .first_event = w->first_event,
                                   .first_time = w->first_time,
                                   .stored = (uint32_t)(c.at - e->payload)};
    block->raw = block->stored;
    return TP_OK;
}
