/* Writing JSON traces: what was written is read again as the same program, in both forms; texts and
 * numbers at their limits; writes that fail. */
#include "cmd/jobs/catalog.h"
#include "tests/unit/trace_fixture.h"
#include "traces/formats/json/json_write.h"

struct text {
    char *data;
    size_t size;
};

/* Starts writing to memory. */
static FILE *open_text(struct text *t)
{
    FILE *f = open_memstream(&t->data, &t->size);
    assert_non_null(f);
    return f;
}

static struct text write_events(struct tp_json_write_cfg cfg, const struct tp_event *events,
                                size_t count)
{
    struct text t = {0};
    struct tp_json_writer w;
    cfg.out = open_text(&t);
    cfg.path = "x";
    cfg.meta = cfg.meta ? cfg.meta : &(const struct tp_meta){0};
    assert_int_equal(tp_json_write_begin(&w, &cfg, NULL), TP_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tp_json_write_event(&w, &events[i], NULL), TP_OK);
    assert_int_equal(tp_json_write_end(&w, NULL), TP_OK);
    fclose(cfg.out);
    return t;
}

static struct reading read_back(const struct text *t, bool lines)
{
    struct reading r =
        read_bytes(lines ? &tp_format_jsonl : &tp_format_json, t->data, t->size, true);
    if (r.rc != TP_OK)
        fail_msg("%s\nin: %.2000s", r.err.text, t->data);
    return r;
}

static struct tp_program *lower_events(enum tp_kind kind, uint64_t streams,
                                       const struct tp_event *events, size_t count)
{
    struct tp_lower *lo = NULL;
    struct tp_program *program = NULL;
    uint64_t repairs[TP_REPAIR_COUNT];
    const struct tp_lower_cfg cfg = {.path = "x", .strict = true};
    assert_int_equal(tp_lower_new(&cfg, &lo, NULL), TP_OK);
    assert_int_equal(tp_lower_kind(lo, kind, NULL), TP_OK);
    for (uint64_t i = 0; i < streams; i++)
        assert_int_equal(tp_lower_stream(lo, (int64_t)i, 0, NULL), TP_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tp_lower_event(lo, &events[i], NULL), TP_OK);
    assert_int_equal(tp_lower_finish(lo, &program, repairs, NULL), TP_OK);
    tp_lower_free(lo);
    return program;
}

static void same_program(struct tp_program *a, struct tp_program *b)
{
    static char left[65536], right[65536];
    write_program(a, left, sizeof left);
    write_program(b, right, sizeof right);
    assert_string_equal(left, right);
    assert_memory_equal(tp_program_facts(a), tp_program_facts(b), sizeof(struct tp_program_facts));
}

static void round_trip(enum tp_kind kind, uint64_t streams, const struct tp_event *events,
                       size_t count)
{
    struct tp_program *direct = lower_events(kind, streams, events, count);
    for (int lines = 0; lines < 2; lines++) {
        const struct tp_json_write_cfg cfg = {
            .lines = lines, .meta = &(const struct tp_meta){.kind = kind}, .streams = streams};
        struct text t = write_events(cfg, events, count);
        struct reading r = read_back(&t, lines);
        same_program(direct, r.program);
        forget(&r);
        free(t.data);
    }
    tp_program_release(direct);
}

/* Every op, with every member it may have and without. */
static const struct tp_event every[] = {
    {.op = TP_EV_INITIAL, .id = 77, .size = 1000, .has_align = true, .align = 512},
    {.op = TP_EV_INITIAL, .id = 78, .size = 12, .has_stream = true, .stream = 1},
    {.op = TP_EV_MARK, .name = "one"},
    {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 77, .size = 1000},
    {.op = TP_EV_NOTE, .note = TP_NOTE_OOM, .size = 1 << 20, .has_free = true, .free_bytes = 512},
    {.op = TP_EV_NOTE, .note = TP_NOTE_OOM, .size = 1 << 20, .pool = {2, 0}},
    {.op = TP_EV_NOTE,
     .note = TP_NOTE_SEGMENT_MAP,
     .size = 2 << 20,
     .has_at = true,
     .at = UINT64_C(139833534054400)},
    {.op = TP_EV_NOTE, .note = TP_NOTE_SEGMENT_ALLOC, .size = 2 << 20, .has_stream = true},
    {.op = TP_EV_FREE, .id = 77},
    {.op = TP_EV_ALLOC, .id = 1, .size = 100, .has_size = true},
    {.op = TP_EV_ALLOC,
     .id = -2,
     .size = 4096,
     .has_align = true,
     .align = 4096,
     .thread = 7,
     .has_stream = true,
     .stream = 1,
     .has_time = true,
     .time_ns = 17},
    {.op = TP_EV_ALLOC, .id = 2, .size = 64, .pool = {0, TP_POOL_MOST}},
    {.op = TP_EV_ALLOC, .id = 3, .size = 64, .pool = {TP_POOL_MOST, 1}, .thread = 3},
    {.op = TP_EV_RETAIN, .id = 1, .thread = 3},
    {.op = TP_EV_USE, .id = -2, .has_stream = true, .stream = 0},
    {.op = TP_EV_REALLOC, .id = 1, .size = 9, .has_align = true, .align = 512},
    {.op = TP_EV_FREE, .id = 1},
    {.op = TP_EV_ADOPT, .id = 5, .size = UINT64_C(1) << 48, .has_align = true, .align = 1u << 30},
    {.op = TP_EV_SYNC},
    {.op = TP_EV_SYNC, .has_stream = true, .stream = 1},
    {.op = TP_EV_TRIM},
    {.op = TP_EV_TRIM, .has_size = true, .size = 65536},
    {.op = TP_EV_FREE, .id = 1, .thread = 3, .has_stream = true, .stream = 1},
    {.op = TP_EV_THREAD_END, .thread = 7},
    {.op = TP_EV_MARK, .name = "two", .has_time = true, .time_ns = 9000000000},
    {.op = TP_EV_RESET, .has_time = true, .time_ns = TP_MAX_TIME},
};

