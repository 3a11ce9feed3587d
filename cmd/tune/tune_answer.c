/* Judges settings by what they did; see tune.h. Settings that start compacted are compared with the
 * recorded one from a compacted start: what they change there is added to what was recorded. */
#include "cmd/tune/tune.h"

#include <string.h>

/* More driver calls than this many times those of the base, and so many more, are not worth memory:
 * each is a stop of the device. So many fewer are worth a setting by themselves. */
enum { CALLS_TIMES = 2, CALLS_MORE = 16 };

/* What is judged, and what that is compared with. */
struct judging {
    const struct tp_tune_setting *settings;
    size_t count;
    const struct tp_tune_setting *base,
        *twin; /* NULL: there is none, or it could not be replayed */
    struct tp_tune_case of;
    bool served;      /* a request that fails is no choice, because some setting serves all */
    uint64_t retries; /* at most */
};

static bool is_replayed(const struct tp_tune_setting *s)
{
    return s->status == TP_OK;
}

/* The recorded setting, or else the defaults. */
static const struct tp_tune_setting *find_base(const struct judging *j)
{
    const struct tp_tune_setting *base = NULL;
    for (size_t i = 0; i < j->count && !(base && base->recorded); i++) {
        const struct tp_tune_setting *s = &j->settings[i];
        if (is_replayed(s) && !s->twin && (s->recorded || (!base && !s->keys)))
            base = s;
    }
    return base;
}

static const struct tp_tune_setting *find_twin(const struct judging *j)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->settings[i].twin && is_replayed(&j->settings[i]))
            return &j->settings[i];
    return NULL;
}

/* ---- what a setting is judged by ---- */

/* The twin, where the setting is to be compared with it; NULL: with the base. */
static const struct tp_tune_setting *twin_of(const struct judging *j,
                                             const struct tp_tune_setting *s)
{
    return s->compacted && !s->twin && j->base && !j->base->compacted ? j->twin : NULL;
}

/* a + b - c, at least 0 */
static uint64_t changed(uint64_t a, uint64_t b, uint64_t c)
{
    return a + b > c ? a + b - c : 0;
}

static struct tp_tune_figures score(const struct judging *j, const struct tp_tune_setting *s)
{
    const struct tp_tune_setting *twin = twin_of(j, s);
    struct tp_tune_figures f = s->all;
    if (!twin || !twin->all.peak_reserved || twin->all.failed)
        return f; /* a peak that ended with a failure says nothing */
    f.peak_reserved = (uint64_t)((double)j->base->all.peak_reserved * (double)f.peak_reserved /
                                 (double)twin->all.peak_reserved);
    f.calls = changed(j->base->all.calls, f.calls, twin->all.calls);
    f.retries = changed(j->base->all.retries, f.retries, twin->all.retries);
    return f;
}

static bool fits(const struct tp_tune_setting *s)
{
    return !s->all.failed;
}

/* From a compacted start the recorded setting fits too: that this one does says nothing. */
static bool is_untold(const struct judging *j, const struct tp_tune_setting *s)
{
    const struct tp_tune_setting *twin = twin_of(j, s);
    return twin && !fits(j->base) && fits(twin);
}

/* Whether a setting may be proposed at all. */
static bool is_choice(const struct judging *j, const struct tp_tune_setting *s)
{
    return is_replayed(s) && !s->twin && !s->danger && !(j->of.older && s->newer) &&
           !is_untold(j, s);
}

static bool meets(const struct judging *j, const struct tp_tune_setting *s)
{
    return is_choice(j, s) && (fits(s) || !j->served) && score(j, s).retries <= j->retries;
}

static struct judging judging_of(const struct tp_tune_setting *settings, size_t count,
                                 struct tp_tune_case of)
{
    struct judging j = {.settings = settings, .count = count, .of = of, .retries = UINT64_MAX};
    j.base = find_base(&j);
    j.twin = find_twin(&j);
    for (size_t i = 0; i < count; i++)
        j.served |= is_choice(&j, &settings[i]) && fits(&settings[i]);
    return j;
}

/* ---- the front ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

int tp_tune_reaches(const struct tp_tune_figures *a, const struct tp_tune_figures *b)
{
    int fewer = a->files > 1 ? compare(a->failed, b->failed) : 0;
    if (fewer)
        return fewer;
    if (a->failed_file != b->failed_file)
        return compare(b->failed_file, a->failed_file);
    return compare(b->first_failed_event, a->first_failed_event);
}

/* Above 0: `a` is better in a figure and worse in none; 0: they are equal; below: neither. */
static int beats(const struct judging *j, const struct tp_tune_setting *a,
                 const struct tp_tune_setting *b)
{
    struct tp_tune_figures x = score(j, a), y = score(j, b);
    if (!fits(a) || !fits(b))
        return fits(a) || fits(b) ? fits(a) - fits(b) : tp_tune_reaches(&x, &y);
    const int by[] = {compare(x.peak_reserved, y.peak_reserved), compare(x.calls, y.calls),
                      compare(x.retries, y.retries)};
    int better = 0;
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        if (by[i] < 0)
            return -1;
        better |= by[i];
    }
    return better;
}

