/* What each option of a strategy does, over all traces:
 *
 *     order=1,merge=yes   order=2,merge=yes      a combination of the others: merge=yes
 *     order=1,merge=no    order=2,merge=no       another one
 *
 * A value is compared with another one in the same combinations and on the same traces, those in
 * which each value of the option has a ratio. So nothing else differs between them. */
#include "cmd/sweep/sweep_answers.h"

#include "alloc/base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A setting as it is sorted for an option. */
struct combination {
    const struct tp_sweep_tried *s;
    size_t option, options;
    uint32_t setting;
};

static int by_combination(const void *left, const void *right)
{
    const struct combination *a = left, *b = right;
    for (size_t i = 0; i < a->options; i++)
        if (i != a->option && a->s->values[i] != b->s->values[i])
            return a->s->values[i] < b->s->values[i] ? -1 : 1;
    uint32_t one = a->s->values[a->option], other = b->s->values[a->option];
    if (one != other)
        return one < other ? -1 : 1;
    return a->setting < b->setting ? -1 : a->setting > b->setting;
}

static bool is_same_combination(const struct combination *a, const struct combination *b)
{
    for (size_t i = 0; i < a->options; i++)
        if (i != a->option && a->s->values[i] != b->s->values[i])
            return false;
    return true;
}

static int by_strategy_name(const void *left, const void *right)
{
    const struct combination *a = left, *b = right;
    int order = strcmp(a->s->strategy, b->s->strategy);
    if (order)
        return order;
    return a->setting < b->setting ? -1 : a->setting > b->setting;
}

/* ---- one option of one strategy ---- */

/* The values that some setting has, in their order. */
static int find_values(struct tp_sweep_effect *e, const struct combination *list, size_t count,
                       size_t all, struct tp_err *err)
{
    bool *had = calloc(all, sizeof *had);
    size_t values = 0;
    for (size_t i = 0; had && i < count; i++) {
        uint32_t value = list[i].s->values[list[i].option];
        values += had[value] ? 0 : 1;
        had[value] = true;
    }
    e->values = malloc((values + 1) * sizeof *e->values);
    e->means = calloc(values + 1, sizeof *e->means);
    bool made = had && e->values && e->means;
    for (uint32_t i = 0; made && i < all; i++)
        if (had[i])
            e->values[e->count++] = i;
    free(had);
    return made ? TP_OK : tp_sweep_no_memory(err);
}

/* Adds a combination if it has all values; of two settings with one value the first stands. */
static int add_group(struct tp_sweep_effect *e, const struct combination *list, size_t count,
                     size_t *room, struct tp_err *err)
{
    size_t at = e->groups * e->count, found = 0;
    int status = TP_GROW(&e->members, room, at + e->count, err, .what = "settings");
    for (size_t i = 0; !status && i < count && found < e->count; i++)
        if (list[i].s->values[list[i].option] == e->values[found])
            e->members[at + found++] = list[i].setting;
    e->groups += !status && found == e->count ? 1 : 0;
    return status;
}

static void drop_effect(struct tp_sweep_effect *e)
{
    free(e->values);
    free(e->means);
    free(e->members);
}

static int find_effect(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                       struct combination *list, size_t count, struct tp_err *err)
{
    const struct tp_sweep_option *o = &p->options[list->option];
    struct tp_sweep_effect e = {
        .strategy = list->s->strategy, .option = o->name, .name = list->option};
    size_t room = 0;
    qsort(list, count, sizeof *list, by_combination);
    int status = find_values(&e, list, count, o->count, err);
    for (size_t i = 0, end; !status && e.count > 1 && i < count; i = end) {
        for (end = i + 1; end < count && is_same_combination(&list[i], &list[end]); end++)
            ;
        status = add_group(&e, &list[i], end - i, &room, err);
    }
    if (!status && e.groups)
        status = TP_ONE_MORE(&a->effects, a->effect_count, err, .what = "options");
    if (!status && e.groups)
        a->effects[a->effect_count++] = e;
    else
        drop_effect(&e);
    return status;
}

/* ---- all of them ---- */

/* A setting that failed on every trace would take its value from all combinations. */
static size_t list_settings(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                            struct combination *list)
{
    size_t count = 0;
    for (size_t i = 0; i < a->ranked; i++)
        if (a->scores[a->order[i]].traces)
            list[count++] = (struct combination){
                .s = &p->settings[a->order[i]], .options = p->option_count, .setting = a->order[i]};
    if (count)
        qsort(list, count, sizeof *list, by_strategy_name);
    return count;
}

