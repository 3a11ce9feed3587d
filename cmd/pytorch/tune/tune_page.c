/* See tune.h. */
#include "cmd/pytorch/tune/tune.h"

#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/tune/grid.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <stdlib.h>

/* Which of the settings are on the page. */
struct tune_page {
    const struct tp_tune_page *p;
    const struct tp_tune_setting **order; /* owned: all, those that matter most first */
    bool *chosen;                         /* owned, by index of the setting */
    size_t left;                          /* how many are left out */
};

/* ---- what fits ---- */

/* What an answer names comes first, then what was played, the lowest peak first. */
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

static struct tp_page flow_of(const struct tp_tune_page *p, FILE *out)
{
    struct tp_page flow = tp_html_flow(out);
    flow.exact = p->exact;
    return flow;
}

/* ---- the answer ---- */

static int write_answer(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    struct tp_page flow = flow_of(p, out);
    (void)err;
    fputs("<p class=\"pick\">", out);
    tp_tune_answer_print(p->t, p->answers, &flow);
    fputs("</p>\n<p>", out);
    tp_tune_bound_print(p->t, &flow);
    tp_tune_start_print(p->t, &flow);
    fputs("</p>\n", out);
    return TP_OK;
}

/* ---- settings ---- */

/* Columns, each there where it says something. */
enum { SETTING, PEAK, FITS, CALLS, RETRIES, IN_FILE, NOTE, COLUMNS };

static bool has_column(const struct tp_tune *t, int column)
{
    if (column == FITS || column == RETRIES)
        return tp_tune_limited(t);
    return column != IN_FILE || t->file_count > 1;
}

static void set_columns(const struct tp_tune_page *p, struct tp_table *table)
{
    static const struct tp_column all[COLUMNS] = {
        [SETTING] = {.left = true},
        [PEAK] = {.head = {"", "peak reserved"}},
        [FITS] = {.head = {"", "fits in the device"}, .left = true},
        [CALLS] = {.head = {"", "driver calls"}},
        [RETRIES] = {.head = {"", "retries"}},
        [IN_FILE] = {.head = {"", "peak in file"}},
        [NOTE] = {.head = {"", "remarks"}, .left = true}};
    struct tp_column columns[COLUMNS];
    int count = 0;
    for (int i = 0; i < COLUMNS; i++)
        if (has_column(p->t, i))
            columns[count++] = all[i];
    snprintf(columns[SETTING].head[1], TP_COLUMN_HEAD, "%s", tp_tune_variable(p->t));
    tp_table_columns(table, columns, count);
}

static void add_row(const struct tp_tune_page *p, struct tp_table *t, const char *name,
                    const struct tp_tune_figures *f, bool knows_retries, const char *note)
{
    tp_table_add(t, "%s", name);
    tp_table_bytes(t, f->peak_reserved, p->exact);
    if (has_column(p->t, FITS))
        tp_table_add(t, "%s", tp_tune_fit(p->t, f).s);
    tp_table_count(t, f->calls);
    if (has_column(p->t, RETRIES))
        tp_table_count(t, knows_retries ? f->retries : TP_NONE);
    if (has_column(p->t, IN_FILE))
        tp_table_add(t, "%zu", f->peak_file + 1);
    tp_table_add(t, "%s", note);
}

static void add_setting(const struct tp_tune_page *p, struct tp_table *t,
                        const struct tp_tune_setting *s)
{
    struct tp_str name = {0}, note = {0};
    tp_tune_name(p->t, s, &name);
    if (s == p->answers->any.best)
        tp_str_item(&note, "; ", "the answer");
    if (s == p->answers->any.base)
        tp_str_item(&note, "; ", "what the others are compared with");
    if (s->on_front)
        tp_str_item(&note, "; ", "on the front: none beats it");
    if (s->danger)
        tp_str_item(&note, "; ", "never proposed: %s", s->danger);
    if (s->newer)
        tp_str_item(&note, "; ", "%s: PyTorch from 2026 on", s->newer);
    if (s->twin)
        tp_str_item(&note, "; ", "what those are compared with that start compacted");
    struct tp_tune_figures shown = s->all;
    shown.peak_reserved = tp_tune_peak(s);
    add_row(p, t, tp_str_text(&name), &shown, true, tp_str_text(&note));
    tp_str_drop(&name);
    tp_str_drop(&note);
}

