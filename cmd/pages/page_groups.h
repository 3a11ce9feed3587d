/* To which group the live blocks of a host trace belong at a moment: an allocation site, or what
 * else is asked for. */
#ifndef TP_PAGE_GROUPS_H
#define TP_PAGE_GROUPS_H

#include "cmd/pages/holders.h"
#include "traces/places/sites.h"

struct tp_page_groups {
    struct tp_sites *sites;     /* owned: the groups; NULL: nothing is known of any block */
    struct tp_held_slot *slots; /* owned: by slot of the program */
    enum tp_sites_by by;        /* what groups are: not what was asked for where `fell_back` */
    bool fell_back;             /* there are no call stacks: groups are size classes */
    bool timed;                 /* ages are ns, else events */
};

/* How many groups there are. */
static inline uint32_t tp_page_groups_count(const struct tp_page_groups *g)
{
    return g->sites ? (uint32_t)g->sites->group_count : 0;
}

/* The groups after `event`, as cfg->by and cfg->depth say. `out` must be released in every case. */
int tp_page_groups_find(const struct tp_trace *trace, uint64_t event,
                        const struct tp_sites_cfg *cfg, int (*stop)(struct tp_err *err),
                        struct tp_page_groups *out, struct tp_err *err);
void tp_page_groups_release(struct tp_page_groups *g); /* a zeroed one is fine */

#endif
