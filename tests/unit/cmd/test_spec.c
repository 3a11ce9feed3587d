/* Strategies and sources as they are named on the command line, and on the way to a child process.
 */
#include "cmd/jobs/child.h"
#include "cmd/jobs/spec.h"

#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct tp_err err;

TEST(names_are_forgiving_and_labels_are_kept)
{
    struct tp_strategy_spec spec;
    assert_int_equal(tp_strategy_spec_parse(&spec, "ARENA", &err), TP_OK);
    assert_string_equal(spec.label, "arena");
    assert_false(spec.labelled);
    tp_strategy_spec_release(&spec);
    assert_int_equal(tp_strategy_spec_parse(&spec, "small=arena:arena_size=1MiB", &err), TP_OK);
    assert_string_equal(spec.label, "small");
    assert_string_equal(spec.strategy->name, "arena");
    char text[512];
    assert_true(tp_opts_text(spec.strategy->options, spec.opts, text, sizeof text));
    assert_non_null(strstr(text, "arena_size=1MiB"));
    tp_strategy_spec_release(&spec);
}

TEST(wrong_names_are_usage_errors_with_the_nearest)
{
    struct tp_strategy_spec spec;
    assert_int_equal(tp_strategy_spec_parse(&spec, "aerna", &err), TP_EUSAGE);
    assert_string_equal(err.text, "unknown strategy 'aerna'");
    assert_non_null(strstr(err.hint, "did you mean 'arena'?"));
    assert_int_equal(tp_strategy_spec_parse(&spec, "", &err), TP_EUSAGE);
    assert_int_equal(tp_strategy_spec_parse(&spec, "a b=arena", &err), TP_EUSAGE);
    assert_int_equal(tp_strategy_spec_parse(&spec, "arena:no_such=1", &err), TP_EUSAGE);
    assert_int_equal(tp_strategy_spec_parse(&spec, "arena:arena_size=1B", &err), TP_EUSAGE);
}

/* Whether this process maps what it would share with a child. */
static bool maps_a_job(void)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, "tapool-job") != NULL;
    fclose(maps);
    return found;
}

TEST(options_too_long_for_a_child_are_refused_and_leave_nothing)
{
    static char text[2048];
    char *texts[3] = {text, text, text};
    static const struct tp_opt rows[] = {
        {.name = "a", .type = TP_OPT_TEXT, .offset = 0},
        {.name = "b", .type = TP_OPT_TEXT, .offset = sizeof(char *)},
        {.name = "c", .type = TP_OPT_TEXT, .offset = 2 * sizeof(char *)},
        {.name = NULL},
    };
    static const struct tp_strategy wordy = {.name = "wordy", .options = rows};
    static const struct tp_insn insns[] = {ALLOC_INSN(0, 64, 0), FREE_INSN(0, 64, 0)};
    struct tp_strategy_spec spec = {.strategy = &wordy, .opts = texts, .label = "wordy"};
    struct tp_program *program = test_program(insns, 2, true);
    struct tp_replay_cfg cfg = {.program = program, .strategy = &wordy};
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(tp_child_replay(&cfg, &spec, NULL, &err), TP_EUSAGE);
    assert_string_equal(err.text, "the options of 'wordy' are too long");
    assert_false(maps_a_job());
    tp_program_release(program);
}

TEST(twins_show_only_the_options_in_which_they_differ)
{
    struct tp_strategy_spec specs[4];
    const char *const texts[] = {"arena:refill_target=4KiB", "bump", "arena", "arena"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(tp_strategy_spec_parse(&specs[i], texts[i], &err), TP_OK);
    tp_strategy_specs_label(specs, 4);
    assert_string_equal(specs[0].label, "arena:refill_target=4KiB");
    assert_string_equal(specs[1].label, "bump");
    assert_string_equal(specs[2].label, "arena:refill_target=32KiB");
    assert_string_equal(specs[3].label, "arena:refill_target=32KiB#4");
    for (int i = 0; i < 4; i++)
        tp_strategy_spec_release(&specs[i]);
}

/* A strategy that is nothing without the value that stands first. */
struct named_opts {
    char *name;
    struct tp_opt_list env;
};

static const struct tp_opt named_rows[] = {
    TP_TEXT_AT("name", offsetof(struct named_opts, name), .arg = "PATH", .help = "h", .bare = true),
    TP_LIST_AT("env", offsetof(struct named_opts, env), .arg = "NAME=VALUE", .help = "h"),
    {.name = NULL}};

TEST(a_bare_value_is_part_of_the_label)
{
    static const struct tp_strategy named = {.name = "named", .options = named_rows};
    static const char *const texts[] = {"one", "./d/two.so,env={A=1,2}", "e/two.so", "one,env=B=1",
                                        "one,env=B=2"};
    static const char *const labels[] = {"named:one", "named:two.so", "named:two.so#3",
                                         "named:one,env=B=1", "named:one,env=B=2"};
    struct named_opts opts[5] = {0};
    struct tp_strategy_spec specs[5] = {0};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(tp_opts_parse(named_rows, &opts[i], texts[i], "named", NULL), TP_OK);
        specs[i] = (struct tp_strategy_spec){.strategy = &named, .opts = &opts[i]};
    }
    tp_strategy_specs_label(specs, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(specs[i].label, labels[i]);
        tp_opts_release(named_rows, &opts[i]);
    }
}

TEST(a_setting_is_the_value_of_an_option_or_is_options)
{
    static const struct {
        const char *option, *setting, *want;
    } rows[] = {
        {"conf", "a:1,b:[2:3,4:5]", "first=1,conf={a:1,b:[2:3,4:5]}"},
        {"conf", "", "first=1"},
        {NULL, "", "first=1"},
        {NULL, "a:1,b:[2:3,4:5],c:{d:e,f:g},h:i:j", "first=1,a=1,b=[2:3,4:5],c={d:e,f:g},h=i:j"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        struct tp_str s = TP_STR_IN(text);
        tp_str_add(&s, "first=1");
        tp_setting_add_options(&s, rows[i].option, rows[i].setting);
        assert_string_equal(text, rows[i].want);
    }
}

TEST(wrappers_stand_on_a_source)
{
    struct tp_source_spec spec;
    assert_int_equal(tp_source_spec_parse(&spec, "virtual:lag=10us+limit:capacity=1MiB", &err),
                     TP_OK);
    assert_int_equal(spec.count, 2);
    assert_string_equal(spec.name, "virtual+limit");
    tp_source_spec_release(&spec);
    assert_int_equal(tp_source_spec_parse(&spec, "limit", &err), TP_EUSAGE);
    assert_int_equal(tp_source_spec_parse(&spec, "host+virtual", &err), TP_EUSAGE);
    assert_int_equal(tp_source_spec_parse(&spec, "host+", &err), TP_EUSAGE);
    assert_int_equal(
        tp_source_spec_parse(&spec, "host+shuffle+shuffle+shuffle+shuffle+shuffle+shuffle+shuffle",
                             &err),
        TP_EUSAGE);
}
