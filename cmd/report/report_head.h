/* What every screen says of a trace in the same words. */
#ifndef TP_REPORT_HEAD_H
#define TP_REPORT_HEAD_H

#include "cmd/measure/captured.h"
#include "cmd/ui/text.h"
#include "traces/trace.h"

/* "3,063 alloc, 60 realloc, 3,047 free"; of a capture also what no policy sees, so that the counts
 * add up to the events. */
void tp_ops_text(const struct tp_program_facts *f, const struct tp_captured *c, char *text,
                 size_t size);

/* " in 3.461 ms", which the events took; " (+25.4 ms)", when one was; "" of a trace without times.
 */
struct tp_text tp_time_taken(const struct tp_program_facts *f);
struct tp_text tp_time_at(const struct tp_program_facts *f, uint64_t ns);

/* "; the last to ask there: optimizer.py:78 step, for 1.2 % of it", where the file knows. */
void tp_peak_asker(const struct tp_captured *c, const struct tp_demand *peak, uint16_t device,
                   struct tp_page *page);

/* What several devices of the program are: `device`, which is what that screen calls one, unless
 * all memory spaces of a file are played, those of the host among them: then `space`. */
const char *tp_part_name(const struct tp_trace *t, const char *device, const char *space);

/* Remarks on a capture and the memory spaces that are left out, in two columns. */
void tp_remarks_print(const struct tp_trace *t, int name, int column, struct tp_page *page);

/* "the 3 requests that failed are played too"; "" where none is. */
void tp_failures_text(uint64_t ooms, uint64_t played, char *text, size_t size);

/* "1 double_alloc, 2 zero_size"; "" where nothing was repaired. */
void tp_repairs_text(const struct tp_trace *t, char *text, size_t size);

#endif
