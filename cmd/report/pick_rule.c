/* See pick.h. Each step removes strategies. The figure of the last step that removed any is the
 * reason why the rest is picked. The reason names a rival: a strategy that is worse than the pick
 * in that figure. */
#include "cmd/report/pick_field.h"
#include "cmd/ui/table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define TIME_NAME  "ns/op" /* column by which speed is judged */
#define FAR        2.0     /* a strategy that held this factor more saved calls unfairly */
#define MANY_CALLS 0.001   /* a smaller difference in calls per operation costs nothing */
#define LESS       0.99    /* memory below this share of the pick's is worth a sentence */

enum { INDENT = 6 };

/* ---- the figures that decide ---- */

static double peak_of(const struct tp_pick_field *f, size_t i)
{
    return tp_pick_choice(f, i)->peak;
}

static double calls_of(const struct tp_pick_field *f, size_t i)
{
    return f->q->loop ? tp_pick_choice(f, i)->calls_later : tp_pick_choice(f, i)->calls_first;
}

static double time_of(const struct tp_pick_field *f, size_t i)
{
    return tp_pick_choice(f, i)->ns;
}

typedef double figure_fn(const struct tp_pick_field *f, size_t i);

/* The least value of the strategies that are still in. */
static double least(const struct tp_pick_field *f, figure_fn *figure)
{
    double value = INFINITY;
    for (size_t i = 0; i < f->count; i++)
        value = f->in[i] ? fmin(value, figure(f, i)) : value;
    return value;
}

static bool is_known(const struct tp_pick_field *f, figure_fn *figure)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->in[i] && isnan(figure(f, i)))
            return false;
    return true;
}

/* ---- the steps ---- */

static void not_serving(const struct tp_pick_field *f, bool *out)
{
    for (size_t i = 0; i < f->count; i++)
        out[i] =
            tp_pick_choice(f, i)->reference || tp_pick_choice(f, i)->failed || isnan(peak_of(f, i));
}

static void unsafe(const struct tp_pick_field *f, bool *out)
{
    for (size_t i = 0; i < f->count; i++)
        out[i] = tp_pick_choice(f, i)->unsafe;
}

static void aged(const struct tp_pick_field *f, bool *out)
{
    for (size_t i = 0; i < f->count; i++)
        out[i] = tp_pick_choice(f, i)->aged;
}

static void region(const struct tp_pick_field *f, bool *out)
{
    for (size_t i = 0; i < f->count; i++)
        out[i] = tp_pick_choice(f, i)->region && f->q->frees;
}

static void too_small(const struct tp_pick_field *f, bool *out)
{
    bool any = false;
    for (size_t i = 0; i < f->count; i++)
        any |= f->in[i] && tp_pick_choice(f, i)->small;
    for (size_t i = 0; i < f->count; i++)
        out[i] = any;
}

static void large(const struct tp_pick_field *f, bool *out)
{
    double need = least(f, tp_pick_need), peak = INFINITY;
    for (size_t i = 0; i < f->count; i++) {
        out[i] = tp_pick_need(f, i) > TP_PICK_CLOSE * need;
        if (f->in[i] && !out[i])
            peak = fmin(peak, peak_of(f, i));
    }
    for (size_t i = 0; i < f->count; i++)
        out[i] |= peak_of(f, i) > FAR * peak;
}

static void calling(const struct tp_pick_field *f, bool *out)
{
    double fewest = least(f, calls_of);
    if (!f->q->strategy_time || !is_known(f, calls_of))
        return;
    for (size_t i = 0; i < f->count; i++)
        out[i] = calls_of(f, i) > TP_PICK_CLOSE * fewest &&
                 calls_of(f, i) - fewest >= MANY_CALLS * f->q->operations;
}

static void slow(const struct tp_pick_field *f, bool *out)
{
    double change;
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < f->count && !out[i]; j++)
            out[i] = f->in[j] && tp_pick_is_faster(f, j, i, &change);
}

static void holding(const struct tp_pick_field *f, bool *out)
{
    for (size_t i = 0; i < f->count; i++)
        out[i] = peak_of(f, i) > TP_PICK_CLOSE * least(f, peak_of);
}

enum { SERVING, SAFE, PACKED, SINGLE, TELLING, SMALL, FEW_CALLS, FAST, LOW_PEAK, STEPS };
static_assert(SMALL + 1 == TP_PICK_DECIDING, "as the help counts");

