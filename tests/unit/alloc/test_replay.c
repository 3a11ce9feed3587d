/* The engine, against a strategy whose every figure can be worked out by hand: each block is a
 * source range of its own, in pages of 4 KiB. */
#include "alloc/engine/replay.h"
#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>

extern const struct tp_source_ops tp_source_virtual, tp_source_limit, tp_source_host;

enum { PAGE = 4096, LIVE_MAX = 64 };

/* What a test wants the strategy to do wrong. */
enum fault { NO_FAULT, REFUSE_FREE, KEEP_RANGE, LIE_IN_WALK };
static enum fault fault;
static int threads_started, threads_ended;

struct paged {
    const struct tp_env *env;
    struct {
        tp_addr addr;
        uint64_t size;
        struct tp_req rq; /* size and align as asked for: free must say the same */
    } live[LIVE_MAX];
};

static uint64_t pages_of(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static int paged_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)opts, (void)err;
    ((struct paged *)st)->env = env;
    return TP_OK;
}

static void paged_fini(void *st)
{
    struct paged *p = st;
    for (int i = 0; i < LIVE_MAX && fault != KEEP_RANGE; i++)
        if (p->live[i].addr)
            tp_src_put(p->env->source, p->live[i].addr, p->live[i].size);
}

static int paged_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct paged *p = st;
    (void)thr;
    int i = 0;
    while (p->live[i].addr)
        i++;
    tp_addr addr;
    int status = tp_src_get(p->env->source, pages_of(rq->size), PAGE, &addr);
    if (status)
        return status;
    p->live[i].addr = addr;
    p->live[i].size = pages_of(rq->size);
    p->live[i].rq = *rq;
    *out = (struct tp_block){addr, pages_of(rq->size)};
    return TP_OK;
}

static int paged_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct paged *p = st;
    (void)thr;
    for (int i = 0; i < LIVE_MAX && fault != REFUSE_FREE; i++) {
        if (p->live[i].addr != addr)
            continue;
        if (p->live[i].rq.size != rq->size || p->live[i].rq.align != rq->align)
            return TP_EINVAL;
        p->live[i].addr = 0;
        return fault == KEEP_RANGE ? TP_OK : tp_src_put(p->env->source, addr, p->live[i].size);
    }
    return TP_EINVAL;
}

static int paged_thread_init(void *st, void *thr)
{
    (void)st;
    assert_int_equal(*(int *)thr, 0); /* zeroed, also after a recycled index */
    *(int *)thr = 1;
    threads_started++;
    return TP_OK;
}

static void paged_thread_fini(void *st, void *thr)
{
    (void)st;
    (void)thr;
    threads_ended++;
}

static int paged_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    struct paged *p = st;
    for (int i = 0; i < LIVE_MAX; i++)
        if (p->live[i].addr)
            fn(ctx, TP_WALK_LIVE, p->live[i].addr, p->live[i].size + (fault == LIE_IN_WALK));
    return TP_OK;
}

static const struct tp_strategy paged = {.name = "paged",
                                         .summary = "a range per block",
                                         .resembles = "nothing",
                                         .to_use = "a test",
                                         .group = TP_GROUP_POLICY,
                                         .caps = TP_CAP_ALIGN,
                                         .state_size = sizeof(struct paged),
                                         .thread_size = sizeof(int),
                                         .init = paged_init,
                                         .fini = paged_fini,
                                         .alloc = paged_alloc,
                                         .free = paged_free,
                                         .thread_init = paged_thread_init,
                                         .thread_fini = paged_thread_fini,
                                         .walk = paged_walk};

struct limit_options {
    uint64_t capacity;
};

static struct tp_run *run;
static struct tp_err err;
static struct tp_clock test_clock;

static int setup(void **state)
{
    (void)state;
    fault = NO_FAULT;
    threads_started = threads_ended = 0;
    memset(&err, 0, sizeof err);
    run = calloc(2, tp_run_size(4));
    return run ? tp_clock_calibrate(&test_clock, NULL) : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(run);
    return 0;
}

