/* See heap_order.h. */
#include "alloc/heapmap/heap_order.h"

#include "alloc/base/grow.h"
#include "alloc/base/merge_sort.h"
#include "alloc/base/own.h"

/* ---- numbers of ranges ---- */

static void *map_get(void *ctx, size_t size)
{
    (void)ctx;
    return tp_own_zeroed(1, size);
}

static void map_put(void *ctx, void *p, size_t size)
{
    (void)ctx, (void)size;
    tp_own_free(p);
}

struct numbered_source {
    struct tp_source *inner;
    struct tp_numbered *ranges;
};

static int numbered_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct numbered_source *s = state;
    struct tp_numbered *const *opts = cfg->opts;
    (void)err;
    *s = (struct numbered_source){.inner = cfg->inner, .ranges = &(*opts)[cfg->device]};
    return TP_OK;
}

/* Makes room for one more range, so that one that was given can always be noted. */
static int keep_room(struct tp_numbered *d)
{
    if (d->over)
        return TP_OK;
    int rc = d->spare ? TP_OK
                      : TP_GROW(&d->held, &d->held_room, d->held_count + 1, NULL, .what = "ranges",
                                .own = true);
    return rc ? rc : tp_addr_map_reserve(&d->places, d->places.count + UINT64_C(1));
}

static void number(struct tp_numbered *d, tp_addr addr, uint64_t size)
{
    uint64_t index = d->spare ? d->spare - 1 : d->held_count;
    if (d->over)
        return;
    if (d->spare)
        d->spare = d->held[index].number;
    else
        d->held_count++;
    d->held[index] = (struct tp_numbered_range){addr, size, ++d->numbers};
    tp_addr_map_insert(&d->places, addr, index);
}

static void forget(struct tp_numbered *d, tp_addr addr)
{
    uint64_t index;
    if (d->over || !tp_addr_map_remove(&d->places, addr, &index))
        return;
    d->held[index] = (struct tp_numbered_range){.number = d->spare};
    d->spare = index + 1;
}

static int numbered_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = keep_room(s->ranges);
    if (!rc)
        rc = tp_src_get(s->inner, size, align, out);
    if (!rc)
        number(s->ranges, *out, size);
    return rc;
}

static int numbered_put(void *state, tp_addr addr, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_put(s->inner, addr, size);
    if (!rc)
        forget(s->ranges, addr);
    return rc;
}

static int numbered_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = keep_room(s->ranges);
    if (!rc)
        rc = tp_src_space_get(s->inner, size, unit, out);
    if (!rc)
        number(s->ranges, *out, size);
    return rc;
}

static int numbered_space_put(void *state, tp_addr base, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_space_put(s->inner, base, size);
    if (!rc)
        forget(s->ranges, base);
    return rc;
}

const struct tp_source_ops tp_source_numbered = {
    .name = "numbered",
    .summary = "numbers what passes",
    .flags = TP_SRC_DECORATOR,
    .state_size = sizeof(struct numbered_source),
    .init = numbered_init,
    .get = numbered_get,
    .put = numbered_put,
    .space_get = numbered_space_get,
    .space_put = numbered_space_put,
};

void tp_numbered_init(struct tp_numbered *d, uint16_t device)
{
    *d = (struct tp_numbered){.device = device};
    tp_addr_map_init(&d->places, map_get, map_put, NULL);
}

void tp_numbered_again(struct tp_numbered *d)
{
    tp_addr_map_clear(&d->places);
    d->numbers = d->spare = d->held_count = 0;
    d->over = false;
}

void tp_numbered_fini(struct tp_numbered *d)
{
    tp_addr_map_fini(&d->places);
    TP_GROW_END(&d->held, &d->held_room, .own = true);
}

/* ---- one walk ---- */

/* Notes the events of all live blocks of a device. */
static void list_live(struct tp_heap_order *f, const struct tp_player *p, uint16_t device,
                      const uint64_t *born)
{
    tp_addr_map_clear(&f->live);
    for (uint32_t i = 0; i < p->facts->slots && !f->no_memory; i++) {
        const struct tp_slot *s = &p->slots[i];
        if (s->addr && tp_slot_device(s) == device && !tp_addr_map_find(&f->live, s->addr))
            f->no_memory = tp_addr_map_insert(&f->live, s->addr, born[i]) != TP_OK;
    }
}

static bool lies_before(const void *a, const void *b)
{
    return ((const struct tp_numbered_range *)a)->addr <
           ((const struct tp_numbered_range *)b)->addr;
}

/* Lists the ranges of the device by address, for the pieces to find theirs. */
static void list_held(struct tp_heap_order *f)
{
    const struct tp_numbered *d = f->walked;
    const size_t most = d->places.count;
    f->listed = true;
    f->held_count = 0;
    f->no_memory |=
        TP_GROW(&f->held, &f->held_room, 2 * most, NULL, .what = "ranges", .own = true) != TP_OK;
    for (size_t i = 0; !f->no_memory && i < d->held_count; i++)
        if (d->held[i].addr)
            f->held[f->held_count++] = d->held[i];
    if (f->held_count)
        tp_merge_sort(f->held, f->held + most, f->held_count, sizeof *f->held, lies_before);
}