/* Whether `b` makes way for `a`; `before`: it stands before it. */
static bool replaces(const struct judging *j, const struct tp_tune_setting *a,
                     const struct tp_tune_setting *b, bool before)
{
    int result = beats(j, a, b);
    return result > 0 || (result == 0 && (a->keys < b->keys || (a->keys == b->keys && before)));
}

/* A setting with which requests fail holds less for that reason, and is no choice beside one that
 * serves all. */
void tp_tune_front(struct tp_tune_setting *settings, size_t count, bool older)
{
    const struct judging j = judging_of(settings, count, (struct tp_tune_case){.older = older});
    for (size_t i = 0; i < count; i++) {
        struct tp_tune_setting *s = &settings[i];
        s->on_front = meets(&j, s) && !(older && s->newer);
        for (size_t k = 0; s->on_front && k < count; k++)
            if (k != i && is_choice(&j, &settings[k]))
                s->on_front = !replaces(&j, &settings[k], s, k < i);
    }
}

/* ---- choosing ---- */

/* Whether a setting is not paid for with many driver calls. */
static bool is_cheap(const struct judging *j, const struct tp_tune_setting *s)
{
    uint64_t calls = score(j, s).calls, was = j->base->all.calls;
    return j->of.mid_run || !fits(j->base) || calls <= was * CALLS_TIMES ||
           calls <= was + CALLS_MORE;
}

typedef bool better_fn(const struct judging *j, const struct tp_tune_setting *a,
                       const struct tp_tune_setting *b);

/* Retries that the base does not have. */
static uint64_t more_retries(const struct judging *j, const struct tp_tune_figures *f)
{
    return changed(f->retries, 0, j->base->all.retries);
}

/* Of two settings with about the same peak: no more retries, known to every release, short. */
static bool is_simpler(const struct judging *j, const struct tp_tune_setting *a,
                       const struct tp_tune_setting *b)
{
    struct tp_tune_figures x = score(j, a), y = score(j, b);
    if (more_retries(j, &x) != more_retries(j, &y))
        return more_retries(j, &x) < more_retries(j, &y);
    if (!a->newer != !b->newer)
        return !a->newer;
    if (a->keys != b->keys)
        return a->keys < b->keys;
    if (x.retries != y.retries)
        return x.retries < y.retries;
    return x.calls != y.calls ? x.calls < y.calls : x.peak_reserved < y.peak_reserved;
}

static bool is_smaller(const struct judging *j, const struct tp_tune_setting *a,
                       const struct tp_tune_setting *b)
{
    struct tp_tune_figures x = score(j, a), y = score(j, b);
    return x.peak_reserved != y.peak_reserved ? x.peak_reserved < y.peak_reserved
                                              : is_simpler(j, a, b);
}

static bool has_fewer_calls(const struct judging *j, const struct tp_tune_setting *a,
                            const struct tp_tune_setting *b)
{
    struct tp_tune_figures x = score(j, a), y = score(j, b);
    return x.calls != y.calls ? x.calls < y.calls : is_smaller(j, a, b);
}

/* Which settings are looked at: those with at most this peak, and so many keys. */
struct choosing {
    uint64_t peak;
    size_t keys;
    bool cheap;
};

static const struct tp_tune_setting *choose(const struct judging *j, struct choosing c,
                                            better_fn *is_better)
{
    const struct tp_tune_setting *best = NULL;
    for (size_t i = 0; i < j->count; i++) {
        const struct tp_tune_setting *s = &j->settings[i];
        if (meets(j, s) && s->keys <= c.keys && score(j, s).peak_reserved <= c.peak &&
            (!c.cheap || is_cheap(j, s)) && (!best || is_better(j, s, best)))
            best = s;
    }
    return best;
}

static const struct choosing any = {UINT64_MAX, SIZE_MAX, false};

static uint64_t with_noise(uint64_t peak)
{
    return peak + (uint64_t)((double)peak * TP_TUNE_NOISE);
}

/* The one to set: of those that cost few driver calls, the simplest with about the least peak. Of
 * settings that all fail the one that reaches farthest. */
static const struct tp_tune_setting *find_best(const struct judging *j)
{
    struct choosing c = {.peak = UINT64_MAX, .keys = SIZE_MAX, .cheap = true};
    const struct tp_tune_setting *best = choose(j, c, is_smaller);
    if (!best || !fits(best)) {
        for (size_t i = 0; i < j->count; i++)
            if (meets(j, &j->settings[i]) && (!best || beats(j, &j->settings[i], best) > 0))
                best = &j->settings[i];
        return best;
    }
    c.peak = with_noise(score(j, best).peak_reserved);
    return choose(j, c, is_simpler);
}

