/* The parts of the explainer of PyTorch's snapshots (cmd/why/explainer.h). The file's state is a
 * struct tp_torch_file. */
#ifndef TP_SNAPSHOT_EXPLAINER_H
#define TP_SNAPSHOT_EXPLAINER_H

#include "cmd/why/explainer.h"

/* snapshot_held.c; the annotations of the snapshot are sorted. */
int tp_snapshot_open_places(void *state, struct tp_why_places *out, struct tp_err *err);
int tp_snapshot_held(void *state, uint32_t device, const struct tp_why_moment *m,
                     const struct tp_why_layout *l, struct tp_why_places *places,
                     struct tp_why_held *out, struct tp_err *err);

/* snapshot_tries.c: some settings of PYTORCH_CUDA_ALLOC_CONF, replayed by the strategy `torch`;
 * `tapool tune` tries them all. Settings that the strategy refuses, and those that were recorded,
 * are left out. TP_ESTOP, TP_ENOMEM. */
int tp_snapshot_try(const struct tp_why_trace *t, const char *given, uint64_t capacity,
                    uint64_t memory, struct tp_why_tries *out, struct tp_err *err);

/* snapshot_made.c: a trace of PyTorch's requests as a snapshot. What lay where is not recorded in
 * it, as in one that tapool predicted, and follows from a replay by the rules of PyTorch's
 * allocator. */
int tp_snapshot_made(const struct tp_stand_in_ask *ask, struct tp_why_replayed *out,
                     struct tp_err *err);

#endif
