/* Options: values, ranges, sentences that users see, and text that reads back. */
#include "alloc/base/opt.h"
#include "tests/unit/test.h"

#include <stdbool.h>

struct arena_opts {
    bool strict;
    uint64_t count, arena_size, lag, cache;
    uint32_t classes;
    char *conf;
    struct tp_opt_list names;
};

static const char *const tables[] = {"fine", "coarse6", NULL};
static const char *const words[] = {"auto", "none", NULL};

#define AT(member) .offset = offsetof(struct arena_opts, member)
static const struct tp_opt rows[] = {
    {.name = "strict", .type = TP_OPT_FLAG, AT(strict), .help = "be strict"},
    {.name = "count",
     .type = TP_OPT_UINT,
     AT(count),
     .def = "3",
     .min = 1,
     .max = 9,
     .arg = "N",
     .help = "how many"},
    {.name = "arena_size",
     .type = TP_OPT_SIZE,
     AT(arena_size),
     .def = "64MiB",
     .min = 4096,
     .max = UINT64_C(1) << 40,
     .arg = "SIZE",
     .help = "largest source range"},
    {.name = "lag", .type = TP_OPT_DURATION, AT(lag), .def = "50us", .arg = "TIME", .help = "lag"},
    {.name = "cache",
     .type = TP_OPT_SIZE,
     AT(cache),
     .def = "auto",
     .min = 10,
     .choices = words,
     .arg = "SIZE",
     .help = "cached bytes"},
    {.name = "classes",
     .type = TP_OPT_CHOICE,
     AT(classes),
     .def = "fine",
     .choices = tables,
     .arg = "TABLE",
     .help = "size classes"},
    {.name = "conf", .type = TP_OPT_TEXT, AT(conf), .arg = "TEXT", .help = "settings"},
    {.name = "names", .type = TP_OPT_LIST, AT(names), .arg = "NAME", .help = "names"},
    {.name = NULL},
};

static const char owner[] = "strategy 'arena'";

static void defaults_of(struct arena_opts *o)
{
    *o = (struct arena_opts){0};
    assert_int_equal(tp_opts_defaults(rows, o, NULL), TP_OK);
}

TEST(defaults)
{
    struct arena_opts o;
    defaults_of(&o);
    assert_false(o.strict);
    assert_true(o.count == 3 && o.arena_size == UINT64_C(64) << 20 && o.lag == 50000);
    assert_true(o.cache == TP_OPT_KEYWORD(0) && o.classes == 0);
    assert_null(o.conf);
    assert_int_equal(o.names.count, 0);
    tp_opts_release(rows, &o);
    assert_int_equal(tp_opts_defaults(NULL, NULL, NULL), TP_OK);
    assert_int_equal(tp_opts_parse(NULL, NULL, "", "x", NULL), TP_OK);
    assert_null(tp_opt_find(NULL, "x"));
    tp_opts_release(NULL, NULL);
}

TEST(parse_all)
{
    struct arena_opts o;
    struct tp_err err;
    defaults_of(&o);
    assert_int_equal(tp_opts_parse(rows, &o,
                                   "strict,count=9,arena-size=4K,LAG=1.5us,cache=NONE,"
                                   "classes=Coarse6,conf={a:1,b:{2,3}},names=x,names={y,z}",
                                   owner, &err),
                     TP_OK);
    assert_true(o.strict && o.count == 9 && o.arena_size == 4096 && o.lag == 1500);
    assert_true(o.cache == TP_OPT_KEYWORD(1) && o.classes == 1);
    assert_string_equal(o.conf, "a:1,b:{2,3}");
    assert_int_equal(o.names.count, 2);
    assert_string_equal(o.names.items[0], "x");
    assert_string_equal(o.names.items[1], "y,z");
    assert_int_equal(tp_opts_parse(rows, &o, "strict=off,conf=,conf={q}", owner, &err), TP_OK);
    assert_false(o.strict);
    assert_string_equal(o.conf, "q");
    assert_int_equal(tp_opts_parse(rows, &o, "cache=11,conf={}", owner, &err), TP_OK);
    assert_true(o.cache == 11);
    assert_string_equal(o.conf, "");
    tp_opts_release(rows, &o);
    assert_null(o.conf);
    assert_null(o.names.items);
}

