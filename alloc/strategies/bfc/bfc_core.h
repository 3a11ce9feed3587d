/* The state of the strategy `bfc`: regions, their chunks, and the free chunks in order.
 *
 *     region    | live | free | live | free      |      chunks are linked in the order of address
 *     bins      free chunks of 256 to 511 bytes, of 512 to 1,023, ... of 256 MiB and more; a tree
 *               each, by (size, place)
 *
 * A place is (region, address), and regions are ordered by a number: that of their making, or, in a
 * replay of a recording whose addresses are known, their address. */
#ifndef TP_BFC_CORE_H
#define TP_BFC_CORE_H

#include "alloc/base/links.h"
#include "alloc/base/tree.h"
#include "alloc/strategies/bfc/bfc_rules.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

#define BFC_GRAIN UINT64_C(256)       /* alignment of every chunk, and the least bin */
#define BFC_MOST  (UINT64_C(1) << 50) /* bytes of the largest request */
#define BFC_ALIGN (UINT64_C(1) << 40) /* bytes of the largest alignment */
#define BFC_PAGE  (UINT64_C(2) << 20) /* bytes of a device page */
#define BFC_LATE  (UINT64_C(1) << 63) /* in a mask of streams: those that have no bit */

enum { BFC_BINS = 21, BFC_STREAM_BITS = 63 };

struct bfc_opts {
    uint32_t flavour; /* 0: as recorded; else enum tp_bfc_flavour + 1 */
    uint32_t arena_extend_strategy;
    bool allow_growth, garbage_collection;
    uint64_t limit, next_region;
    uint64_t initial_chunk_size_bytes, max_dead_bytes_per_chunk, initial_growth_chunk_size_bytes;
    uint64_t max_power_of_two_extend_bytes;
    char *mem_fraction, *internal_fragmentation_fraction; /* shares; NULL or empty: not given */
};

enum bfc_state {
    BFC_NONE,
    BFC_LIVE,
    BFC_FREE,
    BFC_STARTING /* kept for an object that was live when the recording began */
};

/* The free chunks of a stream, or those that may serve any. */
struct bfc_bins {
    struct tp_tree_node *bins[BFC_BINS];
    uint64_t occupied; /* a bit for each bin that has chunks */
};

struct bfc_region {
    tp_addr base;
    uint64_t size;   /* bytes that chunks share */
    uint64_t bytes;  /* bytes of the source's range */
    uint64_t order;  /* place among regions */
    uint64_t align;  /* bytes; to which the place `zero` is aligned for sure */
    tp_addr zero;    /* chunks are aligned by their distance from here */
    uint64_t carved; /* bytes from the base on that were part of a block once */
    uint64_t in_use; /* chunks that are not free */
    struct bfc_chunk *first, *last;
    struct tp_tree_node in_order;
    struct tp_link in_unused; /* while no chunk is in use */
    bool oldest;              /* there was none when it was made */
};

/* Two cache lines; what a search in a bin looks at is in the first. */
struct bfc_chunk {
    tp_addr addr;
    uint64_t size;
    uint64_t order;        /* of the region */
    struct bfc_bins *bins; /* those that it is in, or will be in when it is free */
    struct tp_tree_node by_size;
    struct bfc_region *region;
    struct bfc_chunk *before, *behind; /* in the region */
    uint64_t used;                     /* streams that freed bytes of it: a mask */
    union {
        struct tp_tree_node by_place; /* of a free one, with by_address */
        struct {
            uint64_t requested, align; /* of the request that it serves */
        };
    };
};
static_assert(sizeof(struct bfc_chunk) == 128, "a chunk has two cache lines");

struct bfc {
    const struct tp_env *env;
    struct tp_bfc_rules rules;
    struct bfc_bins any;           /* free chunks that serve every stream */
    struct tp_tree_node *in_order; /* all regions */
    struct tp_link unused;         /* regions without a chunk in use */
    struct tp_tree_node *placed;   /* with by_address: all free chunks, by address */
    struct tp_addr_map live;       /* allocated address -> chunk */
    struct tp_addr_map bins_of;    /* stream + 1 -> bins */
    struct slab chunks, regions, bin_records;
    struct carved carved;
    uint64_t next;     /* bytes of the next region; 0: not decided yet */
    uint64_t pool;     /* bytes of all regions */
    uint64_t in_use;   /* bytes of all chunks that are not free */
    uint64_t idle;     /* bytes of the regions without a chunk in use */
    uint64_t made;     /* regions so far */
    uint64_t retries;  /* as of tp_stats: memory went back and was asked for again */
    uint64_t to_start; /* requests that are still to come of objects that were live at the start */
    struct bfc_chunk *starting; /* the chunk of the next of them; NULL: it has none */
    bool by_address;            /* the order of regions is that of their addresses (bfc_place.h) */
};

/* The state of a chunk fills what would be padding of its node. */
static inline enum bfc_state bfc_state(const struct bfc_chunk *c)
{
    return (enum bfc_state)c->by_size.number;
}

static inline void bfc_set_state(struct bfc_chunk *c, enum bfc_state state)
{
    c->by_size.number = state;
}

static inline struct bfc_region *bfc_region_of(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct bfc_region, in_order, n) : NULL;
}

static inline struct bfc_region *bfc_first_region(const struct bfc *st)
{
    return bfc_region_of(tp_tree_first(st->in_order));
}

