/* SQLite as a sweep uses it: errors are sentences that name the file, and a file is trusted in
 * nothing. */
#ifndef TP_SQL_H
#define TP_SQL_H

#include "alloc/base/err.h"

#include <sqlite3.h>
#include <stdbool.h>

struct tp_sql {
    sqlite3 *db;
    const char *path; /* borrowed, for sentences */
};

/* Opens a file; `flags` are those of sqlite3_open_v2. What its schema may do is limited: it runs no
 * function that reads or writes elsewhere, no trigger, and changes no table of SQLite's own. */
int tp_sql_open(struct tp_sql *s, const char *path, int flags, struct tp_err *err);
void tp_sql_close(struct tp_sql *s); /* a zeroed one is fine */

/* The error of the last call. TP_EINPUT: the file is damaged or no SQLite file; TP_EIO: it is in
 * use, the disk is full, or it cannot be read or written; TP_ENOMEM. */
int tp_sql_fail(const struct tp_sql *s, struct tp_err *err);

/* Runs statements that give no rows. */
int tp_sql_run(const struct tp_sql *s, const char *statements, struct tp_err *err);

/* Prepares one statement, which the caller finalizes. */
int tp_sql_prepare(const struct tp_sql *s, const char *text, sqlite3_stmt **out,
                   struct tp_err *err);

/* Binds values from the first parameter on, by a letter each: t text, i int64_t, u uint64_t
 * (TP_NONE: NULL), r double (NAN: NULL), b 32 hexadecimal digits as a blob of 16 bytes. Texts are
 * borrowed until the statement is reset; NULL is NULL. */
void tp_sql_bind(sqlite3_stmt *statement, const char *types, ...);

/* Steps to the next row; *row is false behind the last, and the statement is reset then. */
int tp_sql_step(const struct tp_sql *s, sqlite3_stmt *statement, bool *row, struct tp_err *err);

/* Steps to the end and resets. */
int tp_sql_finish(const struct tp_sql *s, sqlite3_stmt *statement, struct tp_err *err);

/* The whole number that a statement gives in its first row; 0: it gives none. */
int tp_sql_number(const struct tp_sql *s, const char *text, int64_t *out, struct tp_err *err);

/* A text of a column, "" for NULL; valid until the next step. */
const char *tp_sql_text(sqlite3_stmt *statement, int column);

/* A number of a column, NAN for NULL. */
double tp_sql_real(sqlite3_stmt *statement, int column);

#endif
