/* See predict_chart.h. */
#include "cmd/predict/predict_chart.h"

#include "alloc/base/units.h"
#include "cmd/page/still_part.h"
#include "cmd/report/chart.h"
#include "cmd/report/svg_file.h"

enum { REQUESTED, RESERVED, LINES };

struct predict_chart {
    const struct tp_predict_report *of;
    struct tp_chart chart;
    struct tp_chart_line lines[LINES];
    struct tp_chart_point points[LINES][TP_PREDICT_POINTS];
    struct tp_chart_level level;
    const char *notes[2];
    struct tp_str title, about, description, level_name, fit, doubt;
};

int tp_predict_chart_check(const struct tp_predict_report *r, struct tp_err *err)
{
    return r->answer->point_count ? TP_OK
                                  : tp_fail(err, TP_EINPUT, "no curve to draw: %s",
                                            r->totals && r->totals->sound
                                                ? "only totals of allocation sites are predicted"
                                                : "there is no prediction");
}

/* ---- lines ---- */

static void add_line(struct predict_chart *c, int line, enum tp_chart_kind kind, const char *name)
{
    const struct tp_predict_answer *a = c->of->answer;
    struct tp_chart_line *to = &c->lines[c->chart.line_count];
    struct tp_chart_point *points = c->points[line];
    *to = (struct tp_chart_line){.kind = kind, .name = name, .points = points};
    for (size_t i = 0; i < a->point_count; i++) {
        const struct tp_predict_point *p = &a->points[i];
        uint64_t bytes = line == REQUESTED ? p->requested : p->reserved;
        if (bytes != TP_NONE)
            points[to->point_count++] = (struct tp_chart_point){
                p->n, bytes, line == REQUESTED && p->recorded == p->requested};
    }
    c->chart.line_count += to->point_count > 0;
}

/* What is predicted to be needed, and the value of the recorded setting. */
static void add_lines(struct predict_chart *c)
{
    const struct tp_predict_answer *a = c->of->answer;
    add_line(c, REQUESTED, TP_CHART_REQUESTED, "requested");
    add_line(c, RESERVED, TP_CHART_POLICY, "reserved");
    c->chart.across_most = a->points[a->point_count - 1].n;
}

/* A device that is far larger than all that is drawn would press the lines down to the axis. */
static void add_capacity(struct predict_chart *c)
{
    const struct tp_predict_fit *f = &c->of->answer->fit;
    if (!f->capacity)
        return;
    struct tp_text capacity = tp_bytes(f->capacity, false);
    if (f->fits && f->fails)
        tp_str_add(&c->fit, "The largest value that fits in %s: %s. First out of memory: %s.",
                   capacity.s, tp_count(f->fits).s, tp_count(f->fails).s);
    else
        tp_str_add(&c->fit, f->fits ? "All values fit in %s." : "No value fits in %s.", capacity.s);
    if (f->capacity / 3 * 2 > tp_chart_top(&c->chart))
        return;
    tp_str_add(&c->level_name, "Device %s", capacity.s);
    c->level.bytes = f->capacity;
    c->chart.level_count = 1;
}

/* ---- texts ---- */

static void add_title(struct predict_chart *c)
{
    const struct tp_predict_asking *q = c->of->asking;
    char *const *axes = q->recordings[0]->axes;
    const char *axis = axes[q->axis] ? axes[q->axis] : "value";
    c->chart.across_name = axis;
    tp_str_add(&c->title, "Peak memory by %s", axis);
    for (size_t i = 0, others = 0; i < q->target.count; i++)
        if (i != q->axis)
            tp_str_add(&c->title, "%s%s = %s", others++ ? ", " : " at ", axes[i],
                       tp_count(q->target.values[i]).s);
}

static void add_about(struct predict_chart *c)
{
    struct tp_str from = {0};
    tp_predict_sources(c->of->asking, &from);
    tp_str_add(&c->about, "Large dots: recorded. Predicted from %s.", tp_str_text(&from));
    tp_str_drop(&from);
}

/* Requests of an unknown law, which are drawn as if they grew with the setting. */
static void add_doubt(struct predict_chart *c)
{
    const struct tp_prediction *p = &c->of->answer->prediction;
    if (tp_predict_has_doubts(p))
        tp_str_add(&c->doubt, "%s of unknown law: taken to grow with the value.",
                   tp_plural(p->doubtful.requests + p->lawless.requests, "request").s);
}

static void add_description(struct predict_chart *c)
{
    const struct tp_predict_answer *a = c->of->answer;
    tp_str_add(&c->description, "%s", tp_str_text(&c->about));
    for (size_t i = 0; i < a->point_count; i++) {
        const struct tp_predict_point *p = &a->points[i];
        tp_str_add(&c->description, " %s: requested %s", tp_count(p->n).s,
                   p->requested == TP_NONE ? "too much" : tp_bytes(p->requested, false).s);
        if (p->reserved != TP_NONE)
            tp_str_add(&c->description, ", reserved %s", tp_bytes(p->reserved, false).s);
        tp_str_add(&c->description, ".");
    }
    tp_str_item(&c->description, " ", "%s", tp_str_text(&c->fit));
}

static void add_note(struct predict_chart *c, struct tp_str *text)
{
    if (text->length)
        c->notes[c->chart.note_count++] = tp_str_text(text);
}

/* ---- the whole ---- */

/* Lets the chart point to its texts, which stay where they are from now on. */
static int finish(struct predict_chart *c, struct tp_err *err)
{
    struct tp_str *const texts[] = {&c->title,      &c->about, &c->description,
                                    &c->level_name, &c->fit,   &c->doubt};
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < sizeof texts / sizeof *texts; i++)
        rc = tp_str_status(texts[i], err);
    add_note(c, &c->fit);
    add_note(c, &c->doubt);
    c->level.name = tp_str_text(&c->level_name);
    c->chart.title = tp_str_text(&c->title);
    c->chart.about = tp_str_text(&c->about);
    c->chart.description = tp_str_text(&c->description);
    return rc;
}

static int make(struct predict_chart *c, const struct tp_predict_report *r, struct tp_err *err)
{
    *c = (struct predict_chart){.of = r};
    c->chart.lines = c->lines;
    c->chart.levels = &c->level;
    c->chart.notes = c->notes;
    add_title(c);
    add_about(c);
    add_lines(c);
    add_capacity(c);
    add_doubt(c);
    add_description(c);
    return finish(c, err);
}

static void drop(struct predict_chart *c)
{
    tp_str_drop(&c->title);
    tp_str_drop(&c->about);
    tp_str_drop(&c->description);
    tp_str_drop(&c->level_name);
    tp_str_drop(&c->fit);
    tp_str_drop(&c->doubt);
}

int tp_predict_svg(const struct tp_predict_report *r, uint32_t theme, FILE *out, struct tp_err *err)
{
    struct predict_chart c;
    int rc = make(&c, r, err);
    if (rc == TP_OK) {
        uint32_t height = tp_chart_height(&c.chart);
        tp_svg_begin(theme, c.chart.title, height, out);
        tp_svg_paper(height, out);
        tp_chart_write(&c.chart, out);
        tp_svg_end(NULL, height, out);
    }
    drop(&c);
    return rc;
}

int tp_predict_chart_html(const struct tp_predict_report *r, FILE *out, struct tp_err *err)
{
    struct predict_chart c;
    int rc = make(&c, r, err);
    if (rc == TP_OK) {
        fputs("<style>\n", out);
        tp_chart_style(TP_CHART_AUTO, out);
        fputs("</style>\n", out);
        tp_still_html(&c.chart, out);
    }
    drop(&c);
    return rc;
}
