/* See info.h: which allocation sites grew from one trace to another. */
#include "cmd/info/info.h"
#include "cmd/info/pair_growth.h"
#include "cmd/info/site_rows.h"
#include "cmd/report/report_sites.h"
#include "cmd/ui/table.h"

enum { SITES = 12, PHASES = 8, PHASE = 4, PHASE_MIN = 20 };

/* ---- the phases ---- */

/* "forward: +96 MiB model.py:41 forward" */
static void add_phase_name(const struct tp_phase_growth *p, bool exact, struct tp_str *out)
{
    bool initial = p->kind == TP_SITE_INITIAL || p->kind == TP_SITE_INITIAL_OTHER;
    tp_str_add(out, "%s", p->name);
    if (!p->looked)
        return;
    tp_str_add(out, ": %s ", tp_grown_bytes(p->bytes, exact).s);
    tp_str_add(out, "%s%s", initial ? "initial heap" : "", initial && p->site ? ": " : "");
    if (p->site)
        tp_place_short(p->site, out);
    else if (!initial)
        tp_str_add(out, "not known");
}

static void add_phase(struct tp_table *t, const struct tp_phase_growth *p, int room, bool exact)
{
    struct tp_str name = {0};
    tp_table_add(t, NULL);
    tp_table_add(t, "%s", tp_grown_bytes(p->peak, exact).s);
    for (int side = 0; side < 2; side++)
        tp_table_bytes(t, p->peak[side], exact);
    add_phase_name(p, exact, &name);
    tp_table_cut(t, tp_str_text(&name), room);
    tp_str_drop(&name);
}

static void fill_phases(const struct tp_pair_growth *g, int room, bool exact, struct tp_table *t)
{
    size_t tail = g->phase_count > PHASES ? PHASES / 2 : 0;
    size_t top = g->phase_count > PHASES ? PHASES - tail : g->phase_count;
    for (size_t i = 0; i < top; i++)
        add_phase(t, &g->phases[i], room, exact);
    if (tail) {
        for (int i = 0; i < PHASE; i++)
            tp_table_add(t, NULL);
        tp_table_add(t, "%s", tp_plural(g->phase_count - PHASES, "more phase").s);
    }
    for (size_t i = g->phase_count - tail; i < g->phase_count; i++)
        add_phase(t, &g->phases[i], room, exact);
}

static void print_phases(const struct tp_pair_growth *g, struct tp_page *page)
{
    static const struct tp_column columns[] = {
        {.head = {"", ""}},
        {.head = {"", "growth"}},
        {.head = {"", "first"}},
        {.head = {"", "second"}},
        {.head = {"", "phase: largest difference"}, .left = true, .width = PHASE_MIN}};
    struct tp_table numbers = {0}, table = {0};
    tp_table_columns(&numbers, columns, PHASE + 1);
    fill_phases(g, PHASE_MIN, page->exact, &numbers);
    int room = page->width - tp_table_width(&numbers) + PHASE_MIN;
    tp_table_columns(&table, columns, PHASE + 1);
    fill_phases(g, room, page->exact, &table);
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&numbers);
    tp_table_drop(&table);
}

static void print_by_phase(const struct tp_pair_growth *g, struct tp_page *page)
{
    if (!g->phases_of[0] && !g->phases_of[1])
        return;
    tp_page_line(page);
    if (!g->phase_count) {
        tp_page_put(
            page, 0,
            "By phase        left out: no common phase name (%s in the first trace, %s in the "
            "second)",
            tp_count(g->phases_of[0]).s, tp_count(g->phases_of[1]).s);
        return;
    }
    tp_page_put(page, 0, "Requested at the peak of each common phase");
    print_phases(g, page);
}

void tp_info_growth_text(const struct tp_pair_growth *g, struct tp_page *page)
{
    const struct tp_site_screen screen = {
        .heads = {"first", "second"}, .by = g->by, .shown = SITES};
    tp_page_line(page);
    tp_page_put(page, 0, "Requested at the trace peak of each%s",
                g->rows.estimated ? ", estimated from the call stacks of sampled blocks" : "");
    tp_site_rows_print(&g->rows, &screen, page);
    print_by_phase(g, page);
}

/* ---- the document ---- */

static void write_phase(struct tp_json *j, cJSON *o, const struct tp_phase_growth *p)
{
    tp_json_text(j, o, "name", p->name);
    tp_json_two(j, o, "peak_bytes", p->peak);
    tp_json_two(j, o, "peak_events", p->peak_event);
    if (!p->looked)
        return;
    cJSON *site = tp_json_object(j, o, "largest");
    tp_json_text(j, site, "kind", tp_site_kind_words[p->kind]);
    tp_json_text(j, site, "name", p->site);
    tp_json_two(j, site, "bytes", p->bytes);
}

void tp_info_growth(struct tp_json *j, cJSON *in, const struct tp_pair_growth *g)
{
    tp_json_site_rows(j, in, "sites", &g->rows, g->by);
    cJSON *phases = tp_json_array(j, in, "phases");
    for (size_t i = 0; i < g->phase_count; i++)
        write_phase(j, tp_json_item(j, phases), &g->phases[i]);
}
