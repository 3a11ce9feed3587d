/* What a strategy is. One instance serves one device.
 *
 * To add a strategy: one file in alloc/strategies/ that exports one `const struct tp_strategy`, and
 * one line in cmd/registry.c. The conformance suite then runs it on every source. Rules:
 *  - every byte got from env->source is put back in fini;
 *  - bookkeeping memory comes from tp_meta_get, nothing from malloc (TP_CAP_FOREIGN excepted);
 *  - an unknown, foreign, interior or repeated address, or a wrong size, is TP_EINVAL and changes
 *    nothing, unless `detects` says that the instance trusts its caller;
 *  - no decision depends on the value of an address: order by (range sequence number, offset);
 *  - a block never spans two source ranges. */
#ifndef TP_STRATEGY_H
#define TP_STRATEGY_H

#include "alloc/base/opt_row.h"
#include "alloc/memory.h"
#include "alloc/program/heap.h"

TP_API_BEGIN

/* Capabilities: what the engine must know about a strategy before it calls it. */
enum tp_caps {
    TP_CAP_THREADS = 1u << 0, /* may be called by several OS threads at once, one `thr` each */
    TP_CAP_STREAMS = 1u << 1, /* orders reuse by stream */
    /* honours any rq->align; a strategy without this flag answers TP_EUNSUP above 16 */
    TP_CAP_ALIGN = 1u << 2,
    TP_CAP_RETAINS = 1u << 3, /* the members retain and release are set */
    TP_CAP_NOFREE = 1u << 4,  /* freed memory is reused only after a reset */
    /* a real allocator: it takes no source, promises nothing about wrong frees, and is replayed in
     * a process of its own; its metrics are informative */
    TP_CAP_FOREIGN = 1u << 5,
    /* takes its memory from the source's ASYNC group, so that the driver's pool knows what is
     * reserved */
    TP_CAP_ASYNC = 1u << 6,
    TP_CAP_ALIASES = 1u << 7, /* maps memory a second time, by the source's `alias` */
    /* FOREIGN: its first option, which is bare, is the path of a library that must be preloaded
     * into the process that replays it */
    TP_CAP_PRELOAD = 1u << 8,
};

enum tp_group { TP_GROUP_STRATEGY, TP_GROUP_REAL, TP_GROUP_REFERENCE };

/* One request for memory. */
struct tp_req {
    uint64_t size;  /* bytes, > 0 */
    uint64_t align; /* a power of two, >= 1 */
    uint16_t stream;
};

/* One block that was allocated. */
struct tp_block {
    tp_addr addr;
    uint64_t allocated; /* bytes that the caller may use, >= size; 0 = call `usable` for them */
};

/* The strategy's surroundings; outlives the instance. */
struct tp_env {
    struct tp_source *source; /* NULL for a strategy that takes none */
    struct tp_account *account;
    void *meta; /* private to tp_meta_get and tp_meta_put */
    uint32_t streams;
    /* True: several OS threads call at once, each with its own `thr` (TP_CAP_THREADS only). False:
     * one OS thread replays all recorded threads. Only alloc, free, resize, move, retain, release,
     * adopt, use, choose_pool, phase, thread_init and thread_fini may run at the same time; every
     * other member has the instance to itself. The source and tp_meta_get are not thread safe: the
     * strategy holds one lock around all its calls to them. */
    bool concurrent;
};

/* Zeroed bookkeeping memory, 16-byte aligned, counted in account->metadata; NULL when memory is
 * exhausted or the call was made to fail on purpose. tp_meta_put takes the size that tp_meta_get
 * got; `p` may be NULL. */
TP_API void *tp_meta_get(const struct tp_env *env, size_t size);
TP_API void tp_meta_put(const struct tp_env *env, void *p, size_t size);

/* What a walk visits. live + cached + span + dead + internal = reserved. */
enum tp_walk_kind {
    TP_WALK_LIVE,     /* a live block; size = allocated bytes */
    TP_WALK_CACHED,   /* free, tied to a class, key or bin */
    TP_WALK_SPAN,     /* free, could serve any size; the uncarved tail of a range included */
    TP_WALK_DEAD,     /* freed, cannot be reused before a reset */
    TP_WALK_INTERNAL, /* headers, rounding inside ranges: serves nobody */
    TP_WALK_COUNT
};
typedef void tp_walk_fn(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size);

