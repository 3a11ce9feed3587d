/* See memory_sum.h. */
#include "cmd/report/memory_sum.h"

#include "cmd/ui/table.h"

#include <math.h>

enum { SUM_END = 13, EXACT_END = 22, SHARE_END = 39, NOTE = 42 };

int tp_sum_end(const struct tp_page *page)
{
    return page->exact ? EXACT_END : SUM_END;
}

void tp_sum_print(const struct tp_sum_part *parts, int count, const char *share,
                  struct tp_page *page)
{
    const struct tp_column columns[] = {
        {.left = true, .width = 1},
        {.name = "memory", .width = tp_sum_end(page) - 4},
        {.name = "part", .left = true, .gap = TP_SUM_LABEL, .width = SHARE_END - TP_SUM_LABEL - 8},
        {.name = share, .width = 6},
        {.name = "note", .left = true, .gap = NOTE - SHARE_END}};
    struct tp_table table = {0};
    uint64_t whole = parts[count - 1].bytes;
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < count; i++) {
        const struct tp_sum_part *p = &parts[i];
        double of_whole = whole ? (double)p->bytes / (double)whole : NAN;
        tp_table_add(&table, "%s", p->sign);
        tp_table_bytes(&table, p->bytes, page->exact);
        tp_table_add(&table, "%s", p->label.s);
        tp_table_add(&table, "%s", tp_percent(of_whole).s);
        tp_table_add(&table, *p->note.s ? "%s" : NULL, p->note.s);
    }
    tp_table_print(&table, page, 1, TP_TABLE_WIDE);
    tp_table_drop(&table);
}
