/* See why.h. First what happened, then the sum, the verdict, live memory by allocation site, and at
 * last what all that rests on. */
#include "cmd/why/why.h"

#include "cmd/report/recorded_text.h"
#include "cmd/report/report_sites.h"
#include "cmd/results/result.h"
#include "cmd/ui/table.h"

#include <math.h>

enum { NAME = 16, TRY_RESERVED = 57, TRY_FATE = 60 };

static struct tp_text size_of(const struct tp_page *page, uint64_t bytes)
{
    return tp_bytes(bytes, page->exact);
}

static const char *by(const struct tp_why *w)
{
    return w->by->certifier->by;
}

static const char *segment(const struct tp_why *w)
{
    return w->by->certifier->segment;
}

/* ---- what happened ---- */

static void print_where(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_moment *m = &w->moment;
    if (m->event)
        tp_page_more(page, NAME, "event %s of %s", tp_count(m->event).s, tp_count(m->events).s);
    else
        tp_page_more(page, NAME, "before the first event");
    if (m->event && m->has_time)
        tp_page_more(page, NAME, " (+%s)", tp_duration(m->since_ns).s);
    tp_page_more(page, NAME, "%s%s", *w->place ? ", " : "", w->place);
    tp_page_line(page);
}

void tp_why_head_print(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_moment *m = &w->moment;
    if (*w->recording.retries_text)
        tp_page_row(page, 0, "Device full", NAME, "%s", w->recording.retries_text);
    if (!m->events) {
        tp_page_row(page, 0, "At the end", NAME, "no events: %s", w->silence);
        return;
    }
    if (m->failed) {
        tp_page_styled(page, 0, TP_RED, "OUT OF MEMORY");
        tp_page_at(page, NAME, "%s requested at ", size_of(page, m->what.size).s);
    } else if (m->when == TP_WHY_PEAK) {
        tp_page_side(page, "Peak", NAME);
        tp_page_at(page, NAME, "most reserved memory: ");
    } else {
        tp_page_side(page, m->when == TP_WHY_END ? "At the end" : "At", NAME);
        tp_page_at(page, NAME, "%s", "");
    }
    print_where(w, page);
    if (m->failed && m->ooms > 1)
        tp_page_put(page, NAME, "%s OOMs in the recording: --at EVENT shows another",
                    tp_count(m->ooms).s);
}

/* ---- the sum ---- */

/* "2 unused segments", "5 unused units", "2 unused segments, 5 units" */
static struct tp_text unused_of(const struct tp_why *w)
{
    const struct tp_why_sum *s = &w->sum;
    struct tp_text segments = tp_plural(s->unused, tp_text_of("unused %s", segment(w)).s);
    if (!s->free_units)
        return segments;
    if (!s->unused)
        return tp_plural(s->free_units, "unused unit");
    return tp_text_of("%s, %s", segments.s, tp_plural(s->free_units, "unit").s);
}

void tp_why_parts(const struct tp_why *w, bool exact, struct tp_sum_part out[TP_WHY_PARTS])
{
    const struct tp_why_sum *s = &w->sum;
    const struct tp_text none = tp_text_of("%s", "");
    out[0] = (struct tp_sum_part){" ", s->requested, tp_plural(s->live, "live block"),
                                  tp_text_of("requested and not freed"), "live"};
    out[1] = (struct tp_sum_part){"+", s->rounding, tp_text_of("rounding"), none, "rounding"};
    out[2] =
        (struct tp_sum_part){"+", s->hole_bytes, tp_text_of("free blocks in used %ss", segment(w)),
                             s->holes ? tp_text_of("%s, largest %s", tp_plural(s->holes, "block").s,
                                                   tp_bytes(s->largest, exact).s)
                                      : none,
                             "free"};
    out[3] = (struct tp_sum_part){
        "+", s->free_bytes, unused_of(w),
        s->free_bytes && w->by->release ? tp_text_of("%s would return it", w->by->release) : none,
        "free"};
    out[4] = (struct tp_sum_part){"=", s->reserved,
                                  tp_text_of("reserved, %s", tp_plural(s->segments, segment(w)).s),
                                  none, NULL};
}

static void print_parts(const struct tp_why *w, struct tp_page *page)
{
    struct tp_sum_part parts[TP_WHY_PARTS];
    tp_why_parts(w, page->exact, parts);
    tp_sum_print(parts, TP_WHY_PARTS, "share of reserved", page);
}

