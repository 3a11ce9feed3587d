/* Buffers with lifetimes: real files against figures computed without tapool, small files against
 * programs, everything that is refused, and the way there and back of the writer. */
#include "tests/unit/importer_rig.h"
#include "traces/trace_writer.h"

extern const struct tp_format tp_format_minimalloc;

#define DATA TAPOOL_ROOT "/tests/data/minimalloc/"

static const struct importer minimalloc = {.format = &tp_format_minimalloc, .kind = "device"};

static struct reading read_file(const char *path)
{
    return check_reading(&minimalloc, &(struct importer_row){.path = path, .strict = true});
}

/* ---- real files ---- */

/* ORIGIN.md has the script; sums over rows whose life is not empty. */
static const struct file_row {
    const char *path;
    uint64_t buffers, peak, bytes;
    uint32_t most; /* live at once */
} files[] = {
    {DATA "A.1048576.csv", 154, 1048576, 15071232, 45},
    {DATA "D.1048576.csv", 213, 986112, 7328768, 87},
    {DATA "J.1048576.csv", 409, 989184, 13794304, 110},
    {DATA "K.1048576.csv", 454, 1048576, 79005696, 34},
    {DATA "input.12.csv", 5, 12, 20, 3},
    {DATA "resnet50.csv", 1042, 1515472556, 3424204028, 322},
};

static uint64_t allocated(struct tp_program *p)
{
    struct tp_cursor *c = NULL;
    struct tp_window w;
    uint64_t sum = 0;
    assert_int_equal(tp_cursor_open(p, &c, NULL), TP_OK);
    while (tp_cursor_next(c, &w, NULL) == 1)
        for (uint32_t i = 0; i < w.count; i++)
            sum += w.insns[i].op == TP_ALLOC ? w.insns[i].size : 0;
    tp_cursor_close(c);
    return sum;
}

static void check_file(const struct file_row *f)
{
    char facts[300];
    snprintf(facts, sizeof facts,
             "time_known=0 allocs=%" PRIu64 " frees=%" PRIu64 " events=%" PRIu64
             " live_at_end=0 slots=%" PRIu32 " peak=%" PRIu64 " repairs=0 ",
             f->buffers, f->buffers, 2 * f->buffers, f->most, f->peak);
    const struct importer_row row = {
        .path = f->path, .strict = true, .facts = facts, .remarks = NOT_SAID};
    struct reading r = check_reading(&minimalloc, &row);
    assert_int_equal(allocated(r.program), f->bytes);
    forget(&r);
}

TEST(test_files)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_file(&files[i]);
}

TEST(test_large_files)
{
    static const struct file_row large[] = {
        {"bert_base.csv", 5620, 15734934689, 56392198611, 785},
        {"pangu_2.6B.csv", 18692, 5530099775, 276636552888, 1104}};
    const char *shared = getenv("TAPOOL_SHARED");
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/corpus/buffers/%s",
                 shared ? shared : TAPOOL_ROOT "/../shared", large[i].path);
        FILE *there = fopen(path, "rb");
        if (!there) {
            print_message("%s is absent\n", path);
            skip();
        }
        fclose(there);
        struct file_row row = large[i];
        row.path = path;
        check_file(&row);
    }
}

/* ---- small files ---- */

static const struct importer_row order[] = {
    /* frees come first, rows in their order, whatever the order of the lines */
    REPLAYS("id,lower,upper,size\nb,3,9,5\na,0,3,4\nc,3,4,6\n",
            "alloc 0 4 @1; free 0 4 @2; alloc 0 5 @3; alloc 1 6 @4; free 1 6 @5; free 0 5 @6; "),
    REPLAYS("id,lower,upper,size\nb,-9,-3,5\na,-3,9223372036854775807,4\n",
            "alloc 0 5 @1; free 0 5 @2; alloc 0 4 @3; free 0 4 @4; "),
    /* an id may come back: a buffer is its row */
    REPLAYS("id,lower,upper,size\na,0,2,1\na,1,3,2\n",
            "alloc 0 1 @1; alloc 1 2 @2; free 0 1 @3; free 1 2 @4; "),
};

