/* Profiles: what each says of itself holds, the same seed makes the same events, hostile options
 * are refused before the first event. What holds for all is asked of every profile in the registry.
 */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "tests/unit/profile_rig.h"
#include "tests/unit/trace_fixture.h"
#include "traces/profiles/common/distributions.h"
#include "traces/trace.h"

extern const struct tp_profile tp_profile_pair, tp_profile_batch, tp_profile_random_replace,
    tp_profile_producer_consumer, tp_profile_streams, tp_profile_web_server,
    tp_profile_training_step, tp_profile_llm_decode, tp_profile_fleet_0, tp_profile_fleet_9;
extern const struct tp_command tp_command_gen;

enum { IDS = 16384 };

/* What a sink saw. Ids below IDS are followed one by one. */
struct seen {
    uint64_t events, ops[TP_EV_COUNT];
    uint64_t hash; /* FNV-1a over all members */
    uint64_t last_time, min_size, max_size;
    uint64_t live, peak, low; /* objects; low: the fewest since `full` lived */
    uint64_t full;
    uint64_t fail_at; /* from this event on; 0: never */
    int64_t max_id;
    bool times_fall;
    uint64_t thread_of[IDS], size_of[IDS], turns[IDS]; /* turns: how often it was allocated */
    int64_t stream_of[IDS];
    int64_t last_freed, last_freed_stream;
    uint64_t last_freed_size, same_size_wanted, same_stream, foreign_frees, bad;
    bool freed_before; /* the event before was a free */
};

static void add(uint64_t *hash, uint64_t value)
{
    for (int i = 0; i < 8; i++, value >>= 8)
        *hash = (*hash ^ (value & 255)) * UINT64_C(0x100000001b3);
}

static void see_alloc(struct seen *s, const struct tp_event *ev)
{
    size_t i = (size_t)ev->id % IDS;
    s->min_size = ev->size < s->min_size ? ev->size : s->min_size;
    s->max_size = ev->size > s->max_size ? ev->size : s->max_size;
    s->max_id = ev->id > s->max_id ? ev->id : s->max_id;
    s->live++;
    s->peak = s->live > s->peak ? s->live : s->peak;
    if (s->freed_before) {
        s->same_size_wanted += ev->size == s->last_freed_size;
        s->same_stream += ev->stream == s->last_freed_stream;
    }
    s->thread_of[i] = ev->thread;
    s->stream_of[i] = ev->stream;
    s->size_of[i] = ev->size;
    s->turns[i]++;
}

static void see_free(struct seen *s, const struct tp_event *ev)
{
    size_t i = (size_t)ev->id % IDS;
    s->live--;
    if (s->full && s->peak >= s->full && s->live < s->low)
        s->low = s->live;
    s->foreign_frees += s->thread_of[i] != ev->thread;
    s->bad += s->stream_of[i] != ev->stream;
    s->last_freed = ev->id;
    s->last_freed_stream = ev->stream;
    s->last_freed_size = s->size_of[i];
}

static int see(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct seen *s = ctx;
    if (++s->events >= s->fail_at && s->fail_at)
        return tp_fail(err, TP_EIO, "the sink is full");
    s->ops[ev->op]++;
    const uint64_t members[] = {ev->op,     (uint64_t)ev->id,     ev->size,       ev->align,
                                ev->thread, (uint64_t)ev->stream, ev->has_stream, ev->time_ns};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        add(&s->hash, members[i]);
    s->times_fall |= !ev->has_time || ev->time_ns < s->last_time;
    s->last_time = ev->time_ns;
    if (ev->op == TP_EV_ALLOC)
        see_alloc(s, ev);
    else if (ev->op == TP_EV_FREE)
        see_free(s, ev);
    else if (ev->op == TP_EV_USE)
        s->bad += s->stream_of[ev->id % IDS] == ev->stream;
    s->freed_before = ev->op == TP_EV_FREE;
    return TP_OK;
}

/* Generates into `s`, which may be prepared; returns the status. */
static int watch(const struct tp_profile *p, const char *text, uint64_t seed, struct seen *s,
                 struct tp_err *err)
{
    const struct tp_event_sink sink = {see, s};
    void *opts = profile_options(p, text);
    s->hash = UINT64_C(0xcbf29ce484222325);
    s->min_size = s->low = UINT64_MAX;
    int rc = p->generate(opts, seed, &sink, err);
    tp_profile_opts_free(p, opts);
    return rc;
}

