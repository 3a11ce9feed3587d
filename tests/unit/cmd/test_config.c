/* Configuration: which level decides, what a hostile file does, and the names of variables. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/metrics.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

/* ---- levels ---- */

struct opts {
    bool json, strict, repair;
    uint32_t format;
    uint64_t count, typed;
    struct tp_opt_list names;
};

static const char *const formats[] = {"text", "json", "csv", NULL};

#define AT(member) .offset = offsetof(struct opts, member)
static const struct tp_opt rows[] = {
    {.name = "json", .type = TP_OPT_FLAG, AT(json), .same = "format json", .help = "x"},
    {.name = "strict", .type = TP_OPT_FLAG, AT(strict), .excludes = "absent repair", .help = "x"},
    {.name = "repair", .type = TP_OPT_FLAG, AT(repair), .help = "x"},
    {.name = "format",
     .type = TP_OPT_CHOICE,
     AT(format),
     .def = "text",
     .choices = formats,
     .help = "x"},
    {.name = "test-count",
     .type = TP_OPT_UINT,
     AT(count),
     .def = "3",
     .max = 9,
     .needs = "format csv",
     .help = "x"},
    {.name = "test-names", .type = TP_OPT_LIST, AT(names), .def = "d", .help = "x"},
    {.name = "test-typed",
     .type = TP_OPT_UINT,
     .from = TP_OPT_TYPED,
     AT(typed),
     .def = "1",
     .help = "x"},
    {.name = NULL},
};
enum { JSON, STRICT, REPAIR, FORMAT, COUNT, NAMES, TYPED, ROWS };

static const struct tp_command mine = {
    .name = "mine", .opts_size = sizeof(struct opts), .options = rows};
static const struct tp_command other = {.name = "other"};

struct one {
    struct opts o;
    struct tp_origin origins[ROWS];
    struct tp_err err;
};

static char *text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

static int apply(struct one *one, const struct tp_config_entry *entries, size_t count)
{
    const struct tp_config config = {text("f.ini"), (struct tp_config_entry *)(uintptr_t)entries,
                                     count};
    return tp_config_apply(&config, &mine, &one->o, one->origins, &one->err);
}

static void begin(struct one *one)
{
    tp_opts_release(rows, &one->o);
    *one = (struct one){0};
    assert_int_equal(tp_opts_defaults(rows, &one->o, &one->err), TP_OK);
}

static void flag(struct one *one, int row, const char *value)
{
    tp_config_raise(&rows[row], &one->o, &one->origins[row], TP_LEVEL_FLAG);
    assert_int_equal(tp_opt_set(&rows[row], &one->o, value, &one->err), TP_OK);
}

static int clean_environment(void **state)
{
    (void)state;
    unsetenv("TAPOOL_JSON");
    unsetenv("TAPOOL_STRICT");
    unsetenv("TAPOOL_REPAIR");
    unsetenv("TAPOOL_FORMAT");
    unsetenv("TAPOOL_TEST_COUNT");
    unsetenv("TAPOOL_TEST_NAMES");
    unsetenv("TAPOOL_TEST_TYPED");
    return 0;
}

/* What only the command line may set is set by nothing else, and not passed over silently. */
TEST_WITH(what_must_be_typed_is_refused_from_elsewhere, clean_environment, NULL)
{
    static const struct tp_config file = {.path = (char *)(uintptr_t) "f.ini"};
    const struct tp_config_entry entries[] = {{NULL, "test-count", text("4"), 1},
                                              {NULL, "test-typed", text("9"), 2}};
    struct one one = {0};
    begin(&one);
    assert_int_equal(apply(&one, entries, 2), TP_OK);
    assert_int_equal(one.o.typed, 1);
    assert_int_equal(tp_config_refuse(&file, &mine, one.origins, &one.err), TP_EUSAGE);
    assert_string_equal(one.err.text, "f.ini:2: option 'test-typed' decides what 'mine' passes: "
                                      "only its command line may set it");
    begin(&one);
    flag(&one, TYPED, "7"); /* typed: what the file says does not matter */
    assert_int_equal(apply(&one, entries, 2), TP_OK);
    assert_int_equal(one.o.typed, 7);
    assert_int_equal(tp_config_refuse(&file, &mine, one.origins, &one.err), TP_OK);
    begin(&one);
    setenv("TAPOOL_TEST_TYPED", "9", 1);
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    assert_int_equal(one.o.typed, 1);
    assert_int_equal(tp_config_refuse(&file, &mine, one.origins, &one.err), TP_EUSAGE);
    assert_non_null(strstr(one.err.text, "TAPOOL_TEST_TYPED: option 'test-typed'"));
    begin(&one);
    setenv("TAPOOL_TEST_TYPED", "", 1); /* empty is not set */
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    assert_int_equal(tp_config_refuse(&file, &mine, one.origins, &one.err), TP_OK);
    tp_opts_release(rows, &one.o);
}

