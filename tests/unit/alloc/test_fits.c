/* The smallest device that serves a program: strategies whose answer is known beforehand. */
#include "tests/unit/one_run.h"

extern const struct tp_source_ops tp_source_host;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bump, tp_strategy_direct;

enum { PAGE = 4096, BLOCKS = 64 };

/* ---- strategies: a range per block, kept after its free or not ---- */

static struct {
    uint64_t never_above; /* bytes: a larger block is refused by the policy's own rules; 0: none */
    uint64_t got_in_init; /* bytes */
    bool keeps;           /* caches freed ranges, and gives them back when the device is full */
    bool keeps_for_good;  /* ... never gives them back */
    bool needs_size;      /* starts only on a device whose size is known */
    uint64_t plays;       /* instances opened */
} how;

struct pages {
    const struct tp_env *env;
    struct range {
        tp_addr addr; /* 0: none */
        uint64_t size;
        bool live;
    } ranges[BLOCKS];
    tp_addr initial;
};

static int pages_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    struct pages *p = st;
    (void)opts;
    p->env = env;
    how.plays++;
    if (how.needs_size && !tp_src_capacity(env->source))
        return tp_fail(e, TP_EUSAGE, "strategy 'pages' takes a share of the device");
    if (!how.got_in_init)
        return TP_OK;
    int status = tp_src_get(env->source, how.got_in_init, PAGE, &p->initial);
    return status ? tp_fail(e, (enum tp_status)status, "strategy 'pages' cannot start") : TP_OK;
}

static void flush(struct pages *p)
{
    for (int i = 0; i < BLOCKS; i++)
        if (p->ranges[i].addr && !p->ranges[i].live) {
            tp_src_put(p->env->source, p->ranges[i].addr, p->ranges[i].size);
            p->ranges[i].addr = 0;
        }
}

static void pages_fini(void *st)
{
    struct pages *p = st;
    for (int i = 0; i < BLOCKS; i++)
        p->ranges[i].live = false;
    flush(p);
    if (p->initial)
        tp_src_put(p->env->source, p->initial, how.got_in_init);
}

static struct range *find_range(struct pages *p, tp_addr addr, uint64_t size, bool live)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct range *r = &p->ranges[i];
        if (addr ? r->addr == addr && r->live == live
                 : (size ? r->addr && !r->live && r->size == size : !r->addr))
            return r;
    }
    return NULL;
}

static int pages_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct pages *p = st;
    (void)thr;
    uint64_t page = p->env->source->page, size = (rq->size + page - 1) / page * page;
    if (how.never_above && rq->size > how.never_above)
        return TP_EOOM;
    struct range *r = find_range(p, 0, size, false);
    if (!r) {
        tp_addr addr;
        int status = tp_src_get(p->env->source, size, page, &addr);
        if (status == TP_EOOM && how.keeps && !how.keeps_for_good) {
            flush(p);
            status = tp_src_get(p->env->source, size, page, &addr);
        }
        if (status)
            return status;
        r = find_range(p, 0, 0, false);
        assert_non_null(r);
        *r = (struct range){.addr = addr, .size = size};
    }
    r->live = true;
    *out = (struct tp_block){r->addr, r->size};
    return TP_OK;
}

static int pages_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct pages *p = st;
    struct range *r = find_range(p, addr, 0, true);
    (void)thr, (void)rq;
    if (!r)
        return TP_EINVAL;
    r->live = false;
    if (!how.keeps)
        flush(p);
    return TP_OK;
}

static const struct tp_strategy pages = {.name = "pages",
                                         .summary = "a range per block",
                                         .resembles = "nothing",
                                         .to_use = "a test",
                                         .group = TP_GROUP_POLICY,
                                         .caps = TP_CAP_ALIGN,
                                         .state_size = sizeof(struct pages),
                                         .init = pages_init,
                                         .fini = pages_fini,
                                         .alloc = pages_alloc,
                                         .free = pages_free};

/* ---- running ---- */

static int setup(void **state)
{
    (void)state;
    memset(&how, 0, sizeof how);
    return new_run();
}

