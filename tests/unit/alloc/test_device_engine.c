/* The engine on a real device, which is a double here that writes every call down: what is queued
 * and when, for how long, outside which time; a device that is lost and a user who asks to stop at
 * every single call of every pass; what is reported of a device. */
#include "tests/unit/device_double.h"
#include "tests/unit/occurrences.h"
#include "tests/unit/one_run.h"

extern const struct tp_strategy tp_strategy_direct, tp_strategy_stream_pool;

#define ALL_PASSES (TP_PASS_ALL | TP_PASS_VERIFY | TP_PASS_FITS)

static struct tp_clock test_clock;

static int calibrate(void **state)
{
    (void)state;
    return tp_clock_calibrate(&test_clock, &err);
}

static int setup(void **state)
{
    (void)state;
    bench_reset();
    return new_run();
}

/* ---- programs ---- */

#define INSN(OP, SLOT, STREAM, SIZE, GAP)                                                          \
    {                                                                                              \
        .op = (OP), .align_log2 = 8, .slot = (SLOT), .stream = (STREAM), .size = (SIZE),           \
        .gap_ns = (GAP)                                                                            \
    }

struct recipe {
    const struct tp_insn *insns;
    size_t count;
    size_t initial_heap; /* the first ones of them */
    bool untimed;
};

static struct tp_program *cook(struct recipe r)
{
    return until_the_end(program_of_parts((struct program_parts){.kind = TP_KIND_DEVICE,
                                                                 .before = r.insns,
                                                                 .before_count = r.initial_heap,
                                                                 .insns = r.insns + r.initial_heap,
                                                                 .count = r.count - r.initial_heap,
                                                                 .timed = !r.untimed}));
}

static const struct tp_insn streams_insns[] = {
    INSN(TP_ALLOC, 0, 0, 500, 0),                             /* 0 ns */
    INSN(TP_ALLOC, 1, 1, 1000, 100),                          /* 100 */
    INSN(TP_ALLOC, 2, 0, 2000, 200),                          /* 300 */
    INSN(TP_USE, 0, 1, 0, 300),                               /* 600 */
    INSN(TP_FREE, 0, 1, 500, 300),                            /* 900 */
    INSN(TP_SYNC, 0, 0, 0, 100),                              /* 1000 */
    INSN(TP_REALLOC, 1, 0, 5000, 50),                         /* 1050: it moves */
    INSN(TP_REALLOC, 1, 0, 5050, 10),                         /* 1060: it does not */
    {.op = TP_NOTE, .gap_ns = 40},                            /* 1100: of no stream */
    {.op = TP_SYNC, .stream = TP_ALL_STREAMS, .gap_ns = 950}, /* 2050 */
    INSN(TP_ALLOC, 0, 2, 512, 10), /* 2060: nothing of its stream follows */
    INSN(TP_FREE, 2, 0, 2000, 40), /* 2100 */
};
static const struct recipe streams_recipe = {streams_insns, COUNT(streams_insns), 0, false};

static struct tp_replay_cfg on_double(const struct tp_strategy *s, struct tp_program *p,
                                      unsigned passes)
{
    struct tp_replay_cfg cfg = run_on(&device_double, s, p, passes);
    cfg.clock = &test_clock;
    cfg.occupy = TP_OCCUPY_SPIN;
    cfg.occupy_scale = 1;
    cfg.min_time_ns = 1;
    cfg.min_replays = 2;
    cfg.repeat = 2;
    return cfg;
}

static void nothing_is_open(void)
{
    assert_fields(bench, open, 0, pools_open, 0);
}

/* ---- what is queued ---- */

/* The blocks that are in use when the program ends are freed behind a wait, and nothing is pending
 * when the next replay begins. */
static const char streams_log[] = "0 get A 512\n0 work s0 A 300\n"
                                  "0 get B 1024\n0 work s1 B 500\n"
                                  "0 get C 2048\n0 work s0 C 700\n"
                                  "0 follow s1 s0\n0 work s1 A 300\n"
                                  "0 follow s1 s0\n0 put A\n"
                                  "0 drain s0\n0 sync s0\n"
                                  "0 follow s0 s1\n0 get D 5120\n0 put B\n0 work s0 D 10\n"
                                  "0 drain all\n0 sync all\n"
                                  "0 get E 512\n0 work s2 E 40\n"
                                  "0 put C\n"
                                  "0 sync all\n0 put E\n0 put D\n0 sync all\n";

