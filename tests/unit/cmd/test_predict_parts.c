/* The parts of a prediction: laws of sizes, and the alignment of two recordings. */
#include "cmd/predict/align.h"
#include "cmd/predict/law.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- laws ---- */

struct law_case {
    uint64_t n[4], size[4];
    size_t count;
    const char *text;
    uint64_t at, predicted;
};

TEST(laws_are_exact_in_integers)
{
    static const struct law_case cases[] = {
        {{128, 256}, {4096, 4096}, 2, "constant", 1024, 4096},
        {{128, 256}, {4096, 8192}, 2, "n", 1024, 32768},
        {{128, 256}, {4096, 16384}, 2, "n^2", 1024, 262144},
        {{128, 256}, {4106, 8202}, 2, "a + k n", 1024, 32778},
        {{128, 256}, {16384 + 7, 65536 + 7}, 2, "a + k n^2", 384, 147456 + 7},
        {{2, 4, 8}, {16384 + 28, 65536 + 28, 262144 + 28}, 3, "a + k n^2", 16, 1048576 + 28},
        {{1, 2, 3}, {6, 11, 18}, 3, "a + b n + c n^2", 10, 123},
        {{1, 2, 3}, {6, 11, 15}, 3, "no law", 10, 51}, /* a parabola, but none that grows */
        {{1, 2, 3, 5}, {6, 11, 18, 38}, 4, "a + b n + c n^2", 10, 123},
        {{1, 2, 3, 5}, {6, 11, 18, 39}, 4, "no law", 10, 51},
        {{100, 150, 300}, {128 * 4, 256 * 4, 384 * 4}, 3, "n, padded to 128", 1000, 4096},
        {{100, 150, 300},
         {128 * 4 + 24, 256 * 4 + 24, 384 * 4 + 24},
         3,
         "a + k n, padded to 128",
         1000,
         4120},
        {{3, 7}, {10, 11}, 2, "no law", 11, 12},
        {{2}, {512}, 1, "constant", 100, 512},
        {{3, 1}, {300, 100}, 2, "n", 5, 500}, /* in any order */
        {{1, 2}, {4096, 2048}, 2, "no law", 3, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct law_case *c = &cases[i];
        struct tp_law law = tp_law_of(c->n, c->size, c->count);
        char text[TP_LAW_TEXT];
        uint64_t size = 0;
        tp_law_text(&law, NULL, text);
        assert_string_equal(text, c->text);
        assert_true(tp_law_at(&law, c->at, &size));
        assert_int_equal(size, c->predicted);
        for (size_t k = 0; law.kind != TP_LAW_NONE && k < c->count; k++) {
            assert_true(tp_law_at(&law, c->n[k], &size));
            assert_int_equal(size, c->size[k]);
        }
    }
}

TEST(a_size_that_is_too_large_is_told)
{
    const uint64_t n[3] = {1, 2, TP_LAW_N_MOST}, square[2] = {UINT64_C(1) << 40, UINT64_C(1) << 42};
    const uint64_t most[3] = {1, (UINT64_C(1) << 48) - 1, UINT64_C(1) << 48};
    struct tp_law law = tp_law_of(n, square, 2);
    uint64_t size = 0;
    assert_int_equal(law.power, 2);
    assert_true(tp_law_at(&law, 16, &size));
    assert_int_equal(size, UINT64_C(1) << 48);
    assert_false(tp_law_at(&law, 17, &size));
    assert_false(tp_law_at(&law, TP_LAW_N_MOST, &size));
    law = tp_law_of(n, most, 3); /* products of the largest numbers, and no law */
    assert_int_equal(law.kind, TP_LAW_NONE);
    const uint64_t square3[3] = {3, 6, (UINT64_C(1) << 48) - (UINT64_C(1) << 25) + 3};
    law = tp_law_of(n, square3, 3);
    assert_int_equal(law.kind, TP_LAW_NONE);
    const uint64_t small[3] = {3, 6, 11}, parts[3] = {1, 2, 3};
    law = tp_law_of(parts, small, 3); /* 2 + n^2 */
    assert_true(tp_law_at(&law, TP_LAW_N_MOST - 1, &size));
    assert_int_equal(size, (TP_LAW_N_MOST - 1) * (TP_LAW_N_MOST - 1) + 2);
}

/* ---- laws of several settings ---- */

#define AT2(n, m)                                                                                  \
    {                                                                                              \
        {n, m}, 2                                                                                  \
    }
#define AT3(n, m, l)                                                                               \
    {                                                                                              \
        {n, m, l}, 3                                                                               \
    }

static char *const axis_names[TP_AXES] = {"batch", "len", "heads", "width"};

struct several_case {
    struct tp_axis_values at[6];
    uint64_t size[6];
    size_t count;
    const char *text;
    struct tp_axis_values target;
    uint64_t predicted;
};

static const struct several_case several[] = {
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128)}, {512, 512, 512}, 3, "constant", AT2(8, 512), 512},
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128)},
     {256, 512, 512},
     3,
     "batch len",
     AT2(8, 512),
     8 * 512 * 2},
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128)},
     {8192, 16384, 32768},
     3,
     "batch len^2",
     AT2(8, 512),
     8 * 512 * 512},
    {{AT2(4, 128), AT2(2, 128), AT2(4, 64)}, {12, 12, 6}, 3, "len", AT2(32, 256), 24},
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128)},
     {8192 + 24, 16384 + 24, 32768 + 24},
     3,
     "a + k batch len^2",
     AT2(8, 512),
     8 * 512 * 512 + 24},
    {{AT2(2, 100), AT2(4, 100), AT2(2, 160)},
     {256, 512, 384},
     3,
     "batch len, len padded to 64",
     AT2(8, 500),
     8 * 512},
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128), AT2(6, 256)},
     {3 + 10 + 448, 3 + 20 + 448, 3 + 10 + 896, 3 + 30 + 1792},
     4,
     "a + b batch + c len",
     AT2(8, 512),
     3 + 40 + 3584},
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128), AT2(4, 128)},
     {10 + 448 + 384, 20 + 448 + 768, 10 + 896 + 768, 20 + 896 + 1536},
     4,
     "b batch + c len + d batch len",
     AT2(8, 512),
     40 + 3584 + 3 * 4096},
    /* one square beside two factors, as of attention */
    {{AT3(2, 64, 4), AT3(4, 64, 4), AT3(2, 128, 4), AT3(2, 64, 8)},
     {32768, 65536, 131072, 65536},
     4,
     "batch len^2 heads",
     AT3(3, 100, 5),
     150000},
    /* contradictions */
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128)}, {1000, 1001, 1777}, 3, "no law", AT2(8, 512), 1000},
    {{AT2(2, 64), AT2(4, 64), AT2(2, 128), AT2(4, 128)},
     {1000, 900, 800, 10},
     4,
     "no law",
     AT2(8, 512),
     1000},
    /* what does not decide: a setting of one value, as many sizes as settings, both grow together
     */
    {{AT2(2, 64), AT2(4, 64), AT2(8, 64)}, {5, 5, 5}, 3, "no law", AT2(8, 512), 5},
    {{AT2(2, 64), AT2(4, 256)}, {128, 1024}, 2, "no law", AT2(8, 512), 128},
    {{AT2(2, 64), AT2(4, 128), AT2(8, 256)}, {2, 4, 8}, 3, "no law", AT2(8, 512), 2},
    {{AT2(2, 64), AT2(4, 128), AT2(8, 256), AT2(16, 512)},
     {2, 5, 9, 20},
     4,
     "no law",
     AT2(8, 512),
     2},
    {{AT2(7, 9)}, {512}, 1, "constant", AT2(8, 512), 512},
};

