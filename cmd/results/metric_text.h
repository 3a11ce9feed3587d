/* Values of metrics as text for people. */
#ifndef TP_METRIC_TEXT_H
#define TP_METRIC_TEXT_H

#include "cmd/results/metrics.h"
#include "cmd/ui/text.h"

/* A value with its unit: "131.4 MiB", "12,345", "3.2%", "14.9 ns", or "-" for NAN. `exact` writes
 * bytes in full. */
struct tp_text tp_metric_text(const struct tp_metric *m, double value, bool exact);

/* The texts of two values that are compared. Different values get different texts, with as many
 * digits as that needs: "1.04x" and "1.21x", but "1,256.342x" and "1,256.343x". */
void tp_metric_texts(const struct tp_metric *m, const double values[2], struct tp_text out[2]);

#endif
