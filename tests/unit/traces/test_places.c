/* Code places: kept and found again, in .tpt and in JSON; files that are wrong about them. */
#include "tests/unit/importer_rig.h"
#include "tests/unit/tpt_rig.h"

#include "alloc/base/str.h"
#include "traces/formats/json/json_event.h"
#include "traces/formats/tpt/tpt_places.h"
#include "traces/places/place_table.h"
#include "traces/places/place_text.h"

enum { MANY = 200000 };

/* "f17.py:3 g" for two events in three, of a few hundred texts. */
static int some_place(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                      struct tp_err *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        uint64_t e = events[i];
        out[i][0] = '\0';
        if (e % 3 != 0 && (e < 70000 || e > 150000))
            snprintf(out[i], TP_PLACE_TEXT, "f%" PRIu64 ".py:3 g", e * 7 / 5 % 700);
    }
    return TP_OK;
}

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

static struct tp_place_table *gathered(void)
{
    const struct tp_places places = {.find = some_place, .before = 1000};
    struct tp_place_table *t = NULL;
    assert_int_equal(tp_place_table_gather(&places, NULL, MANY, never, &t, NULL), TP_OK);
    return t;
}

static void expect_all(const struct tp_places *got)
{
    static char have[1000][TP_PLACE_TEXT], want[1000][TP_PLACE_TEXT];
    uint64_t events[1000], moved[1000];
    for (uint64_t first = 1; first < MANY; first += 1000) {
        for (size_t i = 0; i < 1000; i++) {
            events[i] = first + i;
            moved[i] = first + i + 1000;
        }
        assert_int_equal(tp_places_find(got, events, 1000, have, NULL), TP_OK);
        some_place(NULL, moved, 1000, want, NULL);
        for (size_t i = 0; i < 1000; i++)
            assert_string_equal(have[i], want[i]);
    }
}

TEST(test_table)
{
    struct tp_places places = {0};
    struct tp_place_table *t = NULL, *from = gathered();
    struct tp_place_cursor c = {.table = from};
    const struct tp_place_item *item = NULL;
    for (uint64_t e = 0; tp_place_cursor_look(&c, e, &item, NULL) == TP_OK && item; e++) {
        const char *text = tp_place_table_get(from, item->text);
        e = item->event;
        assert_int_equal(tp_places_add(&places, e, text, strlen(text), NULL), TP_OK);
    }
    expect_all(&places);
    assert_int_equal(tp_place_table_of(&places, &t, NULL), TP_OK);
    assert_int_equal(tp_place_table_count(t), tp_place_table_count(from));
    tp_place_table_free(from);
    /* what is hostile is cleaned, what is long is cut, what is empty is none */
    uint32_t number = 0;
    assert_int_equal(tp_place_table_text(t, "a\x1b[2J\n", 7, &number, NULL), TP_OK);
    assert_string_equal(tp_place_table_get(t, number), "a?[2J?");
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    assert_int_equal(tp_place_table_text(t, longer, sizeof longer, &number, NULL), TP_OK);
    assert_int_equal(strlen(tp_place_table_get(t, number)), TP_PLACE_TEXT - 1);
    assert_int_equal(tp_place_table_text(t, "", 0, &number, NULL), TP_OK);
    assert_int_equal(number, TP_NO_PLACE);
    places.release(places.ctx);
}

/* Through blocks: the same places, whatever lies between them. */
TEST(test_finding_one)
{
    struct tp_place_table *t = gathered(), *empty = NULL;
    struct tp_place_item item;
    char want[1][TP_PLACE_TEXT];
    for (uint64_t e = 1; e <= MANY + 2; e += e < MANY - 1 ? 991 : 1) {
        const uint64_t moved = e + 1000;
        some_place(NULL, &moved, 1, want, NULL);
        assert_int_equal(tp_place_table_find(t, e, &item, NULL), TP_OK);
        assert_int_equal(item.text == TP_NO_PLACE, !want[0][0] || e > MANY);
        if (item.text != TP_NO_PLACE)
            assert_string_equal(tp_place_table_get(t, item.text), want[0]);
    }
    assert_int_equal(tp_place_table_new(&empty, NULL), TP_OK);
    assert_int_equal(tp_place_table_find(empty, 1, &item, NULL), TP_OK);
    assert_int_equal(item.text, TP_NO_PLACE);
    tp_place_table_free(empty);
    tp_place_table_free(t);
}

