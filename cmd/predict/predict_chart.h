/* Memory over the values of a setting as a picture: what the points of an answer are (`--curve`).
 */
#ifndef TP_PREDICT_CHART_H
#define TP_PREDICT_CHART_H

#include "alloc/base/opt.h"
#include "cmd/charts/chart.h"
#include "cmd/predict/predict.h"
#include "cmd/predict/predict_text.h"

enum { TP_PREDICT_LINES = 2, TP_PREDICT_NOTES = 2, TP_PREDICT_TEXTS = 6 };

/* A chart with all that it points to; `chart` may be written while it lives. */
struct tp_predict_chart {
    struct tp_chart chart;
    const struct tp_predict_report *of;
    struct tp_chart_line lines[TP_PREDICT_LINES];
    struct tp_chart_point points[TP_PREDICT_LINES][TP_PREDICT_POINTS];
    struct tp_chart_level level;
    const char *notes[TP_PREDICT_NOTES];
    struct tp_str texts[TP_PREDICT_TEXTS];
};

/* TP_EINPUT: there is no prediction, or only of totals, so that there are no points. To be asked
 * before anything is drawn. */
int tp_predict_chart_check(const struct tp_predict_report *r, struct tp_err *err);

/* The caller drops `out` in every case, and does not move it. */
int tp_predict_chart_make(const struct tp_predict_report *r, struct tp_predict_chart *out,
                          struct tp_err *err);
void tp_predict_chart_drop(struct tp_predict_chart *c);

/* The page of `tapool predict`. Its data is the document of --json. */

struct tp_predict_page {
    const struct tp_predict_report *report;
    bool exact;         /* sizes are shown in bytes */
    char *const *words; /* the recordings as they were named */
    size_t word_count;
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* Writes the page of a struct tp_predict_page. TP_EINPUT: as tp_predict_chart_check. TP_ENOMEM: a
 * part is missing. */
int tp_predict_page(const void *of, FILE *out, struct tp_err *err);

#endif