/* Facts that only the strategy knows. */
struct tp_stats {
    /* bytes that have been part of a block, span or metadata since their range was got. No report
     * shows this number: tests check that it lies between live and reserved bytes */
    uint64_t carved_bytes;
    uint64_t peak_carved_bytes; /* highest carved_bytes so far, as reports show it */
    /* FOREIGN only: from the allocator's own statistics; UINT64_MAX: the allocator has none that
     * can be read */
    uint64_t reserved_bytes;
    uint64_t fallbacks; /* requests that the strategy passed straight to the source */
    /* bytes held per class, bin or range before reuse sets in; 0: none */
    uint64_t start_bytes;
    /* requests for which the source refused memory, all that was idle went back, and it was asked
     * once more */
    uint64_t retries;
};

struct tp_strategy {
    const char *name;
    const char *summary;   /* "size classes" */
    const char *resembles; /* "jemalloc, tcmalloc" */
    const char *to_use;    /* last lines of the strategy's help page: how to use it in a program */
    enum tp_group group;
    uint32_t caps; /* enum tp_caps */
    size_t state_size, thread_size;
    size_t opts_size;
    const struct tp_opt *options; /* NULL = none */

    /* Required. init: `st` is zeroed memory of state_size bytes; a failing init cleans up after
     * itself, and fini is not called. alloc: TP_OK, TP_EOOM, TP_EINVAL (size 0, align no power of
     * two), TP_EUNSUP, TP_ENOMEM. free: rq is the object's request (size, align) with the freeing
     * stream. */
    int (*init)(void *st, const struct tp_env *env, const void *opts, struct tp_err *err);
    void (*fini)(void *st);
    int (*alloc)(void *st, void *thr, const struct tp_req *rq, struct tp_block *out);
    int (*free)(void *st, void *thr, tp_addr addr, const struct tp_req *rq);

    /* Optional. resize: in place, else TP_EUNSUP and nothing has changed. move: may return another
     * address, and copies the contents where the source is host memory. rq holds the new size. A
     * strategy with both retain and move hands the references on to the new block; without move the
     * engine allocates, copies and frees once. */
    int (*resize)(void *st, void *thr, tp_addr addr, const struct tp_req *rq, struct tp_block *out);
    int (*move)(void *st, void *thr, tp_addr addr, const struct tp_req *rq, struct tp_block *out);
    int (*retain)(void *st, void *thr, tp_addr addr);
    int (*release)(void *st, void *thr, tp_addr addr);
    int (*adopt)(void *st, void *thr, tp_addr addr, const struct tp_req *rq, struct tp_block *out);
    int (*use)(void *st, void *thr, tp_addr addr, uint16_t stream);
    int (*sync)(void *st, void *thr, uint16_t stream);
    int (*reset)(void *st);
    int (*trim)(void *st, uint64_t keep); /* TP_EUNSUP: as if it were absent */
    /* thread_init and thread_fini are both set or both NULL; `thr` is thread_size zeroed bytes */
    int (*thread_init)(void *st, void *thr);
    void (*thread_fini)(void *st, void *thr);

    /* Optional members that are never timed. */
    uint64_t (*usable)(void *st, tp_addr addr); /* allocated bytes of a live block */
    void (*stats)(void *st, struct tp_stats *out);
    int (*walk)(void *st, tp_walk_fn *fn, void *ctx);
    int (*check)(void *st, struct tp_err *err); /* TP_EBROKEN names the invariant */
    /* FOREIGN: the library that serves the calls on this machine */
    void (*library)(char *out, size_t size);

    /* Optional, never timed: begins with the heap that the recording began with, before the first
     * request. Segments are taken from the source wherever it puts them. The next requests are then
     * those of its blocks, in their order; one whose place could not be had fails with TP_EOOM.
     * `heap` has the segments of this device, and is gone after the call. TP_EUNSUP: it has what
     * the strategy does not know, and nothing has changed. */
    int (*start)(void *st, const struct tp_heap *heap);

    /* Optional, never timed: the next alloc of the thread is served from a private pool
     * (tp_pool_number; never 0). */
    void (*choose_pool)(void *st, void *thr, uint64_t pool);

