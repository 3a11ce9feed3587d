/* Reading JSON traces, both forms: what is accepted, and one clear sentence for everything that is
 * not, with file, line and event. */
#include "tests/unit/importer_rig.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD      "{\"format\":\"tapool-trace\",\"version\":1"
#define DOC(list) HEAD ",\n\"events\":[\n" list "\n]}\n"
#define ALLOC     "{\"op\":\"alloc\",\"id\":1,\"size\":8}"
#define FREE      "{\"op\":\"free\",\"id\":1}"

static const struct importer json = {.format = &tp_format_json},
                             jsonl = {.format = &tp_format_jsonl};

#define REPLAYED(what, ...) REPLAYS(what, __VA_ARGS__, .strict = true)
#define REFUSE(what, ...)   REFUSED(what, __VA_ARGS__, .strict = true)

/* ---- what is accepted ---- */

static const struct importer_row every_op[] = {
    REPLAYED(
        HEAD
        ", \"meta\": {\"name\": \"x\", \"kind\": \"device\", \"free\": [1, {}]},\n"
        "\"streams\": [{\"id\": 0, \"device\": 0}, {\"id\": 9, \"device\": 0}],\n"
        "\"unknown\": {\"a\": [1, \"]}\", 2]}, \"flag\": true,\n"
        "\"events\": [\n"
        "{\"t\": 0, \"op\": \"alloc\", \"id\": -5, \"size\": 4096, \"align\": 64, \"x\": {}},\n"
        "{\"t\": 120, \"op\": \"realloc\", \"id\": -5, \"size\": 8192},\n"
        "{\"t\": 120, \"op\": \"retain\", \"id\": -5},\n"
        "{\"t\": 130, \"op\": \"use\", \"id\": -5, \"stream\": 9},\n"
        "{\"t\": 140, \"op\": \"release\", \"id\": -5}, {\"t\": 140, \"op\": \"free\", \"id\": "
        "-5},\n"
        "{\"t\": 140, \"op\": \"adopt\", \"id\": 2, \"size\": 1, \"stream\": 9, \"thread\": 7},\n"
        "{\"t\": 140, \"op\": \"sync\", \"stream\": 9}, {\"t\": 140, \"op\": \"sync\"},\n"
        "{\"t\": 150, \"op\": \"mark\", \"name\": \"step \\\"2\\\"\"},\n"
        "{\"t\": 150, \"op\": \"thread_end\", \"thread\": 7},\n"
        "{\"t\": 150, \"op\": \"reset\"}, {\"t\": 160, \"op\": \"trim\"},\n"
        "{\"t\": 160, \"op\": \"trim\", \"size\": 10}\n], \"after\": [\"]\"]}",
        "alloc 0 4096 a6 @1; realloc 0 8192 a6 +120 @2; retain 0 0 @3; use 0 0 s1 +10 @4; "
        "release 0 0 +10 @5; free 0 8192 a6 @6; adopt 0 1 a8 t1 s1 @7; sync 0 0 s1 @8; "
        "sync 0 0 s65535 @9; mark 0 0 +10 @10; end 0 0 t1 @11; reset 0 0 @12; trim 0 0 +10 @13; "
        "trim 0 10 @14; "),
};

#define TWO "alloc 0 8 a4 @1; free 0 8 a4 @2; "
static const struct importer_row layouts[] = {
    REPLAYED(DOC(ALLOC "," FREE), TWO),
    REPLAYED("\xef\xbb\xbf" DOC(ALLOC "," FREE), TWO),
    REPLAYED("\r\n\t " DOC(ALLOC "\r\n,\r\n" FREE) "\r\n\t ", TWO),
};
static const struct importer_row layouts_of_lines[] = {
    REPLAYED(HEAD "}\n" ALLOC "\n" FREE "\n", TWO),
    REPLAYED("\xef\xbb\xbf" HEAD "}\r\n\r\n" ALLOC "\r\n\n  " FREE, TWO),
    REPLAYED(HEAD ",\n\"meta\":{}}\n" ALLOC "\n" FREE, TWO),
};

static const struct importer_row integers[] = {
    REPLAYED(DOC("{\"op\":\"alloc\",\"id\":\"9223372036854775807\",\"size\":\"0009\"},"
                 "{\"op\":\"alloc\",\"id\":\"-9223372036854775808\",\"size\":1e3},"
                 "{\"op\":\"free\",\"id\":\"9223372036854775807\"},"
                 "{\"op\":\"alloc\",\"id\":\"-0\",\"size\":281474976710656,"
                 "\"thread\":\"18446744073709551615\"},{\"op\":\"free\",\"id\":0}"),
             "alloc 0 9 a4 @1; alloc 1 1000 a4 @2; free 0 9 a4 @3; "
             "alloc 0 281474976710656 a4 t1 @4; free 0 281474976710656 a4 @5; "),
};

