/* Computes the cells of a plan that the store lacks; see sweep_run.h. A worker opens a trace and
 * computes its cells, one after the other; when no trace is left, it helps another worker with the
 * trace that has the most cells left.
 *
 *     order     [large trace][trace][trace]...[small trace]      the cursor is at the next one
 *     worker 0  open, cell, cell, cell | open, cell, cell | cells of worker 1's trace
 *     worker 1  open, cell | open, cell, cell, cell, cell, cell
 *
 * Cells that measure time follow when all others are done, each in a process of its own that is
 * pinned to a core, with nothing beside it. */
#include "cmd/sweep/sweep_run.h"

#include "alloc/base/texts.h"
#include "cmd/jobs/worker_pool.h"
#include "cmd/stats/measure.h"
#include "cmd/sweep/store_lines.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/stop.h"

#include <stdlib.h>
#include <string.h>

#define COMMIT_NS UINT64_C(2000000000) /* between two commits */
#define SLACK_NS  UINT64_C(5000000000) /* a replay's own timeout says more, and comes first */

enum trace_state { TRACE_UNKNOWN, TRACE_KNOWN, TRACE_FAILED };

struct sweep_trace_state {
    enum trace_state state;
    char identity[TP_STORE_NAME + 1];
    uint64_t events;
    uint64_t next, left; /* cells of this phase: where the next one is looked for, and how many */
};

#define NO_TRACE SIZE_MAX

struct sweeping {
    const struct tp_sweep_run *run;
    const struct tp_sweep_plan *plan;
    struct tp_sweep_done *done;
    struct sweep_trace_state *traces;
    uint8_t *todo; /* of each cell */
    size_t *order; /* traces, the largest first */
    size_t cursor, ordered;
    size_t *owned;              /* the trace of each worker */
    bool timed;                 /* the phase */
    struct tp_texts identities; /* of traces that are known, in the order of `known` */
    size_t *known;
    size_t known_count;
    uint64_t began_ns, committed_ns;
    uint64_t stored_before; /* cells: the time that is left is that of the others */
    struct tp_progress_line progress;
};

static uint64_t cells_of_trace(const struct tp_sweep_plan *p)
{
    return (uint64_t)p->settings.count * p->group_count;
}

static bool is_mine(const struct sweeping *s, uint64_t cell)
{
    return !s->run->mine || s->run->mine[cell];
}

static bool is_in_phase(const struct sweeping *s, uint64_t cell)
{
    return s->plan->groups[cell % s->plan->group_count].timed == s->timed;
}

/* ---- failures ---- */

static int note_cell_failure(struct sweeping *s, size_t trace, uint64_t cell, bool whole,
                             const struct tp_err *why, struct tp_err *err)
{
    char *line = malloc(TP_STORE_LINE);
    struct tp_line_failure f = {.path = s->plan->traces[trace].label,
                                .setting = "",
                                .passes = "",
                                .status = (int)why->status,
                                .error = why->text};
    if (!whole) {
        const struct tp_cell_of of = tp_cell_of(s->plan, cell);
        f.setting = s->plan->settings.items[of.setting].text;
        f.passes = s->plan->groups[of.group].name;
    }
    if (!s->done->first_failure.status)
        s->done->first_failure = *why;
    int status = line ? tp_line_failure(&f, line, TP_STORE_LINE, err)
                      : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        status = tp_store_take(s->run->store, line, strlen(line), err);
    free(line);
    return status;
}

static int fail_trace(struct sweeping *s, size_t trace, const struct tp_err *why,
                      struct tp_err *err)
{
    uint64_t count = cells_of_trace(s->plan), first = trace * count;
    s->traces[trace].state = TRACE_FAILED;
    s->done->failed_traces++;
    for (uint64_t c = first; c < first + count; c++)
        s->done->failed += is_mine(s, c);
    return note_cell_failure(s, trace, first, true, why, err);
}

/* ---- traces ---- */

