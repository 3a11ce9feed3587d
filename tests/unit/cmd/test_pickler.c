/* The bytes that the writer of pickles writes: the forms of numbers and texts, words that come
 * again, and lists in batches. */
#include "cmd/pytorch/snapshot/pickler.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"size", "addr", NULL};

struct sheet {
    struct tp_pickler w;
    FILE *file;
    char *text;
    size_t size;
};

static void begin(struct sheet *s)
{
    s->file = open_memstream(&s->text, &s->size);
    assert_non_null(s->file);
    tp_pickler_begin(&s->w, s->file, words);
}

/* Compares what was written between the first two bytes and the last one. */
static void assert_written(struct sheet *s, const void *wanted, size_t size)
{
    tp_pickler_end(&s->w);
    assert_int_equal(fclose(s->file), 0);
    assert_int_equal(s->size, size + 3);
    assert_memory_equal(s->text, "\x80\x04", 2);
    assert_memory_equal(s->text + 2, wanted, size);
    assert_int_equal(s->text[s->size - 1], '.');
    free(s->text);
}

#define ASSERT_WRITTEN(s, wanted) assert_written((s), (wanted), sizeof(wanted) - 1)

TEST(numbers_have_the_shortest_form)
{
    static const struct {
        uint64_t n;
        const char *form;
        size_t size;
    } rows[] = {{0, "K\0", 2},
                {255, "K\xff", 2},
                {256, "M\0\1", 3},
                {65535, "M\xff\xff", 3},
                {65536, "J\0\0\1\0", 5},
                {INT32_MAX, "J\xff\xff\xff\x7f", 5},
                {UINT64_C(1) << 31, "\x8a\5\0\0\0\x80\0", 7},
                {(UINT64_C(1) << 39) - 1, "\x8a\5\xff\xff\xff\xff\x7f", 7},
                {UINT64_C(1) << 39, "\x8a\6\0\0\0\0\x80\0", 8},
                {INT64_MAX, "\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
                {UINT64_MAX, "\x8a\x9\xff\xff\xff\xff\xff\xff\xff\xff\0", 11}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sheet s = {0};
        begin(&s);
        tp_pickler_int(&s.w, rows[i].n);
        assert_written(&s, rows[i].form, rows[i].size);
    }
}

TEST(a_word_is_written_once)
{
    struct sheet s = {0};
    begin(&s);
    tp_pickler_begin_dict(&s.w);
    tp_pickler_word(&s.w, 1);
    tp_pickler_word(&s.w, 0);
    tp_pickler_word(&s.w, 1);
    tp_pickler_bool(&s.w, true);
    tp_pickler_end_dict(&s.w);
    ASSERT_WRITTEN(&s, "}(\x8c\4addr\x94\x8c\4size\x94h\0\x88u");
}

TEST(a_list_is_remembered_when_it_is_whole)
{
    struct sheet s = {0};
    begin(&s);
    tp_pickler_begin_list(&s.w);
    tp_pickler_item(&s.w);
    tp_pickler_begin_list(&s.w);
    tp_pickler_end_list(&s.w);
    assert_int_equal(tp_pickler_remember(&s.w), 0);
    tp_pickler_item(&s.w);
    tp_pickler_again(&s.w, 0);
    tp_pickler_end_list(&s.w);
    assert_int_equal(tp_pickler_remember(&s.w), 1);
    ASSERT_WRITTEN(&s, "](]\x94h\0e\x94");
}

TEST(later_texts_have_long_numbers)
{
    struct sheet s = {0};
    begin(&s);
    for (int i = 0; i < 256; i++)
        tp_pickler_text(&s.w, "");
    fflush(s.file);
    size_t before = s.size;
    tp_pickler_word(&s.w, 0);
    tp_pickler_word(&s.w, 0);
    fflush(s.file);
    assert_memory_equal(s.text + before, "\x8c\4size\x94j\0\1\0\0", 12);
    fclose(s.file);
    free(s.text);
}

TEST(a_long_text_has_a_long_size)
{
    struct sheet s = {0};
    char text[257];
    memset(text, 'x', 256);
    text[256] = '\0';
    begin(&s);
    tp_pickler_text(&s.w, text);
    fflush(s.file);
    assert_memory_equal(s.text + 2, "X\0\1\0\0xx", 7);
    fclose(s.file);
    free(s.text);
}

TEST(lists_come_in_batches)
{
    struct sheet s = {0};
    begin(&s);
    tp_pickler_begin_list(&s.w);
    tp_pickler_item(&s.w);
    tp_pickler_begin_list(&s.w);
    tp_pickler_end_list(&s.w);
    for (int i = 1; i < 1001; i++) {
        tp_pickler_item(&s.w);
        tp_pickler_bool(&s.w, false);
    }
    tp_pickler_end_list(&s.w);
    fflush(s.file);
    assert_memory_equal(s.text + 2, "](]\x89\x89", 5);
    assert_memory_equal(s.text + s.size - 5,
                        "\x89"
                        "e(\x89"
                        "e",
                        5);
    assert_int_equal(s.size, 2 + 3 + 1000 + 3);
    fclose(s.file);
    free(s.text);
}
