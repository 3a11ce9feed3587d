/* Tables of sources and strategies that do not agree with themselves, handles, bookkeeping memory.
 */
#include "alloc/sources/common/meta_heap.h"
#include "tests/unit/test.h"

#include <unistd.h>

/* ---- a source that records how it is called ---- */

struct probe {
    uint64_t page;
    int opened, closed;
    int init_status;
};

struct probe_state {
    struct probe *probe;
};

static int probe_init(void *s, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct probe_state *st = s;
    const struct probe *in = cfg->opts;
    assert_null(st->probe);
    st->probe = (struct probe *)(uintptr_t)in;
    st->probe->opened++;
    return in->init_status ? tp_fail(err, TP_EDEVICE, "no such device") : TP_OK;
}
static void probe_fini(void *s)
{
    ((struct probe_state *)s)->probe->closed++;
}
static uint64_t probe_page(void *s)
{
    return ((struct probe_state *)s)->probe->page;
}
static int probe_get(void *s, uint64_t size, uint64_t align, tp_addr *out)
{
    (void)s;
    *out = size > 8192 ? 0 : align;
    return size > 8192 ? TP_EOOM : TP_OK;
}
static int probe_put(void *s, tp_addr addr, uint64_t size)
{
    (void)s;
    return addr == 64 && size == 4096 ? TP_OK : TP_EINVAL;
}
static void probe_record(void *s, uint16_t stream, struct tp_fence *out)
{
    (void)s;
    out->serial = 7u + stream;
}
static bool probe_done(void *s, const struct tp_fence *f)
{
    (void)s;
    return f->serial == 7;
}
static int probe_wait(void *s, const struct tp_fence *f)
{
    (void)s;
    return f->serial == 7 ? TP_OK : TP_EINVAL;
}
static void probe_synced(void *s, uint16_t stream)
{
    ((struct probe_state *)s)->probe->page = stream;
}
static void *probe_host(void *s, tp_addr addr)
{
    (void)addr;
    return s;
}

static int probe_alias(void *s, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    (void)s, (void)base, (void)from, (void)size, (void)of;
    return TP_OK;
}
static int probe_unalias(void *s, tp_addr base, uint64_t from, uint64_t size)
{
    (void)s, (void)base, (void)from, (void)size;
    return TP_OK;
}

static const struct tp_source_ops good_source = {
    .name = "probe",
    .summary = "a test",
    .flags = TP_SRC_HOST,
    .state_size = sizeof(struct probe_state),
    .init = probe_init,
    .fini = probe_fini,
    .page = probe_page,
    .get = probe_get,
    .put = probe_put,
    .record = probe_record,
    .done = probe_done,
    .wait = probe_wait,
    .synced = probe_synced,
    .host = probe_host,
};

static void source_says(struct tp_source_ops ops, const char *what)
{
    struct tp_err err;
    assert_int_equal(tp_source_check(&ops, &err), TP_EBROKEN);
    if (!strstr(err.text, what))
        fail_msg("'%s' does not say '%s'", err.text, what);
}

#define SOURCE(what, ...)                                                                          \
    do {                                                                                           \
        struct tp_source_ops s = good_source;                                                      \
        __VA_ARGS__;                                                                               \
        source_says(s, what);                                                                      \
    } while (0)

TEST(source_tables)
{
    static const struct tp_opt no_help[] = {{.name = "x", .type = TP_OPT_FLAG}, {.name = NULL}};
    assert_int_equal(tp_source_check(&good_source, NULL), TP_OK);
    SOURCE("'name'", s.name = NULL);
    SOURCE("'name'", s.name = "");
    SOURCE("'summary'", s.summary = NULL);
    SOURCE("'init'", s.init = NULL);
    SOURCE("'fini'", s.fini = NULL);
    SOURCE("'page'", s.page = NULL);
    SOURCE("'get'", s.get = NULL);
    SOURCE("'put'", s.put = NULL);
    SOURCE("'record'", s.record = NULL);
    SOURCE("'done'", s.done = NULL);
    SOURCE("'wait'", s.wait = NULL);
    SOURCE("'synced'", s.synced = NULL);
    SOURCE("'record'", s.record = NULL; s.done = NULL; s.wait = NULL);
    SOURCE("'drained'", s.record = NULL; s.done = NULL; s.wait = NULL; s.synced = NULL;
           s.drained = probe_synced);
    SOURCE("'alias' and 'unalias'", s.alias = probe_alias);
    SOURCE("'alias' and 'unalias'", s.unalias = probe_unalias);
    SOURCE("'alias' needs 'map'", s.alias = probe_alias; s.unalias = probe_unalias);
    SOURCE("unknown bit", s.flags |= 1u << 30);
    SOURCE("at once", s.flags |= TP_SRC_VIRTUAL);
    SOURCE("'host'", s.flags = 0);
    SOURCE("'host'", s.host = NULL);
    SOURCE("option 'x' of source 'probe'", s.options = no_help; s.opts_size = 1);
    struct tp_source_ops s = good_source;
    s.record = NULL, s.done = NULL, s.wait = NULL, s.synced = NULL;
    assert_int_equal(tp_source_check(&s, NULL), TP_OK);
    s.flags = TP_SRC_WRAPPER;
    assert_int_equal(tp_source_check(&s, NULL), TP_OK);
    s = (struct tp_source_ops){
        .name = "probe", .summary = "gone", .flags = TP_SRC_ABSENT, .init = s.init};
    assert_int_equal(tp_source_check(&s, NULL), TP_OK);
    s.init = NULL;
    source_says(s, "'init'");
}

