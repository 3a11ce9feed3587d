/* Opening traces by name: samples, detection, what is no trace, and the figures of the samples. */
#include "tests/unit/input_rig.h"

#include "cmd/jobs/catalog.h"
#include "traces/trace.h"

#include <sys/stat.h>

#define SAMPLES TAPOOL_ROOT "/traces/samples"
#define HEAD    "{\"format\":\"tapool-trace\",\"version\":1"
#define ALLOC   "{\"op\":\"alloc\",\"id\":1,\"size\":8}"
#define DIRTY   "{\"op\":\"free\",\"id\":1}"

static const struct tp_format *const formats[] = {&tp_format_json, &tp_format_jsonl, NULL};
static const char *const sample_dirs[] = {"/nonexistent", SAMPLES, NULL};

static char folder[] = "/tmp/tapool-open-XXXXXX"; /* of this run; no state of the tests */

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void path_of(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
}

/* Opens a file of this content; it is gone afterwards. */
static int open_text(const char *name, const char *text, size_t size, struct tp_trace_cfg cfg,
                     struct tp_trace *t, struct tp_err *err)
{
    char path[256];
    path_of(name, path, sizeof path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    cfg.path = path;
    cfg.sample_dirs = sample_dirs;
    if (!cfg.formats)
        cfg.formats = formats;
    int rc = tp_trace_open(&cfg, t, err);
    unlink(path);
    return rc;
}

/* `text` is what the sentence is behind the folder. */
static void must_refuse(const char *name, const char *content, size_t size, struct tp_trace_cfg cfg,
                        int status, const char *text)
{
    struct tp_trace t;
    struct tp_err err = {0};
    int rc = open_text(name, content, size, cfg, &t, &err);
    const char *at =
        strncmp(err.text, folder, strlen(folder)) == 0 ? err.text + strlen(folder) + 1 : err.text;
    if (rc != status || strcmp(at, text) != 0)
        fail_msg("%s\n  expected: %s\n  got %d: %s", content, text, rc, rc ? at : "no error");
    assert_null(t.program);
    assert_null(t.path);
}

static void check_sample(const char *name, const char *format, uint64_t events, uint64_t bytes,
                         uint64_t at, uint32_t threads)
{
    char path[64], file[64];
    struct tp_trace t;
    struct tp_err err = {0};
    snprintf(path, sizeof path, "sample:%s", name);
    snprintf(file, sizeof file, "%s.%s", name, format);
    const struct tp_trace_cfg cfg = {
        .path = path, .formats = tp_formats, .sample_dirs = sample_dirs};
    if (tp_trace_open(&cfg, &t, &err) != TP_OK)
        fail_msg("%s", err.text);
    const struct tp_program_facts *f = tp_program_facts(t.program);
    const struct tp_demand *d = tp_program_demand(t.program, 0);
    assert_fields(*f, events, events, operations, events);
    assert_fields(*d, bytes, bytes, event, at);
    assert_fields(*f, threads, threads, recorded_threads, threads, kind, TP_KIND_HOST);
    assert_true(f->time_known);
    assert_string_equal(t.path, path);
    assert_string_equal(t.file, file);
    /* a recording has no name of its own */
    assert_string_equal(t.meta.name, strcmp(format, "tpt") == 0 ? file : name);
    assert_string_equal(t.format, format);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(t.repairs[i], 0);
    tp_trace_close(&t);
}

TEST(test_samples)
{
    check_sample("sqlite", "json", 6170, 315477, 5230, 1);
    check_sample("jq", "json", 12000, 709392, 9631, 1);
    check_sample("python-threads", "json", 9132, 1842381, 4488, 4);
    check_sample("cc1", "tpt", 89763, 3136973, 43654, 1);
    check_sample("git", "tpt", 82518, 3684515, 79838, 1);
    check_sample("node", "tpt", 165986, 832627, 165353, 1);
    check_sample("redis", "tpt", 128421, 2040340, 98627, 5);
}

static void refuse_sample(const char *path, const char *const *dirs, const char *text,
                          const char *hint)
{
    struct tp_trace t;
    struct tp_err err = {0};
    const struct tp_trace_cfg cfg = {.path = path, .formats = formats, .sample_dirs = dirs};
    assert_int_equal(tp_trace_open(&cfg, &t, &err), TP_EINPUT);
    assert_string_equal(err.text, text);
    assert_string_equal(err.hint, hint);
}

TEST(test_unknown_samples)
{
    static const char *const none[] = {"/nonexistent", NULL};
    static const char list[] = "there are: cc1, git, jq, node, python-threads, redis, sqlite";
    refuse_sample("sample:sqlte", sample_dirs, "unknown sample 'sqlte'",
                  "did you mean 'sample:sqlite'? "
                  "there are: cc1, git, jq, node, python-threads, redis, sqlite");
    refuse_sample("sample:", sample_dirs, "unknown sample ''", list);
    refuse_sample("sample:../samples/jq", sample_dirs, "unknown sample '../samples/jq'", list);
    refuse_sample("sample:..", sample_dirs, "unknown sample '..'", list);
    refuse_sample("sample:\x1b", sample_dirs, "unknown sample '?'", list);
    refuse_sample("sample:jq", none, "unknown sample 'jq'", "no samples are installed here");
}

TEST(test_no_trace)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n"
                                  "oid sha256:0000000000000000000000000000000000000000000000000000"
                                  "000000000000\nsize 12345\n";
    const struct tp_trace_cfg any = {0};
    must_refuse("a.json", "", 0, any, TP_EINPUT, "a.json: empty file: no trace in it");
    must_refuse("a.json", " \n ", 3, any, TP_EINPUT,
                "a.json: not a trace format that tapool knows");
    must_refuse("a.json", "hello", 5, any, TP_EINPUT,
                "a.json: not a trace format that tapool knows");
    must_refuse("a.json", "{\"traceEvents\":[]}", 18, any, TP_EINPUT,
                "a.json: not a trace format that tapool knows");
    must_refuse("a.json", "{\"format\":\"other\"}", 18, any, TP_EINPUT,
                "a.json:1: 'format' is \"other\", not \"tapool-trace\"");
    must_refuse("a\n\x1b.json", "hello", 5, any, TP_EINPUT,
                "a??.json: not a trace format that tapool knows");
    must_refuse("web.tpt", pointer, sizeof pointer - 1, any, TP_EINPUT,
                "web.tpt is a Git LFS pointer (130 bytes), not the trace");
    must_refuse("web.tpt.gz", pointer, sizeof pointer - 1, any, TP_EINPUT,
                "web.tpt.gz is a Git LFS pointer (130 bytes), not the trace");
    must_refuse("a.json", HEAD ",\"events\":[]}", strlen(HEAD ",\"events\":[]}"), any, TP_EINPUT,
                "a.json: no events");
    must_refuse("a.json", HEAD "}\n\n", strlen(HEAD "}\n\n"), any, TP_EINPUT,
                "a.json:1: there is no 'events' in it");
    struct tp_trace t;
    struct tp_err err = {0};
    const struct tp_trace_cfg directory = {.path = folder, .formats = formats};
    assert_int_equal(tp_trace_open(&directory, &t, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, " is a directory"));
}

