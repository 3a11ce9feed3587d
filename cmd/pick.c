/* Pick: drop what failed, the yardsticks and what reuses memory unsafely here; keep what is within
 * 5 % of the least `fits in` (else of the least peak); then the fewest source calls, then the time
 * where it is real and the difference significant. The runner-up is the best for the other goal. */
#include "cmd/pick.h"

#include <string.h>

#define CLOSE 1.05
#define FAR   2.0 /* a policy that held so much more than another had its calls counted unfairly */

enum { PICK_MAX = 64, INDENT = 6, ENOUGH = 6, TIED_MAX = 4 };

struct candidates {
    const struct tp_result *list[PICK_MAX];
    size_t count;
    bool fits; /* `fits in` is known of all: the least memory that a policy can live with */
};

/* What they are compared by: `fits in`, else what was held at the peak. */
static uint64_t need_of(const struct candidates *c, const struct tp_result *r)
{
    return c->fits ? tp_run_fits_in(r->run) : tp_run_peak_reserved(r->run);
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

static bool is_eligible(const struct tp_result *r)
{
    /* a real allocator whose statistics are not there (under a sanitizer) holds "0 B" */
    uint64_t peak = tp_run_peak_reserved(r->run);
    bool unknown = peak == TP_NONE || (!peak && tp_run_trace_peak(r->run));
    return r->spec->strategy->group != TP_GROUP_YARDSTICK && !unknown && !tp_run_failed(r->run);
}

/* Where nobody is safe, the program is one that synchronises by itself. */
static void keep_eligible(const struct tp_result *results, size_t count, struct candidates *c)
{
    bool safe = false;
    for (size_t i = 0; i < count; i++)
        safe |= is_eligible(&results[i]) && !tp_result_reuses_unsafely(&results[i]);
    for (size_t i = 0; i < count && c->count < PICK_MAX; i++)
        if (is_eligible(&results[i]) && !(safe && tp_result_reuses_unsafely(&results[i])))
            c->list[c->count++] = &results[i];
    c->fits = true;
    for (size_t i = 0; i < c->count; i++)
        c->fits = c->fits && tp_run_fits_in(c->list[i]->run) != TP_NONE;
}

static struct candidates within_least_peak(const struct candidates *all)
{
    struct candidates kept = {.fits = all->fits};
    uint64_t least = UINT64_MAX;
    uint64_t least_peak = UINT64_MAX;
    for (size_t i = 0; i < all->count; i++)
        least = need_of(all, all->list[i]) < least ? need_of(all, all->list[i]) : least;
    for (size_t i = 0; i < all->count; i++) {
        if ((double)need_of(all, all->list[i]) > CLOSE * (double)least)
            continue;
        uint64_t peak = tp_run_peak_reserved(all->list[i]->run);
        least_peak = peak < least_peak ? peak : least_peak;
        kept.list[kept.count++] = all->list[i];
    }
    size_t count = 0;
    for (size_t i = 0; i < kept.count; i++)
        if ((double)tp_run_peak_reserved(kept.list[i]->run) <= FAR * (double)least_peak)
            kept.list[count++] = kept.list[i];
    kept.count = count;
    return kept;
}

/* Those with the fewest source calls; everybody where someone's calls are unknown, or where their
 * cost is in the times: on a real device. */
static struct candidates with_fewest_calls(const struct candidates *all)
{
    struct candidates kept = {.fits = all->fits};
    uint64_t least = UINT64_MAX;
    if (all->count && tp_result_is_device(all->list[0]))
        return *all;
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

/* Nobody else serves every allocation. */
static void print_only_one(const struct tp_result *pick, const struct tp_result *results,
                           size_t count, struct tp_page *page)
{
    uint64_t capacity = pick->run->devices[0].capacity, failures = 0;
    bool unsafe = false;
    for (size_t i = 0; i < count; i++) {
        failures += tp_run_failed(results[i].run) > 0;
        unsafe |= !tp_run_failed(results[i].run) && tp_result_reuses_unsafely(&results[i]);
    }
    if (unsafe)
        tp_page_more(page, INDENT,
                     ": the only policy here that serves every allocation and heeds the streams");
    else if (!failures)
        tp_page_more(page, INDENT, ": the others here are yardsticks");
    else if (capacity == TP_NONE)
        tp_page_more(page, INDENT, ": the only policy here that serves every allocation");
    else if (failures + 1 < count)
        tp_page_more(page, INDENT, ": the only policy here that fits in %s, yardsticks aside",
                     tp_bytes(capacity, page->exact).s);
    else
        tp_page_more(page, INDENT, ": the only one of the %zu that fits in %s", count,
                     tp_bytes(capacity, page->exact).s);
}

/* The calls were counted with as much memory as it took, which may be far from what it fits in. */
static void print_fewer_calls(const struct tp_result *pick, const struct tp_result *next,
                              const struct candidates *all, const char *same, struct tp_page *page)
{
    uint64_t peak = tp_run_peak_reserved(pick->run);
    tp_page_more(page, INDENT, ": %s %s calls", tp_count(tp_run_calls(pick->run)).s,
                 tp_result_callee(pick));
    if (all->fits && (double)peak > CLOSE * (double)need_of(all, pick))
        tp_page_more(page, INDENT, " (holding up to %s)", tp_bytes(peak, page->exact).s);
    tp_page_more(page, INDENT, " where %s needs %s, %s", next->spec->label,
                 tp_count(tp_run_calls(next->run)).s, same);
}

/* Why `pick` and not the next one: its numbers beside those of the other. */
static void print_reason(const struct tp_result *pick, const struct tp_result *next,
                         const struct candidates *all, struct tp_page *page)
{
    const char *same = all->fits ? "and fits in about as little" : "for about the same memory";
    if ((double)need_of(all, next) > CLOSE * (double)need_of(all, pick))
        tp_page_more(page, INDENT,
                     all->fits ? ": fits in %s where %s needs %s (%s)"
                               : ": held %s where %s held %s (%s)",
                     tp_bytes(need_of(all, pick), page->exact).s, next->spec->label,
                     tp_bytes(need_of(all, next), page->exact).s,
                     tp_times((double)need_of(all, next) / (double)need_of(all, pick)).s);
    else if (!tp_result_is_device(pick) && tp_run_calls(pick->run) != TP_NONE &&
             tp_run_calls(next->run) != TP_NONE &&
             tp_run_calls(pick->run) < tp_run_calls(next->run))
        print_fewer_calls(pick, next, all, same, page);
    else
        tp_page_more(page, INDENT, ": %s ns per call where %s takes %s, %s",
                     tp_digits(tp_speed_of(pick->run).ns).s, next->spec->label,
                     tp_digits(tp_speed_of(next->run).ns).s, same);
}

/* The one that needs least of those that were not picked, or NULL. */
static const struct tp_result *next_best(const struct tp_result *pick, const struct candidates *all)
{
    const struct tp_result *next = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i] != pick && (!next || need_of(all, all->list[i]) < need_of(all, next)))
            next = all->list[i];
    return next;
}

