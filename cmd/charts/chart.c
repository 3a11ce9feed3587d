/* See chart.h. Lines over columns are steps: a value holds until the next one. Where a column has
 * several, the line goes to the lowest and the highest of them, so no extreme is lost. Coordinates
 * are integers of tenths of a pixel: the same figures give the same bytes on every machine.
 *
 * Known weakness: how wide a text is depends on the reader's fonts. Names are cut at a width that
 * common ones fill. */
#include "cmd/charts/chart.h"

#include "cmd/charts/svg_parts.h"
#include "cmd/charts/ticks.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"

#include <assert.h>
#include <string.h>

enum {
    LEFT = 76,    /* pixels beside the axis of bytes */
    HEIGHT = 300, /* of the plot */
    HEAD = 62,    /* above the plot, without marks */
    FOOT = 50,    /* below it, without notes */
    ROW = 17,     /* of a line of text */
    RIGHT = LEFT + TP_CHART_COLUMNS,
    LEAD = 14,         /* from a line's end to its label */
    VALUE = 70,        /* from the value of a label to its name */
    CROWD = 3,         /* so many peaks that lie close together are zoomed into */
    ZOOM_HEAD = 26,    /* above the plot that zooms into a crowded band */
    ZOOM_HEIGHT = 130, /* of that plot */
    OUTSIDE = 30,      /* tenths of a pixel: beyond the edge of the plot, where nothing is seen */
    NAME_LONGEST = 19, /* characters of a name in a label */
    NOTE_LONGEST = 120 /* characters of a line of a name below the chart */
};

/* ---- colours ---- */

enum { PAPER, INK, MUTED, GRID, SHADE, FIRST_LINE, LINE_COLORS = 8 };

/* The class of each colour, and its value on a light and on a dark page. Those of texts, which are
 * all but GRID and SHADE, have a contrast of 4.5 to the paper, or more. */
static const struct {
    const char *selector, *light, *dark;
} colors[] = {[PAPER] = {".paper", "#ffffff", "#0d1117"},
              [INK] = {".ink", "#1f2328", "#f0f3f6"},
              [MUTED] = {".muted", "#59636e", "#9aa4b0"},
              [GRID] = {".grid", "#dde1e6", "#2b323b"},
              [SHADE] = {".shade", "#e8ebef", "#1d232b"},
              [FIRST_LINE] = {".c0", "#0b62c4", "#62a8ff"},
              {".c1", "#b34700", "#ff9850"},
              {".c2", "#1f7a3a", "#4cc26a"},
              {".c3", "#7a45c9", "#bb95ff"},
              {".c4", "#b8264f", "#ff7d98"},
              {".c5", "#0b7285", "#3cc4d8"},
              {".c6", "#8a6100", "#dbae3d"},
              {".c7", "#6b5876", "#b8a3c6"}};

/* Of the dashes of the strategies there is a number that has no divisor in common with that of
 * their colours, so that the two together do not come again soon. */
static const char *const dashes[] = {NULL, "7 3", "2 2", "10 3 2 3", "4 2", "12 4", "6 2 1 2"};
enum { DASHES = sizeof dashes / sizeof *dashes };

static void write_colors(bool dark, FILE *out)
{
    fprintf(out, ".tp-chart .halo{stroke:%s}\n", dark ? colors[PAPER].dark : colors[PAPER].light);
    for (size_t i = 0; i < sizeof colors / sizeof *colors; i++)
        fprintf(out, ".tp-chart %s{color:%s}\n", colors[i].selector,
                dark ? colors[i].dark : colors[i].light);
}

