/* See info.h: how long the blocks of allocation sites live, and which sites only grow. */
#include "alloc/base/numbers.h"
#include "alloc/engine/run.h"
#include "cmd/info/info.h"
#include "cmd/report/report_sites.h"
#include "cmd/results/report_json.h"
#include "cmd/ui/table.h"
#include "traces/places/site_ages.h"

#include <limits.h>
#include <string.h>

enum { SHOWN = 8, SITE = 5, SITE_LEAST = 24, INDENT = 2 };

/* ---- the table ---- */

static void add_lifetime(struct tp_table *t, const struct tp_site_ages *a, uint64_t lifetime)
{
    if (lifetime == TP_AGE_NONE)
        tp_table_add(t, "-");
    else
        tp_table_add(t, "%s", a->timed ? tp_duration(lifetime).s : tp_plural(lifetime, "event").s);
}

/* A long name is cut, what is said of its site is not. */
static void add_site(struct tp_table *t, const struct tp_site_ages *a,
                     const struct tp_site_age *row, int room)
{
    struct tp_str name = {0};
    const char *grows = row->freed > row->live_bytes / 2 ? "; grows, freed later" : "; only grows";
    const char *said = row->grows ? grows : "";
    if (!row->name)
        tp_str_add(&name, "%s", tp_site_rest_words[a->by]);
    else if (a->by == TP_BY_PLACE)
        tp_place_short(row->name, &name);
    else
        tp_str_add(&name, "%s", row->name);
    const char *text = tp_str_text(&name);
    room -= (int)strlen(said);
    bool cut = tp_text_width(text) > room;
    tp_table_add(t, "%.*s%s%s", (int)(cut ? tp_text_bytes(text, room - 3) : strlen(text)), text,
                 cut ? "..." : "", said);
    tp_str_drop(&name);
}

static void fill(const struct tp_site_ages *a, size_t shown, int room, bool exact,
                 struct tp_table *t)
{
    for (size_t i = 0; i < shown; i++) {
        const struct tp_site_age *row = &a->rows[i];
        add_lifetime(t, a, row->median);
        tp_table_count(t, row->objects);
        tp_table_count(t, row->live);
        tp_table_bytes(t, row->live_bytes, exact);
        add_lifetime(t, a, row->oldest);
        add_site(t, a, row, room);
    }
    if (shown == a->count)
        return;
    for (int i = 0; i < SITE; i++)
        tp_table_add(t, NULL);
    tp_table_add(t, "%s more: --json", tp_plural(a->count - shown, "row").s);
}

void tp_info_ages(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_site_ages *a = r->ages;
    if (!a || !r->ages_shown)
        return;
    struct tp_column columns[] = {{.head = {"", "median"}}, {.head = {"", "allocs"}},
                                  {.head = {"", "live"}},   {.head = {"", "requested"}},
                                  {.head = {"", "oldest"}}, {.head = {"", ""}, .left = true}};
    struct tp_table numbers = {0}, table = {0};
    bool screen = page->form == TP_PAGE_SCREEN;
    size_t shown = screen && a->count > SHOWN ? SHOWN : a->count;
    snprintf(columns[SITE].head[1], TP_COLUMN_HEAD, "%s", tp_sites_row_words[a->by]);
    tp_page_line(page);
    tp_page_put(page, 0, "Lifetimes by %s, up to %s%s", tp_sites_row_words[a->by],
                a->at == TP_AT_PEAK ? "the peak" : tp_text_of("event %s", tp_count(a->at).s).s,
                a->estimated ? ": blocks with a call stack, bytes estimated" : "");
    tp_table_columns(&numbers, columns, SITE + 1);
    fill(a, shown, SITE_LEAST, page->exact, &numbers);
    int room = page->width - INDENT - tp_table_width(&numbers) + SITE_LEAST;
    room = room > SITE_LEAST ? room : SITE_LEAST;
    tp_table_columns(&table, columns, SITE + 1);
    fill(a, shown, screen ? room : INT_MAX, page->exact, &table);
    tp_table_print(&table, page, INDENT, TP_TABLE_WIDE);
    tp_table_drop(&numbers);
    tp_table_drop(&table);
}

/* ---- the document ---- */

void tp_info_write_ages(struct tp_json *j, cJSON *root, const struct tp_site_ages *a)
{
    if (!a)
        return;
    cJSON *o = tp_json_object(j, root, "site_lifetimes");
    tp_json_uint(j, o, "event", a->at == TP_AT_PEAK ? TP_NONE : a->at);
    tp_json_text(j, o, "by", tp_sites_by_words[a->by]);
    tp_json_uint(j, o, "depth", a->depth ? a->depth : 1);
    tp_json_bool(j, o, "estimated", a->estimated);
    tp_json_uint(j, o, "count", a->count);
    cJSON *rows = tp_json_array(j, o, "rows");
    for (size_t i = 0; i < a->count && i < TP_SITES_MOST; i++)
        tp_json_site_age(j, tp_json_item(j, rows), &a->rows[i], a->timed);
}

/* ---- which of them ---- */

struct tp_site_ages *tp_info_find_ages(const struct tp_trace *t, const struct tp_sites_opts *o,
                                       int (*stop)(struct tp_err *err))
{
    struct tp_sites_cfg cfg = {
        .at = o->at, .by = (enum tp_sites_by)o->by, .depth = o->depth > 1 ? (unsigned)o->depth : 0};
    struct tp_site_ages *found = NULL;
    struct tp_err ignored = {0};
    if (tp_program_facts(t->program)->devices != 1 ||
        tp_site_ages_find(t, 0, &cfg, NULL, 0, stop, &found, &ignored) != TP_OK || found ||
        cfg.by != TP_BY_PLACE)
        return found;
    cfg.by = TP_BY_SIZE;
    return tp_site_ages_find(t, 0, &cfg, NULL, 0, stop, &found, &ignored) == TP_OK ? found : NULL;
}
