/* See tune_page.h. */
#include "cmd/tune/tune_page.h"

#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/tune/tune_text.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <stdlib.h>

enum { ROWS_MOST = 1000 }; /* settings in the table, so that a page stays below 3 MB */

static struct tp_page flow_of(const struct tp_tune_page *p, FILE *out)
{
    struct tp_page flow = tp_html_flow(out);
    flow.exact = p->exact;
    return flow;
}

/* ---- the answer ---- */

static int write_answer(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
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
    return column == FITS || column == RETRIES ? tp_tune_limited(t)
           : column == IN_FILE                 ? t->file_count > 1
                                               : true;
}

static void set_columns(const struct tp_tune_page *p, struct tp_table *table)
{
    static const struct tp_column all[COLUMNS] = {
        [SETTING] = {.head = {"", TP_TUNE_VARIABLE}, .left = true},
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
    add_row(p, t, tp_str_text(&name), &s->all, true, tp_str_text(&note));
    tp_str_drop(&name);
    tp_str_drop(&note);
}

/* Those that were played, the lowest peak first; returns how many. */
static size_t find_played(const struct tp_tune *t, const struct tp_tune_setting **rows)
{
    size_t count = 0;
    for (size_t i = 0; i < t->setting_count; i++)
        if (t->settings[i].status == TP_OK)
            rows[count++] = &t->settings[i];
    if (count)
        qsort(rows, count, sizeof *rows, tp_tune_by_peak);
    return count;
}

static int write_table(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
    struct tp_tune_figures did;
    struct tp_table t = {0};
    const struct tp_tune_setting **rows = calloc(p->t->setting_count + 1, sizeof *rows);
    if (!rows)
        return tp_html_no_memory(err);
    size_t count = find_played(p->t, rows);
    set_columns(p, &t);
    if (tp_tune_recorded(p->t, &did))
        add_row(p, &t, "what PyTorch did", &did, false, "from the recording, nothing is played");
    for (size_t i = 0; i < count && i < ROWS_MOST; i++)
        add_setting(p, &t, rows[i]);
    if (!p->t->pool_status)
        add_row(p, &t, TP_TUNE_POOL, &p->t->pool, false, "measured on this machine's GPU");
    free(rows);
    fputs("<p>All that were played. The front are those that no other one beats in peak memory, "
          "driver calls and retries together.</p>\n",
          out);
    int rc = tp_html_table(&t, out, err);
    if (count > ROWS_MOST)
        fprintf(out, "<p>%s more, with higher peaks, are in the JSON (--json).</p>\n",
                tp_plural(count - ROWS_MOST, "setting").s);
    return rc;
}

/* ---- files ---- */

static void add_file(const struct tp_tune_page *p, struct tp_table *t, size_t i)
{
    const struct tp_tune_file *f = &p->t->files[i];
    const struct tp_tune_setting *base = p->answers->any.base, *best = p->answers->any.best;
    tp_table_add(t, "%s", f->trace.file);
    tp_table_count(t, tp_program_facts(f->trace.program)->events);
    tp_table_bytes(t, f->live, p->exact);
    tp_table_bytes(t, f->packed ? f->packed : TP_NONE, p->exact);
    tp_table_bytes(t, f->capacity ? f->capacity : TP_NONE, p->exact);
    tp_table_bytes(t, f->knows ? f->did.peak_reserved : TP_NONE, p->exact);
    tp_table_bytes(t, base->files[i].peak_reserved, p->exact);
    tp_table_bytes(t, best->files[i].peak_reserved, p->exact);
    tp_table_count(t, best->files[i].calls);
}

static int write_files(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
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
    const struct tp_tune_page *p = of;
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
    const struct tp_tune_page *p = of;
    struct tp_page flow = flow_of(p, out);
    (void)err;
    fputs("<p>", out);
    tp_tune_tried_print(p->t, &flow);
    fputs("</p>\n", out);
    return TP_OK;
}

static void print_screen(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = of;
    page->exact = true;
    tp_tune_text(p->t, p->answers, false, page);
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
    char **words = calloc(p->t->file_count, sizeof *words);
    if (!words)
        return tp_html_no_memory(err);
    for (size_t i = 0; i < p->t->file_count; i++)
        words[i] = p->t->files[i].trace.path;
    tp_html_command("tune", words, p->t->file_count, p->rows, p->opts, out);
    free(words);
    fputs("<details><summary>As on the screen, with sizes in full</summary>\n", out);
    int rc = tp_html_printed(print_screen, p, out, err);
    fputs("</details>\n", out);
    return rc;
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
    const struct tp_tune_page *p = of;
    fprintf(out,
            "Which value of PyTorch's environment variable %s would have needed less memory for "
            "what %s.",
            TP_TUNE_VARIABLE,
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
    const struct tp_tune_page *p = of;
    struct tp_str title = {0};
    add_title(p->t, &title);
    const struct tp_html_article article = {.title = tp_str_text(&title),
                                            .head = write_head,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = p};
    int rc = tp_html_article(&article, out, err);
    tp_str_drop(&title);
    return rc;
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_tune_page *p = of;
    struct tp_json j = {false};
    cJSON *root = tp_tune_tree(&j, p->t, p->answers), *setting = NULL;
    cJSON_ArrayForEach(setting, cJSON_GetObjectItemCaseSensitive(root, "settings"))
        cJSON_DeleteItemFromObjectCaseSensitive(setting, "files");
    return tp_json_print_line(&j, root, out, err);
}

int tp_tune_page(const struct tp_tune_page *p, FILE *out, struct tp_err *err)
{
    struct tp_str title = {0};
    add_title(p->t, &title);
    const struct tp_html_page page = {
        .title = tp_str_text(&title), .articles = write_articles, .data = write_data, .of = p};
    int rc = tp_html_write(&page, out, err);
    tp_str_drop(&title);
    return rc;
}
