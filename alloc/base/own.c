/* See own.h. A block is a mapping; its size stands in front of it:
 *
 *     | bytes of the mapping, 64 bytes of room | what the caller gets ...  | rest of the page | */
#include "alloc/base/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAD = 64 };

#if TP_SANITIZED

/* Sanitizers end a process that asks for more than they can have. */
#define MOST (SIZE_MAX >> 24)

void *tp_own_zeroed(size_t count, size_t size)
{
    size_t bytes;
    void *p = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > MOST ||
        posix_memalign(&p, HEAD, bytes ? bytes : 1))
        return NULL;
    return memset(p, 0, bytes);
}

void *tp_own_resized(void *p, size_t bytes)
{
    if (bytes > MOST)
        return NULL;
    return realloc(p, bytes ? bytes : 1);
}

void tp_own_free(void *p)
{
    free(p);
}

#else

static void *body_of(void *map, size_t total)
{
    if (map == MAP_FAILED)
        return NULL;
    *(size_t *)map = total;
    return (char *)map + HEAD;
}

void *tp_own_zeroed(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || __builtin_add_overflow(total, HEAD, &total))
        return NULL;
    return body_of(mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                   total);
}

void *tp_own_resized(void *p, size_t bytes)
{
    size_t total;
    if (!p)
        return tp_own_zeroed(1, bytes);
    if (__builtin_add_overflow(bytes, HEAD, &total))
        return NULL;
    char *map = (char *)p - HEAD;
    return body_of(mremap(map, *(size_t *)(void *)map, total, MREMAP_MAYMOVE), total);
}

void tp_own_free(void *p)
{
    char *map = p ? (char *)p - HEAD : NULL;
    if (p)
        munmap(map, *(size_t *)(void *)map);
}

#endif
