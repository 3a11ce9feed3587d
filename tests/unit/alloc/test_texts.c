/* Texts by number: each found again, whatever was chosen to share a hash. The table is compiled
 * into this test, so that its steps are counted. */
static unsigned long long steps;
#define TP_STEP() ((void)steps++)
#include "alloc/base/texts.c"
#include "tests/unit/test.h"

#include <stdio.h>

enum { TEXTS = 3000, LOW_BITS = 14 };

/* Would share the low bits of its hash with others if the seed were known. */
static bool is_chosen(const char *text, size_t size)
{
    const struct tp_texts known = {.places = (size_t)1 << LOW_BITS};
    return home(&known, text, size) == 0;
}

TEST(test_chosen)
{
    struct tp_texts t = {.how.what = "names"};
    char text[32];
    steps = 0;
    for (uint64_t i = 0, found = 0; found < TEXTS; i++) {
        uint32_t number = 0;
        size_t size = (size_t)snprintf(text, sizeof text, "%llx", (unsigned long long)i);
        if (!is_chosen(text, size))
            continue;
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(tp_texts_need(&t, text, size, &number, NULL), TP_OK);
            assert_int_equal(number, found);
        }
        assert_string_equal(tp_texts_get(&t, number), text);
        found++;
    }
    print_message("%llu steps\n", steps);
    assert_true(steps < 100ull * TEXTS);
    assert_int_equal(t.count, TEXTS);
    tp_texts_release(&t);
}

/* Beginnings of each other, nothing at all, ones that are added before anybody looks, and twins. */
TEST(test_kept)
{
    static const char *const words[] = {"a", "", "ab", "abcdefgh", "abcdefghi", "b"};
    enum { WORDS = sizeof words / sizeof *words };
    struct tp_texts t = {0};
    assert_int_equal(tp_texts_find(&t, "a", 1), TP_NO_TEXT);
    for (size_t i = 0; i < 2 * WORDS; i++)
        assert_int_equal(tp_texts_add(&t, words[i % WORDS], strlen(words[i % WORDS]), NULL), TP_OK);
    assert_null(t.table);
    for (uint32_t i = 0; i < WORDS; i++) {
        assert_int_equal(tp_texts_find(&t, words[i], strlen(words[i])), i);
        assert_string_equal(tp_texts_get(&t, WORDS + i), words[i]);
    }
    assert_int_equal(tp_texts_find(&t, "abcd", 3), TP_NO_TEXT);
    assert_int_equal(tp_texts_find(&t, "abcd", 2), 2);
    for (uint32_t i = 0; i < 1000; i++) {
        char text[16];
        size_t size = (size_t)snprintf(text, sizeof text, "text %u", i);
        assert_int_equal(tp_texts_add(&t, text, size, NULL), TP_OK);
        assert_int_equal(tp_texts_find(&t, text, size), 2 * WORDS + i);
    }
    assert_int_equal(tp_texts_find(&t, "a", 1), 0);
    tp_texts_release(&t);
}

TEST(test_budget)
{
    struct tp_budget budget = {.limit = 10000};
    struct tp_texts t = {.how = {.what = "marks", .of = "x", .budget = &budget}};
    struct tp_err err;
    int rc = TP_OK;
    for (unsigned i = 0; rc == TP_OK; i++) {
        char text[16];
        uint32_t number = 0;
        size_t size = (size_t)snprintf(text, sizeof text, "mark %u", i);
        rc = tp_texts_need(&t, text, size, &number, &err);
        assert_true(budget.held <= budget.limit);
        assert_true(budget.held >= t.room + sizeof *t.at * t.at_room + sizeof *t.table * t.places);
    }
    assert_int_equal(rc, TP_EINPUT);
    assert_string_equal(err.text, "x: more marks than the memory for reading holds");
    assert_true(t.count > 200);
    assert_int_equal(tp_texts_find(&t, "mark 200", 8), 200);
    tp_texts_release(&t);
    assert_int_equal(budget.held, 0);
}
