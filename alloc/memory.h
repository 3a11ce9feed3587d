/* What a strategy may ask of the source that it takes its memory from. alloc/source.h has the other
 * side: what a source is, and what the engine asks of one.
 *
 * The functions do what the members of struct tp_source_ops of the same name do. They go down a
 * stack of wrappers until one has the member. This header is installed: its layout is part of the
 * interface for plug-ins (TP_ABI in alloc/strategy.h). */
#ifndef TP_MEMORY_H
#define TP_MEMORY_H

#include "alloc/base/api.h"
#include "alloc/base/err.h"
#include "alloc/base/every.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TP_API_BEGIN

/* An address is a number; only a source with TP_SRC_HOST turns an address into a pointer. 0 means
 * no address. */
typedef uint64_t tp_addr;

enum tp_source_flags {
    TP_SRC_HOST = 1u << 0,    /* memory that this process can write */
    TP_SRC_VIRTUAL = 1u << 1, /* simulated: measured times are the strategy's own work only */
    TP_SRC_WRAPPER = 1u << 2, /* needs cfg->inner */
    /* a real device, which other processes share and which can be lost */
    TP_SRC_DEVICE = 1u << 3,
    /* fences of all streams pass in the order of recording, except those that `synced` lets pass
     * earlier */
    TP_SRC_ORDERED = 1u << 4,
    /* not in this build: `init` says so, and every other member is NULL */
    TP_SRC_ABSENT = 1u << 5,
};

/* A handle: owned by whoever opened it. */
struct tp_source {
    const struct tp_source_ops *ops;
    void *state;
    struct tp_source *inner; /* the source below a wrapper, else NULL */
    uint64_t page;           /* granularity of get, a power of two */
    uint64_t held;           /* bytes of ranges, and mapped ones, that this source gave so far */
    uint32_t flags;          /* enum tp_source_flags of the source at the base of the stack */
};

/* A point in a stream's work. Made by `record`; a plain value that needs no release. */
struct tp_fence {
    uint64_t serial;  /* order of recording, from 1 */
    uint64_t time_ns; /* the source's clock when it was recorded */
    uint16_t stream;
};

/* How a stream-ordered pool of the driver is to be opened. */
struct tp_pool_cfg {
    bool own;                   /* true: a new pool; false: the device's default pool */
    uint64_t max_size;          /* bytes that a new pool may reserve; 0: CUDA's default */
    uint64_t release_threshold; /* bytes that the pool keeps reserved at a synchronisation */
    bool reuse_follow_event_dependencies;
    bool reuse_allow_opportunistic;
    bool reuse_allow_internal_dependencies;
};

/* What the driver reports about a pool, in bytes. The high-water marks count from pool_open. */
struct tp_pool_marks {
    uint64_t reserved, reserved_high; /* held from the device */
    /* requested of it and not freed, to the byte: what it rounds up it does not say */
    uint64_t used, used_high;
};

/* RANGES. size: a multiple of the page, > 0. align: a power of two; honoured or refused with
 * TP_EUNSUP. TP_EOOM: the device is full. put takes exactly what get gave: anything else is
 * TP_EINVAL; a put that the system refuses is TP_EIO and the range stays held. */
TP_API int tp_src_get(struct tp_source *src, uint64_t size, uint64_t align, tp_addr *out);
TP_API int tp_src_put(struct tp_source *src, tp_addr addr, uint64_t size);
TP_API uint64_t tp_src_capacity(struct tp_source *src); /* 0 = not known */
/* SPACES: addresses first, memory for parts of them later. tp_src_map_page: the granularity of
 * units, bytes; 0: the source maps no memory. space_get: addresses for `size` bytes, a multiple of
 * `unit`, itself a multiple of that granularity. space_put: with nothing mapped. map, unmap: a part
 * `from` bytes behind the base, in whole units that are all unmapped, or all mapped. TP_EOOM and
 * TP_EIO as above: nothing has changed. Before unmap the caller waits for all that used the part.
 */
TP_API uint64_t tp_src_map_page(struct tp_source *src);
TP_API int tp_src_space_get(struct tp_source *src, uint64_t size, uint64_t unit, tp_addr *out);
TP_API int tp_src_space_put(struct tp_source *src, tp_addr base, uint64_t size);
TP_API int tp_src_map(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size);
TP_API int tp_src_unmap(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size);
/* ALIASES: memory that is mapped from `of` on, mapped a second time in another space with the same
 * units. It stays where it was, and counts once. Nobody uses it during the call, and its contents
 * may be lost. unalias takes such a mapping away; until then the memory cannot be unmapped. TP_EOOM
 * and TP_EIO as above. */
TP_API bool tp_src_has_aliases(const struct tp_source *src);
TP_API int tp_src_alias(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size,
                        tp_addr of);
TP_API int tp_src_unalias(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size);
/* The memory behind an address; NULL: not host memory. */
TP_API void *tp_src_host(struct tp_source *src, tp_addr addr);

/* FENCES. done: true when the stream's work up to the fence is complete. wait: returns once it is
 * complete. A source without fences has no pending work: theirs have always passed. */
TP_API bool tp_src_has_fences(const struct tp_source *src);
TP_API void tp_src_record(struct tp_source *src, uint16_t stream, struct tp_fence *out);
TP_API bool tp_src_done(struct tp_source *src, const struct tp_fence *f);
TP_API int tp_src_wait(struct tp_source *src, const struct tp_fence *f);

/* STREAMS. Everything queued on `stream` from now on waits for everything queued on `after` so far.
 * TP_OK where nothing is queued. */
TP_API int tp_src_follow(struct tp_source *src, uint16_t stream, uint16_t after);
/* TP_OK, or TP_EDEVICE and the sentence of the device's first failure. */
TP_API int tp_src_fault(struct tp_source *src, struct tp_err *err);

/* ASYNC: memory in the order of a stream, from one pool of the driver at a time. All return
 * TP_EUNSUP where the source lacks such pools. */
TP_API int tp_src_pool_open(struct tp_source *src, const struct tp_pool_cfg *cfg,
                            struct tp_err *err);
TP_API int tp_src_pool_close(struct tp_source *src);
TP_API int tp_src_get_async(struct tp_source *src, uint64_t size, uint16_t stream, tp_addr *out);
TP_API int tp_src_put_async(struct tp_source *src, tp_addr addr, uint16_t stream);
TP_API int tp_src_pool_trim(struct tp_source *src, uint64_t keep);
TP_API int tp_src_pool_marks(struct tp_source *src, struct tp_pool_marks *out);

TP_API_END

#endif
