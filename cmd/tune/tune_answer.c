/* Judges settings by what they did; see tune.h. */
#include "cmd/tune/tune.h"

/* Of the same memory, driver calls are worth a word where there are this many times as many, and so
 * many more. */
enum { CALLS_TIMES = 2, CALLS_MORE = 16 };

static bool is_played(const struct tp_tune_setting *s)
{
    return s->status == TP_OK;
}

static bool fits(const struct tp_tune_setting *s)
{
    return !s->all.failed;
}

/* Whether a setting may be proposed at all. */
static bool is_choice(const struct tp_tune_setting *s, bool older)
{
    return is_played(s) && !s->danger && !(older && s->newer);
}

static bool any_fits(const struct tp_tune_setting *settings, size_t count, bool older)
{
    for (size_t i = 0; i < count; i++)
        if (is_choice(&settings[i], older) && fits(&settings[i]))
            return true;
    return false;
}

/* What is asked of a setting before figures are compared. */
struct demands {
    bool older;       /* all versions know it */
    bool served;      /* no request fails */
    uint64_t retries; /* at most */
};

static bool meets(const struct tp_tune_setting *s, const struct demands *d)
{
    return is_choice(s, d->older) && (fits(s) || !d->served) && s->all.retries <= d->retries;
}

/* ---- the front ---- */

enum { FIGURES = 4 };

/* 1: `a` is better in a figure and worse in none; 0: they are equal; -1: neither. Where requests
 * fail, how many is all that counts. */
static int beats(const struct tp_tune_setting *a, const struct tp_tune_setting *b)
{
    const uint64_t x[FIGURES] = {a->all.failed, a->all.peak_reserved, a->all.calls, a->all.retries};
    const uint64_t y[FIGURES] = {b->all.failed, b->all.peak_reserved, b->all.calls, b->all.retries};
    int better = 0, figures = fits(a) || fits(b) ? FIGURES : 1;
    for (int i = 0; i < figures; i++) {
        if (x[i] > y[i])
            return -1;
        better |= x[i] < y[i];
    }
    return better;
}

/* Whether `b` makes way for `a`; `before`: it stands before it. */
static bool replaces(const struct tp_tune_setting *a, const struct tp_tune_setting *b, bool before)
{
    int result = beats(a, b);
    return result > 0 || (result == 0 && (a->keys < b->keys || (a->keys == b->keys && before)));
}

/* A setting with which requests fail holds less for that reason, and is no choice beside one that
 * serves all. */
void tp_tune_front(struct tp_tune_setting *settings, size_t count)
{
    const struct demands d = {.served = any_fits(settings, count, false), .retries = UINT64_MAX};
    for (size_t i = 0; i < count; i++) {
        struct tp_tune_setting *s = &settings[i];
        s->on_front = meets(s, &d);
        for (size_t k = 0; s->on_front && k < count; k++)
            if (k != i && is_choice(&settings[k], false))
                s->on_front = !replaces(&settings[k], s, k < i);
    }
}

/* ---- the answer ---- */

/* Of two settings with about the same peak. One that every PyTorch knows is worth some calls. */
static bool is_better(const struct tp_tune_setting *a, const struct tp_tune_setting *b)
{
    if (a->all.retries != b->all.retries)
        return a->all.retries < b->all.retries;
    if (!a->newer != !b->newer)
        return !a->newer;
    if (a->all.calls != b->all.calls)
        return a->all.calls < b->all.calls;
    if (a->all.peak_reserved != b->all.peak_reserved)
        return a->all.peak_reserved < b->all.peak_reserved;
    return a->keys < b->keys;
}

/* Sets *least to the lowest peak of those that meet the demands. */
static const struct tp_tune_setting *find_best(const struct tp_tune_setting *settings, size_t count,
                                               const struct demands *d, uint64_t *least)
{
    const struct tp_tune_setting *best = NULL;
    *least = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (meets(&settings[i], d) && settings[i].all.peak_reserved < *least)
            *least = settings[i].all.peak_reserved;
    for (size_t i = 0; i < count; i++) {
        const struct tp_tune_setting *s = &settings[i];
        if (meets(s, d) && tp_tune_is_about(s->all.peak_reserved, *least) &&
            (!best || is_better(s, best)))
            best = s;
    }
    return best;
}

/* Where all is well as it is, less memory is not worth the stops of a retry. */
static struct demands demands_of(const struct tp_tune_setting *settings, size_t count, bool older,
                                 const struct tp_tune_setting *base)
{
    bool well = base && is_choice(base, older) && fits(base);
    return (struct demands){.older = older,
                            .served = any_fits(settings, count, older),
                            .retries = well ? base->all.retries : UINT64_MAX};
}

/* What the others are compared with: the recorded setting, or else PyTorch's defaults. */
static const struct tp_tune_setting *find_base(const struct tp_tune_setting *settings, size_t count)
{
    const struct tp_tune_setting *base = NULL;
    for (size_t i = 0; i < count && !(base && base->recorded); i++)
        if (is_played(&settings[i]) && (settings[i].recorded || (!base && !settings[i].keys)))
            base = &settings[i];
    return base;
}

/* Whether nothing is gained by the change from one to the other. */
static bool is_as_good(const struct tp_tune_setting *base, const struct tp_tune_setting *best,
                       uint64_t least, struct tp_tune_case of)
{
    bool many = !of.mid_run && base->all.calls >= best->all.calls * CALLS_TIMES &&
                base->all.calls >= best->all.calls + CALLS_MORE;
    return is_choice(base, false) && tp_tune_is_about(base->all.peak_reserved, least) &&
           base->all.retries <= best->all.retries && !many;
}

static void count_choices(const struct tp_tune_setting *settings, size_t count, bool older,
                          struct tp_tune_answer *a)
{
    for (size_t i = 0; i < count; i++) {
        const struct tp_tune_setting *s = &settings[i];
        a->choices += is_choice(s, older);
        a->cheaper |= a->base && is_choice(s, older) && fits(s) &&
                      s->all.retries > a->base->all.retries &&
                      s->all.peak_reserved < a->base->all.peak_reserved;
    }
}

struct tp_tune_answer tp_tune_answer(const struct tp_tune_setting *settings, size_t count,
                                     struct tp_tune_case of)
{
    uint64_t least;
    struct tp_tune_answer a = {.base = find_base(settings, count)};
    const struct demands d = demands_of(settings, count, of.older, a.base);
    a.best = find_best(settings, count, &d, &least);
    count_choices(settings, count, of.older, &a);
    if (!a.base || !a.best) {
        a.verdict = TP_TUNE_UNKNOWN;
    } else if (!fits(a.best)) {
        a.verdict = of.too_big ? TP_TUNE_TOO_BIG : TP_TUNE_NONE;
    } else if (!fits(a.base)) {
        a.verdict = TP_TUNE_RESCUES;
    } else if (is_as_good(a.base, a.best, least, of)) {
        a.verdict = TP_TUNE_FINE;
        a.best = a.base;
    } else {
        a.verdict = TP_TUNE_SET;
    }
    return a;
}
