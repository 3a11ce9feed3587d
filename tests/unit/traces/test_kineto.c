/* The profiler's Chrome traces: small ones by hand, what can be wrong in them, and the real ones.
 */
#include "tests/unit/importer_rig.h"
#include "traces/input/json_span.h"

extern const struct tp_format tp_format_kineto;

/* A memory event on GPU 0, thread 1. */
#define MEM(ts, bytes, addr)                                                                       \
    "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, \"ts\": " ts    \
    ", \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Addr\": " addr ", \"Bytes\": " bytes     \
    "}}"
#define EVENT(ts, args) "{\"name\": \"[memory]\", \"tid\": 1, \"ts\": " ts ", \"args\": {" args "}}"
#define OOM(ts, args)   "{\"name\": \"[OutOfMemory]\", \"ts\": " ts ", \"args\": {" args "}}"
#define CPU             "\"Device Type\": 0, \"Device Id\": -1, "
#define GPU             "\"Device Type\": 1, \"Device Id\": 0, "
#define OP                                                                                         \
    "{\"ph\": \"X\", \"name\": \"aten::[memory] \\\"]}\", \"ts\": 1, \"dur\": 2, \"args\": "       \
    "{\"Input Dims\": [[2, 3], []], \"Call stack\": \"[memory]\"}}"
#define TRACE(events) "{\"schemaVersion\": 1, \"traceEvents\": [" events "], \"traceName\": \"x\"}"

static const struct importer kineto = {.format = &tp_format_kineto};

/* ---- what is in a trace ---- */

static const struct importer_row blocks_and_times[] = {
    REPLAYS(TRACE(OP "," MEM("1669783687464181", "1024",
                             "512") ", 7, null, [{}], \"[memory]\"," OP
                                    "," MEM("1669783687464181.125", "2048",
                                            "4096") "," MEM("1669783687464182.5", "-1024", "512")),
            "alloc 0 1024 a8 @1; alloc 1 2048 a8 +125 @2; free 0 1024 a8 +1375 @3; ",
            .capture = "PyTorch profiler trace (Kineto)",
            .unknown = "streams, requested sizes, alignment",
            .remarks = "Sizes are as rounded by PyTorch, not as requested.", .kind = "device",
            .taken = NOT_SAID, .recorder = NOT_SAID),
};

/* By time; equal times stay as they stand in the file. */
static const struct importer_row order[] = {
    REPLAYS(TRACE(MEM("30", "-512", "1") "," MEM("20", "512", "1") "," MEM(
                "20", "1024", "2") "," MEM("20", "-1024", "2") "," MEM("10.001", "512", "3")),
            "alloc 0 512 a8 @1; alloc 1 512 a8 +9999 @2; alloc 2 1024 a8 @3; free 2 1024 a8 @4; "
            "free 1 512 a8 +10000 @5; "),
};

