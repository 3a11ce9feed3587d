/* The traces of malloc-bench (.trace): a message of Protocol Buffers, in which a line is a call.
 *
 *     1  line     1  malloc    result_id 1, input_size 2, input_alignment 3
 *                 2  free      input_id 1, hints of its size and alignment
 *                 3  realloc   result_id 1, input_id 2, input_size 3
 *                 4  calloc    result_id 1, input_nmemb 2, input_size 3
 *     2  most allocations at a time
 *
 * An id is used again once its block is freed, so it is taken as an address. One that is missing is
 * NULL. Fields of other numbers are passed over, in lines and beside them. Known weakness: the most
 * allocations at a time are not compared with the calls. */
#include "alloc/base/numbers.h"
#include "traces/input/protobuf.h"
#include "traces/lower/host_calls.h"

#include <inttypes.h>

#define LINE_MOST ((size_t)1000) /* bytes; what is known of a line takes at most 40 */
#define HEAD_MOST ((size_t)20)   /* head and length of a field */

enum { LINE = 1, MOST_LIVE = 2 };

struct malloc_bench {
    const struct tp_reading *reading;
    struct tp_host_counts counts;
    struct tp_host_calls calls;
    uint64_t offset;
    uint64_t empty;   /* lines without a call */
    uint64_t unknown; /* fields of later versions, beside the lines */
    uint64_t passing; /* bytes of such a field that are still to come */
};

/* Numbers of the calls in a line, and of what a call has. */
enum bench_kind { BENCH_NONE, BENCH_MALLOC, BENCH_FREE, BENCH_REALLOC, BENCH_CALLOC };
enum { CALL_FIELDS = 4 }; /* 1 to 3 */

struct bench_call {
    enum bench_kind kind;
    uint64_t value[CALL_FIELDS]; /* 0 where it is not given */
    bool given[CALL_FIELDS];
};

/* ---- a call ---- */

static bool read_values(struct tp_protobuf body, struct bench_call *call)
{
    struct tp_protobuf_field f;
    while (body.at < body.end) {
        if (!tp_protobuf_cut(&body, &f) || !f.whole)
            return false;
        if (f.number >= CALL_FIELDS)
            continue;
        if (f.kind != TP_PROTOBUF_VARINT)
            return false;
        call->value[f.number] = f.value;
        call->given[f.number] = true;
    }
    return true;
}

/* Reads the message of a line. False: it is none, or a field is not as it must be. */
static bool read_call(struct tp_protobuf line, struct bench_call *call)
{
    struct tp_protobuf_field f;
    *call = (struct bench_call){.kind = BENCH_NONE};
    while (line.at < line.end) {
        if (!tp_protobuf_cut(&line, &f) || !f.whole)
            return false;
        if (f.number > BENCH_CALLOC)
            continue;
        *call = (struct bench_call){.kind = (enum bench_kind)f.number};
        if (f.kind != TP_PROTOBUF_BYTES || !read_values(f.body, call))
            return false;
    }
    return true;
}

/* ---- recognising it ---- */

/* Whether each line that is shown holds a call and nothing else. Fields of later versions may lie
 * between them. */
static int probe_malloc_bench(const unsigned char *data, size_t size)
{
    struct tp_protobuf w = {data, data + size};
    struct tp_protobuf_field f;
    struct bench_call call;
    int calls = 0;
    bool unknown = false, longer = false; /* than what is shown */
    while (calls < 100 && !longer && w.at < w.end) {
        if (!tp_protobuf_cut(&w, &f))
            break; /* the file, or what is shown of it, ends */
        unknown |= f.number > MOST_LIVE;
        longer = !f.whole;
        if (f.number != LINE || longer)
            continue;
        if (f.kind != TP_PROTOBUF_BYTES || f.value > LINE_MOST || !read_call(f.body, &call) ||
            call.kind == BENCH_NONE)
            return 0;
        calls++;
    }
    bool cut = (size_t)(w.end - w.at) > LINE_MOST + HEAD_MOST && calls < 100;
    if (cut && !(unknown && longer))
        return 0;
    if (calls >= 3)
        return unknown ? 60 : 85;
    return calls > 0 && !unknown ? 60 : 0;
}

/* ---- errors ---- */

/* Puts "x: byte 128: event 2: " before the message of a bad input. */
static int bad(const struct malloc_bench *m, struct tp_err *err, const char *text)
{
    int rc = tp_fail(err, TP_EINPUT, "event %s: %s",
                     tp_count(tp_lower_count(m->reading->lower) + 1).s, text);
    return tp_input_at_byte(m->reading->in, m->offset, rc, err);
}

/* ---- calls ---- */

static bool ids_fit(const struct bench_call *call)
{
    return call->value[1] < INT64_MAX &&
           (call->kind != BENCH_REALLOC || call->value[2] < INT64_MAX);
}

/* The address that stands for an id: 0 is NULL, and ids begin with 0. */
static uint64_t address_of(const struct bench_call *call, int field)
{
    return call->given[field] ? call->value[field] + 1 : 0;
}

static int take_malloc(struct malloc_bench *m, struct tp_event *ev, const struct bench_call *call,
                       struct tp_err *err)
{
    ev->size = call->value[2];
    ev->align = call->value[3];
    return tp_host_alloc(&m->calls, ev, address_of(call, 1), err);
}

