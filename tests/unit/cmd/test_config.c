/* Configuration: which level decides, what a hostile file does, and the names of variables. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/metrics.h"
#include "cmd/ui/option_words.h"
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
enum { ROWS = sizeof rows / sizeof *rows - 1 };

static const struct tp_command mine = {
    .name = "mine", .opts_size = sizeof(struct opts), .options = rows};
static const struct tp_command other = {.name = "other"};

enum { MOST_LINES = 3 };

struct one {
    struct opts o;
    struct tp_origin origins[ROWS];
    struct tp_config config;
    struct tp_config_entry lines[MOST_LINES];
    char words[400];
    struct tp_err err;
};

static char *text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

/* file NAME=VALUE, section and other: lines of a file, before its sections, in that of the command
 * and in another one's; NAME=VALUE in capitals: a variable; --NAME=VALUE: a flag. */
static void set_level(struct one *one, char *word)
{
    const char *const where[] = {"file ", "section ", "other "};
    const struct tp_command *const commands[] = {NULL, &mine, &other};
    char *value = strchr(word, '=');
    assert_non_null(value);
    *value++ = '\0';
    for (size_t i = 0; i < 3; i++)
        if (!strncmp(word, where[i], strlen(where[i]))) {
            int line = (int)one->config.count + 1;
            one->lines[one->config.count++] =
                (struct tp_config_entry){commands[i], word + strlen(where[i]), value, line};
            return;
        }
    if (strncmp(word, "--", 2) != 0) {
        assert_int_equal(setenv(word, value, 1), 0);
        return;
    }
    const struct tp_opt *row = tp_opt_find(rows, word + 2);
    assert_non_null(row);
    tp_config_raise(row, &one->o, &one->origins[row - rows], TP_LEVEL_FLAG);
    assert_int_equal(tp_opt_set(row, &one->o, value, &one->err), TP_OK);
}

/* What is no default, and who set it: NAME=VALUE by file:LINE, section:LINE, env or flag, a list
 * with its length; or the error. `agree`: after what contradicts was settled. */
static void levels(const char *words, bool agree, const char *expected)
{
    static const char *const level_names[] = {[TP_LEVEL_DEFAULT] = "default",
                                              [TP_LEVEL_FILE] = "file",
                                              [TP_LEVEL_SECTION] = "section",
                                              [TP_LEVEL_ENVIRONMENT] = "env",
                                              [TP_LEVEL_FLAG] = "flag"};
    struct one one = {.config = {.path = text("f.ini")}};
    char found[400] = "", value[64];
    one.config.entries = one.lines;
    for (size_t i = 0; i < ROWS; i++) {
        char name[TP_VARIABLE_TEXT];
        unsetenv(tp_config_variable(rows[i].name, name));
    }
    assert_int_equal(tp_opts_defaults(rows, &one.o, &one.err), TP_OK);
    snprintf(one.words, sizeof one.words, "%s", words);
    for (char *at = one.words, *end; *at; at = end) {
        end = at + strcspn(at, "|");
        if (*end)
            *end++ = '\0';
        set_level(&one, at);
    }
    int rc = tp_config_apply(&one.config, &mine, &one.o, one.origins, &one.err);
    if (!rc)
        rc = tp_config_refuse(&one.config, &mine, one.origins, &one.err);
    if (!rc && agree)
        rc = tp_config_agree(rows, &one.o, one.origins, &one.err);
    assert_int_equal(rc, *one.err.text ? TP_EUSAGE : TP_OK);
    for (size_t i = 0; i < ROWS && !rc; i++) {
        const struct tp_origin *from = &one.origins[i];
        size_t used = strlen(found);
        tp_opt_format(&rows[i], &one.o, value, sizeof value);
        if (from->level == TP_LEVEL_DEFAULT && !strcmp(value, rows[i].def ? rows[i].def : "no"))
            continue;
        if (rows[i].type == TP_OPT_LIST)
            snprintf(value + strlen(value), sizeof value - strlen(value), "(%zu)",
                     one.o.names.count);
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%s=%s by %s",
                                 used ? " " : "", rows[i].name, value, level_names[from->level]);
        if (from->entry)
            snprintf(found + used, sizeof found - used, ":%d", from->entry->line);
    }
    if (strcmp(rc ? one.err.text : found, expected) != 0)
        fail_msg("%s\nis      %s\nand not %s", words, rc ? one.err.text : found, expected);
    tp_opts_release(rows, &one.o);
}

