/* What a command prints, and the files that it writes beside that: --format, --json, --export-NAME
 * and --force are the same options of all commands that have them, with the same checks. */
#ifndef TP_EXPORTS_H
#define TP_EXPORTS_H

#include "alloc/base/opt.h"

enum { TP_EXPORTS_MAX = 8 };

struct tp_exports {
    uint32_t format; /* 0: text; else the index of a word of --format */
    bool json, force;
    char *files[TP_EXPORTS_MAX]; /* files[i] is of format i + 1; NULL: not asked for */
};

/* Rows, for a table of a struct that has these as `exports`. */
#define TP_FORMAT_ROW(opts, words, what)                                                           \
    TP_CHOICE_AT("format", offsetof(opts, exports.format), .def = "text", .choices = words,        \
                 .arg = "FORMAT", .help = what)
#define TP_JSON_ROW(opts)                                                                          \
    TP_FLAG_AT("json", offsetof(opts, exports.json), .same = "format json",                        \
               .help = "the same as --format json")
#define TP_EXPORT_ROW(opts, i, label, what)                                                        \
    TP_FILE_AT("export-" label, offsetof(opts, exports.files) + (i) * sizeof(char *), .help = what)

/* Before any work: TP_EUSAGE where a file exists and must not be overwritten, two exports have one
 * name or one has that of standard output; TP_EIO where a folder cannot be written. `words` are
 * those of --format. */
int tp_exports_look(const struct tp_exports *e, const char *const *words, struct tp_err *err);

/* Whether a file was asked for, or a document on standard output. */
bool tp_exports_any(const struct tp_exports *e);

#endif
