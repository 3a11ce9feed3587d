/* What the tests of a strategy have in common that counts its steps where there are thousands of
 * blocks and streams. The strategy is compiled into the test, behind
 * counted_steps.h. */
#ifndef TP_TEST_MANY_RIG_H
#define TP_TEST_MANY_RIG_H

#include "tests/unit/counted_steps.h"

#include "tests/unit/conformance.h"

enum { MANY = 8000 };

/* Without `check`, which looks at everything. */
static inline tp_addr take(struct rig *r, unsigned stream, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 16, .stream = (uint16_t)stream};
    struct tp_block b = {0};
    int rc = r->s->alloc(r->st, r->threads[0], &rq, &b);
    assert_true(rc == TP_OK || rc == TP_EOOM);
    return b.addr;
}

static inline void give(struct rig *r, unsigned stream, tp_addr addr, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 16, .stream = (uint16_t)stream};
    assert_int_equal(r->s->free(r->st, r->threads[0], addr, &rq), TP_OK);
}

static inline void use_on(struct rig *r, unsigned stream, tp_addr addr)
{
    assert_int_equal(r->s->use(r->st, r->threads[0], addr, (uint16_t)stream), TP_OK);
}

static inline void catch_up(struct rig *r, uint16_t stream)
{
    tp_src_synced(r->env.source, stream);
    assert_int_equal(r->s->sync(r->st, r->threads[0], stream), TP_OK);
}

static inline void is_linear(const char *what)
{
    print_message("%s: %llu steps\n", what, steps);
    assert_true(steps < 400ull * MANY);
    steps = 0;
}

/* ---- two instances replay the same; one of them looks at everything one by one ---- */

enum { TWIN_LIVE = 300 };

struct twins {
    struct rig *quick, *plain;
    void (*make_plain)(void *st); /* it forgets what would help it */
    struct {
        tp_addr at;
        uint64_t size;
    } live[TWIN_LIVE];
};

static inline void both_catch_up(struct twins *t, uint16_t stream)
{
    catch_up(t->quick, stream);
    catch_up(t->plain, stream);
}

static inline void both_reset(struct twins *t)
{
    assert_int_equal(t->quick->s->reset(t->quick->st), TP_OK);
    assert_int_equal(t->plain->s->reset(t->plain->st), TP_OK);
    for (unsigned i = 0; i < TWIN_LIVE; i++)
        t->live[i].at = 0;
}

static inline void twins_pass_time(struct twins *t, uint64_t ns)
{
    struct rig *a = t->quick, *b = t->plain;
    a->now_ns = b->now_ns = (a->now_ns > b->now_ns ? a->now_ns : b->now_ns) + ns;
}

/* What happens without naming a block; false: nothing did. */
static inline bool twins_meanwhile(struct twins *t, unsigned i, uint64_t what, uint16_t stream,
                                   uint64_t keep)
{
    if (what > 2 || (what == 2 && i % 5))
        return false;
    if (what == 0) {
        both_catch_up(t, stream);
    } else if (what == 1) {
        twins_pass_time(t, 3000);
        both_catch_up(t, i % 7 ? stream : TP_ALL_STREAMS);
        if (i % 401 == 1)
            both_reset(t);
    } else {
        assert_int_equal(t->quick->s->trim(t->quick->st, keep), TP_OK);
        assert_int_equal(t->plain->s->trim(t->plain->st, keep), TP_OK);
    }
    return true;
}

/* Step `i` of a random program. Both must give the same blocks. */
static inline void twins_step(struct twins *t, unsigned i, uint32_t streams)
{
    struct rig *a = t->quick, *b = t->plain;
    uint64_t at = tp_rig_random(a) % TWIN_LIVE, what = tp_rig_random(a) % 16;
    uint16_t stream = (uint16_t)(tp_rig_random(a) % streams);
    uint64_t size = UINT64_C(512) << tp_rig_random(a) % 5;
    t->make_plain(b->st);
    if (twins_meanwhile(t, i, what, stream, size * 40)) {
    } else if (!t->live[at].at) {
        t->live[at].at = take(a, stream, size);
        t->live[at].size = size;
        assert_int_equal(take(b, stream, size), t->live[at].at);
    } else if (what < 6) {
        use_on(a, stream, t->live[at].at);
        use_on(b, stream, t->live[at].at);
    } else {
        give(a, stream, t->live[at].at, t->live[at].size);
        give(b, stream, t->live[at].at, t->live[at].size);
        t->live[at].at = 0;
    }
    if (i % 97 == 0)
        rig_check(a);
    twins_pass_time(t, 20);
}

static inline void twins_are_alike(const struct twins *t)
{
    assert_int_equal(t->quick->account.gets, t->plain->account.gets);
    assert_int_equal(t->quick->account.puts, t->plain->account.puts);
    assert_int_equal(t->quick->account.waits, t->plain->account.waits);
}

#endif
