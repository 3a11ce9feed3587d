/* See certifier.h. First the line that answers, then the first difference, then what the figures
 * rest on: what was taken from the file, and what it cannot show. */
#include "cmd/ui/text.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"

#include <inttypes.h>
#include <string.h>

enum { MARGIN = 2, VALUE = 17 };

static struct tp_text of(const struct tp_agreement *a)
{
    return tp_text_of("%s of %s", tp_count(a->good).s, tp_count(a->all).s);
}

static struct tp_text address(tp_addr addr)
{
    return tp_text_of("0x%" PRIx64, addr);
}

/* ---- the first difference ---- */

/* Those that are the same for every allocator. */
static const struct tp_verify_sentence common[TP_DIFFERENCE_KINDS] = {
    [TP_OTHER_ADDRESS] = {"alloc of", NULL, NULL},
    [TP_NOT_SERVED] = {"alloc of", NULL, "refused"},
    [TP_NEEDS_NONE] = {"alloc of", "more memory from the driver", NULL},
    [TP_HAS_ROOM] = {"failed alloc of", "out of memory", NULL},
    [TP_NOT_LIVE] = {"free of", "a live block", "none of this size is there"},
    [TP_OTHER_SIZE] = {"block for", NULL, NULL},
    [TP_OTHER_FRAGMENTATION] = {"fragmentation after", NULL, NULL},
};

static const struct tp_verify_sentence *sentence_of(const struct tp_certifier *by,
                                                    enum tp_verify_kind kind)
{
    return by->sentences[kind].what ? &by->sentences[kind] : &common[kind];
}

/* One side of a difference. */
static struct tp_text side(const struct tp_verify_difference *d, const char *said, uint64_t value)
{
    if (said)
        return tp_text_of("%s", said);
    if (d->kind == TP_OTHER_SIZE)
        return tp_bytes(value, true);
    return tp_differs_in_place(d) ? address(value) : tp_text_of("%.4f", (double)value / 1e6);
}

static void print_choices(const struct tp_verify_difference *d, struct tp_page *page)
{
    for (size_t i = 0; i < d->choice_count; i++)
        tp_page_row(page, MARGIN, i ? "" : "chosen among", VALUE, "%s, %s",
                    address(d->choices[i].addr).s, tp_bytes(d->choices[i].size, true).s);
    if (!d->choice_count)
        tp_page_row(page, MARGIN, "chosen among", VALUE, "no free block");
}

static void print_difference(const struct tp_certifier *by, const struct tp_verify_difference *d,
                             struct tp_page *page)
{
    const struct tp_verify_sentence *says = sentence_of(by, d->kind);
    bool at = d->expected && tp_differs_in_place(d);
    if (d->event)
        tp_page_at(page, 0, "first difference: event %s, ", tp_count(d->event).s);
    else
        tp_page_at(page, 0, "first difference: ");
    tp_page_more(page, MARGIN, "%s %s%s%s", says->what, tp_bytes(d->size, true).s, at ? " at " : "",
                 at ? address(d->expected).s : "");
    if (by->streams)
        tp_page_more(page, MARGIN, ", stream %" PRId64, d->stream);
    tp_page_line(page);
    tp_page_row(page, MARGIN, "file", VALUE, "%s", side(d, says->expected, d->expected).s);
    tp_page_row(page, MARGIN, "rules", VALUE, "%s", side(d, says->got, d->got).s);
    if (d->kind <= TP_NEEDS_NONE)
        print_choices(d, page);
}

/* ---- other settings ---- */

static void print_change(const struct tp_verified *v, size_t i, struct tp_page *page)
{
    const struct tp_verify_change *c = &v->changes[i];
    struct tp_text others = tp_text_of(", as %s would", tp_plural(c->others, "other setting").s);
    tp_page_row(page, MARGIN, i ? "" : "settings", VALUE, "from event %s on: %s %s%s address%s%s",
                tp_count(c->event).s, *c->conf ? c->conf : "no setting (the defaults)",
                v->change_count == 1 ? "explains all " : "explains ", tp_count(c->addresses).s,
                c->addresses == 1 ? "" : "es", c->others ? others.s : "");
}

static void print_changes(const struct tp_certifier *by, const struct tp_verified *v,
                          struct tp_page *page)
{
    for (size_t i = 0; i < v->change_count; i++)
        print_change(v, i, page);
    if (v->search == TP_NO_CHANGE_FITS)
        tp_page_row(page, MARGIN, "settings", VALUE, "%s", by->no_change);
    if (v->search == TP_SEARCH_CUT)
        tp_page_row(page, MARGIN, "settings", VALUE,
                    "too many events to try whether other settings explain the addresses");
}

/* ---- what the figures rest on ---- */

static struct tp_text figure_of(const struct tp_verify_row *row, const struct tp_verified *v)
{
    const char *at = (const char *)v + row->at;
    if (row->agreement)
        return of((const struct tp_agreement *)at);
    uint64_t value = *(const uint64_t *)at;
    return row->noun ? tp_plural(value, row->noun) : tp_count(value);
}

