/* Events of JSON: those that are read are to the byte what cJSON makes of them, with random,
 * mutated, cut and split texts. */
#include "alloc/base/random.h"
#include "tests/fuzz/json_event_rig.h"
#include "tests/unit/trace_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAD "{\"format\":\"tapool-trace\",\"version\":1"

static int status_of(const char *text, size_t size, bool one_line)
{
    struct tp_json_scan scan = {.one_line = one_line};
    struct tp_event ev;
    struct tp_err err = {0};
    uint64_t used = 0;
    int rc = read_event_of(text, size, &scan, &ev, &used, &err);
    tp_json_scan_release(&scan);
    return rc;
}

static bool is_event(const char *text, bool one_line)
{
    return status_of(text, strlen(text), one_line) == TP_OK;
}

static void check_same(const char *text, size_t size, bool one_line)
{
    char *exact = malloc(size); /* so that a sanitizer sees the end */
    assert_non_null(exact);
    memcpy(exact, text, size);
    const char *what = size ? event_differs(exact, size, one_line) : NULL;
    if (what)
        fail_msg("%s%s: %.*s", what, one_line ? " (one line)" : "", (int)size, text);
    free(exact);
}

/* ---- by hand ---- */

TEST(test_good)
{
    const char *texts =
        "{\"op\":\"reset\"}|"
        "{\"t\": 0, \"op\": \"alloc\", \"id\": 1, \"size\": 4096, \"align\": 64, \"thread\": 0, "
        "\"stream\": 0}|"
        "{\"size\":281474976710656,\"id\":999999999999999,\"op\":\"initial\"}|"
        "{ \"op\"\t:\r\"use\" , \"stream\" : 2 , \"id\" : 1 }|"
        "{\"op\":\"thread_end\",\"thread\":7}trailing|"
        "{\"op\":\"release\",\"id\":0,\"free\":12}|"
        "{\"op\":\"adopt\",\"id\":10,\"size\":0,\"align\":3}|{\"op\":\"trim\",\"size\":10},{|"
        "{\"op\":\"sync\",\"T\":1}|{\"op\":\"sync\",\"\":\"\"}|"
        "{\"x\" : \"server.c:12 {[,\xc3\xbc\x7f\xff\", \"op\" : \"sync\"}|"
        "{\"op\":\"free\",\"idd\":7,\"id\":1}|{\"op\":\"s\\u0079nc\"}|"
        "{\"op\\u0000\":1,\"op\":\"sync\"}|{\"\\u006fp\":\"sync\"}|"
        "{\"op\":\"sync\",\"x\":1,\"y\":1}|{\"op\":\"sync\",\"x\":\"a\\n\"}|"
        "{\"op\":\"sync\",\"x\":\"a\\\"\"}|{\"op\":\"sync\",\"x\":[]}|"
        "{\"op\":\"sync\",\"x\":{}}|{\"op\":\"sync\",\"x\":null}|{\"op\":\"sync\",\"x\":-1}|"
        "{\"op\":\"sync\",\"x\":1.5}|{\"op\":\"mark\",\"name\":\"x\"}|"
        "{\"op\":\"note\",\"name\":\"oom\"}|{\"op\":\"free\",\"id\":-1}|"
        "{\"op\":\"free\",\"id\":-0}|{\"op\":\"free\",\"id\":1.0}|{\"op\":\"free\",\"id\":1e1}|"
        "{\"op\":\"free\",\"id\":\"1\"}|{\"op\":\"free\",\"id\":1000000000000000}";
    char text[200];
    while (next_text(&texts, text)) {
        if (!is_event(text, true) || !is_event(text, false))
            fail_msg("refused: %s", text);
        check_same(text, strlen(text), true);
        check_same(text, strlen(text), false);
    }
    assert_true(is_event("{\"op\":\n\"sync\"}", false));
    assert_false(is_event("{\"op\":\n\"sync\"}", true));
}

