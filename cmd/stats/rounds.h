/* Interleaved rounds. In each round every side is replayed once, in random order. Each replay runs
 * in a fresh process with a random environment, pinned to one core. Before the first round each
 * side is replayed once as a warm-up, which is discarded, or is the first round.
 *
 *     round 1    B A      round 2    A B      round 3    B A   ...
 *
 * That way the drift of a machine (clock rate, other load, heat) affects all sides alike. */
#ifndef TP_ROUNDS_H
#define TP_ROUNDS_H

#include "cmd/results/metrics.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/progress.h"

enum { TP_ROUND_SIDES = 256, TP_ROUNDS_MAX = 1000 };

/* What all sides have in common. */
struct tp_rounds_cfg {
    const struct tp_prepared *trace;
    const char *source;      /* NULL: the default source */
    const char *const *more; /* further arguments of each replay */
    const char *threads;     /* value of --threads; NULL: 1 */
    const char *passes;      /* NULL: throughput,latency */
    unsigned rounds;
    bool first_counts;    /* the warm-up is the first of the rounds */
    uint64_t min_time_ns; /* for the throughput pass and for the latency pass */
    uint64_t seed;        /* for the order of the sides and the padding of the environment */
    int core;             /* -1: not pinned */
    uint64_t timeout_ns;  /* for each replay; 0: none */
    const volatile sig_atomic_t *interrupted;
    /* Asked when a side could not be replayed: whether the others go on without it. NULL: no. */
    bool (*drop)(void *ctx, size_t side, const struct tp_err *why);
    void *drop_ctx;
    struct tp_progress_line *progress; /* a step for each replay (tp_rounds_replays), or NULL */
};

struct tp_side {
    const char *binary; /* NULL: this tapool */
    const char *strategy;
};

/* The values of all rounds. */
struct tp_rounds {
    size_t sides;
    unsigned rounds;
    double *values; /* [side][metric][round], metrics of classes N and R; NAN: not known */
    unsigned *cold; /* [side]: rounds in which one replay took longer than min_time_ns */
    double step_ns; /* step of the clock */
    size_t failed;  /* index of the side whose replay failed; equal to `sides`: none */
    bool dropped[TP_ROUND_SIDES]; /* the others went on without it, and its values are no use */
    struct tp_stored first;       /* the first warm-up, for its names and warnings */
};

/* How many replays `rounds` rounds of `sides` sides take, with the warm-ups that count no round. */
static inline uint64_t tp_rounds_replays(unsigned rounds, size_t sides)
{
    return (uint64_t)(rounds + 1) * sides;
}

/* Replays the warm-ups and all rounds. The caller releases `out`, also after errors. TP_EINPUT: a
 * side replayed another program than the prepared one, or its results do not compare; other errors
 * are those of tp_measure. */
int tp_rounds_replay(const struct tp_rounds_cfg *cfg, const struct tp_side *sides, size_t count,
                     struct tp_rounds *out, struct tp_err *err);
void tp_rounds_release(struct tp_rounds *r);

/* Appends the rounds of `more`, which has the same sides. TP_ENOMEM leaves `r` as it was. */
int tp_rounds_append(struct tp_rounds *r, const struct tp_rounds *more, struct tp_err *err);

/* Takes a side out, and moves up those behind it. */
void tp_rounds_remove(struct tp_rounds *r, size_t side);

/* The values of a metric of one side, one for each round. */
const double *tp_rounds_values(const struct tp_rounds *r, size_t side, const struct tp_metric *m);

#endif
