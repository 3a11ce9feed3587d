/* --format html. The data of a page is the JSON result (tapool.result/1) with what its charts are
 * drawn from.
 *
 *     { ..., "runs": [ { ..., "page": { "devices": [ {"curve": {...}, "program": {...},
 *                                                     "recorded": {...}} ],
 *                                       "marks": [[event, name], ...], "trace": {...},
 *                                       "frames": {...} } } ] }
 *
 * Curves are as curve_data.h says. The first run of a trace has the marks, the figures of the
 * trace itself (tp_info_parts), a curve `recorded` of what the recorded allocator reserved, where
 * that is known, and, where each strategy refused something, which is not in its curve, a curve
 * `program` without a strategy. The member `curve` of the result, which says the same at greater
 * length, is empty. Frames of the heap are as frames_json.h draws them. */
#include "cmd/measure/exporter.h"
#include "cmd/measure/figures.h"
#include "cmd/measure/frames_json.h"
#include "cmd/measure/holders_json.h"
#include "cmd/measure/info_scan.h"
#include "cmd/measure/report_json.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/html_page.h"
#include "cmd/page/replay_page.h"
#include "cmd/page/source_calls.h"
#include "cmd/page/trace_data.h"
#include "cmd/report/export_text.h"
#include "cmd/report/info.h"
#include "cmd/report/timeline.h"

#include "alloc/engine/frames.h"

#include <stdlib.h>
#include <string.h>

/* Bytes for the frames of all results together, so that a page stays below 3 MB. */
enum { FRAMES_BYTES = 1500000 };

/* ---- a run ---- */

static void empty_curve(const cJSON *in)
{
    tp_curve_data_empty(cJSON_GetObjectItemCaseSensitive(in, "memory"));
}

/* `first`: of its trace. */
static int write_run(struct tp_json *j, cJSON *run, const struct tp_result *r, bool first,
                     size_t frames_most, struct tp_err *err)
{
    cJSON *page = tp_json_object(j, run, "page");
    cJSON *devices = tp_json_array(j, page, "devices");
    cJSON *device = NULL;
    int rc = TP_OK;
    empty_curve(run);
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(run, "devices"))
        empty_curve(device);
    for (uint32_t d = 0; rc == TP_OK && d < r->run->device_count; d++) {
        cJSON *of = tp_json_item(j, devices);
        tp_curve_data(j, of, "curve", r->facts, &r->run->devices[d].curve,
                      tp_source_calls_followed(r, d));
        if (first)
            rc = tp_recorded_data(j, of, r->trace, r->captured, d, err);
    }
    const struct tp_frames_shown shown = tp_result_frames(r);
    return rc == TP_OK ? tp_json_frames(j, page, &shown, frames_most) : rc;
}

/* ---- what is of a trace ---- */

/* Whether each of the results that were followed on a device refused something. */
static bool all_failed(const struct tp_result *r, size_t count, uint32_t device)
{
    for (size_t i = 0; i < count; i++)
        if (device < r[i].run->device_count && r[i].run->devices[device].curve.count &&
            !r[i].run->devices[device].failed_allocations)
            return false;
    return true;
}

/* Writes what the program requested into the devices where no result has it. */
static void write_program(struct tp_json *j, const cJSON *devices, const struct tp_result *r,
                          size_t count, const struct tp_info *info)
{
    uint32_t d = 0;
    for (cJSON *in = devices ? devices->child : NULL; in; in = in->next, d++)
        if (all_failed(r, count, d))
            tp_curve_data(j, in, "program", r->facts, &info->devices[d].curve, false);
}

/* Adds to the first run of a trace, which has `count` results, what is of the trace. */
static int write_trace(struct tp_json *j, const cJSON *run, const struct tp_result *r, size_t count,
                       const struct tp_info *info, struct tp_err *err)
{
    cJSON *page = cJSON_GetObjectItemCaseSensitive(run, "page");
    write_program(j, cJSON_GetObjectItemCaseSensitive(page, "devices"), r, count, info);
    if (r->captured)
        tp_json_holders(j, page, "held_sizes", r->captured->sizes);
    tp_info_parts(j, page, "trace", &(struct tp_info_report){r->trace, info, r->captured});
    return tp_marks_data(j, page, r->trace, err);
}

/* ---- the document ---- */

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_replay_page *p = of;
    const struct tp_report *rep = p->rep;
    struct tp_json j = {false};
    cJSON *root = tp_json_head(&j, rep), *runs = tp_json_array(&j, root, "runs");
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < rep->count; i++) {
        cJSON *run = tp_json_run(&j, rep, &rep->results[i]);
        tp_json_push(&j, runs, run);
        const struct tp_result *r = &rep->results[i];
        bool first = !i || r->trace != r[-1].trace;
        rc = write_run(&j, run, r, first, FRAMES_BYTES / rep->count, err);
        if (rc == TP_OK && first)
            rc = write_trace(&j, run, r, tp_results_of_trace(r, rep->count - i), p->infos[i], err);
    }
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc;
}

/* Looks through each trace once. */
static int scan_traces(const struct tp_report *r, struct tp_info **infos, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < r->count; i++)
        if (!i || r->results[i].trace != r->results[i - 1].trace)
            rc = tp_info_scan(r->results[i].trace->program, &infos[i], err);
    return rc;
}

static int write_html(const struct tp_report *r, FILE *out, struct tp_err *err)
{
    char partial[96];
    const struct tp_replay_page of = {r, calloc(r->count, sizeof *of.infos)};
    const struct tp_html_page page = {.title = r->results->trace->meta.name,
                                      .lacks = tp_export_partial(r, partial, sizeof partial),
                                      .articles = tp_replay_articles,
                                      .data = write_data,
                                      .of = &of};
    int rc = of.infos ? scan_traces(r, of.infos, err) : tp_html_no_memory(err);
    if (rc == TP_OK)
        rc = tp_html_write(&page, out, err);
    for (size_t i = 0; of.infos && i < r->count; i++)
        tp_info_free(of.infos[i]);
    free(of.infos);
    return rc;
}

static int check_html(const struct tp_report *r, struct tp_err *err)
{
    (void)r;
    return tp_html_check(err);
}

const struct tp_exporter tp_exporter_html = {
    .name = "html",
    .suffix = ".html",
    .summary = "a page with charts in one file, for a browser",
    .write = write_html,
    .check = check_html,
    .frames = TP_FRAMES_MOST,
};
