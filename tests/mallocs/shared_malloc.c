/* A malloc library for the tests of the strategy lib whose blocks lie in a shared mapping: of a
 * memfd, or where SHARED_ANONYMOUS is set in the environment, of MAP_SHARED | MAP_ANONYMOUS. Blocks
 * lie behind each other, each with its size before it, and freed ones are not used again. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum { HEAP = 256 << 20, ALIGN = 16 };

static unsigned char *_Atomic heap;
static _Atomic size_t used;

static unsigned char *new_heap(void)
{
    int fd = -1, flags = MAP_SHARED;
    if (getenv("SHARED_ANONYMOUS"))
        flags |= MAP_ANONYMOUS;
    else if ((fd = memfd_create("heap", MFD_CLOEXEC)) < 0 || ftruncate(fd, HEAP))
        abort();
    void *p = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        abort();
    if (fd >= 0)
        close(fd);
    return p;
}

static size_t up(size_t value, size_t align)
{
    return (value + align - 1) / align * align;
}

API int posix_memalign(void **out, size_t align, size_t size)
{
    unsigned char *none = NULL;
    align = align > ALIGN ? align : ALIGN;
    if (size > HEAP)
        return ENOMEM;
    if (!heap) {
        unsigned char *made = new_heap();
        if (!atomic_compare_exchange_strong(&heap, &none, made))
            munmap(made, HEAP);
    }
    size_t at = atomic_fetch_add(&used, up(size, ALIGN) + ALIGN + align);
    if (at + size + ALIGN + align > HEAP)
        return ENOMEM;
    at = up(at + ALIGN, align);
    *out = heap + at;
    ((size_t *)*out)[-1] = size;
    return 0;
}

API void *malloc(size_t size)
{
    void *p = NULL;
    return posix_memalign(&p, ALIGN, size) ? NULL : p;
}

API void free(void *p)
{
    (void)p;
}

API void *calloc(size_t count, size_t size)
{
    return size && count > HEAP / size ? NULL : malloc(count * size);
}

API size_t malloc_usable_size(void *p)
{
    return p ? ((size_t *)p)[-1] : 0;
}

API void *realloc(void *p, size_t size)
{
    size_t before = malloc_usable_size(p);
    void *out = malloc(size);
    if (out && p)
        memcpy(out, p, before < size ? before : size);
    return out;
}
