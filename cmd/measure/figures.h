/* Figures derived from a run: computed here once, for every writer. */
#ifndef TP_FIGURES_H
#define TP_FIGURES_H

#include "cmd/measure/captured.h"
#include "cmd/measure/result.h"
#include "cmd/measure/spec.h"
#include "cmd/ui/text.h"

/* Share of allocations under which most go to the source: times are hardly the policy's own then.
 */
#define TP_FEW_REUSED 0.5

/* Nanoseconds per operation, the engine's own share taken off. NAN: nothing was timed, or nothing
 * is left of it then; no call takes 0 ns. */
struct tp_speed {
    double ns, low, high; /* steady median, its 95 % interval; of one measurement there is none */
    double cold;          /* first replay on a fresh instance */
    double engine;        /* the share that was taken off */
};
struct tp_speed tp_speed_of(const struct tp_run *run);

/* Why there is no time per call, after "Speed"; NULL: there is one. */
const char *tp_result_no_speed(const struct tp_result *r);

/* One measurement has no interval. */
bool tp_run_has_interval(const struct tp_run *run);

/* One replay's ns per operation as tp_speed counts it. */
double tp_speed_net(const struct tp_run *run, double gross);

/* A percentile is known when at least 10 calls lie beyond it. */
bool tp_percentile(const struct tp_latency *l, double fraction, uint64_t *ns);

enum { TP_PERCENTILES = 4 };
struct tp_percentile_row {
    double fraction;
    const char *head;      /* "p99.9" */
    const char *json_name; /* "p99_9_ns" */
};
extern const struct tp_percentile_row tp_percentiles[TP_PERCENTILES];

double tp_latency_mean(const struct tp_latency *l); /* NAN when there are none */

/* The calls of one kind; kind TP_LAT_KINDS: of all kinds together. */
void tp_run_latency(const struct tp_run *run, int kind, struct tp_latency *out);

/* Sums over devices of a field of struct tp_device_run; TP_NONE where one of them is. Byte values
 * only make sense with one device. */
uint64_t tp_run_sum(const struct tp_run *run, size_t field);
#define TP_RUN_SUM(run, field)     tp_run_sum(run, offsetof(struct tp_device_run, field))
#define tp_run_failed(run)         TP_RUN_SUM(run, failed_allocations)
#define tp_run_failed_initial(run) TP_RUN_SUM(run, failed_initial) /* of these, in the prologue */
#define tp_run_trace_peak(run)     TP_RUN_SUM(run, trace_peak_requested)
#define tp_run_next_calls(run)     TP_RUN_SUM(run, next_calls) /* of the next pass, same instance */
uint64_t tp_run_first_failure(const struct tp_run *run);       /* event; TP_NONE: none */
uint64_t tp_run_calls(const struct tp_run *run); /* gets and puts; of a real device all calls */
uint64_t tp_run_peak_reserved(const struct tp_run *run);   /* of a range its upper end */
struct tp_range tp_run_reserved(const struct tp_run *run); /* the peak, over the passes */
uint64_t tp_run_fits_in(const struct tp_run *run);         /* smallest devices; TP_NONE */
double tp_run_reuse(const struct tp_run *run); /* share of allocations without a source call; NAN */
double tp_run_needed(const struct tp_run *run); /* peak reserved / trace peak requested; NAN */

/* One period of a loop: by its own word, or because about as much is live at its end as before its
 * first event. */
bool tp_trace_is_loop(const struct tp_trace *t);

/* Times of a virtual source are the policy's own work only. */
bool tp_result_is_virtual(const struct tp_result *r);

/* A time there that is hardly the policy's: most allocations go to the source. */
bool tp_result_is_flattered(const struct tp_result *r);

/* The first that plays on a source at all, else the first: what the whole table is played on. */
const struct tp_result *tp_first_sourced(const struct tp_result *results, size_t count);

/* What is in its times: "policy" alone, or "policy_and_source". */
const char *tp_result_scope(const struct tp_result *r);

/* "host", "virtual+limit"; a real allocator's own is "host" too. */
const char *tp_result_source(const struct tp_result *r);

extern const char *const tp_touch_names[]; /* by enum tp_touch */

/* One of tp_touch_names; TP_TOUCH_ALL where it is none of them. */
enum tp_touch tp_touch_named(const char *name);

/* A real device: times hold the driver's calls, memory is a range over the passes. */
bool tp_result_is_device(const struct tp_result *r);

/* It hands out memory on which another stream of this trace may still work: a policy that knows no
 * streams and reuses memory, or one that is told to ignore them. */
bool tp_result_reuses_unsafely(const struct tp_result *r);

/* Of one device; where there is nothing but the usage pass, its peak twice. */
struct tp_range tp_device_reserved(const struct tp_run *run, const struct tp_device_run *d);

/* "3.68 to 3.73 GiB", or one value where both are the same; "-": not known. */
struct tp_text tp_range_text(const struct tp_range *r, bool exact);

/* The recorded allocator held memory before the first event, and the file does not say for what. */
bool tp_result_unseen(const struct tp_result *r);

/* A row of a table that a real allocator serves, and by which library; NULL: it is none. */
struct tp_served {
    const char *label, *library;
    bool known; /* what it holds, by its own statistics */
};

enum { TP_SERVED_MAX = 32, TP_SERVED_TEXT = 320 };

/* What is to be said below a table of row i: "system is glibc 2.36: ..."; of rows of one library
 * once, for all of them. false: nothing. */
bool tp_served_note(const struct tp_served *rows, size_t count, size_t i, char *text, size_t size);

/* "system" or "driver": who answers the source's calls. */
const char *tp_result_callee(const struct tp_result *r);

/* Of a program, 64 hexadecimal digits. */
struct tp_hash_text {
    char s[2 * TP_HASH_SIZE + 1];
};
struct tp_hash_text tp_hash_text(const struct tp_program_facts *f);

#endif