void tp_chart_style(enum tp_chart_theme theme, FILE *out)
{
    fputs(
        ".tp-chart text{font:13px system-ui,-apple-system,\"Segoe UI\",Helvetica,Arial,sans-serif;"
        "fill:currentColor}\n"
        ".tp-chart .title{font-size:16px;font-weight:600}\n"
        ".tp-chart .name{font-weight:600}\n"
        ".tp-chart .end{text-anchor:end}\n"
        ".tp-chart .middle{text-anchor:middle}\n"
        ".tp-chart path{fill:none;stroke:currentColor}\n"
        ".tp-chart .line{stroke-width:1.6;stroke-linejoin:round}\n"
        ".tp-chart .requested{stroke-width:2.2}\n"
        ".tp-chart .area,.tp-chart rect,.tp-chart circle{fill:currentColor;stroke:none}\n"
        ".tp-chart .cross{stroke-width:2.4}\n"
        ".tp-chart .halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}\n",
        out);
    write_colors(theme == TP_CHART_DARK, out);
    if (theme != TP_CHART_AUTO)
        return;
    fputs("@media (prefers-color-scheme:dark){\n", out);
    write_colors(true, out);
    fputs("}\n", out);
}

/* ---- where things lie ---- */

/* Peaks that lie closer than their labels are high. */
struct band {
    uint64_t low, high; /* bytes of the lowest and the highest */
    uint32_t peaks;     /* different ones; 0: there is no such band */
};

/* All in tenths of a pixel. */
struct layout {
    const struct tp_chart *c;
    FILE *out;
    uint64_t bottom, top; /* bytes at both ends of the axis */
    uint32_t plot, base;  /* y of the top and of the bottom of the plot */
    struct band crowded;
    bool zoom; /* into it */
};

static uint64_t peak_of(const struct tp_chart *c, const struct tp_chart_line *line)
{
    uint64_t most = 0;
    if (line->at)
        return line->at[tp_columns_peak(line->at, c->columns->count)].high;
    for (uint32_t i = 0; i < line->point_count; i++)
        most = line->points[i].bytes > most ? line->points[i].bytes : most;
    return most;
}

static uint64_t end_of(const struct tp_chart *c, const struct tp_chart_line *line)
{
    return line->at ? line->at[c->columns->count - 1].last
                    : line->points[line->point_count - 1].bytes;
}

uint64_t tp_chart_top(const struct tp_chart *c)
{
    uint64_t top = 1;
    for (uint32_t i = 0; i < c->line_count; i++) {
        uint64_t peak = peak_of(c, &c->lines[i]);
        top = peak > top ? peak : top;
    }
    for (uint32_t i = 0; i < c->level_count; i++)
        top = c->levels[i].bytes > top ? c->levels[i].bytes : top;
    uint64_t room = top / 25 + 1; /* a line at the very top would look cut off */
    return top < UINT64_MAX - room ? top + room : UINT64_MAX;
}

static uint32_t head_of(const struct tp_chart *c)
{
    return HEAD + c->mark_count * ROW;
}

/* The lines of text below the chart that a name takes; 0: its label has all of it. */
static uint32_t name_rows(const char *name)
{
    int width = tp_text_width(name);
    return width > NAME_LONGEST ? (uint32_t)((width + NOTE_LONGEST - 1) / NOTE_LONGEST) : 0;
}

static uint32_t names_rows(const struct tp_chart *c)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < c->line_count; i++)
        rows += name_rows(c->lines[i].name);
    return rows;
}

/* ---- the band that is too crowded to read ---- */

/* The peaks of the lines that go to the end, ascending, each once. */
static uint32_t collect_peaks(const struct tp_chart *c, uint64_t *peaks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->line_count; i++) {
        uint64_t peak = peak_of(c, &c->lines[i]);
        uint32_t at = 0;
        while (at < count && peaks[at] < peak)
            at++;
        if (c->lines[i].shown || (at < count && peaks[at] == peak))
            continue;
        memmove(&peaks[at + 1], &peaks[at], (count++ - at) * sizeof *peaks);
        peaks[at] = peak;
    }
    return count;
}

