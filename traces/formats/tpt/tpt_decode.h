/* Decodes .tpt payloads: takes the bytes of one DATA or PROL block, gives a window of checked
 * instructions. */
#ifndef TP_TPT_DECODE_H
#define TP_TPT_DECODE_H

#include "alloc/program/live.h"
#include "traces/formats/tpt/tpt_block.h"

/* Exclusive upper bounds of the indices in a file. */
struct tp_tpt_limits {
    uint32_t slots, threads, streams, devices, marks;
    uint64_t events;
};

/* State of one pass over a program, kept from block to block. */
struct tp_tpt_decoder {
    struct tp_tpt_limits limits;
    struct tp_live live; /* the link of a free slot is the slot that was freed before it */
    uint32_t free_head;  /* the slot freed last; UINT32_MAX: none */
    bool explicit_slots; /* a block gave its slots explicitly; all later blocks do */
    bool started;        /* the initial heap is over */
    uint64_t initial_heap, instructions, time, event; /* where the last block ended */
    uint64_t ops[TP_OP_COUNT]; /* instructions by op, without the initial heap */
    struct tp_insn pool; /* the last instruction, if it is a POOL: its ALLOC is next; else size 0 */
    uint64_t pool_event; /* its event */

    struct tp_insn *insns; /* the decoded window: room for max_count instructions */
    struct tp_jump *jumps;
    uint32_t max_count, jump_count;
    size_t jump_room;
};

/* Allocates windows of at most max_count instructions. Slots are allocated as they are used. */
int tp_tpt_decoder_init(struct tp_tpt_decoder *d, const struct tp_tpt_limits *limits,
                        uint32_t max_count, struct tp_err *err);
void tp_tpt_decoder_release(struct tp_tpt_decoder *d); /* a zeroed one is fine */
void tp_tpt_decoder_rewind(struct tp_tpt_decoder *d);

/* Decodes an unpacked payload of block->raw bytes; TP_TPT_RECORD_MAX more bytes behind it must be
 * readable. TP_EINPUT: the message names the instruction, but not file and block. */
int tp_tpt_decode(struct tp_tpt_decoder *d, const struct tp_tpt_block *block,
                  const uint8_t *payload, struct tp_window *out, struct tp_err *err);

#endif
