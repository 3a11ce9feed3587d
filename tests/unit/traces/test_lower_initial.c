/* What lowering makes of captures that begin in the middle: the initial heap, placed or left out;
 * notes; threads that own nothing; numbers without events; memory. Events go in directly. */
#include "tests/unit/importer_rig.h"
#include "traces/formats/json/json_write.h"

struct lowered {
    struct tp_lower *lo;
    struct tp_err err;
    int rc;
};

/* Two devices: stream 0 is on device 4, stream 1 on device 9. */
static struct lowered start(struct tp_lower_cfg cfg, enum tp_kind kind)
{
    struct lowered l = {0};
    cfg.path = "m";
    assert_int_equal(tp_lower_new(&cfg, &l.lo, &l.err), TP_OK);
    assert_int_equal(tp_lower_kind(l.lo, kind, &l.err), TP_OK);
    assert_int_equal(tp_lower_stream(l.lo, 0, 4, &l.err), TP_OK);
    assert_int_equal(tp_lower_stream(l.lo, 1, 9, &l.err), TP_OK);
    return l;
}

/* Until one is refused. */
static void put_all(struct lowered *l, const struct tp_event *events, size_t count)
{
    for (size_t i = 0; l->rc == TP_OK && i < count; i++)
        l->rc = tp_lower_event(l->lo, &events[i], &l->err);
}

static struct reading finish(struct lowered *l)
{
    struct reading r = {.rc = l->rc, .err = l->err};
    if (r.rc == TP_OK)
        r.rc = tp_lower_finish(l->lo, &r.program, r.repairs, &r.err);
    tp_lower_free(l->lo);
    return r;
}

static void expect_row(struct tp_lower_cfg cfg, const struct tp_event *events, size_t count,
                       struct importer_row row)
{
    struct lowered l = start(cfg, TP_KIND_DEVICE);
    put_all(&l, events, count);
    struct reading r = finish(&l);
    check_result(&(struct importer){0}, &row, &r);
    forget(&r);
}

/* The program and, as "name=count", the repairs. */
static void expect(struct tp_lower_cfg cfg, const struct tp_event *events, size_t count,
                   const char *program)
{
    expect_row(cfg, events, count, (struct importer_row){.program = program});
}

static void refuse(struct tp_lower_cfg cfg, const struct tp_event *events, size_t count,
                   const char *sentence)
{
    expect_row(cfg, events, count, (struct importer_row){.error = sentence});
}

static const struct tp_lower_cfg repair = {0}, strict = {.strict = true},
                                 drop = {.strict = true, .drop_initial = true};

#define INITIAL(i, bytes)                                                                          \
    {                                                                                              \
        .op = TP_EV_INITIAL, .id = (i), .size = (bytes)                                            \
    }
#define ALLOC(i, bytes)                                                                            \
    {                                                                                              \
        .op = TP_EV_ALLOC, .id = (i), .size = (bytes)                                              \
    }
#define FREE(i)                                                                                    \
    {                                                                                              \
        .op = TP_EV_FREE, .id = (i)                                                                \
    }

/* ---- the initial heap ---- */

TEST(test_initial_heap)
{
    static const struct tp_event events[] = {
        {.op = TP_EV_INITIAL, .id = 7, .size = 1000, .thread = 3, .has_time = true, .time_ns = 99},
        {.op = TP_EV_INITIAL,
         .id = -8,
         .size = 12,
         .has_align = true,
         .align = 4096,
         .has_stream = true,
         .stream = 1},
        INITIAL(9, 5),
        {.op = TP_EV_FREE, .id = 7, .thread = 8, .has_time = true, .time_ns = 5},
        {.op = TP_EV_ALLOC, .id = 7, .size = 1, .thread = 3, .has_time = true, .time_ns = 6},
    };
    expect(strict, events, COUNT(events),
           "alloc 0 1000 a8 @0; alloc 1 12 a12 s1 d1 @0; alloc 2 5 a8 @0; free 0 1000 a8 +5 @1; "
           "alloc 0 1 a8 t1 +1 @2; ");
    /* what was there before has no time, and needs none */
    expect_row(strict, events, COUNT(events),
               (struct importer_row){
                   .facts =
                       "initial_heap=3 objects=4 events=2 instructions=2 operations=2 allocs=1 "
                       "slots=3 live_at_end=3 live_at_end_bytes=18 time_known=1 "
                       "duration_ns=6 recorded_threads=2 peak=1005 peak_event=0 "
                       "peak_insn=18446744073709551615 initial_heap_bytes=1005 "
                       "next_initial_heap_bytes=12 "});
}

