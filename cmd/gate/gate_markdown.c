/* Markdown for a comment on a pull request and for GitHub's step summary:
 *
 *     ## tapool check: FAIL
 *     the verdict, what was checked, how sharp that was
 *     a table of what changed, a cause a row, 5 of them and 6 columns at most; how to see it again
 *     <details> a table of every value, with the evidence
 *
 * Both places have a limit of bytes: rows are written while they and the end of the document fit,
 * then one row says how many are left out. */
#include "cmd/gate/gate_markdown.h"

#include "cmd/gate/gate_words.h"
#include "cmd/ui/escape.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAIL = 1024, /* bytes kept for what follows the last row */
    ROWS = 5     /* that are seen without opening anything */
};

struct document {
    const struct tp_gate *gate;
    FILE *out;
    size_t left;
    bool full;
};

typedef void fill_fn(const struct tp_gate *g, const void *what, FILE *out);

/* Writes a part where it fits; `what` is passed to `fill`. */
static int put_part(struct document *d, fill_fn *fill, const void *what, struct tp_err *err)
{
    char *text = NULL;
    size_t length = 0;
    FILE *part = open_memstream(&text, &length);
    if (!part)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing Markdown");
    fill(d->gate, what, part);
    if (fclose(part)) {
        free(text);
        return tp_fail(err, TP_ENOMEM, "out of memory while writing Markdown");
    }
    d->full |= length + TAIL > d->left;
    if (!d->full) {
        fwrite(text, 1, length, d->out);
        d->left -= length;
    }
    free(text);
    return TP_OK;
}

/* ---- the head ---- */

static void write_class(const struct tp_class_check *c, const char *word, FILE *out)
{
    fprintf(out, "| %s | ", word);
    if (!c->checked) {
        fputs("**", out);
        tp_escape(out, TP_TO_MARKDOWN, tp_class_unchecked(c).s);
        fputs("** | | |\n", out);
        return;
    }
    tp_escape(out, TP_TO_MARKDOWN, c->against);
    if (c->reason[0]) {
        fputs("; ", out);
        tp_escape(out, TP_TO_MARKDOWN, tp_class_unchecked(c).s);
    }
    fprintf(out, " | %s | %s |\n", tp_count(c->cells).s, tp_count(c->values).s);
}

static void write_head(const struct tp_gate *g, const void *what, FILE *out)
{
    struct tp_gate_line verdict, unmet = tp_gate_unmet(g);
    (void)what;
    tp_gate_verdict(g, verdict.s, sizeof verdict.s);
    int word = (int)strcspn(verdict.s, ":");
    fprintf(out, "## tapool check: %.*s\n\n**", word, verdict.s);
    tp_escape(out, TP_TO_MARKDOWN, verdict.s + word + 2);
    fprintf(out, "** in %s, exit %d\n\n", tp_gate_time(g->wall_ns).s, g->exit_code);
    if (unmet.s[0]) {
        tp_escape(out, TP_TO_MARKDOWN, unmet.s);
        fputs("\n\n", out);
    }
    if (g->baseline[0]) {
        tp_escape(out, TP_TO_CODE, g->baseline);
        fputs(": ", out);
        tp_escape(out, TP_TO_MARKDOWN, g->written);
        fputs("\n\n", out);
    }
    fputs("| class | compared | cells | values |\n|---|---|--:|--:|\n", out);
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        write_class(&g->classes[c], tp_class_words[c], out);
    fputc('\n', out);
    struct tp_gate_line sharp = tp_gate_sharpness_text(g);
    if (!sharp.s[0])
        return;
    sharp.s[0] = (char)toupper((unsigned char)sharp.s[0]);
    tp_escape(out, TP_TO_MARKDOWN, sharp.s);
    fputs(".\n\n", out);
}

/* ---- rows ---- */

static const char table_head[] =
    "| | trace | strategy | source | metric | base -> now | change | allowed | 95 % interval | p "
    "raw "
    "| p adjusted | pairs |\n|---|---|---|---|---|---|--:|--:|---|--:|--:|--:|\n";

static void write_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.2g | ", value);
    else
        fputs("| ", out);
}

static void write_row(const struct tp_gate *g, const void *what, FILE *out)
{
    const struct tp_finding *f = what;
    bool loud = f->verdict == TP_REGRESSION;
    (void)g;
    fprintf(out, "| %s%s%s | ", loud ? "**" : "", tp_verdict_words[f->verdict], loud ? "**" : "");
    const char *names[] = {f->cell ? f->cell->trace : "", f->cell ? f->cell->strategy : "",
                           f->cell ? f->cell->source : ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tp_escape(out, TP_TO_CODE_CELL, tp_gate_name(names[i]).s);
        fputs(" | ", out);
    }
    tp_escape(out, TP_TO_CODE_CELL, tp_finding_name(f).s);
    fputs(" | ", out);
    tp_escape(out, TP_TO_MARKDOWN, tp_finding_values(f).s);
    if (tp_finding_note(f).s[0]) {
        fputs("; ", out);
        tp_escape(out, TP_TO_MARKDOWN, tp_finding_note(f).s);
    }
    fprintf(out, " | %s | %s | %s | ", tp_finding_change(f).s, tp_finding_allowed(f).s,
            tp_finding_interval(f).s);
    write_number(out, tp_finding_p(f, false));
    write_number(out, tp_finding_p(f, true));
    if (tp_finding_is_timed(f))
        fprintf(out, "%u x %zu ", f->sets ? f->sets : 1, f->difference.pairs);
    fputs("|\n", out);
}

