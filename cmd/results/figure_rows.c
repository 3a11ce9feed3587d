/* The registry of figures. metrics.h explains the members of a row, figure_rows.h has the rows. */
#include "alloc/packing/offline.h"
#include "cmd/results/figures.h"
#include "cmd/results/metrics.h"

#include <assert.h>
#include <string.h>

/* A tenth of a percentage point, which rounding in the last block can change. */
#define SHARE_ALLOWED 0.001

/* Bytes: what the kernel counts as resident, and for its parts, differs by a few pages from run to
 * run. */
#define RESIDENT_LEAST (16 * 4096)

/* ---- values that are not simply a field ---- */

static struct tp_figure_value whole(uint64_t value)
{
    return (struct tp_figure_value){.whole = value};
}

static struct tp_figure_value real(double value)
{
    return (struct tp_figure_value){.real = value};
}

static struct tp_figure_value text(const char *value)
{
    return (struct tp_figure_value){.text = value};
}

static struct tp_figure_value read_field(enum tp_figure_type type, const void *at)
{
    struct tp_figure_value value = {.whole = TP_NONE, .real = NAN};
    if (type == TP_FIGURE_WHOLE)
        memcpy(&value.whole, at, sizeof value.whole);
    else if (type == TP_FIGURE_REAL)
        memcpy(&value.real, at, sizeof value.real);
    return value;
}

static bool has(const struct tp_figure_of *of, uint32_t flags)
{
    return of->r->run->flags & flags;
}

static double share(uint64_t part, uint64_t all)
{
    return part != TP_NONE && all ? (double)part / (double)all : (double)NAN;
}

#define GETTER(name, value)                                                                        \
    static struct tp_figure_value name(const struct tp_figure_of *of, const struct tp_metric *f)   \
    {                                                                                              \
        (void)f;                                                                                   \
        return value;                                                                              \
    }

GETTER(min_capacity, whole(has(of, TP_RUN_FITS) ? of->d->min_capacity : TP_NONE))

static const struct tp_offline *packing(const struct tp_figure_of *of)
{
    return of->r->bounds ? &of->r->bounds[of->d - of->r->run->devices] : NULL;
}

GETTER(best_packing, whole(packing(of) ? packing(of)->best : TP_NONE))
GETTER(lower_bound, whole(packing(of) ? packing(of)->least : TP_NONE))
GETTER(regret, real(packing(of) ? share(of->d->peak_reserved, packing(of)->best) : (double)NAN))
GETTER(weight, text(has(of, TP_RUN_WEIGHT_TIME) ? "time" : "events"))
GETTER(memory_class, text(has(of, TP_RUN_INFORMATIVE | TP_RUN_DEVICE) ? "R" : "E"))
GETTER(is_informative, whole(has(of, TP_RUN_INFORMATIVE)))

/* The calls of a foreign allocator are not known, and then `gets` is TP_NONE. */
GETTER(wait_ns, whole(of->d->gets == TP_NONE ? TP_NONE : of->d->wait_ns))
GETTER(fallbacks, whole(of->d->gets == TP_NONE ? TP_NONE : of->d->fallbacks))
GETTER(retries, whole(of->d->gets == TP_NONE ? TP_NONE : of->d->retries))
GETTER(all_calls, whole(of->d->gets == TP_NONE ? TP_NONE : of->d->gets + of->d->puts))
GETTER(share_reused, real(share(of->d->reused, of->d->allocations)))

GETTER(failed, whole(tp_run_failed(of->r->run)))
GETTER(failed_initial, whole(tp_run_failed_initial(of->r->run)))
GETTER(first_failed_event, whole(tp_run_first_failure(of->r->run)))

GETTER(total_resident, whole(tp_run_total_resident(of->r->run)))
GETTER(has_huge_pages, whole(of->r->run->resident.huge_pages))

const char *tp_pages_found_by(const struct tp_resident *r)
{
    if (r->parts_at_peak.resident == TP_NONE && r->parts_end.resident == TP_NONE)
        return NULL;
    return r->by_mincore ? "mincore" : "pagemap";
}

GETTER(pages_by, text(tp_pages_found_by(&of->r->run->resident)))

static struct tp_figure_value mapped(const struct tp_figure_of *of, uint64_t value)
{
    return whole(of->r->run->mapped.known ? value : TP_NONE);
}

