/* Arrays that grow: to where they must reach, and to twice their size where that is more. Asked for
 * an index that leaps, one that only doubles once stays too short. */
#ifndef TP_GROW_H
#define TP_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { TP_GROW_FIRST = 1024 }; /* bytes, at least, of an array that was empty */

/* `array` with room for `least` elements of `item` bytes or more, but never more than `most`; its
 * room is then in *room. NULL: there are so many not to be had, and all is as it was. */
static inline void *tp_grown(void *array, size_t *room, size_t least, size_t most, size_t item)
{
    size_t limit = most < PTRDIFF_MAX / item ? most : PTRDIFF_MAX / item;
    size_t wanted = *room <= limit / 2 ? 2 * *room : limit;
    if (least > limit)
        return NULL;
    if (wanted < TP_GROW_FIRST / item)
        wanted = TP_GROW_FIRST / item < limit ? TP_GROW_FIRST / item : limit;
    if (wanted < least)
        wanted = least;
    void *bigger = realloc(array, wanted * item);
    if (bigger)
        *room = wanted;
    return bigger;
}

#endif
