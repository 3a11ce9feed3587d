/* What a replay of one program against one strategy measured. Plain memory without pointers, so
 * that a child process can write it where its parent reads it; writers only read it. */
#ifndef TP_RUN_H
#define TP_RUN_H

#include "alloc/base/units.h"
#include "alloc/engine/curve.h"
#include "alloc/engine/histogram.h"
#include "alloc/engine/series.h"
#include "alloc/program/program.h"
#include "alloc/source.h"

#include <math.h>

/* The state at the first event where the trace's requested bytes are highest. Bytes. All TP_NONE
 * where a replay stopped before that event. */
struct tp_at_peak {
    uint64_t event, time_ns; /* event 0: in the prologue, or nothing is allocated */
    uint64_t requested, granted, reserved, idle;
    uint64_t pieces, largest; /* idle pieces that could serve again; TP_NONE without a walk */
    /* they add up to idle; TP_NONE without a walk. page_rest: of the device's pages, what no range
     * has */
    uint64_t cached, span, dead, internal, page_rest;
};

/* Why an allocation failed. */
enum tp_oom_class {
    TP_OOM_DEMAND,        /* the program itself needs more than the device has */
    TP_OOM_FRAGMENTATION, /* what was requested would fit, what was handed out or kept does not */
    TP_OOM_POLICY,        /* the policy refused by its own rules; the device was not full */
    TP_OOM_UNKNOWN,       /* the device refused, and its capacity is not known */
    TP_OOM_GUARD,         /* tapool refused: far more was reserved than the program needs */
    TP_OOM_CLASSES
};
extern const char *const tp_oom_names[TP_OOM_CLASSES];

/* The first failed allocation, and the state of the device then. */
struct tp_first_failure {
    struct tp_at_peak at; /* its `event` is that of the failure; after what the policy gave back */
    uint64_t size, align; /* asked for */
    uint64_t replaced;    /* what the program gives up for it: a REALLOC's old size, else 0 */
    uint64_t capacity;    /* of the device; TP_NONE: not known */
    uint32_t oom_class;   /* enum tp_oom_class */
    uint32_t mark;        /* index of its phase's name; UINT32_MAX: none */
};

/* What lies between two MARKs, summed up by name: a phase that comes again adds to the first. */
struct tp_phase {
    uint32_t mark;        /* index of its name; UINT32_MAX: before the first mark */
    uint64_t first_event; /* where it began */
    uint64_t times;       /* it was entered */
    uint64_t peak_requested, peak_granted, peak_reserved;
};

enum { TP_PHASES = 64 };

/* From the lowest to the highest over the passes; both TP_NONE: not known. */
struct tp_range {
    uint64_t low, high;
};

/* What a real device answered; all TP_NONE and zero on other sources. Bytes unless named otherwise.
 * The passes play the same program under the same load, but a device is shared and its pool decides
 * by what has completed: so figures are ranges over the passes. Peaks are those of a whole pass,
 * however often it plays; a latency pass that stops after a number of operations takes no part. */
struct tp_measured {
    struct tp_range peak_reserved; /* metered; with TP_RUN_POOL the pool's own high-water mark */
    struct tp_range pool_used;     /* the pool's own high-water mark of what was handed out */
    struct tp_range peak_metadata;
    struct tp_range failed_allocations; /* of the first replay of each pass */
    /* cuMemGetInfo in the usage pass: what was missing at the highest point, beside what was
     * metered (or the pool's reserved) at that moment */
    uint64_t missing_at_peak, reserved_then;
    uint64_t free_at_start, total;
    uint64_t free_at_failure;       /* at the first failed allocation */
    struct tp_driver_counts driver; /* of the usage pass, prologue not counted */
};