static const struct importer_row meta[] = {
    READS(HEAD ",\"meta\":{\"name\":\"a\\u001b[0m\xff\",\"program\":\"gr\xc3\xbc\","
               "\"kind\":\"device\"},\"events\":[" ALLOC "]}",
          .title = "a?[0m?", .name = "gr\xc3\xbc", .kind = "device", .strict = true),
    READS(DOC("{\"op\":\"mark\",\"name\":\"\\u0007\xc3\"}"), .marks = "??|", .title = NOT_SAID,
          .strict = true),
};

static void hash_of(const struct tp_format *format, const char *text, uint8_t *hash)
{
    struct reading r = read_text(format, text, true);
    assert_int_equal(r.rc, TP_OK);
    memcpy(hash, tp_program_facts(r.program)->hash, TP_HASH_SIZE);
    forget(&r);
}

/* The hash is of the program: neither the form, nor blanks, nor names count; a size does. */
TEST(test_hash)
{
    static const uint8_t zero[TP_HASH_SIZE];
    uint8_t first[TP_HASH_SIZE], other[TP_HASH_SIZE];
    hash_of(&tp_format_json, DOC(ALLOC "," FREE), first);
    assert_memory_not_equal(first, zero, sizeof first);
    hash_of(&tp_format_json, DOC("\n\n  " ALLOC " ,\r\n\t " FREE), other);
    assert_memory_equal(first, other, sizeof first);
    hash_of(&tp_format_jsonl, HEAD ",\"meta\":{\"name\":\"n\"}}\n" ALLOC "\n" FREE, other);
    assert_memory_equal(first, other, sizeof first);
    hash_of(&tp_format_json,
            DOC("{\"id\":\"77\",\"size\":\"8\",\"x\":1,\"op\":\"alloc\",\"thread\":9}"
                ",{\"op\":\"release\",\"id\":77,\"thread\":9}"),
            other);
    assert_memory_equal(first, other, sizeof first);
    hash_of(&tp_format_json, DOC("{\"op\":\"alloc\",\"id\":1,\"size\":9}," FREE), other);
    assert_memory_not_equal(first, other, sizeof first);
}

/* ---- what is refused ---- */

