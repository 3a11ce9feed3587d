/* The builder refuses what does not fit, by name and without a trace; small programs whose demand
 * is known by heart. */
#include "alloc/program/program.h"
#include "tests/unit/test.h"

static struct tp_builder *new_builder(void)
{
    struct tp_builder_cfg cfg = {.kind = TP_KIND_HOST};
    struct tp_builder *b;
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    return b;
}

TEST(unknown_time)
{
    struct tp_builder *b = new_builder();
    struct tp_insn in = {.op = TP_ALLOC, .size = 5, .gap_ns = 9};
    struct tp_builder_end end = {.events = 4};
    struct tp_program *p;
    assert_int_equal(tp_builder_add(b, &in, 4, NULL), TP_OK);
    assert_int_equal(tp_builder_finish(b, &end, &p, NULL), TP_OK);
    const struct tp_demand *d = tp_program_demand(p, 0);
    assert_true(d->bytes == 5 && d->event == 4 && d->insn == 0 && d->time_ns == 0);
    tp_program_release(p);
}

TEST(equal_peaks)
{
    const struct tp_insn steps[] = {
        {.op = TP_ALLOC, .size = 100},         {.op = TP_FREE, .size = 100},
        {.op = TP_ALLOC, .size = 60},          {.op = TP_REALLOC, .size = 100},
        {.op = TP_REALLOC, .size = 99},        {.op = TP_RESET},
        {.op = TP_ALLOC, .size = 100},         {.op = TP_ALLOC, .slot = 1, .size = 1, .gap_ns = 7},
        {.op = TP_FREE, .slot = 1, .size = 1}, {.op = TP_ADOPT, .slot = 1, .size = 1},
    };
    struct tp_builder *b = new_builder();
    struct tp_builder_end end = {.time_known = true};
    struct tp_program *p;
    for (uint64_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_equal(tp_builder_add(b, &steps[i], i + 1, NULL), TP_OK);
    assert_int_equal(tp_builder_finish(b, &end, &p, NULL), TP_OK);
    const struct tp_demand *d = tp_program_demand(p, 0);
    assert_true(d->bytes == 101 && d->event == 8 && d->insn == 7 && d->time_ns == 7);
    assert_true(tp_program_facts(p)->live_at_end == 2 && tp_program_facts(p)->events == 10);
    assert_true(tp_program_facts(p)->objects == 5 && tp_program_facts(p)->slots == 2);
    tp_program_release(p);
}

/* Into slot 0 an object of 64 bytes, alignment 16, device 1, with one extra reference; slot 1 is
 * freed; then one instruction that must be refused, and that changes nothing. */
static const struct {
    struct tp_insn insn;
    uint64_t event;
    const char *what;
} refused[] = {
    {{.op = TP_ALLOC, .slot = 0, .size = 1}, 9, "the slot is live"},
    {{.op = TP_ADOPT, .slot = 0, .size = 1}, 9, "the slot is live"},
    {{.op = TP_ALLOC, .slot = 3, .size = 1}, 9, "the slot is out of range"},
    {{.op = TP_ALLOC, .slot = UINT32_MAX, .size = 1}, 9, "the slot is out of range"},
    {{.op = TP_ALLOC, .slot = 1, .size = 0}, 9, "the size is out of range"},
    {{.op = TP_ALLOC, .slot = 1, .size = TP_MAX_SIZE + 1}, 9, "the size is out of range"},
    {{.op = TP_ALLOC, .slot = 1, .size = 1, .align_log2 = 31}, 9, "the alignment is out of range"},
    {{.op = TP_ALLOC, .slot = 1, .size = 1, .thread = 65535}, 9, "the thread is out of range"},
    {{.op = TP_ALLOC, .slot = 1, .size = 1, .stream = 65535}, 9, "the stream is out of range"},
    {{.op = TP_ALLOC, .slot = 1, .size = 1, .device = 256}, 9, "the device is out of range"},
    {{.op = TP_FREE, .slot = 1, .size = 32}, 9, "the slot is free"},
    {{.op = TP_FREE, .slot = 2, .size = 32}, 9, "the slot is free"},
    {{.op = TP_FREE, .slot = 3, .size = 32}, 9, "the slot is out of range"},
    {{.op = TP_FREE, .slot = 0, .size = 63, .align_log2 = 4, .device = 1}, 9, "another size"},
    {{.op = TP_FREE, .slot = 0, .size = 64, .align_log2 = 3, .device = 1}, 9, "another alignment"},
    {{.op = TP_FREE, .slot = 0, .size = 64, .align_log2 = 4}, 9, "another device"},
    {{.op = TP_FREE, .slot = 0, .size = 64, .align_log2 = 4, .device = 1}, 9, "one reference"},
    {{.op = TP_REALLOC, .slot = 0, .size = 0, .device = 1}, 9, "the size is out of range"},
    {{.op = TP_REALLOC, .slot = 1, .size = 9}, 9, "the slot is free"},
    {{.op = TP_RETAIN, .slot = 1}, 9, "the slot is free"},
    {{.op = TP_RELEASE, .slot = 1}, 9, "the slot is free"},
    {{.op = TP_USE, .slot = 1}, 9, "the slot is free"},
    {{.op = TP_MARK, .slot = 1}, 9, "there is no such mark"},
    {{.op = TP_OP_COUNT}, 9, "there is no such operation"},
    {{.op = 255}, 9, "there is no such operation"},
    {{.op = TP_NOTE, .device = 300}, 9, "the device is out of range"},
    {{.op = TP_NOTE}, 8, "its event number falls"},
    {{.op = TP_NOTE}, 0, "its event number falls"},
};

static struct tp_builder *prepared_builder(void)
{
    struct tp_builder *b = new_builder();
    struct tp_insn a = {.op = TP_ALLOC, .size = 64, .align_log2 = 4, .device = 1};
    struct tp_insn f = {.op = TP_ALLOC, .slot = 1, .size = 32};
    uint32_t mark;
    assert_int_equal(tp_builder_mark(b, "only", &mark, NULL), TP_OK);
    assert_int_equal(tp_builder_initial_heap(b, &a, NULL), TP_OK);
    assert_int_equal(tp_builder_add(b, &f, 3, NULL), TP_OK);
    f.op = TP_FREE;
    assert_int_equal(tp_builder_add(b, &f, 4, NULL), TP_OK);
    a.op = TP_RETAIN;
    assert_int_equal(tp_builder_add(b, &a, 9, NULL), TP_OK);
    return b;
}

TEST(strict_builder)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct tp_builder *b = prepared_builder();
        struct tp_builder_end end = {0};
        struct tp_program *p;
        struct tp_err err;
        assert_int_equal(tp_builder_add(b, &refused[i].insn, refused[i].event, &err), TP_EBROKEN);
        if (!strstr(err.text, refused[i].what) || !strstr(err.text, "instruction 3"))
            fail_msg("'%s' does not say '%s'", err.text, refused[i].what);
        assert_int_equal(tp_builder_add(b, &refused[i].insn, refused[i].event, NULL), TP_EBROKEN);
        assert_int_equal(tp_builder_finish(b, &end, &p, &err), TP_OK);
        const struct tp_program_facts *f = tp_program_facts(p);
        assert_true(f->instructions == 3 && f->slots == 2 && f->live_at_end_bytes == 64);
        assert_true(f->devices == 2 && f->threads == 1 && f->streams == 1 && f->events == 9);
        tp_program_release(p);
    }
}

