/* The progress line; see progress.h. */
#include "cmd/ui/progress.h"

#include "alloc/base/clock.h"

#include "alloc/base/clean.h"

#include <stdio.h>
#include <unistd.h>

#define QUIET_NS UINT64_C(500000000)
#define EVERY_NS UINT64_C(100000000)
#define LOG_NS   UINT64_C(60000000000) /* time between two lines in a log */

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
    /* not with fprintf: a process that replays its own malloc must not call it here (base/own.h) */
    char text[256];
    int length =
        snprintf(text, sizeof text, "\r\033[K%.100s: %.20s %.0f%%", p->label, pass, 100 * shown);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
        p->enabled = false;
}

void tp_progress_clear(struct tp_progress_line *p)
{
    if (p->visible)
        fputs("\r\033[K", stderr);
    p->visible = false;
}

/* ---- steps ---- */

struct tp_text tp_progress_left(uint64_t elapsed_ns, uint64_t done, uint64_t total)
{
    struct tp_text t = {""};
    if (!done || done >= total)
        return t;
    double s = (double)elapsed_ns / 1e9 / (double)done * (double)(total - done);
    double m = s / 60, h = m / 60;
    if (s < 99.5)
        snprintf(t.s, sizeof t.s, ", about %.0f s left", s < 1 ? 1 : s);
    else if (m < 99.5)
        snprintf(t.s, sizeof t.s, ", about %.0f min left", m);
    else
        snprintf(t.s, sizeof t.s, ", about %.0f h left", h);
    return t;
}

/* Writes the line, short enough for any terminal: a line that wraps could not be erased again. */
static void draw(struct tp_progress_line *p)
{
    uint64_t now = tp_wall_ns(), since = now - p->shown_ns, each = now - p->started_ns;
    bool first = p->done == 1 && since == each && each * p->total >= LOG_NS;
    if (!(p->enabled && since >= EVERY_NS) && !(p->logs && (since >= LOG_NS || first)))
        return;
    p->shown_ns = now;
    p->visible = p->enabled;
    fprintf(stderr, "%s%.20s: %llu of %llu%s%s%s%s%s",
            p->enabled ? "\r\033[K" : "tapool: ", p->label, (unsigned long long)p->done,
            (unsigned long long)p->total, p->what[0] ? " (" : "", p->what, p->what[0] ? ")" : "",
            tp_progress_left(now - p->started_ns, p->done, p->total).s, p->enabled ? "" : "\n");
}

void tp_progress_begin(struct tp_progress_line *p, const char *label, uint64_t total)
{
    if (!p)
        return;
    tp_progress_clear(p);
    uint64_t logged_ns = p->shown_ns; /* last output of the steps before these */
    tp_progress_start(p, label);
    p->total = total;
    p->logs = !p->enabled;
    p->shown_ns = logged_ns ? logged_ns : p->started_ns;
    if (p->enabled)
        p->shown_ns = 0;
}

void tp_progress_at(struct tp_progress_line *p, const char *what, uint64_t done)
{
    if (!p)
        return;
    tp_clean_text(what, p->what, sizeof p->what);
    p->done = done;
    draw(p);
}

void tp_progress_did(struct tp_progress_line *p)
{
    if (!p)
        return;
    p->done += p->done < p->total;
    draw(p);
}
