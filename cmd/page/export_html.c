/* --format html. The data of a page is the JSON result (tapool.result/2) with what its charts are
 * drawn from.
 *
 *     { ..., "runs": [ { ..., "page": { "devices": [ {"curve": {...}, "program": {...},
 *                                                     "recorded": {...},
 *                                                     "resident": {...},
 *                                                     "site_curve": {...}} ],
 *                                       "marks": [[event, name], ...], "trace": {...},
 *                                       "frames": {...}, "places": {...} } } ] }
 *
 * Curves are as curve_data.h says. The first run of a trace has the marks, who asked for what at
 * the points of all curves and for the blocks in all frames (places_json.h), the figures of the
 * trace itself (tp_info_parts), a curve `recorded` of what the recorded allocator reserved, where
 * that is known, and, where each strategy refused something, which is not in its curve, a curve
 * `program` without a strategy. `resident` is the course of what was resident, where that was read;
 * it is known of one device. `site_curve` is live memory by allocation site (trace_page.h). The
 * members `curve` and `site_curve` of the result, which say the same at greater length, are empty
 * or left out. Frames of the heap are as frames_json.h draws them. Where a page would be larger
 * than page_room.h says, curves have fewer points and there are fewer frames. */
#include "cmd/exports/export_text.h"
#include "cmd/exports/timeline.h"
#include "cmd/info/info.h"
#include "cmd/info/info_scan.h"
#include "cmd/page/asked.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/frames_json.h"
#include "cmd/page/html_page.h"
#include "cmd/page/replay_page.h"
#include "cmd/page/trace_page.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/report_json.h"
#include "cmd/results/site_curve.h"
#include "cmd/ui/stop.h"

#include "alloc/heapmap/frames.h"
#include "cmd/results/result.h"
#include "cmd/ui/json_out.h"

#include <stdlib.h>
#include <string.h>

/* ---- page room ---- */

/* How much of the page of a replay its charts may take: curves and frames of the heap. Where what
 * else is on the page leaves less than they are worth, it has to be cut: the page is too large. */

struct tp_page_room {
    size_t frames; /* bytes for those of each result */
    size_t points; /* of each curve, about */
};

/* `root`: the data of the page without its curves and frames; `infos`: for each result, of its
 * trace, if it is the first of it, else NULL; `articles`: bytes of the articles. Where memory runs
 * out, j remembers it. */
struct tp_page_room tp_page_room(struct tp_json *j, const cJSON *root, const struct tp_report *rep,
                                 struct tp_info *const *infos, size_t articles);

/* Bytes: of a page that is below 3 MB whatever is not counted here, of the frames of all results
 * together where there is more room, of a point of a curve that is not made yet, and of a curve
 * without points. */
enum { PAGE_MOST = 2900000, FRAMES_MOST = 1500000, POINT = 35, CURVE = 120 };

/* Charts are worth so many bytes: what else is on a page has to leave them. */
enum { CHARTS_LEAST = 500000 };

/* What curves would take. */
struct curves {
    size_t count, points, bytes;
    size_t names; /* bytes, of the places that are named at their points */
};

static size_t digits_of(uint64_t value)
{
    size_t digits = 1;
    for (; value >= 10; value /= 10)
        digits++;
    return digits;
}

/* Of a change with its sign and its comma, about. */
static size_t change_bytes(uint64_t from, uint64_t to)
{
    return digits_of(to > from ? to - from : from - to) + 1 + (to < from);
}

static void add_curve(struct curves *c, const struct tp_curve *curve)
{
    static const struct tp_curve_point start = {0};
    const struct tp_curve_point *last = &start;
    for (uint32_t i = 0; i < curve->count; last = &curve->points[i++]) {
        const struct tp_curve_point *p = &curve->points[i];
        c->bytes += change_bytes(last->event, p->event) + change_bytes(last->clock, p->clock);
        for (int v = 0; v < TP_CURVE_VALUES; v++)
            c->bytes += change_bytes(last->bytes[v], p->bytes[v]);
        for (int k = 0; k < TP_CURVE_CALLS; k++)
            c->bytes += change_bytes(last->calls[k], p->calls[k]);
    }
    c->count++;
    c->points += curve->count;
    c->bytes += CURVE;
}

