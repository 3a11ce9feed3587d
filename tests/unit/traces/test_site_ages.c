/* Lifetimes by allocation site: medians, what is live at a moment, and which sites only grow. */
#include "tests/unit/trace_fixture.h"

#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/places/place_table.h"
#include "traces/places/site_ages.h"
#include "traces/places/sites.h"

static const struct tp_sites_cfg at_end = {.at = INT64_MAX};

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

static struct reading read_events(const char *events, struct tp_place_sampling sampling)
{
    struct tp_str text = {0};
    tp_str_add(&text, "{\"format\":\"tapool-trace\",\"version\":1}\n%s", events);
    struct reading r = read_text(&tp_format_jsonl, tp_str_text(&text), true);
    tp_str_drop(&text);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    if (sampling.every)
        tp_place_table_sample(r.places.ctx, sampling);
    return r;
}

static struct tp_site_ages *find_sampled(const char *events, const struct tp_sites_cfg *cfg,
                                         struct tp_place_sampling sampling)
{
    struct reading r = read_events(events, sampling);
    const struct tp_trace trace = {.program = r.program, .places = r.places};
    struct tp_site_ages *a = NULL;
    assert_int_equal(tp_site_ages_find(&trace, 0, cfg, NULL, 0, never, &a, NULL), TP_OK);
    forget(&r);
    return a;
}

static struct tp_site_ages *find(const char *events, const struct tp_sites_cfg *cfg)
{
    return find_sampled(events, cfg, (struct tp_place_sampling){0});
}

static struct tp_text age_text(uint64_t age)
{
    return age == TP_AGE_NONE ? tp_text_of("-") : tp_text_of("%" PRIu64, age);
}

/* The row of a name as text: "2 of 300, 5: 1 of 100, 7", where the median follows the bytes, and
 * the age of the oldest those of the live blocks; "-": none. */
static void expect(const struct tp_site_ages *a, const char *name, const char *expected)
{
    assert_non_null(a);
    char text[200];
    const struct tp_site_age *r = tp_site_age_of(a, name);
    if (!r)
        fail_msg("no row '%s'", name ? name : "without a name");
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 ", %s: %" PRIu64 " of %" PRIu64 ", %s%s",
             r->objects, r->bytes, age_text(r->median).s, r->live, r->live_bytes,
             age_text(r->oldest).s, r->grows ? ", grows" : "");
    assert_string_equal(text, expected);
}

#define ALLOC(t, id, size, place)                                                                  \
    "{\"t\":" #t ",\"op\":\"alloc\",\"id\":" #id ",\"size\":" #size ",\"place\":\"" place "\"}\n"
#define REALLOC(t, id, size, place)                                                                \
    "{\"t\":" #t ",\"op\":\"realloc\",\"id\":" #id ",\"size\":" #size ",\"place\":\"" place "\"}"  \
    "\n"
#define PLAIN(t, id, size) "{\"t\":" #t ",\"op\":\"alloc\",\"id\":" #id ",\"size\":" #size "}\n"
#define FREE(t, id)        "{\"t\":" #t ",\"op\":\"free\",\"id\":" #id "}\n"
#define MARK(t, name)      "{\"t\":" #t ",\"op\":\"mark\",\"name\":\"" name "\"}\n"
#define RESET(t)           "{\"t\":" #t ",\"op\":\"reset\"}\n"
#define BEFORE(id, size)   "{\"t\":0,\"op\":\"initial\",\"id\":" #id ",\"size\":" #size "}\n"

static const char few[] =
    ALLOC(100, 1, 100, "a") ALLOC(110, 2, 40, "b") FREE(130, 1) ALLOC(140, 3, 200, "a")
        PLAIN(150, 4, 7) ALLOC(160, 5, 300, "a") REALLOC(200, 2, 60, "a") FREE(260, 4);

/* Lifetimes of a: 30, and at the end 120, 100 and 60. What b had is a's since its realloc. */
TEST(survivors_count_with_their_age)
{
    struct tp_site_ages *a = find(few, &at_end);
    expect(a, "a", "4 of 660, 60: 3 of 560, 120");
    expect(a, "b", "1 of 40, 90: 0 of 0, -");
    expect(a, NULL, "1 of 7, 110: 0 of 0, -");
    assert_fields(*a, count, 3, timed, true, estimated, false);
    assert_string_equal(a->rows[0].name, "a");
    assert_string_equal(a->rows[1].name, "b");
    assert_null(a->rows[2].name);
    assert_null(tp_site_age_of(a, "c"));
    tp_site_ages_free(a);
}

