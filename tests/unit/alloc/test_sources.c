/* The sources, each alone and in stacks. */
#include "tests/unit/conformance.h"

#include <unistd.h>

/* A stack without a strategy. */
struct stack {
    struct rig rig;
    struct tp_source *top;
};

static void open_stack(struct stack *s, enum tp_kind kind, const struct tp_source_ops *const *ops,
                       const char *const *specs)
{
    memset(s, 0, sizeof *s);
    struct rig_cfg cfg = {.kind = kind};
    for (int i = 0; ops[i]; i++)
        rig_push(&s->rig, ops[i], specs ? specs[i] : NULL, &cfg);
    s->top = &s->rig.stack[s->rig.depth - 1];
}

static void close_stack(struct stack *s)
{
    tp_rig_close_sources(&s->rig);
}

#define OPS(...)   ((const struct tp_source_ops *const[]){__VA_ARGS__, NULL})
#define SPECS(...) ((const char *const[]){__VA_ARGS__})

static tp_addr get(struct stack *s, uint64_t size, uint64_t align)
{
    tp_addr addr = 0;
    assert_int_equal(tp_src_get(s->top, size, align, &addr), TP_OK);
    return addr;
}

static const struct tp_source_ops *const bases[] = {&tp_source_host, &tp_source_virtual};

TEST(put_takes_exactly_what_get_gave)
{
    for (int b = 0; b < 2; b++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            struct stack s;
            open_stack(&s, TP_KIND_HOST, OPS(bases[b], shuffled ? &tp_source_shuffle : NULL), NULL);
            tp_addr a = get(&s, 16384, 4096), c = get(&s, 4096, 4096);
            assert_int_equal(tp_src_put(s.top, a, 4096), TP_EINVAL);
            assert_int_equal(tp_src_put(s.top, a, 20480), TP_EINVAL);
            assert_int_equal(tp_src_put(s.top, a + 4096, 12288), TP_EINVAL);
            assert_int_equal(tp_src_put(s.top, a + 4096, 4096), TP_EINVAL);
            assert_int_equal(tp_src_put(s.top, 0, 4096), TP_EINVAL);
            assert_int_equal(tp_src_put(s.top, a, 16384), TP_OK);
            assert_int_equal(tp_src_put(s.top, a, 16384), TP_EINVAL);
            assert_int_equal(tp_src_put(s.top, c, 4096), TP_OK);
            close_stack(&s);
        }
}

TEST(alignment_is_honoured)
{
    for (int b = 0; b < 2; b++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            struct stack s;
            open_stack(&s, TP_KIND_HOST, OPS(bases[b], shuffled ? &tp_source_shuffle : NULL), NULL);
            tp_addr held[31][3];
            for (unsigned log2 = 0; log2 <= 30; log2++)
                for (int i = 0; i < 3; i++) {
                    held[log2][i] = get(&s, 4096, UINT64_C(1) << log2);
                    assert_int_equal(held[log2][i] & ((UINT64_C(1) << log2) - 1), 0);
                }
            for (unsigned log2 = 0; log2 <= 30; log2++)
                for (int i = 0; i < 3; i++)
                    assert_int_equal(tp_src_put(s.top, held[log2][i], 4096), TP_OK);
            close_stack(&s);
        }
}

TEST(host_memory_is_zeroed_and_ours)
{
    struct stack s;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_host, &tp_source_meter), NULL);
    assert_int_equal(s.top->page, 4096);
    tp_addr a = get(&s, 1 << 20, 65536), b = get(&s, 4096, 4096);
    unsigned char *p = tp_src_host(s.top, a);
    assert_non_null(p);
    for (int i = 0; i < 1 << 20; i++)
        assert_int_equal(p[i], 0);
    memset(p, 0xa5, 1 << 20);
    assert_ptr_equal(tp_src_host(s.top, a + 1000000), p + 1000000);
    assert_ptr_equal(tp_src_host(s.top, b), (void *)(uintptr_t)b);
    assert_null(tp_src_host(s.top, (uintptr_t)&s));
    assert_null(tp_src_host(s.top, 0));
    assert_null(tp_src_host(s.top, UINT64_MAX));
    assert_int_equal(tp_src_put(s.top, a, 1 << 20), TP_OK);
    assert_null(tp_src_host(s.top, a));
    assert_int_equal(s.rig.account.reserved, 4096);
    close_stack(&s); /* unmaps b; the sanitizer would tell of the table */
}

