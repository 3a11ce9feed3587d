/* valgrind's --trace-malloc=yes: real files, calls in two halves, processes, and other lines. */
#include "tests/unit/trace_fixture.h"

#include "traces/formats/valgrind/valgrind_call.h"

extern const struct tp_format tp_format_valgrind;

static struct reading read_space(const char *text, const char *space)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_memory("x.txt", text, strlen(text), 0, &in, NULL), TP_OK);
    struct reading r = read_input_as(&tp_format_valgrind, in, false,
                                     &(struct tp_read_opts){.space = space, .device = -1});
    tp_input_close(in);
    return r;
}

/* `repair`: the only kind, once; -1: none. */
static void check_space(const char *text, const char *space, const char *program, int repair)
{
    char got[4096];
    struct reading r = read_space(text, space);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(r.repairs[i], i == repair);
    assert_int_equal(r.meta.kind, TP_KIND_HOST);
    forget(&r);
}

static void check(const char *text, const char *program, int repair)
{
    check_space(text, NULL, program, repair);
}

static struct reading read_data(const char *path, const char *space)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    struct reading r = read_input_as(&tp_format_valgrind, in, false,
                                     &(struct tp_read_opts){.space = space, .device = -1});
    tp_input_close(in);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    return r;
}

static void test_real_file(void **state)
{
    (void)state;
    static const char path[] = TAPOOL_ROOT "/tests/data/valgrind/calls.txt";
    char got[4096];
    struct reading r = read_data(path, NULL);
    write_program(r.program, got, sizeof got);
    assert_string_equal(
        got, "alloc 0 72704 a4 @1; alloc 1 10 a4 @2; alloc 2 1 a4 @3; alloc 3 21 a4 @4; "
             "realloc 1 99 a4 @5; free 1 99 a4 @6; alloc 1 20 a4 @7; alloc 4 100 a6 @8; "
             "alloc 5 50 a5 @9; alloc 6 4 a4 @12; alloc 7 40 a4 @13; alloc 8 64 a6 @14; "
             "alloc 9 192 a6 @15; alloc 10 4 a4 @16; alloc 11 28 a4 @17; alloc 12 16 a4 @18; "
             "alloc 13 288 a4 @19; alloc 14 12 a4 @20; free 14 12 a4 @21; free 12 16 a4 @22; "
             "free 2 1 a4 @25; free 3 21 a4 @26; free 1 20 a4 @27; free 4 100 a6 @28; "
             "free 5 50 a5 @29; free 6 4 a4 @30; free 7 40 a4 @31; free 8 64 a6 @32; "
             "free 9 192 a6 @33; free 10 4 a4 @34; free 11 28 a4 @35; free 0 72704 a4 @36; "
             "free 13 288 a4 @37; ");
    assert_int_equal(r.repairs[TP_REPAIR_ZERO_SIZE], 1);
    assert_int_equal(r.repairs[TP_REPAIR_UNKNOWN_FREE], 0);
    assert_string_equal(r.meta.program, "./calls");
    assert_string_equal(r.meta.capture, "valgrind --trace-malloc=yes (text)");
    assert_string_equal(r.meta.unknown, "times, threads");
    assert_string_equal(r.meta.remarks, "Lines of the program's own words are left out: 2.\n"
                                        "Failed requests of more than 2^48 bytes are left out: 2.");
    assert_int_equal(strncmp(r.meta.space, "process ", 8), 0);
    assert_non_null(strstr(r.meta.left_out, "(5 events")); /* the child, with two of the parent's */
    forget(&r);
}

