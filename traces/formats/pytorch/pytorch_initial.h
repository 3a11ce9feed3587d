/* What was live when the recording began. */
#ifndef TP_PYTORCH_INITIAL_H
#define TP_PYTORCH_INITIAL_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* What was live when the recording began, sorted by device and address: blocks that are freed and
 * were not allocated before, and blocks live at the end that were never allocated. Only devices
 * with `taken` set are looked at; `freeing` is the action that frees. The caller frees
 * out->items. */
int tp_pytorch_initial(const struct tp_pytorch *s, const bool *taken,
                       enum tp_pytorch_action freeing, struct tp_pytorch_blocks *out,
                       struct tp_err *err);

#endif