TEST(up_to_a_moment)
{
    struct tp_site_ages *a = find(few, &(struct tp_sites_cfg){.at = 4});
    expect(a, "a", "2 of 300, 0: 1 of 200, 0");
    expect(a, "b", "1 of 40, 30: 1 of 40, 30");
    assert_null(tp_site_age_of(a, NULL));
    tp_site_ages_free(a);
    a = find(few, &(struct tp_sites_cfg){.at = TP_AT_PEAK}); /* the realloc */
    expect(a, "a", "4 of 660, 30: 3 of 560, 60");
    expect(a, NULL, "1 of 7, 50: 1 of 7, 50");
    tp_site_ages_free(a);
    assert_null(find(few, &(struct tp_sites_cfg){.at = 0}));
}

/* Behind the moment: what is reallocated is not freed, a free of a block that began later is none
 * of one that was live, and the row has nothing else of what came then. */
TEST(what_is_freed_behind_the_moment)
{
    static const char events[] =
        BEFORE(1, 8) ALLOC(1, 2, 100, "a") ALLOC(2, 3, 10, "a") ALLOC(3, 4, 7, "b") FREE(4, 3)
            ALLOC(5, 5, 1000, "a") FREE(6, 5) REALLOC(7, 4, 70, "b") FREE(8, 2) FREE(9, 1);
    struct tp_site_ages *a = find(events, &(struct tp_sites_cfg){.at = 3});
    expect(a, "a", "2 of 110, 1: 2 of 110, 2");
    assert_fields(*tp_site_age_of(a, "a"), freed, 110);
    assert_fields(*tp_site_age_of(a, "b"), freed, 0, objects, 1, live_bytes, 7);
    assert_fields(*tp_site_age_of(a, NULL), freed, 8);
    tp_site_ages_free(a);
    a = find(events, &(struct tp_sites_cfg){.at = 6});
    assert_fields(*tp_site_age_of(a, "a"), freed, 100);
    tp_site_ages_free(a);
    a = find(ALLOC(1, 2, 100, "a") ALLOC(2, 3, 10, "b") RESET(3), &(struct tp_sites_cfg){.at = 1});
    assert_fields(*tp_site_age_of(a, "a"), freed, 100);
    assert_null(tp_site_age_of(a, "b"));
    tp_site_ages_free(a);
    a = find(events, &at_end);
    assert_fields(*tp_site_age_of(a, "b"), freed, 0, live_bytes, 70);
    tp_site_ages_free(a);
}

TEST(in_events_where_times_are_not_known)
{
    static const char events[] = "{\"op\":\"alloc\",\"id\":1,\"size\":10,\"place\":\"a\"}\n"
                                 "{\"op\":\"alloc\",\"id\":2,\"size\":20,\"place\":\"b\"}\n"
                                 "{\"op\":\"mark\",\"name\":\"m\"}\n{\"op\":\"free\",\"id\":1}\n";
    struct tp_site_ages *a = find(events, &at_end);
    assert_false(a->timed);
    expect(a, "a", "1 of 10, 3: 0 of 0, -");
    expect(a, "b", "1 of 20, 2: 1 of 20, 2");
    tp_site_ages_free(a);
}

TEST(a_reset_ends_what_is_live)
{
    struct tp_site_ages *a =
        find(ALLOC(0, 1, 10, "a") ALLOC(5, 2, 10, "a") FREE(6, 1) ALLOC(10, 3, 20, "b") RESET(30)
                 ALLOC(40, 4, 5, "b") RESET(41) ALLOC(50, 5, 1, "a"),
             &at_end);
    expect(a, "a", "3 of 21, 6: 1 of 1, 0");
    expect(a, "b", "2 of 25, 1: 0 of 0, -");
    tp_site_ages_free(a);
}

/* They have no place, and lived longer than is known. */
TEST(initial_heap)
{
    static const char events[] = BEFORE(1, 1000) BEFORE(2, 64) ALLOC(10, 3, 32, "a") FREE(30, 1);
    struct tp_site_ages *a = find(events, &at_end);
    expect(a, "a", "1 of 32, 20: 1 of 32, 20");
    expect(a, NULL, "0 of 0, -: 1 of 64, -");
    tp_site_ages_free(a);
    a = find(events, &(struct tp_sites_cfg){.at = INT64_MAX, .by = TP_BY_SIZE});
    expect(a, "64 B to 128 B", "0 of 0, -: 1 of 64, -");
    tp_site_ages_free(a);
}