static void test_times(void **state)
{
    (void)state;
    struct reading r = read_data(TAPOOL_ROOT "/tests/data/valgrind/stamped.txt", NULL);
    assert_true(tp_program_facts(r.program)->time_known);
    assert_int_equal(tp_program_facts(r.program)->events, 35);
    assert_string_equal(r.meta.unknown, "threads");
    forget(&r);
    check("--00:00:00:01.500 7-- malloc(8) = 0x10\n--00:00:00:03.501 7-- free(0x10)\n",
          "alloc 0 8 a4 +1500000000 @1; free 0 8 a4 +2001000000 @2; ", -1);
    r = read_space("--01:00:00:00.000 7-- malloc(8) = 0x10\n--01:23:59:59.999 7-- free(0x10)\n",
                   NULL);
    assert_int_equal(r.rc, TP_OK);
    struct tp_cursor *c = NULL;
    struct tp_window w;
    uint64_t ns = 0;
    assert_int_equal(tp_cursor_open(r.program, &c, NULL), TP_OK);
    while (tp_cursor_next(c, &w, NULL) == 1)
        for (uint32_t i = 0; i < w.count; i++)
            ns += w.insns[i].gap_ns;
    tp_cursor_close(c);
    assert_int_equal(ns, UINT64_C(172799999) * 1000000);
    forget(&r);
}

#define P "--7-- "

static void test_calls(void **state)
{
    (void)state;
    check(P "malloc(8) = 0x4A40\r\n" P "free(0x4A40)\r\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; ", -1);
    check(P "calloc(3,7) = 0x10\n" P "cfree(0x10)\n" P "free(0x0)\n",
          "alloc 0 21 a4 @1; free 0 21 a4 @2; ", -1);
    check(P "realloc(0x0,9)malloc(9) = 0x10\n" P "realloc(0x10, 5) = 0x20\n" P
            "realloc(0x20,0)free(0x20)\n" P " = 0\n",
          "alloc 0 9 a4 @1; realloc 0 5 a4 @2; free 0 5 a4 @3; ", -1);
    /* newer releases print these at once */
    check(P "realloc(0x0,9) = 0x10\n" P "realloc(0x10,0) = 0x0\n" P "malloc(9) = 0x10\n",
          "alloc 0 9 a4 @1; free 0 9 a4 @2; alloc 0 9 a4 @3; ", -1);
    check(P "memalign(al 64, size 100) = 0x10\n" P "aligned_alloc(al 48, size 1) = 0x20\n" P
            "_ZnwmSt11align_val_t(size 4, al 128) = 0x30\n" P
            "posix_memalign(al 0, size 2) = 0x40\n",
          "alloc 0 100 a6 @1; alloc 1 1 a6 @2; alloc 2 4 a7 @3; alloc 3 2 a4 @4; ", -1);
    check(P "__builtin_vec_new(4) = 0x10\n" P "new(5) = 0x20\n" P "delete[](0x10)\n" P
            "_ZdlPvmSt11align_val_t(0x20)\n",
          "alloc 0 4 a4 @1; alloc 1 5 a4 @2; free 0 4 a4 @3; free 1 5 a4 @4; ", -1);
    /* failures; the block of a failed realloc stays */
    check(P "malloc(4096) = 0x0\n" P "malloc(8) = 0x10\n" P "realloc(0x10,512) = 0x0\n" P
            "free(0x10)\n",
          "note 0 4096 a1 @1; alloc 0 8 a4 @2; note 0 512 a1 @3; free 0 8 a4 @4; ", -1);
    /* the object that was where another one moves to */
    check(P "malloc(8) = 0x10\n" P "malloc(9) = 0x20\n" P "realloc(0x10,10) = 0x20\n" P
            "free(0x20)\n",
          "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 1 9 a4 @3; realloc 0 10 a4 @3; "
          "free 0 10 a4 @4; ",
          TP_REPAIR_DOUBLE_ALLOC);
    check(P "free(0x99)\n" P "malloc(8) = 0x10\n", "alloc 0 8 a4 @2; ", TP_REPAIR_UNKNOWN_FREE);
    /* events of which nothing is made */
    check(P "free(0x0)\n" P "malloc(0) = 0x0\n" P "malloc(8) = 0x10\n", "alloc 0 8 a4 @3; ", -1);
}

