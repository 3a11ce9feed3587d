/* A strategy that breaks one rule of its contract on demand, and keeps them all otherwise: a range
 * of the source for each block, with a page to spare before and behind it. */
#ifndef TP_TEST_CELLS_H
#define TP_TEST_CELLS_H

#include "alloc/strategy.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

enum { PAGE = 4096, LIVE_MAX = 256 };

enum fault {
    NO_FAULT,
    SAME_BLOCK,    /* alloc: the block of event 10 once more */
    WITHIN,        /* alloc: bytes inside that block */
    ACROSS_START,  /* alloc: the last bytes reach into it */
    ACROSS_END,    /* alloc: the first bytes are its last */
    MISALIGNED,    /* alloc: 8 bytes too far */
    TOO_SMALL,     /* alloc: one byte less than asked for */
    NO_ADDRESS,    /* alloc: address 0 */
    BEYOND_SPACE,  /* alloc: ends behind the last address */
    OUTSIDE,       /* alloc: memory that no source gave */
    BEYOND_RANGE,  /* alloc: one byte more than the range has */
    ACROSS_RANGES, /* alloc: bytes of two ranges that are neighbours; on host only */
    WRITE,         /* alloc: a byte at `offset` of the block of event 10 */
    MIX_UP,        /* alloc: the block of event 10 gets what is in that of event 20 */
    REFUSE_ALLOC,  /* alloc: TP_EINVAL */
    REFUSE_FREE,   /* free: TP_EINVAL */
    FULL_AT_FREE,  /* free: TP_EOOM */
    ACCEPT_TWICE,  /* free: unknown addresses are fine */
    WRITE_AT_FREE, /* free: a byte at `offset` of the block of event 10 */
    WRITE_AT_RESET,
    REFUSE_RESET,
    REFUSE_RETAIN,
    LOSE_BYTE, /* resize and move: the byte at `offset` */
    WALK_MORE,
    WALK_LESS,
    WALK_CACHED, /* one live block is called cached */
    CHECK_FAILS,
    KEEP_RANGE,
    KEEP_META
};

static struct {
    enum fault fault;
    uint64_t at; /* the call of that kind where it happens, from 1, on any device */
    uint64_t offset;
    uint64_t calls;
} plan;

/* Counts the calls that the planned fault could happen at; true at the one where it does. */
static bool happens(enum fault fault)
{
    return plan.fault == fault && ++plan.calls == plan.at;
}

struct cell {
    tp_addr addr; /* 0: free */
    uint64_t allocated;
    tp_addr base; /* the range behind it */
    uint64_t bytes;
    uint32_t references;
};

struct cells {
    const struct tp_env *env;
    struct cell live[LIVE_MAX];
    uint32_t lent; /* retained */
};

static unsigned char outside[4 * PAGE];
static void *kept_meta[8]; /* a leak that is meant is none to a sanitizer */
static unsigned kept_count;

static int cells_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)opts, (void)err;
    ((struct cells *)st)->env = env;
    if (plan.fault == KEEP_META)
        kept_meta[kept_count++ % 8] = tp_meta_get(env, 24);
    return TP_OK;
}

static int put_cell(struct cells *c, struct cell *cell)
{
    cell->addr = 0;
    return plan.fault == KEEP_RANGE ? TP_OK : tp_src_put(c->env->source, cell->base, cell->bytes);
}

static void cells_fini(void *st)
{
    struct cells *c = st;
    for (int i = 0; i < LIVE_MAX; i++)
        if (c->live[i].addr)
            put_cell(c, &c->live[i]);
}

static struct cell *find_cell(struct cells *c, tp_addr addr)
{
    for (int i = 0; i < LIVE_MAX; i++)
        if (c->live[i].addr && c->live[i].addr == addr)
            return &c->live[i];
    return NULL;
}

static struct cell *free_cell(struct cells *c)
{
    for (int i = 0; i < LIVE_MAX; i++)
        if (!c->live[i].addr)
            return &c->live[i];
    fail_msg("more than %d blocks", LIVE_MAX);
    return NULL;
}

