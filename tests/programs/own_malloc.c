/* A program with an allocator of its own, which gives nothing back. As the linker has it, libraries
 * find it too. Like that of Chromium it makes a call of the system at first use, with its lock
 * held: whoever allocates within that call would wait for ever. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

SEEN void *malloc(size_t size);
SEEN void free(void *p);
SEEN void *calloc(size_t count, size_t size);
SEEN void *realloc(void *old, size_t size);

static _Alignas(16) unsigned char memory[1 << 20];
static size_t used;
static bool locked;

void *malloc(size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    if (locked)
        _exit(98);
    locked = true;
    if (!used && (syscall(SYS_getpid) != getpid() || prctl(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L) < 0))
        _exit(97);
    bool good = need >= size && need <= sizeof memory - used;
    used += good ? need : 0;
    locked = false;
    return good ? memory + used - need : NULL;
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
