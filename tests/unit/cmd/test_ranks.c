/* Ranks beside each other: their names, the median, the odd one; and rows of real files. */
#include "cmd/why/ranks.h"

#include "tests/unit/snapshot_files.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

enum { MOST = 8 };

/* Ranks that were not read from files. 0 bytes reserved: the file cannot be used. */
struct made {
    const char *file;
    uint64_t reserved, requested;
};

static struct tp_ranks judge(const struct made *made, size_t count)
{
    struct tp_ranks r = {.files = calloc(count, sizeof *r.files)};
    assert_non_null(r.files);
    assert_int_equal(TP_GROW(&r.list, &r.room, count, NULL, .what = NULL), TP_OK);
    for (size_t i = 0; i < count; i++) {
        r.files[r.file_count++] = strdup(made[i].file);
        r.list[r.count++] =
            (struct tp_rank){.file = r.files[i],
                             .status = made[i].reserved ? TP_OK : TP_EINPUT,
                             .judged = made[i].reserved != 0,
                             .sum = {.reserved = made[i].reserved, .requested = made[i].requested}};
        r.good += made[i].reserved != 0;
    }
    assert_int_equal(tp_ranks_judge(&r, NULL), TP_OK);
    return r;
}

/* ---- names ---- */

static void expect_names(const char *const files[3], const char *const names[3])
{
    struct made made[3];
    for (int i = 0; i < 3; i++)
        made[i] = (struct made){files[i], 100, 100};
    struct tp_ranks r = judge(made, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(r.list[i].name, names[i]);
    tp_ranks_release(&r);
}

TEST(names_are_what_differs)
{
    static const struct {
        const char *files[3], *names[3];
    } cases[] = {
        {{"rank0.pickle", "rank1.pickle", "rank2.pickle"}, {"0", "1", "2"}},
        {{"rank1.pickle", "rank10.pickle", "rank11.pickle"}, {"1", "10", "11"}},
        {{"out/r10.p", "out/r20.p", "out/r30.p"}, {"10", "20", "30"}},
        {{"r0/mem.pickle", "r1/mem.pickle", "r2/mem.pickle"}, {"0", "1", "2"}},
        {{"a/x0.p", "b/x1.p", "c/x2.p"}, {"0", "1", "2"}},
        {{"base.p", "head.p", "heap.p"}, {"base", "head", "heap"}},
        {{"run.p", "run-2.p", "run-3.p"}, {"run.p", "run-2.p", "run-3.p"}},
        {{"m.p", "m.p", "m.p"}, {"m.p", "m.p", "m.p"}},
        {{"d/m.p", "d/m.p", "d/n.p"}, {"m", "m", "n"}},
        {{"\xc3\xa4.p", "\xc3\xb6.p", "\xc3\xbc.p"}, {"\xc3\xa4", "\xc3\xb6", "\xc3\xbc"}},
        {{"-", "x", "/"}, {"-", "x", "/"}},
        {{"a-name-that-is-too-long-for-a-table-1", "b", "c"},
         {"-too-long-for-a-table-1", "b", "c"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_names(cases[i].files, cases[i].names);
}

/* ---- the odd one ---- */

TEST(the_odd_one_is_first)
{
    static const struct made made[] = {
        {"r0", 100, 90}, {"r1", 102, 91}, {"r2", 0, 0}, {"r3", 60, 50}, {"r4", 101, 92}};
    struct tp_ranks r = judge(made, 5);
    assert_false(r.agree);
    assert_int_equal(r.figure, TP_RANK_REQUESTED); /* 44% below, and 40% by reserved memory */
    assert_int_equal(r.odd, 0);
    assert_string_equal(r.list[0].file, "r3");
    assert_string_equal(r.list[1].file, "r0");
    assert_string_equal(r.list[4].file, "r4");
    assert_string_equal(r.list[r.median].file, "r0"); /* the lower one of 90 and 91 */
    assert_fields(r, medians[TP_RANK_RESERVED], 100, medians[TP_RANK_REQUESTED], 90);
    assert_int_equal(r.beyond, 2); /* r4 is 2.2% above */
    assert_int_equal(tp_ranks_status(&r, NULL), TP_EINPUT);
    tp_ranks_release(&r);
}

TEST(of_two_the_larger_one_is_odd)
{
    static const struct made made[] = {{"r0", 100, 90}, {"r1", 150, 90}};
    struct tp_ranks r = judge(made, 2);
    assert_false(r.agree);
    assert_int_equal(r.figure, TP_RANK_RESERVED);
    assert_string_equal(r.list[r.odd].file, "r1");
    assert_string_equal(r.list[r.median].file, "r0");
    assert_int_equal(tp_ranks_status(&r, NULL), TP_OK);
    tp_ranks_release(&r);
}

/* 2% apart is agreement; a byte more of 1,000 is not. The order stays. */
TEST(alike_ranks_agree)
{
    struct made made[] = {{"r0", 1000, 900}, {"r1", 1020, 900}, {"r2", 1000, 900}};
    struct tp_ranks r = judge(made, 3);
    assert_true(r.agree);
    assert_string_equal(r.list[0].file, "r0");
    assert_fields(r, beyond, 0, sites.count, 0);
    tp_ranks_release(&r);
    made[1].reserved = 1021;
    r = judge(made, 3);
    assert_false(r.agree);
    assert_string_equal(r.list[0].file, "r1");
    tp_ranks_release(&r);
}

TEST(a_median_of_nothing)
{
    static const struct made made[] = {{"r0", 5, 0}, {"r1", 5, 0}, {"r2", 5, 4}};
    struct tp_ranks r = judge(made, 3);
    assert_int_equal(r.figure, TP_RANK_REQUESTED);
    assert_string_equal(r.list[r.odd].file, "r2");
    assert_true(isinf(tp_rank_apart(&r, &r.list[0], TP_RANK_REQUESTED)));
    tp_ranks_release(&r);
}

TEST(one_alone_is_not_judged)
{
    static const struct made made[] = {{"r0", 5, 0}, {"r1", 0, 0}};
    struct tp_ranks r = judge(made, 2);
    assert_int_equal(r.good, 1);
    assert_string_equal(r.list[0].file, "r0");
    assert_int_equal(r.sites.count, 0);
    tp_ranks_release(&r);
}

/* ---- files ---- */

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

static int read_files(char **paths, size_t count, struct tp_ranks *out, struct tp_err *err)
{
    return tp_ranks_read(&(struct tp_ranks_cfg){.paths = paths,
                                                .count = count,
                                                .all_devices = true,
                                                .max_memory = UINT64_C(1) << 30,
                                                .stop = never},
                         out, err);
}

/* The figures of ring-wrapped.pickle.gz are those of test_why.c, by another reckoning. */
TEST(rows_of_files)
{
    char ring[4096], small[4096], none[] = "none.pickle", text[] = TAPOOL_ROOT "/README.md";
    struct tp_ranks r;
    struct tp_err err = {0};
    char *paths[] = {small, none, ring, text};
    assert_true(find_snapshot(TAPOOL_ROOT, "complete-small.pickle", small, sizeof small));
    bool there = find_snapshot(TAPOOL_ROOT, "ring-wrapped.pickle.gz", ring, sizeof ring);
    assert_int_equal(read_files(paths, 4, &r, &err), TP_OK);
    assert_fields(r, count, 4, good, there ? 2 : 1);
    for (size_t i = 0; i < r.count; i++) {
        const struct tp_rank *rank = &r.list[i];
        if (rank->status != TP_OK) {
            assert_true(*rank->why);
            continue;
        }
        uint64_t sum = 0;
        for (size_t k = 0; k < rank->sites.count; k++)
            sum += rank->sites.list[k].bytes;
        assert_int_equal(sum, rank->sum.requested);
        assert_int_equal(rank->sites.blocks, rank->sum.live);
        assert_int_equal(rank->sum.requested + rank->sum.rounding + tp_rank_free(rank),
                         rank->sum.reserved);
        assert_true(rank->largest <= tp_rank_free(rank));
    }
    assert_int_equal(tp_ranks_status(&r, &err), TP_EINPUT);
    if (there) {
        assert_fields(r.list[0], sum.reserved, UINT64_C(20673724416), sum.requested,
                      UINT64_C(15824637956), peak, 9980);
    }
    tp_ranks_release(&r);
}

TEST(no_file_at_all)
{
    char none[] = "none.pickle", text[] = TAPOOL_ROOT "/README.md";
    char *paths[] = {none, text};
    struct tp_ranks r;
    struct tp_err err = {0};
    assert_int_equal(read_files(paths, 2, &r, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "none.pickle"));
    tp_ranks_release(&r);
}
