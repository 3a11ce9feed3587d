/* malloc-bench's traces: each call, ids that are used again, and bytes that are no such message. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_malloc_bench;

/* A line with a call whose message has `length` bytes, all below 128. */
#define LINE(kind, length, message) "\x0a" LENGTH_##length kind VALUE_##length message
#define LENGTH_0                    "\2"
#define VALUE_0                     "\0"
#define LENGTH_2                    "\4"
#define VALUE_2                     "\2"
#define LENGTH_4                    "\6"
#define VALUE_4                     "\4"
#define LENGTH_6                    "\x8"
#define VALUE_6                     "\6"
#define MALLOC                      "\x0a"
#define FREE                        "\x12"
#define REALLOC                     "\x1a"
#define CALLOC                      "\x22"

static const struct importer bench = {
    .format = &tp_format_malloc_bench, .kind = "host", .unknown = "times, threads"};

#define MALLOC_0_64 LINE(MALLOC, 4, "\x08\0\x10\x40")
#define FREE_0      LINE(FREE, 2, "\x08\0")

static const struct importer_row calls[] = {
    REPLAYS(MALLOC_0_64 FREE_0 "\x10\1", "alloc 0 64 a4 @1; free 0 64 a4 @2; "),
    /* ids that are used again; an alignment; calloc; hints of a free are not needed */
    REPLAYS(MALLOC_0_64 LINE(MALLOC, 6, "\x08\1\x10\x20\x18\x40") LINE(FREE, 4, "\x08\0\x10\x40")
                LINE(CALLOC, 6, "\x08\0\x10\x0a\x18\x0a"),
            "alloc 0 64 a4 @1; alloc 1 32 a6 @2; free 0 64 a4 @3; alloc 0 100 a4 @4; "),
    /* realloc: in its place, to another id, of NULL, to nothing */
    REPLAYS(MALLOC_0_64 LINE(REALLOC, 6, "\x08\0\x10\0\x18\x41")
                LINE(REALLOC, 6, "\x08\1\x10\0\x18\x42") LINE(REALLOC, 4, "\x08\0\x18\x43")
                    LINE(REALLOC, 2, "\x10\1") FREE_0,
            "alloc 0 64 a4 @1; realloc 0 65 a4 @2; realloc 0 66 a4 @3; alloc 1 67 a4 @4; "
            "free 0 66 a4 @5; free 1 67 a4 @6; "),
    /* what failed is a note, and a free of NULL is nothing */
    REPLAYS(LINE(MALLOC, 2, "\x10\x40") LINE(FREE, 0, "")
                MALLOC_0_64 LINE(REALLOC, 4, "\x10\0\x18\x7f"),
            "note 0 64 a1 @1; alloc 0 64 a4 @3; note 0 127 a1 @4; "),
    REPLAYS(FREE_0 MALLOC_0_64, "alloc 0 64 a4 @2; unknown_free=1 "),
    REPLAYS(MALLOC_0_64 MALLOC_0_64,
            "alloc 0 64 a4 @1; free 0 64 a4 @2; alloc 0 64 a4 @2; double_alloc=1 "),
    /* fields of later versions, in every form; a line without a call */
    REPLAYS("\x0a\x14\x0a\x12\x08\0\x7a\2ab\x78\x96\1\x10\x40\x7d"
            "1234\x10\x40\x0a\0\x0a\x0d\x0a\x0b\x08\1\x79"
            "12345678"
            "\x0a\4\x12\2\x08\1",
            "alloc 0 64 a4 @1; alloc 1 1 a4 @2; free 1 1 a4 @3; zero_size=1 "),
};

/* Fields beside the lines, as later versions may have them: of every form, longer than what is
 * looked at once, and longer than the file. */
