/* Programs as events and back: lowering what tp_unlower gives makes the same instructions, whatever
 * the events were; a piece begins with what lived then. */
#include "traces/lower/unlower.h"
#include "traces/trace_writer.h"

#include "tests/unit/trace_fixture.h"

extern const struct tp_trace_writer tp_writer_json, tp_writer_jsonl;

enum { STREAMS = 5, EVENTS = 3000 };

static uint64_t state_of_random;

static uint64_t below(uint64_t n)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (state_of_random >> 33) % n;
}

/* A random event; dirty ones are repaired or dropped. `timed` 1: some have no time. */
static struct tp_event some_event(int timed, uint64_t *now)
{
    static const enum tp_event_op ops[] = {
        TP_EV_ALLOC, TP_EV_ALLOC,  TP_EV_ALLOC,   TP_EV_FREE, TP_EV_FREE,  TP_EV_FREE,
        TP_EV_FREE,  TP_EV_RETAIN, TP_EV_REALLOC, TP_EV_USE,  TP_EV_SYNC,  TP_EV_TRIM,
        TP_EV_MARK,  TP_EV_NOTE,   TP_EV_ADOPT,   TP_EV_NOTE, TP_EV_RESET, TP_EV_THREAD_END};
    static const char *const marks[] = {"one", "two", "three"};
    unsigned last = below(40) ? 2 : 0; /* resets and ends of threads are rare */
    *now += below(9) ? below(5000) : below(2) << 34;
    struct tp_event ev = {.op = ops[below(sizeof ops / sizeof *ops - last)],
                          .has_time = timed == 2 || (timed == 1 && below(2)),
                          .time_ns = *now,
                          .id = (int64_t)below(200),
                          .size = below(20) ? 1 + below(100000) : 0,
                          .thread = below(6),
                          .has_align = !below(5),
                          .align = UINT64_C(1) << below(13),
                          .has_stream = below(2),
                          .stream = (int64_t)below(STREAMS) * 7,
                          .name = marks[below(3)]};
    ev.has_size = ev.op != TP_EV_FREE;
    if (ev.op == TP_EV_USE)
        ev.has_stream = true;
    if (ev.op == TP_EV_NOTE) {
        ev.note = (enum tp_note)below(TP_NOTE_COUNT);
        ev.note = ev.note == TP_NOTE_DEVICE_FREE ? TP_NOTE_OOM : ev.note;
        ev.has_free = ev.note == TP_NOTE_OOM && below(2);
        ev.free_bytes = below(1000);
    }
    return ev;
}

static struct tp_program *random_program(uint64_t seed)
{
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "x"});
    struct tp_err err = {0};
    uint64_t now = 0;
    state_of_random = seed;
    int timed = (int)below(3);
    assert_int_equal(tp_lower_kind(lo, below(2) ? TP_KIND_DEVICE : TP_KIND_HOST, NULL), TP_OK);
    uint64_t devices = 1 + below(3);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(tp_lower_stream(lo, i * 7, (int64_t)below(devices), NULL), TP_OK);
    for (uint64_t i = below(20); i > 0; i--) {
        struct tp_event ev = {.op = TP_EV_INITIAL,
                              .id = (int64_t)i,
                              .size = 1 + below(5000),
                              .has_stream = true,
                              .stream = (int64_t)below(STREAMS) * 7};
        assert_int_equal(tp_lower_event(lo, &ev, &err), TP_OK);
    }
    for (int i = 0; i < EVENTS; i++) {
        struct tp_event ev = some_event(timed, &now);
        if (tp_lower_event(lo, &ev, &err) != TP_OK)
            fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    }
    return close_lower(lo);
}

static void same_instructions(struct tp_program *a, struct tp_program *b)
{
    static char texts[2][1 << 20];
    write_program(a, texts[0], sizeof texts[0]);
    write_program(b, texts[1], sizeof texts[1]);
    assert_true(strlen(texts[0]) > 1000);
    if (memcmp(tp_program_facts(a)->hash, tp_program_facts(b)->hash, TP_HASH_SIZE) != 0)
        assert_string_equal(texts[0], texts[1]); /* says where */
}

static void facts_agree(struct tp_program *a, struct tp_program *b)
{
    const struct tp_program_facts *x = tp_program_facts(a), *y = tp_program_facts(b);
    assert_memory_equal(x->hash, y->hash, TP_HASH_SIZE);
    assert_memory_equal(x->ops, y->ops, sizeof x->ops);
    assert_fields(*x, time_known, y->time_known, devices, y->devices, streams, y->streams, threads,
                  y->threads, initial_heap, y->initial_heap, recorded_threads, y->recorded_threads,
                  live_at_end_bytes, y->live_at_end_bytes);
}

