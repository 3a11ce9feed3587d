/* PyTorch snapshots made by hand: what becomes of events, blocks, devices and annotations, and what
 * is refused. Pickles are written as text (pickle_text.h), programs compared as text. */
#include "tests/unit/pytorch_text.h"

/* ---- events ---- */

static const struct importer_row events[] = {
    REPLAYS(
        "} (" TRACES(TRACE(
            EVENT("segment_alloc", 4096, 2097152, 1000) EVENT("alloc", 4096, 700, 1002)
                EVENT("free_requested", 4096, 700, 1010) EVENT("free_completed", 4096, 700, 1011)
                    EVENT("segment_free", 4096, 2097152, 1020))) " u .",
        "note 0 2097152 a3 @1; note 0 8 a9 @1; alloc 0 700 a8 +2000 @2; note 0 700 a7 +8000 @3; "
        "free 0 700 a8 +1000 @4; trim 0 0 +9000 @4; note 0 2097152 a4 @5; note 0 8 a9 @5; "),
    REPLAYS(
        "} (" TRACES(
            TRACE(EVENT("segment_map", 4096, 512, 1) EVENT("segment_unmap", 4096, 512, 1) EVENT(
                "snapshot", 0, 77,
                1) " } ( 'action' 'oom' 'device_free' 99 'size' 1024 'stream' 0 u" EVENT("another",
                                                                                         1, 2, 3)
                      EVENT("alloc", 512, 1, 3))) " u .",
        "note 0 512 a5 @1; note 0 8 a9 @1; trim 0 0 @1; note 0 512 a6 @2; note 0 8 a9 @2; "
        "note 0 77 a8 @3; note 0 1024 a1 @4; note 0 99 a2 @4; alloc 0 1024 a8 @4; free 0 1024 a8 "
        "@4; alloc 0 1 a8 +2000 @6; "),
};

/* Segments that go back between requests went back because the program asked for it, those before a
 * new segment or an out of memory because memory was short. */
#define GIVEN(addr) EVENT("segment_free", addr, 512, 1)
#define GOT(addr)   EVENT("segment_alloc", addr, 512, 1)
static const struct importer_row empty_cache[] = {
    REPLAYS("} (" TRACES(TRACE(GIVEN(512) GIVEN(1024) EVENT("alloc", 4096, 9, 1) GIVEN(2048)
                                   EVENT("free_completed", 4096, 9, 1))) " u .",
            "trim 0 0 @1; note 0 512 a4 @1; note 0 1 a9 @1; note 0 512 a4 @2; note 0 2 a9 @2; "
            "alloc 0 9 a8 @3; trim 0 0 @3; note 0 512 a4 @4; note 0 4 a9 @4; free 0 9 a8 @5; "),
    REPLAYS("} (" TRACES(TRACE(GIVEN(512) GIVEN(1024) GOT(2048) EVENT("alloc", 2048, 9, 1)
                                   GIVEN(4096))) " u .",
            "note 0 512 a4 @1; note 0 1 a9 @1; note 0 512 a4 @2; note 0 2 a9 @2; note 0 512 a3 @3; "
            "note 0 4 a9 @3; alloc 0 9 a8 @4; trim 0 0 @4; note 0 512 a4 @5; note 0 8 a9 @5; "),
    REPLAYS("} (" TRACES(TRACE(
                GIVEN(512) " } ( 'action' 'oom' 'device_free' 1 'size' 2 'stream' 0 u")) " u .",
            "note 0 512 a4 @1; note 0 1 a9 @1; note 0 2 a1 @2; note 0 1 a2 @2; alloc 0 2 a8 @2; "
            "free 0 2 a8 @2; "),
    /* as much was reserved at another time, so that nothing was short */
    REPLAYS("} (" TRACES(TRACE(GOT(512) GOT(1024) GOT(2048) GIVEN(512) EVENT("alloc", 1024, 9, 1)
                                   GIVEN(2048) GOT(4096))) " u .",
            "note 0 512 a3 @1; note 0 1 a9 @1; note 0 512 a3 @2; note 0 2 a9 @2; note 0 512 a3 @3; "
            "note 0 4 a9 @3; trim 0 0 @3; note 0 512 a4 @4; note 0 1 a9 @4; alloc 0 9 a8 @5; "
            "trim 0 0 @5; note 0 512 a4 @6; note 0 4 a9 @6; note 0 512 a3 @7; note 0 8 a9 @7; "),
    /* each device for itself */
    REPLAYS("} (" TRACES(TRACE(EVENT("alloc", 512, 9, 1) GIVEN(1024))
                             TRACE(EVENT("segment_free", 512, 512, 2) GOT(512))) " u .",
            "alloc 0 9 a8 @1; trim 0 0 @1; note 0 512 a4 @2; note 0 2 a9 @2; "
            "note 0 512 a4 s1 d1 +1000 @3; note 0 1 a9 s1 d1 @3; note 0 512 a3 s1 d1 @4; "
            "note 0 1 a9 s1 d1 @4; time_backwards=1 "),
};

