/* Playing instructions on a shadow model, one function per op, as alloc/engine/play_loop.c plays
 * them.
 *
 * Where the engine relies on lowering (a RELEASE is never the last, a FREE is), the step is passed
 * over when the program does not keep to it. */
#ifndef TP_CONFORMANCE_PLAY_H
#define TP_CONFORMANCE_PLAY_H

#include "alloc/conformance/conformance_model.h"

/* Plays one instruction and looks at everything. False: m->failure says what is wrong. */
bool tp_model_step(struct model *m, const struct tp_insn *in, uint32_t step);

/* Frees what is live, as the engine does at the end. */
bool tp_model_drain(struct model *m);

#endif
