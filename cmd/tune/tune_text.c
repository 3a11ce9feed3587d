/* The screen of `tapool tune`; see tune.h. */
#include "cmd/tune/tune.h"

#include "alloc/base/ascending.h"
#include "cmd/report/recorded_text.h"
#include "cmd/tune/tunable.h"
#include "cmd/ui/table.h"

#include <stdlib.h>
#include <string.h>

enum { BESIDE = 16, INDENT = 2, COLUMNS_MOST = 7 };

/* ---- the files ---- */

/* The device that ran out of memory first; NULL: none did. */
static const struct tp_captured_device *first_failed(const struct tp_captured *c)
{
    const struct tp_captured_device *first = NULL;
    for (uint32_t i = 0; c->devices && i < c->count; i++)
        if (c->devices[i].ooms && (!first || c->devices[i].oom_event < first->oom_event))
            first = &c->devices[i];
    return first;
}

void tp_tune_file_print(const struct tp_tune *t, size_t i, struct tp_page *page)
{
    const struct tp_tune_file *f = &t->files[i];
    const struct tp_meta *m = &f->trace.meta;
    const struct tp_captured_device *out = first_failed(&f->captured);
    char name[300];
    snprintf(name, sizeof name, t->file_count > 1 ? "%s (file %zu)" : "%s", f->trace.file, i + 1);
    tp_page_side(page, name, BESIDE);
    tp_page_at(page, BESIDE, "%s", m->capture ? m->capture : f->trace.format);
    if (f->knows)
        tp_page_more(page, BESIDE, ": peak reserved %s, %s in the recording",
                     tp_bytes(f->did.peak_reserved, page->exact).s,
                     tp_plural(f->did.calls, "driver call").s);
    else if (f->trace.recorded.by)
        tp_page_more(page, BESIDE, ": how much was reserved is not in the file");
    char full[300] = "";
    const struct tp_captured_retries retries = tp_captured_retries(&f->captured);
    tp_retries_text(&retries, m->settings, page->exact, full, sizeof full);
    if (*full)
        tp_page_more(page, BESIDE, ", %s", full);
    if (out)
        tp_page_more(page, BESIDE, ", out of memory at event %s (%s requested)",
                     tp_count(out->oom_event).s, tp_bytes(out->oom_size, page->exact).s);
    if (m->settings)
        tp_page_more(page, BESIDE, "; %s", m->settings);
    tp_page_line(page);
}

/* ---- what was tried ---- */

void tp_tune_start_print(const struct tp_tune *t, struct tp_page *page)
{
    uint64_t blocks = 0, dropped = 0;
    for (size_t i = 0; i < t->file_count; i++) {
        blocks +=
            t->files[i].has_heap ? 0 : tp_program_facts(t->files[i].trace.program)->initial_heap;
        dropped += t->files[i].trace.initial_dropped;
    }
    if (blocks)
        tp_page_row(page, 0, "compacted start", BESIDE,
                    "every setting begins with the %s of the initial heap side by side: where %s "
                    "lay is not in the file",
                    tp_plural(blocks, "block").s, blocks == 1 ? "it" : "they");
    else if (dropped)
        tp_page_row(page, 0, "empty start", BESIDE, "without the %s of the initial heap",
                    tp_plural(dropped, "block").s);
}

/* Adds a setting as the target writes it. */
static void add_shown(const struct tp_tune *t, const char *conf, struct tp_str *out)
{
    tp_tunable_show(t->target, &t->files[0].trace.meta, conf, out);
}

/* Why a setting was refused; the strategy is named above. */
static const char *reason(const struct tp_tune_setting *s)
{
    static const char begin[] = "strategy '", end[] = "': ";
    const char *behind = strncmp(s->err.text, begin, sizeof begin - 1) == 0
                             ? strstr(s->err.text + sizeof begin - 1, end)
                             : NULL;
    return behind ? behind + sizeof end - 1 : s->err.text;
}

static void print_reason(const struct tp_tune *t, const struct tp_tune_setting *s, size_t count,
                         struct tp_page *page)
{
    struct tp_str name = {0};
    if (count > 1)
        tp_str_add(&name, "%s", tp_plural(count, "setting").s);
    else if (s->recorded)
        tp_str_add(&name, "the recorded one");
    else
        add_shown(t, s->conf, &name);
    tp_page_at(page, 0, "left out");
    tp_page_at(page, BESIDE, "%s: ", tp_str_text(&name));
    tp_str_drop(&name);
    tp_page_more(page, BESIDE, *s->err.hint ? "%s (%s)" : "%s", reason(s), s->err.hint);
    tp_page_line(page);
}

