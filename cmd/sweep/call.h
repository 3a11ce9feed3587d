/* One call of the command: what it computes, or joins, and what it says of that. */
#ifndef TP_SWEEP_CALL_H
#define TP_SWEEP_CALL_H

#include "cmd/sweep/run.h"

struct tp_sweep_call {
    const struct tp_sweep_opts *o;
    struct tp_sweep_plan plan;
    struct tp_cells cells;
    struct tp_sweep_done done;
    struct tp_store *store;
    char *path; /* of it; owned */
    bool *mine; /* cells of the shard; NULL: all are */
    uint64_t shard, shards; /* 0: all cells */
    uint64_t joined;        /* stores */
};

/* Computes what the store lacks of the plan. A failed cell is no error here (done.first_failure).
 * `call` is zeroed but for `o`, and released by the caller in every case. */
int tp_sweep_call_compute(struct tp_sweep_call *call, const struct tp_command *command,
                          const struct tp_args *args, struct tp_err *err);

/* The same for two seconds, in a store that is removed; `done` has what was computed then. */
struct tp_sweep_estimate {
    uint64_t stored, left;      /* cells */
    uint64_t timed;             /* of those that are left: replayed one at a time */
    double seconds;             /* that those that are left take; NAN: not known */
    double bytes;               /* that the store will have, at most; NAN: not known */
};
int tp_sweep_call_estimate(struct tp_sweep_call *call, const struct tp_command *command,
                           const struct tp_args *args, struct tp_sweep_estimate *out,
                           struct tp_err *err);

/* Joins the stores of the shards, or those among the words, into the store of the plan. TP_EINPUT:
 * a shard is missing. */
int tp_sweep_call_merge(struct tp_sweep_call *call, const struct tp_command *command,
                        const struct tp_args *args, struct tp_err *err);

void tp_sweep_call_release(struct tp_sweep_call *call);

/* ---- summary.c ---- */

void tp_sweep_print_done(const struct tp_sweep_call *call, FILE *out);
void tp_sweep_print_estimate(const struct tp_sweep_call *call, const struct tp_sweep_estimate *e,
                             FILE *out);
void tp_sweep_print_merged(const struct tp_sweep_call *call, FILE *out);

/* Prints how to cite what is in a store. */
int tp_sweep_print_cite(const struct tp_store *store, FILE *out, struct tp_err *err);

#endif