TEST(laws_of_several_settings_are_exact)
{
    for (size_t i = 0; i < COUNT(several); i++) {
        const struct several_case *c = &several[i];
        struct tp_law law = tp_law_of_settings(c->at, c->size, c->count);
        char text[TP_LAW_TEXT];
        uint64_t size = 0;
        tp_law_text(&law, axis_names, text);
        assert_string_equal(text, c->text);
        assert_true(tp_law_at_setting(&law, &c->target, &size));
        assert_int_equal(size, c->predicted);
        for (size_t k = 0; law.kind != TP_LAW_NONE && k < c->count; k++) {
            assert_true(tp_law_at_setting(&law, &c->at[k], &size));
            assert_int_equal(size, c->size[k]);
        }
    }
}

/* A law that is found holds for all sizes, and one that was made is found or refused, never taken
 * for another: settings and factors are random, up to the largest. */
TEST(laws_of_random_settings_hold)
{
    uint64_t seed = 11;
    size_t found = 0;
    for (int round = 0; round < 20000; round++) {
        struct tp_axis_values at[6];
        uint64_t size[6], got = 0, bits = 1 + (unsigned)round % 24;
        for (size_t i = 0; i < 6; i++) {
            at[i] = (struct tp_axis_values){.count = 2};
            for (size_t k = 0; k < 2; k++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                at[i].values[k] = (seed >> 40) % (UINT64_C(1) << bits) + 1;
            }
            size[i] = round % 2 ? (seed >> 16) + 1 : 7 + 3 * at[i].values[0] + 5 * at[i].values[1];
        }
        struct tp_law law = tp_law_of_settings(at, size, 5);
        for (size_t i = 0; law.kind != TP_LAW_NONE && i < 5; i++) {
            assert_true(tp_law_at_setting(&law, &at[i], &got));
            assert_int_equal(got, size[i]);
        }
        if (law.kind != TP_LAW_BILINEAR || round % 2)
            continue;
        found++;
        assert_true(tp_law_at_setting(&law, &at[5], &got));
        assert_int_equal(got, size[5]);
    }
    assert_in_range(found, 9000, 10000);
}

