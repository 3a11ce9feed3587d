/* The rows of a store as lines of JSON: a worker writes them, the store reads them.
 *
 *     {"trace":{"identity":...,"path":...,"events":...}}
 *     {"cell":{"name":...,"identity":...,"setting":...,"values":{"peak_reserved":...}}}
 *     {"failure":{"path":...,"setting":...,"status":...,"error":...}} */
#ifndef TP_STORE_LINES_H
#define TP_STORE_LINES_H

#include "cmd/sweep/store_schema.h"

struct tp_record;

/* A trace, and the file that it was read from. Sums over all devices; TP_NONE: not looked for. */
struct tp_line_trace {
    char identity[TP_STORE_NAME + 1];
    struct tp_store_file file;
    const char *kind;
    uint64_t events, operations, devices, threads, trace_peak, lower_bound, best_packing;
};

struct tp_line_cell {
    char name[TP_STORE_NAME + 1], identity[TP_STORE_NAME + 1];
    const char *setting, *passes, *tool, *machine;
    double seconds;
    const struct tp_record *record; /* of the passes; other values are left out */
};

struct tp_line_failure {
    const char *path, *setting, *passes;
    int status;
    const char *error;
};

/* Write a line with its end. TP_EINPUT: it is longer than `size`; TP_ENOMEM. */
int tp_line_trace(const struct tp_line_trace *t, char *line, size_t size, struct tp_err *err);
int tp_line_cell(const struct tp_line_cell *c, char *line, size_t size, struct tp_err *err);
int tp_line_failure(const struct tp_line_failure *f, char *line, size_t size, struct tp_err *err);

/* The statements that store lines. */
enum { TP_LINE_KINDS = 3 };
struct tp_line_store {
    const struct tp_sql *sql;
    sqlite3_stmt *trace, *file, *cell, *failure, *solved;
};

/* Prepares them; a zeroed one may be closed. */
int tp_line_store_open(struct tp_line_store *l, const struct tp_sql *sql, struct tp_err *err);
void tp_line_store_close(struct tp_line_store *l);

/* Stores a line. TP_EINPUT: it is none; `place` names it. */
int tp_line_store(struct tp_line_store *l, const char *line, size_t length, const char *place,
                  struct tp_err *err);

#endif
