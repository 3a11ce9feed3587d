/* The strategy `planned` by plans made by hand: what follows a plan, what deviates, and that a
 * place is never given twice. The strategy is compiled into this test, so that its steps are
 * counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/planned/planned.c"
#include "alloc/strategies/planned/planned_check.c"
#include "alloc/strategies/planned/planned_match.c"
#include "alloc/strategies/planned/planned_plan.c"
#include "alloc/strategies/planned/planned_pool.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/scenario.h"

#include <stdio.h>
#include <unistd.h>

static struct rig *open_as(const char *plan, const char *limit, const char *more)
{
    char path[] = "/tmp/tapool-plan-XXXXXX", option[96];
    int fd = mkstemp(path);
    size_t length = strlen(plan);
    assert_true(fd >= 0 && write(fd, plan, length) == (ssize_t)length);
    close(fd);
    snprintf(option, sizeof option, "plan=%s%s", path, more);
    struct rig *r = open_device(&tp_strategy_planned, option, limit);
    unlink(path);
    return r;
}

static struct rig *open_with(const char *plan, const char *limit)
{
    return open_as(plan, limit, "");
}

static struct rig *open_plan(const char *plan)
{
    return open_with(plan, NULL);
}

/* Three blocks in 6 MiB: the third takes the place of the first. */
#define SIMPLE                                                                                     \
    "tapool plan 1\nstream 0 6291456\nrequests 3\n"                                                \
    "0 4194304 1 3 0\n0 2097152 1 4 4194304\n0 4194304 1 4 0\n"

/* ---- following ---- */

REPLAYS(a_step_like_the_planned_one_takes_the_pool_and_no_more, open_plan(SIMPLE),
        "a=4M b=2M@a+4M -a c=4M@a -b -c a=4M@c b=2M@c+4M -a c=4M@a -c -b "
        "planned=6 unplanned=0 gets=1 reserved=6M")

REPLAYS(what_is_persistent_comes_beside_the_pool, open_plan(SIMPLE),
        "w=30M a=4M b=2M -a c=4M -b -c planned=1 unplanned=3 " /* the place is not known before */
        "a=4M@c b=2M@c+4M -a c=4M@a -c -b trim planned=4 unplanned=3 reserved=30M")

REPLAYS(the_first_step_may_be_known, open_as(SIMPLE, NULL, ",skip=2"),
        "v=4M w=2M unplanned=0 a=4M@!v b=2M@a+4M -a c=4M@a planned=3 unplanned=0")

REPLAYS(a_request_more_deviates_alone, open_plan(SIMPLE),
        "a=4M b=2M -a c=4M -b -c a=4M x=3M b=2M@a+4M -a c=4M@a planned=6 unplanned=1")

REPLAYS(a_request_of_another_size_deviates_alone, open_plan(SIMPLE),
        "a=4M b=2M -a c=4M -b -c a=4M b=1M -a c=4M@a planned=5 unplanned=1")

REPLAYS(a_place_is_not_given_while_its_bytes_are_live, open_plan(SIMPLE),
        "a=4M b=2M c=4M@!a planned=2 unplanned=1 -a -b -c a=4M@a b=2M@b -a c=4M@a planned=5")

REPLAYS(a_block_that_lives_through_steps_keeps_its_place, open_plan(SIMPLE),
        "a=4M b=2M -a c=4M@a -c " /* b stays */
        "d=4M@a e=2M@!b -d f=4M@a planned=5 unplanned=1 -b -e -f")

REPLAYS(what_is_not_freed_at_its_address_or_size_is_refused, open_plan(SIMPLE),
        "a=4M -a+512! -a:5M! -a -a!")

/* The second block is freed in the next step, where the first request is made beside it. */
#define CROSSES                                                                                    \
    "tapool plan 1\nstream 0 6291456\nrequests 2\n0 4194304 1 2 0\n0 2097152 1 2 4194304\n"

