/* What was mapped at the start, where thousands of events are about the same pages: the reader is
 * compiled into this test, so that its steps are counted. */
#include "tests/unit/counted_steps.h"
#include "tests/unit/test.h"

#include "traces/formats/pytorch/pytorch_growing.c"

enum { PAGES = 1 << 14, EVENTS = 1000 };

struct recording {
    struct tp_pytorch *snapshot;
    struct tp_read_opts opts;
    struct tp_reading reading;
    struct tp_pytorch_blocks out;
    struct tp_err err;
};

static struct recording *begin(void)
{
    struct recording *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->snapshot = calloc(1, sizeof *r->snapshot);
    assert_non_null(r->snapshot);
    r->reading.opts = &r->opts;
    r->snapshot->reading = &r->reading;
    assert_int_equal(tp_input_open(TAPOOL_ROOT "/LICENSE", 0, NULL, &r->reading.in, &r->err),
                     TP_OK);
    tp_spill_init(&r->snapshot->events, sizeof(struct tp_pytorch_event), 1 << 20);
    return r;
}

static void add(struct recording *r, enum tp_pytorch_action action, uint64_t page, uint64_t pages)
{
    const struct tp_pytorch_event ev = {
        .address = page * PAGE, .size = pages * PAGE, .action = (uint8_t)action};
    assert_int_equal(tp_spill_add(&r->snapshot->events, &ev, &r->err), TP_OK);
    r->snapshot->devices[0].count++;
}

static void find(struct recording *r)
{
    steps = 0;
    assert_int_equal(tp_pytorch_growing_at_start(r->snapshot, 0, &r->out, &r->err), TP_OK);
}

static void is_stretch(const struct recording *r, size_t i, uint64_t page, uint64_t pages)
{
    assert_true(i < r->out.count);
    assert_int_equal(r->out.items[i].address / PAGE, page);
    assert_int_equal(r->out.items[i].size / PAGE, pages);
}

static void end(struct recording *r)
{
    tp_pytorch_free_blocks(&r->reading, &r->out);
    tp_spill_release(&r->snapshot->events);
    tp_input_close(r->reading.in);
    free(r->snapshot);
    free(r);
}

/* Each begins one page later than the one before, and all end together. */
TEST(pages_that_were_seen_are_stepped_over)
{
    struct recording *r = begin();
    for (uint64_t i = 0; i < EVENTS; i++)
        add(r, TP_PYTORCH_SEGMENT_UNMAP, 100 + i, PAGES - i);
    find(r);
    assert_int_equal(r->out.count, 1);
    is_stretch(r, 0, 100, PAGES);
    assert_in_range(steps, 1, 4 * PAGES);
    end(r);
}

/* Pages 10 to 19 come with a map first, and so were not there; 30 is between what was seen. */
TEST(only_new_pages_are_kept)
{
    struct recording *r = begin();
    add(r, TP_PYTORCH_SEGMENT_MAP, 10, 10);
    add(r, TP_PYTORCH_SEGMENT_UNMAP, 5, 20);
    add(r, TP_PYTORCH_SEGMENT_UNMAP, 31, 10);
    add(r, TP_PYTORCH_SEGMENT_UNMAP, 10, 31);
    add(r, TP_PYTORCH_SEGMENT_UNMAP, 5, 36);
    find(r);
    assert_int_equal(r->out.count, 2);
    is_stretch(r, 0, 5, 5);
    is_stretch(r, 1, 20, 21);
    end(r);
}
