/* The plan of a sweep: its traces, its settings, and the groups of passes.
 *
 *     [sweep]
 *     trace = traces/2026-?-snapshot.pickle ; a glob, from the folder of the plan
 *     strategy = arena:arena_size=1MiB|4MiB
 *     strategy = torch:conf=tune
 *     passes = usage,throughput
 *
 * A plan has the syntax of .tapool.ini, and the options of the command as names. */
#ifndef TP_SWEEP_PLAN_H
#define TP_SWEEP_PLAN_H

#include "cmd/sweep/settings.h"
#include "cmd/sweep/sweep.h"

struct tp_args;
struct tp_command;

#define TP_STORE_SUFFIX ".sqlite"

enum { TP_SWEEP_TRACES = 1000000, TP_SWEEP_SHARDS = 1000000 /* at most */ };

struct tp_sweep_trace {
    char *label;                 /* owned; as the plan names it: the path in the store */
    char *path;                  /* owned; of the file */
    uint64_t bytes, modified_ns; /* 0: not a file; when its bytes or its name last changed */
};

/* Passes that are computed together. The figures of a group are exact, or those of this machine. */
struct tp_sweep_group {
    const char *name; /* "usage,fits" */
    unsigned passes;
    bool of_machine; /* figures differ from machine to machine */
    bool timed;      /* replayed one at a time */
};
enum { TP_SWEEP_GROUPS = 3 };

struct tp_sweep_plan {
    const struct tp_sweep_opts *opts;
    char *file;    /* owned; of the plan; NULL: all is on the command line */
    char *folder;  /* owned; of the plan with a slash; "": this one */
    char *store;   /* owned; NULL: none is asked for */
    char *text;    /* owned; the plan as it is, or the words of the command line */
    char **places; /* owned; a place for each strategy of the options */
    struct tp_sweep_trace *traces;
    size_t trace_count;
    struct tp_sweep_settings settings;
    struct tp_sweep_group groups[TP_SWEEP_GROUPS];
    size_t group_count;
    char *group_names; /* owned; the names are in it */
};

/* Reads the plan that is among the words, sets the options that it has, and finds the traces and
 * the settings. `args` are those of the command. TP_EUSAGE names the place. The caller releases the
 * plan in every case. */
int tp_sweep_plan_read(struct tp_sweep_plan *plan, const struct tp_command *command,
                       const struct tp_args *args, struct tp_err *err);
void tp_sweep_plan_release(struct tp_sweep_plan *plan);

/* Reads only the plan's file, for a command that needs neither traces nor settings. */
int tp_sweep_plan_options(struct tp_sweep_plan *plan, const struct tp_command *command,
                          const struct tp_args *args, struct tp_err *err);

/* Adds a text to the pattern of a glob, so that it matches itself alone. */
struct tp_str;
void tp_sweep_add_literal(struct tp_str *pattern, const char *text, size_t length);

/* Whether a word of the command line is a plan. */
bool tp_sweep_is_plan(const char *word);

/* The store: as asked for, or PLAN.sqlite, or sweep.sqlite. With `shard` and `shards` that of a
 * shard. The caller frees it; NULL: out of memory. */
char *tp_sweep_store_path(const struct tp_sweep_plan *plan, uint64_t shard, uint64_t shards);

/* "I/N". TP_EUSAGE. */
int tp_sweep_shard(const char *text, uint64_t *shard, uint64_t *shards, struct tp_err *err);

/* Cells of the plan: one for each trace, setting and group, numbered in this order. */
static inline uint64_t tp_sweep_cells(const struct tp_sweep_plan *p)
{
    return (uint64_t)p->trace_count * p->settings.count * p->group_count;
}

#endif