static const struct step {
    void (*let_go)(const struct tp_pick_field *f, bool *out); /* sets `out`, which is all false */
    bool not_all;      /* the step is skipped if it would remove all strategies */
    figure_fn *figure; /* finds the best of the removed strategies; NULL: the step has no figure */
    const char *rule;
} steps[STEPS] = {
    [SERVING] =
        {not_serving, false, NULL,
         "leave out strategies with failed allocations, references (direct, recorded) and those "
         "that do not report their memory"},
    [SAFE] = {unsafe, true, NULL,
              "leave out strategies that reuse memory on which another stream may still work "
              "(unsafe-reuse), unless all do"},
    [PACKED] = {aged, true, NULL,
                "leave out strategies that began with the recorded heap (torch) if others began "
                "compacted"},
    [SINGLE] =
        {region, true, NULL,
         "leave out regions (bump) if the trace frees single objects, unless no other strategy "
         "is left"},
    [TELLING] = {too_small, false, NULL,
                 "pick none if the warning small-trace applies to one of the rest"},
    [SMALL] =
        {large, false, tp_pick_need,
         "keep those within 5% of the lowest min capacity (if not known for all: of the lowest "
         "peak reserved) whose peak reserved is at most twice the lowest of these"},
    [FEW_CALLS] =
        {calling, false, calls_of,
         "on a virtual GPU, keep those with the fewest driver calls: a difference counts if it is "
         "5% or more, and 1 in 1,000 operations of the trace. If the trace is one period of a loop "
         "(as much is live at the end as at the start), warm driver calls count"},
    [FAST] = {slow, false, time_of,
              "on a real GPU, keep those that no other is 5% faster than, with 95% CIs that do not "
              "overlap; in compare: by its test"},
    [LOW_PEAK] = {holding, false, peak_of, "keep those within 5% of the lowest peak reserved"},
};

const char *tp_pick_rule(size_t n)
{
    return n < STEPS ? steps[n].rule : NULL;
}

static void take_step(struct tp_pick_field *f, size_t step)
{
    bool out[TP_PICK_MAX] = {false};
    size_t left = tp_pick_count_in(f);
    steps[step].let_go(f, out);
    for (size_t i = 0; i < f->count; i++)
        left -= f->in[i] && out[i];
    for (size_t i = 0; (left || !steps[step].not_all) && i < f->count; i++) {
        f->left_at[i] = f->in[i] && out[i] ? step : f->left_at[i];
        f->in[i] &= !out[i];
    }
}

/* ---- words ---- */

static void say_joint(size_t said, size_t parts, char *text)
{
    const char *joint = said + 1 < parts ? ", " : " and ";
    tp_pick_say(text, "%s", said ? joint : " ");
}

/* "vs lru: torch -0.3%, arena +0.6%" */
static void say_memories(const struct tp_pick_field *f, size_t rival, char *text)
{
    const char *joint = ":";
    tp_pick_say(text, ", %s vs %s", tp_pick_need_name(f), tp_pick_choice(f, rival)->label);
    for (size_t i = 0; i < f->count; i++) {
        double change = tp_pick_need(f, i) / tp_pick_need(f, rival) - 1;
        if (!f->in[i])
            continue;
        tp_pick_say(text, "%s %s %s", joint, tp_pick_choice(f, i)->label,
                    change == 0 ? "same" : tp_change(change).s);
        joint = ",";
    }
}

/* "but min capacity 1.0% higher"; of several picked strategies that of each. */
static void say_memory(const struct tp_pick_field *f, size_t pick, size_t rival, char *text)
{
    double change = tp_pick_need(f, pick) / tp_pick_need(f, rival) - 1;
    if (f->in[pick] && tp_pick_count_in(f) > 1) {
        say_memories(f, rival, text);
        return;
    }
    struct tp_text by = tp_change(fabs(change));
    tp_pick_say(text, ", %s%s%s", change > 0 ? "but " : "", change == 0 ? "same " : "",
                tp_pick_need_name(f));
    if (change != 0)
        tp_pick_say(text, " %s %s", by.s + (by.s[0] == '+'), change > 0 ? "higher" : "lower");
}

