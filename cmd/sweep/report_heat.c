/* The heat map of a sweep: traces downwards, the hardest first, settings to the right, the best
 * first. Where there are more than can be seen, a square is of neighbours, by their geometric mean.
 */
#include "cmd/sweep/sweep_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hard_trace {
    double hardness;
    uint32_t trace;
};

static int by_hardness(const void *left, const void *right)
{
    const struct hard_trace *a = left, *b = right;
    if (a->hardness != b->hardness)
        return a->hardness > b->hardness ? -1 : 1;
    return a->trace < b->trace ? -1 : a->trace > b->trace;
}

size_t tp_sweep_first(size_t all, size_t count, size_t at)
{
    return (at * all + count - 1) / count;
}

static int order_traces(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                        struct tp_sweep_heat *h)
{
    struct hard_trace *list = malloc((p->trace_count + 1) * sizeof *list);
    if (!list)
        return TP_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count; i++)
        if (!isnan(a->hardness[i]))
            list[h->trace_count++] = (struct hard_trace){rint(a->hardness[i] / TP_SWEEP_SAME), i};
    qsort(list, h->trace_count, sizeof *list, by_hardness);
    for (size_t i = 0; i < h->trace_count; i++)
        h->traces[i] = list[i].trace;
    free(list);
    return TP_OK;
}

/* Gives each of a list its place among `count` squares. */
static void place_items(const uint32_t *list, size_t all, size_t count, uint32_t *place)
{
    for (size_t i = 0; i < all; i++)
        place[list[i]] = (uint32_t)(i * count / all);
}

int tp_sweep_heat_begin(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                        struct tp_err *err)
{
    struct tp_sweep_heat *h = &a->heat;
    h->traces = malloc((p->trace_count + 1) * sizeof *h->traces);
    h->settings = malloc((p->setting_count + 1) * sizeof *h->settings);
    h->row_of = malloc((p->trace_count + 1) * sizeof *h->row_of);
    h->column_of = malloc((p->setting_count + 1) * sizeof *h->column_of);
    h->sums = calloc(TP_SWEEP_ROWS * TP_SWEEP_COLUMNS, sizeof *h->sums);
    h->counts = calloc(TP_SWEEP_ROWS * TP_SWEEP_COLUMNS, sizeof *h->counts);
    bool made = h->traces && h->settings && h->row_of && h->column_of && h->sums && h->counts;
    if (!made || order_traces(p, a, h))
        return tp_sweep_no_memory(err);
    for (size_t i = 0; i < a->ranked; i++)
        if (a->scores[a->order[i]].traces)
            h->settings[h->setting_count++] = a->order[i];
    h->rows = h->trace_count < TP_SWEEP_ROWS ? h->trace_count : TP_SWEEP_ROWS;
    h->columns = h->setting_count < TP_SWEEP_COLUMNS ? h->setting_count : TP_SWEEP_COLUMNS;
    place_items(h->traces, h->trace_count, h->rows, h->row_of);
    place_items(h->settings, h->setting_count, h->columns, h->column_of);
    return TP_OK;
}

void tp_sweep_heat_add(struct tp_sweep_heat *h, const struct tp_sweep_row *row,
                       const double *ratios)
{
    for (size_t i = 0; i < row->count; i++) {
        if (isnan(ratios[i]))
            continue;
        size_t at = h->row_of[row->trace] * h->columns + h->column_of[row->cells[i].setting];
        h->sums[at] += ratios[i];
        h->counts[at]++;
    }
}

double tp_sweep_square(const struct tp_sweep_heat *h, size_t row, size_t column)
{
    size_t at = row * h->columns + column;
    return h->counts[at] ? exp(h->sums[at] / h->counts[at]) : NAN;
}

void tp_sweep_heat_drop(struct tp_sweep_heat *h)
{
    free(h->traces);
    free(h->settings);
    free(h->row_of);
    free(h->column_of);
    free(h->sums);
    free(h->counts);
    *h = (struct tp_sweep_heat){.rows = 0};
}
