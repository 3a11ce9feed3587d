/* Memory spaces: choice, names, streams per device, what was live at the start, and records that go
 * through a file. Events are handed in by the tests; the program is compared as text. */
#include "traces/lower/spaces.h"

#include "alloc/base/numbers.h"
#include "tests/unit/trace_fixture.h"

/* A format made of a function. */
struct rig {
    struct tp_input *in;
    struct tp_lower *lower;
    struct tp_meta meta;
    struct tp_recorded recorded;
    struct tp_places places;
    struct tp_read_opts opts;
    struct tp_budget budget;
    struct tp_reading reading;
    struct tp_spaces *sp;
    struct tp_program *program;
    uint64_t repairs[TP_REPAIR_COUNT];
    struct tp_err err;
    char text[4096];
};

static void rig_open(struct rig *g, const char *space, uint64_t max_memory)
{
    *g = (struct rig){.opts = {.space = space, .device = -1, .max_memory = max_memory}};
    const struct tp_lower_cfg cfg = {.path = "x.log"};
    g->budget.limit = tp_max_memory(&g->opts);
    assert_int_equal(tp_input_memory("x.log", "x", 1, 0, &g->in, NULL), TP_OK);
    assert_int_equal(tp_lower_new(&cfg, &g->lower, NULL), TP_OK);
    g->reading = (struct tp_reading){g->in,      g->lower, &g->meta,  &g->recorded,
                                     &g->places, &g->opts, &g->budget};
    assert_int_equal(tp_spaces_new(&g->reading, &g->sp, NULL), TP_OK);
}

static void rig_close(struct rig *g)
{
    tp_spaces_free(g->sp);
    tp_program_release(g->program);
    tp_lower_free(g->lower);
    tp_meta_release(&g->meta);
    tp_input_close(g->in);
}

/* Closed behind the test. */
static struct rig *open_space(void **state, const char *space)
{
    struct rig *g = malloc(sizeof *g);
    assert_non_null(g);
    rig_open(g, space, 0);
    *state = g;
    return g;
}

static int close_space(void **state)
{
    rig_close(*state);
    free(*state);
    return 0;
}

static uint32_t define(struct rig *g, const char *name, enum tp_kind kind)
{
    uint32_t index = 0;
    assert_int_equal(tp_spaces_define(g->sp, name, kind, &index, &g->err), TP_OK);
    return index;
}

static void event(struct rig *g, uint32_t space, int64_t device, struct tp_event ev)
{
    assert_int_equal(tp_spaces_event(g->sp, space, device, &ev, &g->err), TP_OK);
}

static void alloc(struct rig *g, uint32_t space, int64_t id, uint64_t size)
{
    event(g, space, 0, (struct tp_event){.op = TP_EV_ALLOC, .id = id, .size = size, .line = 7});
}

static void release(struct rig *g, uint32_t space, int64_t id)
{
    event(g, space, 0, (struct tp_event){.op = TP_EV_FREE, .id = id, .line = 8});
}

static void finish(struct rig *g)
{
    assert_int_equal(tp_spaces_lower(g->sp, &g->err), TP_OK);
    assert_int_equal(tp_lower_finish(g->lower, &g->program, g->repairs, &g->err), TP_OK);
    write_program(g->program, g->text, sizeof g->text);
}

/* ---- choosing ---- */

static void fill_two(struct rig *g)
{
    uint32_t cpu = define(g, "CPU", TP_KIND_HOST), gpu = define(g, "GPU 0", TP_KIND_DEVICE);
    alloc(g, cpu, 1, 100);
    alloc(g, gpu, 2, 4096);
    release(g, cpu, 1);
    release(g, gpu, 2);
    alloc(g, cpu, 3, 100);
}

TEST_WITH(test_takes_the_one_with_most_bytes, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    fill_two(g);
    assert_int_equal(tp_spaces_count(g->sp), 5);
    finish(g);
    assert_string_equal(g->text, "alloc 0 4096 a8 @1; free 0 4096 a8 @2; ");
    assert_string_equal(g->meta.space, "GPU 0");
    assert_string_equal(g->meta.left_out, "CPU (3 events, 200 B)");
    assert_int_equal(g->meta.kind, TP_KIND_DEVICE);
    assert_int_equal(tp_program_facts(g->program)->events, 2);
    assert_int_equal(tp_spaces_device(g->sp, 1, 0), 0);
    assert_int_equal(tp_spaces_device(g->sp, 0, 0), -1);
    assert_true(tp_spaces_chosen(g->sp, 1) && !tp_spaces_chosen(g->sp, 0));
}

