/* The heap that a recording began with: what the builder refuses, what a program keeps of it, and
 * what a child process gets. */
#include "alloc/program/heap_check.h"
#include "alloc/program/program_internal.h"
#include "tests/unit/test.h"

#include <unistd.h>

enum { BASE = 0x10000 };

/* Two segments of device 0, the second without blocks, and one of device 1. */
static const struct tp_heap_segment segments[] = {
    {.base = BASE, .size = 4096, .blocks = 2, .flags = TP_HEAP_SMALL},
    {.base = BASE + 8192, .size = 4096, .stream = 2},
    {.base = BASE, .size = 2048, .blocks = 1, .device = 1, .stream = 1},
};
static const struct tp_heap_block blocks[] = {
    {.at = BASE + 512, .requested = 500, .bytes = 512},
    {.at = BASE + 1024, .requested = 100, .behind = BASE + 2048},
    {.at = BASE, .requested = 2048},
};

struct case_heap {
    struct tp_heap_segment segments[3];
    struct tp_heap_block blocks[3];
    struct tp_heap heap;
};

static struct case_heap *begin(struct case_heap *c)
{
    memcpy(c->segments, segments, sizeof segments);
    memcpy(c->blocks, blocks, sizeof blocks);
    c->heap = (struct tp_heap){c->segments, c->blocks, 3, 3};
    return c;
}

static void keep_hash(void *ctx, const void *data, size_t size)
{
    uint64_t *sum = ctx;
    for (const uint8_t *at = data; size--; at++)
        *sum = (*sum ^ *at) * UINT64_C(0x100000001b3);
}

static struct tp_builder *with_initial_heap(uint64_t *hash)
{
    const struct tp_builder_cfg cfg = {
        .kind = TP_KIND_DEVICE, .hash = hash ? keep_hash : NULL, .hash_ctx = hash};
    struct tp_builder *b = NULL;
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const struct tp_insn in = {.op = TP_ALLOC,
                                   .slot = i,
                                   .size = blocks[i].requested,
                                   .device = i == 2,
                                   .stream = i == 2};
        assert_int_equal(tp_builder_initial_heap(b, &in, NULL), TP_OK);
    }
    return b;
}

static struct tp_program *finish(struct tp_builder *b)
{
    struct tp_program *p = NULL;
    assert_int_equal(tp_builder_finish(b, &(struct tp_builder_end){0}, &p, NULL), TP_OK);
    return p;
}

static void is_kept(const struct tp_program *p)
{
    const struct tp_heap *h = tp_program_heap(p);
    assert_non_null(h);
    assert_int_equal(h->segment_count, 3);
    assert_int_equal(h->block_count, 3);
    assert_memory_equal(h->segments, segments, sizeof segments);
    assert_memory_equal(h->blocks, blocks, sizeof blocks);
}

TEST(kept_and_exported)
{
    struct case_heap c;
    struct tp_program *q = NULL, *r = NULL;
    int fd = -1;
    struct tp_builder *b = with_initial_heap(NULL);
    assert_int_equal(tp_builder_heap(b, &begin(&c)->heap, NULL), TP_OK);
    struct tp_program *p = finish(b);
    memset(&c, 0xff, sizeof c); /* the program has its own copy */
    is_kept(p);
    assert_int_equal(tp_program_facts(p)->streams, 3); /* that of an idle segment too */
    assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK);
    assert_int_equal(tp_program_import(fd, &q, NULL), TP_OK);
    is_kept(q);
    assert_int_equal(tp_program_export(q, &fd, NULL), TP_OK); /* at second hand */
    assert_int_equal(tp_program_import(fd, &r, NULL), TP_OK);
    is_kept(r);
    tp_program_release(p);
    tp_program_release(q);
    tp_program_release(r);
}

TEST(without_heap)
{
    uint64_t plain = 1, empty = 1, full = 1;
    struct case_heap c;
    struct tp_program *p = finish(with_initial_heap(&plain));
    assert_null(tp_program_heap(p));
    tp_program_release(p);
    struct tp_builder *b = with_initial_heap(&full);
    assert_int_equal(tp_builder_heap(b, &begin(&c)->heap, NULL), TP_OK);
    tp_program_release(finish(b));
    assert_true(plain != full); /* a heap is part of the program's hash */
    tp_builder_new(&(struct tp_builder_cfg){.hash = keep_hash, .hash_ctx = &empty}, &b, NULL);
    assert_int_equal(tp_builder_heap(b, &(struct tp_heap){0}, NULL), TP_OK);
    tp_program_release(finish(b));
    assert_true(empty == 1); /* none is not */
}

