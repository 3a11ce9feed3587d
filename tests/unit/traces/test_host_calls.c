/* The same calls, written in every format that records calls of malloc: one program, whatever the
 * format. What a format cannot say is in the table of formats, and such rows are not asked of it.
 */
#include "tests/unit/recording_rig.h"

extern const struct tp_format tp_format_heaptrack, tp_format_malloc_bench, tp_format_malloc_raw,
    tp_format_memory_replay, tp_format_mtrace, tp_format_valgrind;

/* A call of malloc (align 0) or memalign, realloc or free; `at` is what it returned. */
struct call {
    char op; /* 'm', 'r' or 'f' */
    uint64_t at, from, size, align;
};

#define MALLOC(to, bytes)                                                                          \
    {                                                                                              \
        .op = 'm', .at = (to), .size = (bytes)                                                     \
    }
#define MEMALIGN(to, wanted, bytes)                                                                \
    {                                                                                              \
        .op = 'm', .at = (to), .size = (bytes), .align = (wanted)                                  \
    }
#define REALLOC(old, to, bytes)                                                                    \
    {                                                                                              \
        .op = 'r', .at = (to), .from = (old), .size = (bytes)                                      \
    }
#define FREE(block)                                                                                \
    {                                                                                              \
        .op = 'f', .from = (block)                                                                 \
    }
enum { A = 0x10, B = 0x20, C = 0x30, D = 0x40 };

/* ---- writing a call in each format ---- */

static bool in_place(const struct call *c)
{
    return c->from == c->at;
}

static void write_valgrind(FILE *f, const struct call *c)
{
    if (c->op == 'f')
        fprintf(f, "--7-- free(0x%" PRIx64 ")\n", c->from);
    else if (c->op == 'r')
        fprintf(f, "--7-- realloc(0x%" PRIx64 ",%" PRIu64 ") = 0x%" PRIx64 "\n", c->from, c->size,
                c->at);
    else if (c->align)
        fprintf(f, "--7-- memalign(al %" PRIu64 ", size %" PRIu64 ") = 0x%" PRIx64 "\n", c->align,
                c->size, c->at);
    else
        fprintf(f, "--7-- malloc(%" PRIu64 ") = 0x%" PRIx64 "\n", c->size, c->at);
}

/* A realloc of NULL, to 0 bytes or without a result has a line of its own. */
static void write_mtrace(FILE *f, const struct call *c)
{
    if (c->op == 'f' || (c->op == 'r' && !c->at && !c->size))
        fprintf(f, "- 0x%" PRIx64 "\n", c->from);
    else if (c->op == 'r' && !c->at)
        fprintf(f, "! 0x%" PRIx64 " 0x%" PRIx64 "\n", c->from, c->size);
    else if (c->op == 'r' && c->from)
        fprintf(f, "< 0x%" PRIx64 "\n> 0x%" PRIx64 " 0x%" PRIx64 "\n", c->from, c->at, c->size);
    else
        fprintf(f, "+ 0x%" PRIx64 " 0x%" PRIx64 "\n", c->at, c->size);
}

static void write_memory_replay(FILE *f, const struct call *c)
{
    if (c->op == 'f')
        fprintf(f, "7: free 0x%" PRIx64 "\n", c->from);
    else if (c->op == 'r')
        fprintf(f, "7: realloc 0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64 "\n", c->at, c->from, c->size);
    else if (c->align)
        fprintf(f, "7: memalign 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", c->at, c->align, c->size);
    else
        fprintf(f, "7: malloc 0x%" PRIx64 " %" PRIu64 "\n", c->at, c->size);
}

static void write_heaptrack(FILE *f, const struct call *c)
{
    if (c->op == 'm')
        fprintf(f, "+ %" PRIx64 " 1 %" PRIx64 "\n", c->size, c->at);
    else
        fprintf(f, "- %" PRIx64 "\n", c->from);
}

/* Each block has a class of its own: its number is the address. */
static void write_interpreted(FILE *f, const struct call *c)
{
    static uint64_t classes, class_at[D + 1];
    if (c->op == 'm' && ftell(f) < 16)
        classes = 0;
    if (c->op == 'm')
        fprintf(f, "a %" PRIx64 " 0\n+ %" PRIx64 "\n", c->size, class_at[c->at] = classes++);
    else if (c->from)
        fprintf(f, "- %" PRIx64 "\n", class_at[c->from]);
}

static void write_word(FILE *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 0xff), f);
}

