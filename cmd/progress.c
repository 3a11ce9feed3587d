/* See progress.h. */
#include "cmd/progress.h"

#include "alloc/clock.h"

#include <stdio.h>
#include <unistd.h>

#define QUIET_NS UINT64_C(500000000)
#define EVERY_NS UINT64_C(100000000)

void tp_progress_start(struct tp_progress_line *p, const char *label)
{
    *p = (struct tp_progress_line){
        .label = label, .started_ns = tp_wall_ns(), .enabled = isatty(STDERR_FILENO)};
}

void tp_progress_show(void *line, const char *pass, double fraction)
{
    struct tp_progress_line *p = line;
    if (!p->enabled)
        return;
    uint64_t now = tp_wall_ns();
    if (now - p->started_ns < QUIET_NS || now - p->shown_ns < EVERY_NS)
        return;
    p->shown_ns = now;
    p->visible = true;
    double shown = fraction > 1 ? 1 : fraction;
    fprintf(stderr, "\r\033[K%s: %s %.0f %%", p->label, pass, 100 * shown);
}

void tp_progress_clear(struct tp_progress_line *p)
{
    if (p->visible)
        fputs("\r\033[K", stderr);
    p->visible = false;
}
