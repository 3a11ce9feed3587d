/* See pytorch_lower.h.
 *
 *     segment_free segment_free ... | what follows           for whom
 *       frames have empty_cache     | anything               the program
 *       frames have none            | segment_alloc, oom     a request: cudaMalloc had failed
 *       frames are not known        | oom                    a request
 *                                   | segment_alloc          a request, if that much was more than
 *                                   |                        ever was reserved; else the program
 *       any but the first           | anything else          the program
 *       all are of private pools    | segment_alloc          nobody: a pool is gone
 *
 * The third row rests on this: what was reserved before the group and the new segment together
 * would have been less than what the device gave at another time, so that nothing was short.
 *
 * Pinned memory of the host goes back by torch._C._host_emptyCache() alone, whatever follows, and
 * where a block is too large for the cache (pinned_max_cached_size_mb) when it is freed.
 *
 * Known weakness: without frames, an empty_cache() at the peak, right before a request that needs a
 * new segment, looks like a failed cudaMalloc; one of a single pinned block right after its free
 * looks like a block that is too large. */
#include "alloc/base/ascending.h"
#include "alloc/base/id_map.h"
#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/formats/pytorch/pytorch_lower.h"

#include <string.h>

/* ---- pytorch unused ---- */

/* Whether segments that serve nothing stay when others go back: garbage collection leaves some, and
 * a failed cudaMalloc none. */

#define GONE UINT64_MAX

/* Addresses of what is there, each at the index that the map has for it. */
struct unused_list {
    struct tp_id_map map;
    uint64_t *addresses; /* GONE: it is not there any more */
    uint64_t *sizes;     /* of segments, bytes */
    size_t count, room, size_room;
};

struct unused_look {
    const struct tp_reading *reading;
    struct unused_list segments, blocks;
};

static int add(struct unused_look *k, struct unused_list *to, uint64_t address, uint64_t size,
               struct tp_err *err)
{
    struct tp_id_entry *entry = tp_id_map_find(&to->map, (int64_t)address);
    uint32_t index = entry ? entry->index : (uint32_t)to->count;
    int rc = TP_READ_GROW(k->reading, &to->addresses, &to->room, to->count + 1, "addresses", err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(k->reading, &to->sizes, &to->size_room, to->count + 1, "sizes", err);
    if (rc == TP_OK && !entry)
        rc = tp_id_map_put(&to->map, (int64_t)address, index, err);
    if (rc != TP_OK)
        return rc;
    to->addresses[index] = address;
    to->sizes[index] = size;
    to->count += !entry;
    return TP_OK;
}

static void drop(struct unused_list *from, uint64_t address)
{
    struct tp_id_entry *entry = tp_id_map_find(&from->map, (int64_t)address);
    if (entry)
        from->addresses[entry->index] = GONE;
}

static int add_start(struct unused_look *k, struct unused_list *to,
                     const struct tp_pytorch_blocks *blocks, uint32_t device, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < blocks->count; i++) {
        const struct tp_pytorch_block *b = &blocks->items[i];
        if (b->device == device && !b->expandable && !b->pool)
            rc = add(k, to, b->address, b->size, err);
    }
    return rc;
}

static int look_at(struct unused_look *k, const struct tp_pytorch_event *ev,
                   enum tp_pytorch_action freeing, struct tp_err *err)
{
    if (ev->action == TP_PYTORCH_SEGMENT_ALLOC && !ev->pool)
        return add(k, &k->segments, ev->address, ev->size, err);
    if (ev->action == TP_PYTORCH_ALLOC)
        return add(k, &k->blocks, ev->address, ev->size, err);
    if (ev->action == TP_PYTORCH_SEGMENT_FREE)
        drop(&k->segments, ev->address);
    else if (ev->action == freeing)
        drop(&k->blocks, ev->address);
    return TP_OK;
}

/* The number of addresses below a limit, of a list in ascending order. */
static size_t below(const uint64_t *list, size_t count, uint64_t limit)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = list[middle] < limit;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