static struct seen watch_ok(const struct tp_profile *p, const char *text, uint64_t seed,
                            uint64_t full)
{
    struct seen s = {.full = full};
    struct tp_err err = {0};
    if (watch(p, text, seed, &s, &err) != TP_OK)
        fail_msg("%s %s: %s", p->name, text, err.text);
    assert_false(s.times_fall);
    return s;
}

struct expected {
    uint64_t allocs, frees, slots, live_at_end, threads, streams;
    uint64_t peak; /* bytes; 0: not stated */
};

static void must_be(const struct tp_profile *p, const char *text, struct expected x)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct tp_program *program = profile_program(p, text, seed);
        const struct tp_program_facts *f = tp_program_facts(program);
        assert_fields(*f, ops[TP_ALLOC], x.allocs, ops[TP_FREE], x.frees, slots, x.slots,
                      live_at_end, x.live_at_end, recorded_threads, x.threads, streams, x.streams,
                      kind, p->kind);
        assert_true(f->time_known);
        if (x.peak)
            assert_int_equal(tp_program_demand(program, 0)->bytes, x.peak);
        tp_program_release(program);
    }
}

/* ---- what each says of itself ---- */

TEST(test_pair)
{
    must_be(&tp_profile_pair, "size=4KiB,count=7", (struct expected){7, 7, 1, 0, 1, 1, 4096});
    must_be(&tp_profile_pair, "size=1TiB,count=1",
            (struct expected){1, 1, 1, 0, 1, 1, UINT64_C(1) << 40});
    struct seen s = watch_ok(&tp_profile_pair, "", 1, 0);
    assert_int_equal(s.events, 200000);
    assert_in_range(s.last_time, 19900000, 20100000); /* 100 ns each */
}

TEST(test_batch)
{
    must_be(&tp_profile_batch, "size=100,live=10,count=25",
            (struct expected){25, 25, 10, 0, 1, 1, 1000});
    must_be(&tp_profile_batch, "size=100,live=10,count=3",
            (struct expected){3, 3, 3, 0, 1, 1, 300});
    must_be(&tp_profile_batch, "live=1,count=1", (struct expected){1, 1, 1, 0, 1, 1, 64});
    char text[4096];
    struct tp_program *p = profile_program(&tp_profile_batch, "size=8,live=2,count=3", 1);
    write_program(p, text, sizeof text);
    for (char *gap = strstr(text, " +"); gap; gap = strstr(gap, " +")) /* times are random */
        memmove(gap, strchr(gap + 1, ' '), strlen(strchr(gap + 1, ' ')) + 1);
    assert_string_equal(text, "alloc 0 8 a4 @1; alloc 1 8 a4 @2; free 0 8 a4 @3; free 1 8 a4 @4; "
                              "alloc 1 8 a4 @5; free 1 8 a4 @6; ");
    tp_program_release(p);
}

TEST(test_random_replace)
{
    static const char text[] = "size=24,max-size=1000,live=50,count=3000";
    must_be(&tp_profile_random_replace, text, (struct expected){3000, 2950, 50, 50, 1, 1, 0});
    must_be(&tp_profile_random_replace, "live=9,count=4", (struct expected){4, 0, 4, 4, 1, 1, 0});
    must_be(&tp_profile_random_replace, "live=1,count=4", (struct expected){4, 3, 1, 1, 1, 1, 0});
    must_be(&tp_profile_random_replace, "size=1TiB,live=3,count=3",
            (struct expected){3, 0, 3, 3, 1, 1, UINT64_C(3) << 40});
    struct seen s = watch_ok(&tp_profile_random_replace, text, 3, 50);
    assert_fields(s, peak, 50, low, 49);
    assert_in_range(s.min_size, 24, 30);
    assert_in_range(s.max_size, 950, 1000);
    for (int i = 0; i < 50; i++)
        assert_in_range(s.turns[i], 20, 120); /* 60 on average */
    s = watch_ok(&tp_profile_random_replace, "size=5,live=5,count=2000", 3, 0);
    assert_in_range(s.max_size, 1100, 5 * 256); /* auto */
    must_be(&tp_profile_random_replace, "live=50,count=3000,threads=3",
            (struct expected){3000, 2950, 50, 50, 3, 1, 0});
    s = watch_ok(&tp_profile_random_replace, "live=50,count=3000,threads=3", 3, 0);
    assert_int_equal(s.foreign_frees, 0);
}

