/* The heads of the screens: the trace, on what it is replayed, and how. */
#include "cmd/report/report_head.h"

#include "alloc/base/units.h"
#include "alloc/sources/common/device_pages.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/machine.h"
#include "cmd/report/recorded_text.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"

#include <string.h>

enum { ASKER_INDENT = 8 };

static const char *const touch_text[] = {"blocks are never written", "blocks written on first use",
                                         "every page of a block written on first use"};

static void add_count(struct tp_str *s, uint64_t n, const char *name)
{
    if (n)
        tp_str_item(s, ", ", "%s %s", tp_count(n).s, name);
}

void tp_ops_text(const struct tp_program_facts *f, const struct tp_captured *c, char *text,
                 size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    uint64_t requests = 0, segments = 0, ooms = 0;
    for (uint32_t i = 0; c && c->devices && i < c->count; i++) {
        const struct tp_captured_device *d = &c->devices[i];
        requests += d->free_requests;
        segments += d->takes + d->gives + d->maps + d->unmaps;
        ooms += d->ooms;
    }
    uint64_t seen = requests + segments + ooms;
    for (unsigned op = 0; op < TP_OP_COUNT; op++)
        seen += tp_op_rows[op].rank && op != TP_NOTE ? tp_captured_ops(c, f, (enum tp_op)op) : 0;
    /* Marks that the file stores outside of its events would make the sum too large. */
    uint64_t beside = seen > f->events ? f->ops[TP_MARK] : 0;
    enum tp_op op;
    for (unsigned rank = 1; (op = tp_op_ranked(rank)) < TP_OP_COUNT; rank++) {
        uint64_t less = op == TP_MARK ? beside : 0;
        if (op == TP_NOTE)
            less = f->ops[op];
        add_count(&s, tp_captured_ops(c, f, op) - less, tp_op_rows[op].name);
    }
    add_count(&s, requests, "free requested");
    add_count(&s, segments, "of segments");
    add_count(&s, ooms, "out of memory");
    if (f->events > seen)
        add_count(&s, f->events - seen, "without effect");
}

struct tp_text tp_time_taken(const struct tp_program_facts *f)
{
    return f->time_known ? tp_text_of(" spanning %s", tp_duration(f->duration_ns).s)
                         : (struct tp_text){""};
}

struct tp_text tp_time_at(const struct tp_program_facts *f, uint64_t ns)
{
    return f->time_known ? tp_text_of(" (+%s)", tp_duration(ns).s) : (struct tp_text){""};
}

void tp_repairs_text(const struct tp_trace *t, char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        add_count(&s, t->repairs[i], tp_repair_names[i]);
}

/* The text gives the share of the last request, because the place that asks last need not hold most
 * of the memory. */
void tp_peak_asker(const struct tp_captured *c, const struct tp_demand *peak, uint16_t device,
                   struct tp_page *page)
{
    const char *place = tp_captured_place(c, peak->event);
    uint64_t size = c->devices ? c->devices[device].demand_size : 0;
    if (!place)
        return;
    tp_page_more(page, ASKER_INDENT, "; last allocation there: %s", place);
    if (size && peak->bytes)
        tp_page_more(page, ASKER_INDENT, " (%s of the peak)",
                     tp_percent((double)size / (double)peak->bytes).s);
}

static void print_repairs(const struct tp_trace *t, int column, struct tp_page *page)
{
    char text[512];
    tp_repairs_text(t, text, sizeof text);
    if (!text[0])
        return;
    tp_page_put(page, column, "repaired: %s", text);
}

/* How to replay what was left out. It is still in the file, unless the file was converted from
 * another one. */
static const char *how_to_get(const struct tp_trace *t)
{
    for (size_t i = 0; tp_formats[i]; i++)
        if (!strcmp(tp_formats[i]->name, t->format) && tp_formats[i]->own)
            return " (when it was converted)";
    if (!t->meta.space)
        return "; --device all replays them";
    return t->meta.spaces > TP_MAX_DEVICES ? "; --space NAME replays one of them"
                                           : "; --space NAME or --space all replays them";
}

