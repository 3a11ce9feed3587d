/* See page_ledger.h. Pages and blocks are both in the order of addresses, so one pass over both
 * finds what lies on each page. */
#include "alloc/engine/page_ledger.h"

#include "alloc/base/spool.h"
#include "alloc/base/units.h"
#include "alloc/engine/page_sample.h"

const struct tp_page_parts tp_page_parts_unknown = {TP_NONE, TP_NONE, TP_NONE, TP_NONE, TP_NONE,
                                                    TP_NONE, TP_NONE, TP_NONE, TP_NONE};

const struct tp_page_errors tp_page_errors_unknown = {TP_NONE, TP_NONE, TP_NONE,
                                                      TP_NONE, TP_NONE, TP_NONE};

bool tp_page_ledger_open(struct tp_page_ledger *l, uint32_t slots)
{
    bool there[3];
    *l = (struct tp_page_ledger){.room = slots};
    there[0] = tp_own_pages_open(&l->base, "/proc/self", TP_OWN_PAGES_MOST);
    there[1] = tp_own_pages_open(&l->now, "/proc/self", TP_OWN_PAGES_MOST);
    there[2] = tp_cover_open(&l->cover);
    l->blocks = tp_shared_get((l->room + 1) * sizeof *l->blocks);
    l->spare = tp_shared_get((l->room + 1) * sizeof *l->spare);
    if (there[0] && there[1] && there[2] && l->blocks && l->spare)
        return true;
    tp_page_ledger_close(l);
    return false;
}

void tp_page_ledger_close(struct tp_page_ledger *l)
{
    tp_own_pages_close(&l->base);
    tp_own_pages_close(&l->now);
    tp_cover_close(&l->cover);
    tp_shared_put(l->blocks, (l->room + 1) * sizeof *l->blocks);
    tp_shared_put(l->spare, (l->room + 1) * sizeof *l->spare);
    l->blocks = l->spare = NULL;
}

bool tp_page_ledger_begin(struct tp_page_ledger *l)
{
    return tp_own_pages_read(&l->base);
}

/* ---- one page ---- */

/* A page that was not there before the first event. */
struct new_page {
    size_t now, base; /* the next ones of both lists */
    uint64_t number;
};

static bool next_page(const struct tp_page_ledger *l, struct new_page *at)
{
    while (at->now < l->now.count) {
        at->number = l->now.number[at->now++];
        while (at->base < l->base.count && l->base.number[at->base] < at->number)
            at->base++;
        if (at->base >= l->base.count || l->base.number[at->base] != at->number)
            return true;
    }
    return false;
}

struct tp_page_parts tp_page_ledger_sum(const struct tp_page_ledger *l,
                                        const struct tp_page_block *blocks, size_t count,
                                        struct tp_page_errors *errors)
{
    struct tp_page_sample sample = {0};
    struct tp_page_parts sum = {0};
    struct new_page at = {0};
    struct tp_page_use use = {0};
    while (next_page(l, &at)) {
        uint64_t page = l->now.page, low = at.number * page;
        uint64_t covered = tp_cover_bytes(&l->cover, low, page);
        tp_page_sample_at(&sample, at.number, &sum);
        tp_page_use_at(&use, blocks, count, low, low + page);
        tp_page_parts_add(&sum, page, use.live, use.taken,
                          covered > use.taken ? covered : use.taken);
    }
    *errors = tp_page_sample_end(&sample, l->now.shift, &sum);
    if (!l->cover.full)
        return sum;
    *errors = tp_page_errors_unknown;
    return tp_page_parts_unknown;
}

/* ---- the blocks ---- */

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* Copies the blocks in the order of a digit of their addresses, equal ones in the order in which
 * they stand. false: they all have the same digit, and nothing was copied. */
static bool order_by(const struct tp_page_block *from, struct tp_page_block *to, size_t count,
                     unsigned shift)
{
    size_t starts[DIGITS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[(from[i].addr >> shift & (DIGITS - 1)) + 1]++;
    if (starts[(from[0].addr >> shift & (DIGITS - 1)) + 1] == count)
        return false;
    for (size_t i = 1; i < DIGITS; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].addr >> shift & (DIGITS - 1)]++] = from[i];
    return true;
}

/* By address, digit by digit from the lowest: a sort by comparisons would take most of the time of
 * a list. */
static void order_blocks(struct tp_page_ledger *l, size_t count)
{
    for (unsigned shift = 0; count && shift < 64; shift += DIGIT)
        if (order_by(l->blocks, l->spare, count, shift)) {
            struct tp_page_block *ordered = l->spare;
            l->spare = l->blocks;
            l->blocks = ordered;
        }
}

