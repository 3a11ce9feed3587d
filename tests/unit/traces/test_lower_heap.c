/* The heap that a recording began with, from a trace to the program and through tapool's own
 * formats; what is refused of it, in JSON and in damaged .tpt. */
#include "alloc/program/heap_check.h"
#include "tests/unit/tpt_rig.h"
#include "tests/unit/trace_fixture.h"
#include "traces/lower/unlower.h"
#include "traces/trace_writer.h"

extern const struct tp_trace_writer tp_writer_json, tp_writer_jsonl;

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define HEAD                                                                                       \
    "{\"format\":\"tapool-trace\",\"version\":1,\"meta\":{\"kind\":\"device\"},"                   \
    "\"streams\":[{\"id\":5,\"device\":3},{\"id\":6,\"device\":4},{\"id\":7,\"device\":3}],"
#define SEGMENTS                                                                                   \
    "\"segments\":[{\"stream\":5,\"base\":8192,\"size\":8192,\"small\":true},"                     \
    "{\"stream\":7,\"base\":\"4611686018427379712\",\"size\":4096,\"pool\":2,\"pool_2\":9},"       \
    "{\"stream\":6,\"base\":512,\"size\":2048,\"expandable\":true}],"
#define FIRST  "{\"op\":\"initial\",\"id\":1,\"size\":700,\"stream\":5,\"at\":8192,\"behind\":9216}"
#define SECOND "{\"op\":\"initial\",\"id\":2,\"size\":100,\"stream\":5,\"at\":12288,\"bytes\":512}"
#define THIRD  "{\"op\":\"initial\",\"id\":3,\"size\":2048,\"stream\":6,\"at\":512}"
#define REST   "{\"op\":\"free\",\"id\":1},{\"op\":\"alloc\",\"id\":4,\"size\":9}]}"

static const char sound[] = HEAD SEGMENTS "\"events\":[" FIRST "," SECOND "," THIRD "," REST;

static void is_sound(const struct tp_program *p)
{
    const struct tp_heap *h = tp_program_heap(p);
    static const struct tp_heap_segment segments[] = {
        {.base = 8192, .size = 8192, .blocks = 2, .flags = TP_HEAP_SMALL},
        {.base = UINT64_C(4611686018427379712), .size = 4096, .pool = {2, 9}, .stream = 2},
        {.base = 512,
         .size = 2048,
         .blocks = 1,
         .flags = TP_HEAP_EXPANDABLE,
         .device = 1,
         .stream = 1},
    };
    static const struct tp_heap_block blocks[] = {
        {.at = 8192, .requested = 700, .behind = 9216},
        {.at = 12288, .requested = 100, .bytes = 512},
        {.at = 512, .requested = 2048},
    };
    assert_non_null(h);
    assert_int_equal(h->segment_count, COUNT(segments));
    assert_int_equal(h->block_count, COUNT(blocks));
    assert_memory_equal(h->segments, segments, sizeof segments);
    assert_memory_equal(h->blocks, blocks, sizeof blocks);
}

static struct reading read_sound(void)
{
    struct reading r = read_text(&tp_format_json, sound, true);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    return r;
}

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

TEST(from_json)
{
    struct reading r = read_sound();
    is_sound(r.program);
    forget(&r);
}

static void through_json(const struct tp_trace_writer *writer, const struct tp_format *format)
{
    struct reading r = read_sound(), again;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct tp_writing w = {.program = r.program, .path = "x", .meta = &r.meta, .stop = never};
    assert_int_equal(writer->write(&w, out, NULL), TP_OK);
    fclose(out);
    again = read_bytes(format, text, size, true);
    if (again.rc != TP_OK)
        fail_msg("%s\nin: %s", again.err.text, text);
    is_sound(again.program);
    assert_memory_equal(tp_program_facts(r.program), tp_program_facts(again.program),
                        sizeof(struct tp_program_facts));
    forget(&again);
    forget(&r);
    free(text);
}

