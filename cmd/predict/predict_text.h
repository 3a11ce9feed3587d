/* Prints a prediction, and writes it as JSON. */
#ifndef TP_PREDICT_TEXT_H
#define TP_PREDICT_TEXT_H

#include "cmd/predict/predict.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/table.h"

enum { TP_PREDICT_NOTE = 16 }; /* the column behind the names of rows */

/* Adds the values that are predicted: "batch = 32", "1,024". */
void tp_predict_target(const struct tp_predict_asking *q, struct tp_str *out);

/* Why there is no prediction: "the recordings do not make the same requests". */
const char *tp_predict_why(const struct tp_predict_answer *a);

/* Adds which recording would help where there is no prediction, a sentence without its stop. */
void tp_predict_advice(const struct tp_predict_report *r, struct tp_str *out);

/* Parts of the screen: what it is from, what is reserved at the value, all memory there, live
 * memory at the peak by site, of so many at most, memory by value, what fits, and how well the
 * recordings predict one another. */
void tp_predict_head_print(const struct tp_predict_report *r, struct tp_page *page);
void tp_predict_tries_print(const struct tp_predict_report *r, struct tp_page *page);
void tp_predict_memory_print(const struct tp_predict_report *r, struct tp_page *page);
void tp_predict_sites_print(const struct tp_predict_report *r, size_t most, struct tp_page *page);
void tp_predict_points_print(const struct tp_predict_report *r, struct tp_page *page);
void tp_predict_fit_print(const struct tp_predict_report *r, struct tp_page *page);
void tp_predict_checks_print(const struct tp_predict_report *r, struct tp_page *page);

/* Adds why totals of allocation sites tell nothing: "err by 23.5% in the recordings themselves". */
void tp_predict_totals_fail(const struct tp_site_totals *t, struct tp_str *out);

void tp_predict_text(const struct tp_predict_report *r, struct tp_page *page);
/* The document of --json with so many sites at most. */
cJSON *tp_predict_tree(struct tp_json *j, const struct tp_predict_report *r, size_t sites);

#endif
