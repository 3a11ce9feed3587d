/* See html_page.h. Names come from files and command lines: they are escaped. */
#include "cmd/page/html_page.h"

#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces of sections ---- */

int tp_html_no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while writing a page");
}

int tp_html_folded(const char *title, void (*print)(const void *of, struct tp_page *page),
                   const void *of, FILE *out, struct tp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return tp_html_no_memory(err);
    struct tp_page page = {.out = memory, .width = 100, .no_curves = true};
    print(of, &page);
    int rc = fclose(memory) ? tp_html_no_memory(err) : TP_OK;
    tp_put(out, TP_TO_XML, "<details><summary>%s</summary>\n<pre>", title);
    for (char *line = text, *end; rc == TP_OK && *line; line = end) {
        end = line + strcspn(line, "\n");
        tp_escape_part(out, TP_TO_XML, line, (size_t)(end - line));
        fputs(*end ? "\n" : "", out);
        end += *end == '\n';
    }
    fputs("</pre>\n</details>\n", out);
    free(text);
    return rc;
}

void tp_html_command(const char *command, char *const *words, size_t count,
                     const struct tp_opt *rows, const void *opts, FILE *out)
{
    struct tp_str s = {0};
    tp_str_add(&s, "tapool %s", command);
    for (size_t i = 0; i < count; i++)
        tp_str_word(&s, words[i]);
    for (const struct tp_opt *row = rows; row->name; row++)
        if (!row->same)
            tp_str_row(&s, row, opts);
    fputs("<p>Made again by:</p>\n<pre>", out);
    tp_put(out, TP_TO_XML, "%s</pre>\n", tp_str_text(&s));
    tp_str_drop(&s);
}

/* ---- articles ---- */

/* Has it printed as paragraphs, the first one of this class. */
static void write_flow(const struct tp_html_article *a, const char *css_class,
                       void (*print)(const void *of, struct tp_page *page), FILE *out)
{
    struct tp_page page = {.out = out, .width = INT_MAX, .form = TP_PAGE_HTML, .exact = a->exact};
    fprintf(out, *css_class ? "<p class=\"%s\">" : "<p>", css_class);
    print(a->of, &page);
    fputs("</p>\n", out);
}

/* A figure that is not known is left out. */
static int write_large(const struct tp_html_article *a, FILE *out, struct tp_err *err)
{
    struct tp_table t = {0};
    tp_table_columns(&t, NULL, TP_LARGE_CELLS);
    a->figures(a->of, a->exact, &t);
    fputs("<dl class=\"figures\">", out);
    for (int row = 0; row < tp_table_rows(&t); row++)
        if (strcmp(tp_table_cell(&t, row, TP_LARGE_TEXT), "-") != 0)
            tp_put(out, TP_TO_XML, "\n<div><dt>%s</dt><dd class=\"%s\">%s</dd></div>",
                   tp_table_cell(&t, row, TP_LARGE_LABEL), tp_table_cell(&t, row, TP_LARGE_CLASS),
                   tp_table_cell(&t, row, TP_LARGE_TEXT));
    fputs("</dl>\n", out);
    int rc = tp_table_status(&t, err);
    tp_table_drop(&t);
    return rc;
}

static void write_figure(const struct tp_html_article *a, const struct tp_html_section *s,
                         FILE *out)
{
    fprintf(out, "<figure data-view=\"%s\" ", s->id);
    if (a->count)
        fprintf(out, "data-first=\"%zu\" data-count=\"%zu\" ", a->first, a->count);
    fprintf(out, "aria-label=\"%s\"></figure>\n", s->view);
    if (!s->write)
        fputs("<noscript><p>The chart needs JavaScript.</p></noscript>\n", out);
}

/* A table that says what a figure shows is folded below it. */
static void write_print(const struct tp_html_article *a, const struct tp_html_section *s, FILE *out)
{
    fputs(s->view ? "<details class=\"table\"><summary>Table</summary>\n" : "", out);
    write_flow(a, "", s->print, out);
    fputs(s->view ? "</details>\n" : "", out);
}

int tp_html_article(const struct tp_html_article *a, FILE *out, struct tp_err *err)
{
    int rc = TP_OK;
    tp_put(out, TP_TO_XML, "<article><h1>%s</h1>\n", a->title);
    if (a->head)
        write_flow(a, "head", a->head, out);
    if (a->figures)
        rc = write_large(a, out, err);
    for (size_t i = 0; rc == TP_OK && i < a->section_count; i++) {
        const struct tp_html_section *s = &a->sections[i];
        if (s->there && !s->there(a->of))
            continue;
        fprintf(out, "<section class=\"%s\"><h2>%s</h2>\n", s->id, s->title);
        if (s->view)
            write_figure(a, s, out);
        if (s->lead)
            fprintf(out, "<p>%s</p>\n", s->lead);
        if (s->pick)
            write_flow(a, "pick", s->pick, out);
        if (s->print)
            write_print(a, s, out);
        if (s->write)
            rc = s->write(a->of, out, err);
        fputs("</section>\n", out);
    }
    fputs("</article>\n", out);
    return rc;
}

/* ---- the document ---- */

/* The last line of a script or of a style may be the place of its source, which a browser would
 * look for. */
