/* The engine, against a strategy whose every figure can be worked out by hand: each block is a
 * source range of its own, in pages of 4 KiB. */
#include "tests/unit/ranges.h"

extern const struct tp_source_ops tp_source_host;

static struct tp_clock test_clock;

static int set_up_clock(void **state)
{
    return setup(state) ? -1 : tp_clock_calibrate(&test_clock, NULL);
}

static struct tp_replay_cfg on(const struct tp_source_ops *source, struct tp_program *p)
{
    struct tp_replay_cfg cfg = run_on(source, &ranges, until_the_end(p), TP_PASS_USAGE);
    cfg.clock = &test_clock;
    cfg.min_time_ns = 2000000;
    cfg.min_replays = 5;
    cfg.repeat = 1;
    return cfg;
}

static void near(double a, double b)
{
    assert_true(a - b < 1e-12 && b - a < 1e-12);
}

static struct tp_program *five_events(void)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 5000, 0),
        ALLOC_INSN(1, 100, 10),
        FREE_INSN(0, 5000, 10),
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 1, .size = 5000, .gap_ns = 10},
        FREE_INSN(1, 5000, 10)};
    return test_program(insns, 5, true);
}

TEST_WITH(usage_is_what_can_be_worked_out_by_hand, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, five_events());
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(*d, trace_peak_requested, 5100, peak_requested, 5100, peak_requested_event, 2,
                  peak_allocated, 3 * PAGE);
    assert_int_equal(d->peak_reserved, 3 * PAGE); /* 5000 and 100; again while 100 became 5000 */
    assert_fields(*d, peak_reserved_event, 2, end_reserved, 0, gets, 3, puts, 3, get_bytes,
                  5 * PAGE, put_bytes, 5 * PAGE, allocations, 3, reused, 0);
    assert_int_equal(d->failed_allocations, 0);
    assert_true(d->first_failed_event == TP_NONE);
    assert_fields(d->at_peak, event, 2, time_ns, 10, requested, 5100, allocated, 3 * PAGE, reserved,
                  3 * PAGE, free_bytes, 0, free_blocks, 0);
    near(d->internal_fragmentation, 1 - 5100.0 / (3 * PAGE));
    near(d->internal_fragmentation_weighted, 1 - (5000.0 + 5100 + 100 + 5000) / (8.0 * PAGE));
    near(d->unused_reserved, 0);
    assert_true(isnan(d->external_fragmentation));
    assert_true(run->flags & TP_RUN_WEIGHT_TIME);
    assert_true(d->overhead > 3.0 * PAGE / 5100); /* and the strategy's own state */
}

TEST_WITH(realloc_needs_both_blocks_at_once, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 2 * PAGE, 0),
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 3 * PAGE},
        FREE_INSN(0, 3 * PAGE, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_host, test_program(insns, 3, true));
    replay(&cfg);
    assert_int_equal(run->devices[0].peak_requested, 3 * PAGE); /* changes once */
    assert_fields(run->devices[0], peak_allocated, 5 * PAGE, peak_reserved, 5 * PAGE,
                  at_peak.reserved, 3 * PAGE);
}

/* Whether the realloc succeeds or not, each free names size and alignment of the block it frees. */
TEST_WITH(a_realloc_may_change_the_alignment, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 2 * PAGE, 0),
        {.op = TP_REALLOC, .align_log2 = 12, .slot = 0, .size = 3 * PAGE},
        {.op = TP_FREE, .align_log2 = 12, .slot = 0, .size = 3 * PAGE}};
    struct tp_program *p = test_program(insns, 3, true);
    for (uint64_t pages = 5; pages >= 4; pages--) {
        struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
        struct limit_options limit = {pages * PAGE};
        limit_to(&cfg, &limit);
        assert_int_equal(replay(&cfg)->failed_allocations, pages == 4);
    }
}

