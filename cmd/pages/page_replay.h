/* A host trace replayed once by the recorded threads, in a process of its own, with the pages that
 * it holds at several moments.
 *
 *     trace, strategy --> resident pass (alloc/engine/page_list.h) --> lists of pages and blocks */
#ifndef TP_PAGE_REPLAY_H
#define TP_PAGE_REPLAY_H

#include "alloc/engine/page_list.h"
#include "alloc/engine/replay_cfg.h"

struct tp_page_job {
    struct tp_program *program;
    const struct tp_touched *touched; /* what it writes of large blocks; NULL: all */
    uint64_t timeout_ns;              /* of a replay; 0: never */
    bool huge_pages;
    const volatile sig_atomic_t *interrupted;
};

struct tp_page_replay {
    char label[TP_RUN_LIBRARY]; /* of the strategy */
    char library[TP_RUN_LIBRARY];
    struct tp_page_lists lists; /* of the moments, in order; fewer where some could not be taken */
    struct tp_resident resident;
    uint64_t start; /* bytes of the library before the first event; TP_NONE: not known */
};

/* Replays it on `text` (tp_strategy_spec_named). `asked` says the moments; its file is this
 * function's. TP_EUSAGE, TP_EINPUT: the strategy cannot replay it. TP_EUNSUP: the kernel does not
 * say which pages a process holds. Others are those of tp_replay_apart. `out` must be released in
 * every case. */
int tp_page_replay(const struct tp_page_job *job, const char *text,
                   const struct tp_page_asked *asked, struct tp_page_replay *out,
                   struct tp_err *err);
void tp_page_replay_release(struct tp_page_replay *r); /* a zeroed one is fine */

/* What served it, for people. */
static inline const char *tp_page_replay_name(const struct tp_page_replay *r)
{
    return *r->library ? r->library : r->label;
}

#endif
