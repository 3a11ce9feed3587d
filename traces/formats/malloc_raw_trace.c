/* The raw trace of glibc's malloc-trace-utils: an array of 64-byte records, one per call, in the
 * layout of a 64-bit little-endian machine.
 *
 *      0        4      5       8       16      24      32       40       48      64
 *      | thread | type | flags | ptr 1 | ptr 2 | size  | size 2 | size 3 | unused |
 *
 *      malloc, calloc, valloc, pvalloc     ptr 2 = f(size)
 *      memalign                            ptr 2 = f(size 2 = alignment, size)
 *      posix_memalign                      the same, and ptr 1 is what it returned
 *      realloc                             ptr 2 = f(ptr 1, size)
 *      free                                f(ptr 1)
 *
 * Size 2 and size 3 of newer captures are the usable sizes of blocks and not requested ones, so
 * they are not read. The first record is a magic one with the word size. Records of type 0 were
 * never filled in; the end of the file is full of them.
 *
 * Threads race for the places of their records, so an address may be allocated again in a record
 * before that of its free: host_calls.h has `late_frees` for that. */
#include "alloc/base/numbers.h"
#include "traces/format.h"
#include "traces/lower/host_calls.h"

#include <byteswap.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define RECORD     ((size_t)64)
#define MAGIC_PTR  UINT64_C(0x1234)
#define PAGE       4096u     /* alignment of valloc; the file does not say */
#define THREAD_MAX (1 << 22) /* highest thread number of Linux */

enum raw_type {
    UNUSED,
    MALLOC,
    CALLOC,
    FREE,
    REALLOC,
    MEMALIGN,
    VALLOC,
    PVALLOC,
    POSIX_MEMALIGN,
    TYPE_COUNT,
    MAGIC = 255
};

struct record {
    int32_t thread;
    uint8_t type;
    uint64_t ptr1, ptr2, size, size2;
};

struct raw_reader {
    const struct tp_reading *r;
    struct tp_host_counts counts;
    struct tp_host_calls calls;
    uint64_t offset; /* byte of the record in the file */
    bool magic;
    uint64_t invalid, paged; /* number of calls of each kind */
    uint64_t unused, holes;  /* records never filled in: at the end, before other records */
};

