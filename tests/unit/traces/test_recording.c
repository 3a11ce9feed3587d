/* Recordings in progress: the code of events, threads in one order, blocks that move while others
 * take their places, what a program that was killed left, and what is no recording. The files are
 * written here, event by event, as the recorder does. */
#include "cmd/preload/recorder.h"
#include "tests/unit/recording_rig.h"

#include <math.h>
#include <stddef.h>

/* The seeds of the fuzz targets are recordings: they are made anew with the layout. */
_Static_assert(offsetof(struct tp_recording_head, bytes) == 2168 &&
                   sizeof(struct tp_recording_head) == 3888,
               "the layout is another: tests/fuzz/recording_specimens.sh, then these numbers");

#define OVERLAP                                                                                    \
    "overlapping events were reordered so that each address is freed before it is reused: "

#define A 0x5581c0de2a0
#define B 0x5581c0de2d0
#define C 0x7f21ac000b60

static void refuse(struct file *f, bool strict, const char *sentence)
{
    expect_row(f, (struct importer_row){.strict = strict, .error = sentence});
}

/* ---- one thread ---- */

TEST(every_event)
{
    struct file *f = begin_file(1);
    alloc(f, 0, 1000, A, 24);
    alloc(f, 0, 1007, B + 3, 1); /* decodes to a multiple of 8 in this form of the code */
    put_token(f, 0, TP_REC_ALIGNED, 1107);
    put(f, 0, 12);
    put(f, 0, 5000);
    put_address(f, 0, C);
    end_event(f, 0);
    put_token(f, 0, TP_REC_RESIZE, 1108);
    put_address(f, 0, A);
    put(f, 0, 2 * 30);
    end_event(f, 0);
    move(f, 0, 1110, 40, A, A + 4096, 90000);
    put_mark(f, 0, 1200, "step 1");
    release(f, 0, 1300, C);
    atomic_store(&chunk_of(f, 0)->ended, 1);
    expect(f,
           "alloc 0 24 a4 @1; alloc 1 1 a4 +7 @2; alloc 2 5000 a12 +100 @3; realloc 0 30 a4 +1 @4; "
           "realloc 0 90000 a4 +42 @5; mark 0 0 +50 @6; free 2 5000 a12 +100 @7; end 0 0 @8; ",
           NULL);
}

/* A body is passed over whatever is in it; one that is longer than it may be, or of a kind that
 * there is not, ends the thread. */
TEST(bodies)
{
    static const struct {
        unsigned kind;
        uint64_t length;
        size_t bytes;
        bool good;
    } rows[] = {{TP_MORE_STACK, 0, 0, true},
                {TP_MORE_STACK, TP_RECORDING_BODY, TP_RECORDING_BODY, true},
                {TP_MORE_STACK, TP_RECORDING_BODY + 1, TP_RECORDING_BODY + 1, false},
                {TP_MORE_STACK, 100, 10, false},
                {TP_MORE_NONE, 0, 0, false},
                {TP_MORE_KINDS, 0, 0, false}};
    static unsigned char body[TP_RECORDING_BODY + 1];
    memset(body, 0xff, sizeof body);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct file *f = begin_file(1);
        alloc(f, 0, 1000, A, 24);
        put_token(f, 0, TP_REC_MORE, 1000);
        put(f, 0, rows[i].kind);
        put(f, 0, rows[i].length);
        put_bytes(f, 0, body, rows[i].bytes);
        if (rows[i].good)
            release(f, 0, 1010, A);
        expect(f,
               rows[i].good ? "alloc 0 24 a4 @1; free 0 24 a4 +10 @2; "
                            : "alloc 0 24 a4 @1; truncated=1 ",
               NULL);
    }
}

