/* Settings that are tried: reading a grid, the front, and the answer. */
#include "cmd/tune/grid.h"
#include "cmd/tune/tune_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define GIB          (UINT64_C(1) << 30)
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- grids ---- */

/* Reads a grid and compares its texts, with a line for each. */
static void reads_as(const char *grid, const char *want)
{
    struct tp_texts set = {0};
    struct tp_err err = {0};
    char have[4096] = "";
    int status = tp_grid_add(&set, grid, true, &err);
    for (uint32_t i = 0; i < set.count; i++)
        snprintf(have + strlen(have), sizeof have - strlen(have), "%s\n", tp_texts_get(&set, i));
    tp_texts_release(&set);
    assert_string_equal(status ? err.text : "", "");
    assert_string_equal(have, want);
}

static void a_grid_is_every_combination(void **state)
{
    (void)state;
    reads_as("", "\n");
    reads_as("max_split_size_mb:64", "max_split_size_mb:64\n");
    reads_as("max_split_size_mb:default|64,roundup_power2_divisions:4|[256:1,>:8]|default",
             "roundup_power2_divisions:4\n"
             "roundup_power2_divisions:[256:1,>:8]\n"
             "\n"
             "max_split_size_mb:64,roundup_power2_divisions:4\n"
             "max_split_size_mb:64,roundup_power2_divisions:[256:1,>:8]\n"
             "max_split_size_mb:64\n");
    reads_as(" max_split_size_mb : 64 | 128 | 64 ,",
             "max_split_size_mb:64\nmax_split_size_mb:128\n");
}

static void refused(const char *grid, const char *text, const char *hint)
{
    struct tp_texts set = {0};
    struct tp_err err = {0};
    assert_int_equal(tp_grid_add(&set, grid, true, &err), TP_EUSAGE);
    tp_texts_release(&set);
    if (!strstr(err.text, text) || !strstr(err.hint, hint))
        fail_msg("'%s': %s; %s", grid, err.text, err.hint);
}

static void a_grid_that_pytorch_refuses_is_refused(void **state)
{
    (void)state;
    char large[4200] = "max_split_size_mb:21";
    refused("max_split_size:64", "no setting 'max_split_size'", "'max_split_size_mb'");
    refused("max_split_size_mb:19", "from 20 on", "");
    refused("max_split_size_mb", "not of the form key:value|value", "--grid");
    refused(":64", "not of the form", "--grid");
    refused("max_split_size_mb:64||128", "'max_split_size_mb:'", "");
    refused("roundup_power2_divisions:[256:1", "'roundup_power2_divisions:[256:1'", "");
    for (int i = 22; strlen(large) < 800; i++)
        snprintf(large + strlen(large), sizeof large - strlen(large), "|%d", i);
    snprintf(large + strlen(large), sizeof large - strlen(large),
             ",large_segment_size_mb:20|21|22|23|24|25|26|27|28|29|30|31|32|33|34|35|36|37|38|39");
    refused(large, "at most 4096 settings", "");
    snprintf(large, sizeof large, "backend:default|default");
    for (int i = 1; i < 13; i++)
        snprintf(large + strlen(large), sizeof large - strlen(large), ",backend:default|default");
    refused(large, "at most 4096 settings", ""); /* 2^13 combinations, all of one text */
    memset(large, '1', sizeof large - 1);
    refused(large, "at most 4095 characters", "");
}

static void the_usual_grid_has_64_settings(void **state)
{
    (void)state;
    struct tp_texts set = {0};
    struct tp_err err = {0};
    for (size_t i = 0; tp_grid_default[i]; i++)
        assert_int_equal(tp_grid_add(&set, tp_grid_default[i], false, &err), TP_OK);
    assert_int_equal(set.count, 64);
    assert_string_equal(tp_texts_get(&set, 0), "");
    for (uint32_t i = 0; i < set.count; i++)
        assert_null(tp_grid_danger(tp_texts_get(&set, i)));
    tp_texts_release(&set);
}

static void what_harms_together_is_known(void **state)
{
    (void)state;
    assert_non_null(tp_grid_danger("max_split_size_mb:64,expandable_segments:True"));
    assert_non_null(tp_grid_danger("expandable_segments:True,backend:native,max_split_size_mb:64"));
    assert_null(tp_grid_danger("max_split_size_mb:64,expandable_segments:False"));
    assert_null(tp_grid_danger("expandable_segments:True"));
    assert_int_equal(tp_grid_keys(""), 0);
    assert_int_equal(tp_grid_keys("a:[1:2,3:4],b:1"), 2);
}

/* ---- the front and the answer ---- */

enum { MOST = 6 };

static struct tp_tune_setting settings[MOST];
static struct tp_tune tune;
static struct tp_tune_file file;

