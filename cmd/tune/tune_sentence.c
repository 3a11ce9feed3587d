/* The sentence that answers; see tune_text.h. */
#include "cmd/tune/tune_text.h"

#include "cmd/ui/escape.h"

#include <string.h>

const char *const tp_tune_verdicts[] = {
    [TP_TUNE_SET] = "set",         [TP_TUNE_RESCUES] = "rescues", [TP_TUNE_FINE] = "fine",
    [TP_TUNE_TOO_BIG] = "too_big", [TP_TUNE_NONE] = "none",       [TP_TUNE_UNKNOWN] = "unknown"};

/* Adds ", 41 more driver calls". */
static void add_change(struct tp_str *out, uint64_t before, uint64_t now, const char *noun)
{
    bool more = now > before;
    uint64_t by = more ? now - before : before - now;
    if (by)
        tp_str_add(out, ", %s %s %s%s", tp_count(by).s, more ? "more" : "fewer", noun,
                   by == 1 ? "" : "s");
}

static void add_order(const struct tp_tune_answer *a, bool exact, struct tp_str *out)
{
    const struct tp_tune_figures *was = &a->base->all, *is = &a->best->all;
    char word[1100];
    struct tp_str set = TP_STR_IN(word);
    if (a->best->keys) {
        tp_str_add(&set, "%s=%s", TP_TUNE_VARIABLE, a->best->conf);
        tp_str_add(out, "Set ");
        tp_str_escape(out, TP_TO_SHELL, word);
    } else {
        tp_str_add(out, "Leave %s unset", TP_TUNE_VARIABLE);
    }
    if (tp_tune_is_about(was->peak_reserved, is->peak_reserved) &&
        tp_tune_is_about(is->peak_reserved, was->peak_reserved))
        tp_str_add(out, ": about as much reserved, %s", tp_bytes(is->peak_reserved, exact).s);
    else
        tp_str_add(out, ": %s -> %s reserved", tp_bytes(was->peak_reserved, exact).s,
                   tp_bytes(is->peak_reserved, exact).s);
    add_change(out, was->calls, is->calls, "driver call");
    if (was->retries != is->retries)
        tp_str_add(out, ", %s instead of %s", tp_count(is->retries).s,
                   tp_plural(was->retries, "retry").s);
}

static void add_keep(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                     struct tp_str *out)
{
    if (!a->base->keys && !(a->base->recorded && t->recorded_differs))
        tp_str_add(out, "Keep the defaults");
    else
        tp_str_add(out, "Keep what is set");
    if (a->choices == 1)
        tp_str_add(out, ": no other setting could be tried");
    else
        tp_str_add(out, ": none of %s needs over 1 %% less than %s%s",
                   tp_plural(a->choices, "setting").s,
                   tp_bytes(a->base->all.peak_reserved, exact).s,
                   a->cheaper ? " without more retries" : "");
}

/* The file whose program needs more than its device has. */
static const struct tp_tune_file *find_too_big(const struct tp_tune *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        if (t->files[i].capacity && t->files[i].live > t->files[i].capacity)
            return &t->files[i];
    return tp_tune_largest(t);
}

void tp_tune_sentence(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                      struct tp_str *out)
{
    const struct tp_tune_file *most = find_too_big(t);
    switch (a->verdict) {
    case TP_TUNE_SET:
    case TP_TUNE_RESCUES:
        add_order(a, exact, out);
        tp_str_add(out, a->verdict == TP_TUNE_RESCUES ? ", and the out of memory is gone." : ".");
        break;
    case TP_TUNE_FINE:
        add_keep(t, a, exact, out);
        tp_str_add(out, ".");
        break;
    case TP_TUNE_TOO_BIG:
        tp_str_add(out,
                   "No setting avoids the out of memory: at event %s the program itself needs %s, "
                   "and the device has %s.",
                   tp_count(most->live_event).s, tp_bytes(most->live, exact).s,
                   tp_bytes(most->capacity, exact).s);
        break;
    case TP_TUNE_NONE:
        tp_str_add(out, "No setting that was tried avoids the out of memory.");
        break;
    case TP_TUNE_UNKNOWN:
        tp_str_add(out, "No setting could be played.");
        break;
    }
}
