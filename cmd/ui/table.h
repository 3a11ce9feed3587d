/* A table of short texts, which is filled once and written as text, as Markdown, as HTML or as CSV.
 *
 *                        peak      ns     < heads, above each other
 *                    reserved  per call
 *     arena           1.75 MiB     4.9    < a row of cells; the first column names it
 *
 * If the page is too narrow, some columns are left out or put into tables below. Rows are never
 * left out and cells are never cut. */
#ifndef TP_TABLE_H
#define TP_TABLE_H

#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"

enum { TP_COLUMN_HEAD = 40 };

struct tp_column {
    char head[2][TP_COLUMN_HEAD]; /* two lines of the head, not escaped; "": empty line */
    const char *name;             /* head in Markdown and HTML; NULL: the lines of `head` */
    int width;                    /* least width on a screen; wider cells increase it */
    int gap;                      /* blanks before the column on a screen; 0: two */
    bool left;                    /* cells are aligned left; false: right */
    bool joined;                  /* shown only together with the column before it */
    bool unbroken;                /* aligned left and never wrapped, so that it can be pasted */
    enum tp_target to;            /* escaping of cells in Markdown; 0: they need none */
};

/* Writes the lines of a head as one, "peak reserved". */
enum { TP_COLUMN_TEXT = 2 * TP_COLUMN_HEAD + 1 };
void tp_column_text(const struct tp_column *column, char text[TP_COLUMN_TEXT]);

/* Of a cell of several lines HTML shows the first, and a reader unfolds the others.
 *
 * A zeroed table is empty. A table owns what it holds until tp_table_drop. */
struct tp_table {
    struct tp_column *columns;
    int column_count;
    struct tp_str text; /* texts of all cells, each with a NUL */
    size_t *cells;      /* offset of each cell in `text`, row by row; SIZE_MAX: empty cell */
    size_t count, room; /* cells */
    bool failed;        /* out of memory: a part of the table is missing */
};

/* Sets the columns before the first cell is added. `columns` NULL: `count` columns without heads.
 */
void tp_table_columns(struct tp_table *t, const struct tp_column *columns, int count);

/* Adds the next cell; a new row begins when the last one is full. `format` NULL: an empty cell. */
void tp_table_add(struct tp_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a size in the form of tp_bytes; TP_NONE becomes "-". */
void tp_table_bytes(struct tp_table *t, uint64_t bytes, bool exact);
/* Adds a count in the form of tp_count; TP_NONE becomes "-". */
void tp_table_count(struct tp_table *t, uint64_t count);

/* Adds a text of at most `room` columns; a longer one is cut and ends in "...". */
void tp_table_cut(struct tp_table *t, const char *text, int room);

/* A table of figures with their labels has a row for each: its label, the figure, and its class in
 * HTML, which says how it looks. A figure "-" is not known. */
enum { TP_LARGE_LABEL, TP_LARGE_TEXT, TP_LARGE_CLASS, TP_LARGE_CELLS };
void tp_table_figure(struct tp_table *t, const char *label, const char *figure,
                     const char *css_class);

/* The text of a cell; "": it is empty. */
const char *tp_table_cell(const struct tp_table *t, int row, int column);

/* Removes all rows. */
void tp_table_clear(struct tp_table *t);

int tp_table_rows(const struct tp_table *t);
int tp_table_width(const struct tp_table *t);

enum tp_table_fit {
    TP_TABLE_FIRST, /* as many columns as fit, at least the first two */
    TP_TABLE_BELOW, /* columns that do not fit go to tables below, each with the first column */
    TP_TABLE_WIDE   /* all columns, whatever the width of the page */
};

/* Prints the table; on a page that is HTML, as tp_table_html writes it. Returns the number of
 * columns shown. */
int tp_table_print(const struct tp_table *t, struct tp_page *page, int indent,
                   enum tp_table_fit fit);

/* Prints one row without ending the line, so that more can be added to it. Row -1 is the last line
 * of the heads. */
void tp_table_row(const struct tp_table *t, int row, struct tp_page *page, int indent);

/* Writes the table as Markdown. `left` and `right` are the delimiters below the heads of columns
 * aligned left and right, such as ":---". TP_ENOMEM: a part is missing. */
int tp_table_markdown(const struct tp_table *t, const char *left, const char *right, FILE *out,
                      struct tp_err *err);

/* Parts of tp_table_markdown: the heads, and one row. */
void tp_table_heads(const struct tp_table *t, const char *left, const char *right,
                    struct tp_str *out);
void tp_table_markdown_row(const struct tp_table *t, int row, struct tp_str *out);

/* Writes the table as HTML, in the class `sorts`, between paragraphs: it ends the one before it and
 * begins one. TP_ENOMEM: a part is missing. */
int tp_table_html(const struct tp_table *t, FILE *out, struct tp_err *err);

/* Writes the rows as CSV of RFC 4180. The heads of the columns are not written: the first row has
 * to hold them. */
int tp_table_csv(const struct tp_table *t, FILE *out, struct tp_err *err);

/* TP_ENOMEM: a part of the table is missing. tp_table_print says so on the page itself. */
int tp_table_status(const struct tp_table *t, struct tp_err *err);

void tp_table_drop(struct tp_table *t);

#endif
