/* See why_growing.h. Whole units are chosen side by side, by a window over those of all segments; a
 * block that reaches into the next unit counts once. An ordinary segment is one unit. */
#include "cmd/pytorch/why/why_growing.h"

#include <assert.h>
#include <stdlib.h>

enum { UNITS_MOST = 1 << 18 };

struct why_unit {
    tp_addr at;
    uint64_t gain;      /* bytes that the driver gets when its blocks go */
    size_t first, last; /* numbers of the blocks that lie in it */
    size_t live;        /* of them */
    bool entered;       /* the first one reaches into it from the unit before */
};

/* A live block of the request's pool and stream, or the beginning of a segment, where none is. */
struct bound {
    const struct tp_why_space *space;
    tp_addr begin, end;
    size_t block;   /* its number in the layout, where it is a block */
    uint64_t bytes; /* of all blocks up to this one in the list */
    size_t unit;    /* number of that in which it begins */
    size_t head;    /* number of the bound that is the beginning of its segment */
    size_t behind;  /* of a beginning: number of the unit behind the last one of the segment */
};

/* The request lies behind a bound, and what lay there is gone. */
struct berth {
    size_t bound, blocks; /* that go: those of the bounds behind it */
    uint64_t mapped;      /* units */
    uint64_t value;       /* bytes: what the driver gets, and what it need not give */
};

struct tp_why_growing {
    struct tp_why_growing_cfg cfg;
    struct why_unit *units;
    uint64_t *gains; /* of all units before one */
    struct bound *bounds;
    struct berth *berths; /* one for each bound */
    size_t unit_count, bound_count;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- units ---- */

/* Those of private pools never go back. */
static uint64_t units_of(const struct tp_why_segment *s)
{
    if (s->at.pool)
        return 0;
    return s->space.unit ? (s->at.size + s->space.unit - 1) / s->space.unit : s->live > 0;
}

/* Adds the unit up to `end`, of which `first` is the first block. Returns that of the next one. */
static size_t add_unit(struct tp_why_growing *g, const struct tp_why_segment *s, tp_addr at,
                       tp_addr end, size_t first)
{
    const struct tp_why_block *b = g->cfg.layout->blocks;
    struct why_unit u = {.at = at, .first = first, .last = first};
    u.entered = b[first].requested && b[first].addr < at;
    for (size_t k = first; k < s->first + s->count && b[k].addr < end; k++) {
        u.live += b[k].requested != 0;
        u.last = k;
    }
    u.gain = u.live ? end - at : 0;
    g->gains[g->unit_count + 1] = g->gains[g->unit_count] + u.gain;
    g->units[g->unit_count++] = u;
    return u.last + (b[u.last].addr + b[u.last].size <= end);
}

static void add_units(struct tp_why_growing *g, const struct tp_why_segment *s)
{
    uint64_t unit = s->space.unit ? s->space.unit : s->at.size;
    tp_addr end = s->at.base + s->at.size, next = 0;
    size_t block = s->first;
    for (tp_addr at = s->at.base; units_of(s) && at < end; at = next) {
        next = end - at > unit ? at + unit : end;
        block = add_unit(g, s, at, next, block);
    }
}

static int list_units(struct tp_why_growing *g, struct tp_err *err)
{
    const struct tp_why_layout *l = g->cfg.layout;
    uint64_t count = 0;
    for (size_t i = 0; i < l->segment_count && count <= UNITS_MOST; i++)
        count += units_of(&l->segments[i]);
    if (count > UNITS_MOST)
        return TP_OK;
    g->units = calloc(count + 1, sizeof *g->units);
    g->gains = calloc(count + 1, sizeof *g->gains);
    if (!g->units || !g->gains)
        return no_memory(err);
    for (size_t i = 0; i < l->segment_count; i++)
        add_units(g, &l->segments[i]);
    return TP_OK;
}

/* ---- bounds ---- */

static void add_bound(struct tp_why_growing *g, struct bound b)
{
    const struct bound *last = g->bound_count ? &g->bounds[g->bound_count - 1] : NULL;
    b.bytes = last ? last->bytes + (b.end - b.begin) : 0;
    g->bounds[g->bound_count++] = b;
}

/* Adds those of a segment, of which `unit` is the first unit. */
static void add_bounds(struct tp_why_growing *g, const struct tp_why_segment *s, size_t unit)
{
    struct bound b = {.space = &s->space, .begin = s->space.base, .end = s->space.base};
    b.head = g->bound_count ? g->bounds[g->bound_count - 1].head : 0;
    b.unit = unit;
    if (!g->bound_count || g->bounds[b.head].space->base != s->space.base) {
        b.head = g->bound_count;
        add_bound(g, b);
    }
    g->bounds[b.head].behind = unit + (size_t)units_of(s);
    for (size_t k = s->first; k < s->first + s->count; k++) {
        const struct tp_why_block *block = &g->cfg.layout->blocks[k];
        b.block = k;
        b.begin = block->addr;
        b.end = block->addr + block->size;
        b.unit = unit + (size_t)((block->addr - s->at.base) / s->space.unit);
        if (block->requested)
            add_bound(g, b);
    }
}

static int list_bounds(struct tp_why_growing *g, struct tp_err *err)
{
    const struct tp_why_layout *l = g->cfg.layout;
    size_t unit = 0, room = 0;
    for (size_t i = 0; i < l->segment_count; i++)
        room += l->segments[i].live + 1;
    g->bounds = calloc(room + 1, sizeof *g->bounds);
    g->berths = calloc(room + 1, sizeof *g->berths);
    if (!g->bounds || !g->berths)
        return no_memory(err);
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        if (units_of(s) && s->space.unit && s->at.small == g->cfg.small &&
            s->at.stream == g->cfg.stream)
            add_bounds(g, s, unit);
        unit += (size_t)units_of(s);
    }
    return TP_OK;
}

