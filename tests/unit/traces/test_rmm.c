/* RMM's logs: three forms, the clock of a day, rows out of order, and what is wrong with rows. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_rmm;

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"
#define DATA   TAPOOL_ROOT "/tests/data/rmm/"

static const struct importer rmm = {.format = &tp_format_rmm, .kind = "device"};

static const struct importer_row real_files[] = {
    {.path = DATA "doc_record_replay_sample.csv",
     .strict = true,
     .program = "alloc 0 1048576 a8 @1; free 0 1048576 a8 +16000 @2; ",
     .capture = "RMM log (CSV)",
     .unknown = "devices, alignment"},
    {.path = DATA "doc_memory_debugging_sample_noheader.csv",
     .strict = true,
     .program = "alloc 0 256 a8 @1; idle 0 0 +4294967295 @2; idle 0 0 +4294967295 @2; "
                "free 0 256 a8 t1 +4073407410 @2; ",
     .capture = "RMM log (CSV without its header, as printed to a stream)",
     .unknown = "devices, alignment"},
    {.path = DATA "issue75_old_format_2019_excerpt.csv",
     .strict = true,
     .program = "alloc 0 720984 a8 @1; alloc 1 5056 a8 +17100000 @2; "
                "alloc 2 101376 a8 +100000 @3; alloc 3 23246208 a8 +200000 @4; "
                "alloc 4 23246176 a8 +2100000 @5; alloc 5 5811544 a8 +100000 @6; "
                "alloc 6 5120 a8 +100000 @7; ",
     .capture = "RMM log (CSV, the form before 2020)",
     .unknown = "threads, alignment"},
};

/* Streams are hexadecimal handles, threads are numbered, a null pointer is nothing. */
static const struct importer_row rows[] = {
    REPLAYS(
        HEADER "2342727,12:34:56.000123,allocate,0x7f0,1024,0\r\n"
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
        "16 a8 t1 s1 +1000 @8; "),
    REPLAYS(HEADER "9,12:34:56.0,allocate,(nil),0,0x2\n9,12:34:56.0,allocate,0x10,8,0x2\n",
            "alloc 0 8 a8 @2; "), /* on the first stream */
    /* as RMM's guide has it */
    REPLAYS(HEADER "140573312345856,1634567890.123456,allocate,0x7f8a40000000,1024,0x7f8a38001020\n"
                   "140573312345856,1634567890.345678,deallocate,7f8a40000000,1024,7f8a38001020\n",
            "alloc 0 1024 a8 @1; free 0 1024 a8 +222222000 @2; "),
    READS(HEADER "9,12:34:56.0,allocate failure,(nil),999999999999999,0\n",
          .remarks = "Failed requests of more than 2^48 bytes are left out: 1."),
};

static const struct importer_row times[] = {
    /* over midnight, and a row of the day before that is written late */
    REPLAYS(HEADER "1,23:59:59.999999,allocate,0x1,8,0\n"
                   "1,00:00:00.000001,allocate,0x2,8,0\n"
                   "1,23:59:59.999999,allocate,0x3,8,0\n"
                   "1,00:00:00.000002,free,0x1,8,0\n",
            "alloc 0 8 a8 @1; alloc 1 8 a8 +2000 @2; alloc 2 8 a8 @3; free 0 8 a8 +1000 @4; "
            "time_backwards=1 "),
    REPLAYS(HEADER "1,12:00:00.000005,allocate,0x1,8,0\n"
                   "2,12:00:00.000003,allocate,0x2,8,0\n"
                   "1,12:00:00.000006,free,0x1,8,0\n",
            "alloc 0 8 a8 @1; alloc 1 8 a8 t1 @2; free 0 8 a8 +1000 @3; time_backwards=1 "),
    /* before the first row, when the clock has moved on: one repair */
    REPLAYS(HEADER "1,12:00:00.000005,allocate,0x1,8,0\n"
                   "1,12:00:00.000006,allocate,0x2,8,0\n"
                   "1,12:00:00.000003,allocate,0x3,8,0\n"
                   "1,12:00:00.000007,free,0x1,8,0\n",
            "alloc 0 8 a8 @1; alloc 1 8 a8 +1000 @2; alloc 2 8 a8 @3; free 0 8 a8 +1000 @4; "
            "time_backwards=1 "),
    /* days that end */
    READS(HEADER "1,20:00:00.0,allocate,0x1,8,0\n1,06:00:00.0,free,0x1,8,0\n"
                 "1,20:00:00.0,allocate,0x1,8,0\n1,06:00:00.0,free,0x1,8,0\n",
          .facts = "repairs=0 gaps_ns=122400000000000 "), /* 34 hours */
};

