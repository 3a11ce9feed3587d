/* tapool check --aa N: checks this build against itself N times. Every alarm is false: the tally
 * says how far the gate can be trusted on this machine. Times always; memory and instructions where
 * --require asks for them. */
#include "cmd/gate/check_job.h"

#include <math.h>
#include <string.h>

struct tally {
    size_t checks, alarms[TP_CLASS_REPORT]; /* checks with a regression of the class */
    size_t better, open;                    /* checks with an improvement; inconclusive ones */
};

static bool is_asked(const struct tp_check *k, const char *class)
{
    for (size_t i = 0; i < k->o->require.count; i++)
        if (!strcmp(k->o->require.items[i], class))
            return true;
    return false;
}

static int check_once(struct tp_check *k, uint64_t seed, struct tp_err *err)
{
    k->gate.seed = seed;
    k->findings.count = 0;
    memset(k->gate.classes, 0, sizeof k->gate.classes);
    int status = is_asked(k, "memory") ? tp_check_exact(k, err) : TP_OK;
    if (!status && is_asked(k, "instructions"))
        status = tp_check_counted(k, err);
    return status ? status : tp_check_noisy(k, err);
}

static void count(const struct tp_check *k, struct tally *t, size_t found[TP_CLASS_REPORT],
                  size_t *open)
{
    size_t better = 0;
    *open = 0;
    for (size_t i = 0; i < k->findings.count; i++) {
        const struct tp_finding *f = &k->findings.items[i];
        enum tp_class class = f->metric ? f->metric->class : TP_CLASS_EXACT;
        found[class] += f->verdict == TP_REGRESSION;
        better += f->verdict == TP_IMPROVED;
        *open += f->verdict == TP_INCONCLUSIVE;
    }
    t->checks++;
    t->better += better > 0;
    t->open += *open > 0;
    for (size_t c = 0; c < TP_CLASS_REPORT; c++)
        t->alarms[c] += found[c] > 0;
}

static void print_check(const struct tp_check *k, const struct tally *t,
                        const size_t found[TP_CLASS_REPORT], size_t open, struct tp_page *page)
{
    tp_page_at(page, 0,
               "check %zu of %llu, seed %llu: false regressions %zu memory, %zu "
               "instructions, %zu latency; %zu inconclusive; %zu tests",
               t->checks, (unsigned long long)k->o->aa, (unsigned long long)k->gate.seed, found[0],
               found[1], found[2], open, k->gate.classes[TP_CLASS_NOISY].values);
    tp_page_line(page);
    fflush(page->out);
}

static void print_tally(const struct tally *t, struct tp_page *page)
{
    tp_page_line(page);
    tp_page_styled(page, 0, TP_BOLD,
                   "A/A: %zu check%s of this build against itself: %zu with a false regression of "
                   "memory, %zu of instructions, %zu of latency; %zu with a false improvement; %zu "
                   "inconclusive",
                   t->checks, t->checks == 1 ? "" : "s", t->alarms[0], t->alarms[1], t->alarms[2],
                   t->better, t->open);
    tp_page_line(page);
}

int tp_check_aa(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    struct tally t = {0};
    uint64_t seed = k->gate.seed;
    int status = TP_OK;
    if (is_asked(k, "memory") && !k->has_baseline)
        return tp_fail(err, TP_EUSAGE, "--aa with --require memory needs a baseline");
    status = tp_check_enough(k, err); /* what cannot alarm has no false alarms */
    for (uint64_t i = 0; !status && i < k->o->aa; i++) {
        size_t found[TP_CLASS_REPORT] = {0}, open = 0;
        status = check_once(k, i ? tp_check_seed(seed, i) % 1000000 : seed, err);
        if (status)
            break;
        count(k, &t, found, &open);
        print_check(k, &t, found, open, page);
    }
    if (t.checks)
        print_tally(&t, page);
    return status;
}
