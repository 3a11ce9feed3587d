/* Live memory by site over time: to the byte on a small trace, and on a long one against sums that
 * are kept here. */
#include "tests/unit/trace_fixture.h"

#include "alloc/numbers/curve.h"
#include "cmd/results/site_curve.h"
#include "traces/places/place_table.h"

#define HEAD           "{\"format\":\"tapool-trace\",\"version\":1}\n"
#define INITIAL(id, n) "{\"op\":\"initial\",\"id\":" #id ",\"size\":" #n "}\n"
#define ALLOC(id, n, place)                                                                        \
    "{\"op\":\"alloc\",\"id\":" #id ",\"size\":" #n ",\"place\":\"" place "\"}\n"
#define PLAIN(id, n) "{\"op\":\"alloc\",\"id\":" #id ",\"size\":" #n "}\n"
#define FREE(id)     "{\"op\":\"free\",\"id\":" #id "}\n"
#define REALLOC(id, n, place)                                                                      \
    "{\"op\":\"realloc\",\"id\":" #id ",\"size\":" #n ",\"place\":\"" place "\"}\n"

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

struct curve_of_text {
    struct reading r;
    struct tp_sites *sites;
    struct tp_site_curve *curve;
};

static struct curve_of_text curve_of(const char *text, struct tp_place_sampling sampling)
{
    static const struct tp_sites_cfg peak = {.at = TP_AT_PEAK};
    struct curve_of_text c = {.r = read_text(&tp_format_jsonl, text, true)};
    struct tp_err err = {0};
    if (c.r.rc != TP_OK)
        fail_msg("%s", c.r.err.text);
    struct tp_trace trace = {.program = c.r.program, .places = c.r.places};
    tp_place_table_sample(c.r.places.ctx, sampling);
    assert_int_equal(tp_sites_find(&trace, 0, &peak, never, &c.sites, &err), TP_OK);
    assert_non_null(c.sites);
    assert_int_equal(tp_site_curve_of(&trace, c.sites, NULL, never, &c.curve, &err), TP_OK);
    return c;
}

static void drop(struct curve_of_text *c)
{
    free(c->curve);
    tp_sites_free(c->sites);
    forget(&c->r);
}

/* "0 5+0" for each point: its event, and the bytes of the initial heap, of others and of each site.
 */
static void expect(const struct tp_site_curve *c, const char *wanted)
{
    char text[4096] = "";
    for (uint32_t i = 0; i < c->count; i++) {
        const struct tp_site_curve_point *p = &c->points[i];
        uint64_t sum = p->bytes[TP_SERIES_INITIAL] + p->bytes[TP_SERIES_OTHER];
        size_t at = strlen(text);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%" PRIu64 " %" PRIu64 "+%" PRIu64,
                               i ? ", " : "", p->event, p->bytes[TP_SERIES_INITIAL],
                               p->bytes[TP_SERIES_OTHER]);
        for (unsigned k = 0; k < c->sites; k++, sum += p->bytes[k - 1])
            at += (size_t)snprintf(text + at, sizeof text - at, "+%" PRIu64, p->bytes[k]);
        assert_int_equal(sum, p->requested);
    }
    assert_string_equal(text, wanted);
}

/* A realloc moves a block to its own site, and one of the initial heap too. */
TEST(to_the_byte)
{
    struct curve_of_text c = curve_of(
        HEAD INITIAL(1, 50) INITIAL(2, 7) ALLOC(3, 100, "a") ALLOC(4, 300, "b") PLAIN(5, 1000)
            FREE(3) REALLOC(1, 60, "a") FREE(2) REALLOC(5, 2000, "b") FREE(4) ALLOC(6, 1, "late"),
        (struct tp_place_sampling){0});
    assert_int_equal(c.curve->sites, 2);
    assert_string_equal(c.curve->table->rows[0].place, "b");
    assert_string_equal(c.curve->table->rows[1].place, "a");
    expect(c.curve, "0 57+0+0+0, 1 57+0+0+100, 2 57+0+300+100, 3 57+1000+300+100, "
                    "4 57+1000+300+0, 5 7+1000+300+60, 6 0+1000+300+60, 7 0+0+2300+60, "
                    "8 0+0+2000+60, 9 0+1+2000+60");
    drop(&c);
}

