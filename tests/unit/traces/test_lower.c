/* Lowering: objects, references, numbering, time, and dirty input refused or repaired. Traces are
 * written as JSON, programs compared as text (importer_rig.h). */
#include "tests/unit/importer_rig.h"

#define HEAD   "{\"format\":\"tapool-trace\",\"version\":1"
#define DEVICE HEAD ",\"meta\":{\"kind\":\"device\"}"
#define STREAMS                                                                                    \
    ",\"streams\":[{\"id\":5,\"device\":70},{\"id\":-2,\"device\":3},{\"id\":0,\"device\":70}]"
#define ID(op, id)          "{\"op\":\"" op "\",\"id\":" #id "}"
#define SIZED(op, id, size) "{\"op\":\"" op "\",\"id\":" #id ",\"size\":" #size "}"

/* Strictly, and with repairs. */
#define TRACE(head, events)              head ",\"events\":[\n" events "\n]}"
#define LOWERS(head, events, ...)        REPLAYS(TRACE(head, events), __VA_ARGS__, .strict = true)
#define IS(head, events, ...)            READS(TRACE(head, events), __VA_ARGS__, .strict = true)
#define DENIED(head, events, ...)        REFUSED(TRACE(head, events), __VA_ARGS__, .strict = true)
#define MENDS(head, events, ...)         REPLAYS(TRACE(head, events), __VA_ARGS__)
#define DENIED_ANYWAY(head, events, ...) REFUSED(TRACE(head, events), __VA_ARGS__)
static const struct importer json = {.format = &tp_format_json};

/* ---- objects ---- */

static const struct importer_row slots[] = {
    /* the slot freed last is used first, so the highest slot is the peak of live objects */
    LOWERS(HEAD,
           SIZED("alloc", 10, 1) "," SIZED("alloc", 11, 2) "," SIZED("alloc", 12, 3) "," ID(
               "free", 10) "," ID("free", 12) "," SIZED("alloc", 13,
                                                        4) "," SIZED("alloc", 10,
                                                                     5) "," SIZED("alloc", 14, 6),
           "alloc 0 1 a4 @1; alloc 1 2 a4 @2; alloc 2 3 a4 @3; free 0 1 a4 @4; free 2 3 a4 @5; "
           "alloc 2 4 a4 @6; alloc 0 5 a4 @7; alloc 3 6 a4 @8; "),
};

#define ALIGNMENT                                                                                  \
    SIZED("alloc", 1, 1)                                                                           \
    ",{\"op\":\"realloc\",\"id\":1,\"size\":2,\"align\":4096}," SIZED("realloc", 1, 3) "," ID(     \
        "free", 1) ",{\"op\":\"adopt\",\"id\":1,\"size\":7,\"align\":1073741824}"
static const struct importer_row alignment[] = {
    LOWERS(HEAD, ALIGNMENT,
           "alloc 0 1 a4 @1; realloc 0 2 a12 @2; realloc 0 3 a12 @3; free 0 3 a12 @4; "
           "adopt 0 7 a30 @5; "),
    LOWERS(DEVICE, ALIGNMENT,
           "alloc 0 1 a8 @1; realloc 0 2 a12 @2; realloc 0 3 a12 @3; free 0 3 a12 @4; "
           "adopt 0 7 a30 @5; "),
};

static const struct importer_row references[] = {
    LOWERS(HEAD,
           SIZED("alloc", 1, 9) "," ID("retain", 1) "," ID("retain", 1) "," ID("free", 1) "," ID(
               "retain", 1) "," ID("release", 1) "," ID("free", 1) "," ID("release", 1),
           "alloc 0 9 a4 @1; retain 0 0 @2; retain 0 0 @3; release 0 0 @4; retain 0 0 @5; "
           "release 0 0 @6; release 0 0 @7; free 0 9 a4 @8; "),
    DENIED(HEAD,
           SIZED("alloc", 1, 9) "," ID("retain", 1) "," ID("free", 1) "," ID("free",
                                                                             1) ",\n" ID("free", 1),
           "x.json:3: event 5 frees id 1, which is not live"),
};

