/* A strategy whose every byte can be foretold: a range of the source per block, and what a test
 * asks for besides; and what it takes to replay a program with it. */
#ifndef TP_TEST_RANGES_H
#define TP_TEST_RANGES_H

#include "tests/unit/one_run.h"

enum { PAGE = 4096, BLOCKS = 256, THREAD_BYTES = 2 * PAGE, MOMENT_BYTES = 7 * PAGE };

static struct {
    uint64_t got_in_init; /* bytes, kept */
    uint64_t moment_init; /* bytes, given back in init */
    uint64_t never_above; /* bytes: larger ones are refused without asking the source; 0: none */
    bool moments;         /* an odd size takes MOMENT_BYTES for the time of the call; a thread that
                             allocates holds THREAD_BYTES until it ends */
    bool keeps;           /* freed ranges are cached, and given back when the device is full */
    bool keeps_for_good;  /* ... or never */
    bool reuses;          /* ... and serve a block of their size */
    bool needs_size;      /* starts only on a device whose size is known */
    bool refuses_frees, leaks, lies_in_walk;
    void (*allocated)(const struct tp_req *rq); /* is called for each block; NULL: nothing is */
    uint64_t replays;                           /* instances opened */
    int threads_started, threads_ended;
} how;

struct ranges {
    const struct tp_env *env;
    tp_addr initial;
    struct range {
        tp_addr addr; /* 0: none */
        uint64_t size;
        bool live;
        struct tp_req rq; /* a free must say the same */
    } blocks[BLOCKS];
    uint64_t thread_bytes;
};

struct thread {
    tp_addr own;
    bool started;
};

static int ranges_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    struct ranges *r = st;
    tp_addr moment;
    (void)opts;
    r->env = env;
    how.replays++;
    if (how.needs_size && !tp_src_capacity(env->source))
        return tp_fail(e, TP_EUSAGE, "strategy 'ranges' takes a share of the device");
    if (how.moment_init && !tp_src_get(env->source, how.moment_init, PAGE, &moment))
        tp_src_put(env->source, moment, how.moment_init);
    int status =
        how.got_in_init ? tp_src_get(env->source, how.got_in_init, PAGE, &r->initial) : TP_OK;
    return status ? tp_fail(e, (enum tp_status)status, "strategy 'ranges' cannot start") : TP_OK;
}

static void flush(struct ranges *r)
{
    for (int i = 0; i < BLOCKS; i++)
        if (r->blocks[i].addr && !r->blocks[i].live) {
            tp_src_put(r->env->source, r->blocks[i].addr, r->blocks[i].size);
            r->blocks[i].addr = 0;
        }
}

static void ranges_fini(void *st)
{
    struct ranges *r = st;
    for (int i = 0; i < BLOCKS; i++)
        r->blocks[i].live = false;
    flush(r);
    if (r->initial)
        tp_src_put(r->env->source, r->initial, how.got_in_init);
}

static int ranges_thread_init(void *st, void *thr)
{
    struct thread *t = thr;
    (void)st;
    assert_false(t->started); /* zeroed, also where an index comes again */
    t->started = true;
    how.threads_started++;
    return TP_OK;
}

static void ranges_thread_fini(void *st, void *thr)
{
    struct ranges *r = st;
    struct thread *t = thr;
    how.threads_ended++;
    if (!t->own)
        return;
    tp_src_put(r->env->source, t->own, THREAD_BYTES);
    r->thread_bytes -= THREAD_BYTES;
}

