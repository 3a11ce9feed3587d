/* Profiles `fleet-0` to `fleet-9`: sizes, rates and lifetimes of ten workloads of a large fleet of
 * servers, as google/fleetbench publishes them.
 *
 * Their tables state which share of all allocations and which share of all live objects a size has.
 * By Little's law the mean lifetime of a size is its live count divided by its rate. So that counts
 * are exact rather than right on average, the number of allocations of each size is fixed before
 * the first one, and only their order is random. The live count of a size is a whole number and a
 * fraction. The whole number is kept by freeing one object for each one allocated, and the fraction
 * by freeing it that share of the mean time between two allocations of this size later.
 *
 * Ageing (--age) replaces the heap a number of times between 'fill' and 'steady'. A free that is
 * due then frees another object of the same octave of sizes, so that its bytes stay as they are and
 * its single sizes shift: each has a quota from half to 1.5 times its count, drawn again when the
 * octave was replaced once. Of two objects of the chosen size the younger is freed, so lifetimes
 * have a heavy tail: after n turnovers of a size 1/(1+n) of its first objects are live. At the end
 * each size gets its count back. Pages are thus held by few old objects of sizes that have become
 * rarer.
 *
 * Known weakness: the tables know no threads, no change over time and no lifetimes other than their
 * mean; quotas and tail are assumptions. Their rates have no unit, so turnovers have no hours.
 * Sizes rarer than one object occur with some seeds only. The tables leave out what is rarer than
 * one object in two billion, which has 6% of the live bytes of workload 5 and 2% of 9. */
#include "traces/profiles/common/fleet.h"

#include "alloc/base/grow.h"
#include "traces/profiles/common/emit.h"
#include "traces/profiles/common/fleet_table.h"
#include "traces/profiles/common/fleet_table_0.h"
#include "traces/profiles/common/fleet_table_1.h"
#include "traces/profiles/common/fleet_table_2.h"
#include "traces/profiles/common/fleet_table_3.h"
#include "traces/profiles/common/fleet_table_4.h"
#include "traces/profiles/common/fleet_table_5.h"
#include "traces/profiles/common/fleet_table_6.h"
#include "traces/profiles/common/fleet_table_7.h"
#include "traces/profiles/common/fleet_table_8.h"
#include "traces/profiles/common/fleet_table_9.h"

#include <stdlib.h>

enum {
    DECK = 2048, /* more than any table has rows; a power of two */
    OCTAVES = 64,
    AGEING_MAX = 5000000 /* allocations: 10^7 events */
};

const struct tp_opt tp_fleet_options[] = {
    TP_PROFILE_COUNT_ROW(struct tp_fleet_opts, live, "20000", TP_PROFILE_MAX_LIVE,
                         "number of live objects"),
    TP_PROFILE_COUNT_ROW(struct tp_fleet_opts, count, "200000", TP_PROFILE_MAX_COUNT,
                         "number of allocations, without those of ageing"),
    TP_UINT_ROW(struct tp_fleet_opts, age, .def = "0", .max = AGEING_MAX,
                .help = "turnovers of the heap before 'steady'"),
    TP_PROFILE_COUNT_ROW(struct tp_fleet_opts, threads, "1", 1024,
                         "number of threads, each with its own objects"),
    {.name = NULL}};

/* Objects of one size. */
struct fleet_size {
    uint64_t bytes, allocs;     /* allocations of this phase */
    uint64_t initial, whole;    /* objects at the start, and always */
    uint64_t delay;             /* of a free after its allocation, in steps */
    uint64_t expected, waiting; /* objects that would be live without ageing; frees that wait */
    uint64_t swing;             /* largest offset */
    int64_t offset;             /* quota of ageing, beyond `expected` */
    int64_t *ids;               /* of the live ones */
    size_t live, room;
};

/* All sizes from a power of two to the next. */
struct fleet_octave {
    size_t first, end;          /* sizes */
    uint64_t period, allocated; /* bytes of a period, and allocated in this one */
    int64_t surplus;            /* live bytes beyond those without ageing */
};

struct fleet_free {
    uint64_t step;
    size_t size; /* index */
};

struct fleet {
    struct tp_emit emit;
    const struct tp_fleet_opts *o;
    const struct tp_fleet_table *table;
    uint64_t live, alloc_sum, live_sum;
    struct fleet_size sizes[DECK];
    struct fleet_octave octaves[OCTAVES];
    uint64_t deck[DECK + 1], left; /* allocations not yet dealt: a Fenwick tree from 1, their sum */
    struct fleet_free *frees;      /* a heap from 0, the earliest first */
    size_t free_count, free_room;
    uint64_t step;
    int64_t next_id;
    bool ages;
};