static const struct importer_row live_before[] = {
    /* 7,440 are 10,000 - 512 - 2,048 */
    REPLAYS(TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": 512, \"Total Allocated\": 10000") "," MEM(
                "2", "-2048", "9") "," MEM("3", "4096", "9") "," MEM("4", "-4096", "9")),
            "alloc 0 2048 a8 @0; alloc 1 7440 a8 @0; alloc 2 512 a8 @1; free 0 2048 a8 +1000 @2; "
            "alloc 0 4096 a8 +1000 @3; free 0 4096 a8 +1000 @4; ",
            .remarks_part = "GPU 0: 7.266 KiB were allocated before the first event and are never "
                            "freed. Their blocks are not in the file: they count as one block that "
                            "was live before.",
            .facts = "initial_heap_bytes=9488 "),
    /* a free may come first, or a request that failed; nothing is left when all of it is freed */
    REPLAYS(TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": -512, \"Total Allocated\": 1000")),
            "alloc 0 512 a8 @0; alloc 1 1000 a8 @0; free 0 512 a8 @1; "),
    REPLAYS(TRACE(OOM("1", GPU "\"Bytes\": 9000, \"Total Allocated\": 1000")),
            "alloc 0 1000 a8 @0; note 0 9000 a1 @1; alloc 1 9000 a8 @1; free 1 9000 a8 @1; "),
    REPLAYS(TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": -512, \"Total Allocated\": 0")),
            "alloc 0 512 a8 @0; free 0 512 a8 @1; "),
    /* less than nothing, and more than any device has: no figure to go by */
    REPLAYS(TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": 512, \"Total Allocated\": 100")),
            "alloc 0 512 a8 @1; "),
    REPLAYS(
        TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": 512, \"Total Allocated\": 281474976711680")),
        "alloc 0 512 a8 @1; "),
    /* each device has its own */
    READS(TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": 512, \"Total Allocated\": 1512") "," EVENT(
              "2", CPU "\"Addr\": 1, \"Bytes\": 64, \"Total Allocated\": 164")),
          .space = "all",
          .facts = "initial_heap=2 initial_heap_bytes=1000 next_initial_heap_bytes=100 "),
    /* an address that was freed once is not freed again */
    REPLAYS(TRACE(MEM("1", "512", "1") "," MEM("2", "-512", "1") "," MEM("3", "-512", "1")),
            "alloc 0 512 a8 @1; free 0 512 a8 +1000 @2; unknown_free=1 "),
    /* and one that is allocated twice was freed unseen */
    REPLAYS(TRACE(MEM("1", "512", "1") "," MEM("2", "1024", "1")),
            "alloc 0 512 a8 @1; free 0 512 a8 +1000 @2; alloc 0 1024 a8 @2; double_alloc=1 "),
};

static const struct importer_row without_addresses[] = {
    REPLAYS(
        TRACE(EVENT("1", GPU "\"Bytes\": 512") "," EVENT("2", GPU "\"Bytes\": 512") "," EVENT("3", GPU "\"Bytes\": 1024") "," EVENT(
            "4", GPU
            "\"Bytes\": -512") "," EVENT("5", GPU
                                         "\"Bytes\": -512") "," EVENT("6", GPU
                                                                      "\"Bytes\": -512") "," EVENT("7",
                                                                                                   GPU
                                                                                                   "\"Bytes\": 512") "," EVENT("8",
                                                                                                                               GPU
                                                                                                                               "\"Bytes\": -512")),
        "alloc 0 512 a8 @0; alloc 1 512 a8 @1; alloc 2 512 a8 +1000 @2; alloc 3 1024 a8 +1000 @3; "
        "free 2 512 a8 +1000 @4; free 1 512 a8 +1000 @5; free 0 512 a8 +1000 @6; "
        "alloc 0 512 a8 +1000 @7; free 0 512 a8 +1000 @8; ",
        .unknown = "streams, requested sizes, addresses, alignment",
        .remarks_part = "There are no addresses: each free was matched with the "
                        "most recent allocation of its size"),
};

static const char five[] =
    TRACE(EVENT("1", "\"Device Type\": 0, \"Device Id\": -1, \"Addr\": 1, \"Bytes\": 100") "," //
          EVENT("2", "\"Device Type\": 1, \"Device Id\": 1, \"Addr\": 1, \"Bytes\": 512") ","  //
          EVENT("3", "\"Device Type\": 1, \"Device Id\": 0, \"Addr\": 1, \"Bytes\": 1024") "," //
          EVENT("4", "\"Device Type\": 20, \"Addr\": 1, \"Bytes\": 8") ","                     //
          EVENT("5", "\"Device Type\": 1, \"Device Id\": 1, \"Addr\": 1, \"Bytes\": -512"));
static const struct importer_row devices[] = {
    REPLAYS(five, "alloc 0 1024 a8 +2000 @1; ", .taken = "GPU 0",
            .left_out = "CPU (1 event, 100 B), GPU 1 (2 events, 512 B), device "
                        "type 20 (1 event, 8 B)"),
    REPLAYS(five, "alloc 0 512 a8 +1000 @1; free 0 512 a8 +3000 @2; ", .space = "gpu 1"),
    REPLAYS(five, "alloc 0 100 a4 @1; ", .space = "CPU", .unknown = "alignment",
            .remarks = NOT_SAID),
    REPLAYS(five,
            "alloc 0 100 a8 @1; alloc 1 512 a8 s1 d1 +1000 @2; "
            "alloc 2 1024 a8 s2 d2 +1000 @3; alloc 3 8 a8 s3 d3 +1000 @4; "
            "free 1 512 a8 s1 d1 +1000 @5; ",
            .space = "all"),
};