static void must_detect(const char *text, const char *input_format, const char *expected)
{
    struct tp_trace t;
    struct tp_err err = {0};
    const struct tp_trace_cfg cfg = {.input_format = input_format};
    if (open_text("dir.v1.x", text, strlen(text), cfg, &t, &err) != TP_OK)
        fail_msg("%s: %s", text, err.text);
    assert_string_equal(t.format, expected);
    assert_string_equal(t.file, "dir.v1.x");
    assert_string_equal(t.meta.name, "dir.v1");
    tp_trace_close(&t);
}

#define ROW(text, sentence)                                                                        \
    {                                                                                              \
        (text), sizeof(text) - 1, (sentence)                                                       \
    }
#define ZIP(length, name)                                                                          \
    "PK\003\004"                                                                                   \
    "123456789012345678901"                                                                        \
    "x" length "\0\0\0" name
static const char no_trace[] = "a.x: not a trace format that tapool knows";
static const struct {
    const char *text;
    size_t size;
    const char *sentence;
} unknown_formats[] = {
    ROW(ZIP("\020", "archive/data.pkl"), "a.x is a file of torch.save(), not a recording of "
                                         "PyTorch's allocator"),
    ROW(ZIP("\005", "a.csv"), "a.x is a zip file, which tapool does not unpack"),
    ROW(ZIP("\377", "a.csv"), "a.x is a zip file, which tapool does not unpack"),
    ROW("PK\003\004", "a.x is a zip file, which tapool does not unpack"),
    ROW("\3757zXZ\0x", "a.x is packed with xz, which tapool does not unpack"),
    ROW("BZh91AY&SYx", "a.x is packed with bzip2, which tapool does not unpack"),
    ROW("BZh9 is a word", no_trace),
    ROW("\004\"M\030x", "a.x is packed with lz4, which tapool does not unpack"),
    ROW("(dp0\nS'segments'", "a.x is a pickle of protocol 0 or 1, tapool reads protocols 2 to 5"),
    ROW("(lp1\n(dp2\n", "a.x is a pickle of protocol 0 or 1, tapool reads protocols 2 to 5"),
    ROW("}q\0(X", "a.x is a pickle of protocol 0 or 1, tapool reads protocols 2 to 5"),
    ROW("(dp", no_trace),
    ROW("(dpx\n", no_trace),
    ROW("}q", no_trace),
    ROW("\n {\"segments\": [], \"device_traces\": []}",
        "a.x is PyTorch's memory state as JSON, tapool reads it only as a pickle"),
    ROW("[{\"total_size\": 1, \"segment_type\": \"large\"}]",
        "a.x is PyTorch's memory state as JSON, tapool reads it only as a pickle"),
    ROW("[{\"total_size\": 1}]", no_trace),
    ROW("\n<!DOCTYPE html> import \"x/MemoryViz.js\" [{\"base64\": \"gA==\"}]",
        "a.x is a page that PyTorch's memory_viz wrote, with the snapshot inside"),
    ROW("<html>MemoryViz</html>", no_trace),
    ROW("v 1.0 3\n", no_trace),
    ROW("v 10400 3 4\n", no_trace),
    ROW("v", no_trace),
    ROW("{\"dhatFileVersion\":2\n,\"mode\":\"heap\"",
        "a.x is a DHAT profile, which holds totals and no single allocations"),
    ROW("desc: (none)\ncmd: ./a\ntime_unit: i\n",
        "a.x is a massif profile, which holds totals and no single allocations"),
    ROW("desc: (none)\n", no_trace),
    ROW("memray\0\013", "a.x is a memray capture, whose form changes with its versions"),
    ROW("memray is a tool", no_trace),
    /* as lz4 has it: head, a block of 0x200 bytes, 15 + 20 bytes as they are */
    ROW("\004\"M\030\104\100\136\0\2\0\0\xf0\024memray\0\013\0\1\0\0\0\0",
        "a.x is a memray capture, whose form changes with its versions"),
    ROW("\004\"M\030\104\100\136\0\2\0\0\xf0\024memray is a tool",
        "a.x is packed with lz4, which tapool does not unpack"),
    ROW("[[1700000000, 0, 512, 3], [1700000001, 3, 512, 3]]",
        "a.x is PyTorch's memory timeline, which has sizes without blocks"),
    ROW("[[-1,0,512,3]]", "a.x is PyTorch's memory timeline, which has sizes without blocks"),
    ROW("[[1, 2], [[0, 0, 5], [0, 1, 5]]]",
        "a.x is PyTorch's memory timeline, which has sizes without blocks"),
    ROW("[[1, 9, 512, 3], [1, 2, 3, 4]]", no_trace),
    ROW("[[1, 2, 3], [4, 5, 6]]", no_trace),
    ROW("[[1, 2, 3, x]]", no_trace),
    ROW("[[", no_trace),
    ROW("[{\"name\": \"x\", \"ph\": \"X\", \"pid\": 1, \"ts\": 5}]",
        "a.x is a list of Chrome trace events, without the memory events of PyTorch's profiler"),
    ROW("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [{\"ph\": \"X\"}]}",
        "a.x: no events: a Chrome trace, but not of PyTorch's profiler"),
    ROW("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\"}]}",
        "a.x: no events: profile_memory=True was not set"),
    ROW("{\"active.all.peak\": 1, \"allocated_bytes.all.current\": 5}",
        "a.x is PyTorch's statistics of memory, which are totals of one moment"),
    ROW("|====\n|      PyTorch CUDA memory summary, device ID 0 |",
        "a.x is PyTorch's statistics of memory, which are totals of one moment"),
    ROW("\200\004\225\1\0\0\0\0\0\0\0}\224\214\033allocated_bytes.all.currentK\1s.",
        "a.x is PyTorch's statistics of memory, which are totals of one moment"),
    ROW("\200\004\225\1\0\0\0\0\0\0\0}\224\214\012state_dictK\1s.",
        "a.x is a pickle, but not of a memory snapshot"),
    ROW("\200\002ccollections\nOrderedDict\nq\0)Rq\1.",
        "a.x is a pickle, but not of a memory snapshot"),
    ROW("\200\004]\224(K\1K\2e.", "a.x is a pickle, but not of a memory snapshot"),
    ROW("NVIDIA Tegra Profiler Report 2026@4@1@191-264138605071v0.\n",
        "a.x is a report of Nsight Systems (nsys-rep), which only nsys reads"),
    ROW("NVIDIA Tegra Profiler", no_trace),
    ROW("Vulkan Memory Allocator,Calls recording\n1,8\n",
        "a.x is a VmaReplay recording, whose calls are those of Vulkan"),
    ROW("heap_v2/524288\n", "a.x is a heap profile of jemalloc, which holds totals and no single "
                            "allocations"),
    ROW("heap profile:     10: 20 [", "a.x is a heap profile of gperftools, which holds totals and "
                                      "no single allocations"),
    ROW("\n\4\10\1\20\2\n\4\10\3\20\4",
        "a.x is a pprof profile, which holds totals and no single allocations"),
    ROW("\n\4\10\1\20\2\22\6",
        "a.x is a pprof profile, which holds totals and no single allocations"),
    ROW("\n\4\10\1\20\2x", no_trace),
    ROW("2345: mallocs\n", no_trace),
    ROW("[  4711][14:15:55:123456][info  ] ----- RMM LOG BEGIN [PTDS DISABLED] -----\n",
        "a.x is RMM's log of messages, which has no allocations"),
    ROW("[info] hello\n", no_trace),
    ROW("\177ELF\2", "a.x is a program or a library, not what it recorded"),
    ROW("SQLite format 3\0", "a.x is an SQLite database, such as nsys writes; tapool reads none"),
};
#undef ZIP
#undef ROW

