/* See why_pages.h: the screen. What was replayed and when, the sum, who holds most, the table of
 * holders, and how the parts went over time where that is asked for. */
#include "cmd/pages/pages_answer.h"
#include "cmd/pages/why_pages.h"

#include "cmd/report/report_head.h"
#include "cmd/report/report_pages.h"
#include "cmd/report/report_sites.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <string.h>

enum { NAME = 16, SHOWN = 10, SITE_MIN = 20, GROWING = 3, WIDE = 96 };
enum { REMEDIES = 8, OTHERS = 2, REMEDY_BESIDE = 46 };
#define HELPS 0.01 /* less is no help */

static struct tp_text size_of(const struct tp_page *page, uint64_t bytes)
{
    return tp_bytes(bytes, page->exact);
}

/* ---- what and when ---- */

static const char *const when_words[] = {
    [TP_PAGES_PEAK] = "Peak", [TP_PAGES_END] = "At the end", [TP_PAGES_AT] = "At"};

static void print_when(const struct tp_why_pages *w, struct tp_page *page)
{
    const struct tp_page_list_head *h = &w->list->head;
    const struct tp_program_facts *f = tp_program_facts(w->trace->program);
    tp_page_side(page, when_words[w->when], NAME);
    tp_page_at(page, NAME, "%s%s", w->when == TP_PAGES_PEAK ? "trace peak: " : "",
               h->event ? "" : "before the first event");
    if (h->event)
        tp_page_more(page, NAME, "event %s of %s", tp_count(h->event).s, tp_count(f->events).s);
    if (h->event && f->time_known)
        tp_page_more(page, NAME, " (+%s)", tp_duration(h->clock).s);
    if (w->chosen)
        tp_page_more(page, NAME, "; of %s, the one with the most free memory in resident pages",
                     tp_plural(w->replay.lists.count, "moment").s);
    tp_page_line(page);
}

static void print_malloc(const struct tp_why_pages *w, struct tp_page *page)
{
    uint64_t threads = w->replay.resident.threads;
    tp_page_side(page, "Replayed", NAME);
    tp_page_at(page, NAME, "with %s by %s%s", tp_page_replay_name(&w->replay),
               tp_plural(threads ? threads : 1, "thread").s,
               w->recorded ? ", the malloc of the recording" : "");
    if (!w->recorded && strchr(w->strategy, ':'))
        tp_page_more(page, NAME, " (%s)", w->strategy);
    if (w->replay.start != TP_NONE && w->replay.start)
        tp_page_more(page, NAME, "; %s more before the first event",
                     size_of(page, w->replay.start).s);
    tp_page_line(page);
}

void tp_pages_head_print(const struct tp_why_pages *w, struct tp_page *page)
{
    print_when(w, page);
    print_malloc(w, page);
}

/* ---- the sum ---- */

#define MOST 0.95 /* of requested bytes: the others need no word */

int tp_pages_parts(const struct tp_why_pages *w, struct tp_sum_part out[TP_PAGES_PARTS])
{
    const struct tp_page_parts *p = &w->list->head.parts;
    const struct tp_text none = tp_text_of("%s", "");
    uint64_t requested = tp_why_pages_requested(w);
    bool all = (double)p->live >= MOST * (double)requested;
    int n = 0;
    out[n++] =
        (struct tp_sum_part){" ", p->live, tp_plural(w->list->head.blocks, "live block"),
                             all ? tp_text_of("requested and written")
                                 : tp_text_of("of %s requested", tp_bytes(requested, false).s),
                             "live"};
    if (p->rounding != TP_NONE)
        out[n++] = (struct tp_sum_part){"+", p->rounding, tp_text_of("rounding"), none, "rounding"};
    out[n++] = (struct tp_sum_part){
        "+", p->partly_free, tp_text_of("partly free pages"),
        p->partly_free ? tp_text_of("free, on %s", tp_plural(w->pages, "page").s) : none, "partly"};
    out[n++] =
        (struct tp_sum_part){"+", p->free_pages, tp_text_of("free pages"),
                             p->free_pages ? tp_text_of("kept by the allocator") : none, "unused"};
    out[n++] =
        (struct tp_sum_part){"+", p->own, tp_text_of("never part of a block"),
                             p->own ? tp_text_of("the allocator's own data") : none, "cached"};
    out[n++] = (struct tp_sum_part){
        "=", p->resident,
        tp_text_of("resident, %s", tp_plural(p->resident / w->list->head.page, "page").s), none,
        NULL};
    return n;
}

