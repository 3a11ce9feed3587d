/* Memory by allocation site, where recordings of a program do not make the same requests: threads,
 * hash seeds and growing tables change their order and number, and not what a site holds at the
 * peak.
 *
 *     site                 1,000     2,000     4,000   -->   a + k n   -->   16,000
 *     w.py:5 split         125 KiB   250 KiB   501 KiB                       1.96 MiB
 *
 * A site's total is a + k n^p, p 1 or 2, with the least squares of the differences and no part
 * below 0. Figures are approximate; how much is told by predicting each recording from the others.
 */
#ifndef TP_SITE_TOTALS_H
#define TP_SITE_TOTALS_H

#include "cmd/predict/predict.h"

#define TP_TOTALS_DOUBT 0.2   /* largest difference of a recording to what the others predict */
enum { TP_TOTALS_LEAST = 3 }; /* recordings, without which no difference is known */

struct tp_site_total {
    const char *place; /* owned by a recording; NULL: not known */
    uint64_t bytes;    /* predicted, live at the peak */
    uint64_t was;      /* in the largest recording, bytes */
    unsigned power;    /* of n; 0: constant */
};

struct tp_site_totals {
    struct tp_site_total *sites; /* owned; the largest first */
    size_t count;
    uint64_t bytes;    /* of all sites: peak requested */
    uint64_t *others;  /* owned: by recording, its peak as the others predict it, bytes */
    double difference; /* the largest of these to what was recorded, as a share of it */
    bool sound;        /* it is at most TP_TOTALS_DOUBT */
};

/* Predicts the peak at `n` of at least TP_TOTALS_LEAST recordings, ascending by value. `out` is to
 * be released in every case. */
int tp_site_totals_find(const struct tp_sample_run *const *recordings, size_t count, uint64_t n,
                        struct tp_site_totals *out, struct tp_err *err);
void tp_site_totals_release(struct tp_site_totals *t);

#endif
