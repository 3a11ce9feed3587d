/* Computes the cells of a plan that the store does not have yet. */
#ifndef TP_SWEEP_RUN_H
#define TP_SWEEP_RUN_H

#include "cmd/sweep/cells.h"

/* What a run did. */
struct tp_sweep_done {
    uint64_t cells;              /* of the plan, or of the shard */
    uint64_t computed, stored;   /* now, and before */
    uint64_t failed;             /* cells without a result */
    uint64_t failed_traces;      /* that could not be opened */
    struct tp_err first_failure; /* TP_OK: none failed */
    uint64_t ns;                 /* that it took */
    double seconds;              /* that all computed cells took together */
    bool late;                   /* it was ended because of `limit_ns` */
};

struct tp_sweep_run {
    const struct tp_cells *cells;
    struct tp_store *store;  /* open for writing */
    const bool *mine;        /* of each cell, whether it is to be computed; NULL: all are */
    uint64_t jobs;
    uint64_t limit_ns; /* no cell begins after it; 0: none */
};

/* TP_ESTOP: interrupted; what is computed is stored. A cell that fails leaves the others as they
 * are: it is in the table of failures. */
int tp_sweep_compute(const struct tp_sweep_run *run, struct tp_sweep_done *out, struct tp_err *err);

#endif
