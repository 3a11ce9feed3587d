/* The screen of `tapool info`. It shows only what the trace has; one line lists what the format
 * does not record. */
#include "alloc/base/clean.h"
#include "cmd/info/info.h"
#include "cmd/jobs/catalog.h"
#include "cmd/report/curve_text.h"
#include "cmd/report/recorded_text.h"
#include "cmd/report/report_head.h"
#include "cmd/report/report_sites.h"
#include "cmd/results/figures.h"

#include <stdarg.h>
#include <string.h>

enum { NAME = 2, NOTE = 16, MARKS_SHOWN = 6, DEVICES_SHOWN = 8, BARS = 64, ROWS = 6 };

static bool is_device(const struct tp_info_report *r)
{
    return tp_program_facts(r->trace->program)->kind == TP_KIND_DEVICE;
}

#define row(page, name, ...) tp_page_row(page, NAME, name, NOTE, __VA_ARGS__)

/* ---- the trace ---- */

static bool is_own(const char *format)
{
    for (size_t i = 0; tp_formats[i]; i++)
        if (!strcmp(tp_formats[i]->name, format))
            return tp_formats[i]->own;
    return false;
}

void tp_info_name(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_trace *t = r->trace;
    const uint8_t *hash = tp_program_facts(t->program)->hash;
    char size[64] = "";
    int column = tp_page_beside(t->file, "");
    if (t->file_bytes)
        snprintf(size, sizeof size, ", %s", tp_bytes(t->file_bytes, page->exact).s);
    tp_page_side(page, t->file, column);
    tp_page_put(page, column, "%s trace, format %s%s%s, trace hash %02x%02x%02x%02x%02x%02x",
                is_device(r) ? "device" : "host", t->format,
                is_own(t->format) ? " (tapool's own)" : "", size, hash[0], hash[1], hash[2],
                hash[3], hash[4], hash[5]);
}

/* Prints how many threads, streams and so on the trace has, as far as its format records them. */
static void print_from(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    bool device = is_device(r) && f->events;
    const struct {
        uint64_t count;
        const char *name;
    } all[] = {{tp_threads_recorded(r->trace) ? f->recorded_threads : 0, "thread"},
               {device && tp_is_recorded(r->trace, "streams") ? f->streams : 0, "stream"},
               {device && tp_is_recorded(r->trace, "devices") ? f->devices : 0,
                tp_part_name(r->trace, "device", "memory space")}};
    char text[128];
    struct tp_str s = TP_STR_IN(text);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].count)
            tp_str_item(&s, ", ", "%s", tp_plural(all[i].count, all[i].name).s);
    if (s.length)
        row(page, "from", "%s", text);
}

static void print_recorded(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    char ops[512];
    tp_ops_text(f, r->captured, ops, sizeof ops);
    const struct tp_meta *meta = &r->trace->meta;
    if (meta->capture)
        row(page, "capture", "%s", meta->capture);
    tp_remarks_print(r->trace, NAME, NOTE, page);
    if (meta->nothing)
        row(page, "recorded", "no events: %s", meta->nothing);
    else
        row(page, "recorded", "%s%s: %s", tp_plural(f->events, "event").s, tp_time_taken(f).s, ops);
    if (r->info->without_effect && !meta->nothing)
        row(page, "no effect", "%s of these events: %s, or events of unknown blocks",
            tp_count(r->info->without_effect).s,
            r->info->without_effect == 1 ? "a free of NULL, a failed request"
                                         : "frees of NULL, failed requests");
    if (meta->program)
        row(page, "program", "%s", meta->program);
    print_from(r, page);
}

enum { MARK_TEXT = 100 };
struct mark_text {
    char s[MARK_TEXT];
};

/* The name of a phase. A long name is cut between two characters. */
static struct mark_text mark_name(const struct tp_info_report *r, uint32_t mark)
{
    struct mark_text text;
    tp_clean_text(tp_program_mark(r->trace->program, mark), text.s, sizeof text.s);
    return text;
}

