/* A line on stderr for people who wait: only on a terminal, and only after half a second. */
#ifndef TP_PROGRESS_H
#define TP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_progress_line {
    const char *label; /* what is measured now */
    uint64_t started_ns, shown_ns;
    bool enabled, visible;
};

void tp_progress_start(struct tp_progress_line *p, const char *label);
void tp_progress_show(void *line, const char *pass, double fraction); /* a tp_progress_fn */
void tp_progress_clear(struct tp_progress_line *p);

#endif