/* Those of the page that were played, the lowest peak first; returns how many. */
static size_t find_played(const struct tune_page *of, const struct tp_tune_setting **rows)
{
    const struct tp_tune *t = of->p->t;
    size_t count = 0;
    for (size_t i = 0; i < t->setting_count; i++)
        if (t->settings[i].status == TP_OK && of->chosen[i])
            rows[count++] = &t->settings[i];
    if (count)
        qsort(rows, count, sizeof *rows, tp_tune_by_peak);
    return count;
}

static int write_table(const void *of, FILE *out, struct tp_err *err)
{
    const struct tune_page *page = of;
    const struct tp_tune_page *p = page->p;
    struct tp_tune_figures did;
    struct tp_table t = {0};
    const struct tp_tune_setting **rows = calloc(p->t->setting_count + 1, sizeof *rows);
    if (!rows)
        return tp_html_no_memory(err);
    size_t count = find_played(page, rows);
    set_columns(p, &t);
    if (tp_tune_recorded(p->t, &did))
        add_row(p, &t, "what PyTorch did", &did, true, "from the recording, nothing is played");
    for (size_t i = 0; i < count; i++)
        add_setting(p, &t, rows[i]);
    if (!p->t->pool_status)
        add_row(p, &t, TP_TUNE_POOL, &p->t->pool, false, "measured on this machine's GPU");
    free(rows);
    fputs("<p>All that were played. The front are those that no other one beats in peak memory, "
          "driver calls and retries together.</p>\n",
          out);
    int rc = tp_html_table(&t, out, err);
    tp_html_left_out(page->left, "setting", out);
    return rc;
}

/* ---- files ---- */

static void add_file(const struct tp_tune_page *p, struct tp_table *t, size_t i)
{
    const struct tp_tune_file *f = &p->t->files[i];
    const struct tp_tune_setting *base = p->answers->any.base, *best = p->answers->any.best;
    const struct tp_tune_figures *with = best ? &best->files[i] : NULL;
    tp_table_add(t, "%s", f->trace.file);
    tp_table_count(t, tp_program_facts(f->trace.program)->events);
    tp_table_bytes(t, f->live, p->exact);
    tp_table_bytes(t, f->packed ? f->packed : TP_NONE, p->exact);
    tp_table_bytes(t, f->capacity ? f->capacity : TP_NONE, p->exact);
    tp_table_bytes(t, f->knows ? f->did.peak_reserved : TP_NONE, p->exact);
    tp_table_bytes(t, base->files[i].peak_reserved, p->exact);
    tp_table_bytes(t, with ? with->peak_reserved : TP_NONE, p->exact);
    tp_table_count(t, with ? with->calls : TP_NONE);
}

static int write_files(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    static const struct tp_column columns[] = {
        {.head = {"", "file"}, .left = true}, {.head = {"", "events"}},
        {.head = {"", "the program needs"}},  {.head = {"", "best packing found"}},
        {.head = {"", "the device has"}},     {.head = {"", "PyTorch reserved"}},
        {.head = {"", "as compared with"}},   {.head = {"", "with the answer"}},
        {.head = {"", "its driver calls"}}};
    struct tp_table t = {0};
    struct tp_page flow = flow_of(p, out);
    fputs("<p>", out);
    for (size_t i = 0; i < p->t->file_count; i++)
        tp_tune_file_print(p->t, i, &flow);
    fputs("</p>\n", out);
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->t->file_count; i++)
        add_file(p, &t, i);
    return tp_html_table(&t, out, err);
}

/* ---- what it rests on ---- */

static int write_ground(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    struct tp_page flow = flow_of(p, out);
    (void)err;
    fputs("<p>Each setting is played by a model of PyTorch's allocator, from the recorded requests "
          "alone; times are not predicted. How far the model does what PyTorch did:</p>\n<p>",
          out);
    for (size_t i = 0; i < p->t->file_count; i++)
        tp_tune_fidelity_print(p->t, i, &flow);
    fputs("</p>\n", out);
    return TP_OK;
}

