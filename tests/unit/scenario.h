/* Calls of a strategy, and what becomes of each, as words of a text. After every word the strategy
 * checks itself; at the end what it holds adds up, and the instance is closed.
 *
 *     REPLAYS(free_neighbours_become_one_block, open_torch(""),
 *           "a=5M b=5M -a -b largest=10M 10M@a gets=1")
 *
 *     a=4M        asks for 4 MiB on stream 0, or as thread 0 where there is one stream alone
 *     a=4M/1      on stream 1              a=64^4K     aligned to 4 KiB
 *     a=4M@b+1M   lies 1 MiB behind b      a=4M@!b     lies anywhere but there
 *     a=4M@base   lies before all else     a=2M:3M     has 3 MiB
 *     39M!        is refused, out of memory
 *     -a  -a/1    frees a                  -a:65 -a+1  gives another size or another address
 *     -a!         is refused, invalid
 *     a>1000:1008 resizes a in place       a>9?  a+1>9! cannot be done; is refused
 *     retain:a    takes a reference        release:a!  is refused, invalid
 *     use:a/1     stream 1 works on it     done:1      stream 1 has done all its work
 *     later       so have all streams      ns:10       10 ns go by
 *     sync:1      the program waits for stream 1, or for all
 *     trim  trim:2M  reset
 *     follows=1>0,1>2   since the last look stream 1 had to wait for 0 and 2; none, or any
 *     gets=1      a figure, see figure_of  usable:a=512  kept:a=1 in the cache
 *
 * A block has a letter, and a digit if need be; 1M-512 is a size. */
#ifndef TP_TEST_SCENARIO_H
#define TP_TEST_SCENARIO_H

#include "tests/unit/conformance.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define REPLAYS(name, opened, words)                                                               \
    TEST(name)                                                                                     \
    {                                                                                              \
        replay(opened, words);                                                                     \
    }

struct scenario {
    struct rig *r;
    const char *step, *at; /* the word, and what of it was not read yet */
    struct scenario_block {
        tp_addr addr;
        uint64_t size, align;
    } blocks[26 * 11];
};

static inline void expect_step(const struct scenario *s, uint64_t got, uint64_t expected)
{
    if (got != expected)
        fail_msg("%" PRIu64 " is not %" PRIu64 ", at: %s", got, expected, s->step);
}

/* Does the rest of the word begin so? It is read then. */
static inline bool says_next(struct scenario *s, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(s->at, text, length) != 0)
        return false;
    s->at += length;
    return true;
}

