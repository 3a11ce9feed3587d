/* Parts of the JSON result that other documents have as well, under the same names. */
#ifndef TP_REPORT_JSON_H
#define TP_REPORT_JSON_H

#include "alloc/clock.h"
#include "cmd/captured.h"
#include "cmd/json_out.h"

/* Each writes the member that its name says. */
void tp_json_tool(struct tp_json *j, cJSON *in);
void tp_json_machine(struct tp_json *j, cJSON *in);
void tp_json_clock(struct tp_json *j, cJSON *in, const struct tp_clock *clock);
void tp_json_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace);

/* "recorded" and "peak_place"; nothing where nothing is known. */
void tp_json_captured(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                      const struct tp_captured *captured);

#endif