struct page_blocks {
    struct tp_page_block *blocks;
    size_t count;
};

/* A strategy without `usable` names the allocated bytes of its blocks in a walk. */
static void see_walk(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    const struct page_blocks *all = ctx;
    size_t low = 0, high = all->count;
    while (kind == TP_WALK_LIVE && low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->blocks[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (kind == TP_WALK_LIVE && low < all->count && all->blocks[low].addr == addr &&
        all->blocks[low].allocated < size)
        all->blocks[low].allocated = size;
}

/* *told: the strategy says how many bytes its blocks have. */
static size_t list_blocks(struct tp_page_ledger *l, const struct tp_replayer *p, bool *told)
{
    size_t count = 0;
    *told = !p->strategy->usable;
    for (uint32_t i = 0; i < p->facts->slots && count < l->room; i++) {
        const struct tp_slot *s = &p->slots[i];
        if (!s->addr)
            continue;
        uint64_t size = tp_slot_size(s), allocated = 0;
        if (p->strategy->usable)
            allocated = p->strategy->usable(p->instances->state, s->addr);
        *told |= allocated != 0;
        l->blocks[count++] =
            (struct tp_page_block){.addr = s->addr,
                                   .requested = size,
                                   .allocated = allocated > size ? allocated : size,
                                   .slot = i};
    }
    order_blocks(l, count);
    if (!p->strategy->usable && p->strategy->walk)
        p->strategy->walk(p->instances->state, see_walk, &(struct page_blocks){l->blocks, count});
    return count;
}

static uint64_t shared_live(const struct tp_page_ledger *l)
{
    uint64_t bytes = 0;
    size_t next = 0;
    for (size_t i = 0; i < l->count; i++) {
        uint64_t from = l->blocks[i].addr, to = from + l->blocks[i].requested;
        while (next < l->now.shared_count && l->now.shared[next].to <= from)
            next++;
        if (next < l->now.shared_count)
            bytes += tp_overlap(from, to, l->now.shared[next].from, l->now.shared[next].to);
    }
    return bytes;
}

static uint64_t above_base(uint64_t now, uint64_t base)
{
    return now > base ? now - base : 0;
}

struct tp_page_parts tp_page_ledger_take(struct tp_page_ledger *l, const struct tp_replayer *p,
                                         struct tp_page_errors *errors)
{
    bool told;
    *errors = tp_page_errors_unknown;
    /* the base has all pages of the runs that are listed now */
    l->now.shift = l->now.shift > l->base.shift ? l->now.shift : l->base.shift;
    if (!l->base.count || !tp_own_pages_read(&l->now))
        return tp_page_parts_unknown;
    l->count = list_blocks(l, p, &told);
    struct tp_page_parts parts = tp_page_ledger_sum(l, l->blocks, l->count, errors);
    if (!told && l->count)
        parts.rounding = errors->rounding = TP_NONE;
    parts.huge_page = above_base(l->now.huge_page, l->base.huge_page);
    parts.locked = above_base(l->now.locked, l->base.locked);
    parts.shared_live = shared_live(l);
    return parts;
}

/* ---- the list ---- */

/* Writes behind what is listed already. */
static bool append(struct tp_page_ledger *l, int fd, const void *bytes, size_t size)
{
    bool all = !tp_spool_write(fd, bytes, size, l->listed, NULL);
    l->listed += size;
    return all;
}

bool tp_page_ledger_list(struct tp_page_ledger *l, const struct tp_page_list_head *head, int fd)
{
    struct tp_page_list_head whole = *head;
    tp_listed_page some[512];
    struct new_page at = {0};
    size_t filled = 0;
    whole.magic = TP_PAGE_LIST_MAGIC;
    whole.page = l->now.page;
    whole.every = UINT64_C(1) << l->now.shift;
    whole.blocks = l->count;
    while (next_page(l, &at))
        whole.pages++;
    bool all = append(l, fd, &whole, sizeof whole) &&
               append(l, fd, l->blocks, l->count * sizeof *l->blocks);
    for (at = (struct new_page){0}; all && next_page(l, &at);) {
        uint64_t covered = tp_cover_bytes(&l->cover, at.number * l->now.page, l->now.page);
        some[filled++] = at.number << TP_LISTED_PAGE_SHIFT | covered / TP_LISTED_PAGE_STEP;
        if (filled == sizeof some / sizeof *some) {
            all = append(l, fd, some, sizeof some);
            filled = 0;
        }
    }
    return all && append(l, fd, some, filled * sizeof *some);
}
