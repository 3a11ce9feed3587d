/* Words of a gate's findings; see gate.h and gate_words.h. */
#include "cmd/gate/gate_words.h"
#include "cmd/results/metric_text.h"

#include "alloc/base/clean.h"
#include "cmd/baseline/baseline.h"

#include <math.h>
#include <string.h>

const char *const tp_verdict_words[TP_VERDICTS] = {"unchanged", "better", "regression",
                                                   "inconclusive", "insensitive"};

const char *const tp_class_words[TP_CLASS_REPORT] = {"memory and counts", "instructions",
                                                     "latency"};

const char *const tp_gate_required[TP_CLASS_REPORT + 2] = {"memory", "instructions", "latency",
                                                           "all-cells", NULL};

enum { NAME_BYTES = 160 };

struct tp_gate_line tp_gate_name(const char *name)
{
    struct tp_gate_line line;
    tp_clean_text(name, line.s, NAME_BYTES);
    if (name && strlen(name) >= NAME_BYTES)
        memcpy(line.s + strlen(line.s), "...", 4);
    return line;
}

/* A share as "+4.9%". */
static struct tp_text signed_percent(double share)
{
    return tp_text_of("%s%%", tp_signed_percent(share).s);
}

/* The change of a time, "0" where it would read "+0.0%" or "-0.0%". */
static struct tp_text timed_change(double share)
{
    return fabs(share) < 0.0005 ? tp_text_of("0") : signed_percent(share);
}

/* A difference in the unit of the metric, such as "+12" or "-4 KiB". */
static struct tp_text signed_amount(const struct tp_metric *m, double by)
{
    return tp_text_of("%s%s", by < 0 ? "-" : "+", tp_metric_text(m, fabs(by), false).s);
}

/* Whether the change is not the ratio of the two values shown. That happens with times only: the
 * values are medians of the sides, the change is estimated from the pairs. */
bool tp_finding_is_paired(const struct tp_finding *f)
{
    return tp_finding_is_timed(f) && isfinite(f->change) && f->base > 0 &&
           strcmp(timed_change(f->change).s, timed_change(f->now / f->base - 1).s) != 0;
}

/* True for ns_per_op, on which the verdict on a cell rests, and for a time that was slower by the
 * effect that counts, so that only noise kept it from being a regression. Other percentiles vary so
 * much on most machines that a line about each of them would say nothing. */
bool tp_finding_could_gate(const struct tp_gate *g, const struct tp_finding *f)
{
    if (f->verdict != TP_INCONCLUSIVE)
        return false;
    double effect = f->difference.has_effect ? f->difference.effect : g->effect;
    return tp_metric_is_ns_per_op(f->metric) || f->difference.estimate >= 1 + effect;
}

struct tp_text tp_finding_change(const struct tp_finding *f)
{
    struct tp_text t = tp_finding_plain_change(f);
    if (tp_finding_is_paired(f))
        tp_append(t.s, sizeof t.s, " paired");
    return t;
}

struct tp_text tp_finding_plain_change(const struct tp_finding *f)
{
    double by = f->now - f->base;
    bool slight = fabs(f->change) < 0.0005; /* would read "+0.0%" */
    bool no_base = !isfinite(f->base), no_now = !isfinite(f->now);
    if (!f->metric || (no_base && no_now))
        return (struct tp_text){""};
    if (no_base || no_now)
        return tp_text_of("%s", no_base ? "new" : "gone");
    if (tp_finding_is_timed(f) && isfinite(f->change))
        return timed_change(f->change);
    if (by == 0 && !(isfinite(f->change) && f->change != 0))
        return tp_text_of("0");
    switch (f->metric->unit) {
    case TP_UNIT_COUNT:
        return signed_amount(f->metric, by);
    case TP_UNIT_SHARE:
        return tp_signed(100 * by, " points");
    case TP_UNIT_BYTES:
        if (!isfinite(f->change) || slight)
            return signed_amount(f->metric, by);
        break;
    default:
        break;
    }
    if (!isfinite(f->change))
        return tp_text_of("-");
    return slight ? tp_signed(100 * f->change, "%") : signed_percent(f->change);
}

