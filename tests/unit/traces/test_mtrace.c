/* glibc's mtrace: a real file, objects that move, failures, and what is wrong with lines. */
#include "tests/unit/importer_rig.h"

#include "traces/lower/pointers.h"

extern const struct tp_format tp_format_mtrace;

static const struct importer mtrace = {
    .format = &tp_format_mtrace, .kind = "host", .unknown = "times, threads, alignment"};

static const struct importer_row real_file[] = {
    {.path = TAPOOL_ROOT "/tests/data/mtrace/calls.txt",
     .program = "alloc 0 10 a4 @1; alloc 1 1 a4 @2; alloc 2 21 a4 @3; alloc 3 33 a4 @4; "
                "realloc 0 99 a4 @5; free 0 99 a4 @6; alloc 0 100 a4 @7; alloc 4 50 a4 @8; "
                "alloc 5 256 a4 @9; alloc 6 5 a4 @10; alloc 7 20 a4 @13; alloc 8 12 a4 @14; "
                "free 1 1 a4 @15; free 2 21 a4 @16; free 3 33 a4 @17; free 0 100 a4 @18; "
                "free 4 50 a4 @19; free 5 256 a4 @20; free 6 5 a4 @21; free 7 20 a4 @22; "
                "free 8 12 a4 @23; zero_size=1 ",
     .remarks = "Failed requests of more than 2^48 bytes are left out: 2.",
     .capture = "glibc mtrace log"},
};

static const struct importer_row calls[] = {
    REPLAYS("= Start\r\n+ 0x10 0x8\r\n- 0x10\r\n= End\r\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; "),
    /* an address that a realloc left is another object's */
    REPLAYS(
        "+ 0x10 0x8\n< 0x10\n> 0x20 0x10\n+ 0x10 0x9\n- 0x20\n- 0x10\n",
        "alloc 0 8 a4 @1; realloc 0 16 a4 @2; alloc 1 9 a4 @3; free 0 16 a4 @4; free 1 9 a4 @5; "),
    REPLAYS("+ 0x10 0x8\n< 0x10\n> 0x10 0x10\n- 0x10\n",
            "alloc 0 8 a4 @1; realloc 0 16 a4 @2; free 0 16 a4 @3; "),
    /* places of every form */
    REPLAYS("@ [0x1] + 0x10 0x8\n@ a.out:(_Znam+1a)[0x2] + 0x20 0x8\n"
            "@ my dir] x/a:(f[] +1)[0x3] - 0x10\n",
            "alloc 0 8 a4 @1; alloc 1 8 a4 @2; free 0 8 a4 @3; "),
    /* failures are notes, and the block of a failed realloc stays */
    REPLAYS("+ 0x10 0x8\n! 0x10 0x100\n+ (nil) 0x200\n+ (nil) 0\n- (nil)\n- 0x10\n",
            "alloc 0 8 a4 @1; note 0 256 a1 @2; note 0 512 a1 @3; free 0 8 a4 @6; "),
};

static const struct importer_row repairs[] = {
    REPLAYS("- 0x10\n+ 0x10 0x8\n", "alloc 0 8 a4 @2; unknown_free=1 "),
    REPLAYS("+ 0x10 0x8\n+ 0x10 0x9\n",
            "alloc 0 8 a4 @1; free 0 8 a4 @2; alloc 0 9 a4 @2; double_alloc=1 "),
    REPLAYS("< 0x10\n> 0x20 0x8\n- 0x20\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; realloc_unknown=1 "),
    REPLAYS(
        "+ 0x10 0x8\n+ 0x20 0x9\n< 0x10\n> 0x20 0x18\n- 0x20\n",
        "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 1 9 a4 @3; realloc 0 24 a4 @3; free 0 24 a4 @4; "
        "double_alloc=1 "),
    REPLAYS("+ 0x10 0x8\n< 0x10\n", "alloc 0 8 a4 @1; truncated=1 "),
    REPLAYS("+ 0x10 0x8\n< 0x10\n> 0x2", "alloc 0 8 a4 @1; truncated=1 "),
    READS("= Start\n+ 0x10 0x8\n= End\n= Start\n+ 0x20 0x8\n= End\n",
          .remarks = "It has 2 sections; what happened between them was not recorded."),
};