/* What is no trace but recognised: by whole, and not by half. */
TEST(test_unknown_formats)
{
    for (size_t i = 0; i < sizeof unknown_formats / sizeof *unknown_formats; i++)
        for (size_t cut = 0; cut <= unknown_formats[i].size; cut++) {
            struct tp_trace t;
            struct tp_err err = {0};
            if (cut < unknown_formats[i].size) /* cut anywhere it is refused in some words */
                assert_int_equal(cut ? open_text("a.x", unknown_formats[i].text, cut,
                                                 (struct tp_trace_cfg){.formats = tp_formats}, &t,
                                                 &err)
                                     : TP_EINPUT,
                                 TP_EINPUT);
            else
                must_refuse("a.x", unknown_formats[i].text, cut,
                            (struct tp_trace_cfg){.formats = tp_formats}, TP_EINPUT,
                            unknown_formats[i].sentence);
        }
    /* what a reader is sure of is its own, whatever else is in it */
    must_detect(HEAD ",\"meta\":{\"program\":\"\\\"device_traces\\\"\"},\"events\":[" ALLOC "]}",
                NULL, "json");
}

TEST(test_garbage)
{
    const uint64_t seed = 7;
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15);
    char bytes[3000];
    print_message("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            bytes[i] = (char)x;
        }
        must_refuse("g.bin", bytes, sizeof bytes, (struct tp_trace_cfg){0}, TP_EINPUT,
                    "g.bin: not a trace format that tapool knows");
    }
}

