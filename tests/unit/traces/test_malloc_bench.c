/* malloc-bench's traces: each call, ids that are used again, and bytes that are no such message. */
#include "tests/unit/trace_fixture.h"

#include "traces/formats/malloc_bench/malloc_bench_wire.h"

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

static struct reading read_all(const char *data, size_t size, bool strict)
{
    return read_bytes(&tp_format_malloc_bench, data, size, strict);
}

/* `repair`: the only kind, once; -1: none. */
static void check_bytes(const char *data, size_t size, const char *program, int repair)
{
    char got[4096];
    struct reading r = read_all(data, size, false);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", program, r.err.text);
    assert_int_equal(r.meta.kind, TP_KIND_HOST);
    assert_string_equal(r.meta.unknown, "times, threads");
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(r.repairs[i], i == repair);
    forget(&r);
}
#define check(data, program, repair) check_bytes(data, sizeof(data) - 1, program, repair)

#define MALLOC_0_64 LINE(MALLOC, 4, "\x08\0\x10\x40")
#define FREE_0      LINE(FREE, 2, "\x08\0")

static void test_calls(void **state)
{
    (void)state;
    check(MALLOC_0_64 FREE_0 "\x10\1", "alloc 0 64 a4 @1; free 0 64 a4 @2; ", -1);
    /* ids that are used again; an alignment; calloc; hints of a free are not needed */
    check(MALLOC_0_64 LINE(MALLOC, 6, "\x08\1\x10\x20\x18\x40") LINE(FREE, 4, "\x08\0\x10\x40")
              LINE(CALLOC, 6, "\x08\0\x10\x0a\x18\x0a"),
          "alloc 0 64 a4 @1; alloc 1 32 a6 @2; free 0 64 a4 @3; alloc 0 100 a4 @4; ", -1);
    /* realloc: in its place, to another id, of NULL, to nothing */
    check(MALLOC_0_64 LINE(REALLOC, 6, "\x08\0\x10\0\x18\x41")
              LINE(REALLOC, 6, "\x08\1\x10\0\x18\x42") LINE(REALLOC, 4, "\x08\0\x18\x43")
                  LINE(REALLOC, 2, "\x10\1") FREE_0,
          "alloc 0 64 a4 @1; realloc 0 65 a4 @2; realloc 0 66 a4 @3; alloc 1 67 a4 @4; "
          "free 0 66 a4 @5; free 1 67 a4 @6; ",
          -1);
    /* what failed is a note, and a free of NULL is nothing */
    check(LINE(MALLOC, 2, "\x10\x40") LINE(FREE, 0, "")
              MALLOC_0_64 LINE(REALLOC, 4, "\x10\0\x18\x7f"),
          "note 0 64 a1 @1; alloc 0 64 a4 @3; note 0 127 a1 @4; ", -1);
    check(FREE_0 MALLOC_0_64, "alloc 0 64 a4 @2; ", TP_REPAIR_UNKNOWN_FREE);
    check(MALLOC_0_64 MALLOC_0_64, "alloc 0 64 a4 @1; free 0 64 a4 @2; alloc 0 64 a4 @2; ",
          TP_REPAIR_DOUBLE_ALLOC);
    /* fields of later versions, in every form; a line without a call */
    check("\x0a\x14\x0a\x12\x08\0\x7a\2ab\x78\x96\1\x10\x40\x7d"
          "1234\x10\x40\x0a\0\x0a\x0d\x0a\x0b\x08\1\x79"
          "12345678"
          "\x0a\4\x12\2\x08\1",
          "alloc 0 64 a4 @1; alloc 1 1 a4 @2; free 1 1 a4 @3; ", TP_REPAIR_ZERO_SIZE);
}

/* Fields beside the lines, as later versions may have them: of every form, longer than what is
 * looked at once, and longer than the file. */