TEST(flags)
{
    static const char *const yes[] = {"yes", "on", "true", "1", "YES"};
    static const char *const no[] = {"no", "off", "false", "0", "Off"};
    struct arena_opts o = {0};
    for (size_t i = 0; i < 5; i++) {
        o.strict = false;
        assert_int_equal(tp_opt_set(&rows[0], &o, yes[i], NULL), TP_OK);
        assert_true(o.strict);
        assert_int_equal(tp_opt_set(&rows[0], &o, no[i], NULL), TP_OK);
        assert_false(o.strict);
    }
}

struct refusal {
    const char *spec, *text, *hint;
};

static const struct refusal refusals[] = {
    {"arena_sise=1", "strategy 'arena' has no option 'arena_sise'", "did you mean 'arena_size'?"},
    {"Clases=fine", "strategy 'arena' has no option 'Clases'", "did you mean 'classes'?"},
    {"zzz", "strategy 'arena' has no option 'zzz'",
     "its options are strict, count, arena_size, lag, cache, classes, conf, names"},
    {"arena_size=3", "option 'arena_size' of strategy 'arena' is 3B, below the minimum 4KiB", ""},
    {"arena_size=3B", "option 'arena_size' of strategy 'arena' is 3B, below the minimum 4KiB", ""},
    {"arena_size=2T", "option 'arena_size' of strategy 'arena' is 2TiB, above the maximum 1TiB",
     ""},
    {"count=0", "option 'count' of strategy 'arena' is 0, below the minimum 1", ""},
    {"count=10", "option 'count' of strategy 'arena' is 10, above the maximum 9", ""},
    {"count=-1", "option 'count' of strategy 'arena' is '-1', which is not a valid number",
     "write a whole number"},
    {"arena_size=big",
     "option 'arena_size' of strategy 'arena' is 'big', which is not a valid size",
     "write a number and a unit, such as 64MiB"},
    {"lag=50", "option 'lag' of strategy 'arena' is '50', which is not a valid duration",
     "write a number and a unit, such as 50us"},
    {"cache=some", "option 'cache' of strategy 'arena' is 'some', which is not a valid size",
     "write a number and a unit, such as 64MiB, or auto, none"},
    {"cache=9", "option 'cache' of strategy 'arena' is 9B, below the minimum 10B", ""},
    {"cache=18446744073709551614",
     "option 'cache' of strategy 'arena' is 18446744073709551614B, above the maximum "
     "18446744073709551613B",
     ""},
    {"classes=coarse5",
     "option 'classes' of strategy 'arena' is 'coarse5', which is none of fine, coarse6",
     "did you mean 'coarse6'?"},
    {"classes=", "option 'classes' of strategy 'arena' is '', which is none of fine, coarse6", ""},
    {"strict=maybe", "option 'strict' of strategy 'arena' is 'maybe', neither yes nor no",
     "write yes or no"},
    {"count", "option 'count' of strategy 'arena' needs a value", "write count=N"},
    {"count=1,,lag=1us", "the name of an option of strategy 'arena' is missing", ""},
    {"=1", "the name of an option of strategy 'arena' is missing", ""},
    {"conf={a:{1}", "the braces in option 'conf' of strategy 'arena' do not match", TP_OPT_BRACES},
    {"conf={a}b,count=1", "the braces in option 'conf' of strategy 'arena' do not match",
     TP_OPT_BRACES},
};

