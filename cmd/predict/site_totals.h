/* Memory by allocation site, where recordings of a program do not make the same requests: threads,
 * hash seeds and growing tables change their order and number, and not what a site holds at the
 * peak.
 *
 *     site                 1,000     2,000     4,000   -->   a + k n   -->   16,000
 *     w.py:5 split         125 KiB   250 KiB   501 KiB                       1.96 MiB
 *
 * A site's total is a + k n^p, p 1 or 2, with the least squares of the differences; a is below 0
 * only where that is exact. Figures are approximate; how much is told by predicting each recording
 * from the others.
 */
#ifndef TP_SITE_TOTALS_H
#define TP_SITE_TOTALS_H

#include "cmd/predict/predict.h"

/* Predicts the peak at `n` of at least TP_TOTALS_LEAST recordings, ascending by value. `out` is to
 * be released in every case. */
int tp_site_totals_find(const struct tp_sample_run *const *recordings, size_t count, uint64_t n,
                        struct tp_site_totals *out, struct tp_err *err);
void tp_site_totals_release(struct tp_site_totals *t);

#endif