/* What is not in the recording, and what is in none of it. */
static const struct importer_row dirty_events[] = {
    REPLAYS(
        "} (" TRACES(TRACE(EVENT("alloc", 512, 8, 5) EVENT("alloc", 512, 9, 4) EVENT(
            "free_completed", 512, 9, 6) EVENT("free_completed", 512, 9, 7))) " u .",
        "alloc 0 8 a8 @1; free 0 8 a8 @2; alloc 0 9 a8 @2; free 0 9 a8 +1000 @3; unknown_free=1 "
        "double_alloc=1 "),
    REPLAYS("} (" TRACES(TRACE(EVENT("alloc", 512, 0, 5) EVENT("alloc", 1024, 9, 6))) " u .",
            "alloc 0 9 a8 +1000 @2; zero_size=1 "),
    READS("} (" TRACES(TRACE(EVENT("alloc", 512, 8, 0)
                                 EVENT("free_completed", 512, 8, 9223372036854775807))) " u .",
          .error_part = "more than 104 days after the start"),
    READS("} (" TRACES(
              TRACE(EVENT("odd", 1, 1, 1) EVENT("odd", 1, 1, 1) EVENT("alloc", 513, 1, 1))) " u .",
          .remarks = "Blocks lie at addresses that are no multiples of 512 bytes: PyTorch's "
                     "allocator did not place them.\n"
                     "2 events are of a kind that is not known ('odd'): left out."),
};

/* A request that no machine could meet is no reason to refuse what else was recorded. */
static const struct importer_row request_too_large[] = {
    REPLAYS(
        "} (" TRACES(TRACE(EVENT("alloc", 512, 8, 5) " } ( 'action' 'oom' 'device_free' 99 'size' "
                                                     "281474976710657 'stream' 0 u" EVENT(
                                                         "alloc", 1024, 9, 6))) " u .",
        "alloc 0 8 a8 @1; alloc 1 9 a8 +1000 @3; ",
        .remarks = "Failed requests of more than 2^48 bytes are left out: 1."),
};

/* free_completed may have been left out of the recording. */
static const struct importer_row skip_actions[] = {
    REPLAYS("} (" TRACES(TRACE(EVENT("alloc", 512, 8, 5) EVENT("free_requested", 512, 8, 6) EVENT(
                "free_requested", 1024, 9, 7) EVENT("alloc", 512, 7, 8))) " u .",
            "alloc 0 9 a8 @0; alloc 1 8 a8 @1; free 1 8 a8 +1000 @2; "
            "free 0 9 a8 +1000 @3; alloc 0 7 a8 +1000 @4; ",
            .remarks_part = "There are no free_completed events (skip_actions)"),
};

/* ---- initial heap ---- */

