/* Settings of malloc libraries: the texts of a recording, and the front. */
#include "cmd/tune/malloc_tune.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the front ---- */

struct figures {
    double resident, ns;
    size_t keys;
    bool front;
};

/* Which of the rows are on the front, differences of 1% in memory and 5% in time being none. */
static void front_is(const struct figures *f, size_t count)
{
    struct tp_malloc_setting settings[8] = {{.keys = 0}};
    struct tp_malloc_row rows[8] = {{.rounds = 0}};
    for (size_t i = 0; i < count; i++) {
        settings[i].keys = f[i].keys;
        rows[i].setting = &settings[i];
        rows[i].rounds = 3;
        rows[i].resident.median = f[i].resident;
        rows[i].ns.median = f[i].ns;
    }
    tp_malloc_front(rows, count, 3, 0.01, 0.05);
    for (size_t i = 0; i < count; i++)
        if (rows[i].front != f[i].front)
            fail_msg("row %zu: %s", i, rows[i].front ? "on the front" : "not on it");
}

TEST(the_front_has_those_that_none_beats)
{
    const struct figures plain[] = {{100, 50, 0, true},   /* the fastest */
                                    {50, 100, 1, true},   /* the smallest */
                                    {100, 70, 1, false},  /* slower, and no smaller */
                                    {70, 70, 1, true},    /* between */
                                    {NAN, 10, 1, false}}; /* not known */
    front_is(plain, COUNT(plain));
}

TEST(differences_that_are_noise_are_none)
{
    const struct figures equal[] = {{100, 100, 2, false}, /* as the next, with more keys */
                                    {100.4, 102, 1, true},
                                    {99.5, 98, 1, false}}; /* as the one before, and later */
    const struct figures apart[] = {{100, 100, 1, true}, {98, 106, 1, true}};
    const struct figures beaten[] = {{100, 100, 0, false}, {98, 104, 1, true}};
    front_is(equal, COUNT(equal));
    front_is(apart, COUNT(apart));
    front_is(beaten, COUNT(beaten));
}

/* ---- the answer ---- */

static void answers(double resident, double ns, const char *head, const char *reason)
{
    struct tp_malloc_setting settings[2] = {{.paste = (char[]){""}},
                                            {.paste = (char[]){"MALLOC_TOP_PAD_=0"}, .keys = 1}};
    struct tp_malloc_row rows[2] = {
        {.setting = &settings[0], .resident = {1e6, 1e6, 1e6}, .ns = {50, 49, 51}, .rounds = 5},
        {.setting = &settings[1],
         .resident = {resident, resident, resident},
         .ns = {ns, ns * 0.99, ns * 1.01},
         .rounds = 5}};
    const struct tp_trace trace = {.path = NULL};
    struct tp_malloc_tune t = {
        .trace = &trace, .settings = {settings, 2}, .rows = rows, .threads = 1};
    tp_malloc_judge(&t, 5, TP_GOAL_BOTH, false);
    assert_string_equal(t.pick.head, head);
    if (strncmp(t.pick.reason, reason, strlen(reason)) != 0)
        fail_msg("%s", t.pick.reason);
}

TEST(what_is_set_is_kept_where_no_other_is_better)
{
    const char *keep = ": no other setting uses less memory or time";
    answers(1e6, 50, "Keep glibc, nothing set", keep);
    answers(2e6, 80, "Keep glibc, nothing set", keep);
    answers(2e6, 20, "Smallest: glibc, nothing set", " (total resident");
    answers(5e5, 20, "Pick MALLOC_TOP_PAD_=0", ": total resident");
}

/* ---- what a recording had ---- */

static void recorded_is(const char *library, const char *variables, const char *strategy)
{
    struct tp_malloc_settings list = {NULL, 0};
    assert_int_equal(tp_malloc_settings_recorded(&list, library, variables, NULL), TP_OK);
    if (strategy) {
        assert_int_equal(list.count, 1);
        assert_true(list.items[0].recorded);
        assert_string_equal(list.items[0].strategy, strategy);
    } else {
        assert_int_equal(list.count, 0);
    }
    tp_malloc_settings_release(&list);
}

TEST(the_recorded_malloc_is_replayed_with_its_variables)
{
    static const char *const odd[] = {
        "MALLOC_ARENA_MAX={",    "MALLOC_FOO=1;id>x&", "PATH=/tmp",           "MALLOC_ARENA_MAX",
        "MALLOC_CONF=prof:true", "MALLOC_TRACE=x",     "MALLOC_ARENA_MAX=1 b"};
    recorded_is("glibc 2.36", NULL, "system");
    recorded_is("glibc 2.36", "", "system");
    recorded_is("glibc 2.36", "MALLOC_ARENA_MAX=1", "system:env={MALLOC_ARENA_MAX=1}");
    recorded_is("glibc 2.36", "MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
                "system:env={MALLOC_ARENA_MAX=1},env={GLIBC_TUNABLES=glibc.malloc.tcache_count=0}");
    recorded_is(NULL, "MALLOC_ARENA_MAX=1", NULL);
    recorded_is("libnobody.so.7 1.0", NULL, NULL);
    for (size_t i = 0; i < COUNT(odd); i++)
        recorded_is("glibc 2.36", odd[i], NULL);
}

TEST(the_usual_settings_begin_with_the_c_library_alone)
{
    struct tp_malloc_settings one = {NULL, 0}, several = {NULL, 0};
    setenv("TAPOOL_LIBRARY_PATH", "", 1);
    assert_int_equal(tp_malloc_settings_usual(&one, true, false, NULL), TP_OK);
    assert_int_equal(tp_malloc_settings_usual(&several, true, true, NULL), TP_OK);
    assert_string_equal(one.items[0].strategy, "system");
    assert_string_equal(one.items[0].paste, "");
    assert_in_range(one.count, 10, 30);
    assert_in_range(several.count, one.count + 5, 30);
    for (size_t i = 0; i < one.count; i++)
        assert_null(strstr(one.items[i].paste, "ARENA_MAX"));
    tp_malloc_settings_release(&one);
    tp_malloc_settings_release(&several);
}