#define COLUMNS_1 "size,alignment,upper,id,lower\n4,16,3,x,0\n"
#define COLUMNS_2 "buffer,start,upper,size,alignment\nx,0,3,4,16\n"
#define COLUMNS_3 "buffer_id,begin,end,size,alignment\nx,0,2,4,16"
#define COLUMNS_4                                                                                  \
    "\xef\xbb\xbf# pool_offset=4096\r\nid,kind,lower,upper,size,alignment,hint\r\n"                \
    "x,weight,0,3,4,16,-1\r\n"
#define COLUMNS_5     " id , lower , upper,size,\talignment\nx, 0 , +3,\t4 ,16\n"
#define WHAT_THEY_ARE "alloc 0 4 a4 @1; free 0 4 a4 @2; "
static const struct importer_row columns[] = {
    REPLAYS(COLUMNS_1, WHAT_THEY_ARE), REPLAYS(COLUMNS_2, WHAT_THEY_ARE),
    REPLAYS(COLUMNS_3, WHAT_THEY_ARE), REPLAYS(COLUMNS_4, WHAT_THEY_ARE),
    REPLAYS(COLUMNS_5, WHAT_THEY_ARE),
};

static const struct importer_score scores[] = {
    SCORE(COLUMNS_1, 90), SCORE(COLUMNS_2, 90), SCORE(COLUMNS_3, 90),
    SCORE(COLUMNS_4, 90), SCORE(COLUMNS_5, 90),
};

/* The last step of a life and of a gap, where the column is called 'end'. */
static const struct importer_row end[] = {
    REPLAYS("id,start,end,size\na,0,0,4\nb,1,1,5\n",
            "alloc 0 4 @1; free 0 4 @2; alloc 0 5 @3; free 0 5 @4; "),
    REPLAYS("id,start,end,size,gaps\na,0,9,4,2-3\nb,2,3,5,\n",
            "alloc 0 4 @1; free 0 4 @2; alloc 0 5 @3; free 0 5 @4; alloc 0 4 @5; free 0 4 @6; "),
    REFUSED("id,start,end,size\na,0,9223372036854775807,4\n",
            "x.json:2: there is no step behind the end"),
};

#define OUTSIDE(gaps, named)                                                                       \
    REFUSED("id,lower,upper,size,gaps\na,0,20,4," gaps "\n",                                       \
            "x.json:2: the gap '" named "' is not behind the one before it and in the life")
static const struct importer_row gaps[] = {
    /* at the ends of the life, empty, side by side, and in the middle */
    REPLAYS("id,lower,upper,size,gaps\na,0,20,4,0-2 5-5 7-9  9-11 18-20\n",
            "alloc 0 4 @1; free 0 4 @2; alloc 0 4 @3; free 0 4 @4; "),
    REPLAYS("id,lower,upper,size,gaps\na,-5,5,4,-3--1\n",
            "alloc 0 4 @1; free 0 4 @2; alloc 0 4 @3; free 0 4 @4; "),
    READS("id,lower,upper,size,gaps,offset\na,0,20,4,1-9@0:2 12-13,0\n",
          .remarks = "the offsets in it, the places of a plan, are not read\n"
                     "the whole buffer stays live in gaps that leave a part of it in use: 1",
          .facts = "allocs=2 "),
    REFUSED("id,lower,upper,size,gaps\na,0,20,4,3\n",
            "x.json:2: the gap '3' is not of the form 'lower-upper'"),
    REFUSED("id,lower,upper,size,gaps\na,0,20,4,3-x\n",
            "x.json:2: a gap's upper is 'x', not a whole number below 2^63"),
    OUTSIDE("5-4", "5-4"),
    OUTSIDE("4-6 5-8", "5-8"),
    OUTSIDE("-1-3", "-1-3"),
    OUTSIDE("4-21", "4-21"),
    OUTSIDE("4-5 1-2", "1-2"),
};

