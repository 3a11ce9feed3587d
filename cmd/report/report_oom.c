/* Explains an out of memory: what was requested, how much was free in which blocks, and whether the
 * program needed too much or the strategy kept too much. */
#include "alloc/engine/replay.h"
#include "cmd/report/report.h"
#include "cmd/report/report_head.h"
#include "cmd/results/figures.h"
#include "cmd/ui/table.h"

#include <string.h>

enum { NAME = 2, VERDICT = 16, VERDICT_MAX = 30, BESIDE = 17, PLAIN_ALIGN = 256 };

/* Prints "first: event 1,844 (+25.4 ms), in phase 'step 2', requested 147.2 MiB". */
static void print_first(const struct tp_result *r, const struct tp_device_run *d, int column,
                        struct tp_page *page)
{
    const struct tp_first_failure *f = &d->first_failure;
    const char *phase = tp_mark_phase(r->trace->program, f->mark);
    const char *place = tp_captured_place(r->captured, d->first_failed_event);
    if (d->first_failed_event)
        tp_page_at(page, column, "first: event %s%s", tp_count(d->first_failed_event).s,
                   tp_time_at(r->facts, f->at.time_ns).s);
    else
        tp_page_at(page, column, "first: before the first event");
    if (place)
        tp_page_more(page, column, ", %s", place);
    if (phase)
        tp_page_more(page, column, ", in phase '%s'", phase);
    tp_page_more(page, column, ", requested %s", tp_bytes(f->size, page->exact).s);
    if (f->replaced)
        tp_page_more(page, column, " to replace %s", tp_bytes(f->replaced, page->exact).s);
    if (f->align > PLAIN_ALIGN)
        tp_page_more(page, column, ", aligned to %s", tp_bytes(f->align, page->exact).s);
    tp_page_line(page);
}

static uint64_t not_reserved(const struct tp_first_failure *f)
{
    bool known = f->capacity != TP_NONE && f->capacity > f->at.reserved;
    return known ? f->capacity - f->at.reserved : 0;
}

/* Prints "free: 99.1 MiB in 2,472 blocks (largest 45.6 MiB) + 114.7 MiB not yet reserved". */
static void print_free(const struct tp_first_failure *f, int column, struct tp_page *page)
{
    const struct tp_at_peak *at = &f->at;
    if (tp_usable_free(at) == TP_NONE) /* a pool of the driver does not report it */
        return;
    tp_page_at(page, column, "free: %s", tp_bytes(tp_usable_free(at), page->exact).s);
    if (at->free_blocks != TP_NONE && at->free_blocks > 1)
        tp_page_more(page, column, " in %s blocks (largest %s)", tp_count(at->free_blocks).s,
                     tp_bytes(at->largest, page->exact).s);
    if (f->capacity != TP_NONE)
        tp_page_more(page, column, " + %s not yet reserved",
                     tp_bytes(not_reserved(f), page->exact).s);
    if (at->dead && at->dead != TP_NONE)
        tp_page_more(page, column, "; %s more are unusable until a reset",
                     tp_bytes(at->dead, page->exact).s);
    tp_page_line(page);
}

/* Prints how much the device itself had free, which other processes may use too. */
static void print_device_free(const struct tp_result *r, const struct tp_device_run *d, int column,
                              struct tp_page *page)
{
    if (!tp_result_is_device(r) || d->measured.free_at_failure == TP_NONE)
        return;
    tp_page_put(page, column, "cuMemGetInfo: %s of %s free on the device",
                tp_bytes(d->measured.free_at_failure, page->exact).s,
                tp_bytes(d->measured.total, page->exact).s);
    if (d->measured.pool_unused_at_failure != TP_NONE)
        tp_page_put(page, column, "reserved by the pool, not used by a block: %s",
                    tp_bytes(d->measured.pool_unused_at_failure, page->exact).s);
}

