/* See malloc_tune.h. */
#include "cmd/tune/malloc_tune.h"

#include "cmd/jobs/machine.h"

#include <math.h>
#include <stdlib.h>

/* Differences up to these are none. */
#define MEMORY 0.01
#define TIME   0.05
#define LEAST  1e-3 /* bytes or ns */

bool tp_malloc_is_known(const struct tp_malloc_row *r)
{
    return !r->err.status && !isnan(r->resident.median) && !isnan(r->ns.median);
}

/* ---- the front ---- */

/* By how much `a` is above `b`, as a share of it. Nothing at all counts as a little. */
static double above(const struct tp_malloc_range *a, const struct tp_malloc_range *b)
{
    return fmax(a->median, LEAST) / fmax(b->median, LEAST) - 1;
}

/* Whether `a` is about as good as `b` in both, and better in one. It leads in no circle: with each
 * step the sum of log(memory)/log(1+MEMORY) and of the same of time falls. */
static bool beats(const struct tp_malloc_row *a, const struct tp_malloc_row *b, double memory,
                  double time)
{
    bool worse = above(&a->resident, &b->resident) > memory || above(&a->ns, &b->ns) > time;
    return !worse && (above(&b->resident, &a->resident) > memory || above(&b->ns, &a->ns) > time);
}

static bool is_about(const struct tp_malloc_row *a, const struct tp_malloc_row *b, double memory,
                     double time)
{
    return fabs(above(&a->resident, &b->resident)) <= memory && fabs(above(&a->ns, &b->ns)) <= time;
}

static size_t keys_of(const struct tp_malloc_row *r)
{
    return r->setting->recorded ? 0 : r->setting->keys;
}

/* Takes rows off the front of which another is about the same and has fewer keys, or comes first.
 */
static void drop_equal(struct tp_malloc_row *rows, size_t count, double memory, double time)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; rows[i].front && k < count; k++) {
            bool simpler = keys_of(&rows[k]) < keys_of(&rows[i]) ||
                           (keys_of(&rows[k]) == keys_of(&rows[i]) && k < i);
            if (k != i && rows[k].front && simpler && is_about(&rows[k], &rows[i], memory, time))
                rows[i].front = false;
        }
}

void tp_malloc_front(struct tp_malloc_row *rows, size_t count, unsigned rounds, double memory,
                     double time)
{
    for (size_t i = 0; i < count; i++)
        rows[i].front = tp_malloc_is_known(&rows[i]) && rows[i].rounds == rounds;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; rows[i].front && k < count; k++)
            rows[i].front = rows[k].rounds != rounds || !tp_malloc_is_known(&rows[k]) ||
                            !beats(&rows[k], &rows[i], memory, time);
    drop_equal(rows, count, memory, time);
}

/* ---- the answer ---- */

/* The rows to choose from, the base among them; *had is the one that the program had. */
static size_t find_choices(const struct tp_malloc_tune *t, struct tp_choice choices[TP_PICK_MAX],
                           size_t rows[TP_PICK_MAX], size_t *had)
{
    size_t count = 0, found = TP_PICK_MAX;
    for (size_t i = 0; i < t->settings.count && count < TP_PICK_MAX; i++) {
        const struct tp_malloc_row *r = &t->rows[i];
        if (!r->front && (i != t->base || !tp_malloc_is_known(r)))
            continue;
        found = r->setting->recorded ? count : found;
        rows[count] = i;
        choices[count++] = (struct tp_choice){.label = tp_malloc_label(r->setting),
                                              .min_capacity = NAN,
                                              .peak = r->resident.median,
                                              .ns = r->ns.median,
                                              .low = r->ns.low,
                                              .high = r->ns.high};
    }
    *had = found < count ? found : count;
    return count;
}

/* The answer where there is nothing to choose. */
static void keep(struct tp_malloc_tune *t, const struct tp_choice *choices, size_t count)
{
    t->pick = (struct tp_pick){.count = 0};
    snprintf(t->pick.head, sizeof t->pick.head, count ? "Keep %s" : "Pick: none",
             count ? choices[0].label : "");
    snprintf(t->pick.reason, sizeof t->pick.reason, "%s",
             count ? ": no other setting uses less memory or time"
                   : ", no setting could be measured");
}

void tp_malloc_judge(struct tp_malloc_tune *t, unsigned rounds, enum tp_goal goal, bool exact)
{
    struct tp_choice choices[TP_PICK_MAX];
    size_t rows[TP_PICK_MAX], had;
    double low, high;
    tp_malloc_front(t->rows, t->settings.count, rounds, MEMORY, TIME);
    size_t count = find_choices(t, choices, rows, &had);
    if (count < 2) {
        keep(t, choices, count);
        for (size_t i = 0; i < count; i++)
            t->pick.chosen[t->pick.count++] = rows[i];
        return;
    }
    bool forecast = t->threads <= tp_machine_cores_to_use() &&
                    tp_meta_malloc_share(&t->trace->meta, &low, &high);
    tp_pick(&(struct tp_pick_question){.list = choices,
                                       .count = count,
                                       .base = count,
                                       .frees = true,
                                       .resident = true,
                                       .host = true,
                                       .goal = goal,
                                       .share = forecast ? high : (double)NAN,
                                       .had = had,
                                       .wall = t->wall,
                                       .capacity = NAN,
                                       .callee = "system",
                                       .exact = exact},
            &t->pick);
    for (size_t i = 0; i < t->pick.count; i++)
        t->pick.chosen[i] = rows[t->pick.chosen[i]];
}

void tp_malloc_tune_release(struct tp_malloc_tune *t)
{
    free(t->rows);
    tp_malloc_settings_release(&t->settings);
}