static void add_course(struct curves *c, const struct tp_course *course)
{
    static const struct tp_course_point start = {0};
    const struct tp_course_point *last = &start;
    for (uint32_t i = 0; i < course->count; last = &course->points[i++]) {
        const struct tp_course_point *p = &course->points[i];
        c->bytes += change_bytes(last->event, p->event) + change_bytes(last->clock, p->clock) +
                    change_bytes(last->bytes, p->bytes);
    }
    c->count += course->count > 0;
    c->points += course->count;
    c->bytes += course->count ? CURVE : 0;
}

static size_t site_points(const struct tp_site_curve *curve)
{
    return curve->count < TP_SITE_POINTS ? curve->count : TP_SITE_POINTS;
}

static void add_site_curve(struct curves *c, const struct tp_site_curve *curve)
{
    static const struct tp_site_curve_point start = {0};
    const struct tp_site_curve_point *last = &start;
    size_t bytes = 0;
    for (uint32_t i = 0; i < curve->count; last = &curve->points[i++]) {
        const struct tp_site_curve_point *p = &curve->points[i];
        bytes += change_bytes(last->event, p->event) + change_bytes(last->clock, p->clock);
        for (int s = 0; s < TP_SITE_SERIES; s++)
            bytes += change_bytes(last->bytes[s], p->bytes[s]);
    }
    c->count++;
    c->points += site_points(curve);
    c->bytes += CURVE + (curve->count ? bytes * site_points(curve) / curve->count : 0);
}

/* Whether none of `count` results has all that the program requested of a device in its curve: each
 * one that was followed there refused something. */
static bool page_lacks_program(const struct tp_result *results, size_t count, uint32_t device)
{
    for (size_t i = 0; i < count; i++) {
        const struct tp_run *run = results[i].run;
        if (device < run->device_count && run->devices[device].curve.count &&
            !run->devices[device].failed_allocations)
            return false;
    }
    return true;
}

/* Adds the curves that the first of `count` results of a trace has beside its own. */
static void add_trace(struct curves *c, const struct tp_report *rep, const struct tp_result *r,
                      size_t count, const struct tp_info *info)
{
    for (uint32_t d = 0; d < tp_devices_shown(rep, r); d++) {
        if (page_lacks_program(r, count, d))
            add_curve(c, &info->devices[d].curve);
        if (!d && r->captured && r->captured->site_curve)
            add_site_curve(c, r->captured->site_curve);
        if (r->captured && r->captured->known) {
            c->count++;
            c->points += TP_CURVE_POINTS;
            c->bytes += (size_t)TP_CURVE_POINTS * POINT;
        }
    }
}

static struct curves count_curves(const struct tp_report *rep, struct tp_info *const *infos)
{
    struct curves c = {0};
    for (size_t i = 0; i < rep->count; i++) {
        const struct tp_result *r = &rep->results[i];
        size_t before = c.points;
        for (uint32_t d = 0; d < tp_devices_shown(rep, r); d++)
            add_curve(&c, &r->run->devices[d].curve);
        add_course(&c, &r->run->resident.course);
        if (infos[i] && r->trace->places.find)
            c.names += TP_ASKED_NAMES;
        if (infos[i])
            add_trace(&c, rep, r, tp_results_of_trace(r, rep->count - i), infos[i]);
        if (r->trace->places.find)
            c.bytes += (c.points - before) * TP_ASKED_POINT;
    }
    return c;
}

/* Bytes of the data so far, in which each '<' is written as six. */
static size_t data_bytes(struct tp_json *j, const cJSON *root)
{
    char *text = j->failed ? NULL : cJSON_PrintUnformatted(root);
    size_t bytes = 0;
    for (const char *at = text; at && *at; at++)
        bytes += *at == '<' ? 6 : 1;
    j->failed |= !text;
    free(text);
    return bytes;
}