/* A replay must not get the process killed. */
TEST(host_refuses_more_than_the_machine_has)
{
    struct stack s;
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t half = (physical / 2) & ~UINT64_C(4095);
    tp_addr a = 0, b = 0;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_host), NULL);
    assert_int_equal(tp_src_get(s.top, physical + 4096 - physical % 4096, 1, &a), TP_EOOM);
    assert_int_equal(tp_src_get(s.top, UINT64_MAX & ~UINT64_C(4095), 1, &a), TP_EOOM);
    assert_int_equal(tp_src_get(s.top, half, 1, &a), TP_OK);
    assert_int_equal(tp_src_get(s.top, half + 8192, 1, &b), TP_EOOM);
    assert_int_equal(tp_src_put(s.top, a, half), TP_OK);
    assert_int_equal(tp_src_get(s.top, half + 8192, 1, &b), TP_OK);
    close_stack(&s);
}

TEST(many_host_ranges)
{
    struct stack s;
    enum { COUNT = 3000 };
    static tp_addr held[COUNT];
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_host, &tp_source_shuffle), NULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        held[i] = get(&s, 4096 * (1 + i % 3), 4096);
        *(tp_addr *)tp_src_host(s.top, held[i] + 8) = held[i];
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t j = i * 7 % COUNT; /* 7 and 3000 have no common factor */
        assert_int_equal(*(tp_addr *)tp_src_host(s.top, held[j] + 8), held[j]);
        assert_int_equal(tp_src_put(s.top, held[j], 4096 * (1 + j % 3)), TP_OK);
    }
    close_stack(&s);
}

TEST(virtual_addresses_repeat_and_are_never_reused)
{
    tp_addr first[100];
    for (int round = 0; round < 2; round++) {
        struct stack s;
        tp_addr highest = UINT64_C(1) << 44;
        open_stack(&s, TP_KIND_DEVICE, OPS(&tp_source_virtual), NULL);
        assert_int_equal(s.top->page, 512);
        for (uint64_t i = 0; i < 100; i++) {
            uint64_t size = 512 * (1 + i * 37 % 11);
            tp_addr a = get(&s, size, UINT64_C(1) << i % 13);
            assert_true(a >= highest);
            highest = a + size + 1; /* ranges never touch */
            if (round)
                assert_int_equal(a, first[i]);
            first[i] = a;
            assert_int_equal(tp_src_put(s.top, a, size), TP_OK);
        }
        close_stack(&s);
    }
}

TEST(virtual_space_ends)
{
    struct stack s;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_virtual), SPECS("page=64KiB"));
    assert_int_equal(s.top->page, 65536);
    tp_addr a = 0;
    for (int i = 0; i < 3; i++)
        get(&s, UINT64_C(1) << 60, 1);
    assert_int_equal(tp_src_get(s.top, UINT64_C(1) << 61, 1, &a), TP_EOOM);
    assert_int_equal(tp_src_get(s.top, UINT64_C(1) << 63, 1, &a), TP_EOOM);
    assert_int_equal(tp_src_get(s.top, 65536, UINT64_C(1) << 62, &a), TP_EOOM);
    assert_int_equal(tp_src_get(s.top, 65536, UINT64_C(1) << 63, &a), TP_EUNSUP);
    get(&s, 65536, 1);
    close_stack(&s);
}

TEST(a_bad_page_is_a_usage_error)
{
    struct tp_source src;
    struct tp_err err;
    void *opts = rig_opts(tp_source_virtual.options, tp_source_virtual.opts_size, "page=5000");
    struct tp_source_cfg cfg = {.opts = opts};
    assert_int_equal(tp_source_open(&src, &tp_source_virtual, &cfg, &err), TP_EUSAGE);
    free(opts);
}

TEST(fences_pass_by_the_virtual_clock)
{
    struct stack s;
    struct tp_fence f;
    open_stack(&s, TP_KIND_DEVICE, OPS(&tp_source_virtual, &tp_source_shuffle, &tp_source_meter),
               SPECS("lag=70us", NULL, NULL));
    s.rig.now_ns = 1000;
    tp_src_record(s.top, 3, &f);
    assert_fields(f, serial, 1, time_ns, 1000, stream, 3);
    s.rig.now_ns = 70999;
    assert_false(tp_src_done(s.top, &f));
    s.rig.now_ns = 71000;
    assert_true(tp_src_done(s.top, &f));
    tp_src_record(s.top, 3, &f);
    s.rig.now_ns += 1000;
    assert_int_equal(tp_src_wait(s.top, &f), TP_OK);
    assert_fields(s.rig, now_ns, 71000 + 70000, account.waits, 1, account.wait_ns, 69000);
    assert_true(tp_src_done(s.top, &f));
    close_stack(&s);
}

