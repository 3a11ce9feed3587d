/* See heap_order.h. */
#include "alloc/heapmap/heap_order.h"

#include "alloc/base/grow.h"
#include "alloc/base/merge_sort.h"
#include "alloc/base/own.h"

/* ---- numbers of ranges ---- */

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

uint64_t tp_numbered_next(struct tp_numbered *d, uint64_t size)
{
    uint64_t number = d->next;
    d->next += d->align ? (size + d->align - 1) & ~(d->align - 1) : 1;
    return number;
}

/* Makes room for one more range, so that one that was given can always be noted. */
static int keep_room(struct tp_numbered *d)
{
    return d->over ? TP_OK : tp_ranges_reserve(&d->ranges);
}

static void number(struct tp_numbered *d, tp_addr addr, uint64_t size, bool space)
{
    const struct tp_range_watcher *w = d->watcher;
    struct tp_address_range range = {.addr = addr, .size = size};
    if (d->over)
        return;
    range.tag_addr = tp_numbered_next(d, size);
    range.tag_size = w ? w->begins(w->ctx, d, space) : 0;
    tp_ranges_insert(&d->ranges, range);
}

static void forget(struct tp_numbered *d, tp_addr addr)
{
    const struct tp_address_range *at = d->over ? NULL : tp_ranges_find(&d->ranges, addr);
    if (!at || at->addr != addr)
        return;
    if (d->watcher)
        d->watcher->ends(d->watcher->ctx, at->tag_size);
    tp_ranges_remove(&d->ranges, at);
}

static void tell(struct tp_numbered *d, enum tp_history_action action, tp_addr addr, uint64_t size)
{
    if (d->watcher)
        d->watcher->moves(d->watcher->ctx, d, action, addr, size);
}

static int numbered_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = keep_room(s->ranges);
    if (!rc)
        rc = tp_src_get(s->inner, size, align, out);
    if (rc)
        return rc;
    number(s->ranges, *out, size, false);
    tell(s->ranges, TP_HISTORY_SEGMENT_ALLOC, *out, size);
    return TP_OK;
}

static int numbered_put(void *state, tp_addr addr, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_put(s->inner, addr, size);
    if (rc)
        return rc;
    tell(s->ranges, TP_HISTORY_SEGMENT_FREE, addr, size);
    forget(s->ranges, addr);
    return TP_OK;
}

static int numbered_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct numbered_source *s = state;
    int rc = keep_room(s->ranges);
    if (!rc)
        rc = tp_src_space_get(s->inner, size, unit, out);
    if (!rc)
        number(s->ranges, *out, size, true);
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

static int numbered_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_map(s->inner, base, from, size);
    if (!rc)
        tell(s->ranges, TP_HISTORY_SEGMENT_MAP, base + from, size);
    return rc;
}

static int numbered_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_unmap(s->inner, base, from, size);
    if (!rc)
        tell(s->ranges, TP_HISTORY_SEGMENT_UNMAP, base + from, size);
    return rc;
}

static int numbered_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct numbered_source *s = state;
    int rc = tp_src_alias(s->inner, base, from, size, of);
    if (!rc)
        tell(s->ranges, TP_HISTORY_SEGMENT_MAP, base + from, size);
    return rc;
}

static int numbered_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct numbered_source *s = state;
    int rc = tp_src_unalias(s->inner, base, from, size);
    if (!rc)
        tell(s->ranges, TP_HISTORY_SEGMENT_UNMAP, base + from, size);
    return rc;
}

const struct tp_source_ops tp_source_numbered = {
    .name = "numbered",
    .summary = "numbers what passes",
    .flags = TP_SRC_WRAPPER,
    .state_size = sizeof(struct numbered_source),
    .init = numbered_init,
    .get = numbered_get,
    .put = numbered_put,
    .space_get = numbered_space_get,
    .space_put = numbered_space_put,
    .map = numbered_map,
    .unmap = numbered_unmap,
    .alias = numbered_alias,
    .unalias = numbered_unalias,
};

/* ---- a layout ---- */

/* Notes the slots of all live blocks of a device. */
static void list_live(struct tp_heap_order *f, uint16_t device)
{
    const struct tp_replayer *p = f->replayer;
    tp_addr_map_clear(&f->live);
    for (uint32_t i = 0; i < p->facts->slots && !f->no_memory; i++) {
        const struct tp_slot *s = &p->slots[i];
        if (s->addr && tp_slot_device(s) == device && !tp_addr_map_find(&f->live, s->addr))
            f->no_memory = tp_addr_map_insert(&f->live, s->addr, i) != TP_OK;
    }
}

void tp_heap_order_begin(struct tp_heap_order *f, const struct tp_numbered *ranges,
                         const struct tp_replayer *p, const uint64_t *born)
{
    f->piece_count = 0;
    f->replayer = p;
    f->born = born;
    f->walked = ranges;
    f->last = NULL;
    f->nowhere = f->no_memory = false;
    list_live(f, ranges->device);
}

void tp_heap_order_add(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct tp_heap_order *f = ctx;
    if (!f->last || addr - f->last->addr >= f->last->size)
        f->last = tp_ranges_find(&f->walked->ranges, addr);
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
    const uint64_t *slot = kind == TP_WALK_LIVE ? tp_addr_map_find(&f->live, addr) : NULL;
    f->pieces[f->piece_count++] =
        (struct tp_heap_piece){.number = f->last->tag_addr,
                               .offset = addr - f->last->addr,
                               .size = size,
                               .event = slot && f->born ? f->born[*slot] : 0,
                               .kind = kind,
                               .slot = slot ? (uint32_t)*slot : 0};
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

int tp_heap_order_end(struct tp_heap_order *f, struct tp_heap_layout *out, struct tp_err *err)
{
    int status = f->no_memory || !sort_pieces(f) ? TP_ENOMEM : TP_OK;
    if (!status)
        status = f->nowhere ? TP_EBROKEN : list_ranges(f);
    *out = (struct tp_heap_layout){.ranges = f->ranges,
                                   .range_count = f->range_count,
                                   .pieces = f->pieces,
                                   .piece_count = f->piece_count};
    if (status == TP_EBROKEN)
        return tp_fail(err, TP_EBROKEN,
                       "strategy '%s' names bytes in its walk that are in none of its ranges, or "
                       "twice",
                       f->replayer->strategy->name);
    return status ? tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory") : TP_OK;
}

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
}
