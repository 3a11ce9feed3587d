/* What the caching strategies `lru` and `stream-pool` share. Every block is a range of the source
 * of its own: live, cached for requests of its key, or refused by the source when it went back.
 *
 *     addresses   address -> block
 *     bins        key -> shelf (stream 0) -> shelf (stream 3)        blocks of a key and stream
 *                           ready: oldest .. newest                  those that are cached
 *     refused     block -> block
 *
 * A key is a size and an alignment. A shelf exists as long as it has blocks, live or cached, and a
 * bin as long as it has shelves. Which cached block serves a request, and which one goes back, is
 * the rules of the strategy, whose state, blocks and shelves begin with the structs below.
 * Blocks are visited in the order of their records, never by address. */
#ifndef TP_CACHE_H
#define TP_CACHE_H

#include "alloc/base/links.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

#define CACHE_ALIGN_SHIFT 57 /* sizes end at 2^56, so that a key has room for both */

struct cache_block {
    union {
        struct tp_link on_shelf; /* cached: in a list of the shelf */
        struct refused refused;  /* refused: in the list of the cache */
    };
    tp_addr addr;
    uint64_t allocated;        /* bytes; 0: a free record */
    uint64_t size, align;      /* of the request, while live */
    struct cache_shelf *shelf; /* NULL: refused */
    uint64_t refs;             /* > 0: live */
};
static_assert(sizeof(struct cache_block) == 64, "one cache line");

struct cache_shelf {
    uint64_t key;
    struct tp_link ready;              /* cached blocks, the oldest first */
    struct cache_shelf *before, *next; /* neighbours in the same bin */
    uint64_t bin;                      /* number of the bin, from 1 */
    uint32_t blocks;                   /* including one that is about to be added */
    uint16_t stream;
};

struct cache {
    struct tp_addr_map addresses;  /* address -> struct cache_block * */
    uint64_t cached_bytes, cached; /* allocated bytes and number of cached blocks */
    uint64_t max_bytes, max_blocks;
    uint64_t page;
    const struct tp_env *env;
    struct tp_addr_map bins;   /* key -> first struct cache_shelf * */
    struct tp_addr_map beside; /* the others of a bin, by its number and the stream */
    uint64_t bins_made;
    struct refused *refused;
    struct carved carved;
    struct slab blocks, shelves;
};

/* The sizes are those of the strategy's own blocks and shelves. */
void tp_cache_init(struct cache *c, const struct tp_env *env, size_t block, size_t shelf);
void tp_cache_fini(struct cache *c);

/* ---- keys and shelves ---- */

INLINE uint64_t cache_key(uint64_t size, unsigned align_log2)
{
    return size | (uint64_t)align_log2 << CACHE_ALIGN_SHIFT;
}

INLINE uint64_t cache_key_size(uint64_t key)
{
    return key & ((UINT64_C(1) << CACHE_ALIGN_SHIFT) - 1);
}

INLINE uint64_t cache_key_align(uint64_t key)
{
    return UINT64_C(1) << (key >> CACHE_ALIGN_SHIFT);
}

INLINE uint64_t cache_shelf_name(uint64_t bin, uint32_t stream)
{
    return bin << 16 | stream;
}

/* There may be a thousand streams, so a hash table has the shelves of a bin beside the first. */
INLINE struct cache_shelf *cache_in_bin(const struct cache *c, struct cache_shelf *first,
                                        uint16_t stream)
{
    if (!first || first->stream == stream)
        return first;
    return meta_map_at(&c->beside, cache_shelf_name(first->bin, stream));
}

INLINE struct cache_shelf *cache_shelf_find(const struct cache *c, uint64_t key, uint16_t stream)
{
    return cache_in_bin(c, meta_map_at(&c->bins, key), stream);
}

/* The shelf of a key and stream, made if it is missing; NULL: out of memory. A new shelf has no
 * blocks: it must get one or be dropped. */
struct cache_shelf *tp_cache_shelf_make(struct cache *c, uint64_t key, uint16_t stream);

/* Frees a shelf without blocks. */
void tp_cache_shelf_drop(struct cache *c, struct cache_shelf *s);

/* ---- blocks ---- */

