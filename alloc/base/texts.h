/* Texts that others chose, each known by a number, from 0 in the order of their arrival.
 *
 *     text   | s t e p   1 \0 | f o r w a r d \0 |
 *     at     0                7                        where each begins
 *     table  | - | 2 | - | - | 1 | - | - | - |         numbers + 1, by hash
 *
 * The hash has a secret seed, so that texts cannot be chosen to meet. Zeroed, there are none. */
#ifndef TP_TEXTS_H
#define TP_TEXTS_H

#include "alloc/base/grow.h"

#define TP_NO_TEXT UINT32_MAX

struct tp_texts {
    char *text; /* one behind the other, each ended by a NUL */
    size_t used, room;
    uint32_t *at;
    size_t count, at_room;
    uint32_t *table; /* by open addressing, half empty at least; NULL until a text is looked for */
    size_t places;   /* a power of two */
    uint64_t seed;
    struct tp_growth how; /* of all of it */
};

void tp_texts_release(struct tp_texts *t);

/* The number of a text without a NUL, which need not end with one; TP_NO_TEXT. */
uint32_t tp_texts_find(struct tp_texts *t, const char *text, size_t size);

/* Puts a text behind the others, whether it is there or not. TP_EINPUT, TP_ENOMEM: as tp_grow. */
int tp_texts_add(struct tp_texts *t, const char *text, size_t size, struct tp_err *err);

/* The number of a text, which is added where it is not there. */
int tp_texts_need(struct tp_texts *t, const char *text, size_t size, uint32_t *number,
                  struct tp_err *err);

/* Valid until the next one is added. */
static inline const char *tp_texts_get(const struct tp_texts *t, uint32_t number)
{
    return t->text + t->at[number];
}

#endif