/* ---- the answer ---- */

static double gain_of(const struct judging *j, const struct tp_tune_setting *s)
{
    double was = (double)j->base->all.peak_reserved;
    return was > 0 ? 1 - (double)score(j, s).peak_reserved / was : 0;
}

/* The share of what was really held, if that is less than the base's peak. */
static double real_gain_of(const struct judging *j, const struct tp_tune_setting *s)
{
    uint64_t did = j->base->recorded ? j->of.did : 0;
    double gain = gain_of(j, s);
    return did && did < j->base->all.peak_reserved
               ? 1 - (1 - gain) * (double)j->base->all.peak_reserved / (double)did
               : gain;
}

/* Whether so little is gained by the change from the base that it is no advice. */
static bool is_as_good(const struct judging *j, const struct tp_tune_setting *best)
{
    uint64_t was = j->base->all.calls, is = score(j, best).calls;
    bool fewer = !j->of.mid_run && was >= is * CALLS_TIMES && was >= is + CALLS_MORE;
    return is_choice(j, j->base) && real_gain_of(j, best) < TP_TUNE_GAIN &&
           j->base->all.retries <= score(j, best).retries && !fewer;
}

static void count_choices(const struct judging *j, struct tp_tune_answer *a)
{
    for (size_t i = 0; i < j->count; i++) {
        const struct tp_tune_setting *s = &j->settings[i];
        bool choice = is_choice(j, s);
        a->choices += choice;
        a->untold |= is_replayed(s) && !s->twin && is_untold(j, s) && fits(s);
        a->cheaper |= a->base && choice && fits(s) && score(j, s).retries > a->base->all.retries &&
                      score(j, s).peak_reserved < a->base->all.peak_reserved;
    }
}

/* The three answers where all is served; each is one that could be set. */
static void name(const struct judging *j, struct tp_tune_answer *a)
{
    a->named[TP_TUNE_LEAST_MEMORY] = choose(j, any, is_smaller);
    a->named[TP_TUNE_FEWEST_CALLS] =
        choose(j, (struct choosing){with_noise(a->base->all.peak_reserved), SIZE_MAX, false},
               has_fewer_calls);
    a->named[TP_TUNE_SIMPLEST] =
        choose(j,
               (struct choosing){with_noise(score(j, a->named[TP_TUNE_LEAST_MEMORY]).peak_reserved),
                                 1, false},
               is_simpler);
}

static enum tp_tune_verdict judge(const struct judging *j, struct tp_tune_answer *a)
{
    if (!a->base)
        return TP_TUNE_UNKNOWN;
    if (j->of.unfaithful || a->refused)
        return TP_TUNE_UNFAITHFUL;
    bool fails = !fits(a->base);
    if (a->base->recorded && fails != j->of.ran_out && (!fails || j->of.inferred))
        return TP_TUNE_UNTOLD;
    if (!a->best || !fits(a->best))
        return j->of.too_big ? TP_TUNE_TOO_BIG : TP_TUNE_NONE;
    a->gain = gain_of(j, a->best);
    if (!fits(a->base))
        return TP_TUNE_RESCUES;
    name(j, a);
    if (!is_as_good(j, a->best))
        return TP_TUNE_SET;
    a->best = a->base;
    a->gain = real_gain_of(j, choose(j, (struct choosing){UINT64_MAX, SIZE_MAX, true}, is_smaller));
    if (real_gain_of(j, a->named[TP_TUNE_LEAST_MEMORY]) < TP_TUNE_GAIN)
        memset(a->named, 0, sizeof a->named);
    return TP_TUNE_FINE;
}

struct tp_tune_answer tp_tune_answer(const struct tp_tune_setting *settings, size_t count,
                                     struct tp_tune_case of)
{
    struct judging j = judging_of(settings, count, of);
    struct tp_tune_answer a = {.base = j.base, .twin = j.twin};
    /* where all is well as it is, less memory is not worth the stops of a retry */
    if (j.base && is_choice(&j, j.base) && fits(j.base))
        j.retries = j.base->all.retries;
    a.best = j.base ? find_best(&j) : NULL;
    count_choices(&j, &a);
    for (size_t i = 0; i < count; i++)
        if (settings[i].recorded && !settings[i].twin && !is_replayed(&settings[i]))
            a.refused = &settings[i];
    a.farthest = a.best;
    a.verdict = judge(&j, &a);
    if (a.verdict != TP_TUNE_FINE && !tp_tune_is_order(&a))
        a.best = NULL;
    return a;
}
