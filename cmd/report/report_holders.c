/* See report_holders.h. */
#include "cmd/report/report_holders.h"

#include "alloc/base/numbers.h"
#include "traces/lower/place_table.h"

enum { NAME = 2, NOTE = 16, SHOWN = 8, IN_A_LINE = 3, SAID_ABOVE = 20, PLACE = 25 };

#define ALL 0.9995 /* of a share that is shown as 100.0 % */

const char *const tp_holders_at_words[] = {"peak", NULL};

bool tp_holders_asked(const struct tp_holders_opts *o)
{
    return o->at != TP_AT_PEAK || o->by != TP_BY_PLACE || o->depth > 1;
}

static struct tp_text moment(const struct tp_holders *h)
{
    return h->at == TP_AT_PEAK ? tp_text_of("Held at the peak")
                               : tp_text_of("Held at event %s", tp_count(h->at).s);
}

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

/* What stands behind a row where more than the place was asked for. */
static void print_more(const struct tp_holders *h, const struct tp_holder *row,
                       struct tp_page *page)
{
    if (!h->depth && h->by == TP_BY_PLACE)
        return;
    tp_page_more(page, PLACE + 2, ": %s", tp_plural(row->blocks, "block").s);
    if (row->youngest <= row->oldest && h->by != TP_BY_AGE)
        tp_page_more(page, PLACE + 2, ", the oldest %s",
                     h->timed ? tp_duration(row->oldest).s : tp_plural(row->oldest, "event").s);
}

static void print_holder(const struct tp_holders *h, const struct tp_holder *row,
                         struct tp_page *page)
{
    tp_page_at(page, NAME, "%s", tp_bytes((uint64_t)row->bytes, false).s);
    tp_page_at(page, NOTE, "%7s", tp_percent(row->bytes / (double)h->bytes).s);
    tp_page_at(page, PLACE, "%s", row->place);
    if (h->estimated)
        tp_page_more(page, PLACE + 2, " (by %s)", tp_plural(row->blocks, "block").s);
    print_more(h, row, page);
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
        tp_page_put(page, PLACE, "%s more: --json",
                    tp_plural(h->places - SHOWN, h->by == TP_BY_PLACE ? "place" : "row").s);
    }
    struct tp_holder_rest rests[TP_HOLDER_RESTS];
    for (unsigned i = 0, count = tp_holder_rests(h, rests); i < count; i++) {
        tp_page_at(page, NAME, "%s", tp_bytes((uint64_t)rests[i].bytes, false).s);
        tp_page_at(page, NOTE, "%7s", tp_percent(rests[i].bytes / (double)h->bytes).s);
        tp_page_put(page, PLACE, "%s", rests[i].name);
    }
}

void tp_holders_print(const struct tp_holders *h, struct tp_page *page)
{
    static const char *const by[] = {
        [TP_BY_PLACE] = "the code that asked for it",
        [TP_BY_PHASE] = "the phase in which it was asked for",
        [TP_BY_AGE] = "its age",
        [TP_BY_SIZE] = "the size of its blocks",
    };
    uint64_t small = 0;
    if (!h)
        return;
    tp_page_line(page);
    tp_page_at(page, 0, "%s", moment(h).s);
    tp_page_more(page, NOTE + 1, " by %s%s", by[h->by], h->estimated ? "; estimated" : "");
    tp_page_line(page);
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
    static const char *const before[] = {
        [TP_BY_PLACE] = "by ", [TP_BY_PHASE] = "in ", [TP_BY_AGE] = "", [TP_BY_SIZE] = "in "};
    if (!h)
        return;
    tp_page_at(page, column, "%s%s:", moment(h).s, h->estimated ? ", estimated" : "");
    for (unsigned i = 0; i < h->count && i < IN_A_LINE; i++)
        tp_page_more(page, column + 6, "%s %s %s%s", i ? "," : "",
                     tp_percent(h->rows[i].bytes / (double)h->bytes).s, before[h->by],
                     h->rows[i].place);
    struct tp_holder_rest rests[TP_HOLDER_RESTS];
    for (unsigned i = 0, count = tp_holder_rests(h, rests); i < count; i++)
        if (rests[i].bytes * SAID_ABOVE > (double)h->bytes)
            tp_page_more(page, column + 6, "%s %s %s", h->count || i ? "," : "",
                         tp_percent(rests[i].bytes / (double)h->bytes).s, rests[i].name);
    if (h->places > IN_A_LINE)
        tp_page_more(page, column + 6, "; tapool info shows more");
    tp_page_line(page);
}

/* ---- for flame graphs ---- */

/* A semicolon ends a frame, and the last blank ends the stack. */
static void put_frame(const char *text, FILE *out)
{
    for (; *text; text++)
        fputc(*text == ';' ? ':' : *text, out);
}

static void put_root(const char *root, FILE *out)
{
    if (!root)
        return;
    put_frame(root, out);
    fputc(';', out);
}

static void put_bytes(double bytes, FILE *out)
{
    fprintf(out, " %.0f\n", bytes);
}

/* From the outer end on. */
static void put_stack(const struct tp_place_table *t, uint32_t stack, FILE *out)
{
    uint32_t list[TP_PLACE_DEPTH_MAX];
    unsigned count = 0;
    for (uint32_t s = stack; s && count < TP_PLACE_DEPTH_MAX;
         s = tp_place_table_stack(t, s - 1)->caller)
        list[count++] = tp_place_table_stack(t, s - 1)->text;
    while (count--) {
        put_frame(tp_place_table_get(t, list[count]), out);
        if (count)
            fputc(';', out);
    }
}

void tp_holders_folded(const struct tp_holders *h, const char *root, FILE *out)
{
    if (!h || !h->table)
        return;
    for (uint32_t i = 0; i < tp_place_table_stacks(h->table); i++) {
        if (!(h->stack_bytes[i] >= 0.5))
            continue;
        put_root(root, out);
        put_stack(h->table, i + 1, out);
        put_bytes(h->stack_bytes[i], out);
    }
    for (uint32_t i = 0; i < tp_place_table_texts(h->table); i++) {
        if (!(h->text_bytes[i] >= 0.5))
            continue;
        put_root(root, out);
        put_frame(tp_place_table_get(h->table, i), out);
        put_bytes(h->text_bytes[i], out);
    }
    struct tp_holder_rest rests[TP_HOLDER_RESTS];
    for (unsigned i = 0, count = tp_holder_rests(h, rests); i < count; i++) {
        put_root(root, out);
        fputs(rests[i].name, out);
        put_bytes(rests[i].bytes, out);
    }
}