/* Of the block that was first, at plan.offset. */
static void write_byte(const struct cell *first)
{
    ((volatile unsigned char *)(uintptr_t)first->addr)[plan.offset] ^= 0x80;
}

static uint64_t round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

static void break_block(const struct cell *first, const struct tp_req *rq, struct tp_block *out)
{
    switch (plan.fault) {
    case SAME_BLOCK:
        out->addr = first->addr;
        break;
    case WITHIN:
        *out = (struct tp_block){first->addr + 64, rq->size};
        break;
    case ACROSS_START:
        *out = (struct tp_block){first->addr - rq->size + 1, rq->size};
        break;
    case ACROSS_END:
        *out = (struct tp_block){first->addr + first->allocated - 1, rq->size};
        break;
    case MISALIGNED:
        *out = (struct tp_block){out->addr + 8, rq->size};
        break;
    case TOO_SMALL:
        out->allocated = rq->size - 1;
        break;
    case NO_ADDRESS:
        out->addr = 0;
        break;
    case BEYOND_SPACE:
        *out = (struct tp_block){~UINT64_C(0) << 12, 2 * PAGE};
        break;
    case OUTSIDE:
        *out = (struct tp_block){((uintptr_t)outside + PAGE - 1) & ~(uintptr_t)(PAGE - 1), PAGE};
        break;
    default:
        break;
    }
}

/* The lower of two ranges of a page that lie side by side, less a few bytes of its own. */
static tp_addr two_neighbours(struct tp_source *source)
{
    tp_addr got[64];
    for (int i = 0; i < 64; i++) {
        assert_int_equal(tp_src_get(source, PAGE, PAGE, &got[i]), TP_OK);
        for (int k = 0; k < i; k++)
            if (got[i] + PAGE == got[k] || got[k] + PAGE == got[i])
                return (got[i] < got[k] ? got[i] : got[k]) + PAGE - 16;
    }
    fail_msg("no two of 64 ranges are neighbours");
    return 0;
}

/* Two pages more than needed, so that what is handed out wrongly can be written. The block lies
 * behind the first of them, or at the alignment. */
static int cells_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct cells *c = st;
    (void)thr;
    if (happens(REFUSE_ALLOC))
        return TP_EINVAL;
    uint64_t skip = rq->align > PAGE ? rq->align : PAGE;
    struct cell *cell = free_cell(c), *first = &c->live[0];
    uint64_t allocated = round_up(rq->size, 16), bytes = round_up(allocated, PAGE) + skip + PAGE;
    tp_addr base;
    int status = tp_src_get(c->env->source, bytes, skip, &base);
    if (status)
        return status;
    *cell = (struct cell){base + skip, allocated, base, bytes, 1};
    *out = (struct tp_block){cell->addr, cell->allocated};
    if (happens(WRITE))
        write_byte(first);
    else if (happens(MIX_UP))
        memcpy((void *)(uintptr_t)first->addr, (void *)(uintptr_t)first[1].addr, first->allocated);
    else if (happens(BEYOND_RANGE))
        out->allocated = base + bytes - out->addr + 1;
    else if (happens(ACROSS_RANGES))
        out->addr = two_neighbours(c->env->source);
    else if (plan.fault >= SAME_BLOCK && plan.fault <= OUTSIDE && happens(plan.fault))
        break_block(first, rq, out);
    return TP_OK;
}

static int cells_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct cells *c = st;
    struct cell *cell = find_cell(c, addr);
    (void)thr, (void)rq;
    if (!cell)
        return plan.fault == ACCEPT_TWICE && ++plan.calls == plan.at ? TP_OK : TP_EINVAL;
    if (happens(REFUSE_FREE))
        return TP_EINVAL;
    if (happens(FULL_AT_FREE))
        return TP_EOOM;
    if (happens(WRITE_AT_FREE))
        write_byte(&c->live[0]);
    return put_cell(c, cell);
}

/* Up to the end of the last page of the range but one. */
static int cells_resize(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    struct cell *cell = find_cell(st, addr);
    (void)thr;
    if (!cell)
        return TP_EINVAL;
    uint64_t allocated = round_up(rq->size, 16);
    if (allocated > cell->base + cell->bytes - PAGE - addr || addr % rq->align)
        return TP_EUNSUP;
    if (happens(LOSE_BYTE))
        write_byte(cell);
    cell->allocated = allocated;
    *out = (struct tp_block){addr, allocated};
    return TP_OK;
}

