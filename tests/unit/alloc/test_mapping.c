/* Spaces of sources: addresses first, memory for parts of them later. */
#include "tests/unit/conformance.h"

#define MIB  UINT64_C(1048576)
#define UNIT (2 * MIB)
#define SIZE (64 * MIB)

/* What is tried on every base, as it is and shuffled. */
static const struct tp_source_ops *const bases[] = {&tp_source_host, &tp_source_virtual};

struct stack {
    struct rig rig;
    struct tp_source *top;
};

static void open_stack(struct stack *s, const struct tp_source_ops *base, bool shuffled,
                       const char *limit, const char *fault)
{
    const struct rig_cfg cfg = {.kind = TP_KIND_DEVICE};
    memset(s, 0, sizeof *s);
    rig_push(&s->rig, base, NULL, &cfg);
    if (shuffled)
        rig_push(&s->rig, &tp_source_shuffle, NULL, &cfg);
    if (limit)
        rig_push(&s->rig, &tp_source_limit, limit, &cfg);
    if (fault)
        rig_push(&s->rig, &tp_source_fault, fault, &cfg);
    rig_push(&s->rig, &tp_source_meter, NULL, &cfg);
    s->top = &s->rig.stack[s->rig.depth - 1];
}

static tp_addr space(struct stack *s, uint64_t size, uint64_t unit)
{
    tp_addr base = 0;
    assert_int_equal(tp_src_space_get(s->top, size, unit, &base), TP_OK);
    assert_true(base != 0);
    return base;
}

static void each(void (*fn)(struct stack *s))
{
    for (int i = 0; i < 4; i++) {
        struct stack s;
        open_stack(&s, bases[i / 2], i % 2, NULL, NULL);
        fn(&s);
        tp_rig_close_sources(&s.rig);
    }
}

static void try_only_mapped_bytes_count(struct stack *s)
{
    tp_addr base = space(s, SIZE, UNIT);
    assert_int_equal(s->rig.account.reserved, 0);
    assert_int_equal(tp_src_map(s->top, base, UNIT, 3 * UNIT), TP_OK);
    assert_int_equal(s->rig.account.reserved, 3 * UNIT);
    assert_int_equal(tp_src_unmap(s->top, base, 2 * UNIT, UNIT), TP_OK);
    assert_fields(s->rig.account, reserved, 2 * UNIT, peak_reserved, 3 * UNIT, gets, 1, puts, 1);
    assert_int_equal(tp_account_ranges(&s->rig.account), 2 * UNIT);
}

TEST(only_mapped_bytes_count)
{
    each(try_only_mapped_bytes_count);
}

