/* Internal to the engine: an open set of instances and the loop that plays windows on it.
 *
 * Variants of the loop are one always-inline body with constant arguments: pass and touch mode are
 * compile-time constants in it, so an untimed replay does not test for timing. */
#ifndef TP_PLAYER_H
#define TP_PLAYER_H

#include "alloc/engine/replay_cfg.h"
#include "alloc/engine/resets.h"
#include "alloc/engine/run.h"
#include "alloc/meta.h"

struct tp_occupier; /* see occupier.h */

/* 16 bytes a live object. addr 0 = not there: a failed allocation. Size, alignment and device share
 * a word: RESET and the last clean-up need the latter two, the hot path does not.
 *
 *     63      56 55   50 49                    0
 *     [ device ][ align ][ size, 2^48 at most ]
 */
struct tp_slot {
    tp_addr addr;
    uint64_t packed;
};
enum { TP_SLOT_ALIGN_SHIFT = 50, TP_SLOT_DEVICE_SHIFT = 56 };
static_assert(TP_MAX_SIZE < UINT64_C(1) << TP_SLOT_ALIGN_SHIFT, "they share a word");
static_assert(TP_MAX_ALIGN_LOG2 < 1 << (TP_SLOT_DEVICE_SHIFT - TP_SLOT_ALIGN_SHIFT), "likewise");
static_assert(TP_MAX_DEVICES <= 256, "they share a word");

static inline uint64_t tp_slot_pack_one(const struct tp_insn *insn) /* of the only device */
{
    return insn->size | (uint64_t)insn->align_log2 << TP_SLOT_ALIGN_SHIFT;
}

static inline uint64_t tp_slot_pack(const struct tp_insn *insn)
{
    return tp_slot_pack_one(insn) | (uint64_t)insn->device << TP_SLOT_DEVICE_SHIFT;
}

static inline uint64_t tp_slot_size(const struct tp_slot *s)
{
    return s->packed & ((UINT64_C(1) << TP_SLOT_ALIGN_SHIFT) - 1);
}

static inline uint64_t tp_slot_align(const struct tp_slot *s)
{
    return UINT64_C(1) << (s->packed >> TP_SLOT_ALIGN_SHIFT & 0x3f);
}

static inline uint16_t tp_slot_device(const struct tp_slot *s)
{
    return (uint16_t)(s->packed >> TP_SLOT_DEVICE_SHIFT);
}

/* One device's strategy and sources. */
struct tp_instance {
    void *state;
    char *threads; /* thread_size bytes each */
    struct tp_env env;
    struct tp_meta_heap meta;
    struct tp_account account;
    struct tp_source stack[TP_SOURCE_LAYERS + 1];
    uint32_t depth;
    uint32_t threads_ready;
    uint64_t failed;               /* allocations, since it was opened */
    uint64_t free_at_start, total; /* of a real device, bytes, before the strategy; else TP_NONE */
    uint64_t unused[2];            /* or an index takes three instructions in the loop, not one */
};

struct tp_player;

/* A pass that looks on: untimed, serial. Members are called in the order of an instruction; all are
 * set. `block` also serves a changed size; `both`: the old block still stands, at slot->addr, and
 * `gone` is not called for it. */
struct tp_observer {
    void (*before)(struct tp_player *p, const struct tp_window *w, uint32_t index);
    void (*block)(struct tp_player *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both);
    void (*leaving)(struct tp_player *p, uint32_t slot); /* about to be freed or resized */
    void (*gone)(struct tp_player *p, uint32_t slot, const struct tp_insn *insn);
    void (*failed)(struct tp_player *p, const struct tp_insn *insn); /* out of memory */
    void (*after)(struct tp_player *p, const struct tp_window *w, uint32_t index);
};

/* Readings that are no latency of an operation. */
#define TP_TICK_SKIP UINT32_MAX
#define TP_TICK_MAX  (UINT32_MAX - 1)