/* An address that is no multiple of 8 is coded in bytes, and so is the way back from it. */
TEST(odd_addresses)
{
    struct file *f = begin_file(1);
    alloc(f, 0, 1000, A, 24);
    put_token(f, 0, TP_REC_FREE | TP_REC_BYTES, 1001);
    put(f, 0, tp_rec_zigzag(1));
    end_event(f, 0);
    put_token(f, 0, TP_REC_FREE | TP_REC_BYTES, 1002);
    put(f, 0, tp_rec_zigzag((uint64_t)-1));
    end_event(f, 0);
    expect(f, "alloc 0 24 a4 @1; free 0 24 a4 +2 @2; ",
           "frees of blocks that were there before the recording are left out: 1");
}

TEST(blocks_from_before)
{
    struct file *f = begin_file(1);
    release(f, 0, 1000, A);
    move(f, 0, 1010, 5, B, C, 70);
    alloc(f, 0, 1020, A, 0);
    expect(f, "alloc 0 70 a4 +15 @1; alloc 1 1 a4 +5 @2; ",
           "frees of blocks that were there before the recording are left out: 1\n"
           "blocks that were there before it count from their first realloc on: 1\n"
           "blocks of 0 bytes are kept as 1 byte: 1");
}

/* ---- several ---- */

TEST(threads_are_merged_by_time)
{
    struct file *f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1005, B, 20);
    release(f, 0, 1010, B);
    alloc(f, 0, 1030, C, 30);
    release(f, 1, 1020, A);
    expect(f,
           "alloc 0 10 a4 @1; alloc 1 20 a4 t1 +5 @2; free 1 20 a4 +5 @3; free 0 10 a4 t1 +10 @4; "
           "alloc 0 30 a4 +10 @5; ",
           NULL);
}

TEST(at_one_time_frees_come_first)
{
    struct file *f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 0, 1020, A, 11);
    release(f, 1, 1020, A);
    expect(f, "alloc 0 10 a4 @1; free 0 10 a4 t1 +20 @2; alloc 0 11 a4 @3; ", NULL);
}

/* The old place of a block that moves may be given out again before its realloc returns. */
TEST(a_move_is_done_when_its_place_is_taken)
{
    struct file *f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    move(f, 0, 1010, 90, A, B, 20);
    alloc(f, 1, 1030, A, 30);
    release(f, 1, 1040, A);
    expect(f,
           "alloc 0 10 a4 @1; realloc 0 20 a4 +100 @2; alloc 1 30 a4 t1 @3; free 1 30 a4 t1 @4; ",
           OVERLAP "1");
}

/* The place that a move takes may be that of another move, which is then done first. */
TEST(moves_make_place_for_one_another)
{
    struct file *f = begin_file(3);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1001, B, 20);
    move(f, 1, 1005, 300, B, C, 21);
    move(f, 0, 1010, 290, A, B, 11);
    alloc(f, 2, 1060, A, 30);
    expect(f,
           "alloc 0 10 a4 @1; alloc 1 20 a4 t1 +1 @2; realloc 1 21 a4 t1 +304 @3; "
           "realloc 0 11 a4 @4; alloc 2 30 a4 t2 @5; ",
           OVERLAP "2");
}

/* Counters of two cores may differ: an allocation waits a while for the free that it needs. */
TEST(a_free_that_is_late_is_waited_for)
{
    struct file *f = begin_file(3);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1020, A, 11);
    release(f, 2, 1100, B); /* no one waits for this */
    release(f, 2, 1500, A);
    release(f, 1, 1600, A);
    expect(
        f,
        "alloc 0 10 a4 @1; free 0 10 a4 t1 +500 @2; alloc 0 11 a4 t2 @3; free 0 11 a4 t2 +100 @4; ",
        "frees of blocks that were there before the recording are left out: 1\n" OVERLAP "1");
    f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1020, A, 11);
    release(f, 0, 1000000, A); /* of the second block: the first one was freed unseen */
    expect(
        f,
        "alloc 0 10 a4 @1; free 0 10 a4 t1 +20 @2; alloc 0 11 a4 t1 @2; free 0 11 a4 +998980 @3; "
        "double_alloc=1 ",
        NULL);
}

