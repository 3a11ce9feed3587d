/* The page of `tapool check`, for people who open the artifact of a job that failed: the verdict,
 * what caused it, what was compared and what was not, and how to go on. The data is tapool.check/2
 * with what only its chart needs:
 *
 *     { ..., "page": { "texts": [
 *         {"cell", "head", "values", "change", "interval", "allowed"}, ... ] } }
 *
 * the texts of each finding, empty unless it is a time. Of more findings than a page can hold those
 * are left out first that have not moved. */
#include "alloc/base/units.h"
#include "cmd/gate/gate_markdown.h"
#include "cmd/gate/gate_words.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/metric_heading.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/table.h"

#include <stdlib.h>
#include <string.h>

/* Which of the findings are on the page. */
struct gate_page {
    const struct tp_gate *gate;
    size_t *place; /* number of each finding on the page; SIZE_MAX: it is left out */
    size_t left;   /* how many are left out */
    size_t most;   /* how many there is room for, and of each other list of the page */
    char title[48];
};

/* ---- what fits ---- */

/* Chooses the findings that have moved first, as long as there is room. */
static int choose_findings(void *of, size_t most, struct tp_err *err)
{
    struct gate_page *p = of;
    const struct tp_gate *g = p->gate;
    size_t changed = g->finding_count - g->counts[TP_SAME], shown = 0;
    size_t moved = most, same = most > changed ? most - changed : 0; /* there is room for */
    (void)err;
    p->most = most;
    for (size_t i = 0; i < g->finding_count; i++) {
        size_t *room = g->findings[i].verdict == TP_SAME ? &same : &moved;
        p->place[i] = *room ? shown++ : SIZE_MAX;
        *room -= *room != 0;
    }
    p->left = g->finding_count - shown;
    return TP_OK;
}

/* ---- the verdict ---- */

/* What the verdict means. */
static const char *meaning_of(const struct tp_gate *g)
{
    if (g->counts[TP_REGRESSION])
        return "Regression found.";
    if (tp_gate_is_aborted(g))
        return "The check stopped early: partial results.";
    if (g->exit_code == 5)
        return "Times were too noisy to exclude a slowdown.";
    if (g->exit_code)
        return "No regression found, but a required check did not run.";
    return g->told[TP_INCONCLUSIVE] ? "No regression found; some times were too noisy to decide."
                                    : "No regression found.";
}

/* A line for each cell that failed. */
static int write_failures(const void *of, FILE *out, struct tp_err *err)
{
    const struct gate_page *p = of;
    size_t failures = 0;
    (void)err;
    for (size_t i = 0; i < p->gate->cell_count; i++) {
        struct tp_gate_line line = tp_cell_failure(p->gate, &p->gate->cells[i]);
        failures += *line.s != '\0';
        if (*line.s && failures <= p->most)
            tp_put(out, TP_TO_XML, "<p>%s</p>\n", line.s);
    }
    tp_html_left_out(failures > p->most ? failures - p->most : 0, "failure", out);
    return TP_OK;
}

static void print_verdict(const void *of, struct tp_page *page)
{
    tp_gate_print_verdict(((const struct gate_page *)of)->gate, page);
}

static void print_meaning(const void *of, struct tp_page *page)
{
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    const struct tp_gate_line unmet = tp_gate_unmet(g);
    const char *const lines[] = {meaning_of(g), unmet.s, g->missing};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (*lines[i])
            tp_page_put(page, 0, "%s", lines[i]);
    tp_gate_print_remarks(g, page);
}

static void add_count(const char *label, size_t count, const char *css_class, struct tp_table *t)
{
    tp_table_figure(t, label, tp_count(count).s, count ? css_class : "");
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    const struct tp_gate_line verdict = tp_gate_verdict(g);
    const size_t word = strcspn(verdict.s, " :");
    static const char *const classes[TP_STYLES] = {[TP_RED] = "bad", [TP_GREEN] = "good"};
    const char *css_class = classes[tp_gate_style(g)];
    (void)exact;
    tp_table_figure(t, "verdict", tp_text_of("%.*s", (int)word, verdict.s).s,
                    css_class ? css_class : "");
    add_count("values worse", g->counts[TP_REGRESSION], "bad", t);
    add_count("better", g->counts[TP_IMPROVED], "good", t);
    tp_table_figure(t, "cells",
                    tp_text_of("%s of %s", tp_count(g->cell_count).s, tp_count(g->cells_total).s).s,
                    "");
    if (tp_gate_detectable(g).s[0])
        tp_table_figure(t, "min detectable slowdown", tp_gate_detectable(g).s, "");
}

/* ---- what changed ---- */

static bool has_causes(const void *of)
{
    return ((const struct gate_page *)of)->gate->cause_count > 0;
}

static void print_causes(const void *of, struct tp_page *page)
{
    tp_gate_print_causes(((const struct gate_page *)of)->gate, page);
}

/* ---- what to do ---- */

static void put_command(const char *what, const char *command, FILE *out)
{
    if (*command)
        tp_put(out, TP_TO_XML, "<p>%s</p>\n<pre>%s</pre>\n", what, command);
}