const char *tp_mapped_why(const struct tp_mapped *m)
{
    if (m->known)
        return NULL;
    return m->why == TP_MAPPED_THREADS ? "it has threads of its own" : strerror(m->why);
}

GETTER(peak_mapped, mapped(of, of->r->run->mapped.peak - of->r->run->mapped.base))
GETTER(mapped_at_peak, mapped(of, of->r->run->mapped.at_peak))
GETTER(end_mapped, mapped(of, of->r->run->mapped.end))
GETTER(mapped_gets, mapped(of, of->r->run->mapped.gets))
GETTER(mapped_puts, mapped(of, of->r->run->mapped.puts))
GETTER(has_fixed_addresses, whole(of->r->run->mapped.fixed))
GETTER(why_not_mapped, text(tp_mapped_why(&of->r->run->mapped)))

GETTER(is_replayed_once, whole(has(of, TP_RUN_REPLAYED_ONCE)))
GETTER(replays_per_run, whole(of->r->run->throughput.runs.per_value))

/* Divided by all operations of the trace, including those that a full device made impossible, so
 * that the divisor is the same for every strategy. */
GETTER(instructions_per_op, real(share(of->r->run->instructions, of->r->facts->operations)))
GETTER(counter, text(of->r->run->instructions == TP_NONE ? NULL : "perf_event"))

static struct tp_figure_value part_of_speed(const struct tp_figure_of *of,
                                            const struct tp_metric *f)
{
    const struct tp_speed speed = tp_speed_of(of->r->run);
    return read_field(TP_FIGURE_REAL, (const char *)&speed + f->offset);
}

GETTER(threads_replayed, whole(tp_threads_of(of->r->run).replayed))
GETTER(wall_ns, real(tp_threads_of(of->r->run).wall))
GETTER(wall_low, real(tp_threads_of(of->r->run).wall_low))
GETTER(wall_high, real(tp_threads_of(of->r->run).wall_high))
GETTER(window_ns, real(tp_threads_of(of->r->run).window))
GETTER(window_low, real(tp_threads_of(of->r->run).window_low))
GETTER(window_high, real(tp_threads_of(of->r->run).window_high))
GETTER(calls_per_second, whole(tp_threads_of(of->r->run).calls_per_second))
GETTER(speedup, real(tp_threads_of(of->r->run).speedup))
GETTER(waited, real(tp_threads_of(of->r->run).waited))
GETTER(blocked, real(tp_threads_of(of->r->run).blocked))
GETTER(one_lock, whole(tp_threads_of(of->r->run).one_lock))

static const struct tp_latency *calls(const struct tp_figure_of *of, const struct tp_metric *f)
{
    return (const void *)((const char *)of->r->run + f->offset);
}

static uint64_t percentile(const struct tp_latency *l, int which)
{
    uint64_t ns = TP_NONE;
    return tp_percentile(l, tp_percentiles[which].fraction, &ns) ? ns : TP_NONE;
}

GETTER(mean_ns, real(tp_latency_mean(calls(of, f))))
GETTER(percentile_ns, whole(percentile(calls(of, f), f->percentile)))
GETTER(max_ns, whole(calls(of, f)->hist.count ? calls(of, f)->hist.max : TP_NONE))

/* ---- the macros of a row ---- */

/* clang-format off */
#define TYPE_OF(type, field) \
    _Generic(((const type *)NULL)->field, uint64_t: TP_FIGURE_WHOLE, double: TP_FIGURE_REAL)
#define FIELD(of) \
    .type = TYPE_OF(struct tp_device_run, of), .offset = offsetof(struct tp_device_run, of)
#define RUN_FIELD(of) .type = TYPE_OF(struct tp_run, of), .offset = offsetof(struct tp_run, of)
#define GET_WHOLE(function) .type = TP_FIGURE_WHOLE, .get = (function)
#define GET_REAL(function) .type = TP_FIGURE_REAL, .get = (function)
#define GET_SPEED(of) GET_REAL(part_of_speed), .offset = offsetof(struct tp_speed, of)
#define GET_FLAG(function) .type = TP_FIGURE_FLAG, .get = (function)
#define GET_TEXT(function) .type = TP_FIGURE_TEXT, .get = (function)