/* What only the command line may set is set by nothing else, and not passed over silently. */
TEST(what_must_be_typed_is_refused_from_elsewhere)
{
    levels("file test-count=4|file test-typed=9", false,
           "f.ini:2: option 'test-typed' decides what 'mine' passes: only its command line may set "
           "it");
    levels("file test-count=4|file test-typed=9|--test-typed=7", false,
           "test-count=4 by file:1 test-typed=7 by flag");
    levels("TAPOOL_TEST_TYPED=9", false,
           "TAPOOL_TEST_TYPED: option 'test-typed' decides what 'mine' passes: only its command "
           "line may set it");
    levels("TAPOOL_TEST_TYPED=", false, ""); /* empty is not set */
}

/* Each level alone over the ones below it: flag, environment, section, file, default. */
TEST(each_level_beats_those_below)
{
#define LINES "file test-count=4|section test-count=5|other test-count=8"
    levels("", false, "");
    levels("file test-count=4", false, "test-count=4 by file:1");
    levels(LINES, false, "test-count=5 by section:2");
    levels(LINES "|TAPOOL_TEST_COUNT=6", false, "test-count=6 by env");
    levels(LINES "|TAPOOL_TEST_COUNT=6|--test-count=7", false, "test-count=7 by flag");
    levels(LINES "|TAPOOL_TEST_COUNT=", false, "test-count=5 by section:2"); /* empty: not set */
}

TEST(a_value_that_is_none_names_its_place)
{
    levels("section test-count=77", false,
           "f.ini:1: option 'test-count' is 77, above the maximum 9");
    levels("section test-count=77|TAPOOL_TEST_COUNT=many", false,
           "TAPOOL_TEST_COUNT: option 'test-count' is 'many', which is not a valid number");
    /* what a flag overrides is not even looked at */
    levels("section test-count=77|TAPOOL_TEST_COUNT=many|--test-count=1", false,
           "test-count=1 by flag");
}

TEST(lists_add_up_in_a_level_and_replace_lower_ones)
{
#define NAMED "file test-names=low|section test-names=a:x=1,y=2|section test-names=b"
    levels(NAMED, false, "test-names=a:x=1,y=2,b(2) by section:3");
    levels(NAMED "|TAPOOL_TEST_NAMES= c:x=1,y=2;\td ; ", false, "test-names=c:x=1,y=2,d(2) by env");
    levels(NAMED "|TAPOOL_TEST_NAMES=c|--test-names=e|--test-names=f;g", false,
           "test-names=e,f;g(2) by flag");
}

TEST(of_a_pair_the_higher_level_stands)
{
#define PAIR "file strict=yes|section repair=yes"
    levels(PAIR, false, "repair=yes by section:2"); /* a section is higher than the top */
    levels(PAIR "|--strict=yes", false, "strict=yes by flag");
    /* a flag that is off says nothing about its counterpart */
    levels(PAIR "|--strict=no", false, "strict=no by flag repair=yes by section:2");
    /* from one level: a contradiction, for the command to refuse */
    levels(PAIR "|TAPOOL_STRICT=yes|TAPOOL_REPAIR=yes", false,
           "strict=yes by env repair=yes by env");
    levels("TAPOOL_JSON=yes|--format=csv", false, "format=csv by flag");
    levels("TAPOOL_FORMAT=csv|--json=yes", false, "json=yes by flag");
}

TEST(what_contradicts_is_named)
{
    levels("--strict=yes", true, "strict=yes by flag");
    levels("--strict=yes|--repair=yes", true, "--strict and --repair exclude each other");
    levels("--json=yes", true,
           "json=yes by flag format=json by default"); /* another word for a value sets it */
    levels("--json=yes|--format=csv", true, "--json and --format csv exclude each other");
    levels("--format=csv|--json=no", true, "json=no by flag format=csv by flag");
}

/* What was typed is an error without what it goes with; what comes from elsewhere waits for a call
 * that has it. */
TEST(what_is_needed_must_be_there)
{
    levels("--test-count=4", true, "--test-count goes with --format csv");
    levels("--test-count=4|--format=csv", true, "format=csv by flag test-count=4 by flag");
    levels("TAPOOL_TEST_COUNT=6", true, "");
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
    assert_int_equal(parse(file, sizeof file - 1, &c, NULL), TP_OK);
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
    "kv",       "output-format", "without",    "mark",          "age"};

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

/* Options of strategies and sources are one text, which a file may give, but not with a name of a
 * file in it. */
TEST(no_strategy_or_source_names_a_file)
{
    for (size_t i = 0; tp_strategies[i]; i++)
        for (const struct tp_opt *row = tp_strategies[i]->options; row && row->name; row++) {
            char text[128];
            snprintf(text, sizeof text, "x=%s:%s=x", tp_strategies[i]->name, row->name);
            if (takes_a_file(row) && strcmp(tp_strategies[i]->name, TP_LIB_WORD))
                assert_int_equal(tp_strategy_from(text), TP_OPT_USER);
        }
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