TEST_WITH(a_full_device_is_data_and_its_objects_are_skipped, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, five_events());
    struct limit_options limit = {2 * PAGE};
    limit_to(&cfg, &limit);
    cfg.passes = TP_PASS_ALL;
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(*d, failed_allocations, 1, first_failed_event, 2);
    assert_int_equal(run->skipped_operations, 2);
    assert_fields(*d, trace_peak_requested, 5100, peak_requested, 5000);
    assert_true(isnan(d->overhead));
    /* neither the failed call nor the skipped ones are in the latencies */
    assert_int_equal(run->latency.kinds[TP_LAT_ALLOC].hist.count, run->latency.replays);
    assert_int_equal(run->latency.kinds[TP_LAT_FREE].hist.count, run->latency.replays);
    assert_int_equal(run->latency.kinds[TP_LAT_REALLOC].hist.count, 0);
}

TEST_WITH(on_oom_stop_ends_the_replay_there, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, five_events());
    struct limit_options limit = {2 * PAGE};
    limit_to(&cfg, &limit);
    cfg.stop_on_oom = true;
    replay(&cfg);
    assert_fields(*run, devices[0].failed_allocations, 1, skipped_operations, 0);
    assert_int_equal(run->devices[0].end_reserved, 2 * PAGE); /* event 3 was not replayed */
}

TEST_WITH(a_refused_correct_free_is_a_bug_and_names_the_event, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, five_events());
    how.refuses_frees = true;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "event 3"));
    assert_non_null(strstr(err.text, "'ranges'"));
}

TEST_WITH(memory_that_is_kept_at_the_end_is_a_bug, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 5000, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_virtual, test_program(insns, 1, true));
    how.leaks = true;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "kept 16384 bytes"));
}

TEST_WITH(books_that_do_not_add_up_are_a_bug, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, five_events());
    how.lies_in_walk = true;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "accounts for 12290 of 12288"));
}

TEST_WITH(reset_without_a_member_frees_every_live_object_as_one_operation, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 100, 0), {.op = TP_RESET}, ALLOC_INSN(0, 100, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_virtual, test_program(insns, 4, true));
    cfg.passes = TP_PASS_ALL;
    replay(&cfg);
    assert_fields(*run, devices[0].peak_reserved, 2 * PAGE, devices[0].end_reserved, PAGE,
                  devices[0].puts, 2, latency.kinds[TP_LAT_OTHER].hist.count, run->latency.replays);
}

TEST_WITH(a_thread_that_ends_starts_anew, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 100, 0),
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 1, .size = 100, .thread = 1},
        {.op = TP_THREAD_END, .thread = 1},
        {.op = TP_FREE, .align_log2 = 4, .slot = 1, .size = 100, .thread = 1}};
    struct tp_replay_cfg cfg = on(&tp_source_virtual, test_program(insns, 4, true));
    replay(&cfg);
    assert_int_equal(how.threads_started, 4); /* the usage pass replays twice */
    assert_int_equal(how.threads_ended, 4);
}

TEST_WITH(trim_without_a_member_is_skipped_and_counted, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), {.op = TP_TRIM}, FREE_INSN(0, 100, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_virtual, test_program(insns, 3, true));
    replay(&cfg);
    assert_int_equal(run->skipped_trims, 1);
}

TEST_WITH(without_times_weights_are_events_and_the_clock_is_synthetic, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 300, 0),
                                    FREE_INSN(0, 100, 0), FREE_INSN(1, 300, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_virtual, test_program(insns, 4, false));
    replay(&cfg);
    near(run->devices[0].internal_fragmentation_weighted,
         1 - (100.0 + 400 + 300) / (PAGE + 2.0 * PAGE + PAGE));
    assert_false(run->flags & TP_RUN_WEIGHT_TIME);
    assert_true(run->flags & TP_RUN_SYNTHETIC_TIME);
}

static struct tp_program *with_initial_heap(void)
{
    const struct tp_insn before = ALLOC_INSN(0, 10000, 0);
    const struct tp_insn insns[] = {FREE_INSN(0, 10000, 0), ALLOC_INSN(1, 100, 0)};
    return program_of(&before, 1, insns, COUNT(insns), 0, false);
}

