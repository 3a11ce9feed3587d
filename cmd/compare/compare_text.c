/* The screen of `tapool compare`: for each trace a table with its legend and the Pick, then means,
 * warnings and notes. */
#include "cmd/compare/compare.h"
#include "cmd/compare/compare_html.h"
#include "cmd/compare/compare_opts.h"

#include "cmd/report/report.h"
#include "cmd/results/figures.h"

#include <math.h>
#include <string.h>

enum { INDENT = 2, NOTE_MIN = 16 };

/* ---- tables ---- */

/* Prints and drops a table. Returns how many of its columns fit. */
static int print_and_drop(struct tp_table *t, bool all, struct tp_page *page)
{
    int shown = tp_table_print(t, page, INDENT, all ? TP_TABLE_BELOW : TP_TABLE_FIRST);
    tp_table_drop(t);
    return shown;
}

static void print_few_rounds(const struct tp_compare *c, const struct tp_compare_table *t,
                             struct tp_page *page)
{
    if (!t->rounds_needed)
        return;
    tp_page_dim(page, INDENT,
                "%u rounds are too few for %s: p cannot be below "
                "%.2g. Use --rounds %zu or more",
                c->rounds, tp_plural(t->tests, "test").s, t->least_p, t->rounds_needed);
}

static void print_failures(const struct tp_compare_table *t, struct tp_page *page)
{
    const struct tp_metric *failed = tp_metric_find("failed_allocations", NULL);
    for (size_t r = 0; r < t->count; r++) {
        char what[160];
        double count = t->rows[r].cells[failed - tp_metrics].value;
        if (!(count > 0))
            continue;
        tp_page_at(page, INDENT, "%s: ", tp_compare_name(&t->rows[r]).s);
        tp_page_styled(page, page->column, TP_RED, "OUT OF MEMORY");
        uint64_t all = (uint64_t)count, initial = t->rows[r].run->failed_initial;
        if (initial == TP_NONE)
            initial = 0;
        else if (initial > all)
            initial = all;
        tp_report_failed(initial, TP_NONE, all - initial, TP_NONE, what, sizeof what);
        tp_page_more(page, INDENT + 2, ", %s failed; its times are not compared", what);
        tp_page_line(page);
    }
}

static bool shows_times(const struct tp_compare *c)
{
    for (size_t m = 0; m < c->column_count; m++)
        if (tp_metric_is_time(c->columns[m]))
            return true;
    return false;
}

static void print_cold(const struct tp_compare_table *t, struct tp_page *page)
{
    bool all = true;
    for (size_t r = 0; r < t->count; r++)
        all = all && t->rows[r].cold;
    for (size_t r = 0; !all && r < t->count; r++) {
        if (t->rows[r].cold)
            tp_page_dim(page, INDENT,
                        "%s: one replay took longer than --min-time, so its times are cold",
                        tp_compare_name(&t->rows[r]).s);
    }
    if (all)
        tp_page_dim(
            page, INDENT,
            "One replay took longer than --min-time: all times are cold, page faults included");
}

/* Prints the legend and the remarks below a table of which the last `hidden` columns are not shown.
 */
static void print_below(const struct tp_compare *c, const struct tp_compare_table *t, size_t hidden,
                        struct tp_page *page)
{
    const char *legend[TP_COMPARE_LEGEND + 1];
    tp_compare_legend(c, t, c->column_count - hidden, legend);
    for (size_t i = 0; legend[i]; i++)
        tp_page_dim(page, INDENT, "%s", legend[i]);
    print_few_rounds(c, t, page);
    if (hidden)
        tp_page_dim(page, INDENT, "%s hidden: -v", tp_plural(hidden, "metric").s);
    if (shows_times(c))
        print_cold(t, page);
    print_failures(t, page);
}

void tp_compare_print_table(const struct tp_compare *c, const struct tp_compare_table *t,
                            bool verbose, struct tp_page *page)
{
    struct tp_table table = {0};
    tp_compare_fill(c, t, page->exact, &table);
    int shown = print_and_drop(&table, verbose, page) / 2; /* a metric takes two columns */
    print_below(c, t, c->column_count - (size_t)shown, page);
}

void tp_compare_print_pick(const struct tp_compare *c, const struct tp_compare_table *t,
                           struct tp_page *page)
{
    struct tp_pick pick;
    char text[TP_COMPARE_PICK];
    tp_compare_pick(c, t, &pick);
    tp_pick_text(&pick, text, sizeof text);
    if (!*text)
        return;
    if (page->form == TP_PAGE_SCREEN)
        tp_page_line(page);
    tp_page_styled(page, 0, TP_BOLD, "%s", pick.head);
    tp_page_more(page, 6, "%s", text + strlen(pick.head));
    tp_page_line(page);
}

