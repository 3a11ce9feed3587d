/* The sentence that answers; see tune.h. */
#include "cmd/tune/tune.h"

#include "cmd/tune/tunable.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <string.h>

const char *const tp_tune_verdicts[] = {
    [TP_TUNE_SET] = "set",         [TP_TUNE_RESCUES] = "rescues",
    [TP_TUNE_FINE] = "fine",       [TP_TUNE_TOO_BIG] = "too_big",
    [TP_TUNE_NONE] = "none",       [TP_TUNE_UNTOLD] = "untold",
    [TP_TUNE_UNKNOWN] = "unknown", [TP_TUNE_UNFAITHFUL] = "unfaithful"};

const char *const tp_tune_names[TP_TUNE_NAMED] = {[TP_TUNE_LEAST_MEMORY] = "least memory",
                                                  [TP_TUNE_FEWEST_CALLS] = "fewest driver calls",
                                                  [TP_TUNE_SIMPLEST] = "simplest"};

/* ---- another setting ---- */

const char *tp_tune_variable(const struct tp_tune *t)
{
    const char *name = NULL;
    for (size_t i = 0; t->target->variable && i < t->file_count; i++)
        name = t->target->variable(&t->files[i].trace.meta, name);
    return name;
}

void tp_tune_order(const struct tp_tune *t, const struct tp_tune_answer *a, struct tp_str *out)
{
    const char *kept = tp_str_text(&t->kept);
    struct tp_str text = {0};
    tp_str_add(&text, "%s%s%s", a->best->conf, a->best->keys && *kept ? "," : "", kept);
    t->target->order(&t->files[0].trace.meta, tp_tune_variable(t), tp_str_text(&text), out);
    tp_str_drop(&text);
}

/* "-13.6%"; a change that rounds to nothing has no sign. */
static struct tp_text change_of(double gain)
{
    return tp_text_of("%+.1f%%", fabs(gain) < 0.0005 ? 0.0 : -100 * gain);
}

void tp_tune_effect(const struct tp_tune_answer *a, bool exact, struct tp_str *out)
{
    const struct tp_tune_setting *from = tp_tune_base_of(a, a->best);
    const struct tp_tune_figures *was = &from->all, *is = &a->best->all;
    if (from != a->base)
        tp_str_add(out, "estimate from a compacted start: ");
    if (was->failed)
        tp_str_add(out, "%s reserved", tp_bytes(is->peak_reserved, exact).s);
    else if (fabs(a->gain) < TP_TUNE_NOISE)
        tp_str_add(out, "about as much reserved, %s", tp_bytes(is->peak_reserved, exact).s);
    else
        tp_str_add(out, "%s -> %s reserved (%s)", tp_bytes(was->peak_reserved, exact).s,
                   tp_bytes(is->peak_reserved, exact).s, change_of(a->gain).s);
    if (!was->failed && was->calls != is->calls)
        tp_str_add(out, ", %s instead of %s", tp_count(is->calls).s,
                   tp_plural(was->calls, "driver call").s);
    if (!was->failed && was->retries != is->retries)
        tp_str_add(out, ", %s instead of %s", tp_count(is->retries).s,
                   tp_plural(was->retries, "retry").s);
    if (a->verdict == TP_TUNE_RESCUES)
        tp_str_add(out, ", without running out of memory");
}

/* ---- the largest figures ---- */

static struct tp_text peak_label(const struct tp_tune_setting *s)
{
    return tp_text_of("peak reserved, %s%s", s->recorded ? "as recorded" : "defaults",
                      s->compacted ? ", compacted start" : "");
}