TEST(test_unknown_fields)
{
    static char text[3000] = MALLOC_0_64 "\x1a\xdc\x0b"; /* field 3, 1,500 bytes */
    static const size_t at = sizeof MALLOC_0_64 + 2;
    memset(text + at, 'x', 1500);
    memcpy(text + at + 1500, FREE_0, sizeof FREE_0 - 1);
    const struct importer_row rows[] = {
        {.text = text,
         .size = at + 1500 + sizeof FREE_0 - 1,
         .program = "alloc 0 64 a4 @1; free 0 64 a4 @2; "},
        {.text = text, .size = at + 1400, .program = "alloc 0 64 a4 @1; truncated=1 "},
        REPLAYS("\x18\x96\1" MALLOC_0_64 "\x1a\1x\x25"
                "1234\x29"
                "12345678" FREE_0 "\x1a\0",
                "alloc 0 64 a4 @1; free 0 64 a4 @2; "),
        REPLAYS(MALLOC_0_64 "\x29"
                            "1234",
                "alloc 0 64 a4 @1; truncated=1 "),
        {.text = "\x1a\1x" MALLOC_0_64 "\x18\1\x10\1",
         .size = 15,
         .remarks = "Fields of a later version are left out: 2."},
        /* product of a calloc that failed beyond 64 bits */
        READS("\x0a\x18\x22\x16\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"
              "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
              .remarks = "Failed requests of more than 2^48 bytes are left out: 1."),
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(&bench, &rows[i]);
}

/* Cut anywhere, it is repaired. */
TEST(test_lengths)
{
    static const char all[] = MALLOC_0_64 LINE(MALLOC, 4, "\x08\1\x10\x40") FREE_0;
    for (size_t size = 8; size < sizeof all - 1; size++) {
        struct reading r = read_bytes(&tp_format_malloc_bench, all, size, false);
        assert_int_equal(r.rc, TP_OK);
        assert_int_equal(r.repairs[TP_REPAIR_TRUNCATED], size % 8 != 0);
        forget(&r);
    }
}

#define WHAT "x.json: byte 8: event 2: not a line of malloc-bench"
static const struct importer_row refusals[] = {
    REFUSED(MALLOC_0_64 "\x08\1", WHAT),              /* a line that is a number */
    REFUSED(MALLOC_0_64 "\x0a\xff\xff\3x", WHAT),     /* a line of 64 KiB */
    REFUSED(MALLOC_0_64 "\x0b\1x", WHAT),             /* a form that is not used */
    REFUSED(MALLOC_0_64 "\x0a\3\x0a\2x", WHAT),       /* longer than its line */
    REFUSED(MALLOC_0_64 "\x0a\2\x08\1", WHAT),        /* a call that is a number */
    REFUSED(MALLOC_0_64 "\x0a\5\x0a\3\x0a\1x", WHAT), /* an id that is none */
    REFUSED(MALLOC_0_64 "\x0a\x0e\x0a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
            WHAT), /* more than 64 bits */
    REFUSED(MALLOC_0_64 "\x0a\x0d\x0a\x0b\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\2", WHAT),
    REFUSED(MALLOC_0_64 "\x0a\x0d\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
            "x.json: byte 8: event 2: an id above 2^63"),
    REFUSED(MALLOC_0_64 "\x0a\2\x12",
            "x.json: byte 8: event 2: the file ends in the middle of this line", .strict = true),
};

/* Nothing that is not such a trace looks like one. */
#define GOOD  MALLOC_0_64 FREE_0 MALLOC_0_64 FREE_0
#define LATER "\x18\1" MALLOC_0_64 "\x1a\1x" FREE_0 MALLOC_0_64 "\x1a\xff\xff\3x"
static const struct importer_score scores[] = {
    SCORE(GOOD, 85),
    {GOOD, 8, 60},
    {GOOD, 4, 0},
    SCORE(LATER, 60),
    {LATER, 13, 0},
    SCORE("\n\nhello\n", 0),
    SCORE("\n\4\x08\1\x10\2\n\4\x08\3\x10\4", 0), /* of pprof */
};

TESTS(ROWS(bench, calls), ROWS(bench, refusals), SCORES(bench, scores))
