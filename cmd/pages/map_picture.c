/* See map_picture.h. */
#include "cmd/pages/map_picture.h"

#include "cmd/charts/chart.h"
#include "cmd/charts/svg_parts.h"
#include "cmd/report/report_sites.h"
#include "cmd/ui/escape.h"

/* Pixels. */
enum {
    LEFT = 14,
    ACROSS = TP_CHART_WIDTH - 2 * LEFT,
    DOWN = 340, /* of all cells, about */
    SMALLEST = 4,
    LARGEST = 16,
    HEAD = 54,
    ROW = 18,
    SWATCH = 24,
    FOOT = 12
};

enum { PARTS = 5, NAME_LONGEST = 100 };

/* From below, in the order of the page. */
static const struct {
    const char *name, *dash, *opacity;
    bool kept; /* by live blocks: it has the color of their group */
} looks[PARTS] = {{"live", NULL, "1", true},
                  {"rounding", NULL, ".55", true},
                  {"never part of a block", "1 2", "1", false},
                  {"partly free pages", "1 1", "1", true},
                  {"free pages", "2 1", ".6", false}};

static uint64_t part_of(const struct tp_page_parts *p, int part)
{
    const uint64_t bytes[PARTS] = {p->live, p->rounding, p->own, p->partly_free, p->free_pages};
    return bytes[part];
}

static const char *const colors[TP_MAP_NONE + 1] = {
    "c0", "c1", "c2", "c3", "c4", "c5", [TP_MAP_OTHER] = "c6", "c7", [TP_MAP_NONE] = "muted"};

/* The class of a part of a cell. */
static uint32_t color_of(int part, uint32_t holder)
{
    return looks[part].kept ? holder : (uint32_t)TP_MAP_NONE;
}

/* ---- where cells lie ---- */

/* Where the next cell lies, below the head. */
struct map_pen {
    const struct tp_page_map *map;
    uint32_t size, x, y; /* tenths of a pixel but the size */
};

static struct map_pen pen_of(const struct tp_page_map *m)
{
    uint32_t size = LARGEST;
    while (size > SMALLEST && (uint64_t)size * size * m->count > (uint64_t)ACROSS * DOWN)
        size--;
    return (struct map_pen){.map = m, .size = size};
}

/* Goes to the place of a cell; they are asked for in their order. */
static void go_to(struct map_pen *p, size_t cell)
{
    if (!cell)
        return;
    p->x += 10 * p->size + (tp_page_map_gap(p->map, cell) ? 5 * p->size : 0);
    if (p->x + 10 * p->size > 10 * ACROSS) {
        p->x = 0;
        p->y += 10 * p->size;
    }
}

static uint32_t cells_height(const struct tp_page_map *m)
{
    struct map_pen p = pen_of(m);
    for (size_t i = 0; i < m->count; i++)
        go_to(&p, i);
    return p.y / 10 + p.size;
}

/* ---- drawing ---- */

/* Tenths of a pixel from the floor of a cell to the begin of a part. */
static uint32_t height_to(const struct map_pen *p, const struct tp_map_cell *c, int part)
{
    uint64_t below = 0;
    for (int i = 0; i < part; i++)
        below += part_of(&c->parts, i);
    return (uint32_t)((double)below * 10 * (p->size - 1) / (double)(p->map->page << p->map->shift));
}

/* Begins a path of upright strokes of this width. */
static void begin_strokes(uint32_t color, int part, uint32_t width, FILE *out)
{
    fprintf(out, "<path class=\"%s\" stroke-width=\"%u\" stroke-opacity=\"%s\"", colors[color],
            width, looks[part].opacity);
    if (looks[part].dash)
        fprintf(out, " stroke-dasharray=\"%s\"", looks[part].dash);
    fputs(" d=\"", out);
}

static void put_move(int64_t tenths, FILE *out)
{
    fprintf(out, "%s%s", tenths < 0 ? "-" : " ",
            tp_svg_px((uint32_t)(tenths < 0 ? -tenths : tenths)).s);
}

