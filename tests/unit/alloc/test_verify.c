/* The verifying pass: silent on a strategy that keeps its contract, whatever the program does, and
 * right about the event where one is broken. cells.h has a strategy that breaks one rule on
 * demand. */
#include "tests/unit/cells.h"
#include "tests/unit/random_program.h"
#include "tests/unit/twice_mapped.h"

extern const struct tp_source_ops tp_source_host, tp_source_shuffle;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bump, tp_strategy_direct,
    tp_strategy_system;

/* ---- running ---- */

static int setup(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    return new_run();
}

static struct tp_replay_cfg on(const struct tp_source_ops *source, const struct tp_strategy *s,
                               struct tp_program *p)
{
    return run_on(source, s, until_the_end(p), TP_PASS_VERIFY);
}

static void assert_verified(const struct tp_replay_cfg *cfg)
{
    replay(cfg);
    assert_true(run->flags & TP_RUN_VERIFIED);
}

/* The sentence begins with the event and says `what`. */
static void assert_found(const struct tp_replay_cfg *cfg, uint64_t event, const char *what)
{
    char start[64];
    snprintf(start, sizeof start, "event %llu: strategy '%s' ", (unsigned long long)event,
             cfg->strategy->name);
    plan.calls = 0;
    memset(run, 0, tp_run_size(4));
    memset(&err, 0, sizeof err);
    int status = tp_replay(cfg, run, &err);
    if (status != TP_EBROKEN || strncmp(err.text, start, strlen(start)) || !strstr(err.text, what))
        fail_msg("expected \"%s%s\", got %d \"%s\"", start, what, status, err.text);
    assert_false(run->flags & TP_RUN_VERIFIED);
}

static const struct tp_source_ops *const sources[] = {&tp_source_host, &tp_source_virtual};
static const struct tp_strategy *const correct[] = {
    &copying,          &resizing,          &moving, &full, &tp_strategy_arena,
    &tp_strategy_bump, &tp_strategy_direct};

TEST_WITH(what_is_correct_is_verified, setup, teardown)
{
    for (uint64_t number = 1; number <= 4; number++) {
        struct tp_program *p = random_program(number);
        for (size_t i = 0; i < COUNT(sources) * COUNT(correct); i++) {
            struct tp_replay_cfg cfg = on(sources[i % 2], correct[i / 2], p);
            cfg.touch = (enum tp_touch)((number + i) % 3);
            assert_verified(&cfg);
            cfg.drop_initial_heap = true;
            assert_verified(&cfg);
        }
    }
}

/* Several capacities: at some, hardly anything is served, at others a few reallocations fail. */
TEST_WITH(a_full_device_breaks_no_contract, setup, teardown)
{
    uint64_t failed = 0;
    for (uint64_t number = 1; number <= 2; number++) {
        struct tp_program *p = random_program(number);
        for (size_t i = 0; i < COUNT(sources) * COUNT(correct); i++) {
            for (uint64_t capacity = PAGE; capacity < 3 << 20; capacity *= 5) {
                struct tp_replay_cfg cfg = on(sources[i % 2], correct[i / 2], p);
                limit_to(&cfg, &(struct limit_options){capacity});
                cfg.passes = TP_PASS_VERIFY | TP_PASS_USAGE;
                assert_verified(&cfg);
                failed += run->devices[0].failed_allocations;
                cfg.stop_on_oom = true;
                assert_verified(&cfg);
            }
        }
    }
    assert_true(failed > 1000);
}

TEST_WITH(a_real_allocator_is_verified, setup, teardown)
{
    for (uint64_t number = 1; number <= 4; number++) {
        struct tp_replay_cfg cfg = on(&tp_source_host, &tp_strategy_system, random_program(number));
        cfg.layer_count = 0;
        assert_verified(&cfg);
    }
}