TEST_WITH(calls_come_in_the_order_of_the_recorded_program, setup, teardown)
{
    struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, cook(streams_recipe), TP_PASS_USAGE);
    replay(&cfg);
    assert_string_equal(bench.log, streams_log);
    assert_int_equal(bench.streams, 3);
    nothing_is_open();
}

/* Both timed passes, as often as they replay; of the empty strategy nothing is queued. */
TEST_WITH(every_pass_keeps_the_device_as_busy, setup, teardown)
{
    struct tp_program *p = cook(streams_recipe);
    for (unsigned pass = TP_PASS_THROUGHPUT; pass <= TP_PASS_LATENCY; pass *= 2) {
        bench_reset();
        struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, p, pass);
        cfg.min_time_ns = 100000;
        replay(&cfg);
        size_t times = occurrences(bench.log, streams_log);
        assert_true(times >= 2);
        assert_int_equal(bench.log_size, times * strlen(streams_log));
        nothing_is_open();
    }
}

TEST_WITH(without_occupation_only_the_program_waits, setup, teardown)
{
    struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, cook(streams_recipe), ALL_PASSES);
    cfg.occupy = TP_OCCUPY_NONE;
    replay(&cfg);
    assert_int_equal(bench.works, 0);
    assert_null(strstr(bench.log, "follow"));
    assert_non_null(strstr(bench.log, "0 put A\n0 drain s0\n0 sync s0\n0 get D 5120\n"));
}

TEST_WITH(reset_waits_for_the_device, setup, teardown)
{
    const struct tp_insn insns[] = {INSN(TP_ALLOC, 0, 0, 512, 0),
                                    INSN(TP_ALLOC, 1, 1, 512, 10),
                                    {.op = TP_RESET, .gap_ns = 10},
                                    INSN(TP_ADOPT, 0, 1, 512, 10),
                                    INSN(TP_FREE, 0, 0, 512, 30)};
    struct tp_replay_cfg cfg = on_double(
        &tp_strategy_direct, cook((struct recipe){insns, COUNT(insns), 0, false}), TP_PASS_USAGE);
    replay(&cfg);
    assert_string_equal(bench.log, "0 get A 512\n0 work s0 A 60\n0 get B 512\n0 work s1 B 20\n"
                                   "0 drain all\n0 put A\n0 put B\n"
                                   "0 get A 512\n0 work s1 A 30\n0 follow s0 s1\n0 put A\n"
                                   "0 sync all\n0 sync all\n");
}

/* What was live before the recording began has a stream, and no work. */
TEST_WITH(the_initial_heap_is_not_worked_on, setup, teardown)
{
    const struct tp_insn insns[] = {INSN(TP_ALLOC, 0, 0, 512, 0), INSN(TP_ALLOC, 1, 1, 512, 0),
                                    INSN(TP_FREE, 0, 1, 512, 10), INSN(TP_USE, 1, 0, 0, 10),
                                    INSN(TP_FREE, 1, 1, 512, 5)};
    struct tp_replay_cfg cfg = on_double(
        &tp_strategy_direct, cook((struct recipe){insns, COUNT(insns), 2, false}), TP_PASS_USAGE);
    const struct tp_device_run *d = replay(&cfg);
    assert_string_equal(bench.log, "0 get A 512\n0 get B 512\n"
                                   "0 follow s1 s0\n0 put A\n"
                                   "0 follow s0 s1\n0 work s0 B 5\n"
                                   "0 put B\n0 sync all\n0 sync all\n");
    assert_fields(d->measured.driver, works, 1, event_waits, 2);
    /* two follows, two puts and a work: looks at the memory are none of the program's */
    assert_int_equal(d->measured.driver.calls, 5);
}

