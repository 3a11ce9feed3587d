/* Buffers with lifetimes: real files against figures computed without tapool, small files against
 * programs, everything that is refused, and the way there and back of the writer. */
#include "tests/unit/trace_fixture.h"
#include "traces/trace_writer.h"

extern const struct tp_format tp_format_minimalloc;

#define DATA TAPOOL_ROOT "/tests/data/minimalloc/"

static struct reading read_csv(const char *text)
{
    return read_text(&tp_format_minimalloc, text, false);
}

static struct reading read_file(const char *path)
{
    struct reading r = {0};
    struct tp_input *in = NULL;
    r.rc = tp_input_open(path, 0, NULL, &in, &r.err);
    if (r.rc == TP_OK)
        r = read_input(&tp_format_minimalloc, in, true);
    tp_input_close(in);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    return r;
}

static void expect(const char *text, const char *program)
{
    static char got[1 << 16];
    struct reading r = read_csv(text);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", text, r.err.text);
    write_program(r.program, got, sizeof got);
    if (strcmp(got, program) != 0)
        fail_msg("%s\n  expected: %s\n  got: %s", text, program, got);
    forget(&r);
}

static void refuse(const char *text, const char *sentence)
{
    struct reading r = read_csv(text);
    if (r.rc != TP_EINPUT || strcmp(r.err.text, sentence) != 0)
        fail_msg("%s\n  expected: %s\n  got %d: %s", text, sentence, r.rc,
                 r.rc ? r.err.text : "no error");
    forget(&r);
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
    struct reading r = read_file(f->path);
    const struct tp_program_facts *facts = tp_program_facts(r.program);
    assert_int_equal(facts->kind, TP_KIND_DEVICE);
    assert_false(facts->time_known);
    assert_int_equal(facts->ops[TP_ALLOC], f->buffers);
    assert_int_equal(facts->ops[TP_FREE], f->buffers);
    assert_int_equal(facts->events, 2 * f->buffers);
    assert_int_equal(facts->live_at_end, 0);
    assert_int_equal(facts->slots, f->most);
    assert_int_equal(tp_program_demand(r.program, 0)->bytes, f->peak);
    assert_int_equal(allocated(r.program), f->bytes);
    assert_null(r.meta.remarks);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(r.repairs[i], 0);
    forget(&r);
}

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_file(&files[i]);
}

