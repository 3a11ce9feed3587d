/* Settings that are tried: reading a grid, the front, and the answer. */
#include "cmd/tune/grid.h"
#include "cmd/tune/tunable.h"
#include "cmd/tune/tune.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

#define GIB          (UINT64_C(1) << 30)
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- grids ---- */

static const char *danger(const char *conf, const char *device)
{
    return tp_tunable_danger(tp_tunable_of(NULL), conf, device);
}

static const char *newer(const char *conf, const char *device)
{
    return tp_tunable_newer(tp_tunable_of(NULL), conf, device);
}

static struct tp_tune_whose cuda(void)
{
    return (struct tp_tune_whose){.target = tp_tunable_of(NULL)};
}

/* Reads a grid and compares its texts, with a line for each. */
static void reads_as(const char *grid, const char *want)
{
    struct tp_texts set = {0};
    struct tp_err err = {0};
    char have[4096] = "";
    int status = tp_tunable_add(&set, grid, cuda(), &err);
    for (uint32_t i = 0; i < set.count; i++)
        snprintf(have + strlen(have), sizeof have - strlen(have), "%s\n", tp_texts_get(&set, i));
    tp_texts_release(&set);
    assert_string_equal(status ? err.text : "", "");
    assert_string_equal(have, want);
}

TEST(a_grid_is_every_combination)
{
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
    assert_int_equal(tp_tunable_add(&set, grid, cuda(), &err), TP_EUSAGE);
    tp_texts_release(&set);
    if (!strstr(err.text, text) || !strstr(err.hint, hint))
        fail_msg("'%s': %s; %s", grid, err.text, err.hint);
}

/* Each device has keys of its own; what it refuses is no usual setting there. */
TEST(a_grid_of_another_device)
{
    struct tp_tune_whose npu = cuda();
    struct tp_texts set = {0};
    struct tp_err err = {0};
    static const char own[] = "base_addr_aligned_kb:0|8,expandable_segments:True";
    static const char beside[] = "expandable_segments:True|False,max_split_size_mb:64";
    npu.device = "npu";
    assert_int_equal(tp_tunable_add(&set, own, npu, &err), TP_OK);
    assert_int_equal(set.count, 2);
    assert_int_equal(tp_tunable_add(&set, own, cuda(), &err), TP_EUSAGE);
    assert_int_equal(tp_tunable_add(&set, beside, npu, &err), TP_EUSAGE);
    npu.usual = true;
    assert_int_equal(tp_tunable_add(&set, beside, npu, &err), TP_OK);
    assert_int_equal(set.count, 3);
    for (size_t i = 0; tp_tunable_of(NULL)->usual[i]; i++)
        assert_int_equal(tp_tunable_add(&set, tp_tunable_of(NULL)->usual[i], npu, &err), TP_OK);
    assert_string_equal(newer("max_non_split_rounding_mb:64", "npu"), "max_non_split_rounding_mb");
    assert_null(newer("max_non_split_rounding_mb:64", NULL));
    tp_texts_release(&set);
}

TEST(a_grid_that_pytorch_refuses_is_refused)
{
    refused("graph_capture_record_stream_reuse:True", "is not simulated", "");
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
             ",roundup_power2_divisions:1|2|4|8|16|32|64|128|256|512|1024|2048|4096|8192|16384|"
             "32768|65536|131072|262144|524288");
    refused(large, "at most 4096 settings", "");
    snprintf(large, sizeof large, "backend:default|default");
    for (int i = 1; i < 13; i++)
        snprintf(large + strlen(large), sizeof large - strlen(large), ",backend:default|default");
    refused(large, "at most 4096 settings", ""); /* 2^13 combinations, all of one text */
    memset(large, '1', sizeof large - 1);
    refused(large, "at most 4095 characters", "");
}