static struct tp_replay_cfg on(const struct tp_source_ops *source, const struct tp_strategy *s,
                               struct tp_program *p)
{
    return run_on(source, s, p, TP_PASS_USAGE | TP_PASS_FITS);
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
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    assert_int_equal(replay(&cfg)->fits_in, 4 * PAGE);
    assert_true(run->flags & TP_RUN_FITS);
    cfg = on(&tp_source_virtual, &tp_strategy_direct, p);
    assert_int_equal(replay(&cfg)->fits_in, 4 * PAGE);
    tp_program_release(p);
}

/* Cached ranges make the peak, and are given back on a device without room for them. */
TEST_WITH(a_cache_that_is_flushed_costs_no_capacity, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    how.keeps = true;
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->peak_reserved, 8 * PAGE); /* of 5000 twice, 100, 9000 */
    assert_int_equal(d->fits_in, 4 * PAGE);
    how.keeps_for_good = true;
    assert_int_equal(replay(&cfg)->fits_in, 8 * PAGE);
    tp_program_release(p);
}

/* The answer is the capacity itself: with one page less, an allocation fails. */
TEST_WITH(one_page_less_does_not_fit, setup, teardown)
{
    static const struct tp_strategy *const strategies[] = {&pages, &tp_strategy_arena,
                                                           &tp_strategy_bump, &tp_strategy_direct};
    struct tp_program *p = some_blocks();
    for (size_t i = 0; i < 2 * COUNT(strategies); i++) {
        struct tp_replay_cfg cfg = on(&tp_source_virtual, strategies[i / 2], p);
        how.keeps = i % 2;
        struct {
            uint64_t capacity;
        } limit = {replay(&cfg)->fits_in};
        assert_true(limit.capacity != TP_NONE && limit.capacity % PAGE == 0);
        cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
        cfg.passes = TP_PASS_USAGE;
        assert_int_equal(replay(&cfg)->failed_allocations, 0);
        limit.capacity -= PAGE;
        assert_true(replay(&cfg)->failed_allocations > 0);
    }
    tp_program_release(p);
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
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    how.keeps = true;
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d->peak_reserved, 22 * block);
    assert_int_equal(d->fits_in, 7 * block);
    assert_in_range(how.plays, 3, 6); /* the usage pass and the one without a limit among them */
    how.keeps_for_good = true;
    how.plays = 0;
    assert_int_equal(replay(&cfg)->fits_in, 22 * block);
    assert_in_range(how.plays, 3, 6);
    tp_program_release(p);
}

TEST_WITH(what_is_never_served_fits_nowhere, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    how.never_above = 8999;
    assert_true(replay(&cfg)->fits_in == TP_NONE);
    assert_true(run->flags & TP_RUN_FITS); /* it was looked for */
    tp_program_release(p);
}

TEST_WITH(each_device_has_its_own_answer, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_ON(0, 3 * PAGE, 0), ALLOC_ON(1, 20 * PAGE, 2),
                                    ALLOC_ON(2, 5, 2), ALLOC_ON(3, 7 * PAGE, 0)};
    struct tp_program *p = test_program(insns, COUNT(insns), false);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    const struct tp_device_run *d = replay(&cfg);
    assert_int_equal(d[0].fits_in, 10 * PAGE);
    assert_int_equal(d[1].fits_in, 0); /* the program does not use it */
    assert_int_equal(d[2].fits_in, 21 * PAGE);
    how.never_above = 19 * PAGE;
    d = replay(&cfg);
    assert_int_equal(d[0].fits_in, 10 * PAGE);
    assert_int_equal(d[1].fits_in, 0);
    assert_true(d[2].fits_in == TP_NONE);
    tp_program_release(p);
}

TEST_WITH(an_empty_program_fits_on_no_device_at_all, setup, teardown)
{
    struct tp_program *p = test_program(NULL, 0, true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    assert_int_equal(replay(&cfg)->fits_in, 0);
    tp_program_release(p);
}

/* What is asked is how much memory the policy needs, not what this machine has. */
TEST_WITH(a_run_on_other_sources_is_answered_by_the_virtual_one, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_host, &pages, p);
    struct {
        uint64_t capacity;
    } limit = {PAGE};
    assert_int_equal(replay(&cfg)->fits_in, 4 * PAGE);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
    assert_int_equal(replay(&cfg)->fits_in, 4 * PAGE); /* a limit of the run takes no part */
    assert_true(run->devices[0].failed_allocations > 0);
    tp_program_release(p);
}