/* Which cells of a trace the store lacks. */
static int find_todo(struct sweeping *s, size_t trace, struct tp_err *err)
{
    struct sweep_trace_state *t = &s->traces[trace];
    uint64_t count = cells_of_trace(s->plan), first = trace * count;
    char name[TP_STORE_NAME + 1];
    int status = TP_OK;
    t->next = first;
    for (uint64_t c = first; !status && c < first + count; c++) {
        const struct tp_cell_of of = tp_cell_of(s->plan, c);
        bool has = false;
        if (!is_mine(s, c))
            continue;
        status = tp_cell_name(s->run->cells, t->identity, &s->plan->settings.items[of.setting],
                              &s->plan->groups[of.group], name, err);
        if (!status)
            status = tp_store_has(s->run->store, name, &has, err);
        s->todo[c] = !has;
        s->done->stored += has;
        t->left += !has && is_in_phase(s, c);
    }
    return status;
}

/* Two files with one program are one trace: its cells would be computed and counted twice. */
static int take_identity(struct sweeping *s, size_t trace, const char *identity, uint64_t events,
                         struct tp_err *err)
{
    struct sweep_trace_state *t = &s->traces[trace];
    uint32_t same = tp_texts_find(&s->identities, identity, TP_STORE_NAME);
    struct tp_err why;
    if (same != TP_NO_TEXT) {
        tp_fail(&why, TP_EUSAGE, "the same program as '%.200s', which is in the sweep",
                s->plan->traces[s->known[same]].label);
        return fail_trace(s, trace, &why, err);
    }
    int status = tp_texts_add(&s->identities, identity, TP_STORE_NAME, err);
    if (status)
        return status;
    s->known[s->known_count++] = trace;
    snprintf(t->identity, sizeof t->identity, "%s", identity);
    t->events = events;
    t->state = TRACE_KNOWN;
    return find_todo(s, trace, err);
}

/* Traces whose files have not changed since the store last saw them are not opened for their
 * names. */
static int look_up(struct sweeping *s, struct tp_err *err)
{
    char identity[TP_STORE_NAME + 1];
    uint64_t events;
    int status = TP_OK;
    for (size_t t = 0; !status && t < s->plan->trace_count; t++) {
        const struct tp_store_file file = tp_cell_file(s->run->cells, &s->plan->traces[t]);
        if (!file.bytes)
            continue;
        status = tp_store_identity(s->run->store, &file, identity, &events, err);
        if (status || !*identity)
            continue;
        status = tp_store_forget(s->run->store, s->plan->traces[t].label, err);
        if (!status)
            status = take_identity(s, t, identity, events, err);
    }
    return status;
}

struct ordered_trace {
    uint64_t bytes;
    size_t trace;
};

static int larger_first(const void *a, const void *b)
{
    const struct ordered_trace *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->trace < y->trace ? -1 : x->trace > y->trace;
}

static bool has_cells(const struct sweeping *s, size_t trace)
{
    uint64_t count = cells_of_trace(s->plan), first = trace * count;
    bool some = !s->run->mine;
    for (uint64_t c = first; !some && c < first + count; c++)
        some = s->run->mine[c];
    return some;
}

/* The traces of this phase. In the first one those are opened that are not known yet. */
static int order_traces(struct sweeping *s, struct tp_err *err)
{
    struct ordered_trace *list = calloc(s->plan->trace_count, sizeof *list);
    size_t count = 0;
    if (!list)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t t = 0; t < s->plan->trace_count; t++) {
        bool open = s->traces[t].state == TRACE_UNKNOWN && !s->timed && has_cells(s, t);
        if (open || s->traces[t].left)
            list[count++] = (struct ordered_trace){s->plan->traces[t].bytes, t};
    }
    qsort(list, count, sizeof *list, larger_first);
    for (size_t i = 0; i < count; i++)
        s->order[i] = list[i].trace;
    s->ordered = count;
    s->cursor = 0;
    free(list);
    return TP_OK;
}

/* ---- tasks ---- */

static bool next_cell(struct sweeping *s, size_t trace, uint64_t *cell)
{
    struct sweep_trace_state *t = &s->traces[trace];
    if (!t->left)
        return false;
    while (!s->todo[t->next] || !is_in_phase(s, t->next))
        t->next++;
    *cell = t->next;
    s->todo[t->next++] = false;
    t->left--;
    return true;
}

