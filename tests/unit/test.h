/* What a file of tests is made of: cmocka, behind the headers that it wants before its own, and
 * tests that the runner finds by the name of their file, so that none is written in a list.
 *
 *     TEST(blocks_do_not_overlap)
 *     {
 *         ...
 *     }
 *
 * The tests of a file run in the order of its lines. `state` is what cmocka gives a test. */
#ifndef TP_TEST_H
#define TP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <inttypes.h>

/* Some tests of a file; without any, what is called before all of its tests and behind them. */
struct tests_of_file {
    const char *file;
    int line;
    const struct CMUnitTest *tests;
    size_t count;
    CMFixtureFunction before, after;
};

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test between two functions that cmocka calls, NULL for none. */
#define TEST_WITH(name, before, after)                                                             \
    static void name(void **state);                                                                \
    static const struct CMUnitTest rows_of_##name[] = {{#name, name, before, after, NULL}};        \
    TESTS_IN_SECTION(tests_of_##name, rows_of_##name, 1, NULL, NULL);                              \
    static void name(__attribute__((unused)) void **state)

/* Tests that are no functions of the file: rows of cmocka's. */
#define TESTS(...)               TESTS_NAMED(__COUNTER__, __VA_ARGS__)
#define TESTS_NAMED(number, ...) TESTS_NUMBERED(number, __VA_ARGS__)
#define TESTS_NUMBERED(number, ...)                                                                \
    static const struct CMUnitTest tests_##number[] = {__VA_ARGS__};                               \
    TESTS_IN_SECTION(tests_of_##number, tests_##number,                                            \
                     sizeof tests_##number / sizeof *tests_##number, NULL, NULL);

#define GROUP(before, after) TESTS_IN_SECTION(around_##before, NULL, 0, before, after);

/* Members of a thing, each before its value; says which one is another.
 *
 *     assert_fields(run, frees, 3, device.gets, 1, peaks[0], 4096);
 */
#define assert_fields(of, ...)                                                                     \
    do {                                                                                           \
        FIELDS_OF(__VA_ARGS__, 8, _, 7, _, 6, _, 5, _, 4, _, 3, _, 2, _, 1, _)(of, __VA_ARGS__)    \
    } while (0)
#define FIELDS_OF(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) FIELDS_##count
#define FIELD(of, f, v)                                                                            \
    assert_field(#of "." #f, (uintmax_t)(of).f, (uintmax_t)(v), __FILE__, __LINE__);
#define FIELDS_1(of, f, v)      FIELD(of, f, v)
#define FIELDS_2(of, f, v, ...) FIELD(of, f, v) FIELDS_1(of, __VA_ARGS__)
#define FIELDS_3(of, f, v, ...) FIELD(of, f, v) FIELDS_2(of, __VA_ARGS__)
#define FIELDS_4(of, f, v, ...) FIELD(of, f, v) FIELDS_3(of, __VA_ARGS__)
#define FIELDS_5(of, f, v, ...) FIELD(of, f, v) FIELDS_4(of, __VA_ARGS__)
#define FIELDS_6(of, f, v, ...) FIELD(of, f, v) FIELDS_5(of, __VA_ARGS__)
#define FIELDS_7(of, f, v, ...) FIELD(of, f, v) FIELDS_6(of, __VA_ARGS__)
#define FIELDS_8(of, f, v, ...) FIELD(of, f, v) FIELDS_7(of, __VA_ARGS__)

static inline void assert_field(const char *name, uintmax_t value, uintmax_t wanted,
                                const char *file, int line)
{
    if (value == wanted)
        return;
    print_error("%s is %" PRIuMAX ", not %" PRIuMAX "\n", name, value, wanted);
    _fail(file, line);
}

/* The next of texts that stand between bars, of at most 199 characters; false behind the last. */
static inline bool next_text(const char **texts, char text[200])
{
    size_t length = *texts ? strcspn(*texts, "|") : 0;
    if (!*texts)
        return false;
    assert_true(length < 200);
    memcpy(text, *texts, length);
    text[length] = '\0';
    *texts = (*texts)[length] ? *texts + length + 1 : NULL;
    return true;
}

/* Pointers lie in a section without gaps, which structures need not do. */
#define TESTS_IN_SECTION(id, tests, count, before, after)                                          \
    static const struct tests_of_file id = {__FILE__, __LINE__, tests, count, before, after};      \
    static const struct tests_of_file *const id##_found                                            \
        __attribute__((used, section("tests_of_files"))) = &id

#endif
