/* Every strategy on every source: the conformance suite (alloc/conformance), which tapool replays
 * too, and on what stands for a driver. A failure names case, seed and step.
 *
 * A strategy of the registry is replayed as it comes; for each further set of options worth having
 * there is a line in `chosen`. */
#include "alloc/conformance/conformance_gen.h"
#include "alloc/conformance/conformance_suite.h"
#include "cmd/jobs/catalog.h"
#include "tests/unit/async_source.h"
#include "tests/unit/conformance.h"
#include "tests/unit/fake_driver.h"
#include "tests/unit/property_planted.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static char planned_options[64]; /* with the file of write_plan */

static const struct tp_conformance_case chosen[] = {
    {&tp_strategy_direct, ""},
    {&tp_strategy_bump, ""},
    {&tp_strategy_bump, "auto_reset=no"},
    {&tp_strategy_bump, "size=100KB,on_full=grow,alignment=256"},
    {&tp_strategy_bump, "size=64KiB,on_full=fallback,alignment=8"},
    {&tp_strategy_bump, "size=4MiB,on_full=fail"},
    {&tp_strategy_arena, ""},
    {&tp_strategy_arena, "classes=coarse12,alignment=64"},
    {&tp_strategy_arena, "classes=coarse6,alignment=512,arena_size=1MiB"},
    {&tp_strategy_arena, "refill_target=0,local_cache_target=0"},
    {&tp_strategy_arena, "refill_target=300KB,local_cache_target=4KiB,first_range=1MiB"},
    {&tp_strategy_arena, "max_arenas=3"},
    {&tp_strategy_arena, "arena_size=64KiB,refill_target=64KiB,alignment=2048"},
    {&tp_strategy_lru, ""},
    {&tp_strategy_lru, "round=pow2"},
    {&tp_strategy_lru, "round=eighth,capacity_layouts=3,capacity_bytes=100KB"},
    {&tp_strategy_lru, "round=512,capacity_layouts=0,capacity_blocks=40"},
    {&tp_strategy_lru, "capacity_layouts=1,capacity_blocks=1"},
    {&tp_strategy_torch, ""},
    {&tp_strategy_torch, "conf=expandable_segments:True"},
    {&tp_strategy_torch, "conf={expandable_segments:True,max_split_size_mb:32}"},
    {&tp_strategy_torch_pinned, ""},
    {&tp_strategy_torch_pinned, "conf={pinned_max_cached_size_mb:0}"},
    {&tp_strategy_torch_pinned, "conf={pinned_max_round_threshold_mb:0}"},
    {&tp_strategy_torch_pinned, "conf={pinned_reserve_segment_size_mb:1}"},
    {&tp_strategy_bfc, ""},
    {&tp_strategy_bfc, "flavour=jax,allow_growth"},
    {&tp_strategy_bfc, "limit=3MiB,next_region=64KiB,allow_growth"},
    {&tp_strategy_bfc, "flavour=ort"},
    {&tp_strategy_bfc, "initial_chunk_size_bytes=64KiB,max_dead_bytes_per_chunk=1000"},
    {&tp_strategy_bfc, "arena_extend_strategy=kSameAsRequested"},
    {&tp_strategy_rmm_pool, ""},
    {&tp_strategy_rmm_pool, "initial_pool_size=1MiB"},
    {&tp_strategy_rmm_pool, "initial_pool_size=0,maximum_pool_size=3MiB"},
    {&tp_strategy_rmm_arena, ""},
    {&tp_strategy_rmm_arena, "arena_size=1MiB"},
    {&tp_strategy_rmm_arena, "arena_size=12MiB,size_classes"},
    {&tp_strategy_stitch, ""},
    {&tp_strategy_stitch, "chunk=4KiB,small_limit=0,frag_limit=0"},
    {&tp_strategy_stitch, "chunk=4KiB,small_limit=16KiB,frag_limit=64KiB,auto_gc=1MiB"},
    {&tp_strategy_stitch, "chunk=8KiB,small_limit=0,frag_limit=0,auto_gc=0,re_alloc=no"},
    {&tp_strategy_stitch, "chunk=4KiB,small_limit=0,frag_limit=0,defrag_level=1,reuse_limit=1"},
    {&tp_strategy_stitch, "chunk=16KiB,small_limit=0,frag_limit=0,defrag_level=2"},
    {&tp_strategy_planned, ""},
    {&tp_strategy_planned, planned_options},
    {&tp_strategy_stream_pool, ""},
    {&tp_strategy_stream_pool, "threshold=0"},
    {&tp_strategy_stream_pool, "threshold=200KB,round=pow2"},
    {&tp_strategy_stream_pool, "max_cached=20,round=eighth"},
    {&tp_strategy_stream_pool, "round=exact,cross_stream=never"},
    {&tp_strategy_cuda_malloc_async, "pool=own"},
    {&tp_strategy_cuda_malloc_async, ""},
    {&tp_strategy_cuda_malloc_async, "pool=own,max_size=2MiB,release_threshold=max"},
};
#define CHOSEN (sizeof chosen / sizeof chosen[0])

