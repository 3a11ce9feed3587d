/* See trace_page.h. The data of both is the command's JSON with a member `page`, whose runs are
 * traces, which the views draw:
 *
 *     { ..., "page": { "runs": [ { "requested": NAME OF THE LINE, "recorded": {...}, "sites":
 * ..., "page": { "devices": [ {"program": {...}, "recorded": {...}, "site_curve": {...}} ],
 * "marks":
 * [...], "trace": {...}, "places": {...} } } ] } }
 *
 * `places` are who asked for what at the points of the curves of that trace (places_json.h). */

#include "cmd/charts/memory_chart.h"
#include "cmd/info/trace_pair.h"
#include "cmd/page/asked.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/page/trace_page.h"
#include "cmd/report/report_sites.h"
#include "cmd/ui/stop.h"

/* Curves of more devices would make a page larger than 3 MB. */
enum { DEVICES_DRAWN = 4 };

#define ROWS(array) (sizeof(array) / sizeof *(array))

static int write_still(const void *of, uint16_t device, uint32_t columns, FILE *out,
                       struct tp_err *err)
{
    struct tp_memory_chart *m = NULL;
    const struct tp_info_report *r = of;
    const struct tp_result trace = {
        .trace = r->trace, .facts = tp_program_facts(r->trace->program), .captured = r->captured};
    int rc = tp_memory_chart_still(&trace, 0, r->info, device, columns, &m, err);
    if (rc != TP_OK)
        return rc;
    tp_still_html(&m->chart, out);
    tp_memory_chart_free(m);
    return TP_OK;
}

static void say_drawn(uint32_t devices, FILE *out)
{
    if (devices > DEVICES_DRAWN)
        fprintf(out, "<p>Drawn are the first %d of %u; --json has the curves of all.</p>\n",
                DEVICES_DRAWN, (unsigned)devices);
}

/* What the program requested of each device that is drawn, an object each. */
static cJSON *curves_data(struct tp_json *j, cJSON *page, const struct tp_info *info,
                          const struct tp_program_facts *facts)
{
    cJSON *devices = tp_json_array(j, page, "devices");
    for (uint32_t d = 0; d < info->device_count && d < DEVICES_DRAWN; d++) {
        cJSON *of = tp_json_item(j, devices);
        if (info->devices[d].curve.count)
            tp_curve_data(j, of, "program", facts, &info->devices[d].curve, TP_CURVE_POINTS, false);
    }
    return devices;
}

/* ---- one trace ---- */

struct one_trace {
    const struct tp_info_report *report;
    const struct tp_info_command *command;
};

static const struct tp_info_report *report_of(const void *of)
{
    return ((const struct one_trace *)of)->report;
}

static void print_name(const void *of, struct tp_page *page)
{
    tp_info_name(report_of(of), page);
}

static void print_contents(const void *of, struct tp_page *page)
{
    tp_info_contents(report_of(of), page);
    tp_info_end(report_of(of), page);
}

static bool has_events(const void *of)
{
    return !report_of(of)->trace->meta.nothing;
}

static void print_live(const void *of, struct tp_page *page)
{
    tp_info_live(report_of(of), page);
}

static int write_memory(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_info_report *r = report_of(of);
    say_drawn(r->info->device_count, out);
    return tp_stills_html(write_still, r, r->info->device_count, out, err);
}

static bool has_site_curve(const void *of)
{
    return report_of(of)->captured->site_curve != NULL;
}

static bool has_sites(const void *of)
{
    return report_of(of)->captured->sites != NULL;
}

static void print_sites(const void *of, struct tp_page *page)
{
    tp_sites_print(report_of(of)->captured->sites, page);
}

static void print_objects(const void *of, struct tp_page *page)
{
    tp_info_objects(report_of(of), page);
}

static void print_screen(const void *of, struct tp_page *page)
{
    page->exact = true;
    tp_info_text(report_of(of), page);
}

static void write_command(const struct tp_info_command *c, size_t count, FILE *out)
{
    tp_html_command("info", c->words, count, c->rows, c->opts, out);
}

static int write_figures(const void *of, FILE *out, struct tp_err *err)
{
    write_command(((const struct one_trace *)of)->command, 1, out);
    return tp_html_folded(TP_HTML_SCREEN, print_screen, of, out, err);
}