/* The settings that could not be replayed, a line for each reason. */
void tp_tune_refused_print(const struct tp_tune *t, struct tp_page *page)
{
    for (size_t i = 0; i < t->setting_count; i++) {
        const struct tp_tune_setting *s = &t->settings[i];
        size_t count = 0, before = 0;
        for (size_t k = 0; s->status && k < t->setting_count; k++) {
            bool same = t->settings[k].status && !strcmp(t->settings[k].err.text, s->err.text);
            count += same;
            before += same && k < i;
        }
        if (count && !before)
            print_reason(t, s, count, page);
    }
    if (t->pool_status && t->target->pool) {
        struct tp_str pool = {0};
        add_shown(t, t->target->pool, &pool);
        tp_page_row(page, 0, "left out", BESIDE, "%s: %s", tp_str_text(&pool), t->pool_err.text);
        tp_str_drop(&pool);
    }
}

void tp_tune_tried_print(const struct tp_tune *t, struct tp_page *page)
{
    uint64_t capacity = tp_tune_capacity(t);
    size_t replayed = 0;
    for (size_t i = 0; i < t->setting_count; i++)
        replayed += t->settings[i].status == TP_OK && !t->settings[i].twin;
    tp_page_side(page, tp_plural(replayed, "setting").s, BESIDE);
    tp_page_at(page, BESIDE,
               "replayed by strategy %s; shown: references, and settings that no other beats",
               t->target->of->strategy->name);
    if (capacity)
        tp_page_more(page, BESIDE, " on a device of %s%s", tp_bytes(capacity, page->exact).s,
                     t->files[0].inferred ? ", memory limit of the recorded program" : "");
    else if (!t->files[0].capacity)
        tp_page_more(page, BESIDE, "; add --capacity SIZE to find OOMs");
    tp_page_line(page);
}

/* ---- the table ---- */

struct screen {
    const struct tp_tune *t;
    struct tp_table table;
    const struct tp_tune_setting **rows; /* those behind the recorded figures and the base */
    size_t count;
    bool limited, several, exact;
    bool compacted; /* some rows started compacted, and the base did not */
};

static void add_columns(struct screen *s)
{
    struct tp_column columns[COLUMNS_MOST] = {{.head = {"peak", "reserved"}}};
    const char *variable = tp_tune_variable(s->t);
    uint64_t capacity = tp_tune_capacity(s->t);
    int n = 1;
    columns[n++] = (struct tp_column){.head = {"", "change"}};
    if (s->limited) {
        columns[n] = (struct tp_column){.head = {"fits", "the device"}};
        if (capacity)
            snprintf(columns[n].head[1], TP_COLUMN_HEAD, "%.*s", TP_COLUMN_HEAD - 1,
                     tp_bytes(capacity, s->exact).s);
        n++;
    }
    columns[n++] = (struct tp_column){.head = {"driver", "calls"}};
    if (s->limited)
        columns[n++] = (struct tp_column){.head = {"", "retries"}};
    if (s->several)
        columns[n++] = (struct tp_column){.head = {"peak", "in file"}};
    columns[n] = (struct tp_column){.unbroken = true};
    snprintf(columns[n++].head[1], TP_COLUMN_HEAD, "%s", variable ? variable : "setting");
    tp_table_columns(&s->table, columns, n);
}

static struct tp_text fit_text(const struct tp_tune *t, const struct tp_tune_figures *f)
{
    uint64_t capacity = t->files[f->peak_file].capacity;
    capacity = capacity ? capacity : UINT64_MAX;
    if (f == &t->pool)
        return tp_text_of(f->failed ? "no" : "yes");
    if (!f->failed)
        return tp_text_of(f->peak_reserved > capacity ? "no" : "yes");
    if (!f->first_failed_event)
        return tp_text_of("no, at the start");
    if (t->file_count > 1)
        return tp_text_of("no, file %zu: %s", f->failed_file + 1,
                          tp_count(f->first_failed_event).s);
    return tp_text_of("no, event %s", tp_count(f->first_failed_event).s);
}