TEST(sentences)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct arena_opts o;
        struct tp_err err;
        defaults_of(&o);
        assert_int_equal(tp_opts_parse(rows, &o, refusals[i].spec, owner, &err), TP_EUSAGE);
        assert_int_equal(err.status, TP_EUSAGE);
        assert_string_equal(err.text, refusals[i].text);
        assert_string_equal(err.hint, refusals[i].hint);
        assert_true(o.count == 3 || o.count == 1);
        assert_int_equal(tp_opts_parse(rows, &o, refusals[i].spec, owner, NULL), TP_EUSAGE);
        tp_opts_release(rows, &o);
    }
    struct tp_err err;
    assert_int_equal(tp_opts_parse(NULL, NULL, "x=1", "strategy 'direct'", &err), TP_EUSAGE);
    assert_string_equal(err.text, "strategy 'direct' has no options, and so no 'x'");
    struct arena_opts o = {0};
    assert_int_equal(tp_opt_set(&rows[1], &o, "10", &err), TP_EUSAGE);
    assert_string_equal(err.text, "option 'count' is 10, above the maximum 9");
}

static const struct {
    const char *name, *in, *out;
} texts[] = {
    {"arena_size", "65536KiB", "64MiB"},
    {"arena_size", "4096", "4KiB"},
    {"arena_size", "5000", "5000"},
    {"arena_size", "1T", "1TiB"},
    {"cache", "1536", "1536"},
    {"cache", "10.5K", "10752"},
    {"cache", "AUTO", "auto"},
    {"cache", "none", "none"},
    {"lag", "0", "0"},
    {"lag", "50000ns", "50us"},
    {"lag", "60s", "60s"},
    {"lag", "60min", "1h"},
    {"lag", "0.5s", "500ms"},
    {"lag", "1500us", "1500us"},
    {"count", "07", "7"},
    {"classes", "COARSE6", "coarse6"},
    {"strict", "on", "yes"},
    {"strict", "0", "no"},
    {"conf", "a:1,b=2", "a:1,b=2"},
};

TEST(text_reads_back)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena_opts o = {0};
        const struct tp_opt *row = tp_opt_find(rows, texts[i].name);
        char out[64], again[64];
        assert_non_null(row);
        assert_int_equal(tp_opt_set(row, &o, texts[i].in, NULL), TP_OK);
        tp_opt_format(row, &o, out, sizeof out);
        assert_string_equal(out, texts[i].out);
        assert_int_equal(tp_opt_set(row, &o, out, NULL), TP_OK);
        tp_opt_format(row, &o, again, sizeof again);
        assert_string_equal(again, out);
        tp_opts_release(rows, &o);
    }
    struct arena_opts o = {0};
    char out[64] = "x";
    tp_opt_format(tp_opt_find(rows, "conf"), &o, out, sizeof out);
    assert_string_equal(out, "");
    assert_int_equal(tp_opts_parse(rows, &o, "names=a,names=b", owner, NULL), TP_OK);
    tp_opt_format(tp_opt_find(rows, "names"), &o, out, sizeof out);
    assert_string_equal(out, "a,b");
    tp_opt_format(tp_opt_find(rows, "names"), &o, out, 3);
    assert_string_equal(out, "a,");
    tp_opt_format(tp_opt_find(rows, "names"), &o, out, 0);
    tp_opts_release(rows, &o);
}

/* ---- a value without its name ---- */

struct bare_opts {
    char *path;
    bool quick;
    struct tp_opt_list env;
};

static const struct tp_opt bare_rows[] = {
    TP_TEXT_AT("path", offsetof(struct bare_opts, path), .arg = "PATH", .help = "h", .bare = true),
    TP_FLAG_ROW(struct bare_opts, quick, .help = "h"),
    TP_LIST_AT("env", offsetof(struct bare_opts, env), .arg = "NAME=VALUE", .help = "h"),
    {.name = NULL}};

/* What is read, and what tp_opts_add writes for it. */
static const struct {
    const char *in, *path, *out;
} bare_texts[] = {
    {"jemalloc", "jemalloc", "jemalloc,quick=no"},
    {"jemalloc,env=A=B", "jemalloc", "jemalloc,quick=no,env=A=B"},
    {"./a=b.so,quick", "./a=b.so", "./a=b.so,quick=yes"},
    {"path=x", "x", "x,quick=no"},
    {"env=A=1,env={B=1,2},path=y", "y", "y,quick=no,env=A=1,env={B=1,2}"},
    {"quick", NULL, "quick=yes"},
    {"{quick}", "quick", "{quick},quick=no"},
    {"{Env=1}", "Env=1", "{Env=1},quick=no"},
    {"{a,b},env=A={x}", "a,b", "{a,b},quick=no,env=A={x}"},
    {"{{a}}", "{a}", "{{a}},quick=no"},
    {"", NULL, "quick=no"},
    {",env=A=B", "", "quick=no,env=A=B"},
};