TEST(test_detection)
{
    must_detect(HEAD ",\"events\":[" ALLOC "]}", NULL, "json");
    must_detect("\xef\xbb\xbf \n" HEAD ",\"events\":[" ALLOC "]}", NULL, "json");
    must_detect(HEAD ",\"meta\":{\"events\":\"format\",\"x\":\"\\\"}\"}}\n" ALLOC "\n", NULL,
                "jsonl");
    must_detect(HEAD "}\n" ALLOC, NULL, "jsonl");
    must_detect(HEAD "}\n" ALLOC, "JSONL", "jsonl");
    must_detect(HEAD ",\"events\":[" ALLOC "]}", "json", "json");
    must_refuse("a.x", HEAD "}\n" ALLOC, strlen(HEAD "}\n" ALLOC),
                (struct tp_trace_cfg){.input_format = "json"}, TP_EINPUT,
                "a.x:1: there is no 'events' in it");
    must_refuse("a.x", "x", 1, (struct tp_trace_cfg){.input_format = "jsonk"}, TP_EUSAGE,
                "unknown input format 'jsonk'");
}

/* A header that ends behind what detection sees: both forms, told apart by what follows it. */
TEST(test_long_header)
{
    enum { STREAMS = 6000 };
    static const char *const ends[] = {"}\n" ALLOC "\n" DIRTY "\n",
                                       ",\"events\":[" ALLOC "," DIRTY "]}", "}\n", "} {"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *text = NULL;
        size_t size = 0;
        struct tp_trace t;
        struct tp_err err = {0};
        FILE *out = open_memstream(&text, &size);
        fprintf(out, HEAD ",\"meta\":{\"kind\":\"device\"},\"streams\":[");
        for (int n = 0; n < STREAMS; n++)
            fprintf(out, "%s{\"id\":%d,\"device\":0}", n ? "," : "", n);
        fprintf(out, "]%s", ends[i]);
        fclose(out);
        int rc = open_text("long.x", text, size, (struct tp_trace_cfg){0}, &t, &err);
        free(text);
        if (rc != (i < 2 ? TP_OK : TP_EINPUT))
            fail_msg("%s: %d: %s", ends[i], rc, err.text);
        if (rc != TP_OK)
            continue;
        assert_int_equal(tp_program_facts(t.program)->events, 2);
        assert_int_equal(tp_program_facts(t.program)->streams, STREAMS);
        tp_trace_close(&t);
    }
}

