/* Why an allocation failed: each class by a case made by hand, and the state that is kept of the
 * first one; and what is said of calls that a strategy does not support. */
#include "tests/unit/programs.h"
#include "tests/unit/ranges.h"

extern const struct tp_source_ops tp_source_fault, tp_source_shuffle, tp_source_host;

/* ---- failed allocations ---- */

/* One failure of known class, at the last of a few events, on a device of ten pages. */
static void expect_class(const struct tp_insn *insns, size_t count, enum tp_oom_class oom_class)
{
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, count, 0, true));
    struct limit_options ten_pages = {10 * PAGE};
    limit_to(&cfg, &ten_pages);
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(*d, failed_allocations, 1, first_failed_event, count, first_failure.at.event,
                  count, first_failure.oom_class, oom_class, first_failure.size,
                  insns[count - 1].size, first_failure.capacity, 10 * PAGE);
    for (uint32_t c = 0; c < TP_OOM_CLASSES; c++)
        assert_int_equal(d->failed_by[c], c == oom_class);
    assert_true(isnan(d->overhead));
}

TEST_WITH(more_than_the_device_has_is_demand, setup, teardown)
{
    const struct tp_insn whole[] = {ALLOC_INSN(0, 10 * PAGE + 1, 0)};
    const struct tp_insn rest[] = {ALLOC_INSN(0, 6 * PAGE, 0), ALLOC_INSN(1, 4 * PAGE + 1, 0)};
    const struct tp_insn grown[] = {ALLOC_INSN(0, PAGE, 0), ALLOC_INSN(1, 3 * PAGE, 0),
                                    realloc_insn(1, 9 * PAGE + 1, 0)};
    expect_class(whole, COUNT(whole), TP_OOM_DEMAND);
    expect_class(rest, COUNT(rest), TP_OOM_DEMAND);
    expect_class(grown, COUNT(grown), TP_OOM_DEMAND);
}

TEST_WITH(what_would_fit_by_its_bytes_is_fragmentation, setup, teardown)
{
    const struct tp_insn rounded[] = {ALLOC_INSN(0, 1, 0), ALLOC_INSN(1, 1, 0), ALLOC_INSN(2, 1, 0),
                                      ALLOC_INSN(3, 7 * PAGE, 0), ALLOC_INSN(4, 1, 0)};
    const struct tp_insn exact[] = {ALLOC_INSN(0, 1, 0), ALLOC_INSN(1, 10 * PAGE - 1, 0)};
    const struct tp_insn copied[] = {ALLOC_INSN(0, 6 * PAGE, 0), realloc_insn(0, 10 * PAGE, 0)};
    struct tp_insn adopted[] = {ALLOC_INSN(0, 6 * PAGE + 1, 0), ALLOC_INSN(1, 4 * PAGE - 1, 0)};
    adopted[1].op = TP_ADOPT;
    expect_class(rounded, COUNT(rounded), TP_OOM_FRAGMENTATION);
    expect_class(exact, COUNT(exact), TP_OOM_FRAGMENTATION);
    expect_class(copied, COUNT(copied), TP_OOM_FRAGMENTATION);
    expect_class(adopted, COUNT(adopted), TP_OOM_FRAGMENTATION);
}

/* The device was not asked, and had room. */
TEST_WITH(what_the_device_did_not_refuse_is_strategy, setup, teardown)
{
    const struct tp_insn small[] = {ALLOC_INSN(0, 1, 0), ALLOC_INSN(1, 3 * PAGE, 0)};
    const struct tp_insn grown[] = {ALLOC_INSN(0, 1, 0), realloc_insn(0, 3 * PAGE, 0)};
    how.never_above = 2 * PAGE;
    expect_class(small, COUNT(small), TP_OOM_STRATEGY);
    expect_class(grown, COUNT(grown), TP_OOM_STRATEGY);
}

/* It was not asked, as the strategy knows that it has no room. */
TEST_WITH(what_the_device_has_no_room_for_is_not_strategy, setup, teardown)
{
    const struct tp_insn large[] = {ALLOC_INSN(0, 1, 0), ALLOC_INSN(1, 30 * PAGE, 0)};
    const struct tp_insn rounded[] = {ALLOC_INSN(0, 1, 0), ALLOC_INSN(1, 1, 0),
                                      ALLOC_INSN(2, 8 * PAGE + 1, 0)};
    how.never_above = 2 * PAGE;
    expect_class(large, COUNT(large), TP_OOM_DEMAND);
    expect_class(rounded, COUNT(rounded), TP_OOM_FRAGMENTATION);
}

