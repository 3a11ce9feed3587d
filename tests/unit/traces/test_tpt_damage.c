/* .tpt that is not as it was written: cut at every byte, every bit flipped, lies with a good
 * checksum. What is there is replayed and what is not is said, or the file is refused; never is
 * something else replayed. */
#include "tests/unit/tpt_rig.h"

#include "alloc/base/numbers.h"

/* A small file with every type of block, in several windows by way of the initial heap. */
static struct tp_program *small_program(void)
{
    return tpt_program(&(struct tpt_mix){.seed = 3,
                                         .count = 120,
                                         .threads = 2,
                                         .streams = 3,
                                         .devices = 2,
                                         .live = 12,
                                         .initial_heap = 5,
                                         .marks = 4,
                                         .jumps = true,
                                         .resets = true,
                                         .odd = true,
                                         .notes = true});
}

static struct tpt_bytes small_file(struct tp_program *p, bool compress)
{
    struct tp_meta meta = {.name = (char *)(uintptr_t) "small"};
    return tpt_write(p, &(struct tp_writing){.meta = &meta}, compress);
}

/* One block of `count` allocations and frees; the file has several windows. */
static struct tp_program *long_program(void)
{
    return tpt_program(&(struct tpt_mix){.seed = 4,
                                         .count = 150000,
                                         .threads = 1,
                                         .streams = 1,
                                         .devices = 1,
                                         .live = 100,
                                         .marks = 3,
                                         .sizes = 20});
}

static struct tpt_stored *store_small(void **state)
{
    struct tp_program *p = small_program();
    return tpt_store(state, p, small_file(p, false));
}

static struct tpt_stored *store_long(void **state, bool compress)
{
    struct tp_program *p = long_program();
    return tpt_store(state, p, tpt_write(p, NULL, compress));
}

/* ---- cut ---- */

/* What is left must be a beginning of the whole, with its own facts and a remark. */
static void check_cut(struct tp_program *whole, const struct tpt_bytes *b, size_t size)
{
    struct tp_err err = {0};
    struct tp_program *p = NULL;
    struct tp_meta meta = {0};
    char grouped[32];
    int rc = tpt_open(b->data, size, &(struct tpt_asked){.meta = &meta}, &p, &err);
    if (rc) {
        assert_int_equal(rc, TP_EINPUT);
        assert_non_null(strstr(err.text, "cut at byte"));
        tp_meta_release(&meta);
        return;
    }
    const struct tp_program_facts *f = tp_program_facts(p), *g = tp_program_facts(whole);
    assert_non_null(meta.remarks);
    snprintf(grouped, sizeof grouped, "%zu", size);
    assert_non_null(strstr(meta.remarks, "cut at byte"));
    if (size < 1000)
        assert_non_null(strstr(meta.remarks, grouped));
    assert_true(f->instructions <= g->instructions);
    if (f->instructions < g->instructions)
        assert_non_null(strstr(meta.remarks, "events are missing"));
    assert_int_equal(tpt_same_insns(p, whole, f->initial_heap + f->instructions),
                     f->initial_heap + f->instructions);
    assert_int_equal(tpt_pass(p, &err), TP_OK);
    tp_program_release(p);
    tp_meta_release(&meta);
    assert_int_equal(tpt_open(b->data, size, &(struct tpt_asked){.strict = true}, &p, &err),
                     TP_EINPUT);
    assert_non_null(strstr(err.text, "cut at byte"));
}

TEST(test_every_cut)
{
    struct tp_program *p = small_program();
    for (int packed = 0; packed < 2; packed++) {
        struct tpt_bytes b = small_file(p, packed);
        for (size_t size = 1; size < b.size; size++)
            check_cut(p, &b, size);
        free(b.data);
    }
    tp_program_release(p);
}

