/* Which one, and why: the rules of cmd/pick.c on figures that were compared. Dropped: what failed,
 * yardsticks, what reuses memory unsafely here. Kept: within 5 % of the least `fits in` (else of
 * the least peak). Then the fewest calls to the source, where times do not hold them; else the one
 * that is faster than every other, shown by a test over the pairs of these few. */
#include "cmd/gate/compare.h"

#include "cmd/gate/difference.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE 1.05
#define FAR   2.0

enum { TIED_MAX = 4, PICK_MAX = TP_ROUND_SIDES, PAIRS_MAX = PICK_MAX * PICK_MAX / 2 };

struct candidates {
    const struct tp_compare_row *list[PICK_MAX];
    size_t count;
    const struct tp_metric *need; /* what they are measured by: fits_in, else peak_reserved */
};

static const struct tp_metric *metric(const char *name)
{
    return tp_metric_find(name, NULL);
}

static double value_of(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return r->cells[m - tp_metrics].value;
}

static double need_of(const struct candidates *c, const struct tp_compare_row *r)
{
    return value_of(r, c->need);
}

static double time_of(const struct tp_compare_row *r)
{
    return value_of(r, metric("ns_per_op"));
}

static double calls_of(const struct tp_compare_row *r)
{
    return value_of(r, metric("source_calls.get")) + value_of(r, metric("source_calls.put"));
}

static bool is_policy_time(const struct tp_compare_row *r)
{
    return !strcmp(r->run->scope, "policy");
}

/* ---- who may be picked ---- */

static bool is_eligible(const struct tp_compare_row *r)
{
    double peak = value_of(r, metric("peak_reserved"));
    return !r->yardstick && peak > 0 && !(value_of(r, metric("failed_allocations")) > 0);
}

static struct candidates find_eligible(const struct tp_compare_table *t)
{
    struct candidates c = {.need = metric("fits_in")};
    bool safe = false;
    for (size_t i = 0; i < t->count; i++)
        safe |= is_eligible(&t->rows[i]) && !t->rows[i].unsafe;
    for (size_t i = 0; i < t->count && c.count < PICK_MAX; i++)
        if (is_eligible(&t->rows[i]) && !(safe && t->rows[i].unsafe))
            c.list[c.count++] = &t->rows[i];
    for (size_t i = 0; i < c.count; i++)
        if (isnan(value_of(c.list[i], c.need)))
            c.need = metric("peak_reserved");
    return c;
}

static struct candidates within_least(const struct candidates *all)
{
    struct candidates kept = {.need = all->need};
    double least = INFINITY, least_peak = INFINITY;
    for (size_t i = 0; i < all->count; i++)
        least = fmin(least, need_of(all, all->list[i]));
    for (size_t i = 0; i < all->count; i++)
        if (need_of(all, all->list[i]) <= CLOSE * least)
            least_peak = fmin(least_peak, value_of(all->list[i], metric("peak_reserved")));
    for (size_t i = 0; i < all->count; i++)
        if (need_of(all, all->list[i]) <= CLOSE * least &&
            value_of(all->list[i], metric("peak_reserved")) <= FAR * least_peak)
            kept.list[kept.count++] = all->list[i];
    return kept;
}

/* Where times hold the source's calls, or someone's are not known, calls decide nothing. */
static struct candidates with_fewest_calls(const struct candidates *all)
{
    struct candidates kept = {.need = all->need};
    double least = INFINITY;
    for (size_t i = 0; i < all->count; i++) {
        if (isnan(calls_of(all->list[i])) || !all->list[i]->run->exact)
            return *all;
        least = fmin(least, calls_of(all->list[i]));
    }
    for (size_t i = 0; i < all->count; i++)
        if (calls_of(all->list[i]) == least)
            kept.list[kept.count++] = all->list[i];
    return kept;
}

/* ---- who is faster ---- */

/* Every pair of these, tested; faster[i][j]: i is faster than j. */
struct races {
    bool faster[PICK_MAX][PICK_MAX];
};

static bool can_race(const struct candidates *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i]->rounds || is_policy_time(c->list[i]) || isnan(time_of(c->list[i])) ||
            c->list[i]->cold != c->list[0]->cold)
            return false;
    return c->count > 1;
}

