/* Computes the values of a comparison and decides what they show; see compare.h.
 *
 * Times that were measured in rounds are tested with a two-sided signed-rank test of their ratios
 * in each round, adjusted by Holm over all such tests of a table. A difference is shown if p <
 * 0.01, the change is 5% or more, and its interval excludes 0. Memory and counts are exact and
 * need no test. All other changes are printed in brackets. */
#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"
#include "cmd/compare/compare.h"
#include "cmd/results/metric_text.h"

#include "cmd/results/figures.h"
#include "cmd/stats/difference.h"
#include "cmd/stats/known_values.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONFIDENCE 0.95
#define COARSE     9.5 /* a percentile below this many clock steps is a bound or a guess */

const char *const tp_mark_names[TP_MARKS] = {"none",  "base", "exact",   "reported",
                                             "shown", "same", "untested"};

static size_t index_of(const struct tp_metric *m)
{
    return (size_t)(m - tp_metrics);
}

/* ---- building ---- */

int tp_compare_init(struct tp_compare *c, struct tp_err *err)
{
    *c = (struct tp_compare){.core = -1};
    c->notes = calloc(TP_COMPARE_NOTES, sizeof *c->notes);
    return c->notes ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

void tp_compare_release(struct tp_compare *c)
{
    for (size_t t = 0; t < c->count; t++) {
        for (size_t r = 0; r < c->tables[t].count; r++)
            free(c->tables[t].rows[r].label);
        free(c->tables[t].rows);
        free(c->tables[t].no_run);
    }
    free(c->tables);
    free(c->means);
    free(c->notes);
    *c = (struct tp_compare){0};
}

struct tp_compare_table *tp_compare_add_table(struct tp_compare *c)
{
    if (TP_ONE_MORE(&c->tables, c->count, NULL, .what = "tables"))
        return NULL;
    c->tables[c->count] = (struct tp_compare_table){.least_p = NAN};
    return &c->tables[c->count++];
}

struct tp_compare_row *tp_compare_add_row(struct tp_compare_table *t, const char *label)
{
    if (TP_ONE_MORE(&t->rows, t->count, NULL, .what = "rows"))
        return NULL;
    struct tp_compare_row *row = &t->rows[t->count];
    *row = (struct tp_compare_row){.label = strdup(label)};
    if (!row->label)
        return NULL;
    for (size_t m = 0; m < TP_METRIC_MAX; m++)
        row->cells[m] = (struct tp_compare_cell){.value = NAN,
                                                 .low = NAN,
                                                 .high = NAN,
                                                 .change = NAN,
                                                 .change_low = NAN,
                                                 .change_high = NAN,
                                                 .p = NAN};
    return &t->rows[t->count++];
}

void tp_compare_note(struct tp_compare *c, const char *format, ...)
{
    char text[TP_COMPARE_NOTE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < c->note_count; i++)
        if (!strcmp(c->notes[i], text))
            return;
    if (c->note_count == TP_COMPARE_NOTES)
        c->notes_left++;
    else
        memcpy(c->notes[c->note_count++], text, sizeof text);
}

/* ---- columns ---- */

static bool has_value(const struct tp_compare_row *r, const struct tp_metric *m)
{
    if (!r->rounds || !tp_metric_is_timed(m))
        return !isnan(tp_record_total(r->run, m));
    const double *values = tp_rounds_values(r->rounds, r->side, m);
    for (unsigned i = 0; i < r->rounds->rounds; i++)
        if (isfinite(values[i]))
            return true;
    return false;
}

static bool any_known(const struct tp_compare *c, const struct tp_metric *m)
{
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++) {
            const struct tp_compare_row *row = &c->tables[t].rows[r];
            bool measured = row->rounds && m->metric_class == TP_CLASS_NOISY && !m->of_threads;
            if (measured || has_value(row, m))
                return true;
        }
    return false;
}

static bool any_device(const struct tp_compare *c)
{
    for (size_t t = 0; t < c->count; t++)
        if (!strcmp(c->tables[t].run->kind, "device"))
            return true;
    return false;
}

static void add_column(struct tp_compare *c, const struct tp_metric *m)
{
    for (size_t i = 0; i < c->column_count; i++)
        if (c->columns[i] == m)
            return;
    c->columns[c->column_count++] = m;
    c->used[index_of(m)] = c->tested[index_of(m)] = true;
}

