/* A table of short texts. Columns are dropped from the right where the page is too narrow, and the
 * page says how many; rows never are. */
#ifndef TP_TABLE_H
#define TP_TABLE_H

#include "cmd/ui/text.h"

enum { TP_TABLE_COLUMNS = 12, TP_TABLE_CELL = 160 };

struct tp_column {
    const char *head[2]; /* two lines; "" for none */
};

struct tp_row {
    char cells[TP_TABLE_COLUMNS][TP_TABLE_CELL];
    enum tp_style style;
};

/* The first column is left-aligned, the others right-aligned. */
struct tp_table {
    struct tp_column columns[TP_TABLE_COLUMNS];
    int column_count;
    struct tp_row *rows;
    int row_count;
};

/* Returns the number of columns that did not fit; `all` shows them whatever the width. */
int tp_table_print(const struct tp_table *t, struct tp_page *page, int indent, bool all);

#endif