/* A refusal that the strategy made up for is none; the next one that it decides alone is its own.
 */
TEST_WITH(a_refusal_of_an_earlier_event_does_not_count, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 4 * PAGE, 0), FREE_INSN(0, 4 * PAGE, 0),
                                    ALLOC_INSN(0, 4 * PAGE, 0), FREE_INSN(0, 4 * PAGE, 0),
                                    ALLOC_INSN(0, 3 * PAGE, 0), ALLOC_INSN(1, 7 * PAGE, 0)};
    how.keeps = true;
    how.never_above = 6 * PAGE;
    expect_class(insns, COUNT(insns), TP_OOM_STRATEGY);
}

TEST_WITH(without_a_capacity_the_class_is_unknown, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, PAGE, 0), ALLOC_INSN(1, 2 * PAGE, 0)};
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 0, true));
    uint64_t fault_options[16];
    assert_true(tp_source_fault.opts_size <= sizeof fault_options);
    assert_int_equal(tp_opts_defaults(tp_source_fault.options, fault_options, NULL), TP_OK);
    assert_int_equal(
        tp_opts_parse(tp_source_fault.options, fault_options, "get_at=2", "fault", NULL), TP_OK);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_fault, fault_options};
    const struct tp_device_run *d = replay(&cfg);
    assert_true(d->capacity == TP_NONE && d->first_failure.capacity == TP_NONE);
    assert_fields(*d, failed_by[TP_OOM_UNKNOWN], 1, first_failure.oom_class, TP_OOM_UNKNOWN,
                  first_failed_event, 2);
    struct limit_options limit = {100 * PAGE}; /* known, and not what refused */
    limit_to(&cfg, &limit);
    d = replay(&cfg);
    assert_int_equal(d->failed_by[TP_OOM_FRAGMENTATION], 1);
}

/* Address space of the host is asked for and never written. */
TEST_WITH(who_holds_far_more_than_the_program_needs_is_stopped, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, PAGE, 0), ALLOC_INSN(1, PAGE, 0),
                                    ALLOC_INSN(2, PAGE, 0), FREE_INSN(0, PAGE, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns), 0, true);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &ranges, p, TP_PASS_USAGE);
    cfg.touch = TP_TOUCH_NONE;
    cfg.guard = true;
    how.got_in_init = TP_GUARD_LEAST; /* one range may be as large; the next two pass it */
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(*d, failed_by[TP_OOM_GUARD], 1, failed_allocations, 1, first_failed_event, 2,
                  first_failure.oom_class, TP_OOM_GUARD, peak_reserved, TP_GUARD_LEAST + PAGE);
    cfg.guard = false;
    assert_int_equal(replay(&cfg)->failed_allocations, 0);
    cfg.guard = true;
    struct limit_options limit = {2 * TP_GUARD_LEAST}; /* whoever says so gets as much */
    limit_to(&cfg, &limit);
    assert_int_equal(replay(&cfg)->failed_allocations, 0);
    cfg = on_virtual(p);
    cfg.guard = true;
    assert_int_equal(replay(&cfg)->failed_allocations, 0);
}

/* 16 times of much is more than the least. */
TEST_WITH(what_a_large_program_needs_is_no_excess, setup, teardown)
{
    const uint64_t large = TP_GUARD_LEAST / TP_GUARD_TIMES;
    const struct tp_insn insns[] = {ALLOC_INSN(0, large, 0), ALLOC_INSN(1, PAGE, 0),
                                    ALLOC_INSN(2, large, 0)};
    struct tp_replay_cfg cfg = run_on(
        &tp_source_host, &ranges, program_of(NULL, 0, insns, COUNT(insns), 0, true), TP_PASS_USAGE);
    cfg.touch = TP_TOUCH_NONE;
    cfg.guard = true;
    how.got_in_init = TP_GUARD_LEAST;
    assert_int_equal(replay(&cfg)->failed_allocations, 0);
}

static int foreign_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)st, (void)thr;
    *out = (struct tp_block){PAGE, rq->size};
    return rq->size > PAGE ? TP_EOOM : TP_OK;
}

static int foreign_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)st, (void)thr, (void)addr, (void)rq;
    return TP_OK;
}

