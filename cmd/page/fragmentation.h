/* The section on fragmentation: what a policy held, when the program needed most, that the program
 * had not asked for. assets/fragmentation.js draws the same shares over time. */
#ifndef TP_FRAGMENTATION_H
#define TP_FRAGMENTATION_H

#include "cmd/results/result.h"

/* Whether any of the results was followed on a device, so that its memory is known over time. */
bool tp_fragmentation_known(const struct tp_result *results, size_t count);

/* Writes what the section shows, and a table with a row for each result and device that was
 * followed. TP_ENOMEM. */
int tp_fragmentation_write(const struct tp_report *rep, const struct tp_result *results,
                           size_t count, FILE *out, struct tp_err *err);

#endif