static void print_marks(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    const struct tp_info *info = r->info;
    uint64_t ends = f->ops[TP_MARK] - info->phases_begun;
    char names[(MARK_TEXT + 2) * MARKS_SHOWN], ending[96] = "";
    struct tp_str list = TP_STR_IN(names);
    uint32_t shown = 0;
    if (!info->phases_begun)
        return;
    for (uint32_t i = 0; i < f->marks && shown < MARKS_SHOWN; i++)
        if (tp_mark_phase(r->trace->program, i))
            tp_str_add(&list, "%s%s", shown++ ? ", " : "", mark_name(r, i).s);
    if (ends)
        snprintf(ending, sizeof ending, "; %s more mark%s a phase and begin%s none",
                 tp_count(ends).s, ends == 1 ? " ends" : "s end", ends == 1 ? "s" : "");
    row(page, "phases", "%s, %s: %s%s%s", tp_plural(info->phases_begun, "mark").s,
        tp_plural(info->phases, "name").s, names, info->phases > MARKS_SHOWN ? ", ..." : "",
        ending);
}

static void add_word(struct tp_str *s, bool applies, const char *word)
{
    if (applies)
        tp_str_item(s, ", ", "%s", word);
}

/* Prints the frees that the program requested, and how long they waited for their completion. */
static void print_frees(const struct tp_info_report *r, struct tp_page *page)
{
    uint64_t requests = 0, waited = 0, longest = 0;
    for (uint32_t i = 0; r->captured->devices && i < r->captured->count; i++) {
        const struct tp_captured_device *d = &r->captured->devices[i];
        requests += d->free_requests;
        waited += d->waited;
        longest = d->longest_wait_ns > longest ? d->longest_wait_ns : longest;
    }
    if (!requests)
        return;
    if (waited)
        row(page, "frees",
            "%s requested; %s of them completed later, by up to %s (pending work on another "
            "stream, or the clock's resolution)",
            tp_count(requests).s, tp_count(waited).s, tp_duration(longest).s);
    else
        row(page, "frees", "%s requested, each completed at once", tp_count(requests).s);
}

/* "device 5: " with the file's number of the device; "" if there is one device. */
static struct tp_text of_device(const struct tp_info_report *r, uint32_t index)
{
    const struct tp_recorded *rec = &r->trace->recorded;
    if (index >= rec->count || rec->count < 2)
        return (struct tp_text){""};
    return rec->devices[index].number >= TP_MAX_DEVICES
               ? tp_text_of("pinned host memory: ")
               : tp_text_of("device %u: ", (unsigned)rec->devices[index].number);
}

/* Prints "96 segments (67 large, 29 small), 3.947 GiB reserved throughout". */
static void print_recorded_device(const struct tp_info_report *r, uint32_t index,
                                  struct tp_page *page)
{
    const struct tp_captured_device held =
        tp_captured_device(r->captured, &r->trace->recorded, index);
    const struct tp_captured_device *d = &held;
    const struct tp_recorded_device *end = &r->trace->recorded.devices[index];
    char name[32];
    snprintf(name, sizeof name, "device %u", (unsigned)end->number);
    tp_page_at(page, NAME, "%s", name);
    tp_page_at(page, NOTE, "%s", index < r->captured->count ? "" : "no events; ");
    if (r->trace->recorded.has_end)
        tp_page_more(page, NOTE, "%s at the end (%s large, %s small), ",
                     tp_plural(end->end_segments, "segment").s, tp_count(end->end_large).s,
                     tp_count(end->end_small).s);
    bool segments = d->takes || d->gives, ranges = d->maps || d->unmaps;
    if (!segments && !ranges)
        tp_page_more(page, NOTE, "%s reserved%s", tp_bytes(d->start_reserved, page->exact).s,
                     r->trace->meta.nothing ? "" : " throughout");
    else
        tp_page_more(page, NOTE, "%s reserved at the start, %s at the peak, %s at the end",
                     tp_bytes(d->start_reserved, page->exact).s,
                     tp_bytes(d->peak_reserved, page->exact).s,
                     tp_bytes(d->end_reserved, page->exact).s);
    if (segments)
        tp_page_more(page, NOTE, "; %s allocated, %s freed", tp_plural(d->takes, "segment").s,
                     tp_count(d->gives).s);
    if (ranges)
        tp_page_more(page, NOTE, "; %s of expandable segments mapped, %s unmapped",
                     tp_plural(d->maps, "range").s, tp_count(d->unmaps).s);
    tp_page_line(page);
}

/* Prints the OOM of the recorded program. */
static void print_recorded_oom(const struct tp_captured_device *d, const char *of,
                               struct tp_page *page)
{
    char text[128];
    if (!d->ooms)
        return;
    tp_page_at(page, NAME, "OOM");
    tp_page_at(page, NOTE, "%s%s; first at event %s, %s requested", of,
               tp_plural(d->ooms, "time").s, tp_count(d->oom_event).s,
               tp_bytes(d->oom_size, page->exact).s);
    if (d->oom_free != UINT64_MAX)
        tp_page_more(page, NOTE, ", %s free on the device", tp_bytes(d->oom_free, page->exact).s);
    tp_failures_text(d->ooms, d->replayed, text, sizeof text);
    tp_page_more(page, NOTE, "%s%s", *text ? "; " : "", text);
    tp_page_line(page);
}