#define MEANS(words) .meaning = (words)
#define TERM(word) .term = (word)
#define HEAD(upper, lower) .head = {upper, lower}
#define COLUMN(words) .column = (words)
#define BENCHMARK(words) .benchmark = (words)
#define NO_COLUMN .no_column = true
#define SHARE_OF(path_) .share_of = (path_)
#define EXACT(family_) .metric_class = TP_CLASS_EXACT, .family = TP_FAMILY_##family_

#define RUN(object, of, unit_) .name = #of, .path = object #of, .unit = TP_UNIT_##unit_
#define DEVICE(object, of, unit_) RUN(object, of, unit_), .per_device = true
#define COUNT_OF(of) EXACT(FAILURES), RUN("", of, COUNT)
#define FAILED_BY(of, id) DEVICE("failed_by.", of, COUNT), FIELD(failed_by[TP_OOM_##id])
#define AT_PEAK(of, unit_, field) \
    DEVICE("memory.at_trace_peak.", of, unit_), FIELD(at_peak.field)
#define MEASURED(of, unit_, field) DEVICE("measured.", of, unit_), FIELD(measured.field)
#define RANGE(of, end) DEVICE("measured.", of[end], BYTES)

/* The path ends in the unit, the name does not. */
#define MEMORY_BYTES(of) \
    .name = #of, .path = "memory." #of "_bytes", .unit = TP_UNIT_BYTES, .per_device = true
#define BYTES(of) MEMORY_BYTES(of), FIELD(of)
#define EXACT_BYTES(of) EXACT(MEMORY), BYTES(of)
#define MEMORY_WORD(of) .name = of, .path = "memory." of, .per_device = true
#define UNUSED(of, all) \
    EXACT(MEMORY), DEVICE("memory.", of, SHARE), FIELD(of), \
    .allowed = SHARE_ALLOWED, SHARE_OF("memory." all "_bytes")

/* Name and path are the same. */
#define CALLS(of, unit_) \
    .name = "driver_calls." #of, .path = "driver_calls." #of, .unit = TP_UNIT_##unit_, \
    .per_device = true, .family = TP_FAMILY_CALLS

#define TIME(class_, allowed_) \
    .metric_class = TP_CLASS_##class_, .allowed = (allowed_), .family = TP_FAMILY_TIME
#define THROUGHPUT(of, class_, allowed_) RUN("throughput.", of, NS), TIME(class_, allowed_)
#define OF_THREADS(of, unit_) RUN("throughput.", of, unit_), TIME(REPORT, 0), .of_threads = true
#define THROUGHPUT_OF_THREADS(of) THROUGHPUT(of, NOISY, 0.05), .of_threads = true

/* Memory of the process, by the kernel. */
#define RESIDENT(of, value) \
    .name = "resident." #of "_" #value "_bytes", .path = "resident." #of "_" #value "_bytes", \
    .unit = TP_UNIT_BYTES, RUN_FIELD(resident.of.value)
