/* The record of a run that was just played: as it would be read from the file of its result, value
 * by value, so that a name means the same everywhere. */
#ifndef TP_RECORD_H
#define TP_RECORD_H

#include "cmd/measure/result.h"
#include "cmd/measure/stored.h"

/* Names and values: of its other members none. To be given back by tp_stored_run_release. */
int tp_record_of(const struct tp_result *r, struct tp_stored_run *out, struct tp_err *err);

#endif
