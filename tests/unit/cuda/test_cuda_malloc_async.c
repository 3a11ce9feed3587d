/* The strategy `cudaMallocAsync` on a test double of the source: which calls it makes, in which
 * order, and what it refuses. async_source.h complains of every free that is not ordered after the
 * block's uses. */
#include "tests/unit/async_source.h"
#include "tests/unit/conformance.h"

#define KIB     UINT64_C(1024)
#define STREAMS 8

static struct async_double *double_of(struct rig *r)
{
    return r->stack[0].state;
}

static int try_open(struct rig *r, const char *options, const char *source)
{
    struct rig_cfg cfg = {.strategy = &tp_strategy_cuda_malloc_async,
                          .options = options,
                          .base = &async_double,
                          .base_options = source,
                          .complaint = async_complaint,
                          .kind = TP_KIND_DEVICE,
                          .streams = STREAMS};
    return rig_open(r, &cfg);
}

static struct rig *open_pool(const char *options, const char *source)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    if (try_open(r, options, source))
        fail_msg("%s", r->err.text);
    return r;
}

static void close_pool(struct rig *r)
{
    rig_check(r);
    rig_close(r);
    free(r);
}

static int try_get(struct rig *r, uint16_t stream, uint64_t size, uint64_t align,
                   struct tp_block *out)
{
    struct tp_req rq = {.size = size, .align = align, .stream = stream};
    *out = (struct tp_block){0};
    int rc = r->s->alloc(r->st, r->threads[0], &rq, out);
    rig_check(r);
    return rc;
}

static tp_addr get(struct rig *r, uint16_t stream, uint64_t size)
{
    struct tp_block b;
    assert_int_equal(try_get(r, stream, size, 256, &b), TP_OK);
    assert_int_equal(b.allocated, size);
    return b.addr;
}

static int try_put(struct rig *r, uint16_t stream, tp_addr addr, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 256, .stream = stream};
    int rc = r->s->free(r->st, r->threads[0], addr, &rq);
    rig_check(r);
    return rc;
}

static void put(struct rig *r, uint16_t stream, tp_addr addr, uint64_t size)
{
    assert_int_equal(try_put(r, stream, addr, size), TP_OK);
}

/* As a program does it: the stream waits for the block, works on it, and says so. */
static void use(struct rig *r, uint16_t stream, tp_addr addr, uint16_t after)
{
    if (stream != after)
        assert_int_equal(tp_src_follow(r->env.source, stream, after), TP_OK);
    assert_int_equal(tp_src_work(r->env.source, stream, addr, 1, 0, TP_OCCUPY_MEMSET), TP_OK);
    assert_int_equal(r->s->use(r->st, r->threads[0], addr, stream), TP_OK);
    rig_check(r);
}

/* The calls since the last look, as text: "get 0 512; follow 0 1; put 0". */
static const char *calls(struct rig *r, size_t *from)
{
    static char text[1024];
    static const char *const names[] = {"open", "close", "get", "put", "trim", "follow", "work"};
    struct async_double *d = double_of(r);
    size_t used = 0;
    for (text[0] = '\0'; *from < d->call_count && used < sizeof text; ++*from) {
        const struct async_call *c = &d->calls[*from];
        char more[32] = "";
        if (c->op == ASYNC_GET || c->op == ASYNC_WORK)
            snprintf(more, sizeof more, " %u %llu", c->stream, (unsigned long long)c->size);
        else if (c->op == ASYNC_PUT)
            snprintf(more, sizeof more, " %u", c->stream);
        else if (c->op == ASYNC_FOLLOW)
            snprintf(more, sizeof more, " %u %u", c->stream, c->after);
        else if (c->op == ASYNC_TRIM)
            snprintf(more, sizeof more, " %llu", (unsigned long long)c->size);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", used ? "; " : "",
                                 names[c->op], more);
    }
    return text;
}

/* ---- which calls ---- */

TEST(one_call_each_on_one_stream)
{
    struct rig *r = open_pool("", NULL);
    size_t seen = 0;
    tp_addr a = get(r, 3, 1000);
    use(r, 3, a, 3);
    put(r, 3, a, 1000);
    assert_string_equal(calls(r, &seen), "open; get 3 1000; work 3 1; put 3");
    close_pool(r);
}

