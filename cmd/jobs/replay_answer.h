/* What a replay in a process of its own leaves in memory that it shares with its parent:
 *
 *     | position, mapped, answer | what the parent asks | run |
 *       written all the time       nobody writes here     written with the answer
 *
 * The process keeps its run to itself until it is done. What is found changed until then, or does
 * not have the checksum of the answer, was written by what it replays. Known weakness: that can
 * write into the run while the process still has it to itself; then only its bounds are checked. */
#ifndef TP_REPLAY_ANSWER_H
#define TP_REPLAY_ANSWER_H

#include "alloc/engine/replay.h"
#include "cmd/jobs/answer.h"
#include "cmd/jobs/process.h"

/* The shared memory begins with it. */
struct tp_replay_answer {
    struct tp_position position; /* where the replay is, should it not come back */
    struct tp_mapped mapped;     /* while a pass is followed (follow.h) */
    struct tp_answer answer;
};

/* The place of the run in shared memory, behind a head of that size. */
#define TP_REPLAY_RUN_AT(head) (((head) + 63) & ~(size_t)63)

/* The process's side of the memory. */
struct tp_replay_board {
    struct tp_replay_answer *shared;
    size_t run_at, run_size; /* bytes */
    uint32_t before;         /* checksum of all behind the answer */
};

/* To be called before the strategy is replayed for the first time. */
void tp_replay_board_open(struct tp_replay_board *b, void *shared, size_t run_at, size_t run_size);

/* Gives the answer. `label` names the strategy, should it have written to the memory meanwhile. */
void tp_replay_board_give(const struct tp_replay_board *b, const struct tp_run *run, int status,
                          const struct tp_err *err, const char *label);

/* A process that has ended. */
struct tp_replay_end {
    const void *shared;
    size_t run_at;
    const struct tp_program_facts *facts; /* of the program that was replayed */
    struct tp_child_end end;              /* `torn` is found here */
    const char *label;                    /* names the strategy in sentences */
};

/* The status of the replay, with its error, and its run, which an error leaves as it was.
 * TP_EBROKEN: the process died, ended before it gave an answer, or wrote over its answer, TP_ELATE:
 * it took too long; these say at which event. */
int tp_replay_answer_take(const struct tp_replay_end *e, struct tp_run *out, struct tp_err *err);

/* The error of a replay whose process gave no answer: see tp_child_fail. `at` is where it was. */
int tp_replay_fail_ended(const struct tp_child_end *e, const char *label,
                         const struct tp_position *at, struct tp_err *err);

/* TP_EBROKEN: what is replayed wrote over memory of tapool's. */
int tp_replay_fail_written(const char *label, struct tp_err *err);

/* Whether a run can be read without going out of its bounds: its counts, and its indices into what
 * the program and tapool have. */
bool tp_replay_run_holds(const struct tp_run *run, const struct tp_program_facts *facts);

#endif
