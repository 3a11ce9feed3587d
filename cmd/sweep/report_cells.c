/* Picks the cells of a store that the answers are made from.
 *
 * A store may have cells of several tapools and machines, and a file may have anything. Picked are
 * the cells of the newest row's tapool, of those that name a machine those of the newest one.
 * They go into a table of their own, sorted by trace and setting, in a file that SQLite deletes:
 *
 *     picked     trace, setting, cell (0: a failure), failed, invalid values, a value a metric
 *
 * Known weakness: a view that is called `cells` is refused, but a column of values that are wrong
 * is believed. */
#include "cmd/sweep/sweep_answers.h"

#include "cmd/ui/escape.h"

#include "alloc/base/grow.h"
#include "alloc/base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char tp_sweep_condition[] =
    " c.id > 0 AND c.tool = ?1 AND (c.machine = '' OR c.machine = ?2) ";

/* A number of the store that is none of these is not used. */
#define IS_NUMBER "typeof(%s) IN ('integer', 'real') AND %s >= 0 AND %s < 9e999"

/* ---- statements ---- */

/* Runs a statement with the tool and the machine, as far as it has parameters. */
static int run_picked(const struct tp_sweep_picked *p, const char *sql, struct tp_err *err)
{
    sqlite3_stmt *statement;
    int status = tp_sql_prepare(p->sql, sql, &statement, err);
    if (!status && sqlite3_bind_parameter_count(statement) == 2)
        tp_sql_bind(statement, "tt", p->tool, p->machine);
    if (!status)
        status = tp_sql_finish(p->sql, statement, err);
    sqlite3_finalize(statement);
    return status;
}

static int copy_text(const char *text, char **out, struct tp_err *err)
{
    *out = strdup(text);
    return *out ? TP_OK : tp_sweep_no_memory(err);
}

/* A text that is valid UTF-8 and moves no cursor, whatever the store has. */
static int clean_text(const char *text, char **out, struct tp_err *err)
{
    struct tp_str clean = {0};
    tp_str_escape(&clean, TP_TO_LINE, text);
    int status = tp_str_status(&clean, err);
    if (!status)
        status = copy_text(tp_str_text(&clean), out, err);
    tp_str_drop(&clean);
    return status;
}

/* The first text that a statement gives, "" where it gives none. */
static int first_text(const struct tp_sweep_picked *p, const char *sql, char **out,
                      struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = false;
    int status = tp_sql_prepare(p->sql, sql, &statement, err);
    if (!status && sqlite3_bind_parameter_count(statement))
        tp_sql_bind(statement, "t", p->tool);
    if (!status)
        status = tp_sql_step(p->sql, statement, &row, err);
    if (!status)
        status = copy_text(row ? tp_sql_text(statement, 0) : "", out, err);
    sqlite3_finalize(statement);
    return status;
}

/* ---- traces and settings ---- */

static const char numbered[] =
    "PRAGMA temp.cache_size = -32768;"
    "CREATE TEMP TABLE numbered_traces (number INTEGER PRIMARY KEY, id INTEGER UNIQUE, path TEXT,"
    " bytes REAL, bound INTEGER);"
    "INSERT INTO temp.numbered_traces (id, path, bytes, bound) SELECT id, CAST(path AS TEXT),"
    " CASE WHEN typeof(best_packing) = 'integer' AND best_packing > 0 THEN best_packing"
    " WHEN typeof(lower_bound) = 'integer' AND lower_bound > 0 THEN lower_bound"
    " WHEN typeof(trace_peak) = 'integer' AND trace_peak > 0 THEN trace_peak ELSE 0 END,"
    " NOT (typeof(best_packing) = 'integer' AND best_packing > 0)"
    " FROM main.traces WHERE typeof(id) = 'integer' ORDER BY path, identity;"
    "CREATE INDEX temp.numbered_paths ON numbered_traces (path);"
    "CREATE TEMP TABLE numbered_settings (number INTEGER PRIMARY KEY, id INTEGER UNIQUE,"
    " setting TEXT, strategy TEXT);"
    "INSERT INTO temp.numbered_settings (id, setting, strategy) SELECT id, CAST(setting AS TEXT),"
    " CAST(strategy AS TEXT) FROM main.settings WHERE typeof(id) = 'integer'"
    " ORDER BY setting, id;"
    "CREATE INDEX temp.numbered_texts ON numbered_settings (setting);";

