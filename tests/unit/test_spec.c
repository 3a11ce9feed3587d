/* Strategies and sources as they are named on the command line, and on the way to a child process;
 * the choice that `Pick` makes. */
#include "cmd/child.h"
#include "cmd/pick.h"
#include "cmd/spec.h"

#include "tests/unit/programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tp_err err;

static void names_are_forgiving_and_labels_are_kept(void **state)
{
    (void)state;
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

static void wrong_names_are_usage_errors_with_the_nearest(void **state)
{
    (void)state;
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

static void options_too_long_for_a_child_are_refused_and_leave_nothing(void **state)
{
    (void)state;
    static char text[512];
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

static void twins_show_only_the_options_in_which_they_differ(void **state)
{
    (void)state;
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

static void decorators_stand_on_a_source(void **state)
{
    (void)state;
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

/* ---- pick ---- */

enum { PLAYERS = 3 };
static struct tp_strategy_spec specs[PLAYERS];
static struct tp_source_spec source;
static struct tp_program_facts facts;
static struct tp_result results[PLAYERS];

static int pick_setup(void **state)
{
    (void)state;
    const char *const names[PLAYERS] = {"arena", "bump", "direct"};
    if (tp_source_spec_parse(&source, "host", &err))
        return -1;
    for (int i = 0; i < PLAYERS; i++) {
        if (tp_strategy_spec_parse(&specs[i], names[i], &err))
            return -1;
        results[i] = (struct tp_result){.facts = &facts,
                                        .spec = &specs[i],
                                        .source = &source,
                                        .run = calloc(1, tp_run_size(1))};
        results[i].run->device_count = 1;
        results[i].run->devices[0].capacity = TP_NONE;
        results[i].run->devices[0].peak_reserved = 1000;
        results[i].run->devices[0].gets = 10;
        for (int v = 0; v < 10; v++)
            tp_series_add(&results[i].run->throughput.runs, 20);
    }
    return 0;
}

static int pick_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < PLAYERS; i++) {
        free(results[i].run);
        tp_strategy_spec_release(&specs[i]);
    }
    tp_source_spec_release(&source);
    return 0;
}

static void set_time(int player, double ns)
{
    memset(&results[player].run->throughput.runs, 0, sizeof(struct tp_series));
    for (int v = 0; v < 10; v++)
        tp_series_add(&results[player].run->throughput.runs, ns);
}

static void picks(const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    struct tp_page page = {.out = open_memstream(&text, &size), .width = 100};
    tp_pick_print(results, PLAYERS, &page);
    fclose(page.out);
    if (strncmp(text, expected, strlen(expected)))
        fail_msg("expected '%s...', got '%s'", expected, text);
    free(text);
}

static void nothing_separates_equals(void **state)
{
    (void)state;
    picks("Pick: no difference that matters here");
}

static void the_least_memory_wins_beyond_5_percent(void **state)
{
    (void)state;
    results[0].run->devices[0].peak_reserved = 1049; /* within 5 %: still in */
    picks("Pick: no difference");
    results[0].run->devices[0].peak_reserved = 1060;
    picks("Pick bump: held");
}

static void then_the_fewest_calls_even_if_slower(void **state)
{
    (void)state;
    results[0].run->devices[0].gets = 9;
    set_time(1, 5);
    picks("Pick arena: 9 system calls where bump needs 10");
}

static void then_the_time_if_it_differs_by_more_than_5_percent(void **state)
{
    (void)state;
    set_time(1, 19.5);
    picks("Pick: no difference");
    set_time(1, 15);
    picks("Pick bump: 15 ns per call where arena takes 20");
}

static void failures_and_yardsticks_are_out(void **state)
{
    (void)state;
    results[2].run->devices[0].peak_reserved = 1; /* direct */
    results[1].run->devices[0].failed_allocations = 1;
    picks("Pick arena: the only policy here that serves every allocation");
    results[0].run->devices[0].capacity = 2048;
    picks("Pick arena: the only policy here that fits in 2 KiB, yardsticks aside");
    results[2].run->devices[0].failed_allocations = 1;
    picks("Pick arena: the only one of the 3 that fits in 2 KiB");
    results[0].run->devices[0].failed_allocations = 1;
    picks("Pick: none");
}

static void what_it_fits_in_counts_for_more_than_its_peak(void **state)
{
    (void)state;
    const uint64_t fits[PLAYERS] = {900, 500, 100};
    for (int i = 0; i < PLAYERS; i++) {
        results[i].run->flags |= TP_RUN_FITS;
        results[i].run->devices[0].fits_in = fits[i];
    }
    results[1].run->devices[0].peak_reserved = 3000;
    picks("Pick bump: fits in 500 B where arena needs 900 B (1.80x)");
    results[0].run->devices[0].fits_in = TP_NONE; /* not known of all */
    picks("Pick arena: held 1,000 B where bump held 2.93 KiB (3.00x)");
}

static void the_runner_up_is_named_for_the_other_goal(void **state)
{
    (void)state;
    results[0].run->devices[0].peak_reserved = 2000;
    set_time(0, 5);
    picks("Pick bump: held 1,000 B where arena held 1.953 KiB (2.00x)\n"
          "      If time is what you lack: arena, 5 ns per call against 20");
}

int main(void)
{
#define PICK(name) cmocka_unit_test_setup_teardown(name, pick_setup, pick_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_forgiving_and_labels_are_kept),
        cmocka_unit_test(wrong_names_are_usage_errors_with_the_nearest),
        cmocka_unit_test(options_too_long_for_a_child_are_refused_and_leave_nothing),
        cmocka_unit_test(twins_show_only_the_options_in_which_they_differ),
        cmocka_unit_test(decorators_stand_on_a_source),
        PICK(nothing_separates_equals),
        PICK(the_least_memory_wins_beyond_5_percent),
        PICK(then_the_fewest_calls_even_if_slower),
        PICK(then_the_time_if_it_differs_by_more_than_5_percent),
        PICK(failures_and_yardsticks_are_out),
        PICK(what_it_fits_in_counts_for_more_than_its_peak),
        PICK(the_runner_up_is_named_for_the_other_goal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
