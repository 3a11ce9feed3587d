/* The state of the strategy `torch`: segments, their blocks, and the free blocks in order.
 *
 *     segment   | live | free | live | free      |      blocks are linked in the order of address
 *     pool      free blocks by (stream, size, place); a second tree has those of which memory may
 *               go back to the source: whole segments, whole units of those that grow
 *
 * A place is (segment, address), and segments are ordered by a number: that of their making, or, in
 * a replay of a recording whose addresses are known, their address. */
#ifndef TP_TORCH_CORE_H
#define TP_TORCH_CORE_H

#include "alloc/base/links.h"
#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"
#include "alloc/strategies/common/stream_uses.h"
#include "alloc/strategies/torch/torch_rules.h"

#define TORCH_GRAIN UINT64_C(512)       /* alignment of every block */
#define TORCH_MOST  (UINT64_C(1) << 50) /* bytes of the largest request */

/* Bytes that are more than a device has: reserved where its size is not known. */
#define TORCH_SPACE (UINT64_C(1) << 42)

struct torch_thread {
    uint64_t pool; /* tp_pool_number: serves its next request; 0: the pool of all others does */
};

struct torch_opts {
    char *conf;
    char *version;
    struct tp_opt_list no_split, use_on_oom; /* "A.B" */
    uint32_t allocator;                      /* index of torch_allocators */
};

enum torch_state {
    TORCH_NONE,
    TORCH_LIVE,
    TORCH_FREE,
    TORCH_PENDING,
    TORCH_UNMAPPED,
    TORCH_STARTING /* kept for an object that was live when the recording began */
};

/* Trees of blocks, all but `placed` by stream, size, and place. */
struct torch_pool {
    struct tp_tree_node *free;     /* free blocks of segments that do not grow */
    struct tp_tree_node *unused;   /* of those: whole segments */
    struct tp_tree_node *grown;    /* free blocks of segments that grow */
    struct tp_tree_node *units;    /* of those: the ones with whole units */
    struct tp_tree_node *placed;   /* with by_address: all free blocks, by address */
    struct tp_tree_node *unmapped; /* by stream and place */
    uint64_t free_bytes;           /* free, and would go back if memory were short */
    uint64_t searches; /* for the age of free blocks; counted while garbage is collected */
    uint64_t number;   /* of a private pool (tp_pool_number); 0: the pool of all others */
    bool by_address;   /* as in struct torch */
    bool small;
    bool whole; /* its blocks are never split (MemPool no_split) */
};

/* The pools of one CUDA graph or the like. */
struct torch_private {
    struct torch_pool small, large;
    struct torch_private *next;
};

struct torch_segment {
    tp_addr base;
    uint64_t size;    /* bytes that blocks share */
    uint64_t bytes;   /* bytes of the source's range */
    uint64_t order;   /* place among segments */
    uint64_t carved;  /* bytes from the base on that were part of a block once, or are mapped */
    uint64_t unit;    /* bytes that are mapped at a time; 0: the segment does not grow */
    uint64_t mapped;  /* bytes, where it grows */
    uint64_t settled; /* the last release for which its stream was waited for */
    struct torch_pool *pool;
    struct torch_block *first;
    struct tp_link in_all;
    struct tp_tree_node in_order; /* with by_address */
    uint16_t stream;
};

/* What the unmapped blocks of a subtree offer (torch_room.c), bytes. */
struct torch_room {
    uint64_t head; /* behind an unmapped block in front of them, if only free blocks are between */
    uint64_t tail; /* at their end: it may go on behind them */
    uint64_t most; /* the largest offer, which ends with them */
    bool whole;    /* the head goes on behind them */
};

struct torch_block {
    tp_addr addr;
    uint64_t size;
    struct torch_segment *segment;
    struct torch_block *before, *behind; /* in the segment */
    struct tp_tree_node by_size;         /* in `free`, `grown`, or `unmapped` */
    struct tp_tree_node by_unused;       /* in `unused` or `units` */
    union {
        struct tp_tree_node by_place; /* in `placed` */
        struct torch_room room;       /* of the unmapped blocks from this one down in their tree */
    };
    struct stream_use *uses;
    uint64_t requested, align; /* of the request that it serves */
    uint64_t searched;         /* the pool's searches when it became free */
    uint32_t pending;          /* fences of other streams that have not passed */
    uint32_t state;            /* enum torch_state */
};