struct tp_text tp_finding_allowed(const struct tp_finding *f)
{
    if (!f->metric || !(f->allowed > 0))
        return tp_text_of("%s", f->metric ? "0" : "");
    double sign = f->metric->better == TP_BETTER_LESS ? 1 : -1;
    double least = f->metric->least;
    if (least > 0 && f->allowed * fmax(f->base, least) <= least)
        return signed_amount(f->metric, least);
    if (f->metric->metric_class != TP_CLASS_EXACT)
        return tp_text_of("%+.3g%%", 100 * sign * f->allowed);
    if (f->metric->unit == TP_UNIT_SHARE)
        return tp_text_of("%.3g points", 100 * f->allowed);
    if (f->metric->unit == TP_UNIT_RATIO)
        return tp_text_of("%+.3g", sign * f->allowed);
    return signed_amount(f->metric, sign * f->allowed);
}

struct tp_text tp_finding_name(const struct tp_finding *f)
{
    struct tp_text t;
    char name[sizeof f->note];
    if (f->metric)
        return tp_baseline_name(f->metric, f->device);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(f->note, ":"), f->note);
    tp_clean_text(name, t.s, sizeof t.s);
    return t;
}

bool tp_finding_is_timed(const struct tp_finding *f)
{
    return f->metric && (f->metric->metric_class == TP_CLASS_NOISY || f->difference.pairs);
}

/* ---- lines ---- */

static bool has_sources(const struct tp_gate *g)
{
    for (size_t i = 1; i < g->cell_count; i++)
        if (strcmp(g->cells[i].source, g->cells[0].source) != 0)
            return true;
    return false;
}

struct tp_gate_line tp_gate_cell_text(const struct tp_gate *g, const struct tp_gate_cell *cell)
{
    struct tp_gate_line line = {""};
    if (!cell)
        return (struct tp_gate_line){"all cells"};
    tp_gate_add(&line, "%s, ", tp_gate_name(cell->trace).s);
    tp_gate_add(&line, "%s", tp_gate_name(cell->strategy).s);
    if (has_sources(g))
        tp_gate_add(&line, ", %s", tp_gate_name(cell->source).s);
    return line;
}

struct tp_gate_line tp_cell_failure(const struct tp_gate *g, const struct tp_gate_cell *c)
{
    struct tp_gate_line line = {""};
    if (c->failed && strncmp(g->error, c->failed, strlen(c->failed)) != 0)
        tp_clean_text(c->failed, line.s, sizeof line.s);
    return line;
}

/* The part of an option's note after its colon. */
static const char *option_values(const char *note)
{
    note += strcspn(note, ":");
    return note + strspn(note, ": ");
}

/* The unit after a number, with the blank before it where one is; "" if there is none. */
static const char *unit_of(const char *text)
{
    if (strchr(text, '%'))
        return "%";
    const char *blank = strrchr(text, ' ');
    return blank ? blank : "";
}

struct tp_gate_line tp_finding_values(const struct tp_finding *f)
{
    struct tp_gate_line line = {""};
    if (!f->metric) {
        tp_clean_text(option_values(f->note), line.s, sizeof line.s);
        return line;
    }
    struct tp_text texts[2];
    tp_metric_texts(f->metric, (const double[]){f->base, f->now}, texts);
    const char *base = texts[0].s, *now = texts[1].s;
    int unit = (int)strlen(unit_of(base)); /* left out of the first value if both have it */
    if (strcmp(unit_of(base), unit_of(now)) != 0)
        unit = 0;
    tp_gate_add(&line, "%.*s -> %s", (int)strlen(base) - unit, base, now);
    return line;
}

struct tp_gate_line tp_finding_note(const struct tp_finding *f)
{
    struct tp_gate_line line;
    tp_clean_text(f->metric ? f->note : "", line.s, sizeof line.s);
    return line.s[0] ? line : tp_finding_grown(f);
}

struct tp_gate_line tp_finding_grown(const struct tp_finding *f)
{
    const struct tp_grown *g = &f->grown;
    struct tp_gate_line line = {""};
    if (g->metric && !f->note[0])
        tp_gate_add(&line, "%s %s %s", g->metric->part, tp_metric_moment(g->metric),
                    signed_amount(g->metric, g->now - g->base).s);
    return line;
}

double tp_finding_p(const struct tp_finding *f, bool adjusted)
{
    const struct tp_difference *d = &f->difference;
    if (!tp_finding_is_timed(f))
        return NAN;
    if (f->verdict == TP_IMPROVED)
        return adjusted ? d->adjusted_better : d->p_better;
    return adjusted ? d->adjusted_worse : d->p_worse;
}

struct tp_text tp_finding_interval(const struct tp_finding *f)
{
    const struct tp_interval *i = &f->difference.interval;
    if (!tp_finding_is_timed(f) || !isfinite(i->low) || !isfinite(i->high))
        return (struct tp_text){""};
    return tp_signed_interval(i->low - 1, i->high - 1);
}