/* Each level alone over the ones below it: flag, environment, section, file, default. */
TEST_WITH(each_level_beats_those_below, clean_environment, NULL)
{
    const struct tp_config_entry entries[] = {{NULL, "test-count", text("4"), 1},
                                              {&mine, "test-count", text("5"), 3},
                                              {&other, "test-count", text("8"), 5}};
    struct one one = {0};
    begin(&one);
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    assert_fields(one, o.count, 3, origins[COUNT].level, TP_LEVEL_DEFAULT);
    begin(&one);
    assert_int_equal(apply(&one, entries, 1), TP_OK);
    assert_fields(one, o.count, 4, origins[COUNT].level, TP_LEVEL_FILE);
    begin(&one);
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    assert_int_equal(one.o.count, 5);
    assert_ptr_equal(one.origins[COUNT].entry, &entries[1]);
    setenv("TAPOOL_TEST_COUNT", "6", 1);
    begin(&one);
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    assert_fields(one, o.count, 6, origins[COUNT].level, TP_LEVEL_ENVIRONMENT);
    assert_null(one.origins[COUNT].entry);
    begin(&one);
    flag(&one, COUNT, "7");
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    assert_fields(one, o.count, 7, origins[COUNT].level, TP_LEVEL_FLAG);
    setenv("TAPOOL_TEST_COUNT", "", 1); /* empty: not set */
    begin(&one);
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    assert_int_equal(one.o.count, 5);
    tp_opts_release(rows, &one.o);
}

TEST_WITH(a_value_that_is_none_names_its_place, clean_environment, NULL)
{
    const struct tp_config_entry wrong = {&mine, "test-count", text("77"), 12};
    struct one one = {0};
    begin(&one);
    assert_int_equal(apply(&one, &wrong, 1), TP_EUSAGE);
    assert_string_equal(one.err.text, "f.ini:12: option 'test-count' is 77, above the maximum 9");
    setenv("TAPOOL_TEST_COUNT", "many", 1);
    begin(&one);
    assert_int_equal(apply(&one, &wrong, 1), TP_EUSAGE);
    assert_non_null(strstr(one.err.text, "TAPOOL_TEST_COUNT: option 'test-count' is 'many'"));
    begin(&one); /* what a flag overrides is not even looked at */
    flag(&one, COUNT, "1");
    assert_int_equal(apply(&one, &wrong, 1), TP_OK);
    tp_opts_release(rows, &one.o);
}

static void names_are(const struct one *one, const char *a, const char *b)
{
    assert_int_equal(one->o.names.count, b ? 2 : 1);
    assert_string_equal(one->o.names.items[0], a);
    if (b)
        assert_string_equal(one->o.names.items[1], b);
}

TEST_WITH(lists_add_up_in_a_level_and_replace_lower_ones, clean_environment, NULL)
{
    const struct tp_config_entry entries[] = {{NULL, "test-names", text("low"), 1},
                                              {&mine, "test-names", text("a:x=1,y=2"), 2},
                                              {&mine, "test-names", text("b"), 3}};
    struct one one = {0};
    begin(&one);
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    names_are(&one, "d", NULL);
    begin(&one);
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    names_are(&one, "a:x=1,y=2", "b");
    setenv("TAPOOL_TEST_NAMES", " c:x=1,y=2;\td ; ", 1);
    begin(&one);
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    names_are(&one, "c:x=1,y=2", "d");
    begin(&one);
    flag(&one, NAMES, "e");
    flag(&one, NAMES, "f;g");
    assert_int_equal(apply(&one, entries, 3), TP_OK);
    names_are(&one, "e", "f;g");
    tp_opts_release(rows, &one.o);
}

