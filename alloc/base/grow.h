/* Arrays that grow to the required length or to twice their size, whichever is more. Doubling once
 * would not be enough for an index far beyond the end.
 *
 *     struct list { struct item *items; size_t count, room; };
 *     rc = TP_GROW(&l->items, &l->room, l->count + 1, err, .what = "items", .budget = b);
 *     ...
 *     TP_GROW_END(&l->items, &l->room, .budget = b); */
#ifndef TP_GROW_H
#define TP_GROW_H

#include "alloc/base/budget.h"
#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* How an array or a map may grow, and the words of the error when it may not. */
struct tp_growth {
    const char *what;         /* plural noun for its items: "phase names" */
    const char *of;           /* the file that the items come from; NULL: the caller names it */
    bool limited;             /* false: `most` means nothing; TP_MOST sets both */
    size_t most;              /* items, at most */
    struct tp_budget *budget; /* the budget to charge; NULL: none */
    size_t beside;            /* bytes charged per item beyond its size */
    bool own;                 /* memory of alloc/base/own.h, not malloc's */
};

/* In the initialiser of a tp_growth. A limit that was computed may be 0 and must not lift itself.
 */
#define TP_MOST(items) .limited = true, .most = (items)

/* Makes room for at least `least` items. `array` is the address of a pointer to items of `item`
 * bytes, and `room` the number that fit. TP_EINPUT (budget exceeded) or TP_ENOMEM (`most` exceeded
 * too): nothing has changed. */
int tp_grow(void *array, size_t *room, size_t least, size_t item, const struct tp_growth *how,
            struct tp_err *err);
void tp_grow_end(void *array, size_t *room, size_t item, const struct tp_growth *how);

#define TP_GROW(items, room, least, err, ...)                                                      \
    ((least) <= *(room) ? TP_OK                                                                    \
                        : tp_grow((items), (room), (least), sizeof **(items),                      \
                                  &(struct tp_growth){__VA_ARGS__}, (err)))
/* Makes room for one more item in an array that is grown by this alone: such an array is full when
 * its count is 0 or a power of two. */
int tp_one_more(void *array, size_t count, size_t item, const struct tp_growth *how,
                struct tp_err *err);
#define TP_ONE_MORE(items, count, err, ...)                                                        \
    tp_one_more((items), (count), sizeof **(items), &(struct tp_growth){__VA_ARGS__}, (err))
#define TP_GROW_END(items, room, ...)                                                              \
    tp_grow_end((items), (room), sizeof **(items), &(struct tp_growth){__VA_ARGS__})

/* TP_EINPUT with the sentence that the budget is spent. */
int tp_grow_refused(const struct tp_growth *how, struct tp_err *err);

#endif
