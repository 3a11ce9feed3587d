/* What the tests of the trace reader share: reading text, and programs as text to compare. */
#ifndef TP_TRACE_FIXTURE_H
#define TP_TRACE_FIXTURE_H

#include "tests/unit/test.h"
#include "traces/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct tp_format tp_format_json, tp_format_jsonl;

/* The result of reading a trace from memory; to be released with forget() unless it is an error. */
struct reading {
    int rc;
    struct tp_err err;
    struct tp_program *program; /* NULL after an error */
    struct tp_meta meta;
    struct tp_recorded recorded;
    struct tp_places places;
    uint64_t repairs[TP_REPAIR_COUNT];
};

static inline void forget_places(struct reading *r)
{
    if (r->places.release)
        r->places.release(r->places.ctx);
    r->places = (struct tp_places){0};
}

static inline struct tp_lower *open_lower(struct tp_lower_cfg cfg)
{
    struct tp_lower *lo = NULL;
    assert_int_equal(tp_lower_new(&cfg, &lo, NULL), TP_OK);
    return lo;
}

static inline struct tp_program *close_lower(struct tp_lower *lo)
{
    uint64_t repairs[TP_REPAIR_COUNT];
    struct tp_program *p = NULL;
    struct tp_err err = {0};
    if (tp_lower_finish(lo, &p, repairs, &err) != TP_OK)
        fail_msg("%s", err.text);
    tp_lower_free(lo);
    return p;
}

static inline struct reading read_silently(const struct tp_format *format, struct tp_input *in,
                                           bool strict, const struct tp_read_opts *opts,
                                           struct tp_err *err)
{
    struct reading r = {0};
    struct tp_lower *lo = NULL;
    struct tp_budget budget = {.limit = tp_max_memory(opts)};
    const struct tp_lower_cfg cfg = {
        .path = tp_input_name(in), .budget = &budget, .strict = strict};
    r.rc = tp_lower_new(&cfg, &lo, err);
    if (r.rc == TP_OK)
        r.rc = format->read(&(struct tp_reading){.in = in,
                                                 .lower = lo,
                                                 .meta = &r.meta,
                                                 .recorded = &r.recorded,
                                                 .places = &r.places,
                                                 .opts = opts,
                                                 .budget = &budget},
                            err);
    if (r.rc == TP_OK)
        r.rc = tp_lower_finish(lo, &r.program, r.repairs, err);
    tp_lower_free(lo);
    if (r.rc != TP_OK) {
        tp_meta_release(&r.meta);
        tp_recorded_release(&r.recorded);
        forget_places(&r);
    }
    return r;
}

static inline struct reading read_input_as(const struct tp_format *format, struct tp_input *in,
                                           bool strict, const struct tp_read_opts *opts)
{
    struct tp_err err = {0};
    struct reading r = read_silently(format, in, strict, opts, &err);
    if (r.rc != TP_OK)
        assert_int_equal(r.rc, err.status);
    r.err = err;
    return r;
}

static inline struct reading read_input(const struct tp_format *format, struct tp_input *in,
                                        bool strict)
{
    return read_input_as(format, in, strict, &(struct tp_read_opts){.device = -1});
}

/* What is refused is refused as well where nobody asks why. */
static inline struct reading read_bytes_as(const struct tp_format *format, const char *name,
                                           const void *data, size_t size, bool strict,
                                           const struct tp_read_opts *opts)
{
    struct reading r = {0};
    struct tp_input *in = NULL, *again = NULL;
    r.rc = tp_input_memory(name, data, size, 0, &in, &r.err);
    if (r.rc == TP_OK)
        r = read_input_as(format, in, strict, opts);
    tp_input_close(in);
    if (r.rc != TP_OK && tp_input_memory(name, data, size, 0, &again, NULL) == TP_OK) {
        assert_int_equal(read_silently(format, again, strict, opts, NULL).rc, r.rc);
        tp_input_close(again);
    }
    return r;
}

static inline struct reading read_bytes(const struct tp_format *format, const void *data,
                                        size_t size, bool strict)
{
    return read_bytes_as(format, "x.json", data, size, strict,
                         &(struct tp_read_opts){.device = -1});
}

static inline struct reading read_text(const struct tp_format *format, const char *text,
                                       bool strict)
{
    return read_bytes(format, text, strlen(text), strict);
}

static inline struct reading read_path(const struct tp_format *format, const char *path,
                                       bool strict, const struct tp_read_opts *opts)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    struct reading r = read_input_as(format, in, strict, opts);
    tp_input_close(in);
    return r;
}

static inline void forget(struct reading *r)
{
    tp_program_release(r->program);
    tp_meta_release(&r->meta);
    tp_recorded_release(&r->recorded);
    forget_places(r);
    r->program = NULL;
}

/* "alloc 0 8" and what differs from the usual: "a12" alignment, "t1" thread, "s1" stream, "d1"
 * device,
 * "+5" gap, "@3" event. Instructions are separated by "; ". */
static inline void write_insn(const struct tp_insn *in, uint64_t event, char *out, size_t size)
{
    const char *name = in->op == TP_THREAD_END ? "end" : tp_op_rows[in->op].name;
    int n = snprintf(out, size, "%s %" PRIu32 " %" PRIu64, name, in->slot, in->size);
    const struct {
        const char *mark;
        uint64_t value;
    } rest[] = {{" a", in->align_log2},
                {" t", in->thread},
                {" s", in->stream},
                {" d", in->device},
                {" +", in->gap_ns}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        if (rest[i].value)
            n += snprintf(out + n, size - (size_t)n, "%s%" PRIu64, rest[i].mark, rest[i].value);
    }
    snprintf(out + n, size - (size_t)n, " @%" PRIu64 "; ", event);
}

static inline void write_program(struct tp_program *p, char *out, size_t size)
{
    struct tp_cursor *c = NULL;
    struct tp_window w;
    size_t used = 0;
    out[0] = '\0';
    assert_int_equal(tp_cursor_open(p, &c, NULL), TP_OK);
    while (tp_cursor_next(c, &w, NULL) == 1) {
        for (uint32_t i = 0; i < w.count && used + 200 < size; i++) {
            write_insn(&w.insns[i], tp_window_event(&w, i), out + used, size - used);
            used += strlen(out + used);
        }
    }
    tp_cursor_close(c);
}

/* Adds the repairs that were made, as "name=count ". */
static inline void write_repairs(const struct reading *r, char *out, size_t size)
{
    for (int i = 0; i < TP_REPAIR_COUNT; i++) {
        size_t used = strlen(out);
        if (r->repairs[i])
            snprintf(out + used, size - used, "%s=%" PRIu64 " ", tp_repair_names[i], r->repairs[i]);
    }
}

#endif
