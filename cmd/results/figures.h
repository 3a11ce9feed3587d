/* Figures derived from a run. They are computed here once, so that all writers show the same. */
#ifndef TP_FIGURES_H
#define TP_FIGURES_H

#include "cmd/jobs/spec.h"
#include "cmd/results/captured.h"
#include "cmd/results/result.h"
#include "cmd/ui/text.h"

/* If a smaller share of the allocations than this is served without a source call, times say little
 * about the strategy itself. */
#define TP_FEW_REUSED 0.5

/* Nanoseconds per operation without the engine's own share. NAN: nothing was timed, or the engine's
 * share is all there was. A value is never 0, because no call takes 0 ns. */
struct tp_speed {
    double ns, low, high; /* steady median and its 95% interval; a single run has no interval */
    double cold;          /* the first replay on a fresh instance */
    double engine;        /* the engine's share, which is already subtracted from the others */
};
struct tp_speed tp_speed_of(const struct tp_run *run);

/* What is said below tables of several threads. */
#define TP_WALL_NOTE    "wall: time per operation of all threads together, waiting included"
#define TP_WAITED_NOTE  "waited: for an object of another thread; not in ns/op"
#define TP_BLOCKED_NOTE "blocked: calls without a core, in a lock or a page fault; in ns/op"

#define TP_NEVER_ALONE_NOTE "vs 1 thread: not known for a library with threads of its own"

/* What real threads did. All unknown where one thread replayed everything. */
struct tp_by_threads {
    uint64_t replayed; /* threads; 1 where one replayed everything */
    /* ns that passed for each call of all threads together, engine share included: the median and
     * its 95% interval; NAN: unknown, and the interval also of a single replay */
    double wall, wall_low, wall_high;
    /* ns of that time in each window: the median and its 95% interval; NAN: unknown, and the
     * interval also of a single window */
    double window, window_low, window_high;
    uint64_t calls_per_second; /* by that time; TP_NONE: unknown */
    double speedup;   /* of that time against one thread on an instance of its own; NAN: unknown */
    bool never_alone; /* it is not known because the library has threads of its own */
    double waited;    /* share of their time in which they waited for an object; NAN: unknown */
    double blocked;   /* share of it in which a call had no core, as in a lock; NAN: unknown */
    bool one_lock;    /* one lock is held through every call of the strategy */
};
struct tp_by_threads tp_threads_of(const struct tp_run *run);

/* Why there is no time per call, to be printed after "Speed"; NULL: there is a time. */
const char *tp_result_no_speed(const struct tp_result *r);

/* Why it is not known what a library has mapped; NULL: it is known. */
const char *tp_mapped_why(const struct tp_mapped *m);

/* How the pages of the resident pass were found, "pagemap" or "mincore"; NULL: none are known. */
const char *tp_pages_found_by(const struct tp_resident *r);

/* Whether the time has an interval, which needs more than one measurement. */
bool tp_run_has_interval(const struct tp_run *run);

/* ns per operation of one replay, `gross` less the engine's share; 0 if nothing is left. */
double tp_speed_net(const struct tp_run *run, double gross);

/* Writes a percentile in ns; false if it is not known. A percentile is known if at least 10 calls
 * lie beyond it. */
bool tp_percentile(const struct tp_latency *l, double fraction, uint64_t *ns);

enum { TP_PERCENTILES = 4 };
struct tp_percentile_row {
    double fraction;
    const char *head;      /* "p99.9" */
    const char *json_name; /* "p99_9_ns" */
};
extern const struct tp_percentile_row tp_percentiles[TP_PERCENTILES];

double tp_latency_mean(const struct tp_latency *l); /* ns; NAN: no calls */

/* The latencies of the calls of one kind; TP_LAT_KINDS means all kinds together. */
void tp_run_latency(const struct tp_run *run, int kind, struct tp_latency *out);

/* The sum over all devices of a uint64_t field of struct tp_device_run, given by its offset;
 * TP_NONE if the field of any device is TP_NONE. A sum of peaks is only a peak if there is a single
 * device. */
uint64_t tp_run_sum(const struct tp_run *run, size_t field);
#define TP_RUN_SUM(run, field) tp_run_sum(run, offsetof(struct tp_device_run, field))
#define tp_run_failed(run)     TP_RUN_SUM(run, failed_allocations)
#define tp_run_failed_initial(run)                                                                 \
    TP_RUN_SUM(run, failed_initial) /* failed in the initial heap                                  \
                                     */
#define tp_run_trace_peak(run) TP_RUN_SUM(run, trace_peak_requested)
#define tp_run_next_calls(run) TP_RUN_SUM(run, next_calls) /* calls of the next pass */

/* The event of the first failed allocation of all devices; TP_NONE: none failed. */
uint64_t tp_run_first_failure(const struct tp_run *run);

/* Calls to the source: gets and puts, or all driver calls of a real device; TP_NONE: not known. */
uint64_t tp_run_calls(const struct tp_run *run);

/* The peak of the reserved bytes, summed over devices. On a real device it differs between passes:
 * the range is from the lowest to the highest, and the first function returns the highest. */
uint64_t tp_run_peak_reserved(const struct tp_run *run);
struct tp_range tp_run_reserved(const struct tp_run *run);

/* Peak resident memory and what a preloaded library adds at start (struct tp_resident); TP_NONE:
 * not known. */
