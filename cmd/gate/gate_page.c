/* The page of `tapool check`, for people who open the artifact of a job that failed: the verdict,
 * what caused it, what was compared and what was not, and how to go on. The data is tapool.check/1
 * with what only its chart needs:
 *
 *     { ..., "page": { "texts": [
 *         {"cell", "head", "values", "change", "interval", "allowed"}, ... ] } }
 *
 * the texts of each finding, empty unless it is a time. Of more findings than a page can hold those
 * are left out first that have not moved. */
#include "alloc/base/units.h"
#include "cmd/gate/gate_words.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/metric_heading.h"
#include "cmd/results/metric_text.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which of the findings are on the page. */
struct gate_page {
    const struct tp_gate *gate;
    bool *chosen; /* of each finding */
    size_t left;  /* how many are left out */
    size_t most;  /* how many there is room for, and of each other list of the page */
    char title[48];
};

/* ---- what fits ---- */

/* Chooses the findings that have moved (`moved`) or have not, as long as there is room. */
static void choose(struct gate_page *p, bool moved, size_t *room)
{
    for (size_t i = 0; i < p->gate->finding_count; i++) {
        if ((p->gate->findings[i].verdict != TP_SAME) != moved)
            continue;
        p->chosen[i] = *room > 0;
        p->left += !p->chosen[i];
        *room -= p->chosen[i];
    }
}

static int choose_findings(void *of, size_t most, struct tp_err *err)
{
    struct gate_page *p = of;
    (void)err;
    p->most = most;
    p->left = 0;
    choose(p, true, &most);
    choose(p, false, &most);
    return TP_OK;
}

/* ---- the verdict ---- */

static void put_line(const char *text, FILE *out)
{
    if (*text)
        tp_put(out, TP_TO_XML, "<p>%s</p>\n", text);
}

/* What the verdict means. */
static const char *meaning_of(const struct tp_gate *g)
{
    if (g->counts[TP_REGRESSION])
        return "Something got worse than it may.";
    if (tp_gate_is_unfinished(g))
        return "The check did not get to its end: this is what it had found until then.";
    if (g->exit_code == 5)
        return "The times varied so much that a slowdown cannot be excluded.";
    if (g->exit_code)
        return "Nothing got worse, but not all was checked that had to be.";
    return g->told[TP_INCONCLUSIVE]
               ? "Nothing is known to have got worse; not every time could tell."
               : "Nothing that was checked got worse.";
}

static const char *tone_of(const struct tp_gate *g)
{
    if (g->exit_code == 1 || g->counts[TP_REGRESSION])
        return "bad";
    return g->exit_code ? "" : "good";
}

/* A line for each cell that failed. */
static void put_failures(const struct gate_page *p, FILE *out)
{
    size_t failures = 0;
    for (size_t i = 0; i < p->gate->cell_count; i++) {
        struct tp_gate_line line = tp_cell_failure(p->gate, &p->gate->cells[i]);
        failures += *line.s != '\0';
        if (failures <= p->most)
            put_line(line.s, out);
    }
    tp_html_left_out(failures > p->most ? failures - p->most : 0, "failure", out);
}

static int write_verdict(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    const struct gate_page *p = of;
    const struct tp_gate *g = p->gate;
    struct tp_gate_line verdict = tp_gate_verdict(g), sharp = tp_gate_sharpness_text(g);
    struct tp_gate_line set_by = tp_gate_set_by(g);
    size_t word = strcspn(verdict.s, " :");
    fprintf(out, "<p class=\"pick\"><b class=\"%s\">", tone_of(g));
    tp_escape_part(out, TP_TO_XML, verdict.s, word);
    tp_put(out, TP_TO_XML, "</b>%s</p>\n", verdict.s + word);
    put_line(meaning_of(g), out);
    put_line(tp_gate_unmet(g).s, out);
    put_line(g->missing, out);
    put_failures(p, out);
    sharp.s[0] = (char)toupper((unsigned char)sharp.s[0]);
    set_by.s[0] = (char)toupper((unsigned char)set_by.s[0]);
    put_line(sharp.s, out);
    put_line(set_by.s, out);
    return TP_OK;
}

/* ---- what changed ---- */

static bool has_causes(const void *of)
{
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    size_t count = g->cause_count;
    for (size_t i = 0; !count && i < g->finding_count; i++)
        count += tp_finding_is_open(g, &g->findings[i]);
    return count > 0;
}

/* Adds a row; `what` and `values` in the words of a cause, or of a finding alone. */
static void add_moved(const struct tp_gate *g, const struct tp_finding *f, const char *what,
                      const char *values, const char *folded, struct tp_table *out)
{
    tp_table_add(out, "%s", tp_gate_cell_text(g, f->cell).s);
    tp_table_add(out, "%s", tp_verdict_words[f->verdict]);
    tp_table_add(out, "%s", what);
    tp_table_add(out, "%s", values);
    tp_table_add(out, "%s", tp_finding_change(f).s);
    tp_table_add(out, "%s", tp_finding_proof(f).s);
    tp_table_add(out, "%s", tp_finding_allowed(f).s);
    tp_table_add(out, "%s", folded);
}