/* The band with the most peaks; of several the lowest. Two can be told apart without a zoom. */
static struct band crowded_band(const struct tp_chart *c)
{
    struct band best = {.peaks = 0};
    uint64_t peaks[TP_CHART_LINES];
    if (!c->columns)
        return best;
    const uint64_t close = tp_chart_top(c) / HEIGHT * ROW;
    const uint32_t count = collect_peaks(c, peaks);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && peaks[end] - peaks[end - 1] < close; end++)
            ;
        if (end - first > best.peaks && end - first >= CROWD)
            best = (struct band){peaks[first], peaks[end - 1], end - first};
    }
    return best;
}

static uint32_t zoom_height(const struct band *crowded)
{
    return crowded->peaks ? ZOOM_HEAD + ZOOM_HEIGHT + ROW : 0;
}

static uint32_t height_with(const struct tp_chart *c, const struct band *crowded)
{
    uint32_t rows = c->note_count + names_rows(c);
    return head_of(c) + HEIGHT + FOOT + zoom_height(crowded) + (rows ? rows * ROW + ROW / 2 : 0);
}

uint32_t tp_chart_height(const struct tp_chart *c)
{
    const struct band crowded = crowded_band(c);
    return height_with(c, &crowded);
}

static bool is_drawn(const struct layout *l, const struct tp_chart_line *line)
{
    uint64_t peak = peak_of(l->c, line);
    return !l->zoom || (!line->shown && peak >= l->bottom && peak <= l->top);
}

static uint32_t y_of(const struct layout *l, uint64_t bytes)
{
    if (bytes < l->bottom)
        return l->base + OUTSIDE;
    if (bytes > l->top)
        return l->plot - OUTSIDE;
    uint64_t twice =
        tp_scaled(bytes - l->bottom, l->top - l->bottom, 2 * (uint64_t)(l->base - l->plot));
    return l->base - (uint32_t)((twice + 1) / 2);
}

static uint32_t x_of(const struct layout *l, uint32_t column)
{
    return 10 * LEFT + column * 10 * TP_CHART_COLUMNS / l->c->columns->count;
}

static uint32_t x_of_value(const struct layout *l, uint64_t value)
{
    return 10 * LEFT + (uint32_t)tp_scaled(value, l->c->across_most, 10 * TP_CHART_COLUMNS);
}

/* ---- texts ---- */

static void write_text(const struct layout *l, const char *classes, uint32_t x, uint32_t y,
                       const char *text)
{
    tp_svg_text(l->out, classes, x, y, text);
}

static void write_head(const struct layout *l)
{
    const struct tp_chart *c = l->c;
    uint32_t height = height_with(c, &l->crowded);
    fprintf(l->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tp-chart\" role=\"img\" y=\"%u\" "
            "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
            c->y, TP_CHART_WIDTH, height, TP_CHART_WIDTH, height);
    tp_put(l->out, TP_TO_XML, "<title>%s</title>\n<desc>%s</desc>\n", c->title, c->description);
    fprintf(l->out, "<rect class=\"paper\" width=\"%u\" height=\"%u\"/>\n", TP_CHART_WIDTH, height);
    write_text(l, "title ink", 140, 240, c->title);
    write_text(l, "muted", 140, 440, c->about);
}

/* ---- axes ---- */

static void write_bytes_axis(const struct layout *l)
{
    struct tp_ticks t;
    tp_ticks_bytes(l->top, &t);
    for (uint32_t i = 0; i < t.count; i++) {
        uint32_t y = y_of(l, t.at[i]);
        fprintf(l->out, "<path class=\"%s\" d=\"M%u %sH%u\"/>\n", i ? "grid" : "muted", LEFT,
                tp_svg_px(y).s, RIGHT);
        write_text(l, "end muted", 10 * LEFT - 80, y + 45, t.text[i].s);
    }
}