/* Adds columns for all other metrics that have a value. They are not tested: each test makes Holm's
 * adjustment stricter, and the usual columns must not change with what is shown beside them. */
static void add_others(struct tp_compare *c)
{
    for (size_t m = 0; m < tp_metric_count; m++) {
        bool known = false, was_tested = c->tested[m];
        for (size_t t = 0; t < c->count && !known; t++)
            for (size_t r = 0; r < c->tables[t].count && !known; r++)
                known = has_value(&c->tables[t].rows[r], &tp_metrics[m]);
        if (known)
            add_column(c, &tp_metrics[m]);
        c->tested[m] = was_tested;
    }
}

bool tp_compare_by_resident(const struct tp_compare_table *t)
{
    const struct tp_metric *resident = tp_metric_find("total_resident", NULL),
                           *failed = tp_metric_find("failed_allocations", NULL);
    bool real = false;
    for (size_t r = 0; r < t->count; r++) {
        const struct tp_record *run = t->rows[r].run;
        real |= run->library != NULL;
        if (isnan(tp_record_total(run, resident)) && !(tp_record_total(run, failed) > 0))
            return false;
    }
    return real;
}

static bool any_by_resident(const struct tp_compare *c)
{
    for (size_t t = 0; t < c->count; t++)
        if (tp_compare_by_resident(&c->tables[t]))
            return true;
    return false;
}

int tp_compare_columns(struct tp_compare *c, const struct tp_opt_list *names, bool all,
                       struct tp_err *err)
{
    static const char *const host[] = {"peak_reserved", "wall_ns_per_op", "ns_per_op", "waited",
                                       "blocked",       "alloc.p99",      NULL};
    static const char *const real[] = {"total_resident", "wall_ns_per_op", "ns_per_op", "waited",
                                       "blocked",        "alloc.p99",      NULL};
    static const char *const device[] = {"peak_reserved", "min_capacity", "driver_calls.total",
                                         "ns_per_op", NULL};
    static const char *const picks[] = {"peak_reserved",
                                        "total_resident",
                                        "min_capacity",
                                        "driver_calls.total",
                                        "hit_rate",
                                        "failed_allocations",
                                        "ns_per_op",
                                        "wall_ns_per_op",
                                        "driver_calls.warm_calls",
                                        NULL};
    for (size_t i = 0; i < names->count; i++) {
        const struct tp_metric *m = tp_metric_find(names->items[i], err);
        if (!m)
            return TP_EUSAGE;
        add_column(c, m);
    }
    c->asked = names->count > 0;
    const char *const *usual = any_by_resident(c) ? real : host;
    if (any_device(c))
        usual = device;
    for (size_t i = 0; !c->asked && usual[i]; i++) {
        const struct tp_metric *m = tp_metric_find(usual[i], NULL);
        if (any_known(c, m))
            add_column(c, m);
    }
    c->all = all && !c->asked;
    if (c->all)
        add_others(c);
    for (size_t i = 0; picks[i]; i++)
        c->used[index_of(tp_metric_find(picks[i], NULL))] = true;
    return TP_OK;
}

/* ---- values ---- */

static void fill_interval(const struct tp_compare *c, double *values, size_t count,
                          struct tp_compare_cell *cell)
{
    if (count < 2)
        return;
    struct tp_interval in =
        tp_stat_bootstrap_median(values, count, CONFIDENCE, TP_STAT_RESAMPLES, c->seed);
    cell->low = in.low;
    cell->high = in.high;
}

/* The median over the rounds, if the value is known in at least half of them. */
static void fill_measured(const struct tp_compare *c, const struct tp_compare_row *r,
                          const struct tp_metric *m, struct tp_compare_cell *cell)
{
    double values[TP_STAT_VALUES_MAX];
    cell->count =
        tp_known_values(tp_rounds_values(r->rounds, r->side, m), r->rounds->rounds, values);
    if (2 * cell->count < r->rounds->rounds)
        return;
    if (m->metric_class == TP_CLASS_NOISY)
        fill_interval(c, values, cell->count, cell);
    cell->value = tp_stat_median(values, cell->count);
}

