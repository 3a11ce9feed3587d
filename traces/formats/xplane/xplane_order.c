/* Allocators, and their events in the order in which they happened.
 *
 *     thread 1  | A 100 |          | F 300 |        by time; of events at one time the one is first
 *     thread 2           | A 200 |                  after which the bytes in use add up
 *     in use    | 0     | 256     | 512   | ... */
#include "alloc/base/addr_map.h"
#include "alloc/base/ascending.h"
#include "alloc/base/clean.h"
#include "traces/formats/xplane/xplane_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- allocators ---- */

/* FNV-1a over name, plane and limit. Two allocators whose hashes are equal would be one: who makes
 * them so gains nothing that equal names would not give. */
static uint64_t hash_of(const char *name, uint32_t plane, uint64_t limit)
{
    const uint64_t facts[] = {plane, limit};
    const unsigned char *more = (const unsigned char *)facts;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < sizeof facts; i++)
        h = (h ^ more[i]) * UINT64_C(0x100000001b3);
    return h;
}

int tp_xplane_allocator(struct tp_xplane *x, const char *name, size_t bytes, uint32_t plane,
                        uint64_t limit, uint32_t *index, struct tp_err *err)
{
    struct tp_xplane_allocator a = {.plane = plane, .limit = limit};
    char text[TP_XPLANE_NAME];
    size_t kept = bytes < sizeof text - 1 ? bytes : sizeof text - 1;
    memcpy(text, name, kept);
    text[kept] = '\0';
    tp_clean_text(text, a.name, sizeof a.name);
    int64_t key = (int64_t)hash_of(a.name, plane, limit);
    const struct tp_id_entry *entry = tp_id_map_find(&x->known, key);
    *index = entry ? entry->index : (uint32_t)x->allocator_count;
    if (entry)
        return TP_OK;
    x->known.how = tp_reading_growth(x->reading, "allocators");
    int rc = TP_READ_GROW(x->reading, &x->allocators, &x->allocator_room, x->allocator_count + 1,
                          "allocators", err);
    if (rc == TP_OK)
        rc = tp_id_map_put(&x->known, key, *index, err);
    if (rc == TP_OK)
        x->allocators[x->allocator_count++] = a;
    return rc;
}

bool tp_xplane_is_host(const struct tp_xplane_allocator *a)
{
    return strcasestr(a->name, "host") || strcasestr(a->name, "cpu");
}

/* ---- the order ---- */

/* By plane, then by name, "GPU_2" before "GPU_10". */
static int by_name(const void *a, const void *b, void *of)
{
    const struct tp_xplane_allocator *list = of;
    const uint32_t *i = a, *k = b;
    const struct tp_xplane_allocator *x = &list[*i], *y = &list[*k];
    int order = x->plane == y->plane ? strverscmp(x->name, y->name) : tp_order(x->plane, y->plane);
    return order ? order : tp_order(*i, *k);
}

/* Renumbers allocators by their names: threads name them in any order. */
static int order_names(struct tp_xplane *x, struct tp_err *err)
{
    size_t count = x->allocator_count;
    struct tp_xplane_allocator *list = calloc(count + 1, sizeof *list);
    uint32_t *sorted = calloc(count + 1, sizeof *sorted), *at = calloc(count + 1, sizeof *at);
    int rc = list && sorted && at ? TP_OK : tp_input_no_memory(x->reading->in, err);
    for (uint32_t i = 0; rc == TP_OK && i < count; i++)
        sorted[i] = i;
    if (rc == TP_OK && count)
        qsort_r(sorted, count, sizeof *sorted, by_name, x->allocators);
    for (uint32_t i = 0; rc == TP_OK && i < count; i++) {
        list[i] = x->allocators[sorted[i]];
        at[sorted[i]] = i;
    }
    if (rc == TP_OK && count)
        memcpy(x->allocators, list, count * sizeof *list);
    for (size_t i = 0; rc == TP_OK && i < x->count; i++)
        x->events[i].allocator = at[x->events[i].allocator];
    free(list);
    free(sorted);
    free(at);
    tp_id_map_release(&x->known); /* their numbers are others now */
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_xplane_event *x = a, *y = b;
    if (x->allocator != y->allocator)
        return x->allocator < y->allocator ? -1 : 1;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? -1 : 1;
    return tp_order(x->offset, y->offset);
}