static uint32_t works_of(const struct recipe *r, double scale, uint32_t ns[], uint32_t max)
{
    bench_reset();
    struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, cook(*r), TP_PASS_USAGE);
    cfg.occupy_scale = scale;
    replay(&cfg);
    uint32_t n = 0;
    for (const char *at = bench.log; (at = strstr(at, " work s")); at++) {
        unsigned stream, value;
        char name;
        assert_int_equal(sscanf(at, " work s%u %c %u", &stream, &name, &value), 3);
        if (n < max)
            ns[n] = value;
        n++;
    }
    return n;
}

TEST_WITH(works_are_scaled_and_bounded, setup, teardown)
{
    const struct tp_insn insns[] = {INSN(TP_ALLOC, 0, 0, 512, 0), INSN(TP_ALLOC, 1, 0, 512, 1001),
                                    INSN(TP_FREE, 0, 0, 512, UINT32_MAX),
                                    INSN(TP_FREE, 1, 0, 512, 7)};
    const struct recipe timed = {insns, COUNT(insns), 0, false}, untimed = {insns, 4, 0, true};
    const struct {
        double scale;
        uint32_t first, second, unknown;
    } cases[] = {{1, 1001, TP_OCCUPY_MAX_NS, 1000},
                 {0.5, 500, TP_OCCUPY_MAX_NS, 500},
                 {1e-6, 0, 4294, 0},
                 {1e300, TP_OCCUPY_MAX_NS, TP_OCCUPY_MAX_NS, TP_OCCUPY_MAX_NS},
                 {0, 0, 0, 0},
                 {-1, 0, 0, 0},
                 {NAN, 0, 0, 0},
                 {INFINITY, TP_OCCUPY_MAX_NS, TP_OCCUPY_MAX_NS, TP_OCCUPY_MAX_NS}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t ns[2];
        assert_int_equal(works_of(&timed, cases[i].scale, ns, 2), 2);
        assert_int_equal(ns[0], cases[i].first);
        assert_int_equal(ns[1], cases[i].second);
        assert_int_equal(works_of(&untimed, cases[i].scale, ns, 2), 2);
        assert_int_equal(ns[0], cases[i].unknown);
        assert_int_equal(ns[1], cases[i].unknown);
    }
}

/* The last of a window has what is left of the window, and the next window knows nothing of it:
 * pairs on stream 0 every 10 ns, one block on stream 1 that is used in both windows. */
TEST_WITH(a_window_ends_the_work_that_is_known, setup, teardown)
{
    enum { LENGTH = TP_WINDOW_MAX + 10, AT = TP_WINDOW_MAX - 5 };
    struct tp_insn *insns = calloc(LENGTH, sizeof *insns);
    assert_non_null(insns);
    for (uint32_t i = 0; i < LENGTH; i++) {
        uint32_t pair = i < AT ? i : i - 1;
        insns[i] = (struct tp_insn)INSN(pair % 2 ? TP_FREE : TP_ALLOC, 0, 0, 512, 10);
    }
    insns[AT] = (struct tp_insn)INSN(TP_ALLOC, 1, 1, 512, 10);
    insns[LENGTH - 1] = (struct tp_insn)INSN(TP_FREE, 1, 1, 512, 10);
    static uint32_t ns[LENGTH];
    uint32_t n = works_of(&(struct recipe){insns, LENGTH, 0, false}, 1, ns, LENGTH);
    assert_int_equal(n, LENGTH / 2);
    bool seen_long = false, seen_end = false;
    for (uint32_t i = 0; i < n; i++) {
        seen_long |= ns[i] == (TP_WINDOW_MAX - 1 - AT) * 10;
        seen_end |= ns[i] == 0;
        assert_true(ns[i] == 10 || ns[i] == 40 || ns[i] == 0 || ns[i] == 20);
    }
    assert_true(seen_long);
    assert_true(seen_end);
    free(insns);
}

/* ---- the time of it ---- */

/* A work and a synchronisation of 300 us each would stand out by far in a reading of any of them.
 */
