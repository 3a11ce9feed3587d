/* Requests that failed when recorded: on a device they are made once more, and ended; in a program
 * they are recognised again, whatever stands around them. */
#include "cmd/info/info_scan.h"
#include "cmd/results/captured.h"
#include "tests/unit/trace_fixture.h"
#include "traces/lower/unlower.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define OOM(bytes)                                                                                 \
    {                                                                                              \
        .op = TP_EV_NOTE, .note = TP_NOTE_OOM, .size = (bytes)                                     \
    }
#define ALLOC(i, bytes)                                                                            \
    {                                                                                              \
        .op = TP_EV_ALLOC, .id = (i), .size = (bytes)                                              \
    }
#define FREE(i)                                                                                    \
    {                                                                                              \
        .op = TP_EV_FREE, .id = (i)                                                                \
    }

static struct tp_program *lower(enum tp_kind kind, bool drop, const struct tp_event *events,
                                size_t count)
{
    struct tp_lower *lo = NULL;
    struct tp_program *p = NULL;
    uint64_t repairs[TP_REPAIR_COUNT];
    const struct tp_lower_cfg cfg = {.path = "x", .strict = true, .drop_initial = drop};
    assert_int_equal(tp_lower_new(&cfg, &lo, NULL), TP_OK);
    assert_int_equal(tp_lower_kind(lo, kind, NULL), TP_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tp_lower_event(lo, &events[i], NULL), TP_OK);
    assert_int_equal(tp_lower_finish(lo, &p, repairs, NULL), TP_OK);
    tp_lower_free(lo);
    return p;
}

