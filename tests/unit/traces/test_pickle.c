/* The pickle reader: which records come of which opcodes, and that every lie is refused. Pickles
 * are written as text (pickle_text.h), what came of them as text too. */
#include "traces/input/pickle.h"

#include "tests/unit/pickle_text.h"
#include "tests/unit/test.h"

#include <inttypes.h>

enum { TOP = 1, ITEMS, ITEM, PARTS, PART, LISTS, LIST, LEAF };
enum { ITEMS_KEY = TP_MEMO_WORDS, PARTS_KEY, LISTS_KEY, A, B };

static const char *const words[] = {"items", "parts", "lists", "a", "b", NULL};
static const char *const names[] = {"the file", "TOP",   "ITEMS", "ITEM", "PARTS",
                                    "PART",     "LISTS", "LIST",  "LEAF"};
static const struct tp_pickle_row rows[] = {
    {0, 0, TP_PICKLE_DICT, TOP},      {TOP, ITEMS_KEY, TP_PICKLE_LIST, ITEMS},
    {ITEMS, 0, TP_PICKLE_DICT, ITEM}, {ITEM, PARTS_KEY, TP_PICKLE_LIST, PARTS},
    {PARTS, 0, TP_PICKLE_DICT, PART}, {TOP, LISTS_KEY, TP_PICKLE_LIST, LISTS},
    {LISTS, 0, TP_PICKLE_LIST, LIST}, {LIST, 0, TP_PICKLE_DICT, LEAF},
    {0, 0, TP_PICKLE_NONE, 0}};

struct log {
    struct tp_pickle *pickle;
    char text[1 << 14];
    size_t used;
    uint64_t ends; /* of roles */
    bool quiet;
};

__attribute__((format(printf, 2, 3))) static void say(struct log *log, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!log->quiet && log->used < sizeof log->text - 200)
        log->used += (size_t)vsnprintf(log->text + log->used, 200, format, args);
    va_end(args);
}

static int on_begin(void *ctx, unsigned role, uint64_t offset, struct tp_err *err)
{
    (void)offset;
    (void)err;
    say(ctx, "%s( ", names[role]);
    return TP_OK;
}

static int on_end(void *ctx, unsigned role, struct tp_err *err)
{
    struct log *log = ctx;
    (void)role;
    (void)err;
    log->ends++;
    say(log, ") ");
    return TP_OK;
}

static int on_field(void *ctx, unsigned role, uint16_t word, const struct tp_pickle_value *value,
                    struct tp_err *err)
{
    struct log *log = ctx;
    const char *key = tp_pickle_text(log->pickle, word);
    (void)role;
    (void)err;
    say(log, "%s=", key ? key : "?");
    if (value->kind == TP_PICKLE_INT || value->kind == TP_PICKLE_BOOL)
        say(log, "%" PRId64 " ", value->number);
    else if (value->kind == TP_PICKLE_TEXT && tp_pickle_text(log->pickle, value->word))
        say(log, "'%s' ", tp_pickle_text(log->pickle, value->word));
    else
        say(log, "%s%s%s ", value->shared ? "shared " : "", value->empty ? "empty " : "",
            tp_pickle_kind_names[value->kind]);
    return TP_OK;
}

static const struct tp_pickle_schema schema = {.words = words,
                                               .rows = rows,
                                               .names = names,
                                               .hint = "data only",
                                               .begin = on_begin,
                                               .field = on_field,
                                               .end = on_end};

static int read_bytes_into(struct log *log, const void *data, size_t size, uint64_t limit,
                           struct tp_err *err)
{
    struct tp_input *in = NULL;
    log->used = log->ends = 0;
    log->text[0] = '\0';
    int rc = tp_input_memory("x", data, size, 0, &in, err);
    if (rc == TP_OK)
        rc = tp_pickle_new(in, &schema, log, limit, &log->pickle, err);
    if (rc == TP_OK)
        rc = tp_pickle_read(log->pickle, err);
    tp_pickle_free(log->pickle);
    log->pickle = NULL;
    tp_input_close(in);
    return rc;
}

static void expect(const char *pickle, const char *expected)
{
    static struct pickle_bytes bytes;
    static struct log log;
    struct tp_err err = {0};
    make_pickle(&bytes, pickle);
    if (read_bytes_into(&log, bytes.data, bytes.size, 1 << 20, &err) != TP_OK)
        fail_msg("%s\n  got: %s", pickle, err.text);
    if (strcmp(log.text, expected) != 0)
        fail_msg("%s\n  expected: %s\n  got:      %s", pickle, expected, log.text);
}