/* The facts of what is left are those of a program that ended there. */
TEST_WITH(test_cut_between_windows, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_long(state, false);
    struct tp_meta meta = {0};
    char text[200];
    assert_true(s->count >= 6);
    /* NAME DATA DATA DATA FACT END, cut in the third DATA */
    size_t size = s->offsets[s->count - 3] + 1000;
    const struct tpt_asked cfg = {.meta = &meta};
    assert_int_equal(tpt_open(s->b.data, size, &cfg, &s->q, &s->err), TP_OK);
    const struct tp_program_facts *f = tp_program_facts(s->q);
    assert_int_equal(f->instructions, 2 * TP_WINDOW_MAX);
    assert_int_equal(tpt_same_insns(s->p, s->q, f->instructions), f->instructions);
    uint64_t events = tp_program_facts(s->p)->events;
    snprintf(text, sizeof text, "cut at byte %s: the last %s of %s events are missing",
             tp_count(size).s, tp_count(events - 2 * TP_WINDOW_MAX).s, tp_count(events).s);
    assert_string_equal(meta.remarks, text);
    /* written again, it is a whole file of just these windows */
    struct tpt_bytes again = tpt_write(s->q, NULL, false);
    struct tp_program *r = NULL;
    assert_int_equal(tpt_open(again.data, again.size, NULL, &r, &s->err), TP_OK);
    tpt_same(s->q, r);
    tp_program_release(r);
    tp_meta_release(&meta);
    free(again.data);
}

/* A writer that never came to the end could not say how many events there would be. */
TEST_WITH(test_cut_without_totals, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_long(state, false);
    struct tp_meta meta = {0};
    tp_store64(s->b.data + 16, 0);
    tpt_reseal(s->b.data, s->b.size);
    const struct tpt_asked cfg = {.meta = &meta};
    assert_int_equal(tpt_open(s->b.data, s->offsets[s->count - 3], &cfg, &s->q, &s->err), TP_OK);
    assert_non_null(strstr(meta.remarks, "what followed event 131,072 is missing"));
    tp_meta_release(&meta);
}

/* ---- flipped bits ---- */