/* Against a plain model: many ids, hash collisions and deletions included. */
TEST(test_many_ids)
{
    enum { IDS = 3000, ROUNDS = 60000 };
    static bool live[IDS];
    uint64_t x = 88172645463325252u, count = 0;
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "m", .strict = true});
    for (int round = 0; round < ROUNDS; round++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        size_t k = x % IDS;
        struct tp_event ev = {.op = live[k] ? TP_EV_FREE : TP_EV_ALLOC,
                              .id = (int64_t)(k * 4096) - 5000000,
                              .size = k + 1};
        assert_int_equal(tp_lower_event(lo, &ev, NULL), TP_OK);
        count += live[k] ? -UINT64_C(1) : 1;
        live[k] = !live[k];
    }
    for (size_t k = 0; k < IDS; k++) {
        struct tp_event ev = {.op = TP_EV_RETAIN, .id = (int64_t)(k * 4096) - 5000000};
        assert_int_equal(tp_lower_event(lo, &ev, NULL), live[k] ? TP_OK : TP_EINPUT);
    }
    struct tp_program *program = close_lower(lo);
    assert_int_equal(tp_program_facts(program)->live_at_end, count);
    tp_program_release(program);
}

/* ---- threads, streams, devices ---- */

#define THREADS                                                                                    \
    "{\"op\":\"sync\"},{\"op\":\"alloc\",\"id\":1,\"size\":1,\"thread\":900},"                     \
    "{\"op\":\"alloc\",\"id\":2,\"size\":1,\"thread\":7},{\"op\":\"thread_end\",\"thread\":900}"   \
    ","                                                                                            \
    "{\"op\":\"alloc\",\"id\":3,\"size\":1,\"thread\":8},"                                         \
    "{\"op\":\"alloc\",\"id\":4,\"size\":1,\"thread\":900},"                                       \
    "{\"op\":\"alloc\",\"id\":5,\"size\":1}"
static const struct importer_row threads[] = {
    LOWERS(HEAD, THREADS,
           "sync 0 0 s65535 @1; alloc 0 1 a4 @2; alloc 1 1 a4 t1 @3; end 0 0 @4; "
           "alloc 2 1 a4 @5; alloc 3 1 a4 t2 @6; alloc 4 1 a4 t3 @7; "),
    IS(HEAD, THREADS, .facts = "threads=4 recorded_threads=5 "),
};

/* A thread whose number comes back at once is another thread. */
static const struct importer_row thread_comes_back[] = {
    IS(HEAD,
       "{\"op\":\"alloc\",\"id\":1,\"size\":1,\"thread\":3},"
       "{\"op\":\"thread_end\",\"thread\":3},"
       "{\"op\":\"free\",\"id\":1,\"thread\":3},"
       "{\"op\":\"thread_end\",\"thread\":3},"
       "{\"op\":\"thread_end\",\"thread\":3}",
       .facts = "threads=1 recorded_threads=3 "),
};

TEST(test_too_many_threads)
{
    struct tp_err err = {0};
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "m"});
    for (uint64_t i = 0; i < TP_MAX_THREADS; i++) {
        struct tp_event ev = {.op = TP_EV_ALLOC, .id = (int64_t)i, .size = 1, .thread = i << 40};
        assert_int_equal(tp_lower_event(lo, &ev, &err), TP_OK);
    }
    struct tp_event end = {.op = TP_EV_THREAD_END, .thread = UINT64_C(5) << 40};
    struct tp_event more = {.op = TP_EV_FREE, .id = 1, .thread = 1, .line = 9};
    assert_int_equal(tp_lower_event(lo, &end, &err), TP_OK);
    assert_int_equal(tp_lower_event(lo, &more, &err), TP_OK); /* takes the place of the ended */
    more.thread = 2;
    assert_int_equal(tp_lower_event(lo, &more, &err), TP_OK); /* dropped: it needs no number */
    more.id = 2;
    assert_int_equal(tp_lower_event(lo, &more, &err), TP_EINPUT);
    assert_string_equal(err.text, "m:9: event 65,539: more than 65535 threads at once");
    assert_non_null(strstr(err.hint, "thread_end"));
    tp_lower_free(lo);
}

