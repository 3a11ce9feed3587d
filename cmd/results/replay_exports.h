/* The exports of the results of a replay. To add one: a file cmd/exports/export_NAME.c that exports
 * `const struct tp_exporter tp_replay_NAME` (cmd/ui/exporter.h), and one line here. What is written
 * is a struct tp_report. A writer takes its figures from cmd/results/figures.h or from the JSON
 * result and computes none that another writer would compute too. Before anything is replayed only
 * the traces and strategies of the `planned` results are known to `check` and `part`. */
#ifndef TP_REPLAY_EXPORTS_H
#define TP_REPLAY_EXPORTS_H

#include "cmd/results/result.h"
#include "cmd/ui/exporter.h"

#define TP_REPLAY_FILES(X, of)                                                                     \
    X(of, markdown, of, "markdown", "write the table as Markdown to FILE, for a pull request",     \
      LAST)                                                                                        \
    X(of, csv, of, "csv", "write a row per result and device to FILE", IN)                         \
    X(of, benchfmt, of, "benchfmt", "write the repetitions to FILE, for Go's benchstat", LAST)     \
    X(of, hgrm, of, "hgrm", "write latencies for HdrHistogram's plotter, a FILE per histogram",    \
      LAST)                                                                                        \
    X(of, perfetto, of, "perfetto", "write memory over time to FILE, for ui.perfetto.dev", LAST)   \
    X(of, svg, of, "svg", "write memory over time as a picture to FILE", IN)                       \
    X(of, svg_heap, of, "svg-heap", "write a picture of the heap at the trace peak to FILE", LAST) \
    X(of, snapshot, of, "snapshot", "write a PyTorch memory snapshot, a FILE per strategy", LAST)  \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)                                                   \
    X(of, folded, of, "folded", TP_FOLDED_HELP, LAST)

#define TP_REPLAY_EXPORTS(X, of)                                                                   \
    TP_EXPORTS_OF_ALL(X, of, "write the JSON result to FILE")                                      \
    TP_REPLAY_FILES(X, of)

TP_REPLAY_EXPORTS(TP_EXPORT_DECLARE, tp_replay)
extern const struct tp_exporter tp_replay_text;
struct cJSON *tp_replay_tree(struct tp_json *j, const void *of); /* tapool.result/2 */
extern const struct tp_exporters tp_replay_exporters;
enum { TP_EXPORT_INDEXES(tp_replay, TP_REPLAY_EXPORTS) };

/* Whether these passes of --passes measure all that an export shows; TP_EUSAGE: what it lacks. */
bool tp_replay_export_serves(size_t index, unsigned passes);
int tp_replay_export_lacks(const struct tp_exports *e, size_t index, struct tp_err *err);

#endif
