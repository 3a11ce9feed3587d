/* How long blocks live, by the names of site_groups.h: which allocation sites make long-lived
 * blocks among short-lived ones, and which only grow.
 *
 *     site      objects   median   live   oldest
 *     parse      81,022   310 us      0
 *     intern      4,310    2.1 s  4,102    2.9 s   only grows
 *
 * A realloc ends one object and begins another, of the site that called it. The median lifetime is
 * that of all objects up to the moment. A block that is live then counts with its age, and so its
 * site's median is a lower bound. Blocks of the initial heap are among the live ones, and nowhere
 * else: what they have lived is not known.
 *
 * Where only a share of the allocations has places, rows are of the objects that have one, and
 * bytes are estimated: the live ones as in site_groups.h; of those allocated an object that has its
 * place by chance counts `every` times. Small objects without a place are in no row then. */
#ifndef TP_SITE_AGES_H
#define TP_SITE_AGES_H

#include "traces/places/site_groups.h"
#include "traces/trace.h"

enum { TP_AGE_MOMENTS = 16 };
#define TP_AGE_NONE UINT64_MAX

struct tp_site_age {
    const char *name;        /* NULL: all objects without a name */
    uint64_t objects, bytes; /* allocated up to the moment */
    /* within 3.2% (histogram.h) where a site has hundreds of objects, else exact; TP_AGE_NONE: it
     * has none */
    uint64_t median;
    uint64_t live, live_bytes; /* blocks, and bytes requested */
    uint64_t freed;            /* bytes of these that the trace frees behind the moment */
    uint64_t oldest; /* age of a live block; TP_AGE_NONE: none is live whose age is known */
    bool grows;      /* tp_only_grows */
};

struct tp_site_ages {
    struct tp_texts names;    /* owned */
    struct tp_site_age *rows; /* owned; the most live bytes first, then the most allocated ones */
    size_t count;
    struct tp_place_sampling sampling;
    enum tp_sites_by by;
    uint64_t at; /* this and `depth` as asked for */
    unsigned depth;
    bool timed;     /* lifetimes are nanoseconds, else events */
    bool estimated; /* the rows' bytes are */
};

/* Whether live bytes after evenly spaced events, the last one at the moment, only grow, as those of
 * a leak: they never fall by more than 1/16 below an earlier value, rise in 6 of the last 8 steps,
 * and rise by 1/8 of the last value in these. Startup data does not, nor a cache that is full
 * before the last quarter, nor what is freed from time to time. Known weakness: memory that a
 * program builds up to the moment does; `freed` tells it from a leak. */
bool tp_only_grows(const uint64_t live[TP_AGE_MOMENTS]);

/* The allocations of a name, up to the moment and without those of the initial heap. */
struct tp_site_events {
    const char *name; /* the caller's */
    uint64_t *events; /* owned, ascending */
    size_t count, room;
};
void tp_site_events_release(struct tp_site_events *e); /* a zeroed one is fine */

/* Finds the rows of a device, one for each name. *out is NULL where no object has a name, and for
 * TP_BY_AGE. Fills `wanted`, of which there may be none. In 32 bytes for each slot of the program,
 * and at most 40 for each object. TP_ENOMEM, or an error of reading the program or its places, or
 * of `stop`. */
int tp_site_ages_find(const struct tp_trace *t, uint16_t device, const struct tp_sites_cfg *cfg,
                      struct tp_site_events *wanted, size_t wanted_count,
                      int (*stop)(struct tp_err *err), struct tp_site_ages **out,
                      struct tp_err *err);
void tp_site_ages_free(struct tp_site_ages *a); /* NULL is fine */

/* The row of a name, or without one (NULL). NULL: there is none. */
const struct tp_site_age *tp_site_age_of(const struct tp_site_ages *a, const char *name);

#endif