TEST(test_every_bit)
{
    struct tp_program *p = small_program();
    for (int packed = 0; packed < 2; packed++) {
        struct tpt_bytes b = small_file(p, packed);
        assert_int_equal(tpt_open_and_pass(b.data, b.size, NULL), TP_OK);
        for (size_t bit = 0; bit < 8 * b.size; bit++) {
            struct tp_err err = {0};
            b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (tpt_open_and_pass(b.data, b.size, &err) != TP_EINPUT)
                fail_msg("bit %zu of byte %zu is not noticed", bit % 8, bit / 8);
            assert_true(strncmp(err.text, "x.tpt: ", 7) == 0);
            b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(b.data);
    }
    tp_program_release(p);
}

/* The sentence names the block, its place and both sums. */
TEST_WITH(test_damage_is_named, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_long(state, false);
    char text[200];
    size_t at = s->offsets[s->count - 4];
    s->b.data[at + 5000] ^= 64;
    assert_int_equal(tpt_open_and_pass(s->b.data, s->b.size, &s->err), TP_EINPUT);
    struct tp_tpt_block block;
    tp_tpt_block_get(s->b.data + at, &block);
    snprintf(text, sizeof text,
             "x.tpt: block %zu (byte %zu) is damaged: CRC-32C is 0x%08x, not 0x%08x", s->count - 4,
             at, tp_tpt_block_crc(s->b.data + at, s->b.data + at + TP_TPT_BLOCK_SIZE, block.stored),
             block.crc);
    assert_string_equal(s->err.text, text);
    s->b.data[at + 5000] ^= 64;
    /* the length: the next header is not there, and this block is to blame */
    s->b.data[at + 33] ^= 1;
    assert_int_equal(tpt_open_and_pass(s->b.data, s->b.size, &s->err), TP_EINPUT);
    snprintf(text, sizeof text, "x.tpt: block %zu (byte %zu) is damaged", s->count - 4, at);
    assert_true(strncmp(s->err.text, text, strlen(text)) == 0);
}

/* A length that reaches over the end makes no cut file of one that has its end. */
TEST_WITH(test_length_beyond_the_end, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_long(state, true);
    uint8_t *last = s->b.data + s->offsets[s->count - 3];
    assert_int_equal(tp_load32(last), TP_TPT_DATA);
    assert_true(tp_load32(last + 36) > tp_load32(last + 32) + 2000); /* packed well */
    tp_store32(last + 32, tp_load32(last + 36) - 1);
    assert_int_equal(tpt_open_and_pass(s->b.data, s->b.size, &s->err), TP_EINPUT);
    assert_non_null(strstr(s->err.text, "is damaged"));
}

/* Blocks that are good, each by itself, in another order. */
TEST_WITH(test_blocks_swapped, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_small(state);
    assert_true(s->count > 3);
    uint8_t *copy = malloc(s->b.size);
    assert_non_null(copy);
    size_t first = s->offsets[1] - s->offsets[0], second = s->offsets[2] - s->offsets[1];
    memcpy(copy, s->b.data, s->b.size);
    memcpy(copy + s->offsets[0], s->b.data + s->offsets[1], second);
    memcpy(copy + s->offsets[0] + second, s->b.data + s->offsets[0], first);
    assert_int_equal(tpt_open_and_pass(copy, s->b.size, &s->err), TP_EINPUT);
    assert_string_equal(s->err.text, "x.tpt: block 0 (byte 32) is damaged: its number is wrong");
    free(copy);
}

/* ---- lies with a good checksum ---- */

/* Every byte of headers and facts with other values, sealed again: refused, or the same program. */
TEST(test_lies)
{
    static const uint8_t masks[] = {1, 2, 0x80, 0xff};
    struct tp_program *p = small_program();
    struct tpt_bytes b = small_file(p, false);
    uint8_t *copy = malloc(b.size);
    assert_non_null(copy);
    for (size_t at = 8; at < b.size; at++) {
        for (size_t m = 0; m < sizeof masks; m++) {
            struct tp_err err = {0};
            memcpy(copy, b.data, b.size);
            copy[at] ^= masks[m];
            tpt_reseal(copy, b.size);
            int rc = tpt_open_and_pass(copy, b.size, &err);
            assert_true(rc == TP_OK || rc == TP_EINPUT);
            if (rc)
                assert_true(err.text[0] != '\0');
        }
    }
    tp_program_release(p);
    free(copy);
    free(b.data);
}

/* The block of this type, which is there. */
static uint8_t *find_block(const struct tpt_bytes *b, uint32_t type)
{
    size_t offsets[64];
    size_t count = tpt_blocks(b->data, b->size, offsets, 64);
    for (size_t i = 0; i < count; i++)
        if (tp_load32(b->data + offsets[i]) == type)
            return b->data + offsets[i];
    fail_msg("no such block");
    return NULL;
}

/* Sets a number of FACT and expects a sentence; `open` is where it is found, else in the pass. */
static void lie_in_facts(size_t index, uint64_t value, bool open, const char *sentence)
{
    struct tp_program *p = small_program(), *q = NULL;
    struct tpt_bytes b = small_file(p, false);
    struct tp_err err = {0};
    uint8_t *fact = find_block(&b, TP_TPT_FACT) + TP_TPT_BLOCK_SIZE;
    tp_store64(fact + 8 * index, value);
    tpt_reseal(b.data, b.size);
    const struct tpt_asked cfg = {.max_memory = 1 << 20};
    int rc = tpt_open(b.data, b.size, &cfg, &q, &err);
    assert_int_equal(rc, open ? TP_EINPUT : TP_OK);
    if (!open)
        assert_int_equal(tpt_pass(q, &err), TP_EINPUT);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' is not in '%s'", sentence, err.text);
    tp_program_release(p);
    tp_program_release(q);
    free(b.data);
}

enum { DEVICES = 6, SLOTS = 7, THREADS = 8, MARKS = 10, EVENTS, INITIAL_HEAP, INSTRUCTIONS };

TEST(test_lying_facts)
{
    lie_in_facts(DEVICES, 257, true, "out of range");
    lie_in_facts(DEVICES, 3, true, "x.tpt: block");
    lie_in_facts(SLOTS, 1 << 20, true, "objects");
    lie_in_facts(SLOTS, UINT64_C(1) << 33, true, "a count is wrong");
    lie_in_facts(SLOTS, 9, true, "the number of objects is wrong"); /* fewer than live at the end */
    lie_in_facts(THREADS, 1, false, "the thread is out of range");
    lie_in_facts(MARKS, 3, true, "the names of phases");
    lie_in_facts(EVENTS, 50, true, "the peak is out of range");
    lie_in_facts(INSTRUCTIONS, 100000, true, "the number of instructions is wrong");
}

TEST(test_facts_that_hold_until_the_end)
{
    struct tp_program *p = small_program();
    const struct tp_program_facts *f = tp_program_facts(p);
    enum { LIVE = 16, BYTES, DURATION };
    lie_in_facts(SLOTS, f->objects + 1, true, "the number of objects is wrong");
    lie_in_facts(SLOTS, f->slots + 1, false, "the number of slots is not what the facts say");
    lie_in_facts(LIVE, f->live_at_end - 1, false, "the live memory at the end");
    lie_in_facts(BYTES, f->live_at_end_bytes + 1, false, "the live memory at the end");
    lie_in_facts(DURATION, f->duration_ns + 1, false, "the duration");
    tp_program_release(p);
}

/* Who replays it has made room for as many slots as the facts say: not one more may come. */
TEST_WITH(test_facts_without_slots, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_small(state);
    enum { LIVE = 16, BYTES };
    uint8_t *fact = find_block(&s->b, TP_TPT_FACT) + TP_TPT_BLOCK_SIZE;
    for (int field = 0; field < 3; field++)
        tp_store64(fact + 8 * (const int[]){SLOTS, LIVE, BYTES}[field], 0);
    tpt_reseal(s->b.data, s->b.size);
    assert_int_equal(tpt_open(s->b.data, s->b.size, NULL, &s->q, &s->err), TP_OK);
    assert_int_equal(tpt_pass(s->q, &s->err), TP_EINPUT);
    assert_non_null(strstr(s->err.text, "there are more slots than there may be"));
}

/* Time and events go on from block to block. */
TEST_WITH(test_blocks_go_on, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_long(state, false);
    static const struct {
        size_t at; /* in the header of the second block */
        uint64_t change;
        const char *sentence;
    } rows[] = {{16, UINT64_MAX - 9, "its first event is out of order"},
                {16, 20000000, "its first event is out of order"},
                {24, 1, "its time does not go on from the block before it"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *at = s->b.data + s->offsets[s->count - 4] + rows[i].at;
        s->err = (struct tp_err){0};
        uint64_t was = tp_load64(at);
        tp_store64(at, was + rows[i].change);
        tpt_reseal(s->b.data, s->b.size);
        assert_int_equal(tpt_open_and_pass(s->b.data, s->b.size, &s->err), TP_EINPUT);
        if (!strstr(s->err.text, rows[i].sentence))
            fail_msg("'%s' is not in '%s'", rows[i].sentence, s->err.text);
        tp_store64(at, was);
    }
}

TEST_WITH(test_memory_hint, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_long(state, false);
    const struct tpt_asked cfg = {.max_memory = 64 * 20};
    assert_int_equal(tpt_open(s->b.data, s->b.size, &cfg, &s->q, &s->err), TP_EINPUT);
    assert_string_equal(s->err.hint, "--max-memory=SIZE allows more");
}

/* ---- other versions ---- */

TEST_WITH(test_other_version, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_small(state);
    s->b.data[8] = 2;
    tpt_reseal(s->b.data, s->b.size);
    assert_int_equal(tpt_open_and_pass(s->b.data, s->b.size, &s->err), TP_EINPUT);
    assert_string_equal(s->err.text, "x.tpt: version 2 of .tpt: this tapool reads version 1");
}

/* Puts a block of a type of the future behind the header; those behind it count on. */
static struct tpt_bytes with_future(const struct tpt_bytes *b, uint32_t flags)
{
    static const char payload[] = "what nobody knows";
    struct tp_tpt_block block = {.type = TP_TPT_FOURCC('N', 'E', 'W', '!'),
                                 .flags = flags,
                                 .stored = sizeof payload,
                                 .raw = sizeof payload};
    size_t more = TP_TPT_BLOCK_SIZE + sizeof payload, offsets[64];
    struct tpt_bytes out = {malloc(b->size + more), b->size + more};
    assert_non_null(out.data);
    memcpy(out.data, b->data, TP_TPT_HEADER_SIZE);
    memcpy(out.data + TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE, payload, sizeof payload);
    tp_tpt_block_put(&block, payload, out.data + TP_TPT_HEADER_SIZE);
    memcpy(out.data + TP_TPT_HEADER_SIZE + more, b->data + TP_TPT_HEADER_SIZE,
           b->size - TP_TPT_HEADER_SIZE);
    size_t count = tpt_blocks(out.data, out.size, offsets, 64);
    for (size_t i = 0; i < count; i++)
        tp_store32(out.data + offsets[i] + 40, (uint32_t)i);
    uint8_t *end = out.data + out.size - TP_TPT_END_SIZE;
    tp_store64(end, tp_load64(end) + more);
    tp_store64(end + 8, tp_load64(end + 8) + 1);
    tpt_reseal(out.data, out.size);
    return out;
}

TEST_WITH(test_blocks_of_the_future, NULL, tpt_unstore)
{
    struct tpt_stored *s = store_small(state);
    struct tpt_bytes may = with_future(&s->b, TP_TPT_SKIP), must = with_future(&s->b, 0);
    assert_int_equal(tpt_open(may.data, may.size, NULL, &s->q, &s->err), TP_OK);
    tpt_same(s->p, s->q);
    assert_int_equal(tpt_open_and_pass(must.data, must.size, &s->err), TP_EINPUT);
    assert_non_null(strstr(s->err.text, "its type is unknown"));
    may.data[TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE] ^= 1; /* skipped, but not unread */
    assert_int_equal(tpt_open_and_pass(may.data, may.size, &s->err), TP_EINPUT);
    free(may.data);
    free(must.data);
}

/* ---- records ---- */

/* A file of one DATA block with these records; facts are those of a cut file: found by replaying.
 */
static int replay(const uint8_t *records, uint32_t size, uint32_t count, uint32_t flags,
                  struct tp_err *err)
{
    uint8_t file[512];
    struct tp_tpt_header h = {.version = 1};
    struct tp_tpt_block b = {.type = TP_TPT_DATA,
                             .flags = flags,
                             .count = count,
                             .tick_ns = 10,
                             .first_event = 1,
                             .stored = size,
                             .raw = size};
    tp_tpt_header_put(&h, file);
    memcpy(file + TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE, records, size);
    tp_tpt_block_put(&b, records, file + TP_TPT_HEADER_SIZE);
    return tpt_open_and_pass(file, TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE + size, err);
}

#define REPLAY(count, flags, ...)                                                                  \
    replay((const uint8_t[]){__VA_ARGS__}, (uint32_t)sizeof((const uint8_t[]){__VA_ARGS__}),       \
           count, flags, &err)
#define REFUSE(sentence, count, flags, ...)                                                        \
    do {                                                                                           \
        assert_int_equal(REPLAY(count, flags, __VA_ARGS__), TP_EINPUT);                            \
        if (!strstr(err.text, sentence))                                                           \
            fail_msg("'%s' is not in '%s'", sentence, err.text);                                   \
    } while (0)

enum { LITERAL = 0x80, SAME = 0x80, CONTEXT = 0x40 };
#define V(n) ((n) << 1 | 1) /* a number below 128 */

TEST(test_records)
{
    struct tp_err err = {0};
    /* the example of traces/README.md */
    assert_int_equal(REPLAY(2, 0, 0xc0, 0x08, 0x09, 0x11, 0x91, 0x0a), TP_OK);
    /* alloc 8 bytes; alloc as many again; free slot 1; free slot 0 */
    assert_int_equal(REPLAY(4, 0, LITERAL, V(8), TP_ALLOC, 0, TP_FREE, V(1), TP_FREE, V(0)), TP_OK);
    REFUSE("instruction 1: the slot is free", 2, 0, LITERAL, V(8), TP_FREE, V(1));
    REFUSE("instruction 2: the slot is free", 3, 0, LITERAL, V(8), TP_FREE | SAME, TP_FREE | SAME);
    REFUSE("the slot is free", 1, 0, TP_FREE | SAME);
    REFUSE("the size is out of range", 1, 0, LITERAL, V(0));
    REFUSE("the size is out of range", 1, 0, LITERAL, 0, 0, 0, 0, 0, 0, 0, 1, 1);
    REFUSE("the size is none of those before", 1, 0, TP_ALLOC, 0);
    REFUSE("runs over the end", 2, 0, LITERAL, V(8), TP_FREE);
    REFUSE("something follows it", 1, 0, LITERAL, V(8), TP_SYNC);
    REFUSE("the slot is live", 2, TP_TPT_SLOTS, LITERAL, V(0), V(8), LITERAL, V(0), V(8));
    REFUSE("the slot is out of range", 1, TP_TPT_SLOTS, LITERAL, V(1), V(8));
    REFUSE("does not say its slots", 1, 0, TP_RESET);
    assert_int_equal(REPLAY(2, TP_TPT_SLOTS, LITERAL, V(0), V(8), TP_RESET), TP_OK);
    REFUSE("the slot is free", 3, TP_TPT_SLOTS, LITERAL, V(0), V(8), TP_RESET, TP_FREE, V(0));
    REFUSE("more than one reference", 3, 0, LITERAL, V(8), TP_RETAIN | SAME, TP_FREE | SAME);
    REFUSE("the last reference", 2, 0, LITERAL, V(8), TP_RELEASE | SAME);
    REFUSE("no such mark", 2, 0, LITERAL, V(8), TP_MARK, V(0));
    REFUSE("the pool is out of range", 2, 0, LITERAL, V(8), TP_POOL);
    REFUSE("the pool is out of range", 2, 0, LITERAL, V(8), TP_POOL | LITERAL, V(0));
    REFUSE("the pool is out of range", 2, 0, LITERAL, V(8), TP_POOL | LITERAL, 0x80, 0, 0, 0, 0, 0,
           0, 1);
    /* a pool and its allocation are one event, with nothing between them */
    assert_int_equal(REPLAY(2, 0, TP_POOL | LITERAL, V(5), LITERAL | CONTEXT, 16, V(0), V(8)),
                     TP_OK);
    REFUSE("instruction 1: it is not the allocation of the pool", 2, 0, TP_POOL | LITERAL, V(5),
           LITERAL, V(8));
    REFUSE("instruction 1: it is not the allocation of the pool", 2, 0, TP_POOL | LITERAL, V(5),
           TP_SYNC | CONTEXT, 16, V(0));
    REFUSE("instruction 1: it is not the allocation of the pool", 3, 0, TP_POOL | LITERAL, V(5),
           TP_POOL | LITERAL | CONTEXT, 16, V(0), V(6), LITERAL | CONTEXT, 16, V(0), V(8));
    REFUSE("its context is wrong", 1, 0, LITERAL | CONTEXT, 0, V(8));
    REFUSE("its context is wrong", 2, 0, LITERAL, V(8), TP_FREE | CONTEXT, 8, V(4), V(0));
    REFUSE("its event needs no number", 2, 0, LITERAL, V(8), TP_SYNC | CONTEXT, 16, V(1));
    REFUSE("its event needs no number", 1, 0, LITERAL | CONTEXT, 16, V(2), V(8));
    REFUSE("the alignment is out of range", 1, 0, LITERAL | CONTEXT, 8, V(31), V(8));
    REFUSE("the device is out of range", 1, 0, LITERAL | CONTEXT, 4, 2, 4, V(8));
    REFUSE("it may not be written whole", 1, 0, 15, TP_ALLOC, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           0, 0, 8, 0, 0, 0, 0, 0, 0, 0);
    REFUSE("no such note", 1, 0, TP_NOTE, TP_NOTE_COUNT);
    REFUSE("the slot is out of range", 1, 0, TP_NOTE, TP_TPT_NOTE_SLOT, V(5));
    /* those who replay a note look its slot up: it must be one of the slots that there are */
    REFUSE("the slot is out of range", 2, 0, LITERAL, V(8), TP_NOTE, TP_TPT_NOTE_SLOT, V(1));
    REFUSE("the slot is out of range", 2, 0, LITERAL, V(8), 15, TP_NOTE, 0, 0, 0, 0, 0, 0, 0, 1, 0,
           0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0);
    assert_int_equal(REPLAY(2, 0, LITERAL, V(8), TP_NOTE, TP_TPT_NOTE_SLOT, V(0)), TP_OK);
    assert_int_equal(REPLAY(1, 0, TP_NOTE, TP_TPT_NOTE_SLOT, V(0)), TP_OK);
}

TEST(test_numbers)
{
    static const struct {
        uint64_t value;
        uint8_t size, bytes[9];
    } rows[] = {{0, 1, {0x01}},
                {5, 1, {0x0b}},
                {127, 1, {0xff}},
                {128, 2, {0x02, 0x02}},
                {300, 2, {0xb2, 0x04}},
                {UINT64_C(1) << 48, 7, {0x40, 0, 0, 0, 0, 0, 0x80}},
                {(UINT64_C(1) << 56) - 1, 8, {0x80, 255, 255, 255, 255, 255, 255, 255}},
                {UINT64_C(1) << 56, 9, {0, 0, 0, 0, 0, 0, 0, 0, 1}},
                {UINT64_MAX, 9, {0, 255, 255, 255, 255, 255, 255, 255, 255}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[16] = {0};
        uint64_t value = 0;
        assert_ptr_equal(tp_put_varint(bytes, rows[i].value), bytes + rows[i].size);
        assert_memory_equal(bytes, rows[i].bytes, rows[i].size);
        assert_ptr_equal(tp_varint(bytes, &value), bytes + rows[i].size);
        assert_int_equal(value, rows[i].value);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        for (uint64_t value = (UINT64_C(1) << bit) - 1, i = 0; i < 3; i++, value++) {
            uint8_t bytes[16] = {0};
            uint64_t read = 0;
            uint8_t *end = tp_put_varint(bytes, value);
            assert_ptr_equal(tp_varint(bytes, &read), end);
            assert_int_equal(read, value);
        }
    }
}

/* More than 2^61 bytes live at once: 8,193 objects of 2^48 bytes. */
TEST(test_live_bytes)
{
    enum { COUNT = 8193, FIRST = 8 };
    struct tp_err err = {0};
    size_t size = TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE + FIRST + 2 * (COUNT - 1);
    uint8_t *file = calloc(1, size);
    assert_non_null(file);
    uint8_t *records = file + TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE;
    records[0] = LITERAL;
    assert_ptr_equal(tp_put_varint(records + 1, TP_MAX_SIZE), records + FIRST);
    for (uint32_t count = COUNT - 1; count <= COUNT; count++) {
        uint32_t bytes = FIRST + 2 * (count - 1);
        struct tp_tpt_header h = {.version = 1};
        struct tp_tpt_block b = {.type = TP_TPT_DATA,
                                 .count = count,
                                 .tick_ns = 1,
                                 .first_event = 1,
                                 .stored = bytes,
                                 .raw = bytes};
        tp_tpt_header_put(&h, file);
        tp_tpt_block_put(&b, records, file + TP_TPT_HEADER_SIZE);
        int rc = tpt_open_and_pass(file, TP_TPT_HEADER_SIZE + TP_TPT_BLOCK_SIZE + bytes, &err);
        assert_int_equal(rc, count == COUNT ? TP_EINPUT : TP_OK);
    }
    assert_string_equal(err.text,
                        "x.tpt: block 0 (byte 32): instruction 8192: more than 2^61 bytes "
                        "are live at once"); /* found on decoding */
    free(file);
}