/* The n-th free is of the n-th id, by the other thread, as soon as `live` wait. */
static int in_order(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct seen *s = ctx;
    (void)err;
    if (ev->op == TP_EV_ALLOC) {
        assert_fields(*ev, thread, 0, id, s->ops[TP_EV_ALLOC]);
        assert_true(s->live < 4);
    } else {
        assert_fields(*ev, op, TP_EV_FREE, thread, 1, id, s->ops[TP_EV_FREE]);
        assert_true(s->live == 4 || s->ops[TP_EV_ALLOC] == 100);
    }
    s->live = ev->op == TP_EV_ALLOC ? s->live + 1 : s->live - 1;
    s->ops[ev->op]++;
    return TP_OK;
}

TEST(test_producer_consumer)
{
    const struct tp_profile *p = &tp_profile_producer_consumer;
    must_be(p, "live=20,count=500", (struct expected){500, 500, 20, 0, 2, 1, 0});
    must_be(p, "live=20,count=5", (struct expected){5, 5, 5, 0, 2, 1, 0});
    must_be(p, "live=1,count=1,size=7,max-size=7", (struct expected){1, 1, 1, 0, 2, 1, 7});
    struct seen s = {0};
    const struct tp_event_sink sink = {in_order, &s};
    void *opts = profile_options(p, "live=4,count=100");
    assert_int_equal(p->generate(opts, 1, &sink, NULL), TP_OK);
    assert_int_equal(s.ops[TP_EV_FREE], 100);
    tp_profile_opts_free(p, opts);
}

TEST(test_streams)
{
    const struct tp_profile *p = &tp_profile_streams;
    must_be(p, "live=30,count=2000,streams=3", (struct expected){2000, 1970, 30, 30, 1, 3, 0});
    must_be(p, "live=30,count=5,streams=9", (struct expected){5, 0, 5, 5, 1, 9, 0});
    must_be(p, "live=1,count=1,streams=1024", (struct expected){1, 0, 1, 1, 1, 1024, 0});
    struct seen s = watch_ok(p, "live=30,count=20000,streams=3", 5, 30);
    uint64_t steps = 20000 - 30;
    assert_int_equal(s.bad, 0); /* frees on the stream of the alloc, uses on another */
    assert_fields(s, same_stream, 0, low, 29);
    assert_in_range(s.same_size_wanted, steps * 45 / 100, steps * 55 / 100);
    assert_in_range(s.ops[TP_EV_USE], steps * 20 / 100, steps * 30 / 100);
    assert_in_range(s.ops[TP_EV_SYNC], 250, 420); /* 1/64 + 1/1024 */
    assert_in_range(s.min_size, 65536, 70000);
    assert_in_range(s.max_size, 16000000, 16777216);
    s = watch_ok(p, "live=30,count=2000,streams=1", 5, 0);
    assert_int_equal(s.ops[TP_EV_USE], 0);
}

TEST(test_web_server)
{
    const struct tp_profile *p = &tp_profile_web_server;
    struct seen s = watch_ok(p, "count=3000,live=600,threads=5", 1, 0);
    assert_in_range(s.events, 150000, 210000);
    assert_int_equal(s.ops[TP_EV_MARK], 2);
    assert_true(s.ops[TP_EV_REALLOC] > s.events / 20);
    assert_int_equal(s.live, 4000 + 600); /* at the end: static objects and the full state */
    s = watch_ok(p, "count=200,live=1,threads=5", 1, 0);
    assert_true(s.max_id < IDS);
    assert_in_range(s.foreign_frees, 140, 200); /* four records in five, and next to no state */
    s = watch_ok(p, "count=200,live=100,threads=5", 1, 0);
    assert_true(s.max_id < IDS && s.foreign_frees > 300); /* and sessions and pages */
    assert_true(watch_ok(p, "count=200,live=100,threads=1", 1, 0).foreign_frees == 0);
    struct tp_program *few = profile_program(p, "count=1,live=1,threads=1", 1);
    assert_int_equal(tp_program_facts(few)->live_at_end, 4000 + 1);
    tp_program_release(few);
    tp_program_release(profile_program(p, "count=3,live=5000,threads=1024", 1));
}

