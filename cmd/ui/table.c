/* Tables; see table.h. */
#include "cmd/ui/table.h"

#include "alloc/base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, HEADS = 2 };

/* ---- filling ---- */

static void widen(struct tp_column *column, const char *text)
{
    int width = tp_text_width(text);
    column->width = width > column->width ? width : column->width;
}

void tp_table_columns(struct tp_table *t, const struct tp_column *columns, int count)
{
    t->columns = calloc((size_t)count + 1, sizeof *t->columns);
    t->failed = !t->columns;
    t->column_count = t->columns ? count : 0;
    for (int c = 0; columns && c < t->column_count; c++) {
        t->columns[c] = columns[c];
        for (int line = 0; line < HEADS; line++)
            widen(&t->columns[c], columns[c].head[line]);
    }
}

static bool make_room(struct tp_table *t)
{
    t->failed = TP_GROW(&t->cells, &t->room, t->count + 1, NULL, .what = "a table") != TP_OK;
    return !t->failed;
}

void tp_table_add(struct tp_table *t, const char *format, ...)
{
    va_list args;
    size_t at = t->text.length;
    if (t->failed || !make_room(t))
        return;
    t->cells[t->count] = SIZE_MAX;
    if (format) {
        va_start(args, format);
        tp_str_vadd(&t->text, format, args);
        va_end(args);
        tp_str_add(&t->text, "%c", '\0');
        t->failed = t->text.cut;
    }
    if (format && !t->failed) {
        t->cells[t->count] = at;
        widen(&t->columns[t->count % (size_t)t->column_count], t->text.s + at);
    }
    t->count++;
}

void tp_table_bytes(struct tp_table *t, uint64_t bytes, bool exact)
{
    tp_table_add(t, "%s", bytes == UINT64_MAX ? "-" : tp_bytes(bytes, exact).s);
}

void tp_table_count(struct tp_table *t, uint64_t count)
{
    tp_table_add(t, "%s", count == UINT64_MAX ? "-" : tp_count(count).s);
}

int tp_table_status(const struct tp_table *t, struct tp_err *err)
{
    return t->failed ? tp_fail(err, TP_ENOMEM, "out of memory for a table") : TP_OK;
}

void tp_table_cut(struct tp_table *t, const char *text, int room)
{
    bool fits = tp_text_width(text) <= room;
    int before_dots = room > 3 ? room - 3 : 0;
    size_t bytes = fits ? strlen(text) : tp_text_bytes(text, before_dots);
    tp_table_add(t, "%.*s%s", (int)bytes, text, fits ? "" : "...");
}

void tp_table_figure(struct tp_table *t, const char *label, const char *figure,
                     const char *css_class)
{
    tp_table_add(t, "%s", label);
    tp_table_add(t, "%s", figure);
    tp_table_add(t, "%s", css_class);
}

void tp_table_clear(struct tp_table *t)
{
    tp_str_drop(&t->text);
    t->count = 0;
}

void tp_table_drop(struct tp_table *t)
{
    tp_str_drop(&t->text);
    free(t->cells);
    free(t->columns);
    *t = (struct tp_table){0};
}

int tp_table_rows(const struct tp_table *t)
{
    return t->column_count ? (int)(t->count / (size_t)t->column_count) : 0;
}

/* The text of a cell; NULL: the cell is empty. */
static const char *cell_of(const struct tp_table *t, int row, int column)
{
    size_t at = t->cells[(size_t)row * (size_t)t->column_count + (size_t)column];
    return at == SIZE_MAX ? NULL : t->text.s + at;
}

const char *tp_table_cell(const struct tp_table *t, int row, int column)
{
    const char *text = cell_of(t, row, column);
    return text ? text : "";
}

/* ---- as HTML ---- */

void tp_column_text(const struct tp_column *column, char text[TP_COLUMN_TEXT])
{
    snprintf(text, TP_COLUMN_TEXT, "%s%s%s", column->head[0], *column->head[0] ? " " : "",
             column->head[1]);
}

static void write_lines(const char *text, FILE *out)
{
    size_t first = strcspn(text, "\n");
    fputs("<details><summary>", out);
    tp_escape_part(out, TP_TO_XML, text, first);
    fputs("</summary>", out);
    for (text += first; *text; text += first) {
        first = strcspn(++text, "\n");
        fputs("\n", out);
        tp_escape_part(out, TP_TO_XML, text, first);
        fputs("<br>", out);
    }
    fputs("</details>", out);
}

static void write_cell(const struct tp_table *t, int column, const char *tag, const char *text,
                       FILE *out)
{
    fprintf(out, "<%s%s>", tag,
            t->columns[column].left || t->columns[column].unbroken ? "" : " class=\"n\"");
    if (strchr(text, '\n'))
        write_lines(text, out);
    else
        tp_escape(out, TP_TO_XML, text);
    fprintf(out, "</%.2s>", tag);
}

static void write_html(const struct tp_table *t, FILE *out)
{
    fputs("</p>\n<div class=\"wide\"><table class=\"sorts\"><thead><tr>", out);
    for (int c = 0; c < t->column_count; c++) {
        char head[TP_COLUMN_TEXT];
        tp_column_text(&t->columns[c], head);
        write_cell(t, c, "th scope=\"col\"", t->columns[c].name ? t->columns[c].name : head, out);
    }
    fputs("</tr></thead>\n<tbody>", out);
    for (int row = 0; row < tp_table_rows(t); row++) {
        fputs("\n<tr>", out);
        for (int c = 0; c < t->column_count; c++)
            write_cell(t, c, c ? "td" : "th scope=\"row\"", tp_table_cell(t, row, c), out);
        fputs("</tr>", out);
    }
    fputs("</tbody></table></div>\n<p>", out);
}

