/* A hash map from the numbers a trace uses (ids, threads, streams) to dense indices. */
#ifndef TP_ID_MAP_H
#define TP_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct tp_id_entry {
    int64_t id;
    uint32_t index; /* the caller's */
    uint32_t refs;  /* the caller's, at least 1; 0 marks a free place */
};

struct tp_id_map {
    struct tp_id_entry *entries; /* a power of two of them; NULL while nothing was put */
    size_t places, used;
    uint64_t seed;
};

/* A zeroed map is empty and usable; this makes it hard to attack with chosen ids. */
void tp_id_map_seed(struct tp_id_map *m);
void tp_id_map_release(struct tp_id_map *m);

/* Valid until the next put or remove. NULL: not there. */
struct tp_id_entry *tp_id_map_find(const struct tp_id_map *m, int64_t id);

/* Puts an id that is not there, with refs 1. NULL: out of memory. */
struct tp_id_entry *tp_id_map_put(struct tp_id_map *m, int64_t id, uint32_t index);

/* Bytes that the map holds while it takes one more id: one that grows has two tables for a moment.
 */
uint64_t tp_id_map_next_bytes(const struct tp_id_map *m);

void tp_id_map_remove(struct tp_id_map *m, struct tp_id_entry *entry);

#endif
