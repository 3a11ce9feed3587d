/* Recordings of GPUs' memory: handles that mean other things when they come again, streams and what
 * is known to be complete, captures, pools, what is left out, and records that no recorder writes.
 */
#include "tests/unit/recording_rig.h"

#include "traces/record/device_call.h"

static struct file *begin_devices(int threads)
{
    struct file *f = begin_file(threads);
    head_of(f)->memory = TP_REC_OF_DEVICE;
    return f;
}

static void put_call(struct file *f, int thread, uint64_t time, struct tp_device_call c)
{
    unsigned char body[TP_DEVICE_CALL_BYTES];
    put_more(f, thread, time, TP_MORE_DEVICE, body, tp_device_call_put(c, body));
}

/* The next call of thread 0, 1 ns after the one before. */
#define CALL(f, what, ...)                                                                         \
    put_call(f, 0, (f)->threads[0].time + 1,                                                       \
             (struct tp_device_call){.kind = TP_CALL_##what, __VA_ARGS__})

#define S1 0x55d0aa001000
#define S2 0x55d0aa002000
#define E1 0x55d0bb001000
#define P1 0x55d0cc001000
#define M1 0x7f2c00000000
#define M2 0x7f2c00200000

#define ALLOC(f, s, p, bytes) CALL(f, ALLOC, .stream = s, .object = p, .size = bytes)
#define FREE(f, s, p)         CALL(f, FREE, .stream = s, .object = p)

TEST(memory_of_streams)
{
    struct file *f = begin_devices(1);
    CALL(f, ALLOC_NOW, .object = M1, .size = 100);
    CALL(f, STREAM, .stream = S1);
    ALLOC(f, S1, M2, 200);
    CALL(f, FREE_NOW, .object = M1);
    FREE(f, S1, M2);
    CALL(f, SYNC_STREAM, .stream = S1);
    CALL(f, SYNC_DEVICE, .device = 0);
    expect(f,
           "alloc 0 100 a8 +1 @1; alloc 1 200 a8 s1 +2 @2; free 0 100 a8 +1 @3; "
           "free 1 200 a8 s1 +1 @4; sync 0 0 s1 +1 @5; sync 0 0 s65535 +1 @6; ",
           NULL);
}

/* A stream that no memory is asked of or freed in is in no trace, and has nothing to catch up. */
TEST(streams_of_no_memory)
{
    struct file *f = begin_devices(1);
    CALL(f, SYNC_DEVICE, .device = 0);
    CALL(f, STREAM, .stream = S1);
    CALL(f, RECORD, .stream = S1, .object = E1);
    CALL(f, SYNC_STREAM, .stream = S1);
    CALL(f, SYNC_EVENT, .object = E1);
    ALLOC(f, S2, M1, 8);
    CALL(f, TRIM, .object = P1, .size = 4);
    expect(f, "alloc 0 8 a8 +6 @1; ", NULL);
}

TEST(handles_come_again)
{
    struct file *f = begin_devices(1);
    CALL(f, STREAM, .stream = S1);
    ALLOC(f, S1, M1, 8);
    CALL(f, STREAM_END, .stream = S1);
    CALL(f, STREAM, .device = 1, .stream = S1);
    CALL(f, ALLOC, .device = 1, .stream = S1, .object = M2, .size = 16);
    CALL(f, STREAM, .stream = S1); /* its end was not seen */
    FREE(f, S1, M1);
    FREE(f, S1, M2); /* of the other device: freed in its own stream */
    expect(f,
           "alloc 0 8 a8 +2 @1; alloc 1 16 a8 s1 d1 +3 @2; free 0 8 a8 s2 +2 @3; "
           "free 1 16 a8 s1 d1 +1 @4; ",
           NULL);
}

/* Each device and each thread has streams that have no handle of their own. */
TEST(default_streams)
{
    struct file *f = begin_devices(2);
    ALLOC(f, TP_STREAM_LEGACY, M1, 8);
    ALLOC(f, TP_STREAM_PER_THREAD, M2, 16);
    CALL(f, ALLOC, .device = 1, .stream = TP_STREAM_LEGACY, .object = M2 + 4096, .size = 32);
    put_call(f, 1, 1100,
             (struct tp_device_call){
                 .kind = TP_CALL_FREE, .stream = TP_STREAM_PER_THREAD, .object = M2});
    put_call(
        f, 1, 1101,
        (struct tp_device_call){.kind = TP_CALL_FREE, .stream = TP_STREAM_LEGACY, .object = M1});
    expect(f,
           "alloc 0 8 a8 +1 @1; alloc 1 16 a8 s1 +1 @2; alloc 2 32 a8 s2 d1 +1 @3; "
           "free 1 16 a8 t1 s3 +97 @4; free 0 8 a8 t1 +1 @5; ",
           NULL);
}

/* A mark comes before there is a stream, and is of none; the trace has no device that the program
 * did not use. */
TEST(a_mark_before_all_streams)
{
    struct file *f = begin_devices(1);
    put_mark(f, 0, 1000, "load");
    CALL(f, ALLOC_NOW, .device = 3, .object = M1, .size = 8);
    CALL(f, ALLOC_NOW, .device = 0, .object = M2, .size = 16);
    expect_row(f, (struct importer_row){.strict = true,
                                        .facts = "devices=2 streams=2 peak=8 next_peak=16 "});
}

/* A program may make and destroy streams without end; a trace has 65,535 at most. */
TEST(streams_without_end)
{
    enum { EACH = 90 };
    struct file *f = begin_devices(THREADS);
    for (int i = 0; i < THREADS * EACH; i++) {
        static const enum tp_device_call_kind kinds[] = {TP_CALL_STREAM, TP_CALL_FAILED,
                                                         TP_CALL_STREAM_END};
        for (int k = 0; k < 3; k++)
            put_call(f, i / EACH, 1001 + (uint64_t)(3 * i + k),
                     (struct tp_device_call){
                         .kind = kinds[k], .stream = S1 + (uint64_t)(i % 7), .size = 1});
    }
    expect_row(f, (struct importer_row){.strict = true, .facts = "events=360 streams=256 "});
}

/* ---- what is known to be complete ---- */

TEST(events_say_that_a_stream_has_caught_up)
{
    struct file *f = begin_devices(1);
    ALLOC(f, S1, M1, 8);
    ALLOC(f, S1, M2, 16);
    FREE(f, S1, M1);
    CALL(f, RECORD, .stream = S1, .object = E1);
    CALL(f, SYNC_EVENT, .object = E1); /* all of the stream */
    CALL(f, SYNC_EVENT, .object = E1); /* says nothing new */
    CALL(f, RECORD, .stream = S1, .object = E1);
    FREE(f, S1, M2);
    CALL(f, SYNC_EVENT, .object = E1); /* not all of it */
    CALL(f, EVENT_END, .object = E1);
    CALL(f, SYNC_EVENT, .object = E1); /* another event, never recorded */
    expect(f,
           "alloc 0 8 a8 +1 @1; alloc 1 16 a8 +1 @2; free 0 8 a8 +1 @3; sync 0 0 +2 @4; "
           "free 1 16 a8 +3 @5; ",
           "waits for events whose stream had freed more by then are left out: 1");
}

/* Who waits says so each time, who asks learns something once. */
TEST(asking_again_and_again)
{
    struct file *f = begin_devices(1);
    ALLOC(f, S1, M1, 8);
    CALL(f, STREAM_DONE, .stream = S1); /* it has freed nothing */
    FREE(f, S1, M1);
    CALL(f, STREAM_DONE, .stream = S1);
    CALL(f, STREAM_DONE, .stream = S1);
    CALL(f, SYNC_STREAM, .stream = S1);
    expect(f, "alloc 0 8 a8 +1 @1; free 0 8 a8 +2 @2; sync 0 0 +1 @3; sync 0 0 +2 @4; ", NULL);
}

/* Of one device among several, its streams are named. */
TEST(a_device_catches_up)
{
    struct file *f = begin_devices(1);
    ALLOC(f, S1, M1, 8);
    ALLOC(f, S2, M2, 16);
    CALL(f, ALLOC_NOW, .device = 1, .object = M2 + 4096, .size = 32);
    FREE(f, S1, M1);
    FREE(f, S2, M2);
    CALL(f, SYNC_DEVICE, .device = 1);
    CALL(f, SYNC_DEVICE, .device = 0);
    CALL(f, SYNC_DEVICE, .device = 0); /* says nothing new */
    expect(f,
           "alloc 0 8 a8 +1 @1; alloc 1 16 a8 s1 +1 @2; alloc 2 32 a8 s2 d1 +1 @3; "
           "free 0 8 a8 +1 @4; free 1 16 a8 s1 +1 @5; sync 0 0 s1 +2 @6; sync 0 0 @6; ",
           NULL);
}

TEST(a_reset_ends_what_a_device_holds)
{
    struct file *f = begin_devices(1);
    CALL(f, ALLOC_NOW, .object = M1, .size = 8);
    CALL(f, ALLOC_NOW, .object = M2, .size = 16);
    CALL(f, RESET, .device = 0);
    CALL(f, ALLOC_NOW, .object = M1, .size = 24);
    CALL(f, FREE_NOW, .object = M1);
    CALL(f, FREE_NOW, .object = M2);
    CALL(f, RESET, .device = 3); /* holds nothing */
    expect_row(
        f, (struct importer_row){
               .strict = true,
               .facts = "events=5 live_at_end=0 ",
               .remarks = "frees of blocks that were there before the recording are left out: 1"});
}

/* ---- what is left out ---- */

/* A capture goes to the stream that waits for an event in it, and ends for both. */
TEST(captures)
{
    struct file *f = begin_devices(1);
    CALL(f, CAPTURE, .stream = S1);
    ALLOC(f, S1, M1, 1 << 20);
    CALL(f, RECORD, .stream = S1, .object = E1);
    CALL(f, WAIT, .stream = S2, .object = E1);
    ALLOC(f, S2, M2, 1 << 20);
    FREE(f, S2, M2);
    CALL(f, CAPTURE_END, .stream = S1);
    ALLOC(f, S2, M2, 8);
    CALL(f, WAIT, .stream = S1, .object = E1);
    FREE(f, S1, M1); /* what the graph allocated, freed outside it */
    FREE(f, S1, M2);
    expect(f, "alloc 0 8 a8 +8 @1; free 0 8 a8 s1 +3 @2; ",
           "allocations in graphs are left out: 2 (2 MiB)");
}

TEST(memory_that_is_no_device_s)
{
    struct file *f = begin_devices(1);
    CALL(f, LEFT_OUT, .object = M1, .size = 4096, .other = TP_LEFT_MANAGED);
    CALL(f, FREE_NOW, .object = M1);
    CALL(f, POOL, .device = TP_CALL_NO_DEVICE, .object = P1);
    CALL(f, ALLOC, .stream = S1, .object = M2, .size = 8, .other = P1);
    FREE(f, S1, M2);
    CALL(f, POOL_END, .object = P1);
    CALL(f, ALLOC, .stream = S1, .object = M2, .size = 8, .other = P1); /* another pool */
    CALL(f, LEFT_OUT, .other = TP_LEFT_ARRAY);
    CALL(f, LEFT_OUT, .size = 1 << 21, .other = TP_LEFT_PHYSICAL);
    CALL(f, LEFT_OUT, .other = TP_LEFT_CONTEXT);
    CALL(f, FREE_NOW, .object = M2 + 8);
    expect(f, "alloc 0 8 a8 +7 @1; ",
           "frees of blocks that were there before the recording are left out: 1\n"
           "managed memory, which moves between host and devices, is left out: 1 (4 KiB)\n"
           "memory of the host that was asked of the driver is left out: 1 (8 B)\n"
           "arrays, whose size is not known, are left out: 1\n"
           "memory that the program maps itself (cuMemCreate) is left out: 1 (2 MiB)\n"
           "contexts were destroyed; what they held counts as if it were there: 1");
}

/* A pool may lie on another device than the stream that uses it. */
TEST(pools)
{
    struct file *f = begin_devices(1);
    CALL(f, POOL, .device = 1, .object = P1);
    CALL(f, ALLOC, .stream = S1, .object = M1, .size = 8, .other = P1);
    FREE(f, S1, M1);
    CALL(f, TRIM, .object = P1, .size = UINT64_MAX);
    expect(f,
           "alloc 0 8 a8 s1 d1 +2 @1; free 0 8 a8 s1 d1 +1 @2; trim 0 281474976710656 d1 +1 @3; ",
           "blocks of another device than that of their stream are taken for the other's default "
           "stream: 1");
}

TEST(requests_that_failed)
{
    struct file *f = begin_devices(1);
    CALL(f, FAILED, .stream = S1, .size = 1 << 30);
    CALL(f, FAILED, .stream = S1, .size = UINT64_MAX);
    expect(f, "note 0 1073741824 a1 +1 @1; alloc 0 1073741824 a8 @1; free 0 1073741824 a8 @1; ",
           "Failed requests of more than 2^48 bytes are left out: 1.");
}

/* ---- order ---- */

/* An address that one thread frees is waited for by the thread that gets it next. */
TEST(an_address_changes_hands)
{
    struct file *f = begin_devices(2);
    ALLOC(f, S1, M1, 8);
    put_call(
        f, 1, 1010,
        (struct tp_device_call){.kind = TP_CALL_ALLOC, .stream = S1, .object = M1, .size = 16});
    put_call(f, 0, 1010, (struct tp_device_call){.kind = TP_CALL_FREE, .stream = S1, .object = M1});
    expect(f, "alloc 0 8 a8 +1 @1; free 0 8 a8 +9 @2; alloc 0 16 a8 t1 @3; ", NULL);
}

/* ---- what no recorder writes ---- */

TEST(bad_records)
{
    static const struct {
        unsigned char body[24];
        size_t bytes;
    } rows[] = {
        {{0}, 0},                                                 /* no kind */
        {{TP_CALL_NONE}, 1},                                      /* none that there is */
        {{TP_CALL_KINDS, 1, 1, 1}, 4},                            /* or will be */
        {{TP_CALL_ALLOC_NOW, 0, 1}, 3},                           /* too short */
        {{TP_CALL_ALLOC_NOW, 0, 1, 1, 1}, 5},                     /* too long */
        {{TP_CALL_ALLOC_NOW, 0, 0x80}, 3},                        /* no end */
        {{TP_CALL_ALLOC_NOW, 0x80, 0x02, 1, 1}, 5},               /* device 256 */
        {{TP_CALL_POOL, 0x81, 0x02, 1}, 4},                       /* device 257 */
        {{TP_CALL_SYNC_DEVICE, 0xff, 0xff, 0xff, 0xff, 0x0f}, 6}, /* device 2^32 - 1 */
        {{TP_CALL_LEFT_OUT, 0, 0, TP_LEFT_REASONS}, 4},           /* no reason */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct file *f = begin_devices(1);
        CALL(f, ALLOC_NOW, .object = M1, .size = 8);
        put_more(f, 0, 1002, TP_MORE_DEVICE, rows[i].body, rows[i].bytes);
        CALL(f, FREE_NOW, .object = M1);
        expect(f, "alloc 0 8 a8 +1 @1; truncated=1 ", NULL);
    }
}

/* In a recording of the host such records say nothing, and its own events nothing wrong in one of a
 * device. */
TEST(records_of_the_other_kind)
{
    struct file *f = begin_file(1);
    CALL(f, ALLOC_NOW, .object = M1, .size = 8);
    expect(f, "", NULL);
    f = begin_devices(1);
    alloc(f, 0, 1001, M1, 8);
    CALL(f, FREE_NOW, .object = M1);
    expect(f, "alloc 0 8 a8 +1 @1; free 0 8 a8 +1 @2; ", NULL);
}
