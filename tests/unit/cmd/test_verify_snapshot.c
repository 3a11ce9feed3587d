/* The comparison of the strategy `torch` with recordings: real ones, and small ones that contradict
 * the rules. */
#include "cmd/pytorch/verify/verify.h"

#include "tests/unit/pickle_text.h"
#include "tests/unit/snapshot_files.h"
#include "tests/unit/test.h"

#define MIB UINT64_C(1048576)

/* An open snapshot. */
struct opened {
    struct tp_read_opts opts;
    struct tp_reading reading;
    struct tp_pytorch *snapshot;
    struct tp_torch_rules rules;
    struct tp_err err;
};

static void read_opened(struct opened *o)
{
    o->opts.device = -1;
    o->reading.opts = &o->opts;
    o->snapshot = calloc(1, sizeof *o->snapshot);
    assert_non_null(o->snapshot);
    o->snapshot->reading = &o->reading;
    if (tp_pytorch_read(o->snapshot, &o->err) != TP_OK ||
        tp_verify_rules(o->snapshot, NULL, &o->rules, &o->err) != TP_OK)
        fail_msg("%s", o->err.text);
}

static void close_opened(struct opened *o)
{
    tp_pytorch_release(o->snapshot);
    free(o->snapshot);
    tp_input_close(o->reading.in);
}

static struct tp_verified verified(struct opened *o, const char *broken)
{
    struct tp_verified v;
    if (tp_verify(o->snapshot, 0, &o->rules, broken, &v, &o->err) != TP_OK)
        fail_msg("%s", o->err.text);
    return v;
}

/* ---- real recordings ---- */

/* Files with the figures of all that can be compared in them. */
static const struct expected {
    const char *name;
    uint64_t addresses, with_base, segments, blocks, taken, start_segments, start_blocks;
} files[] = {
    {"complete-small.pickle", 36, 9, 9, 20, 9, 0, 0},
    {"newest-format.pickle", 1721, 0, 216, 455, 0, 216, 229},
    {"training-step.pickle.gz", 2162, 0, 96, 550, 0, 96, 447},
    {"ring-wrapped.pickle.gz", 3331, 0, 872, 1808, 0, 872, 1317},
    {"training-999-segments.pickle.gz", 6488, 0, 999, 1987, 0, 999, 1313},
    {"training-22k.pickle.gz", 7591, 1, 400, 1041, 1, 399, 664},
};

static bool open_file(const char *name, struct opened *o)
{
    char path[4096];
    *o = (struct opened){.err = {.status = TP_OK}};
    if (!find_snapshot(TAPOOL_ROOT, name, path, sizeof path)) {
        print_message("%s is not here: left out\n", name);
        return false;
    }
    assert_int_equal(tp_input_open(path, 0, NULL, &o->reading.in, &o->err), TP_OK);
    read_opened(o);
    return true;
}

TEST(every_address_segment_and_block_agrees)
{
    size_t seen = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct expected *f = &files[i];
        struct opened o;
        if (!open_file(f->name, &o))
            continue;
        struct tp_verified v = verified(&o, NULL);
        assert_true(tp_agrees(&v));
        assert_int_equal(v.addresses.good, f->addresses);
        assert_int_equal(v.addresses.all, f->addresses);
        assert_int_equal(v.with_base, f->with_base);
        assert_int_equal(v.segments.good, f->segments);
        assert_int_equal(v.segments.all, f->segments);
        assert_int_equal(v.blocks, f->blocks);
        assert_int_equal(v.taken.good, f->taken);
        assert_int_equal(v.taken.all, f->taken);
        assert_int_equal(v.start_segments, f->start_segments);
        assert_int_equal(v.start_blocks, f->start_blocks);
        assert_int_equal(v.not_live, 0);
        close_opened(&o);
        seen++;
    }
    assert_true(seen >= 2); /* those in tests/data */
}

/* Rules that a file depends on: with one broken, so many addresses and segments still agree. The
 * rest are in test_torch.c. */