static const struct importer_row initial[] = {
    /* 1024 is freed, allocated again and live at the end; 4096 is only in the state; 512 is new;
       2048 comes and goes */
    REPLAYS("} (" SEGMENTS(SEGMENT(
                0, 512, 8192, "small",
                BLOCK(512, 512, 10, "active_allocated") BLOCK(1024, 512, 11, "active_allocated")
                    BLOCK(1536, 2560, 0, "inactive") BLOCK(4096, 512, 0, "active_pending_free")
                        BLOCK(4608, 512, 12, "active_awaiting_free")))
                TRACES(TRACE(EVENT("alloc", 512, 10, 1) EVENT("free_requested", 1024, 99, 1)
                                 EVENT("free_completed", 1024, 99, 1) EVENT("alloc", 1024, 11, 1)
                                     EVENT("alloc", 2048, 5, 1) EVENT("free_completed", 2048, 5, 1)
                                         EVENT("free_requested", 4096, 512, 1))) " u .",
            "alloc 0 99 a8 @0; alloc 1 512 a8 @0; alloc 2 12 a8 @0; alloc 3 10 a8 @1; "
            "note 0 99 a7 @2; free 0 99 a8 @3; alloc 0 11 a8 @4; alloc 4 5 a8 @5; "
            "free 4 5 a8 @6; note 1 512 a7 @7; "),
    /* freed in the recording and live at the end: allocated after it was stopped */
    REPLAYS(
        "} (" SEGMENTS(SEGMENT(0, 512, 512, "small", BLOCK(512, 512, 10, "active_allocated")))
            TRACES(TRACE(EVENT("alloc", 512, 10, 1) EVENT("free_completed", 512, 10, 1))) " u .",
        "alloc 0 10 a8 @1; free 0 10 a8 @2; "),
};

/* Blocks of old snapshots say no address: they lie one after the other. */
static const struct importer_row old_blocks[] = {
    REPLAYS("} ( 'segments' ] } ( 'device' 0 'blocks' ] ("
            " } ( 'size' 512 'state' 'active_allocated' u"
            " } ( 'size' 1024 'state' 'inactive' u"
            " } ( 'size' 512 'requested_size' 100 'state' 'active_allocated' u e"
            " 'total_size' 2048 'stream' 7 'address' 8192 'segment_type' 'large' u a" TRACES(
                TRACE(EVENT("free_completed", 9728, 100, 3))) " u .",
            "alloc 0 512 a8 s1 @0; alloc 1 100 a8 @0; free 1 100 a8 @1; "),
};

/* ---- devices, streams, time ---- */

static const char two[] = "} (" SEGMENTS(
    SEGMENT(3, 512, 1024, "small", BLOCK(512, 1024, 4, "active_allocated"))
        SEGMENT(1, 512, 512, "small", BLOCK(512, 512, 3, "active_allocated")))
    TRACES(" ]" TRACE(EVENT("alloc", 1024, 10, 5) EVENT("free_completed", 1024, 10, 9)) " ]" TRACE(
        EVENT("alloc", 1024, 20, 4) EVENT("alloc", 2048, 30, 5)
            EVENT("free_completed", 1024, 20, 8)) TRACE(EVENT("snapshot", 0, 1, 1))) " u .";
static const struct importer_row devices[] = {
    REPLAYS(two, "alloc 0 3 a8 @0; alloc 1 4 a8 s1 d1 @0; alloc 2 20 a8 s1 d1 @1; "
                 "alloc 3 10 a8 +1000 @2; alloc 4 30 a8 s1 d1 @3; free 2 20 a8 s1 d1 +3000 @4; "
                 "free 3 10 a8 +1000 @5; "),
    REPLAYS(two,
            "alloc 0 4 a8 @0; alloc 1 20 a8 @1; alloc 2 30 a8 +1000 @2; "
            "free 1 20 a8 +3000 @3; ",
            .device = 3 + 1, .left_out = "device 1 (2 events)",
            .facts = "recorded_devices=1 number=3 end_reserved=1024 "),
    REFUSED(two, "x: device 4 has no events", .device = 4 + 1,
            .hint = "events are of the devices 1, 3"),
    REFUSED(two, "x: no memory space is called 'CPU'", .space = "CPU"),
};