static const struct importer_row streams[] = {
    LOWERS(
        DEVICE STREAMS,
        SIZED(
            "alloc", 1,
            1) ",{\"op\":\"alloc\",\"id\":2,\"size\":2,\"stream\":-2},"
               "{\"op\":\"use\",\"id\":1,\"stream\":0},{\"op\":\"realloc\",\"id\":2,\"size\":3},"
               "{\"op\":\"retain\",\"id\":2},{\"op\":\"free\",\"id\":2},{\"op\":\"free\",\"id\":2},"
               "{\"op\":\"free\",\"id\":1,\"stream\":0},{\"op\":\"sync\",\"stream\":-2},{\"op\":"
               "\"sync\"},"
               "{\"op\":\"trim\",\"stream\":0,\"size\":4},{\"op\":\"trim\"}",
        "alloc 0 1 a8 @1; alloc 1 2 a8 s1 d1 @2; use 0 0 s2 @3; realloc 1 3 a8 s1 d1 @4; "
        "retain 1 0 s1 d1 @5; release 1 0 s1 d1 @6; free 1 3 a8 s1 d1 @7; free 0 1 a8 s2 @8; "
        "sync 0 0 s1 d1 @9; sync 0 0 s65535 d65535 @10; trim 0 4 @11; "
        "trim 0 0 d65535 @12; "),
    IS(DEVICE STREAMS, SIZED("alloc", 1, 1), .facts = "streams=3 devices=2 "),
    DENIED_ANYWAY(DEVICE STREAMS, "{\"op\":\"sync\",\"stream\":1}",
                  "x.json:2: event 1: stream 1 is not declared"),
};

#define RESET_ALLOCS                                                                               \
    SIZED("alloc", 1, 1)                                                                           \
    "," SIZED("alloc", 2, 2) ",{\"op\":\"alloc\",\"id\":3,\"size\":3,\"stream\":-2}," ID("retain", \
                                                                                         2) ","
static const struct importer_row reset[] = {
    LOWERS(DEVICE STREAMS,
           RESET_ALLOCS "{\"op\":\"reset\",\"stream\":5}," SIZED("alloc", 2, 5) "," ID(
               "free", 3) "," ID("free", 2),
           "alloc 0 1 a8 @1; alloc 1 2 a8 @2; alloc 2 3 a8 s1 d1 @3; retain 1 0 @4; reset 0 0 @5; "
           "alloc 0 5 a8 @6; free 2 3 a8 s1 d1 @7; free 0 5 a8 @8; "),
    LOWERS(DEVICE STREAMS, RESET_ALLOCS "{\"op\":\"reset\"}," SIZED("alloc", 3, 7),
           "alloc 0 1 a8 @1; alloc 1 2 a8 @2; alloc 2 3 a8 s1 d1 @3; retain 1 0 @4; "
           "reset 0 0 d65535 @5; alloc 2 7 a8 @6; "),
    DENIED(DEVICE STREAMS, RESET_ALLOCS "{\"op\":\"reset\"},\n" ID("free", 2),
           "x.json:3: event 6 frees id 2, which is not live"),
};