    /* Optional, both or neither, never timed. phases: once, behind init: the names of the program's
     * phases, with NULL behind the last, borrowed for the call. TP_EUSAGE: an option names one that
     * is not there. phase: the one with this index of these names begins; UINT32_MAX: the program
     * begins anew. */
    int (*phases)(void *st, const char *const *names, uint32_t count, struct tp_err *err);
    void (*phase)(void *st, uint32_t index);

    /* Optional, never timed: does this instance detect invalid frees? NULL: it does. False: it
     * trusts every address and size that it is given, as an option may ask for, and tapool then
     * makes no invalid call. */
    bool (*detects)(void *st);
};

/* ---- plug-ins ---- */

/* A strategy may also be a shared library, replayed as -s plugin:PATH. It is compiled against the
 * installed headers alone, calls the functions that are marked TP_API, and exports one constant:
 *
 *     #include <tapool/strategy.h>
 *     static const struct tp_strategy mine = {.name = "mine", ...};
 *     TP_PLUGIN(&mine, "1.0")
 *
 * tapool replays a plug-in of its own TP_ABI and refuses others. Whatever changes in the headers
 * that are installed and could be noticed by a plug-in that was compiled before raises TP_ABI; the
 * sizes find it where that was forgotten. It counts from the first release. */
#define TP_ABI          1u
#define TP_PLUGIN_MAGIC UINT64_C(0x6e6967756c707074) /* "tpplugin" */

enum { TP_PLUGIN_SIZES = 8 };

/* The first three members stay where they are in every version. */
struct tp_plugin {
    uint64_t magic;
    uint32_t abi;
    uint32_t size;                   /* of this struct */
    uint32_t sizes[TP_PLUGIN_SIZES]; /* of the structs that tapool and a plug-in share */
    const char *version;             /* the plug-in's own, for reports; may be NULL */
    const struct tp_strategy *strategy;
};

#define TP_PLUGIN_OWN_SIZES                                                                        \
    {                                                                                              \
        sizeof(struct tp_strategy), sizeof(struct tp_env), sizeof(struct tp_req),                  \
            sizeof(struct tp_block), sizeof(struct tp_stats), sizeof(struct tp_source),            \
            sizeof(struct tp_opt), sizeof(struct tp_err)                                           \
    }

/* The constant that a plug-in exports. */
#define TP_PLUGIN_SYMBOL "tapool_plugin"
#define TP_PLUGIN(the_strategy, the_version)                                                       \
    TP_API_BEGIN                                                                                   \
    extern TP_API const struct tp_plugin tapool_plugin;                                            \
    const struct tp_plugin tapool_plugin = {                                                       \
        TP_PLUGIN_MAGIC,     TP_ABI,        sizeof(struct tp_plugin),                              \
        TP_PLUGIN_OWN_SIZES, (the_version), (the_strategy)};                                       \
    TP_API_END

/* ---- what tapool itself checks ---- */

/* Checks that the flags in `caps` agree with the members that are set, and that names and options
 * are present. TP_EBROKEN otherwise. */
int tp_strategy_check(const struct tp_strategy *s, struct tp_err *err);

/* Checks that the source can serve the strategy, TP_EUSAGE otherwise. A real allocator serves
 * itself where a source is this machine's memory. */
int tp_strategy_fits(const struct tp_strategy *s, const struct tp_source_ops *source,
                     struct tp_err *err);

/* Does it take its memory from env->source? Of a strategy that does not, a real allocator, the
 * engine sees only what it returns and what its own statistics say. */
static inline bool tp_strategy_takes_source(const struct tp_strategy *s)
{
    return !(s->caps & TP_CAP_FOREIGN);
}

/* Does all its memory lie in ranges of a source, which the engine knows and may limit? Not that of
 * a real allocator or of a pool of the driver. */
static inline bool tp_strategy_has_ranges(const struct tp_strategy *s)
{
    return tp_strategy_takes_source(s) && !(s->caps & TP_CAP_ASYNC);
}

/* Does an instance detect invalid frees? A real allocator does not. */
static inline bool tp_strategy_detects(const struct tp_strategy *s, void *st)
{
    return tp_strategy_takes_source(s) && (!s->detects || s->detects(st));
}

TP_API_END

#endif