/* The place of a time, an event or a value on the axis; the first event is at its left end. */
static void write_across_axis(const struct layout *l)
{
    const struct tp_columns *columns = l->c->columns;
    bool timed = columns && columns->time_ns;
    uint64_t of = l->c->across_most;
    const char *name = l->c->across_name;
    if (columns) {
        of = timed ? columns->time_ns : columns->events;
        name = timed ? "time of the trace" : "event";
    }
    struct tp_ticks t;
    (timed ? tp_ticks_time : tp_ticks_count)(of, &t);
    for (uint32_t i = 0; i < t.count; i++) {
        uint32_t x = 10 * LEFT + (uint32_t)tp_scaled(t.at[i], of, 10 * TP_CHART_COLUMNS);
        fprintf(l->out, "<path class=\"muted\" d=\"M%s %sv4\"/>\n", tp_svg_px(x).s,
                tp_svg_px(l->base).s);
        write_text(l, "middle muted", x, l->base + 200, t.text[i].s);
    }
    write_text(l, "end muted", 10 * RIGHT, l->base + 370, name);
}

/* ---- lines ---- */

/* A path that is written piece by piece; steps of no length are left out. */
struct line_pen {
    const struct layout *l;
    uint32_t x, y; /* where it is */
};

static void go_up_or_down(struct line_pen *pen, uint32_t x, uint64_t bytes)
{
    uint32_t y = y_of(pen->l, bytes);
    if (y == pen->y)
        return;
    if (x != pen->x)
        fprintf(pen->l->out, "H%s", tp_svg_px(x).s);
    fprintf(pen->l->out, "V%s", tp_svg_px(y).s);
    pen->x = x;
    pen->y = y;
}

static uint32_t shown_of(const struct tp_chart *c, const struct tp_chart_line *line)
{
    return line->shown ? line->shown : c->columns->count;
}

/* The farther extreme comes first, so that the way back is short. A line that ends early ends at
 * the highest point of its last column, where its cross is. */
static void write_steps(const struct layout *l, const struct tp_chart_line *line, uint32_t y)
{
    struct line_pen pen = {l, x_of(l, 0), y};
    const uint32_t count = shown_of(l->c, line);
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_stretch *s = &line->at[i];
        bool ends = line->shown && i + 1 == count;
        bool high_first = !ends && s->high - s->last >= s->last - s->low;
        go_up_or_down(&pen, x_of(l, i), high_first ? s->high : s->low);
        go_up_or_down(&pen, x_of(l, i), high_first ? s->low : s->high);
        go_up_or_down(&pen, x_of(l, i), ends ? s->high : s->last);
    }
    fprintf(l->out, "H%s", tp_svg_px(line->shown ? x_of(l, count - 1) : 10 * RIGHT).s);
}

/* The line goes on with `command`, M or L, at its first point. */
static void write_points(const struct layout *l, const struct tp_chart_line *line, char command)
{
    for (uint32_t i = 0; i < line->point_count; i++)
        fprintf(l->out, "%c%s %s", i ? 'L' : command,
                tp_svg_px(x_of_value(l, line->points[i].at)).s,
                tp_svg_px(y_of(l, line->points[i].bytes)).s);
}

static void write_area(const struct layout *l, const struct tp_chart_line *line)
{
    const struct tp_text base = tp_svg_px(l->base);
    uint32_t left = line->at ? 10 * LEFT : x_of_value(l, line->points->at);
    fprintf(l->out, "<path class=\"shade area\" d=\"M%s %s", tp_svg_px(left).s, base.s);
    if (line->at)
        write_steps(l, line, l->base);
    else
        write_points(l, line, 'L');
    fprintf(l->out, "V%sZ\"/>\n", base.s);
}

/* How a line looks: the class of its colour, and its dashes. */
struct line_look {
    char color[8];
    const char *dash;
    const char *kind;
};

