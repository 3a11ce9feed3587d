/* What a replay in a process of its own leaves in memory that it shares with its parent. */
#ifndef TP_REPLAY_ANSWER_H
#define TP_REPLAY_ANSWER_H

#include "alloc/engine/replay.h"

struct tp_replay_answer {
    bool given; /* false: the process has not come to its end */
    int status;
    struct tp_err err;
    struct tp_position position; /* where the replay is, should it not come back */
};

/* The status of a replay whose process has ended, with its error. `waited` and `how` are what
 * tp_child_await returned and stored, `timeout_ns` how long it had. TP_EBROKEN: it died or ended
 * before it gave an answer, TP_ELATE: it took too long; both say at which event. `label` names the
 * strategy in the sentence. */
int tp_replay_answer_judge(const struct tp_replay_answer *a, int waited, int how,
                           uint64_t timeout_ns, const char *label, struct tp_err *err);

#endif