#define PAGES(of, value, name_) \
    .name = (name_), \
    .path = "resident." #of "_pages_" #value "_bytes", .unit = TP_UNIT_BYTES, \
    RUN_FIELD(resident.parts_##of.value)
#define PAGES_ERROR(of, value) \
    .name = "resident." #of "_pages_" #value "_error_bytes", \
    .path = "resident." #of "_pages_" #value "_error_bytes", .unit = TP_UNIT_BYTES, \
    RUN_FIELD(resident.errors_##of.value)
#define BESIDE_PAGES(of, value) \
    .name = "resident." #of "_" #value "_bytes", .path = "resident." #of "_" #value "_bytes", \
    .unit = TP_UNIT_BYTES, RUN_FIELD(resident.parts_##of.value)
#define RESIDENT_BYTES(name_, of, allowed_) \
    .name = (name_), .path = "resident." #of "_bytes", .unit = TP_UNIT_BYTES, \
    .metric_class = TP_CLASS_REPORT, .family = TP_FAMILY_MEMORY, .allowed = (allowed_), \
    .least = RESIDENT_LEAST
#define PAGES_METRIC(name_, of, value, words, allowed_) \
    PAGES(of, value, name_), .metric_class = TP_CLASS_REPORT, .family = TP_FAMILY_MEMORY, \
    .allowed = (allowed_), .least = RESIDENT_LEAST, .part = (words)
#define RESIDENT_METRIC(name_, of) RESIDENT_BYTES(name_, of, 0.05), RUN_FIELD(resident.of.median)

/* What a real allocator has mapped. */
#define MAPPED(name_, of, unit_, get_) \
    .name = (name_), .path = "mapped." of, .unit = TP_UNIT_##unit_, GET_WHOLE(get_)
#define MAPPED_METRIC(name_, of, unit_, get_, family_) \
    EXACT(family_), MAPPED(name_, of, unit_, get_)

/* Figures of the latency of single calls. */
#define PART(call, of, unit_) \
    .name = call "." of, .path = "latency." call "." of, .unit = TP_UNIT_##unit_
#define CALLS_OF(id) .offset = offsetof(struct tp_run, latency.kinds[TP_LAT_##id])
#define LATENCY(call, id, of, class_) \
    .name = call "." of, .path = "latency." call "." of "_ns", .unit = TP_UNIT_NS, \
    TIME(class_, 0.05), CALLS_OF(id)
#define PERCENTILE(call, id, of, class_, which) \
    LATENCY(call, id, of, class_), GET_WHOLE(percentile_ns), .percentile = (which)
#define LATENCIES(call, id, ROW, rank) \
    REPORTED(PART(#call, "count", COUNT), RUN_FIELD(latency.kinds[TP_LAT_##id].hist.count)) \
    ROW((rank) + 2, LATENCY(#call, id, "mean", REPORT), GET_REAL(mean_ns)) \
    REPORTED(PART(#call, "min_ns", NS), RUN_FIELD(latency.kinds[TP_LAT_##id].hist.min)) \
    ROW((rank) + 3, PERCENTILE(#call, id, "p50", REPORT, 0)) \
    ROW((rank) + 0, PERCENTILE(#call, id, "p90", NOISY, 1)) \
    ROW((rank) + 1, PERCENTILE(#call, id, "p99", NOISY, 2)) \
    ROW((rank) + 4, PERCENTILE(#call, id, "p99_9", REPORT, 3), HEAD(#call, "p99.9")) \
    ROW((rank) + 5, LATENCY(#call, id, "max", REPORT), GET_WHOLE(max_ns)) \
    REPORTED(PART(#call, "coarse", COUNT))
#define NOT_COMPARED(rank, ...) REPORTED(__VA_ARGS__)
/* clang-format on */

/* ---- the tables ---- */

#define COMPARED(rank, ...) [rank] = {__VA_ARGS__},
#define REPORTED(...)
#define LINE(name, meaning)
const struct tp_metric tp_metrics[] = {
#include "cmd/results/figure_rows.h"
};
#undef COMPARED
#undef REPORTED
#undef LINE

const size_t tp_metric_count = sizeof tp_metrics / sizeof *tp_metrics;
static_assert(sizeof tp_metrics / sizeof *tp_metrics <= TP_METRIC_MAX, "the documented limit");

#define COMPARED(rank, ...)   &tp_metrics[rank],
#define REPORTED(...)         &(const struct tp_metric){__VA_ARGS__},
#define LINE(name_, meaning_) &(const struct tp_metric){.name = (name_), .meaning = (meaning_)},
const struct tp_metric *const tp_figures[] = {
#include "cmd/results/figure_rows.h"
};
const size_t tp_figure_count = sizeof tp_figures / sizeof *tp_figures;
static_assert(sizeof tp_figures / sizeof *tp_figures <= TP_FIGURE_MAX, "the documented limit");

/* ---- values ---- */

struct tp_figure_value tp_figure_value(const struct tp_metric *f, const struct tp_figure_of *of)
{
    const void *fields = f->per_device ? (const void *)of->d : (const void *)of->r->run;
    return f->get ? f->get(of, f) : read_field(f->type, (const char *)fields + f->offset);
}

uint64_t tp_figure_at(const struct tp_metric *f, const struct tp_at_peak *at)
{
    size_t offset = f->offset - offsetof(struct tp_device_run, at_peak);
    return read_field(f->type, (const char *)at + offset).whole;
}

bool tp_figure_is_member(const struct tp_metric *f, const char *object, bool per_device)
{
    size_t length = strlen(object);
    return f->type != TP_FIGURE_OTHER && f->per_device == per_device &&
           !strncmp(f->path, object, length) && !strchr(f->path + length, '.');
}

bool tp_figure_is_event(const struct tp_metric *f)
{
    const char *end = f->path ? strrchr(f->path, '_') : NULL;
    return end && !strcmp(end, "_event");
}
