/* Raw traces of glibc's malloc: every call, blocks that move, addresses that come back too early,
 * failed calls, what is refused and where, and what is none. Records are written here. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_malloc_raw;

enum type {
    MALLOC = 1,
    CALLOC,
    FREE,
    REALLOC,
    MEMALIGN,
    VALLOC,
    PVALLOC,
    POSIX_MEMALIGN,
    MAGIC = 255
};

struct record {
    enum type type;
    uint64_t ptr1, ptr2, size, size2;
    int32_t thread;
};

#define A 0x5581c0de2a0
#define B 0x5581c0de2d0
#define C 0x7f21ac000b60
#define START                                                                                      \
    {                                                                                              \
        MAGIC, 0x1234, 0, 8, 0, 1                                                                  \
    }
#define SAYS(records, ...)   READS_OF(records, COUNT(records), __VA_ARGS__)
#define MADE(records, ...)   SAYS(records, .program = __VA_ARGS__)
#define DENIED(records, ...) SAYS(records, .error = __VA_ARGS__)

struct file {
    unsigned char bytes[64 * 64];
    size_t size;
};

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static struct file write_records(const struct record *records, size_t count)
{
    struct file f = {.size = 64 * count};
    assert_true(f.size <= sizeof f.bytes);
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = f.bytes + 64 * i;
        put(at, (uint32_t)records[i].thread, 4);
        at[4] = (unsigned char)records[i].type;
        at[5] = 0xa5; /* which way the call went */
        put(at + 8, records[i].ptr1, 8);
        put(at + 16, records[i].ptr2, 8);
        put(at + 24, records[i].size, 8);
        put(at + 32, records[i].size2, 8);
        put(at + 40, 0x123456789, 8); /* what the block holds */
    }
    return f;
}

static struct importer_bytes as_file(const struct importer_row *row)
{
    static struct file f;
    f = write_records(row->text, row->size);
    return (struct importer_bytes){f.bytes, f.size};
}

static const struct importer raw = {
    .format = &tp_format_malloc_raw, .kind = "host", .unknown = "times", .encode = as_file};

/* ---- calls ---- */

static const struct record every_call[] = {
    START,
    {MALLOC, 0, A, 24, 0, 5},
    {CALLOC, 0, B, 400, 0, 5},
    {MEMALIGN, 0, C, 64, 4096, 6},
    {FREE, A, 0, 0, 0, 6},
    {POSIX_MEMALIGN, 0, A, 77, 64, 5},
    {MEMALIGN, 0, A + 4096, 9, 24, 5}, /* glibc takes the next power of two */
    {MEMALIGN, 0, A + 8192, 9, 0, 5},  /* and malloc's own at least */
    {FREE, 0, 0, 0, 0, 5},
    {FREE, C, 0, 0, 0, -3},
};
static const struct record page_calls[] = {
    START, {VALLOC, 0, A, 10, 0, 1}, {PVALLOC, 0, B, 5000, 0, 1}, {VALLOC, 0, 0, 8, 0, 1}};
static const struct importer_row calls[] = {
    MADE(every_call,
         "alloc 0 24 a4 @1; alloc 1 400 a4 @2; alloc 2 64 a12 t1 @3; free 0 24 a4 t1 @4; "
         "alloc 0 77 a6 @5; alloc 3 9 a5 @6; alloc 4 9 a4 @7; free 2 64 a12 t2 @9; ",
         .remarks = NOT_SAID),
    MADE(page_calls, "alloc 0 10 a12 @1; alloc 1 5000 a12 @2; note 0 8 a1 @3; ",
         .remarks =
             "the trace has no page size: calls of valloc and pvalloc are taken as aligned to "
             "4,096 bytes: 2"),
};

static const struct record one[] = {START, {MALLOC, 0, A, 24, 0, 5}};
static const struct importer_row meta[] = {
    SAYS(one, .strict = true, .facts = "time_known=0 ", .capture = "glibc malloc trace (raw)"),
};