/* Settings that hold from the begin of a phase on. */
struct torch_part {
    const char *phase; /* in the copy of the text */
    uint32_t index;    /* of the phase; UINT32_MAX: not told */
    struct tp_torch_settings settings;
};

/* Numbers of private pools, as options name them. */
struct torch_pools {
    uint64_t *numbers;
    size_t count, room;
};

struct torch {
    const struct tp_env *env;
    struct tp_torch_rules rules;
    struct tp_torch_rules first_rules; /* as a replay begins */
    char *conf;                        /* a copy of the text, cut into parts */
    size_t conf_size;
    struct torch_part *parts;
    size_t part_count, parts_room;
    struct torch_pools whole;  /* whose blocks are never split */
    struct torch_pools spares; /* that serve the default pool's requests on a full device */
    struct torch_pool small, large;
    struct torch_private *privates; /* all */
    struct torch_private *chosen;   /* serves the next requests, where it is not NULL */
    struct tp_link segments;        /* all, in the order of their making */
    struct tp_tree_node *in_order;  /* with by_address: all by their addresses */
    struct tp_addr_map live;        /* allocated address -> block */
    struct tp_addr_map queue_of;    /* stream + 1 -> queue */
    struct tp_addr_map private_of;  /* number of a private pool -> its pools */
    struct fence_queue *queues;
    struct slab blocks, segment_records, queue_records, uses, private_records;
    struct carved carved;
    uint64_t segment_bytes; /* of all segments, as PyTorch counts them: mapped ones */
    uint64_t allowed;       /* bytes that segments may have; UINT64_MAX: no limit */
    uint64_t made;          /* segments so far */
    uint64_t retries;       /* as of tp_stats: PyTorch's num_alloc_retries */
    uint64_t waiting;       /* blocks that wait for fences */
    uint64_t releases;      /* of cached memory, so far */
    uint64_t to_start; /* requests that are still to come of objects that were live at the start */
    struct torch_block *starting; /* the block of the next of them; NULL: it has none */
    bool fenced;
    bool by_address; /* the order of segments is that of their addresses (torch_place.h) */
};

static inline struct torch_block *torch_by_unused(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct torch_block, by_unused, n) : NULL;
}

static inline struct torch_segment *torch_segment_of(struct tp_link *l)
{
    return TP_LINKED(struct torch_segment, in_all, l);
}

/* Bytes before the allocated address, where more than 512 bytes of alignment are asked
 * for. PyTorch knows no such requests. */
static inline uint64_t torch_lead(const struct torch_block *b)
{
    return b->align > TORCH_GRAIN ? round_up(b->addr, b->align) - b->addr : 0;
}

/* Bytes that a live block's user may use: the same wherever the block lies. */
static inline uint64_t torch_allocated(const struct torch_block *b)
{
    return b->size - (b->align > TORCH_GRAIN ? b->align - TORCH_GRAIN : 0);
}

static inline struct torch_pool *torch_pool_of(struct torch *st, bool small)
{
    if (st->chosen)
        return small ? &st->chosen->small : &st->chosen->large;
    return small ? &st->small : &st->large;
}

static inline struct torch_block *torch_find_live(const struct torch *st, tp_addr addr)
{
    return meta_map_at(&st->live, addr);
}

