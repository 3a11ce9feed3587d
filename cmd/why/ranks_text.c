/* See ranks.h: the screen. What is odd, the table, what the difference is made of, the
 * allocation sites, and what the figures rest on. */
#include "cmd/why/ranks.h"

#include "alloc/base/units.h"
#include "cmd/info/site_rows.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <string.h>

enum { INDENT = 2, SITES = 8 };

static const char *const figure_words[TP_RANK_FIGURES] = {
    [TP_RANK_RESERVED] = "peak reserved", [TP_RANK_REQUESTED] = "requested"};

/* "rank3.pickle", "node.pickle, device 1" */
static void add_rank_name(const struct tp_ranks *r, const struct tp_rank *rank, struct tp_str *out)
{
    const char *slash = strrchr(rank->file, '/');
    tp_str_add(out, "%s", slash && slash[1] ? slash + 1 : rank->file);
    if (r->several_devices)
        tp_str_add(out, ", device %u", (unsigned)rank->device);
}

/* " device 1" behind the name of a rank, where that is needed. */
static struct tp_text device_text(const struct tp_ranks *r, const struct tp_rank *rank)
{
    return r->several_devices ? tp_text_of(" device %u", (unsigned)rank->device)
                              : (struct tp_text){""};
}

/* "+12.0%", or "new" where the median is 0. */
static struct tp_text apart_text(double apart)
{
    return isinf(apart) ? tp_text_of("new") : tp_change(apart);
}

/* ---- what is odd ---- */

static void print_agreement(const struct tp_ranks *r, struct tp_page *page)
{
    tp_page_styled(page, 0, TP_BOLD, "%s %s agree", r->good == 2 ? "Both" : "All",
                   r->good == 2 ? "ranks" : tp_plural(r->good, "rank").s);
    if (r->apart[TP_RANK_RESERVED] == 0 && r->apart[TP_RANK_REQUESTED] == 0)
        tp_page_more(page, 0, ": peak reserved and requested are the same");
    else
        tp_page_more(page, 0, ": peak reserved is within %s of the median, requested within %s",
                     tp_percent(fabs(r->apart[TP_RANK_RESERVED])).s,
                     tp_percent(fabs(r->apart[TP_RANK_REQUESTED])).s);
    tp_page_line(page);
}

static void print_odd(const struct tp_ranks *r, struct tp_page *page)
{
    const struct tp_rank *odd = &r->list[r->odd], *median = &r->list[r->median];
    double apart = r->apart[r->figure];
    struct tp_str name = {0}, other = {0};
    add_rank_name(r, odd, &name);
    add_rank_name(r, median, &other);
    tp_page_styled(page, 0, TP_BOLD, "Outlier: %s", tp_str_text(&name));
    tp_page_more(page, 0, ", %s %s, ", figure_words[r->figure],
                 tp_bytes(tp_rank_value(odd, r->figure), page->exact).s);
    if (isinf(apart))
        tp_page_more(page, 0, "where the median is 0 B");
    else if (apart >= 10)
        tp_page_more(page, 0, "%s the median of %s", tp_change(apart).s,
                     tp_bytes(r->medians[r->figure], page->exact).s);
    else
        tp_page_more(page, 0, "%s %s the median of %s", tp_percent(fabs(apart)).s,
                     apart > 0 ? "above" : "below", tp_bytes(r->medians[r->figure], page->exact).s);
    tp_page_more(page, 0, " (%s)", tp_str_text(&other));
    if (r->beyond > 1)
        tp_page_more(page, 0, "; %s %s by over %s", tp_plural(r->beyond - 1, "more rank").s,
                     r->beyond == 2 ? "differs" : "differ", tp_percent(TP_RANKS_AGREE).s);
    tp_page_line(page);
    tp_str_drop(&name);
    tp_str_drop(&other);
}

static void print_answer(const struct tp_ranks *r, struct tp_page *page)
{
    if (r->good < 2)
        tp_page_put(page, 0, "%s can be compared", r->good ? "Only one rank" : "No rank");
    else if (r->agree)
        print_agreement(r, page);
    else
        print_odd(r, page);
}

/* ---- the table ---- */

static void add_good(const struct tp_ranks *r, const struct tp_rank *rank, bool exact,
                     struct tp_table *t)
{
    tp_table_bytes(t, rank->sum.reserved, exact);
    if (r->good > 1)
        tp_table_add(t, "%s", rank->judged ? apart_text(tp_rank_apart(r, rank, r->figure)).s : "-");
    tp_table_bytes(t, rank->sum.requested, exact);
    tp_table_bytes(t, rank->sum.rounding, exact);
    tp_table_bytes(t, tp_rank_free(rank), exact);
    tp_table_bytes(t, rank->largest, exact);
    tp_table_count(t, rank->events);
}

static void add_bad(int columns, struct tp_table *t)
{
    tp_table_add(t, "unusable");
    for (int i = 2; i < columns; i++)
        tp_table_add(t, "-");
}

