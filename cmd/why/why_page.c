/* See why.h. */

#include "alloc/base/numbers.h"
#include "alloc/base/units.h"
#include "cmd/charts/chart.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/frame_events.h"
#include "cmd/page/frames_json.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/page/trace_page.h"
#include "cmd/report/report_sites.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"
#include "cmd/why/why.h"
#include "cmd/why/why_answer.h"
#include "cmd/why/why_picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- why page data ---- */

/* The data of the page of `tapool why`, for devices that have a picture: the document of --json
 * (why.h) without blanks, where each device has a member more:
 *
 *     "page": { "devices": [ {"recorded": {...},        what was reserved and live, as
 *                                                       cmd/page/curve_data.h says
 *                             "site_curve": {...}} ],   as cmd/page/trace_page.h says
 *               "marks": [],
 *               "frames": {..., "born": "AQDI...",      of one moment, as frames_json.h says
 *                          "marks": [[0, 4096], ...]} }
 *
 * The rows of the frame have numbers of blocks in place of events. `born` is base 64 of these
 * numbers, each less the one before it, and then the event that allocated the block, 0: it was live
 * before the first one. `marks` are blocks in the way, each the bytes of all segments before it and
 * its size. */

/* Bytes for the maps of all devices together. */
enum { MAPS_BYTES = 1500000 };

/* The curve ends where its last change was: the page shows the recording to its end. */
static void write_curve(struct tp_json *j, cJSON *page, const struct tp_why *w)
{
    const struct tp_curve *curve = &w->picture->curve;
    const struct tp_curve_point *last = &curve->points[curve->count - 1];
    const uint64_t *end = w->moment.has_time ? &w->picture->end_clock : NULL;
    struct tp_curve_data data;
    const struct tp_program_facts facts = {.time_known = w->curve_timed};
    cJSON *device = tp_json_item(j, tp_json_array(j, page, "devices"));
    tp_site_curve_data(j, device, &facts, w->site_curve, TP_SITE_POINTS);
    tp_curve_data_begin(&data, j, device, "recorded");
    for (const struct tp_curve_point *p = curve->points; p <= last; p++)
        tp_curve_data_add(&data, j, p->event, end ? &p->clock : NULL, p->bytes);
    if (last->event < w->moment.events)
        tp_curve_data_add(&data, j, w->moment.events, end, last->bytes);
    tp_json_array(j, page, "marks");
}

/* ---- the map ---- */

static int write_births(struct tp_json *j, cJSON *frames, const struct tp_why_picture *p,
                        struct tp_err *err)
{
    struct tp_frame_event *shown = NULL;
    size_t count = 0;
    uint64_t last = 0;
    int rc = tp_frame_events(p->frames, &shown, &count, err);
    uint8_t *bytes = rc == TP_OK ? malloc(2 * (size_t)TP_FRAME_NUMBER_MOST * count + 1) : NULL;
    uint8_t *end = bytes;
    for (size_t i = 0; bytes && i < count; last = shown[i++].event)
        if (shown[i].event >= p->first && shown[i].event - p->first < p->live) {
            end = tp_frame_number(end, shown[i].event - last);
            end = tp_frame_number(end, p->born[shown[i].event - p->first]);
        }
    if (bytes)
        tp_json_base64(j, frames, "born", bytes, (size_t)(end - bytes));
    j->failed |= !bytes;
    free(bytes);
    free(shown);
    return rc;
}

static void write_marks(struct tp_json *j, cJSON *frames, const struct tp_why_picture *p)
{
    cJSON *marks = tp_json_array(j, frames, "marks");
    for (size_t i = 0; i < p->mark_count; i++) {
        cJSON *mark = cJSON_CreateArray();
        tp_json_push(j, mark, tp_json_number(j, p->marks[i].at));
        tp_json_push(j, mark, tp_json_number(j, p->marks[i].size));
        tp_json_push(j, marks, mark);
    }
}

