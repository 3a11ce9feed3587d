/* The search for the best packing has one budget for a trace, however many devices it has. The file
 * is compiled into this test, with a packing that only counts its steps. */
#include "alloc/packing/offline.h"

static int counted_pack(struct tp_offline_object *objects, size_t count,
                        struct tp_offline_budget *budget, struct tp_offline *out,
                        struct tp_err *err);

#define tp_offline_pack counted_pack
#define tp_bound        bound_under_test
#include "cmd/jobs/bound.c"

#include "tests/unit/programs.h"
#include "tests/unit/test.h"

enum { DEVICES = 8, MS = 1000000 };

static uint64_t asked[DEVICES]; /* steps that each packing was given */
static size_t packings;

/* The first device needs one step; the others take all. */
static int counted_pack(struct tp_offline_object *objects, size_t count,
                        struct tp_offline_budget *budget, struct tp_offline *out,
                        struct tp_err *err)
{
    (void)objects, (void)err;
    assert_int_equal(count, 1);
    assert_in_range(packings, 0, DEVICES - 1);
    *out = (struct tp_offline){.best = packings + 1};
    asked[packings] = budget->steps;
    budget->steps = packings++ ? 0 : budget->steps - 1;
    return TP_OK;
}

TEST(devices_share_the_steps)
{
    const uint64_t all = 16 * (TP_OFFLINE_STEPS_PER_SECOND / 1000);
    struct tp_insn insns[DEVICES];
    struct tp_offline *found = NULL;
    uint64_t given = 1;
    for (uint32_t d = 0; d < DEVICES; d++)
        insns[d] = (struct tp_insn){
            .op = TP_ALLOC, .align_log2 = 4, .slot = d, .size = 64, .device = (uint16_t)d};
    struct tp_program *p = test_program(insns, DEVICES, true);
    assert_int_equal(bound_under_test(p, UINT64_C(16) * MS, &found, NULL), TP_OK);
    assert_int_equal(packings, DEVICES);
    assert_int_equal(asked[0], all / DEVICES);
    for (unsigned d = 1; d < DEVICES; d++) {
        assert_true(asked[d] > asked[0]); /* what the first one left is theirs */
        assert_int_equal(found[d].best, d + 1);
        given += asked[d];
    }
    assert_int_equal(given, all);
    free(found);
    tp_program_release(p);
}