TEST(a_broken_rule_is_seen)
{
    static const struct {
        const char *rule, *file;
        uint64_t addresses, segments;
    } cases[] = {
        {"large-rest", "ring-wrapped.pickle.gz", 3331, 716},
        {"large-rest", "training-999-segments.pickle.gz", 6488, 892},
        {"large-split-512", "training-step.pickle.gz", 2162, 91},
        {"no-large-split", "complete-small.pickle", 22, 7},
        {"small-rest", "training-step.pickle.gz", 2158, 96},
        {"round-256", "complete-small.pickle", 33, 8},
        {"large-segment", "complete-small.pickle", 35, 9},
        {"no-merge-before", "training-step.pickle.gz", 1746, 76},
        {"no-merge-behind", "training-step.pickle.gz", 1515, 63},
        {"highest", "complete-small.pickle", 31, 9},
        {"first-fit", "complete-small.pickle", 32, 9},
        {"worst-fit", "complete-small.pickle", 22, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct opened o;
        if (!open_file(cases[i].file, &o))
            continue;
        struct tp_verified v = verified(&o, cases[i].rule);
        assert_false(tp_agrees(&v));
        assert_int_equal(v.addresses.good, cases[i].addresses);
        assert_int_equal(v.segments.good, cases[i].segments);
        close_opened(&o);
    }
}

/* ---- made recordings ---- */

/* The text of a pickle (pickle_text.h). Addresses are counted in MiB. */
struct made {
    char segments[4096], events[4096];
    struct pickle_bytes bytes;
};

static void add(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *to, const char *format, ...)
{
    va_list args;
    size_t used = strlen(to);
    va_start(args, format);
    int wrote = vsnprintf(to + used, 4096 - used, format, args);
    va_end(args);
    assert_true(wrote > 0 && used + (size_t)wrote < 4096);
}

static void event(struct made *m, const char *action, uint64_t at, uint64_t size)
{
    add(m->events, "} ( 'action' '%s' 'addr' %llu 'size' %llu 'stream' 0 'time_us' 5 u ", action,
        (unsigned long long)(at * MIB), (unsigned long long)size);
}

/* Blocks of a segment, bytes each; live if `live`. */
static void blocks(struct made *m, uint64_t addr, uint64_t size, bool live)
{
    if (live)
        add(m->segments,
            "} ( 'address' %llu 'size' %llu 'requested_size' %llu 'state' 'active_allocated' u ",
            (unsigned long long)addr, (unsigned long long)size, (unsigned long long)size);
    else if (size)
        add(m->segments, "} ( 'address' %llu 'size' %llu 'state' 'inactive' u ",
            (unsigned long long)addr, (unsigned long long)size);
}

/* A segment at the end with two live blocks, or one where `second` is 0, at its beginning; the rest
 * is free. */
static void segment_of_two(struct made *m, uint64_t at, uint64_t size, uint64_t first,
                           uint64_t second, const char *more)
{
    add(m->segments,
        "} ( 'address' %llu 'total_size' %llu 'device' 0 'stream' 0 'segment_type' 'large' %s "
        "'blocks' ] ( ",
        (unsigned long long)(at * MIB), (unsigned long long)size, more);
    if (first)
        blocks(m, at * MIB, first, true);
    if (second)
        blocks(m, at * MIB + first, second, true);
    blocks(m, at * MIB + first + second, size - first - second, false);
    add(m->segments, "e u ");
}

static void segment(struct made *m, uint64_t at, uint64_t size, uint64_t live, const char *more)
{
    segment_of_two(m, at, size, live, 0, more);
}

static int verify_made(struct made *m, struct tp_verified *v, struct tp_err *err)
{
    char text[9000];
    struct opened o = {.err = {.status = TP_OK}};
    snprintf(text, sizeof text, "} ( 'segments' ] %s%s%s 'device_traces' ] ( ] ( %s e e u .",
             *m->segments ? "( " : "", m->segments, *m->segments ? "e" : "", m->events);
    make_pickle(&m->bytes, text);
    assert_int_equal(
        tp_input_memory("made", m->bytes.data, m->bytes.size, 0, &o.reading.in, &o.err), TP_OK);
    read_opened(&o);
    int rc = tp_verify(o.snapshot, 0, &o.rules, NULL, v, err);
    close_opened(&o);
    return rc;
}

static struct tp_verified made_verified(struct made *m)
{
    struct tp_verified v;
    struct tp_err err;
    if (verify_made(m, &v, &err) != TP_OK)
        fail_msg("%s", err.text);
    free(m);
    return v;
}

static struct made *make(void)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    return m;
}