static void print_fragmentation(const struct tp_result *r, const struct tp_first_failure *f,
                                int column, struct tp_page *page)
{
    const struct tp_at_peak *at = &f->at;
    uint64_t usable = tp_usable_free(at) == TP_NONE ? 0 : tp_usable_free(at);
    if (r->run->flags & TP_RUN_POOL) {
        tp_page_at(page, column,
                   "OOM by fragmentation: the requested bytes fit, the pool refused.");
        return;
    }
    if (usable + not_reserved(f) < f->size) {
        tp_page_at(page, column,
                   "OOM by rounding: %s free, %s requested; %s of reserved memory is rounding or "
                   "cannot be used.",
                   tp_bytes(usable + not_reserved(f), page->exact).s,
                   tp_bytes(f->size, page->exact).s,
                   tp_bytes(at->reserved - at->requested - usable, page->exact).s);
        return;
    }
    tp_page_at(page, column, "OOM by fragmentation: %s free",
               tp_bytes(usable + not_reserved(f), page->exact).s);
    if (at->largest && at->largest != TP_NONE)
        tp_page_more(
            page, column, ", largest %s %s", at->largest < not_reserved(f) ? "part" : "block",
            tp_bytes(at->largest < not_reserved(f) ? not_reserved(f) : at->largest, page->exact).s);
    tp_page_more(page, column, ", %s requested.", tp_bytes(f->size, page->exact).s);
}

static void print_class(const struct tp_result *r, const struct tp_first_failure *f, int column,
                        struct tp_page *page)
{
    const struct tp_at_peak *at = &f->at;
    switch ((enum tp_oom_class)f->oom_class) {
    case TP_OOM_DEMAND:
        tp_page_at(page, column, "OOM by demand: %s requested, %s on the device.",
                   tp_bytes(at->requested - f->replaced + f->size, page->exact).s,
                   tp_bytes(f->capacity, page->exact).s);
        break;
    case TP_OOM_FRAGMENTATION:
        print_fragmentation(r, f, column, page);
        break;
    case TP_OOM_STRATEGY:
        tp_page_at(page, column,
                   "OOM by a limit of the strategy (see its options), not of the device.");
        break;
    case TP_OOM_GUARD:
        tp_page_at(page, column,
                   "stopped by tapool at %s, over %dx the requested bytes: --capacity SIZE sets "
                   "another limit, --capacity 0 none.",
                   tp_bytes(at->reserved, page->exact).s, TP_GUARD_TIMES);
        break;
    default:
        tp_page_at(page, column, "OOM: the %s refused; free memory is not known.",
                   tp_result_callee(r));
    }
}

void tp_report_failure(const struct tp_result *r, const struct tp_device_run *d, int column,
                       struct tp_page *page)
{
    print_first(r, d, column, page);
    if (d->first_failure.oom_class != TP_OOM_GUARD) /* the guard does not look at free memory */
        print_free(&d->first_failure, column, page);
    print_device_free(r, d, column, page);
    print_class(r, &d->first_failure, column, page);
    if (d->min_capacity != TP_NONE)
        tp_page_more(page, column, " Min capacity %s.", tp_bytes(d->min_capacity, page->exact).s);
    tp_page_line(page);
}

static void add_failed(struct tp_str *s, uint64_t failed, uint64_t of, const char *what)
{
    if (of == TP_NONE)
        tp_str_item(s, " and ", "%s", tp_plural(failed, what).s);
    else
        tp_str_item(s, " and ", "%s of %s", tp_count(failed).s, tp_plural(of, what).s);
}

void tp_report_failed(uint64_t initial, uint64_t of_initial, uint64_t calls, uint64_t of_calls,
                      char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    if (initial)
        add_failed(&s, initial, of_initial, "initial block");
    if (calls || !initial)
        add_failed(&s, calls, of_calls, "allocation");
}

