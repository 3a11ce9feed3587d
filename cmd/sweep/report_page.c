/* The page of the answers of a sweep: an article for each metric, with a picture and a table for
 * each question. It shows as many settings as fit. */
#include "cmd/charts/chart.h"
#include "cmd/page/html_page.h"
#include "cmd/sweep/report_words.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct sweep_page {
    const struct tp_sweep_answers *all;
    size_t answer, settings; /* settings of each answer that are shown */
};

static const struct tp_sweep_answer *answer_of(const void *of)
{
    const struct sweep_page *p = of;
    return &p->all->list[p->answer];
}

/* ---- sections ---- */

static void print_best(const void *of, struct tp_page *page)
{
    const struct sweep_page *p = of;
    tp_sweep_best_print(p->all, p->answer, page);
}

static int write_picture(const void *of, const char *id, FILE *out)
{
    const struct sweep_page *p = of;
    for (size_t i = 0; i < TP_SWEEP_PICTURES; i++) {
        uint32_t height = strcmp(tp_sweep_pictures[i].id, id)
                              ? 0
                              : tp_sweep_pictures[i].height(p->all, p->answer);
        if (!height)
            continue;
        fprintf(out, "<svg class=\"tp-chart\" viewBox=\"0 0 %u %u\">\n", TP_CHART_WIDTH, height);
        tp_sweep_pictures[i].write(p->all, p->answer, 0, out);
        fputs("</svg>\n", out);
    }
    return TP_OK;
}

/* A picture, and below it the table of what it shows. */
static void write_both(const void *of, const char *id,
                       void (*print)(const struct sweep_page *p, struct tp_page *page), FILE *out)
{
    struct tp_page page = {.out = out, .width = INT_MAX, .form = TP_PAGE_HTML};
    write_picture(of, id, out);
    fputs("<details class=\"table\"><summary>Table</summary>\n<p>", out);
    print(of, &page);
    fputs("</p>\n</details>\n", out);
}

static void print_ranking(const struct sweep_page *p, struct tp_page *page)
{
    tp_sweep_ranking_print(p->all, p->answer, p->settings, page);
}

static int write_ranking(const void *of, FILE *out, struct tp_err *err)
{
    const struct sweep_page *p = of;
    const struct tp_sweep_answer *a = answer_of(of);
    (void)err;
    fputs("<style>\n", out);
    tp_chart_style(TP_CHART_AUTO, out);
    tp_sweep_picture_style(TP_CHART_AUTO, out);
    fputs("</style>\n", out);
    write_both(of, "ranking", print_ranking, out);
    tp_html_left_out(a->ranked > p->settings ? a->ranked - p->settings : 0, "setting", out);
    return TP_OK;
}

static void print_fronts(const struct sweep_page *p, struct tp_page *page)
{
    tp_sweep_fronts_print(p->all, p->answer, p->settings, page);
}

static int write_fronts(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    write_both(of, "fronts", print_fronts, out);
    return TP_OK;
}

static bool has_fronts(const void *of)
{
    return answer_of(of)->front_count > 0;
}

static void print_profile(const struct sweep_page *p, struct tp_page *page)
{
    tp_sweep_profile_print(p->all, p->answer, page);
}

static int write_profile(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    write_both(of, "profile", print_profile, out);
    return TP_OK;
}

static bool has_traces(const void *of)
{
    return answer_of(of)->traces > 0;
}

static void print_effects(const struct sweep_page *p, struct tp_page *page)
{
    tp_sweep_effects_print(p->all, p->answer, page);
}

static int write_effects(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    write_both(of, "effects", print_effects, out);
    return TP_OK;
}

static bool has_effects(const void *of)
{
    return answer_of(of)->effect_count > 0;
}

static int write_heat(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    return write_picture(of, "heat", out);
}

static void print_failures(const void *of, struct tp_page *page)
{
    tp_sweep_failures_print(((const struct sweep_page *)of)->all, page);
}

static bool has_failures(const void *of)
{
    const struct sweep_page *p = of;
    return p->all->picked.failures && p->answer + 1 == p->all->picked.asked;
}

static void print_whole(const void *of, struct tp_page *page)
{
    tp_sweep_screen(((const struct sweep_page *)of)->all, page);
}

/* The command that reports the store again: the store has what a plan said, and only the options of
 * the report are left. */
