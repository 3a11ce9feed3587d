/* See page_room.h. */
#include "cmd/page/page_room.h"

#include "cmd/page/asked.h"
#include "cmd/page/page_assets.h"
#include "cmd/results/figures.h"

#include <stdlib.h>
#include <string.h>

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

bool tp_page_lacks_program(const struct tp_result *results, size_t count, uint32_t device)
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
        if (tp_page_lacks_program(r, count, d))
            add_curve(c, &info->devices[d].curve);
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
