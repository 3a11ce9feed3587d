/* The contract of an export: a form in which a command writes what it found, on standard output
 * (--format NAME) or into a file beside that (--export-NAME FILE).
 *
 *     #define EXPORTS(X, of)
 *         TP_EXPORTS_OF_ALL(X, of, TP_JSON_HELP)
 *         X(of, html, of, "html", TP_HTML_HELP, FIRST)
 *
 *     enum { TP_EXPORT_INDEXES(tune, EXPORTS) };                    tune_index_json, ...
 *     static const char *const tune_words[] = {TP_EXPORT_WORDS(EXPORTS)};          of --format
 *     static const struct tp_opt rows[] = {..., TP_EXPORT_ROWS(tune, EXPORTS), ...};
 *     static const struct tp_exporter tune_text = {...}, tune_html = {...};
 *     static const struct tp_exporters tune_exporters = TP_EXPORT_TABLE(tune, EXPORTS, tune_tree);
 *
 * To add one, write a `const struct tp_exporter` and add an X to the list of the command, or to
 * TP_EXPORTS_OF_ALL if it is made from the JSON document alone. The first exporter of each command
 * is the screen, `text`, which has no X. */
#ifndef TP_EXPORTER_H
#define TP_EXPORTER_H

#include "cmd/ui/option_words.h"

#include <stdio.h>

struct cJSON;
struct tp_json;
struct tp_page;

/* `of` is what the command found, of a type that all of its exporters know. */
struct tp_exporter {
    const char *name;    /* as in --format */
    const char *summary; /* one line of `tapool help exports` */
    const char *about;   /* and its paragraph, in lines of at most 69 characters: 80 with the
                            name */

    /* One of these four is set. Prints the screen; */
    void (*print)(const void *of, struct tp_page *page);
    /* writes everything to one stream and returns a status; */
    int (*write)(const void *of, FILE *out, struct tp_err *err);
    /* writes it from the JSON document, which it deletes; */
    int (*write_tree)(struct tp_json *j, struct cJSON *root, FILE *out, struct tp_err *err);
    /* writes one of several files, of which the first one is printed. */
    int (*write_part)(const void *of, size_t index, FILE *out, struct tp_err *err);
    /* Set with write_part: writes the text that goes into the name of the index-th file before its
     * suffix ("" for none) and returns false after the last file. It is called before any work, as
     * `check` is, and then for the files of what was found. */
    bool (*part)(const void *of, size_t index, char *name, size_t size);

    /* Asked before any work, with as much of `of` as is known then: whether it can be written;
     * TP_EUSAGE with the reason. NULL: it always can. */
    int (*check)(const void *of, struct tp_err *err);

    /* The format holds the call stacks of who holds the memory: they are looked up for it. */
    bool stacks;
    /* The format draws so many frames of the heap of each device, at most: they are taken for it;
     * 0: none. */
    uint32_t frames;
};

enum { TP_EXPORTS_MAX = 16 };

/* All of a command. */
struct tp_exporters {
    /* The JSON document; it is incomplete if `j` has failed. */
    struct cJSON *(*tree)(struct tp_json *j, const void *of);
    const struct tp_exporter *list[TP_EXPORTS_MAX + 1];
};

/* What was asked for. Indexes are those of a command's exporters. */
struct tp_exports {
    uint32_t format; /* of --format */
    uint32_t theme;  /* index of the keyword of --svg-theme */
    uint32_t color;  /* of --color */
    bool json, force;
    bool bytes;                  /* the screen has sizes in full */
    char *files[TP_EXPORTS_MAX]; /* paths of --export-NAME; NULL: not asked for */
};

/* ---- the lists of a command ---- */

/* The exports that every command has. */
#define TP_EXPORTS_OF_ALL(X, of, json_help) X(of, json, tp_export, "json", json_help, IN)

/* What the macros make of a list of X(of, ID, whose, "name", help of
 * --export-name, FIRST, IN or LAST: where that is listed): the exporter
 * is `whose_ID`. `of` is what the names of a command begin with: its option struct is `struct
 * of_opts`, which has a member `struct tp_exports exports`. */
#define TP_EXPORT_INDEX(of, id, ...)                 of##_index_##id,
#define TP_EXPORT_WORD(of, id, whose, name, ...)     name,
#define TP_EXPORT_POINT(of, id, whose, ...)          &whose##_##id,
#define TP_EXPORT_OPTION(of, id, whose, name, ...)   "export-" name,
#define TP_EXPORT_EXCLUDED(of, id, whose, name, ...) " export-" name
#define TP_EXPORT_DECLARE(of, id, whose, ...)        extern const struct tp_exporter whose##_##id;
#define TP_EXPORT_ROW(of, id, whose, name, what, listed)                                           \
    TP_FILE_AT("export-" name, offsetof(struct of##_opts, exports.files[of##_index_##id]),         \
               .help = what, TP_##listed(OUTPUT)),

TP_EXPORTS_OF_ALL(TP_EXPORT_DECLARE, , )

#define TP_EXPORT_INDEXES(of, LIST) of##_index_text, LIST(TP_EXPORT_INDEX, of) of##_index_end
#define TP_EXPORT_WORDS(LIST)       "text", LIST(TP_EXPORT_WORD, ) NULL
#define TP_EXPORT_TABLE(of, LIST, document)                                                        \
    {                                                                                              \
        document,                                                                                  \
        {                                                                                          \
            &of##_text, LIST(TP_EXPORT_POINT, of) NULL                                             \
        }                                                                                          \
    }

#define TP_FORMAT_ROW(of, what)                                                                    \
    TP_CHOICE_AT("format", offsetof(struct of##_opts, exports.format), .def = "text",              \
                 .choices = of##_words, .arg = "FORMAT", .help = what, TP_IN(OUTPUT))
#define TP_JSON_ROW(of)                                                                            \
    TP_FLAG_AT("json", offsetof(struct of##_opts, exports.json), .same = "format json",            \
               .help = "print JSON: --format json", TP_FIRST(OUTPUT))
#define TP_THEME_ROW(of)                                                                           \
    TP_CHOICE_AT("svg-theme", offsetof(struct of##_opts, exports.theme), .def = "auto",            \
                 .choices = tp_theme_words, .arg = "THEME",                                        \
                 .help = "colors of an SVG picture\nauto: those that the reader prefers",          \
                 TP_LAST(OUTPUT))
#define TP_EXPORT_ROWS(of, LIST)                                                                   \
    TP_FORMAT_ROW(of, "print the result as FORMAT"), TP_JSON_ROW(of),                              \
        LIST(TP_EXPORT_ROW, of) TP_FORCE_ROW(offsetof(struct of##_opts, exports.force))

#define TP_JSON_HELP   "write the JSON to FILE"
#define TP_HTML_HELP   "write a page with charts to FILE, for a browser"
#define TP_FOLDED_HELP "write call stacks with their live bytes to FILE, for a flame graph"

/* The exports of `tapool info`, and those of `tapool why`. Of several snapshots, and of the pages
 * of a host trace, not all of them can be had. */
#define TP_SNAPSHOT_EXPORTS(X, of)                                                                 \
    TP_EXPORTS_OF_ALL(X, of, TP_JSON_HELP)                                                         \
    X(of, folded, of, "folded", TP_FOLDED_HELP, LAST)                                              \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)
#define TP_WHY_EXPORTS(X, of)                                                                      \
    TP_SNAPSHOT_EXPORTS(X, of)                                                                     \
    X(of, svg, of, "svg", "write a map of the pages of a host trace to FILE", LAST)

#endif
