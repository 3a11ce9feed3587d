/* `torch` where there are thousands of idle segments: the pools are compiled into this test, so
 * that their steps are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/torch/torch_pool.c"

#include "tests/unit/torch_rig.h"

enum { MANY = 2000, TREE = 30 }; /* TREE: more than a tree of so many is deep */

/* A recording may have an out of memory behind every event. */
static void what_would_go_back_is_known(void **state)
{
    (void)state;
    struct rig *r = open_torch(NULL);
    tp_addr *addr = calloc(MANY, sizeof *addr);
    uint64_t idle = 0;
    assert_non_null(addr);
    for (unsigned i = 0; i < MANY; i++) {
        const struct tp_req rq = {.size = 11 * MIB, .align = 1};
        struct tp_block b = {0};
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
        addr[i] = b.addr;
    }
    for (unsigned i = 0; i < MANY; i++) {
        const struct tp_req rq = {.size = 11 * MIB, .align = 1};
        assert_int_equal(r->s->free(r->st, r->threads[0], addr[i], &rq), TP_OK);
    }
    steps = 0;
    assert_int_equal(tp_torch_serves(r->st, 30 * MIB, 0, &idle), 0);
    assert_in_range(steps, 1, TREE);
    assert_int_equal(idle, MANY * 12 * MIB);
    free(addr);
    close_torch(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_would_go_back_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
