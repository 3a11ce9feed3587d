/* Names of phases that were chosen to share a hash. The builder is compiled into this test, so that
 * its steps are counted. */
static unsigned long long steps;
#define TP_STEP() ((void)steps++)
#include "alloc/program/builder.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NAMES = 3000, LOW_BITS = 14 };

/* The lowest bits of FNV-1a, which a small table of names would go by. */
static uint32_t low_bits(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h & ((1u << LOW_BITS) - 1);
}

static void chosen_names(void **state)
{
    (void)state;
    const struct tp_builder_cfg cfg = {.kind = TP_KIND_HOST};
    struct tp_builder *b = NULL;
    char name[32];
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    steps = 0;
    for (uint64_t i = 0, found = 0; found < NAMES; i++) {
        uint32_t index = 0;
        snprintf(name, sizeof name, "%" PRIx64, i);
        if (low_bits(name))
            continue;
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(tp_builder_mark(b, name, &index, NULL), TP_OK);
            assert_int_equal(index, found);
        }
        assert_string_equal(tp_builder_mark_name(b, index), name);
        found++;
    }
    print_message("%llu steps\n", steps);
    assert_true(steps < 100ull * NAMES);
    tp_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