INLINE struct cache_block *cache_find(const struct cache *c, tp_addr addr)
{
    return meta_map_at(&c->addresses, addr);
}

INLINE struct cache_block *cache_find_live(const struct cache *c, tp_addr addr)
{
    struct cache_block *b = cache_find(c, addr);
    return LIKELY(b && b->refs) ? b : NULL;
}

static inline struct cache_block *cache_of_refused(const struct refused *r)
{
    return TP_LINKED(struct cache_block, refused, r);
}

/* Bytes of the source's range behind a block. */
static inline uint64_t cache_range(const struct cache *c, uint64_t allocated)
{
    return round_up(allocated, c->page);
}

INLINE bool cache_is_over(const struct cache *c)
{
    return c->cached_bytes > c->max_bytes || c->cached > c->max_blocks;
}

/* Adds a block that is not live any more to a list of its shelf, as the newest. */
INLINE void cache_add(struct cache *c, struct tp_link *list, struct cache_block *b)
{
    tp_link_insert(list, &b->on_shelf);
    c->cached_bytes += b->allocated;
    c->cached++;
}

/* Takes a cached block out of its list. Its shelf still counts it. */
INLINE void cache_take(struct cache *c, struct cache_block *b)
{
    tp_link_out(&b->on_shelf);
    c->cached_bytes -= b->allocated;
    c->cached--;
}

/* The same of the newest block of a list. True: the list is empty now. */
INLINE bool cache_pop(struct cache *c, struct tp_link *list, struct cache_block *b)
{
    struct tp_link *before = b->on_shelf.before;
    before->behind = list;
    list->before = before;
    c->cached_bytes -= b->allocated;
    c->cached--;
    return before == list;
}

INLINE int cache_hand_out(struct cache_block *b, const struct tp_req *rq, struct tp_block *out)
{
    b->refs = 1;
    b->size = rq->size;
    b->align = rq->align;
    *out = (struct tp_block){b->addr, b->allocated};
    return TP_OK;
}

/* Makes sure that cache_enter finds a record and room in the table. TP_ENOMEM. */
static inline int cache_reserve(struct cache *c)
{
    int rc = slab_reserve(&c->blocks);
    return rc ? rc : tp_addr_map_reserve(&c->addresses, c->addresses.count + 1);
}

/* Makes a block of the range at `addr`; its shelf already counts it. */
static inline struct cache_block *cache_enter(struct cache *c, struct cache_shelf *s, tp_addr addr,
                                              uint64_t allocated)
{
    struct cache_block *b = slab_take(&c->blocks);
    assert(b);
    b->addr = addr;
    b->allocated = allocated;
    b->shelf = s;
    tp_addr_map_insert(&c->addresses, addr, (uintptr_t)b);
    carved_add(&c->carved, allocated);
    return b;
}

/* May the caller's range be adopted for this request, of at most `most` bytes? */
bool tp_cache_adopts(const struct cache *c, tp_addr addr, const struct tp_req *rq, uint64_t most);

/* Gives a block that is neither live nor cached back to the source. False: refused. */
bool tp_cache_put(struct cache *c, struct cache_block *b);

/* Sets a block aside that the source refused. It leaves its shelf, which still counts it. */
void tp_cache_set_aside(struct cache *c, struct cache_block *b);

/* ---- members of the strategies ---- */

uint64_t tp_cache_usable(void *state, tp_addr addr);
void tp_cache_stats(void *state, struct tp_stats *out);
int tp_cache_walk(void *state, tp_walk_fn *fn, void *ctx);

/* What tp_cache_check counted. */
struct cache_sums {
    uint64_t blocks, live, cached, refused;
    uint64_t bytes, cached_bytes;
    uint64_t shelves, counted; /* counted: blocks, as their shelves count them */
    uint64_t ready;            /* cached blocks in the lists `ready` */
};

/* NULL, or what is wrong with blocks, bins and counters. */
const char *tp_cache_check(const struct cache *c, struct cache_sums *sums);

/* Are all blocks of a list cached on this shelf? Adds their number to *count. */
bool tp_cache_check_list(const struct tp_link *list, const struct cache_shelf *s, uint64_t *count);

#endif