TEST_WITH(a_initial_heap_counts_as_memory_and_as_nothing_else, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, with_initial_heap());
    cfg.passes = TP_PASS_ALL;
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(*d, peak_reserved, 3 * PAGE, peak_reserved_event, 0, at_peak.event, 0,
                  at_peak.requested, 10000, allocations, 1, gets, 1);
    assert_int_equal(run->latency.kinds[TP_LAT_ALLOC].hist.count, run->latency.replays);
    cfg.drop_initial_heap = true;
    replay(&cfg);
    assert_int_equal(d->peak_reserved, PAGE);
    assert_int_equal(run->skipped_operations, 1); /* the free of what was not placed */
}

static struct tp_program *long_program(uint32_t events)
{
    struct tp_insn *insns = calloc(events, sizeof *insns);
    assert_non_null(insns);
    for (uint32_t i = 0; i < events; i++)
        insns[i] =
            i % 2 ? (struct tp_insn)FREE_INSN(0, 64, 1) : (struct tp_insn)ALLOC_INSN(0, 64, 1);
    struct tp_program *p = test_program(insns, events, true);
    free(insns);
    return p;
}

TEST_WITH(passes_cover_every_operation_of_every_window, set_up_clock, teardown)
{
    const uint32_t events = 2 * TP_WINDOW_MAX + 10;
    struct tp_replay_cfg cfg = on(&tp_source_virtual, long_program(events));
    cfg.passes = TP_PASS_ALL;
    cfg.min_time_ns = UINT64_C(500000000);
    replay(&cfg);
    assert_true(run->throughput.runs.total >= 5);
    assert_true(run->throughput.engine.total >= 3);
    assert_true(tp_series_median(&run->throughput.runs).median > 0);
    assert_true(run->throughput.cold_ns_per_op > 0);
    assert_fields(run->latency, kinds[TP_LAT_ALLOC].hist.count, run->latency.replays * (events / 2),
                  kinds[TP_LAT_FREE].hist.count, run->latency.replays * (events / 2), slowest_count,
                  TP_SLOWEST);
    for (int i = 0; i < TP_SLOWEST; i++) {
        assert_true(run->latency.slowest[i].event >= 1 && run->latency.slowest[i].event <= events);
        assert_true(!i || run->latency.slowest[i].ns <= run->latency.slowest[i - 1].ns);
    }
    assert_int_equal(run->devices[0].gets, events / 2);
}

TEST_WITH(a_program_longer_than_min_time_is_replayed_once_per_repeat, set_up_clock, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, long_program(20000));
    cfg.passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY;
    cfg.min_time_ns = 1;
    cfg.repeat = 3;
    replay(&cfg);
    assert_true(run->flags & TP_RUN_REPLAYED_ONCE);
    assert_fields(*run, throughput.runs.total, 3, latency.replays, 1);
}

TEST_WITH(latencies_of_a_long_program_are_those_of_its_beginning, set_up_clock, teardown)
{
    struct tp_program *p = long_program(3 * TP_WINDOW_MAX);
    uint64_t events = tp_program_facts(p)->operations, count = 0;
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    cfg.passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY;
    cfg.min_time_ns = 1;
    cfg.repeat = 1;
    cfg.latency_operations = TP_WINDOW_MAX + 1; /* the window in which it is reached is replayed */
    replay(&cfg);
    for (int k = 0; k < TP_LAT_KINDS; k++)
        count += run->latency.kinds[k].hist.count;
    assert_true(events > 2 * TP_WINDOW_MAX);
    assert_int_equal(count, run->latency.replays * 2 * TP_WINDOW_MAX);
    assert_int_equal(run->latency.sampled, cfg.latency_operations);
    cfg.latency_operations = events;
    replay(&cfg);
    assert_int_equal(run->latency.sampled, 0);
}

/* The empty strategy, replayed beside it, has one block of 64 bytes: a sanitizer sees more than
 * that.
 */
TEST_WITH(touching_every_page_touches_the_strategys_blocks_alone, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 1000 * PAGE, 0),
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 2000 * PAGE},
        FREE_INSN(0, 2000 * PAGE, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_host, test_program(insns, 3, true));
    cfg.touch = TP_TOUCH_ALL;
    cfg.passes = TP_PASS_ALL;
    replay(&cfg);
    assert_int_equal(run->devices[0].peak_reserved, 3000 * PAGE);
}