/* The trace of another worker that has the most cells left. */
static size_t most_left(const struct sweeping *s)
{
    size_t most = NO_TRACE;
    for (uint64_t w = 0; w < s->run->jobs; w++) {
        size_t t = s->owned[w];
        if (t != NO_TRACE && s->traces[t].left &&
            (most == NO_TRACE || s->traces[t].left > s->traces[most].left))
            most = t;
    }
    return most;
}

static uint64_t timeout_of_cell(const struct sweeping *s, size_t trace)
{
    uint64_t ns = tp_timeout_of(s->plan->opts->timeout, s->traces[trace].events, 0);
    return ns ? ns + SLACK_NS : 0;
}

static bool give_cell(struct sweeping *s, size_t trace, struct tp_pool_task *task)
{
    uint64_t cell;
    if (trace == NO_TRACE || !next_cell(s, trace, &cell))
        return false;
    task->number = s->plan->trace_count + cell;
    task->timeout_ns = timeout_of_cell(s, trace);
    task->fresh = s->timed;
    task->core = s->timed ? tp_measure_core() : -1;
    return true;
}

static bool next_task(void *ctx, unsigned worker, struct tp_pool_task *task)
{
    struct sweeping *s = ctx;
    uint64_t limit = s->run->limit_ns;
    s->done->late |= limit && tp_wall_ns() - s->began_ns > limit;
    if (s->done->late)
        return false;
    if (give_cell(s, s->owned[worker], task))
        return true;
    while (s->cursor < s->ordered) {
        size_t trace = s->owned[worker] = s->order[s->cursor++];
        if (s->traces[trace].state == TRACE_UNKNOWN) {
            task->number = trace;
            return true;
        }
        if (give_cell(s, trace, task))
            return true;
    }
    s->owned[worker] = most_left(s);
    return give_cell(s, s->owned[worker], task);
}

static int work(void *ctx, uint64_t number, void *answer, size_t *size, struct tp_err *err)
{
    const struct sweeping *s = ctx;
    struct tp_cell_answer *out = answer;
    size_t traces = s->plan->trace_count;
    int status = number < traces ? tp_cell_open_trace(s->run->cells, (size_t)number, out, err)
                                 : tp_cell_compute(s->run->cells, number - traces, out, err);
    *size = status ? 0 : offsetof(struct tp_cell_answer, line) + strlen(out->line) + 1;
    return status;
}

/* ---- answers ---- */

static int take_trace(struct sweeping *s, const struct tp_pool_done *d, struct tp_err *err)
{
    const struct tp_cell_answer *a = d->answer;
    size_t trace = (size_t)d->task.number;
    if (d->status)
        return fail_trace(s, trace, &d->err, err);
    int status = tp_store_forget(s->run->store, s->plan->traces[trace].label, err);
    if (!status)
        status = tp_store_take(s->run->store, a->line, strlen(a->line), err);
    return status ? status : take_identity(s, trace, a->name, a->events, err);
}

static int take_cell(struct sweeping *s, const struct tp_pool_done *d, struct tp_err *err)
{
    const struct tp_cell_answer *a = d->answer;
    uint64_t cell = d->task.number - s->plan->trace_count;
    const struct tp_cell_of of = tp_cell_of(s->plan, cell);
    const struct tp_sweep_setting *setting = &s->plan->settings.items[of.setting];
    char name[TP_STORE_NAME + 1];
    struct tp_err why = d->err;
    int status = tp_cell_name(s->run->cells, s->traces[of.trace].identity, setting,
                              &s->plan->groups[of.group], name, err);
    if (status)
        return status;
    bool same = d->status || !strcmp(name, a->name);
    if (d->status == TP_EBROKEN || d->status == TP_ELATE)
        tp_prefix(&why, d->status, "%.100s", setting->text);
    else if (!same)
        tp_fail(&why, TP_EINPUT, "the file has changed since it was opened first");
    if (!d->status && same) {
        s->done->computed++;
        s->done->seconds += (double)d->ns / 1e9;
        return tp_store_take(s->run->store, a->line, strlen(a->line), err);
    }
    s->done->failed++;
    return note_cell_failure(s, of.trace, cell, false, &why, err);
}

