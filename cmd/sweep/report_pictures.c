/* The pictures of the answers of a sweep: settings, front, profiles, effects of options, heat map.
 * Coordinates are integers of tenths of a pixel, as in all charts.
 *
 * Known weakness: a picture has the best settings only, and names are cut; the tables have all. */
#include "cmd/charts/chart.h"
#include "cmd/charts/svg_parts.h"
#include "cmd/sweep/report_words.h"
#include "cmd/ui/escape.h"

#include <stdlib.h>
#include <string.h>

enum {
    PICTURE_LEFT = 300,  /* pixels beside bars, for their names */
    PICTURE_RIGHT = 780, /* where the plot ends */
    PICTURE_HEAD = 62,
    PICTURE_FOOT = 40,
    PICTURE_ROW = 22, /* of a bar */
    BARS_MOST = 16,
    NAME_CUT = 40, /* characters */
    SCATTER_LEFT = 76,
    SCATTER_RIGHT = 620,
    SCATTER_HIGH = 280,
    DOTS_MOST = 1000,
    LABEL_GAP = 16, /* pixels between labels below each other */
    LINES_MOST = 8
};

/* ---- what all have ---- */

static void end_picture(FILE *out)
{
    fputs("</svg>\n", out);
}

static void write_cut(FILE *out, const char *classes, uint32_t x, uint32_t y, const char *text,
                      int most)
{
    fprintf(out, "<text class=\"%s\" x=\"%s\" y=\"%s\">", classes, tp_svg_px(x).s, tp_svg_px(y).s);
    tp_svg_short(out, text, most);
    fputs("</text>\n", out);
}

/* An axis of logarithms, from pixels to pixels. */
struct log_axis {
    double low, high;
    uint32_t begin, end; /* pixels; begin may lie beyond end */
};

static uint32_t place_on(const struct log_axis *axis, double value)
{
    double span = axis->high - axis->low, from = 10.0 * axis->begin, to = 10.0 * axis->end;
    double share = span > 0 ? (value - axis->low) / span : 0;
    return (uint32_t)lrint(from + share * (to - from));
}

/* The least of 1, 2, 5, 10, 20, ... and of 0.5, 0.2, ... that is not below it. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    if (least <= power * (1 + 1e-9))
        return power;
    if (least <= 2 * power * (1 + 1e-9))
        return 2 * power;
    return least <= 5 * power * (1 + 1e-9) ? 5 * power : 10 * power;
}

/* Round values, at equal steps where the axis has few octaves; those that lie too close to the one
 * before are left out. */
static size_t find_ticks(const struct log_axis *axis, uint32_t apart, double *at, size_t most)
{
    static const double wide[] = {1, 1.5, 2, 3, 5, 7};
    size_t count = 0, rounds = sizeof wide / sizeof *wide;
    double low = exp(axis->low), high = exp(axis->high), value;
    bool steps = high < 4 * low;
    double step = steps ? round_step((high - low) / 8) : 0;
    double power = pow(10, floor(log10(low)));
    double first = ceil(low / (steps ? step : 1) * (1 - 1e-9)) * step;
    long last = -100000;
    for (size_t i = 0; count < most; i++) {
        value = steps ? first + (double)i * step
                      : power * pow(10, (double)(i / rounds)) * wide[i % rounds];
        if (value > high * (1 + 1e-9))
            break;
        long place = value < low * (1 - 1e-9) ? last : place_on(axis, log(value));
        if (labs(place - last) < 10 * (long)apart)
            continue;
        at[count++] = value;
        last = place;
    }
    return count;
}

static void write_ratio_axis(const struct log_axis *axis, uint32_t top, uint32_t base, FILE *out)
{
    double at[16];
    size_t count = find_ticks(axis, 48, at, 16);
    for (size_t i = 0; i < count; i++) {
        uint32_t x = place_on(axis, log(at[i]));
        fprintf(out, "<path class=\"grid\" d=\"M%s %uV%u\"/>\n", tp_svg_px(x).s, top, base);
        tp_svg_text(out, "middle muted", x, 10 * (base + 18), tp_text_of("%gx", at[i]).s);
    }
}

/* ---- settings ---- */

