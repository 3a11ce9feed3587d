/* Where in the recorded program an event happened: its stack frames, found in the file again. */
#ifndef TP_PYTORCH_PLACES_H
#define TP_PYTORCH_PLACES_H

#include "traces/format.h"
#include "traces/input/pickle_memo.h"

struct tp_pytorch_places;

/* Takes the memo over in every case, for what frames refer back to. Input that cannot be read again
 * is no error: *out is NULL. */
int tp_pytorch_places_new(const struct tp_input *in, struct tp_memo *memo,
                          struct tp_pytorch_places **out, struct tp_err *err);
void tp_pytorch_places_free(struct tp_pytorch_places *p); /* NULL is fine */

/* The next event: where the opcode of its frames is in the file; 0: it has none. NULL is fine. */
int tp_pytorch_places_add(struct tp_pytorch_places *p, uint64_t frames, struct tp_err *err);

/* Hands it to whoever asks later. NULL: places stays empty. */
void tp_pytorch_places_give(struct tp_pytorch_places *p, struct tp_places *places);

#endif