static void test_large_files(void **state)
{
    (void)state;
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

static void test_order(void **state)
{
    (void)state;
    /* frees come first, rows in their order, whatever the order of the lines */
    expect("id,lower,upper,size\nb,3,9,5\na,0,3,4\nc,3,4,6\n",
           "alloc 0 4 @1; free 0 4 @2; alloc 0 5 @3; alloc 1 6 @4; free 1 6 @5; free 0 5 @6; ");
    expect("id,lower,upper,size\nb,-9,-3,5\na,-3,9223372036854775807,4\n",
           "alloc 0 5 @1; free 0 5 @2; alloc 0 4 @3; free 0 4 @4; ");
    /* an id may come back: a buffer is its row */
    expect("id,lower,upper,size\na,0,2,1\na,1,3,2\n",
           "alloc 0 1 @1; alloc 1 2 @2; free 0 1 @3; free 1 2 @4; ");
}

static void test_columns(void **state)
{
    (void)state;
    static const char program[] = "alloc 0 4 a4 @1; free 0 4 a4 @2; ";
    static const char *const texts[] = {
        "size,alignment,upper,id,lower\n4,16,3,x,0\n",
        "buffer,start,upper,size,alignment\nx,0,3,4,16\n",
        "buffer_id,begin,end,size,alignment\nx,0,2,4,16",
        ("\xef\xbb\xbf# pool_offset=4096\r\nid,kind,lower,upper,size,alignment,hint\r\n"
         "x,weight,0,3,4,16,-1\r\n"),
        " id , lower , upper,size,\talignment\nx, 0 , +3,\t4 ,16\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect(texts[i], program);
        assert_int_equal(
            tp_format_minimalloc.probe((const unsigned char *)texts[i], strlen(texts[i])), 90);
    }
}

/* The last step of a life and of a gap, where the column is called 'end'. */
static void test_end(void **state)
{
    (void)state;
    expect("id,start,end,size\na,0,0,4\nb,1,1,5\n",
           "alloc 0 4 @1; free 0 4 @2; alloc 0 5 @3; free 0 5 @4; ");
    expect("id,start,end,size,gaps\na,0,9,4,2-3\nb,2,3,5,\n",
           "alloc 0 4 @1; free 0 4 @2; alloc 0 5 @3; free 0 5 @4; alloc 0 4 @5; free 0 4 @6; ");
    refuse("id,start,end,size\na,0,9223372036854775807,4\n",
           "x.json:2: there is no step behind the end");
}

static void test_gaps(void **state)
{
    (void)state;
    /* at the ends of the life, empty, side by side, and in the middle */
    expect("id,lower,upper,size,gaps\na,0,20,4,0-2 5-5 7-9  9-11 18-20\n",
           "alloc 0 4 @1; free 0 4 @2; alloc 0 4 @3; free 0 4 @4; ");
    expect("id,lower,upper,size,gaps\na,-5,5,4,-3--1\n",
           "alloc 0 4 @1; free 0 4 @2; alloc 0 4 @3; free 0 4 @4; ");
    struct reading r = read_csv("id,lower,upper,size,gaps,offset\na,0,20,4,1-9@0:2 12-13,0\n");
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(tp_program_facts(r.program)->ops[TP_ALLOC], 2);
    assert_string_equal(r.meta.remarks,
                        "the offsets in it, the places of a plan, are not read\n"
                        "the whole buffer stays live in gaps that leave a part of it in use: 1");
    forget(&r);
    refuse("id,lower,upper,size,gaps\na,0,20,4,3\n",
           "x.json:2: the gap '3' is not of the form 'lower-upper'");
    refuse("id,lower,upper,size,gaps\na,0,20,4,3-x\n",
           "x.json:2: a gap's upper is 'x', no whole number below 2^63");
    static const char *const outside[] = {"5-4", "4-6 5-8", "-1-3", "4-21", "4-5 1-2"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        char text[100], sentence[160];
        const char *named = strrchr(outside[i], ' ');
        snprintf(text, sizeof text, "id,lower,upper,size,gaps\na,0,20,4,%s\n", outside[i]);
        snprintf(sentence, sizeof sentence,
                 "x.json:2: the gap '%s' is not behind the one before it and in the life",
                 named ? named + 1 : outside[i]);
        refuse(text, sentence);
    }
}

/* Both readings of 'end'; the peak of the other one is what a file with 'upper' has. */
static void test_ends(void **state)
{
    static const struct {
        const char *rows;
        uint64_t last, behind;
    } files_with_ends[] = {
        {"a,0,3,10,\nb,3,5,20,\nc,5,9,5,\n", 30, 20},
        {"a,0,0,7,\nb,2,2,9,\n", 9, 0}, /* never live, if it is the step behind */
        {"a,0,9,4,2-3\nb,3,3,50,\nc,4,8,1,\n", 50, 5},
        {"a,0,9,4,2-5\nb,1,2,50,\n", 54, 54},
        /* its beginning is none */ /* a gap has an end, too */
        {"a,-3,-2,4,\nb,-2,0,5,\n", 9, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files_with_ends / sizeof *files_with_ends; i++)
        for (int upper = 0; upper < 2; upper++) {
            char text[200], remark[200];
            uint64_t peak = upper ? files_with_ends[i].behind : files_with_ends[i].last;
            snprintf(text, sizeof text, "id,lower,%s,size,gaps\n%s", upper ? "upper" : "end",
                     files_with_ends[i].rows);
            snprintf(remark, sizeof remark,
                     "'end' is read as a buffer's last step: peak %" PRIu64
                     " B; if it is the step behind it, the peak is %" PRIu64
                     " B: rename the column to 'upper'",
                     files_with_ends[i].last, files_with_ends[i].behind);
            struct reading r = read_csv(text);
            assert_int_equal(r.rc, TP_OK);
            assert_int_equal(tp_program_demand(r.program, 0)->bytes, peak);
            assert_int_equal(upper, !r.meta.remarks || !strstr(r.meta.remarks, remark));
            forget(&r);
        }
}

static void test_remarks(void **state)
{
    (void)state;
    struct reading r = read_csv("id,lower,upper,size\na,2,2,4\nb,1,2,5\n\n\nc,1,2,5\n");
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.remarks, "buffers end where they begin and are never live: 1\n"
                                        "reading stopped at the empty line: 4");
    assert_string_equal(r.meta.capture, "buffers with lifetimes (minimalloc CSV)");
    assert_string_equal(r.meta.unknown, "times (steps only), threads, streams");
    assert_int_equal(tp_program_facts(r.program)->events, 2);
    forget(&r);
    r = read_csv("id,lower,upper,size\na,2,2,4\r\n\r\n \r\n");
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.nothing, "no buffer is ever live");
    forget(&r);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("\nid,lower,upper,size\n", "x.json:1: there is no header");
    refuse("# a\n# b\n", "x.json:3: there is no header");
    refuse("id,lower,upper\n", "x.json:1: there is no column 'size'");
    refuse("id,lower,end,size,upper\n", "x.json:1: two columns are the same (column 5)");
    refuse("id,lower,upper,size\na,0,1\n", "x.json:2: 3 fields where the header has 4");
    refuse("id,lower,upper,size\na,0,1,2,3\n", "x.json:2: 5 fields where the header has 4");
    refuse("id,lower,upper,size\na,1:4,9,2\n", "x.json:2: lower is '1:4', a time of several parts");
    refuse("id,lower,upper,size\na,0,,2\n", "x.json:2: upper is '', no whole number below 2^63");
    refuse("id,lower,upper,size\na,0,9223372036854775808,2\n",
           "x.json:2: upper is '9223372036854775808', no whole number below 2^63");
    refuse("id,lower,upper,size\na,0,1,0x\x1b\n",
           "x.json:2: size is '0x?', no whole number below 2^63");
    refuse("id,lower,upper,size\na,0,1,-2\n", "x.json:2: size is negative");
    refuse("id,lower,upper,size,alignment\na,0,1,2,0\n", "x.json:2: alignment is below 1");
    refuse("id,lower,upper,size,alignment\na,0,1,2,24\n",
           "x.json:2: event 1: align is 24: not a power of two from 1 to 2^30");
    refuse("id,lower,upper,size\na,2,1,2\n",
           "x.json:2: the life ends before it begins: 2 is above 1");
    refuse("id,lower,upper,size\na,0,1,281474976710657\n",
           "x.json:2: event 1 allocates 281,474,976,710,657 bytes; the limit is 2^48");
}

