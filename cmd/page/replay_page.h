/* The sections of the page of a replay, an article for each trace. */
#ifndef TP_REPLAY_PAGE_H
#define TP_REPLAY_PAGE_H

#include "cmd/info/info_scan.h"
#include "cmd/results/result.h"

#include <stdio.h>

struct tp_replay_page {
    const struct tp_report *rep; /* what is shown */
    const struct tp_report *all; /* of which that is a part, trace by trace */
    struct tp_info **infos; /* for each result: of its trace, if it is the first of it, else NULL */
};

/* Writes the articles of a struct tp_replay_page. */
int tp_replay_articles(const void *of, FILE *out, struct tp_err *err);

/* Whether the calls of a result to its source are known over time on a device: not those of a real
 * allocator, nor of a driver's pool. */
bool tp_driver_calls_followed(const struct tp_result *r, uint32_t device);

#endif
