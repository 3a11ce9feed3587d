/* What the tests of importers share: an importer's test is a table of rows, each a text and what
 * becomes of it. A row says what its test is about; what it leaves out is not looked at. */
#ifndef TP_IMPORTER_RIG_H
#define TP_IMPORTER_RIG_H

#include "alloc/base/str.h"
#include "tests/unit/trace_fixture.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NOT_SAID     "(not said)" /* expected where a text must be missing */

struct importer_bytes {
    const void *data;
    size_t size;
};

/* One input and its reading. Sentences are compared whole, but for those named `part`. */
struct importer_row {
    const void *text; /* or what `encode` takes */
    size_t size;
    const char *path;  /* of a file that is read instead */
    const char *space; /* asked for */
    int64_t device;    /* asked for, plus 1; 0: all */
    uint64_t max_memory;
    bool strict;
    const char *error, *error_part; /* it is refused */
    const char *hint, *hint_part;
    const char *program; /* with the repairs behind it: "alloc 0 8 a4 @1; zero_size=1 " */
    const char *facts;   /* "events=2 peak=64 ": write_facts */
    const char *marks;   /* "one|two|" */
    const char *kind, *title, *name, *capture, *recorder, *settings, *unknown, *taken, *left_out,
        *remarks, *remarks_part, *nothing, *nothing_hint;
};

struct importer {
    const struct tp_format *format;
    const char *input;          /* the name of inputs; NULL: x.json */
    const char *kind, *unknown; /* of all that it reads, where rows do not say otherwise */
    struct importer_bytes (*encode)(const struct importer_row *row);
};

/* Rows: of a text that is read, with its program or without, and of one that is refused. */
#define READS_OF(what, length, ...)                                                                \
    {                                                                                              \
        .text = (what), .size = (length), __VA_ARGS__                                              \
    }
#define READS(what, ...)   READS_OF(what, sizeof(what) - 1, __VA_ARGS__)
#define REPLAYS(what, ...) READS(what, .program = __VA_ARGS__)
#define REFUSED(what, ...) READS(what, .error = __VA_ARGS__)

static inline uint64_t sum_of_repairs(const struct reading *r)
{
    uint64_t sum = 0;
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        sum += r->repairs[i];
    return sum;
}

static inline uint64_t sum_of_gaps(struct tp_program *p)
{
    struct tp_cursor *c = NULL;
    struct tp_window w;
    uint64_t ns = 0;
    assert_int_equal(tp_cursor_open(p, &c, NULL), TP_OK);
    while (tp_cursor_next(c, &w, NULL) == 1)
        for (uint32_t i = 0; i < w.count; i++)
            ns += w.insns[i].gap_ns;
    tp_cursor_close(c);
    return ns;
}

static inline void write_fact(const char *wanted, const char *name, uint64_t value, char *out,
                              size_t size)
{
    size_t used = strlen(out), length = strcspn(wanted, "=");
    if (strlen(name) == length && strncmp(wanted, name, length) == 0)
        snprintf(out + used, size - used, "%s=%" PRIu64 " ", name, value);
}

/* What the recorded allocator held on a device, by the names of the members. */
static inline void write_recorded(const char *wanted, const struct tp_recorded_device *device,
                                  const char *which, char *out, size_t size)
{
    static const char *const names[] = {
        "number",         "start_reserved", "start_segments", "end_reserved",    "end_segments",
        "end_large",      "end_small",      "end_free",       "end_free_blocks", "end_largest",
        "end_returnable", "demand_event",   "demand_largest"};
    uint64_t values[COUNT(names)];
    char name[40];
    _Static_assert(sizeof values == sizeof *device, "a member has no name");
    memcpy(values, device, sizeof values);
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(name, sizeof name, "%s%s", which, names[i]);
        write_fact(wanted, name, values[i], out, size);
    }
}

