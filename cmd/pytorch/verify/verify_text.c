/* See verify.h. First the line that answers, then the first difference, then what the figures
 * rest on: what was taken from the file, and what it cannot show. */
#include "cmd/pytorch/verify/verify.h"

#include <inttypes.h>

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

/* The sentences of a difference: what is compared, what the file has, what the rules did. NULL: the
 * address of that side. */
static const struct {
    const char *what, *expected, *got;
} sentences[TP_DIFFERENCE_KINDS] = {
    [TP_OTHER_ADDRESS] = {"alloc of", NULL, NULL},
    [TP_NOT_SERVED] = {"alloc of", NULL, "refused"},
    [TP_NEEDS_SEGMENT] = {"alloc of", NULL, "a new segment: nothing free fits"},
    [TP_NEEDS_MAPPING] = {"alloc of", NULL, "maps memory: nothing free fits"},
    [TP_NEEDS_NONE] = {"alloc of", "more memory from the driver", NULL},
    [TP_NOT_ITS_UNITS] = {"segment_unmap of", "these units", "more of the free block"},
    [TP_MAPPED_IN_USE] = {"segment_unmap of", "whole units that are free", "not free"},
    [TP_SEGMENT_IN_USE] = {"segment_free of", "a segment that is wholly free", "not wholly free"},
    [TP_HAS_ROOM] = {"failed alloc of", "out of memory", NULL},
    [TP_NOT_LIVE] = {"free of", "a live block", "none of this size is there"},
    [TP_START_UNPLACED] = {"a place for", "a place of its own",
                           "it overlaps, or lies in no segment"},
    [TP_OTHER_LAYOUT] = {"at the end, segment of", "its blocks as in the file", "others"},
};

static void print_choices(const struct tp_verify_difference *d, struct tp_page *page)
{
    for (size_t i = 0; i < d->choice_count; i++)
        tp_page_row(page, MARGIN, i ? "" : "chosen among", VALUE, "%s, %s",
                    address(d->choices[i].addr).s, tp_bytes(d->choices[i].size, true).s);
    if (!d->choice_count)
        tp_page_row(page, MARGIN, "chosen among", VALUE, "no free block");
}