static const struct importer_row bad_header[] = {
    REFUSE("{}", "x.json:1: 'format' is missing: not a trace of tapool",
           .hint_part = "tapool help format"),
    REFUSE("{\"format\":\"gpu-trace\",\"version\":1}",
           "x.json:1: 'format' is \"gpu-trace\", not \"tapool-trace\""),
    REFUSE("{\"format\":7}", "x.json:1: 'format' is 7, not \"tapool-trace\""),
    REFUSE("{\"format\":\"tapool-trace\",\n\"version\":2,\"events\":[]}",
           "x.json:2: 'version' is 2: this tapool reads version 1"),
    REFUSE("{\"format\":\"tapool-trace\",\"version\":\"1\"}",
           "x.json:1: 'version' is \"1\": this tapool reads version 1"),
    REFUSE("{\"format\":\"tapool-trace\",\"events\":[]}",
           "x.json:1: 'version' must come before 'events'"),
    REFUSE("{\"version\":1,\"events\":[]}", "x.json:1: 'format' must come before 'events'"),
    REFUSE(HEAD ",\"events\":[" ALLOC "],\n\"meta\":{}}",
           "x.json:2: 'meta' must come before 'events'"),
    REFUSE(HEAD ",\"events\":[" ALLOC "],\n\"streams\":[]}",
           "x.json:2: 'streams' must come before 'events'"),
    REFUSE(HEAD "}", "x.json:1: there is no 'events' in it"),
    REFUSE(HEAD ",\"events\":{}}", "x.json:1: 'events' is not a list"),
    REFUSE(HEAD ",\n\"format\":\"tapool-trace\"}",
           "x.json:2: the top-level object has \"format\" twice"),
    REFUSE(HEAD ",\"y\":1,\n\"y\":2,\"events\":[]}",
           "x.json:2: the top-level object has \"y\" twice"),
    REFUSE(HEAD ",\"events\":[" ALLOC "],\"events\":[]}",
           "x.json:1: the top-level object has \"events\" twice"),
    REFUSE(HEAD ",\"meta\":{\"name\":1}}", "x.json:1: 'meta': 'name' is 1, not a text"),
    REFUSE(HEAD ",\"meta\":[]}", "x.json:1: 'meta' is not an object"),
    REFUSE(HEAD ",\"meta\":{\"a\":1,\"b\":2,\"a\":3}}", "x.json:1: 'meta' has 'a' twice"),
    REFUSE(HEAD ",\"meta\":{\"kind\":\"gpu\"}}",
           "x.json:1: 'meta': 'kind' is \"gpu\", not \"host\" or \"device\""),
    REFUSE(HEAD ",\"streams\":[]}", "x.json:1: 'streams' is empty: leave it out"),
    REFUSE(HEAD ",\"streams\":{}}", "x.json:1: 'streams' is not a list"),
    REFUSE(HEAD ",\"streams\":[7]}", "x.json:1: 'streams' holds something that is not an object"),
    REFUSE(HEAD ",\"streams\":[{}]}", "x.json:1: 'streams' has an element without 'id'"),
    REFUSE(HEAD ",\"streams\":[{\"id\":1},\n{\"id\":1}]}",
           "x.json:2: 'streams': stream 1 is declared twice"),
    REFUSE(HEAD ",\"streams\":[{\"id\":1,\"id\":2}]}", "x.json:1: 'streams' has 'id' twice"),
    REFUSE(HEAD ",\"streams\":[{\"id\":1.5}]}",
           "x.json:1: 'streams': 'id' is 1.5: not a whole number"),
    REFUSE(HEAD ",\"streams\":[{\"id\":1}{\"id\":2}]}",
           "x.json:1: 'streams': ',' or ']' is missing: not valid JSON"),
    REFUSE(HEAD ",\"x\":nul,\"events\":[]}",
           "x.json:1: the top-level object is not valid JSON near 'nul'"),
    REFUSE(HEAD ",\"x\" 1}", "x.json:1: the top-level object: ':' is missing: not valid JSON"),
    REFUSE("[1]", "x.json:1: the top-level object: '{' is missing: not valid JSON"),
    REFUSE(HEAD ",}", "x.json:1: the top-level object: the name of a member is missing: "
                      "not valid JSON"),
    REFUSE(DOC(ALLOC) "x", "x.json:5: something follows the end of the trace"),
    REFUSE(DOC(ALLOC) DOC(ALLOC), "x.json:5: something follows the end of the trace"),
};

