/* What GitHub Actions shows of a gate: annotations, written as workflow commands to standard output
 * or standard error, and the step summary, a file that each command of a step appends to.
 *
 * GitHub keeps 10 annotations of each kind per step, and drops a summary above 1 MiB. This file
 * keeps to both limits and counts what it leaves out. */
#include "cmd/gate/gate_markdown.h"
#include "cmd/gate/gate_words.h"
#include "cmd/ui/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SUMMARY_MAX = 1 << 20, ANNOTATIONS = 10 };

/* ---- annotations ---- */

struct annotations {
    FILE *out;
    const char *kind; /* "error", "warning" */
    size_t all, done; /* annotations of this kind: in total; written so far */
};

static void annotate(struct annotations *a, const char *title, const char *text)
{
    size_t more = a->all - (ANNOTATIONS - 1);
    struct tp_gate_line rest = {""};
    if (a->done >= ANNOTATIONS)
        return;
    if (++a->done == ANNOTATIONS && a->all > ANNOTATIONS) {
        tp_gate_add(&rest, "%s more: see the step summary or --export-json FILE", tp_count(more).s);
        text = rest.s;
        title = "tapool check";
    }
    fprintf(a->out, "::%s", a->kind);
    tp_put(a->out, TP_TO_PROPERTY, " title=%s::", title);
    tp_put(a->out, TP_TO_MESSAGE, "%s\n", text);
}

static void annotate_regressions(const struct tp_gate *g, struct annotations *a)
{
    for (size_t i = 0; i < g->told[TP_REGRESSION] && a->done < ANNOTATIONS; i++)
        annotate(a, "tapool check: regression", tp_cause_sentence(g, &g->causes[i]).s);
}

static void annotate_open(const struct tp_gate *g, struct annotations *a)
{
    for (size_t i = 0; i < g->finding_count && a->done < ANNOTATIONS; i++)
        if (tp_finding_is_open(g, &g->findings[i]))
            annotate(a, "tapool check: inconclusive", tp_finding_sentence(g, &g->findings[i]).s);
}

static size_t count_open(const struct tp_gate *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->finding_count; i++)
        n += tp_finding_is_open(g, &g->findings[i]);
    return n;
}

/* Why a class was not checked. "" if the check stopped before this it had any findings: the
 * annotation of the error says enough then. */
static struct tp_gate_line unchecked(const struct tp_gate *g, int metric_class)
{
    bool ended = g->error[0] && !g->finding_count;
    return ended ? (struct tp_gate_line){""} : tp_class_unchecked(&g->classes[metric_class]);
}

static size_t count_unchecked(const struct tp_gate *g)
{
    size_t n = 0;
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        n += unchecked(g, c).s[0] != '\0';
    return n;
}

static size_t count_failed(const struct tp_gate *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->cell_count; i++)
        n += tp_cell_failure(g, &g->cells[i]).s[0] != '\0';
    return n;
}

static void annotate_failed(const struct tp_gate *g, struct annotations *a)
{
    for (size_t i = 0; i < g->cell_count && a->done < ANNOTATIONS; i++) {
        struct tp_gate_line why = tp_cell_failure(g, &g->cells[i]);
        if (why.s[0])
            annotate(a, "tapool check", why.s);
    }
}

/* Writes everything that fails the job. */
static void write_errors(const struct tp_gate *g, FILE *out)
{
    bool open_fails = g->exit_code == 5;
    struct tp_gate_line unmet = tp_gate_unmet(g);
    struct annotations a = {.out = out, .kind = "error"};
    a.all = (unmet.s[0] != '\0') + count_failed(g) + g->told[TP_REGRESSION] +
            (open_fails ? count_open(g) : 0);
    if (unmet.s[0])
        annotate(&a, "tapool check", unmet.s);
    annotate_failed(g, &a);
    annotate_regressions(g, &a);
    if (open_fails)
        annotate_open(g, &a);
}

/* Writes what does not fail the job but limits what was checked. `full`: the summary had no room.
 */
static void write_warnings(const struct tp_gate *g, bool full, FILE *out)
{
    bool open_warns = g->exit_code != 5;
    struct annotations a = {.out = out, .kind = "warning"};
    a.all = count_unchecked(g) + full + (g->missing[0] != '\0') + (open_warns ? count_open(g) : 0);
    for (int c = 0; c < TP_CLASS_REPORT; c++) {
        struct tp_gate_line title = {""};
        tp_gate_add(&title, "tapool check: %s", tp_class_words[c]);
        if (unchecked(g, c).s[0])
            annotate(&a, title.s, unchecked(g, c).s);
    }
    if (g->missing[0])
        annotate(&a, "tapool check", g->missing);
    if (full)
        annotate(&a, "tapool check", "the step summary is full (1 MiB): nothing was added to it");
    if (open_warns)
        annotate_open(g, &a);
}

/* ---- the step summary ---- */

static int fail_summary(struct tp_err *err, const char *path)
{
    return tp_fail(err, TP_EIO, "'%s' ($GITHUB_STEP_SUMMARY) cannot be written: %s", path,
                   strerror(errno));
}

static int append_summary(const struct tp_gate *g, const char *path, bool *full, struct tp_err *err)
{
    struct stat st;
    FILE *out = fopen(path, "ae");
    if (!out)
        return fail_summary(err, path);
    int rc = TP_OK;
    if (fstat(fileno(out), &st))
        rc = fail_summary(err, path);
    *full = !rc && (uint64_t)st.st_size + TP_MARKDOWN_LEAST > SUMMARY_MAX;
    if (!rc && !*full) {
        if (st.st_size > 0)
            fputc('\n', out); /* the text in the file may lack its final newline */
        rc = tp_gate_markdown(g, out, SUMMARY_MAX - 1 - (size_t)st.st_size, err);
    }
    bool lost = ferror(out);
    if ((fclose(out) || lost) && !rc)
        rc = fail_summary(err, path);
    return rc;
}

int tp_gate_summary(const struct tp_gate *g, bool *full, struct tp_err *err)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    *full = false;
    return path && *path ? append_summary(g, path, full, err) : TP_OK;
}

/* ---- both ---- */

bool tp_gate_in_github(void)
{
    const char *github = getenv("GITHUB_ACTIONS");
    return github && *github;
}

void tp_gate_annotate(const struct tp_gate *g, bool full, FILE *out)
{
    write_errors(g, out);
    write_warnings(g, full, out);
}