TEST_WITH(a_program_that_allocates_nothing_is_verified, setup, teardown)
{
    const struct tp_insn only[] = {ALLOC_INSN(0, 5000, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_host, &full, program_of(NULL, 0, NULL, 0));
    assert_verified(&cfg);
    cfg.program = until_the_end(program_of(only, 1, NULL, 0));
    assert_verified(&cfg);
}

/* ---- blocks ---- */

/* Events:                                 10, 20, 30, 40, 50 */
static struct tp_program *four_blocks(void)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1000, 0), ALLOC_INSN(1, 24, 0),
                                    ALLOC_INSN(2, 640, 0), ALLOC_INSN(3, 300, 0),
                                    FREE_INSN(1, 24, 0)};
    return program_of(NULL, 0, insns, COUNT(insns));
}

TEST_WITH(a_wrong_block_is_found_where_it_is_handed_out, setup, teardown)
{
    static const char foreign[] = "returned memory that is not within one range of its source";
    static const char overlap[] = "returned bytes of the live block of event 10";
    static const struct {
        enum fault fault;
        const char *what;
        bool host_only; /* virtual ranges are no neighbours */
    } rows[] = {{SAME_BLOCK, overlap, false},
                {WITHIN, overlap, false},
                {ACROSS_START, NULL, false}, /* of these two the alignment is wrong as well */
                {ACROSS_END, NULL, false},
                {MISALIGNED, "returned an address that is not aligned to 16", false},
                {TOO_SMALL, "allocated 639 bytes where 640 were requested", false},
                {NO_ADDRESS, "returned an address that no block can have", false},
                {BEYOND_SPACE, "returned an address that no block can have", false},
                {OUTSIDE, foreign, false},
                {BEYOND_RANGE, foreign, false},
                {ACROSS_RANGES, foreign, true},
                {REFUSE_ALLOC, "refused a correct call", false}};
    struct tp_program *p = four_blocks();
    for (size_t i = 0; i < COUNT(rows) * COUNT(sources); i++) {
        const size_t row = i / 2;
        if (rows[row].host_only && i % 2)
            continue;
        struct tp_replay_cfg cfg = on(sources[i % 2], &copying, p);
        plan.fault = rows[row].fault;
        plan.at = 3;
        assert_found(&cfg, 30, rows[row].what ? rows[row].what : "returned");
    }
}

/* With wrappers between: it is the meter on top that knows the ranges. */
TEST_WITH(a_range_is_known_whatever_lies_below_the_meter, setup, teardown)
{
    static uint64_t room[OPTION_WORDS];
    struct tp_program *p = four_blocks();
    for (size_t i = 0; i < COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i], &copying, p);
        cfg.layers[cfg.layer_count++] = (struct tp_source_layer){
            &tp_source_shuffle,
            default_options(tp_source_shuffle.options, tp_source_shuffle.opts_size, room)};
        limit_to(&cfg, &(struct limit_options){1 << 20});
        plan.fault = BEYOND_RANGE;
        plan.at = 2;
        assert_found(&cfg, 20, "is not within one range of its source");
        plan.fault = NO_FAULT;
        assert_verified(&cfg);
    }
}

/* One byte of each is enough; alignment 1 allows it. */
TEST_WITH(an_overlap_of_one_byte_is_found, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 4096, 0),
                                    {.op = TP_ALLOC, .slot = 1, .size = 1},
                                    {.op = TP_ALLOC, .slot = 2, .size = 100},
                                    {.op = TP_ALLOC, .slot = 3, .size = 1}};
    static const enum fault faults[] = {ACROSS_START, ACROSS_END};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < 8; i++) {
        struct tp_replay_cfg cfg = on(sources[i % 2], &copying, p);
        plan.fault = faults[i / 2 % 2];
        plan.at = 3 + i / 4;
        assert_found(&cfg, 10 * plan.at, "returned bytes of the live block of event 10");
    }
}