static void race(const struct tp_compare *c, const struct candidates *all, struct races *out)
{
    const struct tp_metric *time = metric("ns_per_op");
    struct tp_difference *d = calloc(PAIRS_MAX, sizeof *d);
    double p[PAIRS_MAX];
    size_t n = 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; d && can_race(all) && i < all->count; i++)
        for (size_t j = 0; j < i; j++, n++) {
            const struct tp_compare_row *x = all->list[i], *y = all->list[j];
            tp_difference_measure(tp_rounds_values(y->rounds, y->side, time),
                                  tp_rounds_values(x->rounds, x->side, time), c->rounds,
                                  time->better, c->seed, &d[n]);
            p[n] = d[n].pairs ? tp_difference_two_sided(&d[n]) : NAN;
        }
    tp_stat_holm(p, n, p);
    n = 0;
    for (size_t i = 0; d && can_race(all) && i < all->count; i++)
        for (size_t j = 0; j < i; j++, n++) {
            bool shown = tp_difference_shown(&d[n], p[n], TP_COMPARE_ALPHA, TP_COMPARE_EFFECT);
            out->faster[i][j] = shown && d[n].estimate < 1;
            out->faster[j][i] = shown && d[n].estimate > 1;
        }
    free(d);
}

static size_t place_of(const struct candidates *c, const struct tp_compare_row *r)
{
    size_t i = 0;
    while (i < c->count && c->list[i] != r)
        i++;
    return i;
}

/* Among `few`, the one that is faster than each of the others; NULL: none. */
static const struct tp_compare_row *fastest(const struct candidates *few,
                                            const struct candidates *all, const struct races *races)
{
    for (size_t i = 0; i < few->count; i++) {
        bool beats = true;
        size_t at = place_of(all, few->list[i]);
        for (size_t j = 0; j < few->count && beats; j++)
            beats = i == j || races->faster[at][place_of(all, few->list[j])];
        if (beats)
            return few->list[i];
    }
    return NULL;
}

/* ---- words ---- */

struct words {
    char *text;
    size_t size, used;
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *w, const char *format, ...)
{
    va_list args;
    if (w->used >= w->size)
        return;
    va_start(args, format);
    int wrote = vsnprintf(w->text + w->used, w->size - w->used, format, args);
    va_end(args);
    w->used += wrote > 0 ? (size_t)wrote : 0;
}

/* " with 11 % less memory", " for 4.3 % more memory", " for the same memory" */
static void say_memory(struct words *w, const struct candidates *all,
                       const struct tp_compare_row *r, const struct tp_compare_row *than)
{
    double change = need_of(all, r) / need_of(all, than) - 1;
    if (fabs(change) < 0.0005)
        say(w, " for the same memory");
    else
        say(w, " %s %.*f %% %s memory", change < 0 ? "with" : "for", fabs(change) < 0.1 ? 1 : 0,
            100 * fabs(change), change < 0 ? "less" : "more");
}

static void say_faster(struct words *w, const struct tp_compare_row *r,
                       const struct tp_compare_row *than)
{
    say(w, "%.0f %% faster than %s", 100 * (1 - time_of(r) / time_of(than)), than->label);
}

/* Whom the pick is set beside: the base, where it may be; else the one that needs least. */
static const struct tp_compare_row *rival_of(const struct tp_compare_row *pick,
                                             const struct tp_compare_table *t,
                                             const struct candidates *all)
{
    const struct tp_compare_row *base = &t->rows[pick->base], *least = NULL;
    if (base != pick && place_of(all, base) < all->count)
        return base;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i] != pick && (!least || need_of(all, all->list[i]) < need_of(all, least)))
            least = all->list[i];
    return least;
}

/* "holds 1.5 MiB where lru holds 2 MiB" */
static void say_less(struct words *w, const struct tp_metric *by, const struct tp_compare_row *pick,
                     const struct tp_compare_row *rival)
{
    bool fits = !strcmp(by->name, "fits_in");
    say(w, "%s %s where %s %s %s", fits ? "fits in" : "holds",
        tp_metric_text(by, value_of(pick, by), false).s, rival->label, fits ? "needs" : "holds",
        tp_metric_text(by, value_of(rival, by), false).s);
}

static void say_reason(struct words *w, const struct tp_compare_row *pick,
                       const struct tp_compare_row *rival, const struct candidates *all,
                       const struct races *races)
{
    const struct tp_metric *peak = metric("peak_reserved");
    bool faster = races->faster[place_of(all, pick)][place_of(all, rival)];
    bool slower = races->faster[place_of(all, rival)][place_of(all, pick)];
    const char *source = tp_compare_callee(pick->run);
    if (faster) {
        say_faster(w, pick, rival);
        say_memory(w, all, pick, rival);
    } else if (need_of(all, rival) > CLOSE * need_of(all, pick)) {
        say_less(w, all->need, pick, rival);
        if (slower)
            say(w, ", though slower");
    } else if (value_of(rival, peak) > FAR * value_of(pick, peak)) {
        say_less(w, peak, pick, rival); /* which is why the other was dropped */
    } else if (calls_of(pick) < calls_of(rival)) {
        say(w, "%s %s calls where %s needs %s,", tp_count((uint64_t)calls_of(pick)).s, source,
            rival->label, tp_count((uint64_t)calls_of(rival)).s);
        say_memory(w, all, pick, rival);
    } else {
        say(w, "the least memory among those within 5 %%");
    }
}

