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

#define HOST_REPLAYED "note 0 4096 a3 @1; note 0 8 a9 @1; alloc 0 3000 a4 @2; "

/* record_cuda=False: there is no event of a GPU. */
#define HOST_ALONE(form)                                                                           \
    REPLAYS(form, HOST_REPLAYED, .kind = "host", .taken = "host (pinned)", .nothing = NOT_SAID,    \
            .recorder = "PyTorch (pinned)", .left_out = NOT_SAID)
static const struct importer_row host_events_alone_are_the_trace[] = {
    HOST_ALONE("} (" TRACES(TRACE("")) HOST_TRACES(HOST_ONE) " u ."),
    HOST_ALONE("} (" SEGMENTS("") HOST_TRACES(TRACE(HOST_ONE)) " u ."), /* lists of events */
    HOST_ALONE("} (" HOST_TRACES(HOST_ONE) " u ."),
};

/* The one with the most bytes is not chosen where there are GPUs. */
static const char both[] = "} (" TRACES(GPU_TRACE) HOST_TRACES(HOST_ONE) " u .";
static const struct importer_row the_gpu_is_taken_unless_another_space_is_asked_for[] = {
    READS(both, .kind = "device", .taken = "GPU", .left_out = "host (pinned) (2 events, 2.93 KiB)",
          .facts = "spaces=2 "),
    REPLAYS(both, "alloc 0 9 a8 @1; "),
    REPLAYS(both, HOST_REPLAYED, .space = "host (pinned)"),
    REPLAYS(both, "alloc 0 9 a8 @1; ", .space = "GPU"),
    REPLAYS(both,
            "alloc 0 9 a8 @1; note 0 4096 a3 s1 d1 @2; note 0 8 a9 s1 d1 @2; "
            "alloc 1 3000 a8 s1 d1 @3; ",
            .space = "all"),
};

/* Without such memory a file is what it was: one space, without a name. */
static const struct importer_row a_file_without_it_has_one_space[] = {
    READS("} (" TRACES(GPU_TRACE) HOST_SEGMENTS("") HOST_TRACES("") " u .", .taken = NOT_SAID),
    REFUSED("} (" TRACES(GPU_TRACE) " u .", "x: no memory space is called 'host (pinned)'",
            .space = "host (pinned)"),
};

static const struct importer_row segments_of_the_host_name_no_device_that_counts[] = {
    READS("} (" HOST_SEGMENTS(
              SEGMENT(-1, 4096, 4096, "large", BLOCK(4096, 4096, 3000, "active_allocated"))
                  SEGMENT(7, 16384, 8192, "large", BLOCK(16384, 8192, 0, "inactive")))
              HOST_TRACES(HOST_ONE) " u .",
          .facts =
              "recorded_devices=1 number=0 end_segments=2 end_reserved=12288 start_reserved=8192 "),
};

/* torch._C._host_emptyCache() gives all free blocks back; a block that is too large for the cache
 * goes back alone, right after its free. */
#define GIVEN(addr) EVENT("segment_free", addr, 4096, 9)
static const struct importer_row emptying_is_told_from_a_block_that_is_not_kept[] = {
    REPLAYS("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(4096) EVENT("alloc", 8192, 9, 9)) " u .",
            "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; note 0 4096 a4 +8000 @3; "
            "note 0 8 a9 @3; alloc 0 9 a4 @4; "),
    REPLAYS("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(4096) GIVEN(16384)) " u .",
            "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; trim 0 0 +8000 @2; "
            "note 0 4096 a4 @3; note 0 8 a9 @3; note 0 4096 a4 @4; note 0 32 a9 @4; "),
    REPLAYS("} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(16384)) " u .",
            "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; trim 0 0 +8000 @2; "
            "note 0 4096 a4 @3; note 0 32 a9 @3; "),
    /* no memory is freed in order to try again */
    REPLAYS(
        "} (" HOST_TRACES(FREED(4096, 9, 1) GIVEN(4096) GIVEN(16384) PINNED(32768, 9, 9)) " u .",
        "alloc 0 9 a4 @0; note 0 9 a7 @1; free 0 9 a4 @2; trim 0 0 +8000 @2; "
        "note 0 4096 a4 @3; note 0 8 a9 @3; note 0 4096 a4 @4; note 0 32 a9 @4; "
        "note 0 4096 a3 @5; note 0 64 a9 @5; alloc 0 9 a4 @6; "),
    /* of a GPU the same is an empty_cache() */
    REPLAYS("} (" TRACES(TRACE(FREED(4096, 9, 1) GIVEN(4096))) " u .",
            "alloc 0 9 a8 @0; note 0 9 a7 @1; free 0 9 a8 @2; trim 0 0 +8000 @2; "
            "note 0 4096 a4 @3; note 0 8 a9 @3; "),
};

