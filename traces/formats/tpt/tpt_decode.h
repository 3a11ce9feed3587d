/* .tpt payloads as windows: the bytes of one DATA or PROL block in, checked instructions out. */
#ifndef TP_TPT_DECODE_H
#define TP_TPT_DECODE_H

#include "traces/formats/tpt/tpt_block.h"

/* What reading remembers of a slot. Its object lives if word is not 0 and epoch is that of the
 * device. */
struct tp_tpt_slot {
    uint64_t word; /* size and alignment; 0: free */
    uint64_t epoch;
    uint32_t link; /* references beyond the first; of a free slot the one freed before it */
    uint16_t stream, device;
};
static_assert(sizeof(struct tp_tpt_slot) == 24, "what a slot costs");

struct tp_tpt_device {
    uint64_t epoch; /* resets so far */
    uint64_t live_bytes, live_objects;
    uint64_t peak_bytes, peak_insn, peak_time, peak_event; /* for the first time */
    uint64_t prologue_bytes;
};

/* What indices must stay below. */
struct tp_tpt_limits {
    uint32_t slots, threads, streams, devices, marks;
    uint64_t events;
};

/* One pass over a program, from block to block. */
struct tp_tpt_decoder {
    struct tp_tpt_limits limits;
    struct tp_tpt_slot *slots;
    uint32_t used, capacity; /* slots that ever lived; room */
    uint32_t free_head;      /* the slot freed last; UINT32_MAX: none */
    bool explicit_slots;     /* a block said its slots: all later ones do */
    bool started;            /* the prologue is over */
    uint64_t live_bytes;
    uint64_t prologue, instructions, time, event; /* of all blocks so far */
    uint64_t ops[16];                             /* the prologue not counted */
    struct tp_tpt_device devices[TP_MAX_DEVICES];

    struct tp_insn *insns; /* the window: room for max_count */
    struct tp_jump *jumps;
    uint32_t max_count, jump_count, jump_capacity;
};

/* Room for windows of up to max_count instructions; slots come as they are needed. */
int tp_tpt_decoder_init(struct tp_tpt_decoder *d, const struct tp_tpt_limits *limits,
                        uint32_t max_count, struct tp_err *err);
void tp_tpt_decoder_release(struct tp_tpt_decoder *d); /* a zeroed one is fine */
void tp_tpt_decoder_rewind(struct tp_tpt_decoder *d);

/* The payload is unpacked, block->raw bytes long, and TP_TPT_RECORD_MAX more bytes may be read
 * behind it. TP_EINPUT: the sentence names the instruction, not file and block. */
int tp_tpt_decode(struct tp_tpt_decoder *d, const struct tp_tpt_block *block,
                  const uint8_t *payload, struct tp_window *out, struct tp_err *err);

#endif
