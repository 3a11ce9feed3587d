/* Open addressing with linear probing and backward-shift deletion: no tombstones, so a trace that
 * allocates and frees for hours keeps its short probes. At most three quarters of the places are
 * used.
 *
 * The hash is splitmix64's finaliser over id ^ seed. The seed is random, because hostile ids could
 * otherwise be chosen to make a look-up linear. No result depends on the order of entries. */
#include "alloc/base/id_map.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>

#define FIRST_PLACES 64

static size_t home(const struct tp_id_map *m, int64_t id)
{
    uint64_t x = (uint64_t)id ^ m->seed;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(x ^ (x >> 31)) & (m->places - 1);
}

void tp_id_map_release(struct tp_id_map *m)
{
    tp_budget_change(m->how.budget, m->places * sizeof *m->entries, 0);
    free(m->entries);
    m->entries = NULL;
    m->places = m->used = 0;
}

struct tp_id_entry *tp_id_map_find(const struct tp_id_map *m, int64_t id)
{
    if (m->used == 0)
        return NULL;
    for (size_t i = home(m, id);; i = (i + 1) & (m->places - 1)) {
        struct tp_id_entry *e = &m->entries[i];
        if (e->refs == 0)
            return NULL;
        if (e->id == id)
            return e;
    }
}

static struct tp_id_entry *place(struct tp_id_map *m, struct tp_id_entry entry)
{
    size_t i = home(m, entry.id);
    while (m->entries[i].refs != 0)
        i = (i + 1) & (m->places - 1);
    m->entries[i] = entry;
    return &m->entries[i];
}

static bool is_full(const struct tp_id_map *m)
{
    return m->used >= m->places / 4 * 3;
}

static int grow(struct tp_id_map *m, struct tp_err *err)
{
    struct tp_id_map bigger = *m;
    bigger.places = m->places ? m->places * 2 : FIRST_PLACES;
    const uint64_t held = m->places * sizeof *m->entries;
    const uint64_t both = held + bigger.places * sizeof *m->entries;
    if (!tp_budget_change(m->how.budget, held, both))
        return tp_grow_refused(&m->how, err);
    bigger.entries = calloc(bigger.places, sizeof *bigger.entries);
    tp_budget_change(m->how.budget, both, bigger.entries ? both - held : held);
    if (!bigger.entries)
        return tp_fail(err, TP_ENOMEM, "out of memory for %s", m->how.what);
    if (!m->entries && getrandom(&bigger.seed, sizeof bigger.seed, GRND_NONBLOCK) < 0)
        bigger.seed = 0;
    for (size_t i = 0; i < m->places; i++) {
        if (m->entries[i].refs != 0)
            place(&bigger, m->entries[i]);
    }
    free(m->entries);
    *m = bigger;
    return TP_OK;
}

static struct tp_id_entry *add(struct tp_id_map *m, int64_t id, uint32_t index)
{
    m->used++;
    return place(m, (struct tp_id_entry){.id = id, .index = index, .refs = 1});
}

int tp_id_map_put(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_err *err)
{
    assert(!tp_id_map_find(m, id));
    int rc = is_full(m) ? grow(m, err) : TP_OK;
    if (rc == TP_OK)
        add(m, id, index);
    return rc;
}

int tp_id_map_need(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_id_entry **entry,
                   struct tp_err *err)
{
    *entry = tp_id_map_find(m, id);
    int rc = !*entry && is_full(m) ? grow(m, err) : TP_OK;
    if (rc == TP_OK && !*entry)
        *entry = add(m, id, index);
    return rc;
}

int tp_id_map_number(struct tp_id_map *m, int64_t id, uint32_t *number, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(m, id, (uint32_t)m->used, &entry, err);
    *number = entry ? entry->index : 0;
    return rc;
}

/* Entries after the hole move into it where that brings them nearer to their home. */
void tp_id_map_remove(struct tp_id_map *m, struct tp_id_entry *entry)
{
    size_t mask = m->places - 1;
    size_t hole = (size_t)(entry - m->entries);
    assert(hole < m->places && entry->refs != 0);
    for (size_t i = (hole + 1) & mask; m->entries[i].refs != 0; i = (i + 1) & mask) {
        size_t from = home(m, m->entries[i].id);
        if (((i - from) & mask) >= ((i - hole) & mask)) {
            m->entries[hole] = m->entries[i];
            hole = i;
        }
    }
    m->entries[hole].refs = 0;
    m->used--;
}