void tp_why_sum_print(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_event *oom = &w->moment.what;
    print_parts(w, page);
    if (w->judged && oom->has_free)
        tp_page_put(
            page, tp_sum_end(page) + TP_SUM_LABEL, "capacity %s%s; %s free on the GPU",
            size_of(page, w->room.capacity).s,
            w->sum.reserved + oom->device_free > w->room.capacity ? ", a limit of the process" : "",
            size_of(page, oom->device_free).s);
}

/* ---- the verdict ---- */

const char *const tp_why_verdict_words[] = {
    [TP_WHY_NO_REQUEST] = "Summary",    [TP_WHY_TOO_BIG] = "Too big",
    [TP_WHY_FRAGMENTED] = "Fragmented", [TP_WHY_NO_CAPACITY] = "Not known",
    [TP_WHY_REFUSED] = "Refused",       [TP_WHY_HAD_ROOM] = "Not clear"};

static void begin_verdict(const struct tp_why *w, struct tp_page *page)
{
    tp_page_styled(page, 0, TP_BOLD, "%s", tp_why_verdict_words[w->room.verdict]);
    tp_page_at(page, NAME, "%s", "");
}

static void print_waste(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_sum *s = &w->sum;
    uint64_t waste = s->hole_bytes + s->free_bytes;
    begin_verdict(w, page);
    if (!waste) {
        tp_page_more(page, NAME, "all reserved memory is in use");
        tp_page_line(page);
        return;
    }
    tp_page_more(page, NAME, "%s of reserved memory (%s) is free:", size_of(page, waste).s,
                 tp_percent((double)waste / (double)s->reserved).s);
    if (s->free_bytes && w->by->release)
        tp_page_more(page, NAME, " %s returns %s%s", w->by->release, size_of(page, s->free_bytes).s,
                     s->holes ? "," : "");
    else if (s->free_bytes)
        tp_page_more(page, NAME, " %s is in unused %ss%s", size_of(page, s->free_bytes).s,
                     segment(w), s->holes ? "," : "");
    if (s->holes)
        tp_page_more(page, NAME, " %s is in %ss with live blocks", size_of(page, s->hole_bytes).s,
                     segment(w));
    tp_page_line(page);
}

static void print_verdict(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_room *r = &w->room;
    uint64_t taken = tp_why_taken(&w->sum), ours = w->sum.hole_bytes + w->sum.free_bytes;
    struct tp_text needed = size_of(page, r->need);
    begin_verdict(w, page);
    switch (r->verdict) {
    case TP_WHY_TOO_BIG:
        tp_page_more(page, NAME, "live blocks and this request need %s, %s more than the capacity",
                     size_of(page, taken + r->need).s,
                     size_of(page, taken + r->need - r->capacity).s);
        if (r->segment > r->capacity)
            tp_page_more(page, NAME, "; the request is larger than the capacity");
        break;
    case TP_WHY_FRAGMENTED:
        tp_page_more(page, NAME, "%s free", size_of(page, r->there).s);
        if (r->there > ours)
            tp_page_more(page, NAME, " (%s reserved, %s on the GPU)", size_of(page, ours).s,
                         size_of(page, r->there - ours).s);
        tp_page_more(page, NAME, ", but no contiguous %s", needed.s);
        break;
    case TP_WHY_NO_CAPACITY:
        tp_page_more(page, NAME,
                     "the file does not record free memory of the GPU; %s of reserved memory is "
                     "free, but no contiguous %s",
                     size_of(page, r->there).s, needed.s);
        break;
    case TP_WHY_REFUSED:
        tp_page_more(page, NAME,
                     "the driver had %s free and refused %s: a limit of the process (memory "
                     "fraction), or another process took the memory first",
                     size_of(page, w->moment.what.device_free + w->sum.free_bytes).s,
                     size_of(page, r->segment).s);
        break;
    default:
        tp_page_more(page, NAME, "a free block serves this request by %s's rules: %s", by(w),
                     w->by->had_room);
        break;
    }
    tp_page_line(page);
}

/* ---- what would have made room ---- */

static void print_fitting(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_room *r = &w->room;
    bool smaller = r->fitting && r->fitting < w->moment.what.size;
    if (smaller)
        tp_page_put(page, NAME, "largest request that fits: %s", size_of(page, r->fitting).s);
    if (r->untold)
        tp_page_put(page, NAME, "blocks in the way are unknown: %s", w->by->untold);
}

/* Adds how the request fits once the blocks in the way are not there. */
static void add_room(const struct tp_why *w, struct tp_str *s)
{
    bool several = w->room.segments > 1;
    if (w->room.way == TP_WHY_SEGMENTS)
        tp_str_add(s, "%s returns %s %s%s, and ", by(w), several ? "their" : "its", segment(w),
                   several ? "s" : "");
    else if (w->room.way == TP_WHY_UNITS)
        tp_str_add(s, "%s returns units of %s%s%s, and ", by(w), several ? "" : "its ", segment(w),
                   several ? "s" : "");
    tp_str_add(s, "the request fits");
}

