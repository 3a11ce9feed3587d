/* Interleaved rounds: every side is played once a round, in random order, each time in a fresh
 * process with a random environment, pinned to one core; one warm-up each is thrown away.
 *
 *     round 1    B A      round 2    A B      round 3    B A   ...
 *
 * A machine that drifts (clock, neighbours, heat) drifts for all sides alike. */
#ifndef TP_ROUNDS_H
#define TP_ROUNDS_H

#include "cmd/measure/measure.h"
#include "cmd/measure/metrics.h"

enum { TP_ROUND_SIDES = 32, TP_ROUNDS_MAX = 1000 };

/* What is the same for all sides. */
struct tp_rounds_cfg {
    const struct tp_prepared *trace;
    const char *source;      /* NULL: default */
    const char *const *more; /* further arguments of each replay */
    unsigned rounds;
    uint64_t min_time_ns; /* of the throughput and of the latency pass, each */
    uint64_t seed;        /* of the order and of the padding */
    int core;
    uint64_t timeout_ns; /* of each replay; 0: none */
    const volatile sig_atomic_t *interrupted;
    void (*progress)(void *ctx, unsigned done, unsigned total); /* may be NULL */
    void *progress_ctx;
};

struct tp_side {
    const char *binary; /* NULL: this one */
    const char *strategy;
};

/* values[side][metric][round], for metrics of classes N and R; NAN where a percentile is not known.
 */
struct tp_rounds {
    size_t sides;
    unsigned rounds;
    double *values;
    unsigned *cold; /* [side]: rounds in which one replay took longer than min_time_ns */
    double step_ns;
    size_t failed;          /* the side whose replay ended with an error; `sides`: none did */
    struct tp_stored first; /* the warm-up of side 0, for names and warnings */
};

int tp_rounds_play(const struct tp_rounds_cfg *cfg, const struct tp_side *sides, size_t count,
                   struct tp_rounds *out, struct tp_err *err);
void tp_rounds_release(struct tp_rounds *r);

/* The `rounds` values of a metric, by round. */
const double *tp_rounds_values(const struct tp_rounds *r, size_t side, const struct tp_metric *m);

#endif
