/* What would help: the trace replayed with a purge, other settings, other libraries, and with the
 * blocks of a site in a region of their own. Each has the resident memory that it leaves at a
 * moment; what does not help is a row too. Nothing is printed here.
 *
 *     purge       at the moment the allocator gives free memory back, in a replay of the base
 *     setting     of the base's own library, those that may save memory
 *     library     others of this machine, with their defaults
 *     apart       two replays (apart.h): the blocks of the site under `arena`, all others under the
 *                 base; both together are what is left
 *
 * What a preloaded library takes before the first event counts. Known weaknesses: several threads
 * never replay twice in the same order, so figures vary by a few percent; the base and the best
 * rows are replayed twice, if there is time. A region brings 30 KiB of its own process with it. */
#ifndef TP_REMEDIES_H
#define TP_REMEDIES_H

#include "cmd/pages/page_replay.h"

enum tp_remedy_kind { TP_REMEDY_PURGE, TP_REMEDY_SETTING, TP_REMEDY_LIBRARY, TP_REMEDY_APART };

struct tp_remedy {
    enum tp_remedy_kind kind;
    /* Owned, for people: "malloc_trim(0)", "MALLOC_ARENA_MAX=1", "LD_PRELOAD=libjemalloc.so.2",
     * "own region: parse.c:40 node"; of the base its label */
    char *what;
    char *strategy;               /* owned; that was replayed, of a region the rest's */
    char library[TP_RUN_LIBRARY]; /* that served it; "": none did */
    struct tp_page_parts parts;   /* at the moment, of the last replay; of a region the rest's */
    struct tp_page_parts region;  /* of the site's blocks under `arena`; zeroed: there is none */
    uint64_t start;               /* bytes of the library before the first event */
    unsigned replays;             /* 0: it could not be replayed, see `err` */
    /* Resident bytes at the moment, with `start`: of all replays, and in the middle of them. Of a
     * purge what it gave back is taken from the base's. */
    uint64_t low, high, resident;
    struct tp_err err;
};

struct tp_remedies {
    struct tp_remedy base;  /* no remedy; `kind` means nothing */
    struct tp_remedy *rows; /* owned; the least resident first, those with an error last */
    size_t count;
    size_t left_out; /* more that there was no time for */
};

/* A site whose blocks are moved. */
struct tp_remedy_site {
    const char *name;
    const uint64_t *places; /* of all its allocations (apart.h), ascending */
    size_t count;
};

struct tp_remedies_cfg {
    const struct tp_page_job *job;
    const char *strategy;               /* the base, as tp_page_replay takes it */
    uint64_t event;                     /* the moment is after it */
    const struct tp_page_parts *parts;  /* of the base then, from a replay of the caller's */
    uint64_t start;                     /* from the same one */
    const struct tp_remedy_site *sites; /* the one that holds most first */
    size_t site_count;                  /* 0: sites are not known, or of a share of blocks only */
    uint64_t budget_ns;                 /* no further row is begun after it */
};

/* A remedy that cannot be replayed is a row with an error. Variables of mallocs that tapool was
 * started with hold for all replays. Errors are those of the base's replay, of tp_stop_asked, and
 * TP_ENOMEM. `out` must be released in every case. */
int tp_remedies_find(const struct tp_remedies_cfg *cfg, struct tp_remedies *out,
                     struct tp_err *err);
void tp_remedies_release(struct tp_remedies *r); /* a zeroed one is fine */

#endif
