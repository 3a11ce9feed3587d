/* Conditions of --fail-on, as text:
 *
 *     oom                        an allocation failed
 *     failed_allocations>0       a value; sizes and times take a unit: peak_reserved>=8GiB
 *     peak_reserved>+2%          more than 2% above the base
 *     ns_per_op<-10%             more than 10% below the base
 *     peak_reserved>+1MiB        more than 1 MiB above the base
 *
 * Names of metrics (metrics.h) are accepted in any case. The operators are > >= < <=. A share is
 * written 20% or 0.2. */
#ifndef TP_CONDITION_H
#define TP_CONDITION_H

#include "alloc/base/opt.h"
#include "cmd/results/record.h"
#include "cmd/results/result.h"

struct tp_condition {
    const char *text;               /* as given; borrowed */
    const struct tp_metric *metric; /* failed_allocations for `oom` */
    bool less, equal;               /* less: < or <=; equal: <= or >= */
    bool relative;                  /* `value` is a difference from the base */
    bool percent;                   /* `value` is a share of the base, not in the metric's unit */
    double value;
};

/* Parses one condition. TP_EUSAGE names the part that cannot be understood. */
int tp_condition_parse(const char *text, struct tp_condition *out, struct tp_err *err);

/* The same for other metrics than those of a run: `find` knows their names, and `examples` is the
 * hint for a text that is no condition. */
typedef const struct tp_metric *tp_metric_finder(const char *name, struct tp_err *err);
int tp_condition_parse_of(const char *text, tp_metric_finder *find, const char *examples,
                          struct tp_condition *out, struct tp_err *err);

/* Whether the condition holds; false if `value` is NAN. `shown`: the difference from the base is
 * real, which for a metric of class N only a statistical test can tell. A relative condition holds
 * only if `shown` is true. */
bool tp_condition_holds(const struct tp_condition *c, double value, double base, bool shown);

/* Checks the conditions that need no base on all runs. TP_EFOUND says which run meets which
 * condition. TP_EUSAGE: no run has a value for one of the conditions, so it could never hold. */
int tp_conditions_check_runs(const struct tp_condition *list, size_t count,
                             const struct tp_record *runs, size_t run_count, struct tp_err *err);

/* --fail-on of `tapool replay`: conditions on results that were just measured. The
 * results are turned into records first (record.h), so that a metric's name means the same
 * here as for stored results. */

/* Checks that all conditions can be parsed and need no base; TP_EUSAGE otherwise. */
int tp_fail_on_parse(const struct tp_opt_list *texts, struct tp_err *err);

/* Checks the conditions on all results. TP_EFOUND names the first condition that holds. */
int tp_fail_on_check(const struct tp_opt_list *texts, const struct tp_report *report,
                     struct tp_err *err);

#endif
