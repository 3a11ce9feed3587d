/* See run_steps.h. */
#include "cmd/predict/run_steps.h"

#include "alloc/base/grow.h"

#include <stdlib.h>

struct step_walk {
    const struct tp_sample_run *run;
    uint64_t live;      /* bytes */
    uint64_t peak, low; /* `low`: the least between two times near the peak */
    uint64_t lowest;    /* since live memory was high */
    bool high;          /* it was near the peak, at least once */
    uint64_t at;        /* first event behind which `lowest` was reached */
    struct tp_steps *out;
    struct tp_err *err;
    int rc;
};

static void count(void *ctx, size_t request, bool begins)
{
    struct step_walk *w = ctx;
    uint64_t size = w->run->requests[request].size;
    w->live += begins ? size : -size;
}

static int walk(struct step_walk *w, void (*look)(void *, uint64_t, uint64_t), struct tp_err *err)
{
    const struct tp_live_play how = {.change = count,
                                     .after = look,
                                     .ctx = w,
                                     .last_event = UINT64_MAX,
                                     .last_insn = UINT64_MAX};
    size_t *live = NULL;
    w->err = err;
    w->live = w->at = 0;
    w->lowest = UINT64_MAX;
    w->high = false;
    int rc = tp_sample_run_play(w->run, &how, &live, err);
    free(live);
    return rc == TP_OK ? w->rc : rc;
}

/* ---- how much stays ---- */

/* All steps have about the same peak. What is least before the first and behind the last one is how
 * the program begins and ends. */
static void find_low(void *ctx, uint64_t insn, uint64_t event)
{
    struct step_walk *w = ctx;
    (void)insn;
    (void)event;
    bool high = w->live >= w->peak - w->peak / 32;
    if (high && w->high && w->lowest < w->low)
        w->low = w->lowest;
    w->high |= high;
    w->lowest = high ? UINT64_MAX : w->live < w->lowest ? w->live : w->lowest;
}

/* ---- where steps begin ---- */

static uint64_t above_low(const struct step_walk *w, unsigned part)
{
    return w->low + (w->peak - w->low) / part;
}

static void add(struct step_walk *w)
{
    struct tp_steps *s = w->out;
    w->rc = TP_GROW(&s->after, &s->room, s->count + 1, w->err, .what = "steps");
    if (w->rc == TP_OK)
        s->after[s->count++] = w->at;
}

static void end_low(struct step_walk *w)
{
    if (w->lowest <= above_low(w, 100))
        add(w);
    w->lowest = UINT64_MAX;
    w->high = true;
}

/* How a program builds and takes down what stays is no step: before the first one only the initial
 * heap as a whole counts, and nothing that is below what stays. */
static void find_starts(void *ctx, uint64_t insn, uint64_t event)
{
    struct step_walk *w = ctx;
    (void)insn;
    if (w->rc != TP_OK)
        return;
    if (!event)
        w->out->midway = w->live > above_low(w, 100);
    bool counts = w->live >= w->low && (w->high || !event);
    if (w->live > above_low(w, 2)) {
        end_low(w);
    } else if (!event || (counts && w->live < w->lowest)) {
        w->lowest = counts ? w->live : UINT64_MAX;
        w->at = event;
    }
}

int tp_steps_find(const struct tp_sample_run *r, struct tp_steps *out, struct tp_err *err)
{
    *out = (struct tp_steps){.count = 0};
    struct step_walk w = {
        .run = r, .peak = tp_program_demand(r->trace.program, 0)->bytes, .out = out};
    w.low = w.peak;
    int rc = walk(&w, find_low, err);
    if (rc != TP_OK || w.low == w.peak)
        return rc;
    rc = walk(&w, find_starts, err);
    if (rc == TP_OK && w.lowest <= above_low(&w, 100))
        add(&w);
    return rc == TP_OK ? w.rc : rc;
}

void tp_steps_release(struct tp_steps *s)
{
    free(s->after);
    *s = (struct tp_steps){.count = 0};
}