/* Causes beyond some hundreds are found in the table of findings. */
enum { CAUSES_MAX = 500 };

static int write_causes(const void *of, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.name = "cell", .left = true},
                                               {.name = "verdict", .left = true},
                                               {.name = "what changed", .left = true},
                                               {.name = "base -> now", .left = true},
                                               {.name = "change"},
                                               {.name = "95 % interval in %, p", .left = true},
                                               {.name = "allowed"},
                                               {.name = "with it", .left = true}};
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    struct tp_table table = {0};
    size_t rows = 0;
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < g->cause_count; i++) {
        const struct tp_cause *c = &g->causes[i];
        if (rows++ < CAUSES_MAX)
            add_moved(g, c->lead, tp_cause_text(c).s, tp_cause_values(c).s, tp_cause_folded(c).s,
                      &table);
    }
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        if (tp_finding_is_open(g, f) && rows++ < CAUSES_MAX)
            add_moved(g, f, tp_finding_name(f).s, tp_finding_values(f).s, "", &table);
    }
    int rc = tp_html_table(&table, out, err);
    if (rows > CAUSES_MAX)
        fprintf(out, "<p>And %s more, below.</p>\n", tp_count(rows - CAUSES_MAX).s);
    return rc;
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
    put_command("To see it again:", g->again, out);
    if (can_update(g))
        put_command("Where the change is meant, take it into the baseline, with the reason after "
                    "--reason, and commit that:",
                    g->update, out);
    return TP_OK;
}

/* ---- what was checked ---- */

static int write_classes(const void *of, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.name = "class", .left = true},
                                               {.name = "compared", .left = true},
                                               {.name = "cells"},
                                               {.name = "values"},
                                               {.name = "not checked, and why", .left = true}};
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    struct tp_table table = {0};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < TP_CLASS_REPORT; i++) {
        const struct tp_class_check *c = &g->classes[i];
        tp_table_add(&table, "%s", tp_class_words[i]);
        tp_table_add(&table, "%s", c->checked ? c->against : "-");
        tp_table_count(&table, c->checked ? c->cells : TP_NONE);
        tp_table_count(&table, c->checked ? c->values : TP_NONE);
        tp_table_add(&table, "%s", tp_class_unchecked(c).s);
    }
    return tp_html_table(&table, out, err);
}

/* ---- the chart of times ---- */

static bool has_times(const void *of)
{
    const struct gate_page *p = of;
    for (size_t i = 0; i < p->gate->finding_count; i++)
        if (p->chosen[i] && tp_finding_is_timed(&p->gate->findings[i]))
            return true;
    return false;
}

static int write_times(const void *of, FILE *out, struct tp_err *err)
{
    (void)of, (void)err;
    fputs("<noscript><p>The table below has these figures.</p></noscript>\n", out);
    return TP_OK;
}

/* ---- all findings ---- */

static void add_finding(const struct tp_gate *g, const struct tp_finding *f, struct tp_table *out)
{
    struct tp_text texts[2] = {{""}, {""}};
    if (f->metric)
        tp_metric_texts(f->metric, (const double[]){f->base, f->now}, texts);
    double p = tp_finding_p(f, true);
    tp_table_add(out, "%s", tp_gate_cell_text(g, f->cell).s);
    tp_table_add(out, "%s", tp_finding_name(f).s);
    tp_table_add(out, "%s", tp_verdict_words[f->verdict]);
    tp_table_add(out, "%s", f->metric ? tp_class_letter(f->metric->metric_class) : "E");
    tp_table_add(out, "%s", texts[0].s);
    tp_table_add(out, "%s", f->metric ? texts[1].s : tp_finding_values(f).s);
    tp_table_add(out, "%s", tp_finding_change(f).s);
    tp_table_add(out, "%s", tp_finding_interval(f).s);
    tp_table_add(out, isfinite(p) ? "%.2g" : NULL, p);
    tp_table_add(out, "%s", tp_finding_allowed(f).s);
    tp_table_add(out, "%s", tp_finding_note(f).s);
}

static bool has_findings(const void *of)
{
    return ((const struct gate_page *)of)->gate->finding_count > 0;
}

static int write_findings(const void *of, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.name = "cell", .left = true},
                                               {.name = "figure", .left = true},
                                               {.name = "verdict", .left = true},
                                               {.name = "class", .left = true},
                                               {.name = "base"},
                                               {.name = "now"},
                                               {.name = "change"},
                                               {.name = "95 % interval in %"},
                                               {.name = "p"},
                                               {.name = "allowed"},
                                               {.name = "note", .left = true}};
    const struct gate_page *p = of;
    struct tp_table table = {0};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->gate->finding_count; i++)
        if (p->chosen[i])
            add_finding(p->gate, &p->gate->findings[i], &table);
    int rc = tp_html_table(&table, out, err);
    tp_html_left_out(p->left, "finding", out);
    return rc;
}

/* ---- what it was measured with ---- */