TEST_WITH(what_is_queued_is_in_no_time, setup, teardown)
{
    enum { BUSY_NS = 300000 };
    struct tp_program *p = cook(streams_recipe);
    for (int occupy = TP_OCCUPY_NONE; occupy <= TP_OCCUPY_SPIN; occupy += TP_OCCUPY_SPIN) {
        bench_reset();
        struct tp_replay_cfg cfg =
            on_double(&tp_strategy_direct, p, TP_PASS_THROUGHPUT | TP_PASS_LATENCY);
        cfg.occupy = (enum tp_occupy)occupy;
        cfg.min_time_ns = 20 * BUSY_NS;
        bench.logging = false;
        bench.work_ns = BUSY_NS;
        replay(&cfg);
        assert_true(bench.works || !occupy);
        assert_true(run->throughput.runs.total >= 2);
        /* in time, a replay of 11 operations would take 2 of them at least */
        assert_true(tp_series_median(&run->throughput.runs).median < BUSY_NS / 11.);
        for (int k = 0; k < TP_LAT_KINDS; k++)
            assert_true(tp_hist_quantile(&run->latency.kinds[k].hist, 0.5) < BUSY_NS / 2);
        assert_int_equal(run->latency.kinds[TP_LAT_SYNC].hist.count, 2 * run->latency.replays);
        assert_int_equal(run->latency.kinds[TP_LAT_OTHER].hist.count, run->latency.replays);
    }
}

/* A synchronisation whose waiting is over: what it does then, such as emptying a pool, is in the
 * time of the SYNC, of which the program has two among its 11 operations. */
TEST_WITH(what_a_synchronisation_does_is_in_its_time, setup, teardown)
{
    enum { BUSY_NS = 300000 };
    struct tp_replay_cfg cfg =
        on_double(&tp_strategy_direct, cook(streams_recipe), TP_PASS_THROUGHPUT | TP_PASS_LATENCY);
    bench.logging = false;
    bench.sync_ns = BUSY_NS;
    replay(&cfg);
    assert_true(tp_series_median(&run->throughput.runs).median > BUSY_NS / 11.);
    for (int k = 0; k < TP_LAT_KINDS; k++)
        if (run->latency.kinds[k].hist.count)
            assert_int_equal(tp_hist_quantile(&run->latency.kinds[k].hist, 0.5) > BUSY_NS / 2,
                             k == TP_LAT_SYNC);
}

/* ---- a device that is lost ---- */

static const struct tp_strategy *const strategies[] = {&tp_strategy_direct,
                                                       &tp_strategy_stream_pool, &pooled};
static const unsigned passes_alone[] = {TP_PASS_VERIFY, TP_PASS_USAGE, TP_PASS_THROUGHPUT,
                                        TP_PASS_LATENCY};

/* "event 3: ", "after the last event: " or nothing stands before the device's own sentence. */
static void check_sentence(uint64_t call, uint64_t events)
{
    char sentence[80], opening[80];
    unsigned event;
    snprintf(sentence, sizeof sentence, "device 0 is gone since call %u", (unsigned)call);
    snprintf(opening, sizeof opening, "no device answers call %u", (unsigned)call);
    const char *at = strstr(err.text, sentence);
    if (!at) {
        if (strcmp(err.text, opening) != 0)
            assert_string_equal(err.text, "the device failed while its memory was given back");
        return;
    }
    assert_string_equal(at, sentence);
    if (at == err.text || !strncmp(err.text, "after the last event: ", 22))
        return;
    assert_int_equal(sscanf(err.text, "event %u: ", &event), 1);
    assert_true(event >= 1 && event <= events);
}

/* Fails each call of a pass in turn, until there are no more of them. */
TEST_WITH(a_lost_device_ends_every_pass, setup, teardown)
{
    struct tp_program *p = cook(streams_recipe);
    for (size_t s = 0; s < COUNT(strategies); s++)
        for (size_t i = 0; i < COUNT(passes_alone); i++)
            for (uint64_t n = 1;; n++) {
                bench_reset();
                bench.fail_at = n;
                struct tp_replay_cfg cfg = on_double(strategies[s], p, passes_alone[i]);
                memset(run, 0, tp_run_size(RUN_DEVICES));
                memset(&err, 0, sizeof err);
                int status = tp_replay(&cfg, run, &err);
                nothing_is_open();
                if (!bench.any_fault) {
                    assert_int_equal(status, TP_OK);
                    assert_true(n > 20);
                    break;
                }
                if (status != TP_EDEVICE)
                    fail_msg("%s, pass %u, call %u: %s", strategies[s]->name, passes_alone[i],
                             (unsigned)n, err.text);
                check_sentence(n, streams_recipe.count);
            }
}

