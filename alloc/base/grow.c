/* See grow.h. realloc may hold the old and the new array at the same time, so a budget must have
 * room for both. Where it has none for twice the size, an array takes half of the bytes left,
 * because other arrays are charged to the same budget. */
#include "alloc/base/grow.h"

#include "alloc/base/own.h"

#include <stdlib.h>
#include <string.h>

enum { TP_GROW_FIRST = 1024 }; /* smallest size of an array, bytes */

/* Reallocates `array` to hold at least `least` and at most `most` items of `item` bytes, and sets
 * *room. NULL: out of memory or `least` too large; nothing has changed. */
static void *grown(void *array, size_t *room, size_t least, size_t most, size_t item, bool own)
{
    size_t limit = most < PTRDIFF_MAX / item ? most : PTRDIFF_MAX / item;
    size_t wanted = *room <= limit / 2 ? 2 * *room : limit;
    if (least > limit)
        return NULL;
    if (wanted < TP_GROW_FIRST / item)
        wanted = TP_GROW_FIRST / item < limit ? TP_GROW_FIRST / item : limit;
    if (wanted < least)
        wanted = least;
    void *bigger = own ? tp_own_resized(array, wanted * item) : realloc(array, wanted * item);
    if (bigger)
        *room = wanted;
    return bigger;
}

static int fail(const struct tp_growth *how, enum tp_status status, const char *before,
                const char *after, struct tp_err *err)
{
    return tp_fail(err, status, "%s%s%s%s%s", how->of ? how->of : "", how->of ? ": " : "", before,
                   how->what, after);
}

int tp_grow_refused(const struct tp_growth *how, struct tp_err *err)
{
    int rc = fail(how, TP_EINPUT, "more ", " than the memory for reading holds", err);
    return tp_hint(err, rc, "--max-memory=SIZE allows more");
}

int tp_grow(void *array, size_t *room, size_t least, size_t item, const struct tp_growth *how,
            struct tp_err *err)
{
    uint64_t each = item + how->beside, held = *room * each;
    uint64_t bytes = tp_budget_most(how->budget, held);
    uint64_t affordable = bytes > held ? (bytes - held) / each : 0;
    uint64_t most = affordable / 2 < *room ? *room + (affordable - *room) / 2 : affordable;
    void *items = NULL;
    if (least <= *room)
        return TP_OK;
    if (how->budget && least > affordable)
        return tp_grow_refused(how, err);
    most = most < least ? least : most;
    most = how->limited && how->most < most ? how->most : most;
    memcpy(&items, array, sizeof items);
    items = grown(items, room, least, most < SIZE_MAX ? (size_t)most : SIZE_MAX, item, how->own);
    if (!items)
        return fail(how, TP_ENOMEM, "out of memory for ", "", err);
    memcpy(array, &items, sizeof items);
    tp_budget_change(how->budget, held, *room * each);
    return TP_OK;
}

int tp_one_more(void *array, size_t count, size_t item, const struct tp_growth *how,
                struct tp_err *err)
{
    size_t room = count;
    if (count & (count - 1))
        return TP_OK;
    return tp_grow(array, &room, count ? 2 * count : 1, item, how, err);
}

void tp_grow_end(void *array, size_t *room, size_t item, const struct tp_growth *how)
{
    void *items = NULL;
    memcpy(&items, array, sizeof items);
    if (how->own)
        tp_own_free(items);
    else
        free(items);
    items = NULL;
    memcpy(array, &items, sizeof items);
    tp_budget_change(how->budget, *room * (item + how->beside), 0);
    *room = 0;
}
