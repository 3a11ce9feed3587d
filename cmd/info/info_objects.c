/* The lower half of the screen of `tapool info`: a table of sizes, and beside it lifetimes, what
 * the sizes mean for a cache, reallocations, and frees by other threads. On a narrow page they are
 * below the table. */
#include "cmd/info/info.h"
#include "cmd/ui/table.h"

#include <stdarg.h>
#include <string.h>

enum {
    NAME = 2,
    GAP = 3,
    BESIDE_MIN = 30, /* columns that lifetimes need beside the sizes */
    LINES = 40,
    LINE = 128
};

#define FEW_REQUESTS 100 /* with fewer requests there is no advice */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Sentences, wrapped to lines of a block; or as they are, on the lines of a page. */
struct lines {
    char text[LINES][LINE];
    int count, width;
    struct tp_page *page; /* NULL: they are kept in `text` */
};

/* Whether a line may be wrapped at this blank: not between a number and its unit. */
static bool may_break(const char *at)
{
    return *at == ' ' && !(at[-1] >= '0' && at[-1] <= '9');
}

/* Adds a sentence and wraps it at words. Wrapped lines are indented by two. */
__attribute__((format(printf, 2, 3))) static void say(struct lines *l, const char *format, ...)
{
    struct tp_str text = {0};
    va_list args;
    va_start(args, format);
    tp_str_vadd(&text, format, args);
    va_end(args);
    const char *indent = "";
    if (l->page)
        tp_page_put(l->page, 0, "%s", tp_str_text(&text));
    for (const char *at = tp_str_text(&text); !l->page && *at && l->count < LINES;) {
        int room = l->width - (int)strlen(indent), length = (int)strlen(at);
        if (room > LINE - 3)
            room = LINE - 3;
        if (length > room) {
            length = room;
            while (length && !may_break(at + length))
                length--;
            length = length ? length : room;
        }
        snprintf(l->text[l->count++], LINE, "%s%.*s", indent, length, at);
        at += length + (at[length] == ' ');
        indent = "  ";
    }
    tp_str_drop(&text);
}

struct tp_text tp_info_size_name(const struct tp_info_size *sizes, int i)
{
    if (sizes[i].up_to == UINT64_MAX)
        return tp_text_of("> %s", tp_bytes(sizes[i - 1].up_to, false).s);
    if (i == 0)
        return tp_text_of("<= %s", tp_bytes(sizes[i].up_to, false).s);
    return tp_text_of("%s - %s", tp_bytes(sizes[i - 1].up_to, false).s,
                      tp_bytes(sizes[i].up_to, false).s);
}

/* Each row is a class of sizes: its blocks, their share, their bytes, the share of the bytes. */
static void fill_sizes(const struct tp_info *info, bool exact, struct tp_table *t)
{
    static const struct tp_column columns[] = {{.head = {"", "Sizes"}, .left = true},
                                               {.head = {"", "allocs"}},
                                               {.name = "share of allocations"},
                                               {.head = {"", "allocated"}},
                                               {.name = "share of bytes"}};
    tp_table_columns(t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < TP_INFO_SIZES; i++) {
        const struct tp_info_count *c = &info->sizes[i].count;
        if (!c->objects)
            continue;
        tp_table_add(t, "  %s", tp_info_size_name(info->sizes, i).s);
        tp_table_count(t, c->objects);
        tp_table_add(t, "%s", tp_percent(share(c->objects, info->allocated.objects)).s);
        tp_table_bytes(t, c->bytes, exact);
        tp_table_add(t, "%s", tp_percent(share(c->bytes, info->allocated.bytes)).s);
    }
}

static void say_lifetimes(const struct tp_info_report *r, struct lines *l)
{
    const struct tp_info *info = r->info;
    const struct tp_histogram *h = &info->events, *t = &info->times;
    char half[64] = "", most[64] = "";
    if (h->count && tp_program_facts(r->trace->program)->time_known) {
        snprintf(half, sizeof half, " (%s)", tp_duration(tp_hist_quantile(t, 0.5)).s);
        snprintf(most, sizeof most, " (%s)", tp_duration(tp_hist_quantile(t, 0.9)).s);
    }
    if (h->count) {
        say(l, "lifetime of %s: median %s%s", tp_plural(h->count, "freed block").s,
            tp_plural(tp_hist_quantile(h, 0.5), "event").s, half);
        say(l, "90%% live at most %s%s", tp_plural(tp_hist_quantile(h, 0.9), "event").s, most);
        say(l, "temporary (freed within %d events): %s of blocks, %s of bytes", TP_INFO_TEMPORARY,
            tp_percent(share(info->temporary.objects, info->allocated.objects)).s,
            tp_percent(share(info->temporary.bytes, info->allocated.bytes)).s);
    }
    say(l, "%s of %s outlive the recording", tp_count(info->outlive.objects).s,
        tp_count(info->allocated.objects).s);
}