static size_t bar_count(const struct tp_sweep_answer *a)
{
    size_t count = 0;
    while (count < a->ranked && count < BARS_MOST && a->scores[a->order[count]].traces)
        count++;
    return count;
}

static uint32_t settings_height(const struct tp_sweep_answers *all, size_t answer)
{
    size_t bars = bar_count(&all->list[answer]);
    return bars ? PICTURE_HEAD + PICTURE_FOOT + PICTURE_ROW * (uint32_t)bars : 0;
}

static void settings_write(const struct tp_sweep_answers *all, size_t answer, uint32_t y, FILE *out)
{
    const struct tp_sweep_answer *a = &all->list[answer];
    size_t bars = bar_count(a);
    struct log_axis axis = {0, TP_SWEEP_PERCENT, PICTURE_LEFT, PICTURE_RIGHT};
    uint32_t base = PICTURE_HEAD + PICTURE_ROW * (uint32_t)bars;
    for (size_t i = 0; i < bars; i++) {
        const struct tp_sweep_score *s = &a->scores[a->order[i]];
        axis.low = fmin(axis.low, s->sum / s->traces);
        axis.high = fmax(axis.high, s->worst);
    }
    const struct tp_sweep_frame frame = {.title = "Best settings by ",
                                         .metric = a->metric,
                                         .ratio = tp_sweep_ratio_name(a),
                                         .about = ": geometric mean (bar), worst trace (line)",
                                         .y = y,
                                         .height = settings_height(all, answer)};
    tp_sweep_frame_begin(&frame, out);
    write_ratio_axis(&axis, PICTURE_HEAD, base, out);
    for (size_t i = 0; i < bars; i++) {
        const struct tp_sweep_score *s = &a->scores[a->order[i]];
        uint32_t top = PICTURE_HEAD + PICTURE_ROW * (uint32_t)i, begin = place_on(&axis, 0);
        uint32_t mean = place_on(&axis, s->sum / s->traces);
        uint32_t left = mean < begin ? mean : begin, right = mean < begin ? begin : mean;
        write_cut(out, s->competes ? "end ink" : "end muted", 10 * (PICTURE_LEFT - 8),
                  10 * (top + 15), all->picked.settings[a->order[i]].text, NAME_CUT);
        fprintf(out, "<rect class=\"%s\" x=\"%s\" y=\"%u\" width=\"%s\" height=\"12\"/>\n",
                s->competes ? "c0" : "muted", tp_svg_px(left).s, top + 5,
                tp_svg_px(right - left + 10).s);
        fprintf(out, "<path class=\"line ink\" d=\"M%s %uH%s\"/>\n", tp_svg_px(mean).s, top + 11,
                tp_svg_px(place_on(&axis, s->worst)).s);
        tp_svg_text(out, "ink", 10 * (PICTURE_RIGHT + 10), 10 * (top + 15),
                    tp_sweep_times(tp_sweep_mean(s)).s);
    }
    end_picture(out);
}

/* ---- fronts ---- */

enum { SCATTER_HEIGHT = PICTURE_HEAD + SCATTER_HIGH + 64 };

static uint32_t front_height(const struct tp_sweep_answers *all, size_t answer)
{
    return SCATTER_HEIGHT * (uint32_t)all->list[answer].front_count;
}

struct scatter {
    const struct tp_sweep_answers *all;
    const struct tp_sweep_answer *a;
    const struct tp_sweep_front *f;
    struct log_axis x, y;
    uint32_t begin; /* pixels: of the plot in the outer element */
};

static double scatter_cost(const struct scatter *s, uint32_t setting)
{
    double cost = tp_sweep_cost(&s->all->picked, s->a, setting, s->f->cost);
    return log(cost < 1 ? 1 : cost);
}

/* The settings that are drawn, by their place in the ranking. */
static bool is_dot(const struct scatter *s, size_t place)
{
    return !isnan(tp_sweep_cost(&s->all->picked, s->a, s->a->order[place], s->f->cost));
}

static double scatter_mean(const struct scatter *s, uint32_t setting)
{
    return s->a->scores[setting].sum / s->a->scores[setting].traces;
}

