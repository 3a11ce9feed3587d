/* The ranges of `bump` and its bits about the blocks in them.
 *
 *     range   | A | B |gap|   C   |     D     |          free: the next block goes here           |
 *     starts  | 1 | 1 | 1 | 1     | 1         |
 *     freed   |     1 | 1 |       | 1         |      B and D were freed; a gap was born freed
 *
 * Each unit of 16 bytes (8 with an alignment of 8) has two bits, stored outside the memory: "a
 * block begins here" and "it was freed". A block ends where the next one begins. A leaf holds the
 * bits of 64 KiB (32 KiB with units of 8 bytes) and is made when the first block begins there, so
 * that a block of 80 GiB costs one leaf. A table finds the leaf of an address; the leaves of a
 * range are also linked in order. A reset clears the leaves and keeps them. */
#ifndef TP_BUMP_RANGES_H
#define TP_BUMP_RANGES_H

#include "alloc/strategies/common/held.h"

#define BUMP_WORDS     64u
#define BUMP_MAX_BYTES (UINT64_C(1) << 60)

struct bump_range;

struct bump_leaf {
    tp_addr base;           /* address of the leaf's first unit */
    struct bump_leaf *next; /* next leaf of the range, by address */
    struct bump_range *range;
    uint64_t starts[BUMP_WORDS], freed[BUMP_WORDS];
};

struct bump_range {
    struct bump_range *next; /* next range, in the order in which they were got */
    tp_addr base;
    uint64_t size, align; /* bytes; `align` is what the source was asked for */
    uint64_t used;        /* bytes in use from the start; current only after bump_sync */
    uint64_t high;        /* highest `used` so far, which is what was carved */
    struct bump_leaf *leaves;
};

/* The hot members come first. `at`, `limit` and `leaf_end` are addresses in the current range. */
struct bump {
    tp_addr at, limit, leaf_end;
    /* the leaf of `at`, or the last one before it; NULL: the range has no leaf yet */
    struct bump_leaf *leaf;
    uint64_t mask;          /* alignment - 1 */
    uint64_t live;          /* live blocks, without fallbacks */
    uint64_t align;         /* alignment of the current range, bytes */
    struct bump_leaf *seen; /* the leaf of the last free, or NULL */
    uint64_t unit_mask;     /* unit - 1 */
    uint8_t unit_log2, leaf_log2;
    bool auto_reset;
    /* every range was seen to hold a block, and none was got or emptied since then */
    bool all_used;
    tp_addr last; /* the newest block, which can grow in place; 0: none */
    struct bump_range *current, *oldest, *newest;
    const struct tp_env *env;
    struct tp_addr_map leaves;      /* base >> leaf_log2, plus 1 -> struct bump_leaf * */
    struct tp_addr_map fallbacks;   /* table of struct held: requests that the source served */
    uint64_t next_size, fixed_size; /* bytes; fixed_size 0: automatic */
    struct carved carved;
    uint64_t fallback_count; /* number of requests that the source served */
    uint32_t on_full;
};

static inline uint64_t leaf_key(const struct bump *st, tp_addr addr)
{
    return (addr >> st->leaf_log2) + 1;
}

static inline unsigned leaf_bit(const struct bump *st, tp_addr addr)
{
    return (unsigned)(addr >> st->unit_log2) & (BUMP_WORDS * 64 - 1);
}

/* The leaf of any address, or NULL. */
static inline struct bump_leaf *leaf_find(const struct bump *st, tp_addr addr)
{
    return meta_map_at(&st->leaves, leaf_key(st, addr));
}