/* Halves of calls of several threads, and calls that never get their result. */
static void test_halves(void **state)
{
    (void)state;
    check(P "malloc(8)malloc(9) = 0x10\n" P " = 0x20\n" P "free(0x20)\n",
          "alloc 0 9 a4 @1; alloc 1 8 a4 @2; free 1 8 a4 @3; ", -1);
    check(P "malloc(8)" P "malloc(9) = 0x10\n", "", TP_REPAIR_TRUNCATED);
    struct reading r =
        read_space(P "malloc(8)\n" P "malloc(9) = 0x10\n" P " = 0x20 = 0x30\n", NULL);
    assert_int_equal(tp_program_facts(r.program)->events, 2);
    assert_null(r.meta.remarks);
    forget(&r);
    char text[2000] = "";
    for (int i = 0; i < 30; i++)
        strncat(text, P "malloc(8)\n", sizeof text - strlen(text) - 1);
    strncat(text, P "malloc(9) = 0x10\n" P "free(0x1", sizeof text - strlen(text) - 1);
    r = read_space(text, NULL);
    assert_int_equal(tp_program_facts(r.program)->events, 1);
    assert_string_equal(r.meta.remarks, "Calls without a result are left out: 30.\n"
                                        "Torn lines are left out: 1.");
    forget(&r);
}

/* The number behind a remark; 0: there is none. */
static int remarked(const struct reading *r, const char *what)
{
    const char *there = r->meta.remarks ? strstr(r->meta.remarks, what) : NULL;
    return there ? (int)strtol(there + strlen(what), NULL, 10) : 0;
}

/* Two processes that write at once, or a program that writes within a line of valgrind's. */
static void test_torn(void **state)
{
    static const struct {
        const char *line;
        int torn, repairs, foreign;
    } rows[] = {
        {P "mall\n", 1, 1, 0},
        {P "malloc\n", 1, 1, 0},
        {P "free(0x1\n", 1, 1, 0},
        {P "free(0x1", 1, 1, 0}, /* the end of the file */
        {P "_ZdlPvm(0x1\n", 1, 1, 0},
        {P " = \n", 1, 1, 0},
        {P "malloc(8) = 0x10 = \n", 1, 1, 0},
        {P "malloc(8)--8-- malloc(9) = 0x10\n", 1, 1, 0},
        {"--9-- free(0x\n", 1, 0, 0}, /* of a process that is in no trace */
        {"--25\n", 1, 0, 0},
        {"--00:00:0\n", 1, 0, 0},
        {"--25--2548-- malloc(8) = 0x10\n", 1, 0, 0},
        {"words 7-- free(0x20)\n", 1, 0, 0},
        {P "REDIR: 0x1 (libc.so.6:malloc) redirected\n", 0, 0, 0},
        {P "Reading syms from /usr/bin/x\n", 0, 0, 0},
        {P "\n", 0, 0, 0},
        {"--\n", 0, 0, 1},
        {"--option=malloc(8)\n", 0, 0, 1},
        {"mmap(8) = 0x10\n", 0, 0, 1},
        {"words" P "free(0x20)\n", 0, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, P "malloc(8) = 0x20\n%s", rows[i].line);
        struct reading r = read_text(&tp_format_valgrind, text, false);
        assert_int_equal(r.rc, TP_OK);
        if (r.repairs[TP_REPAIR_TRUNCATED] != (uint64_t)rows[i].repairs ||
            remarked(&r, "Torn lines are left out: ") != rows[i].torn ||
            remarked(&r, "Lines of the program's own words are left out: ") != rows[i].foreign)
            fail_msg("%s%d repairs, %s", text, (int)r.repairs[TP_REPAIR_TRUNCATED],
                     r.meta.remarks ? r.meta.remarks : "no remark");
        forget(&r);
    }
    struct reading r =
        read_text(&tp_format_valgrind, P "malloc(8) = 0x20\n" P "free(0x\n" P "free(0x20)\n", true);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "x.json:2: event 2: the call on this line is torn");
}

