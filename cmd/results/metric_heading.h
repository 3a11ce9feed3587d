/* Heads of columns of metrics. */
#ifndef TP_METRIC_HEADING_H
#define TP_METRIC_HEADING_H

#include "cmd/results/metrics.h"
#include "cmd/ui/table.h"

/* The head of a metric's column in words, such as "ns per", "call"; where the metric leaves open
 * who is called, `callee`. */
struct tp_column tp_metric_heading(const struct tp_metric *m, const char *callee);

#endif
