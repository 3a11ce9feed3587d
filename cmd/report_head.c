/* The heads of the screens: which trace, on what, played how. */
#include "cmd/report_head.h"

#include "cmd/figures.h"

#include <string.h>

enum { NOTE_MIN = 16, NOTE_MAX = 28 };

/* Where the text beside the two names begins. */
static int note_column(const char *file, const char *label)
{
    int first = tp_text_width(file), second = tp_text_width(label);
    int column = (first > second ? first : second) + 2;
    return column < NOTE_MIN ? NOTE_MIN : column > NOTE_MAX ? NOTE_MAX : column;
}

static const char *const touch_text[] = {"blocks are never written", "blocks written on first use",
                                         "every page of a block written on first use"};

static void add_count(char *text, size_t size, size_t *used, uint64_t n, const char *name)
{
    if (n && *used < size)
        *used += (size_t)snprintf(text + *used, size - *used, "%s%s %s", *used ? ", " : "",
                                  tp_count(n).s, name);
}

const struct tp_op_name tp_op_names[TP_OP_NAMES] = {
    {TP_ALLOC, "alloc"}, {TP_ADOPT, "adopt"},   {TP_REALLOC, "realloc"},
    {TP_FREE, "free"},   {TP_RETAIN, "retain"}, {TP_RELEASE, "release"},
    {TP_USE, "use"},     {TP_SYNC, "sync"},     {TP_RESET, "reset"},
    {TP_TRIM, "trim"},   {TP_MARK, "mark"},     {TP_THREAD_END, "thread_end"}};

void tp_ops_text(const struct tp_program_facts *f, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < TP_OP_NAMES; i++)
        add_count(text, size, &used, f->ops[tp_op_names[i].op], tp_op_names[i].name);
}

void tp_repairs_text(const struct tp_trace *t, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        add_count(text, size, &used, t->repairs[i], tp_repair_names[i]);
}

static void print_repairs(const struct tp_trace *t, int column, struct tp_page *page)
{
    char text[512];
    tp_repairs_text(t, text, sizeof text);
    if (!text[0])
        return;
    tp_page_at(page, column, "repaired: %s", text);
    tp_page_line(page);
}

static void print_trace(const struct tp_result *r, int note, struct tp_page *page)
{
    const struct tp_program_facts *f = r->facts;
    char ops[512], time[64] = "", several[64] = "";
    tp_ops_text(f, ops, sizeof ops);
    if (f->time_known)
        snprintf(time, sizeof time, " in %s", tp_duration(f->duration_ns).s);
    if (f->devices > 1)
        snprintf(several, sizeof several, ", %u devices", f->devices);
    tp_page_at(page, 0, "%s", r->trace->file);
    tp_page_at(page, note, "%s",
               r->trace->meta.program ? r->trace->meta.program : r->trace->meta.name);
    tp_page_line(page);
    tp_page_at(page, note, "%s%s event%s%s, %s thread%s%s: %s", r->trace->cut ? "the first " : "",
               tp_count(f->events).s, f->events == 1 ? "" : "s", time,
               tp_count(f->recorded_threads).s, f->recorded_threads == 1 ? "" : "s", several, ops);
    tp_page_line(page);
    print_repairs(r->trace, note, page);
}

/* What the decorators change, but for the limit: "+shuffle", or nothing. */
static void decorators_text(const struct tp_source_spec *source, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 1; i < source->count && used < size; i++)
        if (source->layers[i].ops != &tp_source_limit)
            used += (size_t)snprintf(text + used, size - used, "%s+%s", used ? "" : " ",
                                     source->layers[i].ops->name);
}

static void describe_source(const struct tp_result *r, bool exact, char *text, size_t size)
{
    uint64_t capacity = r->run->devices[0].capacity;
    char decorated[128], limit[64] = "";
    bool several = r->run->device_count > 1;
    if (r->spec->strategy->caps & TP_CAP_FOREIGN) {
        snprintf(text, size, "its own heap, in a process of its own");
        return;
    }
    decorators_text(r->source, decorated, sizeof decorated);
    if (capacity != TP_NONE)
        snprintf(limit, sizeof limit, "%s%s", tp_bytes(capacity, exact).s, several ? " each" : "");
    if (!tp_result_is_virtual(r))
        snprintf(text, size, "this machine's memory (mmap)%s%s%s", decorated,
                 *limit ? ", limited to " : "", limit);
    else if (r->facts->kind == TP_KIND_DEVICE)
        snprintf(text, size,
                 "no GPU is used%s%s%s. Memory and call counts are exact for the simulated "
                 "device%s. Times are the policy's own work on this CPU; the driver's time is not "
                 "in them",
                 decorated,
                 *limit ? several ? "; the simulated ones have " : "; the simulated one has " : "",
                 limit, several ? "s" : "");
    else
        snprintf(text, size,
                 "no memory behind it%s%s%s: byte and call counts are exact, times are the "
                 "policy's own work only",
                 decorated, *limit ? ", limited to " : "", limit);
}

static void print_source(const struct tp_result *r, const char *label, int note,
                         struct tp_page *page)
{
    char text[512];
    describe_source(r, page->exact, text, sizeof text);
    tp_page_at(page, 0, "%s", label);
    tp_page_at(page, note, "%s", text);
    tp_page_more(page, note, "; played by one thread; %s", touch_text[r->touch]);
    if (r->run->flags & TP_RUN_VERIFIED)
        tp_page_more(page, note, "; verified: no overlap, aligned, %snothing leaked",
                     tp_result_is_virtual(r) ? "" : "contents kept, ");
    tp_page_line(page);
    if (r->facts->recorded_threads < 2)
        return;
    tp_page_at(page, note, "%s recorded threads played by 1: no lock contention in these times",
               tp_count(r->facts->recorded_threads).s);
    tp_page_line(page);
}

void tp_report_head(const struct tp_result *r, const char *label, struct tp_page *page)
{
    int note = note_column(r->trace->file, label);
    print_trace(r, note, page);
    print_source(r, label, note, page);
}