/* One number of a sound heap is changed. */
#define AT(member)    offsetof(struct case_heap, member), sizeof(((struct case_heap *)0)->member)
#define SEGMENT(i, m) AT(segments[i].m)
#define BLOCK(i, m)   AT(blocks[i].m)
static const struct {
    size_t offset, size;
    uint64_t value;
    const char *what;
} wrong[] = {
    {SEGMENT(0, size), 0, "a segment is out of range"},
    {SEGMENT(0, size), UINT64_C(1) << 62, "a segment is out of range"},
    {SEGMENT(2, base), UINT64_MAX - 100, "a segment is out of range"},
    {SEGMENT(0, flags), 64, "a segment has unknown flags"},
    {SEGMENT(1, base), BASE + 4095, "its segments do not ascend, or overlap"},
    {SEGMENT(0, device), 1, "its segments do not ascend"},
    {SEGMENT(2, device), 256, "a segment has no such stream"},
    {SEGMENT(1, stream), 65535, "a segment has no such stream"},
    {SEGMENT(0, blocks), 1, "the padding behind a block is outside its room"},
    {SEGMENT(0, blocks), 4, "its segments add up to too much"},
    {SEGMENT(0, blocks), UINT64_MAX, "its segments add up to too much"},
    {SEGMENT(2, blocks), 0, "a block lies in no segment"},
    {AT(heap.block_count), 2, "its segments add up to too much"},
    {AT(heap.segment_count), 2, "a block lies in no segment"},
    {BLOCK(0, at), BASE - 512, "a block lies outside its segment"},
    {BLOCK(1, at), BASE + 512, "a block lies outside its segment, or before another"},
    {BLOCK(1, at), BASE + 4096, "outside its segment"},
    {BLOCK(0, requested), 513, "a block overlaps the next one"},
    {BLOCK(0, requested), 0, "a block overlaps the next one"},
    {BLOCK(1, requested), 3073, "or the end of its segment"},
    {BLOCK(0, bytes), 499, "a block is smaller than its request"},
    {BLOCK(0, bytes), 513, "a block is smaller than its request, or overlaps"},
    {BLOCK(1, behind), BASE + 1024 + 99, "the padding behind a block is outside its room"},
    {BLOCK(1, behind), BASE + 4096, "the padding behind a block is outside its room"},
    {BLOCK(0, requested), 501, "not those that were live at the start"},
};

TEST(refused)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct case_heap c;
        struct tp_err err = {0};
        struct tp_builder *b = with_initial_heap(NULL);
        begin(&c);
        memcpy((char *)&c + wrong[i].offset, &wrong[i].value, wrong[i].size);
        assert_int_equal(tp_builder_heap(b, &c.heap, &err), TP_EINPUT);
        if (!strstr(err.text, wrong[i].what))
            fail_msg("case %zu: '%s'", i, err.text);
        assert_int_equal(tp_builder_heap(b, &begin(&c)->heap, &err), TP_OK); /* nothing changed */
        assert_int_equal(tp_builder_heap(b, &c.heap, &err), TP_EBROKEN);     /* twice */
        tp_program_release(finish(b));
    }
}

TEST(too_late)
{
    struct case_heap c;
    struct tp_builder *b = with_initial_heap(NULL);
    assert_int_equal(tp_builder_add(b, &(struct tp_insn){.op = TP_TRIM}, 1, NULL), TP_OK);
    assert_int_equal(tp_builder_heap(b, &begin(&c)->heap, NULL), TP_EBROKEN);
    tp_builder_free(b);
}

/* A child refuses an exported file whose heap was changed. */
TEST(damaged)
{
    struct case_heap c;
    struct tp_program *p = NULL, *q = NULL;
    struct tp_err err = {0};
    struct tp_builder *b = with_initial_heap(NULL);
    assert_int_equal(tp_builder_heap(b, &begin(&c)->heap, NULL), TP_OK);
    p = finish(b);
    for (int i = 0; i < 2; i++) {
        int fd = -1;
        assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK);
        struct tp_program_footer foot;
        off_t end = lseek(fd, 0, SEEK_END);
        assert_int_equal(pread(fd, &foot, sizeof foot, end - (off_t)sizeof foot), sizeof foot);
        off_t heap =
            (off_t)(foot.data_bytes + sizeof(struct tp_kept_window) + 2 * sizeof(struct tp_demand));
        uint64_t bad = i ? 7 : UINT64_MAX;
        assert_int_equal(pwrite(fd, &bad, sizeof bad, heap + (i ? 16 : 8)), sizeof bad);
        assert_int_equal(tp_program_import(fd, &q, &err), TP_EINPUT);
        assert_non_null(strstr(err.text, i ? "add up to too much" : "out of range"));
    }
    tp_program_release(p);
}

TEST(by_device)
{
    struct case_heap c;
    begin(&c);
    struct tp_heap zero = tp_heap_of(&c.heap, 0), one = tp_heap_of(&c.heap, 1);
    struct tp_heap none = tp_heap_of(&c.heap, 2);
    assert_true(zero.segments == c.segments && zero.segment_count == 2 && zero.block_count == 2);
    assert_true(one.segments == c.segments + 2 && one.segment_count == 1);
    assert_true(one.blocks == c.blocks + 2 && one.block_count == 1);
    assert_true(none.segment_count == 0 && none.block_count == 0);
}
