/* What the usage pass keeps of a replay: peaks, the curve and phases, beside a model of a few
 * lines.
 */
#include "alloc/base/random.h"
#include "tests/unit/programs.h"
#include "tests/unit/ranges.h"

/* ---- a model ---- */

enum { SLOTS = 40, THREADS = 3, DEVICES = 3, MARKS = 200, INSNS = 1800 };

struct model_device {
    uint64_t now[TP_CURVE_VALUES];  /* requested, allocated, reserved */
    uint64_t high[TP_CURVE_VALUES]; /* inside the instruction */
    uint64_t calls[TP_CURVE_CALLS];
    bool threads[THREADS];
    uint64_t peaks[TP_CURVE_VALUES];
    struct tp_curve_point curve[4 * INSNS];
    size_t points;
    struct tp_phase phases[MARKS + 1];
    uint32_t phase_count, phase;
};

static struct model {
    struct model_device devices[DEVICES];
    struct {
        uint64_t size;
        uint16_t device;
    } objects[SLOTS];
    uint64_t clock;
} model;

static bool timed; /* the model's program has times */

static void high_water(struct model_device *d)
{
    for (int v = 0; v < TP_CURVE_VALUES; v++)
        if (d->now[v] > d->high[v])
            d->high[v] = d->now[v];
}

static void model_alloc(struct model_device *d, uint16_t thread, uint64_t size)
{
    d->now[2] += !how.moments || d->threads[thread] ? 0 : THREAD_BYTES;
    d->calls[TP_CURVE_GETS] += how.moments ? 1u + !d->threads[thread] + size % 2 : 1u;
    d->calls[TP_CURVE_PUTS] += how.moments && size % 2;
    d->threads[thread] = how.moments;
    d->now[1] += pages_of(size);
    d->now[2] += pages_of(size);
    uint64_t moment = how.moments && size % 2 ? MOMENT_BYTES : 0;
    if (d->now[2] + moment > d->high[2])
        d->high[2] = d->now[2] + moment;
}

static void model_free(struct model_device *d, uint64_t size)
{
    d->now[1] -= pages_of(size);
    d->now[2] -= pages_of(size);
    d->calls[TP_CURVE_PUTS]++;
}

static void model_insn(const struct tp_insn *in)
{
    struct model_device *d = &model.devices[in->device];
    uint64_t old = in->slot < SLOTS ? model.objects[in->slot].size : 0;
    if (in->op == TP_ALLOC || in->op == TP_REALLOC) {
        model_alloc(d, in->thread, in->size);
        d->now[0] += in->size - (in->op == TP_REALLOC ? old : 0);
        d->high[1] = d->now[1];
        if (in->op == TP_REALLOC)
            model_free(d, old);
        model.objects[in->slot].size = in->size;
        model.objects[in->slot].device = in->device;
    } else if (in->op == TP_FREE) {
        d->now[0] -= in->size;
        model_free(d, in->size);
        model.objects[in->slot].size = 0;
    } else if (in->op == TP_RESET) {
        for (uint32_t i = 0; i < SLOTS; i++)
            if (model.objects[i].size && model.objects[i].device == in->device) {
                d->now[0] -= model.objects[i].size;
                model_free(d, model.objects[i].size);
                model.objects[i].size = 0;
            }
    }
    for (int i = 0; in->op == TP_THREAD_END && i < DEVICES; i++) {
        d = &model.devices[i];
        d->now[2] -= d->threads[in->thread] ? THREAD_BYTES : 0;
        d->calls[TP_CURVE_PUTS] += d->threads[in->thread];
        d->threads[in->thread] = false;
    }
}

static void model_point(struct model_device *d, uint64_t event, const uint64_t *bytes)
{
    size_t n = d->points;
    if (n && !memcmp(d->curve[n - 1].bytes, bytes, sizeof d->curve[0].bytes))
        return;
    d->curve[n].event = event;
    d->curve[n].clock = model.clock;
    memcpy(d->curve[n].calls, d->calls, sizeof d->calls);
    memcpy(d->curve[n].bytes, bytes, sizeof d->curve[0].bytes);
    d->points++;
}

