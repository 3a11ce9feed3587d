/* The functions below the recorder, and memory for the time before they are found. */
#include "cmd/preload/recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tp_below tp_below;

/* dlsym of glibc takes a few hundred bytes, once a thread that meets an error. */
enum { EARLY_BYTES = 1 << 16 };
static _Alignas(64) unsigned char early[EARLY_BYTES];
static _Atomic size_t early_used;

void *tp_early_alloc(size_t size, size_t align)
{
    if (align < 16)
        align = 16;
    if (size > EARLY_BYTES || align > EARLY_BYTES)
        return NULL;
    size_t need = (size + align + 15) & ~(size_t)15;
    size_t at = atomic_fetch_add(&early_used, need);
    if (at > EARLY_BYTES - need || need > EARLY_BYTES)
        return NULL;
    uintptr_t base = (uintptr_t)early;
    return early + (((base + at + align - 1) & ~(uintptr_t)(align - 1)) - base);
}

bool tp_is_early(const void *p)
{
    return (uintptr_t)p - (uintptr_t)early < EARLY_BYTES;
}

static void *early_malloc(size_t size)
{
    return tp_early_alloc(size, 16);
}

static void *early_calloc(size_t count, size_t size)
{
    size_t bytes = 0;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : tp_early_alloc(bytes, 16);
}

static void *early_realloc(void *old, size_t size)
{
    void *p = tp_early_alloc(size, 16);
    /* What lay behind a shorter block is early memory too, and is there to be read. */
    if (p && old) {
        size_t room = EARLY_BYTES - ((uintptr_t)old - (uintptr_t)early);
        memcpy(p, old, size < room ? size : room);
    }
    return p;
}

static void early_free(void *p)
{
    (void)p;
}

static void say_and_end(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
    abort();
}

void *tp_below_look(const char *name)
{
    struct tp_hush hush;
    tp_writer_hush(&hush);
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        dlerror(); /* that it is missing is nobody else's affair */
    tp_writer_unhush(&hush);
    return found;
}

#define FIND(below, member)                                                                        \
    do {                                                                                           \
        void *found = tp_below_look(#member);                                                      \
        memcpy(&(below)->member, &found, sizeof found);                                            \
    } while (0)

/* While the functions are looked for, the loader's own calls are served by the early ones. No other
 * thread can be there yet: to start one takes memory. */
void tp_below_find(void)
{
    struct tp_below next = tp_below;
    tp_below.malloc = early_malloc;
    tp_below.calloc = early_calloc;
    tp_below.realloc = early_realloc;
    tp_below.free = early_free;
    FIND(&next, malloc);
    FIND(&next, calloc);
    FIND(&next, realloc);
    FIND(&next, free);
    FIND(&next, posix_memalign);
    FIND(&next, aligned_alloc);
    FIND(&next, memalign);
    FIND(&next, valloc);
    FIND(&next, pvalloc);
    if (!next.malloc || !next.calloc || !next.realloc || !next.free)
        say_and_end("tapool: the recorder found no malloc below it\n");
    tp_below = next;
}

/* These came with C23. */
__attribute__((constructor)) static void find_sized(void)
{
    FIND(&tp_below, free_sized);
    FIND(&tp_below, free_aligned_sized);
}