/* Which kind of event frees is found for each of the two. */
static const char each[] = "} (" TRACES(TRACE(EVENT("alloc", 512, 9, 1) FREED(512, 9, 2)))
    HOST_TRACES(EVENT("alloc", 4096, 9, 1) EVENT("free_requested", 4096, 9, 2)) " u .";
static const struct importer_row frees_of_the_host_may_be_of_another_kind[] = {
    REPLAYS(each, "alloc 0 9 a8 @1; note 0 9 a7 +1000 @2; free 0 9 a8 @3; ", .space = "GPU"),
    REPLAYS(each, "alloc 0 9 a4 @1; free 0 9 a4 +1000 @2; ", .space = "host (pinned)"),
};

static const struct importer_row what_is_wrong_with_the_host_says_so[] = {
    REFUSED("} (" HOST_TRACES(" } ( 'action' 'alloc' 'size' 1 u") " u .",
            "x: byte 19: event 1 of host (pinned) has no 'addr'"),
    REFUSED("} (" HOST_SEGMENTS(" } ( 'address' 4096 u") " u .",
            "x: byte 21: a segment has no 'total_size'"),
    REFUSED("} ( 'host_traces' 3 u .",
            "x: byte 17: 'host_traces' of the snapshot is a number, not a list"),
    REFUSED("} (" HOST_TRACES(HOST_ONE) " u .", "x: device 0 has no events", .device = 0 + 1,
            .hint = "events are of host (pinned)"),
    READS("} (" TRACES(TRACE("")) HOST_TRACES(HOST_ONE) " u .", .space = "GPU",
          .nothing = "the memory space 'GPU' has none",
          .nothing_hint = "there are events in: host (pinned)"),
};

/* ---- without events ---- */

#define FRAMED(addr)                                                                               \
    " } ( 'address' " #addr " 'size' 512 'requested_size' 9 'state' 'active_allocated' "           \
    "'frames' ] ( } ( 'filename' 'a.py' 'line' 1 'name' 'f' u e u"
#define ONE_SEGMENT(block) SEGMENT(0, 4096, 512, "small", block)
#define PLAIN              BLOCK(4096, 512, 9, "active_allocated")

static const struct importer_row why_there_are_no_events_is_told_apart[] = {
    READS("} (" SEGMENTS(ONE_SEGMENT(PLAIN)) TRACES(TRACE("")) " u .",
          .nothing = "PyTorch was not recording when this snapshot was dumped"),
    READS("} (" SEGMENTS(ONE_SEGMENT(PLAIN)) " u .",
          .nothing = /* older than events */
          "PyTorch was not recording when this snapshot was dumped"),
    READS("} (" SEGMENTS("") TRACES("") " u .",
          .nothing = /* a machine without a GPU */
          "PyTorch was not recording when this snapshot was dumped"),
    READS("} (" SEGMENTS(ONE_SEGMENT(PLAIN)) " 'device_traces' ] u .",
          .nothing = "they were left out of the snapshot (include_traces=False)"),
    READS("} (" SEGMENTS(ONE_SEGMENT(FRAMED(4096))) TRACES(TRACE("")) " u .",
          .nothing = "PyTorch was recording (blocks have stack frames) with enabled=\"state\", or "
                     "was stopped "
                     "before the dump, or they were left out (include_traces=False)"),
    READS("} (" SEGMENTS(ONE_SEGMENT(PLAIN) SEGMENT(0, 8192, 512, "small",
                                                    BLOCK(8192, 512, 9, "active_allocated")))
              TRACES(TRACE("")) " u .",
          .nothing = "PyTorch was not recording when this snapshot was dumped"),
    READS("] (" ONE_SEGMENT(PLAIN) " e .",
          .nothing = "torch.cuda.memory_snapshot() gives segments, without events"),
};

static const struct importer_row a_list_of_other_things_is_no_snapshot[] = {
    REFUSED("] ( 1 2 e .", "x: byte 9: an item of 'segments' is a number"),
    REFUSED("] .", "x: a pickle, but not of a memory snapshot"),
    REFUSED("] ( } ( 'weights' 3 u e .", "x: byte 4: a segment has no 'total_size'"),
};

TESTS(ROWS(pytorch, host_events_alone_are_the_trace),
      ROWS(pytorch, the_gpu_is_taken_unless_another_space_is_asked_for),
      ROWS(pytorch, a_file_without_it_has_one_space),
      ROWS(pytorch, segments_of_the_host_name_no_device_that_counts),
      ROWS(pytorch, emptying_is_told_from_a_block_that_is_not_kept),
      ROWS(pytorch, frees_of_the_host_may_be_of_another_kind),
      ROWS(pytorch, what_is_wrong_with_the_host_says_so),
      ROWS(pytorch, why_there_are_no_events_is_told_apart),
      ROWS(pytorch, a_list_of_other_things_is_no_snapshot))
