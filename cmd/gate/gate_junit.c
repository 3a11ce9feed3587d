/* JUnit XML, as Jenkins, GitLab and the actions for GitHub read it:
 *
 *     testsuites
 *       testsuite "classes"    a test case per class, skipped if it was not checked, failed
 *                              if --require names it; one test case for the check itself; and
 *                              one for each cell that could not be measured, though others were
 *       testsuite TRACE        a test case per metric of each strategy on that trace
 *
 * A regression is a failure, and what ended the check early is an error. Inconclusive and
 * insensitive findings are skipped with a message, so that they do not look like passes. JUnit XML
 * has no published standard: elements, attributes and their order follow the schema of Jenkins'
 * xunit plug-in. */
#include "cmd/gate/gate_words.h"
#include "cmd/ui/escape.h"

#include <string.h>

struct junit_tally {
    size_t tests, failures, errors, skipped;
};

/* A name as a part of `classname`. Jenkins would take its dots for packages. */
static struct tp_gate_line class_part(const char *name)
{
    struct tp_gate_line part = tp_gate_name(name);
    for (char *c = part.s; *c; c++)
        if (*c == '.')
            *c = '_';
    return part;
}

static void open_suite(FILE *out, const char *name, struct junit_tally t, double seconds)
{
    tp_put(out, TP_TO_XML, "  <testsuite name=\"%s\"", name);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
            t.tests, t.failures, t.errors, t.skipped, seconds);
}

static struct tp_text seed_of(const struct tp_gate *g)
{
    return tp_text_of("%llu", (unsigned long long)g->seed);
}

/* Writes the command that repeats what failed, on a line of its own. */
static void write_again(const struct tp_gate *g, FILE *out)
{
    if (g->again[0])
        tp_put(out, TP_TO_XML, "\nrerun: %s", g->again);
}

/* ---- classes ---- */

/* Whether the gate failed because cells were not run, and not because of a value or a class. */
static bool cells_failed(const struct tp_gate *g)
{
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        if (tp_class_unmet(g, (enum tp_class)c))
            return false;
    return g->exit_code == 1 && !g->counts[TP_REGRESSION];
}

static struct junit_tally count_classes(const struct tp_gate *g)
{
    struct junit_tally t = {
        .tests = TP_CLASS_REPORT + 1, .failures = cells_failed(g), .errors = tp_gate_is_aborted(g)};
    for (size_t i = 0; i < g->cell_count; i++) {
        t.tests += g->cells[i].failed != NULL;
        t.errors += g->cells[i].failed != NULL;
    }
    for (int c = 0; c < TP_CLASS_REPORT; c++) {
        t.failures += tp_class_unmet(g, (enum tp_class)c);
        t.skipped += !g->classes[c].checked && !tp_class_unmet(g, (enum tp_class)c);
    }
    return t;
}

static void write_property(FILE *out, const char *name, const char *value)
{
    tp_put(out, TP_TO_XML, "      <property name=\"%s\" value=\"%s\"/>\n", name, value);
}

static void write_properties(const struct tp_gate *g, FILE *out)
{
    char rule[96];
    snprintf(rule, sizeof rule, "adjusted p below %g and at least %+g%% over %u pairs", g->alpha,
             100 * g->effect, g->pairs);
    fputs("    <properties>\n", out);
    write_property(out, "baseline", g->baseline);
    write_property(out, "seed", seed_of(g).s);
    write_property(out, "latency rule", rule);
    if (tp_gate_set_by(g).s[0])
        write_property(out, "set by", tp_gate_set_by(g).s);
    if (g->sharpness.cells)
        write_property(out, "minimum detectable slowdown (90% power)", tp_gate_detectable(g).s);
    fputs("    </properties>\n", out);
}

static void write_class(const struct tp_gate *g, enum tp_class metric_class, FILE *out)
{
    const struct tp_class_check *c = &g->classes[metric_class];
    bool unmet = tp_class_unmet(g, metric_class);
    tp_put(out, TP_TO_XML, "    <testcase classname=\"tapool.classes\" name=\"%s\" time=\"0\">",
           tp_class_words[metric_class]);
    if (unmet)
        tp_put(out, TP_TO_XML, "<failure type=\"not checked\" message=\"%s\"/>",
               tp_class_unchecked(c).s);
    else if (!c->checked)
        tp_put(out, TP_TO_XML, "<skipped message=\"%s\"/>", tp_class_unchecked(c).s);
    else
        tp_put(out, TP_TO_XML, "<system-out>%s: %s, %s%s%s</system-out>", c->against,
               tp_plural(c->cells, "cell").s, tp_plural(c->values, "value").s,
               c->reason[0] ? "; " : "", c->reason[0] ? tp_class_unchecked(c).s : "");
    fputs("</testcase>\n", out);
}