TEST(test_bad)
{
    const char *texts =
        "|{|{}|[]|7|{\"op\":\"sync\"|{\"op\":\"sync\",}|{\"op\":\"sync\"]|{,\"op\":\"sync\"}|"
        "{\"op\":\"sync\" \"t\":1}|{\"op\" \"sync\"}|{op:\"sync\"}|{\"op\":sync}|{\"op\":1}|"
        "{\"op\":\"syn\"}|{\"op\":\"syncs\"}|{\"op\":\"sync\",\"op\":\"sync\"}|"
        "{\"op\":\"free\"}|{\"id\":1}|{\"op\":\"sync\",\"x\":1,\"x\":1}|"
        "{\"op\":\"sync\",\"x\":01}|{\"op\":\"sync\",\"x\":}|{\"op\":\"sync\",\"x\"}|"
        "{\"op\":\"sync\",\"x:1}|{\"op\":\"sync\",\"x\":\"}|{\"op\":\"sync\",\"x\":\"a\tb\"}|"
        "{\"op\":\"sync\",\"x\":\"a\nb\"}|{\"op\":\"sync\",\"a\tb\":1}|"
        "{\"op\":\"sync\",\"n\\u0061me\":1}|{\"op\":\"note\"}|{\"op\":\"sync\",\"name\":0}|"
        "{\"op\":\"free\",\"id\":}|{\"op\":\"free\",\"id\":01}|{\"op\":\"free\",\"id\":00}|"
        "{\"op\":\"free\",\"id\":+1}|{\"op\":\"free\",\"id\":1 1}|"
        "{\"op\":\"free\",\"id\":null}|{\"op\":\"free\",\"id\":[1]}|"
        "{\"op\":\"free\",\"id\":\"1\\u0000\"}|{\"op\":\"free\",\"id\":99999999999999999999}|"
        "{\"op\":\"free\",\"id\":1,\"id\":1}|"
        "{\"op\":\"alloc\",\"id\":1,\"size\":281474976710657}|"
        "{\"op\":\"alloc\",\"id\":1,\"size\":8,\"align\":1073741825}|"
        "{\"op\":\"sync\",\v\"t\":1}";
    char text[200];
    while (next_text(&texts, text)) {
        if (*text && is_event(text, false))
            fail_msg("taken: %s", text);
        check_same(text, strlen(text), true);
        check_same(text, strlen(text), false);
    }
}

TEST(test_cut)
{
    static const char text[] =
        "\n {\"t\": 12, \"op\": \"realloc\", \"id\": 3, \"size\": 80, \"free\": 5}\n, 7";
    for (size_t n = 0; n < sizeof text; n++) {
        check_same(text, n, false);
        check_same(text, n, true);
    }
}

/* Blanks may make an event as long as it may be, and no longer. */
TEST(test_long)
{
    enum { LIMIT = 64 << 10 };
    static char text[LIMIT + 1];
    static const char head[] = "{\"op\":\"sync\"";
    for (size_t size = LIMIT - 1; size <= LIMIT + 1; size++) {
        memset(text, ' ', sizeof text);
        memcpy(text, head, sizeof head - 1);
        text[size - 1] = '}';
        check_same(text, size, false);
        assert_int_equal(status_of(text, size, false), size <= LIMIT ? TP_OK : TP_EINPUT);
    }
}

/* ---- by chance ---- */

struct chance {
    uint64_t x;
};

static uint32_t below(struct chance *c, uint32_t limit)
{
    return (uint32_t)(tp_random_split(&c->x) % limit);
}

struct text {
    char data[1024];
    size_t size;
};

static void put(struct text *t, const char *piece)
{
    size_t length = strlen(piece);
    assert_true(t->size + length <= sizeof t->data);
    memcpy(t->data + t->size, piece, length);
    t->size += length;
}

