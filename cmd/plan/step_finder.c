/* See step_finder.h. The longest stretch that comes twice is found by halves: where one of n
 * requests does, one of n - 1 does. For each length the hashes of all stretches are sorted, so that
 * equal ones stand side by side: n log n log n steps. */
#include "cmd/plan/step_finder.h"

#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"
#include "alloc/strategies/planned/planned_plan.h"
#include "cmd/ui/stop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

static int take_life(void *ctx, const struct tp_life *life, struct tp_err *err)
{
    struct tp_program_steps *s = ctx;
    if (!life->begin_event || life->pooled)
        return TP_OK;
    int rc = TP_GROW(&s->requests, &s->room, s->count + 1, err, .what = "requests",
                     TP_MOST(TP_STEP_REQUESTS));
    if (!rc)
        s->requests[s->count++] = *life;
    return rc;
}

static int by_begin(const void *a, const void *b)
{
    const struct tp_life *x = a, *y = b;
    return tp_order(x->begin, y->begin);
}

/* The first request from an instruction on. */
static size_t request_from(const struct tp_program_steps *s, uint64_t insn)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->requests[middle].begin < insn)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_step(struct tp_program_steps *s, const struct tp_step *step, struct tp_err *err)
{
    int rc = TP_GROW(&s->steps, &s->steps_room, s->step_count + 1, err, .what = "steps",
                     TP_MOST(TP_STEP_REQUESTS));
    if (!rc)
        s->steps[s->step_count++] = *step;
    return rc;
}

/* ---- marks ---- */

struct mark_place {
    uint64_t insn, event;
    uint32_t name;
};

struct step_marks {
    struct mark_place *items;
    size_t count, room;
    uint64_t insns;
};

static int see_marks(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct step_marks *m = ctx;
    int rc = TP_OK;
    for (uint32_t i = 0; !rc && i < w->count; i++, m->insns++) {
        if (w->insns[i].op != TP_MARK)
            continue;
        rc = TP_GROW(&m->items, &m->room, m->count + 1, err, .what = "marks",
                     TP_MOST(TP_STEP_REQUESTS));
        if (!rc)
            m->items[m->count++] =
                (struct mark_place){m->insns, tp_window_event(w, i), w->insns[i].slot};
    }
    return rc;
}

struct mark_name {
    const char *text;
    uint32_t name;
    uint64_t times;
};

static int by_mark(const void *a, const void *b)
{
    const struct mark_name *x = a, *y = b;
    int order = tp_planned_mark_order(x->text, y->text);
    return order ? order : tp_order(x->name, y->name);
}

/* The first name, in the order in which they first come, of which there are two; NULL: none. */
static const char *first_repeated(struct mark_name *names, uint32_t count)
{
    const struct mark_name *first = NULL;
    qsort(names, count, sizeof *names, by_mark);
    for (uint32_t i = 0, behind; i < count; i = behind) {
        uint64_t times = 0;
        for (behind = i; behind < count && planned_same_mark(names[behind].text, names[i].text);)
            times += names[behind++].times;
        if (times > 1 && (!first || names[i].name < first->name))
            first = &names[i];
    }
    return first ? first->text : NULL;
}

static int find_mark(struct tp_program *p, const struct step_marks *m, const char **out,
                     struct tp_err *err)
{
    const uint32_t count = tp_program_facts(p)->marks;
    struct mark_name *names = calloc(count + (size_t)1, sizeof *names);
    if (!names)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct mark_name){.text = tp_program_mark(p, i), .name = i};
    for (size_t i = 0; i < m->count; i++)
        names[m->items[i].name].times++;
    *out = first_repeated(names, count);
    free(names);
    return TP_OK;
}

