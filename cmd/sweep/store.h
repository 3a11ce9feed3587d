/* The store of a sweep: one SQLite file with a row for each cell, which is a trace under a setting.
 *
 *     sweep      name, value                plan, commit, seeds and environment (--cite)
 *     traces     a row for each program, named by its identity
 *     files      where a trace was read from, so that it is not opened again while it is unchanged
 *     settings   text as for tapool replay; strategy
 *     options    setting, name, value       the options that the plan gave
 *     cells      trace, setting, passes, tool, machine, seconds, and a column for each metric
 *     failures   path, setting, passes, status, error
 *     results    view: a cell with its trace and setting in words
 *     tidy       view: trace, setting, metric, value
 *
 * A metric's column has its name (`tapool help metrics compared`) with _ for a dot. Its value is
 * that of all devices together; NULL: not measured. A cell has one row for each group of passes
 * (cell.h).
 *
 * Rows are lines of JSON (store_lines.h). A line is appended to the file STORE-pending before
 * anything else is done with it, and lines are committed to the store in batches. So a sweep that
 * is killed loses none: the next one begins with what is pending. That file is locked while a sweep
 * writes.
 */
#ifndef TP_STORE_H
#define TP_STORE_H

#include "cmd/sweep/store_schema.h"

struct tp_store;

/* Opens a store that exists. TP_EINPUT: it is none, or of another schema. */
int tp_store_open(const char *path, struct tp_store **out, struct tp_err *err);

/* The same for writing, and creates it where it is not there. TP_EIO: another sweep writes to it.
 * What was pending is committed. */
int tp_store_write(const char *path, struct tp_store **out, struct tp_err *err);

/* Commits and closes. NULL is fine. */
int tp_store_close(struct tp_store *store, struct tp_err *err);
/* The same without a commit: what is pending stays so. */
void tp_store_drop(struct tp_store *store);

const struct tp_sql *tp_store_sql(const struct tp_store *store);

/* Takes a line: appends it to what is pending and stores it with the next commit. TP_EINPUT: it is
 * no such line. */
int tp_store_take(struct tp_store *store, const char *line, size_t length, struct tp_err *err);

/* Commits what is pending. */
int tp_store_commit(struct tp_store *store, struct tp_err *err);

/* Whether the store has this cell. */
int tp_store_has(struct tp_store *store, const char *name, bool *has, struct tp_err *err);

/* The trace that was read from a file that had this size and time: its identity, "" where it is not
 * known, and its events. */
int tp_store_identity(struct tp_store *store, const struct tp_store_file *file,
                      char identity[TP_STORE_NAME + 1], uint64_t *events, struct tp_err *err);

/* Adds a setting, unless it is there, with its options as "name=value" texts. */
struct tp_store_setting {
    const char *text, *strategy;
    const char *const *options; /* ends with NULL */
};
int tp_store_setting(struct tp_store *store, const struct tp_store_setting *s, struct tp_err *err);

/* Sets a row of the table `sweep`. */
int tp_store_note(struct tp_store *store, const char *name, const char *value, struct tp_err *err);

/* Reads such a row; "": there is none. */
int tp_store_read_note(const struct tp_store *store, const char *name, char *out, size_t size,
                       struct tp_err *err);

/* Forgets the failures of a path, for another try. */
int tp_store_forget(struct tp_store *store, const char *path, struct tp_err *err);

/* Adds all of another store, which is left as it is, with what is pending beside it. A cell that
 * both have is kept once. TP_EINPUT: it is none, or of another schema. */
int tp_store_merge(struct tp_store *store, const char *from, struct tp_err *err);

#endif
