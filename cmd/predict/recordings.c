/* See recordings.h. */
#include "cmd/predict/recordings.h"

#include "alloc/base/grow.h"
#include "cmd/jobs/save_trace.h"
#include "cmd/predict/sample_run.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- run steps ---- */

/* The steps of a program that repeats itself, such as a training, told from its live memory:
 *
 *     live   |    /\    /\    /\        weights and optimizer stay, what a step needs comes
 *            |  _/  \__/  \__/  \_      and goes
 *     starts |      2     8     14
 *
 * A recording may begin in the middle of a step, where its oldest events were overwritten. */

struct tp_steps {
    uint64_t
        *after; /* owned: events behind which a step begins, or the last one ended; ascending */
    size_t count, room;
    bool midway;      /* the recording begins inside a step */
    uint64_t warm_up; /* last event with what stays alone, before the first step */
};

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
    const struct tp_live_replay how = {.change = count,
                                       .after = look,
                                       .ctx = w,
                                       .last_event = UINT64_MAX,
                                       .last_insn = UINT64_MAX};
    size_t *live = NULL;
    w->err = err;
    w->live = w->at = 0;
    w->lowest = UINT64_MAX;
    w->high = false;
    int rc = tp_sample_run_replay(w->run, &how, &live, err);
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
    if (high)
        w->lowest = UINT64_MAX;
    else if (w->live < w->lowest)
        w->lowest = w->live;
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
    w->out->warm_up = w->high || w->live > above_low(w, 100) ? w->out->warm_up : event;
    if (w->live > above_low(w, 2)) {
        end_low(w);
    } else if (!event || (counts && w->live < w->lowest)) {
        w->lowest = counts ? w->live : UINT64_MAX;
        w->at = event;
    }
}

/* Finds the steps of a recording whose requests are listed. `out` is to be released in every case.
 */
static int steps_find(const struct tp_sample_run *r, struct tp_steps *out, struct tp_err *err)
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

static void steps_release(struct tp_steps *s)
{
    free(s->after);
    *s = (struct tp_steps){.count = 0};
}

/* ---- values ---- */

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the recordings");
}

static int by_value(const void *a, const void *b)
{
    const struct tp_sample_run *x = *(const struct tp_sample_run *const *)a;
    const struct tp_sample_run *y = *(const struct tp_sample_run *const *)b;
    return x->n < y->n ? -1 : x->n > y->n;
}

/* Puts values in the order of the names of the first recording; what is not given becomes 0. */
static int match_names(struct tp_axis_values *at, char *axes[TP_AXES],
                       const struct tp_sample_run *first, const char *whose, struct tp_err *err)
{
    struct tp_axis_values in_order = {.count = first->at.count};
    char *names[TP_AXES] = {NULL};
    for (size_t i = 0; i < at->count; i++) {
        size_t k = 0;
        if (!axes[i] && in_order.count > 1)
            return tp_fail(err, TP_EUSAGE, "%s has a value without a name, as in %s=%llu", whose,
                           first->axes[0], (unsigned long long)at->values[i]);
        while (k < in_order.count && axes[i] &&
               (!first->axes[k] || strcmp(axes[i], first->axes[k]) != 0))
            k++;
        if (k == in_order.count)
            return tp_fail(err, TP_EUSAGE, "%s names '%s', %s %s%s%s", whose, axes[i], first->path,
                           first->axes[0] ? "'" : "nothing", first->axes[0] ? first->axes[0] : "",
                           first->axes[0] ? "'" : "");
        in_order.values[k] = at->values[i];
        names[k] = axes[i];
    }
    *at = in_order;
    memcpy(axes, names, sizeof names);
    return TP_OK;
}

static int lacks_value(const struct tp_axis_values *at, const struct tp_sample_run *first,
                       const char *whose, struct tp_err *err)
{
    for (size_t i = 0; i < at->count; i++)
        if (!at->values[i])
            return tp_fail(err, TP_EUSAGE, "%s has no value of '%s'", whose, first->axes[i]);
    return TP_OK;
}

