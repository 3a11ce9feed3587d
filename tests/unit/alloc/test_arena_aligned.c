/* The search of `arena` for an alignment above a page: the answer of a search through all free
 * spans, in steps that do not grow with them. The page heap is replayed on its own here. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/arena/arena_aligned.c"
#include "alloc/strategies/arena/arena_pages.c"

#include "tests/unit/arena_rig.h"

enum { PAGE = 2048, STEP_LOG2 = 16 };

struct heap {
    struct rig *rig;
    struct arena_pages pages;
};

static void open_heap(struct heap *t, uint64_t range)
{
    t->rig = open_arena("", &tp_source_virtual);
    t->pages = (struct arena_pages){0};
    tp_arena_pages_init(&t->pages, &t->rig->env, range, range, 0);
}

static void close_heap(struct heap *t)
{
    tp_arena_pages_fini(&t->pages);
    rig_end(t->rig);
}

/* The rule: the best few, then one that is surely long enough, then the first of all. */
static const struct arena_span *by_looking_at_all(const struct arena_pages *h, uint64_t pages,
                                                  uint64_t align)
{
    struct arena_span *s = tree_first(&h->free, pages);
    for (unsigned i = 0; s && i <= ARENA_ALIGN_TRIES; i++, s = tree_next(s))
        if (span_skip(s, pages, align) != UINT64_MAX)
            return s;
    struct arena_span *sure = tree_first(&h->free, pages + align / ARENA_PAGE - 1);
    for (unsigned i = 0; s && sure && i <= ARENA_ALIGN_TRIES; i++, sure = tree_next(sure))
        if (span_skip(sure, pages, align) != UINT64_MAX)
            return sure;
    while (s && span_skip(s, pages, align) == UINT64_MAX)
        s = tree_next(s);
    return s;
}

/* Spans of 17 pages at odd places, free and taken in turn: none of them has 17 pages behind an
 * alignment to 32. */
TEST(a_search_in_vain)
{
    enum { SPANS = 4000, SEARCHES = 4000 };
    struct heap t;
    struct arena_span *got, **spans = calloc(SPANS, sizeof *spans);
    open_heap(&t, UINT64_C(1) << 30);
    assert_int_equal(tp_arena_pages_grow(&t.pages, 1, PAGE, false), TP_OK);
    assert_int_equal(pages_take(&t.pages, 1, PAGE, ARENA_SPAN_LARGE, &got), TP_OK);
    for (int i = 0; i < SPANS; i++)
        assert_int_equal(pages_take(&t.pages, 17, PAGE, ARENA_SPAN_LARGE, &spans[i]), TP_OK);
    uint64_t rest = tree_last(&t.pages.free)->pages;
    assert_int_equal(pages_take(&t.pages, rest, PAGE, ARENA_SPAN_LARGE, &got), TP_OK);
    for (int i = 0; i < SPANS; i += 2)
        pages_give(&t.pages, spans[i]);
    steps = 0;
    for (int i = 0; i < SEARCHES; i++) {
        assert_int_equal(pages_take(&t.pages, 17, 1 << STEP_LOG2, ARENA_SPAN_LARGE, &got), TP_EOOM);
        if (i % 2) { /* the trees must follow what happens between two searches */
            assert_int_equal(pages_take(&t.pages, 17, PAGE, ARENA_SPAN_LARGE, &got), TP_OK);
            pages_give(&t.pages, got);
        }
    }
    print_message("%llu steps\n", steps);
    assert_true(steps < 400ull * (SPANS + SEARCHES));
    free(spans);
    close_heap(&t);
}

/* What a trace chooses must not choose the shape of the tree: free spans whose lengths rise, fall,
 * and rise as the numbers of a known generator do. */
