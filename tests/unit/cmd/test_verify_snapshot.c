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
        assert_fields(v, addresses.good, f->addresses, addresses.all, f->addresses, with_base,
                      f->with_base, segments.good, f->segments, segments.all, f->segments, blocks,
                      f->blocks, taken.good, f->taken, taken.all, f->taken);
        assert_fields(v, start_segments, f->start_segments, start_blocks, f->start_blocks, not_live,
                      0);
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
        assert_fields(v, addresses.good, cases[i].addresses, segments.good, cases[i].segments);
        close_opened(&o);
    }
}

/* ---- made recordings ---- */

/* A recording as words; addresses and sizes are in MiB, with a few bytes more or less:
 *
 *     +100:20   segment_alloc     -100:20    segment_free      a100:4      alloc
 *     map100:20 segment_map       unmap100:4 segment_unmap     f100:4-512  free_completed
 *     oom0:17   snapshot0:0       r100:4     free_requested
 *     a100:4/2  in the private pool 2
 *     =100:20:4,2      a segment at the end that begins with live blocks of 4 and 2 MiB
 *     =100:20:4x/7     one that grows, of the pool 7 */
struct made {
    char segments[4096], events[4096];
    struct pickle_bytes bytes;
};

static const char *const actions[][2] = {
    {"+", "segment_alloc"}, {"-", "segment_free"},      {"map", "segment_map"},
    {"a", "alloc"},         {"unmap", "segment_unmap"}, {"f", "free_completed"},
    {"oom", "oom"},         {"r", "free_requested"},    {"snapshot", "snapshot"}};

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

/* Is the next sign this one? It is read then. */
static bool next_is(const char **at, char sign)
{
    bool is = **at == sign;
    *at += is;
    return is;
}

static unsigned long long next_bytes(const char **at)
{
    char *end;
    unsigned long long bytes = strtoull(*at, &end, 10) * MIB;
    if (end == *at)
        fail_msg("no number at: %s", *at);
    if (*end == '+' || *end == '-')
        bytes += (unsigned long long)strtoll(end, &end, 10);
    *at = end;
    return bytes;
}

static void add_pool(char *to, const char **at, const char *key)
{
    if (next_is(at, '/'))
        add(to, "'%s' 0 %llu %%2 ", key, next_bytes(at) / MIB);
}

static void add_event(struct made *m, const char **at)
{
    size_t length = strcspn(*at, "0123456789"), i = 0;
    while (i < sizeof actions / sizeof *actions &&
           (strlen(actions[i][0]) != length || strncmp(actions[i][0], *at, length) != 0))
        i++;
    if (i == sizeof actions / sizeof *actions)
        fail_msg("no action: %s", *at);
    *at += length;
    add(m->events, "} ( 'action' '%s' 'addr' %llu ", actions[i][1], next_bytes(at));
    assert_true(next_is(at, ':'));
    add(m->events, "'size' %llu 'stream' 0 'time_us' 5 ", next_bytes(at));
    add_pool(m->events, at, "pool_id");
    add(m->events, "u ");
}

static void add_segment(struct made *m, const char **at)
{
    char blocks[1000] = "";
    unsigned long long addr = next_bytes(at);
    assert_true(next_is(at, ':'));
    unsigned long long size = next_bytes(at), used = 0;
    add(m->segments,
        "} ( 'address' %llu 'total_size' %llu 'device' 0 'stream' 0 'segment_type' 'large' ", addr,
        size);
    for (bool more = next_is(at, ':'); more; more = next_is(at, ',')) {
        unsigned long long live = next_bytes(at);
        add(blocks,
            "} ( 'address' %llu 'size' %llu 'requested_size' %llu 'state' 'active_allocated' u ",
            addr + used, live, live);
        used += live;
    }
    if (used < size)
        add(blocks, "} ( 'address' %llu 'size' %llu 'state' 'inactive' u ", addr + used,
            size - used);
    if (next_is(at, 'x'))
        add(m->segments, "'is_expandable' T ");
    add_pool(m->segments, at, "segment_pool_id");
    add(m->segments, "'blocks' ] ( %se u ", blocks);
}

/* `more` follows in the file, after its events. */
static void open_made(const char *words, const char *more, struct made *m, struct opened *o)
{
    char text[9000];
    *m = (struct made){.segments = ""};
    *o = (struct opened){.err = {.status = TP_OK}};
    for (const char *at = words; *(at += strspn(at, " "));) {
        if (next_is(&at, '='))
            add_segment(m, &at);
        else
            add_event(m, &at);
        assert_true(!*at || *at == ' ');
    }
    snprintf(text, sizeof text, "} ( 'segments' ] %s%s%s 'device_traces' ] ( ] ( %s e e %su .",
             *m->segments ? "( " : "", m->segments, *m->segments ? "e" : "", m->events, more);
    make_pickle(&m->bytes, text);
    assert_int_equal(
        tp_input_memory("made", m->bytes.data, m->bytes.size, 0, &o->reading.in, &o->err), TP_OK);
    read_opened(o);
}