static inline uint64_t pages_of(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static int get_range(struct ranges *r, uint64_t size, tp_addr *out)
{
    int status = tp_src_get(r->env->source, size, r->env->source->page, out);
    if (status != TP_EOOM || !how.keeps || how.keeps_for_good)
        return status;
    flush(r);
    return tp_src_get(r->env->source, size, r->env->source->page, out);
}

/* A range that is kept and has the size, or a new one. */
static int range_for(struct ranges *r, uint64_t size, struct range **out)
{
    struct range *range = r->blocks, *end = r->blocks + BLOCKS;
    while (how.reuses && range < end && !(range->addr && !range->live && range->size == size))
        range++;
    *out = range;
    if (how.reuses && range < end)
        return TP_OK;
    tp_addr addr;
    int status = get_range(r, size, &addr);
    if (status)
        return status;
    for (range = r->blocks; range->addr;)
        assert_true(++range < end);
    *range = (struct range){.addr = addr, .size = size};
    *out = range;
    return TP_OK;
}

static int ranges_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct ranges *r = st;
    struct thread *t = thr;
    struct range *range;
    tp_addr moment;
    if (how.never_above && rq->size > how.never_above)
        return TP_EOOM;
    if (how.moments && !t->own && !tp_src_get(r->env->source, THREAD_BYTES, PAGE, &t->own))
        r->thread_bytes += THREAD_BYTES;
    uint64_t page = r->env->source->page;
    int status = range_for(r, (rq->size + page - 1) / page * page, &range);
    if (status)
        return status;
    range->live = true;
    range->rq = *rq;
    *out = (struct tp_block){range->addr, range->size};
    if (how.moments && rq->size % 2 && !tp_src_get(r->env->source, MOMENT_BYTES, PAGE, &moment))
        tp_src_put(r->env->source, moment, MOMENT_BYTES);
    if (how.allocated)
        how.allocated(rq);
    return TP_OK;
}

static int ranges_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct ranges *r = st;
    struct range *range = r->blocks;
    (void)thr;
    while (range < r->blocks + BLOCKS && !(range->addr == addr && range->live))
        range++;
    if (how.refuses_frees || range == r->blocks + BLOCKS || range->rq.size != rq->size ||
        range->rq.align != rq->align)
        return TP_EINVAL;
    range->live = false;
    if (!how.keeps && !how.leaks)
        tp_src_put(r->env->source, range->addr, range->size);
    if (!how.keeps)
        range->addr = 0;
    return TP_OK;
}

static int ranges_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    struct ranges *r = st;
    for (int i = 0; i < BLOCKS; i++)
        if (r->blocks[i].addr)
            fn(ctx, r->blocks[i].live ? TP_WALK_LIVE : TP_WALK_CACHED, r->blocks[i].addr,
               r->blocks[i].size + (r->blocks[i].live && how.lies_in_walk));
    if (r->initial || r->thread_bytes)
        fn(ctx, TP_WALK_INTERNAL, r->initial, (r->initial ? how.got_in_init : 0) + r->thread_bytes);
    return TP_OK;
}

#define RANGES                                                                                     \
    .name = "ranges", .summary = "a range per block", .resembles = "nothing", .to_use = "a test",  \
    .group = TP_GROUP_STRATEGY, .caps = TP_CAP_ALIGN, .state_size = sizeof(struct ranges),         \
    .thread_size = sizeof(struct thread), .init = ranges_init, .fini = ranges_fini,                \
    .alloc = ranges_alloc, .free = ranges_free, .thread_init = ranges_thread_init,                 \
    .thread_fini = ranges_thread_fini

static const struct tp_strategy ranges = {RANGES, .walk = ranges_walk};
static const struct tp_strategy ranges_unwalked = {RANGES};

/* ---- running ---- */

static int setup(void **state)
{
    (void)state;
    memset(&how, 0, sizeof how);
    return new_run();
}

static inline struct tp_replay_cfg on_virtual(struct tp_program *p)
{
    return run_on(&tp_source_virtual, &ranges, p, TP_PASS_USAGE);
}

/* With so many distinct names; events are 1, 2, ... Lives until the test ends. */
static inline struct tp_program *program_of(const struct tp_insn *before, size_t before_count,
                                            const struct tp_insn *insns, size_t count,
                                            uint32_t marks, bool timed)
{
    return until_the_end(program_of_parts((struct program_parts){.before = before,
                                                                 .before_count = before_count,
                                                                 .insns = insns,
                                                                 .count = count,
                                                                 .marks = marks,
                                                                 .timed = timed}));
}

static inline struct tp_insn realloc_insn(uint32_t slot, uint64_t size, uint32_t gap)
{
    return (struct tp_insn){
        .op = TP_REALLOC, .align_log2 = 4, .slot = slot, .size = size, .gap_ns = gap};
}

static inline struct tp_insn mark_insn(uint32_t mark)
{
    return (struct tp_insn){.op = TP_MARK, .slot = mark};
}

#endif
