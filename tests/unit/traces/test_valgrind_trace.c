/* valgrind's --trace-malloc=yes: real files, calls in two halves, processes, and other lines. */
#include "tests/unit/importer_rig.h"

#include "traces/formats/valgrind/valgrind_call.h"

extern const struct tp_format tp_format_valgrind;

static const struct importer valgrind = {.format = &tp_format_valgrind, .kind = "host"};

#define P "--7-- "

TEST(test_real_file)
{
    static const struct importer_row row = {
        .path = TAPOOL_ROOT "/tests/data/valgrind/calls.txt",
        .program = "alloc 0 72704 a4 @1; alloc 1 10 a4 @2; alloc 2 1 a4 @3; alloc 3 21 a4 @4; "
                   "realloc 1 99 a4 @5; free 1 99 a4 @6; alloc 1 20 a4 @7; alloc 4 100 a6 @8; "
                   "alloc 5 50 a5 @9; alloc 6 4 a4 @12; alloc 7 40 a4 @13; alloc 8 64 a6 @14; "
                   "alloc 9 192 a6 @15; alloc 10 4 a4 @16; alloc 11 28 a4 @17; alloc 12 16 a4 @18; "
                   "alloc 13 288 a4 @19; alloc 14 12 a4 @20; free 14 12 a4 @21; free 12 16 a4 @22; "
                   "free 2 1 a4 @25; free 3 21 a4 @26; free 1 20 a4 @27; free 4 100 a6 @28; "
                   "free 5 50 a5 @29; free 6 4 a4 @30; free 7 40 a4 @31; free 8 64 a6 @32; "
                   "free 9 192 a6 @33; free 10 4 a4 @34; free 11 28 a4 @35; free 0 72704 a4 @36; "
                   "free 13 288 a4 @37; zero_size=1 ",
        .name = "./calls",
        .capture = "valgrind --trace-malloc=yes (text)",
        .unknown = "times, threads",
        .remarks = "Lines of the program's own words are left out: 2.\n"
                   "Failed requests of more than 2^48 bytes are left out: 2."};
    struct reading r = check_reading(&valgrind, &row);
    assert_int_equal(strncmp(r.meta.space, "process ", 8), 0);
    assert_non_null(strstr(r.meta.left_out, "(5 events")); /* the child, with two of the parent's */
    forget(&r);
}

static const struct importer_row times[] = {
    {.path = TAPOOL_ROOT "/tests/data/valgrind/stamped.txt",
     .facts = "time_known=1 events=35 ",
     .unknown = "threads"},
    REPLAYS("--00:00:00:01.500 7-- malloc(8) = 0x10\n--00:00:00:03.501 7-- free(0x10)\n",
            "alloc 0 8 a4 +1500000000 @1; free 0 8 a4 +2001000000 @2; "),
    READS("--01:00:00:00.000 7-- malloc(8) = 0x10\n--01:23:59:59.999 7-- free(0x10)\n",
          .facts = "gaps_ns=172799999000000 "),
};

