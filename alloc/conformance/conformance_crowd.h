/* Eight OS threads on one instance with TP_CAP_THREADS; see conformance_crowd.c. */
#ifndef TP_CONFORMANCE_CROWD_H
#define TP_CONFORMANCE_CROWD_H

#include "alloc/conformance/conformance_rig.h"

/* What the threads have done. */
struct crowd_counts {
    uint64_t local, remote; /* frees of blocks of the same thread, and of another */
    uint64_t ends, adopted;
};

/* Plays on a fresh instance of the configuration, whose `threads` and `concurrent` are set here.
 * TP_EBROKEN names what a thread found first. */
int tp_conformance_crowd(const struct rig_cfg *cfg, struct crowd_counts *out, struct tp_err *err);

#endif