static bool is_limited(const struct tp_tune *t)
{
    bool limited = false;
    for (size_t i = 0; i < t->file_count; i++)
        limited |= t->files[i].capacity > 0;
    return limited;
}

static uint64_t peak_of(const struct tp_tune_setting *s)
{
    return s->all.failed ? TP_NONE : s->all.peak_reserved;
}

static void add_row(struct screen *s, const struct tp_tune_figures *f, uint64_t peak,
                    const char *change, const char *name)
{
    tp_table_bytes(&s->table, peak, s->exact);
    tp_table_add(&s->table, "%s", change);
    if (s->limited)
        tp_table_add(&s->table, "%s", fit_text(s->t, f).s);
    tp_table_count(&s->table, f->calls);
    if (s->limited)
        tp_table_count(&s->table, f == &s->t->pool ? TP_NONE : f->retries);
    if (s->several)
        tp_table_add(&s->table, "%zu", f->peak_file + 1);
    tp_table_add(&s->table, "%s", name);
}

static void add_heading(struct screen *s)
{
    for (int i = 3 + 2 * s->limited + s->several; i > 0; i--)
        tp_table_add(&s->table, "%s", "");
    tp_table_add(&s->table, TP_COMPACTED_HEAD);
}

/* Those that run out of memory come behind the others, the one that reaches farthest first. */
static int by_reach(const struct tp_tune_figures *x, const struct tp_tune_figures *y)
{
    if (!x->failed != !y->failed)
        return x->failed ? 1 : -1;
    return x->failed ? -tp_tune_reaches(x, y) : 0;
}

int tp_tune_by_peak(const void *a, const void *b)
{
    const struct tp_tune_setting *x = *(const struct tp_tune_setting *const *)a;
    const struct tp_tune_setting *y = *(const struct tp_tune_setting *const *)b;
    int reach = by_reach(&x->all, &y->all);
    if (reach)
        return reach;
    if (x->all.peak_reserved != y->all.peak_reserved)
        return x->all.peak_reserved < y->all.peak_reserved ? -1 : 1;
    if (x->all.calls != y->all.calls)
        return x->all.calls < y->all.calls ? -1 : 1;
    return tp_order((uintptr_t)x, (uintptr_t)y);
}

static void find_rows(struct screen *s, const struct tp_tune_answers *a, bool all,
                      const bool *chosen)
{
    const struct tp_tune *t = s->t;
    s->rows = calloc(t->setting_count, sizeof *s->rows);
    s->table.failed |= !s->rows;
    for (size_t i = 0; s->rows && i < t->setting_count; i++) {
        const struct tp_tune_setting *x = &t->settings[i];
        bool named = x == a->any.best || x == a->older.best;
        for (int n = 0; n < TP_TUNE_NAMED; n++)
            named |= x == a->any.named[n];
        bool shown = all || (a->any.verdict != TP_TUNE_UNFAITHFUL && (x->on_front || named));
        shown &= !chosen || chosen[i];
        if (x->status == TP_OK && x != a->any.base && !x->twin && shown) {
            s->rows[s->count++] = x;
            s->compacted |= x->compacted && !a->any.base->compacted;
        }
    }
    if (s->count)
        qsort(s->rows, s->count, sizeof *s->rows, tp_tune_by_peak);
}

/* Adds a setting as a reader knows it: "defaults (as recorded)". */
static void add_name(const struct tp_tune *t, const struct tp_tune_setting *x, struct tp_str *out)
{
    bool own = x->recorded && t->recorded_differs;
    if (own || !*x->conf)
        tp_str_add(out, "%s", own ? "each file's own" : "defaults");
    else
        add_shown(t, x->conf, out);
    if (x->recorded)
        tp_str_add(out, " (as recorded%s)", x->compacted ? ", compacted start" : "");
    else if (x->compacted)
        tp_str_add(out, " (compacted start)");
    tp_str_add(out, "%s", x->danger ? " !" : "");
}

/* `others`: stands behind its name. */
static void add_setting(struct screen *s, const struct tp_tune_answer *a,
                        const struct tp_tune_setting *x, const char *others)
{
    struct tp_str text = {0};
    const struct tp_tune_setting *base = tp_tune_base_of(a, x);
    const struct tp_text change = tp_peak_change(x == base, peak_of(base), peak_of(x));
    add_name(s->t, x, &text);
    tp_str_add(&text, "%s", others);
    add_row(s, &x->all, peak_of(x), change.s, tp_str_text(&text));
    tp_str_drop(&text);
}

