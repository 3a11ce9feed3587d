/* .tpt payloads as windows: the bytes of one DATA or PROL block in, checked instructions out. */
#ifndef TP_TPT_DECODE_H
#define TP_TPT_DECODE_H

#include "alloc/program/live.h"
#include "traces/formats/tpt/tpt_block.h"

/* What indices must stay below. */
struct tp_tpt_limits {
    uint32_t slots, threads, streams, devices, marks;
    uint64_t events;
};

/* One pass over a program, from block to block. */
struct tp_tpt_decoder {
    struct tp_tpt_limits limits;
    struct tp_live live; /* the link of a free slot is the one freed before it */
    uint32_t free_head;  /* the slot freed last; UINT32_MAX: none */
    bool explicit_slots; /* a block said its slots: all later ones do */
    bool started;        /* the prologue is over */
    uint64_t prologue, instructions, time, event; /* of all blocks so far */
    uint64_t ops[16];                             /* the prologue not counted */

    struct tp_insn *insns; /* the window: room for max_count */
    struct tp_jump *jumps;
    uint32_t max_count, jump_count;
    size_t jump_room;
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
