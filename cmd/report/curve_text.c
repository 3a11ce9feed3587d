/* See curve_text.h. */
#include "cmd/report/curve_text.h"

uint32_t tp_curve_text_dots(const struct tp_page *page, int column)
{
    int width = page->width - column;
    width = width < TP_BRAILLE_WIDTH ? width : TP_BRAILLE_WIDTH;
    return (uint32_t)(width > 1 ? width : 1) * TP_BRAILLE_ACROSS;
}

uint64_t tp_curve_text_floor(const struct tp_stretch *at, uint32_t count, uint64_t peak)
{
    uint64_t low = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        low = at[i].low < low ? at[i].low : low;
    return low > peak / 2 && low < peak ? low : 0;
}

struct tp_text tp_curve_text_left(const struct tp_columns *c)
{
    return tp_text_of(c->time_ns ? "0" : "event 1");
}

struct tp_text tp_curve_text_right(const struct tp_columns *c)
{
    if (c->time_ns)
        return tp_duration(c->time_ns);
    return c->events > 1 ? tp_text_of("event %s", tp_count(c->events).s) : tp_text_of("%s", "");
}

/* The row of dots of a value, from the bottom. */
static uint32_t level(const struct tp_curve_text *c, uint64_t bytes)
{
    const uint32_t top = c->rows * TP_BRAILLE_UP - 1;
    if (bytes < c->low)
        bytes = c->low;
    else if (bytes > c->high)
        bytes = c->high;
    if (c->high == c->low)
        return bytes ? top : 0;
    return (uint32_t)(tp_scaled(bytes - c->low, c->high - c->low, 2 * top) + 1) / 2;
}

static void draw(const struct tp_curve_text *c, uint32_t dots, struct tp_braille *out)
{
    tp_braille_begin(out, dots / TP_BRAILLE_ACROSS, c->rows);
    for (uint32_t x = 0; x < dots; x++) {
        const struct tp_stretch *area = &c->area[x];
        uint32_t low = level(c, area->low);
        tp_braille_shade(out, x, low);
        tp_braille_bar(out, x, low, level(c, area->high));
        if (c->line)
            tp_braille_bar(out, x, level(c, c->line[x].low), level(c, c->line[x].high));
    }
}

void tp_curve_text_print(const struct tp_curve_text *c, struct tp_page *page)
{
    struct tp_braille picture;
    char row[TP_BRAILLE_TEXT];
    uint32_t dots = tp_curve_text_dots(page, c->column);
    int end = c->column + (int)(dots / TP_BRAILLE_ACROSS);
    draw(c, dots, &picture);
    for (uint32_t i = 0; i < c->rows; i++) {
        tp_braille_row(&picture, i, row);
        if (i == 0)
            tp_page_at(page, c->name, "%s", tp_bytes(c->high, false).s);
        if (i + 1 == c->rows)
            tp_page_at(page, c->name, "%s", tp_bytes(c->low, false).s);
        if (*row)
            tp_page_at(page, c->column, "%s", row);
        tp_page_line(page);
    }
    tp_page_at(page, c->column, "%s", c->left.s);
    tp_page_right(page, end, c->right.s);
    tp_page_line(page);
}