/* ---- berths ---- */

static uint64_t most_mapped(const struct tp_why_growing *g)
{
    return (g->cfg.need + g->cfg.unit - 1) / g->cfg.unit;
}

/* The bound behind bound i and `blocks` others; NULL: there is none in this segment. */
static const struct bound *bound_behind(const struct tp_why_growing *g, size_t i, size_t blocks)
{
    size_t k = i + 1 + blocks;
    return k < g->bound_count && g->bounds[k].head == g->bounds[i].head ? &g->bounds[k] : NULL;
}

/* The first unit of a bound's segment that begins at `at` or behind it, from that of the bound on.
 * Where there is none, the one behind its last. */
static size_t unit_from(const struct tp_why_growing *g, const struct bound *b, tp_addr at)
{
    size_t low = b->unit, high = g->bounds[b->head].behind;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->units[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills in a berth, of which no more than `blocks` are known to go. */
static void lay(const struct tp_why_growing *g, struct berth *w)
{
    const struct bound *b = &g->bounds[w->bound], *next = NULL;
    uint64_t unit = b->space->unit, base = b->space->base;
    while ((next = bound_behind(g, w->bound, w->blocks)) && next->begin - b->end < g->cfg.need)
        w->blocks++;
    uint64_t low = (b->end - base + unit - 1) / unit; /* units from the base on */
    uint64_t last = (b->end - base + g->cfg.need - 1) / unit;
    bool kept = next && (next->begin - base) / unit <= last;
    uint64_t high = last + !kept;
    w->mapped = high > low ? high - low : 0;
    size_t first = unit_from(g, b, base + low * unit);
    size_t end = unit_from(g, b, base + high * unit);
    w->value = (most_mapped(g) - w->mapped) * unit;
    w->value += high > low ? g->gains[end] - g->gains[first] : 0;
}

/* Bounds ascend, and so does what goes behind them: each count goes on from the last one. */
static void lay_all(struct tp_why_growing *g)
{
    for (size_t i = 0; i < g->bound_count; i++) {
        struct berth *w = &g->berths[i];
        const struct berth *last = i && bound_behind(g, i - 1, 0) ? w - 1 : NULL;
        *w = (struct berth){.bound = i, .blocks = last && last->blocks ? last->blocks - 1 : 0};
        lay(g, w);
    }
}

uint64_t tp_why_growing_least(const struct tp_why_growing *g)
{
    uint64_t least = most_mapped(g);
    for (size_t i = 0; i < g->bound_count; i++)
        if (!g->berths[i].blocks && g->berths[i].mapped < least)
            least = g->berths[i].mapped;
    return least * g->cfg.unit;
}

/* The largest block behind a bound, in front of the next one. */
static uint64_t largest_behind(const struct tp_why_growing *g, size_t i, uint64_t units)
{
    const struct bound *b = &g->bounds[i], *next = bound_behind(g, i, 0);
    uint64_t unit = b->space->unit, base = b->space->base;
    uint64_t low = (b->end - base + unit - 1) / unit;
    uint64_t bytes = low * unit - (b->end - base) + units * unit;
    uint64_t high = next ? (next->begin - base) / unit : UINT64_MAX;
    return next && (high <= low || high - low <= units || bytes > next->begin - b->end)
               ? next->begin - b->end
               : bytes;
}

uint64_t tp_why_growing_largest(const struct tp_why_growing *g)
{
    uint64_t units = g->cfg.driver / g->cfg.unit, largest = units * g->cfg.unit;
    for (size_t i = 0; i < g->bound_count; i++) {
        uint64_t bytes = largest_behind(g, i, units);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* ---- the set ---- */

static void drop_unit(const struct tp_why_growing *g, size_t unit, bool *gone)
{
    const struct why_unit *u = &g->units[unit];
    for (size_t k = u->first; k <= u->last; k++)
        gone[k] |= g->cfg.layout->blocks[k].requested != 0;
}

static void drop_berth(const struct tp_why_growing *g, const struct berth *w, bool *gone)
{
    for (size_t i = 1; i <= w->blocks; i++)
        gone[g->bounds[w->bound + i].block] = true;
}

static uint64_t bytes_of(const struct tp_why_growing *g, const struct berth *w)
{
    return g->bounds[w->bound + w->blocks].bytes - g->bounds[w->bound].bytes;
}

/* The berth with the fewest blocks that is enough, of equal ones that with the fewest bytes; NULL:
 * none with fewer blocks than `below`. */
static const struct berth *best_berth(const struct tp_why_growing *g, size_t below, uint64_t enough)
{
    const struct berth *best = NULL;
    for (const struct berth *w = g->berths; w < g->berths + g->bound_count; w++) {
        bool same = best && w->blocks == best->blocks;
        size_t fewest = best ? best->blocks : below;
        bool better = same ? bytes_of(g, w) < bytes_of(g, best) : w->blocks < fewest;
        if (w->value >= enough && better)
            best = w;
    }
    return best;
}

/* Takes the fewest blocks, at most `most`, of units side by side that give enough. */
static bool take_units(const struct tp_why_growing *g, size_t most, uint64_t enough, bool *gone)
{
    size_t first = 0, end = 0, to = 0, live = 0; /* the units are [from, to) */
    for (size_t from = 0; most && from < g->unit_count; from++) {
        const struct why_unit *u = &g->units[from];
        for (; to < g->unit_count && g->gains[to] - g->gains[from] < enough; to++)
            live += g->units[to].live - (to > from && g->units[to].entered);
        if (g->gains[to] - g->gains[from] < enough)
            break;
        if (live <= most) {
            first = from;
            end = to;
            most = live - 1;
        }
        live -= u->live - (from + 1 < to && u[1].entered);
    }
    for (size_t i = first; i < end; i++)
        drop_unit(g, i, gone);
    return end > first;
}

static int list_set(const bool *gone, size_t count, struct tp_why_set *out, struct tp_err *err)
{
    size_t blocks = 0;
    for (size_t k = 0; k < count; k++)
        blocks += gone[k];
    out->blocks = calloc(blocks + 1, sizeof *out->blocks);
    if (!out->blocks)
        return no_memory(err);
    for (size_t k = 0; k < count; k++)
        if (gone[k])
            out->blocks[out->count++] = k;
    return TP_OK;
}

int tp_why_growing_set(const struct tp_why_growing *g, size_t below, struct tp_why_set *out,
                       struct tp_err *err)
{
    uint64_t enough = most_mapped(g) * g->cfg.unit - g->cfg.driver;
    const struct berth *best = best_berth(g, below, enough);
    bool *gone = calloc(g->cfg.layout->count + 1, sizeof *gone);
    *out = (struct tp_why_set){.count = 0};
    if (!gone)
        return no_memory(err);
    below = best ? best->blocks : below;
    below = below < TP_WHY_BLOCKS_MOST ? below : TP_WHY_BLOCKS_MOST + 1;
    out->side_by_side = !take_units(g, below ? below - 1 : 0, enough, gone);
    if (out->side_by_side && best)
        drop_berth(g, best, gone);
    int rc = list_set(gone, g->cfg.layout->count, out, err);
    free(gone);
    return rc;
}

/* ---- all ---- */

int tp_why_growing_new(const struct tp_why_growing_cfg *cfg, struct tp_why_growing **out,
                       struct tp_err *err)
{
    struct tp_why_growing *g = *out = calloc(1, sizeof *g);
    if (!g)
        return no_memory(err);
    g->cfg = *cfg;
    int rc = list_units(g, err);
    if (rc == TP_OK && g->units)
        rc = list_bounds(g, err);
    if (rc == TP_OK)
        lay_all(g);
    return rc;
}

void tp_why_growing_free(struct tp_why_growing *g)
{
    if (!g)
        return;
    free(g->units);
    free(g->gains);
    free(g->bounds);
    free(g->berths);
    free(g);
}