#define ROW(thread, us, action, pointer, size)                                                     \
#thread ",10:00:00.00000" #us "," action "," pointer "," #size ",0\n"

/* A free below the allocate that needed it. */
#define TWICE(end, then)                                                                           \
    REPLAYS(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32) end,        \
            "alloc 0 64 a8 @1; free 0 64 a8 t1 @2; alloc 0 32 a8 t1 @2; " then)
static const struct importer_row inverted[] = {
    REPLAYS(
        HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 2, "allocate", "0x10", 32)
            ROW(3, 3, "allocate", "0x20", 8) ROW(1, 1, "free", "0x10", 64)
                ROW(2, 4, "free", "0x10", 32) ROW(3, 5, "free", "0x20", 8),
        "alloc 0 64 a8 @1; free 0 64 a8 +2000 @2; alloc 0 32 a8 t1 @3; alloc 1 8 a8 t2 +1000 @4; "
        "free 0 32 a8 t1 +1000 @5; free 1 8 a8 t2 +1000 @6; inverted=1 "),
    /* two pointers at once */
    REPLAYS(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(1, 0, "allocate", "0x20", 65)
                ROW(2, 0, "allocate", "0x10", 32) ROW(2, 0, "allocate", "0x20", 33)
                    ROW(1, 0, "free", "0x20", 65) ROW(1, 0, "free", "0x10", 64),
            "alloc 0 64 a8 @1; alloc 1 65 a8 @2; free 0 64 a8 @3; alloc 0 32 a8 t1 @4; "
            "free 1 65 a8 @5; alloc 1 33 a8 t1 @6; inverted=2 "),
    /* not what it is about: the same thread, another size, another allocate, no free at all */
    TWICE(ROW(2, 0, "free", "0x10", 64), "free 0 32 a8 t1 @3; double_alloc=1 "),
    TWICE(ROW(1, 0, "free", "0x10", 63), "free 0 32 a8 @3; double_alloc=1 "),
    TWICE(ROW(3, 0, "allocate failure", "0x10", 64),
          "note 0 64 a1 @3; alloc 1 64 a8 @3; free 1 64 a8 @3; double_alloc=1 "),
    TWICE("", "double_alloc=1 "),
};

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
    struct reading r = read_text(&tp_format_rmm, text, false);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.repairs[TP_REPAIR_INVERTED], found ? 1 : 0);
    assert_int_equal(tp_program_facts(r.program)->events, between + 3);
    free(text);
    forget(&r);
}

TEST(test_bound)
{
    check_distance(255, true);
    check_distance(256, false);
}

#define R "1,10:00:00.0,"
#define WRONG(row, sentence)                                                                       \
    REFUSED(HEADER R "allocate,0x1,8,0\n" row "\n", "x.json:3: event 2: " sentence)
static const struct importer_row refusals[] = {
    WRONG("x,10:00:00.0,free,0x1,8,0", "'x' is not a valid thread"),
    WRONG("1,24:00:00.0,free,0x1,8,0", "'24:00:00.0' is not a valid time"),
    WRONG("1,10:60:00.0,free,0x1,8,0", "'10:60:00.0' is not a valid time"),
    WRONG("1,10:00:00.0x,free,0x1,8,0", "'10:00:00.0x' is not a valid time"),
    WRONG(R "frees,0x1,8,0",
          "'frees' is not a valid action ('allocate', 'free', 'allocate failure')"),
    WRONG(R "free,0xg,8,0", "'0xg' is not a valid pointer"),
    WRONG(R "free,0x1,-8,0", "'-8' is not a valid size"),
    WRONG(R "free,0x1,99999999999999999999,0", "'99999999999999999999' is not a valid size"),
    WRONG(R "free,0x1,8,", "the row ends before its stream"),
    WRONG(R "free,0x1,8", "'8' is not a valid size"),
    WRONG(R "free,0x1,8,0,0", "'' is not a valid end of the row"),
    WRONG("1", "'1' is not a valid thread"),
    REFUSED("hello\n", "x.json:1: 'hello' is neither header nor row of an RMM log"),
    REFUSED(HEADER R "free,0x1,8,0\n", "x.json:2: event 1 frees id 1, which is not live",
            .strict = true),
    REFUSED(HEADER R "allocate,0x1,8,0\n1,09:00:00.0,free,0x1,8,0\n",
            "x.json:3: event 2: time runs backwards: it is before that of the first row",
            .strict = true),
    REFUSED(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32)
                ROW(1, 0, "free", "0x10", 64),
            "x.json:3: event 2 allocates 0x10, which is live: thread 1 frees it on line 4",
            .strict = true),
    /* an error behind rows that were read ahead has its own number */
    REFUSED(HEADER ROW(1, 0, "allocate", "0x10", 64) ROW(2, 0, "allocate", "0x10", 32)
                ROW(1, 0, "allocate", "0x20", 64) "oh\n",
            "x.json:5: event 4: 'oh' is not a valid thread"),
    REFUSED(HEADER R "allocate,0x1,8,0\n" R "fr",
            "x.json:3: event 2: the file ends in the middle of this line", .strict = true),
};

