/* Arrays that grow: to where they must reach, and to twice their size where that is more. Asked for
 * an index that leaps, one that only doubles once stays too short.
 *
 *     struct list { struct item *items; size_t count, room; };
 *     rc = TP_GROW(&l->items, &l->room, l->count + 1, err, .what = "items", .budget = b);
 *     ...
 *     TP_GROW_END(&l->items, &l->room, .budget = b);                                         */
#ifndef TP_GROW_H
#define TP_GROW_H

#include "alloc/base/budget.h"
#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* How an array, or a map, may grow, and what is said where it may not. */
struct tp_growth {
    const char *what;         /* what is in it, of many: "phase names" */
    const char *of;           /* the file that they are of; NULL: the caller names it */
    size_t most;              /* 0: no limit */
    struct tp_budget *budget; /* that is charged; NULL: none */
    size_t beside;            /* bytes that an item costs there beside its own */
};

/* `array` is the address of a pointer to items of `item` bytes, of which `room` fit; from now on
 * `least` of them do. TP_EINPUT: the budget has no room for them; TP_ENOMEM. All is then as it was.
 */
int tp_grow(void *array, size_t *room, size_t least, size_t item, const struct tp_growth *how,
            struct tp_err *err);
void tp_grow_end(void *array, size_t *room, size_t item, const struct tp_growth *how);

#define TP_GROW(items, room, least, err, ...)                                                      \
    ((least) <= *(room) ? TP_OK                                                                    \
                        : tp_grow((items), (room), (least), sizeof **(items),                      \
                                  &(struct tp_growth){__VA_ARGS__}, (err)))
/* Room for one more in an array that is only ever grown so: it is full with 0 items and with any
 * power of two of them. */
#define TP_ONE_MORE(items, count, err, ...)                                                        \
    ((count) & ((count)-1) ? TP_OK                                                                 \
                           : tp_grow((items), &(size_t){(count)}, (count) ? 2 * (count) : 1,       \
                                     sizeof **(items), &(struct tp_growth){__VA_ARGS__}, (err)))
#define TP_GROW_END(items, room, ...)                                                              \
    tp_grow_end((items), (room), sizeof **(items), &(struct tp_growth){__VA_ARGS__})

/* The sentence of a budget that is spent; TP_EINPUT. */
int tp_grow_refused(const struct tp_growth *how, struct tp_err *err);

#endif