TEST(a_free_waits_for_the_streams_of_the_block)
{
    struct rig *r = open_pool("", NULL);
    size_t seen = 0;
    tp_addr a = get(r, 1, 600), b = get(r, 1, 700);
    use(r, 2, a, 1);
    use(r, 4, a, 1);
    use(r, 2, a, 1); /* again: once is enough */
    use(r, 1, a, 1);
    calls(r, &seen);
    put(r, 2, a, 600); /* a further stream frees */
    assert_string_equal(calls(r, &seen), "follow 2 1; follow 2 4; put 2");
    put(r, 5, b, 700); /* a stream that has nothing to do with it */
    assert_string_equal(calls(r, &seen), "follow 5 1; put 5");
    a = get(r, 1, 600);
    use(r, 6, a, 1);
    calls(r, &seen);
    put(r, 1, a, 600);
    assert_string_equal(calls(r, &seen), "follow 1 6; put 1");
    close_pool(r);
}

/* What was remembered of a block is gone with it, although address and record come again. */
TEST(a_new_block_begins_without_streams)
{
    struct rig *r = open_pool("", NULL);
    size_t seen = 0;
    tp_addr a = get(r, 0, 600);
    for (uint16_t s = 1; s < 60; s++)
        use(r, s, a, 0);
    put(r, 0, a, 600);
    assert_int_equal(get(r, 0, 600), a);
    seen = double_of(r)->call_count;
    put(r, 0, a, 600);
    assert_string_equal(calls(r, &seen), "put 0");
    close_pool(r);
}

TEST(many_streams_are_remembered_once)
{
    for (uint16_t most = 1; most < ASYNC_STREAMS; most++) {
        struct rig *r = open_pool("", NULL);
        tp_addr a = get(r, 0, 600);
        for (int again = 0; again < 2; again++)
            for (uint16_t s = 1; s <= most; s++)
                use(r, s, a, 0);
        uint64_t before = double_of(r)->follows;
        put(r, 0, a, 600);
        assert_int_equal(double_of(r)->follows - before, most);
        close_pool(r);
    }
}

TEST(fini_frees_what_is_live_and_closes)
{
    struct rig *r = open_pool("", NULL);
    tp_addr a = get(r, 1, 600), b = get(r, 2, 700);
    get(r, 0, 100);
    use(r, 3, a, 1);
    put(r, 2, b, 700);
    close_pool(r); /* the double complains of what is left, unordered or not closed */
}

TEST(a_failing_put_does_not_keep_fini_from_closing)
{
    struct rig *r = open_pool("", "put_at=1");
    get(r, 1, 600);
    r->s->fini(r->st);
    struct async_double *d = double_of(r);
    assert_false(d->open);
    assert_int_equal(d->calls[d->call_count - 1].op, ASYNC_CLOSE);
    assert_string_equal(d->complaint, "1 blocks were left to pool_close"); /* which gives it back */
    d->complaint[0] = '\0';
    assert_int_equal(r->meta.live_bytes, 0);
    for (uint32_t i = 0; i < r->thread_count; i++)
        free(r->threads[i]);
    free(r->st);
    tp_rig_close_sources(r);
    free(r);
}

TEST(trim_is_the_pools)
{
    struct rig *r = open_pool("", NULL);
    size_t seen = 0;
    calls(r, &seen);
    assert_int_equal(r->s->trim(r->st, 12345), TP_OK);
    assert_string_equal(calls(r, &seen), "trim 12345");
    close_pool(r);
    r = open_pool("", "trim_status=8");
    assert_int_equal(r->s->trim(r->st, 0), TP_EDEVICE);
    close_pool(r);
}

/* ---- wrong calls and failures ---- */

