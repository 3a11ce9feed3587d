/* tapool check --aa N: checks this build against itself N times. Every alarm is a false one, so the
 * tally says how far the gate can be trusted on this machine. Times are always compared, memory and
 * instructions only if --require asks for them. */
#include "cmd/gate/check_job.h"
#include "cmd/gate/gate_words.h"

#include <math.h>
#include <string.h>

struct again_tally {
    size_t checks, alarms[TP_CLASS_REPORT]; /* checks with a regression of the class */
    size_t better, open; /* checks with an improvement; checks with an inconclusive finding */
};

static bool is_asked(const struct tp_check *k, enum tp_class metric_class)
{
    return metric_class == TP_CLASS_NOISY || tp_check_requires(k, metric_class);
}

/* Fails if a class that was selected cannot be checked: it could not raise a false alarm, and the
 * tally would look better than it is. */
static int check_once(struct tp_check *k, uint64_t seed, struct tp_err *err)
{
    int (*const checks[TP_CLASS_REPORT])(struct tp_check *, struct tp_err *) = {
        tp_check_all_exact, tp_check_counted, tp_check_noisy};
    k->gate.seed = seed;
    k->findings.count = 0;
    memset(k->gate.classes, 0, sizeof k->gate.classes);
    for (enum tp_class c = 0; c < TP_CLASS_REPORT; c++) {
        struct tp_class_check *metric_class = &k->gate.classes[c];
        int status = is_asked(k, c) ? checks[c](k, err) : TP_OK;
        if (status)
            return status;
        if (is_asked(k, c) && !metric_class->checked)
            return tp_fail(err, TP_EFOUND, "%s: not checked: %s", tp_class_words[c],
                           metric_class->reason);
    }
    return TP_OK;
}

static void count(const struct tp_check *k, struct again_tally *t, size_t found[TP_CLASS_REPORT],
                  size_t *open)
{
    size_t better = 0;
    *open = 0;
    for (size_t i = 0; i < k->findings.count; i++) {
        const struct tp_finding *f = &k->findings.items[i];
        enum tp_class metric_class = f->metric ? f->metric->metric_class : TP_CLASS_EXACT;
        if (metric_class ==
            TP_CLASS_REPORT) /* resident memory of a library: beside the exact figures */
            metric_class = TP_CLASS_EXACT;
        found[metric_class] += f->verdict == TP_REGRESSION;
        better += f->verdict == TP_IMPROVED;
        *open += f->verdict == TP_INCONCLUSIVE;
    }
    t->checks++;
    t->better += better > 0;
    t->open += *open > 0;
    for (size_t c = 0; c < TP_CLASS_REPORT; c++)
        t->alarms[c] += found[c] > 0;
}

/* Prints "0 memory and counts, 0 latency", with the classes that were checked. */
static void print_alarms(const struct tp_check *k, const size_t alarms[TP_CLASS_REPORT],
                         struct tp_page *page)
{
    const char *comma = "";
    for (enum tp_class c = 0; c < TP_CLASS_REPORT; c++) {
        if (!is_asked(k, c))
            continue;
        tp_page_more(page, 0, "%s%zu %s", comma, alarms[c], tp_class_words[c]);
        comma = ", ";
    }
}

static void print_check(const struct tp_check *k, const struct again_tally *t,
                        const size_t found[TP_CLASS_REPORT], size_t open, struct tp_page *page)
{
    tp_page_at(page, 0, "check %zu of %llu, seed %llu: false regressions: ", t->checks,
               (unsigned long long)k->o->aa, (unsigned long long)k->gate.seed);
    print_alarms(k, found, page);
    tp_page_more(page, 0, "; %zu inconclusive; %zu tests", open,
                 k->gate.classes[TP_CLASS_NOISY].values);
    tp_page_line(page);
    fflush(page->out);
}

static void print_tally(const struct tp_check *k, const struct again_tally *t, struct tp_page *page)
{
    tp_page_line(page);
    tp_page_styled(page, 0, TP_BOLD, "A/A:");
    tp_page_more(page, 0, " %s of this build against itself; with a false regression: ",
                 tp_plural(t->checks, "check").s);
    print_alarms(k, t->alarms, page);
    tp_page_more(page, 0, "; with a false improvement: %zu; inconclusive: %zu", t->better, t->open);
    tp_page_line(page);
    if (is_asked(k, TP_CLASS_EXACT) && is_asked(k, TP_CLASS_INSTRUCTIONS))
        return;
    tp_page_dim(page, 0, "memory and instructions are checked where --require asks");
}

int tp_check_aa(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    struct again_tally t = {0};
    uint64_t seed = k->gate.seed;
    int status = TP_OK;
    if (is_asked(k, TP_CLASS_EXACT) && !k->has_baseline)
        return tp_fail(err, TP_EUSAGE, "--aa with --require memory needs a baseline");
    status = tp_check_enough(k, err); /* with too few pairs no test could raise an alarm */
    for (uint64_t i = 0; !status && i < k->o->aa; i++) {
        size_t found[TP_CLASS_REPORT] = {0}, open = 0;
        status = check_once(k, i ? tp_check_seed(seed, i) % 1000000 : seed, err);
        if (status)
            break;
        count(k, &t, found, &open);
        print_check(k, &t, found, open, page);
    }
    if (t.checks)
        print_tally(k, &t, page);
    return status;
}
