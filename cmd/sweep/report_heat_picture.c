/* The picture of the heat map: a path for each level of the ratio, so that 12,000 squares take few
 * bytes. Levels are named in the legend; a square without a color has no cells. */
#include "cmd/charts/chart.h"
#include "cmd/charts/svg_parts.h"
#include "cmd/sweep/report_words.h"
#include "cmd/ui/escape.h"

enum {
    HEAT_LEFT = 190, /* pixels beside the map, for names of traces */
    HEAT_WIDE = 670,
    HEAT_TOP = 84, /* below the legend */
    HEAT_HIGH = 480,
    HEAT_LEVELS = 7,
    HEAT_NAME = 25,         /* characters */
    HEAT_SQUARE_HIGH = 180, /* tenths of a pixel, at most */
    HEAT_SQUARE_WIDE = 400,
    HEAT_LABEL_GAP = 150, /* tenths of a pixel between names */
    HEAT_FOOT = 62
};

/* The levels by their upper end, and their color on a light and a dark page. */
static const struct {
    double most;
    const char *text, *light, *dark;
} levels[HEAT_LEVELS] = {
    {1.01, "1.01x or less", "#d7ecd9", "#173a22"}, {1.05, "1.05x", "#f4edb6", "#4a4a17"},
    {1.1, "1.1x", "#fbd685", "#6b5312"},           {1.25, "1.25x", "#f6a860", "#96550f"},
    {1.5, "1.5x", "#e8724a", "#c25c1d"},           {2, "2x", "#c43c39", "#ec6a42"},
    {INFINITY, "more", "#7d1433", "#ff9d86"}};

static void write_level_colors(bool dark, FILE *out)
{
    fputs(".tp-chart .squares{fill:none}\n", out);
    for (int i = 0; i < HEAT_LEVELS; i++)
        fprintf(out, ".tp-chart .h%d{fill:%s;stroke:none}\n", i,
                dark ? levels[i].dark : levels[i].light);
}

void tp_sweep_picture_style(uint32_t theme, FILE *out)
{
    write_level_colors(theme == TP_CHART_DARK, out);
    if (theme != TP_CHART_AUTO)
        return;
    fputs("@media (prefers-color-scheme:dark){\n", out);
    write_level_colors(true, out);
    fputs("}\n", out);
}

/* Tenths of a pixel. */
struct square_size {
    uint32_t wide, high;
};

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

static struct square_size size_of(const struct tp_sweep_heat *h)
{
    return (struct square_size){at_most((uint32_t)(10 * HEAT_WIDE / h->columns), HEAT_SQUARE_WIDE),
                                at_most((uint32_t)(10 * HEAT_HIGH / h->rows), HEAT_SQUARE_HIGH)};
}

uint32_t tp_sweep_heat_height(const struct tp_sweep_answers *all, size_t answer)
{
    const struct tp_sweep_heat *h = &all->list[answer].heat;
    if (!h->rows || !h->columns)
        return 0;
    return HEAT_TOP + HEAT_FOOT + size_of(h).high * (uint32_t)h->rows / 10;
}

static int level_of(double ratio)
{
    int level = 0;
    while (level < HEAT_LEVELS - 1 && ratio > levels[level].most * (1 + TP_SWEEP_SAME))
        level++;
    return level;
}

/* Neighbours of one level in a row are one rectangle. */
static void write_level(const struct tp_sweep_heat *h, int level, FILE *out)
{
    struct square_size size = size_of(h);
    fprintf(out, "<path class=\"h%d\" d=\"", level);
    for (size_t row = 0; row < h->rows; row++)
        for (size_t k = 0, end; k < h->columns; k = end) {
            double ratio = tp_sweep_square(h, row, k);
            end = k + 1;
            if (isnan(ratio) || level_of(ratio) != level)
                continue;
            for (; end < h->columns && !isnan(ratio = tp_sweep_square(h, row, end)) &&
                   level_of(ratio) == level;
                 end++)
                ;
            uint32_t wide = size.wide * (uint32_t)(end - k);
            fprintf(out, "M%s %sh%sv%sh-%sz", tp_svg_px(10 * HEAT_LEFT + size.wide * (uint32_t)k).s,
                    tp_svg_px(10 * HEAT_TOP + size.high * (uint32_t)row).s, tp_svg_px(wide).s,
                    tp_svg_px(size.high).s, tp_svg_px(wide).s);
        }
    fputs("\"/>\n", out);
}