static uint64_t word(const unsigned char *at)
{
    uint64_t value = 0;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static struct record decode(const unsigned char *at)
{
    uint32_t thread = 0;
    memcpy(&thread, at, sizeof thread);
    return (struct record){.thread = (int32_t)le32toh(thread),
                           .type = at[4],
                           .ptr1 = word(at + 8),
                           .ptr2 = word(at + 16),
                           .size = word(at + 24),
                           .size2 = word(at + 32)};
}

/* ---- recognising it ---- */

static bool is_magic(const unsigned char *at)
{
    return at[4] == MAGIC && (word(at + 8) == MAGIC_PTR || word(at + 8) == bswap_64(MAGIC_PTR));
}

/* Whether a record makes sense: a capture without a magic record is recognised by its shape
 * only. */
static bool is_plausible(const unsigned char *at)
{
    static const unsigned char zeros[16] = {0};
    struct record r = decode(at);
    if (r.type == UNUSED)
        return true;
    return r.type < TYPE_COUNT && r.thread > 0 && r.thread <= THREAD_MAX &&
           memcmp(at + 48, zeros, sizeof zeros) == 0;
}

/* Whether the first record is filled in and all records that are shown make sense. */
static bool has_shape(const unsigned char *data, size_t size)
{
    if (size < RECORD || data[4] == UNUSED)
        return false;
    for (size_t at = 0; at + RECORD <= size; at += RECORD)
        if (!is_plausible(data + at))
            return false;
    return true;
}

/* Recognises the workload file that is converted from a raw trace: codes followed by numbers with 7
 * bits per byte. It begins with the numbers of threads, pointers and locks, then with the start of
 * each thread. */
static bool is_workload(const unsigned char *data, size_t size)
{
    /* codes; 9 and 10, locks and threads, lie between them */
    enum { NOP = 0, DONE = 1, POINTERS = 8, START = 11 };
    bool starts = false;
    /* a workload never has so many zeros */
    if (memmem(data, size < 1024 ? size : 1024, "\0\0\0", 4))
        return false;
    for (size_t at = 0; at < size;) {
        unsigned char code = data[at++];
        if (code == DONE)
            return starts;
        if (code == NOP)
            continue;
        if (code < POINTERS || code > START)
            return false;
        starts |= code == START;
        while (at < size && data[at] & 0x80)
            at++;
        at++;
    }
    return false;
}

static int probe_malloc_raw(const unsigned char *data, size_t size)
{
    if (size >= RECORD && is_magic(data))
        return 100;
    if (is_workload(data, size))
        return 60;
    return has_shape(data, size) ? 50 : 0;
}

/* ---- errors ---- */

/* Puts "x: byte 128: event 2: " before the message of a bad input. */
static int placed(const struct raw_reader *rd, int rc, struct tp_err *err)
{
    if (rc != TP_EINPUT)
        return rc;
    rc = tp_prefix(err, rc, "event %s", tp_count(tp_lower_count(rd->r->lower) + 1).s);
    return tp_input_at_byte(rd->r->in, rd->offset, rc, err);
}

static int bad(const struct raw_reader *rd, struct tp_err *err, const char *text)
{
    return placed(rd, tp_fail(err, TP_EINPUT, "%s", text), err);
}

/* ---- calls ---- */

static struct tp_event event_of(const struct raw_reader *rd, const struct record *c)
{
    return (struct tp_event){
        .size = c->size, .thread = (uint32_t)c->thread, .has_offset = true, .offset = rd->offset};
}

static int on_alloc(struct raw_reader *rd, const struct record *c, struct tp_err *err)
{
    struct tp_event ev = event_of(rd, c);
    bool paged = c->type == VALLOC || c->type == PVALLOC;
    if (paged)
        ev.align = PAGE;
    else if (c->type == MEMALIGN || c->type == POSIX_MEMALIGN)
        ev.align = c->size2;
    rd->paged += paged && c->ptr2;
    return tp_host_alloc(&rd->calls, &ev, c->ptr2, err);
}

/* ptr 1 is what it returned: 0 or an error, with which the place for the result stays as it was. */
static int on_posix_memalign(struct raw_reader *rd, const struct record *c, struct tp_err *err)
{
    struct record call = *c;
    struct tp_event ev = event_of(rd, c);
    if (c->ptr1)
        call.ptr2 = 0;
    if (c->ptr1 != EINVAL)
        return on_alloc(rd, &call, err);
    rd->invalid++;
    return tp_host_skip(&rd->calls, &ev, err);
}

static int on_free(struct raw_reader *rd, const struct record *c, struct tp_err *err)
{
    struct tp_event ev = event_of(rd, c);
    return tp_host_free(&rd->calls, &ev, c->ptr1, err);
}

static int on_realloc(struct raw_reader *rd, const struct record *c, struct tp_err *err)
{
    struct tp_event ev = event_of(rd, c);
    return tp_host_realloc(&rd->calls, &ev, c->ptr1, c->ptr2, err);
}

/* ---- the file ---- */

static int on_magic(struct raw_reader *rd, const unsigned char *at, struct tp_err *err)
{
    char text[80];
    struct record c = decode(at);
    if (rd->magic)
        return bad(rd, err, "a second magic record: the file is more than one trace");
    rd->magic = true;
    if (c.ptr1 == bswap_64(MAGIC_PTR))
        return bad(rd, err, "recorded on a big-endian machine, which is not read");
    if (c.ptr1 != MAGIC_PTR)
        return bad(rd, err, "the magic record has the wrong number");
    if (c.size == sizeof(uint64_t))
        return TP_OK;
    snprintf(text, sizeof text, "pointers of %" PRIu64 " bytes: only 64-bit programs are read",
             c.size);
    return bad(rd, err, text);
}

static int on_record(struct raw_reader *rd, const unsigned char *at, struct tp_err *err)
{
    static int (*const handlers[TYPE_COUNT])(struct raw_reader *, const struct record *,
                                             struct tp_err *) = {
        [MALLOC] = on_alloc,   [CALLOC] = on_alloc,
        [FREE] = on_free,      [REALLOC] = on_realloc,
        [MEMALIGN] = on_alloc, [VALLOC] = on_alloc,
        [PVALLOC] = on_alloc,  [POSIX_MEMALIGN] = on_posix_memalign};
    struct record c = decode(at);
    if (c.type == UNUSED) {
        rd->unused++;
        return TP_OK;
    }
    rd->holes += rd->unused;
    rd->unused = 0;
    if (c.type == MAGIC)
        return on_magic(rd, at, err);
    if (c.type < TYPE_COUNT)
        return handlers[c.type](rd, &c, err);
    char text[80];
    snprintf(text, sizeof text, "type %u is an unknown call", c.type);
    return bad(rd, err, text);
}

static int read_records(struct raw_reader *rd, struct tp_err *err)
{
    for (;;) {
        const unsigned char *data = NULL;
        size_t got = 0;
        rd->offset = tp_input_offset(rd->r->in);
        int rc = tp_input_peek(rd->r->in, RECORD, &data, &got, err);
        if (rc != TP_OK || got == 0)
            return rc;
        if (got < RECORD)
            return bad(rd, err, "the file ends within a record of 64 bytes");
        rc = on_record(rd, data, err);
        if (rc != TP_OK)
            return rc;
        tp_input_take(rd->r->in, RECORD);
    }
}

static void describe(struct raw_reader *rd)
{
    struct tp_meta *meta = rd->r->meta;
    const struct {
        uint64_t count;
        const char *what;
    } remarks[] = {
        {rd->invalid, "calls that were refused for their alignment are left out"},
        {rd->holes, "records were never filled in"},
        {rd->paged, "the trace has no page size: calls of valloc and pvalloc are taken as aligned "
                    "to 4,096 bytes"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i].count)
            tp_meta_remark(meta, "%s: %s", remarks[i].what, tp_count(remarks[i].count).s);
    tp_host_describe(&rd->counts, meta);
    if (!rd->magic)
        tp_meta_remark(meta, "no magic record: taken as a trace of a 64-bit program");
    if (tp_lower_count(rd->r->lower) == 0)
        tp_meta_set(meta, &meta->nothing, "no record was filled in");
}

static int begin(struct raw_reader *rd, struct tp_err *err)
{
    const unsigned char *data = NULL;
    size_t got = 0;
    struct tp_meta *meta = rd->r->meta;
    int rc = tp_input_peek(rd->r->in, 1024, &data, &got, err);
    if (rc == TP_OK && is_workload(data, got) && !(got >= RECORD && is_magic(data)))
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: a malloc workload (.wl), not a raw trace",
                               tp_input_name(rd->r->in)),
                       "trace2wl made it out of a raw trace: that one can be read");
    tp_meta_set(meta, &meta->capture, "glibc malloc trace (raw)");
    tp_meta_set(meta, &meta->unknown, "times");
    return rc == TP_OK ? tp_host_kind(rd->r, err) : rc;
}

static int read_raw(const struct tp_reading *r, struct tp_err *err)
{
    struct raw_reader rd = {.r = r};
    tp_host_calls_init(&rd.calls, r, tp_lower_sink(r->lower), &rd.counts);
    rd.calls.late_frees = true;
    int rc = begin(&rd, err);
    if (rc == TP_OK)
        rc = read_records(&rd, err);
    if (rc == TP_OK || rc == TP_ESTOP)
        describe(&rd);
    tp_host_calls_release(&rd.calls);
    return rc;
}

const struct tp_format tp_format_malloc_raw = {
    .name = "malloc-raw",
    .summary = "raw trace of glibc malloc-trace-utils",
    .record = "MTRACE_CTL_FILE=FILE LD_PRELOAD=libmtrace.so PROGRAM",
    .probe = probe_malloc_raw,
    .read = read_raw,
};
