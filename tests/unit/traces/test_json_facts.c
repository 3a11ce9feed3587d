/* What JSON traces say beside events of the program itself: what was live when the recording began
 * ("initial"), what was noted ("note"), what the recorded allocator held ("recorded"). */
#include "tests/unit/importer_rig.h"

#define HEAD "{\"format\":\"tapool-trace\",\"version\":1"
#define DEVICE                                                                                     \
    HEAD ",\"meta\":{\"kind\":\"device\"},\"streams\":[{\"id\":0},{\"id\":4,\"device\":3}]"
#define FIRST   "{\"op\":\"initial\",\"id\":1,\"size\":8}"
#define SECOND  "{\"op\":\"initial\",\"id\":2,\"size\":16,\"align\":64}"
#define ALLOC_3 "{\"op\":\"alloc\",\"id\":3,\"size\":4}"
#define FREE_1  "{\"op\":\"free\",\"id\":1}"

/* Rows have the lines of the second form: the head without its '}', then an event on each line. */
static struct importer_bytes as_lines(const struct importer_row *row)
{
    static char text[1 << 16];
    const char *lines = row->text;
    int head = (int)strcspn(lines, "\n");
    int n = snprintf(text, sizeof text, "%.*s}%s\n", head, lines, lines + head);
    return (struct importer_bytes){text, (size_t)n};
}

static struct importer_bytes as_list(const struct importer_row *row)
{
    static char text[1 << 16];
    const char *at = row->text;
    int head = (int)strcspn(at, "\n");
    int n = snprintf(text, sizeof text, "%.*s,\"events\":[\n", head, at);
    for (at += head; *at; at += strcspn(at, "\n")) {
        const char *comma = at == (const char *)row->text + head ? "" : ",";
        at++;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%.*s\n", comma, (int)strcspn(at, "\n"),
                      at);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "]}");
    return (struct importer_bytes){text, (size_t)n};
}

static const struct importer forms[] = {{.format = &tp_format_json, .encode = as_list},
                                        {.format = &tp_format_jsonl, .encode = as_lines}};

/* In both forms, strict and not. */
static void check_each_way(struct importer_row row)
{
    for (size_t way = 0; way < 4; way++) {
        row.strict = way & 2;
        check_row(&forms[way & 1], &row);
    }
}

static void check_all_ways(void **state)
{
    const struct importer_test *t = *state;
    for (size_t i = 0; i < t->count; i++)
        check_each_way(((const struct importer_row *)t->rows)[i]);
}

#define ALL_WAYS(table) IMPORTER_TEST(check_all_ways, forms[0], table, 0, 0)

/* ---- initial ---- */

static const struct importer_row initial[] = {
    REPLAYS(HEAD "\n" FIRST "\n" SECOND "\n" ALLOC_3 "\n" FREE_1,
            "alloc 0 8 a4 @0; alloc 1 16 a6 @0; alloc 2 4 a4 @1; free 0 8 a4 @2; "),
    REPLAYS(DEVICE "\n"
                   "{\"op\":\"initial\",\"id\":-7,\"size\":5,\"stream\":4}"
                   "\n"
                   "{\"op\":\"use\",\"id\":-7,\"stream\":0}"
                   "\n"
                   "{\"op\":\"free\",\"id\":-7}",
            "alloc 0 5 a8 s1 d1 @0; use 0 0 d1 @1; free 0 5 a8 s1 d1 @2; "),
    /* neither the time nor the thread of what happened before is part of the recording */
    REPLAYS(HEAD "\n"
                 "{\"op\":\"initial\",\"id\":1,\"size\":8,\"t\":900,\"thread\":9}"
                 "\n"
                 "{\"op\":\"alloc\",\"id\":3,\"size\":4,\"t\":100,\"thread\":5}",
            "alloc 0 8 a4 @0; alloc 1 4 a4 +100 @1; "),
};

