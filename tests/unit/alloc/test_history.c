/* The history of a strategy, against a model: what it tells is possible at every step, whatever
 * the program does, and what it says is held at the end is what is left of all that. */
#include "tests/unit/cells.h"
#include "tests/unit/random_program.h"

#include "alloc/base/range_table.h"
#include "alloc/heapmap/history.h"

extern const struct tp_source_ops tp_source_host, tp_source_shuffle;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bump, tp_strategy_direct,
    tp_strategy_lru, tp_strategy_stream_pool, tp_strategy_torch;

enum { DEVICES = 4 };

/* What the events told so far leave. */
struct model {
    struct tp_range_table held[DEVICES], blocks[DEVICES];
    bool known; /* nothing was live before the first event */
    uint64_t counts[TP_HISTORY_MARK + 1];
    uint64_t reserved[DEVICES], peak[DEVICES];
    uint64_t event, time_ns, segments, free_bytes;
    uint64_t stop_at; /* the event that the sink refuses; 0: none */
};

static void insert(struct tp_range_table *t, uint64_t addr, uint64_t size)
{
    assert_true(addr && size);
    assert_int_equal(tp_ranges_reserve(t), TP_OK);
    assert_null(tp_ranges_overlap(t, addr, size));
    tp_ranges_insert(t, (struct tp_address_range){.addr = addr, .size = size, .tag_addr = addr});
}

static bool take_out(struct tp_range_table *t, uint64_t addr, uint64_t size)
{
    const struct tp_address_range *r = tp_ranges_exact(t, addr, size);
    if (r)
        tp_ranges_remove(t, r);
    return r;
}

static void hold(struct model *m, const struct tp_history_event *e)
{
    m->reserved[e->device] += e->size;
    if (m->reserved[e->device] > m->peak[e->device])
        m->peak[e->device] = m->reserved[e->device];
}

static int on_event(void *ctx, const struct tp_history_event *e, struct tp_err *error)
{
    struct model *m = ctx;
    struct tp_range_table *held = &m->held[e->device], *blocks = &m->blocks[e->device];
    m->counts[e->action]++;
    if (m->stop_at && e->event >= m->stop_at)
        return tp_fail(error, TP_EIO, "the sink is full");
    assert_true(e->event >= m->event && e->time_ns >= m->time_ns);
    m->event = e->event;
    m->time_ns = e->time_ns;
    if (e->action == TP_HISTORY_ALLOC) {
        const struct tp_address_range *in = tp_ranges_find(held, e->addr);
        assert_true(!m->known || (in && e->size <= in->size - (e->addr - in->addr)));
        insert(blocks, e->addr, e->size);
    } else if (e->action == TP_HISTORY_FREE_COMPLETED) {
        assert_true(take_out(blocks, e->addr, e->size) || !m->known);
    } else if (e->action == TP_HISTORY_SEGMENT_ALLOC) {
        insert(held, e->addr, e->size);
        hold(m, e);
    } else if (e->action == TP_HISTORY_SEGMENT_FREE) {
        assert_null(tp_ranges_overlap(blocks, e->addr, e->size));
        assert_true(take_out(held, e->addr, e->size) || !m->known);
        m->reserved[e->device] -= e->size;
    } else if (e->action == TP_HISTORY_SEGMENT_MAP) {
        assert_int_equal(tp_ranges_reserve(held), TP_OK);
        tp_ranges_widen(held, e->addr, e->size, 1);
        hold(m, e);
    } else if (e->action == TP_HISTORY_SEGMENT_UNMAP) {
        assert_null(tp_ranges_overlap(blocks, e->addr, e->size));
        assert_int_equal(tp_ranges_reserve(held), TP_OK);
        tp_ranges_narrow(held, e->addr, e->size);
        m->reserved[e->device] -= e->size;
    }
    return TP_OK;
}

static int on_segment(void *ctx, const struct tp_history_segment *s,
                      const struct tp_history_block *blocks, size_t count, struct tp_err *error)
{
    struct model *m = ctx;
    uint64_t at = s->addr;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct tp_address_range *b = tp_ranges_find(&m->blocks[s->device], blocks[i].addr);
        assert_int_equal(blocks[i].addr, at);
        assert_true(blocks[i].size >= blocks[i].requested && blocks[i].size);
        assert_true(!m->known || (b != NULL) == (blocks[i].requested != 0));
        assert_true(!b || b->size == blocks[i].requested);
        if (b && blocks[i].requested)
            tp_ranges_remove(&m->blocks[s->device], b);
        m->free_bytes += blocks[i].requested ? 0 : blocks[i].size;
        at += blocks[i].size;
    }
    assert_int_equal(at, s->addr + s->size);
    assert_true(take_out(&m->held[s->device], s->addr, s->size) || !m->known);
    m->segments++;
    return TP_OK;
}

static void forget(struct model *m)
{
    for (int d = 0; d < DEVICES; d++) {
        tp_ranges_fini(&m->held[d]);
        tp_ranges_fini(&m->blocks[d]);
    }
}

