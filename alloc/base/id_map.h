/* A hash map from numbers that others chose (ids, addresses, hashes of texts) to indices.
 * Strategies and sources, whose instructions are counted, have addr_map.h. */
#ifndef TP_ID_MAP_H
#define TP_ID_MAP_H

#include "alloc/base/grow.h"

struct tp_id_entry {
    int64_t id;
    uint32_t index; /* the caller's */
    uint32_t refs;  /* the caller's, at least 1; 0 marks a free place */
};

/* A zeroed map is empty. */
struct tp_id_map {
    struct tp_id_entry *entries; /* a power of two of them; NULL while nothing was put */
    size_t places, used;
    uint64_t seed;        /* secret, from the first entry on */
    struct tp_growth how; /* what its places are charged to, and what is said where they are not */
};

void tp_id_map_release(struct tp_id_map *m);

/* Valid until the next put or remove. NULL: not there. */
struct tp_id_entry *tp_id_map_find(const struct tp_id_map *m, int64_t id);

/* Puts an id that is not there, with refs 1. TP_EINPUT: the budget is spent; TP_ENOMEM. */
int tp_id_map_put(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_err *err);

/* The entry of an id, put where there is none. */
int tp_id_map_need(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_id_entry **entry,
                   struct tp_err *err);

void tp_id_map_remove(struct tp_id_map *m, struct tp_id_entry *entry);

#endif