static const struct importer_row initial_facts[] = {
    READS(HEAD "\n" FIRST "\n" SECOND "\n" ALLOC_3 "\n" FREE_1,
          .facts = "events=2 instructions=2 operations=2 allocs=1 initial_heap=2 objects=3 "
                   "live_at_end=2 recorded_threads=1 peak=28 peak_event=1 initial_heap_bytes=24 "),
    READS(HEAD "\n" FIRST, .facts = "events=0 initial_heap=1 "),
};

static const char late[] = "x.json:4: before event 1: what was live at the start comes after "
                           "other events";
static const struct importer_row initial_refused[] = {
    REFUSED(HEAD "\n" FIRST "\n" ALLOC_3 "\n" SECOND, late),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\"}"
                 "\n"
                 "{\"op\":\"sync\"}"
                 "\n" SECOND,
            late),
    REFUSED(HEAD "\n" FIRST "\n" SECOND "\n" FIRST,
            "x.json:4: before event 1: id 1 is there twice"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"initial\",\"id\":1}",
            "x.json:2: event 1 (initial) has no 'size'"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"initial\",\"size\":1}",
            "x.json:2: event 1 (initial) has no 'id'"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"initial\",\"id\":1,\"size\":1,\"stream\":4}",
            "x.json:2: before event 1: stream 4 is not declared"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"initial\",\"id\":1,\"size\":1,\"align\":48}",
            "x.json:2: before event 1: align is 48: not a power of two from 1 to 2^30"),
};

#define EMPTY "\n{\"op\":\"initial\",\"id\":1,\"size\":0}"
static const struct importer_row initial_of_no_size[] = {
    REFUSED(HEAD EMPTY "\n" FREE_1, "x.json:2: before event 1 places 0 bytes (id 1)",
            .strict = true),
    REPLAYS(HEAD EMPTY "\n" FREE_1, "alloc 0 1 a4 @0; free 0 1 a4 @1; zero_size=1 "),
    REPLAYS(DEVICE EMPTY "\n" FREE_1, "zero_size=1 ", .facts = "events=1 "),
};

/* What was live before is no event: the numbers in messages are those of the results. */
static const struct importer_row numbers[] = {
    REFUSED(HEAD "\n" FIRST "\n" SECOND "\n"
                 "{\"op\":1}",
            "x.json:4: event 1: 'op' is 1, not a text"),
    REFUSED(HEAD "\n" FIRST "\n" SECOND "\n" ALLOC_3 "\n"
                 "{\"op\":1}",
            "x.json:5: event 2: 'op' is 1, not a text"),
    REFUSED(HEAD "\n" FIRST "\n" SECOND "\n" ALLOC_3 "\n"
                 "{\"op\":\"sync\",\"stream\":9}",
            "x.json:5: event 2: stream 9 is not declared"),
};

/* Texts as they are, of the first form. */
static const struct importer json = {.format = &tp_format_json};
#define SOME "\"recorded\":{\"by\":\"x\",\"devices\":[]}"
static const struct importer_row texts[] = {
    REFUSED(HEAD ",\"events\":[" FIRST "," SECOND,
            "x.json:1: the file ends before event 1: truncated?", .strict = true),
    REFUSED(HEAD ",\"events\":[" FIRST "," ALLOC_3,
            "x.json:1: the file ends after event 1: truncated?", .strict = true),
    REFUSED(HEAD ",\"events\":[" ALLOC_3 "]," SOME "}",
            "x.json:1: 'recorded' must come before 'events'", .strict = true),
    REFUSED(HEAD "," SOME "," SOME ",\"events\":[" ALLOC_3 "]}",
            "x.json:1: the top-level object has \"recorded\" twice", .strict = true),
};

/* ---- note ---- */

