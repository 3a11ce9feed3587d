/* The strategy torch: the texts of PYTORCH_CUDA_ALLOC_CONF, releases and other devices. */
#include "tests/unit/scenario.h"
#include "tests/unit/torch_rig.h"

REPLAYS(blocks_from_the_split_limit_on_are_not_split, open_torch("conf=max_split_size_mb:40"),
        "a=60M -a 8M@!a 40M@!a " /* 20 MiB are too much to leave over */
        "b=40M+512@a:60M")

REPLAYS(what_may_be_left_over_can_be_set,
        open_torch("conf={max_split_size_mb:40,max_non_split_rounding_mb:21}"), "a=60M -a 40M@a")

TEST(sizes_are_rounded_to_divisions_of_powers_of_two)
{
    struct tp_torch_rules four = tp_torch_defaults, list = tp_torch_defaults;
    assert_int_equal(tp_torch_conf(&four, "roundup_power2_divisions:4", NULL), TP_OK);
    assert_int_equal(tp_torch_rounded(&four, 1200), 1536); /* up to 4 times 512: as without */
    assert_int_equal(tp_torch_rounded(&four, 8192), 8192);
    assert_int_equal(tp_torch_rounded(&four, 9000), 10240);
    assert_int_equal(tp_torch_rounded(&tp_torch_defaults, 9000), 9216);
    assert_int_equal(
        tp_torch_conf(&list, "roundup_power2_divisions:[ 64:8, 256:4, >:1 ],backend:native", NULL),
        TP_OK);
    assert_int_equal(tp_torch_rounded(&list, 33 * MIB), 36 * MIB);
    assert_int_equal(tp_torch_rounded(&list, 300 * MIB), 320 * MIB);
    assert_int_equal(tp_torch_rounded(&list, 600 * MIB + 1), 600 * MIB + 512);
}

/* ">" counts from the interval behind that of the size before it, or from 2 MiB on. The first size
 * that is named counts for all smaller ones, wherever it stands. */
TEST(a_list_of_divisions_is_read_from_left_to_right)
{
    static const struct {
        const char *list;
        uint64_t divisions[6]; /* of 1, 2, 4, 8, 16 MiB and 32 GiB */
    } cases[] = {
        {"4", {4, 4, 4, 4, 4, 4}},
        {"[]", {0, 0, 0, 0, 0, 0}},
        {"[>:4]", {0, 4, 4, 4, 4, 4}},
        {"[4:8]", {8, 8, 8, 0, 0, 0}},
        {"[4:8,]", {8, 8, 8, 0, 0, 0}},
        {"[4:8,>:2]", {8, 8, 8, 2, 2, 2}},
        {"[>:2,4:8]", {8, 8, 8, 2, 2, 2}},
        {"[4:8,>:2,>:1]", {8, 8, 8, 1, 1, 1}},
        {"[8:4,2:16,>:0]", {4, 16, 0, 0, 0, 0}},
        {"[32768:4]", {4, 4, 4, 4, 4, 4}},
        {"[1:2,1048576:4]", {2, 0, 0, 0, 0, 4}},
        {"[2MB:8x,>:2]", {8, 8, 2, 2, 2, 2}},
    };
    static const size_t slots[] = {0, 1, 2, 3, 4, TP_TORCH_INTERVALS - 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        char text[64];
        snprintf(text, sizeof text, "roundup_power2_divisions:%s", cases[i].list);
        assert_int_equal(tp_torch_conf(&rules, text, NULL), TP_OK);
        for (size_t k = 0; k < sizeof slots / sizeof *slots; k++)
            if (rules.divisions[slots[k]] != cases[i].divisions[k])
                fail_msg("%s: interval %zu", cases[i].list, slots[k]);
    }
}