static void add_order_figures(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                              struct tp_table *out)
{
    static const char set[] = "Set ";
    const struct tp_tune_setting *from = tp_tune_base_of(a, a->best);
    struct tp_str order = {0};
    tp_tune_order(t, a, &order);
    const char *text = tp_str_text(&order);
    text += strncmp(text, set, sizeof set - 1) ? 0 : sizeof set - 1;
    tp_table_figure(out, peak_label(from).s,
                    from->all.failed ? "OOM" : tp_bytes(from->all.peak_reserved, exact).s,
                    from->all.failed ? "bad" : "");
    tp_table_figure(out, "peak reserved, best", tp_bytes(a->best->all.peak_reserved, exact).s, "");
    if (!from->all.failed)
        tp_table_figure(out, "change", change_of(a->gain).s, a->gain > 0 ? "good" : "");
    tp_table_figure(out, "setting", text, "code");
    tp_str_drop(&order);
}

void tp_tune_figures(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                     struct tp_table *out)
{
    static const char *const words[] = {[TP_TUNE_FINE] = "keep the setting",
                                        [TP_TUNE_TOO_BIG] = "no setting avoids the OOM",
                                        [TP_TUNE_NONE] = "no setting avoids the OOM",
                                        [TP_TUNE_UNTOLD] = "not known",
                                        [TP_TUNE_UNFAITHFUL] = "no advice",
                                        [TP_TUNE_UNKNOWN] = "not known"};
    if (tp_tune_is_order(a)) {
        add_order_figures(t, a, exact, out);
        return;
    }
    tp_table_figure(out, "verdict", words[a->verdict], "");
    if (a->base && a->base->status == TP_OK && !a->base->all.failed)
        tp_table_figure(out, peak_label(a->base).s, tp_bytes(a->base->all.peak_reserved, exact).s,
                        "");
    tp_table_figure(out, "lower bound", tp_bytes(tp_tune_largest(t)->live, exact).s, "");
    if (tp_tune_largest(t)->packed)
        tp_table_figure(out, "best packing", tp_bytes(tp_tune_largest(t)->packed, exact).s, "");
}

/* ---- none ---- */

static void add_keep(const struct tp_tune *t, const struct tp_tune_answer *a, struct tp_str *out)
{
    if (!a->base->keys && !(a->base->recorded && t->recorded_differs))
        tp_str_add(out, "Keep the defaults");
    else
        tp_str_add(out, "Keep the recorded setting");
    if (a->choices == 1)
        tp_str_add(out, ": no other setting could be tried");
    else if (a->gain < 0.0005)
        tp_str_add(out, ": none of %s reserves less", tp_plural(a->choices, "setting").s);
    else
        tp_str_add(out, " (best of %s: %s)", tp_plural(a->choices, "setting").s,
                   change_of(a->gain).s);
    if (a->choices > 1 && a->cheaper)
        tp_str_add(out, " without more retries");
    else if (a->choices > 1 && a->named[TP_TUNE_LEAST_MEMORY])
        tp_str_add(out, " without many more driver calls");
}

/* The file whose program needs more than its device has. */
static const struct tp_tune_file *find_too_big(const struct tp_tune *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        if (t->files[i].capacity && t->files[i].live > t->files[i].capacity)
            return &t->files[i];
    return tp_tune_largest(t);
}

static void add_too_big(const struct tp_tune *t, bool exact, struct tp_str *out)
{
    const struct tp_tune_file *most = find_too_big(t);
    tp_str_add(out,
               "No setting avoids the OOM: at event %s, %s are requested, "
               "and the device has %s",
               tp_count(most->live_event).s, tp_bytes(most->live, exact).s,
               tp_bytes(most->capacity, exact).s);
}

static void add_none(const struct tp_tune *t, const struct tp_tune_answer *a, struct tp_str *out)
{
    const struct tp_tune_setting *s = a->farthest;
    tp_str_add(out, "No setting tried avoids the OOM");
    if (s && t->file_count == 1 && s->all.first_failed_event > a->base->all.first_failed_event)
        tp_str_add(out, ": the best, %s, reaches event %s instead of %s", s->conf,
                   tp_count(s->all.first_failed_event).s,
                   tp_count(a->base->all.first_failed_event).s);
    if (a->untold)
        tp_str_add(
            out,
            ". Some do from a compacted start, but so does the recorded setting: record from the "
            "first step to find out");
}

