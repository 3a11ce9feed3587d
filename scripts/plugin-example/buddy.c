/* A buddy allocator as a plug-in of tapool; README.md beside this file says how to build and run
 * it.
 *
 * A range of memory is a tree of blocks, each half as large as the one above it. The byte of a node
 * is 1 + the log2 of the largest free block below it, 0: there is none. A block that is taken is 0
 * and leaves the nodes below it as they are, so that it differs from one whose halves are taken.
 *
 *     19          a range of 256 KiB
 *     18  17      the left half is free; of the right half only 64 KiB are
 *
 * Known weakness: ranges are searched one after the other, and kept until the end. */
#include <tapool/strategy.h>

enum { LEAF = 6 }; /* log2 of the smallest block */

struct range {
    struct range *next;
    tp_addr addr;
    unsigned log2, leaf; /* of the range's bytes, of its smallest block's */
    unsigned char tree[];
};

struct buddy {
    const struct tp_env *env;
    struct range *first; /* the newest: no decision depends on an address */
    unsigned range_log2;
};

static unsigned log2_of(uint64_t size) /* of the smallest block that holds so much */
{
    return size <= 1 << LEAF ? LEAF : 64 - (unsigned)__builtin_clzll(size - 1);
}

static size_t bytes_of(unsigned log2, unsigned leaf) /* of a range's bookkeeping */
{
    return sizeof(struct range) + ((size_t)2 << (log2 - leaf)) - 1;
}

/* The nodes above one of 1 << log2 bytes; two free halves are a free block again. */
static void update(struct range *r, size_t node, unsigned log2)
{
    for (; node; log2++) {
        node = (node - 1) / 2;
        unsigned a = r->tree[2 * node + 1], b = r->tree[2 * node + 2];
        r->tree[node] = (unsigned char)(a == log2 + 1 && a == b ? a + 1 : a > b ? a : b);
    }
}

static tp_addr take(struct range *r, unsigned log2)
{
    size_t node = 0;
    if (log2 < r->leaf || r->tree[0] <= log2)
        return 0;
    for (unsigned level = r->log2; level > log2; level--) /* to the left where there is room */
        node = 2 * node + 1 + (r->tree[2 * node + 1] <= log2);
    r->tree[node] = 0;
    update(r, node, log2);
    return r->addr + ((node + 1 - ((size_t)1 << (r->log2 - log2))) << log2);
}

/* Takes a block from a new range; a large one gets a range of its own, which is a single node. */
static int take_new(struct buddy *b, unsigned wanted, tp_addr *out)
{
    bool usual = wanted <= b->range_log2;
    unsigned log2 = usual ? b->range_log2 : wanted, leaf = usual ? LEAF : wanted;
    struct range *r = tp_meta_get(b->env, bytes_of(log2, leaf));
    if (!r)
        return TP_ENOMEM;
    *r = (struct range){.next = b->first, .log2 = log2, .leaf = leaf};
    int rc = tp_src_get(b->env->source, UINT64_C(1) << log2, UINT64_C(1) << log2, &r->addr);
    for (size_t node = 0; node < bytes_of(log2, leaf) - sizeof *r; node++)
        r->tree[node] = (unsigned char)(node ? r->tree[(node - 1) / 2] - 1 : (int)log2 + 1);
    if (rc)
        tp_meta_put(b->env, r, bytes_of(log2, leaf));
    else
        *out = take(b->first = r, wanted);
    return rc;
}

static int buddy_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct buddy *b = st;
    (void)thr;
    if (!rq->size || !rq->align || rq->align & (rq->align - 1))
        return TP_EINVAL;
    unsigned log2 = log2_of(rq->size > rq->align ? rq->size : rq->align);
    *out = (struct tp_block){.allocated = UINT64_C(1) << log2};
    for (struct range *r = b->first; r && !out->addr; r = r->next)
        out->addr = take(r, log2);
    return out->addr ? TP_OK : take_new(b, log2, &out->addr);
}

static int buddy_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct range *r = ((struct buddy *)st)->first;
    (void)thr;
    while (r && addr - r->addr >= UINT64_C(1) << r->log2)
        r = r->next;
    if (!r)
        return TP_EINVAL;
    unsigned log2 = r->leaf;
    uint64_t offset = addr - r->addr,
             node = (offset >> log2) + (UINT64_C(1) << (r->log2 - log2)) - 1;
    for (; r->tree[node] && node; log2++) /* up to the block that is taken, if there is one */
        node = (node - 1) / 2;
    if (r->tree[node] || offset & ((UINT64_C(1) << log2) - 1) || rq->size > UINT64_C(1) << log2)
        return TP_EINVAL;
    r->tree[node] = (unsigned char)(log2 + 1);
    update(r, node, log2);
    return TP_OK;
}

static int buddy_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    uint64_t range = *(const uint64_t *)opts, page = env->source->page;
    *(struct buddy *)st = (struct buddy){env, NULL, log2_of(range > page ? range : page)};
    (void)err;
    return TP_OK;
}

static void buddy_fini(void *st)
{
    struct buddy *b = st;
    for (struct range *r; (r = b->first);) {
        b->first = r->next;
        if (tp_src_put(b->env->source, r->addr, UINT64_C(1) << r->log2)) /* refused for now */
            tp_src_put(b->env->source, r->addr, UINT64_C(1) << r->log2);
        tp_meta_put(b->env, r, bytes_of(r->log2, r->leaf));
    }
}

static const struct tp_opt rows[] = {
    TP_SIZE_AT("range", 0, .def = "256KiB", .min = 4096, .max = 1 << 30,
               .help = "a usual range, rounded up to a power of two"),
    {.name = NULL}};

static const struct tp_strategy buddy = {.name = "buddy",
                                         .summary = "halves of powers of two",
                                         .caps = TP_CAP_ALIGN,
                                         .state_size = sizeof(struct buddy),
                                         .opts_size = sizeof(uint64_t),
                                         .options = rows,
                                         .init = buddy_init,
                                         .fini = buddy_fini,
                                         .alloc = buddy_alloc,
                                         .free = buddy_free};
TP_PLUGIN(&buddy, "1.0")