TEST_WITH(test_takes_what_is_named, NULL, close_space)
{
    struct rig *g = open_space(state, "cpu");
    fill_two(g);
    finish(g);
    assert_string_equal(g->text, "alloc 0 100 a4 @1; free 0 100 a4 @2; alloc 0 100 a4 @3; ");
    assert_string_equal(g->meta.space, "CPU");
    assert_int_equal(g->meta.kind, TP_KIND_HOST);
}

TEST_WITH(test_all_are_devices, NULL, close_space)
{
    struct rig *g = open_space(state, "ALL");
    fill_two(g);
    finish(g);
    assert_string_equal(g->text, "alloc 0 100 a8 @1; alloc 1 4096 a8 s1 d1 @2; free 0 100 a8 @3; "
                                 "free 1 4096 a8 s1 d1 @4; alloc 1 100 a8 @5; ");
    assert_string_equal(g->meta.space, "all");
    assert_null(g->meta.left_out);
    assert_int_equal(tp_program_facts(g->program)->devices, 2);
    assert_int_equal(tp_spaces_device(g->sp, 1, 0), 1);
}

TEST_WITH(test_unknown_name, NULL, close_space)
{
    struct rig *g = open_space(state, "GPU\x1b");
    fill_two(g);
    define(g, "never used", TP_KIND_HOST);
    assert_int_equal(tp_spaces_lower(g->sp, &g->err), TP_EINPUT);
    assert_string_equal(g->err.text, "x.log: no memory space is called 'GPU?'");
    assert_string_equal(g->err.hint, "it has: CPU, GPU 0");
}

TEST(test_one_space_needs_no_words)
{
    struct rig g;
    rig_open(&g, NULL, 0);
    alloc(&g, define(&g, "HOST", TP_KIND_HOST), 1, 8);
    finish(&g);
    assert_null(g.meta.space);
    assert_null(g.meta.left_out);
    rig_close(&g);
    rig_open(&g, "DEVICE", 0); /* ... but a wrong name is wrong */
    alloc(&g, define(&g, "HOST", TP_KIND_HOST), 1, 8);
    assert_int_equal(tp_spaces_lower(g.sp, &g.err), TP_EINPUT);
    assert_string_equal(g.err.hint, "it has: HOST");
    rig_close(&g);
}

TEST_WITH(test_space_without_events, NULL, close_space)
{
    struct rig *g = open_space(state, "idle");
    fill_two(g);
    define(g, "idle", TP_KIND_HOST);
    finish(g);
    assert_string_equal(g->text, "");
    assert_string_equal(g->meta.nothing, "the memory space 'idle' has none");
    assert_string_equal(g->meta.nothing_hint, "there are events in: CPU, GPU 0");
}

TEST(test_nothing_at_all)
{
    struct rig g;
    rig_open(&g, NULL, 0);
    finish(&g);
    assert_string_equal(g.text, "");
    assert_int_equal(tp_program_facts(g.program)->events, 0);
    rig_close(&g);
    rig_open(&g, "all", 0);
    define(&g, "a", TP_KIND_HOST);
    finish(&g);
    assert_string_equal(g.text, "");
    rig_close(&g);
}

/* Bytes that do not fit 64 bits must not make the largest space the smallest. */
TEST_WITH(test_bytes_saturate, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    uint32_t a = define(g, "a", TP_KIND_HOST), b = define(g, "b", TP_KIND_HOST);
    for (int i = 0; i < 65537; i++) {
        alloc(g, a, 1, TP_MAX_SIZE);
        release(g, a, 1);
    }
    alloc(g, b, 2, TP_MAX_SIZE);
    alloc(g, b, 3, TP_MAX_SIZE);
    finish(g);
    assert_string_equal(g->meta.space, "a");
}

/* ---- names ---- */

