/* Internal to the usage pass (pass_usage.c, usage_look.c). */
#ifndef TP_USAGE_H
#define TP_USAGE_H

#include "alloc/engine/replayer.h"

struct tp_usage_device {
    struct tp_device_run *run;
    struct tp_account *account; /* account of the device's instance */
    const struct tp_demand *demand;
    uint64_t requested, allocated; /* bytes at the current instruction */
    uint64_t foreign_reserved;     /* reserved bytes of a foreign allocator at the last sample */
    uint64_t since;                /* clock when the sums (*_dt) were last updated */
    double requested_dt, allocated_dt, reserved_dt;
    /* values before the current instruction */
    uint64_t gets_before, refused_before, reserved_before;
    /* the account's peak_reserved before the current instruction; meanwhile the account holds the
     * instruction's own peak */
    uint64_t peak_before;
    /* highest values inside the current instruction, if above those before and after it */
    uint64_t allocated_high, reserved_high;
    uint32_t phase;           /* index of the current phase */
    uint32_t mark;            /* name of the current phase; UINT32_MAX: no mark yet */
    struct tp_account before; /* account after the initial heap, whose calls do not count */
    struct tp_driver_counts counts_before; /* driver calls after the initial heap */
};

struct tp_usage_frames;
struct tp_frames_watch;

struct tp_usage {
    struct tp_replayer *replayer;
    struct tp_usage_frames *frames;  /* NULL: none are taken, and these three mean nothing */
    struct tp_frames_watch *watches; /* by device */
    uint64_t *born;                  /* by slot: the event that gave the block its size */
    const struct tp_window *window;  /* that is replayed; NULL: the initial heap */
    uint64_t *allocated;             /* by slot: bytes of its block; 0: it has none */
    struct tp_usage_device *devices;
    uint64_t clock; /* recorded ns since the first event, or operations where time is unknown */
    bool initial_heap_over;
    bool again; /* the second replay on the same instance has placed its initial heap */
    uint64_t sample_every, until_sample;
    bool timed;
    bool foreign;
    bool silent; /* a foreign allocator that does not report what it holds */
    bool untold; /* a foreign allocator that does not say how large a block is */
    bool device; /* a real device */
    bool pool;   /* memory comes from the driver's pool, which the meter does not see */
    int status;  /* set when a check found the books wrong */
    struct tp_err *err;
};

/* Bytes that an instruction asks for in place of others: those of the block that it resizes. */
static inline uint64_t tp_usage_replaced(const struct tp_usage *u, const struct tp_insn *insn)
{
    return insn->op == TP_REALLOC ? tp_slot_size(&u->replayer->slots[insn->slot]) : 0;
}

static inline void tp_usage_raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak)
        *peak = value;
}

static inline uint64_t tp_usage_reserved(const struct tp_usage *u, const struct tp_usage_device *d)
{
    return u->foreign ? d->foreign_reserved : d->account->reserved;
}
void tp_usage_sample_foreign(struct tp_usage *u, struct tp_usage_device *d);

/* The devices of an instruction, from the first up to the end. A THREAD_END concerns every one. */
static inline uint32_t tp_usage_first(const struct tp_insn *insn)
{
    return insn->op == TP_THREAD_END ? 0 : tp_insn_first_device(insn);
}

static inline uint32_t tp_usage_end(const struct tp_insn *insn, uint32_t devices)
{
    return insn->op == TP_THREAD_END ? devices : tp_insn_end_device(insn, devices);
}

/* Checks that the bytes of a walk, by kind, add up to those that the meter counted, and that the
 * live ones are the allocated ones: a report with wrong books would be worthless. TP_EBROKEN. */
int tp_usage_check_books(const struct tp_usage *u, const struct tp_usage_device *d,
                         const uint64_t bytes[TP_WALK_COUNT]);

/* Records the state of a device at the trace peak, with a walk; sets external_fragmentation. */
void tp_usage_snapshot(struct tp_usage *u, struct tp_usage_device *d);

/* Classifies an allocation that failed; at the first one also records the state of the device. The
 * event is filled in later. */
void tp_usage_refusal(struct tp_usage *u, struct tp_usage_device *d, const struct tp_insn *insn);

/* Phases: peaks between MARKs. Does nothing where the program has no marks. */
void tp_usage_phases_open(struct tp_usage_device *d, const struct tp_program_facts *facts);
static inline void tp_usage_phase_peaks(struct tp_usage_device *d,
                                        const uint64_t bytes[TP_CURVE_VALUES])
{
    struct tp_phase *phase = &d->run->phases[d->phase];
    if (d->phase == TP_PHASES)
        return;
    tp_usage_raise(&phase->peak_requested, bytes[TP_CURVE_REQUESTED]);
    tp_usage_raise(&phase->peak_allocated, bytes[TP_CURVE_ALLOCATED]);
    tp_usage_raise(&phase->peak_reserved, bytes[TP_CURVE_RESERVED]);
}
void tp_usage_mark(struct tp_usage *u, uint32_t mark, uint64_t event);

/* What a real device reports (usage_device.c); on other sources these do nothing. begin: called
 * after the initial heap. look: at a new peak of reserved bytes, records the bytes that the device
 * is missing. failure: records free bytes, and what a pool has to spare, at the first failed
 * allocation. finish: called after all other figures are filled in, before live blocks are freed.
 */
void tp_usage_device_open(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_begin(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_look(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_failure(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_finish(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_pool_state(struct tp_at_peak *at);

#endif