/* This explains most of such a recording, so it comes first. */
static void print_retries(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_captured_retries retries = tp_captured_retries(r->captured);
    char text[300] = "";
    tp_retries_text(&retries, r->trace->meta.settings, page->exact, text, sizeof text);
    if (*text)
        row(page, "device full", "%s", text);
}

static void print_captured(const struct tp_info_report *r, struct tp_page *page)
{
    print_frees(r, page);
    for (uint32_t i = 0; r->captured->known && i < r->trace->recorded.count && i < DEVICES_SHOWN;
         i++)
        print_recorded_device(r, i, page);
    for (uint32_t i = 0; r->captured->devices && i < r->captured->count; i++)
        print_recorded_oom(&r->captured->devices[i], of_device(r, i).s, page);
    if (r->trace->meta.settings)
        row(page, "settings", "%s", r->trace->meta.settings);
}

/* Prints the recorded memory that was free when the recording ended. */
static void print_recorded_end(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_recorded *rec = &r->trace->recorded;
    const struct tp_recorded_strategy *by = tp_find_recorded_strategy(rec->by);
    for (uint32_t i = 0; rec->has_end && i < rec->count && i < DEVICES_SHOWN; i++) {
        const struct tp_recorded_device *d = &rec->devices[i];
        if (!d->end_free) {
            tp_page_put(page, NOTE, "%s%s's segments have no free blocks", of_device(r, i).s,
                        rec->by);
            continue;
        }
        tp_page_at(page, NOTE, "%s%s free in %s of %s's segments, largest %s", of_device(r, i).s,
                   tp_bytes(d->end_free, page->exact).s, tp_plural(d->end_free_blocks, "block").s,
                   rec->by, tp_bytes(d->end_largest, page->exact).s);
        const struct tp_text bytes = tp_bytes(d->end_returnable, page->exact);
        const char *back = d->end_returnable ? bytes.s : "nothing";
        if (by && by->gives_back)
            tp_page_more(page, NOTE, "; %s returns %s", by->gives_back, back);
        else
            tp_page_more(page, NOTE, "; %s in unused segments", back);
        tp_page_line(page);
    }
}

static void print_missing(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    char text[128];
    struct tp_str s = TP_STR_IN(text);
    if (r->trace->meta.nothing && !r->trace->meta.unknown)
        return;
    if (r->trace->meta.unknown) { /* what the format does not record */
        if (r->trace->meta.unknown[0])
            row(page, "not recorded", "%s%s", r->trace->meta.unknown,
                is_device(r) && strstr(r->trace->meta.unknown, "GPU size")
                    ? " (set it with --capacity)"
                    : "");
        return;
    }
    add_word(&s, !f->time_known && !f->duration_ns, "times");
    add_word(&s, !f->time_known && f->duration_ns, "times of some events");
    add_word(&s, !tp_captured_ops(r->captured, f, TP_FREE) && !f->ops[TP_RESET], "frees");
    add_word(&s, is_device(r), "GPU size (set it with --capacity)");
    if (s.length)
        row(page, "not recorded", "%s", text);
}

/* The fix of each kind of malformed event (lower.h). */
static const char *const repair_texts[TP_REPAIR_COUNT] = {
    [TP_REPAIR_UNKNOWN_FREE] = "a free or use of a block that is not live: left out",
    [TP_REPAIR_DOUBLE_ALLOC] = "of a live block: the old one is freed first",
    [TP_REPAIR_REALLOC_UNKNOWN] = "of a block that is not live: an alloc",
    [TP_REPAIR_REALLOC_ZERO] = "to 0 bytes: a free",
    [TP_REPAIR_TIME_BACKWARDS] = "counted as no time",
    [TP_REPAIR_INVERTED] =
        "a free recorded after the alloc that reuses its address: moved before it",
    [TP_REPAIR_TRUNCATED] = "the file ends in the middle of an event: left out",
};

static void print_repairs(const struct tp_info_report *r, struct tp_page *page)
{
    for (int i = 0; i < TP_REPAIR_COUNT; i++) {
        const char *text = repair_texts[i];
        if (i == TP_REPAIR_ZERO_SIZE)
            text = is_device(r) ? "0 bytes requested: left out" : "0 bytes requested: counted as 1";
        if (r->trace->repairs[i])
            row(page, "repaired", "%s %s (%s)", tp_count(r->trace->repairs[i]).s,
                tp_repair_names[i], text);
    }
}

