/* The smallest device that serves a program: strategies whose answer is known beforehand. */
#include "tests/unit/ranges.h"

extern const struct tp_source_ops tp_source_host;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bfc, tp_strategy_bump,
    tp_strategy_direct;

static struct tp_replay_cfg on(const struct tp_source_ops *source, const struct tp_strategy *s,
                               struct tp_program *p)
{
    return run_on(source, s, until_the_end(p), TP_PASS_USAGE | TP_PASS_FITS);
}

#define ALLOC_ON(s, bytes, d)                                                                      \
    {                                                                                              \
        .op = TP_ALLOC, .align_log2 = 4, .slot = (s), .size = (bytes), .device = (d)               \
    }

/* Live at once: 5000 and 100, then 100 and 9000, then 9000 alone; then 5000 and 5000. */
static struct tp_program *some_blocks(void)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 5000, 0), ALLOC_INSN(1, 100, 0),  FREE_INSN(0, 5000, 0),
        ALLOC_INSN(0, 9000, 0), FREE_INSN(1, 100, 0),   FREE_INSN(0, 9000, 0),
        ALLOC_INSN(0, 5000, 0), ALLOC_INSN(1, 5000, 0), FREE_INSN(0, 5000, 0)};
    return test_program(insns, COUNT(insns), true);
}

TEST_WITH(a_range_per_block_needs_the_most_that_is_live_in_pages, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, p);
    assert_int_equal(replay(&cfg)->min_capacity, 4 * PAGE);
    assert_true(run->flags & TP_RUN_FITS);
    cfg = on(&tp_source_virtual, &tp_strategy_direct, p);
    assert_int_equal(replay(&cfg)->min_capacity, 4 * PAGE);
}

/* Cached ranges make the peak, and are given back on a device without room for them. */
TEST_WITH(a_cache_that_is_flushed_costs_no_capacity, setup, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, some_blocks());
    how.keeps = how.reuses = true;
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->peak_reserved, 8 * PAGE); /* of 5000 twice, 100, 9000 */
    assert_int_equal(d->min_capacity, 4 * PAGE);
    how.keeps_for_good = true;
    assert_int_equal(replay(&cfg)->min_capacity, 8 * PAGE);
}

/* The answer is the capacity itself: with one page less, an allocation fails. */
TEST_WITH(one_page_less_does_not_fit, setup, teardown)
{
    static const struct tp_strategy *const strategies[] = {&ranges_unwalked, &tp_strategy_arena,
                                                           &tp_strategy_bump, &tp_strategy_direct};
    struct tp_program *p = some_blocks();
    for (size_t i = 0; i < 2 * COUNT(strategies); i++) {
        struct tp_replay_cfg cfg = on(&tp_source_virtual, strategies[i / 2], p);
        how.keeps = how.reuses = i % 2;
        struct limit_options limit = {replay(&cfg)->min_capacity};
        assert_true(limit.capacity != TP_NONE && limit.capacity % PAGE == 0);
        cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
        cfg.passes = TP_PASS_USAGE;
        assert_int_equal(replay(&cfg)->failed_allocations, 0);
        limit.capacity -= PAGE;
        assert_true(replay(&cfg)->failed_allocations > 0);
    }
}

/* Between two sums of blocks nothing changes, however many pages lie there: halving the
 * room between 7 and 22 blocks of 2^20 pages page by page would need 24 replays. */
