/* Real snapshots, against figures that were counted by other means. Some are in tests/data, the
 * others beside the repository: where they are not, they are left out with a word. */
#include "tests/unit/snapshot_files.h"
#include "tests/unit/test.h"
#include "traces/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct tp_format tp_format_pytorch, tp_format_json;

static const struct tp_format *const formats[] = {&tp_format_json, &tp_format_pytorch, NULL};

static void open_snapshot(const char *path, bool drop_initial, struct tp_trace *out)
{
    const struct tp_trace_cfg cfg = {.path = path,
                                     .formats = formats,
                                     .read = {.device = -1},
                                     .drop_initial = drop_initial,
                                     .allow_empty = true};
    struct tp_err err = {0};
    if (tp_trace_open(&cfg, out, &err) != TP_OK)
        fail_msg("%s", err.text);
}

static const struct figures {
    const char *name;
    uint64_t events, allocs, frees, unseen; /* unseen: frees of what was live at the start */
    uint64_t peak_inside, peak; /* requested bytes: of what the trace allocates, of all */
    uint64_t peak_event, initial, segments, reserved;
    uint64_t start_reserved, start_segments;
    bool wrapped;
} files[] = {
    {"complete-small.pickle", 97, 36, 26, 0, 3249143816, 3249143816, 53, 0, 9, 3781165056, 0, 0,
     false},
    {"newest-format.pickle", 5163, 1721, 1721, 2, 12877758464, 13923997700, 1403, 229, 216,
     14180941824, 14180941824, 216, false},
    {"training-step.pickle.gz", 6486, 2162, 2162, 222, 1999716608, 3849232640, 1844, 447, 96,
     4238344192, 4238344192, 96, false},
    {"ring-wrapped.pickle.gz", 10000, 3331, 3335, 480, 5709158400, 15824637956, 9980, 1317, 872,
     20673724416, 20673724416, 872, true},
    {"training-999-segments.pickle.gz", 19464, 6488, 6488, 329, 7368201224, 22827925508, 5702, 1313,
     999, 23842521088, 23842521088, 999, false},
    {"training-22k.pickle.gz", 22332, 7591, 7370, 438, 7331061768, 12426629128, 3486, 664, 400,
     12660506624, 12593397760, 399, false},
    {"generated-unaligned.pickle", 1040, 520, 520, 0, 2255398132, 2255398598, 1000, 17, 5,
     262144000, 262144000, 5, false},
};

static void check_whole(const struct figures *f, const struct tp_trace *t)
{
    const struct tp_program_facts *facts = tp_program_facts(t->program);
    assert_fields(*facts, events, f->events, ops[TP_ALLOC], f->allocs, ops[TP_FREE], f->frees,
                  initial_heap, f->initial, kind, TP_KIND_DEVICE);
    assert_true(facts->time_known);
    assert_int_equal(tp_program_demand(t->program, 0)->bytes, f->peak);
    assert_int_equal(tp_program_demand(t->program, 0)->event, f->peak_event);
    assert_int_equal(t->recorded.count, 1);
    assert_true(t->recorded.has_end);
    assert_fields(*t, recorded.devices[0].end_segments, f->segments,
                  recorded.devices[0].end_reserved, f->reserved, recorded.devices[0].start_segments,
                  f->start_segments, recorded.devices[0].start_reserved, f->start_reserved,
                  meta.wrapped, f->wrapped);
    assert_string_equal(t->meta.capture, "PyTorch memory snapshot (pickle 4)");
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(t->repairs[i], 0);
}

/* What was live at the start is left out, and so are its frees. */
static void check_inside(const struct figures *f, const struct tp_trace *t)
{
    const struct tp_program_facts *facts = tp_program_facts(t->program);
    assert_fields(*facts, initial_heap, 0, ops[TP_ALLOC], f->allocs, ops[TP_FREE],
                  f->frees - f->unseen);
    assert_int_equal(tp_program_demand(t->program, 0)->bytes, f->peak_inside);
}

TEST(test_figures)
{
    size_t seen = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        struct tp_trace t;
        if (!find_snapshot(TAPOOL_ROOT, files[i].name, path, sizeof path)) {
            print_message("%s is not here: left out\n", files[i].name);
            continue;
        }
        open_snapshot(path, false, &t);
        check_whole(&files[i], &t);
        tp_trace_close(&t);
        open_snapshot(path, true, &t);
        check_inside(&files[i], &t);
        tp_trace_close(&t);
        seen++;
    }
    assert_true(seen >= 2);
}