static void expect_error(const char *pickle, const char *expected)
{
    static struct pickle_bytes bytes;
    static struct log log;
    struct tp_err err = {0};
    make_pickle(&bytes, pickle);
    int rc = read_bytes_into(&log, bytes.data, bytes.size, 1 << 20, &err);
    if (rc != TP_EINPUT || strcmp(err.text, expected) != 0)
        fail_msg("%s\n  expected: %s\n  got %d:    %s", pickle, expected, rc, err.text);
}

/* ---- what is read ---- */

TEST(test_values)
{
    expect("} ( 'a' 5 'b' -7 u .", "TOP( a=5 b=-7 ) ");
    expect("} ( 'a' $4bff 'b' $4dffff u .", "TOP( a=255 b=65535 ) ");
    expect("} ( 'a' T 'b' F 'c' N u .", "TOP( a=1 b=0 c=None ) ");
    expect("} ( 'a' ~1.5 'b' 'text' u .", "TOP( a=a fraction b='text' ) ");
    expect("} ( 'a' ) 'b' 1 2 %2 u .", "TOP( a=a tuple b=a tuple ) ");
    expect("} ( 'a' ( 1 2 3 4 t 'b' 1 u .", "TOP( a=a tuple b=1 ) ");
    expect("} ( 'a' $430161 'b' $8f2890 u .", "TOP( a=a tuple b=a tuple ) ");
    expect("} 'a' 1 s 'b' 2 s .", "TOP( a=1 b=2 ) ");
    expect("} ( 'a' 1 u ( 'b' 2 u 'c' 3 s .", "TOP( a=1 b=2 c=3 ) ");
    expect("} ( 'a' } ( 'b' 1 u 'b' ] ( 5 6 e u .", "TOP( a=a dict b=a list ) ");
    expect("} ( 5 'a' N 'b' 'a' 1 u .", "TOP( a=1 ) ");
    expect("} .", "TOP( ) ");
    expect("] .", "");
    expect("} . trailing", "TOP( ) ");
}

TEST(test_long_numbers)
{
    expect("} ( 'a' $8a00 'b' $8a01ff u .", "TOP( a=0 b=-1 ) ");
    expect("} ( 'a' $8a0600f0debc9a78 u .", "TOP( a=132605989023744 ) ");
    expect("} ( 'a' $8a08ffffffffffffff7f u .", "TOP( a=9223372036854775807 ) ");
    expect("} ( 'a' $8a080000000000000080 u .", "TOP( a=-9223372036854775808 ) ");
    expect("} ( 'a' $8a09ffffffffffffffff00 u .", "TOP( a=a number of more than 64 bits ) ");
    expect("} ( 'a' $8b0200000001ff u .", "TOP( a=-255 ) ");
    expect_error("} ( 'a' $8bffffffff00 u .", "x: byte 7: a number has a negative length");
    expect_error("} ( 'a' $8bffffff7f00 u .", "x: byte 15: the file ends before the pickle does");
}

/* Containers in the list: by APPENDS, by APPEND, in pieces, and nested. */
TEST(test_records)
{
    expect("} ( 'items' ] ( } ( 'a' 1 u } ( 'a' 2 u e u .",
           "TOP( ITEMS( ITEM( a=1 ) ITEM( a=2 ) ) items=a list ) ");
    expect("} 'items' ] } 'a' 1 s a s .", "TOP( ITEMS( ITEM( a=1 ) ) items=a list ) ");
    expect("} ( 'items' ] } ( 'a' 1 u a } ( 'a' 2 u a u .",
           "TOP( ITEMS( ITEM( a=1 ) ITEM( a=2 ) ) items=a list ) ");
    expect("} ( 'items' ] ( } } ( 'a' 1 u ( 'b' 2 u e ( } 'a' 3 s e u .",
           "TOP( ITEMS( ITEM( ) ITEM( a=1 b=2 ) ITEM( a=3 ) ) items=a list ) ");
    expect("} ( 'items' ] ( } ( 'parts' ] } ( 'b' 1 u a 'a' 2 u e 'b' 3 u .",
           "TOP( ITEMS( ITEM( PARTS( PART( b=1 ) ) parts=a list a=2 ) ) items=a list b=3 ) ");
    expect("} ( 'items' ] ( e 'a' 1 u .", "TOP( ITEMS( ) items=empty a list a=1 ) ");
}