TEST_WITH(of_a_real_allocator_the_class_is_unknown, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 2 * PAGE, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns), 0, true);
    struct tp_strategy s = ranges;
    s.caps |= TP_CAP_FOREIGN;
    s.group = TP_GROUP_REAL;
    s.alloc = foreign_alloc;
    s.free = foreign_free;
    s.walk = NULL;
    how.got_in_init = 0;
    const struct tp_replay_cfg cfg = {.program = p, .strategy = &s, .passes = TP_PASS_USAGE};
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->failed_by[TP_OOM_UNKNOWN], 1);
    assert_true(d->first_failure.capacity == TP_NONE);
    assert_int_equal(d->first_failure.size, 2 * PAGE);
}

/* Its size, its time, and the device as the failure left it: what was cached has been given back.
 */
TEST_WITH(the_first_failure_is_kept_with_the_state_of_the_device, setup, teardown)
{
    struct tp_insn insns[] = {ALLOC_INSN(0, 3 * PAGE + 1, 5), ALLOC_INSN(1, 100, 10),
                              FREE_INSN(0, 3 * PAGE + 1, 20), ALLOC_INSN(0, 9 * PAGE + 1, 40),
                              ALLOC_INSN(2, 12 * PAGE, 80),   ALLOC_INSN(3, 9 * PAGE, 1),
                              realloc_insn(1, 20 * PAGE, 1),  FREE_INSN(1, 20 * PAGE, 1)};
    insns[3].align_log2 = 10;
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 0, true));
    struct limit_options limit = {10 * PAGE};
    limit_to(&cfg, &limit);
    how.keeps = true;
    const struct tp_device_run *d = replay(&cfg);
    const struct tp_first_failure *f = &d->first_failure;
    assert_int_equal(d->failed_allocations, 3);
    assert_int_equal(d->failed_by[TP_OOM_FRAGMENTATION], 1); /* event 4: 10 pages beside 1 */
    assert_fields(*d, failed_by[TP_OOM_DEMAND], 2, first_failed_event, 4);
    assert_fields(*f, oom_class, TP_OOM_FRAGMENTATION, size, 9 * PAGE + 1, align, 1024, capacity,
                  10 * PAGE, at.event, 4, at.time_ns, 75, at.requested, 100, at.allocated, PAGE);
    assert_fields(f->at, reserved, PAGE, free_bytes, 0, free_blocks, 0, cached, 0);
    assert_int_equal(run->skipped_operations, 0);
    how.never_above = 9 * PAGE; /* now nobody asks the device: the cache stays */
    d = replay(&cfg);
    assert_fields(*f, oom_class, TP_OOM_FRAGMENTATION, at.reserved, 5 * PAGE, at.free_bytes,
                  4 * PAGE, at.cached, 4 * PAGE, at.free_blocks, 1, at.largest, 4 * PAGE);
    assert_int_equal(d->failed_by[TP_OOM_DEMAND], 2); /* 9 pages are served after a flush */
}

TEST_WITH(the_first_failure_of_a_later_window_has_its_time, setup, teardown)
{
    const uint32_t count = TP_WINDOW_MAX + 10;
    struct tp_insn *insns = calloc(count, sizeof *insns);
    assert_non_null(insns);
    for (uint32_t i = 0; i < count; i++)
        insns[i] =
            i % 2 ? (struct tp_insn)FREE_INSN(0, 64, 2) : (struct tp_insn)ALLOC_INSN(0, 64, 2);
    insns[count - 4] = (struct tp_insn)ALLOC_INSN(0, 9 * PAGE, 2);
    insns[count - 3] = (struct tp_insn)FREE_INSN(0, 9 * PAGE, 2);
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, count, 0, true));
    struct limit_options limit = {8 * PAGE};
    limit_to(&cfg, &limit);
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(*d, first_failed_event, count - 3, first_failure.at.time_ns, 2 * (count - 3),
                  failed_by[TP_OOM_DEMAND], 1);
    assert_int_equal(run->skipped_operations, 1);
    free(insns);
}

TEST_WITH(failures_are_kept_by_device_and_begin_in_the_initial_heap, setup, teardown)
{
    const struct tp_insn before[] = {ALLOC_INSN(0, 2 * PAGE, 0), ALLOC_INSN(1, 9 * PAGE, 0)};
    struct tp_insn insns[] = {ALLOC_INSN(2, PAGE, 3), ALLOC_INSN(3, 11 * PAGE, 4),
                              ALLOC_INSN(4, PAGE, 5)};
    insns[1].device = 1;
    struct tp_replay_cfg cfg = on_virtual(program_of(before, 2, insns, COUNT(insns), 0, true));
    struct limit_options limit = {10 * PAGE};
    limit_to(&cfg, &limit);
    const struct tp_device_run *d = replay(&cfg);
    assert_fields(d[0], failed_allocations, 1, first_failed_event, 0, first_failure.at.event, 0,
                  first_failure.at.requested, 2 * PAGE);
    assert_fields(d[1], failed_allocations, 1, first_failed_event, 2, first_failure.at.time_ns, 7,
                  first_failure.at.requested, 0, failed_by[TP_OOM_DEMAND], 1);
}

