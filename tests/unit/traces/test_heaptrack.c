/* heaptrack's two forms: real files of one program, what each line does, and what is wrong. */
#include "tests/unit/trace_fixture.h"

#include "traces/places/place_table.h"

extern const struct tp_format tp_format_heaptrack;

static struct reading read_file(const char *path, bool strict)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    struct reading r = read_input(&tp_format_heaptrack, in, strict);
    tp_input_close(in);
    if (r.rc != TP_OK && r.rc != TP_EINPUT)
        fail_msg("%s", r.err.text);
    return r;
}

/* `repairs` as "name=count". */
static void check(const char *text, const char *program, const char *repairs)
{
    char got[4096], counts[256] = "";
    struct reading r = read_text(&tp_format_heaptrack, text, false);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    write_repairs(&r, counts, sizeof counts);
    assert_string_equal(counts, repairs);
    assert_string_equal(r.meta.unknown, "threads, alignment, times (steps of 10 ms), reallocs");
    forget(&r);
}

static void refuse(const char *text, const char *sentence)
{
    struct reading r = read_text(&tp_format_heaptrack, text, false);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, sentence);
}

/* The same run, raw and interpreted. */
static const char *const real[] = {TAPOOL_ROOT "/tests/fuzz/corpus/heaptrack/raw",
                                   TAPOOL_ROOT "/tests/fuzz/corpus/heaptrack/specimen"};

static void a_block_of_0_bytes_is_dirty_input(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct reading r = read_file(real[i], true);
        assert_int_equal(r.rc, TP_EINPUT);
        assert_non_null(strstr(r.err.text, "allocates 0 bytes"));
    }
}

static void both_forms_say_the_same(void **state)
{
    uint64_t peak[2], allocs[2], frees[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct reading r = read_file(real[i], false);
        assert_int_equal(r.rc, TP_OK);
        const struct tp_program_facts *f = tp_program_facts(r.program);
        peak[i] = tp_program_demand(r.program, 0)->bytes;
        allocs[i] = f->ops[TP_ALLOC];
        frees[i] = f->ops[TP_FREE];
        assert_string_equal(r.meta.program, "./program two");
        assert_string_equal(r.meta.capture,
                            i ? "heaptrack recording, interpreted" : "heaptrack recording");
        assert_int_equal(i != 0, strstr(r.meta.remarks, "youngest") != NULL);
        forget(&r);
    }
    assert_int_equal(peak[0], peak[1]);
    assert_int_equal(allocs[0], allocs[1]);
    assert_int_equal(frees[0], frees[1]);
    assert_true(allocs[0] > 15 && frees[0] > 10 && peak[0] > 300000);
}

static void lines(void **state)
{
    (void)state;
    check("v 10400 3\nX ./a b\n+ 10 1 abc0\nc 2\n+ ff 1 abd0\nR 1f\n- abc0\n# a: b\ns 3 x y\n- "
          "abd0\n",
          "alloc 0 16 a4 @1; alloc 1 255 a4 +2000000 @2; free 0 16 a4 @3; free 1 255 a4 @4; ", "");
    /* an address again without its free, a free of what is not known */
    check("v 10400 3\n- 70\n+ 10 1 a0\n+ 11 1 a0\n- a0\n",
          "alloc 0 16 a4 @2; free 0 16 a4 @3; alloc 0 17 a4 @3; free 0 17 a4 @4; ",
          "unknown_free=1 double_alloc=1 ");
    /* the youngest of a class goes first */
    check("v 10400 3\na 8 1\n+ 0\n+ 0\na 9 2\n+ 1\n- 0\n- 1\n+ 0\n- 0\n- 0\n- 0\n",
          "alloc 0 8 a4 @1; alloc 1 8 a4 @2; alloc 2 9 a4 @3; free 1 8 a4 @4; free 2 9 a4 @5; "
          "alloc 2 8 a4 @6; free 2 8 a4 @7; free 0 8 a4 @8; ",
          "unknown_free=1 ");
    check("v 10400 1\na ffffffffffffffff 1\n+ 0\n- 0\n", "", "unknown_free=1 ");
    check("v 10400 3\n+ 10 1 a0\n- a", "alloc 0 16 a4 @1; ", "unknown_free=1 ");
    check("v 10400 3\n+ 10 1 a0\n+ 10 ", "alloc 0 16 a4 @1; ", "truncated=1 ");
}