TEST(settings_that_pytorch_refuses_are_refused)
{
    static const char *const bad[][2] = {
        {"max_split_size:20", "PyTorch has no setting 'max_split_size'"},
        {"max_split_size_mb:19", "'max_split_size_mb:19': not a number of MiB from 20 on"},
        {"max_split_size_mb:x", "'max_split_size_mb:x': not a number of MiB from 20 on"},
        {"max_split_size_mb:", "not a number of MiB from 20 on"},
        {"max_split_size_mb:64:3", "not a number of MiB from 20 on"},
        {"max_split_size_mb:[64]", "not a number of MiB from 20 on"},
        {"max_split_size_mb:18446744073709551616", "not a number of MiB from 20 on"},
        {"max_non_split_rounding_mb:19", "not a number of MiB from 20 on"},
        {"large_segment_size_mb:10", "not a number of MiB from 11 on"},
        {"large_segment_size_mb:50,max_split_size_mb:32", "not a number of MiB from 50 on"},
        {"large_segment_size_mb:50,max_non_split_rounding_mb:49", "from 50 on"},
        {"garbage_collection_threshold:0", "not a share between 0 and 1"},
        {"garbage_collection_threshold:1", "not a share between 0 and 1"},
        {"garbage_collection_threshold:nan", "not a share between 0 and 1"},
        {"per_process_memory_fraction:1.01", "not a share from 0 to 1"},
        {"per_process_memory_fraction:-0.1", "not a share from 0 to 1"},
        {"roundup_power2_divisions:0", "not a power of two"},
        {"roundup_power2_divisions:3", "not a power of two"},
        {"roundup_power2_divisions:[64:3]", "not a power of two"},
        {"roundup_power2_divisions:[65:4]", "not a power of two"},
        {"roundup_power2_divisions:[0:4]", "not a power of two"},
        {"roundup_power2_divisions:[64]", "not a power of two"},
        {"roundup_power2_divisions:[64:4,,>:2]", "not a power of two"},
        {"expandable_segments:true", "'expandable_segments:true': not True or False"},
        {"expandable_segments:True,large_segment_size_mb:21", "must be even"},
        {"backend:cudaMallocAsync", "is not this allocator"},
        {"backend:hipMallocAsync", "is not this allocator"},
        {"backend:none", "not native or cudaMallocAsync"},
        {"release_lock_on_cudamalloc:1", "not True or False"},
        {"graph_capture_record_stream_reuse:yes", "not True or False"},
        {"pinned_use_background_threads:true", "not True or False"},
        {"pinned_num_register_threads:3", "not a power of two up to 128"},
        {"pinned_num_register_threads:256", "not a power of two up to 128"},
        {"pinned_reserve_segment_size_mb:0", "not a number above 0"},
        {"throw_on_cudamalloc_oom:1", "not True or False"},
        {"expandable_segments_reserve:0", "not a share of the device"},
        {"expandable_segments_reserve:G", "not a share of the device"},
        {"expandable_segments_reserve:40M", "not a share of the device"},
        {"expandable_segments_reserve:nan", "not a share of the device"},
        {"max_split_size_mb:32,large_segment_size_mb:50", "not a number of MiB from 50 on"},
        {"nothing", "'nothing' is not a setting of the form key:value"},
        {",backend:native", "'' is not a setting of the form key:value"},
        {"backend:native,,backend:native", "'' is not a setting of the form key:value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        struct tp_err err = {0};
        assert_int_equal(tp_torch_conf(&rules, bad[i][0], &err), TP_EUSAGE);
        if (!strstr(err.text, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.text);
    }
}

/* Where releases differ, and what is no version. */
TEST(the_rules_of_older_releases)
{
    static const struct {
        const char *version;
        uint64_t at_512, at_1024, rest;
    } cases[] = {{"2.14", 1, 4, 20 * MIB},
                 {"2.11", 1, 4, 20 * MIB},
                 {"2.10.0", 1, 4, 30 * MIB},
                 {"2.9.1+cu128", 4, 4, 30 * MIB},
                 {"1.13", 4, 4, 30 * MIB}};
    static const char *const bad[] = {"", "2", "two", "2.x", "2.9x"};
    struct tp_err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        assert_int_equal(tp_torch_version(&rules, cases[i].version, &err), TP_OK);
        assert_int_equal(tp_torch_conf(&rules, "max_non_split_rounding_mb:30", &err), TP_OK);
        assert_int_equal(tp_torch_conf(&rules, "roundup_power2_divisions:[512:1,>:4]", &err),
                         TP_OK);
        assert_int_equal(rules.divisions[9], cases[i].at_512);
        assert_int_equal(rules.divisions[10], cases[i].at_1024);
        assert_int_equal(rules.oversize_rest, cases[i].rest);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        assert_int_equal(tp_torch_version(&rules, bad[i], &err), TP_EUSAGE);
    }
    rig_end(open_torch("version=2.9,conf={roundup_power2_divisions:[512:1,>:4]}"));
}

/* Above the share of the device nothing is freed for a request: it fails, and what is cached stays.
 */
TEST(a_request_above_the_share_is_rejected)
{
    static const char *const confs[] = {
        "conf=per_process_memory_fraction:0.5",
        "conf={per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True}"};
    for (int rejects = 0; rejects < 2; rejects++) {
        struct rig *r = open_limited(confs[rejects], "capacity=100MiB");
        tp_addr a = get(r, 0, 30 * MIB);
        put(r, 0, a, 30 * MIB);
        struct tp_block b;
        const struct tp_req rq = {.size = 40 * MIB, .align = 1};
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), rejects ? TP_EOOM : TP_OK);
        assert_int_equal(reserved(r), (rejects ? 30 : 40) * MIB);
        if (!rejects)
            put(r, 0, b.addr, 40 * MIB);
        rig_check(r);
        rig_end(r);
    }
}