static bool are_equal(const struct screen *s, const struct tp_tune_setting *x,
                      const struct tp_tune_setting *y)
{
    return peak_of(x) == peak_of(y) && x->all.calls == y->all.calls &&
           x->all.retries == y->all.retries && x->all.peak_file == y->all.peak_file &&
           !x->danger == !y->danger && x->compacted == y->compacted &&
           !strcmp(fit_text(s->t, &x->all).s, fit_text(s->t, &y->all).s);
}

/* Adds one row for all settings that are equal to the i-th row: one on the front, if there is one,
 * and below it the others. */
static void add_equal(struct screen *s, const struct tp_tune_answer *a, size_t i, bool *added)
{
    const struct tp_tune_setting *first = s->rows[i];
    struct tp_str names = {0}, others = {0};
    size_t count = 0;
    for (size_t k = i; k < s->count && !first->on_front; k++)
        if (s->rows[k]->on_front && are_equal(s, s->rows[i], s->rows[k]))
            first = s->rows[k];
    for (size_t k = i; k < s->count; k++) {
        if (!are_equal(s, s->rows[i], s->rows[k]))
            continue;
        added[k] = true;
        if (s->rows[k] == first)
            continue;
        tp_str_add(&names, "\n");
        add_name(s->t, s->rows[k], &names);
        count++;
    }
    if (count)
        tp_str_add(&others, " and %s%s", tp_plural(count, "equal setting").s, tp_str_text(&names));
    add_setting(s, a, first, tp_str_text(&others));
    tp_str_drop(&names);
    tp_str_drop(&others);
}

/* Adds the settings that began with the heap of the base, or those that only compare with its twin.
 * On a screen each has a row; `folded`: equal ones share one. */
static void add_settings(struct screen *s, const struct tp_tune_answer *a, bool compacted,
                         bool folded)
{
    bool *added = calloc(s->count + 1, sizeof *added);
    s->table.failed |= !added;
    for (size_t i = 0; added && i < s->count; i++) {
        bool here = (s->compacted && s->rows[i]->compacted) == compacted;
        if (here && !folded)
            add_setting(s, a, s->rows[i], "");
        else if (here && !added[i])
            add_equal(s, a, i, added);
    }
    free(added);
}

static void add_pool(struct screen *s)
{
    const struct tp_tune_figures *pool = &s->t->pool;
    struct tp_str name = {0};
    add_shown(s->t, s->t->target->pool, &name);
    tp_str_add(&name, " (measured on this machine's GPU)");
    add_row(s, pool, pool->peak_reserved, "-", tp_str_text(&name));
    tp_str_drop(&name);
}

/* Why rows are marked, each reason once. */
static void print_dangers(const struct screen *s, struct tp_page *page)
{
    for (size_t i = 0; i < s->count; i++) {
        bool said = !s->rows[i]->danger;
        for (size_t k = 0; !said && k < i; k++)
            said = s->rows[k]->danger && !strcmp(s->rows[k]->danger, s->rows[i]->danger);
        if (!said)
            tp_page_put(page, INDENT, "!: %s", s->rows[i]->danger);
    }
}

void tp_tune_table_print(const struct tp_tune *t, const struct tp_tune_answers *a, bool all,
                         const bool *chosen, struct tp_page *page)
{
    struct tp_tune_figures did;
    struct screen s = {.t = t, .several = t->file_count > 1, .exact = page->exact};
    bool folded = page->form == TP_PAGE_HTML;
    s.limited = is_limited(t);
    add_columns(&s);
    find_rows(&s, a, all, chosen);
    if (tp_tune_recorded(t, &did))
        add_row(&s, &did, did.peak_reserved, "-",
                tp_text_of("%s itself (from the file)",
                           tp_tunable_of(t->files[0].trace.recorded.by)->of->whose)
                    .s);
    add_setting(&s, &a->any, a->any.base, "");
    add_settings(&s, &a->any, false, folded);
    if (s.compacted && !folded)
        add_heading(&s);
    if (s.compacted && a->any.twin)
        add_setting(&s, &a->any, a->any.twin, "");
    add_settings(&s, &a->any, true, folded);
    if (!t->pool_status)
        add_pool(&s);
    tp_table_print(&s.table, page, INDENT, TP_TABLE_WIDE);
    print_dangers(&s, page);
    if (s.compacted)
        tp_page_put(page, INDENT, TP_COMPACTED_NOTE);
    tp_table_drop(&s.table);
    free(s.rows);
}