TEST(test_sample_web)
{
    struct tp_trace t;
    struct tp_err err = {0};
    static const char *const no_dirs[] = {"/nonexistent", NULL};
    struct tp_trace_cfg cfg = {.path = "sample:web",
                               .formats = tp_formats,
                               .sample_dirs = no_dirs,
                               .profiles = tp_profiles};
    if (tp_trace_open(&cfg, &t, &err) != TP_OK)
        fail_msg("%s", err.text);
    const struct tp_program_facts *f = tp_program_facts(t.program);
    uint64_t peak = tp_program_demand(t.program, 0)->bytes;
    assert_in_range(f->events, 1900000, 2100000);
    assert_int_equal(f->recorded_threads, 8);
    assert_in_range(peak, UINT64_C(116) << 20, UINT64_C(120) << 20);
    assert_true(peak > 64000000);
    assert_true(f->spooled_bytes > 0);
    assert_string_equal(t.path, "sample:web");
    assert_string_equal(t.file, "sample:web");
    assert_string_equal(t.format, "synthetic");
    assert_string_equal(t.meta.name, "web");
    assert_string_equal(t.meta.program, "synthetic (web-server, seed 1)");
    tp_trace_close(&t);

    cfg.path = "sample:wbe";
    assert_int_equal(tp_trace_open(&cfg, &t, &err), TP_EINPUT);
    assert_string_equal(
        err.hint,
        "did you mean 'sample:web'? there are: fleet-0, fleet-1, fleet-2, fleet-3, fleet-4, "
        "fleet-5, fleet-6, fleet-7, fleet-8, fleet-9, llm-decode, training-step, web");
    cfg.profiles = NULL;
    cfg.path = "sample:web";
    assert_int_equal(tp_trace_open(&cfg, &t, &err), TP_EINPUT);
    assert_string_equal(err.hint, "no samples are installed here");
}

/* ---- what holds for all ---- */

