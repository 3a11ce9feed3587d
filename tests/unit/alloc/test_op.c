/* The rows of the operations hang together, whoever adds one: what the encoders, the checks and the
 * reports take for allocated of all rows. */
#include "alloc/program/program.h"
#include "tests/unit/test.h"

#include <string.h>

/* A number given twice leaves another without a row. */
TEST(each_has_a_name)
{
    for (unsigned op = 0; op < TP_OP_COUNT; op++) {
        assert_non_null(tp_op_rows[op].name);
        assert_non_null(tp_op_rows[op].verb);
        for (unsigned other = 0; other < op; other++)
            assert_string_not_equal(tp_op_rows[op].name, tp_op_rows[other].name);
    }
}

TEST(ranks_are_an_order)
{
    bool seen[TP_OP_COUNT] = {false};
    unsigned ranked = 0, rank = 1;
    for (unsigned op = 0; op < TP_OP_COUNT; op++)
        ranked += tp_op_rows[op].rank > 0;
    for (enum tp_op op; (op = tp_op_ranked(rank)) < TP_OP_COUNT; rank++) {
        assert_false(seen[op]);
        seen[op] = true;
    }
    assert_int_equal(rank - 1, ranked);
    assert_int_equal(tp_op_ranked(ranked + 1), TP_OP_COUNT);
}

static bool has(unsigned op, unsigned flags)
{
    return (tp_op_rows[op].flags & flags) == flags;
}

TEST(flags_go_together)
{
    for (unsigned op = 0; op < TP_OP_COUNT; op++) {
        bool object = tp_op_is(op, TP_IS_NEW | TP_IS_LIVE);
        assert_false(has(op, TP_IS_NEW | TP_IS_LIVE));
        assert_true(!object || has(op, TP_PLACED));
        assert_true(!tp_op_is(op, TP_ASKS) || (object && has(op, TP_SIZED)));
        assert_true(!tp_op_is(op, TP_IS_NEW) || has(op, TP_ASKS));
        assert_true(!tp_op_is(op, TP_HAS_NAME | TP_HAS_NOTE) || (has(op, TP_HAS_SLOT) && !object));
        assert_true(!tp_op_is(op, TP_NEEDS_STREAM | TP_ON_STREAM) || has(op, TP_HAS_STREAM));
        assert_true(!tp_op_is(op, TP_OF_ALL) || (has(op, TP_HAS_DEVICE) && !object));
        /* a record of .tpt has one bit for either: all streams, or a size */
        assert_false(has(op, TP_STREAMS | TP_HAS_SIZE));
        assert_true(object || !tp_op_is(op, TP_HAS_ALIGN) || has(op, TP_HAS_NOTE));
        /* and four bits for the op: any other is written whole, which changes nothing that is live
         */
        assert_true(op < 15 || !object || !tp_op_is(op, TP_HAS_SIZE));
    }
}

TEST(sums_by_flag)
{
    struct tp_program_facts facts = {.ops = {[TP_ALLOC] = 1,
                                             [TP_FREE] = 2,
                                             [TP_REALLOC] = 4,
                                             [TP_ADOPT] = 8,
                                             [TP_SYNC] = 16,
                                             [TP_TRIM] = 32}};
    assert_int_equal(tp_program_ops(&facts, TP_IS_NEW), 1 + 8);
    assert_int_equal(tp_program_ops(&facts, TP_ASKS), 1 + 4 + 8);
    assert_int_equal(tp_program_ops(&facts, TP_OF_ALL), 16 + 32);
    assert_int_equal(tp_program_ops(&facts, TP_IS_NEW | TP_IS_LIVE), 1 + 2 + 4 + 8);
}

/* TP_ALL_STREAMS is a stream only where all of them can be meant. */
TEST(all_streams)
{
    const struct tp_limits limits = {2, 2, 2, 2, 2};
    for (unsigned op = 0; op < TP_OP_COUNT; op++) {
        const struct tp_insn in = {
            .op = (uint8_t)op, .size = 1, .stream = TP_ALL_STREAMS, .device = TP_ALL_DEVICES};
        const struct tp_insn here = {.op = (uint8_t)op, .size = 1, .stream = TP_ALL_STREAMS};
        assert_int_equal(!tp_insn_wrong(&in, &limits), op == TP_SYNC);
        assert_int_equal(!tp_insn_wrong(&here, &limits), op == TP_SYNC);
    }
}
