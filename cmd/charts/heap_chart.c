/* See heap_chart.h. All stretches of a kind are one path, a stroke as wide as a line is high, with
 * dashes for its form: that takes a dozen bytes for each of them. */
#include "cmd/charts/heap_chart.h"

#include "cmd/charts/chart.h"
#include "cmd/charts/svg_parts.h"
#include "cmd/charts/ticks.h"
#include "cmd/report/report_head.h"
#include "cmd/results/figures.h"
#include "cmd/ui/escape.h"

#include <stdlib.h>
#include <string.h>

/* Pixels. */
enum {
    LEFT = 14,
    FIGURES = 150, /* from the left: what stands behind a name */
    HEAD = 84,     /* above the first heap */
    LEGEND = 68,   /* the legend's line of writing */
    SWATCH = 30,
    NAME = 24, /* from the top of a heap to its first line */
    AXIS = 40, /* below the last one */
    ROW = 17,  /* of a line of text */
    FOOT = 12,
    LETTER = 7,        /* of a text, about */
    NAME_LONGEST = 17, /* characters */
    FIGURES_MAX = 115,
    TITLE_NAME = 44
};

enum { KINDS = TP_WALK_COUNT };

/* How a kind looks. `wide` and `down` are parts of a line's height, in eighths: of the stroke, and
 * from the top of the line to its middle. */
static const struct {
    const char *name, *color, *dash;
    uint32_t wide, down;
    const char *meaning;
} looks[KINDS] = {
    [TP_WALK_LIVE] = {"live", "c0", NULL, 8, 4, "live"},
    [TP_WALK_CACHED] = {"cached", "c2", NULL, 4, 6, "cached: free for its kind"},
    [TP_WALK_SPAN] = {"free", "c1", "0 1 1 1", 8, 4, "free: for any size"},
    [TP_WALK_DEAD] = {"dead", "c4", "2 2", 3, 4, "dead until a reset"},
    [TP_WALK_INTERNAL] = {"internal", "c7", NULL, 1, 6, "internal: serves nobody"},
};

void tp_heap_chart_style(FILE *out)
{
    fputs(".tp-chart .range{stroke-width:.6}\n", out);
}

/* ---- making ---- */

/* The frame that is drawn: of the trace peak, or where a strategy did not come so far, of its first
 * failure, or its last. NULL: there is none. */
static const struct tp_frame *frame_of(const struct tp_result *r, uint32_t device)
{
    static const uint32_t reasons[] = {TP_FRAME_DEMAND, TP_FRAME_FAILED, TP_FRAME_END};
    for (size_t i = 0; r->frames && i < sizeof reasons / sizeof *reasons; i++)
        for (uint32_t k = 0; k < tp_frames_count(r->frames, device); k++)
            if (tp_frames_at(r->frames, device, k)->reasons & reasons[i])
                return tp_frames_at(r->frames, device, k);
    return NULL;
}

static void add_moment(struct tp_str *s, const struct tp_result *r, uint64_t event, uint64_t ns)
{
    if (event)
        tp_str_add(s, "after event %s of %s%s", tp_count(event).s, tp_count(r->facts->events).s,
                   ns == TP_NONE ? "" : tp_time_at(r->facts, ns).s);
    else
        tp_str_add(s, "before the first event");
}

/* "3.947 GiB in 96 ranges: 3.588 GiB live, 367.6 MiB free" */
static void say_figures(struct tp_heap_drawn *h, uint32_t device)
{
    const struct tp_frame *f = h->lines.frame;
    const struct tp_device_run *d = &h->of->run->devices[device];
    struct tp_str parts = {0};
    for (int k = 0; k < KINDS; k++)
        if (f->kinds[k])
            tp_str_item(&parts, ", ", "%s %s", tp_bytes(f->kinds[k], false).s, looks[k].name);
    if (f->page_rest)
        tp_str_item(&parts, ", ", "%s rest of pages", tp_bytes(f->page_rest, false).s);
    tp_str_add(&h->figures, "%s in %s%s%s", tp_bytes(f->reserved, false).s,
               tp_plural(f->ranges, "range").s, parts.length ? ": " : "", tp_str_text(&parts));
    if (!(f->reasons & TP_FRAME_DEMAND)) {
        tp_str_add(&h->figures, ", ");
        add_moment(&h->figures, h->of, f->event, f->time_ns);
    }
    if (d->failed_allocations)
        tp_str_add(&h->figures, "; %s refused", tp_plural(d->failed_allocations, "request").s);
    if (parts.cut)
        tp_str_fail(&h->figures);
    tp_str_drop(&parts);
}