int tp_table_html(const struct tp_table *t, FILE *out, struct tp_err *err)
{
    write_html(t, out);
    return tp_table_status(t, err);
}

/* ---- as text ---- */

static int gap_before(const struct tp_table *t, int column)
{
    int gap = t->columns[column].gap ? t->columns[column].gap : GAP;
    return column ? gap : 0;
}

int tp_table_width(const struct tp_table *t)
{
    int width = 0;
    for (int c = 0; c < t->column_count; c++)
        width += gap_before(t, c) + t->columns[c].width;
    return width;
}

/* Prints a row with the first column and the columns in [from, to). Rows -2 and -1 are the heads.
 */
static void print_line(const struct tp_table *t, int row, int from, int to, struct tp_page *page,
                       int indent)
{
    int start = indent;
    for (int c = 0; c < to; c = c ? c + 1 : from) {
        const struct tp_column *column = &t->columns[c];
        const char *cell = row < 0 ? column->head[row + HEADS] : cell_of(t, row, c);
        const char *text = cell ? cell : "";
        start += gap_before(t, c);
        if (column->unbroken)
            tp_page_right(page, start + tp_text_width(text), text);
        else if (!c || (column->left && *text))
            tp_page_at(page, start, "%s", text);
        else
            tp_page_right(page, start + column->width, text);
        start += column->width;
    }
}

void tp_table_row(const struct tp_table *t, int row, struct tp_page *page, int indent)
{
    print_line(t, row, 1, t->column_count, page, indent);
}

/* Whether any of these columns has a text in this line of its head. */
static bool has_heads(const struct tp_table *t, int line, int from, int to)
{
    bool any = *t->columns[0].head[line];
    for (int c = from; c < to; c++)
        any |= *t->columns[c].head[line] != '\0';
    return any;
}

/* The end of the range of columns that starts at `from` and fits into `room` beside the first one.
 */
static int end_of_room(const struct tp_table *t, int from, int room)
{
    int end = from, used = t->columns[0].width;
    for (int c = from; c < t->column_count; c++) {
        used += gap_before(t, c) + t->columns[c].width;
        if (used > room && end > from)
            break;
        if (c + 1 == t->column_count || !t->columns[c + 1].joined)
            end = c + 1;
    }
    return end;
}

int tp_table_print(const struct tp_table *t, struct tp_page *page, int indent,
                   enum tp_table_fit fit)
{
    int shown = 1;
    if (t->failed)
        tp_page_put(page, indent, "out of memory: a part of this table is missing");
    if (!t->column_count)
        return 0;
    if (page->form == TP_PAGE_HTML) {
        write_html(t, page->out);
        page->column = 0;
        return t->column_count;
    }
    do {
        int from = shown;
        shown = fit == TP_TABLE_WIDE ? t->column_count : end_of_room(t, from, page->width - indent);
        if (from > 1)
            tp_page_line(page);
        for (int row = -HEADS; row < tp_table_rows(t); row++) {
            if (row < 0 && !has_heads(t, row + HEADS, from, shown))
                continue;
            print_line(t, row, from, shown, page, indent);
            tp_page_line(page);
        }
    } while (fit == TP_TABLE_BELOW && shown < t->column_count);
    return shown;
}

/* ---- as Markdown ---- */

void tp_table_heads(const struct tp_table *t, const char *left, const char *right,
                    struct tp_str *out)
{
    for (int c = 0; c < t->column_count; c++) {
        const struct tp_column *column = &t->columns[c];
        tp_str_add(out, "%s%s%s", c ? "" : "|", column->name ? " " : "",
                   column->name ? column->name : "");
        for (int line = 0; line < HEADS && !column->name; line++)
            if (*column->head[line])
                tp_str_add(out, " %s", column->head[line]);
        tp_str_add(out, " |");
    }
    for (int c = 0; c < t->column_count; c++)
        tp_str_add(out, "%s%s|", c ? "" : "\n|", t->columns[c].left ? left : right);
    tp_str_add(out, "\n");
}

void tp_table_markdown_row(const struct tp_table *t, int row, struct tp_str *out)
{
    for (int c = 0; c < t->column_count; c++) {
        const char *text = cell_of(t, row, c);
        tp_str_add(out, "%s%s", c ? "" : "|", text ? " " : "");
        tp_str_escape(out, t->columns[c].to, text ? text : "");
        tp_str_add(out, " |");
    }
    tp_str_add(out, "\n");
}

int tp_table_markdown(const struct tp_table *t, const char *left, const char *right, FILE *out,
                      struct tp_err *err)
{
    struct tp_str text = {0};
    tp_table_heads(t, left, right, &text);
    for (int row = 0; row < tp_table_rows(t); row++)
        tp_table_markdown_row(t, row, &text);
    fputs(tp_str_text(&text), out);
    int status = t->failed ? tp_table_status(t, err) : tp_str_status(&text, err);
    tp_str_drop(&text);
    return status;
}

/* ---- as CSV ---- */

int tp_table_csv(const struct tp_table *t, FILE *out, struct tp_err *err)
{
    for (int row = 0; row < tp_table_rows(t); row++) {
        for (int c = 0; c < t->column_count; c++) {
            const char *text = cell_of(t, row, c);
            fputs(c ? "," : "", out);
            tp_escape(out, TP_TO_CSV, text ? text : "");
        }
        fputc('\n', out);
    }
    return tp_table_status(t, err);
}