/* The malloc that the recorded program had, and what it is worth to it. */
static void print_malloc(const struct tp_meta *m, int name, int column, struct tp_page *page)
{
    double low, high;
    struct tp_text cpu = tp_duration(m->cpu_high_ns), least = tp_duration(m->cpu_low_ns);
    if (m->kind != TP_KIND_HOST || !(m->allocator || m->cpu_low_ns))
        return;
    if (strcmp(cpu.s, least.s) != 0)
        cpu = tp_text_of("%s to %s", least.s, tp_duration(m->cpu_high_ns).s);
    tp_page_at(page, name, "malloc");
    tp_page_at(page, column, "%s%s%s", m->allocator ? m->allocator : "library not recorded",
               m->settings ? ", " : "", m->settings ? m->settings : "");
    if (tp_meta_malloc_share(m, &low, &high))
        tp_page_more(page, column, "; takes %s to %s of the program's CPU time (%s)",
                     tp_percent(low).s, tp_percent(high).s, cpu.s);
    else if (m->cpu_low_ns)
        tp_page_more(page, column, "; share of the program's CPU time (%s): not known", cpu.s);
    tp_page_line(page);
}

const char *tp_written_words(const struct tp_trace *t)
{
    struct tp_touched touched;
    return t && tp_meta_touched(&t->meta, &touched) < 1 ? "blocks written as recorded"
                                                        : "every block written";
}

static void print_written(const struct tp_meta *m, int name, int column, struct tp_page *page)
{
    struct tp_touched touched;
    double share = tp_meta_touched(m, &touched);
    if (share < 1)
        tp_page_row(page, name, "note", column,
                    "the program wrote %s of its blocks of 16 KiB and more: resident memory is "
                    "replayed like that",
                    tp_percent(share).s);
}

void tp_notes_print(const struct tp_meta *m, int name, int column, struct tp_page *page)
{
    for (const char *at = m->remarks ? m->remarks : ""; *at;) {
        int length = (int)strcspn(at, "\n");
        tp_page_row(page, name, "note", column, "%.*s", length, at);
        at += length + (at[length] == '\n');
    }
}

void tp_remarks_print(const struct tp_trace *t, int name, int column, struct tp_page *page)
{
    const struct tp_meta *m = &t->meta;
    print_malloc(m, name, column, page);
    print_written(m, name, column, page);
    if (m->space || m->left_out) {
        tp_page_at(page, name, m->space ? "memory space" : "left out");
        tp_page_at(page, column, "%s%s%s", m->space ? m->space : "",
                   m->space && m->left_out ? "; left out: " : "", m->left_out ? m->left_out : "");
        if (m->left_out)
            tp_page_more(page, column, "%s", how_to_get(t));
        tp_page_line(page);
    }
    if (m->not_recorded)
        tp_page_row(page, name, "note", column, "%s %s not recorded: made inside another call",
                    tp_plural(m->not_recorded, "call").s, m->not_recorded == 1 ? "was" : "were");
    tp_notes_print(m, name, column, page);
}

/* Prints how much of the peak was live before the first event. */
static void print_initial(const struct tp_result *r, int note, struct tp_page *page)
{
    uint64_t before = 0, peak = 0;
    const struct tp_recorded_strategy *by = tp_recorded_strategy_or_first(r->trace->recorded.by);
    const struct tp_text aged =
        tp_text_of(tp_program_heap(r->trace->program) ? " (%s: at the recorded address)" : "%.0s",
                   by->strategy->name);
    for (uint16_t d = 0; d < r->facts->devices; d++) {
        before += tp_program_demand(r->trace->program, d)->initial_heap_bytes;
        peak += tp_program_demand(r->trace->program, d)->bytes;
    }
    if (!r->facts->initial_heap) {
        if (r->trace->initial_dropped)
            tp_page_row(page, 0, "initial heap", note,
                        "left out: %s blocks that were live before the first event",
                        tp_count(r->trace->initial_dropped).s);
        return;
    }
    tp_page_row(page, 0, "initial heap", note,
                "%s (%s, %s of the peak), live before the first event. Placed first, by "
                "address%s, not counted as calls.",
                tp_plural(r->facts->initial_heap, "block").s, tp_bytes(before, page->exact).s,
                tp_percent(peak ? (double)before / (double)peak : 0).s, aged.s);
}

