/* Live memory by allocation site over the events of a trace with one device, in bounded memory.
 *
 *     requested   . : . ' : .     points of a curve (numbers/curve.h), some thousand at most
 *     site 1      . . . ' : .     of each of these: bytes of the largest sites, of all other
 *     other       . . . . . .     blocks of the recording, and of the initial heap, which add up
 *     initial     . . . . . .     to what is requested
 *
 * The sites are the largest ones of a table of sites, under their names there. Where only a share
 * of the allocations has places, the bytes of sites are estimated as they are in that table. */
#ifndef TP_SITE_CURVE_H
#define TP_SITE_CURVE_H

#include "traces/places/sites.h"

/* Series: sites, of which there may be fewer; then these two. */
enum { TP_CURVE_SITES = 10, TP_SERIES_OTHER = TP_CURVE_SITES, TP_SERIES_INITIAL, TP_SITE_SERIES };

struct tp_site_curve_point {
    uint64_t event; /* 0: before the first event */
    uint64_t clock; /* ns since the trace began; its event where times are not known */
    uint64_t requested;
    uint64_t bytes[TP_SITE_SERIES];
};

struct tp_site_curve {
    const struct tp_sites *table; /* borrowed: names the sites */
    unsigned sites;               /* its first ones */
    uint32_t count;
    struct tp_site_curve_point points[]; /* ascending by event */
};

struct tp_curve;

/* `sites`: those of this trace by place; they must outlive the curve, which the caller frees.
 * `points`: where it has points; NULL: where its own requested bytes are highest or lowest, which
 * takes another pass over the program. In 16 bytes for each slot of that. TP_ENOMEM, or an error of
 * reading the program. */
int tp_site_curve_of(const struct tp_trace *t, const struct tp_sites *sites,
                     const struct tp_curve *points, int (*stop)(struct tp_err *err),
                     struct tp_site_curve **out, struct tp_err *err);

struct tp_captured;
struct tp_result;

/* Finds c->site_curve where c->sites are by place. What cannot be read gives none, which is no
 * error. */
void tp_site_curve_find(struct tp_captured *c, const struct tp_trace *t,
                        const struct tp_curve *points, int (*stop)(struct tp_err *err));

/* The curve of the first result of a trace that served all requests; NULL: none did. */
const struct tp_curve *tp_requested_curve(const struct tp_result *results, size_t count);

#endif