static void print_runner_up(const struct tp_result *pick, const struct candidates *all,
                            struct tp_page *page)
{
    const struct tp_result *quick = quickest(all);
    if (quick != pick && faster(quick, pick) && !tp_result_is_virtual(pick)) {
        tp_page_at(page, INDENT, "If time is what you lack: %s, %s ns per call against %s, for %s.",
                   quick->spec->label, tp_digits(tp_speed_of(quick->run).ns).s,
                   tp_digits(tp_speed_of(pick->run).ns).s,
                   tp_bytes(need_of(all, quick), page->exact).s);
        tp_page_line(page);
        return;
    }
    struct candidates least = within_least_peak(all);
    for (size_t i = 0; i < least.count; i++) {
        if (need_of(all, least.list[i]) >= need_of(all, pick))
            continue;
        tp_page_at(page, INDENT, "If memory is what you lack: %s, %s against %s.",
                   least.list[i]->spec->label, tp_bytes(need_of(all, least.list[i]), page->exact).s,
                   tp_bytes(need_of(all, pick), page->exact).s);
        tp_page_line(page);
        return;
    }
}

static bool is_among(const struct candidates *c, const struct tp_result *r)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i] == r)
            return true;
    return false;
}

/* "Pick lru or stream-pool": nothing separates these few, but something does from the others. */
static bool print_tied(const struct candidates *tied, const struct candidates *all,
                       struct tp_page *page)
{
    const struct tp_result *pick = tied->list[0], *next = NULL;
    if (tied->count > TIED_MAX || tied->count == all->count)
        return false;
    for (size_t i = 1; i < tied->count; i++)
        if (need_of(all, tied->list[i]) < need_of(all, pick))
            pick = tied->list[i];
    for (size_t i = 0; i < all->count; i++)
        if (!is_among(tied, all->list[i]) &&
            (!next || need_of(all, all->list[i]) < need_of(all, next)))
            next = all->list[i];
    for (size_t i = 0; i < tied->count; i++)
        tp_page_styled(page, page->column, TP_BOLD, "%s%s",
                       !i                     ? "Pick "
                       : i + 1 == tied->count ? " or "
                                              : ", ",
                       tied->list[i]->spec->label);
    print_reason(pick, next, all, page);
    tp_page_line(page);
    if (!is_among(tied, quickest(all)))
        print_runner_up(pick, all, page);
    return true;
}

static void print_nothing(const char *text, const char *why, struct tp_page *page)
{
    tp_page_styled(page, 0, TP_BOLD, "%s", text);
    tp_page_more(page, INDENT, "%s", why);
    tp_page_line(page);
}

void tp_pick_print(const struct tp_result *results, size_t count, struct tp_page *page)
{
    struct candidates all = {0};
    keep_eligible(results, count, &all);
    if (!all.count) {
        print_nothing("Pick: none", ", every policy here failed or is a yardstick", page);
        return;
    }
    struct candidates small = within_least_peak(&all), few = with_fewest_calls(&small);
    const struct tp_result *pick = few.count == 1 ? few.list[0] : NULL;
    if (!pick && !tp_result_is_virtual(few.list[0]))
        pick = fastest(&few);
    if (!pick && print_tied(&few, &all, page))
        return;
    if (!pick) {
        print_nothing("Pick: no difference that matters here", "", page);
        return;
    }
    const struct tp_result *next = next_best(pick, &all);
    tp_page_styled(page, 0, TP_BOLD, "Pick %s", pick->spec->label);
    if (next)
        print_reason(pick, next, &all, page);
    else
        print_only_one(pick, results, count, page);
    tp_page_line(page);
    print_runner_up(pick, &all, page);
}