/* ---- the order of allocations ---- */

static void put_into_deck(struct fleet *f, size_t size, uint64_t count)
{
    f->left += count;
    for (size_t i = size + 1; i <= DECK; i += i & -i)
        f->deck[i] += count;
}

/* Takes one of the allocations that are left, each with the same probability. */
static size_t deal(struct fleet *f)
{
    uint64_t draw = tp_random_below(&f->emit.random, f->left--);
    size_t size = 0;
    for (size_t step = DECK / 2; step; step /= 2) {
        if (f->deck[size + step] <= draw) {
            size += step;
            draw -= f->deck[size];
        }
    }
    for (size_t i = size + 1; i <= DECK; i += i & -i)
        f->deck[i]--;
    return size;
}

/* ---- frees that wait ---- */

static void free_later(struct fleet *f, size_t size, uint64_t step)
{
    if (f->emit.status == TP_OK)
        f->emit.status =
            TP_GROW(&f->frees, &f->free_room, f->free_count + 1, f->emit.err, .what = "frees");
    if (f->emit.status != TP_OK)
        return;
    size_t at = f->free_count++;
    for (; at && f->frees[(at - 1) / 2].step > step; at = (at - 1) / 2)
        f->frees[at] = f->frees[(at - 1) / 2];
    f->frees[at] = (struct fleet_free){step, size};
    f->sizes[size].waiting++;
}

static size_t next_free(struct fleet *f)
{
    size_t size = f->frees[0].size, at = 0, child = 1;
    const struct fleet_free last = f->frees[--f->free_count];
    for (; child < f->free_count; at = child, child = 2 * at + 1) {
        child += child + 1 < f->free_count && f->frees[child + 1].step < f->frees[child].step;
        if (f->frees[child].step >= last.step)
            break;
        f->frees[at] = f->frees[child];
    }
    f->frees[at] = last;
    f->sizes[size].waiting--;
    return size;
}

/* ---- events ---- */

static void allocate_one(struct fleet *f, size_t size)
{
    struct fleet_size *s = &f->sizes[size];
    uint64_t thread = (uint64_t)f->next_id % f->o->threads;
    if (f->emit.status == TP_OK)
        f->emit.status = TP_GROW(&s->ids, &s->room, s->live + 1, f->emit.err, .what = "objects");
    if (f->emit.status != TP_OK)
        return;
    s->ids[s->live++] = f->next_id;
    s->expected++;
    tp_emit_alloc(&f->emit, thread, f->next_id++, s->bytes);
}

/* Each live object with the same probability, so that lifetimes are exponential. In ageing it is
 * the younger of two: lifetimes of mean L then have P(longer than t) = 1 / (1 + t/L)^2. */
static void free_one(struct fleet *f, size_t size)
{
    struct fleet_size *s = &f->sizes[size];
    size_t at = (size_t)tp_random_below(&f->emit.random, s->live);
    if (f->ages) {
        size_t other = (size_t)tp_random_below(&f->emit.random, s->live);
        at = s->ids[other] > s->ids[at] ? other : at;
    }
    int64_t id = s->ids[at];
    s->ids[at] = s->ids[--s->live];
    tp_emit_free(&f->emit, (uint64_t)id % f->o->threads, id);
}

/* ---- ageing ---- */

static struct fleet_octave *octave_of(struct fleet *f, size_t size)
{
    return &f->octaves[63 - __builtin_clzll(f->sizes[size].bytes)];
}

static int64_t difference(const struct fleet_size *s)
{
    return (int64_t)s->live - (int64_t)s->expected;
}

/* The size that has the most bytes beyond its quota. */
static size_t most_in_excess(const struct fleet *f, const struct fleet_octave *octave)
{
    size_t most = octave->first;
    int64_t most_bytes = INT64_MIN;
    for (size_t i = octave->first; i < octave->end; i++) {
        const struct fleet_size *s = &f->sizes[i];
        int64_t bytes = (difference(s) - s->offset) * (int64_t)s->bytes;
        if (s->live && bytes > most_bytes) {
            most = i;
            most_bytes = bytes;
        }
    }
    return most;
}

/* For a free of this size that is due: frees objects of its octave until that has as few bytes,
 * within half an object. */