/* ---- what was ended, and what is damaged ---- */

TEST(a_place_without_a_chunk_is_passed_over)
{
    struct file *f = begin_file(3);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 2, 1005, B, 20);
    atomic_store(&chunk_of(f, 1)->magic, 0); /* ended between taking the place and writing there */
    expect(f, "alloc 0 10 a4 @1; alloc 1 20 a4 t1 +5 @2; ", NULL);
    f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1005, B, 20);
    f->size -= TP_RECORDING_PAGE - 40; /* cut within the head of the second */
    expect(f, "alloc 0 10 a4 @1; ", NULL);
}

TEST(the_last_program_counts)
{
    struct file *f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1005, B, 20);
    chunk_of(f, 1)->image = 1;
    atomic_store(&head_of(f)->images, 2);
    expect(f, "alloc 0 20 a4 +5 @1; ",
           "programs ran in the process before this one (exec), and are left out: 1");
}

/* A page that did not reach the disk before the machine went down. */
static struct file *damaged_file(void)
{
    struct file *f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    *f->threads[0].at++ = TP_REC_NONE;
    end_event(f, 0);
    alloc(f, 0, 1050, B, 20);
    atomic_store(&chunk_of(f, 0)->ended, 1);
    alloc(f, 1, 1100, C, 30);
    return f;
}

TEST(what_lies_behind_damage_is_left_out)
{
    expect(damaged_file(), "alloc 0 10 a4 @1; alloc 1 30 a4 t1 +100 @2; truncated=1 ", NULL);
    struct file *f = damaged_file();
    char sentence[128];
    snprintf(sentence, sizeof sentence,
             "x.json: byte %zu: event 2: no event begins here, and its thread cannot be read on",
             sizeof(struct tp_recording_chunk) + TP_RECORDING_PAGE + 8);
    refuse(f, true, sentence);
}

/* Calls that were not recorded: of threads with a chunk, and without one. */
TEST(calls_that_are_missing_are_counted)
{
    struct file *f = begin_file(2);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 1, 1100, B, 20);
    atomic_store(&chunk_of(f, 0)->dropped, 3);
    atomic_store(&chunk_of(f, 1)->dropped, 40);
    atomic_store(&head_of(f)->dropped, 500);
    expect_row(f, (struct importer_row){.facts = "not_recorded=543 "});
}

/* A recording of two events whose recorder says what it cost: `timed` calls of 100 ticks on
 * average, with a standard deviation of `deviation`, in a process of so much CPU time. A stamp
 * takes 10 ticks, recording an event 50. */
static struct file *with_cost(uint32_t timed, double deviation, uint64_t cpu)
{
    struct file *f = begin_file(1);
    alloc(f, 0, 1000, A, 10);
    alloc(f, 0, 2000, B, 20);
    struct tp_recording_chunk *c = chunk_of(f, 0);
    struct tp_recording_head *h = head_of(f);
    c->timed = timed;
    c->timed_ticks = UINT64_C(100) * timed;
    c->timed_squares = timed * (100.0 * 100.0 + deviation * deviation);
    c->sampled = 500;
    c->samples = 10;
    h->empty_ticks = UINT64_C(10) * TP_REC_EMPTY;
    atomic_store(&h->cpu_from, 7000);
    atomic_store(&h->cpu_to, 7000 + cpu);
    atomic_store(&h->ticks_from, 500);
    atomic_store(&h->ticks_to, 5500);
    snprintf(h->library, sizeof h->library, "/opt/lib/libjemalloc.so.2");
    snprintf(h->settings, sizeof h->settings, "MALLOC_CONF=narenas:1");
    atomic_store(&h->large[1], 1 << 20);
    atomic_store(&h->written[1], 1 << 18);
    atomic_store(&h->large[3], 1 << 20);
    atomic_store(&h->written[3], 1 << 30); /* more than all */
    return f;
}