/* Both readings of 'end'; the peak of the other one is what a file with 'upper' has. */
#define ENDS(rows, last, behind, said)                                                             \
    READS("id,lower,end,size,gaps\n" rows, .facts = "peak=" last " ",                              \
          .remarks_part = "'end' is read as a buffer's last step: peak " last                      \
                          " B; if it is the step behind it, the peak is " behind                   \
                          " B: rename the column to 'upper'"),                                     \
        READS("id,lower,upper,size,gaps\n" rows, .facts = "peak=" behind " ", .remarks = said)
static const struct importer_row both_ends[] = {
    ENDS("a,0,3,10,\nb,3,5,20,\nc,5,9,5,\n", "30", "20", NOT_SAID),
    /* never live, if it is the step behind */
    ENDS("a,0,0,7,\nb,2,2,9,\n", "9", "0", "buffers end where they begin and are never live: 2"),
    ENDS("a,0,9,4,2-3\nb,3,3,50,\nc,4,8,1,\n", "50", "5",
         "buffers end where they begin and are never live: 1"),
    ENDS("a,0,9,4,2-5\nb,1,2,50,\n", "54", "54", NOT_SAID), /* a gap has an end, too */
    ENDS("a,-3,-2,4,\nb,-2,0,5,\n", "9", "5", NOT_SAID),    /* its beginning is none */
};

static const struct importer_row remarks[] = {
    READS("id,lower,upper,size\na,2,2,4\nb,1,2,5\n\n\nc,1,2,5\n",
          .remarks = "buffers end where they begin and are never live: 1\n"
                     "reading stopped at the empty line: 4",
          .capture = "buffers with lifetimes (minimalloc CSV)",
          .unknown = "times (steps only), threads, streams", .facts = "events=2 "),
    READS("id,lower,upper,size\na,2,2,4\r\n\r\n \r\n", .nothing = "no buffer is ever live"),
};

static const struct importer_row refusals[] = {
    REFUSED("\nid,lower,upper,size\n", "x.json:1: there is no header"),
    REFUSED("# a\n# b\n", "x.json:3: there is no header"),
    REFUSED("id,lower,upper\n", "x.json:1: there is no column 'size'"),
    REFUSED("id,lower,end,size,upper\n", "x.json:1: two columns are the same (column 5)"),
    REFUSED("id,lower,upper,size\na,0,1\n", "x.json:2: 3 fields where the header has 4"),
    REFUSED("id,lower,upper,size\na,0,1,2,3\n", "x.json:2: 5 fields where the header has 4"),
    REFUSED("id,lower,upper,size\na,1:4,9,2\n",
            "x.json:2: lower is '1:4', a time of several parts"),
    REFUSED("id,lower,upper,size\na,0,,2\n",
            "x.json:2: upper is '', not a whole number below 2^63"),
    REFUSED("id,lower,upper,size\na,0,9223372036854775808,2\n",
            "x.json:2: upper is '9223372036854775808', not a whole number below 2^63"),
    REFUSED("id,lower,upper,size\na,0,1,0x\x1b\n",
            "x.json:2: size is '0x?', not a whole number below 2^63"),
    REFUSED("id,lower,upper,size\na,0,1,-2\n", "x.json:2: size is negative"),
    REFUSED("id,lower,upper,size,alignment\na,0,1,2,0\n", "x.json:2: alignment is below 1"),
    REFUSED("id,lower,upper,size,alignment\na,0,1,2,24\n",
            "x.json:2: event 1: align is 24: not a power of two from 1 to 2^30"),
    REFUSED("id,lower,upper,size\na,2,1,2\n",
            "x.json:2: the life ends before it begins: 2 is above 1"),
    REFUSED("id,lower,upper,size\na,0,1,281474976710657\n",
            "x.json:2: event 1 allocates 281,474,976,710,657 bytes; the limit is 2^48"),
};