/* All that was found and is not 0: good/all, and of the first difference its kind, event and, in
 * MiB, where the file has it, where the rules do, and what was free. */
static const char *figures_of(const struct tp_verified *v)
{
    static const char *const kinds[TP_DIFFERENCE_KINDS] = {
        "",           "other-address",  "not-served",    "needs-segment",  "needs-mapping",
        "needs-none", "not-its-units",  "mapped-in-use", "segment-in-use", "has-room",
        "not-live",   "start-unplaced", "other-layout"};
    const struct {
        const char *name;
        struct tp_agreement of;
    } pairs[] = {{"addresses", v->addresses}, {"segments", v->segments}, {"taken", v->taken},
                 {"returned", v->returned},   {"mapped", v->mapped},     {"unmapped", v->unmapped},
                 {"failed", v->failed}};
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"idle", v->failed_unused},
                   {"blocks", v->blocks},
                   {"base", v->with_base},
                   {"start", v->start_segments},
                   {"start-blocks", v->start_blocks},
                   {"rounded", v->start_rounded},
                   {"shown", v->start_shown},
                   {"stretches", v->start_stretches},
                   {"inferred", v->start_inferred},
                   {"switches", v->switches},
                   {"unpooled", v->unpooled},
                   {"not-live", v->not_live},
                   {"unknown", v->unknown}};
    static char text[4096];
    const struct tp_verify_difference *d = &v->first;
    *text = '\0';
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].of.all)
            add(text, "%s=%d/%d ", pairs[i].name, (int)pairs[i].of.good, (int)pairs[i].of.all);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value)
            add(text, "%s=%d ", numbers[i].name, (int)numbers[i].value);
    if (!tp_agrees(v))
        add(text, "%s@%d:%d!%d ", kinds[d->kind], (int)d->event, (int)(d->expected / MIB),
            (int)(d->got / MIB));
    for (size_t i = 0; i < d->choice_count; i++)
        add(text, "%d:%d ", (int)(d->choices[i].addr / MIB), (int)(d->choices[i].size / MIB));
    text[strlen(text) ? strlen(text) - 1 : 0] = '\0';
    return text;
}

static void verifies(const char *words, const char *figures)
{
    struct made *m = calloc(1, sizeof *m);
    struct opened o;
    assert_non_null(m);
    open_made(words, "", m, &o);
    struct tp_verified v = verified(&o, NULL);
    close_opened(&o);
    free(m);
    if (strcmp(figures_of(&v), figures) != 0)
        fail_msg("%s\nis      %s\nand not %s", words, figures_of(&v), figures);
}

#define VERIFIES(name, words, figures)                                                             \
    TEST(name)                                                                                     \
    {                                                                                              \
        verifies(words, figures);                                                                  \
    }

VERIFIES(a_segment_that_the_file_lacks_is_seen, /* the rest of the first segment is smaller */
         "+100:20 a100:4 +200:20 a200:18 f200:18 a200:5",
         "addresses=1/3 taken=1/2 base=1 needs-segment@4:200!0")

VERIFIES(a_first_difference_names_the_free_blocks,
         "+100:20 a100:4 +200:18 a200:18 f200:18 a200:5 "
         "a205:2" /* agrees once the one before is where the file has it */,
         "addresses=3/4 taken=2/2 base=2 other-address@6:200!104 104:16 200:18")

VERIFIES(segments_that_are_not_needed_are_seen, "+100:20 a100:4 +200:20 a200:4",
         "addresses=1/2 taken=1/2 base=1 needs-none@4:200!104 104:16")

TEST(segments_go_back_only_when_they_are_free)
{
    verifies("+100:20 a100:4 f100:4 -100:20", "addresses=1/1 taken=1/1 returned=1/1 base=1");
    verifies("+100:20 a100:4 -100:20",
             "addresses=1/1 taken=1/1 returned=0/1 base=1 segment-in-use@3:100!0");
}

VERIFIES(frees_of_what_is_not_live_are_seen, "+100:20 a100:4 f100:4 f100:4",
         "addresses=1/1 taken=1/1 base=1 not-live=1 not-live@4:100!0")

