/* What JSON traces say beside events of the program itself: what was live when the recording began
 * ("initial"), what was noted ("note"), what the recorded allocator held ("recorded"). */
#include "tests/unit/trace_fixture.h"

#define HEAD "{\"format\":\"tapool-trace\",\"version\":1"
#define DEVICE                                                                                     \
    HEAD ",\"meta\":{\"kind\":\"device\"},\"streams\":[{\"id\":0},{\"id\":4,\"device\":3}]"
#define FIRST   "{\"op\":\"initial\",\"id\":1,\"size\":8}"
#define SECOND  "{\"op\":\"initial\",\"id\":2,\"size\":16,\"align\":64}"
#define ALLOC_3 "{\"op\":\"alloc\",\"id\":3,\"size\":4}"
#define FREE_1  "{\"op\":\"free\",\"id\":1}"

/* Both forms of a trace; events[] ends with NULL, each begins a line: the first is line 2. */
static struct reading read_events(const char *head, const char *const *events, bool lines,
                                  bool strict)
{
    static char text[1 << 16];
    int n = snprintf(text, sizeof text, lines ? "%s}\n" : "%s,\"events\":[\n", head);
    for (size_t i = 0; events[i]; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s\n", i > 0 && !lines ? "," : "",
                      events[i]);
    snprintf(text + n, sizeof text - (size_t)n, lines ? "" : "]}");
    return read_text(lines ? &tp_format_jsonl : &tp_format_json, text, strict);
}

#define EVENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* In both forms, strict and not. */
static void expect(const char *head, const char *const *events, const char *expected)
{
    for (int way = 0; way < 4; way++) {
        char program[4096];
        struct reading r = read_events(head, events, way & 1, way & 2);
        if (r.rc != TP_OK)
            fail_msg("%s\n  got: %s", events[0], r.err.text);
        write_program(r.program, program, sizeof program);
        assert_string_equal(program, expected);
        for (int i = 0; i < TP_REPAIR_COUNT; i++)
            assert_int_equal(r.repairs[i], 0);
        forget(&r);
    }
}

static void expect_error(const char *head, const char *const *events, const char *text)
{
    for (int way = 0; way < 4; way++) {
        struct reading r = read_events(head, events, way & 1, way & 2);
        if (r.rc != TP_EINPUT || strcmp(r.err.text, text) != 0)
            fail_msg("%s\n  expected: %s\n  got %d: %s", events[0], text, r.rc,
                     r.rc ? r.err.text : "no error");
    }
}

/* ---- initial ---- */

static void test_initial(void **state)
{
    (void)state;
    expect(HEAD, EVENTS(FIRST, SECOND, ALLOC_3, FREE_1),
           "alloc 0 8 a4 @0; alloc 1 16 a6 @0; alloc 2 4 a4 @1; free 0 8 a4 @2; ");
    expect(DEVICE,
           EVENTS("{\"op\":\"initial\",\"id\":-7,\"size\":5,\"stream\":4}",
                  "{\"op\":\"use\",\"id\":-7,\"stream\":0}", "{\"op\":\"free\",\"id\":-7}"),
           "alloc 0 5 a8 s1 d1 @0; use 0 0 d1 @1; free 0 5 a8 s1 d1 @2; ");
    /* neither the time nor the thread of what happened before is part of the recording */
    expect(HEAD,
           EVENTS("{\"op\":\"initial\",\"id\":1,\"size\":8,\"t\":900,\"thread\":9}",
                  "{\"op\":\"alloc\",\"id\":3,\"size\":4,\"t\":100,\"thread\":5}"),
           "alloc 0 8 a4 @0; alloc 1 4 a4 +100 @1; ");
}

static void test_initial_facts(void **state)
{
    (void)state;
    struct reading r = read_events(HEAD, EVENTS(FIRST, SECOND, ALLOC_3, FREE_1), false, true);
    assert_int_equal(r.rc, TP_OK);
    const struct tp_program_facts *f = tp_program_facts(r.program);
    assert_int_equal(f->events, 2);
    assert_int_equal(f->instructions, 2);
    assert_int_equal(f->operations, 2);
    assert_int_equal(f->ops[TP_ALLOC], 1);
    assert_int_equal(f->prologue, 2);
    assert_int_equal(f->objects, 3);
    assert_int_equal(f->live_at_end, 2);
    assert_int_equal(f->recorded_threads, 1);
    assert_int_equal(tp_program_demand(r.program, 0)->bytes, 28);
    assert_int_equal(tp_program_demand(r.program, 0)->event, 1);
    assert_int_equal(tp_program_demand(r.program, 0)->prologue_bytes, 24);
    forget(&r);
    r = read_events(HEAD, EVENTS(FIRST), true, true);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(tp_program_facts(r.program)->events, 0);
    assert_int_equal(tp_program_facts(r.program)->prologue, 1);
    forget(&r);
}