static const struct tp_html_section one_sections[] = {
    {.id = "contents", .title = "Contents", .print = print_contents},
    {.id = "memory",
     .title = "Memory over time",
     .view = "Memory over time: requested",
     .print = print_live,
     .write = write_memory,
     .there = has_events},
    TP_SITE_CURVE_SECTION(has_site_curve),
    {.id = "sites",
     .title = "Live memory by allocation site",
     .view = "Live memory by allocation site, as areas in proportion",
     .print = print_sites,
     .there = has_sites},
    TP_TRACE_SECTION(print_objects, has_events),
    {.id = "settings", .title = "All figures", .write = write_figures},
};

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_info_report *r = report_of(of);
    const struct tp_program_facts *facts = tp_program_facts(r->trace->program);
    const struct tp_sites *sites = r->captured->sites;
    uint64_t peak = 0;
    for (uint32_t d = 0; d < facts->devices; d++) {
        uint64_t bytes = tp_program_demand(r->trace->program, (uint16_t)d)->bytes;
        peak = bytes > peak ? bytes : peak;
    }
    tp_table_figure(t, facts->devices > 1 ? "largest peak requested" : "peak requested",
                    tp_bytes(peak, exact).s, "");
    tp_table_figure(t, "events", tp_count(facts->events).s, "");
    tp_table_figure(t, "allocations", tp_count(r->info->allocated.objects).s, "");
    if (sites && sites->by == TP_BY_PLACE)
        tp_table_figure(t, "allocation sites", tp_count(sites->places).s, "");
}

static int write_asked(struct tp_json *j, cJSON *page, const struct tp_trace *t, struct tp_err *err)
{
    struct tp_asked a = {0};
    const cJSON *device = NULL;
    int rc = TP_OK;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(page, "devices"))
    {
        if (rc == TP_OK)
            rc = tp_asked_curves(&a, device, err);
    }
    if (rc == TP_OK)
        rc = tp_json_asked(j, page, t, &a, tp_stop_asked, err);
    tp_asked_drop(&a);
    return rc;
}

static int one_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_info_report *r = report_of(of);
    struct tp_json j = {false};
    cJSON *root = tp_info_tree(&j, r), *device = NULL;
    int rc = TP_OK;
    tp_curve_data_empty(root);
    cJSON_DeleteItemFromObjectCaseSensitive(root, "site_curve");
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(root, "devices"))
        tp_curve_data_empty(device);
    cJSON *runs = tp_json_array(&j, tp_json_object(&j, root, "page"), "runs");
    cJSON *run = tp_json_item(&j, runs);
    tp_json_text(&j, run, "requested", "requested");
    tp_info_captured(&j, run, r);
    cJSON *page = tp_json_object(&j, run, "page");
    device = curves_data(&j, page, r->info, tp_program_facts(r->trace->program));
    device = device ? device->child : NULL;
    if (device)
        tp_site_curve_data(&j, device, tp_program_facts(r->trace->program), r->captured->site_curve,
                           TP_SITE_POINTS);
    for (uint32_t d = 0; rc == TP_OK && device; d++, device = device->next)
        rc = tp_recorded_data(&j, device, r->trace, r->captured, d, TP_CURVE_POINTS, err);
    if (rc == TP_OK)
        rc = tp_marks_data(&j, page, r->trace, err);
    if (rc == TP_OK)
        rc = write_asked(&j, page, r->trace, err);
    tp_info_parts(&j, page, "trace", r);
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc;
}

int tp_info_html(const struct tp_info_report *r, const struct tp_info_command *command, FILE *out,
                 struct tp_err *err)
{
    const struct one_trace of = {r, command};
    const struct tp_html_article article = {.title = r->trace->meta.name,
                                            .head = print_name,
                                            .figures = add_figures,
                                            .sections = one_sections,
                                            .section_count = ROWS(one_sections),
                                            .of = &of,
                                            .count = 1};
    const struct tp_html_page page = {.article = &article, .data = one_data, .of = &of};
    return tp_html_write(&page, out, err);
}

/* ---- two traces ---- */

struct two_traces {
    const struct tp_trace_pair *pair;
    const struct tp_info_command *command;
};

static const char *const which[] = {"first", "second"};

static const struct tp_trace_pair *pair_of(const void *of)
{
    return ((const struct two_traces *)of)->pair;
}

static struct tp_info_report side_of(const struct tp_trace_pair *pair, int i)
{
    const struct tp_trace_side *s = &pair->side[i];
    return (struct tp_info_report){.trace = &s->trace, .info = s->info, .captured = &s->captured};
}

static void print_files(const void *of, struct tp_page *page)
{
    tp_info_pair_files(pair_of(of), page);
}

static void add_pair_figures(const void *of, bool exact, struct tp_table *t)
{
    (void)exact;
    tp_info_pair_figures(pair_of(of), t);
}