static struct tp_replay_cfg on(const struct tp_source_ops *source, struct tp_program *p)
{
    static uint64_t virtual_options[16]; /* zeroed: filled from the rows below */
    memset(virtual_options, 0, sizeof virtual_options);
    assert_true(source->opts_size <= sizeof virtual_options);
    assert_int_equal(tp_opts_defaults(source->options, virtual_options, NULL), TP_OK);
    return (struct tp_replay_cfg){.program = p,
                                  .strategy = &paged,
                                  .layers = {{source, virtual_options}},
                                  .layer_count = 1,
                                  .clock = &test_clock,
                                  .touch = TP_TOUCH_FIRST,
                                  .passes = TP_PASS_USAGE,
                                  .min_time_ns = 2000000,
                                  .min_replays = 5,
                                  .repeat = 1};
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

TEST_WITH(usage_is_what_can_be_worked_out_by_hand, setup, teardown)
{
    struct tp_program *p = five_events();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    const struct tp_device_run *d = &run->devices[0];
    assert_int_equal(d->trace_peak_requested, 5100);
    assert_int_equal(d->peak_requested, 5100);
    assert_int_equal(d->peak_requested_event, 2);
    assert_int_equal(d->peak_granted, 3 * PAGE);
    assert_int_equal(d->peak_reserved, 3 * PAGE); /* 5000 and 100; again while 100 became 5000 */
    assert_int_equal(d->peak_reserved_event, 2);
    assert_int_equal(d->end_reserved, 0);
    assert_int_equal(d->gets, 3);
    assert_int_equal(d->puts, 3);
    assert_int_equal(d->get_bytes, 5 * PAGE);
    assert_int_equal(d->put_bytes, 5 * PAGE);
    assert_int_equal(d->allocations, 3);
    assert_int_equal(d->reused, 0);
    assert_int_equal(d->failed_allocations, 0);
    assert_true(d->first_failed_event == TP_NONE);
    assert_int_equal(d->at_peak.event, 2);
    assert_int_equal(d->at_peak.time_ns, 10);
    assert_int_equal(d->at_peak.requested, 5100);
    assert_int_equal(d->at_peak.granted, 3 * PAGE);
    assert_int_equal(d->at_peak.reserved, 3 * PAGE);
    assert_int_equal(d->at_peak.idle, 0);
    assert_int_equal(d->at_peak.pieces, 0);
    near(d->internal_fragmentation, 1 - 5100.0 / (3 * PAGE));
    near(d->internal_fragmentation_weighted, 1 - (5000.0 + 5100 + 100 + 5000) / (8.0 * PAGE));
    near(d->unused_reserved, 0);
    assert_true(isnan(d->external_fragmentation));
    assert_true(run->flags & TP_RUN_WEIGHT_TIME);
    assert_true(d->overhead > 3.0 * PAGE / 5100); /* and the strategy's own state */
    tp_program_release(p);
}

TEST_WITH(realloc_needs_both_blocks_at_once, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 2 * PAGE, 0),
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 3 * PAGE},
        FREE_INSN(0, 3 * PAGE, 0)};
    struct tp_program *p = test_program(insns, 3, true);
    struct tp_replay_cfg cfg = on(&tp_source_host, p);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->devices[0].peak_requested, 3 * PAGE); /* changes once */
    assert_int_equal(run->devices[0].peak_granted, 5 * PAGE);
    assert_int_equal(run->devices[0].peak_reserved, 5 * PAGE);
    assert_int_equal(run->devices[0].at_peak.reserved, 3 * PAGE);
    tp_program_release(p);
}

/* Whether the realloc succeeds or not, each free names size and alignment of the block it frees. */
TEST_WITH(a_realloc_may_change_the_alignment, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 2 * PAGE, 0),
        {.op = TP_REALLOC, .align_log2 = 12, .slot = 0, .size = 3 * PAGE},
        {.op = TP_FREE, .align_log2 = 12, .slot = 0, .size = 3 * PAGE}};
    struct tp_program *p = test_program(insns, 3, true);
    for (uint64_t pages = 5; pages >= 4; pages--) {
        struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
        struct limit_options limit = {pages * PAGE};
        cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
        if (tp_replay(&cfg, run, &err))
            fail_msg("%s", err.text);
        assert_int_equal(run->devices[0].failed_allocations, pages == 4);
    }
    tp_program_release(p);
}

TEST_WITH(a_full_device_is_data_and_its_objects_are_skipped, setup, teardown)
{
    struct tp_program *p = five_events();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    struct limit_options limit = {2 * PAGE};
    assert_int_equal(tp_source_limit.opts_size, sizeof limit);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
    cfg.passes = TP_PASS_ALL;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    const struct tp_device_run *d = &run->devices[0];
    assert_int_equal(d->failed_allocations, 1);
    assert_int_equal(d->first_failed_event, 2);
    assert_int_equal(run->skipped_operations, 2);
    assert_int_equal(d->trace_peak_requested, 5100);
    assert_int_equal(d->peak_requested, 5000);
    assert_true(isnan(d->overhead));
    /* neither the failed call nor the skipped ones are in the latencies */
    assert_int_equal(run->latency.kinds[TP_LAT_ALLOC].hist.count, run->latency.replays);
    assert_int_equal(run->latency.kinds[TP_LAT_FREE].hist.count, run->latency.replays);
    assert_int_equal(run->latency.kinds[TP_LAT_REALLOC].hist.count, 0);
    tp_program_release(p);
}

