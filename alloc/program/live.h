/* Which slots are live, and how many bytes they hold. Used by code that builds a program, reads one
 * from a file or walks through one.
 *
 *     slot:    size and alignment | epoch | references | stream | device
 *     device:  epoch | bytes | objects | peak
 *
 * A slot is live if it has a size and its epoch equals that of its device, so a reset is one step
 * however many slots are live. A caller checks an instruction before it applies it. */
#ifndef TP_LIVE_H
#define TP_LIVE_H

#include "alloc/base/grow.h"
#include "alloc/program/program.h"

struct tp_live_slot {
    uint64_t word; /* tp_live_word; 0: free */
    uint64_t epoch;
    uint32_t link; /* live: references beyond the first; free: for the caller to use */
    uint16_t stream, device;
};
static_assert(sizeof(struct tp_live_slot) == 24, "a slot takes 24 bytes");

struct tp_live_device {
    uint64_t epoch; /* resets so far */
    uint64_t bytes, objects;
    struct tp_demand peak;
};

struct tp_live {
    struct tp_live_slot *slots;
    uint32_t used;   /* slots that have ever been live */
    size_t capacity; /* slots that fit into the array */
    uint64_t bytes;  /* bytes live on all devices */
    struct tp_live_device devices[TP_MAX_DEVICES];
};

/* A size and its alignment in one word, which is not 0 because sizes are > 0. */
static inline uint64_t tp_live_word(uint64_t size, uint8_t align_log2)
{
    return size << 8 | align_log2;
}

static inline uint64_t tp_live_size(const struct tp_live_slot *s)
{
    return s->word >> 8;
}

static inline uint8_t tp_live_align_log2(const struct tp_live_slot *s)
{
    return (uint8_t)s->word;
}

/* Clears all counts; the memory for slots is kept. */
static inline void tp_live_begin(struct tp_live *l)
{
    *l = (struct tp_live){.slots = l->slots, .capacity = l->capacity};
    for (uint32_t i = 0; i < TP_MAX_DEVICES; i++)
        l->devices[i].peak.insn = UINT64_MAX;
}

/* Makes room for slot number `used`, where at most `most` slots are allowed. */
static inline int tp_live_reach(struct tp_live *l, size_t most, struct tp_budget *budget,
                                struct tp_err *err)
{
    return TP_GROW(&l->slots, &l->capacity, l->used + (size_t)1, err, .what = "live objects",
                   TP_MOST(most), .budget = budget);
}

/* Is the slot live? Only for a slot below `used`. */
static inline bool tp_live_is(const struct tp_live *l, const struct tp_live_slot *s)
{
    return s->word && s->epoch == l->devices[s->device].epoch;
}

static inline void tp_live_count(struct tp_live *l, uint16_t device, uint64_t more, uint64_t less)
{
    l->bytes += more - less;
    l->devices[device].bytes += more - less;
}

/* The caller has made room for the slot. */
static inline void tp_live_add(struct tp_live *l, uint32_t slot, uint64_t word, uint16_t stream,
                               uint16_t device)
{
    struct tp_live_device *d = &l->devices[device];
    l->slots[slot] =
        (struct tp_live_slot){.word = word, .epoch = d->epoch, .stream = stream, .device = device};
    d->objects++;
    tp_live_count(l, device, word >> 8, 0);
}

static inline void tp_live_resize(struct tp_live *l, struct tp_live_slot *s, uint64_t word)
{
    tp_live_count(l, s->device, word >> 8, tp_live_size(s));
    s->word = word;
}

static inline void tp_live_free(struct tp_live *l, struct tp_live_slot *s)
{
    tp_live_count(l, s->device, 0, tp_live_size(s));
    l->devices[s->device].objects--;
    s->word = 0;
}

/* Resets the devices that the instruction names; `devices` is the program's number of devices. */
static inline void tp_live_reset(struct tp_live *l, const struct tp_insn *in, uint32_t devices)
{
    TP_EACH_DEVICE (i, in, devices) {
        struct tp_live_device *d = &l->devices[i];
        tp_live_count(l, (uint16_t)i, 0, d->bytes);
        d->objects = 0;
        d->epoch++;
    }
}

/* NULL, or what of an instruction contradicts the objects that are live. By itself it is right
 * (tp_insn_wrong). */
static inline const char *tp_live_wrong(const struct tp_live *l, const struct tp_insn *in)
{
    if (!tp_op_is(in->op, TP_IS_NEW | TP_IS_LIVE))
        return NULL;
    const struct tp_live_slot *s = in->slot < l->used ? &l->slots[in->slot] : NULL;
    bool live = s && tp_live_is(l, s);
    if (tp_op_is(in->op, TP_IS_NEW))
        return live ? "the slot is live" : NULL;
    if (!live)
        return "the slot is free";
    if (s->device != in->device)
        return "the object is on another device";
    if (in->op == TP_FREE && tp_live_size(s) != in->size)
        return "the object has another size";
    if (in->op == TP_FREE && tp_live_align_log2(s) != in->align_log2)
        return "the object has another alignment";
    if (in->op == TP_FREE && s->link)
        return "the object has more than one reference";
    if (in->op == TP_RELEASE && !s->link)
        return "the last reference is dropped by 'free'";
    return in->op == TP_RETAIN && s->link == UINT32_MAX ? "too many references" : NULL;
}

/* Applies an instruction that has been checked. */
static inline void tp_live_apply(struct tp_live *l, const struct tp_insn *in, uint32_t devices)
{
    uint64_t word = tp_live_word(in->size, in->align_log2);
    struct tp_live_slot *s = tp_op_is(in->op, TP_IS_LIVE) ? &l->slots[in->slot] : NULL;
    if (tp_op_is(in->op, TP_IS_NEW))
        tp_live_add(l, in->slot, word, in->stream, in->device);
    else if (in->op == TP_RESET)
        tp_live_reset(l, in, devices);
    else if (in->op == TP_FREE)
        tp_live_free(l, s);
    else if (s && tp_op_is(in->op, TP_ASKS))
        tp_live_resize(l, s, word);
    else if (s && in->op == TP_RETAIN)
        s->link++;
    else if (s && in->op == TP_RELEASE)
        s->link--;
}

/* The object of a slot that is live in a program that is being built. */
const struct tp_live_slot *tp_builder_object(const struct tp_builder *b, uint32_t slot);

/* Raises the peak of a device; to be called after an instruction that may have added bytes. */
static inline void tp_live_peak(struct tp_live_device *d, uint64_t event, uint64_t insn,
                                uint64_t time_ns)
{
    if (d->bytes <= d->peak.bytes)
        return;
    d->peak.bytes = d->bytes;
    d->peak.event = event;
    d->peak.insn = insn;
    d->peak.time_ns = time_ns;
}

#endif