#define NO_LINE(line)                                                                              \
    REFUSED("= Start\n+ 0x8 0x8\n" line "\n", "x.json:3: event 2: '" line "' is not an mtrace "    \
                                              "line")
static const struct importer_row refusals[] = {
    NO_LINE("+ 0x10"),
    NO_LINE("+ 0x10 0x8 0x8"),
    NO_LINE("- 0x10 0x8"),
    NO_LINE("* 0x10 0x8"),
    NO_LINE("+0x10 0x8"),
    NO_LINE("+ 0x10 0x10000000000000000"),
    NO_LINE("= Middle"),
    NO_LINE("@ + 0x10 0x8"),
    NO_LINE("hello"),
    NO_LINE("@ [0x1] "),
    NO_LINE("-"),
    REFUSED("< 0x10\n+ 0x20 0x8\n",
            "x.json:2: event 1: the line before has the '<' of a realloc, this one no '>'"),
    REFUSED("< 0x10\n= End\n",
            "x.json:2: event 1: the line before has the '<' of a realloc, this one no '>'"),
    REFUSED("> 0x10 0x8\n",
            "x.json:1: event 1: '>' ends a realloc, but the line before has no '<'"),
    REFUSED("+ 0x10 0x8\n< 0x10\n", "x.json:2: event 2: the file ends in the middle of a realloc",
            .strict = true),
    REFUSED("+ 0x10 0x8\n+ 0x20 0x9\n< 0x10\n> 0x20 0x18\n",
            "x.json:4: event 3 moves a block to where another one is live", .strict = true),
};

/* A cut in the middle of a number is not seen; all others are repaired. */
static const char whole[] = "= Start\n@ [0x1] + 0x10 0x8\n@ [0x1] < 0x10\n@ [0x1] > 0x20 0x9\n";

static const struct importer_score scores[] = {
    SCORE("= Start\n", 95),
    SCORE("= Start\r\n+ 0x10 0x8\n", 95),
    SCORE("= Starting\n", 0),
    SCORE("@ [0x1] + 0x10 0x8\n@ [0x1] - 0x10\n@ [0x1] + 0x10 0x8\n", 75),
    SCORE("@ [0x1] + 0x10 0x8\n@ [0x1] - 0x10\nhello\n", 0),
    SCORE("+ 10 8\n- 10\n- 10\n- 10\n", 0),
    SCORE("", 0),
};

/* Addresses of several spaces: ids are one's own, and memory is bounded for all of them. */
TEST(test_pointers)
{
    struct tp_budget budget = {.limit = 4096};
    uint32_t objects = 0;
    struct tp_pointers a, b;
    struct tp_err err = {0};
    int64_t id = 0, other = 0;
    tp_pointers_init(&a, &objects, &budget);
    tp_pointers_init(&b, &objects, &budget);
    assert_int_equal(tp_pointers_add(&a, 0x10, &id, &err), TP_OK);
    assert_int_equal(tp_pointers_add(&b, 0x10, &other, &err), TP_OK);
    assert_true(id > 0 && other > 0 && id != other);
    assert_int_equal(tp_pointers_find(&a, 0x10), id);
    assert_true(tp_pointers_find(&a, 0x11) < 0);
    assert_true(tp_pointers_find(&a, UINT64_MAX) < 0);
    assert_int_equal(tp_pointers_remove(&a, 0x10), id);
    assert_true(tp_pointers_remove(&a, 0x10) < 0);
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < 1000; i++)
        rc = tp_pointers_add(&a, i, &id, &err);
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(err.text, "more addresses than the memory for reading holds");
    tp_pointers_release(&a);
    tp_pointers_release(&b);
    assert_int_equal(budget.held, 0);
}

TESTS(ROWS(mtrace, real_file), ROWS(mtrace, calls), ROWS(mtrace, repairs), ROWS(mtrace, refusals),
      CUTS(mtrace, whole, 0, 0), SCORES(mtrace, scores))
