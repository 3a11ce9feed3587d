/* Heaps as lines of a picture: nothing lies outside or on another stretch, merged pieces keep the
 * length of each kind, and however many rows there are, they have room. */
#include "cmd/charts/heap_lines.h"

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES = 60000, SEEDS = 60 };

static struct {
    struct tp_heap_piece pieces[PIECES];
    struct tp_heap_range ranges[PIECES];
    struct tp_heap_layout layout;
    struct tp_frame frame;
    struct tp_frames *frames;
} heap;

static uint64_t generator;

static uint64_t any(uint64_t below)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (generator >> 33) % below;
}

static void add_piece(bool new_range, uint64_t size, uint32_t kind)
{
    struct tp_heap_layout *l = &heap.layout;
    if (new_range)
        heap.ranges[l->range_count++] = (struct tp_heap_range){.first = l->piece_count};
    struct tp_heap_range *r = &heap.ranges[l->range_count - 1];
    r->number = l->range_count;
    heap.pieces[l->piece_count++] = (struct tp_heap_piece){
        .number = r->number, .offset = r->size, .size = size, .event = 1, .kind = kind};
    r->size += size;
    r->bytes += size;
    r->count++;
    heap.frame.kinds[kind] += size;
    heap.frame.reserved += size;
}

static void begin_heap(void)
{
    memset(&heap.layout, 0, sizeof heap.layout);
    heap.layout.pieces = heap.pieces;
    heap.layout.ranges = heap.ranges;
    heap.frame = (struct tp_frame){.reasons = TP_FRAME_DEMAND, .mark = UINT32_MAX};
}

static void end_heap(void)
{
    unsigned coarseness = 0;
    heap.frames = calloc(1, tp_frames_size(1, 5));
    assert_non_null(heap.frames);
    tp_frames_open(heap.frames, 1, 5);
    tp_frames_add(heap.frames, 0, &heap.frame, &heap.layout, &coarseness);
}

/* A heap of so many ranges, with pieces of a few bytes to 1 << most. */
static void random_heap(uint64_t seed, size_t ranges, unsigned most)
{
    generator = seed;
    begin_heap();
    for (size_t i = 0; i < ranges; i++)
        for (size_t k = 0, count = 1 + any(heap.layout.piece_count < PIECES / 2 ? 40 : 1);
             k < count; k++)
            add_piece(!k, 1 + any(UINT64_C(1) << (1 + any(most))), (uint32_t)any(TP_WALK_COUNT));
    end_heap();
}

/* What was told of a heap. */
struct told {
    uint64_t lengths[TP_WALK_COUNT + 1];
    uint32_t line, end;
    size_t count;
};

static void take(void *ctx, const struct tp_heap_stretch *s)
{
    struct told *t = ctx;
    assert_true(s->begin < s->end && s->end <= TP_HEAP_WIDTH + 5);
    assert_true(s->line < TP_HEAP_LINES && s->line >= t->line);
    if (s->kind < TP_WALK_COUNT) {
        assert_true(s->line > t->line || s->begin >= t->end);
        t->end = s->end;
        t->line = s->line;
    }
    t->lengths[s->kind] += s->end - s->begin;
    t->count++;
}

/* Draws the heap with at most so many stretches and returns what was told. */
static struct told drawn(size_t most)
{
    struct tp_heap_lines h;
    struct told t = {.count = 0};
    assert_int_equal(tp_heap_lines_lay(&h, heap.frames, 0, tp_frames_at(heap.frames, 0, 0), NULL),
                     TP_OK);
    assert_true(h.lines <= TP_HEAP_LINES && h.count >= 1);
    tp_heap_lines_merge(&h, most);
    tp_heap_lines_each(&h, take, &t);
    assert_true(t.count <= most || t.count <= h.count * (TP_WALK_COUNT + 1));
    for (int k = 0; k < TP_WALK_COUNT; k++) {
        double length = (double)heap.frame.kinds[k] / (double)h.scale * TP_HEAP_WIDTH;
        /* each stretch begins and ends at a whole tenth, and leaves a gap behind it */
        double slack = 8.0 * (double)t.count + 2;
        assert_true((double)t.lengths[k] <= length + slack &&
                    (double)t.lengths[k] >= length - slack);
    }
    tp_heap_lines_drop(&h);
    return t;
}

TEST(heaps_have_room)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_heap(seed, 1 + seed * seed % 1500, 1 + (unsigned)seed % 40);
        print_message("seed %u\n", (unsigned)seed);
        size_t fine = drawn(SIZE_MAX).count;
        assert_true(drawn(300).count <= fine);
        free(heap.frames);
    }
}

TEST(a_known_heap_lies_where_it_should)
{
    begin_heap();
    add_piece(true, 4096, TP_WALK_LIVE);
    add_piece(false, 4096, TP_WALK_SPAN);
    add_piece(true, 2048, TP_WALK_CACHED);
    end_heap();
    const struct told t = drawn(SIZE_MAX);
    assert_int_equal(t.lengths[TP_WALK_LIVE], TP_HEAP_WIDTH / 2 - 6);
    assert_int_equal(t.lengths[TP_WALK_SPAN], TP_HEAP_WIDTH / 2 - 6);
    assert_int_equal(t.lengths[TP_WALK_CACHED], TP_HEAP_WIDTH / 4 - 6);
    assert_int_equal(t.lengths[TP_WALK_COUNT], TP_HEAP_WIDTH + TP_HEAP_WIDTH / 4);
    assert_int_equal(t.line, 1);
    free(heap.frames);
}