/* How well a cache that keeps freed blocks by their exact size would work with these sizes. */
static const char *advice(const struct tp_info *info)
{
    if (info->requests < FEW_REQUESTS)
        return "";
    double uses = (double)info->requests / (double)info->distinct;
    if (info->distinct_capped || info->distinct > 4096 || uses < 4)
        return ": too many for a cache by exact size; size classes suit better";
    if (info->distinct <= 256 && uses >= 16)
        return ": few enough for a cache by exact size";
    return ": a cache by exact size misses the rare ones";
}

#define COMMON 0.01 /* a common size has at least this share of the requests */

static void say_distinct(const struct tp_info *info, struct lines *l)
{
    char common[256];
    struct tp_str s = TP_STR_IN(common);
    say(l, "%s%s%s", info->distinct_capped ? "more than " : "",
        tp_plural(info->distinct, "distinct size").s, advice(info));
    for (int i = 0; i < TP_INFO_COMMON; i++) {
        if (!info->common[i].requests || share(info->common[i].requests, info->requests) < COMMON)
            break;
        tp_str_item(&s, ", ", "%s (%s)", tp_bytes(info->common[i].size, true).s,
                    tp_percent(share(info->common[i].requests, info->requests)).s);
    }
    if (s.length && info->distinct > 1 && info->requests >= FEW_REQUESTS)
        say(l, "most common: %s", common);
}

static void say_others(const struct tp_info_report *r, struct lines *l)
{
    const struct tp_info *info = r->info;
    uint64_t frees = tp_captured_ops(r->captured, tp_program_facts(r->trace->program), TP_FREE);
    uint64_t reallocs = info->grow + info->shrink + info->same;
    if (reallocs)
        say(l, "%s: %s grow (%s), %s shrink", tp_plural(reallocs, "realloc").s,
            tp_count(info->grow).s, tp_percent(share(info->grow, reallocs)).s,
            tp_count(info->shrink).s);
    if (info->remote_frees)
        say(l, "remote frees: %s of %s (%s) by another thread than the allocating one",
            tp_count(info->remote_frees).s, tp_count(frees).s,
            tp_percent(share(info->remote_frees, frees)).s);
    if (info->aligned && info->highest_align_log2 < info->usual_align_log2)
        say(l, "alignment below %u bytes: %s (%s), %s at most", 1u << info->usual_align_log2,
            tp_plural(info->aligned, "request").s,
            tp_percent(share(info->aligned, info->requests)).s,
            tp_bytes(UINT64_C(1) << info->highest_align_log2, false).s);
    else if (info->aligned)
        say(l, "alignment other than %u bytes: %s (%s), up to %s", 1u << info->usual_align_log2,
            tp_plural(info->aligned, "request").s,
            tp_percent(share(info->aligned, info->requests)).s,
            tp_bytes(UINT64_C(1) << info->highest_align_log2, false).s);
}

static void say_all(const struct tp_info_report *r, struct lines *l)
{
    say_lifetimes(r, l);
    say_distinct(r->info, l);
    say_others(r, l);
}

/* The first line is the head, at the left edge of the block. The others are indented by NAME. */
static void print_line(struct tp_page *page, int column, const struct lines *l, int i)
{
    if (i < l->count)
        tp_page_at(page, column + (i ? NAME : 0), "%s", l->text[i]);
}

static void print_beside(const struct tp_info_report *r, const struct tp_table *sizes,
                         struct tp_page *page)
{
    struct lines right = {.count = 0};
    int column = tp_table_width(sizes) + GAP, rows = tp_table_rows(sizes);
    bool beside = page->width - column - NAME >= BESIDE_MIN;
    right.width = page->width - NAME - (beside ? column : 0);
    say(&right, "Lifetimes and sizes");
    say_all(r, &right);
    tp_page_line(page);
    for (int i = 0; i <= rows || (beside && i < right.count); i++) {
        if (i <= rows)
            tp_table_row(sizes, i - 1, page, 0);
        if (beside)
            print_line(page, column, &right, i);
        tp_page_line(page);
    }
    for (int i = 0; !beside && i < right.count; i++) {
        print_line(page, 0, &right, i);
        tp_page_line(page);
    }
}

void tp_info_objects(const struct tp_info_report *r, struct tp_page *page)
{
    struct tp_table sizes = {0};
    if (!r->info->allocated.objects)
        return;
    fill_sizes(r->info, page->exact, &sizes);
    if (page->form == TP_PAGE_SCREEN) {
        print_beside(r, &sizes, page);
    } else {
        tp_table_print(&sizes, page, 0, TP_TABLE_WIDE);
        say_all(r, &(struct lines){.page = page});
    }
    tp_table_drop(&sizes);
}