/* Prints how many blocks that were live before the recording are left out. */
static void print_dropped(uint64_t objects, struct tp_page *page)
{
    tp_page_line(page);
    tp_page_put(page, 0, "Initial heap");
    tp_page_put(page, NAME,
                "%s that %s live before event 1 %s left out, with all %s events "
                "(--initial-heap=drop).",
                tp_plural(objects, "block").s, objects == 1 ? "was" : "were",
                objects == 1 ? "is" : "are", objects == 1 ? "its" : "their");
}

/* The format's advice for recording from the start of the program; NULL: it has none. */
static const char *how_to_get_all(const struct tp_trace *t)
{
    const char *capture = t->meta.capture ? t->meta.capture : "";
    for (size_t i = 0; tp_formats[i]; i++) {
        const char *of = tp_formats[i]->capture;
        if (of && !strncmp(capture, of, strlen(of)))
            return tp_formats[i]->whole;
    }
    return NULL;
}

static void print_before(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_info *info = r->info;
    uint64_t objects = info->before.objects;
    if (!objects && r->trace->initial_dropped)
        print_dropped(r->trace->initial_dropped, page);
    if (!objects)
        return;
    tp_page_line(page);
    tp_page_put(page, 0, "Initial heap");
    tp_page_put(page, NAME,
                "%s, %s, %s live before event 1: %s freed during the recording, %s live at its "
                "end. %s in live memory, not in sizes and lifetimes.",
                tp_plural(objects, "block").s, tp_bytes(info->before.bytes, page->exact).s,
                objects == 1 ? "was" : "were", tp_count(info->before_freed).s,
                tp_count(objects - info->before_freed).s,
                objects == 1
                    ? "Replay places it first (--initial-heap=drop leaves it out). It counts"
                    : "Replay places them first, by address (--initial-heap=drop leaves them out). "
                      "They count");
    if (info->device_count == 1 && info->devices[0].peak_new)
        tp_page_put(page, NAME, "Peak without the initial heap: %s.",
                    tp_bytes(info->devices[0].peak_new, page->exact).s);
    if (how_to_get_all(r->trace))
        tp_page_put(page, NAME, "To record from the start: %s.", how_to_get_all(r->trace));
}

/* ---- live memory ---- */

static void draw_bars(const struct tp_stretch *at, uint64_t low, uint64_t high, char *out)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char *end = out;
    *out = '\0';
    for (int i = 0; i < BARS; i++) {
        uint64_t v = at[i].high;
        double part = high > low ? (double)(v - low) / (double)(high - low) : 1;
        const char *block = blocks[v ? 1 + (int)(part * 7 + 0.5) : 0];
        memcpy(out, block, strlen(block) + 1);
        out += strlen(block);
        if (v)
            end = out;
    }
    *end = '\0'; /* cut trailing blanks */
}

/* For a terminal without Braille: the highest of each column, on one line. */
static void print_bars(const struct tp_info_report *r, const struct tp_info_device *d,
                       uint64_t peak, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    struct tp_stretch at[BARS];
    char bars[4 * BARS + 1], across[128];
    tp_stretch_thin(d->columns, TP_INFO_COLUMNS, at, BARS);
    for (int i = 0; i < BARS; i++)
        at[i].low = at[i].high;
    uint64_t low = tp_curve_text_floor(at, BARS, peak);
    draw_bars(at, low, peak, bars);
    if (r->info->by_time)
        snprintf(across, sizeof across, "%s from left to right", tp_duration(f->duration_ns).s);
    else
        snprintf(across, sizeof across, "%s from left to right%s", tp_plural(f->events, "event").s,
                 f->time_known ? "" : ", times are unknown");
    row(page, tp_bytes(peak, false).s, "%s", bars);
    row(page, tp_bytes(low, false).s, "%s; the highest of each column%s", across,
        low ? "; not from 0" : "");
}

