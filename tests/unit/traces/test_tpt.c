/* .tpt: what is written comes back, instruction by instruction. */
#include "tests/unit/programs.h"
#include "tests/unit/tpt_rig.h"

#include "traces/lower/lower.h"

static void round_trip(const struct tpt_mix *mix, bool compress)
{
    struct tp_err err = {0};
    struct tp_program *p = tpt_program(mix), *q = NULL;
    uint64_t repairs[TP_REPAIR_COUNT] = {1, 0, 3}, read[TP_REPAIR_COUNT] = {0};
    struct tpt_bytes b = tpt_write(p, &(struct tp_writing){.repairs = repairs}, compress);
    const struct tpt_asked cfg = {.repairs = read, .strict = true};
    if (tpt_open(b.data, b.size, &cfg, &q, &err))
        fail_msg("seed %" PRIu64 ": %s", mix->seed, err.text);
    assert_memory_equal(repairs, read, sizeof repairs);
    tpt_same(p, q);
    tp_program_release(q);
    tp_program_release(p);
    free(b.data);
}

static struct tpt_mix random_mix(uint64_t seed)
{
    uint64_t s = seed * 77;
    return (struct tpt_mix){.seed = seed,
                            .count = (uint32_t)(tpt_random(&s) % 3000),
                            .threads = (uint16_t)(1 + tpt_random(&s) % 5),
                            .streams = (uint16_t)(1 + (seed % 2 ? tpt_random(&s) % 300 : 0)),
                            .devices = (uint16_t)(1 + (seed % 3 ? tpt_random(&s) % 4 : 0)),
                            .live = (uint32_t)(1 + tpt_random(&s) % 400),
                            .initial_heap = (uint32_t)(seed % 4 ? 0 : tpt_random(&s) % 100),
                            .marks = (uint32_t)(seed % 5 ? 20 : 0),
                            .sizes = (uint32_t)(seed % 3 ? 0 : 1 + tpt_random(&s) % 400),
                            .resets = seed % 6 == 0,
                            .odd = seed % 7 == 0,
                            .jumps = seed % 2,
                            .long_gaps = seed % 3 == 1,
                            .any_slot = seed % 11 == 0,
                            .notes = seed % 4 != 1};
}

static struct tpt_stored *store_mix(void **state, struct tpt_mix mix)
{
    struct tp_program *p = tpt_program(&mix);
    return tpt_store(state, p, tpt_write(p, NULL, false));
}

TEST(test_random_programs)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct tpt_mix mix = random_mix(seed);
        round_trip(&mix, seed % 4 == 3);
    }
}

/* Several windows, where slots are guessed in some and said in those behind the first reset. */
TEST(test_many_windows)
{
    struct tpt_mix mix = {.seed = 5,
                          .count = 300000,
                          .threads = 3,
                          .streams = 4,
                          .devices = 2,
                          .live = 5000,
                          .initial_heap = 70000,
                          .marks = 50,
                          .sizes = 600,
                          .jumps = true,
                          .long_gaps = true,
                          .notes = true};
    round_trip(&mix, false);
    mix.resets = mix.odd = true;
    round_trip(&mix, true);
}

TEST(test_no_instructions)
{
    round_trip(&(struct tpt_mix){.seed = 2, .threads = 1, .streams = 1, .devices = 1, .live = 1},
               false);
}

/* A reset is the last thing that happens: its block says its slots all the same. */
TEST(test_reset_at_the_end)
{
    static const struct tp_insn insns[] = {{.op = TP_ALLOC, .size = 8, .align_log2 = 4},
                                           {.op = TP_RESET}};
    struct tp_program *p = test_program(insns, 2, false), *q = NULL;
    struct tpt_bytes b = tpt_write(p, NULL, false);
    struct tp_err err = {0};
    if (tpt_open(b.data, b.size, NULL, &q, &err))
        fail_msg("%s", err.text);
    tpt_same(p, q);
    tp_program_release(p);
    tp_program_release(q);
    free(b.data);
}