static void say_less(const struct tp_pick_field *f, size_t pick, size_t rival, char *text)
{
    bool fits = f->fits && tp_pick_need(f, rival) > TP_PICK_CLOSE * tp_pick_need(f, pick);
    figure_fn *figure = fits ? tp_pick_need : peak_of;
    double change;
    tp_pick_say(text, "%s %s vs %s of %s (%s)", fits ? "min capacity" : "peak reserved",
                tp_pick_bytes(f, figure(f, pick)).s, tp_pick_bytes(f, figure(f, rival)).s,
                tp_pick_choice(f, rival)->label,
                tp_change(figure(f, pick) / figure(f, rival) - 1).s);
    if (tp_pick_is_faster(f, pick, rival, &change))
        tp_pick_say(text, ", %s %s", TIME_NAME, tp_change(change).s);
    else if (tp_pick_is_faster(f, rival, pick, &change))
        tp_pick_say(text, ", but %s %s", TIME_NAME, tp_change(1 / (1 + change) - 1).s);
}

/* Compares the calls of pick and rival. The calls were counted with unlimited memory, so the text
 * adds the peak if it is far above what the pick fits in. */
static void say_calls(const struct tp_pick_field *f, size_t pick, size_t rival, char *text)
{
    const char *callee = f->q->callee;
    double peak = peak_of(f, pick), calls = calls_of(f, pick);
    size_t said = 0, left = tp_pick_count_in(f);
    for (size_t i = 0; i < f->count; i++)
        if (f->in[i]) {
            say_joint(said++, left, text);
            tp_pick_say(text, "%s",
                        calls_of(f, i) > 0 ? tp_count((uint64_t)calls_of(f, i)).s : "no");
        }
    tp_pick_say(text, " %s%s call%s", f->q->loop ? "warm " : "", callee,
                left == 1 && calls == 1 ? "" : "s");
    if (peak > TP_PICK_CLOSE * tp_pick_need(f, pick))
        tp_pick_say(text, " (peak reserved %s)", tp_pick_bytes(f, peak).s);
    tp_pick_say(text, " vs %s of %s", tp_count((uint64_t)calls_of(f, rival)).s,
                tp_pick_choice(f, rival)->label);
    if (f->q->strategy_time && tp_pick_choice(f, rival)->ns < tp_pick_choice(f, pick)->ns)
        tp_pick_say(text, " (their time is not in ns/op)");
    say_memory(f, pick, rival, text);
}

static void say_time(const struct tp_pick_field *f, size_t pick, size_t rival, char *text)
{
    double change;
    tp_pick_is_faster(f, pick, rival, &change);
    tp_pick_say(text, "%s %s vs %s", TIME_NAME, tp_change(change).s,
                tp_pick_choice(f, rival)->label);
    say_memory(f, pick, rival, text);
}

/* The first picked strategy that is faster than the rival, as not all of them need to be; f->count:
 * none. */
static size_t find_faster_than(const struct tp_pick_field *f, size_t rival)
{
    double change;
    for (size_t i = 0; i < f->count; i++)
        if (f->in[i] && tp_pick_is_faster(f, i, rival, &change))
            return i;
    return f->count;
}

/* Whether a strategy can be the rival in the reason: figures have removed it, and if it was for its
 * time, a picked strategy is faster. The faster one may have been removed later. */
static bool is_rival(const struct tp_pick_field *f, size_t i)
{
    return i < f->count && !f->in[i] && f->left_at[i] >= SMALL &&
           (f->left_at[i] != FAST || find_faster_than(f, i) < f->count);
}

/* The rival in the reason. It is the base if possible, because that is the strategy that people
 * use. Otherwise it is the best of the strategies that the last step removed, by the figure of the
 * step.
 */
static size_t find_rival(const struct tp_pick_field *f)
{
    size_t rival = f->count, last = 0;
    if (is_rival(f, f->q->base))
        return f->q->base;
    for (size_t i = 0; i < f->count; i++)
        last = !f->in[i] && f->left_at[i] > last ? f->left_at[i] : last;
    for (size_t i = 0; i < f->count; i++) {
        figure_fn *figure = steps[last].figure;
        if (f->in[i] || f->left_at[i] != last)
            continue;
        if (rival == f->count || figure(f, i) < figure(f, rival))
            rival = i;
    }
    return rival;
}

/* The picked strategy whose figures are shown: the one that needs the least memory. */
static size_t find_speaker(const struct tp_pick_field *f)
{
    size_t speaker = f->count;
    for (size_t i = 0; i < f->count; i++)
        if (f->in[i] && (speaker == f->count || tp_pick_need(f, i) < tp_pick_need(f, speaker)))
            speaker = i;
    return speaker;
}