TEST_WITH(of_a_pair_the_higher_level_stands, clean_environment, NULL)
{
    const struct tp_config_entry file[] = {{NULL, "strict", text("yes"), 1},
                                           {&mine, "repair", text("yes"), 2}};
    struct one one = {0};
    begin(&one);
    assert_int_equal(apply(&one, file, 2), TP_OK); /* a section is higher than the top */
    assert_true(one.o.repair && !one.o.strict);
    assert_int_equal(one.origins[STRICT].level, TP_LEVEL_DEFAULT);
    begin(&one);
    flag(&one, STRICT, "yes");
    assert_int_equal(apply(&one, file, 2), TP_OK);
    assert_true(one.o.strict && !one.o.repair);
    begin(&one); /* a flag that is off says nothing about its counterpart */
    flag(&one, STRICT, "no");
    assert_int_equal(apply(&one, file, 2), TP_OK);
    assert_true(!one.o.strict && one.o.repair);
    setenv("TAPOOL_STRICT", "yes", 1);
    setenv("TAPOOL_REPAIR", "yes", 1);
    begin(&one); /* from one level: a contradiction, for the command to refuse */
    assert_int_equal(apply(&one, file, 2), TP_OK);
    assert_true(one.o.strict && one.o.repair);
    setenv("TAPOOL_JSON", "yes", 1);
    begin(&one);
    flag(&one, FORMAT, "csv");
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    assert_true(!one.o.json && one.o.format == 2);
    unsetenv("TAPOOL_JSON");
    setenv("TAPOOL_FORMAT", "csv", 1);
    begin(&one);
    flag(&one, JSON, "yes");
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    assert_true(one.o.json && one.o.format == 0);
    tp_opts_release(rows, &one.o);
}

/* ---- files ---- */

static int parse(const char *file, size_t size, struct tp_config *out, struct tp_err *err)
{
    char *copy = malloc(size ? size : 1); /* without a NUL behind it: an overrun is seen */
    assert_non_null(copy);
    memcpy(copy, file, size);
    int status = tp_config_parse(copy, size, "dir/x.ini", true, out, err);
    free(copy);
    return status;
}

TEST(a_file_is_read)
{
    static const char file[] = "\xef\xbb\xbf# comment\r\n"
                               "seed = 7\r\n"
                               "\t [Replay] ; of traces\r\n"
                               "  strategy = big=arena:arena_size=1MiB,x=2 ; two\r\n"
                               "      MIN_TIME: 1s\r\n"
                               "[help]\n"
                               "[gen]\n"
                               "output=a b;c"; /* no end of line; a ';' without a blank is part */
    struct tp_config c;
    struct tp_err err;
    assert_int_equal(parse(file, sizeof file - 1, &c, &err), TP_OK);
    assert_int_equal(c.count, 4);
    assert_string_equal(c.path, "dir/x.ini");
    assert_null(c.entries[0].command);
    assert_string_equal(c.entries[0].option, "seed");
    assert_int_equal(c.entries[0].line, 2);
    assert_string_equal(c.entries[1].command->name, "replay");
    assert_string_equal(c.entries[1].value, "big=arena:arena_size=1MiB,x=2");
    assert_string_equal(c.entries[2].option, "min-time");
    assert_string_equal(c.entries[2].value, "1s");
    assert_int_equal(c.entries[2].line, 5);
    assert_string_equal(c.entries[3].value, "a b;c");
    assert_int_equal(c.entries[3].line, 8);
    tp_config_release(&c);
}

struct wrong {
    const char *file;
    size_t size; /* 0: up to the NUL */
    const char *text, *hint;
};

