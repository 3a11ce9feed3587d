/* RMM's logs: three forms, the clock of a day, rows out of order, and what is wrong with rows. */
#include "tests/unit/trace_fixture.h"

extern const struct tp_format tp_format_rmm;

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"
#define DATA   TAPOOL_ROOT "/tests/data/rmm/"

static struct reading must_read(const char *text)
{
    struct reading r = read_text(&tp_format_rmm, text, false);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    assert_int_equal(r.meta.kind, TP_KIND_DEVICE);
    return r;
}

/* `repairs`: how many of kind `repair`, and none of the others. */
static void check(const char *text, const char *program, int repair, uint64_t repairs)
{
    char got[4096];
    struct reading r = must_read(text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(r.repairs[i], i == repair ? repairs : 0);
    forget(&r);
}

static struct reading read_data(const char *path)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    struct reading r = read_input(&tp_format_rmm, in, true);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    tp_input_close(in);
    return r;
}

static void test_real_files(void **state)
{
    (void)state;
    static const struct {
        const char *path, *program, *capture, *unknown;
    } rows[] = {
        {DATA "doc_record_replay_sample.csv",
         "alloc 0 1048576 a8 @1; free 0 1048576 a8 +16000 @2; ", "RMM log (CSV)",
         "devices, alignment"},
        {DATA "doc_memory_debugging_sample_noheader.csv",
         "alloc 0 256 a8 @1; idle 0 0 +4294967295 @2; idle 0 0 +4294967295 @2; free 0 256 a8 t1 "
         "+4073407410 @2; ",
         "RMM log (CSV without its header, as printed to a stream)", "devices, alignment"},
        {DATA "issue75_old_format_2019_excerpt.csv",
         "alloc 0 720984 a8 @1; alloc 1 5056 a8 +17100000 @2; alloc 2 101376 a8 +100000 @3; "
         "alloc 3 23246208 a8 +200000 @4; alloc 4 23246176 a8 +2100000 @5; "
         "alloc 5 5811544 a8 +100000 @6; alloc 6 5120 a8 +100000 @7; ",
         "RMM log (CSV, the form before 2020)", "threads, alignment"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char got[4096];
        struct reading r = read_data(rows[i].path);
        write_program(r.program, got, sizeof got);
        assert_string_equal(got, rows[i].program);
        assert_string_equal(r.meta.capture, rows[i].capture);
        assert_string_equal(r.meta.unknown, rows[i].unknown);
        forget(&r);
    }
}

/* Streams are hexadecimal handles, threads are numbered, a null pointer is nothing. */
static void test_rows(void **state)
{
    (void)state;
    check(HEADER "2342727,12:34:56.000123,allocate,0x7f0,1024,0\r\n"
                 "99,12:34:56:000124,allocate,0X7F8,16,0x55d0a0\n"
                 "\n"
                 "2342727,12:34:56.0001255,free,0x7f0,1024,0x0\n"
                 "99,12:34:56.000126,allocate failure,(nil),4096,0x2\n"
                 "99,12:34:56.000126,allocate,(nil),0,0x2\n"
                 "99,12:34:56.000126,free,(nil),0,0x2\n"
                 "99,12:34:56.000126,allocate failure,(nil),18446744073709551615,0x2\n"
                 "99,12:34:56.000127,free,7f8,16,55d0a0\n",
          "alloc 0 1024 a8 @1; alloc 1 16 a8 t1 s1 +1000 @2; free 0 1024 a8 +1500 @3; "
          "note 0 4096 a1 t1 s2 +500 @4; alloc 0 4096 a8 t1 s2 @4; free 0 4096 a8 t1 s2 @4; free 1 "
          "16 a8 t1 s1 +1000 @8; ",
          -1, 0);
    check(HEADER "9,12:34:56.0,allocate,(nil),0,0x2\n9,12:34:56.0,allocate,0x10,8,0x2\n",
          "alloc 0 8 a8 @2; ", -1, 0); /* on the first stream */
    /* as RMM's guide has it */
    check(HEADER "140573312345856,1634567890.123456,allocate,0x7f8a40000000,1024,0x7f8a38001020\n"
                 "140573312345856,1634567890.345678,deallocate,7f8a40000000,1024,7f8a38001020\n",
          "alloc 0 1024 a8 @1; free 0 1024 a8 +222222000 @2; ", -1, 0);
    struct reading r = must_read(HEADER "9,12:34:56.0,allocate failure,(nil),999999999999999,0\n");
    assert_string_equal(r.meta.remarks, "Failed requests of more than 2^48 bytes are left out: 1.");
    forget(&r);
}

static void test_clock(void **state)
{
    (void)state;
    /* over midnight, and a row of the day before that is written late */
    check(HEADER "1,23:59:59.999999,allocate,0x1,8,0\n"
                 "1,00:00:00.000001,allocate,0x2,8,0\n"
                 "1,23:59:59.999999,allocate,0x3,8,0\n"
                 "1,00:00:00.000002,free,0x1,8,0\n",
          "alloc 0 8 a8 @1; alloc 1 8 a8 +2000 @2; alloc 2 8 a8 @3; free 0 8 a8 +1000 @4; ",
          TP_REPAIR_TIME_BACKWARDS, 1);
    check(HEADER "1,12:00:00.000005,allocate,0x1,8,0\n"
                 "2,12:00:00.000003,allocate,0x2,8,0\n"
                 "1,12:00:00.000006,free,0x1,8,0\n",
          "alloc 0 8 a8 @1; alloc 1 8 a8 t1 @2; free 0 8 a8 +1000 @3; ", TP_REPAIR_TIME_BACKWARDS,
          1);
    /* before the first row, when the clock has moved on: one repair */
    check(HEADER "1,12:00:00.000005,allocate,0x1,8,0\n"
                 "1,12:00:00.000006,allocate,0x2,8,0\n"
                 "1,12:00:00.000003,allocate,0x3,8,0\n"
                 "1,12:00:00.000007,free,0x1,8,0\n",
          "alloc 0 8 a8 @1; alloc 1 8 a8 +1000 @2; alloc 2 8 a8 @3; free 0 8 a8 +1000 @4; ",
          TP_REPAIR_TIME_BACKWARDS, 1);
    struct reading r = must_read(HEADER "1,20:00:00.0,allocate,0x1,8,0\n"
                                        "1,06:00:00.0,free,0x1,8,0\n"
                                        "1,20:00:00.0,allocate,0x1,8,0\n"
                                        "1,06:00:00.0,free,0x1,8,0\n");
    assert_int_equal(r.repairs[TP_REPAIR_TIME_BACKWARDS], 0);
    struct tp_cursor *c = NULL;
    struct tp_window w;
    uint64_t ns = 0;
    assert_int_equal(tp_cursor_open(r.program, &c, NULL), TP_OK);
    while (tp_cursor_next(c, &w, NULL) == 1)
        for (uint32_t i = 0; i < w.count; i++)
            ns += w.insns[i].gap_ns;
    tp_cursor_close(c);
    assert_int_equal(ns, UINT64_C(34) * 3600 * 1000000000);
    forget(&r);
}

#define ROW(thread, us, action, pointer, size)                                                     \
#thread ",10:00:00.00000" #us "," action "," pointer "," #size ",0\n"

/* A free below the allocate that needed it. */
static void test_inverted(void **state)
{
    (void)state;
    check(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 2, "allocate", "0x10", 32)
              ROW(3, 3, "allocate", "0x20", 8) ROW(1, 1, "free", "0x10", 64)
                  ROW(2, 4, "free", "0x10", 32) ROW(3, 5, "free", "0x20", 8),
          "alloc 0 64 a8 @1; free 0 64 a8 +2000 @2; alloc 0 32 a8 t1 @3; alloc 1 8 a8 t2 +1000 @4; "
          "free 0 32 a8 t1 +1000 @5; free 1 8 a8 t2 +1000 @6; ",
          TP_REPAIR_INVERTED, 1);
    /* two pointers at once */
    check(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(1, 0, "allocate", "0x20", 65)
              ROW(2, 0, "allocate", "0x10", 32) ROW(2, 0, "allocate", "0x20", 33)
                  ROW(1, 0, "free", "0x20", 65) ROW(1, 0, "free", "0x10", 64),
          "alloc 0 64 a8 @1; alloc 1 65 a8 @2; free 0 64 a8 @3; alloc 0 32 a8 t1 @4; "
          "free 1 65 a8 @5; alloc 1 33 a8 t1 @6; ",
          TP_REPAIR_INVERTED, 2);
    /* not what it is about: the same thread, another size, another allocate, no free at all */
    static const char *const ends[] = {ROW(2, 0, "free", "0x10", 64), ROW(1, 0, "free", "0x10", 63),
                                       ROW(3, 0, "allocate failure", "0x10", 64), ""};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32) "%s",
                 ends[i]);
        struct reading r = must_read(text);
        assert_int_equal(r.repairs[TP_REPAIR_INVERTED], 0);
        assert_int_equal(r.repairs[TP_REPAIR_DOUBLE_ALLOC], 1);
        forget(&r);
    }
}