/* A heap and nothing that happened. */
TEST(test_initial_heap_alone)
{
    static const struct tp_event events[] = {INITIAL(1, 8), INITIAL(2, 9)};
    expect_row(strict, events, COUNT(events),
               (struct importer_row){
                   .facts = "events=0 initial_heap=2 live_at_end_bytes=17 time_known=0 "});
}

TEST(test_late_or_twice)
{
    static const struct tp_event late[] = {ALLOC(1, 8),
                                           {.op = TP_EV_INITIAL, .id = 2, .size = 8, .line = 17}};
    refuse(repair, late, COUNT(late),
           "m:17: before event 1: what was live at the start comes after other events");
    static const struct tp_event twice[] = {INITIAL(5, 8), INITIAL(5, 8)};
    refuse(repair, twice, COUNT(twice), "m: before event 1: id 5 is there twice");
    refuse(drop, twice, COUNT(twice), "m: before event 1: id 5 is there twice");
    static const struct tp_event huge[] = {INITIAL(5, TP_MAX_SIZE + 1)};
    refuse(repair, huge, COUNT(huge),
           "m: before event 1 places 281,474,976,710,657 bytes; the limit is 2^48");
    struct lowered l = start(repair, TP_KIND_DEVICE);
    assert_int_equal(tp_lower_skip(l.lo, &l.err), TP_OK);
    put_all(&l, twice, 1); /* a skipped event is one, too */
    assert_int_equal(l.rc, TP_EINPUT);
    tp_lower_free(l.lo);
}

TEST(test_initial_of_nothing)
{
    static const struct tp_event events[] = {INITIAL(5, 0), FREE(5)};
    refuse(strict, events, COUNT(events), "m: before event 1 places 0 bytes (id 5)");
    expect(repair, events, COUNT(events), "zero_size=1 ");
    struct lowered l = start(repair, TP_KIND_HOST);
    put_all(&l, events, COUNT(events));
    struct reading r = finish(&l);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.repairs[TP_REPAIR_ZERO_SIZE], 1);
    assert_int_equal(tp_program_facts(r.program)->initial_heap, 1);
    assert_int_equal(tp_program_facts(r.program)->ops[TP_FREE], 1);
    forget(&r);
    /* left out, its size is nobody's business */
    expect(drop, events, COUNT(events), "");
}

/* ---- left out ---- */

/* What the initial heap went through, among events that stay. */
static const struct tp_event mixed[] = {
    INITIAL(100, 64),
    INITIAL(101, 32),
    {.op = TP_EV_INITIAL, .id = 102, .size = 16, .has_stream = true, .stream = 1},
    ALLOC(1, 10),
    {.op = TP_EV_RETAIN, .id = 100, .thread = 50},
    {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 100, .size = 64},
    {.op = TP_EV_FREE, .id = 100, .thread = 51},
    {.op = TP_EV_FREE, .id = 100, .thread = 52},
    {.op = TP_EV_USE, .id = 101, .has_stream = true, .stream = 1, .thread = 53},
    {.op = TP_EV_REALLOC, .id = 101, .size = 99, .thread = 54},
    FREE(101),
    {.op = TP_EV_ALLOC, .id = 102, .size = 20, .thread = 7}, /* its free was not recorded */
    {.op = TP_EV_FREE, .id = 102, .thread = 7},
    FREE(1),
};

static bool concerns_initial(const struct tp_event *ev)
{
    return ev->id == 100 || ev->id == 101;
}

TEST(test_dropped)
{
    expect(drop, mixed, COUNT(mixed),
           "alloc 0 10 a8 @1; alloc 1 20 a8 t1 @9; free 1 20 a8 t1 @10; free 0 10 a8 @11; ");
    /* the same program as that of the events that stay, under the same numbers */
    struct lowered all = start(drop, TP_KIND_DEVICE), some = start(strict, TP_KIND_DEVICE);
    put_all(&all, mixed, COUNT(mixed));
    assert_int_equal(tp_lower_dropped(all.lo), 3);
    assert_int_equal(tp_lower_count(all.lo), 11);
    for (size_t i = 3; i < COUNT(mixed); i++) {
        if (concerns_initial(&mixed[i]))
            assert_int_equal(tp_lower_skip(some.lo, &some.err), TP_OK);
        else
            put_all(&some, &mixed[i], 1);
    }
    assert_int_equal(tp_lower_dropped(some.lo), 0);
    struct reading a = finish(&all), b = finish(&some);
    assert_int_equal(a.rc, TP_OK);
    assert_int_equal(b.rc, TP_OK);
    assert_memory_equal(tp_program_facts(a.program), tp_program_facts(b.program),
                        sizeof(struct tp_program_facts)); /* the hash is in it */
    assert_int_equal(tp_program_facts(a.program)->recorded_threads, 2);
    assert_int_equal(tp_program_demand(a.program, 0)->initial_heap_bytes, 0);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(a.repairs[i], 0);
    forget(&a);
    forget(&b);
}