TEST(source_handle)
{
    struct probe probe = {.page = 4096};
    struct tp_source_cfg cfg = {.opts = &probe};
    struct tp_source src = {0};
    tp_source_close(&src);
    assert_int_equal(tp_source_open(&src, &good_source, &cfg, NULL), TP_OK);
    assert_true(src.page == 4096);
    tp_addr addr = 1;
    assert_int_equal(tp_src_get(&src, 4096, 64, &addr), TP_OK);
    assert_true(addr == 64);
    assert_int_equal(tp_src_get(&src, 12288, 64, &addr), TP_EOOM);
    assert_true(addr == 0);
    assert_int_equal(tp_src_put(&src, 64, 4096), TP_OK);
    assert_int_equal(tp_src_put(&src, 64, 8192), TP_EINVAL);
    struct tp_fence fence;
    tp_src_record(&src, 1, &fence);
    assert_true(fence.serial == 8 && fence.stream == 1);
    assert_false(tp_src_done(&src, &fence));
    assert_int_equal(tp_src_wait(&src, &fence), TP_EINVAL);
    tp_src_synced(&src, 512);
    assert_true(probe.page == 512);
    assert_true(tp_src_has_fences(&src));
    assert_ptr_equal(tp_src_host(&src, 1), src.state);
    tp_source_close(&src);
    assert_true(probe.opened == 1 && probe.closed == 1 && !src.ops);
    tp_source_close(&src);
    assert_int_equal(probe.closed, 1);
}

TEST(source_without_groups)
{
    struct probe probe = {.page = 1};
    struct tp_source_cfg cfg = {.opts = &probe};
    struct tp_source_ops ops = good_source;
    struct tp_source src;
    ops.record = NULL, ops.done = NULL, ops.wait = NULL, ops.synced = NULL, ops.host = NULL;
    assert_int_equal(tp_source_open(&src, &ops, &cfg, NULL), TP_OK);
    struct tp_fence fence = {.serial = 1};
    tp_src_record(&src, 3, &fence);
    assert_true(fence.serial == 0 && fence.stream == 3);
    assert_true(tp_src_done(&src, &fence));
    assert_int_equal(tp_src_wait(&src, &fence), TP_OK);
    tp_src_synced(&src, 3);
    assert_false(tp_src_has_fences(&src) || tp_src_has_aliases(&src));
    assert_int_equal(tp_src_alias(&src, 4096, 0, 4096, 8192), TP_EUNSUP);
    assert_int_equal(tp_src_unalias(&src, 4096, 0, 4096), TP_EUNSUP);
    assert_null(tp_src_host(&src, 1));
    tp_source_close(&src);
}

TEST(source_refusals)
{
    struct tp_source src;
    struct tp_err err;
    struct probe fails = {.page = 4096, .init_status = 1};
    struct tp_source_cfg cfg = {.opts = &fails};
    assert_int_equal(tp_source_open(&src, &good_source, &cfg, &err), TP_EDEVICE);
    assert_true(!src.ops && !src.state && fails.closed == 0);
    struct probe odd = {.page = 3000};
    cfg.opts = &odd;
    assert_int_equal(tp_source_open(&src, &good_source, &cfg, &err), TP_EBROKEN);
    assert_true(!src.ops && odd.closed == 1);
    struct tp_source_ops wrapper = good_source;
    wrapper.flags = TP_SRC_WRAPPER;
    struct probe unused = {.page = 4096};
    cfg.opts = &unused;
    assert_int_equal(tp_source_open(&src, &wrapper, &cfg, &err), TP_EBROKEN);
    assert_true(!src.ops && unused.opened == 0);
}

