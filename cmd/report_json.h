/* Parts of the JSON result that other documents have as well, under the same names. */
#ifndef TP_REPORT_JSON_H
#define TP_REPORT_JSON_H

#include "alloc/clock.h"
#include "cmd/json_out.h"
#include "traces/trace.h"

/* Each writes the member that its name says. */
void tp_json_tool(struct tp_json *j, cJSON *in);
void tp_json_machine(struct tp_json *j, cJSON *in);
void tp_json_clock(struct tp_json *j, cJSON *in, const struct tp_clock *clock);
void tp_json_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace);

#endif