void tp_report_failure_count(const struct tp_result *r, const struct tp_device_run *d, int column,
                             struct tp_page *page)
{
    const struct tp_program_facts *f = r->facts;
    char text[160];
    bool alone = r->run->device_count == 1; /* skipped calls are counted for all devices together */
    uint64_t skipped = alone ? r->run->skipped_operations : 0;
    uint64_t calls = d->failed_allocations - d->failed_initial;
    uint64_t asked = alone ? tp_program_ops(f, TP_ASKS) : d->allocations + calls;
    tp_report_failed(d->failed_initial, alone ? f->initial_heap : TP_NONE, calls, asked, text,
                     sizeof text);
    tp_page_more(page, column, "%s failed", text);
    if (skipped)
        tp_page_more(page, column, ": skipped, with %s %s",
                     d->failed_allocations == 1 ? "its" : "their",
                     tp_plural(skipped, "later call").s);
    tp_page_line(page);
}

/* The name of a result on a device: "arena", or "arena, gpu 0" if there are several devices. */
static void name_of(const struct tp_result *r, uint32_t device, char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    tp_str_add(&s, "%s", r->spec->label);
    if (r->run->device_count > 1)
        tp_str_add(&s, ", %s %u", tp_part_name(r->trace, "gpu", "space"), device);
}

/* The column of the verdicts: behind the longest name that leaves it within VERDICT_MAX. */
static int verdict_column(const struct tp_result *results, size_t count)
{
    int column = VERDICT;
    for (size_t i = 0; i < count; i++) {
        char name[TP_LABEL_MAX + 32];
        name_of(&results[i], results[i].run->device_count - 1, name, sizeof name);
        int end = NAME + tp_text_width(name) + 2;
        column = end > column && end <= VERDICT_MAX ? end : column;
    }
    return column;
}

static void print_failed(const struct tp_result *r, uint32_t device, int column,
                         struct tp_page *page)
{
    const struct tp_device_run *d = &r->run->devices[device];
    char name[TP_LABEL_MAX + 32];
    name_of(r, device, name, sizeof name);
    tp_page_at(page, NAME, "%s", name);
    tp_page_styled(page, column, TP_RED, "OUT OF MEMORY");
    tp_page_at(page, column + BESIDE, "%s", "");
    tp_report_failure_count(r, d, column, page);
    tp_report_failure(r, d, column, page);
}

static void print_fitting(const struct tp_result *r, int column, struct tp_page *page)
{
    uint64_t calls = tp_run_calls(r->run);
    struct tp_range peak = tp_run_reserved(r->run);
    tp_page_at(page, NAME, "%s", r->spec->label);
    tp_page_at(page, column, "fits");
    if (calls != TP_NONE)
        tp_page_at(page, column + BESIDE, "%s %s call%s, peak reserved %s", tp_count(calls).s,
                   tp_result_callee(r), calls == 1 ? "" : "s", tp_range_text(&peak, page->exact).s);
    tp_page_line(page);
}

/* ---- as a table ---- */

enum oom_cause { DEMAND, FRAGMENTED, ROUNDED, POOL_REFUSED, LIMITED, GUARDED, REFUSED, OOM_CAUSES };

static const struct {
    const char *name, *meaning;
} oom_causes[OOM_CAUSES] = {
    [DEMAND] = {"demand", "the program requests more than the device has."},
    [FRAGMENTED] = {"fragmentation", "enough memory is free, but no free block is large enough."},
    [ROUNDED] = {"rounding and fragmentation",
                 "without rounding and free blocks the program fits."},
    [POOL_REFUSED] = {"fragmentation in the pool", "the requested bytes fit, the pool refused."},
    [LIMITED] = {"limit of the strategy", "see its options; the device is not full."},
    [GUARDED] =
        {"stopped by tapool",
         "far more than the requested bytes: --capacity SIZE sets another limit, --capacity "
         "0 none."},
    [REFUSED] = {"refused", "free memory is not known."}};

