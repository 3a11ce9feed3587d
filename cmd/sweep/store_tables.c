/* The tables of a store; see store.h. */
#include "cmd/sweep/store_schema.h"

#include "alloc/base/str.h"
#include "cmd/results/metrics.h"

#include <string.h>

/* "tpsw", so that `file` and tapool know the file. */
#define APPLICATION_ID 0x74707377

static const char tables[] =
    "CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE traces (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE,"
    " path TEXT NOT NULL, kind TEXT NOT NULL, events INTEGER NOT NULL, operations INTEGER NOT NULL,"
    " devices INTEGER NOT NULL, threads INTEGER NOT NULL, trace_peak INTEGER NOT NULL,"
    " lower_bound INTEGER, best_packing INTEGER);"
    "CREATE TABLE files (path TEXT NOT NULL, reading TEXT NOT NULL, bytes INTEGER NOT NULL,"
    " modified_ns INTEGER NOT NULL, trace INTEGER NOT NULL REFERENCES traces,"
    " PRIMARY KEY (path, reading)) WITHOUT ROWID;"
    "CREATE TABLE settings (id INTEGER PRIMARY KEY, setting TEXT NOT NULL UNIQUE,"
    " strategy TEXT NOT NULL);"
    "CREATE TABLE options (setting INTEGER NOT NULL REFERENCES settings, name TEXT NOT NULL,"
    " value TEXT NOT NULL, PRIMARY KEY (setting, name)) WITHOUT ROWID;"
    "CREATE TABLE cells (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE,"
    " trace INTEGER NOT NULL REFERENCES traces, setting INTEGER NOT NULL REFERENCES settings,"
    " passes TEXT NOT NULL, tool TEXT NOT NULL, machine TEXT NOT NULL, seconds REAL NOT NULL);"
    "CREATE TABLE failures (path TEXT NOT NULL, setting TEXT NOT NULL, passes TEXT NOT NULL,"
    " status INTEGER NOT NULL, error TEXT NOT NULL, PRIMARY KEY (path, setting, passes))"
    " WITHOUT ROWID;";

const char *tp_store_column(const struct tp_metric *m, char out[TP_STORE_COLUMN])
{
    size_t i = 0;
    for (; m->name[i] && i < TP_STORE_COLUMN - 1; i++)
        out[i] = m->name[i] == '.' ? '_' : m->name[i];
    out[i] = '\0';
    return out;
}

static bool has_column(const struct tp_sql *s, const char *column)
{
    return sqlite3_table_column_metadata(s->db, NULL, "cells", column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

static void add_columns(const struct tp_sql *s, struct tp_str *sql)
{
    char column[TP_STORE_COLUMN];
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        if (!has_column(s, tp_store_column(m, column)))
            tp_str_add(sql, "ALTER TABLE cells ADD COLUMN %s %s;", column,
                       m->type == TP_FIGURE_WHOLE ? "INTEGER" : "REAL");
    }
}

static void add_views(struct tp_str *sql)
{
    char column[TP_STORE_COLUMN];
    tp_str_add(sql, "DROP VIEW IF EXISTS tidy; DROP VIEW IF EXISTS results;"
                    "CREATE VIEW results AS SELECT t.path AS trace, t.kind, t.events, t.trace_peak,"
                    " t.lower_bound, t.best_packing, s.setting, s.strategy, c.passes, c.tool,"
                    " c.machine, c.seconds");
    for (size_t i = 0; i < tp_metric_count; i++)
        tp_str_add(sql, ", c.%s", tp_store_column(&tp_metrics[i], column));
    tp_str_add(sql, " FROM cells c JOIN traces t ON t.id = c.trace"
                    " JOIN settings s ON s.id = c.setting; CREATE VIEW tidy AS");
    for (size_t i = 0; i < tp_metric_count; i++) {
        tp_store_column(&tp_metrics[i], column);
        tp_str_add(sql,
                   "%s SELECT trace, setting, '%s' AS metric, %s AS value FROM results"
                   " WHERE %s IS NOT NULL",
                   i ? " UNION ALL" : "", tp_metrics[i].name, column, column);
    }
    tp_str_add(sql, ";");
}

int tp_store_create(const struct tp_sql *s, struct tp_err *err)
{
    struct tp_str sql = {0};
    int64_t made = 0;
    int status = tp_sql_number(s, "SELECT count(*) FROM sqlite_master", &made, err);
    if (!status && made)
        status = tp_store_check(s, err);
    if (!status && !made)
        status = tp_sql_run(s, tables, err);
    if (status)
        return status;
    add_columns(s, &sql);
    if (sql.length || !made)
        add_views(&sql);
    if (!made)
        tp_str_add(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", APPLICATION_ID,
                   TP_STORE_SCHEMA);
    status = tp_str_status(&sql, err);
    if (!status && sql.length)
        status = tp_sql_run(s, tp_str_text(&sql), err);
    tp_str_drop(&sql);
    return status;
}

#define TABLE_NAMES "('sweep', 'traces', 'files', 'settings', 'options', 'cells', 'failures')"
enum { TABLES = 7, KEYS = 3 };

/* Views, virtual tables and generated columns could compute without end, and so would a search for
 * each row of a table without a key. */
static int check_tables(const struct tp_sql *s, struct tp_err *err)
{
    static const struct {
        const char *sql;
        int64_t count;
    } checks[] = {
        {"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name IN"
         " " TABLE_NAMES,
         TABLES},
        {"SELECT count(*) FROM sqlite_master m, pragma_table_xinfo(m.name, 'main') x WHERE"
         " m.type = 'table' AND m.name IN " TABLE_NAMES " AND x.hidden <> 0",
         0},
        {"SELECT count(*) FROM sqlite_master m, pragma_table_xinfo(m.name, 'main') x WHERE"
         " m.type = 'table' AND m.name IN ('cells', 'traces', 'settings') AND"
         " x.name = 'id' AND x.pk = 1 AND x.type = 'INTEGER'",
         KEYS}};
    int status = TP_OK;
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++) {
        int64_t count = 0;
        status = tp_sql_number(s, checks[i].sql, &count, err);
        if (!status && count != checks[i].count)
            status = tp_fail(err, TP_EINPUT, "%s: its tables are not those of a store of a sweep",
                             s->path);
    }
    return status;
}

int tp_store_check(const struct tp_sql *s, struct tp_err *err)
{
    int64_t id = 0, version = 0;
    int status = tp_sql_number(s, "PRAGMA application_id", &id, err);
    if (!status)
        status = tp_sql_number(s, "PRAGMA user_version", &version, err);
    if (!status && id != APPLICATION_ID)
        return tp_fail(err, TP_EINPUT, "%s: an SQLite file, but no store of a sweep", s->path);
    if (!status && version != TP_STORE_SCHEMA)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: a store of schema %lld, this tapool has %d",
                               s->path, (long long)version, (int)TP_STORE_SCHEMA),
                       "its own tapool reads it: --export-csv, or another --store for this one");
    return status ? status : check_tables(s, err);
}