static void fill_stored(const struct tp_compare *c, const struct tp_compare_row *r,
                        const struct tp_metric *m, struct tp_compare_cell *cell)
{
    double values[TP_STAT_VALUES_MAX];
    cell->value = tp_record_total(r->run, m);
    cell->count = !(cell->value != cell->value);
    if (!tp_metric_is_ns_per_op(m) || isnan(cell->value) || !r->run->repeat_count)
        return;
    cell->count = tp_known_values(r->run->repeats, r->run->repeat_count, values);
    fill_interval(c, values, cell->count, cell);
    /* Only TP_STAT_VALUES_MAX values of a long series are used here. The interval that the result
     * stores is made of all, so it is better. */
    if (isfinite(r->run->ci95_low_ns_per_op) && r->run->repeat_count > TP_STAT_VALUES_MAX) {
        cell->low = r->run->ci95_low_ns_per_op;
        cell->high = r->run->ci95_high_ns_per_op;
    }
}

static void fill_cells(const struct tp_compare *c, struct tp_compare_row *r)
{
    for (size_t m = 0; m < tp_metric_count; m++) {
        const struct tp_metric *metric = &tp_metrics[m];
        if (!c->used[m] || (tp_metric_is_time(metric) && tp_compare_flattered(r)))
            continue;
        if (r->rounds && tp_metric_is_timed(metric))
            fill_measured(c, r, metric, &r->cells[m]);
        else
            fill_stored(c, r, metric, &r->cells[m]);
    }
}

/* ---- changes ---- */

/* Whether times do not compare, because allocations failed: calls on those objects are skipped, so
 * that less was timed. */
static bool is_unlike(const struct tp_compare_row *r, const struct tp_compare_row *base)
{
    const struct tp_metric *failed = tp_metric_find("failed_allocations", NULL);
    return tp_record_total(r->run, failed) > 0 || tp_record_total(base->run, failed) > 0;
}

static bool is_coarse(const struct tp_compare_row *r, const struct tp_metric *m, double value)
{
    double step = r->rounds ? r->rounds->step_ns : r->from->step_ns;
    return tp_metric_is_one_call(m) && step >= 1 && value < COARSE * step;
}

/* Whether a test can compare two rows in this metric. */
static bool is_testable(const struct tp_compare_row *r, const struct tp_compare_row *base,
                        const struct tp_metric *m)
{
    size_t i = index_of(m);
    return m->metric_class == TP_CLASS_NOISY && r->rounds && base->rounds &&
           !isnan(r->cells[i].value) && !isnan(base->cells[i].value) && r->cold == base->cold &&
           !is_unlike(r, base) && !is_coarse(r, m, r->cells[i].value) &&
           !is_coarse(base, m, base->cells[i].value);
}

/* Sets change and mark of a cell as far as that needs no test. */
static void mark_plain(const struct tp_compare_row *base, const struct tp_metric *m,
                       struct tp_compare_row *r)
{
    struct tp_compare_cell *now = &r->cells[index_of(m)];
    const struct tp_compare_cell *was = &base->cells[index_of(m)];
    bool coarse = is_coarse(r, m, now->value) || is_coarse(base, m, was->value);
    now->mark = TP_MARK_NONE;
    if (r == base && !isnan(now->value))
        now->mark = TP_MARK_BASE;
    if (r == base || isnan(now->value) || isnan(was->value) || coarse ||
        (tp_metric_is_time(m) && is_unlike(r, base)))
        return;
    if (now->value == was->value)
        now->change = 0;
    else if (was->value > 0)
        now->change = now->value / was->value - 1;
    bool exact = tp_metric_is_exact_in(m, r->run->exact && base->run->exact);
    now->mark = exact ? TP_MARK_EXACT : TP_MARK_REPORTED;
    if (tp_metric_is_time(m))
        now->mark = TP_MARK_UNTESTED;
}

struct test {
    struct tp_compare_cell *cell;
    struct tp_difference d;
};

static void apply_test(struct test *t, double adjusted)
{
    bool shown = tp_difference_shown(&t->d, adjusted, TP_COMPARE_ALPHA, TP_COMPARE_EFFECT);
    t->cell->p = adjusted;
    t->cell->change = t->d.estimate - 1;
    t->cell->change_low = t->d.interval.low - 1;
    t->cell->change_high = t->d.interval.high - 1;
    t->cell->mark = shown ? TP_MARK_SHOWN : TP_MARK_SAME;
}