/* Once freed, an id is as unknown as any other. */
TEST(test_dropped_once)
{
    static const struct tp_event events[] = {INITIAL(5, 64), FREE(5), FREE(5)};
    refuse(drop, events, COUNT(events), "m: event 2 frees id 5, which is not live");
    static const struct tp_event resized[] = {
        INITIAL(5, 64), {.op = TP_EV_REALLOC, .id = 5, .size = 0}, FREE(5)};
    refuse(drop, resized, COUNT(resized), "m: event 2 frees id 5, which is not live");
    static const struct tp_event sizes[] = {
        INITIAL(5, 64), ALLOC(6, 0), {.op = TP_EV_REALLOC, .id = 6, .size = 3}};
    const struct tp_lower_cfg cfg = {.drop_initial = true};
    expect(cfg, sizes, COUNT(sizes), "alloc 0 3 a8 @2; zero_size=1 "); /* that one was no initial */
}

/* ---- notes ---- */

TEST(test_free_requested)
{
    static const struct tp_event events[] = {
        ALLOC(1, 10),
        {.op = TP_EV_ALLOC, .id = 2, .size = 20, .has_stream = true, .stream = 1},
        {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 2, .size = 20, .thread = 70},
        {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 1},
        {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 3}, /* never was: silent */
        FREE(2),
        {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 2}, /* is gone: silent */
    };
    /* the slot, stream and device of the object */
    expect(strict, events, COUNT(events),
           "alloc 0 10 a8 @1; alloc 1 20 a8 s1 d1 @2; note 1 20 a7 s1 d1 @3; note 0 0 a7 @4; "
           "free 1 20 a8 s1 d1 @6; ");
    expect_row(strict, events, COUNT(events),
               (struct importer_row){
                   .facts = "notes=2 operations=3 instructions=5 events=7 recorded_threads=1 "});
    static const struct tp_event huge[] = {
        ALLOC(1, 10),
        {.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 1, .size = TP_MAX_SIZE + 1}};
    refuse(strict, huge, COUNT(huge),
           "m: event 2 notes 281,474,976,710,657 bytes; the limit is 2^48");
}

TEST(test_oom)
{
    static const struct tp_event events[] = {
        {.op = TP_EV_NOTE, .note = TP_NOTE_OOM, .size = 4096, .has_time = true, .time_ns = 9},
        {.op = TP_EV_NOTE,
         .note = TP_NOTE_OOM,
         .size = TP_MAX_SIZE,
         .has_free = true,
         .free_bytes = 77,
         .has_stream = true,
         .stream = 1,
         .has_time = true,
         .time_ns = 20},
        {.op = TP_EV_NOTE, .note = TP_NOTE_SEGMENT_ALLOC, .size = 2, .has_free = true},
    };
    expect(strict, events, COUNT(events),
           "note 0 4096 a1 +9 @1; alloc 0 4096 a8 @1; free 0 4096 a8 @1; "
           "note 0 281474976710656 a1 s1 d1 +11 @2; note 0 77 a2 s1 d1 @2; "
           "alloc 0 281474976710656 a8 s1 d1 @2; free 0 281474976710656 a8 s1 d1 @2; note 0 2 a3 "
           "@3; ");
    static const struct tp_event sizes[] = {{.op = TP_EV_NOTE,
                                             .note = TP_NOTE_OOM,
                                             .size = 1,
                                             .has_free = true,
                                             .free_bytes = UINT32_MAX}};
    expect(strict, sizes, COUNT(sizes),
           "note 0 1 a1 @1; note 0 4294967295 a2 @1; alloc 0 1 a8 @1; free 0 1 a8 @1; ");
    static const struct tp_event huge[] = {{.op = TP_EV_NOTE,
                                            .note = TP_NOTE_OOM,
                                            .size = 3,
                                            .has_free = true,
                                            .free_bytes = TP_MAX_SIZE + 4}};
    refuse(strict, huge, COUNT(huge),
           "m: event 1 notes 281,474,976,710,660 bytes; the limit is 2^48");
}

/* ---- threads ---- */