static void write_raw(FILE *f, const struct call *c)
{
    enum { RAW_MALLOC = 1, RAW_FREE = 3, RAW_REALLOC, RAW_MEMALIGN };
    static const int types[] = {['m'] = RAW_MALLOC, ['f'] = RAW_FREE, ['r'] = RAW_REALLOC};
    const uint64_t words[7] = {c->from, c->at, c->size, c->align};
    write_word(f, 7, 4);
    write_word(f, (uint64_t)(c->align ? RAW_MEMALIGN : types[(int)c->op]), 4);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        write_word(f, words[i], 8);
}

/* A message in a message of the line; numbers without a value are left out. */
static void write_bench(FILE *f, const struct call *c)
{
    unsigned char body[64], *at = body;
    static const int kinds[] = {['m'] = 1, ['f'] = 2, ['r'] = 3};
    int kind = kinds[(int)c->op];
    const uint64_t values[3][3] = {
        {c->at, c->size, c->align}, {c->from}, {c->at, c->from, c->size}};
    for (int i = 0; i < 3; i++)
        if (values[kind - 1][i]) {
            *at++ = (unsigned char)((i + 1) << 3);
            at = tp_rec_put(at, values[kind - 1][i]);
        }
    int length = (int)(at - body);
    const int head[] = {0x0a, length + 2, kind << 3 | 2, length};
    for (int i = 0; i < 4; i++)
        fputc(head[i], f);
    fwrite(body, 1, (size_t)length, f);
}

static unsigned recorded_as(const struct call *c)
{
    if (c->op == 'f')
        return TP_REC_FREE;
    if (c->align)
        return TP_REC_ALIGNED;
    if (c->op == 'm' || !c->from)
        return TP_REC_ALLOC;
    if (!c->at)
        return TP_REC_FREE;
    return in_place(c) ? TP_REC_RESIZE : TP_REC_MOVE;
}

/* A recording has one chunk, which ends with the file. */
static void write_recording(FILE *f, const struct call *c)
{
    static struct file *rec;
    if (ftell(f) == 0) {
        free(rec);
        rec = begin_file(1);
    }
    unsigned op = recorded_as(c);
    if (op != TP_REC_FREE || c->from) {
        put_token(rec, 0, op, 1000);
        if (op == TP_REC_ALIGNED)
            put(rec, 0, (uint64_t)__builtin_ctzll(c->align));
        if (op == TP_REC_ALLOC || op == TP_REC_ALIGNED)
            put(rec, 0, c->size);
        if (op == TP_REC_MOVE)
            put(rec, 0, 0); /* no time passes */
        put_address(rec, 0, op == TP_REC_ALLOC || op == TP_REC_ALIGNED ? c->at : c->from);
        if (op == TP_REC_MOVE)
            put_address(rec, 0, c->at);
        if (op == TP_REC_MOVE || op == TP_REC_RESIZE)
            put(rec, 0, 2 * c->size);
        end_event(rec, 0);
    }
    rewind(f);
    fwrite(rec->bytes, 1, rec->size, f);
}

/* ---- what each format cannot say ---- */

enum {
    NO_ALIGNMENT = 1,  /* requested alignments are not in the file */
    ODD_ALIGNMENT = 2, /* alignments are in the file as powers of two */
    NO_REALLOC = 4,    /* a realloc is a free and an allocation */
    NO_FAILURES = 8,   /* calls that fail are not in the file */
    NO_ADDRESSES = 16, /* blocks without addresses: a lost free is not to be seen */
    UNORDERED = 32,    /* a free may come late: the next one of an address that was used again */
};

static const struct call_format {
    const char *name;
    const struct tp_format *format;
    void (*write)(FILE *f, const struct call *c);
    unsigned cannot;
    const char *head;
} formats[] = {
    {"valgrind", &tp_format_valgrind, write_valgrind, 0, ""},
    {"mtrace", &tp_format_mtrace, write_mtrace, NO_ALIGNMENT, "= Start\n"},
    {"malloc-raw", &tp_format_malloc_raw, write_raw, UNORDERED, ""},
    {"malloc-bench", &tp_format_malloc_bench, write_bench, 0, ""},
    {"memory-replay", &tp_format_memory_replay, write_memory_replay, 0, ""},
    {"heaptrack", &tp_format_heaptrack, write_heaptrack, NO_ALIGNMENT | NO_REALLOC | NO_FAILURES,
     "v 10400 3\n"},
    {"heaptrack, interpreted", &tp_format_heaptrack, write_interpreted,
     NO_ALIGNMENT | NO_REALLOC | NO_FAILURES | NO_ADDRESSES, "v 10400 3\n"},
    {"recording", &tp_format_recording, write_recording, ODD_ALIGNMENT | NO_FAILURES, ""},
};
enum { FORMATS = sizeof formats / sizeof *formats, CALLS = 6 };

/* ---- the calls ---- */