TEST_WITH(the_page_of_a_virtual_source_is_kept, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    uint64_t options[16];
    assert_int_equal(tp_opts_defaults(tp_source_virtual.options, options, NULL), TP_OK);
    assert_int_equal(tp_opts_parse(tp_source_virtual.options, options, "page=16", "virtual", NULL),
                     TP_OK);
    cfg.layers[0].opts = options;
    assert_int_equal(replay(&cfg)->fits_in, 5008 + 5008);
    tp_program_release(p);
}

/* Objects that were there before the recording take part, unless they are left out. */
TEST_WITH(the_prologue_needs_room_as_well, setup, teardown)
{
    const struct tp_insn before[] = {ALLOC_INSN(0, 10 * PAGE, 0), ALLOC_INSN(1, 30 * PAGE, 0)};
    const struct tp_insn insns[] = {FREE_INSN(1, 30 * PAGE, 0), ALLOC_INSN(1, 3 * PAGE, 0),
                                    FREE_INSN(1, 3 * PAGE, 0), ALLOC_INSN(1, 2 * PAGE, 0)};
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    assert_int_equal(tp_builder_new(&(struct tp_builder_cfg){0}, &b, &err), TP_OK);
    for (size_t i = 0; i < COUNT(before); i++)
        assert_int_equal(tp_builder_prologue(b, &before[i], &err), TP_OK);
    for (size_t i = 0; i < COUNT(insns); i++)
        assert_int_equal(tp_builder_add(b, &insns[i], i + 1, &err), TP_OK);
    assert_int_equal(tp_builder_finish(b, &(struct tp_builder_end){.events = 9}, &p, &err), TP_OK);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    assert_int_equal(replay(&cfg)->fits_in, 40 * PAGE);
    cfg.drop_prologue = true;
    assert_int_equal(replay(&cfg)->fits_in, 3 * PAGE);
    how.keeps = true; /* its peak is higher: 3 and 2 pages */
    assert_int_equal(replay(&cfg)->fits_in, 3 * PAGE);
    tp_program_release(p);
}

/* A strategy that cannot even start on a device does not fit on it; that is no error. */
TEST_WITH(what_a_strategy_needs_to_start_counts, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_program *empty = test_program(NULL, 0, true);
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    how.got_in_init = PAGE;
    cfg.program = empty;
    assert_int_equal(replay(&cfg)->fits_in, PAGE);
    cfg.program = p;
    how.got_in_init = 100 * PAGE;
    assert_int_equal(replay(&cfg)->fits_in, 104 * PAGE);
    cfg.program = empty;
    assert_int_equal(replay(&cfg)->fits_in, 100 * PAGE);
    tp_program_release(p);
    tp_program_release(empty);
}

/* Half of any device: it is no error that there is no smallest one to look for. */
TEST_WITH(a_share_of_the_device_has_no_answer, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    cfg.layers[1] =
        (struct tp_source_layer){&tp_source_limit, &(struct limit_options){1000 * PAGE}};
    cfg.layer_count = 2;
    how.needs_size = true;
    assert_true(replay(&cfg)->fits_in == TP_NONE);
    assert_false(run->flags & TP_RUN_FITS);
    tp_program_release(p);
}

/* A foreign allocator cannot be played on virtual memory. */
TEST_WITH(what_needs_memory_of_its_own_has_no_answer, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_strategy s = pages;
    s.caps |= TP_CAP_FOREIGN;
    s.group = TP_GROUP_REAL;
    struct tp_replay_cfg cfg = on(&tp_source_host, &s, p);
    cfg.passes = TP_PASS_FITS;
    run->devices[0].fits_in = TP_NONE; /* as the usage pass leaves it */
    how.plays = 0;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_true(run->devices[0].fits_in == TP_NONE);
    assert_false(run->flags & TP_RUN_FITS);
    assert_int_equal(how.plays, 0);
    tp_program_release(p);
}

TEST_WITH(without_the_pass_there_is_no_answer, setup, teardown)
{
    struct tp_program *p = some_blocks();
    struct tp_replay_cfg cfg = on(&tp_source_virtual, &pages, p);
    cfg.passes = TP_PASS_USAGE;
    assert_true(replay(&cfg)->fits_in == TP_NONE);
    assert_false(run->flags & TP_RUN_FITS);
    tp_program_release(p);
}