static inline struct bfc_region *bfc_next_region(struct bfc_region *r)
{
    return bfc_region_of(tp_tree_next(&r->in_order));
}

static inline struct bfc_chunk *bfc_find_live(const struct bfc *st, tp_addr addr)
{
    return meta_map_at(&st->live, addr);
}

/* Does chunk a have the lower place? */
INLINE bool bfc_is_lower(const struct bfc_chunk *a, const struct bfc_chunk *b)
{
    return (a->order < b->order) | ((a->order == b->order) & (a->addr < b->addr));
}

/* ---- bfc_options.c ---- */

extern const struct tp_opt tp_bfc_rows[];

/* Sets the rules, and what the first region has. TP_EUSAGE. */
int tp_bfc_take_options(struct bfc *st, const struct bfc_opts *opts, struct tp_err *err);

/* ---- bfc_bins.c: free chunks ---- */

void tp_bfc_add(struct bfc *st, struct bfc_chunk *c);
void tp_bfc_remove(struct bfc *st, struct bfc_chunk *c);

/* The free chunks that may serve a stream, from the first of at least `size` bytes on. */
struct bfc_search {
    struct bfc_chunk *own, *any; /* the next one of each; NULL: none is left */
};
struct bfc_search tp_bfc_search(const struct bfc *st, const struct bfc_bins *own, uint64_t size);

/* The next one in the order of choice; NULL: none is left. */
struct bfc_chunk *tp_bfc_found(struct bfc_search *s);

/* The chunk that serves a request of `size` bytes; NULL: none. */
struct bfc_chunk *tp_bfc_fit(const struct bfc *st, const struct bfc_bins *own, uint64_t size,
                             uint64_t align);

/* Bytes before the next multiple of an alignment in a chunk. */
uint64_t tp_bfc_padding(const struct bfc_chunk *c, uint64_t align);

/* The largest free chunk of a stream's bins; 0: there is none. */
uint64_t tp_bfc_largest(const struct bfc_bins *bins);

/* The bins of a stream; NULL: out of memory. */
struct bfc_bins *tp_bfc_bins_of(struct bfc *st, uint16_t stream);

/* ---- bfc_regions.c: memory from the source and back ---- */

/* Gets a region for a request. The caller has reserved the records. */
int tp_bfc_extend(struct bfc *st, uint64_t rounded, uint64_t align);

/* Gets a range of the source. *align: what is needed at least; then what the address is a multiple
 * of. */
int tp_bfc_get_range(struct bfc *st, uint64_t size, uint64_t *align, tp_addr *base);

/* Makes the records of a region, which the caller has reserved. Returns its chunk, in no bin. */
struct bfc_chunk *tp_bfc_enter(struct bfc *st, tp_addr base, uint64_t size, uint64_t align);

/* Bytes of the first region by the rules: all that the limit allows where regions do not grow and
 * there is a limit. */
uint64_t tp_bfc_first_bytes(const struct bfc *st);

/* Bytes that regions may still have. */
uint64_t tp_bfc_left(const struct bfc *st);

/* Gives the regions without a chunk in use back, if that may help a request, and gets one for it:
 * TP_EOOM where it cannot. */
int tp_bfc_collect(struct bfc *st, uint64_t rounded, uint64_t align);

/* Gives unused regions back as the program asked for, while more than `keep` bytes of them are
 * left. */
void tp_bfc_shrink(struct bfc *st, uint64_t keep);

/* Gives an unused region back. False: the source refused. */
bool tp_bfc_put(struct bfc *st, struct bfc_region *r);

/* Gives all back, live chunks too. */
void tp_bfc_put_all(struct bfc *st);

/* ---- bfc_chunks.c: requests ---- */

int tp_bfc_alloc(struct bfc *st, const struct tp_req *rq, struct tp_block *out);
int tp_bfc_free(struct bfc *st, tp_addr addr, const struct tp_req *rq);

/* Makes a chunk free, and one with its free neighbours. */
void tp_bfc_release(struct bfc *st, struct bfc_chunk *c);

/* Splits a chunk that is in no bin: it keeps its first `size` bytes, the rest becomes a chunk
 * behind it, which is returned and is in no bin either. Its record is reserved. */
struct bfc_chunk *tp_bfc_split(struct bfc *st, struct bfc_chunk *c, uint64_t size);

/* Makes a chunk live that was neither free nor kept; `live` has room. */
void tp_bfc_hand_out(struct bfc *st, struct bfc_chunk *c, uint64_t requested, uint64_t align);

/* Makes sure that a request finds records: of a region, two chunks, and an entry of `live`. */
int tp_bfc_reserve(struct bfc *st);

/* Counts a chunk as in use, or no longer. */
void tp_bfc_use(struct bfc *st, struct bfc_chunk *c, enum bfc_state state);
void tp_bfc_unuse(struct bfc *st, struct bfc_chunk *c);

/* ---- bfc_start.c: the heap that a recording began with ---- */

int tp_bfc_start(struct bfc *st, const struct tp_heap *heap);

/* Serves the next request while st->to_start is not 0. */
int tp_bfc_start_one(struct bfc *st, const struct tp_req *rq, struct tp_block *out);

/* ---- bfc_check.c ---- */

int tp_bfc_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_bfc_check(void *state, struct tp_err *err);

#endif
