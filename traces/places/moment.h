/* A moment of a program: after an event, or at the trace peak of a device, which may lie between
 * the instructions of an event. */
#ifndef TP_MOMENT_H
#define TP_MOMENT_H

#include "alloc/program/program.h"

#define TP_AT_PEAK UINT64_MAX

struct tp_moment {
    uint64_t event, insn; /* the last ones; instructions count from behind the initial heap */
};

/* `at`: an event, or TP_AT_PEAK. */
struct tp_moment tp_moment_of(const struct tp_program *p, uint16_t device, uint64_t at);

/* An instruction up to a moment. `event` is 0 in the initial heap, `time` in ns since the trace
 * began, 0 where times are not known. */
struct tp_moment_step {
    const struct tp_insn *insn;
    uint64_t event, time;
};

/* What it returns other than TP_OK ends the walk. */
typedef int tp_take_step(void *ctx, const struct tp_moment_step *step, struct tp_err *err);

/* Hands all instructions up to a moment to `take`. `stop` is called from time to time, and its
 * status ends the walk; NULL: it is not. */
int tp_moment_walk(struct tp_program *p, struct tp_moment moment, tp_take_step *take, void *ctx,
                   int (*stop)(struct tp_err *err), struct tp_err *err);

#endif