TEST(the_usual_grid_has_64_settings)
{
    struct tp_texts set = {0};
    for (size_t i = 0; tp_tunable_of(NULL)->usual[i]; i++)
        assert_int_equal(tp_tunable_add(&set, tp_tunable_of(NULL)->usual[i], cuda(), NULL), TP_OK);
    assert_int_equal(set.count, 64);
    assert_string_equal(tp_texts_get(&set, 0), "");
    for (uint32_t i = 0; i < set.count; i++)
        assert_null(danger(tp_texts_get(&set, i), NULL));
    tp_texts_release(&set);
}

TEST(what_harms_together_is_known)
{
    assert_non_null(danger("max_split_size_mb:64,expandable_segments:True", NULL));
    assert_non_null(danger("expandable_segments:True,backend:native,max_split_size_mb:64", NULL));
    assert_null(danger("max_split_size_mb:64,expandable_segments:False", NULL));
    assert_null(danger("expandable_segments:True", NULL));
    assert_non_null(danger("max_split_size_mb:20", NULL)); /* a free segment of 20 MiB */
    assert_non_null(danger("base_addr_aligned_kb:8,max_split_size_mb:20", "npu"));
    assert_null(danger("max_split_size_mb:21", NULL));
    assert_non_null(danger("large_segment_size_mb:40,max_split_size_mb:40", NULL));
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
                                  .danger = danger(conf, NULL),
                                  .newer = newer(conf, NULL),
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
    tune = (struct tp_tune){
        .files = &file, .file_count = 1, .target = tp_tunable_of(NULL), .settings = settings};
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

TEST_WITH(less_memory_is_worth_a_setting, setup, NULL)
{
    setting("", 5690, 100, 0, 0);
    setting("max_split_size_mb:64", 5210, 141, 0, 0);
    setting("max_split_size_mb:64,large_segment_size_mb:40", 5200, 300, 0, 0);
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 56.9 GiB -> 52.1 GiB "
                         "reserved (-8.4%), 141 instead of 100 driver calls.");
    settings[1].conf = "roundup_power2_divisions:[>:2]";
    settings[1].all.calls = 99;
    settings[0].all.retries = 2;
    answers(TP_TUNE_SET,
            "Set PYTORCH_CUDA_ALLOC_CONF='roundup_power2_divisions:[>:2]': 56.9 GiB "
            "-> 52.1 GiB reserved (-8.4%), 99 instead of 100 driver calls, 0 instead of 2 "
            "retries.");
}

TEST_WITH(a_gain_under_2_percent_is_no_advice, setup, NULL)
{
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64", 991, 10, 0, 0);
    answers(TP_TUNE_FINE, "Keep the defaults (best of 2 settings: -0.9%).");
    setting("max_split_size_mb:128", 981, 20, 0, 0);
    answers(TP_TUNE_FINE, "Keep the defaults (best of 3 settings: -1.9%).");
    settings[2].all.peak_reserved = 980 * GIB / 100;
    settings[2].all.peak_reserved--;
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128: 10 GiB -> 9.8 GiB "
                         "reserved (-2.0%).");
    settings[0].conf = "backend:native";
    settings[0].keys = 1;
    tune.setting_count = 2;
    answers(TP_TUNE_FINE, "Keep the recorded setting (best of 2 settings: -0.9%).");
}

/* A replay that needs more than PyTorch really did makes no gain. */
TEST_WITH(what_was_really_held_counts, setup, NULL)
{
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64", 950, 20, 0, 0);
    settings[0].recorded = true;
    answers_of((struct tp_tune_case){.did = 1000 * GIB / 100}, TP_TUNE_SET,
               "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 9.5 GiB reserved "
               "(-5.0%).");
    answers_of((struct tp_tune_case){.did = 950 * GIB / 100}, TP_TUNE_FINE,
               "Keep the defaults: none of 2 settings reserves less.");
    answers_of((struct tp_tune_case){.did = 960 * GIB / 100}, TP_TUNE_FINE,
               "Keep the defaults (best of 2 settings: -1.0%).");
}