/* Adds how the replay differs from the recording, on a device of the same size. */
static void add_difference(const struct tp_result *r, bool exact, struct tp_str *out)
{
    struct tp_replay_difference by = {.by = tp_recorded_strategy_or_first(r->trace->recorded.by),
                                      .exact = exact,
                                      .limits_differ = tp_captured_limits_differ(r->captured)};
    uint64_t capacity = r->run->devices[0].capacity;
    for (uint32_t i = 0; i < r->run->device_count && i < r->captured->count; i++) {
        const struct tp_device_run *d = &r->run->devices[i];
        const struct tp_captured_device *c = &r->captured->devices[i];
        by.peak += d->peak_reserved;
        by.calls += d->gets + d->puts;
        by.recorded_peak += c->peak_reserved;
        by.recorded_calls += c->takes + c->gives + c->maps + c->unmaps;
    }
    if ((capacity == TP_NONE ? 0 : capacity) == tp_captured_capacity(r->captured))
        tp_difference_add(&by, r->fidelity, tp_text_of("; differs from %s by ", by.by->whose).s,
                          out);
}

void tp_report_fidelity(const struct tp_result *r, int column, struct tp_page *page)
{
    const struct tp_fidelity *f = r->fidelity;
    struct tp_str difference = {0};
    if (!f)
        return;
    if (r->run->passes & TP_PASS_USAGE && r->captured->known)
        add_difference(r, page->exact, &difference);
    tp_page_at(page, column, "%s as recorded: fidelity %s of %s addresses", r->spec->label,
               tp_count(f->good_addresses).s, tp_count(f->addresses).s);
    if (f->segments)
        tp_page_more(page, column, ", %s of %s segments", tp_count(f->good_segments).s,
                     tp_count(f->segments).s);
    tp_page_more(page, column, "%s", tp_str_text(&difference));
    tp_page_line(page);
    tp_str_drop(&difference);
}

void tp_failures_text(uint64_t ooms, uint64_t replayed, char *text, size_t size)
{
    text[0] = '\0';
    if (ooms == 1 && replayed)
        snprintf(text, size, "the failed request is replayed");
    else if (ooms == replayed)
        snprintf(text, size, "the %s failed requests are replayed", tp_count(ooms).s);
    else if (replayed)
        snprintf(text, size, "%s of the %s failed requests %s replayed", tp_count(replayed).s,
                 tp_count(ooms).s, replayed == 1 ? "is" : "are");
}

static void print_failures(const struct tp_result *r, int note, struct tp_page *page)
{
    struct tp_captured_failures all = tp_captured_failures(r->captured);
    char text[128];
    if (!all.ooms)
        return;
    tp_failures_text(all.ooms, all.replayed, text, sizeof text);
    tp_page_row(page, 0, "recorded OOM", note, "%s%s%s%s", tp_plural(all.ooms, "time").s,
                *text ? "; " : "", text, *text ? " and counted in requested" : "");
}

/* A count of threads, streams or devices: "1 thread", "streams not recorded". */
static struct tp_text count_text(const struct tp_trace *t, uint64_t count, const char *name)
{
    if (count && tp_is_recorded(t, name)) /* strstr finds the singular in the format's plural */
        return tp_plural(count, name);
    return tp_text_of("%ss not recorded", name);
}

/* Writes "1 GPU, 2 streams" for a capture of GPUs, and otherwise the threads and devices. */
static void replayers_text(const struct tp_trace *t, char *text, size_t size)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    const struct tp_text threads = count_text(t, f->recorded_threads, "thread");
    const bool gpus = f->kind == TP_KIND_DEVICE && t->meta.capture;
    const struct tp_text parts =
        tp_plural(f->devices, tp_part_name(t, gpus ? "GPU" : "device", "memory space"));
    if (gpus)
        snprintf(text, size, "%s, %s",
                 tp_is_recorded(t, "devices") ? parts.s : count_text(t, f->devices, "device").s,
                 count_text(t, f->streams, "stream").s);
    else if (f->devices > 1)
        snprintf(text, size, "%s, %s", threads.s, parts.s);
    else
        snprintf(text, size, "%s", threads.s);
}

static void print_trace(const struct tp_result *r, int note, struct tp_page *page)
{
    const struct tp_program_facts *f = r->facts;
    const struct tp_meta *meta = &r->trace->meta;
    char ops[512], replayers[128];
    tp_ops_text(f, r->captured, ops, sizeof ops);
    replayers_text(r->trace, replayers, sizeof replayers);
    tp_page_side(page, r->trace->file, note);
    const char *nameless = meta->capture ? "" : meta->name;
    tp_page_put(page, note, "%s%s%s", meta->capture ? meta->capture : "",
                meta->capture && meta->program ? ": " : "",
                meta->program ? meta->program : nameless);
    tp_page_put(page, note, "%s%s%s, %s: %s", r->trace->cut ? "the first " : "",
                tp_plural(f->events, "event").s, tp_time_taken(f).s, replayers, ops);
    print_repairs(r->trace, note, page);
    tp_remarks_print(r->trace, 0, note, page);
    print_initial(r, note, page);
    print_failures(r, note, page);
}

