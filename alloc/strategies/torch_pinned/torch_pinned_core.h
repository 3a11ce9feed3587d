/* The state of the strategy `torch-pinned`: blocks, free lists, and the queue of events.
 *
 *     size   asked 20.4 GiB --> 32 GiB            class = log2, rounded up
 *     class   0 | 1 | ... | 35 | ...              free blocks by age: the newest that is large
 *             tree  tree      tree                enough serves, as from a stack
 *     queue  oldest -> event -> event -> newest   one for each stream that used a freed block;
 *                                                 they pass in this order, or not at all
 *
 * A class holds blocks of one size, unless requests above a threshold are not rounded. PyTorch then
 * looks through its stack; here each subtree knows its largest block. */
#ifndef TP_TORCH_PINNED_CORE_H
#define TP_TORCH_PINNED_CORE_H

#include "alloc/base/links.h"
#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"
#include "alloc/strategies/common/stream_uses.h"
#include "alloc/strategies/torch_pinned/torch_pinned_rules.h"

#define PINNED_MOST     (UINT64_C(1) << 48) /* bytes of the largest request */
#define PINNED_GRAIN    UINT64_C(4096) /* bytes; blocks of the reserved segment begin at these */
#define PINNED_NO_LIMIT UINT64_MAX

enum { PINNED_CLASSES = 64 };

enum pinned_state {
    PINNED_NONE, /* a free record */
    PINNED_LIVE,
    PINNED_PENDING, /* freed; an event has not passed */
    PINNED_FREE,    /* in the free list of its class */
    PINNED_LOST     /* of the reserved segment, and given back: nothing serves from it again */
};

struct pinned_block {
    struct tp_tree_node by_age; /* FREE */
    tp_addr addr;
    uint64_t size;             /* bytes of the block; its class follows */
    uint64_t age;              /* FREE: number of the release, from 1 */
    uint64_t largest;          /* FREE: the largest size of the subtree */
    uint64_t requested, align; /* LIVE: of the request */
    struct stream_use *uses;   /* LIVE: streams that used it */
    uint32_t pending;          /* PENDING: events that have not passed, > 0 */
    uint16_t stream;           /* LIVE: that asked for it */
    uint8_t state;             /* enum pinned_state */
    bool reserved;             /* lies in the reserved segment */
};

struct torch_pinned {
    const struct tp_env *env;
    struct tp_torch_pinned_rules rules;
    bool fenced;         /* several streams, and a source that knows where they are */
    uint64_t page;       /* of the source */
    uint64_t grain;      /* bytes; the alignment that every block has */
    tp_addr segment;     /* the reserved segment; 0: there is none yet */
    uint64_t handed;     /* its bytes that were allocated, from its beginning */
    uint64_t age;        /* releases so far */
    uint64_t free_bytes; /* of free blocks */
    struct tp_tree_node *classes[PINNED_CLASSES];
    struct tp_link queue;    /* events; the oldest first */
    struct tp_addr_map live; /* allocated address -> struct pinned_block * */
    struct slab blocks, uses;
    struct carved carved;
};

static inline struct pinned_block *pinned_by_age(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct pinned_block, by_age, n) : NULL;
}

/* Bytes that a block takes: of a range of its own, or of the reserved segment. */
static inline uint64_t pinned_bytes(const struct torch_pinned *st, const struct pinned_block *b)
{
    return round_up(b->size, b->reserved ? PINNED_GRAIN : st->page);
}

/* Bytes before the allocated address, where more alignment is asked for than blocks have.
 * PyTorch knows no such requests. */
static inline uint64_t pinned_lead(const struct torch_pinned *st, const struct pinned_block *b)
{
    return b->align > st->grain ? round_up(b->addr, b->align) - b->addr : 0;
}

/* Bytes that a live block's user may use: the same wherever the block lies. */
static inline uint64_t pinned_allocated(const struct torch_pinned *st, const struct pinned_block *b)
{
    return b->size - (b->align > st->grain ? b->align - st->grain : 0);
}

static inline unsigned pinned_class(uint64_t size)
{
    return size > 1 ? 64 - (unsigned)__builtin_clzll(size - 1) : 0;
}

/* ---- torch_pinned_lists.c: free blocks and events ---- */

/* The newest free block of a request's class with at least `size` bytes, no longer free; NULL:
 * there is none. */
struct pinned_block *tp_torch_pinned_take(struct torch_pinned *st, uint64_t size);

/* Puts a block that no stream uses into its free list, or gives it back where it is too large for
 * one. */
void tp_torch_pinned_release(struct torch_pinned *st, struct pinned_block *b);

/* Notes that a stream uses a live block. TP_ENOMEM: nothing has changed. */
int tp_torch_pinned_use(struct torch_pinned *st, struct pinned_block *b, uint16_t stream);

/* Frees a live block: at once, or when the streams that used it are past the events that are
 * recorded now. */
void tp_torch_pinned_free(struct torch_pinned *st, struct pinned_block *b);

/* Releases what the oldest events waited for, up to the first that has not passed. */
void tp_torch_pinned_poll(struct torch_pinned *st);

/* Gives free blocks back until at most `keep` bytes are free. */
void tp_torch_pinned_trim(struct torch_pinned *st, uint64_t keep);

/* ---- torch_pinned_check.c: members of the strategy ---- */

int tp_torch_pinned_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_torch_pinned_check(void *state, struct tp_err *err);

#endif
