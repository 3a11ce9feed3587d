/* A program with an allocator of its own, which gives nothing back. As the linker has it, libraries
 * find it too. */
#include <stddef.h>
#include <string.h>

#define SEEN __attribute__((visibility("default")))

SEEN void *malloc(size_t size);
SEEN void free(void *p);
SEEN void *calloc(size_t count, size_t size);
SEEN void *realloc(void *old, size_t size);

static _Alignas(16) unsigned char memory[1 << 20];
static size_t used;

void *malloc(size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    if (need < size || need > sizeof memory - used)
        return NULL;
    used += need;
    return memory + used - need;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t count, size_t size) /* the memory is new, and zeroed */
{
    return size && count > sizeof memory / size ? NULL : malloc(count * size);
}

void *realloc(void *old, size_t size)
{
    unsigned char *from = old, *p = malloc(size);
    if (p && from) /* what lies behind it is there to be read */
        memmove(p, from, size < (size_t)(p - from) ? size : (size_t)(p - from));
    return p;
}

int main(void)
{
    void *volatile p = malloc(101);
    free(p);
    return p == NULL;
}
