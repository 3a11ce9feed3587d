/* The file header and the block headers of a .tpt file, as structs and as bytes. */
#ifndef TP_TPT_BLOCK_H
#define TP_TPT_BLOCK_H

#include "traces/formats/tpt/tpt_layout.h"

struct tp_tpt_header {
    uint16_t version, flags; /* `flags` is 0 in version 1 */
    uint8_t kind;            /* enum tp_kind */
    /* events of the whole trace; 0: not known when the header was written */
    uint64_t events;
};

/* Writes TP_TPT_HEADER_SIZE bytes. */
void tp_tpt_header_put(const struct tp_tpt_header *h, uint8_t *bytes);

/* Reads TP_TPT_HEADER_SIZE bytes. TP_EINPUT: not a .tpt file, another version, or damaged; the
 * message names no place. */
int tp_tpt_header_get(const uint8_t *bytes, struct tp_tpt_header *out, struct tp_err *err);

struct tp_tpt_block {
    uint32_t type; /* enum tp_tpt_type, or a type of a later version */
    uint32_t flags;
    /* number of items: instructions, names, events of PLAC, segments and blocks of HEAP, numbers of
     * FACT */
    uint32_t count;
    uint32_t tick_ns;     /* DATA: unit, in ns, of gaps of one and two bytes */
    uint64_t first_event; /* DATA, PLAC: number of the first event */
    uint64_t first_time;  /* DATA: ns since the trace began, before the first gap of the block */
    uint32_t stored;      /* bytes of payload in the file */
    uint32_t raw;         /* bytes of payload once it is unpacked */
    uint32_t index;       /* position among the blocks of the file, from 0 */
    /* CRC-32C of the header, with 0 in this field, and of the stored payload */
    uint32_t crc;
};

/* Writes TP_TPT_BLOCK_SIZE bytes. Computes the checksum and stores it in b->crc too. */
void tp_tpt_block_put(struct tp_tpt_block *b, const void *payload, uint8_t *bytes);
void tp_tpt_block_get(const uint8_t *bytes, struct tp_tpt_block *out);

/* The right checksum of a block, computed from its header in `bytes` and `stored` bytes of payload.
 * The checksum that `bytes` itself contains is ignored. */
uint32_t tp_tpt_block_crc(const uint8_t *bytes, const void *payload, uint32_t stored);

/* Checks a block header on its own: type, flags, lengths, counts. Returns NULL, or what is
 * wrong. */
const char *tp_tpt_block_wrong(const struct tp_tpt_block *b);

static inline bool tp_tpt_has_insns(const struct tp_tpt_block *b)
{
    return b->type == TP_TPT_DATA || b->type == TP_TPT_PROL;
}

#endif