/* Rounds n up to a multiple of any step. */
static inline uint64_t up_to(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

static inline bool torch_collects(const struct torch *st)
{
    return st->rules.memory_fraction > 0 && st->rules.collect_above > 0;
}

/* ---- torch_pool.c: free blocks ---- */

/* Is the free block a whole segment, which goes back as it came? */
static inline bool torch_is_whole(const struct torch_block *b)
{
    return !b->before && !b->behind && !b->segment->unit;
}

void tp_torch_pool_add(struct torch_block *b);
void tp_torch_pool_remove(struct torch_block *b);

/* The free block that serves `size` bytes of a stream; NULL: none. */
struct torch_block *tp_torch_pool_fit(const struct torch *st, struct torch_pool *pool,
                                      uint16_t stream, uint64_t size);

/* The first free block of the stream, or of a later one, with at least `size` bytes. */
struct torch_block *tp_torch_pool_from(const struct torch_pool *pool, uint16_t stream,
                                       uint64_t size);

/* The next free block in order; NULL: none. */
struct torch_block *tp_torch_pool_behind(struct torch_block *b);

/* The first whole segment, that from (stream, size) on, and the last one of a stream; the first
 * block with whole units of a segment that grows. NULL: none. */
struct torch_block *tp_torch_unused_first(const struct torch_pool *pool);
struct torch_block *tp_torch_unused_from(const struct torch_pool *pool, uint16_t stream,
                                         uint64_t size);
struct torch_block *tp_torch_unused_last(const struct torch_pool *pool, uint16_t stream);
struct torch_block *tp_torch_units_first(const struct torch_pool *pool);

/* The next one behind any of these. */
struct torch_block *tp_torch_unused_behind(struct torch_block *b);

/* The last free block that begins at `addr` or before; NULL: none. Only with by_address. */
struct torch_block *tp_torch_placed_before(const struct torch_pool *pool, tp_addr addr);

/* ---- torch_segments.c: memory from the source and back ---- */

/* Gets a segment for `size` bytes, or a block of another pool where the device is full: a free
 * block that is in no pool's trees. The caller has reserved the records. */
int tp_torch_grow(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                  struct torch_block **out);

/* Whether the share of the device that segments may have has room for that many bytes more. */
bool tp_torch_is_allowed(const struct torch *st, uint64_t bytes);

/* Gets a range from the source. */
int tp_torch_get_range(struct torch *st, uint64_t bytes, tp_addr *addr);

/* Makes the records of a segment at `base`, which the caller has reserved. */
struct torch_block *tp_torch_enter(struct torch *st, struct torch_pool *pool, uint16_t stream,
                                   tp_addr base, uint64_t size);

/* Gives whole segments, and whole units of those that grow, back until they have at most `keep`
 * free bytes, after waiting for all fences. */
int tp_torch_release_cached(struct torch *st, uint64_t keep);

/* Free bytes that would go back then, with a keep of 0 bytes. */
uint64_t tp_torch_free_bytes(const struct torch *st);

/* Gives a whole segment back. False: the source refused. */
bool tp_torch_put(struct torch *st, struct torch_block *b);

/* Drops the records of a segment that went back; it has one block. */
void tp_torch_forget(struct torch *st, struct torch_segment *s);

/* Gives all back, live blocks too. */
void tp_torch_put_all(struct torch *st);

/* ---- torch_growing.c: segments that grow ---- */

/* As tp_torch_grow: maps what is missing for `size` bytes. TP_ENOMEM: out of records. */
int tp_torch_expand(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                    struct torch_block **out);

/* Bytes that segments of a pool grow by. */
uint64_t tp_torch_unit(const struct torch *st, const struct torch_pool *pool);

/* Bytes that a new one reserves for at least `least` bytes: an eighth more than the
 * device has, so that low units may go back while high ones come. */
uint64_t tp_torch_space_bytes(const struct torch *st, const struct torch_pool *pool,
                              uint64_t least);

/* Gets such a segment, of which nothing is mapped. *out: its one block. */
int tp_torch_add_space(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                       struct torch_block **out);

/* Makes its records, which the caller has reserved. */
struct torch_block *tp_torch_enter_space(struct torch *st, struct torch_pool *pool, uint16_t stream,
                                         tp_addr base, uint64_t size);

/* Maps the first units of an unmapped block, for up to `size` bytes. *out: the free block that they
 * are part of then. */
int tp_torch_map(struct torch *st, struct torch_block *b, uint64_t size, struct torch_block **out);

/* The unmapped block of a segment that holds `addr`; NULL: something is mapped there. */
struct torch_block *tp_torch_unmapped_at(const struct torch_segment *s, tp_addr addr);

/* Maps these bytes. TP_EINVAL: they are no whole units, or not all unmapped; on any error nothing
 * has changed. *out: the free block that they are part of then. */
int tp_torch_map_at(struct torch *st, const struct torch_segment *s, tp_addr addr, uint64_t size,
                    struct torch_block **out);

/* Behind the last mapped byte of such a segment. */
tp_addr tp_torch_mapped_end(const struct torch_segment *s);

/* Offsets of the whole units in a free block; none: *end <= *begin. */
void tp_torch_whole_units(const struct torch_block *b, uint64_t *begin, uint64_t *end);

/* Unmaps some of these units. */
int tp_torch_unmap_part(struct torch *st, struct torch_block *b, uint64_t begin, uint64_t end);

/* Unmaps the whole units of a free block of such a segment; *bytes: how many. The segment goes when
 * it has none left. What the source refuses stays. */
int tp_torch_unmap(struct torch *st, struct torch_block *b, uint64_t *bytes);

/* Bytes that tp_torch_unmap would unmap; 0 of a block in another segment. */
uint64_t tp_torch_unmappable(const struct torch_block *b);

/* Gives a segment that grows back, with its live blocks; its records stay. False: the source
 * refused, and a second call tries what is left. */
bool tp_torch_put_growing(struct torch *st, struct torch_segment *s);

/* ---- torch_room.c: where requests find room in segments that grow ---- */

/* Keeps the rooms of the tree of unmapped blocks. */
void tp_torch_room_pull(struct tp_tree_node *n);

/* The block, free or unmapped, from which on `size` bytes of a stream are open: that at the first
 * unmapped block for which there is one. NULL: none. */
struct torch_block *tp_torch_room_find(const struct torch_pool *pool, uint16_t stream,
                                       uint64_t size);

/* To be called of both neighbours of a block that was free, or is now. `b` may be NULL, and in any
 * state. */
void tp_torch_room_renew(struct torch_block *b);

/* ---- torch_blocks.c: requests ---- */

int tp_torch_alloc(struct torch *st, const struct tp_req *rq, struct tp_block *out);
int tp_torch_free(struct torch *st, tp_addr addr, const struct tp_req *rq);
int tp_torch_use(struct torch *st, tp_addr addr, uint16_t stream);

/* Makes a block free: merges it with its free neighbours. */
void tp_torch_release(struct torch *st, struct torch_block *b);

/* Makes two neighbours that are in no pool one block, `low`. */
void tp_torch_join(struct torch *st, struct torch_block *low, struct torch_block *high);

/* Adds a block to its pool, as one with the free blocks before and behind it as told. Returns that
 * block. */
struct torch_block *tp_torch_join_free(struct torch *st, struct torch_block *b, bool before,
                                       bool behind);

/* Splits a block that is in no pool: the block keeps its first `size` bytes, the rest becomes a
 * block behind it, which is returned and is in no pool either. Its record is reserved. */
struct torch_block *tp_torch_split(struct torch *st, struct torch_block *b, uint64_t size);

/* Makes a block live; `live` has room. */
void tp_torch_hand_out(struct torch *st, struct torch_block *b, uint64_t requested, uint64_t align);

/* Makes sure that a request finds records: of a segment, two blocks, and an entry of `live`. */
int tp_torch_reserve(struct torch *st);

/* Frees the blocks whose fences have passed. */
void tp_torch_poll(struct torch *st);

/* Waits for all fences, and frees the blocks that waited for them. */
int tp_torch_wait(struct torch *st);

/* ---- torch_start.c: the heap that a recording began with ---- */

int tp_torch_start(struct torch *st, const struct tp_heap *heap);

/* Serves the next request while st->to_start is not 0. */
int tp_torch_start_one(struct torch *st, const struct tp_req *rq, struct tp_block *out);

/* ---- torch_phases.c: settings that change ---- */

/* Reads "A;B@PHASE;C@OTHER": sets A, and keeps the others for their phases. TP_EUSAGE, TP_ENOMEM.
 * To be released in every case. */
int tp_torch_phases_read(struct torch *st, const char *conf, struct tp_err *err);
void tp_torch_phases_release(struct torch *st);

/* The members of the strategy. */
int tp_torch_phases(void *state, const char *const *names, uint32_t count, struct tp_err *err);
void tp_torch_phase(void *state, uint32_t index);

/* ---- torch_check.c ---- */

int tp_torch_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_torch_check(void *state, struct tp_err *err);

#endif