/* Everything that an instruction, or all before the first one, leaves behind. */
static void model_follow(struct model_device *d, uint64_t event)
{
    struct tp_phase *phase = &d->phases[d->phase];
    uint64_t *const peaks[] = {&phase->peak_requested, &phase->peak_allocated,
                               &phase->peak_reserved};
    high_water(d);
    for (int v = 0; v < TP_CURVE_VALUES; v++) {
        if (d->high[v] > d->peaks[v])
            d->peaks[v] = d->high[v];
        if (d->phase < TP_PHASES && d->high[v] > *peaks[v])
            *peaks[v] = d->high[v];
    }
    model_point(d, event, d->high);
    model_point(d, event, d->now);
    memset(d->high, 0, sizeof d->high);
}

static void model_mark(struct model_device *d, uint32_t mark, uint64_t event)
{
    uint32_t i = 0;
    while (i < d->phase_count && d->phases[i].mark != mark)
        i++;
    if (i == d->phase_count)
        d->phases[d->phase_count++] = (struct tp_phase){.mark = mark, .first_event = event};
    d->phase = i;
    d->phases[i].times++;
}

static void model_run(const struct tp_insn *before, size_t before_count,
                      const struct tp_insn *insns, size_t count)
{
    memset(&model, 0, sizeof model);
    for (int d = 0; d < DEVICES; d++) {
        model.devices[d].now[2] = how.got_in_init;
        model.devices[d].high[2] = how.moment_init;
        model.devices[d].phase_count = 1;
        model.devices[d].phases[0] = (struct tp_phase){.mark = UINT32_MAX, .times = 1};
    }
    for (size_t i = 0; i < before_count; i++)
        model_insn(&before[i]);
    for (int d = 0; d < DEVICES; d++) {
        memset(model.devices[d].calls, 0, sizeof model.devices[d].calls);
        model_follow(&model.devices[d], 0);
    }
    for (size_t i = 0; i < count; i++) {
        model.clock += timed ? insns[i].gap_ns : tp_op_is_operation(insns[i].op);
        model_insn(&insns[i]);
        for (int d = 0; d < DEVICES; d++) {
            if (insns[i].op == TP_MARK)
                model_mark(&model.devices[d], insns[i].slot, i + 1);
            model_follow(&model.devices[d], i + 1);
        }
    }
}

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
    return tp_random_split(&seed) % n;
}

/* Slots of a few devices and sizes, now and then a mark, a reset, the end of a thread. */
static void random_insns(struct tp_insn *insns, size_t count, size_t before)
{
    uint64_t sizes[SLOTS] = {0};
    uint16_t devices[SLOTS] = {0};
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = i < SLOTS ? (uint32_t)i : (uint32_t)random_below(SLOTS);
        struct tp_insn in = {.op = TP_ALLOC,
                             .align_log2 = 4,
                             .slot = slot,
                             .thread = (uint16_t)random_below(THREADS),
                             .device = (uint16_t)random_below(DEVICES),
                             .gap_ns = i < before ? 0 : (uint32_t)random_below(50),
                             .size = 1 + random_below(random_below(20) ? 9000 : 90000)};
        if (i >= SLOTS && random_below(5) == 0) {
            static const uint8_t ops[] = {TP_MARK, TP_MARK, TP_THREAD_END, TP_NOTE, TP_RESET};
            in.op = ops[random_below(COUNT(ops) - (random_below(4) != 0))];
            in.slot = (uint32_t)random_below(random_below(2) ? 5 : MARKS);
            if (in.op == TP_NOTE) {
                in.slot = 0;
                in.align_log2 = TP_NOTE_OOM;
            }
            for (int k = 0; in.op == TP_RESET && k < SLOTS; k++)
                sizes[k] = devices[k] == in.device ? 0 : sizes[k];
        } else if (sizes[slot]) {
            in.op = random_below(2) ? TP_FREE : TP_REALLOC;
            in.device = devices[slot];
            in.size = in.op == TP_FREE ? sizes[slot] : in.size;
            sizes[slot] = in.op == TP_FREE ? 0 : in.size;
        } else {
            sizes[slot] = in.size;
            devices[slot] = in.device;
        }
        insns[i] = in;
    }
}

