/* The measurements of a replay of one program with one strategy. Plain memory without pointers, so
 * that a child process can write it where its parent reads it. */
#ifndef TP_RUN_H
#define TP_RUN_H

#include "alloc/base/units.h"
#include "alloc/numbers/curve.h"
#include "alloc/numbers/histogram.h"
#include "alloc/numbers/series.h"
#include "alloc/program/program.h"
#include "alloc/source.h"

#include <math.h>

/* The state of a device, in bytes, at the first event where the trace's requested bytes are
 * highest. All TP_NONE where a replay stopped before that event. */
struct tp_at_peak {
    uint64_t event, time_ns; /* event 0: in the initial heap, or the trace allocates nothing */
    uint64_t requested, allocated, reserved, free_bytes;
    uint64_t free_blocks, largest; /* free blocks that could serve again; TP_NONE without a walk */
    /* These five add up to free_bytes; TP_NONE without a walk. page_rest: bytes of the device's
     * pages that belong to no range */
    uint64_t cached, span, dead, internal, page_rest;
};

/* Why an allocation failed. */
enum tp_oom_class {
    TP_OOM_DEMAND, /* the program itself needs more than the device has */
    /* the requested bytes would fit, but allocated and cached bytes do not */
    TP_OOM_FRAGMENTATION,
    TP_OOM_STRATEGY, /* the strategy refused by its own rules; the device had room */
    TP_OOM_UNKNOWN,  /* the device refused, and its capacity is not known */
    TP_OOM_GUARD,    /* tapool refused: far more was reserved than the program needs */
    TP_OOM_CLASSES
};
extern const char *const tp_oom_names[TP_OOM_CLASSES];

/* The first failed allocation, and the state of the device at that moment. */
struct tp_first_failure {
    /* `event` is that of the failure; the state is taken after the strategy gave memory back */
    struct tp_at_peak at;
    uint64_t size, align; /* size and alignment of the request, bytes */
    uint64_t replaced;    /* the old size for a REALLOC, which the program gives up; else 0 */
    uint64_t capacity;    /* of the device; TP_NONE: not known */
    uint32_t oom_class;   /* enum tp_oom_class */
    uint32_t mark;        /* index of the name of the phase; UINT32_MAX: no phase */
};

/* The time between two MARKs. Phases of equal name are counted as one. */
struct tp_phase {
    uint32_t mark;        /* index of the phase's name; UINT32_MAX: before the first mark */
    uint64_t first_event; /* event at which the phase began first */
    uint64_t times;       /* how often the phase was entered */
    uint64_t peak_requested, peak_allocated, peak_reserved;
};

enum { TP_PHASES = 64 };

/* Lowest and highest value over the passes; both TP_NONE: not known. */
struct tp_range {
    uint64_t low, high;
};

/* What a real device reported, in bytes unless named otherwise; on other sources all members are
 * TP_NONE or zero. Figures are ranges over the passes, because a device is shared and its pool
 * decides by the work that has completed. Peaks are those of a whole pass with all its replays. A
 * latency pass that stops after a number of operations is left out. */
struct tp_measured {
    /* from the meter; with TP_RUN_POOL the pool's own high-water mark */
    struct tp_range peak_reserved;
    struct tp_range pool_used; /* the pool's own high-water mark of bytes requested of it */
    struct tp_range peak_metadata;
    struct tp_range failed_allocations; /* in the first replay of each pass */
    /* From cuMemGetInfo in the usage pass. missing_at_peak: bytes missing from the free memory when
     * reserved bytes were highest; reserved_then: bytes reserved at that moment, by the meter or
     * the pool */
    uint64_t missing_at_peak, reserved_then;
    uint64_t free_at_start, total;
    uint64_t free_at_failure; /* free bytes at the first failed allocation */
    /* bytes that the pool had reserved then and that no block used; TP_NONE: no pool */
    uint64_t pool_unused_at_failure;
    struct tp_driver_counts driver; /* calls in the usage pass after the initial heap */
};