TEST(test_every_op)
{
    bool seen[TP_EV_COUNT] = {false};
    size_t count = sizeof every / sizeof *every;
    for (size_t i = 0; i < count; i++)
        seen[every[i].op] = true;
    for (int op = 0; op < TP_OP_COUNT;
         op++) /* those without a rank are no events, a release is a free */
        assert_true(seen[op] || !tp_op_rows[op].rank || op == TP_EV_RELEASE);
    assert_true(seen[TP_EV_INITIAL]);
    round_trip(TP_KIND_DEVICE, 2, every, count);
}

/* Every note, with and without what it may have; the hash covers what was live before. */
TEST(test_notes)
{
    struct tp_event events[3 + 3 * TP_NOTE_COUNT] = {
        {.op = TP_EV_INITIAL, .id = 0, .size = 8},
        {.op = TP_EV_INITIAL, .id = -1, .size = UINT64_C(1) << 48, .thread = 3},
        {.op = TP_EV_ALLOC, .id = INT64_MAX, .size = 1}};
    size_t count = 3;
    for (int i = 0; i < TP_NOTE_COUNT; i++) {
        struct tp_event note = {.op = TP_EV_NOTE, .note = (enum tp_note)i};
        events[count++] = note;
        note.size = UINT64_C(1) << 48;
        note.id = INT64_MAX;
        note.has_free = true;
        events[count++] = note;
        note.free_bytes = 99;
        note.thread = UINT64_MAX;
        note.has_time = note.has_stream = true;
        note.stream = 1;
        note.time_ns = (uint64_t)i;
        events[count++] = note;
    }
    round_trip(TP_KIND_HOST, 2, events, count);
    struct tp_program *whole = lower_events(TP_KIND_HOST, 2, events, count);
    struct tp_program *less = lower_events(TP_KIND_HOST, 2, events + 1, count - 1);
    assert_memory_not_equal(tp_program_facts(whole)->hash, tp_program_facts(less)->hash,
                            TP_HASH_SIZE);
    tp_program_release(whole);
    tp_program_release(less);
}

/* Numbers beyond 2^53 - 1 must be quoted, or the reader refuses them. */
TEST(test_numbers)
{
    static const int64_t ids[] = {
        0,         -1,        (INT64_C(1) << 53) - 1, INT64_C(1) << 53, -(INT64_C(1) << 53),
        INT64_MAX, -INT64_MAX};
    static const uint64_t threads[] = {0, 9, (UINT64_C(1) << 53) - 1, UINT64_C(1) << 53,
                                       UINT64_MAX};
    struct tp_event events[35];
    size_t n = 0;
    for (size_t i = 0; i < 7; i++)
        events[n++] = (struct tp_event){
            .op = TP_EV_ALLOC, .id = ids[i], .size = 1 + i, .thread = threads[i % 5]};
    for (size_t i = 0; i < 7; i++)
        events[n++] = (struct tp_event){.op = TP_EV_FREE, .id = ids[6 - i]};
    round_trip(TP_KIND_HOST, 0, events, n);
    const struct tp_json_write_cfg cfg = {.lines = true};
    struct text t = write_events(cfg, &events[4], 1);
    assert_string_equal(t.data,
                        "{ \"format\": \"tapool-trace\", \"version\": 1, \"meta\": {\"kind\": "
                        "\"host\"} }\n{\"op\": \"alloc\", \"id\": \"-9007199254740992\", \"size\": "
                        "5, \"thread\": \"18446744073709551615\"}\n");
    free(t.data);
}

static void text_round_trip(const char *text, const char *expected)
{
    const struct tp_event mark = {.op = TP_EV_MARK, .name = text};
    const struct tp_meta meta = {.name = (char *)(uintptr_t)text,
                                 .program = (char *)(uintptr_t)text};
    for (int lines = 0; lines < 2; lines++) {
        const struct tp_json_write_cfg cfg = {.lines = lines, .meta = &meta};
        struct text t = write_events(cfg, &mark, 1);
        struct reading r = read_back(&t, lines);
        assert_string_equal(r.meta.name, expected);
        assert_string_equal(r.meta.program, expected);
        assert_string_equal(tp_program_mark(r.program, 0), expected);
        forget(&r);
        free(t.data);
    }
}

