/* Android's memory_replay text: every call, calls without effect, and what is no line of it. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_memory_replay;

static const struct importer replay = {
    .format = &tp_format_memory_replay, .kind = "host", .unknown = "times"};

static const struct importer_row every_call[] = {
    REPLAYS("7: malloc 0x10 64\n7: calloc 0x20 4 16\n7: memalign 0x1000 4096 100\n"
            "8: realloc 0x30 0x10 128\n8: realloc 0x40 0x0 32\n7: free 0x20\n8: thread_done 0x0\n",
            "alloc 0 64 a4 @1; alloc 1 64 a4 @2; alloc 2 100 a12 @3; realloc 0 128 a4 t1 @4; "
            "alloc 3 32 a4 t1 @5; free 1 64 a4 @6; end 0 0 t1 @7; "),
};

/* An allocation at its end, a free at its beginning. */
static const struct importer_row times[] = {
    REPLAYS("7: malloc 0x10 64 1000 1100\n7: free 0x10 1300 1500\n7: malloc 0x10 65 1600 1650\n",
            "alloc 0 64 a4 @1; free 0 64 a4 +200 @2; alloc 0 65 a4 +350 @3; ", .unknown = NOT_SAID),
    REPLAYS("7: malloc 0x10 64 1000 1100\n7: free 0x10 1200 1210\n8: malloc 0x20 64 1000 1150\n",
            "alloc 0 64 a4 @1; free 0 64 a4 +100 @2; alloc 0 64 a4 t1 @3; time_backwards=1 ",
            .unknown = NOT_SAID),
};

static const struct importer_row refused_and_nothing[] = {
    REPLAYS("7: free 0x0\n7: malloc 0x0 64\n7: realloc 0x0 0x0 5\n7: malloc 0x10 8\n",
            "note 0 64 a1 @2; note 0 5 a1 @3; alloc 0 8 a4 @4; "),
    REPLAYS("7: malloc 0x10 8\n7: realloc 0x0 0x10 0\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; "),
    REPLAYS(
        "7: malloc 0x10 8\n7: realloc 0x0 0x10 90\n7: free 0x10\n", /* failed: the block stays */
        "alloc 0 8 a4 @1; note 0 90 a1 @2; free 0 8 a4 @3; "),
    REPLAYS("7: calloc 0x10 18446744073709551615 2\n7: malloc 0x20 1\n", "alloc 0 1 a4 @2; "),
};

static const struct importer_row dirty[] = {
    REPLAYS("7: malloc 0x10 0\n7: free 0x20\n", "alloc 0 1 a4 @1; unknown_free=1 zero_size=1 "),
    REPLAYS(
        "7: malloc 0x10 8\n7: malloc 0x20 9\n7: realloc 0x20 0x10 10\n",
        "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 1 9 a4 @3; realloc 0 10 a4 @3; double_alloc=1 "),
    REPLAYS("7: malloc 0x10 8\n7: mall", "alloc 0 8 a4 @1; truncated=1 "),
    REFUSED("7: malloc 0x10 8\n7: mallop 0x10\n",
            "x.json:2: event 2: '7: mallop 0x10' is not a memory_replay line", .strict = true),
    REFUSED("7: malloc 0x10 8 5\n",
            "x.json:1: event 1: '7: malloc 0x10 8 5' is not a memory_replay line", .strict = true),
    REPLAYS("7: malloc 0x10 8 500 600\n7: thread_done 0x0 900\n",
            "alloc 0 8 a4 @1; end 0 0 +300 @2; ", .unknown = NOT_SAID),
    REFUSED("7: thread_done 0x0 900 9 1\n",
            "x.json:1: event 1: '7: thread_done 0x0 900 9 1' is not a memory_replay line",
            .strict = true),
    /* alignments as the C library takes them */
    REPLAYS("7: memalign 0x40 48 8\n7: memalign 0x10 1 7\n", "alloc 0 8 a6 @1; alloc 1 7 a4 @2; "),
};

static const struct importer_score scores[] = {
    SCORE("2345: malloc 0x7f00 64\n", 85),
    SCORE("2345: free 0x0 1 2", 85),
    SCORE("2345: malloc", 0),
    SCORE("12: 34\n", 0),
    SCORE("", 0),
    SCORE("1: free 0x1\n1: free 0x1\nx", 0),
};

TESTS(ROWS(replay, every_call), ROWS(replay, times), ROWS(replay, refused_and_nothing),
      ROWS(replay, dirty), SCORES(replay, scores))