static int read_references(struct tp_sweep_picked *p, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = true;
    int status = tp_sql_prepare(
        p->sql, "SELECT bytes, bound FROM temp.numbered_traces ORDER BY number", &statement, err);
    size_t room = 0;
    while (!status && (status = tp_sql_step(p->sql, statement, &row, err)) == TP_OK && row) {
        status = TP_GROW(&p->references, &room, p->trace_count + 1, err, .what = "traces",
                         .of = p->sql->path, TP_MOST(TP_SWEEP_TRACES_MOST));
        if (!status)
            p->references[p->trace_count++] = (struct tp_sweep_reference){
                sqlite3_column_double(statement, 0), sqlite3_column_int(statement, 1) != 0};
    }
    sqlite3_finalize(statement);
    return status;
}

static int read_settings(struct tp_sweep_picked *p, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = true;
    int status = tp_sql_prepare(p->sql,
                                "SELECT setting, strategy FROM temp.numbered_settings"
                                " ORDER BY number",
                                &statement, err);
    size_t room = 0;
    while (!status && (status = tp_sql_step(p->sql, statement, &row, err)) == TP_OK && row) {
        status = TP_GROW(&p->settings, &room, p->setting_count + 1, err, .what = "settings",
                         .of = p->sql->path, TP_MOST(TP_SWEEP_SETTINGS_MOST));
        if (status)
            break;
        struct tp_sweep_tried *s = &p->settings[p->setting_count++];
        memset(s, 0, sizeof *s);
        status = clean_text(tp_sql_text(statement, 0), &s->text, err);
        if (!status)
            status = clean_text(tp_sql_text(statement, 1), &s->strategy, err);
    }
    sqlite3_finalize(statement);
    return status;
}

/* ---- options ---- */

static int find_option(struct tp_sweep_picked *p, const char *name, struct tp_sweep_option **out,
                       struct tp_err *err)
{
    size_t last = p->option_count;
    if (last && !strcmp(p->options[last - 1].name, name)) {
        *out = &p->options[last - 1];
        return TP_OK;
    }
    if (last == TP_SWEEP_OPTIONS)
        return tp_fail(err, TP_EINPUT, "%s: its settings have more than %d different options",
                       p->sql->path, (int)TP_SWEEP_OPTIONS);
    *out = &p->options[p->option_count++];
    int status = copy_text(name, &(*out)->name, err);
    if (!status)
        status = TP_ONE_MORE(&(*out)->values, (*out)->count, err, .what = "values of options");
    if (!status)
        status = copy_text("default", &(*out)->values[(*out)->count++], err);
    return status;
}

/* Rows come by name and value, so each value is either the last one or new. */
static int find_value(struct tp_sweep_option *o, const char *value, uint32_t *out,
                      struct tp_err *err)
{
    if (o->count == 1 || strcmp(o->values[o->count - 1], value) != 0) {
        int status = TP_ONE_MORE(&o->values, o->count, err, .what = "values of options");
        if (!status)
            status = copy_text(value, &o->values[o->count], err);
        if (status)
            return status;
        o->count++;
    }
    *out = (uint32_t)(o->count - 1);
    return TP_OK;
}