static inline bool bit_get(const uint64_t *words, unsigned bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static inline void bit_set(uint64_t *words, unsigned bit)
{
    words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* The first set bit at or after `bit`, or BUMP_WORDS * 64. */
static inline unsigned bit_next(const uint64_t *words, unsigned bit)
{
    for (unsigned w = bit / 64; w < BUMP_WORDS; w++) {
        uint64_t word = words[w];
        if (w == bit / 64)
            word &= UINT64_MAX << (bit % 64);
        if (word)
            return w * 64 + (unsigned)__builtin_ctzll(word);
    }
    return BUMP_WORDS * 64;
}

/* The leaf of an address in the current range that does not lie before the current leaf. Makes a
 * missing leaf; NULL when memory is exhausted. */
static inline struct bump_leaf *leaf_make(struct bump *st, tp_addr addr)
{
    tp_addr base = addr >> st->leaf_log2 << st->leaf_log2;
    struct bump_leaf **at = st->leaf ? &st->leaf->next : &st->current->leaves;
    if (st->leaf && st->leaf->base == base)
        return st->leaf;
    while (*at && (*at)->base < base)
        at = &(*at)->next;
    if (*at && (*at)->base == base)
        return *at;
    struct bump_leaf *leaf = tp_meta_get(st->env, sizeof *leaf);
    if (!leaf)
        return NULL;
    if (tp_addr_map_insert(&st->leaves, leaf_key(st, addr), (uintptr_t)leaf)) {
        tp_meta_put(st->env, leaf, sizeof *leaf);
        return NULL;
    }
    *leaf = (struct bump_leaf){.base = base, .range = st->current, .next = *at};
    *at = leaf;
    return leaf;
}

/* Brings `used` and `high` of the current range up to date with the hot members. */
static inline void bump_sync(struct bump *st)
{
    struct bump_range *r = st->current;
    if (!r)
        return;
    r->used = st->at - r->base;
    if (r->used > r->high) {
        carved_add(&st->carved, r->used - r->high);
        r->high = r->used;
    }
}

/* Makes an empty range the current one. */
static inline void bump_enter(struct bump *st, struct bump_range *r)
{
    bump_sync(st);
    st->current = r;
    st->at = st->leaf_end = r ? r->base : 0;
    st->limit = r ? r->base + r->size : 0;
    st->align = r ? r->align : 0;
    st->leaf = NULL;
    st->last = 0;
}

/* Gets another range of at least `bytes` and appends it. Does not make it the current one. */
int tp_bump_get_range(struct bump *st, uint64_t bytes, uint64_t align);

void tp_bump_forget(struct bump *st, struct bump_range *r);

/* Gives back ranges without a live block, until at most `keep` bytes of such ranges are left. The
 * current range is kept unless it is the first one: then no range has a block, and any may become
 * the current one. True: the source took at least one range. A program whose requests keep failing
 * while memory is full searches its ranges only once. */
bool tp_bump_give_back(struct bump *st, uint64_t keep);

/* Clears the bits of all used units. Every range is empty then, and the first is the current one.
 * Requires that no block of the current range begins after the newest one. */
void tp_bump_rewind_ranges(struct bump *st);

/* Does the same as tp_bump_rewind_ranges, but fast where all blocks began in the first word of the
 * first leaf, as when objects come and go one by one. */
static inline void bump_rewind(struct bump *st)
{
    struct bump_range *r = st->current;
    struct bump_leaf *leaf = st->leaf;
    if (!r || r != st->oldest || !leaf || leaf != r->leaves || leaf_bit(st, st->last) >= 64) {
        tp_bump_rewind_ranges(st);
        return;
    }
    bump_sync(st);
    r->used = 0;
    st->all_used = false;
    leaf->starts[0] = leaf->freed[0] = 0;
    st->at = r->base;
    st->last = 0;
    st->live = 0;
}

/* Bytes from a block's start to the start of the next block or to the end of the used part. */
uint64_t tp_bump_block_size(struct bump *st, tp_addr addr);

/* Does a live block begin here? */
static inline bool bump_is_live(const struct bump *st, tp_addr addr)
{
    const struct bump_leaf *leaf = leaf_find(st, addr);
    if (!leaf || addr & ((UINT64_C(1) << st->unit_log2) - 1))
        return false;
    return bit_get(leaf->starts, leaf_bit(st, addr)) && !bit_get(leaf->freed, leaf_bit(st, addr));
}

/* The members `walk` and `check` of the strategy, in bump_check.c. */
int tp_bump_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_bump_check(void *state, struct tp_err *err);

#endif