/* Figures of one device from the usage pass, in bytes unless the name says otherwise. */
struct tp_device_run {
    /* the trace peak of the trace, which failed allocations do not change */
    uint64_t trace_peak_requested;
    /* highest requested bytes that the strategy served */
    uint64_t peak_requested, peak_requested_event;
    uint64_t peak_allocated;
    uint64_t peak_reserved, peak_reserved_event;
    uint64_t peak_carved; /* TP_NONE: the strategy does not report it */
    uint64_t peak_metadata;
    uint64_t end_reserved; /* reserved after the last event, before live blocks are freed */
    uint64_t start_bytes;  /* held per class, bin or range before reuse sets in */
    double overhead; /* peak of (reserved + metadata) / trace_peak_requested; NAN after failures */
    double internal_fragmentation; /* 1 - allocated share, at the trace peak */
    double
        internal_fragmentation_weighted; /* 1 - allocated share, weighted over the whole program */
    double unused_reserved, unused_reserved_weighted;
    /* weighted means in bytes, from which the weighted shares follow */
    double mean_allocated, mean_reserved;
    double external_fragmentation; /* at the trace peak; NAN for strategies without spans */
    struct tp_at_peak at_peak;
    uint64_t gets, puts, waits, get_bytes, put_bytes; /* TP_NONE for a foreign allocator */
    /* gets and puts of a second replay on the same instance; TP_NONE: not known */
    uint64_t next_calls;
    uint64_t wait_ns; /* simulated waiting time */
    uint64_t refused_puts;
    uint64_t allocations; /* ALLOCs, ADOPTs and REALLOCs that were served */
    /* allocations served without a source call; TP_NONE for a foreign allocator */
    uint64_t reused;
    uint64_t failed_allocations; /* failed allocations, those of the initial heap included */
    /* failed allocations of the initial heap, which are no calls of the program */
    uint64_t failed_initial;
    uint64_t first_failed_event; /* TP_NONE: no allocation failed */
    uint64_t failed_by[TP_OOM_CLASSES];
    struct tp_first_failure first_failure; /* valid if an allocation failed */
    uint64_t fallbacks; /* requests that the strategy's own rules passed straight to the source */
    uint64_t retries;   /* as of struct tp_stats */
    /* of a strategy that follows a plan, as of struct tp_account; 0 of any other */
    uint64_t planned, planned_bytes, unplanned, unplanned_bytes;
    uint64_t capacity; /* of the device; TP_NONE: not known or unlimited */
    /* smallest capacity without a failure; TP_NONE: not searched for, or not found */
    uint64_t min_capacity;
    /* the first TP_PHASES phases; none where the program has no MARKs */
    struct tp_phase phases[TP_PHASES];
    uint32_t phase_count;
    struct tp_curve curve;
    struct tp_measured measured;
};

extern const char *const tp_latency_names[TP_LAT_KINDS];

struct tp_latency {
    struct tp_histogram hist; /* ns, the empty reading subtracted, clamped at 0 */
    double raw_sum_ns;        /* sum in ns without clamping, from which the mean is computed */
};

enum { TP_SLOWEST = 10, TP_SIZE_CLASSES = 49 };

struct tp_slow_event {
    uint64_t event;
    uint64_t ns;
    uint64_t size;
    uint8_t op;
};

/* Several OS threads. Each series but `window` has one value of each replay. */
struct tp_crew_run {
    uint64_t threads;        /* OS threads; 0: one replayed everything, and the series are empty */
    struct tp_series wall;   /* ns per operation by the time that passed, engine share included */
    struct tp_series window; /* the same time in ns, by window: one value of each window */
    struct tp_series waited; /* share of the threads' time in which they waited for an object */
    /* share of their time in which they did not wait, and had no core: in a lock or a page fault */
    struct tp_series blocked;
    /* as `wall`, by one thread in a process that has no other, in replays interleaved with these */
    struct tp_series alone;
};

struct tp_throughput {
    /* ns per operation of each replay, engine share included. Of several threads the time that
     * passed in each, added up, without waiting for an object */
    struct tp_series runs;
    /* ns per operation of the empty strategy, in replays interleaved with `runs` */
    struct tp_series engine;
    /* operations of the program divided by operations that took place, >= 1 */
    double engine_scale;
    /* ns per operation of the first replay on a fresh instance, engine share included */
    double cold_ns_per_op;
    uint64_t replays;
    uint64_t wall_ns; /* time spent in the strategy's replays */
    struct tp_crew_run crew;
};

struct tp_latency_run {
    struct tp_latency kinds[TP_LAT_KINDS];
    struct tp_histogram alloc_sizes[TP_SIZE_CLASSES]; /* by log2 of the size, rounded up */
    struct tp_slow_event slowest[TP_SLOWEST];         /* slowest first */
    uint32_t slowest_count;
    uint64_t sampled; /* number of operations at the start of a replay that were timed; 0: all */
    /* the empty reading that was subtracted; 0: the program has no such operation */
    double empty_ns[TP_LAT_KINDS];
    uint64_t replays;
};

/* The lowest, the middle and the highest of what several passes measured, in bytes; all TP_NONE:
 * not known. */
struct tp_spread {
    uint64_t low, median, high;
};

/* What resident pages hold (page_ledger.h), in bytes; TP_NONE: not known. The others add up to
 * `resident`; rounding that is not known is in `own`. */
struct tp_page_parts {
    uint64_t resident, live, rounding, partly_free, free_pages, own;
    /* Private bytes on huge pages, and locked ones (mlock), above those before the first event;
     * requested bytes of live blocks in shared mappings, which are in no part. */
    uint64_t huge_page, locked, shared_live;
};

/* Standard errors of the first six, in bytes, where pages are sampled (page_sample.h); else 0. */
enum { TP_PAGE_PARTS = 6 };
struct tp_page_errors {
    uint64_t resident, live, rounding, partly_free, free_pages, own;
};

