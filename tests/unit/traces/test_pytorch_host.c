/* PyTorch snapshots made by hand with pinned memory of the host, and those without events. What is
 * public about host_segments and host_traces is in pytorch_snapshot.h: the members are those of
 * segments and events of a GPU. */
#include "tests/unit/pytorch_text.h"

#define HOST_TRACES(events)     " 'host_traces' ] (" events " e"
#define HOST_SEGMENTS(segments) " 'host_segments' ] (" segments " e"
#define PINNED(addr, size, time)                                                                   \
    EVENT("segment_alloc", addr, 4096, time) EVENT("alloc", addr, size, time)
#define FREED(addr, size, time)                                                                    \
    EVENT("free_requested", addr, size, time) EVENT("free_completed", addr, size, time)
#define GPU_TRACE TRACE(EVENT("alloc", 512, 9, 1))
#define HOST_ONE  PINNED(4096, 3000, 1)

static const char host_one[] = "note 0 4096 a3 @1; note 0 8 a9 @1; alloc 0 3000 a4 @2; ";

static struct reading read_space(const char *pickle, const char *space, int64_t device)
{
    return read_as(pickle, &(struct tp_read_opts){.device = device, .space = space});
}

static void expect_space(const char *pickle, const char *space, const char *expected)
{
    char program[1 << 12];
    struct reading r = read_space(pickle, space, -1);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", pickle, r.err.text);
    write_program(r.program, program, sizeof program);
    assert_string_equal(program, expected);
    forget(&r);
}

/* record_cuda=False: there is no event of a GPU. */
static void host_events_alone_are_the_trace(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "} (" TRACES(TRACE("")) HOST_TRACES(HOST_ONE) " u .",
        "} (" SEGMENTS("") HOST_TRACES(TRACE(HOST_ONE)) " u .", /* lists of events */
        "} (" HOST_TRACES(HOST_ONE) " u ."};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct reading r = read_pickle(forms[i]);
        char program[1 << 10];
        assert_int_equal(r.rc, TP_OK);
        write_program(r.program, program, sizeof program);
        assert_string_equal(program, host_one);
        assert_int_equal(tp_program_facts(r.program)->kind, TP_KIND_HOST);
        assert_string_equal(r.meta.space, "host (pinned)");
        assert_string_equal(r.recorded.by, "PyTorch (pinned)");
        assert_null(r.meta.nothing);
        assert_null(r.meta.left_out);
        forget(&r);
    }
}

/* The one with the most bytes is not chosen where there are GPUs. */
static void the_gpu_is_taken_unless_another_space_is_asked_for(void **state)
{
    (void)state;
    static const char both[] = "} (" TRACES(GPU_TRACE) HOST_TRACES(HOST_ONE) " u .";
    struct reading r = read_pickle(both);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(tp_program_facts(r.program)->kind, TP_KIND_DEVICE);
    assert_string_equal(r.meta.space, "GPU");
    assert_string_equal(r.meta.left_out, "host (pinned) (2 events, 2.93 KiB)");
    assert_int_equal(r.meta.spaces, 2);
    forget(&r);
    expect(both, "alloc 0 9 a8 @1; ");
    expect_space(both, "host (pinned)", host_one);
    expect_space(both, "GPU", "alloc 0 9 a8 @1; ");
    expect_space(both, "all",
                 "alloc 0 9 a8 @1; note 0 4096 a3 s1 d1 @2; note 0 8 a9 s1 d1 @2; "
                 "alloc 1 3000 a8 s1 d1 @3; ");
}

/* Without such memory a file is what it was: one space, without a name. */
static void a_file_without_it_has_one_space(void **state)
{
    (void)state;
    struct reading r =
        read_pickle("} (" TRACES(GPU_TRACE) HOST_SEGMENTS("") HOST_TRACES("") " u .");
    assert_int_equal(r.rc, TP_OK);
    assert_null(r.meta.space);
    forget(&r);
    r = read_space("} (" TRACES(GPU_TRACE) " u .", "host (pinned)", -1);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "x: no memory space is called 'host (pinned)'");
    forget(&r);
}