static int add_heap(struct tp_heap_chart *c, const struct tp_result *r, uint32_t device,
                    struct tp_err *err)
{
    const struct tp_frame *frame = frame_of(r, device);
    if (!frame)
        tp_str_item(&c->undrawn, ", ", "%s", tp_result_name(r).s);
    if (!frame || c->count == TP_HEAPS) {
        c->left_out += frame != NULL;
        return TP_OK;
    }
    struct tp_heap_drawn *h = &c->heaps[c->count++];
    h->of = r;
    int status = tp_heap_lines_lay(&h->lines, r->frames, device, frame, err);
    for (int k = 0; k < KINDS; k++)
        c->kinds[k] |= frame->kinds[k] > 0;
    say_figures(h, device);
    tp_str_add(&c->description, " %s: %s.", tp_result_name(r).s, tp_str_text(&h->figures));
    return status;
}

/* Lengths can be compared from heap to heap only if all have the scale of the largest. */
static void share_scale(struct tp_heap_chart *c)
{
    uint64_t scale = 1;
    for (size_t i = 0; i < c->count; i++)
        scale = c->heaps[i].lines.scale > scale ? c->heaps[i].lines.scale : scale;
    for (size_t i = 0; i < c->count; i++)
        tp_heap_lines_rescale(&c->heaps[i].lines, scale);
}

static void say_head(struct tp_heap_chart *c, const struct tp_result *r, uint32_t device)
{
    const struct tp_demand *peak = tp_program_demand(r->trace->program, (uint16_t)device);
    const char *name = r->trace->meta.name;
    tp_str_add(&c->title, "%.*s%s: the heap at the trace peak",
               (int)tp_text_bytes(name, TITLE_NAME), name,
               tp_text_width(name) > TITLE_NAME ? "\xe2\x80\xa6" : "");
    if (r->facts->devices > 1)
        tp_str_add(&c->title, ", %s %u", tp_part_name(r->trace, "device", "memory space"), device);
    tp_str_add(&c->about, "Trace peak: %s requested, ", tp_bytes(peak->bytes, false).s);
    add_moment(&c->about, r, peak->event, peak->time_ns);
    tp_str_add(&c->about, ". All heaps share one scale.");
    tp_str_add(&c->description, "%s", tp_str_text(&c->about));
}

static int end_texts(struct tp_heap_chart *c, struct tp_err *err)
{
    struct tp_str names = c->undrawn;
    c->undrawn = (struct tp_str){0};
    if (names.length)
        tp_str_add(&c->undrawn, "Not drawn, as nothing says what lies where: %s.",
                   tp_str_text(&names));
    tp_str_item(&c->description, " ", "%s", tp_str_text(&c->undrawn));
    tp_str_drop(&names);
    int status = tp_str_status(&c->description, err);
    for (size_t i = 0; !status && i < c->count; i++)
        status = tp_str_status(&c->heaps[i].figures, err);
    return status;
}

int tp_heap_chart_make(const struct tp_result *results, size_t count, uint32_t device,
                       struct tp_heap_chart **out, struct tp_err *err)
{
    struct tp_heap_chart *c = calloc(1, sizeof *c);
    if (!c)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = TP_OK;
    say_head(c, results, device);
    for (size_t i = 0; !status && i < count; i++)
        status = add_heap(c, &results[i], device, err);
    if (!status) {
        share_scale(c);
        status = end_texts(c, err);
    }
    if (status)
        tp_heap_chart_free(c);
    else
        *out = c;
    return status;
}

