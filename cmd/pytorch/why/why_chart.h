/* Memory over the recording as a picture, for pages that are read without JavaScript. */
#ifndef TP_WHY_CHART_H
#define TP_WHY_CHART_H

#include "cmd/pytorch/why/why_answer.h"

#include <stdio.h>

struct tp_chart;

/* Makes a chart of so many columns of what was reserved and live, with the moment marked, and has
 * it written; none where there are no events. The answer must have a picture. TP_ENOMEM. */
int tp_why_chart(const struct tp_why *w, uint32_t columns,
                 void (*write)(const struct tp_chart *chart, FILE *out), FILE *out,
                 struct tp_err *err);

#endif
