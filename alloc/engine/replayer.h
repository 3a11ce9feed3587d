/* Internal to the engine: a set of open instances and the loop that replays windows on them.
 *
 * All variants of the loop share one always-inline body with constant arguments: pass and touch
 * mode are compile-time constants, so an untimed replay does not test for timing. */
#ifndef TP_REPLAYER_H
#define TP_REPLAYER_H

#include "alloc/base/aliases.h"
#include "alloc/engine/replay_cfg.h"
#include "alloc/engine/run.h"
#include "alloc/program/program.h"
#include "alloc/sources/common/meta_heap.h"

/* Internal to the engine: which slots each RESET of a window frees.
 *
 *     window    ALLOC 3   ALLOC 1   RESET   ALLOC 2   RESET
 *     slots                         1 3               2
 *
 * The slots are computed from the program alone before a window is replayed. So a timed RESET does
 * nothing but free its slots, and the work of all RESETs together is bounded by the number of
 * allocations. Slots whose allocation failed are listed too. */

struct tp_resets;

/* *out stays NULL where a program has no RESET. TP_ENOMEM. */
int tp_resets_open(const struct tp_program_facts *facts, struct tp_resets **out,
                   struct tp_err *err);
void tp_resets_close(struct tp_resets *r); /* NULL is fine */

/* Goes back to the start of the program, where nothing is live. */
void tp_resets_begin(struct tp_resets *r);

/* To be called once for each window, initial heap windows included, before it is replayed.
 * TP_ENOMEM. */
int tp_resets_window(struct tp_resets *r, const struct tp_window *w, struct tp_err *err);

/* The slots of the next RESET of the window, in rising order; *count says how many. Valid until the
 * next window. */
const uint32_t *tp_resets_next(struct tp_resets *r, uint32_t *count);

struct tp_occupier; /* see occupier.h */
struct tp_crew;     /* see crew.h */
struct tp_turns;

/* A live object, 16 bytes. addr 0: the allocation failed, so there is no block. Size, alignment and
 * device share a word; only RESET and the clean-up at the end need alignment and device, the hot
 * path does not.
 *
 *     63      56 55   50 49                    0
 *     [ device ][ align ][ size, 2^48 at most ] */
struct tp_slot {
    tp_addr addr;
    uint64_t packed;
};
enum { TP_SLOT_ALIGN_SHIFT = 50, TP_SLOT_DEVICE_SHIFT = 56 };
static_assert(TP_MAX_SIZE < UINT64_C(1) << TP_SLOT_ALIGN_SHIFT, "they share a word");
static_assert(TP_MAX_ALIGN_LOG2 < 1 << (TP_SLOT_DEVICE_SHIFT - TP_SLOT_ALIGN_SHIFT),
              "an alignment fits its bits");
static_assert(TP_MAX_DEVICES <= 256, "they share a word");

/* of a program with one device */
static inline uint64_t tp_slot_pack_one(const struct tp_insn *insn)
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
    uint64_t failed; /* allocations that failed since the instance was opened */
    /* bytes of a real device before the strategy was opened; else TP_NONE */
    uint64_t free_at_start, total;
    /* padding: with this size an index into the array takes one instruction in the loop, not
     * three */
    uint64_t unused[2];
};

/* Times of several OS threads, each thread's added up.
 *
 *     one thread    call  call  .......  call ----- call      ticks = calls + waited
 *                               waited        blocked
 *
 * What is left when `waited` is taken off are the calls, with all that a call waits for: a lock, a
 * page fault. */
struct tp_crew_times {
    uint64_t ticks;        /* from each part's first to its last instruction */
    uint64_t waited_ticks; /* of these, for an object of another thread, on a core or not */
    double core_ns;        /* of the others, on a core; the rest was blocked */
    /* from the first start to the last end of each part of the last window */
    uint64_t window_ticks;
};

struct tp_replayer;

/* The callbacks of an untimed, serial pass that observes every instruction. They are called in the
 * order of the members; all are set. `block` is also called for a changed size; `both` says that
 * the old block still exists at slot->addr, and then `gone` is not called for it. */
struct tp_observer {
    void (*before)(struct tp_replayer *p, const struct tp_window *w, uint32_t index);
    void (*block)(struct tp_replayer *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both);
    /* the block is about to be freed or resized */
    void (*leaving)(struct tp_replayer *p, uint32_t slot);
    void (*gone)(struct tp_replayer *p, uint32_t slot, const struct tp_insn *insn);
    /* an allocation failed for lack of memory */
    void (*failed)(struct tp_replayer *p, const struct tp_insn *insn);
    void (*after)(struct tp_replayer *p, const struct tp_window *w, uint32_t index);
};

/* TP_TICK_SKIP marks a reading that is no latency of an operation; TP_TICK_MAX is the largest
 * reading. */
#define TP_TICK_SKIP UINT32_MAX
#define TP_TICK_MAX  (UINT32_MAX - 1)