static const struct importer_row bad_events[] = {
    REFUSE(DOC("{}"), "x.json:3: event 1 has no 'op'"),
    REFUSE(DOC(ALLOC ",\n7"), "x.json:4: event 2 is not an object"),
    REFUSE(DOC(ALLOC ",\n[]"), "x.json:4: event 2 is not an object"),
    REFUSE(DOC(ALLOC ",\n"), "x.json:5: event 2 is not valid JSON near ''"),
    REFUSE(DOC(ALLOC FREE), "x.json:3: event 2: ',' or ']' is missing before it: not valid JSON"),
    REFUSE(DOC("{\"op\":\"aloc\",\"id\":1,\"size\":8}"), "x.json:3: event 1: unknown op 'aloc'",
           .hint_part = "did you mean 'alloc'?"),
    REFUSE(DOC("{\"op\":\"\\u001b[31m\"}"), "x.json:3: event 1: unknown op '?[31m'",
           .hint_part = "lists all"),
    REFUSE(DOC("{\"op\":1}"), "x.json:3: event 1: 'op' is 1, not a text"),
    REFUSE(DOC("{\"op\":\"alloc\",\"size\":8}"), "x.json:3: event 1 (alloc) has no 'id'"),
    REFUSE(DOC("{\"op\":\"alloc\",\"id\":8}"), "x.json:3: event 1 (alloc) has no 'size'"),
    REFUSE(DOC("{\"op\":\"realloc\",\"id\":8}"), "x.json:3: event 1 (realloc) has no 'size'"),
    REFUSE(DOC("{\"op\":\"adopt\",\"id\":8}"), "x.json:3: event 1 (adopt) has no 'size'"),
    REFUSE(DOC("{\"op\":\"free\"}"), "x.json:3: event 1 (free) has no 'id'"),
    REFUSE(DOC("{\"op\":\"release\"}"), "x.json:3: event 1 (release) has no 'id'"),
    REFUSE(DOC("{\"op\":\"retain\"}"), "x.json:3: event 1 (retain) has no 'id'"),
    REFUSE(DOC("{\"op\":\"use\",\"id\":1}"), "x.json:3: event 1 (use) has no 'stream'"),
    REFUSE(DOC("{\"op\":\"mark\"}"), "x.json:3: event 1 (mark) has no 'name'"),
    REFUSE(DOC("{\"op\":\"mark\",\"name\":[]}"), "x.json:3: event 1: 'name' is a list, not a text"),
    REFUSE(DOC("{\"op\":\"free\",\"id\":1,\n\"id\":1}"), "x.json:3: event 1 has 'id' twice"),
    REFUSE(DOC("{\"op\":\"free\",\"id\":1,\"y\":1,\"z\":1,\"y\":2}"),
           "x.json:3: event 1 has 'y' twice"),
    REFUSE(DOC("{\"op\":\"free\",\"id\":1,\"i\\u0064\":1}"), "x.json:3: event 1 has 'id' twice"),
    REFUSE(DOC("{\"op\":\"mark\",\"name\":\"\\q\"}"),
           "x.json:3: event 1 is not valid JSON near '\\q\"}'"),
    REFUSE(DOC("{\"op\":\"alloc\",\"id\":1,\"size\":8,\"stream\":1}"),
           "x.json:3: event 1: stream 1 is not declared"),
    REFUSE(DOC("{\"op\":\"sync\",\"stream\":7}"), "x.json:3: event 1: stream 7 is not declared",
           .hint_part = "'streams'"),
    REFUSE(HEAD ",\"streams\":[{\"id\":1}],\"events\":[{\"op\":\"use\",\"id\":1,\"stream\":0}]}",
           "x.json:1: event 1: stream 0 is not declared"),
    REFUSE(DOC("{\"op\":\"sync\",\n\"x\":tru}"), "x.json:4: event 1 is not valid JSON near 'tru}'"),
    REFUSE(DOC("{\"op\":\"sync\",\"x\":\"a\nb\"}"),
           "x.json:3: event 1 holds a raw control character: not valid JSON"),
    REFUSE(DOC("{\"op\":\"sync\",\"x\":[1}}"), "x.json:3: event 1 has brackets that do not match"),
    REFUSE(DOC("{\"op\":\"free\",\"id\":5}"), "x.json:3: event 1 frees id 5, which is not live",
           .hint_part = "--repair"),
    REFUSE(DOC(ALLOC ",\n" ALLOC),
           "x.json:4: event 2 allocates id 1, which is live since event 1 (line 3)",
           .hint_part = "an id may be used again only after its free"),
    REFUSE(DOC("{\"t\":250,\"op\":\"sync\"},\n{\"t\":100,\"op\":\"sync\"}"),
           "x.json:4: event 2: time runs backwards: t is 100 after 250"),
    REFUSE(DOC("{\"t\":1700000000000000000,\"op\":\"sync\"}"),
           "x.json:3: event 1: 't' is 1700000000000000000: beyond 2^53, where bare numbers are not "
           "exact",
           .hint_part = "quote it"),
    REFUSE(DOC("{\"t\":\"1700000000000000000\",\"op\":\"sync\"}"),
           "x.json:3: event 1: t is 1700000000000000000 ns, more than 104 days after the start",
           .hint_part = "not since 1970"),
};

