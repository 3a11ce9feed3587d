/* What a perfect allocator would need for a trace: one that knows every life in advance and never
 * moves anything. */
#ifndef TP_BOUND_H
#define TP_BOUND_H

#include "alloc/packing/offline.h"
#include "alloc/program/program.h"

/* The option row, for a command whose options struct has a member `uint64_t bound_time` in ns. */
#define TP_BOUND_ROW(at, def_, ...)                                                                \
    TP_TIME_AT("bound-time", (at), .def = (def_), .max = UINT64_C(86400000000000),                 \
               TP_LAST(MEASURING), __VA_ARGS__)
#define TP_BOUND_HELP                                                                              \
    "time to search for the best packing, all devices together\n"                                  \
    "The best packing is the least memory known to hold every block if all lifetimes are known "   \
    "in "                                                                                          \
    "advance. The time is counted in steps: the result is the same on every machine."

/* Finds the packing of each device of a program, all of them within `ns`: an array for the caller
 * to free, with one for each device. TP_ESTOP: interrupted. */
int tp_bound(struct tp_program *p, uint64_t ns, struct tp_offline **out, struct tp_err *err);

#endif