static void check_device(const struct tp_device_run *d, const struct model_device *m)
{
    assert_fields(*d, peak_requested, m->peaks[0], peak_allocated, m->peaks[1], peak_reserved,
                  m->peaks[2], end_reserved, m->now[2], gets, m->calls[TP_CURVE_GETS], puts,
                  m->calls[TP_CURVE_PUTS], curve.count, m->points);
    for (size_t i = 0; i < m->points; i++) {
        assert_fields(d->curve.points[i], event, m->curve[i].event, clock, m->curve[i].clock);
        assert_memory_equal(d->curve.points[i].calls, m->curve[i].calls, sizeof m->curve[i].calls);
        assert_memory_equal(d->curve.points[i].bytes, m->curve[i].bytes, sizeof m->curve[i].bytes);
    }
    uint32_t phases = m->phase_count < TP_PHASES ? m->phase_count : TP_PHASES;
    assert_int_equal(d->phase_count, phases);
    for (uint32_t i = 0; i < phases; i++) {
        assert_fields(d->phases[i], mark, m->phases[i].mark, first_event, m->phases[i].first_event,
                      times, m->phases[i].times, peak_requested, m->phases[i].peak_requested,
                      peak_allocated, m->phases[i].peak_allocated, peak_reserved,
                      m->phases[i].peak_reserved);
        assert_true(d->phases[i].peak_reserved >= d->phases[i].peak_allocated);
    }
}

TEST_WITH(it_agrees_with_the_model, setup, teardown)
{
    static struct tp_insn insns[INSNS];
    uint32_t most_phases = 0;
    for (uint64_t number = 1; number <= 12; number++) {
        size_t before = number % 3 ? SLOTS / 2 : 0;
        seed = number;
        random_insns(insns, INSNS, before);
        timed = number % 2;
        how.moments = number % 3 != 1;
        how.got_in_init = number % 4 ? 0 : 3 * PAGE;
        how.moment_init = number % 5 ? 0 : 200 * PAGE;
        struct tp_replay_cfg cfg =
            on_virtual(program_of(insns, before, insns + before, INSNS - before, MARKS, timed));
        const struct tp_device_run *d = replay(&cfg);
        model_run(insns, before, insns + before, INSNS - before);
        for (int i = 0; i < DEVICES; i++) {
            check_device(&d[i], &model.devices[i]);
            most_phases = model.devices[i].phase_count > most_phases ? model.devices[i].phase_count
                                                                     : most_phases;
        }
    }
    assert_true(most_phases > TP_PHASES); /* or the bound was not tried */
}

/* ---- the curve ---- */

static uint64_t highest(const struct tp_curve *c, int value)
{
    uint64_t high = 0;
    for (uint32_t i = 0; i < c->count; i++)
        high = c->points[i].bytes[value] > high ? c->points[i].bytes[value] : high;
    return high;
}

/* Peaks that stand only inside one instruction: both blocks of a realloc by copy, and memory that a
 * call takes and gives back. */
TEST_WITH(a_moment_is_on_the_curve, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 2 * PAGE, 0), realloc_insn(0, 3 * PAGE, 0),
                                    FREE_INSN(0, 3 * PAGE, 0), ALLOC_INSN(0, 1, 0)};
    static const struct tp_curve_point points[] = {
        {0, {0, 0, 0}, {0}, 0, 0},
        {1, {2 * PAGE, 2 * PAGE, 4 * PAGE}, {0}, 0, 0},
        {2, {3 * PAGE, 5 * PAGE, 7 * PAGE}, {0}, 0, 0},
        {2, {3 * PAGE, 3 * PAGE, 5 * PAGE}, {0}, 0, 0},
        {3, {0, 0, 2 * PAGE}, {0}, 0, 0},
        {4, {1, PAGE, 10 * PAGE}, {0}, 0, 0},
        {4, {1, PAGE, 3 * PAGE}, {0}, 0, 0},
    };
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 0, true));
    how.moments = true;
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->curve.count, COUNT(points));
    for (size_t i = 0; i < COUNT(points); i++) {
        assert_int_equal(d->curve.points[i].event, points[i].event);
        assert_memory_equal(d->curve.points[i].bytes, points[i].bytes, sizeof points[i].bytes);
    }
    assert_fields(*d, peak_allocated, 5 * PAGE, peak_reserved, 10 * PAGE, peak_reserved_event, 4);
}