/* Adds the wrappers other than the limit: " +shuffle". */
static void add_wrappers(const struct tp_source_spec *source, struct tp_str *s)
{
    const char *blank = " ";
    for (uint32_t i = 1; i < source->count; i++)
        if (source->layers[i].ops != &tp_source_limit) {
            tp_str_add(s, "%s+%s", blank, source->layers[i].ops->name);
            blank = "";
        }
}

/* Adds the words and the limit, "8 GiB each"; nothing without a limit. */
static void add_limit(const struct tp_result *r, const char *words, bool exact, struct tp_str *s)
{
    uint64_t capacity = r->run->devices[0].capacity;
    if (capacity != TP_NONE && tp_source_spec_is_limited(r->source))
        tp_str_add(s, "%s%s%s", words, tp_bytes(capacity, exact).s,
                   r->run->device_count > 1 ? " each" : "");
}

/* Adds the size of the pages in which the simulated device gives out memory. */
static void add_pages(const struct tp_source_spec *source, bool exact, struct tp_str *s)
{
    const struct tp_source_layer *base = &source->layers[0];
    char page[32];
    uint64_t bytes = TP_DEVICE_PAGE;
    tp_opt_format(tp_opt_find(base->ops->options, "page"), base->opts, page, sizeof page);
    bool own = tp_parse_size(page, &bytes);
    tp_str_add(s, "pages of %s%s", tp_bytes(bytes, exact).s,
               own ? "" : " as cudaMalloc takes them");
}

static void describe_virtual_gpu(const struct tp_result *r, bool exact, struct tp_str *s)
{
    uint64_t capacity = r->run->devices[0].capacity;
    bool several = r->run->device_count > 1;
    tp_str_add(s, "no GPU is used");
    add_wrappers(r->source, s);
    add_limit(r, several ? "; the simulated ones have " : "; the simulated one has ", exact, s);
    if (capacity != TP_NONE && capacity == tp_captured_capacity(r->captured))
        tp_str_add(s, ", memory limit of the recorded program");
    tp_str_add(s, ". Memory and call counts are exact for the simulated device%s, in ",
               several ? "s" : "");
    add_pages(r->source, exact, s);
    tp_str_add(s, ". Times: CPU time of the strategy, without cudaMalloc");
}

static void describe_device(const struct tp_result *r, bool exact, struct tp_str *s)
{
    char names[256];
    const struct tp_cuda_info *driver = r->use->driver;
    tp_device_names(r, names, sizeof names);
    tp_str_add(s, "%s%s%s, CUDA %d.%d%s", names, driver->release[0] ? ", driver " : "",
               driver->release, driver->version / 1000, driver->version % 1000 / 10,
               tp_device_connections(r).s);
    add_wrappers(r->source, s);
    add_limit(r, ", limited to ", exact, s);
    tp_str_add(s, ". %s",
               driver->simulated
                   ? "A simulated driver, no GPU: times mean nothing. Kernels are not replayed"
                   : "Times include driver calls as seen from the CPU; kernels are not "
                     "replayed");
    if (r->use->occupy == TP_OCCUPY_SPIN)
        tp_str_add(s, ", but each block is worked on (spin, recorded time x %g)", r->use->scale);
    else if (r->use->occupy == TP_OCCUPY_MEMSET)
        tp_str_add(s, ", but each block is written once (memset)");
}

static void describe_source(const struct tp_result *r, bool exact, struct tp_str *s)
{
    bool nothing = tp_result_is_virtual(r);
    if (tp_result_is_foreign(r)) {
        tp_str_add(s, "%s, in its own process", r->run->library);
    } else if (tp_result_is_device(r)) {
        describe_device(r, exact, s);
    } else if (nothing && r->facts->kind == TP_KIND_DEVICE) {
        describe_virtual_gpu(r, exact, s);
    } else {
        tp_str_add(s, "%s", nothing ? "simulated, no memory" : "this machine's memory (mmap)");
        add_wrappers(r->source, s);
        add_limit(r, ", limited to ", exact, s);
        if (nothing)
            tp_str_add(s,
                       ": byte and call counts are exact, times are the strategy's CPU time only");
    }
}