static int tell(const struct tp_replay_cfg *cfg, struct model *m)
{
    const struct tp_history_sink sink = {on_event, on_segment, m};
    return tp_history(cfg, &sink, &err);
}

/* What is told agrees with what the usage pass counts; on host memory blocks of large alignment lie
 * elsewhere each time. */
static void assert_history(struct tp_replay_cfg *cfg, bool known)
{
    bool exact = !(tp_replay_source_flags(cfg) & TP_SRC_HOST);
    struct model m = {.known = known};
    uint64_t gets = 0, puts = 0, served = 0, failed = 0;
    cfg->passes = TP_PASS_USAGE;
    replay(cfg);
    plan.calls = 0;
    if (tell(cfg, &m))
        fail_msg("%s: %s", cfg->strategy->name, err.text);
    for (uint32_t d = 0; d < run->device_count; d++) {
        assert_null(tp_ranges_any(&m.held[d]));
        assert_true(!known || !tp_ranges_any(&m.blocks[d]));
        assert_true(!known || !exact || m.peak[d] == run->devices[d].peak_reserved);
        gets += run->devices[d].gets;
        puts += run->devices[d].puts;
        served += run->devices[d].allocations;
        failed += run->devices[d].failed_allocations - run->devices[d].failed_initial;
    }
    if (exact) {
        assert_int_equal(m.counts[TP_HISTORY_SEGMENT_ALLOC] + m.counts[TP_HISTORY_SEGMENT_MAP],
                         gets);
        assert_int_equal(m.counts[TP_HISTORY_SEGMENT_FREE] + m.counts[TP_HISTORY_SEGMENT_UNMAP],
                         puts);
    }
    assert_int_equal(m.counts[TP_HISTORY_ALLOC], served);
    assert_int_equal(m.counts[TP_HISTORY_OOM], failed);
    assert_int_equal(m.counts[TP_HISTORY_FREE_REQUESTED], m.counts[TP_HISTORY_FREE_COMPLETED]);
    forget(&m);
}

static int setup(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    return new_run();
}

static const struct tp_strategy *const strategies[] = {&copying,
                                                       &resizing,
                                                       &moving,
                                                       &full,
                                                       &tp_strategy_arena,
                                                       &tp_strategy_bump,
                                                       &tp_strategy_direct,
                                                       &tp_strategy_lru,
                                                       &tp_strategy_stream_pool,
                                                       &tp_strategy_torch};

TEST_WITH(what_is_told_is_possible, setup, teardown)
{
    for (uint64_t number = 1; number <= 4; number++) {
        struct tp_program *p = random_program(number);
        for (size_t i = 0; i < COUNT(strategies); i++) {
            bool host = number < 3 && !(strategies[i]->caps & TP_CAP_STREAMS);
            struct tp_replay_cfg cfg = run_on(host ? &tp_source_host : &tp_source_virtual,
                                              strategies[i], p, TP_PASS_USAGE);
            assert_history(&cfg, number % 2 == 0);
        }
        tp_program_release(p);
    }
}

TEST_WITH(a_full_device_is_told, setup, teardown)
{
    struct limit_options limit;
    struct tp_program *p = random_program(2);
    for (size_t i = 0; i < COUNT(strategies); i++)
        for (limit.capacity = 2 << 20; limit.capacity < 20 << 20; limit.capacity *= 2) {
            struct tp_replay_cfg cfg = run_on(&tp_source_virtual, strategies[i], p, TP_PASS_USAGE);
            cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
            assert_history(&cfg, true);
        }
    tp_program_release(p);
}

/* ---- one by one ---- */

enum { TOLD = 32 };
static struct tp_history_event told[TOLD];
static size_t told_count;

static int keep_event(void *ctx, const struct tp_history_event *e, struct tp_err *error)
{
    (void)ctx, (void)error;
    assert_true(told_count < TOLD);
    told[told_count++] = *e;
    return TP_OK;
}

static struct tp_history_segment last_segment;
static struct tp_history_block last_block; /* the last one that is not free */

static int keep_segment(void *ctx, const struct tp_history_segment *s,
                        const struct tp_history_block *blocks, size_t count, struct tp_err *error)
{
    (void)ctx, (void)error;
    last_segment = *s;
    for (size_t i = 0; i < count; i++)
        if (blocks[i].requested)
            last_block = blocks[i];
    return TP_OK;
}

static void assert_told(const struct tp_insn *insns, size_t count, const struct tp_strategy *s,
                        const char *wanted)
{
    static const char *const names[] = {"alloc", "ask",   "free", "get", "put",
                                        "map",   "unmap", "oom",  "mark"};
    char text[1024] = "";
    const struct tp_history_sink sink = {keep_event, keep_segment, NULL};
    struct tp_program *p = program_of(NULL, 0, insns, count);
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, s, p, 0);
    told_count = 0;
    assert_int_equal(tp_history(&cfg, &sink, &err), TP_OK);
    for (size_t i = 0; i < told_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s@%d", i ? " " : "", names[told[i].action],
                 (int)told[i].event);
    }
    assert_string_equal(text, wanted);
    tp_program_release(p);
}

