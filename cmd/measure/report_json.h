/* Parts of the JSON result that other documents have as well, under the same names, and the result
 * in pieces, for exports that hold the same figures in another shape. */
#ifndef TP_REPORT_JSON_H
#define TP_REPORT_JSON_H

#include "alloc/base/clock.h"
#include "cmd/measure/captured.h"
#include "cmd/measure/result.h"
#include "cmd/ui/json_out.h"

/* Each writes the member that its name says. */
void tp_json_machine(struct tp_json *j, cJSON *in);
void tp_json_clock(struct tp_json *j, cJSON *in, const struct tp_clock *clock);
void tp_json_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                   const struct tp_captured *captured);

/* "recorded" and "peak_place"; nothing where nothing is known. */
void tp_json_captured(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                      const struct tp_captured *captured);

/* The result without its runs, and one of its runs; deleted by the caller. Broken where j failed.
 */
cJSON *tp_json_head(struct tp_json *j, const struct tp_report *rep);
cJSON *tp_json_run(struct tp_json *j, const struct tp_report *rep, const struct tp_result *r);

/* tapool.result/1; schema in DESIGN's words: names are fixed. */
int tp_report_json(const struct tp_report *r, FILE *out, struct tp_err *err);

#endif