static const struct row {
    const char *what;
    unsigned needs; /* what a format must be able to say */
    struct call calls[CALLS];
    const char *program;
    const char *repairs;
    const char *remarked; /* those that a recording remarks instead: it begins within its program */
} rows[] = {
    {"blocks",
     0,
     {MALLOC(A, 24), MALLOC(B, 100), FREE(A), FREE(B)},
     "alloc 0 24 a4; alloc 1 100 a4; free 0 24 a4; free 1 100 a4; ",
     "",
     ""},
    {"alignments below malloc's, and odd ones",
     NO_ALIGNMENT | ODD_ALIGNMENT,
     {MEMALIGN(A, 24, 100), MEMALIGN(B, 1, 7), MEMALIGN(C, 4097, 8)},
     "alloc 0 100 a5; alloc 1 7 a4; alloc 2 8 a13; ",
     "",
     ""},
    {"alignments",
     NO_ALIGNMENT,
     {MEMALIGN(A, 8, 100), MEMALIGN(B, 4096, 8), MEMALIGN(C, UINT64_C(1) << 31, 8)},
     "alloc 0 100 a4; alloc 1 8 a12; alloc 2 8 a30; ",
     "",
     ""},
    {"a block of 0 bytes",
     0,
     {MALLOC(A, 0), FREE(A)},
     "alloc 0 1 a4; free 0 1 a4; ",
     "zero_size=1 ",
     "zero_size"},
    {"a call that fails",
     NO_FAILURES,
     {MALLOC(0, 64), MALLOC(0, 0), FREE(0), MALLOC(A, 8)},
     "note 0 64 a1; alloc 0 8 a4; ",
     "",
     ""},
    {"a size that no block can have",
     0,
     {MALLOC(A, TP_MAX_SIZE + 1), MALLOC(A, 8), MALLOC(B, UINT64_MAX)},
     "alloc 0 8 a4; ",
     "",
     ""},
    {"reallocs",
     NO_REALLOC,
     {REALLOC(0, A, 24), REALLOC(A, A, 30), REALLOC(A, B, 99), MALLOC(A, 7), REALLOC(B, 0, 0),
      FREE(A)},
     "alloc 0 24 a4; realloc 0 30 a4; realloc 0 99 a4; alloc 1 7 a4; free 0 99 a4; free 1 7 a4; ",
     "",
     ""},
    {"a realloc that fails",
     NO_REALLOC | NO_FAILURES,
     {MALLOC(A, 8), REALLOC(A, 0, 90), REALLOC(A, B, UINT64_MAX / 4), FREE(A)},
     "alloc 0 8 a4; note 0 90 a1; free 0 8 a4; ",
     "",
     ""},
    {"a realloc to 0 bytes that leaves a block",
     NO_REALLOC,
     {MALLOC(A, 8), REALLOC(A, B, 0), FREE(B)},
     "alloc 0 8 a4; realloc 0 1 a4; free 0 1 a4; ",
     "zero_size=1 ",
     "zero_size"},
    {"an address again",
     NO_ADDRESSES,
     {MALLOC(A, 24), MALLOC(A, 48)},
     "alloc 0 24 a4; free 0 24 a4; alloc 0 48 a4; ",
     "double_alloc=1 ",
     ""},
    {"an address again, and its free",
     NO_ADDRESSES | UNORDERED,
     {MALLOC(A, 24), MALLOC(A, 48), FREE(A)},
     "alloc 0 24 a4; free 0 24 a4; alloc 0 48 a4; free 0 48 a4; ",
     "double_alloc=1 ",
     ""},
    {"a realloc to where a block is live",
     NO_REALLOC,
     {MALLOC(A, 24), MALLOC(B, 48), REALLOC(A, B, 99)},
     "alloc 0 24 a4; alloc 1 48 a4; free 1 48 a4; realloc 0 99 a4; ",
     "double_alloc=1 ",
     ""},
    {"frees of nothing",
     NO_ADDRESSES,
     {FREE(A), MALLOC(A, 8), FREE(A), FREE(A)},
     "alloc 0 8 a4; free 0 8 a4; ",
     "unknown_free=2 ",
     "unknown_free"},
    {"a realloc of nothing",
     NO_REALLOC,
     {REALLOC(C, D, 9), REALLOC(D, D, 10), FREE(D)},
     "alloc 0 9 a4; realloc 0 10 a4; free 0 10 a4; ",
     "realloc_unknown=1 ",
     "realloc_unknown"},
    {"a realloc of nothing to where a block is live",
     NO_REALLOC,
     {MALLOC(A, 8), REALLOC(C, A, 9), FREE(C)},
     "alloc 0 8 a4; free 0 8 a4; alloc 0 9 a4; ",
     "unknown_free=1 double_alloc=1 realloc_unknown=1 ",
     "unknown_free realloc_unknown"},
};