/* The free stands `between` rows below: the last distance that is looked at, and the first that is
 * not. */
static void check_distance(int between, bool found)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32), f);
    for (int i = 0; i < between; i++)
        fprintf(f, "3,10:00:00.0,allocate,0x%x,8,0\n", 0x1000 + i);
    fputs(ROW(1, 0, "free", "0x10", 64), f);
    fclose(f);
    struct reading r = must_read(text);
    assert_int_equal(r.repairs[TP_REPAIR_INVERTED], found ? 1 : 0);
    assert_int_equal(tp_program_facts(r.program)->events, between + 3);
    free(text);
    forget(&r);
}

static void test_bound(void **state)
{
    (void)state;
    check_distance(255, true);
    check_distance(256, false);
}

static void refuse(const char *text, bool strict, const char *sentence)
{
    struct reading r = read_text(&tp_format_rmm, text, strict);
    if (r.rc == TP_OK)
        forget(&r);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, sentence);
}

static void test_refusals(void **state)
{
    (void)state;
#define R "1,10:00:00.0,"
    static const struct {
        const char *row, *sentence;
    } rows[] = {
        {"x,10:00:00.0,free,0x1,8,0", "'x' is no thread"},
        {"1,24:00:00.0,free,0x1,8,0", "'24:00:00.0' is no time"},
        {"1,10:60:00.0,free,0x1,8,0", "'10:60:00.0' is no time"},
        {"1,10:00:00.0x,free,0x1,8,0", "'10:00:00.0x' is no time"},
        {R "frees,0x1,8,0", "'frees' is no action ('allocate', 'free', 'allocate failure')"},
        {R "free,0xg,8,0", "'0xg' is no pointer"},
        {R "free,0x1,-8,0", "'-8' is no size"},
        {R "free,0x1,99999999999999999999,0", "'99999999999999999999' is no size"},
        {R "free,0x1,8,", "the row ends before its stream"},
        {R "free,0x1,8", "'8' is no size"},
        {R "free,0x1,8,0,0", "'' is no end of the row"},
        {"1", "'1' is no thread"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[200], sentence[200];
        snprintf(text, sizeof text, HEADER R "allocate,0x1,8,0\n%s\n", rows[i].row);
        snprintf(sentence, sizeof sentence, "x.json:3: event 2: %s", rows[i].sentence);
        refuse(text, false, sentence);
    }
    refuse("hello\n", false, "x.json:1: 'hello' is neither header nor row of an RMM log");
    refuse(HEADER R "free,0x1,8,0\n", true, "x.json:2: event 1 frees id 1, which is not live");
    refuse(HEADER R "allocate,0x1,8,0\n1,09:00:00.0,free,0x1,8,0\n", true,
           "x.json:3: event 2: time runs backwards: it is before that of the first row");
    refuse(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32)
               ROW(1, 0, "free", "0x10", 64),
           true, "x.json:3: event 2 allocates 0x10, which is live: thread 1 frees it on line 4");
    /* an error behind rows that were read ahead has its own number */
    refuse(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32)
               ROW(1, 0, "allocate", "0x20", 64) "oh\n",
           false, "x.json:5: event 4: 'oh' is no thread");
    refuse(HEADER R "allocate,0x1,8,0\n" R "fr", true,
           "x.json:3: event 2: the file ends in the middle of this line");
}

