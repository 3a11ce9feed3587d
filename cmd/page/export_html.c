/* --format html. The data of a page is the JSON result (tapool.result/1) with what its charts are
 * drawn from.
 *
 *     { ..., "runs": [ { ..., "page": { "devices": [ {"curve": {...}, "program": {...},
 *                                                     "recorded": {...}} ],
 *                                       "marks": [[event, name], ...], "frames": {...} } } ] }
 *
 * Curves are as curve_data.h says. The first run of a trace has the marks, a curve `recorded` of
 * what the recorded allocator reserved, where that is known, and, where each strategy refused
 * something, which is not in its curve, a curve `program` without a strategy. The member `curve` of
 * the result, which says the same at greater length, is empty. Frames of the heap are as
 * frames_json.h draws them. */
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
#include "cmd/report/export_text.h"
#include "cmd/report/timeline.h"

#include "alloc/engine/frames.h"

#include <stdlib.h>
#include <string.h>

enum { MARKS_MAX = 2000 };

/* Bytes for the frames of all results together, so that a page stays below 3 MB. */
enum { FRAMES_BYTES = 1500000 };

/* ---- curves ---- */

static void write_curve(struct tp_json *j, cJSON *in, const char *name, const struct tp_result *r,
                        const struct tp_curve *curve, bool calls)
{
    struct tp_curve_data data;
    tp_curve_data_begin(&data, j, in, name);
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct tp_curve_point *p = &curve->points[i];
        tp_curve_data_add(&data, j, p->event, r->facts->time_known ? &p->clock : NULL, p->bytes);
        if (calls)
            tp_curve_data_calls(&data, j, p->calls);
    }
}

/* What the recorded allocator reserved, where that is known. */
static int write_recorded(struct tp_json *j, cJSON *in, const struct tp_result *r, uint32_t device,
                          struct tp_err *err)
{
    const struct tp_captured *c = r->captured;
    if (!c || !c->known || device >= c->count || !c->devices[device].peak_reserved)
        return TP_OK;
    struct tp_curve *curve = calloc(1, sizeof *curve);
    if (!curve)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing a page");
    int rc = tp_captured_curve(r->trace, (uint16_t)device, curve, err);
    if (rc == TP_OK)
        write_curve(j, in, "recorded", r, curve, false);
    free(curve);
    return rc;
}

/* Empties the member `memory`.`curve`, if there is one. */
static void empty_curve(cJSON *in)
{
    cJSON *memory = cJSON_GetObjectItemCaseSensitive(in, "memory");
    cJSON *curve = cJSON_GetObjectItemCaseSensitive(memory, "curve");
    while (curve && curve->child)
        cJSON_Delete(cJSON_DetachItemViaPointer(curve, curve->child));
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
        write_curve(j, of, "curve", r, &r->run->devices[d].curve, tp_source_calls_followed(r, d));
        if (first)
            rc = write_recorded(j, of, r, d, err);
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
static int write_program(struct tp_json *j, const cJSON *devices, const struct tp_result *r,
                         size_t count, struct tp_err *err)
{
    struct tp_info *info = NULL;
    uint32_t d = 0;
    int rc = TP_OK;
    for (cJSON *in = devices ? devices->child : NULL; rc == TP_OK && in; in = in->next, d++) {
        if (!all_failed(r, count, d))
            continue;
        if (!info)
            rc = tp_info_scan(r->trace->program, &info, err);
        if (rc == TP_OK)
            write_curve(j, in, "program", r, &info->devices[d].curve, false);
    }
    tp_info_free(info);
    return rc;
}

/* Where phases begin. Only the first MARKS_MAX are written. */
static int write_marks(struct tp_json *j, cJSON *in, const struct tp_result *r, struct tp_err *err)
{
    cJSON *marks = tp_json_array(j, in, "marks");
    struct tp_phase_list phases = {0};
    int rc = tp_phase_list_find(r->trace, MARKS_MAX, &phases, err);
    for (size_t i = 0; rc == TP_OK && i < phases.count; i++) {
        if (!phases.at[i].name)
            continue;
        cJSON *mark = cJSON_CreateArray();
        tp_json_push(j, mark, tp_json_number(j, phases.at[i].event));
        tp_json_push(j, mark, cJSON_CreateString(phases.at[i].name));
        tp_json_push(j, marks, mark);
    }
    tp_phase_list_drop(&phases);
    return rc;
}

/* Adds to the first run of a trace, which has `count` results, what is of the trace. */
static int write_trace(struct tp_json *j, const cJSON *run, const struct tp_result *r, size_t count,
                       struct tp_err *err)
{
    cJSON *page = cJSON_GetObjectItemCaseSensitive(run, "page");
    int rc = write_program(j, cJSON_GetObjectItemCaseSensitive(page, "devices"), r, count, err);
    if (r->captured)
        tp_json_holders(j, page, "held_sizes", r->captured->sizes);
    return rc == TP_OK ? write_marks(j, page, r, err) : rc;
}

/* ---- the document ---- */

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *rep = of;
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
            rc = write_trace(&j, run, r, tp_results_of_trace(r, rep->count - i), err);
    }
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc;
}

static int write_html(const struct tp_report *r, FILE *out, struct tp_err *err)
{
    char partial[96];
    const struct tp_html_page page = {.title = r->results->trace->meta.name,
                                      .lacks = tp_export_partial(r, partial, sizeof partial),
                                      .articles = tp_replay_articles,
                                      .data = write_data,
                                      .of = r};
    return tp_html_write(&page, out, err);
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