/* Whether a baseline can take in what has moved: no time, and nothing compared live. */
static bool can_update(const struct tp_gate *g)
{
    for (size_t i = 0; i < g->cause_count; i++)
        if (!tp_finding_is_timed(g->causes[i].lead) && !g->causes[i].lead->live)
            return *g->update;
    return false;
}

static bool has_commands(const void *of)
{
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    return *g->again || can_update(g);
}

static int write_commands(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    put_command("To reproduce:", g->again, out);
    if (can_update(g))
        put_command("If the change is intended, update the baseline, with the reason after "
                    "--reason, and commit that:",
                    g->update, out);
    return TP_OK;
}

/* ---- what was checked ---- */

static void print_checked(const void *of, struct tp_page *page)
{
    struct tp_table table = {0};
    tp_gate_print_baseline(((const struct gate_page *)of)->gate, page);
    tp_gate_classes(((const struct gate_page *)of)->gate, false, &table);
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&table);
}

/* ---- the chart of times ---- */

static bool has_times(const void *of)
{
    const struct gate_page *p = of;
    for (size_t i = 0; i < p->gate->finding_count; i++)
        if (p->place[i] != SIZE_MAX && tp_finding_is_timed(&p->gate->findings[i]))
            return true;
    return false;
}

/* ---- all findings ---- */

static bool has_findings(const void *of)
{
    return ((const struct gate_page *)of)->gate->finding_count > 0;
}

static int write_findings(const void *of, FILE *out, struct tp_err *err)
{
    const struct gate_page *p = of;
    struct tp_table table = {0};
    tp_gate_values(p->gate, p->place, &table);
    fprintf(out, "<details class=\"table\"><summary>%s</summary>\n",
            tp_plural(p->gate->finding_count - p->left, "value").s);
    int rc = tp_html_table(&table, out, err);
    fputs("</details>\n", out);
    tp_html_left_out(p->left, "finding", out);
    return rc;
}

/* ---- what it was measured with ---- */

static void print_machine(const void *of, struct tp_page *page)
{
    (void)of;
    tp_html_machine(page);
}

static int write_command(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    (void)err;
    if (g->rows)
        tp_html_command("check", g->words, g->word_count, g->rows, g->opts, out);
    return TP_OK;
}

/* ---- the data ---- */

static void write_texts(struct tp_json *j, cJSON *list, const struct tp_gate *g,
                        const struct tp_finding *f)
{
    cJSON *o = tp_json_item(j, list);
    if (!tp_finding_is_timed(f))
        return;
    const struct tp_column column = tp_metric_heading(f->metric, "system");
    char head[TP_COLUMN_TEXT];
    tp_column_text(&column, head);
    tp_json_text(j, o, "cell", tp_gate_cell_text(g, f->cell).s);
    tp_json_text(j, o, "head", head);
    tp_json_text(j, o, "values", tp_finding_values(f).s);
    tp_json_text(j, o, "change", tp_finding_change(f).s);
    tp_json_text(j, o, "interval", tp_finding_interval(f).s);
    tp_json_text(j, o, "allowed", tp_finding_allowed(f).s);
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct gate_page *p = of;
    struct tp_json j = {false};
    cJSON *root = tp_gate_tree(&j, p->gate, p->place, p->most);
    cJSON *texts = tp_json_array(&j, tp_json_object(&j, root, "page"), "texts");
    for (size_t i = 0; i < p->gate->finding_count; i++)
        if (p->place[i] != SIZE_MAX)
            write_texts(&j, texts, p->gate, &p->gate->findings[i]);
    return tp_json_print_line(&j, root, out, err);
}

/* ---- the page ---- */

static const struct tp_html_section sections[] = {
    {.id = "answer",
     .title = "Verdict",
     .pick = print_verdict,
     .print = print_meaning,
     .write = write_failures},
    {.id = "causes", .title = "Changes", .print = print_causes, .there = has_causes},
    {.id = "commands", .title = "Next steps", .write = write_commands, .there = has_commands},
    {.id = "classes", .title = "Checked and not checked", .print = print_checked},
    {.id = "times",
     .title = "Times, new vs old",
     .view = "Change of each time with its 95% CI and its tolerance",
     .there = has_times},
    {.id = "findings", .title = "All comparisons", .write = write_findings, .there = has_findings},
    {.id = "origin", .title = "Machine", .print = print_machine, .write = write_command},
};

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = of;
    struct tp_gate_line verdict = tp_gate_verdict(g);
    struct gate_page p = {.gate = g, .place = calloc(g->finding_count + 1, sizeof *p.place)};
    if (!p.place)
        return tp_html_no_memory(err);
    size_t items = g->finding_count > g->cell_count ? g->finding_count : g->cell_count;
    struct tp_html_room room = tp_html_room(items);
    room.choose = choose_findings;
    room.of = &p;
    snprintf(p.title, sizeof p.title, "tapool check: %.*s", (int)strcspn(verdict.s, " :"),
             verdict.s);
    const struct tp_html_article article = {.title = p.title,
                                            .figures = add_figures,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = &p};
    const struct tp_html_page page = {.title = p.title + strlen("tapool "),
                                      .article = &article,
                                      .data = write_data,
                                      .of = &p,
                                      .room = &room};
    int rc = tp_html_write(&page, out, err);
    free(p.place);
    return rc;
}

const struct tp_exporter tp_check_html = {
    .name = "html", .write = write_html, .check = tp_html_check};