static const struct importer_row streams[] = {
    REPLAYS(
        "} (" TRACES(TRACE(
            " } ( 'action' 'alloc' 'addr' 512 'size' 1 'stream' 94123456789012 u"
            " } ( 'action' 'alloc' 'addr' 1024 'size' 2 'stream' 0 u"
            " } ( 'action' 'alloc' 'addr' 2048 'size' 3 'stream' -1 u"
            " } ( 'action' 'free_completed' 'addr' 512 'size' 1 'stream' 94123456789012 u")) " u .",
        "alloc 0 1 a8 @1; alloc 1 2 a8 s1 @2; alloc 2 3 a8 s2 @3; free 0 1 a8 @4; "),
    /* a stream of device 0 that is stream 0 of device 1 where both are mixed to one number */
    REPLAYS("} (" TRACES(
                TRACE(" } ( 'action' 'alloc' 'addr' 512 'size' 1 'stream' -7566974289495359887 u")
                    TRACE(" } ( 'action' 'alloc' 'addr' 1024 'size' 2 'stream' 0 u")) " u .",
            "alloc 0 1 a8 @1; alloc 1 2 a8 s1 d1 @2; "),
};

static const char annotated[] = "} (" TRACES(
    TRACE(EVENT("alloc", 512, 1, 100) EVENT("alloc", 1024, 2, 110) EVENT("alloc", 1536, 3, 120)
              EVENT("alloc", 2048, 4, 130))) " 'external_annotations' ] (" MARK("START", "b", 105)
    MARK("START", "a", 90) MARK("END", "b", 115) MARK("START", "c", 121) MARK("END", "c", 122)
        MARK("END", "never", 123) MARK("END", "a", 125) MARK("START", "z", 131) " e u .";
static const struct importer_row annotations[] = {
    /* "a" before the first event; c began and ended between two events: nothing is in it */
    REPLAYS(annotated, "mark 0 0 @1; alloc 0 1 a8 @1; mark 1 0 +5000 @1; alloc 1 2 a8 +5000 @2; "
                       "mark 0 0 +5000 @2; alloc 2 3 a8 +5000 @3; mark 2 0 +5000 @3; "
                       "alloc 3 4 a8 +5000 @4; "),
    READS(annotated, .facts = "events=4 ", .marks = "a|b|(none)|"),
};

/* ---- what is known beside events ---- */

static const struct importer_row recorded[] = {
    /* 3,148 are 6,144 - 4,096 + 1,000 - 200 + 300 */
    READS("} (" SEGMENTS(
              SEGMENT(0, 4096, 2048, "small",
                      BLOCK(4096, 512, 1, "active_allocated") BLOCK(4608, 512, 1, "inactive")
                          BLOCK(5120, 512, 1, "active_allocated") BLOCK(5632, 512, 1, "inactive"))
                  SEGMENT(0, 8192, 4096, "large", BLOCK(8192, 4096, 1, "inactive")))
              TRACES(TRACE(EVENT("segment_alloc", 8192, 4096, 1) EVENT("segment_free", 99, 1000, 1)
                               EVENT("segment_map", 99, 200, 1) EVENT("segment_unmap", 99, 300, 1)
                                   EVENT("alloc", 512, 1, 1))) " u .",
          .recorder = "PyTorch",
          .facts =
              "has_end=1 recorded_devices=1 end_reserved=6144 end_segments=2 end_large=1 "
              "end_small=1 end_free=5120 end_free_blocks=3 end_largest=4096 end_returnable=4096 "
              "start_reserved=3148 start_segments=2 "),
    READS("} (" TRACES(TRACE(EVENT("alloc", 512, 1, 1))) " u .", .recorder = NOT_SAID),
};

/* Two segments that touch, of which the second is idle. When most is needed, 512 and 1,000 bytes
 * are live in the first. */