/* Writes the start of a test case of a cell. */
static void write_cell(const struct tp_gate_cell *c, const char *trace, FILE *out)
{
    tp_put(out, TP_TO_XML, "    <testcase classname=\"tapool.%s", class_part(trace).s);
    if (c)
        tp_put(out, TP_TO_XML, ".%s@%s", class_part(c->strategy).s, class_part(c->source).s);
}

static void write_failed(const struct tp_gate_cell *c, FILE *out)
{
    write_cell(c, c->trace, out);
    fputs("\" name=\"replay\" time=\"0\">", out);
    tp_put(out, TP_TO_XML, "<error type=\"failed\" message=\"%s\"/></testcase>\n", c->failed);
}

static void write_classes(const struct tp_gate *g, FILE *out)
{
    struct tp_gate_line verdict = tp_gate_verdict(g), unmet = tp_gate_unmet(g);
    const char *why = unmet.s[0] ? unmet.s : verdict.s;
    open_suite(out, "classes", count_classes(g), (double)g->wall_ns / 1e9);
    write_properties(g, out);
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        write_class(g, (enum tp_class)c, out);
    fputs("    <testcase classname=\"tapool.classes\" name=\"cells\" time=\"0\">", out);
    if (cells_failed(g))
        tp_put(out, TP_TO_XML, "<failure type=\"cells\" message=\"%s\"/>", why);
    else if (tp_gate_is_aborted(g))
        tp_put(out, TP_TO_XML, "<error type=\"aborted\" message=\"%s\"/>", why);
    fputs("</testcase>\n", out);
    for (size_t i = 0; i < g->cell_count; i++)
        if (g->cells[i].failed)
            write_failed(&g->cells[i], out);
    tp_put(out, TP_TO_XML, "    <system-out>%s", verdict.s);
    write_again(g, out);
    fputs("</system-out>\n  </testsuite>\n", out);
}

/* ---- findings ---- */

static bool is_skipped(const struct tp_finding *f)
{
    return f->verdict == TP_INCONCLUSIVE || f->verdict == TP_INSENSITIVE;
}

static const char *trace_of(const struct tp_finding *f)
{
    return f->cell ? f->cell->trace : "all cells";
}

static struct junit_tally count_findings(const struct tp_finding *f, size_t count)
{
    struct junit_tally t = {.tests = count};
    for (size_t i = 0; i < count; i++) {
        t.failures += f[i].verdict == TP_REGRESSION;
        t.skipped += is_skipped(&f[i]);
    }
    return t;
}

static void write_failure(const struct tp_gate *g, const struct tp_finding *f, FILE *out)
{
    tp_put(out, TP_TO_XML, "\n      <failure type=\"regression\" message=\"%s\">%s\nseed: %s",
           tp_finding_sentence(g, f).s, tp_finding_evidence(g, f).s, seed_of(g).s);
    write_again(g, out);
    fputs("\n</failure>\n    ", out);
}

static void write_finding(const struct tp_gate *g, const struct tp_finding *f, FILE *out)
{
    write_cell(f->cell, trace_of(f), out);
    tp_put(out, TP_TO_XML, "\" name=\"%s\" time=\"0\">", tp_finding_name(f).s);
    if (f->verdict == TP_REGRESSION)
        write_failure(g, f, out);
    else
        tp_put(out, TP_TO_XML,
               is_skipped(f) ? "<skipped message=\"%s: %s\"/>" : "<system-out>%s: %s</system-out>",
               tp_verdict_words[f->verdict], tp_finding_evidence(g, f).s);
    fputs("</testcase>\n", out);
}

/* The number of findings, from the first of `f` on, that are about the same trace. */
static size_t same_trace(const struct tp_finding *f, size_t count)
{
    size_t n = 1;
    while (n < count && (f[n].cell == f->cell || !strcmp(trace_of(&f[n]), trace_of(f))))
        n++;
    return n;
}

static int write_junit(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = of;
    struct junit_tally classes = count_classes(g);
    struct junit_tally t = count_findings(g->findings, g->finding_count);
    (void)err;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tapool check\"", out);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\">\n",
            t.tests + classes.tests, t.failures + classes.failures, classes.errors,
            (double)g->wall_ns / 1e9);
    write_classes(g, out);
    for (size_t i = 0, n; i < g->finding_count; i += n) {
        const struct tp_finding *f = &g->findings[i];
        n = same_trace(f, g->finding_count - i);
        open_suite(out, tp_gate_name(trace_of(f)).s, count_findings(f, n), 0);
        for (size_t k = 0; k < n; k++)
            write_finding(g, &f[k], out);
        fputs("  </testsuite>\n", out);
    }
    fputs("</testsuites>\n", out);
    return TP_OK;
}

const struct tp_exporter tp_check_junit = {.name = "junit", .write = write_junit};
