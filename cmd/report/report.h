/* The screens of a replay. */
#ifndef TP_REPORT_H
#define TP_REPORT_H

#include "cmd/results/result.h"
#include "cmd/ui/text.h"

/* The screen of one result, and the screen of `count` results of one trace as a table. */
void tp_report_detail(const struct tp_report *r, const struct tp_result *result,
                      struct tp_page *page);
void tp_report_table(const struct tp_report *r, size_t first, size_t count, struct tp_page *page);

/* Says which strategies could not be measured on a trace, and why. */
void tp_report_missing(const struct tp_report *r, const struct tp_trace *trace,
                       struct tp_page *page);

/* Prints the table of several results, the meanings of its marks, and which strategies ran out of
 * memory; on a text page or a Markdown page. */
int tp_report_rows(const struct tp_report *r, const struct tp_result *results, size_t count,
                   struct tp_page *page, struct tp_err *err);

/* Adds the largest figures of one of these results to a table of figures (cmd/ui/table.h): its
 * peak, its overhead and its time, as the table of results has them. */
struct tp_table;
void tp_report_figures(const struct tp_result *results, size_t count, size_t of, bool exact,
                       struct tp_table *t);

/* What malloc took of the program's CPU time, at most; NAN: not known, or no trace. Where more
 * threads than cores replay, their times are no forecast of the program's, and it is NAN too. */
double tp_pick_share(const struct tp_result *r);

/* Picks one of the results of one trace (cmd/report/pick.h). */
struct tp_pick;
void tp_report_pick(const struct tp_result *results, size_t count, bool exact, struct tp_pick *out);

/* Prints what -v adds to both screens. */
void tp_report_verbose(const struct tp_report *r, const struct tp_result *result,
                       struct tp_page *page);

/* Prints the warnings about results of one trace, each once. Returns whether there are any. */
bool tp_report_warnings(const struct tp_result *results, size_t count, int column,
                        struct tp_page *page);

/* Explains the first failed allocation of a device. */
void tp_report_failure(const struct tp_result *result, const struct tp_device_run *d, int column,
                       struct tp_page *page);

/* Prints how many allocations of a device failed, and how many later calls were skipped. */
void tp_report_failure_count(const struct tp_result *result, const struct tp_device_run *d,
                             int column, struct tp_page *page);

/* Writes "1 of 20 initial blocks and 3 of 50 allocations". Totals that are TP_NONE are left out: "1
 * initial block and 3 allocations". */
void tp_report_failed(uint64_t initial, uint64_t of_initial, uint64_t calls, uint64_t of_calls,
                      char *text, size_t size);

/* Prints which results of a table ran out of memory and which fit; nothing if none ran out. On a
 * page that is HTML, a table of the first failed requests. */
void tp_report_oom(const struct tp_result *results, size_t count, struct tp_page *page);

/* What of times is limited by the clock. */
struct tp_clock_marks {
    bool below_step, coarse;
};

/* Writes a time as the clock can tell it, and adds its mark to `marks`; prints the meanings of all
 * marks. */
struct tp_text tp_marked_latency(const struct tp_report *rep, uint64_t ns,
                                 struct tp_clock_marks *marks);
void tp_clock_marks_print(const struct tp_report *rep, const struct tp_clock_marks *marks,
                          bool too_few, int column, struct tp_page *page);

/* The name of what a result is replayed on: "virtual GPU". */
struct tp_text tp_report_place(const struct tp_result *r);

/* Prints the head of both screens: the trace, and below it, with the name `label`, on what and how
 * it is replayed. */
void tp_report_head(const struct tp_result *result, const char *label, struct tp_page *page);

/* Prints how much of the recording a strategy reproduces, if it was compared. */
void tp_report_fidelity(const struct tp_result *result, int column, struct tp_page *page);

/* ---- real devices ---- */

/* "cuda, device 0", or "cuda, 2 devices". */
struct tp_text tp_device_label(const struct tp_result *r);

/* Writes the names of the devices that replay: "NVIDIA H200", "2 x NVIDIA H200". */
void tp_device_names(const struct tp_result *r, char *text, size_t size);

/* ", 32 connections", or ", 32 connections shared by 40 streams": those that share one may wait for
 * each other. "" where CUDA_DEVICE_MAX_CONNECTIONS says no number. */
struct tp_text tp_device_connections(const struct tp_result *r);

/* Prints the memory of a driver's pool by its high-water marks, which replace the sum of memory. */
void tp_device_pool(const struct tp_result *r, const struct tp_device_run *d, struct tp_page *page);

/* Prints the calls to the driver, and what it says of its free memory. */
void tp_device_answers(const struct tp_result *r, const struct tp_device_run *d,
                       struct tp_page *page);

/* Print what -v adds: about the driver and its devices, and about the run on one device. */
void tp_device_verbose(const struct tp_result *r, struct tp_page *page);
void tp_device_verbose_run(const struct tp_device_run *d, struct tp_page *page);

#endif