/* Points of another curve: of event 3 and the one after the last nothing is requested or freed. */
TEST(points_that_are_given)
{
    struct curve_of_text c = curve_of(
        HEAD ALLOC(1, 100, "a") ALLOC(2, 30, "b") "{\"op\":\"sync\"}\n" FREE(1) ALLOC(3, 5, "b"),
        (struct tp_place_sampling){0});
    struct tp_trace trace = {.program = c.r.program, .places = c.r.places};
    struct tp_curve *given = calloc(1, sizeof *given);
    static const uint64_t points[][2] = {{0, 0}, {2, 130}, {3, 130}, {4, 30}, {6, 35}};
    for (given->count = 0; given->count < 5; given->count++)
        given->points[given->count] = (struct tp_curve_point){.event = points[given->count][0],
                                                              .bytes = {points[given->count][1]}};
    free(c.curve);
    assert_int_equal(tp_site_curve_of(&trace, c.sites, given, never, &c.curve, NULL), TP_OK);
    expect(c.curve, "0 0+0+0+0, 2 0+0+100+30, 3 0+0+100+30, 4 0+0+0+30, 6 0+0+0+35");
    free(given);
    drop(&c);
}

/* Of the class 64 to 127 what has a place stands for all; from 1,000 bytes on it stands for itself.
 */
TEST(estimated)
{
    struct curve_of_text c = curve_of(HEAD ALLOC(1, 100, "a") PLAIN(2, 100) ALLOC(3, 1000, "a")
                                          PLAIN(4, 40) PLAIN(5, 1010) FREE(1),
                                      (struct tp_place_sampling){.size = 1000, .every = 10});
    expect(c.curve, "0 0+0+0, 1 0+0+100, 2 0+0+200, 3 0+0+1200, 4 0+40+1200, 5 0+1050+1200, "
                    "6 0+1150+1000");
    drop(&c);
}

TEST(a_reset_ends_all)
{
    struct curve_of_text c =
        curve_of(HEAD ALLOC(1, 10, "a") ALLOC(2, 20, "b") "{\"op\":\"reset\"}\n" ALLOC(3, 5, "b"),
                 (struct tp_place_sampling){0});
    expect(c.curve, "0 0+0+0+0, 1 0+0+0+10, 2 0+0+20+10, 3 0+0+0+0, 4 0+0+5+0");
    drop(&c);
}

enum { SITES = 14, IDS = 500, EVENTS = 60000 };

struct sums_of_events {
    uint64_t of[EVENTS + 1][SITES];
    uint64_t most;
    char text[EVENTS * 80];
};

/* Blocks of random sizes from SITES sites: the higher the number of one, the larger its blocks. */
static void make_long(struct sums_of_events *s)
{
    uint64_t sizes[IDS] = {0}, random = 88172645463325252u;
    size_t at = (size_t)snprintf(s->text, sizeof s->text, HEAD);
    for (uint32_t e = 1; e <= EVENTS; e++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t id = (uint32_t)(random >> 33) % IDS, site = id % SITES;
        uint64_t was = sizes[id], sum = 0;
        sizes[id] = was ? 0 : 1 + (random >> 40) % 1000 * (site + 1);
        memcpy(s->of[e], s->of[e - 1], sizeof s->of[e]);
        s->of[e][site] += sizes[id] - was;
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, "{\"op\":\"%s\",\"id\":%u",
                               was ? "free" : "alloc", id);
        if (!was)
            at += (size_t)snprintf(s->text + at, sizeof s->text - at,
                                   ",\"size\":%" PRIu64 ",\"place\":\"site%c\"", sizes[id],
                                   'a' + (int)site);
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, "}\n");
        for (int i = 0; i < SITES; i++)
            sum += s->of[e][i];
        s->most = sum > s->most ? sum : s->most;
    }
}

/* At each point that is kept: each site, all others, and the whole. */
TEST(long_traces)
{
    struct sums_of_events *s = calloc(1, sizeof *s);
    uint64_t most = 0;
    make_long(s);
    struct curve_of_text c = curve_of(s->text, (struct tp_place_sampling){0});
    assert_int_equal(c.curve->sites, TP_CURVE_SITES);
    assert_true(c.curve->count > 1000);
    for (uint32_t i = 0; i < c.curve->count; i++) {
        const struct tp_site_curve_point *p = &c.curve->points[i];
        uint64_t others = 0, whole = 0;
        for (int k = 0; k < SITES; k++)
            whole += s->of[p->event][k];
        for (unsigned k = 0; k < c.curve->sites; k++) {
            int site = c.curve->table->rows[k].place[4] - 'a';
            assert_int_equal(p->bytes[k], s->of[p->event][site]);
            others += p->bytes[k];
        }
        assert_int_equal(p->requested, whole);
        assert_int_equal(p->bytes[TP_SERIES_OTHER], whole - others);
        most = p->requested > most ? p->requested : most;
    }
    assert_int_equal(most, s->most);
    drop(&c);
    free(s);
}
