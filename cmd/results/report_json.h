/* The JSON result: the whole document, its parts that other documents contain under the same names,
 * and its head and runs for exports that show the same figures in another shape. */
#ifndef TP_REPORT_JSON_H
#define TP_REPORT_JSON_H

#include "alloc/base/clock.h"
#include "cmd/results/captured.h"
#include "cmd/results/result.h"
#include "cmd/ui/json_out.h"
#include "traces/places/site_groups.h"

/* Each writes the member that it is named after into `in`. */
void tp_json_machine(struct tp_json *j, cJSON *in);
void tp_json_clock(struct tp_json *j, cJSON *in, const struct tp_clock *clock);
void tp_json_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                   const struct tp_captured *captured);

/* Writes the member "trace" of a document about a host trace, shorter than that of a result. */
void tp_json_host_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace);

/* Writes the members "recorded", "peak_place" and "peak_sites" or "sites", each only if it is
 * known. */
void tp_json_captured(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                      const struct tp_captured *captured);

/* The result without its runs, and one of its runs. The caller deletes them; they are incomplete if
 * `j` has failed. */
cJSON *tp_json_head(struct tp_json *j, const struct tp_report *rep);
cJSON *tp_json_run(struct tp_json *j, const struct tp_report *rep, const struct tp_result *r);

/* Who holds the memory, as a member of JSON documents. */

/* Writes a member of this name; none where `h` is NULL. */
void tp_json_sites(struct tp_json *j, cJSON *in, const char *name, const struct tp_sites *h);

/* Writes the members of a row of lifetimes. */
struct tp_site_age;
void tp_json_site_age(struct tp_json *j, cJSON *row, const struct tp_site_age *a, bool timed);

/* Writes the member "site_curve"; none where `c` is NULL. */
void tp_json_site_curve(struct tp_json *j, cJSON *in, const struct tp_site_curve *c);

#endif