/* What a free gives back is told behind the free, what an allocation takes before it. */
TEST_WITH(the_order_is_that_of_pytorch, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 3 << 20, 5), FREE_INSN(0, 3 << 20, 7), {.op = TP_MARK, .gap_ns = 1}};
    assert_told(insns, 3, &tp_strategy_direct, "get@10 alloc@10 ask@20 free@20 put@20 mark@30");
    assert_int_equal(told[0].time_ns, 5);
    assert_int_equal(told[4].time_ns, 12);
    assert_int_equal(told[0].addr, told[1].addr);
    assert_int_equal(told[1].size, 3 << 20);
}

/* A free that was requested earlier is not requested again. */
TEST_WITH(a_free_is_requested_when_it_was, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 4096, 0),
        {.op = TP_NOTE, .align_log2 = TP_NOTE_FREE_REQUESTED, .slot = 0, .size = 4096},
        {.op = TP_IDLE},
        FREE_INSN(0, 4096, 0),
        ALLOC_INSN(0, 4096, 0),
        FREE_INSN(0, 4096, 0)};
    assert_told(insns, 6, &tp_strategy_torch,
                "get@10 alloc@10 ask@20 free@40 alloc@50 ask@60 free@60");
    assert_true(last_segment.small && !last_segment.mapped);
}

/* No address comes twice, not even where the source gives the same range again. */
TEST_WITH(segments_follow_each_other, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 3 << 20, 0), FREE_INSN(0, 3 << 20, 0),
                                    ALLOC_INSN(0, 3 << 20, 0)};
    assert_told(insns, 3, &tp_strategy_direct,
                "get@10 alloc@10 ask@20 free@20 put@20 get@30 alloc@30");
    assert_true(told[5].addr > told[0].addr);
    assert_false(last_segment.small);
    assert_int_equal(last_segment.addr, told[5].addr);
}

/* A block, and the segment that was taken for it, name the call; a realloc is a new call. */
TEST_WITH(what_is_left_says_who_asked_for_it, setup, teardown)
{
    const struct tp_insn waits[] = {
        ALLOC_INSN(0, 3 << 20, 5),
        {.op = TP_NOTE, .align_log2 = TP_NOTE_FREE_REQUESTED, .slot = 0, .size = 3 << 20}};
    const struct tp_insn grown[] = {ALLOC_INSN(0, 3 << 20, 5),
                                    {.op = TP_REALLOC, .size = 6 << 20, .gap_ns = 7}};
    assert_told(waits, 1, &tp_strategy_direct, "get@10 alloc@10");
    assert_int_equal(last_block.event, 10);
    assert_int_equal(last_segment.event, 10);
    assert_false(last_block.pending);
    assert_told(waits, 2, &tp_strategy_direct, "get@10 alloc@10 ask@20");
    assert_int_equal(last_block.event, 10);
    assert_true(last_block.pending);
    assert_told(grown, 2, &tp_strategy_direct,
                "get@10 alloc@10 ask@20 free@20 get@20 put@20 alloc@20");
    assert_int_equal(last_block.event, 20);
    assert_int_equal(last_segment.event, 20);
}

/* A pool serves one request. What it took stays its own, also when a free is told. */
TEST_WITH(a_pool_is_that_of_its_request, setup, teardown)
{
    const struct tp_insn insns[] = {{.op = TP_POOL, .size = 7},
                                    ALLOC_INSN(0, 3 << 20, 0),
                                    ALLOC_INSN(1, 3 << 20, 0),
                                    FREE_INSN(0, 3 << 20, 0)};
    assert_told(insns, 4, &tp_strategy_torch, "get@20 alloc@20 get@30 alloc@30 ask@40 free@40");
    static const uint64_t wanted[] = {7, 7, 0, 0, 7, 7};
    for (size_t i = 0; i < told_count; i++)
        assert_int_equal(told[i].pool, wanted[i]);
    assert_int_equal(last_segment.pool, 0);
    assert_told(insns, 2, &tp_strategy_torch, "get@20 alloc@20");
    assert_int_equal(last_segment.pool, 7);
    assert_told(insns, 4, &tp_strategy_direct,
                "get@20 alloc@20 get@30 alloc@30 ask@40 free@40 put@40");
    for (size_t i = 0; i < told_count; i++)
        assert_int_equal(told[i].pool, 0);
}

TEST_WITH(an_error_of_the_sink_ends_the_replay, setup, teardown)
{
    struct tp_program *p = random_program(2);
    struct model m = {.known = true, .stop_at = 5000};
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &tp_strategy_arena, p, 0);
    assert_int_equal(tell(&cfg, &m), TP_EIO);
    assert_string_equal(err.text, "the sink is full");
    assert_int_equal(m.segments, 0);
    assert_true(m.event < 5000);
    forget(&m);
    tp_program_release(p);
}
