/* See id_map.h. */
#include "alloc/base/id_map.h"

#include <string.h>

static uint64_t bytes_of(const struct tp_id_map *m)
{
    return m->map.slots ? (m->map.mask + 1) * sizeof *m->map.slots : 0;
}

static struct tp_id_entry *entry_of(struct tp_addr_entry *e)
{
    return (struct tp_id_entry *)(void *)e;
}

void tp_id_map_release(struct tp_id_map *m)
{
    tp_budget_change(m->how.budget, bytes_of(m), 0);
    tp_addr_map_fini(&m->map);
    m->zero.refs = 0;
    m->used = 0;
}

struct tp_id_entry *tp_id_map_find(const struct tp_id_map *m, int64_t id)
{
    uint64_t *value = tp_addr_map_find(&m->map, (uint64_t)id);
    if (!id && m->zero.refs)
        return (struct tp_id_entry *)(uintptr_t)&m->zero;
    return value ? entry_of(tp_addr_map_entry(value)) : NULL;
}

/* Hostile ids could otherwise be chosen to make a look-up linear. */
static void begin(struct tp_id_map *m)
{
    uint64_t secret = 0;
    tp_addr_map_init_plain(&m->map);
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) == (ssize_t)sizeof secret)
        m->map.factor = secret | 1;
}

/* Makes room for one more id. */
static int keep_room(struct tp_id_map *m, struct tp_err *err)
{
    const uint64_t held = bytes_of(m);
    const uint64_t first = sizeof *m->map.slots << TP_ADDR_MAP_FIRST_LOG2;
    const uint64_t both = held + (held ? 2 * held : first);
    if (m->map.slots && 2 * (m->map.count + UINT64_C(1)) <= m->map.mask + 1)
        return TP_OK;
    if (!tp_budget_change(m->how.budget, held, both))
        return tp_grow_refused(&m->how, err);
    if (!m->map.slots)
        begin(m);
    int rc = tp_addr_map_reserve(&m->map, m->map.count + UINT64_C(1));
    tp_budget_change(m->how.budget, both, bytes_of(m));
    return rc ? tp_fail(err, TP_ENOMEM, "out of memory for %s", m->how.what) : TP_OK;
}

int tp_id_map_put(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_err *err)
{
    const struct tp_id_entry entry = {.id = id, .index = index, .refs = 1};
    uint64_t value;
    assert(!tp_id_map_find(m, id));
    int rc = keep_room(m, err);
    if (rc)
        return rc;
    m->used++;
    memcpy(&value, &entry.index, sizeof value);
    if (id)
        tp_addr_map_insert(&m->map, (uint64_t)id, value);
    else
        m->zero = entry;
    return TP_OK;
}

int tp_id_map_need(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_id_entry **entry,
                   struct tp_err *err)
{
    *entry = tp_id_map_find(m, id);
    int rc = *entry ? TP_OK : tp_id_map_put(m, id, index, err);
    if (!rc && !*entry)
        *entry = tp_id_map_find(m, id);
    return rc;
}

int tp_id_map_number(struct tp_id_map *m, int64_t id, uint32_t *number, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(m, id, (uint32_t)m->used, &entry, err);
    *number = entry ? entry->index : 0;
    return rc;
}

const struct tp_id_entry *tp_id_map_next(const struct tp_id_map *m, uint64_t *at)
{
    struct tp_addr_entry *e = tp_addr_map_next(&m->map, at);
    if (e)
        return entry_of(e);
    bool zero = m->zero.refs && *at != UINT64_MAX;
    *at = UINT64_MAX;
    return zero ? &m->zero : NULL;
}

void tp_id_map_remove(struct tp_id_map *m, struct tp_id_entry *entry)
{
    assert(entry->refs);
    m->used--;
    if (entry == &m->zero)
        entry->refs = 0;
    else
        tp_addr_map_drop(&m->map, (struct tp_addr_entry *)(void *)entry);
}