static void free_in_octave(struct fleet *f, size_t size)
{
    struct fleet_octave *octave = octave_of(f, size);
    octave->surplus += (int64_t)f->sizes[size].bytes;
    while (f->emit.status == TP_OK) {
        size_t most = most_in_excess(f, octave);
        int64_t bytes = (int64_t)f->sizes[most].bytes;
        if (2 * octave->surplus < bytes)
            break;
        octave->surplus -= bytes;
        free_one(f, most);
    }
}

static void expect_less(struct fleet *f, size_t size)
{
    f->sizes[size].expected--;
    if (f->ages)
        free_in_octave(f, size);
    else if (f->emit.status == TP_OK)
        free_one(f, size);
}

static void draw_offsets(struct fleet *f, struct fleet_octave *octave)
{
    octave->allocated = 0;
    for (size_t i = octave->first; i < octave->end; i++) {
        uint64_t swing = f->sizes[i].swing;
        if (swing)
            f->sizes[i].offset =
                (int64_t)tp_random_from(&f->emit.random, 0, 2 * swing) - (int64_t)swing;
    }
}

/* A size that is allocated too rarely to grow back within a period has a smaller swing. */
static void begin_ageing(struct fleet *f)
{
    for (size_t i = 0; i < f->table->count; i++) {
        struct fleet_octave *octave = octave_of(f, i);
        octave->first = octave->end ? octave->first : i;
        octave->end = i + 1;
        octave->period += f->sizes[i].initial * f->sizes[i].bytes;
        octave->allocated += f->sizes[i].allocs * f->sizes[i].bytes;
    }
    for (size_t i = 0; i < f->table->count; i++) {
        struct fleet_size *s = &f->sizes[i];
        const struct fleet_octave *octave = octave_of(f, i);
        uint64_t allocs = s->allocs ? s->allocs * octave->period / octave->allocated : 0;
        s->swing = (allocs < s->initial ? allocs : s->initial) / 2;
    }
    for (size_t i = 0; i < OCTAVES; i++)
        draw_offsets(f, &f->octaves[i]);
    f->ages = true;
}

static void note_period(struct fleet *f, size_t size)
{
    struct fleet_octave *octave = octave_of(f, size);
    octave->allocated += f->sizes[size].bytes;
    if (octave->allocated >= octave->period)
        draw_offsets(f, octave);
}

/* Brings each size to its count without ageing. */
static void end_ageing(struct fleet *f)
{
    for (size_t i = 0; i < f->table->count; i++) {
        f->sizes[i].offset = 0;
        if (difference(&f->sizes[i]) < 0)
            put_into_deck(f, i, (uint64_t)-difference(&f->sizes[i]));
    }
    while (f->left && f->emit.status == TP_OK) {
        size_t size = deal(f);
        allocate_one(f, size);
        expect_less(f, size);
    }
    for (size_t i = 0; i < f->table->count; i++)
        while (difference(&f->sizes[i]) > 0 && f->emit.status == TP_OK)
            free_one(f, i);
    f->ages = false;
}

/* ---- the plan ---- */

/* Deals `count` objects to the rows by their shares. Every range of rows gets what it must have,
 * rounded up or down; the random start makes rare sizes as frequent as they should be. */
static uint64_t dealt(uint64_t before, uint64_t share, uint64_t count, uint64_t sum, uint64_t start)
{
    return ((before + share) * count + start) / sum - (before * count + start) / sum;
}

static void plan_steps(struct fleet *f, uint64_t steps, uint64_t start)
{
    uint64_t allocs = 0;
    for (size_t i = 0; i < f->table->count; i++) {
        const struct tp_fleet_row *row = &f->table->rows[i];
        struct fleet_size *s = &f->sizes[i];
        s->allocs = dealt(allocs, row->allocs, steps, f->alloc_sum, start);
        uint64_t part = row->live * f->live % f->live_sum, every = s->allocs * f->live_sum;
        s->delay = every ? (part * steps + every / 2) / every : 0;
        allocs += row->allocs;
    }
}

static void plan_fill(struct fleet *f, uint64_t start)
{
    uint64_t lives = 0;
    for (size_t i = 0; i < f->table->count; i++) {
        const struct tp_fleet_row *row = &f->table->rows[i];
        struct fleet_size *s = &f->sizes[i];
        s->bytes = row->size;
        s->initial = dealt(lives, row->live, f->live, f->live_sum, start);
        s->whole = row->live * f->live / f->live_sum;
        lives += row->live;
        put_into_deck(f, i, s->initial);
    }
}