/* ---- above the tables ---- */

static void print_rounds(const struct tp_compare *c, const struct tp_compare_table *t, int note,
                         struct tp_page *page)
{
    struct tp_text pinned = {""};
    if (c->core >= 0)
        pinned = tp_text_of(", pinned to core %d", c->core);
    tp_page_row(page, 0, tp_text_of("%u rounds", c->rounds).s, note,
                "in random order, each in a fresh process%s, seed %llu, %s", pinned.s,
                (unsigned long long)c->seed, tp_duration(t->wall_ns).s);
}

static void print_live_head(const struct tp_compare *c, const struct tp_compare_table *t,
                            struct tp_page *page)
{
    const struct tp_result *head = &t->head;
    struct tp_text place = tp_report_place(head);
    tp_report_head(head, place.s, page);
    print_rounds(c, t, tp_page_beside(head->trace->file, place.s), page);
}

static void print_stored_head(const struct tp_compare_table *t, struct tp_page *page)
{
    int note = tp_page_beside(t->name, "");
    tp_page_side(page, t->name, note);
    tp_page_at(page, note, "%s, replayed on %s", tp_stored_events(t->run).s, t->run->source);
    if (!strcmp(t->run->scope, "strategy"))
        tp_page_more(page, note, ": CPU time of the strategy, without the %s",
                     tp_compare_callee(t->run));
    tp_page_line(page);
}

void tp_compare_print_head(const struct tp_compare *c, const struct tp_compare_table *t,
                           struct tp_page *page)
{
    if (c->live)
        print_live_head(c, t, page);
    else
        print_stored_head(t, page);
}

void tp_compare_print_files(const struct tp_compare *c, struct tp_page *page)
{
    for (size_t i = 0; i < c->file_count; i++) {
        const struct tp_stored *f = &c->files[i];
        int note = tp_page_beside(f->path, "");
        tp_page_side(page, f->path, note);
        tp_page_put(page, note, "tapool %s (%s, %s), %s%s%s", tp_stored_known(f->version),
                    tp_stored_known(f->build), tp_stored_known(f->compiler),
                    tp_stored_known(f->arch), *f->cpu ? ", " : "", f->cpu);
    }
    tp_page_line(page);
}

/* ---- below the tables ---- */

/* Prints the legend of the first `columns` columns of the means. */
static void print_below_means(const struct tp_compare *c, size_t columns, struct tp_page *page)
{
    bool few = false, untested = false;
    for (size_t r = 0; r < c->mean_count; r++)
        for (size_t m = 0; m < columns; m++) {
            size_t metric = (size_t)(c->columns[m] - tp_metrics);
            few |= c->means[r].traces[metric] && c->means[r].traces[metric] < c->count;
            untested |= c->means[r].untested[metric];
        }
    if (untested)
        tp_page_dim(page, INDENT, "( ) includes changes that were not tested");
    if (few)
        tp_page_dim(page, INDENT, "(N): over N traces, where both are known and above 0");
}

/* Prints the geometric mean of each strategy's ratios to the base, over the traces in which both
 * values are above 0. */
void tp_compare_print_means(const struct tp_compare *c, bool verbose, struct tp_page *page)
{
    struct tp_table table = {0};
    tp_page_line(page);
    tp_page_put(page, 0, "geometric mean  of the ratios to the base, over %zu traces", c->count);
    tp_compare_fill_means(c, false, &table);
    int shown = print_and_drop(&table, verbose, page) - 1;
    print_below_means(c, (size_t)shown, page);
}

/* The n-th row of all tables, counted through; NULL after the last. */
static const struct tp_compare_row *nth_row(const struct tp_compare *c, size_t n,
                                            const struct tp_compare_table **table)
{
    for (size_t t = 0; t < c->count; n -= c->tables[t++].count)
        if (n < c->tables[t].count) {
            *table = &c->tables[t];
            return &c->tables[t].rows[n];
        }
    return NULL;
}

static const struct tp_record_option *warning_of(const struct tp_compare_row *r, const char *id)
{
    for (size_t w = 0; w < r->run->warnings.count; w++)
        if (!strcmp(r->run->warnings.items[w].name, id))
            return &r->run->warnings.items[w];
    return NULL;
}

