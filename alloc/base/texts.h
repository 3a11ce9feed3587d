/* Texts from the input, each known by a number: 0 for the first that was added, then 1, and so on.
 *
 *     text   | s t e p   1 \0 | f o r w a r d \0 |
 *     at     0                7                        where each begins
 *     table  | - | 2 | - | - | 1 | - | - | - |         numbers + 1, by hash
 *
 * The hash has a secret seed, so that texts cannot be chosen to collide. Zeroed memory is an empty
 * set. */
#ifndef TP_TEXTS_H
#define TP_TEXTS_H

#include "alloc/base/grow.h"

#define TP_NO_TEXT UINT32_MAX

struct tp_texts {
    char *text; /* all texts, one after the other, each ended by a NUL */
    size_t used, room;
    uint32_t *at;
    size_t count, at_room;
    uint32_t *table; /* open addressing, at least half empty; NULL until the first search */
    size_t places;   /* a power of two */
    uint64_t seed;
    struct tp_growth how; /* limits for all arrays of this set */
};

void tp_texts_release(struct tp_texts *t);

/* The number of a text of `size` bytes, or TP_NO_TEXT. The text holds no NUL and need not end with
 * one. */
uint32_t tp_texts_find(struct tp_texts *t, const char *text, size_t size);

/* Adds a text even if an equal one exists. TP_EINPUT and TP_ENOMEM as for tp_grow. */
int tp_texts_add(struct tp_texts *t, const char *text, size_t size, struct tp_err *err);

/* Sets *number to that of the text, which is added if it is new. Errors are those of tp_texts_add.
 */
int tp_texts_need(struct tp_texts *t, const char *text, size_t size, uint32_t *number,
                  struct tp_err *err);

/* The text of a number, valid until the next text is added. */
static inline const char *tp_texts_get(const struct tp_texts *t, uint32_t number)
{
    return t->text + t->at[number];
}

#endif
