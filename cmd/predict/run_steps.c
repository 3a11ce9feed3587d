/* See run_steps.h. */
#include "cmd/predict/run_steps.h"

#include "alloc/base/grow.h"

#include <stdlib.h>
#include <string.h>

struct step_walk {
    uint64_t *sizes; /* by slot, of what is live */
    size_t slots;
    uint64_t live;
    uint64_t peak, low; /* `low`: the least between two times near the peak */
    uint64_t lowest;    /* since live memory was high */
    bool high;          /* it was near the peak, at least once */
    uint64_t at;        /* first event behind which `lowest` was reached */
    struct tp_steps *out;
    void (*look)(struct step_walk *w, uint64_t event);
    struct tp_err *err;
    int rc;
};

static void drop(struct step_walk *w, uint32_t slot)
{
    w->live -= w->sizes[slot];
    w->sizes[slot] = 0;
}

static void play(struct step_walk *w, const struct tp_insn *in)
{
    if (in->op == TP_FREE || in->op == TP_REALLOC)
        drop(w, in->slot);
    for (uint32_t slot = 0; in->op == TP_RESET && slot < w->slots; slot++)
        drop(w, slot);
    if (!tp_op_is(in->op, TP_ASKS))
        return;
    w->sizes[in->slot] = in->size;
    w->live += in->size;
}

static int walk_window(void *ctx, const struct tp_window *of, struct tp_err *err)
{
    struct step_walk *w = ctx;
    (void)err;
    for (uint32_t i = 0; w->rc == TP_OK && i < of->count; i++) {
        play(w, &of->insns[i]);
        w->look(w, of->prologue ? 0 : tp_window_event(of, i));
    }
    return w->rc;
}

static int walk(struct step_walk *w, struct tp_program *p,
                void (*look)(struct step_walk *, uint64_t), struct tp_err *err)
{
    w->look = look;
    w->err = err;
    w->live = w->at = 0;
    w->lowest = UINT64_MAX;
    w->high = false;
    memset(w->sizes, 0, (w->slots + 1) * sizeof *w->sizes);
    return tp_program_walk(p, walk_window, w, err);
}

/* ---- how much stays ---- */

static void find_peak(struct step_walk *w, uint64_t event)
{
    (void)event;
    w->peak = w->live > w->peak ? w->live : w->peak;
}

/* All steps have about the same peak. What is least before the first and behind the last one is how
 * the program begins and ends. */
static void find_low(struct step_walk *w, uint64_t event)
{
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
static void find_starts(struct step_walk *w, uint64_t event)
{
    bool counts = w->live >= w->low && (w->high || !event);
    if (w->live > above_low(w, 2)) {
        end_low(w);
    } else if (!event || (counts && w->live < w->lowest)) {
        w->lowest = counts ? w->live : UINT64_MAX;
        w->at = event;
    }
}

static int find_all(struct step_walk *w, struct tp_program *p, struct tp_err *err)
{
    int rc = walk(w, p, find_peak, err);
    w->low = w->peak;
    if (rc == TP_OK)
        rc = walk(w, p, find_low, err);
    if (rc != TP_OK || w->low == w->peak)
        return rc;
    rc = walk(w, p, find_starts, err);
    if (rc == TP_OK && w->lowest <= above_low(w, 100))
        add(w);
    return rc == TP_OK ? w->rc : rc;
}

static void see_start(struct step_walk *w, uint64_t event)
{
    if (!event)
        w->out->midway = w->live > above_low(w, 100);
}

int tp_steps_find(struct tp_program *p, struct tp_steps *out, struct tp_err *err)
{
    *out = (struct tp_steps){.count = 0};
    struct step_walk w = {.slots = tp_program_facts(p)->slots, .out = out};
    w.sizes = calloc(w.slots + 1, sizeof *w.sizes);
    int rc = w.sizes ? find_all(&w, p, err) : tp_fail(err, TP_ENOMEM, "out of memory for steps");
    if (rc == TP_OK)
        rc = walk(&w, p, see_start, err);
    free(w.sizes);
    return rc;
}

void tp_steps_release(struct tp_steps *s)
{
    free(s->after);
    *s = (struct tp_steps){.count = 0};
}
