/* Pick: drop what failed and the yardsticks; keep what is within 5 % of the least peak; then the
 * fewest source calls, then the time where it is real and the difference significant. The runner-up
 * is the best for the other goal. */
#include "cmd/pick.h"

#include <string.h>

#define CLOSE 1.05

enum { PICK_MAX = 64, INDENT = 6, ENOUGH = 6 };

struct candidates {
    const struct tp_result *list[PICK_MAX];
    size_t count;
};

static uint64_t peak_of(const struct tp_result *r)
{
    return tp_run_peak_reserved(r->run);
}

/* a is faster than b beyond what the intervals and 5 % leave open. A cold time and a steady one do
 * not compare, and fewer values than an interval needs decide nothing. */
static bool faster(const struct tp_result *a, const struct tp_result *b)
{
    if (a->run->throughput.runs.count < ENOUGH || b->run->throughput.runs.count < ENOUGH ||
        (a->run->flags ^ b->run->flags) & TP_RUN_PLAYED_ONCE)
        return false;
    struct tp_speed x = tp_speed_of(a->run), y = tp_speed_of(b->run);
    return x.high < y.low && x.ns * CLOSE < y.ns;
}

static void keep_eligible(const struct tp_result *results, size_t count, struct candidates *c)
{
    for (size_t i = 0; i < count && c->count < PICK_MAX; i++) {
        /* a real allocator whose statistics are not there (under a sanitizer) holds "0 B" */
        bool unknown = !peak_of(&results[i]) && tp_run_trace_peak(results[i].run);
        if (results[i].spec->strategy->group != TP_GROUP_YARDSTICK && !unknown &&
            !tp_run_failed(results[i].run))
            c->list[c->count++] = &results[i];
    }
}

static struct candidates within_least_peak(const struct candidates *all)
{
    struct candidates kept = {0};
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < all->count; i++)
        least = peak_of(all->list[i]) < least ? peak_of(all->list[i]) : least;
    for (size_t i = 0; i < all->count; i++)
        if ((double)peak_of(all->list[i]) <= CLOSE * (double)least)
            kept.list[kept.count++] = all->list[i];
    return kept;
}

/* Those with the fewest source calls; everybody where someone's calls are unknown. */
static struct candidates with_fewest_calls(const struct candidates *all)
{
    struct candidates kept = {0};
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < all->count; i++) {
        uint64_t calls = tp_run_calls(all->list[i]->run);
        if (calls == TP_NONE)
            return *all;
        least = calls < least ? calls : least;
    }
    for (size_t i = 0; i < all->count; i++)
        if (tp_run_calls(all->list[i]->run) == least)
            kept.list[kept.count++] = all->list[i];
    return kept;
}

/* The one that is faster than every other, or NULL. */
static const struct tp_result *fastest(const struct candidates *c)
{
    for (size_t i = 0; i < c->count; i++) {
        bool all = true;
        for (size_t j = 0; j < c->count && all; j++)
            all = i == j || faster(c->list[i], c->list[j]);
        if (all)
            return c->list[i];
    }
    return NULL;
}

static const struct tp_result *quickest(const struct candidates *c)
{
    const struct tp_result *best = c->list[0];
    for (size_t i = 1; i < c->count; i++)
        if (tp_speed_of(c->list[i]->run).ns < tp_speed_of(best->run).ns)
            best = c->list[i];
    return best;
}

/* Why `pick` and not the others: its numbers beside those of the next one. */
static void print_reason(const struct tp_result *pick, const struct candidates *all, bool failures,
                         struct tp_page *page)
{
    const struct tp_result *next = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i] != pick && (!next || peak_of(all->list[i]) < peak_of(next)))
            next = all->list[i];
    tp_page_styled(page, 0, TP_BOLD, "Pick %s", pick->spec->label);
    if (!next) {
        tp_page_more(page, INDENT,
                     failures ? ": the only policy here that serves every allocation"
                              : ": the others here are yardsticks");
    } else if ((double)peak_of(next) > CLOSE * (double)peak_of(pick)) {
        tp_page_more(page, INDENT, ": held %s where %s held %s (%s)",
                     tp_bytes(peak_of(pick), false).s, next->spec->label,
                     tp_bytes(peak_of(next), false).s,
                     tp_times((double)peak_of(next) / (double)peak_of(pick)).s);
    } else if (tp_run_calls(pick->run) != TP_NONE && tp_run_calls(next->run) != TP_NONE &&
               tp_run_calls(pick->run) < tp_run_calls(next->run)) {
        tp_page_more(page, INDENT, ": %s %s calls where %s needs %s, for about the same memory",
                     tp_count(tp_run_calls(pick->run)).s, tp_result_callee(pick), next->spec->label,
                     tp_count(tp_run_calls(next->run)).s);
    } else {
        tp_page_more(page, INDENT, ": %s ns per call where %s takes %s, for about the same memory",
                     tp_digits(tp_speed_of(pick->run).ns).s, next->spec->label,
                     tp_digits(tp_speed_of(next->run).ns).s);
    }
}

static void print_runner_up(const struct tp_result *pick, const struct candidates *all,
                            struct tp_page *page)
{
    const struct tp_result *quick = quickest(all);
    if (quick != pick && faster(quick, pick) && !tp_result_is_virtual(pick)) {
        tp_page_at(page, INDENT, "If time is what you lack: %s, %s ns per call against %s, for %s.",
                   quick->spec->label, tp_digits(tp_speed_of(quick->run).ns).s,
                   tp_digits(tp_speed_of(pick->run).ns).s, tp_bytes(peak_of(quick), false).s);
        tp_page_line(page);
        return;
    }
    struct candidates least = within_least_peak(all);
    for (size_t i = 0; i < least.count; i++) {
        if (peak_of(least.list[i]) >= peak_of(pick))
            continue;
        tp_page_at(page, INDENT, "If memory is what you lack: %s, %s against %s.",
                   least.list[i]->spec->label, tp_bytes(peak_of(least.list[i]), false).s,
                   tp_bytes(peak_of(pick), false).s);
        tp_page_line(page);
        return;
    }
}

void tp_pick_print(const struct tp_result *results, size_t count, struct tp_page *page)
{
    struct candidates all = {0};
    bool failures = false;
    keep_eligible(results, count, &all);
    for (size_t i = 0; i < count; i++)
        failures |= tp_run_failed(results[i].run) > 0;
    if (!all.count) {
        tp_page_styled(page, 0, TP_BOLD, "Pick: none");
        tp_page_more(page, INDENT, ", every policy here failed or is a yardstick");
        tp_page_line(page);
        return;
    }
    struct candidates small = within_least_peak(&all), few = with_fewest_calls(&small);
    const struct tp_result *pick = few.count == 1 ? few.list[0] : NULL;
    if (!pick && !tp_result_is_virtual(few.list[0]))
        pick = fastest(&few);
    if (!pick) {
        tp_page_styled(page, 0, TP_BOLD, "Pick: no difference that matters here");
        tp_page_line(page);
        return;
    }
    print_reason(pick, &all, failures, page);
    tp_page_line(page);
    print_runner_up(pick, &all, page);
}
