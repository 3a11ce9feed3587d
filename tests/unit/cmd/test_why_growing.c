/* tapool why where segments grow: what makes room, against a reckoning that tries every set of
 * blocks, cell by cell. */
#include "cmd/pytorch/why/why_room.h"

#include "alloc/base/random.h"
#include "tests/unit/test.h"

#include <string.h>

#define MIB UINT64_C(1048576)

enum { UNIT = 4, CELLS = 64, MOST = 200, SPACES = 4, LIVE_MOST = 12, BLOCKS_MOST = 256 };

static const struct tp_read_opts no_opts = {.device = -1};
static const struct tp_reading no_reading = {.opts = &no_opts};

/* Units of 4 MiB in both pools, so that every block is of the large one. */
static struct tp_torch_rules small_units(void)
{
    struct tp_torch_rules rules = tp_torch_defaults;
    rules.large_segment = rules.small_segment = UNIT * MIB;
    rules.expandable = true;
    return rules;
}

static void add_block(struct tp_why_layout *l, tp_addr addr, uint64_t size, bool live)
{
    struct tp_why_segment *s = &l->segments[l->segment_count - 1];
    assert_int_equal(TP_GROW(&l->blocks, &l->room, l->count + 1, NULL, .what = NULL), TP_OK);
    l->blocks[l->count++] = (struct tp_why_block){addr, size, live ? size - 100 : 0};
    s->at.size += size;
    s->live += live;
    s->count++;
}

static void add_segment(struct tp_why_layout *l, const struct tp_why_segment *s)
{
    assert_int_equal(
        TP_GROW(&l->segments, &l->segment_room, l->segment_count + 1, NULL, .what = NULL), TP_OK);
    l->segments[l->segment_count++] = *s;
    l->grows |= s->space.unit != 0;
}

/* Segments with '|' between them, of letters, each of them a block of 1 MiB as many times as it
 * stands there: small letters are free, capital ones live, dots not mapped. One that grows begins
 * with '+', and has the length of whole units. */
static void draw(struct tp_why_layout *l, const char *text)
{
    tp_addr addr = UINT64_C(1) << 30;
    *l = (struct tp_why_layout){.reading = &no_reading};
    for (const char *at = text; *at; addr += 2 * CELLS * MIB) {
        bool grows = *at == '+', mapped = false;
        tp_addr now = addr;
        for (at += grows; *at && *at != '|'; now += MIB) {
            size_t run = strspn(at, (char[]){*at, '\0'});
            if (*at != '.' && !mapped)
                add_segment(
                    l, &(struct tp_why_segment){.at = {.base = now},
                                                .space = {grows ? addr : 0, grows ? UNIT * MIB : 0},
                                                .first = l->count});
            mapped = *at != '.';
            if (mapped)
                add_block(l, now, run * MIB, *at < 'a');
            now += (run - 1) * MIB;
            at += run;
        }
        at += *at == '|';
    }
}

static struct tp_why_room asked(const struct tp_why_layout *l, uint64_t need, uint64_t free)
{
    struct tp_why_room room;
    const struct tp_torch_rules rules = small_units();
    const struct tp_why_request rq = {
        .size = need * MIB - 5, .has_free = free != UINT64_MAX, .free = free * MIB};
    assert_int_equal(tp_why_room(l, &rules, &rq, &room, NULL), TP_OK);
    return room;
}

/* Of the free bytes of segments that grow those in whole units are unused, others are holes. */
TEST(the_sum_knows_units)
{
    struct tp_why_layout l;
    draw(&l, "+AAbbbbbbbbbbCCbb....dddd|EEf|gg");
    struct tp_why_sum s = tp_why_sum(&l);
    assert_fields(s, reserved, 25 * MIB, hole_bytes, (2 + 2 + 1) * MIB, holes, 3, largest, 2 * MIB,
                  free_units, 3, unused, 1, free_bytes, (8 + 4 + 2) * MIB, reserved,
                  s.requested + s.rounding + s.hole_bytes + s.free_bytes);
    tp_why_layout_release(&l);
}

