/* See predict_chart.h. */
#include "cmd/predict/predict_chart.h"

#include "alloc/base/units.h"
#include "cmd/ui/text.h"

enum { REQUESTED, RESERVED };

/* Of the chart. */
enum { TITLE, ABOUT, DESCRIPTION, LEVEL, FIT, DOUBT };

int tp_predict_chart_check(const struct tp_predict_report *r, struct tp_err *err)
{
    return r->answer->point_count
               ? TP_OK
               : tp_fail(err, TP_EINPUT, "no curve to draw: there is no prediction");
}

/* ---- lines ---- */

static void add_line(struct tp_predict_chart *c, int line, enum tp_chart_kind kind,
                     const char *name)
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
static void add_lines(struct tp_predict_chart *c)
{
    const struct tp_predict_answer *a = c->of->answer;
    add_line(c, REQUESTED, TP_CHART_REQUESTED, "requested");
    add_line(c, RESERVED, TP_CHART_STRATEGY, "reserved");
    c->chart.across_most = a->points[a->point_count - 1].n;
}

/* A device that is far larger than all that is drawn would press the lines down to the axis. */
static void add_capacity(struct tp_predict_chart *c)
{
    const struct tp_predict_fit *f = &c->of->answer->fit;
    if (!f->capacity)
        return;
    struct tp_text capacity = tp_bytes(f->capacity, false);
    if (f->fits && f->fails)
        tp_str_add(&c->texts[FIT], "Largest value without OOM at %s: %s. First OOM: %s.",
                   capacity.s, tp_count(f->fits).s, tp_count(f->fails).s);
    else
        tp_str_add(&c->texts[FIT], f->fits ? "All values fit %s." : "No value fits %s.",
                   capacity.s);
    if (f->capacity / 3 * 2 > tp_chart_top(&c->chart))
        return;
    tp_str_add(&c->texts[LEVEL], "Device %s", capacity.s);
    c->level.bytes = f->capacity;
    c->chart.level_count = 1;
}

/* ---- texts ---- */

static void add_title(struct tp_predict_chart *c)
{
    const struct tp_predict_asking *q = c->of->asking;
    char *const *axes = q->recordings[0]->axes;
    const char *axis = axes[q->axis] ? axes[q->axis] : "value";
    c->chart.across_name = axis;
    tp_str_add(&c->texts[TITLE], "Peak memory by %s", axis);
    for (size_t i = 0, others = 0; i < q->target.count; i++)
        if (i != q->axis)
            tp_str_add(&c->texts[TITLE], "%s%s = %s", others++ ? ", " : " at ", axes[i],
                       tp_count(q->target.values[i]).s);
}

static void add_about(struct tp_predict_chart *c)
{
    struct tp_str from = {0};
    tp_predict_sources(c->of->asking, &from);
    tp_str_add(&c->texts[ABOUT], "Large dots: recorded. Predicted from %s.", tp_str_text(&from));
    tp_str_drop(&from);
}

/* Requests of an unknown law, which are drawn as if they grew with the setting. */
static void add_doubt(struct tp_predict_chart *c)
{
    const struct tp_prediction *p = &c->of->answer->prediction;
    if (c->of->totals)
        tp_str_add(&c->texts[DOUBT], "By totals of allocation sites, approximate.");
    else if (tp_predict_has_doubts(p))
        tp_str_add(&c->texts[DOUBT], "%s of unknown law: assumed to grow with the value.",
                   tp_plural(p->doubtful.requests + p->lawless.requests, "request").s);
}

static void add_description(struct tp_predict_chart *c)
{
    const struct tp_predict_answer *a = c->of->answer;
    tp_str_add(&c->texts[DESCRIPTION], "%s", tp_str_text(&c->texts[ABOUT]));
    for (size_t i = 0; i < a->point_count; i++) {
        const struct tp_predict_point *p = &a->points[i];
        tp_str_add(&c->texts[DESCRIPTION], " %s: requested %s", tp_count(p->n).s,
                   p->requested == TP_NONE ? "too much" : tp_bytes(p->requested, false).s);
        if (p->reserved != TP_NONE)
            tp_str_add(&c->texts[DESCRIPTION], ", reserved %s", tp_bytes(p->reserved, false).s);
        tp_str_add(&c->texts[DESCRIPTION], ".");
    }
    tp_str_item(&c->texts[DESCRIPTION], " ", "%s", tp_str_text(&c->texts[FIT]));
}

static void add_note(struct tp_predict_chart *c, struct tp_str *text)
{
    if (text->length)
        c->notes[c->chart.note_count++] = tp_str_text(text);
}

/* ---- the whole ---- */

/* Lets the chart point to its texts, which stay where they are from now on. */
static int finish(struct tp_predict_chart *c, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < TP_PREDICT_TEXTS; i++)
        rc = tp_str_status(&c->texts[i], err);
    add_note(c, &c->texts[FIT]);
    add_note(c, &c->texts[DOUBT]);
    c->level.name = tp_str_text(&c->texts[LEVEL]);
    c->chart.title = tp_str_text(&c->texts[TITLE]);
    c->chart.about = tp_str_text(&c->texts[ABOUT]);
    c->chart.description = tp_str_text(&c->texts[DESCRIPTION]);
    return rc;
}

int tp_predict_chart_make(const struct tp_predict_report *r, struct tp_predict_chart *out,
                          struct tp_err *err)
{
    *out = (struct tp_predict_chart){.of = r};
    out->chart.lines = out->lines;
    out->chart.levels = &out->level;
    out->chart.notes = out->notes;
    add_title(out);
    add_about(out);
    add_lines(out);
    add_capacity(out);
    add_doubt(out);
    add_description(out);
    return finish(out, err);
}

void tp_predict_chart_drop(struct tp_predict_chart *c)
{
    for (size_t i = 0; i < TP_PREDICT_TEXTS; i++)
        tp_str_drop(&c->texts[i]);
}