/* The best for the other goal. */
static void say_other(struct words *w, const struct tp_compare_row *pick,
                      const struct candidates *all, const struct races *races)
{
    const struct tp_compare_row *quick = NULL, *small = NULL;
    size_t at = place_of(all, pick);
    for (size_t i = 0; i < all->count; i++) {
        const struct tp_compare_row *r = all->list[i];
        if (races->faster[i][at] && (!quick || time_of(r) < time_of(quick)))
            quick = r;
        if (need_of(all, r) < need_of(all, pick) &&
            (!small || need_of(all, r) < need_of(all, small)))
            small = r;
    }
    if (quick) {
        say(w, ". %s is %.0f %% faster", quick->label, 100 * (1 - time_of(quick) / time_of(pick)));
        say_memory(w, all, quick, pick);
    } else if (small) {
        struct tp_text mine = tp_metric_text(all->need, need_of(all, small), false);
        say(w, ". If memory is what you lack: %s, %s against %s", small->label, mine.s,
            tp_metric_text(all->need, need_of(all, pick), false).s);
    }
}

/* Nothing separates these few, but something does from the others. */
static void say_tied(struct words *w, const struct tp_compare_table *t,
                     const struct candidates *tied, const struct candidates *all,
                     const struct races *races)
{
    const struct tp_compare_row *pick = tied->list[0], *rival = NULL;
    for (size_t i = 0; i < tied->count; i++)
        if (need_of(all, tied->list[i]) < need_of(all, pick))
            pick = tied->list[i];
    for (size_t i = 0; i < all->count; i++) {
        const struct tp_compare_row *r = all->list[i];
        bool better = !rival || r == &t->rows[pick->base] ||
                      (rival != &t->rows[pick->base] && need_of(all, r) < need_of(all, rival));
        if (place_of(tied, r) == tied->count && better)
            rival = r;
    }
    for (size_t i = 0; i < tied->count; i++)
        say(w, "%s%s", !i ? "Pick " : i + 1 == tied->count ? " or " : ", ", tied->list[i]->label);
    say(w, ": ");
    say_reason(w, pick, rival, all, races);
}

/* Others were left out because they do not heed the streams. */
static bool heeds_alone(const struct tp_compare_table *t, const struct tp_compare_row *pick)
{
    for (size_t i = 0; i < t->count; i++)
        if (is_eligible(&t->rows[i]) && t->rows[i].unsafe && !pick->unsafe)
            return true;
    return false;
}

static void say_pick(struct words *w, const struct tp_compare_table *t,
                     const struct tp_compare_row *pick, const struct candidates *all,
                     const struct races *races)
{
    const struct tp_compare_row *rival = rival_of(pick, t, all);
    say(w, "Pick %s: ", pick->label);
    if (rival)
        say_reason(w, pick, rival, all, races);
    else
        say(w, "the only policy here that is no yardstick and serves every allocation%s",
            heeds_alone(t, pick) ? ", and heeds the streams" : "");
    say_other(w, pick, all, races);
}

const struct tp_compare_row *tp_compare_pick(const struct tp_compare *c,
                                             const struct tp_compare_table *t, char *text,
                                             size_t size)
{
    struct words w = {text, size, 0};
    struct candidates all = find_eligible(t);
    struct races races;
    *text = '\0';
    if (t->count < 2 || t->rows[0].file) /* the same policy twice is no choice */
        return NULL;
    if (!all.count) {
        say(&w, "Pick: none, every policy here failed, is a yardstick, or hides its memory");
        return NULL;
    }
    race(c, &all, &races);
    struct candidates few = within_least(&all), calls = with_fewest_calls(&few);
    if (is_policy_time(few.list[0])) /* else the calls are in the times */
        few = calls;
    const struct tp_compare_row *pick = few.count == 1 ? few.list[0] : fastest(&few, &all, &races);
    if (pick)
        say_pick(&w, t, pick, &all, &races);
    else if (few.count < all.count && few.count <= TIED_MAX)
        say_tied(&w, t, &few, &all, &races);
    else
        say(&w, "Pick: no difference that matters here");
    return pick;
}