static void say_reason(const struct tp_pick_field *f, char *text)
{
    typedef void words_fn(const struct tp_pick_field *, size_t, size_t, char *);
    static words_fn *const words[STEPS] = {
        [SMALL] = say_less, [FEW_CALLS] = say_calls, [FAST] = say_time, [LOW_PEAK] = say_less};
    size_t rival = find_rival(f), step = f->left_at[rival];
    size_t speaker = step == FAST ? find_faster_than(f, rival) : find_speaker(f);
    tp_pick_say(text, step == FEW_CALLS ? ":" : ": ");
    if (tp_pick_count_in(f) > 1 && step != FEW_CALLS)
        tp_pick_say(text, "%s has ", tp_pick_choice(f, speaker)->label);
    words[step](f, speaker, rival, text);
}

/* The strategies that are out, by what they lack. */
struct pick_out {
    size_t failed, references, at[STEPS];
};

static struct pick_out count_out(const struct tp_pick_field *f)
{
    struct pick_out n = {.failed = 0};
    for (size_t i = 0; i < f->count; i++) {
        const struct tp_choice *c = tp_pick_choice(f, i);
        n.failed += c->failed;
        n.references += c->reference && !c->failed;
        if (!c->reference && !c->failed && !f->in[i] && f->left_at[i] < STEPS)
            n.at[f->left_at[i]]++;
    }
    return n;
}

/* Says what the picked strategies have and all others lack, references excluded: ": the only
 * strategy here that serves every allocation and respects streams". `left` is the number of picked
 * strategies. */
static void say_only(const struct tp_pick_field *f, size_t left, char *text)
{
    static const struct {
        int step;
        const char *verb, *rest;
    } lacks[] = {{SERVING, "report", " memory"},
                 {SAFE, "respect", " streams"},
                 {PACKED, "begin", " compacted"},
                 {SINGLE, "reuse", " single freed blocks"}};
    enum { LACKS = sizeof lacks / sizeof *lacks };
    const char *s = left == 1 ? "s" : "";
    const struct pick_out n = count_out(f);
    bool limited = n.failed && !isnan(f->q->capacity);
    size_t parts = n.failed > 0;
    for (size_t i = 0; i < LACKS; i++)
        parts += n.at[lacks[i].step] > 0;
    if (left > 1)
        tp_pick_say(text, ": no relevant difference between them%s", parts ? "; " : "");
    else if (!parts)
        tp_pick_say(text, ": the others here are references");
    else
        tp_pick_say(text, ": ");
    if (!parts)
        return;
    if (left == 1 && limited && n.failed + 1 == f->count)
        tp_pick_say(text, "the only one of the %zu that", f->count);
    else
        tp_pick_say(text, "the only strateg%s here that", left == 1 ? "y" : "ies");
    size_t said = 0;
    if (n.failed) {
        say_joint(said++, parts, text);
        if (limited)
            tp_pick_say(text, "fit%s in %s", s, tp_pick_bytes(f, f->q->capacity).s);
        else
            tp_pick_say(text, "serve%s every allocation", s);
    }
    for (size_t i = 0; i < LACKS; i++)
        if (n.at[lacks[i].step]) {
            say_joint(said++, parts, text);
            tp_pick_say(text, "%s%s%s", lacks[i].verb, s, lacks[i].rest);
        }
    if (n.references) /* a reference has these properties too */
        tp_pick_say(text, ", references excluded");
}

/* Says why nothing is picked: ", every strategy here failed or is a reference". */
static void say_none(const struct tp_pick_field *f, char *text)
{
    bool lacks[3] = {false};
    static const char *const words[3] = {"failed", "is a reference", "does not report its memory"};
    size_t left = 0, said = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct tp_choice *c = tp_pick_choice(f, i);
        lacks[0] |= c->failed;
        lacks[1] |= !c->failed && c->reference;
        lacks[2] |= !c->failed && !c->reference;
    }
    for (size_t i = 0; i < 3; i++)
        left += lacks[i];
    tp_pick_say(text, ", every strategy here ");
    for (size_t i = 0; i < 3; i++)
        if (lacks[i]) {
            const char *joint = ++said < left ? ", " : " or ";
            tp_pick_say(text, "%s%s", said > 1 ? joint : "", words[i]);
        }
}

/* ---- strategies for other goals ---- */

static bool may_be_picked(const struct tp_pick_field *f, size_t i)
{
    return f->in[i] || f->left_at[i] >= SMALL;
}