void tp_pages_sum_print(const struct tp_why_pages *w, struct tp_page *page)
{
    struct tp_sum_part parts[TP_PAGES_PARTS];
    tp_sum_print(parts, tp_pages_parts(w, parts), "share of resident", page);
}

/* ---- by whom ---- */

/* On a narrow screen the name has the room of two columns. */
static bool is_wide(const struct tp_page *page)
{
    return page->form != TP_PAGE_SCREEN || page->width >= WIDE;
}

static struct tp_text age_text(const struct tp_why_pages *w, uint64_t age)
{
    if (!age || age == TP_AGE_NONE)
        return tp_text_of("-");
    return w->timed ? tp_duration(age) : tp_plural(age, "event");
}

/* The first row whose site is known; NULL: none is. */
static const struct tp_page_site *first_known(const struct tp_why_pages *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->rows[i].name)
            return &w->rows[i];
    return NULL;
}

static uint64_t whole(double value)
{
    return (uint64_t)(value + 0.5);
}

/* Short, unless another site is called the same then, as two instances of a template are. */
static void add_site_name(const struct tp_why_pages *w, const char *name, struct tp_str *out)
{
    struct tp_str own = {0};
    bool same = false;
    tp_place_short(name, &own);
    for (size_t i = 0; i < w->count && !same; i++) {
        const char *of_other = w->rows[i].name;
        struct tp_str other = {0};
        if (of_other && strcmp(of_other, name)) {
            tp_place_short(of_other, &other);
            same = !strcmp(tp_str_text(&other), tp_str_text(&own));
        }
        tp_str_drop(&other);
    }
    tp_str_add(out, "%s", same ? name : tp_str_text(&own));
    tp_str_drop(&own);
}

/* Bytes on free pages that the malloc gave back when asked; TP_NONE: not known. */
static uint64_t given_back(const struct tp_why_pages *w)
{
    const struct tp_remedies *r = &w->remedies;
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].kind == TP_REMEDY_PURGE) {
            uint64_t before = r->base.parts.free_pages, after = r->rows[i].parts.free_pages;
            return before > after ? before - after : 0;
        }
    return TP_NONE;
}

/* What a malloc keeps for its threads it may not give back, and some give back nothing. */
static void print_free_pages(const struct tp_why_pages *w, struct tp_page *page)
{
    uint64_t all = w->list->head.parts.free_pages, back = given_back(w);
    tp_page_more(page, NAME, "%s is on free pages", size_of(page, all).s);
    if (back == TP_NONE)
        return;
    struct tp_text share = size_of(page, back);
    if ((double)back > 0.995 * (double)all)
        share = tp_text_of("all");
    if (!back)
        share = tp_text_of("none");
    tp_page_more(page, NAME, ", %s of which %s can give back", share.s,
                 tp_page_replay_name(&w->replay));
}

static void print_partly_free(const struct tp_why_pages *w, struct tp_page *page)
{
    const struct tp_page_site *most = first_known(w);
    uint64_t all = w->list->head.parts.partly_free;
    struct tp_str name = {0};
    tp_page_more(page, NAME, "%s is on partly free pages", size_of(page, all).s);
    if (most) {
        add_site_name(w, most->name, &name);
        bool almost_all = most->held.partly_free > 0.995 * (double)all;
        tp_page_more(page, NAME, ", %s%s of it held by %s of live blocks %s %s",
                     w->estimated && !almost_all ? "about " : "",
                     almost_all ? "all" : size_of(page, whole(most->held.partly_free)).s,
                     size_of(page, whole(most->held.live)).s, w->by == TP_BY_PLACE ? "from" : "of",
                     tp_str_text(&name));
        if (most->held.oldest)
            tp_page_more(page, NAME, ", the oldest %s old", age_text(w, most->held.oldest).s);
    }
    tp_str_drop(&name);
}

static struct tp_text share_of(const struct tp_page_parts *p, uint64_t bytes)
{
    return tp_percent(p->resident ? (double)bytes / (double)p->resident : (double)NAN);
}