/* In MiB; units of 4. `asked_for`: what is to be mapped. */
TEST(verdicts)
{
    static const struct {
        const char *heap;
        uint64_t free, need;
        enum tp_why_verdict verdict;
        uint64_t asked_for, fitting;
    } cases[] = {
        /* behind A one byte of its unit: 4 + 1 */
        {"+AAAb", 4, 6, TP_WHY_TOO_BIG, 8, 5},
        {"+AAAb", 4, 5, TP_WHY_REFUSED, 4, 5},
        {"+AAAb", 3, 5, TP_WHY_TOO_BIG, 4, 0},
        {"+AAAb", 5, 6, TP_WHY_FRAGMENTED, 8, 5},
        {"+AAAA", 7, 4, TP_WHY_REFUSED, 4, 4},
        /* the hole is not mapped: 1 in front of it, 2 behind */
        {"+AAAb....bbCC", 0, 3, TP_WHY_FRAGMENTED, 4, 2},
        {"+AAAb....bbCC", 4, 7, TP_WHY_REFUSED, 4, 7},
        {"+AAAb....bbCC", 4, 8, TP_WHY_TOO_BIG, 8, 7},
        {"+AAAbbbbbCCbb", 0, 6, TP_WHY_REFUSED, 4, 6}, /* the unused unit, behind the last block */
        {"+AAAbbbbbCCbb", 0, 5, TP_WHY_HAD_ROOM, 4, 6},
        {"+AAAA|bbbb", 0, 5, TP_WHY_TOO_BIG, 8, 4}, /* an unused ordinary segment */
        {"+AAAA|bbbb", UINT64_MAX, 5, TP_WHY_NO_CAPACITY, 8, 4},
        {"AAAA", 9, 9, TP_WHY_FRAGMENTED, 12, 8}, /* the first segment that grows */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_why_layout l;
        draw(&l, cases[i].heap);
        struct tp_why_room r = asked(&l, cases[i].need, cases[i].free);
        assert_fields(r, segment, cases[i].asked_for * MIB, fitting, cases[i].fitting * MIB,
                      verdict, cases[i].verdict);
        tp_why_room_release(&r);
        tp_why_layout_release(&l);
    }
}

TEST(ways_to_room)
{
    static const struct {
        const char *heap;
        uint64_t free, need;
        enum tp_why_way way;
        size_t blocks, first;     /* number of the first block */
        uint64_t bytes, segments; /* MiB */
    } cases[] = {
        /* side by side: in a stretch, and over a hole that is not mapped */
        {"+AAbCbbDD", 0, 4, TP_WHY_HOLE, 1, 2, 1, 1},
        {"+AAbC....bbDD", 4, 8, TP_WHY_HOLE, 1, 2, 1, 1},
        {"+ABCDeeeF", 0, 4, TP_WHY_HOLE, 1, 3, 1, 1},
        /* the driver gets what is to be mapped: a segment, a unit */
        {"+AABB|CCCC", 4, 8, TP_WHY_UNITS, 1, 2, 4, 1},
        {"+AABBCCCCDDEE", 4, 8, TP_WHY_UNITS, 1, 2, 4, 1},
        {"+AB|CD", 0, 9, TP_WHY_NO_WAY, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_why_layout l;
        draw(&l, cases[i].heap);
        struct tp_why_room r = asked(&l, cases[i].need, cases[i].free);
        assert_fields(r, segments, cases[i].segments, block_count, cases[i].blocks, way,
                      cases[i].way);
        if (r.block_count)
            assert_int_equal(r.blocks[0], cases[i].first);
        assert_int_equal(r.bytes, cases[i].bytes * MIB);
        tp_why_room_release(&r);
        tp_why_layout_release(&l);
    }
}

/* ---- against trying all ---- */

enum cell { UNMAPPED, FREE, USED };

struct cells {
    const struct tp_why_segment *of; /* of the first stretch */
    enum cell at[CELLS];
};

/* The cells of the segments that grow once some blocks are gone and unused units went back. Returns
 * MiB that went back. */
static uint64_t lay_cells(const struct tp_why_layout *l, const bool *gone, struct cells *c,
                          size_t *count)
{
    uint64_t back = 0;
    *count = 0;
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        bool used = false;
        if (s->space.unit && (!*count || c[*count - 1].of->space.base != s->space.base))
            c[(*count)++] = (struct cells){.of = s};
        for (size_t k = s->first; k < s->first + s->count; k++) {
            const struct tp_why_block *b = &l->blocks[k];
            bool live = b->requested && !gone[k];
            used |= live;
            for (uint64_t at = 0; s->space.unit && at < b->size / MIB; at++)
                c[*count - 1].at[(b->addr - s->space.base) / MIB + at] = live ? USED : FREE;
        }
        back += s->space.unit || used ? 0 : s->at.size / MIB;
    }
    for (size_t i = 0; i < *count; i++)
        for (size_t u = 0; u < CELLS; u += UNIT) {
            bool unused = c[i].at[u] != UNMAPPED;
            for (size_t at = u; at < u + UNIT; at++)
                unused &= c[i].at[at] != USED;
            for (size_t at = u; unused && at < u + UNIT; at++)
                c[i].at[at] = UNMAPPED;
            back += unused ? UNIT : 0;
        }
    return back;
}

