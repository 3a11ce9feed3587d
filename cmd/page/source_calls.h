/* The section on the calls to the source: how often a policy asked the system or the driver for
 * memory, and how often it gave some back. assets/calls.js draws both over time. */
#ifndef TP_SOURCE_CALLS_H
#define TP_SOURCE_CALLS_H

#include "cmd/results/result.h"

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
