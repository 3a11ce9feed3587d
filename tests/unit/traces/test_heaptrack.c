/* heaptrack's two forms: real files of one program, what each line does, and what is wrong. */
#include "tests/unit/importer_rig.h"

#include "traces/places/place_table.h"

extern const struct tp_format tp_format_heaptrack;

static const struct importer heaptrack = {
    .format = &tp_format_heaptrack,
    .kind = "host",
    .unknown = "threads, alignment, times (steps of 10 ms), reallocs"};

/* The same run, raw and interpreted. */
#define RAW         .path = TAPOOL_ROOT "/tests/fuzz/corpus/heaptrack/raw"
#define INTERPRETED .path = TAPOOL_ROOT "/tests/fuzz/corpus/heaptrack/specimen"

static const struct importer_row a_block_of_0_bytes_is_dirty_input[] = {
    {RAW, .strict = true, .error_part = "allocates 0 bytes"},
    {INTERPRETED, .strict = true, .error_part = "allocates 0 bytes"},
};

TEST(both_forms_say_the_same)
{
    static const struct importer_row forms[] = {
        {RAW, .name = "./program two", .capture = "heaptrack recording"},
        {INTERPRETED, .name = "./program two", .capture = "heaptrack recording, interpreted",
         .remarks_part = "youngest"}};
    uint64_t peak[2], allocs[2], frees[2];
    for (int i = 0; i < 2; i++) {
        struct reading r = check_reading(&heaptrack, &forms[i]);
        const struct tp_program_facts *f = tp_program_facts(r.program);
        peak[i] = tp_program_demand(r.program, 0)->bytes;
        allocs[i] = f->ops[TP_ALLOC];
        frees[i] = f->ops[TP_FREE];
        assert_int_equal(i != 0, strstr(r.meta.remarks, "youngest") != NULL);
        forget(&r);
    }
    assert_int_equal(peak[0], peak[1]);
    assert_int_equal(allocs[0], allocs[1]);
    assert_int_equal(frees[0], frees[1]);
    assert_true(allocs[0] > 15 && frees[0] > 10 && peak[0] > 300000);
}

static const struct importer_row lines[] = {
    REPLAYS("v 10400 3\nX ./a b\n+ 10 1 abc0\nc 2\n+ ff 1 abd0\nR 1f\n- abc0\n# a: b\ns 3 x y\n- "
            "abd0\n",
            "alloc 0 16 a4 @1; alloc 1 255 a4 +2000000 @2; free 0 16 a4 @3; free 1 255 a4 @4; "),
    /* an address again without its free, a free of what is not known */
    REPLAYS("v 10400 3\n- 70\n+ 10 1 a0\n+ 11 1 a0\n- a0\n",
            "alloc 0 16 a4 @2; free 0 16 a4 @3; alloc 0 17 a4 @3; free 0 17 a4 @4; unknown_free=1 "
            "double_alloc=1 "),
    /* the youngest of a class goes first */
    REPLAYS("v 10400 3\na 8 1\n+ 0\n+ 0\na 9 2\n+ 1\n- 0\n- 1\n+ 0\n- 0\n- 0\n- 0\n",
            "alloc 0 8 a4 @1; alloc 1 8 a4 @2; alloc 2 9 a4 @3; free 1 8 a4 @4; free 2 9 a4 @5; "
            "alloc 2 8 a4 @6; free 2 8 a4 @7; free 0 8 a4 @8; unknown_free=1 "),
    REPLAYS("v 10400 1\na ffffffffffffffff 1\n+ 0\n- 0\n", "unknown_free=1 "),
    REPLAYS("v 10400 3\n+ 10 1 a0\n- a", "alloc 0 16 a4 @1; unknown_free=1 "),
    REPLAYS("v 10400 3\n+ 10 1 a0\n+ 10 ", "alloc 0 16 a4 @1; truncated=1 "),
};

static const struct importer_row what_is_none[] = {
    REFUSED("v\n+ 10 1 a0\n", "x.json:1: event 1: 'v' is not a heaptrack line"),
    REFUSED("v 10400 4\n", "x.json:1: heaptrack's file format 4; this tapool reads 1 to 3"),
    REFUSED("v 10400 3\n+ 10 1 a0\n? 1\n", "x.json:3: event 2: '? 1' is not a heaptrack line"),
    REFUSED("v 10400 3\n+ 0\n", "x.json:2: event 1: '+ 0' is not a heaptrack line"),
    REFUSED("v 10400 3\na 8 1\n- 1\n", "x.json:3: event 1: '- 1' is not a heaptrack line"),
    REFUSED("v 10400 3\na 8 1\n+ 10 1 a0\n",
            "x.json:3: event 1: '+ 10 1 a0' is not a heaptrack line"),
    REFUSED("v 10400 3\n+ 10 1 a0\na 8 1\n", "x.json:3: event 2: 'a 8 1' is not a heaptrack line"),
    REFUSED("v 10400 3\ncx\n", "x.json:2: event 1: 'cx' is not a heaptrack line"),
};