/* A part is left out where it is less than a tenth of what is free. */
void tp_pages_answer_print(const struct tp_why_pages *w, struct tp_page *page)
{
    const struct tp_page_parts *p = &w->list->head.parts;
    uint64_t unused = tp_page_parts_free(p);
    bool first = p->free_pages > p->partly_free;
    tp_page_styled(page, 0, TP_BOLD, "Summary");
    if (p->live > unused)
        tp_page_at(page, NAME,
                   "%s of resident memory (%s) is live, which no allocator can give back; %s (%s) "
                   "is free",
                   size_of(page, p->live).s, share_of(p, p->live).s, size_of(page, unused).s,
                   share_of(p, unused).s);
    else
        tp_page_at(page, NAME, "%s of resident memory (%s) is free", size_of(page, unused).s,
                   share_of(p, unused).s);
    if (p->free_pages && first) {
        tp_page_more(page, NAME, ": ");
        print_free_pages(w, page);
    }
    if (p->partly_free && p->partly_free >= unused / 10) {
        tp_page_more(page, NAME, first ? "; " : ": ");
        print_partly_free(w, page);
    }
    if (p->free_pages && !first && p->free_pages >= unused / 10) {
        tp_page_more(page, NAME, "; ");
        print_free_pages(w, page);
    }
    tp_page_line(page);
}

static void add_row(const struct tp_why_pages *w, struct tp_table *t, const struct tp_page_site *s,
                    int room, const struct tp_page *page)
{
    bool exact = page->exact, wide = is_wide(page);
    struct tp_str name = {0};
    tp_table_add(t, NULL);
    tp_table_bytes(t, whole(s->held.partly_free), exact);
    double all = w->partly_free ? (double)w->partly_free : (double)NAN;
    if (wide)
        tp_table_add(t, "%s", tp_percent(s->held.partly_free / all).s);
    tp_table_count(t, isnan(s->held.pages) ? TP_NONE : whole(s->held.pages));
    tp_table_bytes(t, whole(s->held.live), exact);
    if (wide)
        tp_table_count(t, whole(s->held.blocks));
    tp_table_add(t, "%s", age_text(w, s->held.oldest).s);
    tp_table_add(t, "%s", age_text(w, s->age ? s->age->median : 0).s);
    if (s->name)
        add_site_name(w, s->name, &name);
    else
        tp_str_add(&name, "not known");
    tp_table_cut(t, tp_str_text(&name), room);
    tp_str_drop(&name);
}

/* What the rows that are not shown hold together. */
static struct tp_page_site sum_of(const struct tp_why_pages *w, size_t from)
{
    struct tp_page_site sum = {.name = "other"};
    for (size_t i = from; i < w->count; i++) {
        const struct tp_holder *h = &w->rows[i].held;
        sum.held.partly_free += h->partly_free;
        sum.held.live += h->live;
        sum.held.blocks += h->blocks;
        sum.held.oldest = h->oldest > sum.held.oldest ? h->oldest : sum.held.oldest;
    }
    sum.held.pages = (double)NAN; /* some are counted for several of them */
    return sum;
}

static void fill_rows(const struct tp_why_pages *w, struct tp_table *t, int room,
                      const struct tp_page *page)
{
    size_t shown = w->count <= SHOWN + 1 ? w->count : SHOWN;
    for (size_t i = 0; i < shown; i++)
        add_row(w, t, &w->rows[i], room, page);
    if (shown < w->count) {
        struct tp_page_site rest = sum_of(w, shown);
        add_row(w, t, &rest, room, page);
    }
}