TEST(a_first_difference_names_the_free_blocks)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_alloc", 200, 20 * MIB);
    event(m, "alloc", 200, 18 * MIB);
    event(m, "free_completed", 200, 18 * MIB);
    event(m, "alloc", 200, 5 * MIB); /* the rest of the first segment is smaller */
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_NEEDS_SEGMENT); /* 18 MiB get a segment of 18 MiB */
    assert_int_equal(v.first.event, 4);

    m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_alloc", 200, 18 * MIB);
    event(m, "alloc", 200, 18 * MIB);
    event(m, "free_completed", 200, 18 * MIB);
    event(m, "alloc", 200, 5 * MIB);
    event(m, "alloc", 205, 2 * MIB); /* agrees once the one before is where the file has it */
    v = made_verified(m);
    assert_int_equal(v.addresses.all, 4);
    assert_int_equal(v.addresses.good, 3);
    assert_int_equal(v.first.kind, TP_OTHER_ADDRESS);
    assert_int_equal(v.first.event, 6);
    assert_int_equal(v.first.expected, 200 * MIB);
    assert_int_equal(v.first.got, 104 * MIB);
    assert_int_equal(v.first.choice_count, 2);
    assert_int_equal(v.first.choices[0].addr, 104 * MIB);
    assert_int_equal(v.first.choices[0].size, 16 * MIB);
    assert_int_equal(v.first.choices[1].addr, 200 * MIB);
}

TEST(segments_that_are_not_needed_are_seen)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_alloc", 200, 20 * MIB);
    event(m, "alloc", 200, 4 * MIB);
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_NEEDS_NONE);
    assert_int_equal(v.first.event, 4);
    assert_int_equal(v.taken.good, 1);
    assert_int_equal(v.taken.all, 2);
}

TEST(segments_go_back_only_when_they_are_free)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "free_completed", 100, 4 * MIB);
    event(m, "segment_free", 100, 20 * MIB);
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.returned.good, 1);

    m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_free", 100, 20 * MIB);
    v = made_verified(m);
    assert_int_equal(v.first.kind, TP_SEGMENT_IN_USE);
    assert_int_equal(v.returned.good, 0);
}

TEST(frees_of_what_is_not_live_are_seen)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "free_completed", 100, 4 * MIB);
    event(m, "free_completed", 100, 4 * MIB);
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_NOT_LIVE);
    assert_int_equal(v.first.event, 4);
    assert_int_equal(v.not_live, 1);
}

/* The segment was there at the start, because the first event about it frees it. */
TEST(the_start_follows_from_the_events)
{
    struct made *m = make();
    event(m, "free_completed", 100, 4 * MIB);
    event(m, "segment_free", 100, 20 * MIB);
    event(m, "segment_alloc", 300, 20 * MIB);
    event(m, "alloc", 300, 4 * MIB);
    segment(m, 300, 20 * MIB, 4 * MIB, "");
    segment(m, 400, 30 * MIB, 30 * MIB, "");
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.start_segments, 2);
    assert_int_equal(v.start_blocks, 2);
    assert_int_equal(v.start_rounded, 1);
    assert_int_equal(v.segments.good, 2);
    assert_int_equal(v.blocks, 3);
}

/* 4 MiB of 5: the rest of 1 MiB was not split off, because something lay behind it then. */
TEST(what_was_not_split_off_shows_in_the_first_address_behind)
{
    struct made *m = make();
    event(m, "alloc", 105, 8 * MIB);
    event(m, "free_completed", 100, 4 * MIB);
    event(m, "alloc", 100, 5 * MIB);
    event(m, "free_completed", 100, 5 * MIB);
    event(m, "free_completed", 105, 8 * MIB);
    event(m, "segment_free", 100, 20 * MIB);
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.start_rounded, 1);
    assert_int_equal(v.start_shown, 1);

    m = make(); /* more than that cannot be a rest */
    event(m, "alloc", 106, 8 * MIB);
    event(m, "free_completed", 100, 4 * MIB);
    event(m, "free_completed", 106, 8 * MIB);
    event(m, "segment_free", 100, 20 * MIB);
    v = made_verified(m);
    assert_int_equal(v.first.kind, TP_OTHER_ADDRESS);
    assert_int_equal(v.first.got, 104 * MIB);
    assert_int_equal(v.start_shown, 0);
}