/* Few events, whatever the profile: text for those of these options that it has. */
static void small(const struct tp_profile *p, char *out, size_t size)
{
    static const char *const values[][2] = {
        {"count", "300"}, {"live", "40"}, {"age", "3"}, {"layers", "2"}};
    size_t used = 0;
    out[0] = '\0';
    for (const struct tp_opt *row = p->options; row->name; row++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            if (strcmp(row->name, values[i][0]) == 0)
                used += (size_t)snprintf(out + used, size - used, "%s%s=%s", used ? "," : "",
                                         row->name, values[i][1]);
}

TEST(test_seeds)
{
    static const uint64_t seeds[] = {0, 1, 2, 12345, UINT64_MAX - 1};
    char text[128];
    for (size_t i = 0; tp_profiles[i]; i++) {
        const struct tp_profile *p = tp_profiles[i];
        uint64_t hashes[5];
        small(p, text, sizeof text);
        for (int k = 0; k < 5; k++) {
            hashes[k] = watch_ok(p, text, seeds[k], 0).hash;
            assert_int_equal(watch_ok(p, text, seeds[k], 0).hash, hashes[k]);
            for (int j = 0; j < k; j++)
                assert_int_not_equal(hashes[j], hashes[k]);
            tp_program_release(profile_program(p, text, seeds[k]));
        }
    }
}

/* A seed means the same trace in every version and on every machine. */
TEST(test_pinned)
{
    static const struct {
        const struct tp_profile *profile;
        uint64_t hash; /* of seed 7, `small` */
    } rows[] = {{&tp_profile_pair, UINT64_C(0xf55993eca9542a5a)},
                {&tp_profile_batch, UINT64_C(0x0858ac0def3bb7c6)},
                {&tp_profile_random_replace, UINT64_C(0x0d300df2e760ef90)},
                {&tp_profile_producer_consumer, UINT64_C(0xb879576c35e1ccba)},
                {&tp_profile_streams, UINT64_C(0x4e50dfaf8297e591)},
                {&tp_profile_web_server, UINT64_C(0x8fd27c362530f120)},
                {&tp_profile_training_step, UINT64_C(0xe19df49d3ff61832)},
                {&tp_profile_llm_decode, UINT64_C(0xcac60dbfab9aac2d)},
                {&tp_profile_fleet_0, UINT64_C(0x9579f7b8d0bc392a)},
                {&tp_profile_fleet_9, UINT64_C(0x12d19793188be05a)}};
    char text[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        small(rows[i].profile, text, sizeof text);
        uint64_t hash = watch_ok(rows[i].profile, text, 7, 0).hash;
        if (hash != rows[i].hash)
            fail_msg("%s: 0x%016" PRIx64, rows[i].profile->name, hash);
    }
    uint64_t young = watch_ok(&tp_profile_fleet_0, "count=300,live=40", 7, 0).hash;
    assert_true(young == UINT64_C(0xc08756f2d0ced50a));
}

TEST(test_rows)
{
    struct tp_err err = {0};
    for (size_t i = 0; tp_profiles[i]; i++) {
        const struct tp_profile *p = tp_profiles[i];
        if (tp_opts_check(p->options, p->opts_size, p->name, &err))
            fail_msg("%s", err.text);
        assert_true(strlen(p->about) > 0 && strlen(p->summary) > 0);
        for (const struct tp_opt *row = p->options; row->name; row++) {
            const struct tp_opt *known = tp_opt_find(tp_command_gen.options, row->name);
            if (!known || known->type != TP_OPT_TEXT || !row->def)
                fail_msg("%s: gen does not know '%s', or it has no default", p->name, row->name);
        }
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(p->name, tp_profiles[k]->name);
    }
}

/* 0 of anything that has some by default, and more than the highest. */
TEST(test_ranges)
{
    static const char *const values[] = {"0", "18446744073709551615", "-1", "", "1e9"};
    struct tp_err err;
    char text[128];
    for (size_t i = 0; tp_profiles[i]; i++) {
        const struct tp_profile *p = tp_profiles[i];
        void *opts = profile_options(p, "");
        for (const struct tp_opt *row = p->options; row->name; row++) {
            for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
                snprintf(text, sizeof text, "%s=%s", row->name, values[k]);
                if (strcmp(row->def, values[k]) &&
                    tp_opts_parse(p->options, opts, text, p->name, &err) != TP_EUSAGE)
                    fail_msg("%s takes %s", p->name, text);
            }
        }
        tp_profile_opts_free(p, opts);
    }
}

static void must_refuse(const struct tp_profile *p, const char *text, const char *sentence)
{
    struct seen s = {0};
    struct tp_err err = {0};
    assert_int_equal(watch(p, text, 1, &s, &err), TP_EUSAGE);
    assert_string_equal(err.text, sentence);
    assert_int_equal(s.events, 0);
}

TEST(test_refused)
{
    static const char below[] = "max-size is below size";
    must_refuse(&tp_profile_random_replace, "size=17,max-size=16", below);
    must_refuse(&tp_profile_producer_consumer, "max-size=1", below);
    must_refuse(&tp_profile_streams, "size=1TiB,max-size=1GiB", below);
    static const char many[] =
        "2097153 objects of 1099511627776 bytes are more than 2^61 bytes at once";
    must_refuse(&tp_profile_batch, "size=1TiB,live=2097153,count=2097153", many);
    must_refuse(&tp_profile_random_replace, "max-size=1TiB,live=2097153,count=2097153", many);
    must_refuse(&tp_profile_producer_consumer, "size=1TiB,live=9000000,count=2097153", many);
}