static int always_70(const unsigned char *data, size_t size)
{
    (void)data;
    return size ? 70 : 0;
}

TEST(test_tie)
{
    static const struct tp_format one = {.name = "one", .probe = always_70};
    static const struct tp_format two = {.name = "two", .probe = always_70};
    static const struct tp_format *const tied[] = {&tp_format_jsonl, &one, &tp_format_json, &two,
                                                   NULL};
    static const char text[] = HEAD ",\"events\":[" ALLOC "]}";
    const struct tp_trace_cfg cfg = {.formats = tied};
    must_refuse("a.x", "hello", 5, cfg, TP_EINPUT, "a.x: could be 'one' or 'two'");
    struct tp_trace t;
    assert_int_equal(open_text("a.x", text, sizeof text - 1, cfg, &t, NULL), TP_OK);
    assert_string_equal(t.format, "json"); /* 100 beats two that tie below it */
    tp_trace_close(&t);
}

TEST(test_strictness)
{
    static const char text[] = HEAD ",\"events\":[" DIRTY "," ALLOC "]}";
    static const char error[] = "d.json:1: event 1 frees id 1, which is not live";
    struct tp_trace t;
    must_refuse("d.json", text, sizeof text - 1, (struct tp_trace_cfg){.strictness = TP_BY_ORIGIN},
                TP_EINPUT, error);
    must_refuse("d.json", text, sizeof text - 1, (struct tp_trace_cfg){.strictness = TP_STRICT},
                TP_EINPUT, error);
    const struct tp_trace_cfg repair = {.strictness = TP_REPAIR};
    assert_int_equal(open_text("d.json", text, sizeof text - 1, repair, &t, NULL), TP_OK);
    assert_int_equal(t.repairs[TP_REPAIR_UNKNOWN_FREE], 1);
    assert_int_equal(tp_program_facts(t.program)->events, 2);
    tp_trace_close(&t);
    /* a capture of others is repaired unless asked otherwise */
    struct tp_format foreign = tp_format_json;
    foreign.own = false;
    const struct tp_format *const list[] = {&foreign, NULL};
    const struct tp_trace_cfg by_origin = {.strictness = TP_BY_ORIGIN, .formats = list};
    assert_int_equal(open_text("d.json", text, sizeof text - 1, by_origin, &t, NULL), TP_OK);
    tp_trace_close(&t);
    must_refuse("d.json", text, sizeof text - 1,
                (struct tp_trace_cfg){.strictness = TP_STRICT, .formats = list}, TP_EINPUT, error);
}

/* ---- packed ---- */