static const char *end_of(const struct tp_page_asset *a)
{
    static const char place[] = "# sourceMappingURL=";
    const char *found = memmem(a->begin, (size_t)(a->end - a->begin), place, sizeof place - 1);
    while (found && found > a->begin && found[-1] != '\n')
        found--;
    return found ? found : a->end;
}

static void write_assets(const struct tp_page_asset *a, const char *tag, FILE *out)
{
    for (; a->name; a++) {
        fprintf(out, "<%s>\n", tag);
        fwrite(a->begin, 1, (size_t)(end_of(a) - a->begin), out);
        fprintf(out, "\n</%s>\n", tag);
    }
}

static void write_head(const struct tp_html_page *d, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          out);
    tp_put(out, TP_TO_XML, "%s: tapool</title>\n", d->title ? d->title : d->article->title);
    write_assets(tp_page_styles, "style", out);
    fputs("</head>\n<body><main>\n", out);
    if (d->lacks)
        tp_put(out, TP_TO_XML, "<p><b class=\"bad\">%s</b></p>\n", d->lacks);
}

/* In a script element a text may not hold "</script" or "<!--". */
static void write_script(const char *json, FILE *out)
{
    for (const char *end; *json; json = end) {
        end = json + strcspn(json, "<");
        fwrite(json, 1, (size_t)(end - json), out);
        fputs(*end ? "\\u003c" : "", out);
        end += *end != '\0';
    }
}

static int write_data(const struct tp_html_page *d, FILE *out, struct tp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return tp_html_no_memory(err);
    int rc = d->data(d->of, memory, err);
    if (fclose(memory) && rc == TP_OK)
        rc = tp_html_no_memory(err);
    if (rc == TP_OK)
        write_script(text, out);
    free(text);
    return rc;
}

static int write_page(const struct tp_html_page *d, FILE *out, struct tp_err *err)
{
    write_head(d, out);
    int rc = d->article ? tp_html_article(d->article, out, err) : d->articles(d->of, out, err);
    fputs("<footer>", out);
    tp_put_tool(out);
    fputs("</footer></main>\n<script type=\"application/json\" id=\"data\">", out);
    if (rc == TP_OK)
        rc = write_data(d, out, err);
    fputs("</script>\n", out);
    write_assets(tp_page_scripts, "script", out);
    fputs("</body></html>\n", out);
    return rc;
}

/* ---- room ---- */

/* More items than this do not fit, however small they are. */
enum { ITEMS_MOST = 5000 };

struct tp_html_room tp_html_room(size_t count)
{
    size_t most = count < ITEMS_MOST ? count : ITEMS_MOST;
    return (struct tp_html_room){.most = most ? most : 1};
}

void tp_html_left_out(size_t count, const char *what, FILE *out)
{
    if (count)
        fprintf(out,
                "<p>And %s more %s%s would make the page too large: --export-json has %s.</p>\n",
                tp_count(count).s, what, count > 1 ? "s" : "", count > 1 ? "them" : "it");
}

/* How many items to try after `most` took `bytes`: as many as fit if all are alike and the rest is
 * what the scripts are; after some tries, half of them. */
static size_t fewer(size_t most, size_t bytes, unsigned tries)
{
    size_t fixed = tp_page_asset_bytes();
    double share = (double)(TP_HTML_MOST - fixed) / (double)(bytes - fixed);
    share = share < 0.9 ? 0.97 * share : 0.87;
    if (tries > 3)
        share = 0.5;
    size_t less = (size_t)((double)most * share);
    return less ? less : 1;
}

/* One try. The caller frees the text. */
static int write_text(const struct tp_html_page *d, char **text, size_t *bytes, struct tp_err *err)
{
    int rc = d->room && d->room->choose ? d->room->choose(d->room->of, d->room->most, err) : TP_OK;
    FILE *memory = rc == TP_OK ? open_memstream(text, bytes) : NULL;
    if (!memory)
        return rc == TP_OK ? tp_html_no_memory(err) : rc;
    rc = write_page(d, memory, err);
    return fclose(memory) && rc == TP_OK ? tp_html_no_memory(err) : rc;
}

int tp_html_write(const struct tp_html_page *d, FILE *out, struct tp_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    int rc = write_text(d, &text, &bytes, err);
    for (unsigned tries = 1; rc == TP_OK && bytes > TP_HTML_MOST; tries++) {
        if (!d->room || d->room->most <= 1) {
            rc = tp_fail(err, TP_EUSAGE, "the page would be %s, and none is above 3 MB",
                         tp_bytes(bytes, false).s);
            rc = tp_hint(err, rc, "names or texts in it are very long: --export-json has all");
            break;
        }
        d->room->most = fewer(d->room->most, bytes, tries);
        free(text);
        text = NULL;
        rc = write_text(d, &text, &bytes, err);
    }
    if (rc == TP_OK)
        fwrite(text, 1, bytes, out);
    free(text);
    return rc;
}

int tp_html_check(const void *of, struct tp_err *err)
{
    (void)of;
    if (!tp_page_lacks)
        return TP_OK;
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "%s", tp_page_lacks),
                   "install libjs-dygraphs and build it again");
}