/* A line without an end, and more rows than the memory for reading holds. */
TEST(test_limits)
{
    size_t size = (size_t)3 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size);
    struct importer_row row = {
        .text = text, .size = size, .error = "x.json:1: the line is longer than 1 MiB"};
    check_row(&minimalloc, &row);
    row.size = (size_t)snprintf(text, size, "id,lower,upper,size\n");
    for (; row.size + 20 < size; row.size += 10)
        memcpy(text + row.size, "a,1,2,333\n", 10);
    row.max_memory = 1 << 20;
    row.error = "x.json:8194: more buffers than the memory for reading holds";
    row.hint_part = "--max-memory";
    check_row(&minimalloc, &row);
    free(text);
}

/* ---- writing ---- */

#define ANY (-1) /* device */

struct csv {
    char *text;
    size_t size;
    int rc;
    struct tp_err err;
};

extern const struct tp_trace_writer tp_writer_minimalloc;

static struct csv write_csv(struct tp_program *p, int64_t device)
{
    struct csv csv = {0};
    FILE *f = open_memstream(&csv.text, &csv.size);
    assert_non_null(f);
    const struct tp_writing cfg = {.program = p, .path = "out.csv", .device = device};
    csv.rc = tp_writer_minimalloc.write(&cfg, f, &csv.err);
    fclose(f);
    return csv;
}

static struct reading read_json(const char *head, const char *events)
{
    static char text[1 << 14];
    snprintf(text, sizeof text, "{\"format\":\"tapool-trace\",\"version\":1%s,\"events\":[%s]}",
             head, events);
    struct reading r = read_text(&tp_format_json, text, true);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    return r;
}

static void expect_csv(const char *head, const char *events, int64_t device, const char *expected)
{
    struct reading r = read_json(head, events);
    struct csv csv = write_csv(r.program, device);
    if (csv.rc != TP_OK)
        fail_msg("%s", csv.err.text);
    assert_string_equal(csv.text, expected);
    free(csv.text);
    forget(&r);
}

#define EVERY                                                                                      \
    "{\"op\":\"initial\",\"id\":9,\"size\":100},{\"op\":\"alloc\",\"id\":1,\"size\":10},"          \
    "{\"op\":\"retain\",\"id\":1},{\"op\":\"mark\",\"name\":\"m\"},"                               \
    "{\"op\":\"realloc\",\"id\":1,\"size\":300,\"align\":4096},{\"op\":\"free\",\"id\":1},"        \
    "{\"op\":\"adopt\",\"id\":2,\"size\":5},{\"op\":\"free\",\"id\":1},"                           \
    "{\"op\":\"free\",\"id\":9},{\"op\":\"sync\"}"

TEST(test_write)
{
    expect_csv("", EVERY, ANY, "id,lower,upper,size\n0,1,4,10\n1,4,7,300\n2,0,8,100\n3,6,10,5\n");
    expect_csv("", "{\"op\":\"sync\"}", ANY, "id,lower,upper,size\n");
}

#define STREAMS        ",\"streams\":[{\"id\":0,\"device\":5},{\"id\":1,\"device\":7}]"
#define ON(id, stream) "{\"op\":\"alloc\",\"id\":" #id ",\"size\":" #id ",\"stream\":" #stream "}"

TEST(test_write_devices)
{
    static const char events[] = ON(1, 0) "," ON(2, 1) "," ON(3, 1) ",{\"op\":\"reset\","
                                                                    "\"stream\":1}," ON(4, 1);
    expect_csv(STREAMS, events, 0, "id,lower,upper,size\n0,1,6,1\n");
    expect_csv(STREAMS, events, 1, "id,lower,upper,size\n0,3,4,3\n1,2,4,2\n2,5,6,4\n");
    expect_csv(STREAMS, ON(2, 1), ANY, "id,lower,upper,size\n0,1,2,2\n");
    struct reading r = read_json(STREAMS, events);
    struct csv csv = write_csv(r.program, ANY);
    assert_int_equal(csv.rc, TP_EUSAGE);
    assert_string_equal(csv.err.text,
                        "out.csv: a plan of buffers is for one device, and 2 of them allocate");
    assert_string_equal(csv.err.hint, "choose one: 0, 1");
    free(csv.text);
    csv = write_csv(r.program, 2);
    assert_int_equal(csv.rc, TP_EUSAGE);
    assert_string_equal(csv.err.text, "out.csv: there is no device 2");
    free(csv.text);
    forget(&r);
}

