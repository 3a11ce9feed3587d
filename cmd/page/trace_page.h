/* The section "The trace" of a page: what the recorded program did, whoever serves it. */
#ifndef TP_TRACE_PAGE_H
#define TP_TRACE_PAGE_H

#include "alloc/base/opt.h"
#include "alloc/numbers/curve.h"
#include "cmd/info/info.h"
#include "cmd/results/captured.h"
#include "cmd/ui/json_out.h"

/* The row of the section: how tp_info_objects is printed, and whether it is there. The view draws
 * the data that tp_info_parts writes. */
#define TP_TRACE_SECTION(printer, is_there)                                                        \
    {                                                                                              \
        .id = "trace", .title = "Trace",                                                           \
        .view = "Sizes, lifetimes, operations, threads, streams, devices and phases, as bars",     \
        .print = printer, .there = is_there                                                        \
    }

/* What is of a trace, whoever serves it, in the data of a page: members that the views "memory" and
 * "trace" draw. */

/* Adds a curve (curve_data.h), of about `most` points at most; `calls`: with the calls to the
 * source so far. */
void tp_curve_data(struct tp_json *j, cJSON *in, const char *name,
                   const struct tp_program_facts *facts, const struct tp_curve *curve, size_t most,
                   bool calls);

/* Adds the curve `recorded` of what the recorded allocator reserved of a device; none where that is
 * not known. `c` may be NULL. TP_ENOMEM, or an error of reading the program. */
int tp_recorded_data(struct tp_json *j, cJSON *in, const struct tp_trace *t,
                     const struct tp_captured *c, uint32_t device, size_t most, struct tp_err *err);

/* The row of the section of live memory by site over time. */
#define TP_SITE_CURVE_SECTION(is_there)                                                            \
    {                                                                                              \
        .id = "site-curve", .title = "Live memory by allocation site over time",                   \
        .view = "Live memory over time as stacked areas: the largest allocation sites, all other " \
                "blocks and the initial heap",                                                     \
        .there = is_there                                                                          \
    }

/* Points of that on a page are at most so many: areas are no wider than some thousand pixels. */
enum { TP_SITE_POINTS = 2000 };

/* Adds the object `site_curve`, of about `most` points at most; none where `c` is NULL:
 *
 *     events, ns   as of a curve
 *     names        of its series: sites, the largest first, other blocks, and the initial heap
 *     bytes        of each series a list as those of a curve */
void tp_site_curve_data(struct tp_json *j, cJSON *in, const struct tp_program_facts *facts,
                        const struct tp_site_curve *c, size_t most);

/* Adds the list `marks` of where phases begin, [event, name]; of very many only the first, and long
 * names are cut. Errors as above. */
int tp_marks_data(struct tp_json *j, cJSON *in, const struct tp_trace *t, struct tp_err *err);

/* The pages of `tapool info`: of one trace, and of two beside each other. */

/* The command line that makes a page again. */
struct tp_info_command {
    char *const *words; /* the traces: as many as the page has */
    const struct tp_opt *rows;
    const void *opts;
};

int tp_info_html(const struct tp_info_report *r, const struct tp_info_command *command, FILE *out,
                 struct tp_err *err);
int tp_info_pair_html(const struct tp_trace_pair *pair, const struct tp_info_command *command,
                      FILE *out, struct tp_err *err);

#endif