#define TOUCHING(events)                                                                           \
    "} (" SEGMENTS(                                                                                \
        SEGMENT(0, 4096, 4096, "small",                                                            \
                BLOCK(4096, 512, 512, "active_allocated") BLOCK(4608, 3584, 1, "inactive"))        \
            SEGMENT(0, 8192, 4096, "large", BLOCK(8192, 4096, 1, "inactive")))                     \
        TRACES(TRACE(events)) " u ."
#define NOT_KNOWN "18446744073709551615"
#define PEAK(events, event, largest)                                                               \
    READS(events, .facts = "demand_event=" event " demand_largest=" largest " ")
static const struct importer_row largest_free_block[] = {
    PEAK(TOUCHING(EVENT("alloc", 4608, 1000, 1) EVENT("free_completed", 4608, 1000, 1)), "1",
         "4096"),
    /* it came later: what is left of the first is 2,560 */
    PEAK(TOUCHING(EVENT("alloc", 4608, 1000, 1) EVENT("free_completed", 4608, 1000, 1)
                      EVENT("segment_alloc", 8192, 4096, 1)),
         "1", "2560"),
    /* the peak is before the first event */
    PEAK(TOUCHING(EVENT("segment_free", 65536, 8192, 1)), "0", "8192"),
    /* a block in no segment; a segment that is gone without an event */
    PEAK(TOUCHING(EVENT("alloc", 65536, 1000, 1) EVENT("free_completed", 65536, 1000, 1)),
         NOT_KNOWN, NOT_KNOWN),
    PEAK(TOUCHING(EVENT("alloc", 4608, 1000, 1) EVENT("free_completed", 4608, 1000, 1)
                      EVENT("segment_alloc", 65536, 4096, 1)),
         NOT_KNOWN, NOT_KNOWN),
    READS("} (" TRACES(
              TRACE(EVENT("segment_alloc", 4096, 4096, 1) EVENT("alloc", 4096, 1, 1))) " u .",
          .facts = "demand_largest=" NOT_KNOWN " "), /* no end */
};

#define WITHOUT_EVENTS(pickle)                                                                     \
    READS(pickle, .facts = "events=0 recorded_devices=1 number=2 ", .kind = "device",              \
          .nothing = "PyTorch was not recording when this snapshot was dumped",                    \
          .nothing_hint = "call torch.cuda.memory._record_memory_history() first; 'tapool info' "  \
                          "shows the 1 segment")
static const struct importer_row no_events[] = {
    WITHOUT_EVENTS("} (" SEGMENTS(SEGMENT(
        2, 512, 512, "small", BLOCK(512, 512, 1, "inactive"))) " 'device_traces' ] ( ] ] ] e u ."),
    WITHOUT_EVENTS("} (" SEGMENTS(SEGMENT(2, 512, 512, "small", BLOCK(512, 512, 1, "inactive")))
                       TRACES(TRACE(EVENT("snapshot", 0, 5, 1))) " u ."),
    WITHOUT_EVENTS("} (" SEGMENTS(SEGMENT(2, 512, 512, "small", "")) " u ."),
};

#define SET(pairs, said)                                                                           \
    READS("} ( 'allocator_settings' } ( " pairs " u 'segments' ] u .", .settings = said,           \
          .capture = "PyTorch memory snapshot (pickle 4)",                                         \
          .unknown = "threads, alignment, GPU size")
