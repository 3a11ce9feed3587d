/* Ranks the settings of a sweep: which are the best, which of them no other one beats, which is the
 * best of each strategy. Ranking is by the geometric mean; equal ones by fewer options, then by
 * name. Settings that lack a trace or failed on one come last, and win nothing. */
#include "cmd/sweep/sweep_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What settings are sorted by. Means are rounded, so that equal ones are equal on all machines. */
struct rank_key {
    const struct tp_sweep_tried *s;
    double mean, cost;
    uint32_t setting, lacking, place;
};

static double rounded_mean(const struct tp_sweep_score *s)
{
    return s->traces ? rint(s->sum / s->traces / TP_SWEEP_SAME) : INFINITY;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_rank(const void *left, const void *right)
{
    const struct rank_key *a = left, *b = right;
    int order = compare_numbers(a->lacking, b->lacking);
    if (!order)
        order = compare_numbers(a->mean, b->mean);
    if (!order)
        order = compare_numbers(a->s->given, b->s->given);
    return order ? order : strcmp(a->s->text, b->s->text);
}

static int by_cost(const void *left, const void *right)
{
    const struct rank_key *a = left, *b = right;
    int order = (isnan(a->cost) ? 1 : 0) - (isnan(b->cost) ? 1 : 0);
    if (!order)
        order = compare_numbers(a->cost, b->cost);
    return order ? order : compare_numbers(a->place, b->place);
}

static int by_strategy(const void *left, const void *right)
{
    const struct rank_key *a = left, *b = right;
    int order = strcmp(a->s->strategy, b->s->strategy);
    return order ? order : compare_numbers(a->place, b->place);
}

static int by_place(const void *left, const void *right)
{
    const struct rank_key *a = left, *b = right;
    return compare_numbers(a->place, b->place);
}

static size_t make_keys(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                        struct rank_key *keys)
{
    size_t count = 0;
    for (uint32_t i = 0; i < p->setting_count; i++) {
        struct tp_sweep_score *s = &a->scores[i];
        uint32_t lacking = s->failed + p->settings[i].unread + a->traces - s->traces;
        if (!s->traces && !s->failed && !p->settings[i].unread)
            continue;
        s->competes = !lacking && s->traces;
        a->competing += s->competes ? 1 : 0;
        keys[count++] = (struct rank_key){.s = &p->settings[i],
                                          .mean = rounded_mean(s),
                                          .setting = i,
                                          .lacking = s->competes ? 0 : lacking + 1};
    }
    return count;
}

/* ---- fronts ---- */

/* Keys are those that compete, in the order of the ranking, which they are returned in. A real
 * allocator has no driver calls, and is on no front of them. */
static int find_front(const struct tp_sweep_picked *p, struct tp_sweep_answer *a, size_t cost,
                      struct rank_key *keys, struct tp_err *err)
{
    struct tp_sweep_front *front = &a->fronts[a->front_count];
    size_t count = 0;
    double least = INFINITY;
    if (a->metric == tp_sweep_cost_metric(p, cost))
        return TP_OK;
    for (size_t i = 0; i < a->competing; i++) {
        keys[i].cost = tp_sweep_cost(p, a, keys[i].setting, cost);
        count += isnan(keys[i].cost) ? 0 : 1;
    }
    if (!count)
        return TP_OK;
    *front = (struct tp_sweep_front){.cost = cost, .settings = malloc(count * sizeof(uint32_t))};
    a->front_count++;
    if (!front->settings)
        return tp_sweep_no_memory(err);
    qsort(keys, a->competing, sizeof *keys, by_cost);
    for (size_t i = 0; i < a->competing; i++)
        if (!isnan(keys[i].cost) && keys[i].mean < least) {
            front->settings[front->count++] = keys[i].setting;
            least = keys[i].mean;
        }
    qsort(keys, a->competing, sizeof *keys, by_place);
    return TP_OK;
}

/* ---- profiles ---- */

static int find_profiles(struct tp_sweep_answer *a, struct rank_key *keys, struct tp_err *err)
{
    a->profiles = malloc((a->ranked + 1) * sizeof *a->profiles);
    if (!a->profiles)
        return tp_sweep_no_memory(err);
    qsort(keys, a->ranked, sizeof *keys, by_strategy);
    for (size_t i = 0, kept = 0; i < a->ranked; i++)
        if (!i || strcmp(keys[i].s->strategy, keys[kept - 1].s->strategy) != 0) {
            keys[kept++] = keys[i];
            a->profile_count = kept;
        }
    qsort(keys, a->profile_count, sizeof *keys, by_place);
    for (size_t i = 0; i < a->profile_count; i++)
        a->profiles[i] = keys[i].setting;
    return TP_OK;
}

int tp_sweep_rank(const struct tp_sweep_picked *p, struct tp_sweep_answer *a, struct tp_err *err)
{
    struct rank_key *keys = malloc((p->setting_count + 1) * sizeof *keys);
    int status = TP_OK;
    if (!keys)
        return tp_sweep_no_memory(err);
    a->ranked = make_keys(p, a, keys);
    qsort(keys, a->ranked, sizeof *keys, by_rank);
    for (size_t i = 0; i < a->ranked; i++) {
        keys[i].place = (uint32_t)i;
        a->order[i] = keys[i].setting;
    }
    for (size_t i = 0; !status && i < TP_SWEEP_COSTS; i++)
        status = find_front(p, a, i, keys, err);
    if (!status)
        status = find_profiles(a, keys, err);
    free(keys);
    return status;
}