static void write_text(const struct tp_gate *g, const void *what, FILE *out)
{
    (void)g;
    fputs(what, out);
}

/* Fewer rows than there are: the last one says how many are missing. */
static void write_missing(struct document *d, size_t missing)
{
    if (missing)
        fprintf(d->out, "| | %s more rows do not fit here: `--export-json FILE` has them all |\n",
                tp_count(missing).s);
}

static int write_rows(struct document *d, size_t *missing, struct tp_err *err)
{
    const struct tp_gate *g = d->gate;
    int rc = TP_OK;
    for (size_t i = 0; i < g->finding_count && !rc; i++) {
        if (!d->full)
            rc = put_part(d, write_row, &g->findings[i], err);
        *missing += d->full;
    }
    return rc;
}

/* ---- what changed ---- */

static const char changed_head[] =
    "| | trace, strategy | what changed | base -> now | change | allowed |\n"
    "|---|---|---|---|--:|--:|\n";

static void write_changed_row(const struct tp_gate *g, const struct tp_finding *f, FILE *out)
{
    bool loud = f->verdict == TP_REGRESSION;
    fprintf(out, "| %s%s%s | ", loud ? "**" : "", tp_verdict_words[f->verdict], loud ? "**" : "");
    tp_escape(out, TP_TO_CODE_CELL, tp_gate_cell_text(g, f->cell).s);
    fputs(" | ", out);
}

static void end_changed_row(const struct tp_finding *f, const char *values, FILE *out)
{
    tp_escape(out, TP_TO_MARKDOWN, values);
    fprintf(out, " | %s | %s |\n", tp_finding_change(f).s, tp_finding_allowed(f).s);
}

static void write_cause(const struct tp_gate *g, const void *what, FILE *out)
{
    const struct tp_cause *c = what;
    write_changed_row(g, c->lead, out);
    tp_escape(out, TP_TO_MARKDOWN, tp_cause_text(c).s);
    if (c->count > 1)
        fprintf(out, "; with it %s", tp_plural(c->count - 1, "figure").s);
    fputs(" | ", out);
    end_changed_row(c->lead, tp_cause_values(c).s, out);
}

static void write_open(const struct tp_gate *g, const void *what, FILE *out)
{
    const struct tp_finding *f = what;
    write_changed_row(g, f, out);
    tp_escape(out, TP_TO_MARKDOWN, tp_finding_name(f).s);
    fputs(" | ", out);
    end_changed_row(f, tp_finding_values(f).s, out);
}

/* A row of the first ROWS; what does not fit there is counted. */
static int put_row(struct document *d, fill_fn *fill, const void *what, size_t *rows,
                   struct tp_err *err)
{
    int rc = TP_OK;
    if (!*rows)
        rc = put_part(d, write_text, changed_head, err);
    if (!rc && (*rows)++ < ROWS)
        rc = put_part(d, fill, what, err);
    return rc;
}

/* Regressions first, then what may be one. */
static int write_changed(struct document *d, struct tp_err *err)
{
    const struct tp_gate *g = d->gate;
    size_t rows = 0, worse = g->told[TP_REGRESSION];
    int rc = TP_OK;
    for (size_t i = 0; i < worse && !rc; i++)
        rc = put_row(d, write_cause, &g->causes[i], &rows, err);
    for (size_t i = 0; i < g->finding_count && !rc; i++)
        if (tp_finding_is_open(g, &g->findings[i]))
            rc = put_row(d, write_open, &g->findings[i], &rows, err);
    for (size_t i = worse; i < g->cause_count && !rc; i++)
        rc = put_row(d, write_cause, &g->causes[i], &rows, err);
    if (rows > ROWS)
        fprintf(d->out, "\n%s more, below\n", tp_count(rows - ROWS).s);
    if (rows)
        fputc('\n', d->out);
    return rc;
}

static int write_details(struct document *d, struct tp_err *err)
{
    size_t missing = 0;
    if (!d->gate->finding_count || d->full)
        return TP_OK;
    int rc = put_part(d, write_text, "<details><summary>all values</summary>\n\n", err);
    bool open = !d->full;
    if (!rc && open)
        rc = put_part(d, write_text, table_head, err);
    if (!rc && open)
        rc = write_rows(d, &missing, err);
    write_missing(d, missing);
    if (open)
        fputs("\n</details>\n", d->out);
    return rc;
}

/* A block in which nothing is markup, whatever the command holds. */
static void write_again(const struct tp_gate *g, const void *what, FILE *out)
{
    (void)what;
    if (!g->again[0])
        return;
    fputs("Again: ", out);
    tp_escape(out, TP_TO_CODE, g->again);
    fputs("\n\n", out);
}

int tp_gate_markdown(const struct tp_gate *g, FILE *out, size_t limit, struct tp_err *err)
{
    struct document d = {.gate = g, .out = out, .left = limit};
    int rc = put_part(&d, write_head, NULL, err);
    if (!rc)
        rc = put_part(&d, write_again, NULL, err);
    if (!rc)
        rc = write_changed(&d, err);
    return rc ? rc : write_details(&d, err);
}

static int write_markdown(const struct tp_gate *g, FILE *out, struct tp_err *err)
{
    return tp_gate_markdown(g, out, TP_MARKDOWN_COMMENT, err);
}

const struct tp_gate_writer tp_gate_writer_markdown = {"markdown", write_markdown};