#define PICK(c, list) (list)[below(c, (uint32_t)(sizeof(list) / sizeof *(list)))]

static void put_space(struct chance *c, struct text *t)
{
    static const char *const spaces[] = {" ", "\t", "\r", "\n", "  ", "\r\n"};
    if (below(c, 4) == 0)
        put(t, PICK(c, spaces));
}

static void put_member(struct chance *c, struct text *t)
{
    static const char *const keys[] = {"t",      "op",   "id",   "size", "align", "thread",
                                       "stream", "name", "free", "t",    "id",    "size",
                                       "thread", "x",    "y",    "x",    "na",    "\\u0074"};
    static const char *const names[] = {"alloc", "free",  "realloc",    "retain", "release",
                                        "adopt", "use",   "sync",       "reset",  "trim",
                                        "mark",  "note",  "thread_end", "alloc",  "free",
                                        "alloc", "alloc", "initial",    "allok",  "fr\\u0065e"};
    static const char *const values[] = {"0",
                                         "1",
                                         "8",
                                         "77",
                                         "4096",
                                         "65536",
                                         "1073741824",
                                         "1073741825",
                                         "12345",
                                         "999999999999999",
                                         "281474976710656",
                                         "281474976710657",
                                         "-1",
                                         "-0",
                                         "01",
                                         "1.5",
                                         "1e3",
                                         "\"7\"",
                                         "9007199254740991",
                                         "9007199254740992",
                                         "null",
                                         "true",
                                         "[1]",
                                         "{\"a\":1}",
                                         "\"\"",
                                         "1.",
                                         "\"server.c\"",
                                         "\"a\\n\"",
                                         "\"a\tb\"",
                                         "\"-3\"",
                                         "1000000000000000"};
    const char *key = PICK(c, keys);
    put_space(c, t);
    put(t, "\"");
    put(t, key);
    put(t, "\"");
    put_space(c, t);
    put(t, ":");
    put_space(c, t);
    bool text = (strcmp(key, "op") == 0 || strcmp(key, "name") == 0) && below(c, 8);
    put(t, text ? "\"" : "");
    if (text)
        put(t, PICK(c, names));
    else
        put(t, below(c, 4) ? values[below(c, 12)] : PICK(c, values));
    put(t, text ? "\"" : "");
    put_space(c, t);
}

/* An event with an op, mostly, and some members in any order; some come twice. */
static void put_event(struct chance *c, struct text *t)
{
    static const char *const heads[] = {"{\"op\":\"alloc\",\"id\":5,\"size\":9", "{\"op\":\"sync\"",
                                        "{\"op\": \"free\", \"id\": 7", "{ \"t\":3"};
    static const char *const tails[] = {"}", "}\n", "} ,", "},{\"op\":1}", "]", ""};
    put_space(c, t);
    put(t, PICK(c, heads));
    for (uint32_t n = below(c, 4); n > 0; n--) {
        put(t, ",");
        put_member(c, t);
    }
    put(t, below(c, 4) ? "}" : PICK(c, tails));
}

static void mutate(struct chance *c, struct text *t)
{
    static const char alphabet[] = "{}[]\",:0123456789.-+eE \t\r\n\\/abtopidsz\x01\x80\xff";
    for (uint32_t n = below(c, 3); n > 0 && t->size > 1; n--) {
        size_t at = below(c, (uint32_t)t->size);
        uint32_t how = below(c, 4);
        if (how < 2) {
            t->data[at] = alphabet[below(c, sizeof alphabet - 1)];
        } else if (how == 2) {
            memmove(t->data + at, t->data + at + 1, t->size - at - 1);
            t->size--;
        } else if (t->size < sizeof t->data) {
            memmove(t->data + at + 1, t->data + at, t->size - at);
            t->data[at] = alphabet[below(c, sizeof alphabet - 1)];
            t->size++;
        }
    }
}