/* A setting by what it did, in GiB / 100. */
static void setting(const char *conf, uint64_t peak, uint64_t calls, uint64_t retries,
                    uint64_t failed)
{
    struct tp_tune_setting *s = &settings[tune.setting_count++];
    *s = (struct tp_tune_setting){.conf = conf,
                                  .danger = tp_grid_danger(conf),
                                  .newer = tp_grid_newer(conf),
                                  .keys = tp_grid_keys(conf),
                                  .recorded = s == settings,
                                  .all = {.peak_reserved = peak * GIB / 100,
                                          .calls = calls,
                                          .retries = retries,
                                          .failed = failed}};
}

static int setup(void **state)
{
    (void)state;
    file = (struct tp_tune_file){.live = 72 * GIB, .live_event = 91, .capacity = 70 * GIB};
    tune = (struct tp_tune){.files = &file, .file_count = 1, .settings = settings};
    return 0;
}

static void answers_of(struct tp_tune_case of, enum tp_tune_verdict verdict, const char *sentence)
{
    char text[512];
    struct tp_str s = TP_STR_IN(text);
    struct tp_tune_answer a = tp_tune_answer(settings, tune.setting_count, of);
    assert_int_equal(a.verdict, verdict);
    tp_tune_sentence(&tune, &a, false, &s);
    assert_string_equal(text, sentence);
}

static void answers(enum tp_tune_verdict verdict, const char *sentence)
{
    answers_of((struct tp_tune_case){false}, verdict, sentence);
}

static void less_memory_is_worth_a_setting(void **state)
{
    (void)state;
    setting("", 5690, 100, 0, 0);
    setting("max_split_size_mb:64", 5210, 141, 0, 0);
    setting("max_split_size_mb:64,large_segment_size_mb:40", 5200, 300, 0, 0);
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 56.9 GiB -> 52.1 GiB "
                         "reserved, 41 more driver calls.");
    settings[1].conf = "roundup_power2_divisions:[>:2]";
    settings[1].all.calls = 99;
    settings[0].all.retries = 2;
    answers(TP_TUNE_SET, "Set 'PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:[>:2]': 56.9 GiB "
                         "-> 52.1 GiB reserved, 1 fewer driver call, 0 instead of 2 retries.");
}

static void a_difference_under_1_percent_is_no_advice(void **state)
{
    (void)state;
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64", 991, 10, 0, 0);
    answers(TP_TUNE_FINE, "Keep the defaults: none of 2 settings needs over 1 % less than 10 GiB.");
    setting("max_split_size_mb:128", 989, 20, 0, 0);
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: about as much "
                         "reserved, 9.91 GiB, 10 fewer driver calls.");
    settings[0].conf = "backend:native";
    settings[0].keys = 1;
    tune.setting_count = 2;
    answers(TP_TUNE_FINE, "Keep what is set: none of 2 settings needs over 1 % less than 10 GiB.");
}

static void fewer_calls_and_retries_count_where_memory_is_the_same(void **state)
{
    (void)state;
    setting("max_split_size_mb:64", 1000, 100, 3, 0);
    setting("", 1000, 100, 1, 0);
    answers(TP_TUNE_SET, "Leave PYTORCH_CUDA_ALLOC_CONF unset: about as much reserved, 10 GiB, 1 "
                         "instead of 3 retries.");
    settings[1].all.retries = 3;
    settings[1].all.calls = 51;
    answers(TP_TUNE_FINE, "Keep what is set: none of 2 settings needs over 1 % less than 10 GiB.");
    settings[1].all.calls = 50;
    answers(TP_TUNE_SET, "Leave PYTORCH_CUDA_ALLOC_CONF unset: about as much reserved, 10 GiB, 50 "
                         "fewer driver calls.");
    answers_of((struct tp_tune_case){.mid_run = true}, TP_TUNE_FINE,
               "Keep what is set: none of 2 settings needs over 1 % less than 10 GiB.");
}

static void less_memory_is_not_worth_a_retry(void **state)
{
    (void)state;
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64", 500, 20, 1, 0);
    answers(TP_TUNE_FINE, "Keep the defaults: none of 2 settings needs over 1 % less than 10 GiB "
                          "without more retries.");
    setting("max_split_size_mb:128", 700, 20, 0, 0);
    answers(TP_TUNE_SET,
            "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128: 10 GiB -> 7 GiB reserved.");
    settings[0].all.failed = 1;
    answers(TP_TUNE_RESCUES, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 5 GiB "
                             "reserved, 1 instead of 0 retries, and the out of memory is gone.");
}