#define SIZED(value)   DOC("{\"op\":\"alloc\",\"id\":1,\"size\":" value "}")
#define WITH_ID(value) DOC("{\"op\":\"alloc\",\"size\":1,\"id\":" value "}")
#define E1             "x.json:3: event 1: "
static const struct importer_row bad_integers[] = {
    REFUSE(SIZED("-1"), E1 "'size' is -1: negative"),
    REFUSE(SIZED("\"-1\""), E1 "'size' is \"-1\": negative"),
    REFUSE(SIZED("1.5"), E1 "'size' is 1.5: not a whole number"),
    REFUSE(SIZED("\"1.5\""), E1 "'size' is \"1.5\": not a whole number"),
    REFUSE(SIZED("\"\""), E1 "'size' is \"\": not a whole number"),
    REFUSE(SIZED("\"-\""), E1 "'size' is \"-\": not a whole number"),
    REFUSE(SIZED("\"+1\""), E1 "'size' is \"+1\": not a whole number"),
    REFUSE(SIZED("\"0x10\""), E1 "'size' is \"0x10\": not a whole number"),
    REFUSE(SIZED("\" 1\""), E1 "'size' is \" 1\": not a whole number"),
    REFUSE(SIZED("\"4 KiB\""), E1 "'size' is \"4 KiB\": not a whole number"),
    REFUSE(SIZED("\"NaN\""), E1 "'size' is \"NaN\": not a whole number"),
    REFUSE(SIZED("NaN"), "x.json:3: event 1 is not valid JSON near 'NaN}'"),
    REFUSE(SIZED("null"), E1 "'size' is null: not a whole number"),
    REFUSE(SIZED("true"), E1 "'size' is true: not a whole number"),
    REFUSE(SIZED("[8]"), E1 "'size' is a list: not a whole number"),
    REFUSE(SIZED("{}"), E1 "'size' is an object: not a whole number"),
    REFUSE(SIZED("281474976710657"), E1 "'size' is 281474976710657: the limit is 2^48 bytes"),
    REFUSE(SIZED("9223372036854775808"),
           E1 "'size' is 9223372036854775808: the limit is 2^48 bytes"),
    REFUSE(SIZED("\"9223372036854775808\""),
           E1 "'size' is \"9223372036854775808\": the limit is 2^48 bytes"),
    REFUSE(SIZED("\"99999999999999999999999\""),
           E1 "'size' is \"99999999999999999999999\": the limit is 2^48 bytes"),
    REFUSE(SIZED("1e999"), E1 "'size' is inf: the limit is 2^48 bytes"),
    REFUSE(SIZED("0"), "x.json:3: event 1 allocates 0 bytes (id 1)", .hint_part = "--repair"),
    REFUSE(WITH_ID("9007199254740992"),
           E1 "'id' is 9007199254740992: beyond 2^53, where bare numbers are not exact",
           .hint_part = "quote it as a string: \"id\""),
    REFUSE(WITH_ID("-9007199254740992"),
           E1 "'id' is -9007199254740992: beyond 2^53, where bare numbers are not exact",
           .hint_part = "quote it"),
    REFUSE(WITH_ID("\"9223372036854775808\""),
           E1 "'id' is \"9223372036854775808\": it does not fit 64 bits"),
    REFUSE(WITH_ID("\"-9223372036854775809\""),
           E1 "'id' is \"-9223372036854775809\": it does not fit 64 bits"),
    REFUSE(DOC(ALLOC ",\n{\"op\":\"realloc\",\"id\":1,\"size\":1e300}"),
           "x.json:4: event 2: 'size' is 1e+300: the limit is 2^48 bytes"),
    REFUSE(WITH_ID("\"x\""), E1 "'id' is \"x\": not a whole number"),
    REFUSE(WITH_ID("0.5"), E1 "'id' is 0.5: not a whole number"),
    REFUSE(DOC("{\"op\":\"alloc\",\"id\":1,\"size\":8,\"align\":3}"),
           E1 "align is 3: not a power of two from 1 to 2^30"),
    REFUSE(DOC("{\"op\":\"alloc\",\"id\":1,\"size\":8,\"align\":0}"),
           E1 "align is 0: not a power of two from 1 to 2^30"),
    REFUSE(DOC("{\"op\":\"alloc\",\"id\":1,\"size\":8,\"align\":2147483648}"),
           E1 "'align' is 2147483648: the limit is 2^30"),
    REFUSE(DOC("{\"op\":\"thread_end\",\"thread\":-1}"), E1 "'thread' is -1: negative"),
    REFUSE(DOC("{\"op\":\"sync\",\"t\":-1}"), E1 "'t' is -1: negative"),
    REFUSE(DOC("{\"op\":\"sync\",\"t\":0.5}"), E1 "'t' is 0.5: not a whole number"),
    REFUSE(DOC("{\"op\":\"sync\",\"stream\":\"x\"}"), E1 "'stream' is \"x\": not a whole number"),
};

static const struct importer_row bad_lines[] = {
    REFUSE(ALLOC "\n", "x.json:1: 'format' is missing: not a trace of tapool"),
    REFUSE(HEAD "} 7\n", "x.json:1: something follows the header on its line"),
    REFUSE(HEAD ",\"events\":[]}\n", "x.json:1: the header has 'events'",
           .hint_part = "--input-format=json"),
    REFUSE(HEAD "}\n" ALLOC " " FREE "\n", "x.json:2: event 1 is followed by more on its line"),
    REFUSE(HEAD "}\n" ALLOC "\n{\"op\":\n\"sync\"}\n",
           "x.json:3: event 2 is not complete on its line"),
    REFUSE(HEAD "}\n" ALLOC "\n" FREE ",\n", "x.json:3: event 2 is followed by more on its line"),
    REFUSE(HEAD "}\n" ALLOC "\n7\n", "x.json:3: event 2 is not an object"),
    REFUSE(HEAD "}\n" ALLOC "\n{\"op\":\"sy", "x.json:3: the file ends inside event 2: truncated?"),
    REFUSE(HEAD "}\n" ALLOC "\n\n" ALLOC "\n",
           "x.json:4: event 2 allocates id 1, which is live since event 1 (line 2)"),
};

