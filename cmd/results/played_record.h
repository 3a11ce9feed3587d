/* Makes the record of a run that was just played. Its values are the same as those read from a
 * stored result, so that the name of a metric means the same for both. */
#ifndef TP_PLAYED_RECORD_H
#define TP_PLAYED_RECORD_H

#include "cmd/results/record.h"
#include "cmd/results/result.h"

/* Fills the names and values of the record and no other members. The caller releases it with
 * tp_record_release. TP_ENOMEM. */
int tp_record_of(const struct tp_result *r, struct tp_record *out, struct tp_err *err);

#endif