TEST(a_later_sync_passes_fences)
{
    struct stack s;
    struct tp_fence one, two, later;
    open_stack(&s, TP_KIND_DEVICE, OPS(&tp_source_virtual, &tp_source_meter), NULL);
    tp_src_synced(s.top, 1); /* before: says nothing of what follows */
    tp_src_record(s.top, 1, &one);
    tp_src_record(s.top, 2, &two);
    assert_false(tp_src_done(s.top, &one));
    tp_src_synced(s.top, 1);
    assert_true(tp_src_done(s.top, &one));
    assert_false(tp_src_done(s.top, &two));
    tp_src_record(s.top, 1, &later);
    assert_false(tp_src_done(s.top, &later));
    tp_src_synced(s.top, TP_ALL_STREAMS);
    assert_true(tp_src_done(s.top, &two) && tp_src_done(s.top, &later));
    uint64_t now = s.rig.now_ns;
    assert_int_equal(tp_src_wait(s.top, &two), TP_OK); /* no time passes */
    assert_int_equal(s.rig.now_ns, now);
    close_stack(&s);
}

TEST(host_fences_have_always_passed)
{
    struct stack s;
    struct tp_fence f, g;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_host, &tp_source_meter), NULL);
    tp_src_record(s.top, 5, &f);
    tp_src_record(s.top, 6, &g);
    assert_true(g.serial == f.serial + 1 && g.stream == 6);
    assert_true(tp_src_done(s.top, &f));
    assert_int_equal(tp_src_wait(s.top, &f), TP_OK);
    close_stack(&s);
}

TEST(limit_refuses_beyond_its_capacity)
{
    struct stack s;
    tp_addr a = 0, b = 0;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_virtual, &tp_source_limit, &tp_source_meter),
               SPECS(NULL, "capacity=64KiB", NULL));
    a = get(&s, 61440, 1);
    assert_int_equal(tp_src_get(s.top, 8192, 1, &b), TP_EOOM);
    assert_int_equal(tp_src_get(s.top, UINT64_MAX & ~UINT64_C(4095), 1, &b), TP_EOOM);
    assert_int_equal(s.rig.account.refused_gets, 2);
    b = get(&s, 4096, 1);
    assert_int_equal(tp_src_put(s.top, a, 4096), TP_EINVAL); /* gives nothing back */
    assert_int_equal(tp_src_get(s.top, 4096, 1, &b), TP_EOOM);
    assert_int_equal(tp_src_put(s.top, a, 61440), TP_OK);
    get(&s, 61440, 1);
    close_stack(&s);
}

TEST(fault_fails_the_chosen_calls)
{
    struct stack s;
    tp_addr a[12];
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_virtual, &tp_source_fault, &tp_source_meter),
               SPECS(NULL, "get_at=2,get_every=5,put_at=2", NULL));
    for (int i = 1; i <= 11; i++) {
        int expected = i == 2 || i % 5 == 0 ? TP_EOOM : TP_OK;
        assert_int_equal(tp_src_get(s.top, 4096, 1, &a[i]), expected);
    }
    assert_int_equal(tp_src_put(s.top, a[1], 4096), TP_OK);
    assert_int_equal(tp_src_put(s.top, a[3], 4096), TP_EIO);
    assert_int_equal(tp_src_put(s.top, a[3], 4096), TP_OK); /* it was still held */
    assert_fields(s.rig.account, refused_gets, 3, refused_puts, 1);
    close_stack(&s);
}

TEST(the_meter_counts)
{
    struct stack s;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_virtual, &tp_source_meter), NULL);
    tp_addr a = get(&s, 8192, 1), b = get(&s, 4096, 1);
    assert_int_equal(tp_src_put(s.top, a, 8192), TP_OK);
    assert_int_equal(tp_src_put(s.top, a, 8192), TP_EINVAL);
    s.rig.account.metadata = 100;
    get(&s, 4096, 1);
    struct tp_account expected = {.reserved = 8192,
                                  .peak_reserved = 12288,
                                  .metadata = 100,
                                  .peak_metadata = 100,
                                  .peak_held = 12288,
                                  .gets = 3,
                                  .puts = 1,
                                  .get_bytes = 16384,
                                  .put_bytes = 8192};
    assert_memory_equal(&s.rig.account, &expected, sizeof expected);
    assert_int_equal(tp_src_put(s.top, b, 4096), TP_OK);
    close_stack(&s);
}

