/* Internal to the usage pass (pass_usage.c, usage_look.c). */
#ifndef TP_USAGE_H
#define TP_USAGE_H

#include "alloc/engine/player.h"

struct tp_usage_object {
    uint64_t requested, granted;
};

struct tp_usage_device {
    struct tp_device_run *run;
    struct tp_account *account; /* of its instance */
    const struct tp_demand *demand;
    uint64_t requested, granted; /* now */
    uint64_t foreign_reserved;   /* as last sampled */
    uint64_t since;              /* value of the clock when the sums were last brought up to date */
    uint64_t began;              /* and when the first event came */
    double requested_dt, granted_dt, reserved_dt;
    uint64_t gets_before, refused_before, reserved_before; /* this instruction */
    uint64_t peak_before;                 /* account's: inside, it is that of the instruction */
    uint64_t granted_high, reserved_high; /* inside it, where more than before and after */
    uint32_t phase;                       /* index of the one that is on */
    uint32_t mark;                        /* its name; UINT32_MAX: none yet */
    struct tp_account before; /* as it was when the prologue was in place: no call of it counts */
    struct tp_driver_counts counts_before; /* likewise */
};

struct tp_usage {
    struct tp_player *player;
    struct tp_usage_object *objects; /* by slot */
    struct tp_usage_device *devices;
    uint64_t clock; /* recorded ns, or operations where time is unknown */
    bool prologue_over;
    bool again; /* it is played once more, and what was live before is in place */
    uint64_t sample_every, until_sample;
    bool timed;
    bool foreign;
    bool silent; /* ... which does not say what it holds */
    bool device; /* a real one */
    bool pool;   /* ... and its driver's pool, which is not metered */
    int status;  /* of a look that found the books wrong */
    struct tp_err *err;
};

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

/* The state of a device now, with a walk; sets external_fragmentation. */
void tp_usage_snapshot(struct tp_usage *u, struct tp_usage_device *d);

/* An allocation that the device refused: its class; at the first one the state of the device. The
 * event is filled in later. */
void tp_usage_refusal(struct tp_usage *u, struct tp_usage_device *d, const struct tp_insn *insn);

/* Phases: peaks between MARKs. Nothing where the program has no marks. */
void tp_usage_phases_open(struct tp_usage_device *d, const struct tp_program_facts *facts);
static inline void tp_usage_phase_peaks(struct tp_usage_device *d,
                                        const uint64_t bytes[TP_CURVE_VALUES])
{
    struct tp_phase *phase = &d->run->phases[d->phase];
    if (d->phase == TP_PHASES)
        return;
    tp_usage_raise(&phase->peak_requested, bytes[TP_CURVE_REQUESTED]);
    tp_usage_raise(&phase->peak_granted, bytes[TP_CURVE_GRANTED]);
    tp_usage_raise(&phase->peak_reserved, bytes[TP_CURVE_RESERVED]);
}
void tp_usage_mark(struct tp_usage *u, uint32_t mark, uint64_t event);

/* What a real device says (usage_device.c); nothing on other sources. look: compares what it misses
 * with what is reserved now, where that is a new peak. failure: what it has free at the first one.
 * begin: the prologue is in place. finish: after everything else is filled in, what is live still
 * in place. */
void tp_usage_device_open(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_begin(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_look(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_failure(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_device_finish(const struct tp_usage *u, struct tp_usage_device *d);
void tp_usage_pool_state(struct tp_at_peak *at);

#endif