struct tp_text tp_finding_pairs(const struct tp_finding *f)
{
    if (!tp_finding_is_timed(f))
        return (struct tp_text){""};
    struct tp_text pairs = tp_plural(f->difference.pairs, "pair");
    return f->sets > 1 ? tp_text_of("%s in %u sets", pairs.s, f->sets) : pairs;
}

struct tp_text tp_finding_proof(const struct tp_finding *f)
{
    struct tp_text interval = tp_finding_interval(f);
    double p = tp_finding_p(f, true);
    if (!interval.s[0] || isnan(p))
        return interval;
    return p < 0.001 ? tp_text_of("%s p<0.001", interval.s)
                     : tp_text_of("%s p=%.2g", interval.s, p);
}

/* Adds ", allowed: +5%, [+8.1, +12.0] p<0.001; NOTE", without the parts that the finding lacks. */
static void add_rule(struct tp_gate_line *line, const struct tp_finding *f)
{
    if (f->metric)
        tp_gate_add(line, ", allowed: %s", tp_finding_allowed(f).s);
    if (tp_finding_proof(f).s[0])
        tp_gate_add(line, ", %s", tp_finding_proof(f).s);
    if (tp_finding_note(f).s[0])
        tp_gate_add(line, "; %s", tp_finding_note(f).s);
}

/* Adds "131.4 -> 137.9 MiB (+4.9%)". */
static void add_values(struct tp_gate_line *line, const struct tp_finding *f)
{
    struct tp_text change = tp_finding_change(f);
    tp_gate_add(line, "%s", tp_finding_values(f).s);
    if (change.s[0])
        tp_gate_add(line, " (%s)", change.s);
}

/* Adds ", exactly 137,783,501 B -> 144,598,630 B", because two values may differ beyond the four
 * digits that are shown. */
static void add_exactly(struct tp_gate_line *line, const struct tp_finding *f)
{
    if (!f->metric || f->metric->unit != TP_UNIT_BYTES || f->base == f->now)
        return;
    tp_gate_add(line, ", exactly %s", tp_metric_text(f->metric, f->base, true).s);
    tp_gate_add(line, " -> %s", tp_metric_text(f->metric, f->now, true).s);
}

struct tp_gate_line tp_finding_sentence(const struct tp_gate *g, const struct tp_finding *f)
{
    struct tp_gate_line line = tp_gate_cell_text(g, f->cell);
    tp_gate_add(&line, ": %s ", tp_finding_name(f).s);
    add_values(&line, f);
    add_rule(&line, f);
    return line;
}

struct tp_gate_line tp_finding_evidence(const struct tp_gate *g, const struct tp_finding *f)
{
    const struct tp_difference *d = &f->difference;
    struct tp_gate_line line = {""};
    if (!tp_finding_is_timed(f)) {
        add_values(&line, f);
        add_exactly(&line, f);
        add_rule(&line, f);
        return line;
    }
    tp_gate_add(&line, "medians %s; paired estimate %s, 95%% CI %s%%; ", tp_finding_values(f).s,
                signed_percent(d->estimate - 1).s, tp_finding_interval(f).s);
    tp_gate_add(&line, "p %.3g raw, %.3g adjusted; n = %s", tp_finding_p(f, false),
                tp_finding_p(f, true), tp_finding_pairs(f).s);
    tp_gate_add(&line, "; threshold %s and an adjusted p below %g", tp_finding_allowed(f).s,
                g->alpha);
    if (tp_finding_note(f).s[0])
        tp_gate_add(&line, "; %s", tp_finding_note(f).s);
    return line;
}

struct tp_gate_line tp_class_unchecked(const struct tp_class_check *c)
{
    struct tp_gate_line line = {""}, clean;
    if (c->checked && !c->reason[0])
        return line;
    const char *what = c->named ? "not in" : "not in every cell";
    if (!c->checked)
        what = "NOT CHECKED";
    bool gap = c->checked && c->named, asked = c->required && !c->unknown_only;
    tp_gate_add(&line, "%s%s%s: %s", asked && gap ? "required, but " : "", what,
                asked && !gap ? ", though required" : "", c->reason);
    if (c->how[0])
        tp_gate_add(&line, ": %s", c->how);
    tp_clean_text(line.s, clean.s, sizeof clean.s);
    return clean;
}