/* Units to be mapped for `need` cells from one on; UINT64_MAX: something is in the way. */
static uint64_t units_from(const struct cells *c, uint64_t at, uint64_t need)
{
    uint64_t units = 0, counted = UINT64_MAX;
    for (uint64_t k = at; k < at + need; k++) {
        enum cell now = k < CELLS ? c->at[k] : UNMAPPED;
        if (now == USED)
            return UINT64_MAX;
        units += now == UNMAPPED && k / UNIT != counted;
        counted = now == UNMAPPED ? k / UNIT : counted;
    }
    return units;
}

static bool has_hole(const struct tp_why_layout *l, uint64_t need, const bool *gone)
{
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        uint64_t run = 0;
        for (size_t k = s->first; k < s->first + s->count; k++) {
            run = l->blocks[k].requested && !gone[k] ? 0 : run + l->blocks[k].size / MIB;
            if (run >= need && !s->at.small && s->at.stream == 0)
                return true;
        }
    }
    return false;
}

static bool has_room(const struct tp_why_layout *l, uint64_t need, uint64_t free, const bool *gone)
{
    struct cells c[SPACES];
    size_t count = 0;
    uint64_t driver = free + lay_cells(l, gone, c, &count);
    bool room = has_hole(l, need, gone) || (need + UNIT - 1) / UNIT * UNIT <= driver;
    for (size_t i = 0; i < count; i++)
        for (uint64_t at = 0; at < CELLS && !c[i].of->at.small && !c[i].of->at.stream; at++) {
            bool begins = !at || c[i].at[at - 1] == USED;
            uint64_t units = begins ? units_from(&c[i], at, need) : UINT64_MAX;
            room |= units != UINT64_MAX && units * UNIT <= driver;
        }
    return room;
}

static size_t fewest(const struct tp_why_layout *l, uint64_t need, uint64_t free)
{
    size_t live[LIVE_MOST + 1], count = 0, best = SIZE_MAX;
    for (size_t k = 0; k < l->count; k++)
        if (l->blocks[k].requested)
            live[count++] = k;
    for (unsigned set = 0; set < 1u << count; set++) {
        bool gone[BLOCKS_MOST] = {false};
        size_t size = (size_t)__builtin_popcount(set);
        for (size_t i = 0; i < count; i++)
            gone[live[i]] = set >> i & 1;
        if (size < best && has_room(l, need, free, gone))
            best = size;
    }
    return best;
}

/* A stretch of whole units, or an ordinary segment. */
static char *draw_blocks(char *text, uint64_t cells, int *live, uint64_t *seed)
{
    char letter = 'a';
    while (cells) {
        uint64_t size = 1 + tp_random_split(seed) % (tp_random_split(seed) % 4 ? 5 : 3 * UNIT);
        bool used = *live < LIVE_MOST && tp_random_split(seed) % 3 > 0;
        size = size < cells ? size : cells;
        letter = (char)(used ? 'A' + (letter + 1) % 26 : 'a'); /* free ones are one block */
        *live += used;
        memset(text, letter, size);
        text += size;
        cells -= size;
    }
    return text;
}

