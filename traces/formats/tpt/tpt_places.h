/* PLAC and STAK blocks of a .tpt file: where events happened in the recorded program.
 *
 *     n new texts, each ended by a NUL | one number for each of `count` events from first_event on
 *
 * A number is 0 for the place of the event before it in the block, 1 for no place, and k + 2 for
 * text k. Texts are numbered through all these blocks of the file. Events in no block have no
 * place.
 *
 * Where events have stacks, all places are in STAK blocks: few events may have one.
 *
 *     size and share of sampling | n new texts | n new stacks: text and caller + 1 |
 *     `count` events: how many lie between it and the one before, and 2 k for text k or 2 k + 1 for
 *     stack k */
#ifndef TP_TPT_PLACES_H
#define TP_TPT_PLACES_H

#include "traces/formats/tpt/tpt_block.h"
#include "traces/formats/tpt/tpt_layout.h"
#include "traces/places/place_table.h"

#define TP_TPT_PLACES_MAX (TP_TPT_PLACES_EVENTS * (TP_PLACE_TEXT + 5u)) /* bytes of a payload */
#define TP_TPT_STACKS_MAX (1u << 24)

/* ---- writing ---- */

struct tp_tpt_places_writer {
    struct tp_place_cursor cursor;
    uint64_t next;          /* first event that is in no block yet */
    uint32_t texts, stacks; /* numbers of them written so far */
};

/* Makes the next block and its payload, which the caller frees. *payload is NULL when no place is
 * left to write. */
int tp_tpt_places_put(struct tp_tpt_places_writer *w, struct tp_tpt_block *block, char **payload,
                      struct tp_err *err);

/* ---- reading ---- */

/* Zeroed except for `to`, which receives the places. */
struct tp_tpt_places_reader {
    struct tp_places *to;
    uint32_t *texts; /* number in the place table of each text read so far */
    uint32_t count;
    size_t room;
    uint32_t *stacks; /* the same of stacks, + 1 */
    uint32_t stack_count;
    size_t stack_room;
    uint64_t end; /* first event behind the last block */
};

/* Reads a block whose header was checked. 16 bytes behind the end of `payload` must be readable.
 * TP_EINPUT: the message names no place. */
int tp_tpt_places_get(struct tp_tpt_places_reader *r, const struct tp_tpt_block *block,
                      const char *payload, struct tp_err *err);
void tp_tpt_places_release(struct tp_tpt_places_reader *r);

#endif