/* Marks, notes and syncs belong to nobody: a thread with nothing else gets no number. */
TEST(test_threads_of_nothing)
{
    static const struct tp_event events[] = {
        {.op = TP_EV_MARK, .name = "a", .thread = 40},
        {.op = TP_EV_SYNC, .thread = 41, .has_stream = true},
        {.op = TP_EV_NOTE, .note = TP_NOTE_SNAPSHOT, .thread = 42},
        {.op = TP_EV_TRIM, .thread = 43, .has_stream = true},
        {.op = TP_EV_ALLOC, .id = 1, .size = 8, .thread = 44},
        {.op = TP_EV_ALLOC, .id = 2, .size = 8, .thread = 45},
        {.op = TP_EV_MARK, .name = "a", .thread = 45}, /* one that has a number keeps it */
        {.op = TP_EV_MARK, .name = "b", .thread = 40},
        {.op = TP_EV_FREE, .id = 3, .thread = 46}, /* dropped: no number either */
    };
    expect(repair, events, COUNT(events),
           "mark 0 0 @1; sync 0 0 @2; note 0 0 a8 @3; trim 0 0 @4; alloc 0 8 a8 @5; "
           "alloc 1 8 a8 t1 @6; mark 0 0 t1 @7; mark 1 0 @8; unknown_free=1 ");
    expect_row(repair, events, COUNT(events),
               (struct importer_row){.facts = "threads=2 recorded_threads=2 "});
}

/* ---- numbers and limits ---- */

TEST(test_skip)
{
    static const struct tp_event events[] = {ALLOC(1, 8), FREE(1)};
    struct lowered l = start((struct tp_lower_cfg){.event_limit = 4}, TP_KIND_DEVICE);
    assert_int_equal(tp_lower_skip(l.lo, &l.err), TP_OK);
    put_all(&l, events, 1);
    assert_int_equal(tp_lower_skip(l.lo, &l.err), TP_OK);
    put_all(&l, events + 1, 1);
    assert_int_equal(l.rc, TP_OK);
    assert_int_equal(tp_lower_count(l.lo), 4);
    assert_int_equal(tp_lower_skip(l.lo, &l.err), TP_ESTOP);
    assert_int_equal(tp_lower_event(l.lo, events, &l.err), TP_ESTOP);
    assert_int_equal(tp_lower_count(l.lo), 4);
    assert_int_equal(tp_lower_skip_many(l.lo, 0, &l.err), TP_OK);
    assert_int_equal(tp_lower_skip_many(l.lo, 1, &l.err), TP_ESTOP);
    assert_int_equal(tp_lower_count(l.lo), 4);
    struct reading r = finish(&l);
    static char got[1024];
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, "alloc 0 8 a8 @2; free 0 8 a8 @4; ");
    assert_int_equal(tp_program_facts(r.program)->events, 4);
    forget(&r);
}

/* Many at once are counted, not gone through, and end at the limit. */
TEST(test_skip_many)
{
    static const struct tp_event event = ALLOC(1, 8);
    struct lowered l = start((struct tp_lower_cfg){0}, TP_KIND_DEVICE);
    assert_int_equal(tp_lower_skip_many(l.lo, UINT64_C(1) << 61, &l.err), TP_OK);
    put_all(&l, &event, 1);
    assert_int_equal(l.rc, TP_OK);
    assert_int_equal(tp_lower_count(l.lo), (UINT64_C(1) << 61) + 1);
    struct reading all = finish(&l);
    forget(&all);
    l = start((struct tp_lower_cfg){.event_limit = 5}, TP_KIND_DEVICE);
    assert_int_equal(tp_lower_skip_many(l.lo, 3, &l.err), TP_OK);
    assert_int_equal(tp_lower_skip_many(l.lo, UINT64_C(1) << 61, &l.err), TP_ESTOP);
    assert_int_equal(tp_lower_count(l.lo), 5);
    struct reading some = finish(&l);
    forget(&some);
}

/* Readers ask what is live: an object that was left out has no bytes to tell. */
TEST(test_left_out_is_not_live)
{
    static const struct tp_event events[] = {INITIAL(5, 64), ALLOC(6, 32)};
    uint64_t size = 0;
    struct lowered l = start(drop, TP_KIND_DEVICE);
    put_all(&l, events, COUNT(events));
    assert_int_equal(l.rc, TP_OK);
    assert_false(tp_lower_live(l.lo, 5, &size));
    assert_true(tp_lower_live(l.lo, 6, &size));
    assert_int_equal(size, 32);
    struct reading r = finish(&l);
    forget(&r);
}

/* A trace that is all skipped has events, and a program without instructions. */
TEST(test_skip_all)
{
    struct lowered l = start(repair, TP_KIND_DEVICE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tp_lower_skip(l.lo, &l.err), TP_OK);
    struct reading r = finish(&l);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(tp_program_facts(r.program)->events, 3);
    assert_int_equal(tp_program_facts(r.program)->instructions, 0);
    forget(&r);
}