static void test_initial_refused(void **state)
{
    (void)state;
    static const char late[] = "x.json:4: before event 1: what was live at the start comes after "
                               "other events";
    expect_error(HEAD, EVENTS(FIRST, ALLOC_3, SECOND), late);
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\"}", "{\"op\":\"sync\"}", SECOND),
                 late);
    expect_error(HEAD, EVENTS(FIRST, SECOND, FIRST),
                 "x.json:4: before event 1: id 1 is there twice");
    expect_error(HEAD, EVENTS("{\"op\":\"initial\",\"id\":1}"),
                 "x.json:2: event 1 (initial) has no 'size'");
    expect_error(HEAD, EVENTS("{\"op\":\"initial\",\"size\":1}"),
                 "x.json:2: event 1 (initial) has no 'id'");
    expect_error(HEAD, EVENTS("{\"op\":\"initial\",\"id\":1,\"size\":1,\"stream\":4}"),
                 "x.json:2: before event 1: stream 4 is not declared");
    expect_error(HEAD, EVENTS("{\"op\":\"initial\",\"id\":1,\"size\":1,\"align\":48}"),
                 "x.json:2: before event 1: align is 48: not a power of two from 1 to 2^30");
}

static void test_initial_of_no_size(void **state)
{
    (void)state;
    static const char empty[] = "{\"op\":\"initial\",\"id\":1,\"size\":0}";
    char program[256];
    struct reading r = read_events(HEAD, EVENTS(empty, FREE_1), false, true);
    assert_string_equal(r.err.text, "x.json:2: before event 1 places 0 bytes (id 1)");
    r = read_events(HEAD, EVENTS(empty, FREE_1), false, false);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.repairs[TP_REPAIR_ZERO_SIZE], 1);
    write_program(r.program, program, sizeof program);
    assert_string_equal(program, "alloc 0 1 a4 @0; free 0 1 a4 @1; ");
    forget(&r);
    r = read_events(DEVICE, EVENTS(empty, FREE_1), false, false);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.repairs[TP_REPAIR_ZERO_SIZE], 1);
    write_program(r.program, program, sizeof program);
    assert_string_equal(program, "");
    assert_int_equal(tp_program_facts(r.program)->events, 1);
    forget(&r);
}

/* What was live before is no event: the numbers in messages are those of the results. */
static void test_numbers(void **state)
{
    (void)state;
    expect_error(HEAD, EVENTS(FIRST, SECOND, "{\"op\":1}"),
                 "x.json:4: event 1: 'op' is 1, not a text");
    expect_error(HEAD, EVENTS(FIRST, SECOND, ALLOC_3, "{\"op\":1}"),
                 "x.json:5: event 2: 'op' is 1, not a text");
    expect_error(HEAD, EVENTS(FIRST, SECOND, ALLOC_3, "{\"op\":\"sync\",\"stream\":9}"),
                 "x.json:5: event 2: stream 9 is not declared");
    struct reading r = read_text(&tp_format_json, HEAD ",\"events\":[" FIRST "," SECOND, true);
    assert_string_equal(r.err.text, "x.json:1: the file ends before event 1: truncated?");
    r = read_text(&tp_format_json, HEAD ",\"events\":[" FIRST "," ALLOC_3, true);
    assert_string_equal(r.err.text, "x.json:1: the file ends after event 1: truncated?");
}

/* ---- note ---- */

static void test_every_note(void **state)
{
    (void)state;
    for (int i = 0; i < TP_NOTE_COUNT; i++) {
        char note[128], expected[128];
        snprintf(note, sizeof note, "{\"op\":\"note\",\"name\":\"%s\",\"id\":3,\"size\":%d}",
                 tp_note_names[i], 100 + i);
        snprintf(expected, sizeof expected,
                 i ? "alloc 0 4 a4 @1; note 0 %d a%d @2; " : "alloc 0 4 a4 @1; note 0 %d @2; ",
                 100 + i, i);
        assert_int_equal(tp_note_find(tp_note_names[i]), i);
        expect(HEAD, EVENTS(ALLOC_3, note), expected);
    }
    assert_int_equal(TP_NOTE_OTHER, 0); /* as write_insn leaves it out */
}