/* Computes how many rounds a test needs to be able to show anything. */
static void judge_rounds(const struct tp_compare *c, struct tp_compare_table *t)
{
    size_t n = c->rounds, tests = t->tests;
    if (!tests)
        return;
    t->least_p = 2 * tp_stat_signed_rank_least(n) * (double)tests;
    if (t->least_p < TP_COMPARE_ALPHA)
        return;
    for (n++; n < TP_STAT_EXACT_MAX; n++)
        if (2 * tp_stat_signed_rank_least(n) * (double)tests < TP_COMPARE_ALPHA)
            break;
    t->rounds_needed = n;
    t->least_p = t->least_p < 1 ? t->least_p : 1;
}

static size_t collect_tests(const struct tp_compare *c, struct tp_compare_table *t,
                            struct test *tests)
{
    size_t count = 0;
    for (size_t r = 0; r < t->count; r++)
        for (size_t m = 0; m < tp_metric_count; m++) {
            struct tp_compare_row *row = &t->rows[r];
            const struct tp_compare_row *base = &t->rows[row->base];
            if (!c->tested[m] || row == base || !is_testable(row, base, &tp_metrics[m]))
                continue;
            tests[count].cell = &row->cells[m];
            tp_difference_measure(tp_rounds_values(base->rounds, base->side, &tp_metrics[m]),
                                  tp_rounds_values(row->rounds, row->side, &tp_metrics[m]),
                                  c->rounds, tp_metrics[m].better, c->seed, &tests[count].d);
            count += tests[count].d.pairs > 0;
        }
    return count;
}

static int test_table(const struct tp_compare *c, struct tp_compare_table *t, struct tp_err *err)
{
    size_t most = t->count * tp_metric_count;
    struct test *tests = calloc(most ? most : 1, sizeof *tests);
    double *p = calloc(most ? most : 1, sizeof *p);
    if (tests && p) {
        t->tests = collect_tests(c, t, tests);
        for (size_t i = 0; i < t->tests; i++)
            p[i] = tp_difference_two_sided(&tests[i].d);
        tp_stat_holm(p, t->tests, p);
        for (size_t i = 0; i < t->tests; i++)
            apply_test(&tests[i], p[i]);
        judge_rounds(c, t);
    }
    int status = tests && p ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    free(tests);
    free(p);
    return status;
}

/* ---- means ---- */

/* A row under its name. Sorted, the rows of a strategy are side by side. */
struct named_row {
    struct tp_compare_label name;
    const struct tp_compare_row *row, *base;
    size_t number; /* through all tables */
};

static int by_name(const void *one, const void *other)
{
    const struct named_row *a = one, *b = other;
    int order = strcmp(a->name.s, b->name.s);
    return order ? order : tp_order(a->number, b->number);
}

static void name_rows(const struct tp_compare *c, struct named_row *rows)
{
    size_t n = 0;
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++, n++) {
            const struct tp_compare_row *row = &c->tables[t].rows[r];
            rows[n] =
                (struct named_row){tp_compare_name(row), row, &c->tables[t].rows[row->base], n};
        }
    if (n)
        qsort(rows, n, sizeof *rows, by_name);
}

static void fill_mean(size_t m, const struct named_row *rows, size_t row_count,
                      struct tp_compare_mean *mean, double *ratios)
{
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++) {
        const struct tp_compare_row *row = rows[i].row, *base = rows[i].base;
        const struct tp_compare_cell *now = &row->cells[m], *was = &base->cells[m];
        bool compares = row == base || (now->mark != TP_MARK_NONE && !isnan(now->change));
        if (!compares || !(now->value > 0) || !(was->value > 0))
            continue;
        ratios[count++] = row == base ? 1 : 1 + now->change;
        mean->untested[m] |= now->mark == TP_MARK_UNTESTED;
    }
    mean->traces[m] = count;
    mean->ratio[m] = count ? tp_stat_geometric_mean(ratios, count) : NAN;
}

/* Adds the mean of the rows of a strategy. With several files the rows of the base file get none,
 * because the others are compared with them. */
static void add_mean(struct tp_compare *c, const struct named_row *rows, size_t count,
                     double *ratios)
{
    struct tp_compare_mean *mean = &c->means[c->mean_count];
    size_t first = 0;
    while (first < count && rows[first].row == rows[first].base && rows[first].row->file)
        first++;
    if (first == count)
        return;
    c->mean_count++;
    mean->name = rows->name;
    mean->number = rows[first].number;
    for (size_t m = 0; m < tp_metric_count; m++)
        fill_mean(m, rows, count, mean, ratios);
}