static void print_checks(const void *of, struct tp_page *page)
{
    const struct tp_trace_pair *pair = pair_of(of);
    size_t met = 0;
    for (size_t i = 0; i < pair->check_count; i++)
        met += pair->checks[i].met;
    if (!pair->check_count)
        return;
    tp_page_at(page, 0, "--fail-on: ");
    tp_page_styled(page, page->column, met ? TP_RED : TP_PLAIN, "%s",
                   met ? "a condition is met" : "no condition is met");
    tp_page_line(page);
    for (size_t i = 0; i < pair->check_count; i++)
        tp_page_put(page, 0, "%s: %s", pair->checks[i].condition.text,
                    pair->checks[i].met ? "met" : "not met");
}

static void print_differences(const void *of, struct tp_page *page)
{
    tp_info_pair_table(pair_of(of), page);
}

static uint32_t most_devices(const struct tp_trace_pair *pair)
{
    uint32_t one = pair->side[0].info->device_count, other = pair->side[1].info->device_count;
    return one > other ? one : other;
}

static int write_both(const void *of, FILE *out, struct tp_err *err)
{
    int rc = TP_OK;
    say_drawn(most_devices(pair_of(of)), out);
    for (int i = 0; rc == TP_OK && i < 2; i++) {
        const struct tp_info_report r = side_of(pair_of(of), i);
        rc = tp_stills_html(write_still, &r, r.info->device_count, out, err);
    }
    return rc;
}

static void print_pair(const void *of, struct tp_page *page)
{
    page->exact = true;
    tp_info_pair_text(pair_of(of), page);
}

static void print_side(const void *of, struct tp_page *page)
{
    page->exact = true;
    tp_info_text(of, page);
}

static const char *const titles[] = {"The first", "The second"};

static int write_pair_figures(const void *of, FILE *out, struct tp_err *err)
{
    write_command(((const struct two_traces *)of)->command, 2, out);
    int rc = tp_html_folded(TP_HTML_SCREEN, print_pair, of, out, err);
    for (int i = 0; rc == TP_OK && i < 2; i++) {
        const struct tp_info_report r = side_of(pair_of(of), i);
        rc = tp_html_folded(titles[i], print_side, &r, out, err);
    }
    return rc;
}

static const struct tp_html_section pair_sections[] = {
    {.id = "answer", .title = "Differences", .pick = print_checks, .print = print_differences},
    {.id = "memory",
     .title = "Memory over time",
     .view = "Memory over time: requested in each of the two traces",
     .lead = "Each over its own events. Where the other one has more, a line goes on at its last "
             "height.",
     .write = write_both},
    {.id = "settings", .title = "All figures", .write = write_pair_figures},
};

static int pair_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_trace_pair *pair = pair_of(of);
    struct tp_json j = {false};
    cJSON *root = tp_info_pair_tree(&j, pair);
    cJSON *runs = tp_json_array(&j, tp_json_object(&j, root, "page"), "runs");
    int rc = TP_OK;
    for (int i = 0; rc == TP_OK && i < 2; i++) {
        const struct tp_info_report r = side_of(pair, i);
        struct tp_program_facts facts = *tp_program_facts(r.trace->program);
        cJSON *run = tp_json_item(&j, runs);
        tp_json_text(&j, run, "requested", tp_text_of("%s: requested", which[i]).s);
        cJSON *page = tp_json_object(&j, run, "page");
        tp_json_array(&j, page, "marks");
        facts.time_known = false; /* one event has two times: that of each trace */
        curves_data(&j, page, r.info, &facts);
        rc = write_asked(&j, page, r.trace, err);
    }
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc;
}

int tp_info_pair_html(const struct tp_trace_pair *pair, const struct tp_info_command *command,
                      FILE *out, struct tp_err *err)
{
    const struct two_traces of = {pair, command};
    enum { NAME = 20 };
    const char *one = pair->side[0].trace.meta.name, *other = pair->side[1].trace.meta.name;
    const struct tp_text title = tp_text_of("%.*s, %.*s", (int)tp_text_bytes(one, NAME), one,
                                            (int)tp_text_bytes(other, NAME), other);
    const struct tp_html_article article = {.title = title.s,
                                            .head = print_files,
                                            .figures = add_pair_figures,
                                            .sections = pair_sections,
                                            .section_count = ROWS(pair_sections),
                                            .of = &of,
                                            .count = 2};
    const struct tp_html_page page = {.article = &article, .data = pair_data, .of = &of};
    return tp_html_write(&page, out, err);
}