TEST(test_state_only)
{
    static const struct {
        const char *name;
        uint64_t segments, reserved;
        bool frames; /* of its blocks */
    } cases[] = {{"state-only-graph-pools.pickle", 127, 26189234176, true},
                 {"state-only-oldest-format.pickle", 176, 11844714496, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[4096], hint[200];
        struct tp_trace t;
        struct tp_err err = {0};
        if (!find_snapshot(TAPOOL_ROOT, cases[i].name, path, sizeof path)) {
            print_message("%s is not here: left out\n", cases[i].name);
            continue;
        }
        open_snapshot(path, false, &t);
        assert_int_equal(tp_program_facts(t.program)->events, 0);
        assert_int_equal(t.recorded.devices[0].end_segments, cases[i].segments);
        assert_int_equal(t.recorded.devices[0].end_reserved, cases[i].reserved);
        tp_trace_close(&t);
        const struct tp_trace_cfg cfg = {.path = path, .formats = formats, .read = {.device = -1}};
        assert_int_equal(tp_trace_open(&cfg, &t, &err), TP_EINPUT);
        assert_non_null(strstr(err.text, cases[i].frames
                                             ? "no events: PyTorch was recording (blocks"
                                             : "no events: PyTorch was not recording "));
        snprintf(hint, sizeof hint, "shows the %d segments", (int)cases[i].segments);
        assert_non_null(strstr(err.hint, hint));
    }
}

/* What UX shows of one real file: peak, place, phase, what is idle at the end. */
TEST(test_training_step)
{
    static const uint64_t events[] = {1, 1844, 6486};
    char path[4096], places[3][TP_PLACE_TEXT];
    struct tp_trace t;
    assert_true(find_snapshot(TAPOOL_ROOT, "training-step.pickle.gz", path, sizeof path));
    open_snapshot(path, false, &t);
    const struct tp_recorded_device *d = t.recorded.devices;
    assert_fields(*d, end_free, 1165472768, end_free_blocks, 103, end_largest, 155189248,
                  end_returnable, 985661440, end_large, 67, end_small, 29);
    assert_string_equal(t.meta.settings,
                        "PYTORCH_CUDA_ALLOC_CONF is empty: defaults, expandable_segments off");
    assert_int_equal(tp_trace_places(&t, events, 3, places, NULL), TP_OK);
    assert_string_equal(places[1], "optimizer.py:78 step");
    assert_string_equal(tp_program_mark(t.program, 0), "Optimizer.step#AdamW.step");
    assert_int_equal(tp_program_facts(t.program)->ops[TP_MARK], 2);
    tp_trace_close(&t);
}

/* The same in three protocols, and as C++ writes it, is the same program, with the same places. */
TEST(test_protocols)
{
    static const char *const forms[] = {"p2", "p4", "p5", "cpp"};
    static const uint64_t events[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    static const char *const expected[] = {"model.py:12 forward", /* in both devices */
                                           "model.py:12 forward",
                                           "model.py:12 forward",
                                           "model.py:12 forward",
                                           "", /* an empty list */
                                           "",
                                           "module.py:1751 _call_impl", /* nothing better in it */
                                           "backward BmmBackward0",
                                           "", /* no list */
                                           "", /* more frames of C++ than are looked at */
                                           "train.py:70 <module>",
                                           "model.py:12 forward",
                                           ""};
    uint8_t hash[TP_HASH_SIZE] = {0};
    for (size_t i = 0; i < 4; i++) {
        char path[4096], name[32], places[13][TP_PLACE_TEXT];
        struct tp_trace t;
        snprintf(name, sizeof name, "small-%s.pickle", forms[i]);
        assert_true(find_snapshot(TAPOOL_ROOT, name, path, sizeof path));
        open_snapshot(path, false, &t);
        const struct tp_program_facts *facts = tp_program_facts(t.program);
        assert_fields(*facts, events, 12, devices, 2, initial_heap, 2);
        if (i > 0)
            assert_memory_equal(facts->hash, hash, sizeof hash);
        memcpy(hash, facts->hash, sizeof hash);
        assert_int_equal(tp_trace_places(&t, events, 13, places, NULL), TP_OK);
        for (size_t k = 0; k < 13; k++)
            assert_string_equal(places[k], expected[k]);
        tp_trace_close(&t);
    }
}
