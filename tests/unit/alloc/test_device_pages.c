/* What a device gives up for its ranges, in pages of 2 MiB: the rule, beside a model that looks at
 * every unit, and what the sources make of it. */
#include "alloc/sources/common/device_pages.h"
#include "tests/unit/conformance.h"

#define MIB   (UINT64_C(1) << 20)
#define PAGE  TP_DEVICE_PAGE
#define UNITS TP_PAGE_UNITS

/* ---- the rule ---- */

static uint64_t next_address;

static uint64_t take(struct tp_device_pages *p, uint64_t size, uint64_t align)
{
    uint64_t before = p->taken, cost = tp_device_pages_cost(p, size, align);
    assert_int_equal(tp_device_pages_take(p, ++next_address, size, align), TP_OK);
    assert_int_equal(p->taken - before, cost);
    return next_address;
}

TEST(small_requests_share_a_page)
{
    struct tp_device_pages p;
    tp_device_pages_init(&p);
    uint64_t a = take(&p, 512, 512), b = take(&p, PAGE - 1024, 512);
    assert_int_equal(p.taken, PAGE);
    uint64_t c = take(&p, 512, 512);
    assert_int_equal(p.taken, PAGE); /* to the last unit */
    uint64_t d = take(&p, 512, 512);
    assert_int_equal(p.taken, 2 * PAGE);
    tp_device_pages_give(&p, a, 512);
    tp_device_pages_give(&p, b, PAGE - 1024);
    assert_int_equal(p.taken, 2 * PAGE); /* c holds the first page */
    tp_device_pages_give(&p, c, 512);
    assert_int_equal(p.taken, PAGE);
    tp_device_pages_give(&p, d, 512);
    assert_int_equal(p.taken, 0);
    tp_device_pages_fini(&p);
}

TEST(large_requests_are_whole_pages)
{
    struct tp_device_pages p;
    tp_device_pages_init(&p);
    uint64_t small = take(&p, PAGE - 512, 512), page = take(&p, PAGE, 512);
    assert_int_equal(p.taken, 2 * PAGE);
    uint64_t more = take(&p, PAGE + 512, 512), many = take(&p, 100 * PAGE - 512, 512);
    assert_int_equal(p.taken, 104 * PAGE);
    take(&p, 512, 512); /* beside the first, not into what the large ones leave */
    take(&p, 512, 512);
    assert_int_equal(p.taken, 105 * PAGE);
    tp_device_pages_give(&p, more, PAGE + 512);
    tp_device_pages_give(&p, many, 100 * PAGE - 512);
    tp_device_pages_give(&p, page, PAGE);
    tp_device_pages_give(&p, small, PAGE - 512);
    assert_int_equal(p.taken, 2 * PAGE);
    assert_true(tp_device_pages_cost(&p, UINT64_MAX & ~UINT64_C(511), 512) > UINT64_C(1) << 63);
    tp_device_pages_fini(&p);
}

TEST(an_alignment_needs_a_place_that_has_it)
{
    struct tp_device_pages p;
    tp_device_pages_init(&p);
    take(&p, 512, 512);
    take(&p, MIB, MIB); /* the upper half */
    assert_int_equal(p.taken, PAGE);
    take(&p, MIB - 512, 512); /* all that is left of the lower */
    assert_int_equal(p.taken, PAGE);
    take(&p, 512, PAGE);
    assert_int_equal(p.taken, 2 * PAGE);
    take(&p, 512, 1024 * PAGE); /* only the first place of a page could serve */
    assert_int_equal(p.taken, 3 * PAGE);
    take(&p, 512, 1);
    assert_int_equal(p.taken, 3 * PAGE);
    tp_device_pages_fini(&p);
}

/* ---- beside a model ---- */

enum { MODEL_PAGES = 300, RANGES = 3000, STEPS = 60000 };

static struct model {
    bool taken[MODEL_PAGES], used[MODEL_PAGES][UNITS];
    struct range {
        uint64_t addr, size;
        uint32_t page, unit;
    } ranges[RANGES];
} model;

static bool is_free(uint32_t page, uint32_t from, uint64_t units)
{
    for (uint64_t u = from; u < from + units; u++)
        if (u >= UNITS || model.used[page][u])
            return false;
    return true;
}

/* The first page that has a free stretch of so many units. */
static uint32_t model_page(uint64_t units)
{
    for (uint32_t page = 0; page < MODEL_PAGES; page++) {
        uint64_t stretch = 0;
        for (uint32_t u = 0; model.taken[page] && u < UNITS; u++) {
            stretch = model.used[page][u] ? 0 : stretch + 1;
            if (stretch == units)
                return page;
        }
    }
    return MODEL_PAGES;
}

static void model_take(struct range *r, uint64_t align)
{
    uint64_t units = r->size / 512, step = align > 512 ? align / 512 : 1;
    r->page = model_page(units + step - 1);
    if (r->page == MODEL_PAGES)
        for (r->page = 0; model.taken[r->page];)
            r->page++;
    model.taken[r->page] = true;
    for (r->unit = 0; !is_free(r->page, r->unit, units);)
        r->unit += (uint32_t)step;
    memset(&model.used[r->page][r->unit], 1, units);
}

static void model_give(struct range *r)
{
    memset(&model.used[r->page][r->unit], 0, r->size / 512);
    model.taken[r->page] = !is_free(r->page, 0, UNITS);
    r->size = 0;
}

static uint64_t model_taken(void)
{
    uint64_t bytes = 0;
    for (uint32_t page = 0; page < MODEL_PAGES; page++)
        bytes += model.taken[page] ? PAGE : 0;
    return bytes;
}

