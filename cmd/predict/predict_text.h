/* Prints a prediction, and writes it as JSON. */
#ifndef TP_PREDICT_TEXT_H
#define TP_PREDICT_TEXT_H

#include "cmd/predict/predict_answer.h"
#include "cmd/ui/text.h"

struct tp_predict_report {
    const struct tp_predict_asking *asking;
    const struct tp_predict_answer *answer;
    const char *output; /* file that the predicted trace was written to; NULL: none */
};

void tp_predict_text(const struct tp_predict_report *r, struct tp_page *page);
int tp_predict_json(const struct tp_predict_report *r, FILE *out, struct tp_err *err);

#endif
