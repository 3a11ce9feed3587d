/* The record of a run that was just played: as it would be read from the file of its result, value
 * by value, so that a name means the same everywhere. */
#ifndef TP_PLAYED_RECORD_H
#define TP_PLAYED_RECORD_H

#include "cmd/measure/record.h"
#include "cmd/measure/result.h"

/* Names and values: of its other members none. To be given back by tp_record_release. */
int tp_record_of(const struct tp_result *r, struct tp_record *out, struct tp_err *err);

#endif