static int cut_at_marks(struct tp_program *p, const struct step_marks *m, const char *mark,
                        struct tp_program_steps *s, struct tp_err *err)
{
    struct tp_step *last = NULL;
    int rc = TP_OK;
    for (size_t i = 0; !rc && i < m->count; i++) {
        const struct mark_place *at = &m->items[i];
        const char *name = tp_program_mark(p, at->name);
        if (!planned_same_mark(name, mark))
            continue;
        s->mark = s->mark ? s->mark : name;
        struct tp_step step = s->last;
        step.begin = at->insn;
        step.first_event = at->event;
        step.first = request_from(s, at->insn);
        if (last) {
            last->end = at->insn;
            last->behind = step.first;
            last->last_event = at->event - 1;
        }
        rc = add_step(s, &step, err);
        last = rc ? NULL : &s->steps[s->step_count - 1];
    }
    return rc;
}

/* ---- a period ---- */

struct stretch_hash {
    uint64_t hash;
    uint32_t at;
};

struct repeat {
    const struct tp_program_steps *s;
    uint64_t *sums;           /* hash of all requests before each */
    uint64_t *powers;         /* of the factor */
    struct stretch_hash *all; /* room for one of each request */
    uint32_t first, second;   /* the two places */
    uint32_t length;
};

static uint64_t hash_of(const struct tp_life *r)
{
    uint64_t h = r->size * UINT64_C(0x9E3779B97F4A7C15) + r->stream * UINT64_C(64) + r->align_log2;
    h = (h ^ (h >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    return h ^ (h >> 29);
}

static int by_hash(const void *a, const void *b)
{
    const struct stretch_hash *x = a, *y = b;
    return x->hash != y->hash ? tp_order(x->hash, y->hash) : tp_order(x->at, y->at);
}

static bool is_same(const struct tp_life *a, const struct tp_life *b)
{
    return a->size == b->size && a->align_log2 == b->align_log2 && a->stream == b->stream;
}

static bool are_equal(const struct tp_program_steps *s, uint32_t a, uint32_t b, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (!is_same(&s->requests[a + i], &s->requests[b + i]))
            return false;
    return true;
}

/* Whether a stretch of so many requests comes twice; the nearest two are kept. */
static bool comes_twice(struct repeat *r, uint32_t length)
{
    const uint32_t places = (uint32_t)r->s->count - length + 1;
    uint32_t nearest = UINT32_MAX;
    for (uint32_t i = 0; i < places; i++)
        r->all[i] = (struct stretch_hash){r->sums[i + length] - r->sums[i] * r->powers[length], i};
    qsort(r->all, places, sizeof *r->all, by_hash);
    for (uint32_t i = 1; i < places; i++) {
        uint32_t a = r->all[i - 1].at, b = r->all[i].at;
        if (r->all[i - 1].hash != r->all[i].hash || b - a >= nearest ||
            !are_equal(r->s, a, b, length))
            continue;
        nearest = b - a;
        r->first = a;
        r->second = b;
        r->length = length;
    }
    return nearest != UINT32_MAX;
}

static int find_repeat(struct repeat *r, struct tp_err *err)
{
    const uint64_t factor = UINT64_C(0x2545F4914F6CDD1D);
    uint32_t low = 0, high = (uint32_t)r->s->count;
    r->powers[0] = 1;
    for (uint32_t i = 0; i < r->s->count; i++) {
        r->sums[i + 1] = r->sums[i] * factor + hash_of(&r->s->requests[i]);
        r->powers[i + 1] = r->powers[i] * factor;
    }
    while (high - low > 1) { /* one of `low` comes twice, none of `high` */
        uint32_t middle = low + (high - low) / 2;
        int rc = tp_stop_asked(err);
        if (rc)
            return rc;
        if (comes_twice(r, middle))
            low = middle;
        else
            high = middle;
    }
    return TP_OK;
}

static int by_end(const void *a, const void *b)
{
    const struct tp_life *x = *(const struct tp_life *const *)a,
                         *y = *(const struct tp_life *const *)b;
    return tp_order(x->end, y->end);
}

/* The request from `from` up to `to` before which the fewest bytes are live. */
static int find_cut(const struct tp_program_steps *s, size_t from, size_t to, size_t *cut,
                    struct tp_err *err)
{
    const struct tp_life **ends = malloc(s->count * sizeof *ends);
    uint64_t begun = 0, ended = 0, fewest = UINT64_MAX;
    if (!ends)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->count; i++)
        ends[i] = &s->requests[i];
    qsort(ends, s->count, sizeof *ends, by_end);
    for (size_t i = 0, e = 0; i <= to; begun += s->requests[i++].size) {
        for (; e < s->count && ends[e]->end <= s->requests[i].begin; e++)
            ended += ends[e]->size;
        if (i < from || begun - ended >= fewest)
            continue;
        fewest = begun - ended;
        *cut = i;
    }
    free(ends);
    return TP_OK;
}

/* Whole periods from the best request on. */
static int cut_by_period(const struct repeat *r, struct tp_program_steps *s, struct tp_err *err)
{
    const size_t period = r->second - r->first, end = r->second + r->length;
    size_t to = r->first + (r->length < period ? r->length : period - 1), cut = r->first;
    if (2 * (uint64_t)r->length < period || 2 * (end - r->first) < s->count)
        return TP_OK;
    int rc = find_cut(s, r->first, to, &cut, err);
    for (size_t at = cut; !rc && at + period <= end; at += period) {
        struct tp_step step = s->last;
        step.first = at;
        step.begin = s->requests[at].begin;
        step.first_event = s->requests[at].begin_event;
        if (at + period < s->count) {
            step.behind = at + period;
            step.end = s->requests[step.behind].begin;
            step.last_event = s->requests[step.behind].begin_event - 1;
        }
        rc = add_step(s, &step, err);
    }
    return rc;
}

static int find_period(struct tp_program_steps *s, struct tp_err *err)
{
    size_t room = s->count + 1;
    struct repeat r = {.s = s,
                       .sums = calloc(room, sizeof *r.sums),
                       .powers = calloc(room, sizeof *r.powers),
                       .all = malloc(room * sizeof *r.all)};
    int rc = r.sums && r.powers && r.all ? find_repeat(&r, err)
                                         : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!rc && r.length)
        rc = cut_by_period(&r, s, err);
    free(r.sums);
    free(r.powers);
    free(r.all);
    return rc;
}

