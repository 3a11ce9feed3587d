/* What is live at which address, and which work used which bytes last.
 *
 * Addresses are numbers in a region per device, searched round robin so that a stale one stays
 * unused for long. Each stretch of live bytes keeps, for every byte, the last work on it:
 *
 *     range   |---- A:7 ----|  (none)  |-- B:3 --|---- A:9 ----|
 *
 * A new work must come after all that it lies over, and takes their place: all work writes. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

/* The last work on the bytes from node.key to end. */
struct use {
    struct fc_node node;
    uint64_t end;
    struct fc_point point;
};

enum { PURGE_FROM = 64 };

/* --- addresses -------------------------------------------------------------------------------- */

/* The lowest gap for `size` at or above `from`; 0: none below the region's end. */
static uint64_t gap_from(const struct fc_device *d, uint64_t from, uint64_t size, uint64_t align)
{
    uint64_t end = FC_BASE + ((uint64_t)d->ordinal + 1) * FC_SPAN;
    struct fc_span *below = FC_OF(fc_tree_floor(&d->spans, from), struct fc_span, node);
    if (below && below->node.key + below->size > from)
        from = below->node.key + below->size;
    for (;;) {
        from = (from + align - 1) & ~(align - 1);
        struct fc_span *above = FC_OF(fc_tree_after(&d->spans, from - 1), struct fc_span, node);
        if (from >= end || size > end - from)
            return 0;
        if (!above || above->node.key - from >= size)
            return from;
        from = above->node.key + above->size;
    }
}

uint64_t fc_address(struct fc_device *d, struct fc_span *span, uint64_t size, uint64_t align)
{
    uint64_t base = FC_BASE + (uint64_t)d->ordinal * FC_SPAN + FC_GRANULE;
    uint64_t addr = d->cursor ? gap_from(d, d->cursor, size, align) : 0;
    if (!addr)
        addr = gap_from(d, base, size, align);
    if (!addr)
        return 0;
    span->size = size;
    fc_tree_insert(&d->spans, &span->node, addr);
    d->cursor = addr + size;
    return addr;
}

void fc_address_free(struct fc_device *d, struct fc_span *span)
{
    fc_tree_remove(&d->spans, &span->node);
}

struct fc_device *fc_device_of(uint64_t addr)
{
    if (addr < FC_BASE || addr - FC_BASE >= (uint64_t)FC_DEVICES * FC_SPAN)
        return NULL;
    return &fc.devices[(addr - FC_BASE) / FC_SPAN];
}

/* --- live bytes ------------------------------------------------------------------------------- */

struct fc_memory *fc_memory_add(struct fc_device *d, enum fc_memory_kind kind, uint64_t addr,
                                uint64_t size)
{
    struct fc_memory *m = fc_zeroed(sizeof *m);
    m->kind = kind;
    m->device = d;
    m->size = size;
    m->purge_at = PURGE_FROM;
    fc_tree_insert(&d->live, &m->node, addr);
    return m;
}

struct fc_memory *fc_memory_over(uint64_t addr)
{
    struct fc_device *d = fc_device_of(addr);
    struct fc_memory *m = d ? FC_OF(fc_tree_floor(&d->live, addr), struct fc_memory, node) : NULL;
    return m && addr - m->node.key < m->size ? m : NULL;
}

struct fc_memory *fc_memory_at(uint64_t addr)
{
    struct fc_memory *m = fc_memory_over(addr);
    return m && m->node.key == addr ? m : NULL;
}

void fc_memory_drop(struct fc_memory *m)
{
    for (struct fc_node *n; (n = m->uses.root);) {
        fc_tree_remove(&m->uses, n);
        free(FC_OF(n, struct use, node));
    }
    fc_tree_remove(&m->device->live, &m->node);
    free(m);
}

/* --- uses ------------------------------------------------------------------------------------- */

static void use_add(struct fc_memory *m, uint64_t from, uint64_t end, const struct fc_point *p)
{
    struct use *u = fc_zeroed(sizeof *u);
    u->end = end;
    u->point = *p;
    fc_tree_insert(&m->uses, &u->node, from);
    m->use_count++;
}