TEST_WITH(on_oom_stop_ends_the_replay_there, setup, teardown)
{
    struct tp_program *p = five_events();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    struct limit_options limit = {2 * PAGE};
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
    cfg.stop_on_oom = true;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->devices[0].failed_allocations, 1);
    assert_int_equal(run->skipped_operations, 0);
    assert_int_equal(run->devices[0].end_reserved, 2 * PAGE); /* event 3 was not played */
    tp_program_release(p);
}

TEST_WITH(a_refused_correct_free_is_a_bug_and_names_the_event, setup, teardown)
{
    struct tp_program *p = five_events();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    fault = REFUSE_FREE;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "event 3"));
    assert_non_null(strstr(err.text, "'paged'"));
    tp_program_release(p);
}

TEST_WITH(memory_that_is_kept_at_the_end_is_a_bug, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 5000, 0)};
    struct tp_program *p = test_program(insns, 1, true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    fault = KEEP_RANGE;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "kept 16384 bytes"));
    tp_program_release(p);
}

TEST_WITH(books_that_do_not_add_up_are_a_bug, setup, teardown)
{
    struct tp_program *p = five_events();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    fault = LIE_IN_WALK;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "accounts for 12290 of 12288"));
    tp_program_release(p);
}

TEST_WITH(reset_without_a_member_frees_every_live_object_as_one_operation, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 100, 0), {.op = TP_RESET}, ALLOC_INSN(0, 100, 0)};
    struct tp_program *p = test_program(insns, 4, true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    cfg.passes = TP_PASS_ALL;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->devices[0].peak_reserved, 2 * PAGE);
    assert_int_equal(run->devices[0].end_reserved, PAGE);
    assert_int_equal(run->devices[0].puts, 2);
    assert_int_equal(run->latency.kinds[TP_LAT_OTHER].hist.count, run->latency.replays);
    tp_program_release(p);
}

TEST_WITH(a_thread_that_ends_starts_anew, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 100, 0),
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 1, .size = 100, .thread = 1},
        {.op = TP_THREAD_END, .thread = 1},
        {.op = TP_FREE, .align_log2 = 4, .slot = 1, .size = 100, .thread = 1}};
    struct tp_program *p = test_program(insns, 4, true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(threads_started, 4); /* the usage pass plays twice */
    assert_int_equal(threads_ended, 4);
    tp_program_release(p);
}

TEST_WITH(trim_without_a_member_is_skipped_and_counted, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), {.op = TP_TRIM}, FREE_INSN(0, 100, 0)};
    struct tp_program *p = test_program(insns, 3, true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->skipped_trims, 1);
    tp_program_release(p);
}

TEST_WITH(without_times_weights_are_events_and_the_clock_is_synthetic, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0), ALLOC_INSN(1, 300, 0),
                                    FREE_INSN(0, 100, 0), FREE_INSN(1, 300, 0)};
    struct tp_program *p = test_program(insns, 4, false);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    near(run->devices[0].internal_fragmentation_weighted,
         1 - (100.0 + 400 + 300) / (PAGE + 2.0 * PAGE + PAGE));
    assert_false(run->flags & TP_RUN_WEIGHT_TIME);
    assert_true(run->flags & TP_RUN_SYNTHETIC_TIME);
    tp_program_release(p);
}

static struct tp_program *with_prologue(void)
{
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    const struct tp_insn before = ALLOC_INSN(0, 10000, 0), alloc = ALLOC_INSN(1, 100, 0);
    const struct tp_insn gone = FREE_INSN(0, 10000, 0);
    assert_int_equal(tp_builder_new(&(struct tp_builder_cfg){0}, &b, &err), TP_OK);
    assert_int_equal(tp_builder_prologue(b, &before, &err), TP_OK);
    assert_int_equal(tp_builder_add(b, &gone, 1, &err), TP_OK);
    assert_int_equal(tp_builder_add(b, &alloc, 2, &err), TP_OK);
    assert_int_equal(tp_builder_finish(b, &(struct tp_builder_end){.events = 2}, &p, &err), TP_OK);
    return p;
}