/* `] ]` is a list in a list, or two neighbours: what the outer ones hold decides. */
TEST(test_lists_of_lists)
{
    expect("} ( 'lists' ] ] } 'a' 1 s a a u .",
           "TOP( LISTS( LIST( LEAF( a=1 ) ) ) lists=a list ) ");
    expect("} ( 'lists' ] ( ] ] ( } 'a' 1 s } 'a' 2 s e ] e u .",
           "TOP( LISTS( LIST( ) LIST( LEAF( a=1 ) LEAF( a=2 ) ) LIST( ) ) lists=a list ) ");
}

/* What has no role is stepped over, and its memo entries count. */
TEST(test_stepped_over)
{
    expect("} ( 'x' ] m ( } m ( 'b' m 1 u } h1 2 s 'v' e 'a' h2 h2 1 u .",
           "TOP( x=a list a='b' b=1 ) ");
    expect("} m ( 'a' m ] m ( ] m ( ] m ( 5 6 e e } ( 'q' 7 u ( 1 2 3 4 t 'last' m e h1 h5 u .",
           "TOP( a=a list a='last' ) ");
    expect("} ( 'other' } ( 'items' ] ( } ( 'a' 1 u e u u .", "TOP( other=a dict ) ");
}

TEST(test_memo)
{
    expect("} m ( 'a' m 'a' m h1 h2 'b' j1 u .", "TOP( a='a' a='a' b='a' ) ");
    expect("} q0 ( 'a' q1 'b' r2 h1 h2 u .", "TOP( a='b' a='b' ) ");
    expect("} ( 'abcdef' q9 5 'b' q4 h9 u .", "TOP( abcdef=5 b='abcdef' ) ");
    expect("} ( 'abcdef' ] ( } ( 'b' 'b' u q0 ] ( 5 e q1 } 'b' 'b' s q2 e 'a' h0 'b' h1 'a' h2 u .",
           "TOP( abcdef=a list a=shared a dict b=shared a list a=shared a dict ) ");
    expect("} ( 'b' ] m 'a' h0 u .", "TOP( b=empty a list a=shared empty a list ) ");
    expect("} ( 'items' ] m 'a' h0 u .",
           "TOP( ITEMS( ) items=empty a list a=shared empty a list ) ");
    expect("} ( 'items' ] m ( } e 'a' h0 u .",
           "TOP( ITEMS( ITEM( ) ) items=a list a=shared a list ) ");
    expect_error("} ( 'a' h0 u .", "x: byte 7: refers to memo entry 0, which was never made");
    expect_error("} m ( 'a' j1 u .", "x: byte 8: refers to memo entry 1, which was never made");
    expect_error("} ( 'x' ] m ( 5 $6affffffff e u .",
                 "x: byte 15: refers to memo entry 4294967295, which was never made");
    expect_error("} q5 ( 'a' h3 u .", "x: byte 3: makes memo entry 5: so many cannot be before it");
    expect_error("} ( 'abcdef' $72ffffff7f 1 u .",
                 "x: byte 12: makes memo entry 2147483647: so many cannot be before it");
    expect_error("} ( 'abcdef' q9 'a' h3 u .",
                 "x: byte 17: refers to memo entry 3, which was never made");
}

/* A list in itself, an item that refers back to the list around it. */
TEST(test_recursion)
{
    expect("} ( 'x' ] m ( h0 h0 e u .", "TOP( x=a list ) ");
    expect("} ( 'x' ] m h0 a u .", "TOP( x=a list ) ");
    expect("} m ( 'a' h0 u .", "TOP( a=shared a dict ) ");
    expect_error("} ( 'items' ] m ( h0 e u .",
                 "x: byte 14: an item of ITEMS refers back to a list that was there before");
    expect_error("} ( 'items' ] ( } m ( 'a' 1 u h0 e u .",
                 "x: byte 25: an item of ITEMS refers back to a dict that was there before");
    expect_error("} ( 'items' ] m h0 a u .",
                 "x: byte 13: an item of ITEMS refers back to a list that was there before");
}

/* ---- what is refused ---- */