/* Per device, from the usage pass. Bytes unless the name says otherwise. */
struct tp_device_run {
    uint64_t trace_peak_requested;                 /* the trace's own, whatever the policy fails */
    uint64_t peak_requested, peak_requested_event; /* of what the policy served */
    uint64_t peak_granted;
    uint64_t peak_reserved, peak_reserved_event;
    uint64_t peak_carved; /* TP_NONE: the strategy does not say */
    uint64_t peak_metadata;
    uint64_t end_reserved; /* after the last event, what is live still in place */
    uint64_t start_bytes;  /* what the strategy holds per class or range before reuse sets in */
    double overhead; /* peak of (reserved + metadata) / trace_peak_requested; NAN after failures */
    double internal_fragmentation;          /* 1 - granted share, at peak demand */
    double internal_fragmentation_weighted; /* over the whole program */
    double unused_reserved, unused_reserved_weighted;
    double mean_granted, mean_reserved; /* bytes, weighted likewise: what the two are shares of */
    double external_fragmentation;      /* at peak demand; NAN for strategies without spans */
    struct tp_at_peak at_peak;
    uint64_t gets, puts, waits, get_bytes, put_bytes; /* TP_NONE for a foreign allocator */
    uint64_t next_calls; /* gets and puts of the next pass on the same instance; TP_NONE */
    uint64_t wait_ns;    /* simulated */
    uint64_t refused_puts;
    uint64_t allocations; /* served: ALLOC, ADOPT and REALLOC */
    uint64_t reused;      /* of these, without a source call; TP_NONE for a foreign allocator */
    uint64_t failed_allocations; /* blocks of the prologue among them */
    uint64_t failed_initial;     /* of these, such blocks: no call of the program */
    uint64_t first_failed_event; /* TP_NONE: none */
    uint64_t failed_by[TP_OOM_CLASSES];
    struct tp_first_failure first_failure; /* valid after failures */
    uint64_t fallbacks; /* passed straight to the source by the policy's own rules */
    uint64_t capacity;  /* of the device; TP_NONE: not known or unlimited */
    uint64_t fits_in;   /* smallest capacity without a failure; TP_NONE: not looked for, or none */
    struct tp_phase phases[TP_PHASES]; /* the first ones; none without MARKs */
    uint32_t phase_count;
    struct tp_curve curve;
    struct tp_measured measured;
};

extern const char *const tp_latency_names[TP_LAT_KINDS];

struct tp_latency {
    struct tp_histogram hist; /* ns, the empty reading subtracted, clamped at 0 */
    double raw_sum_ns;        /* not clamped: the mean comes from it */
};

enum { TP_SLOWEST = 10, TP_SIZE_CLASSES = 49 };

struct tp_slow_event {
    uint64_t event;
    uint64_t ns;
    uint64_t size;
    uint8_t op;
};

struct tp_throughput {
    struct tp_series runs;   /* ns per operation of each replay, engine share included */
    struct tp_series engine; /* the same with the empty strategy, interleaved */
    double engine_scale;     /* operations gone through / operations that took place: >= 1 */
    double cold_ns_per_op;   /* first replay on a fresh instance, engine share included */
    uint64_t replays;
    uint64_t wall_ns; /* spent in the strategy's replays */
};

struct tp_latency_run {
    struct tp_latency kinds[TP_LAT_KINDS];
    struct tp_histogram alloc_sizes[TP_SIZE_CLASSES]; /* by log2 of the size, rounded up */
    struct tp_slow_event slowest[TP_SLOWEST];         /* slowest first */
    uint32_t slowest_count;
    uint64_t sampled; /* operations of a replay that were looked at, the first ones; 0: all */
    double empty_ns[TP_LAT_KINDS]; /* the empty reading that was subtracted; 0: no such operation */
    uint64_t replays;
};

enum tp_run_flags {
    TP_RUN_INFORMATIVE = 1u << 0,    /* memory figures come from the allocator's own statistics */
    TP_RUN_WEIGHT_TIME = 1u << 1,    /* weighted by recorded time, else by events */
    TP_RUN_SYNTHETIC_TIME = 1u << 2, /* the virtual clock ran on 1 us an instruction */
    TP_RUN_PLAYED_ONCE = 1u << 3,    /* longer than --min-time: cold and steady coincide */
    TP_RUN_VERIFIED = 1u << 4,       /* the verifying pass found nothing wrong */
    TP_RUN_FITS = 1u << 5,           /* fits_in was looked for */
    TP_RUN_DEVICE = 1u << 6,         /* on a real device: memory is a range over the passes */
    TP_RUN_POOL = 1u << 7 /* ... from the driver's pool: granted, idle, reuse and curve are TP_NONE,
                             NAN or empty; peak_reserved and peak_granted are the pool's marks */
};

struct tp_run {
    uint32_t flags;
    uint32_t passes; /* that were run: enum tp_pass, or-ed; what the others fill is zero */
    uint32_t device_count;
    uint64_t skipped_operations; /* on objects whose allocation failed */
    uint64_t skipped_trims;      /* TRIM without a `trim` member */
    struct tp_throughput throughput;
    struct tp_latency_run latency;
    uint64_t instructions; /* of one replay, by the processor's counter; TP_NONE: unknown */
    struct tp_device_run devices[]; /* device_count of them */
};

/* Bytes of a run for so many devices. */
static inline size_t tp_run_size(uint32_t devices)
{
    return sizeof(struct tp_run) + devices * sizeof(struct tp_device_run);
}

#endif