static void test_other_lines(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs("hello\n==7== Command: ./a b\n==7== Command: ./c\n**7** words\n"
          "--7-- REDIR: 0x1 (libc.so.6:malloc) redirected\n--7-- malloc(8) = 0x10\n\n"
          "a-b --x-- 9--7-- malloc(9) = 0x20\n"
          "of nobody--8-- malloc(9) = 0x20\n",
          f);
    for (int i = 0; i < 100000; i++) /* longer than a line may be */
        fputc('-', f);
    fputs("\n--7-- free(0x10)\n", f);
    fclose(f);
    struct reading r = read_space(text, NULL);
    char got[500];
    assert_int_equal(r.rc, TP_OK);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 0 8 a4 @3; ");
    assert_string_equal(r.meta.program, "./a b");
    assert_string_equal(r.meta.remarks, "Lines of the program's own words are left out: 3.\n"
                                        "Torn lines are left out: 1.");
    assert_null(r.meta.space);
    forget(&r);
    free(text);
}

static void test_processes(void **state)
{
    (void)state;
    static const char text[] = "--7-- malloc(8) = 0x10\n--8-- malloc(9) = 0x10\n--8-- free(0x10)\n"
                               "--8-- malloc(7) = 0x10\n--7-- free(0x10)\n";
    check(text, "alloc 0 9 a4 @1; free 0 9 a4 @2; alloc 0 7 a4 @3; ", -1);
    check_space(text, "Process 7", "alloc 0 8 a4 @1; free 0 8 a4 @2; ", -1);
    check_space(text, "all",
                "alloc 0 8 a4 @1; alloc 1 9 a4 s1 d1 @2; free 1 9 a4 s1 d1 @3; "
                "alloc 1 7 a4 s1 d1 @4; free 0 8 a4 @5; ",
                -1);
    struct reading r = read_space(text, "process 9");
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "x.txt: no memory space is called 'process 9'");
    assert_string_equal(r.err.hint, "it has: process 7, process 8");

    char *many = NULL; /* more than there are places for */
    size_t size = 0;
    FILE *f = open_memstream(&many, &size);
    assert_non_null(f);
    for (int i = 1; i <= 258; i++)
        fprintf(f, "--%d-- malloc(%d) = 0x10\n", i, i);
    fclose(f);
    r = read_space(many, NULL);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.space, "process 256");
    assert_string_equal(r.meta.remarks, "Calls of processes after the 256th are left out: 2.");
    forget(&r);
    free(many);
}

static void test_nothing(void **state)
{
    (void)state;
    struct reading r = read_space("==7== Memcheck\n==7== Using Valgrind-3.19.0\nhello\n", NULL);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.nothing, "valgrind ran without --trace-malloc=yes");
    forget(&r);
    static const struct {
        const char *text, *why;
    } refusals[] = {
        {"valgrind: ./none: No such file or directory\n", "./none: No such file or directory"},
        {"==7== Using Valgrind-3.19.0\n==7== Command: x\n\nvalgrind:  Fatal error at startup: a "
         "function redirection\nvalgrind:  cannot be set up.\n",
         "Fatal error at startup: a function redirection"},
        {"==7== Using Valgrind-3.19.0\nx: error while loading shared libraries: liby.so: cannot "
         "open\n",
         "x: error while loading shared libraries: liby.so: cannot open"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "the program did not start: %s", refusals[i].why);
        r = read_space(refusals[i].text, NULL);
        assert_int_equal(r.rc, TP_OK);
        assert_string_equal(r.meta.nothing, expected);
        forget(&r);
    }
    /* such words of a program that did start are its own */
    r = read_space(P "malloc(8) = 0x10\nvalgrind: none\n", NULL);
    assert_int_equal(r.rc, TP_OK);
    assert_null(r.meta.nothing);
    forget(&r);
}

