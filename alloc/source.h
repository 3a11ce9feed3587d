/* Where memory comes from. One instance serves one device.
 *
 * To add a source: one file in alloc/sources/ (or cuda/) that exports one `const struct
 * tp_source_ops`, and one line in cmd/registry.c. A decorator is a source with TP_SRC_DECORATOR
 * whose cfg->inner is the source below it. It has `init`, `get`, `put` and what else it changes,
 * and calls the members of the source below through the wrappers at the end of this file; what it
 * leaves NULL, the wrappers ask of the source below.
 *
 *     strategy --> meter --> limit --> fault --> shuffle --> host | virtual | cuda
 *
 * Members come in groups. Those of a source that is no decorator are all set or all NULL, and NULL
 * is the statement. */
#ifndef TP_SOURCE_H
#define TP_SOURCE_H

#include "alloc/base/err.h"
#include "alloc/base/opt.h"
#include "alloc/program/program.h"

/* An address is a number; only a source with the HOST group turns one into a pointer. 0 is none. */
typedef uint64_t tp_addr;

enum tp_source_flags {
    TP_SRC_HOST = 1u << 0,      /* memory that this process can write */
    TP_SRC_VIRTUAL = 1u << 1,   /* simulated: its times are the policy's own work only */
    TP_SRC_DECORATOR = 1u << 2, /* needs cfg->inner */
    TP_SRC_DEVICE = 1u << 3,    /* a real device: others share it, and it can be lost */
    TP_SRC_ORDERED = 1u << 4,   /* fences pass in the order of recording, all streams alike, but for
                                   those that `synced` lets pass earlier */
    TP_SRC_ABSENT = 1u << 5,    /* not in this build: `init` says so, and nothing else is there */
};

/* A point in a stream's work. Made by `record`; a plain value, nothing to release. */
struct tp_fence {
    uint64_t serial;  /* order of recording, from 1 */
    uint64_t time_ns; /* the source's clock when it was recorded */
    uint16_t stream;
};

/* How a device is kept busy with a block that was just handed out. */
enum tp_occupy {
    TP_OCCUPY_NONE,
    TP_OCCUPY_MEMSET, /* writes all of it once */
    TP_OCCUPY_SPIN    /* writes its first bytes, and is busy for a given time */
};

/* A stream-ordered pool of the driver, as it is asked for. */
struct tp_pool_cfg {
    bool own;                   /* a pool of its own, else the device's default pool */
    uint64_t max_size;          /* bytes that an own pool may reserve; 0: as CUDA has it */
    uint64_t release_threshold; /* bytes that it keeps reserved at a synchronisation */
    bool reuse_follow_event_dependencies;
    bool reuse_allow_opportunistic;
    bool reuse_allow_internal_dependencies;
};

/* What the pool says of itself, bytes. The highs are since pool_open. */
struct tp_pool_marks {
    uint64_t reserved, reserved_high; /* held from the device */
    uint64_t used, used_high;         /* handed out, as the pool rounds it */
};

/* Calls into the driver, by this source since its init. What fills the streams is apart. */
struct tp_driver_counts {
    uint64_t calls;       /* for ranges, fences, pools and orders */
    uint64_t ns;          /* inside them; 0 without cfg->time_calls */
    uint64_t syncs;       /* of these: that wait for a stream, an event or the device */
    uint64_t event_waits; /* of these: that make one stream wait for another */
    uint64_t works;       /* kernels and memsets that `work` queued */
};

/* What is held, counted by `meter` and by the environment's metadata calls. */
struct tp_account {
    uint64_t reserved, peak_reserved; /* bytes that the source gave up for the ranges held */
    uint64_t metadata, peak_metadata; /* bytes of the strategy's own bookkeeping */
    uint64_t peak_held;               /* highest reserved + metadata */
    uint64_t gets, puts, waits;       /* calls that succeeded */
    uint64_t get_bytes, put_bytes;
    uint64_t wait_ns;       /* simulated waiting time */
    uint64_t refused_gets;  /* out of memory */
    uint64_t guarded_gets;  /* of these: by the meter, beyond cfg->guard */
    uint64_t refused_puts;  /* the range stays reserved; retried at fini */
    uint64_t least_refused; /* by `limit`: the least capacity that one of these gets would have
                               needed when it came; 0: none was refused */
};