static inline uint64_t next_number(struct scenario *s)
{
    static const char units[] = "KMG";
    char *end;
    if (!isdigit((unsigned char)*s->at))
        fail_msg("no number at: %s", s->at);
    uint64_t value = strtoull(s->at, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    s->at = end + (unit != NULL);
    return unit ? value << 10 * (unit - units + 1) : value;
}

/* What is added to `value` and taken from it. */
static inline uint64_t next_sum(struct scenario *s, uint64_t value)
{
    while (*s->at == '+' || *s->at == '-')
        value += *s->at++ == '+' ? next_number(s) : 0 - next_number(s);
    return value;
}

static inline uint64_t next_size(struct scenario *s)
{
    return next_sum(s, next_number(s));
}

static inline bool is_block(const char *at)
{
    return islower((unsigned char)*at) && !islower((unsigned char)at[1]);
}

static inline struct scenario_block *next_block(struct scenario *s)
{
    if (!is_block(s->at))
        fail_msg("no block at: %s", s->at);
    int letter = *s->at++ - 'a';
    int digit = isdigit((unsigned char)*s->at) ? *s->at++ - '0' : 10;
    return &s->blocks[letter * 11 + digit];
}

/* Where the call is made: its stream, or its thread. */
static inline void *next_caller(struct scenario *s, struct tp_req *rq)
{
    uint64_t number = says_next(s, "/") ? next_number(s) : 0;
    if (s->r->env.streams < 2)
        return s->r->threads[number];
    rq->stream = (uint16_t)number;
    return s->r->threads[0];
}

static inline void step_alloc(struct scenario *s, struct scenario_block *block)
{
    struct tp_req rq = {.size = next_size(s), .align = 1};
    struct tp_block b = {0};
    if (says_next(s, "^"))
        rq.align = next_number(s);
    void *thread = next_caller(s, &rq);
    int rc = s->r->s->alloc(s->r->st, thread, &rq, &b);
    expect_step(s, (uint64_t)rc, says_next(s, "!") ? TP_EOOM : TP_OK);
    expect_step(s, b.addr == 0, rc != TP_OK);
    if (rc)
        return;
    expect_step(s, b.allocated >= rq.size || s->r->s->usable(s->r->st, b.addr) >= rq.size, true);
    expect_step(s, b.addr % rq.align, 0);
    if (says_next(s, "@!"))
        expect_step(s, b.addr == next_block(s)->addr, false);
    else if (says_next(s, "@base"))
        expect_step(s, b.addr, next_sum(s, rig_walk(s->r).lowest));
    else if (says_next(s, "@"))
        expect_step(s, b.addr, next_sum(s, next_block(s)->addr));
    if (says_next(s, ":"))
        expect_step(s, b.allocated, next_size(s));
    if (block)
        *block = (struct scenario_block){b.addr, rq.size, rq.align};
}

static inline void step_free(struct scenario *s)
{
    const struct scenario_block *block = next_block(s);
    struct tp_req rq = {.size = block->size, .align = block->align};
    tp_addr addr = next_sum(s, block->addr);
    if (says_next(s, ":"))
        rq.size = next_size(s);
    void *thread = next_caller(s, &rq);
    int rc = s->r->s->free(s->r->st, thread, addr, &rq);
    expect_step(s, (uint64_t)rc, says_next(s, "!") ? TP_EINVAL : TP_OK);
}

static inline void step_resize(struct scenario *s, struct scenario_block *block, tp_addr addr)
{
    struct tp_req rq = {.size = next_size(s), .align = block->align};
    struct tp_block b = {0};
    if (says_next(s, "^"))
        rq.align = next_number(s);
    int rc = s->r->s->resize(s->r->st, s->r->threads[0], addr, &rq, &b), expected = TP_OK;
    if (says_next(s, "!"))
        expected = TP_EINVAL;
    else if (says_next(s, "?"))
        expected = TP_EUNSUP;
    expect_step(s, (uint64_t)rc, (uint64_t)expected);
    if (rc)
        return;
    expect_step(s, b.addr, block->addr);
    if (says_next(s, ":"))
        expect_step(s, b.allocated, next_size(s));
    block->size = rq.size;
}

static inline uint64_t figure_of(struct scenario *s)
{
    const struct tp_account *a = &s->r->account;
    const struct rig_walk w = rig_walk(s->r);
    const struct tp_stats stats = tp_rig_stats(s->r);
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {{"reserved=", tp_account_ranges(a)},
                   {"gets=", a->gets},
                   {"puts=", a->puts},
                   {"waits=", a->waits},
                   {"wait_ns=", a->wait_ns},
                   {"refused_gets=", a->refused_gets},
                   {"refused_puts=", a->refused_puts},
                   {"metadata=", a->metadata},
                   {"live=", w.sums[TP_WALK_LIVE]},
                   {"cached=", w.sums[TP_WALK_CACHED]},
                   {"free=", w.sums[TP_WALK_SPAN]},
                   {"dead=", w.sums[TP_WALK_DEAD]},
                   {"internal=", w.sums[TP_WALK_INTERNAL]},
                   {"live_blocks=", w.pieces[TP_WALK_LIVE]},
                   {"cached_blocks=", w.pieces[TP_WALK_CACHED]},
                   {"spans=", w.pieces[TP_WALK_SPAN]},
                   {"largest=", w.largest_span},
                   {"retries=", stats.retries},
                   {"fallbacks=", stats.fallbacks},
                   {"planned=", a->planned},
                   {"unplanned=", a->unplanned},
                   {"carved=", stats.carved_bytes}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (says_next(s, figures[i].name))
            return figures[i].value;
    fail_msg("no step: %s", s->step);
    return 0;
}

/* Which streams had to wait since the last look, in this order, and for which. */
static inline void step_follows(struct scenario *s)
{
    struct follows *f = tp_rig_follows(s->r);
    size_t count = 0;
    if (says_next(s, "any"))
        f->count = 0;
    for (bool more = s->at[-1] == '=' && !says_next(s, "none"); more;
         more = says_next(s, ","), count++) {
        expect_step(s, f->count > count, true);
        expect_step(s, f->pairs[count][0], next_number(s));
        expect_step(s, says_next(s, ">"), true);
        expect_step(s, f->pairs[count][1], next_number(s));
    }
    expect_step(s, f->count, count);
    f->count = 0;
}

static inline void find_cached(void *block, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct scenario_block *b = block;
    if (kind == TP_WALK_CACHED && addr == b->addr)
        b->size += size;
}

static inline uint64_t figure_of_block(struct scenario *s, bool usable)
{
    struct scenario_block cached = {.addr = next_block(s)->addr};
    expect_step(s, says_next(s, "="), true);
    if (usable)
        return s->r->s->usable(s->r->st, cached.addr);
    expect_step(s, (uint64_t)s->r->s->walk(s->r->st, find_cached, &cached), TP_OK);
    return cached.size != 0;
}

static inline void step_reference(struct scenario *s, int (*call)(void *, void *, tp_addr))
{
    int rc = call(s->r->st, s->r->threads[0], next_block(s)->addr);
    expect_step(s, (uint64_t)rc, says_next(s, "!") ? TP_EINVAL : TP_OK);
}

/* As the engine does it: the source first. */
static inline void step_sync(struct scenario *s)
{
    uint16_t stream = says_next(s, "all") ? TP_ALL_STREAMS : (uint16_t)next_number(s);
    tp_src_synced(s->r->env.source, stream);
    expect_step(s, (uint64_t)s->r->s->sync(s->r->st, s->r->threads[0], stream), TP_OK);
}

static inline void step_of_words(struct scenario *s)
{
    struct rig *r = s->r;
    struct tp_req rq = {0};
    if (says_next(s, "use:")) {
        const struct scenario_block *block = next_block(s);
        void *thread = next_caller(s, &rq);
        expect_step(s, (uint64_t)r->s->use(r->st, thread, block->addr, rq.stream), TP_OK);
    } else if (says_next(s, "usable:")) {
        uint64_t value = figure_of_block(s, true);
        expect_step(s, value, next_size(s));
    } else if (says_next(s, "kept:")) {
        uint64_t value = figure_of_block(s, false);
        expect_step(s, value, next_size(s));
    } else if (says_next(s, "retain:")) {
        step_reference(s, r->s->retain);
    } else if (says_next(s, "release:")) {
        step_reference(s, r->s->release);
    } else if (says_next(s, "sync:")) {
        step_sync(s);
    } else if (says_next(s, "ns:")) {
        r->now_ns += next_number(s);
    } else if (says_next(s, "follows=")) {
        step_follows(s);
    } else if (says_next(s, "done:")) {
        tp_src_synced(r->env.source, (uint16_t)next_number(s));
    } else if (says_next(s, "later")) {
        r->now_ns += 100000; /* twice as long as a fence takes */
    } else if (says_next(s, "trim")) {
        expect_step(s, (uint64_t)r->s->trim(r->st, says_next(s, ":") ? next_size(s) : 0), TP_OK);
    } else if (says_next(s, "reset")) {
        expect_step(s, (uint64_t)r->s->reset(r->st), TP_OK);
    } else {
        uint64_t value = figure_of(s);
        expect_step(s, value, next_size(s));
    }
}

static inline void step(struct scenario *s)
{
    if (isdigit((unsigned char)*s->at)) {
        step_alloc(s, NULL);
    } else if (says_next(s, "-")) {
        step_free(s);
    } else if (is_block(s->at)) {
        struct scenario_block *block = next_block(s);
        tp_addr addr = next_sum(s, block->addr);
        if (says_next(s, ">")) {
            step_resize(s, block, addr);
        } else {
            expect_step(s, says_next(s, "="), true);
            step_alloc(s, block);
        }
    } else {
        step_of_words(s);
    }
    if (*s->at && *s->at != ' ')
        fail_msg("what is '%s' at: %s", s->at, s->step);
    rig_check(s->r);
}

static inline void replay(struct rig *r, const char *words)
{
    struct scenario s = {.r = r};
    for (s.step = words; *(s.step += strspn(s.step, " ")); s.step = s.at) {
        s.at = s.step;
        step(&s);
    }
    rig_end(r);
}

#endif