TEST_WITH(a_prologue_counts_as_memory_and_as_nothing_else, setup, teardown)
{
    struct tp_program *p = with_prologue();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    cfg.passes = TP_PASS_ALL;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    const struct tp_device_run *d = &run->devices[0];
    assert_int_equal(d->peak_reserved, 3 * PAGE);
    assert_int_equal(d->peak_reserved_event, 0);
    assert_int_equal(d->at_peak.event, 0);
    assert_int_equal(d->at_peak.requested, 10000);
    assert_int_equal(d->allocations, 1);
    assert_int_equal(d->gets, 1);
    assert_int_equal(run->latency.kinds[TP_LAT_ALLOC].hist.count, run->latency.replays);
    cfg.drop_prologue = true;
    memset(run, 0, tp_run_size(1));
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(d->peak_reserved, PAGE);
    assert_int_equal(run->skipped_operations, 1); /* the free of what was not placed */
    tp_program_release(p);
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

TEST_WITH(passes_cover_every_operation_of_every_window, setup, teardown)
{
    const uint32_t events = 2 * TP_WINDOW_MAX + 10;
    struct tp_program *p = long_program(events);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    cfg.passes = TP_PASS_ALL;
    cfg.min_time_ns = UINT64_C(500000000);
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_true(run->throughput.runs.total >= 5);
    assert_true(run->throughput.engine.total >= 3);
    assert_true(tp_series_median(&run->throughput.runs).median > 0);
    assert_true(run->throughput.cold_ns_per_op > 0);
    assert_int_equal(run->latency.kinds[TP_LAT_ALLOC].hist.count,
                     run->latency.replays * (events / 2));
    assert_int_equal(run->latency.kinds[TP_LAT_FREE].hist.count,
                     run->latency.replays * (events / 2));
    assert_int_equal(run->latency.slowest_count, TP_SLOWEST);
    for (int i = 0; i < TP_SLOWEST; i++) {
        assert_true(run->latency.slowest[i].event >= 1 && run->latency.slowest[i].event <= events);
        assert_true(!i || run->latency.slowest[i].ns <= run->latency.slowest[i - 1].ns);
    }
    assert_int_equal(run->devices[0].gets, events / 2);
    tp_program_release(p);
}

TEST_WITH(a_program_longer_than_min_time_is_played_once_per_repeat, setup, teardown)
{
    struct tp_program *p = long_program(20000);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    cfg.passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY;
    cfg.min_time_ns = 1;
    cfg.repeat = 3;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_true(run->flags & TP_RUN_PLAYED_ONCE);
    assert_int_equal(run->throughput.runs.total, 3);
    assert_int_equal(run->latency.replays, 1);
    tp_program_release(p);
}

TEST_WITH(latencies_of_a_long_program_are_those_of_its_beginning, setup, teardown)
{
    struct tp_program *p = long_program(3 * TP_WINDOW_MAX);
    uint64_t events = tp_program_facts(p)->operations, count = 0;
    struct tp_replay_cfg cfg = on(&tp_source_virtual, p);
    cfg.passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY;
    cfg.min_time_ns = 1;
    cfg.repeat = 1;
    cfg.latency_operations = TP_WINDOW_MAX + 1; /* the window in which it is reached is played */
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    for (int k = 0; k < TP_LAT_KINDS; k++)
        count += run->latency.kinds[k].hist.count;
    assert_true(events > 2 * TP_WINDOW_MAX);
    assert_int_equal(count, run->latency.replays * 2 * TP_WINDOW_MAX);
    assert_int_equal(run->latency.sampled, cfg.latency_operations);
    cfg.latency_operations = events;
    memset(run, 0, tp_run_size(1));
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->latency.sampled, 0);
    tp_program_release(p);
}

/* The empty strategy, played beside it, has one block of 64 bytes: a sanitizer sees more than that.
 */
TEST_WITH(touching_every_page_touches_the_strategys_blocks_alone, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 1000 * PAGE, 0),
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 2000 * PAGE},
        FREE_INSN(0, 2000 * PAGE, 0)};
    struct tp_program *p = test_program(insns, 3, true);
    struct tp_replay_cfg cfg = on(&tp_source_host, p);
    cfg.touch = TP_TOUCH_ALL;
    cfg.passes = TP_PASS_ALL;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->devices[0].peak_reserved, 3000 * PAGE);
    tp_program_release(p);
}
