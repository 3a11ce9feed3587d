/* Prints a prediction, and writes it as JSON. */
#ifndef TP_PREDICT_TEXT_H
#define TP_PREDICT_TEXT_H

#include "cmd/predict/predict_answer.h"
#include "cmd/predict/site_totals.h"
#include "cmd/ui/text.h"

struct tp_predict_report {
    const struct tp_predict_asking *asking;
    const struct tp_predict_answer *answer;
    const struct tp_site_totals *totals; /* they were tried; they answer where they are sound */
    const char *output; /* file that the predicted trace was written to; NULL: none */
};

/* Adds which recording would help where there is no prediction, a sentence without its stop. */
void tp_predict_advice(const struct tp_predict_asking *q, struct tp_str *out);

void tp_predict_text(const struct tp_predict_report *r, struct tp_page *page);
int tp_predict_json(const struct tp_predict_report *r, FILE *out, struct tp_err *err);

#endif
