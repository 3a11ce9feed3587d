/* JUnit XML, as Jenkins, GitLab and the actions for GitHub read it:
 *
 *     testsuites
 *       testsuite "classes"    a test case per class: not checked is skipped, or failed
 *                              where it is required; and one for the check itself
 *       testsuite TRACE        a test case per metric of each strategy on that trace
 *
 * A regression is a failure, what ended the check early an error; inconclusive and insensitive are
 * skipped, with a message: none of them is a green. There is no published standard; elements,
 * attributes and their order are those that the schema of Jenkins' xunit plug-in knows. Dots in
 * names would be packages to Jenkins. */
#include "cmd/gate/gate_words.h"
#include "cmd/ui/escape.h"

#include <string.h>

struct junit_tally {
    size_t tests, failures, errors, skipped;
};

static void attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    tp_escape(out, TP_TO_XML, value);
    fputc('"', out);
}

/* A name as a part of `classname`: its dots are none of packages. */
static void class_part(FILE *out, const char *name)
{
    struct tp_gate_line part = tp_gate_name(name);
    for (char *c = part.s; *c; c++)
        if (*c == '.')
            *c = '_';
    tp_escape(out, TP_TO_XML, part.s);
}

static void open_suite(FILE *out, const char *name, struct junit_tally t, double seconds)
{
    fputs("  <testsuite", out);
    attribute(out, "name", name);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
            t.tests, t.failures, t.errors, t.skipped, seconds);
}

/* ---- classes ---- */

/* What failed, if neither a value nor a class did: cells that were not run. */
static bool cells_failed(const struct tp_gate *g)
{
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        if (tp_class_unmet(g, (enum tp_class)c))
            return false;
    return g->exit_code == 1 && !g->counts[TP_REGRESSION];
}

static struct junit_tally count_classes(const struct tp_gate *g)
{
    struct junit_tally t = {.tests = TP_CLASS_REPORT + 1,
                            .failures = cells_failed(g),
                            .errors = tp_gate_is_unfinished(g)};
    for (int c = 0; c < TP_CLASS_REPORT; c++) {
        t.failures += tp_class_unmet(g, (enum tp_class)c);
        t.skipped += !g->classes[c].checked && !tp_class_unmet(g, (enum tp_class)c);
    }
    return t;
}

static void write_property(FILE *out, const char *name, const char *value)
{
    fputs("      <property", out);
    attribute(out, "name", name);
    attribute(out, "value", value);
    fputs("/>\n", out);
}

static void write_properties(const struct tp_gate *g, FILE *out)
{
    char seed[24], rule[96];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)g->seed);
    snprintf(rule, sizeof rule, "adjusted p below %g and at least %+g %% over %u pairs", g->alpha,
             100 * g->effect, g->pairs);
    fputs("    <properties>\n", out);
    write_property(out, "baseline", g->baseline);
    write_property(out, "seed", seed);
    write_property(out, "latency rule", rule);
    if (g->sharpness.cells)
        write_property(out, "sensitivity", tp_gate_sharpness_text(g).s);
    fputs("    </properties>\n", out);
}

static void write_class(const struct tp_gate *g, enum tp_class class, FILE *out)
{
    const struct tp_class_check *c = &g->classes[class];
    bool unmet = tp_class_unmet(g, class);
    fputs("    <testcase", out);
    attribute(out, "classname", "tapool.classes");
    attribute(out, "name", tp_class_words[class]);
    fputs(" time=\"0\">", out);
    if (!c->checked || unmet) {
        fputs(unmet ? "<failure type=\"not checked\"" : "<skipped", out);
        attribute(out, "message", tp_class_unchecked(c).s);
        fputs("/>", out);
    } else {
        fputs("<system-out>", out);
        tp_escape(out, TP_TO_XML, c->against);
        fprintf(out, ": %s, %s", tp_plural(c->cells, "cell").s, tp_plural(c->values, "value").s);
        if (c->reason[0]) {
            fputs("; ", out);
            tp_escape(out, TP_TO_XML, tp_class_unchecked(c).s);
        }
        fputs("</system-out>", out);
    }
    fputs("</testcase>\n", out);
}

static void write_classes(const struct tp_gate *g, FILE *out)
{
    struct tp_gate_line verdict, unmet = tp_gate_unmet(g);
    tp_gate_verdict(g, verdict.s, sizeof verdict.s);
    open_suite(out, "classes", count_classes(g), (double)g->wall_ns / 1e9);
    write_properties(g, out);
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        write_class(g, (enum tp_class)c, out);
    fputs("    <testcase classname=\"tapool.classes\" name=\"cells\" time=\"0\">", out);
    if (tp_gate_is_unfinished(g) || cells_failed(g)) {
        fputs(cells_failed(g) ? "<failure type=\"cells\"" : "<error type=\"unfinished\"", out);
        attribute(out, "message", unmet.s[0] ? unmet.s : verdict.s);
        fputs("/>", out);
    }
    fputs("</testcase>\n    <system-out>", out);
    tp_escape(out, TP_TO_XML, verdict.s);
    if (g->again[0]) {
        fputs("\nagain: ", out);
        tp_escape(out, TP_TO_XML, g->again);
    }
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
    fputs("\n      <failure type=\"regression\"", out);
    attribute(out, "message", tp_finding_sentence(g, f).s);
    fputs(">", out);
    tp_escape(out, TP_TO_XML, tp_finding_evidence(g, f).s);
    fprintf(out, "\nseed: %llu", (unsigned long long)g->seed);
    if (g->again[0]) {
        fputs("\nagain: ", out);
        tp_escape(out, TP_TO_XML, g->again);
    }
    fputs("\n</failure>\n    ", out);
}

static void write_skipped(const struct tp_gate *g, const struct tp_finding *f, FILE *out)
{
    struct tp_gate_line text = {""};
    tp_gate_add(&text, "%s: %s", tp_verdict_words[f->verdict], tp_finding_evidence(g, f).s);
    fputs("<skipped", out);
    attribute(out, "message", text.s);
    fputs("/>", out);
}

static void write_finding(const struct tp_gate *g, const struct tp_finding *f, FILE *out)
{
    fputs("    <testcase classname=\"tapool.", out);
    class_part(out, trace_of(f));
    if (f->cell) {
        fputc('.', out);
        class_part(out, f->cell->strategy);
        fputc('@', out);
        class_part(out, f->cell->source);
    }
    fputc('"', out);
    attribute(out, "name", tp_finding_name(f).s);
    fputs(" time=\"0\">", out);
    if (f->verdict == TP_REGRESSION) {
        write_failure(g, f, out);
    } else if (is_skipped(f)) {
        write_skipped(g, f, out);
    } else {
        fputs("<system-out>", out);
        tp_escape(out, TP_TO_XML, tp_verdict_words[f->verdict]);
        fputs(": ", out);
        tp_escape(out, TP_TO_XML, tp_finding_evidence(g, f).s);
        fputs("</system-out>", out);
    }
    fputs("</testcase>\n", out);
}

/* Findings that follow each other and are of the same trace. */
static size_t same_trace(const struct tp_finding *f, size_t count)
{
    size_t n = 1;
    while (n < count && (f[n].cell == f->cell || !strcmp(trace_of(&f[n]), trace_of(f))))
        n++;
    return n;
}

static int write_junit(const struct tp_gate *g, FILE *out, struct tp_err *err)
{
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

const struct tp_gate_writer tp_gate_writer_junit = {"junit", write_junit};
