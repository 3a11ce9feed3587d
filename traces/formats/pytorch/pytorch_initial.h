/* What was live when the recording began. */
#ifndef TP_PYTORCH_INITIAL_H
#define TP_PYTORCH_INITIAL_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* What was live when the recording began, sorted by device and address: blocks that are freed and
 * were not allocated before, and blocks live at the end that were never allocated. Only devices
 * with `taken` set, one for each of TP_PYTORCH_LISTS, are looked at. The caller frees
 * out->items. */
int tp_pytorch_initial(const struct tp_pytorch *s, const bool *taken, struct tp_pytorch_blocks *out,
                       struct tp_err *err);

#endif