void tp_why_way_print(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_room *r = &w->room;
    if (!r->block_count)
        return;
    struct tp_str room = {0};
    add_room(w, &room);
    tp_page_line(page);
    if (r->block_count == 1)
        tp_page_put(page, 0, "In the way: without this block %s", tp_str_text(&room));
    else
        tp_page_put(page, 0, "In the way: without these %s (%s) %s",
                    tp_plural(r->block_count, "block").s, size_of(page, r->bytes).s,
                    tp_str_text(&room));
    tp_str_drop(&room);
    for (size_t i = 0; i < w->named_count; i++) {
        tp_page_right(page, tp_sum_end(page), size_of(page, w->named[i].bytes).s);
        tp_page_put(page, tp_sum_end(page) + TP_SUM_LABEL, "%s",
                    *w->named[i].place ? w->named[i].place : "unknown site");
    }
    if (r->block_count > w->named_count)
        tp_page_put(page, tp_sum_end(page) + TP_SUM_LABEL, "%s",
                    tp_plural(r->block_count - w->named_count, "smaller block").s);
}

void tp_why_verdict_print(const struct tp_why *w, struct tp_page *page)
{
    if (w->judged)
        print_verdict(w, page);
    else
        print_waste(w, page);
    print_fitting(w, page);
}

/* ---- other settings ---- */

bool tp_why_is_faithful(const struct tp_why *w)
{
    const struct tp_agreement *a = &w->verified.addresses;
    return (double)a->good >= TP_FAITHFUL * (double)a->all;
}

bool tp_why_has_switched(const struct tp_why *w)
{
    return w->verified.switches || w->whole.switches;
}

static struct tp_text try_name(const struct tp_why_tries *t, const struct tp_why_try *row)
{
    const char *own = t->given ? "as given (--conf)" : "as recorded";
    return tp_text_of("%s%s", row->recorded ? own : row->conf,
                      row->compacted ? " (compacted start)" : "");
}

static bool any_compacted(const struct tp_why_tries *t)
{
    bool some = false;
    for (size_t i = 0; i < t->count; i++)
        some |= t->rows[i].compacted;
    return some;
}

/* Whether a setting has a peak: one that does not fit has none. */
static bool any_peak(const struct tp_why_tries *t)
{
    bool any = !t->capacity;
    for (size_t i = 0; i < t->count; i++)
        any |= !t->rows[i].failed;
    return any;
}

static void print_difference(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_fidelity f = {.addresses = w->whole.addresses.all,
                                  .good_addresses = w->whole.addresses.good,
                                  .pools_returned = w->whole.pools_returned};
    const struct tp_replay_difference change = {.peak = w->tries.rows[0].peak_reserved,
                                                .recorded_peak = w->recording.peak,
                                                .exact = page->exact,
                                                .compacted = w->tries.rows[0].compacted};
    struct tp_str text = {0}, begin = {0};
    tp_str_add(&begin, "As recorded, the replay differs from %s by ", by(w));
    tp_difference_add(&change, &f, tp_str_text(&begin), &text);
    tp_str_drop(&begin);
    if (*tp_str_text(&text))
        tp_page_put(page, 2, "%s.", tp_str_text(&text));
    tp_str_drop(&text);
}

/* How the rows are to be read; there may be nothing to say. */
static void print_notes(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_tries *t = &w->tries;
    bool own = t->capacity && t->capacity == w->recording.capacity;
    if (!any_peak(t))
        tp_page_put(page, 2, "None of these settings avoids the OOM; tapool tune tries more.");
    if (!t->given && own && w->recording.ran_out != (t->rows[0].failed > 0))
        tp_page_put(page, 2,
                    "The recorded program %s out of memory, the replay as recorded %s: these rows "
                    "do not show what avoids the OOM.",
                    w->recording.ran_out ? "ran" : "did not run",
                    w->recording.ran_out ? "does not" : "does");
    else if (!t->given && w->recording.peak && t->capacity == w->recording.capacity)
        print_difference(w, page);
    if (any_compacted(t) && !t->rows[0].compacted)
        tp_page_put(page, 2, TP_COMPACTED_NOTE);
    else if (any_compacted(t) || (w->verified.start_blocks && t->rows[0].compacted))
        tp_page_put(page, 2,
                    "Each row starts with a packed initial heap: compare them only with each "
                    "other.");
}