static struct line_look look_of(const struct tp_chart *c, uint32_t line)
{
    static const struct line_look fixed[] = {
        [TP_CHART_REQUESTED] = {"ink", NULL, "line requested"},
        [TP_CHART_RECORDED] = {"muted", "1 3", "line"},
        [TP_CHART_STRATEGY] = {"", NULL, "line"},
    };
    struct line_look look = fixed[c->lines[line].kind];
    uint32_t nth = 0;
    for (uint32_t i = 0; i < line; i++)
        nth += c->lines[i].kind == TP_CHART_STRATEGY;
    if (c->lines[line].kind == TP_CHART_STRATEGY) {
        snprintf(look.color, sizeof look.color, "c%u", nth % LINE_COLORS);
        look.dash = dashes[nth % DASHES];
    }
    return look;
}

static void begin_line(const struct layout *l, uint32_t index)
{
    const struct tp_chart_line *line = &l->c->lines[index];
    const struct line_look look = look_of(l->c, index);
    fprintf(l->out, "<g class=\"%s\">\n<title>", look.color);
    tp_put(l->out, TP_TO_XML, "%s: at most %s</title>\n", line->name,
           tp_bytes(peak_of(l->c, line), false).s);
    fprintf(l->out, "<path class=\"%s\"", look.kind);
    if (look.dash)
        fprintf(l->out, " stroke-dasharray=\"%s\"", look.dash);
    fputs(" d=\"", l->out);
}

static void write_stepped(const struct layout *l, const struct tp_chart_line *line)
{
    uint32_t peak = tp_columns_peak(line->at, shown_of(l->c, line));
    uint32_t y = y_of(l, line->at[0].low);
    fprintf(l->out, "M%u %s", LEFT, tp_svg_px(y).s);
    write_steps(l, line, y);
    fprintf(l->out, "\"/>\n<circle cx=\"%s\" cy=\"%s\" r=\"2.6\"/>\n</g>\n",
            tp_svg_px(x_of(l, peak)).s, tp_svg_px(y_of(l, line->at[peak].high)).s);
}

static void write_pointed(const struct layout *l, const struct tp_chart_line *line)
{
    write_points(l, line, 'M');
    fputs("\"/>\n", l->out);
    for (uint32_t i = 0; i < line->point_count; i++) {
        const struct tp_chart_point *p = &line->points[i];
        fprintf(l->out, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"><title>%s: %s%s</title></circle>\n",
                tp_svg_px(x_of_value(l, p->at)).s, tp_svg_px(y_of(l, p->bytes)).s,
                p->measured ? "4.5" : "2.2", tp_count(p->at).s, tp_bytes(p->bytes, false).s,
                p->measured ? ", recorded" : "");
    }
    fputs("</g>\n", l->out);
}

static void write_line(const struct layout *l, uint32_t index)
{
    const struct tp_chart_line *line = &l->c->lines[index];
    begin_line(l, index);
    (line->at ? write_stepped : write_pointed)(l, line);
}

static void write_level(const struct layout *l, const struct tp_chart_level *level)
{
    uint32_t y = y_of(l, level->bytes);
    fprintf(l->out, "<path class=\"ink\" stroke-dasharray=\"14 4\" d=\"M%u %sH%u\"/>\n", LEFT,
            tp_svg_px(y).s, RIGHT);
    write_text(l, "ink halo", 10 * LEFT + 60, y - 50, level->name);
}

/* A mark: its text above the plot, a thin line down to its cross. */
static void write_mark(const struct layout *l, uint32_t index)
{
    const struct tp_chart_mark *m = &l->c->marks[index];
    const struct line_look look = look_of(l->c, m->line);
    uint32_t x = x_of(l, m->column), y = y_of(l, l->c->lines[m->line].at[m->column].high);
    uint32_t text = 10 * (HEAD + ROW * index) + 40;
    bool right = m->column > l->c->columns->count / 2;
    fprintf(l->out, "<g class=\"%s\">\n", look.color);
    fprintf(l->out, "<path stroke-dasharray=\"1 2\" d=\"M%s %sV%s\"/>\n", tp_svg_px(x).s,
            tp_svg_px(text - 100).s, tp_svg_px(y).s);
    fprintf(l->out, "<path class=\"cross\" d=\"M%s %sl8 8m0 -8l-8 8\"/>\n", tp_svg_px(x - 40).s,
            tp_svg_px(y - 40).s);
    write_text(l, right ? "end" : "start", right ? x - 50 : x + 50, text, m->text);
    fputs("</g>\n", l->out);
}