int tp_sweep_effects_find(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                          struct tp_err *err)
{
    struct combination *list = malloc((a->ranked + 1) * sizeof *list);
    if (!list)
        return tp_sweep_no_memory(err);
    size_t count = list_settings(p, a, list);
    int status = TP_OK;
    for (size_t i = 0, end; !status && i < count; i = end) {
        for (end = i + 1; end < count && !strcmp(list[i].s->strategy, list[end].s->strategy); end++)
            ;
        for (size_t o = 0; !status && o < p->option_count; o++) {
            for (size_t k = i; k < end; k++)
                list[k].option = o;
            status = find_effect(p, a, &list[i], end - i, err);
        }
    }
    free(list);
    return status;
}

/* Adds a combination on a trace, if all values have a ratio there. */
static bool add_pair(struct tp_sweep_effect *e, const uint32_t *members, const double *ratios,
                     bool *affected)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t v = 0; v < e->count; v++) {
        double ratio = ratios[members[v]];
        if (isnan(ratio))
            return false;
        low = ratio < low ? ratio : low;
        high = ratio > high ? ratio : high;
    }
    for (size_t v = 0; v < e->count; v++)
        e->means[v] += ratios[members[v]];
    *affected |= high - low > TP_SWEEP_PERCENT + TP_SWEEP_SAME;
    return true;
}

void tp_sweep_effects_count(struct tp_sweep_answer *a, const double *ratios)
{
    for (size_t i = 0; i < a->effect_count; i++) {
        struct tp_sweep_effect *e = &a->effects[i];
        uint64_t pairs = e->pairs;
        bool affected = false;
        for (size_t g = 0; g < e->groups; g++)
            e->pairs += add_pair(e, &e->members[g * e->count], ratios, &affected) ? 1 : 0;
        e->traces += e->pairs > pairs ? 1 : 0;
        e->affected += affected ? 1 : 0;
    }
}

struct effect_value {
    double mean, rounded;
    uint32_t value;
};

static int by_mean(const void *left, const void *right)
{
    const struct effect_value *a = left, *b = right;
    if (a->rounded != b->rounded)
        return a->rounded < b->rounded ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* Makes sums means, and puts the best value first. */
static int order_values(struct tp_sweep_effect *e, struct tp_err *err)
{
    struct effect_value *list = calloc(e->count, sizeof *list);
    if (!list)
        return tp_sweep_no_memory(err);
    for (size_t v = 0; v < e->count; v++) {
        double mean = e->means[v] / (double)e->pairs;
        list[v] = (struct effect_value){mean, rint(mean / TP_SWEEP_SAME), e->values[v]};
    }
    qsort(list, e->count, sizeof *list, by_mean);
    for (size_t v = 0; v < e->count; v++) {
        e->values[v] = list[v].value;
        e->means[v] = list[v].mean;
    }
    free(list);
    return TP_OK;
}

static int by_strategy_and_size(const void *left, const void *right)
{
    const struct tp_sweep_effect *a = left, *b = right;
    double one = rint((a->means[a->count - 1] - a->means[0]) / TP_SWEEP_SAME);
    double other = rint((b->means[b->count - 1] - b->means[0]) / TP_SWEEP_SAME);
    int order = strcmp(a->strategy, b->strategy);
    if (order)
        return order;
    if (one != other)
        return one > other ? -1 : 1;
    return strcmp(a->option, b->option);
}

/* An effect that no trace shows is dropped. */
int tp_sweep_effects_sort(struct tp_sweep_answer *a, struct tp_err *err)
{
    size_t kept = 0;
    int status = TP_OK;
    for (size_t i = 0; i < a->effect_count; i++)
        if (a->effects[i].pairs)
            a->effects[kept++] = a->effects[i];
        else
            drop_effect(&a->effects[i]);
    a->effect_count = kept;
    for (size_t i = 0; !status && i < kept; i++)
        status = order_values(&a->effects[i], err);
    if (!status && kept)
        qsort(a->effects, kept, sizeof *a->effects, by_strategy_and_size);
    return status;
}

void tp_sweep_effects_drop(struct tp_sweep_answer *a)
{
    for (size_t i = 0; i < a->effect_count; i++)
        drop_effect(&a->effects[i]);
    free(a->effects);
    a->effects = NULL;
    a->effect_count = 0;
}