/* The segment was there at the start, because the first event about it frees it. */
VERIFIES(the_start_follows_from_the_events, "f100:4 -100:20 +300:20 a300:4 =300:20:4 =400:30:30",
         "addresses=1/1 segments=2/2 taken=1/1 returned=1/1 blocks=3 base=1 start=2 start-blocks=2 "
         "rounded=1")

/* 4 MiB of 5: the rest of 1 MiB was not split off, because something lay behind it then. More than
 * that cannot be a rest. */
TEST(what_was_not_split_off_shows_in_the_first_address_behind)
{
    verifies("a105:8 f100:4 a100:5 f100:5 f105:8 -100:20",
             "addresses=2/2 returned=1/1 start=1 start-blocks=1 rounded=1 shown=1");
    verifies("a106:8 f100:4 f106:8 -100:20", "addresses=0/1 returned=1/1 start=1 start-blocks=1 "
                                             "rounded=1 other-address@1:106!104 104:16");
}

/* No device has the last address. */
VERIFIES(segments_that_overlap_are_seen, "+100:20 +110:20 a100:4 +100:20 +4398046511104:20",
         "addresses=1/1 taken=1/4 base=1 start-unplaced@2:110!0")

/* A block in no segment, and two segments that share 10 MiB. */
TEST(a_start_that_overlaps_is_seen)
{
    verifies("f500:4 =400:30:30",
             "segments=1/1 blocks=1 start=1 start-blocks=1 not-live=1 start-unplaced@0:500!0");
    verifies("snapshot0:0 oom0:4 =400:30:30 =420:30:30",
             "segments=0/2 failed=0/1 start=1 start-unplaced@0:400!0");
}

/* 16 MiB are free behind the 4, and a whole segment of 30 MiB while it is there. */
TEST(a_failed_request_finds_no_room)
{
#define FULL "+100:20 a100:4 +200:30 a200:30 f200:30 "
    verifies(FULL "-200:30 oom0:17", "addresses=2/2 taken=2/2 returned=1/1 failed=1/1 base=2");
    verifies(FULL "-200:30 oom0:16",
             "addresses=2/2 taken=2/2 returned=1/1 failed=0/1 base=2 has-room@7:0!104");
    verifies(FULL "oom0:17", "addresses=2/2 taken=2/2 failed=0/1 base=2 has-room@6:0!200");
    verifies(FULL "oom0:31", "addresses=2/2 taken=2/2 failed=1/1 idle=1 base=2");
}

VERIFIES(another_layout_at_the_end_is_seen, "+100:20 a100:4 =100:20:5",
         "addresses=1/1 segments=0/1 taken=1/1 base=1 other-layout@0:100!0")

VERIFIES(without_completed_frees_the_requested_ones_count, "+100:20 a100:4 r100:4 a100:6 =100:20:6",
         "addresses=2/2 segments=1/1 taken=1/1 blocks=2 base=1")

/* ---- private pools ---- */

/* Two pools and the one of all others: what is free in one serves none of the others. In one pool
 * the second segment is not needed. */
TEST(private_pools_share_nothing)
{
    verifies("+100:20/0 a100:4/0 +200:20/1 a200:4/1 +300:20/2 a300:4/2 a304:8/2 a104:8/0 a204:8/1 "
             "f204:8/1 f200:4/1 -200:20/1",
             "addresses=6/6 taken=3/3 returned=1/1 base=3");
    verifies("+100:20/1 a100:4/1 +200:20/1 a200:4/1",
             "addresses=1/2 taken=1/2 base=1 needs-none@4:200!104 104:16");
}

VERIFIES(segments_of_private_pools_are_placed_there,
         "a104:4/7 a204:4/0 =100:20:4,4/7 =200:20:4,4/0",
         "addresses=2/2 segments=2/2 blocks=6 start=2 start-blocks=2")

/* The segment says that it is of a private pool, the events do not: they are done as in the file,
 * and are in no figure. The rules would serve the second request behind the first. */
VERIFIES(events_that_do_not_name_their_pool_are_not_compared,
         "+100:20 a100:4 +200:20 a200:4 a104:2 =100:20:4,2 =200:20:4/3",
         "addresses=2/2 segments=2/2 taken=1/1 blocks=5 base=1 unpooled=1")

/* ---- segments that grow ---- */

/* 5 MiB of the first unit; 16 MiB are the 15 that are left and one unit more. Freed, the second
 * unit is not whole: a part of it is live. */
VERIFIES(memory_is_mapped_as_in_the_file,
         "map100:20 a100:5 map120:20 a105:16 a121:2 f100:5 f105:16 unmap100:20 "
         "map100:20 " /* the lowest unmapped, with the free MiB behind it */
         "a100:21 =100:40:21,2x",
         "addresses=4/4 segments=1/1 mapped=3/3 unmapped=1/1 blocks=3 base=1")