TEST(chosen_lengths)
{
    enum { SPANS = 4000 };
    for (int order = 0; order < 3; order++) {
        struct heap t;
        struct arena_span *got, **spans = calloc(SPANS, sizeof *spans);
        open_heap(&t, UINT64_C(1) << 57);
        assert_int_equal(tp_arena_pages_grow(&t.pages, 1, PAGE, false), TP_OK);
        for (int i = 0; i < SPANS; i++) { /* with one page between two of them */
            uint64_t z = (2 + 2 * SPANS + (uint64_t)i) * UINT64_C(0x9E3779B97F4A7C15);
            z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
            const uint64_t orders[] = {1 + (uint64_t)i, SPANS - (uint64_t)i, 1 + (z >> 32)};
            uint64_t pages = orders[order];
            assert_int_equal(pages_take(&t.pages, pages, PAGE, ARENA_SPAN_LARGE, &spans[i]), TP_OK);
            assert_int_equal(pages_take(&t.pages, 1, PAGE, ARENA_SPAN_LARGE, &got), TP_OK);
        }
        steps = 0;
        for (int i = 0; i < SPANS; i++)
            pages_give(&t.pages, spans[i]);
        for (int i = 0; i < SPANS; i++)
            pages_find(&t.pages, 1 + (uint64_t)i, PAGE);
        print_message("order %d: %llu steps\n", order, steps);
        assert_true(steps < 100ull * SPANS);
        const struct arena_span *last = NULL;
        uint32_t count = 0;
        for (struct arena_span *s = tree_first(&t.pages.free, 0); s;
             last = s, s = tree_next(s), count++)
            assert_true(!last || tree_less(last, s));
        assert_int_equal(count, t.pages.free.count);
        free(spans);
        close_heap(&t);
    }
}

/* Small ranges, so that searches are often in vain, and several alignments at once. */
TEST(the_same_answer)
{
    enum { OBJECTS = 400, STEPS = 20000 };
    struct heap t;
    struct arena_span *live[OBJECTS] = {0};
    uint64_t kept = 0;
    open_heap(&t, UINT64_C(4) << 20);
    for (int i = 0; i < STEPS; i++) {
        uint64_t at = tp_rig_random(t.rig) % OBJECTS, pages = 1 + tp_rig_random(t.rig) % 24;
        uint64_t align = (uint64_t)PAGE << tp_rig_random(t.rig) % 8;
        if (live[at]) {
            pages_give(&t.pages, live[at]);
            live[at] = NULL;
            continue;
        }
        const struct arena_span *expected = by_looking_at_all(&t.pages, pages, align);
        assert_ptr_equal(pages_find(&t.pages, pages, align), expected);
        if (pages_take(&t.pages, pages, align, ARENA_SPAN_LARGE, &live[at]) == TP_EOOM) {
            assert_null(expected);
            if (t.pages.range_count < 3)
                assert_int_equal(tp_arena_pages_grow(&t.pages, pages * PAGE, PAGE, false), TP_OK);
        }
        if (t.pages.aligned) {
            const char *broken =
                i % 50 ? NULL : tp_arena_aligned_fault(t.pages.aligned, t.pages.free.count);
            if (broken)
                fail_msg("step %d: %s", i, broken);
            kept |= t.pages.aligned->kept;
        }
    }
    assert_true(__builtin_popcountll(kept) > 1);
    close_heap(&t);
}

/* Every call for memory of the trees fails once: the answer is the same. */
TEST(without_memory_for_trees)
{
    enum { SPANS = 200 };
    for (uint64_t fail = 1; fail < 12; fail++) {
        struct heap t;
        struct arena_span *got, *spans[SPANS];
        open_heap(&t, UINT64_C(1) << 30);
        assert_int_equal(tp_arena_pages_grow(&t.pages, 1, PAGE, false), TP_OK);
        assert_int_equal(pages_take(&t.pages, 1, PAGE, ARENA_SPAN_LARGE, &got), TP_OK);
        for (int i = 0; i < SPANS; i++)
            assert_int_equal(pages_take(&t.pages, 17, PAGE, ARENA_SPAN_LARGE, &spans[i]), TP_OK);
        assert_int_equal(
            pages_take(&t.pages, tree_last(&t.pages.free)->pages, PAGE, ARENA_SPAN_LARGE, &got),
            TP_OK);
        t.rig->meta.fail_at = t.rig->meta.calls + fail;
        for (int i = 0; i < SPANS; i++) {
            pages_give(&t.pages, spans[i]);
            assert_ptr_equal(pages_find(&t.pages, 17, 1 << STEP_LOG2),
                             by_looking_at_all(&t.pages, 17, 1 << STEP_LOG2));
        }
        t.rig->meta.fail_at = 0;
        close_heap(&t);
    }
}