TEST(sizes_of_several_settings_that_are_too_large_are_told)
{
    static const struct tp_axis_values at[4] = {AT2(1, 1), AT2(2, 1), AT2(1, 2), AT2(3, 3)};
    static const uint64_t product[3] = {1 << 20, 1 << 21, 1 << 22};
    static const uint64_t sum[4] = {1 + 2 + 4, 1 + 4 + 4, 1 + 2 + 8, 1 + 6 + 12};
    static const struct tp_axis_values most = AT2(TP_LAW_N_MOST, TP_LAW_N_MOST),
                                       fits = AT2(4, 8192);
    uint64_t size = 0;
    struct tp_law law = tp_law_of_settings(at, product, 3);
    assert_int_equal(law.kind, TP_LAW_PRODUCT);
    assert_false(tp_law_at_setting(&law, &most, &size));
    assert_true(tp_law_at_setting(&law, &fits, &size));
    assert_int_equal(size, UINT64_C(1) << 48);
    law = tp_law_of_settings(at, sum, 4);
    assert_int_equal(law.kind, TP_LAW_BILINEAR);
    assert_true(tp_law_at_setting(&law, &most, &size));
    assert_int_equal(size, 1 + 6 * TP_LAW_N_MOST);
    law.parts[3] = UINT64_C(1) << 48; /* the largest parts at the largest values */
    assert_false(tp_law_at_setting(&law, &most, &size));
}

/* ---- alignment ---- */

static size_t longest(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    size_t *row = calloc((n + 1) * (m + 1), sizeof *row);
    assert_non_null(row);
    for (size_t i = 1; i <= n; i++)
        for (size_t k = 1; k <= m; k++) {
            size_t up = row[(i - 1) * (m + 1) + k], left = row[i * (m + 1) + k - 1];
            size_t best = up > left ? up : left;
            row[i * (m + 1) + k] = a[i - 1] == b[k - 1] ? row[(i - 1) * (m + 1) + k - 1] + 1 : best;
        }
    size_t found = row[n * (m + 1) + m];
    free(row);
    return found;
}

/* Pairs ascend, have equal keys, and are as many as the table of all prefixes says. */
static void is_longest(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    size_t *pairs = calloc(n + 1, sizeof *pairs), count = 0, next = 0;
    assert_non_null(pairs);
    assert_int_equal(tp_align(a, n, b, m, pairs, NULL), TP_OK);
    for (size_t i = 0; i < n; i++) {
        if (pairs[i] == TP_UNPAIRED)
            continue;
        assert_in_range(pairs[i], next, m - 1);
        assert_int_equal(a[i], b[pairs[i]]);
        next = pairs[i] + 1;
        count++;
    }
    assert_int_equal(count, longest(a, n, b, m));
    free(pairs);
}

TEST(pairs_are_a_longest_common_subsequence)
{
    static const uint64_t abc[] = {1, 2, 3, 4, 5}, other[] = {1, 2, 3, 8, 9, 4, 5};
    uint64_t a[60], b[60], seed = 7;
    is_longest(abc, 0, abc, 0);
    is_longest(abc, 5, abc, 0);
    is_longest(abc, 0, abc, 5);
    is_longest(abc, 5, abc, 5);
    is_longest(abc, 5, other, 7);
    for (int round = 0; round < 3000; round++) {
        size_t n = 0, m = 0;
        uint64_t most = round % 2 ? 3 : 31;
        for (; n < 60 && (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 58; n++)
            a[n] = seed >> 33 & most;
        for (; m < 60 && (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 58; m++)
            b[m] = m < n && seed >> 40 & 3 ? a[m] : seed >> 33 & most;
        is_longest(a, n, b, m);
    }
}

TEST(work_is_bounded)
{
    enum { MANY = 100000 };
    uint64_t *a = calloc(MANY, sizeof *a), *b = calloc(MANY, sizeof *b);
    size_t *pairs = calloc(MANY, sizeof *pairs);
    struct tp_err err = {0};
    assert_true(a && b && pairs);
    for (size_t i = 0; i < MANY; i++) {
        a[i] = i;
        b[i] = i + MANY;
    }
    assert_int_equal(tp_align(a, MANY, b, MANY, pairs, &err), TP_EUNSUP);
    assert_non_null(strstr(err.text, "too many allocations"));
    for (size_t i = 0; i < MANY; i++)
        b[i] = i % 1000 ? i : MANY;
    assert_int_equal(tp_align(a, MANY, b, MANY, pairs, &err), TP_OK);
    assert_int_equal(pairs[MANY - 1], MANY - 1);
    assert_int_equal(pairs[1000], TP_UNPAIRED);
    free(a);
    free(b);
    free(pairs);
}