/* Where the names of places do not fit, the map does without them. */
static int write_map_data(struct tp_json *j, cJSON *page, const struct tp_why *w, size_t most_bytes,
                          struct tp_err *err)
{
    struct tp_placed_list placed = {0};
    struct tp_frames_shown shown = {.frames = w->picture->frames,
                                    .places = w->sites ? w->sites->table : NULL};
    int rc = tp_json_frames(j, page, &shown, most_bytes, &placed);
    cJSON *frames = cJSON_GetObjectItemCaseSensitive(page, "frames");
    if (rc == TP_OK && !frames && shown.places) {
        shown.places = NULL;
        rc = tp_json_frames(j, page, &shown, most_bytes, &placed);
        frames = cJSON_GetObjectItemCaseSensitive(page, "frames");
    }
    if (rc == TP_OK && frames) {
        write_marks(j, frames, w->picture);
        rc = write_births(j, frames, w->picture, err);
    }
    if (rc == TP_OK)
        rc = tp_json_places(j, page, shown.places, &placed, 0);
    tp_placed_drop(&placed);
    return rc;
}

/* ---- the document ---- */

static int tp_why_page_data(const struct tp_why *list, size_t count, const char *file, FILE *out,
                            struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_why_tree(&j, list, count, file);
    cJSON *device = NULL;
    size_t i = 0;
    int rc = TP_OK;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(root, "devices"))
    {
        cJSON *page = tp_json_object(&j, device, "page");
        write_curve(&j, page, &list[i]);
        if (rc == TP_OK)
            rc = write_map_data(&j, page, &list[i], MAPS_BYTES / count, err);
        i++;
    }
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc == TP_ENOMEM ? tp_html_no_memory(err) : rc;
}

/* ---- why chart ---- */

/* Memory over the recording as a picture, for pages that are read without JavaScript. */

enum { LINES = 2 };

static struct tp_text mark_text(const struct tp_why_moment *m)
{
    struct tp_text when =
        m->event ? tp_text_of("event %s", tp_count(m->event).s) : tp_text_of("the beginning");
    if (m->failed)
        return tp_text_of("%s: OOM, %s requested", when.s, tp_bytes(m->what.size, false).s);
    return tp_text_of("%s: explained", when.s);
}

static void draw(const struct tp_why *w, const struct tp_columns *columns, struct tp_stretch *at,
                 void (*write)(const struct tp_chart *chart, FILE *out), FILE *out)
{
    const struct tp_why_moment *m = &w->moment;
    const struct tp_text text = mark_text(m), capacity = tp_bytes(w->room.capacity, false);
    const struct tp_text level = tp_text_of("capacity %s", capacity.s);
    struct tp_str about = {0};
    tp_str_add(&about, "Memory that %s reserved, and memory requested and not freed.",
               w->by->certifier->by);
    const struct tp_chart_line lines[LINES] = {
        {.kind = TP_CHART_REQUESTED, .name = "live", .at = at},
        {.kind = TP_CHART_RECORDED, .name = "reserved", .at = at + columns->count}};
    const struct tp_chart_mark mark = {
        .text = text.s, .line = 1, .column = tp_columns_find(columns, m->event)};
    const struct tp_chart_level levels = {level.s, w->room.capacity};
    const struct tp_chart chart = {.title = "Memory over time",
                                   .about = tp_str_text(&about),
                                   .description = text.s,
                                   .columns = columns,
                                   .lines = lines,
                                   .line_count = LINES,
                                   .levels = &levels,
                                   .level_count = w->room.capacity != 0,
                                   .marks = &mark,
                                   .mark_count = 1};
    write(&chart, out);
    tp_str_drop(&about);
}

/* Makes a chart of so many columns of what was reserved and live, with the moment marked, and has
 * it written; none where there are no events. The answer must have a picture. TP_ENOMEM. */
static int tp_why_chart(const struct tp_why *w, uint32_t count,
                        void (*write)(const struct tp_chart *chart, FILE *out), FILE *out,
                        struct tp_err *err)
{
    struct tp_columns *columns = calloc(1, sizeof *columns);
    struct tp_stretch *at = calloc(LINES * (size_t)count, sizeof *at);
    int rc = columns && at ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory while drawing a chart");
    if (rc == TP_OK && w->moment.events) {
        tp_columns_evenly(w->moment.events, count, columns);
        tp_columns_thin(columns, &w->picture->curve, TP_CURVE_REQUESTED, at);
        tp_columns_thin(columns, &w->picture->curve, TP_CURVE_RESERVED, at + columns->count);
        draw(w, columns, at, write, out);
    }
    free(columns);
    free(at);
    return rc;
}

