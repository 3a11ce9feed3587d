/* Windows as .tpt payloads: one window in, the bytes of one DATA or PROL block out. */
#ifndef TP_TPT_ENCODE_H
#define TP_TPT_ENCODE_H

#include "traces/formats/tpt/tpt_block.h"

/* What writing remembers of a slot from window to window. */
struct tp_tpt_wrote {
    uint64_t word; /* size and alignment of its object; 0: free */
    uint32_t next; /* of a free slot: the one freed before it */
    uint16_t stream;
};

struct tp_tpt_encoder {
    struct tp_tpt_wrote *slots;
    uint32_t used; /* slots that ever lived */
    size_t room;
    uint32_t free_head;  /* the slot freed last; UINT32_MAX: none */
    bool explicit_slots; /* slots are not as the reader would guess: from here on they are said */
    uint8_t *payload;    /* of the last window; TP_WINDOW_MAX * TP_TPT_RECORD_MAX bytes */
    struct tp_tpt_sizes *sizes;
};

int tp_tpt_encoder_init(struct tp_tpt_encoder *e, struct tp_err *err);
void tp_tpt_encoder_release(struct tp_tpt_encoder *e); /* a zeroed one is fine */

/* Fills e->payload and in *block all but index and checksum. The window must be the next one of a
 * program. */
int tp_tpt_encode(struct tp_tpt_encoder *e, const struct tp_window *w, struct tp_tpt_block *block,
                  struct tp_err *err);

#endif
