/* See why_pages.h: what is exported. */
#include "cmd/page/html_page.h"
#include "cmd/pages/why_pages.h"
#include "cmd/ui/exports.h"

static cJSON *pages_tree(struct tp_json *j, const void *of)
{
    return tp_why_pages_tree(j, of);
}

static void print_text(const void *of, struct tp_page *page)
{
    tp_why_pages_text(of, page);
}

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    return tp_why_pages_page(of, out, err);
}

static int write_svg(const void *of, FILE *out, struct tp_err *err)
{
    return tp_why_pages_svg(of, out, err);
}

static int refuse(const void *of, struct tp_err *err)
{
    (void)of;
    return tp_fail(err, TP_EUSAGE, "this format does not apply to host traces");
}

static const struct tp_exporter pages_text = {.name = "text", .print = print_text};
static const struct tp_exporter pages_folded = {.name = "folded", .check = refuse};
static const struct tp_exporter pages_html = {
    .name = "html", .write = write_html, .check = tp_html_check};
static const struct tp_exporter pages_svg = {.name = "svg", .write = write_svg};
static const struct tp_exporters pages_exporters =
    TP_EXPORT_TABLE(pages, TP_WHY_EXPORTS, pages_tree);

int tp_why_pages_run(const struct tp_why_pages_cfg *cfg, const struct tp_exports *exports,
                     FILE *out, struct tp_err *err)
{
    struct tp_why_pages w = {.count = 0};
    int status = tp_exports_check(exports, &pages_exporters, &w, err);
    if (!status)
        status = tp_why_pages(cfg, &w, err);
    if (!status)
        status = tp_exports_write(exports, &pages_exporters, &w, out, err);
    tp_why_pages_release(&w);
    return status;
}