static void scatter_range(struct scatter *s, size_t dots)
{
    s->x = (struct log_axis){INFINITY, -INFINITY, SCATTER_LEFT, SCATTER_RIGHT};
    s->y = (struct log_axis){INFINITY, -INFINITY, PICTURE_HEAD + SCATTER_HIGH, PICTURE_HEAD};
    for (size_t i = 0; i < dots; i++) {
        if (!is_dot(s, i))
            continue;
        double cost = scatter_cost(s, s->a->order[i]), mean = scatter_mean(s, s->a->order[i]);
        s->x.low = fmin(s->x.low, cost);
        s->x.high = fmax(s->x.high, cost);
        s->y.low = fmin(s->y.low, mean);
        s->y.high = fmax(s->y.high, mean);
    }
    double wide = fmax(s->x.high - s->x.low, 0.1), high = fmax(s->y.high - s->y.low, 0.02);
    s->x.low -= wide * 0.05;
    s->x.high += wide * 0.05;
    s->y.low -= high * 0.08;
    s->y.high += high * 0.08;
}

static void write_scatter_axes(const struct scatter *s, FILE *out)
{
    double at[16];
    uint32_t base = PICTURE_HEAD + SCATTER_HIGH;
    const struct tp_metric *cost = tp_sweep_cost_metric(&s->all->picked, s->f->cost);
    size_t count = find_ticks(&s->y, 22, at, 16);
    for (size_t i = 0; i < count; i++) {
        uint32_t y = place_on(&s->y, log(at[i]));
        fprintf(out, "<path class=\"grid\" d=\"M%u %sH%u\"/>\n", SCATTER_LEFT, tp_svg_px(y).s,
                SCATTER_RIGHT);
        tp_svg_text(out, "end muted", 10 * (SCATTER_LEFT - 8), y + 45, tp_text_of("%gx", at[i]).s);
    }
    fprintf(out, "<path class=\"muted\" d=\"M%u %uH%u\"/>\n", SCATTER_LEFT, base, SCATTER_RIGHT);
    count = find_ticks(&s->x, 80, at, 16);
    for (size_t i = 0; i < count; i++)
        tp_svg_text(out, "middle muted", place_on(&s->x, log(at[i])), 10 * (base + 18),
                    tp_count((uint64_t)at[i]).s);
    tp_svg_text(out, "middle muted", 10 * (SCATTER_LEFT + SCATTER_RIGHT) / 2, 10 * (base + 40),
                tp_sweep_cost_name(cost));
}

/* The line goes down at each point: between two there is nothing better. */
static void write_front_line(const struct scatter *s, FILE *out)
{
    uint32_t last = 0;
    fputs("<path class=\"line c0\" d=\"", out);
    for (size_t i = 0; i < s->f->count; i++) {
        struct tp_text x = tp_svg_px(place_on(&s->x, scatter_cost(s, s->f->settings[i])));
        struct tp_text y = tp_svg_px(place_on(&s->y, scatter_mean(s, s->f->settings[i])));
        if (i)
            fprintf(out, "H%sV%s", x.s, y.s);
        else
            fprintf(out, "M%s %s", x.s, y.s);
    }
    fputs("\"/>\n", out);
    for (size_t i = 0; i < s->f->count; i++) {
        uint32_t x = place_on(&s->x, scatter_cost(s, s->f->settings[i]));
        uint32_t y = place_on(&s->y, scatter_mean(s, s->f->settings[i]));
        fprintf(out, "<rect class=\"c0\" x=\"%s\" y=\"%s\" width=\"9\" height=\"9\"/>\n",
                tp_svg_px(x - 45).s, tp_svg_px(y - 45).s);
        if (i && y < last + 10 * LABEL_GAP)
            continue;
        write_cut(out, "halo ink", x + 90, y - 30, s->all->picked.settings[s->f->settings[i]].text,
                  x < 10 * 400 ? NAME_CUT : NAME_CUT - 12);
        last = y;
    }
}