TEST(test_code_is_refused)
{
    static const struct {
        const char *bytes, *name;
    } ops[] = {{"$810a", "NEWOBJ"},     {"$8201", "EXT1"},      {"$830100", "EXT2"},
               {"$8401000000", "EXT4"}, {"$92", "NEWOBJ_EX"},   {"$50310a", "PERSID"},
               {"$51", "BINPERSID"},    {"$52", "REDUCE"},      {"$62", "BUILD"},
               {"$6f", "OBJ"},          {"$93", "STACK_GLOBAL"}};
    char pickle[200], expected[200];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        snprintf(pickle, sizeof pickle, "} ( 'a' 1 %s u .", ops[i].bytes);
        snprintf(expected, sizeof expected, "x: byte 12: %s would run code; refused", ops[i].name);
        expect_error(pickle, expected);
        snprintf(pickle, sizeof pickle, "} ( 'x' ] ( 1 %s e u .", ops[i].bytes);
        snprintf(expected, sizeof expected, "x: byte 14: %s would run code; refused", ops[i].name);
        expect_error(pickle, expected);
    }
}

TEST(test_code_is_named)
{
    static struct pickle_bytes bytes;
    static struct log log;
    struct tp_err err = {0};
    expect_error("} ( 'a' $63746f7263682e5f7574696c730a5f72656275696c640a u .",
                 "x: byte 7: GLOBAL torch._utils._rebuild would run code; refused");
    expect_error("} ( 'x' ] ( $696f730a73797374656d0a e u .",
                 "x: byte 9: INST os.system would run code; refused");
    expect_error("} ( 'a' 'os' m 'system' m $93 u .",
                 "x: byte 21: STACK_GLOBAL os.system would run code; refused");
    expect_error("} ( 'a' $636f1b5b730a78790a u .",
                 "x: byte 7: GLOBAL o?[s.xy would run code; refused");
    expect_error("} ( 'a' $636f73", "x: byte 7: GLOBAL would run code; refused");
    make_pickle(&bytes, "} ( 'a' R u .");
    assert_int_equal(read_bytes_into(&log, bytes.data, bytes.size, 1 << 20, &err), TP_EINPUT);
    assert_string_equal(err.hint, "data only");
}

TEST(test_foreign_opcodes)
{
    expect_error("} $30 .", "x: byte 3: POP is in no memory snapshot");
    expect_error("} ( $32 .", "x: byte 4: DUP is in no memory snapshot");
    expect_error("} ( 'x' ] ( $32 e u .", "x: byte 9: DUP is in no memory snapshot");
    expect_error("} ( $96 u .", "x: byte 4: BYTEARRAY8 is in no memory snapshot");
    expect_error("} ( 'x' ] ( $ff e u .", "x: byte 9: 0xff is not a pickle opcode");
    expect_error("$00", "x: byte 2: 0x00 is not a pickle opcode");
}

TEST(test_structure)
{
    expect_error(". ", "x: byte 2: STOP finds values that no pickler leaves there");
    expect_error("} } .", "x: byte 4: STOP finds values that no pickler leaves there");
    expect_error("} ( .", "x: byte 4: STOP finds values that no pickler leaves there");
    expect_error("u", "x: byte 2: SETITEMS finds values that no pickler leaves there");
    expect_error("} a .", "x: byte 3: APPEND finds values that no pickler leaves there");
    expect_error("} 5 s .", "x: byte 8: SETITEM finds values that no pickler leaves there");
    expect_error("} ( e .", "x: byte 4: APPENDS finds values that no pickler leaves there");
    expect_error("] ( u .", "x: byte 4: SETITEMS finds values that no pickler leaves there");
    expect_error("} ( 'a' u .", "x: byte 7: SETITEMS finds values that no pickler leaves there");
    expect_error("} ( 'a' 1 t .", "x: byte 12: TUPLE finds values that no pickler leaves there");
    expect_error("%3 .", "x: byte 2: TUPLE3 finds values that no pickler leaves there");
    expect_error("} ( 1 %2 .", "x: byte 9: TUPLE2 finds values that no pickler leaves there");
    expect_error("m", "x: byte 2: MEMOIZE finds values that no pickler leaves there");
    expect_error("5 ( 1 e .", "x: byte 13: APPENDS finds values that no pickler leaves there");
    expect_error("} ( 'items' ] } 'a' 1 s %1 a u .",
                 "x: byte 22: TUPLE1 finds values that no pickler leaves there");
    expect_error("} ( 'x' 'items' ] 5 u .",
                 "x: byte 20: SETITEMS finds values that no pickler leaves there");
    expect_error("} ( 'items' ] ( 5 e u .", "x: byte 13: an item of ITEMS is a number");
    expect_error("} ( 'items' ] ( } 'text' e u .", "x: byte 14: an item of ITEMS is a text");
    expect_error("} ( 'items' ] ( ] e u .", "x: byte 13: an item of ITEMS is a list");
    expect_error("} ( 'x' ] ( . e u .", "x: byte 9: STOP within a list or a dict");
    expect_error("} ( 'x' ] ( $8004 e u .", "x: byte 9: PROTO within a list or a dict");
    expect_error("} $8004 .", "x: byte 3: PROTO stands in the middle of a pickle");
}