TEST(segments_that_overlap_are_seen)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "segment_alloc", 110, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "segment_alloc", UINT64_C(1) << 42, 20 * MIB); /* no device has that address */
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_START_UNPLACED);
    assert_int_equal(v.first.event, 2);
    assert_int_equal(v.taken.good, 1);
    assert_int_equal(v.taken.all, 4);
    assert_int_equal(v.addresses.good, 1);
}

TEST(a_start_that_overlaps_is_seen)
{
    struct made *m = make();
    event(m, "free_completed", 500, 4 * MIB); /* in no segment */
    segment(m, 400, 30 * MIB, 30 * MIB, "");
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_START_UNPLACED);
    assert_int_equal(v.first.expected, 500 * MIB);

    m = make();
    event(m, "snapshot", 0, 0);
    event(m, "oom", 0, 4 * MIB);
    segment(m, 400, 30 * MIB, 30 * MIB, "");
    segment(m, 420, 30 * MIB, 30 * MIB, "");
    v = made_verified(m);
    assert_int_equal(v.first.kind, TP_START_UNPLACED);
    assert_int_equal(v.first.expected, 400 * MIB); /* the blocks of both lie in it */
    assert_int_equal(v.failed.all, 1);
}

/* 16 MiB are free behind the 4, and a whole segment of 30 MiB while it is there. */
TEST(a_failed_request_finds_no_room)
{
    static const struct {
        uint64_t mib;
        bool released;
        uint64_t good, idle;
        enum tp_verify_kind kind;
    } cases[] = {{17, true, 1, 0, TP_NO_DIFFERENCE},
                 {16, true, 0, 0, TP_HAS_ROOM},
                 {17, false, 0, 0, TP_HAS_ROOM},
                 {31, false, 1, 1, TP_NO_DIFFERENCE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made *m = make();
        event(m, "segment_alloc", 100, 20 * MIB);
        event(m, "alloc", 100, 4 * MIB);
        event(m, "segment_alloc", 200, 30 * MIB);
        event(m, "alloc", 200, 30 * MIB);
        event(m, "free_completed", 200, 30 * MIB);
        if (cases[i].released)
            event(m, "segment_free", 200, 30 * MIB);
        event(m, "oom", 0, cases[i].mib * MIB);
        struct tp_verified v = made_verified(m);
        assert_int_equal(v.first.kind, cases[i].kind);
        assert_int_equal(v.failed.all, 1);
        assert_int_equal(v.failed.good, cases[i].good);
        assert_int_equal(v.failed_idle, cases[i].idle);
    }
}

TEST(another_layout_at_the_end_is_seen)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    segment(m, 100, 20 * MIB, 5 * MIB, "");
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.addresses.good, 1);
    assert_int_equal(v.first.kind, TP_OTHER_LAYOUT);
    assert_int_equal(v.segments.good, 0);
    assert_int_equal(v.segments.all, 1);
}

TEST(without_completed_frees_the_requested_ones_count)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "free_requested", 100, 4 * MIB);
    event(m, "alloc", 100, 6 * MIB);
    segment(m, 100, 20 * MIB, 6 * MIB, "");
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.addresses.good, 2);
}

/* ---- private pools ---- */

static void pooled(struct made *m, const char *action, uint64_t at, uint64_t size, unsigned pool)
{
    add(m->events,
        "} ( 'action' '%s' 'addr' %llu 'size' %llu 'stream' 0 'time_us' 5 'pool_id' 0 %u %%2 u ",
        action, (unsigned long long)(at * MIB), (unsigned long long)size, pool);
}