TEST(test_equal_names_are_numbered)
{
    static const char *const names[] = {"pool", "pool#2", "Pool", "all", "", "pool", "other"};
    static const char *const ids[] = {"pool", "pool#2", "pool#3", "all#2", "unnamed", "pool#4"};
    for (uint32_t wanted = 0; wanted < 6; wanted++) {
        struct rig g;
        rig_open(&g, ids[wanted], 0);
        for (uint32_t i = 0; i < 7; i++)
            alloc(&g, define(&g, names[i], TP_KIND_HOST), i, 1000 + i);
        finish(&g);
        assert_int_equal(tp_program_demand(g.program, 0)->bytes, 1000 + wanted);
        assert_true(tp_spaces_chosen(g.sp, wanted));
        rig_close(&g);
    }
}

TEST_WITH(test_long_lists_are_cut, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    char long_name[200];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    for (int i = 0; i < 9; i++)
        alloc(g, define(g, long_name, TP_KIND_HOST), i, 1);
    finish(g);
    assert_non_null(strstr(g->meta.left_out, "xx#2 (1 event, 1 B), "));
    assert_non_null(strstr(g->meta.left_out, " and 5 more"));
    assert_true(strlen(g->meta.left_out) < 1000);
}

/* ---- streams and devices ---- */

/* Stream 5 of device 0 and stream 5 of device 1 are two; all others are what they were. */
TEST_WITH(test_streams_are_of_their_device, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    uint32_t s = define(g, "GPU", TP_KIND_DEVICE);
    const int64_t streams[] = {5, INT64_MIN, -1, 0}, devices[] = {0, 1, INT64_MAX};
    int64_t id = 0;
    for (size_t d = 0; d < 3; d++)
        for (size_t i = 0; i < 4; i++)
            for (int twice = 0; twice < 2; twice++)
                event(g, s, devices[d],
                      (struct tp_event){.op = TP_EV_ALLOC,
                                        .id = id++,
                                        .size = 512,
                                        .has_stream = true,
                                        .stream = streams[i]});
    finish(g);
    assert_int_equal(tp_program_facts(g->program)->streams, 12);
    assert_int_equal(tp_program_facts(g->program)->devices, 3);
    assert_non_null(strstr(g->text, "alloc 23 512 a8 s11 d2 @24; "));
    assert_non_null(strstr(g->text, "alloc 2 512 a8 s1 @3; "));
}

/* What comes first declares the device it is on, and no other. */
TEST(test_first_record_makes_no_device)
{
    struct rig g;
    rig_open(&g, NULL, 0);
    uint32_t a = define(&g, "a", TP_KIND_HOST), b = define(&g, "b", TP_KIND_HOST);
    assert_int_equal(tp_spaces_skip(g.sp, a, 3, &g.err), TP_OK);
    release(&g, b, 1);
    event(&g, b, 3, (struct tp_event){.op = TP_EV_FREE, .id = 1});
    event(&g, b, 3, (struct tp_event){.op = TP_EV_MARK, .name = "m"});
    event(&g, b, 3, (struct tp_event){.op = TP_EV_ALLOC, .id = 1, .size = 8});
    finish(&g);
    assert_int_equal(tp_program_facts(g.program)->devices, 2); /* release() is on device 0 */
    assert_int_equal(tp_program_facts(g.program)->events, 4);
    assert_int_equal(g.repairs[TP_REPAIR_UNKNOWN_FREE], 2);
    assert_int_equal(tp_spaces_device(g.sp, b, 3), 1);
    rig_close(&g);
    rig_open(&g, NULL, 0);
    a = define(&g, "a", TP_KIND_HOST);
    assert_int_equal(tp_spaces_skip(g.sp, a, 3, &g.err), TP_OK);
    event(&g, a, 3, (struct tp_event){.op = TP_EV_ALLOC, .id = 1, .size = 8});
    finish(&g);
    assert_string_equal(g.text, "alloc 0 8 a4 @2; ");
    assert_int_equal(tp_program_facts(g.program)->devices, 1);
    assert_int_equal(tp_program_facts(g.program)->streams, 1);
    rig_close(&g);
}

/* A reset or trim without a stream is one of its own device. */
TEST_WITH(test_reset_spares_other_spaces, NULL, close_space)
{
    struct rig *g = open_space(state, "all");
    uint32_t a = define(g, "a", TP_KIND_HOST), b = define(g, "b", TP_KIND_HOST);
    alloc(g, a, 1, 8);
    alloc(g, b, 2, 16);
    event(g, b, 0, (struct tp_event){.op = TP_EV_RESET});
    release(g, a, 1);
    event(g, a, 0, (struct tp_event){.op = TP_EV_TRIM});
    finish(g);
    assert_string_equal(g->text, "alloc 0 8 a4 @1; alloc 1 16 a4 s1 d1 @2; reset 0 0 d1 @3; "
                                 "free 0 8 a4 @4; trim 0 0 @5; ");
}