TEST_WITH(a_replay_answers_for_all_devices_that_it_cannot_tell_apart, setup, teardown)
{
    const uint64_t block = UINT64_C(1) << 32;
    struct tp_insn insns[8];
    for (uint32_t i = 0; i < 8; i += 2) { /* each of its own size: 4, 5, 6 and 7 blocks */
        insns[i] = (struct tp_insn)ALLOC_INSN(0, (4 + i / 2) * block, 0);
        insns[i + 1] = (struct tp_insn)FREE_INSN(0, (4 + i / 2) * block, 0);
    }
    struct tp_replay_cfg cfg =
        on(&tp_source_virtual, &ranges_unwalked, test_program(insns, COUNT(insns), true));
    how.keeps = how.reuses = true;
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->peak_reserved, 22 * block);
    assert_int_equal(d->min_capacity, 7 * block);
    assert_in_range(how.replays, 3, 6); /* the usage pass and the one without a limit among them */
    how.keeps_for_good = true;
    how.replays = 0;
    assert_int_equal(replay(&cfg)->min_capacity, 22 * block);
    assert_in_range(how.replays, 3, 6);
}

TEST_WITH(what_is_never_served_fits_nowhere, setup, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, some_blocks());
    how.never_above = 8999;
    assert_true(replay(&cfg)->min_capacity == TP_NONE);
    assert_true(run->flags & TP_RUN_FITS); /* it was looked for */
}

TEST_WITH(each_device_has_its_own_answer, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_ON(0, 3 * PAGE, 0), ALLOC_ON(1, 20 * PAGE, 2),
                                    ALLOC_ON(2, 5, 2), ALLOC_ON(3, 7 * PAGE, 0)};
    struct tp_replay_cfg cfg =
        on(&tp_source_virtual, &ranges_unwalked, test_program(insns, COUNT(insns), false));
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d[0].min_capacity, 10 * PAGE);
    assert_int_equal(d[1].min_capacity, 0); /* the program does not use it */
    assert_int_equal(d[2].min_capacity, 21 * PAGE);
    how.never_above = 19 * PAGE;
    d = replay(&cfg);
    assert_int_equal(d[0].min_capacity, 10 * PAGE);
    assert_int_equal(d[1].min_capacity, 0);
    assert_true(d[2].min_capacity == TP_NONE);
}

TEST_WITH(an_empty_program_fits_on_no_device_at_all, setup, teardown)
{
    struct tp_replay_cfg cfg =
        on(&tp_source_virtual, &ranges_unwalked, test_program(NULL, 0, true));
    assert_int_equal(replay(&cfg)->min_capacity, 0);
}

/* What is asked is how much memory the strategy needs, not what this machine has. */
TEST_WITH(a_run_on_other_sources_is_answered_by_the_virtual_one, setup, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_host, &ranges_unwalked, some_blocks());
    struct limit_options limit = {PAGE};
    assert_int_equal(replay(&cfg)->min_capacity, 4 * PAGE);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
    assert_int_equal(replay(&cfg)->min_capacity, 4 * PAGE); /* a limit of the run takes no part */
    assert_true(run->devices[0].failed_allocations > 0);
}

TEST_WITH(the_page_of_a_virtual_source_is_kept, setup, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, some_blocks());
    uint64_t options[16];
    assert_int_equal(tp_opts_defaults(tp_source_virtual.options, options, NULL), TP_OK);
    assert_int_equal(tp_opts_parse(tp_source_virtual.options, options, "page=16", "virtual", NULL),
                     TP_OK);
    cfg.layers[0].opts = options;
    assert_int_equal(replay(&cfg)->min_capacity, 5008 + 5008);
}

