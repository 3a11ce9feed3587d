/* glibc's mtrace: a real file, objects that move, failures, and what is wrong with lines. */
#include "tests/unit/trace_fixture.h"

#include "traces/lower/pointers.h"

extern const struct tp_format tp_format_mtrace;

static struct reading must_read(const char *text)
{
    struct reading r = read_text(&tp_format_mtrace, text, false);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    assert_int_equal(r.meta.kind, TP_KIND_HOST);
    assert_string_equal(r.meta.unknown, "times, threads, alignment");
    return r;
}

/* `repair`: the only kind, once; -1: none. */
static void check(const char *text, const char *program, int repair)
{
    char got[4096];
    struct reading r = must_read(text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(r.repairs[i], i == repair);
    forget(&r);
}

static void test_real_file(void **state)
{
    (void)state;
    struct tp_input *in = NULL;
    char got[4096];
    assert_int_equal(tp_input_open(TAPOOL_ROOT "/tests/data/mtrace/calls.txt", 0, NULL, &in, NULL),
                     TP_OK);
    struct reading r = read_input(&tp_format_mtrace, in, false);
    tp_input_close(in);
    assert_int_equal(r.rc, TP_OK);
    write_program(r.program, got, sizeof got);
    assert_string_equal(
        got, "alloc 0 10 a4 @1; alloc 1 1 a4 @2; alloc 2 21 a4 @3; alloc 3 33 a4 @4; "
             "realloc 0 99 a4 @5; free 0 99 a4 @6; alloc 0 100 a4 @7; alloc 4 50 a4 @8; "
             "alloc 5 256 a4 @9; alloc 6 5 a4 @10; alloc 7 20 a4 @13; alloc 8 12 a4 @14; "
             "free 1 1 a4 @15; free 2 21 a4 @16; free 3 33 a4 @17; free 0 100 a4 @18; "
             "free 4 50 a4 @19; free 5 256 a4 @20; free 6 5 a4 @21; free 7 20 a4 @22; "
             "free 8 12 a4 @23; ");
    assert_int_equal(r.repairs[TP_REPAIR_ZERO_SIZE], 1);
    assert_int_equal(r.repairs[TP_REPAIR_UNKNOWN_FREE], 0);
    assert_string_equal(r.meta.remarks, "Failed requests of more than 2^48 bytes are left out: 2.");
    assert_string_equal(r.meta.capture, "glibc mtrace log");
    forget(&r);
}

static void test_calls(void **state)
{
    (void)state;
    check("= Start\r\n+ 0x10 0x8\r\n- 0x10\r\n= End\r\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; ", -1);
    /* an address that a realloc left is another object's */
    check("+ 0x10 0x8\n< 0x10\n> 0x20 0x10\n+ 0x10 0x9\n- 0x20\n- 0x10\n",
          "alloc 0 8 a4 @1; realloc 0 16 a4 @2; alloc 1 9 a4 @3; free 0 16 a4 @4; free 1 9 a4 @5; ",
          -1);
    check("+ 0x10 0x8\n< 0x10\n> 0x10 0x10\n- 0x10\n",
          "alloc 0 8 a4 @1; realloc 0 16 a4 @2; free 0 16 a4 @3; ", -1);
    /* places of every form */
    check("@ [0x1] + 0x10 0x8\n@ a.out:(_Znam+1a)[0x2] + 0x20 0x8\n"
          "@ my dir] x/a:(f[] +1)[0x3] - 0x10\n",
          "alloc 0 8 a4 @1; alloc 1 8 a4 @2; free 0 8 a4 @3; ", -1);
    /* failures are notes, and the block of a failed realloc stays */
    check("+ 0x10 0x8\n! 0x10 0x100\n+ (nil) 0x200\n+ (nil) 0\n- (nil)\n- 0x10\n",
          "alloc 0 8 a4 @1; note 0 256 a1 @2; note 0 512 a1 @3; free 0 8 a4 @6; ", -1);
}

static void test_repairs(void **state)
{
    (void)state;
    check("- 0x10\n+ 0x10 0x8\n", "alloc 0 8 a4 @2; ", TP_REPAIR_UNKNOWN_FREE);
    check("+ 0x10 0x8\n+ 0x10 0x9\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; alloc 0 9 a4 @2; ",
          TP_REPAIR_DOUBLE_ALLOC);
    check("< 0x10\n> 0x20 0x8\n- 0x20\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; ",
          TP_REPAIR_REALLOC_UNKNOWN);
    check("+ 0x10 0x8\n+ 0x20 0x9\n< 0x10\n> 0x20 0x18\n- 0x20\n",
          "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 1 9 a4 @3; realloc 0 24 a4 @3; free 0 24 a4 @4; ",
          TP_REPAIR_DOUBLE_ALLOC);
    check("+ 0x10 0x8\n< 0x10\n", "alloc 0 8 a4 @1; ", TP_REPAIR_TRUNCATED);
    check("+ 0x10 0x8\n< 0x10\n> 0x2", "alloc 0 8 a4 @1; ", TP_REPAIR_TRUNCATED);
    struct reading r = must_read("= Start\n+ 0x10 0x8\n= End\n= Start\n+ 0x20 0x8\n= End\n");
    assert_string_equal(r.meta.remarks,
                        "It has 2 sections; what happened between them was not recorded.");
    forget(&r);
}

static void refuse(const char *text, bool strict, const char *sentence)
{
    struct reading r = read_text(&tp_format_mtrace, text, strict);
    if (r.rc == TP_OK)
        forget(&r);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const lines[] = {"+ 0x10",     "+ 0x10 0x8 0x8",
                                        "- 0x10 0x8", "* 0x10 0x8",
                                        "+0x10 0x8",  "+ 0x10 0x10000000000000000",
                                        "= Middle",   "@ + 0x10 0x8",
                                        "hello",      "@ [0x1] ",
                                        "-"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[200], sentence[200];
        snprintf(text, sizeof text, "= Start\n+ 0x8 0x8\n%s\n", lines[i]);
        snprintf(sentence, sizeof sentence, "x.json:3: event 2: '%s' is no line of mtrace",
                 lines[i]);
        refuse(text, false, sentence);
    }
    refuse("< 0x10\n+ 0x20 0x8\n", false,
           "x.json:2: event 1: the line before has the '<' of a realloc, this one no '>'");
    refuse("< 0x10\n= End\n", false,
           "x.json:2: event 1: the line before has the '<' of a realloc, this one no '>'");
    refuse("> 0x10 0x8\n", false,
           "x.json:1: event 1: '>' ends a realloc, but the line before has no '<'");
    refuse("+ 0x10 0x8\n< 0x10\n", true,
           "x.json:2: event 2: the file ends in the middle of a realloc");
    refuse("+ 0x10 0x8\n+ 0x20 0x9\n< 0x10\n> 0x20 0x18\n", true,
           "x.json:4: event 3 moves a block to where another one is live");
}

/* A cut in the middle of a number is not seen; all others are repaired. */
static void test_cuts(void **state)
{
    (void)state;
    static const char text[] = "= Start\n@ [0x1] + 0x10 0x8\n@ [0x1] < 0x10\n@ [0x1] > 0x20 0x9\n";
    for (size_t size = 1; size < sizeof text; size++) {
        struct reading r = read_bytes(&tp_format_mtrace, text, size, false);
        assert_int_equal(r.rc, TP_OK);
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
        {"= Start\n", 95},
        {"= Start\r\n+ 0x10 0x8\n", 95},
        {"= Starting\n", 0},
        {"@ [0x1] + 0x10 0x8\n@ [0x1] - 0x10\n@ [0x1] + 0x10 0x8\n", 75},
        {"@ [0x1] + 0x10 0x8\n@ [0x1] - 0x10\nhello\n", 0},
        {"+ 10 8\n- 10\n- 10\n- 10\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            tp_format_mtrace.probe((const unsigned char *)rows[i].text, strlen(rows[i].text)),
            rows[i].score);
}

/* Addresses of several spaces: ids are one's own, and memory is bounded for all of them. */
static void test_pointers(void **state)
{
    (void)state;
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_file), cmocka_unit_test(test_calls),
        cmocka_unit_test(test_repairs),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cuts),      cmocka_unit_test(test_probe),
        cmocka_unit_test(test_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