/* The bytes in use before an event; TP_XPLANE_UNKNOWN: not known, or none could be. */
static uint64_t before(const struct tp_xplane_event *ev)
{
    if (ev->in_use == TP_XPLANE_UNKNOWN || (!ev->frees && ev->in_use < ev->bytes))
        return TP_XPLANE_UNKNOWN;
    return ev->frees ? ev->in_use + ev->bytes : ev->in_use - ev->bytes;
}

/* Of the events at one time, puts the one first that goes on from `in_use` bytes. Each is looked
 * at once for each place among MOST of them, so that many at one time take no square of steps. */
static void order_equal(struct tp_xplane_event *ev, size_t count, uint64_t in_use)
{
    enum { MOST = 16 };
    for (size_t i = 0; i + 1 < count; i++) {
        size_t end = count - i < MOST ? count : i + MOST;
        for (size_t k = i; k < end; k++)
            if (before(&ev[k]) == in_use) {
                struct tp_xplane_event first = ev[k];
                memmove(&ev[i + 1], &ev[i], (k - i) * sizeof *ev);
                ev[i] = first;
                break;
            }
        in_use = ev[i].in_use;
    }
}

static void check(struct tp_xplane_allocator *a, const struct tp_xplane_event *ev)
{
    uint64_t in_use = TP_XPLANE_UNKNOWN;
    bool placed = true, told = a->limit > 0;
    for (size_t i = 0; i < a->count; i++) {
        placed &= ev[i].addr != 0;
        told |= !isnan(ev[i].fragmentation);
        if (i && ev[i].in_use != TP_XPLANE_UNKNOWN && before(&ev[i]) != in_use) {
            a->first_break = a->breaks ? a->first_break : i + 1;
            a->breaks++;
        }
        in_use = ev[i].in_use;
    }
    a->bfc = !a->unnamed && placed && told;
}

static void order_allocator(struct tp_xplane_allocator *a, struct tp_xplane_event *ev)
{
    uint64_t in_use = TP_XPLANE_UNKNOWN;
    for (size_t i = 0, end = 0; i < a->count; i = end) {
        for (end = i + 1; end < a->count && ev[end].time_ps == ev[i].time_ps; end++)
            continue;
        if (end - i > 1)
            order_equal(&ev[i], end - i, in_use);
        in_use = ev[end - 1].in_use;
    }
    check(a, ev);
}

/* ---- sizes of frees ---- */

static bool lacks_sizes(const struct tp_xplane_event *ev, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ev[i].requested)
            return true;
    return false;
}

static int give_size(struct tp_addr_map *asked, struct tp_xplane_event *ev)
{
    uint64_t *size = ev->addr ? tp_addr_map_find(asked, ev->addr) : NULL;
    if (ev->frees && !ev->requested)
        ev->requested = size ? *size : ev->bytes;
    else if (!ev->frees && size)
        *size = ev->requested;
    else if (!ev->frees && ev->addr)
        return tp_addr_map_insert(asked, ev->addr, ev->requested);
    return TP_OK;
}

/* TensorFlow's allocator of host memory does not say what a freed block was asked for. Of one from
 * before, the chunk is all that is known. */
static int give_sizes(const struct tp_xplane *x, struct tp_xplane_event *ev, size_t count,
                      struct tp_err *err)
{
    struct tp_addr_map asked;
    int rc = TP_OK;
    if (!lacks_sizes(ev, count))
        return rc;
    tp_addr_map_init_plain(&asked);
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        rc = give_size(&asked, &ev[i]);
    tp_addr_map_fini(&asked);
    return rc == TP_OK ? rc : tp_input_no_memory(x->reading->in, err);
}

int tp_xplane_order(struct tp_xplane *x, struct tp_err *err)
{
    int rc = order_names(x, err);
    if (rc != TP_OK)
        return rc;
    if (x->count)
        qsort(x->events, x->count, sizeof *x->events, by_time);
    for (size_t i = 0; i < x->count; i++) {
        struct tp_xplane_allocator *a = &x->allocators[x->events[i].allocator];
        a->first = a->count ? a->first : i;
        a->count++;
    }
    for (size_t i = 0; rc == TP_OK && i < x->allocator_count; i++) {
        struct tp_xplane_allocator *a = &x->allocators[i];
        order_allocator(a, &x->events[a->first]);
        rc = give_sizes(x, &x->events[a->first], a->count, err);
    }
    return rc;
}