/* Those, and what the registry has beside them. */
static struct tp_conformance_case cases[CHOSEN + 32];
static size_t case_count;

static size_t strategy_count(void)
{
    size_t n = 0;
    while (tp_strategies[n])
        n++;
    return n;
}

static bool has_case(const struct tp_strategy *s)
{
    for (size_t c = 0; c < case_count; c++)
        if (cases[c].strategy == s)
            return true;
    return false;
}

static void find_cases(void)
{
    memcpy(cases, chosen, sizeof chosen);
    case_count = CHOSEN;
    for (size_t i = 0; tp_strategies[i]; i++)
        if (!has_case(tp_strategies[i])) {
            assert(case_count < sizeof cases / sizeof cases[0]);
            cases[case_count++] = (struct tp_conformance_case){tp_strategies[i], ""};
        }
}

/* ---- a plan ---- */

/* The requests of programs that are replayed on devices, each with a place, but with wrong ends and
 * on top of each other: planned gives those places that are free. */
static void write_plan(FILE *f)
{
    enum { STEPS = 200, ROWS = 4000 };
    static struct gen g;
    char rows[ROWS][64];
    unsigned count = 0;
    for (uint64_t seed = 20240613000; seed < 20240613006; seed++) {
        tp_gen_start(&g, seed, 300);
        for (unsigned i = 0; i < STEPS && count < ROWS; i++) {
            const struct tp_insn in = tp_gen_next(&g);
            if (in.op == TP_ALLOC && in.size < 1 << 20 && in.align_log2 < 16)
                snprintf(rows[count++], sizeof *rows, "%u %" PRIu64 " %u", (unsigned)in.stream,
                         in.size, 1u << in.align_log2);
        }
    }
    fprintf(f, "tapool plan 1\n");
    for (unsigned i = 0; i < GEN_STREAMS; i++)
        fprintf(f, "stream %u 8388608\n", i);
    fprintf(f, "requests %u\n", count);
    for (unsigned i = 0; i < count; i++)
        fprintf(f, "%s %u %u\n", rows[i], i + 2, i % 7 * (1 << 20));
    assert_true(count > 100);
}

static void make_plan(char *path)
{
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(f);
    write_plan(f);
    assert_int_equal(fclose(f), 0);
    snprintf(planned_options, sizeof planned_options, "plan=%s", path);
}

/* Places that need a driver, or what stands for one, beside those of every machine. */
#define BOTH (TP_CONFORM_RANDOM | TP_CONFORM_FULL)

