/* See report_sites.h. */
#include "cmd/report/report_sites.h"

#include "alloc/base/numbers.h"
#include "cmd/ui/table.h"
#include "traces/places/place_table.h"

#include <ctype.h>
#include <string.h>

enum { NAME = 2, NOTE = 16, SHOWN = 8, IN_A_LINE = 3, SAID_ABOVE = 20, PLACE = 25 };
enum { NAME_MOST = 1000 }; /* columns of a function's name */

#define ALL 0.9995 /* of a share that is shown as 100.0% */

const char *const tp_sites_at_words[] = {"peak", NULL};

const char *const tp_sites_row_words[] = {[TP_BY_PLACE] = "allocation site",
                                          [TP_BY_PHASE] = "phase",
                                          [TP_BY_AGE] = "age",
                                          [TP_BY_SIZE] = "block size",
                                          [TP_BY_METADATA] = "metadata"};

bool tp_sites_asked(const struct tp_sites_opts *o)
{
    return o->at != TP_AT_PEAK || o->by != TP_BY_PLACE || o->depth > 1;
}

static struct tp_text moment(const struct tp_sites *h)
{
    return h->at == TP_AT_PEAK ? tp_text_of("Live memory at the peak")
                               : tp_text_of("Live memory at event %s", tp_count(h->at).s);
}

/* Whether a bracket here opens what is left out of a function's name: arguments, of a template or
 * not. Those of "operator()" and "operator<" do not, nor those of "(anonymous namespace)" or of
 * Python's "<module>". */
static bool opens(const char *name, const char *at)
{
    static const char word[] = "operator";
    size_t before = (size_t)(at - name);
    bool named = before && (isalnum((unsigned char)at[-1]) || strchr("_>)", at[-1]));
    while (before && strchr("<(", name[before - 1])) /* operator<< */
        before--;
    bool is_operator = before >= sizeof word - 1 &&
                       !strncmp(name + before - (sizeof word - 1), word, sizeof word - 1);
    return (*at == '<' || *at == '(') && named && !is_operator;
}

/* The bracket that closes the one at `at`; NULL: none does. */
static const char *closing(const char *at)
{
    char open = *at, close = open == '<' ? '>' : ')';
    int depth = 0;
    for (; *at; at++) {
        depth += (*at == open) - (*at == close && !(open == '<' && at[-1] == '-'));
        if (!depth)
            return at;
    }
    return NULL;
}

void tp_place_short(const char *place, struct tp_str *out)
{
    char name[4 * NAME_MOST + 4]; /* in UTF-8 */
    size_t file = strcspn(place, " ");
    size_t length = tp_text_bytes(place + file, NAME_MOST);
    length = length < sizeof name ? length : sizeof name - 1;
    snprintf(name, sizeof name, "%.*s", (int)length, place + file);
    tp_str_add(out, "%.*s", (int)file, place);
    for (const char *at = name; *at; at++) {
        const char *end = opens(name, at) ? closing(at) : NULL;
        if (end && end - at > 4) {
            tp_str_add(out, "%c...", *at);
            at = end;
        }
        tp_str_add(out, "%c", *at);
    }
    if (place[file + length])
        tp_str_add(out, "...");
}

/* "mostly from X < Y": the callers that agree; "from X (40.0%), Y (31.2%)": none does. */
static void add_callers(const struct tp_site *row, struct tp_str *out)
{
    bool all = true;
    for (unsigned i = 0; i < row->caller_count; i++) {
        bool most = row->callers[i].bytes < ALL * row->bytes;
        const char *first = most ? ", mostly from " : ", from ";
        tp_str_add(out, "%s%s", i ? " < " : first, i && most && all ? "mostly " : "");
        tp_place_short(row->callers[i].place, out);
        all = all && !most;
    }
    for (unsigned i = 0; !row->caller_count && i < row->largest_count; i++) {
        tp_str_add(out, "%s", i ? ", " : ", from ");
        tp_place_short(row->largest[i].place, out);
        tp_str_add(out, " (%s)", tp_percent(row->largest[i].bytes / row->bytes).s);
    }
}

/* What stands behind a row where more than the place was asked for. */
static void add_more(const struct tp_sites *h, const struct tp_site *row, struct tp_str *out)
{
    if (!h->depth && h->by == TP_BY_PLACE)
        return;
    tp_str_add(out, "; %s", tp_plural(row->blocks, "block").s);
    if (row->youngest <= row->oldest && h->by != TP_BY_AGE)
        tp_str_add(out, ", %s%s old", row->youngest < row->oldest ? "up to " : "",
                   h->timed ? tp_duration(row->oldest).s : tp_plural(row->oldest, "event").s);
}

static void add_row(struct tp_table *t, const struct tp_sites *h, double bytes, const char *name)
{
    tp_table_bytes(t, bytes > 0 ? (uint64_t)bytes : 0, false);
    tp_table_add(t, "%s", tp_percent(bytes / (double)h->bytes).s);
    tp_table_add(t, "%s", name);
}

/* A site is one line on a screen: what does not fit of its name is in --json, and more of it in
 * --depth. */