/* A request from a pool without splitting takes the whole segment, or the whole free block. */
TEST_OPENED(a_pool_without_splitting, open_torch("no_split=0.1,no_split=3.0"))
{
    const uint64_t pools[] = {tp_pool_number(0, 1), tp_pool_number(0, 2), 0};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tp_torch_choose_pool(r->st, pools[i]), TP_OK);
        tp_addr a = get(r, 0, 4 * MIB), b = get(r, 0, 4 * MIB);
        if (i)
            assert_int_equal(b, a + 4 * MIB);
        else
            assert_int_equal(reserved(r), 40 * MIB);
        put(r, 0, a, 4 * MIB);
        struct tp_block again = get_block(r, 0, 3 * MIB);
        assert_int_equal(again.addr, a);
        assert_int_equal(again.allocated, (i ? 4 : 20) * MIB);
    }
    assert_int_equal(tp_torch_choose_pool(r->st, 0), TP_OK);
}

static void keeps(const char *text, const char *wanted)
{
    struct tp_str kept = {0};
    tp_torch_conf_kept(text, &kept);
    assert_string_equal(tp_str_text(&kept), wanted);
    tp_str_drop(&kept);
}

/* What decides nothing here stays set where another setting is advised. */
TEST(what_a_new_text_keeps)
{
    keeps("", "");
    keeps("max_split_size_mb:64,expandable_segments:True", "");
    keeps("pinned_num_register_threads:8,max_split_size_mb:64,a_key:[1:2,>:3]",
          "pinned_num_register_threads:8,a_key:[1:2,>:3]");
    keeps("graph_capture_record_stream_reuse:True", "graph_capture_record_stream_reuse:True");
    keeps("pinned_num_register_threads:8,no setting", "");
}

/* large_segment_size_mb came with the release in which a text without max_non_split_rounding_mb
 * sets that one. */