TEST(by_phase_and_size)
{
    static const char events[] = PLAIN(0, 1, 64) MARK(1, "load") PLAIN(2, 2, 127) PLAIN(4, 3, 128)
        MARK(5, "run") FREE(6, 2) PLAIN(7, 4, 1) MARK(8, "load") PLAIN(9, 5, 40) FREE(10, 1);
    struct tp_site_ages *a =
        find(events, &(struct tp_sites_cfg){.at = INT64_MAX, .by = TP_BY_PHASE});
    expect(a, "load", "3 of 295, 4: 2 of 168, 6");
    expect(a, "run", "1 of 1, 3: 1 of 1, 3");
    expect(a, NULL, "1 of 64, 10: 0 of 0, -");
    tp_site_ages_free(a);
    a = find(events, &(struct tp_sites_cfg){.at = INT64_MAX, .by = TP_BY_SIZE});
    expect(a, "64 B to 128 B", "2 of 191, 4: 0 of 0, -");
    expect(a, "32 B to 64 B", "1 of 40, 1: 1 of 40, 1");
    assert_null(tp_site_age_of(a, NULL));
    tp_site_ages_free(a);
    assert_null(find(events, &(struct tp_sites_cfg){.at = INT64_MAX, .by = TP_BY_AGE}));
    assert_null(find(events, &(struct tp_sites_cfg){.at = INT64_MAX, .by = TP_BY_METADATA}));
    assert_null(find(events, &at_end)); /* nothing has a place */
}

/* Below 1,000 bytes one of ten has a place: block 1 counts ten times, and while it is live for 6
 * as well. 2, 3 and 6 are in no row. */
TEST(sampled)
{
    struct tp_site_ages *a =
        find_sampled(ALLOC(0, 1, 100, "a") PLAIN(5, 2, 100) PLAIN(6, 3, 40) FREE(7, 3)
                         ALLOC(10, 4, 1000, "a") PLAIN(20, 5, 1010) FREE(40, 2) PLAIN(40, 6, 120),
                     &at_end, (struct tp_place_sampling){.size = 1000, .every = 10});
    assert_true(a->estimated);
    expect(a, "a", "2 of 2000, 30: 2 of 1220, 40");
    expect(a, NULL, "1 of 1010, 20: 1 of 1010, 20");
    tp_site_ages_free(a);
}

/* The same names and the same live bytes as the groups of the live blocks have. */
TEST(rows_are_those_of_live_memory)
{
    struct reading r = read_events(few, (struct tp_place_sampling){0});
    const struct tp_trace trace = {.program = r.program, .places = r.places};
    uint32_t text = 0, caller = 0, stack = 0;
    tp_place_table_text(r.places.ctx, "leaf", 4, &text, NULL);
    tp_place_table_text(r.places.ctx, "main", 4, &caller, NULL);
    tp_place_table_call(r.places.ctx, caller, 0, &stack, NULL);
    tp_place_table_call(r.places.ctx, text, stack, &stack, NULL);
    assert_int_equal(tp_place_table_set_stack(r.places.ctx, 9, stack, NULL), TP_OK);
    for (unsigned depth = 0; depth < 3; depth++) {
        const struct tp_sites_cfg cfg = {.at = 7, .depth = depth};
        struct tp_site_ages *a = NULL;
        struct tp_sites *h = NULL;
        assert_int_equal(tp_site_ages_find(&trace, 0, &cfg, NULL, 0, never, &a, NULL), TP_OK);
        assert_int_equal(tp_sites_find(&trace, 0, &cfg, never, &h, NULL), TP_OK);
        for (unsigned i = 0; i < h->count; i++) {
            const struct tp_site_age *row = tp_site_age_of(a, h->rows[i].place);
            assert_non_null(row);
            assert_fields(*row, live, h->rows[i].blocks, oldest, h->rows[i].oldest);
            assert_int_equal(row->live_bytes, (uint64_t)h->rows[i].bytes);
        }
        assert_int_equal(tp_site_age_of(a, NULL)->live_bytes, (uint64_t)h->unknown);
        tp_sites_free(h);
        tp_site_ages_free(a);
    }
    forget(&r);
}

/* Formats without a table of places are asked for those of all events. */
static int find_places(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                       struct tp_err *err)
{
    (void)ctx, (void)err;
    for (size_t i = 0; i < count; i++)
        snprintf(out[i], TP_PLACE_TEXT, "%s", events[i] % 2 ? "odd" : "even");
    return TP_OK;
}

TEST(places_without_a_table)
{
    struct reading r = read_events(few, (struct tp_place_sampling){0});
    struct tp_trace trace = {.program = r.program, .places = {.find = find_places, .before = 1}};
    struct tp_site_ages *a = NULL;
    assert_int_equal(tp_site_ages_find(&trace, 0, &at_end, NULL, 0, never, &a, NULL), TP_OK);
    expect(a, "even", "3 of 167, 60: 1 of 60, 60");
    expect(a, "odd", "3 of 540, 100: 2 of 500, 120");
    tp_site_ages_free(a);
    forget(&r);
}