/* Bytes of the ranges that are held: what a strategy accounts for. */
static inline uint64_t tp_account_ranges(const struct tp_account *a)
{
    return a->get_bytes - a->put_bytes;
}

/* To be called after `reserved` or `metadata` has changed. */
static inline void tp_account_update(struct tp_account *a)
{
    if (a->reserved > a->peak_reserved)
        a->peak_reserved = a->reserved;
    if (a->metadata > a->peak_metadata)
        a->peak_metadata = a->metadata;
    if (a->reserved + a->metadata > a->peak_held)
        a->peak_held = a->reserved + a->metadata;
}

struct tp_source;

struct tp_source_cfg {
    const void *opts;           /* parsed from `options`; NULL when the source has none */
    struct tp_source *inner;    /* for decorators */
    struct tp_account *account; /* for the meter */
    uint64_t guard;             /* for the meter: bytes; who holds more gets nothing; 0: none */
    bool keeps_ranges;          /* for the meter: it is going to be asked what it `holds` */
    uint64_t *now_ns;           /* recorded time, written by the engine; sources may advance it */
    enum tp_kind kind;
    uint16_t device;
    uint32_t streams; /* of the trace, numbered from 0; 0 = 1 */
    bool time_calls; /* DEVICE: count the time inside the driver too; it costs two clock readings */
    int *lost;      /* DEVICE: set to TP_EDEVICE when the device or the driver fails; may be NULL */
    void **current; /* one word for all sources that a thread has open, NULL at first: which device
                       its driver calls go to. May be NULL: it is set before each call */
    uint64_t seed;
};

struct tp_source_ops {
    const char *name;
    const char *summary; /* a few words */
    uint32_t flags;      /* enum tp_source_flags */
    size_t state_size;   /* zeroed by the core before init */
    size_t opts_size;
    const struct tp_opt *options; /* NULL-named row ends it; NULL = none */

    /* If init fails it has cleaned up after itself and fini is not called. fini gives everything
     * back, ranges still held included; a decorator that holds nothing has none. */
    int (*init)(void *s, const struct tp_source_cfg *cfg, struct tp_err *err);
    void (*fini)(void *s);
    uint64_t (*page)(void *s); /* granularity of get, bytes, a power of two */
    /* Bytes that it can hold at most; 0 = not known. NULL: not known. */
    uint64_t (*capacity)(void *s);

    /* RANGES. size: a multiple of the page, > 0. align: a power of two; honoured or refused with
     * TP_EUNSUP. TP_EOOM: the device is full. put takes exactly what get gave: anything else is
     * TP_EINVAL; a put that the system refuses is TP_EIO and the range stays held. */
    int (*get)(void *s, uint64_t size, uint64_t align, tp_addr *out);
    int (*put)(void *s, tp_addr addr, uint64_t size);

    /* DEVICE MEMORY: of a source that gives up more than the sizes of its ranges. granule: in what
     * multiples. taken: for the ranges that are held now. cost: by how much a get would raise that.
     * All follow from the calls and their sizes, never from addresses. */
    uint64_t (*granule)(void *s);
    uint64_t (*taken)(void *s);
    uint64_t (*cost)(void *s, uint64_t size, uint64_t align);

    /* METER, with cfg->keeps_ranges. Do all these bytes lie in one range, or in one block of a
     * pool, that was given and not taken back? */
    bool (*holds)(void *s, tp_addr addr, uint64_t size);

    /* FENCES. done: true when the stream's work up to the fence is complete. wait: until then. */
    void (*record)(void *s, uint16_t stream, struct tp_fence *out);
    bool (*done)(void *s, const struct tp_fence *f);
    int (*wait)(void *s, const struct tp_fence *f);
    void (*synced)(void *s, uint16_t stream); /* the trace says so; TP_ALL_STREAMS = the device */

    /* HOST. NULL for an address that it did not give. */
    void *(*host)(void *s, tp_addr addr);

    /* ASYNC: memory in the order of a stream, from one pool of the driver at a time. pool_open
     * resets the pool's high-water marks; TP_EDEVICE: no such thing on this device. pool_close
     * is called once after each pool_open that succeeded, when every block was put; it waits for
     * the streams and leaves nothing reserved, and its errors are the pool's own. get_async: any
     * size > 0, TP_EOOM as `get`. put_async takes what get_async gave, else TP_EINVAL. */
    int (*pool_open)(void *s, const struct tp_pool_cfg *cfg, struct tp_err *err);
    int (*pool_close)(void *s);
    int (*get_async)(void *s, uint64_t size, uint16_t stream, tp_addr *out);
    int (*put_async)(void *s, tp_addr addr, uint16_t stream);
    int (*pool_trim)(void *s, uint64_t keep); /* bytes that may stay reserved */
    int (*pool_marks)(void *s, struct tp_pool_marks *out);