TEST_WITH(a_long_initial_heap_is_one_point, setup, teardown)
{
    struct tp_insn before[200];
    for (uint32_t i = 0; i < 200; i++)
        before[i] = (struct tp_insn)ALLOC_INSN(i, PAGE, 0);
    const struct tp_insn insns[] = {FREE_INSN(7, PAGE, 0)};
    struct tp_replay_cfg cfg = on_virtual(program_of(before, 200, insns, 1, 0, true));
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(d->curve, count, 2, points[0].event, 0, points[0].bytes[TP_CURVE_RESERVED],
                  200 * PAGE, points[1].event, 1);
}

/* What a strategy takes before anything happens is a peak, of a device that is never used too. */
TEST_WITH(what_is_reserved_at_the_start_is_a_peak, setup, teardown)
{
    struct tp_insn insns[] = {ALLOC_INSN(0, 1, 0), ALLOC_INSN(1, 1, 0), mark_insn(0)};
    insns[1].device = 2;
    struct tp_program *empty = program_of(NULL, 0, NULL, 0, 0, true);
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 1, true));
    how.got_in_init = 5 * PAGE;
    how.moment_init = 9 * PAGE;
    const struct tp_device_run *d = replay(&cfg);
    for (int i = 0; i < 3; i++) {
        assert_fields(d[i], peak_reserved, 9 * PAGE, peak_reserved_event, 0,
                      phases[0].peak_reserved, 9 * PAGE, curve.points[0].event, 0,
                      curve.points[0].bytes[TP_CURVE_RESERVED], 9 * PAGE,
                      curve.points[1].bytes[TP_CURVE_RESERVED], 5 * PAGE);
    }
    cfg.program = empty;
    assert_int_equal(replay(&cfg)->peak_reserved, 9 * PAGE);
    assert_int_equal(run->devices[0].curve.count, 2);
}

/* 100,000 events, peaks at odd places, one of each kind inside an instruction. */
TEST_WITH(a_long_curve_is_bounded_and_loses_no_peak, setup, teardown)
{
    enum { EVENTS = 100000 };
    struct tp_insn *insns = calloc(EVENTS, sizeof *insns);
    assert_non_null(insns);
    seed = 7;
    uint64_t size = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        if (i == 0)
            insns[i] = (struct tp_insn)ALLOC_INSN(0, size = 50 * PAGE, 1);
        else
            insns[i] = realloc_insn(0, size = 2 * (1 + random_below(20 * PAGE)), 1);
    }
    insns[33333].size = 60 * PAGE; /* requested is highest */
    insns[66665].size = 59 * PAGE; /* allocated is highest while this one is copied */
    insns[66666].size = 59 * PAGE;
    insns[44443].size = 57 * PAGE; /* reserved is highest in a moment of this one */
    insns[44444].size = 57 * PAGE + 1;
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, EVENTS, 0, true));
    how.moments = true;
    const struct tp_device_run *d = replay(&cfg);
    const struct tp_curve *c = &d->curve;
    assert_fields(*d, peak_requested, 60 * PAGE, peak_allocated, 118 * PAGE, peak_reserved,
                  (57 + 58 + 2 + 7) * PAGE, peak_reserved_event, 44445);
    assert_in_range(c->count, TP_CURVE_POINTS / 4, TP_CURVE_POINTS);
    assert_int_equal(highest(c, TP_CURVE_REQUESTED), d->trace_peak_requested);
    assert_int_equal(highest(c, TP_CURVE_ALLOCATED), d->peak_allocated);
    assert_int_equal(highest(c, TP_CURVE_RESERVED), d->peak_reserved);
    assert_int_equal(c->points[0].event, 0);
    for (uint32_t i = 1; i < c->count; i++)
        assert_true(c->points[i - 1].event <= c->points[i].event);
    assert_fields(c->points[c->count - 1], event, EVENTS, bytes[TP_CURVE_REQUESTED],
                  insns[EVENTS - 1].size, bytes[TP_CURVE_RESERVED], d->end_reserved);
    free(insns);
}

