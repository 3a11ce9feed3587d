/* Replaying instructions on a shadow model, one function per op, as alloc/engine/replay_loop.c
 * replays them.
 *
 * Where the engine relies on lowering (a RELEASE is never the last, a FREE is), the step is passed
 * over when the program does not keep to it. */
#ifndef TP_CONFORMANCE_REPLAY_H
#define TP_CONFORMANCE_REPLAY_H

#include "alloc/conformance/conformance_model.h"
#include "alloc/conformance/conformance_rig.h"

/* Replays one instruction and looks at everything. False: m->failure says what is wrong. */
bool tp_model_step(struct model *m, const struct tp_insn *in, uint32_t step);

/* Frees what is live, as the engine does at the end. */
bool tp_model_drain(struct model *m);

/* Eight OS threads on one instance with TP_CAP_THREADS; see conformance_crowd.c. */

/* What the threads have done. */
struct crowd_counts {
    uint64_t local, remote; /* frees of blocks of the same thread, and of another */
    uint64_t ends, adopted;
};

/* Replays on a fresh instance of the configuration, whose `threads` and `concurrent` are set here.
 * TP_EBROKEN names what a thread found first. */
int tp_conformance_crowd(const struct rig_cfg *cfg, struct crowd_counts *out, struct tp_err *err);

#endif
