/* The verifying pass by several OS threads: silent on what is right, and right about the event
 * where a strategy breaks its contract only beside other threads. */
#define RANDOM_DEVICES 1 /* threads replay one */
#include "tests/unit/cells.h"
#include "tests/unit/random_program.h"

#include <pthread.h>

extern const struct tp_source_ops tp_source_host;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bump, tp_strategy_direct,
    tp_strategy_system;

/* ---- cells under a lock, whose planned fault happens beside other threads alone ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Begins a call; returns the fault to be restored at its end. */
static enum fault begin(const struct cells *c)
{
    pthread_mutex_lock(&lock);
    enum fault fault = plan.fault;
    plan.fault = c->env->concurrent ? fault : NO_FAULT;
    return fault;
}

static int end(enum fault fault, int status)
{
    plan.fault = fault;
    pthread_mutex_unlock(&lock);
    return status;
}

static int shared_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    enum fault fault = begin(st);
    return end(fault, cells_alloc(st, thr, rq, out));
}

static int shared_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    enum fault fault = begin(st);
    return end(fault, cells_free(st, thr, addr, rq));
}

static int shared_move(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                       struct tp_block *out)
{
    enum fault fault = begin(st);
    return end(fault, cells_move(st, thr, addr, rq, out));
}

static int shared_check(void *st, struct tp_err *why)
{
    enum fault fault = begin(st);
    return end(fault, cells_check(st, why));
}

static const struct tp_strategy shared = {.name = "cells",
                                          .summary = "a range per block",
                                          .group = TP_GROUP_STRATEGY,
                                          .caps = TP_CAP_ALIGN | TP_CAP_THREADS,
                                          .state_size = sizeof(struct cells),
                                          .init = cells_init,
                                          .fini = cells_fini,
                                          .alloc = shared_alloc,
                                          .free = shared_free,
                                          .move = shared_move,
                                          .check = shared_check};

static int setup(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    return new_run();
}

static struct tp_replay_cfg by_threads(const struct tp_strategy *s, struct tp_program *p)
{
    struct tp_replay_cfg cfg = run_on(&tp_source_host, s, p, TP_PASS_VERIFY);
    cfg.threads = TP_THREADS_AS_RECORDED;
    cfg.cores = 2;
    return cfg;
}

/* Objects that go from thread to thread put all calls in order. Events: 10, 20, ... */
static struct tp_program *in_turns(void)
{
    struct tp_insn insns[] = {
        ALLOC_INSN(0, 1000, 0), ALLOC_INSN(1, 24, 0),
        FREE_INSN(1, 24, 0), /* from here on by the other thread */
        ALLOC_INSN(2, 640, 0),  {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 1200},
        FREE_INSN(0, 1200, 0)};
    for (size_t i = 2; i < COUNT(insns); i++)
        insns[i].thread = 1;
    return program_of(NULL, 0, insns, COUNT(insns));
}

TEST_WITH(what_breaks_beside_other_threads_is_found, setup, teardown)
{
    static const struct {
        enum fault fault;
        uint64_t at; /* the call */
        const char *what;
    } rows[] = {
        {SAME_BLOCK, 3, "event 40: strategy 'cells' returned bytes of a live block"},
        {WITHIN, 3, "event 40: strategy 'cells' returned bytes of a live block"},
        {NO_ADDRESS, 3, "event 40: strategy 'cells' returned an address that no block can have"},
        {WRITE, 3, "event 50: strategy 'cells' changed the contents of a block that is live"},
        {LOSE_BYTE, 1, "event 50: strategy 'cells' changed the contents of a block that is live"},
        {REFUSE_FREE, 1, "event 30: strategy 'cells' refused a correct call (wrong argument"},
        {CHECK_FAILS, 0, "event 60: strategy 'cells' finds its own state broken (the cells are"}};
    struct tp_program *p = in_turns();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tp_replay_cfg cfg = by_threads(&shared, p);
        plan.fault = rows[i].fault;
        plan.at = rows[i].at;
        plan.calls = 0;
        memset(run, 0, tp_run_size(RUN_DEVICES));
        int status = tp_replay(&cfg, run, &err);
        if (status != TP_EBROKEN || strncmp(err.text, rows[i].what, strlen(rows[i].what)) != 0)
            fail_msg("expected \"%s\", got %d \"%s\"", rows[i].what, status, err.text);
        assert_false(run->flags & TP_RUN_VERIFIED);
        cfg.threads = 1; /* nothing of it happens there */
        replay(&cfg);
        assert_true(run->flags & TP_RUN_VERIFIED);
    }
    tp_program_release(p);
}

TEST_WITH(what_is_correct_is_verified, setup, teardown)
{
    static const struct tp_strategy *const correct[] = {
        &shared,
        &moving, /* has no TP_CAP_THREADS: under the crew's lock */
        &full,
        &tp_strategy_arena,
        &tp_strategy_bump,
        &tp_strategy_direct,
        &tp_strategy_system};
    for (uint64_t number = 1; number <= 4; number++) {
        struct tp_program *p = random_program(number);
        assert_true(tp_program_facts(p)->threads > 1);
        for (size_t i = 0; i < COUNT(correct); i++) {
            struct tp_replay_cfg cfg = by_threads(correct[i], p);
            if (!tp_strategy_takes_source(correct[i]))
                cfg.layer_count = 0;
            replay(&cfg);
            assert_true(run->flags & TP_RUN_VERIFIED);
        }
        tp_program_release(p);
    }
}
