/* Ids for traces that identify objects by address alone, where a realloc moves an object. */
#ifndef TP_POINTERS_H
#define TP_POINTERS_H

#include "alloc/base/err.h"
#include "alloc/base/id_map.h"

struct tp_pointers {
    struct tp_id_map map; /* address -> id of its object */
    uint32_t *objects;    /* number of objects so far; borrowed */
};

/* Sets up one address space. The address spaces of a file share *objects, so that their ids
 * differ. */
void tp_pointers_init(struct tp_pointers *p, uint32_t *objects, struct tp_budget *budget);
void tp_pointers_release(struct tp_pointers *p);

/* Adds an object at `address` and gives its id, from 1. If there is one already, gives the id of
 * that one, and lowering treats the second alloc as dirty input. TP_EINPUT: more than 2^32 - 1
 * objects, or than the budget allows; the message needs a prefix with the place. */
int tp_pointers_add(struct tp_pointers *p, uint64_t address, int64_t *id, struct tp_err *err);

/* The id of the object at `address`. If there is none, a negative id, which no object has. */
int64_t tp_pointers_find(const struct tp_pointers *p, uint64_t address);

/* Removes the object at `address`, and returns what tp_pointers_find would have returned. */
int64_t tp_pointers_remove(struct tp_pointers *p, uint64_t address);

/* Moves the object `*id`, which tp_pointers_find has found at `from`, to `to`, where no other one
 * is. If none was at `from`, adds one and sets *id. */
int tp_pointers_move(struct tp_pointers *p, uint64_t from, uint64_t to, int64_t *id,
                     struct tp_err *err);

#endif
