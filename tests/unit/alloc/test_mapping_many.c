/* `torch` with expandable segments where a trace asks for terabytes: time and memory follow the
 * requests, not their bytes. The source is compiled into this test, so that its steps are counted.
 */
#include "tests/unit/counted_steps.h"

#include "alloc/sources/virtual.c"

#include "tests/unit/many_rig.h"
#include "tests/unit/torch_rig.h"

#define GROWING "conf={expandable_segments:True}"
#define TIB     (UINT64_C(1) << 40)

enum { TERABYTES = 4, REQUESTS = 2000, TREE = 100 }; /* TREE: more than a few trees are deep */

/* What the source knows of mapped memory takes one chunk of its table. */
static void is_in_one_chunk(const struct rig *r)
{
    const struct virtual *s = r->stack[0].state;
    const struct range_chunk *chunk = s->spaces.parts.chunks;
    assert_ptr_equal(r->stack[0].ops, &tp_source_virtual);
    assert_non_null(chunk);
    assert_null(chunk->next);
}

/* A trace of 235 bytes: four blocks of 4 TiB, of two million units each. */
static void a_few_blocks_of_terabytes(void **state)
{
    (void)state;
    struct rig *r = open_torch(GROWING);
    steps = 0;
    for (unsigned i = 0; i < TERABYTES; i++)
        assert_true(take(r, 0, TERABYTES * TIB) != 0);
    assert_in_range(steps, 1, TERABYTES * TREE);
    is_in_one_chunk(r);
    rig_check(r);
    close_torch(r);
}

/* A trace of 460 kB: terabytes are mapped and given back, again and again. */
static void terabytes_that_come_and_go(void **state)
{
    (void)state;
    struct rig *r = open_torch(GROWING);
    steps = 0;
    for (unsigned i = 0; i < REQUESTS; i++) {
        give(r, 0, take(r, 0, TERABYTES * TIB), TERABYTES * TIB);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    }
    assert_in_range(steps, 1, REQUESTS * TREE);
    is_in_one_chunk(r);
    rig_check(r);
    close_torch(r);
}

/* The same bytes in many blocks: as many steps for each. */
static void terabytes_in_many_blocks(void **state)
{
    (void)state;
    struct rig *r = open_torch(GROWING);
    steps = 0;
    for (unsigned i = 0; i < REQUESTS; i++)
        take(r, 0, TIB);
    assert_in_range(steps, 1, REQUESTS * TREE);
    rig_check(r);
    close_torch(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_blocks_of_terabytes),
        cmocka_unit_test(terabytes_that_come_and_go),
        cmocka_unit_test(terabytes_in_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