static void what_is_none(void **state)
{
    (void)state;
    refuse("v\n+ 10 1 a0\n", "x.json:1: event 1: 'v' is no line of heaptrack");
    refuse("v 10400 4\n", "x.json:1: heaptrack's file format 4; this tapool reads 1 to 3");
    refuse("v 10400 3\n+ 10 1 a0\n? 1\n", "x.json:3: event 2: '? 1' is no line of heaptrack");
    refuse("v 10400 3\n+ 0\n", "x.json:2: event 1: '+ 0' is no line of heaptrack");
    refuse("v 10400 3\na 8 1\n- 1\n", "x.json:3: event 1: '- 1' is no line of heaptrack");
    refuse("v 10400 3\na 8 1\n+ 10 1 a0\n",
           "x.json:3: event 1: '+ 10 1 a0' is no line of heaptrack");
    refuse("v 10400 3\n+ 10 1 a0\na 8 1\n", "x.json:3: event 2: 'a 8 1' is no line of heaptrack");
    refuse("v 10400 3\ncx\n", "x.json:2: event 1: 'cx' is no line of heaptrack");
}

#define HEAD "v 10400 3\nX ./a b\nI 1000 5e298f\n"

/* A command may have line breaks, and words that look like lines. */
static void commands_and_clock(void **state)
{
    (void)state;
    struct reading r = read_text(&tp_format_heaptrack,
                                 "v 10400 3\nX python -c import os\ndef f():\n    pass\n\nz\n"
                                 "I 1000 5e298f\nA\nc a\n+ 8 1 10\n+ 8 1 20\nc 14\n- 10\n",
                                 false);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.program, "python -c import os");
    assert_non_null(strstr(r.meta.remarks, "attached to a running program"));
    /* the clock stands still for events between two of its lines, so times are not known of all */
    assert_false(tp_program_facts(r.program)->time_known);
    assert_int_equal(tp_program_facts(r.program)->duration_ns, 20000000);
    forget(&r);
    /* behind the command such a line is one too many */
    refuse("v 10400 3\nX a\nI 1000 5e298f\nz\n", "x.json:4: event 1: 'z' is no line of heaptrack");
}

/* ---- who asked ---- */

static void place_of(const char *text, uint64_t event, const char *place)
{
    struct tp_budget budget = {.limit = TP_MAX_MEMORY};
    const struct tp_lower_cfg cfg = {.path = "x", .budget = &budget};
    const struct tp_read_opts opts = {.device = -1};
    struct tp_input *in = NULL;
    struct tp_lower *lo = NULL;
    struct tp_meta meta = {0};
    struct tp_recorded recorded = {0};
    struct tp_places places = {0};
    struct tp_err err;
    char got[1][TP_PLACE_TEXT];
    assert_int_equal(tp_input_memory("x", text, strlen(text), 0, &in, &err), TP_OK);
    assert_int_equal(tp_lower_new(&cfg, &lo, &err), TP_OK);
    assert_int_equal(
        tp_format_heaptrack.read(
            &(struct tp_reading){in, lo, &meta, &recorded, &places, &opts, &budget}, &err),
        TP_OK);
    assert_int_equal(tp_places_find(&places, &event, 1, got, &err), TP_OK);
    assert_string_equal(got[0], place);
    if (places.release)
        places.release(places.ctx);
    tp_meta_release(&meta);
    tp_lower_free(lo);
    tp_input_close(in);
}

static void places(void **state)
{
    (void)state;
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
static void memory(void **state)
{
    (void)state;
    static char text[400000];
    static const char *const lines[] = {"a 8 0\n", "i 1 1\n", "t 1 1\n", "s 1 x\n"};
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        struct tp_input *in = NULL;
        size_t size = (size_t)snprintf(text, sizeof text, "%s", HEAD), length = strlen(lines[l]);
        for (; size + length < sizeof text; size += length)
            memcpy(text + size, lines[l], length);
        assert_int_equal(tp_input_memory("x", text, size, 0, &in, NULL), TP_OK);
        struct reading r =
            read_input_as(&tp_format_heaptrack, in, false,
                          &(struct tp_read_opts){.device = -1, .max_memory = 100000});
        tp_input_close(in);
        assert_int_equal(r.rc, TP_EINPUT);
        assert_non_null(strstr(r.err.text, "than the memory for reading holds"));
    }
}

static void probes(void **state)
{
    static const struct {
        const char *text;
        int score;
    } rows[] = {{"v 10400 3\n", 95}, {"v 1.0 3\n", 0}, {"v 10400 3 4\n", 0}, {"v", 0}, {"", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            tp_format_heaptrack.probe((const unsigned char *)rows[i].text, strlen(rows[i].text)),
            rows[i].score);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_of_0_bytes_is_dirty_input),
        cmocka_unit_test(both_forms_say_the_same),
        cmocka_unit_test(lines),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(probes),
        cmocka_unit_test(commands_and_clock),
        cmocka_unit_test(places),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("heaptrack", tests, NULL, NULL);
}
