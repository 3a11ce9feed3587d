/* The strategies decide by sizes and order alone, so on one stream their memory metrics on `cuda`
 * are those on `virtual`, byte for byte: a replay without a GPU says what one on it will hold.
 * Every sample, on the fake driver. */
#include "tests/unit/fake_driver.h"
#include "tests/unit/one_run.h"

#include "alloc/base/random.h"
#include "cmd/jobs/catalog.h"
#include "traces/trace.h"

enum { EVENTS = 60000 };              /* of each sample */
#define REAL_MOST (UINT64_C(4) << 30) /* bytes asked of a real device */

static const char *const samples[] = {"sample:sqlite", "sample:jq", "sample:python-threads",
                                      "sample:llm-decode", "sample:training-step"};

static const struct tp_strategy *const strategies[] = {&tp_strategy_lru, &tp_strategy_arena,
                                                       &tp_strategy_bump, &tp_strategy_stream_pool,
                                                       &tp_strategy_direct};

/* The tests may run on another machine than the one that built them. */
static void open_sample(const char *path, struct tp_trace *out)
{
    char folder[4096];
    const char *root = getenv("TAPOOL_ROOT"), *const dirs[] = {folder, NULL};
    snprintf(folder, sizeof folder, "%s/traces/samples", root && *root ? root : TAPOOL_ROOT);
    const struct tp_trace_cfg cfg = {.path = path,
                                     .formats = tp_formats,
                                     .sample_dirs = dirs,
                                     .profiles = tp_profiles,
                                     .event_limit = EVENTS};
    if (tp_trace_open(&cfg, out, &err))
        fail_msg("%s", err.text);
}

struct side {
    const struct tp_source_ops *source;
    const char *options;
};
static const struct side sides[] = {{&tp_source_virtual, "page=device"}, {&tp_source_cuda, ""}};

/* What a replay on one source measured, with a limit above it if it is not 0. Left out: what only a
 * real device says. */
static void memory_of(const struct side *side, const struct tp_strategy *s, struct tp_program *p,
                      uint64_t limit, struct tp_device_run *out)
{
    static uint64_t room[OPTION_WORDS];
    const struct limit_options capacity = {limit};
    struct tp_replay_cfg cfg = run_on(side->source, s, p, TP_PASS_USAGE);
    memcpy(room, cfg.layers[0].opts, sizeof room);
    assert_int_equal(tp_opts_parse(side->source->options, room, side->options, "test", &err),
                     TP_OK);
    cfg.layers[0].opts = room;
    cfg.layers[1] = (struct tp_source_layer){&tp_source_limit, &capacity};
    cfg.layer_count = limit ? 2 : 1;
    cfg.touch = TP_TOUCH_NONE;
    *out = *replay(&cfg);
    assert_int_equal(run->device_count, 1);
    out->capacity = TP_NONE;
    memset(&out->measured, 0, sizeof out->measured);
}

#define SAME(member) assert_true(a.member == b.member)

/* Returns the peak. */
static uint64_t compare(const char *sample, const struct tp_strategy *s, struct tp_program *p,
                        uint64_t limit)
{
    static struct tp_device_run a, b;
    print_message("  %s, %s%s\n", sample, s->name, limit ? ", limited" : "");
    memory_of(&sides[0], s, p, limit, &a);
    if (!fake_driver_is_fake() && a.peak_reserved > REAL_MOST)
        return a.peak_reserved; /* others may have the rest of a real device */
    memory_of(&sides[1], s, p, limit, &b);
    assert_true(a.peak_reserved > 0 && a.gets > 0); /* the figures are there at all */
    SAME(peak_reserved);
    SAME(peak_allocated);
    SAME(peak_carved);
    SAME(peak_metadata);
    SAME(at_peak.reserved);
    SAME(at_peak.free_blocks);
    SAME(at_peak.largest);
    SAME(gets);
    SAME(puts);
    SAME(reused);
    a.next_calls = b.next_calls;           /* a device is not replayed on once more */
    assert_memory_equal(&a, &b, sizeof a); /* and all the others: curve, phases, fragmentation */
    return a.peak_reserved;
}