static void add_refused(struct tp_builder *b, struct tp_insn in, const char *what)
{
    struct tp_err err;
    assert_int_equal(tp_builder_add(b, &in, 20, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, what));
}

TEST(references_and_resets)
{
    struct tp_builder *b = prepared_builder();
    struct tp_insn in = {.op = TP_RELEASE, .device = 1};
    assert_int_equal(tp_builder_add(b, &in, 20, NULL), TP_OK);
    add_refused(b, in, "the last reference");
    in = (struct tp_insn){.op = TP_RESET, .device = 0}; /* of the other device */
    assert_int_equal(tp_builder_add(b, &in, 20, NULL), TP_OK);
    in = (struct tp_insn){.op = TP_USE, .device = 1};
    assert_int_equal(tp_builder_add(b, &in, 20, NULL), TP_OK);
    in = (struct tp_insn){.op = TP_RESET, .device = 1};
    assert_int_equal(tp_builder_add(b, &in, 20, NULL), TP_OK);
    add_refused(b, (struct tp_insn){.op = TP_USE, .device = 1}, "the slot is free");
    in = (struct tp_insn){.op = TP_ALLOC, .size = 8, .device = 1};
    assert_int_equal(tp_builder_add(b, &in, 20, NULL), TP_OK);
    in.op = TP_FREE; /* and not two references from before the reset */
    assert_int_equal(tp_builder_add(b, &in, 20, NULL), TP_OK);
    tp_builder_free(b);
}

