/* What a call of the command holds; shared by call_parts.c and call_text.c. */
#ifndef TP_CALL_STATE_H
#define TP_CALL_STATE_H

#include "cmd/sweep/sweep_run.h"

struct tp_sweep_state {
    const struct tp_sweep_opts *o;
    struct tp_sweep_plan plan;
    struct tp_cells cells;
    struct tp_sweep_done done;
    struct tp_store *store;
    const char *path;       /* of it */
    bool *mine;             /* cells of the shard; NULL: all are */
    uint64_t shard, shards; /* 0: all cells */
    uint64_t joined;        /* stores */
};

struct tp_sweep_estimate {
    uint64_t stored, left; /* cells */
    uint64_t timed;        /* of those that are left: replayed one at a time */
    double seconds;        /* that those that are left take; NAN: not known */
    double bytes;          /* that the store will have, about; NAN: not known */
};

void tp_sweep_print_done(const struct tp_sweep_state *s, FILE *out);
void tp_sweep_print_estimate(const struct tp_sweep_state *s, const struct tp_sweep_estimate *e,
                             FILE *out);
void tp_sweep_print_merged(const struct tp_sweep_state *s, FILE *out);

#endif