TEST(there_and_back)
{
    through_json(&tp_writer_json, &tp_format_json);
    through_json(&tp_writer_jsonl, &tp_format_jsonl);
    struct reading r = read_sound();
    struct tp_program *q = NULL;
    struct tp_err err = {0};
    struct tpt_bytes b = tpt_write(r.program, NULL, false);
    if (tpt_open(b.data, b.size, NULL, &q, &err))
        fail_msg("%s", err.text);
    is_sound(q);
    tpt_same(r.program, q);
    struct tpt_bytes c = tpt_write(q, NULL, false); /* and once more, byte by byte */
    assert_int_equal(b.size, c.size);
    assert_memory_equal(b.data, c.data, b.size);
    free(b.data);
    free(c.data);
    tp_program_release(q);
    forget(&r);
}

/* A piece that begins later has no heap; leaving out what was live leaves out the heap. */
TEST(pieces)
{
    struct reading r = read_sound();
    for (int i = 0; i < 4; i++) {
        struct tp_lower *lo =
            open_lower((struct tp_lower_cfg){.path = "m", .strict = true, .drop_initial = i == 3});
        const struct tp_unlower_cfg piece = {.first = i < 3 ? (uint64_t)i : 0};
        assert_int_equal(tp_relower(r.program, &piece, lo, NULL), TP_OK);
        struct tp_program *p = close_lower(lo);
        if (i < 2)
            is_sound(p);
        else
            assert_null(tp_program_heap(p));
        tp_program_release(p);
    }
    forget(&r);
}

/* ---- refused ---- */

static const struct {
    const char *text, *sentence;
} refused[] = {
    {HEAD "\"events\":[" FIRST "," REST, "objects have an address, and there are no segments"},
    {HEAD SEGMENTS "\"events\":[" FIRST "," SECOND
                   ",{\"op\":\"initial\",\"id\":3,\"size\":2048,\"stream\":6}," REST,
     "has no address"},
    {HEAD SEGMENTS "\"events\":[" SECOND "," FIRST "," THIRD "," REST,
     "the heap at the start is wrong: a block lies outside its segment, or before another"},
    {HEAD SEGMENTS "\"events\":[" FIRST "," SECOND
                   ",{\"op\":\"initial\",\"id\":3,\"size\":1,\"stream\":6,\"at\":2560}," REST,
     "the heap at the start is wrong: a block lies in no segment"},
    {HEAD SEGMENTS "\"events\":[" FIRST "," SECOND
                   ",{\"op\":\"initial\",\"id\":3,\"size\":1,\"stream\":5,\"at\":512}," REST,
     "not those that were live at the start"},
    {HEAD "\"segments\":[],\"events\":[]}", "'segments' is empty: leave it out"},
    {HEAD "\"segments\":[7],\"events\":[]}", "'segments' is not an object"},
    {HEAD "\"segments\":[{\"base\":1}],\"events\":[]}", "without 'base' or 'size'"},
    {HEAD "\"segments\":[{\"base\":1,\"size\":1,\"stream\":99}],\"events\":[]}",
     "a segment's stream 99 is not declared"},
    {HEAD "\"segments\":[{\"base\":1,\"size\":-1,\"stream\":5}],\"events\":[]}", "'size' is -1"},
    {HEAD "\"segments\":[{\"base\":\"18446744073709551615\",\"size\":2,\"stream\":5}],"
          "\"events\":[{\"op\":\"trim\"}]}",
     "a segment is out of range"},
    {HEAD "\"segments\":[{\"base\":1,\"size\":1,\"size\":1,\"stream\":5}],\"events\":[]}",
     "'size' twice"},
};

TEST(refusals)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct reading r = read_text(&tp_format_json, refused[i].text, true);
        if (r.rc != TP_EINPUT || !strstr(r.err.text, refused[i].sentence))
            fail_msg("%zu: expected: %s\n  got %d: %s", i, refused[i].sentence, r.rc,
                     r.rc ? r.err.text : "no error");
        forget(&r);
    }
}

/* Imported captures are replayed without a heap that contradicts itself, and the reader is told
 * why.
 */
