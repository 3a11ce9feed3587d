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

/* ---- aliases ---- */

/* The memory of two spaces, side by side in a third. */
static void try_aliases_count_once(struct stack *s)
{
    tp_addr a = space(s, SIZE, UNIT), b = space(s, SIZE, UNIT), both = space(s, SIZE, UNIT);
    assert_true(tp_src_has_aliases(s->top));
    assert_int_equal(tp_src_map(s->top, a, 0, 4 * UNIT), TP_OK);
    assert_int_equal(tp_src_map(s->top, b, UNIT, UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s->top, both, 0, 2 * UNIT, a + UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s->top, both, 2 * UNIT, UNIT, b + UNIT), TP_OK);
    assert_fields(s->rig.account, reserved, 5 * UNIT, peak_reserved, 5 * UNIT, gets, 4, puts, 0);
    assert_true(tp_ranges_hold(&s->rig.ranges, both, 3 * UNIT));
    assert_int_equal(tp_src_unalias(s->top, both, 0, 3 * UNIT), TP_OK);
    assert_fields(s->rig.account, reserved, 5 * UNIT, gets, 4, puts, 1);
    assert_false(tp_ranges_hold(&s->rig.ranges, both, 1));
    assert_int_equal(tp_src_unmap(s->top, a, 0, 4 * UNIT), TP_OK);
    assert_int_equal(tp_src_space_put(s->top, both, SIZE), TP_OK);
}

TEST(aliases_count_once)
{
    each(try_aliases_count_once);
}

static void try_what_has_aliases_stays_mapped(struct stack *s)
{
    tp_addr a = space(s, SIZE, UNIT), twice = space(s, SIZE, UNIT), big = space(s, SIZE, 2 * UNIT);
    assert_int_equal(tp_src_alias(s->top, twice, 0, UNIT, a), TP_EINVAL); /* nothing is mapped */
    assert_int_equal(tp_src_map(s->top, a, 0, 8 * UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s->top, big, 0, 2 * UNIT, a), TP_EINVAL);
    assert_int_equal(tp_src_alias(s->top, twice, 0, UNIT, a + MIB), TP_EINVAL);
    assert_int_equal(tp_src_alias(s->top, twice, 0, 8 * UNIT, a + UNIT), TP_EINVAL);
    assert_int_equal(tp_src_alias(s->top, twice, 0, UNIT, a + 2 * UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s->top, twice, UNIT, 4 * UNIT, a + 2 * UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s->top, twice, 0, UNIT, a), TP_EINVAL); /* it has one */
    assert_int_equal(tp_src_map(s->top, twice, 4 * UNIT, UNIT), TP_EINVAL);
    assert_int_equal(tp_src_unmap(s->top, twice, 0, UNIT), TP_EINVAL); /* that is no mapping */
    assert_int_equal(tp_src_unmap(s->top, a, 5 * UNIT, UNIT), TP_EINVAL);
    assert_int_equal(tp_src_unmap(s->top, a, 6 * UNIT, 2 * UNIT), TP_OK);
    assert_int_equal(tp_src_unalias(s->top, twice, UNIT, 2 * UNIT), TP_EINVAL); /* as a whole */
    assert_int_equal(tp_src_unalias(s->top, a, 0, UNIT), TP_EINVAL);
    assert_int_equal(tp_src_unalias(s->top, twice, UNIT, 4 * UNIT), TP_OK);
    assert_int_equal(tp_src_unmap(s->top, a, 2 * UNIT, UNIT), TP_EINVAL); /* the other is left */
    assert_int_equal(tp_src_unmap(s->top, a, 3 * UNIT, 3 * UNIT), TP_OK);
    assert_int_equal(tp_src_space_put(s->top, twice, SIZE), TP_EINVAL);
    assert_int_equal(tp_src_unalias(s->top, twice, 0, UNIT), TP_OK);
    assert_int_equal(tp_src_unmap(s->top, a, 0, 3 * UNIT), TP_OK);
}

TEST(what_has_aliases_stays_mapped)
{
    each(try_what_has_aliases_stays_mapped);
}

