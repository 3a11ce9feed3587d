/* The tables of a store (store.h), and what its rows are named by. */
#ifndef TP_STORE_SCHEMA_H
#define TP_STORE_SCHEMA_H

#include "cmd/sweep/sql.h"

#include <stddef.h>
#include <stdint.h>

enum { TP_STORE_SCHEMA = 1, TP_STORE_LINE = 1 << 16 /* bytes of a line, at most */ };

/* A cell's name and a trace's identity: 32 hexadecimal digits. */
enum { TP_STORE_NAME = 32 };

/* What is known of a trace, in its table. One that is known already keeps the first of its names in
 * the order of texts, and the bounds that say most. The statement before it inserts
 * TP_TRACE_COLUMNS. */
#define TP_TRACE_COLUMNS                                                                           \
    "identity, path, kind, events, operations, devices, threads, trace_peak, lower_bound, "        \
    "best_packing"
#define TP_TRACE_KNOWN                                                                             \
    " ON CONFLICT (identity) DO UPDATE SET path = min(path, excluded.path),"                       \
    " lower_bound = coalesce(max(lower_bound, excluded.lower_bound), lower_bound,"                 \
    " excluded.lower_bound), best_packing = coalesce(min(best_packing, excluded.best_packing),"    \
    " best_packing, excluded.best_packing)"

/* A file as it was when a trace was read from it. */
struct tp_store_file {
    const char *path, *reading; /* as the plan names it; the options that decide on its program */
    uint64_t bytes, modified_ns;
};

/* Creates the tables of an empty file, or adds the columns of metrics that it does not have. */
int tp_store_create(const struct tp_sql *s, struct tp_err *err);

/* TP_EINPUT: the file is no store, or has another schema. An empty file is none. */
int tp_store_check(const struct tp_sql *s, struct tp_err *err);

/* The column of a metric. Returns `out`. */
enum { TP_STORE_COLUMN = 64 };
struct tp_metric;
const char *tp_store_column(const struct tp_metric *m, char out[TP_STORE_COLUMN]);

#endif
