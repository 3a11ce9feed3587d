/* The answer of a prediction: memory at a value, how well the recordings predict one another, and
 * the largest value that fits. */
#ifndef TP_PREDICT_ANSWER_H
#define TP_PREDICT_ANSWER_H

#include "cmd/predict/predict.h"

/* `out` is to be released in every case. TP_EUNSUP: as tp_predict_make. */
int tp_predict_ask(const struct tp_predict_asking *asking, struct tp_predict_answer *out,
                   struct tp_err *err);

/* Chooses the values of the curve, from the smallest recording to what is asked; their memory is
 * not known yet. */
void tp_predict_values(const struct tp_predict_asking *asking, struct tp_predict_answer *a);
void tp_predict_answer_release(struct tp_predict_answer *a);

#endif