/* ---- strategies: the members are only looked at ---- */

static int st_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)st, (void)env, (void)opts, (void)err;
    return TP_OK;
}
static void st_fini(void *st)
{
    (void)st;
}
static int st_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)st, (void)thr, (void)rq, (void)out;
    return TP_EOOM;
}
static int st_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)st, (void)thr, (void)addr, (void)rq;
    return TP_EINVAL;
}
static int st_retain(void *st, void *thr, tp_addr addr)
{
    (void)st, (void)thr, (void)addr;
    return TP_OK;
}
static int st_use(void *st, void *thr, tp_addr addr, uint16_t stream)
{
    (void)st, (void)thr, (void)addr, (void)stream;
    return TP_OK;
}
static int st_sync(void *st, void *thr, uint16_t stream)
{
    (void)st, (void)thr, (void)stream;
    return TP_OK;
}
static int st_thread_init(void *st, void *thr)
{
    (void)st, (void)thr;
    return TP_OK;
}
static void st_thread_fini(void *st, void *thr)
{
    (void)st, (void)thr;
}

static const struct tp_strategy good_strategy = {
    .name = "probe",
    .summary = "a test",
    .caps = TP_CAP_STREAMS | TP_CAP_RETAINS,
    .state_size = 8,
    .thread_size = 8,
    .init = st_init,
    .fini = st_fini,
    .alloc = st_alloc,
    .free = st_free,
    .retain = st_retain,
    .release = st_retain,
    .use = st_use,
    .sync = st_sync,
    .thread_init = st_thread_init,
    .thread_fini = st_thread_fini,
};

static void strategy_says(struct tp_strategy strategy, const char *what)
{
    struct tp_err err;
    assert_int_equal(tp_strategy_check(&strategy, &err), TP_EBROKEN);
    if (!strstr(err.text, what))
        fail_msg("'%s' does not say '%s'", err.text, what);
}

#define STRATEGY(what, ...)                                                                        \
    do {                                                                                           \
        struct tp_strategy s = good_strategy;                                                      \
        __VA_ARGS__;                                                                               \
        strategy_says(s, what);                                                                    \
    } while (0)

TEST(strategy_tables)
{
    static const struct tp_opt far[] = {
        {.name = "x", .type = TP_OPT_FLAG, .offset = 9, .help = "x"}, {.name = NULL}};
    assert_int_equal(tp_strategy_check(&good_strategy, NULL), TP_OK);
    STRATEGY("'name'", s.name = NULL);
    STRATEGY("'name'", s.name = "a:b");
    STRATEGY("'name'", s.name = "a,b");
    STRATEGY("'summary'", s.summary = "");
    STRATEGY("'group'", s.group = (enum tp_group)3);
    STRATEGY("unknown bit", s.caps |= 1u << 20);
    STRATEGY("required", s.init = NULL);
    STRATEGY("required", s.fini = NULL);
    STRATEGY("required", s.alloc = NULL);
    STRATEGY("required", s.free = NULL);
    STRATEGY("'state_size'", s.state_size = 0);
    STRATEGY("'release'", s.release = NULL);
    STRATEGY("'release'", s.retain = NULL);
    STRATEGY("'thread_fini'", s.thread_fini = NULL);
    STRATEGY("'thread_size'", s.thread_size = 0);
    STRATEGY("TP_CAP_RETAINS", s.caps &= ~(uint32_t)TP_CAP_RETAINS);
    STRATEGY("TP_CAP_RETAINS", s.retain = NULL; s.release = NULL);
    STRATEGY("TP_CAP_STREAMS", s.caps &= ~(uint32_t)TP_CAP_STREAMS; s.use = NULL);
    STRATEGY("TP_CAP_STREAMS", s.caps &= ~(uint32_t)TP_CAP_STREAMS; s.sync = NULL);
    STRATEGY("TP_CAP_FOREIGN", s.caps |= TP_CAP_FOREIGN | TP_CAP_ASYNC; s.group = TP_GROUP_REAL);
    STRATEGY("TP_CAP_FOREIGN", s.caps = TP_CAP_STREAMS | TP_CAP_RETAINS | TP_CAP_FOREIGN);
    STRATEGY("option 'x' of strategy 'probe'", s.options = far; s.opts_size = 9);
}