TEST(test_texts)
{
    text_round_trip("a\"b\\c/", "a\"b\\c/");
    text_round_trip("\\\"\\\\\"", "\\\"\\\\\"");
    text_round_trip("gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xb8", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xb8");
    text_round_trip("\x1b[31m\n\t\x7f", "?[31m???");
    text_round_trip("\xff\xc3", "??");
    text_round_trip("\", \"kind\": \"device", "\", \"kind\": \"device");
    char longer[3000];
    memset(longer, '"', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const struct tp_json_write_cfg cfg = {.meta = &(const struct tp_meta){.name = longer}};
    const struct tp_event mark = {.op = TP_EV_MARK, .name = longer};
    struct text t = write_events(cfg, &mark, 1);
    struct reading r = read_back(&t, false);
    assert_int_equal(strlen(r.meta.name), 1000);
    assert_int_equal(strlen(tp_program_mark(r.program, 0)), 255);
    forget(&r);
    free(t.data);
}

TEST(test_no_events)
{
    char name[] = "empty";
    const struct tp_meta meta = {.name = name};
    for (int lines = 0; lines < 2; lines++) {
        const struct tp_json_write_cfg cfg = {.lines = lines, .meta = &meta};
        struct text t = write_events(cfg, NULL, 0);
        struct reading r = read_back(&t, lines);
        assert_int_equal(tp_program_facts(r.program)->events, 0);
        assert_string_equal(r.meta.name, "empty");
        forget(&r);
        free(t.data);
    }
}

/* ---- what profiles write ---- */

static int write_one(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    return tp_json_write_event(ctx, ev, err);
}

static struct text write_profile(const struct tp_profile *p, const void *opts, bool lines)
{
    struct text t = {0};
    struct tp_json_writer w;
    const struct tp_event_sink sink = {write_one, &w};
    struct tp_json_write_cfg cfg = {.out = open_text(&t),
                                    .path = "x",
                                    .lines = lines,
                                    .meta = &(const struct tp_meta){.kind = p->kind},
                                    .streams = p->streams ? p->streams(opts) : 0};
    assert_int_equal(tp_json_write_begin(&w, &cfg, NULL), TP_OK);
    assert_int_equal(p->generate(opts, 3, &sink, NULL), TP_OK);
    assert_int_equal(tp_json_write_end(&w, NULL), TP_OK);
    fclose(cfg.out);
    return t;
}

TEST(test_profiles)
{
    for (size_t i = 0; tp_profiles[i]; i++) {
        const struct tp_profile *p = tp_profiles[i];
        struct tp_lower *lo = NULL;
        struct tp_program *direct = NULL;
        uint64_t repairs[TP_REPAIR_COUNT];
        void *opts = NULL;
        const struct tp_lower_cfg cfg = {.path = "x", .strict = true};
        assert_int_equal(tp_profile_opts_new(p, &opts, NULL), TP_OK);
        assert_int_equal(tp_opts_parse(p->options, opts, "count=500", p->name, NULL), TP_OK);
        assert_int_equal(tp_lower_new(&cfg, &lo, NULL), TP_OK);
        assert_int_equal(tp_profile_lower(p, opts, 3, lo, NULL), TP_OK);
        assert_int_equal(tp_lower_finish(lo, &direct, repairs, NULL), TP_OK);
        tp_lower_free(lo);
        for (int lines = 0; lines < 2; lines++) {
            struct text t = write_profile(p, opts, lines);
            struct reading r = read_back(&t, lines);
            assert_memory_equal(tp_program_facts(direct), tp_program_facts(r.program),
                                sizeof(struct tp_program_facts)); /* the hash is in it */
            forget(&r);
            free(t.data);
        }
        tp_program_release(direct);
        tp_profile_opts_free(p, opts);
    }
}

/* ---- writes that fail ---- */

/* A full disk is noticed as soon as the buffer is, not after all events. */
TEST(test_full)
{
    char buffer[256];
    struct tp_err err = {0};
    struct tp_json_writer w;
    const struct tp_event ev = {.op = TP_EV_SYNC};
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    setvbuf(full, buffer, _IOFBF, sizeof buffer);
    const struct tp_json_write_cfg cfg = {
        .out = full, .path = "disk.json", .lines = true, .meta = &(const struct tp_meta){0}};
    int rc = tp_json_write_begin(&w, &cfg, &err), count = 0;
    for (; rc == TP_OK && count < 1000; count++)
        rc = tp_json_write_event(&w, &ev, &err);
    assert_int_equal(rc, TP_EIO);
    assert_in_range(count, 1, 50);
    assert_string_equal(err.text, "disk.json could not be written: No space left on device");
    assert_int_equal(tp_json_write_end(&w, &err), TP_EIO);
    fclose(full);
}