struct tp_player {
    const struct tp_replay_cfg *cfg;
    const struct tp_strategy *strategy;
    const struct tp_program_facts *facts;
    struct tp_instance *instances;
    struct tp_slot *slots;
    size_t thread_stride;
    uint64_t now_ns;          /* recorded time; sources read it, and advance it by waiting */
    bool clocked;             /* the source has a clock of its own: keep now_ns */
    uint32_t tick_ns;         /* added per instruction where time is unknown */
    enum tp_touch touch;      /* none where blocks are no host memory */
    bool host_memory;         /* blocks can be written ... */
    bool contents;            /* ... and are: what a realloc keeps is copied */
    bool stop;                /* --on-oom stop, and it happened ... */
    uint32_t stopped;         /* ... at this instruction of the window */
    uint64_t skipped, failed; /* in this replay */
    bool in_prologue;
    uint64_t operations_max; /* a replay ends behind the window with so many; 0: never */
    uint64_t until_stop;     /* operations up to a stop, which is one of them */
    uint64_t skipped_trims;
    uint32_t part;  /* played without a look at cfg->interrupted: so many and one more */
    bool undrained; /* interrupted: blocks are left to the end of the strategy */
    const struct tp_observer *observer; /* NULL in the timed passes */
    void *observer_state;
    uint32_t *ticks; /* of the window, latency pass only */
    struct tp_cursor *cursor;
    struct tp_resets *resets;          /* NULL: the program has none */
    int broken;                        /* the first status that no strategy may return, or 0 */
    const struct tp_insn *broken_insn; /* of the window */
    bool device;                       /* the source is a real one ... */
    int lost;                          /* ... whose driver failed: TP_EDEVICE, set by a source */
    int unqueued;                      /* of work that a device refused without being lost, or 0 */
    struct tp_occupier *occupier;      /* NULL: nothing keeps it busy */
    uint64_t aside_ticks;              /* in this replay's windows, but no time of an operation */
};

/* Opens fresh instances of `strategy` for every device. On failure nothing stays open. */
int tp_player_open(struct tp_player *p, const struct tp_replay_cfg *cfg,
                   const struct tp_strategy *strategy, struct tp_err *err);

/* Closes; TP_EBROKEN when the strategy kept memory. Errors are written only if `err` is not NULL.
 */
int tp_player_close(struct tp_player *p, struct tp_err *err);

/* The end of a pass: closes, and returns what went wrong first, in `status` or now. */
int tp_player_end(struct tp_player *p, int status, struct tp_err *err);

/* Back to the first event: what is live must have been drained. */
void tp_player_begin(struct tp_player *p);

/* The next window of the program proper: 1, 0 at the end (or after a stop), or -status. Plays the
 * prologue on its way, untimed. */
int tp_player_next(struct tp_player *p, struct tp_window *w, struct tp_err *err);

typedef void tp_play_fn(struct tp_player *p, const struct tp_window *w);

/* Plays one window. untimed: neither stamps nor accounts. latency: p->ticks filled. observed: under
 * the eyes of p->observer. */
tp_play_fn tp_play_untimed, tp_play_latency, tp_play_observed;

/* Granted bytes of a block that the strategy just handed out. */
uint64_t tp_player_granted(const struct tp_player *p, const struct tp_instance *in,
                           const struct tp_block *block);

/* The handle of a recorded thread. */
void *tp_player_thread(const struct tp_player *p, const struct tp_instance *in, uint16_t thread);

/* After a window: TP_EBROKEN with its event when the strategy broke its contract, TP_EDEVICE when
 * the device was lost, TP_ESTOP when the replay was interrupted. */
int tp_player_check(struct tp_player *p, const struct tp_window *w, struct tp_err *err);

/* Frees what is live, untimed and uncounted, and waits for what a device has still to do. Nothing
 * is done on a device that was lost. */
void tp_player_drain(struct tp_player *p);

/* After a device was lost: TP_EDEVICE with its own sentence; where none tells, `status` and what
 * was written with it, or, where that is TP_OK, TP_EDEVICE and a general sentence. */
int tp_player_fault(struct tp_player *p, int status, struct tp_err *err);

/* TP_EDEVICE and the sentence of the first device that was lost, after `where` ("event 7"), or
 * TP_OK. */
int tp_player_lost(struct tp_player *p, const char *where, struct tp_err *err);

/* Is the user asking to stop? */
static inline bool tp_player_interrupted(const struct tp_player *p)
{
    return p->cfg->interrupted && *p->cfg->interrupted;
}

#endif