TEST(a_key_of_a_newer_release)
{
    struct tp_torch_rules old = tp_torch_rules_named(NULL, "2.9");
    assert_int_equal(tp_torch_conf(&old, "large_segment_size_mb:64", NULL), TP_OK);
    assert_int_equal(old.oversize_rest, 64 * MIB);
    old = tp_torch_rules_named("npu", "2.x");
    assert_int_equal(old.extra, 32);
    assert_true(old.rest_follows);
    assert_true(tp_torch_is_before("2.9", 2, 10));
    assert_false(tp_torch_is_before("2.10+cu130", 2, 10));
    assert_false(tp_torch_is_before(NULL, 2, 10));
    assert_false(tp_torch_is_before("two", 2, 10));
}

/* A pool that is to be used where the device is full serves then: before anything is given back, or
 * in older releases after all is. */
TEST(a_pool_for_a_full_device)
{
    static const char *const confs[] = {"use_on_oom=0.1", "use_on_oom=0.1,version=2.10", ""};
    for (size_t i = 0; i < 3; i++) {
        struct rig *r = open_limited(confs[i], "capacity=100MiB");
        assert_int_equal(tp_torch_choose_pool(r->st, tp_pool_number(0, 1)), TP_OK);
        tp_addr spare = get(r, 0, 40 * MIB);
        put(r, 0, spare, 40 * MIB);
        assert_int_equal(tp_torch_choose_pool(r->st, 0), TP_OK);
        tp_addr first = get(r, 0, 30 * MIB);
        put(r, 0, first, 30 * MIB);
        tp_addr second = get(r, 0, 32 * MIB); /* 70 MiB are held */
        assert_int_equal(second == spare, i == 0);
        assert_int_equal(reserved(r), (i ? 72 : 70) * MIB);
        struct tp_block b = {0};
        const struct tp_req rq = {.size = 36 * MIB, .align = 1};
        int rc = r->s->alloc(r->st, r->threads[0], &rq, &b);
        assert_int_equal(rc, i == 2 ? TP_EOOM : TP_OK);
        assert_int_equal(b.addr == spare, i == 1);
        assert_int_equal(reserved(r), (i ? 72 : 76) * MIB);
        rig_check(r);
        if (!rc)
            put(r, 0, b.addr, 36 * MIB);
        put(r, 0, second, 32 * MIB);
        rig_end(r);
    }
}

/* Where a larger block of the pool serves, the rest stays the pool's; other pools do not use it. */
TEST_OPENED(a_spare_block_is_split, open_limited("use_on_oom=0.1", "capacity=100MiB"))
{
    assert_int_equal(tp_torch_choose_pool(r->st, tp_pool_number(0, 1)), TP_OK);
    tp_addr spare = get(r, 0, 80 * MIB);
    put(r, 0, spare, 80 * MIB);
    assert_int_equal(tp_torch_choose_pool(r->st, tp_pool_number(0, 2)), TP_OK);
    struct tp_block b = {0};
    const struct tp_req rq = {.size = 30 * MIB, .align = 1};
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_EOOM);
    assert_int_equal(tp_torch_choose_pool(r->st, 0), TP_OK);
    assert_int_equal(get(r, 0, 30 * MIB), spare);
    assert_int_equal(get(r, 0, 30 * MIB), spare + 30 * MIB);
    assert_int_equal(reserved(r), 80 * MIB);
    assert_int_equal(tp_torch_choose_pool(r->st, tp_pool_number(0, 1)), TP_OK);
    assert_int_equal(get(r, 0, 20 * MIB), spare + 60 * MIB);
    assert_int_equal(tp_torch_choose_pool(r->st, 0), TP_OK);
    rig_check(r);
    put(r, 0, spare, 30 * MIB);
    put(r, 0, spare + 30 * MIB, 30 * MIB);
    put(r, 0, spare + 60 * MIB, 20 * MIB);
    rig_check(r);
}