TEST(test_every_note)
{
    for (int i = 0; i < TP_NOTE_COUNT; i++) {
        char text[256], expected[128];
        snprintf(text, sizeof text,
                 HEAD "\n" ALLOC_3 "\n{\"op\":\"note\",\"name\":\"%s\",\"id\":3,\"size\":%d}",
                 tp_note_names[i], 100 + i);
        snprintf(expected, sizeof expected,
                 i ? "alloc 0 4 a4 @1; note 0 %d a%d @2; " : "alloc 0 4 a4 @1; note 0 %d @2; ",
                 100 + i, i);
        assert_int_equal(tp_note_find(tp_note_names[i]), i);
        check_each_way((struct importer_row){.text = text, .program = expected});
    }
    assert_int_equal(TP_NOTE_OTHER, 0); /* as write_insn leaves it out */
}

static const struct importer_row notes[] = {
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"weird\",\"size\":7}",
            "note 0 7 @1; "),
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"\"}",
            "note 0 0 @1; "),
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"OOM\"}",
            "note 0 0 @1; "),
    /* on a stream of another device, by a thread that has done nothing else: it gets no number */
    REPLAYS(DEVICE "\n"
                   "{\"t\":5,\"op\":\"note\",\"name\":\"segment_alloc\",\"size\":2097152,"
                   "\"stream\":4,\"thread\":8}"
                   "\n" ALLOC_3,
            "note 0 2097152 a3 s1 d1 +5 @1; alloc 0 4 a8 @2; "),
    /* a note is an event, with time, and changes nothing */
    REPLAYS(HEAD "\n"
                 "{\"t\":1,\"op\":\"note\",\"name\":\"snapshot\"}"
                 "\n"
                 "{\"t\":9,\"op\":\"alloc\",\"id\":3,\"size\":4}",
            "note 0 0 a8 +1 @1; alloc 0 4 a4 +8 @2; "),
};

static const struct importer_row oom[] = {
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"size\":4096,\"free\":512}",
            "note 0 4096 a1 @1; note 0 512 a2 @1; "),
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"size\":4096,\"free\":0}",
            "note 0 4096 a1 @1; note 0 0 a2 @1; "),
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"size\":4096}",
            "note 0 4096 a1 @1; "),
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"free\":\"281474976710656\"}",
            "note 0 0 a1 @1; note 0 281474976710656 a2 @1; "),
    /* elsewhere it means nothing */
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"segment_free\",\"free\":5}",
            "note 0 0 a4 @1; "),
    REPLAYS(HEAD "\n"
                 "{\"op\":\"alloc\",\"id\":3,\"size\":4,\"free\":5}",
            "alloc 0 4 a4 @1; "),
};

static const struct importer_row free_requested[] = {
    REPLAYS(HEAD "\n" FIRST "\n" ALLOC_3 "\n"
                 "{\"op\":\"note\",\"name\":\"free_requested\",\"id\":3,\"size\":4}"
                 "\n"
                 "{\"op\":\"note\",\"name\":\"free_requested\",\"id\":1}",
            "alloc 0 8 a4 @0; alloc 1 4 a4 @1; note 1 4 a7 @2; note 0 0 a7 @3; "),
    /* of an object that is not there: nothing to say, and no repair */
    REPLAYS(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"free_requested\",\"id\":3}"
                 "\n" ALLOC_3,
            "alloc 0 4 a4 @2; "),
};

static const struct importer_row notes_refused[] = {
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\"}",
            "x.json:2: event 1 (note) has no 'name'"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"id\":1}",
            "x.json:2: event 1 (note) has no 'name'"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":7}",
            "x.json:2: event 1: 'name' is 7, not a text"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"free_requested\"}",
            "x.json:2: event 1 (note) has no 'id'"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"free\":true}",
            "x.json:2: event 1: 'free' is true: not a whole number"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"free\":-1}",
            "x.json:2: event 1: 'free' is -1: negative"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"free\":281474976710657}",
            "x.json:2: event 1: 'free' is 281474976710657: the limit is 2^48 bytes"),
    REFUSED(HEAD "\n"
                 "{\"op\":\"note\",\"name\":\"oom\",\"stream\":4}",
            "x.json:2: event 1: stream 4 is not declared"),
};

/* ---- recorded ---- */

#define RECORDED(value) HEAD ",\"recorded\":" value