/* It is named, but not set. */
TEST_WITH(memory_is_not_bought_with_many_driver_calls, setup, NULL)
{
    setting("", 1000, 100, 0, 0);
    setting("max_split_size_mb:32", 930, 1291, 0, 0);
    answers(TP_TUNE_FINE,
            "Keep the defaults: none of 2 settings reserves less without many more driver calls.");
    setting("max_split_size_mb:64,large_segment_size_mb:40", 960, 40, 0, 0);
    setting("max_split_size_mb:64", 965, 90, 0, 0);
    struct tp_tune_case of = {false};
    struct tp_tune_answer a = tp_tune_answer(settings, tune.setting_count, of);
    assert_ptr_equal(a.best, &settings[3]);
    assert_ptr_equal(a.named[TP_TUNE_LEAST_MEMORY], &settings[1]);
    assert_ptr_equal(a.named[TP_TUNE_FEWEST_CALLS], &settings[2]);
    assert_ptr_equal(a.named[TP_TUNE_SIMPLEST], &settings[1]);
}

/* From there the recorded setting needs less too, so that not all of the difference is gained. */
TEST_WITH(a_compacted_start_is_compared_with_another_one, setup, NULL)
{
    setting("", 1000, 10, 0, 0);
    setting("expandable_segments:True", 600, 57, 0, 0);
    setting("max_split_size_mb:64", 760, 10, 0, 0);
    setting("", 800, 60, 0, 0);
    settings[1].compacted = settings[3].compacted = settings[3].twin = settings[3].recorded = true;
    answers(TP_TUNE_SET,
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: estimate from a compacted "
            "start: 8 GiB -> 6 GiB reserved (-25.0%), 57 instead of 60 driver calls.");
    settings[2].all.peak_reserved = 740 * GIB / 100; /* less than three quarters */
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 7.4 GiB "
                         "reserved (-26.0%).");
    settings[2].all.peak_reserved = 1000 * GIB / 100;
    settings[0].all.failed = settings[2].all.failed = 1;
    answers(TP_TUNE_NONE, "No setting tried avoids the OOM. Some do from a compacted start, but so "
                          "does the recorded setting: record from the first step to find out.");
    settings[3].all.failed = 1;
    answers(
        TP_TUNE_RESCUES,
        "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: estimate from a compacted start: "
        "6 GiB reserved, without running out of memory.");
}

TEST_WITH(where_it_cannot_tell_it_does_not_say_set, setup, NULL)
{
    setting("", 1000, 10, 0, 0);
    setting("max_split_size_mb:64", 500, 10, 0, 0);
    answers_of((struct tp_tune_case){.ran_out = true}, TP_TUNE_UNTOLD,
               "Not known: the recorded program ran out of memory, and its replay with the same "
               "setting does not, so no row shows how to avoid it.");
    file.fidelity =
        (struct tp_fidelity){.addresses = 2899, .good_addresses = 577, .first_event = 12};
    answers_of((struct tp_tune_case){.unfaithful = true}, TP_TUNE_UNFAITHFUL,
               "No advice: the rules of torch reproduce 577 of 2,899 recorded addresses (19.9%), "
               "and part from the recording at event 12; 'tapool verify' looks for settings that "
               "explain them.");
    file.fidelity.first_event = 0;
    answers_of((struct tp_tune_case){.unfaithful = true}, TP_TUNE_UNFAITHFUL,
               "No advice: the rules of torch reproduce 577 of 2,899 recorded addresses (19.9%), "
               "and part from the recording at its start; 'tapool verify' looks for settings that "
               "explain them.");
}

TEST_WITH(the_one_that_reaches_farthest_is_named, setup, NULL)
{
    setting("", 1000, 10, 0, 2);
    setting("max_split_size_mb:64", 900, 10, 0, 1);
    setting("max_split_size_mb:128", 950, 10, 0, 3);
    settings[0].all.first_failed_event = 1844;
    settings[1].all.first_failed_event = 1700;
    settings[2].all.first_failed_event = 2010;
    answers(TP_TUNE_NONE, "No setting tried avoids the OOM: the best, "
                          "max_split_size_mb:128, reaches event 2,010 instead of 1,844.");
}

