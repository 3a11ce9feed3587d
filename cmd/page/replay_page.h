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

/* The section on the calls to the source: how often a policy asked the system or the driver for
 * memory, and how often it gave some back. assets/calls.js draws both over time. */

/* Whether the calls of any of the results are known over time. */
bool tp_source_calls_known(const struct tp_result *results, size_t count);

/* Whether those of a result on a device are: not those of a real allocator, nor of a driver's pool.
 */
bool tp_source_calls_followed(const struct tp_result *r, uint32_t device);

/* Writes what the section shows, a table with a row for each result and device whose calls are
 * known, and which of them made none. TP_ENOMEM. */
int tp_source_calls_write(const struct tp_report *rep, const struct tp_result *results,
                          size_t count, FILE *out, struct tp_err *err);

#endif
