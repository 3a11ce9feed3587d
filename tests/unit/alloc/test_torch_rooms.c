/* `torch`: where in the segments that grow a request finds room, beside the walk over all unmapped
 * blocks that PyTorch does. What looks is compiled into this test, so that its steps are counted.
 */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/torch/torch_growing.c"
#include "alloc/strategies/torch/torch_room.c"

#include "tests/unit/torch_rig.h"

#define GROWING "conf=expandable_segments:True"
#define UNIT    (20 * MIB)

/* ---- beside a walk ---- */

static bool is_open(const struct torch_block *b)
{
    return b && (b->state == TORCH_FREE || b->state == TORCH_UNMAPPED);
}

static const struct torch_block *walk_from(const struct torch_segment *s, uint64_t size)
{
    for (const struct torch_block *b = s->first; b; b = b->behind) {
        const struct torch_block *first = is_open(b->before) ? b->before : b;
        uint64_t bytes = 0;
        for (const struct torch_block *at = first; is_open(at); at = at->behind)
            bytes += at->size;
        if (b->state == TORCH_UNMAPPED && bytes >= size)
            return first;
    }
    return NULL;
}

static const struct torch_block *walk(const struct torch *st, const struct torch_pool *pool,
                                      uint16_t stream, uint64_t size)
{
    const struct torch_block *found = NULL;
    for (const struct tp_link *l = st->segments.behind; l != &st->segments && !found;
         l = l->behind) {
        const struct torch_segment *s = TP_LINKED(struct torch_segment, in_all, l);
        if (s->unit && s->pool == pool && s->stream == stream)
            found = walk_from(s, size);
    }
    return found;
}

enum { OBJECTS = 60, STREAMS_HERE = 3 };

struct object {
    tp_addr addr;
    uint64_t size;
    uint16_t stream;
};

/* Sizes about units, so that whole ones are often free. */
static uint64_t some_size(struct rig *r)
{
    uint64_t x = tp_rig_random(r);
    return x % 4 ? (1 + (x >> 8) % 8) * UNIT / 2 : 1 + (x >> 8) % (3 * UNIT);
}

static void toggle(struct rig *r, struct object *o)
{
    if (o->addr) {
        put(r, o->stream, o->addr, o->size);
        o->addr = 0;
        return;
    }
    o->size = some_size(r);
    o->stream = (uint16_t)(tp_rig_random(r) % STREAMS_HERE);
    o->addr = get(r, o->stream, o->size);
}

TEST(the_room_is_where_a_walk_finds_it)
{
    uint64_t found = 0, holes = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rig *r = open_limited(GROWING, "capacity=4GiB");
        struct torch *st = r->st;
        struct object objects[OBJECTS] = {{0}};
        r->random = seed;
        for (unsigned step = 0; step < 600; step++) {
            toggle(r, &objects[tp_rig_random(r) % OBJECTS]);
            if (tp_rig_random(r) % 16 == 0)
                trim(r);
            for (unsigned i = 0; i < 4; i++) {
                uint16_t stream = (uint16_t)(tp_rig_random(r) % STREAMS_HERE);
                uint64_t size = some_size(r);
                const struct torch_block *b = walk(st, &st->large, stream, size);
                assert_ptr_equal(tp_torch_room_find(&st->large, stream, size), b);
                found += b != NULL;
                holes += b && b->behind && b->behind->behind;
            }
        }
        rig_end(r);
    }
    print_message("%llu found, %llu not at the end of a segment\n", (unsigned long long)found,
                  (unsigned long long)holes);
    assert_true(holes > found / 10);
}

/* ---- many holes ---- */

enum { MANY = 2000, TREE = 2 * 11 * 3 / 2 }; /* TREE: down in a tree of so many, and up again */

/* Blocks of a unit each; every second one is not mapped. */
static tp_addr *make_holes(struct rig *r)
{
    tp_addr *addr = calloc(MANY, sizeof *addr);
    assert_non_null(addr);
    struct tp_req rq = {.size = UNIT, .align = 1};
    for (unsigned i = 0; i < MANY; i++) {
        struct tp_block b = {0};
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
        addr[i] = b.addr;
    }
    for (unsigned i = 0; i < MANY; i += 2)
        assert_int_equal(r->s->free(r->st, r->threads[0], addr[i], &rq), TP_OK);
    trim(r);
    return addr;
}

/* All that is behind the holes is looked for at once. */
TEST_OPENED(holes_that_are_too_small_are_passed_at_once, open_torch(GROWING))
{
    const struct tp_req rq = {.size = 2 * UNIT, .align = 1};
    tp_addr *addr = make_holes(r);
    steps = 0;
    for (unsigned i = 0; i < MANY; i++) {
        struct tp_block b = {0};
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
        assert_int_equal(b.addr, addr[0] + (MANY + 2 * i) * UNIT);
    }
    print_message("%llu steps for each of %u requests\n", steps / MANY, (unsigned)MANY);
    assert_in_range(steps, MANY, 8 * TREE * MANY);
    free(addr);
}

/* Free blocks between the holes make all of them one, which a live one in the middle cuts. */
TEST_OPENED(what_is_open_is_known_as_it_changes, open_torch(GROWING))
{
    struct torch *st = r->st;
    const struct tp_req rq = {.size = UNIT, .align = 1};
    tp_addr *addr = make_holes(r);
    steps = 0;
    for (unsigned i = 1; i < MANY; i += 2) /* the last one borders on what was never mapped */
        assert_int_equal(r->s->free(r->st, r->threads[0], addr[i], &rq), TP_OK);
    assert_in_range(steps, 1, 4 * TREE * MANY);
    steps = 0;
    for (unsigned i = 1; i < MANY; i += 2) { /* of equal ones the lowest serves, and cuts there */
        struct tp_block b = {0};
        const struct torch_block *room = tp_torch_room_find(&st->large, 0, 3 * UNIT);
        assert_int_equal(room->addr, i == 1 ? addr[0] : addr[i] - UNIT);
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
        assert_int_equal(b.addr, addr[i]);
    }
    assert_in_range(steps, 1, 4 * TREE * MANY);
    free(addr);
}
