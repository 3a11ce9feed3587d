/* tapool sweep: its options, and the parts of the command.
 *
 *     plan_read.c, settings_add.c          which traces, which settings
 *     cell_compute.c, sweep_workers.c     what a cell is, and who computes which
 *     store.h                             where the results are
 *     report_*.c                          the answers from a store */
#ifndef TP_SWEEP_H
#define TP_SWEEP_H

#include "cmd/jobs/open_trace.h"
#include "cmd/ui/exporter.h"

struct tp_sweep_opts {
    struct tp_open_opts open;
    struct tp_exports exports;
    struct tp_opt_list traces, exclude, strategies, capacities, metrics;
    char *source, *store, *shard, *costs;
    uint64_t jobs, seed, threads, timeout, bound_time, min_time, repeat;
    uint32_t passes, touch, on_oom; /* passes: bits of enum tp_pass */
    bool report, merge, partial, dry_run, cite, thp;
};

#define TP_SWEEP_EXPORTS(X, of)                                                                    \
    TP_EXPORTS_OF_ALL(X, of, TP_JSON_HELP)                                                         \
    X(of, csv, of, "csv", "write a row for each trace and setting to FILE", FIRST)                 \
    X(of, svg, of, "svg", "write the pictures to FILE", LAST)                                      \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)

/* ---- report_*.c (sweep_answers.h) ---- */

struct tp_store;

/* Of which store the answers are. */
struct tp_sweep_asking {
    const struct tp_sweep_opts *opts;
    const struct tp_opt *rows; /* the rows of the command */
    struct tp_store *store;    /* open */
    const char *path;          /* of it */
};

extern const struct tp_exporters tp_sweep_exporters; /* `of` is a struct tp_sweep_answers */

/* Prints the answers and writes the exports that were asked for. TP_EUSAGE: an unknown metric, or a
 * file of an export that cannot be written; TP_EINPUT: the store has no cells, or none with the
 * metric. */
int tp_sweep_report(const struct tp_sweep_asking *asking, FILE *out, struct tp_err *err);

#endif
