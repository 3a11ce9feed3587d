/* The screen of `tapool tune` on a host trace; see malloc_replay.h. */
#include "cmd/tune/malloc_replay.h"

#include "cmd/jobs/libraries.h"
#include "cmd/jobs/machine.h"
#include "cmd/report/report_head.h"
#include "cmd/report/validated.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BESIDE = 16, INDENT = 2 };

/* ---- above the table ---- */

static void print_trace(const struct tp_malloc_tune *t, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(t->trace->program);
    tp_page_side(page, t->trace->file, BESIDE);
    tp_page_at(page, BESIDE, "%s by %s, trace peak %s", tp_plural(f->events, "event").s,
               tp_plural(t->threads, "thread").s,
               tp_bytes(tp_program_demand(t->trace->program, 0)->bytes, page->exact).s);
    tp_page_line(page);
    tp_remarks_print(t->trace, 0, BESIDE, page);
}

/* How many libraries the settings are of. */
static size_t count_libraries(const struct tp_malloc_settings *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t k = 0;
        while (k < i && strcmp(s->items[k].library, s->items[i].library) != 0)
            k++;
        count += k == i;
    }
    return count;
}

/* Replays of the last look. */
static unsigned most_rounds(const struct tp_malloc_tune *t)
{
    unsigned most = 0;
    for (size_t i = 0; i < t->settings.count; i++)
        most = t->rows[i].rounds > most ? t->rows[i].rounds : most;
    return most;
}

static void print_tried(const struct tp_malloc_tune *t, struct tp_page *page)
{
    size_t replayed = 0, again = 0;
    unsigned rounds = most_rounds(t);
    for (size_t i = 0; i < t->settings.count; i++) {
        replayed += t->rows[i].err.status == TP_OK;
        again += t->rows[i].rounds == rounds;
    }
    tp_page_side(page, tp_plural(replayed, "setting").s, BESIDE);
    tp_page_at(page, BESIDE, "of %s, each replayed once by %s",
               count_libraries(&t->settings) > 1 ? "the malloc libraries of this machine"
                                                 : "one malloc library",
               t->wall || (t->cold && t->threads > 1) ? "the recorded threads" : "one thread");
    if (again)
        tp_page_more(page, BESIDE, "; the best and all defaults (%zu) in %u interleaved rounds",
                     again, rounds);
    tp_page_line(page);
    for (size_t i = 0; i < t->settings.count; i++)
        if (t->rows[i].err.status)
            tp_page_row(page, 0, "left out", BESIDE, "%s: %s", tp_malloc_label(t->rows[i].setting),
                        t->rows[i].err.text);
}

/* ---- the table ---- */

/* What is pasted stands behind the table, because a line that is wrapped cannot be pasted. */
struct malloc_screen {
    const struct tp_malloc_tune *t;
    struct tp_table table;
    size_t rows[TP_MALLOC_SETTINGS_MAX], count;
};

static bool is_before(const struct malloc_screen *s, size_t a, size_t b)
{
    const struct tp_malloc_row *x = &s->t->rows[a], *y = &s->t->rows[b];
    if ((a == s->t->base) != (b == s->t->base))
        return a == s->t->base;
    return x->resident.median < y->resident.median;
}

static void find_rows(struct malloc_screen *s, bool all)
{
    for (size_t i = 0; i < s->t->settings.count; i++) {
        const struct tp_malloc_row *r = &s->t->rows[i];
        if (r->err.status || !(all || r->front || i == s->t->base))
            continue;
        size_t at = s->count++;
        for (; at && is_before(s, i, s->rows[at - 1]); at--)
            s->rows[at] = s->rows[at - 1];
        s->rows[at] = i;
    }
}

static void add_change(struct malloc_screen *s, double value, double base, bool is_base)
{
    double change = base > 0 ? value / base - 1 : (double)NAN;
    tp_table_add(&s->table, "%s", is_base ? "base" : tp_change(change).s);
}

static void add_row(struct malloc_screen *s, size_t i, bool exact)
{
    const struct tp_malloc_row *r = &s->t->rows[i], *base = &s->t->rows[s->t->base];
    bool is_base = i == s->t->base, known = !isnan(r->resident.median);
    tp_table_bytes(&s->table, known ? (uint64_t)r->resident.median : UINT64_MAX, exact);
    add_change(s, r->resident.median, base->resident.median, is_base);
    tp_table_add(&s->table, "%s", isnan(r->ns.median) ? "-" : tp_digits(r->ns.median).s);
    add_change(s, r->ns.median, base->ns.median, is_base);
    tp_table_add(&s->table, "%s%s", tp_malloc_label(r->setting),
                 r->setting->recorded ? " (as recorded)" : "");
}

static void print_table(const struct tp_malloc_tune *t, bool all, struct tp_page *page)
{
    struct tp_column columns[] = {{.head = {"total", "resident"}},
                                  {.head = {"", "change"}},
                                  {.head = {"", "ns/op"}},
                                  {.head = {"", "change"}},
                                  {.head = {"", "setting, before the command"}, .unbroken = true}};
    struct malloc_screen s = {.t = t};
    if (t->wall || t->cold)
        snprintf(columns[2].head[0], TP_COLUMN_HEAD, "%s", t->cold ? "cold" : "wall");
    tp_table_columns(&s.table, columns, sizeof columns / sizeof *columns);
    find_rows(&s, all);
    for (size_t i = 0; i < s.count; i++)
        add_row(&s, s.rows[i], page->exact);
    tp_table_print(&s.table, page, INDENT, TP_TABLE_WIDE);
    tp_table_drop(&s.table);
}

/* ---- below it ---- */

static void print_doubts(const struct tp_malloc_tune *t, struct tp_page *page)
{
    if (t->trace->meta.allocator && !t->rows[t->base].setting->recorded)
        tp_page_put(page, 0,
                    "! the recorded malloc or its settings cannot be replayed here: the base is %s",
                    tp_malloc_label(t->rows[t->base].setting));
    if (t->threads > tp_machine_cores_to_use())
        tp_page_put(page, 0,
                    "! %u threads on %llu cores: ns/op does not predict the program's time here",
                    t->threads, (unsigned long long)tp_machine_cores_to_use());
    if (t->cold)
        tp_page_put(page, 0,
                    "! replays took longer than --min-time: ns/op is of the first one on a fresh "
                    "heap");
    if (t->threads > 1 && !t->wall && !t->cold)
        tp_page_put(page, 0, "! the recorded threads could not replay: ns/op is by one thread");
}

void tp_malloc_text(const struct tp_malloc_tune *t, bool all, struct tp_page *page)
{
    print_trace(t, page);
    print_tried(t, page);
    tp_page_line(page);
    print_table(t, all, page);
    print_doubts(t, page);
    tp_page_line(page);
    tp_pick_print(&t->pick, page);
    tp_page_put(page, 0, "Peak resident of malloc libraries in tests: %s.",
                tp_validated_resident(t->threads));
}