/* The same input gives the same bytes. */
TEST(test_deterministic)
{
    struct tpt_mix mix = random_mix(24);
    struct tp_program *p = tpt_program(&mix);
    struct tpt_bytes a = tpt_write(p, NULL, false), b = tpt_write(p, NULL, false);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    tp_program_release(p);
    free(a.data);
    free(b.data);
}

TEST_WITH(test_two_cursors, NULL, tpt_unstore)
{
    const struct tpt_mix mix = {.seed = 9,
                                .count = 200000,
                                .threads = 2,
                                .streams = 2,
                                .devices = 1,
                                .live = 300,
                                .jumps = true};
    struct tpt_stored *s = store_mix(state, mix);
    struct tp_cursor *one = NULL, *other = NULL;
    struct tp_window w, v;
    assert_int_equal(tpt_open(s->b.data, s->b.size, NULL, &s->q, &s->err), TP_OK);
    assert_int_equal(tp_cursor_open(s->q, &one, &s->err), TP_OK);
    assert_int_equal(tp_cursor_next(one, &w, &s->err), 1);
    assert_int_equal(tp_cursor_next(one, &w, &s->err), 1); /* the second window ... */
    assert_int_equal(tp_cursor_open(s->q, &other, &s->err), TP_OK);
    assert_int_equal(tp_cursor_next(other, &v, &s->err), 1);
    assert_int_equal(w.first_insn, TP_WINDOW_MAX); /* ... stays while another reads the first */
    assert_int_equal(v.first_insn, 0);
    assert_int_equal(tp_cursor_next(other, &v, &s->err), 1);
    assert_memory_equal(w.insns, v.insns, w.count * sizeof *w.insns);
    assert_int_equal(w.jump_count, v.jump_count);
    assert_memory_equal(w.jumps, v.jumps, w.jump_count * sizeof *w.jumps);
    tp_cursor_close(one);
    tp_cursor_rewind(other);
    assert_int_equal(tp_cursor_next(other, &v, &s->err), 1);
    assert_int_equal(v.first_insn, 0);
    tp_cursor_close(other);
    tpt_same(s->p, s->q);
}

/* A .tpt goes to a child as plain instructions, like any program. */
TEST_WITH(test_import, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_mix(state, random_mix(12));
    struct tp_program *r = NULL;
    int fd = -1;
    assert_int_equal(tpt_open(s->b.data, s->b.size, NULL, &s->q, &s->err), TP_OK);
    assert_int_equal(tp_program_export(s->q, &fd, &s->err), TP_OK);
    tp_program_release(s->q);
    s->q = NULL;
    assert_int_equal(tp_program_import(fd, &r, &s->err), TP_OK);
    tpt_same(s->p, r);
    tp_program_release(r);
    assert_int_equal(tp_program_export(s->p, &fd, &s->err), TP_OK);
    assert_int_equal(tp_program_import(fd, &r, &s->err), TP_OK);
    tpt_same(s->p, r);
    tp_program_release(r);
    assert_int_equal(tp_program_import(-1, &r, &s->err), TP_EIO);
    assert_int_equal(tp_program_import(tpt_file("no program", 10), &r, &s->err), TP_EINPUT);
}

/* Nothing is decoded while a program is timed: a .tpt of a size that fits is plain instructions by
 * then, and what was read of it before stays readable. */
TEST_WITH(test_load, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_mix(state, random_mix(12));
    assert_int_equal(tpt_open(s->b.data, s->b.size, NULL, &s->q, &s->err), TP_OK);
    const struct tp_demand *demand = tp_program_demand(s->q, 0);
    assert_true(tp_program_facts(s->q)->windows == 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tp_program_load(s->q, &s->err), TP_OK);
        assert_true(tp_program_facts(s->q)->windows > 0);
        assert_ptr_equal(tp_program_demand(s->q, 0), demand);
        tpt_same(s->p, s->q);
    }
}