static int by_number(const void *one, const void *other)
{
    const struct tp_compare_mean *a = one, *b = other;
    return tp_order(a->number, b->number);
}

/* Whether the ratios of all tables are those to the same base. They are not where a live base could
 * not be measured on one of the traces. Files have a base for each strategy. */
static bool have_one_base(const struct tp_compare *c)
{
    const struct tp_compare_table *first = &c->tables[0];
    for (size_t t = 1; c->live && t < c->count; t++) {
        const struct tp_compare_table *table = &c->tables[t];
        if (first->count && table->count &&
            strcmp(tp_compare_name(&first->rows[first->rows[0].base]).s,
                   tp_compare_name(&table->rows[table->rows[0].base]).s) != 0)
            return false;
    }
    return true;
}

static int fill_means(struct tp_compare *c, struct tp_err *err)
{
    size_t rows = 0;
    for (size_t t = 0; t < c->count; t++)
        rows += c->tables[t].count;
    c->means = calloc(rows + 1, sizeof *c->means);
    double *ratios = calloc(rows + 1, sizeof *ratios);
    struct named_row *named = calloc(rows + 1, sizeof *named);
    if (c->means && ratios && named) {
        name_rows(c, named);
        for (size_t i = 0, n; i < rows; i += n) {
            for (n = 1; i + n < rows && !strcmp(named[i].name.s, named[i + n].name.s);)
                n++;
            add_mean(c, &named[i], n, ratios);
        }
        if (c->mean_count)
            qsort(c->means, c->mean_count, sizeof *c->means, by_number);
    }
    free(ratios);
    free(named);
    return c->means && named && ratios ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* Adds notes on the libraries behind real allocators. */
static void note_served(struct tp_compare *c, const struct tp_compare_table *t)
{
    const struct tp_metric *peak = tp_metric_find("peak_reserved", NULL);
    struct tp_compare_label names[TP_SERVED_MAX];
    char text[TP_SERVED_TEXT];
    struct tp_served rows[TP_SERVED_MAX];
    size_t used = 0;
    for (size_t i = 0; i < t->count && used < TP_SERVED_MAX; i++) {
        const struct tp_compare_row *r = &t->rows[i];
        if (r->run->library) {
            names[used] = tp_compare_name(r);
            bool known = !isnan(tp_record_total(r->run, peak));
            rows[used] = (struct tp_served){names[used].s,
                                            tp_served_library(r->run->strategy, r->run->library),
                                            known, tp_compare_by_resident(t)};
            used++;
        }
    }
    for (size_t i = 0; i < used; i++)
        if (tp_served_note(rows, used, i, text, sizeof text))
            tp_compare_note(c, "%s", text);
}

int tp_compare_decide(struct tp_compare *c, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t t = 0; !status && t < c->count; t++) {
        struct tp_compare_table *table = &c->tables[t];
        for (size_t r = 0; r < table->count; r++)
            fill_cells(c, &table->rows[r]);
        for (size_t r = 0; r < table->count; r++)
            for (size_t m = 0; m < tp_metric_count; m++)
                mark_plain(&table->rows[table->rows[r].base], &tp_metrics[m], &table->rows[r]);
        status = test_table(c, table, err);
        note_served(c, table);
    }
    if (status || c->count < 2)
        return status;
    if (have_one_base(c))
        return fill_means(c, err);
    tp_compare_note(c, "no geometric means: not every trace has the same base");
    return TP_OK;
}

/* ---- order ---- */