/* An object keeps its slot while it moves, and its old address is free for others. */
static const struct record moves_calls[] = {
    START,
    {REALLOC, 0, A, 24, 0, 1},      /* malloc */
    {REALLOC, A, A, 30, 0, 1},      /* in place */
    {REALLOC, A, B, 99, 0, 1},      /* moved */
    {MALLOC, 0, A, 7, 0, 1},        /* the old place */
    {REALLOC, B, 0, 1 << 30, 0, 1}, /* failed: stays */
    {FREE, A, 0, 0, 0, 1},
    {REALLOC, B, 0, 0, 0, 1}, /* free */
    {REALLOC, 0, 0, 5, 0, 1}, /* failed */
    {MALLOC, 0, B, 6, 0, 1},
};
static const struct importer_row moves[] = {
    MADE(moves_calls,
         "alloc 0 24 a4 @1; realloc 0 30 a4 @2; realloc 0 99 a4 @3; alloc 1 7 a4 @4; "
         "note 0 1073741824 a1 @5; free 1 7 a4 @6; free 0 99 a4 @7; note 0 5 a1 @8; "
         "alloc 0 6 a4 @9; ",
         .remarks = NOT_SAID),
};

static const struct record failed_calls[] = {
    START,
    {MALLOC, 0, 0, UINT64_MAX, 0, 1},
    {POSIX_MEMALIGN, 12, 0, 64, 64, 1},
    {POSIX_MEMALIGN, 12, A, 65, 64, 1}, /* the place for the result was left as it was */
    {POSIX_MEMALIGN, 22, A, 66, 3, 1},
    {MALLOC, 0, A, 8, 0, 1},
};
static const struct importer_row failed[] = {
    MADE(failed_calls, "note 0 64 a1 @2; note 0 65 a1 @3; alloc 0 8 a4 @5; ",
         .remarks = "calls that were refused for their alignment are left out: 1\n"
                    "Failed requests of more than 2^48 bytes are left out: 1."),
};

/* ---- dirty captures ---- */

/* What was there before the recording began. */
static const struct record unknown_calls[] = {START,
                                              {FREE, A, 0, 0, 0, 1},
                                              {REALLOC, B, C, 9, 0, 1},
                                              {FREE, C, 0, 0, 0, 1},
                                              {FREE, UINT64_C(1) << 63, 0, 0, 0, 1},
                                              {FREE, UINT64_MAX, 0, 0, 0, 1}};
static const struct record unknown_zero[] = {
    START, {MALLOC, 0, A, 8, 0, 1}, {REALLOC, A, B, 0, 0, 1}, {FREE, A, 0, 0, 0, 1}};
static const struct importer_row unknown[] = {
    MADE(unknown_calls, "alloc 0 9 a4 @2; free 0 9 a4 @3; unknown_free=3 realloc_unknown=1 ",
         .remarks = NOT_SAID),
    DENIED(unknown_calls, "x.json: byte 64: event 1 frees id -5875985932961, which is not live",
           .strict = true),
    MADE(unknown_zero, "alloc 0 8 a4 @1; realloc 0 1 a4 @2; unknown_free=1 zero_size=1 ",
         .remarks = NOT_SAID),
};

/* The record of the free comes after that of the next owner: thread 2 got the block that thread 1
 * gave back. Each block lives until its own free. */
