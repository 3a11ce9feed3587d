/* Which allocation sites grew from one trace to another: at the trace peak of each, and in the
 * phases that both have, each at its own peak in the phase.
 *
 * A phase is in both if its name is. Of the phases whose peak differs most, up to
 * TP_PHASE_LOOKED_AT, the site that differs most in it is looked up, which takes a pass over each
 * trace. */
#ifndef TP_PAIR_GROWTH_H
#define TP_PAIR_GROWTH_H

#include "cmd/info/named_sites.h"
#include "cmd/info/trace_pair.h"

enum { TP_PHASE_LOOKED_AT = 5 };

/* A phase of both traces. Bytes are requested. */
struct tp_phase_growth {
    const char *name;       /* owned by the first trace */
    uint64_t peak[2];       /* most live bytes in it */
    uint64_t peak_event[2]; /* where that is reached */
    bool looked;            /* the members below are set */
    char *site;             /* owned: that differs most; NULL: none is known */
    enum tp_site_kind kind; /* of it */
    uint64_t bytes[2];      /* of it */
};

struct tp_pair_growth {
    enum tp_sites_by by;
    struct tp_named_sites sites[2];
    struct tp_site_rows rows;
    struct tp_phase_growth *phases; /* owned; the most growth first, then by name */
    size_t phase_count, phase_room;
    uint64_t phases_of[2]; /* distinct names of phases of each trace */
};

struct tp_growth_cfg {
    enum tp_sites_by by;
    unsigned depth; /* as in struct tp_sites_cfg */
    int (*stop)(struct tp_err *err);
};

/* `out` must be released in every case, and before the pair. TP_EINPUT: a trace does not say who
 * holds its memory, or is of several devices. */
int tp_pair_growth_find(const struct tp_trace_pair *pair, const struct tp_growth_cfg *cfg,
                        struct tp_pair_growth *out, struct tp_err *err);
void tp_pair_growth_release(struct tp_pair_growth *g); /* a zeroed one is fine */

#endif