static void test_older_form(void **state)
{
    (void)state;
#define OLDER                                                                                      \
    "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,"    \
    "Start,End,Elapsed,Location\n"
    static const char text[] =
        OLDER "Alloc,0,0x7fae06600000,0,80,0,0,1,1.10549,1.1074,0.00191666,driver.py:683\n"
              "Alloc,1,0x7fae06700000,0,81,0,0,1,1.10549,9.5e+00,0.00191666,a,b\n"
              "Free,0,0x7fae06600000,0,0,0,0,0,1.10798,1.2e1,0.00122238,utils.py:678\n";
    check(text,
          "alloc 0 80 a8 @1; idle 0 0 +4294967295 @2; alloc 1 81 a8 s1 d1 +4097632705 @2; "
          "free 0 80 a8 +2500000000 @3; ",
          -1, 0);
    /* a handle on device 1 that, mixed with the device, is a handle on device 0 */
    check(OLDER "Alloc,0,0x10,0x9e3779b97f4a7c15,80,0,0,1,1,1,1,x\n"
                "Alloc,1,0x20,0,81,0,0,1,1,1,1,x\n",
          "alloc 0 80 a8 @1; alloc 1 81 a8 s1 d1 @2; ", -1, 0);
    refuse(OLDER "Realloc,0,0x1,0,80,0,0,1,1,1,1,x\n", false,
           "x.json:2: event 1: 'Realloc' is no event that can be replayed ('Alloc', 'Free')");
    refuse(OLDER "Alloc,0,0x1,0,80,0,0,1,1,1e99,1,x\n", false,
           "x.json:2: event 1: '1e99' is no time in seconds");
    refuse(OLDER "Alloc,0,0x1,0,80,0,0,1,1,,1,x\n", false,
           "x.json:2: event 1: '' is no time in seconds");

    for (int device = 1; device <= 2; device++) { /* one of them, or one that is not there */
        struct tp_input *in = NULL;
        assert_int_equal(tp_input_memory("x.json", text, sizeof text - 1, 0, &in, NULL), TP_OK);
        struct reading r =
            read_input_as(&tp_format_rmm, in, false, &(struct tp_read_opts){.device = device});
        assert_int_equal(r.rc, TP_OK);
        assert_int_equal(tp_program_facts(r.program)->events, device == 1 ? 1 : 0);
        if (device == 2)
            assert_string_equal(r.meta.nothing, "none of its 3 rows is of device 2");
        forget(&r);
        tp_input_close(in);
    }
}

/* Every cut of a file is read to where it is whole, or refused in its header. */
static void test_cuts(void **state)
{
    (void)state;
    static const char text[] = HEADER R "allocate,0x1,8,0x10\n" R "free,0x1,8,0x10\n";
    for (size_t size = 1; size < sizeof text; size++) {
        struct reading r = read_bytes(&tp_format_rmm, text, size, false);
        assert_int_equal(r.rc, size < strlen(HEADER) - 1 ? TP_EINPUT : TP_OK);
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
        {HEADER, 97},
        {"\xef\xbb\xbf" HEADER, 97},
        {OLDER, 97},
        {R "free,0x1,8,0\n" R "free,0x1,8,0\n", 80},
        {R "free,0x1,8,0\n", 60},
        {R "free,0x1,8,0\nhello\n", 0},
        {R "free,0x1,8,0\n1,10", 60},
        {"Thread,Time,Action\n", 0},
        {"id,lower,upper,size\n", 0},
        {"1,2,3,4,5,6\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            tp_format_rmm.probe((const unsigned char *)rows[i].text, strlen(rows[i].text)),
            rows[i].score);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_files), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_clock),      cmocka_unit_test(test_inverted),
        cmocka_unit_test(test_bound),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_older_form), cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
