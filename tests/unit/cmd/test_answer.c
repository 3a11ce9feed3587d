/* Answers in shared memory: what was written over is not believed, and neither is a run that leads
 * out of its bounds. */
#include "cmd/jobs/replay_answer.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 10, MARKS = 2, REQUEST = 100 };

static const struct tp_program_facts facts = {.devices = 1, .events = EVENTS, .marks = MARKS};

/* Shared memory as a child has it, and what the parent is told. */
struct shared {
    size_t run_at, run_size;
    unsigned char *bytes;
    struct tp_replay_board board;
    struct tp_run *run, *out;
    struct tp_err err;
};

static int setup(void **state)
{
    struct shared *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->run_at = TP_REPLAY_RUN_AT(sizeof(struct tp_replay_answer) + REQUEST);
    s->run_size = tp_run_size(1);
    s->bytes = aligned_alloc(64, (s->run_at + s->run_size + 63) & ~(size_t)63);
    s->run = calloc(1, s->run_size);
    s->out = calloc(1, s->run_size);
    assert_true(s->bytes && s->run && s->out);
    memset(s->bytes, 0, s->run_at + s->run_size);
    s->run->device_count = 1;
    s->run->skipped_operations = 77;
    tp_replay_board_open(&s->board, s->bytes, s->run_at, s->run_size);
    *state = s;
    return 0;
}

static int release(void **state)
{
    struct shared *s = *state;
    free(s->bytes);
    free(s->run);
    free(s->out);
    free(s);
    return 0;
}

static int take(struct shared *s)
{
    const struct tp_replay_end end = {
        .shared = s->bytes, .run_at = s->run_at, .facts = &facts, .label = "it"};
    return tp_replay_answer_take(&end, s->out, &s->err);
}

static void expect_written(struct shared *s)
{
    assert_int_equal(take(s), TP_EBROKEN);
    assert_string_equal(s->err.text, "'it' wrote over memory of tapool in its process");
    assert_int_equal(s->out->skipped_operations, 0); /* as it was */
}

TEST_WITH(an_answer_comes_through, setup, release)
{
    struct shared *s = *state;
    assert_int_equal(take(s), TP_EBROKEN); /* none was given */
    assert_string_equal(s->err.text, "'it' ended its process with code 0, before its first event");
    tp_replay_board_give(&s->board, s->run, TP_OK, NULL, "it");
    assert_int_equal(take(s), TP_OK);
    assert_int_equal(s->out->skipped_operations, 77);
}

TEST_WITH(an_error_comes_through, setup, release)
{
    struct shared *s = *state;
    struct tp_err own;
    int status = tp_fail(&own, TP_EDEVICE, "gone");
    tp_replay_board_give(&s->board, s->run, status, &own, "it");
    assert_int_equal(take(s), TP_EDEVICE);
    assert_string_equal(s->err.text, "gone");
}

/* One byte anywhere, but for where the replay is, which is read while it goes on. */
TEST_WITH(what_changed_after_the_answer_is_not_believed, setup, release)
{
    struct shared *s = *state;
    const size_t from = offsetof(struct tp_replay_answer, answer);
    tp_replay_board_give(&s->board, s->run, TP_OK, NULL, "it");
    for (size_t at = from; at < s->run_at + s->run_size; at += at < s->run_at + 512 ? 1 : 997) {
        if (at >= from + sizeof(struct tp_answer) && at < s->run_at)
            continue; /* the request, which is the child's to read */
        s->bytes[at] ^= 0x10;
        expect_written(s);
        s->bytes[at] ^= 0x10;
    }
    assert_int_equal(take(s), TP_OK);
}

TEST_WITH(what_changed_before_the_answer_is_found, setup, release)
{
    struct shared *s = *state;
    const size_t places[] = {offsetof(struct tp_replay_answer, answer), s->run_at - REQUEST / 2,
                             s->run_at - 1, s->run_at, s->run_at + s->run_size - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memset(s->bytes, 0, s->run_at + s->run_size);
        s->bytes[places[i]] = 1;
        tp_replay_board_give(&s->board, s->run, TP_OK, NULL, "it");
        expect_written(s);
    }
    memset(s->bytes, 0xff, s->run_at + s->run_size); /* and the process ended before */
    expect_written(s);
}

#define LEADS_OUT(...)                                                                             \
    do {                                                                                           \
        memset(run, 0, tp_run_size(1));                                                            \
        run->device_count = 1;                                                                     \
        assert_true(tp_replay_run_holds(run, &facts));                                             \
        __VA_ARGS__;                                                                               \
        assert_false(tp_replay_run_holds(run, &facts));                                            \
    } while (0)

TEST_WITH(a_run_that_leads_out_of_its_bounds_is_none, setup, release)
{
    struct shared *s = *state;
    struct tp_run *run = s->run;
    struct tp_device_run *d = run->devices;
    LEADS_OUT(run->device_count = 2);
    LEADS_OUT(memset(run->library, 'x', sizeof run->library));
    LEADS_OUT(run->throughput.runs.count = TP_SERIES_MAX + 1);
    LEADS_OUT(run->throughput.engine.count = TP_SERIES_MAX + 1);
    LEADS_OUT(run->throughput.crew.wall.count = TP_SERIES_MAX + 1);
    LEADS_OUT(run->throughput.crew.waited.count = TP_SERIES_MAX + 1);
    LEADS_OUT(run->throughput.crew.blocked.count = TP_SERIES_MAX + 1);
    LEADS_OUT(run->throughput.crew.alone.count = UINT32_MAX);
    LEADS_OUT(run->throughput.crew.window.count = TP_SERIES_MAX + 1);
    LEADS_OUT(run->latency.slowest_count = TP_SLOWEST + 1);
    LEADS_OUT(run->latency.slowest_count = 1; run->latency.slowest[0].op = TP_OP_COUNT);
    LEADS_OUT(d->phase_count = TP_PHASES + 1);
    LEADS_OUT(d->phase_count = 1; d->phases[0].mark = MARKS);
    LEADS_OUT(d->curve.count = TP_CURVE_POINTS + 1);
    LEADS_OUT(d->curve.count = 1; d->curve.points[0].event = EVENTS + 1);
    LEADS_OUT(run->resident.course.count = TP_COURSE_POINTS + 1);
    LEADS_OUT(run->resident.course.count = 1; run->resident.course.points[0].event = EVENTS + 1);
    LEADS_OUT(d->failed_allocations = 1; d->first_failure.oom_class = TP_OOM_CLASSES);
    LEADS_OUT(d->failed_allocations = 1; d->first_failure.mark = MARKS);
    LEADS_OUT(run->device_count = 2);
    tp_replay_board_give(&s->board, run, TP_OK, NULL, "it");
    expect_written(s);
}