TEST(strategy_on_source)
{
    struct tp_source_ops simulated = good_source;
    struct tp_strategy foreign = good_strategy, pooled = good_strategy;
    struct tp_err err;
    simulated.name = "virtual";
    simulated.flags = TP_SRC_VIRTUAL;
    foreign.caps |= TP_CAP_FOREIGN;
    pooled.caps |= TP_CAP_ASYNC;
    assert_int_equal(tp_strategy_fits(&good_strategy, &good_source, &err), TP_OK);
    assert_int_equal(tp_strategy_fits(&foreign, &good_source, &err), TP_OK);
    assert_int_equal(tp_strategy_fits(&good_strategy, &simulated, &err), TP_OK);
    assert_int_equal(tp_strategy_fits(&pooled, &simulated, &err), TP_EUSAGE);
    assert_non_null(strstr(err.text, "'probe' is a pool of the driver"));
    simulated.flags |= TP_SRC_ABSENT; /* it would have one: that it is absent is the news */
    assert_int_equal(tp_strategy_fits(&pooled, &simulated, &err), TP_OK);
    assert_int_equal(tp_strategy_fits(&foreign, &simulated, &err), TP_EUSAGE);
    assert_non_null(strstr(err.text, "real allocator"));
    assert_int_equal(tp_strategy_fits(&foreign, &simulated, NULL), TP_EUSAGE);
}

/* ---- bookkeeping memory ---- */

static const size_t meta_sizes[] = {1, 15, 16, 1000, 131071, 131072, 131073, 3 << 20};
enum { META_SIZES = sizeof meta_sizes / sizeof *meta_sizes };

TEST(meta_memory)
{
    struct tp_account account = {.reserved = 1000};
    struct tp_meta_heap heap = {.account = &account};
    struct tp_env env = {.account = &account, .meta = &heap};
    unsigned char *blocks[META_SIZES];
    uint64_t sum = 0;
    for (size_t i = 0; i < META_SIZES; i++) {
        size_t size = meta_sizes[i];
        blocks[i] = tp_meta_get(&env, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(blocks[i][at], 0);
        memset(blocks[i], 0xAA, size); /* so that reuse would show */
        sum += size;
        assert_true(account.metadata == sum && heap.live_bytes == sum);
    }
    assert_true(heap.live_blocks == META_SIZES && heap.calls == META_SIZES);
    assert_true(account.peak_metadata == sum && account.peak_held == sum + 1000);
    assert_true(account.peak_reserved == 1000);
    for (size_t i = 0; i < META_SIZES; i++)
        tp_meta_put(&env, blocks[i], meta_sizes[i]);
    tp_meta_put(&env, NULL, 5);
    assert_true(account.metadata == 0 && heap.live_bytes == 0 && heap.live_blocks == 0);
    assert_true(account.peak_metadata == sum && account.peak_held == sum + 1000);
}

TEST(meta_fails)
{
    struct tp_account account = {0};
    struct tp_meta_heap heap = {.account = &account, .fail_at = 3};
    struct tp_env env = {.meta = &heap};
    void *blocks[4];
    for (size_t i = 0; i < 4; i++)
        blocks[i] = tp_meta_get(&env, 64);
    assert_true(blocks[0] && blocks[1] && !blocks[2] && blocks[3]);
    assert_true(account.metadata == 192 && heap.calls == 4 && heap.live_blocks == 3);
    for (size_t i = 0; i < 4; i++)
        tp_meta_put(&env, blocks[i], 64);
    assert_true(heap.live_blocks == 0);
    assert_null(tp_meta_get(&env, SIZE_MAX / 2));
    assert_true(heap.live_blocks == 0 && account.metadata == 0);
}

static long resident_pages(void)
{
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &total, &resident), 2);
    fclose(f);
    return resident;
}

/* A large table costs the pages that are used. */
TEST(meta_is_lazy)
{
    struct tp_meta_heap heap = {0};
    struct tp_env env = {.meta = &heap};
    const size_t size = (size_t)256 << 20;
    long before = resident_pages();
    char *p = tp_meta_get(&env, size);
    assert_non_null(p);
    p[0] = 1;
    p[size - 1] = 1;
    assert_true((resident_pages() - before) * sysconf(_SC_PAGESIZE) < (16 << 20));
    tp_meta_put(&env, p, size);
    assert_true(resident_pages() - before < 4096);
}

TEST(account_peaks)
{
    struct tp_account a = {.reserved = 10, .metadata = 1};
    tp_account_update(&a);
    a.reserved = 4, a.metadata = 5;
    tp_account_update(&a);
    assert_true(a.peak_reserved == 10 && a.peak_metadata == 5 && a.peak_held == 11);
    a.reserved = 9;
    tp_account_update(&a);
    assert_true(a.peak_reserved == 10 && a.peak_metadata == 5 && a.peak_held == 14);
}