static const struct importer_row recorded[] = {
    READS(RECORDED("{\"by\":\"Py\\u0007Torch\",\"has_end\":true,\"x\":[],\"devices\":["
                   "{\"device\":3,\"start_reserved_bytes\":\"4096\",\"end_segments\":2,"
                   "\"x\":null},{}]}") "\n" ALLOC_3,
          .recorder = "Py?Torch",
          .facts = "has_end=1 recorded_devices=2 number=3 start_reserved=4096 end_segments=2 "
                   "end_reserved=0 next_number=0 "),
    READS(RECORDED("{\"by\":\"\",\"devices\":[],\"has_end\":1}") "\n" ALLOC_3,
          .facts = "recorded_devices=0 has_end=0 "),
};

#define MISSING(value)                                                                             \
    REFUSED(RECORDED(value) "\n" ALLOC_3,                                                          \
            "x.json:1: 'recorded': 'by' (a text) or 'devices' (a list) is missing")
#define WRONG(device, sentence)                                                                    \
    REFUSED(RECORDED("{\"by\":\"x\",\"devices\":[" device "]}") "\n" ALLOC_3,                      \
            "x.json:1: 'recorded': " sentence)
static const struct importer_row recorded_refused[] = {
    MISSING("7"),
    MISSING("null"),
    MISSING("true"),
    MISSING("[]"),
    MISSING("\"by\""),
    MISSING("{}"),
    MISSING("[1]"),
    MISSING("{\"by\":\"x\"}"),
    MISSING("{\"by\":7,\"devices\":[]}"),
    MISSING("{\"devices\":[]}"),
    MISSING("{\"by\":\"x\",\"devices\":{}}"),
    WRONG("{\"device\":true}", "'device' is not a whole number"),
    WRONG("{\"device\":-1}", "'device' is not a whole number"),
    WRONG("{\"end_segments\":1.5}", "'end_segments' is not a whole number"),
    WRONG("{\"end_segments\":\"1.5\"}", "'end_segments' is not a whole number"),
    WRONG("{\"end_segments\":\"\"}", "'end_segments' is not a whole number"),
    WRONG("{\"end_segments\":\"-1\"}", "'end_segments' is not a whole number"),
    WRONG("{\"end_free_bytes\":9007199254740992}", "'end_free_bytes' is not a whole number"),
    WRONG("{\"end_free_bytes\":[1]}", "'end_free_bytes' is not a whole number"),
    WRONG("{\"end_free_bytes\":1e999}", "'end_free_bytes' is not a whole number"),
    WRONG("{\"end_free_bytes\":\"2305843009213693953\"}", "'end_free_bytes' is too large"),
    WRONG("{\"end_free_bytes\":\"99999999999999999999999\"}", "'end_free_bytes' is too large"),
    WRONG("{},7", "'devices' holds something that is not an object"),
    WRONG("[]", "'devices' holds something that is not an object"),
    WRONG("null", "'devices' holds something that is not an object"),
    REFUSED(RECORDED("{\"by\":01}") "\n" ALLOC_3,
            "x.json:1: 'recorded' is not valid JSON near '01}'"),
};

TEST(test_many_devices)
{
    char text[6000] = RECORDED("{\"by\":\"x\",\"devices\":[{}");
    for (unsigned i = 0; i < TP_MAX_DEVICES; i++)
        tp_append(text, sizeof text, ",{}");
    tp_append(text, sizeof text, "]}\n" ALLOC_3);
    check_each_way((struct importer_row){
        .text = text, .error = "x.json:1: 'recorded': there are more than 256 devices"});
}

TESTS(ALL_WAYS(initial), ALL_WAYS(initial_facts), ALL_WAYS(initial_refused),
      ROWS(forms[0], initial_of_no_size), ALL_WAYS(numbers), ROWS(json, texts), ALL_WAYS(notes),
      ALL_WAYS(oom), ALL_WAYS(free_requested), ALL_WAYS(notes_refused), ALL_WAYS(recorded),
      ALL_WAYS(recorded_refused))