/* Wherever it may be full: the last sample is the last point. */
TEST_WITH(a_curve_ends_where_the_program_does, setup, teardown)
{
    static struct tp_curve c, ended;
    uint32_t tried = 0;
    for (uint64_t at = 0; at < 40 * 17000; at++) {
        uint64_t e = at % 17000 + 1;
        if (e == 1)
            memset(&c, 0, sizeof c);
        const struct tp_curve_point sample = {
            e, {random_below(1000000), random_below(1000000), random_below(1000000)}, {0}, e, 0};
        tp_curve_add(&c, &sample);
        if (c.count + 2 * TP_CURVE_KEPT < TP_CURVE_POINTS)
            continue;
        ended = c;
        tp_curve_finish(&ended);
        assert_in_range(ended.count, 1, TP_CURVE_POINTS);
        assert_int_equal(ended.points[ended.count - 1].event, e);
        tried++;
    }
    assert_true(tried > 100);
}

/* ---- phases ---- */

TEST_WITH(a_phase_that_comes_again_adds_to_the_first, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 3 * PAGE, 0),
                                    mark_insn(1),
                                    ALLOC_INSN(1, PAGE, 0),
                                    FREE_INSN(0, 3 * PAGE, 0),
                                    mark_insn(0),
                                    mark_insn(1),
                                    ALLOC_INSN(0, 9 * PAGE, 0),
                                    FREE_INSN(0, 9 * PAGE, 0),
                                    mark_insn(1),
                                    realloc_insn(1, 2 * PAGE, 0),
                                    mark_insn(0),
                                    realloc_insn(1, PAGE, 0)};
    static const struct tp_phase phases[] = {{UINT32_MAX, 0, 1, 3 * PAGE, 3 * PAGE, 3 * PAGE},
                                             {1, 2, 3, 10 * PAGE, 10 * PAGE, 10 * PAGE},
                                             {0, 5, 2, 2 * PAGE, 3 * PAGE, 3 * PAGE}};
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 2, true));
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->phase_count, COUNT(phases));
    for (size_t i = 0; i < COUNT(phases); i++) {
        assert_fields(d->phases[i], mark, phases[i].mark, first_event, phases[i].first_event, times,
                      phases[i].times, peak_requested, phases[i].peak_requested, peak_allocated,
                      phases[i].peak_allocated, peak_reserved, phases[i].peak_reserved);
    }
}

/* Later names have no phase of their own, and spoil none. */
TEST_WITH(only_the_first_names_are_kept, setup, teardown)
{
    struct tp_insn insns[TP_PHASES + 13];
    size_t n = 0;
    insns[n++] = (struct tp_insn)ALLOC_INSN(0, 100, 0);
    for (uint32_t i = 0; i < TP_PHASES + 6; i++)
        insns[n++] = mark_insn(i);
    insns[n++] = (struct tp_insn)ALLOC_INSN(1, 50 * PAGE, 0);
    insns[n++] = (struct tp_insn)FREE_INSN(1, 50 * PAGE, 0);
    insns[n++] = mark_insn(TP_PHASES - 2); /* the last that is kept */
    insns[n++] = (struct tp_insn)ALLOC_INSN(1, 5 * PAGE, 0);
    insns[n++] = mark_insn(TP_PHASES);
    insns[n++] = (struct tp_insn)FREE_INSN(1, 5 * PAGE, 0);
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, n, TP_PHASES + 6, true));
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->phase_count, TP_PHASES);
    for (uint32_t i = 0; i < TP_PHASES; i++) {
        bool last = i == TP_PHASES - 1;
        assert_fields(d->phases[i], mark, i ? i - 1 : UINT32_MAX, times, 1 + last, peak_reserved,
                      last ? 6 * PAGE : PAGE);
    }
}

/* ---- progress ---- */

struct heard {
    const char *passes[4];
    size_t count;
};

/* Each name once, while it does not change. */
static void hear(void *ctx, const char *pass, double fraction)
{
    struct heard *h = ctx;
    (void)fraction;
    if (h->count && !strcmp(h->passes[h->count - 1], pass))
        return;
    assert_true(h->count < COUNT(h->passes));
    h->passes[h->count++] = pass;
}

TEST_WITH(the_warm_calls_has_a_name_of_its_own, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1, 0), FREE_INSN(0, 1, 0)};
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 0, true));
    struct heard heard = {.count = 0};
    cfg.progress = hear;
    cfg.progress_ctx = &heard;
    replay(&cfg);
    assert_int_equal(heard.count, 2);
    assert_string_equal(heard.passes[0], "memory");
    assert_string_equal(heard.passes[1], "warm replay");
}
