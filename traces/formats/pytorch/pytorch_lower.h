/* Turns a snapshot that was read into a program. */
#ifndef TP_PYTORCH_LOWER_H
#define TP_PYTORCH_LOWER_H

#include "traces/formats/pytorch/pytorch_places.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

/* What was live when the recording began, sorted by device and address: blocks that are freed and
 * were not allocated before, and blocks live at the end that were never allocated. Only devices
 * with `taken` set are looked at; `freeing` is the action that frees. The caller frees
 * out->items. */
int tp_pytorch_initial(const struct tp_pytorch *s, const bool *taken,
                       enum tp_pytorch_action freeing, struct tp_pytorch_blocks *out,
                       struct tp_err *err);

/* Lowers everything, and fills in the rest of the meta and of the recorded state. `places` may be
 * NULL. A snapshot without events gives TP_OK and sets meta->nothing. */
int tp_pytorch_lower(struct tp_pytorch *s, struct tp_pytorch_places *places, struct tp_err *err);

#endif
