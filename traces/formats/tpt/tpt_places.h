/* PLAC blocks of a .tpt file: where events happened in the recorded program.
 *
 *     n new texts, each ended by a NUL | one number for each of `count` events from first_event on
 *
 * A number is 0: as the event before it in the block; 1: none; k + 2: text k, as they are numbered
 * through all PLAC blocks of the file. Events in no block have no place. */
#ifndef TP_TPT_PLACES_H
#define TP_TPT_PLACES_H

#include "traces/formats/tpt/tpt_block.h"
#include "traces/formats/tpt/tpt_layout.h"
#include "traces/lower/place_table.h"

#define TP_TPT_PLACES_MAX (TP_TPT_PLACES_EVENTS * (TP_PLACE_TEXT + 5u)) /* bytes of a payload */

/* ---- writing ---- */

struct tp_tpt_places_writer {
    struct tp_place_cursor cursor;
    uint64_t next;  /* event that no block has yet */
    uint32_t texts; /* written */
};

/* The next block and its payload, which the caller frees; *payload is NULL when there is none. */
int tp_tpt_places_put(struct tp_tpt_places_writer *w, struct tp_tpt_block *block, char **payload,
                      struct tp_err *err);

/* ---- reading ---- */

/* Zeroed but for `to`. */
struct tp_tpt_places_reader {
    struct tp_places *to;
    uint32_t *texts; /* their numbers in the table */
    uint32_t count;
    size_t room;
    uint64_t end; /* the event behind the last block */
};

/* Takes a block whose header is in order; `payload` has 16 bytes that may be read behind its end.
 * TP_EINPUT says what is wrong, without a place. */
int tp_tpt_places_get(struct tp_tpt_places_reader *r, const struct tp_tpt_block *block,
                      const char *payload, struct tp_err *err);
void tp_tpt_places_release(struct tp_tpt_places_reader *r);

#endif
