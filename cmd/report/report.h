/* The screens of a replay. */
#ifndef TP_REPORT_H
#define TP_REPORT_H

#include "cmd/measure/result.h"
#include "cmd/ui/text.h"

/* Screens for people. */
void tp_report_detail(const struct tp_report *r, const struct tp_result *result,
                      struct tp_page *page);
void tp_report_table(const struct tp_report *r, size_t first, size_t count, struct tp_page *page);

/* Its table with what its marks mean, and who ran out of memory: on a page, or on one of Markdown.
 */
int tp_report_rows(const struct tp_report *r, const struct tp_result *results, size_t count,
                   struct tp_page *page, struct tp_err *err);

/* Which of those of one trace, and why (cmd/report/pick.h). */
struct tp_pick;
void tp_report_pick(const struct tp_result *results, size_t count, bool exact, struct tp_pick *out);

/* What -v adds to either. */
void tp_report_verbose(const struct tp_report *r, const struct tp_result *result,
                       struct tp_page *page);

/* What is doubtful about these of one trace, each said once; whether there is anything. */
bool tp_report_warnings(const struct tp_result *results, size_t count, int column,
                        struct tp_page *page);

/* Out of memory: the first failure of a device explained, how many there were, and for a table who
 * failed and who fits (nothing where nobody failed). */
void tp_report_failure(const struct tp_result *result, const struct tp_device_run *d, int column,
                       struct tp_page *page);
void tp_report_failure_count(const struct tp_result *result, const struct tp_device_run *d,
                             int column, struct tp_page *page);

/* "1 initial block and 3 allocations", of how many: "1 of 20 initial blocks and 3 of 50
 * allocations". TP_NONE in place of how many there were: it is left out. */
void tp_report_failed(uint64_t initial, uint64_t of_initial, uint64_t calls, uint64_t of_calls,
                      char *text, size_t size);
void tp_report_oom(const struct tp_result *results, size_t count, struct tp_page *page);

/* What the rows of a table are played on, from the first that plays on a source: "virtual GPU". */
struct tp_text tp_report_place(const struct tp_result *r);

/* What both screens begin with: the trace, and under `label` what it is played on and how. */
void tp_report_head(const struct tp_result *result, const char *label, struct tp_page *page);

/* On a real device: "cuda, device 0", or how many; the names of those that play; what is behind the
 * marks of the driver's pool, in place of the sum of memory; what the driver was asked for and
 * answered; the same under -v, of the run and of one device. */
struct tp_text tp_device_label(const struct tp_result *r);
void tp_device_names(const struct tp_result *r, char *text, size_t size);
void tp_device_pool(const struct tp_result *r, const struct tp_device_run *d, struct tp_page *page);
void tp_device_answers(const struct tp_result *r, const struct tp_device_run *d,
                       struct tp_page *page);
void tp_device_verbose(const struct tp_result *r, struct tp_page *page);
void tp_device_verbose_run(const struct tp_device_run *d, struct tp_page *page);

#endif