/* The file of which the rules reproduce least. */
static const struct tp_tune_file *least_faithful(const struct tp_tune *t)
{
    const struct tp_tune_file *worst = NULL;
    double least = 2;
    for (size_t i = 0; i < t->file_count; i++) {
        const struct tp_fidelity *how = &t->files[i].fidelity;
        double share = how->addresses ? (double)how->good_addresses / (double)how->addresses : 1;
        if (share >= least)
            continue;
        least = share;
        worst = &t->files[i];
    }
    return worst;
}

/* The file of which nothing could be compared; NULL: there is none. */
static const struct tp_tune_file *uncompared(const struct tp_tune *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        if (t->files[i].compared && !t->files[i].fidelity.addresses)
            return &t->files[i];
    return NULL;
}

/* The file whose program changed the kind of its segments; NULL: there is none. */
static const struct tp_tune_file *find_switched(const struct tp_tune *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        if (t->files[i].fidelity.switches)
            return &t->files[i];
    return NULL;
}

static void add_unfaithful(const struct tp_tune *t, const struct tp_tune_answer *a,
                           struct tp_str *out)
{
    const struct tp_tune_file *f = uncompared(t);
    const char *strategy = t->target->of->strategy->name;
    if (a->refused) {
        tp_str_add(out, "No advice: the recorded setting cannot be replayed: %s",
                   a->refused->err.text);
        return;
    }
    if (f) {
        tp_str_add(out,
                   "No advice: the addresses of %s could not be compared with the rules of %s, "
                   "which takes a whole snapshot, and a file",
                   f->trace.file, strategy);
        return;
    }
    f = find_switched(t);
    if (f) {
        tp_str_add(out,
                   "No advice: the segments of %s show that %s changed %s while "
                   "the program ran, and a replay with one setting is another run; 'tapool replay "
                   "-s %s:%s={A;B@PHASE}' changes it by phase",
                   f->trace.file, t->target->of->switching,
                   tp_plural(f->fidelity.switches, "time").s, strategy, t->target->of->option);
        return;
    }
    f = least_faithful(t);
    const struct tp_fidelity *how = &f->fidelity;
    tp_str_add(out,
               "No advice: the rules of %s reproduce %s of %s recorded addresses (%s), and part "
               "from the recording at %s",
               strategy, tp_count(how->good_addresses).s, tp_count(how->addresses).s,
               tp_percent((double)how->good_addresses / (double)how->addresses).s,
               how->first_event ? tp_text_of("event %s", tp_count(how->first_event).s).s
                                : "its start");
    if (t->file_count > 1)
        tp_str_add(out, " of %s", f->trace.file);
    tp_str_add(out, "; 'tapool verify' looks for settings that explain them");
}

void tp_tune_sentence(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                      struct tp_str *out)
{
    switch (a->verdict) {
    case TP_TUNE_SET:
    case TP_TUNE_RESCUES:
        tp_tune_order(t, a, out);
        tp_str_add(out, ": ");
        tp_tune_effect(a, exact, out);
        break;
    case TP_TUNE_FINE:
        add_keep(t, a, out);
        break;
    case TP_TUNE_TOO_BIG:
        add_too_big(t, exact, out);
        break;
    case TP_TUNE_NONE:
        add_none(t, a, out);
        break;
    case TP_TUNE_UNTOLD:
        tp_str_add(out,
                   "Not known: the recorded program %s out of memory, and its replay with the same "
                   "setting %s, so no row shows how to avoid it",
                   a->base->all.failed ? "did not run" : "ran",
                   a->base->all.failed ? "does, on the smallest device that the recording allows"
                                       : "does not");
        break;
    case TP_TUNE_UNFAITHFUL:
        add_unfaithful(t, a, out);
        break;
    case TP_TUNE_UNKNOWN:
        tp_str_add(out, "No setting could be replayed");
        break;
    }
    tp_str_add(out, ".");
}