/* cJSON reads numbers as strtod does; JSON has no leading zeros and no bare points. */
#define NEAR(text) "x.json:3: event 1 is not valid JSON near '" text "'"
static const struct importer_row odd_numbers[] = {
    REFUSE(SIZED("01"), NEAR("01}")),
    REFUSE(SIZED("00"), NEAR("00}")),
    REFUSE(SIZED("1."), NEAR("1.}")),
    REFUSE(SIZED("1.e3"), NEAR("1.e3}")),
    REFUSE(SIZED("01.5"), NEAR("01.5}")),
    REFUSE(WITH_ID("-01"), NEAR("-01}")),
    REFUSE(WITH_ID("-.5"), NEAR("-.5}")),
    REFUSE(DOC("{\"op\":\"sync\",\"x\":[1,\n{\"y\":02}]}"),
           "x.json:4: event 1 is not valid JSON near '02}]}'"),
    REFUSE(DOC("{\"op\":\"sync\",\"x\":\"\\\\\",\"y\":03}"), NEAR("03}")),
    REFUSE("{\"format\":\"tapool-trace\",\"version\":01,\"events\":[]}",
           "x.json:1: 'version' is not valid JSON near '01'"),
    REFUSE("{\"format\":\"tapool-trace\",\"version\":1.,\"events\":[]}",
           "x.json:1: 'version' is not valid JSON near '1.'"),
    REPLAYED(DOC("{\"op\":\"alloc\",\"id\":-0,\"size\":1.0e+1,\"x\":[0,-0.0,0e5,10,1E-2,\"01\"]}"
                 ",{\"op\":\"free\",\"id\":0,\"x\":\"\\\"1.\",\"01\":\"a\\\\\"}"),
             "alloc 0 10 a4 @1; free 0 10 a4 @2; "),
};

/* ---- hostile shapes ---- */

/* A whole trace with `repeat` copies of `piece` in the place of the '*'. */
static char *blow_up(const char *frame, const char *piece, size_t repeat, size_t *size)
{
    const char *star = strchr(frame, '*');
    size_t before = (size_t)(star - frame), width = strlen(piece), after = strlen(star + 1);
    char *text = malloc(before + width * repeat + after + 1);
    assert_non_null(text);
    memcpy(text, frame, before);
    for (size_t i = 0; i < repeat; i++)
        memcpy(text + before + i * width, piece, width);
    memcpy(text + before + width * repeat, star + 1, after + 1);
    *size = before + width * repeat + after;
    return text;
}

/* `error`: NULL where it is read. */
static void check_blown(const struct importer *of, const char *frame, const char *piece,
                        size_t repeat, const char *error)
{
    size_t size = 0;
    char *text = blow_up(frame, piece, repeat, &size);
    check_row(of,
              &(struct importer_row){.text = text, .size = size, .strict = true, .error = error});
    free(text);
}

TEST(test_nesting)
{
    check_blown(&json, DOC("*"), "[", 100000, "x.json:3: event 1 is nested deeper than 64 levels");
    check_blown(&json, DOC("{\"op\":\"sync\",\"x\":*"), "{\"a\":", 100000,
                "x.json:3: event 1 is nested deeper than 64 levels");
    check_blown(&json, "{\"x\":*", "[", 100000,
                "x.json:1: the top-level object is nested deeper than 64 levels");
    check_blown(&json, HEAD ",\"meta\":*", "[", 100000,
                "x.json:1: 'meta' is nested deeper than 64 levels");
    check_blown(&json, "*", "[", 100000,
                "x.json:1: the top-level object: '{' is missing: not valid JSON");
    check_blown(&json, DOC("{\"op\":\"sync\",\"x\":*1}"), "[", 63,
                "x.json:3: event 1 has brackets that do not match");
    check_blown(&json, DOC("{\"op\":\"sync\",\"x\":[[[[1]]]]}*"), " ", 1, NULL);
    check_blown(&jsonl, HEAD "}\n*", "[", 100000,
                "x.json:2: event 1 is nested deeper than 64 levels");
}

