/* Parts of the JSON result that other documents have as well, under the same names. */
#ifndef TP_REPORT_JSON_H
#define TP_REPORT_JSON_H

#include "cmd/json_out.h"
#include "traces/trace.h"

void tp_json_tool(struct tp_json *j, cJSON *in);                                /* "tool" */
void tp_json_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace); /* "trace" */

#endif
