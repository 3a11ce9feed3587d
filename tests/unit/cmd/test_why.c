/* tapool why: the sum, the verdict, and the blocks in the way against the smallest set, for which
 * all are tried. The figures of real snapshots at the end. */
#include "cmd/pytorch/why/why_room.h"
#include "cmd/why/why.h"

#include "alloc/base/random.h"
#include "cmd/pytorch/verify/verify.h"
#include "tests/unit/snapshot_files.h"
#include "tests/unit/test.h"

#define MIB UINT64_C(1048576)

/* ---- layouts that are made ---- */

static const struct tp_read_opts no_opts = {.device = -1};
static const struct tp_reading no_reading = {.opts = &no_opts};

/* Segments of letters, each of them a block of 1 MiB as many times as it stands there: small
 * letters are free, capital ones live. "AAbC|dd" has two segments, "AAbC|1dd" the second one in a
 * private pool. */
static void draw(struct tp_why_layout *l, const char *text)
{
    tp_addr addr = 1 << 30;
    *l = (struct tp_why_layout){.reading = &no_reading};
    for (const char *at = text; *at; addr += 64 * MIB) {
        struct tp_why_segment s = {.at = {.base = addr, .pool = *at == '1'}, .first = l->count};
        at += *at == '1';
        while (*at && *at != '|') {
            uint64_t size = strspn(at, (char[]){*at, '\0'}) * MIB;
            bool live = *at >= 'A' && *at <= 'Z';
            assert_int_equal(TP_GROW(&l->blocks, &l->room, l->count + 1, NULL, .what = NULL),
                             TP_OK);
            l->blocks[l->count++] =
                (struct tp_why_block){addr + s.at.size, size, live ? size - 100 : 0};
            s.at.size += size;
            s.live += live;
            s.count++;
            at += size / MIB;
        }
        assert_int_equal(
            TP_GROW(&l->segments, &l->segment_room, l->segment_count + 1, NULL, .what = NULL),
            TP_OK);
        l->segments[l->segment_count++] = s;
        at += *at == '|';
    }
}

static struct tp_why_room asked(const struct tp_why_layout *l, const struct tp_torch_rules *rules,
                                uint64_t size, uint64_t free)
{
    struct tp_why_room room;
    const struct tp_why_request rq = {.size = size, .has_free = free != UINT64_MAX, .free = free};
    assert_int_equal(tp_why_room(l, rules, &rq, &room, NULL), TP_OK);
    return room;
}

TEST(the_sum_adds_up)
{
    struct tp_why_layout l;
    draw(&l, "AAbC|dd|eeeFgg|hhhh");
    struct tp_why_sum s = tp_why_sum(&l);
    assert_fields(s, requested, 4 * MIB - 300, rounding, 300, live, 3, hole_bytes, 6 * MIB, holes,
                  3, largest, 3 * MIB, free_bytes, 6 * MIB, unused, 2);
    assert_fields(s, segments, 4, reserved, s.requested + s.rounding + s.hole_bytes + s.free_bytes);
    tp_why_layout_release(&l);
}