static struct tp_program *relower(struct tp_program *p, struct tp_unlower_cfg cfg)
{
    struct tp_lower *lo = NULL;
    struct tp_program *out = NULL;
    uint64_t repairs[TP_REPAIR_COUNT];
    struct tp_err err = {0};
    assert_int_equal(tp_lower_new(&(struct tp_lower_cfg){.path = "y", .strict = true}, &lo, NULL),
                     TP_OK);
    if (tp_relower(p, &cfg, lo, &err) != TP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(tp_lower_finish(lo, &out, repairs, NULL), TP_OK);
    tp_lower_free(lo);
    return out;
}

static void expect(struct tp_program *p, const char *expected)
{
    static char got[4096];
    write_program(p, got, sizeof got);
    assert_string_equal(got, expected);
    tp_program_release(p);
}

static const struct tp_event mixed[] = {
    {.op = TP_EV_INITIAL, .id = 9, .size = 100},
    ALLOC(1, 10),
    OOM(4096),
    {.op = TP_EV_NOTE, .note = TP_NOTE_OOM, .size = 77, .has_free = true, .free_bytes = 5},
    FREE(1),
    OOM(0),
    ALLOC(2, 4096),
    FREE(9),
};
static const char mixed_text[] =
    "alloc 0 100 a8 @0; alloc 1 10 a8 @1; note 0 4096 a1 @2; alloc 2 4096 a8 @2; "
    "free 2 4096 a8 @2; note 0 77 a1 @3; note 0 5 a2 @3; alloc 2 77 a8 @3; free 2 77 a8 @3; "
    "free 1 10 a8 @4; note 0 0 a1 @5; alloc 1 4096 a8 @6; free 0 100 a8 @7; ";

TEST(test_replayed)
{
    struct tp_program *p = lower(TP_KIND_DEVICE, false, mixed, COUNT(mixed));
    const struct tp_program_facts *f = tp_program_facts(p);
    const struct tp_demand *peak = tp_program_demand(p, 0);
    assert_fields(*f, events, 7, ops[TP_ALLOC], 4, live_at_end, 1);
    assert_fields(*peak, bytes, 4206, event, 2);
    expect(p, mixed_text);
    /* what was live before may be left out: what failed is still asked for */
    expect(lower(TP_KIND_DEVICE, true, mixed, COUNT(mixed)),
           "alloc 0 10 a8 @1; note 0 4096 a1 @2; alloc 1 4096 a8 @2; free 1 4096 a8 @2; "
           "note 0 77 a1 @3; note 0 5 a2 @3; alloc 1 77 a8 @3; free 1 77 a8 @3; free 0 10 a8 @4; "
           "note 0 0 a1 @5; alloc 0 4096 a8 @6; ");
}

TEST(test_not_on_host)
{
    static const struct tp_event events[] = {ALLOC(1, 10), OOM(4096), FREE(1)};
    expect(lower(TP_KIND_HOST, false, events, COUNT(events)),
           "alloc 0 10 a4 @1; note 0 4096 a1 @2; free 0 10 a4 @3; ");
}

/* As events and back it is the same program; a piece begins and ends between events. */
TEST(test_there_and_back)
{
    struct tp_program *p = lower(TP_KIND_DEVICE, false, mixed, COUNT(mixed));
    for (int numbers = 0; numbers < 2; numbers++)
        expect(relower(p, (struct tp_unlower_cfg){.numbers = numbers}), mixed_text);
    expect(relower(p, (struct tp_unlower_cfg){.first = 3, .last = 3}),
           "alloc 0 100 a8 @0; alloc 1 10 a8 @0; note 0 77 a1 @1; note 0 5 a2 @1; "
           "alloc 2 77 a8 @1; free 2 77 a8 @1; ");
    expect(relower(p, (struct tp_unlower_cfg){.last = 3, .strip = true}),
           "alloc 0 100 a8 @0; alloc 1 10 a8 @1; alloc 2 4096 a8 @2; free 2 4096 a8 @3; "
           "alloc 2 77 a8 @4; free 2 77 a8 @5; ");
    tp_program_release(p);
}

/* Of the same event and size, and yet no failed request: nothing of it may be lost. */
TEST(test_one_that_stays)
{
    static const struct {
        struct tp_insn insn;
        uint64_t event;
    } insns[] = {
        {{.op = TP_NOTE, .align_log2 = TP_NOTE_OOM, .size = 8}, 1},
        {{.op = TP_ALLOC, .align_log2 = 8, .slot = 0, .size = 8}, 1},
        {{.op = TP_ALLOC, .align_log2 = 8, .slot = 1, .size = 9}, 2},
        {{.op = TP_FREE, .align_log2 = 8, .slot = 0, .size = 8}, 3},
        {{.op = TP_NOTE, .align_log2 = TP_NOTE_OOM, .size = 9}, 4},
        {{.op = TP_FREE, .align_log2 = 8, .slot = 1, .size = 9}, 4},
        {{.op = TP_NOTE, .align_log2 = TP_NOTE_OOM, .size = 7}, 5},
        {{.op = TP_ALLOC, .align_log2 = 8, .slot = 0, .size = 7}, 5},
    };
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    assert_int_equal(tp_builder_new(&(struct tp_builder_cfg){.kind = TP_KIND_DEVICE}, &b, NULL),
                     TP_OK);
    for (size_t i = 0; i < COUNT(insns); i++)
        assert_int_equal(tp_builder_add(b, &insns[i].insn, insns[i].event, NULL), TP_OK);
    assert_int_equal(
        tp_builder_finish(b, &(struct tp_builder_end){.recorded_threads = 1}, &p, NULL), TP_OK);
    expect(relower(p, (struct tp_unlower_cfg){.numbers = true}),
           "note 0 8 a1 @1; alloc 0 8 a8 @1; free 0 8 a8 @1; alloc 0 8 a8 @1; alloc 1 9 a8 @2; "
           "free 0 8 a8 @3; note 0 9 a1 @4; alloc 0 9 a8 @4; free 0 9 a8 @4; free 1 9 a8 @4; "
           "note 0 7 a1 @5; alloc 1 7 a8 @5; free 1 7 a8 @5; alloc 1 7 a8 @5; ");
    tp_program_release(p);
}

/* It is part of the course of the bytes, and no object with a size and a life. */
TEST(test_info)
{
    struct tp_trace t = {.program = lower(TP_KIND_DEVICE, false, mixed, COUNT(mixed))};
    struct tp_info *info = NULL;
    struct tp_captured captured = {0};
    assert_int_equal(tp_info_scan(t.program, &info, NULL), TP_OK);
    assert_fields(*info, allocated.objects, 2, allocated.bytes, 4106, requests, 2, freed, 1,
                  temporary.objects, 1, outlive.objects, 1, devices[0].peak_new, 4106);
    tp_info_free(info);
    assert_int_equal(tp_captured_scan(&t, &captured, NULL), TP_OK);
    struct tp_captured_failures failures = tp_captured_failures(&captured);
    assert_int_equal(failures.ooms, 3);
    assert_int_equal(failures.replayed, 2); /* one does not say what was asked for */
    assert_int_equal(captured.devices[0].oom_size, 4096);
    const struct tp_program_facts *f = tp_program_facts(t.program);
    assert_int_equal(f->slots, 3);
    assert_int_equal(tp_captured_at_once(&captured, f), 2);
    assert_int_equal(f->objects, 5);
    assert_int_equal(tp_captured_objects(&captured, f), 3);
    assert_int_equal(tp_captured_ops(&captured, f, TP_FREE), 2);
    tp_captured_release(&captured);
    tp_program_release(t.program);
}

/* Likewise behind a reset. */
TEST(test_at_once)
{
    static const struct tp_event events[] = {
        ALLOC(1, 10), ALLOC(2, 10), OOM(4096),    {.op = TP_EV_RESET},
        ALLOC(3, 10), OOM(4096),    ALLOC(4, 10), OOM(4096),
    };
    struct tp_trace t = {.program = lower(TP_KIND_DEVICE, false, events, COUNT(events))};
    const struct tp_program_facts *f = tp_program_facts(t.program);
    struct tp_captured captured = {0};
    assert_int_equal(tp_captured_scan(&t, &captured, NULL), TP_OK);
    assert_int_equal(f->slots, 3);
    assert_int_equal(tp_captured_at_once(&captured, f), 2);
    assert_int_equal(tp_captured_objects(&captured, f), 4);
    tp_captured_release(&captured);
    tp_program_release(t.program);
}