TEST_WITH(test_too_many_devices, NULL, close_space)
{
    struct rig *g = open_space(state, "all");
    for (int i = 0; i < 257; i++)
        alloc(g, define(g, "pool", TP_KIND_HOST), i, 8);
    assert_int_equal(tp_spaces_lower(g->sp, &g->err), TP_EINPUT);
    assert_string_equal(g->err.text, "x.log:7: more than 256 devices");
    assert_string_equal(g->err.hint, "--space=NAME takes one memory space");
}

/* ---- order and content ---- */

TEST_WITH(test_initial_goes_first, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    uint32_t a = define(g, "a", TP_KIND_DEVICE);
    alloc(g, a, 1, 512);
    event(g, a, 0, (struct tp_event){.op = TP_EV_INITIAL, .id = 9, .size = 1024});
    release(g, a, 9);
    assert_int_equal(tp_spaces_count(g->sp), 2);
    finish(g);
    assert_string_equal(g->text, "alloc 0 1024 a8 @0; alloc 1 512 a8 @1; free 0 1024 a8 @2; ");
    assert_int_equal(tp_program_facts(g->program)->initial_heap, 1);
}

TEST_WITH(test_everything_arrives, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    uint32_t a = define(g, "a", TP_KIND_DEVICE);
    event(g, a, 0, (struct tp_event){.op = TP_EV_MARK, .name = "one\n"});
    event(g, a, 0, (struct tp_event){.op = TP_EV_MARK, .name = "one?"});
    event(g, a, 0, (struct tp_event){.op = TP_EV_MARK, .name = "two"});
    event(g, a, 0,
          (struct tp_event){.op = TP_EV_ALLOC,
                            .id = 1,
                            .size = 100,
                            .has_align = true,
                            .align = 64,
                            .thread = 77,
                            .has_time = true,
                            .time_ns = 5});
    event(
        g, a, 0,
        (struct tp_event){
            .op = TP_EV_NOTE, .note = TP_NOTE_OOM, .size = 50, .has_free = true, .free_bytes = 33});
    event(g, a, 0, (struct tp_event){.op = TP_EV_NOTE, .size = 9, .uncounted = true});
    event(g, a, 0, (struct tp_event){.op = TP_EV_REALLOC, .id = 1, .size = 200});
    assert_int_equal(tp_spaces_count(g->sp), 6);
    finish(g);
    assert_string_equal(g->text, "mark 0 0 @1; mark 0 0 @2; mark 1 0 @3; alloc 0 100 a6 +5 @4; "
                                 "note 0 50 a1 @5; note 0 33 a2 @5; alloc 1 50 a8 @5; "
                                 "free 1 50 a8 @5; note 0 9 @5; realloc 0 200 a6 t1 @6; ");
    assert_string_equal(tp_program_mark(g->program, 0), "one?");
    assert_string_equal(tp_program_mark(g->program, 1), "two");
}

/* The place of an error is that of the record, whether a line or an offset. */
TEST(test_places)
{
    struct rig g;
    rig_open(&g, NULL, 0);
    uint32_t a = define(&g, "a", TP_KIND_HOST);
    alloc(&g, a, 1, TP_MAX_SIZE + 1);
    assert_int_equal(tp_spaces_lower(g.sp, &g.err), TP_EINPUT);
    assert_memory_equal(g.err.text, "x.log:7: event 1 ", 17);
    rig_close(&g);
    rig_open(&g, NULL, 0);
    a = define(&g, "a", TP_KIND_HOST);
    event(&g, a, 0,
          (struct tp_event){
              .op = TP_EV_ALLOC, .size = TP_MAX_SIZE + 1, .has_offset = true, .offset = 0});
    assert_int_equal(tp_spaces_lower(g.sp, &g.err), TP_EINPUT);
    assert_memory_equal(g.err.text, "x.log: byte 0: event 1 ", 23);
    rig_close(&g);
}