/* What is asked for: 12 MiB, which get a segment of their own size. */
TEST(verdicts)
{
    static const struct {
        const char *heap;
        uint64_t free; /* MiB; UINT64_MAX: not known */
        enum tp_why_verdict verdict;
        uint64_t there, fitting; /* MiB */
    } cases[] = {
        {"AAAAAAAAbbbb", 5, TP_WHY_TOO_BIG, 9, 4},
        {"AAAAAAAAbbbb", 8, TP_WHY_FRAGMENTED, 12, 4},
        {"AAAAAAAAbbbbbbbbCddd", 1, TP_WHY_FRAGMENTED, 12, 8},
        {"AAAAAAAAbbbb", UINT64_MAX, TP_WHY_NO_CAPACITY, 4, 4},
        {"AAAAAAAAbbbb", 13, TP_WHY_REFUSED, 17, 12},
        {"AAAAAAAA|bbbbbbbbbb", 2, TP_WHY_REFUSED, 12, 12}, /* the unused segment goes back */
        {"AAAAAAAA|bbbbbbbbbb", 1, TP_WHY_TOO_BIG, 11, 10},
        {"AAAAAAAA|bbbbbbbbbbbb", 0, TP_WHY_HAD_ROOM, 12, 12},
        {"AAAAAAAA|1bbbbbbbbbbbb", 0, TP_WHY_FRAGMENTED, 12, 0}, /* it serves its graph alone */
        {"AAAAAAAAAAAA", 2, TP_WHY_TOO_BIG, 2, 0},
        {"AAAAAAAAAAAAb", 2, TP_WHY_TOO_BIG, 3, 0}, /* 1 MiB would be of the small pool */
        {"AAAAAAAAAAAAbb", 10, TP_WHY_FRAGMENTED, 12, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_why_layout l;
        draw(&l, cases[i].heap);
        uint64_t free = cases[i].free == UINT64_MAX ? UINT64_MAX : cases[i].free * MIB;
        struct tp_why_room r = asked(&l, &tp_torch_defaults, 12 * MIB - 7, free);
        assert_fields(r, verdict, cases[i].verdict, need, 12 * MIB, there, cases[i].there * MIB,
                      fitting, cases[i].fitting * MIB);
        tp_why_room_release(&r);
        tp_why_layout_release(&l);
    }
}

TEST(ways_to_room)
{
    static const struct {
        const char *heap;
        uint64_t free, ask; /* MiB */
        enum tp_why_way way;
        size_t blocks, first; /* number of the first block */
        uint64_t bytes;       /* MiB */
    } cases[] = {
        {"aaaaBccccDDDD", 0, 9, TP_WHY_HOLE, 1, 1, 1},
        {"aaaaBccccDDDD", 0, 10, TP_WHY_HOLE, 2, 1, 5},
        {"AbbbbBBBccccD|AAA", 0, 11, TP_WHY_HOLE, 1, 2, 3},
        {"AbbbbBBBccccDeeeee|AAA", 0, 13, TP_WHY_HOLE, 2, 2, 4},
        {"aBaBaBaBaB|AAAAAAAAAAAA", 0, 10, TP_WHY_HOLE, 1, 10, 12}, /* the other segment, alone */
        {"1AAAAAAAA|BBBBBBB|CCCCC", 0, 12, TP_WHY_SEGMENTS, 2, 1,
         12}, /* the first one never goes */
        {"AAAAAAAA|BBBBBBB|CCCCC", 0, 14, TP_WHY_SEGMENTS, 2, 0, 15},
        {"AAAAAAAA|BBBBBBB|CCCCC", 5, 12, TP_WHY_SEGMENTS, 1, 0, 8},
        {"AAAAAAAA|BBBBBBB|CCCCC", 7, 28, TP_WHY_NO_WAY, 0, 0, 0},
        {"AAAAAAAA|BBBBBBB|CCCCC", 7, 26, TP_WHY_SEGMENTS, 3, 0, 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_why_layout l;
        draw(&l, cases[i].heap);
        struct tp_why_room r =
            asked(&l, &tp_torch_defaults, cases[i].ask * MIB, cases[i].free * MIB);
        assert_fields(r, way, cases[i].way, block_count, cases[i].blocks);
        if (r.block_count)
            assert_int_equal(r.blocks[0], cases[i].first);
        assert_int_equal(r.bytes, cases[i].bytes * MIB);
        tp_why_room_release(&r);
        tp_why_layout_release(&l);
    }
}

/* ---- against trying all ---- */

/* Whether a request finds room once the live blocks with a bit in `gone` are not there. */
static bool has_room(const struct tp_why_layout *l, const struct tp_torch_rules *rules,
                     uint64_t need, uint64_t free, const bool *gone)
{
    uint64_t unused = 0;
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        uint64_t run = 0;
        bool used = false;
        for (size_t k = s->first; k <= s->first + s->count; k++) {
            bool end = k == s->first + s->count;
            if (!end && (!l->blocks[k].requested || gone[k])) {
                run += l->blocks[k].size;
                continue;
            }
            bool limited = need < rules->split_limit ? run >= rules->split_limit
                                                     : run >= need + rules->oversize_rest;
            if (run >= need && !limited && !s->at.small && s->at.stream == 0)
                return true;
            used |= !end;
            run = 0;
        }
        unused += used ? 0 : s->at.size;
    }
    return unused + free >= tp_torch_segment_bytes(rules, need);
}

/* The fewest blocks whose absence makes room; SIZE_MAX: none do. */
static size_t fewest(const struct tp_why_layout *l, const struct tp_torch_rules *rules,
                     uint64_t need, uint64_t free)
{
    size_t live[16], count = 0, best = SIZE_MAX;
    for (size_t k = 0; k < l->count; k++)
        if (l->blocks[k].requested)
            live[count++] = k;
    for (unsigned set = 0; set < 1u << count; set++) {
        bool gone[64] = {false};
        size_t size = (size_t)__builtin_popcount(set);
        for (size_t i = 0; i < count; i++)
            gone[live[i]] = set >> i & 1;
        if (size < best && has_room(l, rules, need, free, gone))
            best = size;
    }
    return best;
}

/* At most 12 live blocks. */
static void draw_by_chance(struct tp_why_layout *l, uint64_t *seed)
{
    char text[256];
    size_t n = 0;
    int live = 0;
    for (uint64_t segments = 1 + tp_random_split(seed) % 4; segments--;) {
        for (uint64_t blocks = 1 + tp_random_split(seed) % 5; blocks--;) {
            bool used = live < 12 && tp_random_split(seed) % 2;
            char letter = (char)(used ? 'A' + (char)blocks : 'a'); /* free ones are one block */
            live += used;
            for (uint64_t size = 1 + tp_random_split(seed) % 6; size--;)
                text[n++] = letter;
        }
        text[n++] = segments ? '|' : '\0';
    }
    draw(l, text);
    for (size_t i = 0; i < l->segment_count; i++) {
        l->segments[i].at.small = tp_random_split(seed) % 8 == 0;
        l->segments[i].at.stream = tp_random_split(seed) % 8 == 0;
    }
}

TEST(the_set_makes_room_and_is_small)
{
    uint64_t seed = 20261123;
    size_t sets = 0, blocks = 0, fewest_blocks = 0;
    for (int i = 0; i < 3000; i++) {
        struct tp_why_layout l;
        struct tp_torch_rules rules = tp_torch_defaults;
        draw_by_chance(&l, &seed);
        if (tp_random_split(&seed) % 3 == 0) {
            rules.split_limit = (4 + tp_random_split(&seed) % 12) * MIB;
            rules.oversize_rest = (1 + tp_random_split(&seed) % 4) * MIB;
        }
        uint64_t need = (2 + tp_random_split(&seed) % 24) * MIB,
                 free = tp_random_split(&seed) % 12 * MIB;
        struct tp_why_room r = asked(&l, &rules, need, free);
        size_t least = fewest(&l, &rules, need, free);
        if (!r.block_count != (least == SIZE_MAX || !least) || (least == 1 && r.block_count != 1))
            fail_msg("case %d: %zu blocks instead of %zu", i, r.block_count, least);
        blocks += r.block_count;
        fewest_blocks += r.block_count ? least : 0;
        bool gone[64] = {false};
        for (size_t k = 0; k < r.block_count; k++)
            gone[r.blocks[k]] = true;
        if (r.block_count && !has_room(&l, &rules, need, free, gone))
            fail_msg("case %d: the set makes no room", i);
        bool now = r.verdict == TP_WHY_HAD_ROOM || r.verdict == TP_WHY_REFUSED;
        assert_int_equal(now, least == 0);
        sets += r.block_count > 1;
        tp_why_room_release(&r);
        tp_why_layout_release(&l);
    }
    print_message("%zu blocks, where %zu are fewest\n", blocks, fewest_blocks);
    assert_true(sets > 300 && blocks < fewest_blocks + fewest_blocks / 10);
}

/* ---- snapshots ---- */

/* ---- moments ---- */

static void add_event(struct tp_pytorch *s, enum tp_pytorch_action action, uint64_t size,
                      int64_t time_us)
{
    const struct tp_pytorch_event ev = {
        .time_us = time_us, .size = size, .action = (uint8_t)action, .has_time = true};
    assert_int_equal(tp_spill_add(&s->events, &ev, NULL), TP_OK);
    s->devices[0].count++;
}

/* A file may claim more bytes than a number holds; its times need not ascend. */
TEST(moments_of_a_file_that_lies)
{
    enum { CLAIMS = 1 << 16 };
    struct tp_torch_file *f = calloc(1, sizeof *f);
    const struct tp_explained x = {.file = {.by = tp_certifiers[0], .state = f},
                                   .by = tp_explainers[0]};
    struct tp_why_moment m;
    assert_non_null(f);
    tp_spill_init(&f->snapshot.events, sizeof(struct tp_pytorch_event), 16 << 20);
    add_event(&f->snapshot, TP_PYTORCH_SEGMENT_ALLOC, MIB, 500);
    for (int i = 0; i < CLAIMS; i++)
        add_event(&f->snapshot, TP_PYTORCH_ALLOC, TP_MAX_SIZE, 400);
    assert_int_equal(tp_why_moment(&x, 0, TP_WHY_AUTO, 0, &m, NULL), TP_OK);
    assert_int_equal(m.when, TP_WHY_PEAK);
    assert_in_range(m.event, CLAIMS / 2, CLAIMS);
    assert_int_equal(m.since_ns, 0);
    tp_spill_release(&f->snapshot.events);
    free(f);
}

TEST(times_between_events)
{
    assert_int_equal(tp_pytorch_ns_between(400, 500), 100000);
    assert_int_equal(tp_pytorch_ns_between(500, 500), 0);
    assert_int_equal(tp_pytorch_ns_between(500, 400), 0);
    assert_int_equal(tp_pytorch_ns_between(1, INT64_MAX), UINT64_MAX);
}

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

/* What is known of real files by another reckoning: GiB with three decimals. */
TEST(figures_of_a_real_file)
{
    char path[4096];
    struct tp_explained x;
    struct tp_why w;
    struct tp_why_places places;
    const struct tp_why_cfg cfg = {.stop = never};
    if (!find_snapshot(TAPOOL_ROOT, "ring-wrapped.pickle.gz", path, sizeof path)) {
        print_message("ring-wrapped.pickle.gz is not here: left out\n");
        return;
    }
    assert_int_equal(tp_explained_open(&x, path, UINT64_C(1) << 30, NULL), TP_OK);
    assert_int_equal(x.file.by->set_rules(x.file.state, &(struct tp_rules_ask){.conf = NULL}, NULL),
                     TP_OK);
    assert_int_equal(x.by->open_places(x.file.state, &places, NULL), TP_OK);
    assert_int_equal(tp_why(&x, 0, &cfg, &places, &w, NULL), TP_OK);
    assert_fields(w.moment, when, TP_WHY_PEAK, event, 9980);
    assert_int_equal(w.sum.requested, UINT64_C(15824637956)); /* 14.738 */
    assert_int_equal(w.sum.free_bytes, UINT64_C(3556769792)); /* 3.313 */
    assert_int_equal(w.sum.reserved, UINT64_C(20673724416));  /* 19.254 */
    /* together 1.204; the rest of a block that is too small to be split off is rounding here */
    assert_int_equal(w.sum.rounding + w.sum.hole_bytes, UINT64_C(1292316668));
    assert_int_equal(w.verified.addresses.good, 3329);
    assert_true(tp_agrees(&w.verified));
    assert_fields(*w.sites, bytes, w.sum.requested, blocks, w.sum.live);
    tp_why_release(&w);
    tp_why_places_close(&places);
    tp_explained_close(&x);
}
