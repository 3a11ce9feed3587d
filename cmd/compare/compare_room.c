/* Chooses the rows of a comparison that a page shows. Rows are numbered through all tables: table 0
 * has the first ones. */
#include "cmd/compare/compare.h"

#include "alloc/base/ascending.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a row says, the most important last. */
enum tier { TIER_SAME, TIER_CHANCE, TIER_BETTER, TIER_WORSE, TIER_PICK };

struct rank_of_row {
    size_t row, base; /* numbers through all tables */
    enum tier tier;
    double change; /* the largest of its tier, without its sign */
};

struct row_choice {
    const struct tp_compare *c;
    struct rank_of_row *ranked;
    size_t *place; /* of each row in its table, among those that are shown; SIZE_MAX: it is not */
    size_t rows;
};

size_t tp_compare_rows(const struct tp_compare *c)
{
    size_t count = 0;
    for (size_t t = 0; t < c->count; t++)
        count += c->tables[t].count;
    return count;
}

/* ---- the order ---- */

static enum tier tier_of(const struct tp_compare_cell *cell, const struct tp_metric *m)
{
    static const bool differs[TP_MARKS] = {
        [TP_MARK_EXACT] = true, [TP_MARK_REPORTED] = true, [TP_MARK_SHOWN] = true};
    bool less = cell->change < 0;
    if (isnan(cell->change) || cell->change == 0)
        return TIER_SAME;
    if (!differs[cell->mark])
        return cell->mark == TP_MARK_UNTESTED ? TIER_CHANCE : TIER_SAME;
    return less == (m->better == TP_BETTER_LESS) ? TIER_BETTER : TIER_WORSE;
}

static struct rank_of_row rank_of(const struct tp_compare *c, const struct tp_compare_row *r)
{
    struct rank_of_row of = {.tier = TIER_SAME};
    for (size_t m = 0; m < c->column_count; m++) {
        const struct tp_compare_cell *cell = &r->cells[c->columns[m] - tp_metrics];
        enum tier tier = tier_of(cell, c->columns[m]);
        double change = isnan(cell->change) ? 0 : fabs(cell->change);
        if (tier > of.tier || (tier == of.tier && change > of.change)) {
            of.tier = tier;
            of.change = change;
        }
    }
    return of;
}

static int by_rank(const void *one, const void *other)
{
    const struct rank_of_row *a = one, *b = other;
    if (a->tier != b->tier)
        return a->tier < b->tier ? 1 : -1;
    if (a->change != b->change)
        return a->change < b->change ? 1 : -1;
    return tp_order(a->row, b->row);
}

static void rank_rows(struct row_choice *of)
{
    struct tp_pick why;
    size_t n = 0;
    for (size_t t = 0, first = 0; t < of->c->count; first = n, t++) {
        const struct tp_compare_table *table = &of->c->tables[t];
        const struct tp_compare_row *pick = tp_compare_pick(of->c, table, &why);
        for (size_t r = 0; r < table->count; r++, n++) {
            of->ranked[n] = rank_of(of->c, &table->rows[r]);
            of->ranked[n].row = n;
            of->ranked[n].base = first + table->rows[r].base;
            if (pick == &table->rows[r])
                of->ranked[n].tier = TIER_PICK;
        }
    }
    if (n)
        qsort(of->ranked, n, sizeof *of->ranked, by_rank);
}

/* Marks the rows that fit, by a place of 0. */
static void mark_fitting(struct row_choice *of, size_t most)
{
    size_t taken = 0;
    for (size_t i = 0; i < of->rows; i++) {
        const struct rank_of_row *r = &of->ranked[i];
        size_t needs = of->place[r->row] != 0;
        needs += r->base != r->row && of->place[r->base] != 0;
        if (taken + needs > most)
            return;
        of->place[r->row] = of->place[r->base] = 0;
        taken += needs;
    }
}

static int choose(struct row_choice *of, size_t most, struct tp_err *err)
{
    of->place = calloc(of->rows + 1, sizeof *of->place);
    of->ranked = calloc(of->rows + 1, sizeof *of->ranked);
    if (!of->place || !of->ranked)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    if (most >= of->rows)
        return TP_OK;
    for (size_t i = 0; i < of->rows; i++)
        of->place[i] = SIZE_MAX;
    rank_rows(of);
    mark_fitting(of, most);
    return TP_OK;
}