/* ---- below it ---- */

void tp_tune_bound_print(const struct tp_tune *t, struct tp_page *page)
{
    const struct tp_tune_file *f = tp_tune_largest(t);
    tp_page_at(page, INDENT, "lower bound: %s requested at event %s",
               tp_bytes(f->live, page->exact).s, tp_count(f->live_event).s);
    if (t->file_count > 1)
        tp_page_more(page, INDENT, " of %s", f->trace.file);
    tp_page_more(page, INDENT, "; no allocator can use less");
    if (f->packed)
        tp_page_more(page, INDENT, "; best packing in one range %s",
                     tp_bytes(f->packed, page->exact).s);
    tp_page_line(page);
}

/* How far the rules did what was recorded, where that was compared. */
void tp_tune_fidelity_print(const struct tp_tune *t, size_t i, struct tp_page *page)
{
    const struct tp_tune_file *f = &t->files[i];
    bool several = t->file_count > 1;
    const struct tp_fidelity *how = &f->fidelity;
    if (!f->compared)
        return;
    if (!how->addresses) {
        tp_page_command(page, "Check the model against the recording:  tapool verify",
                        f->trace.path);
        return;
    }
    tp_page_at(page, 0, "fidelity%s%s: %s of %s recorded addresses reproduced", several ? ", " : "",
               several ? f->trace.file : "", tp_count(how->good_addresses).s,
               tp_count(how->addresses).s);
    tp_page_line(page);
}

/* The text to paste stands on a line of its own, which is never wrapped. */
static void print_answer(const struct tp_tune *t, const struct tp_tune_answer *a,
                         struct tp_page *page)
{
    struct tp_str sentence = {0};
    if (tp_tune_is_order(a)) {
        tp_tune_order(t, a, &sentence);
        tp_page_right(page, tp_text_width(tp_str_text(&sentence)), tp_str_text(&sentence));
        tp_page_line(page);
        tp_str_drop(&sentence);
        sentence = (struct tp_str){0};
        tp_tune_effect(a, page->exact, &sentence);
    } else {
        tp_tune_sentence(t, a, page->exact, &sentence);
    }
    tp_page_styled(page, tp_tune_is_order(a) ? INDENT : 0, TP_BOLD, "%s", tp_str_text(&sentence));
    tp_page_line(page);
    tp_str_drop(&sentence);
}

static void print_note(const struct tp_tune *t, struct tp_page *page)
{
    const char *note =
        t->target->note ? t->target->note(&t->files[0].trace.meta, tp_tune_variable(t)) : NULL;
    if (note)
        tp_page_put(page, INDENT, "%s", note);
}

/* One setting for all files: what it does to each. */
static void print_by_file(const struct tp_tune *t, const struct tp_tune_answer *a,
                          struct tp_page *page)
{
    const struct tp_tune_setting *from = a->best ? tp_tune_base_of(a, a->best) : a->base;
    for (size_t i = 0; t->file_count > 1 && tp_tune_is_order(a) && i < t->file_count; i++)
        if (from->files[i].failed)
            tp_page_put(page, INDENT, "file %zu: %s", i + 1,
                        tp_bytes(a->best->files[i].peak_reserved, page->exact).s);
        else
            tp_page_put(page, INDENT, "file %zu: %s -> %s", i + 1,
                        tp_bytes(from->files[i].peak_reserved, page->exact).s,
                        tp_bytes(a->best->files[i].peak_reserved, page->exact).s);
}

/* ---- by what one wants ---- */

/* Three answers, where they are not all the same as the one above. */
static void print_named(const struct tp_tune *t, const struct tp_tune_answer *a,
                        struct tp_page *page)
{
    static const struct tp_column columns[] = {{.name = "wanted", .left = true},
                                               {.name = "peak reserved"},
                                               {.name = "driver calls"},
                                               {.name = "setting", .unbroken = true}};
    struct tp_table table = {0};
    bool others = false;
    for (int i = 0; i < TP_TUNE_NAMED; i++)
        others |= a->named[i] && a->named[i] != a->best;
    if (!others)
        return;
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < TP_TUNE_NAMED; i++) {
        const struct tp_tune_setting *s = a->named[i];
        struct tp_str text = {0};
        if (!s)
            continue;
        add_name(t, s, &text);
        tp_table_add(&table, "%s", tp_tune_names[i]);
        tp_table_bytes(&table, s->all.peak_reserved, page->exact);
        tp_table_add(&table, "%s", tp_plural(s->all.calls, "driver call").s);
        tp_table_add(&table, "%s", tp_str_text(&text));
        tp_str_drop(&text);
    }
    tp_table_print(&table, page, INDENT, TP_TABLE_WIDE);
    if (*tp_str_text(&t->kept))
        tp_page_put(page, INDENT, "each with %s, as recorded", tp_str_text(&t->kept));
    tp_table_drop(&table);
}