/* Neither address is in a live block. */
TEST_WITH(memory_that_is_live_at_another_address_is_found, setup, teardown)
{
    const struct tp_insn in_turn[] = {ALLOC_INSN(0, 1000, 0), FREE_INSN(0, 1000, 0),
                                      ALLOC_INSN(1, 5000, 0), FREE_INSN(1, 5000, 0)};
    const struct tp_insn at_once[] = {ALLOC_INSN(0, 1000, 0), ALLOC_INSN(1, 1000, 0)};
    for (size_t i = 0; i < COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i], &twice, program_of(NULL, 0, in_turn, 4));
        assert_verified(&cfg);
        cfg.program = until_the_end(program_of(NULL, 0, at_once, 2));
        assert_found(&cfg, 20, "returned memory that a live block has at another address");
    }
}

TEST_WITH(a_wrong_block_in_the_initial_heap_is_found, setup, teardown)
{
    const struct tp_insn before[] = {ALLOC_INSN(0, 1000, 0), ALLOC_INSN(1, 1000, 0)};
    const struct tp_insn insns[] = {ALLOC_INSN(2, 1000, 0), FREE_INSN(0, 1000, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_host, &copying, program_of(before, 2, insns, 2));
    plan.fault = SAME_BLOCK;
    plan.at = 2;
    assert_found(&cfg, 0, "returned bytes of the live block of event 0");
    plan.at = 3;
    assert_found(&cfg, 10, "returned bytes of the live block of event 0");
}

TEST_WITH(addresses_of_another_device_are_no_overlap, setup, teardown)
{
    const struct tp_insn insns[] = {
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 0, .size = 100, .device = 0},
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 1, .size = 100, .device = 1},
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 2, .size = 100, .device = 1},
        {.op = TP_FREE, .align_log2 = 4, .slot = 0, .size = 100, .device = 0}};
    struct tp_replay_cfg cfg =
        on(&tp_source_virtual, &copying,
           program_of(NULL, 0, insns, COUNT(insns))); /* the same addresses on each */
    assert_verified(&cfg);
    plan.fault = SAME_BLOCK;
    plan.at = 3;
    assert_found(&cfg, 30, "returned bytes of the live block of event 20");
}

/* What was freed or replaced is nobody's: the same bytes may be handed out again. */
TEST_WITH(what_is_gone_may_be_handed_out_again, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 100, 0), {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 50000},
        ALLOC_INSN(1, 100, 0), FREE_INSN(1, 100, 0),
        ALLOC_INSN(1, 100, 0), {.op = TP_RESET},
        ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 100, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(correct); i++) {
        struct tp_replay_cfg cfg = on(&tp_source_host, correct[i], p);
        assert_verified(&cfg);
    }
}

TEST_WITH(the_event_is_right_behind_the_first_window, setup, teardown)
{
    const uint32_t count = TP_WINDOW_MAX + 1000;
    struct tp_insn *insns = calloc(count, sizeof *insns);
    assert_non_null(insns);
    for (uint32_t i = 0; i < count; i++)
        insns[i] =
            i % 2 ? (struct tp_insn)ALLOC_INSN(1, 64, 0) : (struct tp_insn)FREE_INSN(1, 64, 0);
    insns[0] = (struct tp_insn)ALLOC_INSN(0, 64, 0);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &copying, program_of(NULL, 0, insns, count));
    free(insns);
    assert_verified(&cfg);
    plan.fault = SAME_BLOCK;
    plan.at = 2 + (TP_WINDOW_MAX + 100) / 2;
    assert_found(&cfg, (TP_WINDOW_MAX + 102) * EVENTS_PER_INSN,
                 "returned bytes of the live block of event 10");
}

/* ---- contents ---- */

static const uint64_t sizes[] = {1,    2,    7,    8,    9,    15,   16,   4087,  4088,
                                 4089, 4095, 4096, 4097, 8191, 8192, 8193, 12289, (1 << 20) + 3};

static struct tp_insn realloc_insn(uint32_t slot, uint64_t size)
{
    return (struct tp_insn){.op = TP_REALLOC, .align_log2 = 4, .slot = slot, .size = size};
}