/* A device and its page. */
struct device_part {
    const struct tp_why_page *page;
    const struct tp_why *w;
};

static struct tp_text size_of(const struct device_part *d, uint64_t bytes)
{
    return tp_bytes(bytes, d->page->exact);
}

/* ---- the answer ---- */

/* What a verdict means for those who have not met it before, whoever's allocator it was. */
static const char *const meanings[TP_WHY_VERDICTS] = {
    [TP_WHY_NO_REQUEST] = "No request failed at this event.",
    [TP_WHY_TOO_BIG] =
        "Live tensors and the new one need more than the capacity. No allocator setting helps: "
        "make a smaller request, keep fewer tensors live, or use a larger GPU.",
    [TP_WHY_FRAGMENTED] = "Enough memory was free, but no free block was large enough.",
    [TP_WHY_NO_CAPACITY] =
        "The file does not record the free memory of the GPU. No free block of reserved memory "
        "was large enough.",
    [TP_WHY_REFUSED] =
        "By the figures in the file the GPU had enough free memory, and refused the request.",
    [TP_WHY_HAD_ROOM] =
        "A free block serves this request by the rules: the recording differs in something that "
        "the file does not have."};

static const struct tp_why *why_of(const void *of)
{
    return ((const struct device_part *)of)->w;
}

static void print_verdict(const void *of, struct tp_page *page)
{
    tp_why_head_print(why_of(of), page);
    tp_why_verdict_print(why_of(of), page);
}

static int write_answer(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_why *w = why_of(of);
    const char *own = w->by->meanings ? w->by->meanings[w->room.verdict] : NULL;
    (void)err;
    tp_put(out, TP_TO_XML, "<p>%s</p>\n", own ? own : meanings[w->room.verdict]);
    fputs("<details><summary>Terms</summary>\n<p>", out);
    fputs(w->by->terms, out);
    fputs("</p></details>\n", out);
    return TP_OK;
}

/* ---- the sum ---- */

static bool free_known(const struct tp_why *w)
{
    return w->judged && w->moment.what.has_free;
}

static void print_sum(const void *of, struct tp_page *page)
{
    tp_why_sum_print(why_of(of), page);
}

/* The parts side by side; with what the GPU had free, they are the capacity. */
static int write_sum(const void *of, FILE *out, struct tp_err *err)
{
    const struct device_part *d = of;
    const struct tp_why *w = d->w;
    struct tp_sum_part parts[TP_WHY_PARTS];
    bool known = free_known(w);
    (void)err;
    tp_why_parts(w, d->page->exact, parts);
    parts[TP_WHY_PARTS - 1] = (struct tp_sum_part){.bytes = known ? w->moment.what.device_free : 0,
                                                   .label = tp_text_of("free on the GPU"),
                                                   .look = "free"};
    tp_html_sum(parts, TP_WHY_PARTS, known ? w->room.capacity : w->sum.reserved, d->page->exact,
                out);
    return TP_OK;
}

/* ---- the map ---- */

static bool has_map(const void *of)
{
    const struct device_part *d = of;
    return d->w->picture->frames != NULL;
}

static void print_map(const void *of, struct tp_page *page)
{
    const struct tp_why *w = why_of(of);
    size_t marked = w->room.block_count;
    tp_page_put(page, 0, "Each row is a %s, to scale; free blocks are hatched.%s%s",
                w->by->certifier->segment,
                marked ? " Frames mark blocks in the way of the request." : "",
                marked > TP_WHY_MARKS ? " Only the first 256 have one." : "");
}

/* ---- room ---- */

struct bar_row {
    const char *name, *css_class;
    uint64_t bytes;
};

