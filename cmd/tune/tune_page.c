/* See tune.h. */
#include "cmd/tune/tune.h"

#include "cmd/page/html_page.h"
#include "cmd/page/trace_page.h"
#include "cmd/tune/tunable.h"

#include <stdlib.h>
#include <string.h>

/* Which of the settings are on the page. */
struct tune_page {
    const struct tp_tune_page *p;
    const struct tp_tune_setting **order; /* owned: all, those that matter most first */
    bool *chosen;                         /* owned, by index of the setting */
    size_t left;                          /* how many are left out */
};

/* ---- what fits ---- */

/* What an answer names comes first, then what was replayed, the lowest peak first. */
static int by_weight(const struct tp_tune_answers *a, const struct tp_tune_setting *s)
{
    bool named =
        s == a->any.best || s == a->any.base || s == a->older.best || s == a->older.base || s->twin;
    for (int i = 0; i < TP_TUNE_NAMED; i++)
        named |= s == a->any.named[i] || s == a->older.named[i];
    if (named)
        return 0;
    return s->status == TP_OK ? 1 : 2;
}

static size_t add_weight(const struct tune_page *t, int weight, size_t at)
{
    const struct tp_tune *tune = t->p->t;
    size_t count = 0;
    for (size_t i = 0; i < tune->setting_count; i++)
        if (by_weight(t->p->answers, &tune->settings[i]) == weight)
            t->order[at + count++] = &tune->settings[i];
    if (count && weight < 2)
        qsort(t->order + at, count, sizeof *t->order, tp_tune_by_peak);
    return at + count;
}

static int choose_settings(void *of, size_t most, struct tp_err *err)
{
    struct tune_page *t = of;
    const struct tp_tune *tune = t->p->t;
    size_t named = add_weight(t, 0, 0);
    (void)err;
    add_weight(t, 2, add_weight(t, 1, named));
    t->left = 0;
    for (size_t i = 0; i < tune->setting_count; i++) {
        bool stays = i < most || i < named;
        t->chosen[t->order[i] - tune->settings] = stays;
        t->left += !stays;
    }
    return TP_OK;
}

/* ---- sections ---- */

static void print_answer(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    tp_tune_answer_print(p->t, p->answers, page);
}

static void print_bound(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    tp_tune_bound_print(p->t, page);
    tp_tune_start_print(p->t, page);
}

static void print_table(const void *of, struct tp_page *page)
{
    const struct tune_page *t = of;
    tp_tune_table_print(t->p->t, t->p->answers, true, t->chosen, page);
}

static int write_left(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    tp_html_left_out(((const struct tune_page *)of)->left, "setting", out);
    return TP_OK;
}

/* Of one recording, where it is known. */
static const struct tp_site_curve *site_curve_of(const struct tp_tune *t)
{
    return t->files->captured.site_curve;
}

static bool has_site_curve(const void *of)
{
    return site_curve_of(((const struct tune_page *)of)->p->t) != NULL;
}

static void print_files(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    for (size_t i = 0; i < p->t->file_count; i++)
        tp_tune_file_print(p->t, i, page);
}

static void print_tried(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    tp_tune_tried_print(p->t, page);
    tp_tune_refused_print(p->t, page);
    tp_tune_difference_print(p->t, p->answers->any.base, page);
}

static void print_ground(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    for (size_t i = 0; i < p->t->file_count; i++)
        tp_tune_fidelity_print(p->t, i, page);
}

static void print_screen(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    page->exact = true;
    tp_tune_text(p->t, p->answers, false, page);
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    char **words = calloc(p->t->file_count, sizeof *words);
    if (!words)
        return tp_html_no_memory(err);
    for (size_t i = 0; i < p->t->file_count; i++)
        words[i] = p->t->files[i].trace.path;
    tp_html_command("tune", words, p->t->file_count, p->rows, p->opts, out);
    free(words);
    return tp_html_folded(TP_HTML_SCREEN, print_screen, of, out, err);
}