TEST(aliases_fail_on_purpose)
{
    struct stack s;
    open_stack(&s, &tp_source_virtual, true, NULL, "get_at=2,put_at=1");
    tp_addr a = space(&s, SIZE, UNIT), twice = space(&s, SIZE, UNIT);
    assert_int_equal(tp_src_map(s.top, a, 0, UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s.top, twice, 0, UNIT, a), TP_EOOM);
    assert_int_equal(tp_src_alias(s.top, twice, 0, UNIT, a), TP_OK);
    assert_int_equal(tp_src_unalias(s.top, twice, 0, UNIT), TP_EIO);
    assert_int_equal(tp_src_unalias(s.top, twice, 0, UNIT), TP_OK);
    assert_fields(s.rig.account, refused_gets, 1, refused_puts, 1, reserved, UNIT);
    tp_rig_close_sources(&s.rig);
}

TEST(aliases_of_host_memory_are_the_same_bytes)
{
    struct stack s;
    open_stack(&s, &tp_source_host, false, NULL, NULL);
    tp_addr a = space(&s, SIZE, UNIT), twice = space(&s, SIZE, UNIT);
    assert_int_equal(tp_src_map(s.top, a, 0, 4 * UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s.top, twice, 0, 2 * UNIT, a + UNIT), TP_OK);
    assert_int_equal(tp_src_alias(s.top, twice, 2 * UNIT, UNIT, a), TP_OK);
    assert_int_equal(tp_src_alias(s.top, twice, 4 * UNIT, UNIT, a + 2 * UNIT), TP_OK);
    unsigned char *first = tp_src_host(s.top, a), *second = tp_src_host(s.top, twice);
    assert_non_null(second);
    for (unsigned char i = 0; i < 4; i++)
        first[i * UNIT] = (unsigned char)(i + 1);
    assert_int_equal(second[0] << 16 | second[UNIT] << 8 | second[2 * UNIT], 0x020301);
    assert_int_equal(second[4 * UNIT], 3);
    second[2 * UNIT - 1] = 9;
    assert_int_equal(first[3 * UNIT - 1] << 8 | second[5 * UNIT - 1], 0x909);
    assert_int_equal(tp_src_unalias(s.top, twice, 0, 3 * UNIT), TP_OK);
    assert_null(tp_src_host(s.top, twice));
    assert_int_equal(first[3 * UNIT - 1], 9);
    tp_rig_close_sources(&s.rig);
}

TEST(blocks_at_two_addresses_claim_their_memory_once)
{
    struct tp_aliases t;
    tp_aliases_init(&t);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tp_aliases_reserve(&t), TP_OK);
    tp_aliases_add(&t, 1000, 10, 100); /* [100, 110) and [300, 320), side by side from 1000 on */
    tp_aliases_add(&t, 1010, 20, 300);
    tp_aliases_add(&t, 2000, 10, 305);
    assert_int_equal(tp_aliases_claim(&t, 1005, 20), TP_OK);
    assert_int_equal(tp_aliases_claim(&t, 2000, 10), TP_EINVAL);
    assert_int_equal(tp_aliases_claim(&t, 314, 2), TP_EINVAL);
    assert_int_equal(tp_aliases_claim(&t, 100, 6), TP_EINVAL);
    assert_int_equal(tp_aliases_claim(&t, 100, 5), TP_OK);
    assert_int_equal(tp_aliases_claim(&t, 315, 500), TP_OK);
    tp_aliases_drop(&t, 1000, 30); /* what is claimed stays so without them */
    assert_int_equal(tp_aliases_claim(&t, 300, 1), TP_EINVAL);
    tp_aliases_disclaim(&t, 1005);
    assert_int_equal(tp_aliases_claim(&t, 105, 5), TP_OK);
    assert_int_equal(tp_aliases_claim(&t, 2000, 11), TP_OK); /* the last byte has no alias */
    assert_int_equal(tp_aliases_claim(&t, 2010, 1), TP_EINVAL);
    assert_int_equal(tp_aliases_claim(&t, 306, 1), TP_EINVAL);
    tp_aliases_fini(&t);
}