static void write_bars(const struct device_part *d, const struct bar_row *rows, size_t count,
                       FILE *out)
{
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++)
        most = rows[i].bytes > most ? rows[i].bytes : most;
    fputs("<ul class=\"bars room\">\n", out);
    for (size_t i = 0; i < count; i++) {
        tp_put(out, TP_TO_XML, "<li><span>%s: <b>%s</b></span> <span class=\"bar\">", rows[i].name,
               size_of(d, rows[i].bytes).s);
        tp_html_piece(rows[i].css_class, rows[i].bytes, most, out);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n", out);
}

static bool has_request(const void *of)
{
    const struct device_part *d = of;
    return d->w->judged;
}

static void print_way(const void *of, struct tp_page *page)
{
    static const struct tp_column columns[] = {{.name = "event"},
                                               {.name = "requested"},
                                               {.name = "largest free block"},
                                               {.name = "free"},
                                               {.name = "reserved"},
                                               {.name = "capacity"},
                                               {.name = "cause", .left = true},
                                               {.name = "allocation site", .left = true}};
    const struct tp_why *w = why_of(of);
    struct tp_table table = {0};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    tp_table_count(&table, w->moment.event);
    tp_table_bytes(&table, w->moment.what.size, page->exact);
    tp_table_bytes(&table, w->room.largest, page->exact);
    tp_table_bytes(&table, w->room.there, page->exact);
    tp_table_bytes(&table, w->sum.reserved, page->exact);
    tp_table_bytes(&table, w->room.capacity ? w->room.capacity : TP_NONE, page->exact);
    tp_table_add(&table, "%s", tp_why_verdict_words[w->room.verdict]);
    tp_table_add(&table, "%s", w->place);
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&table);
    tp_why_way_print(w, page);
}

static int write_room(const void *of, FILE *out, struct tp_err *err)
{
    const struct device_part *d = of;
    const struct tp_why_room *r = &d->w->room;
    const struct bar_row rows[] = {{"request", "request", r->need},
                                   {"largest free block for it", "free", r->largest},
                                   {"largest request that fits", "live", r->fitting},
                                   {"all free memory", "free", r->there},
                                   {"free on the GPU", "free", d->w->moment.what.device_free}};
    (void)err;
    write_bars(d, rows, sizeof rows / sizeof *rows - !free_known(d->w), out);
    return TP_OK;
}

/* ---- other settings ---- */

static bool has_tries(const void *of)
{
    return why_of(of)->tries.count >= 2;
}

static void print_tries(const void *of, struct tp_page *page)
{
    tp_why_tries_print(why_of(of), page);
}

/* ---- sites, memory over time, accuracy ---- */

static bool has_sites(const void *of)
{
    const struct device_part *d = of;
    return d->w->sites != NULL;
}

static void print_sites(const void *of, struct tp_page *page)
{
    tp_sites_print(why_of(of)->sites, page);
}

static bool has_site_curve(const void *of)
{
    return why_of(of)->site_curve != NULL;
}

static bool has_events(const void *of)
{
    const struct device_part *d = of;
    return d->w->moment.events != 0;
}

static int write_still(const void *of, uint16_t device, uint32_t columns, FILE *out,
                       struct tp_err *err)
{
    (void)device; /* the answer is of one */
    return tp_why_chart(of, columns, tp_still_html, out, err);
}

static int write_memory(const void *of, FILE *out, struct tp_err *err)
{
    const struct device_part *d = of;
    return tp_stills_html(write_still, d->w, 1, out, err);
}

static void print_ground(const void *of, struct tp_page *page)
{
    tp_why_ground_print(why_of(of), page);
}

static void print_screen(const void *of, struct tp_page *page)
{
    const struct device_part *d = of;
    page->exact = true;
    tp_why_text(d->w, d->page->count > 1, page);
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct device_part *d = of;
    char *word = (char *)(uintptr_t)d->page->file;
    tp_html_command("why", &word, 1, d->page->rows, d->page->opts, out);
    return tp_html_folded(TP_HTML_SCREEN, print_screen, d, out, err);
}

/* ---- the page ---- */

enum { HEAP = 3, SECTIONS = 10 };

