/* Encodes .tpt payloads: takes one window, gives the bytes of one DATA or PROL block. */
#ifndef TP_TPT_ENCODE_H
#define TP_TPT_ENCODE_H

#include "traces/formats/tpt/tpt_block.h"

/* What the encoder keeps of a slot from window to window. */
struct tp_tpt_wrote {
    uint64_t word; /* size and alignment of its object, packed; 0: the slot is free */
    uint32_t next; /* for a free slot: the slot that was freed before it */
    uint16_t stream;
};

struct tp_tpt_encoder {
    struct tp_tpt_wrote *slots;
    uint32_t used; /* number of slots that were ever live */
    size_t room;
    uint32_t free_head;  /* the slot freed last; UINT32_MAX: none */
    bool explicit_slots; /* the reader could not derive the slots, so all are written from now on */
    /* payload of the last window; room for TP_WINDOW_MAX * TP_TPT_RECORD_MAX bytes */
    uint8_t *payload;
    struct tp_tpt_sizes *sizes;
};

int tp_tpt_encoder_init(struct tp_tpt_encoder *e, struct tp_err *err);
void tp_tpt_encoder_release(struct tp_tpt_encoder *e); /* a zeroed one is fine */

/* Encodes the next window of a program into e->payload. Sets all of *block except index and
 * checksum. */
int tp_tpt_encode(struct tp_tpt_encoder *e, const struct tp_window *w, struct tp_tpt_block *block,
                  struct tp_err *err);

#endif
