/* A hash map from numbers in the input (ids, addresses, hashes of texts) to indices. Strategies and
 * sources use addr_map.h, because their instructions are counted. */
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
    struct tp_id_entry *entries; /* array of `places`, a power of two; NULL until the first put */
    size_t places, used;
    uint64_t seed;        /* secret, from the first entry on */
    struct tp_growth how; /* the budget that places are charged to, and words for an error */
};

void tp_id_map_release(struct tp_id_map *m);

/* The entry of an id, valid until the next put or remove; NULL: the id is not in the map. */
struct tp_id_entry *tp_id_map_find(const struct tp_id_map *m, int64_t id);

/* Adds an id that the map lacks, with refs 1. TP_EINPUT: the budget is spent. TP_ENOMEM. */
int tp_id_map_put(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_err *err);

/* The entry of an id; adds the id if the map lacks it. Errors are those of tp_id_map_put. */
int tp_id_map_need(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_id_entry **entry,
                   struct tp_err *err);

/* The number of an id: ids are numbered from 0 in the order of their first appearance. The map must
 * have no other indices, and lose none. Errors are those of tp_id_map_put. */
int tp_id_map_number(struct tp_id_map *m, int64_t id, uint32_t *number, struct tp_err *err);

/* Two numbers as one id. */
static inline int64_t tp_id_pair(uint32_t high, uint32_t low)
{
    return (int64_t)((uint64_t)high << 32 | low);
}

void tp_id_map_remove(struct tp_id_map *m, struct tp_id_entry *entry);

#endif