static void check_event_of_loss(struct tp_program *p, unsigned pass, const char *before,
                                const char *text)
{
    const struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, p, pass);
    size_t want = strlen(before);
    uint64_t n = 0;
    do { /* the first call before which this is what the log ends with */
        bench_reset();
        bench.fail_at = ++n;
        memset(run, 0, tp_run_size(RUN_DEVICES));
        assert_int_equal(tp_replay(&cfg, run, &err), TP_EDEVICE);
    } while (bench.log_size < want || strcmp(bench.log + bench.log_size - want, before) != 0);
    assert_true(strlen(err.text) > strlen(text));
    err.text[strlen(text)] = '\0';
    assert_string_equal(err.text, text);
    nothing_is_open();
}

/* The event is the one during which it was seen: in its call, in its work, in the order before it.
 */
TEST_WITH(the_event_of_the_loss_is_named, setup, teardown)
{
    const struct {
        const char *before; /* what has been written down when the next call fails */
        const char *text;
    } cases[] = {{"0 work s0 A 300\n", "event 2: "}, /* get */
                 {"0 get B 1024\n", "event 2: "},    /* work */
                 {"0 work s0 C 700\n", "event 4: "}, /* follow */
                 {"0 follow s1 s0\n0 work s1 A 300\n", "event 5: "},
                 {"0 work s1 A 300\n0 follow s1 s0\n", "event 5: "}, /* put, which direct hides */
                 {"0 put A\n", "event 6: "},                         /* drain */
                 {"0 put A\n0 drain s0\n", "event 6: "},             /* sync */
                 {"0 get E 512\n0 work s2 E 40\n", "event 12: "},
                 {"0 put C\n", "after the last event: "}};
    struct tp_program *p = cook(streams_recipe);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t pass = 0; pass < COUNT(passes_alone); pass++)
            check_event_of_loss(p, passes_alone[pass], cases[i].before, cases[i].text);
}

TEST_WITH(work_that_cannot_be_queued_is_no_strategys_fault, setup, teardown)
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {{TP_EUNSUP, "event 1: there is no kernel here that could keep a device busy"},
                 {TP_EINVAL, "event 1: the device cannot be kept busy with this block (wrong "
                             "argument)"}};
    struct tp_program *p = cook(streams_recipe);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t pass = 0; pass < COUNT(passes_alone); pass++) {
            const struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, p, passes_alone[pass]);
            bench_reset();
            bench.work_status = cases[i].status;
            assert_int_equal(tp_replay(&cfg, run, &err), TP_EDEVICE);
            assert_string_equal(err.text, cases[i].text);
            nothing_is_open();
        }
}

/* ---- a user who asks to stop ---- */

TEST_WITH(an_interruption_ends_every_pass, setup, teardown)
{
    struct tp_program *p = cook(streams_recipe);
    for (size_t s = 0; s < COUNT(strategies); s++)
        for (size_t i = 0; i < COUNT(passes_alone); i++)
            for (uint64_t n = 1, last = 2; n < last; n++) {
                bench_reset();
                bench.stop_at = n;
                struct tp_replay_cfg cfg = on_double(strategies[s], p, passes_alone[i]);
                cfg.interrupted = &bench.stopped;
                memset(run, 0, tp_run_size(RUN_DEVICES));
                int status = tp_replay(&cfg, run, &err);
                nothing_is_open();
                last = bench.stopped ? n + 2 : n;
                if (status) {
                    assert_int_equal(status, TP_ESTOP);
                    assert_string_equal(err.text, "interrupted");
                    assert_true(bench.stopped);
                }
            }
}