TEST(wrong_calls_change_nothing)
{
    struct rig *r = open_pool("", NULL);
    struct tp_block block;
    static const struct tp_req bad[] = {{.size = 0, .align = 16},
                                        {.size = 8, .align = 0},
                                        {.size = 8, .align = 3},
                                        {.size = 8, .align = UINT64_MAX}};
    tp_addr a = get(r, 0, 4000), b = get(r, 1, 100);
    put(r, 1, b, 100);
    struct tp_stats stats = tp_rig_stats(r);
    size_t before = double_of(r)->call_count;
    const tp_addr wrong[] = {0, 1, a + 1, a + 512, a - 512, b, a ^ UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(try_put(r, 0, wrong[i], 4000), TP_EINVAL);
        assert_int_equal(try_put(r, 1, wrong[i], 100), TP_EINVAL);
        assert_int_equal(r->s->use(r->st, NULL, wrong[i], 1), TP_EINVAL);
        assert_int_equal(r->s->usable(r->st, wrong[i]), 0);
    }
    assert_int_equal(try_put(r, 3, a, 3999), TP_EINVAL);
    assert_int_equal(try_put(r, 3, a, UINT64_MAX), TP_EINVAL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(r->s->alloc(r->st, NULL, &bad[i], &block), TP_EINVAL);
    assert_int_equal(double_of(r)->call_count, before);
    assert_int_equal(stats.fallbacks, 0);
    assert_int_equal(r->s->usable(r->st, a), 4000);
    put(r, 0, a, 4000);
    assert_int_equal(try_put(r, 0, a, 4000), TP_EINVAL);
    close_pool(r);
}

TEST(no_device_is_that_large)
{
    struct rig *r = open_pool("", NULL);
    struct tp_block b;
    assert_int_equal(try_get(r, 0, UINT64_MAX, 1, &b), TP_EOOM);
    assert_int_equal(try_get(r, 0, 1, UINT64_C(1) << 63, &b), TP_EOOM);
    assert_int_equal(try_get(r, 0, UINT64_MAX, UINT64_C(1) << 63, &b), TP_EOOM);
    assert_int_equal(double_of(r)->call_count, 1);
    close_pool(r);
}

/* Out of memory is the driver's last word: nothing is tried behind its back. */
TEST(out_of_memory_is_passed_on)
{
    struct rig *r = open_pool("", "capacity=1000");
    struct tp_block b;
    size_t seen = 0;
    tp_addr a = get(r, 0, 600);
    calls(r, &seen);
    assert_int_equal(try_get(r, 0, 600, 256, &b), TP_EOOM);
    assert_string_equal(calls(r, &seen), "");
    assert_int_equal(r->account.refused_gets, 1);
    put(r, 0, a, 600);
    put(r, 0, get(r, 0, 1000), 1000);
    close_pool(r);
}

TEST(a_refused_free_leaves_the_block_live)
{
    static const char *const sources[] = {"put_at=1", "follow_at=2", "follow_at=3"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct rig *r = open_pool("", sources[i]);
        tp_addr a = get(r, 1, 600);
        use(r, 2, a, 1);
        assert_int_equal(try_put(r, 3, a, 600), TP_EDEVICE);
        assert_int_equal(r->s->usable(r->st, a), 600);
        put(r, 3, a, 600);
        assert_int_equal(r->s->usable(r->st, a), 0);
        close_pool(r);
    }
}

/* A program that meets every kind of bookkeeping. */
static bool program(struct rig *r)
{
    enum { BLOCKS = 150 };
    tp_addr addrs[BLOCKS] = {0};
    struct tp_block b;
    bool failed = false;
    for (uint16_t i = 0; i < BLOCKS; i++) {
        int rc = try_get(r, i % STREAMS, 100 + i, 256, &b);
        assert_true(rc == TP_OK || rc == TP_ENOMEM || rc == TP_EOOM);
        failed = failed || rc;
        addrs[i] = rc ? 0 : b.addr;
        for (uint16_t s = 0; !rc && i % 50 == 0 && s < 40; s++) {
            rc = r->s->use(r->st, NULL, b.addr, s);
            rig_check(r);
            assert_true(rc == TP_OK || rc == TP_ENOMEM);
            failed = failed || rc;
            rc = rc ? r->s->use(r->st, NULL, b.addr, s) : TP_OK; /* now there is memory */
            assert_int_equal(rc, TP_OK);
        }
    }
    for (uint16_t i = 0; i < BLOCKS; i += 2)
        if (addrs[i])
            put(r, 0, addrs[i], 100 + i);
    return failed;
}

TEST(each_failing_call_is_survived)
{
    for (int meta = 0; meta < 2; meta++) {
        bool hit = true;
        uint64_t n = 0;
        for (; hit; n++) {
            struct rig *r = calloc(1, sizeof *r);
            char fault[32];
            snprintf(fault, sizeof fault, "get_at=%llu", (unsigned long long)n + 1);
            struct rig_cfg cfg = {.strategy = &tp_strategy_cuda_malloc_async,
                                  .base = &async_double,
                                  .complaint = async_complaint,
                                  .kind = TP_KIND_DEVICE,
                                  .fault = meta ? NULL : fault,
                                  .meta_fail_at = meta ? n + 1 : 0,
                                  .streams = STREAMS};
            assert_non_null(r);
            assert_int_equal(rig_open(r, &cfg), TP_OK);
            hit = program(r);
            close_pool(r);
        }
        assert_true(n > (meta ? 5 : 150));
    }
}

/* Records and table are kept: what was reached once is served without a call for memory. */
TEST(the_steady_state_takes_no_memory)
{
    struct rig *r = open_pool("", NULL);
    program(r);
    uint64_t before = 0;
    for (int round = 0; round < 50; round++) {
        tp_addr addrs[70];
        for (uint16_t i = 0; i < 70; i++) {
            addrs[i] = get(r, i % STREAMS, 1000 + i);
            use(r, (uint16_t)(i + 1) % STREAMS, addrs[i], i % STREAMS);
        }
        for (uint16_t i = 0; i < 70; i++)
            put(r, i % 3, addrs[i], 1000 + i);
        if (round == 0)
            before = r->meta.calls;
    }
    assert_int_equal(r->meta.calls, before);
    close_pool(r);
}

/* ---- alignment ---- */

TEST(any_alignment_is_honoured)
{
    static const char *const sources[] = {"align=512", "align=256", "align=16"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct rig *r = open_pool("", sources[i]);
        for (uint64_t align = 1; align <= UINT64_C(1) << 30; align *= 2) {
            struct tp_block b;
            assert_int_equal(try_get(r, 2, 1000, align, &b), TP_OK);
            assert_int_equal(b.addr % align, 0);
            assert_int_equal(b.allocated, 1000);
            use(r, 3, b.addr, 2);
            tp_src_work(r->env.source, 3, b.addr, 1000, 0, TP_OCCUPY_MEMSET); /* lies within */
            put(r, 2, b.addr, 1000);
        }
        close_pool(r);
    }
}

/* What the driver gives anyway is not paid for; beyond it, no more than is needed. */
TEST(alignment_costs_what_it_must)
{
    struct rig *r = open_pool("", NULL);
    struct tp_block b;
    size_t seen = 0;
    calls(r, &seen);
    assert_int_equal(try_get(r, 0, 1000, 512, &b), TP_OK);
    assert_int_equal(try_get(r, 0, 1000, 4096, &b), TP_OK);
    assert_string_equal(calls(r, &seen), "get 0 1000; get 0 4584");
    close_pool(r);
    r = open_pool("", "align=256"); /* a driver that gives less: once back, once more */
    seen = 0;
    calls(r, &seen);
    assert_int_equal(try_get(r, 5, 1000, 512, &b), TP_OK);
    assert_string_equal(calls(r, &seen), "get 5 1000; put 5; get 5 1512");
    close_pool(r);
}

/* ---- options ---- */

static struct tp_pool_cfg cfg_of(const char *options)
{
    struct rig *r = open_pool(options, NULL);
    struct tp_pool_cfg cfg = double_of(r)->cfg;
    close_pool(r);
    return cfg;
}

TEST(options_reach_the_pool)
{
    struct tp_pool_cfg c = cfg_of("");
    assert_true(!c.own && !c.max_size && !c.release_threshold);
    assert_true(c.reuse_follow_event_dependencies && c.reuse_allow_opportunistic &&
                c.reuse_allow_internal_dependencies);
    c = cfg_of("pool=own,max_size=3MiB,release_threshold=64KiB");
    assert_true(c.own);
    assert_int_equal(c.max_size, 3 * KIB * KIB);
    assert_int_equal(c.release_threshold, 64 * KIB);
    c = cfg_of("release_threshold=max");
    assert_true(c.release_threshold == UINT64_MAX);
    c = cfg_of("reuse_follow_event_dependencies=no");
    assert_true(!c.reuse_follow_event_dependencies && c.reuse_allow_opportunistic &&
                c.reuse_allow_internal_dependencies);
    c = cfg_of("reuse_allow_opportunistic=no");
    assert_true(c.reuse_follow_event_dependencies && !c.reuse_allow_opportunistic &&
                c.reuse_allow_internal_dependencies);
    c = cfg_of("reuse_allow_internal_dependencies=no");
    assert_true(c.reuse_follow_event_dependencies && c.reuse_allow_opportunistic &&
                !c.reuse_allow_internal_dependencies);
}

TEST(preload_is_one_allocation_and_one_free)
{
    struct rig *r = open_pool("preload=5MiB", NULL);
    size_t seen = 0;
    assert_string_equal(calls(r, &seen), "open; get 0 5242880; put 0");
    close_pool(r);
}

static void init_fails(const char *options, const char *source, int status, const char *text)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(try_open(r, options, source), status); /* the double closes: no complaint */
    assert_int_equal(r->err.status, status);
    assert_string_equal(r->err.text, text);
    if (status == TP_EUSAGE)
        assert_true(*r->err.hint);
    free(r);
}