/* Two pools and the one of all others: what is free in one serves none of the others. */
TEST(private_pools_share_nothing)
{
    struct made *m = make();
    for (unsigned pool = 0; pool < 3; pool++) {
        pooled(m, "segment_alloc", 100 * (pool + 1), 20 * MIB, pool);
        pooled(m, "alloc", 100 * (pool + 1), 4 * MIB, pool);
    }
    pooled(m, "alloc", 304, 8 * MIB, 2);
    pooled(m, "alloc", 104, 8 * MIB, 0);
    pooled(m, "alloc", 204, 8 * MIB, 1);
    pooled(m, "free_completed", 204, 8 * MIB, 1);
    pooled(m, "free_completed", 200, 4 * MIB, 1);
    pooled(m, "segment_free", 200, 20 * MIB, 1);
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.addresses.good, 6);
    assert_int_equal(v.taken.good, 3);
    assert_int_equal(v.returned.good, 1);
    assert_int_equal(v.unpooled, 0);

    m = make(); /* in one pool the second segment is not needed */
    pooled(m, "segment_alloc", 100, 20 * MIB, 1);
    pooled(m, "alloc", 100, 4 * MIB, 1);
    pooled(m, "segment_alloc", 200, 20 * MIB, 1);
    pooled(m, "alloc", 200, 4 * MIB, 1);
    v = made_verified(m);
    assert_int_equal(v.first.kind, TP_NEEDS_NONE);
}

TEST(segments_of_private_pools_are_placed_there)
{
    struct made *m = make();
    pooled(m, "alloc", 104, 4 * MIB, 7);
    pooled(m, "alloc", 204, 4 * MIB, 0);
    segment_of_two(m, 100, 20 * MIB, 4 * MIB, 4 * MIB, "'segment_pool_id' 0 7 %2");
    segment_of_two(m, 200, 20 * MIB, 4 * MIB, 4 * MIB, "'segment_pool_id' 0 0 %2");
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.addresses.good, 2);
    assert_int_equal(v.segments.good, 2);
    assert_int_equal(v.start_segments, 2);
}

/* The segment says that it is of a private pool, the events do not: they are done as in the file,
 * and are in no figure. */
TEST(events_that_do_not_name_their_pool_are_not_compared)
{
    struct made *m = make();
    event(m, "segment_alloc", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_alloc", 200, 20 * MIB);
    event(m, "alloc", 200, 4 * MIB); /* the rules would serve it behind the other */
    event(m, "alloc", 104, 2 * MIB);
    segment_of_two(m, 100, 20 * MIB, 4 * MIB, 2 * MIB, "");
    segment(m, 200, 20 * MIB, 4 * MIB, "'segment_pool_id' 0 3 %2");
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.unpooled, 1);
    assert_int_equal(v.addresses.good, 2);
    assert_int_equal(v.addresses.all, 2);
    assert_int_equal(v.segments.good, 2);
}

/* ---- segments that grow ---- */

/* The stretch of memory at the end of a segment that grows; see `segment`. */
static void stretch(struct made *m, uint64_t at, uint64_t size, uint64_t live)
{
    segment(m, at, size, live, "'is_expandable' T");
}

/* 5 MiB of the first unit; 16 MiB are the 15 that are left and one unit more; the second stream has
 * a segment of its own. Freed, the second unit is not whole: one byte of it is live. */
TEST(memory_is_mapped_as_in_the_file)
{
    struct made *m = make();
    event(m, "segment_map", 100, 20 * MIB);
    event(m, "alloc", 100, 5 * MIB);
    event(m, "segment_map", 120, 20 * MIB);
    event(m, "alloc", 105, 16 * MIB);
    event(m, "alloc", 121, 2 * MIB);
    event(m, "free_completed", 100, 5 * MIB);
    event(m, "free_completed", 105, 16 * MIB);
    event(m, "segment_unmap", 100, 20 * MIB);
    event(m, "segment_map", 100, 20 * MIB); /* the lowest unmapped, with the free MiB behind it */
    event(m, "alloc", 100, 21 * MIB);
    segment_of_two(m, 100, 40 * MIB, 21 * MIB, 2 * MIB, "'is_expandable' T");
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.addresses.good, 4);
    assert_int_equal(v.addresses.all, 4);
    assert_int_equal(v.with_base, 1);
    assert_int_equal(v.mapped.good, 3);
    assert_int_equal(v.mapped.all, 3);
    assert_int_equal(v.unmapped.good, 1);
    assert_int_equal(v.unmapped.all, 1);
    assert_int_equal(v.segments.good, 1);
}