TEST_WITH(fewer_calls_and_retries_count_where_memory_is_the_same, setup, NULL)
{
    setting("max_split_size_mb:64", 1000, 100, 3, 0);
    setting("", 1000, 100, 1, 0);
    answers(TP_TUNE_SET, "Leave PYTORCH_CUDA_ALLOC_CONF unset: about as much reserved, 10 GiB, 1 "
                         "instead of 3 retries.");
    settings[1].all.retries = 3;
    settings[1].all.calls = 51;
    answers(TP_TUNE_FINE, "Keep the recorded setting: none of 2 settings reserves less.");
    settings[1].all.calls = 50;
    answers(TP_TUNE_SET, "Leave PYTORCH_CUDA_ALLOC_CONF unset: about as much reserved, 10 GiB, 50 "
                         "instead of 100 driver calls.");
    answers_of((struct tp_tune_case){.mid_run = true}, TP_TUNE_FINE,
               "Keep the recorded setting: none of 2 settings reserves less.");
}

TEST_WITH(less_memory_is_not_worth_a_retry, setup, NULL)
{
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64", 500, 20, 1, 0);
    answers(TP_TUNE_FINE,
            "Keep the defaults: none of 2 settings reserves less without more retries.");
    setting("max_split_size_mb:128", 700, 20, 0, 0);
    answers(
        TP_TUNE_SET,
        "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128: 10 GiB -> 7 GiB reserved (-30.0%).");
    settings[0].all.failed = 1;
    answers(TP_TUNE_RESCUES, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 5 GiB reserved, "
                             "without running out of memory.");
}

TEST_WITH(an_out_of_memory_is_avoided_or_not, setup, NULL)
{
    setting("", 7941, 1204, 9, 1);
    setting("max_split_size_mb:64", 7402, 1911, 9, 2);
    answers(TP_TUNE_NONE, "No setting tried avoids the OOM.");
    answers_of(
        (struct tp_tune_case){.too_big = true}, TP_TUNE_TOO_BIG,
        "No setting avoids the OOM: at event 91, 72 GiB are requested, and the device has 70 GiB.");
    setting("max_split_size_mb:128", 7960, 1911, 9, 0);
    answers(TP_TUNE_RESCUES,
            "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128: 79.6 GiB reserved, without running "
            "out of memory.");
}

/* One rank has a large device, and needs most; the other one is too small. */
TEST_WITH(the_device_that_is_too_small_is_named, setup, NULL)
{
    struct tp_tune_file files[] = {{.live = 90 * GIB, .live_event = 5, .capacity = 100 * GIB},
                                   {.live = 50 * GIB, .live_event = 7, .capacity = 40 * GIB}};
    tune.files = files;
    tune.file_count = 2;
    setting("", 7941, 1204, 9, 1);
    answers_of(
        (struct tp_tune_case){.too_big = true}, TP_TUNE_TOO_BIG,
        "No setting avoids the OOM: at event 7, 50 GiB are requested, and the device has 40 GiB.");
}

TEST_WITH(what_is_dangerous_or_refused_is_not_proposed, setup, NULL)
{
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64,expandable_segments:True", 500, 20, 0, 0);
    setting("expandable_segments:True", 400, 20, 0, 0);
    settings[2].status = TP_EUSAGE;
    answers(TP_TUNE_FINE, "Keep the defaults: no other setting could be tried.");
    settings[0].status = TP_EBROKEN;
    answers(TP_TUNE_UNKNOWN, "No setting could be replayed.");
}

