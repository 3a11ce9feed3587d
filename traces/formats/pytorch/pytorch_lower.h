/* Turns a snapshot that was read into a program. */
#ifndef TP_PYTORCH_LOWER_H
#define TP_PYTORCH_LOWER_H

#include "traces/formats/pytorch/pytorch_places.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Lowers everything, and fills in the rest of the meta and of the recorded state. `places` may be
 * NULL. A snapshot without events gives TP_OK and sets meta->nothing. */
int tp_pytorch_lower(struct tp_pytorch *s, struct tp_pytorch_places *places, struct tp_err *err);

#endif