bool tp_class_is_partial(const struct tp_gate *g, enum tp_class metric_class)
{
    const struct tp_class_check *c = &g->classes[metric_class];
    return c->checked &&
           ((metric_class == TP_CLASS_INSTRUCTIONS && c->cells + c->without < g->cell_count) ||
            c->reason[0]);
}

bool tp_class_unmet(const struct tp_gate *g, enum tp_class metric_class)
{
    const struct tp_class_check *c = &g->classes[metric_class];
    return c->required && !c->unknown_only && (!c->checked || tp_class_is_partial(g, metric_class));
}

bool tp_cells_unmet(const struct tp_gate *g)
{
    return g->all_cells && g->cell_count < g->cells_total;
}

bool tp_gate_is_aborted(const struct tp_gate *g)
{
    return g->exit_code != 0 && g->exit_code != 1 && g->exit_code != 5;
}

static bool anything_checked(const struct tp_gate *g)
{
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        if (g->classes[c].checked)
            return g->finding_count > 0;
    return false;
}

struct tp_gate_line tp_gate_unmet(const struct tp_gate *g)
{
    struct tp_gate_line line = {""};
    size_t missing = g->cells_total > g->cell_count ? g->cells_total - g->cell_count : 0;
    if (g->exit_code == 5 && !tp_gate_is_sharp(g))
        tp_gate_add(&line, "--require-sensitivity %s%%: %s", tp_digits(100 * g->sensitivity).s,
                    g->sharpness.cells ? "times vary too much to detect so small a slowdown"
                                       : "no times were compared");
    if (tp_gate_is_aborted(g) && g->error[0])
        tp_clean_text(g->error, line.s, sizeof line.s);
    else if (tp_gate_is_aborted(g))
        tp_gate_add(&line, "%s", "an error or a signal ended the check: stderr says which");
    if (g->exit_code != 1)
        return line;
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        if (tp_class_unmet(g, (enum tp_class)c))
            tp_gate_add(&line, "%s%s",
                        line.s[0] ? ", " : "required but not checked: ", tp_class_words[c]);
    if (tp_cells_unmet(g))
        tp_gate_add(&line, "%s%s", line.s[0] ? ", " : "required but not checked: ", "all cells");
    if (!line.s[0] && !anything_checked(g))
        tp_gate_add(&line, "nothing was checked");
    if (!line.s[0] && !g->counts[TP_REGRESSION] && missing)
        tp_gate_add(&line, "%s of the baseline not run: --allow-missing permits that",
                    tp_plural(missing, "cell").s);
    return line;
}

/* ---- the verdict ---- */

/* A share in whole percent, rounded up so that the sentence does not promise too much. */
static struct tp_text whole_percent(double share)
{
    return tp_text_of("%s%%", tp_digits(ceil(100 * share - 1e-9)).s);
}

bool tp_gate_is_sharp(const struct tp_gate *g)
{
    const struct tp_gate_sharpness *s = &g->sharpness;
    return !(g->sensitivity > 0) || (s->cells && !s->untold && s->worst <= g->sensitivity + 1e-9);
}

struct tp_text tp_gate_detectable(const struct tp_gate *g)
{
    const struct tp_gate_sharpness *s = &g->sharpness;
    if (!s->cells)
        return (struct tp_text){""};
    if (!s->cell)
        return tp_text_of("not known");
    return s->untold ? tp_text_of("%s at worst, not known in %zu of %s", whole_percent(s->worst).s,
                                  s->untold, tp_plural(s->cells, "cell").s)
                     : whole_percent(s->worst);
}

struct tp_gate_line tp_gate_sharpness_text(const struct tp_gate *g)
{
    const struct tp_gate_sharpness *s = &g->sharpness;
    struct tp_gate_line line = {""};
    struct tp_text worst = whole_percent(s->worst), median = whole_percent(s->median);
    bool differ = strcmp(worst.s, median.s) != 0;
    if (!s->untold && !differ) /* the verdict says it */
        return line;
    tp_gate_add(&line, "minimum detectable slowdown (90%% power): ");
    if (s->cell)
        tp_gate_add(&line, "%s in %s", worst.s, tp_gate_cell_text(g, s->cell).s);
    if (s->cell && differ)
        tp_gate_add(&line, "; median of the known cells %s", median.s);
    if (s->untold)
        tp_gate_add(&line, "%snot known in %s: times vary too much", s->cell ? "; " : "",
                    tp_plural(s->untold, "cell").s);
    return line;
}

