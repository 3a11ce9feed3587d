/* Memory over the values of a setting as a picture: what the points of an answer are (`--curve`).
 */
#ifndef TP_PREDICT_CHART_H
#define TP_PREDICT_CHART_H

#include "cmd/predict/predict_text.h"

/* TP_EINPUT: there is no prediction, or only of totals, so that there are no points. To be asked
 * before anything is drawn. */
int tp_predict_chart_check(const struct tp_predict_report *r, struct tp_err *err);

/* Writes a file; `theme`: index of the keyword of --svg-theme. */
int tp_predict_svg(const struct tp_predict_report *r, uint32_t theme, FILE *out,
                   struct tp_err *err);

/* Writes the same with its styles into a page. */
int tp_predict_chart_html(const struct tp_predict_report *r, FILE *out, struct tp_err *err);

#endif