/* Decoys must not make a device look smaller than it is. */
TEST(shuffle_fails_only_where_the_source_below_does)
{
    for (int b = 0; b < 2; b++) {
        struct stack s;
        open_stack(&s, TP_KIND_HOST, OPS(bases[b], &tp_source_limit, &tp_source_shuffle),
                   SPECS(NULL, "capacity=40KiB", NULL));
        tp_addr a;
        for (int i = 0; i < 10; i++)
            get(&s, 4096, 1);
        assert_int_equal(tp_src_get(s.top, 4096, 1, &a), TP_EOOM);
        close_stack(&s);
    }
}

/* Of 200 ranges neither nearly all rise nor nearly all fall. */
TEST(shuffled_addresses_have_no_order)
{
    for (int b = 0; b < 2; b++) {
        struct stack s;
        open_stack(&s, TP_KIND_HOST, OPS(bases[b], &tp_source_shuffle), SPECS(NULL, "seed=3"));
        int rising = 0;
        tp_addr before = get(&s, 8192, 1);
        for (int i = 0; i < 200; i++) {
            tp_addr a = get(&s, 8192, 1);
            rising += a > before;
            before = a;
        }
        assert_in_range(rising, 40, 160);
        close_stack(&s);
    }
}

TEST(a_stack_has_the_groups_and_flags_of_its_base)
{
    struct tp_source_ops no_fences = tp_source_virtual;
    no_fences.record = NULL, no_fences.done = NULL, no_fences.wait = NULL, no_fences.synced = NULL;
    const struct tp_source_ops *const all[] = {&tp_source_host, &tp_source_virtual, &no_fences};
    for (int b = 0; b < 3; b++) {
        struct stack s;
        struct tp_fence fence;
        open_stack(
            &s, TP_KIND_HOST,
            OPS(all[b], &tp_source_shuffle, &tp_source_fault, &tp_source_limit, &tp_source_meter),
            NULL);
        assert_int_equal(s.top->flags, all[b]->flags);
        assert_int_equal(tp_src_has_fences(s.top), all[b] != &no_fences);
        tp_src_record(s.top, 3, &fence);
        assert_int_equal(fence.serial != 0, all[b] != &no_fences);
        assert_int_equal(fence.stream, 3);
        assert_int_equal(tp_src_done(s.top, &fence), all[b] != &tp_source_virtual);
        tp_addr a = get(&s, 8192, 4096);
        assert_int_equal(tp_src_taken(s.top), 8192);
        assert_int_equal(tp_src_put(s.top, a, 8192), TP_OK);
        assert_int_equal(tp_src_taken(s.top), 0);
        close_stack(&s);
    }
}

/* What lies between does not keep it from knowing `virtual`: decoys would meet the limit. */
TEST(shuffle_translates_in_any_place_of_the_stack)
{
    struct stack s;
    open_stack(&s, TP_KIND_HOST, OPS(&tp_source_virtual, &tp_source_limit, &tp_source_shuffle),
               SPECS(NULL, "capacity=12KiB", NULL));
    tp_addr a = get(&s, 4096, 4096), b = get(&s, 4096, 4096), c = get(&s, 4096, 4096);
    assert_false(a + 8192 == b && b + 8192 == c); /* as `virtual` lays them */
    assert_int_equal(s.rig.account.least_refused, 0);
    close_stack(&s);
}

TEST(a_wrapper_needs_a_source_below)
{
    const struct tp_source_ops *all[] = {&tp_source_meter, &tp_source_limit, &tp_source_fault,
                                         &tp_source_shuffle};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct tp_source src;
        struct tp_err err;
        struct tp_account account = {0};
        void *opts = rig_opts(all[i]->options, all[i]->opts_size, NULL);
        struct tp_source_cfg cfg = {.opts = opts, .account = &account};
        assert_int_equal(tp_source_open(&src, all[i], &cfg, &err), TP_EBROKEN);
        free(opts);
    }
}