/* Texts, remarks, what was recorded. */
TEST(test_meta)
{
    struct tpt_mix mix = random_mix(12);
    struct tp_program *p = tpt_program(&mix), *q = NULL;
    struct tp_meta meta = {.wrapped = true}, got = {0};
    struct tp_recorded recorded = {0}, had = {0};
    tp_meta_set(&meta, &meta.name, "web \"1\"");
    tp_meta_set(&meta, &meta.unknown, "threads, alignment");
    tp_meta_remark(&meta, "one");
    tp_meta_remark(&meta, "two");
    assert_int_equal(tp_meta_status(&meta, NULL), TP_OK);
    assert_int_equal(tp_recorded_init(&recorded, "PyTorch", 2, NULL), TP_OK);
    recorded.devices[1].end_reserved = (UINT64_C(1) << 60) + 1;
    recorded.has_end = true;
    struct tpt_bytes b =
        tpt_write(p, &(struct tp_writing){.meta = &meta, .recorded = &recorded}, false);
    const struct tpt_asked cfg = {.meta = &got, .recorded = &had};
    assert_int_equal(tpt_open(b.data, b.size, &cfg, &q, NULL), TP_OK);
    assert_string_equal(got.name, "web \"1\"");
    assert_string_equal(got.unknown, "threads, alignment");
    assert_string_equal(got.remarks, "one\ntwo");
    assert_null(got.program);
    assert_true(got.wrapped);
    assert_int_equal(got.kind, tp_program_facts(p)->kind);
    assert_int_equal(had.count, 2);
    assert_int_equal(had.devices[1].end_reserved, (UINT64_C(1) << 60) + 1);
    assert_true(had.has_end);
    tp_meta_release(&meta);
    tp_meta_release(&got);
    tp_recorded_release(&recorded);
    tp_recorded_release(&had);
    tp_program_release(p);
    tp_program_release(q);
    free(b.data);
}

/* As a sink of the lowering nothing is kept but the facts, and the bytes are the same. */
TEST(test_sink)
{
    struct tpt_bytes b = {0};
    struct tp_tpt_writer *w = NULL;
    struct tp_lower *lo = NULL;
    struct tp_program *p = NULL, *q = NULL;
    struct tp_err err = {0};
    uint64_t repairs[TP_REPAIR_COUNT];
    FILE *out = open_memstream((char **)&b.data, &b.size);
    const struct tp_writing begin = {.path = "x.tpt"};
    assert_int_equal(tp_tpt_write_begin(&begin, TP_KIND_HOST, 0, out, &w, &err), TP_OK);
    const struct tp_lower_cfg lower = {
        .path = "x", .strict = true, .sink = tp_tpt_write_window, .sink_ctx = w};
    assert_int_equal(tp_lower_new(&lower, &lo, &err), TP_OK);
    for (uint64_t i = 0; i < 200000; i++) {
        const enum tp_event_op even = i % 1000 ? TP_EV_ALLOC : TP_EV_MARK;
        const struct tp_event ev = {.op = i % 2 ? TP_EV_FREE : even,
                                    .id = (int64_t)(i / 2),
                                    .has_size = true,
                                    .size = 8 + i % 7,
                                    .has_time = true,
                                    .time_ns = i * 100,
                                    .name = "step"};
        if (i % 1000 != 1 && tp_lower_event(lo, &ev, &err))
            fail_msg("%s", err.text);
    }
    assert_int_equal(tp_lower_finish(lo, &p, repairs, &err), TP_OK);
    assert_int_equal(
        tp_tpt_write_end(w, &(struct tp_writing){.program = p, .repairs = repairs}, &err), TP_OK);
    tp_tpt_write_free(w);
    tp_lower_free(lo);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(tp_load64(b.data + 16), tp_program_facts(p)->events); /* filled in */
    if (tpt_open(b.data, b.size, NULL, &q, &err) || tpt_pass(q, &err))
        fail_msg("%s", err.text);
    struct tpt_bytes again = tpt_write(q, NULL, false);
    assert_int_equal(again.size, b.size);
    assert_memory_equal(again.data, b.data, b.size);
    assert_memory_equal(tp_program_facts(p)->hash, tp_program_facts(q)->hash, TP_HASH_SIZE);
    assert_string_equal(tp_program_mark(q, 0), "step");
    assert_true(b.size < 5 * tp_program_facts(p)->events);
    tp_program_release(p);
    tp_program_release(q);
    free(b.data);
    free(again.data);
}