static void an_out_of_memory_is_avoided_or_not(void **state)
{
    (void)state;
    setting("", 7941, 1204, 9, 1);
    setting("max_split_size_mb:64", 7402, 1911, 9, 2);
    answers(TP_TUNE_NONE, "No setting that was tried avoids the out of memory.");
    answers_of((struct tp_tune_case){.too_big = true}, TP_TUNE_TOO_BIG,
               "No setting avoids the out of memory: at event 91 the program itself needs 72 GiB, "
               "and the device has 70 GiB.");
    setting("max_split_size_mb:128", 7960, 1911, 9, 0);
    answers(TP_TUNE_RESCUES,
            "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128: about as much reserved, 79.6 GiB, "
            "707 more driver calls, and the out of memory is gone.");
}

/* One rank has a large device, and needs most; the other one is too small. */
static void the_device_that_is_too_small_is_named(void **state)
{
    (void)state;
    struct tp_tune_file files[] = {{.live = 90 * GIB, .live_event = 5, .capacity = 100 * GIB},
                                   {.live = 50 * GIB, .live_event = 7, .capacity = 40 * GIB}};
    tune.files = files;
    tune.file_count = 2;
    setting("", 7941, 1204, 9, 1);
    answers_of((struct tp_tune_case){.too_big = true}, TP_TUNE_TOO_BIG,
               "No setting avoids the out of memory: at event 7 the program itself needs 50 GiB, "
               "and the device has 40 GiB.");
}

static void what_is_dangerous_or_refused_is_not_proposed(void **state)
{
    (void)state;
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64,expandable_segments:True", 500, 20, 0, 0);
    setting("expandable_segments:True", 400, 20, 0, 0);
    settings[2].status = TP_EUSAGE;
    answers(TP_TUNE_FINE, "Keep the defaults: no other setting could be tried.");
    settings[0].status = TP_EBROKEN;
    answers(TP_TUNE_UNKNOWN, "No setting could be played.");
}

static void older_versions_are_told_what_they_know(void **state)
{
    (void)state;
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64,large_segment_size_mb:40", 800, 20, 0, 0);
    setting("max_split_size_mb:64", 900, 20, 0, 0);
    assert_string_equal(settings[1].newer, "large_segment_size_mb");
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,large_segment_size_mb:40"
                         ": 10 GiB -> 8 GiB reserved.");
    answers_of((struct tp_tune_case){.older = true}, TP_TUNE_SET,
               "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 9 GiB reserved.");
    settings[2].all.peak_reserved = settings[0].all.peak_reserved;
    answers_of((struct tp_tune_case){.older = true}, TP_TUNE_FINE,
               "Keep the defaults: none of 2 settings needs over 1 % less than 10 GiB.");
    settings[2].all.peak_reserved = settings[1].all.peak_reserved = 9 * GIB;
    settings[1].all.calls = 10;
    answers(TP_TUNE_SET,
            "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 9 GiB reserved.");
}

static void the_front_has_what_none_beats(void **state)
{
    (void)state;
    setting("max_split_size_mb:64", 1000, 20, 1, 0);
    setting("", 1000, 20, 1, 0);                                  /* equal, and shorter */
    setting("max_split_size_mb:128", 900, 30, 1, 0);              /* less memory, more calls */
    setting("max_split_size_mb:256", 901, 30, 1, 0);              /* beaten */
    setting("max_split_size_mb:512", 950, 40, 0, 0);              /* no retry */
    setting("max_split_size_mb:64,backend:native", 100, 1, 0, 1); /* out of memory */
    tp_tune_front(settings, tune.setting_count);
    static const bool want[MOST] = {false, true, true, false, true, false};
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(settings[i].on_front, want[i]);
    for (size_t i = 0; i < MOST; i++)
        settings[i].all.failed = i == 0 || i == 4 ? 1 : 2;
    tp_tune_front(settings, tune.setting_count);
    static const bool failing[MOST] = {true, false, false, false, false, false};
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(settings[i].on_front, failing[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_is_every_combination),
        cmocka_unit_test(a_grid_that_pytorch_refuses_is_refused),
        cmocka_unit_test(the_usual_grid_has_64_settings),
        cmocka_unit_test(what_harms_together_is_known),
        cmocka_unit_test_setup(less_memory_is_worth_a_setting, setup),
        cmocka_unit_test_setup(a_difference_under_1_percent_is_no_advice, setup),
        cmocka_unit_test_setup(fewer_calls_and_retries_count_where_memory_is_the_same, setup),
        cmocka_unit_test_setup(less_memory_is_not_worth_a_retry, setup),
        cmocka_unit_test_setup(an_out_of_memory_is_avoided_or_not, setup),
        cmocka_unit_test_setup(the_device_that_is_too_small_is_named, setup),
        cmocka_unit_test_setup(what_is_dangerous_or_refused_is_not_proposed, setup),
        cmocka_unit_test_setup(older_versions_are_told_what_they_know, setup),
        cmocka_unit_test_setup(the_front_has_what_none_beats, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
