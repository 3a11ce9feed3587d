/* Who holds the memory at the peak: exact where all blocks have places, and where a share has one,
 * an estimate that adds up to what is known. */
#include "tests/unit/trace_fixture.h"

#include "traces/places/place_table.h"
#include "traces/places/sites.h"

static const struct tp_sites_cfg peak = {.at = TP_AT_PEAK};

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

/* Reads lines of events; the table of their places is `t`, if it is given. */
static struct tp_sites *find_as(const char *events, struct tp_place_sampling sampling, bool stacks,
                                const struct tp_sites_cfg *cfg)
{
    static char text[1 << 16];
    snprintf(text, sizeof text, "{\"format\":\"tapool-trace\",\"version\":1}\n%s", events);
    struct reading r = read_text(&tp_format_jsonl, text, true);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    struct tp_trace trace = {.program = r.program, .places = r.places};
    struct tp_sites *h = NULL;
    struct tp_place_table *t = r.places.ctx;
    if (t)
        tp_place_table_sample(t, sampling);
    if (stacks) { /* of event 3: "b" called by "m" */
        uint32_t b = 0, m = 0, stack = 0;
        tp_place_table_text(t, "b", 1, &b, NULL);
        tp_place_table_text(t, "m", 1, &m, NULL);
        tp_place_table_call(t, m, 0, &stack, NULL);
        tp_place_table_call(t, b, stack, &stack, NULL);
        tp_place_table_set_stack(t, 3, stack, NULL);
    }
    assert_int_equal(tp_sites_find(&trace, 0, cfg, never, &h, NULL), TP_OK);
    forget(&r);
    return h;
}

static struct tp_sites *find(const char *events, struct tp_place_sampling sampling, bool stacks)
{
    return find_as(events, sampling, stacks, &peak);
}

static void expect(const struct tp_site *row, const char *place, double bytes, uint64_t blocks)
{
    assert_string_equal(row->place, place);
    if (row->bytes < bytes - 0.01 || row->bytes > bytes + 0.01)
        fail_msg("%s: %g instead of %g", place, row->bytes, bytes);
    assert_int_equal(row->blocks, blocks);
}

#define ALLOC(id, size, place)                                                                     \
    "{\"op\":\"alloc\",\"id\":" #id ",\"size\":" #size ",\"place\":\"" place "\"}\n"
#define PLAIN(id, size) "{\"op\":\"alloc\",\"id\":" #id ",\"size\":" #size "}\n"
#define FREE(id)        "{\"op\":\"free\",\"id\":" #id "}\n"

/* What is freed before the peak, or comes after it, holds nothing; a realloc takes the block over.
 */
TEST(exact)
{
    struct tp_sites *h = find(
        ALLOC(1, 5000, "gone") FREE(1) ALLOC(2, 100, "a") ALLOC(3, 300, "b") PLAIN(4, 50)
            ALLOC(5, 200, "a") ALLOC(
                6, 10, "c") "{\"op\":\"realloc\",\"id\":6,\"size\":8000,\"place\":\"d\"}\n" FREE(5)
                ALLOC(7, 100, "late"),
        (struct tp_place_sampling){0}, false);
    assert_non_null(h);
    assert_false(h->estimated);
    assert_fields(*h, bytes, 8650, count, 3);
    expect(&h->rows[0], "d", 8000, 1);
    expect(&h->rows[1], "a", 300, 2);
    expect(&h->rows[2], "b", 300, 1);
    assert_int_equal((uint64_t)h->unknown, 50);
    assert_int_equal(h->rows[0].caller_count, 0);
    tp_sites_free(h);
}

/* Of the class 64 to 127, 400 bytes live and 200 have places: each stands for two. Of 32 to 63 none
 * has one. From 1,000 bytes on, what has a place stands for itself. */
TEST(estimated)
{
    struct tp_sites *h = find(ALLOC(1, 100, "a") PLAIN(2, 100) ALLOC(3, 100, "b") PLAIN(4, 100)
                                  PLAIN(5, 40) ALLOC(6, 1000, "b") PLAIN(7, 1010),
                              (struct tp_place_sampling){.size = 1000, .every = 10}, false);
    assert_non_null(h);
    assert_true(h->estimated);
    assert_fields(*h, bytes, 2450, count, 2);
    expect(&h->rows[0], "b", 1200, 2);
    expect(&h->rows[1], "a", 200, 1);
    assert_int_equal((uint64_t)h->unknown, 1050);
    tp_sites_free(h);
}

TEST(callers)
{
    struct tp_sites *h =
        find(ALLOC(1, 100, "a") PLAIN(2, 10) PLAIN(3, 300), (struct tp_place_sampling){0}, true);
    assert_non_null(h);
    assert_int_equal(h->count, 2);
    expect(&h->rows[0], "b", 300, 1);
    assert_int_equal(h->rows[0].caller_count, 1);
    assert_string_equal(h->rows[0].callers[0].place, "m");
    assert_true(h->rows[0].callers[0].bytes > 299);
    assert_int_equal(h->rows[1].caller_count, 0);
    tp_sites_free(h);
}