struct tp_replayer {
    const struct tp_replay_cfg *cfg;
    const struct tp_strategy *strategy;
    const struct tp_program_facts *facts;
    struct tp_instance *instances;
    struct tp_aliases *aliases;    /* by device: memory that is mapped twice; NULL as `ranges` */
    struct tp_range_table *ranges; /* by device: what is held; NULL without shared.keeps_ranges */
    struct tp_slot *slots;
    size_t thread_stride;
    uint64_t now_ns; /* recorded time; sources read it, and advance it by waiting */
    /* the source reads now_ns as its clock, so the loop must advance it */
    bool clocked;
    uint32_t tick_ns;         /* ns added per instruction where time is unknown */
    enum tp_touch touch;      /* TP_TOUCH_NONE where blocks are not host memory */
    bool host_memory;         /* blocks can be written */
    bool contents;            /* blocks are written, so a realloc copies the contents it keeps */
    bool stop;                /* an allocation failed and --on-oom is stop */
    uint32_t stopped;         /* the instruction of the window at which `stop` was set */
    uint64_t skipped, failed; /* operations in this replay */
    bool in_initial_heap;
    bool aged; /* an instance began with the heap that was recorded */
    /* a replay ends after the window that reaches this number of operations; 0: no limit */
    uint64_t operations_max;
    uint64_t until_stop; /* operations up to and including the one that stopped the replay */
    uint64_t skipped_trims;
    uint32_t part;  /* `part` + 1 instructions are replayed between two tests of cfg->interrupted */
    bool undrained; /* the replay was interrupted: live blocks are left for the strategy's fini */
    const struct tp_observer *observer; /* NULL in the timed passes */
    void *observer_state;
    uint32_t *ticks; /* readings of the window; latency pass only */
    struct tp_cursor *cursor;
    struct tp_resets *resets;          /* NULL: the program has none */
    int broken;                        /* the first status that no strategy may return, or 0 */
    const struct tp_insn *broken_insn; /* the instruction of the window that returned `broken` */
    bool device;                       /* the source is a real device */
    /* TP_EDEVICE once the driver of a real device has failed, set by a source; else 0 */
    int lost;
    /* status of work that a device refused without being lost, or 0 */
    int unqueued;
    struct tp_occupier *occupier; /* NULL: the device is not kept busy */
    /* time in this replay's windows that belongs to no operation */
    uint64_t aside_ticks;
    struct tp_crew *crew; /* NULL: one OS thread replays everything */
    /* the crew's times in this replay's windows, summed over its threads */
    struct tp_crew_times crew_times;
    struct tp_turns *turns; /* of one thread of a crew; else NULL */
};

/* Opens fresh instances of `strategy` for every device. On failure nothing stays open. */
int tp_replayer_open(struct tp_replayer *p, const struct tp_replay_cfg *cfg,
                     const struct tp_strategy *strategy, struct tp_err *err);

/* Closes the replayer. TP_EBROKEN when the strategy kept memory. Errors are written only if `err`
 * is not NULL. */
int tp_replayer_close(struct tp_replayer *p, struct tp_err *err);

/* Ends a pass: closes the replayer and returns `status`, or the status of closing where `status` is
 * TP_OK. */
int tp_replayer_end(struct tp_replayer *p, int status, struct tp_err *err);

/* Goes back to the first event. Live blocks must have been drained. */
void tp_replayer_begin(struct tp_replayer *p);

/* Gets the next window after the initial heap: 1, 0 at the end or after a stop, or -status. The
 * first call replays the initial heap, untimed. */
int tp_replayer_next(struct tp_replayer *p, struct tp_window *w, struct tp_err *err);

typedef void tp_replay_fn(struct tp_replayer *p, const struct tp_window *w);

/* Replay one window. untimed: takes no stamps. latency: fills p->ticks. observed: calls
 * p->observer. */
tp_replay_fn tp_replay_untimed, tp_replay_latency, tp_replay_observed;

/* Allocated bytes of a new block. */
uint64_t tp_replayer_allocated(const struct tp_replayer *p, const struct tp_instance *in,
                               const struct tp_block *block);

/* Starts the recorded threads first, first + step, ... on the OS thread that calls, and ends those
 * that were started; *ready counts them. */
int tp_recorded_start(const struct tp_replayer *p, const struct tp_instance *in, uint32_t first,
                      uint32_t step, uint32_t *ready, struct tp_err *err);
void tp_recorded_end(const struct tp_replayer *p, const struct tp_instance *in, uint32_t first,
                     uint32_t step, uint32_t *ready);

/* The handle of a recorded thread. */
void *tp_replayer_thread(const struct tp_replayer *p, const struct tp_instance *in,
                         uint16_t thread);

/* Checks the state after a window: TP_EBROKEN with the event when the strategy broke its contract,
 * TP_EDEVICE when the device was lost, TP_ESTOP when the replay was interrupted. */
int tp_replayer_check(struct tp_replayer *p, const struct tp_window *w, struct tp_err *err);

/* Frees the block of a slot with all its references. Timed only as part of a RESET. */
int tp_replayer_free(struct tp_replayer *p, const struct tp_slot *slot, void *thr, uint16_t stream);

/* Frees all live blocks, untimed and uncounted, and waits until the device is idle. Does nothing on
 * a device that was lost. */
void tp_replayer_drain(struct tp_replayer *p);

/* The error after a device was lost: TP_EDEVICE with the sentence of the device. Where no device
 * has a sentence, `status` with the sentence already in `err`; where `status` is TP_OK, TP_EDEVICE
 * and a general sentence. */
int tp_replayer_fault(struct tp_replayer *p, int status, struct tp_err *err);

/* TP_OK, or TP_EDEVICE with the sentence of the first device that was lost, prefixed by `where`
 * ("event 7"). */
int tp_replayer_lost(struct tp_replayer *p, const char *where, struct tp_err *err);

/* Has the user asked to stop? */
static inline bool tp_replayer_interrupted(const struct tp_replayer *p)
{
    return p->cfg->interrupted && __atomic_load_n(p->cfg->interrupted, __ATOMIC_RELAXED);
}

#endif