/* ---- the comparison with those rows ---- */

static void copy_table(const struct row_choice *of, size_t table, size_t first,
                       struct tp_compare_row *rows, struct tp_compare_shown *out)
{
    const struct tp_compare_table *whole = &of->c->tables[table];
    size_t *place = &of->place[first], count = 0;
    for (size_t r = 0; r < whole->count; r++)
        if (place[r] != SIZE_MAX)
            place[r] = count++;
    if (!count && whole->count) {
        out->traces_left++;
        return;
    }
    struct tp_compare_table *t = &out->tables[out->c.count++];
    *t = *whole;
    t->whole = whole;
    t->rows = rows;
    t->count = count;
    for (size_t r = 0; r < whole->count; r++)
        if (place[r] != SIZE_MAX) {
            rows[place[r]] = whole->rows[r];
            rows[place[r]].base = place[whole->rows[r].base];
        }
}

static void copy_tables(const struct row_choice *of, struct tp_compare_shown *out)
{
    size_t rows = 0;
    for (size_t t = 0, first = 0; t < of->c->count; first += of->c->tables[t++].count) {
        size_t before = out->c.count;
        copy_table(of, t, first, &out->rows[rows], out);
        rows += out->c.count > before ? out->tables[before].count : 0;
    }
}

static int by_name(const void *one, const void *other)
{
    return strcmp(((const struct tp_compare_label *)one)->s,
                  ((const struct tp_compare_label *)other)->s);
}

/* Copies the means of the strategies that have a row. */
static int copy_means(const struct tp_compare *c, struct tp_compare_shown *out, size_t rows)
{
    struct tp_compare_label *names = calloc(rows + 1, sizeof *names);
    if (!names)
        return TP_ENOMEM;
    for (size_t i = 0; i < rows; i++)
        names[i] = tp_compare_name(&out->rows[i]);
    if (rows)
        qsort(names, rows, sizeof *names, by_name);
    for (size_t i = 0; i < c->mean_count; i++)
        if (bsearch(&c->means[i].name, names, rows, sizeof *names, by_name))
            out->means[out->c.mean_count++] = c->means[i];
    free(names);
    return TP_OK;
}

static int copy_files(const struct tp_compare *c, struct tp_compare_shown *out, size_t rows)
{
    bool *used = calloc(c->file_count + 1, sizeof *used);
    if (!used)
        return TP_ENOMEM;
    for (size_t i = 0; c->file_count && i < rows; i++)
        used[out->rows[i].from - c->files] = true;
    for (size_t i = 0; i < c->file_count; i++)
        if (used[i])
            out->files[out->c.file_count++] = c->files[i];
    free(used);
    return TP_OK;
}

static int copy(const struct row_choice *of, struct tp_compare_shown *out, struct tp_err *err)
{
    const struct tp_compare *c = of->c;
    out->tables = calloc(c->count + 1, sizeof *out->tables);
    out->rows = calloc(of->rows + 1, sizeof *out->rows);
    out->means = calloc(c->mean_count + 1, sizeof *out->means);
    out->files = calloc(c->file_count + 1, sizeof *out->files);
    if (!out->tables || !out->rows || !out->means || !out->files)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    out->c = *c;
    out->c.tables = out->tables;
    out->c.means = out->means;
    out->c.files = out->files;
    out->c.count = out->c.mean_count = out->c.file_count = 0;
    copy_tables(of, out);
    size_t rows = tp_compare_rows(&out->c);
    if (copy_means(c, out, rows) != TP_OK || copy_files(c, out, rows) != TP_OK)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    return TP_OK;
}

int tp_compare_show(const struct tp_compare *c, size_t most, struct tp_compare_shown *out,
                    struct tp_err *err)
{
    struct row_choice of = {.c = c, .rows = tp_compare_rows(c)};
    tp_compare_shown_release(out);
    int rc = choose(&of, most, err);
    if (rc == TP_OK)
        rc = copy(&of, out, err);
    if (rc != TP_OK)
        tp_compare_shown_release(out);
    free(of.place);
    free(of.ranked);
    return rc;
}

void tp_compare_shown_release(struct tp_compare_shown *s)
{
    free(s->tables);
    free(s->rows);
    free(s->means);
    free(s->files);
    *s = (struct tp_compare_shown){.tables = NULL};
}
