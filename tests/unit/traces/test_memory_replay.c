/* Android's memory_replay text: every call, calls without effect, and what is no line of it. */
#include "tests/unit/trace_fixture.h"

extern const struct tp_format tp_format_memory_replay;

static void check(const char *text, const char *expected, const char *unknown)
{
    char got[4096];
    struct reading r = read_text(&tp_format_memory_replay, text, false);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    write_program(r.program, got, sizeof got);
    write_repairs(&r, got, sizeof got);
    assert_string_equal(got, expected);
    if (unknown)
        assert_string_equal(r.meta.unknown, unknown);
    else
        assert_null(r.meta.unknown);
    forget(&r);
}

static void refuse(const char *text, const char *sentence)
{
    struct reading r = read_text(&tp_format_memory_replay, text, true);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, sentence);
}

static void every_call(void **state)
{
    (void)state;
    check("7: malloc 0x10 64\n7: calloc 0x20 4 16\n7: memalign 0x1000 4096 100\n"
          "8: realloc 0x30 0x10 128\n8: realloc 0x40 0x0 32\n7: free 0x20\n8: thread_done 0x0\n",
          "alloc 0 64 a4 @1; alloc 1 64 a4 @2; alloc 2 100 a12 @3; realloc 0 128 a4 t1 @4; "
          "alloc 3 32 a4 t1 @5; free 1 64 a4 @6; end 0 0 t1 @7; ",
          "times");
}

/* An allocation at its end, a free at its beginning. */
static void times(void **state)
{
    (void)state;
    check("7: malloc 0x10 64 1000 1100\n7: free 0x10 1300 1500\n7: malloc 0x10 65 1600 1650\n",
          "alloc 0 64 a4 @1; free 0 64 a4 +200 @2; alloc 0 65 a4 +350 @3; ", NULL);
    check("7: malloc 0x10 64 1000 1100\n7: free 0x10 1200 1210\n8: malloc 0x20 64 1000 1150\n",
          "alloc 0 64 a4 @1; free 0 64 a4 +100 @2; alloc 0 64 a4 t1 @3; time_backwards=1 ", NULL);
}

static void refused_and_nothing(void **state)
{
    (void)state;
    check("7: free 0x0\n7: malloc 0x0 64\n7: realloc 0x0 0x0 5\n7: malloc 0x10 8\n",
          "note 0 64 a1 @2; note 0 5 a1 @3; alloc 0 8 a4 @4; ", "times");
    check("7: malloc 0x10 8\n7: realloc 0x0 0x10 0\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; ",
          "times");
    check("7: malloc 0x10 8\n7: realloc 0x0 0x10 90\n7: free 0x10\n", /* failed: the block stays */
          "alloc 0 8 a4 @1; note 0 90 a1 @2; free 0 8 a4 @3; ", "times");
    check("7: calloc 0x10 18446744073709551615 2\n7: malloc 0x20 1\n", "alloc 0 1 a4 @2; ",
          "times");
}

static void dirty(void **state)
{
    (void)state;
    check("7: malloc 0x10 0\n7: free 0x20\n", "alloc 0 1 a4 @1; unknown_free=1 zero_size=1 ",
          "times");
    check("7: malloc 0x10 8\n7: malloc 0x20 9\n7: realloc 0x20 0x10 10\n",
          "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 1 9 a4 @3; realloc 0 10 a4 @3; double_alloc=1 ",
          "times");
    check("7: malloc 0x10 8\n7: mall", "alloc 0 8 a4 @1; truncated=1 ", "times");
    refuse("7: malloc 0x10 8\n7: mallop 0x10\n",
           "x.json:2: event 2: '7: mallop 0x10' is no line of memory_replay");
    refuse("7: malloc 0x10 8 5\n",
           "x.json:1: event 1: '7: malloc 0x10 8 5' is no line of memory_replay");
    check("7: malloc 0x10 8 500 600\n7: thread_done 0x0 900\n",
          "alloc 0 8 a4 @1; end 0 0 +300 @2; ", NULL);
    refuse("7: thread_done 0x0 900 9 1\n",
           "x.json:1: event 1: '7: thread_done 0x0 900 9 1' is no line of memory_replay");
    /* alignments as the C library takes them */
    check("7: memalign 0x40 48 8\n7: memalign 0x10 1 7\n", "alloc 0 8 a6 @1; alloc 1 7 a4 @2; ",
          "times");
}

static void probes(void **state)
{
    static const struct {
        const char *text;
        int score;
    } rows[] = {{"2345: malloc 0x7f00 64\n", 85},
                {"2345: free 0x0 1 2", 85},
                {"2345: malloc", 0},
                {"12: 34\n", 0},
                {"", 0},
                {"1: free 0x1\n1: free 0x1\nx", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(tp_format_memory_replay.probe((const unsigned char *)rows[i].text,
                                                       strlen(rows[i].text)),
                         rows[i].score);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call),
        cmocka_unit_test(times),
        cmocka_unit_test(refused_and_nothing),
        cmocka_unit_test(dirty),
        cmocka_unit_test(probes),
    };
    return cmocka_run_group_tests_name("memory_replay", tests, NULL, NULL);
}