static const struct tp_conformance_place more_places[] = {
    {.name = "a pool's double, 4 streams",
     .base = &async_double,
     .kind = TP_KIND_DEVICE,
     .streams = 4,
     .checks = BOTH | TP_CONFORM_GETS | TP_CONFORM_META | TP_CONFORM_OPTIONS,
     .nth = 5,
     .pool_only = true,
     .complaint = async_complaint},
    {.name = "cuda, 1 stream",
     .base = &tp_source_cuda,
     .kind = TP_KIND_DEVICE,
     .streams = 1,
     .checks = TP_CONFORM_RANDOM,
     .nth = 6,
     .slow = true,
     .complaint = fake_driver_complaint,
     .passes = fake_driver_passes},
    {.name = "cuda, 4 streams",
     .base = &tp_source_cuda,
     .kind = TP_KIND_DEVICE,
     .streams = 4,
     .checks = BOTH | TP_CONFORM_GETS,
     .nth = 7,
     .slow = true,
     .complaint = fake_driver_complaint,
     .passes = fake_driver_passes},
    {.name = "shuffle over cuda, 4 streams", /* a decoy that is kept can lie in another page */
     .base = &tp_source_cuda,
     .kind = TP_KIND_DEVICE,
     .shuffle = true,
     .streams = 4,
     .checks = BOTH,
     .nth = 8,
     .slow = true,
     .scattered = true,
     .complaint = fake_driver_complaint,
     .passes = fake_driver_passes},
    {.name = NULL}};

/* Checks that are replayed once for each strategy, and not for each set of options. */
#define ONCE TP_CONFORM_OPTIONS

/* Failing calls of the driver are replayed once for each strategy that waits for streams. */
static bool is_wanted(const struct tp_conformance_check *check, size_t c,
                      const struct tp_conformance_place *on)
{
    const bool first = !c || cases[c].strategy != cases[c - 1].strategy;
    if (on->base != &tp_source_cuda)
        return first || !(check->bit & ONCE);
    if (!fake_driver_ready())
        return false;
    return check->bit != TP_CONFORM_GETS || (first && cases[c].strategy->caps & TP_CAP_STREAMS);
}

static unsigned replay_on(const struct tp_conformance_check *check,
                          const struct tp_conformance_place *places)
{
    unsigned replayed = 0;
    for (size_t c = 0; c < case_count; c++)
        for (const struct tp_conformance_place *on = places; on->name; on++) {
            struct tp_err err;
            if (!is_wanted(check, c, on) || !tp_conformance_replays(check, &cases[c], on))
                continue;
            print_message("  %s:%s on %s\n", cases[c].strategy->name, cases[c].options, on->name);
            if (check->run(&cases[c], on, &err))
                fail_msg("%s", err.text);
            replayed++;
        }
    return replayed;
}

/* The check whose row is the state, of every case on every place. */
static void every_case_passes(void **state)
{
    const struct tp_conformance_check *check = *state;
    const size_t all = check->bit & ONCE ? strategy_count() : case_count;
    assert_true(replay_on(check, tp_conformance_places) >= all / 2);
    replay_on(check, more_places);
}

static void the_device_was_kept_busy(void **state)
{
    (void)state;
    assert_true(!fake_driver_is_fake() || fake_driver()->works > 10000);
}

static void tables_are_sound(void **state)
{
    (void)state;
    struct tp_err err;
    const struct tp_strategy *own[] = {&tp_strategy_empty, &planted_strategy};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (tp_strategy_check(own[i], &err))
            fail_msg("%s", err.text);
    for (size_t i = 0; tp_strategies[i]; i++) {
        const struct tp_strategy *s = tp_strategies[i];
        if (tp_strategy_check(s, &err))
            fail_msg("%s", err.text);
        assert_true(s->summary && s->resembles && s->to_use);
    }
    const struct tp_source_ops *ops[] = {&tp_source_host,  &tp_source_virtual, &tp_source_meter,
                                         &tp_source_limit, &tp_source_fault,   &tp_source_shuffle};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (tp_source_check(ops[i], &err))
            fail_msg("%s", err.text);
}

/* What is in the registry is tested here. */
static void every_strategy_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; tp_strategies[i]; i++) {
        if (!has_case(tp_strategies[i]))
            fail_msg("strategy '%s' is not replayed", tp_strategies[i]->name);
    }
}

/* ---- the check of options ---- */

/* Options of every type that has words, one of them bare, and numbers, which have none. */
struct worded_opts {
    uint32_t choice, set;
    uint64_t size, count;
    bool flag;
};

static const char *const worded_words[] = {"one", "two", "three", NULL};