/* The largest that is not refused; the sink stops it early. */
TEST(test_largest)
{
    static const struct {
        const struct tp_profile *profile;
        const char *text;
    } rows[] = {{&tp_profile_pair, "size=1TiB,count=1000000000"},
                {&tp_profile_batch, "size=1TiB,live=2097152,count=1000000000"},
                {&tp_profile_random_replace, "size=1TiB,live=2097152,count=1000000000"},
                {&tp_profile_producer_consumer,
                 "size=128GiB,live=16777216,count=1000000000,max-size=128GiB"},
                {&tp_profile_streams, "size=1TiB,live=1048576,count=1000000000,streams=1024"},
                {&tp_profile_web_server, "live=1048576,threads=1024,count=100000000"},
                {&tp_profile_training_step,
                 "count=10000000,layers=1024,hidden=65536,batch=1024,streams=16"},
                {&tp_profile_llm_decode, "count=100000000,live=65536,layers=1024,hidden=65536"},
                {&tp_profile_llm_decode, "live=65536,layers=1024,hidden=65536,kv=contiguous"},
                {&tp_profile_fleet_0, "live=16777216,count=1000000000,threads=1024"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct seen s = {.fail_at = 20000};
        struct tp_err err = {0};
        assert_int_equal(watch(rows[i].profile, rows[i].text, 1, &s, &err), TP_EIO);
        assert_int_equal(s.events, 20000);
    }
}

TEST(test_failing_sink)
{
    char text[128];
    for (size_t i = 0; tp_profiles[i]; i++) {
        small(tp_profiles[i], text, sizeof text);
        uint64_t events = watch_ok(tp_profiles[i], text, 1, 0).events;
        for (uint64_t n = 1; n <= events; n += 1 + n / 4) {
            struct seen s = {.fail_at = n};
            struct tp_err err = {0};
            assert_int_equal(watch(tp_profiles[i], text, 1, &s, &err), TP_EIO);
            assert_string_equal(err.text, "the sink is full");
            assert_int_equal(s.events, n); /* and nothing after it */
        }
    }
}

TEST(test_describe)
{
    char text[256];
    void *opts = profile_options(&tp_profile_random_replace, "size=4KiB,live=3");
    tp_profile_describe(&tp_profile_random_replace, opts, 9, text, sizeof text);
    assert_string_equal(text, "synthetic (random-replace, seed 9, size=4KiB, live=3)");
    tp_profile_describe(&tp_profile_random_replace, opts, 9, text, 20);
    assert_string_equal(text, "synthetic (rando...");
    tp_profile_opts_free(&tp_profile_random_replace, opts);
}

/* ---- random numbers ---- */

static void check_doubling(uint64_t low, uint64_t high, uint64_t doublings)
{
    struct tp_random r;
    uint64_t halves[64] = {0}, kinds = 0;
    tp_random_seed(&r, low ^ high);
    for (int i = 0; i < 20000; i++) {
        uint64_t x = tp_random_doubling(&r, low, high);
        assert_in_range(x, low, high);
        halves[63 - __builtin_clzll(x)]++;
    }
    for (int i = 0; i < 64; i++)
        kinds += halves[i] > 20000 / (doublings * 2);
    assert_int_equal(kinds, doublings);
}

TEST(test_random)
{
    check_doubling(1, 1, 1);
    check_doubling(16, 16, 1);
    check_doubling(17, 31, 1);
    check_doubling(16, 4096, 8); /* not a ninth for 4096 alone */
    check_doubling(1, UINT64_C(1) << 40, 40);
    check_doubling(UINT64_C(1) << 40, UINT64_C(1) << 40, 1);
    struct tp_random r;
    uint64_t least = UINT64_MAX, most = 0, middle = 0;
    tp_random_seed(&r, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t x = tp_random_bell(&r, 16, 8);
        assert_in_range(x, 16, (16 << 9) - 1);
        least = x < least ? x : least;
        most = x > most ? x : most;
        middle += x >= 128 && x < 1024;
        assert_true(tp_random_below(&r, 1) == 0);
        assert_in_range(tp_random_below(&r, UINT64_C(1) << 40), 0, (UINT64_C(1) << 40) - 1);
        assert_in_range(tp_random_from(&r, 5, 6), 5, 6);
    }
    uint64_t sum = 0, below_half = 0, beyond_two = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t x = tp_random_wait(&r, 1000000);
        sum += x / 1000;
        below_half += x < 693147;
        beyond_two += x > 2000000;
    }
    assert_in_range(sum, 99000000, 101000000);
    assert_in_range(below_half, 48000, 52000); /* the median is ln 2 of the mean */
    assert_in_range(beyond_two, 12500, 14500); /* e^-2: 13.5% */
    assert_int_equal(tp_random_wait(&r, 0), 0);
    assert_true(least < 32 && most > 4096);
    assert_in_range(middle, 13000, 15500); /* C(8,3)+C(8,4)+C(8,5) of 256: 71% */
}