static void segments_of_the_host_name_no_device_that_counts(void **state)
{
    (void)state;
    struct reading r = read_pickle("} (" HOST_SEGMENTS(
        SEGMENT(-1, 4096, 4096, "large", BLOCK(4096, 4096, 3000, "active_allocated"))
            SEGMENT(7, 16384, 8192, "large", BLOCK(16384, 8192, 0, "inactive")))
                                       HOST_TRACES(HOST_ONE) " u .");
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.recorded.count, 1);
    assert_int_equal(r.recorded.devices[0].number, 0);
    assert_int_equal(r.recorded.devices[0].end_segments, 2);
    assert_int_equal(r.recorded.devices[0].end_reserved, 12288);
    assert_int_equal(r.recorded.devices[0].start_reserved, 8192);
    forget(&r);
}

/* torch._C._host_emptyCache() gives all free blocks back; a block that is too large for the cache
 * goes back alone, right after its free. */
static void emptying_is_told_from_a_block_that_is_not_kept(void **state)
{
    (void)state;
#define GIVEN(addr) EVENT("segment_free", addr, 4096, 9)
    expect("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(4096) EVENT("alloc", 8192, 9, 9)) " u .",
           "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; note 0 4096 a4 +8000 @3; "
           "note 0 8 a9 @3; alloc 0 9 a4 @4; ");
    expect("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(4096) GIVEN(16384)) " u .",
           "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; trim 0 0 +8000 @2; "
           "note 0 4096 a4 @3; note 0 8 a9 @3; note 0 4096 a4 @4; note 0 32 a9 @4; ");
    expect("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(16384)) " u .",
           "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; trim 0 0 +8000 @2; "
           "note 0 4096 a4 @3; note 0 32 a9 @3; ");
    /* no memory is freed in order to try again */
    expect("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(4096) GIVEN(16384) PINNED(32768, 9, 9)) " u .",
           "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; trim 0 0 +8000 @2; "
           "note 0 4096 a4 @3; note 0 8 a9 @3; note 0 4096 a4 @4; note 0 32 a9 @4; "
           "note 0 4096 a3 @5; note 0 64 a9 @5; alloc 0 9 a4 @6; ");
    /* of a GPU the same is an empty_cache() */
    expect("} (" TRACES(TRACE(FREED(4096, 9, 1) GIVEN(4096))) " u .",
           "alloc 0 9 a8 @0; note 0 9 a7 @1; free 0 9 a8 @2; trim 0 0 +8000 @2; "
           "note 0 4096 a4 @3; note 0 8 a9 @3; ");
#undef GIVEN
}

/* Which kind of event frees is found for each of the two. */
static void frees_of_the_host_may_be_of_another_kind(void **state)
{
    (void)state;
    static const char both[] = "} (" TRACES(TRACE(EVENT("alloc", 512, 9, 1) FREED(512, 9, 2)))
        HOST_TRACES(EVENT("alloc", 4096, 9, 1) EVENT("free_requested", 4096, 9, 2)) " u .";
    expect_space(both, "GPU", "alloc 0 9 a8 @1; note 0 9 a7 +1000 @2; free 0 9 a8 @3; ");
    expect_space(both, "host (pinned)", "alloc 0 9 a4 @1; free 0 9 a4 +1000 @2; ");
}