static int read_options(struct tp_sweep_picked *p, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = true;
    int status = tp_sql_prepare(p->sql,
                                "SELECT n.number - 1, o.name, o.value FROM main.options o JOIN"
                                " temp.numbered_settings n ON n.id = o.setting"
                                " ORDER BY CAST(o.name AS TEXT), CAST(o.value AS TEXT), n.number",
                                &statement, err);
    while (!status && (status = tp_sql_step(p->sql, statement, &row, err)) == TP_OK && row) {
        struct tp_sweep_tried *s = &p->settings[sqlite3_column_int64(statement, 0)];
        struct tp_sweep_option *o = NULL;
        uint32_t value = 0;
        char *name = NULL, *text = NULL;
        status = clean_text(tp_sql_text(statement, 1), &name, err);
        if (!status)
            status = clean_text(tp_sql_text(statement, 2), &text, err);
        if (!status)
            status = find_option(p, name, &o, err);
        if (!status)
            status = find_value(o, text, &value, err);
        free(name);
        free(text);
        if (!status) {
            s->values[o - p->options] = value;
            s->given++;
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* ---- cells ---- */

static bool has_cell_column(const struct tp_sweep_picked *p, const char *column)
{
    return sqlite3_table_column_metadata(p->sql->db, "main", "cells", column, NULL, NULL, NULL,
                                         NULL, NULL) == SQLITE_OK;
}

/* The expressions of the metrics; a store of an older tapool lacks those it did not know. */
static void add_values(const struct tp_sweep_picked *p, struct tp_str *values,
                       struct tp_str *invalid)
{
    char name[TP_STORE_COLUMN], column[TP_STORE_COLUMN + 2];
    for (size_t i = 0; i < p->metric_count; i++) {
        snprintf(column, sizeof column, "c.%s", tp_store_column(p->metrics[i], name));
        if (!has_cell_column(p, name)) {
            tp_str_add(values, ", NULL");
            continue;
        }
        tp_str_add(values, ", CASE WHEN " IS_NUMBER " THEN %s END", column, column, column, column);
        tp_str_add(invalid, " + (%s IS NOT NULL AND NOT (" IS_NUMBER "))", column, column, column,
                   column);
    }
}

static int fill_picked(struct tp_sweep_picked *p, struct tp_err *err)
{
    struct tp_str table = {0}, fill = {0}, values = {0}, invalid = {0};
    add_values(p, &values, &invalid);
    tp_str_add(&table, "CREATE TEMP TABLE picked (trace INTEGER, setting INTEGER, cell INTEGER,"
                       " failed INTEGER, invalid INTEGER");
    for (size_t i = 0; i < p->metric_count; i++)
        tp_str_add(&table, ", v%zu", i);
    tp_str_add(&table, ", PRIMARY KEY (trace, setting, cell)) WITHOUT ROWID");
    tp_str_add(&fill,
               "INSERT INTO temp.picked SELECT t.number - 1, s.number - 1, c.id,"
               " coalesce(c.failed_allocations > 0, 0), 0%s%s FROM main.cells c"
               " CROSS JOIN temp.numbered_traces t ON t.id = c.trace"
               " CROSS JOIN temp.numbered_settings s ON s.id = c.setting WHERE %s ORDER BY 1, 2, 3",
               tp_str_text(&invalid), tp_str_text(&values), tp_sweep_condition);
    int status = tp_str_status(&fill, err);
    if (!status)
        status = tp_sql_run(p->sql, tp_str_text(&table), err);
    if (!status)
        status = run_picked(p, tp_str_text(&fill), err);
    p->cells = sqlite3_changes(p->sql->db);
    tp_str_drop(&table);
    tp_str_drop(&fill);
    tp_str_drop(&values);
    tp_str_drop(&invalid);
    return status;
}

/* Cells that were not picked, by the reason. */
static int count_left_out(struct tp_sweep_picked *p, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = false;
    int status = tp_sql_prepare(p->sql,
                                "SELECT count(*), total(c.tool <> ?1), total(c.tool = ?1 AND"
                                " c.machine <> '' AND c.machine <> ?2) FROM main.cells c",
                                &statement, err);
    if (status)
        return status;
    tp_sql_bind(statement, "tt", p->tool, p->machine);
    status = tp_sql_step(p->sql, statement, &row, err);
    if (!status && row) {
        p->left.tools = sqlite3_column_int64(statement, 1);
        p->left.machines = sqlite3_column_int64(statement, 2);
        p->left.lost =
            sqlite3_column_int64(statement, 0) - p->left.tools - p->left.machines - p->cells;
    }
    sqlite3_finalize(statement);
    return status;
}

/* ---- failures ---- */

/* A failure of a trace under a setting counts there; one of another file against the setting. */
static int add_failures(struct tp_sweep_picked *p, struct tp_err *err)
{
    static const char of_cells[] =
        "CREATE TEMP TABLE failed (path TEXT, setting INTEGER, trace INTEGER);"
        "INSERT INTO temp.failed SELECT DISTINCT f.path, n.number - 1, coalesce("
        " (SELECT t.number FROM temp.numbered_traces t WHERE t.path = f.path),"
        " (SELECT t.number FROM main.files x JOIN temp.numbered_traces t ON t.id = x.trace"
        "  WHERE x.path = f.path)) - 1 FROM main.failures f JOIN"
        " temp.numbered_settings n ON n.setting = f.setting;"
        "INSERT OR IGNORE INTO temp.picked (trace, setting, cell, failed, invalid)"
        " SELECT trace, setting, 0, 1, 0 FROM temp.failed WHERE trace IS NOT NULL;";
    sqlite3_stmt *statement = NULL;
    bool row = true;
    int status = tp_sql_run(p->sql, of_cells, err);
    if (!status)
        status = tp_sql_prepare(p->sql,
                                "SELECT setting, count(*) FROM temp.failed WHERE trace IS NULL"
                                " GROUP BY setting",
                                &statement, err);
    while (!status && (status = tp_sql_step(p->sql, statement, &row, err)) == TP_OK && row)
        p->settings[sqlite3_column_int64(statement, 0)].unread =
            (uint32_t)sqlite3_column_int64(statement, 1);
    sqlite3_finalize(statement);
    if (!status)
        status = tp_sql_number(p->sql, "SELECT count(*) FROM main.failures", &p->failures, err);
    if (!status)
        status = tp_sql_number(p->sql, "SELECT count(*) FROM main.failures WHERE setting = ''",
                               &p->unreadable, err);
    return status;
}

/* ---- the whole ---- */

/* The folder that all paths begin with, which screens leave out. */
static int find_folder(struct tp_sweep_picked *p, struct tp_err *err)
{
    char *first = NULL, *last = NULL;
    size_t same = 0;
    if (p->trace_count < 2)
        return TP_OK;
    int status = tp_sweep_path(p, 0, &first, err);
    if (!status)
        status = tp_sweep_path(p, (uint32_t)(p->trace_count - 1), &last, err);
    for (; !status && first[same] && first[same] == last[same]; same++)
        if (first[same] == '/')
            p->folder = same + 1;
    free(first);
    free(last);
    return status;
}

static int find_metrics(const struct tp_sweep_opts *o, struct tp_sweep_picked *p,
                        struct tp_err *err)
{
    static const char *const costs[TP_SWEEP_COSTS] = {"driver_calls.total", "ns_per_op"};
    if (o->metrics.count > (size_t)TP_SWEEP_METRICS)
        return tp_fail(err, TP_EUSAGE, "--metric is given more than %d times",
                       (int)TP_SWEEP_METRICS);
    for (size_t i = 0; i < o->metrics.count || !i; i++) {
        const char *name = o->metrics.count ? o->metrics.items[i] : "peak_reserved";
        const struct tp_metric *m = tp_metric_find(name, err);
        if (!m)
            return (int)err->status;
        p->metrics[p->metric_count++] = m;
    }
    p->asked = p->metric_count;
    for (size_t i = 0; i < TP_SWEEP_COSTS; i++)
        p->metrics[p->metric_count++] = tp_metric_find(costs[i], err);
    return TP_OK;
}

static int find_origin(struct tp_sweep_picked *p, struct tp_err *err)
{
    char *expected = NULL;
    int status =
        first_text(p, "SELECT tool FROM main.cells ORDER BY id DESC LIMIT 1", &p->tool, err);
    if (!status)
        status = first_text(p,
                            "SELECT machine FROM main.cells c WHERE c.tool = ?1 AND c.machine <> ''"
                            " ORDER BY id DESC LIMIT 1",
                            &p->machine, err);
    if (!status)
        status =
            first_text(p, "SELECT value FROM main.sweep WHERE name = 'plan cells'", &expected, err);
    uint64_t number;
    bool known = expected && tp_parse_uint(expected, &number) && number <= INT64_MAX;
    p->expected = known ? (int64_t)number : -1;
    free(expected);
    return status;
}

int tp_sweep_pick(const struct tp_sweep_asking *asking, struct tp_sweep_picked *p,
                  struct tp_err *err)
{
    static int (*const steps[])(struct tp_sweep_picked * p, struct tp_err * err) = {
        read_references, read_settings, read_options, fill_picked,
        count_left_out,  add_failures,  find_folder};
    *p = (struct tp_sweep_picked){.sql = tp_store_sql(asking->store)};
    int status = find_metrics(asking->opts, p, err);
    if (!status)
        status = find_origin(p, err);
    if (!status)
        status = tp_sql_run(p->sql, numbered, err);
    for (size_t i = 0; !status && i < sizeof steps / sizeof *steps; i++)
        status = steps[i](p, err);
    if (!status && !p->cells)
        status = tp_fail(err, TP_EINPUT, "%s: no cells yet", p->sql->path);
    return status;
}

static void drop_option(struct tp_sweep_option *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->values[i]);
    free(o->values);
    free(o->name);
}

void tp_sweep_picked_drop(struct tp_sweep_picked *p)
{
    for (size_t i = 0; i < p->setting_count; i++) {
        free(p->settings[i].text);
        free(p->settings[i].strategy);
    }
    for (size_t i = 0; i < p->option_count; i++)
        drop_option(&p->options[i]);
    free(p->settings);
    free(p->references);
    free(p->tool);
    free(p->machine);
    *p = (struct tp_sweep_picked){.sql = NULL};
}

int tp_sweep_path(const struct tp_sweep_picked *p, uint32_t trace, char **out, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = false;
    *out = NULL;
    int status = tp_sql_prepare(p->sql, "SELECT path FROM temp.numbered_traces WHERE number = ?",
                                &statement, err);
    if (status)
        return status;
    tp_sql_bind(statement, "i", (int64_t)trace + 1);
    status = tp_sql_step(p->sql, statement, &row, err);
    if (!status)
        status = clean_text(row ? tp_sql_text(statement, 0) : "", out, err);
    sqlite3_finalize(statement);
    return status;
}