/* ---- the whole ---- */

static int find_all(struct tp_program *p, enum tp_steps_by by, const char *mark,
                    struct tp_program_steps *s, struct tp_err *err)
{
    struct step_marks marks = {.count = 0};
    const char *begins = mark;
    int rc = tp_program_walk(p, see_marks, &marks, err);
    if (!rc && !mark && by != TP_STEPS_BY_PERIOD)
        rc = find_mark(p, &marks, &begins, err);
    s->last = (struct tp_step){
        .end = marks.insns - 1, .last_event = tp_program_facts(p)->events, .behind = s->count};
    if (!rc && begins)
        rc = cut_at_marks(p, &marks, begins, s, err);
    TP_GROW_END(&marks.items, &marks.room, .what = "marks");
    if (!rc && !begins && by != TP_STEPS_BY_MARK && s->count > 1)
        rc = find_period(s, err);
    return rc;
}

int tp_program_steps_find(struct tp_program *p, uint16_t device, enum tp_steps_by by,
                          const char *mark, struct tp_program_steps *out, struct tp_err *err)
{
    *out = (struct tp_program_steps){.count = 0};
    int rc = tp_program_lives(p, device, take_life, out, err);
    if (rc)
        return rc;
    qsort(out->requests, out->count, sizeof *out->requests, by_begin);
    rc = find_all(p, by, mark, out, err);
    if (rc || out->step_count)
        return rc;
    if (mark)
        return tp_hint(err, tp_fail(err, TP_EINPUT, "no mark '%.63s' begins a step", mark),
                       "'tapool info TRACE' lists the phases");
    return tp_hint(
        err,
        tp_fail(err, TP_EINPUT, "no steps: no mark comes twice, and the requests have no period"),
        "--mark NAME takes the mark that begins a step");
}

void tp_program_steps_release(struct tp_program_steps *s)
{
    TP_GROW_END(&s->requests, &s->room, .what = "requests");
    TP_GROW_END(&s->steps, &s->steps_room, .what = "steps");
    *s = (struct tp_program_steps){.count = 0};
}