/* Waves of more and of fewer ranges, so that pages come, break up and go. */
TEST(the_rule_is_what_a_look_at_every_unit_finds)
{
    static const uint64_t around[] = {512, 4096, 100 << 10, 700 << 10};
    struct tp_device_pages p;
    struct rig random = {.random = 5};
    uint64_t most = 0;
    tp_device_pages_init(&p);
    for (int step = 0; step < STEPS; step++) {
        uint64_t few = step / 4000 % 2 ? 20 : RANGES;
        struct range *r = &model.ranges[tp_rig_random(&random) % RANGES];
        bool wanted = r < model.ranges + few && p.taken < (MODEL_PAGES - 2) * PAGE;
        if (r->size) {
            tp_device_pages_give(&p, r->addr, r->size);
            model_give(r);
        } else if (wanted) {
            uint64_t align = UINT64_C(1)
                             << (tp_rig_random(&random) % 4 ? 9 : tp_rig_random(&random) % 23);
            r->size = around[tp_rig_random(&random) % 4] + 512 * (tp_rig_random(&random) % 5);
            r->addr = take(&p, r->size, align);
            model_take(r, align);
        }
        assert_int_equal(p.taken, model_taken());
        most = p.taken > most ? p.taken : most;
    }
    assert_true(most > 100 * PAGE);
    tp_device_pages_fini(&p);
}

/* ---- the sources ---- */

static void open_device(struct rig *r, const char *page, const char *limit, bool shuffle)
{
    const struct rig_cfg cfg = {.kind = TP_KIND_DEVICE,
                                .base = &tp_source_virtual,
                                .base_options = page,
                                .limit = limit,
                                .shuffle = shuffle};
    memset(r, 0, sizeof *r);
    rig_sources(r, &cfg);
}

static int try_get(struct rig *r, uint64_t size, tp_addr *out)
{
    return tp_src_get(&r->stack[r->depth - 1], size, 512, out);
}

TEST(a_limit_is_one_of_pages)
{
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        struct rig r;
        tp_addr small, other, page;
        open_device(&r, NULL, "capacity=5MiB", shuffle);
        assert_int_equal(r.stack[r.depth - 1].page, 512);
        assert_int_equal(tp_src_granule(&r.stack[r.depth - 1]), PAGE);
        assert_int_equal(try_get(&r, 512, &small), TP_OK);
        assert_int_equal(r.account.reserved, PAGE);
        assert_int_equal(tp_account_ranges(&r.account), 512);
        assert_int_equal(try_get(&r, PAGE + 512, &page), TP_EOOM);
        assert_int_equal(try_get(&r, PAGE, &page), TP_OK);
        assert_int_equal(r.account.reserved, 2 * PAGE); /* 1 MiB is left: no page */
        assert_int_equal(try_get(&r, PAGE, &other), TP_EOOM);
        assert_int_equal(try_get(&r, PAGE - 512, &other), TP_OK); /* beside the small one */
        assert_int_equal(try_get(&r, 512, &other), TP_EOOM);
        assert_int_equal(r.account.reserved, 2 * PAGE);
        assert_int_equal(r.account.peak_reserved, 2 * PAGE);
        assert_int_equal(tp_src_put(&r.stack[r.depth - 1], page, PAGE), TP_OK);
        assert_int_equal(r.account.reserved, PAGE);
        assert_int_equal(try_get(&r, 512, &other), TP_OK);
        assert_int_equal(r.account.reserved, 2 * PAGE);
        tp_rig_close_sources(&r);
    }
}

TEST(with_a_page_of_its_own_a_range_takes_what_it_has)
{
    struct rig r;
    tp_addr a, b;
    open_device(&r, "page=512", "capacity=3MiB", false);
    assert_int_equal(tp_src_granule(&r.stack[r.depth - 1]), 512);
    assert_int_equal(try_get(&r, 512, &a), TP_OK);
    assert_int_equal(r.account.reserved, 512);
    assert_int_equal(try_get(&r, 3 * MIB - 512, &b), TP_OK);
    assert_int_equal(r.account.reserved, 3 * MIB);
    assert_int_equal(try_get(&r, 512, &a), TP_EOOM);
    tp_rig_close_sources(&r);
}

TEST(a_limit_below_a_page_is_a_usage_error)
{
    struct rig r;
    struct tp_source limit;
    struct tp_err err;
    open_device(&r, NULL, NULL, false);
    void *opts = rig_opts(tp_source_limit.options, tp_source_limit.opts_size, "capacity=1MiB");
    const struct tp_source_cfg cfg = {.opts = opts, .inner = &r.stack[0]};
    assert_int_equal(tp_source_open(&limit, &tp_source_limit, &cfg, &err), TP_EUSAGE);
    assert_non_null(strstr(err.text, "2097152"));
    free(opts);
    tp_rig_close_sources(&r);
}

/* Of a host trace nothing has changed, unless a device is asked for. */
TEST(a_host_has_pages_of_4_kib)
{
    for (int device = 0; device < 2; device++) {
        struct rig r = {0};
        tp_addr a;
        const struct rig_cfg cfg = {.base = &tp_source_virtual,
                                    .base_options = device ? "page=device" : NULL};
        rig_sources(&r, &cfg);
        assert_int_equal(r.stack[0].page, device ? 512 : 4096);
        assert_int_equal(try_get(&r, 4096, &a), TP_OK);
        assert_int_equal(r.account.reserved, device ? PAGE : 4096);
        tp_rig_close_sources(&r);
    }
}