/* Steps of `Total Reserved` are notes without a number; the first value is where it began. */
#define HELD(ts, bytes, addr, reserved)                                                            \
    EVENT(ts, GPU "\"Addr\": " addr ", \"Bytes\": " bytes ", \"Total Reserved\": " reserved)
static const struct importer_row reserved[] = {
    REPLAYS(
        TRACE(HELD("1", "512", "1", "2000") "," HELD("2", "512", "2", "2000") "," HELD(
            "3", "512", "3", "5000") "," MEM("4", "512", "4") "," HELD("5", "-512", "1", "1000")),
        "alloc 0 512 a8 @1; alloc 1 512 a8 +1000 @2; note 0 3000 a3 +1000 @2; "
        "alloc 2 512 a8 @3; alloc 3 512 a8 +1000 @4; note 0 4000 a4 +1000 @4; free 0 512 a8 @5; ",
        .recorder = "PyTorch",
        .facts = "recorded_devices=1 start_reserved=2000 has_end=0 events=5 "),
    READS(
        TRACE(EVENT(
            "1",
            "\"Device Type\": 0, \"Bytes\": 8, \"Addr\": 1, "
            "\"Total Reserved\": 0") "," EVENT("1", "\"Device Type\": 1, "
                                                    "\"Device Id\": 3, \"Bytes\": 9, \"Addr\": 1, "
                                                    "\"Total Reserved\": 70")),
        .space = "all",
        .facts = "recorded_devices=2 start_reserved=0 next_start_reserved=70 next_number=3 "),
};

#define PROCESS(one, other)                                                                        \
    "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [{\"ph\": \"M\", \"pid\": 1, \"name\": "       \
    "\"process_name\", \"args\": {\"name\": \"" one "\"}}, " OP                                    \
    ", {\"ph\": \"M\", \"pid\": 2, \"name\": "                                                     \
    "\"process_name\", \"args\": {\"name\": \"" other "\"}}, {}]}"
#define OF_XPLANE "a Chrome trace of the TensorFlow or JAX profiler, which has no memory events"
static const struct importer_row out_of_memory_and_nothing[] = {
    REPLAYS(TRACE(MEM("1", "512", "1") ",{\"name\": \"[OutOfMemory]\", \"ts\": 2, \"args\": {" GPU
                                       "\"Bytes\": 9000}}," MEM("3", "0", "7") "," MEM("4", "-512",
                                                                                       "1")),
            "alloc 0 512 a8 @1; note 0 9000 a1 +1000 @2; alloc 1 9000 a8 @2; free 1 9000 a8 @2; "
            "free 0 512 a8 +2000 @4; "),
    /* more than there is anywhere: not asked of any strategy, but no reason to refuse the file */
    REPLAYS(TRACE(MEM("1", "512", "1") ",{\"name\": \"[OutOfMemory]\", \"ts\": 2, \"args\": {" GPU
                                       "\"Bytes\": 281474976710657}}," MEM("4", "-512", "1")),
            "alloc 0 512 a8 @1; free 0 512 a8 +3000 @3; ",
            .remarks_part = "Failed requests of more than 2^48 bytes are left "
                            "out: 1."),
    READS(TRACE(OP "," OP), .nothing = "profile_memory=True was not set",
          .nothing_hint = "torch.profiler.profile(profile_memory=True) records memory"),
    READS("{\"profile_memory\": 1, \"traceEvents\": [" OP "]}",
          .nothing = "profile_memory is on, but the file has no '[memory]' event"),
    READS("{\"traceEvents\": [" OP "], \"profile_memory\": true}",
          .nothing = "profile_memory is on, but the file has no '[memory]' event"),
    READS("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [" OP "]}",
          .nothing = "a Chrome trace, but not of PyTorch's profiler"),
    /* of TensorFlow and JAX, by the names of processes */
    READS(PROCESS("/host:CPU", "X"), .nothing = OF_XPLANE,
          .nothing_hint = "they are in the *.xplane.pb beside it"),
    READS(PROCESS("worker", "/device:GPU:0 Stream"), .nothing = OF_XPLANE),
    READS(PROCESS("worker", "a/host:CPU"),
          .nothing = "a Chrome trace, but not of PyTorch's profiler"),
    READS("{\"traceEvents\": [{\"name\": \"process_name\", \"args\": {\"name\": "
          "\"/host:CPU\"}}], \"schemaVersion\": 1}",
          .nothing = "profile_memory=True was not set"),
    READS("{\"profile_memory\": 0, \"traceEvents\": [" OP "]}",
          .nothing = "profile_memory=True was not set"),
};