/* Objects that were there before the recording take part, unless they are left out. */
TEST_WITH(the_initial_heap_needs_room_as_well, setup, teardown)
{
    const struct tp_insn before[] = {ALLOC_INSN(0, 10 * PAGE, 0), ALLOC_INSN(1, 30 * PAGE, 0)};
    const struct tp_insn insns[] = {FREE_INSN(1, 30 * PAGE, 0), ALLOC_INSN(1, 3 * PAGE, 0),
                                    FREE_INSN(1, 3 * PAGE, 0), ALLOC_INSN(1, 2 * PAGE, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked,
                                  program_of(before, COUNT(before), insns, COUNT(insns), 0, false));
    assert_int_equal(replay(&cfg)->min_capacity, 40 * PAGE);
    cfg.drop_initial_heap = true;
    assert_int_equal(replay(&cfg)->min_capacity, 3 * PAGE);
    how.keeps = how.reuses = true; /* its peak is higher: 3 and 2 pages */
    assert_int_equal(replay(&cfg)->min_capacity, 3 * PAGE);
}

/* A strategy that cannot even start on a device does not fit on it; that is no error. */
TEST_WITH(what_a_strategy_needs_to_start_counts, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_program *empty = until_the_end(test_program(NULL, 0, true));
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, p);
    how.got_in_init = PAGE;
    cfg.program = empty;
    assert_int_equal(replay(&cfg)->min_capacity, PAGE);
    cfg.program = p;
    how.got_in_init = 100 * PAGE;
    assert_int_equal(replay(&cfg)->min_capacity, 104 * PAGE);
    cfg.program = empty;
    assert_int_equal(replay(&cfg)->min_capacity, 100 * PAGE);
}

/* Half of any device: it is no error that there is no smallest one to look for. */
TEST_WITH(a_share_of_the_device_has_no_answer, setup, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, some_blocks());
    cfg.layers[1] =
        (struct tp_source_layer){&tp_source_limit, &(struct limit_options){1000 * PAGE}};
    cfg.layer_count = 2;
    how.needs_size = true;
    assert_true(replay(&cfg)->min_capacity == TP_NONE);
    assert_false(run->flags & TP_RUN_FITS);
}

/* It has 3/4 of each device: without a limit it takes 512 pages, of which 3 or all are needed. */
TEST_WITH(a_strategy_that_takes_a_share_is_asked_for_each_size, setup, teardown)
{
    const struct tp_insn few[] = {ALLOC_INSN(0, 3 * PAGE, 0)};
    const struct tp_insn all[] = {ALLOC_INSN(0, 512 * PAGE, 0)};
    uint64_t options[32] = {0};
    assert_true(sizeof options >= tp_strategy_bfc.opts_size);
    assert_int_equal(tp_opts_defaults(tp_strategy_bfc.options, options, NULL), TP_OK);
    assert_int_equal(tp_opts_parse(tp_strategy_bfc.options, options, "flavour=jax", "bfc", NULL),
                     TP_OK);
    struct tp_replay_cfg cfg =
        on(&tp_source_virtual, &tp_strategy_bfc, test_program(few, COUNT(few), true));
    cfg.strategy_opts = options;
    assert_int_equal(replay(&cfg)->min_capacity, 4 * PAGE);
    cfg = on(&tp_source_virtual, &tp_strategy_bfc, test_program(all, COUNT(all), true));
    cfg.strategy_opts = options;
    assert_int_equal(replay(&cfg)->peak_reserved, 512 * PAGE);
    assert_int_equal(run->devices[0].min_capacity, 683 * PAGE);
}

/* A foreign allocator cannot be replayed on virtual memory. */
TEST_WITH(what_needs_memory_of_its_own_has_no_answer, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_strategy s = ranges_unwalked;
    s.caps |= TP_CAP_FOREIGN;
    s.group = TP_GROUP_REAL;
    struct tp_replay_cfg cfg = on(&tp_source_host, &s, p);
    cfg.passes = TP_PASS_FITS;
    run->devices[0].min_capacity = TP_NONE; /* as the usage pass leaves it */
    how.replays = 0;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_true(run->devices[0].min_capacity == TP_NONE);
    assert_false(run->flags & TP_RUN_FITS);
    assert_int_equal(how.replays, 0);
}

TEST_WITH(without_the_pass_there_is_no_answer, setup, teardown)
{
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &ranges_unwalked, some_blocks());
    cfg.passes = TP_PASS_USAGE;
    assert_true(replay(&cfg)->min_capacity == TP_NONE);
    assert_false(run->flags & TP_RUN_FITS);
}
