/* The rows of the operations; see op.h. */
#include "alloc/program/op.h"

#define ROW(op, number, name, verb, latency, rank, flags)                                          \
    [TP_##op] = {name, verb, flags, TP_LAT_##latency, rank},
const struct tp_op_row tp_op_rows[TP_OP_COUNT] = {TP_OPS(ROW)};

enum tp_op tp_op_ranked(unsigned rank)
{
    unsigned op = 0;
    while (op < TP_OP_COUNT && tp_op_rows[op].rank != rank)
        op++;
    return (enum tp_op)op;
}
