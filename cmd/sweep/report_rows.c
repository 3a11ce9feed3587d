/* Reads the picked cells, trace by trace, and the failures of a store. */
#include "cmd/sweep/sweep_answers.h"

#include "cmd/ui/escape.h"

#include "alloc/base/grow.h"

#include <math.h>
#include <stdlib.h>

/* The row that is being read. */
struct row_reading {
    struct tp_sweep_picked *p;
    struct tp_sweep_cell *cells; /* owned */
    size_t count, room;
    uint32_t trace;
    struct tp_sweep_left_out left;
};

enum { COLUMN_TRACE, COLUMN_SETTING, COLUMN_CELL, COLUMN_FAILED, COLUMN_INVALID, COLUMN_VALUES };

/* The cell of a setting: the last one of the row, or a new one. */
static int cell_of(struct row_reading *r, uint32_t setting, struct tp_sweep_cell **out,
                   struct tp_err *err)
{
    if (r->count && r->cells[r->count - 1].setting == setting) {
        *out = &r->cells[r->count - 1];
        return TP_OK;
    }
    int status = TP_GROW(&r->cells, &r->room, r->count + 1, err, .what = "settings");
    if (status)
        return status;
    *out = &r->cells[r->count++];
    **out = (struct tp_sweep_cell){.setting = setting};
    for (size_t i = 0; i < r->p->metric_count; i++)
        (*out)->values[i] = NAN;
    return TP_OK;
}

/* Groups of passes have different metrics; of the same one the newest cell counts. */
static int take_cell(struct row_reading *r, sqlite3_stmt *s, struct tp_err *err)
{
    struct tp_sweep_cell *cell = NULL;
    int status = cell_of(r, (uint32_t)sqlite3_column_int64(s, COLUMN_SETTING), &cell, err);
    if (status)
        return status;
    cell->failed |= sqlite3_column_int(s, COLUMN_FAILED) != 0;
    r->left.invalid += sqlite3_column_int64(s, COLUMN_INVALID);
    bool older = false;
    for (size_t i = 0; i < r->p->metric_count; i++) {
        double value = tp_sql_real(s, COLUMN_VALUES + (int)i);
        if (isnan(value))
            continue;
        older |= !isnan(cell->values[i]);
        cell->values[i] = value;
    }
    r->left.older += older;
    return TP_OK;
}

static void end_row(struct row_reading *r, tp_sweep_row_fn *fn, void *ctx)
{
    const struct tp_sweep_row row = {r->trace, r->cells, r->count};
    if (r->count)
        fn(ctx, &row);
    r->count = 0;
}

int tp_sweep_rows(struct tp_sweep_picked *p, tp_sweep_row_fn *fn, void *ctx, struct tp_err *err)
{
    struct row_reading r = {.p = p};
    sqlite3_stmt *statement;
    bool row = true;
    int status = tp_sql_prepare(p->sql, "SELECT * FROM temp.picked ORDER BY trace, setting, cell",
                                &statement, err);
    while (!status && (status = tp_sql_step(p->sql, statement, &row, err)) == TP_OK && row) {
        uint32_t trace = (uint32_t)sqlite3_column_int64(statement, COLUMN_TRACE);
        if (trace != r.trace)
            end_row(&r, fn, ctx);
        r.trace = trace;
        status = take_cell(&r, statement, err);
    }
    if (!status)
        end_row(&r, fn, ctx);
    p->left.older = r.left.older;
    p->left.invalid = r.left.invalid;
    sqlite3_finalize(statement);
    free(r.cells);
    return status;
}

int tp_sweep_failures(const struct tp_sweep_picked *p, size_t most, tp_sweep_failure_fn *fn,
                      void *ctx, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = true;
    int status = tp_sql_prepare(p->sql,
                                "SELECT path, setting, error FROM main.failures"
                                " ORDER BY path, setting, passes LIMIT ?",
                                &statement, err);
    if (status)
        return status;
    tp_sql_bind(statement, "i", (int64_t)(most < INT32_MAX ? most : INT32_MAX));
    while (!status && (status = tp_sql_step(p->sql, statement, &row, err)) == TP_OK && row) {
        struct tp_str texts[3] = {{0}, {0}, {0}};
        for (int i = 0; i < 3; i++)
            tp_str_escape(&texts[i], TP_TO_LINE, tp_sql_text(statement, i));
        const struct tp_sweep_failure f = {tp_str_text(&texts[0]), tp_str_text(&texts[1]),
                                           tp_str_text(&texts[2])};
        fn(ctx, &f);
        for (int i = 0; i < 3; i++)
            tp_str_drop(&texts[i]);
    }
    sqlite3_finalize(statement);
    return status;
}
