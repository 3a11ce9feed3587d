/* Texts about a trace that all screens share. */
#ifndef TP_REPORT_HEAD_H
#define TP_REPORT_HEAD_H

#include "cmd/results/captured.h"
#include "cmd/ui/text.h"
#include "traces/trace.h"

/* Writes the operations by kind, "3,063 alloc, 60 realloc, 3,047 free". For a capture the text also
 * has the events that no strategy sees, so that the counts add up to the events. */
void tp_ops_text(const struct tp_program_facts *f, const struct tp_captured *c, char *text,
                 size_t size);

/* The time between the first event and the last, " spanning 3.461 ms"; "" for a trace without
 * times. */
struct tp_text tp_time_taken(const struct tp_program_facts *f);

/* The time of an event, " (+25.4 ms)"; "" for a trace without times. */
struct tp_text tp_time_at(const struct tp_program_facts *f, uint64_t ns);

/* Prints "; last allocation there: optimizer.py:78 step (1.2% of the peak)", if the file knows the
 * place of the event at the trace peak. */
void tp_peak_asker(const struct tp_captured *c, const struct tp_demand *peak, uint16_t device,
                   struct tp_page *page);

/* What the resident pass writes, as words: "every block written". */
const char *tp_written_words(const struct tp_trace *t);

/* Prints what the file says of the capture, such as that its end is missing. */
void tp_notes_print(const struct tp_meta *m, int name, int column, struct tp_page *page);

/* Prints the malloc of a recording, the memory space, what is left out, and the remarks on a
 * capture, in two columns. */
void tp_remarks_print(const struct tp_trace *t, int name, int column, struct tp_page *page);

/* Writes "the 3 failed requests are replayed"; "" if none failed. */
void tp_failures_text(uint64_t ooms, uint64_t replayed, char *text, size_t size);

/* Writes what was repaired, "1 double_alloc, 2 zero_size"; "" if nothing was. */
void tp_repairs_text(const struct tp_trace *t, char *text, size_t size);

#endif