/* More lifetimes than are kept one by one: 1 to 1,000 us, whose median is within a bucket. */
TEST(median_of_many)
{
    struct tp_str text = {0};
    for (int i = 1, t = 0; i <= 1000; i++, t += i * 1000)
        tp_str_add(&text,
                   "{\"t\":%d,\"op\":\"alloc\",\"id\":1,\"size\":8,\"place\":\"a\"}\n"
                   "{\"t\":%d,\"op\":\"free\",\"id\":1}\n",
                   t, t + i * 1000);
    struct tp_site_ages *a = find(tp_str_text(&text), &at_end);
    tp_str_drop(&text);
    const struct tp_site_age *row = tp_site_age_of(a, "a");
    assert_int_equal(row->objects, 1000);
    assert_true(row->median >= 500000 && row->median <= 516000);
    tp_site_ages_free(a);
}

/* ---- what grows ---- */

#define LIVE(...) ((const uint64_t[TP_AGE_MOMENTS]){__VA_ARGS__})

TEST(only_grows)
{
    assert_true(tp_only_grows(LIVE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)));
    /* a leak beside startup data */
    assert_true(
        tp_only_grows(LIVE(50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78, 80)));
    /* one step of the last half without a rise */
    assert_true(tp_only_grows(LIVE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 14, 15, 16)));
    /* it falls once by a sixteenth */
    assert_true(tp_only_grows(
        LIVE(16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 150, 192, 208, 224, 240, 256)));
}

TEST(does_not_only_grow)
{
    assert_false(tp_only_grows(LIVE(0)));
    /* startup data */
    assert_false(tp_only_grows(LIVE(9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9)));
    /* caches, full in the middle and before the last quarter */
    assert_false(tp_only_grows(LIVE(1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8)));
    assert_false(tp_only_grows(LIVE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 13, 13)));
    /* a table that doubles */
    assert_false(tp_only_grows(LIVE(1, 2, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16)));
    /* a cache that still takes up a little */
    assert_false(tp_only_grows(
        LIVE(100, 200, 300, 400, 500, 500, 500, 500, 501, 502, 503, 504, 505, 506, 507, 508)));
    /* sawtooth */
    assert_false(tp_only_grows(LIVE(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7)));
    /* it falls once by more than a sixteenth */
    assert_false(tp_only_grows(
        LIVE(16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 149, 192, 208, 224, 240, 256)));
    /* all is freed at the end */
    assert_false(tp_only_grows(LIVE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0)));
}

/* A program of 400 rounds: each leaks 8 bytes; a cache gets a block in each of the first 150; a
 * list grows to 50 blocks and is freed, again and again; and one block is that of the start. */
TEST(sites_that_grow)
{
    struct tp_str text = {0};
    tp_str_add(&text, "{\"op\":\"alloc\",\"id\":1,\"size\":4096,\"place\":\"start\"}\n");
    for (int i = 0; i < 400; i++) {
        tp_str_add(&text, "{\"op\":\"alloc\",\"id\":%d,\"size\":8,\"place\":\"leak\"}\n", 1000 + i);
        if (i < 150)
            tp_str_add(&text, "{\"op\":\"alloc\",\"id\":%d,\"size\":64,\"place\":\"cache\"}\n",
                       2000 + i);
        for (int k = 0; i % 50 == 0 && i && k < 50; k++)
            tp_str_add(&text, "{\"op\":\"free\",\"id\":%d}\n", 3000 + k);
        tp_str_add(&text, "{\"op\":\"alloc\",\"id\":%d,\"size\":16,\"place\":\"list\"}\n",
                   3000 + i % 50);
    }
    struct tp_site_ages *a = find(tp_str_text(&text), &at_end);
    tp_str_drop(&text);
    assert_true(tp_site_age_of(a, "leak")->grows);
    assert_false(tp_site_age_of(a, "cache")->grows);
    assert_false(tp_site_age_of(a, "list")->grows);
    assert_false(tp_site_age_of(a, "start")->grows);
    assert_int_equal(tp_site_age_of(a, "list")->live, 50);
    tp_site_ages_free(a);
}

/* One event for each of the moments: it is in what is live at its own. */
TEST(an_event_counts_at_its_moment)
{
    struct tp_str text = {0};
    for (int i = 1; i <= TP_AGE_MOMENTS; i++)
        tp_str_add(&text, "{\"op\":\"alloc\",\"id\":%d,\"size\":8,\"place\":\"%s\"}\n", i,
                   i >= 8 && i <= 10 ? "other" : "leak");
    struct tp_site_ages *a = find(tp_str_text(&text), &at_end);
    tp_str_drop(&text);
    assert_true(tp_site_age_of(a, "leak")->grows); /* in six steps of the last eight, no more */
    tp_site_ages_free(a);
}