/* What was written into the blocks; NULL if the text about --occupy has already said it. */
static const char *touched_text(const struct tp_result *r)
{
    bool worked = tp_result_is_device(r) && r->use->occupy != TP_OCCUPY_NONE;
    return worked ? NULL : touch_text[r->touch];
}

/* "replayed by one thread", "replayed by 8 threads on 2 cores, as recorded". */
static struct tp_text replayed_by(const struct tp_result *r)
{
    uint64_t threads = tp_threads_of(r->run).replayed, cores = tp_machine_cores_to_use();
    if (threads == 1)
        return tp_text_of("replayed by one thread");
    struct tp_text on = tp_text_of("on %s", tp_plural(cores, "core").s);
    return threads == r->facts->threads
               ? tp_text_of("replayed by %s threads %s, as recorded", tp_count(threads).s, on.s)
               : tp_text_of("%s recorded threads replayed by %s %s",
                            tp_count(r->facts->recorded_threads).s, tp_count(threads).s, on.s);
}

/* Says that a serial replay of several threads is one, and what would not be. */
static void print_serial(const struct tp_result *r, int note, struct tp_page *page)
{
    bool host = r->facts->kind == TP_KIND_HOST && !tp_result_is_virtual(r);
    if (r->facts->recorded_threads < 2 || tp_threads_of(r->run).replayed > 1)
        return;
    tp_page_put(page, note, "%s recorded threads replayed by 1: no lock contention in these times",
                tp_count(r->facts->recorded_threads).s);
    if (host && r->facts->threads > 1)
        tp_page_put(page, note, "(--threads recorded replays %s)", tp_count(r->facts->threads).s);
}

/* Says that more threads were asked for than the trace has. */
static void print_fewer(const struct tp_result *r, int note, struct tp_page *page)
{
    uint64_t has = r->facts->threads;
    bool recorded = r->threads == TP_THREADS_AS_RECORDED;
    if (r->threads <= 1 || (recorded ? has > 1 : r->threads <= has))
        return;
    const struct tp_text asked =
        recorded ? tp_text_of("recorded") : tp_text_of("%u", (unsigned)r->threads);
    if (has == 1)
        tp_page_put(page, note, "(the trace %s: --threads %s has no effect)",
                    tp_is_recorded(r->trace, "threads") ? "has one thread" : "names no threads",
                    asked.s);
    else
        tp_page_put(page, note, "(the trace has %s threads%s: --threads %s replays no more)",
                    tp_count(has).s, has < r->facts->recorded_threads ? " at a time" : "", asked.s);
}

/* "verified", or by how many threads where several replay the timed passes. */
static struct tp_text verified_by(const struct tp_result *r)
{
    uint32_t has = r->facts->threads, threads = r->threads < has ? r->threads : has;
    return threads > 1 ? tp_text_of("verified by one thread and by %u", threads)
                       : tp_text_of("verified");
}

static void print_source(const struct tp_result *r, const char *label, int note,
                         struct tp_page *page)
{
    struct tp_str text = {0};
    const char *touched = touched_text(r);
    bool contents = !tp_result_is_virtual(r) && !tp_result_is_device(r);
    if (r->spec->strategy->caps & TP_CAP_PRELOAD && !strcmp(label, tp_report_place(r).s))
        tp_str_add(&text, "each malloc runs in its own process"); /* a table */
    else
        describe_source(r, page->exact, &text);
    tp_page_side(page, label, note);
    tp_page_at(page, note, "%s; %s%s%s", tp_str_text(&text), replayed_by(r).s, touched ? "; " : "",
               touched ? touched : "");
    tp_str_drop(&text);
    if (r->run->flags & TP_RUN_VERIFIED)
        tp_page_more(page, note, "; %s: no overlap, aligned, %snothing leaked", verified_by(r).s,
                     contents ? "contents kept, " : "");
    tp_page_line(page);
    print_serial(r, note, page);
    print_fewer(r, note, page);
}

struct tp_text tp_report_place(const struct tp_result *r)
{
    bool simulated = r->facts->kind == TP_KIND_DEVICE && tp_result_is_virtual(r);
    if (tp_result_is_device(r))
        return tp_device_label(r);
    return tp_text_of("%s", simulated ? "virtual GPU" : tp_result_base(r));
}

void tp_report_head(const struct tp_result *r, const char *label, struct tp_page *page)
{
    int note = tp_page_beside(r->trace->file, label);
    print_trace(r, note, page);
    print_source(r, label, note, page);
}
