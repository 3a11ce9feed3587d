/* Internal to the engine: the part of the verifying pass that several OS threads play. */
#ifndef TP_VERIFY_THREADS_H
#define TP_VERIFY_THREADS_H

#include "alloc/engine/replay_cfg.h"

/* Plays the program once by cfg->threads threads. TP_EBROKEN with the event at which the strategy
 * broke its contract. */
int tp_verify_threads(const struct tp_replay_cfg *cfg, struct tp_err *err);

#endif