/* A command may have line breaks, and words that look like lines. The clock stands still for events
 * between two of its lines, so times are not known of all. */
static const struct importer_row commands_and_clock[] = {
    READS("v 10400 3\nX python -c import os\ndef f():\n    pass\n\nz\n"
          "I 1000 5e298f\nA\nc a\n+ 8 1 10\n+ 8 1 20\nc 14\n- 10\n",
          .name = "python -c import os", .remarks_part = "attached to a running program",
          .facts = "time_known=0 duration_ns=20000000 "),
    /* behind the command such a line is one too many */
    REFUSED("v 10400 3\nX a\nI 1000 5e298f\nz\n", "x.json:4: event 1: 'z' is not a heaptrack line"),
};

/* ---- who asked ---- */

#define HEAD "v 10400 3\nX ./a b\nI 1000 5e298f\n"

static void place_of(const char *text, uint64_t event, const char *place)
{
    struct reading r = read_text(&tp_format_heaptrack, text, false);
    char got[1][TP_PLACE_TEXT];
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(tp_places_find(&r.places, &event, 1, got, NULL), TP_OK);
    assert_string_equal(got[0], place);
    forget(&r);
}

TEST(places)
{
#define NAMES                                                                                      \
    HEAD "s 9 /bin/prog\ns c /lib/libc.so\ns 4 main\ns 8 /src/a.c\ns f operator new(n)\n"          \
         "i 100 1 3 4 2a\ni 200 2 5\ni 300 2\ni 400 2 3\n"
    place_of(NAMES "t 1 0\na 8 1\n+ 0\n- 0\n", 1, "a.c:42 main");
    place_of(NAMES "t 1 0\na 8 1\n+ 0\n- 0\n", 2, ""); /* who frees is not in the file */
    place_of(NAMES "t 1 0\nt 2 1\na 8 2\n+ 0\n", 1, "a.c:42 main");
    place_of(NAMES "t 2 0\na 8 1\n+ 0\n", 1, "operator new(n) (libc.so)");
    place_of(NAMES "t 1 0\nt 3 1\na 8 2\n+ 0\n", 1, "libc.so");
    place_of(NAMES "t 4 0\na 8 1\n+ 0\n", 1, "main (libc.so)");
    /* numbers of nothing, and stacks that call each other */
    place_of(NAMES "t 1 0\na 8 2\n+ 0\n", 1, "");
    place_of(NAMES "t 5 0\na 8 1\n+ 0\n", 1, "");
    place_of(NAMES "i 9 77 78 79 1\nt 5 0\na 8 1\n+ 0\n", 1, "");
    place_of(NAMES "t 2 2\nt 2 1\na 8 1\n+ 0\n", 1, "operator new(n) (libc.so)");
    place_of(NAMES "t ffffffffffffffff ffffffffffffffff\na 8 1\n+ 0\n", 1, "");
#undef NAMES
}

/* What is kept of a file fits into the memory that reading may take. */
TEST(memory)
{
    static char text[400000];
    static const char *const kept[] = {"a 8 0\n", "i 1 1\n", "t 1 1\n", "s 1 x\n"};
    for (size_t k = 0; k < COUNT(kept); k++) {
        size_t size = (size_t)snprintf(text, sizeof text, "%s", HEAD), length = strlen(kept[k]);
        for (; size + length < sizeof text; size += length)
            memcpy(text + size, kept[k], length);
        check_row(&heaptrack,
                  &(struct importer_row){.text = text,
                                         .size = size,
                                         .max_memory = 100000,
                                         .error_part = "than the memory for reading holds"});
    }
}

static const struct importer_score scores[] = {
    SCORE("v 10400 3\n", 95),
    SCORE("v 1.0 3\n", 0),
    SCORE("v 10400 3 4\n", 0),
    SCORE("v", 0),
    SCORE("", 0),
};

TESTS(ROWS(heaptrack, a_block_of_0_bytes_is_dirty_input), ROWS(heaptrack, lines),
      ROWS(heaptrack, what_is_none), ROWS(heaptrack, commands_and_clock), SCORES(heaptrack, scores))
