/* Ids for traces that know objects by their address alone, where a realloc moves them. */
#ifndef TP_POINTERS_H
#define TP_POINTERS_H

#include "alloc/base/err.h"
#include "alloc/base/id_map.h"

struct tp_pointers {
    struct tp_id_map map; /* address -> number of its object */
    uint32_t *objects;    /* so far; borrowed */
};

/* The address spaces of a file share *objects, so that no id is in two of them. */
void tp_pointers_init(struct tp_pointers *p, uint32_t *objects, struct tp_budget *budget);
void tp_pointers_release(struct tp_pointers *p);

/* An object appears at `address`: its id, from 1. One that is there already keeps its id: what that
 * means is for lowering to say. TP_EINPUT, for a prefix: more than 2^32 - 1 objects, or than memory
 * holds. */
int tp_pointers_add(struct tp_pointers *p, uint64_t address, int64_t *id, struct tp_err *err);

/* The object at `address`; below 0, an id that no object has, where there is none. */
int64_t tp_pointers_find(const struct tp_pointers *p, uint64_t address);

/* The same, and nothing is there any more. */
int64_t tp_pointers_remove(struct tp_pointers *p, uint64_t address);

/* A realloc moves the object at `from`; where there is none, one appears at `to`. *lost is the
 * object that was at `to` and whose free is missing, or 0. */
int tp_pointers_move(struct tp_pointers *p, uint64_t from, uint64_t to, int64_t *id, int64_t *lost,
                     struct tp_err *err);

#endif