static int write_origin(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = ((const struct gate_page *)of)->gate;
    struct tp_table table = {0};
    tp_html_facts(&table, "compared", "with what, and where");
    tp_html_fact(&table, "baseline", *g->baseline ? g->baseline : "none");
    tp_html_fact(&table, "cells in it", *g->written ? g->written : "-");
    for (int i = 0; i < TP_CLASS_REPORT; i++)
        if (g->classes[i].checked)
            tp_html_fact(&table, tp_class_words[i], g->classes[i].against);
    tp_html_fact(&table, "a slowdown counts from", tp_percent(g->effect).s);
    tp_html_fact(&table, "and with p below", tp_text_of("%g", g->alpha).s);
    tp_html_fact(&table, "seed", tp_text_of("%llu", (unsigned long long)g->seed).s);
    tp_html_fact(&table, "took", tp_gate_time(g->wall_ns).s);
    tp_html_fact(&table, "exit code", tp_text_of("%d", g->exit_code).s);
    tp_html_machine(&table);
    int rc = tp_html_table(&table, out, err);
    if (g->rows)
        tp_html_command("check", g->words, g->word_count, g->rows, g->opts, out);
    return rc;
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

/* Takes the items beyond the first `most` out of a list of the tree. */
static void shorten(cJSON *root, const char *name, size_t most)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(root, name), *item = list ? list->child : NULL;
    for (size_t i = 0; item; i++) {
        cJSON *next = item->next;
        if (i >= most)
            cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
        item = next;
    }
}

/* Gives the findings of a cause the numbers that they have on the page. */
static void renumber(struct tp_json *j, cJSON *cause, const struct gate_page *p,
                     const size_t *place)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(cause, "findings"), *next;
    for (cJSON *item = list ? list->child : NULL; item; item = next) {
        size_t finding = strtoull(item->valuestring, NULL, 10); /* as tp_json_number writes it */
        next = item->next;
        cJSON *here = p->chosen[finding] ? tp_json_number(j, place[finding]) : NULL;
        if (!here || !cJSON_ReplaceItemViaPointer(list, item, here))
            cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
    }
}

/* Takes out of the tree the findings that are not on the page. */
static void leave_out(struct tp_json *j, cJSON *root, const struct gate_page *p)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "findings"), *item, *next;
    size_t *place = calloc(p->gate->finding_count + 1, sizeof *place), shown = 0, i = 0;
    j->failed |= !place;
    if (!place)
        return;
    for (item = list ? list->child : NULL; item; item = next, i++) {
        next = item->next;
        place[i] = shown;
        shown += p->chosen[i];
        if (!p->chosen[i])
            cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "causes"))
        renumber(j, item, p, place);
    free(place);
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct gate_page *p = of;
    struct tp_json j = {false};
    cJSON *root = tp_check_tree(&j, p->gate);
    cJSON *texts = tp_json_array(&j, tp_json_object(&j, root, "page"), "texts");
    if (p->left)
        leave_out(&j, root, p);
    shorten(root, "cells", p->most);
    shorten(root, "causes", p->most);
    for (size_t i = 0; i < p->gate->finding_count; i++)
        if (p->chosen[i])
            write_texts(&j, texts, p->gate, &p->gate->findings[i]);
    return tp_json_print_line(&j, root, out, err);
}

/* ---- the page ---- */

static const struct tp_html_section sections[] = {
    {.id = "answer", .title = "The verdict", .write = write_verdict},
    {.id = "causes", .title = "What changed", .write = write_causes, .there = has_causes},
    {.id = "commands", .title = "What to do", .write = write_commands, .there = has_commands},
    {.id = "classes", .title = "What was checked, and what was not", .write = write_classes},
    {.id = "times",
     .title = "Times, new against old",
     .view = "The change of each time with its 95 % interval, and what is allowed",
     .write = write_times,
     .there = has_times},
    {.id = "findings",
     .title = "All that was compared",
     .write = write_findings,
     .there = has_findings},
    {.id = "origin", .title = "With what, and where", .write = write_origin},
};

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct gate_page *p = of;
    const struct tp_html_article article = {.title = p->title,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = p};
    return tp_html_article(&article, out, err);
}

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = of;
    struct tp_gate_line verdict = tp_gate_verdict(g);
    struct gate_page p = {.gate = g, .chosen = calloc(g->finding_count + 1, sizeof *p.chosen)};
    if (!p.chosen)
        return tp_html_no_memory(err);
    size_t items = g->finding_count > g->cell_count ? g->finding_count : g->cell_count;
    struct tp_html_room room = tp_html_room(items);
    room.choose = choose_findings;
    room.of = &p;
    snprintf(p.title, sizeof p.title, "tapool check: %.*s", (int)strcspn(verdict.s, " :"),
             verdict.s);
    const struct tp_html_page page = {.title = p.title + strlen("tapool "),
                                      .articles = write_articles,
                                      .data = write_data,
                                      .of = &p,
                                      .room = &room};
    int rc = tp_html_write(&page, out, err);
    free(p.chosen);
    return rc;
}

const struct tp_exporter tp_check_html = {
    .name = "html", .write = write_html, .check = tp_html_check};
