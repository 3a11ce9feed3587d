/* A line on stderr for people who wait: on a terminal, and only after half a second. Steps that
 * take long are shown from the first on; in the log of a CI they are a line a minute. */
#ifndef TP_PROGRESS_H
#define TP_PROGRESS_H

#include "cmd/ui/text.h"

#include <stdbool.h>
#include <stdint.h>

struct tp_progress_line {
    const char *label; /* what is measured now */
    uint64_t started_ns, shown_ns;
    bool enabled, visible;
    bool logs; /* no terminal but a CI's log */
    char what[48];
    uint64_t done, total; /* steps */
};

void tp_progress_start(struct tp_progress_line *p, const char *label);
void tp_progress_show(void *line, const char *pass, double fraction); /* a tp_progress_fn */
void tp_progress_clear(struct tp_progress_line *p);

/* Steps that are alike, of which there are `total`: "LABEL: 3 of 12 (WHAT), about 40 s left". The
 * line may be NULL: nothing is shown. */
void tp_progress_begin(struct tp_progress_line *p, const char *label, uint64_t total);
void tp_progress_at(struct tp_progress_line *p, const char *what, uint64_t done); /* begins one */
void tp_progress_did(struct tp_progress_line *p);                                 /* ends one */

/* ", about 40 s left", of what took so long until now; "" where nothing can be said. */
struct tp_text tp_progress_left(uint64_t elapsed_ns, uint64_t done, uint64_t total);

#endif