/* The change of the peak from that of the recorded setting which began as this row did. */
static struct tp_text try_change(const struct tp_why_tries *t, const struct tp_why_try *row)
{
    const struct tp_why_try *base = NULL;
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].recorded && t->rows[i].compacted == row->compacted)
            base = &t->rows[i];
    bool known = base && !(t->capacity && (base->failed || row->failed));
    return tp_peak_change(row == base, known ? base->peak_reserved : TP_NONE, row->peak_reserved);
}

/* Adds the rows that began as recorded, or those that only compare with each other. */
static void add_tries(const struct tp_why_tries *t, bool compacted, const struct tp_page *page,
                      struct tp_table *table)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tp_why_try *row = &t->rows[i];
        bool fits = !t->capacity || !row->failed;
        if (row->compacted != compacted)
            continue;
        tp_table_add(table, "  %s", try_name(t, row).s);
        if (any_peak(t)) {
            tp_table_add(table, "%s", fits ? size_of(page, row->peak_reserved).s : "-");
            tp_table_add(table, "%s", try_change(t, row).s);
        }
        if (t->capacity)
            tp_table_add(table, "%s", fits ? "fits" : "OOM");
    }
}

static void add_heading(int columns, struct tp_table *table)
{
    tp_table_add(table, "  " TP_COMPACTED_HEAD);
    for (int i = 1; i < columns; i++)
        tp_table_add(table, "%s", "");
}

void tp_why_tries_print(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_why_tries *t = &w->tries;
    struct tp_column columns[4] = {
        {.head = {"", "Setting"}, .left = true, .width = TRY_RESERVED - 15}};
    struct tp_table table = {0};
    int n = 1;
    if (t->count < 2)
        return;
    if (any_peak(t)) {
        columns[n++] = (struct tp_column){.head = {"", "peak reserved"}};
        columns[n++] = (struct tp_column){.head = {"", "change"}};
    }
    if (t->capacity) {
        columns[n] = (struct tp_column){.left = true, .gap = TRY_FATE - TRY_RESERVED};
        snprintf(columns[n++].head[1], TP_COLUMN_HEAD, "in %.*s", TP_COLUMN_HEAD - 4,
                 size_of(page, t->capacity).s);
    }
    tp_table_columns(&table, columns, n);
    add_tries(t, false, page, &table);
    if (any_compacted(t) && !t->rows[0].compacted && page->form == TP_PAGE_SCREEN)
        add_heading(n, &table);
    add_tries(t, true, page, &table);
    tp_page_line(page);
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&table);
    print_notes(w, page);
}

/* ---- what it rests on ---- */

void tp_why_ground_print(const struct tp_why *w, struct tp_page *page)
{
    const struct tp_verified *v = &w->verified;
    tp_page_side(page, "Based on", NAME);
    if (w->replayed)
        tp_page_at(page, NAME,
                   "a replay by the rules of %s's allocator: the trace has no addresses. %s", by(w),
                   w->remarks ? w->remarks : "");
    else if (!v->addresses.all)
        tp_page_at(page, NAME, "the %ss %s", segment(w),
                   v->start_known == TP_START_REBUILT ? "at the end of the file"
                                                      : "before the first event");
    else
        tp_page_at(page, NAME, "a replay by %s's rules: %s of %s addresses match the file", by(w),
                   tp_count(v->addresses.good).s, tp_count(v->addresses.all).s);
    if (v->least_reserved)
        tp_page_more(page, NAME, "; how much was reserved is not in the file: at least this");
    if (v->reserved_how)
        tp_page_more(page, NAME, "; the events do not show how it was reserved: %s is assumed",
                     v->reserved_how);
    if (!tp_agrees(v))
        tp_page_more(page, NAME,
                     "; the first difference is at event %s, and sizes after it are estimates (see "
                     "tapool verify)%s",
                     tp_count(v->first.event).s,
                     tp_why_is_faithful(w) ? "" : "; too many differ to replay other settings");
    if (tp_why_has_switched(w))
        tp_page_more(page, NAME, "; %s, so other settings are not replayed", w->by->switched);
    tp_page_line(page);
}

void tp_why_text(const struct tp_why *w, bool several, struct tp_page *page)
{
    if (several)
        tp_page_put(page, 0, "%s", tp_device_title(w->device, w->name).s);
    tp_why_head_print(w, page);
    tp_why_sum_print(w, page);
    tp_why_verdict_print(w, page);
    tp_sites_print(w->sites, page);
    tp_why_tries_print(w, page);
    tp_why_way_print(w, page);
    tp_page_line(page);
    tp_why_ground_print(w, page);
}
