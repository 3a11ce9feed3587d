/* See report_holders.h. */
#include "cmd/report/report_holders.h"

#include "alloc/base/numbers.h"

enum { NAME = 2, NOTE = 16, SHOWN = 8, IN_A_LINE = 3, SAID_ABOVE = 20, PLACE = 25 };

#define ALL 0.9995 /* of a share that is shown as 100.0 % */

/* "mostly from X < Y": the callers that agree; "from X (40.0 % of it), Y (31.2 %)": none does. */
static void print_callers(const struct tp_holder *row, struct tp_page *page)
{
    bool all = true;
    for (unsigned i = 0; i < row->caller_count; i++) {
        bool most = row->callers[i].bytes < ALL * row->bytes;
        const char *first = most ? ", mostly from " : ", from ";
        tp_page_more(page, PLACE + 2, "%s%s%s", i ? " < " : first,
                     i && most && all ? "mostly " : "", row->callers[i].place);
        all = all && !most;
    }
    for (unsigned i = 0; !row->caller_count && i < row->largest_count; i++)
        tp_page_more(page, PLACE + 2, "%s%s (%s%s)", i ? ", " : ", from ", row->largest[i].place,
                     tp_percent(row->largest[i].bytes / row->bytes).s, i ? "" : " of it");
}

static void print_holder(const struct tp_holders *h, const struct tp_holder *row,
                         struct tp_page *page)
{
    tp_page_at(page, NAME, "%s", tp_bytes((uint64_t)row->bytes, false).s);
    tp_page_at(page, NOTE, "%7s", tp_percent(row->bytes / (double)h->bytes).s);
    tp_page_at(page, PLACE, "%s", row->place);
    if (h->estimated)
        tp_page_more(page, PLACE + 2, " (by %s)", tp_plural(row->blocks, "block").s);
    print_callers(row, page);
    tp_page_line(page);
}

static void print_rest(const struct tp_holders *h, struct tp_page *page)
{
    double rest = (double)h->bytes - h->unknown;
    for (unsigned i = 0; i < h->count && i < SHOWN; i++)
        rest -= h->rows[i].bytes;
    if (h->places > SHOWN) {
        tp_page_at(page, NAME, "%s", tp_bytes(rest > 0 ? (uint64_t)rest : 0, false).s);
        tp_page_at(page, NOTE, "%7s", tp_percent(rest / (double)h->bytes).s);
        tp_page_put(page, PLACE, "%s more: --json", tp_plural(h->places - SHOWN, "place").s);
    }
    if (h->unknown >= 1) {
        tp_page_at(page, NAME, "%s", tp_bytes((uint64_t)h->unknown, false).s);
        tp_page_at(page, NOTE, "%7s", tp_percent(h->unknown / (double)h->bytes).s);
        tp_page_put(page, PLACE, "not known");
    }
}

void tp_holders_print(const struct tp_holders *h, struct tp_page *page)
{
    uint64_t small = 0;
    if (!h)
        return;
    tp_page_line(page);
    tp_page_at(page, 0, "Held at the peak");
    tp_page_put(page, NOTE + 1, "by the code that asked for it%s",
                h->estimated ? "; estimated" : "");
    for (unsigned i = 0; i < h->count; i++)
        small += h->rows[i].blocks;
    for (unsigned i = 0; i < h->count && i < SHOWN; i++)
        print_holder(h, &h->rows[i], page);
    print_rest(h, page);
    if (h->estimated)
        tp_page_row(page, NAME, "estimated", NOTE,
                    "from the call stacks of %s: below %s one in %s has one, and stands for the "
                    "others of its size class (powers of two)",
                    tp_plural(small, "block").s, tp_bytes(h->sampling.size, false).s,
                    tp_count(h->sampling.every).s);
}

void tp_holders_line(const struct tp_holders *h, int column, struct tp_page *page)
{
    if (!h)
        return;
    tp_page_at(page, column, "Held at the peak%s:", h->estimated ? ", estimated" : "");
    for (unsigned i = 0; i < h->count && i < IN_A_LINE; i++)
        tp_page_more(page, column + 6, "%s %s by %s", i ? "," : "",
                     tp_percent(h->rows[i].bytes / (double)h->bytes).s, h->rows[i].place);
    if (h->unknown * SAID_ABOVE > (double)h->bytes)
        tp_page_more(page, column + 6, "%s %s not known", h->count ? "," : "",
                     tp_percent(h->unknown / (double)h->bytes).s);
    if (h->places > IN_A_LINE)
        tp_page_more(page, column + 6, "; tapool info shows more");
    tp_page_line(page);
}