static int write_tried(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    struct tp_page flow = flow_of(p, out);
    (void)err;
    fputs("<p>", out);
    tp_tune_tried_print(p->t, &flow);
    tp_tune_refused_print(p->t, &flow);
    tp_tune_difference_print(p->t, p->answers->any.base, &flow);
    fputs("</p>\n", out);
    return TP_OK;
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

static const struct tp_html_section sections[] = {
    {.id = "answer", .title = "Which setting", .write = write_answer},
    {.id = "trade",
     .title = "Memory against driver calls",
     .view = "Each setting by the driver calls it makes and the memory it reserves at most"},
    {.id = "each", .title = "Every setting", .write = write_table},
    {.id = "files", .title = "The recordings", .write = write_files},
    {.id = "tried", .title = "What was tried, and what was not", .write = write_tried},
    {.id = "ground", .title = "What this rests on", .write = write_ground},
    {.id = "settings", .title = "Every figure", .write = write_settings},
};

static void write_head(const void *of, FILE *out)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    fprintf(out,
            "Which value of PyTorch's environment variable %s would have needed less memory for "
            "what %s.",
            tp_tune_variable(p->t),
            p->t->file_count > 1 ? "these recordings show" : "this recording shows");
}

static void add_title(const struct tp_tune *t, struct tp_str *out)
{
    tp_str_add(out, "%s", t->files->trace.file);
    if (t->file_count > 1)
        tp_str_add(out, " and %s", tp_plural(t->file_count - 1, "other file").s);
}

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = ((const struct tune_page *)of)->p;
    struct tp_str title = {0};
    add_title(p->t, &title);
    const struct tp_html_article article = {.title = tp_str_text(&title),
                                            .head = write_head,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = of};
    int rc = tp_html_article(&article, out, err);
    tp_str_drop(&title);
    return rc;
}

/* The index among the settings of the page. */
static void renumber(cJSON *answer, const char *name, const bool *chosen)
{
    cJSON *index = cJSON_GetObjectItemCaseSensitive(answer, name);
    size_t at = 0;
    if (!cJSON_IsNumber(index))
        return;
    for (size_t i = 0; i < (size_t)index->valuedouble; i++)
        at += chosen[i];
    cJSON_SetNumberValue(index, (double)at);
}

static void shrink(cJSON *root, const bool *chosen)
{
    static const char *const answers[] = {"answer", "answer_without_newer_keys"};
    static const char *const members[] = {
        "best", "compared_with", "least_memory", "fewest_driver_calls", "simplest", NULL};
    cJSON *settings = cJSON_GetObjectItemCaseSensitive(root, "settings");
    size_t i = 0;
    for (cJSON *s = settings ? settings->child : NULL, *next; s; s = next, i++) {
        next = s->next;
        cJSON_DeleteItemFromObjectCaseSensitive(s, "files");
        if (!chosen[i])
            cJSON_Delete(cJSON_DetachItemViaPointer(settings, s));
    }
    for (i = 0; i < sizeof answers / sizeof *answers; i++) {
        cJSON *answer = cJSON_GetObjectItemCaseSensitive(root, answers[i]);
        for (const char *const *member = members; *member; member++)
            renumber(answer, *member, chosen);
    }
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tune_page *page = of;
    struct tp_json j = {false};
    cJSON *root = tp_tune_tree(&j, page->p);
    shrink(root, page->chosen);
    return tp_json_print_line(&j, root, out, err);
}

int tp_tune_page(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
    size_t count = p->t->setting_count;
    struct tune_page shown = {.p = p,
                              .order = calloc(count + 1, sizeof *shown.order),
                              .chosen = calloc(count + 1, sizeof *shown.chosen)};
    struct tp_html_room room = tp_html_room(count);
    struct tp_str title = {0};
    room.choose = choose_settings;
    room.of = &shown;
    add_title(p->t, &title);
    const struct tp_html_page page = {.title = tp_str_text(&title),
                                      .articles = write_articles,
                                      .data = write_data,
                                      .of = &shown,
                                      .room = &room};
    int rc = shown.order && shown.chosen ? tp_html_write(&page, out, err) : tp_html_no_memory(err);
    tp_str_drop(&title);
    free(shown.order);
    free(shown.chosen);
    return rc;
}