/* What is taken of a text, and what is left. */
static void test_cut_call(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool taken;
        struct tp_valgrind_call call;
        const char *rest;
    } rows[] = {
        {"malloc(10) = 0x1", true, {TP_VG_ALLOC, 0, 10, 0}, " = 0x1"},
        {"calloc(18446744073709551615,2)", true, {TP_VG_ALLOC, 0, UINT64_MAX, 0}, ""},
        {"_Znaj(7)", true, {TP_VG_ALLOC, 0, 7, 0}, ""},
        {"free((nil))", true, {TP_VG_FREE, 0, 0, 0}, ""},
        {"_ZdlPvm(0x10, 8)", true, {TP_VG_FREE, 16, 16, 0}, ""},
        {"realloc(0x10,8)free", true, {TP_VG_REALLOC, 16, 8, 0}, "free"},
        {"malloc_usable_size(0x10) = 8", true, {TP_VG_ASIDE, 16, 16, 0}, " = 8"},
        {"malloc()", false, {0}, "malloc()"},
        {"malloc(", false, {0}, "malloc("},
        {"malloc(-1)", false, {0}, "malloc(-1)"},
        {"malloc(8", false, {0}, "malloc(8"},
        {"malloc(99999999999999999999)", false, {0}, "malloc(99999999999999999999)"},
        {"calloc(8)", false, {0}, "calloc(8)"},
        {"realloc(0x10)", false, {0}, "realloc(0x10)"},
        {"memalign(al 8)", false, {0}, "memalign(al 8)"},
        {"mallocs(8)", false, {0}, "mallocs(8)"},
        {"_Zn(8)", false, {0}, "_Zn(8)"},
        {"(8)", false, {0}, "(8)"},
        {"", false, {0}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tp_cut c = {rows[i].text, rows[i].text + strlen(rows[i].text)};
        struct tp_valgrind_call call = {0};
        assert_int_equal(tp_valgrind_cut_call(&c, &call), rows[i].taken);
        assert_string_equal(c.at, rows[i].rest);
        if (!rows[i].taken)
            continue;
        assert_int_equal(call.kind, rows[i].call.kind);
        assert_int_equal(call.pointer, rows[i].call.pointer);
        assert_int_equal(call.size, rows[i].call.size);
        assert_int_equal(call.align, rows[i].call.align);
    }
}

/* Every cut of a real file can be read. */
static void test_cuts(void **state)
{
    (void)state;
    char text[5000];
    FILE *f = fopen(TAPOOL_ROOT "/tests/data/valgrind/calls.txt", "r");
    assert_non_null(f);
    size_t whole = fread(text, 1, sizeof text, f);
    fclose(f);
    for (size_t size = 1; size <= whole; size++) {
        struct reading r = read_bytes(&tp_format_valgrind, text, size, false);
        assert_int_equal(r.rc, TP_OK);
        forget(&r);
    }
}

static void test_probe(void **state)
{
    (void)state;
#define CALL P "malloc(8) = 0x10\n"
#define HEAD "==7== Using Valgrind-3.19.0\n"
    static const struct {
        const char *text;
        int score;
    } rows[] = {
        {HEAD CALL, 96},           {CALL CALL CALL, 80}, {"hello\n" CALL, 60},
        {HEAD "hello\n", 30},      {"--7-- hello\n", 0}, {"==7== Command: x\n", 0},
        {"malloc(8) = 0x10\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            tp_format_valgrind.probe((const unsigned char *)rows[i].text, strlen(rows[i].text)),
            rows[i].score);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_file),   cmocka_unit_test(test_times),
        cmocka_unit_test(test_calls),       cmocka_unit_test(test_halves),
        cmocka_unit_test(test_other_lines), cmocka_unit_test(test_processes),
        cmocka_unit_test(test_nothing),     cmocka_unit_test(test_cut_call),
        cmocka_unit_test(test_cuts),        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