TEST(the_first_value_may_stand_without_its_name)
{
    for (size_t i = 0; i < sizeof bare_texts / sizeof *bare_texts; i++) {
        struct bare_opts o = {0}, again = {0};
        struct tp_str out = {0}, second = {0};
        assert_int_equal(tp_opts_parse(bare_rows, &o, bare_texts[i].in, "x", NULL), TP_OK);
        if (bare_texts[i].path)
            assert_string_equal(o.path, bare_texts[i].path);
        else
            assert_null(o.path);
        tp_opts_add(&out, bare_rows, &o);
        assert_string_equal(tp_str_text(&out), bare_texts[i].out);
        assert_int_equal(tp_opts_parse(bare_rows, &again, tp_str_text(&out), "x", NULL), TP_OK);
        tp_opts_add(&second, bare_rows, &again);
        assert_string_equal(tp_str_text(&second), bare_texts[i].out);
        tp_str_drop(&out);
        tp_str_drop(&second);
        tp_opts_release(bare_rows, &o);
        tp_opts_release(bare_rows, &again);
    }
}

TEST(a_bare_value_stands_only_first)
{
    struct bare_opts o = {0};
    struct tp_err err;
    assert_ptr_equal(tp_opt_bare(bare_rows), &bare_rows[0]);
    assert_null(tp_opt_bare(rows));
    assert_null(tp_opt_bare(NULL));
    assert_int_equal(tp_opts_parse(bare_rows, &o, "quick,jemalloc", "lib", &err), TP_EUSAGE);
    assert_string_equal(err.text, "lib has no option 'jemalloc'");
    assert_int_equal(tp_opts_parse(bare_rows, &o, "{a", "lib", &err), TP_EUSAGE);
    assert_string_equal(err.text, "the braces in option 'path' of lib do not match");
    tp_opts_release(bare_rows, &o);
}

/* A set is written so that its words stay one value. */
TEST(sets_and_lists_read_back)
{
    static const char *const two[] = {"a", "b", NULL};
    static const struct tp_opt set_rows[] = {TP_SET_AT("set", 0, .choices = two, .help = "h"),
                                             {.name = NULL}};
    uint32_t set = 3, again = 0;
    char text[64];
    struct tp_str out = TP_STR_IN(text);
    tp_opts_add(&out, set_rows, &set);
    assert_string_equal(text, "set={a,b}");
    assert_int_equal(tp_opts_parse(set_rows, &again, text, "x", NULL), TP_OK);
    assert_int_equal(again, 3);
}

TEST(nearest)
{
    static const char *const names[] = {"arena", "lru", "bump", "stream-pool", "direct", NULL};
    assert_string_equal(tp_nearest("aerna", names), "arena");
    assert_string_equal(tp_nearest("ARENA", names), "arena");
    assert_string_equal(tp_nearest("strem_pool", names), "stream-pool");
    assert_string_equal(tp_nearest("lur", names), "lru");
    assert_null(tp_nearest("jemalloc", names));
    assert_null(tp_nearest("", names));
    assert_null(tp_nearest("x", names));
    assert_null(tp_nearest("arena", NULL));
    static const char *const near[] = {"arena_size", "arena_sizes", "y", NULL};
    assert_string_equal(tp_nearest("arena_siz", near), "arena_size");
    assert_null(tp_nearest("x", near));
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(tp_nearest(longest, names));
    const char *const long_names[] = {longest, "arena", NULL};
    assert_string_equal(tp_nearest("arenas", long_names), "arena");
    struct arena_opts o = {0};
    struct tp_err err;
    assert_int_equal(tp_opts_parse(rows, &o, longest, owner, &err), TP_EUSAGE);
}