static struct bytes read_sample(const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, SAMPLES "/%s.json", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    struct bytes b = make_bytes((size_t)st.st_size);
    assert_int_equal(fread(b.data, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

/* The program is the same; what lies there is named and measured as it lies there. */
TEST(test_packed)
{
    struct bytes plain = read_sample("jq");
    struct tp_trace expected, t;
    struct tp_err err = {0};
    const struct tp_trace_cfg any = {0};
    assert_int_equal(open_text("jq.json", (char *)plain.data, plain.size, any, &expected, NULL),
                     TP_OK);
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(plain.data, plain.size);
        const char *name = i ? "jq.json.zst" : "jq.json.GZ";
        if (open_text(name, (char *)packed.data, packed.size, any, &t, &err) != TP_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(tp_program_facts(t.program)->hash,
                            tp_program_facts(expected.program)->hash, TP_HASH_SIZE);
        assert_int_equal(tp_program_facts(t.program)->events, 12000);
        assert_string_equal(t.file, name);
        assert_string_equal(t.format, "json");
        assert_int_equal(t.file_bytes, packed.size);
        tp_trace_close(&t);
        free(packed.data);
    }
    tp_trace_close(&expected);
    free(plain.data);
}

static void check_name(const char *file, const char *expected)
{
    static const char text[] = HEAD "}\n" ALLOC;
    struct tp_trace t;
    assert_int_equal(open_text(file, text, sizeof text - 1, (struct tp_trace_cfg){0}, &t, NULL),
                     TP_OK);
    assert_string_equal(t.file, file);
    assert_string_equal(t.meta.name, expected);
    tp_trace_close(&t);
}

TEST(test_names)
{
    check_name("x", "x");
    check_name("x.json", "x");
    check_name("x.pickle.gz", "x");
    check_name("x.v2.json.zst", "x.v2");
    check_name("x.gz", "x");
    check_name("x.gz.json", "x.gz");
    check_name(".gz", ".gz");
    check_name(".x.gz", ".x");
}

/* Takes one event from the first byte, and leaves what follows alone. */
static int read_first(const struct tp_reading *r, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_ALLOC, .id = 1, .size = 8, .has_size = true};
    return tp_input_byte(r->in) == 'x' ? tp_lower_event(r->lower, &ev, err)
                                       : tp_fail(err, TP_EINPUT, "byte 0 is no x");
}

/* What no reader asks for is read all the same: there may be damage, and damage explains more than
 * the nonsense that it makes. */
TEST(test_damage)
{
    static const struct tp_format first = {.name = "first", .probe = always_70, .read = read_first};
    static const struct tp_format *const list[] = {&first, NULL};
    const struct tp_trace_cfg cfg = {.formats = list};
    struct bytes all = make_pattern(MANY);
    for (int x = 0; x < 2; x++) {
        struct tp_trace t;
        struct tp_err err = {0};
        all.data[0] = x ? 'x' : 'y';
        struct bytes packed = pack_gzip(all.data, all.size);
        const char *data = (char *)packed.data;
        int rc = open_text("d.gz", data, packed.size, cfg, &t, &err);
        assert_int_equal(rc, x ? TP_OK : TP_EINPUT);
        if (x)
            tp_trace_close(&t);
        assert_string_equal(x ? "" : err.text, x ? "" : "byte 0 is no x");
        assert_string_equal(err.hint, x ? "" : "lines and bytes are counted in the unpacked trace");
        must_refuse("d.gz", data, packed.size - 1, cfg, TP_EINPUT,
                    "d.gz: the gzip data ends too early: truncated?");
        free(packed.data);
    }
    free(all.data);
}

/* The limit arrives where the bytes are unpacked. */
TEST(test_limit)
{
    static const char tail[] = "]}";
    struct bytes all = make_bytes(3 << 20);
    memset(all.data, ' ', all.size);
    memcpy(all.data, HEAD ",\"events\":[" ALLOC, strlen(HEAD ",\"events\":[" ALLOC));
    memcpy(all.data + all.size - 2, tail, 2);
    struct bytes packed = pack_gzip(all.data, all.size);
    const char *data = (char *)packed.data;
    struct tp_trace t;
    struct tp_err err = {0};
    struct tp_trace_cfg cfg = {.read.max_memory = 2 << 20};
    assert_int_equal(open_text("b.gz", data, packed.size, cfg, &t, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "b.gz: unpacks to more than 2 MiB from "));
    cfg.read.max_memory = 0;
    assert_int_equal(open_text("b.gz", data, packed.size, cfg, &t, &err), TP_OK);
    tp_trace_close(&t);
    free(packed.data);
    free(all.data);
}

GROUP(make_folder, remove_folder)
