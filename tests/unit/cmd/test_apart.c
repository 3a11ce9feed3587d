/* One program made two: nothing is lost, and each moment is the same in both. */
#define RANDOM_DEVICES 1
#include "cmd/pages/apart.h"
#include "tests/unit/random_program.h"
#include "traces/format.h"

enum { EVENTS = RANDOM_INSNS * EVENTS_PER_INSN + 1, PLACES = RANDOM_INSNS };

/* What a program does. */
struct course {
    int64_t change[EVENTS]; /* of live bytes, by event */
    uint64_t time[EVENTS];  /* of the last instruction of an event; 0: there is none */
    uint64_t sizes[RANDOM_SLOTS], now;
    uint64_t ops[TP_OP_COUNT], threads[RANDOM_THREADS];
};

static struct course whole, region, rest;

static int64_t change_of(struct course *c, const struct tp_insn *in)
{
    int64_t change = 0;
    for (int i = 0; in->op == TP_RESET && i < RANDOM_SLOTS; i++) {
        change -= (int64_t)c->sizes[i];
        c->sizes[i] = 0;
    }
    if (in->op == TP_FREE || tp_op_is(in->op, TP_ASKS)) {
        uint64_t size = in->op == TP_FREE ? 0 : in->size;
        change = (int64_t)size - (int64_t)c->sizes[in->slot];
        c->sizes[in->slot] = size;
    }
    return change;
}

static int note_window(void *ctx, const struct tp_window *w, struct tp_err *e)
{
    struct course *c = ctx;
    (void)e;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct tp_insn *in = &w->insns[i];
        uint64_t event = w->initial_heap ? 0 : tp_window_event(w, i);
        c->now += in->gap_ns;
        c->change[event] += change_of(c, in);
        c->time[event] = in->op == TP_IDLE ? c->time[event] : c->now;
        c->ops[in->op]++;
        c->threads[in->thread] += in->op == TP_THREAD_END;
    }
    return TP_OK;
}

static void note_course(struct tp_program *p, struct course *c)
{
    memset(c, 0, sizeof *c);
    assert_int_equal(tp_program_walk(p, note_window, c, &err), TP_OK);
}

static void assert_moments_add_up(void)
{
    int64_t live = 0, parts = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        live += whole.change[i];
        parts += region.change[i] + rest.change[i];
        assert_int_equal(live, parts);
        assert_true(!region.time[i] || region.time[i] == whole.time[i]);
        assert_true(!rest.time[i] || rest.time[i] == whole.time[i]);
    }
}

static void assert_operations_are_kept(void)
{
    uint64_t moved = whole.ops[TP_REALLOC] - region.ops[TP_REALLOC] - rest.ops[TP_REALLOC];
    assert_true(moved > 0 && region.ops[TP_REALLOC] > 0);
    for (unsigned op = 0; op < TP_OP_COUNT; op++) {
        uint64_t more = op == TP_ALLOC || op == TP_FREE ? moved : 0;
        if (tp_op_is(op, TP_IS_NEW | TP_IS_LIVE) && op != TP_REALLOC)
            assert_int_equal(region.ops[op] + rest.ops[op], whole.ops[op] + more);
        else if (tp_op_is_operation(op) && op != TP_REALLOC)
            assert_true(region.ops[op] == whole.ops[op] && rest.ops[op] == whole.ops[op]);
    }
    for (int i = 0; i < RANDOM_THREADS; i++)
        assert_true(whole.threads[i] > 0 && region.threads[i] == whole.threads[i] &&
                    rest.threads[i] == whole.threads[i]);
}

/* A third of the blocks of the initial heap and of all events, most of which are no allocations. */
static size_t some_places(uint64_t places[PLACES], uint64_t initial)
{
    size_t count = 0;
    for (uint64_t i = 1; i < RANDOM_INSNS; i++)
        if (random_below(3) == 0)
            places[count++] = i * EVENTS_PER_INSN;
    for (uint64_t i = 0; i < initial && count < PLACES; i++)
        if (random_below(3) == 0)
            places[count++] = TP_PLACE_INITIAL + i;
    return count;
}