#define OLDER                                                                                      \
    "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,"    \
    "Start,End,Elapsed,Location\n"
static const char older[] =
    OLDER "Alloc,0,0x7fae06600000,0,80,0,0,1,1.10549,1.1074,0.00191666,driver.py:683\n"
          "Alloc,1,0x7fae06700000,0,81,0,0,1,1.10549,9.5e+00,0.00191666,a,b\n"
          "Free,0,0x7fae06600000,0,0,0,0,0,1.10798,1.2e1,0.00122238,utils.py:678\n";
static const struct importer_row older_form[] = {
    REPLAYS(older, "alloc 0 80 a8 @1; idle 0 0 +4294967295 @2; alloc 1 81 a8 s1 d1 +4097632705 @2; "
                   "free 0 80 a8 +2500000000 @3; "),
    /* a handle on device 1 that, mixed with the device, is a handle on device 0 */
    REPLAYS(OLDER "Alloc,0,0x10,0x9e3779b97f4a7c15,80,0,0,1,1,1,1,x\n"
                  "Alloc,1,0x20,0,81,0,0,1,1,1,1,x\n",
            "alloc 0 80 a8 @1; alloc 1 81 a8 s1 d1 @2; "),
    REFUSED(OLDER "Realloc,0,0x1,0,80,0,0,1,1,1,1,x\n",
            "x.json:2: event 1: 'Realloc' is not a valid event ('Alloc', 'Free')"),
    REFUSED(OLDER "Alloc,0,0x1,0,80,0,0,1,1,1e99,1,x\n",
            "x.json:2: event 1: '1e99' is not a valid time in seconds"),
    REFUSED(OLDER "Alloc,0,0x1,0,80,0,0,1,1,,1,x\n",
            "x.json:2: event 1: '' is not a valid time in seconds"),
    /* one of the devices, or one that is not there */
    READS(older, .device = 1 + 1, .facts = "events=1 "),
    READS(older, .device = 2 + 1, .facts = "events=0 ",
          .nothing = "none of its 3 rows is of device 2"),
};

/* Every cut of a file is read to where it is whole, or refused in its header. */
static const char whole[] = HEADER R "allocate,0x1,8,0x10\n" R "free,0x1,8,0x10\n";

static const struct importer_score scores[] = {
    SCORE(HEADER, 97),
    SCORE("\xef\xbb\xbf" HEADER, 97),
    SCORE(OLDER, 97),
    SCORE(R "free,0x1,8,0\n" R "free,0x1,8,0\n", 80),
    SCORE(R "free,0x1,8,0\n", 60),
    SCORE(R "free,0x1,8,0\nhello\n", 0),
    SCORE(R "free,0x1,8,0\n1,10", 60),
    SCORE("Thread,Time,Action\n", 0),
    SCORE("id,lower,upper,size\n", 0),
    SCORE("1,2,3,4,5,6\n", 0),
};

TESTS(ROWS(rmm, real_files), ROWS(rmm, rows), ROWS(rmm, times), ROWS(rmm, inverted),
      ROWS(rmm, refusals), ROWS(rmm, older_form),
      CUTS(rmm, whole, sizeof HEADER - 2, sizeof HEADER - 2), SCORES(rmm, scores))