static void use_drop(struct fc_memory *m, struct use *u)
{
    fc_tree_remove(&m->uses, &u->node);
    free(u);
    m->use_count--;
}

/* Forgets what the host knows to be complete: no later work can race with it. */
static void purge(struct fc_memory *m)
{
    uint64_t after = 0;
    for (;;) {
        struct use *u = FC_OF(fc_tree_after(&m->uses, after), struct use, node);
        if (!u)
            break;
        after = u->node.key;
        if (fc_before(&u->point, &fc.host))
            use_drop(m, u);
    }
    m->purge_at = m->use_count < PURGE_FROM / 2 ? PURGE_FROM : 2 * m->use_count;
}

/* The first use that reaches beyond `from` and begins below `end`. */
static struct use *use_over(struct fc_memory *m, uint64_t from, uint64_t end)
{
    struct use *u = FC_OF(fc_tree_floor(&m->uses, from), struct use, node);
    if (u && u->end > from)
        return u;
    u = FC_OF(fc_tree_after(&m->uses, from), struct use, node);
    return u && u->node.key < end ? u : NULL;
}

/* Cuts [from, end) out of the uses. Returns one of them that is not before the clock's site. */
static bool uses_cut(struct fc_memory *m, uint64_t from, uint64_t end, const struct fc_clock *c,
                     struct fc_point *race)
{
    bool racing = false;
    for (struct use *u; (u = use_over(m, from, end));) {
        struct use was = *u;
        if (!fc_before(&was.point, c)) {
            *race = was.point;
            racing = true;
        }
        use_drop(m, u);
        if (was.node.key < from)
            use_add(m, was.node.key, from, &was.point);
        if (was.end > end)
            use_add(m, end, was.end, &was.point);
    }
    return racing;
}

/* The part of [addr, addr + size) that lies in m. */
static void use_part(struct fc_memory *m, struct fc_stream *s, const struct fc_point *p,
                     uint64_t addr, uint64_t size, const char *what)
{
    struct fc_point race;
    if (m->kind == FC_BLOCK && !fc_before(&m->allocated, &s->clock))
        fc_violation(0, "%s of %llu bytes at 0x%llx is not ordered after their allocation", what,
                     (unsigned long long)size, (unsigned long long)addr);
    if (m->kind == FC_MAPPED && !m->access)
        fc_violation(0, "%s at 0x%llx, mapped without access", what, (unsigned long long)addr);
    if (uses_cut(m, addr, addr + size, &s->clock, &race))
        fc_violation(0, "%s of %llu bytes at 0x%llx races with work that is not ordered before it",
                     what, (unsigned long long)size, (unsigned long long)addr);
    use_add(m, addr, addr + size, p);
    if (m->use_count > m->purge_at)
        purge(m);
}

void fc_memory_use(struct fc_stream *s, const struct fc_point *p, uint64_t addr, uint64_t size,
                   const char *what)
{
    uint64_t at = addr, left = size;
    while (left > 0) {
        struct fc_memory *m = fc_memory_over(at);
        bool whole = m && m->size - (at - m->node.key) >= left;
        if (!m || (!whole && m->kind != FC_MAPPED)) {
            fc_violation(0, "%s of %llu bytes at 0x%llx, which no live range or block holds", what,
                         (unsigned long long)size, (unsigned long long)addr);
            return;
        }
        if (m->device != s->object.device)
            fc_violation(0, "%s at 0x%llx, memory of device %d, in a stream of device %d", what,
                         (unsigned long long)at, m->device->ordinal, s->object.device->ordinal);
        uint64_t part = whole ? left : m->size - (at - m->node.key);
        use_part(m, s, p, at, part, what);
        at += part;
        left -= part;
    }
}

void fc_memory_settled(struct fc_memory *m, const struct fc_clock *c, const char *what)
{
    struct fc_point race;
    if (m->kind == FC_BLOCK && !fc_before(&m->allocated, c))
        fc_violation(0, "%s of 0x%llx is not ordered after its allocation", what,
                     (unsigned long long)m->node.key);
    if (uses_cut(m, m->node.key, m->node.key + m->size, c, &race))
        fc_violation(0, "%s of 0x%llx is not ordered after the work on it", what,
                     (unsigned long long)m->node.key);
}