/* An empty frame around the squares, for the view of the page that says what each is. */
static void write_frame(const struct tp_sweep_heat *h, FILE *out)
{
    struct square_size size = size_of(h);
    fprintf(out, "<rect class=\"squares\" x=\"%d\" y=\"%d\" width=\"%s\" height=\"%s\"/>\n",
            HEAT_LEFT, HEAT_TOP, tp_svg_px(size.wide * (uint32_t)h->columns).s,
            tp_svg_px(size.high * (uint32_t)h->rows).s);
}

static void write_level_legend(FILE *out)
{
    for (int i = 0; i < HEAT_LEVELS; i++) {
        uint32_t x = HEAT_LEFT + 82 * (uint32_t)i + (i ? 30U : 0U);
        fprintf(out, "<path class=\"h%d\" d=\"M%u 60h14v14h-14z\"/>\n", i, x);
        tp_svg_text(out, "ink", 10 * (x + 20), 720, levels[i].text);
    }
}

static void write_row_names(const struct tp_sweep_answers *all, const struct tp_sweep_heat *h,
                            FILE *out)
{
    struct square_size size = size_of(h);
    uint32_t free_from = 0;
    for (size_t i = 0; i < h->rows; i++) {
        uint32_t y = 10 * HEAT_TOP + size.high * (uint32_t)i + size.high / 2 + 45;
        if (y < free_from)
            continue;
        free_from = y + HEAT_LABEL_GAP;
        fprintf(out, "<text class=\"end muted\" x=\"%u\" y=\"%s\">", HEAT_LEFT - 8, tp_svg_px(y).s);
        tp_svg_short(
            out, tp_sweep_trace_name(all, h->traces[tp_sweep_first(h->trace_count, h->rows, i)]),
            HEAT_NAME);
        fputs("</text>\n", out);
    }
}

/* Settings by their place in the ranking: their names would not fit. */
static void write_places(const struct tp_sweep_heat *h, uint32_t y, FILE *out)
{
    struct square_size size = size_of(h);
    uint32_t free_from = 0;
    for (size_t i = 0; i < h->columns; i++) {
        uint32_t x = 10 * HEAT_LEFT + size.wide * (uint32_t)i + size.wide / 2;
        if (x < free_from)
            continue;
        free_from = x + 400;
        tp_svg_text(out, "middle muted", x, 10 * y,
                    tp_count(tp_sweep_first(h->setting_count, h->columns, i) + 1).s);
    }
}

void tp_sweep_heat_write(const struct tp_sweep_answers *all, size_t answer, uint32_t y, FILE *out)
{
    const struct tp_sweep_answer *a = &all->list[answer];
    const struct tp_sweep_heat *h = &a->heat;
    uint32_t height = tp_sweep_heat_height(all, answer), base = height - HEAT_FOOT;
    struct tp_str about = {0};
    tp_str_add(&about, ": traces downwards, the hardest first; settings to the right, the best "
                       "first");
    if (h->rows < h->trace_count || h->columns < h->setting_count)
        tp_str_add(&about, "; a square: up to %s x %s",
                   tp_plural((h->trace_count + h->rows - 1) / h->rows, "trace").s,
                   tp_plural((h->setting_count + h->columns - 1) / h->columns, "setting").s);
    const struct tp_sweep_frame frame = {.title = "Heat map of ",
                                         .metric = a->metric,
                                         .ratio = tp_sweep_ratio_name(a),
                                         .about = tp_str_text(&about),
                                         .y = y,
                                         .height = height};
    tp_sweep_frame_begin(&frame, out);
    tp_str_drop(&about);
    write_level_legend(out);
    for (int i = 0; i < HEAT_LEVELS; i++)
        write_level(h, i, out);
    write_frame(h, out);
    write_row_names(all, h, out);
    write_places(h, base + 18, out);
    tp_svg_text(out, "muted", 10 * HEAT_LEFT, 10 * (base + 40),
                "place of the setting in the ranking");
    fputs("</svg>\n", out);
}
