/* What is of a trace, whoever serves it, in the data of a page: members that the views "memory" and
 * "trace" draw. */
#ifndef TP_TRACE_DATA_H
#define TP_TRACE_DATA_H

#include "alloc/numbers/curve.h"
#include "cmd/results/captured.h"
#include "cmd/ui/json_out.h"

/* Adds a curve (curve_data.h), of about `most` points at most; `calls`: with the calls to the
 * source so far. */
void tp_curve_data(struct tp_json *j, cJSON *in, const char *name,
                   const struct tp_program_facts *facts, const struct tp_curve *curve, size_t most,
                   bool calls);

/* Adds the curve `recorded` of what the recorded allocator reserved of a device; none where that is
 * not known. `c` may be NULL. TP_ENOMEM, or an error of reading the program. */
int tp_recorded_data(struct tp_json *j, cJSON *in, const struct tp_trace *t,
                     const struct tp_captured *c, uint32_t device, size_t most, struct tp_err *err);

/* Adds the list `marks` of where phases begin, [event, name]; of very many only the first, and long
 * names are cut. Errors as above. */
int tp_marks_data(struct tp_json *j, cJSON *in, const struct tp_trace *t, struct tp_err *err);

#endif