/* Members in any order, more than one list, text around them. */
static const struct importer_row shapes[] = {
    REPLAYS("\xef\xbb\xbf \r\n{ \"a\" : [1, {\"traceEvents\": [" MEM(
                "1", "512", "9") "]}], "
                                 "\"traceEvents\" : [ " MEM(
                                     "1", "512", "1") " ] ,\"b\":{},\"traceEvents\":[]}\n",
            "alloc 0 512 a8 @1; "),
    REPLAYS(
        TRACE("{\"args\": {\"Bytes\": \"512\", \"Device Type\": 1, \"Addr\": \"18446744073709551"
              "615\"}, \"tid\": \"x\", \"ts\": 1.669783687464181e+15, \"name\": \"[memory]\"}"),
        "alloc 0 512 a8 @1; "),
    READS("{}", .facts = "events=0 "),
};

/* Elements across windows, and one that is longer than a window. */
TEST(test_windows)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs("{\"traceEvents\": [", out);
    for (unsigned i = 0; i < 4000; i++) {
        fprintf(out,
                "%*s{\"name\": \"[memory]\", \"ts\": %u, \"args\": {\"Device Type\": 1, "
                "\"Addr\": %u, \"Bytes\": %d}},%*s%s,",
                (int)(i % 41), "", i, i / 2, i % 2 ? -512 : 512, (int)(i % 7), "", OP);
        if (i % 1000 == 0)
            fprintf(out, "{\"name\": \"long\", \"stack\": \"%*s\"},", 150000, "x");
    }
    fputs("1]}", out);
    fclose(out);
    const struct importer_row rows[] = {
        {.text = text, .size = size, .facts = "allocs=2000 frees=2000 slots=1 "},
        {.text = text,
         .size = size,
         .max_memory = 200000,
         .error_part = "more memory events than the memory"}};
    check_row(&kineto, &rows[0]);
    check_row(&kineto, &rows[1]);
    free(text);
}

/* ---- wrong input ---- */