TEST(test_full)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    struct tp_err err = {0};
    struct reading r = read_json("", EVERY);
    const struct tp_writing cfg = {.program = r.program, .path = "disk.csv", .device = ANY};
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(tp_writer_minimalloc.write(&cfg, full, &err), TP_EIO);
    assert_string_equal(err.text, "disk.csv could not be written: No space left on device");
    fclose(full);
    forget(&r);
}

/* Sizes in the order in which buffers appear and go: what a way there and back must keep. */
static void order_of(struct tp_program *p, char *out, size_t size)
{
    struct tp_cursor *c = NULL;
    struct tp_window w;
    size_t used = 0;
    static uint64_t sizes[8192];
    assert_true(tp_program_facts(p)->slots <= 8192);
    assert_int_equal(tp_cursor_open(p, &c, NULL), TP_OK);
    while (tp_cursor_next(c, &w, NULL) == 1) {
        for (uint32_t i = 0; i < w.count; i++) {
            const struct tp_insn *in = &w.insns[i];
            bool begins = in->op == TP_ALLOC || in->op == TP_ADOPT || in->op == TP_REALLOC;
            bool ends = in->op == TP_FREE || in->op == TP_REALLOC;
            assert_true(used + 100 < size);
            if (ends)
                used += (size_t)snprintf(out + used, size - used, "-%" PRIu64 " ", sizes[in->slot]);
            if (begins)
                used += (size_t)snprintf(out + used, size - used, "+%" PRIu64 " ", in->size);
            sizes[in->slot] = in->size;
        }
    }
    tp_cursor_close(c);
}

/* Written, read, and written again: the steps are event numbers then, and the rows the same but for
 * what lives at the end, which is freed. */
static void there_and_back(struct tp_program *p, bool all_freed)
{
    static char before[1 << 20], after[1 << 20];
    struct csv csv = write_csv(p, ANY);
    assert_int_equal(csv.rc, TP_OK);
    struct reading r = read_bytes(&tp_format_minimalloc, csv.text, csv.size, true);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    assert_int_equal(tp_program_demand(r.program, 0)->bytes, tp_program_demand(p, 0)->bytes);
    assert_int_equal(tp_program_facts(r.program)->slots, tp_program_facts(p)->slots);
    order_of(p, before, sizeof before);
    order_of(r.program, after, sizeof after);
    assert_memory_equal(before, after, strlen(before));
    if (all_freed)
        assert_string_equal(before, after);
    forget(&r);
    free(csv.text);
}

TEST(test_there_and_back)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].buffers > 1000)
            continue;
        struct reading r = read_file(files[i].path);
        there_and_back(r.program, true);
        forget(&r);
    }
    static const char *const samples[] = {"sqlite", "jq", "python-threads"};
    for (size_t i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/traces/samples/%s.json", TAPOOL_ROOT, samples[i]);
        struct reading r =
            read_path(&tp_format_json, path, true, &(struct tp_read_opts){.device = -1});
        assert_int_equal(r.rc, TP_OK);
        there_and_back(r.program, false);
        forget(&r);
    }
}

TESTS(ROWS(minimalloc, order), ROWS(minimalloc, columns), SCORES(minimalloc, scores),
      ROWS(minimalloc, end), ROWS(minimalloc, gaps), ROWS(minimalloc, remarks),
      ROWS(minimalloc, both_ends), ROWS(minimalloc, refusals))