TEST(what_is_wrong_is_said_with_its_line)
{
    static const struct wrong all[] = {
        {"[replay]\nmin-tim = 3\n", 0, "dir/x.ini:2: unknown option 'min-tim' of 'replay'",
         "did you mean 'min-time'?"},
        {"\nmintime = 3\n", 0, "dir/x.ini:2: unknown option 'mintime'", "did you mean 'min-time'?"},
        {"[info]\nseed = 3\n", 0, "dir/x.ini:2: unknown option 'seed' of 'info'",
         "other commands have it"},
        {"[help]\nseed = 3\n", 0, "dir/x.ini:2: unknown option 'seed' of 'help'",
         "other commands have it"},
        {"seed=1\n[replya]\n", 0, "dir/x.ini:2: section 'replya' is not a command",
         "did you mean [replay]?"},
        {"[__child]\n", 0, "dir/x.ini:1: section '__child' is not a command", "'tapool help'"},
        {"[]\n", 0, "dir/x.ini:1: section '' is not a command", "'tapool help'"},
        {"[replay\nseed=1\n", 0, "dir/x.ini:1: neither [COMMAND] nor OPTION = VALUE", "flags"},
        {"seed=1\n\nverify\nx=3\n", 0, "dir/x.ini:3: neither [COMMAND] nor OPTION = VALUE",
         "flags"},
        {"seed =  \n", 0, "dir/x.ini:1: option 'seed' has no value", ""},
        {"config = yes\n", 0, "dir/x.ini:1: option 'config' is for the command line only", ""},
        {"= 3\n", 0, "dir/x.ini:1: unknown option ''", "lists all"},
        {"seed=1\nse\0ed=2", 14, "dir/x.ini:2: byte 0x00: not text", "UTF-8"},
        {"seed=1\rseed=2\r", 0, "dir/x.ini:1: byte 0x0d: not text", "UTF-8"},
        {"\xff\xfes\0e\0e\0d\0", 10, "dir/x.ini:1: byte 0x00: not text", "UTF-8"},
        {"\x7f"
         "ELF\x02",
         0, "dir/x.ini:1: byte 0x7f: not text", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct tp_config c;
        struct tp_err err;
        size_t size = all[i].size ? all[i].size : strlen(all[i].file);
        assert_int_equal(parse(all[i].file, size, &c, &err), TP_EUSAGE);
        assert_string_equal(err.text, all[i].text);
        assert_non_null(strstr(err.hint, all[i].hint));
        assert_null(c.entries);
    }
}

/* The limit is that of libinih's buffer; a comment has none. */
TEST(long_lines)
{
    static char file[40000];
    struct tp_config c;
    struct tp_err err;
    memset(file, 'x', sizeof file);
    memcpy(file, "seed=1\noutput=", 14);
    assert_int_equal(parse(file, sizeof file, &c, &err), TP_EUSAGE);
    assert_non_null(strstr(err.text, "dir/x.ini:2: a line of 39993 bytes: at most "));
    memcpy(file + 7, "#", 1);
    assert_int_equal(parse(file, sizeof file, &c, &err), TP_OK);
    assert_int_equal(c.count, 1);
    tp_config_release(&c);
    memset(file, '[', sizeof file);
    assert_int_equal(parse(file, sizeof file, &c, &err), TP_EUSAGE);
    for (size_t i = 0; i + 2 <= 2000; i += 2)
        memcpy(file + i, "[\n", 2);
    assert_int_equal(parse(file, 2000, &c, &err), TP_EUSAGE);
    memset(file, '\n', sizeof file);
    assert_int_equal(parse(file, sizeof file, &c, &err), TP_OK);
    tp_config_release(&c);
}

/* Cut at every byte: entries or one sentence. */
TEST(cut_files)
{
    static const char file[] =
        "seed = 7\n[replay]\nstrategy = a=arena:arena_size=1MiB\nverify=yes\n";
    for (size_t size = 0; size < sizeof file; size++) {
        struct tp_config c;
        struct tp_err err = {0};
        if (parse(file, size, &c, &err) == TP_OK)
            tp_config_release(&c);
        else
            assert_true(err.status == TP_EUSAGE && !strncmp(err.text, "dir/x.ini:", 10));
    }
}

/* ---- names ---- */

/* Other uses have these names: an option of such a name would be set by them. */
TEST(variables_of_other_uses_are_no_options)
{
    static const char *const taken[] = {
        "TAPOOL_ROOT",           "TAPOOL_SHARED",    "TAPOOL_SAMPLES",
        "TAPOOL_CUDA_DRIVER",    "TAPOOL_CONFIG",    "TAPOOL_KEEP",
        "TAPOOL_PROPERTY_SEED",  "TAPOOL_FAKE_CUDA", "TAPOOL_FAKE_CUDA_PATH",
        "TAPOOL_TEST_REAL_CUDA", "TAPOOL_WITH_CUDA", "TAPOOL_TEST_COUNT",
        "TAPOOL_TEST_NAMES",     "TAPOOL_OPTION",    "TAPOOL_"};
    char name[TP_VARIABLE_TEXT];
    assert_string_equal(tp_config_variable("min-time", name), "TAPOOL_MIN_TIME");
    for (size_t c = 0; tp_commands[c]; c++) {
        for (const struct tp_opt *row = tp_commands[c]->options; row && row->name; row++) {
            assert_true(strlen(row->name) + sizeof "TAPOOL_" < TP_VARIABLE_TEXT);
            for (size_t i = 0; i < sizeof taken / sizeof *taken && tp_config_allows(row); i++)
                assert_string_not_equal(tp_config_variable(row->name, name), taken[i]);
        }
    }
}

/* ---- who may set an option ---- */

/* Texts that were looked at: none of them names a file or a program. A new option that takes text
 * has to be put here, or to say that it is the user's alone. */
static const char *const harmless[] = {
    "strategy", "source",        "map-device", "occupy-scale",  "capacity",
    "passes",   "fail-on",       "grid",       "space",         "base",
    "metric",   "sort",          "reason",     "tolerance",     "input-format",
    "effect",   "alpha",         "require",    "base-strategy", "from",
    "size",     "max-size",      "live",       "count",         "threads",
    "streams",  "layers",        "hidden",     "batch",         "lengths",
    "kv",       "output-format", "without"};

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

static bool takes_a_file(const struct tp_opt *row)
{
    static const char *const values[] = {"FILE",    "PATH", "DIR",    "FOLDER",
                                         "PROGRAM", "BIN",  "SCRIPT", "LIBRARY"};
    return row->arg && is_one_of(row->arg, values, sizeof values / sizeof *values);
}

/* A flag, by what its help says that it does. */
static bool writes(const struct tp_opt *row)
{
    static const char *const verbs[] = {"write", "overwrite", "run", "start", "remove", "delete"};
    char word[32];
    for (const char *at = row->help; row->type == TP_OPT_FLAG && *at;) {
        size_t length = strcspn(at, " ,.;:\n");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (is_one_of(word, verbs, sizeof verbs / sizeof *verbs))
            return true;
        at += length + (at[length] != '\0');
    }
    return false;
}

TEST(what_touches_files_is_set_by_the_user_alone)
{
    for (size_t c = 0; tp_commands[c]; c++) {
        for (const struct tp_opt *row = tp_commands[c]->options; row && row->name; row++) {
            bool text = row->type == TP_OPT_TEXT || row->type == TP_OPT_LIST;
            bool listed = is_one_of(row->name, harmless, sizeof harmless / sizeof *harmless);
            if (row->from != TP_OPT_ANYWHERE ||
                (!takes_a_file(row) && !writes(row) && (!text || listed)))
                continue;
            fail_msg("may a .tapool.ini that came with a cloned folder set --%s of '%s'? If it "
                     "runs a program, writes or names a file: .from = TP_OPT_USER",
                     row->name, tp_commands[c]->name);
        }
    }
}

/* Plug-ins take their options in one text, which a file may give. */
TEST(no_plug_in_names_a_file)
{
    for (size_t i = 0; tp_strategies[i]; i++)
        for (const struct tp_opt *row = tp_strategies[i]->options; row && row->name; row++)
            assert_false(takes_a_file(row));
    for (size_t i = 0; tp_sources[i]; i++)
        for (const struct tp_opt *row = tp_sources[i]->options; row && row->name; row++)
            assert_false(takes_a_file(row));
}

/* Every such option of every command, in its section and before any, in a file that was found. */
TEST(a_file_that_was_found_sets_none_of_them)
{
    size_t refused = 0;
    for (size_t c = 0; tp_commands[c]; c++) {
        for (const struct tp_opt *row = tp_commands[c]->options; row && row->name; row++) {
            for (int section = 0; section < 2 && row->from == TP_OPT_USER; section++) {
                char file[128], place[128];
                struct tp_config config;
                struct tp_err err;
                snprintf(file, sizeof file, "[%s]\n%s = yes\n", tp_commands[c]->name, row->name);
                const char *text = section ? file : strchr(file, '\n') + 1;
                snprintf(place, sizeof place, "x.ini:%d: '%s' runs", section + 1, row->name);
                assert_int_equal(tp_config_parse(text, strlen(text), "x.ini", false, &config, &err),
                                 TP_EUSAGE);
                assert_int_equal(strncmp(err.text, place, strlen(place)), 0);
                assert_null(config.entries);
                assert_int_equal(tp_config_parse(text, strlen(text), "x.ini", true, &config, &err),
                                 TP_OK);
                tp_config_release(&config);
                refused++;
            }
        }
    }
    assert_true(refused >= 2 * 20);
}

TEST(hidden_commands_take_nothing)
{
    struct tp_command secret = mine;
    int concerned = 0;
    assert_true(tp_config_concerns(&mine));
    secret.hidden = true;
    assert_false(tp_config_concerns(&secret));
    for (size_t i = 0; tp_commands[i]; i++) {
        concerned += tp_config_concerns(tp_commands[i]);
        if (tp_commands[i]->hidden)
            assert_false(tp_config_concerns(tp_commands[i]));
    }
    assert_true(concerned >= 4);
}

/* ---- rows that speak of others ---- */

static void names_an_option(const struct tp_command *cmd, const struct tp_opt *row,
                            const char *words, bool one)
{
    for (size_t length; words && *words; words += length, words += strspn(words, " ")) {
        char name[64];
        length = strcspn(words, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, words);
        if (!tp_opt_find(cmd->options, name))
            fail_msg("--%s of %s speaks of '%s', which is no option", row->name, cmd->name, name);
        if (one)
            return;
    }
}

TEST(rows_speak_of_options_that_there_are)
{
    size_t spoken = 0;
    struct tp_err err;
    for (size_t i = 0; tp_commands[i]; i++) {
        const struct tp_command *cmd = tp_commands[i];
        if (tp_opts_check(cmd->options, cmd->opts_size, cmd->name, &err))
            fail_msg("%s", err.text);
        for (const struct tp_opt *row = tp_commands[i]->options; row && row->name; row++) {
            names_an_option(tp_commands[i], row, row->excludes, false);
            names_an_option(tp_commands[i], row, row->needs, true);
            names_an_option(tp_commands[i], row, row->same, true);
            spoken += row->excludes || row->needs || row->same;
        }
    }
    assert_true(spoken > 10);
}

/* A set has a bit for each word, in their order; passes have bits of their own. */
TEST(passes_have_the_bits_of_their_words)
{
    const struct tp_opt *row = tp_opt_find(tp_find_command("replay", NULL)->options, "passes");
    for (size_t i = 0; i < TP_PASS_ROWS; i++) {
        size_t bit = 0;
        while (tp_pass_rows[i].pass >> bit != 1)
            bit++;
        assert_string_equal(row->choices[bit], tp_pass_rows[i].name);
    }
}

static void agrees(struct one *one, int status, const char *sentence)
{
    assert_int_equal(tp_config_agree(rows, &one->o, one->origins, &one->err), status);
    assert_string_equal(one->err.text, sentence);
}

TEST_WITH(what_contradicts_is_named, clean_environment, NULL)
{
    struct one one = {0};
    begin(&one);
    flag(&one, STRICT, "yes");
    agrees(&one, TP_OK, "");
    flag(&one, REPAIR, "yes");
    agrees(&one, TP_EUSAGE, "--strict and --repair exclude each other");
    begin(&one);
    flag(&one, JSON, "yes"); /* another word for a value sets it */
    agrees(&one, TP_OK, "");
    assert_int_equal(one.o.format, 1);
    agrees(&one, TP_OK, "");
    begin(&one);
    flag(&one, JSON, "yes");
    flag(&one, FORMAT, "csv");
    agrees(&one, TP_EUSAGE, "--json and --format csv exclude each other");
    begin(&one);
    flag(&one, FORMAT, "csv");
    flag(&one, JSON, "no");
    agrees(&one, TP_OK, "");
    assert_int_equal(one.o.format, 2);
    tp_opts_release(rows, &one.o);
}

/* What was typed is an error without what it goes with; what comes from elsewhere waits for a call
 * that has it. */
TEST_WITH(what_is_needed_must_be_there, clean_environment, NULL)
{
    struct one one = {0};
    begin(&one);
    flag(&one, COUNT, "4");
    agrees(&one, TP_EUSAGE, "--test-count goes with --format csv");
    begin(&one);
    flag(&one, COUNT, "4");
    flag(&one, FORMAT, "csv");
    agrees(&one, TP_OK, "");
    assert_int_equal(one.o.count, 4);
    begin(&one);
    setenv("TAPOOL_TEST_COUNT", "6", 1);
    assert_int_equal(apply(&one, NULL, 0), TP_OK);
    assert_int_equal(one.o.count, 6);
    agrees(&one, TP_OK, "");
    assert_fields(one, o.count, 3, origins[COUNT].level, TP_LEVEL_DEFAULT);
    tp_opts_release(rows, &one.o);
}