static const struct importer_row settings[] = {
    SET("'PYTORCH_CUDA_ALLOC_CONF' '' 'expandable_segments' F",
        "PYTORCH_CUDA_ALLOC_CONF is empty: defaults, expandable_segments off"),
    SET("'expandable_segments' T 'PYTORCH_CUDA_ALLOC_CONF' ''",
        "PYTORCH_CUDA_ALLOC_CONF is empty: defaults, expandable_segments on"),
    SET("'PYTORCH_CUDA_ALLOC_CONF' 'expandable_segments:True' 'expandable_segments' T",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
    SET("'PYTORCH_ALLOC_CONF' 'max_split_size_mb:128'", "PYTORCH_ALLOC_CONF=max_split_size_mb:128"),
    SET("'max_split_size' -1 'roundup_power2_divisions' } ( '1' 0 '2' 0 u", NOT_SAID),
};

/* `last`: what follows the events. */
static void check_ring(int count, bool unseen, const char *event, const char *last, bool wrapped)
{
    static struct pickle_bytes bytes;
    make_pickle(&bytes, "} ( 'device_traces' ] ] (");
    for (int i = 0; i < count; i++)
        put_pickle(&bytes, i == 0 && unseen ? "} ( 'action' 'free_completed' 'addr' 512 'size' 1 u"
                                            : event);
    put_pickle(&bytes, last);
    struct reading r = read_bytes(&tp_format_pytorch, bytes.data, bytes.size, false);
    assert_fields(r, rc, TP_OK, meta.wrapped, wrapped);
    assert_int_equal(r.meta.remarks && strstr(r.meta.remarks, "ring buffer was full"), wrapped);
    forget(&r);
}

/* A ring buffer shows in a round number of events that begin with frees of what is not known. */
TEST(test_wrapped)
{
    static const struct {
        int count;
        bool unseen, wrapped;
    } cases[] = {{1000, true, true}, {1000, false, false}, {1001, true, false},
                 {1024, true, true}, {1500, true, false},  {500, true, false}};
#define ALLOCATED "} ( 'action' 'alloc' 'addr' 1024 'size' 1 u"
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_ring(cases[i].count, cases[i].unseen, "} ( 'action' 'snapshot' u",
                   ALLOCATED " e a u .", false); /* one event too many */
        check_ring(cases[i].count, cases[i].unseen, ALLOCATED, "e a u .", cases[i].wrapped);
    }
}

/* ---- refusals ---- */

#define ONE(members) "} (" TRACES(TRACE(" } ( " members " u")) " u ."

static const struct importer_row wrong_members[] = {
    REFUSED(ONE("'action' 'alloc' 'addr' 'text' 'size' 5"),
            "x: byte 46: 'addr' of an event is a text, not a whole number from 0 to 2^63-1"),
    REFUSED(ONE("'action' 'alloc' 'addr' ~1 'size' 5"),
            "x: byte 46: 'addr' of an event is a fraction, not a whole number from 0 to 2^63-1"),
    REFUSED(ONE("'action' 'alloc' 'addr' -1 'size' 5"),
            "x: byte 46: 'addr' of an event is a negative number, not a whole number from 0 to "
            "2^63-1"),
    REFUSED(ONE("'action' 'alloc' 'addr' $8a09ffffffffffffffff00 'size' 5"),
            "x: byte 46: 'addr' of an event is a number of more than 64 bits, not a whole "
            "number from 0 to 2^63-1"),
    REFUSED(ONE("'action' 'alloc' 'addr' 1 'size' N"),
            "x: byte 57: 'size' of an event is None, not a whole number from 0 to 2^63-1"),
    REFUSED(ONE("'action' 5"), "x: byte 33: 'action' of an event is a number, not a text"),
    REFUSED(ONE("'stream' ] 'action' 'alloc'"),
            "x: byte 33: 'stream' of an event is a list, not a whole number of 64 bits"),
    REFUSED(ONE("'addr' 5"), "x: byte 23: event 1 of device 0 has no 'action'"),
    REFUSED(ONE("'action' 'alloc' 'size' 5"), "x: byte 23: event 1 of device 0 has no 'addr'"),
    REFUSED(ONE("'action' 'free_completed' 'addr' 5"),
            "x: byte 23: event 1 of device 0 has no 'size'"),
    REFUSED(ONE("'action' 'alloc' 'addr' 5 'size' 281474976710657"),
            "x: byte 23: event 1 of device 0 has a size of more than 2^48 bytes"),
};