TEST(test_split)
{
    static const struct {
        const char *text, *file;
        uint32_t line;
        const char *function;
    } rows[] = {
        {"parse.c:7 grow", "parse.c", 7, "grow"},
        {"train.py:90 <module>", "train.py", 90, "<module>"},
        {"a:b.cc:12 ns::f<3 (x)>::g(int)", "a:b.cc", 12, "ns::f<3 (x)>::g(int)"},
        {"parse.c:7 ", "parse.c", 7, ""},
        {"parse.c:7", "parse.c", 7, ""},
        {"parse.c:0 grow", "parse.c", 0, "grow"},
        {"grow (libparse.so)", "libparse.so", 0, "grow"},
        {"f (anonymous) (libparse.so.6)", "libparse.so.6", 0, "f (anonymous)"},
        {"libparse.so+0x1f3", "libparse.so", 0, "+0x1f3"},
        {"libc++.so+0x1f3", "libc++.so", 0, "+0x1f3"},
        /* no place as tapool writes it */
        {"", "", 0, ""},
        {"backward BmmBackward0", "", 0, "backward BmmBackward0"},
        {":7 f", "", 0, ":7 f"},
        {"a:7b", "", 0, "a:7b"},
        {"a: 7", "", 0, "a: 7"},
        {"a:1234567890 f", "", 0, "a:1234567890 f"},
        {"()", "", 0, "()"},
        {"f ()", "", 0, "f ()"},
        {" (x)", "", 0, " (x)"},
        {"f (x) y", "", 0, "f (x) y"},
        {"+0x1", "", 0, "+0x1"},
        {"a+0x", "", 0, "a+0x"},
        {"a+0x1g", "", 0, "a+0x1g"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tp_place_split s = tp_place_split(rows[i].text);
        assert_int_equal(s.file_bytes, strlen(rows[i].file));
        assert_int_equal(s.function_bytes, strlen(rows[i].function));
        assert_int_equal(s.line, rows[i].line);
        assert_true(!s.file_bytes || !strncmp(s.file, rows[i].file, s.file_bytes));
        assert_true(!strncmp(s.function, rows[i].function, s.function_bytes));
    }
}

TEST(test_without_shapes)
{
    static const struct {
        const char *text, *plain;
    } rows[] = {
        {"MatMul float32[32,128], output", "MatMul float32, output"},
        {"MatMul [2]", "MatMul"},
        {"a f[1]b f[?,2]", "a fb f"},
        {"[7]", ""},
        {"model.py:31 forward", "model.py:31 forward"},
        {"operator new[](unsigned long)", "operator new[](unsigned long)"},
        {"f<int [n]> [", "f<int [n]> ["},
        {"a [1", "a [1"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char plain[64] = "";
        struct tp_str s = TP_STR_IN(plain);
        tp_place_without_shapes(rows[i].text, &s);
        assert_string_equal(plain, rows[i].plain);
    }
}

TEST(test_blocks)
{
    struct tp_place_table *from = gathered();
    struct tp_places places = {0};
    struct tp_tpt_places_writer w = {.cursor = {.table = from}};
    struct tp_tpt_places_reader r = {.to = &places};
    struct tp_tpt_block block;
    char *payload = NULL;
    int blocks = 0;
    size_t bytes = 0;
    for (;; blocks++) {
        assert_int_equal(tp_tpt_places_put(&w, &block, &payload, NULL), TP_OK);
        if (!payload)
            break;
        block.index = 0;
        assert_null(tp_tpt_block_wrong(&block));
        bytes += block.stored;
        char *room = calloc(1, (size_t)block.stored + 16);
        assert_non_null(room);
        memcpy(room, payload, block.stored);
        struct tp_err err = {0};
        if (tp_tpt_places_get(&r, &block, room, &err) != TP_OK)
            fail_msg("%s", err.text);
        free(room);
        free(payload);
    }
    assert_in_range(blocks, 2, 4);
    assert_true(bytes < 2 * (size_t)MANY);
    expect_all(&places);
    tp_tpt_places_release(&r);
    places.release(places.ctx);
    tp_place_table_free(from);
}

/* ---- stacks ---- */

enum { CALLED = 90000 };

/* The stack of every third event: up to 12 functions of 700, one calling the other. Every fifth of
 * them has a place alone. */
static struct tp_place_table *called_table(void)
{
    struct tp_place_table *t = NULL;
    uint32_t texts[700], seed = 7;
    char text[30];
    assert_int_equal(tp_place_table_new(&t, NULL), TP_OK);
    for (uint32_t i = 0; i < 700; i++) {
        int n = snprintf(text, sizeof text, "f%u.c:3 f%u", i, i);
        assert_int_equal(tp_place_table_text(t, text, (size_t)n, &texts[i], NULL), TP_OK);
    }
    for (uint64_t event = 3; event <= CALLED; event += 3) {
        uint32_t stack = 0, text_of = 0;
        for (uint64_t depth = 0; depth <= event % 12; depth++) {
            seed = seed * 1103515245 + 12345;
            text_of = texts[(seed >> 16) % (depth < 4 ? 5 : 700)];
            assert_int_equal(tp_place_table_call(t, text_of, stack, &stack, NULL), TP_OK);
        }
        int rc = event % 5 ? tp_place_table_set_stack(t, event, stack, NULL)
                           : tp_place_table_set(t, event, text_of, NULL);
        assert_int_equal(rc, TP_OK);
    }
    tp_place_table_sample(t, (struct tp_place_sampling){.size = 4096, .every = 100});
    return t;
}

static void write_item(const struct tp_place_table *t, const struct tp_place_item *item,
                       uint64_t moved, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu64 " %s", item->event + moved, tp_place_table_get(t, item->text));
    for (uint32_t s = item->stack; s; s = tp_place_table_stack(t, s - 1)->caller)
        tp_append(out, size, " <%u %s", tp_place_table_stack(t, s - 1)->depth,
                  tp_place_table_get(t, tp_place_table_stack(t, s - 1)->text));
}

/* Both have the same events with the same stacks; those of `a` are `moved` later. */
static void expect_same(const struct tp_place_table *a, const struct tp_place_table *b,
                        uint64_t moved)
{
    struct tp_place_cursor x = {.table = a}, y = {.table = b};
    const struct tp_place_item *i = NULL, *j = NULL;
    char left[1000], right[1000];
    assert_int_equal(tp_place_cursor_look(&x, 1, &i, NULL), TP_OK);
    assert_int_equal(tp_place_cursor_look(&y, 1 + moved, &j, NULL), TP_OK);
    for (; i && j;) {
        write_item(a, i, moved, left, sizeof left);
        write_item(b, j, 0, right, sizeof right);
        assert_string_equal(left, right);
        assert_int_equal(tp_place_cursor_look(&x, i->event + 1, &i, NULL), TP_OK);
        assert_int_equal(tp_place_cursor_look(&y, j->event + 1, &j, NULL), TP_OK);
    }
    assert_true(!i && !j);
    assert_int_equal(tp_place_table_sampling(a).size, tp_place_table_sampling(b).size);
    assert_int_equal(tp_place_table_sampling(a).every, tp_place_table_sampling(b).every);
}

TEST(test_stacks_are_gathered)
{
    struct tp_places places = {0};
    struct tp_place_table *t = NULL, *all = NULL, *later = NULL, *some = NULL;
    const uint64_t events[] = {1, 33, 34, 300};
    assert_int_equal(tp_place_table_of(&places, &t, NULL), TP_OK); /* sets find and release */
    tp_place_table_free(t);
    places.ctx = t = called_table();
    assert_int_equal(tp_place_table_gather(&places, NULL, CALLED, never, &all, NULL), TP_OK);
    expect_same(t, all, 0);
    assert_int_equal(tp_place_table_gather(&places, events, 4, never, &some, NULL), TP_OK);
    assert_int_equal(tp_place_table_count(some), 2);
    assert_true(tp_place_table_texts(some) <= 14); /* what is not used is left behind */
    places.before = 1000;
    assert_int_equal(tp_place_table_gather(&places, NULL, CALLED - 1000, never, &later, NULL),
                     TP_OK);
    expect_same(later, t, 1000);
    places.release(places.ctx);
    tp_place_table_free(all);
    tp_place_table_free(some);
    tp_place_table_free(later);
}

/* Through blocks; and blocks that are cut or changed are refused, or have other places. */
TEST(test_stack_blocks)
{
    struct tp_place_table *from = called_table();
    struct tp_places places = {0};
    struct tp_tpt_places_writer w = {.cursor = {.table = from}};
    struct tp_tpt_places_reader r = {.to = &places};
    struct tp_tpt_block block;
    char *payload = NULL;
    int blocks = 0;
    for (;; blocks++) {
        assert_int_equal(tp_tpt_places_put(&w, &block, &payload, NULL), TP_OK);
        if (!payload)
            break;
        assert_int_equal(block.type, TP_TPT_STAK);
        assert_null(tp_tpt_block_wrong(&block));
        assert_true(block.stored <= TP_TPT_STACKS_MAX);
        char *room = calloc(1, (size_t)block.stored + 16);
        assert_non_null(room);
        memcpy(room, payload, block.stored);
        struct tp_err err = {0};
        if (tp_tpt_places_get(&r, &block, room, &err) != TP_OK)
            fail_msg("%s", err.text);
        for (uint32_t step = block.stored / 50, at = step; at < block.stored; at += step) {
            struct tp_places other = {0};
            struct tp_tpt_places_reader again = {.to = &other};
            struct tp_tpt_block cut = block;
            room[at - 1] = (char)(room[at - 1] ^ 0x55);
            if (at % 2)
                cut.stored = at;
            int rc = tp_tpt_places_get(&again, &cut, room, &err);
            assert_true(rc == TP_OK || rc == TP_EINPUT);
            assert_true(rc == TP_EINPUT || cut.stored == block.stored);
            tp_tpt_places_release(&again);
            if (other.release)
                other.release(other.ctx);
        }
        free(room);
        free(payload);
    }
    assert_in_range(blocks, 2, 10);
    expect_same(from, places.ctx, 0);
    tp_tpt_places_release(&r);
    places.release(places.ctx);
    tp_place_table_free(from);
}

/* What a STAK block may not say. A number n below 128 is the byte 2 n + 1. */
TEST(test_wrong_stacks)
{
#define N(n) (char)(2 * (n) + 1)
    static const struct {
        char bytes[16];
        uint32_t size;
        const char *why;
    } rows[] = {
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0), N(0), N(0), N(1)}, 10, NULL},
        {{N(0), N(0), N(1), 'f', 0, N(0), N(0), N(0)}, 8, NULL},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(1), N(0), N(0), N(1)}, 10, "a call stack is wrong"},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0), N(1), N(0), N(1)}, 10, "a call stack is wrong"},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0), N(0), N(0), N(3)},
         10,
         "the code place of an event is wrong"},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0), N(0), N(0), N(2)},
         10,
         "the code place of an event is wrong"},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0), N(0), N(1), N(1)},
         10,
         "its events are out of order"},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0)}, 7, "a call stack has no end"},
        {{N(0), N(0), N(1), 'f', 0, N(1), N(0), N(0), N(0), N(1), N(0)},
         11,
         "something follows its last code place"},
        {{N(0)}, 1, "it does not say which events have stacks"},
    };