static void test_notes(void **state)
{
    (void)state;
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"weird\",\"size\":7}"), "note 0 7 @1; ");
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"\"}"), "note 0 0 @1; ");
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"OOM\"}"), "note 0 0 @1; ");
    /* on a stream of another device, by a thread that has done nothing else: it gets no number */
    expect(DEVICE,
           EVENTS("{\"t\":5,\"op\":\"note\",\"name\":\"segment_alloc\",\"size\":2097152,"
                  "\"stream\":4,\"thread\":8}",
                  ALLOC_3),
           "note 0 2097152 a3 s1 d1 +5 @1; alloc 0 4 a8 @2; ");
    /* a note is an event, with time, and changes nothing */
    expect(HEAD,
           EVENTS("{\"t\":1,\"op\":\"note\",\"name\":\"snapshot\"}",
                  "{\"t\":9,\"op\":\"alloc\",\"id\":3,\"size\":4}"),
           "note 0 0 a8 +1 @1; alloc 0 4 a4 +8 @2; ");
}

static void test_oom(void **state)
{
    (void)state;
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"size\":4096,\"free\":512}"),
           "note 0 4096 a1 @1; note 0 512 a2 @1; ");
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"size\":4096,\"free\":0}"),
           "note 0 4096 a1 @1; note 0 0 a2 @1; ");
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"size\":4096}"), "note 0 4096 a1 @1; ");
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"free\":\"281474976710656\"}"),
           "note 0 0 a1 @1; note 0 281474976710656 a2 @1; ");
    /* elsewhere it means nothing */
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"segment_free\",\"free\":5}"),
           "note 0 0 a4 @1; ");
    expect(HEAD, EVENTS("{\"op\":\"alloc\",\"id\":3,\"size\":4,\"free\":5}"), "alloc 0 4 a4 @1; ");
}

static void test_free_requested(void **state)
{
    (void)state;
    expect(HEAD,
           EVENTS(FIRST, ALLOC_3,
                  "{\"op\":\"note\",\"name\":\"free_requested\",\"id\":3,\"size\":4}",
                  "{\"op\":\"note\",\"name\":\"free_requested\",\"id\":1}"),
           "alloc 0 8 a4 @0; alloc 1 4 a4 @1; note 1 4 a7 @2; note 0 0 a7 @3; ");
    /* of an object that is not there: nothing to say, and no repair */
    expect(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"free_requested\",\"id\":3}", ALLOC_3),
           "alloc 0 4 a4 @2; ");
}

static void test_notes_refused(void **state)
{
    (void)state;
    expect_error(HEAD, EVENTS("{\"op\":\"note\"}"), "x.json:2: event 1 (note) has no 'name'");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"id\":1}"),
                 "x.json:2: event 1 (note) has no 'name'");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":7}"),
                 "x.json:2: event 1: 'name' is 7, not a text");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"free_requested\"}"),
                 "x.json:2: event 1 (note) has no 'id'");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"free\":true}"),
                 "x.json:2: event 1: 'free' is true: not a whole number");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"free\":-1}"),
                 "x.json:2: event 1: 'free' is -1: negative");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"free\":281474976710657}"),
                 "x.json:2: event 1: 'free' is 281474976710657: the limit is 2^48 bytes");
    expect_error(HEAD, EVENTS("{\"op\":\"note\",\"name\":\"oom\",\"stream\":4}"),
                 "x.json:2: event 1: stream 4 is not declared");
}

/* ---- recorded ---- */

#define RECORDED(value) HEAD ",\"recorded\":" value

static void test_recorded(void **state)
{
    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        struct reading r = read_events(
            RECORDED("{\"by\":\"Py\\u0007Torch\",\"has_end\":true,\"x\":[],\"devices\":["
                     "{\"device\":3,\"start_reserved_bytes\":\"4096\",\"end_segments\":2,"
                     "\"x\":null},{}]}"),
            EVENTS(ALLOC_3), lines, true);
        assert_int_equal(r.rc, TP_OK);
        assert_string_equal(r.recorded.by, "Py?Torch");
        assert_true(r.recorded.has_end);
        assert_int_equal(r.recorded.count, 2);
        assert_int_equal(r.recorded.devices[0].number, 3);
        assert_int_equal(r.recorded.devices[0].start_reserved, 4096);
        assert_int_equal(r.recorded.devices[0].end_segments, 2);
        assert_int_equal(r.recorded.devices[0].end_reserved, 0);
        assert_int_equal(r.recorded.devices[1].number, 0);
        forget(&r);
    }
    struct reading r = read_events(RECORDED("{\"by\":\"\",\"devices\":[],\"has_end\":1}"),
                                   EVENTS(ALLOC_3), false, true);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.recorded.count, 0);
    assert_false(r.recorded.has_end);
    forget(&r);
}