/* ---- the page ---- */

enum { METHOD = 6, SECTIONS = 8 };
static const struct tp_html_section sections[SECTIONS] = {
    {.id = "answer", .title = "Setting", .pick = print_answer, .print = print_bound},
    {.id = "trade",
     .title = "Memory vs driver calls",
     .view = "Each setting by its driver calls and its peak reserved memory"},
    {.id = "each", .title = "All settings", .print = print_table, .write = write_left},
    TP_SITE_CURVE_SECTION(has_site_curve),
    {.id = "files", .title = "Recordings", .print = print_files},
    {.id = "tried", .title = "Settings tried and left out", .print = print_tried},
    [METHOD] = {.id = "ground", .title = "Method", .print = print_ground},
    {.id = "settings", .title = "All figures", .write = write_settings},
};

static void print_head(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    const char *variable = tp_tune_variable(p->t), *whose = p->t->target->of->whose;
    const char *what = p->t->file_count > 1 ? "these recordings show" : "this recording shows";
    if (variable)
        tp_page_put(page, 0,
                    "Value of %s's environment variable %s that reserves less memory for what %s.",
                    whose, variable, what);
    else
        tp_page_put(page, 0, "Settings of %s's allocator that reserve less memory for what %s.",
                    whose, what);
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    tp_tune_figures(p->t, &p->answers->any, exact, t);
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tune_page *page = of;
    struct tp_json j = {false};
    const struct tp_trace *trace = &page->p->t->files->trace;
    cJSON *root = tp_tune_tree_of(&j, page->p->t, page->p->answers, page->chosen);
    cJSON *more = tp_json_object(&j, root, "page");
    cJSON *device = tp_json_item(&j, tp_json_array(&j, more, "devices"));
    tp_site_curve_data(&j, device, tp_program_facts(trace->program), site_curve_of(page->p->t),
                       TP_SITE_POINTS);
    int rc = tp_marks_data(&j, more, trace, err);
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc;
}

/* The sections, with the lead that names the allocator; it is part of them. */
static void add_sections(const struct tp_tune *t, struct tp_html_section own[SECTIONS],
                         struct tp_str *lead)
{
    tp_str_add(lead,
               "Each setting is replayed by a model of %s's allocator, from the recorded requests "
               "only; times are not predicted.%s",
               t->target->of->whose,
               t->target->of->format ? " Agreement of the model with the recording:" : "");
    memcpy(own, sections, sizeof sections);
    own[METHOD].lead = tp_str_text(lead);
}

int tp_tune_page(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
    size_t count = p->t->setting_count;
    struct tune_page shown = {.p = p,
                              .order = calloc(count + 1, sizeof *shown.order),
                              .chosen = calloc(count + 1, sizeof *shown.chosen)};
    struct tp_html_room room = tp_html_room(count);
    struct tp_html_section own[SECTIONS];
    struct tp_str title = {0}, lead = {0};
    room.choose = choose_settings;
    room.of = &shown;
    tp_str_add(&title, "%s", p->t->files->trace.file);
    if (p->t->file_count > 1)
        tp_str_add(&title, " and %s", tp_plural(p->t->file_count - 1, "other file").s);
    add_sections(p->t, own, &lead);
    const struct tp_html_article article = {.title = tp_str_text(&title),
                                            .head = print_head,
                                            .figures = add_figures,
                                            .sections = own,
                                            .section_count = SECTIONS,
                                            .of = &shown,
                                            .exact = p->exact};
    const struct tp_html_page page = {
        .article = &article, .data = write_data, .of = &shown, .room = &room};
    int rc = shown.order && shown.chosen ? tp_html_write(&page, out, err) : tp_html_no_memory(err);
    tp_str_drop(&title);
    tp_str_drop(&lead);
    free(shown.order);
    free(shown.chosen);
    return rc;
}