/* ---- doubts ---- */

/* What those can do whose release does not have a key of the answer. */
static void print_older(const struct tp_tune *t, const struct tp_tune_answers *a,
                        struct tp_page *page)
{
    if (!tp_tune_is_order(&a->any) || !a->any.best->newer)
        return;
    tp_page_put(page, 0, "%s is a key of %s; an older one refuses it. Without:", a->any.best->newer,
                t->target->since);
    print_answer(t, &a->older, page);
}

static void print_doubts(const struct tp_tune_answer *a, struct tp_page *page)
{
    if (a->base->danger)
        tp_page_put(page, 0, "! %s: %s", a->base->recorded ? "recorded setting" : "defaults",
                    a->base->danger);
}

void tp_tune_answer_print(const struct tp_tune *t, const struct tp_tune_answers *a,
                          struct tp_page *page)
{
    print_answer(t, &a->any, page);
    if (tp_tune_is_order(&a->any))
        print_note(t, page);
    print_by_file(t, &a->any, page);
    print_named(t, &a->any, page);
    print_older(t, a, page);
    print_doubts(&a->any, page);
}

/* ---- what the replay as recorded does otherwise ---- */

/* Of all files together; no addresses where one was not compared. */
static struct tp_fidelity fidelity_of(const struct tp_tune *t)
{
    struct tp_fidelity all = {0};
    for (size_t i = 0; i < t->file_count; i++) {
        const struct tp_fidelity *one = &t->files[i].fidelity;
        if (!one->addresses)
            return (struct tp_fidelity){0};
        all.addresses += one->addresses;
        all.good_addresses += one->good_addresses;
        all.switches += one->switches;
        all.pools_returned += one->pools_returned;
    }
    return all;
}

void tp_tune_difference_print(const struct tp_tune *t, const struct tp_tune_setting *base,
                              struct tp_page *page)
{
    struct tp_tune_figures did;
    struct tp_replay_difference by = {
        .by = t->target->of, .exact = page->exact, .compacted = base->compacted};
    struct tp_str before = {0}, text = {0};
    for (size_t i = 0; i < t->file_count; i++) {
        if (t->files[i].capacity != tp_captured_capacity(&t->files[i].captured))
            return; /* the device is another one */
        by.limits_differ |= tp_captured_limits_differ(&t->files[i].captured);
    }
    if (!base->recorded || !tp_tune_recorded(t, &did))
        return;
    by.peak = base->all.peak_reserved;
    by.recorded_peak = did.peak_reserved;
    by.calls = base->all.calls;
    by.recorded_calls = did.calls;
    const struct tp_fidelity all = fidelity_of(t);
    tp_str_add(&before, "as recorded, the replay differs from %s by ", by.by->whose);
    tp_difference_add(&by, &all, tp_str_text(&before), &text);
    tp_str_drop(&before);
    if (*tp_str_text(&text))
        tp_page_put(page, INDENT, "%s", tp_str_text(&text));
    tp_str_drop(&text);
}

void tp_tune_text(const struct tp_tune *t, const struct tp_tune_answers *a, bool all,
                  struct tp_page *page)
{
    for (size_t i = 0; i < t->file_count; i++)
        tp_tune_file_print(t, i, page);
    tp_tune_start_print(t, page);
    tp_tune_tried_print(t, page);
    if (all)
        tp_tune_refused_print(t, page);
    tp_page_line(page);
    tp_tune_table_print(t, a, all, NULL, page);
    tp_tune_difference_print(t, a->any.base, page);
    tp_tune_bound_print(t, page);
    tp_page_line(page);
    tp_tune_answer_print(t, a, page);
    for (size_t i = 0; i < t->file_count; i++)
        tp_tune_fidelity_print(t, i, page);
}