struct place {
    const struct tp_compare_row *row;
    /* Old indexes of the row and of its base. Without several files both are the row's. */
    size_t at, group;
    const char *name; /* to sort by name; NULL: by value */
    double value;     /* to sort by metric: less goes first; INFINITY: not known */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int names = x->name ? strcasecmp(x->name, y->name) : 0;
    if (names)
        return names;
    if (!x->name && x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void sort_table(const struct tp_metric *by, struct tp_compare_table *t, struct place *places,
                       struct tp_compare_row *sorted)
{
    for (size_t r = 0; r < t->count; r++) {
        /* with several files the rows of a strategy stay together, sorted by their bases */
        size_t of = t->rows[r].file ? t->rows[r].base : r;
        double value = by ? t->rows[of].cells[index_of(by)].value : 0;
        if (by && by->better == TP_BETTER_MORE)
            value = -value;
        places[r] = (struct place){.row = &t->rows[r],
                                   .at = r,
                                   .group = of,
                                   .name = by ? NULL : t->rows[r].label,
                                   .value = isnan(value) ? INFINITY : value};
    }
    qsort(places, t->count, sizeof *places, compare_places);
    for (size_t r = 0; r < t->count; r++) {
        sorted[r] = *places[r].row;
        for (size_t b = 0; b < t->count; b++)
            if (places[b].at == places[r].row->base)
                sorted[r].base = b;
    }
    memcpy(t->rows, sorted, t->count * sizeof *sorted);
}

int tp_compare_sort(struct tp_compare *c, const char *by, struct tp_err *err)
{
    const struct tp_metric *metric = NULL;
    int status = TP_OK;
    if (!by)
        return TP_OK;
    if (strcasecmp(by, "name") && !(metric = tp_metric_find(by, err)))
        return TP_EUSAGE;
    for (size_t t = 0; !status && t < c->count; t++) {
        size_t count = c->tables[t].count;
        struct place *places = calloc(count ? count : 1, sizeof *places);
        struct tp_compare_row *sorted = calloc(count ? count : 1, sizeof *sorted);
        if (places && sorted)
            sort_table(metric, &c->tables[t], places, sorted);
        else
            status = tp_fail(err, TP_ENOMEM, "out of memory");
        free(places);
        free(sorted);
    }
    return status;
}

/* ---- conditions ---- */

static bool is_met(const struct tp_condition *c, const struct tp_compare_table *t, size_t row)
{
    const struct tp_compare_row *r = &t->rows[row], *base = &t->rows[r->base];
    const struct tp_compare_cell *now = &r->cells[index_of(c->metric)];
    double was = base->cells[index_of(c->metric)].value, value = now->value;
    bool shown =
        now->mark == TP_MARK_EXACT || now->mark == TP_MARK_REPORTED || now->mark == TP_MARK_SHOWN;
    if (c->relative && r == base)
        return false;
    if (c->percent && now->mark == TP_MARK_SHOWN) /* the tested value is the pairs' change */
        value = was * (1 + now->change);
    return tp_condition_holds(c, value, was, shown);
}

static int fail_met(const struct tp_condition *c, const struct tp_compare_table *t, size_t row,
                    size_t more, struct tp_err *err)
{
    char others[48] = "";
    const struct tp_compare_row *r = &t->rows[row], *was = &t->rows[r->base];
    const struct tp_compare_cell *now = &r->cells[index_of(c->metric)];
    const char *not_exact = now->mark == TP_MARK_REPORTED ? " (not exact)" : "";
    if (more)
        snprintf(others, sizeof others, "; %zu more", more);
    struct tp_compare_label name = tp_compare_name(r);
    struct tp_text change = tp_compare_change_text(r, c->metric);
    struct tp_text value = tp_metric_text(c->metric, now->value, false);
    if (!c->relative)
        return tp_fail(err, TP_EFOUND, "%s: %s, %s: %s%s%s", c->text, t->name, name.s, value.s,
                       strcasecmp(c->text, "oom") ? "" : " failed allocations", others);
    return tp_fail(err, TP_EFOUND, "%s: %s, %s: %s vs %s of %s, %s%s%s", c->text, t->name, name.s,
                   value.s,
                   tp_metric_text(c->metric, was->cells[index_of(c->metric)].value, false).s,
                   tp_compare_name(was).s, change.s, not_exact, others);
}

int tp_compare_check(const struct tp_compare *c, const struct tp_condition *list, size_t count,
                     struct tp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct tp_compare_table *first = NULL;
        size_t row = 0, met = 0, known = 0;
        for (size_t t = 0; t < c->count; t++)
            for (size_t r = 0; r < c->tables[t].count; r++) {
                const struct tp_compare_cell *cell =
                    &c->tables[t].rows[r].cells[index_of(list[i].metric)];
                known += isnan(cell->value) ? 0 : 1;
                if (!is_met(&list[i], &c->tables[t], r))
                    continue;
                row = first ? row : r;
                first = first ? first : &c->tables[t];
                met++;
            }
        if (first)
            return fail_met(&list[i], first, row, met - 1, err);
        if (!known)
            return tp_fail(err, TP_EUSAGE, "--fail-on '%s': nothing here has '%s'", list[i].text,
                           list[i].metric->name);
    }
    return TP_OK;
}