static void say_quicker(const struct tp_pick_field *f, size_t pick, char *text)
{
    size_t quick = f->count;
    double change, best = 0;
    for (size_t i = 0; i < f->count; i++)
        if (may_be_picked(f, i) && tp_pick_is_faster(f, i, pick, &change) && change < best) {
            quick = i;
            best = change;
        }
    if (quick == f->count)
        return;
    tp_pick_say(text, "Fastest: %s, %s %s", tp_pick_choice(f, quick)->label, TIME_NAME,
                tp_change(best).s);
    say_memory(f, quick, pick, text);
}

static void say_smaller(const struct tp_pick_field *f, size_t pick, char *text)
{
    double need = INFINITY;
    size_t found = 0;
    for (size_t i = 0; i < f->count; i++)
        need = may_be_picked(f, i) ? fmin(need, tp_pick_need(f, i)) : need;
    if (need > LESS * tp_pick_need(f, pick))
        return;
    tp_pick_say(text, "Smallest: ");
    for (size_t i = 0; i < f->count; i++)
        if (may_be_picked(f, i) && tp_pick_need(f, i) == need)
            tp_pick_say(text, "%s%s", found++ ? " or " : "", tp_pick_choice(f, i)->label);
    tp_pick_say(text, ", %s %s vs %s (%s)", tp_pick_need_name(f), tp_pick_bytes(f, need).s,
                tp_pick_bytes(f, tp_pick_need(f, pick)).s,
                tp_change(need / tp_pick_need(f, pick) - 1).s);
}

/* ---- the result ---- */

/* Whether a strategy other than a reference was excluded before figures decided. */
static bool is_limited_choice(const struct tp_pick_field *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (!f->in[i] && f->left_at[i] < SMALL && !tp_pick_choice(f, i)->reference)
            return true;
    return false;
}

static void answer(struct tp_pick_field *f, size_t eligible, struct tp_pick *out)
{
    size_t left = tp_pick_count_in(f);
    if (left > TP_PICK_TIED || (left == eligible && left > 1 && !is_limited_choice(f))) {
        tp_pick_say(out->head, "Pick: no relevant difference");
        return;
    }
    tp_pick_fill(f, out);
    if (left == eligible)
        say_only(f, left, out->reason);
    else
        say_reason(f, out->reason);
    size_t speaker = find_speaker(f);
    say_quicker(f, speaker, out->other[0]);
    say_smaller(f, speaker, out->other[1]);
}

void tp_pick(const struct tp_pick_question *q, struct tp_pick *out)
{
    struct tp_pick_field f = {.q = q, .count = q->count < TP_PICK_MAX ? q->count : TP_PICK_MAX};
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < f.count; i++)
        f.in[i] = true;
    for (size_t s = 0; s < TELLING; s++)
        take_step(&f, s);
    size_t serving = tp_pick_count_in(&f);
    take_step(&f, TELLING);
    size_t eligible = tp_pick_count_in(&f);
    if (!eligible) {
        tp_pick_say(out->head, "Pick: none");
        if (serving)
            tp_pick_say(out->reason, ", this trace is too small to tell (small-trace)");
        else
            say_none(&f, out->reason);
        return;
    }
    f.fits = true;
    for (size_t i = 0; i < f.count; i++)
        f.fits &= !f.in[i] || !isnan(tp_pick_choice(&f, i)->min_capacity);
    if (f.q->host && eligible > 1) {
        tp_pick_on_host(&f, out);
        return;
    }
    for (size_t s = SMALL; s < STEPS; s++)
        take_step(&f, s);
    answer(&f, eligible, out);
}

void tp_pick_print(const struct tp_pick *pick, struct tp_page *page)
{
    tp_page_styled(page, 0, TP_BOLD, "%s", pick->head);
    tp_page_more(page, INDENT, "%s", pick->reason);
    tp_page_line(page);
    for (size_t i = 0; i < 2; i++)
        if (pick->other[i][0])
            tp_page_put(page, pick->pair ? 0 : INDENT, "%s%s", pick->other[i],
                        pick->pair ? "" : ".");
}

void tp_pick_text(const struct tp_pick *pick, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s%s%s", pick->head, pick->reason, pick->other[0][0] ? ". " : "",
             pick->other[0], pick->other[1][0] ? ". " : "", pick->other[1]);
}

void tp_pick_figure(const struct tp_pick *pick, struct tp_table *t)
{
    int name = (int)strcspn(pick->head, ": ");
    const char *behind = pick->head + name;
    if (*pick->head)
        tp_table_figure(t, tp_text_of("%.*s", name, pick->head).s, behind + strspn(behind, ": "),
                        "");
}