/* From every size to every other one. */
TEST_WITH(contents_raise_no_false_alarm, setup, teardown)
{
    struct tp_insn insns[2 * COUNT(sizes) * COUNT(sizes) + 2];
    size_t n = 0;
    insns[n++] = (struct tp_insn)ALLOC_INSN(0, 5, 0);
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = 0; k < COUNT(sizes); k++) {
            insns[n++] = realloc_insn(0, sizes[i]);
            insns[n++] = realloc_insn(0, sizes[k]);
        }
    insns[n++] = (struct tp_insn)FREE_INSN(0, sizes[COUNT(sizes) - 1], 0);
    struct tp_program *p = program_of(NULL, 0, insns, n);
    for (size_t i = 0; i < COUNT(correct); i++) {
        struct tp_replay_cfg cfg = on(&tp_source_host, correct[i], p);
        assert_verified(&cfg);
    }
}

/* Where a byte of a block of this size is watched: all of the first 4096, the first eight of every
 * page, the last one. */
static size_t watched_offsets(uint64_t size, uint64_t out[16])
{
    const uint64_t candidates[] = {
        0,    1,    7,    8,    size / 2 < 4096 ? size / 2 : 2049,          4090,
        4095, 4096, 4103, 8192, size > 4096 ? (size - 1) / 4096 * 4096 : 0, size - 1};
    size_t n = 0;
    for (size_t i = 0; i < COUNT(candidates); i++)
        if (candidates[i] < size)
            out[n++] = candidates[i];
    return n;
}

/* The first block is written into while the second is allocated; what ends it says so. */
static void expect_write_found(enum fault fault, uint64_t size, struct tp_insn last,
                               const struct tp_strategy *s)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, size, 0), ALLOC_INSN(1, 100, 0),
                                    FREE_INSN(1, 100, 0), ALLOC_INSN(1, 100, 0), last};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    struct tp_replay_cfg cfg = on(&tp_source_host, s, p);
    uint64_t offsets[16];
    size_t n = watched_offsets(size, offsets);
    assert_verified(&cfg);
    plan.fault = fault;
    plan.at = fault == WRITE ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        plan.offset = offsets[i];
        assert_found(&cfg, 50, "changed the contents of the block of event 10 while it was live");
    }
    plan.fault = NO_FAULT;
}

TEST_WITH(a_write_into_a_live_block_is_found, setup, teardown)
{
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const struct tp_insn freed = FREE_INSN(0, sizes[i], 0), other = FREE_INSN(1, 100, 0);
        expect_write_found(WRITE, sizes[i], freed, &copying);
        expect_write_found(WRITE_AT_FREE, sizes[i], freed, &copying);
        expect_write_found(WRITE, sizes[i], realloc_insn(0, 3), &moving);
        expect_write_found(WRITE, sizes[i], realloc_insn(0, 3), &copying);
        expect_write_found(WRITE, sizes[i], other, &copying); /* live at the end */
        expect_write_found(WRITE, sizes[i], (struct tp_insn){.op = TP_RESET}, &copying);
        expect_write_found(WRITE, sizes[i], (struct tp_insn){.op = TP_RESET}, &full);
    }
}

/* The block that another one was written into is found first, before anything else is said. */
TEST_WITH(a_write_is_found_on_every_device, setup, teardown)
{
    const struct tp_insn insns[] = {
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 0, .size = 100, .device = 0},
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 1, .size = 100, .device = 1},
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 2, .size = 100, .device = 1, .thread = 1},
        {.op = TP_FREE, .align_log2 = 4, .slot = 0, .size = 100, .device = 0},
        {.op = TP_FREE, .align_log2 = 4, .slot = 1, .size = 100, .device = 1, .thread = 2}};
    struct tp_replay_cfg cfg =
        on(&tp_source_host, &copying, program_of(NULL, 0, insns, COUNT(insns)));
    plan.fault = WRITE;
    plan.at = 3;
    plan.offset = 99;
    assert_found(&cfg, 50, "changed the contents of the block of event 20 while it was live");
}