TEST_WITH(older_versions_are_told_what_they_know, setup, NULL)
{
    setting("", 1000, 20, 0, 0);
    setting("max_split_size_mb:64,large_segment_size_mb:40", 800, 20, 0, 0);
    setting("max_split_size_mb:64", 900, 20, 0, 0);
    assert_string_equal(settings[1].newer, "large_segment_size_mb");
    answers(TP_TUNE_SET, "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,large_segment_size_mb:40"
                         ": 10 GiB -> 8 GiB reserved (-20.0%).");
    answers_of((struct tp_tune_case){.older = true}, TP_TUNE_SET,
               "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 9 GiB reserved "
               "(-10.0%).");
    settings[2].all.peak_reserved = settings[0].all.peak_reserved;
    answers_of((struct tp_tune_case){.older = true}, TP_TUNE_FINE,
               "Keep the defaults: none of 2 settings reserves less.");
    settings[2].all.peak_reserved = settings[1].all.peak_reserved = 9 * GIB;
    settings[1].all.calls = 10;
    answers(TP_TUNE_SET,
            "Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: 10 GiB -> 9 GiB reserved "
            "(-10.0%).");
}

TEST_WITH(the_front_has_what_none_beats, setup, NULL)
{
    setting("max_split_size_mb:64", 1000, 20, 1, 0);
    setting("", 1000, 20, 1, 0);                                  /* equal, and shorter */
    setting("max_split_size_mb:128", 900, 30, 1, 0);              /* less memory, more calls */
    setting("max_split_size_mb:256", 901, 30, 1, 0);              /* beaten */
    setting("max_split_size_mb:512", 950, 40, 0, 0);              /* no retry */
    setting("max_split_size_mb:64,backend:native", 100, 1, 0, 1); /* out of memory */
    tp_tune_front(settings, tune.setting_count, false);
    static const bool want[MOST] = {false, true, true, false, true, false};
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(settings[i].on_front, want[i]);
    for (size_t i = 0; i < MOST; i++) {
        settings[i].all.failed = 1;
        settings[i].all.first_failed_event = i == 0 || i == 4 ? 9 : 5;
    }
    tp_tune_front(settings, tune.setting_count, false);
    static const bool failing[MOST] = {true, false, false, false, false, false};
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(settings[i].on_front, failing[i]);
}

/* ---- another recorded allocator ---- */

static void add_made_up(const struct tp_meta *m, const char *setting, struct tp_str *out)
{
    (void)m;
    tp_str_add(out, "<%s>", setting);
}

static void add_made_up_order(const struct tp_meta *m, const char *variable, const char *setting,
                              struct tp_str *out)
{
    assert_null(variable);
    tp_str_add(out, "export ");
    add_made_up(m, setting, out);
}

static const struct tp_recorded_strategy made_up_strategy = {.by = "made up", .whose = "Made Up"};
static const struct tp_tunable made_up = {
    .of = &made_up_strategy, .show = add_made_up, .order = add_made_up_order};

/* Prints one part of the screen for settings of that allocator. */
static void made_up_prints(void (*print)(struct tp_page *page), const char *want)
{
    char have[1024] = "";
    FILE *out = fmemopen(have, sizeof have - 1, "w");
    assert_non_null(out);
    struct tp_page page;
    tp_page_init(&page, out, 0);
    print(&page);
    fclose(out);
    assert_string_equal(have, want);
}

static void print_table(struct tp_page *page)
{
    const struct tp_tune_answers a = {
        .any = tp_tune_answer(settings, tune.setting_count, (struct tp_tune_case){false})};
    tune.pool_status = TP_EUNSUP;
    tp_tune_table_print(&tune, &a, true, NULL, page);
}

static void print_difference(struct tp_page *page)
{
    file.capacity = 0;
    file.knows = true;
    file.did = (struct tp_tune_figures){.peak_reserved = 9 * GIB, .calls = 4};
    tp_tune_difference_print(&tune, &settings[0], page);
}