void tp_heap_chart_free(struct tp_heap_chart *c)
{
    for (size_t i = 0; c && i < c->count; i++) {
        tp_heap_lines_drop(&c->heaps[i].lines);
        tp_str_drop(&c->heaps[i].figures);
    }
    if (c) {
        tp_str_drop(&c->title);
        tp_str_drop(&c->about);
        tp_str_drop(&c->description);
        tp_str_drop(&c->undrawn);
    }
    free(c);
}

void tp_heap_chart_merge(struct tp_heap_chart *c, size_t most)
{
    for (size_t i = 0; i < c->count; i++)
        tp_heap_lines_merge(&c->heaps[i].lines, most);
}

/* ---- drawing ---- */

/* Of a heap, pixels. */
static uint32_t pitch_of(const struct tp_heap_lines *l)
{
    if (l->lines <= 6)
        return 20;
    return l->lines <= 12 ? 14 : 10;
}

static uint32_t line_height(const struct tp_heap_lines *l)
{
    return pitch_of(l) - 2;
}

static uint32_t heap_height(const struct tp_heap_lines *l)
{
    return NAME + l->lines * pitch_of(l) + AXIS;
}

/* What is said below the heaps. */
static uint32_t notes_of(const struct tp_heap_chart *c, const char *notes[3])
{
    uint32_t count = 0;
    if (c->count) {
        notes[count++] = "Each frame is a range of memory, or several small ones, in the order in "
                         "which they were got.";
        notes[count++] = "Blocks too small to see are drawn together, by kind.";
    }
    if (c->undrawn.length)
        notes[count++] = tp_str_text(&c->undrawn);
    return count;
}

uint32_t tp_heap_chart_height(const struct tp_heap_chart *c)
{
    const char *notes[3];
    uint32_t height = HEAD + notes_of(c, notes) * ROW + FOOT;
    for (size_t i = 0; i < c->count; i++)
        height += heap_height(&c->heaps[i].lines);
    return height;
}

/* A heap while it is drawn. */
struct heap_pen {
    const struct tp_heap_lines *lines;
    FILE *out;
    uint32_t kind; /* stretches of others are passed over */
    uint32_t top;  /* pixels: of the first line */
    uint32_t line, x;
    bool any; /* something was written, on this line up to x */
};

/* Moves along a line are relative, to the next line absolute. */
static void write_stretch(void *ctx, const struct tp_heap_stretch *s)
{
    struct heap_pen *p = ctx;
    if (s->kind != p->kind)
        return;
    const uint32_t high = line_height(p->lines);
    uint32_t y = 10 * (p->top + s->line * pitch_of(p->lines));
    if (p->kind == KINDS) {
        fprintf(p->out, "M%s %uh%sv%uh-%sz", tp_svg_px(10 * LEFT + s->begin).s, y / 10,
                tp_svg_px(s->end - s->begin).s, high, tp_svg_px(s->end - s->begin).s);
        return;
    }
    if (p->any && p->line == s->line && s->begin >= p->x)
        fprintf(p->out, "m%s 0", tp_svg_px(s->begin - p->x).s);
    else
        fprintf(p->out, "M%s %s", tp_svg_px(10 * LEFT + s->begin).s,
                tp_svg_px(y + 10 * high * looks[p->kind].down / 8).s);
    fprintf(p->out, "h%s", tp_svg_px(s->end - s->begin).s);
    p->any = true;
    p->line = s->line;
    p->x = s->end;
}

static void begin_kind(uint32_t kind, uint32_t high, FILE *out)
{
    fprintf(out, "<path class=\"%s\" stroke-width=\"%s\"", looks[kind].color,
            tp_svg_px(10 * high * looks[kind].wide / 8).s);
    if (looks[kind].dash)
        fprintf(out, " stroke-dasharray=\"%s\"", looks[kind].dash);
    fputs(" d=\"", out);
}