TEST(repaired)
{
    struct tp_err err = {0};
    const struct tp_heap_segment s = {.base = 4096, .size = 512};
    const struct tp_event ev = {
        .op = TP_EV_INITIAL, .id = 1, .size = 600, .has_at = true, .at = 4096};
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "m", .strict = true});
    char why[TP_ERR_TEXT];
    assert_int_equal(tp_lower_stream(lo, 0, 0, NULL), TP_OK);
    assert_int_equal(tp_lower_segment(lo, 0, &s, NULL), TP_OK);
    assert_int_equal(tp_lower_event(lo, &ev, NULL), TP_OK);
    assert_int_equal(tp_lower_begin(lo, why, &err), TP_OK);
    assert_non_null(strstr(why, "a block overlaps the next one, or the end of its segment"));
    assert_int_equal(tp_lower_segment(lo, 0, &s, &err), TP_EINPUT); /* too late */
    assert_int_equal(tp_lower_event(lo, &ev, &err), TP_EINPUT);
    struct tp_program *p = close_lower(lo);
    assert_null(tp_program_heap(p));
    assert_int_equal(tp_program_facts(p)->initial_heap, 1);
    tp_program_release(p);
}

/* ---- damaged .tpt ---- */

static size_t find_heap(const struct tpt_bytes *b)
{
    size_t offsets[64];
    size_t count = tpt_blocks(b->data, b->size, offsets, 64);
    for (size_t i = 0; i < count; i++) {
        struct tp_tpt_block block;
        tp_tpt_block_get(b->data + offsets[i], &block);
        if (block.type == TP_TPT_HEAP)
            return offsets[i];
    }
    fail_msg("no HEAP block");
    return 0;
}

/* Every bit of the heap, with good checksums: refused, or another heap that is sound. */
TEST(damaged)
{
    struct reading r = read_sound();
    struct tpt_bytes b = tpt_write(r.program, NULL, false);
    size_t heap = find_heap(&b), refusals_seen = 0;
    struct tp_tpt_block block;
    tp_tpt_block_get(b.data + heap, &block);
    for (size_t bit = 0; bit < 8 * (size_t)block.stored; bit++) {
        uint8_t *at = b.data + heap + TP_TPT_BLOCK_SIZE + bit / 8;
        struct tp_program *p = NULL;
        struct tp_err err = {0};
        *at ^= (uint8_t)(1u << bit % 8);
        tpt_reseal(b.data, b.size);
        int rc = tpt_open(b.data, b.size, NULL, &p, &err);
        if (rc == TP_OK) {
            const struct tp_program_facts *f = tp_program_facts(p);
            assert_null(tp_heap_wrong(tp_program_heap(p), f->streams, f->devices));
        } else {
            assert_int_equal(rc, TP_EINPUT);
            assert_non_null(strstr(err.text, "x.tpt"));
            refusals_seen++;
        }
        tp_program_release(p);
        *at ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refusals_seen > block.stored);
    free(b.data);
    forget(&r);
}

/* Lies of the block's header. */
TEST(wrong_headers)
{
    static const struct {
        size_t at;
        uint32_t value;
        const char *sentence;
    } lies[] = {{4, 0, "it has flags, events or time"},
                {8, 0, "it holds no or too many items"},
                {8, TP_TPT_HEAP_ITEMS + 1, "it holds no or too many items"},
                {8, 7, "the heap reaches over its end"},
                {8, 5, "something follows the heap"},
                {16, 1, "it has flags, events or time"}};
    struct reading r = read_sound();
    struct tpt_bytes b = tpt_write(r.program, NULL, false);
    size_t heap = find_heap(&b);
    for (size_t i = 0; i < COUNT(lies); i++) {
        struct tp_program *p = NULL;
        struct tp_err err = {0};
        uint32_t was = tp_load32(b.data + heap + lies[i].at);
        tp_store32(b.data + heap + lies[i].at, lies[i].value);
        tpt_reseal(b.data, b.size);
        assert_int_equal(tpt_open(b.data, b.size, NULL, &p, &err), TP_EINPUT);
        if (!strstr(err.text, lies[i].sentence))
            fail_msg("%zu: %s", i, err.text);
        tp_store32(b.data + heap + lies[i].at, was);
    }
    free(b.data);
    forget(&r);
}
