/* See report_pages.h. Parts add up to resident, at the trace peak and at the end; notes below say
 * how the pages were found and what is special about them. */
#include "cmd/report/report_pages.h"

#include "alloc/base/process_memory.h"

enum { PART_VALUE_END = 15, PART_TEXT = 20, PART_LABEL = 16, PART_AT_END = 46, PART_ERRORS = 4 };

struct part_row {
    const char *sign, *text;
    uint64_t peak, end;
    uint64_t peak_error, end_error;
};

/* " +-0.4%"; "": nothing was left out. */
static struct tp_text error_of(uint64_t error, uint64_t value)
{
    if (!error || !value || error == TP_NONE)
        return tp_text_of("%s", "");
    return tp_text_of(" +-%s", tp_percent((double)error / (double)value).s);
}

static void print_part(const struct part_row *row, int at_end, struct tp_page *page)
{
    if (row->peak == TP_NONE || row->end == TP_NONE)
        return;
    tp_page_at(page, 5, "%s", row->sign);
    tp_page_right(page, PART_VALUE_END + (page->exact ? 4 : 0), tp_bytes(row->peak, page->exact).s);
    tp_page_at(page, PART_TEXT, "%s%s", row->text, error_of(row->peak_error, row->peak).s);
    tp_page_at(page, at_end, "%s%s", tp_bytes(row->end, page->exact).s,
               error_of(row->end_error, row->end).s);
    tp_page_line(page);
}

static bool is_some(uint64_t bytes)
{
    return bytes && bytes != TP_NONE;
}

/* Prints what is special about some bytes, if there are any. `end`: of the end; NULL: not told. */
static void print_special(const uint64_t *at, const uint64_t *end, const char *text, int column,
                          struct tp_page *page)
{
    if (!is_some(*at) && !(end && is_some(*end)))
        return;
    tp_page_at(page, column, "%s", tp_bytes(*at, page->exact).s);
    if (end)
        tp_page_more(page, column, " (at the end %s)", tp_bytes(*end, page->exact).s);
    tp_page_more(page, column, " %s", text);
    tp_page_line(page);
}

/* What a preloaded library has added before the first event is in none of the parts. */
static void print_at_start(const struct tp_resident *r, int at_end, struct tp_page *page)
{
    struct part_row row = {
        .sign = "+", .text = "at start, by the library", .peak = r->start, .end = r->start};
    if (r->start == TP_NONE)
        return;
    print_part(&row, at_end, page);
    row.sign = "=";
    row.text = "resident, start included";
    row.peak += r->parts_at_peak.resident;
    row.end += r->parts_end.resident;
    print_part(&row, at_end, page);
}

void tp_page_notes_print(const struct tp_resident *r, const struct tp_page_parts *at,
                         const struct tp_page_parts *end, int column, struct tp_page *page)
{
    char huge[128];
    snprintf(huge, sizeof huge, "on pages of %s: free bytes inside them are resident too",
             tp_bytes(tp_huge_page_bytes(), false).s);
    print_special(&at->huge_page, end ? &end->huge_page : NULL, huge, column, page);
    print_special(&at->locked, end ? &end->locked : NULL,
                  "locked (mlock): MADV_DONTNEED and MADV_FREE do not free it", column, page);
    print_special(&at->shared_live, end ? &end->shared_live : NULL,
                  "of live blocks in shared mappings, which resident memory does not include",
                  column, page);
    if (r->pages_every > 1 && r->pages_every != TP_NONE)
        tp_page_put(page, column, "estimated from 1 of %s runs of 512 pages%s",
                    tp_count(r->pages_every).s, end ? "; +-: standard error" : "");
    if (r->by_mincore)
        tp_page_put(page, column,
                    "by mincore, because /proc/self/pagemap cannot be read: pages that were only "
                    "read count, pages in swap do not");
}

void tp_pages_print(const struct tp_result *r, struct tp_page *page)
{
    const struct tp_resident *resident = &r->run->resident;
    const struct tp_page_parts *peak = &resident->parts_at_peak, *end = &resident->parts_end;
    const struct tp_page_errors *e = &resident->errors_at_peak, *f = &resident->errors_end;
    const struct part_row rows[] = {
        {" ", "live", peak->live, end->live, e->live, f->live},
        {"+", "rounding", peak->rounding, end->rounding, e->rounding, f->rounding},
        {"+", "partly free pages", peak->partly_free, end->partly_free, e->partly_free,
         f->partly_free},
        {"+", "free pages", peak->free_pages, end->free_pages, e->free_pages, f->free_pages},
        {"+", "never part of a block", peak->own, end->own, e->own, f->own},
        {"=", "resident", peak->resident, end->resident, e->resident, f->resident}};
    if (!resident->passes || peak->resident == TP_NONE || end->resident == TP_NONE)
        return;
    int at_end = PART_AT_END + (resident->pages_every > 1 ? PART_ERRORS : 0);
    tp_page_at(page, 0, "Pages");
    tp_page_at(page, PART_LABEL, "at the trace peak");
    tp_page_at(page, at_end, "after the last event");
    tp_page_line(page);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_part(&rows[i], at_end, page);
    if (r->spec->preload)
        print_at_start(resident, at_end, page);
    tp_page_notes_print(resident, peak, end, PART_TEXT, page);
    tp_page_line(page);
}