/* The range that has the address; NULL: none. */
static const struct tp_numbered_range *find_held(const struct tp_heap_order *f, tp_addr addr)
{
    size_t low = 0, high = f->held_count; /* those before `low` begin at `addr` or before */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->held[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct tp_numbered_range *r = low ? &f->held[low - 1] : NULL;
    return r && addr - r->addr < r->size ? r : NULL;
}

/* The range of a piece. Of some strategies each piece is the first of one: these are found at once,
 * and what lies further in makes a list by address, once in a walk. */
static const struct tp_numbered_range *range_of(struct tp_heap_order *f, tp_addr addr)
{
    const uint64_t *index = tp_addr_map_find(&f->walked->places, addr);
    if (index)
        return &f->walked->held[*index];
    if (!f->listed)
        list_held(f);
    return f->no_memory ? NULL : find_held(f, addr);
}

static void collect(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct tp_heap_order *f = ctx;
    if (!f->last || addr - f->last->addr >= f->last->size)
        f->last = range_of(f, addr);
    if (!size || f->no_memory)
        return;
    if (!f->last || size > f->last->size - (addr - f->last->addr) || kind >= TP_WALK_COUNT) {
        f->nowhere = true;
        return;
    }
    if (TP_GROW(&f->pieces, &f->piece_room, f->piece_count + 1, NULL, .what = "pieces",
                .own = true)) {
        f->no_memory = true;
        return;
    }
    const uint64_t *event = kind == TP_WALK_LIVE ? tp_addr_map_find(&f->live, addr) : NULL;
    f->pieces[f->piece_count++] = (struct tp_heap_piece){.number = f->last->number,
                                                         .offset = addr - f->last->addr,
                                                         .size = size,
                                                         .event = event ? *event : 0,
                                                         .kind = kind};
}

static bool is_before(const void *a, const void *b)
{
    const struct tp_heap_piece *x = a, *y = b;
    return x->number != y->number ? x->number < y->number : x->offset < y->offset;
}

/* Most walks name the pieces in this order. */
static bool sort_pieces(struct tp_heap_order *f)
{
    if (TP_GROW(&f->spare, &f->spare_room, f->piece_count, NULL, .what = "pieces", .own = true))
        return false;
    tp_merge_sort(f->pieces, f->spare, f->piece_count, sizeof *f->pieces, is_before);
    return true;
}

/* Makes the list of ranges from the sorted pieces. TP_EBROKEN: two overlap. */
static int list_ranges(struct tp_heap_order *f)
{
    f->range_count = 0;
    for (size_t i = 0; i < f->piece_count; i++) {
        const struct tp_heap_piece *p = &f->pieces[i];
        struct tp_heap_range *r = f->range_count ? &f->ranges[f->range_count - 1] : NULL;
        if (!r || r->number != p->number) {
            if (TP_GROW(&f->ranges, &f->range_room, f->range_count + 1, NULL, .what = "ranges",
                        .own = true))
                return TP_ENOMEM;
            r = &f->ranges[f->range_count++];
            *r = (struct tp_heap_range){.number = p->number, .first = i};
        }
        if (p->offset < r->size)
            return TP_EBROKEN;
        r->size = p->offset + p->size;
        r->bytes += p->size;
        r->count++;
    }
    return TP_OK;
}

/* ---- the whole ---- */

int tp_heap_order_walk(struct tp_heap_order *f, const struct tp_numbered *ranges,
                       const struct tp_player *p, const uint64_t *born, struct tp_heap_layout *out)
{
    const uint16_t device = ranges->device;
    f->piece_count = 0;
    f->walked = ranges;
    f->last = NULL;
    f->nowhere = f->listed = f->no_memory = false;
    list_live(f, p, device, born);
    if (p->strategy->walk(p->instances[device].state, collect, f) != TP_OK)
        return TP_EUNSUP;
    if (f->no_memory || !sort_pieces(f))
        return TP_ENOMEM;
    int status = f->nowhere ? TP_EBROKEN : list_ranges(f);
    *out = (struct tp_heap_layout){.ranges = f->ranges,
                                   .range_count = f->range_count,
                                   .pieces = f->pieces,
                                   .piece_count = f->piece_count};
    return status;
}

void tp_heap_order_init(struct tp_heap_order *f)
{
    *f = (struct tp_heap_order){.piece_count = 0};
    tp_addr_map_init(&f->live, map_get, map_put, NULL);
}

void tp_heap_order_fini(struct tp_heap_order *f)
{
    tp_addr_map_fini(&f->live);
    TP_GROW_END(&f->pieces, &f->piece_room, .own = true);
    TP_GROW_END(&f->spare, &f->spare_room, .own = true);
    TP_GROW_END(&f->ranges, &f->range_room, .own = true);
    TP_GROW_END(&f->held, &f->held_room, .own = true);
}