uint64_t tp_run_total_resident(const struct tp_run *run);

/* Whether the memory of these results compares by what is resident: a real allocator is among them,
 * of which nothing else is known that a strategy has too, and it is known of all that served. */
bool tp_results_by_resident(const struct tp_result *results, size_t count);

/* Bytes of the best packing and the lower bound, summed over the devices; packings must have been
 * looked for. */
uint64_t tp_result_packed(const struct tp_result *r);
uint64_t tp_result_lower_bound(const struct tp_result *r);

/* Bytes of the smallest devices on which no allocation fails; TP_NONE: not looked for. */
uint64_t tp_run_min_capacity(const struct tp_run *run);

/* Free bytes that can serve a request, without those that are dead or lost to rounding; all free
 * bytes if the strategy does not tell them apart. TP_NONE: not known. */
uint64_t tp_usable_free(const struct tp_at_peak *at);

/* The share of allocations that needed no source call; NAN: not known. */
double tp_run_reuse(const struct tp_run *run);

/* Bytes held / the trace's peak requested bytes; NAN: not known. */
double tp_run_needed(const struct tp_run *run, uint64_t held);

/* Whether the trace is one period of a loop: the trace says so, or about as many bytes are live at
 * its end as before its first event. */
bool tp_trace_is_loop(const struct tp_trace *t);

/* Whether a real allocator replayed, which takes no source: of its memory only its own statistics
 * and the kernel tell. */
bool tp_result_is_foreign(const struct tp_result *r);

/* Whether the source is virtual, so that times hold the strategy's own work only. */
bool tp_result_is_virtual(const struct tp_result *r);

/* Whether it is replayed in this machine's memory, of which what is reserved is a range of
 * addresses until it is written. */
bool tp_result_is_on_host(const struct tp_result *r);

/* Whether the times look better than the strategy is: the source is virtual, so its calls cost
 * nothing, and most allocations need one (TP_FEW_REUSED). */
bool tp_result_is_flattered(const struct tp_result *r);

/* How many devices of a result are shown one by one. */
uint32_t tp_devices_shown(const struct tp_report *rep, const struct tp_result *r);

/* How many of `count` results (1 or more), from the first one on, are of one trace. */
size_t tp_results_of_trace(const struct tp_result *results, size_t count);

/* The first result that is replayed on a source, and not by a real allocator; the first result if
 * there is none. Its source stands for the whole table. */
const struct tp_result *tp_first_sourced(const struct tp_result *results, size_t count);

/* What the times include: "strategy" or "strategy_and_source". */
const char *tp_result_scope(const struct tp_result *r);

/* The name of the source without its wrappers: "host", "virtual". */
const char *tp_result_base(const struct tp_result *r);

extern const char *const tp_touch_names[]; /* by enum tp_touch */

/* The value of one of tp_touch_names; TP_TOUCH_ALL for any other name. */
enum tp_touch tp_touch_named(const char *name);

/* Whether the result is from a real device: times include the driver's calls, and memory is a range
 * over the passes. */
bool tp_result_is_device(const struct tp_result *r);

/* Whether the strategy may hand out memory that another stream of this trace still works on: it
 * reuses memory and knows no streams, or it is told to ignore them. */
bool tp_result_reuses_unsafely(const struct tp_result *r);

/* The peak of the reserved bytes of one device over the passes. Both ends are equal unless a real
 * device was replayed. */
struct tp_range tp_device_reserved(const struct tp_run *run, const struct tp_device_run *d);

/* "3.68 to 3.73 GiB", or one value if both ends read the same; "-": not known. */
struct tp_text tp_range_text(const struct tp_range *r, bool exact);

/* Whether the recorded allocator held memory before the first event and the file does not say for
 * which blocks. */
bool tp_result_unseen(const struct tp_result *r);

/* A row of a table. If a real allocator served it, `library` names the library; NULL otherwise. */
struct tp_served {
    const char *label, *library;
    bool known;    /* the library's own statistics say how much memory it holds */
    bool resident; /* what is resident stands in the table */
};

enum { TP_SERVED_MAX = 32, TP_SERVED_TEXT = 320 };

/* The word for the library of a row: libraries that were preloaded share one note, as their rows
 * have their versions. */
const char *tp_served_library(const char *strategy, const char *library);

/* The label of a row with the version of its library: "lib:jemalloc 5.3.0", where the strategy is
 * such a one, "arena" otherwise. */
struct tp_text tp_versioned_label(const char *label, const char *strategy, const char *library);
struct tp_text tp_result_name(const struct tp_result *r);

/* The note below a table about row i: "system is glibc 2.36: ...". Rows of the same library share
 * the note of the first of them. false: row i needs no note of its own. */
bool tp_served_note(const struct tp_served *rows, size_t count, size_t i, char *text, size_t size);

/* The word for the parts of a program with several devices. It is `device`, the screen's own word
 * for one, unless all memory spaces of a file are replayed, which may include host memory: `space`.
 */
const char *tp_part_name(const struct tp_trace *t, const char *device, const char *space);

/* Who answers the source's calls: "system" or "driver". */
const char *tp_result_callee(const struct tp_result *r);

/* The hash of a program as 64 hexadecimal digits. */
struct tp_hash_text {
    char s[2 * TP_HASH_SIZE + 1];
};
struct tp_hash_text tp_hash_text(const struct tp_program_facts *f);

#endif
