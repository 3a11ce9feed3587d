/* Conditions of --fail-on, as text:
 *
 *     oom                        an allocation failed
 *     failed_allocations>0       a value; sizes and times with their unit: peak_reserved>=8GiB
 *     peak_reserved>+2%          against the base: so much more; ns_per_op<-10%: so much less
 *     peak_reserved>+1MiB        the same, in bytes
 *
 * Metrics by their names (metrics.h), any case; > >= < <=. A share is written 20% or 0.2. */
#ifndef TP_CONDITION_H
#define TP_CONDITION_H

#include "cmd/measure/record.h"

struct tp_condition {
    const char *text;               /* as given; borrowed */
    const struct tp_metric *metric; /* `oom`: failed_allocations */
    bool less, equal;               /* < <= >= ; neither: > */
    bool relative;                  /* against the base */
    bool percent;                   /* a share of the base, else in the metric's own unit */
    double value;
};

/* TP_EUSAGE says what of it cannot be understood. */
int tp_condition_parse(const char *text, struct tp_condition *out, struct tp_err *err);

/* Whether it holds. A NAN holds nothing. `shown`: the difference from the base is one, which of a
 * class-N metric only a test can say; a relative condition holds only then. */
bool tp_condition_holds(const struct tp_condition *c, double value, double base, bool shown);

/* Those without a base, over all runs: TP_EFOUND says which run meets which. Where no run has a
 * value for one, it could never be met: TP_EUSAGE. */
int tp_conditions_check_runs(const struct tp_condition *list, size_t count,
                             const struct tp_record *runs, size_t run_count, struct tp_err *err);

#endif
