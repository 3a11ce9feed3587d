/* See recorded_text.h. */
#include "cmd/report/recorded_text.h"

#include "cmd/results/result.h"

#include <string.h>

void tp_fidelity_reason(const struct tp_fidelity *f, struct tp_str *out)
{
    if (!f || !f->addresses)
        tp_str_add(out, "'tapool verify' compares every address");
    else if (f->good_addresses < f->addresses)
        tp_str_add(out, "the rules reproduce %s of %s recorded addresses",
                   tp_count(f->good_addresses).s, tp_count(f->addresses).s);
    else
        tp_str_add(
            out,
            "the driver chooses the address of a new segment, and PyTorch takes the lowest of "
            "equal free blocks; given the recorded segments, all %s addresses agree",
            tp_count(f->addresses).s);
}

struct tp_text tp_difference_text(uint64_t peak, uint64_t recorded_peak, uint64_t calls,
                                  uint64_t recorded_calls)
{
    uint64_t by = calls > recorded_calls ? calls - recorded_calls : recorded_calls - calls;
    bool both = peak != recorded_peak && by;
    struct tp_text share = tp_text_of("%s", ""), count = share;
    uint64_t apart = peak > recorded_peak ? peak - recorded_peak : recorded_peak - peak;
    if (apart)
        share = tp_text_of("%s %s reserved", tp_bytes(apart, false).s,
                           peak > recorded_peak ? "more" : "less");
    if (by)
        count = tp_text_of("%s %s driver call%s", tp_count(by).s,
                           calls > recorded_calls ? "more" : "fewer", by == 1 ? "" : "s");
    return tp_text_of("%s%s%s", share.s, both ? " and " : "", count.s);
}

/* With a split limit PyTorch first frees what is large enough, and all only if that does not help.
 */
void tp_retries_text(const struct tp_captured_retries *r, const char *settings, bool exact,
                     char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    bool all = !settings || !strstr(settings, "max_split_size_mb");
    if (r->undecided)
        tp_str_add(&s,
                   "cached memory was freed right before a new segment %s: because cudaMalloc had "
                   "failed, or by garbage_collection_threshold",
                   tp_plural(r->undecided, "time").s);
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