/* Whether two rows are the same strategy on the same trace. That is the row itself, and with
 * several files also the rows with the same base. */
static bool is_sibling(const struct tp_compare_row *a, const struct tp_compare_row *b)
{
    return a == b || (a->file && a->base == b->base);
}

/* Whether all rows of the strategy have the warning, so that no file needs to be named. */
static bool all_siblings(const struct tp_compare_table *t, const struct tp_compare_row *r,
                         const char *id)
{
    for (size_t i = 0; i < t->count; i++)
        if (is_sibling(r, &t->rows[i]) && !warning_of(&t->rows[i], id))
            return false;
    return true;
}

static bool is_first_sibling(const struct tp_compare_table *t, const struct tp_compare_row *r)
{
    const struct tp_compare_row *first = t->rows;
    while (!is_sibling(first, r))
        first++;
    return first == r;
}

/* Lists the other rows that have the same warning: "lru; arena, jq" if there are several traces,
 * "lru (b.json)" if only some of the files have it. Rows that do not fit are counted. */
static void list_also(const struct tp_compare *c, size_t first, const char *id, char *text,
                      size_t size)
{
    const struct tp_compare_table *t;
    const struct tp_compare_row *r;
    size_t left = 0;
    struct tp_str list = tp_str_in(text, size);
    for (size_t n = first; (r = nth_row(c, n, &t)) != NULL; n++) {
        char one[240];
        bool all = warning_of(r, id) && all_siblings(t, r, id);
        if (n == first || !warning_of(r, id) || (all && !is_first_sibling(t, r)))
            continue;
        int length = snprintf(one, sizeof one, "%s%s%s%s", list.length ? "; " : "",
                              all ? r->label : tp_compare_name(r).s, c->count > 1 ? ", " : "",
                              c->count > 1 ? t->name : "");
        if (length < 0 || (size_t)length >= sizeof one || list.length + (size_t)length + 24 > size)
            left++;
        else
            tp_str_add(&list, "%s", one);
    }
    if (left)
        tp_str_item(&list, "; ", "%zu more", left);
}

static bool is_said(const struct tp_compare *c, size_t before, const char *id)
{
    const struct tp_compare_table *t;
    for (size_t n = 0; n < before; n++)
        if (warning_of(nth_row(c, n, &t), id))
            return true;
    return false;
}

/* Each warning once, with the sentence of the first row that has it. */
static void print_warnings(const struct tp_compare *c, struct tp_page *page)
{
    const struct tp_compare_table *t;
    const struct tp_compare_row *r;
    for (size_t n = 0; (r = nth_row(c, n, &t)) != NULL; n++)
        for (size_t w = 0; w < r->run->warnings.count; w++) {
            char others[256];
            const struct tp_record_option *warning = &r->run->warnings.items[w];
            if (is_said(c, n, warning->name))
                continue;
            list_also(c, n, warning->name, others, sizeof others);
            tp_page_warning(page, 0, warning->name, "%s%s%s%s", warning->value,
                            *others ? " Also: " : "", others, *others ? "." : "");
        }
}

static void print_notes(const struct tp_compare *c, struct tp_page *page)
{
    for (size_t i = 0; i < c->note_count; i++)
        tp_page_row(page, 0, "note", NOTE_MIN, "%s", c->notes[i]);
    if (c->notes_left)
        tp_page_put(page, NOTE_MIN, "%zu more", c->notes_left);
}

void tp_compare_print_remarks(const struct tp_compare *c, struct tp_page *page)
{
    print_warnings(c, page);
    print_notes(c, page);
}

void tp_compare_print(const struct tp_compare *c, bool verbose, struct tp_page *page)
{
    if (!c->live)
        tp_compare_print_files(c, page);
    for (size_t i = 0; i < c->count; i++) {
        const struct tp_compare_table *t = &c->tables[i];
        if (i)
            tp_page_line(page);
        tp_compare_print_head(c, t, page);
        tp_page_line(page);
        tp_compare_print_table(c, t, verbose, page);
        tp_compare_print_pick(c, t, page);
    }
    if (c->mean_count)
        tp_compare_print_means(c, verbose, page);
    tp_compare_print_remarks(c, page);
}

static void print_text(const void *of, struct tp_page *page)
{
    const struct tp_compare_page *p = of;
    tp_compare_print(p->found, ((const struct tp_compare_opts *)p->opts)->verbose, page);
}

const struct tp_exporter tp_compare_text = {.name = "text", .print = print_text};