static enum oom_cause cause_of(const struct tp_result *r, const struct tp_first_failure *f)
{
    static const enum oom_cause of_class[TP_OOM_CLASSES] = {[TP_OOM_DEMAND] = DEMAND,
                                                            [TP_OOM_FRAGMENTATION] = FRAGMENTED,
                                                            [TP_OOM_STRATEGY] = LIMITED,
                                                            [TP_OOM_GUARD] = GUARDED,
                                                            [TP_OOM_UNKNOWN] = REFUSED};
    uint64_t usable = tp_usable_free(&f->at) == TP_NONE ? 0 : tp_usable_free(&f->at);
    if (f->oom_class != TP_OOM_FRAGMENTATION)
        return of_class[f->oom_class];
    if (r->run->flags & TP_RUN_POOL)
        return POOL_REFUSED;
    return usable + not_reserved(f) < f->size ? ROUNDED : FRAGMENTED;
}

static void add_failed_row(const struct tp_result *r, uint32_t device, bool exact,
                           struct tp_table *t)
{
    const struct tp_device_run *d = &r->run->devices[device];
    const struct tp_first_failure *f = &d->first_failure;
    const char *place = tp_captured_place(r->captured, d->first_failed_event);
    char name[TP_LABEL_MAX + 32];
    name_of(r, device, name, sizeof name);
    tp_table_add(t, "%s", name);
    tp_table_add(t, "%s", d->first_failed_event ? tp_count(d->first_failed_event).s : "start");
    tp_table_bytes(t, f->size, exact);
    tp_table_bytes(t, f->at.largest, exact);
    tp_table_bytes(t, tp_usable_free(&f->at), exact);
    tp_table_bytes(t, f->at.reserved, exact);
    tp_table_bytes(t, f->capacity, exact);
    tp_table_count(t, d->failed_allocations);
    tp_table_add(t, "%s", oom_causes[cause_of(r, f)].name);
    tp_table_add(t, place ? "%s" : NULL, place);
}

/* A row for each that ran out, and what each cause means once. */
static void print_oom_table(const struct tp_result *results, size_t count, struct tp_page *page)
{
    static const struct tp_column columns[] = {{.left = true},
                                               {.name = "event"},
                                               {.name = "requested"},
                                               {.name = "largest free block"},
                                               {.name = "free"},
                                               {.name = "reserved"},
                                               {.name = "capacity"},
                                               {.name = "failed"},
                                               {.name = "cause", .left = true},
                                               {.name = "allocation site", .left = true}};
    struct tp_table table = {0};
    bool seen[OOM_CAUSES] = {false};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < results[i].run->device_count; d++) {
            const struct tp_device_run *of = &results[i].run->devices[d];
            if (!of->failed_allocations)
                continue;
            add_failed_row(&results[i], d, page->exact, &table);
            seen[cause_of(&results[i], &of->first_failure)] = true;
        }
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&table);
    for (int k = 0; k < OOM_CAUSES; k++)
        if (seen[k])
            tp_page_dim(page, 0, "%s: %s", oom_causes[k].name, oom_causes[k].meaning);
}

void tp_report_oom(const struct tp_result *results, size_t count, struct tp_page *page)
{
    bool any = false;
    int column = verdict_column(results, count);
    for (size_t i = 0; i < count; i++)
        any |= tp_run_failed(results[i].run) > 0;
    if (any && page->form == TP_PAGE_HTML) {
        print_oom_table(results, count, page);
        return;
    }
    for (size_t i = 0; any && i < count; i++) {
        if (!tp_run_failed(results[i].run))
            print_fitting(&results[i], column, page);
        for (uint32_t d = 0; d < results[i].run->device_count; d++)
            if (results[i].run->devices[d].failed_allocations)
                print_failed(&results[i], d, column, page);
    }
    if (any)
        tp_page_line(page);
}
