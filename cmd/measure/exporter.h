/* The contract of an export: a way to write the results of a replay for another program.
 *
 *     tp_report --> tp_exporter.write --> standard output     (--format NAME)
 *                                     --> FILE                (--export-NAME FILE)
 *
 * To add one: a file cmd/report/export_NAME.c that exports `const struct tp_exporter
 * tp_exporter_NAME`, and one line in TP_EXPORTERS. The options, their help and the table in
 * cmd/registry.c are made from that line. A writer takes its figures from cmd/measure/figures.h or
 * from the JSON result and computes none that another writer would compute too. */
#ifndef TP_EXPORTER_H
#define TP_EXPORTER_H

#include "alloc/base/opt.h"
#include "cmd/measure/result.h"

struct tp_exporter {
    const char *name;    /* as in --format */
    const char *suffix;  /* what its files end in by custom: ".csv" */
    const char *summary; /* one line of `tapool help exports` */

    /* Everything into one stream; a status. Where `part` is set: of one result. */
    int (*write)(const struct tp_report *r, FILE *out, struct tp_err *err);

    /* A format whose file holds one thing, of which a report has several. NULL: one file holds
     * everything. `part` writes what is put into the file's name before its suffix for the index-th
     * file ("" for none) and returns false after the last; it knows only what is so before anything
     * is played: traces and strategies of the `planned` results. `has_part`: of those that a
     * partial report has. */
    bool (*part)(const struct tp_report *r, size_t index, char *name, size_t size);
    bool (*has_part)(const struct tp_report *r, size_t index);
    int (*write_part)(const struct tp_report *r, size_t index, FILE *out, struct tp_err *err);
};

/* X(of, NAME, help of its option). */
#define TP_EXPORTERS(X, of)                                                                        \
    X(of, json, "write the JSON result (tapool.result/1) to FILE as well")                         \
    X(of, markdown, "likewise the table of policies, for a comment on a pull request")             \
    X(of, csv, "likewise a table: a row for each result and device")                               \
    X(of, benchfmt, "likewise the repetitions, for Go's benchstat")                                \
    X(of, hgrm,                                                                                    \
      "likewise latencies for HdrHistogram's plotter, each histogram in a file of its own")        \
    X(of, perfetto, "likewise memory over time, for ui.perfetto.dev")

#define TP_EXPORT_INDEX(of, id, words) TP_EXPORT_##id,
enum { TP_EXPORTERS(TP_EXPORT_INDEX, ) TP_EXPORT_COUNT };

extern const struct tp_exporter *const tp_exporters[]; /* NULL-terminated */

/* What is asked for on a command line. */
struct tp_export_opts {
    uint32_t format; /* 0: text; else the index of an exporter plus 1 */
    bool json, force;
    char *files[TP_EXPORT_COUNT]; /* NULL: not asked for */
};

extern const char *const tp_export_words[]; /* of --format */

/* The rows of these options, for a table of a struct that has them as `exports`. */
#define TP_EXPORT_AT(type, member) offsetof(type, exports) + offsetof(struct tp_export_opts, member)
#define TP_EXPORT_ROW(opts, id, words)                                                             \
    TP_FILE_AT("export-" #id, TP_EXPORT_AT(opts, files) + TP_EXPORT_##id * sizeof(char *),         \
               .help = words),
#define TP_EXPORT_ROWS(opts)                                                                       \
    TP_CHOICE_AT("format", TP_EXPORT_AT(opts, format), .def = "text", .choices = tp_export_words,  \
                 .arg = "FORMAT", .help = "what is printed ('tapool help exports')"),              \
        TP_FLAG_AT("json", TP_EXPORT_AT(opts, json), .help = "the same as --format json"),         \
        TP_EXPORTERS(TP_EXPORT_ROW, opts)                                                          \
            TP_FLAG_AT("force", TP_EXPORT_AT(opts, force), .letter = 'f', .from = TP_OPT_USER,     \
                       .help = "overwrite FILE")

#endif
