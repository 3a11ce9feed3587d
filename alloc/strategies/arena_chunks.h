/* Which small blocks of `arena` are live: a chunk for every 64 KiB that has some.
 *
 *     address  | 0x7f3a41c2 | 10110 | 01110110000 |        hash of the upper part -> chunk
 *                chunk        page    offset
 *     chunk    | class of each of 32 pages | one bit per 16 bytes: set = a live block begins here |
 *
 * The bits lie outside the memory. A free looks the chunk up, tests the bit and clears it; foreign,
 * interior and repeated addresses meet a clear bit. */
#ifndef TP_ARENA_CHUNKS_H
#define TP_ARENA_CHUNKS_H

#include "alloc/addr_map.h"
#include "alloc/strategies/arena_pages.h"

#define CHUNK_SHIFT     16
#define CHUNK_PAGES     32u
#define CHUNK_CONDEMNED UINT8_MAX /* inside a reclaim: blocks of this page leave all lists */

struct arena_chunk {
    uint8_t class[CHUNK_PAGES]; /* where a small block may begin, else stale or 0 */
    uint64_t live[(1u << CHUNK_SHIFT) / 16 / 64];
};

static inline uint64_t chunk_key(tp_addr addr)
{
    return (addr >> CHUNK_SHIFT) + 1;
}

/* The chunk of any address, or NULL. The table is never empty: arena's init reserves it. */
static inline struct arena_chunk *chunk_find(const struct tp_addr_map *map, tp_addr addr)
{
    uint64_t key = chunk_key(addr);
    for (uint64_t i = tp_addr_map_home(map, key);; i = (i + 1) & map->mask) {
        const struct tp_addr_entry *e = &map->slots[i];
        if (__builtin_expect(e->key == key, 1))
            return (struct arena_chunk *)(uintptr_t)e->value;
        if (!e->key)
            return NULL;
    }
}

static inline uint64_t *chunk_word(struct arena_chunk *chunk, tp_addr addr)
{
    return &chunk->live[(addr >> 10) & 63];
}

static inline uint64_t chunk_bit(tp_addr addr)
{
    return UINT64_C(1) << ((addr >> 4) & 63);
}

static inline uint8_t *chunk_class(struct arena_chunk *chunk, tp_addr addr)
{
    return &chunk->class[(addr / ARENA_PAGE) & (CHUNK_PAGES - 1)];
}

/* For the address of a small block, which has a chunk. */
static inline void chunk_set_live(const struct tp_addr_map *map, tp_addr addr)
{
    *chunk_word(chunk_find(map, addr), addr) |= chunk_bit(addr);
}

/* Does a live small block begin here? */
static inline bool chunk_is_live(const struct tp_addr_map *map, tp_addr addr)
{
    struct arena_chunk *chunk = addr % ARENA_STEP ? NULL : chunk_find(map, addr);
    return chunk && *chunk_word(chunk, addr) & chunk_bit(addr);
}

/* The chunk of an address, made if it is not there; NULL when memory is exhausted. */
static inline struct arena_chunk *chunk_make(struct tp_addr_map *map, const struct tp_env *env,
                                             tp_addr addr)
{
    struct arena_chunk *chunk = chunk_find(map, addr);
    if (chunk)
        return chunk;
    chunk = tp_meta_get(env, sizeof *chunk);
    if (!chunk || !tp_addr_map_insert(map, chunk_key(addr), (uintptr_t)chunk))
        return chunk;
    tp_meta_put(env, chunk, sizeof *chunk);
    return NULL;
}

/* Writes `mark` as the class of every page of a small span in which a block begins. Chunks that are
 * missing are made with `env`, skipped without. On TP_ENOMEM some pages have the mark. */
static inline int chunks_mark(struct tp_addr_map *map, const struct tp_env *env,
                              const struct arena_span *s, uint64_t block, uint8_t mark)
{
    tp_addr start = span_addr(s);
    uint64_t bytes = s->blocks * block;
    uint64_t step = block > ARENA_PAGE ? block : ARENA_PAGE;
    struct arena_chunk *chunk = NULL;
    for (uint64_t at = 0, key = 0; at < bytes; at += step) {
        if (!chunk || chunk_key(start + at) != key) {
            key = chunk_key(start + at);
            chunk = env ? chunk_make(map, env, start + at) : chunk_find(map, start + at);
        }
        if (chunk)
            *chunk_class(chunk, start + at) = mark;
        else if (env)
            return TP_ENOMEM;
    }
    return TP_OK;
}

static inline void chunk_forget(struct tp_addr_map *map, const struct tp_env *env, uint64_t key)
{
    uint64_t chunk = 0;
    if (tp_addr_map_remove(map, key, &chunk))
        tp_meta_put(env, (void *)(uintptr_t)chunk, sizeof(struct arena_chunk));
}

/* Forgets the chunks of a range that goes back: by address, or by table where the range is huge. */
static inline void chunks_forget(struct tp_addr_map *map, const struct tp_env *env, tp_addr base,
                                 uint64_t bytes)
{
    uint64_t first = chunk_key(base), count = (bytes + ARENA_CHUNK - 1) / ARENA_CHUNK;
    if (count <= map->mask) {
        for (uint64_t i = 0; i < count; i++)
            chunk_forget(map, env, first + i);
        return;
    }
    for (uint64_t i = 0; i <= map->mask;) {
        uint64_t key = map->slots[i].key;
        if (key && key - first < count)
            chunk_forget(map, env, key); /* another entry may have moved here: look again */
        else
            i++;
    }
}

static inline void chunks_fini(struct tp_addr_map *map, const struct tp_env *env)
{
    struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(map, &at));)
        tp_meta_put(env, (void *)(uintptr_t)e->value, sizeof(struct arena_chunk));
    tp_addr_map_fini(map);
}

#endif
