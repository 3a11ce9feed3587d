/* Markdown for a comment on a pull request and for GitHub's step summary:
 *
 *     ## tapool check: FAIL
 *     the verdict, what was checked, how sharp that was
 *     a table of what changed: one row per cause, at most 5 rows; the command that repeats it
 *     <details> a table of every value, with the evidence
 *
 * Both places limit the number of bytes. Rows are written as long as they and the end of the
 * document fit; then one row says how many are left out. */
#include "cmd/gate/gate_markdown.h"

#include "cmd/gate/gate_words.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum {
    TAIL = 1024, /* bytes reserved for what follows the last row */
    ROWS = 5     /* rows of the table outside <details> */
};

static const char left[] = "---", right[] = "--:"; /* delimiter row of a table */

struct document {
    const struct tp_gate *gate;
    FILE *out;
    struct tp_str part; /* text that is written next if it fits */
    size_t left;        /* bytes that may still be written */
    bool full, lost;    /* full: the limit is reached; lost: out of memory */
};

/* Writes the part if it fits. */
static void put_part(struct document *d)
{
    d->lost |= d->part.cut;
    d->full |= d->part.length + TAIL > d->left;
    if (!d->full) {
        fputs(tp_str_text(&d->part), d->out);
        d->left -= d->part.length;
    }
    tp_str_drop(&d->part);
}

/* Writes the heads and those of the first `most` rows that fit; returns how many. */
static size_t put_table(struct document *d, const struct tp_table *t, size_t most)
{
    size_t written = 0;
    d->lost |= t->failed;
    tp_table_heads(t, left, right, &d->part);
    put_part(d);
    for (; written < most && !d->full && (int)written < tp_table_rows(t); written += !d->full) {
        tp_table_markdown_row(t, (int)written, &d->part);
        put_part(d);
    }
    return written;
}

/* ---- the head ---- */

void tp_gate_classes(const struct tp_gate *g, bool marked, struct tp_table *t)
{
    static const struct tp_column columns[] = {{.head = {"class"}, .left = true},
                                               {.head = {"compared"}, .left = true},
                                               {.head = {"cells"}},
                                               {.head = {"values"}}};
    enum tp_target to = marked ? TP_TO_MARKDOWN : 0;
    tp_table_columns(t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < TP_CLASS_REPORT; i++) {
        const struct tp_class_check *c = &g->classes[i];
        const char *loud = marked && !c->checked ? "**" : "", *between = c->reason[0] ? "; " : "";
        struct tp_str text = {0};
        tp_str_put(&text, to, "%s%s", c->checked ? c->against : "", c->checked ? between : "");
        tp_str_add(&text, "%s", loud);
        tp_str_put(&text, to, "%s", tp_class_unchecked(c).s);
        tp_table_add(t, "%s", tp_class_words[i]);
        tp_table_add(t, "%s%s", tp_str_text(&text), loud);
        tp_table_add(t, c->checked ? "%s" : NULL, tp_count(c->cells).s);
        tp_table_add(t, c->checked ? "%s" : NULL, tp_count(c->values).s);
        tp_str_drop(&text);
    }
}