/* A line without an end, and more rows than the memory for reading holds. */
static void test_limits(void **state)
{
    (void)state;
    size_t size = (size_t)3 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size);
    struct reading r = read_bytes(&tp_format_minimalloc, text, size, false);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "x.json:1: the line is longer than 1 MiB");
    size_t used = (size_t)snprintf(text, size, "id,lower,upper,size\n");
    for (; used + 20 < size; used += 10)
        memcpy(text + used, "a,1,2,333\n", 10);
    struct tp_input *in = NULL;
    const struct tp_read_opts opts = {.device = -1, .max_memory = 1 << 20};
    assert_int_equal(tp_input_memory("y", text, used, 0, &in, NULL), TP_OK);
    r = read_input_as(&tp_format_minimalloc, in, false, &opts);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "y:8194: more buffers than the memory for reading holds");
    assert_non_null(strstr(r.err.hint, "--max-memory"));
    tp_input_close(in);
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

static void test_write(void **state)
{
    (void)state;
    expect_csv("", EVERY, ANY, "id,lower,upper,size\n0,1,4,10\n1,4,7,300\n2,0,8,100\n3,6,10,5\n");
    expect_csv("", "{\"op\":\"sync\"}", ANY, "id,lower,upper,size\n");
}

#define STREAMS        ",\"streams\":[{\"id\":0,\"device\":5},{\"id\":1,\"device\":7}]"
#define ON(id, stream) "{\"op\":\"alloc\",\"id\":" #id ",\"size\":" #id ",\"stream\":" #stream "}"

static void test_write_devices(void **state)
{
    (void)state;
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

static void test_full(void **state)
{
    (void)state;
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

static void test_there_and_back(void **state)
{
    (void)state;
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
        struct tp_input *in = NULL;
        snprintf(path, sizeof path, "%s/traces/samples/%s.json", TAPOOL_ROOT, samples[i]);
        assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
        struct reading r = read_input(&tp_format_json, in, true);
        assert_int_equal(r.rc, TP_OK);
        tp_input_close(in);
        there_and_back(r.program, false);
        forget(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_large_files),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_columns),
        cmocka_unit_test(test_end),     cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_remarks), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_write),   cmocka_unit_test(test_write_devices),
        cmocka_unit_test(test_full),    cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