/* The facts that are named in `wanted`, as they are; `next_`: of the second device. */
static inline void write_facts(const struct reading *r, const char *wanted, char *out, size_t size)
{
    const struct tp_program_facts *f = tp_program_facts(r->program);
    const struct tp_demand *demand = tp_program_demand(r->program, 0);
    const struct tp_demand *next = tp_program_demand(r->program, f->devices > 1 ? 1 : 0);
    const struct {
        const char *name;
        uint64_t value;
    } facts[] = {{"events", f->events},
                 {"instructions", f->instructions},
                 {"operations", f->operations},
                 {"allocs", f->ops[TP_ALLOC]},
                 {"frees", f->ops[TP_FREE]},
                 {"reallocs", f->ops[TP_REALLOC]},
                 {"notes", f->ops[TP_NOTE]},
                 {"idles", f->ops[TP_IDLE]},
                 {"objects", f->objects},
                 {"slots", f->slots},
                 {"initial_heap", f->initial_heap},
                 {"live_at_end", f->live_at_end},
                 {"live_at_end_bytes", f->live_at_end_bytes},
                 {"time_known", f->time_known},
                 {"duration_ns", f->duration_ns},
                 {"devices", f->devices},
                 {"streams", f->streams},
                 {"threads", f->threads},
                 {"recorded_threads", f->recorded_threads},
                 {"peak", demand->bytes},
                 {"peak_event", demand->event},
                 {"peak_insn", demand->insn},
                 {"initial_heap_bytes", demand->initial_heap_bytes},
                 {"next_peak", next->bytes},
                 {"next_initial_heap_bytes", next->initial_heap_bytes},
                 {"spaces", r->meta.spaces},
                 {"wrapped", r->meta.wrapped},
                 {"not_recorded", r->meta.not_recorded},
                 {"recorded_devices", r->recorded.count},
                 {"has_end", r->recorded.has_end},
                 {"repairs", sum_of_repairs(r)},
                 {"gaps_ns", sum_of_gaps(r->program)}};
    out[0] = '\0';
    for (const char *at = wanted; *at; at += strcspn(at, " "), at += *at == ' ') {
        for (size_t i = 0; i < COUNT(facts); i++)
            write_fact(at, facts[i].name, facts[i].value, out, size);
        for (size_t i = 0; i < TP_REPAIR_COUNT; i++)
            write_fact(at, tp_repair_names[i], r->repairs[i], out, size);
        for (uint32_t i = 0; i < r->recorded.count && i < 2; i++)
            write_recorded(at, &r->recorded.devices[i], i ? "next_" : "", out, size);
    }
}

static inline const char *what_of(const struct importer_row *row)
{
    const char *text = row->text ? row->text : "";
    return row->path ? row->path : text;
}

/* A difference comes with the text that it is about. */
static inline void expect_words(const struct importer_row *row, const char *got,
                                const char *expected)
{
    if (expected && strcmp(got ? got : NOT_SAID, expected) != 0)
        print_message("of: %s\n", what_of(row));
    if (expected)
        assert_string_equal(got ? got : NOT_SAID, expected);
}

static inline void expect_part(const char *got, const char *part)
{
    if (part && !(got && strstr(got, part)))
        fail_msg("'%s' is not in '%s'", part, got ? got : NOT_SAID);
}

/* What a trace says of itself. */
static inline void check_words(const struct importer *im, const struct importer_row *row,
                               const struct reading *r)
{
    static const char *const kinds[] = {[TP_KIND_HOST] = "host", [TP_KIND_DEVICE] = "device"};
    const struct tp_meta *m = &r->meta;
    expect_words(row, kinds[m->kind], row->kind ? row->kind : im->kind);
    expect_words(row, kinds[tp_program_facts(r->program)->kind], row->kind ? row->kind : im->kind);
    expect_words(row, m->unknown, row->unknown ? row->unknown : im->unknown);
    expect_words(row, m->name, row->title);
    expect_words(row, m->program, row->name);
    expect_words(row, m->capture, row->capture);
    expect_words(row, r->recorded.by, row->recorder);
    expect_words(row, m->settings, row->settings);
    expect_words(row, m->space, row->taken);
    expect_words(row, m->left_out, row->left_out);
    expect_words(row, m->remarks, row->remarks);
    expect_words(row, m->nothing, row->nothing);
    expect_words(row, m->nothing_hint, row->nothing_hint);
    expect_part(m->remarks, row->remarks_part);
}

static inline void check_refusal(const struct importer_row *row, const struct reading *r)
{
    if (r->rc != TP_EINPUT)
        fail_msg("%s\n  is not refused", what_of(row));
    expect_words(row, r->err.text, row->error);
    expect_part(r->err.text, row->error_part);
    expect_words(row, r->err.hint, row->hint);
    expect_part(r->err.hint, row->hint_part);
}