/* Bytes that are right elsewhere are wrong here. */
TEST_WITH(the_contents_of_another_block_are_found, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 80, 0), ALLOC_INSN(1, 80, 0),
                                    ALLOC_INSN(2, 80, 0), FREE_INSN(0, 80, 0)};
    struct tp_replay_cfg cfg =
        on(&tp_source_host, &copying, program_of(NULL, 0, insns, COUNT(insns)));
    plan.fault = MIX_UP;
    plan.at = 3;
    assert_found(&cfg, 40, "changed the contents of the block of event 10 while it was live");
}

static void expect_loss_found(const struct tp_strategy *s, uint64_t from, uint64_t to)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, from, 0), ALLOC_INSN(1, 64, 0),
                                    realloc_insn(0, to), FREE_INSN(0, to, 0)};
    struct tp_replay_cfg cfg = on(&tp_source_host, s, program_of(NULL, 0, insns, COUNT(insns)));
    uint64_t kept = from < to ? from : to, offsets[16];
    size_t n = watched_offsets(kept, offsets);
    plan.fault = LOSE_BYTE;
    plan.at = 1;
    for (size_t i = 0; i < n; i++) {
        plan.offset = offsets[i];
        if (plan.offset == kept - 1 && kept < from && kept > 4096 && plan.offset % 4096 > 7)
            continue; /* the end of what is kept is no place of the pattern in a longer block */
        assert_found(&cfg, 30, "changed the contents of the block of event 10 when its size chang");
    }
    plan.offset = kept;
    if (kept < to) {
        plan.calls = 0;
        assert_verified(&cfg); /* behind what is kept: nobody's */
    }
    plan.fault = NO_FAULT;
}

TEST_WITH(contents_lost_while_the_size_changes_are_found, setup, teardown)
{
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = 0; k < COUNT(sizes); k++) {
            expect_loss_found(&moving, sizes[i], sizes[k]);
            if (sizes[k] <= sizes[i]) /* always in place */
                expect_loss_found(&resizing, sizes[i], sizes[k]);
        }
}

/* ---- calls ---- */

TEST_WITH(a_refused_call_is_found_before_what_follows_from_it, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 100, 0), {.op = TP_RETAIN, .slot = 0},
        FREE_INSN(1, 100, 0),  {.op = TP_RESET},      ALLOC_INSN(1, 100, 0),
        FREE_INSN(1, 100, 0),  ALLOC_INSN(0, 100, 0)};
    static const struct {
        enum fault fault;
        uint64_t at, event;
    } rows[] = {{REFUSE_ALLOC, 2, 20}, {REFUSE_RETAIN, 1, 30}, {REFUSE_FREE, 1, 40},
                {FULL_AT_FREE, 1, 40}, {REFUSE_RESET, 1, 50},  {REFUSE_FREE, 2, 70}};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(rows) * COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i % 2], &full, p);
        assert_verified(&cfg);
        plan.fault = rows[i / 2].fault;
        plan.at = rows[i / 2].at;
        assert_found(&cfg, rows[i / 2].event, "refused a correct call");
        plan.fault = NO_FAULT;
    }
}

/* A reallocation by copy ends with a free of the old block. */
TEST_WITH(a_refused_free_in_a_reallocation_is_found, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 100, 0),
                                    realloc_insn(0, 200), FREE_INSN(0, 200, 0)};
    static const enum fault faults[] = {REFUSE_FREE, FULL_AT_FREE};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < 4; i++) {
        struct tp_replay_cfg cfg = on(sources[i % 2], &copying, p);
        plan.fault = faults[i / 2];
        plan.at = 1;
        assert_found(&cfg, 30, "refused a correct call");
    }
}