static int cells_move(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                      struct tp_block *out)
{
    struct cells *c = st;
    struct cell *cell = find_cell(c, addr);
    if (!cell)
        return TP_EINVAL;
    int status = cells_alloc(st, thr, rq, out);
    if (status)
        return status;
    uint64_t kept = cell->allocated < rq->size ? cell->allocated : rq->size;
    if (tp_src_host(c->env->source, out->addr))
        memcpy((void *)(uintptr_t)out->addr, (const void *)(uintptr_t)addr, kept);
    if (happens(LOSE_BYTE))
        write_byte(find_cell(c, out->addr));
    return put_cell(c, cell);
}

static int cells_retain(void *st, void *thr, tp_addr addr)
{
    struct cells *c = st;
    (void)thr;
    if (!find_cell(c, addr) || happens(REFUSE_RETAIN))
        return TP_EINVAL;
    find_cell(c, addr)->references++;
    c->lent++;
    return TP_OK;
}

static int cells_release(void *st, void *thr, tp_addr addr)
{
    struct cells *c = st;
    (void)thr;
    if (!find_cell(c, addr) || find_cell(c, addr)->references < 2)
        return TP_EINVAL;
    find_cell(c, addr)->references--;
    c->lent--;
    return TP_OK;
}

static int cells_reset(void *st)
{
    struct cells *c = st;
    if (happens(REFUSE_RESET))
        return TP_EINVAL;
    cells_fini(st);
    c->lent = 0;
    return TP_OK;
}

static int cells_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    struct cells *c = st;
    for (int i = 0; i < LIVE_MAX; i++) {
        const struct cell *cell = &c->live[i];
        if (!cell->addr || (i == 0 && plan.fault == WALK_LESS))
            continue;
        bool cached = i == 0 && plan.fault == WALK_CACHED;
        uint64_t more = plan.fault == WALK_MORE && i == 1;
        fn(ctx, cached ? TP_WALK_CACHED : TP_WALK_LIVE, cell->addr, cell->allocated + more);
        if (cell->addr > cell->base)
            fn(ctx, TP_WALK_INTERNAL, cell->base, cell->addr - cell->base);
        if (cell->base + cell->bytes > cell->addr + cell->allocated)
            fn(ctx, TP_WALK_INTERNAL, cell->addr + cell->allocated,
               cell->base + cell->bytes - (cell->addr + cell->allocated));
    }
    return TP_OK;
}

static int cells_check(void *st, struct tp_err *err)
{
    (void)st;
    return plan.fault == CHECK_FAILS ? tp_fail(err, TP_EBROKEN, "the cells are crooked") : TP_OK;
}

#define CELLS                                                                                      \
    .name = "cells", .summary = "a range per block", .resembles = "nothing", .to_use = "a test",   \
    .group = TP_GROUP_STRATEGY, .state_size = sizeof(struct cells), .init = cells_init,            \
    .fini = cells_fini, .alloc = cells_alloc, .free = cells_free, .walk = cells_walk,              \
    .check = cells_check

static const struct tp_strategy copying = {CELLS, .caps = TP_CAP_ALIGN};
static const struct tp_strategy resizing = {CELLS, .caps = TP_CAP_ALIGN, .resize = cells_resize};
static const struct tp_strategy moving = {CELLS, .caps = TP_CAP_ALIGN, .move = cells_move};
static const struct tp_strategy full = {CELLS,
                                        .caps = TP_CAP_ALIGN | TP_CAP_RETAINS,
                                        .resize = cells_resize,
                                        .move = cells_move,
                                        .retain = cells_retain,
                                        .release = cells_release,
                                        .reset = cells_reset};

static bool cells_trust(void *st)
{
    (void)st;
    return false;
}
static const struct tp_strategy trusting = {CELLS, .caps = TP_CAP_ALIGN, .detects = cells_trust};

#endif