TEST(lowered_again_it_is_the_same)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct tp_program *p = random_program(seed);
        struct tp_err err = {0};
        for (int numbers = 0; numbers < 2; numbers++) {
            struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "x", .strict = true});
            if (tp_relower(p, &(struct tp_unlower_cfg){.numbers = numbers}, lo, &err) != TP_OK)
                fail_msg("seed %" PRIu64 ": %s", seed, err.text);
            struct tp_program *again = close_lower(lo);
            same_instructions(p, again);
            facts_agree(p, again);
            if (numbers) /* but for the dropped ones behind the last instruction of all */
                assert_int_equal(tp_program_facts(p)->events, tp_program_facts(again)->events);
            tp_program_release(again);
        }
        tp_program_release(p);
    }
}

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

TEST(through_json_it_is_the_same)
{
    for (uint64_t seed = 100; seed <= 120; seed++) {
        struct tp_program *p = random_program(seed);
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        const struct tp_meta meta = {.kind = (enum tp_kind)tp_program_facts(p)->kind};
        const struct tp_writing w = {.program = p, .meta = &meta, .path = "x", .stop = never};
        const struct tp_trace_writer *writer = seed % 2 ? &tp_writer_jsonl : &tp_writer_json;
        assert_int_equal(writer->write(&w, out, NULL), TP_OK);
        fclose(out);
        struct reading r =
            read_bytes(seed % 2 ? &tp_format_jsonl : &tp_format_json, text, size, true);
        if (r.rc != TP_OK)
            fail_msg("seed %" PRIu64 ": %s", seed, r.err.text);
        same_instructions(p, r.program);
        facts_agree(p, r.program);
        forget(&r);
        free(text);
        tp_program_release(p);
    }
}

/* ---- pieces ---- */

struct tally {
    uint64_t initial, initial_bytes, others;
    bool mixed; /* an initial one after others */
};

static int count_one(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct tally *t = ctx;
    (void)err;
    if (ev->op != TP_EV_INITIAL) {
        t->others++;
        return TP_OK;
    }
    t->mixed |= t->others > 0;
    t->initial++;
    t->initial_bytes += ev->size;
    return TP_OK;
}

/* What lives after `event`, by the facts of the program that ends there. */
static struct tp_program_facts until(struct tp_program *p, uint64_t event)
{
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "x", .strict = true});
    const struct tp_unlower_cfg cfg = {.last = event, .numbers = true};
    assert_int_equal(tp_relower(p, &cfg, lo, NULL), TP_OK);
    struct tp_program *head = close_lower(lo);
    struct tp_program_facts facts = *tp_program_facts(head);
    tp_program_release(head);
    return facts;
}

TEST(a_piece_begins_with_what_lived)
{
    for (uint64_t seed = 200; seed <= 230; seed++) {
        struct tp_program *p = random_program(seed);
        struct tp_err err = {0};
        uint64_t first = 2 + below(EVENTS - 10), last = first + below(EVENTS - first);
        struct tp_program_facts head = until(p, first - 1), whole = until(p, last);
        struct tally t = {0};
        const struct tp_unlower_cfg cfg = {.first = first, .last = last};
        const struct tp_event_sink sink = {count_one, &t};
        assert_int_equal(tp_unlower(p, &cfg, &sink, NULL), TP_OK);
        assert_fields(t, initial, head.live_at_end, initial_bytes, head.live_at_end_bytes);
        assert_false(t.mixed);
        struct tp_lower *lo = open_lower((struct tp_lower_cfg){
            .path = "x", .strict = true}); /* strict: nothing in it is dirty */
        if (tp_relower(p, &cfg, lo, &err) != TP_OK)
            fail_msg("seed %" PRIu64 ": %s", seed, err.text);
        struct tp_program *piece = close_lower(lo);
        assert_int_equal(tp_program_facts(piece)->initial_heap, head.live_at_end);
        assert_int_equal(tp_program_facts(piece)->live_at_end, whole.live_at_end);
        assert_int_equal(tp_program_facts(piece)->live_at_end_bytes, whole.live_at_end_bytes);
        tp_program_release(piece);
        tp_program_release(p);
    }
}

TEST(stripped_it_has_no_marks_and_notes)
{
    struct tp_program *p = random_program(7);
    struct tp_lower *lo = open_lower((struct tp_lower_cfg){.path = "x", .strict = true});
    assert_true(tp_program_facts(p)->ops[TP_MARK] && tp_program_facts(p)->ops[TP_NOTE]);
    assert_int_equal(tp_relower(p, &(struct tp_unlower_cfg){.strip = true}, lo, NULL), TP_OK);
    struct tp_program *bare = close_lower(lo);
    assert_int_equal(tp_program_facts(bare)->ops[TP_MARK], 0);
    assert_int_equal(tp_program_facts(bare)->ops[TP_NOTE], 0);
    assert_int_equal(tp_program_facts(bare)->marks, 0);
    assert_int_equal(tp_program_facts(bare)->operations, tp_program_facts(p)->operations);
    assert_int_equal(tp_program_facts(bare)->duration_ns / 1000000,
                     tp_program_facts(p)->duration_ns / 1000000);
    tp_program_release(bare);
    tp_program_release(p);
}
