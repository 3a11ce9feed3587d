/* See replay_answer.h. */
#include "cmd/jobs/replay_answer.h"

#include "alloc/base/numbers.h"
#include "cmd/jobs/spec.h"
#include "cmd/ui/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the process's side ---- */

static uint32_t sum_behind(const struct tp_replay_board *b)
{
    return tp_answer_sum(b->shared + 1, b->run_at + b->run_size - sizeof *b->shared);
}

void tp_replay_board_open(struct tp_replay_board *b, void *shared, size_t run_at, size_t run_size)
{
    *b = (struct tp_replay_board){.shared = shared, .run_at = run_at, .run_size = run_size};
    b->before = sum_behind(b);
}

void tp_replay_board_give(const struct tp_replay_board *b, const struct tp_run *run, int status,
                          const struct tp_err *err, const char *label)
{
    struct tp_err written;
    char *place = (char *)b->shared + b->run_at;
    if (sum_behind(b) != b->before) {
        status = tp_replay_fail_written(label, &written);
        err = &written;
    }
    memcpy(place, run, b->run_size);
    tp_answer_give(&b->shared->answer, status, err, place, b->run_size);
}

/* ---- the bounds of a run ---- */

static bool ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static bool is_mark(uint32_t mark, const struct tp_program_facts *f)
{
    return mark == UINT32_MAX || mark < f->marks;
}

static bool curve_holds(const struct tp_curve *c, const struct tp_program_facts *f)
{
    if (c->count > TP_CURVE_POINTS)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->points[i].event > f->events)
            return false;
    return true;
}

static bool device_holds(const struct tp_device_run *d, const struct tp_program_facts *f)
{
    const bool failed = d->failed_allocations > 0;
    if (d->phase_count > TP_PHASES || !curve_holds(&d->curve, f) ||
        (failed &&
         (d->first_failure.oom_class >= TP_OOM_CLASSES || !is_mark(d->first_failure.mark, f))))
        return false;
    for (uint32_t i = 0; i < d->phase_count; i++)
        if (!is_mark(d->phases[i].mark, f))
            return false;
    return true;
}

static bool course_holds(const struct tp_course *c, const struct tp_program_facts *f)
{
    if (c->count > TP_COURSE_POINTS)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->points[i].event > f->events)
            return false;
    return true;
}

static bool throughput_holds(const struct tp_throughput *t)
{
    const struct tp_series *const all[] = {&t->runs,        &t->engine,       &t->crew.wall,
                                           &t->crew.waited, &t->crew.blocked, &t->crew.alone,
                                           &t->crew.window};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->count > TP_SERIES_MAX)
            return false;
    return true;
}

bool tp_replay_run_holds(const struct tp_run *run, const struct tp_program_facts *facts)
{
    if (run->device_count > facts->devices || !ends(run->library, sizeof run->library) ||
        !throughput_holds(&run->throughput) || !course_holds(&run->resident.course, facts) ||
        run->latency.slowest_count > TP_SLOWEST)
        return false;
    for (uint32_t i = 0; i < run->latency.slowest_count; i++)
        if (run->latency.slowest[i].op >= TP_OP_COUNT)
            return false;
    for (uint32_t d = 0; d < run->device_count; d++)
        if (!device_holds(&run->devices[d], facts))
            return false;
    return true;
}

/* ---- the parent's side ---- */

/* Where the replay was when it was looked at for the last time. */
static struct tp_text place_of(const struct tp_position *at)
{
    uint64_t first = at->first, last = at->last;
    if (last == TP_NONE)
        return tp_text_of("after the last event");
    if (!last)
        return tp_text_of("before its first event");
    if (first == last)
        return tp_text_of("at event %s", tp_count(first).s);
    return tp_text_of("between events %s and %s", tp_count(first ? first : 1).s, tp_count(last).s);
}

int tp_replay_fail_ended(const struct tp_child_end *e, const char *label,
                         const struct tp_position *at, struct tp_err *err)
{
    char who[TP_LABEL_MAX + 2];
    snprintf(who, sizeof who, "'%s'", label);
    int status = tp_child_fail(e, who, place_of(at).s, err);
    return status != TP_ELATE
               ? status
               : tp_hint(err, status,
                         "was it stuck? --timeout TIME gives it longer, --timeout none for ever");
}

int tp_replay_fail_written(const char *label, struct tp_err *err)
{
    const struct tp_position nowhere = {.last = 0};
    return tp_replay_fail_ended(&(struct tp_child_end){.torn = true}, label, &nowhere, err);
}

/* `run` is room for a copy of the run. */
static int take_run(const struct tp_replay_end *e, struct tp_run *run, size_t size,
                    struct tp_err *err)
{
    const struct tp_replay_answer *shared = e->shared;
    struct tp_child_end end = e->end;
    struct tp_answer answer;
    memcpy(run, (const char *)e->shared + e->run_at, size);
    end.torn = !tp_answer_take(&shared->answer, run, size, &answer);
    if (!tp_child_has_answered(&end, answer.given))
        return tp_replay_fail_ended(&end, e->label, &shared->position, err);
    if (!answer.status && !tp_replay_run_holds(run, e->facts))
        return tp_replay_fail_written(e->label, err);
    if (answer.status && err)
        *err = answer.err;
    return answer.status;
}

int tp_replay_answer_take(const struct tp_replay_end *e, struct tp_run *out, struct tp_err *err)
{
    int waited_errno = errno;
    size_t size = tp_run_size(e->facts->devices);
    struct tp_run *run = malloc(size);
    errno = waited_errno;
    int status = run ? take_run(e, run, size, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        memcpy(out, run, size);
    free(run);
    return status;
}