/* What is said of every device is said once, however many there are. */
TEST(test_all_devices)
{
    enum { DEVICES = 256, EVENTS = 500 };
    const enum tp_event_op ops[] = {TP_EV_SYNC, TP_EV_RESET, TP_EV_TRIM};
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "x.json", .strict = true});
    assert_int_equal(tp_lower_kind(lo, TP_KIND_DEVICE, NULL), TP_OK);
    for (int64_t i = 0; i < DEVICES; i++)
        assert_int_equal(tp_lower_stream(lo, i, i, NULL), TP_OK);
    for (int i = 0; i < EVENTS; i++) {
        const struct tp_event ev = {.op = ops[i % 3]};
        assert_int_equal(tp_lower_event(lo, &ev, NULL), TP_OK);
    }
    struct tp_program *p = close_lower(lo);
    assert_int_equal(tp_program_facts(p)->devices, DEVICES);
    assert_int_equal(tp_program_facts(p)->instructions, EVENTS);
    assert_int_equal(tp_program_facts(p)->operations, EVENTS);
    tp_program_release(p);
}

/* ---- time ---- */

static const struct importer_row times[] = {
    LOWERS(HEAD, "{\"t\":7,\"op\":\"sync\"},{\"t\":7,\"op\":\"sync\"},{\"t\":9,\"op\":\"sync\"}",
           "sync 0 0 s65535 +7 @1; sync 0 0 s65535 @2; sync 0 0 s65535 +2 @3; "),
    IS(HEAD, "{\"t\":7,\"op\":\"sync\"},{\"t\":9,\"op\":\"sync\"}",
       .facts = "time_known=1 duration_ns=9 "),
    IS(HEAD, "{\"t\":7,\"op\":\"sync\"},{\"op\":\"sync\"},{\"t\":9,\"op\":\"sync\"}",
       .facts = "time_known=0 "),
};

/* A gap over 2^32-1 is split, before the instruction that it precedes, under the same event. */
static const struct importer_row idle[] = {
    LOWERS(HEAD, "{\"t\":4294967295,\"op\":\"sync\"}", "sync 0 0 s65535 +4294967295 @1; "),
    LOWERS(HEAD, "{\"op\":\"sync\"},{\"t\":4294967296,\"op\":\"sync\"}",
           "sync 0 0 s65535 @1; idle 0 0 +4294967295 @2; sync 0 0 s65535 +1 @2; "),
    IS(HEAD, "{\"t\":1,\"op\":\"sync\"},{\"t\":9007199254740991,\"op\":\"sync\"}",
       .facts = "duration_ns=9007199254740991 idles=2097152 events=2 operations=2 "),
    DENIED_ANYWAY(
        HEAD, "{\"t\":\"9007199254740992\",\"op\":\"sync\"}",
        "x.json:2: event 1: t is 9007199254740992 ns, more than 104 days after the start"),
};

/* ---- dirty input ---- */

#define UNKNOWN_FREE                                                                               \
    "{\"t\":3,\"op\":\"free\",\"id\":1}," ID("retain",                                             \
                                             2) ",{\"op\":\"use\",\"id\":3,\"stream\":0},{\"t\":"  \
                                                "8,\"op\":\"alloc\",\"id\":1,\"size\":1}"
static const struct importer_row unknown_free[] = {
    DENIED(HEAD, UNKNOWN_FREE, "x.json:2: event 1 frees id 1, which is not live"),
    DENIED(HEAD, ID("retain", 2), "x.json:2: event 1 retains id 2, which is not live"),
    DENIED(HEAD, "{\"op\":\"use\",\"id\":3,\"stream\":0}",
           "x.json:2: event 1 uses id 3, which is not live"),
    MENDS(HEAD, UNKNOWN_FREE, "alloc 0 1 a4 +8 @4; unknown_free=3 "),
};

#define DOUBLE_ALLOC                                                                               \
    SIZED("alloc", 1, 8) "," ID("retain", 1) ",\n" SIZED("adopt", 1, 9) "," ID("free", 1)