TEST(strict_initial_heap)
{
    struct tp_builder *b = new_builder();
    struct tp_insn in = {.op = TP_ALLOC, .size = 1};
    struct tp_err err;
    assert_int_equal(tp_builder_initial_heap(b, &in, &err), TP_OK);
    assert_int_equal(tp_builder_initial_heap(b, &in, &err), TP_EBROKEN);
    assert_string_equal(err.text,
                        "initial heap: instruction 1 ('alloc', slot 0, size 1): the slot is live");
    struct tp_insn timed = {.op = TP_ALLOC, .slot = 1, .size = 1, .gap_ns = 1};
    assert_int_equal(tp_builder_initial_heap(b, &timed, &err), TP_EBROKEN);
    struct tp_insn adopt = {.op = TP_ADOPT, .slot = 1, .size = 1};
    assert_int_equal(tp_builder_initial_heap(b, &adopt, &err), TP_EBROKEN);
    struct tp_insn note = {.op = TP_NOTE};
    assert_int_equal(tp_builder_add(b, &note, 1, &err), TP_OK);
    in.slot = 1;
    assert_int_equal(tp_builder_initial_heap(b, &in, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "the initial heap is complete"));
    tp_builder_free(b);
}

TEST(too_much_is_live)
{
    struct tp_builder *b = new_builder();
    struct tp_insn in = {.op = TP_ALLOC, .size = TP_MAX_SIZE};
    struct tp_err err;
    for (; in.slot < TP_MAX_LIVE_BYTES / TP_MAX_SIZE; in.slot++) {
        in.device = in.slot % 2;
        assert_int_equal(tp_builder_add(b, &in, in.slot + 1, NULL), TP_OK);
    }
    assert_int_equal(tp_builder_add(b, &in, in.slot + 1, &err), TP_EINPUT);
    in.size = 1;
    assert_int_equal(tp_builder_add(b, &in, in.slot + 1, &err), TP_EINPUT);
    struct tp_insn less = {.op = TP_REALLOC, .size = 5};
    assert_int_equal(tp_builder_add(b, &less, in.slot + 1, &err), TP_OK);
    less.size = TP_MAX_SIZE;
    assert_int_equal(tp_builder_add(b, &in, in.slot + 1, &err), TP_OK);
    assert_int_equal(tp_builder_add(b, &less, in.slot + 1, &err), TP_EINPUT);
    tp_builder_free(b);
}

TEST(wrong_ends)
{
    const struct tp_builder_end ends[] = {
        {.events = 8}, {.streams = TP_MAX_STREAMS + 1}, {.devices = TP_MAX_DEVICES + 1}};
    for (size_t i = 0; i < 3; i++) {
        struct tp_program *p = (struct tp_program *)(uintptr_t)1;
        assert_int_equal(tp_builder_finish(prepared_builder(), &ends[i], &p, NULL), TP_EBROKEN);
        assert_null(p);
    }
}

TEST(many_names)
{
    struct tp_builder *b = new_builder();
    struct tp_builder_end end = {0};
    struct tp_program *p;
    struct tp_err err;
    char name[32];
    uint32_t index;
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t i = 0; i < TP_MAX_MARKS; i++) {
            snprintf(name, sizeof name, "%s%u", i % 3 ? "step " : "", (unsigned)i);
            assert_int_equal(tp_builder_mark(b, name, &index, &err), TP_OK);
            assert_int_equal(index, i);
        }
    assert_int_equal(tp_builder_mark(b, "one more", &index, &err), TP_EINPUT);
    assert_int_equal(tp_builder_mark(b, "step 1", &index, &err), TP_OK);
    assert_int_equal(index, 1);
    assert_int_equal(tp_builder_finish(b, &end, &p, &err), TP_OK);
    assert_string_equal(tp_program_mark(p, 65532), "65532");
    assert_string_equal(tp_program_mark(p, 65533), "step 65533");
    assert_int_equal(tp_program_facts(p)->marks, TP_MAX_MARKS);
    tp_program_release(p);
}