static bool is_there(const struct tp_verify_row *row, const struct tp_verified *v)
{
    const char *at = (const char *)v + row->at;
    return row->agreement ? ((const struct tp_agreement *)at)->all != 0
                          : *(const uint64_t *)at != 0;
}

/* The first line. */
static void print_head(const struct tp_certifier *by, const struct tp_verified *v,
                       struct tp_page *page)
{
    const char *gap = "";
    for (const struct tp_verify_row *row = by->rows; row->label; row++)
        if (row->place == TP_ROW_HEAD) {
            if (!*gap)
                tp_page_at(page, 0, "%s ", row->label);
            tp_page_more(page, MARGIN, "%s%s%s", gap, figure_of(row, v).s, row->after);
            gap = ", ";
        }
    tp_page_line(page);
}

static void print_rows(const struct tp_certifier *by, const struct tp_verified *v,
                       enum tp_verify_place place, struct tp_page *page)
{
    const char *above = "";
    for (const struct tp_verify_row *row = by->rows; row->label; row++) {
        if (row->place != place || !is_there(row, v))
            continue;
        bool joins = row->joins && !strcmp(row->label, above);
        tp_page_row(page, MARGIN, joins ? "" : row->label, VALUE, "%s%s%s",
                    row->before ? row->before : "", figure_of(row, v).s, row->after);
        above = row->label;
    }
}

static void print_start(const struct tp_certifier *by, const struct tp_verified *v,
                        struct tp_page *page)
{
    static const char *const known[TP_STARTS] = {
        [TP_START_REBUILT] = "rebuilt from the end and the events",
        [TP_START_INFERRED] = "inferred from the events",
        [TP_START_EMPTY] = "empty: the recording begins with the allocator",
        [TP_START_ALL_FREE] = "nothing in use; sizes inferred from the events",
        [TP_START_ONE_CHUNK] = "known: the rest is one free block"};
    char held[96] = "";
    struct tp_str s = TP_STR_IN(held);
    if (v->start_blocks || !v->start_lasting)
        tp_str_item(&s, " and ", "%s", tp_plural(v->start_blocks, "live block").s);
    if (v->start_lasting)
        tp_str_item(&s, " and ", "%s in use to the end", tp_bytes(v->start_lasting, false).s);
    if (v->start_known == TP_START_EMPTY && v->reserved_how)
        tp_page_row(page, MARGIN, "at the start", VALUE,
                    "%s; its memory is assumed to be reserved %s, the default",
                    known[TP_START_EMPTY], v->reserved_how);
    else if (v->start_known == TP_START_EMPTY)
        tp_page_row(page, MARGIN, "at the start", VALUE, "%s", known[TP_START_EMPTY]);
    else if (v->start_segments)
        tp_page_row(page, MARGIN, "at the start", VALUE, "%s with %s, %s",
                    tp_plural(v->start_segments, by->segment).s, held, known[v->start_known]);
    print_rows(by, v, TP_ROW_START, page);
}

static void print_rest(const struct tp_certifier *by, const struct tp_verified *v,
                       struct tp_page *page)
{
    if (v->segments.all)
        tp_page_row(page, MARGIN, "at the end", VALUE, "%s in %s as in the file",
                    tp_plural(v->blocks, "block").s, tp_plural(v->segments.good, by->segment).s);
    if (v->failed.all)
        tp_page_row(page, MARGIN, "out of memory", VALUE,
                    "%s times nothing free serves the request by the rules either",
                    of(&v->failed).s);
    if (v->failed_unused)
        tp_page_row(page, MARGIN, "", VALUE,
                    "%s times before all free memory was returned: the file does not say why",
                    tp_count(v->failed_unused).s);
    print_rows(by, v, TP_ROW_END, page);
    if (v->unknown)
        tp_page_row(page, MARGIN, "not compared", VALUE, "%s of a kind that is not known",
                    tp_plural(v->unknown, "event").s);
    if (v->not_live)
        tp_page_row(page, MARGIN, "not live", VALUE, "%s of what the rules do not have there",
                    tp_plural(v->not_live, "free").s);
}

void tp_verify_text(const struct tp_recorded_file *f, const struct tp_verified *v, bool several,
                    struct tp_page *page)
{
    const char *kind = f->by->allocator(f->state);
    if (several)
        tp_page_put(page, 0, "%s", tp_device_title(v->device, v->name).s);
    print_head(f->by, v, page);
    if (!tp_agrees(v))
        print_difference(f->by, &v->first, page);
    print_changes(f->by, v, page);
    tp_page_row(page, MARGIN, "allocator", VALUE, "%s%s%s", f->by->by, kind ? "'s for " : "",
                kind ? kind : "");
    print_rows(f->by, v, TP_ROW_DRIVER, page);
    print_start(f->by, v, page);
    print_rest(f->by, v, page);
}