static const struct record reused_early_calls[] = {
    START,
    {MALLOC, 0, A, 24, 0, 1},
    {MALLOC, 0, A, 48, 0, 2}, /* the block was free by then */
    {FREE, A, 0, 0, 0, 1},    /* and this is what freed it */
    {MALLOC, 0, B, 5, 0, 1},
    {FREE, A, 0, 0, 0, 2},
    {FREE, B, 0, 0, 0, 1},
};
static const struct record reused_early_moves[] = {
    START,
    {MALLOC, 0, A, 24, 0, 1},
    {MALLOC, 0, B, 48, 0, 1},
    {REALLOC, A, B, 99, 0, 2}, /* B was free by then */
    {FREE, B, 0, 0, 0, 1},
    {REALLOC, B, C, 100, 0, 2},
    {FREE, C, 0, 0, 0, 2},
};
static const struct importer_row reused_early[] = {
    MADE(reused_early_calls,
         "alloc 0 24 a4 @1; free 0 24 a4 t1 @2; alloc 0 48 a4 t1 @2; alloc 1 5 a4 @4; "
         "free 0 48 a4 t1 @5; free 1 5 a4 @6; double_alloc=1 ",
         .remarks = "frees were recorded after their addresses were in use again: 1"),
    DENIED(reused_early_calls,
           "x.json: byte 128: event 2 allocates id 1, which is live since event 1", .strict = true),
    MADE(reused_early_moves,
         "alloc 0 24 a4 @1; alloc 1 48 a4 @2; free 1 48 a4 t1 @3; realloc 0 99 a4 t1 @3; "
         "realloc 0 100 a4 t1 @5; free 0 100 a4 t1 @6; double_alloc=1 ",
         .remarks = "frees were recorded after their addresses were in use again: 1"),
    DENIED(reused_early_moves,
           "x.json: byte 192: event 3 moves a block to where another one is live", .strict = true),
};

static const struct record nothing[] = {START, {0}, {0}};
static const struct record unused_holes[] = {
    START, {0}, {MALLOC, 0, A, 24, 0, 1}, {0}, {0}, {FREE, A, 0, 0, 0, 1}, {0}, {0}};
static const struct importer_row unused[] = {
    MADE(unused_holes, "alloc 0 24 a4 @1; free 0 24 a4 @2; ",
         .remarks = "records were never filled in: 3"),
    SAYS(nothing, .nothing = "no record was filled in", .remarks = NOT_SAID),
};

static const struct record no_magic_calls[] = {{MALLOC, 0, A, 24, 0, 1}, {FREE, A, 0, 0, 0, 1}};
static const struct importer_row no_magic[] = {
    MADE(no_magic_calls, "alloc 0 24 a4 @1; free 0 24 a4 @2; ",
         .remarks = "no magic record: taken as a trace of a 64-bit program"),
};

/* ---- refused ---- */

static const struct record refusals_type[] = {START, {MALLOC, 0, A, 24, 0, 1}, {77, 0, 0, 0, 0, 1}};
static const struct record refusals_twice[] = {START, START};
static const struct record refusals_narrow[] = {{MAGIC, 0x1234, 0, 4, 0, 1}};
static const struct record refusals_turned[] = {{MAGIC, UINT64_C(0x3412) << 48, 0, 8, 0, 1}};
static const struct record refusals_wrong[] = {{MAGIC, 0x1235, 0, 8, 0, 1}};
static const struct importer_row refusals[] = {
    DENIED(refusals_type, "x.json: byte 128: event 2: type 77 is an unknown call"),
    DENIED(refusals_twice,
           "x.json: byte 64: event 1: a second magic record: the file is more than one trace"),
    DENIED(refusals_narrow,
           "x.json: byte 0: event 1: pointers of 4 bytes: only 64-bit programs are read"),
    DENIED(refusals_turned,
           "x.json: byte 0: event 1: recorded on a big-endian machine, which is not read"),
    DENIED(refusals_wrong, "x.json: byte 0: event 1: the magic record has the wrong number"),
};

static const struct record limits_calls[] = {
    START, {MALLOC, 0, A, TP_MAX_SIZE + 1, 0, 1}, {MEMALIGN, 0, A, 1, UINT64_MAX, 1}};
static const struct importer_row limits[] = {
    MADE(limits_calls, "alloc 0 1 a30 @2; ",
         .remarks = "alignments above 2^30 are taken as 2^30: 1\n"
                    "Failed requests of more than 2^48 bytes are left out: 1."),
};

static const struct record to_cut[] = {START, {MALLOC, 0, A, 24, 0, 1}, {FREE, A, 0, 0, 0, 1}};