static bool has_unused(struct unused_look *k)
{
    size_t live = tp_ascending(k->blocks.addresses, k->blocks.count);
    for (size_t i = 0; i < k->segments.count; i++) {
        uint64_t base = k->segments.addresses[i], size = k->segments.sizes[i];
        if (base != GONE &&
            below(k->blocks.addresses, live, base) == below(k->blocks.addresses, live, base + size))
            return true;
    }
    return false;
}

static void release(struct unused_look *k)
{
    struct unused_list *const lists[] = {&k->segments, &k->blocks};
    for (size_t i = 0; i < 2; i++) {
        tp_id_map_release(&lists[i]->map);
        TP_GROW_END(&lists[i]->addresses, &lists[i]->room, .budget = k->reading->budget);
        TP_GROW_END(&lists[i]->sizes, &lists[i]->size_room, .budget = k->reading->budget);
    }
}

/* Looks at the segments of a device that do not grow and are of no private pool, after the events
 * of the list up to, but not including, `until`. `heap` is that of the start. Takes time for a sort
 * of these events. */
static int pytorch_leaves_unused(const struct tp_pytorch *s, uint32_t device,
                                 const struct tp_pytorch_heap *heap, uint64_t until, bool *unused,
                                 struct tp_err *err)
{
    struct unused_look k = {.reading = s->reading};
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = s->devices[device].first, .end = until};
    k.segments.map.how = k.blocks.map.how = tp_reading_growth(s->reading, "addresses");
    int rc = add_start(&k, &k.segments, &heap->segments, device, err);
    if (rc == TP_OK)
        rc = add_start(&k, &k.blocks, &heap->blocks, device, err);
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        rc = look_at(&k, ev, tp_pytorch_freeing(s, device), err);
    *unused = rc == TP_OK && has_unused(&k);
    release(&k);
    return rc;
}

enum { TRIES = 64 }; /* events whose frames are read to find out whether there are any */

static const char *const empty_cache[] = {"empty_cache", "emptyCache", "THCPModule_emptyCache",
                                          NULL};

static bool gives_back(const struct tp_pytorch_event *ev)
{
    return ev->action == TP_PYTORCH_SEGMENT_FREE || ev->action == TP_PYTORCH_SEGMENT_UNMAP;
}

static bool takes(const struct tp_pytorch_event *ev)
{
    return ev->action == TP_PYTORCH_SEGMENT_ALLOC || ev->action == TP_PYTORCH_SEGMENT_MAP;
}

static bool frees_block(const struct tp_pytorch_event *ev)
{
    return ev->action == TP_PYTORCH_FREE_REQUESTED || ev->action == TP_PYTORCH_FREE_COMPLETED;
}

/* Lists of frames may be there and all be empty. Stacks may also be recorded of allocations only.
 */
static int find_framed(struct tp_pytorch_returns *r, struct tp_err *err)
{
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &r->snapshot->events,
                                .end = tp_spill_count(&r->snapshot->events)};
    int tries = 0, rc = TP_OK;
    if (!r->places || !r->snapshot->framed_frees)
        return TP_OK;
    while (rc == TP_OK && !r->framed && tries < TRIES && (ev = tp_spill_next(&c, &rc, err))) {
        enum tp_pytorch_frames found = TP_FRAMES_NONE;
        if (!frees_block(ev) || !ev->frames)
            continue;
        tries++;
        rc = tp_pytorch_places_called(r->places, ev->frames, empty_cache, &found, err);
        r->framed = found != TP_FRAMES_NONE;
    }
    return rc;
}

int tp_pytorch_returns_begin(struct tp_pytorch_returns *r, const struct tp_pytorch *s,
                             const struct tp_pytorch_heap *heap, struct tp_pytorch_places *places,
                             struct tp_err *err)
{
    const char *conf = tp_pytorch_conf(s);
    r->heap = heap;
    r->collects =
        conf && strstr(conf, "garbage_collection_threshold") && !strstr(conf, "max_split_size_mb");
    r->snapshot = s;
    r->places = places;
    return find_framed(r, err);
}

/* What follows a group. */
struct following {
    enum { NOTHING, TAKEN, FAILED } what;
    uint64_t bytes; /* that are taken */
    uint64_t count; /* of the events of the group */
    bool pools;     /* all of these are of private pools */
};

