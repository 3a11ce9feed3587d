/* The cells of a sweep: a trace under a setting, with a group of passes.
 *
 * A cell is named by the hash of what decides on its figures: the program of the trace and what was
 * recorded beside it, all options of the setting, its files, the options of the sweep, the passes
 * and the commit of tapool; where figures are this machine's, also by the machine, and for a real
 * allocator by the variables of the environment that set mallocs. So a cell is computed
 * once, and again where any of these is another one. */
#ifndef TP_SWEEP_RUN_H
#define TP_SWEEP_RUN_H

#include "alloc/base/clock.h"
#include "cmd/sweep/store.h"
#include "cmd/sweep/sweep_plan.h"

/* What all cells of a sweep share. Made before workers are forked. */
struct tp_cells {
    const struct tp_sweep_plan *plan;
    char tool[160]; /* the commit, and of a build with changes the hash of the program */
    char machine[512];
    char reading[512];   /* the options that decide on the program of a file */
    char options[512];   /* those that decide on all figures */
    char measured[1024]; /* those that decide on measured ones, and the machine */
    /* variables by which mallocs are set, and a hash of all of them: they decide on what a real
     * allocator does */
    char environment[1024], environment_hash[TP_STORE_NAME + 1];
    struct tp_clock clock;
};

int tp_cells_open(struct tp_cells *cells, const struct tp_sweep_plan *plan, struct tp_err *err);

/* The name of a cell of a trace with this identity. */
int tp_cell_name(const struct tp_cells *cells, const char *identity,
                 const struct tp_sweep_setting *setting, const struct tp_sweep_group *group,
                 char name[TP_STORE_NAME + 1], struct tp_err *err);

/* The file of a trace as the store knows it. */
struct tp_store_file tp_cell_file(const struct tp_cells *cells, const struct tp_sweep_trace *t);

/* ---- in a worker ---- */

/* Of a trace that was opened, or of a cell that was computed. */
struct tp_cell_answer {
    char name[TP_STORE_NAME + 1]; /* the trace's identity, or the cell's name */
    uint64_t events;              /* of the trace */
    char line[TP_STORE_LINE];     /* store_lines.h */
};

/* Opens a trace; computes a cell. The trace that was opened last stays open in this process. */
int tp_cell_open_trace(const struct tp_cells *cells, size_t trace, struct tp_cell_answer *out,
                       struct tp_err *err);
int tp_cell_compute(const struct tp_cells *cells, uint64_t cell, struct tp_cell_answer *out,
                    struct tp_err *err);

/* The parts of a cell's number. */
struct tp_cell_of {
    size_t trace, setting, group;
};
static inline struct tp_cell_of tp_cell_of(const struct tp_sweep_plan *p, uint64_t cell)
{
    uint64_t pair = cell / p->group_count;
    return (struct tp_cell_of){(size_t)(pair / p->settings.count),
                               (size_t)(pair % p->settings.count), (size_t)(cell % p->group_count)};
}

/* ---- all cells (sweep_workers.c) ---- */

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
    struct tp_store *store; /* open for writing */
    const bool *mine;       /* of each cell, whether it is to be computed; NULL: all are */
    uint64_t jobs;
    uint64_t limit_ns; /* no cell begins after it; 0: none */
};

/* TP_ESTOP: interrupted; what is computed is stored. A cell that fails leaves the others as they
 * are: it is in the table of failures. */
int tp_sweep_compute(const struct tp_sweep_run *run, struct tp_sweep_done *out, struct tp_err *err);

/* ---- a call of the command (call_parts.c, call_text.c) ---- */

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
