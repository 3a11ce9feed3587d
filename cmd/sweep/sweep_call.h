/* One call of the command: what it computes, or joins, and what it says of that. */
#ifndef TP_SWEEP_CALL_H
#define TP_SWEEP_CALL_H

#include "cmd/sweep/sweep.h"

struct tp_args;
struct tp_command;

struct tp_sweep_call {
    const struct tp_sweep_opts *o; /* those of `args`, which a plan adds to */
    const struct tp_command *command;
    const struct tp_args *args;
    char *path; /* of the store; set by each of the functions; the caller frees it */
};

/* Computes what the store lacks of the plan. `out` NULL: says nothing. A cell that fails is no
 * error of this function: `failed` has that of the first; its status is TP_OK where none did. */
int tp_sweep_call_compute(struct tp_sweep_call *call, FILE *out, struct tp_err *failed,
                          struct tp_err *err);

/* Computes for two seconds, in a store that is removed, and prints what to expect of the rest. */
int tp_sweep_call_estimate(struct tp_sweep_call *call, FILE *out, struct tp_err *err);

/* Joins the stores of the shards, or those among the words, into the store of the plan. TP_EINPUT:
 * a shard is missing. */
int tp_sweep_call_merge(struct tp_sweep_call *call, FILE *out, struct tp_err *err);

/* Finds the store that --report and --cite are of: the word itself, or that of the plan. */
int tp_sweep_call_find(struct tp_sweep_call *call, struct tp_err *err);

/* Prints how to cite what is in a store. */
int tp_sweep_print_cite(const struct tp_store *store, FILE *out, struct tp_err *err);

#endif