static const struct tp_opt worded_rows[] = {
    TP_CHOICE_ROW(struct worded_opts, choice, .def = "two", .choices = worded_words, .arg = "HOW",
                  .help = "bare", .bare = true),
    TP_FLAG_ROW(struct worded_opts, flag, .def = "yes", .help = "a flag"),
    TP_SIZE_ROW(struct worded_opts, size, .def = "7", .choices = worded_words, .help = "a keyword"),
    TP_SET_AT("set", offsetof(struct worded_opts, set), .choices = worded_words, .help = "a set"),
    TP_UINT_ROW(struct worded_opts, count, .def = "3", .help = "a number"),
    {.name = NULL}};

static struct {
    unsigned replayed[4]
                     [4]; /* by row, then by word; flag: no, yes; size and set: the last is none */
    unsigned inits;
} worded;

static int worded_init(void *state, const struct tp_env *env, const void *opts, struct tp_err *why)
{
    const struct worded_opts *o = opts;
    const uint64_t size = UINT64_MAX - o->size;
    worded.inits++;
    worded.replayed[0][o->choice]++;
    worded.replayed[1][o->flag]++;
    worded.replayed[2][size < 3 ? size : 3]++;
    worded.replayed[3][o->set ? __builtin_ctz(o->set) : 3]++;
    assert_int_equal(o->count, 3);
    return tp_strategy_direct.init(state, env, NULL, why);
}

/* Eleven words: of each row those that are not its default come once, and the others stay as they
 * are meanwhile. */
static void each_word_of_each_option_is_replayed(void **state)
{
    (void)state;
    struct tp_strategy s = tp_strategy_direct;
    const struct tp_conformance_case c = {&s, NULL};
    struct tp_err err;
    s.options = worded_rows;
    s.opts_size = sizeof(struct worded_opts);
    s.init = worded_init;
    for (const struct tp_conformance_check *check = tp_conformance_checks; check->name; check++)
        if (check->bit == TP_CONFORM_OPTIONS && check->run(&c, &tp_conformance_places[0], &err))
            fail_msg("%s", err.text);
    const unsigned want[4][4] = {{1, 9, 1, 0}, {1, 10, 0, 0}, {1, 1, 1, 8}, {1, 1, 1, 8}};
    assert_int_equal(worded.inits, 11);
    assert_memory_equal(worded.replayed, want, sizeof want);
}

/* All that is planted are choices of an option. */
static void a_choice_that_breaks_the_contract_is_named(void **state)
{
    (void)state;
    const struct tp_conformance_case c = {&planted_strategy, ""};
    struct tp_err err = {0};
    for (const struct tp_conformance_check *check = tp_conformance_checks; check->name; check++)
        if (check->bit == TP_CONFORM_OPTIONS)
            assert_int_equal(check->run(&c, &tp_conformance_places[0], &err), TP_EBROKEN);
    if (strncmp(err.text, "with bug=overlap: seed ", 23) != 0)
        fail_msg("%s", err.text);
}

enum { CHECKS_MAX = 16 };

int main(void)
{
    struct CMUnitTest tests[CHECKS_MAX] = {
        cmocka_unit_test(tables_are_sound), cmocka_unit_test(every_strategy_has_a_case),
        cmocka_unit_test(each_word_of_each_option_is_replayed),
        cmocka_unit_test(a_choice_that_breaks_the_contract_is_named)};
    char plan[] = "/tmp/tapool-plan-XXXXXX";
    size_t count = 4;
    make_plan(plan);
    find_cases();
    for (const struct tp_conformance_check *check = tp_conformance_checks; check->name; check++) {
        assert(count < CHECKS_MAX - 1);
        if (check->bit == TP_CONFORM_THREADS) /* test_threads replays it */
            continue;
        tests[count++] = (struct CMUnitTest){check->name, every_case_passes, NULL, NULL,
                                             (void *)(uintptr_t)check};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(the_device_was_kept_busy);
    int failed = _cmocka_run_group_tests("conformance", tests, count, NULL, NULL);
    unlink(plan);
    return failed;
}