/* What PyTorch's parser puts back at each call, and what it keeps. */
TEST(a_second_text_resets_some_keys)
{
    struct tp_torch_rules rules = tp_torch_defaults;
    assert_int_equal(
        tp_torch_conf(&rules,
                      "max_split_size_mb:40,roundup_power2_divisions:4,expandable_segments:True,"
                      "garbage_collection_threshold:0.5,large_segment_size_mb:30",
                      NULL),
        TP_OK);
    assert_int_equal(tp_torch_conf(&rules, "max_split_size_mb:64", NULL), TP_OK);
    assert_int_equal(rules.split_limit, 64 * MIB);
    assert_memory_equal(rules.divisions, tp_torch_defaults.divisions, sizeof rules.divisions);
    assert_true(rules.collect_above == 0);
    assert_true(rules.expandable);
    assert_int_equal(rules.large_segment, 30 * MIB);
    assert_int_equal(tp_torch_conf(&rules, "expandable_segments:False", NULL), TP_OK);
    assert_int_equal(rules.split_limit, TP_TORCH_NO_SPLIT_LIMIT);
    assert_false(rules.expandable);
}

/* torch_npu: 32 bytes more for each request, and a setting of its own. */
TEST(the_rules_of_other_devices)
{
    struct tp_torch_rules npu = tp_torch_rules_for(tp_torch_device("npu"));
    struct tp_torch_rules xpu = tp_torch_rules_for(tp_torch_device("xpu"));
    struct tp_err err = {0};
    const uint64_t sizes[][2] = {{1, 512},    {480, 512},      {481, 1024},
                                 {512, 1024}, {MIB - 32, MIB}, {MIB - 31, MIB + 512}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(tp_torch_rounded(&npu, sizes[i][0]), sizes[i][1]);
    assert_int_equal(tp_torch_rounded(&xpu, 512), 512);
    assert_ptr_equal(tp_torch_device(NULL), tp_torch_devices);
    assert_string_equal(tp_torch_device("gpu")->name, "cuda");
    assert_string_equal(tp_torch_device("npu")->variable, "PYTORCH_NPU_ALLOC_CONF");
    /* torch_npu ends a program that has both variables */
    assert_string_equal(tp_torch_variable("npu", "PYTORCH_ALLOC_CONF=a:1", NULL),
                        "PYTORCH_ALLOC_CONF");
    assert_string_equal(tp_torch_variable("npu", "PYTORCH_NPU_ALLOC_CONF=a:1", "2.14"),
                        "PYTORCH_NPU_ALLOC_CONF");
    assert_int_equal(tp_torch_conf(&npu, "pinned_mem_register:True", &err), TP_OK);
    assert_int_equal(tp_torch_conf(&xpu, "pinned_mem_register:True", &err), TP_EUSAGE);
    assert_int_equal(npu.base_grain, 16384);
    assert_int_equal(tp_torch_conf(&npu, "base_addr_aligned_kb:8", &err), TP_OK);
    assert_int_equal(npu.base_grain, 8192);
    assert_int_equal(tp_torch_conf(&npu, "page_size:1g", &err), TP_EUSAGE);
    assert_int_equal(tp_torch_conf(&npu, "throw_on_cudamalloc_oom:True", &err), TP_EUSAGE);
    assert_string_equal(err.text, "torch_npu has no setting 'throw_on_cudamalloc_oom'");
    assert_int_equal(tp_torch_conf(&npu, "expandable_segments:True", &err), TP_OK);
    assert_int_equal(tp_torch_conf(&npu, "expandable_segments:True,max_split_size_mb:64", &err),
                     TP_EUSAGE);
    assert_int_equal(tp_torch_conf(&npu, "max_split_size_mb:64", &err), TP_OK); /* a second text */
    assert_int_equal(tp_torch_conf(&npu, "expandable_segments:True", &err), TP_OK);
    assert_int_equal(tp_torch_conf(&xpu, "expandable_segments:True,max_split_size_mb:64", &err),
                     TP_OK);
    assert_int_equal(tp_torch_conf(&xpu, "base_addr_aligned_kb:8", &err), TP_EUSAGE);
    assert_int_equal(tp_torch_conf(&xpu, "max_split_size_mb:32", &err), TP_OK);
    assert_int_equal(xpu.split_limit, TP_TORCH_NO_SPLIT_LIMIT);
}

TEST(an_ascend_request_takes_32_bytes_more)
{
    replay(open_torch("allocator=npu"), "a=512 480@a+1K 1@a+1536");
    replay(open_torch(""), "a=512 480@a+512");
}

/* Where segments grow, torch_npu begins requests of 2 MiB at multiples of 16 KiB of the segment;
 * the bytes in front are free. */
REPLAYS(a_large_ascend_request_begins_at_16_kib,
        open_torch("allocator=npu,conf=expandable_segments:True"),
        "a=3M 3M@a+3088K 2M@a+6176K 2047K@a+8421888")

TEST(settings_that_are_not_simulated_are_refused)
{
    static const char *const unplayed[] = {"expandable_segments_reserve_by_class:[kv:40G,x:0.1]"};
    for (size_t i = 0; i < sizeof unplayed / sizeof *unplayed; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        struct tp_err err = {0};
        assert_int_equal(tp_torch_conf(&rules, unplayed[i], &err), TP_EUSAGE);
        assert_non_null(strstr(err.text, "is a setting that torch does not simulate"));
    }
}

TEST(settings_that_pytorch_takes_are_taken)
{
    static const char *const good[] = {
        "",
        "backend:native,",
        "\tbackend : native\n",
        "max_split_size_mb:20",
        "max_split_size_mb:50,large_segment_size_mb:50",
        "large_segment_size_mb:12,max_split_size_mb:12,max_non_split_rounding_mb:12",
        "max_split_size_mb:99999999999",
        "garbage_collection_threshold:0.999,per_process_memory_fraction:1.0",
        "release_lock_on_cudamalloc:True,release_lock_on_hipmalloc:False",
        "graph_capture_record_stream_reuse:True,throw_on_cudamalloc_oom:False",
        "pinned_use_cuda_host_register:True,pinned_use_hip_host_register:True",
        "pinned_num_register_threads:128,pinned_use_background_threads:False",
        "pinned_reserve_segment_size_mb:1,pinned_free_catch_all:True",
        "pinned_max_round_threshold_mb:64,pinned_max_cached_size_mb:64",
    };
    struct tp_torch_rules rules = tp_torch_defaults;
    struct tp_err err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        rules = tp_torch_defaults;
        if (tp_torch_conf(&rules, good[i], &err) != TP_OK)
            fail_msg("%s: %s", good[i], err.text);
    }
    assert_int_equal(tp_torch_conf(&rules, "max_split_size_mb:64MB", &err), TP_OK);
    assert_int_equal(rules.split_limit, 64 * MIB);
}