static const struct importer_row calls[] = {
    REPLAYS(P "malloc(8) = 0x4A40\r\n" P "free(0x4A40)\r\n", "alloc 0 8 a4 @1; free 0 8 a4 @2; "),
    REPLAYS(P "calloc(3,7) = 0x10\n" P "cfree(0x10)\n" P "free(0x0)\n",
            "alloc 0 21 a4 @1; free 0 21 a4 @2; "),
    REPLAYS(P "realloc(0x0,9)malloc(9) = 0x10\n" P "realloc(0x10, 5) = 0x20\n" P
              "realloc(0x20,0)free(0x20)\n" P " = 0\n",
            "alloc 0 9 a4 @1; realloc 0 5 a4 @2; free 0 5 a4 @3; "),
    /* newer releases print these at once */
    REPLAYS(P "realloc(0x0,9) = 0x10\n" P "realloc(0x10,0) = 0x0\n" P "malloc(9) = 0x10\n",
            "alloc 0 9 a4 @1; free 0 9 a4 @2; alloc 0 9 a4 @3; "),
    REPLAYS(P "memalign(al 64, size 100) = 0x10\n" P "aligned_alloc(al 48, size 1) = 0x20\n" P
              "_ZnwmSt11align_val_t(size 4, al 128) = 0x30\n" P
              "posix_memalign(al 0, size 2) = 0x40\n",
            "alloc 0 100 a6 @1; alloc 1 1 a6 @2; alloc 2 4 a7 @3; alloc 3 2 a4 @4; "),
    REPLAYS(P "__builtin_vec_new(4) = 0x10\n" P "new(5) = 0x20\n" P "delete[](0x10)\n" P
              "_ZdlPvmSt11align_val_t(0x20)\n",
            "alloc 0 4 a4 @1; alloc 1 5 a4 @2; free 0 4 a4 @3; free 1 5 a4 @4; "),
    /* failures; the block of a failed realloc stays */
    REPLAYS(P "malloc(4096) = 0x0\n" P "malloc(8) = 0x10\n" P "realloc(0x10,512) = 0x0\n" P
              "free(0x10)\n",
            "note 0 4096 a1 @1; alloc 0 8 a4 @2; note 0 512 a1 @3; free 0 8 a4 @4; "),
    /* the object that was where another one moves to */
    REPLAYS(P "malloc(8) = 0x10\n" P "malloc(9) = 0x20\n" P "realloc(0x10,10) = 0x20\n" P
              "free(0x20)\n",
            "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 1 9 a4 @3; realloc 0 10 a4 @3; "
            "free 0 10 a4 @4; double_alloc=1 "),
    REPLAYS(P "free(0x99)\n" P "malloc(8) = 0x10\n", "alloc 0 8 a4 @2; unknown_free=1 "),
    /* events of which nothing is made */
    REPLAYS(P "free(0x0)\n" P "malloc(0) = 0x0\n" P "malloc(8) = 0x10\n", "alloc 0 8 a4 @3; "),
};

/* Halves of calls of several threads, and calls that never get their result. */
#define TEN_OF(what) what what what what what what what what what what
static const struct importer_row halves[] = {
    REPLAYS(P "malloc(8)malloc(9) = 0x10\n" P " = 0x20\n" P "free(0x20)\n",
            "alloc 0 9 a4 @1; alloc 1 8 a4 @2; free 1 8 a4 @3; "),
    REPLAYS(P "malloc(8)" P "malloc(9) = 0x10\n", "truncated=1 "),
    READS(P "malloc(8)\n" P "malloc(9) = 0x10\n" P " = 0x20 = 0x30\n", .facts = "events=2 ",
          .remarks = NOT_SAID),
    READS(TEN_OF(P "malloc(8)\n" P "malloc(8)\n" P "malloc(8)\n") P "malloc(9) = 0x10\n" P
                                                                    "free(0x1",
          .facts = "events=1 ",
          .remarks = "Calls without a result are left out: 30.\nTorn lines are left out: 1."),
};

/* Two processes that write at once, or a program that writes within a line of valgrind's: the
 * beginning of a call that is lost, one of a process that is in no trace, lines that are of
 * neither, and words of the program. */
#define AMID(line, repaired, said)                                                                 \
    REPLAYS(P "malloc(8) = 0x20\n" line, "alloc 0 8 a4 @1; " repaired, .remarks = said)
#define TORN(line)    AMID(line, "truncated=1 ", "Torn lines are left out: 1.")
#define ASIDE(line)   AMID(line, "", "Torn lines are left out: 1.")
#define SILENT(line)  AMID(line, "", NOT_SAID)
#define FOREIGN(line) AMID(line, "", "Lines of the program's own words are left out: 1.")
static const struct importer_row torn[] = {
    TORN(P "mall\n"),
    TORN(P "malloc\n"),
    TORN(P "free(0x1\n"),
    TORN(P "free(0x1"), /* the end of the file */
    TORN(P "_ZdlPvm(0x1\n"),
    TORN(P " = \n"),
    AMID(P "malloc(8) = 0x10 = \n", "alloc 1 8 a4 @2; truncated=1 ", "Torn lines are left out: 1."),
    AMID(P "malloc(8)--8-- malloc(9) = 0x10\n", "truncated=1 ",
         "Calls without a result are left out: 1.\nTorn lines are left out: 1."),
    ASIDE("--9-- free(0x\n"), /* of a process that is in no trace */
    ASIDE("--25\n"),
    ASIDE("--00:00:0\n"),
    ASIDE("--25--2548-- malloc(8) = 0x10\n"),
    ASIDE("words 7-- free(0x20)\n"),
    SILENT(P "REDIR: 0x1 (libc.so.6:malloc) redirected\n"),
    SILENT(P "Reading syms from /usr/bin/x\n"),
    SILENT(P "\n"),
    FOREIGN("--\n"),
    FOREIGN("--option=malloc(8)\n"),
    FOREIGN("mmap(8) = 0x10\n"),
    AMID("words" P "free(0x20)\n", "free 0 8 a4 @2; ",
         "Lines of the program's own words are left out: 1."),
    REFUSED(P "malloc(8) = 0x20\n" P "free(0x\n" P "free(0x20)\n",
            "x.json:2: event 2: the call on this line is torn", .strict = true),
};