static void test_unknown_fields(void **state)
{
    static char text[3000] = MALLOC_0_64 "\x1a\xdc\x0b"; /* field 3, 1,500 bytes */
    static const size_t at = sizeof MALLOC_0_64 + 2;
    (void)state;
    memset(text + at, 'x', 1500);
    memcpy(text + at + 1500, FREE_0, sizeof FREE_0 - 1);
    check_bytes(text, at + 1500 + sizeof FREE_0 - 1, "alloc 0 64 a4 @1; free 0 64 a4 @2; ", -1);
    check_bytes(text, at + 1400, "alloc 0 64 a4 @1; ", TP_REPAIR_TRUNCATED);
    check("\x18\x96\1" MALLOC_0_64 "\x1a\1x\x25"
          "1234\x29"
          "12345678" FREE_0 "\x1a\0",
          "alloc 0 64 a4 @1; free 0 64 a4 @2; ", -1);
    check(MALLOC_0_64 "\x29"
                      "1234",
          "alloc 0 64 a4 @1; ", TP_REPAIR_TRUNCATED);
    struct reading r = read_all("\x1a\1x" MALLOC_0_64 "\x18\1\x10\1", 15, false);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.remarks, "Fields of a later version are left out: 2.");
    forget(&r);
}

static void test_lengths(void **state)
{
    (void)state;
    /* product of a calloc that failed beyond 64 bits */
    static const char huge[] = "\x0a\x18\x22\x16\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"
                               "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\1";
    struct reading r = read_all(huge, sizeof huge - 1, false);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.remarks, "Failed requests of more than 2^48 bytes are left out: 1.");
    forget(&r);
    /* cut anywhere, it is repaired or refused in a sentence */
    static const char all[] = MALLOC_0_64 LINE(MALLOC, 4, "\x08\1\x10\x40") FREE_0;
    for (size_t size = 8; size < sizeof all - 1; size++) {
        r = read_all(all, size, false);
        assert_int_equal(r.rc, TP_OK);
        assert_int_equal(r.repairs[TP_REPAIR_TRUNCATED], size % 8 != 0);
        forget(&r);
    }
}

static void refuse_bytes(const char *data, size_t size, bool strict, const char *sentence)
{
    struct reading r = read_all(data, size, strict);
    if (r.rc == TP_OK)
        forget(&r);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, sentence);
}
#define refuse(data, strict, sentence) refuse_bytes(data, sizeof(data) - 1, strict, sentence)

static void test_refusals(void **state)
{
    (void)state;
    static const char what[] = "x.json: byte 8: event 2: not a line of malloc-bench";
    refuse(MALLOC_0_64 "\x08\1", false, what);              /* a line that is a number */
    refuse(MALLOC_0_64 "\x0a\xff\xff\3x", false, what);     /* a line of 64 KiB */
    refuse(MALLOC_0_64 "\x0b\1x", false, what);             /* a form that is not used */
    refuse(MALLOC_0_64 "\x0a\3\x0a\2x", false, what);       /* longer than its line */
    refuse(MALLOC_0_64 "\x0a\2\x08\1", false, what);        /* a call that is a number */
    refuse(MALLOC_0_64 "\x0a\5\x0a\3\x0a\1x", false, what); /* an id that is none */
    refuse(MALLOC_0_64 "\x0a\x0e\x0a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", false,
           what); /* more than 64 bits */
    refuse(MALLOC_0_64 "\x0a\x0d\x0a\x0b\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\2", false, what);
    refuse(MALLOC_0_64 "\x0a\x0d\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", false,
           "x.json: byte 8: event 2: an id above 2^63");
    refuse(MALLOC_0_64 "\x0a\2\x12", true,
           "x.json: byte 8: event 2: the file ends in the middle of this line");
}

/* Nothing that is not such a trace looks like one. */
static void test_probe(void **state)
{
    (void)state;
    static const char good[] = MALLOC_0_64 FREE_0 MALLOC_0_64 FREE_0, text[] = "\n\nhello\n";
    static const char pprof[] = "\n\4\x08\1\x10\2\n\4\x08\3\x10\4";
    int (*probe)(const unsigned char *, size_t) = tp_format_malloc_bench.probe;
    assert_int_equal(probe((const unsigned char *)good, sizeof good - 1), 85);
    assert_int_equal(probe((const unsigned char *)good, 8), 60);
    static const char later[] = "\x18\1" MALLOC_0_64 "\x1a\1x" FREE_0 MALLOC_0_64 "\x1a\xff\xff\3x";
    assert_int_equal(probe((const unsigned char *)later, sizeof later - 1), 60);
    assert_int_equal(probe((const unsigned char *)later, 13), 0);
    assert_int_equal(probe((const unsigned char *)good, 4), 0);
    assert_int_equal(probe((const unsigned char *)text, sizeof text - 1), 0);
    assert_int_equal(probe((const unsigned char *)pprof, sizeof pprof - 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),   cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests_name("malloc_bench", tests, NULL, NULL);
}