/* Allocations after which as many bytes were allocated as are live after 'fill'. */
static uint64_t turnover(const struct fleet *f)
{
    uint64_t heap = 0, allocated = 0;
    for (size_t i = 0; i < f->table->count; i++) {
        heap += f->sizes[i].initial * f->sizes[i].bytes;
        allocated += f->table->rows[i].allocs * f->sizes[i].bytes;
    }
    return heap / (allocated / f->alloc_sum) + 1;
}

/* ---- the phases ---- */

static void fill_heap(struct fleet *f)
{
    tp_emit_mark(&f->emit, "fill");
    while (f->left && f->emit.status == TP_OK)
        allocate_one(f, deal(f));
}

/* The object beyond the whole number is as old as any at a random time. Sizes that are never
 * allocated again keep it. */
static void begin_steps(struct fleet *f)
{
    for (size_t i = 0; i < f->table->count; i++) {
        const struct fleet_size *s = &f->sizes[i];
        put_into_deck(f, i, s->allocs);
        if (s->allocs && s->expected > s->whole + s->waiting)
            free_later(f, i, f->step + tp_random_from(&f->emit.random, 0, s->delay));
    }
}

static void take_step(struct fleet *f)
{
    while (f->free_count && f->frees[0].step <= f->step && f->emit.status == TP_OK)
        expect_less(f, next_free(f));
    size_t size = deal(f);
    allocate_one(f, size);
    if (f->sizes[size].delay)
        free_later(f, size, f->step + f->sizes[size].delay);
    else
        expect_less(f, size);
    f->step++;
    if (f->ages)
        note_period(f, size);
}

static void take_steps(struct fleet *f, const char *phase, bool ages)
{
    tp_emit_mark(&f->emit, phase);
    if (f->emit.status == TP_OK)
        begin_steps(f);
    if (ages)
        begin_ageing(f);
    while (f->left && f->emit.status == TP_OK)
        take_step(f);
    if (ages)
        end_ageing(f);
}

static int run_phases(struct fleet *f, uint64_t steps)
{
    for (size_t i = 0; i < f->table->count; i++) {
        f->alloc_sum += f->table->rows[i].allocs;
        f->live_sum += f->table->rows[i].live;
    }
    uint64_t start = tp_random_below(&f->emit.random, f->alloc_sum);
    plan_fill(f, tp_random_below(&f->emit.random, f->live_sum));
    uint64_t ageing = turnover(f);
    if (f->o->age > AGEING_MAX / ageing)
        return tp_hint(f->emit.err,
                       tp_fail(f->emit.err, TP_EUSAGE,
                               "--age %" PRIu64 " is more than %d allocations: a turnover of this "
                               "heap is %" PRIu64,
                               f->o->age, AGEING_MAX, ageing),
                       "fewer turnovers, or a smaller heap: --live");
    fill_heap(f);
    if (f->o->age) {
        plan_steps(f, f->o->age * ageing, tp_random_below(&f->emit.random, f->alloc_sum));
        take_steps(f, "age", true);
    }
    plan_steps(f, steps, start);
    take_steps(f, "steady", false);
    return f->emit.status;
}

int tp_fleet_generate(size_t n, const struct tp_fleet_opts *o, uint64_t seed,
                      const struct tp_event_sink *sink, struct tp_err *err)
{
    struct fleet *f = calloc(1, sizeof *f);
    if (!f)
        return tp_fail(err, TP_ENOMEM, "out of memory for the state of 'fleet-%zu'", n);
    f->emit = tp_emit_begin(sink, seed, 100, err);
    f->o = o;
    f->table = &tp_fleet_tables[n];
    f->live = o->live < o->count ? o->live : o->count;
    int status = run_phases(f, o->count - f->live);
    for (size_t i = 0; i < f->table->count; i++)
        TP_GROW_END(&f->sizes[i].ids, &f->sizes[i].room, .what = "objects");
    TP_GROW_END(&f->frees, &f->free_room, .what = "frees");
    free(f);
    return status;
}

/* ---- the ten tables ---- */

#define FLEET_TABLE(n)                                                                             \
    {                                                                                              \
        fleet_rows_##n, sizeof fleet_rows_##n / sizeof *fleet_rows_##n                             \
    }
const struct tp_fleet_table tp_fleet_tables[TP_FLEET_PROFILES] = {
    FLEET_TABLE(0), FLEET_TABLE(1), FLEET_TABLE(2), FLEET_TABLE(3), FLEET_TABLE(4),
    FLEET_TABLE(5), FLEET_TABLE(6), FLEET_TABLE(7), FLEET_TABLE(8), FLEET_TABLE(9)};