TEST(a_text_that_cannot_be_given_is_told_apart)
{
    static const char *const can[] = {"", "a,b", "a}b", "a{b", "{}", "a{b}c,d", "{a},{b}"};
    static const char *const cannot[] = {"{a", "a}b,c", "a,b{c", "a}{b,c"};
    struct arena_opts o;
    defaults_of(&o);
    for (size_t i = 0; i < sizeof can / sizeof *can; i++) {
        char text[64] = "";
        struct tp_str s = TP_STR_IN(text);
        assert_true(tp_opt_can_be_value(can[i]));
        tp_opt_add_value(&s, ",", rows, tp_opt_find(rows, "conf"), can[i]);
        assert_int_equal(tp_opts_parse(rows, &o, text, owner, NULL), TP_OK);
        assert_string_equal(o.conf, can[i]);
    }
    for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++)
        assert_false(tp_opt_can_be_value(cannot[i]));
    tp_opts_release(rows, &o);
}

static void check_one(struct tp_opt row, const char *what)
{
    const struct tp_opt table[] = {row, {.name = NULL}};
    struct tp_err err;
    int rc = tp_opts_check(table, sizeof(struct arena_opts), owner, &err);
    assert_int_equal(rc, what ? TP_EBROKEN : TP_OK);
    if (what && !strstr(err.text, what))
        fail_msg("'%s' does not say '%s'", err.text, what);
}

#define CHANGED(from, ...)                                                                         \
    do {                                                                                           \
        struct tp_opt r = rows[from];                                                              \
        __VA_ARGS__;                                                                               \
    } while (0)

TEST(tables_are_checked)
{
    const struct tp_opt second[] = {rows[0], bare_rows[0], {.name = NULL}};
    assert_int_equal(tp_opts_check(bare_rows, sizeof(struct bare_opts), owner, NULL), TP_OK);
    assert_int_equal(tp_opts_check(second, sizeof(struct arena_opts), owner, NULL), TP_EBROKEN);
    CHANGED(0, r.bare = true; check_one(r, "its type cannot be bare"));
    struct tp_err err;
    assert_int_equal(tp_opts_check(rows, sizeof(struct arena_opts), owner, &err), TP_OK);
    assert_int_equal(tp_opts_check(NULL, 0, owner, &err), TP_OK);
    CHANGED(1, check_one(r, NULL));
    CHANGED(1, r.name = "a=b"; check_one(r, "name cannot be written"));
    CHANGED(1, r.type = (enum tp_opt_type)99; check_one(r, "type does not exist"));
    CHANGED(1, r.offset = sizeof(struct arena_opts); check_one(r, "outside"));
    CHANGED(1, r.offset = SIZE_MAX - 7; check_one(r, "outside"));
    CHANGED(1, r.offset = 1; check_one(r, "outside"));
    CHANGED(5, r.choices = NULL; check_one(r, "no choices"));
    static const char *many[34];
    for (int i = 0; i < 32; i++)
        many[i] = "word";
    CHANGED(5, r.type = TP_OPT_SET; r.choices = many; r.def = NULL; check_one(r, NULL));
    many[32] = "word";
    CHANGED(5, r.type = TP_OPT_SET; r.choices = many; r.def = NULL;
            check_one(r, "over 32 choices"));
    CHANGED(5, r.choices = many; r.def = NULL; check_one(r, NULL));
    CHANGED(0, r.choices = words; check_one(r, "takes no choices"));
    CHANGED(1, r.min = 10; check_one(r, "range is wrong"));
    CHANGED(1, r.help = NULL; check_one(r, "help is missing"));
    CHANGED(1, r.arg = NULL; check_one(r, "help is missing"));
    CHANGED(1, r.def = "10"; check_one(r, "a default of strategy 'arena' cannot be set"));
    const struct tp_opt twice[] = {rows[1], rows[1], {.name = NULL}};
    assert_int_equal(tp_opts_check(twice, sizeof(struct arena_opts), owner, &err), TP_EBROKEN);
    assert_non_null(strstr(err.text, "name is taken"));
}

/* ---- numbers with a point, sets, words in a list ---- */