static inline struct reading read_row(const struct importer *im, const struct importer_row *row)
{
    const struct tp_read_opts opts = {
        .space = row->space, .device = row->device - 1, .max_memory = row->max_memory};
    if (row->path)
        return read_path(im->format, row->path, row->strict, &opts);
    const struct importer_bytes in =
        im->encode ? im->encode(row) : (struct importer_bytes){row->text, row->size};
    return read_bytes_as(im->format, im->input ? im->input : "x.json", in.data, in.size,
                         row->strict, &opts);
}

static inline void check_result(const struct importer *im, const struct importer_row *row,
                                const struct reading *r)
{
    static char got[1 << 16];
    if (row->error || row->error_part) {
        check_refusal(row, r);
        return;
    }
    if (r->rc != TP_OK)
        fail_msg("%s\n  got: %s", what_of(row), r->err.text);
    write_program(r->program, got, sizeof got);
    write_repairs(r, got, sizeof got);
    expect_words(row, got, row->program);
    write_facts(r, row->facts ? row->facts : "", got, sizeof got);
    expect_words(row, got, row->facts);
    got[0] = '\0';
    for (uint32_t i = 0; i < tp_program_facts(r->program)->marks; i++)
        tp_append(got, sizeof got, "%s|", tp_program_mark(r->program, i));
    expect_words(row, got, row->marks);
    check_words(im, row, r);
}

/* To be released with forget(). */
static inline struct reading check_reading(const struct importer *im,
                                           const struct importer_row *row)
{
    struct reading r = read_row(im, row);
    check_result(im, row, &r);
    return r;
}

static inline void check_row(const struct importer *im, const struct importer_row *row)
{
    struct reading r = check_reading(im, row);
    forget(&r);
}

/* ---- tables as tests of their names ---- */

struct importer_test {
    const struct importer *importer;
    const void *rows;
    size_t count, refused, read;
};

#define IMPORTER_TEST(check, of, table, ...)                                                       \
    {                                                                                              \
        .name = #table, .test_func = (check), .initial_state = &(struct importer_test)             \
        {                                                                                          \
            &(of), table, COUNT(table), __VA_ARGS__                                                \
        }                                                                                          \
    }
#define ROWS(of, table)               IMPORTER_TEST(check_rows, of, table, 0, 0)
#define SCORES(of, table)             IMPORTER_TEST(check_scores, of, table, 0, 0)
#define CUTS(of, text, refused, read) IMPORTER_TEST(check_cuts, of, text, refused, read)

static inline void check_rows(void **state)
{
    const struct importer_test *t = *state;
    const struct importer_row *rows = t->rows;
    for (size_t i = 0; i < t->count; i++)
        check_row(t->importer, &rows[i]);
}

/* How sure a format is that these bytes are of it. */
struct importer_score {
    const void *data;
    size_t size;
    int score;
};

#define SCORE(what, score)                                                                         \
    {                                                                                              \
        (what), sizeof(what) - 1, score                                                            \
    }

static inline void check_scores(void **state)
{
    const struct importer_test *t = *state;
    const struct importer_score *rows = t->rows;
    for (size_t i = 0; i < t->count; i++)
        if (t->importer->format->probe(rows[i].data, rows[i].size) != rows[i].score)
            fail_msg("score %zu is not %d", i, rows[i].score);
}

/* Beginnings of a text of fewer than `refused` bytes are refused, with the name of the input, those
 * of at least `read` bytes are read, and those between them one or the other. */
static inline void check_cuts(void **state)
{
    const struct importer_test *t = *state;
    for (size_t size = 1; size < t->count; size++) {
        char *copy = malloc(size); /* of exactly this size, so that a sanitizer sees the end */
        assert_non_null(copy);
        memcpy(copy, t->rows, size);
        struct reading r = read_bytes(t->importer->format, copy, size, false);
        if (size >= t->read || (r.rc == TP_OK && size >= t->refused))
            assert_int_equal(r.rc, TP_OK);
        else
            assert_int_equal(r.rc, TP_EINPUT);
        if (r.rc != TP_OK)
            assert_memory_equal(r.err.text, "x.json:", 7);
        forget(&r);
        free(copy);
    }
}

#endif