TEST(test_other_lines)
{
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
    check_row(&valgrind, &(struct importer_row){
                             .text = text,
                             .size = size,
                             .program = "alloc 0 8 a4 @1; alloc 1 9 a4 @2; free 0 8 a4 @3; ",
                             .name = "./a b",
                             .remarks = "Lines of the program's own words are left out: 3.\n"
                                        "Torn lines are left out: 1.",
                             .taken = NOT_SAID});
    free(text);
}

static const char two[] = "--7-- malloc(8) = 0x10\n--8-- malloc(9) = 0x10\n--8-- free(0x10)\n"
                          "--8-- malloc(7) = 0x10\n--7-- free(0x10)\n";
static const struct importer_row processes[] = {
    REPLAYS(two, "alloc 0 9 a4 @1; free 0 9 a4 @2; alloc 0 7 a4 @3; "),
    REPLAYS(two, "alloc 0 8 a4 @1; free 0 8 a4 @2; ", .space = "Process 7"),
    REPLAYS(two,
            "alloc 0 8 a4 @1; alloc 1 9 a4 s1 d1 @2; free 1 9 a4 s1 d1 @3; "
            "alloc 1 7 a4 s1 d1 @4; free 0 8 a4 @5; ",
            .space = "all"),
    REFUSED(two, "x.json: no memory space is called 'process 9'", .space = "process 9",
            .hint = "it has: process 7, process 8"),
};

/* More than there are places for. */
TEST(test_many_processes)
{
    char *many = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&many, &size);
    assert_non_null(f);
    for (int i = 1; i <= 258; i++)
        fprintf(f, "--%d-- malloc(%d) = 0x10\n", i, i);
    fclose(f);
    check_row(&valgrind, &(struct importer_row){
                             .text = many,
                             .size = size,
                             .taken = "process 256",
                             .remarks = "Calls of processes after the 256th are left out: 2."});
    free(many);
}

#define DID_NOT "the program did not start: "
static const struct importer_row nothing[] = {
    READS("==7== Memcheck\n==7== Using Valgrind-3.19.0\nhello\n",
          .nothing = "valgrind ran without --trace-malloc=yes"),
    READS("valgrind: ./none: No such file or directory\n",
          .nothing = DID_NOT "./none: No such file or directory"),
    READS("==7== Using Valgrind-3.19.0\n==7== Command: x\n\nvalgrind:  Fatal error at startup: a "
          "function redirection\nvalgrind:  cannot be set up.\n",
          .nothing = DID_NOT "Fatal error at startup: a function redirection"),
    READS("==7== Using Valgrind-3.19.0\nx: error while loading shared libraries: liby.so: cannot "
          "open\n",
          .nothing = DID_NOT "x: error while loading shared libraries: liby.so: cannot open"),
    /* such words of a program that did start are its own */
    READS(P "malloc(8) = 0x10\nvalgrind: none\n", .nothing = NOT_SAID),
};

/* What is taken of a text, and what is left. */
TEST(test_cut_call)
{
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
TEST(test_cuts)
{
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

#define CALL P "malloc(8) = 0x10\n"
#define HEAD "==7== Using Valgrind-3.19.0\n"
static const struct importer_score scores[] = {
    SCORE(HEAD CALL, 96),           SCORE(CALL CALL CALL, 80), SCORE("hello\n" CALL, 60),
    SCORE(HEAD "hello\n", 30),      SCORE("--7-- hello\n", 0), SCORE("==7== Command: x\n", 0),
    SCORE("malloc(8) = 0x10\n", 0),
};

TESTS(ROWS(valgrind, times), ROWS(valgrind, calls), ROWS(valgrind, halves),
      ROWS(valgrind, processes), ROWS(valgrind, nothing), SCORES(valgrind, scores),
      ROWS(valgrind, torn))