static const struct importer_row wrong_state[] = {
    REFUSED("} ( 'segments' ] ( } ( 'device' 0 'total_size' 5 u e u .",
            "x: byte 16: a segment has no 'address'"),
    REFUSED("} ( 'segments' ] ( } ( 'device' 0 'address' 5 u e u .",
            "x: byte 16: a segment has no 'total_size'"),
    REFUSED("} ( 'segments' ] ( } ( 'total_size' 5 'address' 5 u e u .",
            "x: byte 16: a segment has no 'device'"),
    REFUSED("} ( 'segments' ] ( } ( 'blocks' ] } ( 'size' 5 u a u e u .",
            "x: byte 27: a block has no 'state'"),
    REFUSED("} ( 'segments' ] ( } ( 'blocks' ] } ( 'size' 5 'state' 'odd' u a u e u .",
            "x: byte 27: the state of a block is none that is known"),
    REFUSED("} ( 'segments' ] ( } ( 'device' 256 'address' 0 'total_size' 5 u e u .",
            "x: byte 16: a segment of 5 bytes on device 256"),
    REFUSED("} ( 'segments' ] ( } ( 'blocks' ] ( } ( 'size' 9223372036854775807 'state' "
            "'inactive' u } ( 'size' 9223372036854775807 'state' 'inactive' u e u e u .",
            "x: byte 28: a block of 9223372036854775807 bytes"),
    REFUSED("} ( 'external_annotations' ] } ( 'stage' 'END' 'name' 'a' u a u .",
            "x: byte 27: an annotation has no 'time_us'"),
};

static const struct importer_row wrong_containers[] = {
    REFUSED("} ( 'segments' } u .", "x: byte 14: 'segments' of the snapshot is a dict, not a list"),
    REFUSED("} ( 'segments' 5 u .",
            "x: byte 14: 'segments' of the snapshot is a number, not a list"),
    REFUSED("} ( 'device_traces' ] ( } ( u e u .",
            "x: byte 21: an item of 'device_traces' is a dict"),
    REFUSED("} ( 'device_traces' ] ( ] ( 5 e e u .",
            "x: byte 23: an item of the events of a device is a number"),
    REFUSED("} ( 'device_traces' ] ( ] ( } m ( 'action' 'alloc' 'addr' 1 'size' 2 u h0 e e u .",
            "x: byte 64: an item of the events of a device refers back to a dict that was "
            "there before"),
    REFUSED("} ( 'segments' ] 'segments' ] u .", "x: byte 25: 'segments' is there twice"),
    REFUSED("} ( 'segments' ] m ( } ( 'device' 0 'address' 0 'total_size' 1 u e 'segments' h0 "
            "u .",
            "x: byte 75: 'segments' of the snapshot refers back to a list that was "
            "there before"),
    REFUSED("} ( 'segments' ] ( } ( 'blocks' ] 'blocks' ] u e u .",
            "x: byte 35: 'blocks' is there twice"),
    REFUSED("} ( 'state_dict' } u .", "x: a pickle, but not of a memory snapshot"),
    REFUSED("] .", "x: a pickle, but not of a memory snapshot"),
};

/* More blocks and addresses than fit into the memory that is allowed. */
TEST(test_memory)
{
    static char pickle[1 << 16];
    static struct pickle_bytes bytes;
    make_pickle(&bytes, "} ( 'device_traces' ] ] (");
    for (int i = 0; i < 1000; i++) {
        snprintf(pickle, sizeof pickle, "} ( 'action' 'alloc' 'addr' %d 'size' 1 u", 512 * i);
        put_pickle(&bytes, pickle);
    }
    put_pickle(&bytes, "e a u .");
    const struct importer as_it_is = {.format = &tp_format_pytorch, .input = "x"};
    check_row(&as_it_is, &(struct importer_row){
                             .text = bytes.data,
                             .size = bytes.size,
                             .max_memory = 24576,
                             .error = "x: more addresses than the memory for reading holds"});
}