struct tp_page_room tp_page_room(struct tp_json *j, const cJSON *root, const struct tp_report *rep,
                                 struct tp_info *const *infos, size_t articles)
{
    const struct curves c = count_curves(rep, infos);
    size_t taken = c.names + articles + data_bytes(j, root) + tp_page_asset_bytes();
    size_t left = taken + CHARTS_LEAST < PAGE_MOST ? PAGE_MOST - taken : CHARTS_LEAST;
    size_t frames = c.bytes < left / 2 ? left - c.bytes : left / 2;
    struct tp_page_room room = {.points = TP_CURVE_POINTS};
    frames = frames < FRAMES_MOST ? frames : FRAMES_MOST;
    room.frames = frames / rep->count;
    if (c.bytes > left - frames)
        room.points = (size_t)((double)(left - frames) * (double)c.points / (double)c.bytes /
                               (double)c.count);
    return room;
}

/* What a page is made of. */
struct html_export {
    struct tp_replay_page page; /* of as many results as there is room for */
    struct tp_report shown;
    struct tp_info **all_infos; /* of each result, whether it is shown or not */
    size_t *written;            /* bytes of its articles */
};

/* ---- a run ---- */

static void empty_curve(const cJSON *in)
{
    tp_curve_data_empty(cJSON_GetObjectItemCaseSensitive(in, "memory"));
}

/* Adds the members that are not for charts alone. */
static void begin_run(struct tp_json *j, cJSON *run, uint32_t shown)
{
    cJSON *devices = tp_json_array(j, tp_json_object(j, run, "page"), "devices");
    cJSON *list = cJSON_GetObjectItemCaseSensitive(run, "devices");
    empty_curve(run);
    cJSON_DeleteItemFromObjectCaseSensitive(run, "site_curve");
    uint32_t d = 0;
    for (cJSON *device = list ? list->child : NULL, *next; device; device = next, d++) {
        next = device->next;
        empty_curve(device);
        if (d >= shown)
            cJSON_Delete(cJSON_DetachItemViaPointer(list, device));
    }
    for (d = 0; d < shown; d++)
        tp_json_item(j, devices);
}

/* `first`: of its trace. */
static int write_run(struct tp_json *j, cJSON *page, const struct tp_result *r, bool first,
                     const struct tp_page_room *room, struct tp_asked *a, struct tp_err *err)
{
    cJSON *devices = cJSON_GetObjectItemCaseSensitive(page, "devices");
    cJSON *of = devices ? devices->child : NULL;
    int rc = TP_OK;
    for (uint32_t d = 0; rc == TP_OK && of; of = of->next, d++) {
        tp_curve_data(j, of, "curve", r->facts, &r->run->devices[d].curve, room->points,
                      tp_driver_calls_followed(r, d));
        if (!d && r->run->resident.course.count)
            tp_course_data(j, of, r->facts, &r->run->resident.course, room->points);
        if (first && !d && r->captured)
            tp_site_curve_data(j, of, r->facts, r->captured->site_curve,
                               room->points < TP_SITE_POINTS ? room->points : TP_SITE_POINTS);
        if (first)
            rc = tp_recorded_data(j, of, r->trace, r->captured, d, room->points, err);
        if (rc == TP_OK)
            rc = tp_asked_curves(a, of, err);
    }
    const struct tp_frames_shown shown = tp_result_frames(r);
    a->table = shown.places;
    return rc == TP_OK ? tp_json_frames(j, page, &shown, room->frames, &a->frames) : rc;
}

/* ---- what is of a trace ---- */

/* Writes what the program requested into the devices where no result has it. */
static void write_program(struct tp_json *j, const cJSON *page, const struct tp_result *r,
                          size_t count, const struct tp_info *info, size_t points)
{
    cJSON *devices = cJSON_GetObjectItemCaseSensitive(page, "devices");
    uint32_t d = 0;
    for (cJSON *in = devices ? devices->child : NULL; in; in = in->next, d++)
        if (page_lacks_program(r, count, d))
            tp_curve_data(j, in, "program", r->facts, &info->devices[d].curve, points, false);
}

/* Adds to the first run of a trace what is of the trace. */
static int write_trace(struct tp_json *j, cJSON *page, const struct tp_result *r,
                       const struct tp_info *info, struct tp_err *err)
{
    if (r->captured)
        tp_json_sites(j, page, "held_sizes", r->captured->sizes);
    tp_info_parts(
        j, page, "trace",
        &(struct tp_info_report){.trace = r->trace, .info = info, .captured = r->captured});
    return tp_marks_data(j, page, r->trace, err);
}

