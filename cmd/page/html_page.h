/* A page that is one file, for people who would rather look than read: what the pages of all
 * commands have in common.
 *
 *     <main>     articles of sections: the answer, tables and every setting, readable without
 *                JavaScript
 *     <script>   the data, the library of charts, and a script for each view, which draws into the
 *                figure of its name
 *
 * Nothing is loaded from elsewhere, and the content security policy of the page forbids it. */
#ifndef TP_HTML_PAGE_H
#define TP_HTML_PAGE_H

#include "alloc/base/err.h"
#include "alloc/base/opt.h"
#include "cmd/ui/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One part of an article, each member there if it is not NULL, in this order. */
struct tp_html_section {
    const char *id, *title; /* the class and the heading */
    const char *view;       /* what the figure shows into which the view `id` draws */
    const char *lead;       /* a paragraph as HTML */
    void (*pick)(const void *of, struct tp_page *page);  /* what one came for, set apart */
    void (*print)(const void *of, struct tp_page *page); /* as the screen has it: lines, tables */
    int (*write)(const void *of, FILE *out, struct tp_err *err);
    bool (*there)(const void *of); /* whether the section is; NULL: always */
};

struct tp_table;

/* What stands under one heading. */
struct tp_html_article {
    const char *title;
    void (*head)(const void *of, struct tp_page *page); /* the lines below the title; NULL: none */
    /* Adds the figures that stand large below them, by tp_table_figure; NULL: none. */
    void (*figures)(const void *of, bool exact, struct tp_table *t);
    const struct tp_html_section *sections;
    size_t section_count;
    const void *of;      /* given to the sections */
    bool exact;          /* sizes are printed in bytes */
    size_t first, count; /* those of data.runs that the views draw; 0, 0: they take all data */
};

int tp_html_article(const struct tp_html_article *a, FILE *out, struct tp_err *err);

struct tp_html_page {
    const char *title;                     /* NULL: that of the article */
    const char *lacks;                     /* stands above all: what is missing; NULL: nothing */
    const struct tp_html_article *article; /* the only one; NULL: there are several */
    int (*articles)(const void *of, FILE *out, struct tp_err *err);
    int (*data)(const void *of, FILE *out, struct tp_err *err); /* writes one JSON value */
    const void *of;
    struct tp_html_room *room; /* NULL: the page is small whatever it is of */
};

/* How much of what it is of a page shows. A page that turns out too large is written again with
 * fewer items, until it fits; its writers look at `most`, choose those that matter most, and say
 * how many were left out. */
struct tp_html_room {
    size_t most; /* items, 1 or more; what they are is the page's own matter */
    int (*choose)(void *of, size_t most, struct tp_err *err); /* before each writing; NULL: none */
    void *of;                                                 /* given to it */
};

/* Bytes that no page has more of. */
enum { TP_HTML_MOST = 2990000 };

/* Room for all of `count` items, or for as many as could ever fit. */
struct tp_html_room tp_html_room(size_t count);

/* Writes a paragraph on what was left out, "And 7 more strategies would make the page too large:
 * --export-json has them."; nothing for 0. `what`: their name where it is one. */
void tp_html_left_out(size_t count, const char *what, FILE *out);

/* TP_EUSAGE: it is too large with a single item, too. */
int tp_html_write(const struct tp_html_page *d, FILE *out, struct tp_err *err);

/* The check of all exporters of pages. TP_EUSAGE: this build cannot write any. */
int tp_html_check(const void *of, struct tp_err *err);

/* TP_ENOMEM, as all pages say it. */
int tp_html_no_memory(struct tp_err *err);

/* ---- pieces of sections ---- */

/* Writes what `print` prints on a screen of 100 columns, as it is there; a reader unfolds it under
 * this title. */
int tp_html_folded(const char *title, void (*print)(const void *of, struct tp_page *page),
                   const void *of, FILE *out, struct tp_err *err);
#define TP_HTML_SCREEN "As on the screen, with sizes in full"

/* Writes the command line that makes the page again: `tapool COMMAND WORD... OPTIONS`. Options
 * whose rows are the same as another one's are left out. */
void tp_html_command(const char *command, char *const *words, size_t count,
                     const struct tp_opt *rows, const void *opts, FILE *out);

/* What a page consists of beside its data: styles and scripts, embedded when tapool is built. */

struct tp_page_asset {
    const char *name;
    const char *begin, *end; /* its text, without a NUL */
};

/* In the order in which a page has them; ended by a row without a name. The first scripts are
 * the library of charts and what views share; each of the others is a view, which draws one part of
 * the page. Both are empty where the library was not found. */
extern const struct tp_page_asset tp_page_styles[], tp_page_scripts[];

/* Bytes of all of them. */
size_t tp_page_asset_bytes(void);

/* Why no page can be written: the library was not found. NULL: it was. */
extern const char *const tp_page_lacks;

#endif