TEST(init_says_what_is_wrong)
{
    init_fails("", "open_status=8", TP_EDEVICE, "the double has no pool");
    init_fails("max_size=2MiB", NULL, TP_EUSAGE,
               "strategy 'cudaMallocAsync': 'max_size' is for a pool of its own, the device's "
               "default pool has no limit");
    init_fails("preload=2MiB", "capacity=1000000", TP_EUSAGE,
               "strategy 'cudaMallocAsync': there is no room for 'preload=2MiB'");
}

TEST(a_failing_preload_closes_the_pool)
{
    struct rig *r = calloc(1, sizeof *r);
    struct tp_err err;
    assert_non_null(r);
    struct rig_cfg cfg = {.strategy = &tp_strategy_direct, /* not opened on the double */
                          .base = &async_double,
                          .base_options = "put_at=1",
                          .kind = TP_KIND_DEVICE};
    r->s = &tp_strategy_cuda_malloc_async;
    rig_sources(r, &cfg);
    r->env = (struct tp_env){.source = &r->stack[r->depth - 1], .account = &r->account};
    r->opts = rig_opts(r->s->options, r->s->opts_size, "preload=1KiB");
    r->st = calloc(1, r->s->state_size);
    assert_int_equal(r->s->init(r->st, &r->env, r->opts, &err), TP_EDEVICE);
    assert_non_null(strstr(err.text, "'preload'"));
    struct async_double *d = double_of(r);
    assert_false(d->open);
    assert_int_equal(d->calls[d->call_count - 1].op, ASYNC_CLOSE);
    d->complaint[0] = '\0'; /* the block was left to pool_close, which gives it back */
    free(r->st);
    tp_rig_close_sources(r);
    free(r);
}

TEST(it_fits_sources_with_a_pool)
{
    struct tp_err err;
    assert_int_equal(tp_source_check(&async_double, &err), TP_OK);
    assert_int_equal(tp_strategy_check(&tp_strategy_cuda_malloc_async, &err), TP_OK);
    assert_int_equal(tp_strategy_fits(&tp_strategy_cuda_malloc_async, &async_double, &err), TP_OK);
    assert_int_equal(tp_strategy_fits(&tp_strategy_cuda_malloc_async, &tp_source_virtual, &err),
                     TP_EUSAGE);
    assert_non_null(strstr(err.hint, "stream-pool"));
}