static int check_pairs(const struct tp_recordings *all, struct tp_err *err)
{
    for (size_t i = 1; i < all->count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct tp_sample_run *a = &all->list[i], *b = &all->list[k];
            if (!memcmp(&a->at, &b->at, sizeof a->at))
                return tp_fail(err, TP_EUSAGE, "%s and %s are both at %s", b->path, a->path,
                               tp_axis_text(&a->at, a->axes).s);
        }
    return TP_OK;
}

/* Of several settings each must vary, or nothing tells how memory grows with it. */
static int check_each_varies(const struct tp_recordings *all, struct tp_err *err)
{
    const struct tp_sample_run *first = &all->list[0];
    for (size_t axis = 0; axis < first->at.count; axis++) {
        bool varies = false;
        for (size_t i = 1; i < all->count; i++)
            varies |= all->list[i].at.values[axis] != first->at.values[axis];
        if (!varies)
            return tp_fail(err, TP_EUSAGE, "all recordings are at %s %s: record at %s %s, too",
                           first->axes[axis], tp_count(first->at.values[axis]).s, first->axes[axis],
                           tp_count(2 * first->at.values[axis]).s);
    }
    return TP_OK;
}

static int check_values(struct tp_recordings *all, struct tp_err *err)
{
    const struct tp_sample_run *first = &all->list[0];
    int rc = all->count > TP_LAW_POINTS
                 ? tp_fail(err, TP_EUSAGE, "predict takes up to %d recordings", TP_LAW_POINTS)
                 : TP_OK;
    for (size_t i = 1; rc == TP_OK && i < all->count; i++) {
        struct tp_sample_run *r = &all->list[i];
        if (!r->axes[0] != !first->axes[0])
            return tp_fail(err, TP_EUSAGE, "%s and %s name different settings", first->path,
                           r->path);
        rc = match_names(&r->at, r->axes, first, r->path, err);
        if (rc == TP_OK)
            rc = lacks_value(&r->at, first, r->path, err);
    }
    if (rc == TP_OK)
        rc = check_pairs(all, err);
    return rc == TP_OK && first->at.count > 1 ? check_each_varies(all, err) : rc;
}

static int open_one(struct tp_sample_run *r, const struct tp_open_opts *o,
                    const struct tp_trace *first, struct tp_err *err)
{
    const struct tp_trace *t = &r->trace;
    int rc = tp_open_trace(r->path, o, false, &r->trace, err);
    r->open = rc == TP_OK;
    r->stop = tp_stop_asked;
    if (rc == TP_OK)
        rc = tp_sample_run_list(r, err);
    if (rc != TP_OK || tp_program_facts(t->program)->kind == tp_program_facts(first->program)->kind)
        return rc;
    return tp_fail(err, TP_EINPUT, "%s is a %s trace, %s a %s trace", first->file,
                   first->meta.kind == TP_KIND_DEVICE ? "device" : "host", t->file,
                   t->meta.kind == TP_KIND_DEVICE ? "device" : "host");
}

int tp_recordings_name(struct tp_recordings *all, char *const *words, size_t count,
                       struct tp_err *err)
{
    all->list = calloc(count, sizeof *all->list);
    all->by_value = calloc(count, sizeof *all->by_value);
    int rc = all->list && all->by_value ? TP_OK : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        all->by_value[all->count] = &all->list[i];
        rc = tp_sample_run_name(&all->list[all->count++], words[i], err);
    }
    if (rc != TP_OK)
        return rc;
    return check_values(all, err);
}

int tp_recordings_open(struct tp_recordings *all, const struct tp_open_opts *o, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < all->count; i++)
        rc = open_one(&all->list[i], o, &all->list[0].trace, err);
    return rc == TP_OK && all->real.path ? open_one(&all->real, o, &all->list[0].trace, err) : rc;
}

void tp_recordings_close(struct tp_recordings *all)
{
    for (size_t i = 0; i < all->count; i++)
        tp_sample_run_close(&all->list[i]);
    tp_sample_run_close(&all->real);
    free(all->list);
    free(all->by_value);
}

