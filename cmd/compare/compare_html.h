/* The exports of a comparison. Of its page: what its charts are drawn from, and its articles. */
#ifndef TP_COMPARE_HTML_H
#define TP_COMPARE_HTML_H

#include "cmd/ui/exporter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tp_compare;
struct tp_compare_table;

struct tp_compare_page {
    const struct tp_compare *found;
    char *const *words; /* traces or files, as on the command line */
    size_t word_count;
    const struct tp_opt *rows; /* of the options of the command, which are `opts` */
    const void *opts;
    bool exact; /* sizes in bytes */
    /* What there is room for, in which the page replaces `found`; its caller sets none. */
    const bool *has_rounds; /* tp_compare_page_rooms */
    size_t traces_left;     /* those of which no row is shown */
};

/* All are of a struct tp_compare_page. Markdown and CSV are only printed. */
#define TP_COMPARE_FILES(X, of)                                                                    \
    TP_EXPORTS_OF_ALL(X, of, TP_JSON_HELP)                                                         \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)
#define TP_COMPARE_EXPORTS(X, of)                                                                  \
    X(of, markdown, of, "markdown", NULL, LAST)                                                    \
    X(of, csv, of, "csv", NULL, LAST)                                                              \
    TP_COMPARE_FILES(X, of)

TP_COMPARE_EXPORTS(TP_EXPORT_DECLARE, tp_compare)
extern const struct tp_exporter tp_compare_text;
extern const struct tp_exporters tp_compare_exporters;
enum { TP_EXPORT_INDEXES(tp_compare, TP_COMPARE_EXPORTS) };

/* The document tapool.compare/2. */
struct cJSON *tp_compare_tree(struct tp_json *j, const void *of);

/* ---- compare_page_data.c ---- */

/* Decides of which tables and columns the page has the values of all rounds. Beyond some thousands
 * the later ones are left out, so that a page stays small. The caller frees the list. TP_ENOMEM. */
int tp_compare_page_rooms(const struct tp_compare *c, bool **out, struct tp_err *err);
bool tp_compare_page_has_rounds(const struct tp_compare_page *p, size_t table, size_t column);

/* Whether a row of the table has memory over time. */
bool tp_compare_page_has_curves(const struct tp_compare_table *t);

/* Writes the data of the page: tapool.compare/2 with what only its charts need. */
int tp_compare_page_data(const void *of, FILE *out, struct tp_err *err);

#endif