static const struct tp_html_section sections[SECTIONS] = {
    {.id = "answer", .title = "Verdict", .pick = print_verdict, .write = write_answer},
    {.id = "sum", .title = "Reserved memory by use", .print = print_sum, .write = write_sum},
    {.id = "room",
     .title = "Request and free memory",
     .print = print_way,
     .write = write_room,
     .there = has_request},
    [HEAP] = {.id = "heap", /* its view is named by the allocator's word */
              .title = "Heap map",
              .print = print_map,
              .there = has_map},
    {.id = "tries",
     .title = "Other settings",
     .lead = "More settings, with the text to paste: <code>tapool tune</code>",
     .print = print_tries,
     .there = has_tries},
    {.id = "sites",
     .title = "Live memory by allocation site",
     .view = "Live memory by allocation site: areas are proportional to bytes",
     .print = print_sites,
     .there = has_sites},
    {.id = "recorded",
     .title = "Memory over time",
     .view = "Reserved and live memory over time",
     .write = write_memory,
     .there = has_events},
    TP_SITE_CURVE_SECTION(has_site_curve),
    {.id = "ground", .title = "Accuracy", .print = print_ground},
    {.id = "settings", .title = "All figures", .write = write_settings},
};

/* Without the folder, which is in the command line. */
static const char *name_of(const struct tp_why_page *p)
{
    const char *slash = strrchr(p->file, '/');
    return slash && slash[1] ? slash + 1 : p->file;
}

static void print_head(const void *of, struct tp_page *page)
{
    const struct tp_why *w = why_of(of);
    tp_page_put(page, 0, "%s: reserved memory of %s at one event of its recording.", w->by->capture,
                tp_device_title(w->device, w->name).s);
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_why *w = why_of(of);
    bool failed = w->judged;
    if (failed)
        tp_table_figure(t, "verdict", tp_why_verdict_words[w->room.verdict], "bad");
    tp_table_figure(t, failed ? "request" : "requested",
                    tp_bytes(failed ? w->moment.what.size : w->sum.requested, exact).s, "");
    tp_table_figure(t, "reserved", tp_bytes(w->sum.reserved, exact).s, "");
    tp_table_figure(
        t, "free",
        tp_bytes(failed ? w->room.there : w->sum.hole_bytes + w->sum.free_bytes, exact).s, "");
    const struct tp_text in_used =
        tp_text_of("largest free block in used %ss", w->by->certifier->segment);
    tp_table_figure(t, failed ? "largest free block" : in_used.s,
                    tp_bytes(failed ? w->room.largest : w->sum.largest, exact).s, "");
}

static int write_article(const struct tp_why_page *p, size_t i, FILE *out, struct tp_err *err)
{
    const struct device_part d = {p, &p->list[i]};
    struct tp_html_section own[SECTIONS];
    struct tp_str title = {0}, view = {0};
    memcpy(own, sections, sizeof own);
    tp_str_add(&view, "Heap at this event: a row per %s, with its live and free blocks",
               d.w->by->certifier->segment);
    own[HEAP].view = tp_str_text(&view);
    tp_str_add(&title, "%s", name_of(p));
    if (p->count > 1)
        tp_str_add(&title, ", %s", tp_device_title(d.w->device, d.w->name).s);
    const struct tp_html_article article = {.title = tp_str_text(&title),
                                            .head = print_head,
                                            .figures = add_figures,
                                            .sections = own,
                                            .section_count = SECTIONS,
                                            .of = &d,
                                            .exact = p->exact,
                                            .first = i,
                                            .count = 1};
    int rc = tp_html_article(&article, out, err);
    tp_str_drop(&title);
    tp_str_drop(&view);
    return rc;
}

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_why_page *p = of;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < p->count; i++)
        rc = write_article(p, i, out, err);
    return rc;
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_why_page *p = of;
    return tp_why_page_data(p->list, p->count, p->file, out, err);
}

int tp_why_page(const struct tp_why_page *p, FILE *out, struct tp_err *err)
{
    const struct tp_html_page page = {
        .title = name_of(p), .articles = write_articles, .data = write_data, .of = p};
    return tp_html_write(&page, out, err);
}