static void front_write(const struct tp_sweep_answers *all, size_t answer, uint32_t y, FILE *out)
{
    const struct tp_sweep_answer *a = &all->list[answer];
    size_t dots = a->competing < DOTS_MOST ? a->competing : DOTS_MOST;
    for (size_t k = 0; k < a->front_count; k++) {
        struct scatter s = {.all = all, .a = a, .f = &a->fronts[k]};
        const struct tp_metric *cost = tp_sweep_cost_metric(&all->picked, s.f->cost);
        scatter_range(&s, dots);
        const struct tp_sweep_frame frame = {
            .title = "",
            .metric = a->metric,
            .against = tp_sweep_cost_name(cost),
            .ratio = tp_sweep_ratio_name(a),
            .about = " upwards; squares: settings that no other beats in both",
            .y = y + (uint32_t)k * SCATTER_HEIGHT,
            .height = SCATTER_HEIGHT};
        tp_sweep_frame_begin(&frame, out);
        write_scatter_axes(&s, out);
        for (size_t i = 0; i < dots; i++) {
            if (!is_dot(&s, i))
                continue;
            fprintf(out, "<circle class=\"muted\" cx=\"%s\" cy=\"%s\" r=\"2.5\"/>\n",
                    tp_svg_px(place_on(&s.x, scatter_cost(&s, a->order[i]))).s,
                    tp_svg_px(place_on(&s.y, scatter_mean(&s, a->order[i]))).s);
        }
        write_front_line(&s, out);
        end_picture(out);
    }
}

/* ---- profiles ---- */

enum { PROFILE_HIGH = 240, PROFILE_HEIGHT = PICTURE_HEAD + PROFILE_HIGH + 60 };

static uint32_t profile_height(const struct tp_sweep_answers *all, size_t answer)
{
    const struct tp_sweep_answer *a = &all->list[answer];
    return a->traces && a->profile_count ? PROFILE_HEIGHT : 0;
}

static uint32_t profile_x(size_t factor)
{
    return 10 * (SCATTER_LEFT +
                 (SCATTER_RIGHT - SCATTER_LEFT) * (uint32_t)factor / (TP_SWEEP_FACTORS - 1));
}

static uint32_t profile_y(const struct tp_sweep_answer *a, const struct tp_sweep_score *s,
                          size_t factor)
{
    double share = (double)s->factors[factor] / a->traces;
    return (uint32_t)lrint(10 * (PICTURE_HEAD + PROFILE_HIGH * (1 - share)));
}

static void write_profile_axes(FILE *out)
{
    for (uint32_t percent = 0; percent <= 100; percent += 25) {
        uint32_t y = PICTURE_HEAD + PROFILE_HIGH * (100 - percent) / 100;
        fprintf(out, "<path class=\"grid\" d=\"M%u %uH%u\"/>\n", SCATTER_LEFT, y, SCATTER_RIGHT);
        tp_svg_text(out, "end muted", 10 * (SCATTER_LEFT - 8), 10 * y + 45,
                    tp_text_of("%u%%", percent).s);
    }
    for (size_t i = 0; i < TP_SWEEP_FACTORS; i++)
        tp_svg_text(out, "middle muted", profile_x(i), 10 * (PICTURE_HEAD + PROFILE_HIGH + 18),
                    tp_text_of("%gx", tp_sweep_factors[i]).s);
}

/* Labels at the ends of lines, below each other in the order of the ends. */
static void write_profile_labels(const struct tp_sweep_answers *all,
                                 const struct tp_sweep_answer *a, size_t lines, FILE *out)
{
    bool done[LINES_MOST] = {false};
    uint32_t free_from = 0;
    for (size_t n = 0; n < lines; n++) {
        size_t next = lines;
        uint32_t highest = UINT32_MAX;
        for (size_t i = 0; i < lines; i++) {
            uint32_t y = profile_y(a, &a->scores[a->profiles[i]], TP_SWEEP_FACTORS - 1);
            if (!done[i] && y < highest) {
                highest = y;
                next = i;
            }
        }
        done[next] = true;
        highest = highest > free_from ? highest : free_from;
        free_from = highest + 10 * LABEL_GAP;
        write_cut(out, tp_text_of("name c%zu", next).s, 10 * (SCATTER_RIGHT + 12), highest + 45,
                  all->picked.settings[a->profiles[next]].strategy, NAME_CUT - 12);
    }
}

