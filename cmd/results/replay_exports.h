/* The exports of the results of a replay. To add one: a file cmd/exports/export_NAME.c that exports
 * `const struct tp_exporter tp_replay_NAME` (cmd/ui/exporter.h), and one line here. What is written
 * is a struct tp_report. A writer takes its figures from cmd/results/figures.h or from the JSON
 * result and computes none that another writer would compute too. Before anything is played only
 * the traces and strategies of the `planned` results are known to `check` and `part`. */
#ifndef TP_REPLAY_EXPORTS_H
#define TP_REPLAY_EXPORTS_H

#include "cmd/results/result.h"
#include "cmd/ui/exporter.h"

/* Those that are refused where passes are chosen. */
#define TP_REPLAY_FILES(X, of)                                                                     \
    X(of, markdown, of, "markdown",                                                                \
      "likewise the table of policies, for a comment on a pull request")                           \
    X(of, csv, of, "csv", "likewise a table: a row for each result and device")                    \
    X(of, benchfmt, of, "benchfmt", "likewise the repetitions, for Go's benchstat")                \
    X(of, hgrm, of, "hgrm",                                                                        \
      "likewise latencies for HdrHistogram's plotter, each histogram in a file of its own")        \
    X(of, perfetto, of, "perfetto", "likewise memory over time, for ui.perfetto.dev")              \
    X(of, svg, of, "svg",                                                                          \
      "likewise memory over time as a picture, all strategies of a trace in one chart")            \
    X(of, svg_heap, of, "svg-heap",                                                                \
      "likewise a picture of what each strategy held when the program needed most")                \
    X(of, snapshot, of, "snapshot",                                                                \
      "likewise what a strategy did as a PyTorch memory snapshot, each strategy in a file of its " \
      "own")                                                                                       \
    X(of, html, of, "html", "likewise a page with charts, one file for a browser")                 \
    X(of, folded, of, "folded", TP_FOLDED_HELP)

#define TP_REPLAY_EXPORTS(X, of)                                                                   \
    TP_EXPORTS_OF_ALL(X, of, "write the JSON result (tapool.result/1) to FILE as well")            \
    TP_REPLAY_FILES(X, of)

TP_REPLAY_EXPORTS(TP_EXPORT_DECLARE, tp_replay)
extern const struct tp_exporter tp_replay_text;
struct cJSON *tp_replay_tree(struct tp_json *j, const void *of); /* tapool.result/1 */
extern const struct tp_exporters tp_replay_exporters;
enum { TP_EXPORT_INDEXES(tp_replay, TP_REPLAY_EXPORTS) };

#endif