TEST_WITH(a_second_free_that_is_accepted_is_found, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 100, 0),
                                    FREE_INSN(1, 100, 0), FREE_INSN(0, 100, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i], &copying, p);
        plan.fault = ACCEPT_TWICE;
        plan.at = 1;
        assert_found(&cfg, 30, "accepted a second free of the block of event 20");
        plan.at = 2;
        assert_found(&cfg, 40, "accepted a second free of the block of event 10");
    }
}

/* It would be accepted, and is not tried. */
TEST_WITH(a_second_free_is_not_tried_on_an_instance_that_trusts_its_caller, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), FREE_INSN(0, 100, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i], &trusting, p);
        plan.fault = ACCEPT_TWICE;
        plan.at = 1;
        assert_verified(&cfg);
        assert_int_equal(plan.calls, 0);
    }
}

TEST_WITH(arena_without_checks_is_verified, setup, teardown)
{
    for (uint64_t number = 1; number <= 4; number++) {
        struct tp_program *p = random_program(number);
        for (size_t i = 0; i < COUNT(sources); i++) {
            struct tp_replay_cfg cfg = on(sources[i], &tp_strategy_arena, p);
            assert_int_equal(tp_opt_set(tp_opt_find(tp_strategy_arena.options, "checks"),
                                        (void *)(uintptr_t)cfg.strategy_opts, "no", &err),
                             TP_OK);
            assert_verified(&cfg);
        }
    }
}

/* ---- the strategy's own account ---- */

TEST_WITH(books_that_are_wrong_are_found_at_the_end_of_the_window, setup, teardown)
{
    static const struct {
        enum fault fault;
        const char *what;
    } rows[] = {{WALK_MORE, "names 1969 bytes as live where 1968 are"},
                {WALK_LESS, "names 960 bytes as live where 1968 are"},
                {WALK_CACHED, "names 960 bytes as live where 1968 are"},
                {CHECK_FAILS, "finds its own state broken: the cells are crooked"}};
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1000, 0), ALLOC_INSN(1, 24, 0),
                                    ALLOC_INSN(2, 640, 0),  ALLOC_INSN(3, 300, 0),
                                    FREE_INSN(1, 24, 0),    ALLOC_INSN(1, 1, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(rows) * COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i % 2], &copying, p);
        assert_verified(&cfg);
        plan.fault = rows[i / 2].fault;
        assert_found(&cfg, 60, rows[i / 2].what);
        plan.fault = NO_FAULT;
    }
}

static int walk_without_the_rest(void *st, tp_walk_fn *fn, void *ctx)
{
    struct cells *c = st;
    for (int i = 0; i < LIVE_MAX; i++)
        if (c->live[i].addr)
            fn(ctx, TP_WALK_LIVE, c->live[i].addr, c->live[i].allocated);
    return TP_OK;
}

TEST_WITH(bytes_that_no_walk_names_are_found, setup, teardown)
{
    struct tp_strategy s = copying;
    s.walk = walk_without_the_rest;
    struct tp_replay_cfg cfg = on(&tp_source_host, &s, four_blocks());
    assert_found(&cfg, 50, "accounts for 1952 of 36864 bytes of its ranges");
}

/* These have no event: they are found when the strategy is closed. */
TEST_WITH(what_is_kept_at_the_end_is_found, setup, teardown)
{
    static const struct {
        enum fault fault;
        const char *what;
    } rows[] = {{KEEP_RANGE, "strategy 'cells' kept 12288 bytes of the source"},
                {KEEP_META, "strategy 'cells' leaks 24 bytes of its bookkeeping"}};
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1000, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(rows) * COUNT(sources); i++) {
        struct tp_replay_cfg cfg = on(sources[i % 2], &copying, p);
        plan.fault = rows[i / 2].fault;
        memset(run, 0, tp_run_size(4));
        assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
        assert_non_null(strstr(err.text, rows[i / 2].what));
        assert_false(run->flags & TP_RUN_VERIFIED);
    }
}
