/* --fail-on of `tapool replay`: conditions (condition.h) on results that were just measured. The
 * results are turned into records first (record.h), so that a metric's name means the same
 * here as for stored results. */
#ifndef TP_FAIL_ON_H
#define TP_FAIL_ON_H

#include "alloc/base/opt.h"
#include "cmd/results/result.h"

/* Checks that all conditions can be parsed and need no base; TP_EUSAGE otherwise. */
int tp_fail_on_parse(const struct tp_opt_list *texts, struct tp_err *err);

/* Checks the conditions on all results. TP_EFOUND names the first condition that holds. */
int tp_fail_on_check(const struct tp_opt_list *texts, const struct tp_report *report,
                     struct tp_err *err);

#endif
