/* The conformance suite on a screen: a line for each check. */
#ifndef TP_CONFORMANCE_TEXT_H
#define TP_CONFORMANCE_TEXT_H

#include "cmd/jobs/spec.h"

#include <stdio.h>

/* Plays the suite on the strategy and prints what comes of each check. TP_EBROKEN: a check failed.
 */
int tp_conformance_print(const struct tp_strategy_spec *spec, FILE *out, struct tp_err *err);

#endif