int tp_recordings_value(const struct tp_recordings *all, const char *option, const char *text,
                        struct tp_axis_values *at, struct tp_err *err)
{
    char *axes[TP_AXES] = {NULL};
    int rc = tp_axis_read(text, at, axes, err);
    if (rc == TP_OK)
        rc = match_names(at, axes, &all->list[0], option, err);
    for (size_t i = 0; i < TP_AXES; i++)
        free(axes[i]);
    return rc;
}

/* Where VALUE ends in VALUE=FILE, either of which may have '=': behind the last number that a ','
 * does not follow. */
static const char *end_of_value(const char *text)
{
    const char *at = text;
    for (;;) {
        at += *at >= '0' && *at <= '9' ? 0 : strcspn(at, "=,");
        at += *at == '=';
        at += strspn(at, "0123456789");
        if (*at != ',')
            return *at == '=' ? at : NULL;
        at++;
    }
}

int tp_recordings_real(struct tp_recordings *all, const char *text, struct tp_err *err)
{
    const char *end = end_of_value(text);
    if (!end || !end[1])
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--check takes VALUE=FILE, not '%s'", text),
                       "--check 1024=real.pickle");
    char *value = strndup(text, (size_t)(end - text));
    all->real.path = strdup(end + 1);
    int rc = value && all->real.path
                 ? tp_recordings_value(all, "--check", value, &all->real.at, err)
                 : no_memory(err);
    free(value);
    return rc == TP_OK ? lacks_value(&all->real.at, &all->list[0], "--check", err) : rc;
}

void tp_recordings_order(struct tp_recordings *all, size_t axis)
{
    for (size_t i = 0; i < all->count; i++)
        all->list[i].n = all->list[i].at.values[axis];
    qsort(all->by_value, all->count, sizeof *all->by_value, by_value);
    all->real.n = all->real.at.values[axis];
}

/* ---- steps ---- */

/* Whole steps of all recordings; 0: of one of them none is known. */
static size_t common_steps(const struct tp_steps *steps, size_t count)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        least = steps[i].count < least ? steps[i].count : least;
    return least ? least - 1 : 0;
}

static int find_steps(const struct tp_recordings *all, struct tp_steps *steps, bool *midway,
                      struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < all->count; i++) {
        rc = steps_find(&all->list[i], &steps[i], err);
        *midway |= steps[i].midway;
    }
    return rc;
}

bool tp_recordings_begin_late(const struct tp_recordings *all)
{
    bool some = false;
    for (size_t i = 0; i < all->count; i++)
        some |= all->list[i].initial > 0;
    return some;
}

int tp_recordings_cut(struct tp_recordings *all, bool only_midway, size_t *cut, struct tp_err *err)
{
    struct tp_steps *steps = calloc(all->count, sizeof *steps);
    bool midway = false;
    int rc = steps ? find_steps(all, steps, &midway, err) : no_memory(err);
    size_t keep = rc == TP_OK && (midway || !only_midway) ? common_steps(steps, all->count) : 0;
    for (size_t i = 0; rc == TP_OK && keep && i < all->count; i++) {
        const uint64_t *last = &steps[i].after[steps[i].count - 1];
        const struct tp_run_piece piece = {.after = last[-(ptrdiff_t)keep],
                                           .last = *last,
                                           .warm_up = steps[i].midway ? 0 : steps[i].warm_up};
        rc = tp_sample_run_cut(&all->list[i], &piece, tp_trace_cut, err);
    }
    for (size_t i = 0; steps && i < all->count; i++)
        steps_release(&steps[i]);
    free(steps);
    *cut = keep;
    return rc;
}

int tp_recordings_open_again(struct tp_recordings *all, const struct tp_open_opts *o,
                             struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; i < all->count; i++)
        tp_sample_run_forget(&all->list[i]);
    for (size_t i = 0; rc == TP_OK && i < all->count; i++)
        rc = open_one(&all->list[i], o, &all->list[0].trace, err);
    return rc;
}
