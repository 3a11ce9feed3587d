/* Code places of events: finds the stack frames of an event by reading the file again. The labels
 * of events (pytorch_labels.h) are kept beside them. */
#ifndef TP_PYTORCH_PLACES_H
#define TP_PYTORCH_PLACES_H

#include "traces/format.h"
#include "traces/formats/pytorch/pytorch_labels.h"
#include "traces/input/pickle_memo.h"

struct tp_pytorch_places;

/* Takes over the memo in every case; frames refer to its entries. An input that cannot be read
 * again is no error: *out is NULL then. */
int tp_pytorch_places_new(const struct tp_input *in, struct tp_memo *memo,
                          struct tp_pytorch_places **out, struct tp_err *err);
void tp_pytorch_places_free(struct tp_pytorch_places *p); /* NULL is fine */

/* Adds the next event. `frames` is the byte in the file of the opcode of its stack frames; 0: no
 * frames. `p` may be NULL. */
int tp_pytorch_places_add(struct tp_pytorch_places *p, uint64_t frames, struct tp_err *err);

/* The same for the next block of the initial heap, in the order of the program. */
int tp_pytorch_places_add_initial(struct tp_pytorch_places *p, uint64_t frames, struct tp_err *err);

/* Whether one of the stack frames at `frames`, as above, is of a function whose name is in a list,
 * which ends with NULL. TP_FRAMES_NONE: there are no frames, or they cannot be read. `p` may be
 * NULL. */
enum tp_pytorch_frames { TP_FRAMES_NONE, TP_FRAMES_OTHER, TP_FRAMES_CALLED };
int tp_pytorch_places_called(struct tp_pytorch_places *p, uint64_t frames,
                             const char *const *functions, enum tp_pytorch_frames *out,
                             struct tp_err *err);

/* Makes places that have labels alone, where the file cannot be read again or has no frames; or
 * adds labels to `*p`. */
int tp_pytorch_places_label(struct tp_pytorch_places **p, const struct tp_reading *r,
                            struct tp_err *err);

/* The labels; NULL: there are none. `p` may be NULL. */
struct tp_pytorch_labels *tp_pytorch_places_labels(struct tp_pytorch_places *p);

/* Hands `p` over to `places`, which releases it. If `p` is NULL, `places` stays empty. */
void tp_pytorch_places_give(struct tp_pytorch_places *p, struct tp_places *places);

#endif