/* Of segments that have the limit's size the first serves one request; what is freed is whole again
 * and as large as the limit, which no smaller request gets. */
REPLAYS(a_split_limit_of_a_segment_keeps_whole_ones, open_torch("conf=max_split_size_mb:20"),
        "a=5M 4M@a+5M reserved=20M -a+5M:4M -a 5M reserved=40M")

TEST(recorded_settings_are_found)
{
    assert_string_equal(tp_torch_recorded("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64"),
                        "max_split_size_mb:64");
    assert_string_equal(tp_torch_recorded("PYTORCH_ALLOC_CONF is empty: defaults"), "");
    assert_string_equal(
        tp_torch_recorded("PYTORCH_CUDA_ALLOC_CONF is empty: defaults, expandable_segments off"),
        "");
    assert_string_equal(
        tp_torch_recorded("PYTORCH_CUDA_ALLOC_CONF is empty: defaults, expandable_segments on"),
        "expandable_segments:True");
    assert_string_equal(
        tp_torch_recorded("no setting is recorded: segments grow, so expandable_segments on"),
        "expandable_segments:True");
    assert_null(tp_torch_recorded("PYTORCH_CUDA_ALLOC_CONF is set to a long text"));
    assert_null(tp_torch_recorded(" is empty"));
    assert_null(tp_torch_recorded("=x"));
    assert_null(tp_torch_recorded(NULL));
}