void tp_pages_holders_print(const struct tp_why_pages *w, struct tp_page *page)
{
    const struct tp_column columns[] = {
        {.head = {"", ""}},
        {.head = {"partly", "free"}},
        {.head = {"", "share"}},
        {.head = {"", "pages"}},
        {.head = {"live", "there"}},
        {.head = {"live", "blocks"}},
        {.head = {"", "oldest"}},
        {.head = {"median", "lifetime"}},
        {.name = tp_sites_row_words[w->by], .left = true, .width = SITE_MIN}};
    enum { COUNT = sizeof columns / sizeof *columns, SHARE = 2, BLOCKS = 5 };
    struct tp_column used[COUNT];
    struct tp_table numbers = {0}, table = {0};
    int count = 0;
    for (int i = 0; i < COUNT; i++)
        if ((i != SHARE && i != BLOCKS) || is_wide(page))
            used[count++] = columns[i];
    snprintf(used[count - 1].head[1], TP_COLUMN_HEAD, "%s", tp_sites_row_words[w->by]);
    tp_table_columns(&numbers, used, count);
    fill_rows(w, &numbers, SITE_MIN, page);
    int room = page->width - tp_table_width(&numbers) + SITE_MIN;
    tp_table_columns(&table, used, count);
    fill_rows(w, &table, room > SITE_MIN ? room : SITE_MIN, page);
    tp_page_line(page);
    tp_page_put(page, 0, "Partly free pages by %s of their live blocks%s: %s",
                tp_sites_row_words[w->by], w->estimated ? ", estimated" : "",
                size_of(page, w->partly_free).s);
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&numbers);
    tp_table_drop(&table);
}

/* Sites that grow up to the moment, of which the trace frees most later, or does not. */
static void print_growing(const struct tp_why_pages *w, bool freed, const char *name,
                          const char *what, struct tp_page *page)
{
    struct tp_str names = {0};
    size_t count = 0;
    for (size_t i = 0; w->ages && i < w->ages->count; i++) {
        const struct tp_site_age *a = &w->ages->rows[i];
        bool is_freed = a->freed > a->live_bytes / 2;
        if (!a->grows || !a->name || is_freed != freed || count++ >= GROWING)
            continue;
        tp_str_item(&names, ", ", "%s from ", size_of(page, freed ? a->freed : a->live_bytes).s);
        add_site_name(w, a->name, &names);
    }
    if (count > GROWING)
        tp_str_add(&names, ", and %s", tp_plural(count - GROWING, "more site").s);
    if (count)
        tp_page_row(page, 0, name, NAME, "%s: %s", tp_str_text(&names), what);
    tp_str_drop(&names);
}

/* Sites that may be leaks, whether they hold pages or not. */
void tp_pages_growing_print(const struct tp_why_pages *w, struct tp_page *page)
{
    print_growing(w, false, "Only grows", "a leak, or data that the program collects", page);
    print_growing(w, true, "Freed later", "data that the program collects up to this event", page);
}

void tp_pages_ground_print(const struct tp_why_pages *w, struct tp_page *page)
{
    if (w->fell_back && w->count)
        tp_page_put(page, NAME,
                    "The trace has no call stacks. 'tapool record --stacks 8' records them.");
    if (w->estimated)
        tp_page_row(
            page, 0, "estimated", NAME,
            "below %s one block in %s has a call stack and stands for the others of its "
            "size class (powers of two). With --stack-every 1 all have one, and a site is also "
            "tried in a region of its own.",
            tp_bytes(w->sites->sampling.size, false).s, tp_count(w->sites->sampling.every).s);
}

/* ---- alternatives ---- */

static double change_of(const struct tp_remedies *all, const struct tp_remedy *r)
{
    if (r == &all->base || !r->replays || !all->base.resident)
        return (double)NAN;
    return (double)r->resident / (double)all->base.resident - 1;
}

/* The folder of a library is what can be left out. */
static void add_what(const struct tp_remedy *r, int room, struct tp_str *out)
{
    const char *path = strchr(r->what, '/'), *file = strrchr(r->what, '/');
    if (r->kind == TP_REMEDY_LIBRARY && file && tp_text_width(r->what) > room)
        tp_str_add(out, "%.*s...%s", (int)(path - r->what), r->what, file);
    else
        tp_str_add(out, "%s", r->what);
}

static void add_remedy(struct tp_table *t, const struct tp_why_pages *w, const struct tp_remedy *r,
                       const struct tp_page *page)
{
    const struct tp_remedies *all = &w->remedies;
    int room = page->width - REMEDY_BESIDE;
    struct tp_str what = {0};
    tp_str_add(&what, "  ");
    if (r == &all->base)
        tp_str_add(&what, "%s", w->recorded ? "as recorded" : tp_page_replay_name(&w->replay));
    else
        add_what(r, room - 2, &what);
    tp_table_cut(t, tp_str_text(&what), room);
    tp_table_bytes(t, r->resident, page->exact);
    tp_table_add(t, "%s", tp_change(change_of(all, r)).s);
    tp_table_bytes(t, r->parts.partly_free + r->region.partly_free, page->exact);
    tp_table_bytes(t, r->parts.free_pages + r->region.free_pages, page->exact);
    tp_str_drop(&what);
}