static int take_answer(void *ctx, const struct tp_pool_done *d, struct tp_err *err)
{
    struct sweeping *s = ctx;
    size_t traces = s->plan->trace_count;
    if (d->status == TP_ESTOP) {
        *err = d->err;
        return TP_ESTOP;
    }
    int status = d->task.number < traces ? take_trace(s, d, err) : take_cell(s, d, err);
    uint64_t now = tp_wall_ns();
    if (!status && now - s->committed_ns > COMMIT_NS) {
        status = tp_store_commit(s->run->store, err);
        s->committed_ns = now;
    }
    size_t trace = d->task.number < traces ? (size_t)d->task.number
                                           : tp_cell_of(s->plan, d->task.number - traces).trace;
    tp_progress_at(&s->progress, s->plan->traces[trace].label,
                   s->done->computed + s->done->failed + s->done->stored - s->stored_before);
    return status;
}

/* ---- phases ---- */

static int run_phase(struct sweeping *s, bool timed, struct tp_err *err)
{
    uint64_t count = cells_of_trace(s->plan);
    s->timed = timed;
    for (size_t t = 0; timed && t < s->plan->trace_count; t++) {
        struct sweep_trace_state *state = &s->traces[t];
        state->next = t * count;
        state->left = 0;
        for (uint64_t c = t * count; state->state == TRACE_KNOWN && c < (t + 1) * count; c++)
            state->left += s->todo[c] && is_in_phase(s, c);
    }
    for (uint64_t w = 0; w < s->run->jobs; w++)
        s->owned[w] = NO_TRACE;
    int status = order_traces(s, err);
    const struct tp_worker_pool pool = {.workers = timed ? 1 : (unsigned)s->run->jobs,
                                        .room = sizeof(struct tp_cell_answer),
                                        .work = work,
                                        .next = next_task,
                                        .done = take_answer,
                                        .ctx = s,
                                        .interrupted = tp_stop_flag()};
    return status || !s->ordered ? status : tp_pool_run(&pool, err);
}

static int open_sweeping(struct sweeping *s, struct tp_err *err)
{
    const struct tp_sweep_plan *p = s->plan;
    uint64_t cells = tp_sweep_cells(p);
    s->traces = calloc(p->trace_count, sizeof *s->traces);
    s->order = calloc(p->trace_count, sizeof *s->order);
    s->known = calloc(p->trace_count, sizeof *s->known);
    s->owned = calloc(s->run->jobs, sizeof *s->owned);
    s->todo = calloc(cells, sizeof *s->todo);
    if (!s->traces || !s->order || !s->known || !s->owned || !s->todo)
        return tp_fail(err, TP_ENOMEM, "out of memory for %llu cells", (unsigned long long)cells);
    for (uint64_t c = 0; c < cells; c++)
        s->done->cells += is_mine(s, c);
    s->began_ns = s->committed_ns = tp_wall_ns();
    return TP_OK;
}

int tp_sweep_compute(const struct tp_sweep_run *run, struct tp_sweep_done *out, struct tp_err *err)
{
    struct sweeping s = {.run = run, .plan = run->cells->plan, .done = out};
    *out = (struct tp_sweep_done){0};
    int status = open_sweeping(&s, err);
    if (!status)
        status = look_up(&s, err);
    s.stored_before = out->stored;
    tp_progress_begin(&s.progress, "sweep", out->cells - s.stored_before);
    if (!status)
        status = run_phase(&s, false, err);
    if (!status)
        status = run_phase(&s, true, err);
    tp_progress_clear(&s.progress);
    out->ns = s.began_ns ? tp_wall_ns() - s.began_ns : 0;
    struct tp_err ignored;
    int stored = tp_store_commit(run->store, status ? &ignored : err);
    tp_texts_release(&s.identities);
    free(s.traces);
    free(s.order);
    free(s.known);
    free(s.owned);
    free(s.todo);
    return status ? status : stored;
}