TEST(test_protocols)
{
    static const struct {
        const char *bytes, *error;
        size_t size;
    } cases[] = {
        {"\x80\x02}.", NULL, 4},
        {"\x80\x05}.", NULL, 4},
        {"\x80\x06}.", "x: byte 1: pickle protocol 6; 2 to 5 can be read", 4},
        {"\x80\x01}.", "x: byte 1: pickle protocol 1; 2 to 5 can be read", 4},
        {"}.", "x: byte 0: does not begin like a pickle of protocol 2 to 5", 2},
        {"\x80", "x: byte 1: the file ends before the pickle does", 1},
    };
    static struct log log;
    struct tp_err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = read_bytes_into(&log, cases[i].bytes, cases[i].size, 1 << 20, &err);
        assert_int_equal(rc, cases[i].error ? TP_EINPUT : TP_OK);
        if (cases[i].error)
            assert_string_equal(err.text, cases[i].error);
    }
}

TEST(test_frames)
{
    expect("$950b00000000000000 } ( 'a' 1 u .", "TOP( a=1 ) ");
    expect("$950200000000000000 } ( $950900000000000000 'a' 1 u .", "TOP( a=1 ) ");
    expect("} ( 'x' ] ( $950300000000000000 5 e u .", "TOP( x=a list ) ");
    expect_error("$95ff00000000000000 } .",
                 "x: byte 2: the frame ends at byte 266, the pickle at 13");
    expect_error("$95ffffffffffffffff } .", "x: byte 2: a frame of 18446744073709551615 bytes");
    expect_error("$95ff00000000000000 } ( $950100000000000000 u .",
                 "x: byte 13: a frame begins within another");
    expect_error("$9500", "x: byte 4: the file ends before the pickle does");
}

TEST(test_lengths)
{
    expect_error("} ( $58ffffffff6162", "x: byte 11: the file ends before the pickle does");
    expect_error("} ( $8dffffffffffffffff6162", "x: byte 15: the file ends before the pickle does");
    expect_error("} ( $8cff6162", "x: byte 8: the file ends before the pickle does");
    expect_error("} ( 'a' $8aff6162", "x: byte 11: the file ends before the pickle does");
    expect_error("} ( 'a' $42ffffff7f6162", "x: byte 14: the file ends before the pickle does");
    expect_error("} ( 'x' ] ( $58ffffffff6162", "x: byte 16: the file ends before the pickle does");
}

TEST(test_depth)
{
    static struct pickle_bytes bytes;
    static struct log log;
    struct tp_err err = {0};
    for (int deep = 900; deep <= 1100; deep += 200) {
        make_pickle(&bytes, "} ( 'x' ");
        for (int i = 0; i < deep; i++)
            put_pickle(&bytes, "] (");
        for (int i = 0; i < deep; i++)
            put_pickle(&bytes, "e");
        put_pickle(&bytes, "u .");
        int rc = read_bytes_into(&log, bytes.data, bytes.size, 1 << 20, &err);
        assert_int_equal(rc, deep < 1000 ? TP_OK : TP_EINPUT);
    }
    assert_non_null(strstr(err.text, "nested deeper than 1000"));
    make_pickle(&bytes, "} (");
    for (int i = 0; i < 2000; i++)
        put_pickle(&bytes, "5");
    assert_int_equal(read_bytes_into(&log, bytes.data, bytes.size, 1 << 20, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "more than 1024 values wait to be put somewhere"));
}