/* ---- the document ---- */

static bool is_first(const struct tp_report *rep, size_t i)
{
    return !i || rep->results[i].trace != rep->results[i - 1].trace;
}

/* Writes what the charts of the results of a trace are drawn from into the runs from `run` on. */
static int write_charts_of(struct tp_json *j, cJSON *run, const struct html_export *e, size_t first,
                           const struct tp_page_room *room, struct tp_err *err)
{
    const struct tp_result *results = &e->page.rep->results[first];
    size_t count = tp_results_of_trace(results, e->page.rep->count - first);
    cJSON *page = cJSON_GetObjectItemCaseSensitive(run, "page"), *of = run;
    struct tp_asked a = {0};
    int rc = TP_OK;
    write_program(j, page, results, count, e->page.infos[first], room->points);
    for (size_t i = 0; rc == TP_OK && of && i < count; of = of->next, i++)
        rc = write_run(j, cJSON_GetObjectItemCaseSensitive(of, "page"), &results[i], !i, room, &a,
                       err);
    if (rc == TP_OK)
        rc = tp_json_asked(j, page, results->trace, &a, tp_stop_asked, err);
    tp_asked_drop(&a);
    return rc;
}

/* Writes what charts are drawn from, as much of it as there is room for. */
static int write_charts(struct tp_json *j, cJSON *root, const struct html_export *e,
                        struct tp_err *err)
{
    const struct tp_report *rep = e->page.rep;
    const struct tp_page_room room = tp_page_room(j, root, rep, e->page.infos, *e->written);
    cJSON *runs = cJSON_GetObjectItemCaseSensitive(root, "runs"), *run = runs ? runs->child : NULL;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && run; run = run->next, i++)
        if (is_first(rep, i))
            rc = write_charts_of(j, run, e, i, &room, err);
    return rc;
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct html_export *e = of;
    const struct tp_report *rep = e->page.rep;
    struct tp_json j = {false};
    cJSON *root = tp_json_head(&j, rep), *runs = tp_json_array(&j, root, "runs");
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < rep->count; i++) {
        cJSON *run = tp_json_run(&j, rep, &rep->results[i]);
        tp_json_push(&j, runs, run);
        begin_run(&j, run, tp_devices_shown(rep, &rep->results[i]));
        if (is_first(rep, i))
            rc = write_trace(&j, cJSON_GetObjectItemCaseSensitive(run, "page"), &rep->results[i],
                             e->page.infos[i], err);
    }
    if (rc == TP_OK)
        rc = write_charts(&j, root, e, err);
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc;
}

/* Writes the articles, and says how many bytes they are. */
static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct html_export *e = of;
    char *text = NULL;
    FILE *memory = open_memstream(&text, e->written);
    int rc = memory ? tp_replay_articles(&e->page, memory, err) : TP_OK;
    if (!memory || (fclose(memory) && rc == TP_OK))
        rc = tp_html_no_memory(err);
    if (rc == TP_OK)
        fwrite(text, 1, *e->written, out);
    free(text);
    return rc;
}

/* Whether a page needs the curves of what the program requested. */
static bool needs_curves(const struct tp_result *r, size_t count)
{
    bool any = false;
    for (uint32_t d = 0; d < r->run->device_count; d++)
        any |= page_lacks_program(r, count, d);
    return any;
}

/* Looks through each trace once. */
static int scan_traces(const struct tp_report *r, struct tp_info **infos, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < r->count; i++)
        if (is_first(r, i))
            rc = (needs_curves(&r->results[i], tp_results_of_trace(&r->results[i], r->count - i))
                      ? tp_info_scan
                      : tp_info_scan_no_curves)(r->results[i].trace->program, &infos[i], err);
    return rc;
}

/* ---- as much as there is room for ---- */

/* A row of the page: a result on a device. */
static size_t count_rows(const struct tp_report *r)
{
    size_t rows = 0;
    for (size_t i = 0; i < r->count; i++)
        rows += r->results[i].run->device_count;
    return rows;
}

static size_t count_traces(const struct tp_report *r)
{
    size_t traces = 0;
    for (size_t i = 0; i < r->count; i++)
        traces += is_first(r, i);
    return traces;
}