static void draw_by_chance(struct tp_why_layout *l, uint64_t *seed)
{
    char text[SPACES * 2 * CELLS], *at = text;
    int live = 0;
    for (uint64_t n = 1 + tp_random_split(seed) % 3; n--; *at++ = n ? '|' : '\0') {
        bool grows = tp_random_split(seed) % 4 > 0;
        if (!grows) {
            at = draw_blocks(at, 1 + tp_random_split(seed) % 9, &live, seed);
            continue;
        }
        *at++ = '+';
        for (uint64_t parts = 1 + tp_random_split(seed) % 3; parts--;) {
            uint64_t hole = UNIT * (tp_random_split(seed) % 3);
            memset(at, '.', hole);
            at = draw_blocks(at + hole, UNIT * (1 + tp_random_split(seed) % 3), &live, seed);
        }
    }
    draw(l, text);
    for (size_t i = 0; i < l->segment_count; i++) {
        struct tp_why_segment *s = &l->segments[i];
        bool same = i && s->space.unit && s[-1].space.base == s->space.base;
        s->at.small = same ? s[-1].at.small : tp_random_split(seed) % 8 == 0;
        s->at.stream = same ? s[-1].at.stream : tp_random_split(seed) % 3 == 0;
    }
}

/* Adds the blocks of the set, and of the smallest one. */
static void check(const struct tp_why_layout *l, uint64_t need, uint64_t free, int number,
                  size_t sums[2])
{
    struct tp_why_room r = asked(l, need, free);
    size_t least = fewest(l, need, free);
    bool gone[BLOCKS_MOST] = {false};
    bool now = r.verdict == TP_WHY_HAD_ROOM || r.verdict == TP_WHY_REFUSED;
    if ((r.block_count && (r.block_count < least || least == SIZE_MAX)) || now != (least == 0))
        fail_msg("case %d: %zu blocks instead of %zu", number, r.block_count, least);
    for (size_t k = 0; k < r.block_count; k++)
        gone[r.blocks[k]] = true;
    if (r.block_count && !has_room(l, need, free, gone))
        fail_msg("case %d: the set makes no room", number);
    sums[0] += r.block_count;
    sums[1] += r.block_count ? least : 0;
    tp_why_room_release(&r);
}

TEST(the_set_makes_room_and_is_small)
{
    size_t sums[2] = {0};
    uint64_t seed = 20261124;
    for (int i = 0; i < 1500; i++) {
        struct tp_why_layout l;
        draw_by_chance(&l, &seed);
        check(&l, 2 + tp_random_split(&seed) % 20, tp_random_split(&seed) % 14, i, sums);
        tp_why_layout_release(&l);
    }
    print_message("%zu blocks, where %zu are fewest\n", sums[0], sums[1]);
    assert_true(sums[1] > 300 && sums[0] < sums[1] + sums[1] / 5);
}

/* The largest request that fits is the largest that finds room. */
TEST(the_largest_is_that_of_trying_all)
{
    static const bool none[BLOCKS_MOST];
    uint64_t seed = 20261125;
    for (int i = 0; i < 1500; i++) {
        struct tp_why_layout l;
        draw_by_chance(&l, &seed);
        uint64_t free = tp_random_split(&seed) % 14, largest = 1;
        for (uint64_t need = 2; need < MOST; need++)
            largest = has_room(&l, need, free, none) ? need : largest;
        struct tp_why_room r = asked(&l, MOST, free);
        if (r.fitting != (largest > 1 ? largest * MIB : 0))
            fail_msg("case %d: %llu instead of %llu MiB", i, (unsigned long long)(r.fitting / MIB),
                     (unsigned long long)largest);
        tp_why_room_release(&r);
        tp_why_layout_release(&l);
    }
}