static int write_command(const struct tp_sweep_asking *asking, FILE *out, struct tp_err *err)
{
    char *words[] = {(char *)(uintptr_t)asking->path};
    size_t count = 0, all = 0;
    while (asking->rows[all].name)
        all++;
    struct tp_opt *rows = calloc(all + 1, sizeof *rows);
    if (!rows)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < all; i++) {
        const struct tp_opt *row = &asking->rows[i];
        if (row->group == TP_GROUP_OUTPUT && strcmp(row->name, "store") != 0 &&
            strcmp(row->name, "report") != 0)
            rows[count++] = *row;
    }
    tp_html_command("sweep --report", words, 1, rows, asking->opts, out);
    free(rows);
    return TP_OK;
}

static int write_method(const void *of, FILE *out, struct tp_err *err)
{
    const struct sweep_page *p = of;
    fputs("<p>Each row of the store is in the view <code>results</code>, each value in the view "
          "<code>tidy</code>. DuckDB: <code>ATTACH 'x.sqlite' (TYPE sqlite)</code>; pandas: "
          "<code>read_sql</code>; others: <code>--export-csv</code>. See <code>tapool help "
          "sweeps</code>.</p>\n",
          out);
    int status = write_command(p->all->asking, out, err);
    return status ? status : tp_html_folded("As on the screen", print_whole, of, out, err);
}

static bool is_last(const void *of)
{
    const struct sweep_page *p = of;
    return p->answer + 1 == p->all->picked.asked;
}

static const struct tp_html_section sections[] = {
    {.id = "answer", .title = "Best setting for all traces", .pick = print_best},
    {.id = "ranking", .title = "All settings", .write = write_ranking},
    {.id = "fronts", .title = TP_SWEEP_FRONT_TITLE, .write = write_fronts, .there = has_fronts},
    {.id = "profile",
     .title = "Performance profile",
     .lead = TP_SWEEP_PROFILE_TITLE,
     .write = write_profile,
     .there = has_traces},
    {.id = "effects",
     .title = TP_SWEEP_EFFECTS_TITLE,
     .write = write_effects,
     .there = has_effects},
    {.id = "heat",
     .title = "Traces x settings",
     .view = "The trace and the setting of a square of the heat map below",
     .write = write_heat,
     .there = has_traces},
    {.id = "failures", .title = "Failures", .print = print_failures, .there = has_failures},
    {.id = "method", .title = "All figures", .write = write_method, .there = is_last},
};

/* ---- the page ---- */

static void print_head(const void *of, struct tp_page *page)
{
    tp_sweep_head_print(((const struct sweep_page *)of)->all, page);
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_sweep_answer *a = answer_of(of);
    const struct tp_sweep_score *s = a->competing ? &a->scores[a->order[0]] : NULL;
    (void)exact;
    if (!s)
        return;
    tp_table_figure(t, tp_sweep_ratio_name(a), tp_sweep_times(tp_sweep_mean(s)).s, "");
    tp_table_figure(t, "worst trace", tp_sweep_times(exp(s->worst)).s, "");
    tp_table_figure(t, "within 1% of the best", tp_percent((double)s->within / a->traces).s, "");
}

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    struct sweep_page p = *(const struct sweep_page *)of;
    int status = TP_OK;
    for (; !status && p.answer < p.all->picked.asked; p.answer++) {
        const struct tp_text title = tp_text_of("%s over all traces", answer_of(&p)->metric->name);
        const struct tp_html_article article = {.title = title.s,
                                                .head = print_head,
                                                .figures = add_figures,
                                                .sections = sections,
                                                .section_count = sizeof sections / sizeof *sections,
                                                .of = &p,
                                                .exact = p.all->asking->opts->exports.bytes};
        status = tp_html_article(&article, out, err);
    }
    return status;
}

static int write_sweep_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct sweep_page *p = of;
    struct tp_json j = {false};
    cJSON *root = tp_sweep_tree(&j, p->all, p->settings);
    return tp_json_print_line(&j, root, out, err);
}

static int choose_settings(void *of, size_t most, struct tp_err *err)
{
    (void)err;
    ((struct sweep_page *)of)->settings = most;
    return TP_OK;
}

static int write_sweep_page(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_sweep_answers *all = of;
    struct sweep_page shown = {.all = all};
    struct tp_html_room room = tp_html_room(all->picked.setting_count);
    room.choose = choose_settings;
    room.of = &shown;
    const struct tp_html_page page = {.title = all->picked.sql->path,
                                      .articles = write_articles,
                                      .data = write_sweep_data,
                                      .of = &shown,
                                      .room = &room};
    return tp_html_write(&page, out, err);
}

const struct tp_exporter tp_sweep_html = {
    .name = "html", .write = write_sweep_page, .check = tp_html_check};
