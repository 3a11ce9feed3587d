/* The contract of an export: a way to write the results of a replay for another program.
 *
 *     tp_report --> tp_exporter.write --> standard output     (--format NAME)
 *                                     --> FILE                (--export-NAME FILE)
 *
 * To add one: a file cmd/exports/export_NAME.c that exports `const struct tp_exporter
 * tp_exporter_NAME`, and one line in TP_EXPORTERS. The options, their help and the table in
 * cmd/registry.c are made from that line. A writer takes its figures from cmd/results/figures.h or
 * from the JSON result and computes none that another writer would compute too. */
#ifndef TP_EXPORTER_H
#define TP_EXPORTER_H

#include "cmd/results/result.h"
#include "cmd/ui/option_words.h"

struct tp_exporter {
    const char *name;    /* as in --format */
    const char *suffix;  /* the customary suffix of its files: ".csv" */
    const char *summary; /* one line of `tapool help exports` */

    /* Writes the whole report to one stream and returns a status. A format with `part` can only
     * write a report of one result this way. */
    int (*write)(const struct tp_report *r, FILE *out, struct tp_err *err);

    /* These three are set for a format that needs several files for one report, and NULL for a
     * format that puts everything into one file.
     *
     * `part` writes the text that goes into the name of the index-th file before its suffix ("" for
     * none) and returns false after the last file. It is called before anything is played, so it
     * may read only the traces and strategies of the `planned` results. `has_part` tells whether a
     * partial report has the result of the index-th file. */
    bool (*part)(const struct tp_report *r, size_t index, char *name, size_t size);
    bool (*has_part)(const struct tp_report *r, size_t index);
    int (*write_part)(const struct tp_report *r, size_t index, FILE *out, struct tp_err *err);

    /* Whether the format can hold the `planned` results, of which only traces and strategies are
     * there; TP_EUSAGE with the reason. NULL: it holds all. */
    int (*check)(const struct tp_report *r, struct tp_err *err);

    /* The format holds the call stacks of who holds the memory: they are looked up for it. */
    bool stacks;
    /* The format draws so many frames of the heap of each device, at most: they are taken for it;
     * 0: none. */
    uint32_t frames;
};

/* The exports, each as X(of, NAME, "name" of its option, help of that). `folded` is the last one:
 * an interrupted report has everything but the stacks. */
#define TP_EXPORTERS(X, of)                                                                        \
    X(of, json, "json", "write the JSON result (tapool.result/1) to FILE as well")                 \
    X(of, markdown, "markdown", "likewise the table of policies, for a comment on a pull request") \
    X(of, csv, "csv", "likewise a table: a row for each result and device")                        \
    X(of, benchfmt, "benchfmt", "likewise the repetitions, for Go's benchstat")                    \
    X(of, hgrm, "hgrm",                                                                            \
      "likewise latencies for HdrHistogram's plotter, each histogram in a file of its own")        \
    X(of, perfetto, "perfetto", "likewise memory over time, for ui.perfetto.dev")                  \
    X(of, svg, "svg",                                                                              \
      "likewise memory over time as a picture, all strategies of a trace in one chart")            \
    X(of, svg_heap, "svg-heap",                                                                    \
      "likewise a picture of what each strategy held when the program needed most")                \
    X(of, snapshot, "snapshot",                                                                    \
      "likewise what a strategy did as a PyTorch memory snapshot, each strategy in a file of its " \
      "own")                                                                                       \
    X(of, html, "html", "likewise a page with charts, one file for a browser")                     \
    X(of, folded, "folded", TP_FOLDED_HELP)

#define TP_EXPORT_INDEX(of, id, name, words) TP_EXPORT_##id,
enum { TP_EXPORTERS(TP_EXPORT_INDEX, ) TP_EXPORT_COUNT };

extern const struct tp_exporter *const tp_exporters[]; /* NULL-terminated */

extern const char *const tp_export_words[]; /* the words of --format */

/* The option rows of all exports, for a command whose options struct has a member `struct
 * tp_exports exports`. */
#define TP_EXPORTER_ROW(opts, id, name, words) TP_EXPORT_ROW(opts, TP_EXPORT_##id, name, words),
#define TP_EXPORTER_ROWS(opts)                                                                     \
    TP_FORMAT_ROW(opts, tp_export_words, "what is printed ('tapool help exports')"),               \
        TP_JSON_ROW(opts), TP_EXPORTERS(TP_EXPORTER_ROW, opts) TP_THEME_ROW(opts),                 \
        TP_FORCE_ROW(offsetof(opts, exports.force))

#endif