struct more_opts {
    double scale, share;
    uint32_t set;
    struct tp_opt_list some;
};

static const char *const letters[] = {"a", "bb", "c", NULL};

static const struct tp_opt more[] = {
    TP_REAL_AT("scale", offsetof(struct more_opts, scale), .def = "1", .arg = "X", .help = "x"),
    TP_SHARE_AT("share", offsetof(struct more_opts, share), .def = "5%", .max = 2, .arg = "X",
                .help = "x"),
    TP_SET_AT("set", offsetof(struct more_opts, set), .choices = letters, .help = "x"),
    TP_LIST_AT("some", offsetof(struct more_opts, some), .choices = letters, .arg = "X",
               .help = "x"),
    {.name = NULL}};

TEST(more_types)
{
    static const struct {
        int row;
        const char *value, *text; /* reads back as that; NULL: the sentence begins */
        const char *sentence;
    } cases[] = {
        {0, "2.5", "2.5", NULL},
        {0, ".5", "0.5", NULL},
        {0, ".", NULL, "option 'scale' is '.', which is not a positive number"},
        {0, "0", NULL, "option 'scale' is '0', which is not a positive number"},
        {0, "-1", NULL, "option 'scale' is '-1', which is not a positive number"},
        {0, "inf", NULL, "option 'scale' is 'inf', which is not a positive number"},
        {0, "1e999", NULL, "option 'scale' is '1e999', which is not a positive number"},
        {0, "5%", NULL, "option 'scale' is '5%', which is not a positive number"},
        {0, "", NULL, "option 'scale' is '', which is not a positive number"},
        {1, "150%", "1.5", NULL},
        {1, "0.125", "0.125", NULL},
        {1, "2", NULL, "option 'share' is '2', which is not a share above 0 and below 2"},
        {1, "5%%", NULL, "option 'share' is '5%%', which is not a share above 0 and below 2"},
        {2, "c,BB", "bb,c", NULL},
        {2, "a", "a", NULL}, /* the last one holds */
        {2, "c,", "c", NULL},
        {2, "a,,c", NULL, "option 'set' is '', which is none of a, bb, c"},
        {2, "", NULL, "option 'set' is '', which is none of a, bb, c"},
        {3, "BB", "bb", NULL},
        {3, "a", "bb,a", NULL},
        {3, "a,c", NULL, "option 'some' is 'a,c', which is none of a, bb, c"},
    };
    struct more_opts o = {0};
    struct tp_err err;
    assert_int_equal(tp_opts_check(more, sizeof o, owner, &err), TP_OK);
    assert_int_equal(tp_opts_defaults(more, &o, &err), TP_OK);
    assert_true(o.scale == 1 && o.share == 0.05 && o.set == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        const struct tp_opt *row = &more[cases[i].row];
        int rc = tp_opt_set(row, &o, cases[i].value, &err);
        assert_int_equal(rc, cases[i].sentence ? TP_EUSAGE : TP_OK);
        if (cases[i].sentence)
            assert_string_equal(err.text, cases[i].sentence);
        tp_opt_format(row, &o, text, sizeof text);
        if (cases[i].text)
            assert_string_equal(text, cases[i].text);
    }
    tp_opts_release(more, &o);
}

TEST(what_differs_from_its_default)
{
    static const char *const values[] = {"2", "6%", "c", "a"};
    struct more_opts o = {0};
    assert_int_equal(tp_opts_defaults(more, &o, NULL), TP_OK);
    for (int i = 0; i < 4; i++) {
        assert_false(tp_opt_differs(&more[i], &o));
        assert_int_equal(tp_opt_set(&more[i], &o, values[i], NULL), TP_OK);
        assert_true(tp_opt_differs(&more[i], &o));
        assert_int_equal(tp_opt_reset(&more[i], &o, NULL), TP_OK);
        assert_false(tp_opt_differs(&more[i], &o));
    }
    assert_int_equal(tp_opt_set(&more[1], &o, "5%", NULL), TP_OK);
    assert_false(tp_opt_differs(&more[1], &o));
}