/* No variable, no keys that are newer, no addresses to compare, no pool: none of it is said. */
TEST_WITH(what_an_allocator_does_not_have_is_not_said, setup, NULL)
{
    tune.target = &made_up;
    file.capacity = 0;
    setting("", 1000, 20, 0, 0);
    setting("a:1", 900, 20, 0, 0);
    answers(TP_TUNE_SET, "export <a:1>: 10 GiB -> 9 GiB reserved (-10.0%).");
    made_up_prints(print_table, "  peak              driver\n"
                                "  reserved  change   calls  setting\n"
                                "  10 GiB      base      20  defaults (as recorded)\n"
                                "  9 GiB     -10.0%      20  <a:1>\n");
    made_up_prints(print_difference,
                   "  as recorded, the replay differs from Made Up by 1 GiB more reserved and 16 "
                   "more driver calls\n");
    assert_null(tp_tunable_danger(&made_up, "a:1", NULL));
    assert_null(tp_tunable_newer(&made_up, "a:1", NULL));
    assert_null(tp_tunable_needs_size(&made_up, "a:1"));
    assert_false(tp_tunable_is_older(&made_up, "1.0"));
    assert_string_equal(tp_recorded_share(&made_up_strategy, "a:1"), "");
}

/* Else its recordings would get settings of another one. */
TEST(each_recorded_allocator_has_settings_to_try)
{
    for (size_t i = 0; tp_recorded_strategies[i]; i++) {
        const struct tp_tunable *t = tp_tunable_of(tp_recorded_strategies[i]->by);
        assert_ptr_equal(t->of, tp_recorded_strategies[i]);
        assert_true(t->usual && t->check && t->makes_alike && t->order);
    }
    const struct tp_recorded_strategy *torch = tp_find_recorded_strategy("PyTorch");
    assert_string_equal(tp_recorded_share(torch, "a:1"), ",per_process_memory_fraction:1.0");
    assert_string_equal(tp_recorded_share(torch, "per_process_memory_fraction:0.5"), "");
}

/* ---- pinned memory ---- */

TEST(test_pinned_settings)
{
    const struct tp_tunable *pinned = tp_tunable_of("PyTorch (pinned)");
    const struct tp_tune_whose whose = {.target = pinned};
    struct tp_texts set = {0};
    struct tp_err err;
    assert_ptr_equal(tp_tunable_of(NULL), tp_tunable_of("PyTorch"));
    assert_ptr_not_equal(pinned, tp_tunable_of("PyTorch"));
    assert_string_equal(pinned->of->strategy->name, "torch-pinned");
    assert_string_equal(pinned->variable(NULL, NULL), "PYTORCH_ALLOC_CONF");
    for (size_t i = 0; pinned->usual[i]; i++)
        assert_int_equal(tp_tunable_add(&set, pinned->usual[i], whose, &err), TP_OK);
    assert_int_equal(set.count, 24);
    for (uint32_t i = 0; i < set.count; i++)
        assert_null(pinned->danger(tp_texts_get(&set, i), NULL));
    assert_int_equal(tp_tunable_add(&set, "pinned_max_cached:1", whose, &err), TP_EUSAGE);
    tp_texts_release(&set);
    struct tp_str kept = {0};
    pinned->kept(
        "expandable_segments:True,pinned_max_cached_size_mb:1,pinned_num_register_threads:8",
        &kept);
    assert_string_equal(tp_str_text(&kept),
                        "expandable_segments:True,pinned_num_register_threads:8");
    tp_str_drop(&kept);
    assert_non_null(pinned->danger("pinned_max_round_threshold_mb:64", NULL));
    assert_non_null(
        pinned->danger("pinned_max_cached_size_mb:65,pinned_max_round_threshold_mb:64", NULL));
    assert_null(
        pinned->danger("pinned_max_cached_size_mb:64,pinned_max_round_threshold_mb:64", NULL));
    assert_null(pinned->danger("max_split_size_mb:64,expandable_segments:True", NULL));
}