/* Shows the first `most` results of a trace, and the pick of all. */
static void show_trace(struct html_export *e, size_t first, size_t count, size_t most)
{
    const struct tp_result *results = &e->page.all->results[first];
    struct tp_result *shown = e->shown.results;
    struct tp_pick pick;
    tp_report_pick(results, count, false, &pick);
    for (size_t i = 0; i < count; i++) {
        bool chosen = i < most;
        for (size_t k = 0; k < pick.count && k < TP_PICK_TIED; k++)
            chosen |= pick.chosen[k] == i;
        if (!chosen)
            continue;
        e->page.infos[e->shown.count] = i ? NULL : e->all_infos[first];
        shown[e->shown.count++] = results[i];
    }
}

/* Devices are left out before strategies are, and strategies before traces. */
static int choose_rows(void *of, size_t most, struct tp_err *err)
{
    struct html_export *e = of;
    const struct tp_report *all = e->page.all;
    if (!all->count)
        return TP_OK;
    size_t traces = count_traces(all), devices = most / all->count, each = most / traces;
    e->shown.count = 0;
    e->shown.devices = devices ? (uint32_t)devices : 1;
    if (most >= count_rows(all))
        e->shown.devices = 0;
    if (devices)
        each = all->count;
    else if (!each)
        each = 1;
    for (size_t i = 0, n, t = 0; i < all->count && t < most; i += n, t++) {
        n = tp_results_of_trace(&all->results[i], all->count - i);
        show_trace(e, i, n, each);
    }
    (void)err;
    return TP_OK;
}

static int write_room(struct html_export *e, FILE *out, struct tp_err *err)
{
    char partial[96];
    const struct tp_report *r = e->page.all;
    struct tp_html_room room = tp_html_room(count_rows(r));
    room.choose = choose_rows;
    room.of = e;
    const struct tp_html_page page = {.title = r->results->trace->meta.name,
                                      .lacks = tp_export_partial(r, partial, sizeof partial),
                                      .articles = write_articles,
                                      .data = write_data,
                                      .of = e,
                                      .room = &room};
    return tp_html_write(&page, out, err);
}

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    size_t written = 0;
    struct html_export e = {.page = {.all = r, .infos = calloc(r->count, sizeof *e.page.infos)},
                            .shown = *r,
                            .all_infos = calloc(r->count, sizeof *e.all_infos),
                            .written = &written};
    e.page.rep = &e.shown;
    e.shown.results = calloc(r->count, sizeof *e.shown.results);
    bool ready = e.page.infos && e.all_infos && e.shown.results;
    int rc = ready ? scan_traces(r, e.all_infos, err) : tp_html_no_memory(err);
    if (rc == TP_OK)
        rc = write_room(&e, out, err);
    for (size_t i = 0; e.all_infos && i < r->count; i++)
        tp_info_free(e.all_infos[i]);
    free(e.all_infos);
    free(e.page.infos);
    free(e.shown.results);
    return rc;
}

static const char about[] = "A page in one file: the Pick and its table, memory over time of all\n"
                            "strategies with the capacity and the first failed requests, a map of\n"
                            "the heap at --frames moments, live memory by site at a moment and\n"
                            "over time, fragmentation and driver calls over time, latencies, the\n"
                            "trace, and all settings. Charts over events zoom and point together.\n"
                            "It loads nothing, so it can be mailed, has light and dark colors,\n"
                            "and its tables and texts work without JavaScript. It is below 3 MB:\n"
                            "the page states how many moments of the map, devices, rows or\n"
                            "findings did not fit, and json has them.\n"
                            "The element 'data' holds the JSON result. Building tapool with html\n"
                            "needs dygraphs (libjs-dygraphs).\n"
                            "compare: each change with its 95% CI, values, memory over time,\n"
                            "rounds. check: the result, its causes, everything compared or left\n"
                            "out. info: the contents of a trace, or the differences of two. why:\n"
                            "why a GPU ran out of memory. tune: PyTorch settings that need less.";

const struct tp_exporter tp_replay_html = {
    .name = "html",
    .summary = "a page with charts in one file, for a browser",
    .about = about,
    .write = write_html,
    .check = tp_html_check,
    .frames = TP_FRAMES_MOST,
};