/* ---- labels at the ends of the lines ---- */

struct label {
    uint32_t line;
    uint64_t value;  /* that it says */
    uint32_t end, y; /* where the line ends, and the middle of its label */
};

static uint64_t value_of(const struct tp_chart *c, const struct tp_chart_line *line)
{
    return line->at ? peak_of(c, line) : end_of(c, line);
}

static bool is_above(const struct label *one, const struct label *other)
{
    return one->value != other->value ? one->value > other->value : one->end < other->end;
}

static void sort_labels(struct label *labels, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct label moved = labels[i];
        uint32_t at = i;
        for (; at && is_above(&moved, &labels[at - 1]); at--)
            labels[at] = labels[at - 1];
        labels[at] = moved;
    }
}

/* Puts labels as high as their values, from the largest to the smallest, and apart where those lie
 * close: down from the top, then up from the bottom where that went too far. */
static void place_labels(const struct layout *l, struct label *labels, uint32_t count)
{
    const uint32_t apart = 10 * ROW;
    sort_labels(labels, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t least = i ? labels[i - 1].y + apart : l->plot;
        uint32_t y = y_of(l, labels[i].value);
        labels[i].y = y > least ? y : least;
    }
    for (uint32_t i = count; i-- > 0;) {
        uint32_t most = i + 1 < count ? labels[i + 1].y - apart : l->base;
        labels[i].y = labels[i].y < most ? labels[i].y : most;
    }
}

static void write_label(const struct layout *l, const struct label *label)
{
    const struct tp_chart_line *line = &l->c->lines[label->line];
    fprintf(l->out, "<g class=\"%s\">", look_of(l->c, label->line).color);
    if (!line->shown)
        fprintf(l->out, "<path d=\"M%u %sL%u %s\"/>", RIGHT, tp_svg_px(label->end).s,
                RIGHT + LEAD - 3, tp_svg_px(label->y).s);
    fprintf(l->out, "<text x=\"%u\" y=\"%s\">%s</text>", RIGHT + LEAD, tp_svg_px(label->y + 45).s,
            tp_bytes(label->value, false).s);
    fprintf(l->out, "<text class=\"name\" x=\"%u\" y=\"%s\">", RIGHT + LEAD + VALUE,
            tp_svg_px(label->y + 45).s);
    tp_svg_short(l->out, line->name, NAME_LONGEST);
    fputs("</text></g>\n", l->out);
}

static void write_labels(const struct layout *l)
{
    struct label labels[TP_CHART_LINES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->c->line_count; i++) {
        const struct label label = {.line = i,
                                    .value = value_of(l->c, &l->c->lines[i]),
                                    .end = y_of(l, end_of(l->c, &l->c->lines[i]))};
        if (is_drawn(l, &l->c->lines[i]))
            labels[count++] = label;
    }
    place_labels(l, labels, count);
    for (uint32_t i = 0; i < count; i++)
        write_label(l, &labels[i]);
}

/* ---- the zoom ---- */

static void write_edge(const struct layout *l, uint64_t bytes)
{
    uint32_t y = y_of(l, bytes);
    fprintf(l->out, "<path class=\"grid\" d=\"M%u %sH%u\"/>\n", LEFT, tp_svg_px(y).s, RIGHT);
    write_text(l, "end muted", 10 * LEFT - 80, y + 45, tp_bytes(bytes, false).s);
}

/* The lines of the crowded band once more, below the chart, with a quarter of its height above them
 * and below. An inner <svg> cuts what lies outside. */