static void test_recorded_refused(void **state)
{
    (void)state;
    static const char missing[] =
        "x.json:1: 'recorded': 'by' (a text) or 'devices' (a list) is missing";
    static const char *const kinds[] = {"7",
                                        "null",
                                        "true",
                                        "[]",
                                        "\"by\"",
                                        "{}",
                                        "[1]",
                                        "{\"by\":\"x\"}",
                                        "{\"by\":7,\"devices\":[]}",
                                        "{\"devices\":[]}",
                                        "{\"by\":\"x\",\"devices\":{}}"};
    char head[1024];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(head, sizeof head, RECORDED("%s"), kinds[i]);
        expect_error(head, EVENTS(ALLOC_3), missing);
    }
    static const struct {
        const char *device, *error;
    } devices[] = {
        {"{\"device\":true}", "'device' is not a whole number"},
        {"{\"device\":-1}", "'device' is not a whole number"},
        {"{\"end_segments\":1.5}", "'end_segments' is not a whole number"},
        {"{\"end_segments\":\"1.5\"}", "'end_segments' is not a whole number"},
        {"{\"end_segments\":\"\"}", "'end_segments' is not a whole number"},
        {"{\"end_segments\":\"-1\"}", "'end_segments' is not a whole number"},
        {"{\"end_idle_bytes\":9007199254740992}", "'end_idle_bytes' is not a whole number"},
        {"{\"end_idle_bytes\":[1]}", "'end_idle_bytes' is not a whole number"},
        {"{\"end_idle_bytes\":1e999}", "'end_idle_bytes' is not a whole number"},
        {"{\"end_idle_bytes\":\"2305843009213693953\"}", "'end_idle_bytes' is too large"},
        {"{\"end_idle_bytes\":\"99999999999999999999999\"}", "'end_idle_bytes' is too large"},
        {"{},7", "'devices' holds something that is not an object"},
        {"[]", "'devices' holds something that is not an object"},
        {"null", "'devices' holds something that is not an object"},
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        char text[256];
        snprintf(head, sizeof head, RECORDED("{\"by\":\"x\",\"devices\":[%s]}"), devices[i].device);
        snprintf(text, sizeof text, "x.json:1: 'recorded': %s", devices[i].error);
        expect_error(head, EVENTS(ALLOC_3), text);
    }
    expect_error(RECORDED("{\"by\":01}"), EVENTS(ALLOC_3),
                 "x.json:1: 'recorded' is not valid JSON near '01}'");
}

static void test_recorded_place(void **state)
{
    (void)state;
#define SOME "\"recorded\":{\"by\":\"x\",\"devices\":[]}"
    struct reading r = read_text(&tp_format_json, HEAD ",\"events\":[" ALLOC_3 "]," SOME "}", true);
    assert_string_equal(r.err.text, "x.json:1: 'recorded' must come before 'events'");
    r = read_text(&tp_format_json, HEAD "," SOME "," SOME ",\"events\":[" ALLOC_3 "]}", true);
    assert_string_equal(r.err.text, "x.json:1: the top-level object has \"recorded\" twice");
    char many[6000] = "{\"by\":\"x\",\"devices\":[{}";
    for (unsigned i = 0; i < TP_MAX_DEVICES; i++)
        strncat(many, ",{}", sizeof many - strlen(many) - 1);
    char head[8192];
    snprintf(head, sizeof head, RECORDED("%s]}"), many);
    expect_error(head, EVENTS(ALLOC_3), "x.json:1: 'recorded': there are more than 256 devices");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initial),         cmocka_unit_test(test_initial_facts),
        cmocka_unit_test(test_initial_refused), cmocka_unit_test(test_initial_of_no_size),
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_every_note),
        cmocka_unit_test(test_notes),           cmocka_unit_test(test_oom),
        cmocka_unit_test(test_free_requested),  cmocka_unit_test(test_notes_refused),
        cmocka_unit_test(test_recorded),        cmocka_unit_test(test_recorded_refused),
        cmocka_unit_test(test_recorded_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