    /* STREAMS: work that is really queued. follow: what `stream` does from now on comes after what
     * `after` was given so far. work: `stream` is busy with the block for `ns`; never timed.
     * Of 0 bytes: loads what work takes. TP_EUNSUP: no kernels here. */
    int (*follow)(void *s, uint16_t stream, uint16_t after);
    int (*work)(void *s, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                enum tp_occupy how);

    /* DEVICE. memory: bytes that the device has free and in all, whoever holds the rest. fault:
     * TP_OK, or TP_EDEVICE and the sentence of the first failure, asynchronous ones included: after
     * it every call fails. */
    int (*memory)(void *s, uint64_t *free_bytes, uint64_t *total_bytes);
    void (*counts)(void *s, struct tp_driver_counts *out);
    int (*fault)(void *s, struct tp_err *err);
};

/* A handle: owned by whoever opened it. */
struct tp_source {
    const struct tp_source_ops *ops;
    void *state;
    struct tp_source *inner; /* of a decorator: the source below it */
    uint64_t page;           /* granularity of get */
    uint64_t held;           /* bytes of the ranges that this source gave and did not get back */
    uint32_t flags;          /* of the source at the base: enum tp_source_flags */
};

/* Checks the groups and the flags of a table. TP_EBROKEN names the member. */
int tp_source_check(const struct tp_source_ops *ops, struct tp_err *err);

int tp_source_open(struct tp_source *src, const struct tp_source_ops *ops,
                   const struct tp_source_cfg *cfg, struct tp_err *err);
void tp_source_close(struct tp_source *src); /* a zeroed handle is fine */

/* Thin wrappers, the one place for assertions. Contracts as above. */
int tp_src_get(struct tp_source *src, uint64_t size, uint64_t align, tp_addr *out);
int tp_src_put(struct tp_source *src, tp_addr addr, uint64_t size);
uint64_t tp_src_capacity(struct tp_source *src); /* 0 = not known */
/* Without the DEVICE MEMORY group: the page, what is held, the size. */
uint64_t tp_src_granule(struct tp_source *src);
uint64_t tp_src_taken(struct tp_source *src);
uint64_t tp_src_cost(struct tp_source *src, uint64_t size, uint64_t align);
bool tp_src_holds(struct tp_source *src, tp_addr addr, uint64_t size); /* of the meter only */
void tp_src_record(struct tp_source *src, uint16_t stream, struct tp_fence *out);
bool tp_src_done(struct tp_source *src, const struct tp_fence *f);
int tp_src_wait(struct tp_source *src, const struct tp_fence *f);
void tp_src_synced(struct tp_source *src, uint16_t stream);
bool tp_src_has_fences(const struct tp_source *src);
void *tp_src_host(struct tp_source *src, tp_addr addr); /* NULL: not host memory */

/* TP_EUNSUP without the ASYNC group. */
int tp_src_pool_open(struct tp_source *src, const struct tp_pool_cfg *cfg, struct tp_err *err);
int tp_src_pool_close(struct tp_source *src);
int tp_src_get_async(struct tp_source *src, uint64_t size, uint16_t stream, tp_addr *out);
int tp_src_put_async(struct tp_source *src, tp_addr addr, uint16_t stream);
int tp_src_pool_trim(struct tp_source *src, uint64_t keep);
int tp_src_pool_marks(struct tp_source *src, struct tp_pool_marks *out);

/* Without the STREAMS group nothing is queued: TP_OK. */
int tp_src_follow(struct tp_source *src, uint16_t stream, uint16_t after);
int tp_src_work(struct tp_source *src, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                enum tp_occupy how);

/* Without the DEVICE group: TP_EUNSUP, zeros, TP_OK. */
int tp_src_memory(struct tp_source *src, uint64_t *free_bytes, uint64_t *total_bytes);
void tp_src_counts(struct tp_source *src, struct tp_driver_counts *out);
int tp_src_fault(struct tp_source *src, struct tp_err *err);

#endif