static void write_zoom(const struct layout *whole)
{
    const struct band *band = &whole->crowded;
    if (!band->peaks)
        return;
    uint64_t room = (band->high - band->low) / 4 + 1;
    struct layout l = *whole;
    l.zoom = true;
    l.bottom = band->low > room ? band->low - room : 0;
    l.top = band->high < UINT64_MAX - room ? band->high + room : UINT64_MAX;
    l.plot = whole->base + 10 * (FOOT + ZOOM_HEAD);
    l.base = l.plot + 10 * ZOOM_HEIGHT;
    fputs("<g class=\"zoom\">\n", l.out);
    write_text(&l, "muted", 140, l.plot - 100, "Zoom: strategies whose peaks lie close together");
    write_edge(&l, l.bottom);
    write_edge(&l, l.top);
    fprintf(l.out, "<svg x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" viewBox=\"%u %u %u %u\">\n",
            LEFT, l.plot / 10, TP_CHART_COLUMNS, ZOOM_HEIGHT, LEFT, l.plot / 10, TP_CHART_COLUMNS,
            ZOOM_HEIGHT);
    for (uint32_t i = 0; i < l.c->line_count; i++)
        if (is_drawn(&l, &l.c->lines[i]))
            write_line(&l, i);
    fputs("</svg>\n", l.out);
    write_labels(&l);
    fputs("</g>\n", l.out);
}

/* ---- below the chart ---- */

/* A name that its label cuts, in full; returns the y behind it. */
static uint32_t write_name(const struct layout *l, uint32_t line, uint32_t y)
{
    const char *rest = l->c->lines[line].name;
    for (uint32_t i = name_rows(rest); i; i--, y += 10 * ROW) {
        size_t bytes = i > 1 ? tp_text_bytes(rest, NOTE_LONGEST) : strlen(rest);
        fprintf(l->out, "<text class=\"%s\" x=\"14\" y=\"%s\">", look_of(l->c, line).color,
                tp_svg_px(y).s);
        tp_escape_part(l->out, TP_TO_XML, rest, bytes);
        fputs("</text>\n", l->out);
        rest += bytes;
    }
    return y;
}

static void write_notes(const struct layout *l)
{
    uint32_t y = l->base + 10 * (FOOT + zoom_height(&l->crowded) + ROW / 2);
    for (uint32_t i = 0; i < l->c->line_count; i++)
        if (name_rows(l->c->lines[i].name))
            y = write_name(l, i, y);
    for (uint32_t i = 0; i < l->c->note_count; i++, y += 10 * ROW)
        write_text(l, "muted", 140, y, l->c->notes[i]);
}

/* ---- the whole ---- */

/* The first line lies below the others; what is written lies above all. */
static void write_lines(const struct layout *l)
{
    const struct tp_chart *c = l->c;
    for (uint32_t i = 0; i < c->line_count; i++)
        if (c->lines[i].kind == TP_CHART_REQUESTED)
            write_area(l, &c->lines[i]);
    write_bytes_axis(l);
    write_across_axis(l);
    for (uint32_t i = 0; i < c->line_count; i++)
        write_line(l, i);
    for (uint32_t i = 0; i < c->level_count; i++)
        write_level(l, &c->levels[i]);
    for (uint32_t i = 0; i < c->mark_count; i++)
        write_mark(l, i);
    write_labels(l);
}

void tp_chart_write(const struct tp_chart *c, FILE *out)
{
    uint32_t plot = 10 * head_of(c);
    const struct layout l = {.c = c,
                             .out = out,
                             .top = tp_chart_top(c),
                             .plot = plot,
                             .base = plot + 10 * HEIGHT,
                             .crowded = crowded_band(c)};
    assert(c->line_count <= TP_CHART_LINES && c->mark_count <= TP_CHART_MARKS);
    assert(c->columns ? c->columns->count <= TP_CHART_COLUMNS : c->across_most && !c->mark_count);
    write_head(&l);
    write_lines(&l);
    write_zoom(&l);
    write_notes(&l);
    fputs("</svg>\n", out);
}
