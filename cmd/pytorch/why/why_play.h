/* A snapshot as a trace: what it tells of the device, and what other settings would do (why_try.h).
 */
#ifndef TP_WHY_PLAY_H
#define TP_WHY_PLAY_H

#include "cmd/pytorch/why/why_try.h"
#include "cmd/results/captured.h"

struct tp_why_trace {
    struct tp_trace trace;
    struct tp_captured captured;
    char *conf;   /* owned: what it is played with as recorded */
    char *shared; /* owned: the same with the share of the device that the program had set */
    bool open;    /* it could be read; not from a pipe, which the snapshot itself came through */
};

/* Must be closed in every case. `given`: the settings in place of the recorded ones, or NULL.
 * TP_ENOMEM; what cannot be read is no error. */
int tp_why_trace_open(struct tp_why_trace *t, const char *path, uint32_t device, const char *given,
                      uint64_t max_memory, struct tp_err *err);
void tp_why_trace_close(struct tp_why_trace *t);

/* `exact` as of tp_bytes. */
struct tp_why_recording tp_why_recording_of(const struct tp_why_trace *t, bool exact);

/* `capacity`: bytes of the device; 0: no limit. Settings that the strategy refuses, and those that
 * were recorded, are left out. TP_ESTOP, TP_ENOMEM. */
int tp_why_try(const struct tp_why_trace *t, uint64_t capacity, uint64_t memory,
               struct tp_why_tries *out, struct tp_err *err);

#endif
