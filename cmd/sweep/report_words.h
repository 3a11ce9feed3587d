/* Words and figures of the answers of a sweep, which the screen, the page and the pictures share.
 */
#ifndef TP_SWEEP_WORDS_H
#define TP_SWEEP_WORDS_H

#include "cmd/sweep/sweep_answers.h"
#include "cmd/ui/text.h"

#include <math.h>

#define TP_SWEEP_FRONT_TITLE "Settings that no other beats in both memory and cost"
#define TP_SWEEP_PROFILE_TITLE                                                                     \
    "Share of traces within a factor of the best setting of the trace, per strategy"
#define TP_SWEEP_EFFECTS_TITLE "Effect of each option, in the same combinations of the others"

struct tp_text tp_sweep_times(double ratio); /* "1.043x", "12.5x"; NAN: "-" */

/* "driver calls" of all traces, or "ns/op", the geometric mean. */
const char *tp_sweep_cost_name(const struct tp_metric *cost);
struct tp_text tp_sweep_cost_text(const struct tp_metric *cost, double value);

/* The worst value against the best one: 0.05 is 5 % more. */
double tp_sweep_effect_size(const struct tp_sweep_effect *e);

#endif