static struct reading read_calls(const struct call_format *format, const struct call *calls)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs(format->head, f);
    for (size_t i = 0; i < CALLS && calls[i].op; i++)
        format->write(f, &calls[i]);
    fclose(f);
    struct reading r = read_bytes(format->format, text, size, false);
    free(text);
    return r;
}

/* "alloc 0 24 a4 @1; " without the number of the event and the time. */
static void write_operations(struct tp_program *program, char *out, size_t size)
{
    write_program(program, out, size);
    char *to = out;
    for (const char *at = out; *at; *to++ = *at++)
        if (at[0] == ' ' && at[1] == '@')
            at += strcspn(at, ";");
    *to = '\0';
}

/* A recording remarks what others repair. */
static void write_counts(const struct reading *r, const struct row *row, bool partial, char *out,
                         size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < TP_REPAIR_COUNT; i++) {
        size_t used = strlen(out);
        bool remarked = partial && strstr(row->remarked, tp_repair_names[i]);
        assert_false(remarked && r->repairs[i]);
        if (r->repairs[i])
            snprintf(out + used, size - used, "%s=%" PRIu64 " ", tp_repair_names[i], r->repairs[i]);
    }
}

static void expected_counts(const struct row *row, bool partial, char *out, size_t size)
{
    char word[32];
    int used = 0;
    out[0] = '\0';
    for (const char *at = row->repairs; sscanf(at, "%31[^=]", word) == 1; at = strchr(at, ' ') + 1)
        if (!partial || !strstr(row->remarked, word))
            used +=
                snprintf(out + used, size - (size_t)used, "%.*s", (int)(strcspn(at, " ") + 1), at);
}

static void check_calls(const struct row *row, const struct call_format *format, uint8_t *hash)
{
    static char got[4096], counts[256], expected[256];
    struct reading r = read_calls(format, row->calls);
    bool partial = format->format == &tp_format_recording;
    if (r.rc != TP_OK)
        fail_msg("%s, %s: %s", row->what, format->name, r.err.text);
    write_operations(r.program, got, sizeof got);
    if (strcmp(got, row->program) != 0)
        fail_msg("%s, %s:\n  expected: %s\n  got: %s", row->what, format->name, row->program, got);
    write_counts(&r, row, partial, counts, sizeof counts);
    expected_counts(row, partial, expected, sizeof expected);
    if (strcmp(counts, expected) != 0)
        fail_msg("%s, %s:\n  expected: %s\n  got: %s", row->what, format->name, expected, counts);
    assert_int_equal(r.meta.remarks != NULL && strstr(r.meta.remarks, "before"),
                     partial && strstr(row->remarked, "unknown") != NULL);
    memcpy(hash, tp_program_facts(r.program)->hash, TP_HASH_SIZE);
    forget(&r);
}

TEST(the_same_calls_are_one_program)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t first[TP_HASH_SIZE], hash[TP_HASH_SIZE];
        size_t asked = 0;
        for (size_t f = 0; f < FORMATS; f++) {
            if (formats[f].cannot & rows[i].needs)
                continue;
            check_calls(&rows[i], &formats[f], asked ? hash : first);
            if (asked++ && memcmp(hash, first, TP_HASH_SIZE) != 0)
                fail_msg("%s: another hash by %s", rows[i].what, formats[f].name);
        }
        assert_true(asked >= 3);
    }
}

/* Where records have no certain order, the first free after an address was used again is the late
 * one. */
TEST(a_late_free_is_not_that_of_the_new_block)
{
    static const struct call calls[CALLS] = {MALLOC(A, 24), MALLOC(B, 9),  REALLOC(B, A, 48),
                                             FREE(A),       MALLOC(B, 10), FREE(A)};
    char got[1024];
    for (size_t f = 0; f < FORMATS; f++) {
        if (formats[f].cannot & NO_REALLOC)
            continue;
        bool late = formats[f].cannot & UNORDERED;
        struct reading r = read_calls(&formats[f], calls);
        assert_int_equal(r.rc, TP_OK);
        write_operations(r.program, got, sizeof got);
        assert_string_equal(got, late ? "alloc 0 24 a4; alloc 1 9 a4; free 0 24 a4; realloc 1 48 "
                                        "a4; alloc 0 10 a4; free 1 48 a4; "
                                      : "alloc 0 24 a4; alloc 1 9 a4; free 0 24 a4; realloc 1 48 "
                                        "a4; free 1 48 a4; alloc 1 10 a4; ");
        assert_int_equal(r.repairs[TP_REPAIR_DOUBLE_ALLOC], 1);
        assert_int_equal(late, r.meta.remarks && strstr(r.meta.remarks, "in use again: 1"));
        forget(&r);
    }
}