TEST(what_is_mapped_at_the_end_is_compared)
{
    struct made *m = make();
    event(m, "segment_map", 100, 60 * MIB);
    event(m, "alloc", 100, 60 * MIB);
    event(m, "free_completed", 100, 60 * MIB);
    event(m, "alloc", 100, 30 * MIB);
    event(m, "segment_unmap", 140, 20 * MIB);
    stretch(m, 100, 40 * MIB, 30 * MIB);
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.segments.good, 1);
    assert_int_equal(v.blocks, 2);
    assert_int_equal(v.unmapped.good, 1);

    m = make(); /* the last unit is still there */
    event(m, "segment_map", 100, 60 * MIB);
    event(m, "alloc", 100, 30 * MIB);
    stretch(m, 100, 40 * MIB, 30 * MIB);
    v = made_verified(m);
    assert_int_equal(v.first.kind, TP_NEEDS_MAPPING); /* 30 MiB need two units, not three */
    assert_int_equal(v.first.event, 2);
    assert_int_equal(v.mapped.good, 0);
    assert_int_equal(v.segments.good, 0);
}

/* The rules would serve it from what is free. */
TEST(memory_that_is_not_needed_is_seen)
{
    struct made *m = make();
    event(m, "segment_map", 100, 20 * MIB);
    event(m, "alloc", 100, 4 * MIB);
    event(m, "segment_map", 120, 20 * MIB);
    event(m, "alloc", 120, 4 * MIB);
    event(m, "alloc", 104, 16 * MIB); /* agrees once the one before is where the file has it */
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_NEEDS_NONE);
    assert_int_equal(v.first.event, 4);
    assert_int_equal(v.first.got, 104 * MIB);
    assert_int_equal(v.addresses.good, 2);
    assert_int_equal(v.mapped.good, 1);
    assert_int_equal(v.mapped.all, 2);
}

/* Only what is free is unmapped, and all whole units of it. */
TEST(what_is_unmapped_is_compared)
{
    static const struct {
        uint64_t at, mib;
        enum tp_verify_kind kind;
    } cases[] = {{120, 40, TP_NO_DIFFERENCE},
                 {120, 20, TP_NOT_ITS_UNITS},
                 {100, 60, TP_MAPPED_IN_USE},
                 {130, 20, TP_MAPPED_IN_USE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made *m = make();
        event(m, "segment_map", 100, 60 * MIB);
        event(m, "alloc", 100, 60 * MIB);
        event(m, "free_completed", 100, 60 * MIB);
        event(m, "alloc", 100, 10 * MIB);
        event(m, "segment_unmap", cases[i].at, cases[i].mib * MIB);
        struct tp_verified v = made_verified(m);
        assert_int_equal(v.first.kind, cases[i].kind);
        assert_int_equal(v.unmapped.good, cases[i].kind == TP_NO_DIFFERENCE);
        assert_int_equal(v.unmapped.all, 1);
    }
}

/* Two stretches are there at the end and one was unmapped at once: all were there at the start.
 * What is mapped later below them shows where the segment begins. */
TEST(what_grew_before_the_start_is_placed)
{
    struct made *m = make();
    event(m, "segment_unmap", 140, 20 * MIB);
    event(m, "alloc", 130, 10 * MIB);
    event(m, "segment_map", 100, 20 * MIB);
    event(m, "alloc", 100, 12 * MIB);
    stretch(m, 100, 20 * MIB, 12 * MIB);
    stretch(m, 180, 20 * MIB, 20 * MIB);
    segment_of_two(m, 120, 20 * MIB, 10 * MIB, 10 * MIB, "'is_expandable' T");
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.start_segments, 2); /* 120 to 160, and 180 */
    assert_int_equal(v.start_stretches, 2);
    assert_int_equal(v.start_inferred, 0);
    assert_int_equal(v.addresses.good, 2);
    assert_int_equal(v.unmapped.good, 1);
    assert_int_equal(v.first.kind, TP_OTHER_LAYOUT); /* 100 to 140 are one stretch */
    assert_int_equal(v.segments.good, 1);
}