static const struct importer_row refusals[] = {
    REFUSED(TRACE(EVENT("1", GPU "\"Addr\": 1")),
            "x.json: byte 37: a memory event has a 'Bytes' that is missing or not a whole number"),
    REFUSED(TRACE(EVENT("1", GPU "\"Addr\": 1, \"Bytes\": 1.5")),
            "x.json: byte 37: a memory event has a 'Bytes' that is missing or not a whole number"),
    REFUSED(TRACE(EVENT("1", "\"Addr\": 1, \"Bytes\": 1")),
            "x.json: byte 37: a memory event has a 'Device Type' that is missing or unknown"),
    REFUSED(TRACE(EVENT("1", "\"Device Type\": 70000, \"Addr\": 1, \"Bytes\": 1")),
            "x.json: byte 37: a memory event has a 'Device Type' that is missing or unknown"),
    REFUSED(TRACE(EVENT("1", "\"Device Type\": 1, \"Device Id\": -2, \"Addr\": 1, \"Bytes\": 1")),
            "x.json: byte 37: a memory event has a 'Device Id' that is out of range"),
    REFUSED(TRACE(EVENT("1", GPU "\"Addr\": -1, \"Bytes\": 1")),
            "x.json: byte 37: a memory event has an 'Addr' that is not an address"),
    REFUSED(TRACE(EVENT("\"now\"", GPU "\"Addr\": 1, \"Bytes\": 1")),
            "x.json: byte 37: a memory event has no 'ts' that is a number"),
    REFUSED(TRACE("{\"name\": \"[memory]\", \"ts\": 1, \"args\": []}"),
            "x.json: byte 37: a memory event has no 'args'"),
    REFUSED(TRACE(MEM("1", "281474976710657", "1")),
            "x.json: byte 37: event 1 allocates 281,474,976,710,657 bytes; the limit is 2^48"),
    REFUSED(TRACE("1 2"), "x.json: byte 39: 'traceEvents' is not valid JSON"),
    REFUSED(TRACE("1,,2"), "x.json: byte 39: 'traceEvents' is not valid JSON"),
    REFUSED(TRACE(",1"), "x.json: byte 37: 'traceEvents' is not valid JSON"),
    REFUSED(TRACE("1,"), "x.json: byte 39: 'traceEvents' is not valid JSON"),
    REFUSED(TRACE("{\"a\": [}"), "x.json: byte 37: 'traceEvents' is not valid JSON"),
    REFUSED("[]", "x.json: byte 0: not valid JSON"),
    REFUSED("{,}", "x.json: byte 1: not valid JSON"),
    REFUSED("{\"a\" 1}", "x.json: byte 5: not valid JSON"),
    REFUSED("{\"a\": 1 \"b\"}", "x.json: byte 8: not valid JSON"),
    REFUSED("{\"a\": 1,}", "x.json: byte 8: not valid JSON"),
    REFUSED("{\"traceEvents\": [1", "x.json:1: the file ends inside the trace: truncated?"),
    REFUSED("{\"traceEvents\": [{\"a\": \"",
            "x.json:1: the file ends inside the trace: truncated?"),
    REFUSED("{\"traceEvents\": []", "x.json:1: the file ends inside the trace: truncated?"),
};

static const char whole[] = TRACE(OP "," MEM("1", "512", "1") "," MEM("2", "-512", "1"));

static const struct importer_score scores[] = {
    SCORE("{\"format\": \"tapool-trace\", \"version\": 1}", 0),
    SCORE("{\"schemaVersion\": 1, \"deviceProperties\": [", 80),
    SCORE("\xef\xbb\xbf\n{\"traceEvents\": [", 90),
    SCORE("\xef\xbb\xbf", 0),
};

/* ---- spans ---- */

static struct tp_span span(const char *text)
{
    return (struct tp_span){text, strlen(text)};
}

TEST(test_thousandths)
{
    static const struct {
        const char *text;
        bool right;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"1669783687464181.123", true, 1669783687464181123},
                 {"1.5", true, 1500},
                 {"-1.25", true, -1250},
                 {"0.0009", true, 0},
                 {"\"7\"", true, 7000},
                 {"1.5e3", true, 1500000},
                 {"9223372036854775.807", true, INT64_MAX},
                 {"9223372036854775.808", false, 0},
                 {"18446744073709551616", false, 0},
                 {"1.", false, 0},
                 {".5", false, 0},
                 {"1.2.3", false, 0},
                 {"1e999", false, 0},
                 {"e5", false, 0},
                 {"-", false, 0},
                 {"\"\"", false, 0},
                 {"null", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        assert_int_equal(tp_span_thousandths(span(cases[i].text), &value), cases[i].right);
        assert_int_equal(cases[i].right ? value : 0, cases[i].value);
    }
    int64_t value = 0;
    assert_false(tp_span_thousandths((struct tp_span){0}, &value));
}