/* Live objects within max_memory, whether they are in the program or only known by their ids. */
static void expect_bounded(struct tp_lower_cfg cfg, struct tp_event ev, const char *place)
{
    cfg.max_memory = 1 << 20;
    struct lowered l = start(cfg, TP_KIND_DEVICE);
    for (ev.id = 0; l.rc == TP_OK && ev.id < 1000000; ev.id++)
        put_all(&l, &ev, 1);
    assert_int_equal(l.rc, TP_EINPUT);
    assert_in_range(ev.id, 1000, 100000);
    assert_memory_equal(l.err.text, place, strlen(place));
    assert_non_null(strstr(l.err.text, "more live objects than the memory for "));
    assert_non_null(strstr(l.err.hint, "--max-memory"));
    tp_lower_free(l.lo);
}

TEST(test_memory)
{
    expect_bounded(repair, (struct tp_event)ALLOC(0, 8), "m: event ");
    expect_bounded(repair, (struct tp_event)INITIAL(0, 8), "m: before event 1: ");
    expect_bounded(drop, (struct tp_event)INITIAL(0, 8), "m: before event 1: ");
    expect_bounded(repair, (struct tp_event)ALLOC(0, 0), "m: event ");
    /* one that is freed again takes no memory */
    struct lowered l = start((struct tp_lower_cfg){.max_memory = 1 << 20}, TP_KIND_DEVICE);
    for (int64_t i = 0; l.rc == TP_OK && i < 200000; i++) {
        const struct tp_event pair[] = {ALLOC(i, 8), FREE(i)};
        put_all(&l, pair, 2);
    }
    assert_int_equal(l.rc, TP_OK);
    tp_lower_free(l.lo);
}

/* ---- there and back ---- */

/* The same events as JSON, in both forms, are the same program. */
static void json_way(const struct tp_event *events, size_t count, bool lines,
                     const struct tp_program_facts *expected)
{
    char *text = NULL;
    size_t size = 0;
    struct tp_json_writer w;
    static const uint16_t device_of[] = {4, 9};
    const struct tp_meta meta = {.kind = TP_KIND_DEVICE};
    const struct tp_json_write_cfg cfg = {.out = open_memstream(&text, &size),
                                          .path = "x",
                                          .lines = lines,
                                          .meta = &meta,
                                          .streams = 2,
                                          .device_of = device_of};
    assert_non_null(cfg.out);
    assert_int_equal(tp_json_write_begin(&w, &cfg, NULL), TP_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tp_json_write_event(&w, &events[i], NULL), TP_OK);
    assert_int_equal(tp_json_write_end(&w, NULL), TP_OK);
    fclose(cfg.out);
    struct reading r = read_bytes(lines ? &tp_format_jsonl : &tp_format_json, text, size, true);
    if (r.rc != TP_OK)
        fail_msg("%s\nin: %.2000s", r.err.text, text);
    assert_memory_equal(tp_program_facts(r.program), expected, sizeof *expected);
    forget(&r);
    free(text);
}

TEST(test_json)
{
    struct tp_event events[COUNT(mixed) + 3];
    memcpy(events, mixed, sizeof mixed);
    for (size_t i = 0; i < COUNT(mixed); i++)
        if (events[i].op == TP_EV_ALLOC && events[i].id == 102)
            events[i].id = 103; /* strictly: an id that is not live */
    size_t n = COUNT(mixed);
    events[n++] = (struct tp_event){.op = TP_EV_MARK, .name = "end", .thread = 77};
    events[n++] = (struct tp_event){.op = TP_EV_NOTE,
                                    .note = TP_NOTE_OOM,
                                    .size = TP_MAX_SIZE,
                                    .has_free = true,
                                    .free_bytes = 1,
                                    .has_stream = true,
                                    .stream = 1};
    events[n++] =
        (struct tp_event){.op = TP_EV_NOTE, .note = TP_NOTE_FREE_REQUESTED, .id = 102, .size = 16};
    for (size_t i = 0; i < n; i++) /* the second 102 is 103 throughout */
        if (events[i].op == TP_EV_FREE && events[i].id == 102)
            events[i].id = 103;
    struct lowered l = start(strict, TP_KIND_DEVICE);
    put_all(&l, events, n);
    struct reading r = finish(&l);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    assert_int_equal(tp_program_facts(r.program)->initial_heap, 3);
    json_way(events, n, false, tp_program_facts(r.program));
    json_way(events, n, true, tp_program_facts(r.program));
    forget(&r);
}