TEST(test_lengths)
{
    check_blown(&json, DOC("{\"op\":\"sync\",\"x\":\"*\"}"), "y", 70000,
                "x.json:3: event 1 is longer than 64 KiB");
    check_blown(&json, DOC("{\"op\":\"sync\",\"x\":\"*\"}"), "y", 65000, NULL);
    check_blown(&json, DOC("{\"op\":\"sync\"*}"), ",\"x\":1", 65,
                "x.json:3: event 1 has more than 64 keys");
    check_blown(&json, DOC("*"), "1", 100000, "x.json:3: event 1 is longer than 64 bytes");
    check_blown(&json, HEAD ",\"meta\":{\"x\":\"*\"},\"events\":[" ALLOC "]}", "y", 1000000, NULL);
    check_blown(&json, HEAD ",\"meta\":{\"x\":\"*\"},\"events\":[" ALLOC "]}", "y", 1 << 20,
                "x.json:1: 'meta' is longer than 1024 KiB");
    check_blown(&json, HEAD ",\"x\":\"*\",\"events\":[" ALLOC "]}", "y", 3 << 20, NULL);
    check_blown(&json, HEAD ",\"x\":[*0],\"events\":[" ALLOC "]}", "[],", 3 << 20, NULL);
    check_blown(&json, HEAD ",\"*\":0,\"events\":[" ALLOC "]}", "y", 2000,
                "x.json:1: the top-level object is longer than 1 KiB");
    check_blown(&json, HEAD ",\"streams\":[{\"id\":0}*],\"events\":[" ALLOC "]}", ",{\"id\":0}", 1,
                "x.json:1: 'streams': stream 0 is declared twice");
    check_blown(&jsonl, HEAD "}\n{\"op\":\"sync\",\"x\":\"*\"}", "y", 70000,
                "x.json:2: event 1 is longer than 64 KiB");
}

/* More members, streams and devices than there may be. */
TEST(test_counts)
{
    static char text[2 << 20];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", HEAD);
    for (int i = 0; i < 70; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",\"m%d\":0", i);
    struct reading r = read_bytes(&tp_format_json, text, used, true);
    assert_string_equal(r.err.text, "x.json:1: the top-level object has more than 64 members");
    for (int kind = 0; kind < 2; kind++) {
        used = (size_t)snprintf(text, sizeof text, "%s,\"streams\":[", HEAD);
        for (int i = 0; i < 65540; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s{\"id\":%d,\"device\":%d}",
                                     i ? "," : "", i, kind * i);
        r = read_bytes(&tp_format_json, text, used, true);
        assert_string_equal(r.err.text, kind ? "x.json:1: 'streams': more than 256 devices"
                                             : "x.json:1: 'streams': more than 65535 streams");
    }
}

/* 100 MB on one line through a pipe: refused, or read, in little memory. */
static void feed_long_line(int fd, const char *frame, char filler)
{
    static char block[1 << 16];
    const char *star = strchr(frame, '*');
    memset(block, filler, sizeof block);
    if (write(fd, frame, (size_t)(star - frame)) < 0)
        _exit(0);
    for (size_t sent = 0; sent < (size_t)100 << 20;) {
        ssize_t n = write(fd, block, sizeof block);
        if (n <= 0)
            _exit(0); /* the reader has seen enough */
        sent += (size_t)n;
    }
    _exit(write(fd, star + 1, strlen(star + 1)) < 0);
}

static struct reading read_long_line(const char *frame, char filler)
{
    int ends[2];
    char path[64];
    struct tp_input *in = NULL;
    struct rusage before, after;
    assert_int_equal(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN); /* for the writer */
    getrusage(RUSAGE_SELF, &before);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        feed_long_line(ends[1], frame, filler);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    close(ends[0]);
    struct reading r = read_input(&tp_format_json, in, true);
    tp_input_close(in);
    assert_int_equal(waitpid(child, NULL, 0), child);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 16 << 10); /* KiB */
    return r;
}

TEST(test_long_line)
{
    struct reading r = read_long_line(HEAD ",\"events\":[{\"op\":\"*\"}]}", 'a');
    assert_int_equal(r.rc, TP_EINPUT);
    assert_non_null(strstr(r.err.text, ":1: event 1 is longer than 64 KiB"));
    r = read_long_line(HEAD ",\"meta\":{\"name\":\"*\"},\"events\":[]}", 'a');
    assert_int_equal(r.rc, TP_EINPUT);
    assert_non_null(strstr(r.err.text, ":1: 'meta' is longer than 1024 KiB"));
    r = read_long_line("{\"*\":1}", '7');
    assert_non_null(strstr(r.err.text, ":1: the top-level object is longer than 1 KiB"));
    r = read_long_line(HEAD ",\"x\":\"*\",\"events\":[" ALLOC "]}", 'a');
    assert_int_equal(r.rc, TP_OK);
    forget(&r);
    r = read_long_line(HEAD ",\"events\":[*" ALLOC "]}", ' ');
    assert_int_equal(r.rc, TP_OK);
    forget(&r);
}