/* Memory of the process that replays, by the kernel, less what it was before the first event. */
struct tp_resident {
    uint64_t passes;          /* 0: not measured, or the kernel does not say */
    uint64_t threads;         /* OS threads that replayed; 0: so many cannot run here */
    struct tp_spread at_peak; /* at the event of the trace peak; not known if it was not reached */
    struct tp_spread peak;    /* the highest of all readings (process_watch.h) */
    struct tp_spread end;     /* after the last event, before live blocks are freed */
    struct tp_page_parts parts_at_peak, parts_end; /* at two of these moments */
    struct tp_page_errors errors_at_peak, errors_end;
    uint64_t pages_every; /* of so many runs of pages one was looked at, at the end; 1: all */
    /* What a preloaded library adds to the RSS of a process before its first event, which is in
     * none of these: the caller's (cmd/jobs/memory_passes.h); 0 without such a library */
    uint64_t start;
    bool by_mincore;         /* the parts; else by the page map of the kernel (own_pages.h) */
    bool huge_pages;         /* transparent huge pages were as the machine has them; else off */
    struct tp_course course; /* of the pass whose peak is the middle one */
};

/* The calls of the kernel by which a process gets memory and gives it back, X(call, what it does).
 * The filter of the process that replays and the count of the one that follows it are made of them.
 */
#define TP_MAPPED_CALLS(X)                                                                         \
    X(mmap, GETS) X(munmap, PUTS) X(mremap, BOTH) X(brk, BOTH) X(madvise, PUTS) X(mprotect, CHANGES)

/* What a process has mapped, and its calls for it, from the first event to the last. Known for a
 * real allocator. The process that replays and the one that follows it share such a struct for
 * `counting`, `over`, `filtered`, `base` and `why`. */
enum { TP_MAPPED_THREADS = -1 }; /* the library began with threads of its own */
struct tp_mapped {
    bool known;
    bool counting;
    bool over;        /* what is to be counted is over, and the parent lets the process go */
    bool filtered;    /* only calls about memory stop the process */
    bool fixed;       /* addresses were not randomised */
    uint64_t threads; /* that replayed */
    int32_t why;   /* errno or TP_MAPPED_THREADS: why it is not known; 0: it was not looked for */
    uint64_t base; /* bytes before the first event */
    uint64_t peak; /* the most, base included */
    uint64_t at_peak;    /* at the trace peak, above the base; TP_NONE: not reached */
    uint64_t end;        /* after the last event, above the base */
    uint64_t gets, puts; /* calls that get memory, and that give it back */
};

enum tp_run_flags {
    TP_RUN_INFORMATIVE = 1u << 0, /* memory figures come from the allocator's own statistics */
    /* means are weighted by recorded time; without this flag by events */
    TP_RUN_WEIGHT_TIME = 1u << 1,
    /* the trace has no times: the virtual clock advanced 1 us per instruction */
    TP_RUN_SYNTHETIC_TIME = 1u << 2,
    /* one replay took longer than --min-time, so cold and steady figures coincide */
    TP_RUN_REPLAYED_ONCE = 1u << 3,
    TP_RUN_VERIFIED = 1u << 4, /* the verifying pass found nothing wrong */
    TP_RUN_FITS = 1u << 5,     /* min_capacity was searched for */
    /* on a real device: memory figures are ranges over the passes */
    TP_RUN_DEVICE = 1u << 6,
    /* memory came from the driver's pool: allocated, free bytes, reuse and curve are TP_NONE, NAN
     * or empty, and peak_reserved is the pool's high-water mark */
    TP_RUN_POOL = 1u << 7,
    /* the strategy began with the heap that was recorded */
    TP_RUN_AGED = 1u << 8,
    /* several OS threads replayed, and one lock was held through every call: the strategy's own, or
     * the engine's around a strategy that has none */
    TP_RUN_ONE_LOCK = 1u << 9
};

enum { TP_RUN_LIBRARY = 64 };

struct tp_run {
    uint32_t flags;
    /* the library that served a real allocator, as its member `library` says; "": none */
    char library[TP_RUN_LIBRARY];
    /* passes that were run: enum tp_pass, or-ed; figures of other passes are zero */
    uint32_t passes;
    uint32_t device_count;
    uint64_t skipped_operations; /* operations on objects whose allocation failed */
    uint64_t skipped_trims;      /* TRIMs of a strategy without the member `trim` */
    struct tp_throughput throughput;
    struct tp_latency_run latency;
    /* instructions of one replay by the processor's counter; TP_NONE: not known */
    uint64_t instructions;
    struct tp_resident resident;
    struct tp_mapped mapped;
    struct tp_device_run devices[]; /* array of device_count entries */
};

/* Bytes of a struct tp_run for `devices` devices. */
static inline size_t tp_run_size(uint32_t devices)
{
    return sizeof(struct tp_run) + devices * sizeof(struct tp_device_run);
}

#endif