static void print_dots(const struct tp_info_report *r, const struct tp_info_device *d,
                       uint64_t peak, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    const struct tp_columns across = {.events = f->events,
                                      .time_ns = r->info->by_time ? f->duration_ns : 0};
    struct tp_stretch at[TP_CURVE_TEXT_DOTS];
    uint32_t dots = tp_curve_text_dots(page, NOTE);
    tp_stretch_thin(d->columns, TP_INFO_COLUMNS, at, dots);
    struct tp_curve_text c = {.name = NAME,
                              .column = NOTE,
                              .rows = ROWS,
                              .area = at,
                              .low = tp_curve_text_floor(at, dots, peak),
                              .high = peak,
                              .left = tp_curve_text_left(&across),
                              .right = tp_curve_text_right(&across)};
    if (c.low)
        c.left = tp_text_of("%s (not from 0 B)", tp_curve_text_left(&across).s);
    tp_curve_text_print(&c, page);
}

/* Prints "peak 308.1 KiB at event 5,230 (+3.312 ms), in phase 'delete'". */
static void print_peak(const struct tp_info_report *r, uint16_t device, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    const struct tp_demand *peak = tp_program_demand(r->trace->program, device);
    const struct tp_info_device *d = &r->info->devices[device];
    if (!peak->event) {
        tp_page_more(page, NOTE, "peak %s before event 1", tp_bytes(peak->bytes, page->exact).s);
        return;
    }
    tp_page_more(page, NOTE, "peak %s at event %s%s", tp_bytes(peak->bytes, page->exact).s,
                 tp_count(peak->event).s, tp_time_at(f, peak->time_ns).s);
    tp_peak_asker(r->captured, peak, device, page);
    if (tp_mark_phase(r->trace->program, d->peak_mark))
        tp_page_more(page, NOTE, ", in phase '%s'", mark_name(r, d->peak_mark).s);
}

static void print_device(const struct tp_info_report *r, uint16_t device, struct tp_page *page)
{
    const struct tp_demand *peak = tp_program_demand(r->trace->program, device);
    char name[32] = "Live memory";
    if (r->info->device_count > 1)
        snprintf(name, sizeof name, "  %s %u", tp_part_name(r->trace, "device", "space"), device);
    tp_page_at(page, 0, "%s", name);
    if (!peak->bytes) {
        tp_page_put(page, NOTE, "no allocations");
        return;
    }
    tp_page_at(page, NOTE, "%s", r->info->device_count > 1 ? "" : "requested; ");
    print_peak(r, device, page);
    tp_page_line(page);
    if (page->form == TP_PAGE_SCREEN)
        (tp_braille_can_show() ? print_dots : print_bars)(r, &r->info->devices[device], peak->bytes,
                                                          page);
}

void tp_info_live(const struct tp_info_report *r, struct tp_page *page)
{
    uint32_t count = r->info->device_count;
    tp_page_line(page);
    if (count > 1)
        tp_page_row(page, 0, "Live memory", NOTE, "requested, %s",
                    tp_part_name(r->trace, "on each device", "in each memory space"));
    for (uint16_t i = 0; i < count && i < DEVICES_SHOWN; i++)
        print_device(r, i, page);
    if (count > DEVICES_SHOWN)
        row(page, "...", "%u %ss more: --json", count - DEVICES_SHOWN,
            tp_part_name(r->trace, "device", "memory space"));
}

/* ---- the whole screen ---- */

/* Prints what is live at the end. A trace without events has no such line, because the recorded end
 * says nothing about blocks that came and went. */
void tp_info_end(const struct tp_info_report *r, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    if (r->trace->meta.nothing && !r->trace->recorded.has_end)
        return;
    tp_page_line(page);
    tp_page_at(page, 0, "At the end");
    if (!r->trace->meta.nothing)
        tp_page_put(page, NOTE, "%s, %s; at most %s during the recording",
                    tp_plural(f->live_at_end, "live block").s,
                    tp_bytes(f->live_at_end_bytes, page->exact).s,
                    tp_plural(tp_captured_at_once(r->captured, f), "live block").s);
    print_recorded_end(r, page);
}

void tp_info_contents(const struct tp_info_report *r, struct tp_page *page)
{
    print_retries(r, page);
    print_recorded(r, page);
    print_repairs(r, page);
    print_captured(r, page);
    print_marks(r, page);
    print_missing(r, page);
    print_before(r, page);
}

void tp_info_text(const struct tp_info_report *r, struct tp_page *page)
{
    tp_info_name(r, page);
    tp_info_contents(r, page);
    if (!r->trace->meta.nothing)
        tp_info_live(r, page);
    tp_sites_print(r->captured->sites, page);
    tp_info_ages(r, page);
    tp_info_objects(r, page);
    tp_info_end(r, page);
    if (!r->trace->meta.nothing)
        tp_page_command(page, "Next: tapool replay", r->trace->path);
}
