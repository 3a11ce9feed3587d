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
} how;

struct ranges {
    const struct tp_env *env;
    tp_addr initial;
    struct range {
        tp_addr addr; /* 0: none */
        uint64_t size;
        bool live;
    } blocks[BLOCKS];
    uint64_t thread_bytes;
};

struct thread {
    tp_addr own;
};

static int ranges_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    struct ranges *r = st;
    tp_addr moment;
    (void)opts, (void)e;
    r->env = env;
    if (how.moment_init && !tp_src_get(env->source, how.moment_init, PAGE, &moment))
        tp_src_put(env->source, moment, how.moment_init);
    return how.got_in_init ? tp_src_get(env->source, how.got_in_init, PAGE, &r->initial) : TP_OK;
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
    (void)st, (void)thr;
    return TP_OK;
}

static void ranges_thread_fini(void *st, void *thr)
{
    struct ranges *r = st;
    struct thread *t = thr;
    if (!t->own)
        return;
    tp_src_put(r->env->source, t->own, THREAD_BYTES);
    r->thread_bytes -= THREAD_BYTES;
}

static uint64_t pages_of(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static int get_range(struct ranges *r, uint64_t size, tp_addr *out)
{
    int status = tp_src_get(r->env->source, size, PAGE, out);
    if (status != TP_EOOM || !how.keeps)
        return status;
    flush(r);
    return tp_src_get(r->env->source, size, PAGE, out);
}

static int ranges_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct ranges *r = st;
    struct thread *t = thr;
    tp_addr addr, moment;
    if (how.never_above && rq->size > how.never_above)
        return TP_EOOM;
    if (how.moments && !t->own && !tp_src_get(r->env->source, THREAD_BYTES, PAGE, &t->own))
        r->thread_bytes += THREAD_BYTES;
    int i = 0, status = get_range(r, pages_of(rq->size), &addr);
    if (status)
        return status;
    while (r->blocks[i].addr)
        i++;
    r->blocks[i] = (struct range){addr, pages_of(rq->size), true};
    *out = (struct tp_block){addr, pages_of(rq->size)};
    if (how.moments && rq->size % 2 && !tp_src_get(r->env->source, MOMENT_BYTES, PAGE, &moment))
        tp_src_put(r->env->source, moment, MOMENT_BYTES);
    return TP_OK;
}

static int ranges_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct ranges *r = st;
    (void)thr, (void)rq;
    for (int i = 0; i < BLOCKS; i++)
        if (r->blocks[i].addr == addr && r->blocks[i].live) {
            r->blocks[i].live = false;
            if (!how.keeps)
                flush(r);
            return TP_OK;
        }
    return TP_EINVAL;
}

static int ranges_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    struct ranges *r = st;
    for (int i = 0; i < BLOCKS; i++)
        if (r->blocks[i].addr)
            fn(ctx, r->blocks[i].live ? TP_WALK_LIVE : TP_WALK_CACHED, r->blocks[i].addr,
               r->blocks[i].size);
    if (r->initial || r->thread_bytes)
        fn(ctx, TP_WALK_INTERNAL, r->initial, (r->initial ? how.got_in_init : 0) + r->thread_bytes);
    return TP_OK;
}

static const struct tp_strategy ranges = {.name = "ranges",
                                          .summary = "a range per block",
                                          .resembles = "nothing",
                                          .to_use = "a test",
                                          .group = TP_GROUP_POLICY,
                                          .caps = TP_CAP_ALIGN,
                                          .state_size = sizeof(struct ranges),
                                          .thread_size = sizeof(struct thread),
                                          .init = ranges_init,
                                          .fini = ranges_fini,
                                          .alloc = ranges_alloc,
                                          .free = ranges_free,
                                          .thread_init = ranges_thread_init,
                                          .thread_fini = ranges_thread_fini,
                                          .walk = ranges_walk};

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

static inline void limit_to(struct tp_replay_cfg *cfg, struct limit_options *limit)
{
    assert_int_equal(tp_source_limit.opts_size, sizeof *limit);
    cfg->layers[cfg->layer_count++] = (struct tp_source_layer){&tp_source_limit, limit};
}

/* With so many distinct names; events are 1, 2, ... */
static inline struct tp_program *program_of(const struct tp_insn *before, size_t before_count,
                                            const struct tp_insn *insns, size_t count,
                                            uint32_t marks, bool timed)
{
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    int status = tp_builder_new(&(struct tp_builder_cfg){0}, &b, &err);
    for (uint32_t i = 0, index; !status && i < marks; i++) {
        char name[24];
        snprintf(name, sizeof name, "phase %u", i);
        status = tp_builder_mark(b, name, &index, &err);
    }
    for (size_t i = 0; !status && i < before_count; i++)
        status = tp_builder_prologue(b, &before[i], &err);
    for (size_t i = 0; !status && i < count; i++)
        status = tp_builder_add(b, &insns[i], i + 1, &err);
    if (!status)
        status = tp_builder_finish(b, &(struct tp_builder_end){.time_known = timed}, &p, &err);
    if (status)
        fail_msg("test program: %s", err.text);
    return p;
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