static struct reading read_cost(struct file *f)
{
    struct reading r = read_bytes(&tp_format_recording, f->bytes, f->size, false);
    assert_int_equal(r.rc, TP_OK);
    free(f);
    return r;
}

TEST(what_malloc_took_is_known)
{
    double low, high;
    struct reading r = read_cost(with_cost(100, 50, 1000));
    assert_string_equal(r.meta.allocator, "libjemalloc.so.2");
    assert_string_equal(r.meta.settings, "MALLOC_CONF=narenas:1");
    assert_int_equal(r.meta.cpu_high_ns, 1000 - 2 * 50);
    assert_int_equal(r.meta.cpu_low_ns, 1000 - 2 * 2 * 50);
    assert_int_equal(r.meta.wall_ns, 5000);
    assert_string_equal(r.meta.written, "15:1048576:262144 17:1048576:1048576");
    /* 90 a call, standard error 50 / sqrt(100): 2 calls of 80 to 100 */
    assert_int_equal(r.meta.malloc_low_ns, 160);
    assert_int_equal(r.meta.malloc_high_ns, 200);
    assert_true(tp_meta_malloc_share(&r.meta, &low, &high));
    assert_float_equal(low, 160.0 / 900, 1e-9);
    assert_float_equal(high, 200.0 / 800, 1e-9);
    forget(&r);
}

