/* The cells of a sweep as CSV: a row for each trace and setting, by path and then by setting.
 *
 *     trace, kind, events, setting, strategy, OPTION..., lower_bound, best_packing, METRIC...
 *
 * Groups of passes are one row. A column stands where some cell has a value, and there is nothing
 * of when and how long, so that two stores with the same cells give the same bytes. */
#include "cmd/sweep/sweep_answers.h"

#include "cmd/ui/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_FAILURE = 0 /* the cell of a row that is only a failure */ };

struct csv_table {
    const struct tp_sweep_picked *p;
    const struct tp_metric *metrics[TP_METRIC_MAX]; /* those that occur */
    size_t metric_count;
    sqlite3_stmt *order, *cell, *trace; /* owned */
    FILE *out;

    /* The row that is being read. */
    int64_t at_trace, at_setting;
    bool begun;
    char values[TP_METRIC_MAX][32];
    /* What repeats is escaped once: the columns before the setting and after its options, and the
     * columns of each setting. */
    struct tp_str facts, bounds;
    int64_t facts_of;
    struct tp_str *settings; /* owned */
};

/* ---- which columns ---- */

/* The metrics that some picked cell has. */
static int find_columns(struct csv_table *t, struct tp_err *err)
{
    char column[TP_STORE_COLUMN];
    const struct tp_metric *known[TP_METRIC_MAX];
    size_t count = 0;
    struct tp_str sql = {0};
    sqlite3_stmt *statement = NULL;
    bool row = false;
    for (size_t i = 0; i < tp_metric_count; i++) {
        tp_store_column(&tp_metrics[i], column);
        if (sqlite3_table_column_metadata(t->p->sql->db, "main", "cells", column, NULL, NULL, NULL,
                                          NULL, NULL) != SQLITE_OK)
            continue;
        tp_str_add(&sql, "%s count(c.%s)", count ? "," : "SELECT", column);
        known[count++] = &tp_metrics[i];
    }
    tp_str_add(&sql, " FROM main.cells c WHERE %s", tp_sweep_condition);
    int status = tp_str_status(&sql, err);
    if (!status)
        status = tp_sql_prepare(t->p->sql, tp_str_text(&sql), &statement, err);
    tp_str_drop(&sql);
    if (!status) {
        tp_sql_bind(statement, "tt", t->p->tool, t->p->machine);
        status = tp_sql_step(t->p->sql, statement, &row, err);
    }
    for (size_t i = 0; !status && row && i < count; i++)
        if (sqlite3_column_int64(statement, (int)i))
            t->metrics[t->metric_count++] = known[i];
    sqlite3_finalize(statement);
    return status;
}

static int prepare_rows(struct csv_table *t, struct tp_err *err)
{
    char column[TP_STORE_COLUMN];
    struct tp_str sql = {0};
    tp_str_add(&sql, "SELECT 0");
    for (size_t i = 0; i < t->metric_count; i++)
        tp_str_add(&sql, ", %s", tp_store_column(t->metrics[i], column));
    tp_str_add(&sql, " FROM main.cells WHERE id = ?");
    int status = tp_str_status(&sql, err);
    if (!status)
        status = tp_sql_prepare(t->p->sql, tp_str_text(&sql), &t->cell, err);
    tp_str_drop(&sql);
    if (!status)
        status = tp_sql_prepare(t->p->sql,
                                "SELECT trace, setting, cell FROM temp.picked"
                                " ORDER BY trace, setting, cell",
                                &t->order, err);
    if (!status)
        status = tp_sql_prepare(t->p->sql,
                                "SELECT n.path, t.kind, t.events, t.lower_bound, t.best_packing"
                                " FROM temp.numbered_traces n JOIN main.traces t ON t.id = n.id"
                                " WHERE n.number = ?",
                                &t->trace, err);
    return status;
}

/* ---- cells ---- */

static void add_cell(struct tp_str *s, const char *between, const char *text)
{
    tp_str_add(s, "%s", between);
    tp_str_escape(s, TP_TO_CSV, text);
}

/* Most reals of a store have six decimals, which integers write faster. False: this one has not. */
static bool short_real(double value, char *text, size_t size)
{
    double scaled = rint(value * 1e6);
    if (!(value >= 0 && scaled < 1e15) || scaled / 1e6 != value)
        return false;
    uint64_t digits = (uint64_t)scaled;
    int length = snprintf(text, size, "%" PRIu64 ".%06" PRIu64, digits / 1000000, digits % 1000000);
    while (text[length - 1] == '0')
        length--;
    text[text[length - 1] == '.' ? length - 1 : length] = '\0';
    return true;
}

/* A number in as few digits as read back to the same one; "" for what is none. */
static void number_text(sqlite3_stmt *s, int column, char *text, size_t size)
{
    int type = sqlite3_column_type(s, column);
    double value = sqlite3_column_double(s, column);
    if (type == SQLITE_INTEGER)
        snprintf(text, size, "%lld", (long long)sqlite3_column_int64(s, column));
    else if (type == SQLITE_FLOAT && isfinite(value) && !short_real(value, text, size)) {
        snprintf(text, size, "%.15g", value);
        if (strtod(text, NULL) != value)
            snprintf(text, size, "%.17g", value);
    }
}

