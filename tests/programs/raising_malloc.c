/* An allocator that raises a signal inside of its malloc, so that a test chooses the call that a
 * handler interrupts. Blocks are glibc's. */
#include "tests/programs/raising_malloc.h"

#include <signal.h>

#define SEEN __attribute__((visibility("default")))

/* The C library's own, under the names that it keeps for those who replace malloc. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

SEEN struct raising raising;

SEEN void *malloc(size_t size)
{
    bool due = raising.size == size && raising.every && ++raising.calls % raising.every == 0;
    if (due && !raising.late)
        raise(SIGUSR1);
    void *p = __libc_malloc(size);
    if (due && raising.late)
        raise(SIGUSR1);
    return p;
}

SEEN void *calloc(size_t count, size_t size)
{
    return __libc_calloc(count, size);
}

SEEN void *realloc(void *p, size_t size)
{
    return __libc_realloc(p, size);
}

SEEN void free(void *p)
{
    __libc_free(p);
}