/* Many items pass, many memo entries do not. */
TEST(test_memory)
{
    static struct pickle_bytes bytes;
    static struct log log;
    struct tp_err err = {0};
    make_pickle(&bytes, "} ( 'items' ] (");
    for (int i = 0; i < 10000; i++)
        put_pickle(&bytes, "} m");
    put_pickle(&bytes, "e u .");
    log.quiet = true;
    assert_int_equal(read_bytes_into(&log, bytes.data, bytes.size, 1 << 15, &err), TP_OK);
    assert_int_equal(log.ends, 10002);
    assert_int_equal(read_bytes_into(&log, bytes.data, bytes.size, 1 << 14, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "8,192 memo entries, more than the memory for reading holds"));
    log.quiet = false;
}

/* Texts beyond what is kept: known ones are known all the same, the wanted ones longer. */
/* A key of `size` bytes, which becomes the memo entries `first` and `first` + 1 with none before
 * them: what is kept for each of them must reach as far as the index, not twice as far as it was.
 */
static void jump(size_t size, uint32_t first)
{
    static struct log log;
    struct tp_err err = {0};
    static struct pickle_bytes head, tail;
    char ends[80];
    make_pickle(&head, "}");
    put_byte(&head, 'X');
    put_little(&head, size, 4);
    snprintf(ends, sizeof ends, "r%" PRIu32 " r%" PRIu32 " N s .", first, first + 1);
    tail.size = 0;
    put_pickle(&tail, ends);
    unsigned char *all = malloc(head.size + size + tail.size);
    assert_non_null(all);
    memcpy(all, head.data, head.size);
    memset(all + head.size, 'k', size);
    memcpy(all + head.size + size, tail.data, tail.size);
    int rc = read_bytes_into(&log, all, head.size + size + tail.size, UINT64_C(64) << 20, &err);
    free(all);
    if (rc != TP_OK)
        fail_msg("entry %" PRIu32 ": %s", first, err.text);
    assert_string_equal(log.text, "TOP( ?=None ) ");
}

TEST(test_memo_jumps)
{
    static const uint32_t ends[] = {63, 64, 127, 65535, 131071, 262143, 8388607};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        jump((size_t)ends[i] + 1000, ends[i] - 1);
}

TEST(test_many_texts)
{
    struct tp_words w;
    char text[32];
    assert_int_equal(tp_words_init(&w, words, NULL), TP_OK);
    uint16_t first = tp_words_intern(&w, "text 0", 6, false);
    assert_string_equal(tp_words_text(&w, first), "text 0");
    uint32_t kept = 1;
    for (int i = 1; i < 70000; i++) {
        int size = snprintf(text, sizeof text, "text %d", i);
        uint16_t word = tp_words_intern(&w, text, (size_t)size, false);
        if (word == TP_MEMO_TEXT)
            continue;
        kept++;
        assert_string_equal(tp_words_text(&w, word), text);
    }
    assert_true(kept > 40000 && kept < 65535);
    assert_int_equal(tp_words_intern(&w, "text 0", 6, false), first);
    assert_int_equal(tp_words_intern(&w, "text 00", 7, false), TP_MEMO_TEXT);
    assert_int_equal(tp_words_intern(&w, "items", 5, false), ITEMS_KEY);
    assert_string_equal(tp_words_text(&w, tp_words_intern(&w, "wanted", 6, true)), "wanted");
    assert_int_equal(tp_words_intern(&w, "a\0b", 3, true), TP_MEMO_TEXT);
    assert_null(tp_words_text(&w, TP_MEMO_TEXT));
    tp_words_release(&w);
}

/* Cut at every byte: an error of one kind, and never the records of the whole. */
TEST(test_truncated)
{
    static struct pickle_bytes bytes;
    static struct log log;
    make_pickle(&bytes, "} m ( 'items' m ] ( } ( 'a' #5 'parts' ] } ( 'b' ~1 u a u } 'x' ] ( } m"
                        "( 'y' $8dff000000000000006162");
    for (int i = 0; i < 253; i++)
        put_byte(&bytes, 'c');
    put_pickle(&bytes, " u h0 j1 $8b0200000001ff e s e 'a' 1 2 %2 'b' T u .");
    struct tp_err err = {0};
    if (read_bytes_into(&log, bytes.data, bytes.size, 1 << 20, &err) != TP_OK)
        fail_msg("%s", err.text);
    for (size_t size = 1; size < bytes.size; size++) {
        unsigned char *copy = malloc(size); /* so that a sanitizer sees its end */
        memcpy(copy, bytes.data, size);
        assert_int_equal(read_bytes_into(&log, copy, size, 1 << 20, &err), TP_EINPUT);
        assert_non_null(strstr(err.text, "the file ends before the pickle does"));
        free(copy);
    }
}
