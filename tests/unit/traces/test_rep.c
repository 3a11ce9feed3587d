/* malloclab traces: both headers, the operations, and what is wrong with them. */
#include "tests/unit/trace_fixture.h"

extern const struct tp_format tp_format_rep;

#define CLASSIC "20000\n3\n8\n1\n"
#define BODY    "a 0 512\na 1 128\nr 0 640\na 2 128\nf 1\nr 0 768\nf 0\nf 2\n"
#define PROGRAM                                                                                    \
    "alloc 0 512 a4 @1; alloc 1 128 a4 @2; realloc 0 640 a4 @3; alloc 2 128 a4 @4; "               \
    "free 1 128 a4 @5; realloc 0 768 a4 @6; free 0 768 a4 @7; free 2 128 a4 @8; "

static struct reading must_read(const char *text)
{
    struct reading r = read_text(&tp_format_rep, text, false);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    return r;
}

static void check(const char *text, const char *program)
{
    char got[4096];
    struct reading r = must_read(text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(r.repairs[i], 0);
    forget(&r);
}

static void test_program(void **state)
{
    (void)state;
    check(CLASSIC BODY, PROGRAM);
    check("1\r\n3\r\n8\r\n1408\r\n" BODY, PROGRAM);
    check("\xef\xbb\xbf"
          "20000 3\n\n8\t1 \n" BODY "\n \n",
          PROGRAM);
    check(CLASSIC " a  0\t512\r\nf 0", "alloc 0 512 a4 @1; free 0 512 a4 @2; ");
    check(CLASSIC "r 6 10\nr 6 20\nf 6\n",
          "alloc 0 10 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @3; ");
    check(CLASSIC "f -1\na 7 1\nf 7\nf -1\na 7 2\n",
          "alloc 0 1 a4 @2; free 0 1 a4 @3; alloc 0 2 a4 @5; ");
}

/* Which header it is, and what it says. */
static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *program;
        bool newer;
    } rows[] = {
        {CLASSIC BODY, "malloclab trace of weight 1", false},
        {"1\n3\n8\n1408\n" BODY, "malloclab trace of weight 1 (utilisation and throughput)", true},
        {"0\n3\n8\n4\n" BODY, "malloclab trace of weight 0 (not counted)", true},
        {"2\n3\n8\n1408\n" BODY, "malloclab trace of weight 2 (utilisation alone)", true},
        {"3\n3\n8\n1408\n" BODY, "malloclab trace of weight 3 (throughput alone)", true},
        {"4\n3\n8\n1\n" BODY, "malloclab trace of weight 1", false},
        {"0\n3\n8\n1\n" BODY, "malloclab trace of weight 1", false}, /* no heap of 1 byte at most */
        {"1\n3\n8\n1\n" BODY, "malloclab trace of weight 1",
         false}, /* one that goes round has this */
        {"0\n1\n1\n1\na 0 1\n", "malloclab trace of weight 0 (not counted)", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct reading r = must_read(rows[i].text);
        assert_string_equal(r.meta.program, rows[i].program);
        assert_int_equal(strstr(r.meta.capture, "since 2016") != NULL, rows[i].newer);
        assert_string_equal(r.meta.unknown, "times, threads, alignment");
        assert_int_equal(r.meta.kind, TP_KIND_HOST);
        assert_null(r.meta.remarks);
        forget(&r);
    }
}

static void test_counts(void **state)
{
    (void)state;
    struct reading r = must_read("20000\n3\n1000\n1\n" BODY "f -1\n");
    assert_string_equal(r.meta.remarks, "The header says 1,000 operations on 3 ids; there are 9 "
                                        "operations on ids below 3.");
    assert_int_equal(tp_program_facts(r.program)->events, 9);
    assert_false(tp_program_facts(r.program)->time_known);
    forget(&r);
    r = must_read("20000\n4\n8\n1\n" BODY);
    assert_non_null(r.meta.remarks);
    forget(&r);
}

static void refuse(const char *text, bool strict, const char *sentence)
{
    struct reading r = read_text(&tp_format_rep, text, strict);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    refuse("20000\n3\nx\n", false, "x.json:3: 'x' is not in the header of a .rep trace");
    refuse("1 2 3 4 5\n", false, "x.json:1: '1 2 3 4 5' is not in the header of a .rep trace");
    refuse("1\n2\n3\n", false, "x.json:3: the file ends in the header of a .rep trace");
    refuse("18446744073709551616\n", false,
           "x.json:1: '18446744073709551616' is not in the header of a .rep trace");
#define NONE " is none of 'a ID BYTES', 'r ID BYTES', 'f ID'"
    refuse(CLASSIC "a 0 1\nq 1 2\n", false, "x.json:6: event 2: 'q 1 2'" NONE);
    refuse(CLASSIC "a 0\n", false, "x.json:5: event 1: 'a 0'" NONE);
    refuse(CLASSIC "a 0 1 2\n", false, "x.json:5: event 1: 'a 0 1 2'" NONE);
    refuse(CLASSIC "f -2\n", false, "x.json:5: event 1: 'f -2'" NONE);
    refuse(CLASSIC "a -1 8\n", false, "x.json:5: event 1: 'a -1 8'" NONE);
    refuse(CLASSIC "f 0 9\n", false, "x.json:5: event 1: 'f 0 9'" NONE);
    refuse(CLASSIC "a 9223372036854775808 1\n", false,
           "x.json:5: event 1: 'a 9223372036854775808 1'" NONE);
    refuse(CLASSIC "a 1 281474976710657\n", false,
           "x.json:5: event 1 allocates 281,474,976,710,657 bytes; the limit is 2^48");
    refuse(CLASSIC "f 1\n", true, "x.json:5: event 1 frees id 1, which is not live");
    refuse(CLASSIC "f -1\na", true, "x.json:6: event 2: the file ends in the middle of this line");
}

/* The last line is cut: what is whole is read. Every such cut of a file can be read. */
static void test_cuts(void **state)
{
    (void)state;
    struct reading r = must_read(CLASSIC "a 0 512\na 1");
    assert_int_equal(r.repairs[TP_REPAIR_TRUNCATED], 1);
    assert_int_equal(tp_program_facts(r.program)->events, 1);
    forget(&r);
    static const char text[] = CLASSIC BODY;
    for (size_t size = 1; size < sizeof text; size++) {
        r = read_bytes(&tp_format_rep, text, size, false);
        assert_int_equal(r.rc, size < strlen(CLASSIC) - 1 ? TP_EINPUT : TP_OK);
        if (r.rc == TP_OK)
            forget(&r);
    }
}

static void test_probe(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int score;
    } rows[] = {
        {CLASSIC BODY, 80},
        {"1\n3\n8\n1408\n" BODY, 80},
        {CLASSIC "f 1\n", 60},
        {CLASSIC, 0},
        {"1\n2\n3\n4\n5\n", 0},
        {"id,lower,upper,size\n", 0},
        {"a 0 512\n", 0},
        {CLASSIC "a 0 512\nb 1\n" BODY, 0},
        {CLASSIC "a 0 512\nr 0", 60},
        {CLASSIC "a 0\na 1\nf 0\n", 60}, /* sizes are missing: read as one, and said */
        {CLASSIC "a 0\na 1\n", 40},
        {CLASSIC "a 0\nr 0\nb 1\n" BODY, 0},
        {CLASSIC "a x\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            tp_format_rep.probe((const unsigned char *)rows[i].text, strlen(rows[i].text)),
            rows[i].score);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program), cmocka_unit_test(test_headers),
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cuts),    cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