static const struct importer_row double_alloc[] = {
    DENIED(HEAD, DOUBLE_ALLOC,
           "x.json:3: event 3 adopts id 1, which is live since event 1 (line 2)"),
    MENDS(HEAD, DOUBLE_ALLOC,
          "alloc 0 8 a4 @1; retain 0 0 @2; release 0 0 @3; free 0 8 a4 @3; adopt 0 9 a4 @3; "
          "free 0 9 a4 @4; double_alloc=1 "),
    /* the old one goes on its own stream and device */
    MENDS(DEVICE STREAMS,
          SIZED("alloc", 1, 8) ",{\"op\":\"alloc\",\"id\":1,\"size\":9,\"stream\":-2}",
          "alloc 0 8 a8 @1; free 0 8 a8 @2; alloc 0 9 a8 s1 d1 @2; double_alloc=1 "),
};

#define ZERO_SIZE SIZED("alloc", 1, 0) "," SIZED("alloc", 2, 8) "," ID("free", 1)
static const struct importer_row zero_size[] = {
    DENIED(HEAD, ZERO_SIZE, "x.json:2: event 1 allocates 0 bytes (id 1)"),
    MENDS(HEAD, ZERO_SIZE, "alloc 0 1 a4 @1; alloc 1 8 a4 @2; free 0 1 a4 @3; zero_size=1 "),
    MENDS(DEVICE, ZERO_SIZE, "alloc 0 8 a8 @2; zero_size=1 "),
    /* an id that was dropped lives on, silently, in every way */
    MENDS(DEVICE,
          SIZED("alloc", 1, 0) "," ID("retain", 1) ",{\"op\":\"use\",\"id\":1,\"stream\":0}," ID(
              "free", 1) "," ID("free", 1) "," ID("free", 1),
          "unknown_free=1 zero_size=1 "),
    MENDS(DEVICE, SIZED("alloc", 1, 0) "," SIZED("realloc", 1, 5) "," ID("free", 1),
          "alloc 0 5 a8 @2; free 0 5 a8 @3; zero_size=1 "),
    MENDS(DEVICE, SIZED("alloc", 1, 0) "," SIZED("alloc", 1, 0) "," SIZED("alloc", 1, 6),
          "alloc 0 6 a8 @3; zero_size=2 "),
    MENDS(DEVICE, SIZED("alloc", 1, 0) ",{\"op\":\"reset\"}," ID("free", 1),
          "reset 0 0 @2; zero_size=1 "),
};

static const struct importer_row resizing[] = {
    DENIED(HEAD, SIZED("realloc", 1, 8), "x.json:2: event 1 reallocates id 1, which is not live"),
    MENDS(HEAD, SIZED("realloc", 1, 8) "," SIZED("realloc", 1, 9),
          "alloc 0 8 a4 @1; realloc 0 9 a4 @2; realloc_unknown=1 "),
    DENIED(HEAD, SIZED("alloc", 1, 8) ",\n" SIZED("realloc", 1, 0),
           "x.json:3: event 2 reallocates id 1 to 0 bytes"),
    MENDS(HEAD, SIZED("alloc", 1, 8) "," SIZED("realloc", 1, 0),
          "alloc 0 8 a4 @1; free 0 8 a4 @2; realloc_zero=1 "),
    MENDS(HEAD, SIZED("realloc", 1, 0), "unknown_free=1 realloc_zero=1 "),
};

#define TIME_BACKWARDS                                                                             \
    "{\"t\":250,\"op\":\"sync\"},\n{\"t\":100,\"op\":\"sync\"},{\"t\":260,\"op\":\"sync\"}"
static const struct importer_row time_backwards[] = {
    DENIED(HEAD, TIME_BACKWARDS, "x.json:3: event 2: time runs backwards: t is 100 after 250"),
    DENIED(HEAD, "{\"t\":250,\"op\":\"sync\"},{\"t\":249,\"op\":\"sync\"}",
           "x.json:2: event 2: time runs backwards: t is 249 after 250"),
    MENDS(HEAD, TIME_BACKWARDS,
          "sync 0 0 s65535 +250 @1; sync 0 0 s65535 @2; sync 0 0 s65535 +10 @3; "
          "time_backwards=1 "),
};