/* 30 MiB need two units, not three: the last one is still there. */
TEST(what_is_mapped_at_the_end_is_compared)
{
    verifies("map100:60 a100:60 f100:60 a100:30 unmap140:20 =100:40:30x",
             "addresses=2/2 segments=1/1 mapped=1/1 unmapped=1/1 blocks=2 base=1");
    verifies("map100:60 a100:30 =100:40:30x",
             "addresses=0/1 segments=0/1 mapped=0/1 needs-mapping@2:100!0");
}

/* The rules would serve it from what is free; the last request agrees once the one before is where
 * the file has it. */
VERIFIES(memory_that_is_not_needed_is_seen, "map100:20 a100:4 map120:20 a120:4 a104:16",
         "addresses=2/3 mapped=1/2 base=1 needs-none@4:120!104 104:16")

/* Only what is free is unmapped, and all whole units of it. */
TEST(what_is_unmapped_is_compared)
{
#define MAPPED "map100:60 a100:60 f100:60 a100:10 "
    verifies(MAPPED "unmap120:40", "addresses=2/2 mapped=1/1 unmapped=1/1 base=1");
    verifies(MAPPED "unmap120:20",
             "addresses=2/2 mapped=1/1 unmapped=0/1 base=1 not-its-units@5:120!0");
    verifies(MAPPED "unmap100:60",
             "addresses=2/2 mapped=1/1 unmapped=0/1 base=1 mapped-in-use@5:100!0");
    verifies(MAPPED "unmap130:20",
             "addresses=2/2 mapped=1/1 unmapped=0/1 base=1 mapped-in-use@5:130!0");
}

/* Two stretches are there at the end and one was unmapped at once: all were there at the start.
 * What is mapped later below them shows where the segment begins. The start has 120 to 160, and
 * 180; at the end 100 to 140 are one stretch. */
VERIFIES(what_grew_before_the_start_is_placed,
         "unmap140:20 a130:10 map100:20 a100:12 =100:20:12x =180:20:20x =120:20:10,10x",
         "addresses=2/2 segments=1/3 mapped=1/1 unmapped=1/1 blocks=1 start=2 start-blocks=2 "
         "stretches=2 other-layout@0:100!0")

/* Nothing tells of which pool a stretch was that went at once, but no page of the large pool is as
 * small as 4 MiB. */
TEST(a_pool_that_is_not_in_the_file_is_counted)
{
    verifies("unmap200:40 map300:2 a300:1",
             "addresses=1/1 mapped=1/1 unmapped=1/1 base=1 start=1 stretches=1 inferred=1");
    verifies("unmap200:4", "unmapped=1/1 start=1 stretches=1");
}

/* A segment of its own shows that new ones do not grow any more, and what grew serves nobody; a
 * mapping shows that they do again. */
VERIFIES(a_setting_that_changes_shows_in_the_events,
         "map100:20 a100:20 f100:20 +900:20 a900:5 map120:40 a100:50",
         "addresses=3/3 taken=1/1 mapped=2/2 base=2 switches=2")

/* Large blocks are split to 512 bytes then, which shows that the setting counts. */
TEST(the_recorded_setting_counts)
{
    for (int grows = 0; grows < 2; grows++) {
        static struct made m;
        struct opened o;
        open_made(
            grows ? "snapshot0:0 a100:20-512 =100:20:20-512x"
                  : "snapshot0:0 a100:20-512 =100:20:20",
            grows
                ? "'allocator_settings' } ( 'PYTORCH_CUDA_ALLOC_CONF' 'expandable_segments:True' u "
                : "'allocator_settings' } ( 'PYTORCH_CUDA_ALLOC_CONF' '' u ",
            &m, &o);
        assert_int_equal(o.rules.expandable, grows);
        struct tp_verified v = verified(&o, NULL);
        assert_int_equal(v.addresses.good, 1);
        assert_int_equal(v.segments.good, grows); /* requested 512 less than the whole */
        close_opened(&o);
    }
}

/* What overlaps, or is mapped at odd places, is a difference and nothing else: before the first one
 * serves, and half a unit off. */
VERIFIES(
    mappings_that_contradict_themselves_are_seen,
    "map100:20 map110:20 a100:20 map100:20 +105:20 map130:20 unmap100:0 map120:0+7 a120:20 f100:20",
    "addresses=1/2 taken=0/1 mapped=1/5 unmapped=0/1 base=1 switches=2 start-unplaced@2:110!0")
