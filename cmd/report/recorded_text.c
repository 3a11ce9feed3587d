/* See recorded_text.h. */
#include "cmd/report/recorded_text.h"

#include "cmd/jobs/catalog.h"
#include "cmd/results/result.h"

#include <string.h>

static void add_amounts(const struct tp_replay_difference *d, struct tp_str *out)
{
    uint64_t by =
        d->calls > d->recorded_calls ? d->calls - d->recorded_calls : d->recorded_calls - d->calls;
    bool more = d->peak > d->recorded_peak;
    uint64_t apart = more ? d->peak - d->recorded_peak : d->recorded_peak - d->peak;
    if (apart)
        tp_str_add(out, "%s %s reserved%s", tp_bytes(apart, d->exact).s, more ? "more" : "less",
                   by ? " and " : "");
    if (by)
        tp_str_add(out, "%s %s driver call%s", tp_count(by).s,
                   d->calls > d->recorded_calls ? "more" : "fewer", by == 1 ? "" : "s");
}

static void add_reason(const struct tp_replay_difference *d, const struct tp_fidelity *f,
                       struct tp_str *out)
{
    const struct tp_recorded_strategy *by = d->by ? d->by : tp_recorded_strategy_or_first(NULL);
    if (d->compacted)
        tp_str_add(out, ": it started compacted");
    else if (d->limits_differ)
        tp_str_add(out, ": the recorded devices have different memory limits; --device N replays "
                        "one with its own");
    else if (f && f->switches)
        tp_str_add(out, ": %s changed %s while the program ran, and this replay has one setting",
                   by->switching, tp_plural(f->switches, "time").s);
    else if (!f || !f->addresses)
        tp_str_add(out, "%s", by->fidelity ? ": 'tapool verify' compares every address" : "");
    else if (f->good_addresses < f->addresses)
        tp_str_add(out, ": the rules reproduce %s of %s recorded addresses",
                   tp_count(f->good_addresses).s, tp_count(f->addresses).s);
    else if (f->pools_returned)
        tp_str_add(out, ": %s freed %s of private pools, which the replay keeps", by->whose,
                   tp_plural(f->pools_returned, "segment").s);
    else if (by->apart)
        tp_str_add(out, ": %s", by->apart);
    else
        tp_str_add(
            out,
            ": the driver chooses the address of a new segment, and %s takes the lowest of equal "
            "free blocks; given the recorded segments, all %s addresses agree",
            by->whose, tp_count(f->addresses).s);
}

void tp_difference_add(const struct tp_replay_difference *d, const struct tp_fidelity *f,
                       const char *before, struct tp_str *out)
{
    if (d->peak == d->recorded_peak && d->calls == d->recorded_calls)
        return;
    tp_str_add(out, "%s", before);
    add_amounts(d, out);
    add_reason(d, f, out);
}

/* With the setting `partial` what is large enough is freed first, and all only if that does not
 * help.
 */
void tp_retries_text(const struct tp_captured_retries *r, const char *settings, bool exact,
                     char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    bool all = !settings || !r->partial || !strstr(settings, r->partial);
    if (r->undecided)
        tp_str_add(&s,
                   "cached memory was freed right before a new segment %s: because cudaMalloc had "
                   "failed, or by %s",
                   tp_plural(r->undecided, "time").s, r->garbage);
    if (r->undecided || r->count <= r->ooms)
        return;
    tp_str_add(&s, "%s %s, first at event %s: each time %s was freed",
               r->by_limit ? "the memory limit of the process was reached" : "cudaMalloc failed",
               tp_plural(r->count, "time").s, tp_count(r->first_event).s,
               all ? "the whole cache" : "cached memory");
    if (r->least)
        tp_str_add(&s, "; memory of the program: at least %s, less than %s",
                   tp_bytes(r->least, exact).s, tp_bytes(r->below, exact).s);
}

struct tp_text tp_peak_change(bool is_base, uint64_t was, uint64_t is)
{
    if (is_base)
        return tp_text_of("base");
    if (!was || was == TP_NONE || is == TP_NONE)
        return tp_text_of("-");
    return is == was ? tp_text_of("same") : tp_change((double)is / (double)was - 1);
}