/* Nothing tells of which pool a stretch was that went at once. */
TEST(a_pool_that_is_not_in_the_file_is_counted)
{
    struct made *m = make();
    event(m, "segment_unmap", 200, 40 * MIB);
    event(m, "segment_map", 300, 2 * MIB);
    event(m, "alloc", 300, MIB);
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.start_inferred, 1);
    assert_int_equal(v.unmapped.good, 1);
    assert_int_equal(v.mapped.good, 1);

    m = make(); /* no page of the large pool is that small */
    event(m, "segment_unmap", 200, 4 * MIB);
    v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.start_stretches, 1);
    assert_int_equal(v.start_inferred, 0);
}

/* A segment of its own shows that new ones do not grow any more, a mapping that they do again. */
TEST(a_setting_that_changes_shows_in_the_events)
{
    struct made *m = make();
    event(m, "segment_map", 100, 20 * MIB);
    event(m, "alloc", 100, 20 * MIB);
    event(m, "free_completed", 100, 20 * MIB);
    event(m, "segment_alloc", 900, 20 * MIB);
    event(m, "alloc", 900, 5 * MIB); /* what grew serves nobody */
    event(m, "segment_map", 120, 40 * MIB);
    event(m, "alloc", 100, 50 * MIB);
    struct tp_verified v = made_verified(m);
    assert_true(tp_agrees(&v));
    assert_int_equal(v.switches, 2);
    assert_int_equal(v.taken.good, 1);
    assert_int_equal(v.mapped.good, 2);
}

/* Large blocks are split to 512 bytes then, which shows that the setting counts. */
TEST(the_recorded_setting_counts)
{
    for (int grows = 0; grows < 2; grows++) {
        struct made *m = make();
        event(m, "snapshot", 0, 0);
        event(m, "alloc", 100, 20 * MIB - 512);
        segment(m, 100, 20 * MIB, grows ? 20 * MIB - 512 : 20 * MIB,
                grows ? "'is_expandable' T" : "");
        struct opened o = {.err = {.status = TP_OK}};
        char text[9000];
        snprintf(text, sizeof text,
                 "} ( 'segments' ] ( %se 'device_traces' ] ( ] ( %s e e 'allocator_settings' } ( "
                 "'PYTORCH_CUDA_ALLOC_CONF' '%s' u u .",
                 m->segments, m->events, grows ? "expandable_segments:True" : "");
        make_pickle(&m->bytes, text);
        assert_int_equal(
            tp_input_memory("made", m->bytes.data, m->bytes.size, 0, &o.reading.in, &o.err), TP_OK);
        read_opened(&o);
        assert_int_equal(o.rules.expandable, grows);
        struct tp_verified v = verified(&o, NULL);
        assert_int_equal(v.addresses.good, 1);
        assert_int_equal(v.segments.good, grows); /* requested 512 less than the whole */
        close_opened(&o);
        free(m);
    }
}

/* What overlaps, or is mapped at odd places, is a difference and nothing else. */
TEST(mappings_that_contradict_themselves_are_seen)
{
    struct made *m = make();
    event(m, "segment_map", 100, 20 * MIB);
    event(m, "segment_map", 110, 20 * MIB); /* before the first one serves */
    event(m, "alloc", 100, 20 * MIB);
    event(m, "segment_map", 100, 20 * MIB);
    event(m, "segment_alloc", 105, 20 * MIB);
    event(m, "segment_map", 130, 20 * MIB); /* half a unit off */
    event(m, "segment_unmap", 100, 0);
    event(m, "segment_map", 120, 7);
    event(m, "alloc", 120, 20 * MIB);
    event(m, "free_completed", 100, 20 * MIB);
    struct tp_verified v = made_verified(m);
    assert_int_equal(v.first.kind, TP_START_UNPLACED);
    assert_int_equal(v.first.event, 2);
    assert_int_equal(v.addresses.all, 2);
    assert_int_equal(v.addresses.good, 1);
    assert_int_equal(v.not_live, 0);
}