TEST(what_malloc_took_is_not_made_up)
{
    double low, high;
    struct file *few = with_cost(20, 50, 1000), *wide = with_cost(100, 300, 1000),
                *busy = with_cost(100, 50, 150), *part = with_cost(100, 50, 1000),
                *damaged = with_cost(100, 50, 1000);
    atomic_store(&head_of(part)->why, (uint32_t)TP_REC_MAX_SIZE);
    chunk_of(damaged, 0)->timed_squares = (double)NAN;
    struct {
        struct file *f;
        bool cpu;
    } cases[] = {{few, true}, {wide, true}, {busy, false}, {part, false}, {damaged, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_cost(cases[i].f);
        assert_int_equal(r.meta.cpu_low_ns != 0, cases[i].cpu);
        assert_false(tp_meta_malloc_share(&r.meta, &low, &high));
        forget(&r);
    }
}

/* The text may come from a trace that somebody else made: what cannot be read counts for nothing.
 */
TEST(what_was_written_is_read_as_far_as_it_can_be)
{
    static const struct {
        const char *text;
        double share;
        uint16_t parts[4]; /* of the first octaves */
    } cases[] = {{NULL, 1, {1000, 1000, 1000, 1000}},
                 {"", 1, {1000, 1000, 1000, 1000}},
                 {"14:1000:500", 0.5, {500, 1000, 1000, 1000}},
                 {"15:1000:0 16:1000:1000", 0.5, {1000, 0, 1000, 1000}},
                 {"13:10:1 99:10:1 14:0:0 15:10:20 16:4:1", 0.25, {1000, 1000, 250, 1000}},
                 {"14:1000:500 15", 0.5, {500, 1000, 1000, 1000}},
                 {"14:-1:5", 1, {1000, 1000, 1000, 1000}},
                 {"14:4:1x 15:4:1", 1, {1000, 1000, 1000, 1000}},
                 {"99999999999999999999999:4:1", 1, {1000, 1000, 1000, 1000}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_meta meta = {.written = (char *)(uintptr_t)cases[i].text};
        struct tp_touched touched;
        assert_float_equal(tp_meta_touched(&meta, &touched), cases[i].share, 1e-9);
        assert_memory_equal(touched.parts, cases[i].parts, sizeof cases[i].parts);
        for (unsigned k = 4; k < TP_TOUCHED_OCTAVES; k++)
            assert_int_equal(touched.parts[k], 1000);
    }
    struct tp_touched half = {.parts = {500, 250}};
    half.parts[TP_TOUCHED_OCTAVES - 1] = 10;
    assert_int_equal(tp_touched_bytes(NULL, 1 << 20), 1 << 20);
    assert_int_equal(tp_touched_bytes(&half, (1 << 14) - 1), (1 << 14) - 1);
    assert_int_equal(tp_touched_bytes(&half, 20000), 10000);
    assert_int_equal(tp_touched_bytes(&half, 40000), 10000);
    assert_int_equal(tp_touched_bytes(&half, UINT64_C(1) << 47), (UINT64_C(1) << 47) / 1000 * 10);
}

TEST(no_recording)
{
    struct file *f = begin_file(1);
    head_of(f)->version = 7;
    refuse(f, false, "x.json: a recording of version 7; this tapool reads 3");
    f = begin_file(1);
    head_of(f)->ns_per_tick = -1;
    refuse(f, false, "x.json: damaged: its clock ticks every -1 ns");
    f = begin_file(1);
    head_of(f)->ns_per_tick = 1e-300; /* SLACK_NS would be more ticks than there are */
    refuse(f, false, "x.json: damaged: its clock ticks every 1e-300 ns");
    f = begin_file(1);
    f->size = 100;
    refuse(f, false, "x.json: no recording: its first page is not whole");
}

/* Each with the event that comes first after it began; what is kept of them is bounded. */
TEST(pauses_are_said)
{
    struct file *f = begin_file(1);
    struct tp_recording_head *h = head_of(f);
    alloc(f, 0, 1010, 0x10000, 64);
    release(f, 0, 1500, 0x10000);
    alloc(f, 0, 2000, 0x10000, 64);
    release(f, 0, 2001, 0x10000);
    atomic_store(&h->pauses, 3);
    atomic_store(&h->pause[0].from, 1100);
    atomic_store(&h->pause[0].to, 1100 + UINT64_C(2500000000));
    atomic_store(&h->pause[1].from, 1900);
    atomic_store(&h->pause[1].to, 1900 + UINT64_C(1000000));
    atomic_store(&h->pause[2].from, 3000);
    expect(
        f,
        "alloc 0 64 a4 +10 @1; free 0 64 a4 +490 @2; alloc 0 64 a4 +500 @3; free 0 64 a4 +1 @4; ",
        "SIGUSR2 paused the recording at event 2 for 2.5 s, at event 3 for 0.001 s, at event 5 "
        "to the end");
    f = begin_file(1);
    h = head_of(f);
    alloc(f, 0, 1010, 0x10000, 64);
    atomic_store(&h->pauses, UINT32_MAX);
    expect_row(f, (struct importer_row){.remarks_part = " and 4,294,967,279 times more"});
}

TEST(children_that_are_not_followed_are_said)
{
    static const char *const said[] = {NULL, "1 child process was not recorded: --follow all",
                                       "2 child processes were not recorded: --follow all"};
    for (uint32_t n = 0; n < sizeof said / sizeof *said; n++) {
        struct file *f = begin_file(1);
        alloc(f, 0, 1010, 0x10000, 64);
        atomic_store(&head_of(f)->left_alone, n);
        expect(f, "alloc 0 64 a4 +10 @1; ", said[n]);
    }
}

TEST(alignments_are_powers_of_two)
{
    static const size_t rows[][2] = {{0, 1},
                                     {1, 1},
                                     {2, 2},
                                     {3, 4},
                                     {4096, 4096},
                                     {4097, 8192},
                                     {((size_t)1 << 63) - 1, (size_t)1 << 63},
                                     {(size_t)1 << 63, (size_t)1 << 63},
                                     {((size_t)1 << 63) + 1, (size_t)1 << 63},
                                     {SIZE_MAX, (size_t)1 << 63}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(tp_power_of_two(rows[i][0]) == rows[i][1]);
}