static bool is_of_pool(const struct tp_pytorch_returns *r, uint32_t number,
                       const struct tp_pytorch_event *ev)
{
    return number != TP_PYTORCH_HOST && tp_pytorch_pool_of(r->snapshot, number, ev) != 0;
}

/* `pools`: the first event of the group is of a private pool. */
static int look_ahead(const struct tp_pytorch_returns *r, uint32_t number,
                      const struct tp_spill_cursor *now, bool pools, struct following *out,
                      struct tp_err *err)
{
    struct tp_spill_cursor ahead = {
        .list = now->list, .next = now->next - (now->there - now->at), .end = now->end};
    const struct tp_pytorch_event *ev = NULL;
    int rc = TP_OK;
    *out = (struct following){NOTHING, 0, 1, pools};
    while ((ev = tp_spill_next(&ahead, &rc, err)) && gives_back(ev)) {
        out->count++;
        out->pools &= is_of_pool(r, number, ev);
    }
    if (ev && ev->action == TP_PYTORCH_OOM)
        out->what = FAILED;
    for (; ev && takes(ev); ev = tp_spill_next(&ahead, &rc, err)) {
        out->what = TAKEN;
        out->bytes += ev->size;
    }
    return rc;
}

/* `known`: the frames would have empty_cache(). In a file that has frames, those of a request that
 * is made in the backward pass may be missing, those of a call from Python are not. */
static bool is_asked(const struct tp_pytorch_returns *r, uint32_t device, uint64_t reserved,
                     bool known, const struct following *f)
{
    if (f->what != TAKEN || known)
        return f->what == NOTHING;
    return f->bytes <= r->devices[device].highest &&
           reserved <= r->devices[device].highest - f->bytes;
}

/* With garbage_collection_threshold the first group of a device that was not asked for tells
 * whether it works, which it does only if the program had set its share of the device. With a split
 * limit a failed cudaMalloc, too, leaves unused segments, so that nothing tells the two apart. */
static int look_for_garbage(struct tp_pytorch_returns *r, uint32_t device, uint32_t number,
                            const struct tp_spill_cursor *now, const struct following *f,
                            struct tp_err *err)
{
    uint64_t behind = now->next - (now->there - now->at); /* the first event of the group */
    bool unused = false;
    if (!r->collects || r->devices[device].looked || f->what != TAKEN)
        return TP_OK;
    r->devices[device].looked = true;
    int rc =
        pytorch_leaves_unused(r->snapshot, number, r->heap, behind + f->count - 1, &unused, err);
    r->collections += unused;
    return rc;
}

int tp_pytorch_returned(struct tp_pytorch_returns *r, uint32_t device, uint32_t number,
                        const struct tp_spill_cursor *now, const struct tp_pytorch_event *ev,
                        uint64_t reserved, enum tp_pytorch_return *why, struct tp_err *err)
{
    enum tp_pytorch_frames found = TP_FRAMES_NONE;
    struct following f = {NOTHING, 0, 0, false};
    bool first = gives_back(ev) && !r->devices[device].giving;
    uint64_t freed = number == TP_PYTORCH_HOST ? r->devices[device].freed : 0;
    r->devices[device].freed =
        ev->action == tp_pytorch_freeing(r->snapshot, number) ? ev->address : 0;
    r->devices[device].giving = gives_back(ev);
    *why = TP_RETURN_OTHER;
    if (!first)
        return TP_OK;
    int rc = r->framed ? tp_pytorch_places_called(r->places, ev->frames, empty_cache, &found, err)
                       : TP_OK;
    if (rc == TP_OK)
        rc = look_ahead(r, number, now, is_of_pool(r, number, ev), &f, err);
    bool of_free = freed && f.count == 1 && freed == ev->address;
    if (rc != TP_OK || of_free)
        return rc;
    if (found == TP_FRAMES_CALLED || number == TP_PYTORCH_HOST ||
        is_asked(r, device, reserved, r->framed, &f))
        *why = TP_RETURN_ASKED;
    else if (f.pools && f.what == TAKEN)
        *why = TP_RETURN_POOL;
    return *why != TP_RETURN_OTHER ? rc : look_for_garbage(r, device, number, now, &f, err);
}