TEST(test_random)
{
    enum { ROUNDS = 60000 };
    const uint64_t seed = 20250311;
    struct chance c = {seed};
    int taken = 0;
    print_message("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < ROUNDS; round++) {
        struct text t = {.size = 0};
        put_event(&c, &t);
        if (round % 2)
            mutate(&c, &t);
        taken += t.size && status_of(t.data, t.size, false) == TP_OK;
        check_same(t.data, t.size, round / 2 % 2);
    }
    assert_in_range(taken, ROUNDS / 10, ROUNDS / 10 * 9); /* or one of the two was not tried */
}

/* ---- in a file ---- */

/* Texts with escapes are kept behind each other, also those of an event that comes in pieces. */
TEST(test_texts)
{
    struct tp_json_scan scan = {.one_line = true};
    struct tp_event ev;
    uint64_t used = 0;
    static const char text[] = "{\"place\":\"a\\u00e9\\n\",\"op\":\"m\\u0061rk\","
                               "\"name\":\"\\ud83d\\ude00\\/\"}";
    assert_int_equal(read_event_of(text, sizeof text - 1, &scan, &ev, &used, NULL), TP_OK);
    assert_int_equal(ev.op, TP_EV_MARK);
    assert_string_equal(ev.name, "\xf0\x9f\x98\x80/");
    assert_int_equal(ev.place_bytes, 4);
    assert_memory_equal(ev.place, "a\xc3\xa9\n", 4);
    tp_json_scan_release(&scan);
    static const char *const wrong[] = {"\\ud83d", "\\ude00", "\\ud83d\\u0041",
                                        "\\u12g4", "\\x",     "\\u12"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char event[80];
        snprintf(event, sizeof event, "{\"op\":\"mark\",\"name\":\"%s\"}", wrong[i]);
        if (is_event(event, true))
            fail_msg("taken: %s", event);
    }
}

/* The input's buffer ends at every byte of the events: what lies in two pieces is read as well. */
TEST(test_split)
{
    enum { BUFFER = 256 << 10 }; /* of an input */
    static const char events[] = "{\"t\":1,\"op\":\"alloc\",\"id\":1,\"size\":80}\n,"
                                 "{\"t\":2,\"op\":\"free\",\"id\":1}]}";
    size_t head = strlen(HEAD ",\"events\":[");
    char *text = malloc(BUFFER + sizeof events), path[64];
    int fd = memfd_create("split", 0);
    assert_non_null(text);
    assert_true(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (size_t before = 0; before <= sizeof events - 1; before++) {
        memset(text, ' ', BUFFER);
        memcpy(text, HEAD ",\"events\":[", head);
        memcpy(text + BUFFER - before, events, sizeof events - 1);
        size_t size = BUFFER - before + sizeof events - 1;
        assert_int_equal(pwrite(fd, text, size, 0), (ssize_t)size);
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        struct tp_input *in = NULL;
        char program[256];
        assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
        struct reading r = read_input(&tp_format_json, in, true);
        tp_input_close(in);
        if (r.rc != TP_OK)
            fail_msg("%zu bytes before the edge: %s", before, r.err.text);
        write_program(r.program, program, sizeof program);
        assert_string_equal(program, "alloc 0 80 a4 +1 @1; free 0 80 a4 +1 @2; ");
        forget(&r);
    }
    close(fd);
    free(text);
}

/* Events have lines, also behind events of several lines. */
TEST(test_lines)
{
    struct reading r = read_text(&tp_format_json,
                                 HEAD ",\"events\":[\n{\"op\":\n\"alloc\",\n\"id\":1,\"size\":8},\n"
                                      "{\"op\":\"sync\"}, {\"op\":\"mark\",\n\"name\":\"x\"},\n"
                                      "{\"op\":\"alloc\",\"id\":1,\n\"size\":8}]}",
                                 true);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text,
                        "x.json:7: event 4 allocates id 1, which is live since event 1 (line 2)");
}