/* Records in a file make the program that records in memory make. */
static void replay_many(struct rig *g, uint64_t max_memory, uint8_t hash[TP_HASH_SIZE])
{
    rig_open(g, "b", max_memory);
    uint32_t a = define(g, "a", TP_KIND_HOST), b = define(g, "b", TP_KIND_HOST);
    for (int64_t i = 0; i < 20000; i++) {
        alloc(g, i % 3 ? a : b, i, (uint64_t)i % 1000 + 1);
        if (i % 7 == 0)
            event(g, b, 0, (struct tp_event){.op = TP_EV_INITIAL, .id = -i - 1, .size = 64});
        if (i >= 10)
            release(g, (i - 10) % 3 ? a : b, i - 10);
    }
    finish(g);
    memcpy(hash, tp_program_facts(g->program)->hash, TP_HASH_SIZE);
}

TEST(test_records_in_a_file)
{
    struct rig g;
    uint8_t in_memory[TP_HASH_SIZE], in_file[TP_HASH_SIZE];
    replay_many(&g, 0, in_memory);
    assert_int_equal(tp_program_facts(g.program)->initial_heap, 2858);
    assert_int_equal(tp_program_facts(g.program)->live_at_end, 3 + 2858);
    rig_close(&g);
    for (uint64_t limit = 50000; limit < 5000000; limit *= 9) {
        replay_many(&g, limit, in_file);
        assert_memory_equal(in_file, in_memory, TP_HASH_SIZE);
        rig_close(&g);
    }
}

/* More than 32 MiB of records. */
TEST_WITH(test_a_large_file, NULL, close_space)
{
    struct rig *g = open_space(state, NULL);
    uint32_t a = define(g, "a", TP_KIND_HOST);
    for (int i = 0; i < 300000; i++) {
        alloc(g, a, i, 16);
        release(g, a, i);
    }
    assert_int_equal(tp_spaces_lower(g->sp, &g->err), TP_OK);
    assert_int_equal(tp_lower_finish(g->lower, &g->program, g->repairs, &g->err), TP_OK);
    const struct tp_program_facts *f = tp_program_facts(g->program);
    assert_int_equal(f->ops[TP_ALLOC], 300000);
    assert_int_equal(f->ops[TP_FREE], 300000);
    assert_int_equal(f->live_at_end, 0);
    assert_int_equal(f->slots, 1);
}

TEST(test_memory_is_bounded)
{
    struct rig g;
    int rc = TP_OK;
    rig_open(&g, NULL, 100000);
    for (int i = 0; rc == TP_OK && i < 10000; i++) {
        uint32_t index = 0;
        rc = tp_spaces_define(g.sp, "pool", TP_KIND_HOST, &index, &g.err);
    }
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(g.err.text, "x.log: more memory spaces than the memory for reading holds");
    rc = TP_OK;
    for (int i = 0; rc == TP_OK && i < 10000; i++) {
        char name[20];
        snprintf(name, sizeof name, "m%d", i);
        const struct tp_event ev = {.op = TP_EV_MARK, .name = name};
        rc = tp_spaces_event(g.sp, 0, 0, &ev, &g.err);
    }
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(g.err.text, "x.log: more marks than the memory for reading holds");
    rig_close(&g);
}

TEST(test_spool_that_cannot_be)
{
    struct rig g;
    char old[4096];
    const char *was = getenv("TMPDIR");
    snprintf(old, sizeof old, "%s", was ? was : "");
    setenv("TMPDIR", "/nonexistent", 1);
    rig_open(&g, NULL, 40000);
    uint32_t a = define(&g, "a", TP_KIND_HOST);
    const struct tp_event ev = {.op = TP_EV_ALLOC, .size = 1};
    int rc = TP_OK;
    for (int i = 0; rc == TP_OK && i < 1000; i++)
        rc = tp_spaces_event(g.sp, a, 0, &ev, &g.err);
    assert_int_equal(rc, TP_EIO);
    assert_non_null(strstr(g.err.text, "/nonexistent"));
    rig_close(&g);
    was ? setenv("TMPDIR", old, 1) : unsetenv("TMPDIR");
}

TEST(test_bytes_text)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {1023, "1,023 B"},
                 {1024, "1 KiB"},
                 {32880, "32.11 KiB"},
                 {2532893696, "2.359 GiB"},
                 {1048575, "1 MiB"},
                 {UINT64_C(363) << 20, "363 MiB"},
                 {UINT64_MAX, "16 EiB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tp_bytes(cases[i].bytes, false).s, cases[i].text);
}