/* Rows that could be replayed, and of these the ones that are shown: those that help, and some of
 * the others. */
static size_t replayed_rows(const struct tp_remedies *r, size_t *shown)
{
    size_t count = 0, others = 0;
    *shown = 0;
    for (; count < r->count && r->rows[count].replays; count++) {
        others += change_of(r, &r->rows[count]) > -HELPS;
        *shown += *shown < REMEDIES && others <= OTHERS;
    }
    return count;
}

static void print_left_out(const struct tp_remedies *r, size_t more, size_t failed,
                           struct tp_page *page)
{
    if (more)
        tp_page_put(page, 2, "%s more %s more memory than the last of these, or as much (--json).",
                    tp_count(more).s, more == 1 ? "needs" : "need");
    if (failed)
        tp_page_put(page, 2, "%s could not be replayed (--json).", tp_count(failed).s);
    if (r->left_out)
        tp_page_put(page, 2, "%s not tried: --try-time gives more time.", tp_count(r->left_out).s);
}

void tp_pages_remedies_print(const struct tp_why_pages *w, struct tp_page *page)
{
    const struct tp_column columns[] = {
        {.head = {"", "Alternative"}, .left = true, .width = page->width - REMEDY_BESIDE},
        {.head = {"", "resident"}},
        {.head = {"", "change"}},
        {.head = {"partly", "free"}},
        {.head = {"free", "pages"}}};
    const struct tp_remedies *r = &w->remedies;
    struct tp_table table = {0};
    size_t shown, replayed = replayed_rows(r, &shown);
    if (!r->base.replays)
        return;
    tp_page_line(page);
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    add_remedy(&table, w, &r->base, page);
    for (size_t i = 0; i < shown; i++)
        add_remedy(&table, w, &r->rows[i], page);
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&table);
    print_left_out(r, replayed - shown, r->count - replayed, page);
    tp_page_more(page, 2,
                 "  At this event, with the memory of the library before the first event.");
    if (w->replay.resident.threads > 1)
        tp_page_more(page, 2, " Threads take other turns in each run: other runs differ.");
    for (size_t i = 0; i < shown; i++)
        if (r->rows[i].kind == TP_REMEDY_APART) {
            tp_page_more(page, 2, " Own region: the blocks of that site in a size-class arena.");
            break;
        }
    tp_page_line(page);
}

/* ---- over time ---- */

void tp_pages_moments_print(const struct tp_why_pages *w, struct tp_page *page)
{
    static const struct tp_column columns[] = {
        {.head = {"", "event"}},       {.head = {"", "resident"}},   {.head = {"", "live"}},
        {.head = {"", "rounding"}},    {.head = {"partly", "free"}}, {.head = {"free", "pages"}},
        {.head = {"never", "a block"}}};
    struct tp_table t = {0};
    tp_page_line(page);
    tp_page_put(page, 0, "Resident pages over time");
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < w->replay.lists.count; i++) {
        const struct tp_page_list_head *h = &w->replay.lists.lists[i].head;
        tp_table_count(&t, h->event);
        const uint64_t parts[] = {h->parts.resident,    h->parts.live,       h->parts.rounding,
                                  h->parts.partly_free, h->parts.free_pages, h->parts.own};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            tp_table_bytes(&t, parts[k], page->exact);
    }
    tp_table_print(&t, page, 0, TP_TABLE_BELOW);
    tp_table_drop(&t);
}

void tp_why_pages_text(const struct tp_why_pages *w, struct tp_page *page)
{
    tp_pages_head_print(w, page);
    tp_notes_print(&w->trace->meta, 0, NAME, page);
    tp_page_line(page);
    tp_pages_sum_print(w, page);
    tp_page_notes_print(&w->replay.resident, &w->list->head.parts, NULL, NAME, page);
    tp_page_line(page);
    tp_pages_answer_print(w, page);
    if (w->count)
        tp_pages_holders_print(w, page);
    tp_pages_growing_print(w, page);
    tp_pages_ground_print(w, page);
    tp_pages_remedies_print(w, page);
    if (w->cfg->over_time)
        tp_pages_moments_print(w, page);
}
