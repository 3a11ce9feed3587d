/* What allocation sites hold at the same moments of several recordings: at the peak, and where each
 * of some sites holds most. Two phases of a program may grow in different ways, and the one that is
 * small in the recordings may be the peak of a larger run.
 *
 *     live   |   load.c      /\ merge.c        moments: the peak of each recording,
 *            | __/~~~~\_____/  \___            load.c at its largest, merge.c at its largest
 */
#ifndef TP_SITE_LEDGER_H
#define TP_SITE_LEDGER_H

#include "cmd/predict/sample_run.h"

/* By site, then by recording. */
struct tp_site_holdings {
    double *bytes, *blocks; /* owned */
};

struct tp_site_ledger {
    const struct tp_sample_run *const *recordings;
    size_t recorded;                  /* recordings */
    const char **places;              /* owned; by site, the last one is NULL: of unknown places */
    size_t sites;                     /* at least one */
    struct tp_site_holdings most;     /* what a site holds at most, and in how many blocks */
    struct tp_site_holdings *moments; /* owned; the first is the peak */
    size_t moment_count;
    uint64_t *when; /* owned: as in `most`, the instruction at which a site holds most */
    uint64_t *peak; /* owned: by recording, the instruction of its peak */
    uint32_t *site; /* owned: of all places of all recordings, one after another */
    size_t *first;  /* owned: by recording, its first in `site` */
};

/* Lists the sites and what they hold at most. `out` is to be released in every case. */
int tp_site_ledger_open(const struct tp_sample_run *const *recordings, size_t count,
                        struct tp_site_ledger *out, struct tp_err *err);

/* Fills in the moments: the peak, and for each of these sites that where it holds most. */
int tp_site_ledger_look(struct tp_site_ledger *l, const size_t *sites, size_t count,
                        struct tp_err *err);
void tp_site_ledger_release(struct tp_site_ledger *l); /* a zeroed one is fine */

#endif