static void what_is_wrong_with_the_host_says_so(void **state)
{
    (void)state;
    expect_error("} (" HOST_TRACES(" } ( 'action' 'alloc' 'size' 1 u") " u .",
                 "x: byte 19: event 1 of host (pinned) has no 'addr'");
    expect_error("} (" HOST_SEGMENTS(" } ( 'address' 4096 u") " u .",
                 "x: byte 21: a segment has no 'total_size'");
    expect_error("} ( 'host_traces' 3 u .",
                 "x: byte 17: 'host_traces' of the snapshot is a number, not a list");
    struct reading r = read_space("} (" HOST_TRACES(HOST_ONE) " u .", NULL, 0);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "x: device 0 has no events");
    assert_string_equal(r.err.hint, "events are of host (pinned)");
    forget(&r);
    r = read_space("} (" TRACES(TRACE("")) HOST_TRACES(HOST_ONE) " u .", "GPU", -1);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.nothing, "the memory space 'GPU' has none");
    assert_string_equal(r.meta.nothing_hint, "there are events in: host (pinned)");
    forget(&r);
}

/* ---- without events ---- */

#define FRAMED(addr)                                                                               \
    " } ( 'address' " #addr " 'size' 512 'requested_size' 9 'state' 'active_allocated' "           \
    "'frames' ] ( } ( 'filename' 'a.py' 'line' 1 'name' 'f' u e u"
#define ONE_SEGMENT(block) SEGMENT(0, 4096, 512, "small", block)
#define PLAIN              BLOCK(4096, 512, 9, "active_allocated")

static void why_there_are_no_events_is_told_apart(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"} (" SEGMENTS(ONE_SEGMENT(PLAIN)) TRACES(TRACE("")) " u .",
         "PyTorch was not recording when this snapshot was dumped"},
        {"} (" SEGMENTS(ONE_SEGMENT(PLAIN)) " u .", /* older than events */
         "PyTorch was not recording when this snapshot was dumped"},
        {"} (" SEGMENTS("") TRACES("") " u .", /* a machine without a GPU */
         "PyTorch was not recording when this snapshot was dumped"},
        {"} (" SEGMENTS(ONE_SEGMENT(PLAIN)) " 'device_traces' ] u .",
         "they were left out of the snapshot (include_traces=False)"},
        {"} (" SEGMENTS(ONE_SEGMENT(FRAMED(4096))) TRACES(TRACE("")) " u .",
         "PyTorch was recording (blocks have stack frames) with enabled=\"state\", or was stopped "
         "before the dump, or they were left out (include_traces=False)"},
        {"} (" SEGMENTS(ONE_SEGMENT(PLAIN)
                            SEGMENT(0, 8192, 512, "small", BLOCK(8192, 512, 9, "active_allocated")))
             TRACES(TRACE("")) " u .",
         "PyTorch was not recording when this snapshot was dumped"},
        {"] (" ONE_SEGMENT(PLAIN) " e .",
         "torch.cuda.memory_snapshot() gives segments, without events"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_pickle(cases[i][0]);
        if (r.rc != TP_OK)
            fail_msg("%s: %s", cases[i][0], r.err.text);
        assert_string_equal(r.meta.nothing, cases[i][1]);
        forget(&r);
    }
}

static void a_list_of_other_things_is_no_snapshot(void **state)
{
    (void)state;
    expect_error("] ( 1 2 e .", "x: byte 9: an item of 'segments' is a number");
    expect_error("] .", "x: a pickle, but not of a memory snapshot");
    expect_error("] ( } ( 'weights' 3 u e .", "x: byte 4: a segment has no 'total_size'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_events_alone_are_the_trace),
        cmocka_unit_test(the_gpu_is_taken_unless_another_space_is_asked_for),
        cmocka_unit_test(a_file_without_it_has_one_space),
        cmocka_unit_test(segments_of_the_host_name_no_device_that_counts),
        cmocka_unit_test(emptying_is_told_from_a_block_that_is_not_kept),
        cmocka_unit_test(frees_of_the_host_may_be_of_another_kind),
        cmocka_unit_test(what_is_wrong_with_the_host_says_so),
        cmocka_unit_test(why_there_are_no_events_is_told_apart),
        cmocka_unit_test(a_list_of_other_things_is_no_snapshot),
    };
    return cmocka_run_group_tests_name("pytorch, pinned memory", tests, NULL, NULL);
}