/* Where a device is full, what has not passed yet is waited for: only the others are the same. */
static void compare_strategy(const char *sample, const struct tp_strategy *s, struct tp_program *p)
{
    bool waits = s->caps & TP_CAP_STREAMS;
    if (waits && tp_program_facts(p)->streams > 1) {
        print_message("  %s has %u streams\n", sample, tp_program_facts(p)->streams);
        return;
    }
    uint64_t peak = compare(sample, s, p, 0);
    if (!waits)
        compare(sample, s, p, peak / 4 * 3 < 2 * MIB ? 2 * MIB : peak / 4 * 3);
}

TEST(on_one_stream_cuda_is_virtual)
{
    if (!fake_driver_ready())
        skip();
    if (fake_driver_is_fake())
        fake_driver()->cuda.script("memory=512GiB"); /* virtual has no limit either */
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct tp_trace trace;
        open_sample(samples[i], &trace);
        for (size_t k = 0; k < COUNT(strategies); k++)
            compare_strategy(samples[i], strategies[k], trace.program);
        tp_trace_close(&trace);
    }
    cuda_rig_no_violation(&fake_driver()->cuda);
    cuda_rig_balance(&fake_driver()->cuda);
}

enum { RANGES = 400, STEPS = 6000 };

static uint64_t random_below(uint64_t n)
{
    static uint64_t seed = 11;
    return tp_random_split(&seed) % n;
}

/* Requests around every border: a unit, a page, several of them. */
static uint64_t random_size(void)
{
    static const uint64_t around[] = {512, 10 << 10, 300 << 10, 1 << 20, 2 << 20, 5 << 20};
    return around[random_below(COUNT(around))] + 512 * random_below(3);
}

struct both {
    struct tp_source virtual_source;
    struct cuda_bench cuda;
    uint64_t free_at_start;
    struct held {
        tp_addr on_virtual, on_cuda;
        uint64_t size;
    } ranges[RANGES];
};

static void change(struct both *b)
{
    struct held *r = &b->ranges[random_below(RANGES)];
    if (r->size) {
        assert_int_equal(tp_src_put(&b->virtual_source, r->on_virtual, r->size), TP_OK);
        bench_put(&b->cuda, r->on_cuda, r->size);
        r->size = 0;
        return;
    }
    r->size = random_size();
    assert_int_equal(tp_src_cost(&b->virtual_source, r->size, 512),
                     tp_src_cost(&b->cuda.src, r->size, 512));
    assert_int_equal(tp_src_get(&b->virtual_source, r->size, 512, &r->on_virtual), TP_OK);
    r->on_cuda = bench_get(&b->cuda, r->size, 512);
}

/* What `virtual` says that a device gives up is what this driver's free memory sinks by. */
TEST(a_virtual_device_gives_up_what_the_driver_gives_up)
{
    static struct both b;
    static uint64_t room[OPTION_WORDS];
    const struct tp_source_cfg cfg = {
        .opts = default_options(tp_source_virtual.options, tp_source_virtual.opts_size, room),
        .kind = TP_KIND_DEVICE};
    if (!fake_driver_ready() || !fake_driver_is_fake())
        skip();
    fake_driver()->cuda.script("memory=512GiB;step=0");
    assert_int_equal(tp_source_open(&b.virtual_source, &tp_source_virtual, &cfg, &err), TP_OK);
    bench_open(&b.cuda, NULL);
    uint64_t total, now, most = 0;
    assert_int_equal(tp_src_memory(&b.cuda.src, &b.free_at_start, &total), TP_OK);
    for (int i = 0; i < STEPS; i++) {
        change(&b);
        assert_int_equal(tp_src_memory(&b.cuda.src, &now, &total), TP_OK);
        assert_int_equal(tp_src_taken(&b.virtual_source), b.free_at_start - now);
        assert_int_equal(tp_src_taken(&b.cuda.src), b.free_at_start - now);
        most = b.free_at_start - now > most ? b.free_at_start - now : most;
    }
    assert_true(most > 100 * MIB);
    cuda_bench_close(&b.cuda);
    tp_source_close(&b.virtual_source);
    cuda_rig_balance(&fake_driver()->cuda);
}

static int setup(void **state)
{
    (void)state;
    return new_run();
}

GROUP(setup, teardown)