TEST(both_together_do_what_the_whole_does)
{
    static uint64_t places[PLACES];
    for (uint64_t number = 0; number < 6; number++) {
        struct tp_program *p = random_program(number);
        struct tp_apart a;
        const struct tp_program_facts *f = tp_program_facts(p);
        size_t count = some_places(places, f->initial_heap);
        assert_int_equal(tp_apart(p, places, count, 15000, &a, &err), TP_OK);
        note_course(p, &whole);
        note_course(a.region, &region);
        note_course(a.rest, &rest);
        assert_moments_add_up();
        assert_operations_are_kept();
        assert_true(region.time[15000] > 0 && rest.time[15000] > 0);
        const struct tp_program_facts *r = tp_program_facts(a.region),
                                      *o = tp_program_facts(a.rest);
        assert_true(r->objects > 0 && o->objects > 0);
        assert_int_equal(r->initial_heap + o->initial_heap, f->initial_heap);
        assert_true(number % 2 == 0 || (r->initial_heap > 0 && o->initial_heap > 0));
        assert_true(r->time_known && r->events == f->events && o->events == f->events);
        tp_apart_release(&a);
        tp_program_release(p);
    }
}

/* ---- what is where ---- */

struct listed {
    char text[400];
};

static int list_window(void *ctx, const struct tp_window *w, struct tp_err *e)
{
    struct listed *l = ctx;
    (void)e;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct tp_insn *in = &w->insns[i];
        size_t length = strlen(l->text);
        snprintf(l->text + length, sizeof l->text - length, "%s%s %u %u@%u +%u", length ? ", " : "",
                 tp_op_rows[in->op].name, in->slot, (unsigned)in->size,
                 (unsigned)tp_window_event(w, i), in->gap_ns);
    }
    return TP_OK;
}

static void assert_listed(struct tp_program *p, const char *wanted)
{
    struct listed l = {""};
    assert_int_equal(tp_program_walk(p, list_window, &l, &err), TP_OK);
    assert_string_equal(l.text, wanted);
}

/* Makes a program of events 1, 2, ... two. */
#define ASSERT_APART(insns, moment, in_region, in_rest, ...)                                       \
    do {                                                                                           \
        const uint64_t places[] = {__VA_ARGS__};                                                   \
        struct tp_program *p = test_program(insns, COUNT(insns), true);                            \
        struct tp_apart a;                                                                         \
        assert_int_equal(tp_apart(p, places, COUNT(places), moment, &a, &err), TP_OK);             \
        assert_listed(a.region, in_region);                                                        \
        assert_listed(a.rest, in_rest);                                                            \
        tp_apart_release(&a);                                                                      \
        tp_program_release(p);                                                                     \
    } while (0)

#define REALLOC_INSN(s, bytes, gap)                                                                \
    {                                                                                              \
        .op = TP_REALLOC, .align_log2 = 4, .slot = (s), .size = (bytes), .gap_ns = (gap)           \
    }

TEST(a_realloc_of_another_site_takes_the_block_along)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 10, 1),   ALLOC_INSN(1, 20, 1),
                                    REALLOC_INSN(0, 30, 1), REALLOC_INSN(1, 40, 1),
                                    REALLOC_INSN(0, 50, 1), FREE_INSN(0, 50, 1),
                                    FREE_INSN(1, 40, 1)};
    /* slot 0: in, in, out; slot 1: out, in */
    ASSERT_APART(
        insns, 0,
        "alloc 0 10@1 +1, realloc 0 30@3 +2, alloc 1 40@4 +1, free 0 30@5 +1, free 1 40@7 +2",
        "alloc 0 20@2 +2, free 0 20@4 +2, alloc 1 50@5 +1, free 1 50@6 +1", 1, 3, 4);
}

TEST(a_block_with_several_references_stays_where_it_is)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 10, 0),
                                    {.op = TP_RETAIN},
                                    REALLOC_INSN(0, 20, 0),
                                    {.op = TP_RELEASE},
                                    REALLOC_INSN(0, 30, 0)};
    ASSERT_APART(insns, 0, "alloc 0 30@5 +0",
                 "alloc 0 10@1 +0, retain 0 0@2 +0, realloc 0 20@3 +0, release 0 0@4 +0, "
                 "free 0 20@5 +0",
                 3, 5);
}

TEST(the_moment_and_long_pauses_are_in_both)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 10, 5), ALLOC_INSN(1, 20, UINT32_MAX),
                                    ALLOC_INSN(2, 30, 7)};
    ASSERT_APART(insns, 2, "alloc 0 10@1 +5, note 0 0@2 +4294967295, alloc 1 30@3 +7",
                 "idle 0 0@1 +4294967295, alloc 0 20@2 +5", 1, 3);
    ASSERT_APART(insns, 3, "alloc 0 10@1 +5, idle 0 0@1 +4294967295, note 0 0@3 +7",
                 "idle 0 0@1 +4294967295, alloc 0 20@2 +5, alloc 1 30@3 +7", 1);
}