static void print_table(const struct tp_ranks *r, struct tp_page *page)
{
    static const struct tp_column columns[] = {
        {.head = {"", "rank"}, .left = true}, {.head = {"peak", "reserved"}},
        {.head = {"reserved", "vs median"}},  {.head = {"", "requested"}},
        {.head = {"", "rounding"}},           {.head = {"", "free"}},
        {.head = {"largest", "free block"}},  {.head = {"", "events"}}};
    enum { COUNT = sizeof columns / sizeof *columns };
    struct tp_column used[COUNT];
    struct tp_table table = {0};
    int count = 0;
    for (int i = 0; i < COUNT; i++)
        if (i != 2 || r->good > 1)
            used[count++] = columns[i];
    if (r->good > 1 && r->figure == TP_RANK_REQUESTED)
        snprintf(used[2].head[0], TP_COLUMN_HEAD, "requested");
    tp_table_columns(&table, used, count);
    for (size_t i = 0; i < r->count; i++) {
        const struct tp_rank *rank = &r->list[i];
        bool good = rank->status == TP_OK;
        tp_table_add(&table, "%s%s%s", rank->name, good ? device_text(r, rank).s : "",
                     good && rank->differs_at != TP_NONE ? " *" : "");
        if (good)
            add_good(r, rank, page->exact, &table);
        else
            add_bad(count, &table);
    }
    tp_table_print(&table, page, INDENT, TP_TABLE_BELOW);
    tp_table_drop(&table);
}

static void print_unusable(const struct tp_ranks *r, struct tp_page *page)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].status != TP_OK)
            tp_page_put(page, INDENT, "%s is unusable: %s", r->list[i].name, r->list[i].why);
}

/* ---- the difference ---- */

/* requested + rounding + free = reserved, on both sides. */
static void print_parts(const struct tp_ranks *r, struct tp_page *page)
{
    const struct tp_rank *m = &r->list[r->median], *odd = &r->list[r->odd];
    const struct {
        const char *name;
        uint64_t bytes[2];
    } parts[] = {{"peak reserved", {m->sum.reserved, odd->sum.reserved}},
                 {"requested", {m->sum.requested, odd->sum.requested}},
                 {"rounding", {m->sum.rounding, odd->sum.rounding}},
                 {"free", {tp_rank_free(m), tp_rank_free(odd)}}};
    const char *before = "Difference from the median to the outlier:";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes[0] != parts[i].bytes[1]) {
            tp_page_more(page, 0, "%s %s %s", before, parts[i].name,
                         tp_grown_bytes(parts[i].bytes, page->exact).s);
            before = ",";
        }
    tp_page_line(page);
}

static void print_sites(const struct tp_ranks *r, struct tp_page *page)
{
    static const struct tp_site_screen screen = {
        .heads = {"median", "outlier"}, .by = TP_BY_PLACE, .shown = SITES};
    for (int side = 0; side < 2; side++)
        if (!r->sites.known[side] && r->sites.blocks[side]) {
            const struct tp_rank *rank = &r->list[side ? r->odd : r->median];
            tp_page_put(page, INDENT,
                        "%s%s has no stack frames, so its allocation sites are unknown", rank->name,
                        device_text(r, rank).s);
        }
    if (r->sites.known[0] || r->sites.known[1])
        tp_site_rows_print(&r->sites, &screen, page);
}

/* ---- what it rests on ---- */

static double share_as_recorded(const struct tp_rank *r)
{
    return r->addresses.all ? (double)r->addresses.good / (double)r->addresses.all : 1;
}

static void print_ground(const struct tp_ranks *r, struct tp_page *page)
{
    const struct tp_rank *worst = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const struct tp_rank *rank = &r->list[i];
        bool guessed = rank->status == TP_OK && rank->differs_at != TP_NONE;
        if (guessed && (!worst || share_as_recorded(rank) < share_as_recorded(worst)))
            worst = rank;
    }
    if (!worst)
        return;
    struct tp_text from = worst->differs_at ? tp_text_of("event %s", tp_count(worst->differs_at).s)
                                            : tp_text_of("the start");
    if (worst->addresses.good < worst->addresses.all)
        tp_page_put(
            page, INDENT,
            "* estimates: up to %s of %s addresses before the peak differ from the file (%s, "
            "from %s on). A rank with more than 1%% is not compared. Details: tapool verify",
            tp_count(worst->addresses.all - worst->addresses.good).s,
            tp_count(worst->addresses.all).s, worst->name, from.s);
    else
        tp_page_put(page, INDENT,
                    "* estimates: segments before the peak differ from the file (%s, from %s "
                    "on).%s Details: tapool verify",
                    worst->name, from.s, worst->judged ? "" : " That rank is not compared.");
}

void tp_ranks_text(const struct tp_ranks *r, struct tp_page *page)
{
    print_answer(r, page);
    tp_page_line(page);
    print_table(r, page);
    print_ground(r, page);
    print_unusable(r, page);
    if (r->good < 2 || r->agree)
        return;
    tp_page_line(page);
    print_parts(r, page);
    print_sites(r, page);
    tp_page_line(page);
    tp_page_command(page, "Next: tapool why", r->list[r->odd].file);
}
