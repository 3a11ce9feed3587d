/* The functions below the recorder, and memory for the time before they are found. */
#include "cmd/recorder/recorder.h"

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

#define FIND(member)                                                                               \
    do {                                                                                           \
        void *found = dlsym(RTLD_NEXT, #member);                                                   \
        memcpy(&next.member, &found, sizeof found);                                                \
    } while (0)

/* While the functions are looked for, the loader's own calls are served by the early ones. No other
 * thread can be there yet: to start one takes memory. */
void tp_below_find(void)
{
    struct tp_below next = {.malloc = NULL};
    bool before = tp_writer_hush(true);
    tp_below = (struct tp_below){.malloc = early_malloc,
                                 .calloc = early_calloc,
                                 .realloc = early_realloc,
                                 .free = early_free};
    FIND(malloc);
    FIND(calloc);
    FIND(realloc);
    FIND(free);
    FIND(posix_memalign);
    FIND(aligned_alloc);
    FIND(memalign);
    FIND(valloc);
    FIND(pvalloc);
    FIND(free_sized);
    FIND(free_aligned_sized);
    FIND(syscall);
    FIND(prctl);
    if (!next.malloc || !next.calloc || !next.realloc || !next.free || !next.syscall || !next.prctl)
        say_and_end("tapool: the recorder found no malloc below it\n");
    tp_below = next;
    tp_writer_hush(before);
}