REPLAYS(a_block_may_be_planned_into_the_next_step, open_plan(CROSSES),
        "a=4M -a b=2M@a+4M c=4M@a -b -c d=2M@b e=4M@a -d -e planned=5 unplanned=0 reserved=6M")

/* ---- other streams ---- */

#define STREAMS                                                                                    \
    "tapool plan 1\nstream 2 2097152\nstream 0 4194304\nrequests 3\n"                              \
    "0 4194304 1 3 0\n2 2097152 1 4 0\n0 4194304 1 4 0\n"

REPLAYS(each_stream_has_a_part_of_its_own, open_plan(STREAMS),
        "a=4M b=2M/2@a-2M -a c=4M@a planned=3 unplanned=0 -b/2 -c")

REPLAYS(a_request_of_another_stream_is_another_one, open_plan(STREAMS),
        "a=4M b=2M/1 c=4M/2 planned=1 unplanned=2")

REPLAYS(a_freed_place_waits_for_the_streams_that_used_it, open_plan(SIMPLE),
        "a=4M b=2M use:a/1 -a c=4M@!a planned=2 unplanned=1 -c -b later "
        "a=4M@a b=2M@b -a/3 c=4M@!a planned=4 unplanned=2 -b -c done:3 a=4M@a planned=5")

/* ---- finding the way back ---- */

/* Eight requests of eight sizes, all live to the end. */
#define EIGHT                                                                                      \
    "tapool plan 1\nstream 0 37748736\nrequests 8\n"                                               \
    "0 1048576 1 9 0\n0 2097152 1 9 1048576\n0 3145728 1 9 3145728\n0 4194304 1 9 6291456\n"       \
    "0 5242880 1 9 10485760\n0 6291456 1 9 15728640\n0 7340032 1 9 22020096\n"                     \
    "0 8388608 1 9 29360128\n"

REPLAYS(requests_that_are_left_out_cost_one_more, open_plan(EIGHT),
        "a=1M b=2M@a+1M c=3M@a+3M f=6M g=7M@a+21M h=8M@a+28M planned=5 unplanned=1")

REPLAYS(many_requests_more_cost_no_other, open_plan(EIGHT),
        "a=1M b=2M c=3M 9M 9M 9M 9M d=4M@a+6M e=5M@a+10M planned=5 unplanned=4")

REPLAYS(before_a_place_was_known_a_step_is_told_by_its_begin, open_plan(EIGHT),
        "9M d=4M e=5M f=6M planned=0 -d -e -f a=1M b=2M planned=0 c=3M d=4M@c+3M planned=2")

REPLAYS(a_place_not_trusted_is_taken_anew_with_two_requests_before_it, open_plan(EIGHT),
        "a=1M b=2M c=3M 9M d=4M 9M e=5M f=6M planned=4 g=7M@d+15M h=8M planned=6 unplanned=4")

/* ---- what the plan keeps, and marks ---- */

#define KEEPS                                                                                      \
    "tapool plan 1\nmark step 1\nstream 0 4194304\nrequests 2\n0 2097152 1 - -\n0 4194304 1 3 0\n"

static void see_phases(struct rig *r)
{
    static const char *const names[] = {"weights", "step 7", "step x", NULL};
    struct tp_err err;
    assert_int_equal(r->s->phases(r->st, names, 3, &err), TP_OK);
    r->s->phase(r->st, UINT32_MAX);
}

TEST_OPENED(a_mark_begins_a_step_and_nothing_is_planned_before, open_plan(KEEPS))
{
    see_phases(r);
    tp_addr before = get(r, 0, 4 * MIB);
    r->s->phase(r->st, 0);
    assert_int_equal(r->account.planned + r->account.unplanned, 0);
    r->s->phase(r->st, 1);
    get(r, 0, 2 * MIB);
    assert_int_equal(r->account.planned + r->account.unplanned, 0);
    assert_true(get(r, 0, 4 * MIB) != before);
    assert_int_equal(r->account.planned, 1);
    r->s->phase(r->st, 2); /* no step */
    get(r, 0, 2 * MIB);
    assert_int_equal(r->account.unplanned, 1);
    r->s->phase(r->st, 1);
    get(r, 0, 2 * MIB);
    get(r, 0, 4 * MIB); /* its place is taken */
    assert_int_equal(r->account.planned, 1);
    assert_int_equal(r->account.unplanned, 2);
}

