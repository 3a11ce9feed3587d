/* Internal to the engine: several OS threads that replay a program together.
 *
 *     window    | part            | SYNC | part          |
 *     thread 0  | plan  ====      | ==   | plan  ======  |  it is also the thread that calls
 *     thread 1  |       ===.==    |      |       ===     |  . waits for an object of another thread
 *               |       ^meet     |      |               |
 *
 * With `lifetimes` an OS thread begins at the first instruction of its recorded thread and ends at
 * that one's end, where each has one of its own: what a malloc keeps for a thread is then there as
 * long as it was. What the engine needs for them is there and written before.
 *
 * Each OS thread replays the instructions of its recorded threads in their order, and objects go
 * from thread to thread in the order of the trace (see thread_plan.h). What concerns all threads
 * (SYNC, RESET, TRIM) is replayed alone. Planning and the barriers around a part are in no time.
 *
 * Known weakness: threads meet at every part's end, so no thread runs ahead of another by more than
 * a window, and recorded pauses between calls are not honoured: there is more contention than there
 * was in the recorded program. */
#ifndef TP_CREW_H
#define TP_CREW_H

#include "alloc/engine/thread_plan.h"
#include "alloc/strategy.h"

#include <pthread.h>

enum { TP_CREW_MAX = 1024 }; /* OS threads */

/* One thread's view of its turns. */
struct tp_turns {
    const bool *stop;      /* atomic: another thread has stopped */
    uint32_t spins;        /* before the core is given to somebody else */
    uint64_t waited_ticks; /* in this part */
    double waited_ns;      /* of these, on a core; what is short is taken to be */
    double reading_ns;     /* that a reading of the time on a core takes */
};

/* OS threads that a replay is configured for, or a replayer; 1: there is no crew. */
uint32_t tp_crew_threads(const struct tp_replay_cfg *cfg);
uint32_t tp_crew_size(const struct tp_replayer *p);

/* Is one lock held through every call? */
static inline bool tp_crew_locks(const struct tp_strategy *s)
{
    return !(s->caps & TP_CAP_THREADS);
}

/* Gets all memory that a crew needs. After a failure tp_crew_close gives it back. */
int tp_crew_prepare(struct tp_replayer *p, struct tp_err *err);

/* Calls `each` for all of that memory. */
void tp_crew_memory(const struct tp_crew *crew, void (*each)(void *at, size_t size));

/* Starts the OS threads, and on them the recorded threads of the strategy. After a failure
 * tp_crew_close ends what was started. */
int tp_crew_open(struct tp_replayer *p, struct tp_err *err);
void tp_crew_close(struct tp_replayer *p); /* no crew is fine */

/* Replays one window as `replay` would. */
void tp_crew_replay(struct tp_replayer *p, const struct tp_window *w, tp_replay_fn *replay);

/* Replays the instructions of a window from `from` up to, but not including, `to`, untimed. */
void tp_crew_replay_range(struct tp_replayer *p, const struct tp_window *w, uint32_t from,
                          uint32_t to);

/* TP_OK, or TP_EIO with a sentence after an OS thread could not start. */
int tp_crew_check(const struct tp_crew *crew, struct tp_err *err);

/* After a stop: cells whose blocks are still live, *count of them. Their slots hold no block. */
struct tp_slot *tp_crew_cells(const struct tp_crew *crew, size_t *count);

/* ---- for the loop of one thread ---- */

static inline bool tp_crew_stops(const struct tp_replayer *p)
{
    return __atomic_load_n(p->turns->stop, __ATOMIC_RELAXED);
}

/* Waits until the turn is `number`. false: the replay stops. */
bool tp_turn_wait(const struct tp_replayer *p, const uint64_t *turn, uint64_t number);

/* Waits for the turn of an instruction of a shared object. false: the replay stops. */
static inline bool tp_turn_await(const struct tp_replayer *p, const struct tp_insn *insn)
{
    const uint64_t *turn = &p->slots[insn->slot + 1].packed;
    uint64_t number = insn->gap_ns & TP_TURN_NUMBER;
    return !(insn->gap_ns & TP_TURN_WAIT) || __atomic_load_n(turn, __ATOMIC_ACQUIRE) == number ||
           tp_turn_wait(p, turn, number);
}

/* Hands the object on, if another thread is next. */
static inline void tp_turn_pass(const struct tp_replayer *p, const struct tp_insn *insn)
{
    if (insn->gap_ns & TP_TURN_PASS)
        __atomic_store_n(&p->slots[insn->slot + 1].packed, (insn->gap_ns & TP_TURN_NUMBER) + 1,
                         __ATOMIC_RELEASE);
}

/* Internal to the engine: one lock around every call of a strategy that must not be called by
 * several OS threads at once. It stands in place of the strategy and its state. */

struct tp_one_lock {
    const struct tp_strategy *inner; /* NULL: there is no lock */
    void *state;                     /* of the inner strategy */
    struct tp_strategy outer;        /* to be called instead, with the address of this struct */
    pthread_mutex_t mutex;
};

void tp_one_lock_open(struct tp_one_lock *l, const struct tp_strategy *inner, void *state);
void tp_one_lock_close(struct tp_one_lock *l); /* a zeroed one is fine */

#endif