static void try_parts_are_whole_units_of_one_state(struct stack *s)
{
    tp_addr base = space(s, SIZE, 2 * UNIT), none = 0;
    assert_int_equal(tp_src_space_get(s->top, SIZE, UNIT / 2 + 1, &none), TP_EINVAL);
    assert_int_equal(tp_src_space_get(s->top, SIZE + UNIT, 2 * UNIT, &none), TP_EINVAL);
    assert_int_equal(tp_src_space_get(s->top, 0, UNIT, &none), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base, 0, UNIT), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base, UNIT, 2 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base, 0, 0), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base, SIZE - 2 * UNIT, 4 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base + 2 * UNIT, 0, 2 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base, 2 * UNIT, 2 * UNIT), TP_OK);
    assert_int_equal(tp_src_map(s->top, base, 0, 4 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_unmap(s->top, base, 0, 4 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_space_put(s->top, base, SIZE), TP_EINVAL);
    assert_int_equal(tp_src_put(s->top, base + 2 * UNIT, 2 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_unmap(s->top, base, 2 * UNIT, 2 * UNIT), TP_OK);
    assert_int_equal(tp_src_unmap(s->top, base, 2 * UNIT, 2 * UNIT), TP_EINVAL);
    assert_int_equal(tp_src_space_put(s->top, base, SIZE - UNIT), TP_EINVAL);
    assert_int_equal(tp_src_space_put(s->top, base, SIZE), TP_OK);
    assert_int_equal(tp_src_space_put(s->top, base, SIZE), TP_EINVAL);
    assert_int_equal(tp_src_map(s->top, base, 0, 2 * UNIT), TP_EINVAL);
    assert_int_equal(s->rig.account.refused_puts, 0);
}

TEST(parts_are_whole_units_of_one_state)
{
    each(try_parts_are_whole_units_of_one_state);
}

/* Blocks may lie across what was mapped call by call. */
static void try_what_is_mapped_side_by_side_is_one_range(struct stack *s)
{
    tp_addr base = space(s, SIZE, UNIT);
    assert_int_equal(tp_src_map(s->top, base, 0, UNIT), TP_OK);
    assert_int_equal(tp_src_map(s->top, base, 2 * UNIT, UNIT), TP_OK);
    assert_false(tp_ranges_hold(&s->rig.ranges, base + UNIT - MIB, 2 * MIB));
    assert_int_equal(tp_src_map(s->top, base, UNIT, UNIT), TP_OK);
    assert_true(tp_ranges_hold(&s->rig.ranges, base, 3 * UNIT));
    assert_false(tp_ranges_hold(&s->rig.ranges, base, 3 * UNIT + 1));
    assert_int_equal(tp_src_unmap(s->top, base, UNIT, UNIT), TP_OK);
    assert_true(tp_ranges_hold(&s->rig.ranges, base, UNIT));
    assert_true(tp_ranges_hold(&s->rig.ranges, base + 2 * UNIT, UNIT));
    assert_false(tp_ranges_hold(&s->rig.ranges, base + UNIT, 1));
    assert_int_equal(tp_src_unmap(s->top, base, 0, UNIT), TP_OK);
    assert_int_equal(tp_src_unmap(s->top, base, 2 * UNIT, UNIT), TP_OK);
    assert_int_equal(tp_src_space_put(s->top, base, SIZE), TP_OK);
}

TEST(what_is_mapped_side_by_side_is_one_range)
{
    each(try_what_is_mapped_side_by_side_is_one_range);
}

TEST(the_capacity_counts_mapped_bytes)
{
    struct stack s;
    open_stack(&s, &tp_source_virtual, false, "capacity=20MiB", NULL);
    tp_addr base = space(&s, SIZE, UNIT), range = 0;
    assert_int_equal(tp_src_get(s.top, 10 * MIB, 512, &range), TP_OK);
    assert_int_equal(tp_src_map(s.top, base, 0, 12 * MIB), TP_EOOM);
    assert_int_equal(s.rig.account.least_refused, 22 * MIB);
    assert_int_equal(tp_src_map(s.top, base, 0, 10 * MIB), TP_OK);
    assert_int_equal(tp_src_get(s.top, 2 * MIB, 512, &range), TP_EOOM);
    assert_fields(s.rig.account, refused_gets, 2, reserved, 20 * MIB);
    tp_rig_close_sources(&s.rig);
}

TEST(mapping_fails_on_purpose_as_gets_do)
{
    struct stack s;
    open_stack(&s, &tp_source_virtual, true, NULL, "get_at=2,put_at=1");
    tp_addr base = space(&s, SIZE, UNIT);
    assert_int_equal(tp_src_map(s.top, base, 0, UNIT), TP_OK);
    assert_int_equal(tp_src_map(s.top, base, UNIT, UNIT), TP_EOOM);
    assert_int_equal(tp_src_unmap(s.top, base, 0, UNIT), TP_EIO);
    assert_int_equal(s.rig.account.refused_puts, 1);
    assert_int_equal(tp_src_unmap(s.top, base, 0, UNIT), TP_OK);
    tp_rig_close_sources(&s.rig);
}

TEST(host_memory_comes_and_goes_with_the_mapping)
{
    struct stack s;
    open_stack(&s, &tp_source_host, false, NULL, NULL);
    tp_addr base = space(&s, SIZE, UNIT);
    assert_null(tp_src_host(s.top, base + UNIT));
    assert_int_equal(tp_src_map(s.top, base, UNIT, UNIT), TP_OK);
    unsigned char *p = tp_src_host(s.top, base + UNIT);
    assert_ptr_equal(p, (void *)(uintptr_t)(base + UNIT));
    memset(p, 0xa5, UNIT);
    assert_null(tp_src_host(s.top, base + 2 * UNIT));
    assert_int_equal(tp_src_unmap(s.top, base, UNIT, UNIT), TP_OK);
    assert_null(tp_src_host(s.top, base + UNIT));
    assert_int_equal(tp_src_map(s.top, base, UNIT, UNIT), TP_OK);
    p = tp_src_host(s.top, base + UNIT);
    assert_int_equal(p[0] | p[UNIT - 1], 0); /* it is other memory */
    tp_rig_close_sources(&s.rig);
}
