/* Why a host program holds the memory that it holds: its trace replayed with a malloc, what its
 * resident pages consist of, and which allocation sites keep those that are partly free.
 *
 *     trace, malloc --> pages at several moments (page_replay.h)
 *                   --> the moment --> its live blocks by site (traces/places/sites.h)
 *                                  --> who holds the partly free pages (holders.h)
 *                                  --> how long blocks of each live (site_ages.h)
 *                   --> replayed once more with what would help (remedies.h) */
#ifndef TP_WHY_PAGES_H
#define TP_WHY_PAGES_H

#include "cmd/pages/holders.h"
#include "cmd/pages/page_replay.h"
#include "cmd/pages/remedies.h"
#include "cmd/ui/exporter.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"
#include "traces/places/site_ages.h"
#include "traces/places/sites.h"

enum tp_pages_when {
    TP_PAGES_AUTO, /* most memory is in free bytes of resident pages; of those moments, the first */
    TP_PAGES_PEAK, /* the trace peak */
    TP_PAGES_END,
    TP_PAGES_AT, /* an event that is given */
};

struct tp_why_pages_cfg {
    const struct tp_trace *trace;
    const char
        *malloc; /* as tp_strategy_spec_named; NULL: the recorded one, or else the C library */
    enum tp_pages_when when;
    uint64_t at; /* event, for TP_PAGES_AT */
    struct tp_sites_cfg sites;
    uint32_t frames;     /* further moments, evenly spaced over the events */
    bool over_time;      /* the screen shows all moments */
    bool exact;          /* a page has sizes in bytes */
    uint32_t theme;      /* of a picture: index of the keyword of --svg-theme */
    uint64_t timeout_ns; /* of each replay */
    uint64_t try_ns;     /* for what would help; 0: nothing is tried */
    bool huge_pages;
    const volatile sig_atomic_t *interrupted;
    int (*stop)(struct tp_err *err);
    const struct tp_opt *rows; /* the options, for the command line that makes a page again */
    const void *opts;
};

/* An allocation site, or another group of blocks. */
struct tp_page_site {
    const char *name; /* NULL: not known */
    struct tp_holder held;
    const struct tp_site_age *age; /* NULL: not known */
};

struct tp_why_pages {
    const struct tp_trace *trace; /* borrowed, as what was asked for */
    const struct tp_why_pages_cfg *cfg;
    char *strategy;          /* owned: what was replayed, as tp_strategy_spec_named reads it */
    bool recorded;           /* it is the malloc that the program had */
    enum tp_pages_when when; /* never TP_PAGES_AUTO; TP_PAGES_AT also where auto chose it */
    bool chosen;             /* auto chose it */
    struct tp_page_replay replay;
    const struct tp_page_list *list; /* of the moment; in `replay` */
    struct tp_sites *sites;          /* of the moment; NULL: nothing is known of any block */
    enum tp_sites_by by;             /* what rows are: not what was asked for where `fell_back` */
    bool fell_back;                  /* there are no call stacks: rows are size classes */
    bool timed;                      /* ages are ns, else events */
    struct tp_page_site *rows;       /* owned; the most partly free bytes first */
    size_t count;
    uint64_t partly_free, pages; /* all rows together; partly free pages */
    bool estimated;
    struct tp_site_ages *ages;   /* NULL: there are none */
    struct tp_remedies remedies; /* no base: nothing was tried */
};

/* It borrows `cfg`; `out` must be released in every case. TP_EUSAGE: there is no such event, or the
 * malloc cannot replay the trace. Others are those of tp_page_replay. */
int tp_why_pages(const struct tp_why_pages_cfg *cfg, struct tp_why_pages *out, struct tp_err *err);
void tp_why_pages_release(struct tp_why_pages *w); /* a zeroed one is fine */

/* Requested bytes of the live blocks of the moment: more than the part, where blocks were not
 * written, or lie on pages that the process had before the first event. */
uint64_t tp_why_pages_requested(const struct tp_why_pages *w);

/* Free bytes of resident pages. */
static inline uint64_t tp_page_parts_free(const struct tp_page_parts *p)
{
    return p->partly_free + p->free_pages;
}

/* The screen, and the document tapool.why-pages/1. */
void tp_why_pages_text(const struct tp_why_pages *w, struct tp_page *page);
cJSON *tp_why_pages_tree(struct tp_json *j, const struct tp_why_pages *w);
/* The page with the map of pages, and the map at the moment as a picture. */
int tp_why_pages_page(const struct tp_why_pages *w, FILE *out, struct tp_err *err);
int tp_why_pages_svg(const struct tp_why_pages *w, FILE *out, struct tp_err *err);

/* The whole way from an open trace to what was asked for, of TP_WHY_EXPORTS. */
int tp_why_pages_run(const struct tp_why_pages_cfg *cfg, const struct tp_exports *exports,
                     FILE *out, struct tp_err *err);

#endif