/* Within a window at once, not at its end. */
TEST_WITH(an_interruption_does_not_wait_for_the_window, setup, teardown)
{
    struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, cook(streams_recipe), TP_PASS_USAGE);
    bench.stop_at = 4; /* the open, a look at the memory, another after the initial heap, the get */
    cfg.interrupted = &bench.stopped;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_ESTOP);
    assert_null(strstr(bench.log, "get B"));
    assert_non_null(strstr(bench.log, "put A\n"));
    nothing_is_open();
}

static volatile sig_atomic_t flag;
static unsigned reports;

static void stop_soon(void *ctx, const char *pass, double fraction)
{
    const unsigned *at = ctx;
    (void)pass, (void)fraction;
    flag = flag || ++reports > *at;
}

static const void *small_pages(void)
{
    static uint64_t room[OPTION_WORDS];
    default_options(tp_source_virtual.options, tp_source_virtual.opts_size, room);
    assert_int_equal(tp_opts_parse(tp_source_virtual.options, room, "page=512", "virtual", &err),
                     TP_OK);
    return room;
}

TEST_WITH(an_interruption_elsewhere_ends_between_windows, setup, teardown)
{
    struct tp_program *p = cook(streams_recipe);
    static const unsigned passes[] = {TP_PASS_VERIFY, TP_PASS_USAGE | TP_PASS_FITS,
                                      TP_PASS_THROUGHPUT, TP_PASS_LATENCY};
    for (size_t i = 0; i < COUNT(passes); i++)
        for (unsigned at = 0; at < 2; at++) {
            struct tp_replay_cfg cfg =
                run_on(&tp_source_virtual, &tp_strategy_direct, p, passes[i]);
            cfg.layers[0].opts = small_pages(); /* a bisection takes several replays */
            cfg.clock = &test_clock;
            cfg.min_time_ns = UINT64_C(1000000000);
            cfg.progress = stop_soon;
            cfg.progress_ctx = &at;
            cfg.interrupted = &flag;
            flag = 0;
            reports = 0;
            memset(run, 0, tp_run_size(RUN_DEVICES));
            int status = tp_replay(&cfg, run, &err);
            if (passes[i] == TP_PASS_VERIFY && status == TP_OK)
                continue; /* it was through */
            if (status == TP_OK)
                fail_msg("pass %u was not interrupted", passes[i]);
            assert_int_equal(status, TP_ESTOP);
            assert_string_equal(err.text, "interrupted");
        }
}

/* ---- what is reported ---- */

static void check_range(const struct tp_range *r, uint64_t low, uint64_t high)
{
    assert_fields(*r, low, low, high, high);
}

TEST_WITH(a_device_is_reported_beside_the_meter, setup, teardown)
{
    struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, cook(streams_recipe), ALL_PASSES);
    bench.capacity = DOUBLE_TOTAL - DOUBLE_CONTEXT;
    const struct tp_device_run *d = replay(&cfg);
    const struct tp_measured *m = &d->measured;
    assert_int_equal(run->flags & (TP_RUN_DEVICE | TP_RUN_POOL | TP_RUN_VERIFIED | TP_RUN_FITS |
                                   TP_RUN_INFORMATIVE | TP_RUN_SYNTHETIC_TIME),
                     TP_RUN_DEVICE | TP_RUN_VERIFIED | TP_RUN_FITS);
    assert_int_equal(d->capacity, bench.capacity);
    assert_int_equal(d->peak_reserved, 8192); /* while event 7 moved B */
    check_range(&m->peak_reserved, 8192, 8192);
    check_range(&m->pool_used, TP_NONE, TP_NONE);
    check_range(&m->failed_allocations, 0, 0);
    assert_true(m->peak_metadata.low <= d->peak_metadata &&
                m->peak_metadata.high >= d->peak_metadata);
    assert_fields(*m, free_at_start, DOUBLE_TOTAL - DOUBLE_CONTEXT, total, DOUBLE_TOTAL,
                  free_at_failure, TP_NONE);
    /* the highest that stood after an event: C, D and E */
    assert_fields(*m, reserved_then, 2048 + 5120 + 512, missing_at_peak, 3 * DOUBLE_GRAIN,
                  driver.works, 6, driver.syncs, 2, driver.event_waits, 3);
    assert_int_equal(d->wait_ns, 0);
    assert_int_equal(d->min_capacity, 2 << 20); /* of a device with pages, as `virtual` has them */
    assert_int_equal(bench.timed_opens, 1);     /* in the usage pass only */
}