#undef N
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char room[64] = {0};
        struct tp_places places = {0};
        struct tp_tpt_places_reader r = {.to = &places};
        struct tp_err err = {0};
        const struct tp_tpt_block block = {.type = TP_TPT_STAK,
                                           .flags = TP_TPT_SKIP,
                                           .count = 1,
                                           .first_event = 10,
                                           .stored = rows[i].size,
                                           .raw = rows[i].size};
        memcpy(room, rows[i].bytes, rows[i].size);
        assert_int_equal(tp_tpt_places_get(&r, &block, room, &err),
                         rows[i].why ? TP_EINPUT : TP_OK);
        if (rows[i].why)
            assert_string_equal(err.text, rows[i].why);
        tp_tpt_places_release(&r);
        if (places.release)
            places.release(places.ctx);
    }
}

/* A stack of any length keeps its outer 64 places, and no more work than they are. */
TEST(test_long_stacks)
{
    struct tp_place_table *t = NULL;
    uint32_t text = 0, stack = 0;
    assert_int_equal(tp_place_table_new(&t, NULL), TP_OK);
    assert_int_equal(tp_place_table_text(t, "f", 1, &text, NULL), TP_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(tp_place_table_call(t, text, stack, &stack, NULL), TP_OK);
    assert_int_equal(tp_place_table_stacks(t), TP_PLACE_DEPTH_MAX);
    assert_int_equal(stack, TP_PLACE_DEPTH_MAX);
    tp_place_table_free(t);
}

static void refuse(uint64_t first, uint32_t count, const char *bytes, size_t size, const char *why)
{
    char room[256] = {0};
    struct tp_places places = {0};
    struct tp_tpt_places_reader r = {.to = &places, .end = 10};
    struct tp_err err = {0};
    const struct tp_tpt_block block = {.type = TP_TPT_PLAC,
                                       .flags = TP_TPT_SKIP,
                                       .count = count,
                                       .first_event = first,
                                       .stored = (uint32_t)size,
                                       .raw = (uint32_t)size};
    memcpy(room, bytes, size);
    int rc = tp_tpt_places_get(&r, &block, room, &err);
    if (why) {
        assert_int_equal(rc, TP_EINPUT);
        assert_string_equal(err.text, why);
    } else {
        assert_int_equal(rc, TP_OK);
    }
    tp_tpt_places_release(&r);
    if (places.release)
        places.release(places.ctx);
}

/* Numbers of one byte are value << 1 | 1. */
TEST(test_damage)
{
    refuse(10, 3, "\3a\0\5\1\3", 6, NULL); /* a, the same, none */
    refuse(9, 3, "\3a\0\5\1\3", 6, "its events are out of order");
    refuse(10, 3, "\3a\0\7\1\3", 6, "the code place of an event is wrong");
    refuse(10, 4, "\3a\0\5\1\3", 6, "the code place of an event is wrong");
    refuse(10, 2, "\3a\0\5\1\3", 6, "something follows its last code place");
    refuse(10, 3, "\3abcde", 6, "a code place has no end");
    refuse(10, 3, "\5a\0\5\1\3", 6, "a code place has no end");
    refuse(10, 3, "", 0, "the number of its code places is wrong");
    refuse(10, 1, "\0\xff\xff\xff\xff\xff\xff\xff\xff", 9,
           "the number of its code places is wrong");
    char longer[200] = "\3";
    memset(longer + 1, 'x', 150);
    longer[152] = 5;
    refuse(10, 1, longer, 153, "a code place is too long");
    struct tp_tpt_block b = {
        .type = TP_TPT_PLAC, .flags = TP_TPT_SKIP, .count = 1, .first_event = 1};
    assert_null(tp_tpt_block_wrong(&b));
    b.first_event = 0;
    assert_non_null(tp_tpt_block_wrong(&b));
    b.first_event = UINT64_MAX;
    assert_non_null(tp_tpt_block_wrong(&b));
    b = (struct tp_tpt_block){.type = TP_TPT_PLAC, .count = 1, .first_event = 1};
    assert_non_null(tp_tpt_block_wrong(&b));
    b = (struct tp_tpt_block){
        .type = TP_TPT_PLAC, .flags = TP_TPT_SKIP, .count = 65537, .first_event = 1};
    assert_non_null(tp_tpt_block_wrong(&b));
}

/* ---- JSON ---- */

#define HEAD(more) "{\"format\":\"tapool-trace\",\"version\":1" more "}\n"

static const struct importer jsonl = {.format = &tp_format_jsonl, .input = "x"};

TEST(test_json)
{
    static const struct importer_row row = READS(
        HEAD(",\"repairs\":{\"double_alloc\":3,\"of_later\":\"x\"}") "{\"op\":\"alloc\",\"id\":1,"
                                                                     "\"size\":8,\"place\":\"a.py:"
                                                                     "1 f\"}\n"
                                                                     "{\"op\":\"mark\",\"name\":"
                                                                     "\"m\",\"event_number\":1,"
                                                                     "\"place\":\"not its own\"}\n"
                                                                     "{\"op\":\"free\",\"id\":1,"
                                                                     "\"event_number\":7,\"place\":"
                                                                     "\"b\\\"\\u0007.py:2 g\"}\n",
        .strict = true, .facts = "double_alloc=3 events=7 ");
    static const uint64_t events[] = {1, 2, 7};
    char out[3][TP_PLACE_TEXT];
    struct reading r = check_reading(&jsonl, &row);
    assert_int_equal(tp_places_find(&r.places, events, 3, out, NULL), TP_OK);
    assert_string_equal(out[0], "a.py:1 f");
    assert_string_equal(out[1], "");
    assert_string_equal(out[2], "b\"?.py:2 g");
    forget(&r);
}

#define WRONG(more, events, why) REFUSED(HEAD(more) events, why, .strict = true)
static const struct importer_row json_wrong[] = {
    WRONG("", "{\"op\":\"sync\",\"place\":7}\n", "x:2: event 1: 'place' is 7, not a text"),
    WRONG("", "{\"op\":\"sync\"}\n{\"op\":\"sync\"}\n{\"op\":\"sync\",\"event_number\":1}\n",
          "x:4: event 3: 'event_number' falls, after 2"),
    WRONG("", "{\"op\":\"sync\",\"event_number\":-1}\n",
          "x:2: event 1: 'event_number' is -1: negative"),
    WRONG("", "{\"op\":\"sync\",\"event_number\":\"9007199254740993\"}\n",
          "x:2: event 1: 'event_number' is \"9007199254740993\": the limit is 2^53"),
    WRONG(",\"repairs\":[]", "", "x:1: 'repairs' is not an object"),
    WRONG(",\"repairs\":{\"zero_size\":-1}", "", "x:1: 'repairs': 'zero_size' is -1: negative"),
    WRONG(",\"repairs\":{\"zero_size\":1,\"zero_size\":1}", "",
          "x:1: 'repairs' has 'zero_size' twice"),
};

TESTS(ROWS(jsonl, json_wrong))
