/* Where memory comes from. One instance serves one device.
 *
 * To add a source: one file in alloc/sources/ (or cuda/) that exports one `const struct
 * tp_source_ops`, and one line in cmd/registry.c. A wrapper is a source with TP_SRC_WRAPPER
 * whose cfg->inner is the source below it. It sets `init`, `get`, `put` and every other member that
 * it changes, and calls the source below through the wrappers at the end of this file. For a member
 * that a wrapper leaves NULL, the wrappers call the source below.
 *
 *     strategy --> meter --> limit --> fault --> shuffle --> host | virtual | cuda
 *
 * Members come in groups. A source that is no wrapper sets all members of a group or none, and
 * says by NULL that it lacks the group. */
#ifndef TP_SOURCE_H
#define TP_SOURCE_H

#include "alloc/base/opt.h"
#include "alloc/memory.h"
#include "alloc/program/program.h"

/* How a device is kept busy with a block that was just allocated. */
enum tp_occupy {
    TP_OCCUPY_NONE,
    TP_OCCUPY_MEMSET, /* writes the whole block once */
    /* writes the first bytes of the block and keeps the device busy for a given time */
    TP_OCCUPY_SPIN
};

/* Calls that this source made into the driver since its init. Calls that only keep the streams busy
 * are counted in `works` alone. */
struct tp_driver_counts {
    uint64_t calls;       /* calls for ranges, fences, pools and the order of streams */
    uint64_t ns;          /* time inside these calls; 0 without cfg->time_calls */
    uint64_t syncs;       /* calls among them that wait for a stream, an event or the device */
    uint64_t event_waits; /* calls among them that make one stream wait for another */
    uint64_t works;       /* kernels and memsets that `work` queued */
    /* how often `work` waited, so that the driver's queue had room and no timed call waited for it
     */
    uint64_t held_back;
    /* By `settle`, of the stream whose kernels were asked to last longest since the source was
     * opened: the sum of the times that they were asked for, and the time from when the first was
     * queued until the last was complete, by the CPU's clock. The second is longer by what
     * launching them adds, and by what the stream waited for the host and for other streams. 0: no
     * kernels. */
    uint64_t busy_asked_ns, busy_spent_ns;
};

/* What a strategy holds, counted by `meter` and by the environment's metadata calls. */
struct tp_account {
    /* bytes that the source gave up for the ranges that are held */
    uint64_t reserved, peak_reserved;
    uint64_t metadata, peak_metadata; /* bytes of the strategy's own bookkeeping */
    uint64_t peak_held;               /* highest reserved + metadata */
    uint64_t gets, puts, waits;       /* calls that succeeded */
    uint64_t get_bytes, put_bytes;
    uint64_t wait_ns;      /* simulated waiting time */
    uint64_t refused_gets; /* gets that failed because memory was exhausted */
    uint64_t guarded_gets; /* refused gets that the meter refused beyond cfg->guard */
    /* puts that the source refused: the range stays reserved, and the put is retried at fini */
    uint64_t refused_puts;
    /* set by `limit`: the smallest capacity with which one of the refused gets would have succeeded
     * at that moment; 0: none was refused */
    uint64_t least_refused;
    bool asked; /* set by `limit`: the strategy has asked for the size of the device */
    /* set by a strategy that follows a plan: requests, and their bytes, that it has a place for and
     * that got it; and those of a step that did not follow the plan */
    uint64_t planned, planned_bytes, unplanned, unplanned_bytes;
};

/* Bytes of the ranges that are held, which is what a strategy accounts for. */
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
    struct tp_source *inner;    /* for wrappers: the source below */
    struct tp_account *account; /* for the meter */
    /* for the meter: a strategy that holds more bytes than this gets nothing; 0: no guard */
    uint64_t guard;
    /* for the meter: where it keeps the ranges, or blocks of a pool, that are allocated; what is
     * mapped side by side in a space is one range. NULL: nowhere */
    struct tp_range_table *ranges;
    struct tp_aliases *aliases; /* for the meter: where it keeps what is mapped twice, or NULL */
    uint64_t *now_ns;           /* recorded time, written by the engine; sources may advance it */
    enum tp_kind kind;
    uint16_t device;
    uint32_t streams; /* streams of the trace, numbered from 0; 0 is taken as 1 */
    /* DEVICE: measure the time inside the driver too, at two clock readings per call */
    bool time_calls;
    int *lost; /* DEVICE: set to TP_EDEVICE when the device or the driver fails; may be NULL */
    /* A word that all sources opened by a thread share, NULL at first: the device that the thread's
     * driver calls go to. Where this pointer is NULL, the device is set before each call. */
    void **current;
    uint64_t seed;
};