TEST_WITH(other_sources_say_nothing_of_a_device, setup, teardown)
{
    struct tp_replay_cfg cfg =
        run_on(&tp_source_virtual, &tp_strategy_direct, cook(streams_recipe), TP_PASS_USAGE);
    cfg.occupy = TP_OCCUPY_SPIN;
    cfg.occupy_scale = 1;
    const struct tp_device_run *d = replay(&cfg);
    const struct tp_measured *m = &d->measured;
    assert_int_equal(run->flags & (TP_RUN_DEVICE | TP_RUN_POOL), 0);
    check_range(&m->peak_reserved, TP_NONE, TP_NONE);
    check_range(&m->pool_used, TP_NONE, TP_NONE);
    check_range(&m->peak_metadata, TP_NONE, TP_NONE);
    check_range(&m->failed_allocations, TP_NONE, TP_NONE);
    const uint64_t none[] = {m->missing_at_peak, m->reserved_then, m->free_at_start, m->total,
                             m->free_at_failure};
    for (size_t i = 0; i < COUNT(none); i++)
        assert_int_equal(none[i], TP_NONE);
    const struct tp_driver_counts zero = {0};
    assert_memory_equal(&m->driver, &zero, sizeof zero);
}

TEST_WITH(a_pool_says_what_it_reserves, setup, teardown)
{
    struct tp_replay_cfg cfg = on_double(&pooled, cook(streams_recipe), ALL_PASSES);
    const struct tp_device_run *d = replay(&cfg);
    const struct tp_measured *m = &d->measured;
    assert_int_equal(run->flags & (TP_RUN_DEVICE | TP_RUN_POOL | TP_RUN_VERIFIED | TP_RUN_FITS),
                     TP_RUN_DEVICE | TP_RUN_POOL | TP_RUN_VERIFIED);
    assert_fields(*d, peak_reserved, DOUBLE_GRAIN, end_reserved, DOUBLE_GRAIN);
    /* B, C, D and, while that was moved once more, its copy */
    const uint64_t used = 2000 + 5000 + 5050;
    check_range(&m->peak_reserved, DOUBLE_GRAIN, DOUBLE_GRAIN);
    check_range(&m->pool_used, used, used);
    assert_fields(*m, reserved_then, DOUBLE_GRAIN, missing_at_peak, DOUBLE_GRAIN);
    assert_fields(*d, gets, 6, puts, 4, at_peak.event, 11, at_peak.requested, 2000 + 5050 + 512);
    const uint64_t none[] = {d->reused,
                             d->peak_carved,
                             d->peak_reserved_event,
                             d->put_bytes,
                             d->at_peak.reserved,
                             d->at_peak.allocated,
                             d->at_peak.free_bytes,
                             d->at_peak.free_blocks,
                             d->at_peak.cached,
                             d->min_capacity,
                             d->peak_allocated,
                             m->pool_unused_at_failure};
    for (size_t i = 0; i < COUNT(none); i++)
        assert_int_equal(none[i], TP_NONE);
    const double nothing[] = {d->internal_fragmentation, d->internal_fragmentation_weighted,
                              d->unused_reserved, d->unused_reserved_weighted,
                              d->external_fragmentation};
    for (size_t i = 0; i < COUNT(nothing); i++)
        assert_true(isnan(nothing[i]));
    assert_int_equal(d->curve.count, 0);
    assert_true(fabs(d->overhead - (double)(DOUBLE_GRAIN + d->peak_metadata) / 7562) < 1e-9);
}

