/* What would help, where the answer is known: traces are made so that one remedy does. */
#include "cmd/pages/remedies.h"

#include "cmd/jobs/libraries.h"
#include "tests/unit/resident_rig.h"

#include <unistd.h>

#define BUDGET_NS UINT64_C(60000000000)

enum { BLOCK = 1000, MAX_INSNS = 80000 };

static struct tp_insn insns[MAX_INSNS];
static uint64_t places[MAX_INSNS];
static size_t count, place_count;
static struct tp_program *program;
static struct tp_remedies found;

static void add(struct tp_insn insn)
{
    assert_true(count < MAX_INSNS);
    insns[count++] = insn;
}

static void take(uint32_t slot, uint16_t thread)
{
    add((struct tp_insn){
        .op = TP_ALLOC, .align_log2 = 4, .slot = slot, .size = BLOCK, .thread = thread});
}

static void give(uint32_t slot, uint16_t thread)
{
    add((struct tp_insn){
        .op = TP_FREE, .align_log2 = 4, .slot = slot, .size = BLOCK, .thread = thread});
}

/* Fills `parts` with what the base leaves at the end. */
static int replay_once(const struct tp_page_job *job, struct tp_page_parts *parts, uint64_t *start)
{
    const struct tp_page_asked asked = {.count = 1, .events = {count}};
    struct tp_page_replay r;
    int status = tp_page_replay(job, "glibc", &asked, &r, &err);
    if (!status)
        *parts = r.lists.lists[0].head.parts;
    *start = r.start;
    tp_page_replay_release(&r);
    return status;
}

static void find(uint64_t budget_ns)
{
    if (TP_SANITIZED)
        skip(); /* its malloc is not the C library's */
    const struct tp_remedy_site site = {"node.c:7 keep", places, place_count};
    struct tp_page_parts parts;
    uint64_t start;
    program = test_program(insns, count, true);
    const struct tp_page_job job = {.program = program};
    int status = replay_once(&job, &parts, &start);
    if (status == TP_EUNSUP) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    if (status)
        fail_msg("%s", err.text);
    const struct tp_remedies_cfg cfg = {.job = &job,
                                        .strategy = "glibc",
                                        .event = count,
                                        .parts = &parts,
                                        .start = start,
                                        .sites = &site,
                                        .site_count = place_count > 0,
                                        .budget_ns = budget_ns};
    if (tp_remedies_find(&cfg, &found, &err))
        fail_msg("%s", err.text);
}

static int begin(void **state)
{
    count = place_count = 0;
    found = (struct tp_remedies){.count = 0};
    return setup(state);
}

static int end(void **state)
{
    tp_remedies_release(&found);
    tp_program_release(program);
    program = NULL;
    return teardown(state);
}

static const struct tp_remedy *row(const char *what)
{
    for (size_t i = 0; i < found.count; i++)
        if (!strcmp(found.rows[i].what, what)) {
            assert_true(found.rows[i].replays > 0);
            return &found.rows[i];
        }
    fail_msg("there is no row '%s'", what);
    return NULL;
}

/* 20 sites take turns; what one of them keeps lies on every fourth page. */
static void make_survivors(void)
{
    enum { BLOCKS = 16000, EVERY = 16 };
    for (uint32_t i = 0; i < BLOCKS; i++) {
        take(i, 0);
        if (i % EVERY == 7)
            places[place_count++] = count;
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        if (i % EVERY != 7)
            give(i, 0);
}

TEST_WITH(a_site_that_keeps_every_fourth_page_has_a_region_of_its_own, begin, end)
{
    make_survivors();
    find(BUDGET_NS);
    const struct tp_remedy *apart = row("own region: node.c:7 keep");
    const struct tp_remedy *purge = row("malloc_trim(0)");
    uint64_t partly = found.base.parts.partly_free;
    assert_true(partly > 2 * MIB);
    assert_true(apart->parts.partly_free + apart->region.partly_free < partly / 10);
    assert_true(apart->region.live == place_count * BLOCK && apart->parts.live == 0);
    assert_true(apart->resident + partly < found.base.resident);
    /* the purge gives back the pages between */
    assert_true(found.base.parts.free_pages > 2 * partly);
    assert_true(purge->parts.free_pages < partly / 10 && purge->parts.partly_free > partly / 2);
    assert_true(purge->resident + 2 * partly < found.base.resident);
    assert_true(&found.rows[0] == apart && &found.rows[1] == purge);
    assert_int_equal(found.left_out, 0);
}

TEST_WITH(eight_threads_that_free_what_they_took_want_one_arena, begin, end)
{
    enum { THREADS = 8, BLOCKS = 4000 };
    for (uint16_t t = 0; t < THREADS; t++) {
        for (uint32_t i = 0; i < BLOCKS; i++)
            take(t + i, t);
        for (uint32_t i = 1; i < BLOCKS; i++)
            give(t + i, t);
    }
    find(BUDGET_NS);
    const struct tp_remedy *one = row("MALLOC_ARENA_MAX=1"), *two = row("MALLOC_ARENA_MAX=2");
    assert_true(one->high < found.base.low / 2);
    assert_true(one->resident < two->resident);
}

/* Free pages that a library keeps for a while are no reason against it. */
TEST_WITH(another_library_is_tried_with_pages_given_back_at_once, begin, end)
{
    char path[TP_LIBRARY_PATH];
    make_survivors();
    find(BUDGET_NS);
    if (tp_library_find("jemalloc", path, NULL))
        skip();
    const struct tp_remedy *eager = row("jemalloc with MALLOC_CONF=dirty_decay_ms:0");
    assert_true(eager->kind == TP_REMEDY_LIBRARY);
    assert_true(eager->parts.free_pages < found.base.parts.free_pages / 4);
}

TEST_WITH(without_time_only_the_purge_is_tried, begin, end)
{
    make_survivors();
    find(0);
    assert_int_equal(found.count, 1);
    assert_true(found.rows[0].kind == TP_REMEDY_PURGE && found.left_out > 4);
}