TEST(test_truncated)
{
    static const char text[] =
        HEAD ", \"meta\": {\"name\": \"x\", \"kind\": \"host\"},\n"
             "\"streams\": [{\"id\": 0, \"device\": 0}], \"x\": [1, \"a\\\"]\"], \"y\": true,\n"
             "\"events\": [\n{\"t\": 0, \"op\": \"alloc\", \"id\": 1, \"size\": 8},\n"
             "{\"t\": 5, \"op\": \"free\", \"id\": \"1\"}\n], \"z\": {}}";
    size_t size = sizeof text - 1;
    for (size_t n = 1; n <= size; n++) {
        char *copy = malloc(n); /* of exactly this size, so that a sanitizer sees the end */
        assert_non_null(copy);
        memcpy(copy, text, n);
        struct reading r = read_bytes(&tp_format_json, copy, n, true);
        assert_int_equal(r.rc, n == size ? TP_OK : TP_EINPUT);
        if (r.rc != TP_OK && !strstr(r.err.text, "truncated?") && !strstr(r.err.text, "near"))
            fail_msg("cut at %zu: %s", n, r.err.text);
        forget(&r);
        r = read_bytes(&tp_format_jsonl, copy, n, true);
        assert_int_equal(r.rc, TP_EINPUT);
        free(copy);
    }
    struct reading r = read_bytes(&tp_format_json, text, size - 20, true);
    assert_string_equal(r.err.text, "x.json:5: the file ends inside event 2: truncated?");
    r = read_bytes(&tp_format_json, text, (size_t)(strstr(text, ",\n{\"t\": 5") - text), true);
    assert_string_equal(r.err.text, "x.json:4: the file ends after event 1: truncated?");
}

/* JSON Lines: a cut between two lines leaves a shorter trace that is whole; no other cut does. */
TEST(test_truncated_lines)
{
    static const char text[] = HEAD ",\"meta\":{\"name\":\"x\"}}\n" ALLOC "\n" FREE "\n";
    size_t size = sizeof text - 1;
    for (size_t n = 1; n <= size; n++) {
        struct reading r = read_bytes(&tp_format_jsonl, text, n, true);
        bool whole = text[n - 1] == '\n' || text[n] == '\n';
        assert_int_equal(r.rc, whole ? TP_OK : TP_EINPUT);
        forget(&r);
    }
}

static uint64_t random_next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Random bytes, and a valid trace with some bytes changed: no crash, and an error is a sentence. */
TEST(test_garbage)
{
    static const char text[] =
        HEAD ",\"meta\":{\"kind\":\"device\"},\"streams\":[{\"id\":0},{\"id\":1}],"
             "\"events\":[" ALLOC ",{\"op\":\"use\",\"id\":1,\"stream\":1},"
             "{\"t\":7,\"op\":\"realloc\",\"id\":1,\"size\":99}," FREE "]}";
    const uint64_t seed = 20240607;
    uint64_t x = seed;
    print_message("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < 4000; round++) {
        char bytes[sizeof text];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)random_next(&x);
        if (round % 2) {
            memcpy(bytes, text, sizeof text);
            for (int i = 0; i < 1 + round % 3; i++)
                bytes[random_next(&x) % sizeof text] = (char)random_next(&x);
        }
        const struct tp_format *format = round % 4 < 2 ? &tp_format_json : &tp_format_jsonl;
        struct reading r = read_bytes(format, bytes, sizeof text - 1, round % 3 == 0);
        assert_true(r.rc == TP_EINPUT || (r.rc == TP_OK && round % 2));
        for (const char *c = r.err.text; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        forget(&r);
    }
}

TESTS(ROWS(json, every_op), ROWS(json, layouts), ROWS(json, integers), ROWS(json, meta),
      ROWS(json, bad_header), ROWS(json, bad_events), ROWS(json, bad_integers),
      ROWS(json, odd_numbers), ROWS(jsonl, layouts_of_lines), ROWS(jsonl, bad_lines))