TEST(test_span_ends)
{
    static const struct {
        const char *text;
        size_t size;
        bool wrong;
    } cases[] = {{"{} ", 2, false},
                 {"[1,\"]\"]", 7, false},
                 {"\"a\\\"b\\\\\" ", 8, false},
                 {"\"a\\\\\\\"", 0, false},
                 {"{\"a\": [1, {}]},", 14, false},
                 {"12,", 2, false},
                 {"12", 0, false},
                 {"[1", 0, false},
                 {"{]", 0, true},
                 {"[}", 0, true},
                 {",", 0, true},
                 {"]", 0, true},
                 {"", 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wrong = false;
        assert_int_equal(tp_span_value(cases[i].text, strlen(cases[i].text), &wrong),
                         cases[i].size);
        assert_int_equal(wrong, cases[i].wrong);
    }
    char deep[200];
    bool wrong = false;
    memset(deep, '[', 65);
    assert_int_equal(tp_span_value(deep, 64, &wrong), 0);
    assert_false(wrong);
    assert_int_equal(tp_span_value(deep, 65, &wrong), 0);
    assert_true(wrong);
}

/* ---- real traces ---- */

/* A file of the corpus, through gzip; the caller frees it. NULL: it is not there. */
static char *unpack(const char *name, size_t *size)
{
    char path[400], command[500];
    const char *shared = getenv("TAPOOL_SHARED");
    snprintf(path, sizeof path, "%s/corpus/kineto/%s", shared ? shared : TAPOOL_ROOT "/../shared",
             name);
    FILE *there = fopen(path, "rb");
    if (!there)
        return NULL;
    fclose(there);
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    char *text = malloc(64 << 20);
    FILE *p = text ? popen(command, "r") : NULL; /* NOLINT(cert-env33-c) */
    *size = p ? fread(text, 1, 64 << 20, p) : 0;
    if (p)
        pclose(p);
    return text;
}

TEST(test_real_traces)
{
    static const struct {
        const char *file, *space, *left_out;
        uint64_t events, peak, live_at_end, start_reserved;
    } cases[] = {
        /* the highest `Total Allocated`; 4,096,614,400 of it before the first event */
        {"hta_df_index_resolver.json.gz", NULL, "CPU (1,240 events, 4.844 KiB)", 26770, 6629508096,
         1, 12782141440},
        {"hta_df_index_resolver.json.gz", "all", NULL, 28010, 6629508096, 1, 12782141440},
        {"kineto_2021_no_addr.json.gz", "all", NULL, 12838, 2791636480, 2, 0},
        {"kineto_2021_no_addr.json.gz", "GPU 0", "CPU (4,618 events, ", 8220, 2791636480, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = 0;
        char *text = unpack(cases[i].file, &size);
        if (!text) {
            print_message("no corpus/kineto/%s: skipped\n", cases[i].file);
            skip();
        }
        struct reading r =
            read_bytes_as(&tp_format_kineto, "x.json", text, size, false,
                          &(struct tp_read_opts){.space = cases[i].space, .device = -1});
        free(text);
        if (r.rc != TP_OK)
            fail_msg("%s", r.err.text);
        const struct tp_program_facts *f = tp_program_facts(r.program);
        bool all = cases[i].space && strcmp(cases[i].space, "all") == 0;
        bool second = all && cases[i].start_reserved == 0; /* there the CPU comes first */
        assert_int_equal(f->events, cases[i].events);
        assert_int_equal(tp_program_demand(r.program, second)->bytes, cases[i].peak);
        assert_int_equal(f->live_at_end, cases[i].live_at_end);
        assert_int_equal(f->recorded_threads, 2);
        assert_int_equal(f->devices, all ? 2 : 1);
        assert_int_equal(f->ops[TP_NOTE], 0); /* reserved throughout */
        assert_int_equal(f->initial_heap, cases[i].start_reserved ? 1 : 0);
        for (int k = 0; k < TP_REPAIR_COUNT; k++)
            assert_int_equal(r.repairs[k], 0);
        if (cases[i].start_reserved)
            assert_int_equal(r.recorded.devices[0].start_reserved, cases[i].start_reserved);
        if (cases[i].left_out)
            assert_memory_equal(r.meta.left_out, cases[i].left_out, strlen(cases[i].left_out));
        forget(&r);
    }
}

TESTS(ROWS(kineto, blocks_and_times), ROWS(kineto, order), ROWS(kineto, live_before),
      ROWS(kineto, without_addresses), ROWS(kineto, devices), ROWS(kineto, reserved),
      ROWS(kineto, out_of_memory_and_nothing), ROWS(kineto, shapes), ROWS(kineto, refusals),
      CUTS(kineto, whole, sizeof whole - 1, sizeof whole - 1), SCORES(kineto, scores))