/* What no repair can mend is refused either way, and front ends without lines say no line. */
TEST(test_refused_always)
{
    static const struct {
        struct tp_event event;
        const char *text;
    } cases[] = {
        {{.op = TP_EV_ALLOC, .id = 1, .size = TP_MAX_SIZE + 1},
         "m: event 1 allocates 281,474,976,710,657 bytes; the limit is 2^48"},
        {{.op = TP_EV_REALLOC, .id = 1, .size = UINT64_MAX},
         "m: event 1 reallocates 18,446,744,073,709,551,615 bytes; the limit is 2^48"},
        {{.op = TP_EV_TRIM, .has_size = true, .size = UINT64_MAX},
         "m: event 1 trims to 18,446,744,073,709,551,615 bytes; the limit is 2^48"},
        {{.op = TP_EV_ALLOC, .id = 1, .size = 1, .has_align = true, .align = UINT64_C(1) << 31},
         "m: event 1: align is 2147483648: not a power of two from 1 to 2^30"},
        {{.op = TP_EV_ADOPT, .id = 1, .size = 1, .has_align = true, .align = 24},
         "m: event 1: align is 24: not a power of two from 1 to 2^30"},
        {{.op = TP_EV_SYNC, .has_stream = true, .stream = 7},
         "m: event 1: stream 7 is not declared"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tp_err err = {0};
        struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "m"});
        assert_int_equal(tp_lower_event(lo, &cases[i].event, &err), TP_EINPUT);
        assert_string_equal(err.text, cases[i].text);
        tp_lower_free(lo);
    }
}

/* 2^61 bytes live at once: the builder's error gets file, line and event. */
TEST(test_live_bytes)
{
    struct tp_err err = {0};
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "m", .strict = true});
    int rc = TP_OK;
    int64_t i = 0;
    for (; rc == TP_OK && i < 10000; i++) {
        struct tp_event ev = {.op = TP_EV_ALLOC, .id = i, .size = TP_MAX_SIZE, .line = 3};
        rc = tp_lower_event(lo, &ev, &err);
    }
    assert_int_equal(i, 8193);
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(err.text, "m:3: event 8,193: more than 2^61 bytes are live at once");
    tp_lower_free(lo);
}

TEST(test_declarations)
{
    struct tp_err err = {0};
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "m", .strict = true});
    assert_int_equal(tp_lower_kind(lo, TP_KIND_DEVICE, &err), TP_OK);
    assert_int_equal(tp_lower_kind(lo, TP_KIND_DEVICE, &err), TP_EINPUT);
    assert_int_equal(tp_lower_stream(lo, 4, 0, &err), TP_OK);
    assert_int_equal(tp_lower_stream(lo, 4, 1, &err), TP_EINPUT);
    assert_string_equal(err.text, "stream 4 is declared twice");
    struct tp_event ev = {.op = TP_EV_SYNC};
    assert_int_equal(tp_lower_event(lo, &ev, &err), TP_OK);
    assert_int_equal(tp_lower_count(lo), 1);
    assert_int_equal(tp_lower_stream(lo, 5, 1, &err), TP_OK); /* streams may be met late */
    assert_int_equal(tp_lower_need_stream(lo, 5, 1, &err), TP_OK);
    assert_int_equal(tp_lower_stream(lo, 5, 1, &err), TP_EINPUT);
    assert_int_equal(tp_lower_kind(lo, TP_KIND_HOST, &err), TP_EBROKEN);
    tp_lower_free(lo);
}

TESTS(ROWS(json, slots), ROWS(json, alignment), ROWS(json, references), ROWS(json, threads),
      ROWS(json, thread_comes_back), ROWS(json, streams), ROWS(json, reset), ROWS(json, times),
      ROWS(json, idle), ROWS(json, unknown_free), ROWS(json, double_alloc), ROWS(json, zero_size),
      ROWS(json, resizing), ROWS(json, time_backwards))