TEST(test_probe)
{
    static struct pickle_bytes bytes;
    make_pickle(&bytes, "} ( 'segments' ] } ( 'total_size' 5 u a u .");
    assert_int_equal(tp_format_pytorch.probe(bytes.data, bytes.size), 95);
    make_pickle(&bytes, "} ( 'device_traces' ] u .");
    assert_int_equal(tp_format_pytorch.probe(bytes.data, bytes.size), 95);
    make_pickle(&bytes, "} ( 'weights' ] u .");
    assert_int_equal(tp_format_pytorch.probe(bytes.data, bytes.size), 30);
    assert_int_equal(tp_format_pytorch.probe(bytes.data, 2), 0);
    assert_int_equal(tp_format_pytorch.probe((const unsigned char *)"{\"a\": 1}", 8), 0);
    assert_int_equal(tp_format_pytorch.probe((const unsigned char *)"\x80\x04\x00zz", 5), 0);
}

/* Segments keep their private pool: torch, which simulates none, does not begin with them. */
TEST(test_private_pools)
{
    struct reading r = read_pickle("} (" SEGMENTS(
        " } ( 'device' 0 'address' 4096 'total_size' 2097152 'stream' 0 'segment_type' "
        "'small' 'segment_pool_id' 3 1 %2 'is_expandable' F 'frames' ] 'blocks' ] ( e u" SEGMENT(
            0, 4194304, 2097152, "small", "")) TRACES(TRACE(EVENT("alloc", 4096, 512, 1))) " u .");
    assert_int_equal(r.rc, TP_OK);
    const struct tp_heap *h = tp_program_heap(r.program);
    assert_non_null(h);
    assert_fields(*h, segment_count, 2, segments[0].pool[0], 3, segments[0].pool[1], 1,
                  segments[1].pool[0], 0, segments[1].pool[1], 0);
    forget(&r);
}

/* Cut at every byte, and with each byte turned: never more than a sentence. */
TEST(test_damaged)
{
    static struct pickle_bytes bytes;
    make_pickle(
        &bytes,
        "} (" SEGMENTS(SEGMENT(0, 512, 1024, "small",
                               BLOCK(512, 512, 10, "active_allocated")
                                   BLOCK(1024, 512, 11, "inactive")))
            TRACES(TRACE(EVENT("alloc", 512, 10, 1) EVENT(
                "free_completed", 1024, 11,
                2))) " 'external_annotations' ] (" MARK("START", "b",
                                                        1) " e 'allocator_settings' }"
                                                           " 'PYTORCH_CUDA_ALLOC_CONF' 'x' s u .");
    for (size_t size = 1; size < bytes.size; size++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, bytes.data, size);
        struct reading r = read_bytes(&tp_format_pytorch, copy, size, false);
        assert_int_equal(r.rc, TP_EINPUT);
        assert_non_null(strstr(r.err.text, "the file ends before the pickle does"));
        free(copy);
    }
    for (size_t at = 2; at < bytes.size; at++) {
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            bytes.data[at] ^= (unsigned char)bit;
            struct reading r = read_bytes(&tp_format_pytorch, bytes.data, bytes.size, false);
            assert_true(r.rc == TP_OK || (r.rc == TP_EINPUT && r.err.text[0]));
            forget(&r);
            bytes.data[at] ^= (unsigned char)bit;
        }
    }
}

TESTS(ROWS(pytorch, events), ROWS(pytorch, empty_cache), ROWS(pytorch, dirty_events),
      ROWS(pytorch, skip_actions), ROWS(pytorch, initial), ROWS(pytorch, old_blocks),
      ROWS(pytorch, devices), ROWS(pytorch, streams), ROWS(pytorch, annotations),
      ROWS(pytorch, recorded), ROWS(pytorch, largest_free_block), ROWS(pytorch, request_too_large),
      ROWS(pytorch, no_events), ROWS(pytorch, settings), ROWS(pytorch, wrong_members),
      ROWS(pytorch, wrong_state), ROWS(pytorch, wrong_containers))