struct tp_text tp_gate_time(uint64_t ns)
{
    uint64_t seconds = (ns + 500000000) / 1000000000;
    if (ns < UINT64_C(59950000000))
        return tp_text_of("%.1f s", (double)ns / 1e9);
    return tp_text_of("%llu min %02llu s", (unsigned long long)(seconds / 60),
                      (unsigned long long)(seconds % 60));
}

/* What was checked, for the verdict line; "" if everything was. A check without any finding says
 * "nothing was checked", even if its classes claim otherwise. */
static struct tp_gate_line what_of(const struct tp_gate *g)
{
    struct tp_gate_line line = {""};
    if (!anything_checked(g))
        return (struct tp_gate_line){"nothing was checked"};
    if (g->cell_count < g->cells_total)
        tp_gate_add(&line, "%s of %s%s", tp_count(g->cell_count).s,
                    tp_plural(g->cells_total, "cell").s, g->what[0] ? ", " : "");
    tp_gate_add(&line, "%s", g->what);
    return line;
}

/* Adds the number of findings for each verdict. Values that moved are counted by their causes.
 * `all` adds the verdicts that a PASS does not have. */
static void add_counts(struct tp_gate_line *line, const struct tp_gate *g, bool all)
{
    const size_t *n = g->counts;
    size_t values = 0, options = g->options_changed;
    for (int v = 0; v < TP_VERDICTS; v++)
        values += n[v];
    if (options)
        tp_gate_add(line, "%s changed, ", tp_plural(options, "option").s);
    if (all)
        tp_gate_add(line, "%s of %s worse, %s better, %s", tp_count(n[TP_REGRESSION] - options).s,
                    tp_plural(values - options, "value").s, tp_count(n[TP_IMPROVED]).s,
                    tp_count(n[TP_SAME]).s);
    else if (n[TP_IMPROVED])
        tp_gate_add(line, "%s better, %s", tp_plural(n[TP_IMPROVED], "value").s,
                    tp_count(n[TP_SAME]).s);
    else
        tp_gate_add(line, "%s", tp_plural(n[TP_SAME], "value").s);
    tp_gate_add(line, " unchanged");
    if (all)
        tp_gate_add(line, ", %s inconclusive", tp_count(n[TP_INCONCLUSIVE]).s);
    if (n[TP_INSENSITIVE])
        tp_gate_add(line, ", %s insensitive", tp_count(n[TP_INSENSITIVE]).s);
}

bool tp_finding_is_open(const struct tp_gate *g, const struct tp_finding *f)
{
    return f->verdict == TP_INCONCLUSIVE && (g->exit_code != 0 || tp_finding_could_gate(g, f));
}

struct tp_gate_line tp_gate_set_by(const struct tp_gate *g)
{
    struct tp_gate_line line = {""}, clean;
    if (g->chosen[0])
        tp_gate_add(&line, "set on the command line:%s", g->chosen);
    if (g->tolerances)
        tp_gate_add(&line, "%s%s: %s", g->chosen[0] ? "; by " : "set by ",
                    tp_gate_name(g->baseline).s, tp_plural(g->tolerances, "tolerance").s);
    tp_clean_text(line.s, clean.s, sizeof clean.s);
    return clean;
}

static const char *verdict_word(const struct tp_gate *g)
{
    if (g->exit_code == 0)
        return "PASS";
    if (g->exit_code == 5)
        return "INCONCLUSIVE";
    return tp_gate_is_aborted(g) && !g->counts[TP_REGRESSION] ? "ABORTED" : "FAIL";
}

struct tp_gate_line tp_gate_verdict(const struct tp_gate *g)
{
    bool pass = g->exit_code == 0;
    struct tp_gate_line line = {""}, what = what_of(g);
    tp_gate_add(&line, "%s", verdict_word(g));
    if (what.s[0])
        tp_gate_add(&line, " (%s)", what.s);
    if (pass && g->told[TP_INCONCLUSIVE])
        tp_gate_add(&line, " with %s inconclusive", tp_count(g->told[TP_INCONCLUSIVE]).s);
    tp_gate_add(&line, ": ");
    if (anything_checked(g) || !tp_gate_is_aborted(g))
        add_counts(&line, g, !pass);
    else
        tp_gate_add(&line, "no verdict");
    tp_gate_add(&line, "; %s of %s", tp_count(g->cell_count).s,
                tp_plural(g->cells_total, "cell").s);
    if (tp_gate_detectable(g).s[0])
        tp_gate_add(&line, "; minimum detectable slowdown %s", tp_gate_detectable(g).s);
    return line;
}