TEST_WITH(a_full_device_is_data, setup, teardown)
{
    struct tp_program *p = cook(streams_recipe);
    for (int demand = 0; demand < 2; demand++) {
        struct tp_replay_cfg cfg = on_double(&tp_strategy_direct, p, TP_PASS_ALL);
        bench_reset();
        bench.capacity = demand ? 7000 : UINT64_C(2) * DOUBLE_GRAIN + 2047;
        const struct tp_device_run *d = replay(&cfg);
        assert_int_equal(d->first_failed_event, demand ? 2 : 3);
        assert_int_equal(d->failed_by[TP_OOM_DEMAND] != 0, false);
        assert_int_equal(d->failed_by[TP_OOM_FRAGMENTATION], d->failed_allocations);
        check_range(&d->measured.failed_allocations, d->failed_allocations, d->failed_allocations);
        assert_int_equal(d->measured.free_at_failure,
                         DOUBLE_TOTAL - DOUBLE_CONTEXT - (demand ? 1 : 2) * (uint64_t)DOUBLE_GRAIN);
    }
}

/* A device is shared: what was free in one pass is not in the next. */
TEST_WITH(passes_that_differ_make_a_range, setup, teardown)
{
    struct tp_program *p = cook(streams_recipe);
    for (int pool = 0; pool < 2; pool++) {
        struct tp_replay_cfg cfg =
            on_double(pool ? &pooled : &tp_strategy_direct, p, TP_PASS_USAGE | TP_PASS_LATENCY);
        bench_reset();
        bench.later_capacity = pool ? DOUBLE_GRAIN - 1 : 2 * DOUBLE_GRAIN + 2047;
        const struct tp_device_run *d = replay(&cfg);
        const struct tp_measured *m = &d->measured;
        assert_int_equal(d->failed_allocations, 0);
        check_range(&m->failed_allocations, 0, pool ? 4 : 1);
        check_range(&m->peak_reserved, pool ? 0 : 1024 + 5120, d->peak_reserved);
        if (pool)
            check_range(&m->pool_used, 0, 2000 + 5000 + 5050);
        cfg.latency_operations = 1; /* a part of the program says nothing */
        bench_reset();
        bench.later_capacity = 1;
        replay(&cfg);
        check_range(&m->peak_reserved, d->peak_reserved, d->peak_reserved);
        check_range(&m->failed_allocations, 0, 0);
    }
}

/* Two devices, each with its own streams and its own books; one word says to which the thread's
 * calls go. */
TEST_WITH(devices_are_kept_apart, setup, teardown)
{
    struct tp_insn insns[] = {
        INSN(TP_ALLOC, 0, 0, 512, 0),     INSN(TP_ALLOC, 1, 0, 1024, 100),
        INSN(TP_ALLOC, 2, 1, 70000, 100), INSN(TP_FREE, 0, 0, 512, 100),
        INSN(TP_FREE, 1, 0, 1024, 100),   {.op = TP_SYNC, .stream = TP_ALL_STREAMS, .gap_ns = 5},
        INSN(TP_FREE, 2, 0, 70000, 100)};
    insns[1].device = insns[2].device = insns[4].device = insns[5].device = insns[6].device = 1;
    struct tp_replay_cfg cfg = on_double(
        &tp_strategy_direct, cook((struct recipe){insns, COUNT(insns), 0, false}), ALL_PASSES);
    bench.logging = false;
    replay(&cfg);
    check_range(&run->devices[0].measured.peak_reserved, 512, 512);
    check_range(&run->devices[1].measured.peak_reserved, 1024 + 70144, 1024 + 70144);
    assert_fields(*run, devices[0].measured.missing_at_peak, DOUBLE_GRAIN,
                  devices[1].measured.missing_at_peak, 3 * DOUBLE_GRAIN,
                  devices[0].measured.driver.works, 1, devices[1].measured.driver.works, 2);
    bench_reset();
    cfg.passes = TP_PASS_USAGE;
    replay(&cfg);
    assert_string_equal(bench.log, "0 get A 512\n0 work s0 A 300\n1 get B 1024\n1 work s0 B 300\n"
                                   "1 get C 70144\n1 work s1 C 205\n0 put A\n1 put B\n"
                                   "1 drain all\n1 sync all\n1 follow s0 s1\n1 put C\n"
                                   "0 sync all\n1 sync all\n0 sync all\n1 sync all\n");
    nothing_is_open();
}

GROUP(calibrate, NULL)