TEST_WITH(the_capacity_is_that_of_the_tightest_source, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0)};
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 0, true));
    struct limit_options loose = {50 * PAGE}, tight = {20 * PAGE}, none = {0};
    uint64_t shuffle_options[16] = {1}, no_faults[16] = {0};
    assert_true(replay(&cfg)->capacity == TP_NONE);
    limit_to(&cfg, &none);
    assert_true(replay(&cfg)->capacity == TP_NONE);
    limit_to(&cfg, &tight);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_shuffle, shuffle_options};
    limit_to(&cfg, &loose);
    assert_int_equal(replay(&cfg)->capacity, 20 * PAGE);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_fault, no_faults};
    assert_int_equal(replay(&cfg)->capacity, 20 * PAGE);
}

TEST_WITH(without_failures_nothing_is_said_of_them, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0)};
    struct tp_replay_cfg cfg = on_virtual(program_of(NULL, 0, insns, COUNT(insns), 0, true));
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->failed_allocations, 0);
    assert_true(d->first_failed_event == TP_NONE);
    for (int c = 0; c < TP_OOM_CLASSES; c++) {
        assert_int_equal(d->failed_by[c], 0);
        assert_non_null(tp_oom_names[c]);
    }
    assert_int_equal(d->phase_count, 0);
}

/* ---- calls that are not supported ---- */

static int no_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    return rq->align > 64 ? TP_EUNSUP : ranges.alloc(st, thr, rq, out);
}

static int no_use(void *st, void *thr, tp_addr addr, uint16_t stream)
{
    (void)st, (void)thr, (void)addr, (void)stream;
    return TP_EUNSUP;
}

static int no_sync(void *st, void *thr, uint16_t stream)
{
    (void)st, (void)thr, (void)stream;
    return TP_EUNSUP;
}

static int no_reset(void *st)
{
    (void)st;
    return TP_EUNSUP;
}

static int no_trim(void *st, uint64_t keep)
{
    (void)st, (void)keep;
    return TP_EINVAL;
}

/* Only an alignment may be too much for a strategy; what it does not offer it leaves NULL. */
TEST_WITH(only_what_asks_for_memory_asks_for_an_alignment, setup, teardown)
{
    static const char align[] = "event 2: strategy 'picky' cannot align to 4096 bytes",
                      refused[] =
                          "event 2: strategy 'picky' refused a correct call (not supported)",
                      odd[] = "event 2: strategy 'picky' refused a correct call (wrong argument)";
    static const struct {
        struct tp_insn insn;
        int status;
        const char *says;
    } rows[] = {
        {{.op = TP_ALLOC, .slot = 1, .size = 64, .align_log2 = 12}, TP_EUSAGE, align},
        {{.op = TP_REALLOC, .slot = 0, .size = 128, .align_log2 = 12}, TP_EUSAGE, align},
        {{.op = TP_ADOPT, .slot = 1, .size = 64, .align_log2 = 12}, TP_EUSAGE, align},
        {{.op = TP_USE, .slot = 0}, TP_EBROKEN, refused},
        {{.op = TP_SYNC}, TP_EBROKEN, refused},
        {{.op = TP_RESET}, TP_EBROKEN, refused},
        {{.op = TP_TRIM}, TP_EBROKEN, odd},
    };
    struct tp_strategy picky = ranges;
    picky.name = "picky";
    picky.alloc = no_alloc;
    picky.caps |= TP_CAP_STREAMS;
    picky.use = no_use;
    picky.sync = no_sync;
    picky.reset = no_reset;
    picky.trim = no_trim;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct tp_insn insns[] = {ALLOC_INSN(0, 64, 0), rows[i].insn};
        struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns), 0, true);
        struct tp_replay_cfg cfg = on_virtual(p);
        cfg.strategy = &picky;
        int status = tp_replay(&cfg, run, &err);
        assert_string_equal(err.text, rows[i].says);
        assert_int_equal(status, rows[i].status);
    }
}
