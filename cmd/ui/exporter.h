/* The contract of an export: a form in which a command writes what it found, on standard output
 * (--format NAME) or into a file beside that (--export-NAME FILE).
 *
 *     #define EXPORTS(X, of) X(of, json, "json", TP_JSON_HELP) X(of, html, "html", TP_HTML_HELP)
 *
 *     enum { TP_EXPORT_INDEXES(tune, EXPORTS) };                    tune_index_json, ...
 *     static const char *const tune_words[] = {TP_EXPORT_WORDS(EXPORTS)};          of --format
 *     static const struct tp_opt rows[] = {..., TP_EXPORT_ROWS(tune, EXPORTS), ...};
 *     static const struct tp_exporter tune_text = {...}, tune_json = {...}, tune_html = {...};
 *     static const struct tp_exporter *const tune_exporters[] = {TP_EXPORT_TABLE(tune, EXPORTS)};
 *
 * To add one, write a `const struct tp_exporter` and add an X to the list of the command. The first
 * exporter of each command is the screen, `text`, which has no X. */
#ifndef TP_EXPORTER_H
#define TP_EXPORTER_H

#include "cmd/ui/option_words.h"

#include <stdio.h>

/* `of` is what the command found, of a type that all of its exporters know. */
struct tp_exporter {
    const char *name;    /* as in --format */
    const char *summary; /* one line of `tapool help exports` */
    const char *about;   /* and its paragraph, in lines of at most 88 characters */

    /* Writes everything to one stream and returns a status. A format with `part` can only write a
     * report of one result this way. */
    int (*write)(const void *of, FILE *out, struct tp_err *err);

    /* These three are set for a format that needs several files for one report, and NULL for a
     * format that puts everything into one file.
     *
     * `part` writes the text that goes into the name of the index-th file before its suffix ("" for
     * none) and returns false after the last file. It is called before any work, as `check` is.
     * `has_part` tells whether a partial report has the result of the index-th file. */
    bool (*part)(const void *of, size_t index, char *name, size_t size);
    bool (*has_part)(const void *of, size_t index);
    int (*write_part)(const void *of, size_t index, FILE *out, struct tp_err *err);

    /* Asked before any work, with as much of `of` as is known then: whether it can be written;
     * TP_EUSAGE with the reason. NULL: it always can. */
    int (*check)(const void *of, struct tp_err *err);

    /* The format holds the call stacks of who holds the memory: they are looked up for it. */
    bool stacks;
    /* The format draws so many frames of the heap of each device, at most: they are taken for it;
     * 0: none. */
    uint32_t frames;
};

enum { TP_EXPORTS_MAX = 12 };

/* What was asked for. Indexes are those of a command's exporters. */
struct tp_exports {
    uint32_t format; /* of --format */
    uint32_t theme;  /* index of the keyword of --svg-theme */
    bool json, force;
    char *files[TP_EXPORTS_MAX]; /* paths of --export-NAME; NULL: not asked for */
};

/* ---- the lists of a command ---- */

/* What the macros make of a list; `of` is what the names of a command begin with: its option struct
 * is `struct of_opts`, which has a member `struct tp_exports exports`. */
#define TP_EXPORT_INDEX(of, id, ...)      of##_index_##id,
#define TP_EXPORT_WORD(of, id, name, ...) name,
#define TP_EXPORT_POINT(of, id, ...)      &of##_##id,
#define TP_EXPORT_DECLARE(of, id, ...)    extern const struct tp_exporter of##_##id;
#define TP_EXPORT_ROW(of, id, name, what)                                                          \
    TP_FILE_AT("export-" name, offsetof(struct of##_opts, exports.files[of##_index_##id]),         \
               .help = what),

#define TP_EXPORT_INDEXES(of, LIST) of##_index_text, LIST(TP_EXPORT_INDEX, of) of##_index_end
#define TP_EXPORT_WORDS(LIST)       "text", LIST(TP_EXPORT_WORD, ) NULL
#define TP_EXPORT_TABLE(of, LIST)   &of##_text, LIST(TP_EXPORT_POINT, of) NULL

#define TP_FORMAT_ROW(of, what)                                                                    \
    TP_CHOICE_AT("format", offsetof(struct of##_opts, exports.format), .def = "text",              \
                 .choices = of##_words, .arg = "FORMAT", .help = what)
#define TP_JSON_ROW(of)                                                                            \
    TP_FLAG_AT("json", offsetof(struct of##_opts, exports.json), .same = "format json",            \
               .help = "the same as --format json")
#define TP_THEME_ROW(of)                                                                           \
    TP_CHOICE_AT("svg-theme", offsetof(struct of##_opts, exports.theme), .def = "auto",            \
                 .choices = tp_theme_words, .arg = "THEME",                                        \
                 .help = "colours of a picture (--export-svg, --export-svg-heap): those that its " \
                         "reader prefers, or always the same")
#define TP_EXPORT_ROWS(of, LIST)                                                                   \
    TP_FORMAT_ROW(of, "what is printed"), TP_JSON_ROW(of),                                         \
        LIST(TP_EXPORT_ROW, of) TP_FORCE_ROW(offsetof(struct of##_opts, exports.force))

#define TP_JSON_HELP   "write the JSON to FILE as well"
#define TP_HTML_HELP   "write a page with charts to FILE, one file for a browser"
#define TP_FOLDED_HELP "write call stacks with what each holds to FILE, for a flame graph"

#endif
