/* What an answer does not know: requests of an unknown law, values that the program may round up,
 * what came before the steps, and memory that the recordings keep in another order. */
#ifndef TP_PREDICT_DOUBTS_H
#define TP_PREDICT_DOUBTS_H

#include "cmd/predict/predict.h"

/* Whether two figures are more than TP_PREDICT_DOUBT of the first apart. */
bool tp_predict_is_far(uint64_t figure, uint64_t other);

/* Whether requests that only the base has make so much of the peak that it is another program. */
bool tp_predict_is_of_base(const struct tp_predict_peak *peak);

/* The peak at a value. `peak` is to be released in every case. TP_EINPUT: larger than any device.
 */
int tp_predict_find_requested(const struct tp_prediction *p, uint64_t n,
                              struct tp_predict_peak *peak, struct tp_err *err);

/* What doubtful requests make of that peak at most. */
int tp_predict_find_most(const struct tp_prediction *p, uint64_t n,
                         const struct tp_predict_peak *peak, struct tp_predict_most *out,
                         struct tp_err *err);

/* Both of them. */
int tp_predict_find_peak(const struct tp_prediction *p, uint64_t n, struct tp_predict_peak *peak,
                         struct tp_predict_most *most, struct tp_err *err);

/* Set `padding` and `before` of an answer whose peak at `n` is of so many bytes. */
int tp_predict_find_padding(uint64_t n, uint64_t peak, struct tp_predict_answer *a,
                            struct tp_err *err);
void tp_predict_find_before(const struct tp_predict_asking *q, uint64_t n, uint64_t peak,
                            struct tp_predict_answer *a);

/* Sets `fewest`, too: below the base. */
int tp_predict_find_fewest(uint64_t n, uint64_t peak, struct tp_predict_answer *a,
                           struct tp_err *err);

/* Makes recordings again from the base, and sets `redone` to one that differs, or to the one most
 * like the base. `n` is the value of the answer. */
int tp_predict_redo(struct tp_predict_answer *a, uint64_t n, struct tp_err *err);

#endif