static void add_head(const struct tp_gate *g, struct tp_str *s)
{
    struct tp_gate_line verdict = tp_gate_verdict(g), unmet = tp_gate_unmet(g);
    struct tp_gate_line more[] = {tp_gate_sharpness_text(g), tp_gate_set_by(g)};
    int word = (int)strcspn(verdict.s, ":");
    struct tp_table classes = {0};
    tp_str_add(s, "## tapool check: %.*s\n\n", word, verdict.s);
    tp_str_put(s, TP_TO_MARKDOWN, "**%s** in %s", verdict.s + word + 2, tp_gate_time(g->wall_ns).s);
    tp_str_add(s, ", exit %d\n\n", g->exit_code);
    if (unmet.s[0])
        tp_str_put(s, TP_TO_MARKDOWN, "%s\n\n", unmet.s);
    if (g->baseline[0]) {
        tp_str_put(s, TP_TO_CODE, "%s: ", g->baseline);
        tp_str_put(s, TP_TO_MARKDOWN, "%s\n\n", g->written);
    }
    tp_gate_classes(g, true, &classes);
    tp_table_heads(&classes, left, right, s);
    for (int c = 0; c < tp_table_rows(&classes); c++)
        tp_table_markdown_row(&classes, c, s);
    tp_table_drop(&classes);
    tp_str_add(s, "\n");
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        more[i].s[0] = (char)toupper((unsigned char)more[i].s[0]);
        if (more[i].s[0])
            tp_str_put(s, TP_TO_MARKDOWN, "%s\n\n", more[i].s);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_head(struct document *d)
{
    add_head(d->gate, &d->part);
    put_part(d);
    if (d->gate->again[0]) /* as code, so that no part of the command is taken for markup */
        tp_str_put(&d->part, TP_TO_CODE, "Rerun: %s\n\n", d->gate->again);
    put_part(d);
    if (d->gate->page)
        tp_str_put(&d->part, TP_TO_CODE, "With charts: %s\n\n", base_name(d->gate->page));
    put_part(d);
}

/* Names the cells that could not be measured. */
static void put_failed(struct document *d)
{
    for (size_t i = 0; i < d->gate->cell_count; i++) {
        struct tp_gate_line why = tp_cell_failure(d->gate, &d->gate->cells[i]);
        if (why.s[0])
            tp_str_put(&d->part, TP_TO_MARKDOWN, "%s\n\n", why.s);
        put_part(d);
    }
}

/* ---- all values ---- */

static void add_verdict(const struct tp_finding *f, bool marked, struct tp_table *t)
{
    const char *loud = marked && f->verdict == TP_REGRESSION ? "**" : "";
    tp_table_add(t, "%s%s%s", loud, tp_verdict_words[f->verdict], loud);
}

static void add_p(const struct tp_finding *f, bool adjusted, struct tp_table *t)
{
    double p = tp_finding_p(f, adjusted);
    tp_table_add(t, isfinite(p) ? "%.2g" : NULL, p);
}

static void add_value(const struct tp_finding *f, bool marked, struct tp_table *t)
{
    const char *names[] = {f->cell ? f->cell->trace : "", f->cell ? f->cell->strategy : "",
                           f->cell ? f->cell->source : ""};
    struct tp_gate_line note = tp_finding_note(f);
    add_verdict(f, marked, t);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tp_table_add(t, "%s", tp_gate_name(names[i]).s);
    tp_table_add(t, "%s", tp_finding_name(f).s);
    tp_table_add(t, "%s%s%s", tp_finding_values(f).s, note.s[0] ? "; " : "", note.s);
    tp_table_add(t, "%s", tp_finding_change(f).s);
    tp_table_add(t, "%s", tp_finding_allowed(f).s);
    tp_table_add(t, "%s", tp_finding_interval(f).s);
    add_p(f, false, t);
    add_p(f, true, t);
    tp_table_add(t, tp_finding_is_timed(f) ? "%s" : NULL, tp_finding_pairs(f).s);
}

void tp_gate_values(const struct tp_gate *g, const size_t *place, struct tp_table *t)
{
    static const struct tp_column columns[] = {
        {.left = true},
        {.head = {"trace"}, .left = true, .to = TP_TO_CODE_CELL},
        {.head = {"strategy"}, .left = true, .to = TP_TO_CODE_CELL},
        {.head = {"source"}, .left = true, .to = TP_TO_CODE_CELL},
        {.head = {"metric"}, .left = true, .to = TP_TO_CODE_CELL},
        {.head = {"base -> now"}, .left = true, .to = TP_TO_MARKDOWN},
        {.head = {"change"}},
        {.head = {"allowed"}},
        {.head = {"95% CI"}, .left = true},
        {.head = {"p raw"}},
        {.head = {"p adjusted"}},
        {.head = {"pairs"}},
    };
    tp_table_columns(t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < g->finding_count; i++)
        if (!place || place[i] != SIZE_MAX)
            add_value(&g->findings[i], !place, t);
}

static void put_values(struct document *d)
{
    size_t written, count = d->gate->finding_count;
    struct tp_table t = {0};
    if (!count || d->full)
        return;
    tp_str_add(&d->part, "<details><summary>all values</summary>\n\n");
    put_part(d);
    if (d->full)
        return;
    tp_gate_values(d->gate, NULL, &t);
    written = put_table(d, &t, count);
    tp_table_drop(&t);
    if (written < count)
        fprintf(d->out, "| | %s more rows do not fit here: `--export-json FILE` has them all |\n",
                tp_count(count - written).s);
    fputs("\n</details>\n", d->out);
}

/* ---- what changed ---- */

static void add_changed(const struct tp_gate *g, const struct tp_finding *f, const char *what,
                        const char *values, struct tp_table *t)
{
    add_verdict(f, true, t);
    tp_table_add(t, "%s", tp_gate_cell_text(g, f->cell).s);
    tp_table_add(t, "%s", what);
    tp_table_add(t, "%s", values);
    tp_table_add(t, "%s", tp_finding_change(f).s);
    tp_table_add(t, "%s", tp_finding_allowed(f).s);
}

static void add_causes(const struct tp_gate *g, size_t from, size_t to, struct tp_table *t)
{
    for (size_t i = from; i < to; i++) {
        const struct tp_cause *c = &g->causes[i];
        struct tp_gate_line what = tp_cause_text(c);
        if (tp_finding_grown(c->lead).s[0])
            tp_gate_add(&what, "; %s", tp_finding_grown(c->lead).s);
        if (c->count > 1)
            tp_gate_add(&what, "; with it %s", tp_plural(c->count - 1, "figure").s);
        add_changed(g, c->lead, what.s, tp_cause_values(c).s, t);
    }
}

/* Writes regressions first, then findings that may be one, then improvements. */
static void put_changes(struct document *d)
{
    static const struct tp_column columns[] = {
        {.left = true},
        {.head = {"trace, strategy"}, .left = true, .to = TP_TO_CODE_CELL},
        {.head = {"change"}, .left = true, .to = TP_TO_MARKDOWN},
        {.head = {"base -> now"}, .left = true, .to = TP_TO_MARKDOWN},
        {.head = {"change"}},
        {.head = {"allowed"}},
    };
    const struct tp_gate *g = d->gate;
    struct tp_table t = {0};
    size_t worse = g->told[TP_REGRESSION];
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    add_causes(g, 0, worse, &t);
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        if (tp_finding_is_open(g, f))
            add_changed(g, f, tp_finding_name(f).s, tp_finding_values(f).s, &t);
    }
    add_causes(g, worse, g->cause_count, &t);
    size_t rows = (size_t)tp_table_rows(&t);
    if (rows)
        put_table(d, &t, ROWS);
    if (rows > ROWS)
        fprintf(d->out, "\n%s more, below\n", tp_count(rows - ROWS).s);
    if (rows)
        fputc('\n', d->out);
    tp_table_drop(&t);
}

int tp_gate_markdown(const struct tp_gate *g, FILE *out, size_t limit, struct tp_err *err)
{
    struct document d = {.gate = g, .out = out, .left = limit};
    put_head(&d);
    put_failed(&d);
    put_changes(&d);
    put_values(&d);
    return d.lost ? tp_fail(err, TP_ENOMEM, "out of memory while writing Markdown") : TP_OK;
}

static int write_markdown(const void *of, FILE *out, struct tp_err *err)
{
    return tp_gate_markdown(of, out, TP_MARKDOWN_COMMENT, err);
}

const struct tp_exporter tp_check_markdown = {.name = "markdown", .write = write_markdown};