TEST_OPENED(a_trace_without_the_mark_of_the_plan_is_refused, open_plan(KEEPS))
{
    static const char *const names[] = {"weights", "steps", NULL};
    struct tp_err err;
    assert_int_equal(r->s->phases(r->st, names, 2, &err), TP_EUSAGE);
    assert_non_null(strstr(err.text, "no phase 'step 1'"));
    assert_non_null(strstr(err.hint, "'steps'"));
}

TEST(marks_are_equal_but_for_their_numbers)
{
    assert_true(planned_same_mark("step 9 of 10", "step 10 of 1"));
    assert_true(planned_same_mark("ProfilerStep#1", "ProfilerStep#22"));
    assert_false(planned_same_mark("step", "step 1"));
    assert_false(planned_same_mark("a1b", "a1c"));
    assert_true(tp_planned_mark_order("a", "b") < 0 && tp_planned_mark_order("b", "a") > 0);
}

/* ---- memory that runs out ---- */

REPLAYS(without_memory_for_the_pool_requests_deviate, open_with(EIGHT, "capacity=24MiB"),
        "a=1M planned=0 unplanned=1 reserved=2M")

REPLAYS(the_pool_goes_back_when_memory_is_short, open_with(SIMPLE, "capacity=32MiB"),
        "a=4M b=2M -a reserved=6M 30M! -b 30M puts=1 reserved=30M")

REPLAYS(the_pool_goes_back_with_the_cache, open_plan(SIMPLE),
        "a=4M b=2M -a trim reserved=6M -b trim:8M reserved=6M trim reserved=0 c=4M reserved=6M")

/* ---- bounded work ---- */

/* Every request is looked for all around. */
TEST_OPENED(a_request_that_deviates_takes_few_steps, open_plan(EIGHT))
{
    for (int i = 0; i < 100; i++) {
        steps = 0;
        get(r, 0, 4 * MIB + 512);
        get(r, 0, 5 * MIB + 512);
        assert_true(steps < 2 * (TP_PLANNED_REACH + 100));
    }
    assert_int_equal(r->account.planned, 0);
}

/* ---- files ---- */

static void expect_refused(const char *text, const char *error)
{
    struct rig *r = open_device(&tp_strategy_planned, "", NULL);
    struct planned_plan plan;
    struct tp_err err = {0};
    uint64_t before = r->account.metadata;
    int rc = tp_planned_parse(&r->env, text, strlen(text), "file", &plan, &err);
    if (rc != TP_EINPUT || strcmp(err.text, error) != 0)
        fail_msg("%d: %s, not %s", rc, err.text, error);
    assert_int_equal(r->account.metadata, before);
    rig_end(r);
}

#define HEAD  "tapool plan 1\n"
#define START HEAD "stream 0 4096\nrequests 2\n"

