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
 * Known weakness: the tables know no threads, no change over time and no lifetimes other than their
 * mean. Sizes rarer than one object occur with some seeds only. The tables leave out what is rarer
 * than one object in two billion, which has 6% of the live bytes of workload 5 and 2% of 9. */
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

enum { DECK = 2048 }; /* more than any table has rows; a power of two */

const struct tp_opt tp_fleet_options[] = {
    TP_PROFILE_COUNT_ROW(struct tp_fleet_opts, live, "20000", TP_PROFILE_MAX_LIVE,
                         "number of live objects"),
    TP_PROFILE_COUNT_ROW(struct tp_fleet_opts, count, "200000", TP_PROFILE_MAX_COUNT,
                         "number of allocations"),
    TP_PROFILE_COUNT_ROW(struct tp_fleet_opts, threads, "1", 1024,
                         "number of threads, each with its own objects"),
    {.name = NULL}};

/* Objects of one size. */
struct fleet_size {
    uint64_t bytes, allocs;
    uint64_t initial, whole; /* objects at the start, and always */
    uint64_t delay;          /* of a free after its allocation, in steps */
    int64_t *ids;            /* of the live ones */
    size_t live, room;
};

struct fleet_free {
    uint64_t step;
    size_t size; /* index */
};

struct fleet {
    struct tp_emit emit;
    const struct tp_fleet_opts *o;
    struct fleet_size sizes[DECK];
    uint64_t deck[DECK + 1], left; /* allocations not yet dealt: a Fenwick tree from 1, their sum */
    struct fleet_free *frees;      /* a heap from 0, the earliest first */
    size_t free_count, free_room;
    int64_t next_id;
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
    tp_emit_alloc(&f->emit, thread, f->next_id++, s->bytes);
}

static void free_one(struct fleet *f, size_t size)
{
    struct fleet_size *s = &f->sizes[size];
    size_t at = (size_t)tp_random_below(&f->emit.random, s->live);
    int64_t id = s->ids[at];
    s->ids[at] = s->ids[--s->live];
    tp_emit_free(&f->emit, (uint64_t)id % f->o->threads, id);
}

/* Deals `count` objects to the rows by their shares. Every range of rows gets what it must have,
 * rounded up or down; the random start makes rare sizes as frequent as they should be. */
static uint64_t dealt(uint64_t before, uint64_t share, uint64_t count, uint64_t sum, uint64_t start)
{
    return ((before + share) * count + start) / sum - (before * count + start) / sum;
}

static void plan(struct fleet *f, const struct tp_fleet_table *table, uint64_t live, uint64_t steps)
{
    uint64_t allocs = 0, lives = 0, alloc_sum = 0, live_sum = 0;
    for (size_t i = 0; i < table->count; i++) {
        alloc_sum += table->rows[i].allocs;
        live_sum += table->rows[i].live;
    }
    uint64_t alloc_start = tp_random_below(&f->emit.random, alloc_sum);
    uint64_t live_start = tp_random_below(&f->emit.random, live_sum);
    for (size_t i = 0; i < table->count; i++) {
        const struct tp_fleet_row *row = &table->rows[i];
        struct fleet_size *s = &f->sizes[i];
        s->bytes = row->size;
        s->allocs = dealt(allocs, row->allocs, steps, alloc_sum, alloc_start);
        s->initial = dealt(lives, row->live, live, live_sum, live_start);
        s->whole = row->live * live / live_sum;
        uint64_t part = row->live * live % live_sum, every = s->allocs * live_sum;
        s->delay = every ? (part * steps + every / 2) / every : 0;
        allocs += row->allocs;
        lives += row->live;
        put_into_deck(f, i, s->initial);
    }
}

/* The object beyond the whole number is as old as any at a random time. Sizes that are never
 * allocated again keep it. */
static void begin_steps(struct fleet *f, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fleet_size *s = &f->sizes[i];
        put_into_deck(f, i, s->allocs);
        if (s->allocs && s->initial > s->whole)
            free_later(f, i, tp_random_from(&f->emit.random, 0, s->delay));
    }
}

static void take_step(struct fleet *f, uint64_t step)
{
    while (f->free_count && f->frees[0].step <= step && f->emit.status == TP_OK)
        free_one(f, next_free(f));
    size_t size = deal(f);
    allocate_one(f, size);
    if (f->sizes[size].delay)
        free_later(f, size, step + f->sizes[size].delay);
    else if (f->emit.status == TP_OK)
        free_one(f, size);
}

int tp_fleet_generate(size_t n, const struct tp_fleet_opts *o, uint64_t seed,
                      const struct tp_event_sink *sink, struct tp_err *err)
{
    const struct tp_fleet_table *table = &tp_fleet_tables[n];
    uint64_t live = o->live < o->count ? o->live : o->count, steps = o->count - live;
    struct fleet *f = calloc(1, sizeof *f);
    if (!f)
        return tp_fail(err, TP_ENOMEM, "out of memory for the state of 'fleet-%zu'", n);
    f->emit = tp_emit_begin(sink, seed, 100, err);
    f->o = o;
    plan(f, table, live, steps);
    tp_emit_mark(&f->emit, "fill");
    while (f->left && f->emit.status == TP_OK)
        allocate_one(f, deal(f));
    tp_emit_mark(&f->emit, "steady");
    if (f->emit.status == TP_OK)
        begin_steps(f, table->count);
    for (uint64_t step = 0; step < steps && f->emit.status == TP_OK; step++)
        take_step(f, step);
    int status = f->emit.status;
    for (size_t i = 0; i < table->count; i++)
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