/* Four callers of one place, none of more than half: the three largest. Of two, one has more. */
TEST(no_caller_of_most)
{
    static const char *const names[] = {"p", "q", "r", "s"};
    struct reading r = read_text(&tp_format_jsonl,
                                 "{\"format\":\"tapool-trace\",\"version\":1}\n" PLAIN(1, 50)
                                     PLAIN(2, 400) PLAIN(3, 100) PLAIN(4, 300) ALLOC(5, 1, "x"),
                                 true);
    struct tp_trace trace = {.program = r.program, .places = r.places};
    struct tp_place_table *t = NULL;
    struct tp_sites *h = NULL;
    assert_int_equal(tp_place_table_new(&t, NULL), TP_OK);
    tp_place_table_free(trace.places.ctx);
    trace.places.ctx = r.places.ctx = t;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t text = 0, caller = 0, stack = 0;
        tp_place_table_text(t, "buf_new", 7, &text, NULL);
        tp_place_table_text(t, names[i], 1, &caller, NULL);
        tp_place_table_call(t, caller, 0, &stack, NULL);
        tp_place_table_call(t, text, stack, &stack, NULL);
        tp_place_table_set_stack(t, i + 1, stack, NULL);
    }
    assert_int_equal(tp_sites_find(&trace, 0, &peak, never, &h, NULL), TP_OK);
    forget(&r);
    const struct tp_site *row = &h->rows[0];
    expect(row, "buf_new", 850, 4);
    assert_fields(*row, caller_count, 0, largest_count, 3);
    assert_string_equal(row->largest[0].place, "q");
    assert_string_equal(row->largest[1].place, "s");
    assert_string_equal(row->largest[2].place, "r");
    assert_int_equal((int)row->largest[1].bytes, 300);
    tp_sites_free(h);
}

TEST(none)
{
    assert_null(find(PLAIN(1, 100), (struct tp_place_sampling){0}, false));
    assert_null(
        find(ALLOC(1, 100, "a") FREE(1) PLAIN(2, 500), (struct tp_place_sampling){0}, false));
}

#define MARK(name) "{\"op\":\"mark\",\"name\":\"" name "\"}\n"

/* Event 6 frees what is largest; what comes behind the event does not count. */
TEST(at_an_event)
{
    static const char events[] = ALLOC(1, 5000, "gone") ALLOC(2, 100, "a") ALLOC(3, 300, "b")
        ALLOC(4, 200, "a") ALLOC(5, 7, "c") FREE(1) ALLOC(6, 9000, "late");
    const struct tp_place_sampling all = {0};
    struct tp_sites *h = find_as(events, all, false, &(struct tp_sites_cfg){.at = 6});
    assert_fields(*h, bytes, 607, blocks, 4, count, 3);
    expect(&h->rows[0], "a", 300, 2);
    assert_int_equal(h->rows[0].youngest, 2); /* events, as there are no times */
    assert_int_equal(h->rows[0].oldest, 4);
    expect(&h->rows[2], "c", 7, 1);
    tp_sites_free(h);
    h = find_as(events, all, false, &(struct tp_sites_cfg){.at = 1});
    assert_int_equal(h->bytes, 5000);
    tp_sites_free(h);
    assert_null(find_as(events, all, false, &(struct tp_sites_cfg){.at = 0}));
}

TEST(by_phase_age_and_size)
{
    static const char events[] = PLAIN(1, 64) MARK("load") PLAIN(2, 127) PLAIN(3, 128) MARK("run")
        PLAIN(4, 1) MARK("load") PLAIN(5, 40) MARK("(none)") PLAIN(6, 1000) MARK("end");
    const struct tp_place_sampling all = {0};
    struct tp_sites *h =
        find_as(events, all, false, &(struct tp_sites_cfg){.at = 99, .by = TP_BY_PHASE});
    assert_int_equal(h->count, 2);
    expect(&h->rows[0], "load", 295, 3);
    expect(&h->rows[1], "run", 1, 1);
    assert_int_equal((uint64_t)h->unknown, 1064); /* in none */
    tp_sites_free(h);
    h = find_as(events, all, false, &(struct tp_sites_cfg){.at = 99, .by = TP_BY_SIZE});
    assert_int_equal(h->count, 5);
    expect(&h->rows[0], "512 B to 1 KiB", 1000, 1);
    expect(&h->rows[1], "64 B to 128 B", 191, 2);
    expect(&h->rows[2], "128 B to 256 B", 128, 1);
    expect(&h->rows[4], "1 B to 2 B", 1, 1);
    assert_int_equal((uint64_t)h->unknown, 0);
    tp_sites_free(h);
    h = find_as(events, all, false, &(struct tp_sites_cfg){.at = 99, .by = TP_BY_AGE});
    assert_int_equal(h->count, 2); /* 11 events: the first block is older than 10 */
    expect(&h->rows[0], "of the last 10 events", 1296, 5);
    expect(&h->rows[1], "of the last 100 events", 64, 1);
    tp_sites_free(h);
}

/* With two places the callers tell rows apart; the stacks hold what their rows do. */
TEST(by_two_places)
{
    static const char events[] = ALLOC(1, 100, "b") PLAIN(2, 10) PLAIN(3, 300);
    struct tp_sites *h = find_as(events, (struct tp_place_sampling){0}, true,
                                 &(struct tp_sites_cfg){.at = TP_AT_PEAK, .depth = 2});
    assert_int_equal(h->count, 2);
    expect(&h->rows[0], "b < m", 300, 1);
    assert_int_equal(h->rows[0].caller_count, 0);
    expect(&h->rows[1], "b", 100, 1);
    double stacks = 0;
    for (uint32_t i = 0; i < tp_place_table_stacks(h->table); i++)
        stacks += h->stack_bytes[i];
    assert_int_equal((uint64_t)stacks, 300);
    tp_sites_free(h);
    h = find_as(events, (struct tp_place_sampling){0}, true, &peak);
    assert_int_equal(h->count, 1);
    expect(&h->rows[0], "b", 400, 2);
    tp_sites_free(h);
}