/* Moves are relative, which takes half the bytes. */
static void write_strokes(const struct tp_map_picture *of, int part, uint32_t color, FILE *out)
{
    const struct tp_map_cell *cells = tp_page_map_at(of->map, of->moment);
    struct map_pen p = pen_of(of->map);
    int64_t at_x = 0, at_y = 0;
    bool any = false;
    for (size_t i = 0; i < of->map->count; i++) {
        go_to(&p, i);
        uint32_t from = height_to(&p, &cells[i], part), to = height_to(&p, &cells[i], part + 1);
        if (color_of(part, cells[i].holder) != color || from == to)
            continue;
        if (!any)
            begin_strokes(color, part, p.size - 1, out);
        int64_t x = 10 * LEFT + p.x + 5 * (p.size - 1);
        int64_t y = (int64_t)10 * HEAD + p.y + 10 * (p.size - 1) - from;
        fputc('m', out);
        put_move(x - at_x, out);
        put_move(y - at_y, out);
        fprintf(out, "v-%s", tp_svg_px(to - from).s);
        at_x = x;
        at_y = y - (to - from);
        any = true;
    }
    fputs(any ? "\"/>\n" : "", out);
}

static uint32_t write_key(uint32_t color, int part, const char *name, uint32_t y, FILE *out)
{
    begin_strokes(color, part, SWATCH, out);
    fprintf(out, "M%u %uv-10\"/>\n<text class=\"muted\" x=\"%u\" y=\"%u\">", LEFT + SWATCH / 2, y,
            LEFT + SWATCH + 8, y);
    tp_svg_short(out, name, NAME_LONGEST);
    fputs("</text>\n", out);
    return y + ROW;
}

/* The colours that are used, and all parts. Returns where it ends; nothing is written where `out`
 * is NULL. */
static uint32_t write_keys(const struct tp_map_picture *of, uint32_t y, FILE *out)
{
    const struct tp_map_cell *cells = tp_page_map_at(of->map, of->moment);
    bool there[TP_MAP_NONE + 1] = {false};
    for (size_t i = 0; i < of->map->count; i++)
        there[cells[i].holder] |= cells[i].parts.resident > 0;
    for (uint32_t h = 0; h < TP_MAP_NONE; h++) {
        struct tp_str name = {0};
        if (!there[h])
            continue;
        tp_str_add(&name, "held by %s", h < of->names.count && of->names.sizes ? "blocks of " : "");
        if (h < of->names.count)
            tp_place_short(of->names.names[h], &name);
        else
            tp_str_add(&name, h == TP_MAP_OTHER ? "other blocks" : "blocks not known");
        y = out ? write_key(h, 0, tp_str_text(&name), y, out) : y + ROW;
        tp_str_drop(&name);
    }
    if (there[TP_MAP_NONE])
        y = out ? write_key(TP_MAP_NONE, 0, "live, nothing partly free", y, out) : y + ROW;
    for (int part = 1; part < PARTS; part++)
        y = out ? write_key(TP_MAP_NONE, part, looks[part].name, y, out) : y + ROW;
    return y;
}

uint32_t tp_map_picture_height(const struct tp_map_picture *p)
{
    return write_keys(p, HEAD + cells_height(p->map) + ROW + FOOT, NULL);
}

void tp_map_picture_write(const struct tp_map_picture *p, FILE *out)
{
    uint32_t height = tp_map_picture_height(p);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tp-chart\" role=\"img\" "
            "y=\"0\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
            TP_CHART_WIDTH, height, TP_CHART_WIDTH, height);
    tp_put(out, TP_TO_XML, "<title>%s</title>\n<desc>%s</desc>\n", p->title, p->about);
    tp_svg_text(out, "title ink", 10 * LEFT, 240, p->title);
    tp_svg_text(out, "muted", 10 * LEFT, 420, p->about);
    for (int part = 0; part < PARTS; part++)
        for (uint32_t color = 0; color <= TP_MAP_NONE; color++)
            write_strokes(p, part, color, out);
    write_keys(p, HEAD + cells_height(p->map) + ROW + FOOT, out);
    fputs("</svg>\n", out);
}