static int read_facts(struct csv_table *t, struct tp_err *err)
{
    bool row = false;
    char number[32] = "";
    if (t->facts_of == t->at_trace)
        return TP_OK;
    tp_str_drop(&t->facts);
    tp_str_drop(&t->bounds);
    t->facts = t->bounds = (struct tp_str){0};
    t->facts_of = t->at_trace;
    tp_sql_bind(t->trace, "i", t->at_trace + 1);
    int status = tp_sql_step(t->p->sql, t->trace, &row, err);
    if (status || !row)
        return status;
    add_cell(&t->facts, "", tp_sql_text(t->trace, 0));
    add_cell(&t->facts, ",", tp_sql_text(t->trace, 1));
    for (int i = 2; i < 5; i++) {
        number[0] = '\0';
        number_text(t->trace, i, number, sizeof number);
        tp_str_add(i > 2 ? &t->bounds : &t->facts, ",%s", number);
    }
    sqlite3_reset(t->trace);
    status = tp_str_status(&t->facts, err);
    return status ? status : tp_str_status(&t->bounds, err);
}

static int write_settings_cells(struct csv_table *t, struct tp_err *err)
{
    int status = TP_OK;
    t->settings = calloc(t->p->setting_count + 1, sizeof *t->settings);
    if (!t->settings)
        return tp_sweep_no_memory(err);
    for (size_t i = 0; !status && i < t->p->setting_count; i++) {
        const struct tp_sweep_tried *s = &t->p->settings[i];
        add_cell(&t->settings[i], ",", s->text);
        add_cell(&t->settings[i], ",", s->strategy);
        for (size_t k = 0; k < t->p->option_count; k++)
            add_cell(&t->settings[i], ",",
                     s->values[k] ? t->p->options[k].values[s->values[k]] : "");
        status = tp_str_status(&t->settings[i], err);
    }
    return status;
}

static int write_csv_row(struct csv_table *t, struct tp_err *err)
{
    if (!t->begun)
        return TP_OK;
    t->begun = false;
    int status = read_facts(t, err);
    if (status)
        return status;
    fputs(tp_str_text(&t->facts), t->out);
    fputs(tp_str_text(&t->settings[t->at_setting]), t->out);
    fputs(tp_str_text(&t->bounds), t->out);
    for (size_t i = 0; i < t->metric_count; i++) {
        fputc(',', t->out);
        fputs(t->values[i], t->out);
        t->values[i][0] = '\0';
    }
    fputs("\n", t->out);
    return TP_OK;
}

/* Of one metric the newest cell counts, as in the answers. */
static int take_values(struct csv_table *t, int64_t cell, struct tp_err *err)
{
    bool row = false;
    if (cell == CSV_FAILURE)
        return TP_OK;
    t->begun = true;
    tp_sql_bind(t->cell, "i", cell);
    int status = tp_sql_step(t->p->sql, t->cell, &row, err);
    for (size_t i = 0; !status && row && i < t->metric_count; i++)
        number_text(t->cell, (int)i + 1, t->values[i], sizeof t->values[i]);
    sqlite3_reset(t->cell);
    return status;
}

static void write_csv_heads(struct csv_table *t)
{
    char column[TP_STORE_COLUMN];
    fputs("trace,kind,events,setting,strategy", t->out);
    for (size_t i = 0; i < t->p->option_count; i++) {
        fputc(',', t->out);
        tp_escape(t->out, TP_TO_CSV, t->p->options[i].name);
    }
    fputs(",lower_bound,best_packing", t->out);
    for (size_t i = 0; i < t->metric_count; i++)
        fprintf(t->out, ",%s", tp_store_column(t->metrics[i], column));
    fputs("\n", t->out);
}

static void drop_table(struct csv_table *t)
{
    sqlite3_finalize(t->order);
    sqlite3_finalize(t->cell);
    sqlite3_finalize(t->trace);
    tp_str_drop(&t->facts);
    tp_str_drop(&t->bounds);
    for (size_t i = 0; t->settings && i < t->p->setting_count; i++)
        tp_str_drop(&t->settings[i]);
    free(t->settings);
}

static int write_csv(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_sweep_answers *all = of;
    struct csv_table t = {.p = &all->picked, .out = out, .facts_of = -1};
    bool row = true;
    int status = find_columns(&t, err);
    if (!status)
        status = prepare_rows(&t, err);
    if (!status)
        status = write_settings_cells(&t, err);
    if (!status)
        write_csv_heads(&t);
    while (!status && (status = tp_sql_step(t.p->sql, t.order, &row, err)) == TP_OK && row) {
        int64_t trace = sqlite3_column_int64(t.order, 0);
        int64_t setting = sqlite3_column_int64(t.order, 1);
        if (trace != t.at_trace || setting != t.at_setting)
            status = write_csv_row(&t, err);
        t.at_trace = trace;
        t.at_setting = setting;
        if (!status)
            status = take_values(&t, sqlite3_column_int64(t.order, 2), err);
    }
    if (!status)
        status = write_csv_row(&t, err);
    drop_table(&t);
    return status;
}

const struct tp_exporter tp_sweep_csv = {.name = "csv", .write = write_csv};