static void add_site(struct tp_table *t, const struct tp_sites *h, const struct tp_site *row,
                     const struct tp_page *page)
{
    struct tp_str name = {0}, end = {0}, line = {0};
    if (h->by == TP_BY_METADATA)
        tp_str_add(&name, "%s", row->place);
    else
        tp_place_short(row->place, &name);
    if (h->estimated)
        tp_str_add(&name, " (by %s)", tp_plural(row->blocks, "block").s);
    add_callers(row, &name);
    add_more(h, row, &end);
    const char *text = tp_str_text(&name);
    int room = page->width - PLACE - tp_text_width(tp_str_text(&end));
    bool cut = page->form == TP_PAGE_SCREEN && tp_text_width(text) > room && room >= 4;
    size_t bytes = cut ? tp_text_bytes(text, room - 3) : strlen(text);
    tp_str_add(&line, "%.*s%s%s", (int)bytes, text, cut ? "..." : "", tp_str_text(&end));
    add_row(t, h, row->bytes, tp_str_text(&line));
    tp_str_drop(&name);
    tp_str_drop(&end);
    tp_str_drop(&line);
}

/* Of more than `shown` rows the others are one. */
static void add_rest(struct tp_table *t, const struct tp_sites *h, unsigned shown)
{
    double rest = (double)h->bytes - h->unknown;
    for (unsigned i = 0; i < shown; i++)
        rest -= h->rows[i].bytes;
    if (h->places > shown)
        add_row(t, h, rest,
                tp_text_of("%s more: --json",
                           tp_plural(h->places - shown, h->by == TP_BY_PLACE ? "site" : "row").s)
                    .s);
    struct tp_site_rest rests[TP_SITE_RESTS];
    for (unsigned i = 0, count = tp_site_rests(h, rests); i < count; i++)
        add_row(t, h, rests[i].bytes, rests[i].name);
}

void tp_sites_print(const struct tp_sites *h, struct tp_page *page)
{
    if (!h)
        return;
    const struct tp_column columns[] = {{.name = "live", .left = true, .width = NOTE - NAME - 2},
                                        {.name = "share", .width = PLACE - NOTE - 2},
                                        {.name = tp_sites_row_words[h->by], .left = true}};
    struct tp_table table = {0};
    uint64_t small = 0;
    unsigned shown = page->form == TP_PAGE_SCREEN && h->count > SHOWN ? SHOWN : h->count;
    tp_page_line(page);
    tp_page_at(page, 0, "%s", moment(h).s);
    tp_page_more(page, NOTE + 1, " by %s: %s%s", tp_sites_row_words[h->by],
                 tp_bytes(h->bytes, false).s, h->estimated ? ", estimated" : "");
    tp_page_line(page);
    for (unsigned i = 0; i < h->count; i++)
        small += h->rows[i].blocks;
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < shown; i++)
        add_site(&table, h, &h->rows[i], page);
    add_rest(&table, h, shown);
    tp_table_print(&table, page, NAME, TP_TABLE_WIDE);
    tp_table_drop(&table);
    if (h->estimated)
        tp_page_row(page, NAME, "estimated", NOTE,
                    "from the call stacks of %s: below %s one block in %s has a stack and stands "
                    "for the others of its size class (powers of two)",
                    tp_plural(small, "block").s, tp_bytes(h->sampling.size, false).s,
                    tp_count(h->sampling.every).s);
}

void tp_sites_line(const struct tp_sites *h, int column, struct tp_page *page)
{
    static const char *const before[] = {[TP_BY_PLACE] = "by ",
                                         [TP_BY_PHASE] = "in ",
                                         [TP_BY_AGE] = "",
                                         [TP_BY_SIZE] = "in ",
                                         [TP_BY_METADATA] = "of "};
    if (!h)
        return;
    tp_page_at(page, column, "%s%s:", moment(h).s, h->estimated ? ", estimated" : "");
    for (unsigned i = 0; i < h->count && i < IN_A_LINE; i++) {
        struct tp_str place = {0};
        tp_place_short(h->rows[i].place, &place);
        tp_page_more(page, column + 6, "%s %s %s%s", i ? "," : "",
                     tp_percent(h->rows[i].bytes / (double)h->bytes).s, before[h->by],
                     tp_str_text(&place));
        tp_str_drop(&place);
    }
    struct tp_site_rest rests[TP_SITE_RESTS];
    for (unsigned i = 0, count = tp_site_rests(h, rests); i < count; i++)
        if (rests[i].bytes * SAID_ABOVE > (double)h->bytes)
            tp_page_more(page, column + 6, "%s %s %s", h->count || i ? "," : "",
                         tp_percent(rests[i].bytes / (double)h->bytes).s, rests[i].name);
    if (h->places > IN_A_LINE)
        tp_page_more(page, column + 6, "; more: tapool info");
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

void tp_sites_folded(const struct tp_sites *h, const char *root, FILE *out)
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
    struct tp_site_rest rests[TP_SITE_RESTS];
    for (unsigned i = 0, count = tp_site_rests(h, rests); i < count; i++) {
        put_root(root, out);
        fputs(rests[i].name, out);
        put_bytes(rests[i].bytes, out);
    }
}
