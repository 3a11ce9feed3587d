/* Digits eight at a time against one at a time: all lengths, ends of memory and bytes behind. */
#include "traces/input/digits.h"

#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>

enum { MOST = 16, ROOM = 24 };

static size_t slow(const char *at, size_t size, uint64_t *value)
{
    size_t n = 0;
    *value = 0;
    for (; n < size && n < MOST && at[n] >= '0' && at[n] <= '9'; n++)
        *value = *value * 10 + (uint64_t)(at[n] - '0');
    return n;
}

/* In memory of just that size, so that a sanitizer sees what is read behind it. */
static void same(const char *text, size_t size)
{
    char *exact = malloc(size ? size : 1);
    uint64_t got = 1, want = 0;
    assert_non_null(exact);
    memcpy(exact, text, size);
    size_t length = slow(exact, size, &want);
    assert_int_equal(tp_cut_digits(exact, exact + size, &got) - exact, length);
    assert_int_equal(got, want);
    free(exact);
}

TEST(test_lengths)
{
    static const char digits[] = "918273645546372819109876";
    for (size_t size = 0; size <= ROOM; size++)
        for (size_t count = 0; count <= size; count++) {
            char text[ROOM + 1] = "{,\"} {,\"} {,\"} {,\"} {,\"";
            memcpy(text, digits, count);
            same(text, size);
        }
}

TEST(test_bytes)
{
    for (int byte = 0; byte < 256; byte++)
        for (size_t at = 0; at < ROOM; at++) {
            char text[] = "999999999999999999999999";
            text[at] = (char)byte;
            same(text, ROOM);
            if (at + 1 < ROOM)
                text[at + 1] = (char)~byte; /* what is behind the end changes nothing */
            same(text, ROOM);
        }
}