struct tp_source_ops {
    const char *name;
    const char *summary; /* a few words */
    uint32_t flags;      /* enum tp_source_flags */
    size_t state_size;   /* zeroed by the core before init */
    size_t opts_size;
    const struct tp_opt *options; /* NULL-named row ends it; NULL = none */

    /* A failing init cleans up after itself, and fini is not called. fini gives everything back,
     * including ranges that are still held; a wrapper that holds nothing needs no fini. */
    int (*init)(void *s, const struct tp_source_cfg *cfg, struct tp_err *err);
    void (*fini)(void *s);
    uint64_t (*page)(void *s); /* granularity of get, bytes, a power of two */
    /* Bytes that the source can allocate at most; 0 or a NULL member: not known. */
    uint64_t (*capacity)(void *s);

    /* RANGES. size: a multiple of the page, > 0. align: a power of two; honoured or refused with
     * TP_EUNSUP. TP_EOOM: the device is full. put takes exactly what get gave: anything else is
     * TP_EINVAL; a put that the system refuses is TP_EIO and the range stays held. */
    int (*get)(void *s, uint64_t size, uint64_t align, tp_addr *out);
    int (*put)(void *s, tp_addr addr, uint64_t size);

    /* DEVICE MEMORY: for a source that gives up more bytes than the sizes of its ranges. granule:
     * the unit in which it gives up memory. taken: bytes given up for the ranges that are held now.
     * cost: by how much a get would raise `taken`. All three follow from the calls and their sizes,
     * never from addresses. */
    uint64_t (*granule)(void *s);
    uint64_t (*taken)(void *s);
    uint64_t (*cost)(void *s, uint64_t size, uint64_t align);

    /* SPACES: addresses first, memory for parts of them later. map_page: the granularity of units,
     * bytes; 0: this device maps no memory, and the other members answer TP_EUNSUP. space_get:
     * reserves addresses for `size` bytes, a multiple of `unit`, itself a multiple of map_page,
     * else TP_EINVAL; TP_EOOM: there are none. space_put takes exactly what space_get gave, with
     * nothing mapped. map, unmap: a part `from` bytes behind the base, in whole units of which
     * none, or each, is mapped, else TP_EINVAL. map: TP_EOOM: the device is full; nothing has
     * changed. unmap: the caller has waited for all that used the part; TP_EIO: refused, and the
     * part stays mapped. Mapped memory counts as ranges do: in `taken` and in what the meter keeps;
     * spaces do not. */
    uint64_t (*map_page)(void *s);
    int (*space_get)(void *s, uint64_t size, uint64_t unit, tp_addr *out);
    int (*space_put)(void *s, tp_addr base, uint64_t size);
    int (*map)(void *s, tp_addr base, uint64_t from, uint64_t size);
    int (*unmap)(void *s, tp_addr base, uint64_t from, uint64_t size);

    /* ALIASES, of a source with spaces. alias: a part `from` bytes behind the base, in whole units
     * of which nothing is mapped, gets the memory that is mapped side by side from `of` on, in
     * units of the same size, which nobody uses at that time: its contents may be lost. Whatever
     * refers to `of` still does, nothing more is taken from the device, and `of` cannot be unmapped
     * (TP_EINVAL). unalias: takes what one or more calls of alias gave, each as a whole. */
    int (*alias)(void *s, tp_addr base, uint64_t from, uint64_t size, tp_addr of);
    int (*unalias)(void *s, tp_addr base, uint64_t from, uint64_t size);

