/* Writes .tpt one window at a time, without keeping the windows that were written.
 *
 *     tp_tpt_write_begin --> tp_tpt_write_window ... --> tp_tpt_write_end --> tp_tpt_write_free
 *     header, META           NAME, PROL, DATA            META, NAME, FACT, END
 *
 * The same program, meta and settings give the same bytes. */
#ifndef TP_TPT_WRITER_H
#define TP_TPT_WRITER_H

#include "traces/formats/tpt/tpt_block.h"
#include "traces/trace_writer.h"

struct tp_tpt_writer;

/* Uses path, compress, meta and recorded of `w`. The meta is what is known so far, in case the file
 * is cut; it may be NULL. `events` counts the whole trace; with 0 the count is filled in at the
 * end, if `out` can seek. Every call returns TP_EIO once a write is known to have failed. The
 * caller flushes and closes `out`. */
int tp_tpt_write_begin(const struct tp_writing *w, enum tp_kind kind, uint64_t events, FILE *out,
                       struct tp_tpt_writer **writer, struct tp_err *err);

/* A tp_window_sink: `ctx` is the struct tp_tpt_writer. For tp_lower_cfg.sink. */
int tp_tpt_write_window(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                        struct tp_err *err);

/* Writes what is known only at the end. `end` has the program, of which facts, demand and names are
 * used, but not its windows; the final meta, or NULL to keep the first one; recorded, repairs and
 * places, each NULL if there are none. */
int tp_tpt_write_end(struct tp_tpt_writer *w, const struct tp_writing *end, struct tp_err *err);
void tp_tpt_write_free(struct tp_tpt_writer *w); /* NULL is fine */

/* Encodes .tpt payloads: takes one window, gives the bytes of one DATA or PROL block. */

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
