/* A table of short texts, filled once and written as text, as Markdown or as CSV.
 *
 *                        peak      ns     < heads, above each other
 *                    reserved  per call
 *     arena           1.75 MiB     4.9    < a row of cells; the first column names it
 *
 * A page that is too narrow shows fewer columns, or the others below; rows are never left out, and
 * no cell is cut. */
#ifndef TP_TABLE_H
#define TP_TABLE_H

#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"

enum { TP_COLUMN_HEAD = 40 };

struct tp_column {
    char head[2][TP_COLUMN_HEAD]; /* tapool's own words; "": none */
    const char *name;             /* its head in Markdown; NULL: the same */
    int width;                    /* on a page, at least; the table widens it */
    bool left;                    /* its cells begin below each other; else they end there */
    bool joined;                  /* stands beside the one before it or not at all */
    enum tp_target to;            /* of its cells in Markdown; 0 for tapool's own words */
};

/* Zeroed it is empty; owns what it holds until tp_table_drop. */
struct tp_table {
    struct tp_column *columns;
    int column_count;
    struct tp_str text; /* of all cells, each with its end */
    size_t *cells;      /* row by row: where each begins; SIZE_MAX: nothing stands there */
    size_t count, room;
    bool failed; /* there was no memory: a part is missing */
};

/* Before the first cell; `columns` NULL: as many that say nothing of themselves. */
void tp_table_columns(struct tp_table *t, const struct tp_column *columns, int count);

/* The next cell of the row, or the first of another; no format: nothing stands there. */
void tp_table_add(struct tp_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As tp_bytes has it; "-" of TP_NONE. */
void tp_table_bytes(struct tp_table *t, uint64_t bytes, bool exact);
/* As tp_count has it; "-" of TP_NONE. */
void tp_table_count(struct tp_table *t, uint64_t count);

/* Without its rows. */
void tp_table_clear(struct tp_table *t);

int tp_table_rows(const struct tp_table *t);
int tp_table_width(const struct tp_table *t);

enum tp_table_fit {
    TP_TABLE_FIRST, /* as many columns as find room, one beside the first always */
    TP_TABLE_BELOW, /* the others in tables below, each beside the first again */
    TP_TABLE_WIDE   /* all, whatever the width */
};

/* Returns how many columns are shown. */
int tp_table_print(const struct tp_table *t, struct tp_page *page, int indent,
                   enum tp_table_fit fit);

/* One row, -1: the last line of the heads, with what else stands on its line: it is not ended. */
void tp_table_row(const struct tp_table *t, int row, struct tp_page *page, int indent);

/* `left` and `right` rule off the heads, as ":---" does. TP_ENOMEM where a part is missing. */
int tp_table_markdown(const struct tp_table *t, const char *left, const char *right, FILE *out,
                      struct tp_err *err);

/* The same in parts. */
void tp_table_heads(const struct tp_table *t, const char *left, const char *right,
                    struct tp_str *out);
void tp_table_markdown_row(const struct tp_table *t, int row, struct tp_str *out);

/* Rows, the first of which are its heads, by RFC 4180. */
int tp_table_csv(const struct tp_table *t, FILE *out, struct tp_err *err);

/* TP_ENOMEM where a part is missing; a page says so itself. */
int tp_table_status(const struct tp_table *t, struct tp_err *err);

void tp_table_drop(struct tp_table *t);

#endif