TEST(errors_have_file_and_line)
{
    static const char *const cases[][2] = {
        {"", "file:1: not a plan: the first line is not 'tapool plan 1'"},
        {"tapool plan 2\n", "file:1: not a plan: the first line is not 'tapool plan 1'"},
        {HEAD, "file:1: the file ends before the last request"},
        {HEAD "\n# c\nsteps 1\n", "file:4: not 'mark', 'stream' or 'requests'"},
        {HEAD "mark \n", "file:2: the name of a mark has 1 to 255 bytes"},
        {HEAD "mark a\nmark b\n", "file:3: a second mark"},
        {HEAD "stream 0\n", "file:2: not 'stream NUMBER BYTES'"},
        {HEAD "stream 0 4096 \n", "file:2: not 'stream NUMBER BYTES'"},
        {HEAD "stream 65535 512\n", "file:2: there is no such stream"},
        {HEAD "stream 0 513\n",
         "file:2: the bytes of a stream are a multiple of 512, those of all at most 1 PiB"},
        {HEAD "stream 0 1125899906842624\nstream 1 512\n",
         "file:3: the bytes of a stream are a multiple of 512, those of all at most 1 PiB"},
        {HEAD "stream 0 512\nstream 0 512\n", "file:3: a stream has two lines"},
        {HEAD "requests 0\n", "file:2: not 'requests N', with N from 1 to 1,048,576"},
        {HEAD "requests 99999999999999999999\n",
         "file:2: not 'requests N', with N from 1 to 1,048,576"},
        {START "0 512 1 2\n", "file:4: not 'STREAM SIZE ALIGN UNTIL OFFSET'"},
        {START "0 512 1 2 0 0\n", "file:4: not 'STREAM SIZE ALIGN UNTIL OFFSET'"},
        {START "0 -5 1 2 0\n", "file:4: not 'STREAM SIZE ALIGN UNTIL OFFSET'"},
        {START "0 0 1 2 0\n", "file:4: no such stream, size or alignment"},
        {START "0 512 3 2 0\n", "file:4: no such stream, size or alignment"},
        {START "0 512 1 2 -\n", "file:4: it has an end and no place, or a place and no end"},
        {START "0 512 1 0 0\n", "file:4: there is no such request before which it is freed"},
        {START "0 512 1 4 0\n", "file:4: there is no such request before which it is freed"},
        {START "1 512 1 2 0\n", "file:4: it does not fit into the part of its stream"},
        {START "0 513 1 2 3584\n", "file:4: it does not fit into the part of its stream"},
        {START "0 512 1 2 256\n", "file:4: its place is not aligned"},
        {START "0 512 4096 2 512\n", "file:4: its place is not aligned"},
        {START "0 512 1 2 0\n", "file:4: the file ends before the last request"},
        {START "0 512 1 3 0\n0 512 1 3 0\n0 512 1 3 0\n",
         "file:6: a request more than the plan says it has"},
        {START "0 600 1 3 0\n0 512 1 3 512\n",
         "file:5: its place overlaps that of another request"},
        {START "0 600 1 2 0\n0 512 1 2 512\n",
         "file:4: its place overlaps that of another request"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i][0], cases[i][1]);
}

TEST(comments_empty_lines_and_line_ends_of_windows_are_read)
{
    struct rig *r = open_device(&tp_strategy_planned, "", NULL);
    struct planned_plan plan;
    struct tp_err err = {0};
    static const char text[] = "tapool plan 1\r\n# made by hand\r\nmark a b\r\nstream 3 1024\r\n"
                               "requests 2\r\n\r\n3 600 256 2 0\r\n#\n3 1 1 - -";
    assert_int_equal(tp_planned_parse(&r->env, text, sizeof text - 1, "file", &plan, &err), TP_OK);
    assert_string_equal(plan.mark, "a b");
    assert_int_equal(plan.count, 2);
    assert_int_equal(plan.pool, 1024);
    assert_fields(plan.rows[0], size, 600, align, 256, offset, 0, until, 1);
    assert_int_equal(plan.rows[1].offset, TP_PLAN_KEPT);
    tp_planned_release(&r->env, &plan);
    rig_end(r);
}

TEST(a_file_that_cannot_be_read_is_named)
{
    struct rig *r = open_device(&tp_strategy_planned, "", NULL);
    struct planned_plan plan;
    struct tp_err err = {0};
    assert_int_equal(tp_planned_read(&r->env, "/nonexistent", &plan, &err), TP_EINPUT);
    assert_string_equal(err.text, "/nonexistent: No such file or directory");
    assert_int_equal(tp_planned_read(&r->env, "/", &plan, &err), TP_EINPUT);
    assert_string_equal(err.text, "/: a plan is a file of at most 64 MiB");
    rig_end(r);
}