static void profile_write(const struct tp_sweep_answers *all, size_t answer, uint32_t y, FILE *out)
{
    static const char *const dashes[] = {"", "7 3", "2 2", "10 3 2 3", "4 2", "12 4", "6 2 1 2"};
    const struct tp_sweep_answer *a = &all->list[answer];
    size_t lines = a->profile_count < LINES_MOST ? a->profile_count : LINES_MOST;
    const struct tp_sweep_frame frame = {
        .title = "Performance profile of ",
        .metric = a->metric,
        .about = "Share of traces within a factor of the best setting of the trace; each strategy "
                 "with its best setting for all traces",
        .y = y,
        .height = PROFILE_HEIGHT};
    tp_sweep_frame_begin(&frame, out);
    write_profile_axes(out);
    for (size_t i = 0; i < lines; i++) {
        const struct tp_sweep_score *s = &a->scores[a->profiles[i]];
        fprintf(out, "<path class=\"line c%zu\"", i);
        if (i % 7)
            fprintf(out, " stroke-dasharray=\"%s\"", dashes[i % 7]);
        for (size_t k = 0; k < TP_SWEEP_FACTORS; k++)
            fprintf(out, k ? "L%s %s" : " d=\"M%s %s", tp_svg_px(profile_x(k)).s,
                    tp_svg_px(profile_y(a, s, k)).s);
        fputs("\"/>\n", out);
    }
    write_profile_labels(all, a, lines, out);
    if (a->profile_count > lines)
        tp_svg_text(out, "muted", 140, 10 * (PROFILE_HEIGHT - 14),
                    tp_text_of("%s more not drawn", tp_count(a->profile_count - lines).s).s);
    end_picture(out);
}

/* ---- effects ---- */

static size_t effect_bars(const struct tp_sweep_answer *a)
{
    return a->effect_count < BARS_MOST ? a->effect_count : BARS_MOST;
}

static uint32_t effects_height(const struct tp_sweep_answers *all, size_t answer)
{
    size_t bars = effect_bars(&all->list[answer]);
    return bars ? PICTURE_HEAD + PICTURE_FOOT + PICTURE_ROW * (uint32_t)bars : 0;
}

static void effects_write(const struct tp_sweep_answers *all, size_t answer, uint32_t y, FILE *out)
{
    const struct tp_sweep_answer *a = &all->list[answer];
    size_t bars = effect_bars(a);
    struct log_axis axis = {0, TP_SWEEP_PERCENT, PICTURE_LEFT, PICTURE_RIGHT};
    for (size_t i = 0; i < bars; i++)
        axis.high =
            fmax(axis.high, a->effects[i].means[a->effects[i].count - 1] - a->effects[i].means[0]);
    const struct tp_sweep_frame frame = {
        .title = "Effect of each option on ",
        .metric = a->metric,
        .about = "Worst value against the best one, in the same combinations of the others",
        .y = y,
        .height = effects_height(all, answer)};
    tp_sweep_frame_begin(&frame, out);
    write_ratio_axis(&axis, PICTURE_HEAD, PICTURE_HEAD + PICTURE_ROW * (uint32_t)bars, out);
    for (size_t i = 0; i < bars; i++) {
        const struct tp_sweep_effect *e = &a->effects[i];
        uint32_t top = PICTURE_HEAD + PICTURE_ROW * (uint32_t)i;
        double size = e->means[e->count - 1] - e->means[0];
        struct tp_str name = {0};
        tp_str_add(&name, "%s: %s", e->strategy, e->option);
        write_cut(out, "end ink", 10 * (PICTURE_LEFT - 8), 10 * (top + 15), tp_str_text(&name),
                  NAME_CUT);
        tp_str_drop(&name);
        fprintf(out, "<rect class=\"c1\" x=\"%u\" y=\"%u\" width=\"%s\" height=\"12\"/>\n",
                PICTURE_LEFT, top + 5, tp_svg_px(place_on(&axis, size) - 10 * PICTURE_LEFT + 10).s);
        tp_svg_text(out, "ink", 10 * (PICTURE_RIGHT + 10), 10 * (top + 15),
                    tp_text_of("%s%%", tp_signed_percent(tp_sweep_effect_size(e)).s).s);
    }
    end_picture(out);
}

/* ---- all of them ---- */

const struct tp_sweep_picture tp_sweep_pictures[TP_SWEEP_PICTURES] = {
    {"ranking", settings_height, settings_write},
    {"fronts", front_height, front_write},
    {"profile", profile_height, profile_write},
    {"effects", effects_height, effects_write},
    {"heat", tp_sweep_heat_height, tp_sweep_heat_write}};
