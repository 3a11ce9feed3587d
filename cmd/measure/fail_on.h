/* --fail-on of `tapool replay`: conditions (condition.h) on results that were just measured. They
 * are asked of their records (played_record.h), so that a name means the same everywhere. */
#ifndef TP_FAIL_ON_H
#define TP_FAIL_ON_H

#include "alloc/base/opt.h"
#include "cmd/measure/result.h"

/* Whether all of them can be understood and need no base: TP_EUSAGE. */
int tp_fail_on_parse(const struct tp_opt_list *texts, struct tp_err *err);

/* TP_EFOUND says what was met first. */
int tp_fail_on_check(const struct tp_opt_list *texts, const struct tp_report *report,
                     struct tp_err *err);

#endif