TEST(test_cut)
{
    const struct file f = write_records(to_cut, COUNT(to_cut));
    const struct importer as_it_is = {.format = &tp_format_malloc_raw};
    for (size_t size = 1; size < 192; size++) {
        char sentence[100];
        snprintf(sentence, sizeof sentence,
                 "x.json: byte %zu: event %d: the file ends within a record of 64 bytes",
                 size / 64 * 64, size < 128 ? 1 : 2);
        check_row(&as_it_is, &(struct importer_row){.text = f.bytes,
                                                    .size = size,
                                                    .error = size % 64 ? sentence : NULL});
    }
}

/* Addresses that are only in the reader's own table must not take all memory either. */
TEST(test_memory)
{
    enum { COUNTED = 100000 };
    unsigned char *bytes = calloc(COUNTED, 64);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < COUNTED; i++) {
        struct record call = {REALLOC, i + 1, i + COUNTED, 1, 0, 1};
        const struct file f = write_records(&call, 1);
        memcpy(bytes + 64 * i, f.bytes, 64);
    }
    struct reading r =
        read_bytes_as(&tp_format_malloc_raw, "y", bytes, (size_t)COUNTED * 64, false,
                      &(struct tp_read_opts){.device = -1, .max_memory = 1300 << 10});
    assert_int_equal(r.rc, TP_EINPUT);
    assert_non_null(strstr(r.err.text, "more addresses"));
    assert_non_null(strstr(r.err.text, "the memory for reading holds"));
    assert_non_null(strstr(r.err.hint, "--max-memory"));
    free(bytes);
}

/* ---- what it is ---- */

static int probe_records(const struct record *records, size_t count)
{
    const struct file f = write_records(records, count);
    return tp_format_malloc_raw.probe(f.bytes, f.size);
}

TEST(test_probe)
{
    static const struct record magic[] = {START, {77, 0, 0, 0, 0, 0}};
    static const struct record plain[] = {{MALLOC, 0, A, 24, 0, 11}, {0}, {FREE, A, 0, 0, 0, 11}};
    static const struct record type[] = {{MALLOC, 0, A, 24, 0, 1}, {9, 0, 0, 0, 0, 1}};
    static const struct record thread[] = {{MALLOC, 0, A, 24, 0, 0}};
    static const struct record empty[] = {{0}, {MALLOC, 0, A, 24, 0, 1}};
    assert_int_equal(probe_records(magic, COUNT(magic)), 100);
    assert_int_equal(probe_records(plain, COUNT(plain)), 50);
    assert_int_equal(probe_records(type, COUNT(type)), 0);
    assert_int_equal(probe_records(thread, COUNT(thread)), 0);
    assert_int_equal(probe_records(empty, COUNT(empty)), 0);
    struct file f = write_records(magic, COUNT(magic));
    assert_int_equal(tp_format_malloc_raw.probe(f.bytes, 63), 0);
    f = write_records(plain, COUNT(plain));
    f.bytes[63] = 1; /* the unused tail */
    assert_int_equal(tp_format_malloc_raw.probe(f.bytes, f.size), 0);
}

/* The other file of that tool chain is told apart by what it is. */
TEST(test_workload)
{
    static const unsigned char workload[] = {10, 1, 8, 3, 9, 0x81, 0, 11, 9, 1, 2, 1, 24, 5, 1, 1};
    assert_int_equal(tp_format_malloc_raw.probe(workload, sizeof workload), 60);
    struct reading r = read_bytes(&tp_format_malloc_raw, workload, sizeof workload, false);
    assert_int_equal(r.rc, TP_EINPUT);
    assert_string_equal(r.err.text, "x.json: a malloc workload (.wl), not a raw trace");
    static const char text[] = "\n\n\t\b\v\n";
    assert_int_equal(tp_format_malloc_raw.probe((const unsigned char *)text, sizeof text - 1), 0);
    assert_int_equal(tp_format_malloc_raw.probe(workload, 9), 0); /* without the end of its head */
}

TESTS(ROWS(raw, calls), ROWS(raw, meta), ROWS(raw, moves), ROWS(raw, failed), ROWS(raw, unknown),
      ROWS(raw, reused_early), ROWS(raw, unused), ROWS(raw, no_magic), ROWS(raw, refusals),
      ROWS(raw, limits))