static void print_difference(const struct tp_verify_difference *d, struct tp_page *page)
{
    const char *expected = sentences[d->kind].expected, *got = sentences[d->kind].got;
    if (d->event)
        tp_page_at(page, 0, "first difference: event %s, ", tp_count(d->event).s);
    else
        tp_page_at(page, 0, "first difference: ");
    tp_page_more(page, MARGIN, "%s %s%s%s, stream %" PRId64, sentences[d->kind].what,
                 tp_bytes(d->size, true).s, d->expected ? " at " : "",
                 d->expected ? address(d->expected).s : "", d->stream);
    tp_page_line(page);
    tp_page_row(page, MARGIN, "file", VALUE, "%s", expected ? expected : address(d->expected).s);
    tp_page_row(page, MARGIN, "rules", VALUE, "%s", got ? got : address(d->got).s);
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

static void print_changes(const struct tp_verified *v, struct tp_page *page)
{
    for (size_t i = 0; i < v->change_count; i++)
        print_change(v, i, page);
    if (v->search == TP_NO_CHANGE_FITS)
        tp_page_row(page, MARGIN, "settings", VALUE,
                    "no other max_split_size_mb or roundup_power2_divisions that was tried, from "
                    "any event on, explains the addresses");
    if (v->search == TP_SEARCH_CUT)
        tp_page_row(page, MARGIN, "settings", VALUE,
                    "too many events to try whether other settings explain the addresses");
}

/* ---- what the figures rest on ---- */

/* Memory from the driver, and back. */
static void print_driver(const struct tp_verified *v, struct tp_page *page)
{
    if (v->taken.all)
        tp_page_row(page, MARGIN, "segments", VALUE, "%s taken where the file takes them",
                    of(&v->taken).s);
    if (v->returned.all)
        tp_page_row(page, MARGIN, v->taken.all ? "" : "segments", VALUE,
                    "%s wholly free where the file gives them back", of(&v->returned).s);
    if (v->mapped.all)
        tp_page_row(page, MARGIN, "mapped", VALUE, "%s times as the file maps memory",
                    of(&v->mapped).s);
    if (v->unmapped.all)
        tp_page_row(page, MARGIN, "unmapped", VALUE,
                    "%s times the whole free units where the file unmaps them", of(&v->unmapped).s);
    if (v->switches)
        tp_page_row(page, MARGIN, "from the file", VALUE,
                    "that expandable_segments changed, %s: where memory is taken shows it",
                    tp_plural(v->switches, "time").s);
    if (v->with_base)
        tp_page_row(page, MARGIN, "from the file", VALUE,
                    "%s of these addresses: the base of a new segment is the driver's choice",
                    tp_count(v->with_base).s);
}

static void print_start(const struct tp_verified *v, struct tp_page *page)
{
    if (v->start_segments)
        tp_page_row(
            page, MARGIN, "at the start", VALUE, "%s with %s, rebuilt from the end and the events",
            tp_plural(v->start_segments, "segment").s, tp_plural(v->start_blocks, "live block").s);
    if (v->start_stretches)
        tp_page_row(page, MARGIN, "", VALUE,
                    "%s of segments that grow; these begin at the lowest address in the file",
                    tp_plural(v->start_stretches, "part").s);
    if (v->start_inferred)
        tp_page_row(page, MARGIN, "", VALUE,
                    "%s of them taken for the large pool: the file does not say which",
                    tp_count(v->start_inferred).s);
    if (v->start_rounded)
        tp_page_row(
            page, MARGIN, "", VALUE,
            "%s of these blocks were freed later: their size is their request's, rounded up",
            tp_count(v->start_rounded).s);
    if (v->start_shown)
        tp_page_row(page, MARGIN, "", VALUE,
                    "%s of them kept a rest: its size is taken from the first address behind it",
                    tp_count(v->start_shown).s);
}

static void print_rest(const struct tp_verified *v, struct tp_page *page)
{
    if (v->segments.all)
        tp_page_row(page, MARGIN, "at the end", VALUE, "%s in %s as in the file",
                    tp_plural(v->blocks, "block").s, tp_plural(v->segments.good, "segment").s);
    if (v->failed.all)
        tp_page_row(page, MARGIN, "out of memory", VALUE,
                    "%s times nothing free serves the request by the rules either",
                    of(&v->failed).s);
    if (v->failed_unused)
        tp_page_row(page, MARGIN, "", VALUE,
                    "%s times before all free memory was returned: the file does not say why",
                    tp_count(v->failed_unused).s);
    if (v->unpooled)
        tp_page_row(page, MARGIN, "not compared", VALUE,
                    "%s in private pools, which the events do not name",
                    tp_plural(v->unpooled, "request").s);
    if (v->unknown)
        tp_page_row(page, MARGIN, "not compared", VALUE, "%s of a kind that is not known",
                    tp_plural(v->unknown, "event").s);
    if (v->not_live)
        tp_page_row(page, MARGIN, "not live", VALUE, "%s of what the rules do not have there",
                    tp_plural(v->not_live, "free").s);
}

void tp_verify_text(const struct tp_verified *v, const struct tp_torch_device *allocator,
                    bool several, struct tp_page *page)
{
    if (several)
        tp_page_put(page, 0, "device %" PRIu32, v->device);
    tp_page_put(page, 0, "fidelity %s addresses, %s segments", of(&v->addresses).s,
                of(&v->segments).s);
    if (!tp_agrees(v))
        print_difference(&v->first, page);
    print_changes(v, page);
    tp_page_row(page, MARGIN, "allocator", VALUE, "PyTorch's for %s", allocator->title);
    print_driver(v, page);
    print_start(v, page);
    print_rest(v, page);
}