    /* FENCES. done: true when the stream's work up to the fence is complete. wait: returns once it
     * is complete. */
    void (*record)(void *s, uint16_t stream, struct tp_fence *out);
    bool (*done)(void *s, const struct tp_fence *f);
    int (*wait)(void *s, const struct tp_fence *f);
    /* the trace has a SYNC of this stream; TP_ALL_STREAMS: of the whole device */
    void (*synced)(void *s, uint16_t stream);
    /* May be NULL in a source with fences: nothing ever really runs. Returns once the work of the
     * stream, or of all streams with TP_ALL_STREAMS, is complete or the device is lost. Unlike
     * `synced`, which may follow, it is no synchronisation to the driver, so that no pool gives
     * memory back; never timed, and none of its calls is counted. */
    void (*drained)(void *s, uint16_t stream);

    /* HOST. NULL for an address that this source did not give. */
    void *(*host)(void *s, tp_addr addr);

    /* ASYNC: memory in the order of a stream, from one pool of the driver at a time. pool_open
     * resets the pool's high-water marks; TP_EDEVICE: this device has no such pools. pool_close is
     * called once after each successful pool_open, when every block has been put; it waits for the
     * streams and leaves nothing reserved. It returns only errors of the pool itself. get_async:
     * any size > 0, TP_EOOM as `get`. put_async takes what get_async gave, else TP_EINVAL. */
    int (*pool_open)(void *s, const struct tp_pool_cfg *cfg, struct tp_err *err);
    int (*pool_close)(void *s);
    int (*get_async)(void *s, uint64_t size, uint16_t stream, tp_addr *out);
    int (*put_async)(void *s, tp_addr addr, uint16_t stream);
    int (*pool_trim)(void *s, uint64_t keep); /* bytes that may stay reserved */
    int (*pool_marks)(void *s, struct tp_pool_marks *out);

    /* STREAMS: work that is really queued. follow: everything queued on `stream` from now on waits
     * for everything queued on `after` so far. work: keeps `stream` busy with the block for `ns`;
     * never timed. With a size of 0 bytes, work only loads its kernel. TP_EUNSUP: this build has no
     * kernels. */
    int (*follow)(void *s, uint16_t stream, uint16_t after);
    int (*work)(void *s, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                enum tp_occupy how);
    /* May be NULL. Waits for the kernels of the stream that was asked to be busy longest, and
     * counts that (busy_asked_ns); never timed, and no memory of a pool goes back. */
    void (*settle)(void *s);

    /* DEVICE. memory: free and total bytes of the device, other processes included. fault: TP_OK,
     * or TP_EDEVICE and the sentence of the first failure, asynchronous failures included. After a
     * failure every call fails. */
    int (*memory)(void *s, uint64_t *free_bytes, uint64_t *total_bytes);
    void (*counts)(void *s, struct tp_driver_counts *out);
    int (*fault)(void *s, struct tp_err *err);
};

/* Checks the groups and the flags of a table. TP_EBROKEN names the member. */
int tp_source_check(const struct tp_source_ops *ops, struct tp_err *err);

int tp_source_open(struct tp_source *src, const struct tp_source_ops *ops,
                   const struct tp_source_cfg *cfg, struct tp_err *err);
void tp_source_close(struct tp_source *src); /* a zeroed handle is fine */

/* Thin wrappers around the members of struct tp_source_ops, with the same contracts; assertions
 * stand here alone. Those that strategies call are in alloc/memory.h. */

/* Without the DEVICE MEMORY group the granule is the page, taken the bytes held, and the cost the
 * size. */
uint64_t tp_src_granule(struct tp_source *src);
uint64_t tp_src_taken(struct tp_source *src);
uint64_t tp_src_cost(struct tp_source *src, uint64_t size, uint64_t align);
void tp_src_synced(struct tp_source *src, uint16_t stream);
void tp_src_drained(struct tp_source *src, uint16_t stream);

/* Where the source lacks the STREAMS group nothing is queued, and the call returns TP_OK. */
int tp_src_work(struct tp_source *src, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                enum tp_occupy how);
void tp_src_settle(struct tp_source *src);

/* Where the source lacks the DEVICE group: memory returns TP_EUNSUP, counts are zero. */
int tp_src_memory(struct tp_source *src, uint64_t *free_bytes, uint64_t *total_bytes);
void tp_src_counts(struct tp_source *src, struct tp_driver_counts *out);

#endif
