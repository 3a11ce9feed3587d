/* Memory straight from the kernel, which no malloc of the process sees. */
#include "alloc/base/grow.h"
#include "alloc/base/own.h"
#include "tests/unit/test.h"

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static bool is_zero(const unsigned char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i])
            return false;
    return true;
}

TEST(blocks_are_zeroed_aligned_and_keep_their_contents)
{
    static const size_t sizes[] = {0, 1, 4032, 4033, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = tp_own_zeroed(sizes[i], 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(is_zero(p, sizes[i]));
        memset(p, 0x5a, sizes[i]);
        unsigned char *bigger = tp_own_resized(p, sizes[i] + 1000000);
        assert_non_null(bigger);
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(bigger[at], 0x5a);
        bigger[sizes[i] + 999999] = 1;
        tp_own_free(bigger);
    }
    tp_own_free(NULL);
}

TEST(what_cannot_be_had_is_null)
{
    assert_null(tp_own_zeroed(SIZE_MAX / 2, 3));
    assert_null(tp_own_zeroed(SIZE_MAX - 8, 1));
    assert_null(tp_own_zeroed(SIZE_MAX / 4, 1));
    unsigned char *p = tp_own_zeroed(10, 1);
    p[9] = 7;
    assert_null(tp_own_resized(p, SIZE_MAX - 8));
    assert_null(tp_own_resized(p, SIZE_MAX / 4));
    assert_int_equal(p[9], 7);
    tp_own_free(p);
}

/* The heap is as it was, however much is taken. */
TEST(the_heap_does_not_see_it)
{
    if (TP_SANITIZED)
        skip();
    struct list {
        uint64_t *items;
        size_t room;
    } list = {0};
    struct mallinfo2 before = mallinfo2();
    void *some[20];
    for (size_t i = 0; i < 20; i++)
        assert_non_null(some[i] = tp_own_zeroed(1, i * 100));
    for (size_t n = 1; n < 10000; n *= 3)
        assert_int_equal(TP_GROW(&list.items, &list.room, n, NULL, .what = "x", .own = true), 0);
    list.items[list.room - 1] = 1;
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(before.uordblks, after.uordblks);
    assert_int_equal(before.hblkhd, after.hblkhd);
    assert_int_equal(before.arena, after.arena);
    for (size_t i = 0; i < 20; i++)
        tp_own_free(some[i]);
    TP_GROW_END(&list.items, &list.room, .own = true);
    assert_null(list.items);
}
