/* See table.h. */
#include "cmd/ui/table.h"

enum { GAP = 2 };

static int width_of(const struct tp_table *t, int column)
{
    int width = 0;
    for (int h = 0; h < 2; h++)
        if (tp_text_width(t->columns[column].head[h]) > width)
            width = tp_text_width(t->columns[column].head[h]);
    for (int r = 0; r < t->row_count; r++)
        if (tp_text_width(t->rows[r].cells[column]) > width)
            width = tp_text_width(t->rows[r].cells[column]);
    return width;
}

typedef const char *cell_fn(const void *row, int column);

static void print_cells(struct tp_page *page, int indent, const int *widths, int shown,
                        cell_fn *cell, const void *row)
{
    int end = indent + widths[0];
    tp_page_at(page, indent, "%s", cell(row, 0));
    for (int c = 1; c < shown; c++) {
        end += GAP + widths[c];
        tp_page_right(page, end, cell(row, c));
    }
    tp_page_line(page);
}

static const char *row_cell(const void *row, int column)
{
    return ((const struct tp_row *)row)->cells[column];
}

struct head_line {
    const struct tp_table *table;
    int line;
};

static const char *head_cell(const void *row, int column)
{
    const struct head_line *h = row;
    return h->table->columns[column].head[h->line];
}

/* Where all heads have one line, the other is none. */
static bool has_head(const struct tp_table *t, int shown, int line)
{
    for (int c = 0; c < shown; c++)
        if (*t->columns[c].head[line])
            return true;
    return false;
}

int tp_table_print(const struct tp_table *t, struct tp_page *page, int indent, bool all)
{
    int widths[TP_TABLE_COLUMNS], total = indent, shown = 0;
    for (int c = 0; c < t->column_count; c++) {
        widths[c] = width_of(t, c);
        total += widths[c] + (c ? GAP : 0);
        if (all || total <= page->width)
            shown = c + 1;
        else
            break;
    }
    for (int line = 0; line < 2; line++)
        if (has_head(t, shown, line))
            print_cells(page, indent, widths, shown, head_cell, &(struct head_line){t, line});
    for (int r = 0; r < t->row_count; r++)
        print_cells(page, indent, widths, shown, row_cell, &t->rows[r]);
    return t->column_count - shown;
}