static int take_calloc(struct malloc_bench *m, struct tp_event *ev, const struct bench_call *call,
                       struct tp_err *err)
{
    ev->size = tp_host_product(call->value[2], call->value[3]);
    return tp_host_alloc(&m->calls, ev, address_of(call, 1), err);
}

static int take_realloc(struct malloc_bench *m, struct tp_event *ev, const struct bench_call *call,
                        struct tp_err *err)
{
    ev->size = call->value[3];
    return tp_host_realloc(&m->calls, ev, address_of(call, 2), address_of(call, 1), err);
}

static int take_free(struct malloc_bench *m, struct tp_event *ev, const struct bench_call *call,
                     struct tp_err *err)
{
    return tp_host_free(&m->calls, ev, address_of(call, 1), err);
}

static int take_line(struct malloc_bench *m, struct tp_protobuf line, struct tp_err *err)
{
    static int (*const takers[])(struct malloc_bench *, struct tp_event *,
                                 const struct bench_call *,
                                 struct tp_err *) = {[BENCH_MALLOC] = take_malloc,
                                                     [BENCH_FREE] = take_free,
                                                     [BENCH_REALLOC] = take_realloc,
                                                     [BENCH_CALLOC] = take_calloc};
    struct tp_event ev = {.has_offset = true, .offset = m->offset};
    struct bench_call call;
    if (!read_call(line, &call))
        return bad(m, err, "not a line of malloc-bench");
    if (!ids_fit(&call))
        return bad(m, err, "an id above 2^63");
    m->empty += call.kind == BENCH_NONE;
    return call.kind == BENCH_NONE ? TP_OK : takers[call.kind](m, &ev, &call, err);
}

/* ---- the file ---- */

/* Handles a file that ends within a field. */
static int take_cut(const struct malloc_bench *m, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_NOTE, .has_offset = true, .offset = m->offset};
    return tp_lower_repaired(m->reading->lower, &ev, TP_REPAIR_TRUNCATED,
                             ": the file ends in the middle of this line", err);
}

/* Takes a field of the file from the bytes that are shown, and sets *used to its bytes. */
static int take_field(struct malloc_bench *m, const unsigned char *data, size_t got, size_t *used,
                      struct tp_err *err)
{
    struct tp_protobuf w = {data, data + got};
    struct tp_protobuf_field f;
    bool last = got < LINE_MOST + HEAD_MOST; /* what is shown is the end of the file */
    bool cut = !tp_protobuf_cut(&w, &f);
    *used = (size_t)(w.at - data);
    if (cut && last && w.at == w.end)
        return take_cut(m, err);
    bool known = f.number == LINE;
    if (cut || (known && (f.kind != TP_PROTOBUF_BYTES || f.value > LINE_MOST)))
        return bad(m, err, "not a line of malloc-bench");
    m->unknown += f.number > MOST_LIVE;
    m->passing = known || f.whole ? 0 : f.value - (uint64_t)(w.end - w.at);
    *used = f.whole ? *used : got;
    if (!known)
        return TP_OK;
    return f.whole ? take_line(m, f.body, err) : take_cut(m, err);
}

static int read_fields(struct malloc_bench *m, struct tp_err *err)
{
    for (;;) {
        const unsigned char *data = NULL;
        size_t got = 0, used = 0;
        int rc = tp_input_peek(m->reading->in, LINE_MOST + HEAD_MOST, &data, &got, err);
        if (rc || got == 0)
            return rc || !m->passing ? rc : take_cut(m, err);
        if (m->passing) {
            used = m->passing < got ? (size_t)m->passing : got;
            m->passing -= used;
        } else {
            m->offset = tp_input_offset(m->reading->in);
            rc = take_field(m, data, got, &used, err);
        }
        if (rc)
            return rc;
        tp_input_take(m->reading->in, used);
    }
}

static void describe(const struct malloc_bench *m)
{
    struct tp_meta *meta = m->reading->meta;
    tp_meta_set(meta, &meta->capture, "malloc-bench trace");
    tp_meta_set(meta, &meta->unknown, "times, threads");
    tp_host_describe(&m->counts, meta);
    if (m->empty)
        tp_meta_remark(meta, "Lines without a call are left out: %s.", tp_count(m->empty).s);
    if (m->unknown)
        tp_meta_remark(meta, "Fields of a later version are left out: %s.", tp_count(m->unknown).s);
    if (tp_lower_count(m->reading->lower) == 0)
        tp_meta_set(meta, &meta->nothing, "it has no line with a call");
}

static int read_malloc_bench(const struct tp_reading *r, struct tp_err *err)
{
    struct malloc_bench m = {.reading = r};
    int rc = tp_host_kind(r, err);
    tp_host_calls_init(&m.calls, r, tp_lower_sink(r->lower), &m.counts);
    if (!rc)
        rc = read_fields(&m, err);
    if (!rc || rc == TP_ESTOP)
        describe(&m);
    tp_host_calls_release(&m.calls);
    return rc;
}

const struct tp_format tp_format_malloc_bench = {
    .name = "malloc-bench",
    .summary = "traces of malloc-bench (.trace), Protocol Buffers",
    .probe = probe_malloc_bench,
    .read = read_malloc_bench,
};