static void write_axis(const struct tp_heap_lines *l, uint32_t y, FILE *out)
{
    struct tp_ticks t;
    tp_ticks_bytes(l->scale, &t);
    for (uint32_t i = 0; i < t.count; i++) {
        uint32_t x = 10 * LEFT + (uint32_t)tp_scaled(t.at[i], l->scale, TP_HEAP_WIDTH);
        bool last = x > 10 * (LEFT + TP_HEAP_WIDTH / 10 - 40);
        fprintf(out, "<path class=\"muted\" d=\"M%s %uv4\"/>\n", tp_svg_px(x).s, y);
        const char *anchored = last ? "end muted" : "middle muted";
        tp_svg_text(out, i ? anchored : "muted", x, 10 * (y + 17), t.text[i].s);
    }
}

static void write_heap(const struct tp_heap_drawn *h, uint32_t y, FILE *out)
{
    const struct tp_heap_lines *l = &h->lines;
    fprintf(out, "<g class=\"heap\">\n<text class=\"name ink\" x=\"%u\" y=\"%u\">", LEFT, y + 15);
    tp_svg_short(out, tp_result_name(h->of).s, NAME_LONGEST);
    fputs("</text>\n", out);
    fprintf(out, "<text class=\"muted\" x=\"%u\" y=\"%u\">", FIGURES, y + 15);
    tp_svg_short(out, tp_str_text(&h->figures), FIGURES_MAX);
    fputs("</text>\n", out);
    struct heap_pen pen = {.lines = l, .out = out, .top = y + NAME};
    for (pen.kind = 0; pen.kind < KINDS; pen.kind++) {
        if (!l->frame->kinds[pen.kind])
            continue;
        begin_kind(pen.kind, line_height(l), out);
        pen.any = false;
        tp_heap_lines_each(l, write_stretch, &pen);
        fputs("\"/>\n", out);
    }
    fputs("<path class=\"range muted\" d=\"", out);
    tp_heap_lines_each(l, write_stretch, &pen);
    fputs("\"/>\n", out);
    write_axis(l, y + NAME + l->lines * pitch_of(l), out);
    fputs("</g>\n", out);
}

static void write_legend(const struct tp_heap_chart *c, FILE *out)
{
    const uint32_t high = 12, top = LEGEND - 10;
    uint32_t x = LEFT;
    for (uint32_t k = 0; k < KINDS; k++) {
        if (!c->kinds[k])
            continue;
        begin_kind(k, high, out);
        fprintf(out, "M%u %sh%u\"/>\n", x, tp_svg_px(10 * top + 10 * high * looks[k].down / 8).s,
                SWATCH - 6);
        tp_svg_text(out, "ink", 10 * (x + SWATCH), 10 * LEGEND, looks[k].meaning);
        x += SWATCH + (uint32_t)strlen(looks[k].meaning) * LETTER + 24;
    }
}

void tp_heap_chart_write(const struct tp_heap_chart *c, uint32_t y, FILE *out)
{
    const uint32_t height = tp_heap_chart_height(c);
    const char *notes[3];
    uint32_t at = HEAD, count = notes_of(c, notes);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tp-chart\" role=\"img\" y=\"%u\" "
            "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
            y, TP_CHART_WIDTH, height, TP_CHART_WIDTH, height);
    tp_put(out, TP_TO_XML, "<title>%s</title>\n<desc>%s</desc>\n", tp_str_text(&c->title),
           tp_str_text(&c->description));
    tp_svg_text(out, "title ink", 10 * LEFT, 240, tp_str_text(&c->title));
    tp_svg_text(out, "muted", 10 * LEFT, 440, tp_str_text(&c->about));
    write_legend(c, out);
    for (size_t i = 0; i < c->count; i++) {
        write_heap(&c->heaps[i], at, out);
        at += heap_height(&c->heaps[i].lines);
    }
    for (uint32_t i = 0; i < count; i++)
        tp_svg_text(out, "muted", 10 * LEFT, 10 * (at + ROW * i + 10), notes[i]);
    fputs("</svg>\n", out);
}
