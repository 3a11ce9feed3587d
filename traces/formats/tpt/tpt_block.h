/* The header of a .tpt file and those of its blocks, as structs and as bytes. */
#ifndef TP_TPT_BLOCK_H
#define TP_TPT_BLOCK_H

#include "traces/formats/tpt/tpt_layout.h"

struct tp_tpt_header {
    uint16_t version, flags; /* flags: 0 */
    uint8_t kind;            /* enum tp_kind */
    uint64_t events;         /* of the whole trace; 0: not known when this was written */
};

/* Writes TP_TPT_HEADER_SIZE bytes. */
void tp_tpt_header_put(const struct tp_tpt_header *h, uint8_t *bytes);

/* TP_EINPUT: no such file, another version, damaged; the sentence names no place. */
int tp_tpt_header_get(const uint8_t *bytes, struct tp_tpt_header *out, struct tp_err *err);

struct tp_tpt_block {
    uint32_t type; /* enum tp_tpt_type, or one of the future */
    uint32_t flags;
    uint32_t count;       /* instructions; names; numbers of FACT */
    uint32_t tick_ns;     /* DATA: unit of gaps of one and two bytes */
    uint64_t first_event; /* DATA: of the first instruction */
    uint64_t first_time;  /* DATA: ns since the trace began, before its first gap */
    uint32_t stored;      /* bytes of payload in the file */
    uint32_t raw;         /* the same once it is unpacked */
    uint32_t index;       /* of the block in the file, from 0 */
    uint32_t crc;         /* over the header, with 0 here, and the stored payload */
};

/* Writes TP_TPT_BLOCK_SIZE bytes with the right checksum, which replaces b->crc. */
void tp_tpt_block_put(struct tp_tpt_block *b, const void *payload, uint8_t *bytes);
void tp_tpt_block_get(const uint8_t *bytes, struct tp_tpt_block *out);

/* The checksum as it should be: of the header as it stands in `bytes`, whatever it says itself. */
uint32_t tp_tpt_block_crc(const uint8_t *bytes, const void *payload, uint32_t stored);

/* NULL, or what is wrong with a header by itself: unknown type or flags, lengths, counts. */
const char *tp_tpt_block_wrong(const struct tp_tpt_block *b);

static inline bool tp_tpt_has_insns(const struct tp_tpt_block *b)
{
    return b->type == TP_TPT_DATA || b->type == TP_TPT_PROL;
}

#endif
